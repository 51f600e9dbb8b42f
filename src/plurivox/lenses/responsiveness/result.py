"""What :func:`plurivox.responsiveness` found, as frames, verdicts, sentences and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import SelectionError
from plurivox.base.wording import NO_GROUPS, are, counted, named
from plurivox.domain.scale_names import Poles
from plurivox.infer.claims import (
    Claimed,
    beside_chance,
    entangled_axes,
    group_statements,
    interval_words,
    rests_on,
    value_beside_chance,
    weighted_statements,
)
from plurivox.infer.families import SIGNIFICANT
from plurivox.infer.intervals import NORMAL_95
from plurivox.infer.result import GroupResult, Row, Statement, Table, as_lists, frame_of, p_text, weight_of
from plurivox.lenses.psychometrics.result import Psychometrics
from plurivox.statistics.registry import LABELS, names_of, with_trait
from plurivox.statistics.responsiveness import MEASURES


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTables:
    """The scores of each group of an axis against the reference.

    Attributes
    ----------
    tables
        Groups × scores × reference points: how many reference ratings of a point met a score of the group.
    votes
        Groups × scores: for how many items with a reference it was the group's score.
    usage
        Groups × scores: how often the group's raters gave it.
    """

    axis: str
    groups: tuple[str, ...]
    tables: NDArray[np.float64]
    votes: NDArray[np.float64]
    usage: NDArray[Any]
    subset: str = "all"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as lists and texts; the shape keeps what empty lists lose."""
        return {**as_lists(self), "shape": list(self.tables.shape)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ScoreTables:
        """Undo :meth:`as_dict`."""
        shape = data["shape"]
        tables = np.array(data["tables"], dtype=float).reshape(shape)
        votes = np.array(data["votes"], dtype=float).reshape(shape[:2])
        usage = np.array(data["usage"], dtype=np.int64).reshape(shape[:2])
        return cls(data["axis"], tuple(data["groups"]), tables, votes, usage, data["subset"])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Responsiveness(GroupResult):
    """Whose scores convey severity.

    In addition to what every result has:

    Attributes
    ----------
    pair_rows
        The difference between every two groups, if requested.
    held_rows
        Each claim about a group, tested again within each other attribute of the call; ``other`` names it.
    scored
        For each axis, the scores against the reference; :meth:`scores` and :meth:`boundaries` show them as tables.
    tables
        The finer tables of the scales that raters or groups form, if requested; see :meth:`psychometrics`.
    """

    pair_rows: tuple[Row, ...] = ()
    held_rows: tuple[Row, ...] = ()
    scored: tuple[ScoreTables, ...] = ()
    tables: tuple[Table, ...] = ()

    KIND: ClassVar[str] = "responsiveness"
    ROLES: ClassVar[tuple[str, ...]] = ("main", "scaled")
    PARTS: ClassVar[dict[str, Any]] = {
        **GroupResult.PARTS,
        "pair_rows": Row,
        "held_rows": Row,
        "scored": ScoreTables,
        "tables": Table,
    }

    def __post_init__(self) -> None:
        # Compiled code walks over these tables and trusts their sizes, even where they come from JSON.
        for found in self.scored:
            points, boundaries = self.settings["points"], self.settings["reference"]["boundaries"]
            if found.tables.shape != (len(found.groups), len(points), len(boundaries) + 1):
                raise ValueError(f"the scores on {found.axis} have the wrong shape {found.tables.shape}")

    def __repr__(self) -> str:
        return f"<Responsiveness: {self._on_axes('group', 'rater')} against {self.settings['reference']['name']}>"

    def to_frame(self) -> pl.DataFrame:
        """Return one row per axis, group, subset and statistic, with the number of boundaries its value averages."""
        counts = [
            (found.axis, group, found.subset, _two_classes(table))
            for found in self.scored
            for group, table in zip(found.groups, found.tables, strict=True)
        ]
        keys = ("axis", "group", "subset")
        schema = {**dict.fromkeys(keys, pl.String), "n_boundaries_used": pl.Int64}
        used = pl.DataFrame(counts, schema=schema, orient="row")
        return frame_of(self.rows).join(used, on=keys, how="left", maintain_order="left")

    def pairs(self) -> pl.DataFrame:
        """Return the difference of every two groups, one row per pair and statistic."""
        return frame_of(self.pair_rows)

    def psychometrics(self) -> Psychometrics:
        """Return what was found by comparing raters or groups with each other: Mokken's H_j and the discrimination."""
        if not self.tables:
            raise SelectionError("psychometrics were not requested", hint="Set psychometrics=True.")
        rows = tuple(row for row in self.rows if row.statistic in names_of("scaled"))
        ties = "lowest" if self.settings["ties"] == "share" else self.settings["ties"]
        settings = {**self.settings, "ties": ties}
        return Psychometrics(rows, self.withheld, self.outside, (), settings, self.tables, revealing=self.revealing)

    def scores(self) -> pl.DataFrame:
        """Return precision and recall at each score and boundary, with what they rest on and how often it is used.

        ``boundary`` is the lowest reference point that counts as unsafe; ``share`` is of the group's ratings.
        """
        labels, boundaries = self.settings["points"], self.settings["reference"]["boundaries"]
        frames = []
        for found in self.scored:
            share = found.usage / np.maximum(found.usage.sum(axis=1, keepdims=True), 1)
            for b, boundary in enumerate(boundaries, start=1):
                zeros, ones = found.tables[:, :, :b].sum(axis=2), found.tables[:, :, b:].sum(axis=2)
                with np.errstate(invalid="ignore", divide="ignore"):  # NaN where a score is unused or nothing is unsafe
                    precision, recall = ones / (ones + zeros), ones / ones.sum(axis=1, keepdims=True)
                n = len(found.groups) * len(labels)
                columns = {
                    "axis": [found.axis] * n, "group": [group for group in found.groups for _ in labels],
                    "subset": [found.subset] * n, "boundary": [boundary] * n, "score": list(labels) * len(found.groups),
                    "precision": precision.ravel(), "recall": recall.ravel(),
                    "ones": ones.ravel(), "zeros": zeros.ravel(),
                    "n_items": found.votes.ravel(), "n_ratings": found.usage.astype(np.int64).ravel(),
                    "share": share.ravel(), "rare": (found.votes < self.settings["min_support"]).ravel(),
                }  # fmt: skip
                texts = dict.fromkeys(("axis", "group", "subset", "boundary", "score"), pl.String)
                frames.append(pl.DataFrame(columns, schema_overrides=texts))
        return pl.concat(frames)

    def verdicts(self) -> pl.DataFrame:
        """Return how each group relates to the reference, in one word, or why that is unknown.

        In line: nothing is claimed about it. Granular: its MPA is low. Broad: its WRA is low. Different: both, or its
        scores run against the reference. Advice, curation and the report use this.
        """
        found = verdicts(self.rows, self.settings).values()
        rows = [(one.axis, one.group, one.name, one.low_mpa, one.low_wra, one.against, one.why) for one in found]
        low = dict.fromkeys(("low_mpa", "low_wra", "against"), pl.Boolean)
        schema = {**dict.fromkeys(("axis", "group", "verdict"), pl.String), **low, "why": pl.String}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def boundaries(self) -> pl.DataFrame:
        """Return the values at each boundary; the rows hold their means."""
        from plurivox.kernels.metrics import boundary_values

        names, capped = self.settings["reference"]["boundaries"], self.settings["convention"] != "published"
        kept = [at for at, name in enumerate(MEASURES) if name not in with_trait("of means")]
        rows = []
        for found in self.scored:
            for group, table in zip(found.groups, found.tables, strict=True):
                values = np.zeros((len(names), len(MEASURES)))
                boundary_values(table, capped, values)
                rows += [
                    (found.axis, group, found.subset, boundary, MEASURES[at], float(values[b, at]))
                    for b, boundary in enumerate(names)
                    for at in kept
                ]
        schema = dict.fromkeys(("axis", "group", "subset", "boundary", "statistic"), pl.String) | {"value": pl.Float64}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def correlations(self) -> pl.DataFrame:
        """Return Pearson's r over the groups of each axis between MPA or WRA and each other metric.

        The 95 % interval is Fisher's, which treats groups as independent; with few groups it is wide.
        """
        rows = []
        scaled = names_of("scaled")
        for subset in self.subsets:
            for axis in self.axes:
                kinds = [(kind, axis, subset) for kind in ("group", "rater")]
                own = [row for row in self.rows if (row.kind, row.axis, row.subset) in kinds]
                values = {
                    name: np.array([row.value for row in own if row.statistic == name]) for name in (*MEASURES, *scaled)
                }
                others = (*names_of("traditional"), *(name for name in scaled if len(values[name])))
                rows += [
                    (axis, subset, first, second, *_correlation(values[first], values[second]))
                    for first in with_trait("stated")
                    for second in others
                ]
        schema = {
            "axis": pl.String, "subset": pl.String, "statistic": pl.String, "other": pl.String, "value": pl.Float64,
            "ci_low": pl.Float64, "ci_high": pl.Float64, "n_groups": pl.Int64, "note": pl.String,
        }  # fmt: skip
        return pl.DataFrame(rows, schema=schema, orient="row")

    def statements(self) -> list[Statement]:
        """Return the values of all raters, which groups and families stand out, and what was left out or withheld."""

        def claimed(rows: Sequence[Row]) -> Claimed:
            where = "" if rows[0].subset == "all" else f"On {rows[0].subset}, "
            own = [row for row in rows if row.statistic in with_trait("stated")] or rows
            habits = "; they ".join(f"{_habit(self, row)}: {beside_chance(row, self.settings)}" for row in own)
            text = f"{where}{named(rows[0].axis, rows[0].group)} {habits}."
            return Claimed(text, own[0], _habit(self, own[0]), value_beside_chance(own[0]))

        def notable(row: Row) -> str:
            habit, value = _habit(self, row), beside_chance(row, self.settings)
            return f"Before correction only: {named(row.axis, row.group)} {habit}: {value}."

        sentences = _overall(self) + _families(self) + group_statements(self, claimed, notable, self.held_rows)
        if self.tables:
            found_beside = self.psychometrics().statements()
            sentences += [one for one in found_beside if one.statistic not in ("withheld", "reminder")]
        poles, reference = Poles.of(self.settings), self.settings["reference"]
        for one in verdicts(self.rows, self.settings).values():
            if one.against:
                text = (
                    f"The scores of {named(one.axis, one.group)} run against the reference: higher ones go with what "
                    f"it calls {poles.low}, AUROC {interval_words(one.auroc, self.settings)}, "
                    f"{p_text(one.p_against)} after correction over the groups."
                )
                sentences.append(Statement(text, 2.8, one.axis, "auroc", one.group))
        if not self.axes:
            sentences.append(Statement(NO_GROUPS, 0.0))
            if reference["kind"] == "crowd":
                sentences.append(Statement(ALONE, 0.0))
        sentences += weighted_statements(self.settings, self.rows, "wra") + _each_rater(self)
        missing, unsorted = reference["n_items_without"], self.settings["n_items_in_no_subset"]
        if missing:
            have, total = "has" if missing == 1 else "have", counted(reference["n_items"] + missing, "item")
            text = f"{missing:,} of {total} {have} no reference and {are(missing)} left out."
            sentences.append(Statement(text, 0.0))
        if unsorted:
            items = "1 item has" if unsorted == 1 else f"{unsorted:,} items have"
            text = f"{items} no value for {self.settings['items_by']}: in no part, but included in the whole."
            sentences.append(Statement(text, 0.0))
        return sentences + self.withheld_statement()


def _two_classes(table: NDArray[np.float64]) -> int:
    """Return the number of boundaries with reference ratings on both sides."""
    rated = np.flatnonzero(table.sum(axis=0) > 0)
    return int(rated[-1] - rated[0]) if len(rated) else 0


def _correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float, float, int, str]:
    """Return Pearson's r, the ends of its interval, the number of groups, and why something is undefined."""
    both = ~(np.isnan(x) | np.isnan(y))
    x, y, n = x[both], y[both], int(np.count_nonzero(both))
    if n < 3:
        return math.nan, math.nan, math.nan, n, "fewer than three groups"
    dx, dy = x - x.mean(), y - y.mean()
    spread = math.sqrt(float(dx @ dx) * float(dy @ dy))
    if np.ptp(x) < 1e-12 or np.ptp(y) < 1e-12:
        return math.nan, math.nan, math.nan, n, "all groups have the same value"
    r = min(1.0, max(-1.0, float(dx @ dy) / spread))
    if n < 4 or abs(r) == 1:
        return r, math.nan, math.nan, n, "too few groups for an interval" if n < 4 else "no interval at a perfect r"
    centre, half = math.atanh(r), NORMAL_95 / math.sqrt(n - 3)
    return r, math.tanh(centre - half), math.tanh(centre + half), n, ""


