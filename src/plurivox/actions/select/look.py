"""Raters to look at: constant answers, straight lines, haste, and failing items that trained raters agree on.

Each is a number for every rater, compared with raters of the same items, so that its threshold comes from the raters
themselves and not from a constant. The p-values of one kind are corrected over all raters by Benjamini and Hochberg.
Nobody is dropped for being on the list.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.actions.select.choosing import CandidateGroup
from plurivox.base.errors import InputError
from plurivox.domain.attributes import places_of
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import require_columns, to_polars
from plurivox.infer.exchange import Exchange
from plurivox.infer.families import SIGNIFICANT, adjust
from plurivox.lenses.responsiveness.raters import LEAST_PEERS, TAILS, Floats, Peers, against_peers
from plurivox.lenses.responsiveness.references import Reference
from plurivox.statistics.responsiveness import auroc

CONSTANT, STRAIGHT, FAST, GOLD = "constant answers", "straight lines", "too fast", "gold items failed"
KINDS = (CONSTANT, STRAIGHT, FAST, GOLD)
LEAST = 10
"""The fewest ratings, or gold items of either side, needed to say anything about a rater."""
NEARLY_ALL = 0.9
"""Answers are constant if one score has at least this share of them; whether others do so is a separate question."""
SHUFFLES = 199
"""Random orders of a rater's own scores with which a run is compared."""
FREEDOM = {STRAIGHT: 3.0, FAST: 15.0}
"""Degrees of freedom over ordinary raters: the longest of many runs has a long tail, log seconds are nearly normal."""
EDGE = 0.02
"""Added to an AUROC and to its complement, so that log odds are finite."""
SHORTEST = 0.05
"""Seconds; shorter or negative times count as this."""
MEANING = {
    CONSTANT: "share of the most frequent score",
    STRAIGHT: "longest run of one score, in ratings",
    FAST: "median seconds for a rating",
    GOLD: "AUROC on items that all trained raters judge alike",
}
"""The meaning of each kind's value."""


@dataclass(frozen=True, slots=True, eq=False)
class Sign:
    """One kind of sign for all raters: how far each is from peers, and how likely that is."""

    kind: str
    shown: Floats
    peers: Peers
    p: Floats
    p_adjusted: Floats

    @property
    def listed(self) -> NDArray[np.bool_]:
        """Who is listed."""
        return self.p_adjusted <= SIGNIFICANT

    @property
    def threshold(self) -> float:
        """The largest p at which raters are listed: how often an ordinary rater is."""
        n = int(np.count_nonzero(np.isfinite(self.p)))
        return max(SIGNIFICANT / max(n, 1), float(self.p[self.listed].max(initial=0.0)))


class RatingLog(NamedTuple):
    """What is known about single ratings, in the order of ``ratings``; NaN where nothing is."""

    order: Floats | None
    seconds: Floats | None


def read_log(ratings: Ratings, log: Any) -> RatingLog:
    """Match a frame of item, rater, and ``time`` or ``seconds``, to the ratings; without ``time`` rows are in order."""
    if log is None:
        return RatingLog(None, None)
    frame = to_polars(log)
    require_columns(frame.columns, ["item", "rater"], "log")
    items = places_of(frame["item"], ratings.items["item"])
    raters = places_of(frame["rater"], ratings.raters["rater"])
    known = (items >= 0) & (raters >= 0)
    width = np.int64(ratings.n_raters)
    keys = ratings.item_codes.astype(np.int64) * width + ratings.codes_of_raters
    places = np.searchsorted(keys, np.where(known, items * width + raters, -1))
    known &= (places < len(keys)) & (keys[np.minimum(places, len(keys) - 1)] == items * width + raters)
    if not known.any():
        raise InputError("no row of the log is about a rating", hint="Its columns item and rater need the same ids.")
    order, seconds = np.arange(len(known), dtype=float), None
    if "time" in frame.columns:
        order = _numbers(frame["time"], "time")
    if "seconds" in frame.columns:
        seconds = _placed(_numbers(frame["seconds"], "seconds"), places, known, len(keys))
    placed = _placed(order, places, known, len(keys))
    if seconds is None and "time" in frame.columns:
        seconds = _between(ratings, placed)
    return RatingLog(placed, seconds)


def _numbers(column: pl.Series, name: str) -> Floats:
    """Return numbers, or dates and times as seconds; other values are unknown, but raise if all are."""
    if column.dtype.is_temporal():
        column = column.cast(pl.Datetime("us")).dt.epoch("us").cast(pl.Float64) / 1e6
    elif column.dtype == pl.String:
        numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
        if numbers.null_count() == len(numbers):
            moments = column.str.strip_chars().str.to_datetime(strict=False, time_unit="us", time_zone="UTC")
            numbers = moments.dt.epoch("us").cast(pl.Float64) / 1e6
        column = numbers
    if not column.dtype.is_numeric() or column.null_count() == len(column):
        raise InputError(
            f"the column {name} holds neither numbers nor times", hint="Give seconds, or 2026-01-31T12:00:00."
        )
    return column.cast(pl.Float64).fill_null(math.nan).to_numpy().astype(np.float64)


