"""A panel and its population: which shares are known, how raters are weighted by them, and what that costs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.cards import card, plain_grid
from plurivox.base.errors import NeedsRatersError, SelectionError, few
from plurivox.base.wording import counted, short
from plurivox.domain.axis import CROSS, MIN_GROUP_SIZE, WITHHELD, Axis, too_small, withholding
from plurivox.domain.ratings import Ratings
from plurivox.statistics.raking import TRIM, Margin, Raked, design_effect, effective_raters, rake

_DASHES = str.maketrans("‐‑‒–—", "-----")


@dataclass(frozen=True, slots=True)
class TargetShares:
    """The share of the population with each value of an attribute, or of a crossing of several.

    Attributes
    ----------
    name
        As it is written: ``gender``, or ``gender × age``.
    shares
        Value → share; they add up to 1.
    """

    name: str
    shares: Mapping[str, float]

    @property
    def parts(self) -> tuple[str, ...]:
        """The attributes that a crossing has, or the attribute itself."""
        return split(self.name)


@dataclass(frozen=True, slots=True)
class PopulationShares:
    """Known shares of a population: one margin or several, their source, and notes on them."""

    targets: tuple[TargetShares, ...]
    source: str
    notes: tuple[str, ...] = ()

    @property
    def attributes(self) -> tuple[str, ...]:
        """Every attribute needed of raters, once; a name with a cross or a comma may itself be one."""
        return tuple(dict.fromkeys(name for one in self.targets for name in (one.name, *one.parts)))


@dataclass(frozen=True, slots=True)
class PanelCell:
    """One value of a margin, panel and population; or all withheld values together, whose number of raters is None."""

    attribute: str
    value: str
    n_raters: int | None
    panel_share: float | None
    population_share: float
    weighted_share: float
    mean_weight: float | None


@dataclass(frozen=True, slots=True)
class PanelSummary:
    """What is shown of a weighted panel; ``trim`` is None if weights have no cap.

    If small groups are withheld, the design effect is rounded, since it depends on their sizes, and ``n_trimmed`` is
    None if it is small.
    """

    population: str
    attributes: tuple[str, ...]
    n_raters: int
    design_effect: float
    effective_raters: float
    n_without: int
    n_trimmed: int | None
    trim: float | None
    cells: tuple[PanelCell, ...]
    notes: tuple[str, ...]

    @property
    def withholds(self) -> bool:
        """Whether some value has too few raters to be shown, or would reveal one that has."""
        return any(cell.n_raters is None for cell in self.cells)

    @property
    def sentence(self) -> str:
        """What the weights cost."""
        by = " and ".join(filter(None, (", ".join(self.attributes[:-1]), self.attributes[-1])))
        return f"Raters are weighted by {by} to the shares in {self.population}: {self.n_raters:,} raters, {self.cost}."

    @property
    def cost(self) -> str:
        """What the weights cost, in few words."""
        raters = f"{self.effective_raters:,.1f}".removesuffix(".0")
        return f"as precise as {raters} of equal weight (design effect {round(self.design_effect, 2):g})"


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """How raters were weighted to a population.

    Attributes
    ----------
    population
        The shares.
    margins
        The same, with the value of each rater.
    raked
        The weights, and who has no weight of their own.
    rated
        Which raters rated anything; only these were weighted, and only these are counted.
    trim
        The largest weight allowed, as a multiple of the mean.
    """

    population: PopulationShares
    margins: tuple[Margin, ...]
    raked: Raked
    rated: NDArray[np.bool_]
    trim: float
    _axes: dict[int, list[Axis]] = field(default_factory=dict)

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights of raters who rated."""
        return self.raked.weights[self.rated]

    @property
    def n_raters(self) -> int:
        """How many raters rated."""
        return int(np.count_nonzero(self.rated))

    @property
    def n_without(self) -> int:
        """How many of them lack a value of a raked attribute, and have weight 1."""
        return int(np.count_nonzero(self.rated & ~self.raked.known))

    @property
    def n_trimmed(self) -> int:
        """How many of them would have a larger weight without the cap."""
        return int(np.count_nonzero(self.rated & self.raked.trimmed))

    @property
    def design_effect(self) -> float:
        """Kish's design effect of the weights."""
        return design_effect(self.weights)

    @property
    def effective_raters(self) -> float:
        """How many raters of equal weight would be as precise."""
        return effective_raters(self.weights)

    def to_frame(self, min_group_size: int = 1) -> pl.DataFrame:
        """Return panel and population, one row for each value of each margin.

        Parameters
        ----------
        min_group_size
            Values that fewer raters have, and those that would reveal them, make one row without a name, with their
            shares of the population and of the weights.
        """
        whole = self.rated & self.raked.known
        rows: list[dict[str, Any]] = []
        for margin, axis in zip(self.margins, self._shown(min_group_size), strict=True):
            for at, (value, share) in enumerate(zip(margin.values, margin.shares, strict=True)):
                own = whole & (margin.codes == at)
                n, weight = int(np.count_nonzero(own)), float(self.raked.weights[own].sum())
                rows.append({
                    "attribute": margin.name, "value": value, "population_share": float(share), "n_raters": n,
                    "weighted_share": weight / max(float(self.raked.weights[whole].sum()), 1e-300),
                    "panel_share": n / max(int(np.count_nonzero(whole)), 1), "mean_weight": weight / n if n else None,
                })  # fmt: skip
            if min_group_size > 1 and axis.withheld.any():
                own_rows, rows = rows[-len(margin.values) :], rows[: -len(margin.values)]
                rows += itertools.compress(own_rows, ~axis.withheld)
                hidden = list(itertools.compress(own_rows, axis.withheld))
                sums = {name: sum(row[name] for row in hidden) for name in ("population_share", "weighted_share")}
                rows.append({"attribute": margin.name, "value": WITHHELD, **sums})
        shares = dict.fromkeys(("panel_share", "population_share", "weighted_share", "mean_weight"), pl.Float64)
        return pl.DataFrame(rows, {"attribute": pl.String, "value": pl.String, "n_raters": pl.Int64, **shares})

    def _shown(self, least: int) -> list[Axis]:
        """Return the margins as axes of the raters who rated, which know what is withheld."""
        if least not in self._axes:
            axes = []
            for margin in self.margins:
                codes = np.where(self.rated & self.raked.known, margin.codes, -1).astype(np.int32)
                sizes = np.bincount(codes[codes >= 0], minlength=len(margin.values))
                small = too_small(sizes, least)
                axes.append(Axis(margin.name, split(margin.name), margin.values, codes, sizes, small, least))
            self._axes[least] = withholding(axes)
        return self._axes[least]

    def of(self, raters: NDArray[np.bool_], weights: NDArray[np.float64]) -> Panel:
        """Return the panel of some of the raters, with weights rescaled to a mean of 1."""
        raked = Raked(weights, self.raked.known[raters], self.raked.trimmed[raters])
        margins = tuple(replace(margin, codes=margin.codes[raters]) for margin in self.margins)
        return replace(self, margins=margins, raked=raked, rated=self.rated[raters], _axes={})

    def summary(self, min_group_size: int = 1) -> PanelSummary:
        """Return what is shown of it; groups that are too small, and what would reveal them, are withheld."""
        cells = tuple(PanelCell(**row) for row in self.to_frame(min_group_size).iter_rows(named=True))
        found = PanelSummary(
            self.population.source, tuple(one.name for one in self.margins), self.n_raters, self.design_effect,
            self.effective_raters, self.n_without, None if 0 < self.n_trimmed < min_group_size else self.n_trimmed,
            None if math.isinf(self.trim) else self.trim, cells, tuple(self.notes(min_group_size)),
        )  # fmt: skip
        if min_group_size <= 1:
            return found
        effect = round(self.design_effect, 1)
        return replace(found, design_effect=effect, effective_raters=float(round(self.n_raters / effect)))

    def notes(self, min_group_size: int = 1) -> list[str]:
        """Return what a reader of weighted numbers should know, as sentences; small numbers of raters are withheld."""
        found = [*self.population.notes]
        if self.n_without:
            who = "1 rater has" if self.n_without == 1 else f"{self.n_without:,} raters have"
            names = ", ".join(margin.name for margin in self.margins)
            found.append(f"{who} no known value of {names}, and a weight of 1.")
        if self.n_trimmed:
            few = self.n_trimmed < min_group_size
            who = f"fewer than {min_group_size} raters" if few else counted(self.n_trimmed, "rater")
            found.append(f"Without trimming, {who} would weigh more than {self.trim:g} times the mean.")
        return found

    def _repr_html_(self) -> str:
        """Show panel and population in a notebook, with small groups withheld."""
        found = self.summary(MIN_GROUP_SIZE)
        rows = [
            [
                cell.attribute, cell.value, "–" if cell.n_raters is None else f"{cell.n_raters:,}",
                "–" if cell.panel_share is None else f"{cell.panel_share:.1%}", f"{cell.population_share:.1%}",
                "–" if cell.mean_weight is None else f"{cell.mean_weight:.2f}",
            ]
            for cell in found.cells
        ]  # fmt: skip
        grid = plain_grid(["attribute", "value", "raters", "panel", "population", "weight of each"], rows)
        return card(type(self).__name__, f"{found.n_raters:,} raters, {found.cost}", grids=[grid], more="to_frame()")

    def __repr__(self) -> str:
        found = self.summary(MIN_GROUP_SIZE)
        return f"<Panel of {found.n_raters:,} raters weighted to {found.population}: {found.cost}>"


