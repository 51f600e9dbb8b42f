"""Judge cards: against slow counts, other packages, judges of known bias, and the codes of the gate."""

from __future__ import annotations

import itertools
import math
from functools import partial
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_1samp

import plurivox as pv
from claims import judging
from claims.rates import Rate, confirmed
from plurivox.base.errors import InputError, SelectionError
from plurivox.infer.families import adjust
from plurivox.lenses.judge.settings import NAMES, QUANTITIES, Requirement
from plurivox.statistics.ppi import prediction_powered, rater_variance, worth
from support import Write

POINTS = 4
Votes = dict[int, dict[int, int]]
"""Item → rater → score."""
Samples = dict[int, list[int]]
"""Item → the answers that can be read."""


def made(seed: int, n_items: int = 24, n_raters: int = 7, share: float = 0.7) -> tuple[Votes, Samples]:
    """Ratings of some items by some raters, and a model with one to three answers to most items."""
    rng = np.random.default_rng(seed)
    severity = rng.normal(size=n_items) + 1.5
    votes: Votes = {}
    for item, rater in itertools.product(range(n_items), range(n_raters)):
        if rng.random() < share:
            score = int(np.clip(round(severity[item] + rng.normal() * 0.8 + rater / 10), 0, POINTS - 1))
            votes.setdefault(item, {})[rater] = score
    answers = {
        item: [
            int(np.clip(round(severity[item] + rng.normal() * 0.6), 0, POINTS - 1)) for _ in range(rng.integers(1, 4))
        ]
        for item in range(n_items)
        if rng.random() < 0.9
    }
    return votes, answers


def ratings_of(votes: Votes, **more: Any) -> pv.Ratings:
    rows = [(item, rater, score) for item, own in votes.items() for rater, score in own.items()]
    frame = pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")
    frame = frame.with_columns(**more)
    return pv.Ratings.from_frame(frame, scale=f"0:{POINTS - 1}")


def answers_of(given: Samples, model: str = "m") -> pl.DataFrame:
    rows = [(model, item, at, point) for item, own in given.items() for at, point in enumerate(own)]
    return pl.DataFrame(rows, schema=["model", "item", "sample", "point"], orient="row")


def card(votes: Votes, given: Samples, **asked: Any) -> pv.JudgeCard:
    return pv.judge(ratings_of(votes), answers_of(given), **asked)


# Agreement and distance ----------------------------------------------------------------------------------------------
def delta(level: str, marginals: list[float]) -> list[list[float]]:
    """How far apart two points are, as Krippendorff writes it."""
    n = len(marginals)

    def apart(c: int, k: int) -> float:
        c, k = min(c, k), max(c, k)
        if level == "nominal":
            return float(c != k)
        if level == "interval":
            return float(k - c) ** 2
        return (sum(marginals[c : k + 1]) - (marginals[c] + marginals[k]) / 2) ** 2 if c != k else 0.0

    return [[apart(c, k) for k in range(n)] for c in range(n)]


