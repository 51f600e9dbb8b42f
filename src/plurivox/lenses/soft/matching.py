"""What soft scores start from: matched items, a prior, bins of rating counts, and predictions to compare with."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from plurivox.base.errors import InputError
from plurivox.base.wording import are, counted
from plurivox.domain.attributes import places_of
from plurivox.domain.predictions import Predictions
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import Scale, text_of
from plurivox.statistics.checks import prior_of
from plurivox.statistics.posterior import PriorFit, fit_prior

EMPIRICAL_BAYES, AUTO = "empirical-bayes", "auto"
ENOUGH = 50
"""The fewest items with two ratings or more to fit a prior to (benchmarks/priors.py): with fewer, one rating's worth on
every point is often closer to the truth."""
UNIFORM, MARGINAL, POSTERIOR_MEAN = REFERENCES = ("uniform", "marginal", "posterior mean")
"""Predictions that are always shown for comparison."""
FOLDS = 10
MOST_BINS = 5
NO_PREDICTION, NO_RATING = "no prediction", "no rating"

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


# Items ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PredictedItems:
    """Items that are scored: those of the ratings that every model predicts.

    Attributes
    ----------
    items
        Their codes in the ratings, in ascending order.
    shares
        Models × items × points.
    missing
        One row per ``model``, ``item`` and ``problem``: a rated item that the model does not predict, or one it
        predicts that has no row in the ratings.
    n_few
        How many predicted items have fewer ratings than required.
    by_rater
        What models that predict individual raters say, with what those raters said.
    """

    items: NDArray[np.int64]
    shares: Floats
    missing: pl.DataFrame
    n_few: int
    by_rater: Mapping[str, RaterSteps]


@dataclass(frozen=True, slots=True, eq=False)
class RaterSteps:
    """The ratings of raters whom a model predicts individually: their item and rater, and the steps between."""

    item: NDArray[np.int64]
    rater: NDArray[np.int64]
    steps: Floats
    n_items: int
    whole: NDArray[np.bool_]
    """Whether all raters of an item are predicted."""

    @classmethod
    def of(cls, ratings: Ratings, predicted: pl.DataFrame, source: str) -> RaterSteps:
        """Match predictions of single raters with their ratings."""
        if ratings.rater_codes is None:
            raise InputError(
                "it predicts single raters, but the ratings are totals: who gave them is not known",
                source=source,
                hint="Give a table with one row per rating, or predicted distributions.",
            )
        given = pl.DataFrame({
            "item": pl.Series(ratings.item_codes, dtype=pl.Int64),
            "rater": pl.Series(ratings.rater_codes, dtype=pl.Int64),
            "score": pl.Series(ratings.scores, dtype=pl.Int64),
        })  # fmt: skip
        told = predicted.select(
            item=pl.Series(places_of(predicted["item"], ratings.items["item"])),
            rater=pl.Series(places_of(predicted["rater"], ratings.raters["rater"])),
            point="point",
        )
        both = given.join(told, on=["item", "rater"], how="left", maintain_order="left")
        missing = both["point"].is_null()
        whole = np.ones(ratings.n_items, dtype=bool)
        whole[both["item"].filter(missing).to_numpy()] = False
        both = both.filter(~missing)
        steps = (both["point"] - both["score"]).abs().cast(pl.Float64)
        return cls(both["item"].to_numpy(), both["rater"].to_numpy(), steps.to_numpy(), ratings.n_items, whole)

    def told(self, items: NDArray[np.int64], raters: NDArray[np.int32] | None) -> Floats:
        """Return for each item the share of counted raters predicted wrongly, and the mean number of steps off."""
        own = np.ones(len(self.item), dtype=bool) if raters is None else raters[self.rater] >= 0
        item, steps = self.item[own], self.steps[own]
        n = np.bincount(item, minlength=self.n_items)
        sums = [np.bincount(item, weights, self.n_items) for weights in ((steps > 0).astype(float), steps)]
        with np.errstate(invalid="ignore"):  # NaN for an item without ratings
            return np.stack([one[items] / n[items] for one in sums], axis=1)


def match(ratings: Ratings, predictions: Predictions, *, min_ratings: int, strict: bool) -> PredictedItems:
    """Find the items that every model predicts, and list what is missing on either side."""
    require_points("predictions", predictions.scale, ratings.scale, predictions.source)
    for name in predictions.models:
        if name in REFERENCES:
            raise InputError(
                f"a model is called {name!r}, the name of a prediction that all are compared with",
                source=predictions.source,
                hint="Give the model another name.",
            )
    place = places_of(ratings.items["item"], predictions.items)
    known = ~np.isnan(predictions.shares[:, :, 0])
    predicted = np.where(place >= 0, known[:, np.maximum(place, 0)], False)
    by_rater = {name: RaterSteps.of(ratings, frame, predictions.source) for name, frame in predictions.by_rater.items()}
    for name, one in by_rater.items():
        predicted[predictions.models.index(name)] &= one.whole
    rated = np.diff(ratings.offsets) > 0
    unknown = np.ones(len(predictions.items), dtype=bool)
    unknown[place[place >= 0]] = False
    missing = pl.concat(
        pl.DataFrame({"item": ids.filter(pl.Series(chosen)).cast(pl.String)}).select(
            pl.lit(name).alias("model"), "item", pl.lit(problem).alias("problem")
        )
        for name, of_ratings, of_predictions in zip(predictions.models, predicted, known, strict=True)
        for problem, ids, chosen in (
            (NO_PREDICTION, ratings.items["item"], rated & ~of_ratings),
            (NO_RATING, predictions.items, unknown & of_predictions),
        )
    )
    if strict and missing.height:
        first = missing.row(0, named=True)
        where = "is rated but not predicted" if first["problem"] == NO_PREDICTION else "is predicted but not rated"
        raise InputError(
            f"{counted(missing.height, 'prediction or rating is', 'predictions or ratings are')} missing; the first is "
            f"from {first['model']}: item {first['item']!r} {where}",
            source=predictions.source,
            hint="Complete them, or leave out --strict (strict=False) to score the items that both sides have.",
        )
    shared = predicted.all(axis=0)
    chosen, n = np.flatnonzero(shared & (ratings.counts().sum(axis=1) >= min_ratings)), int(np.count_nonzero(shared))
    if not len(chosen):
        _refuse_nothing(ratings, predictions, n, min_ratings)
    return PredictedItems(chosen, predictions.shares[:, place[chosen]], missing, n - len(chosen), by_rater)


def require_points(what: str, there: Scale, here: Scale, source: str | None = None) -> None:
    """Raise unless the scale of something has the points of that of the ratings; 1 and "1" are the same."""
    if [text_of(label) for label in there.labels] != [text_of(label) for label in here.labels]:
        problem = f"the {what} are on {there}, the ratings on {here}"
        raise InputError(problem, source=source, hint="Both need the same scale.")


def _refuse_nothing(ratings: Ratings, predictions: Predictions, n: int, least: int) -> None:
    if n:
        wanted = "a rating" if least == 1 else f"{least:,} ratings"
        raise InputError(f"no predicted item has {wanted}", hint="Lower --min-ratings (min_ratings=).")
    there, here = (", ".join(map(repr, ids.head(2))) for ids in (ratings.items["item"], predictions.items))
    problem = f"no predicted item is among the ratings: predictions have items such as {here}, ratings such as {there}"
    known = places_of(predictions.items, ratings.items["item"]) >= 0
    if len(predictions.models) > 1 and known.any():
        problem = "no item of the ratings is predicted by every model"
    raise InputError(problem, source=predictions.source, hint="Both tables need the same item ids.")


# Prior ---------------------------------------------------------------------------------------------------------------


class Prior(NamedTuple):
    """The prior's weight on each point, how it was chosen, and how its fit went."""

    weights: Floats
    name: str
    fit: PriorFit | None

    @property
    def total(self) -> float:
        """How many ratings it is worth."""
        return float(self.weights.sum())

    def share(self, n: ArrayLike) -> Floats:
        """Return its share of the weight against n ratings."""
        return np.asarray(self.total / (self.total + np.asarray(n, dtype=np.float64)))


