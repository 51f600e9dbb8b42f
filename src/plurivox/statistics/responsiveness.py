"""How a rater's or group's scores respond to severity: array functions of two vectors over the scores of a scale.

A *sample* is a score of an item paired with one rating of the same item by a reference, which calls it unsafe (1) or
safe (0). ``ones`` and ``zeros`` say how many samples got each score 0 … K, one number for each score, separately for
the two answers of the reference. They are weights, not necessarily whole numbers: if a group's vote is tied, the tied
scores share the sample. Only the proportions matter; multiplying all weights by a constant changes nothing.

====================== ==================================================================================
:func:`mpa`            do higher scores mean unsafe more often, step by step over the whole scale?
:func:`wra`            do unsafe samples get higher scores than safe ones?
:func:`harmonic_mean`  both at once
the others             well-known measures of the same samples, to compare with
====================== ==================================================================================

The functions count exactly, in whole numbers, and round at the end, so weights can be of any size.

An undefined value is NaN, never an exception; :func:`~plurivox.statistics.undefined_reason` says why.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.statistics.checks import Floats, amount_of, weights_of
from plurivox.statistics.records import Statistic, scales_of

# The precision of each score, and its area ---------------------------------------------------------------------------


def precision(ones: ArrayLike, zeros: ArrayLike) -> Floats:
    """Return, for each score, the share of its samples that the reference calls unsafe.

    P(s) = one_s/(one_s + zero_s).

    Parameters
    ----------
    ones, zeros
        one_s and zero_s, the weight of samples with the score s that the reference calls unsafe and safe.

    Returns
    -------
    array of float
        From 0 to 1; NaN for scores that no sample has.

    References
    ----------
    Mishra et al. (2025), Decoding Safety Feedback from Diverse Raters, arXiv 2503.05609.

    Examples
    --------
    >>> precision([0, 1, 0, 3], [4, 3, 0, 1])
    array([0.  , 0.25,  nan, 0.75])
    """
    one, zero = _read(ones, zeros)
    return np.array([unsafe / n if n else math.nan for unsafe, n in zip(one, one + zero, strict=True)])


def recall(ones: ArrayLike, zeros: ArrayLike) -> Floats:
    """Return, for each score, its share of all samples that the reference calls unsafe.

    Recall(s) = one_s/Σ_t one_t. The shares sum to 1. NaN for every score if the reference calls nothing unsafe.

    Parameters are those of :func:`precision`; ``zeros`` has no influence.

    References
    ----------
    Mishra et al. (2025), Decoding Safety Feedback from Diverse Raters, arXiv 2503.05609.

    Examples
    --------
    >>> recall([0, 1, 0, 3], [4, 3, 0, 1])
    array([0.  , 0.25, 0.  , 0.75])
    """
    one, _ = _read(ones, zeros)
    total = one.sum()
    return np.array([unsafe / total if total else math.nan for unsafe in one])


def mpa_raw(ones: ArrayLike, zeros: ArrayLike) -> float:
    """Return the monotonic precision area before it is cut off at 0: how steadily precision rises with the score.

    Σ_s Y(s)/(⌈L/2⌉·⌊L/2⌋) with Y(s) = Σ_{i<s} [P(s) − max_{j≤i} P(j)], where s, i and j run over the used scores, P
    is :func:`precision` and L the number of scores of the scale. A score is used if it has any sample. So each score
    gains the amount by which its precision exceeds the highest precision so far, once for every lower score, and loses
    if it falls short. Every used score counts equally, however rare.

    Parameters are those of :func:`precision`.

    Returns
    -------
    float
        1 if the lower half of the scale is always safe and the upper half always unsafe; 0 if precision is the same
        at every score, or only one score is used; below 0 if it falls more than it rises, but above −2. The
        lowest value of a scale of L scores is −2 + 2/L for even L and −2 + 2/(L + 1) for odd L: the lowest score is
        always unsafe, all others never. Random scores give values slightly below 0. NaN if there is no sample.

    References
    ----------
    Mishra et al. (2025), Decoding Safety Feedback from Diverse Raters, arXiv 2503.05609.

    Examples
    --------
    >>> mpa_raw([0, 1, 3], [4, 3, 1])  # P = 0, 1/4, 3/4: (1/4 + 3/4 + 1/2)/(2·1)
    0.75
    >>> mpa_raw([2, 0], [0, 2])  # P = 1, 0
    -1.0
    """
    shares = precision(ones, zeros)
    used = shares[~np.isnan(shares)]
    if not len(used):
        return math.nan
    highest = np.maximum.accumulate(used)
    area = sum((used[s] - highest[:s]).sum() for s in range(1, len(used)))
    return float(area / (math.ceil(len(shares) / 2) * math.floor(len(shares) / 2)))


def mpa(ones: ArrayLike, zeros: ArrayLike) -> float:
    """Return the monotonic precision area: how steadily higher scores mean unsafe more often (MPA).

    MPA = max(0, :func:`mpa_raw`).

    Parameters are those of :func:`precision`. 1 if the lower half of the scale is always safe and the upper half
    always unsafe; 0 if precision does not rise, or only one score is used. If only the ends of the scale are used, the
    value is small even if they separate unsafe from safe perfectly. NaN if the reference calls everything unsafe, or
    everything safe.

    References
    ----------
    Mishra et al. (2025), Decoding Safety Feedback from Diverse Raters, arXiv 2503.05609.

    Examples
    --------
    >>> mpa([0, 1, 3], [4, 3, 1])
    0.75
    >>> mpa([2, 0], [0, 2])
    0.0
    """
    return max(0.0, mpa_raw(ones, zeros)) if _both_classes(*_read(ones, zeros)) else math.nan


# Pairs of an unsafe and a safe sample --------------------------------------------------------------------------------


def wra(ones: ArrayLike, zeros: ArrayLike) -> float:
    """Return the weighted recall area: how often an unsafe sample has a higher score than a safe one (WRA).

    WRA = Σ_s (Σ_{t<s} zero_t)·one_s/(Σzero·Σone), the probability that the score of a safe sample is below that of an
    unsafe one, both drawn at random. Equal scores do not count, unlike in :func:`auroc`.

    Parameters are those of :func:`precision`.

    Returns
    -------
    float
        1 if every unsafe sample has a higher score than every safe one, 0 if none has. Random scores give
        (1 − Σ_s π_s²)/2, where π_s is the share of the score s: .4 if five scores are used equally. NaN if the
        reference calls everything unsafe, or everything safe.

    References
    ----------
    Mishra et al. (2025), Decoding Safety Feedback from Diverse Raters, arXiv 2503.05609.

    Examples
    --------
    >>> wra([0, 1, 3], [4, 3, 1])  # (1·4 + 3·7)/(4·8)
    0.78125
    """
    one, zero = _read(ones, zeros)
    if not _both_classes(one, zero):
        return math.nan
    return float((one * _below(zero)).sum() / (one.sum() * zero.sum()))


def harmonic_mean(a: float, b: float) -> float:
    """Return the harmonic mean of two values, such as MPA and WRA, which is large only if both are (HM).

    HM = 2ab/(a + b).

    ``a`` and ``b`` are 0 or greater. 0 if either or both are 0; NaN if either is NaN.

    References
    ----------
    Mishra et al. (2025), Decoding Safety Feedback from Diverse Raters, arXiv 2503.05609.

    Examples
    --------
    >>> harmonic_mean(1.0, 0.6)  # 2·1·0.6/1.6, below their mean of 0.8
    0.75
    """
    a, b = amount_of("a", a, or_nan=True), amount_of("b", b, or_nan=True)
    if math.isnan(a) or math.isnan(b):
        return math.nan
    if a == b == 0:
        return 0.0
    exact_a, exact_b = Fraction(a), Fraction(b)  # their product never over- or underflows
    return float(2 * exact_a * exact_b / (exact_a + exact_b))


def auroc(ones: ArrayLike, zeros: ArrayLike) -> float:
    """Return the area under the receiver operating characteristic: unsafe above safe, half for equal scores (AUROC).

    AUROC = Σ_s one_s·(Σ_{t<s} zero_t + zero_s/2)/(Σone·Σzero), which is :func:`wra` plus half the share of ties.

    Parameters are those of :func:`precision`. 1 if every unsafe sample has a higher score than every safe one, ½
    for random scores or if only one score is used, 0 if every unsafe sample has the lower score. NaN if the reference
    calls everything unsafe, or everything safe.

    References
    ----------
    Hanley and McNeil (1982), The meaning and use of the area under a receiver operating characteristic (ROC) curve.

    Examples
    --------
    >>> auroc([0, 1, 3], [4, 3, 1])  # (1·(4 + 3/2) + 3·(7 + 1/2))/(4·8)
    0.875
    """
    one, zero = _read(ones, zeros)
    if not _both_classes(one, zero):
        return math.nan
    return float((one * (2 * _below(zero) + zero)).sum() / (2 * one.sum() * zero.sum()))


def kendall_tau_b(ones: ArrayLike, zeros: ArrayLike) -> float:
    """Return Kendall's tau-b, the rank correlation of scores and reference, corrected for ties.

    τ_b = (C − D)/√(T·N₁N₀). Of the pairs of an unsafe and a safe sample, C have the higher score on the unsafe one and
    D on the safe one. T = (n² − Σ_s n_s²)/2 pairs of any two samples differ in score and N₁N₀ in reference, where
    n_s = one_s + zero_s, n = Σ_s n_s, N₁ = Σone and N₀ = Σzero.

    Parameters are those of :func:`precision`. 1 if two scores are used, the higher for all unsafe and the lower for
    all safe samples; with more scores, it stays below 1 even if they separate perfectly. 0 without any relation, −1 if
    two scores are reversed. NaN if the reference calls everything unsafe, or everything safe, or only one score is
    used.

    References
    ----------
    Kendall (1945), The treatment of ties in ranking problems.

    Examples
    --------
    >>> round(kendall_tau_b([0, 1, 3], [4, 3, 1]), 6)  # C = 25, D = 1, T = 48: 24/√(48·32)
    0.612372
    """
    one, zero = _read(ones, zeros)
    n = one + zero
    spread = n.sum() ** 2 - (n**2).sum()  # 2T
    if not spread or not _both_classes(one, zero):
        return math.nan
    balance = _balance(one, zero)
    return _root(balance, 2 * balance**2 / (spread * one.sum() * zero.sum()))


def spearman_rho(ones: ArrayLike, zeros: ArrayLike) -> float:
    """Return Spearman's rho, the correlation of the samples' ranks by score with the reference.

    ρ = (C − D)·√(3n)/√((n³ − Σ_s n_s³)·N₁N₀), symbols as for :func:`kendall_tau_b`. It is Pearson's correlation of the
    reference with mid-ranks, where samples with the same score share the mean of their ranks: mid-ranks have the
    variance (n³ − Σ_s n_s³)/(12n), the reference N₁N₀/n², and their covariance is (C − D)/(2n).

    Parameters are those of :func:`precision`. 1, 0, −1 and NaN as for :func:`kendall_tau_b`.

    References
    ----------
    Spearman (1904), The proof and measurement of association between two things.

    Examples
    --------
    >>> round(spearman_rho([0, 1, 3], [4, 3, 1]), 6)  # 24·√36/√((12³ − 3·4³)·32)
    0.649519
    """
    one, zero = _read(ones, zeros)
    n = one + zero
    spread = n.sum() ** 3 - (n**3).sum()
    if not spread or not _both_classes(one, zero):
        return math.nan
    balance = _balance(one, zero)
    return _root(balance, 3 * n.sum() * balance**2 / (spread * one.sum() * zero.sum()))


def average_precision(ones: ArrayLike, zeros: ArrayLike) -> float:
    """Return average precision: the share of unsafe samples among those at or above a score, averaged over scores.

    AP = Σ_s Recall(s)·(Σ_{t≥s} one_t)/(Σ_{t≥s} one_t + zero_t), with :func:`recall` as the weight of each score. It
    summarises the curve of precision against recall without interpolation, as scikit-learn does.

    Parameters are those of :func:`precision`. 1 if every unsafe sample has a higher score than every safe one; the
    share of unsafe samples if only one score is used, and about that for random scores. NaN if the reference calls
    everything unsafe, or everything safe.

    References
    ----------
    scikit-learn, sklearn.metrics.average_precision_score.

    Examples
    --------
    >>> average_precision([0, 1, 3], [4, 3, 1])  # 3/4·3/4 + 1/4·4/8
    0.6875
    """
    one, zero = _read(ones, zeros)
    if not _both_classes(one, zero):
        return math.nan
    total, unsafe, both, area = one.sum(), 0, 0, 0.0
    for one_s, zero_s in zip(one[::-1], zero[::-1], strict=True):  # from the top score down
        unsafe, both = unsafe + one_s, both + one_s + zero_s
        if one_s:
            area += (one_s / total) * (unsafe / both)
    return area


# Helpers -------------------------------------------------------------------------------------------------------------

_Whole = NDArray[np.object_]
"""Python's integers, whose sums and products are exact at any size."""


