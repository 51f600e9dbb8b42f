"""Lists per item: each record is an item with who rated it and how, as in many data sets on the Hugging Face hub.

- Parallel lists: ``annotators`` and ``annotations`` in the same order, or as text with commas between the entries.
- An object from raters to labels.
- A list of objects, each with a rater and a label, or an object of parallel lists.

Lists of raters and labels are recognised by their names, objects in a list by the names of their keys. Other columns
describe the item; the parts of an object are columns of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from plurivox.base.errors import InputError, few
from plurivox.domain.raw import KEY, ROLES, RawTable, by_name, plain
from plurivox.domain.scale import text_of
from plurivox.read.formats.answers_per_item import MAX_PARTS, HeldAnswers, answers_in, in_columns, labels_alone, look
from plurivox.read.formats.record import HEAD, Export, Platform, Tally
from plurivox.read.formats.unfolding import Record, Row, frame_of, nested, one_of, unfolded
from plurivox.read.settings import ReadSettings

NAME, ITEM, RATER = "lists", "item", "rater"
_UNRATED = "items that nobody rated"
Label = Callable[[Any], Any]


def fits(columns: Sequence[str], head: pl.DataFrame, asked: ReadSettings) -> bool:
    """Recognise it by the names of columns that hold lists or objects."""
    if KEY in columns and asked.rater == KEY and asked.item is None:
        return True
    seen = look(head)
    single = set(in_columns(seen))
    if asked.score in single and not any(asked.score in one.questions for one in answers_in(seen, asked)):
        return False
    return bool(answers_in(seen, asked)) or (bool(labels_alone(seen)) and by_name(list(single), "rater") is None)


def ratings(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per item and rater."""
    if KEY in table.columns and asked.rater == KEY and asked.item is None:
        return _turned(table, asked)
    return answers_of(table, asked, one_label)


