"""Advice: what the scores of each rater or group show, what it may mean, and what to look at next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.actions.advise import rules
from plurivox.actions.advise.result import MEANING, NEXT, SCHEMAS, Advice, seen
from plurivox.actions.advise.settings import AdviceSettings, Thresholds
from plurivox.axis import Axis
from plurivox.engine.families import SIGNIFICANT
from plurivox.engine.grouping import Compared, compared
from plurivox.engine.running import Running
from plurivox.lenses.responsiveness.raters import RaterResponses
from plurivox.lenses.responsiveness.references import Reference, ReferenceLike, resolve
from plurivox.lenses.responsiveness.result import Responsiveness, Scored
from plurivox.lenses.responsiveness.run import responsiveness
from plurivox.lenses.responsiveness.sums import Responses
from plurivox.ratings import Ratings
from plurivox.results.poles import Poles
from plurivox.results.result import Row, Table
from plurivox.settings import keywords

MAX_PAIRS = 10
"""Pairs of items listed for each rater or group, by default."""
MIN_ITEMS = 20
"""With a score of fewer items with a reference nothing is looked for."""
PERMUTATIONS = 500
"""How often raters are shuffled to see what groups of a size have by chance."""
FEW_ITEMS = f"fewer than {MIN_ITEMS} items with a reference, too few to look at"


@keywords(AdviceSettings)
def advise(ratings: Ratings, reference: ReferenceLike = "crowd", *, settings: AdviceSettings, how: Running) -> Advice:
    """Tell what the scores of each rater or group show beside those of the others, and what to look at next.

    Looked for are scores that are hardly used, ends preferred or avoided, one score for most items, ranges of scores
    over which precision falls or stands still, and low MPA and WRA with the pairs of items, one unsafe and one safe,
    that got the same score. What is seen has an interval beyond its threshold, so that noise is not called a habit.

    Parameters
    ----------
    ratings
        Who rated what. Higher points mean more severe.
    reference
        What the scores are held against, as in :func:`plurivox.responsiveness`.

    Returns
    -------
    Advice
        With ``to_frame()``, ``findings()``, ``table("members")``, ``table("precision")``, ``table("pairs")`` and
        ``to_json()``.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=200, n_raters=30, styles={"normal": 0.9, "extreme": 0.1}, seed=1)
    >>> found = pv.advise(study.ratings, study.trained, "rater", bootstrap=100)
    >>> found.to_frame().filter(pl.col("habit") == "extreme").height
    3
    """
    only_raters = settings.by == (("rater",),)
    shared = (
        "threshold",
        "group_score",
        "ties",
        "bootstrap",
        "seed",
        "several",
        "min_support",
        "min_group_size",
        "within",
    )
    found = responsiveness(
        ratings, reference, settings.by, permutations=0 if only_raters else PERMUTATIONS, threads=how.threads,
        interval="bootstrap" if settings.bootstrap else "none", executor=how.executor, progress=how.progress,
        **{name: getattr(settings, name) for name in shared},
    )  # fmt: skip
    return advice_on(found, ratings, reference, Thresholds(**settings.thresholds), max_pairs=settings.max_pairs)


def advice_on(
    found: Responsiveness,
    ratings: Ratings,
    reference: ReferenceLike,
    thresholds: Thresholds | None = None,
    *,
    max_pairs: int = MAX_PAIRS,
) -> Advice:
    """Return the advice that goes with a result of :func:`plurivox.responsiveness` on the same data."""
    settings = found.settings
    size = settings["min_group_size"]
    against = resolve(ratings, reference, threshold=settings["threshold"], min_group_size=size)
    work = _Work(ratings, against, found, thresholds or Thresholds(), max_pairs)
    for one in compared(ratings, settings["by"], settings["several"], size):
        work.add(one)
    return work.result()


class Entries(NamedTuple):
    """Scores of items with the reference ratings that they meet; ``ones`` of ``total`` are unsafe."""

    member: NDArray[np.int64]
    item: NDArray[np.int64]
    point: NDArray[np.int64]
    share: NDArray[np.float64]
    ones: NDArray[np.float64]
    total: NDArray[np.float64]

    def of_each(self, members: Sequence[int]) -> list[Entries]:
        """Return those of some members, one by one."""
        order = np.argsort(self.member, kind="stable")
        ordered = self.member[order]
        found = []
        for member in members:
            own = order[np.searchsorted(ordered, member) : np.searchsorted(ordered, member, side="right")]
            found.append(Entries._make(part[own] for part in self))
        return found


class _Work:
    """What is gathered for all axes."""

    def __init__(
        self, ratings: Ratings, reference: Reference, found: Responsiveness, thresholds: Thresholds, max_pairs: int
    ) -> None:
        self.ratings, self.reference, self.found, self.thresholds = ratings, reference, found, thresholds
        self.max_pairs = max_pairs
        self.labels = [str(label) for label in ratings.scale.labels]
        self.poles = Poles.of(found.settings)
        self.items = ratings.items["item"].cast(pl.String).to_list()
        self.rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in SCHEMAS}

    def add(self, compared_by: Compared) -> None:
        """Look at the members of an axis."""
        name = compared_by.axis.name
        scored = next(one for one in self.found.scored if (one.axis, one.subset) == (name, "all"))
        rows = {
            (row.group, row.statistic): row
            for row in self.found.rows
            if row.axis == name and row.subset == "all" and row.kind in ("group", "rater")
        }
        entries = [own for axis, places in compared_by.shown for own in self._entries(axis).of_each(places)]
        shares = scored.usage / np.maximum(scored.usage.sum(axis=1, keepdims=True), 1)
        areas = np.array([[rows[group, one].value for one in ("mpa", "wra")] for group in scored.groups]).reshape(-1, 2)
        curves = [rules.curve_of(own.point, own.share, own.ones, own.total, len(self.labels)) for own in entries]
        rises = np.array([rules.overall_rise(curve, self.found.settings["min_support"])[0] for curve in curves])
        beside = np.column_stack([areas, rises])
        withheld = any(axis.n_withheld for axis, _ in compared_by.shown) and self.reference.kind != "ratings"
        for at, group in enumerate(scored.groups):
            others = np.arange(len(scored.groups)) != at
            evidence = self._evidence(scored, at, curves[at], rows, shares[others], beside[others])
            self._write(name, group, evidence, curves[at], entries[at], rows, hide_shares=withheld)

    def _evidence(
        self,
        scored: Scored,
        at: int,
        curve: rules.Curve,
        rows: Mapping[tuple[str, str], Row],
        shares: NDArray[np.float64],
        beside: NDArray[np.float64],
    ) -> list[rules.Evidence]:
        group = scored.groups[at]
        mpa, wra = rows[group, "mpa"], rows[group, "wra"]
        if mpa.n_items < MIN_ITEMS:
            return []
        enough = len(shares) >= rules.PEERS
        usual = [_median(column) if enough else np.nan for column in beside.T]
        areas = [_usual(row, other) for row, other in zip((mpa, wra), usual[:2], strict=True)]
        found = list(rules.found_in_areas(_area(mpa), _area(wra), (areas[0], areas[1]), self.thresholds))
        found += rules.found_in_use(scored.usage[at], np.median(shares, axis=0) if enough else None, self.thresholds)
        support = self.found.settings["min_support"]
        return [*found, *rules.found_in_curve(curve, self.thresholds, support, usual[2])]

    def _write(
        self,
        axis: str,
        group: str,
        evidence: Sequence[rules.Evidence],
        curve: rules.Curve,
        own: Entries,
        rows: Mapping[tuple[str, str], Row],
        *,
        hide_shares: bool,
    ) -> None:
        mpa, wra = rows[group, "mpa"], rows[group, "wra"]
        for one in evidence:
            scores = ", ".join(self.labels[c] for c in one.scores)
            self.rows["advice"].append((
                axis, group, one.habit, scores, one.value, one.low, one.high, "clear" if one.clear else "likely",
                seen(one, self.labels, mpa, wra, self.poles), self.poles.fill(MEANING[one.habit]),
                self.poles.fill(NEXT[one.habit]), mpa.n_raters, mpa.n_items,
            ))  # fmt: skip
        pairs, n_same, n_all = self._pairs(own)
        share = n_same / n_all if n_all else np.nan
        ends = [mpa.value, mpa.ci_low, mpa.ci_high, wra.value, wra.ci_low, wra.ci_high]
        habits = ", ".join(dict.fromkeys(one.habit for one in evidence))
        note = mpa.note if np.isnan(mpa.value) else FEW_ITEMS if mpa.n_items < MIN_ITEMS else ""
        self.rows["members"].append((axis, group, *ends, share, habits, mpa.n_raters, mpa.n_items, note))
        for c, label in enumerate(self.labels):
            error = curve.error[c] * rules.LIKELY
            low, high = max(0.0, curve.precision[c] - error), min(1.0, curve.precision[c] + error)
            self.rows["precision"].append((axis, group, label, curve.precision[c], low, high, curve.n_items[c]))
        for score, unsafe, high, safe, low in pairs:
            shares = (None, None) if hide_shares else (high, low)
            self.rows["pairs"].append((axis, group, score, unsafe, shares[0], safe, shares[1]))

    def _pairs(self, own: Entries) -> tuple[list[tuple[object, ...]], float, float]:
        """Return pairs of an unsafe and a safe item of one score, the clearest first; how many there are, and of all.

        An item is unsafe if most of its reference ratings say so, safe if most do not; against a reference without a
        single boundary, if their mean lies above or below the middle of the scale.
        """
        whole = (own.total > 0) & (own.share == 1)  # where points tie there is no one score
        share = own.ones[whole] / own.total[whole]
        item, point = own.item[whole], own.point[whole]
        unsafe, safe = share > 0.5, share < 0.5
        n_points = len(self.labels)
        same = np.bincount(point[unsafe], minlength=n_points) * np.bincount(point[safe], minlength=n_points)
        found: list[tuple[float, tuple[object, ...]]] = []
        for c in np.flatnonzero(same).tolist():
            highs, lows = (np.flatnonzero((point == c) & side) for side in (unsafe, safe))
            highs = highs[np.argsort(-share[highs], kind="stable")]
            lows = lows[np.argsort(share[lows], kind="stable")]
            for k in range(min(max(len(highs), len(lows)), self.max_pairs)):
                high, low = highs[k % len(highs)], lows[k % len(lows)]
                pair = (self.labels[c], self.items[item[high]], share[high], self.items[item[low]], share[low])
                found.append((share[low] - share[high], pair))
        found.sort(key=lambda one: one[0])
        return [pair for _, pair in found[: self.max_pairs]], float(same.sum()), float(unsafe.sum() * safe.sum())

    def _entries(self, axis: Axis) -> Entries:
        """Return the scores of all members of an axis."""
        if axis.attributes == ("rater",):
            passes = RaterResponses.of(self.ratings, self.reference)
            rater = np.repeat(np.arange(self.ratings.n_raters), np.diff(passes.bounds))
            member, item, point = axis.codes[rater], passes.items, passes.scores
            share, references = np.ones(len(item)), passes.references
        else:
            how = {name: self.found.settings[name] for name in ("group_score", "ties", "seed")}
            made = Responses.of(self.ratings, axis.codes, len(axis), self.reference, **how)
            offsets, places, share, references = made.entries()
            item = np.repeat(np.arange(self.ratings.n_items), np.diff(offsets))
            member, point = places.T
        steps = np.arange(references.shape[1]) / (references.shape[1] - 1)  # the mean over all boundaries
        ones, total = (references * steps).sum(axis=1), references.sum(axis=1)
        whole = (member.astype(np.int64), item.astype(np.int64), point.astype(np.int64), share)
        return Entries(*whole, ones.astype(float), total.astype(float))

    def result(self) -> Advice:
        """Return everything."""
        tables = tuple(
            Table(name, pl.DataFrame(rows, schema=SCHEMAS[name], orient="row")) for name, rows in self.rows.items()
        )
        kept = ("reference", "threshold", "group_score", "ties", "bootstrap", "seed", "min_support", "min_group_size")
        settings = {name: self.found.settings[name] for name in (*kept, "by", "several", "points", "poles")}
        settings |= {"thresholds": asdict(self.thresholds), "max_pairs": self.max_pairs}
        settings |= {name: dict(getattr(self.found, name)) for name in ("withheld", "revealing", "outside")}
        return Advice(tables, settings)


def _median(column: NDArray[np.float64]) -> float:
    known = column[~np.isnan(column)]
    return float(np.median(known)) if len(known) else np.nan


def _area(row: Row) -> rules.Area:
    return rules.Area(row.value, *(np.nan if end is None else end for end in (row.ci_low, row.ci_high)))


def _usual(row: Row, others: float) -> float:
    """Return what a value is compared with: of a group what random ones of its size have, else that of the others.

    The interval is over items, and does not know of the luck of who is in a group. So a group that random ones may well
    match is compared with nothing.
    """
    if row.kind != "group" or row.p_value is None or row.null_median is None:
        return others
    return row.null_median if row.p_value < SIGNIFICANT and row.direction == "below" else np.nan
