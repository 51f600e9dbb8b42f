"""From how many items on a fitted prior is better than a flat one: studies in which each item's distribution is known.

``python -m benchmarks.priors`` prints, for each number of items and of ratings, how often the posterior mean under the
prior fitted to these very items is nearer to the truth (mean KL divergence over items) than under one rating's worth on
every point, both means, and how often 95 % intervals of an item's mean score hold the truth.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from plurivox.statistics import fit_prior, mean_interval, posterior_mean

Floats = NDArray[np.float64]
ITEMS, RATINGS, STUDIES = (5, 10, 20, 30, 50, 100), (2, 3, 5), 100


def _dirichlet(rng: np.random.Generator, n: int, n_points: int) -> Floats:
    """Items of a strength between 0.5 and 20, with unequal shares of points."""
    strength = float(np.exp(rng.uniform(np.log(0.5), np.log(20))))
    shares: Floats = np.maximum(rng.dirichlet(strength * rng.dirichlet(np.full(n_points, 2.0)) + 1e-3, n), 1e-12)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _ordered(rng: np.random.Generator, n: int, n_points: int) -> Floats:
    """Items of a hidden normal severity, cut into points with normal noise: no Dirichlet distribution."""
    cuts = np.sort(rng.normal(0, 1, n_points - 1))
    noise = float(np.exp(rng.uniform(np.log(0.3), np.log(1.5))))
    from scipy.special import ndtr

    below = ndtr((cuts - rng.normal(0, 1, (n, 1))) / noise)
    edges = np.concatenate([np.zeros((n, 1)), below, np.ones((n, 1))], axis=1)
    shares: Floats = np.maximum(np.diff(edges, axis=1), 1e-9)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def study(
    truth: Callable[[np.random.Generator, int, int], Floats], n: int, m: int, rng: np.random.Generator
) -> list[float]:
    """Return mean KL and coverage under the flat prior, then under the fitted one."""
    n_points = int(rng.choice([2, 3, 5, 7]))
    p = truth(rng, n, n_points)
    counts = np.array([rng.multinomial(m, row) for row in p])
    values = np.arange(n_points, dtype=float)
    mean = p @ values
    found = []
    for prior in (np.ones(n_points), np.array(fit_prior(counts).alpha)):
        q = posterior_mean(counts, prior)
        low, high = mean_interval(counts, values, prior)
        found += [float((p * np.log(p / q)).sum(axis=1).mean()), float(((low <= mean) & (mean <= high)).mean())]
    return found


def main() -> None:
    """Print the table."""
    print("truth      items ratings  fitted nearer   KL flat  KL fitted  coverage flat  fitted")
    for name, truth in (("Dirichlet", _dirichlet), ("ordered", _ordered)):
        for n in ITEMS:
            for m in RATINGS:
                rng = np.random.default_rng([n, m, len(name)])
                found = np.array([study(truth, n, m, rng) for _ in range(STUDIES)])
                nearer = (found[:, 2] < found[:, 0]).mean()
                flat, cover, fitted, covered = found.mean(axis=0)
                print(
                    f"{name:10} {n:5} {m:7} {nearer:14.2f} {flat:9.3f} {fitted:10.3f} {cover:14.3f} {covered:7.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
