"""Many tests at once: which p-values make a family, and how they are adjusted for their number."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.errors import InputError

Floats = NDArray[np.float64]


def adjust(p: ArrayLike, method: str = "bh") -> Floats:
    """Return p-values adjusted for the number of tests in their family.

    With the m defined p-values in rising order p(1) ≤ … ≤ p(m)::

        bh           min over j ≥ i of  p(j) · m/j                       false discovery rate, independent tests
        by           bh times  1 + 1/2 + … + 1/m                         false discovery rate, any dependence
        holm         max over j ≤ i of  p(j) · (m − j + 1)               any false rejection
        bonferroni   p(i) · m                                            any false rejection
        none         p(i)

    each at most 1. Undefined p-values stay NaN and are not counted. The order of the tests does not matter.

    Parameters
    ----------
    p
        p-values of one family, in any shape, which the result keeps.
    method
        One of the names above.

    References
    ----------
    Benjamini & Hochberg (1995), JRSS B 57, 289–300; Benjamini & Yekutieli (2001), Annals of Statistics 29,
    1165–1188; Holm (1979), Scandinavian Journal of Statistics 6, 65–70.

    Examples
    --------
    >>> adjust([0.01, 0.04, 0.03, float("nan")]).tolist()
    [0.03, 0.04, 0.04, nan]
    """
    if method not in METHODS:
        raise InputError(f"method is {method!r}", hint=f"Choose one of {', '.join(METHODS)}.")
    values = np.asarray(p, dtype=np.float64)
    defined = ~np.isnan(values)
    raw = values[defined]
    if ((raw < 0) | (raw > 1)).any():
        raise InputError(f"p holds {raw[(raw < 0) | (raw > 1)][0]:g}", hint="Give p-values from 0 to 1, or NaN.")
    order = np.argsort(raw, kind="stable")
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(METHODS[method](raw[order]), 1.0)
    result = np.full(values.shape, np.nan)
    result[defined] = adjusted
    return result


def _benjamini_hochberg(p: Floats) -> Floats:
    # The factor is taken first: it is at least 1, so that no adjusted value can be rounded below its raw one.
    factor = len(p) / np.arange(1.0, len(p) + 1)
    return np.minimum.accumulate((p * factor)[::-1])[::-1]


METHODS: dict[str, Callable[[Floats], Floats]] = {
    "bh": _benjamini_hochberg,
    "by": lambda p: _benjamini_hochberg(p) * float(np.sum(1 / np.arange(1.0, len(p) + 1))),
    "holm": lambda p: np.maximum.accumulate(p * np.arange(len(p), 0, -1.0)),
    "bonferroni": lambda p: p * len(p),
    "none": lambda p: p,
}
"""From the defined p-values in rising order to adjusted ones, not yet held at 1."""


class Tested(Protocol):
    """A value that may have a p-value, and can be completed by the adjusted one."""

    @property
    def p_value(self) -> float | None:
        """None if it was not tested."""

    @property
    def family(self) -> Hashable:
        """What is corrected together."""

    def hypothesis(self, *, of_axis: bool = False) -> Hashable:
        """Return what was tested, or what all groups of its axis say alike."""

    def set_adjusted(self, p: float) -> None:
        """Complete the value."""


Row = TypeVar("Row", bound=Tested)


def corrected(rows: Sequence[Row], method: str, same: Callable[[Row], bool] | None = None) -> list[Row]:
    """Correct p-values over each family of the rows of a call, in which each hypothesis counts once.

    Where ``same`` says so, the rows of an axis are one hypothesis: what the first of two groups says of the second,
    the second says of the first. The rows must be new: they are completed, not copied.
    """
    tested = [row for row in rows if row.p_value is not None]
    hypotheses = [row.hypothesis(of_axis=same is not None and same(row)) for row in tested]
    p = [math.nan if row.p_value is None else row.p_value for row in tested]
    adjusted = adjust_families(p, [row.family for row in tested], hypotheses, method)
    for row, value in zip(tested, adjusted, strict=True):
        row.set_adjusted(value)
    return list(rows)


def adjust_families(
    p: Sequence[float], families: Sequence[Hashable], hypotheses: Sequence[Hashable], method: str
) -> list[float]:
    """Return p-values adjusted within each family, in which each hypothesis counts once, by its first p-value.

    Examples
    --------
    >>> adjust_families([0.01, 0.01, 0.04, 0.5], ["a", "a", "a", "b"], [1, 1, 2, 1], "bonferroni")
    [0.02, 0.02, 0.08, 0.5]
    """
    found: dict[Hashable, dict[Hashable, list[int]]] = {}
    for number, (family, hypothesis) in enumerate(zip(families, hypotheses, strict=True)):
        found.setdefault(family, {}).setdefault(hypothesis, []).append(number)
    adjusted = [math.nan] * len(p)
    for tests in found.values():
        first = [p[numbers[0]] for numbers in tests.values()]
        for numbers, value in zip(tests.values(), adjust(first, method).tolist(), strict=True):
            for number in numbers:
                adjusted[number] = value
    return adjusted
