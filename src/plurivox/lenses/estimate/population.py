"""What an estimate starts from: the items that models were asked about or people rated, and what each says."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import chdtrc, stdtr

from plurivox.base.errors import InputError
from plurivox.domain.answer_columns import FAILED
from plurivox.domain.answers import Answers, Voice
from plurivox.domain.attributes import as_categories, id_texts, places_of
from plurivox.domain.ratings import Ratings
from plurivox.domain.reader import STATES
from plurivox.infer.families import SIGNIFICANT, adjust
from plurivox.lenses.alignment.matching import account_items, nothing_answered, pooled, subsets_of

if TYPE_CHECKING:
    from plurivox.lenses.estimate.measuring import Estimand

ACCOUNTS = {
    "model": pl.String, "prompt": pl.String, "subset": pl.String, "n_rated": pl.Int64, "rated_answered": pl.Int64,
    "n_further": pl.Int64, "further_answered": pl.Int64, "answered": pl.Int64, "refused": pl.Int64,
    "unreadable": pl.Int64, "failed": pl.Int64, "missing": pl.Int64,
}  # fmt: skip
"""How many items people rated and how many of these each voice answered; the same for further items, and why not."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Spoken(NamedTuple):
    """The items that a voice answered on the scale, the distribution of its answers to each, and the other items.

    ``silent`` are the items that it refused or answered in a way that cannot be read.
    """

    items: Ints
    shares: Floats
    silent: Ints

    def numbers(self, of_points: Floats, n_items: int, *, keep_silent: bool) -> Floats:
        """Return the voice's number for each item, NaN where it has none; silent items may be kept with the mean."""
        found = np.full(n_items, np.nan)
        found[self.items] = self.shares @ of_points
        if keep_silent and len(self.items):
            found[self.silent] = found[self.items].mean()
        return found

    def answered(self, n_items: int) -> Mask:
        """Return which items have an answer."""
        found = np.zeros(n_items, dtype=bool)
        found[self.items] = True
        return found


class RatingEntries(NamedTuple):
    """Ratings, one entry each: the item, the rater (-1 where unknown), the position, and how many there are.

    ``weight`` is how much they count in means: ``times``, or the weight of the rater.
    """

    item: Ints
    rater: Ints
    score: Ints
    times: Floats
    weight: Floats

    def some(self, chosen: Mask) -> RatingEntries:
        """Return some of the ratings."""
        return RatingEntries(
            self.item[chosen], self.rater[chosen], self.score[chosen], self.times[chosen], self.weight[chosen]
        )

    def alike(self) -> RatingEntries:
        """Return the same ratings with all raters counted equally."""
        return self._replace(weight=self.times)

    def means(self, numbers: Floats, n_items: int) -> Floats:
        """Return the mean of each item, NaN where it has no rating."""
        whole, total = (
            np.bincount(self.item, weights=one, minlength=n_items)
            for one in (self.weight, self.weight * numbers[self.score])
        )
        found: Floats = np.divide(total, whole, out=np.full(n_items, np.nan), where=whole > 0)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedItems:
    """The items: those that models were asked about, then those that only people rated.

    Attributes
    ----------
    items
        Ids, and what is known about each item.
    voices, spoken
        Who answers, and what each says.
    rated
        The ratings of items that any voice was asked about.
    subsets, subset
        The names of the parts of the items, and the part of each; the number of parts for items in none.
    accounts
        See :data:`ACCOUNTS`.
    """

    items: pl.DataFrame
    voices: tuple[Voice, ...]
    spoken: tuple[Spoken, ...]
    rated: RatingEntries
    subsets: tuple[str, ...]
    subset: Ints
    accounts: pl.DataFrame

    @property
    def n_items(self) -> int:
        """How many there are."""
        return self.items.height


def population(ratings: Ratings, answers: Answers, subset: str | None) -> EstimatedItems:
    """Combine the items of ratings and answers, and count what is missing on either side."""
    place = places_of(ratings.items["item"], answers.items)
    has_ratings = np.diff(ratings.offsets) > 0
    asked = (place >= 0) & has_ratings
    if not asked.any():
        there, here = (", ".join(map(repr, ids.head(2))) for ids in (ratings.items["item"], answers.items))
        raise InputError(
            f"no item with an answer is rated: answers have items such as {here}, ratings such as {there}",
            source=answers.source,
            hint="Both tables need the same item ids; without any rated item, nothing shows how far off models are.",
        )
    alone = np.flatnonzero(has_ratings & (place < 0))
    items = _described(ratings, answers, place, alone)
    names, subset_of = subsets_of(items, subset)
    rated = np.zeros(items.height, dtype=bool)
    rated[place[asked]] = rated[len(answers.items) :] = True
    accounts = _accounts(answers, rated, names, subset_of)
    spoken = tuple(_spoken(answers, v) for v in range(len(answers.voices)))
    if not any(len(one.items) for one in spoken):
        best = account_items(answers, answers.item.astype(np.int64), np.ones(len(answers.items), dtype=bool), (),
                             np.zeros(len(answers.items), dtype=np.int64))  # fmt: skip
        raise nothing_answered(answers, best)
    return EstimatedItems(items, answers.voices, spoken, _rated(ratings, asked, place), names, subset_of, accounts)


