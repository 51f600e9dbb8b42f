"""What :func:`plurivox.cohesion` found, as tables, sentences and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from plurivox.errors import SelectionError

SIGNIFICANT = 0.05
MANY_UNDEFINED = 0.05  # a larger share of undefined permutations is noted
_SCHEMA = {
    "axis": pl.String, "group": pl.String, "subset": pl.String, "statistic": pl.String, "value": pl.Float64,
    "ci_low": pl.Float64, "ci_high": pl.Float64, "p_value": pl.Float64, "p_adjusted": pl.Float64,
    "direction": pl.String, "null_median": pl.Float64, "n_raters": pl.Int64, "n_items": pl.Int64,
    "n_ratings": pl.Int64, "note": pl.String,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One value with all that belongs to it; ``other`` is the second group of a pair."""

    kind: str
    axis: str
    group: str
    statistic: str
    value: float
    ci_low: float | None = None
    ci_high: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    direction: str | None = None
    null_median: float | None = None
    n_raters: int = 0
    n_items: int = 0
    n_ratings: int = 0
    note: str = ""
    other: str = ""

    def with_interval(self, low: float, high: float) -> Row:
        """Return the row with a 95 % interval."""
        return replace(self, ci_low=float(low), ci_high=float(high))

    def with_test(self, p: float, direction: str | None, median: float, undefined: float) -> Row:
        """Return the row with the result of a permutation test; many undefined draws are noted."""
        note = self.note
        if undefined > MANY_UNDEFINED and not math.isnan(self.value):
            note = f"{note}; " if note else ""
            note += f"{undefined:.0%} of the permutations are undefined and left out"
        return replace(self, p_value=float(p), direction=direction, null_median=float(median), note=note)

    def with_adjusted(self, p: float) -> Row:
        """Return the row with a corrected p-value."""
        return replace(self, p_adjusted=p)

    def with_sizes(self, n_raters: int, n_items: int, n_ratings: int) -> Row:
        """Return the row with what it rests on."""
        return replace(self, n_raters=n_raters, n_items=n_items, n_ratings=n_ratings)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cohesion:
    """Which groups agree among themselves more than with others.

    Attributes
    ----------
    rows
        Every value; :meth:`to_frame` shows them as a table.
    pair_rows
        Every pair of groups, if asked for.
    withheld, outside
        For each axis, how many groups were too small to show, and how many raters have no value on it.
    draws
        For each axis, its groups, the null draws (draws × groups × ``statistics``) and the bootstrap draws (draws ×
        groups × ``resampled``).
    settings
        What was asked for, the seed included.
    """

    rows: tuple[Row, ...]
    pair_rows: tuple[Row, ...]
    withheld: dict[str, int]
    outside: dict[str, int]
    draws: dict[str, dict[str, Any]]
    settings: dict[str, Any]

    def __repr__(self) -> str:
        groups = len({(row.axis, row.group) for row in self.rows if row.kind == "group"})
        return f"<Cohesion: {groups} groups on {len(self.draws)} axes, {self.settings['permutations']} permutations>"

    def of_question(self, question: str) -> Cohesion:
        """Return the result with the name of the question it is about, which becomes the ``subset`` of its frames."""
        return replace(self, settings={**self.settings, "question": question})

    def to_frame(self) -> pl.DataFrame:
        """Return one row per axis, group and statistic."""
        return _frame(self.rows, self.settings["question"])

    def pairs(self) -> pl.DataFrame:
        """Return one row per pair of groups: XRR, and on the diagonal each group's IRR."""
        frame = _frame(self.pair_rows, self.settings["question"])
        others = pl.Series("other", [row.other for row in self.pair_rows], dtype=pl.String)
        return frame.insert_column(2, others)

    def row(self, axis: str, group: str, statistic: str) -> Row:
        """Return one row."""
        for row in self.rows:
            if (row.axis, row.group, row.statistic) == (axis, group, statistic):
                return row
        raise SelectionError(
            f"there is no {statistic} of {group!r} on {axis!r}", hint="to_frame() lists what there is."
        )

    def value(self, axis: str, group: str, statistic: str) -> float:
        """Return one value."""
        return self.row(axis, group, statistic).value

    def null(self, axis: str, group: str, statistic: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the permutation draws of one value."""
        found = self.draws[axis]
        draws: np.ndarray[Any, np.dtype[np.float64]] = found["null"][
            :, found["groups"].index(group), found["statistics"].index(statistic)
        ]
        return draws

    def ranked_axes(self) -> list[Row]:
        """Return the DSI rows, the most dividing axis first: by p-value, then by size."""
        rows = [row for row in self.rows if row.statistic == "dsi" and not math.isnan(row.value)]
        return sorted(rows, key=lambda row: (1.0 if row.p_value is None else row.p_value, -row.value))

    def findings(self) -> list[str]:
        """Return what stands out, one sentence each, the surest first; and what does not, in one."""
        tested = [row for row in self.rows if row.kind == "group" and row.statistic == "gai" and _tested(row)]
        found = [row for row in tested if (row.p_value or 0.0) < SIGNIFICANT]
        found.sort(key=lambda row: (row.p_adjusted or 0.0, row.p_value or 0.0))
        sentences = [_sentence(row, len(tested)) for row in found]
        if tested and not found:
            sentences.append(f"No group stands out from chance: none of {len(tested)} GAI values has p < .05.")
        most = next(iter(self.ranked_axes()), None)
        if most is not None and most.p_value is not None and most.p_value < SIGNIFICANT:
            sentences.append(
                f"{most.axis} divides the raters most: its largest GAI, {most.value:.2f} of {most.group}, "
                f"is more than shuffled raters reach, {_p(most.p_value)}."
            )
        n_withheld = sum(self.withheld.values())
        if n_withheld:
            groups = "1 group is" if n_withheld == 1 else f"{n_withheld} groups are"
            sentences.append(f"{groups} withheld, having fewer than {self.settings['min_group_size']} raters.")
        return sentences

    def to_json(self, *, draws: bool = True) -> str:
        """Return everything as strict JSON, with or without the draws; NaN and infinities are strings."""
        data = {
            "kind": "cohesion",
            "rows": [asdict(row) for row in self.rows],
            "pair_rows": [asdict(row) for row in self.pair_rows],
            "withheld": self.withheld,
            "outside": self.outside,
            "draws": {
                axis: {**kept, "null": kept["null"].tolist(), "bootstrap": kept["bootstrap"].tolist()}
                for axis, kept in self.draws.items()
                if draws
            },
            "settings": self.settings,
            "findings": self.findings(),
        }
        return json.dumps(_strict(data), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Cohesion:
        """Rebuild a result from :meth:`to_json`."""
        data = _loose(json.loads(text))
        draws = {
            axis: {
                **draws,
                "null": _array(draws["null"], draws["groups"], draws["statistics"]),
                "bootstrap": _array(draws["bootstrap"], draws["groups"], draws["resampled"]),
            }
            for axis, draws in data["draws"].items()
        }
        return cls(
            rows=tuple(Row(**row) for row in data["rows"]),
            pair_rows=tuple(Row(**row) for row in data["pair_rows"]),
            withheld=data["withheld"],
            outside=data["outside"],
            draws=draws,
            settings=data["settings"],
        )


def _frame(rows: tuple[Row, ...], subset: str) -> pl.DataFrame:
    def cells(row: Row) -> Iterator[Any]:
        for name in _SCHEMA:
            yield subset if name == "subset" else getattr(row, name)

    return pl.DataFrame([tuple(cells(row)) for row in rows], schema=_SCHEMA, orient="row")


def _tested(row: Row) -> bool:
    return row.p_value is not None and not math.isnan(row.p_value)


def _sentence(row: Row, n_tested: int) -> str:
    if row.direction == "above":
        others = "others" if row.value > 1 else "a random group of that size would"
        what = f"agree with each other more than {'with ' if row.value > 1 else ''}{others}"
    else:
        what = "agree with each other less than a random group of that size would"
    interval = "" if row.ci_low is None or row.ci_high is None else f" ({row.ci_low:.2f} to {row.ci_high:.2f})"
    survives = row.p_adjusted is not None and row.p_adjusted < SIGNIFICANT
    groups = "1 group" if n_tested == 1 else f"{n_tested} groups"
    return (
        f"{row.group} {what}: GAI {row.value:.2f}{interval} where chance gives about {row.null_median:.2f}, "
        f"{_p(row.p_value or 0.0)}, {'survives' if survives else 'does not survive'} correction over {groups}."
    )


def _p(p: float) -> str:
    """Write p as journals do: p = .012, p < .001."""
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("= 0.", "= .")


def _array(values: list[Any], groups: list[str], statistics: list[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array(values, dtype=np.float64).reshape(len(values), len(groups), len(statistics))


_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _strict(value: Any) -> Any:
    """Return a value with numbers that JSON lacks as words."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _strict(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(part) for part in value]
    return value


def _loose(value: Any) -> Any:
    """Undo :func:`_strict`."""
    if isinstance(value, str):
        return _WORDS.get(value, value)
    if isinstance(value, dict):
        return {key: _loose(part) for key, part in value.items()}
    return [_loose(part) for part in value] if isinstance(value, list) else value