def resolve_prior(prior: ArrayLike | str, counts: Counts, train: Ratings | None) -> Prior:
    """Read a number, a vector, or how to find the prior.

    ``"empirical-bayes"`` fits it to the training items, or else to these. ``"auto"`` does so if at least 50 items have
    two ratings or more, and otherwise gives every point the weight 1.
    """
    if not isinstance(prior, str):
        return Prior(prior_of(prior, counts.shape[1]), "given", None)
    if prior not in (EMPIRICAL_BAYES, AUTO):
        raise InputError(
            f"prior is {prior!r}",
            hint=f'Give a number, one number for each point, "{AUTO}" or "{EMPIRICAL_BAYES}".',
        )
    known = counts if train is None else train.counts()
    n = int(np.count_nonzero(known.sum(axis=1) >= 2))
    if prior == AUTO and n < ENOUGH:
        few = f"flat, since fitting one takes {ENOUGH} items with two ratings or more, and there {are(n)} {n:,}"
        return Prior(np.ones(counts.shape[1]), few, None)
    fit = fit_prior(known)
    where = "fitted to these same items" if train is None else "fitted to training items"
    return Prior(np.asarray(fit.alpha, dtype=float), where, fit)


def prior_words(prior: Prior, n: Counts) -> str:
    """Say which prior was used, what it is worth, and its share of the weight against an item's ratings."""
    weights = ", ".join(map(_short, prior.weights[:12])) + (" …" if len(prior.weights) > 12 else "")
    flat = prior.weights.max() == prior.weights.min()
    points = f"{_short(prior.weights[0])} on every point" if flat else f"{weights} on the points"
    how = prior.name
    if prior.fit is not None:
        how += f", {prior.fit.n_items:,} of them with two ratings or more"
    share = float(np.median(prior.share(n))) if len(n) else 1.0
    worth = f"{_short(prior.total)} rating{'' if prior.total == 1 else 's'}"
    own = f"{np.median(n) if len(n) else 0:g}"
    beside = f"against the median item's {own} rating{'' if own == '1' else 's'} it has {share:.0%} of the weight"
    text = f"The prior ({how}: {points}) is worth {worth}: {beside}."
    return f"{text} {prior.fit.note}".strip() if prior.fit is not None else text


