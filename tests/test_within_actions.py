"""Raters are compared with those who saw the same items: in advice, selection and plans."""

from __future__ import annotations

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
    raters = pl.DataFrame(
        {
            "rater": [f"r{rater:02}" for rater in range(40)],
            "batch": ["easy"] * 20 + ["hard"] * 20,
            "gender": ["Man", "Woman"] * 20,
        }
    )
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale(range(4)), raters=raters)
    unsafe = pl.DataFrame(
        {"item": [f"i{i:02}" for i in items], "rater": ["t"] * 80, "score": (severity > 0).astype(int)}
    )
    return ratings, pv.Ratings.from_frame(unsafe, scale=pv.Scale(range(2)))


def batches_of(found: pv.Selection) -> list[str]:
    return ["easy" if rater < "r20" else "hard" for rater in found.to_frame()["rater"].to_list()]


def test_nobody_loses_by_harder_items() -> None:
    ratings, trained = two_batches()
    asked = {"by": "gender", "per_group": 5, "order": "value", "bootstrap": 0}
    with_all = batches_of(pv.select_raters(ratings, trained, within=None, **asked))
    assert with_all.count("hard") == 0
    for within in ("auto", "batch"):
        found = pv.select_raters(ratings, trained, within=within, **asked)
        assert 2 <= batches_of(found).count("hard") <= 8
    assert "within batch" in " ".join(found.findings())


def test_one_block_of_all_changes_nothing() -> None:
    study = pv.simulate(n_items=40, n_raters=30, seed=3)
    asked = {"by": "gender", "order": "value", "bootstrap": 0}
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
    asked = {"simulations": 2, "permutations": 100}
    held = pv.plan(ratings, "batch", within="batch", **asked).table("power")
    assert held["power_now"].to_list() == [None, None]
    assert held["why"].str.starts_with("no rater of another group shares its stratum").all()
    free = pv.plan(ratings, ["gender"], within="batch", **asked).table("power")
    assert free["why"].to_list() == ["", ""]
