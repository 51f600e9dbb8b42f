"""Items that divide groups: z, shrinkage and the test of the maximum against literal twins, and what may be said."""

from __future__ import annotations

import functools
import json
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import stats

import plurivox as pv
from plurivox.base.errors import InputError, SelectionError
from plurivox.domain.axis import Axis
from plurivox.domain.part import cut
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.infer.exchange import Exchange
from plurivox.infer.grouping import Grouping, compared
from plurivox.infer.permutation import compare
from plurivox.lenses.item.result import tables as item_tables
from plurivox.lenses.items import run as lists
from plurivox.lenses.items.dividing import family
from plurivox.lenses.items.result import claimed

Array = NDArray[Any]

COLUMNS = [
    "item", "axis", "group", "direction", "mean_group", "mean_rest", "difference", "shrunken", "n_group", "n_rest", "z",
    "p_value", "p_adjusted", "note",
]  # fmt: skip
HIDDEN = ["mean_group", "mean_rest", "difference", "n_group", "n_rest", "z", "p_value"]
STEADY = 10


def ratings_of(scores: Array, scale: pv.Scale | None = None, **attributes: Any) -> pv.Ratings:
    """Return ratings of items × raters, NaN where there is none, by raters with attributes."""
    item, rater = np.nonzero(~np.isnan(scores))
    frame = pl.DataFrame({
        "item": [f"i{i:03}" for i in item], "rater": [f"r{r:03}" for r in rater],
        "score": scores[item, rater].astype(int),
        **{name: [column[r] for r in rater] for name, column in attributes.items()},
    })  # fmt: skip
    return pv.Ratings.from_frame(frame, scale=scale or pv.Scale.range(0, 4), rater_attributes=list(attributes))


def in_turn(names: str, n: int) -> list[str]:
    """Return a letter for each of n raters."""
    return [names[r % len(names)] for r in range(n)]


