"""What can be asked of a table of ratings, which groups are too small for what, and what to collect next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.attributes import category_order
from plurivox.axis import MIN_GROUP_SIZE, Axis, By, memberships
from plurivox.errors import InputError
from plurivox.lenses import power as simulated
from plurivox.lenses.calls import Report, axes_of, check_draws, each_axis, overlapping_axes
from plurivox.lenses.passes import STATISTICS, Passes
from plurivox.lenses.power import GROUP, OUTSIDE, REST, Crowd, Design, Step, Wanted
from plurivox.lenses.references import CROWD, resolve
from plurivox.lenses.responding import STATISTICS as MEASURES
from plurivox.lenses.responding import Responses
from plurivox.lenses.results import Table
from plurivox.lenses.table_results import TableResult
from plurivox.ratings import Ratings
from plurivox.statistics import undefined
from plurivox.statistics.graded_fit import MAX_CELLS

FEWEST_VALUES, MOST_VALUES = 2, 20
"""Attributes with fewer or more values are no axis unless they are asked for."""
YES, PARTLY, NO = "yes", "partly", "no"
LENSES = (
    "cohesion", "responsiveness against the crowd", "responsiveness against trained raters", "psychometrics",
    "soft scores", "alignment", "items",
)  # fmt: skip
ENOUGH = "enough as it is"
MODEL_RATERS = 3
ABOUT_AS_LARGE = 1.25
"""A median group that is at most this many times the smallest is not looked at, too."""
_SAMPLE = 200  # raters whose pairs are looked at for common items
_ITEM_BLOCK = 4096
_TEXT_LENGTH = 20  # characters from which on a column of items is taken for their texts
_GIVE_RATERS = "give a table with one row per rating"
_KEY = ("question", "axis", "group")
_SCHEMAS: dict[str, dict[str, Any]] = {
    "lenses": dict.fromkeys(("lens", "applies", "why", "next"), pl.String),
    "groups": {
        "axis": pl.String, "group": pl.String, "n_raters": pl.Int64, "n_ratings": pl.Int64,
        "ratings_per_item": pl.Float64, "n_items_twice": pl.Int64, "n_items_shared": pl.Int64, "cohesion": pl.String,
        "responsiveness": pl.String, "psychometrics": pl.String, "withheld": pl.Int64,
    },
    "power": {
        "question": pl.String, "axis": pl.String, "group": pl.String, "n_raters": pl.Int64, "n_items": pl.Int64,
        "ratings_per_item": pl.Float64, "value": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64,
        "enough": pl.Boolean, "what": pl.String, "n_simulations": pl.Int64,
    },
    "collect": {
        "question": pl.String, "axis": pl.String, "group": pl.String, "n_raters": pl.Int64, "n_items": pl.Int64,
        "enough": pl.Boolean, "raters_needed": pl.Int64, "items_needed": pl.Int64, "what": pl.String,
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan(TableResult):
    """What :func:`plan` found.

    Attributes
    ----------
    tables
        ``lenses``: which lenses apply, why, and what to give next. ``groups``: for each group its ``n_raters`` and
        ``n_ratings``, the median of its ``ratings_per_item`` over the items it rated, ``n_items_twice`` it rated at
        least twice (for IRR), ``n_items_shared`` with the rest (for XRR), and whether each lens can be asked of it;
        groups withheld are counted in one row per axis. ``power``: for each question and design the ``value``: the
        share of simulated studies that find the GAI, or the expected half-width of the interval of MPA. ``collect``:
        the smallest designs found that are enough.
    settings
        What was asked for, the seed included; ``left_out`` are the attributes with too many values for an axis.
    """

    KIND: ClassVar[str] = "plan"

    def __repr__(self) -> str:
        return f"<Plan: {len(self._applying())} of {len(LENSES)} lenses apply>"

    def findings(self) -> list[str]:
        """Return which lenses apply, what is too small for what, and what to collect."""
        return [*self._lens_findings(), *self._group_findings(), *self._power_findings()]

    def _applying(self) -> list[str]:
        lenses = self.table("lenses")
        return lenses.filter(pl.col("applies") != NO)["lens"].to_list()

    def _lens_findings(self) -> list[str]:
        applying = self._applying()
        found = [f"{len(applying)} of {len(LENSES)} lenses apply: {', '.join(applying) or 'none'}."]
        rest = self.table("lenses").filter(pl.col("applies") != YES)
        found += [f"{_capital(row['lens'])}: {row['why']}; {row['next']}." for row in rest.iter_rows(named=True)]
        found += [
            f"{attribute} has {n_values:,} values, too many for an axis; if they are numbers, sort them into bins."
            for attribute, n_values in self.settings["left_out"].items()
        ]
        return found

    def _group_findings(self) -> list[str]:
        groups = self.table("groups")
        found = []
        for lens in ("cohesion", "responsiveness"):
            unfit = groups.filter((pl.col("withheld") == 0) & (pl.col(lens) != YES))
            found += [
                f"{row['axis']}, {row['group']}: {lens} cannot be told, since {row[lens]}."
                for row in unfit.iter_rows(named=True)
            ]
        n_withheld = int(groups["withheld"].sum())
        if n_withheld:
            are = "1 group is" if n_withheld == 1 else f"{n_withheld} groups are"
            found.append(
                f"{are} withheld; recruit at least {self.settings['min_group_size']} raters for each group of an axis."
            )
        return found

    def _power_findings(self) -> list[str]:
        steps = self.table("power")
        found = []
        for row in self.table("collect").iter_rows(named=True):
            of_group = pl.all_horizontal(pl.col(name) == row[name] for name in _KEY)
            own = steps.filter(of_group).select(Step._fields).iter_rows(named=True)
            found.append(_sentence(row, [Step(**step) for step in own], self.settings))
        if steps["question"].str.contains("GAI").any():
            found.append(
                "Power is by simulation, from one kind of difference: members of the group share a point of their own "
                "on some of their ratings. Other differences may be easier or harder to find."
            )
        return found


class _Sides(NamedTuple):
    """A group that may be shown, and the side of each rater: in the group, in its rest, or outside the axis."""

    axis: str
    group: str
    n_raters: int
    codes: NDArray[np.int32]
    n_groups: int
    """How many groups of the axis may be shown."""


class _Facts(NamedTuple):
    """What the lenses ask of a table."""

    n_items: int
    """Items with a rating."""
    n_pairable: int
    """Items with two."""
    per_item: float
    sides: list[_Sides]
    groups: pl.DataFrame
    n_divisible: int
    """Items on which two groups can be compared."""


def plan(
    ratings: Ratings,
    by: By | Sequence[By] = (),
    *,
    gai: float = 1.1,
    mpa_width: float = 0.05,
    power: float = 0.8,
    alpha: float = 0.05,
    simulations: int = 100,
    permutations: int = 199,
    seed: int = 0,
    several: Mapping[str, str] | None = None,
    min_group_size: int = MIN_GROUP_SIZE,
    threads: int | None = None,
    progress: Report | None = None,
) -> Plan:
    """Tell which lenses apply to a table of ratings, which groups are too small for what, and what to collect next.

    Of each axis the smallest group is looked at, and the median one unless it is about as large. For GAI, studies of
    the same shape are simulated in which the group is as cohesive as asked for, and tested as
    :func:`plurivox.cohesion` does; then the same with up to 16 times as many raters in all groups, or items. Simulated
    raters draw from real ratings; they agree as much as those of the study do, and differ as much, see
    :mod:`plurivox.lenses.power`. A cohesive group is one whose members share a point of their own on some of their
    ratings: one kind of cohesion. For MPA against the crowd, items of the study are drawn with replacement, and the
    interval over items is computed anew.

    Parameters
    ----------
    ratings
        Who rated what; totals get a plan, too.
    by
        Rater attributes, and crossings of several; by default every attribute with 2 to 20 values.
    gai
        The group association index to find, above 1. It is the one that very many raters would have.
    mpa_width
        How far the 95 % interval of MPA may reach to either side.
    power
        The share of studies that should find the GAI.
    alpha
        A GAI is found if it lies above the null median and its two-sided p is below this, without correction.
    simulations
        Studies to simulate for each design, but fewer of large ones, and fewer where they settle sooner whether the
        power is reached; 0 for a plan without power.
    permutations
        How often raters are shuffled in each of them.
    seed
        Same seed, same result, whatever the threads and the order of rows.
    several
        Attributes of which a rater may have several values, and what separates them: ``{"race": ";"}``.
    min_group_size
        Groups with fewer raters are withheld and counted.
    threads
        How many threads to use, all by default.
    progress
        Called with what is being done, how far it is, and how far it goes.

    Returns
    -------
    Plan
        With ``to_frame()``, ``table("groups")``, ``table("power")``, ``table("collect")``, ``findings()`` and
        ``to_json()``.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=60, n_raters=30, seed=1)
    >>> result = pv.plan(study.ratings, "gender", simulations=0)
    >>> result
    <Plan: 4 of 7 lenses apply>
    >>> result.table("groups")["n_raters"].to_list()
    [14, 16]
    """
    wanted = Wanted(gai, mpa_width, power, alpha, simulations, permutations, seed, threads)
    _check(wanted, min_group_size)
    known = several or {}
    axes_by, left_out = (each_axis(by), {}) if not _is_empty(by) else _default_axes(ratings, known)
    if any(one == "rater" or tuple(one) == ("rater",) for one in axes_by):
        raise InputError("a plan is of groups, not of each rater", hint="Leave 'rater' out of by.")
    overlapping = overlapping_axes(axes_by, known, pairs=False)
    axes = axes_of(ratings, axes_by, min_group_size) if ratings.has_raters else []
    facts = _facts(ratings, axes, overlapping, min_group_size)
    chosen = [one for axis in axes for one in _chosen([side for side in facts.sides if side.axis == axis.name])]
    powers, collects = _Powers(ratings, wanted, progress).rows(chosen) if simulations else ([], [])
    settings = {
        "by": [list(axis.attributes) for axis in axes], "gai": gai, "mpa_width": mpa_width, "power": power,
        "alpha": alpha, "simulations": simulations, "permutations": permutations, "seed": seed,
        "several": overlapping, "min_group_size": min_group_size, "left_out": left_out,
    }  # fmt: skip
    tables = (
        _table("lenses", _lenses(ratings, facts)), Table("groups", facts.groups), _table("power", powers),
        _table("collect", collects),
    )  # fmt: skip
    return Plan(tables, settings)


def _check(wanted: Wanted, min_group_size: int) -> None:
    check_draws(wanted.permutations, 0, wanted.seed)
    if not (math.isfinite(wanted.gai) and wanted.gai > 1):
        raise InputError(f"gai is {wanted.gai!r}", hint="Give the GAI to find, a number above 1 such as 1.1.")
    for name in ("mpa_width", "power", "alpha"):
        value = getattr(wanted, name)
        if not 0 < value < 1:
            raise InputError(f"{name} is {value!r}", hint="Give a number between 0 and 1.")
    if wanted.simulations < 0:
        raise InputError(f"simulations is {wanted.simulations}", hint="Give 0 or more; 100 is usual.")
    if min_group_size < 1:
        raise InputError(f"min_group_size is {min_group_size}", hint="Give 1 or more.")
    if wanted.threads is not None and wanted.threads < 1:
        raise InputError(f"threads is {wanted.threads}", hint="Give 1 or more.")
    if wanted.simulations and not 2 / (wanted.permutations + 1) < wanted.alpha:
        raise InputError(
            f"with {wanted.permutations} permutations no p is below alpha = {wanted.alpha:g}",
            hint=f"Give at least {math.floor(2 / wanted.alpha)} permutations.",
        )


def _is_empty(by: By | Sequence[By]) -> bool:
    return not isinstance(by, str) and len(by) == 0


def _default_axes(ratings: Ratings, several: Mapping[str, str]) -> tuple[list[By], dict[str, int]]:
    """Return the attributes that make axes, and how many values those have that have too many."""
    axes: list[By] = []
    left_out = {}
    for attribute in ratings.raters.columns[1:]:
        values = category_order(ratings.raters[attribute])
        if attribute in several:
            values = sorted({part.strip() for value in values for part in value.split(several[attribute])} - {""})
        if len(values) > MOST_VALUES:
            left_out[attribute] = len(values)
        elif len(values) >= FEWEST_VALUES:
            axes.append(attribute)
    return axes, left_out


# Groups --------------------------------------------------------------------------------------------------------------


def _facts(ratings: Ratings, axes: Sequence[Axis], overlapping: Mapping[str, str], least: int) -> _Facts:
    """Look at all groups."""
    per_item = ratings.counts().sum(axis=1)
    rated = per_item[per_item > 0]
    sides: list[_Sides] = []
    rows: list[tuple[Any, ...]] = []
    divisible = np.zeros(ratings.n_items, bool)
    for axis in axes:
        own = _sides_of(ratings, axis, overlapping.get(axis.name), least)
        comparable = np.zeros(ratings.n_items, np.int64)
        for one in own.sides:
            by_group = _per_item(ratings, one.codes == GROUP)
            comparable += by_group >= least
            rows.append(_group_row(ratings, one, by_group))
        if axis.name not in overlapping:
            divisible |= comparable > 1
        if own.n_withheld:
            why = f"withheld: fewer than {least} raters, or the only other group has"
            rows.append((axis.name, None, None, None, None, None, None, why, why, why, own.n_withheld))
        sides += own.sides
    return _Facts(
        len(rated), int(np.count_nonzero(rated > 1)), float(np.median(rated)) if len(rated) else 0.0, sides,
        pl.DataFrame(rows, schema=_SCHEMAS["groups"], orient="row"), int(np.count_nonzero(divisible)),
    )  # fmt: skip


class _OfAxis(NamedTuple):
    sides: list[_Sides]
    n_withheld: int


def _sides_of(ratings: Ratings, axis: Axis, separator: str | None, least: int) -> _OfAxis:
    """Return the groups of an axis that may be shown, and how many may not."""
    if separator is not None:
        parts = memberships(ratings, axis.name, separator, min_group_size=least)
        shown = [part for part in parts if not part.withheld.any()]
        sides = [_Sides(axis.name, part.groups[0], int(part.sizes[0]), part.codes, len(shown)) for part in shown]
        return _OfAxis(sides, len(parts) - len(shown))
    places = np.flatnonzero(~axis.withheld).tolist()
    sides = [
        _Sides(
            axis.name, axis.groups[g], int(axis.sizes[g]),
            np.select([axis.codes < 0, axis.codes == g], [OUTSIDE, GROUP], REST).astype(np.int32), len(places),
        )
        for g in places
    ]  # fmt: skip
    return _OfAxis(sides, axis.n_withheld)


def _per_item(ratings: Ratings, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how many ratings by some raters each item has."""
    item = ratings.item_codes[chosen[ratings.codes_of_raters]]
    return np.bincount(item, minlength=ratings.n_items).astype(np.int64, copy=False)


