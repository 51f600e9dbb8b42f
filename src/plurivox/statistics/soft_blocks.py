"""Scores of predicted distributions, for a block of items at a time.

Inputs are already checked: a = α + n and p are items × points; p are the shares of ratings, NaN for an item without
any; q are predictions that sum to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.base import processors
from plurivox.statistics import dirichlet
from plurivox.statistics.checks import Floats, raise_to, values_of

METRICS = (
    "cross_entropy", "kl", "js", "emd", "rps",
    "expected_cross_entropy", "expected_kl", "expected_js", "expected_emd", "expected_rps",
)  # fmt: skip
"""Every score of a prediction: against the shares of ratings, then expected under the posterior."""
PER_RATER = ("error_rate", "absolute_distance", "absolute_distance_points")
"""Scores of predictions for individual raters; for a distribution, each rater's point is drawn from it."""
SHARED_TASK = ("manhattan", "wasserstein", *PER_RATER)
"""Scores of LeWiDi 2025, which are computed on request."""
EMPIRICAL = (*METRICS[:5], *SHARED_TASK)

BLOCK = 1 << 18
"""How many cells are processed at a time, so that temporary arrays stay small."""
_THREADS = 4


def cross_entropy(p: Floats, q: Floats) -> Floats:
    """Return −Σ_c p_c ln q_c, infinite where q_c = 0 < p_c."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p == 0, 0.0, -p * np.log(q))
    return np.asarray(terms.sum(axis=1)) + 0.0  # no −0


def js(p: Floats, q: Floats) -> Floats:
    """Return ½KL(p‖m) + ½KL(q‖m), m = (p + q)/2."""
    m = (p + q) / 2
    return (dirichlet.divergence(p, m) + dirichlet.divergence(q, m)) / 2


def emd(p: Floats, q: Floats, steps: Floats) -> Floats:
    """Return the sum of |F_p(k) − F_q(k)| times the length of step k."""
    return _weighted(np.abs(cumulative(p) - cumulative(q)), steps)


def rps(p: Floats, q: Floats, steps: Floats) -> Floats:
    """Return the sum of F_p(1 − F_p) + (F_p − F_q)² at each k times the length of step k."""
    below, foretold = cumulative(p), cumulative(q)
    above = cumulative(p[:, ::-1])[:, ::-1]  # at k, the share of points above k
    return _weighted(below * above + (below - foretold) ** 2, steps)


def manhattan(p: Floats, q: Floats) -> Floats:
    """Return Σ_c |p_c − q_c|."""
    return np.asarray(np.abs(p - q).sum(axis=1))


def wasserstein(p: Floats, q: Floats) -> Floats:
    """Return the sum of |F_p(k) − F_q(k)|: EMD in steps."""
    return emd(p, q, np.ones(p.shape[1] - 1))


def error_rate(p: Floats, q: Floats) -> Floats:
    """Return 1 − Σ_c p_c q_c: how often two draws, one of each, differ."""
    return np.asarray(1 - np.einsum("ic,ic->i", p, q))


def steps_apart(p: Floats, q: Floats) -> Floats:
    """Return Σ_{c,k} p_c q_k |c − k|: how many steps lie between two draws, one of each."""
    below, foretold = cumulative(p), cumulative(q)
    return np.asarray((below * (1 - foretold) + foretold * (1 - below)).sum(axis=1))


def entropy(a: Floats) -> Floats:
    """Return the mean entropy of Dirichlet(a)."""
    rest = dirichlet.others(a)
    terms = a / (a + rest) * dirichlet.digamma_rise(a + 1, rest)
    return np.asarray(terms.sum(axis=1))


def kl(a: Floats, q: Floats) -> Floats:
    """Return KL(μ‖q) plus how far the entropy of the mean exceeds the mean entropy: two sums of positive terms."""
    a0 = a.sum(axis=1, keepdims=True)
    mean = a / a0
    gaps = mean * (dirichlet.digamma_rest(a) - dirichlet.digamma_rest(a0))
    return np.asarray(dirichlet.divergence(mean, q) + gaps.sum(axis=1))


def mean_js(a: Floats, q: Floats) -> Floats:
    """Return the mean of JS(p, q) over p ~ Dirichlet(a)."""
    terms = dirichlet.mean_js_terms(a.ravel(), dirichlet.others(a).ravel(), q.ravel())
    return np.asarray(terms.reshape(a.shape).sum(axis=1))


def mean_emd(a: Floats, q: Floats, steps: Floats) -> Floats:
    """Return the mean of EMD(p, q) over p ~ Dirichlet(a)."""
    below, above = (np.cumsum(a, axis=1)[:, :-1], np.cumsum(a[:, ::-1], axis=1)[:, -2::-1])
    return _weighted(dirichlet.mean_distance(below, above, cumulative(q), cumulative(q[:, ::-1])[:, ::-1]), steps)


@dataclass(frozen=True, slots=True, eq=False)
class Scoring:
    """How predictions are scored; see :func:`plurivox.soft_scores`.

    Attributes
    ----------
    prior
        α, one weight for each point.
    emd_steps, rps_steps
        The length of the step after each point except the last.
    floor
        The least that a probability counts as in cross-entropy and KL, or None.
    metrics
        The requested ones of :data:`METRICS`.
    """

    prior: Floats
    emd_steps: Floats
    rps_steps: Floats
    floor: float | None = None
    metrics: tuple[str, ...] = METRICS

    def scores(self, counts: NDArray[Any], q: Floats, told: Floats | None = None) -> Floats:
        """Return items × :attr:`metrics` of checked counts and predictions.

        If raters are predicted individually, ``told``, items × 2, has the share of raters predicted wrongly and the
        mean number of steps between prediction and rating.
        """
        return by_block(self._block, *((counts, q) if told is None else (counts, q, told)), cells=BLOCK)

    def _block(self, counts: NDArray[Any], q: Floats, told: Floats | None = None) -> Floats:
        n = counts.sum(axis=1, keepdims=True)
        p = counts / np.where(n > 0, n, np.nan)
        a = counts + self.prior
        mean = a / a.sum(axis=1, keepdims=True)
        raised = q if self.floor is None else raise_to(q, self.floor)

        def apart() -> Floats:
            return steps_apart(p, q) if told is None else told[:, 1]

        ways: dict[str, Callable[[], Floats]] = {
            "cross_entropy": lambda: cross_entropy(p, raised),
            "kl": lambda: dirichlet.divergence(p, raised),
            "js": lambda: js(p, q),
            "emd": lambda: emd(p, q, self.emd_steps),
            "rps": lambda: rps(p, q, self.rps_steps),
            "manhattan": lambda: manhattan(p, q),
            "wasserstein": lambda: wasserstein(p, q),
            "error_rate": lambda: error_rate(p, q) if told is None else told[:, 0],
            "absolute_distance": lambda: apart() / (q.shape[1] - 1),
            "absolute_distance_points": lambda: apart() / q.shape[1],
            "expected_cross_entropy": lambda: cross_entropy(mean, raised),
            "expected_kl": lambda: kl(a, raised),
            "expected_js": lambda: mean_js(a, q),
            "expected_emd": lambda: mean_emd(a, q, self.emd_steps),
            "expected_rps": lambda: rps(mean, q, self.rps_steps),
        }
        return np.stack([ways[name]() for name in self.metrics], axis=1)


# Helpers -------------------------------------------------------------------------------------------------------------


def cumulative(p: Floats) -> Floats:
    """Return the probability of each point or a lower one, without the last, which is 1."""
    return np.asarray(np.clip(np.cumsum(p, axis=1)[:, :-1], 0.0, 1.0))


def step_lengths(n_points: int, normalized: bool, values: ArrayLike | None = None) -> Floats:
    """Return the length of the step after each point except the last."""
    lengths: Floats = np.diff(values_of(values, n_points))
    if normalized:
        lengths = lengths / lengths.sum()
    elif values is not None:
        lengths = np.diff(np.asarray(values, dtype=float))
    return lengths


def by_block(function: Callable[..., Floats], *tables: Floats, cells: int = BLOCK) -> Floats:
    """Apply a function to items, a block at a time; many blocks run on several threads."""
    n_items, n_points = tables[0].shape
    size = max(1, cells // n_points)
    starts = range(0, max(n_items, 1), size)

    def one(at: int) -> Floats:
        return function(*(table[at : at + size] for table in tables))

    if len(starts) < 2:
        return one(0)
    with ThreadPoolExecutor(min(_THREADS, processors())) as pool:  # numpy and scipy release the GIL
        return np.concatenate(list(pool.map(one, starts)))


def _weighted(terms: Floats, steps: Floats) -> Floats:
    """Return the sum over steps; unlike a matrix product, in the same order on every machine."""
    return np.asarray(np.einsum("ik,k->i", terms, steps))
