"""The soft-scores lens: sign-flips, families and interactions against scipy, plain enumeration and literal formulas."""

from __future__ import annotations

import itertools
import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

import plurivox as pv
from plurivox import statistics
from plurivox.infer.permutation import Flips, exact_p
from soft_studies import (
    GROUP_MODELS,
    LEFT,
    RIGHT,
    UNIFORM,
    Array,
    constant,
    grouped,
    pair_of,
    predictions_of,
    ratings_of,
    soft,
    truthful,
)

PLAIN = {"bootstrap": 0, "curve": False}


def by_hand(differences: Array) -> float:
    """Return the share of all sign-flips with a sum as large, in plain Python."""
    whole = abs(math.fsum(differences))
    sums = [
        abs(math.fsum(sign * d for sign, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return sum(one >= whole * (1 - 1e-9) for one in sums) / len(sums)


# One pair ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n_items", [2, 5, 9])
@pytest.mark.parametrize("metric", ["rps", "cross_entropy", "expected_emd"])
def test_few_items_against_scipy_and_plain_enumeration(n_items: int, metric: str) -> None:
    rng = np.random.default_rng(n_items)
    ratings, q = truthful(n_items, n_items)
    other = rng.dirichlet(np.ones(5), n_items)
    found = soft(ratings, predictions_of({"a": q, "b": other}), 1.0, metrics=[metric], **PLAIN)
    score = getattr(statistics, metric)
    own, theirs = (np.asarray(score(ratings.counts(), one)) for one in (q, other))
    row = pair_of(found, metric, "a", "b")
    tested = stats.permutation_test(
        (own, theirs), lambda x, y, axis: (x - y).mean(axis=axis), permutation_type="samples", n_resamples=np.inf,
        vectorized=True,
    )  # fmt: skip
    assert row["p_value"] == pytest.approx(tested.pvalue, abs=1e-12)
    assert row["p_value"] == pytest.approx(by_hand(own - theirs), abs=1e-12)
    assert row["exact"]
    assert row["n_permutations"] == 2**n_items


def test_sixteen_items_are_gone_through_and_seventeen_are_not() -> None:
    assert Flips.of(16, 0).number == 65_535
    assert Flips.of(17, 0).number == 0
    kept = Flips.of(4, 0).kept(0, 16)
    assert len({tuple(row) for row in kept.tolist()}) == 16
    assert kept[0].tolist() == [1, 1, 1, 1]


def test_random_flips_against_all_of_them() -> None:
    """Of 20 items there are a million flips; 2,000 random ones give about the same p."""
    ratings, q = truthful(3, 20)
    vague = 0.75 * q + 0.05
    found = soft(ratings, predictions_of({"a": q, "b": vague}), metrics=["rps"], permutations=2000, **PLAIN)
    own = np.asarray(statistics.rps(ratings.counts(), q)) - np.asarray(statistics.rps(ratings.counts(), vague))
    p = exact_p(own)
    row = pair_of(found, "rps", "a", "b")
    assert not row["exact"]
    assert 0.001 < p < 0.999
    assert row["p_value"] == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / row["n_permutations"]) + 1e-3)


def test_items_that_do_not_differ_change_nothing() -> None:
    """Thirty items on which both predict the same, and six on which they differ: p is that of the six, exactly."""
    ratings, q = truthful(4, 36)
    other = np.where(np.arange(36)[:, None] < 6, q[:, ::-1], q)
    found = soft(ratings, predictions_of({"a": q, "b": other}), metrics=["rps"], permutations=50, **PLAIN)
    own = (np.asarray(statistics.rps(ratings.counts(), one)) for one in (q, other))
    assert pair_of(found, "rps", "a", "b")["p_value"] == pytest.approx(by_hand(np.subtract(*own)[:6]))


def test_p_does_not_depend_on_which_bin_is_asked_for() -> None:
    """A bin has the p of its items alone, exact if they are few, however many items there are."""
    counts = [[1, 1, 0]] * 30 + [[3, 1, 0], [2, 2, 0], [0, 1, 3], [4, 0, 0], [1, 1, 2]]
    rng = np.random.default_rng(5)
    q = {"a": rng.dirichlet([2, 2, 2], 35), "b": rng.dirichlet([2, 2, 2], 35)}
    found = soft(ratings_of(counts), predictions_of(q), metrics=["rps"], permutations=99, **PLAIN)
    own = [np.asarray(statistics.rps(counts[30:], one[30:])) for one in q.values()]
    assert pair_of(found, "rps", "a", "b", "4")["p_value"] == pytest.approx(by_hand(own[0] - own[1]))


# Families ------------------------------------------------------------------------------------------------------------
def literal_step_down(differences: Array) -> list[float]:
    """Return corrected p-values of columns of differences over all sign-flips, as in Westfall and Young."""
    signs = np.array(list(itertools.product((1, -1), repeat=len(differences))))
    z = signs @ differences / np.sqrt((differences**2).sum(axis=0))
    order = sorted(range(z.shape[1]), key=lambda at: -abs(z[0, at]))
    adjusted, before = [0.0] * len(order), 0.0
    for rank, at in enumerate(order):
        largest = np.abs(z[:, order[rank:]]).max(axis=1)
        before = max(before, float((largest >= abs(z[0, at]) * (1 - 1e-9)).mean()))
        adjusted[at] = before
    return adjusted


def test_pairs_in_a_family_against_literal_step_down() -> None:
    """Training ratings make the marginal prediction one for all items, so that its scores can be had by hand."""
    ratings, q = truthful(6, 8)
    train, _ = truthful(60, 30)
    rng = np.random.default_rng(6)
    models = {"a": q, "b": 0.6 * q + 0.08, "c": rng.dirichlet(np.ones(5), 8)}
    found = soft(ratings, predictions_of(models), metrics=["rps"], train=train, **PLAIN)
    total = train.counts().sum(axis=0) + 0.2
    models |= {UNIFORM: np.full((8, 5), 0.2), "marginal": np.tile(total / total.sum(), (8, 1))}
    scores = {name: np.asarray(statistics.rps(ratings.counts(), one)) for name, one in models.items()}
    frame = found.comparisons().filter(bin="all")
    pairs = list(zip(frame["model"], frame["other"], strict=True))
    wanted = literal_step_down(np.stack([scores[one] - scores[other] for one, other in pairs], axis=1))
    assert frame["p_adjusted"].to_list() == pytest.approx(wanted)


# Interactions --------------------------------------------------------------------------------------------------------
def test_bins_against_welch_and_scipy() -> None:
    """With two bins there is one comparison for a pair of models: Welch's t, with items put into the other bin."""
    rng = np.random.default_rng(8)
    counts = np.array([rng.multinomial(2 if at % 2 else 5, [0.3, 0.4, 0.3]) for at in range(24)])
    q = {"a": rng.dirichlet([2, 2, 2], 24), "b": rng.dirichlet([2, 2, 2], 24)}
    options = {**PLAIN, "permutations": 2000, "max_permutations": 2000}
    found = soft(ratings_of(counts), predictions_of(q), metrics=["rps"], **options)
    own = np.subtract(*(np.asarray(statistics.rps(counts, one)) for one in q.values()))
    few, many = own[1::2], own[::2]
    (row,) = found.interactions().iter_rows(named=True)
    assert (row["kind"], row["group"], row["n_items"]) == ("ratings of an item", "2", 12)
    assert (row["difference"], row["elsewhere"]) == pytest.approx((few.mean(), many.mean()))
    tested = stats.permutation_test(
        (few, many), lambda x, y, axis: stats.ttest_ind(x, y, equal_var=False, axis=axis).statistic, vectorized=True,
        n_resamples=4000, rng=np.random.default_rng(0),
    )  # fmt: skip
    p = tested.pvalue
    assert row["p_value"] == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / 2000) + 1e-3)


