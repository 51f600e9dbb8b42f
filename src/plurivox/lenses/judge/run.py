"""One call of the judge card: what a team needs to know about a model before trusting it as a judge."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from plurivox.base.errors import SelectionError, few
from plurivox.domain.answer_columns import ANSWERED
from plurivox.domain.answers import Answers
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import few_points
from plurivox.domain.scale_names import poles_in
from plurivox.engine.pool import Running
from plurivox.infer.call import Call
from plurivox.infer.claims import tells_unweighted
from plurivox.infer.families import adjust
from plurivox.infer.intervals import wilson
from plurivox.infer.jackknife import LeftOut
from plurivox.infer.lens import keywords
from plurivox.infer.result import Row, Table
from plurivox.lenses.alignment.matching import (
    ALL,
    N_RANDOM,
    AnsweredItems,
    AnswersLike,
    Floats,
    References,
    as_answers,
    match,
)
from plurivox.lenses.alignment.stand_ins import StandIns
from plurivox.lenses.alignment.sums import Aligner
from plurivox.lenses.judge.biases import PLACES, Saving, bias_rows, corrected, position_bias
from plurivox.lenses.judge.result import CARD, JudgeCard
from plurivox.lenses.judge.settings import NAMES, JudgeSettings
from plurivox.lenses.judge.sums import (
    LEAST_TESTED,
    RESAMPLED,
    Agreements,
    agreement_of_shares,
    constant_distances,
    finished_agreements,
    left_out,
    shares_of,
)
from plurivox.lenses.judge.verdicts import check as check_requirements
from plurivox.statistics.checks import Level, level_of, usual_level
from plurivox.statistics.cohesion.parts import percent_agreement_parts

# Agreement with raters and distance from them, for models, two raters, constants and draws from all votes -------------

TESTED = {"agreement": "agreement", "half_gap": "relative", "lead": "lead"}
"""Values that are tested against 0, corrected together over all models, and the quantity that gets the p-value."""
_SCALES = {"agreement": "fisher", "human_agreement": "complement"}
Cells = dict[str, dict[str, Any]]
"""Cells of the card by quantity."""


def agreements_of(matched: AnsweredItems, level: Level, resample: str, how: Running) -> list[Cells]:
    """Return agreement, relative agreement, distance and lead of each voice; ``same`` is how often two raters agree."""
    at = np.arange(matched.top + 1, dtype=float)
    by_name = 1.0 - np.eye(len(at)) if level == "nominal" else np.abs(at[:, np.newaxis] - at)
    work = Agreements.of(matched, by_name if isinstance(level, str) else level)
    finish = partial(finished_agreements, level, work.values, len(work.weights) > 0)
    sums, left = left_out(matched, work, finish, how, resample)
    few = sums["far"][0, :, 1:2] < LEAST_TESTED
    p = np.where(few, np.nan, left.p_value()[:, [RESAMPLED.index(name) for name in TESTED]])
    ranges = [(-1.0, 1.0) if name == "agreement" else (-math.inf, math.inf) for name in RESAMPLED]
    low, high, _ = left.interval([_SCALES.get(name, "plain") for name in RESAMPLED], ranges)
    shares = shares_of(sums["other"][0])
    drawn, *constants = (
        agreement_of_shares(sums, np.broadcast_to(one, shares.shape), level, work.values)
        for one in (shares, *np.eye(len(at)))
    )
    beside = [{"constant": most, "marginal": mean} for most, mean in zip(np.fmax.reduce(constants), drawn, strict=True)]
    ends, tests = np.stack([left.observed, low, high], axis=-1), np.stack([p, adjust(p, "holm")], axis=-1)
    labels = [str(label) for label in matched.scale.labels]
    return [
        _cells(ends[v].tolist(), tests[v].tolist(), not sums["far"][0, v, 1], labels, far, beside[v], shares[v])
        for v, far in enumerate(constant_distances(sums)[0])
    ]


def _cells(
    ends: list[list[float]], tests: list[list[float]], nothing: bool, labels: list[str], far: Floats,
    beside: dict[str, Any], shares: Floats,
) -> Cells:  # fmt: skip
    """Return the cells of a voice, from its values with their intervals, and p-values alone and corrected."""
    of = dict(zip(RESAMPLED, ends, strict=True))
    own = {name: dict(zip(("value", "ci_low", "ci_high"), one, strict=True)) for name, one in of.items()}
    humans = {name: dict(zip(("humans", "humans_low", "humans_high"), one, strict=True)) for name, one in of.items()}
    tested = {
        name: dict(zip(("p_value", "p_adjusted"), pair, strict=True))
        for name, pair in zip(TESTED.values(), tests, strict=True)
    }
    best = {"constant_answer": "" if np.isnan(far).all() else labels[int(np.nanargmin(far))]}
    flat = {"constant": of["constant_distance"][0], "marginal": of["marginal_distance"][0]}
    told: Cells = {
        "agreement": own["agreement"] | humans["human_agreement"] | tested["agreement"] | beside,
        "relative": own["relative"] | tested["relative"],
        "distance": own["distance"] | humans["human_distance"] | flat | best,
        "lead": own["lead"] | tested["lead"] | best,
    }
    for name, cells in told.items():
        cells["note"] = ""
        if math.isnan(cells["value"]):
            cells["note"] = (
                "no item has both a rating and a readable answer" if nothing
                else "expected disagreement is 0" if name == "agreement"
                else "no item has two ratings, or ratings do not vary" if math.isnan(of["human_agreement"][0])
                else "raters do not agree with each other beyond chance"
            )  # fmt: skip
    return told | {"same": humans["same"] | {"marginal": float((shares**2).sum())}}


# The call -------------------------------------------------------------------------------------------------------------


@keywords(JudgeSettings, weights=True)
def judge(ratings: Ratings, answers: AnswersLike, *, settings: JudgeSettings, how: Running) -> JudgeCard:
    """Weigh the case for and against trusting a language model as a judge.

    For every model: agreement with raters, compared with that of raters with each other, of constant answers and of
    answers drawn from all votes; the alternative annotator test; bias for all raters, groups and parts of the items;
    position bias; self-consistency; refusals; what its answers are worth in human ratings; and a verdict.

    Parameters
    ----------
    ratings
        Who rated what, or counts per point (then without groups, and without the test of standing in).
    answers
        As for :func:`plurivox.alignment`: a frame with ``model``, ``item`` and ``answer``, a store of ``plurivox ask``,
        or :class:`Answers`. Repeated ``sample`` values show self-consistency, ``order`` shows position bias.

    Returns
    -------
    JudgeCard
        With ``card()``, ``biases()``, ``places()``, ``verdicts()``, ``requirements()``, ``passed``, ``findings()``,
        ``to_frame()`` and ``to_json()``.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=100, n_raters=40, seed=1)
    >>> found = pv.judge(study.ratings, study.answers, require="agreement.low>0.2")
    >>> found.value("model-a", "agreement") > found.value("model-c", "agreement")
    True
    """
    few_points(ratings.scale, "a judge card")
    settings = replace(settings, level=usual_level(settings.level, len(ratings.scale)))
    if any("rater" in axis for axis in settings.by):
        raise SelectionError(
            "a judge is compared with groups of raters, not with each rater", hint="Leave 'rater' out of by."
        )
    given = _chosen(as_answers(answers, ratings), settings.models)
    matched = match(ratings, given, settings.subset)
    call = Call.of(ratings, settings, how, answered=np.diff(matched.rows) > 0)
    tables = _tables(call, matched, given, level_of(settings.level, matched.top + 1))
    card, biases = tables["card"], tables["biases"]
    tables["requirements"] = check_requirements(settings.require, card, biases)
    return JudgeCard(
        rows=tuple(_rows(card, biases, ratings)),
        draws=(),
        tables=tuple(Table(name, frame) for name, frame in tables.items()),
        **call.kept(
            require=list(settings.require), by=[one.axis.name for one in call.axes],
            level=settings.level if isinstance(settings.level, str) else "matrix",
            voices=[list(voice) for voice in matched.voices], subsets=list(matched.subsets),
            labels=[str(label) for label in ratings.scale.labels], poles=poles_in(ratings.scale),
            values=[float(value) for value in ratings.scale.values],
            n_items=int(np.count_nonzero(np.diff(matched.rows))), n_unrated=matched.n_unrated,
            n_raters=ratings.n_raters if ratings.has_raters else 0,
        ),
    )  # fmt: skip


def _chosen(answers: Answers, models: Sequence[str] | None) -> Answers:
    """Return the answers of some models, or raise if there are none."""
    if models is None:
        return answers
    for name in models:
        if name not in answers.models:
            raise SelectionError(f"no model is called {name!r}; the models are: {few(answers.models)}")
    voices = [v for v, voice in enumerate(answers.voices) if voice.model in models]
    place = np.full(len(answers.voices), -1, dtype=np.int32)
    place[voices] = np.arange(len(voices))
    own = place[answers.voice] >= 0

    def some(array: Any) -> Any:
        return None if array is None else array[own]

    return replace(
        answers, voices=tuple(answers.voices[v] for v in voices), voice=place[answers.voice[own]],
        **{name: some(getattr(answers, name))
           for name in ("item", "sample", "state", "point", "shares", "shown", "order")},
        readings=None if answers.readings is None else answers.readings.filter(own),
    )  # fmt: skip


def _tables(call: Call, matched: AnsweredItems, answers: Answers, level: Level) -> dict[str, pl.DataFrame]:
    """Return the card, with all quantities of all models, and the tables behind it."""
    settings, how, ratings, voices = call.settings, call.inference.how, matched.ratings, matched.voices
    choices = [position_bias(answers, v, settings.seed) for v in range(len(voices))]
    rows = bias_rows(matched, call.axes, how.doing("bias"), settings.resample)
    biases, liked = corrected(rows, [cells["p_value"] for cells, _ in choices])
    saving = Saving.of(ratings, answers, settings.resample)
    plain: list[dict[str, float]] = [{} for _ in voices]
    if tells_unweighted(ratings, settings.min_group_size):
        alike = replace(matched, ratings=ratings.unweighted())
        values = [row["value"] for row in bias_rows(alike, call.axes, how, "none")]
        biases = biases.with_columns(unweighted=pl.Series(values, dtype=pl.Float64))
        plain = [
            {name: own[name]["value"] for name in ("agreement", "relative", "distance", "lead")}
            | {"bias": _whole(biases, voices[v])["unweighted"], "worth": saving.alike(v)}
            for v, own in enumerate(agreements_of(alike, level, "none", how))
        ]
    aligner = Aligner(matched, np.ones(matched.top + 1), settings.seed, how)
    stand_ins = StandIns(aligner, References.of(matched, settings.seed), level, settings.tolerance).table()
    card: list[dict[str, Any]] = []
    for v, agreements in enumerate(agreements_of(matched, level, settings.resample, how.doing("agreement"))):
        account = matched.accounts.row(by_predicate=_is(*voices[v]) & (pl.col("subset") == ALL), named=True)
        own = {
            **agreements, **_standing(stand_ins, matched, v), **_biased(biases, voices[v]),
            "position_bias": choices[v][0] | {"p_adjusted": float(liked[v])},
            "consistency": _consistent(answers, v, agreements["same"]), **_shares(account), "worth": saving.saved(v),
        }  # fmt: skip
        usual = {"model": voices[v].model, "prompt": voices[v].prompt, "scored": account["answered"],
                 "of": account["n_items"], "note": ""}  # fmt: skip
        card += [
            dict.fromkeys(CARD) | usual | {"quantity": name} | own[name]
            | ({"unweighted": plain[v].get(name)} if plain[v] else {})
            for name in NAMES
        ]  # fmt: skip
    schema = CARD | ({"unweighted": pl.Float64} if any(plain) else {})
    frame = pl.DataFrame([tuple(row[name] for name in schema) for row in card], schema=schema, orient="row")
    numbers = [name for name, kind in schema.items() if kind == pl.Float64 and name != "value"]
    places = [(*voice, *row) for voice, (_, own) in zip(voices, choices, strict=True) for row in own]
    return {
        "card": frame.with_columns(pl.col(numbers).fill_nan(None)), "biases": biases,
        "places": pl.DataFrame(places, schema=PLACES, orient="row"), "stand ins": stand_ins,
    }  # fmt: skip


# Other quantities -----------------------------------------------------------------------------------------------------


def _is(model: str, prompt: str) -> pl.Expr:
    return (pl.col("model") == model) & (pl.col("prompt") == prompt)


def _standing(frame: pl.DataFrame, matched: AnsweredItems, v: int) -> Cells:
    """Return ω and ρ of a voice with those of the best constant, and the mean ρ of a draw from all votes."""
    if frame.is_empty():
        nothing = {"value": math.nan, "note": "it is not known who rated what"}
        return {"omega": nothing, "advantage": nothing}
    one = frame.row(by_predicate=_is(*matched.voices[v]) & ~pl.col("reference"), named=True)
    constants = frame.filter("reference").head(-N_RANDOM)
    asked, drawn = np.flatnonzero(np.diff(matched.rows)), None
    if constants.height > matched.top and len(np.unique(matched.item[matched.voice == v])) >= len(asked):
        # All have the same items: ρ of a draw from all votes is that of constants, weighted by votes.
        votes = matched.ratings.counts()[asked].sum(axis=0)
        drawn = float(constants["advantage"].to_numpy() @ votes / votes.sum())
    rest = {"note": one["why"] if math.isnan(one["omega"]) else ""}
    best = float(np.fmax.reduce(constants["omega"].to_numpy(), initial=math.nan))
    return {
        "omega": {"value": one["omega"], "constant": best, **rest},
        "advantage": {"value": one["advantage"], "constant": one["constant_advantage"], "marginal": drawn,
                      "p_value": one["p_value"], "p_adjusted": one["p_adjusted"], "constant_answer": one["constant"],
                      **rest},
    }  # fmt: skip


def _consistent(answers: Answers, v: int, same: dict[str, Any]) -> dict[str, Any]:
    """Return how often two answers of a voice to the same question are the same, with a jackknife over items."""
    n_points = len(answers.scale)
    own = (answers.voice == v) & (answers.state == ANSWERED)
    cell = answers.item[own].astype(np.int64) * n_points + answers.point[own]
    counts = np.bincount(cell, minlength=len(answers.items) * n_points).reshape(-1, n_points)
    values = percent_agreement_parts(counts[counts.sum(axis=1) > 1])[:, 0]
    n, asked = len(values), int((counts.sum(axis=1) > 0).sum())
    cells = {**same, "constant": 1.0, "scored": n, "of": asked, "ci_low": math.nan, "ci_high": math.nan}
    if not n:
        return {**cells, "value": math.nan, "note": "no item has two answers: ask for several samples"}
    if n > 1:
        without = ((values.sum() - values) / (n - 1)).reshape(n, 1, 1)
        low, high, _ = LeftOut(values.mean().reshape(1, 1), (without,)).interval(["logit"], [(0.0, 1.0)])
        cells |= {"ci_low": float(low[0, 0]), "ci_high": float(high[0, 0])}
    return {**cells, "value": float(values.mean())}


def _shares(account: dict[str, Any]) -> Cells:
    """Return the shares of items that a voice answered, refused or answered unreadably."""
    asked = sum(account[name] for name in ("answered", "refused", "unreadable"))
    silent = ", ".join(f"{account[name]:,} {name}" for name in ("failed", "missing") if account[name])
    note = "it was asked about no item" if not asked else f"left out: {silent}" if silent else ""
    found = {}
    for name in ("answered", "refused", "unreadable"):
        share = account[name] / asked if asked else math.nan
        low, high = wilson(share, asked) if asked else (math.nan, math.nan)
        found[name] = {"value": share, "ci_low": low, "ci_high": high, "scored": account[name], "of": asked,
                       "note": note}  # fmt: skip
    return found


def _whole(biases: pl.DataFrame, voice: Sequence[str]) -> dict[str, Any]:
    """Return the bias for all raters and items."""
    everything = (pl.col("axis") == ALL) & (pl.col("subset") == ALL)
    return biases.row(by_predicate=_is(*voice) & everything, named=True)


def _biased(biases: pl.DataFrame, voice: Sequence[str]) -> Cells:
    """Return the bias for all raters and items, and the largest of all that are shown."""
    whole = _whole(biases, voice)
    largest: dict[str, Any] = {"value": math.nan}
    far = biases.filter(_is(*voice), pl.col("value").is_not_nan()).sort(pl.col("value").abs(), descending=True)
    names = ("value", "ci_low", "ci_high", "p_value", "p_adjusted", "humans_low", "humans_high", "note")
    for one in far.head(1).iter_rows(named=True):
        where = one["subset"] if one["axis"] == ALL and one["subset"] != ALL else one["group"]
        largest = {"value": abs(one["value"]), "scored": one["n_items"], "note": "" if where == ALL else f"of {where}"}
    return {"bias": {name: whole[name] for name in names}, "largest_bias": {"note": whole["note"], **largest}}


def _rows(card: pl.DataFrame, biases: pl.DataFrame, ratings: Ratings) -> Iterator[Row]:
    """Yield a row for each quantity of a model, and for each bias other than the overall one."""
    n_raters = ratings.n_raters if ratings.has_raters else 0
    names: tuple[str, ...] = ("value", "ci_low", "ci_high", "p_value", "p_adjusted", "note", "model", "prompt")
    names += ("unweighted",) if "unweighted" in card.columns else ()
    for one in card.iter_rows(named=True):
        known: Any = {name: one[name] for name in names}
        if one["quantity"] == "relative":  # which is tested against one half, while rows are tested against chance
            known |= {"p_value": None, "p_adjusted": None}
        yield Row("voice", ALL, ALL, one["quantity"], n_raters=n_raters, n_items=one["scored"], **known)
    for one in biases.iter_rows(named=True):
        if (one["axis"], one["subset"]) != (ALL, ALL):
            known = {name: one[name] for name in (*names, "n_raters", "n_items", "subset")}
            yield Row("group", one["axis"], one["group"], "bias", claim=one["biased"], **known)
