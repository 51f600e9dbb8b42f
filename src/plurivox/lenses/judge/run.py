"""One call of the judge card: what a team needs to know about a model before trusting it as a judge."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from plurivox.base.errors import SelectionError, few
from plurivox.domain.answer_columns import ANSWERED
from plurivox.domain.answers import Answers
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import few_points
from plurivox.domain.scale_names import poles_in
from plurivox.engine.pool import Running
from plurivox.engine.run import Sums
from plurivox.infer.call import Call
from plurivox.infer.families import adjust
from plurivox.infer.grouping import Compared
from plurivox.infer.intervals import Interval, wilson
from plurivox.infer.jackknife import LeftOut, number_of_blocks
from plurivox.infer.keywords import keywords
from plurivox.infer.result import Row, Table
from plurivox.infer.weighting import tells_unweighted
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
from plurivox.lenses.alignment.stand_ins import Closeness, StandIns
from plurivox.lenses.alignment.sums import Aligner
from plurivox.lenses.judge.biases import PLACES, Biases, PositionChoices, Saving, corrected, position_bias
from plurivox.lenses.judge.quantities import NAMES
from plurivox.lenses.judge.result import CARD, JudgeCard
from plurivox.lenses.judge.settings import JudgeSettings
from plurivox.lenses.judge.sums import (
    LEAST_TESTED,
    RESAMPLED,
    AgreementFinish,
    Agreements,
    AnswersByItem,
    agreement_of_shares,
    constant_distances,
    left_out,
    shares_of,
    weights_of,
)
from plurivox.lenses.judge.verdicts import check as check_requirements
from plurivox.statistics.checks import Level, level_of, usual_level
from plurivox.statistics.cohesion.parts import percent_agreement_parts

# Agreement with raters and distance from them, for models, two raters, constants and draws from all votes -------------

TESTED = {"agreement": "agreement", "half_gap": "relative", "lead": "lead"}
"""Values that are tested against 0, corrected together over all models, and the quantity that gets the p-value."""
_SCALES = {"agreement": "fisher", "human_agreement": "complement"}
_AT = {name: place for place, name in enumerate(RESAMPLED)}
Cells = dict[str, dict[str, Any]]
"""Cells of the card by quantity."""


class AgreementSums(NamedTuple):
    """Sums over all items, values without each unit, and what follows from them."""

    sums: Sums
    left: LeftOut
    interval: Interval
    p_value: Floats
    p_adjusted: Floats

    def cells(self, v: int, name: str) -> dict[str, Any]:
        """Return a value of a voice with its interval, or why there is none."""
        at, value = _AT[name], float(self.left.observed[v, _AT[name]])
        why = self._undefined(v, name) if math.isnan(value) else ""
        ends = {"ci_low": float(self.interval.low[v, at]), "ci_high": float(self.interval.high[v, at])}
        return {"value": value, **ends, "note": why}

    def _undefined(self, v: int, name: str) -> str:
        """Say why a value is undefined."""
        if not self.sums["far"][0, v, 1]:
            return "no item has both a rating and a readable answer"
        if name == "agreement":
            return "expected disagreement is 0"
        if math.isnan(self.left.observed[v, _AT["human_agreement"]]):
            return "no item has two ratings, or ratings do not vary"
        return "raters do not agree with each other beyond chance"

    def humans(self, v: int, name: str) -> dict[str, Any]:
        """Return a value of raters with its interval."""
        own = self.cells(v, name)
        return {"humans": own["value"], "humans_low": own["ci_low"], "humans_high": own["ci_high"]}

    def tested(self, v: int, name: str) -> dict[str, Any]:
        """Return the p-values of a quantity, alone and corrected over models."""
        at = list(TESTED.values()).index(name)
        return {"p_value": float(self.p_value[v, at]), "p_adjusted": float(self.p_adjusted[v, at])}


def agreements_of(matched: AnsweredItems, level: Level, resample: str, how: Running) -> list[Cells]:
    """Return agreement, relative agreement, distance and lead of each voice; ``same`` is how often two raters agree."""
    ratings, n_points = matched.ratings, matched.top + 1
    values = np.array(ratings.scale.values, dtype=float)
    blocks = number_of_blocks(ratings.parts())
    n_raters = ratings.n_raters if ratings.has_raters else 0
    weights = weights_of(ratings)
    work = Agreements(AnswersByItem.of(matched), values, n_raters, blocks, apart(level, n_points), weights=weights)
    sums, left = left_out(matched, work, AgreementFinish(level, values, len(weights) > 0), how, resample)
    few = sums["far"][0, :, 1:2] < LEAST_TESTED
    raw = np.where(few, np.nan, left.p_value()[:, [_AT[name] for name in TESTED]])
    found = AgreementSums(sums, left, _interval(left), raw, adjust(raw, "holm"))
    shares = shares_of(sums["other"][0])
    drawn = agreement_of_shares(sums, shares, level, values)
    constants = [
        agreement_of_shares(sums, np.broadcast_to(one, shares.shape), level, values) for one in np.eye(n_points)
    ]
    return [
        _cells(found, v, largest(np.array([one[v] for one in constants])), float(drawn[v]), shares[v], _labels(matched))
        for v in range(len(matched.voices))
    ]


def _cells(found: AgreementSums, v: int, constant: float, marginal: float, shares: Floats, labels: list[str]) -> Cells:
    far = constant_distances(found.sums)[0, v]
    best = "" if np.isnan(far).all() else labels[int(np.nanargmin(far))]
    flat, drawn = (found.cells(v, name)["value"] for name in ("constant_distance", "marginal_distance"))
    return {
        "agreement": {**found.cells(v, "agreement"), **found.humans(v, "human_agreement"),
                      **found.tested(v, "agreement"), "constant": constant, "marginal": marginal},
        "relative": {**found.cells(v, "relative"), **found.tested(v, "relative")},
        "distance": {**found.cells(v, "distance"), **found.humans(v, "human_distance"), "constant": flat,
                     "constant_answer": best, "marginal": drawn},
        "lead": {**found.cells(v, "lead"), **found.tested(v, "lead"), "constant_answer": best},
        "same": {**found.humans(v, "same"), "marginal": float((shares**2).sum())},
    }  # fmt: skip


def _labels(matched: AnsweredItems) -> list[str]:
    return [str(label) for label in matched.scale.labels]


def _interval(left: LeftOut) -> Interval:
    scales = [_SCALES.get(name, "plain") for name in RESAMPLED]
    return left.interval(scales, [(-1.0, 1.0) if name == "agreement" else (-math.inf, math.inf) for name in RESAMPLED])


def apart(level: Level, n_points: int) -> Floats:
    """Return how far apart two points are: positions, or 0 and 1 on the nominal level, or a matrix itself."""
    if not isinstance(level, str):
        return level
    at = np.arange(n_points, dtype=float)
    return 1.0 - np.eye(n_points) if level == "nominal" else np.abs(at[:, np.newaxis] - at)


def largest(values: Floats) -> float:
    """Return the largest of some values, NaN if none are defined."""
    return math.nan if np.isnan(values).all() else float(np.nanmax(values))


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
    work = Carding(matched, given, level_of(settings.level, matched.top + 1), settings, how)
    made = work.made(call.axes)
    card = _card(made.rows)
    tables = {
        "card": card, "biases": made.biases, "places": made.places, "stand ins": made.stand_ins,
        "requirements": check_requirements(settings.require, card, made.biases),
    }  # fmt: skip
    return JudgeCard(
        rows=tuple(_rows(card, made.biases, ratings)),
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


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """Rows of the card as dictionaries, and the finer tables."""

    rows: list[dict[str, Any]]
    biases: pl.DataFrame
    places: pl.DataFrame
    stand_ins: pl.DataFrame


@dataclass(frozen=True, slots=True, eq=False)
class Carding:
    """One call: what its quantities share."""

    matched: AnsweredItems
    answers: Answers
    level: Level
    settings: JudgeSettings
    how: Running

    def made(self, axes: Sequence[Compared]) -> Made:
        """Return all quantities of all models, and the tables behind them."""
        matched, seed = self.matched, self.settings.seed
        voices = range(len(matched.voices))
        places = [position_bias(self.answers, v, seed) for v in voices]
        how = self.how.doing("bias")
        rows = Biases(matched, how, self.settings.resample).rows(axes)
        biases, liked = corrected(rows, [one.p for one in places])
        saving = Saving.of(matched.ratings, self.answers, self.settings.resample)
        alike: list[dict[str, float]] = [{} for _ in voices]
        if tells_unweighted(matched.ratings, self.settings.min_group_size):
            biases, alike = self._alike(axes, biases, saving)
        stand_ins = self._stand_ins()
        agreements = agreements_of(matched, self.level, self.settings.resample, self.how.doing("agreement"))
        found: list[dict[str, Any]] = []
        for v in voices:
            own = {
                **agreements[v], **self._standing(stand_ins, v), **_biased(biases, matched.voices[v]),
                "position_bias": _placed(places[v], float(liked[v])), "consistency": self._consistent(v, agreements[v]),
                **self._accounts(v), "worth": _worth(saving, v),
            }  # fmt: skip
            found += [self._row(v, name, own[name] | _unweighted(alike[v], name)) for name in NAMES]
        table = [row for v in voices for row in places[v].rows(*matched.voices[v])]
        return Made(found, biases, pl.DataFrame(table, schema=PLACES, orient="row"), stand_ins)

    def _alike(
        self, axes: Sequence[Compared], biases: pl.DataFrame, saving: Saving
    ) -> tuple[pl.DataFrame, list[dict[str, float]]]:
        """Return biases with a column of unweighted values, and other unweighted values of each voice by name."""
        matched = replace(self.matched, ratings=self.matched.ratings.unweighted())
        rows = Biases(matched, self.how, "none").rows(axes)
        biases = biases.with_columns(unweighted=pl.Series([row["value"] for row in rows], dtype=pl.Float64))
        found = [
            {
                **{name: agreements[name]["value"] for name in ("agreement", "relative", "distance", "lead")},
                "bias": _whole(biases, voice)["unweighted"], "worth": saving.alike(v),
            }
            for v, (voice, agreements) in enumerate(
                zip(matched.voices, agreements_of(matched, self.level, "none", self.how), strict=True)
            )
        ]  # fmt: skip
        return biases, found

    def _row(self, v: int, name: str, cells: dict[str, Any]) -> dict[str, Any]:
        """Return a row of the card; what is not given is unknown."""
        account = self._account(v)
        usual: dict[str, Any] = {
            **dict.fromkeys(CARD),
            "scored": account["answered"],
            "of": account["n_items"],
            "note": "",
        }
        voice = self.matched.voices[v]
        return {**usual, "model": voice.model, "prompt": voice.prompt, "quantity": name, **cells}

    def _account(self, v: int) -> dict[str, Any]:
        model, prompt = self.matched.voices[v]
        return self.matched.accounts.row(by_predicate=_is(model, prompt) & (pl.col("subset") == ALL), named=True)

    # Others ----------------------------------------------------------------------------------------------------------

    def _stand_ins(self) -> pl.DataFrame:
        """Return the table of the alternative annotator test."""
        matched = self.matched
        aligner = Aligner(matched, np.ones(matched.top + 1), self.settings.seed, self.how)
        closeness = Closeness.of(self.level, matched.ratings.scale.values)
        references = References.of(matched, self.settings.seed)
        return StandIns(aligner, references, closeness, self.settings.tolerance).table()

    def _standing(self, frame: pl.DataFrame, v: int) -> dict[str, dict[str, Any]]:
        """Return ω and ρ of a voice with those of the best constant, and the mean ρ of a draw from all votes."""
        if frame.is_empty():
            nothing = {"value": math.nan, "note": "it is not known who rated what"}
            return {"omega": nothing, "advantage": nothing}
        model, prompt = self.matched.voices[v]
        one = frame.row(by_predicate=_is(model, prompt) & ~pl.col("reference"), named=True)
        constants = frame.filter("reference").head(-N_RANDOM)
        rest = {"note": one["why"] if math.isnan(one["omega"]) else ""}
        tested = {"p_value": one["p_value"], "p_adjusted": one["p_adjusted"], "constant_answer": one["constant"]}
        return {
            "omega": {"value": one["omega"], "constant": largest(constants["omega"].to_numpy()), **rest},
            "advantage": {"value": one["advantage"], "constant": one["constant_advantage"],
                          "marginal": self._drawn_advantage(constants, v), **tested, **rest},
        }  # fmt: skip

    def _drawn_advantage(self, constants: pl.DataFrame, v: int) -> float | None:
        """Return ρ of a draw from all votes: that of constants, weighted by votes, where all have the same items."""
        matched = self.matched
        asked = np.flatnonzero(np.diff(matched.rows))
        if constants.height <= matched.top or len(np.unique(matched.item[matched.voice == v])) < len(asked):
            return None
        votes = matched.ratings.counts()[asked].sum(axis=0)
        return float(constants["advantage"].to_numpy() @ votes / votes.sum())

    def _consistent(self, v: int, agreements: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """Return how often two answers of a voice to the same question are the same."""
        answers, n_points = self.answers, len(self.answers.scale)
        own = (answers.voice == v) & (answers.state == ANSWERED)
        cell = answers.item[own].astype(np.int64) * n_points + answers.point[own]
        counts = np.bincount(cell, minlength=len(answers.items) * n_points).reshape(-1, n_points)
        parts = percent_agreement_parts(counts[counts.sum(axis=1) > 1])
        beside = {
            **agreements["same"],
            "constant": 1.0,
            "scored": len(parts),
            "of": int((counts.sum(axis=1) > 0).sum()),
        }
        if not len(parts):
            return {**beside, "value": math.nan, "note": "no item has two answers: ask for several samples"}
        low, high = mean_interval(parts[:, 0])
        return {**beside, "value": float(parts[:, 0].mean()), "ci_low": low, "ci_high": high}

    def _accounts(self, v: int) -> dict[str, dict[str, Any]]:
        """Return the shares of items that a voice answered, refused or answered unreadably."""
        account = self._account(v)
        asked = sum(account[name] for name in ("answered", "refused", "unreadable"))
        silent = ", ".join(f"{account[name]:,} {name}" for name in ("failed", "missing") if account[name])
        found = {}
        for name in ("answered", "refused", "unreadable"):
            share = account[name] / asked if asked else math.nan
            low, high = wilson(share, asked) if asked else (math.nan, math.nan)
            note = "it was asked about no item" if not asked else f"left out: {silent}" if silent else ""
            found[name] = {"value": share, "ci_low": low, "ci_high": high, "scored": account[name], "of": asked,
                           "note": note}  # fmt: skip
        return found


def _worth(saving: Saving, v: int) -> dict[str, Any]:
    value, low, high, n_items, note = saving.saved(v)
    return {"value": value, "ci_low": low, "ci_high": high, "scored": n_items, "note": note}


def _unweighted(alike: dict[str, float], name: str) -> dict[str, Any]:
    """Return the cell of the unweighted value; nothing where such values are not shown."""
    return {"unweighted": alike.get(name)} if alike else {}


def _card(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Return the card as a frame, with a last column of unweighted values if there are any."""
    schema = CARD | ({"unweighted": pl.Float64} if any("unweighted" in row for row in rows) else {})
    card = pl.DataFrame([tuple(row[name] for name in schema) for row in rows], schema=schema, orient="row")
    numbers = [name for name, kind in schema.items() if kind == pl.Float64 and name != "value"]
    return card.with_columns(pl.col(numbers).fill_nan(None))


