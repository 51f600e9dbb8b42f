"""Studies in which groups see every item alike, in the designs that rating studies come in; and some in which not.

A rater's latent score of an item is its severity, plus the rater's leniency, plus noise; it is cut into the points of a
scale. Groups are drawn at random, so that nothing distinguishes them unless a design says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import plurivox as pv

Floats = NDArray[np.float64]
EVEN = (-0.84, -0.25, 0.25, 0.84)
"""Cuts of a standard normal into five points that are used alike."""


@dataclass(frozen=True)
class Made:
    """A study, and the axes to compare its groups on."""

    ratings: pv.Ratings
    by: Sequence[Any]
    trained: pv.Ratings | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def built(
    rng: np.random.Generator,
    rated: NDArray[np.bool_],
    groups: Mapping[str, Sequence[str | None]],
    by: Sequence[Any],
    *,
    severity: Floats | None = None,
    leniency: float = 0.5,
    noise: Any = 0.8,
    spread: Any = 1.0,
    cuts: Sequence[float] = EVEN,
    views: Floats | None = None,
    higher: Floats | float = 0.0,
    **options: Any,
) -> Made:
    """Return a study of raters × items that were ``rated``.

    Parameters
    ----------
    noise, spread
        Of each rater or rating: how much is added by chance, and by how much scores are stretched around the middle.
    views
        Raters × items: what a rater sees in an item instead of its severity.
    higher
        Raters × 1: what a rater's group adds to every score.
    """
    n_raters, n_items = rated.shape
    truth: Floats = np.asarray(rng.normal(size=n_items)) if severity is None else severity
    seen = np.broadcast_to(truth, rated.shape) if views is None else views
    latent = seen + higher + leniency * rng.normal(size=(n_raters, 1)) + noise * rng.normal(size=rated.shape)
    scale = np.sqrt(1 + leniency**2 + np.mean(noise) ** 2)
    points = np.searchsorted(cuts, (spread * latent / scale).ravel()).reshape(rated.shape)
    rater, item = np.nonzero(rated)
    frame = pl.DataFrame(
        {
            "item": [f"i{number:04}" for number in item.tolist()],
            "rater": [f"r{number:04}" for number in rater.tolist()],
            "score": points[rater, item],
        }
    )  # fmt: skip
    raters = pl.DataFrame({"rater": [f"r{number:04}" for number in range(n_raters)], **groups})
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale(range(len(cuts) + 1)), raters=raters)
    return Made(ratings, by, _trained(rng, truth), options)


def _trained(rng: np.random.Generator, severity: Floats, n_raters: int = 5) -> pv.Ratings:
    """Return the judgements of trained raters of what is severe."""
    unsafe = severity + 0.5 * rng.normal(size=(n_raters, len(severity))) > 0.5
    rater, item = np.nonzero(np.ones_like(unsafe))
    frame = pl.DataFrame(
        {
            "item": [f"i{number:04}" for number in item.tolist()], "rater": [f"t{number}" for number in rater.tolist()],
            "score": unsafe[rater, item].astype(int),
        }
    )  # fmt: skip
    return pv.Ratings.from_frame(frame, scale=pv.Scale(range(2)))


def at_random(rng: np.random.Generator, n: int, k: int, name: str = "g") -> list[str]:
    """Sort n raters into k groups of about the same size by chance."""
    return [f"{name}{number}" for number in rng.permutation(np.arange(n) % k).tolist()]


def _some(rng: np.random.Generator, n_raters: int, n_items: int, per_item: int) -> NDArray[np.bool_]:
    """Return who rated what where each item has so many raters, drawn by chance."""
    return rng.random((n_raters, n_items)).argsort(axis=0) < per_item


# No group differs ----------------------------------------------------------------------------------------------------
def full(rng: np.random.Generator) -> Made:
    """Everyone rates everything; two axes and their crossing."""
    groups = {"a": at_random(rng, 80, 2, "a"), "b": at_random(rng, 80, 4, "b")}
    return built(rng, np.ones((80, 100), bool), groups, ["a", "b", ("a", "b")])


def sparse(rng: np.random.Generator) -> Made:
    """Four of 200 raters for each of 300 items."""
    groups = {"a": at_random(rng, 200, 2, "a"), "b": at_random(rng, 200, 5, "b")}
    return built(rng, _some(rng, 200, 300, 4), groups, ["a", "b"])


def zipf(rng: np.random.Generator) -> Made:
    """A few raters do most of the work."""
    share = np.minimum(1.0, 3.0 / np.arange(1, 101))
    rated = rng.random((100, 150)) < rng.permutation(share)[:, np.newaxis]
    rated[:, 0] = True
    return built(rng, rated, {"a": at_random(rng, 100, 3, "a")}, ["a"])


def fives(rng: np.random.Generator) -> Made:
    """Groups of five raters."""
    return built(rng, np.ones((60, 80), bool), {"a": at_random(rng, 60, 12, "a")}, ["a"])


def fifty(rng: np.random.Generator) -> Made:
    """Fifty groups of six."""
    return built(rng, _some(rng, 300, 60, 150), {"a": at_random(rng, 300, 50, "a")}, ["a"])


def zeros(rng: np.random.Generator) -> Made:
    """Nineteen of twenty scores are the lowest."""
    groups = {"a": at_random(rng, 80, 2, "a"), "b": at_random(rng, 80, 4, "b")}
    return built(rng, np.ones((80, 120), bool), groups, ["a", "b"], cuts=(1.645, 2.0, 2.3, 2.6))


def styles(rng: np.random.Generator) -> Made:
    """Raters differ much in leniency, spread and noise."""
    spread = np.exp(rng.normal(0, 0.7, size=(80, 1)))
    noise = np.exp(rng.normal(0, 0.5, size=(80, 1)))
    groups = {"a": at_random(rng, 80, 2, "a"), "b": at_random(rng, 80, 4, "b")}
    return built(rng, np.ones((80, 100), bool), groups, ["a", "b"], spread=spread, noise=noise, leniency=1.0)


def axes(rng: np.random.Generator) -> Made:
    """Six axes with crossings, and a fifth of the values missing."""
    names = "abcdef"
    groups = {name: at_random(rng, 90, 2 + k % 3, name) for k, name in enumerate(names)}
    known = {name: [None if rng.random() < 0.2 else value for value in values] for name, values in groups.items()}
    return built(rng, np.ones((90, 60), bool), known, [*names, ("a", "b"), ("c", "d"), ("e", "f")])


NULL: dict[str, Callable[[np.random.Generator], Made]] = {
    "full": full, "sparse": sparse, "zipf": zipf, "fives": fives, "fifty": fifty, "zeros": zeros, "styles": styles,
    "axes": axes,
}  # fmt: skip


# No group differs, but who rated what depends on the group -----------------------------------------------------------
def batches(rng: np.random.Generator) -> Made:
    """Two batches of items, the second ambiguous; one group is mostly in the second."""
    n_raters, n_items = 80, 100
    second = np.arange(n_raters) % 2 == 1
    rated = np.zeros((n_raters, n_items), bool)
    rated[~second, : n_items // 2] = True
    rated[second, n_items // 2 :] = True
    noise = np.where(np.arange(n_items) < n_items // 2, 0.4, 1.6)[np.newaxis]
    group = np.where(rng.random(n_raters) < np.where(second, 0.8, 0.2), "a1", "a2").tolist()
    return built(rng, rated, {"a": group}, ["a"], noise=noise)


def workload(rng: np.random.Generator) -> Made:
    """One group rates three times as many items, the clear ones first."""
    n_raters, n_items = 100, 120
    busy = np.arange(n_raters) % 2 == 0
    clear = np.arange(n_items) < n_items // 2
    share = np.where(busy[:, np.newaxis], 0.6, np.where(clear, 0.3, 0.1))
    rated = rng.random((n_raters, n_items)) < share
    rated[:, 0] = True
    group = np.where(rng.random(n_raters) < np.where(busy, 0.85, 0.15), "a1", "a2").tolist()
    return built(rng, rated, {"a": group}, ["a"], noise=np.where(clear, 0.4, 1.6)[np.newaxis])


def chosen(rng: np.random.Generator) -> Made:
    """Raters choose what they rate; the groups like different topics, one of which is harder to judge."""
    n_raters, n_items = 100, 120
    topic = np.arange(n_items) % 2 == 1
    group = rng.random(n_raters) < 0.5
    rated = rng.random((n_raters, n_items)) < np.where(group[:, np.newaxis] == topic, 0.35, 0.15)
    rated[:, 0] = True
    names = np.where(group, "a1", "a2").tolist()
    return built(rng, rated, {"a": names}, ["a"], noise=np.where(topic, 1.6, 0.4)[np.newaxis])


ENTANGLED: dict[str, Callable[[np.random.Generator], Made]] = {
    "batches": batches, "workload": workload, "chosen": chosen,
}  # fmt: skip


# A group sees things its own way -------------------------------------------------------------------------------------
def planted(rng: np.random.Generator) -> Made:
    """Twenty of a hundred raters whose view of 200 items correlates .6 with that of the others."""
    n_raters, n_items = 100, 200
    own = np.arange(n_raters) < 20
    severity = rng.normal(size=n_items)
    view = 0.6 * severity + 0.8 * rng.normal(size=n_items)
    groups = {"a": np.where(own, "a1", "a2").tolist(), "b": at_random(rng, n_raters, 4, "b")}
    views = np.where(own[:, np.newaxis], view, severity)
    return built(rng, np.ones((n_raters, n_items), bool), groups, ["a", "b"], severity=severity, views=views)


def steady(rng: np.random.Generator) -> Made:
    """A group that is merely less noisy, and sees things as the others do."""
    own = np.arange(80) < 20
    noise = np.where(own, 0.3, 1.0)[:, np.newaxis]
    return built(rng, np.ones((80, 150), bool), {"a": np.where(own, "a1", "a2").tolist()}, ["a"], noise=noise)


# A group rates higher ------------------------------------------------------------------------------------------------
def lenient(rng: np.random.Generator) -> Made:
    """Twenty of a hundred raters who score every item higher by one standard deviation of raters' leniency."""
    own = np.arange(100) < 20
    groups = {"a": np.where(own, "a1", "a2").tolist(), "b": at_random(rng, 100, 4, "b")}
    return built(rng, np.ones((100, 100), bool), groups, ["a", "b"], higher=np.where(own, 0.5, 0.0)[:, np.newaxis])


def lenient_sparse(rng: np.random.Generator) -> Made:
    """The same of 40 of 200 raters, where each of 300 items has four raters."""
    own = np.arange(200) < 40
    groups = {"a": np.where(own, "a1", "a2").tolist(), "b": at_random(rng, 200, 4, "b")}
    higher = np.where(own, 0.5, 0.0)[:, np.newaxis]
    return built(rng, _some(rng, 200, 300, 4), groups, ["a", "b"], higher=higher)