def slow_xrr(votes: Votes, given: dict[int, list[tuple[int, float]]], level: str) -> float:
    """XRR from its definition; an answer is a point with a weight, of which those of an item add up to their number."""
    x, y = [0.0] * POINTS, [0.0] * POINTS
    pairs = [[0.0] * POINTS for _ in range(POINTS)]
    for item, own in votes.items():
        if item not in given:
            continue
        r, s = sum(weight for _, weight in given[item]), len(own)
        for point, weight in given[item]:
            x[point] += weight
            for score in own.values():
                pairs[point][score] += (r + s) / (r * s) * weight
        for score in own.values():
            y[score] += 1
    d = delta(level, [a + b for a, b in zip(x, y, strict=True)])
    cells = list(itertools.product(range(POINTS), repeat=2))
    observed = sum(pairs[c][k] * d[c][k] for c, k in cells) / (sum(x) + sum(y))
    expected = sum(x[c] * y[k] * d[c][k] for c, k in cells) / (sum(x) * sum(y))
    return 1 - observed / expected


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("seed", range(3))
def test_agreement_against_its_definition_and_krippendorff(level: str, seed: int) -> None:
    votes, given = made(seed)
    found = card(votes, given, level=level)
    one = found.cell("m", "agreement")
    plain = {item: [(point, 1.0) for point in own] for item, own in given.items()}
    assert one["value"] == pytest.approx(slow_xrr(votes, plain, level))
    aligned = pv.alignment(
        ratings_of(votes), answers_of(given), level=level, bootstrap=0, permutations=0, subsamples=0, as_rater=False
    )
    assert one["value"] == pytest.approx(aligned.value("m", "xrr"))
    table = np.full((7, 24), np.nan)
    for item, own in votes.items():
        for rater, score in own.items():
            table[rater, item] = score if item in given else np.nan
    assert one["humans"] == pytest.approx(
        krippendorff.alpha(table, level_of_measurement=level, value_domain=list(range(POINTS)))  # type: ignore[arg-type]
    )
    assert found.value("m", "relative") == pytest.approx(one["value"] / one["humans"])


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_constant_and_marginal_agreement_against_enumeration(level: str) -> None:
    votes, given = made(5)
    one = card(votes, given, level=level).cell("m", "agreement")
    both = [item for item in votes if item in given]
    constants = [slow_xrr(votes, {item: [(point, 1.0)] for item in both}, level) for point in range(POINTS)]
    assert one["constant"] == pytest.approx(max(constants))
    scores = [score for item in both for score in votes[item].values()]
    shares = [scores.count(point) / len(scores) for point in range(POINTS)]
    drawn = {item: [(point, shares[point]) for point in range(POINTS)] for item in both}
    assert one["marginal"] == pytest.approx(slow_xrr(votes, drawn, level))


def test_the_marginal_answer_is_what_draws_reach_on_average() -> None:
    votes, given = made(2, n_items=60, n_raters=6)
    found = card(votes, given, level="interval")
    rng = np.random.default_rng(0)
    scores = np.array([score for item in votes if item in given for score in votes[item].values()])
    far, agreed = [], []
    for _ in range(400):
        drawn = {item: [(int(rng.choice(scores)), 1.0)] for item in votes if item in given}
        agreed.append(slow_xrr(votes, drawn, "interval"))
        far.append(np.mean([np.mean([abs(own[0][0] - score) for score in votes[item].values()])
                            for item, own in drawn.items()]))  # fmt: skip
    close = 4 * np.std(far) / math.sqrt(len(far))
    assert found.cell("m", "distance")["marginal"] == pytest.approx(np.mean(far), abs=close)
    assert found.cell("m", "agreement")["marginal"] == pytest.approx(np.mean(agreed), abs=0.02)


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_distances_against_all_pairs(level: str) -> None:
    votes, given = made(4)
    found = card(votes, given, level=level)
    one = found.cell("m", "distance")

    def apart(a: int, b: int) -> float:
        return float(a != b) if level == "nominal" else abs(a - b)

    both = [item for item in votes if item in given]
    far = [np.mean([apart(p, s) for p in given[item] for s in votes[item].values()]) for item in both]
    pairs = [
        np.mean([apart(a, b) for a, b in itertools.permutations(votes[item].values(), 2)])
        for item in both if len(votes[item]) > 1
    ]  # fmt: skip
    flat = [np.mean([np.mean([apart(p, s) for s in votes[item].values()]) for item in both]) for p in range(POINTS)]
    assert (one["value"], one["humans"], one["constant"]) == pytest.approx((np.mean(far), np.mean(pairs), min(flat)))
    assert one["constant_answer"] == str(int(np.argmin(flat)))
    assert found.value("m", "lead") == pytest.approx(min(flat) - np.mean(far))
    scores = [score for item in both for score in votes[item].values()]
    shares = [scores.count(p) / len(scores) for p in range(POINTS)]
    assert one["marginal"] == pytest.approx(np.dot(shares, flat))


# Intervals, bias -----------------------------------------------------------------------------------------------------
def bias(votes: Votes, given: Samples) -> float:
    both = [item for item in votes if item in given and votes[item]]
    return float(np.mean([np.mean(given[item]) - np.mean(list(votes[item].values())) for item in both]))


def spread(values: list[float]) -> tuple[float, float]:
    """The variance of a jackknife and its degrees of freedom, as ``docs/intervals.md`` has them."""
    off = np.array(values) - np.mean(values)
    n, total = len(off), (off**2).sum()
    freedom = 2 * total**2 / ((off**4).sum() - total**2 / n)
    return (n - 1) / n * total, min(max(freedom, 1.0), n - 1)


