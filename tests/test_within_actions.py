"""Raters are compared with those who saw the same items: in advice, selection and plans."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import plurivox as pv


def two_batches(seed: int = 0) -> tuple[pv.Ratings, pv.Ratings]:
    """Forty raters in two batches of items, of which the second is much harder; gender has nothing to do with it."""
    rng = np.random.default_rng(seed)
    rows, items = [], np.arange(80)
    severity = rng.normal(size=80)
    for rater in range(40):
        own = items[:40] if rater < 20 else items[40:]
        noise = 0.2 if rater < 20 else 2.5
        points = np.searchsorted([-1, 0, 1], severity[own] + noise * rng.normal(size=40))
        rows += [(f"i{i:02}", f"r{rater:02}", int(point)) for i, point in zip(own, points, strict=True)]
    frame = pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")
    raters = pl.DataFrame({
        "rater": [f"r{rater:02}" for rater in range(40)], "batch": ["easy"] * 20 + ["hard"] * 20,
        "gender": ["Man", "Woman"] * 20,
    })  # fmt: skip
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale(range(4)), raters=raters)
    unsafe = pl.DataFrame(
        {"item": [f"i{i:02}" for i in items], "rater": ["t"] * 80, "score": (severity > 0).astype(int)}
    )
    return ratings, pv.Ratings.from_frame(unsafe, scale=pv.Scale(range(2)))


def batches_of(found: pv.Selection) -> list[str]:
    return ["easy" if rater < "r20" else "hard" for rater in found.to_frame()["rater"].to_list()]


def test_nobody_loses_by_harder_items() -> None:
    """Each batch has half of the raters of each gender, and so two or three of five places."""
    ratings, trained = two_batches()
    asked: dict[str, Any] = {"by": "gender", "per_group": 5, "order": "value", "bootstrap": 0}
    assert batches_of(pv.select_raters(ratings, trained, within=None, **asked)).count("hard") == 0
    for within in ("auto", "batch"):
        for reference in (trained, "own group"):
            found = pv.select_raters(ratings, reference, within=within, **asked)
            batches = batches_of(found)
            assert all(2 <= batches[at : at + 5].count("hard") <= 3 for at in (0, 5))
            fairness = found.table("fairness")
            assert fairness["hard_eligible"].to_list() == [0.5, 0.5]
            assert fairness["hard_chosen"].to_list() == [batches[at : at + 5].count("hard") / 5 for at in (0, 5)]
    assert "within batch" in " ".join(found.findings())


def test_a_single_place_goes_to_either_batch() -> None:
    asked: dict[str, Any] = {"by": "gender", "per_group": 1, "order": "value", "bootstrap": 0}
    taken = [batches_of(pv.select_raters(*two_batches(), seed=seed, **asked)) for seed in range(12)]
    assert 6 <= sum(one.count("hard") for one in taken) <= 18


def test_without_blocks_values_are_adjusted_for_the_items() -> None:
    """Raters get random items of one half, of which the second is harder; nobody saw what another saw."""
    rng = np.random.default_rng(0)
    severity, rows = rng.normal(size=200), []
    for rater in range(40):
        own = rng.choice(100, 40, replace=False) + (100 if rater >= 20 else 0)
        noise = rng.uniform(0.8, 1.2) * (0.3 if rater < 20 else 1.5)
        points = np.searchsorted([-1, 0, 1], severity[own] + noise * rng.normal(size=40))
        rows += [(i, f"r{rater:02}", int(p), "ab"[rater % 2]) for i, p in zip(own.tolist(), points, strict=True)]
    frame = pl.DataFrame(rows, schema=["item", "rater", "score", "group"], orient="row")
    ratings = pv.Ratings.from_frame(frame, scale="0:3", rater_attributes=["group"])
    trained = pl.DataFrame({"item": range(200), "rater": ["t"] * 200, "score": (severity > 0).astype(int)})
    reference = pv.Ratings.from_frame(trained, scale="0:1")
    asked: dict[str, Any] = {"by": "group", "per_group": 5, "order": "value", "bootstrap": 0}
    assert batches_of(pv.select_raters(ratings, reference, within=None, **asked)).count("hard") == 0
    assert 3 <= batches_of(pv.select_raters(ratings, reference, **asked)).count("hard") <= 6


def test_one_block_of_all_changes_nothing() -> None:
    study = pv.simulate(n_items=40, n_raters=30, seed=3)
    asked: dict[str, Any] = {"by": "gender", "order": "value", "bootstrap": 0}
    assert study.trained is not None
    auto, free = (pv.select_raters(study.ratings, study.trained, within=one, **asked) for one in ("auto", None))
    assert auto.to_frame().equals(free.to_frame())


def test_advice_shuffles_within() -> None:
    ratings, trained = two_batches(1)
    found = {
        within: pv.advise(ratings, trained, "batch", bootstrap=0, within=within).settings for within in (None, "gender")
    }
    assert set(found) == {None, "gender"}
    alone = pv.advise(ratings, trained, "batch", bootstrap=0)  # each batch is a block: nobody to exchange it with
    assert not any("p <" in text for text in alone.findings())


def test_a_plan_keeps_the_strata_of_the_study() -> None:
    """A group in one stratum and its rest in another cannot be shuffled, so that nothing can be claimed."""
    ratings, _ = two_batches(2)
    asked: dict[str, Any] = {"simulations": 2, "permutations": 100}
    held = pv.plan(ratings, "batch", within="batch", **asked).table("power")
    assert held["power_now"].to_list() == [None, None]
    assert held["why"].str.starts_with("no rater of another group shares its stratum").all()
    free = pv.plan(ratings, ["gender"], within="batch", **asked).table("power")
    assert free["why"].to_list() == ["", ""]
