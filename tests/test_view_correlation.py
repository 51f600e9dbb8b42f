"""View correlation: against the definition written out, by hand, against studies of a known truth, and in the lens."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import plurivox as pv
from plurivox import statistics
from plurivox.domain import part as parts
from plurivox.domain.axis import Axis
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.engine.run import run, total
from plurivox.infer.grouping import Grouping
from plurivox.lenses.cohesion.sums import AgreementValues, GroupAgreement, place_of
from plurivox.statistics.cohesion import records
from support import run_cli

Scores = NDArray[np.float64]


# The definition, written out -----------------------------------------------------------------------------------------
def oracle(
    group: Scores, rest: Scores, w_group: Any = None, w_rest: Any = None, items: Any = None, means: Any = None
) -> float:
    """Loop over items and raters; copies of items are written out, so only raters have weights.

    ``means`` are those of the raters of both sides, where they are not those of the table.
    """
    items = np.ones(len(group), int) if items is None else items
    sides = []
    for at, (table, weights) in enumerate(((group, w_group), (rest, w_rest))):
        own_means = np.array([np.mean(column[~np.isnan(column)]) for column in table.T]) if means is None else means[at]
        sides.append((table - own_means, np.ones(table.shape[1]) if weights is None else np.asarray(weights, float)))
    found: list[list[float]] = []
    for i in range(len(group)):
        row = []
        for table, weights in sides:
            chosen = ~np.isnan(table[i]) & (weights > 0)
            if np.count_nonzero(chosen) < 2:
                break
            y, w = table[i, chosen], weights[chosen]
            mean = np.average(y, weights=w)
            s2 = (w * (y - mean) ** 2).sum() / (w.sum() - (w**2).sum() / w.sum())
            row += [mean, s2 * (w**2).sum() / w.sum() ** 2]
        else:
            found += [row] * int(items[i])
    if len(found) < 3:
        return math.nan
    x, e, r, f = np.array(found).T
    covariance = np.cov(x, r, ddof=1)
    v_group, v_rest = covariance[0, 0] - e.mean(), covariance[1, 1] - f.mean()
    if v_group <= 1e-12 or v_rest <= 1e-12:
        return math.nan
    return float(covariance[0, 1] / math.sqrt(v_group * v_rest))


def scored(seed: int, n_items: int, n_raters: int, missing: float) -> Scores:
    """Scores on five points with a common severity, some of them missing; every rater rates the first item."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n_items, 1)) + 0.7 * rng.normal(size=(n_items, n_raters)) + rng.normal(size=n_raters)
    table = np.clip(np.round(2 + latent), 0, 4)
    gone = rng.random(table.shape) < missing
    gone[0] = False
    return np.where(gone, np.nan, table)


@given(
    st.integers(0, 10_000), st.integers(1, 12), st.integers(0, 5), st.integers(0, 6), st.sampled_from([0.0, 0.4, 0.8])
)
@settings(max_examples=120)
def test_against_the_definition(seed: int, n_items: int, own: int, rest: int, missing: float) -> None:
    table = scored(seed, n_items, own + rest, missing)
    got = statistics.view_correlation(table[:, :own], table[:, own:])
    assert got == pytest.approx(oracle(table[:, :own], table[:, own:]), rel=1e-9, abs=1e-9, nan_ok=True)


def test_by_hand() -> None:
    """Raters' means are 1, so x = (−1, ½, ½), with s²/n = 0, ¼, ¼, and r = (−1, 0, 1) without error.

    Var(x) = ¾ less 1/6 is 7/12, Var(r) = 1 and Cov = ¾: ¾/√(7/12) = √(27/28).
    """
    group, rest = [[0, 0], [1, 2], [2, 1]], [[0, 0], [1, 1], [2, 2]]
    assert statistics.view_correlation(group, rest) == pytest.approx(math.sqrt(27 / 28), abs=1e-15)
    skipped = np.array([[0, 0, np.nan], [1, 2, np.nan], [2, 1, np.nan], [np.nan, np.nan, 3]])
    known = np.array([[0, 0], [1, 1], [2, 2], [np.nan, np.nan]])  # an item and a rater more, of which nothing counts
    assert statistics.view_correlation(skipped, known) == pytest.approx(math.sqrt(27 / 28), abs=1e-15)