@pytest.mark.parametrize("resample", ["items", "raters"])
def test_the_interval_of_bias_against_leaving_out_by_hand(resample: str) -> None:
    from scipy.special import stdtrit

    votes, given = made(7)
    one = card(votes, given, resample=resample).biases().row(0, named=True)
    value = bias(votes, given)
    if resample == "items":
        left = [bias({i: own for i, own in votes.items() if i != item}, given) for item in votes]
    else:
        left = [bias({i: {r: s for r, s in own.items() if r != rater} for i, own in votes.items()}, given)
                for rater in range(7)]  # fmt: skip
    variance, freedom = spread(left)
    reach = stdtrit(freedom, 0.975) * math.sqrt(variance)
    assert (one["value"], one["ci_low"], one["ci_high"]) == pytest.approx((value, value - reach, value + reach))


def test_p_of_bias_over_items_is_that_of_a_t_test() -> None:
    votes = {item: {0: 1 + item % 2} for item in range(60)}
    rng = np.random.default_rng(0)
    given = {item: [int(rng.integers(0, POINTS))] for item in votes}
    one = card(votes, given, resample="items").biases().row(0, named=True)
    differences = [given[item][0] - votes[item][0] for item in votes]
    plain = ttest_1samp(differences, 0.0)
    assert one["value"] == pytest.approx(plain.statistic * np.std(differences, ddof=1) / math.sqrt(60))
    assert one["p_value"] == pytest.approx(plain.pvalue, rel=0.15)  # degrees of freedom are fewer than 59


def test_groups_and_parts_have_the_bias_of_their_own_ratings_and_items() -> None:
    votes, given = made(8, n_raters=12)
    frame = pl.DataFrame(
        [(item, rater, score, "ab"[rater % 2], "xyz"[item % 3]) for item, own in votes.items()
         for rater, score in own.items()],
        schema=["item", "rater", "score", "team", "kind"], orient="row",
    )  # fmt: skip
    ratings = pv.Ratings.from_frame(frame, scale="0:3", rater_attributes=["team"], item_attributes=["kind"])
    found = pv.judge(ratings, answers_of(given), by="team", subset="kind").biases()
    told = {(one["group"], one["subset"]): one["value"] for one in found.iter_rows(named=True)}
    assert len(told) == 1 + 2 + 3
    for team in "ab":
        own = {item: {r: s for r, s in scores.items() if "ab"[r % 2] == team} for item, scores in votes.items()}
        assert told[team, "all"] == pytest.approx(bias(own, given))
    for at, kind in enumerate("xyz"):
        own = {item: scores for item, scores in votes.items() if item % 3 == at}
        assert told["all", kind] == pytest.approx(bias(own, given))


def test_raters_beside_each_other_against_a_loop() -> None:
    votes, given = made(9)
    one = card(votes, given).biases().row(0, named=True)
    own: dict[int, list[float]] = {}
    for item in (item for item in votes if item in given):
        for rater, score in votes[item].items():
            others = [other for name, other in votes[item].items() if name != rater]
            if others:
                own.setdefault(rater, []).append(score - float(np.mean(others)))
    means = [float(np.mean(differences)) for differences in own.values()]
    assert (one["humans_low"], one["humans_high"]) == pytest.approx(tuple(np.quantile(means, [0.05, 0.95])))
    further = ttest_1samp(means, bias(votes, given)).statistic / math.sqrt(1 + len(means))  # s√(1 + 1/n) for s/√n
    from scipy.stats import t

    assert one["p_beyond"] == pytest.approx(max(one["p_value"], 2 * t.sf(abs(further), len(means) - 1)))


def test_biases_are_corrected_over_models_groups_and_parts() -> None:
    ratings, answers = judging.studied("crossed", "higher", 3)
    other = judging.studied("crossed", "no noise", 3)[1].with_columns(model=pl.lit("n"))
    found = pv.judge(ratings, pl.concat([answers, other]), by="sex", subset="kind")
    frame = found.biases()
    raw, adjusted = (
        [*frame[name].to_list(), *found.card().filter(quantity="position_bias")[name].to_list()]
        for name in ("p_value", "p_adjusted")
    )
    assert len(raw) == 2 * (1 + 2 + 3) + 2
    assert adjusted == pytest.approx(adjust(raw, "holm").tolist())


