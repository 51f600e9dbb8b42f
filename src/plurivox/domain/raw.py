"""Tables as they come: named columns in pieces, the roles that their names suggest, and frames of other libraries."""

from __future__ import annotations

import bisect
import datetime
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.arguments import Kind, is_frame, is_path
from plurivox.base.errors import ColumnError, FileError, SelectionError, few, no_column
from plurivox.base.wording import short
from plurivox.domain.attributes import COUNTED_FROM_1, Locate, as_categories, category_order
from plurivox.domain.scale import Label, Scale

ROWS = 1 << 14
"""How many rows a block has if cells come one by one."""
MAX_COLUMNS = 10_000
MAX_CELLS = 50_000_000
CELLS_PER_BYTE = 16
"""The most cells a table may have, absolutely or for each byte of its file.

Distinct ids and scores take at least a bit each, however well they are packed. A file with far more cells repeats the
same thing and would fill the memory with it.
"""

MEMBER = "\0file"
"""The column with the name, without its ending, of the file a row comes from, if a table is made of several files."""
FILE = "_file"
"""The name of that column for users, who may use it for raters or items."""


def refuse_columns(n_columns: int, source: str) -> None:
    """Raise an error if a table has too many columns."""
    if n_columns > MAX_COLUMNS:
        raise ColumnError(
            f"there are at least {n_columns:,} columns, but at most {MAX_COLUMNS:,} can be read",
            source=source,
            hint="Give a long table with one row per rating, and leave out unused columns.",
        )


def refuse_cells(n_cells: int, size: int, source: str) -> None:
    """Raise an error if a table has far more cells than its file can hold distinct values."""
    if n_cells > max(MAX_CELLS, size * CELLS_PER_BYTE):
        raise FileError(
            f"it has at least {n_cells:,} cells, too many for a file of {size:,} bytes",
            source=source,
            hint="Check how it was packed; if it is right, give it as plain CSV.",
        )