# Verdicts -------------------------------------------------------------------------------------------------------------

# How a group relates to the reference, in one word: the one rule behind every command that says so. A verdict adds
# nothing to the claims of the lens: MPA or WRA is low where the lens claims that it lies below what chance gives.
# Advice, curation and the report read verdicts from a result of the lens, so that they cannot contradict it.

IN_LINE, GRANULAR, BROAD, DIFFERENT, UNKNOWN = "in line", "granular", "broad", "different", "unknown"
CHANCE = 0.5
"""The AUROC of scores that are unrelated to the reference."""


class Verdict(NamedTuple):
    """How one group relates to the reference.

    ``name`` is *in line* if nothing is claimed about it, *granular* if only its MPA is low, *broad* if only its WRA is,
    *different* if both are or if its scores run ``against`` the reference, and *unknown*, with the reason ``why``,
    where nothing could be claimed.
    """

    axis: str
    group: str
    name: str
    mpa: Row
    wra: Row
    auroc: Row
    p_against: float = 1.0
    why: str = ""

    @property
    def against(self) -> bool:
        """Whether scores surely run against the reference."""
        return self.p_against < SIGNIFICANT

    @property
    def low_mpa(self) -> bool:
        """Whether the lens claims that MPA is below chance."""
        return _low(self.mpa)

    @property
    def low_wra(self) -> bool:
        """Whether the lens claims that WRA is below chance."""
        return _low(self.wra)