def _group_row(ratings: Ratings, one: _Sides, own: NDArray[np.int64]) -> tuple[Any, ...]:
    rest = _per_item(ratings, one.codes == REST)
    given = own[own > 0]
    median = float(np.median(given)) if len(given) else 0.0
    shared = int(np.count_nonzero((own > 0) & (rest > 0)))
    return (
        one.axis, one.group, one.n_raters, int(own.sum()), median, int(np.count_nonzero(own > 1)), shared,
        _why_no_cohesion(ratings, one), _why_no_responsiveness(ratings, one), _why_no_scale(one, shared), 0,
    )  # fmt: skip


def _why_no_cohesion(ratings: Ratings, one: _Sides) -> str:
    from plurivox.kernels import cohesion as k

    passes = Passes.of(ratings, one.codes, 2)
    parts = passes.observed()
    vectors = parts.vectors[0, GROUP]
    xrr = float(passes.values(parts)[0, GROUP, STATISTICS.index("xrr")])
    why_irr = undefined.why_irr(vectors[k.MARGINALS], n_raters=one.n_raters)
    return undefined.why_gai(xrr, why_irr, undefined.why_xrr(vectors[k.OWN], vectors[k.REST])) or YES


def _why_no_responsiveness(ratings: Ratings, one: _Sides) -> str:
    tables, values = Responses.of(ratings, one.codes, 2, resolve(ratings, CROWD)).observed()
    table = tables[GROUP]
    if not table.any():
        return undefined.NO_COMMON_ITEM
    if math.isnan(values[GROUP, MEASURES.index("mpa")]):
        return "the rest gave the same point to every item"
    return undefined.ONE_SCORE if np.count_nonzero(table.any(axis=1)) == 1 else YES


