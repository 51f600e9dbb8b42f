"""Drift of leniency over time: slopes against least squares, shuffles against theory, intervals against leaving out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from claims.rates import Rate, studies
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.infer.exchange import Exchange
from plurivox.infer.grouping import compared
from plurivox.infer.inference import Inference
from plurivox.infer.intervals import with_interval
from plurivox.infer.jackknife import in_block, most_blocks
from plurivox.infer.permutation import compare
from plurivox.lenses.variation import VariationSettings
from plurivox.lenses.variation import drift as module
from plurivox.lenses.variation.drift import Drifting, drifts
from support import some

HOW = Running()
VALUES = [0.0, 1.0, 2.0, 3.5, 6.0]


def table(
    seed: int = 0, n_items: int = 15, n_raters: int = 12, slopes: tuple[float, ...] = (0, 0, 0), *, again: float = 0.2
) -> pl.DataFrame:
    """Return sparse ratings at random times, some of them given again; the groups a, b and c drift by these slopes."""
    rng = np.random.default_rng(seed)
    item, rater = np.nonzero(rng.random((n_items, n_raters)) < 0.7)
    twice = rng.random(len(item)) < again
    item, rater = np.concatenate([item, item[twice]]), np.concatenate([rater, rater[twice]])
    time = rng.choice(10_000, len(item), replace=False) / 500
    pull = np.array(slopes)[rater % 3] * (time - 10)
    score = np.arange(n_items)[item] / n_items * 2 + rng.normal(0, 0.3, n_raters)[rater] + pull
    score = np.clip(np.round(score + rng.normal(0, 0.8, len(item)) + 1), 0, 4).astype(int)
    groups = ["abc"[r % 3] for r in rater]
    return pl.DataFrame({"item": item, "rater": rater, "score": score, "time": time, "group": groups})


def ratings_of(frame: pl.DataFrame) -> pv.Ratings:
    scale = pv.Scale(range(5), values=VALUES)
    return pv.Ratings.from_frame(frame, scale=scale, duplicates="keep", time="time", rater_attributes=["group"])


def measured(ratings: pv.Ratings, *by: str, least: int = 2) -> dict[str, Drifting]:
    axes = compared(ratings, by or ["group"], {}, least)
    return {one.name: one for one in drifts(ratings, axes, min_group_size=least)}


def by_least_squares(frame: pl.DataFrame, group: str | None = None) -> float:
    """Return the slope of scores less the means of their items on time, with an effect of every rater."""
    known = frame.filter(pl.col("time").is_not_nan()).with_columns(x=pl.col("score").replace_strict(range(5), VALUES))
    known = known.with_columns(y=pl.col("x") - pl.col("x").mean().over("item"))
    own = known if group is None else known.filter(group=group)
    raters = own["rater"].to_numpy()
    effects = (raters[:, None] == np.unique(raters)).astype(float)
    design = np.column_stack([own["time"].to_numpy(), effects])
    return float(np.linalg.lstsq(design, own["y"].to_numpy(), rcond=None)[0][0])


# The slope -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("missing", [False, True])
def test_slopes_against_least_squares(missing: bool) -> None:
    frame = table(slopes=(0.1, 0, -0.05))
    if missing:
        frame = frame.with_columns(time=pl.when(pl.int_range(pl.len()) % 5 == 0).then(np.nan).otherwise("time"))
    found = measured(ratings_of(frame), "group", "rater")
    assert found["all"].observed.item() == pytest.approx(by_least_squares(frame), abs=1e-12)
    expected = [by_least_squares(frame, group) for group in "abc"]
    assert found["group"].observed[:, 0] == pytest.approx(expected, abs=1e-12)
    single = [by_least_squares(frame.with_columns(group=pl.col("rater").cast(str)), str(r)) for r in range(12)]
    assert found["rater"].observed[:, 0] == pytest.approx(single, abs=1e-12)
    known = frame.filter(pl.col("time").is_not_nan())
    own = known.filter(group="b")
    assert found["group"].sizes[1] == (own["rater"].n_unique(), own["item"].n_unique(), own.height)


def test_dates_are_counted_in_days() -> None:
    frame = table(slopes=(0.1, 0, 0))
    moments = frame["time"] * 86_400_000_000
    dated = frame.with_columns(time=moments.round().cast(pl.Int64).cast(pl.Datetime("us")))
    days, numbers = (measured(ratings_of(one))["group"].observed for one in (dated, frame))
    assert days == pytest.approx(numbers, abs=1e-9)


# Shuffles ------------------------------------------------------------------------------------------------------------
def test_shuffles_against_theory() -> None:
    """With times of rater r in random order Σ d·y has mean 0 and variance Σd²·Σ(y − ȳ)²/(n − 1)."""
    frame = table()
    ratings = ratings_of(frame)
    found = measured(ratings, "group")
    y = frame.with_columns(x=pl.col("score").replace_strict(range(5), VALUES)).with_columns(
        y=pl.col("x") - pl.col("x").mean().over("item")
    )
    parts = y.group_by("group", "rater").agg(
        d=(pl.col("time") - pl.col("time").mean()).pow(2).sum(), v=pl.col("y").var()
    )
    by_group = parts.group_by("group", maintain_order=True).agg(
        ((pl.col("d") * pl.col("v")).sum().sqrt() / pl.col("d").sum()).alias("sd")
    ).sort("group")  # fmt: skip
    null = found["group"].null(Draws.permuted(4000, 3), HOW)
    assert null.shape == (4000, 3, 1)
    sd = by_group["sd"].to_numpy()
    assert null.std(axis=0)[:, 0] == pytest.approx(sd, rel=0.06)
    assert (np.abs(null.mean(axis=0)[:, 0]) < 5 * sd / np.sqrt(4000)).all()
    everyone = found["all"].null(Draws.permuted(4000, 3), HOW)
    together = parts["d"].sum()
    weights = np.array([parts.filter(group=g)["d"].sum() for g in "abc"]) / together
    assert everyone[:, 0, 0] == pytest.approx(null[:, :, 0] @ weights, abs=1e-12)  # one shuffle for all axes


def test_neither_threads_batches_axes_nor_rows_change_a_bit() -> None:
    frame, draws = table(2), Draws.permuted(64, 5)
    ratings = ratings_of(frame)
    whole = measured(ratings, "group", "rater")["group"].null(draws, HOW)
    one = measured(ratings)["group"]
    with ThreadPoolExecutor(3) as pool:
        for how in (Running(threads=1), Running(threads=4), Running(executor=pool)):
            assert np.array_equal(one.null(draws, how), whole)
    halves = [one.null(draws.between(*ends), HOW) for ends in ((0, 31), (31, 64))]
    assert np.array_equal(np.concatenate(halves), whole)
    turned = ratings_of(frame.sample(fraction=1.0, shuffle=True, seed=1))
    assert np.array_equal(measured(turned)["group"].null(draws, HOW), whole)
    assert not np.array_equal(one.null(Draws.permuted(64, 6), HOW), whole)
    assert one.null(Draws.observed(), HOW)[0] == pytest.approx(one.observed, abs=1e-12)  # shuffle 0


def p_values(frame: pl.DataFrame, n: int = 199, seed: int = 0) -> Any:
    found = measured(ratings_of(frame))["group"]
    return compare(found.observed, found.null(Draws.permuted(n, seed), HOW)).p_value[:, 0]


def test_a_planted_drift_is_found_in_one_family() -> None:
    ratings = ratings_of(table(3, 40, 30, (0.06, 0.0, -0.06)))
    asked = with_interval(VariationSettings(by=(("group",),), permutations=199, max_permutations=199))
    tested = [one.tested() for one in measured(ratings).values()]
    Inference(asked, HOW, Exchange.of(ratings, None)).decide(tested)
    assert (tested[1].adjusted[:, 0] < 0.05).tolist() == [True, False, True]
    assert some(tested[1].test).direction[:, 0].tolist()[::2] == ["above", "below"]


@pytest.mark.claims
def test_p_values_are_uniform_without_drift() -> None:
    """Raters differ in leniency and items in level, and nothing changes over time."""
    from scipy.stats import kstest

    found = np.concatenate([p_values(table(1000 + seed), 199, seed)[:1] for seed in range(studies(500))])
    assert kstest(found, "uniform").pvalue > 0.001
    assert np.mean(found <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(found))


# Intervals -----------------------------------------------------------------------------------------------------------
def test_values_left_out_against_least_squares_without_them() -> None:
    frame = table(4, slopes=(0.1, 0, 0))
    ratings = ratings_of(frame)
    found = measured(ratings)["group"]
    left = found.left_out("both", HOW)
    items, *raters = left.each

    def slopes(rest: pl.DataFrame) -> list[float]:
        return [by_least_squares(rest, group) for group in "abc"]

    assert items[:, :, 0] == pytest.approx(
        np.array([slopes(frame.filter(pl.col("item") != i)) for i in range(15)]), abs=1e-10
    )
    expected = {r: slopes(frame.filter(pl.col("rater") != r)) for r in range(12)}
    for g, own in enumerate(raters):  # rater r is in group r % 3
        assert own[:, :, 0] == pytest.approx(np.array([expected[r] for r in range(g, 12, 3)]), abs=1e-10)
    block = in_block(frame["item"], frame["rater"], most_blocks(frame.height))
    kept = [frame.filter(pl.Series(block != b)) for b in range(5)]
    assert some(left.ratings)[:5, :, 0] == pytest.approx(np.array([slopes(rest) for rest in kept]), abs=1e-10)


def test_single_raters_generalise_over_items_alone() -> None:
    found = measured(ratings_of(table(5)), "rater")["rater"]
    left = found.left_out("both", HOW)
    assert (len(left.each), left.ratings) == (1, None)
    low, high, _ = left.interval(["plain"], [(-np.inf, np.inf)])
    assert (low < found.observed).all()
    assert (found.observed < high).all()


def test_the_bootstrap_against_copies_of_items_and_raters() -> None:
    frame = table(6)
    found = measured(ratings_of(frame))["group"]
    drawn = found.bootstrap(3, 7, "both", HOW)
    draws = Draws.resampled(3, 7, "both")
    items, raters = draws.item_weights(15), draws.rater_weights(found.codes)
    for d in range(3):
        copies = [
            frame.with_columns(item=pl.col("item") + 1000 * a, rater=pl.col("rater") + 1000 * b).filter(
                pl.Series((items[d][frame["item"]] > a) & (raters[d][frame["rater"]] > b))
            )
            for a in range(items[d].max())
            for b in range(raters[d].max())
        ]
        whole = pl.concat(copies)
        # A copy of a rater rated the same items: means are over all of them, and copies of items have the same.
        assert drawn[d, :, 0] == pytest.approx([by_least_squares(whole, g) for g in "abc"], abs=1e-10)


@pytest.mark.claims
def test_intervals_hold_the_drift_that_was_planted() -> None:
    """Raters drift each in their own way; of 300 studies the interval of all raters holds the mean slope in 92 %.

    Fewer must not contradict it.
    """
    held = []
    n = studies(300)
    for seed in range(n):
        rng = np.random.default_rng(seed)
        own = rng.normal(0.03, 0.05, 20)
        item, rater = np.nonzero(rng.random((30, 20)) < 0.6)
        time = rng.random(len(item)) * 20
        score = rng.normal(0, 1, 30)[item] + own[rater] * (time - 10) + rng.normal(0, 0.5, len(item))
        score = np.clip(np.round(10 * score), -100, 100).astype(int)
        frame = pl.DataFrame({"item": item, "rater": rater, "score": score, "time": time})
        ratings = pv.Ratings.from_frame(frame, scale="-100:100", time="time")
        (found,) = drifts(ratings)
        low, high, _ = found.left_out("both", HOW).interval(["plain"], [(-np.inf, np.inf)])
        held.append(low[0, 0] <= 0.3 * (1 - 1 / 12) <= high[0, 0])
    assert (np.mean(held) if n == 300 else Rate(sum(held), n).high) >= 0.92


# What is undefined ---------------------------------------------------------------------------------------------------
def frame_of(rows: list[tuple[int, str, int, float]]) -> pv.Ratings:
    frame = pl.DataFrame(rows, schema=["item", "rater", "score", "time"], orient="row")
    return pv.Ratings.from_frame(frame, scale="0:4", time="time", duplicates="keep")


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([(1, "a", 2, 1.0), (2, "a", 3, 1.0), (1, "b", 2, 5.0)], module.NO_TIMES),
        ([(1, "a", 2, np.nan), (2, "a", 3, 1.0), (1, "b", 2, np.nan)], module.NO_TIMES),
        ([(1, "a", 2, 1.0), (2, "a", 3, 2.0), (3, "b", 2, 5.0)], module.NO_COMPANY),
        ([(1, "a", 2, 1.0), (2, "a", 2, 2.0), (1, "b", 2, 5.0), (2, "b", 2, 1.0)], module.ALIKE),
        ([(1, "a", 2, 1.0), (2, "a", 3, 2.0), (1, "b", 0, 1.0), (2, "b", 4, 2.0)], module.SAME_TIME),
    ],
)
def test_undefined_slopes_have_a_reason(rows: list[tuple[int, str, int, float]], reason: str) -> None:
    (found,) = drifts(frame_of(rows), min_group_size=1)
    assert np.isnan(found.observed).all()
    assert found.notes == [{"drift": reason}]
    assert np.isnan(found.null(Draws.permuted(3, 0), HOW)).all()
    low, _, _ = found.left_out("both", HOW).interval(["plain"], [(-np.inf, np.inf)])
    assert np.isnan(low).all()


def test_who_is_withheld_and_whose_times_hardly_differ() -> None:
    ratings = ratings_of(table(7))
    (found,) = drifts(ratings, min_group_size=13)
    assert found.notes == [{"drift": module.TOO_FEW}]
    assert np.isnan(found.observed).all()
    assert measured(ratings, least=5)["group"].places == []
    assert drifts(pv.Ratings.from_frame(table(7), scale="0:4", duplicates="keep")) == []
    # 0.1 + 0.2 is not 0.3 in binary, but sums of one time, large as it may be, leave no slope.
    rows = [(i, "a", i % 3, 19_000.1) for i in range(7)] + [(i, "b", 2, float(i)) for i in range(7)]
    same = measured(frame_of(rows), "rater", least=1)["rater"]
    assert same.shown == ("b",)
    assert np.isnan(same.observed[:, 0]).tolist() == [True, False]


# Orders --------------------------------------------------------------------------------------------------------------
def in_order(seed: int, *, same: bool, view: float = 0.6, n_items: int = 30, n_raters: int = 60) -> pv.Ratings:
    """Return a study without drift, whose two groups see single items differently; in the same order, or in any."""
    rng = np.random.default_rng(seed)
    item, rater = (one.ravel() for one in np.indices((n_items, n_raters)))
    orders = np.array([np.arange(n_items) if same else rng.permutation(n_items) for _ in range(n_raters)])
    seen = rng.normal(0, 1, n_items)[item] + view * rng.normal(0, 1, (2, n_items))[rater % 2, item]
    score = np.clip(np.round(seen + rng.normal(0, 0.7, len(item)) + 2), 0, 4).astype(int)
    frame = pl.DataFrame({"item": item, "rater": rater, "score": score, "time": orders[rater, item]})
    frame = frame.with_columns(group=pl.col("rater").map_elements(lambda r: "ab"[r % 2], pl.String))
    return pv.Ratings.from_frame(frame, scale=range(5), time="time", rater_attributes=["group"])


def test_views_of_items_in_the_same_order_are_not_claimed_to_be_drift() -> None:
    """Shuffling rater by rater takes the views of a group's raters for independent, which only their orders can be."""
    small, claimed = 0, 0
    for seed in range(12):
        found = pv.variation(in_order(seed, same=True), "group", permutations=99, max_permutations=99, interval="none")
        rows = [row for row in found.rows if row.statistic == "drift" and row.axis == "group"]
        small += any((row.p_adjusted or 0.0) <= 0.05 for row in rows)
        claimed += any(row.claim for row in rows)
        assert any(text.startswith("No drift of groups by group is claimed") for text in found.findings())
    assert small >= 2  # else there would be nothing to guard against
    assert claimed == 0