def verdicts(rows: Iterable[Row], settings: Mapping[str, Any]) -> dict[tuple[str, str], Verdict]:
    """Return the verdict on every group of a result, by axis and group.

    Parameters
    ----------
    rows
        Those of a result of responsiveness, on all items.
    settings
        The settings of that result, including the check of its design.
    """
    own: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        if row.kind == "group" and row.subset == "all":
            own.setdefault((row.axis, row.group), {})[row.statistic] = row
    entangled, names = entangled_axes(settings), {
        (False, False): IN_LINE, (True, False): GRANULAR, (False, True): BROAD, (True, True): DIFFERENT,
    }  # fmt: skip
    found = {}
    for (axis, group), one in own.items():
        mpa, wra, auroc = three = one["mpa"], one["wra"], one["auroc"]
        why = _unknown(mpa, wra, entangled=axis in entangled)
        p = 1.0 if why else against_chance(auroc, len(own))
        name = DIFFERENT if p < SIGNIFICANT else names[_low(mpa), _low(wra)]
        found[axis, group] = Verdict(axis, group, UNKNOWN if why else name, *three, p, why)
    return found


def _low(row: Row) -> bool:
    return bool(row.claim) and row.direction == "below"


def _unknown(mpa: Row, wra: Row, *, entangled: bool) -> str:
    """Return why nothing could be claimed about a group, if so."""
    for row in (mpa, wra):
        if math.isnan(row.value):
            return f"its {row.statistic.upper()} is undefined: {row.note}" if row.note else "a value is undefined"
    if entangled:
        return "who rated what depends on the group"
    if mpa.p_value is None:
        return "no raters were shuffled, so what chance gives is unknown"
    return mpa.note or "its raters cannot be exchanged with others" if math.isnan(mpa.p_value) else ""