def drawn(seed: int, n_items: int, n_raters: int, missing: float = 0.0, leniency: float = 0.5) -> Array:
    """Return scores 0 to 4 of items and raters that differ, without any difference between groups."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(0, 1.2, (n_items, 1)) + rng.normal(0, leniency, n_raters) + rng.normal(size=(n_items, n_raters))
    scores = np.digitize(latent, [-1.5, -0.5, 0.5, 1.5]).astype(float)
    scores[rng.random(scores.shape) < missing] = np.nan
    return scores


# Literal twins -------------------------------------------------------------------------------------------------------
def differences(x: Array, labels: Array, group: int) -> dict[int, tuple[float, int, int]]:
    """Return by item the difference of means of a group and its rest, and the number of ratings of both."""
    found = {}
    for i, row in enumerate(x):
        own = [v for v, g in zip(row, labels, strict=True) if g == group and not math.isnan(v)]
        rest = [v for v, g in zip(row, labels, strict=True) if g not in (group, -1) and not math.isnan(v)]
        if len(own) > 1 and len(rest) > 1:
            found[i] = (sum(own) / len(own) - sum(rest) / len(rest), len(own), len(rest))
    return found


def variances(x: Array, labels: Array) -> tuple[dict[int, float], float]:
    """Return the steadied variance of each item over the raters of an axis, and the pooled one."""
    rows = {i: row[(labels >= 0) & ~np.isnan(row)] for i, row in enumerate(x)}
    rows = {i: row for i, row in rows.items() if len(row)}
    pooled = sum(((row - row.mean()) ** 2).sum() for row in rows.values()) / sum(len(row) - 1 for row in rows.values())
    return {
        i: (((row - row.mean()) ** 2).sum() + STEADY * pooled) / (len(row) - 1 + STEADY) for i, row in rows.items()
    }, pooled


def z_values(x: Array, labels: Array, groups: list[int]) -> dict[tuple[int, int], float]:
    """Return z of each item and group."""
    s2, _ = variances(x, labels)
    return {
        (i, g): d / math.sqrt(s2[i] * (1 / n + 1 / m))
        for g in groups
        for i, (d, n, m) in differences(x, labels, g).items()
    }


def scatter(x: Array, labels: Array, group: int) -> tuple[float, float, float, float]:
    """Return Σw(D − D̄)², what noise alone would give, D̄, and what a unit of τ² adds."""
    _, pooled = variances(x, labels)
    rows = differences(x, labels, group)
    w = {i: n * m / (n + m) for i, (_, n, m) in rows.items()}
    total = sum(w.values())
    centre = sum(w[i] * d for i, (d, _, _) in rows.items()) / total
    q = sum(w[i] * (d - centre) ** 2 for i, (d, _, _) in rows.items())
    noise = sum((1 - w[i] / total) * within(x[i], labels, group, pooled) for i in rows)
    return q, noise, centre, sum(w[i] * (1 - w[i] / total) for i in rows)


def within(row: Array, labels: Array, group: int, pooled: float) -> float:
    """Return the steadied variance within the two sides of an item."""
    known = ~np.isnan(row)
    own, rest = row[known & (labels == group)], row[known & (labels >= 0) & (labels != group)]
    squares = ((own - own.mean()) ** 2).sum() + ((rest - rest.mean()) ** 2).sum()
    return float((squares + STEADY * pooled) / (len(own) + len(rest) - 2 + STEADY))


def shrunken_twin(x: Array, labels: Array, shuffles: Array, group: int) -> dict[int, float]:
    """Return the shrunken difference of each item."""
    drawn_ = [scatter(x, one, group) for one in shuffles]
    c = sum(one[0] for one in drawn_) / sum(one[1] for one in drawn_) if drawn_ else 1.0
    q, noise, centre, room = scatter(x, labels, group)
    tau2 = max(0.0, (q - c * noise) / room)
    _, pooled = variances(x, labels)
    return {
        i: centre + tau2 / (tau2 + c * within(x[i], labels, group, pooled) * (1 / n + 1 / m)) * (d - centre)
        for i, (d, n, m) in differences(x, labels, group).items()
    }


CASES = {
    "crossed": (0.0, pv.Scale.range(0, 4)),
    "sparse": (0.7, pv.Scale.range(0, 4)),
    "uneven": (0.3, pv.Scale(range(5), values=[-3, -2.9, 0.1, 5, 1000])),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("within_", [None, "batch"])
def test_the_list_against_literal_twins(case: str, within_: str | None) -> None:
    missing, scale = CASES[case]
    n_raters, draws = 36, 60
    scores = drawn(3, 14, n_raters, missing)
    rng = np.random.default_rng(1)
    three = rng.choice(["a", "b", "c"], n_raters, p=[0.5, 0.3, 0.2]).tolist()
    two = [None if r % 9 == 0 else "mw"[r % 2] for r in range(n_raters)]
    batch = ["first" if r < 20 else "second" for r in range(n_raters)]
    ratings = ratings_of(scores, scale, three=three, two=two, batch=batch)
    values = np.array(scale.values, dtype=float)
    x = np.where(np.isnan(scores), np.nan, values[np.nan_to_num(scores).astype(int)])
    options: dict[str, Any] = {"permutations": draws, "seed": 5, "within": within_, "min_group_size": 1}
    found = pv.items(ratings, ["three", "two"], **options)
    assert found.divided.columns == COLUMNS
    largest, observed, null, labels = np.zeros(draws), {}, {}, {}
    for name, groups in (("three", [0, 1, 2]), ("two", [0])):
        axis = Axis.of(ratings, name)
        strata = Exchange.of(ratings, None if within_ is None else (within_,)).strata
        labels[name] = Grouping.of(ratings, axis.codes, len(axis), strata).labels(Draws.permuted(draws, 5))
        observed[name] = z_values(x, axis.codes, groups)
        null[name] = [z_values(x, one, groups) for one in labels[name]]
        largest = np.maximum(largest, [max(map(abs, one.values())) for one in null[name]])
    assert found.null == pytest.approx(largest, rel=1e-9)
    assert found.settings["n_comparisons"] == sum(map(len, observed.values()))
    rows = {(row["item"], row["axis"]): row for row in found.divided.iter_rows(named=True)}
    assert len(rows) == sum(len({i for i, _ in one}) for one in observed.values())
    shrunk = {
        (name, g): shrunken_twin(x, Axis.of(ratings, name).codes, labels[name], g)
        for name, groups in (("three", [0, 1, 2]), ("two", [0]))
        for g in groups
    }
    for (item, name), row in rows.items():
        i, axis = int(item[1:]), Axis.of(ratings, name)
        own = {g: z for (j, g), z in observed[name].items() if j == i}
        g = max(own, key=lambda one: abs(own[one]))
        sign = -1 if name == "two" and own[g] < 0 else 1
        assert row["group"] == axis.groups[g if sign > 0 else 1 - g]
        assert row["z"] == pytest.approx(sign * own[g], rel=1e-9, abs=1e-12)
        assert row["shrunken"] == pytest.approx(sign * shrunk[name, g][i], rel=1e-9, abs=1e-12)
        d, n, m = differences(x, axis.codes, g)[i]
        assert row["difference"] == pytest.approx(sign * d, rel=1e-9, abs=1e-12)
        assert {row["n_group"], row["n_rest"]} == {n, m}
        assert row["mean_group"] - row["mean_rest"] == pytest.approx(row["difference"])
        assert row["direction"] == (None if abs(row["z"]) < 1e-6 else "higher" if row["z"] > 0 else "lower")
        alone = float(compare(own[g], [one.get((i, g), math.nan) for one in null[name]]).p_value)
        assert row["p_value"] == pytest.approx(alone)
        over = (1 + sum(one >= abs(own[g]) - 1e-9 for one in largest)) / (draws + 1)
        assert row["p_adjusted"] == pytest.approx(max(alone, over))
    keys = [(row["p_adjusted"], -abs(row["z"]), row["item"]) for row in found.divided.iter_rows(named=True)]
    assert keys == sorted(keys)


def test_many_groups_of_which_few_rate_an_item() -> None:
    """More than 255 groups, and items with fewer ratings than groups."""
    rng = np.random.default_rng(2)
    scores = np.full((6, 540), np.nan)
    for row in scores:
        row[rng.choice(540, 200, replace=False)] = rng.integers(0, 5, 200)
    codes = np.arange(540) % 260
    ratings = ratings_of(scores, group=[f"g{g:03}" for g in codes])
    rated = np.flatnonzero(~np.isnan(scores).all(axis=0))
    found = pv.items(ratings, "group", permutations=2, max_permutations=2, within=None, min_group_size=1)
    axis = Axis.of(ratings, "group", min_group_size=1)
    labels = Grouping.of(ratings, axis.codes, len(axis)).labels(Draws.permuted(2, 0))
    x = scores[:, rated]
    largest = [max(abs(z) for z in z_values(x, one, list(range(len(axis)))).values()) for one in labels]
    assert found.null == pytest.approx(largest, rel=1e-9)
    own = z_values(x, axis.codes, list(range(len(axis))))
    assert found.settings["n_comparisons"] == len(own)
    for item, group, z in found.divided.select("item", "group", "z").iter_rows():
        assert z == pytest.approx(own[int(item[1:]), axis.groups.index(group)])
        assert abs(z) == pytest.approx(max(abs(one) for (i, _), one in own.items() if i == int(item[1:])))


# What shrinking is worth, with a known truth --------------------------------------------------------------------------
def normal_study(seed: int, leniency: float, n_items: int = 50, n_raters: int = 50) -> tuple[pv.Ratings, Array]:
    """Return ratings that are normal but for rounding, and the true difference of the first group on each item."""
    rng = np.random.default_rng(seed)
    truth = 2.0 + rng.normal(0, 3, n_items)
    first = np.arange(n_raters) % 2 == 0
    x = 100 + rng.normal(0, leniency, n_raters) + rng.normal(0, 8, (n_items, n_raters)) + truth[:, np.newaxis] * first
    group = ["first" if one else "second" for one in first]
    return ratings_of(np.clip(np.round(x), 0, 200), pv.Scale.range(0, 200), group=group), truth


@pytest.mark.slow
@pytest.mark.parametrize("leniency", [0.0, 6.0])
def test_shrunken_differences_are_closer_to_the_truth_and_the_top_one_is_not_too_large(leniency: float) -> None:
    """Without leniency the top item has the posterior mean of a normal model; else the group's mean is uncertain."""
    errors: dict[str, list[float]] = {"raw": [], "shrunken": []}
    top: dict[str, list[float]] = {"raw": [], "shrunken": []}
    for seed in range(200):
        ratings, truth = normal_study(seed, leniency)
        axes = list(compared(ratings, ["group"], {}))  # without the list of uncertain items, which takes longer
        rows = lists.differences(ratings, family(ratings, axes, None, Draws.permuted(40, seed), Running(threads=1)))
        sign = np.where(rows["group"] == "first", 1.0, -1.0)
        true = sign * truth[[int(item[1:]) for item in rows["item"]]]
        at = int(np.argmax(np.abs(rows["z"].to_numpy())))
        side = float(np.sign(rows["z"][at]))
        for name, column in (("raw", "difference"), ("shrunken", "shrunken")):
            off = rows[column].to_numpy() - true
            errors[name].append(float(np.mean(off**2)))
            top[name].append(side * float(off[at]))
    gain = np.array(errors["raw"]) - np.array(errors["shrunken"])
    assert gain.mean() > 4 * gain.std() / math.sqrt(len(gain))
    assert np.mean(top["raw"]) > 1.0
    assert np.mean(top["shrunken"]) < 0.4 * np.mean(top["raw"])
    if leniency == 0:
        error = np.std(top["shrunken"]) / math.sqrt(len(gain))
        assert abs(np.mean(top["shrunken"])) < 3 * error