def test_groups_are_compared_on_the_same_items() -> None:
    """The difference of a group and that of the others are weighted by n_g n_r / n over items that both rated."""
    ratings = grouped(3, share=0.4)
    found = soft(ratings, GROUP_MODELS, by="g", metrics=["rps"], **PLAIN)
    each = (("a", LEFT), ("b", RIGHT))
    point = {name: [float(statistics.rps(np.eye(3)[c], q)) for c in range(3)] for name, q in each}
    given: dict[tuple[str, str], list[float]] = {}
    group_of = dict(ratings.raters.select("rater", "g").iter_rows())
    for item, rater, score in ratings.to_frame().select("item", "rater", "score").iter_rows():
        apart = point["a"][int(score) - 1] - point["b"][int(score) - 1]
        if group_of[rater] is not None:
            given.setdefault((item, group_of[rater]), []).append(apart)
    for group in "xyz":
        row = found.interactions().row(by_predicate=pl.col("group") == group, named=True)
        sums = np.zeros(3)
        for item in ratings.items["item"]:
            mine = given.get((item, group), [])
            rest = [one for other in "xyz" if other != group for one in given.get((item, other), [])]
            if mine and rest:
                weight = len(mine) * len(rest) / (len(mine) + len(rest))
                sums += weight * np.array([1.0, np.mean(mine), np.mean(rest)])
        assert (row["difference"], row["elsewhere"]) == pytest.approx((sums[1] / sums[0], sums[2] / sums[0]))


