"""How a graded response model is fitted: EM to near the highest likelihood, Newton's method to the top.

Internally, the logit of reaching cut k is a·θ + d_k, which needs no division by a discrimination that may be 0.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.statistics.checks import Floats

BOUND = 10.0
"""The largest discrimination, in either direction."""
CONVERGED = 1e-6
"""A fit converged if its last step moved the log-likelihood by less."""
TOP = 1e-12
"""Newton's method stops once the log-likelihood can rise by less."""
NEAR = 1e-6
"""Newton's method takes over once a step of EM moves the log-likelihood by less than this share of it, or by 0.01."""
CHUNK, ROUNDS = 64, 2
"""How many raters one thread updates at a time, and with how many of Newton's steps."""
SMALL = 400
"""The most cuts of a model that is fitted from two starts if the first leads to a bound."""
MAX_PARAMETERS = 4000
"""With more of them, only EM is used, and there are no standard errors."""
MAX_CELLS = 40_000_000
"""The most raters × items whose pairs are looked at."""
ENDS = 6.0
"""The likelihood is summed over severities from −6 to 6."""
MAX_GRID = 1921
TOO_MANY = f"no standard errors for more than {MAX_PARAMETERS:,} parameters"
NOT_DEFINITE = "the likelihood is flat in some direction, so there are no standard errors"

Ints = NDArray[np.int64]


class GradedData(NamedTuple):
    """Scores by item and by rater.

    Attributes
    ----------
    codes
        Raters × items, the index among the points that the rater uses, -1 where there is no score.
    n_cuts
        For each rater, the number of points used minus one.
    offsets, raters, points
        The scores of item i are entries ``offsets[i]`` to ``offsets[i + 1]``.
    """

    codes: NDArray[np.int32]
    n_cuts: Ints
    offsets: Ints
    raters: NDArray[np.int32]
    points: NDArray[np.int32]

    @classmethod
    def of(cls, codes: NDArray[np.int32], n_cuts: NDArray[np.int64]) -> GradedData:
        """Sort scores by item."""
        item, rater = np.nonzero(codes.T >= 0)
        offsets = np.searchsorted(item, np.arange(codes.shape[1] + 1)).astype(np.int64)
        points = np.ascontiguousarray(codes.T[item, rater])
        return cls(np.ascontiguousarray(codes), n_cuts.astype(np.int64), offsets, rater.astype(np.int32), points)


def fitted(
    data: GradedData, n_grid: int, *, refine: bool, max_iterations: int, progress: Callable[[int, float], object] | None
) -> GradedFit:
    """Fit the model over a grid of severities, a finer one if ``refine`` is set and severities are more certain.

    If a discrimination of a small model reaches its bound, the model is fitted once more from another start, since the
    likelihood may be higher elsewhere.
    """
    start, cuts = _start(data)

    def fit_from(a: Floats) -> GradedFit:
        work = GradedFit(data, a.copy(), cuts.copy(), n_grid, max_iterations, progress)
        newton = work.n_parameters <= MAX_PARAMETERS and data.codes.size <= MAX_CELLS
        while True:
            moved = work.climb(near=newton)
            narrowest = np.quantile(work.spread[np.diff(data.offsets) > 0], 0.05)  # of one of the most certain items
            fine = 2 * ENDS / (work.n_grid - 1) <= narrowest or work.n_grid >= MAX_GRID
            if not refine or fine or work.iterations >= max_iterations:
                break
            work.use_grid(2 * (work.n_grid - 1) + 1)
        covariance = None
        if newton:
            moved, covariance = work.finish()
        work.note = "" if covariance is not None else NOT_DEFINITE if newton else TOO_MANY
        work.converged = moved < CONVERGED
        work.a_se, work.b_se = work.errors(covariance)
        return work

    fit = fit_from(start)
    if not ((np.abs(fit.a) >= BOUND).any() and cuts.size <= SMALL and fit.converged):
        return fit
    other = fit_from(np.where(start < 0, -1.0, 1.0))
    return other if other.converged and other.value > fit.value + CONVERGED else fit