# Places and samples --------------------------------------------------------------------------------------------------
def shuffled(points: list[int], orders: list[list[int]]) -> pl.DataFrame:
    frame = {"model": "m", "item": range(len(points)), "point": points, "order": orders}
    return pl.DataFrame(frame, schema_overrides={"order": pl.List(pl.Int64)})


def test_a_model_that_likes_the_first_place_is_found_and_named() -> None:
    rng = np.random.default_rng(3)
    orders = [rng.permutation(POINTS).tolist() for _ in range(400)]
    points = [order[0] if rng.random() < 0.3 else int(rng.integers(POINTS)) for order in orders]
    ratings = ratings_of({item: {r: int(rng.integers(POINTS)) for r in range(4)} for item in range(400)})
    found = pv.judge(ratings, shuffled(points, orders))
    one = found.cell("m", "position_bias")
    assert one["p_value"] < 0.001
    assert one["value"] == pytest.approx(0.3 * 3 / 4, abs=0.06)  # .3 are drawn to the first, of which ¼ were there
    assert one["marginal"] < 0.06
    place = found.places().row(0, named=True)
    assert (place["place"], place["share"]) == (1, pytest.approx(0.475, abs=0.06))
    assert "the one shown in position 1 gets" in found.findings()[0]


def test_favourite_answers_and_uneven_orders_are_no_position_bias() -> None:
    """Two orders only, one the reverse of the other: a judge of middle points is always in the middle places."""
    rng = np.random.default_rng(4)
    orders = [[0, 1, 2, 3] if rng.random() < 0.5 else [3, 2, 1, 0] for _ in range(300)]
    points = rng.choice([0, 1, 2, 3], p=[0.05, 0.2, 0.7, 0.05], size=300).tolist()
    ratings = ratings_of({item: {r: int(rng.integers(POINTS)) for r in range(4)} for item in range(300)})
    answers = shuffled(points, orders)
    found = pv.judge(ratings, answers)
    plain = pv.alignment(ratings, answers, bootstrap=0, permutations=0, subsamples=0, as_rater=False).positions()
    assert plain["p_value"][0] < 0.001  # what equal shares of all places would say
    assert found.cell("m", "position_bias")["p_value"] > 0.05
    expected = found.places()["expected"].to_list()
    assert sum(expected) == pytest.approx(1)
    assert expected[1] + expected[2] == pytest.approx(points.count(1) / 300 + points.count(2) / 300)


def test_places_are_expected_as_all_orders_with_all_items_have_them() -> None:
    orders, points = [[0, 1, 2, 3], [1, 0, 3, 2], [3, 2, 1, 0]] * 8, [0, 1, 3, 2] * 6
    ratings = ratings_of({item: {0: item % 4, 1: item % 3} for item in range(24)})
    places = pv.judge(ratings, shuffled(points, orders)).places()
    every = [order.index(point) for order in orders for point in points]
    assert places["expected"].to_list() == pytest.approx([every.count(at) / len(every) for at in range(4)])
    own = [order.index(point) for order, point in zip(orders, points, strict=True)]
    assert places["n"].to_list() == [own.count(at) for at in range(4)]


def test_self_consistency_against_all_pairs_of_samples() -> None:
    votes, given = made(11)
    one = card(votes, given).cell("m", "consistency")
    shares = [np.mean([a == b for a, b in itertools.combinations(own, 2)]) for own in given.values() if len(own) > 1]
    assert one["value"] == pytest.approx(np.mean(shares))
    assert (one["scored"], one["of"]) == (len(shares), len(given))
    assert one["ci_low"] < one["value"] < one["ci_high"]
    both = [item for item in votes if item in given and len(votes[item]) > 1]
    same = [np.mean([a == b for a, b in itertools.combinations(votes[item].values(), 2)]) for item in both]
    assert one["humans"] == pytest.approx(np.mean(same))


# What is counted, and what cannot be told ----------------------------------------------------------------------------
def test_refusals_are_counted_and_failures_are_not() -> None:
    votes = {item: {r: (item + r) % 4 for r in range(5)} for item in range(40)}
    states = ["answered"] * 24 + ["refused"] * 8 + ["unreadable"] * 4 + ["failed"] * 2
    answers = pl.DataFrame(
        {"model": "m", "item": range(38), "state": states, "point": [i % 4 if i < 24 else None for i in range(38)]}
    )
    found = pv.judge(ratings_of(votes), answers)
    rows = {one["quantity"]: one for one in found.card().iter_rows(named=True)}
    assert [(rows[name]["scored"], rows[name]["of"]) for name in ("answered", "refused", "unreadable")] == [
        (24, 36), (8, 36), (4, 36),
    ]  # fmt: skip
    assert rows["answered"]["value"] == pytest.approx(24 / 36)
    assert rows["answered"]["note"] == "left out: 2 failed, 2 missing"
    assert (rows["agreement"]["scored"], rows["agreement"]["of"]) == (24, 40)
    assert "It answers only 24 of 36 items, 67% (50% to 80%): 8 refused, 4 unreadable." in found.findings()[0]