def test_a_rater_who_counts_twice_by_hand() -> None:
    """Of raters 0 (twice) and 1, W = 3 and Q = 5: x = (−1, ⅓, ⅔), s² = (⅔)/(3 − 5/3) = ½ and e = ½·5/9 on two items.

    Var(x) = (1 + 1/9 + 4/9)/2 = 7/9, less 5/27, is 16/27; Var(r) = 1; Cov = (1 + ⅔)/2 = ⅚: ⅚/√(16/27).
    """
    table = np.array([[0, 0, 0, 0], [1, 2, 1, 1], [2, 1, 2, 2]], dtype=float)
    ratings = ratings_of(table, 2)
    agreement = GroupAgreement.of(
        ratings, Grouping.of(ratings, Axis.of(ratings, "g", min_group_size=1).codes, 2)
    ).agreement
    (part,) = ratings.parts()
    weights = np.array([[2, 1, 1, 1]], np.int32)
    sums = agreement._moments(part, Draws.resampled(1, 0, "raters"), np.zeros((1, 0), np.int32), weights)
    assert records.view_from(sums["moments"])[0] == pytest.approx([5 / 6 / math.sqrt(16 / 27)] * 2, abs=1e-12)


def test_leniency_spread_and_units_change_nothing() -> None:
    table = scored(3, 30, 12, 0.0)
    group, rest = table[:, :5], table[:, 5:]
    plain = statistics.view_correlation(group, rest)
    assert statistics.view_correlation(group + np.arange(5.0), rest) == pytest.approx(plain, abs=1e-12)
    assert statistics.view_correlation(group * 0.25, rest) == pytest.approx(plain, abs=1e-12)
    assert statistics.view_correlation(rest, group) == pytest.approx(plain, abs=1e-12)
    assert statistics.view_correlation(-group, rest) == pytest.approx(-plain, abs=1e-12)
    assert statistics.view_correlation(group * 1e150, rest * 1e150) == pytest.approx(plain, abs=1e-12)


def test_it_is_not_clipped() -> None:
    """Means that agree perfectly while raters scatter: the corrected correlation is above 1."""
    group = [[0.0, 2.0], [2.0, 0.0], [3.0, 3.0], [4.0, 4.0]]
    assert statistics.view_correlation(group, [[1, 1], [1, 1], [3, 3], [4, 4]]) > 1


UNDEFINED: list[tuple[str, Any, Any]] = [
    (records.FEW_ITEMS, [[0, 1], [2, 2]], [[0, 1], [2, 2]]),
    (records.FEW_ITEMS, [[0, np.nan], [2, 2], [3, 3]], [[0, 1], [2, 2], [1, 1]]),
    (records.GROUP_NOISE, [[1, 1], [1, 1], [1, 1]], [[0, 0], [2, 2], [1, 1]]),
    (records.GROUP_NOISE, [[0, 3], [3, 0], [1, 2], [2, 1]], [[0, 0], [2, 2], [1, 1], [3, 3]]),
    (records.REST_NOISE, [[0, 0], [2, 2], [1, 1]], [[0, 3], [3, 0], [2, 2]]),
]


@pytest.mark.parametrize(("reason", "group", "rest"), UNDEFINED)
def test_undefined_has_its_reason(reason: str, group: Any, rest: Any) -> None:
    assert math.isnan(statistics.view_correlation(group, rest))
    table = np.concatenate([group, rest], axis=1).astype(float)
    found = pv.cohesion(ratings_of(table, 2), "g", permutations=0, min_group_size=1)
    row = found.row("g", "a", "view_correlation")
    assert math.isnan(row.value)
    assert row.note == reason


def test_errors_say_what_is_wrong() -> None:
    with pytest.raises(pv.InputError, match="scores_group has 2 items, but scores_rest has 3"):
        statistics.view_correlation([[1, 2], [2, 3]], [[1, 2], [2, 3], [1, 1]])
    with pytest.raises(pv.InputError, match=r"scores_rest has the shape \(3,\)"):
        statistics.view_correlation([[1, 2], [2, 3], [1, 1]], [1, 2, 3])
    with pytest.raises(pv.InputError, match="scores_group holds a score that is not finite"):
        statistics.view_correlation([[1, np.inf]], [[1, 2]])