def _described(ratings: Ratings, answers: Answers, place: Ints, alone: Ints) -> pl.DataFrame:
    """Return all items with what is known about each: from the ratings, or else from the answers."""
    n = len(answers.items)
    where = np.full(n + len(alone), -1, dtype=np.int64)
    where[place[place >= 0]] = np.flatnonzero(place >= 0)
    where[n:] = alone
    rows = pl.Series(where).replace(-1, None)
    known = ratings.items.drop("item")[rows] if ratings.items.width > 1 else pl.DataFrame()
    beside = answers.attributes if answers.attributes is not None else pl.DataFrame()
    ids = pl.concat([id_texts(answers.items), id_texts(ratings.items["item"]).gather(alone)])
    columns = {"item": ids.alias("item")}
    for name in dict.fromkeys((*known.columns, *beside.columns)):
        if name == "item":
            continue
        own = _texts(known, name, len(where))
        other = _texts(beside, name, n).extend(pl.Series([None] * len(alone), dtype=pl.String))
        columns[name] = pl.select(pl.coalesce(own, other).alias(name)).to_series()
    return pl.DataFrame(columns)


def _texts(frame: pl.DataFrame, name: str, n: int) -> pl.Series:
    """Return an attribute as categories, null where it is unknown."""
    if name not in frame.columns:
        return pl.Series([None] * n, dtype=pl.String)
    return as_categories(frame[name]).cast(pl.String)


def _spoken(answers: Answers, v: int) -> Spoken:
    """Return what a voice says: its samples averaged, from log-probabilities where they are known."""
    own = np.flatnonzero((answers.voice == v) & (answers.state != FAILED))
    shares = None if answers.shares is None else answers.shares[own]
    items, found, _ = pooled(
        answers.item[own].astype(np.int64), answers.point[own].astype(np.int64), np.ones(len(own)), shares,
        len(answers.scale),
    )  # fmt: skip
    return Spoken(items, found, np.setdiff1d(answers.item[own], items).astype(np.int64))


def _rated(ratings: Ratings, asked: Mask, place: Ints) -> RatingEntries:
    """Return the ratings of items that models were asked about, by the codes of the population."""
    own = ratings.chosen(asked, None)
    n = len(own.scores)
    rater = np.full(n, -1, np.int64) if own.rater_codes is None else own.rater_codes.astype(np.int64)
    times = np.ones(n) if own.multiplicity is None else own.multiplicity.astype(float)
    weight = times if ratings.weights is None else ratings.weights[rater]
    return RatingEntries(place[own.item_codes], rater, own.scores.astype(np.int64), times, weight)


def _accounts(answers: Answers, rated: Mask, names: tuple[str, ...], subset_of: Ints) -> pl.DataFrame:
    """Count what became of the items, rated or not, for each voice and part of the items."""
    item = answers.item.astype(np.int64)
    keys = ["model", "prompt", "subset"]
    every, humans, others = (
        account_items(answers, np.where(chosen[item], item, -1), chosen, names, subset_of)
        for chosen in (np.ones(len(rated), dtype=bool), rated, ~rated)
    )
    return (
        every.select(*keys, *STATES, "missing")
        .join(humans.select(*keys, n_rated="n_items", rated_answered="answered"), on=keys, how="left")
        .join(others.select(*keys, n_further="n_items", further_answered="answered"), on=keys, how="left")
        .select(list(ACCOUNTS))
    )


# Whether the items that people rated are like those that only models answered, as every estimate assumes --------------

POPULATION = {
    "axis": pl.String, "group": pl.String, "compared": pl.String, "attribute": pl.String, "value": pl.String,
    "rated": pl.Float64, "others": pl.Float64, "p_value": pl.Float64, "p_adjusted": pl.Float64, "differs": pl.Boolean,
    "n_rated": pl.Int64, "n_others": pl.Int64,
}  # fmt: skip
"""How rated items differ from others: in an item attribute, in a model's answer; and items without an answer."""
ATTRIBUTE, ANSWER, SILENT = "attribute", "answer", "without an answer"
MOST_VALUES = 20
"""Attributes with more values, such as texts, are compared only if they are numbers."""
_LEAST_EXPECTED = 5.0


class Difference(NamedTuple):
    """Where two sets of items differ most: the value of an attribute, and its share in each; or the means of both."""

    value: str
    first: float
    second: float
    p: float


