"""Lists per item: each record is an item with who rated it and how, as in many data sets on the Hugging Face hub.

- Parallel lists: ``annotators`` and ``annotations`` in the same order, or as text with commas between the entries.
- An object from raters to labels.
- A list of objects, each with a rater and a label, or an object of parallel lists.

Lists of raters and labels are recognised by their names, objects in a list by the names of their keys. Other columns
describe the item; the parts of an object are columns of their own.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from plurivox.base.errors import InputError, few
from plurivox.domain.raw import KEY, ROLES, NamedRole, RawTable, by_name, named, plain
from plurivox.domain.scale import text_of
from plurivox.read.formats.record import (
    HEAD,
    Export,
    Platform,
    Record,
    Row,
    Tally,
    frame_of,
    nested,
    one_of,
    unfolded,
    wrong,
)
from plurivox.read.settings import ReadSettings

Shape = Literal["single", "text", "list", "object", "objects", "lists"]
"""What cells hold: one value, text with separators, a list, an object, a list of objects, or an object of lists."""
SEPARATORS = (",", ";", "|")
MAX_PARTS = 100
"""An object with more keys than this in the first records is a mapping, not a description of an item."""
_MADE = {"soft", "hard", "gold", "true", "mean", "majority", "aggregated", "final", "predicted", "model"}
"""Labels that were made from the answers, or not by raters."""
_WHOLE, _SPAN = re.compile(r"-?[0-9]{1,3}"), 10
_NESTED = (pl.List, pl.Array, pl.Struct)


Entry = tuple[Any, dict[str, Any], dict[str, Any]]
"""One rater of an item: who it is, the label for each question, and anything else that is given."""


# What columns hold ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Seen:
    """What the first cells of a column hold.

    Attributes
    ----------
    named
        Whether its name says raters or scores.
    keys
        Keys of the objects, including those in a list, whose values are not nested.
    sizes
        How many entries each list has, None where there is none.
    separator
        The separator between the entries of a text.
    shares
        Whether objects hold shares that sum to 1.
    """

    name: str
    shape: Shape
    named: NamedRole | None
    keys: tuple[str, ...] = ()
    sizes: tuple[int | None, ...] = ()
    separator: str = ""
    shares: bool = False

    @property
    def is_plural(self) -> bool:
        """Whether its name says several raters or scores."""
        return self.named is not None and self.name.casefold().endswith("s")

    def is_list(self, role: str) -> bool:
        """Return whether, by its name, it lists raters or scores."""
        return self.shape in ("list", "text") and self.named is not None and self.named.role == role


def look(head: pl.DataFrame) -> dict[str, Seen]:
    """Return what each column of the first records holds."""
    return {column.name: _seen(column) for column in head}


def in_columns(seen: Mapping[str, Seen]) -> list[str]:
    """Return the columns with one value in each cell, except those that list raters."""
    return [name for name, one in seen.items() if one.shape == "single" or (one.shape == "text" and not one.named)]


def labels_alone(seen: Mapping[str, Seen]) -> list[str]:
    """Return the columns that, by their plural names, list labels."""
    return [name for name, one in seen.items() if one.is_list("score") and one.is_plural]


def _seen(column: pl.Series) -> Seen:
    said = named(column.name)
    single = Seen(column.name, "single", said)
    if column.dtype != pl.String and not isinstance(column.dtype, _NESTED):
        return single
    cells = [cell for cell in column.to_list() if cell is not None and cell != ""]
    if column.dtype == pl.String and said is None and not any(cell.lstrip()[:1] in ("[", "{") for cell in cells[:50]):
        return single
    if not cells:
        return single
    found = [_loaded(cell) for cell in column.to_list()]
    lists = [one for one in found if isinstance(one, list)]
    objects = [one for one in found if isinstance(one, dict)]
    if 2 * len(lists) >= len(cells):
        inner = [one for entries in lists for one in entries if isinstance(one, dict)]
        sizes = tuple(len(one) if isinstance(one, list) else None for one in found)
        return Seen(column.name, "objects" if inner else "list", said, _flat_keys(inner), sizes)
    if 2 * len(objects) >= len(cells):
        if any(objects) and all(isinstance(value, list) for one in objects for value in one.values()):
            return Seen(column.name, "lists", said, tuple(dict.fromkeys(key for one in objects for key in one)))
        return Seen(column.name, "object", said, _flat_keys(objects), shares=all(map(_is_shares, objects)))
    texts = [cell for cell in found if isinstance(cell, str)]
    separator = next((sign for sign in SEPARATORS if any(sign in text for text in texts)), "")
    if not (said and separator):
        return single
    counts = tuple(cell.count(separator) + 1 if isinstance(cell, str) and cell else None for cell in found)
    return Seen(column.name, "text", said, sizes=counts, separator=separator)


def _loaded(cell: Any) -> Any:
    """Return what a cell holds, as far as that can be worked out."""
    if isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell


def _flat_keys(objects: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    keys = dict.fromkeys(key for one in objects for key, value in one.items() if not isinstance(value, dict | list))
    return tuple(keys)


def _is_shares(one: Mapping[str, Any]) -> bool:
    values = [value for value in one.values() if value is not None]
    if not all(isinstance(value, int | float) for value in values) or abs(sum(values) - 1) >= 0.05:
        return False
    return any(isinstance(value, float) for value in values)


# Where the answers are ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HeldAnswers:
    """Where answers are.

    Attributes
    ----------
    columns
        The columns of the table that hold them.
    questions, more
        What is asked, and what else is given about each answer.
    entries
        Yields the entries of a record, from the record, its item, its place and the name of the table.
    raters
        What raters are called, if they are in a list; otherwise they are the ``keys`` of an object.
    """

    columns: list[str]
    questions: Sequence[str]
    more: Sequence[str]
    entries: Callable[[Record, Any, str, str], Iterator[Entry]]
    raters: str | None = None
    keys: tuple[str, ...] = ()


def _in_lists(
    raters: str, questions: Mapping[str, str], more: Mapping[str, str], separators: Mapping[str, str],
    inside: str | None = None,
) -> HeldAnswers:  # fmt: skip
    """Return lists of raters and labels in the same order, in columns or in one object: question → column, or key."""

    def listed(record: Record, column: str, place: str, source: str) -> list[Any] | None:
        cell = record.get(column)
        separator = separators.get(column)
        if separator and isinstance(cell, str) and not cell.lstrip().startswith("["):
            return [part.strip() for part in cell.split(separator)] if cell.strip() else None
        found = nested(cell, place, source, column)
        return found if found is None or isinstance(found, list) else [found]

    def entries(record: Record, item: Any, place: str, source: str) -> Iterator[Entry]:
        if inside is not None:
            record = nested(record.get(inside), place, source, inside) or {}
            if not isinstance(record, dict):
                raise wrong(f"'{inside}' of item '{item}' is not an object of lists", place, source)
        who = listed(record, raters, place, source) or []
        known = {}
        for name, column in (*questions.items(), *more.items()):
            labels = listed(record, column, place, source)
            if labels is not None and len(labels) != len(who):
                if name in more:
                    continue
                raise wrong(
                    f"item '{item}' has {len(who)} {raters} but {len(labels)} {column}", place, source,
                    "Give a label for each rater, in the same order.",
                )  # fmt: skip
            known[name] = labels if labels is not None else [None] * len(who)
        for at, rater in enumerate(who):
            others = {name: known[name][at] for name in more if name in known}
            yield _one(rater, item, place, source), {name: known[name][at] for name in questions}, others

    columns = [inside] if inside else [raters, *questions.values(), *more.values()]
    return HeldAnswers(columns, tuple(questions), tuple(more), entries, raters)


def _keyed(column: str, keys: tuple[str, ...]) -> HeldAnswers:
    """Return an object from raters to labels."""

    def entries(record: Record, item: Any, place: str, source: str) -> Iterator[Entry]:
        cell = record.get(column)
        found = nested(cell, place, source, column) or {}
        if not isinstance(found, dict):
            raise wrong(
                f"'{column}' of item '{item}' is not an object from raters to labels", place, source,
                "Give every item such an object, or a list of raters and a list of labels.",
            )  # fmt: skip
        for rater, label in found.items():
            if label is not None or isinstance(cell, str):  # a table of objects has every key in every record
                yield rater, {column: label}, {}

    return HeldAnswers([column], (column,), (), entries, keys=keys)


def _in_objects(column: str, raters: str, questions: Mapping[str, str], more: Mapping[str, str]) -> HeldAnswers:
    """Return a list of objects, each with a rater and labels."""

    def entries(record: Record, item: Any, place: str, source: str) -> Iterator[Entry]:
        found = nested(record.get(column), place, source, column) or []
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise wrong(f"'{column}' of item '{item}' is not a list of objects", place, source)
        for one in found:
            labels, others = ({name: one.get(key) for name, key in keys.items()} for keys in (questions, more))
            yield _one(one.get(raters), item, place, source), labels, others

    return HeldAnswers([column], tuple(questions), tuple(more), entries, raters)


def _one(rater: Any, item: Any, place: str, source: str) -> Any:
    if isinstance(rater, dict | list):
        raise wrong(f"a rater of item '{item}' is not a name or a number", place, source, "Give one id for each rater.")
    return rater


def answers_in(seen: Mapping[str, Seen], asked: ReadSettings) -> list[HeldAnswers]:
    """Return where the answers are, judged by the names of columns and of keys of objects in them."""
    wanted = [name.strip() for name in (asked.score or "").split(",") if name.strip()]
    found: list[HeldAnswers] = [*_parallel(seen, wanted)]
    used = {name for one in found for name in one.columns}
    free = {name: one for name, one in seen.items() if name not in used}
    found += [
        _keyed(name, one.keys)
        for name, one in free.items()
        if one.shape == "object" and one.keys and not one.shares
        and (name in wanted or (one.is_plural and not _MADE & set(_stem(one).split())))
    ]  # fmt: skip
    return found + _objects(free, asked, wanted)


def _parallel(seen: Mapping[str, Seen], wanted: Sequence[str]) -> Iterator[HeldAnswers]:
    """Yield each list of raters with its lists of labels: those with the same stem, or all if it is the only list."""
    named_so = [one for one in seen.values() if one.is_list("rater") and not set(one.name.split()) & set(wanted)]
    stems = {"", *(_stem(one) for one in seen.values() if one.is_list("score"))}
    # gender_annotators next to annotators describes them, unless it has labels
    raters = [one for one in named_so if _stem(one) in stems] or named_so
    for one in raters:
        others = [other for other in seen.values() if other.shape in ("list", "text") and other not in raters]
        mine = [other for other in others if len(raters) == 1 or _stem(other) == _stem(one)]
        labels = [other.name for other in mine if other.is_list("score") or other.name in wanted]
        alike = []
        for other in mine:  # lists with as many entries as there are raters wherever both exist
            pairs = [pair for pair in zip(one.sizes, other.sizes, strict=False) if None not in pair]
            if other.name not in labels and pairs and all(a == b for a, b in pairs):
                alike.append(other.name)
        labels, more = (labels, alike) if labels else (alike, [])
        if labels:
            separators = {other.name: other.separator for other in (one, *mine) if other.separator}
            yield _in_lists(one.name, {name: name for name in labels}, {name: name for name in more}, separators)


def _stem(one: Seen) -> str:
    return one.named.stem if one.named else ""


def _objects(seen: Mapping[str, Seen], asked: ReadSettings, wanted: Sequence[str]) -> list[HeldAnswers]:
    """Return the lists of objects, and objects of lists, whose keys name a rater."""
    known = [one for one in seen.values() if one.shape in ("objects", "lists")]
    every = [key for one in known for key in one.keys]
    found: list[HeldAnswers] = []
    for one in known:
        saying = next((key for key in one.keys if (said := named(key)) and said.role == "rater"), None)
        rater = asked.rater if asked.rater in one.keys else by_name(one.keys, "rater") or saying
        if rater is None:
            continue
        names = {(f"{one.name}.{key}" if every.count(key) > 1 else key): key for key in one.keys if key != rater}
        score = [by_name(list(names.values()), "score")]
        labels = [key for key in names.values() if key in score] or [
            key for key in names.values() if (said := named(key)) is not None and said.role == "score"
        ]
        labels += [key for name, key in names.items() if name in wanted and key not in labels]
        questions = {name: key for name, key in names.items() if key in labels or not labels}
        more = {name: key for name, key in names.items() if name not in questions}
        if questions and one.shape == "objects":
            found.append(_in_objects(one.name, rater, questions, more))
        elif questions:
            found.append(_in_lists(rater, questions, more, {}, inside=one.name))
    return found


# Exports --------------------------------------------------------------------------------------------------------------

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
        # without a scale, whole numbers as close together as its points may be points
        numbers = [int(key) for key in one.keys if _WHOLE.fullmatch(key)]
        may_be = len(numbers) == len(one.keys) and max(numbers) - min(numbers) <= _SPAN
        if asked.scale:
            may_be = {text_of(label) for label in asked.scale.labels} >= set(one.keys)
        if may_be:
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
