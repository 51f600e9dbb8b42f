"""The vote of a side on an item, and who gets it when points tie."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.statistics.levels import Floats

TIES = ("share", "lowest", "random")


def votes(counts: NDArray[Any], ties: str = "share", priorities: NDArray[np.uint64] | None = None) -> Floats:
    """Return each item's vote, (items, …, L): 1 on the plurality, 0 everywhere for unrated items.

    Tied points share the vote, or the lowest gets it, or (``"random"``) the one with the highest priority;
    ``priorities`` are above 0, come from :func:`tie_priorities`, and broadcast to the counts.
    """
    n = np.asarray(counts)
    top = n.max(axis=-1, keepdims=True)
    tied = (n == top) & (top > 0)
    if ties == "share":
        shared: Floats = tied / np.maximum(tied.sum(axis=-1, keepdims=True), 1)
        return shared
    if ties == "random" and priorities is not None:
        chosen = np.where(tied, priorities, np.uint64(0)).argmax(axis=-1)
    else:
        chosen = tied.argmax(axis=-1)
    winner: Floats = ((np.arange(n.shape[-1]) == chosen[..., None]) & tied).astype(float)
    return winner


def tie_priorities(items: Sequence[object], n_points: int, *, seed: int, side: int) -> NDArray[np.uint64]:
    """Return an odd number for each item and point: a hash of the seed, the item's id as text, point and side.

    So a tie is decided in the same way for any order of items, in every draw and on every machine.
    """
    texts = (f"{seed}:{item}".encode() for item in items)
    keys = b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in texts)
    item = np.frombuffer(keys, dtype="<u8").astype(np.uint64)
    place = np.arange(side + 1, side + 1 + 2 * n_points, 2, dtype=np.uint64)
    return _mixed(item[:, None] + _GAMMA * place) | np.uint64(1)


def tie_ranks(items: Sequence[object], n_points: int, ties: str, seed: int) -> NDArray[np.int32]:
    """Return for each item, side and point the rank that decides a tie; empty if tied points share."""
    if ties == "share":
        return np.zeros((0, 2, n_points), dtype=np.int32)
    if ties == "lowest":
        lowest = np.arange(n_points, 0, -1, dtype=np.int32)
        return np.ascontiguousarray(np.broadcast_to(lowest, (len(items), 2, n_points)))
    both = [tie_priorities(items, n_points, seed=seed, side=side) for side in (0, 1)]
    return np.argsort(np.argsort(np.stack(both, axis=1), axis=-1), axis=-1).astype(np.int32)


_GAMMA = np.uint64(0x9E3779B97F4A7C15)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scatter 64-bit numbers as splitmix64 does; products wrap around."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))