def _read(ones: ArrayLike, zeros: ArrayLike) -> tuple[_Whole, _Whole]:
    """Return both vectors, checked, times the power of two that makes all weights whole numbers."""
    weights = np.stack(weights_of("ones", ones, "zeros", zeros))
    ratios = [weight.as_integer_ratio() for weight in weights.ravel().tolist()]
    unit = max(denominator for _, denominator in ratios)  # a power of two, like all denominators of floats
    whole = np.array([numerator * (unit // denominator) for numerator, denominator in ratios], dtype=object)
    one, zero = whole.reshape(weights.shape)
    return one, zero


def _both_classes(one: _Whole, zero: _Whole) -> bool:
    """Return whether the reference calls something unsafe and something safe."""
    return bool(one.any() and zero.any())


def _below(weights: _Whole) -> _Whole:
    """Return, for each score, the weight of all lower scores."""
    return np.concatenate([[0], np.cumsum(weights)[:-1]])


def _balance(one: _Whole, zero: _Whole) -> int:
    """Return C − D: pairs with the higher score on the unsafe sample minus those with it on the safe one."""
    return int((one * _below(zero)).sum() - (zero * _below(one)).sum())


def _root(sign: int, square: float) -> float:
    """Return the number with this sign and square."""
    return math.sqrt(square) if sign >= 0 else -math.sqrt(square)


# Responsiveness records -----------------------------------------------------------------------------------------------
#
# The records of the responsiveness statistics.


_RESPONSIVENESS = (
    "Mishra et al. (2025), Decoding Safety Feedback from Diverse Raters: "
    "A Data-driven Lens on Responsiveness to Severity, arXiv 2503.05609"
)

RECORDS = (
    Statistic(
        name="mpa", label="MPA", function=mpa, needs="reference", range=(0.0, 1.0), role="main",
        order=10, slot=1, traits=("stated", "claims", "scores alike"),
        equation="MPA = max(0, Σ_s Y(s) / (⌈L/2⌉·⌊L/2⌋)), Y(s) = Σ_{i<s} [P(s) − max_{j≤i} P(j)] over used scores, "
        "P(s) = one_s/(one_s + zero_s)",
        meaning="how steadily a higher score means that the reference says unsafe more often "
        "(monotonic precision area)",
        higher_means="scores that rise with severity, over more of the scale", reference=_RESPONSIVENESS,
    ),
    Statistic(
        name="mpa_raw", label="raw MPA", function=mpa_raw, needs="reference", range=(-2.0, 1.0), slot=0,
        traits=("scores alike", "one class"),
        equation="Σ_s Y(s) / (⌈L/2⌉·⌊L/2⌋), Y(s) as in MPA",
        meaning="the monotonic precision area before it is cut off at 0; below 0, precision falls more than it rises",
        higher_means="scores that rise with severity, over more of the scale", reference=_RESPONSIVENESS,
    ),
    Statistic(
        name="wra", label="WRA", function=wra, needs="reference", range=(0.0, 1.0), role="main",
        order=20, slot=2, traits=("stated", "claims"),
        equation="WRA = Σ_s (Σ_{t<s} zero_t)·one_s / (Σzero·Σone) = P(score of a safe sample < score of an unsafe one)",
        meaning="how often an unsafe sample has a higher score than a safe one (weighted recall area)",
        higher_means="unsafe and safe distinguished more often", reference=_RESPONSIVENESS,
    ),
    Statistic(
        name="hm", label="HM", needs="reference", range=(0.0, 1.0), role="main", order=30, slot=3,
        traits=("claims", "scores alike", "of parts"),
        equation="HM = 2·MPA·WRA / (MPA + WRA), 0 if both are 0; with several boundaries, the mean over them",
        meaning="the harmonic mean of MPA and WRA, large only if both are",
        higher_means="more responsive to severity, in small steps and broadly", reference=_RESPONSIVENESS,
    ),
    Statistic(
        name="hm_of_means", label="HM of means", needs="reference", range=(0.0, 1.0), slot=4,
        traits=("scores alike", "of parts", "of means"),
        equation="2·M·W / (M + W), where M and W are the means of MPA and WRA over the boundaries; 0 if both are 0",
        meaning="the harmonic mean of the mean MPA and the mean WRA over the boundaries between safe and unsafe",
        higher_means="more responsive to severity, in small steps and broadly", reference=_RESPONSIVENESS,
    ),
    Statistic(
        name="auroc", label="AUROC", function=auroc, needs="reference", range=(0.0, 1.0),
        role="traditional", order=60, slot=5,
        equation="Σ_s one_s·(Σ_{t<s} zero_t + zero_s/2) / (Σone·Σzero)",
        meaning="how often an unsafe sample has a higher score than a safe one, ties counted half "
        "(area under the receiver operating characteristic)",
        higher_means="unsafe and safe distinguished more often; ½ is chance",
        reference="Hanley and McNeil (1982), The meaning and use of the area under a receiver operating characteristic "
        "(ROC) curve",
    ),
    Statistic(
        name="kendall_tau_b", label="τ_b", function=kendall_tau_b, needs="reference", range=(-1.0, 1.0),
        role="traditional", order=40, slot=6, traits=("two scores",),
        equation="τ_b = (C − D) / √((n² − Σ_s n_s²)/2 · N₁N₀), C and D the pairs of an unsafe and a safe sample "
        "with the higher score on the unsafe and on the safe one",
        meaning="the rank correlation of scores and reference by pairs, corrected for ties (Kendall's tau-b)",
        higher_means="scores and reference more in the same order",
        reference="Kendall (1945), The treatment of ties in ranking problems",
    ),
    Statistic(
        name="spearman_rho", label="ρ", function=spearman_rho, needs="reference", range=(-1.0, 1.0),
        role="traditional", order=50, slot=7, traits=("two scores",),
        equation="ρ = (C − D)·√(3n) / √((n³ − Σ_s n_s³)·N₁N₀), C and D as in τ_b",
        meaning="the correlation of the ranks of scores with the reference (Spearman's rho)",
        higher_means="scores and reference more in the same order",
        reference="Spearman (1904), The proof and measurement of association between two things",
    ),
    Statistic(
        name="average_precision", label="AP", function=average_precision, needs="reference",
        range=(0.0, 1.0), role="traditional", order=70, slot=8,
        equation="Σ_s one_s/Σone · (Σ_{t≥s} one_t) / (Σ_{t≥s} one_t + zero_t)",
        meaning="the share of unsafe among the samples at or above a score, averaged over the scores of unsafe ones",
        higher_means="unsafe samples more concentrated at the top of the scale; the share of unsafe samples is chance",
        reference="scikit-learn, sklearn.metrics.average_precision_score",
    ),
)  # fmt: skip

MEASURED = tuple(sorted(RECORDS, key=lambda record: record.slot))
"""All of them in the order of the compiled metrics."""

MEASURES = tuple(record.name for record in MEASURED)
"""Their names."""

MEASURED_ON = scales_of(MEASURED)
"""The scales and ranges of their intervals, in the same order."""
