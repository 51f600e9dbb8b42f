"""Advice: what the scores of each rater or group show, what it may mean, and what to look at next."""

from __future__ import annotations

import math
from dataclasses import asdict

import polars as pl

from plurivox.actions.advise.result import MEANING, NEXT, SCHEMAS, Advice, seen
from plurivox.actions.advise.seen import HabitsSeen, Looking, ScoredItems, curve_of, listed, pairs_of
from plurivox.actions.advise.settings import AdviceSettings, Thresholds
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale_names import Poles
from plurivox.engine.pool import Running
from plurivox.infer.grouping import compared
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
    habits = looking.seen(axes)
    rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in SCHEMAS}
    measured = {
        (row.axis, row.group, row.statistic): row
        for row in found.rows
        if row.subset == "all" and row.kind in ("group", "rater")
    }
    like = {one: settings[one] for one in ("group_score", "ties", "seed")}
    for one in axes:
        name = one.axis.name
        withheld = any(axis.n_withheld for axis, _ in one.shown) and against.kind != "ratings"
        for axis, places in one.shown:
            scored = ScoredItems.of(ratings, axis, against, **like).of_each(places)
            for group, own in zip((axis.groups[place] for place in places), scored, strict=True):
                mpa, wra = (measured[name, group, statistic] for statistic in ("mpa", "wra"))
                _add(rows, looking, habits[name, group], own, mpa, wra, max_pairs, hide_shares=withheld)
    kept = (
        "reference", "threshold", "group_score", "ties", "interval", "bootstrap", "permutations", "within", "seed",
        "min_support", "min_group_size", "by", "several", "points", "poles", "design", "correction",
    )  # fmt: skip
    asked = {name: settings[name] for name in kept}
    asked |= {"ids": True} if settings.get("ids") else {}
    asked |= {"thresholds": asdict(looking.thresholds), "max_pairs": max_pairs}
    asked |= {name: dict(getattr(found, name)) for name in ("withheld", "revealing", "outside")}
    frames = {name: pl.DataFrame(own, schema=SCHEMAS[name], orient="row") for name, own in rows.items()}
    return Advice(tuple(Table(name, frame) for name, frame in frames.items()), asked)


def _add(
    rows: dict[str, list[tuple[object, ...]]], looking: Looking, seen_in: HabitsSeen, own: ScoredItems, mpa: Row,
    wra: Row, max_pairs: int, *, hide_shares: bool,
) -> None:  # fmt: skip
    """Add the rows about one rater or group."""
    axis, group = mpa.axis, mpa.group
    labels, poles = looking.labels, Poles.of(looking.found.settings)
    habits, why = seen_in
    for one, clear in habits:
        scores = ", ".join(labels[c] for c in one.scores)
        rows["advice"].append((
            axis, group, one.name, scores, one.value, one.usual, one.p, "clear" if clear else "likely",
            seen(one, labels, mpa, wra, poles), poles.fill(MEANING[one.name]), poles.fill(NEXT[one.name]),
            mpa.n_raters, mpa.n_items,
        ))  # fmt: skip
    pairs, same = pairs_of(own, len(labels), max_pairs)
    ends = [mpa.value, mpa.ci_low, mpa.ci_high, wra.value, wra.ci_low, wra.ci_high]
    names = ", ".join(dict.fromkeys(one.name for one, _ in habits))
    note = mpa.note if math.isnan(mpa.value) else why
    rows["members"].append((axis, group, *ends, same, names, mpa.n_raters, mpa.n_items, note))
    curve = curve_of(own.point, own.share, own.ones, own.total, len(labels))
    for c, label in enumerate(labels):
        error = curve.error[c] * NORMAL_95
        low, high = max(0.0, curve.precision[c] - error), min(1.0, curve.precision[c] + error)
        rows["precision"].append((axis, group, label, curve.precision[c], low, high, curve.n_items[c]))
    ids = looking.items
    for point, unsafe, high, safe, low in pairs:
        shares = (None, None) if hide_shares else (high, low)
        rows["pairs"].append((axis, group, labels[point], ids[unsafe], shares[0], ids[safe], shares[1]))
    for item in listed(own, [one for one, _ in habits], len(labels), max_pairs):
        share = None if hide_shares else item.share
        rows["items"].append((axis, group, item.list, labels[item.point], ids[item.item], share))