def test_without_true_differences_nothing_is_left_but_leniency() -> None:
    rng = np.random.default_rng(4)
    group = ["a" if r < 30 else "b" for r in range(60)]
    x = np.round(50 + rng.normal(0, 8, (80, 60)) + 10 * (np.arange(60) < 30)).clip(0, 100)
    rows = pv.items(ratings_of(x, pv.Scale.range(0, 100), group=group), "group", permutations=40).divided
    off, left = (np.abs(rows[column].to_numpy() - 10) for column in ("difference", "shrunken"))
    assert off.max() > 5
    assert left.max() < off.max() / 2
    assert rows["shrunken"].mean() == pytest.approx(10, abs=0.5)


# Claims --------------------------------------------------------------------------------------------------------------
def null_study(seed: int, design: str) -> pv.Ratings:
    rng = np.random.default_rng(seed)
    if design == "crossed":
        scores = drawn(seed, 350, 104)
    else:
        whole = drawn(seed, 300, 200)
        scores = np.full(whole.shape, np.nan)
        for row, full in zip(scores, whole, strict=True):
            chosen = rng.choice(200, 4, replace=False)
            row[chosen] = full[chosen]
    n = scores.shape[1]
    return ratings_of(scores, gender=rng.choice(["m", "w"], n).tolist(), age=rng.choice(list("abcd"), n).tolist())