@dataclass(slots=True)
class RawTable:
    """Columns by name, the pieces to read once, and how to name a row in a message.

    ``text`` says that the values are text from a file, so that ``12`` may be a number; ``size`` returns how many bytes
    of the file have been read, if there is one; ``ids`` is the column of ids, if an export knows it. ``remarks`` are
    sentences about what was used as the table.
    """

    name: str
    columns: list[str]
    pieces: Iterator[pl.DataFrame]
    text: bool = False
    locate: Locate = COUNTED_FROM_1
    size: Callable[[], int] | None = None
    ids: str | None = None
    remarks: list[str] = field(default_factory=list)

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, name: str) -> RawTable:
        """Wrap a frame that is already in memory."""
        return cls(name, frame.columns, iter([frame]))

    def first(self) -> pl.DataFrame:
        """Return the first piece and keep it for reading."""
        piece = next(self.pieces, None)
        if piece is None:
            return pl.DataFrame(schema=dict.fromkeys(self.columns, pl.String))
        rest = self.pieces

        def again() -> Iterator[pl.DataFrame]:
            yield piece
            yield from rest

        self.pieces = again()
        return piece

    def plain(self, used: Collection[str | None] = ()) -> RawTable:
        """Return the table without the names of its files, or with them in ``_file`` if that column is used."""
        if MEMBER not in self.columns or MEMBER in used:
            return self
        if FILE in used and FILE not in self.columns:
            renamed = {MEMBER: FILE}
            columns = [renamed.get(name, name) for name in self.columns]
            return replace(self, columns=columns, pieces=(piece.rename(renamed) for piece in self.pieces))
        pieces = (piece.drop(MEMBER) for piece in self.pieces)
        return replace(self, columns=[name for name in self.columns if name != MEMBER], pieces=pieces)

    def frame(self) -> pl.DataFrame:
        """Read all pieces into one frame."""
        pieces = list(self.bounded(self.pieces))
        return pl.concat(pieces) if pieces else pl.DataFrame(schema=dict.fromkeys(self.columns, pl.String))

    def bounded(self, pieces: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield pieces of the table, but raise an error before there are more cells than its file can hold."""
        n_cells = 0
        for piece in pieces:
            n_cells += piece.height * piece.width
            if self.size is not None and n_cells > MAX_CELLS:
                refuse_cells(n_cells, self.size(), self.name)
            yield piece


class Runs:
    """Where the rows of a table are, if their numbers increase by one except in a few places."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._numbers: list[int] = []
        self._rows = 0

    def add(self, number: int) -> None:
        """Give the number of the next row."""
        if not self._starts or number != self._numbers[-1] + self._rows - self._starts[-1]:
            self._starts.append(self._rows)
            self._numbers.append(number)
        self._rows += 1

    def locate(self, position: int) -> str:
        """Name a row by its number."""
        run = bisect.bisect_right(self._starts, position) - 1
        return f"row {self._numbers[run] + position - self._starts[run]}"


def frame_of_cells(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
    """Return rows of values of any kind as a frame of text."""
    cells = {
        name: [None if cell is None else cell if type(cell) is str else cell_text(cell) for cell in column]
        for name, column in zip(columns, zip(*rows, strict=True), strict=True)
    }
    return pl.DataFrame(cells, schema=dict.fromkeys(columns, pl.String))


def cell_text(value: Any) -> str | None:
    """Return a value as it would appear in a text file: whole numbers without ``.0``, dates as ISO, bytes in hex.

    Examples
    --------
    >>> cell_text(4.0), cell_text("007"), cell_text(b"az"), cell_text(datetime.date(2026, 1, 31)), cell_text([1, "a"])
    ('4', '007', '617a', '2026-01-31', '[1, "a"]')
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float | Decimal):
        if math.isnan(value):
            return None
        return str(int(value)) if math.isfinite(value) and value == int(value) else str(value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=cell_text)
    return str(value)


# Roles ----------------------------------------------------------------------------------------------------------------
#
# The names by which columns of items, raters and scores are recognised.


KEY = "_key"
"""The column with the keys of an object whose values are rows."""

# Names by which a role is recognised, the surest first; compared without case, spaces and punctuation.
ROLE_NAMES: dict[str, tuple[str, ...]] = {
    "item": (
        "item", "itemid", "itemno", "itemnumber", "unit", "unitid", "exampleid", "instanceid", "sampleid", "taskid",
        "textid", "commentid", "postid", "tweetid", "messageid", "conversationid", "convid", "dialogid", "promptid",
        "questionid", "documentid", "docid", "imageid", "videoid", "reviewid", "productid", "movieid",
        "example", "instance", "comment", "prompt", "document", "image", "product", "id",
    ),
    "rater": (
        "rater", "raterid", "annotator", "annotatorid", "worker", "workerid", "coder", "coderid", "judge", "judgeid",
        "labeler", "labelerid", "labeller", "labellerid", "reviewer", "reviewerid", "participant", "participantid",
        "respondent", "respondentid", "subject", "subjectid", "evaluator", "evaluatorid", "user", "userid", "person",
        "personid", "assessor", "assessorid", "juror", "jurorid", "turker", "turkerid", "mturkid", "prolificpid",
        "prolificid", "annotatedby", "ratedby", "labeledby", "labelledby", "judgedby", "scoredby", "evaluatedby",
        "completedby", "createdby", "username", "useremail", "email", "emailaddress", "responseid", "model",
    ),
    "score": (
        "score", "rating", "ratings", "label", "grade", "stars", "severity", "judgment", "judgement", "annotation",
        "response", "answer", "value", "vote", "points",
    ),
}  # fmt: skip

RESPONSE = "responseid"
"""In surveys, it is the respondent; where somebody else rates, it is what they rate: a model's response."""


AS_IN_RATINGS = "Give it the name it has in the ratings."


def id_column(
    columns: Sequence[str], role: Literal["item", "rater"], wanted: str, source: str, hint: str = AS_IN_RATINGS
) -> str:
    """Return the id column of an attribute table: named as in the ratings, or recognised."""
    if wanted in columns:
        return wanted
    found = by_name(columns, role) or (KEY if KEY in columns else None)
    if found is None:
        raise no_column(wanted, columns, source, hint, role=f" with the {role} ids")
    return found


def by_name(columns: Sequence[str], role: str) -> str | None:
    """Return the column with the surest name of a role, or with this one name."""
    known = plain_names(columns)
    return next((known[name] for name in ROLE_NAMES.get(role, (role,)) if name in known), None)


def plain_names(columns: Sequence[str]) -> dict[str, str]:
    """Return the columns by their names without case, spaces and punctuation; the first if several are alike."""
    return {plain(column): column for column in reversed(columns)}


def plain(name: str) -> str:
    """Return a name without case, spaces and punctuation."""
    return "".join(c for c in name.casefold() if c.isalnum())


class NamedRole(NamedTuple):
    """What a name says: a role, and the rest."""

    role: Literal["rater", "score"]
    stem: str


def named(name: str) -> NamedRole | None:
    """Return the role (rater or score) that the first or last words of a name give, also in the plural.

    Examples
    --------
    >>> named("annotator_ids"), named("workerIds_toxicity")
    (NamedRole(role='rater', stem=''), NamedRole(role='rater', stem='toxicity'))
    >>> named("text")
    """
    words = _WORDS.findall(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold())
    single = [word.removesuffix("s") for word in words]
    roles: tuple[Literal["rater", "score"], ...] = ("rater", "score")
    for own, stem in ((slice(-2, None), slice(0, -2)), (slice(-1, None), slice(0, -1)),
                      (slice(0, 2), slice(2, None)), (slice(0, 1), slice(1, None))):  # fmt: skip
        for role in roles:
            if {"".join(words[own]), "".join(single[own])} & set(ROLE_NAMES[role]):
                return NamedRole(role, " ".join(single[stem]))
    return None


_WORDS = re.compile(r"[^\W_]+")


# Frames ---------------------------------------------------------------------------------------------------------------
#
# Frames: columns that are needed, rows that are chosen, and tables of other libraries as polars frames.


Wanted = Mapping[str, Label | Iterable[Label]]
GivenPopulation = Annotated[
    Any,
    Kind(
        "a file or a frame with the columns attribute, value and share, or a mapping of attributes to shares of values",
        lambda given: isinstance(given, Mapping) or hasattr(given, "targets") or is_path(given) or is_frame(given),
    ),
]


def label_column(scale: Scale) -> pl.Series:
    """Return the labels as a column of their own type, or as text where types are mixed."""
    kinds = {type(label) for label in scale.labels}
    if len(kinds) == 1 or kinds == {int, float}:
        return pl.Series("score", scale.labels, strict=False)
    return pl.Series("score", [str(label) for label in scale.labels])


def to_polars(frame: Any) -> pl.DataFrame:
    """Return any eager or lazy frame that narwhals knows as a polars frame."""
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    import narwhals as nw

    try:
        known = nw.from_native(frame)
    except TypeError:
        raise ColumnError(
            f"a {type(frame).__name__} is not a frame", hint="Give a frame of pandas, polars or pyarrow."
        ) from None
    eager = known.collect() if isinstance(known, nw.LazyFrame) else known
    return eager.to_polars()


def require_columns(found: Sequence[str], wanted: Iterable[str], source: str) -> None:
    """Raise a ColumnError that lists the existing columns if a needed one is missing."""
    for name in wanted:
        if name not in found:
            raise ColumnError(
                f"there is no column '{name}'; it has {few(list(map(str, found)))}",
                source=source,
                hint="Name the columns with --item, --rater and --score (item=, rater=, score=).",
            )


ROLES = ("item", "rater", "score", "count")


def require_apart(attributes: Sequence[str], source: str, *, timed: bool = False) -> None:
    """Raise a ColumnError if a column is named twice as an attribute, or has a reserved name."""
    for place, name in enumerate(attributes):
        if name in attributes[:place]:
            raise ColumnError(f"the attribute '{name}' is named twice", source=source, hint="Name it once.")
        if name in ROLES or (timed and name == "time"):
            raise ColumnError(
                f"an attribute is called '{name}', as every table of ratings calls another column",
                source=source, hint="Rename the column.",
            )  # fmt: skip


def pick(frame: pl.DataFrame, roles: Mapping[str, str], others: Iterable[str]) -> pl.DataFrame:
    """Return the columns that are used, the main ones under the name of their role."""
    named = [frame[name].alias(role) for role, name in roles.items()]
    return pl.DataFrame([*named, *(frame[name] for name in others)])


def chosen_rows(frame: pl.DataFrame, wanted: Wanted, what: str) -> NDArray[np.bool_]:
    """Return for each row of a table of items or raters whether it has one of the wanted values of every attribute."""
    keep = np.ones(frame.height, dtype=bool)
    for name, values in wanted.items():
        if name not in frame.columns:
            known = few(frame.columns[1:]) or "none"
            raise SelectionError(f"{what}s have no attribute '{name}'; they have: {known}")
        several = [values] if isinstance(values, str | int | float | bool) else list(values)
        texts = as_categories(pl.Series([str(value) for value in several]))
        column = as_categories(frame[name])
        for text in texts.filter(~texts.is_in(column.drop_nulls().unique().to_list())):
            if name == what == "rater":
                raise SelectionError(f"no rater has the id '{short(text)}'", hint="Ids are those of the ratings.")
            known = few(category_order(frame[name]), 10)
            raise SelectionError(f"no {what} has {name} = '{short(text)}'; the values are: {known}")
        keep &= column.is_in(texts.to_list()).fill_null(False).to_numpy()
    return keep
