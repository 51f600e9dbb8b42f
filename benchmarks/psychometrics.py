"""How fast Mokken's coefficients and the graded response model are, the latter compared with two other packages.

``python -m benchmarks.psychometrics``. Scores are simulated from the model. Ours includes standard
errors and severities; the others stop where their own tolerance lets them, without standard errors.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.statistics import graded_response, mokken_h, mokken_scales, monotonicity

Floats = NDArray[np.float64]


def simulated(n_items: int, n_raters: int, seed: int = 0) -> Floats:
    """Return scores on five points, items × raters."""
    rng = np.random.default_rng(seed)
    a = rng.uniform(0.8, 2.5, n_raters)
    cuts = np.sort(rng.normal(size=(n_raters, 4)), axis=1)
    logit = a[:, None] * (rng.normal(size=(n_items, 1, 1)) - cuts)
    reached = rng.random((n_items, n_raters, 1)) < 1 / (1 + np.exp(-logit))
    return np.asarray(reached.sum(axis=2), dtype=float)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that work takes, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def others(scores: Floats) -> dict[str, float]:
    """Return the seconds that other packages take for the same model."""
    import girth
    import mirt

    whole = scores.astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first, _ = timed(
            lambda: mirt.fit_mirt(
                whole, "GRM", n_categories=5, n_quadpts=61, max_iter=5000, tol=1e-6, compute_standard_errors=False
            )
        )
        second, _ = timed(
            lambda: girth.grm_mml(whole.T + 1, {"quadrature_bounds": (-6, 6), "quadrature_n": 61, "max_iteration": 500})
        )
    return {"mirt": first, "girth": second}


def main() -> None:
    """Measure and print."""
    small = simulated(100, 5)
    mokken_h(small)
    graded_response(small)  # compiled, or loaded
    scores = simulated(1000, 1000)
    for name, work in (("H, H_j, H_ij with errors", mokken_h), ("selection procedure, with H", mokken_scales),
                       ("monotonicity, with H", monotonicity)):  # fmt: skip
        seconds, _ = timed(lambda work=work: work(scores))  # type: ignore[misc]
        print(f"Mokken, 1,000 raters × 1,000 items, {name}: {seconds:.1f} s")
    for n_items, n_raters in ((1000, 30), (5000, 200)):
        scores = simulated(n_items, n_raters)
        seconds, found = timed(lambda scores=scores: graded_response(scores))  # type: ignore[misc]
        print(
            f"graded response model, {n_raters} raters × {n_items:,} items: {seconds:.2f} s, {found.iterations} "
            f"iterations, converged: {found.converged}, over {found.n_grid} severities"
        )
        if n_raters == 30:
            for name, other in others(scores).items():
                print(f"  {name}, 61 severities: {other:.2f} s, {other / seconds:.1f} times as long")


if __name__ == "__main__":
    main()
