"""What alignment starts from: answers in the order of the rated items, parts of the items, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.arguments import Frame, Kind
from plurivox.base.errors import InputError, SelectionError, few
from plurivox.domain.answer_columns import ANSWERED, FAILED, NO_POINT, REFUSED, UNREADABLE
from plurivox.domain.answers import Answers, Voice
from plurivox.domain.attributes import as_categories, category_order, places_of
from plurivox.domain.ratings import Ratings
from plurivox.domain.reader import STATES
from plurivox.domain.scale import Scale, text_of
from plurivox.infer.tables import typed
from plurivox.statistics.alignment import modes
from plurivox.statistics.checks import tie_priorities

ALL = "all"
ACCOUNTS = typed("model prompt subset n_items answered refused unreadable failed missing")
"""How many rated items each voice answered and how; with several samples, an item gets the best of their states."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class AnsweredItems:
    """Answers to rated items, sorted by item as in the ratings, then voice, then sample; failed ones are left out.

    Attributes
    ----------
    ratings
        The votes.
    voices
        Who answers.
    rows
        Answers to item ``i`` are entries ``rows[i]`` to ``rows[i + 1]``.
    voice, point, part
        For each answer, the voice, the position on the scale or -1, and its part of the item, which samples share.
    shares
        The probability of each point for each answer, NaN where unknown; None if unknown everywhere.
    shown, order
        The position at which the option of each answer was shown, and the number of the order, -1 where unknown; None
        if unknown everywhere.
    subsets
        The names of the parts of the items.
    subset
        The part of each item; the number of parts for items in none.
    accounts
        See :data:`ACCOUNTS`.
    n_unrated
        How many items have answers but no rating.
    """

    ratings: Ratings
    voices: tuple[Voice, ...]
    rows: Ints
    voice: Ints
    point: Ints
    part: Floats
    shares: Floats | None
    shown: Ints | None
    order: Ints | None
    subsets: tuple[str, ...]
    subset: Ints
    accounts: pl.DataFrame
    n_unrated: int

    @property
    def item(self) -> Ints:
        """The item of each answer."""
        return np.repeat(np.arange(len(self.rows) - 1), np.diff(self.rows))

    @property
    def n_unsorted(self) -> int:
        """How many items with answers are in no part, though items were sorted into parts."""
        unsorted = (self.subset == len(self.subsets)) & (np.diff(self.rows) > 0)
        return int(np.count_nonzero(unsorted)) if self.subsets else 0

    @property
    def scale(self) -> Scale:
        """The points of votes and answers."""
        return self.ratings.scale

    @property
    def top(self) -> int:
        """The last position of the scale, K."""
        return len(self.ratings.scale) - 1


def _is_store(given: Any) -> bool:
    """Return whether something is a store of ``plurivox ask``, a class unknown to this layer."""
    return callable(getattr(given, "frame", None)) and hasattr(given, "about")


AnswersLike = Answers | Annotated[Any, Kind("a store of plurivox ask", _is_store)] | Frame


def as_answers(given: Any, ratings: Ratings) -> Answers:
    """Return answers from answers, a store, or a frame on the scale of the ratings."""
    answers = on_scale(given, ratings.scale)
    if [text_of(one) for one in answers.scale.labels] != [text_of(one) for one in ratings.scale.labels]:
        raise _other_scale(str(answers.scale), ratings.scale, answers.source)
    return answers


def on_scale(given: Any, scale: Scale) -> Answers:
    """Return answers from answers, a store, or a frame."""
    if isinstance(given, Answers):
        return given
    return from_store(given, scale) if _is_store(given) else Answers.from_frame(given, scale)


def from_store(store: Any, scale: Scale) -> Answers:
    """Return the answers of a store that ``plurivox ask`` wrote."""
    labels = [str(label) for label in store.about.get("labels", scale.labels)]
    if labels != [str(one) for one in scale.labels]:
        raise _other_scale(" < ".join(labels), scale, store.path)
    return Answers.from_frame(store.frame(), scale, source=store.path)


