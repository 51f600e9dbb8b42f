# mypy: disable-error-code="no-untyped-def"
"""Sums over resampled units: what a bootstrap of means needs."""

from __future__ import annotations

from plurivox.kernels import compiled


@compiled
def weighted_sums(weights, values, starts, sums):
    """Add to ``sums``, draws × parts × columns, the rows of ``values`` as often as each was drawn.

    ``weights`` is draws × rows; part ``b`` has the rows from ``starts[b]`` to ``starts[b + 1]``. Rows are added in
    their order, so the result does not depend on how draws are divided up.
    """
    for d in range(weights.shape[0]):
        for b in range(len(starts) - 1):
            for row in range(starts[b], starts[b + 1]):
                weight = weights[d, row]
                if weight > 0:
                    for c in range(values.shape[1]):
                        sums[d, b, c] += weight * values[row, c]
