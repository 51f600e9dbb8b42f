"""Where records of items hold their answers: parallel lists, objects from raters to labels, or lists of objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import polars as pl

from plurivox.domain.raw import NamedRole, by_name, named
from plurivox.read.formats.unfolding import Record, nested, wrong
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


class Entry(NamedTuple):
    """One rater of an item: who it is, the label for each question, and anything else that is given."""

    rater: Any
    labels: dict[str, Any]
    more: Mapping[str, Any]


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
    if column.dtype != pl.String and not isinstance(column.dtype, _NESTED):
        return Seen(column.name, "single", said)
    cells = [cell for cell in column.to_list() if cell is not None and cell != ""]
    if not cells:
        return Seen(column.name, "single", said)
    if column.dtype == pl.String and said is None and not any(cell.lstrip()[:1] in ("[", "{") for cell in cells[:50]):
        return Seen(column.name, "single", said)
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
        return Seen(column.name, "single", said)
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
    numbers = [value for value in values if isinstance(value, int | float)]
    return (
        len(numbers) == len(values) and any(isinstance(one, float) for one in numbers) and abs(sum(numbers) - 1) < 0.05
    )


# Where the answers are ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parallel:
    """Lists of raters and labels in the same order, in columns or in one object."""

    raters: str
    questions: Mapping[str, str]  # question → column, or key
    more: Mapping[str, str]
    separators: Mapping[str, str]
    inside: str | None = None

    @property
    def columns(self) -> list[str]:
        """The columns of the table that it uses."""
        return [self.inside] if self.inside else [self.raters, *self.questions.values(), *self.more.values()]

    def read(self, record: Record, item: Any, place: str, source: str) -> Iterator[Entry]:
        """Yield the entries of a record."""
        if self.inside is not None:
            record = nested(record.get(self.inside), place, source, self.inside) or {}
            if not isinstance(record, dict):
                raise wrong(f"'{self.inside}' of item '{item}' is not an object of lists", place, source)
        raters = self._list(record, self.raters, place, source) or []
        known = {}
        for name, column in (*self.questions.items(), *self.more.items()):
            labels = self._list(record, column, place, source)
            if labels is not None and len(labels) != len(raters):
                if name in self.more:
                    continue
                raise wrong(
                    f"item '{item}' has {len(raters)} {self.raters} but {len(labels)} {column}", place, source,
                    "Give a label for each rater, in the same order.",
                )  # fmt: skip
            known[name] = labels if labels is not None else [None] * len(raters)
        for at, rater in enumerate(raters):
            yield Entry(
                _one(rater, item, place, source),
                {name: known[name][at] for name in self.questions},
                {name: known[name][at] for name in self.more if name in known},
            )

    def _list(self, record: Record, column: str, place: str, source: str) -> list[Any] | None:
        cell = record.get(column)
        separator = self.separators.get(column)
        if separator and isinstance(cell, str) and not cell.lstrip().startswith("["):
            return [part.strip() for part in cell.split(separator)] if cell.strip() else None
        found = nested(cell, place, source, column)
        if found is None or isinstance(found, list):
            return found
        return [found]


@dataclass(frozen=True, slots=True)
class Keyed:
    """An object from raters to labels."""

    column: str
    keys: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """The column of the table that it uses."""
        return [self.column]

    @property
    def may_be_points(self) -> bool:
        """Whether the keys are whole numbers as close together as the points of a scale."""
        numbers = [int(key) for key in self.keys if _WHOLE.fullmatch(key)]
        return len(numbers) == len(self.keys) and max(numbers) - min(numbers) <= _SPAN

    @property
    def raters(self) -> None:
        """The keys have no name."""

    @property
    def questions(self) -> Mapping[str, str]:
        """The only question."""
        return {self.column: self.column}

    @property
    def more(self) -> Mapping[str, str]:
        """Nothing else."""
        return {}

    def read(self, record: Record, item: Any, place: str, source: str) -> Iterator[Entry]:
        """Yield the entries of a record."""
        cell = record.get(self.column)
        found = nested(cell, place, source, self.column) or {}
        if not isinstance(found, dict):
            raise wrong(
                f"'{self.column}' of item '{item}' is not an object from raters to labels", place, source,
                "Give every item such an object, or a list of raters and a list of labels.",
            )  # fmt: skip
        for rater, label in found.items():
            if label is not None or isinstance(cell, str):  # a table of objects has every key in every record
                yield Entry(rater, {self.column: label}, {})


@dataclass(frozen=True, slots=True)
class Objects:
    """A list of objects, each with a rater and labels."""

    column: str
    raters: str
    questions: Mapping[str, str]
    more: Mapping[str, str]

    @property
    def columns(self) -> list[str]:
        """The column of the table that it uses."""
        return [self.column]

    def read(self, record: Record, item: Any, place: str, source: str) -> Iterator[Entry]:
        """Yield the entries of a record."""
        found = nested(record.get(self.column), place, source, self.column) or []
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise wrong(f"'{self.column}' of item '{item}' is not a list of objects", place, source)
        for one in found:
            yield Entry(
                _one(one.get(self.raters), item, place, source),
                {name: one.get(key) for name, key in self.questions.items()},
                {name: one.get(key) for name, key in self.more.items()},
            )


Answers = Parallel | Keyed | Objects


def _one(rater: Any, item: Any, place: str, source: str) -> Any:
    if isinstance(rater, dict | list):
        raise wrong(f"a rater of item '{item}' is not a name or a number", place, source, "Give one id for each rater.")
    return rater


def answers_in(seen: Mapping[str, Seen], asked: ReadSettings) -> list[Answers]:
    """Return where the answers are, judged by the names of columns and of keys of objects in them."""
    wanted = [name.strip() for name in (asked.score or "").split(",") if name.strip()]
    found: list[Answers] = [*_parallel(seen, wanted)]
    used = {name for one in found for name in one.columns}
    free = {name: one for name, one in seen.items() if name not in used}
    found += [
        Keyed(name, one.keys)
        for name, one in free.items()
        if one.shape == "object" and one.keys and not one.shares
        and (name in wanted or (one.is_plural and not _MADE & set(_stem(one).split())))
    ]  # fmt: skip
    return found + _objects(free, asked, wanted)


def _parallel(seen: Mapping[str, Seen], wanted: Sequence[str]) -> Iterator[Parallel]:
    """Yield each list of raters with its lists of labels: those with the same stem, or all if it is the only list."""
    raters = _who(seen, wanted)
    for one in raters:
        others = [other for other in seen.values() if other.shape in ("list", "text") and other not in raters]
        mine = [other for other in others if len(raters) == 1 or _stem(other) == _stem(one)]
        labels = [other.name for other in mine if other.is_list("score") or other.name in wanted]
        alike = [other.name for other in mine if other.name not in labels and _alike(one, other)]
        labels, more = (labels, alike) if labels else (alike, [])
        if labels:
            separators = {other.name: other.separator for other in (one, *mine) if other.separator}
            yield Parallel(one.name, {name: name for name in labels}, {name: name for name in more}, separators)


def _who(seen: Mapping[str, Seen], wanted: Sequence[str]) -> list[Seen]:
    """Return the lists of raters; ``gender_annotators`` next to ``annotators`` describes them, unless it has labels."""
    named_so = [one for one in seen.values() if one.is_list("rater") and not set(one.name.split()) & set(wanted)]
    stems = {"", *(_stem(one) for one in seen.values() if one.is_list("score"))}
    return [one for one in named_so if _stem(one) in stems] or named_so


def _stem(one: Seen) -> str:
    return one.named.stem if one.named else ""


def _alike(raters: Seen, other: Seen) -> bool:
    """Return whether a list has as many entries as there are raters wherever both exist."""
    pairs = [pair for pair in zip(raters.sizes, other.sizes, strict=False) if None not in pair]
    return bool(pairs) and all(a == b for a, b in pairs)


def _objects(seen: Mapping[str, Seen], asked: ReadSettings, wanted: Sequence[str]) -> list[Answers]:
    """Return the lists of objects, and objects of lists, whose keys name a rater."""
    known = [one for one in seen.values() if one.shape in ("objects", "lists")]
    every = [key for one in known for key in one.keys]
    found: list[Answers] = []
    for one in known:
        rater = asked.rater if asked.rater in one.keys else _key(one.keys, "rater")
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
            found.append(Objects(one.name, rater, questions, more))
        elif questions:
            found.append(Parallel(rater, questions, more, {}, inside=one.name))
    return found


def _key(keys: Sequence[str], role: str) -> str | None:
    return by_name(keys, role) or next((key for key in keys if (said := named(key)) and said.role == role), None)