def _other_scale(there: str, here: Scale, source: str) -> InputError:
    return InputError(
        f"the answers are on {there}, the ratings on {here}", source=source, hint="Both need the same scale."
    )


def match(ratings: Ratings, answers: Answers, subset: str | None) -> AnsweredItems:
    """Find the answers to rated items, and count what is missing on either side."""
    place = places_of(answers.items, ratings.items["item"])
    rated = np.diff(ratings.offsets) > 0
    known = place >= 0
    known[known] = rated[place[known]]
    item = np.where(known[answers.item], place[answers.item], -1).astype(np.int64)
    if not (item >= 0).any() and not ratings.intake.selected:  # a selection may leave none
        there, here = (", ".join(map(repr, ids.head(2))) for ids in (ratings.items["item"], answers.items))
        raise InputError(
            f"no item with an answer is rated: answers have items such as {here}, ratings such as {there}",
            source=answers.source,
            hint="Both tables need the same item ids.",
        )
    names, subset_of = subsets_of(ratings.items, subset)
    accounts = account_items(answers, item, rated, names, subset_of)
    if not (answers.state == ANSWERED).any():
        raise nothing_answered(answers, accounts)
    kept = (item >= 0) & (answers.state != FAILED)
    order = np.flatnonzero(kept)[np.argsort(item[kept], kind="stable")]
    item, voice = item[order], answers.voice[order].astype(np.int64)
    cell = item * len(answers.voices) + voice
    size = np.bincount(cell)
    return AnsweredItems(
        ratings, answers.voices, np.searchsorted(item, np.arange(ratings.n_items + 1)).astype(np.int64), voice,
        answers.point[order].astype(np.int64), 1.0 / size[cell],
        None if answers.shares is None else answers.shares[order],
        None if answers.shown is None else answers.shown[order].astype(np.int64),
        None if answers.order is None else answers.order[order].astype(np.int64),
        names, subset_of, accounts, int(np.count_nonzero(~known)),
    )  # fmt: skip


def subsets_of(items: pl.DataFrame, subset: str | None) -> tuple[tuple[str, ...], Ints]:
    """Return the values of an item attribute, and that of each item; ``items`` has ids, then attributes."""
    if subset is None:
        return (), np.zeros(items.height, dtype=np.int64)
    if subset not in items.columns[1:]:
        known = few(items.columns[1:]) or "none: give them with --items (items=)"
        raise SelectionError(f"items have no attribute '{subset}'; they have: {known}")
    column = items[subset]
    order = category_order(column)
    if ALL in order:
        raise SelectionError(f"'{subset}' has the value 'all', which stands for all items", hint="Rename the value.")
    codes = as_categories(column).replace_strict(order, range(len(order)), default=len(order), return_dtype=pl.Int64)
    return tuple(order), codes.fill_null(len(order)).to_numpy().astype(np.int64)


def account_items(
    answers: Answers, item: Ints, rated: NDArray[np.bool_], subsets: tuple[str, ...], subset_of: Ints
) -> pl.DataFrame:
    """Count for each voice and subset the rated items by the best state of their answers."""
    n_items, n_voices = len(rated), len(answers.voices)
    missing = len(STATES)
    best = np.full(n_voices * n_items, missing, dtype=np.int64)
    inside = item >= 0
    np.minimum.at(best, answers.voice[inside] * np.int64(n_items) + item[inside], answers.state[inside])
    states = best.reshape(n_voices, n_items)[:, rated]
    parts = subset_of[rated]
    found = []
    for v, (model, prompt) in enumerate(answers.voices):
        for number, name in [(-1, ALL), *enumerate(subsets)]:
            of_part = states[v] if number < 0 else states[v][parts == number]
            n = np.bincount(of_part, minlength=missing + 1).tolist()
            found.append((model, prompt, name, len(of_part), *(n[s] for s in (ANSWERED, REFUSED, UNREADABLE, FAILED)),
                          n[missing]))  # fmt: skip
    return pl.DataFrame(found, schema=ACCOUNTS, orient="row")