@pytest.mark.claims
@pytest.mark.parametrize("design", ["crossed", "sparse"])
def test_without_any_difference_an_item_is_claimed_in_5_of_100_studies_at_most(design: str) -> None:
    n, below, claims, smallest = 60, 0, 0, []  # rates by design are in the suite of claims
    for seed in range(n):
        found = pv.items(null_study(seed, design), ["gender", "age"], permutations=99, seed=seed)
        p = min(found.settings["least_p"].values())
        below += p <= 0.05
        claims += claimed(found).height > 0
        smallest.append(p)
    assert below <= stats.binom.ppf(0.999, n, 0.05)
    assert claims <= below
    if design == "crossed":
        assert np.mean(np.array(smallest) <= 0.5) > 0.35  # a test that never rejects would pass the rest
    else:  # four ratings fall into two and two in six ways, so that nothing can be claimed
        assert min(smallest) > 0.2


def planted(shift: float = 2.5) -> pv.Ratings:
    """Return a study in which women rate item 7 higher, by so much on a latent scale, and nothing else differs."""
    rng = np.random.default_rng(8)
    women = np.arange(80) % 2 == 0
    latent = rng.normal(0, 1, (60, 1)) + rng.normal(size=(60, 80))
    latent[7] = rng.normal(size=80) + shift * women
    scores = np.digitize(latent, [-1.5, -0.5, 0.5, 1.5]).astype(float)
    return ratings_of(
        scores, gender=["Woman" if one else "Man" for one in women], age=[list("abc")[r // 2 % 3] for r in range(80)]
    )


def test_a_planted_item_is_found_and_said() -> None:
    found = pv.items(planted(), ["gender", "age"])
    first = found.divided.row(0, named=True)
    assert (first["item"], first["axis"], first["group"], first["direction"]) == ("i007", "gender", "Woman", "higher")
    assert claimed(found)["item"].to_list() == ["i007"]
    assert 0 < first["shrunken"] < first["difference"]
    assert found.findings()[:-1] == [
        "Item i007 divides the raters: gender: Woman rate it higher, by about "
        f"{first['shrunken']:.2g} points (shrunken), p = .002 corrected over 240 comparisons."
    ]
    statement = found.statements()[0]
    assert (statement.axis, statement.group, statement.claim) == ("gender", "Woman", True)
    assert statement.p == first["p_adjusted"]
    assert statement.weight == 4.0 - first["p_adjusted"]


def test_a_planted_item_is_found_among_items_that_few_rate() -> None:
    """Sixteen ratings of each item: too few to show, enough to tell."""
    rng = np.random.default_rng(4)
    women = np.arange(200) % 2 == 0
    scores = np.full((60, 200), np.nan)
    for i, row in enumerate(scores):
        chosen = rng.choice(200, 16, replace=False)
        latent = rng.normal(0, 0.5) + rng.normal(size=16) + (5 * (women[chosen] - 0.5) if i == 7 else 0)
        row[chosen] = np.digitize(latent, [-1.5, -0.5, 0.5, 1.5])
    ratings = ratings_of(scores, gender=np.where(women, "Woman", "Man").tolist())
    found = pv.items(ratings, "gender", min_group_size=12)
    first = found.divided.row(0, named=True)
    assert (first["item"], first["group"], first["direction"]) == ("i007", "Woman", "higher")
    assert first["difference"] is None
    assert f"Woman rate it higher, by about {first['shrunken']:.1f} points (shrunken), p = " in found.findings()[0]


def test_several_items_are_counted_and_the_first_is_named() -> None:
    effect = pv.Effect({"gender": "Woman"}, shared_sd=2.0)
    found = pv.items(pv.simulate(n_items=30, n_raters=60, effects=[effect], seed=1).ratings, "gender")
    (sentence,) = found.findings()[:-1]
    n = claimed(found)["item"].n_unique()
    assert n > 3
    first = found.divided["item"][0]
    assert sentence.startswith(f"{n} items divide groups, corrected over ")
    assert f"The clearest is item {first}: gender: " in sentence


def test_nothing_is_claimed_without_a_difference_or_without_enough_shuffles() -> None:
    found = pv.items(planted(0), ["gender", "age"])
    p = found.divided["p_adjusted"][0]
    assert found.findings()[:-1] == [
        "No item is certain to divide groups: the largest of 240 differences is within what shuffled raters give, "
        f"p = {p:.3f}.".replace("0.", ".")
    ]
    assert found.statements()[0].weight < 2
    # With 39 shuffles the smallest p is .05 for two tails, so that nothing can be decided.
    few = pv.items(planted(), ["gender", "age"], permutations=39, max_permutations=39)
    assert (few.divided["p_adjusted"][0], claimed(few).height) == (0.05, 0)
    assert few.findings()[:-1] == [
        "Whether an item divides groups is undecided: the largest of 240 differences has p = .050 from 39 "
        "shuffles; more permutations would decide."
    ]
    none = pv.items(planted(), "gender", permutations=0)
    assert none.divided["p_value"].null_count() == none.divided["p_adjusted"].null_count() == 60
    assert (none.divided["item"][0], none.settings["largest_z_by_chance"]) == ("i007", None)
    assert none.findings()[:-1] == ["Without permutations, no item is said to divide groups."]


def test_one_item_keeps_its_difference_and_equal_ratings_have_none() -> None:
    row = pv.items(ratings_of(drawn(1, 1, 30), group=in_turn("ab", 30)), "group", permutations=9).divided
    assert row["shrunken"].item() == pytest.approx(row["difference"].item())
    found = pv.items(ratings_of(np.full((4, 20), 3.0), group=in_turn("ab", 20)), "group", permutations=9).divided
    same = found.select("direction", "difference", "shrunken", "z", "p_adjusted").unique()
    assert same.rows() == [(None, 0.0, 0.0, 0.0, 1.0)]


# What is withheld ----------------------------------------------------------------------------------------------------
def few_who_differ(top: int = 4) -> pv.Ratings:
    """Return ratings in which four of group b, against twelve of a, certainly differ on the first two of twelve items.

    On the next items as few do not differ, and on the last, which all rated, nobody does.
    """
    rng, n_a, n_b, low = np.random.default_rng(6), 44, 14, max(2, top // 20)
    scores = np.full((12, n_a + n_b), np.nan)
    for i, row in enumerate(scores):
        row[rng.choice(n_a, 12, replace=False) if i < 11 else slice(n_a)] = 0
        row[n_a + rng.choice(n_b, 4, replace=False) if i < 11 else slice(n_a, None)] = top - low if i < 2 else 0
        row += rng.integers(0, low, len(row))
    return ratings_of(scores, pv.Scale.range(0, top), group=["a"] * n_a + ["b"] * n_b)


def test_few_ratings_on_a_side_leave_only_claims_without_numbers_and_the_item_without_scores() -> None:
    ratings = few_who_differ()
    found = pv.items(ratings, "group", permutations=199, within=None)
    assert found.divided["item"].to_list() == ["i000", "i001", "i011"]
    few = found.divided.head(2)
    assert (few["p_adjusted"] < 0.05).all()
    assert few.select(HIDDEN).null_count().row(0) == (2,) * len(HIDDEN)
    assert few["shrunken"].round(1).to_list() == few["shrunken"].to_list()
    assert "withheld" in few["note"][0]
    assert found.divided["note"][2] == ""
    assert (found.settings["n_comparisons"], found.settings["n_unlisted"]) == (12, 9)
    assert found.findings()[0].startswith("2 items divide groups, ")
    assert found.findings()[1].startswith("9 differences on items are not listed: with fewer than 5 raters on a side")
    assert set(found.uncertain["item"]) == {f"i{at:03}" for at in range(2, 12)}
    assert set(found.distributions()["item"]) == set(found.uncertain["item"])
    with pytest.raises(SelectionError, match="item 'i001' is said to divide groups, and few raters are on a side"):
        found.distributions(["i003", "i001"])
    whole = pv.items(ratings, "group", permutations=199, within=None, min_group_size=2)
    assert (whole.divided.height, whole.uncertain.height, whole.settings["n_unlisted"]) == (12, 12, 0)
    assert whole.divided["z"].null_count() == 0


def test_an_item_on_which_few_are_said_to_differ_is_shown_without_scores() -> None:
    ratings = few_who_differ()
    given: dict[str, Any] = {"by": "group", "permutations": 199, "within": None}
    view = pv.item_view(ratings, "i001", **given)
    assert [view.table(name).height for name in ("groups", "distribution", "use")] == [1, 0, 0]
    assert view.to_frame().select("plurality", "mean", "n_ratings").row(0) == (None, None, 16)
    assert view.findings()[0].startswith("Item i001: 16 ratings. Its scores are not shown: a group with fewer than 5 ")
    assert len(view.findings()) == 2  # and which groups are withheld
    assert "They are not shown" in json.dumps(pv.plots.item_groups(view).to_dict())
    assert [one.title for one in item_tables(view)] == []
    for item, least in (("i001", 1), ("i005", 5), ("i011", 5)):
        view = pv.item_view(ratings, item, **given, min_group_size=least)
        assert view.table("use")["n_ratings"].sum() >= 16
    long = pv.items(few_who_differ(100), **given).divided  # on a long scale differences are rounded more
    few = long.filter(pl.col("note") != "")["shrunken"]
    assert (few.len(), few.round(0).to_list()) == (2, few.to_list())


def test_small_groups_are_not_compared() -> None:
    def found(*group: str, by: str = "group") -> pv.Items:
        return pv.items(ratings_of(drawn(2, 10, 30), group=group), by, permutations=9)

    several = found(*["tiny"] * 3, *["wee"] * 2, *["big"] * 14, *["other"] * 11)
    assert set(several.divided["group"]) <= {"big", "other"}
    assert several.settings["n_comparisons"] == 20
    assert "tiny" not in several.to_json()
    two = found(*["tiny"] * 3, *["big"] * 27)
    assert (two.divided.height, two.findings()[:-1]) == (0, [])
    assert found(*["big"] * 30, by="rater").divided.is_empty()


# Who is shuffled with whom --------------------------------------------------------------------------------------------
def test_groups_that_strata_keep_apart_are_not_tested() -> None:
    batch = ["first" if r < 15 else "second" for r in range(30)]
    ratings = ratings_of(drawn(2, 10, 30), batch=batch, gender=in_turn("mw", 30))
    given: dict[str, Any] = {"by": ["batch", "gender"], "within": "batch", "permutations": 19}
    found = pv.items(ratings, **given)
    assert (found.divided["axis"].unique().to_list(), found.settings["unmoved"]) == (["gender"], ["batch"])
    assert found.findings()[1] == (
        "batch: no raters of different groups can be exchanged (raters shuffled within batch), so no item is tested."
    )
    view = pv.item_view(ratings, "i003", **given).to_frame()
    assert view.filter(axis="batch")["note"].str.contains("cannot be shuffled").all()
    assert [view.filter(axis=axis)["p_value"].null_count() for axis in ("batch", "gender")] == [2, 0]


def test_strata_take_away_what_batches_cause() -> None:
    """Women came in a batch that saw harder anchors and rated one item higher, whoever was in it."""
    rng = np.random.default_rng(3)
    first = np.arange(120) < 60
    women = rng.random(120) < np.where(first, 0.8, 0.2)
    scores = drawn(3, 40, 120, leniency=0.0)
    scores[5] = np.clip(scores[5] * 0.2 + 3.0 * first, 0, 4).round()
    ratings = ratings_of(
        scores, gender=np.where(women, "w", "m").tolist(), batch=np.where(first, "first", "second").tolist()
    )
    p = [pv.items(ratings, "gender", within=one, permutations=200).divided.filter(item="i005")["p_adjusted"][0]
         for one in (None, "batch")]  # fmt: skip
    assert p[0] < 0.05 < p[1]


def test_with_several_values_each_value_is_compared_with_those_who_lack_it() -> None:
    scores = drawn(5, 12, 40)
    race = [["x;y", "x", "y", "z"][r % 4] for r in range(40)]
    ratings = ratings_of(scores, race=race)
    found = pv.items(ratings, "race", several={"race": ";"}, permutations=19)
    assert set(found.divided["group"]) <= {"x", "y", "z"}
    assert (found.divided.height, found.settings["n_comparisons"]) == (12, 36)
    has = np.array(["y" in one.split(";") for one in race])
    own = {i: z for (i, _), z in z_values(scores, has.astype(int), [1]).items()}
    for row in found.divided.filter(group="y").iter_rows(named=True):
        assert row["z"] == pytest.approx(own[int(row["item"][1:])])
    with pytest.raises(InputError, match="groups overlap"):
        pv.items(ratings_of(scores, race=race, age=race), [("race", "age")], several={"race": ";"})


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"permutations": -1}, InputError, "is -[13]\\."),
        ({"seed": -1}, InputError, "seed is -1"),
        ({"within": "nobody"}, SelectionError, "no attribute 'nobody'"),
        ({"by": "nobody"}, SelectionError, "no attribute 'nobody'"),
    ],
)
def test_bad_options(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        pv.items(ratings_of(drawn(1, 3, 12), gender=in_turn("mw", 12)), **{"by": "gender", **options})


# An item opened from the list -----------------------------------------------------------------------------------------
def test_an_item_carries_the_p_of_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    many = ["x;y" if r % 3 else "x" if r % 2 else "z" for r in range(50)]

    def rated() -> pv.Ratings:
        return ratings_of(drawn(4, 25, 50, 0.2), gender=in_turn("mw", 50), age=in_turn("abc", 50), many=many)

    options: dict[str, Any] = {"several": {"many": ";"}, "permutations": 80, "seed": 2}
    ratings, by = rated(), ["gender", "age", "many"]
    found = pv.items(ratings, by, **options)
    for item in found.divided["item"].unique(maintain_order=True)[:5]:
        groups = pv.item_view(ratings, item, by, **options).to_frame()
        for row in found.divided.filter(item=item).iter_rows(named=True):
            same = groups.filter(axis=row["axis"], group=row["group"])["p_adjusted_items"]
            assert same.is_empty() or same.to_list() == [row["p_adjusted"]]
        assert groups["p_adjusted_items"].drop_nulls().len() > 4
        assert (groups["p_adjusted_items"].drop_nulls() >= found.divided["p_adjusted"].min()).all()
    for name, value in (("lenses.items.dividing.CELLS", 100), ("domain.counts.cut", functools.partial(cut, size=70))):
        monkeypatch.setattr(f"plurivox.{name}", value)  # neither blocks nor parts change a bit
        again = pv.items(rated(), by, **options, threads=2)
        assert (again.to_json(), again.null.tolist()) == (found.to_json(), found.null.tolist())


def test_an_item_is_not_more_certain_than_the_list_says_unless_it_was_fixed() -> None:
    ratings = planted(1.0)
    view = pv.item_view(ratings, "i007", ["gender", "age"])
    row = view.to_frame().filter(group="Woman").row(0, named=True)
    assert row["p_adjusted"] < 0.05 < row["p_adjusted_items"]
    told = " ".join(view.findings())
    assert "No group certainly stands apart. The surest is gender: " in told
    assert "on its own p = " in told
    assert f"among all 60 items p = {row['p_adjusted_items']:.3f}".replace("0.", ".") in told
    fixed = pv.item_view(ratings, "i007", ["gender", "age"], fixed=True)
    assert fixed.to_frame()["p_adjusted_items"].null_count() == fixed.to_frame().height
    assert "stand apart from each other" in " ".join(fixed.findings())
    assert fixed.to_frame().drop("p_adjusted_items").equals(view.to_frame().drop("p_adjusted_items"))
    sure = pv.item_view(planted(), "i007", ["gender", "age"])
    assert "Man and Woman stand apart from each other" in " ".join(sure.findings())
    assert "after correction over 5 groups; among all 60 items p = .002" in " ".join(sure.findings())
    assert pv.ItemView.from_json(sure.to_json()).findings() == sure.findings()