def _placed(values: Floats, places: NDArray[Any], known: NDArray[np.bool_], n: int) -> Floats:
    found = np.full(n, np.nan)
    found[places[known]] = values[known]
    return found


def _between(ratings: Ratings, times: Floats) -> Floats:
    """Return how long after the rater's previous rating each was given; unknown for the first."""
    raters = ratings.codes_of_raters
    order = np.lexsort((times, raters))
    order = order[np.isfinite(times[order])]
    found = np.full(len(times), np.nan)
    same = raters[order][1:] == raters[order][:-1]
    found[order[1:][same]] = np.diff(times[order])[same]
    return found


def signs_of(
    ratings: Ratings, exchange: Exchange, reference: Reference | None, log: RatingLog, seed: int
) -> list[Sign]:
    """Return every kind of sign that can be looked for."""
    # for each rater the value that is shown, and the one that is compared with peers; high is a reason to look
    seen = {CONSTANT: _constant(ratings)}
    if log.order is not None:
        seen[STRAIGHT] = _straight(ratings, log.order, seed)
    if log.seconds is not None:
        seen[FAST] = _fast(ratings, log.seconds)
    if reference is not None and reference.kind == "ratings" and reference.n_points == 2:
        seen[GOLD] = _gold(ratings, reference)
    signs = []
    for kind, (shown, measured) in seen.items():
        if not np.isfinite(measured).any():
            continue
        gold = kind == GOLD  # who is more lenient has more ties
        freedom = FREEDOM.get(kind, TAILS)
        peers = against_peers(measured, ratings, exchange, leniency=gold, numbers=False, alike=True, freedom=freedom)
        p = peers.above
        if not np.isfinite(p).any():
            continue
        if kind == CONSTANT:
            p = np.where((shown < NEARLY_ALL) & np.isfinite(p), 1.0, p)
        signs.append(Sign(kind, shown, peers, p, adjust(p, "bh")))
    return signs


def _constant(ratings: Ratings) -> tuple[Floats, Floats]:
    """Return the share of a rater's most frequent score, as log odds, which separate shares near 1."""
    n_points = len(ratings.scale)
    cells = ratings.codes_of_raters.astype(np.int64) * n_points + ratings.scores
    counts = np.bincount(cells, minlength=ratings.n_raters * n_points).reshape(-1, n_points)
    n, most = counts.sum(axis=1), counts.max(axis=1, initial=0)
    enough = n >= LEAST
    odds = np.where(enough, np.log((most + 0.5) / (n - most + 0.5)), np.nan)
    return np.where(enough, most / np.maximum(n, 1), np.nan), odds


def _runs(scores: NDArray[Any]) -> NDArray[np.int64]:
    """Return the longest run of one score in each row."""
    n = scores.shape[1]
    # Where each run starts, carried along: the longest distance from there.
    starts = np.where(np.diff(scores, axis=1, prepend=-1) != 0, np.arange(n), 0)
    return np.asarray((np.arange(n) - np.maximum.accumulate(starts, axis=1) + 1).max(axis=1), np.int64)


def _straight(ratings: Ratings, order: Floats, seed: int) -> tuple[Floats, Floats]:
    """Return the longest run of one score, compared with those of the rater's own scores in random orders."""
    shown, measured = (np.full(ratings.n_raters, np.nan) for _ in range(2))
    raters = ratings.codes_of_raters
    sorted_ = np.lexsort((ratings.item_codes, order, raters))
    sorted_ = sorted_[np.isfinite(order[sorted_])]
    ends = np.cumsum(np.bincount(raters[sorted_], minlength=ratings.n_raters))
    for rater in range(ratings.n_raters):
        own = ratings.scores[sorted_[ends[rater - 1] if rater else 0 : ends[rater]]].astype(np.int16)
        if len(own) < LEAST:
            continue
        longest = int(_runs(own[np.newaxis])[0])
        shown[rater] = longest
        if (own == own[0]).all():
            continue  # constant answers, of which any order is a line
        rng = np.random.default_rng([seed, rater])
        shuffled = _runs(rng.permuted(np.tile(own, (SHUFFLES, 1)), axis=1))
        measured[rater] = (longest - shuffled.mean()) / max(float(shuffled.std()), 0.5)
    return shown, measured