def nothing_answered(answers: Answers, accounts: pl.DataFrame) -> InputError:
    """Return the error to raise where no model has a point of the scale for any item."""
    whole = accounts.filter(pl.col("subset") == ALL).sum()
    counts = ", ".join(f"{whole[state][0]:,} {state}" for state in STATES[1:] if whole[state][0])
    elsewhere = f"; {answers.n_elsewhere:,} neither are nor name a point of the scale" if answers.n_elsewhere else ""
    return InputError(
        f"no rated item has an answer on the scale: {counts}{elsewhere}", source=answers.source,
        hint=f"Answers should be labels of {answers.scale}, or texts that name one; plurivox answers read shows how "
        "each was read.",
    )  # fmt: skip


def soft_voices(matched: AnsweredItems) -> list[tuple[int, Ints, Floats, Floats]]:
    """Return the voices that have more than one point for some item: by log-probabilities, or by repeated samples.

    Each with the items that it answered, its distributions over the points, and what part was answered; from
    log-probabilities where they are known, otherwise from repeated samples.
    """
    soft, shares, found = matched.part < 1.0, matched.shares, []
    if shares is not None:
        soft |= ~np.isnan(shares[:, 0])
    for v in np.unique(matched.voice[soft]).tolist():
        own = np.flatnonzero(matched.voice == v)
        answers = matched.item[own], matched.point[own], matched.part[own], None if shares is None else shares[own]
        found.append((v, *pooled(*answers, matched.top + 1)))
    return found


def pooled(item: Ints, point: Ints, part: Floats, shares: Floats | None, n_points: int) -> tuple[Ints, Floats, Floats]:
    """Return the items that have an answer, the distribution of the answers to each, and what part was answered.

    ``part`` is the part of its item that each answer is, which samples share.
    """
    q = np.zeros((len(item), n_points))
    answered = point != NO_POINT
    q[answered, point[answered]] = 1.0
    if shares is not None:
        known = ~np.isnan(shares[:, 0]) & answered
        q[known] = shares[known]
    items, at = np.unique(item[answered], return_inverse=True)
    summed = np.zeros((len(items), n_points))
    np.add.at(summed, at, q[answered] * part[answered, None])
    weight = np.bincount(at, weights=part[answered], minlength=len(items))
    return items, summed / weight[:, None], np.asarray(weight, dtype=float)


# Answers that need no judgement ---------------------------------------------------------------------------------------
# Answers that need no judgement: always the same point of the scale, a draw from all votes, and a uniform draw.
#
# They are shown wherever models are ranked, since a distance says little without them: where one point has most of
# the votes, always giving it is close to everybody. They are not models, and nothing is claimed about them.

MOST_CONSTANTS = 21
"""On a scale with more points, constants are the points that cut the votes into parts of 5 %, and the most frequent."""
MARGINAL, UNIFORM = "draw from votes", "uniform draw"
N_RANDOM = 2
"""How many of the references are random; they come last."""


@dataclass(frozen=True, slots=True, eq=False)
class References:
    """Reference answers to every rated item that a model was asked about.

    Attributes
    ----------
    matched
        The answers, in the same form as those of models; its voices are the references.
    constants
        The point of each constant; these are the first voices.
    """

    matched: AnsweredItems
    constants: Ints

    @classmethod
    def of(cls, matched: AnsweredItems, seed: int) -> References:
        """Make them; random ones depend only on the seed and the item's id."""
        items = np.flatnonzero(np.diff(matched.rows))
        votes = matched.ratings.counts()[items].sum(axis=0)
        votes = votes if votes.any() else np.ones_like(votes)
        constants = constant_points(votes)
        ids = matched.ratings.items["item"].gather(items).to_list()
        hashed = [
            tie_priorities(ids, 1, seed=seed, side=side)[:, 0] for side in (0, 1)
        ]  # the same in any order of rows
        chance = [np.asarray((one >> np.uint64(11)) / 2.0**53) for one in hashed]  # from 0 to below 1
        drawn = np.searchsorted(np.cumsum(votes) / votes.sum(), chance[0], side="right").clip(max=matched.top)
        even = (chance[1] * len(votes)).astype(np.int64)
        each = [np.full(len(items), point) for point in constants] + [drawn, even]
        names = [*(f"always {matched.ratings.scale.labels[point]}" for point in constants), MARGINAL, UNIFORM]
        models = {voice.model for voice in matched.voices}
        for at in range(len(names)):
            while names[at] in models:
                names[at] += " (reference)"
        return cls(answering(matched, items, names, np.stack(each)), constants)


