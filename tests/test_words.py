"""Groups under sixteen permutations in one word: the same bits as with a place for each, and as one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plurivox.kernels import moments, variation
from plurivox.kernels.shuffling import FEW, TOGETHER, fill_places, fill_words, place_in


@pytest.mark.parametrize("n_groups", [1, 2, 8, FEW])
@pytest.mark.parametrize("n_draws", [1, 5, TOGETHER, TOGETHER + 3])
@pytest.mark.parametrize("crossed", [False, True])
def test_words_and_places_give_the_same_bits(n_groups: int, n_draws: int, crossed: bool) -> None:
    rng = np.random.default_rng([n_groups, n_draws, crossed])
    n_raters, n_items = 40, 25
    outside = rng.random(n_raters) < 0.2  # in no permutation inside
    labels = rng.integers(n_groups, size=(n_draws, n_raters)).astype(np.int32)
    labels[:, outside] = -1
    sizes = np.full(n_items, 12) if crossed else rng.integers(0, 30, n_items)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    same = rng.permutation(n_raters)[:12]
    raters = np.concatenate([same if crossed else rng.permutation(n_raters)[:size] for size in sizes]).astype(np.int32)
    y = rng.normal(size=len(raters))
    blocks = -(-n_draws // TOGETHER)
    words, places = np.zeros((blocks, n_raters), np.uint64), np.zeros((blocks, n_raters, TOGETHER), np.uint16)
    fill_words(labels, n_groups, words)
    fill_places(labels, n_groups, places)
    no_words, no_places = np.zeros((1, 0), np.uint64), np.zeros((1, 0, TOGETHER), np.uint16)
    squares = np.array([_squares(offsets, raters, labels, *form, n_groups) for form in (
        (words, no_places), (no_words, places), (no_words, no_places)
    )])  # fmt: skip
    assert squares[0].tobytes() == squares[1].tobytes() == squares[2].tobytes()
    counts = np.zeros((n_items, n_groups + 1))
    item = np.repeat(np.arange(n_items), sizes)
    np.add.at(counts, (item, labels[0, raters]), 1)
    inside = counts[:, :n_groups].sum(axis=1)
    literal = (counts[:, :n_groups] ** 2 / np.maximum(inside, 1)[:, None]).sum(axis=0)
    np.testing.assert_allclose(squares[0][0, :, 0], literal, rtol=1e-12)
    found = []
    for form in ((words, no_places), (no_words, places)):
        sums = np.zeros((n_draws, n_groups, moments.N_MOMENTS))
        moments.permuted_moments(offsets, raters, y, labels, *form, sums)
        found.append(sums.tobytes())
    assert found[0] == found[1]


def _squares(offsets: Any, raters: Any, labels: Any, words: Any, places: Any, n_groups: int) -> Any:
    squares = np.zeros((len(labels), n_groups, 2))
    variation.add_squares(offsets, raters, labels, words, places, np.zeros(0, np.uint8), squares)
    return squares


def test_a_word_holds_every_group() -> None:
    labels = np.array([[group] for group in (*range(FEW), -1)], np.int32)
    words = np.zeros((1, 1), np.uint64)
    fill_words(labels, FEW, words)
    assert [int(place_in(words[0, 0], p)) for p in range(TOGETHER)] == [p * TOGETHER + p for p in range(TOGETHER)]
