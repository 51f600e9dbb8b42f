"""What every lens returns: complete rows of values, draws and settings, as frames and JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.arguments import check_methods, checked
from plurivox.base.errors import SelectionError
from plurivox.base.wording import counted, withheld_sentence
from plurivox.infer.exports import Exported
from plurivox.infer.families import SIGNIFICANT, undecided
from plurivox.infer.restoring import array_of, dtype_named, loose, restored

FEW = 3
"""The most values that stand out before correction only and get a sentence each."""
MANY_UNDEFINED = 0.05  # a larger share of undefined permutations is noted
_SCHEMA = {
    "axis": pl.String, "group": pl.String, "subset": pl.String, "statistic": pl.String, "value": pl.Float64,
    "ci_low": pl.Float64, "ci_high": pl.Float64, "p_value": pl.Float64, "p_adjusted": pl.Float64,
    "direction": pl.String, "null_median": pl.Float64, "n_raters": pl.Int64, "n_items": pl.Int64,
    "n_ratings": pl.Int64, "n_permutations": pl.Int64, "claim": pl.Boolean, "note": pl.String,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One value with everything that belongs to it.

    ``other`` is the second group of a pair, ``model`` is who predicted or answered, ``prompt`` how it was asked.
    ``n_permutations`` counts the shuffles behind a p-value; ``claim`` says that a difference is claimed: it is tested
    against the right null, survives correction, and more shuffles would not change that. ``unweighted`` is the value
    with all raters counted equally, None unless they have weights.
    """

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
    subset: str = "all"
    model: str = ""
    prompt: str = ""
    n_permutations: int | None = None
    claim: bool | None = None
    unweighted: float | None = None

    def with_interval(self, low: float, high: float, undefined: float = 0.0) -> Row:
        """Return the row with a 95 % interval; many undefined draws are noted."""
        return replace(self, ci_low=float(low), ci_high=float(high)).with_undefined(undefined, "bootstrap draws")

    def with_test(self, p: float, direction: str | None, median: float, undefined: float, **more: Any) -> Row:
        """Return the row with the result of a permutation test; many undefined draws are noted."""
        tested = replace(self, p_value=float(p), direction=direction, null_median=float(median), **more)
        return tested.with_undefined(undefined)

    def with_claim(self, claim: bool) -> Row:
        """Return the row with whether a difference is claimed."""
        return replace(self, claim=claim)

    def with_undefined(self, share: float, draws: str = "permutations") -> Row:
        """Return the row with a note if many draws are undefined."""
        if share > MANY_UNDEFINED and not math.isnan(self.value):
            return self.with_note(f"{share:.0%} of the {draws} are undefined and left out")
        return self

    def with_note(self, note: str) -> Row:
        """Return the row with one more note."""
        return replace(self, note=f"{self.note}; {note}" if self.note and note else self.note or note)

    def set_adjusted(self, p: float) -> None:
        """Complete a row that has not been handed out yet; copying each of 100,000 would take seconds."""
        object.__setattr__(self, "p_adjusted", p)

    @property
    def family(self) -> tuple[str, str]:
        """What is corrected together: one kind of hypothesis on one statistic, over all axes, subsets and models."""
        return self.kind, self.statistic

    def hypothesis(self, *, of_axis: bool = False) -> tuple[str, ...]:
        """Return what was tested, or the one hypothesis that all groups of its axis share."""
        shared = (self.subset, self.axis, self.model, self.prompt)
        return shared if of_axis else (*shared, self.group, self.other)

    def with_sizes(self, n_raters: int, n_items: int, n_ratings: int) -> Row:
        """Return the row with the numbers of raters, items and ratings that it rests on."""
        return replace(self, n_raters=n_raters, n_items=n_items, n_ratings=n_ratings)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name; the unweighted value only where raters have weights."""
        found = asdict(self)
        return {name: value for name, value in found.items() if name != "unweighted" or value is not None}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Row:
        """Undo :meth:`as_dict` after JSON."""
        numbers = ("value", "ci_low", "ci_high", "p_value", "p_adjusted", "null_median")
        beside = {"unweighted": loose(data["unweighted"])} if "unweighted" in data else {}
        return cls(**{**data, **{name: loose(data[name]) for name in numbers}, **beside})

    @property
    def survives(self) -> bool:
        """Whether it is significant after correction."""
        return self.p_adjusted is not None and self.p_adjusted < SIGNIFICANT

    @property
    def undecided(self) -> bool:
        """Whether more shuffles could move the corrected p-value to the other side of .05."""
        if self.p_adjusted is None or not self.n_permutations:
            return False
        return bool(undecided(self.p_adjusted, self.n_permutations))

    @property
    def tested(self) -> bool:
        """Whether there is a p-value."""
        return self.p_value is not None and not math.isnan(self.p_value)


@dataclass(frozen=True, slots=True)
class Statement:
    """A finding in words: what it is about, whether it is claimed, and how much it matters.

    Attributes
    ----------
    text
        One sentence, or two.
    weight
        Orders the statements of all lenses: 3 and more for what is claimed, 2 for what holds for the whole study,
        1 and more for what is notable before correction only, 0 for remarks on the analysis itself.
    axis, group, statistic
        What it is about; ``"all"`` raters unless it is about groups.
    claim
        True only where the tool stands behind a difference: tested against the right null, corrected, decided.
    p
        After correction, if there is one.
    rests_on, n_permutations
        What was shuffled and what p was corrected over, and how many shuffles there were.
    subject, short, amount
        The same in a few words, for headlines and titles: who, what, and how much. Statements with the same ``short``
        say the same about several subjects; empty where a statement is not a headline.
    subset
        The part of the items to which a claim about a group applies.
    standing
        ``"weak"`` for what stands out before correction only, ``"open"`` for what is uncertain or cannot be decided.
    """

    text: str
    weight: float
    axis: str = "all"
    statistic: str = ""
    group: str = ""
    claim: bool = False
    p: float | None = None
    rests_on: str = ""
    n_permutations: int | None = None
    subject: str = ""
    short: str = ""
    amount: str = ""
    subset: str = "all"
    standing: Literal["", "weak", "open"] = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class AxisDraws:
    """The draws behind the values of one axis, of the groups that may be shown.

    Attributes
    ----------
    null
        Permutations × groups × ``statistics``.
    bootstrap
        Draws × groups × ``resampled``; empty if there were none or too many to keep.
    """

    axis: str
    groups: tuple[str, ...]
    statistics: tuple[str, ...]
    null: NDArray[np.float64]
    resampled: tuple[str, ...]
    bootstrap: NDArray[np.float64]
    subset: str = "all"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as lists and texts."""
        return as_lists(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> AxisDraws:
        """Undo :meth:`as_dict`."""
        n_groups = len(data["groups"])
        return cls(
            **{
                **data,
                **{name: tuple(data[name]) for name in ("groups", "statistics", "resampled")},
                "null": array_of(data["null"], n_groups, len(data["statistics"])),
                "bootstrap": array_of(data["bootstrap"], n_groups, len(data["resampled"])),
            }
        )


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A finer table of a result, by its name."""

    name: str
    frame: pl.DataFrame

    def as_dict(self) -> dict[str, Any]:
        """Return the columns as lists, with their types."""
        types = {name: str(kind) for name, kind in self.frame.schema.items()}
        return {"name": self.name, "types": types, "columns": self.frame.to_dict(as_series=False)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Table:
        """Undo :meth:`as_dict` after JSON."""
        schema = {name: dtype_named(kind) for name, kind in data["types"].items()}
        columns = {
            name: loose(values) if schema[name] == pl.Float64 else values for name, values in data["columns"].items()
        }
        return cls(data["name"], pl.DataFrame(columns, schema=schema))


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, repr=False)
class Result(Exported, ABC):
    """What a lens found.

    Attributes
    ----------
    rows
        Every value; :meth:`to_frame` shows them as a table.
    withheld, outside
        For each axis, how many groups are not shown, and how many raters have no value on it.
    revealing
        For each axis, how many of the withheld groups are large enough but would reveal one that is too small.
    draws
        The permutations and bootstrap draws of each axis.
    settings
        What was requested, including the seed.
    """

    rows: tuple[Row, ...]
    withheld: dict[str, int]
    outside: dict[str, int]
    draws: tuple[AxisDraws, ...]
    settings: dict[str, Any]
    revealing: dict[str, int] = dataclasses.field(default_factory=dict, kw_only=True)

    KIND: ClassVar[str] = "result"
    PARTS: ClassVar[dict[str, Any]] = {"rows": Row, "draws": AxisDraws}
    """Fields that hold several objects with ``as_dict`` and ``from_dict``."""
    ROLES: ClassVar[tuple[str, ...]] = ()
    """The roles of the statistics that a short view of the result shows."""

    def __init_subclass__(cls) -> None:
        check_methods(cls)

    @property
    def axes(self) -> list[str]:
        """The names of the axes, in the order requested."""
        return list(self.outside)

    def to_frame(self) -> pl.DataFrame:
        """Return one row per axis, group, subset and statistic."""
        return frame_of(self.rows)

    @abstractmethod
    def statements(self) -> list[Statement]:
        """Return what stands out, the surest first, and remarks at the end."""

    def findings(self) -> list[str]:
        """Return what stands out, one sentence each, the surest first; and one sentence on what does not."""
        return [statement.text for statement in self.statements()]

    def compared_with(self) -> list[str]:
        """Return the predictions or answers without judgement that models are compared with, if there are any."""
        return list(dict.fromkeys(row.model for row in self.rows if row.kind == "reference"))

    def withheld_statement(self) -> list[Statement]:
        """Return a sentence on what was withheld, if anything was."""
        on_all = [n for where, n in self.withheld.items() if where in self.outside]  # not those of parts of the items
        n, revealing = sum(on_all or self.withheld.values()), sum(self.revealing.values())
        said = withheld_sentence(n, revealing, self.settings["min_group_size"])
        return [Statement(text, 0.0, statistic="withheld") for text in said]

    @checked
    def to_json(self, *, draws: bool = True) -> str:
        """Return everything as strict JSON, with or without the draws; NaN and infinities are strings."""
        data: dict[str, Any] = {"kind": self.KIND}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in self.PARTS:
                value = [part.as_dict() for part in value if draws or field.name != "draws"]
            data[field.name] = value
        said = self.statements()
        data["findings"] = [statement.text for statement in said]
        data["statements"] = [statement.as_dict() for statement in said]
        return json.dumps(strict(data), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Rebuild a result from :meth:`to_json`."""

        def build(data: dict[str, Any]) -> Any:
            found: dict[str, Any] = {field.name: data[field.name] for field in fields(cls)}
            for name, part in cls.PARTS.items():
                found[name] = tuple(part.from_dict(one) for one in found[name])
            return cls(**found)

        return restored(cls, text, build)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupResult(Result):
    """A result whose rows are of groups, so that axis, group and statistic name a value."""

    @property
    def subsets(self) -> list[str]:
        """The sets of items, ``"all"`` first."""
        return list(dict.fromkeys(row.subset for row in self.rows))

    @property
    def n_shuffles(self) -> int:
        """How often raters were shuffled or, unless shuffling stopped early, were to be; 0 where they were not."""
        asked: int = self.settings.get("permutations", 0)
        return min([asked, *(len(one.null) for one in self.draws if len(one.null))])

    def _on_axes(self, *kinds: str, many: str = "groups") -> str:
        """Say how many groups have rows of these kinds, on how many axes."""
        groups = len({(row.axis, row.group) for row in self.rows if row.kind in kinds})
        return f"{counted(groups, many.removesuffix('s'), many)} on {counted(len(self.axes), 'axis', 'axes')}"

    def row(self, axis: str, group: str, statistic: str, subset: str = "all") -> Row:
        """Return one row."""
        for row in self.rows:
            if (row.axis, row.group, row.statistic, row.subset) == (axis, group, statistic, subset):
                return row
        raise SelectionError(
            f"there is no {statistic} of {group!r} on {axis!r}", hint="to_frame() lists what there is."
        )

    def value(self, axis: str, group: str, statistic: str, subset: str = "all") -> float:
        """Return one value."""
        return self.row(axis, group, statistic, subset).value

    def null(self, axis: str, group: str, statistic: str, subset: str = "all") -> NDArray[np.float64]:
        """Return the permutation draws of one value."""
        for draws in self.draws:
            there = group in draws.groups and statistic in draws.statistics
            if (draws.axis, draws.subset) == (axis, subset) and there:
                null: NDArray[np.float64] = draws.null[:, draws.groups.index(group), draws.statistics.index(statistic)]
                return null
        raise SelectionError(f"there are no draws of {statistic} of {group!r} on {axis!r}")


def weight_of(row: Row) -> float:
    """Return how much a tested value matters: first whether it survives correction, then how unlikely it is."""
    p = row.p_adjusted if row.survives else row.p_value
    return (3.0 if row.survives else 1.0) + 1.0 - (p or 0.0)


def told(texts: Iterable[str], weight: float = 1.5) -> list[Statement]:
    """Return sentences that claim no difference, as statements."""
    return [Statement(text, weight) for text in texts]


def frame_of(rows: Iterable[Row]) -> pl.DataFrame:
    """Return rows as a frame, with a last column of unweighted values if raters have weights."""
    known = list(rows)
    schema: dict[str, Any] = dict(_SCHEMA)
    if any(row.unweighted is not None for row in known):
        schema["unweighted"] = pl.Float64
    cells = [tuple(getattr(row, name) for name in schema) for row in known]
    return pl.DataFrame(cells, schema=schema, orient="row")


def p_text(p: float) -> str:
    """Write p as journals do: p = .012, p < .001."""
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("= 0.", "= .")


def value_text(row: Row) -> str:
    """Write a value with its interval, if it has one."""
    interval = "" if row.ci_low is None or row.ci_high is None else f" ({row.ci_low:.2f} to {row.ci_high:.2f})"
    return f"{row.value:.2f}{interval}"


def as_lists(part: Any) -> dict[str, Any]:
    """Return the fields of a part of a result, arrays as lists."""
    values = {field.name: getattr(part, field.name) for field in fields(part)}
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}


def strict(value: Any) -> Any:
    """Return a value with numbers that JSON lacks written as words."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: strict(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [strict(part) for part in value]
    return value