def against_chance(auroc: Row, n_groups: int) -> float:
    """Return the two-sided p of an AUROC below ½ from its interval, corrected over the groups; 1 if it is not below."""
    if auroc.ci_high is None or math.isnan(auroc.ci_high) or not auroc.value < CHANCE:
        return 1.0
    error = (auroc.ci_high - auroc.value) / NORMAL_95
    tail = NormalDist().cdf((auroc.value - CHANCE) / error) if error > 0 else 0.0
    return min(1.0, 2 * tail * max(n_groups, 1))


# Sentences ------------------------------------------------------------------------------------------------------------

_RANDOM = "a random group of that size would"
ALONE = (
    "All raters together are the crowd, so nobody is left to compare them with. Compare each rater with the others by "
    '--by rater (by="rater"), or all of them with trained raters by --reference FILE.'
)
"""Said where there are no groups, and the crowd itself was to be the reference."""


def _overall(result: Responsiveness) -> list[Statement]:
    mpa, wra = (result.row("all", "all", name) for name in ("mpa", "wra"))
    if math.isnan(mpa.value):
        return []
    text = (
        f"All raters together, against {result.settings['reference']['name']}: MPA "
        f"{interval_words(mpa, result.settings)}, WRA {interval_words(wra, result.settings)}."
    )
    return [Statement(text, 2.2, statistic="mpa", group="all")]


