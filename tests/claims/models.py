"""Studies of predictions in which models are equally good, or one is better by a known cause.

Every item has a distribution over five points, and ratings are drawn from it. A model's prediction of an item is made
from that distribution by a way of being wrong; two models that are wrong in the same way are equally good.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import plurivox as pv
from plurivox.base.errors import SoftScoresWarning
from plurivox.infer.result import Statement

Floats = NDArray[np.float64]
LABELS = [str(point) for point in range(1, 6)]
DRAWS = 199


@dataclass(frozen=True)
class Predicted:
    """Ratings, and what models predict of their items."""

    ratings: pv.Ratings
    predictions: pl.DataFrame
    by: Sequence[str] = ()


def truths(rng: np.random.Generator, n_items: int) -> Floats:
    """Items of a hidden severity, cut into five points."""
    from scipy.special import ndtr

    severity, noise = rng.normal(size=(n_items, 1)), 0.6
    below = ndtr((np.array([-0.84, -0.25, 0.25, 0.84]) - severity) / noise)
    return np.diff(np.concatenate([np.zeros((n_items, 1)), below, np.ones((n_items, 1))], axis=1), axis=1)


def noisy(rng: np.random.Generator, truth: Floats, strength: float) -> Floats:
    """A model that knows each item as well as so many ratings would tell."""
    made = np.array([rng.dirichlet(strength * row + 0.05) for row in truth])
    return np.asarray(np.maximum(made, 1e-6) / np.maximum(made, 1e-6).sum(axis=1, keepdims=True))


def wrong_at_times(rng: np.random.Generator, truth: Floats, share: float) -> Floats:
    """A model that knows most items exactly and a few not at all: its lead over a steady one is skewed."""
    lost = rng.random(len(truth)) < share
    return np.where(lost[:, None], truth[:, ::-1], truth)


def predicted(rng: np.random.Generator, truth: Floats, n: NDArray[np.int64], models: dict[str, Floats]) -> Predicted:
    """Draw n ratings of each item, each by another rater."""
    points = [rng.choice(5, size=k, p=row / row.sum()) + 1 for k, row in zip(n.tolist(), truth, strict=True)]
    items = [f"i{at:04}" for at in range(len(truth))]
    rows = [(item, f"r{k}", int(y)) for item, own in zip(items, points, strict=True) for k, y in enumerate(own)]
    return Predicted(_ratings(rows), _frame(items, models))


def _ratings(rows: Sequence[tuple[str, str, int]], raters: pl.DataFrame | None = None) -> pv.Ratings:
    frame = pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")
    return pv.Ratings.from_frame(frame, scale=pv.Scale.range(1, 5), raters=raters)


def _frame(items: Sequence[str], models: dict[str, Floats]) -> pl.DataFrame:
    own = pl.Series("item", items)
    return pl.concat(
        pl.DataFrame(q, schema=LABELS, orient="row").select(pl.lit(name).alias("model"), own, pl.all())
        for name, q in models.items()
    )


def equal(rng: np.random.Generator, n_items: int, n_models: int = 2, better: float = 1.0) -> Predicted:
    """Models that know each item as well as three ratings would tell, the first as well as ``better`` times that.

    Items have two to six ratings, so that there are bins.
    """
    truth = truths(rng, n_items)
    strength = [3.0 * (better if at == 0 else 1.0) for at in range(n_models)]
    models = {f"m{at}": noisy(rng, truth, one) for at, one in enumerate(strength)}
    return predicted(rng, truth, rng.integers(2, 7, n_items), models)


def skewed(rng: np.random.Generator, n_items: int) -> Predicted:
    """A steady model, and one that is mostly right and at times quite wrong, equally good on average by RPS."""
    truth = truths(rng, n_items)
    models = {"steady": 0.5 * truth + 0.1, "unsteady": wrong_at_times(rng, truth, SHARE)}
    return predicted(rng, truth, rng.integers(2, 7, n_items), models)


def _equally_good() -> float:
    """Return how often a model must be wrong to be as good as a steady one: RPS is linear in that share."""
    truth = truths(np.random.default_rng(0), 200_000)

    def excess(q: Floats) -> float:
        return float(((np.cumsum(truth, axis=1) - np.cumsum(q, axis=1))[:, :-1] ** 2).sum(axis=1).mean())

    return excess(0.5 * truth + 0.1) / excess(truth[:, ::-1])


SHARE = _equally_good()


def in_bins(rng: np.random.Generator, n_items: int, turn: float = 0.0) -> Predicted:
    """Two models, the first better on all items; with ``turn`` the second is better on items with six ratings.

    Items have two or six ratings; the differences of items with two vary more.
    """
    truth = truths(rng, n_items)
    n = rng.permutation(np.where(np.arange(n_items) < n_items // 2, 2, 6))
    good, bad = noisy(rng, truth, 12.0), noisy(rng, truth, 3.0)
    turned = ((n == 6) & (turn > 0))[:, None]
    return predicted(rng, truth, n, {"a": np.where(turned, bad, good), "b": np.where(turned, good, bad)})


def by_group(rng: np.random.Generator, n_items: int, view: float = 0.0) -> Predicted:
    """20 raters of two groups who rate all items, with habits of their own; models that predict high and low.

    With ``view`` one group sees all items so much higher than the other, so that the model that predicts high is better
    for it.
    """
    n_raters = 20
    group = rng.permutation(np.arange(n_raters) % 2)
    severity = rng.normal(size=n_items)
    latent = severity + 0.5 * rng.normal(size=(n_raters, 1)) + view * (group[:, None] - 0.5)
    latent = latent + 0.6 * rng.normal(size=latent.shape)
    scores = 1 + (latent[..., None] > np.array([-0.84, -0.25, 0.25, 0.84])).sum(axis=-1)
    items = [f"i{at:04}" for at in range(n_items)]
    rows = [(items[i], f"r{r:02}", int(scores[r, i])) for i in range(n_items) for r in range(n_raters)]
    raters = pl.DataFrame({"rater": [f"r{r:02}" for r in range(n_raters)], "g": ["xy"[one] for one in group]})
    models = {"high": _shifted(severity, 0.5), "low": _shifted(severity, -0.5)}
    return Predicted(_ratings(rows, raters), _frame(items, models), ("g",))


def _shifted(severity: Floats, by: float) -> Floats:
    from scipy.special import ndtr

    below = ndtr((np.array([-0.84, -0.25, 0.25, 0.84]) - severity[:, None] - by) / 0.8)
    ends = np.zeros((len(severity), 1))
    return np.diff(np.concatenate([ends, below, ends + 1], axis=1), axis=1)


def said(made: Predicted, **asked: Any) -> list[Statement]:
    """Return what soft scores say of a study."""
    how = {"permutations": DRAWS, "bootstrap": 0, "curve": False, "metrics": ["rps", "cross_entropy"], "threads": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftScoresWarning)
        return pv.soft_scores(made.ratings, made.predictions, by=made.by, **{**how, **asked}).statements()


def of_models(one: Statement) -> bool:
    """Tell whether a model is claimed to be better than another, or that to depend on something."""
    return one.claim and any(words in one.text for words in ("is the best", "is better than", "compare depends on"))


STUDIES: dict[str, Callable[..., Predicted]] = {
    "equal": equal, "skewed": skewed, "in_bins": in_bins, "by_group": by_group,
}  # fmt: skip


def claims(study: str, words: str, seed: int, **options: Any) -> bool:
    """Tell whether a study of a kind has a claim about models with some words in it."""
    rng = np.random.default_rng([seed, sum(map(ord, study)), options["n_items"]])
    return any(of_models(one) and words in one.text for one in said(STUDIES[study](rng, **options)))