def split(name: str) -> tuple[str, ...]:
    """Return the attributes of a crossing, or the parts of its values, written with × or a comma; otherwise itself.

    Examples
    --------
    >>> split("gender × age"), split("gender,age"), split("age")
    (('gender', 'age'), ('gender', 'age'), ('age',))
    """
    return tuple(part.strip() for part in name.split("×" if "×" in name else ","))


def weighted(ratings: Ratings, population: PopulationShares, trim: float = TRIM) -> Ratings:
    """Return ratings whose raters are weighted to a population; see :meth:`plurivox.Ratings.weighted`."""
    if not ratings.has_raters:
        raise NeedsRatersError(
            f"{ratings.intake.source} holds counts per scale point, but weights belong to raters. Give a table with "
            "one row per rating."
        )
    rated = ratings.per_rater() > 0
    margins = tuple(_margin(ratings, target, rated, population.source) for target in population.targets)
    try:
        found = rake([replace(margin, codes=margin.codes[rated]) for margin in margins], trim=trim)
    except SelectionError as error:
        raise SelectionError(error.problem, source=population.source, hint=error.hint) from None
    # those who rated nothing, and so contribute nothing, have a weight of 1
    raked = Raked(np.ones(len(rated)), np.zeros(len(rated), bool), np.zeros(len(rated), bool))
    raked.weights[rated], raked.known[rated], raked.trimmed[rated] = found.weights, found.known, found.trimmed
    raked.weights.flags.writeable = False
    panel = Panel(population, margins, raked, rated, float(trim))
    return ratings.with_known(weights=raked.weights, panel=panel)


