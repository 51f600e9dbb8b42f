"""How often aggregation claims that labels hide a group, in studies where they do and where they do not."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from claims.rates import alone, rate, too_often

DESIGNS: dict[str, dict[str, Any]] = {
    "crossed": {"n_items": 60, "sizes": (10, 20)},
    "few raters of an item": {"n_items": 150, "sizes": (20, 40), "per_item": 6},
}
NOISE = {"alike": (0.8, 0.8), "small group steady": (0.3, 1.1), "small group noisy": (1.3, 0.5)}


def study(
    seed: int, n_items: int, sizes: tuple[int, int], noise: tuple[float, float], per_item: int | None = None,
    shift: float = 0.0,
) -> pv.Ratings:  # fmt: skip
    """Return ratings on a scale whose ends are far away, of two groups that differ in noise, or also in leniency."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    sd, bias = np.repeat(noise, sizes), rng.normal(0, 0.3, n) + np.repeat((shift, 0.0), sizes)
    scores = rng.normal(10, 2, (n_items, 1)) + bias + sd * rng.normal(size=(n_items, n))
    item, rater = np.nonzero(rng.random((n_items, n)).argsort(axis=1) < (per_item or n))
    frame = pl.DataFrame(
        {
            "item": item, "rater": rater, "score": np.clip(np.round(scores[item, rater]), 0, 20).astype(int),
            "g": np.where(rater < sizes[0], "small", "large"),
        }
    )  # fmt: skip
    return pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 20), rater_attributes=["g"])


def claims(name: str, noise: str, seed: int, **more: Any) -> bool:
    """Tell whether anything is claimed of a study."""
    asked: dict[str, Any] = {"permutations": 199, "max_permutations": 199, "interval": "none"}
    made = study(seed, **DESIGNS[name], noise=NOISE[noise], **more)
    return any(row.claim for row in pv.aggregate(made, "g", **asked).rows)


@pytest.mark.claims
@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("name", DESIGNS)
def test_groups_of_one_view_are_seldom_said_to_be_hidden(name: str, noise: str) -> None:
    assert not too_often(partial(alone, partial(claims, name, noise)), 40)


@pytest.mark.claims
@pytest.mark.parametrize("name", DESIGNS)
def test_a_group_that_rates_higher_is_found(name: str) -> None:
    assert rate(partial(claims, name, "alike", shift=1.2), 10).times >= 9
