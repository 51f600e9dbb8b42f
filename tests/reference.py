"""Slow, literal twins of the statistics: loops over ratings and pairs, exactly as the definitions read.

Items are lists of ratings, a rating is the position of a point. Everything that is a fraction is computed as one.
None stands for undefined.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np
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


def gai(irr: Fraction | float | None, cross: Fraction | float | None) -> Fraction | float | None:
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


# Responsiveness: ones and zeros hold the weight of samples with each score, called unsafe (1) and safe (0)
Weights = Sequence[Number]
Sample = tuple[int, int, Fraction]


def samples_of(ones: Weights, zeros: Weights) -> list[Sample]:
    """Write weights out as (score, reference, weight), without those of weight 0."""
    written = [(s, 1, Fraction(w)) for s, w in enumerate(ones)] + [(s, 0, Fraction(w)) for s, w in enumerate(zeros)]
    return [(s, u, w) for s, u, w in written if w]


def weight_of(samples: Sequence[Sample]) -> Fraction:
    return sum((w for _, _, w in samples), Fraction(0))


def single_class(ones: Weights, zeros: Weights) -> bool:
    return len({u for _, u, _ in samples_of(ones, zeros)}) < 2


def precision(ones: Weights, zeros: Weights) -> list[Fraction | None]:
    """P(U = 1 | S = s)."""
    by_score = [[sample for sample in samples_of(ones, zeros) if sample[0] == score] for score, _ in enumerate(ones)]
    return [
        weight_of([sample for sample in group if sample[1] == 1]) / weight_of(group) if group else None
        for group in by_score
    ]


def recall(ones: Weights, zeros: Weights) -> list[Fraction | None]:
    """P(S = s | U = 1)."""
    unsafe = [sample for sample in samples_of(ones, zeros) if sample[1] == 1]
    return [
        weight_of([sample for sample in unsafe if sample[0] == score]) / weight_of(unsafe) if unsafe else None
        for score, _ in enumerate(ones)
    ]


def mpa_raw(ones: Weights, zeros: Weights) -> Fraction | None:
    """Each used score against the highest precision up to each used score below it."""
    known = {s: p for s, p in enumerate(precision(ones, zeros)) if p is not None}
    if not known:
        return None
    area = Fraction(0)
    for s in known:
        for i in known:
            if i < s:
                area += known[s] - max(known[j] for j in known if j <= i)
    return area / (math.ceil(len(ones) / 2) * math.floor(len(ones) / 2))


def mpa(ones: Weights, zeros: Weights) -> Fraction | None:
    raw = mpa_raw(ones, zeros)
    return None if raw is None or single_class(ones, zeros) else max(Fraction(0), raw)


def wra(ones: Weights, zeros: Weights) -> Fraction | None:
    """P(S of a safe sample < S of an unsafe one)."""
    return _over_pairs(ones, zeros, lambda unsafe, safe: Fraction(safe < unsafe))


def auroc(ones: Weights, zeros: Weights) -> Fraction | None:
    """P(S of a safe sample < S of an unsafe one) + P(=)/2."""
    return _over_pairs(ones, zeros, lambda unsafe, safe: Fraction(safe < unsafe) + Fraction(safe == unsafe, 2))


def _over_pairs(ones: Weights, zeros: Weights, gain: Distance) -> Fraction | None:
    """The mean of a gain over all pairs of an unsafe and a safe sample."""
    if single_class(ones, zeros):
        return None
    samples = samples_of(ones, zeros)
    pairs = [(a, b) for a, b in itertools.product(samples, samples) if a[1] == 1 and b[1] == 0]
    total = sum((a[2] * b[2] for a, b in pairs), Fraction(0))
    return sum((a[2] * b[2] * gain(a[0], b[0]) for a, b in pairs), Fraction(0)) / total


def kendall_tau_b(ones: Weights, zeros: Weights) -> float | None:
    """(concordant − discordant)/√(pairs not tied in score · pairs not tied in reference), over all pairs of samples."""
    concordant = discordant = differing_score = differing_reference = Fraction(0)
    for (s, u, w), (t, v, x) in itertools.combinations(samples_of(ones, zeros), 2):
        differing_score += w * x * (s != t)
        differing_reference += w * x * (u != v)
        concordant += w * x * ((s - t) * (u - v) > 0)
        discordant += w * x * ((s - t) * (u - v) < 0)
    return _ratio_to_root(concordant - discordant, differing_score * differing_reference)


def spearman_rho(ones: Weights, zeros: Weights) -> float | None:
    """Pearson's correlation of mid-ranks of the scores with mid-ranks of the reference."""
    samples = samples_of(ones, zeros)
    n = weight_of(samples)
    if not n:
        return None
    by_score = [mid_rank(samples, 0, sample) for sample in samples]
    by_reference = [mid_rank(samples, 1, sample) for sample in samples]
    weights = [w for _, _, w in samples]

    def mean_of(numbers: Sequence[Fraction]) -> Fraction:
        return sum((w * x for w, x in zip(weights, numbers, strict=True)), Fraction(0)) / n

    x = [rank - mean_of(by_score) for rank in by_score]
    y = [rank - mean_of(by_reference) for rank in by_reference]
    covariance = mean_of([a * b for a, b in zip(x, y, strict=True)])
    return _ratio_to_root(covariance, mean_of([a * a for a in x]) * mean_of([b * b for b in y]))


