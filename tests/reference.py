"""Slow, literal twins of the statistics: loops over ratings and pairs, exactly as the definitions read.

Items are lists of ratings, a rating is the position of a point. Everything that is a fraction is computed as one.
None stands for undefined.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

Item = Sequence[int]
Distance = Callable[[int, int], Fraction]
Number = int | float | Fraction


def ratings_of(counts: NDArray[Any]) -> list[list[int]]:
    """Write counts out, one entry for each rating."""
    return [[point for point, n in enumerate(row) for _ in range(n)] for row in counts.tolist()]


# Distances


def nominal(c: int, k: int) -> Fraction:
    return Fraction(c != k)


def interval(values: Sequence[Number]) -> Distance:
    return lambda c, k: (Fraction(values[c]) - Fraction(values[k])) ** 2


def ordinal(pooled: Sequence[int]) -> Distance:
    """Σ_{g=c..k} n_g − (n_c + n_k)/2, squared, with n_g how often a rating of ``pooled`` is g."""
    used = Counter(pooled)

    def distance(c: int, k: int) -> Fraction:
        low, high = min(c, k), max(c, k)
        between = sum(used[g] for g in range(low, high + 1))
        return (between - Fraction(used[c] + used[k], 2)) ** 2

    return distance


def custom(matrix: Sequence[Sequence[Number]]) -> Distance:
    return lambda c, k: Fraction(matrix[c][k])


def pairable(items: Sequence[Item]) -> list[int]:
    """All ratings that have a partner on their item."""
    return [rating for item in items if len(item) >= 2 for rating in item]


def shared(a: Sequence[Item], b: Sequence[Item]) -> tuple[list[int], list[int]]:
    """Both sides' ratings of the items that both rated."""
    both = [(x, y) for x, y in zip(a, b, strict=True) if x and y]
    return [rating for x, _ in both for rating in x], [rating for _, y in both for rating in y]


# Agreement beyond chance


def alpha(items: Sequence[Item], delta: Distance) -> Fraction | None:
    """Krippendorff's alpha over all ordered pairs of different ratings."""
    pool = pairable(items)
    n = len(pool)
    observed = Fraction(0)
    for item in items:
        for one, other in itertools.permutations(item, 2):
            observed += delta(one, other) / (len(item) - 1)
    expected = sum((delta(one, other) for one, other in itertools.permutations(pool, 2)), Fraction(0))
    if expected == 0:
        return None
    return 1 - (observed / n) / (expected / (n * (n - 1)))


def weighted_alpha(items: Sequence[Sequence[tuple[int, int]]], delta: Distance) -> Fraction | None:
    """Alpha of (rating, weight of its rater): a rater never pairs with a copy of themselves."""
    items = [item for item in items if sum(w for _, w in item) ** 2 != sum(w * w for _, w in item)]
    pool = [rated for item in items for rated in item]
    observed, weight = Fraction(0), sum(w for _, w in pool)
    for item in items:
        W, Q = sum(w for _, w in item), sum(w * w for _, w in item)
        for (c, w), (k, v) in itertools.permutations(item, 2):
            observed += Fraction(W, W * W - Q) * w * v * delta(c, k)
    expected = sum((w * v * delta(c, k) for (c, w), (k, v) in itertools.permutations(pool, 2)), Fraction(0))
    if expected == 0:
        return None
    return 1 - (observed / weight) / (expected / (weight**2 - sum(w * w for _, w in pool)))


def xrr(a: Sequence[Item], b: Sequence[Item], delta: Distance) -> Fraction | None:
    """Cross-replication reliability: each item's mean disagreement across sides, weighted by its ratings."""
    pool_a, pool_b = shared(a, b)
    if not pool_a:
        return None
    observed = Fraction(0)
    for x, y in zip(a, b, strict=True):
        for one, other in itertools.product(x, y):
            observed += Fraction(len(x) + len(y), len(x) * len(y)) * delta(one, other)
    observed /= len(pool_a) + len(pool_b)
    expected = sum((delta(one, other) for one, other in itertools.product(pool_a, pool_b)), Fraction(0))
    if expected == 0:
        return None
    return 1 - observed / (expected / (len(pool_a) * len(pool_b)))


def gai(irr: Fraction | None, cross: Fraction | None) -> Fraction | None:
    if irr is None or cross is None or cross <= 0:
        return None
    return irr / cross