# Studies with a known truth ------------------------------------------------------------------------------------------
def simulated(
    rng: np.random.Generator, *, noise: float = 0.75, spread: float = 1.0, shift: float = 0.0, latent: float = 1.0
) -> float:
    """20 raters beside 60 on 200 items of five points; the group's view correlates ``latent`` with the others'.

    How far a shift or a narrower spread bends a view depends on where the points of the scale begin, and on the noise.
    """
    theta = rng.normal(size=(200, 1))
    own = latent * theta + math.sqrt(1 - latent**2) * rng.normal(size=(200, 1))
    group = shift + spread * (own + noise * rng.normal(size=(200, 20)))
    rest = theta + 0.75 * rng.normal(size=(200, 60))
    cuts = np.array([-1.5, -0.5, 0.5, 1.5])
    return statistics.view_correlation(np.searchsorted(cuts, group), np.searchsorted(cuts, rest))


TRUTHS = [
    ({"noise": 0.3}, 1.0), ({"noise": 1.5}, 1.0), ({"spread": 0.6}, 0.997), ({"shift": 1.0}, 0.98),
    ({"shift": 1.5}, 0.95), ({"latent": 0.93}, 0.93), ({"latent": 0.78}, 0.78),
]  # fmt: skip


@pytest.mark.parametrize(("study", "truth"), TRUTHS)
def test_against_simulated_truths(study: dict[str, float], truth: float) -> None:
    """The mean of 60 studies, within three standard errors and what the truth is rounded to."""
    rng = np.random.default_rng(5)
    values = np.array([simulated(rng, **study) for _ in range(60)])
    rounded = 0.0005 if truth == 0.997 else 0.005
    assert abs(values.mean() - truth) < rounded + 3 * values.std(ddof=1) / math.sqrt(len(values))


# In the lens ---------------------------------------------------------------------------------------------------------
def ratings_of(table: Scores, n_own: int, groups: Any = None) -> pv.Ratings:
    """Return ratings of a table, items × raters; the first raters are group a and the others b, if not said."""
    item, rater = np.nonzero(~np.isnan(table))
    n = table.shape[1]
    groups = ["a" if r < n_own else "b" for r in range(n)] if groups is None else groups
    frame = pl.DataFrame({"item": item, "rater": rater, "score": table[item, rater].astype(int)})
    about = pl.DataFrame({"rater": range(n), "g": groups})
    return pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 4), raters=about)


GROUPS = ["a"] * 6 + ["b"] * 7 + ["c"] * 3 + [None] * 2


def by_labels(table: Scores, labels: Any, g: int, weights: Any = None, items: Any = None) -> float:
    """The definition for one group of labelled raters."""
    own, rest = labels == g, (labels >= 0) & (labels != g)
    means = np.nanmean(table, axis=0)
    w = np.ones(table.shape[1]) if weights is None else weights
    return oracle(table[:, own], table[:, rest], w[own], w[rest], items, (means[own], means[rest]))


def prepared(seed: int = 0, missing: float = 0.3) -> tuple[Scores, GroupAgreement, Grouping]:
    table = scored(seed, 25, len(GROUPS), missing)
    ratings = ratings_of(table, 0, groups=GROUPS)
    axis = Axis.of(ratings, "g", min_group_size=1)
    grouping = Grouping.of(ratings, axis.codes, len(axis))
    return table, GroupAgreement.of(ratings, grouping), grouping


@pytest.mark.parametrize("missing", [0.3, 0.02, 0.0])
def test_permutations_against_the_definition(missing: float) -> None:
    """More permutations than walk together, raters outside the axis, and a group so small that items drop out.

    With few scores missing, some items were rated by the same raters as the one before, and keep its counts.
    """
    table, measured, grouping = prepared(missing=missing)
    draws = Draws.permuted(37, 11)
    null = measured.null(draws, Running(threads=1))[..., place_of("view_correlation")]
    labels = grouping.labels(draws)
    twin = [[by_labels(table, row, g) for g in range(3)] for row in labels]
    assert null == pytest.approx(np.array(twin), rel=1e-9, nan_ok=True)
    assert len(np.unique(null[~np.isnan(null)])) > 60


@pytest.mark.parametrize("resample", ["items", "raters", "both"])
def test_bootstrap_against_the_definition(resample: str) -> None:
    table, measured, grouping = prepared(1)
    draws = Draws.resampled(20, 4, resample)
    got = measured.bootstrap(20, 4, resample, Running(threads=1))[..., place_of("view_correlation")]
    items, raters = draws.item_weights(len(table)), draws.rater_weights(grouping.codes)
    for d in range(20):
        twin = [
            by_labels(table, grouping.codes, g, raters[d] if raters.size else None, items[d] if items.size else None)
            for g in range(3)
        ]
        assert got[d] == pytest.approx(twin, rel=1e-9, nan_ok=True)


