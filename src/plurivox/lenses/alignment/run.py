"""One call of alignment: distances from all raters and each group, the closest groups, models among themselves."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import chdtrc

from plurivox.base.errors import SelectionError
from plurivox.domain.answer_columns import ANSWERED, REFUSED, UNREADABLE
from plurivox.domain.answers import Answers, Voice
from plurivox.domain.attributes import places_of
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale_files import GivenScale, as_scale
from plurivox.engine.pool import Running
from plurivox.engine.run import and_all
from plurivox.infer.call import Call
from plurivox.infer.claims import tells_unweighted
from plurivox.infer.grouping import Compared, Grouping
from plurivox.infer.inference import Inference
from plurivox.infer.intervals import percentile_interval
from plurivox.infer.lens import keywords
from plurivox.infer.result import Row, Table
from plurivox.infer.tables import typed
from plurivox.lenses.alignment import AlignmentSettings
from plurivox.lenses.alignment.closest import MISSED, Closest, corrected_leads, frames
from plurivox.lenses.alignment.matching import (
    ALL,
    BANDS,
    DISTANCES,
    ITEMS,
    AnsweredItems,
    AnswersLike,
    Ints,
    References,
    account_items,
    as_answers,
    distances,
    item_bands,
    item_table,
    match,
    on_scale,
    subsets_of,
)
from plurivox.lenses.alignment.result import Alignment
from plurivox.lenses.alignment.stand_ins import STAND_INS, StandIns, as_raters
from plurivox.lenses.alignment.sums import (
    REFERENCE,
    STATISTICS,
    Aligner,
    Codes,
    KernelAnswers,
    ShownGroup,
    mean_distances,
    vote_counts,
)
from plurivox.statistics.checks import Level, level_of, prior_of, usual_level
from plurivox.statistics.cohesion import krippendorff_alpha

# The rows of an alignment result --------------------------------------------------------------------------------------
# The rows of an alignment result: how far each voice is from all raters, subset by subset, and from each group.


@dataclass(frozen=True, slots=True, eq=False)
class VoiceDistances:
    """One call of :func:`plurivox.alignment`: what all of its axes share.

    Rows of ``reference`` answers are marked as such, and contain only distances.
    """

    aligner: Aligner
    level: Level
    bootstrap: int
    reference: bool = False

    def rows(self, compared: Compared | None = None) -> list[Row]:
        """Return the distances from the votes of each shown group, or, for all items and each subset, of all raters."""
        matched = self.aligner.matched
        if compared is None:
            n = len(matched.subsets)
            subsets = [(n + 1 if n else 0, ALL), *enumerate(matched.subsets)]
            everybody = [ShownGroup.everybody(matched.ratings.n_raters)]
            return self._rows(self.aligner.everybody(), 1, everybody, subsets, "all raters, resampling")
        rows = []
        for axis, shown in ShownGroup.shown(compared):
            rows += self._rows(axis.codes, len(axis), shown, [(0, ALL)], f"{axis.name}, resampling")
        return rows

    def _rows(
        self, codes: Codes, n_groups: int, shown: Sequence[ShownGroup], subsets: Sequence[tuple[int, str]], what: str
    ) -> list[Row]:
        """Return a row for each voice, group, subset and statistic."""
        from plurivox.kernels.alignment import ANSWERED, ITEMS

        aligner, matched = self.aligner, self.aligner.matched
        sums = aligner.distances(codes, n_groups, by_subset=len(subsets) > 1)
        finish, observed = partial(mean_distances, matched.top), sums.totals()
        whole, values = and_all(observed)[0], finish(observed)[0]
        xrr = None if self.reference else aligner.xrr(codes, n_groups, self.level)
        more = matched.subset, len(matched.subsets) + 1
        votes = aligner.added(vote_counts, KernelAnswers.of(matched), codes, n_groups, *more)["votes"][0]
        how = aligner.how.doing(what)
        how.tell(0, 1)
        draws = sums.resampled(self.bootstrap, aligner.seed, finish, how)
        interval = percentile_interval(draws) if len(draws) > 1 else None
        rows = []
        for v, (model, prompt) in enumerate(matched.voices):
            for g, axis, group, n_raters in shown:
                kind = REFERENCE if self.reference else "voice" if axis == ALL else "group"
                for part, subset in subsets:
                    n, answered = (round(float(whole[part, v, g, at])) for at in (ITEMS, ANSWERED))
                    given = votes[:, g].sum() if subset == ALL else votes[part, g]
                    base = Row(
                        kind, axis, group, "", math.nan, n_raters=n_raters, n_items=n, n_ratings=round(float(given)),
                        subset=subset, model=model, prompt=prompt,
                        note="" if n == answered else f"answered {answered:,} of {n:,} items",
                    )  # fmt: skip
                    for at, statistic in enumerate(STATISTICS):
                        row = _with(base, statistic, float(values[part, v, g, at]))
                        if interval is not None and not math.isnan(row.value) and n > 1:
                            low, high, undefined = (float(end[part, v, g, at]) for end in interval)
                            row = row.with_interval(low, high, undefined / self.bootstrap)
                        rows.append(row)
                    if subset == ALL and xrr is not None:
                        rows.append(_with(base, "xrr", float(xrr[v, g])))
        return rows


def _with(base: Row, statistic: str, value: float) -> Row:
    """Return a row with a value, or with why it is undefined."""
    row = replace(base, statistic=statistic, value=value)
    if not math.isnan(value):
        return row
    why = "no item has both votes and an answer" if base.n_items == 0 else "no answer can be read"
    return row.with_note("expected disagreement is 0, or no item has both" if statistic == "xrr" else why)


# Models among themselves: agreement, prompts, samples, position bias --------------------------------------------------

ALL_MODELS, WITH_HUMANS, HUMANS = "all models", "all models and humans", "humans"
ALPHAS = typed("models prompt level value n_models n_raters n_items")
PROMPTS = typed("model prompt other same distance alpha n_items")
STABILITY = typed("model prompt n_samples same spread alpha n_items")
POSITIONS = typed("model prompt position n share expected p_value")


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


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


# Models without human ratings -----------------------------------------------------------------------------------------


def without_humans(given: AnswersLike, scale: GivenScale | None, settings: AlignmentSettings) -> Alignment:
    """Return what answers show about models alone: accounts, agreement, prompts, repeated answers and positions.

    Answers that were read before have a scale; others are put on the one given.
    """
    if isinstance(given, Answers):
        answers = given
    elif scale is None:
        hint = 'Give it: scale="1:5" or scale=["No", "Yes"] (--scale).'
        raise SelectionError("without ratings, the scale of the answers is unknown", hint=hint)
    else:
        answers = on_scale(given, as_scale(scale))
    if settings.by:
        raise SelectionError("by needs human ratings, and there are none", hint="Give ratings, or leave out by.")
    items = pl.DataFrame({"item": answers.items}).with_columns(
        () if answers.attributes is None else answers.attributes.drop("item", strict=False)
    )
    subsets, subset_of = subsets_of(items, settings.subset)
    everything = np.ones(len(answers.items), dtype=bool)
    accounts = account_items(answers, answers.item.astype(np.int64), everything, subsets, subset_of)
    told = {
        **settings.as_dict(), "by": [], "several": {}, "voices": [list(voice) for voice in answers.voices],
        "references": [], "labels": [str(label) for label in answers.scale.labels],
        "values": list(answers.scale.values), "subsets": list(subsets), "n_items": len(answers.items),
        "n_unrated": 0, "n_elsewhere": answers.n_elsewhere,
        "n_unsorted": int(np.count_nonzero(subset_of == len(subsets))) if subsets else 0, "n_raters": 0,
        "humans": False, "design": {},
    }  # fmt: skip
    tables = _tables(accounts, frames([], [], {}), pl.DataFrame(schema=STAND_INS), answers, None, settings)
    return Alignment((), {}, {}, (), told, tables)


# The call -------------------------------------------------------------------------------------------------------------


@keywords(AlignmentSettings, weights=True)
def alignment(
    ratings: Ratings | None, answers: AnswersLike, *, trained: Ratings | None = None, scale: GivenScale | None = None,
    settings: AlignmentSettings, how: Running,
) -> Alignment:  # fmt: skip
    """Find out whose view language models reflect, and how sure that is.

    Distances are in points of the scale; lower is closer. A refused or unreadable answer costs the whole scale in
    ``ada_met`` and ``voter_distance``, and is left out of ``ada_met_answered`` and ``expected_emd``; a failed or
    missing one is never charged. ``accounts()`` counts all of them.

    Parameters
    ----------
    ratings
        Who rated what, or counts per point (then without groups). None if there are no human ratings: the result then
        only shows what became of the questions, and how far models agree with each other and with themselves.
    answers
        A frame with ``model``, ``item`` and ``answer`` (or ``point``, ``text`` or a distribution), and ``prompt``,
        ``sample``, ``state``, ``order``, ``family`` if there are any; a store of ``plurivox ask``; or :class:`Answers`.
    trained
        Trained raters against whom models are judged as raters (MPA, WRA); without them, models are judged against all
        raters and each group.
    scale
        Without ratings, the points that the answers are on, unless they are :class:`Answers`.

    Returns
    -------
    Alignment
        With ``to_frame()``, ``findings()``, ``accounts()``, ``closest()``, ``standings()``, ``contrasts()``,
        ``alphas()``, ``stand_ins()``, ``prompts()``, ``stability()``, ``positions()``, ``distances()``, ``items()``,
        ``bands()`` and ``to_json()``.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=100, n_raters=60, seed=1)
    >>> found = pv.alignment(study.ratings, study.answers, bootstrap=0, permutations=0, subsamples=0)
    >>> round(found.value("model-a"), 2) < round(found.value("model-c"), 2)
    True
    """
    if ratings is None:
        if trained is not None:
            raise SelectionError("trained raters need rated items, and there are no ratings", hint="Give ratings.")
        return without_humans(answers, scale, settings)
    settings = replace(settings, level=usual_level(settings.level, len(ratings.scale)))
    if ratings.weights is not None:  # they add up without rounding, so that tied votes tie in any order
        ratings = ratings.with_known(weights=np.round(ratings.weights * 2.0**30) / 2.0**30)
    given = as_answers(answers, ratings)
    matched = match(ratings, given, settings.subset)
    call = Call.of(ratings, settings, how, answered=np.diff(matched.rows) > 0)
    axes, inference = call.axes, call.inference
    prior, level = prior_of(settings.prior, matched.top + 1), level_of(settings.level, matched.top + 1)
    aligner, references = Aligner(matched, prior, settings.seed, how), References.of(matched, settings.seed)
    beside = replace(aligner, matched=references.matched)
    works = [VoiceDistances(aligner, level, settings.bootstrap),
             VoiceDistances(beside, level, settings.bootstrap, reference=True)]  # fmt: skip
    rows = [row for one in (None, *axes) for work in works for row in work.rows(one)]
    if tells_unweighted(ratings, settings.min_group_size):
        rows = _with_unweighted(rows, works, axes)
    closest, adjusted = _closest(aligner, axes, inference, settings)
    if settings.as_rater:
        rows += as_raters(aligner, [one for one in axes if not one.overlapping], trained, settings.threshold)
    values = {(row.model, row.prompt, row.axis, row.group, row.statistic): row.value for row in rows}
    each = [one.rows(inference, p) for one, p in zip(closest, adjusted, strict=True)]
    rows += [row for own, _ in each for row in own]
    stand_ins = StandIns(aligner, references, level, settings.tolerance).table()
    near = frames(closest, [row for _, own in each for row in own], values)
    return Alignment(
        rows=tuple(rows),
        draws=tuple(one.draws() for one in closest),
        tables=_tables(matched.accounts, near, stand_ins, given, matched, settings),
        **call.kept(
            by=[one.axis.name for one in axes],
            level=settings.level if isinstance(settings.level, str) else "matrix", prior=prior.tolist(),
            voices=[list(voice) for voice in matched.voices],
            references=[voice.model for voice in references.matched.voices],
            labels=[str(label) for label in ratings.scale.labels], values=list(ratings.scale.values),
            subsets=list(matched.subsets), n_items=int(np.count_nonzero(np.diff(matched.rows))),
            n_unrated=matched.n_unrated,
            n_elsewhere=given.n_elsewhere, n_unsorted=matched.n_unsorted, n_raters=ratings.n_raters,
            humans=True, design=inference.remembered(),
        ),
    )  # fmt: skip


def _with_unweighted(rows: Sequence[Row], works: Sequence[VoiceDistances], axes: Sequence[Compared]) -> list[Row]:
    """Return rows with their values where all raters count equally, which are made in the same order."""
    alike = []
    for work in works:
        matched = replace(work.aligner.matched, ratings=work.aligner.matched.ratings.unweighted())
        alike.append(replace(work, aligner=replace(work.aligner, matched=matched), bootstrap=0))
    plain = (row for one in (None, *axes) for work in alike for row in work.rows(one))
    return [replace(row, unweighted=other.value) for row, other in zip(rows, plain, strict=True)]


def _closest(
    aligner: Aligner, axes: Sequence[Compared], inference: Inference, settings: AlignmentSettings
) -> tuple[list[Closest], NDArray[np.float64]]:
    """Compare the groups of each axis, and shuffle raters until it is clear which leads are more than chance.

    Only of axes whose groups may be called the closest. Also return the corrected p-values of leads, axes × voices.
    """
    ratings, found = aligner.matched.ratings, []
    own = [one.axis for one in axes
           if len(one.axis.shown) > 1 and not one.overlapping and one.axis.attributes != ("rater",)]  # fmt: skip
    level = float((1 - MISSED) ** (1 / max(len(aligner.matched.voices) * len(own), 1)))  # together, after Šidák
    for axis in own:
        inference.check(ratings, axis.name, Grouping.of(ratings, axis.codes, len(axis), inference.exchange.strata))
        found.append(Closest.of(aligner, axis, inference, settings, level))

    p = inference.decide([one.tested for one in found], lambda: corrected_leads(found, settings.correction).ravel())
    return found, p.reshape(len(found), -1) if len(p) else corrected_leads(found, settings.correction)


def _tables(
    accounts: pl.DataFrame, closest: Mapping[str, pl.DataFrame], stand_ins: pl.DataFrame, answers: Answers,
    matched: AnsweredItems | None, settings: AlignmentSettings,
) -> tuple[Table, ...]:  # fmt: skip
    """Return the finer tables; those that need votes are empty without any."""
    families: Any = settings.families
    if families is None:
        families = guessed_families(answers.models, answers.families)
    of_votes = {
        "distances": (distances, DISTANCES), "items": (item_table, ITEMS),
        "bands": (item_bands, BANDS),
    }  # fmt: skip
    found = {
        "accounts": accounts,
        **closest,
        "alphas": alphas(answers, matched, families, published=settings.convention == "published"),
        "stand ins": stand_ins,
        "prompts": between_prompts(answers),
        "stability": stability(answers),
        "positions": positions(answers if matched is None else matched),
        **{name: pl.DataFrame(schema=schema) if matched is None else made(matched)
           for name, (made, schema) in of_votes.items()},
    }  # fmt: skip
    return tuple(Table(name, frame) for name, frame in found.items())
