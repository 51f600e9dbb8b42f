"""Predicted rating distributions: a checked table of models × items × points."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.arguments import FilePath, Frame, checked
from plurivox.base.cards import card, heading_of, plain_grid
from plurivox.base.errors import ColumnError, DuplicateError, IdError, InputError, ScaleError, ScoreError, few
from plurivox.base.files import write_text
from plurivox.base.wording import escaped
from plurivox.domain.attributes import COUNTED_FROM_1, Locate, clean, id_texts, places_of, where
from plurivox.domain.code import as_numbers, as_text
from plurivox.domain.raw import to_polars
from plurivox.domain.recoding import GivenRecoding, Recoding
from plurivox.domain.scale import Label, Scale
from plurivox.domain.scale_files import GivenScale, as_scale
from plurivox.statistics.checks import SUM_TOLERANCE

SOFT, PERSPECTIVIST = "_soft", "_pe"
"""The endings of LeWiDi 2025 submissions: for distributions, and for single raters."""
ONE_MODEL = "model"
"""The name of the model in a table that names none."""


SHOWN_POINTS = 10
"""Points of which a notebook shows the mean probability."""
MAX_CELLS, CELLS_PER_GIVEN = 1 << 26, 20
"""The most cells of a table of models × items × points, in total or for each given probability."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Predictions:
    """Predicted distributions of items' ratings, on a scale.

    Make one with :func:`plurivox.read_predictions` or :meth:`from_frame`.

    Attributes
    ----------
    scale
        The points, in the order of the last dimension of ``shares``.
    models
        Their names, sorted.
    items
        The ids of items that any model predicts, as text, sorted.
    shares
        Models × items × points: probabilities that sum to 1, NaN where a model does not predict an item.
    source
        Where they came from.
    by_rater
        Models that predict what single raters say → ``item``, ``rater`` and ``point``, a position on the scale. Their
        ``shares`` are those of the points that they predict.
    """

    scale: Scale
    models: tuple[str, ...]
    items: pl.Series
    shares: NDArray[np.float64]
    source: str = "frame"
    by_rater: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    @classmethod
    @checked
    def from_frame(
        cls,
        frame: Frame,
        scale: GivenScale,
        *,
        item: str = "item",
        model: str | None = "model",
        name: str = ONE_MODEL,
        source: str = "predictions",
        locate: Locate | None = None,
    ) -> Predictions:
        """Check a frame of pandas, polars, pyarrow or anything else that narwhals knows.

        Parameters
        ----------
        frame
            One row per model and item: the model's name, the item's id, and a column of probabilities for each point of
            the scale, named like the point. Other columns are not used.
        scale
            The scale, as a :class:`Scale` or in any other form that ``Ratings.from_frame`` takes.
        item, model
            The columns that hold them; without a column ``model``, all rows belong to one model.
        name
            The name of the model if no column gives it.
        source, locate
            How to name the table and its rows in messages.

        Raises
        ------
        InputError
            With the rows where a probability is missing, negative or not a number, where those of an item do not sum to
            1 within 10⁻⁶, or where a model predicts an item twice.

        Examples
        --------
        >>> frame = pl.DataFrame({"model": ["a", "b"], "item": [7, 7], "1": [0.5, 0.1], "2": [0.5, 0.9]})
        >>> Predictions.from_frame(frame, Scale.range(1, 2))
        <Predictions: 2 models, 1 items, on 1 < 2>
        """
        table, scale = to_polars(frame), as_scale(scale)
        if model is not None and model not in table.columns:
            model = None
        if item not in table.columns:
            raise ColumnError(
                f"there is no column '{item}' with the items; it has {few(table.columns, 20)}",
                source=source,
                hint="Name the columns with item= and model=.",
            )
        if not table.height:
            raise InputError("there are no predictions", source=source, hint="Give one row per model and item.")
        check = _Check(source, locate or COUNTED_FROM_1)
        columns = check.points(table.columns, scale, [name for name in (item, model) if name])
        names = check.ids(pl.repeat(name, table.height, eager=True) if model is None else table[model], "model")
        ids = check.ids(table[item], "item")
        shares = check.shares(table.select(columns))
        models, items = names.unique().sort(), ids.unique().sort()
        row = places_of(names, models)
        column = places_of(ids, items)
        check.once(pl.DataFrame({"model": names, "item": ids}), "", "model and item")
        check.filled(len(models), len(items), len(shares), len(scale))
        placed = np.full((len(models), len(items), len(scale)), np.nan)
        placed[row, column] = shares
        placed.flags.writeable = False
        return cls(scale, tuple(models), items, placed, source)

    @classmethod
    def together(cls, tables: Sequence[Predictions]) -> Predictions:
        """Return the predictions of several tables on one scale as one.

        Raises
        ------
        DuplicateError
            If two tables have a model of the same name, with both.
        """
        first, *others = tables
        if not others:
            return first
        owner: dict[str, str] = {}
        for table in tables:
            for name in table.models:
                if name in owner:
                    raise DuplicateError(
                        f"the model {name!r} is in {owner[name]} and in {table.source}",
                        hint="Give each its own name, in a column 'model' or as the name of the file.",
                    )
                owner[name] = table.source
        items = pl.concat([table.items for table in tables]).unique().sort()
        source = ", ".join(table.source for table in tables)
        given = sum(int(np.count_nonzero(~np.isnan(table.shares[:, :, 0]))) for table in tables)
        _Check(source, COUNTED_FROM_1).filled(len(owner), len(items), given, len(first.scale))
        models = tuple(sorted(owner))
        placed = np.full((len(models), len(items), len(first.scale)), np.nan)
        for table in tables:
            rows = np.array([models.index(name) for name in table.models])
            placed[np.ix_(rows, places_of(table.items, items))] = table.shares
        placed.flags.writeable = False
        by_rater = {name: frame for table in tables for name, frame in table.by_rater.items()}
        return cls(first.scale, models, items, placed, source, by_rater)

    @checked
    def recode(self, rule: GivenRecoding | None = None, *, unsafe_from: Label | None = None) -> Predictions:
        """Return the predictions on another scale, as :meth:`plurivox.Ratings.recode` does with ratings.

        Probabilities of points that become one are added up; those of points that become missing go to the others.

        Parameters
        ----------
        rule
            Text such as ``"0-2=no,3-4=yes"``, or a mapping from points or ranges of them to new points.
        unsafe_from
            Instead of a rule: the lowest of the points that count as unsafe.
        """
        recoding = Recoding.of(self.scale, rule, unsafe_from)
        by_rater = {
            name: frame.with_columns(point=pl.Series(recoding.positions(frame["point"].to_numpy()))).filter(
                pl.col("point") >= 0
            )
            for name, frame in self.by_rater.items()
        }
        return replace(self, scale=recoding.new, shares=recoding.shares(self.shares), by_rater=by_rater)

    @classmethod
    @checked
    def from_raters(
        cls,
        frame: Frame,
        scale: GivenScale,
        *,
        item: str = "item",
        rater: str = "rater",
        point: str = "point",
        model: str | None = "model",
        name: str = ONE_MODEL,
        source: str = "predictions",
        locate: Locate | None = None,
    ) -> Predictions:
        """Check a frame that predicts what single raters say: one row per model, item and rater.

        Parameters
        ----------
        frame
            The model's name, the ids of item and rater, and the point that this rater is predicted to give.
        scale
            The scale, as in :meth:`from_frame`.
        item, rater, point, model
            The columns that hold them; without a column ``model``, all rows belong to one model.
        name, source, locate
            As in :meth:`from_frame`.

        Examples
        --------
        >>> frame = pl.DataFrame({"item": [7, 7], "rater": ["a", "b"], "point": [1, 2]})
        >>> Predictions.from_raters(frame, Scale.range(1, 2)).shares.tolist()
        [[[0.5, 0.5]]]
        """
        table, scale = to_polars(frame), as_scale(scale)
        known = [column for column in (item, rater, point) if column not in table.columns]
        if known:
            raise ColumnError(
                f"there is no column '{known[0]}'; it has {few(table.columns, 20)}",
                source=source,
                hint="Name the columns with item=, rater=, point= and model=.",
            )
        if not table.height:
            raise InputError("there are no predictions", source=source, hint="Give one row per item and rater.")
        check = _Check(source, locate or COUNTED_FROM_1)
        one = model is None or model not in table.columns
        long = pl.DataFrame({
            "model": check.ids(pl.repeat(name, table.height, eager=True) if one else table[model or ""], "model"),
            "item": check.ids(table[item], "item"),
            "rater": check.ids(table[rater], "rater"),
            "point": check.positions(table[point], scale),
        })  # fmt: skip
        check.once(long.select("model", "item", "rater"), "a rater of ", "model, item and rater")
        counted = long.group_by("model", "item", maintain_order=True).agg(
            (pl.col("point") == at).mean().alias(str(label)) for at, label in enumerate(scale.labels)
        )
        found = cls.from_frame(counted, scale, source=source)
        parts = {name: long.filter(model=name).drop("model") for name in found.models}
        return cls(scale, found.models, found.items, found.shares, source, parts)

    @checked
    def write_submission(self, path: FilePath, *, model: str | None = None, items: Sequence[str] | None = None) -> Path:
        """Write a submission to LeWiDi 2025: points of single raters to ``…_pe.tsv``, otherwise probabilities.

        Parameters
        ----------
        path
            The file, such as ``CSC_test_soft.tsv`` or ``CSC_test_pe.tsv``; or ``CSC_test.json`` for probabilities as
            soft labels in an object of items, the format of the task's data.
        model
            Which of several models.
        items
            The items in the desired order; sorted by default.

        Returns
        -------
        Path
            The file.
        """
        if (model is None and len(self.models) > 1) or (model is not None and model not in self.models):
            raise InputError(f"model is {model!r}", hint=f"Choose one of {few(self.models, 20)}.")
        name, target = model or self.models[0], Path(os.fspath(path))
        rows = zip(self.items, self.shares[self.models.index(name)].tolist(), strict=True)
        shares = {item: one for item, one in rows if not math.isnan(one[0])}
        lines = self._points(name) if target.stem.endswith(PERSPECTIVIST) else {
            item: json.dumps(one) for item, one in shares.items()
        }  # fmt: skip
        wanted = sorted(lines) if items is None else [item for item in items if item in lines]
        if target.suffix.lower() == ".json":
            names = [str(label) for label in self.scale.labels]
            soft = ((item, {"soft_label": dict(zip(names, shares[item], strict=True))}) for item in wanted)
            return write_text(target, object_text(soft), [self.source])
        return write_text(target, "".join(f"{item}\t{lines[item]}\n" for item in wanted), [self.source])

    def _points(self, name: str) -> dict[str, str]:
        """Return the list of points of each item, in the order of its raters' names, numbers by value."""
        if name not in self.by_rater:
            raise InputError(
                f"{name} predicts distributions, not single raters", hint="End the name of the file with _soft.tsv."
            )
        lines = {}
        for (item,), part in self.by_rater[name].group_by("item", maintain_order=True):
            told = sorted(part.select("rater", "point").iter_rows(), key=lambda row: natural(row[0]))
            lines[str(item)] = f"[{', '.join(str(self.scale.labels[point]) for _, point in told)}]"
        return lines

    def __repr__(self) -> str:
        return f"<Predictions: {len(self.models)} models, {len(self.items):,} items, on {self.scale}>"

    def _repr_html_(self) -> str:
        """Show what each model predicts on average in a notebook."""
        predicted = ~np.isnan(self.shares[:, :, 0])
        rows = []
        for name, shares, known in zip(self.models, self.shares, predicted, strict=True):
            mean = shares[known].mean(axis=0) if known.any() else np.full(len(self.scale), np.nan)
            cells = [f"{share:.1%}" for share in mean[:SHOWN_POINTS]]
            rows.append([name, int(np.count_nonzero(known)), *cells])
        points = [str(label) for label in self.scale.labels[:SHOWN_POINTS]]
        cut = f", the first {SHOWN_POINTS} of {len(self.scale):,} points" if len(self.scale) > SHOWN_POINTS else ""
        grid = plain_grid(["model", "items", *points], rows, title=f"Mean probability of each point{cut}")
        return card(*heading_of(self), grids=[grid], more="models")