def _margin(ratings: Ratings, target: TargetShares, rated: NDArray[np.bool_], source: str) -> Margin:
    """Return the values of raters with their shares, or raise if a value has only one of the two."""
    attributes = (target.name,) if target.name in ratings.raters.columns else target.parts
    for one in attributes:
        if one not in ratings.raters.columns[1:]:
            known = few(ratings.raters.columns[1:]) or "none"
            raise SelectionError(
                f"raters have no attribute '{short(one)}'; they have: {known}", source=source, column="attribute",
                hint="Give it in the table of raters, or as a column of the ratings (--rater-attributes).",
            )  # fmt: skip
    axis = Axis.of(ratings, attributes, min_group_size=1)
    codes = np.where(rated, axis.codes, -1)
    n = np.bincount(codes[codes >= 0], minlength=len(axis))
    groups = [group for group, size in zip(axis.groups, n, strict=True) if size]
    shares = _matched(target, groups, source, n_parts=len(attributes))
    places = np.full(len(axis) + 1, -1, np.int32)  # the last is that of raters without a value
    for at, group in enumerate(shares):
        places[axis.groups.index(group)] = at
    for group, share in shares.items():
        if share <= 0:
            who = n[axis.groups.index(group)]
            have = "1 rater has" if who == 1 else f"{who:,} raters have"
            raise SelectionError(
                f"the share of {target.name} = '{short(group)}' is 0, and {have} it",
                source=source, column="share",
                hint="Leave these raters out before weighting (--where, .where(…)), or give their share.",
            )  # fmt: skip
    given = np.array(list(shares.values()))
    return Margin(target.name, tuple(shares), places[codes], given / given.sum())


