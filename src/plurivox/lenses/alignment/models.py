"""Models among themselves and compared with humans: agreement, prompts, samples, position bias, distances, items."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import chdtrc

from plurivox.domain.answer_columns import ANSWERED, REFUSED, UNREADABLE
from plurivox.domain.answers import Answers, Voice
from plurivox.domain.attributes import places_of
from plurivox.domain.scale import Scale
from plurivox.infer.tables import typed
from plurivox.lenses.alignment.matching import AnsweredItems, Ints
from plurivox.statistics.alignment import modes
from plurivox.statistics.cohesion import krippendorff_alpha

ALL_MODELS, WITH_HUMANS, HUMANS = "all models", "all models and humans", "humans"
MOST_BANDS = 50
"""The most bands that items are put into."""

ALPHAS = typed("models prompt level value n_models n_raters n_items")
PROMPTS = typed("model prompt other same distance alpha n_items")
STABILITY = typed("model prompt n_samples same spread alpha n_items")
POSITIONS = typed("model prompt position n share expected p_value")
DISTANCES = typed("model prompt distance n_items")
ITEMS = typed("item mode mode_label mean n_votes answer answer_label distance n_voices n_silent")
BANDS = typed(
    "band item n_items rating model prompt answer n_answered n_silent",
    n_answered=pl.Float64,
    n_silent=pl.Float64,
)
_MOST_TIED = 3


# Agreement among models ----------------------------------------------------------------------------------------------


def first_answers(answers: Answers) -> tuple[NDArray[np.int8], NDArray[np.int16]]:
    """Return items × voices: state and point of the first sample with an answer, else of the first; -1 for none."""
    shape = (len(answers.items), len(answers.voices))
    state, point = np.full(shape, -1, dtype=np.int8), np.full(shape, -1, dtype=np.int16)
    if answers.sample.any():
        last_wins = np.lexsort((-answers.sample, -answers.state, answers.voice, answers.item))
    else:
        last_wins = slice(None)  # type: ignore[assignment]  # one sample of each
    place = answers.item[last_wins], answers.voice[last_wins]
    state[place], point[place] = answers.state[last_wins], answers.point[last_wins]
    return state, point


def alphas(
    answers: Answers, matched: AnsweredItems | None, families: Mapping[str, Sequence[str]], *, published: bool
) -> pl.DataFrame:
    """Return Krippendorff's alpha among models, within families and with humans, for each prompt, on two levels.

    Humans on their own come last, on all items that a model was asked about. Refusals and unreadable answers are
    missing; under the published convention they are two more categories, on the nominal level only.
    """
    state, point = first_answers(answers)
    n_points = len(answers.scale)
    human, n_raters = None, 0
    if matched is not None:  # the votes of all raters, in the order of the answers' items
        place, n_raters = places_of(answers.items, matched.ratings.items["item"]), matched.ratings.n_raters
        human = np.zeros((len(place), n_points), dtype=np.int64)
        human[place >= 0] = matched.ratings.counts()[place[place >= 0]]
    levels = ("nominal",) if published else ("nominal", "ordinal")
    found: list[tuple[object, ...]] = []

    def add(name: str, prompt: str, counts: Ints, n_models: int, n_raters: int) -> None:
        n_items = int(np.count_nonzero(counts.sum(axis=1) >= 2))
        found.extend(
            (name, prompt, level, krippendorff_alpha(counts, level), n_models, n_raters, n_items) for level in levels
        )

    for prompt in sorted({voice.prompt for voice in answers.voices}):
        for name, chosen in _sets(answers.voices, prompt, families):
            if name == WITH_HUMANS and human is None:
                continue
            own, at = state[:, chosen], point[:, chosen]
            columns = [np.count_nonzero((own == ANSWERED) & (at == p), axis=1) for p in range(n_points)]
            if published:
                columns += [np.count_nonzero(own == one, axis=1) for one in (REFUSED, UNREADABLE)]
            counts = np.stack(columns, axis=1).astype(np.int64)
            if name == WITH_HUMANS and human is not None:
                counts = counts + np.pad(human, ((0, 0), (0, counts.shape[1] - n_points)))
            add(name, prompt, counts, len(chosen), n_raters if name == WITH_HUMANS else 0)
    if human is not None:
        add(HUMANS, "", human, 0, n_raters)
    return pl.DataFrame(found, schema=ALPHAS, orient="row")


def _sets(
    voices: Sequence[Voice], prompt: str, families: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, list[int]]]:
    """Yield sets of voices that share a prompt: all, each family of two or more, and all with humans."""
    own = [v for v, voice in enumerate(voices) if voice.prompt == prompt]
    if len(own) > 1:
        yield ALL_MODELS, own
    for family, models in families.items():
        chosen = [v for v in own if voices[v].model in models]
        if len(chosen) > 1 and len(chosen) < len(own):
            yield family, chosen
    yield WITH_HUMANS, own


def guessed_families(models: Sequence[str], known: Mapping[str, str]) -> dict[str, list[str]]:
    """Return models by family: as a table says, otherwise by the letters with which their names begin.

    Examples
    --------
    >>> guessed_families(["gpt-4o", "gpt-3.5", "claude-4"], {})
    {'claude': ['claude-4'], 'gpt': ['gpt-3.5', 'gpt-4o']}
    """
    found: dict[str, list[str]] = {}
    for model in sorted(models):
        base = re.match(r"(?:.*/)?([^\W\d_]+)", model)
        found.setdefault(known.get(model) or (base[1].lower() if base else model), []).append(model)
    return dict(sorted(found.items()))


def between_prompts(answers: Answers) -> pl.DataFrame:
    """Return for every two prompts of a model how alike its answers are."""
    state, point = first_answers(answers)
    n_points = len(answers.scale)
    found = []
    for (v, one), (w, other) in itertools.combinations(enumerate(answers.voices), 2):
        if one.model != other.model:
            continue
        both = (state[:, v] == ANSWERED) & (state[:, w] == ANSWERED)
        pair = point[both][:, [v, w]]
        far = np.abs(pair[:, 0] - pair[:, 1])
        eye = np.eye(n_points)
        counts = eye[pair[:, 0]] + eye[pair[:, 1]]
        found.append((one.model, one.prompt, other.prompt, _mean(far == 0), _mean(far),
                      krippendorff_alpha(counts, "ordinal") if len(pair) else np.nan, len(pair)))  # fmt: skip
    return pl.DataFrame(found, schema=PROMPTS, orient="row")


def stability(answers: Answers) -> pl.DataFrame:
    """Return for each voice with repeated samples how alike they are: share of items with one answer, spread, alpha."""
    n_points, found = len(answers.scale), []
    repeated = np.unique(answers.voice[answers.sample != answers.sample.min(initial=0)])
    for v in repeated.tolist():
        model, prompt = answers.voices[v]
        own = (answers.voice == v) & (answers.state == ANSWERED)
        counts = np.bincount(
            answers.item[own].astype(np.int64) * n_points + answers.point[own], minlength=len(answers.items) * n_points
        ).reshape(-1, n_points)
        counts = counts[counts.sum(axis=1) > 1]
        if not len(counts):
            continue
        n, at = counts.sum(axis=1), np.arange(n_points)
        center = (counts @ at) / n
        spread = np.sqrt(np.maximum((counts @ at**2) / n - center**2, 0))
        found.append((model, prompt, int(n.max()), _mean(counts.max(axis=1) == n), _mean(spread),
                      krippendorff_alpha(counts, "ordinal"), len(counts)))  # fmt: skip
    return pl.DataFrame(found, schema=STABILITY, orient="row")


def positions(answers: Answers | AnsweredItems) -> pl.DataFrame:
    """Return how often each voice chose the option at each position, and a test that position does not matter.

    Options are shown in random order, so without position bias each position is chosen equally often: χ² with one
    degree of freedom fewer than options. Nothing where the order was always the same.
    """
    found: list[tuple[object, ...]] = []
    shown, order, n_points = answers.shown, answers.order, len(answers.scale)
    for v, (model, prompt) in enumerate(answers.voices):
        if shown is None or order is None:
            break
        own = (answers.voice == v) & (shown >= 0)
        if len(np.unique(order[own])) < 2:
            continue
        counts = np.bincount(shown[own], minlength=n_points)
        total = int(counts.sum())
        expected = total / n_points
        p = float(chdtrc(n_points - 1, float(((counts - expected) ** 2 / expected).sum())))
        found += [(model, prompt, at, n, n / total, 1 / n_points, p) for at, n in enumerate(counts.tolist(), 1)]
    return pl.DataFrame(found, schema=POSITIONS, orient="row")


# Compared with humans ------------------------------------------------------------------------------------------------


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


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
