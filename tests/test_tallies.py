from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from plurivox.axis import Axis
from plurivox.engine import tallies
from plurivox.engine.tallies import Counts, group_counts, tally, usage
from plurivox.ratings import Ratings
from plurivox.scale import Scale


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few items make many blocks."""
    monkeypatch.setattr(tallies, "BLOCK", 4)


def study(seed: int, n_items: int = 23, n_raters: int = 9) -> tuple[Ratings, Axis]:
    rng = np.random.default_rng(seed)
    rated = rng.random((n_items, n_raters)) < 0.6
    rated[:, 0] = True  # every item has a rating, so that none is lost
    item, rater = np.nonzero(rated)
    frame = pl.DataFrame({"item": item, "rater": rater, "score": rng.integers(0, 4, len(item))})
    groups = [None, *rng.choice(["x", "y", "z"], n_raters - 1)]
    raters = pl.DataFrame({"rater": range(n_raters), "g": groups})
    ratings = Ratings.from_frame(frame, scale=Scale.range(0, 3), raters=raters)
    return ratings, Axis.of(ratings, "g", min_group_size=1)


def entropy(counts: Counts) -> NDArray[np.float64]:
    """A contribution of floats, whose sum depends on the order in which it is taken."""
    share = counts / np.maximum(counts.sum(axis=2, keepdims=True), 1)
    bits: NDArray[np.float64] = -(share * np.log(np.where(share > 0, share, 1.0))).sum(axis=2)
    return bits


def test_group_counts_against_a_literal_count() -> None:
    ratings, axis = study(1)
    group_of = dict(zip(ratings.raters["rater"], ratings.raters["g"], strict=True))
    literal = Counter(
        (item, group_of[rater], score) for item, rater, score in ratings.to_frame().iter_rows() if group_of[rater]
    )
    counts = group_counts(ratings, axis)
    assert counts.shape == (23, len(axis), 4)
    assert counts.sum() == literal.total()
    for (item, group, score), n in literal.items():
        assert counts[item, axis.groups.index(group), score] == n
    assert np.array_equal(group_counts(ratings)[:, 0], ratings.counts())


@given(st.integers(0, 10_000), st.lists(st.integers(0, 23), max_size=5))
@settings(max_examples=40)
def test_merge_over_any_partition_is_the_whole(seed: int, cuts: list[int]) -> None:
    ratings, axis = study(seed)
    bounds = [0, *sorted(cuts), 23]
    pieces = [tally(ratings, usage, axis, start=a, stop=b) for a, b in itertools.pairwise(bounds)]
    order = np.random.default_rng(seed).permutation(len(pieces))
    merged = pieces[order[0]]
    for i in order[1:]:
        merged = merged.merge(pieces[i])
    assert np.array_equal(merged.total(), tally(ratings, usage, axis).total())


@pytest.mark.parametrize("seed", range(5))
def test_whole_blocks_merge_to_the_same_bits(seed: int) -> None:
    ratings, axis = study(seed)
    whole = tally(ratings, entropy, axis).total()
    parts = [tally(ratings, entropy, axis, start=a, stop=b) for a, b in ((12, 23), (0, 4), (4, 12))]
    assert parts[0].merge(parts[1]).merge(parts[2]).total().tobytes() == whole.tobytes()
    assert parts[2].merge(parts[0]).merge(parts[1]).total().tobytes() == whole.tobytes()


def test_weights_are_copies_of_items() -> None:
    ratings, axis = study(3)
    weights = np.random.default_rng(0).integers(0, 3, ratings.n_items)
    by_hand = (entropy(group_counts(ratings, axis)) * weights[:, None]).sum(axis=0)
    assert tally(ratings, entropy, axis, weights=weights).total() == pytest.approx(by_hand, abs=1e-12)


def test_usage_is_how_often_each_group_used_each_point() -> None:
    ratings, axis = study(4)
    frame = ratings.to_frame().join(ratings.raters, on="rater")
    for code, group in enumerate(axis.groups):
        expected = [frame.filter(g=group, score=point).height for point in range(4)]
        assert tally(ratings, usage, axis).total()[code].tolist() == expected