def mid_rank(samples: Sequence[Sample], key: int, sample: Sample) -> Fraction:
    """The mean rank of all samples that are equal in score (key 0) or in reference (key 1)."""
    below = weight_of([other for other in samples if other[key] < sample[key]])
    tied = weight_of([other for other in samples if other[key] == sample[key]])
    return below + (tied + 1) / 2


def _ratio_to_root(above: Fraction, square: Fraction) -> float | None:
    if not square:
        return None
    size = math.sqrt(above**2 / square)
    return size if above > 0 else -size


def average_precision(ones: Weights, zeros: Weights) -> Fraction | None:
    """Σ (R_k − R_{k−1})·P_k: score after score from the top, recall R and precision P of all samples down to it."""
    if single_class(ones, zeros):
        return None
    samples = samples_of(ones, zeros)
    unsafe = weight_of([sample for sample in samples if sample[1] == 1])
    area, before = Fraction(0), Fraction(0)
    for threshold in sorted({s for s, _, _ in samples}, reverse=True):
        down_to = [sample for sample in samples if sample[0] >= threshold]
        hits = weight_of([sample for sample in down_to if sample[1] == 1])
        area += (hits / unsafe - before) * (hits / weight_of(down_to))
        before = hits / unsafe
    return area


def harmonic_mean(a: Fraction, b: Fraction) -> Fraction:
    return 2 / (1 / a + 1 / b) if a and b else Fraction(0)


# A group's scores held against reference ratings, whose points from a boundary on mean unsafe
Rated = tuple[Hashable, Hashable, int]
"""Item, rater and point; the rater of a reference rating is None if they are not among the judged."""
Decide = Callable[[Hashable, Sequence[int]], int]


