"""The soft-scores lens: comparisons of models with each other and with references."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import polars as pl
import pytest

from plurivox.infer.families import METHODS, adjust
from plurivox.lenses.soft.comparisons import ALIKE, ENDLESS, NO_ITEM, ONE_ITEM
from plurivox.lenses.soft.words import SoftFindings
from soft_studies import (
    LEFT,
    MARGINAL,
    METRICS,
    MIDDLE,
    RIGHT,
    UNIFORM,
    VALUES_ONLY,
    Table,
    constant,
    pair_of,
    predictions_of,
    ratings_of,
    soft,
    study,
    truthful,
    with_numbers,
)

ONCE = {"permutations": 99, "max_permutations": 99}


def test_comparisons_turn_round_with_the_names() -> None:
    ratings, q = truthful(7, 40)
    vague = 0.5 * q + 0.1
    one = soft(ratings, predictions_of({"a": q, "b": vague}), bootstrap=99, curve=False, **ONCE)
    two = soft(ratings, predictions_of({"b": q, "a": vague}), bootstrap=99, curve=False, **ONCE)
    for bin_, metric in itertools.product(["all", *one.bins], METRICS):
        x, y = (pair_of(found, metric, "a", "b", bin_) for found in (one, two))
        assert x["difference"] == pytest.approx(-y["difference"], abs=1e-15)
        assert (x["ci_low"], x["ci_high"]) == pytest.approx((-y["ci_high"], -y["ci_low"]), abs=1e-12)
        assert x["p_better"] == pytest.approx(1 - y["p_better"])
        assert x["p_value"] == y["p_value"]
        assert 0 < x["p_value"] <= 1
        assert x["p_value"] <= x["p_adjusted"] <= 1


def test_every_two_models_and_each_with_uniform_and_marginal() -> None:
    found = soft(ratings_of([[2, 1, 0]] * 4), constant(4, a=LEFT, b=RIGHT, c=MIDDLE), bootstrap=5, curve=False)
    pairs = set(found.comparisons().select("model", "other").iter_rows())
    wanted = {(model, other) for model in "abc" for other in (UNIFORM, MARGINAL)}
    assert pairs == wanted | {("a", "b"), ("a", "c"), ("b", "c")}


def test_identical_models_do_not_differ() -> None:
    """Where all differences are 0 there is nothing to flip: no p, and the reason."""
    made = study(11, n_items=12)
    same = pl.concat([made.predictions, made.predictions.filter(model="m").with_columns(model=pl.lit("twin"))])
    found = soft(made.ratings, same, bootstrap=50, curve=False)
    for row in found.comparisons().filter(model="m", other="twin").iter_rows(named=True):
        assert row["p_value"] is row["p_adjusted"] is None
        assert not row["claim"]
        if not math.isfinite(found.value("m", row["statistic"], row["bin"])):
            assert math.isnan(row["difference"])
            assert row["note"] in (ENDLESS, NO_ITEM, ONE_ITEM)
        elif row["n_items"] == 1:
            assert (row["difference"], row["ci_low"], row["p_better"], row["note"]) == (0.0, None, None, ONE_ITEM)
        else:
            assert (row["difference"], row["p_better"], row["note"]) == (0.0, 0.5, ALIKE)
            assert (row["ci_low"], row["ci_high"]) == (0.0, 0.0)


@pytest.mark.parametrize("correction", list(METHODS))
def test_other_corrections_are_over_the_pairs_of_a_metric(correction: str) -> None:
    """On all items over the pairs, in bins over pairs and bins; the leading metric also over interactions."""
    ratings, q = truthful(8, 50)
    models = {"a": q, "b": 0.8 * q + 0.04, "c": 0.2 * q + 0.16}
    metrics = ["cross_entropy", "rps", "expected_emd"]
    found = soft(ratings, predictions_of(models), bootstrap=0, curve=False, correction=correction, metrics=metrics)
    frame = found.comparisons()
    for metric, own in itertools.product(metrics, (pl.col("bin") == "all", pl.col("bin") != "all")):
        part = frame.filter(own, statistic=metric)
        p = part["p_value"].to_list()
        if metric == "rps" and part["bin"][0] == "all":
            p += found.interactions()["p_value"].to_list()
        wanted = adjust(p, correction)[: part.height]
        assert part["p_adjusted"].to_list() == pytest.approx(wanted.tolist())
    assert frame["claim"].any() == (correction != "none")


def test_infinite_scores_compare_without_a_crash() -> None:
    """∞ against a number is ±∞, ∞ against ∞ undefined; draws without the impossible rating are finite."""
    counts = [[0, 1, 3]] * 10
    sure = [[0.0, 0.5, 0.5]] * 9 + [[0.5, 0.5, 0.0]]
    q: dict[str, Table] = {"always": [[1.0, 0.0, 0.0]] * 10, "never": [RIGHT] * 10, "once": sure, "too": sure}
    found = soft(ratings_of(counts), predictions_of(q), bootstrap=200, curve=False)
    assert found.value("once", "cross_entropy") == math.inf
    assert re.match(
        r"1 item \w+ given a point .*; --floor .* makes this finite", found.row("once", "cross_entropy").note
    )
    assert re.match(r"10 items were given a point .*probability 0", found.row("always", "kl").note)
    assert pair_of(found, "cross_entropy", "never", "once")["difference"] == -math.inf
    assert pair_of(found, "cross_entropy", "always", "never")["difference"] == math.inf
    assert pair_of(found, "cross_entropy", "always", "never")["p_better"] == 0
    assert pair_of(found, "cross_entropy", "always", "never")["ci_low"] == math.inf
    for one, other in (("always", "once"), ("once", "too")):
        row = pair_of(found, "cross_entropy", one, other)
        assert math.isnan(row["difference"])
        assert row["p_value"] is row["p_adjusted"] is row["p_better"] is row["ci_low"] is None
        assert row["note"] == ENDLESS
    once = pair_of(found, "cross_entropy", "never", "once")
    assert once["ci_low"] == -math.inf
    assert math.isfinite(once["ci_high"])  # a third of all draws lack the item
    assert found.ranking("cross_entropy") == ["never", "always", "once", "too"]
    assert found.to_frame().filter(bin="all", statistic="cross_entropy")["rank"].to_list()[:4] == [2, 1, 2, 2]
    finite = soft(ratings_of(counts), predictions_of(q), floor=1e-6, **VALUES_ONLY)
    assert all(math.isfinite(row.value) and not row.note for row in finite.rows)


@pytest.mark.parametrize("seed", [0, 2])
def test_ends_of_intervals_are_numbers_where_draws_are(seed: int) -> None:
    """Two draws, of which one may be infinite, have a lower and an upper end, be they infinite."""
    q = [[0.0, 0.5, 0.5]] * 9 + [[0.5, 0.5, 0.0]]
    found = soft(ratings_of([[0, 1, 3]] * 10), predictions_of({"a": [RIGHT] * 10, "b": q}), bootstrap=2, curve=False,
                 seed=seed, metrics=["cross_entropy"])  # fmt: skip
    row = pair_of(found, "cross_entropy", "a", "b")
    assert not math.isnan(row["ci_low"])
    assert not math.isnan(row["ci_high"])


def test_a_bin_with_few_items_is_often_not_drawn() -> None:
    found = soft(*with_numbers([2, 2, 2, 5, 5]), bootstrap=200, curve=False)
    row = found.row("m", "emd", "5")
    assert row.ci_low == row.ci_high == pytest.approx(row.value)
    assert re.search(r"\d+% of the bootstrap draws are undefined and left out", row.note)
    assert not found.row("m", "emd").note


def test_one_item_tells_nothing_of_others() -> None:
    """Of one item there is no interval and no test, of two no p below ½, of three none below ¼."""
    counts, both = [[2, 0, 0], [3, 0, 0], [2, 1, 0]], constant(3, a=LEFT, b=RIGHT)
    found = soft(ratings_of(counts), both, bins="2,3", bootstrap=50, curve=False)
    assert found.row("a", "emd", "2").ci_low is None
    row = pair_of(found, "emd", "a", "b", "2")
    assert row["difference"] < 0
    assert row["ci_low"] is row["p_value"] is row["p_adjusted"] is row["p_better"] is None
    assert row["note"] == ONE_ITEM
    assert pair_of(found, "emd", "a", "b", "3")["p_value"] == 0.5
    assert pair_of(found, "emd", "a", "b")["p_value"] == 0.25
    assert pair_of(found, "emd", "a", "b")["exact"]


def test_unrated_items_do_not_count_where_they_have_no_score() -> None:
    """One rated item and nine without a rating: EMD is of one item, E[EMD] of ten."""
    found = soft(ratings_of([[3, 0, 0], *([[0, 0, 0]] * 9)]), constant(10, a=LEFT, b=RIGHT), bootstrap=50, curve=False)
    assert found.row("a", "emd").ci_low is None
    assert found.row("a", "expected_emd").ci_low is not None
    row = pair_of(found, "emd", "a", "b")
    assert row["n_items"] == found.row("a", "emd").n_items == 1
    assert row["p_value"] is None


@pytest.mark.parametrize("n_points", [3, 6, 7, 13])
def test_rounding_decides_nothing(n_points: int) -> None:
    """A model that is the uniform prediction, in other bits, neither loses nor wins."""
    rng = np.random.default_rng(n_points)
    ratings = ratings_of(rng.multinomial(3, np.full(n_points, 1 / n_points), 12))
    found = soft(ratings, constant(12, same=[1 / n_points] * n_points), bootstrap=50, curve=False)
    assert not [one for one in SoftFindings(found).losses() if "uniform" in one.text]
    assert set(found.comparisons().filter(other=UNIFORM)["note"]) == {ALIKE}


def test_mirrored_models_on_mirrored_ratings_do_not_differ() -> None:
    """Each score of one model is that of the other but for the last bits."""
    counts = [[1, 0, 1], [2, 0, 2]] * 4
    found = soft(ratings_of(counts), constant(8, a=RIGHT[::-1], b=RIGHT), bootstrap=100)
    assert set(found.comparisons().filter(other="b")["note"]) == {ALIKE}
    tested = found.comparisons().drop_nulls("p_value")
    assert (tested["p_adjusted"] >= tested["p_value"]).all()
    assert not [text for text in found.findings() if "disagree" in text or "moves with" in text]