def _why_no_scale(one: _Sides, shared: int) -> str:
    if not shared:
        return undefined.NO_COMMON_ITEM
    if one.n_groups < MODEL_RATERS:
        return f"the axis shows {one.n_groups} of the {MODEL_RATERS} groups that a model needs"
    return YES


def _chosen(sides: Sequence[_Sides]) -> list[_Sides]:
    """Return the smallest group that has a rest, and the median one unless it is about as large."""
    ordered = sorted((one for one in sides if (one.codes == REST).any()), key=lambda one: one.n_raters)
    middle = ordered[len(ordered) // 2 :][:1]
    return ordered[:1] + [one for one in middle if one.n_raters > ABOUT_AS_LARGE * ordered[0].n_raters]


# Lenses --------------------------------------------------------------------------------------------------------------


def _lenses(ratings: Ratings, facts: _Facts) -> list[tuple[str, ...]]:
    """Return for each lens whether it applies, why, and what to give next."""
    found = (
        _cohesion(ratings, facts), _against_crowd(ratings, facts), _against_trained(ratings, facts),
        _psychometrics(ratings, facts), _soft(facts), _alignment(ratings, facts), _items(ratings, facts),
    )  # fmt: skip
    return [(lens, *rest) for lens, rest in zip(LENSES, found, strict=True)]


_Says = tuple[str, str, str]
_TOTALS = "the table holds totals, not who rated"


def _groups_say(ratings: Ratings, facts: _Facts, lens: str, without: str) -> _Says:
    """Say whether a lens of groups applies; ``without`` is what it can do if there are none."""
    if not facts.sides:
        if ratings.raters.width == 1:
            return PARTLY, f"raters have no attributes, so {without}", "give attributes of raters with --raters"
        return PARTLY, f"no group may be shown, so {without}", "recruit more raters, or name axes with --by"
    n, able = len(facts.sides), facts.groups.filter(pl.col(lens) == YES).height
    if able < n:
        words = f"it can be asked of {able} of {_number(n, 'group')}"
        return (PARTLY if able else NO), words, "the table of groups tells what is too small"
    axes = len({one.axis for one in facts.sides})
    return YES, f"{_number(n, 'group')} on {_number(axes, 'axis', 'axes')}", f"run plurivox {lens}"


def _cohesion(ratings: Ratings, facts: _Facts) -> _Says:
    if not ratings.has_raters:
        return NO, _TOTALS, _GIVE_RATERS
    if not facts.n_pairable:
        return NO, "no item has two ratings", "let at least two raters rate each item"
    return _groups_say(ratings, facts, "cohesion", "only the agreement of all raters can be told")


def _against_crowd(ratings: Ratings, facts: _Facts) -> _Says:
    if not ratings.has_raters:
        return NO, _TOTALS, _GIVE_RATERS
    if not facts.n_pairable:
        return NO, "no item has two ratings", "let at least two raters rate each item"
    applies, why, following = _groups_say(
        ratings, facts, "responsiveness", "only raters can be held against the others, one by one"
    )
    if applies == YES and len(ratings.scale) == 2:
        return PARTLY, "the scale has 2 points, so that MPA has a single step", "read WRA, or rate on more points"
    return applies, why, following


def _against_trained(ratings: Ratings, facts: _Facts) -> _Says:
    if not ratings.has_raters:
        return NO, _TOTALS, _GIVE_RATERS
    words = f"there are no ratings of trained raters; {_number(facts.n_items, 'item')} could be held against them"
    return NO, words, "give ratings of trained raters with --reference"


def _psychometrics(ratings: Ratings, facts: _Facts) -> _Says:
    if not ratings.has_raters:
        return NO, _TOTALS, _GIVE_RATERS
    n_raters = len(np.unique(ratings.codes_of_raters))
    share = _share_of_pairs(ratings)
    if n_raters < MODEL_RATERS:
        return NO, f"it compares raters, and {_number(n_raters, 'rater')} rated", "recruit at least 3 raters"
    if not share:
        return NO, "no two raters rated the same item", "let raters rate items in common"
    words = f"{share:.0%} of the pairs of raters have items in common"
    if n_raters * ratings.n_items > MAX_CELLS:
        return PARTLY, "there are too many raters and items for a scale of raters", "take groups with --by"
    if share < 0.5:
        return PARTLY, words, "let raters rate more items in common, or take groups with --by"
    return YES, words, "run plurivox scale"


def _soft(facts: _Facts) -> _Says:
    words = f"there are no predictions; {_number(facts.n_items, 'item')} with a median of {facts.per_item:g} ratings"
    return NO, f"{words} could score them", "give predicted distributions with plurivox score"


def _alignment(ratings: Ratings, facts: _Facts) -> _Says:
    words = f"there are no answers of language models to {_number(facts.n_items, 'item')}"
    text = _text_column(ratings)
    if text is None:
        return NO, words, "give texts of items with --items, ask models with plurivox ask, then plurivox align"
    return NO, words, f"ask models about the column {text!r} with plurivox ask, then plurivox align"


def _items(ratings: Ratings, facts: _Facts) -> _Says:
    if not facts.n_items:
        return NO, "no item has a rating", "collect ratings"
    if not facts.n_divisible:
        return (
            PARTLY, "items that deserve more ratings can be told, but none that divide groups",
            "have more raters of each group rate the same items" if ratings.has_raters else _GIVE_RATERS,
        )  # fmt: skip
    return (
        YES,
        f"on {_number(facts.n_divisible, 'item')} two groups gave enough ratings to compare",
        "run plurivox items",
    )


def _text_column(ratings: Ratings) -> str | None:
    """Return the column of items that holds their texts, if one does."""
    columns = [name for name in ratings.items.columns[1:] if ratings.items[name].dtype == pl.String]
    if "text" in columns:
        return "text"
    lengths = {name: ratings.items[name].str.len_chars().mean() for name in columns}
    return next((name for name, n in lengths.items() if isinstance(n, float) and n >= _TEXT_LENGTH), None)


def _share_of_pairs(ratings: Ratings) -> float:
    """Return the share of pairs of raters who rated an item in common; of very many raters, those of some."""
    raters = np.unique(ratings.codes_of_raters)
    chosen = raters[np.unique(np.linspace(0, len(raters) - 1, _SAMPLE).astype(np.int64))] if len(raters) else raters
    if len(chosen) < 2:
        return 0.0
    place = np.full(ratings.n_raters, -1)
    place[chosen] = np.arange(len(chosen))
    common = np.zeros((len(chosen), len(chosen)), np.float32)
    for first in range(0, ratings.n_items, _ITEM_BLOCK):
        last = min(first + _ITEM_BLOCK, ratings.n_items)
        entries = slice(ratings.offsets[first], ratings.offsets[last])
        who, item = place[ratings.codes_of_raters[entries]], ratings.item_codes[entries] - first
        rated = np.zeros((len(chosen), last - first), np.float32)
        rated[who[who >= 0], item[who >= 0]] = 1
        common += rated @ rated.T
    above = np.triu_indices(len(chosen), 1)
    return float(np.mean(common[above] > 0))


# Power ---------------------------------------------------------------------------------------------------------------


class _Powers:
    """The rows of power and of what to collect, as they are gathered."""

    def __init__(self, ratings: Ratings, wanted: Wanted, progress: Report | None) -> None:
        self.ratings, self.wanted, self.progress = ratings, wanted, progress
        self.done = self.total = 0

    def rows(self, chosen: Sequence[_Sides]) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """Return both tables' rows for some groups."""
        powers: list[tuple[Any, ...]] = []
        collects: list[tuple[Any, ...]] = []
        if not chosen:
            return powers, collects
        crowd = Crowd.of(self.ratings)
        impossible = _impossible(crowd, self.wanted.gai)
        studies = 0 if impossible else self.wanted.simulations * simulated.n_designs()
        each = studies + min(simulated.STUDIES, self.wanted.simulations) * len(simulated.FACTORS)
        self.total = each * len(chosen)
        for number, one in enumerate(chosen, start=1):
            now = self._design(one)
            questions = (
                (gai_question(self.wanted.gai), [] if impossible else simulated.gai_steps(
                    crowd, now, self.wanted, self._tell), impossible),
                (f"MPA ± {self.wanted.mpa_width:g}", simulated.mpa_steps(
                    self.ratings, one.codes, self.wanted, self._tell), ""),
            )  # fmt: skip
            for question, steps, why_not in questions:
                key = (question, one.axis, one.group)
                powers += [
                    (*key, *(getattr(step, name) for name in _SCHEMAS["power"] if name not in _KEY)) for step in steps
                ]
                collects.append((*key, one.n_raters, now.n_items, *_needed(steps, now, why_not)))
            self._tell(number * each - self.done)
        return powers, collects

    def _design(self, one: _Sides) -> Design:
        """Return the study as it is, as far as it matters to one group."""
        sizes = [int(np.count_nonzero(one.codes == side)) for side in (GROUP, REST)]
        given = np.bincount(one.codes[self.ratings.codes_of_raters] + 1, minlength=3)[1:]
        n_items = int(np.count_nonzero(np.diff(self.ratings.offsets)))
        shares = [float(n) / max(size * n_items, 1) for n, size in zip(given, sizes, strict=True)]
        return Design(sizes[0], sizes[1], n_items, *shares)

    def _tell(self, more: int) -> None:
        self.done += more
        if self.progress is not None and more:
            self.progress("simulating studies", self.done, self.total)


def _impossible(crowd: Crowd, gai: float) -> str:
    """Tell why no group can have the GAI, if so."""
    if math.isnan(crowd.agreement):
        return "the agreement of raters is undefined, so that no GAI can be looked for"
    if crowd.agreement <= 0:
        return "raters agree no more than by chance, so that no GAI can be looked for"
    if gai >= crowd.highest_gai:
        return f"raters agree so much that no GAI can be above {crowd.highest_gai:.2f}"
    return ""


def _needed(steps: Sequence[Step], now: Design, why_not: str) -> tuple[bool, int | None, int | None, str]:
    """Return whether it is enough now, the raters and the items that are, and both in words."""
    if not steps:
        return False, None, None, why_not
    first = steps[0]
    if first.enough:
        return True, first.n_raters, now.n_items, ENOUGH
    if math.isnan(first.value):
        return False, None, None, "MPA is undefined"
    enough = [step for step in steps if step.enough]
    needed = {step.what: step for step in enough}
    raters, items = needed.get(simulated.MORE_RATERS), needed.get(simulated.MORE_ITEMS)
    words = " or ".join(_larger(first, step) for step in enough)
    if not enough:
        times = max(step.n_raters * step.n_items // max(first.n_raters * first.n_items, 1) for step in steps)
        words = f"not within {times} times today's size" if times > 1 else "larger studies are not simulated"
    tried = [step.n_items for step in steps if step.what == simulated.MORE_ITEMS]
    if raters and tried and not items:
        words += f"; more items alone, up to {max(tried):,}, are not enough"
    return False, raters.n_raters if raters else None, items.n_items if items else None, words


def _larger(now: Step, step: Step) -> str:
    """Say what a design has more than today's."""
    raters = f"{step.n_raters // now.n_raters} times as many raters ({step.n_raters:,} in the group)"
    items = f"{step.n_items:,} items"
    return {simulated.MORE_RATERS: raters, simulated.MORE_ITEMS: items}.get(step.what, f"{raters} and {items} together")


def gai_question(gai: float) -> str:
    """Return what the tables call the question for a GAI."""
    return f"detect GAI {gai:g}"


# Words ---------------------------------------------------------------------------------------------------------------


def _table(name: str, rows: Sequence[tuple[Any, ...]]) -> Table:
    return Table(name, pl.DataFrame(list(rows), schema=_SCHEMAS[name], orient="row"))


def _sentence(row: dict[str, Any], steps: Sequence[Step], settings: dict[str, Any]) -> str:
    """Return what a question of a group comes to."""
    where = f"{row['axis']}, {row['group']}"
    if not steps or math.isnan(steps[0].value):
        return f"{where}: {row['what']}."
    now = steps[0]
    text = f"{where}: with {_number(now.n_raters, 'rater')} in the group and {_number(now.n_items, 'item')}"
    is_gai = row["question"] == gai_question(settings["gai"])
    if is_gai:
        text += f" a GAI of {settings['gai']:g} is found in {_share(now)} simulated studies"
    else:
        text += f" MPA is known to ± {now.value:.3f}"
    if row["enough"]:
        return f"{text}, which is enough."
    enough = [step for step in steps if step.enough]
    if not enough:
        target = f"{settings['power']:.0%}" if is_gai else f"± {settings['mpa_width']:g}"
        return f"{text}; {row['what'].replace('not within', f'{target} is not reached within')}."
    ways = [
        f"{_larger(now, step)} would " + (f"find it in {_share(step)}" if is_gai else f"make it ± {step.value:.3f}")
        for step in enough
    ]
    beside = row["what"].partition("; ")[2]
    return f"{'; '.join([text, *ways, *([beside] if beside else [])])}."


def _share(step: Step) -> str:
    return f"{round(step.value * step.n_simulations)} of {step.n_simulations}"


def _number(n: int, one: str, several: str | None = None) -> str:
    return f"1 {one}" if n == 1 else f"{n:,} {several or one + 's'}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
