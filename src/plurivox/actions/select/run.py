"""Selection: the most responsive raters of every group, for tasks in which every group is to have a voice."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from plurivox.actions.select.result import FEW, SCHEMAS, VALUES, Selection, ordering
from plurivox.actions.select.settings import SelectionSettings
from plurivox.axis import Axis
from plurivox.engine.exchange import Exchange
from plurivox.engine.grouping import Compared, compared, overlapping_axes
from plurivox.engine.running import Running
from plurivox.errors import SelectionError
from plurivox.lenses.responsiveness.references import ReferenceLike
from plurivox.lenses.responsiveness.run import responsiveness
from plurivox.ratings import Ratings
from plurivox.results.result import Row, Table
from plurivox.results.wording import counted, listed, why_withheld
from plurivox.settings import keywords

SAME = 1e-12
"""Bounds no further apart are a tie."""


class _Group(NamedTuple):
    """A group that may be shown, and the names of its raters."""

    axis: str
    name: str
    raters: list[str]


class _Judged(NamedTuple):
    """A rater with their values, what they are ordered by, and why they are not eligible, if so."""

    rater: str
    values: tuple[float | None, ...]
    n_ratings: int
    bound: float
    reason: str
    note: str


class _Ranked(NamedTuple):
    """The eligible raters of a group in the order of choice, and the names of those tied for the last place."""

    chosen: list[_Judged]
    others: list[_Judged]
    tied: frozenset[str]


@keywords(SelectionSettings)
def select_raters(
    ratings: Ratings, reference: ReferenceLike = "crowd", *, settings: SelectionSettings, how: Running
) -> Selection:
    """Choose the most responsive raters of every group.

    Every rater is held against the reference on their own, as :func:`plurivox.responsiveness` does with
    ``by="rater"``; then the first few of each group are chosen. Every group large enough to show appears in the
    result, also one of which nobody is eligible. The chosen raters are named, since that is what was asked for.

    Ordered by the lower end of their 95 % intervals, raters with few ratings come later, so that luck does not win.
    That pays where groups are large and raters much alike. Where raters differ widely, or groups are small, it can
    miss good raters who rated little, and ``order="value"`` finds as many of the best or more.

    Parameters
    ----------
    ratings
        Who rated what. Higher points mean more severe.
    reference
        What the scores are held against, as in :func:`plurivox.responsiveness`. Nobody is ever held against themselves.

    Returns
    -------
    Selection
        With ``to_frame()``, ``table("groups")``, ``table("candidates")``, ``findings()`` and ``to_json()``.

    Raises
    ------
    SelectionError
        If no group has an eligible rater.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=100, n_raters=30, seed=1)
    >>> found = pv.select_raters(study.ratings, study.trained, by="age", per_group=2, bootstrap=99)
    >>> found
    <Selection: 6 raters of 3 groups by HM>
    >>> found.to_frame()["rater"].to_list()[:2]
    ['rater-016', 'rater-013']
    """
    overlapping = overlapping_axes(settings.by, settings.several, pairs=False)
    axes = list(compared(ratings, settings.by, overlapping, settings.min_group_size))
    groups = _groups(ratings, axes)
    asked = {
        **settings.as_dict(), "several": overlapping, "withheld": {one.axis.name: one.n_withheld for one in axes},
        "revealing": {one.axis.name: one.n_revealing for one in axes},
        "outside": {one.axis.name: one.axis.n_outside for one in axes},
    }  # fmt: skip
    if not groups:
        raise _nobody_shown(asked)
    shared = ("threshold", "bootstrap", "seed", "min_group_size")
    found = responsiveness(
        ratings, reference, "rater", permutations=0, threads=how.threads, executor=how.executor,
        interval="bootstrap" if settings.bootstrap else "none", progress=how.progress,
        **{name: getattr(settings, name) for name in shared},
    )  # fmt: skip
    asked["reference"] = found.settings["reference"]
    exchange = Exchange.of(ratings, settings.within)
    asked["compared"] = exchange.as_dict()
    judged = _among_peers(ratings, _judged(found.rows, asked), exchange)
    result = Selection(_tables(groups, judged, asked), asked)
    if result.to_frame()["rater"].null_count() == len(groups):
        raise _nobody_eligible(result.table("candidates"), asked)
    return result


def _groups(ratings: Ratings, axes: Sequence[Compared]) -> list[_Group]:
    """Return the groups that may be shown with their raters."""
    alone = Axis.of(ratings, "rater")
    names = [alone.groups[code] for code in alone.codes.tolist()]
    return [
        _Group(axis.name, axis.groups[g], [names[rater] for rater in np.flatnonzero(axis.codes == g).tolist()])
        for one in axes
        for axis, places in one.shown
        for g in places
    ]


def _judged(rows: Iterable[Row], settings: Mapping[str, Any]) -> dict[str, _Judged]:
    """Return every rater with what they are ordered by, and why they are not eligible."""
    by_rater: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.kind == "rater":
            by_rater.setdefault(row.group, {})[row.statistic] = row
    found = {}
    for rater, own in by_rater.items():
        row = own[settings["metric"]]
        bound = row.ci_low if settings["order"] == "lower" and row.ci_low is not None else row.value
        values = (row.value, row.ci_low, row.ci_high, *(own[name].value for name in ("mpa", "wra", "hm")))
        reason = ""
        if row.n_ratings < settings["min_ratings"]:
            of = "of items that have a reference"
            reason = f"{counted(row.n_ratings, 'rating')} {of}, fewer than {settings['min_ratings']:,}"
        elif math.isnan(bound):
            why = row.note if math.isnan(row.value) else "fewer than two bootstrap draws are defined"
            reason = f"{ordering(settings)} is undefined: {why}"
        found[rater] = _Judged(rater, (*values, row.n_ratings), row.n_ratings, bound, reason, row.note)
    return found


def _among_peers(ratings: Ratings, judged: dict[str, _Judged], exchange: Exchange) -> dict[str, _Judged]:
    """Return raters with their bound less the median of those they may be compared with.

    Who is alone in a stratum is compared with all.
    """
    if exchange.strata is None:
        return judged
    alone = Axis.of(ratings, "rater")
    stratum = {alone.groups[code]: int(exchange.strata[rater]) for rater, code in enumerate(alone.codes.tolist())}
    peers: dict[int, list[float]] = {}
    for one in judged.values():
        if not one.reason:
            peers.setdefault(stratum[one.rater], []).append(one.bound)
    overall = float(np.median([bound for bounds in peers.values() for bound in bounds] or [0.0]))
    middle = {number: float(np.median(bounds)) for number, bounds in peers.items() if len(bounds) > 1}
    return {name: one._replace(bound=one.bound - middle.get(stratum[name], overall)) for name, one in judged.items()}


def _ranked(eligible: Iterable[_Judged], per_group: int, seed: int) -> _Ranked:
    """Put raters in order: by bound; where bounds are the same, more ratings first, then by seed and name."""
    falling = sorted(eligible, key=lambda one: -one.bound)
    bounds = np.array([one.bound for one in falling])
    levels = np.append(0, np.cumsum(bounds[:-1] - bounds[1:] > SAME)).tolist()
    level = {one.rater: at for one, at in zip(falling, levels, strict=False)}
    ordered = sorted(falling, key=lambda one: (level[one.rater], -one.n_ratings, _drawn(seed, one.rater)))
    chosen, others = ordered[:per_group], ordered[per_group:]
    same = [one.rater for one in ordered if level[one.rater] == level[chosen[-1].rater]]
    return _Ranked(chosen, others, frozenset(same if len(same) > 1 else ()))


def _drawn(seed: int, rater: str) -> bytes:
    """Return what puts raters into an order that looks random and depends on nothing but the seed and their names."""
    return hashlib.blake2b(f"{seed}:{rater}".encode(), digest_size=8).digest() + rater.encode()


def _tables(groups: Sequence[_Group], judged: Mapping[str, _Judged], settings: Mapping[str, Any]) -> tuple[Table, ...]:
    """Choose in every group, and return the three tables."""
    chosen: list[tuple[Any, ...]] = []
    counts: list[tuple[Any, ...]] = []
    candidates: list[tuple[Any, ...]] = []
    for axis, name, raters in groups:
        own = [judged[rater] for rater in raters]
        excluded = sorted((one for one in own if one.reason), key=lambda one: one.rater)
        ranked = _ranked((one for one in own if not one.reason), settings["per_group"], settings["seed"])
        ties = _tie_notes(ranked)
        n_few = sum(one.n_ratings < settings["min_ratings"] for one in excluded)
        n_chosen, n_eligible = len(ranked.chosen), len(own) - len(excluded)
        why = _why_short(n_eligible, n_few, len(excluded) - n_few, settings)
        counts.append((axis, name, len(own), n_eligible, n_few, len(excluded) - n_few, n_chosen, why))
        for rank, one in enumerate([*ranked.chosen, *ranked.others], start=1):
            cells = (axis, name, rank, one.rater, *one.values)
            tied, note = one.rater in ranked.tied, _joined(ties.get(one.rater, ""), one.note)
            candidates.append((*cells, True, rank <= n_chosen, tied, note))
            if rank <= n_chosen:
                chosen.append((*cells, tied, note))
        if not n_chosen:
            chosen.append((axis, name, *[None] * (2 + len(VALUES)), False, why))
        candidates += [(axis, name, None, one.rater, *one.values, False, False, False, one.reason) for one in excluded]
    parts = {"chosen": chosen, "groups": counts, "candidates": candidates}
    return tuple(Table(name, pl.DataFrame(rows, SCHEMAS[name], orient="row")) for name, rows in parts.items())


def _tie_notes(ranked: _Ranked) -> dict[str, str]:
    """Tell for each rater who is tied for the last place with whom, and what decided."""
    taken = [one for one in ranked.chosen if one.rater in ranked.tied]
    left = [one for one in ranked.others if one.rater in ranked.tied]
    if not left:
        names = [one.rater for one in taken]
        return {own: f"tied with {listed((one for one in names if one != own), FEW)}, also chosen" for own in names}
    most, fewest = left[0].n_ratings, taken[-1].n_ratings
    with_left, with_taken = (f"tied with {listed((one.rater for one in part), FEW)}" for part in (left, taken))
    notes = {}
    for one in taken:
        notes[one.rater] = f"{with_left}, not chosen; {_decided(clearly=one.n_ratings > most)}"
    for one in left:
        notes[one.rater] = f"{with_taken}, chosen; {_decided(clearly=one.n_ratings < fewest)}"
    return notes


def _decided(*, clearly: bool) -> str:
    return "the number of ratings decided" if clearly else "the seed decided"


def _why_short(n_eligible: int, n_few: int, n_undefined: int, settings: Mapping[str, Any]) -> str:
    """Tell why a group has fewer eligible raters than were asked for; nothing if it has enough."""
    if n_eligible >= settings["per_group"]:
        return ""
    reasons = []
    if n_few:
        have = "has" if n_few == 1 else "have"
        of = "of items that have a reference"
        reasons.append(f"{counted(n_few, 'rater')} {have} fewer than {settings['min_ratings']:,} ratings {of}")
    if n_undefined:
        what = ordering(settings)
        reasons.append(f"{counted(n_undefined, 'rater')} {'has' if n_undefined == 1 else 'have'} no defined {what}")
    because = " and ".join(reasons) or "it has no more raters"
    return f"{n_eligible:,} eligible, {because}" if n_eligible else because


def _nobody_shown(settings: Mapping[str, Any]) -> SelectionError:
    n_withheld = sum(settings["withheld"].values())
    if not n_withheld:
        return SelectionError("no rater has a value on any axis of by", hint="Give the table of raters.")
    groups = "the only group is" if n_withheld == 1 else f"all {n_withheld:,} groups are"
    why = why_withheld(n_withheld, sum(settings["revealing"].values()), settings["min_group_size"])
    return SelectionError(
        f"there is nobody to choose, since {groups} withheld{why}",
        hint="Cross fewer attributes, or lower min_group_size if these raters may be identified.",
    )


def _nobody_eligible(candidates: pl.DataFrame, settings: Mapping[str, Any]) -> SelectionError:
    own = candidates.unique("rater")
    n_few = own.filter(pl.col("n_ratings") < settings["min_ratings"]).height
    why = _why_short(0, n_few, own.height - n_few, settings)
    hint = "Lower min_ratings, or collect more ratings of items that have a reference."
    if n_few < own.height:
        hint = "See pv.responsiveness(…, by='rater') for the values of raters and why they are undefined."
    return SelectionError(f"no group has an eligible rater: {why}", hint=hint)


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