def constant_points(votes: NDArray[Any]) -> Ints:
    """Return the points of constants: all of them, or on a long scale those that represent the votes.

    Examples
    --------
    >>> constant_points(np.array([3, 0, 1])).tolist()
    [0, 1, 2]
    """
    if len(votes) <= MOST_CONSTANTS:
        return np.arange(len(votes))
    shares = np.cumsum(votes) / votes.sum()
    cuts = np.searchsorted(shares, np.linspace(0.0, 1.0, MOST_CONSTANTS)[1:-1])
    return np.unique([*cuts, votes.argmax()])


def answering(matched: AnsweredItems, items: Ints, names: list[str], points: NDArray[Any]) -> AnsweredItems:
    """Return answers of other voices to some items, voices × items."""
    n = np.zeros(len(matched.rows), dtype=np.int64)
    n[items + 1] = len(names)
    size = len(names) * len(items)
    return replace(
        matched, voices=tuple(Voice(name, "") for name in names), rows=np.cumsum(n),
        voice=np.tile(np.arange(len(names)), len(items)), point=np.ascontiguousarray(points.T).reshape(size),
        part=np.ones(size), shares=None, shown=None, order=None,
    )  # fmt: skip


# Items and answers side by side ---------------------------------------------------------------------------------------

MOST_BANDS = 50
"""The most bands that items are put into."""
_MOST_TIED = 3
DISTANCES = typed("model prompt distance n_items")
ITEMS = typed("item mode mode_label mean n_votes answer answer_label distance n_voices n_silent")
BANDS = {
    **typed("band item n_items rating model prompt answer n_answered n_silent"), "n_answered": pl.Float64,
    "n_silent": pl.Float64,
}  # fmt: skip


def distances(matched: AnsweredItems) -> pl.DataFrame:
    """Return how many of each voice's answers lie at each distance from the mode of all votes; null where none."""
    counts = matched.ratings.counts()
    far = np.abs(modes(counts)[:, np.newaxis] - np.arange(counts.shape[1])).round(6)
    known, code = np.unique(far, return_inverse=True)
    none = len(known)
    of_answer = np.where(matched.point >= 0, code.reshape(far.shape)[matched.item, matched.point], none)
    cells = matched.voice * (none + 1) + of_answer
    n = np.bincount(cells, weights=matched.part, minlength=len(matched.voices) * (none + 1)).reshape(-1, none + 1)
    far_of = [*known.tolist(), None]
    found = [(*matched.voices[v], far_of[at], round(float(n[v, at]))) for v, at in zip(*np.nonzero(n > 0), strict=True)]
    return pl.DataFrame(found, schema=DISTANCES, orient="row")


