"""How often aggregation claims that labels hide a group, in studies where they do and where they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv

N = 40
"""Studies of each design; a rate of .05 gives more than 6 claims in 14 of 1,000 series, one of .25 in 9 of 10."""
DESIGNS: dict[str, dict[str, Any]] = {
    "crossed": {"n_items": 60, "sizes": (10, 20)},
    "few raters of an item": {"n_items": 300, "sizes": (20, 40), "per_item": 6},
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
    rows = []
    for i in range(n_items):
        level = rng.normal(10, 2)
        for r in range(n) if per_item is None else rng.choice(n, per_item, replace=False).tolist():
            score = int(np.clip(round(level + bias[r] + rng.normal(0, sd[r])), 0, 20))
            rows.append((i, f"r{r:03}", score, "small" if r < sizes[0] else "large"))
    frame = pl.DataFrame(rows, schema=["item", "rater", "score", "g"], orient="row")
    return pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 20), rater_attributes=["g"])


def claims(name: str, noise: str, n: int = N, **more: Any) -> int:
    """Return in how many of n studies anything is claimed."""
    asked: dict[str, Any] = {"permutations": 199, "max_permutations": 199, "interval": "none"}
    found = 0
    for seed in range(n):
        made = study(seed, **DESIGNS[name], noise=NOISE[noise], **more)
        found += any(row.claim for row in pv.aggregate(made, "g", **asked).rows)
    return found


@pytest.mark.claims
@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("name", DESIGNS)
def test_groups_of_one_view_are_seldom_said_to_be_hidden(name: str, noise: str) -> None:
    assert claims(name, noise) <= 6


@pytest.mark.claims
@pytest.mark.parametrize("name", DESIGNS)
def test_a_group_that_rates_higher_is_found(name: str) -> None:
    assert claims(name, "alike", n=10, shift=1.2) >= 9