def test_what_cannot_be_told_has_its_reason() -> None:
    votes = {item: {r: (item + r) % 4 for r in range(2)} for item in range(12)}
    given = {item: [item % 4] for item in range(12)}
    found = card(votes, given)
    notes = {one["quantity"]: one["note"] for one in found.card().iter_rows(named=True) if math.isnan(one["value"])}
    assert notes == {
        "relative": "raters do not agree with each other beyond chance",
        "omega": "0 humans rated 30 or more items that others also rated; 3 are needed",
        "advantage": "0 humans rated 30 or more items that others also rated; 3 are needed",
        "position_bias": "the order of options is not known",
        "consistency": "no item has two answers: ask for several samples",
    }
    same = answers_of(given).with_columns(order=pl.lit("[0,1,2,3]"))
    again = pv.judge(ratings_of(votes), same)
    assert again.cell("m", "position_bias")["note"] == "options were always shown in the same order"


def test_ratings_that_do_not_vary_and_one_rater_are_told() -> None:
    found = card({item: {0: 2} for item in range(12)}, {item: [2] for item in range(12)})
    rows = {one["quantity"]: one for one in found.card().iter_rows(named=True)}
    assert rows["agreement"]["note"] == "expected disagreement is 0"
    assert rows["relative"]["note"] == "no item has two ratings, or ratings do not vary"
    assert (rows["bias"]["value"], rows["bias"]["ci_low"]) == (0.0, None)
    assert rows["worth"]["note"] == "the model gives every item the same answer"
    varying = card({item: {0: item % 4} for item in range(12)}, {item: [item % 3] for item in range(12)})
    assert varying.cell("m", "worth")["note"] == "one rater says nothing about others"
    assert found.verdict(found.voices[0]).kind == "undecided"


def test_totals_have_a_card_over_items(write: Write) -> None:
    lines = [f"{item},{3 - item % 3},{1 + item % 3}" for item in range(40)]
    ratings = pv.read_ratings(write("totals.csv", "\n".join(["item,no,yes", *lines])), scale=pv.Scale(["no", "yes"]))
    answers = pl.DataFrame({"model": "m", "item": range(40), "answer": [["no", "yes"][i % 3 > 0] for i in range(40)]})
    found = pv.judge(ratings, answers)
    assert found.cell("m", "omega")["note"] == "it is not known who rated what"
    one = found.cell("m", "agreement")
    assert one["ci_low"] < one["value"] < one["ci_high"]
    shares = [(1 + item % 3) / 4 for item in range(40)]
    assert found.value("m", "bias") == pytest.approx(np.mean([(i % 3 > 0) - shares[i] for i in range(40)]))
    assert found.cell("m", "bias")["humans_low"] is None
    assert not found.biases()["biased"].any()


# Worth ---------------------------------------------------------------------------------------------------------------
def test_worth_is_that_of_prediction_powered_inference() -> None:
    votes, given = made(13, n_items=80, share=0.5)
    rated = {item: own for item, own in votes.items() if item < 40}
    one = card(rated, given).cell("m", "worth")
    both = [item for item in rated if item in given]
    human = [float(np.mean(list(rated[item].values()))) for item in both]
    model = [float(np.mean(given[item])) for item in both]
    further = [float(np.mean(own)) for item, own in given.items() if item not in rated]
    (weight,) = prediction_powered(human, model, further).weights
    rows = [
        (item, rater, score - weight * answer)
        for item, answer in zip(both, model, strict=True)
        for rater, score in rated[item].items()
    ]
    found = worth(human, model, further, rater_variance(*zip(*rows, strict=True)).variance)
    per_item = len(rows) / len(both)
    assert (one["value"], one["ci_low"], one["ci_high"]) == pytest.approx([per_item * part for part in found])