def _short(number: float) -> str:
    return f"{number:.3g}" if number < 1000 else f"{number:,.0f}"


# Predictions to compare with -----------------------------------------------------------------------------------------


def reference_predictions(
    counts: NDArray[Any], pool: NDArray[Any], chosen: NDArray[np.int64], prior: Floats, folds: NDArray[np.int64],
    train: bool,
) -> dict[str, Floats]:  # fmt: skip
    """Return the uniform prediction, the marginal one, and the posterior mean, each items × points.

    The marginal prediction of an item is the share of each point among all ratings of other items: training items if
    there are any (``pool`` then holds them), otherwise the items of other folds. One rating's worth is spread over all
    points, so that none is impossible.
    """
    n_points = counts.shape[1]
    total = pool.sum(axis=0) + 1 / n_points
    if train:
        marginal = np.broadcast_to(total / total.sum(), counts.shape)
    else:
        held_out = np.zeros((FOLDS, n_points))
        np.add.at(held_out, folds, pool[chosen])
        left = total - held_out
        marginal = (left / left.sum(axis=1, keepdims=True))[folds]
    a = counts + prior
    return {
        UNIFORM: np.broadcast_to(np.full(n_points, 1 / n_points), counts.shape),
        MARGINAL: np.asarray(marginal),
        POSTERIOR_MEAN: a / a.sum(axis=1, keepdims=True),
    }


def folds_of(n_items: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each item; all folds have about the same size."""
    order = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1004,))).permutation(n_items)
    folds = np.empty(n_items, dtype=np.int64)
    folds[order] = np.arange(n_items) % FOLDS
    return folds


# Bins of rating counts -----------------------------------------------------------------------------------------------


class Bin(NamedTuple):
    """Items with ``low`` to ``high`` ratings, both included; no upper end if ``high`` is None."""

    name: str
    low: int
    high: int | None

    def holds(self, n: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which numbers of ratings are in it."""
        return np.asarray((n >= self.low) & (n <= (np.inf if self.high is None else self.high)))


def bins_of(n: Counts, given: str | Iterable[str] | None) -> list[Bin]:
    """Return the bins that were given, as ``"2-3"``, ``"4"`` or ``"10+"``, or up to five that the data suggest."""
    if given is not None:
        texts = given.split(",") if isinstance(given, str) else [str(one) for one in given]
        ordered = sorted((_bin(text.strip()) for text in texts), key=lambda one: one.low)
        for one, other in itertools.pairwise(ordered):
            if one.high is None or one.high >= other.low:
                raise InputError(f"the bins {one.name} and {other.name} overlap", hint="Put each number into one bin.")
        return ordered
    rated = n[n > 0]
    unrated = [Bin("0", 0, 0)] if len(rated) < len(n) else []
    distinct = np.unique(rated)
    if len(distinct) <= MOST_BINS:
        return unrated + [Bin(f"{low}", int(low), int(low)) for low in distinct]
    ends = np.unique(np.quantile(rated, np.arange(1, MOST_BINS + 1) / MOST_BINS, method="inverted_cdf"))
    starts = [int(distinct[0]), *(int(distinct[distinct > end][0]) for end in ends[:-1])]
    each = zip(starts, map(int, ends), strict=True)
    return unrated + [Bin(f"{low}" if low == high else f"{low}-{high}", low, high) for low, high in each]


def bin_codes(n: Counts, bins: Sequence[Bin]) -> NDArray[np.int64]:
    """Return the number of each item's bin, one more than the last for items in none."""
    codes = np.full(len(n), len(bins), dtype=np.int64)
    for number, one in enumerate(bins):
        codes[one.holds(n)] = number
    return codes


def _bin(text: str) -> Bin:
    found = re.fullmatch(r"(\d+)(?:\s*[-–]\s*(\d+)|(\+))?", text)
    if not found:
        raise InputError(f"{text!r} is not a bin of rating counts", hint="Write 2-3, 4 or 10+, with commas between.")
    low = int(found[1])
    high = low if found[2] is None else int(found[2])
    if high < low:
        raise InputError(f"the bin {text!r} is empty", hint="Write the lower number first.")
    return Bin(text, low, None if found[3] else high)
