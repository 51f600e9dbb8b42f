"""The soft-scores lens: what its sentences say about rankings."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence

import polars as pl
import pytest

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


def test_metrics_that_disagree_on_the_best_model() -> None:
    """FAR gives the true point more, NEAR gives more to its neighbours: only a distance prefers the latter."""
    found = soft(ratings_of([HIT] * 6), constant(6, far=FAR, near=NEAR), bootstrap=20, curve=False)
    winners = {metric: min(("far", "near"), key=lambda name: found.value(name, metric)) for metric in METRICS}
    assert winners["cross_entropy"] == "far"
    assert winners["emd"] == winners["expected_emd"] == "near"
    by = {name: [metric for metric in METRICS if winners[metric] == name] for name in ("far", "near")}
    told = about(found, "disagree", "same order")
    assert told == [f"Metrics disagree on the best model: far by {labels(by['far'])}; near by {labels(by['near'])}."]


def test_metrics_that_agree() -> None:
    found = soft(ratings_of([HIT] * 6), constant(6, z=BEST, a=FAR, m=WORST), bootstrap=20, curve=False)
    assert about(found, "disagree", "same order") == ["All 10 metrics put the models in the same order: z, a, m."]


def test_metrics_that_disagree_on_the_lower_order() -> None:
    found = soft(ratings_of([HIT] * 6), constant(6, far=FAR, near=NEAR, best=BEST), bootstrap=20, curve=False)
    orders = {metric: found.ranking(metric) for metric in METRICS}
    assert {order[0] for order in orders.values()} == {"best"}
    (told,) = about(found, "disagree", "same order")
    assert told.startswith("All metrics put best first, and disagree on the others: ")
    for rest in ("far, near", "near, far"):
        of = [metric for metric in METRICS if ", ".join(orders[metric][1:]) == rest]
        assert f"{rest} by {labels(of)}" in told


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
    assert not about(found, "is better than", "the best of", "same order")
    assert not about(found, "-0.000")


def test_equal_models_share_their_rank() -> None:
    found = soft(ratings_of([HIT] * 6), constant(6, a=FAR, b=FAR), bootstrap=0)
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
        orders = [(strength, f"{model} is best") for strength, model in rows]
        assert (orders[0][1], orders[-1][1]) == ("sharp is best", "flat is best")
        said.setdefault(spans(orders), []).append(metric)
    parts = "; ".join(f"by {labels(metrics)}, {text}" for text, metrics in said.items())
    told = about(found, "strength of the prior", "prior strengths")
    assert told == [f"The ranking moves with the strength of the prior: {parts}."]


def test_a_ranking_that_holds_for_all_priors() -> None:
    found = soft(
        ratings_of([HIT] * 6), constant(6, a=[0.05, 0.2, 0.5, 0.2, 0.05], b=[0.9, 0.04, 0.03, 0.02, 0.01]), bootstrap=0
    )
    assert about(found, "strength of the prior", "prior strengths") == [
        "The ranking by every expected metric is the same for all prior strengths from 0.01 to 100."
    ]


def test_only_the_lower_order_moves_with_the_prior() -> None:
    models = constant(
        6, top=[0.1, 0.15, 0.5, 0.15, 0.1], a=[0.01, 0.29, 0.4, 0.29, 0.01], b=[0.3, 0.05, 0.3, 0.05, 0.3]
    )
    found = soft(ratings_of([[0, 0, 3, 0, 0]] * 6), models, bootstrap=0, metrics=["expected_cross_entropy"])
    curve = found.sensitivity().filter(pl.col("rank").is_not_null()).sort("strength", "rank")
    orders = [
        (float(strength), " before ".join(part["model"]))
        for (strength,), part in curve.group_by("strength", maintain_order=True)
    ]
    assert (orders[0][1], orders[-1][1]) == ("top before a before b", "top before b before a")
    told = about(found, "strength of the prior")
    assert told == [f"The ranking moves with the strength of the prior: by E[CE], {spans(orders)}."]


def test_who_is_best_depends_on_the_number_of_ratings() -> None:
    """With many ratings, sharp predictions pay; with few, expected scores reward flat ones."""
    counts = [[0, 0, n, 0, 0] for n in (1, 1, 1, 40, 40, 40)]
    found = soft(ratings_of(counts), constant(6, sharp=BEST, flat=[0.1, 0.2, 0.4, 0.2, 0.1]), **VALUES_ONLY)
    assert [found.ranking(bin=bin_)[0] for bin_ in ("1", "40")] == ["flat", "sharp"]
    (told,) = about(found, "depends on how many ratings")
    assert told == "Who is best by E[EMD] depends on how many ratings an item has: flat with 1; sharp with 40."


def test_items_without_ratings_make_no_best_model() -> None:
    """Scores of ratings alone are undefined in the bin 0, whatever the models are called."""
    found = soft(ratings_of([[0, 0, 0], [0, 0, 2]]), constant(2, a=LEFT, b=RIGHT), metrics=["emd"], **VALUES_ONLY)
    assert found.ranking("emd", "2") == ["b", "a"]
    assert not about(found, "depends on how many ratings")


def test_losses_are_told_by_metric() -> None:
    ratings, q = truthful(24, 60, n_ratings=10)
    found = soft(ratings, predictions_of({"good": 0.9 * q + 0.02, "bad": q[:, ::-1]}), **VALUES_ONLY)
    for model in found.models:
        worse = {other: [metric for metric in METRICS if found.value(model, metric) > found.value(other, metric)]
                 for other in (UNIFORM, MARGINAL)}  # fmt: skip
        of_uniform = about(found, f"{model} loses to the uniform prediction")
        of_marginal = about(found, f"{model} loses to the marginal prediction")
        assert len(of_uniform) == bool(worse[UNIFORM])
        if worse[UNIFORM]:
            assert of_uniform[0].endswith(f"by {labels(worse[UNIFORM])}.")
        only = [metric for metric in worse[MARGINAL] if metric not in worse[UNIFORM]]
        assert len(of_marginal) == bool(only)
    assert about(found, "bad loses to the uniform")
    assert not about(found, "good loses to the uniform")


PAIR = re.compile(
    r"^(?P<one>\w+) is better than (?P<other>\w+) by (?P<by>[\d.]+) \((?P<low>-?[\d.]+) to (?P<high>-?[\d.]+)\) in "
    r"E\[EMD\], in (?P<share>\d+)% of resamplings, (?P<p>p [<=] [\d.]+), (?P<how>survives|does not survive) correction "
    r"over (?P<n>\d+) comparisons\.$"
)


def test_neighbours_in_the_ranking_are_compared_in_words() -> None:
    ratings, q = truthful(25, 80, n_ratings=5)
    models = {"a": 0.3 * q + 0.14, "b": q, "c": 0.98 * q + 0.004}
    found = soft(ratings, predictions_of(models), bootstrap=200, curve=False)
    told = [match for text in found.findings() if (match := PAIR.match(text))]
    order = found.ranking()
    assert [(match["one"], match["other"]) for match in told] == list(itertools.pairwise(order))
    for match in told:
        one, other = match["one"], match["other"]
        sign = -1 if one < other else 1
        row = pair_of(found, "expected_emd", *sorted((one, other)))
        assert float(match["by"]) == pytest.approx(sign * row["difference"], abs=6e-4)
        ends = sorted((sign * row["ci_low"], sign * row["ci_high"]))
        assert (float(match["low"]), float(match["high"])) == pytest.approx(ends, abs=6e-4)
        better = row["p_better"] if sign < 0 else 1 - row["p_better"]
        assert float(match["share"]) / 100 == pytest.approx(better, abs=0.006)
        assert (match["how"] == "survives") == (row["p_adjusted"] < 0.05)


def test_sentences_count_the_hypotheses_that_were_corrected_over() -> None:
    """Five pairs and ten metrics, of which CE and KL are one hypothesis, as are E[CE] and E[KL]."""
    ratings, q = truthful(25, 40)
    found = soft(ratings, predictions_of({"a": q, "b": 0.3 * q + 0.14}), bootstrap=100, curve=False)
    numbers = {match["n"] for text in found.findings() if (match := PAIR.match(text))}
    assert numbers == {str(5 * 8)}
