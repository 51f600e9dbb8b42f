"""Raters held against raters of the same items: against definitions, and raters of known quality."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.infer.exchange import Exchange
from plurivox.lenses.responsiveness.raters import Peers, RaterResponses, against_peers, leniencies, spread
from plurivox.lenses.responsiveness.references import resolve
from plurivox.statistics.responsiveness import MEASURES

WRA = list(MEASURES).index("wra")


def ratings_of(
    seen: list[np.ndarray], noise: np.ndarray, rng: np.random.Generator, careless: Collection[int] = ()
) -> pv.Ratings:
    """Return ratings on five points by ordinary raters, unlike in leniency; careless ones answer at random."""
    severity, rows = rng.normal(size=len(noise)), []
    for rater, own in enumerate(seen):
        felt = severity[own] + 0.5 * rng.normal() + noise[own] * rng.normal(size=len(own))
        points = np.searchsorted([-1.2, -0.4, 0.4, 1.2], felt)
        if rater in careless:
            points = rng.integers(0, 5, len(own))
        rows.append(pl.DataFrame({"item": own, "rater": np.full(len(own), rater), "score": points}))
    return pv.Ratings.from_frame(pl.concat(rows), scale="0:4")


def held(ratings: pv.Ratings) -> Peers:
    values = RaterResponses.of(ratings, resolve(ratings, "crowd")).observed()[1][:, WRA]
    return against_peers(values, ratings, Exchange.of(ratings))


def batches(n: int, of: int) -> list[np.ndarray]:
    """Return the items of n batches with so many raters each."""
    return [np.arange(80) + 80 * (rater // of) for rater in range(n * of)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [  # the definition, by hand: k-th smallest distance, k = C(⌊n/2⌋ + 1, 2), times 2.2219 times the table
        ([1.0, 2.0, 3.0, 4.0, 100.0], 1.0 * 2.2219 * 0.844),  # distances 1 1 1 …: the third is 1
        ([0.0, 1.0, 3.0, 7.0], 3.0 * 2.2219 * 0.512),  # 1 2 3 4 6 7: the third is 3
        (list(range(11)), 2.0 * 2.2219 * 11 / 12.4),  # ten ones, then nine twos: the fifteenth is 2
    ],
)
def test_the_spread_is_that_of_its_definition(values: list[float], expected: float) -> None:
    assert spread(np.array(values, float)) == pytest.approx(expected)
    assert spread(np.array(values, float)[::-1]) == pytest.approx(expected)


def test_the_spread_estimates_a_standard_deviation_without_bias() -> None:
    rng = np.random.default_rng(0)
    for n in (6, 9, 12, 41, 3000):
        found = np.mean([spread(rng.normal(0, 3, n)) for _ in range(2000 if n < 100 else 3)])
        assert found == pytest.approx(3, rel=0.04)
    assert np.isnan(spread(np.array([1.0])))


def test_leniency_is_the_mean_distance_from_the_other_raters_of_the_items() -> None:
    frame = pl.DataFrame({"item": [1, 1, 1, 2, 2, 3], "rater": list("abcaba"), "score": [3, 1, 2, 4, 0, 2]})
    found = leniencies(pv.Ratings.from_frame(frame, scale="0:4"))
    assert found.tolist() == pytest.approx([(1.5 + 4) / 2, (-1.5 - 4) / 2, 0.0])


def test_a_block_is_held_against_the_median_of_its_others() -> None:
    rng = np.random.default_rng(1)
    ratings = ratings_of(batches(2, 8), np.full(160, 0.7), rng)
    values = rng.normal(size=16)
    found = against_peers(values, ratings, Exchange.of(ratings), leniency=False)
    assert not found.adjusted
    for rater in range(16):
        block = range(8) if rater < 8 else range(8, 16)
        others = [values[one] for one in block if one != rater]
        assert found.expected[rater] == pytest.approx(np.median(others))
        assert found.residual[rater] == pytest.approx(values[rater] - np.median(others))
    assert (found.n_peers == 7).all()
    assert np.allclose(found.below + found.above, 1)
    assert np.allclose(found.either, 2 * np.minimum(found.below, found.above))


def test_without_blocks_the_prediction_is_the_conditional_mean() -> None:
    """Against the definition: the mean of a normal given all others, by a plain inverse without the rater."""
    rng = np.random.default_rng(2)
    seen = [np.sort(rng.choice(60, 20, replace=False)) for _ in range(30)]
    ratings = ratings_of(seen, np.full(60, 0.7), rng)
    effects = rng.normal(0, 3, 60)
    values = np.array([effects[own].mean() + 0.1 * rng.normal() for own in seen])
    found = against_peers(values, ratings, Exchange.of(ratings), leniency=False)
    shared = np.array([[len(set(a.tolist()) & set(b.tolist())) / 400 for b in seen] for a in seen])

    def expected(ratio: float) -> np.ndarray:
        covariance = ratio * shared / np.linalg.eigvalsh(shared).mean() + np.eye(30)
        out = []
        for rater in range(30):
            rest = np.delete(np.arange(30), rater)
            inverse = np.linalg.inv(covariance[np.ix_(rest, rest)])
            mean = (inverse @ values[rest]).sum() / inverse.sum()
            out.append(mean + covariance[rater, rest] @ inverse @ (values[rest] - mean))
        return np.array(out)

    ratios = np.geomspace(1e-2, 1e3, 31)
    assert min(float(np.abs(expected(ratio) - found.expected).max()) for ratio in ratios) < 1e-8
    assert np.corrcoef(found.expected, values)[0, 1] > 0.7
    assert found.adjusted


def test_few_peers_and_undefined_values_have_no_verdict() -> None:
    rng = np.random.default_rng(3)
    ratings = ratings_of(batches(2, 5), np.full(160, 0.7), rng)
    found = against_peers(rng.normal(size=10), ratings, Exchange.of(ratings))
    assert np.isnan(found.below).all()
    assert (found.n_peers == 4).all()
    one = ratings_of(batches(1, 12), np.full(80, 0.7), rng)
    values = rng.normal(size=12)
    values[4] = np.nan
    found = against_peers(values, one, Exchange.of(one))
    assert np.flatnonzero(np.isnan(found.below)).tolist() == [4]
    assert found.n_peers[0] == 10
    alike = against_peers(np.ones(12), one, Exchange.of(one))
    assert (alike.z == 0).all()
    assert np.allclose(alike.below, 0.5)


def test_more_raters_than_are_predicted_together_are_dealt_into_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    seen = [np.sort(rng.choice(60, 20, replace=False)) for _ in range(45)]
    ratings = ratings_of(seen, np.full(60, 0.7), rng)
    monkeypatch.setattr("plurivox.lenses.responsiveness.raters.MOST_TOGETHER", 20)
    found = against_peers(rng.normal(size=45), ratings, Exchange.of(ratings))
    assert found.n_peers.tolist() == [14] * 45


def test_nobody_is_low_for_a_harder_batch_and_careless_raters_are() -> None:
    noise = np.repeat([0.3, 1.0], 80)
    lows, careless = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        lows.append(held(ratings_of(batches(2, 20), noise, rng)).below <= 0.05)
        careless.append(held(ratings_of(batches(2, 20), noise, rng, careless=range(4))).below[:4])
    share = np.mean(lows, axis=0)
    assert share[:20].mean() <= 0.07
    assert share[20:].mean() <= 0.07
    assert np.median(careless) < 1e-3


def design(name: str, rng: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray]:
    """Return who saw which items, and how noisy each item is."""
    if name == "crossed":
        return [np.arange(100)] * 40, np.full(100, 0.7)
    if name == "two batches":
        return batches(2, 20), np.repeat([0.3, 1.4], 80)
    if name == "four batches":
        return batches(4, 10), np.repeat([0.2, 0.6, 1.0, 1.7], 80)
    if name == "at random":
        return [np.sort(rng.choice(300, 60, replace=False)) for _ in range(80)], rng.uniform(0.2, 1.7, 300)
    return [np.arange(80) + (50 if rater >= 30 else 0) for rater in range(60)], np.repeat([0.3, 1.4], 65)  # overlapping


@pytest.mark.slow
@pytest.mark.parametrize("name", ["crossed", "two batches", "four batches", "at random", "overlapping"])
def test_ordinary_raters_have_small_p_no_more_often_than_they_should(name: str) -> None:
    low: dict[str, list[np.ndarray]] = {}
    careless = []
    for seed in range(12 if name == "at random" else 25):
        for each in ((), range(3, 80, 7)):
            rng = np.random.default_rng([seed, len(each)])
            seen, noise = design(name, rng)
            ratings = ratings_of(seen, noise, rng, each)
            values = RaterResponses.of(ratings, resolve(ratings, "crowd")).observed()[1]
            exchange = Exchange.of(ratings)
            for statistic in ("mpa", "wra", "hm"):
                found = against_peers(values[:, list(MEASURES).index(statistic)], ratings, exchange)
                if each:
                    careless += found.below[3::7].tolist()
                else:
                    low.setdefault(statistic, []).append(found.below)
    for p in low.values():
        assert np.mean(np.array(p) <= 0.05) <= 0.065
        assert np.mean(np.array(p) <= 0.01) <= 0.035
    assert np.mean(np.array(careless) <= 0.05) >= 0.7
    assert np.median(careless) <= (0.02 if name == "at random" else 0.01)