def _start(data: GradedData) -> tuple[Floats, Floats]:
    """Return discriminations from the first principal component of scores, and cuts from how often they are reached."""
    given = data.codes >= 0
    n = given.sum(axis=1, keepdims=True)
    scores = np.where(given, data.codes, 0).astype(float)
    off = np.where(given, scores - scores.sum(axis=1, keepdims=True) / n, 0.0)
    off /= np.sqrt((off**2).sum(axis=1, keepdims=True) / n)
    common = np.maximum(given.sum(axis=0), 1)  # items with more scores must not count for more
    weights = np.ones(len(off))
    for _ in range(50):
        items = np.einsum("ji,j->i", off, weights) / common
        weights = np.einsum("ji,i->j", off, items) / n[:, 0]
        weights /= np.sqrt((weights**2).mean()) or 1.0
    items = np.einsum("ji,j->i", off, weights) / common
    square = np.einsum("ji,i->j", given, items**2)
    loading = np.einsum("ji,i->j", off, items) / np.sqrt(np.maximum(square * n[:, 0], 1e-300))
    loading = np.clip(loading, -0.9, 0.9)
    a = 1.7 * loading / np.sqrt(1 - loading**2)
    a = np.where(np.abs(a) < 0.1, np.where(a < 0, -0.1, 0.1), a)
    d = np.zeros((len(a), int(data.n_cuts.max())))
    for j, cuts in enumerate(data.n_cuts.tolist()):
        counts = np.bincount(data.codes[j][given[j]], minlength=cuts + 1) + 0.5
        above = counts[::-1].cumsum()[-2::-1] / counts.sum()
        d[j, :cuts] = np.log(above / (1 - above)) * np.sqrt(1 + (a[j] / 1.7) ** 2)
    return a, d