def item_table(matched: AnsweredItems) -> pl.DataFrame:
    """Return each item with votes and answers, on the points of the scale: numbers by its values, and labels.

    Mode, mean, mean answer, mean distance of answers from votes, and the labels that were given most often. Items whose
    mean answer and mean vote are farthest apart come first.
    """
    scale, counts = matched.ratings.scale, matched.ratings.counts()
    (n_items, n_points), values = counts.shape, np.array(scale.values)
    n_votes = counts.sum(axis=1)
    cells = matched.item * (n_points + 1) + np.where(matched.point >= 0, matched.point, n_points)
    given = np.bincount(cells, weights=matched.part, minlength=n_items * (n_points + 1)).reshape(n_items, -1)
    silent, given = given[:, n_points], given[:, :n_points]
    weight = given.sum(axis=1)
    most = counts == counts.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        per_point = (counts @ np.abs(values[:, None] - values)) / n_votes[:, None]
        far = (given * per_point).sum(axis=1) / weight
        mean, answer = (counts @ values) / n_votes, (given @ values) / weight
    frame = pl.DataFrame({
        "item": matched.ratings.items["item"].cast(pl.String), "mode": (most @ values) / most.sum(axis=1),
        "mode_label": _labels(counts, scale), "mean": mean, "n_votes": n_votes, "answer": answer,
        "answer_label": _labels(given, scale), "distance": far, "n_voices": weight.round(), "n_silent": silent.round(),
    })  # fmt: skip
    frame = frame.select([pl.col(name).cast(kind) for name, kind in ITEMS.items()])
    asked = (pl.col("n_voices") + pl.col("n_silent") > 0) & (pl.col("n_votes") > 0)
    apart = (pl.col("answer") - pl.col("mean")).abs().fill_nan(None)  # those without an answer come last
    return frame.filter(asked).sort(apart, "item", descending=[True, False], nulls_last=True)


def item_bands(matched: AnsweredItems) -> pl.DataFrame:
    """Return the mean answer of each voice to bands of items, sorted by their mean rating, on the scale's values.

    A band is one item, and has its name, if there are at most :data:`MOST_BANDS` items; otherwise the sizes of bands
    differ by one item at most.
    """
    counts, values = matched.ratings.counts(), np.array(matched.ratings.scale.values)
    n_votes, n_voices = counts.sum(axis=1), len(matched.voices)
    asked = np.flatnonzero((n_votes > 0) & (np.diff(matched.rows) > 0))
    mean = (counts[asked] @ values) / n_votes[asked]
    order = np.argsort(mean, kind="stable")
    n_bands = min(len(asked), MOST_BANDS)
    band_of = np.full(len(n_votes), -1, dtype=np.int64)
    band_of[asked[order]] = np.arange(len(asked)) * n_bands // max(len(asked), 1)
    of_answer = band_of[matched.item]
    inside = of_answer >= 0
    cell = (of_answer * n_voices + matched.voice)[inside]
    point, part = matched.point[inside], matched.part[inside]
    answered = point >= 0
    size = n_bands * n_voices
    given = np.bincount(cell[answered], part[answered], minlength=size)
    silent = np.bincount(cell[~answered], part[~answered], minlength=size)
    with np.errstate(invalid="ignore"):
        answer = np.bincount(cell[answered], part[answered] * values[point[answered]], minlength=size) / given
    n_items = np.bincount(band_of[asked], minlength=n_bands)
    rating = np.bincount(band_of[asked[order]], mean[order], minlength=n_bands) / n_items
    names = matched.ratings.items["item"].cast(pl.String).gather(asked[order]).to_list()
    alone = names if n_bands == len(asked) else [None] * n_bands
    cells = zip(np.ndindex(n_bands, n_voices), np.stack([answer, given, silent], axis=-1).tolist(), strict=True)
    rows = [
        (band, alone[band], int(n_items[band]), float(rating[band]), *matched.voices[v], *own)
        for (band, v), own in cells
    ]
    return pl.DataFrame(rows, schema=BANDS, orient="row").with_columns(pl.col("answer").fill_nan(None))


def _labels(counts: NDArray[Any], scale: Scale) -> list[str]:
    """Return the label of the most frequent point of each row, up to three labels if points tie, empty without any."""
    labels = [str(label) for label in scale.labels]
    top = counts.max(axis=1, keepdims=True)
    most = (counts >= top - 1e-9) & (top > 0)
    n = most.sum(axis=1)
    found = [labels[place] for place in most.argmax(axis=1)]
    for row in np.flatnonzero(n != 1).tolist():
        tied = [labels[place] for place in np.flatnonzero(most[row])]
        found[row] = "" if not tied else " / ".join(tied) if len(tied) <= _MOST_TIED else f"{len(tied)} points tie"
    return found
