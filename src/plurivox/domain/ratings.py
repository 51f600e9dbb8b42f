"""Ratings: a checked, coded, immutable data set of who rated what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base import later
from plurivox.base.arguments import Frame, checked
from plurivox.base.cards import card, heading_of, plain_grid
from plurivox.base.errors import SelectionError, few
from plurivox.domain.attributes import AttributeRules, AttributeTable, clean, columns_of_raters
from plurivox.domain.check import Intake, LongTable, check
from plurivox.domain.choices import UNKNOWN, Conflicts, Duplicates
from plurivox.domain.counts import RatingCounts
from plurivox.domain.numbers import time_column
from plurivox.domain.part import Again, EveryRating, Part, first_and_again, same_times
from plurivox.domain.points import GivenPoints, point_columns_text, prepare, with_joined
from plurivox.domain.raw import (
    GivenPopulation,
    RawTable,
    Wanted,
    chosen_rows,
    label_column,
    pick,
    require_apart,
    require_columns,
    to_polars,
)
from plurivox.domain.recoding import Edges, GivenRecoding, Names, Recoding, bin_numbers
from plurivox.domain.scale import MISSING, GivenPoles, Label, Scale
from plurivox.domain.scale_files import GivenScale, as_scale


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ratings(RatingCounts):
    """Who rated what, on which scale, as integer codes sorted by item and rater.

    Make one with :func:`plurivox.read_ratings`, :meth:`from_frame` or :func:`plurivox.simulate`.

    Attributes
    ----------
    scale
        The points and their order.
    items, raters
        Polars frames with one row per item or rater, in the order of their codes: the id in a column ``item`` or
        ``rater``, then attributes. Items and raters that only have missing scores are kept.
    item_codes, rater_codes, scores
        One entry per rating: codes of item and rater, and the position of the score on the scale. For totals
        ``rater_codes`` is None and each entry stands for as many ratings as ``multiplicity`` says.
    offsets
        The ratings of item ``i`` are entries ``offsets[i]`` to ``offsets[i + 1]``.
    intake
        What was noticed while reading: missing scores, repeats, unknown raters.
    times
        When each rating was given, if that was read: numbers, or days since 1970, according to ``intake.time_unit``;
        NaN if unknown.
    again
        Later ratings of pairs of item and rater that were rated more than once, if they were kept; the first one is
        among the ratings themselves.
    weights
        The weight of each rater, with a mean of 1, if :meth:`weighted` gave them any; None if all count equally.
    panel
        How they were weighted, a :class:`plurivox.domain.panel.Panel`: ``to_frame()`` compares panel and population;
        ``design_effect`` and ``effective_raters`` give the cost. None if all count equally.
    """

    scale: Scale
    items: pl.DataFrame
    raters: pl.DataFrame
    item_codes: NDArray[np.int32]
    rater_codes: NDArray[np.int32] | None
    scores: NDArray[np.uint8] | NDArray[np.int16]
    multiplicity: NDArray[np.int64] | None
    intake: Intake
    offsets: NDArray[np.int64] = field(init=False)
    _parts: list[Part] = field(init=False, default_factory=list)
    _found: dict[str, Any] = field(init=False, default_factory=dict)
    times: NDArray[np.float64] | None = None
    again: Again | None = None
    weights: NDArray[np.float64] | None = None
    panel: Any = None

    def __post_init__(self) -> None:
        bounds = np.arange(self.items.height + 1, dtype=np.int32)
        offsets = np.searchsorted(self.item_codes, bounds).astype(np.int64)
        object.__setattr__(self, "offsets", offsets)
        given = (self.item_codes, self.rater_codes, self.scores, self.multiplicity, self.times, self.weights)
        for array in (offsets, *given):
            if array is not None:
                array.flags.writeable = False

    @classmethod
    @checked
    def from_frame(
        cls,
        frame: Frame,
        *,
        item: str = "item",
        rater: str = "rater",
        score: str = "score",
        point_columns: GivenPoints | None = None,
        scale: GivenScale | None = None,
        poles: GivenPoles | None = None,
        missing: Iterable[Label] = (),
        duplicates: Duplicates = "error",
        time: str | None = None,
        rater_attributes: Sequence[str] = (),
        item_attributes: Sequence[str] = (),
        raters: Frame | None = None,
        items: Frame | None = None,
        by: Sequence[str] = (),
        conflicts: Conflicts = "missing",
        unknown: Sequence[str] = UNKNOWN,
    ) -> Ratings:
        """Check and code a long frame of pandas, polars, pyarrow or anything else that narwhals knows.

        Parameters
        ----------
        frame
            One row per rating.
        item, rater, score
            The columns that hold them; ``item="a,b"`` makes ids from two columns.
        point_columns
            Columns instead of ``score``, one for each point, one of which holds 1: ``"severity.*"``, where the star is
            the point, or a list in the order of the scale. With ``{rater}`` in the name each rater has their own.
        scale
            A :class:`Scale`, its points in order, text such as ``"0:4"`` or ``"No,Unsure,Yes"``, or a TOML file.
            It may be left out for whole-number scores; it then spans the lowest to the highest seen.
        poles
            What the lowest and the highest end of the scale mean, used in sentences: ``("safe", "unsafe")``.
        missing
            Answers that mean "no rating", in addition to blank, NA, NaN and null.
        duplicates
            What to do when a rater rated an item twice: ``"error"``, or keep the ``"first"``, ``"last"`` or most
            frequent (``"mode"``) score; a tie for the most frequent leaves the pair unrated. ``"keep"`` analyses the
            first and keeps the others in ``again``.
        time
            The column with the time of each rating: numbers of occasions or batches, or dates. It decides which rating
            is first; without it, or if times are equal, the order of rows does.
        rater_attributes, item_attributes
            Columns of ``frame`` that describe raters or items.
        raters, items
            Frames with one row per rater or item and the same id column as ``frame``.
        by
            Attributes that groups will be made of; those that are columns of ``frame`` and not of ``raters`` are read
            from there.
        conflicts
            What to do if a rater or an item has more than one value of an attribute: treat it as ``"missing"`` (with a
            warning), use the ``"first"``, or raise an ``"error"``.
        unknown
            Words that mean an attribute is unknown, such as "Prefer not to say"; an empty list keeps all words as
            groups.

        Examples
        --------
        >>> frame = pl.DataFrame({"item": [1, 1, 2], "rater": ["a", "b", "a"], "score": [0, 2, 1]})
        >>> Ratings.from_frame(frame, scale="0:4")
        <Ratings: 3 ratings of 2 items by 2 raters on 0 < 1 < 2 < 3 < 4>
        """
        raw = RawTable.from_frame(to_polars(frame), "frame")
        known = () if raters is None else to_polars(raters).columns
        taken = (item, rater, score, time, *rater_attributes, *item_attributes)
        rater_attributes = (*rater_attributes, *columns_of_raters(by, raw.columns, known, taken))
        beside = [*rater_attributes, *item_attributes] + ([] if time is None else [time])
        require_columns(raw.columns, beside, "frame")
        of_raters = [name for name in beside if name not in item_attributes]
        if point_columns is not None:
            given = {"item": item, "rater": rater if rater != "rater" else None, "score": None}
            raw, scale, by_rater, score_column, _ = prepare(
                raw, point_columns, as_scale(scale), roles=given, attributes=beside, of_raters=of_raters
            )
            rater, score = by_rater or rater, str(score_column)
        else:
            raw = with_joined(raw, item, beside)
        long = raw.frame()
        roles = {"item": item, "rater": rater, "score": score} | ({} if time is None else {"time": time})
        require_columns(long.columns, roles.values(), "frame")
        require_apart([*rater_attributes, *item_attributes], "frame", timed=time is not None)
        table = LongTable(
            source="frame", locate=raw.locate, pieces=[pick(long, roles, [*rater_attributes, *item_attributes])],
            names=roles, rater_attributes=tuple(rater_attributes), item_attributes=tuple(item_attributes),
        )  # fmt: skip
        parts = check(
            table, as_scale(scale), missing=missing, duplicates=duplicates,
            raters=None if raters is None else AttributeTable(to_polars(raters), rater, "raters frame"),
            items=None if items is None else AttributeTable(to_polars(items), item, "items frame"),
            rules=AttributeRules(conflicts, tuple(unknown)),
        )  # fmt: skip
        told = "" if point_columns is None else point_columns_text(point_columns)
        parts["intake"] = replace(parts["intake"], point_columns=told)
        return cls(**parts).with_poles(poles)

    def __repr__(self) -> str:
        by = f"by {self.n_raters:,} raters" if self.has_raters else "in totals"
        weighted = "" if self.weights is None else ", weighted"
        return f"<Ratings: {len(self):,} ratings of {self.n_items:,} items {by} on {self.scale}{weighted}>"

    def _repr_html_(self) -> str:
        """Show sizes, design and attributes in a notebook, but not who rated or what."""
        design = f"sparse: {len(self) / max(1, self.n_items * self.n_raters):.1%} of all item–rater pairs rated"
        if self.crossed:
            design = "fully crossed: every rater rated every item"
        parts = [heading_of(self)[1], *([design] if self.has_raters else [])]
        attributes = [
            (name, what, values.drop_nulls().n_unique(), values.null_count())
            for what, frame in (("raters", self.raters), ("items", self.items))
            for name, values in frame.to_dict().items()
            if name != what.removesuffix("s")
        ]
        grid = plain_grid(["attribute", "of", "different values", "without one"], attributes)
        return card(type(self).__name__, " · ".join(parts), grids=[grid] if attributes else [], more="raters and items")

    def __eq__(self, other: object) -> bool:
        """Compare the ratings and what is known about items and raters, not how they were read."""
        if not isinstance(other, Ratings):
            return NotImplemented
        arrays = ("item_codes", "rater_codes", "scores", "multiplicity", "weights")
        pairs = ((getattr(self, name), getattr(other, name)) for name in arrays)
        return (
            self.scale == other.scale
            and all(np.array_equal(a, b) if a is not None and b is not None else a is b for a, b in pairs)
            and same_times(self.times, other.times)
            and self.again == other.again
            and self.items.equals(other.items)
            and self.raters.equals(other.raters)
        )

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def in_memory(self) -> Ratings:
        """Return the ratings in memory; those packed on disk are read."""
        return self

    def to_frame(self) -> pl.DataFrame:
        """Return the ratings as a long polars frame of ids and labels, sorted by item and rater.

        For pairs that were rated more than once, this is the first rating; :meth:`repeats` returns all of them.
        """
        columns = [self.items["item"].gather(self.item_codes)]
        if self.rater_codes is not None:
            columns.append(self.raters["rater"].gather(self.rater_codes))
        columns.append(label_column(self.scale).gather(self.scores.astype(np.uint32)))
        if self.multiplicity is not None:
            columns.append(pl.Series("count", self.multiplicity))
        if self.times is not None:
            columns.append(time_column(self.times, self.intake.time_unit))
        return pl.DataFrame(columns)

    def repeats(self) -> pl.DataFrame:
        """Return all ratings of pairs that were rated more than once, with the number of their occasion from 1.

        There are none unless the ratings were read with ``duplicates="keep"``.
        """
        every = self.every_rating()
        chosen = every.repeated
        columns: list[pl.Series] = [
            self.items["item"].gather(every.item_codes[chosen]), self.raters["rater"].gather(every.rater_codes[chosen]),
            pl.Series("occasion", every.occasions[chosen]),
            label_column(self.scale).gather(every.scores[chosen].astype(np.uint32)),
        ]  # fmt: skip
        if every.times is not None:
            columns.append(time_column(every.times[chosen], self.intake.time_unit))
        return pl.DataFrame(columns)

    def every_rating(self) -> EveryRating:
        """Return the ratings together with repeated ones, in the order of item, rater and occasion."""
        return EveryRating.of(Again(self.item_codes, self.codes_of_raters, self.scores, self.times), self.again)

    @checked
    def where(self, *, raters: Wanted | None = None, items: Wanted | None = None) -> Ratings:
        """Return the ratings by some raters, of some items.

        Attributes are compared by their text form; several values mean any of them. Items and raters that have no
        rating left are dropped.

        Parameters
        ----------
        raters, items
            Attribute → value, or list of values. The ids go by ``rater`` and ``item``.

        Raises
        ------
        SelectionError
            If an attribute or a value does not occur; the message lists those that do.
        """
        if not raters and not items:
            return self
        found = ratings_of(
            self,
            items=chosen_rows(self.items, items, "item") if items else None,
            raters=chosen_rows(self.raters, raters, "rater") if raters else None,
        )
        rating = found.per_rater() > 0 if found.has_raters else None
        intake = replace(self.intake, selected=True, selected_raters=self.intake.selected_raters or bool(raters))
        return replace(without_others(found, items=np.diff(found.offsets) > 0, raters=rating), intake=intake)

    def chosen(self, items: NDArray[np.bool_] | None, raters: NDArray[np.bool_] | None) -> Ratings:
        """Return the ratings of some items by some raters; see :func:`ratings_of`."""
        keep = np.ones(len(self.scores), dtype=bool)
        if items is not None:
            keep &= items[self.item_codes]
        if raters is not None:
            keep &= raters[self.codes_of_raters]
        if (again := self.again) is not None:
            left = np.ones(len(again), bool) if items is None else items[again.item_codes]
            again = again.some(left if raters is None else left & raters[again.rater_codes])
        by_rating = ("item_codes", "rater_codes", "scores", "multiplicity", "times")
        parts = {name: part[keep] for name in by_rating if (part := getattr(self, name)) is not None}
        return replace(self, **parts, again=again)

    @checked
    def weighted(self, population: GivenPopulation, *, trim: float = 5.0) -> Ratings:
        """Return the ratings with rater weights that give the panel the shares of a population.

        The weights are raked: they match the shares of one attribute or of several together, and their mean is 1.
        Raters without a known value of a raked attribute have weight 1. Lenses that support weights use them and also
        give unweighted values; others say that they do not. :meth:`where` keeps the weights of those who remain,
        rescaled to a mean of 1, so that results for a part are about that part of the population.

        Parameters
        ----------
        population
            A table with the columns ``attribute``, ``value`` and ``share``: a file, a frame, or a mapping such as
            ``{"gender": {"Woman": 0.51, "Man": 0.49}}``. Shares add up to 1 or 100, or are counts. A crossing is
            written ``"gender × age"``, with values such as ``"Woman × 18-34"``.
        trim
            The largest weight, as a multiple of the mean; ``math.inf`` for none.

        Raises
        ------
        SelectionError
            If a value has a share but no raters, or raters but no share, or if no weights match all shares; the message
            names the value.

        Examples
        --------
        >>> frame = pl.DataFrame({"item": [1] * 4, "rater": list("abcd"), "score": [0, 1, 1, 1], "sex": list("MFFF")})
        >>> ratings = Ratings.from_frame(frame, rater_attributes=["sex"]).weighted({"sex": {"F": 50, "M": 50}})
        >>> ratings.weights.round(3).tolist(), round(ratings.panel.effective_raters, 3)
        ([2.0, 0.667, 0.667, 0.667], 3.0)
        """
        from plurivox.domain.panel import weighted

        return weighted(self, later("given_population")(population), trim)

    def unweighted(self) -> Ratings:
        """Return the same ratings with raters who count equally."""
        return self if self.weights is None else self.with_known(weights=None, panel=None)

    def with_known(self, **known: Any) -> Ratings:
        """Return the ratings with another scale of the same length, other attributes, weights or another intake."""
        return replace(self, **known)

    @checked
    def gold(self, column: str, scale: GivenScale | None = None) -> Ratings:
        """Return a column of the items as a reference: ratings without known raters.

        Items without a value have no rating.

        Parameters
        ----------
        column
            An attribute of the items, such as what experts agreed on.
        scale
            Its points in order, as in :meth:`from_frame`: ``"safe,unsafe"``. It may be left out for whole numbers.

        Examples
        --------
        >>> items = pl.DataFrame({"item": [1, 2], "verdict": ["safe", "unsafe"]})
        >>> frame = pl.DataFrame({"item": [1, 2], "rater": ["a", "a"], "score": [0, 2]})
        >>> Ratings.from_frame(frame, items=items).gold("verdict", "safe,unsafe")
        <Ratings: 2 ratings of 2 items in totals on safe < unsafe>
        """
        if column == "item" or column not in self.items.columns:
            known = few(self.items.columns[1:]) or "none; give them with --items"
            raise SelectionError(f"items have no attribute '{column}'; they have: {known}")
        given = self.items.select("item", rater=pl.lit("gold"), score=column)
        names = {"item": "item", "rater": "rater", "score": column}
        found = Ratings(**check(LongTable(source="items", pieces=[given], names=names), as_scale(scale)))
        source = f"column {column} of the items"
        return replace(
            found, raters=found.raters.clear(), rater_codes=None, multiplicity=np.ones(len(found.scores), np.int64),
            intake=replace(found.intake, source=source, columns={"score": column}, layout="totals"),
        )  # fmt: skip

    @checked
    def with_poles(self, poles: GivenPoles | None) -> Ratings:
        """Return the ratings with names for the two ends of their scale; with None, unchanged."""
        return self if poles is None else self.with_known(scale=self.scale.with_poles(poles))

    @checked
    def recode(self, rule: GivenRecoding | None = None, *, unsafe_from: Label | None = None) -> Ratings:
        """Return the ratings on another scale, whose points combine points of theirs.

        Ratings of points that become missing are left out, and counted in ``intake.recoded_missing``; items and raters
        that have no rating left stay. Among repeats that are kept, the first one left counts.

        Parameters
        ----------
        rule
            Text such as ``"0-2=no,3-4=yes"``, or a mapping from points or ranges of them to new points. Every point is
            named once; the new points have the order in which they are written. ``missing`` (or None) leaves a
            point out. ``"into 5"`` makes five points of equal width, named by their ranges.
        unsafe_from
            Instead of a rule: the lowest of the points that count as unsafe. The two resulting points are named after
            the ends of the scale, or safe and unsafe.

        Raises
        ------
        ScaleError
            If a point is not named, is named twice, or is not on the scale.

        Examples
        --------
        >>> frame = pl.DataFrame({"item": [1, 1, 2], "rater": ["a", "b", "a"], "score": [0, 2, 1]})
        >>> Ratings.from_frame(frame, scale="0:4").recode("0-1=no,2-4=yes").to_frame()["score"].to_list()
        ['no', 'yes', 'no']
        """
        recoding = Recoding.of(self.scale, rule, unsafe_from)
        new, intake = recoding.new, self.intake
        if self.multiplicity is not None:
            counts = recoding.sums(self.counts())
            items, points = np.nonzero(counts)
            parts: dict[str, Any] = {"item_codes": items.astype(np.int32), "scores": points.astype(new.dtype)}
            parts["multiplicity"] = counts[items, points]
            n_missing = len(self) - int(counts.sum())
        else:
            every = self.every_rating()
            scores = recoding.positions(every.scores)
            left = scores != MISSING
            n_missing = int(np.count_nonzero(~left))
            times = None if every.times is None else every.times[left]
            kept = Again(every.item_codes[left], every.rater_codes[left], scores[left].astype(new.dtype), times)
            parts = first_and_again(kept)
        told = replace(
            intake, recoded="; then ".join(filter(None, (intake.recoded, str(recoding)))),
            recoded_missing=intake.recoded_missing + n_missing, kept_repeats=len(parts.get("again") or ()),
        )  # fmt: skip
        return replace(self, scale=new, intake=told, **parts)

    @checked
    def with_bins(self, attribute: str, edges: Edges, labels: Names | None = None) -> Ratings:
        """Return the ratings with a numeric rater attribute sorted into intervals.

        Values outside all intervals become unknown, and are counted in ``intake.unbinned``.

        Parameters
        ----------
        attribute
            A column of ``raters`` that holds numbers, such as age.
        edges
            Where each interval starts; 18, 30, 50 make 18–29, 30–49 and 50+.
        labels
            Names for the intervals.
        """
        require_columns(self.raters.columns, [attribute], "the table of raters")
        binned = bin_numbers(self.raters[attribute], list(edges), None if labels is None else list(labels))
        lost = binned.null_count() - clean(self.raters[attribute]).null_count()
        unbinned = {**self.intake.unbinned, attribute: lost} if lost else self.intake.unbinned
        return self.with_known(raters=self.raters.with_columns(binned), intake=replace(self.intake, unbinned=unbinned))


def with_items(ratings: Ratings, chosen: NDArray[np.bool_]) -> Ratings:
    """Return the ratings of some items by the same raters, including those who rated none of them."""
    return without_others(ratings_of(ratings, items=chosen), items=chosen)


def ratings_of(
    ratings: Ratings, *, items: NDArray[np.bool_] | None = None, raters: NDArray[np.bool_] | None = None
) -> Ratings:
    """Return the ratings of some items by some raters; the others stay, without ratings."""
    return ratings.chosen(items, raters)


def without_others(
    ratings: Ratings, *, items: NDArray[np.bool_] | None = None, raters: NDArray[np.bool_] | None = None
) -> Ratings:
    """Return the ratings without items or raters that have none, except those named; codes are dense."""
    changes: dict[str, Any] = {}
    again = ratings.again
    if items is not None and not items.all():
        rank = (np.cumsum(items) - 1).astype(np.int32)
        changes |= {"items": ratings.items.filter(pl.Series(items)), "item_codes": rank[ratings.item_codes]}
        again = again and replace(again, item_codes=rank[again.item_codes])
    if raters is not None and not raters.all():
        rank = (np.cumsum(raters) - 1).astype(np.int32)
        changes |= {"raters": ratings.raters.filter(pl.Series(raters)), "rater_codes": rank[ratings.codes_of_raters]}
        if ratings.weights is not None:
            weights = ratings.weights[raters]
            weights = weights / weights.mean() if len(weights) else weights  # additions to counts assume a mean of 1
            panel = None if ratings.panel is None else ratings.panel.of(raters, weights)
            changes |= {"weights": weights, "panel": panel}
        again = again and replace(again, rater_codes=rank[again.rater_codes])
    return replace(ratings, **changes, again=again)