def _whole(biases: pl.DataFrame, voice: Sequence[str]) -> dict[str, Any]:
    """Return the bias for all raters and items."""
    everything = (pl.col("axis") == ALL) & (pl.col("subset") == ALL)
    return biases.row(by_predicate=_is(*voice) & everything, named=True)


def mean_interval(values: Floats) -> tuple[float, float]:
    """Return the interval of a share over items, by the jackknife; NaN for one item."""
    n = len(values)
    if n < 2:
        return math.nan, math.nan
    without = (values.sum() - values) / (n - 1)
    left = LeftOut(values.mean().reshape(1, 1), (without.reshape(n, 1, 1),))
    low, high, _ = left.interval(["logit"], [(0.0, 1.0)])
    return float(low[0, 0]), float(high[0, 0])


def _is(model: str, prompt: str) -> pl.Expr:
    return (pl.col("model") == model) & (pl.col("prompt") == prompt)


def _placed(one: PositionChoices, p: float) -> dict[str, Any]:
    """Return the cells of position bias."""
    return {"value": one.value, "marginal": one.chance, "p_value": one.p, "p_adjusted": p, "scored": one.n_items,
            "note": one.why}  # fmt: skip


def _biased(biases: pl.DataFrame, voice: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the bias for all raters and items, and the largest of all that are shown."""
    own, whole = biases.filter(_is(*voice)), _whole(biases, voice)
    far = own.filter(pl.col("value").is_not_nan()).sort(pl.col("value").abs(), descending=True).head(1)
    names = ("value", "ci_low", "ci_high", "p_value", "p_adjusted", "humans_low", "humans_high", "note")
    largest: dict[str, Any] = {"value": math.nan, "note": whole["note"]}
    if far.height:
        one = far.row(0, named=True)
        where = one["subset"] if one["axis"] == ALL and one["subset"] != ALL else one["group"]
        largest = {"value": abs(one["value"]), "scored": one["n_items"], "note": "" if where == ALL else f"of {where}"}
    return {"bias": {name: whole[name] for name in names}, "largest_bias": largest}


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
