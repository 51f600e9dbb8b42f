"""The soft-scores lens: what its sentences say about rankings."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from plurivox.report.build import top_findings
from plurivox.report.parts import Section, findings_of
from soft_studies import (
    EXPECTED,
    LEFT,
    MARGINAL,
    METRICS,
    RIGHT,
    UNIFORM,
    VALUES_ONLY,
    about,
    constant,
    labels,
    pair_of,
    predictions_of,
    ratings_of,
    soft,
    truthful,
    words,
)

HIT = [0.0, 0.0, 10.0, 0.0, 0.0]
FAR, NEAR, WORST = [0.29, 0.01, 0.4, 0.01, 0.29], [0.01, 0.345, 0.29, 0.345, 0.01], [0.4, 0.09, 0.02, 0.09, 0.4]
BEST = [0.01, 0.04, 0.9, 0.04, 0.01]
MOVES = "The ranking of the models on these items changes with the strength of the prior (not tested): "


def test_metrics_that_disagree_on_the_best_model() -> None:
    """FAR gives the true point more, NEAR gives more to its neighbours: only a distance prefers the latter."""
    found = soft(ratings_of([HIT] * 9), constant(9, far=FAR, near=NEAR), bootstrap=20, curve=False)
    winners = {metric: min(("far", "near"), key=lambda name: found.value(name, metric)) for metric in METRICS}
    assert winners["cross_entropy"] == "far"
    assert winners["emd"] == winners["expected_emd"] == "near"
    by = {name: [metric for metric in METRICS if winners[metric] == name] for name in ("far", "near")}
    parts = f"far by {labels(by['far'])}; near by {labels(by['near'])}"
    told = f"Metrics disagree on the best model, each with certainty: {parts}."
    assert about(found, "disagree", "certainly", "certainty") == [told]
    few = soft(ratings_of([HIT] * 5), constant(5, far=FAR, near=NEAR), bootstrap=20, curve=False)
    assert not about(few, "disagree", "certainly", "certainty")  # of five items no p is below 1/16


def test_metrics_that_agree() -> None:
    found = soft(ratings_of([HIT] * 9), constant(9, z=BEST, a=FAR, m=WORST), bootstrap=20, curve=False)
    assert about(found, "disagree", "certainly") == ["z is certainly first by every metric."]


def test_infinite_scores_are_not_put_in_an_order() -> None:
    """Where every score is infinite there is no first, whatever the models are called."""
    both = constant(6, a=[0.5, 0.0, 0.0, 0.0, 0.5], b=[0.0, 0.45, 0.1, 0.45, 0.0])
    found = soft(ratings_of([[1, 2, 6, 2, 1]] * 6), both, bootstrap=20, curve=False)
    for metric in METRICS:
        one, other = found.value("a", metric), found.value("b", metric)
        assert one == other == math.inf if "cross" in metric or "kl" in metric else one > other
    assert not about(found, "Metrics disagree on the best model")


def test_equal_models_are_not_put_in_an_order() -> None:
    found = soft(ratings_of([HIT] * 6), constant(6, a=FAR, b=FAR), bootstrap=20, curve=False)
    assert not about(found, "is better than", "the best of", "certainly")
    assert not about(found, "-0.000")
    (told,) = about(found, "for comparison")
    assert told.startswith("By RPS, the 2 models cannot be told apart: a ")
    assert "since they have the same score on every item" in told
    found = soft(ratings_of([HIT] * 6), constant(6, a=FAR, b=FAR), bootstrap=0)  # they share their rank
    assert set(found.to_frame().filter(~pl.col("reference"))["rank"]) == {1}
    assert set(found.sensitivity().filter(pl.col("rank").is_not_null())["rank"]) == {1}


def spans(orders: Sequence[tuple[float, str]]) -> str:
    """Tell what holds from which strength to which."""
    runs = [(what, [strength for strength, _ in part]) for what, part in itertools.groupby(orders, lambda one: one[1])]
    return words([
        f"{what} at {at[0]:g}" if len(at) == 1 else f"{what} from {at[0]:g} to {at[-1]:g}" for what, at in runs
    ])  # fmt: skip


def test_a_ranking_that_moves_with_the_prior() -> None:
    flat = [0.19, 0.2, 0.22, 0.2, 0.19]
    found = soft(ratings_of([[0, 0, 3, 0, 0]] * 6), constant(6, sharp=BEST, flat=flat), bootstrap=0)
    first = found.sensitivity().filter(rank=1)
    said: dict[str, list[str]] = {}
    for metric in EXPECTED:
        rows = first.filter(statistic=metric).select("strength", "model").iter_rows()
        orders = [(strength, f"{model} is first") for strength, model in rows]
        assert (orders[0][1], orders[-1][1]) == ("sharp is first", "flat is first")
        said.setdefault(spans(orders), []).append(metric)
    parts = "; ".join(f"by {labels(metrics)}, {text}" for text, metrics in said.items())
    assert about(found, "strength of the prior", "prior strengths") == [f"{MOVES}{parts}."]


def test_a_ranking_that_holds_for_all_priors() -> None:
    models = constant(6, a=[0.05, 0.2, 0.5, 0.2, 0.05], b=[0.9, 0.04, 0.03, 0.02, 0.01])
    told = "The ranking of the models by every expected metric is the same for all prior strengths from 0.01 to 100."
    found = soft(ratings_of([HIT] * 6), models, bootstrap=0)
    assert about(found, "strength of the prior", "prior strengths") == [told]


def test_only_the_lower_order_moves_with_the_prior() -> None:
    flat = {"a": [0.01, 0.29, 0.4, 0.29, 0.01], "b": [0.3, 0.05, 0.3, 0.05, 0.3]}
    models = constant(6, top=[0.1, 0.15, 0.5, 0.15, 0.1], **flat)
    found = soft(ratings_of([[0, 0, 3, 0, 0]] * 6), models, bootstrap=0, metrics=["expected_cross_entropy"])
    curve = found.sensitivity().filter(pl.col("rank").is_not_null()).sort("strength", "rank")
    parts = curve.group_by("strength", maintain_order=True)
    orders = [(float(strength), " ahead of ".join(part["model"])) for (strength,), part in parts]
    assert (orders[0][1], orders[-1][1]) == ("top ahead of a ahead of b", "top ahead of b ahead of a")
    assert about(found, "strength of the prior") == [f"{MOVES}by E[CE], {spans(orders)}."]


def test_how_models_compare_depends_on_the_number_of_ratings() -> None:
    """a is right of items with two ratings, b of those with four; RPS does not turn round with the prior."""
    counts = [[0, 0, 2, 0, 0]] * 8 + [[4, 0, 0, 0, 0]] * 8
    rng = np.random.default_rng(1)
    q = {"a": [BEST] * 16, "b": [[0.9, 0.04, 0.03, 0.02, 0.01]] * 16}
    moved = {name: 0.98 * np.array(table) + 0.02 * rng.dirichlet(np.ones(5), 16) for name, table in q.items()}
    found = soft(ratings_of(counts), predictions_of(moved), bootstrap=0, curve=False, permutations=199)
    (told,) = [one for one in found.statements() if "depends on how many ratings" in one.text]
    assert told.claim
    assert told.text.startswith("How a and b compare depends on how many ratings an item has: with 2 a is better by ")
    assert ", and with other numbers b is better by " in told.text
    assert "items put into other bins" in told.rests_on
    same = ratings_of([[0, 0, 2, 0, 0]] * 8 + [[0, 0, 4, 0, 0]] * 8)
    alike = soft(same, predictions_of(moved), bootstrap=0, curve=False)
    told_of = "It is not certain that the comparison of models depends on how many"
    assert about(alike, "depends on how many")[0].startswith(told_of)


def test_items_without_ratings_make_no_best_model() -> None:
    """Scores of ratings alone are undefined in the bin 0, whatever the models are called."""
    found = soft(ratings_of([[0, 0, 0], [0, 0, 2]]), constant(2, a=LEFT, b=RIGHT), metrics=["emd"], **VALUES_ONLY)
    assert found.ranking("emd", "2") == ["b", "a"]
    assert not about(found, "depends on how many ratings")


def test_losses_are_told_by_metric() -> None:
    """What is certain is said: below .05 after correction over pairs, for metrics that lead not, also over metrics."""
    ratings, q = truthful(24, 60, n_ratings=10)
    models = {"good": 0.9 * q + 0.02, "bad": q[:, ::-1]}
    found = soft(ratings, predictions_of(models), bootstrap=0, curve=False)
    for model, other in itertools.product(found.models, (UNIFORM, MARGINAL)):
        worse = []
        for metric in METRICS:
            row = pair_of(found, metric, model, other)
            p = 1.0 if row["p_adjusted"] is None else row["p_adjusted"]
            worse += [metric] if row["difference"] > 0 and p < (0.05 if metric == "rps" else 0.005) else []
        told = about(found, f"{model} loses to the {other} prediction")
        if other == UNIFORM:
            assert told == ([f"{model} loses to the uniform prediction, which knows nothing, by {labels(worse)}."]
                            if worse else [])  # fmt: skip
    assert about(found, "bad loses to the uniform")
    assert not about(found, "good loses to the uniform")
    assert about(found, "good beats the uniform and the marginal prediction by RPS")


PAIR = re.compile(
    r"^(?P<one>\w+) (?:is better than|and) (?P<other>\w+) (?:differ )?by (?P<by>[\d.]+) \((?P<low>-?[\d.]+) to "
    r"(?P<high>-?[\d.]+) over items\) in RPS, (?P<how>which is not certain, )?p (?P<p>[<=] [\d.]+) corrected over "
    r"(?P<n>\d+) comparisons\.$"
)


def test_neighbours_in_the_ranking_are_compared_in_words() -> None:
    ratings, q = truthful(25, 80, n_ratings=5)
    models = {"a": 0.3 * q + 0.14, "b": q, "c": 0.98 * q + 0.004}
    found = soft(ratings, predictions_of(models), bootstrap=200, curve=False)
    told = [match for text in found.findings() if (match := PAIR.match(text))]
    assert [(match["one"], match["other"]) for match in told] == list(itertools.pairwise(found.ranking()))
    for match in told:
        one, other = match["one"], match["other"]
        sign = -1 if one < other else 1
        row = pair_of(found, "rps", *sorted((one, other)))
        assert float(match["by"]) == pytest.approx(sign * row["difference"], abs=6e-4)
        ends = sorted((sign * row["ci_low"], sign * row["ci_high"]))
        assert (float(match["low"]), float(match["high"])) == pytest.approx(ends, abs=6e-4)
        assert (match["how"] is None) == (row["p_adjusted"] < 0.05) == row["claim"]
        assert match["n"] == "9"  # three pairs of models, and each with uniform and marginal; there is one bin


def test_the_best_model_beats_each_of_the_others() -> None:
    """Its p is the largest of its pairs'; the statement is a claim that names what it rests on."""
    ratings, q = truthful(25, 80, n_ratings=5)
    models = {"a": q, "b": 0.6 * q + 0.08, "c": 0.4 * q + 0.12}
    found = soft(ratings, predictions_of(models), bootstrap=0, curve=False)
    best = found.statements()[0]
    assert best.text.startswith(f"a {found.value('a', 'rps'):.3f} is the best of 3 models by RPS, ahead of b ")
    assert best.p == max(pair_of(found, "rps", "a", other)["p_adjusted"] for other in "bc")
    assert best.claim
    assert best.rests_on.startswith("signs of the differences of 80 items flipped, ")
    assert best.rests_on.endswith("corrected over 9 comparisons by the largest deviation in each shuffle (max-T)")