@pytest.mark.parametrize("resample", ["items", "both"])
def test_worth_is_that_of_an_estimate_also_where_a_model_refuses(resample: str) -> None:
    study = pv.simulate(n_items=200, n_raters=40, n_rated=60, ratings_per_item=4, seed=8)
    assert study.answers is not None
    assert study.answers.filter(pl.col("state") == "refused").height
    judged = pv.judge(study.ratings, study.answers, resample=resample)
    estimated = pv.estimate(study.ratings, study.answers, resample=resample)
    for model in ("model-a", "model-b", "model-c"):
        one, row = judged.cell(model, "worth"), estimated.row(model, "ppi_worth")
        assert (one["value"], one["ci_low"], one["ci_high"]) == (row.value, row.ci_low, row.ci_high)
        assert one["scored"] == 60


def test_worth_without_unrated_items_says_what_it_supposes() -> None:
    one = card(*made(14, n_items=40)).cell("m", "worth")
    assert one["value"] > 0
    assert one["note"] == "if it also answered 10 times as many unrated items (here it answered none)"


# Verdicts ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("judge", "kind", "reason"), [
    ("no noise", "good", "It may stand in for a rater: it holds its own against"),
    ("higher", "not", "It is biased: it rates"),
    ("always 2", "not", "It agrees with a rater less than half as much as raters do with each other"),
    ("backwards", "not", "It is farther from a rater than always answering"),
    ("first place", "with care", "It depends on the order of options: the one shown in position 1 gets"),
])  # fmt: skip
def test_the_verdict_on_a_known_judge(judge: str, kind: str, reason: str) -> None:
    found = pv.judge(*judging.studied("crossed", judge, 1), by="sex", subset="kind")
    verdict = found.verdict(found.voices[0])
    assert verdict.kind == kind
    assert any(sentence.startswith(reason) for sentence in verdict.sentences), verdict.sentences
    assert found.findings()[0].startswith("m can" if kind != "not" else "m should not serve as a judge here.")


def test_few_data_are_undecided() -> None:
    rng = np.random.default_rng(1)
    votes = {item: {r: int(rng.integers(4)) for r in range(4)} for item in range(12)}
    found = card(votes, {item: [int(rng.integers(4))] for item in range(12)})
    assert found.verdict(found.voices[0]).kind == "undecided"
    assert found.findings()[0].startswith("m can be neither recommended nor ruled out as a judge")
    found = card({item: dict.fromkeys(range(3), 1) for item in range(6)}, {item: [2] for item in range(6)})
    one = found.biases().row(0, named=True)  # all differ alike, but are few
    assert (one["value"], one["p_value"], one["note"]) == (1.0, None, "not tested: 10 items are needed")
    assert found.verdict(found.voices[0]).kind == "undecided"


def test_few_studies_of_a_judge_like_a_human() -> None:
    assert judging.rates("alike", "human of each item", 5)["biased"].times <= 2
    assert judging.rates("alike", "always 2", 2)["good"].times == 0


@pytest.mark.claims
@pytest.mark.parametrize("design", judging.DESIGNS)
@pytest.mark.parametrize("judge", judging.NULL)
def test_a_judge_like_a_human_is_not_called_biased(design: str, judge: str) -> None:
    """A judge that is another human at each item is right on average, so that it is not said to be off either."""
    kinds = ("biased", "shifted", "covered") if judge == "human of each item" else ("biased",)

    def wrong(kind: str, found: Rate) -> bool:
        return kind in kinds and (found.high < 0.92 if kind == "covered" else found.low > 0.05)

    assert not confirmed(partial(judging.rates, design, judge), wrong, 40)


@pytest.mark.claims
@pytest.mark.parametrize("design", judging.DESIGNS)
def test_answers_without_judgement_are_never_called_good(design: str) -> None:
    """In any of 120 studies: a rate of .04 is noticed in 99 of 100 runs."""
    for judge in ("always 2", "coin", "backwards"):
        found = judging.rates(design, judge, 10)
        assert found["good"].times == 0
        assert found["ruled_out"].times >= 9


# Requirements --------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def study() -> tuple[pv.Ratings, pl.DataFrame]:
    ratings, answers = judging.studied("crossed", "no noise", 1)
    other = judging.studied("crossed", "coin", 1)[1].with_columns(model=pl.lit("coin"))
    return ratings, pl.concat([answers, other])