class GradedFit:
    """The current parameters of the fitted raters, the severities of all items, and what belongs to them."""

    def __init__(
        self, data: GradedData, a: Floats, d: Floats, n_grid: int, limit: int,
        progress: Callable[[int, float], object] | None,
    ) -> None:  # fmt: skip
        n_items = data.codes.shape[1]
        self.data, self.a, self.d, self.limit, self.progress = data, a, d, limit, progress
        self.iterations, self.converged, self.note = 0, False, ""
        self.severity, self.spread = np.zeros(n_items), np.zeros(n_items)
        self.windows = np.zeros(n_items, np.int64), np.zeros(n_items, np.int64)
        self.a_se, self.b_se = self.errors(None)
        self.use_grid(n_grid)

    def use_grid(self, n_grid: int) -> None:
        """Sum over this many severities from now on."""
        self.n_grid, self.value = n_grid, -np.inf
        self.theta = np.linspace(-ENDS, ENDS, n_grid)
        weights = np.exp(-0.5 * self.theta**2)
        self.log_prior = np.log(weights / weights.sum())
        shape = (len(self.a), self.d.shape[1] + 1, n_grid)
        self.log_p, self.counts = np.zeros(shape), np.zeros(shape)

    @property
    def n_parameters(self) -> int:
        """The number of cuts and discriminations of all raters."""
        return int(self.data.n_cuts.sum()) + len(self.a)

    def expect(self, a: Floats, d: Floats) -> float:
        """Return the log-likelihood of parameters, and keep what it computes on the way."""
        from plurivox.kernels.graded import expect, log_probabilities

        data = self.data
        log_probabilities(a, d, data.n_cuts, self.theta, self.log_p)
        return float(
            expect(
                data.offsets, data.raters, data.points, self.log_p, self.log_prior, self.theta, self.counts,
                self.severity, self.spread, *self.windows,
            )
        )  # fmt: skip

    def climb(self, *, near: bool = False, most: int | None = None) -> float:
        """Take steps of EM while they move the log-likelihood, or only ``near`` the top; return the last move.

        Every third step extrapolates the two before it, if that raises the likelihood (SQUAREM).
        """
        moved, trail = np.inf, [(self.a.copy(), self.d.copy())]
        for _ in range(self.limit if most is None else most):
            value = self.expect(self.a, self.d)
            moved, self.value = value - self.value, value
            self._count()
            least = max(0.01, NEAR * abs(value)) if near else CONVERGED
            if moved < least or self.iterations >= self.limit:
                break
            self._maximise()
            trail.append((self.a.copy(), self.d.copy()))
            if len(trail) == 3:
                self._leap(trail)
                trail = [(self.a.copy(), self.d.copy())]
        return moved

    def _maximise(self) -> None:
        from plurivox.kernels.graded import maximise

        def work(first: int) -> None:
            last = min(first + CHUNK, len(self.a))
            maximise(self.counts, self.a, self.d, self.data.n_cuts, self.theta, ROUNDS, first, last)

        if len(self.a) <= CHUNK:
            work(0)
        else:
            with ThreadPoolExecutor() as pool:  # each rater has parameters of its own
                list(pool.map(work, range(0, len(self.a), CHUNK)))

    def _leap(self, trail: list[tuple[Floats, Floats]]) -> None:
        """Extrapolate two steps of EM (Varadhan and Roland, 2008), if parameters stay in order and the value rises."""
        firsts, seconds, thirds = (np.concatenate([a, d.ravel()]) for a, d in trail)
        along, bend = seconds - firsts, thirds - 2 * seconds + firsts
        length = float(np.sqrt((along**2).sum() / max((bend**2).sum(), 1e-300)))
        if length <= 1:
            return
        far = firsts + 2 * length * along + length**2 * bend
        a, d = np.clip(far[: len(self.a)], -BOUND, BOUND), far[len(self.a) :].reshape(self.d.shape)
        if self._ordered(d) and self.expect(a, d) > self.value:
            self.a, self.d = a, d

    def _ordered(self, d: Floats) -> bool:
        """Return whether each rater's cuts fall."""
        inside = np.arange(1, d.shape[1]) < self.data.n_cuts[:, None]
        return bool((np.diff(d, axis=1) < 0)[inside].all())

    def _count(self) -> None:
        self.iterations += 1
        if self.progress is not None:
            self.progress(self.iterations, self.value)

    def finish(self) -> tuple[float, Floats | None]:
        """Take Newton's steps to the top; return how far the last one moved the likelihood, and the covariance.

        If the information is not positive definite, or a step leads down, EM continues for a while.
        """
        moved = np.inf
        while True:
            self.value = self.expect(self.a, self.d)
            gradient, information = self._information()
            free = self._free(gradient)
            covariance = _inverse(information[np.ix_(free, free)])
            if self.iterations >= self.limit:
                break
            better = None
            if covariance is not None:
                step = np.zeros(len(gradient))
                step[free] = np.einsum("ij,j->i", covariance, gradient[free])
                left = float(step @ gradient) / 2  # how much higher the top is
                if left < TOP or moved < TOP:
                    moved = min(left, moved)
                    break
                better = self._stepped(step)
            if better is None:
                before, self.value = self.value, -np.inf
                self.climb(most=25)
                moved = self.expect(self.a, self.d) - before
                if moved < CONVERGED:
                    break
            else:
                moved, self.value = better - self.value, better
                self._count()
        if covariance is None:
            return moved, None
        whole = np.full((len(gradient),) * 2, np.nan)
        whole[np.ix_(free, free)] = covariance
        return moved, whole

    def _stepped(self, step: Floats) -> float | None:
        """Go as far along a step as the likelihood rises and return the likelihood; None if it does not rise."""
        for scale in 0.5 ** np.arange(12):
            a, d = self.a.copy(), self.d.copy()
            for j, (first, cuts) in enumerate(zip(self._firsts(), self.data.n_cuts, strict=True)):
                d[j, :cuts] += scale * step[first : first + cuts]
                a[j] = np.clip(a[j] + scale * step[first + cuts], -BOUND, BOUND)
            if self._ordered(d):
                value = self.expect(a, d)
                if value >= self.value - 1e-12 * abs(self.value):
                    self.a, self.d = a, d
                    return value
        return None

    def _firsts(self) -> Ints:
        return np.concatenate(([0], np.cumsum(self.data.n_cuts + 1)[:-1])).astype(np.int64)

    def _free(self, gradient: Floats) -> Ints:
        """Return the parameters that may move: all except discriminations that press against their bound."""
        at = self._firsts() + self.data.n_cuts
        held = at[(np.abs(self.a) >= BOUND) & (gradient[at] * self.a > 0)]
        return np.setdiff1d(np.arange(len(gradient)), held)

    def _information(self) -> tuple[Floats, Floats]:
        """Return the gradient and the observed information at the current parameters."""
        from plurivox.kernels import graded as k

        data, firsts = self.data, self._firsts()
        starts, ends = self.windows
        places = np.concatenate(([0], np.cumsum(ends - starts))).astype(np.int64)
        weights = np.zeros(int(places[-1]))
        k.posteriors(data.offsets, data.raters, data.points, self.log_p, self.log_prior, starts, ends, places, weights)
        rise, fall = np.zeros(self.log_p.shape), np.zeros(self.log_p.shape)
        k.slopes(self.a, self.d, data.n_cuts, self.theta, rise, fall)
        means = np.zeros((*data.codes.shape, 3))
        where = (data.codes, self.theta, starts, ends, places, weights, rise, fall, means)
        k.expected_slopes(*where)
        gradient = np.zeros(self.n_parameters)
        k.gradients(data.codes, means, data.n_cuts, firsts, gradient)
        lost = np.zeros((self.n_parameters,) * 2)
        with ThreadPoolExecutor() as pool:  # each rater fills in its own rows, in any thread
            list(pool.map(lambda j: k.information(*where, data.n_cuts, firsts, j, j + 1, lost), range(len(self.a))))
        complete = np.zeros_like(lost)
        k.curvatures(self.counts, self.a, self.d, data.n_cuts, self.theta, firsts, complete)
        upper = np.triu(complete - lost)
        return gradient, upper + np.triu(upper, 1).T

    def errors(self, covariance: Floats | None) -> tuple[Floats, Floats]:
        """Return the standard errors of discriminations and thresholds; NaN where there are none."""
        a_se, b_se = np.full(len(self.a), np.nan), np.full(self.d.shape, np.nan)
        if covariance is None:
            return a_se, b_se
        for j, (first, cuts) in enumerate(zip(self._firsts().tolist(), self.data.n_cuts.tolist(), strict=True)):
            last = first + cuts
            a, d = self.a[j], self.d[j, :cuts]
            own = covariance[first : last + 1, first : last + 1]
            variance, shared = np.diagonal(own)[:cuts], own[:cuts, cuts]
            spread = own[cuts, cuts]
            a_se[j] = np.sqrt(spread)
            if not np.isnan(spread) and a != 0:  # b = −d/a
                b = -d / a
                b_se[j, :cuts] = np.sqrt(np.maximum(variance + 2 * b * shared + b**2 * spread, 0)) / abs(a)
        return a_se, b_se


def _inverse(matrix: Floats) -> Floats | None:
    """Return the inverse of a positive definite matrix; None if it is not one, or barely."""
    size = np.sqrt(np.diagonal(matrix)) if (np.diagonal(matrix) > 0).all() else None
    if size is None or not len(matrix):
        return None
    scaled = matrix / np.outer(size, size)
    try:
        half = np.linalg.inv(np.linalg.cholesky(scaled))
    except np.linalg.LinAlgError:
        return None
    inverse = half.T @ half
    if np.diagonal(inverse).max() > 1e8:
        return None
    return np.asarray(inverse / np.outer(size, size))
