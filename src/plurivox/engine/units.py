"""Units of a bootstrap over items: single items, or bundles of them where there are very many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST_UNITS = 20_000
"""Units that a bootstrap draws; with more items, a unit is a few items of one part, chosen at random."""
_LEAST = 200  # units of a part, however many parts there are


def units_of(
    codes: NDArray[np.int64], n_parts: int, seed: int, most: int = MOST_UNITS
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the unit of each item, and where the units of each part begin; a unit's items are of one part.

    Parameters
    ----------
    codes
        The part of each item.
    n_parts
        How many parts there are.
    seed
        What decides which items make a bundle.
    most
        About how many units to make at most.

    Examples
    --------
    >>> unit, starts = units_of(np.array([0, 1, 0]), 2, seed=0)
    >>> unit.tolist(), starts.tolist()
    ([0, 2, 1], [0, 2, 3])
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1005,)))
    sizes = np.bincount(codes, minlength=n_parts)
    n_units = sizes.copy()
    if len(codes) > most:
        n_units = np.minimum(sizes, np.maximum(sizes * most // len(codes), _LEAST))
    starts = np.concatenate([[0], np.cumsum(n_units)])
    unit = np.empty(len(codes), dtype=np.int64)
    for number, size in enumerate(sizes.tolist()):
        place = np.arange(size) if size == n_units[number] else rng.permutation(size)
        unit[codes == number] = starts[number] + place * n_units[number] // max(size, 1)
    return unit, starts