def _fast(ratings: Ratings, seconds: Floats) -> tuple[Floats, Floats]:
    """Return the median of log seconds, reversed: the faster, the higher."""
    known = np.isfinite(seconds)
    frame = pl.DataFrame({"rater": ratings.codes_of_raters[known], "log": np.log(np.maximum(seconds[known], SHORTEST))})
    own = frame.group_by("rater").agg(pl.col("log").median(), pl.len()).filter(pl.col("len") >= LEAST)
    found = np.full(ratings.n_raters, np.nan)
    found[own["rater"].to_numpy()] = own["log"].to_numpy()
    return np.exp(found), -found


def _gold(ratings: Ratings, reference: Reference) -> tuple[Floats, Floats]:
    """Return AUROC on items that at least two trained raters judge, and all alike; as log odds, reversed."""
    totals = reference.totals()
    side = np.where(totals.sum(axis=1) < 2, -1, np.where(totals[:, 0] == 0, 1, np.where(totals[:, 1] == 0, 0, -1)))
    found = np.full(ratings.n_raters, np.nan)
    own = side[ratings.item_codes]
    n_points = len(ratings.scale)
    tables = np.zeros((ratings.n_raters, 2, n_points))
    np.add.at(tables, (ratings.codes_of_raters[own >= 0], own[own >= 0], ratings.scores[own >= 0]), 1)
    for rater in np.flatnonzero((tables.sum(axis=2) >= LEAST // 2).all(axis=1)).tolist():
        zero, one = tables[rater]
        found[rater] = auroc(one, zero)
    return found, np.log((1 - found + EDGE) / (found + EDGE))


# Tables -------------------------------------------------------------------------------------------------------------


def listed_rows(signs: Sequence[Sign], names: Sequence[str], may: NDArray[np.bool_]) -> list[tuple[Any, ...]]:
    """Return a row for each listed rater who may be named."""
    rows = []
    for one in signs:
        places = np.flatnonzero(one.listed & may)
        rows += [
            (
                names[at], one.kind, float(one.shown[at]), float(one.peers.z[at]), float(one.p[at]),
                float(one.p_adjusted[at]), int(one.peers.n_peers[at]), MEANING[one.kind],
            )
            for at in places[np.argsort(one.p[places], kind="stable")].tolist()
        ]  # fmt: skip
    return rows


def alarm_rows(signs: Sequence[Sign], groups: Sequence[CandidateGroup]) -> list[tuple[Any, ...]]:
    """Return for each group and kind how many are listed, and how many ordinary raters would be by chance.

    The p-value is Fisher's, for more raters of the group than of the others shown on its axis having p ≤ .05.
    """
    from scipy.stats import fisher_exact

    rows: list[tuple[Any, ...]] = []
    for one in groups:
        shown = np.logical_or.reduce([other.members for other in groups if other.axis == one.axis])
        for sign in signs:
            each = [sign.p[who & np.isfinite(sign.p)] for who in (one.members, shown & ~one.members)]
            low = [int(np.count_nonzero(p <= SIGNIFICANT)) for p in each]
            own, rest = ((n, len(p) - n) for n, p in zip(low, each, strict=True))  # with p ≤ .05, and with more
            n_listed = int(np.count_nonzero(sign.listed & one.members))
            known = sum(own) and sum(rest)
            p = float(fisher_exact([own, rest], "greater").pvalue) if known else math.nan
            shares = [low / (low + high) if low + high else math.nan for low, high in (own, rest)]
            share = n_listed / sum(own) if sum(own) else math.nan
            rows.append((one.axis, one.name, sign.kind, sum(own), n_listed, share, sign.threshold, *shares, p))
    adjusted = adjust([row[-1] for row in rows], "holm").tolist()
    return [(*row, value) for row, value in zip(rows, adjusted, strict=True)]


def not_looked_for(signs: Sequence[Sign], given: Mapping[str, bool]) -> dict[str, str]:
    """Return what could not be looked for, and why."""
    done = {one.kind for one in signs}
    peers = f"{LEAST_PEERS} others to be compared with"
    reasons = {
        CONSTANT: f"no rater has {LEAST} ratings and {peers}",
        STRAIGHT: f"no rater has {LEAST} ratings and {peers}",
        FAST: f"no rater has {LEAST} known times and {peers}",
        GOLD: "there are too few items of either side that at least two trained raters judge alike",
    }
    reasons |= {} if given["order"] else {STRAIGHT: "the order of the answers is not known"}
    reasons |= {} if given["seconds"] else {FAST: "it is not known how long answers took"}
    reasons |= {} if given["gold"] else {GOLD: "there is no reference by trained raters with safe and unsafe"}
    return {kind: reasons[kind] for kind in KINDS if kind not in done}
