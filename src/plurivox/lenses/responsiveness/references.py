"""What raters are judged against: the rest of the crowd, trained raters, a named group, or a language model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.arguments import Kind
from plurivox.base.errors import InputError, SelectionError, SharedRatersWarning
from plurivox.base.wording import are
from plurivox.domain.attributes import places_of
from plurivox.domain.axis import Axis
from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import chosen_rows
from plurivox.domain.scale import Label, Scale

CROWD = "crowd"
EACH = "each"

_WORDS = '"crowd", Ratings (Ratings.from_frame makes them from a frame), or a group such as {"gender": "Woman"}'
ReferenceLike = Annotated[str | Ratings | Mapping[str, Any], Kind(_WORDS)]


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Reference ratings of the judged items, sorted by item.

    Attributes
    ----------
    kind, name
        ``"crowd"``, ``"ratings"`` or ``"group"``, and what to call it in a sentence.
    offsets, raters, scores
        Those of item ``i`` are entries ``offsets[i]`` to ``offsets[i + 1]``: who gave each, as a code among the judged
        raters or -1, and its position among the reference's points.
    boundaries
        For each boundary, the lowest point that counts as unsafe; there is one more point than boundaries.
    n_raters
        How many raters it has, as far as that is known.
    n_shared
        How many of them are among the judged raters, for a separate reference.
    n_unused
        How many of its items no judged rater rated.
    weights
        The weight of the rater of each; empty if all count equally.
    """

    kind: str
    name: str
    offsets: NDArray[np.int64]
    raters: NDArray[np.int32]
    scores: NDArray[np.int64]
    boundaries: tuple[str, ...]
    n_raters: int
    n_shared: int = 0
    n_unused: int = 0
    weights: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    @property
    def n_points(self) -> int:
        """How many points it distinguishes."""
        return len(self.boundaries) + 1

    @property
    def n_items(self) -> int:
        """How many items have a reference."""
        return int(np.count_nonzero(np.diff(self.offsets)))

    @property
    def part(self) -> Part:
        """Its ratings as one part with all items, which can be sent elsewhere."""
        return Part(0, self.offsets, self.raters, self.scores, np.zeros(0, np.int64))

    def totals(self, *, weighted: bool = False) -> NDArray[Any]:
        """Return how often each item got each point, items × points, or the weight of these ratings."""
        n_items, weights = len(self.offsets) - 1, self.weights if weighted and len(self.weights) else None
        cells = np.repeat(np.arange(n_items), np.diff(self.offsets)) * self.n_points + self.scores
        counts = np.bincount(cells, weights, n_items * self.n_points).reshape(n_items, self.n_points)
        return counts.astype(np.int64, copy=False) if weights is None else counts

    def counting_alike(self) -> Reference:
        """Return the same reference with all raters counted equally."""
        return replace(self, weights=np.zeros(0))

    def within(self, ratings: Ratings, part: Ratings) -> Reference:
        """Return the reference of some items of the ratings, by the same raters."""
        items = places_of(ratings.items["item"], part.items["item"])
        return _sorted(self, np.repeat(items, np.diff(self.offsets)), part.n_items)

    def on_axis(self, codes: NDArray[np.int32]) -> Reference:
        """Return the reference for groups: the rest of a crowd consists of raters with a known value on the axis."""
        if self.kind != CROWD or (codes >= 0).all():
            return self
        inside = codes[self.raters] >= 0
        item = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        return _sorted(self, np.where(inside, item, -1), len(self.offsets) - 1)


def resolve(
    ratings: Ratings, reference: ReferenceLike, *, threshold: Label | None = None, min_group_size: int = 1
) -> Reference:
    """Find the reference ratings of the items in ``ratings``.

    Parameters
    ----------
    reference
        ``"crowd"``; another Ratings; or a group of the same raters as ``{"gender": "Woman"}`` or ``"gender=Woman"``,
        with ``{"rater": "gpt-4o"}`` for a single one.
    threshold
        The lowest point of the reference that counts as unsafe, or ``"each"`` for every boundary in turn. A binary
        scale needs none; the crowd and groups use each boundary by default.
    min_group_size
        A smaller group, or one that would reveal one, cannot be the reference, unless raters are named by their id.
    """
    if isinstance(reference, Ratings):
        return by_others(ratings.items["item"], ratings.raters["rater"], reference, threshold)
    boundaries, scores = split(ratings.scale, ratings.scores, EACH if threshold is None else threshold)
    raters, n_raters, weights = ratings.codes_of_raters, ratings.n_raters, _weights(ratings)
    if reference == CROWD:
        name = "the rest of the crowd"
        return Reference(CROWD, name, ratings.offsets, raters, scores, boundaries, n_raters, weights=weights)
    if isinstance(reference, str):
        attribute, sign, value = reference.partition("=")
        if not sign:
            raise InputError(
                f"reference is {reference!r}",
                hint='Give "crowd", other ratings, or a group of raters such as {"gender": "Woman"}.',
            )
        reference = {attribute.strip(): value.strip()}
    condition = dict(reference)
    name, members = condition_name(condition), chosen_rows(ratings.raters, condition, "rater")
    n_members = int(np.count_nonzero(members))
    withheld = n_members < min_group_size
    if not withheld and min_group_size > 1:  # large enough, but perhaps withheld along the axis of its attributes
        axis = Axis.of(ratings, tuple(condition), min_group_size=min_group_size)
        own = np.unique(axis.codes[members])
        withheld = len(own) == 1 and bool(axis.withheld[own[0]])
    if withheld and "rater" not in condition:
        few = f"the reference {name} has fewer than {min_group_size} raters, too few to show"
        telling = f"the reference {name} is withheld: it would reveal a group of fewer than {min_group_size} raters"
        raise SelectionError(
            few if n_members < min_group_size else telling,
            hint="Use another group, or lower min_group_size if these raters may be identified.",
        )
    whole = Reference("group", name, ratings.offsets, raters, scores, boundaries, n_members, weights=weights)
    return _sorted(whole, np.where(members[raters], ratings.item_codes, -1), ratings.n_items)


