"""The graded response model of raters: how sharply each rater's scores follow a severity that all of them see.

The probability that rater j scores an item of severity θ at point k or above is logistic(a_j·(θ − b_jk)); over the
items, θ is standard normal. The discriminations a_j and thresholds b_jk maximise the marginal likelihood, without
priors, by EM followed by Newton's method; standard errors come from the observed information.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.base.errors import InputError
from plurivox.base.wording import are
from plurivox.statistics.checks import Floats, scores_of
from plurivox.statistics.graded_fit import BOUND, GradedData, GradedFit, fitted
from plurivox.statistics.mokken import NO_SCORE, ONE_SCORE, set_aside
from plurivox.statistics.records import Statistic

MIN_RATERS = 3
"""With fewer raters who share items, only products of discriminations are known."""
MIN_ITEMS = 10
"""With fewer items that two raters scored, nothing is fitted."""
FEW_ITEMS = 50
"""With fewer, the result says that it rests on little data."""
LEAST_GRID = 61
APART = "too loosely linked with others: only products of its discrimination with theirs are known"
FEW_SHARED = f"the model needs {MIN_ITEMS} items with two scores each"
HELD = "discriminations stopped at the bound"
DOUBTFUL = "the model may point the other way"
APART_SETS = "sets of raters share no items, so that severities of one say nothing about those of another"
AT_BOUND = f"the discrimination stopped at its bound of {BOUND:g}: scores are separated, or too few to say"

Progress = Callable[[int, float], object]
"""Called with the number of iterations so far and the log-likelihood."""


@dataclass(frozen=True, slots=True, eq=False)
class GradedResponse:
    """A graded response model.

    Attributes
    ----------
    points
        The numbers of the scale's points, in order.
    discrimination, discrimination_se
        One a_j for each rater, NaN for those set aside; negative if scores fall with severity.
    thresholds, thresholds_se
        Raters × points from the second on: the severity b_jk above which reaching the point is more likely than not. A
        point that a rater never used has the threshold of the next used one; NaN if there is none, or none below.
    severity, severity_se
        For each item, the mean and standard deviation of θ given its scores (EAP); NaN if no fitted rater scored it.
    log_likelihood, iterations, converged
        How the fit ended; it converged if the last step moved the log-likelihood by less than 1e-6.
    n_grid
        The number of values of θ from −6 to 6 over which the likelihood is summed.
    notes
        What to beware of for each rater, "" if nothing.
    note
        What to beware of overall, "" if nothing.
    part
        The set of linked raters in which each item was scored, -1 if none; severities of two sets cannot be compared.
    """

    points: Floats
    discrimination: Floats
    discrimination_se: Floats
    thresholds: Floats
    thresholds_se: Floats
    severity: Floats
    severity_se: Floats
    log_likelihood: float
    iterations: int
    converged: bool
    n_grid: int
    notes: tuple[str, ...]
    note: str
    part: NDArray[np.int64]

    def probabilities(self, theta: ArrayLike) -> Floats:
        """Return how likely each rater is to give each point at some severities: severities × raters × points."""
        return point_probabilities(self.discrimination, self.thresholds, theta)

    def expected_scores(self, theta: ArrayLike) -> Floats:
        """Return the score that each rater is expected to give at some severities: severities × raters."""
        expected = (self.probabilities(theta)[..., : len(self.points)] * self.points).sum(axis=-1)
        return np.where(np.isnan(self.discrimination), np.nan, expected)


def point_probabilities(discrimination: Floats, thresholds: Floats, theta: ArrayLike) -> Floats:
    """Return probabilities, severities × raters × points, from each rater's discrimination and thresholds.

    NaN thresholds before the first known one belong to points that are always reached, those after it to points that
    never are.
    """
    at = np.atleast_1d(np.asarray(theta, dtype=float))
    known = ~np.isnan(thresholds)
    logit = discrimination[:, None] * (at[:, None, None] - np.where(known, thresholds, 0.0))
    below = np.cumprod(~known, axis=1) * known.any(axis=1, keepdims=True)
    above = np.empty((len(at), len(discrimination), thresholds.shape[1] + 2))
    above[..., 0], above[..., -1] = 1.0, 0.0
    above[..., 1:-1] = np.where(known, 1 / (1 + np.exp(-np.clip(logit, -700, 700))), below)
    return np.where(np.isnan(discrimination)[:, None], np.nan, above[..., :-1] - above[..., 1:])


def graded_response(
    scores: ArrayLike, *, grid: int | None = None, max_iterations: int = 2000, progress: Progress | None = None
) -> GradedResponse:
    """Fit a graded response model to the scores of raters.

    A rater without two different scores, or too loosely linked with others by common items, is set aside; a model that
    cannot be fitted gives NaN. The notes say so.

    Parameters
    ----------
    scores
        Items × raters, NaN where a score is missing.
    grid
        The number of values of θ over which the likelihood is summed, at least 61. By default 61, or more if many
        raters make severities more certain than the distance between two values.
    max_iterations
        The most iterations of EM and Newton's method together.
    progress
        Called with the number of iterations so far and the log-likelihood.

    References
    ----------
    Samejima (1969), Estimation of latent ability using a response pattern of graded scores; Bock and Aitkin (1981),
    Marginal maximum likelihood estimation of item parameters; Louis (1982), Finding the observed information matrix.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> severity = rng.normal(size=(500, 1))
    >>> noise = rng.logistic(size=(500, 4))
    >>> scores = (2 * severity + noise).round().clip(-2, 2)
    >>> found = graded_response(scores)
    >>> found.converged, found.discrimination.round(1).tolist()
    (True, [1.9, 1.9, 2.0, 2.1])
    """
    codes, points = scores_of("scores", scores)
    return graded_of(codes, points, grid=grid, max_iterations=max_iterations, progress=progress)


def graded_of(
    codes: NDArray[np.int32],
    points: Floats,
    labels: Sequence[str] | None = None,
    *,
    grid: int | None = None,
    max_iterations: int = 2000,
    progress: Progress | None = None,
) -> GradedResponse:
    """Fit the model from raters × items, -1 where a score is missing, and the numbers and names of the points."""
    if grid is not None and grid < LEAST_GRID:
        raise InputError(f"grid is {grid!r}", hint=f"Give at least {LEAST_GRID}, or None.")
    if max_iterations < 1:
        raise InputError(f"max_iterations is {max_iterations!r}", hint="Give 1 or more.")
    aside = _set_aside(codes)
    inside = np.flatnonzero([not note for note in aside])
    if len(inside) < MIN_RATERS:
        n_raters, n_items = codes.shape
        cuts = np.full((n_raters, max(len(points) - 1, 0)), np.nan)
        none, unknown = np.full(n_raters, np.nan), np.full(n_items, np.nan)
        left = aside.count("")
        reasons = {note for note in aside if note} - {ONE_SCORE, NO_SCORE}
        few = f"the model needs {MIN_RATERS} raters with two different scores each, but there {are(left)} {left}"
        reason = reasons.pop() if len(reasons) == 1 and not left else few
        notes = tuple(note or reason for note in aside)
        return GradedResponse(
            points, none, none.copy(), cuts, cuts.copy(), unknown, unknown.copy(), np.nan, 0, False, 0, notes, reason,
            np.full(n_items, -1, np.int64),
        )  # fmt: skip
    used = [np.unique(row[row >= 0]) for row in codes[inside]]
    own = np.full((len(inside), codes.shape[1]), -1, np.int32)
    for row, given, kept in zip(own, codes[inside], used, strict=True):
        row[given >= 0] = np.searchsorted(kept, given[given >= 0])
    data = GradedData.of(own, np.array([len(kept) - 1 for kept in used]))
    fit = fitted(data, grid or LEAST_GRID, refine=grid is None, max_iterations=max_iterations, progress=progress)
    names = [f"{point:g}" for point in points] if labels is None else labels
    return _result(codes, points, names, inside, used, aside, data, fit)


def _set_aside(codes: NDArray[np.int32]) -> list[str]:
    """Return for each rater why they cannot be fitted, "" if they can."""
    notes = [set_aside(len(np.unique(row[row >= 0]))) for row in codes]
    inside = np.flatnonzero([not note for note in notes])
    if len(inside) < MIN_RATERS:
        return notes
    given = codes[inside] >= 0
    labels, sizes = components(given)
    n_shared = _shared_items(given, labels)
    known = ~_only_products(given, labels)
    for rater, label in zip(inside.tolist(), labels.tolist(), strict=True):
        if sizes[label] < MIN_RATERS or not known[label]:
            notes[rater] = APART
        elif n_shared[label] < MIN_ITEMS:
            notes[rater] = f"{FEW_SHARED}, but there {are(n := int(n_shared[label]))} {n}"
    return notes


def _shared_items(given: NDArray[np.bool_], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many items with two scores each set of linked raters has."""
    shared = np.flatnonzero(given.sum(axis=0) > 1)
    return np.bincount(labels[given[:, shared].argmax(axis=0)], minlength=labels.max(initial=-1) + 1)