def _families(result: Responsiveness) -> list[Statement]:
    """Return the families whose groups all lie below, or above, all others, beyond what chance gives."""
    rows = [row for row in result.rows if row.kind == "family" and row.statistic in names_of("main") and row.tested]
    said = []
    for row in rows:
        if row.subset == "all" and ", all " in row.group and row.value > 0 and row.claim:
            who = row.group.rpartition(", all")[0]
            what = f"have {'lower' if 'lowest' in row.group else 'higher'} {LABELS[row.statistic]} than every other "
            what += f"group of {row.axis}"
            text = f"{who} {what}, {p_text(row.p_adjusted or 0.0)} after correction."
            basis = rests_on({**result.settings, "correction": "holm"}, row, len(rows))
            said.append(Statement(
                text, weight_of(row), row.axis, row.statistic, row.group, True, row.p_adjusted, basis,
                row.n_permutations, who, what,
            ))  # fmt: skip
    return said


def _each_rater(result: Responsiveness) -> list[Statement]:
    own = [row for row in result.rows if row.kind == "rater" and row.subset == "all"]
    if not own:
        return []
    parts = []
    for name in with_trait("stated"):
        values = [row.value for row in own if row.statistic == name and not math.isnan(row.value)]
        if values:
            low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
            parts.append(f"{LABELS[name]} {low:.2f} to {high:.2f} (middle 80 %), median {middle:.2f}")
    n_raters = len({row.group for row in own})
    text = f"{counted(n_raters, 'individual rater')}: {'; '.join(parts) or 'no value is defined'}."
    return [Statement(text, 2.1, "rater", "mpa")]


def _habit(result: Responsiveness, row: Row) -> str:
    poles, more = Poles.of(result.settings), "better" if row.direction == "above" else "worse"
    if row.statistic == "mpa":
        finely = "more" if row.direction == "above" else "less"
        return f"{poles.fill('grade from {low} to {high}')} {finely} finely than {_RANDOM}"
    if row.statistic == "wra":
        return f"{poles.fill('tell {high} from {low}')} {more} than {_RANDOM}"
    what = poles.fill("grade from {low} to {high} and tell them apart, taken together,")
    return f"{what} {more} than {_RANDOM}"