def condition_name(condition: Mapping[str, Any]) -> str:
    """Return what raters that share values are called together."""
    return " and ".join(f"{attribute} = {value}" for attribute, value in condition.items())


def by_others(
    judged_items: pl.Series, judged_raters: pl.Series, reference: Ratings, threshold: Label | None
) -> Reference:
    """Match other ratings by item and rater ids."""
    if threshold is None and len(reference.scale) > 2:
        raise InputError(
            f"the reference has the scale {reference.scale}, and it is not clear which of its points mean unsafe",
            hint="Give the lowest of them as threshold, or threshold='each' to use every boundary in turn.",
        )
    boundaries, scores = split(reference.scale, reference.scores, EACH if threshold is None else threshold)
    items = places_of(reference.items["item"], judged_items)
    if (items < 0).all():
        a, b = (", ".join(map(repr, ids.head(2).to_list())) for ids in (reference.items["item"], judged_items))
        raise InputError(
            f"no item of the reference is among the ratings: the reference has items such as {a}, the ratings {b}",
            hint="Both tables need the same item ids.",
        )
    shared = places_of(reference.raters["rater"], judged_raters) if reference.has_raters else np.zeros(0, int)
    n_shared = int(np.count_nonzero(shared >= 0))
    if n_shared:
        warnings.warn(
            f"{n_shared} of the {reference.n_raters} raters of the reference {are(n_shared)} also among the judged "
            "raters; where such a rater's group is judged, their reference ratings are left out",
            SharedRatersWarning,
            stacklevel=5,
        )
    item = items[reference.item_codes]
    rater = shared[reference.codes_of_raters] if reference.has_raters else np.full(len(item), -1)
    if reference.multiplicity is not None:
        item, rater, scores = (np.repeat(each, reference.multiplicity) for each in (item, rater, scores))
    source = reference.intake.source
    name = "the reference" if source in ("frame", "-") else PurePath(source).name  # the file that it came from
    whole = Reference(
        "ratings", name, np.zeros(0, np.int64), rater.astype(np.int32), scores, boundaries,
        reference.n_raters, n_shared, int(np.count_nonzero(items < 0)), _weights(reference),
    )  # fmt: skip
    return _sorted(whole, item, len(judged_items))


def _sorted(reference: Reference, item: NDArray[Any], n_items: int) -> Reference:
    """Return the reference sorted by the item of each of its ratings, without those whose item is -1."""
    order = np.argsort(item, kind="stable")
    order = order[item[order] >= 0]
    offsets = np.searchsorted(item[order], np.arange(n_items + 1)).astype(np.int64)
    raters, scores = reference.raters[order], reference.scores[order]
    weights = reference.weights[order] if len(reference.weights) else reference.weights
    for array in (offsets, raters):  # like those of ratings, so that kernels are compiled once for all references
        array.flags.writeable = False
    return replace(reference, offsets=offsets, raters=raters, scores=scores, weights=weights)


def _weights(ratings: Ratings) -> NDArray[np.float64]:
    """Return the weight of the rater of each rating; empty if all count equally."""
    return np.zeros(0) if ratings.weights is None else ratings.weights[ratings.codes_of_raters]


def split(scale: Scale, scores: NDArray[Any], threshold: Label) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the boundaries and the scores as positions between them."""
    if threshold == EACH:
        return tuple(str(label) for label in scale.labels[1:]), scores.astype(np.int64)
    place = scale.position(threshold)
    if place < 0:
        raise InputError(f"threshold is {threshold!r}, which means no rating", hint=f"Give a point of {scale}.")
    if place == 0:
        raise InputError(
            f"threshold is {threshold!r}, the lowest point, so everything would be unsafe",
            hint=f"Give a higher point of {scale}.",
        )
    return (str(scale.labels[place]),), (scores >= place).astype(np.int64)