def middle_points(item: Item) -> list[int]:
    """The middle rating, or the middle two."""
    ordered = sorted(item)
    return sorted({ordered[(len(item) - 1) // 2], ordered[len(item) // 2]})


def nearest_points(item: Item, values: Sequence[Number]) -> list[int]:
    """The point, or the two points, nearest to the mean."""
    middle = sum((Fraction(values[point]) for point in item), Fraction(0)) / len(item)
    apart = [abs(Fraction(value) - middle) for value in values]
    return [point for point, distance in enumerate(apart) if distance == min(apart)]


def responses(
    judged: Sequence[Rated],
    group: Collection[Hashable],
    against: Sequence[Rated],
    candidates: Callable[[Item], list[int]] = tied_points,
    decide: Decide | None = None,
    copies: Mapping[Hashable, int] | None = None,
) -> list[Sample]:
    """Every reference rating by somebody outside the group, beside the group's score of the item.

    Candidates for a score share it, or ``decide`` takes one. ``copies`` says how often a rater counts, 1 without it.
    """

    def repeated(ratings: Sequence[Rated], item: Hashable, inside: bool) -> list[int]:
        own = [(rater, point) for i, rater, point in ratings if i == item and (rater in group) == inside]
        return [point for rater, point in own for _ in range((copies or {}).get(rater, 1))]

    samples: list[Sample] = []
    for item in dict.fromkeys(i for i, _, _ in judged):
        given = repeated(judged, item, True)
        if given:
            tied = candidates(given)
            chosen = tied if decide is None else [decide(item, tied)]
            others = repeated(against, item, False)
            samples += [(score, point, Fraction(1, len(chosen))) for score in chosen for point in others]
    return samples


def responsiveness(samples: Sequence[Sample], n_scores: int, n_points: int) -> dict[str, Fraction | float | None]:
    """All nine statistics: the means over the boundaries at which the reference has both classes."""
    boundaries = [_at_boundary(samples, n_scores, boundary) for boundary in range(1, n_points)]
    defined = [values for values in boundaries if values["wra"] is not None]
    names = ("mpa_raw", "mpa", "wra", "hm", "auroc", "kendall_tau_b", "spearman_rho", "average_precision")
    found: dict[str, Fraction | float | None] = dict.fromkeys((*names, "hm_of_means"))
    if not defined:
        return {**found, "mpa_raw": Fraction(0) if samples else None}
    for name in names:
        values = [value for at in defined if (value := at[name]) is not None]
        found[name] = sum(values) / len(defined) if len(values) == len(defined) else None
    found["hm_of_means"] = harmonic_mean(Fraction(found["mpa"] or 0), Fraction(found["wra"] or 0))
    return found


def _at_boundary(samples: Sequence[Sample], n_scores: int, boundary: int) -> dict[str, Fraction | float | None]:
    def weights(unsafe: bool) -> list[Fraction]:
        own = [(s, w) for s, point, w in samples if (point >= boundary) == unsafe]
        return [sum((w for s, w in own if s == score), Fraction(0)) for score in range(n_scores)]

    ones, zeros = weights(True), weights(False)
    area, recalled = mpa(ones, zeros), wra(ones, zeros)
    return {
        "mpa_raw": mpa_raw(ones, zeros),
        "mpa": area,
        "wra": recalled,
        "hm": None if area is None or recalled is None else harmonic_mean(area, recalled),
        "auroc": auroc(ones, zeros),
        "kendall_tau_b": kendall_tau_b(ones, zeros),
        "spearman_rho": spearman_rho(ones, zeros),
        "average_precision": average_precision(ones, zeros),
    }


# Soft metrics: integrals in many digits, split at the singular ends
def beta_mean(f: Callable[[Any], Any], a: float, b: float, kinks: Sequence[float] = ()) -> Any:
    """E f(X) for X ~ Beta(a, b), as an mpmath number.

    Below ε = 10⁻²⁵, and above 1 − ε, f is f(0) or f(1) and the mass has a closed form. Between them, Gauss–Legendre
    with 20 nodes on panels in logit p that are short beside the distribution; ``kinks`` are panel ends.
    """
    with mp.workdps(40):
        a, b, end = mp.mpf(a), mp.mpf(b), mp.mpf(10) ** -25
        log_beta = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
        edge = mp.log(end / (1 - end))
        peak = mp.log(a / b)

        def log_density(x: Any) -> Any:
            return -a * mp.log1p(mp.exp(-x)) - b * mp.log1p(mp.exp(x)) - log_beta

        spread = mp.sqrt(mp.polygamma(1, a) + mp.polygamma(1, b))
        bounds = []
        for side in (-1, 1):
            width = spread
            while log_density(peak + side * width) > log_density(peak) - 70:
                width *= mp.mpf("1.3")
            bounds.append(min(max(peak + side * width, edge), -edge))
        low, high = bounds
        n_panels = int((high - low) / min(mp.mpf("1.5"), 2 * spread)) + 1
        cuts = [low + (high - low) * k / n_panels for k in range(n_panels + 1)]
        cuts += [x for c in kinks if 0 < c < 1 and low < (x := mp.log(mp.mpf(c) / (1 - mp.mpf(c)))) < high]
        cuts.sort()
        total = mp.mpf(0)
        if low == edge:
            total += f(mp.mpf(0)) * end**a / (a * mp.exp(log_beta))
        if high == -edge:
            total += f(mp.mpf(1)) * end**b / (b * mp.exp(log_beta))
        nodes = list(zip(*(column.tolist() for column in np.polynomial.legendre.leggauss(20)), strict=True))
        for left, right in itertools.pairwise(cuts):
            for node, weight in nodes:
                x = (left + right) / 2 + (right - left) / 2 * node
                total += (right - left) / 2 * weight * mp.exp(log_density(x)) * f(1 / (1 + mp.exp(-x)))
        return total


def _posterior(counts: Sequence[float], prior: Sequence[float]) -> tuple[list[Any], Any]:
    a = [mp.mpf(n) + mp.mpf(alpha) for n, alpha in zip(counts, prior, strict=True)]
    return a, mp.fsum(a)


def _distribution(q: Sequence[float]) -> list[Any]:
    total = mp.fsum(mp.mpf(x) for x in q)
    return [mp.mpf(x) / total for x in q]


def expected_entropies(counts: Sequence[float], q: Sequence[float], prior: Sequence[float]) -> tuple[Any, Any, Any]:
    """E[CE], E[H] and E[KL], in 50 digits."""
    with mp.workdps(50):
        a, a0 = _posterior(counts, prior)
        cross = mp.inf if 0 in q else -mp.fsum(x / a0 * mp.log(y) for x, y in zip(a, _distribution(q), strict=True))
        own = mp.fsum(x / a0 * (mp.digamma(a0 + 1) - mp.digamma(x + 1)) for x in a)
        return cross, own, cross - own


def stirling_rest(x: float) -> Any:
    with mp.workdps(60):
        return mp.loggamma(x) - (mp.mpf(x) - 0.5) * mp.log(x) + x - mp.log(2 * mp.pi) / 2


def digamma_rest(x: float) -> Any:
    with mp.workdps(60):
        return mp.digamma(mp.mpf(x) + 1) - mp.log(x)


def digamma_rise(x: float, rise: float) -> Any:
    with mp.workdps(60):
        return mp.digamma(mp.mpf(x) + mp.mpf(rise)) - mp.digamma(x)


def log1p_rest(t: float) -> Any:
    with mp.workdps(60):
        return mp.mpf(t) - mp.log(1 + mp.mpf(t))


def expm1_rest(y: float) -> Any:
    with mp.workdps(60):
        return mp.exp(y) - 1 - mp.mpf(y)


def x_log_x(x: Any) -> Any:
    return x * mp.log(x) if x > 0 else mp.mpf(0)


def expected_js(counts: Sequence[float], q: Sequence[float], prior: Sequence[float]) -> Any:
    """E[JS] as a sum over points of integrals."""
    with mp.workdps(40):

        def part(own: Any, foretold: Any) -> Any:
            def inner(p: Any) -> Any:
                return (x_log_x(p) + x_log_x(foretold)) / 2 - x_log_x((p + foretold) / 2)

            return beta_mean(inner, own, a0 - own)

        a, a0 = _posterior(counts, prior)
        return mp.fsum(part(x, y) for x, y in zip(a, _distribution(q), strict=True))


def expected_emd(counts: Sequence[float], q: Sequence[float], prior: Sequence[float]) -> Any:
    """E[EMD], normalised, as a sum over cumulative probabilities of integrals."""
    with mp.workdps(40):

        def part(k: int) -> Any:
            below, c = mp.fsum(a[: k + 1]), mp.fsum(foretold[: k + 1])
            return beta_mean(lambda p: abs(p - c), below, a0 - below, [c])

        (a, a0), foretold = _posterior(counts, prior), _distribution(q)
        return mp.fsum(part(k) for k in range(len(a) - 1)) / (len(a) - 1)


# Shuffles and families
def mixed(word: int) -> int:
    """Splitmix64 in whole numbers."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) % 2**64
    return word ^ (word >> 31)


def shuffled(
    codes: Sequence[int], strata: Sequence[Any], seed: int, number: int, among: Collection[int] | None = None
) -> list[int]:
    """Put all raters of a stratum into one random order, in which those to be shuffled take each other's places.

    Those are the raters with a group, or those ``among`` whom groups are shuffled.
    """
    chosen = {rater for rater, code in enumerate(codes) if code >= 0} if among is None else set(among)
    state, moved = mixed((seed + number * 0xD1342543DE82EF95) % 2**64), list(codes)
    for stratum in sorted(set(strata)):
        own = [rater for rater, one in enumerate(strata) if one == stratum]
        order = list(own)
        for i in range(len(order) - 1, 0, -1):
            state = (state + 0x9E3779B97F4A7C15) % 2**64
            j = ((mixed(state) >> 32) * (i + 1)) >> 32
            order[i], order[j] = order[j], order[i]
        inside = [rater for rater in own if rater in chosen]
        for rater, other in zip((rater for rater in order if rater in chosen), inside, strict=True):
            moved[rater] = codes[other]
    return moved


def in_deviations(values: Sequence[float]) -> list[float]:
    """Return values, of which the first was observed, in standard deviations from the mean of the defined ones."""
    defined = [Fraction(value) for value in values if not math.isnan(value)]
    if math.isnan(values[0]):
        return [math.nan] * len(values)
    mean = sum(defined, Fraction(0)) / len(defined)
    variance = sum(((value - mean) ** 2 for value in defined), Fraction(0)) / len(defined)
    if variance < Fraction(1, 10**24) * max(Fraction(1), mean**2):
        return [math.nan] * len(values)
    return [math.nan if math.isnan(value) else float(Fraction(value) - mean) / math.sqrt(variance) for value in values]


def westfall_young(observed: Sequence[float], null: Sequence[Sequence[float]]) -> list[float]:
    """Adjust p-values by algorithm 2.8 of Westfall & Young (1993): from the largest down, maxima over what is left."""
    columns = [in_deviations([value, *(draw[k] for draw in null)]) for k, value in enumerate(observed)]
    left = [k for k in range(len(observed)) if not math.isnan(columns[k][0])]
    left.sort(key=lambda k: -abs(columns[k][0]))
    found, before = [math.nan] * len(observed), 0.0
    while left:
        first = left[0]
        reached = 1  # the observed labelling itself
        for draw in range(1, len(null) + 1):
            largest = max((abs(columns[k][draw]) for k in left if not math.isnan(columns[k][draw])), default=-1.0)
            reached += largest >= abs(columns[first][0]) - 1e-10
        before = max(before, reached / (len(null) + 1))
        found[first] = before
        left = left[1:]
    return found


# Who rates higher, and what varies


Rating = tuple[Any, Any, float]
"""An item, a rater and a score."""


def dominance(ratings: Sequence[Rating], group: Mapping[Any, Any], one: Any) -> float | None:
    """Return how often a rater of a group gave an item more than one of the others, ties counted half."""
    higher, pairs = Fraction(0), 0
    sides = [[row for row in ratings if (group[row[1]] == one) == own and group[row[1]] is not None] for own in (1, 0)]
    for item, _, score in sides[0]:
        for other, _, beside in sides[1]:
            if item == other:
                higher += Fraction(1, 2) if score == beside else score > beside
                pairs += 1
    return float(higher / pairs) if pairs else None


def absorbed(ratings: Sequence[Rating], columns: Sequence[Callable[[Any], bool]]) -> NDArray[np.float64] | None:
    """Regress scores on indicators of raters and on an indicator of every item, and return the first coefficients.

    None where the design leaves any of them open.
    """
    items = sorted({item for item, _, _ in ratings})
    design = np.array([
        [*(column(rater) for column in columns), *(item == own for own in items)] for item, rater, _ in ratings
    ], dtype=float)  # fmt: skip
    scores = np.array([score for _, _, score in ratings], dtype=float)
    found, _, rank, _ = np.linalg.lstsq(design, scores, rcond=None)
    return found[: len(columns)] if rank == design.shape[1] else None


def henderson(ratings: Sequence[Rating], group: Mapping[Any, Any] | None = None) -> dict[str, float]:
    """Equate quadratic forms x'P_A x with their expectations, by matrices of who is in which class (Henderson 1953).

    P_A projects on the indicators Z_A of classes of one kind, and σ²_B counts trace(P_A Z_B Z_B') times.
    """
    kinds: dict[str, list[Any]] = {"mean": [0] * len(ratings), "item": [item for item, _, _ in ratings]}
    if group is not None:
        kinds["group"] = [group[rater] for _, rater, _ in ratings]
    kinds["rater"] = [rater for _, rater, _ in ratings]
    if group is not None:
        kinds["group_item"] = list(zip(kinds["group"], kinds["item"], strict=True))
    kinds["rest"] = list(range(len(ratings)))
    scores = np.array([score for _, _, score in ratings], dtype=float)
    places = {name: {one: at for at, one in enumerate(dict.fromkeys(own))} for name, own in kinds.items()}
    numbered = {name: np.array([places[name][one] for one in own]) for name, own in kinds.items()}
    shared = {name: np.equal.outer(own, own).astype(float) for name, own in numbered.items()}
    project = {name: same / same.sum(axis=1, keepdims=True) for name, same in shared.items()}
    left = np.array([[np.sum(p * same) for same in shared.values()] for p in project.values()])  # trace of the product
    right = np.array([scores @ p @ scores for p in project.values()])
    found = np.linalg.solve(left, right)
    return dict(zip(list(kinds)[1:], found[1:].tolist(), strict=True))


# Comparing
def same(value: float, expected: Fraction | float | None, tolerance: float = 1e-12) -> bool:
    """Compare to an absolute tolerance; None and NaN are both undefined."""
    if expected is None or math.isnan(expected) or math.isnan(value):
        return math.isnan(value) and (expected is None or math.isnan(expected))
    return math.isclose(value, expected, rel_tol=0, abs_tol=tolerance)