def test_a_few_lenient_raters_are_not_a_view_of_their_group() -> None:
    """Item by item the lenient rater's group differs; shuffled between groups, one rater of ten is no group."""
    rng = np.random.default_rng(9)
    rows = [(f"i{at:02}", f"r{r}", int(3 if r == 0 else rng.integers(1, 4))) for at in range(90) for r in range(10)]
    raters = pl.DataFrame({"rater": [f"r{r}" for r in range(10)], "g": ["x"] * 5 + ["y"] * 5})
    frame = pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale.range(1, 3), raters=raters)
    models = constant(90, a=LEFT, b=RIGHT).with_columns(item=pl.Series([f"i{at:02}" for at in range(90)] * 2))
    found = soft(ratings, models, by="g", metrics=["rps"], **PLAIN)
    (row,) = found.interactions().iter_rows(named=True)
    of_items = [found.row(m, "rps", axis="g", group=g).value for m, g in itertools.product("ab", "xy")]
    assert row["difference"] - row["elsewhere"] == pytest.approx(of_items[0] - of_items[2] - of_items[1] + of_items[3])
    table = np.zeros((2, 90, 3))
    for item, rater, score in rows:
        table[int(rater[1:]) // 5, int(item[1:]), score - 1] += 1
    apart = [np.asarray(statistics.rps(one, LEFT)) - np.asarray(statistics.rps(one, RIGHT)) for one in table]
    assert stats.ttest_rel(*apart).pvalue < 0.001  # over items it looks certain
    assert row["p_value"] > 0.05
    assert not row["claim"]


def test_where_assignment_depends_on_groups_nothing_is_claimed() -> None:
    """Each group rates items of its own: the reason is told."""
    rng = np.random.default_rng(10)
    rows = [
        (f"i{at:05}", f"r{r:02}", int(1 + 2 * (r % 2)))
        for at in range(40) for r in range(24) if rng.random() < (0.6 if (at < 20) == (r % 2 == 0) else 0.15)
    ]  # fmt: skip
    raters = pl.DataFrame({"rater": [f"r{r:02}" for r in range(24)], "g": ["xy"[r % 2] for r in range(24)]})
    frame = pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale.range(1, 3), raters=raters)
    found = soft(ratings, constant(40, a=LEFT, b=RIGHT), by="g", metrics=["rps"], **PLAIN)
    assert found.interactions().filter(axis="g")["p_adjusted"][0] < 0.05
    assert not found.interactions().filter(axis="g")["claim"].any()
    assert any(text.startswith("No difference by g is claimed") for text in found.findings())


# The prior -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("n_items", "fitted"), [(49, False), (50, True)])
def test_a_prior_is_fitted_to_fifty_items(n_items: int, fitted: bool) -> None:
    ratings, q = truthful(11, n_items)
    found = soft(ratings, predictions_of({"m": q}), metrics=["expected_rps"], permutations=0, **PLAIN)
    wanted = statistics.fit_prior(ratings.counts()).alpha if fitted else [1.0] * 5
    assert found.settings["prior"] == pytest.approx(wanted)
    flat = "flat, since fitting one takes 50 items with two ratings or more"
    said = "fitted to these same items, 50 of them" if fitted else flat
    assert said in found.settings["prior_note"]
    listed = pv.items(ratings)
    assert listed.settings["prior"] == found.settings["prior"]
    assert listed.settings["prior_note"] == found.settings["prior_note"]


def test_items_say_which_part_of_an_interval_is_the_priors() -> None:
    """Three votes beside five pseudo-votes: 62.5 % is the prior's."""
    ratings, _ = truthful(12, 20)
    found = pv.items(ratings, prior=1.0)
    assert found.uncertain["prior_share"].to_list() == pytest.approx([5 / 8] * 20)
    assert found.distributions()["prior_share"].to_list() == pytest.approx([5 / 8] * 100)
    told = "The prior (given: 1 on every point) is worth 5 ratings: against the median item's 3 ratings it has 62% of"
    assert found.findings() == [f"{told} the weight."]
    scores = soft(ratings, predictions_of({"m": np.full((20, 5), 0.2)}), 1.0, permutations=0, **PLAIN).to_frame()
    share = scores.filter(bin="all").select("statistic", "prior_share")
    for statistic, value in share.iter_rows():
        assert value == (pytest.approx(5 / 8) if statistic.startswith("expected") else None)