def _matched(target: TargetShares, groups: Sequence[str], source: str, *, n_parts: int) -> dict[str, float]:
    """Return the share of each group that raters form, or raise if a group or a share has no counterpart."""
    exact = {}
    for value in target.shares:  # as axes write it
        parts = split(value)
        exact[CROSS.join(parts) if n_parts > 1 and len(parts) == n_parts else value] = value
    folded: dict[str, list[str]] = {}
    for text, value in exact.items():
        folded.setdefault(_folded(text), []).append(value)
    found, used = {}, set()
    for group in sorted(groups, key=lambda one: one not in exact):
        near = [exact[group]] if group in exact else folded.get(_folded(group), [])
        if len(near) != 1 or near[0] in used:
            raise SelectionError(
                f"there is no share for {target.name} = '{short(group)}', which raters have; there are shares for: "
                f"{few(list(target.shares), 10)}",
                source=source, column="value",
                hint="Add a row with its share, or leave these raters out before weighting (--where, .where(…)).",
            )  # fmt: skip
        found[group] = target.shares[near[0]]
        used.add(near[0])
    for value, share in target.shares.items():
        if value not in used and share > 0:
            raise SelectionError(
                f"no rater has {target.name} = '{short(value)}', whose share of the population is {share:.3g}; raters "
                f"have: {few(list(groups), 10) or 'no known value'}",
                source=source, column="value",
                hint="Merge it with another value in both tables, or leave this margin out.",
            )  # fmt: skip
    return {group: found[group] for group in groups}


def _folded(value: str) -> str:
    """Return a value in lower case and with uniform dashes, since intervals are written in many ways."""
    return " ".join(value.translate(_DASHES).casefold().split())


def population_of(shares: Mapping[str, Mapping[str, float]], source: str = "population") -> PopulationShares:
    """Return a population from attribute → value → share, percentage or count.

    Shares add up to 1, or to 100 as percentages. Whole numbers that add up to more are counts; a note says so, and also
    if shares were rounded.

    Raises
    ------
    SelectionError
        If a share is negative or not a number, or a margin adds up to something else.
    """
    if not shares:
        raise SelectionError("there are no margins", source=source, hint="Give shares of at least one attribute.")
    targets, notes = [], []
    for name, given in shares.items():
        for value, share in given.items():
            if not (math.isfinite(share) and share >= 0):
                raise SelectionError(
                    f"the share of {name} = '{short(str(value))}' is {share}", source=source, column="share",
                    hint="Give a share of 0 or more.",
                )  # fmt: skip
        total = math.fsum(given.values())
        notes += _note(name, list(given.values()), total, source)
        targets.append(TargetShares(str(name), {str(value): share / total for value, share in given.items()}))
    return PopulationShares(tuple(targets), source, tuple(notes))


def _note(name: str, shares: Sequence[float], total: float, source: str) -> list[str]:
    """Return a note on a margin's total, or raise if it cannot be that of shares."""
    if abs(total - 1) <= 1e-9 or abs(total - 100) <= 1e-7:
        return []
    if abs(total - 1) <= 0.01 or abs(total - 100) <= 1:
        whole = "1" if total < 2 else "100 %"
        return [f"The shares of {name} add up to {total:.4g} rather than {whole}, and were divided by that."]
    if total > 1 and all(share == round(share) for share in shares):
        return [f"The shares of {name} are counts that add up to {total:,.0f}, and were divided by that."]
    raise SelectionError(
        f"the shares of {name} add up to {total:.4g}", source=source, column="share",
        hint="Give shares that add up to 1 or to 100 %, or counts of people.",
    )  # fmt: skip