def _only_products(given: NDArray[np.bool_], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the sets of linked raters in which no ring of an odd number of them shares items.

    They then fall into two sides such that only products of discriminations across the two are known.
    """
    found = np.ones(labels.max(initial=-1) + 1, bool)
    n_scores = given.sum(axis=0)
    found[labels[given[:, n_scores > 2].argmax(axis=0)]] = False  # three raters of one item are such a ring
    both = np.unique(np.argsort(~given[:, n_scores == 2], axis=0, kind="stable")[:2].T, axis=0)
    beside: dict[int, list[int]] = {}
    for first, second in both.tolist():
        beside.setdefault(first, []).append(second)
        beside.setdefault(second, []).append(first)
    side: dict[int, bool] = {}
    for start in beside:
        waiting = [] if start in side or not found[labels[start]] else [start]
        side.setdefault(start, False)
        while waiting:
            one = waiting.pop()
            for other in beside[one]:
                if other not in side:
                    side[other] = not side[one]
                    waiting.append(other)
                elif side[other] == side[one]:
                    found[labels[start]] = False
    return found


def components(given: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which raters are linked by items, directly or through others, and how many each such set has."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n_raters, n_items = given.shape
    rater, item = np.nonzero(given)
    links = csr_array((np.ones(len(rater), bool), (rater, item + n_raters)), shape=(n_raters + n_items,) * 2)
    labels = connected_components(links, directed=False)[1][:n_raters]
    _, dense = np.unique(labels, return_inverse=True)
    return dense.astype(np.int64), np.bincount(dense, minlength=1).astype(np.int64)


def _result(
    codes: NDArray[np.int32],
    points: Floats,
    names: Sequence[str],
    inside: NDArray[np.intp],
    used: list[NDArray[np.int32]],
    aside: list[str],
    data: GradedData,
    fit: GradedFit,
) -> GradedResponse:
    """Turn the fit, which covers only used points and fitted raters, back into all raters and points."""
    n_raters, n_items = codes.shape
    a, a_se = np.full(n_raters, np.nan), np.full(n_raters, np.nan)
    b, b_se = np.full((n_raters, len(points) - 1), np.nan), np.full((n_raters, len(points) - 1), np.nan)
    notes = list(aside)
    given = data.codes >= 0
    labels, sizes = components(given)
    # The direction in which the discriminations of all linked raters add up to more than 0.
    signs = np.where(np.bincount(labels, fit.a, len(sizes)) < 0, -1.0, 1.0)[labels]
    a[inside], a_se[inside] = fit.a * signs, fit.a_se
    for at, (rater, kept) in enumerate(zip(inside.tolist(), used, strict=True)):
        steep = abs(fit.a[at]) > 0
        for k in range(len(kept) - 1):
            columns = slice(kept[k], kept[k + 1])
            b[rater, columns] = -fit.d[at, k] / a[rater] if steep else np.nan
            b_se[rater, columns] = fit.b_se[at, k]
        missing = [name for c, name in enumerate(names) if c not in kept]
        remarks = [f"never used {', '.join(missing)}"] if missing else []
        remarks += [AT_BOUND] if abs(fit.a[at]) >= BOUND else []
        notes[rater] = "; ".join(remarks)
    scored = np.diff(data.offsets) > 0
    first = data.raters[data.offsets[:-1][scored]]
    item_sign, part = np.ones(n_items), np.full(n_items, -1, np.int64)
    item_sign[scored], part[scored] = signs[first], labels[first]
    n_shared = int(_shared_items(given, labels).min())
    remarks = [] if fit.converged else [f"not converged after {fit.iterations:,} iterations"]
    remarks += [f"rests on {n_shared} items with two scores or more"] if n_shared < FEW_ITEMS else []
    n_bound = int(np.count_nonzero(np.abs(fit.a) >= BOUND))
    known = "" if n_bound == len(fit.a) else ", which the standard errors of the others treat as known"
    remarks += [f"{n_bound} of {len(fit.a)} {HELD}{known}"] if n_bound and not fit.note else []
    n_falling = int(np.count_nonzero(fit.a * signs < 0))
    remarks += [f"{DOUBTFUL}: {n_falling} of {len(fit.a)} discriminations are negative"] * (2 * n_falling >= len(fit.a))
    n_parts = int(labels.max()) + 1
    remarks += [f"{n_parts} {APART_SETS}"] if n_parts > 1 else []
    remarks += [fit.note] if fit.note else []
    return GradedResponse(
        points, a, a_se, b, b_se,
        np.where(scored, fit.severity * item_sign, np.nan), np.where(scored, fit.spread, np.nan),
        fit.value, fit.iterations, fit.converged, fit.n_grid, tuple(notes), "; ".join(remarks), part,
    )  # fmt: skip


# Psychometrics records ------------------------------------------------------------------------------------------------
#
# The records of Mokken's coefficient and the graded response model.


RECORDS = (
    Statistic(
        name="mokken_h", label="Mokken H", needs="scores", range=(-math.inf, 1.0), role="scaled", order=10,
        equation="H_j = Σ_i cov(i, j) / Σ_i max cov(i, j) over all other raters i, where max cov is the largest "
        "covariance that both distributions of scores allow; H of all raters sums over all pairs",
        meaning="how far a rater orders items as the others do, given how often each of them uses each point (Mokken's "
        "scalability)",
        higher_means="more in line with the order that the others see; 0.3 weak, 0.4 medium, 0.5 strong",
        reference="Mokken (1971), A theory and procedure of scale analysis; Molenaar (1991), A weighted Loevinger "
        "H-coefficient extending Mokken scaling to multicategory items",
    ),
    Statistic(
        name="grm_a", label="GRM a", needs="scores", range=(-BOUND, BOUND), role="scaled", order=20,
        equation="P(S_j ≥ k | θ) = 1 / (1 + exp(−a_j·(θ − b_jk))), θ ~ N(0, 1), with a_j and b_jk of the highest "
        "marginal likelihood",
        meaning="how sharply a rater's scores rise with the severity that all raters have in common (discrimination of "
        "the graded response model)",
        higher_means="scores that distinguish smaller differences in severity; negative if they fall with severity",
        reference="Samejima (1969), Estimation of latent ability using a response pattern of graded scores",
    ),
)  # fmt: skip