def test_requirements_name_the_value_and_the_model(study: tuple[pv.Ratings, pl.DataFrame]) -> None:
    found = pv.judge(*study, require=["omega>=0.5", "agreement.low > .1", "consistency>=0.9"])
    frame = found.requirements()
    assert frame.height == 2 * 3
    assert not found.passed
    holds = {(one["model"], one["requirement"]): one["holds"] for one in frame.iter_rows(named=True)}
    assert (holds["m", "omega>=0.5"], holds["coin", "omega>=0.5"]) == (True, False)
    assert (holds["m", "agreement.low > .1"], holds["m", "consistency>=0.9"]) == (True, False)
    said = "\n".join(found.failures())
    assert "coin does not meet omega>=0.5: omega is 0" in said
    assert "m does not meet consistency>=0.9: consistency is undefined: no item has two answers" in said
    assert pv.judge(*study, require="omega>=0.5", models="m").passed
    assert pv.judge(*study).passed


def test_groups_and_parts_can_be_required(study: tuple[pv.Ratings, pl.DataFrame]) -> None:
    asked = ["bias[sex=0]<5", "bias[2].high<5", "bias[nobody]<5"]
    frame = pv.judge(*study, by="sex", subset="kind", models="m", require=asked).requirements()
    assert frame["holds"].to_list() == [True, True, False]
    assert frame["why"][2] == "no group or part of the items called 'nobody' is shown; it may be too small or unknown"
    assert not pv.judge(*study, by="sex", min_group_size=20, models="m", require="bias[sex=0]<5").passed


@pytest.mark.parametrize(("text", "told"), [
    ("omga>=0.5", "There is no quantity 'omga'; the quantities are agreement, relative, distance"),
    ("omega=0.5", "Write a quantity, then >=, >, <= or <, then a number"),
    ("omega.middle>1", "There is no field 'middle'; the fields are low, high, p"),
    ("omega[Woman]>1", "Groups and parts of the items have only bias, not omega."), ("omega>=", "Write a quantity"),
    ("", "Write a quantity"),
])  # fmt: skip
def test_a_requirement_that_cannot_be_read(study: tuple[pv.Ratings, pl.DataFrame], text: str, told: str) -> None:
    with pytest.raises(InputError, match="require is") as error:
        pv.judge(*study, require=text)
    assert told in str(error.value)


@pytest.mark.parametrize("sign", [">=", ">", "<=", "<"])
def test_every_sign_against_python(sign: str) -> None:
    for value in (0.25, 0.5, 0.75):
        row = {"value": value, "note": ""}
        assert Requirement.of(f"omega{sign}.5").checked(row)[1] is eval(f"{value}{sign}.5")


# Inputs and results --------------------------------------------------------------------------------------------------
def test_unknown_models_and_single_raters_are_refused(study: tuple[pv.Ratings, pl.DataFrame]) -> None:
    with pytest.raises(SelectionError, match="no model is called 'gpt'; the models are: coin, m"):
        pv.judge(*study, models="gpt")
    with pytest.raises(SelectionError, match="compared with groups of raters, not with each rater"):
        pv.judge(*study, by="rater")


def test_a_model_alone_has_the_values_it_has_among_others(study: tuple[pv.Ratings, pl.DataFrame]) -> None:
    both, alone = pv.judge(*study), pv.judge(*study, models=["m"])
    for name in NAMES:
        assert alone.value("m", name) == pytest.approx(both.value("m", name), nan_ok=True)
    text = (Path(__file__).parents[1] / "docs" / "judge.md").read_text()
    assert all(f"`{one.name}`" in text for one in QUANTITIES)


@pytest.mark.parametrize("model", ["coin", "m"])
def test_a_model_is_judged_alone_although_answers_cannot_be_read(
    study: tuple[pv.Ratings, pl.DataFrame], model: str
) -> None:
    ratings, answers = study
    lost = pl.col("item").is_in(answers["item"].unique().sort().head(3))
    vague = answers.with_columns(
        point=pl.when(~lost).then("point"), text=pl.when(lost).then(pl.lit("Hm.")),
        state=pl.when(lost).then(pl.lit("unreadable")).otherwise(pl.lit("answered")),
    )  # fmt: skip
    found, expected = pv.judge(ratings, vague, models=model), pv.judge(ratings, vague.filter(model=model))
    assert found.card().equals(expected.card())