def test_many_groups_against_the_definition() -> None:
    """Above 64 groups only those met at an item are visited."""
    table = scored(2, 12, 150, 0.2)
    groups = [f"g{r % 70}" for r in range(150)]
    ratings = ratings_of(table, 0, groups=groups)
    axis = Axis.of(ratings, "g", min_group_size=1)
    grouping = Grouping.of(ratings, axis.codes, len(axis))
    measured = GroupAgreement.of(ratings, grouping)
    null = measured.null(Draws.permuted(3, 1), Running(threads=1))[..., place_of("view_correlation")]
    for d, row in enumerate(grouping.labels(Draws.permuted(3, 1))):
        assert null[d] == pytest.approx([by_labels(table, row, g) for g in range(70)], rel=1e-9, nan_ok=True)
    assert np.isfinite(null).any()


def test_some_of_the_shuffles_give_the_bits_of_all() -> None:
    ratings = ratings_of(scored(4, 40, 30, 0.3), 12)
    grouping = Grouping.of(ratings, Axis.of(ratings, "g").codes, 2)
    agreement = GroupAgreement.of(ratings, grouping).agreement
    (part,) = ratings.parts()
    whole = agreement(part, Draws.permuted(50, 3))["moments"]
    for first, last in ((0, 1), (1, 18), (18, 50)):
        assert np.array_equal(agreement(part, Draws.permuted(50, 3).between(first, last))["moments"], whole[first:last])


def test_several_parts_are_added_in_their_order() -> None:
    ratings = ratings_of(scored(4, 40, 30, 0.3), 12)
    whole = pv.cohesion(ratings, "g", permutations=0).value("g", "a", "view_correlation")
    cut = parts.cut(ratings.offsets, ratings.rater_codes, ratings.scores, None, 100)
    assert len(cut) > 5
    measured = GroupAgreement.of(ratings, Grouping.of(ratings, Axis.of(ratings, "g").codes, 2))
    finish = AgreementValues(measured.tested, measured.about)
    at = place_of("view_correlation")
    assert finish(total(cut, measured.agreement))[0, 0, at] == pytest.approx(whole, abs=1e-12)
    draws = Draws.permuted(40, 2)
    one, three = (
        np.concatenate(run(cut, measured.agreement, draws, finish, Running(threads=threads))) for threads in (1, 3)
    )
    assert np.array_equal(one, three)
    assert one[..., at] == pytest.approx(measured.null(draws, Running(threads=1))[..., at], abs=1e-12)


def test_unequal_values_of_the_scale_are_used() -> None:
    table = scored(6, 30, 12, 0.2)
    values = np.array([0.0, 1.0, 10.0, 11.0, 50.0])
    item, rater = np.nonzero(~np.isnan(table))
    scale = pv.Scale(["a", "b", "c", "d", "e"], values=values.tolist())
    frame = pl.DataFrame({"item": item, "rater": rater, "score": ["abcde"[int(s)] for s in table[item, rater]]})
    raters = pl.DataFrame({"rater": range(12), "g": ["a"] * 5 + ["b"] * 7})
    found = pv.cohesion(pv.Ratings.from_frame(frame, scale=scale, raters=raters), "g", permutations=0)
    numbers = np.where(np.isnan(table), np.nan, values[np.nan_to_num(table).astype(int)])
    assert found.value("g", "a", "view_correlation") == pytest.approx(oracle(numbers[:, :5], numbers[:, 5:]), abs=1e-9)


def test_terminal_json_and_report_have_it(tmp_path: Any) -> None:
    ratings = ratings_of(scored(7, 30, 20, 0.2), 8)
    found = pv.cohesion(ratings, "g", permutations=19, bootstrap=19)
    row = next(one for one in json.loads(found.to_json())["rows"] if one["statistic"] == "view_correlation")
    assert row["p_value"] is not None
    assert row["ci_low"] < row["ci_high"]
    assert found.row("g", "a", "view_correlation").value == pytest.approx(
        found.row("g", "b", "view_correlation").value, abs=1e-12
    )
    ratings.to_frame().join(ratings.raters.select("rater", "g"), on="rater").write_csv(tmp_path / "ratings.csv")
    shown = run_cli(
        "cohesion", str(tmp_path / "ratings.csv"), "--scale", "0:4", "--by", "g", "--rater-attributes", "g",
        "--permutations", "9",
    )  # fmt: skip
    header = next(line for line in shown.out.splitlines() if "view corr." in line)
    assert header.index("GAI") < header.index("view corr.") < header.index("negent.")