def test_orders_of_raters_own_are_rarely_taken_for_the_same() -> None:
    found = [measured(in_order(seed, same=False))["group"].same_order for seed in range(100)]
    assert np.mean(found) == pytest.approx(0.5, abs=0.1)
    assert np.mean(np.array(found) <= 0.01) <= 0.06
    assert measured(in_order(0, same=True))["group"].same_order < 1e-9


def test_how_alike_orders_are_against_shuffles() -> None:
    """The standard deviation behind it is that of shuffles, for sparse designs and few ratings, too."""
    from scipy.stats import norm

    for frame in (table(3, 20, 24, again=0.0), table(4, 4, 24, again=0.0)):
        rng, drawn = np.random.default_rng(0), []
        for _ in range(120):  # a standard error of .09 of the mean and .065 of the deviation
            keyed = frame.with_columns(key=rng.random(frame.height))
            times = keyed.select(pl.col("time").sort_by("key").over("rater"))["time"]
            drawn.append(norm.isf(measured(ratings_of(frame.with_columns(time=times)))["group"].same_order))
        assert (np.mean(drawn), np.std(drawn)) == (pytest.approx(0, abs=0.25), pytest.approx(1, abs=0.25))


def test_raters_one_by_one_are_tested() -> None:
    rng = np.random.default_rng(2)
    item, rater = (one.ravel() for one in np.indices((40, 8)))
    time = np.array([rng.permutation(40) for _ in range(8)])[rater, item]
    score = np.clip(np.round(2 + rng.normal(0, 0.8, len(item)) + 0.05 * (time - 20) * (rater == 3)), 0, 4).astype(int)
    frame = pl.DataFrame({"item": item, "rater": rater, "score": score, "time": time})
    ratings = pv.Ratings.from_frame(frame, scale=range(5), time="time")
    result = pv.variation(ratings, "rater", permutations=199, max_permutations=199)
    found = {row.group: row for row in result.rows if row.statistic == "drift" and row.axis == "rater"}
    assert [name for name, row in found.items() if row.claim] == ["3"]
    assert all(0 < (row.p_value or 0) <= (row.p_adjusted or 0) <= 1 for row in found.values())
    assert found["3"].n_permutations == 199
    said = next(one for one in result.statements() if one.text.startswith("Scores of 1 of 8 raters drift over time"))
    assert said.claim
    assert said.rests_on.startswith("times shuffled within raters, 199 times; corrected over 8 raters")


def test_very_many_raters_are_not_tested_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_RATERS", 5)
    result = pv.variation(ratings_of(table(1)), "rater", permutations=19, interval="none")
    found = [row for row in result.rows if row.statistic == "drift" and row.axis == "rater"]
    assert len(found) == 12
    assert all(row.p_value is None for row in found)