def object_text(items: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """Return an object of items as JSON, one item a line."""
    lines = [f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(one, ensure_ascii=False)}" for name, one in items]
    return escaped("{\n" + ",\n".join(lines) + "\n}\n")


def natural(text: str) -> list[tuple[int, str]]:
    """Return the sort key of names, so that Ann9 comes before Ann10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", text)]


@dataclass(frozen=True, slots=True)
class _Check:
    """Checks the parts of a table, and raises with its name and rows."""

    source: str
    locate: Locate

    def points(self, columns: Sequence[str], scale: Scale, taken: Sequence[str]) -> list[str]:
        """Return the column of each point."""
        found: dict[int, list[str]] = {}
        for name in columns:
            if name not in taken:
                try:
                    found.setdefault(scale.position(name), []).append(name)
                except ScaleError:
                    continue
        missing = [str(label) for at, label in enumerate(scale.labels) if at not in found]
        if missing:
            shown = ", ".join(missing[:8]) + (" …" if len(missing) > 8 else "")
            raise ColumnError(
                f"there is no column for the point {shown}; it has {few(columns, 20)}",
                source=self.source,
                hint=f"Give one column of probabilities for each point of {scale}, named like the point.",
            )
        in_order = [found[at] for at in range(len(scale))]
        if twice := [names for names in in_order if len(names) > 1]:
            raise ColumnError(
                f"the columns {' and '.join(twice[0])} name the same point",
                source=self.source, hint="Keep one of them, or rename the other.",
            )  # fmt: skip
        return [names[0] for names in in_order]

    def ids(self, column: pl.Series, role: str) -> pl.Series:
        """Return ids as text."""
        texts = id_texts(column)
        blank = (texts.is_null() | (texts.str.strip_chars() == "")).to_numpy()
        if blank.any():
            raise IdError(f"the {role} is missing", column=column.name, **self._where(blank), hint="Fill it in.")
        odd = texts.str.contains(r"\p{Cc}").to_numpy()
        if odd.any():
            first = texts[int(np.flatnonzero(odd)[0])]
            raise IdError(
                f"the {role} {first!r} holds a control character",
                column=column.name,
                **self._where(odd),
                hint="Remove it; names may contain any printable text.",
            )
        return texts

    def shares(self, table: pl.DataFrame) -> NDArray[np.float64]:
        """Return probabilities, each row divided by its sum."""
        numbers = np.column_stack([self._numbers(column) for column in table])
        with np.errstate(over="ignore"):
            sums = numbers.sum(axis=1)
        wrong = ~(np.abs(sums - 1) <= SUM_TOLERANCE)
        if wrong.any():
            first = sums[np.flatnonzero(wrong)[0]]
            raise InputError(
                f"the probabilities sum to {first:.7g}, not to 1",
                **self._where(wrong),
                hint="Give probabilities with enough digits, or divide those of each item by their sum.",
            )
        numbers /= sums[:, None]
        return numbers

    def _numbers(self, column: pl.Series) -> NDArray[np.float64]:
        if column.dtype.is_nested() or column.dtype == pl.Object:
            raise ColumnError(
                f"it holds {column.dtype} instead of numbers", source=self.source, column=column.name,
                hint="Give one number from 0 to 1 in each row.",
            )  # fmt: skip
        column = clean(column)
        values = as_numbers(column).fill_null(np.nan).to_numpy()
        for wrong, what in (
            (column.is_null().to_numpy(), "is missing"),
            (np.isnan(values), "is not a number"),
            (np.isinf(values), "is not a finite number"),
            (values < 0, "is negative"),
        ):
            if wrong.any():
                shown = column[int(np.flatnonzero(wrong)[0])]
                raise InputError(
                    f"a probability {what}" if shown is None else f"the probability {shown} {what}",
                    column=column.name,
                    **self._where(wrong),
                    hint="Give a number from 0 to 1 for every point, or leave the whole row out.",
                )
        return values

    def positions(self, column: pl.Series, scale: Scale) -> pl.Series:
        """Return the positions of predicted points."""
        found = []
        for row, answer in enumerate(as_text(column)):
            try:
                at = scale.position(answer)
            except ScaleError:
                at = -1
            if at < 0:
                raise ScoreError(
                    "a predicted point is missing" if answer is None else f"{answer!r} is not a point of {scale}",
                    source=self.source, column=column.name, places=[self.locate(row)], n_places=1,
                    hint="Give one of its points for every item and rater.",
                )  # fmt: skip
            found.append(at)
        return pl.Series(found, dtype=pl.Int64)

    def once(self, keys: pl.DataFrame, whom: str, each: str) -> None:
        """Raise if a model predicts an item, or a rater of it, twice."""
        repeated = keys.is_duplicated().to_numpy()
        if repeated.any():
            name, item, *_ = keys.row(int(np.flatnonzero(repeated)[0]))
            raise DuplicateError(
                f"{name} predicts {whom}item {item} more than once", **self._where(repeated),
                hint=f"Keep one row per {each}.",
            )  # fmt: skip

    def filled(self, n_models: int, n_items: int, n_given: int, n_points: int) -> None:
        """Raise if models predict so few of the items that a table of all of them would be empty, and large."""
        if n_models * n_items * n_points > max(MAX_CELLS, CELLS_PER_GIVEN * n_given * n_points):
            raise InputError(
                f"{n_models:,} models × {n_items:,} items are far more than the {n_given:,} predictions given",
                source=self.source,
                hint="Check the column of models; put models that predict other items in separate files.",
            )

    def _where(self, wrong: NDArray[np.bool_]) -> dict[str, Any]:
        return where(self.source, self.locate, wrong)