def compared_sets(
    found: EstimatedItems, estimand: Estimand, groups: list[tuple[str, str, Mask]], *, keep_silent: bool
) -> pl.DataFrame:
    """Compare the items that each group rated with the other items of models; all p-values are corrected together.

    Parameters
    ----------
    found
        The items.
    estimand
        The quantity by which answers are compared.
    groups
        The axis and name of each group, and which ratings are its own.
    keep_silent
        Whether items that a model was asked about but did not answer are kept.
    """
    spoken = {str(voice): own.numbers(estimand.numbers, found.n_items, keep_silent=False)
              for voice, own in zip(found.voices, found.spoken, strict=True)}  # fmt: skip
    asked = [own.numbers(estimand.numbers, found.n_items, keep_silent=keep_silent) for own in found.spoken]
    answered = ~np.isnan(np.stack(asked)).all(axis=0)

    def compared() -> Iterator[tuple[str, str, str, str, Mask, Mask, Difference | None]]:
        for axis, group, own in groups:
            rated = np.zeros(found.n_items, dtype=bool)
            rated[found.rated.item[own]] = True
            first, second = rated & answered, answered & ~rated
            for name in found.items.columns[1:]:
                yield axis, group, ATTRIBUTE, name, first, second, _by_attribute(found.items[name], first, second)
            for name, numbers in spoken.items():
                known = ~np.isnan(numbers)
                first, second = rated & known, known & ~rated
                yield axis, group, ANSWER, name, first, second, _by_mean(numbers, first, second)
        human = found.rated.means(estimand.numbers, found.n_items)
        for name, numbers in spoken.items() if not keep_silent else ():
            known, unknown = ~np.isnan(human) & ~np.isnan(numbers), ~np.isnan(human) & np.isnan(numbers)
            yield "all", "all", SILENT, name, known, unknown, _by_mean(human, known, unknown)

    rows = [
        (*about, *one, int(first.sum()), int(second.sum()))
        for *about, first, second, one in compared()
        if one is not None
    ]
    adjusted = adjust(np.array([row[7] for row in rows], dtype=float), "holm")
    made = [(*row[:8], float(p), bool(p < SIGNIFICANT), *row[8:]) for row, p in zip(rows, adjusted, strict=True)]
    return pl.DataFrame(made, schema=POPULATION, orient="row")


def _by_attribute(column: pl.Series, first: Mask, second: Mask) -> Difference | None:
    """Compare two sets of items in an attribute: shares of its values, or the means of numbers."""
    n_values = column.drop_nulls().n_unique()
    if n_values < 2:
        return None
    if n_values > MOST_VALUES:
        numbers = column.cast(pl.Float64, strict=False)
        if numbers.null_count() > column.null_count():
            return None
        values = numbers.fill_null(math.nan).to_numpy()
        return _by_mean(values, first & ~np.isnan(values), second & ~np.isnan(values))
    names = column.drop_nulls().unique().sort().to_list()
    codes = column.replace_strict(names, range(len(names)), default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()
    counts = np.array([np.bincount(codes[own & (codes >= 0)], minlength=len(names)) for own in (first, second)])
    return _by_counts(counts.astype(float), names)


def _by_counts(counts: Floats, names: list[str]) -> Difference | None:
    """Compare counts of two sets by χ²; values that are expected in few items are combined."""
    sizes = counts.sum(axis=1)
    if (sizes == 0).any():
        return None
    few = counts.sum(axis=0) * sizes.min() / sizes.sum() < _LEAST_EXPECTED
    pooled = np.column_stack([counts[:, ~few], counts[:, few].sum(axis=1)]) if few.any() else counts
    expected = np.outer(sizes, pooled.sum(axis=0)) / sizes.sum()
    used = expected.min(axis=0) >= _LEAST_EXPECTED
    if np.count_nonzero(used) < 2:
        return None
    square = float(((pooled - expected)[:, used] ** 2 / expected[:, used]).sum())
    shares = counts / sizes[:, np.newaxis]
    most = int(np.argmax(np.abs(shares[0] - shares[1])))
    p = float(chdtrc(np.count_nonzero(used) - 1, square))
    return Difference(names[most], float(shares[0, most]), float(shares[1, most]), p)


def _by_mean(numbers: Floats, first: Mask, second: Mask) -> Difference | None:
    """Compare the means of two sets by Welch's test."""
    a, b = numbers[first], numbers[second]
    if min(len(a), len(b)) < 2:
        return None
    parts = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    if sum(parts) <= 0:
        return None
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (len(a) - 1) + parts[1] ** 2 / (len(b) - 1))
    t = abs(a.mean() - b.mean()) / math.sqrt(sum(parts))
    return Difference("mean", float(a.mean()), float(b.mean()), float(2 * stdtr(freedom, -t)))
