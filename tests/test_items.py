"""Items to look at: the list of uncertain ones and their distributions against literal twins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

import plurivox as pv
from plurivox.base.errors import InputError, NeedsRatersError, SelectionError
from plurivox.statistics import fit_prior
from support import Write

Array = NDArray[Any]

COUNTS = [[0, 0, 0, 0, 0], [2, 0, 0, 0, 0], [1, 0, 0, 0, 1], [0, 1, 3, 1, 0], [0, 0, 12, 8, 20], [0, 0, 1, 0, 0]]
PRIORS: list[Any] = [1.0, 0.2, [1, 1, 2, 1, 0.5]]
COLUMNS = [
    "item", "n_ratings", "mean", "expected_mean", "ci_low", "ci_high", "prior_share", "information_gain",
    "ratings_needed", "entropy",
]  # fmt: skip


def ratings_of(counts: Any, scale: pv.Scale | None = None) -> pv.Ratings:
    """Return ratings with these counts of points, by as many raters as it takes; items are ``i0``, ``i1``, …"""
    table = np.asarray(counts)
    scale = scale or pv.Scale.range(0, table.shape[1] - 1)
    rows: list[tuple[str, str, str | None]] = []
    for i, row in enumerate(table.tolist()):
        given = [str(scale.labels[c]) for c, n in enumerate(row) for _ in range(n)]
        rows += [(f"i{i}", f"r{rater}", score) for rater, score in enumerate(given or [None])]
    frame = pl.DataFrame(rows, schema={"item": pl.String, "rater": pl.String, "score": pl.String}, orient="row")
    return pv.Ratings.from_frame(frame, scale=scale)


def rows_of(found: pv.Items) -> dict[str, dict[str, Any]]:
    return {row["item"]: row for row in found.uncertain.iter_rows(named=True)}


def weights_of(prior: Any, n_points: int) -> Array:
    return np.broadcast_to(np.asarray(prior, dtype=float), (n_points,))


def literal_gain(a: Array) -> float:
    """Return the entropy of a Dirichlet distribution, less what is expected of it after one more rating."""
    now = stats.dirichlet(a).entropy()
    later = [stats.dirichlet(a + np.eye(len(a))[c]).entropy() for c in range(len(a))]
    return float(now - np.dot(a / a.sum(), later))


def literal_need(a: Array, n: int, values: Array, precision: float) -> int:
    """Count ratings up until the mean is expected to be as precise as wanted."""
    a0, z = a.sum(), stats.norm.ppf(0.975)
    variance = (np.dot(a, values**2) / a0 - (np.dot(a, values) / a0) ** 2) / (a0 + 1)
    more = 0
    while z * math.sqrt(variance * a0 / (a0 + more)) > precision * (1 + 1e-12):
        more += 1
    return n + more


# The list ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(
    "scale", [pv.Scale.range(0, 4), pv.Scale(list("ABCDE"), values=[-1, 0, 0.5, 10, 11]), pv.Scale(list("ABCDE"))]
)
def test_the_list_against_literal_twins(prior: Any, scale: pv.Scale) -> None:
    found = pv.items(ratings_of(COUNTS, scale), prior=prior)
    assert found.uncertain.columns == COLUMNS
    values = np.array(scale.values)
    precision = (values[-1] - values[0]) / 10
    assert found.settings["precision"] == pytest.approx(precision)
    rng = np.random.default_rng(1)
    rows = rows_of(found)
    assert len(rows) == len(COUNTS)
    for i, counts in enumerate(np.array(COUNTS)):
        row, n, a = rows[f"i{i}"], int(counts.sum()), counts + weights_of(prior, 5)
        assert row["n_ratings"] == n
        assert row["mean"] == (pytest.approx(np.dot(counts, values) / n) if n else None)
        assert row["entropy"] == (pytest.approx(stats.entropy(counts), abs=1e-12) if n else None)
        assert row["expected_mean"] == pytest.approx(np.dot(a, values) / a.sum())
        assert row["information_gain"] == pytest.approx(literal_gain(a), abs=1e-10)
        assert row["prior_share"] == pytest.approx(1 - n / a.sum())
        assert row["ratings_needed"] == literal_need(a, n, values, precision)
        means = rng.dirichlet(a, 40_000) @ values
        error = 5 * math.sqrt(0.025 * 0.975 / len(means))
        assert np.mean(means < row["ci_low"]) == pytest.approx(0.025, abs=error)
        assert np.mean(means > row["ci_high"]) == pytest.approx(0.025, abs=error)


def test_the_list_starts_with_what_one_more_rating_tells_most_about() -> None:
    study = pv.simulate(n_items=60, n_raters=30, ratings_per_item=(2, 20), seed=2)
    found = pv.items(study.ratings).uncertain
    keys = [
        (-round(row["information_gain"], 11), -round(row["ci_high"] - row["ci_low"], 8), row["item"])
        for row in found.iter_rows(named=True)
    ]
    assert (keys, found["n_ratings"][0]) == (sorted(keys), study.ratings.counts().sum(axis=1).min())


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([[1, 1, 0]] * 12, sorted(f"i{i}" for i in range(12))),  # equal ones by name
        # Two ratings on neighbouring points and on opposite ends tell as much, but leave the mean less sure.
        ([[0, 1, 1, 0], [1, 0, 0, 1]], ["i1", "i0"]),
        (np.zeros((3, 2), dtype=int), ["i0", "i1", "i2"]),
        ([[k, 2 * k, k] for k in (1, 2, 4, 8)], ["i0", "i1", "i2", "i3"]),  # more ratings tell less each
    ],
)
def test_the_order_of_the_list(counts: Any, expected: list[str]) -> None:
    found = pv.items(ratings_of(counts))
    rows, n = found.uncertain, np.sum(counts, axis=1)
    assert rows["item"].to_list() == expected
    assert rows["mean"].null_count() == np.count_nonzero(n == 0)
    assert (rows["ci_high"] - rows["ci_low"]).round(12).is_sorted(descending=True)
    assert found.divided.height == 0
    if len(expected) == 2:
        assert rows["information_gain"][0] == pytest.approx(rows["information_gain"][1], abs=1e-12)


def test_unrated_items_are_on_top_without_a_mean() -> None:
    found = pv.items(ratings_of(COUNTS)).uncertain
    first = found.row(0, named=True)
    assert (first["item"], first["n_ratings"], first["mean"], first["entropy"]) == ("i0", 0, None, None)
    assert first["expected_mean"] == pytest.approx(2)
    assert found["mean"].null_count() == found["entropy"].null_count() == 1
    assert not found["mean"].is_nan().any()
    (entropy,) = pv.items(ratings_of([[3, 0]])).uncertain["entropy"]
    assert str(entropy) == "0.0"  # not -0.0


def test_two_points() -> None:
    counts = np.array([[0, 0], [1, 0], [3, 4], [0, 30]])
    rows = rows_of(pv.items(ratings_of(counts, pv.Scale(["No", "Yes"], values=[10, 20])), prior=[0.5, 1.5]))
    for i, (no, yes) in enumerate(counts.tolist()):
        beta = stats.beta(yes + 1.5, no + 0.5)
        row = rows[f"i{i}"]
        assert row["expected_mean"] == pytest.approx(10 + 10 * beta.mean())
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((10 + 10 * beta.ppf(0.025), 10 + 10 * beta.ppf(0.975)))


@settings(max_examples=25)
@given(st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=1, max_size=5), st.floats(0.05, 20))
def test_what_holds_for_all_items(counts: list[list[int]], prior: float) -> None:
    found = pv.items(ratings_of(counts), prior=prior).uncertain
    assert found.height == len(counts)
    assert (found["ci_low"] < found["expected_mean"]).all()
    assert (found["expected_mean"] < found["ci_high"]).all()
    assert found["ci_low"].min() >= 0  # type: ignore[operator]
    assert found["ci_high"].max() <= 2  # type: ignore[operator]
    assert (found["information_gain"] > 0).all()
    assert (found["ratings_needed"] >= found["n_ratings"]).all()
    mirrored = pv.items(ratings_of([row[::-1] for row in counts]), prior=prior).uncertain.sort("item")
    own = found.sort("item")
    np.testing.assert_allclose(2 - mirrored["ci_high"].to_numpy(), own["ci_low"].to_numpy(), atol=1e-8)
    np.testing.assert_allclose(mirrored["information_gain"].to_numpy(), own["information_gain"].to_numpy(), atol=1e-12)
    assert mirrored["ratings_needed"].to_list() == own["ratings_needed"].to_list()


# Totals --------------------------------------------------------------------------------------------------------------
def test_totals_are_as_good_as_ratings(write: Write) -> None:
    lines = "".join(f"i{i},{','.join(map(str, row))}\n" for i, row in enumerate(COUNTS))
    totals = pv.read_ratings(write("t.csv", "item,0,1,2,3,4\n" + lines), scale="0:4", layout="totals")
    one, other = pv.items(totals, prior=0.7), pv.items(ratings_of(COUNTS), prior=0.7)
    assert one.uncertain.equals(other.uncertain)
    assert one.distributions().equals(other.distributions())
    assert one.divided.height == 0
    with pytest.raises(NeedsRatersError, match="not who gave them"):
        pv.items(totals, by="gender")


def test_totals_of_millions(write: Write) -> None:
    totals = pv.read_ratings(write("t.csv", "item,0,1\na,3000000,1000000\n"), scale="0:1", layout="totals")
    row = pv.items(totals).uncertain.row(0, named=True)
    beta = stats.beta(1_000_001, 3_000_001)
    assert row["n_ratings"] == row["ratings_needed"] == 4_000_000
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((beta.ppf(0.025), beta.ppf(0.975)), rel=1e-9)
    assert row["information_gain"] == pytest.approx(1 / 8_000_000, rel=1e-3)


# Precision -----------------------------------------------------------------------------------------------------------
def test_precision_as_given_in_units_of_the_scale() -> None:
    wide = pv.Scale(range(5), values=[0, 100, 200, 300, 400])
    for precision in (0.25, 0.7, 3):
        found = pv.items(ratings_of(COUNTS), precision=precision)
        assert found.settings["precision"] == precision
        for i, row in enumerate(np.array(COUNTS)):
            need = literal_need(row + 1.0, int(row.sum()), np.arange(5.0), precision)
            assert rows_of(found)[f"i{i}"]["ratings_needed"] == need
        other = pv.items(ratings_of(COUNTS, wide), precision=100 * precision)
        assert other.uncertain["ratings_needed"].to_list() == found.uncertain["ratings_needed"].to_list()


# Prior ---------------------------------------------------------------------------------------------------------------


def test_a_number_is_the_weight_of_every_point_and_items_may_suggest_a_prior() -> None:
    ratings = pv.simulate(n_items=80, n_raters=30, ratings_per_item=(1, 12), seed=4).ratings
    fit = fit_prior(ratings.counts())
    for prior, same in ((0.5, [0.5] * 5), ("empirical-bayes", list(fit.alpha))):
        one, each = pv.items(ratings, prior=prior), pv.items(ratings, prior=same)
        assert one.settings["prior"] == each.settings["prior"] == same
        assert one.uncertain.equals(each.uncertain)
        assert one.distributions().equals(each.distributions())


def test_a_strong_prior_pulls_means_to_its_own() -> None:
    weak, strong = (pv.items(ratings_of(COUNTS), prior=[w, w, w, w, 4 * w]) for w in (1e-3, 1e6))
    pulled = strong.uncertain["expected_mean"]
    assert pulled.to_numpy() == pytest.approx(np.full(6, (0 + 1 + 2 + 3 + 16) / 8), abs=1e-3)
    rated = weak.uncertain.filter(pl.col("n_ratings") > 0)
    assert rated["expected_mean"].to_numpy() == pytest.approx(rated["mean"].to_numpy(), abs=0.03)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("prior", value) for value in (0, -1, math.nan, [1, 1], [1, 1, 0, 1, 1], "bayes", "1")),
        *(("precision", value) for value in (0, -1, -0.1, math.nan, math.inf)),
    ],
)
def test_bad_priors_and_precisions(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"{name} is {value if name == 'precision' else ''}"):
        pv.items(ratings_of(COUNTS), **{name: value})


# Distributions -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("prior", PRIORS)
def test_distributions_against_beta_distributions(prior: Any) -> None:
    found = pv.items(ratings_of(COUNTS), prior=prior).distributions()
    assert found.columns == ["item", "point", "n_ratings", "probability", "ci_low", "ci_high", "prior_share"]
    counts = np.array(COUNTS)
    a = counts + weights_of(prior, 5)
    rest = a.sum(axis=1, keepdims=True) - a
    assert found["item"].to_list() == [f"i{i}" for i in range(6) for _ in range(5)]
    assert found["point"].to_list() == list("01234") * 6
    assert found["n_ratings"].to_list() == counts.ravel().tolist()
    assert found["probability"].to_numpy() == pytest.approx((a / (a + rest)).ravel())
    assert found["ci_low"].to_numpy() == pytest.approx(stats.beta.ppf(0.025, a, rest).ravel(), rel=1e-7, abs=1e-12)
    assert found["ci_high"].to_numpy() == pytest.approx(stats.beta.ppf(0.975, a, rest).ravel(), rel=1e-9)


def test_distributions_of_some_items_in_the_order_asked() -> None:
    found = pv.items(ratings_of(COUNTS))
    some = found.distributions(["i3", "i1"])
    assert some["item"].to_list() == ["i3"] * 5 + ["i1"] * 5
    assert some.filter(item="i1").equals(found.distributions().filter(item="i1"))
    assert some.filter(item="i1").equals(found.distributions("i1"))
    none = found.distributions([])
    assert (none.height, none.columns) == (0, some.columns)
    with pytest.raises(SelectionError, match="there is no item 'nothing'"):
        found.distributions(["i1", "nothing"])
    labels = ["No", "[b]?[/]", "=Yes"]
    assert pv.items(ratings_of([[1, 0, 2]], pv.Scale(labels))).distributions()["point"].to_list() == labels


# Dividing items ------------------------------------------------------------------------------------------------------
def test_the_prior_does_not_move_dividing_items() -> None:
    effect = pv.Effect({"gender": "Woman"}, shared_sd=2.0)
    ratings = pv.simulate(n_items=30, n_raters=40, effects=[effect], seed=1).ratings
    plain = pv.items(ratings, by=["gender", ("gender", "age")])
    assert plain.divided.height > 30
    for other in (
        pv.items(ratings, by=["gender", ("gender", "age")], prior=[9, 1, 1, 1, 0.1], precision=2),
        pv.items(ratings, by=["gender", ("gender", "age")], prior="empirical-bayes"),
    ):
        assert other.divided.equals(plain.divided)
        assert not other.uncertain.equals(plain.uncertain)
    assert repr(plain) == "<Items: 30 items, 30 rated by several groups>"
    assert pv.items(ratings).divided.height == 0
    assert pv.items(ratings).uncertain.equals(plain.uncertain)