def cohen_kappa(pairs: Sequence[tuple[int, int]], weight: Distance) -> Fraction | None:
    """1 − Σ w·observed/Σ w·expected over the table of two raters, w the weight of a disagreement (Cohen 1968)."""
    n = len(pairs)
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    observed = sum((Fraction(weight(one, other), n) for one, other in pairs), Fraction(0))
    expected = sum((Fraction(first[c] * second[k], n * n) * weight(c, k) for c in first for k in second), Fraction(0))
    return None if expected == 0 else 1 - observed / expected


def tied_points(item: Item) -> list[int]:
    used = Counter(item)
    return sorted(point for point, n in used.items() if n == max(used.values()))


def voting_agreement(a: Sequence[Item], b: Sequence[Item]) -> Fraction | None:
    """Nominal alpha of two votes an item; every way to break the ties of an item has an equal part of it."""
    coincidences: Counter[tuple[int, int]] = Counter()
    for x, y in zip(a, b, strict=True):
        if x and y:
            ways = list(itertools.product(tied_points(x), tied_points(y)))
            for one, other in ways:
                coincidences[one, other] += Fraction(1, len(ways))  # type: ignore[assignment]
                coincidences[other, one] += Fraction(1, len(ways))  # type: ignore[assignment]
    marginals: Counter[int] = Counter()
    for (one, _), weight in coincidences.items():
        marginals[one] += weight
    n = sum(marginals.values())
    observed = sum((Fraction(weight) * nominal(*pair) for pair, weight in coincidences.items()), Fraction(0))
    expected = sum(
        (Fraction(marginals[c] * marginals[k]) * nominal(c, k) for c in marginals for k in marginals), Fraction(0)
    )
    return None if expected == 0 else 1 - (observed / n) / (expected / (n * (n - 1)))


# Means over items


def mean(numbers: Sequence[Fraction]) -> Fraction | None:
    return sum(numbers, Fraction(0)) / len(numbers) if numbers else None


def plurality_size(items: Sequence[Item]) -> Fraction | None:
    return mean([Fraction(max(Counter(item).values()), len(item)) for item in items if item])


def percent_agreement(items: Sequence[Item]) -> Fraction | None:
    return mean(
        [
            mean([Fraction(a == b) for a, b in itertools.permutations(item, 2)]) or Fraction(0)
            for item in items
            if len(item) >= 2
        ]
    )


def negentropy(items: Sequence[Item], n_points: int) -> float | None:
    entropies = []
    for item in items:
        if item:
            shares = [n / len(item) for n in Counter(item).values()]
            entropies.append(-math.fsum(p * math.log(p) for p in shares))
    return math.log(n_points) - math.fsum(entropies) / len(entropies) if entropies else None


def cross_negentropy(
    a: Sequence[Item], b: Sequence[Item], n_points: int, smoothing: float = 0.5, published: bool = False
) -> float | None:
    """The mean surprise of a's ratings where b's shares are the expectation."""
    entropies = []
    for x, y in zip(a, b, strict=True):
        if not x or not y:
            continue
        used = Counter(y)
        if published and any(used[c] == 0 for c in range(n_points)):
            entropies.append(0.0)
            continue
        added = 0.0 if published else smoothing
        surprise = []
        for rating in x:
            q = (used[rating] + added) / (len(y) + n_points * added)
            surprise.append(-math.log(q) if q > 0 else math.inf)
        entropies.append(sum(surprise) / len(x))
    return math.log(n_points) - sum(entropies) / len(entropies) if entropies else None


def ac(items: Sequence[Item], n_points: int, weight: Distance) -> Fraction | None:
    """Gwet's coefficient; ``weight`` is the agreement of two points, 1 for a point with itself."""
    agreement = mean(
        [
            mean([weight(a, b) for a, b in itertools.permutations(item, 2)]) or Fraction(0)
            for item in items
            if len(item) >= 2
        ]
    )
    if agreement is None:
        return None
    rated = [item for item in items if item]
    pi = [mean([Fraction(list(item).count(c), len(item)) for item in rated]) or Fraction(0) for c in range(n_points)]
    points = range(n_points)
    total = sum((weight(c, k) for c in points for k in points), Fraction(0))
    chance = total / (n_points * (n_points - 1)) * sum((p * (1 - p) for p in pi), Fraction(0))
    return (agreement - chance) / (1 - chance)


def identity_weight(c: int, k: int) -> Fraction:
    return Fraction(c == k)


def quadratic_weight(values: Sequence[Number]) -> Distance:
    width = Fraction(values[-1]) - Fraction(values[0])
    return lambda c, k: 1 - ((Fraction(values[c]) - Fraction(values[k])) / width) ** 2
