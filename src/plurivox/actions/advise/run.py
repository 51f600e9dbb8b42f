"""Advice: what the scores of each rater or group show, what it may mean, and what to look at next."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import polars as pl

from plurivox.actions.advise.result import MEANING, NEXT, SCHEMAS, Advice, seen
from plurivox.actions.advise.seen import HabitsSeen, Looking, ScoredItems, curve_of, listed, pairs_of
from plurivox.actions.advise.settings import AdviceSettings, Thresholds
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale_names import Poles
from plurivox.engine.pool import Running
from plurivox.infer.grouping import Compared, compared
from plurivox.infer.intervals import NORMAL_95
from plurivox.infer.lens import keywords
from plurivox.infer.result import Row, Table
from plurivox.lenses.responsiveness.references import ReferenceLike, resolve
from plurivox.lenses.responsiveness.result import Responsiveness
from plurivox.lenses.responsiveness.run import responsiveness

MAX_PAIRS = 10
"""Pairs of items listed for each rater or group, by default, and items of each other list."""


@keywords(AdviceSettings)
def advise(ratings: Ratings, reference: ReferenceLike = "crowd", *, settings: AdviceSettings, how: Running) -> Advice:
    """Show what stands out in the scores of each rater or group, and what to look at next.

    It looks for low MPA and WRA, scores that are hardly used, ends preferred or avoided, one score for most items, and
    ranges of scores over which precision falls or is flat, and lists the items to look at for each. Groups are compared
    with shuffled raters, and their MPA and WRA are low where :func:`plurivox.responsiveness` claims so; individual
    raters are compared with other raters of the same items. Few raters who score like all others therefore get a
    remark.

    Parameters
    ----------
    ratings
        Who rated what. Higher points mean more severe.
    reference
        What the scores are compared with, as in :func:`plurivox.responsiveness`.

    Returns
    -------
    Advice
        With ``to_frame()``, ``findings()``, ``table("members")``, ``table("precision")``, ``table("pairs")``,
        ``table("items")`` and ``to_json()``.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=200, n_raters=30, styles={"normal": 0.9, "extreme": 0.1}, seed=1)
    >>> found = pv.advise(study.ratings, study.trained, "rater")
    >>> found.to_frame().filter(pl.col("habit") == "extreme").height
    4
    """
    shared = (
        "threshold", "group_score", "ties", "permutations", "max_permutations", "interval", "bootstrap",
        "seed", "several", "min_support", "min_group_size", "within", "ids",
    )  # fmt: skip
    found = responsiveness(
        ratings, reference, settings.by, threads=how.threads, executor=how.executor, progress=how.progress,
        **{name: getattr(settings, name) for name in shared},
    )  # fmt: skip
    return advice_on(found, ratings, reference, Thresholds(**settings.thresholds), settings.max_pairs, how)


def advice_on(
    found: Responsiveness,
    ratings: Ratings,
    reference: ReferenceLike,
    thresholds: Thresholds | None = None,
    max_pairs: int = MAX_PAIRS,
    how: Running | None = None,
) -> Advice:
    """Return the advice that belongs to a result of :func:`plurivox.responsiveness` on the same data."""
    settings = found.settings
    size = settings["min_group_size"]
    against = resolve(ratings, reference, threshold=settings["threshold"], min_group_size=size)
    axes = compared(ratings, settings["by"], settings["several"], size)
    looking = Looking(found, ratings, against, thresholds or Thresholds(), how or Running())
    work = _Advising(looking, max_pairs, looking.seen(axes))
    for one in axes:
        work.add(one)
    return work.result()


@dataclass(slots=True)
class _Advising:
    """What is gathered for all axes."""

    looking: Looking
    max_pairs: int
    seen: Mapping[tuple[str, str], HabitsSeen]
    rows: dict[str, list[tuple[object, ...]]] = field(default_factory=lambda: {name: [] for name in SCHEMAS})

    def add(self, compared_by: Compared) -> None:
        """Record the members of an axis."""
        found, ratings, reference = self.looking.found, self.looking.ratings, self.looking.reference
        name, how = compared_by.axis.name, {one: found.settings[one] for one in ("group_score", "ties", "seed")}
        rows = {
            (row.group, row.statistic): row
            for row in found.rows
            if row.axis == name and row.subset == "all" and row.kind in ("group", "rater")
        }
        withheld = any(axis.n_withheld for axis, _ in compared_by.shown) and reference.kind != "ratings"
        for axis, places in compared_by.shown:
            for place, own in zip(places, ScoredItems.of(ratings, axis, reference, **how).of_each(places), strict=True):
                group = axis.groups[place]
                self._write(name, group, own, rows[group, "mpa"], rows[group, "wra"], hide_shares=withheld)

    def _write(self, axis: str, group: str, own: ScoredItems, mpa: Row, wra: Row, *, hide_shares: bool) -> None:
        labels, poles = self.looking.labels, Poles.of(self.looking.found.settings)
        habits, why = self.seen[axis, group]
        for one, clear in habits:
            scores = ", ".join(labels[c] for c in one.scores)
            self.rows["advice"].append((
                axis, group, one.name, scores, one.value, one.usual, one.p, "clear" if clear else "likely",
                seen(one, labels, mpa, wra, poles), poles.fill(MEANING[one.name]), poles.fill(NEXT[one.name]),
                mpa.n_raters, mpa.n_items,
            ))  # fmt: skip
        pairs, same = pairs_of(own, len(labels), self.max_pairs)
        ends = [mpa.value, mpa.ci_low, mpa.ci_high, wra.value, wra.ci_low, wra.ci_high]
        names = ", ".join(dict.fromkeys(one.name for one, _ in habits))
        note = mpa.note if math.isnan(mpa.value) else why
        self.rows["members"].append((axis, group, *ends, same, names, mpa.n_raters, mpa.n_items, note))
        curve = curve_of(own.point, own.share, own.ones, own.total, len(labels))
        for c, label in enumerate(labels):
            error = curve.error[c] * NORMAL_95
            low, high = max(0.0, curve.precision[c] - error), min(1.0, curve.precision[c] + error)
            self.rows["precision"].append((axis, group, label, curve.precision[c], low, high, curve.n_items[c]))
        ids = self.looking.items
        for point, unsafe, high, safe, low in pairs:
            shares = (None, None) if hide_shares else (high, low)
            self.rows["pairs"].append((axis, group, labels[point], ids[unsafe], shares[0], ids[safe], shares[1]))
        for item in listed(own, [one for one, _ in habits], len(labels), self.max_pairs):
            share = None if hide_shares else item.share
            self.rows["items"].append((axis, group, item.list, labels[item.point], ids[item.item], share))

    def result(self) -> Advice:
        """Return everything."""
        found = self.looking.found
        tables = tuple(
            Table(name, pl.DataFrame(rows, schema=SCHEMAS[name], orient="row")) for name, rows in self.rows.items()
        )
        kept = (
            "reference", "threshold", "group_score", "ties", "interval", "bootstrap", "permutations", "within", "seed",
            "min_support", "min_group_size", "by", "several", "points", "poles", "design", "correction",
        )  # fmt: skip
        settings = {name: found.settings[name] for name in kept}
        settings |= {"ids": True} if found.settings.get("ids") else {}
        settings |= {"thresholds": asdict(self.looking.thresholds), "max_pairs": self.max_pairs}
        settings |= {name: dict(getattr(found, name)) for name in ("withheld", "revealing", "outside")}
        return Advice(tables, settings)