def _turned(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per rater and item from an object that maps raters to objects that map items to scores."""
    score = asked.score or "score"
    names = [name for name in table.columns if name != KEY]

    def rows(record: Record, place: str) -> Iterator[Row]:
        return ({ITEM: name, KEY: record[KEY], score: record[name]} for name in names if record[name] is not None)

    return Export(table=unfolded(table, [ITEM, KEY, score], rows), item=ITEM, rater=KEY, questions=(score,))


def described(table: RawTable, asked: ReadSettings, ignored: Iterable[str] = ()) -> Export:
    """Return what is said about each item."""
    about = Described.of(table, asked, ignored)
    frame = frame_of(
        [about.row(record, table.locate(at)) for at, record in enumerate(table.frame().iter_rows(named=True))],
        about.columns, table.name,
    )  # fmt: skip
    return Export(
        table=RawTable(table.name, frame.columns, iter([frame]), text=True, locate=table.locate), item=about.item
    )


def one_label(value: Any) -> Any:
    """Return a label as it is; several in a list are marked as several."""
    return one_of(value) if isinstance(value, list) else value


def answers_of(table: RawTable, asked: ReadSettings, label: Label, ignored: Iterable[str] = ()) -> Export:
    """Return one row per item and rater; ``label`` reads an entry, and ``ignored`` columns do not matter."""
    seen = look(table.first().head(HEAD))
    found = answers_in(seen, asked)
    if not found:
        alone = labels_alone(seen)
        raise InputError(
            f"{few(alone)} {'lists' if len(alone) == 1 else 'list'} labels of each item, and nothing says who gave "
            "them",
            source=table.name,
            hint="Add a list of raters, named annotators; or put the number of times each point was given to an item "
            "in a column of its own and use --totals.",
        )
    names = {name.strip() for name in (asked.score or "").split(",")}
    wanted = [one for one in found if names & set(one.questions)] or found
    _refuse_points(wanted, asked, table.name)
    about = Described.of(table, asked, ignored)
    questions = tuple(dict.fromkeys(name for one in found for name in one.questions))
    tally = Tally(notes=list(about.notes))
    more = tuple(dict.fromkeys(name for one in found for name in one.more if name not in about.columns))
    if more:
        tally.notes.append(f"read only if named with --by or --rater-attributes: {few(more)}")
    rater = asked.rater if asked.rater and asked.rater in [one.raters for one in wanted] else RATER

    def rows(record: Record, place: str) -> Iterator[Row]:
        item, before = about.row(record, place), tally.left_out[_UNRATED]
        tally.left_out[_UNRATED] += 1
        for one in wanted:
            for who, labels, known in one.entries(record, item.get(about.item), place, table.name):
                own = {name: value for name, value in known.items() if name in more}
                tally.left_out[_UNRATED] = before
                yield {**item, **own, rater: who, **{name: label(value) for name, value in labels.items()}}

    columns = list(dict.fromkeys((*about.columns, rater, *questions, *more)))
    attributes = tuple(name for name in about.columns if name not in (about.item, *questions))
    return Export(
        table=unfolded(table, columns, rows), item=about.item, rater=rater, questions=questions,
        item_attributes=attributes, tally=tally,
    )  # fmt: skip


def _refuse_points(found: Sequence[HeldAnswers], asked: ReadSettings, source: str) -> None:
    """Raise an error if the keys of an object may be points of the scale and their values counts."""
    for one in found:
        if not one.keys or asked.format is not None:
            continue
        points = {text_of(label) for label in asked.scale.labels} if asked.scale else None
        if one.may_be_points if points is None else points >= set(one.keys):
            raise InputError(
                f"the keys may be raters or points of a scale: {few(one.keys, 6)}",
                source=source, column=one.columns[0],
                hint=f"If they are raters, use --format {NAME}; if they are points, put the counts of each point in a "
                "column of its own and use --totals.",
            )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Described:
    """What records say about their items: the column of ids and its source, and where each attribute comes from."""

    item: str
    own: str | None
    single: dict[str, str]
    """Column → attribute, which is renamed if something else has its name in the ratings or in a record."""
    parts: dict[tuple[str, str], str]
    """Column and part of the object in it → attribute."""
    source: str
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The columns of the rows."""
        return [self.item, *self.single.values(), *self.parts.values()]

    @classmethod
    def of(cls, table: RawTable, asked: ReadSettings, ignored: Iterable[str]) -> Described:
        """Return what the first records say."""
        seen = {name: one for name, one in look(table.first().head(HEAD)).items() if name not in ignored}
        found = answers_in(seen, asked)
        used = {name for one in found for name in one.columns}
        scalars = [name for name in in_columns(seen) if name not in used]
        own = asked.item if asked.item in scalars else item_column(scalars)
        item = ITEM if own in (None, KEY) and own != asked.item else own or ITEM
        taken = {item, *ROLES, "time", *(name for one in found for name in (*one.questions, *one.more))}
        single = {name: f"{ITEM}.{name}" if name in taken else name for name in scalars if name != own}
        objects = [one for one in seen.values() if one.shape == "object" and not one.shares and one.name not in used]
        parts = [(one.name, part) for one in objects if len(one.keys) <= MAX_PARTS for part in one.keys]
        times = Counter([*taken, *single.values(), *(part for _, part in parts)])
        named = {(name, part): f"{name}.{part}" if times[part] > 1 else part for name, part in parts}
        note = () if own else ("Items have no ids and are named by their row.",)
        return cls(item, own, single, named, table.name, note)

    def row(self, record: Record, place: str) -> Row:
        """Return what a record says about its item."""
        found: Row = {attribute: record.get(name) for name, attribute in self.single.items()}
        found[self.item] = place.removeprefix("row ") if self.own is None else record.get(self.own)
        objects = {name: nested(record.get(name), place, self.source, name) for name, _ in self.parts}
        for (name, part), attribute in self.parts.items():
            inner = objects[name]
            found[attribute] = inner.get(part) if isinstance(inner, dict) else None
        return found


def item_column(columns: Sequence[str]) -> str | None:
    """Return the column with the ids of items: one that is named so, or the keys of the object of all items."""
    found = by_name(columns, "item")
    if KEY in columns and (found is None or not plain(found).endswith(("id", "item", "unit"))):
        return KEY
    return found


PLATFORM = Platform(
    name="lists", title="a table with the raters and labels of each item", fits=fits, ratings=ratings, items=described
)
