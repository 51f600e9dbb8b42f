"""Scores and ids that several columns hold together: one-hot columns, columns of counts, ids of several parts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import ColumnError, IdError, InputError, ScaleError, ScoreError, few, no_column
from plurivox.domain.attributes import Locate, clean, where
from plurivox.domain.check import SEVERAL
from plurivox.domain.choices import Layout
from plurivox.domain.code import as_text
from plurivox.domain.raw import RawTable, id_column
from plurivox.domain.scale import Scale, text_of

GivenPoints = str | Sequence[str]
ALL_ZERO = "all 0"
"""What a row without a 1 in any column says: not a point, and so an error unless declared missing."""
BY_RATER = "{rater}"
"""Stands for the rater in column names, if each rater has columns of their own."""
BETWEEN = " | "
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def point_columns_text(given: GivenPoints) -> str:
    """Return the columns of points as the command line and ``plurivox.toml`` write them."""
    return given if isinstance(given, str) else ",".join(given)


def with_joined(table: RawTable, item: str | None, keep: Sequence[str] | None = None) -> RawTable:
    """Return the table with a column ``a,b`` made of its columns a and b, if it has these and none of that name.

    If ``keep`` is given, only those of the joined columns that it lists stay.
    """
    parts = [part.strip() for part in (item or "").split(",")]
    if item is None or item in table.columns or len(parts) < 2 or not set(parts) & set(table.columns):
        return table
    for part in parts:
        if part not in table.columns:
            raise no_column(part, table.columns, table.name, role=" for the item")
    frame = table.frame()
    texts = [as_text(clean(frame[part])) for part in parts]
    for text in texts[:-1]:
        odd = text.str.contains("|", literal=True).fill_null(False)
        if odd.any():
            raise IdError(
                f"{text.filter(odd)[0]!r} contains a bar, which separates the parts of an id",
                column=text.name, **where(table.name, table.locate, odd),
                hint="Name this column last in --item, or give items an id column of their own.",
            )  # fmt: skip
    blank = pl.any_horizontal(text.is_null() | (text.str.strip_chars() == "") for text in texts)
    joined = pl.concat_str(texts, separator=BETWEEN)
    ids = pl.select(pl.when(~blank).then(joined).alias(item)).to_series()
    others = frame if keep is None else frame.drop([part for part in parts if part not in keep])
    return _made(table, others.with_columns(ids))


PreparedTable = tuple[RawTable, Scale | None, str | None, str | None, Layout | None]
"""A table whose ids and scores are in one column each, its scale, the columns of raters and scores, and its layout."""


def prepare(
    table: RawTable,
    given: GivenPoints | None,
    scale: Scale | None,
    *,
    roles: Mapping[str, str | None],
    layout: Layout | None = None,
    attributes: Sequence[str] = (),
    of_raters: Sequence[str] = (),
) -> PreparedTable:
    """Return the table with joined ids and with scores instead of columns of points.

    ``attributes`` are further columns that are needed, ``of_raters`` those of them that describe raters.
    """
    table = with_joined(table, roles["item"], attributes)
    rater, score = roles["rater"], roles["score"]
    if given is None:
        return (table, scale, rater, score, layout)
    points = PointColumns.of(table.columns, given, scale, table.name)
    clash = "--score" if score else "--wide" if layout == "wide" else None
    if points.by_rater:
        clash = clash or ("--rater" if rater else f"the column '{of_raters[0]}'" if of_raters else None)
    if clash:
        said = f"{points.text} already says what {clash} says"
        raise InputError(
            said if clash[0] == "-" else f"{clash} cannot be used if each rater has columns of their own",
            source=table.name, hint=f"Leave out either {clash} or the columns of points.",
        )  # fmt: skip
    if layout == "totals":
        return (points.counts(table, roles["item"], attributes), points.scale, rater, None, layout)
    rater = BY_RATER if points.by_rater else rater
    return (points.scores(table, attributes), points.scale, rater, points.text, "long")


def _made(table: RawTable, frame: pl.DataFrame, locate: Locate | None = None) -> RawTable:
    return replace(table, columns=frame.columns, pieces=iter([frame]), locate=locate or table.locate)


@dataclass(frozen=True, slots=True)
class PointColumns:
    """The columns of each point of a scale, for all ratings or for each rater."""

    text: str
    scale: Scale
    blocks: dict[str, tuple[str, ...]]  # rater, or "" → columns in the order of the scale

    @classmethod
    def of(cls, columns: Sequence[str], given: GivenPoints, scale: Scale | None, source: str) -> PointColumns:
        """Find the columns: those named, in the order of the scale, or those that fit ``is_abuse.*``.

        The star stands for the point. Whole numbers have an order of their own; other names need a scale.
        """
        text = point_columns_text(given)
        if not isinstance(given, str) or "*" not in given:
            names = list(given) if not isinstance(given, str) else [name.strip() for name in given.split(",")]
            return cls(text, *_listed(columns, names, scale, source))
        found = _matching(columns, given, source)
        points = list(dict.fromkeys(point for block in found.values() for point in block))
        if scale is None and not all(map(_NUMBER.fullmatch, points)):
            raise ScaleError(
                f"the points are text, which has no order of its own: {few(sorted(points))}", source=source,
                column=given, hint="Give the points from lowest to highest, for example --scale No,Unsure,Yes.",
            )  # fmt: skip
        try:
            known = scale or Scale.parse(",".join(sorted(points, key=float)))
        except ScaleError as error:
            raise ScaleError(error.problem, source=source, column=given, hint=error.hint) from None
        blocks = {rater: _block(columns, block, known, given, source) for rater, block in found.items()}
        return cls(text, known, blocks)

    def __post_init__(self) -> None:
        for label in self.scale.labels:
            if str(label) == ALL_ZERO or str(label).startswith(SEVERAL):
                raise ScaleError(f"a point of one-hot columns cannot be called {str(label)!r}", hint="Rename it.")

    @property
    def by_rater(self) -> bool:
        """Whether each rater has columns of their own."""
        return "" not in self.blocks

    def scores(self, table: RawTable, keep: Sequence[str] = ()) -> RawTable:
        """Return the table with one column of scores, named as the columns were given, instead of all of them."""
        frame = table.frame()
        taken = [name for block in self.blocks.values() for name in block if name not in keep]
        others, n_rows = frame.drop(taken), frame.height
        made = []
        for rater, block in self.blocks.items():
            column = self._decoded(frame.select(block), table).alias(self.text)
            named = [pl.lit(rater).alias(BY_RATER)] if self.by_rater else []
            made.append(others.with_columns(*named, column))

        def locate(position: int) -> str:
            block, row = divmod(position, n_rows)
            place = table.columns.index(list(self.blocks.values())[block][0]) + 1
            return f"{table.locate(row)}, columns from {place}" if self.by_rater else table.locate(row)

        return _made(table, pl.concat(made), locate)

    def counts(self, table: RawTable, item: str | None, keep: Sequence[str]) -> RawTable:
        """Return the table with its items, the kept columns, and counts in columns named like the points."""
        if self.by_rater:
            raise ColumnError(
                f"totals have no raters, but {self.text} names them", source=table.name, hint="Leave out --totals."
            )
        frame, block = table.frame(), self.blocks[""]
        others = [name for name in frame.columns if name not in block]
        owner = id_column(others, "item", item or "item", table.name)
        kept = [name for name in others if name == owner or name in keep]
        labels = [text_of(label) for label in self.scale.labels]
        clash = [name for name in kept if name in labels]
        if clash:
            raise ColumnError("a column has the name of a point", source=table.name, column=clash[0], hint="Rename it.")
        named = [frame[name].alias(label) for name, label in zip(block, labels, strict=True)]
        return _made(table, frame.select(kept).with_columns(*named))

    def _decoded(self, frame: pl.DataFrame, table: RawTable) -> pl.Series:
        """Return the point whose column holds a 1; null where all are blank."""
        cells = [_cells(column, table) for column in frame]
        ones = np.column_stack([cell == 1 for cell in cells])
        n_ones, blank = ones.sum(axis=1), np.all([np.isnan(cell) for cell in cells], axis=0)
        texts = [text_of(label) for label in self.scale.labels]
        found = pl.Series(texts).gather(ones.argmax(axis=1).astype(np.uint32))
        found = found.set(pl.Series(n_ones == 0), ALL_ZERO).set(pl.Series(blank), None)
        crowded = np.flatnonzero(n_ones > 1)
        if len(crowded):
            named = [SEVERAL + ", ".join(texts[at] for at in np.flatnonzero(ones[row])) for row in crowded]
            found = found.scatter(crowded, named)
        return found


def _cells(column: pl.Series, table: RawTable) -> NDArray[np.float64]:
    """Return 0, 1, or NaN where the cell is blank."""
    texts = as_text(clean(column)).str.strip_chars().str.to_lowercase().replace({"true": "1", "false": "0"})
    numbers = texts.cast(pl.Float64, strict=False)
    bad = texts.is_not_null() & ~numbers.is_in([0.0, 1.0]).fill_null(False)
    if bad.any():
        raise ScoreError(
            f"{as_text(column).filter(bad)[0]!r} is neither 0 nor 1",
            column=column.name, **where(table.name, table.locate, bad),
            hint="One-hot columns hold 1 for the point that was given and 0 or nothing for the others; use --totals if "
            "they hold counts.",
        )  # fmt: skip
    return numbers.fill_null(np.nan).to_numpy()


def _listed(
    columns: Sequence[str], names: list[str], scale: Scale | None, source: str
) -> tuple[Scale, dict[str, tuple[str, ...]]]:
    """Return the scale and the columns that were named one by one, in its order."""
    for at, name in enumerate(names):
        if name not in columns:
            raise no_column(name, columns, source, role=" for a point")
        if name in names[:at]:
            raise ColumnError("the column is named for two points", source=source, column=name, hint="Name it once.")
    if scale is None:
        scale = Scale(names) if any("," in name for name in names) else Scale.parse(",".join(names))
    if len(names) != len(scale):
        raise ColumnError(
            f"{len(names)} columns are named, but the scale {scale} has {len(scale)} points",
            source=source, hint="Name one column for each point, in the order of the scale.",
        )  # fmt: skip
    return scale, {"": tuple(names)}


def _matching(columns: Sequence[str], pattern: str, source: str) -> dict[str, dict[str, list[str]]]:
    """Return rater → point → columns that fit a pattern."""
    if pattern.count("*") > 1 or pattern.count(BY_RATER) > 1:
        raise ColumnError(
            f"{pattern!r} has more than one star or {BY_RATER}",
            hint=f"Write one star for the point, and {BY_RATER} where each rater has columns: '{BY_RATER}_abuse.*'.",
        )
    regex = re.escape(pattern).replace(r"\*", "(?P<point>.+)").replace(re.escape(BY_RATER), "(?P<rater>.+?)")
    found: dict[str, dict[str, list[str]]] = {}
    for name in columns:
        if fits := re.fullmatch(regex, name, re.DOTALL):
            rater = fits.groupdict().get("rater", "")
            found.setdefault(rater, {}).setdefault(text_of(fits["point"]), []).append(name)
    if not found:
        raise ColumnError(
            f"no column matches {pattern!r}; the columns are {few(columns)}",
            source=source,
            hint="Write the name with * instead of the point, such as 'severity.*', or name the columns in order.",
        )
    return found


def _block(
    columns: Sequence[str], block: dict[str, list[str]], scale: Scale, pattern: str, source: str
) -> tuple[str, ...]:
    """Return the columns of one rater, or of all, in the order of the scale."""
    placed: dict[int, str] = {}
    for point, names in block.items():
        try:
            at = scale.position(point)
        except ScaleError as error:
            raise ColumnError(
                f"column {columns.index(names[0]) + 1} matches {pattern!r}, but {error.problem}",
                source=source,
                hint="Name the columns one by one in the order of the scale, or give another --scale.",
            ) from None
        if len(names) > 1 or at < 0:
            places = " and ".join(str(columns.index(name) + 1) for name in names)
            which = f"columns {places} are the same point" if len(names) > 1 else f"column {places} means missing"
            hint = "Rename one, or name the columns one by one in order."
            raise ColumnError(f"{which}, {point}", source=source, hint=hint)
        placed[at] = names[0]
    lacking = [str(label) for at, label in enumerate(scale.labels) if at not in placed]
    if lacking:
        first = columns.index(next(iter(block.values()))[0]) + 1
        which = f" alongside column {first}" if BY_RATER in pattern else ""
        raise ColumnError(
            f"no column that matches {pattern!r}{which} is for the point {few(lacking)}",
            source=source,
            hint="Every point of the scale needs a column; give the scale with --scale.",
        )
    return tuple(placed[at] for at in range(len(scale)))