def test_the_best_model_is_a_headline_of_a_report() -> None:
    """A claim stands at the top of a report; of models that cannot be told apart there is none."""
    ratings, q = truthful(25, 60, n_ratings=5)
    for other, headline in ((0.3 * q + 0.14, True), (0.99 * q + 0.002, False)):
        found = soft(ratings, predictions_of({"a": q, "b": other}), bootstrap=0, curve=False)
        section = Section("soft", "Soft scores", "", findings=findings_of(found, "soft-ranking"))
        texts = [one.text for one in top_findings([section])]
        assert any(" is the best of 2 models by RPS" in text for text in texts) == headline


def test_models_that_cannot_be_told_apart_for_the_first_place() -> None:
    ratings, q = truthful(25, 80, n_ratings=5)
    models = {"a": q, "b": 0.99 * q + 0.002, "c": q[:, ::-1]}
    found = soft(ratings, predictions_of(models), bootstrap=0, curve=False)
    first = found.statements()[0]
    assert not first.claim
    assert first.text.startswith("By RPS, 2 of 3 models cannot be told apart for first place: ")
    assert first.p == max(pair_of(found, "rps", "a", other)["p_adjusted"] for other in "bc")
    assert not about(found, "is the best of")


def test_without_draws_nothing_is_compared() -> None:
    ratings, q = truthful(25, 30)
    found = soft(ratings, predictions_of({"a": q, "b": q[:, ::-1]}), **VALUES_ONLY)
    assert about(found, "not tested against each other")
    assert not any(one.claim for one in found.statements())
    assert not about(found, "is better", "beats", "loses", "depends on")
