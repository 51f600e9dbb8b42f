"""What a table of ratings holds: sizes, design, scale use, groups, and what is missing."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.cards import CardCell, CardGrid, card
from plurivox.base.errors import few
from plurivox.base.settings import Axes, Frozen, OfGroups, Settings, shared
from plurivox.base.wording import counted, withheld_note
from plurivox.domain.attributes import as_categories, category_order, several_values
from plurivox.domain.axis import CROSS, Axis, By, names_raters, rater_name
from plurivox.domain.check import Intake
from plurivox.domain.panel import PanelSummary
from plurivox.domain.ratings import Ratings
from plurivox.engine.pool import Running
from plurivox.infer.exports import sentences
from plurivox.infer.grouping import Compared, compared
from plurivox.infer.lens import keywords
from plurivox.infer.result import Statement, told

MAX_GROUPS_TO_CROSS, MAX_CROSSED = 50, 6  # more attributes are crossed only if asked for
N_BINS = 12
_CODES = 5  # up to this many numbers may be codes for words
_APART = 4  # a number this many steps from all others may be a code
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class OverviewSettings(OfGroups):
    """Settings for the overview."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DescriptionSettings(Settings):
    """Settings for the description."""

    by: Axes | None = shared.by(
        None,
        accepts="By | Sequence[By] | None",
        doc="The rater attributes and crossings to show; by default every attribute and every crossing of two.",
    )
    several: Frozen = shared.several(
        doc='Attributes of which a rater may have several values, and what separates them: ``{"race": ";"}``. A rater '
        "then belongs to the group of each value, and the attribute is not crossed with others."
    )
    min_group_size: int = shared.min_group_size()


@dataclass(frozen=True, slots=True)
class RatingSpread:
    """How many ratings the items, or the raters, have: extremes, median and a histogram with equal bins."""

    low: int
    median: float
    high: int
    edges: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """A group of raters that is large enough to show, and how much it rated."""

    name: str
    n_raters: int
    n_items: int
    n_ratings: int


@dataclass(frozen=True, slots=True)
class CrossingSizes:
    """How many raters each group of a crossing has.

    There is a row for each value of the first attribute, or combination of values of all but the last, and a column for
    each value of the last; None where nobody has both or where the group is withheld, which cannot be distinguished.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    n_raters: tuple[tuple[int | None, ...], ...]


@dataclass(frozen=True, slots=True)
class AxisSummary:
    """The groups of one attribute or crossing, those withheld, and raters without a value.

    Of ``n_withheld`` groups, ``n_revealing`` are large enough, but would reveal one that is too small. ``sizes``
    tabulates the groups of a crossing.
    """

    name: str
    groups: tuple[GroupSummary, ...]
    n_withheld: int
    n_revealing: int
    n_outside: int
    sizes: CrossingSizes | None = None

    def numbered(self) -> AxisSummary:
        """Return the axis as people see it: individual raters have numbers instead of their ids."""
        if not names_raters(self.name):
            return self
        groups = (replace(group, name=rater_name(at)) for at, group in enumerate(self.groups))
        return replace(self, groups=tuple(groups))


@dataclass(frozen=True, slots=True, repr=False)
class Description:
    """What :func:`describe` found; ``to_dict`` and ``to_json`` for programs, ``to_frame`` for the groups."""

    source: str
    layout: str
    columns: dict[str, str]
    n_ratings: int
    n_items: int
    n_raters: int
    has_raters: bool
    crossed: bool
    density: float
    per_item: RatingSpread
    per_rater: RatingSpread | None
    points: tuple[str, ...]
    usage: tuple[int, ...]
    scale_inferred: bool
    axes: tuple[AxisSummary, ...]
    min_group_size: int
    missing_scores: int
    unrated_items: int
    silent_raters: int
    repeated_pairs: int
    duplicates: str
    tied_repeats: int
    unknown_raters: int
    idle_raters: int
    unknown_items: int
    idle_items: int
    notes: tuple[str, ...] = field(default=())
    panel: PanelSummary | None = None

    def __repr__(self) -> str:
        return f"<Description: {counted(self.n_ratings, 'rating')} of {counted(self.n_items, 'item')}>"

    def _repr_html_(self) -> str:
        """Show sizes and groups in a notebook; ids of raters are not shown."""
        return description_html(self)

    def statements(self) -> list[Statement]:
        """Return what to know about the table itself."""
        return told(self.notes, 0.0)

    def findings(self) -> list[str]:
        """Return what to know about the table itself, one sentence each."""
        return list(self.notes)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists and dicts; the panel only if raters are weighted."""
        found = asdict(self)
        return found if self.panel is not None else {name: part for name, part in found.items() if name != "panel"}

    def to_json(self) -> str:
        """Return everything as strict JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=2)

    def to_frame(self) -> pl.DataFrame:
        """Return one row per group that is large enough to show."""
        rows = [
            {"axis": axis.name, "group": g.name, "n_raters": g.n_raters, "n_items": g.n_items, "n_ratings": g.n_ratings}
            for axis in self.axes
            for g in axis.groups
        ]
        sizes = {"n_raters": self.n_raters, "n_items": self.n_items, "n_ratings": self.n_ratings}
        whole = {"axis": "all", "group": "all", **sizes}
        return pl.DataFrame([whole, *rows])


def description_html(found: Description, *more: CardGrid, kind: str = "Description") -> str:
    """Return what a notebook shows of a description and further tables."""
    design = "fully crossed" if found.crossed else f"sparse: {found.density:.1%} of all item–rater pairs rated"
    who = [counted(found.n_raters, "rater"), design] if found.has_raters else ["totals: who rated is not known"]
    parts = [counted(found.n_ratings, "rating"), counted(found.n_items, "item"), *who]
    scale = f"scale of {counted(len(found.points), 'point')} from {found.points[0]} to {found.points[-1]}"
    rows: list[list[CardCell]] = []
    for axis in map(AxisSummary.numbered, found.axes):
        withheld = withheld_note(axis.n_withheld, axis.n_revealing) if axis.n_withheld else ""
        rows.append([CardCell(axis.name, withheld, strong=True)])
        rows += [
            [CardCell(one.name), *(CardCell(f"{n:,}") for n in (one.n_raters, one.n_items, one.n_ratings))]
            for one in axis.groups
        ]
    grid = CardGrid(["group", "raters", "items", "ratings"], [False, True, True, True], rows)
    tables = [*([grid] if rows else []), *more]
    said = sentences(found.statements())
    return card(kind, " · ".join([*parts, scale]), said=said, grids=tables, more="to_frame()")


@keywords(DescriptionSettings, weights=True)
def describe(ratings: Ratings, *, settings: DescriptionSettings, how: Running) -> Description:
    """Describe a table of ratings.

    Examples
    --------
    >>> frame = pl.DataFrame({"item": [1, 1, 2], "rater": ["a", "b", "a"], "score": [0, 2, 1]})
    >>> describe(Ratings.from_frame(frame)).crossed
    False
    """
    intake, used = ratings.intake, ratings.used()
    per_item = np.diff(ratings.offsets) if ratings.multiplicity is None else ratings.counts().sum(axis=1)
    per_rater = ratings.per_rater() if ratings.has_raters else None
    cells = ratings.n_items * ratings.n_raters
    by = default_axes(ratings, settings.several) if settings.by is None else settings.by
    axes = compared(ratings, by, settings.several, settings.min_group_size) if ratings.has_raters else []
    panel = None if ratings.panel is None else ratings.panel.summary(settings.min_group_size)
    of_intake = (
        "source", "layout", "columns", "scale_inferred", "missing_scores", "repeated_pairs", "duplicates",
        "tied_repeats", "unknown_raters", "idle_raters", "unknown_items", "idle_items",
    )  # fmt: skip
    return Description(
        **{name: getattr(intake, name) for name in of_intake},
        n_ratings=len(ratings), n_items=ratings.n_items, n_raters=ratings.n_raters, has_raters=ratings.has_raters,
        crossed=ratings.crossed, density=len(ratings) / cells if cells else 1.0, per_item=_spread(per_item),
        per_rater=None if per_rater is None else _spread(per_rater),
        points=tuple(str(label) for label in ratings.scale.labels), usage=tuple(used.tolist()),
        axes=tuple(_summary(ratings, one) for one in axes), min_group_size=settings.min_group_size,
        unrated_items=int(np.count_nonzero(per_item == 0)),
        silent_raters=0 if per_rater is None else int(np.count_nonzero(per_rater == 0)),
        notes=tuple(_notes(ratings, [one.axis for one in axes], panel)), panel=panel,
    )  # fmt: skip


def default_axes(ratings: Ratings, several: Mapping[str, str]) -> Sequence[By]:
    """Return every rater attribute and, unless these are many, every crossing of two that makes sense to show."""
    attributes = ratings.raters.columns[1:]
    single = [name for name in attributes if name not in several]
    few = [name for name in single if ratings.raters[name].n_unique() <= MAX_GROUPS_TO_CROSS]
    return [*attributes, *(itertools.combinations(few, 2) if len(few) <= MAX_CROSSED else ())]


def _summary(ratings: Ratings, one: Compared) -> AxisSummary:
    groups: list[GroupSummary] = []
    for axis, places in one.shown:
        n_items, n_ratings = ratings.sizes(axis.codes, len(axis))
        groups += [GroupSummary(axis.groups[g], int(axis.sizes[g]), int(n_items[g]), int(n_ratings[g])) for g in places]
    sizes = _crossing_sizes(ratings, one.axis) if len(one.axis.attributes) > 1 else None
    return AxisSummary(one.axis.name, tuple(groups), one.n_withheld, one.n_revealing, one.axis.n_outside, sizes)


def _crossing_sizes(ratings: Ratings, axis: Axis) -> CrossingSizes:
    """Return the sizes of the groups of a crossing that are shown."""
    *others, last = axis.attributes
    _, first = np.unique(axis.codes[axis.codes >= 0], return_index=True)
    members = np.flatnonzero(axis.codes >= 0)[first]  # one rater of each group
    texts = {name: as_categories(ratings.raters[name]).gather(members).to_list() for name in axis.attributes}
    cells = {
        (CROSS.join(texts[name][g] for name in others), texts[last][g]): int(axis.sizes[g])
        for g in np.flatnonzero(~axis.withheld).tolist()
    }
    rows = tuple(dict.fromkeys(row for row, _ in cells))
    columns = tuple(one for one in category_order(ratings.raters[last]) if any(one == column for _, column in cells))
    return CrossingSizes(rows, columns, tuple(tuple(cells.get((row, column)) for column in columns) for row in rows))


def _spread(numbers: NDArray[Any]) -> RatingSpread:
    if not len(numbers):
        return RatingSpread(0, 0.0, 0, (0.0, 1.0), (0,))
    low, high = int(numbers.min()), int(numbers.max())
    width = max(1, -(-(high - low + 1) // N_BINS))
    n_bins = (high - low) // width + 1
    counts = np.bincount((numbers - low) // width, minlength=n_bins)
    edges = tuple(float(low + width * i) for i in range(n_bins + 1))
    return RatingSpread(low, float(np.median(numbers)), high, edges, tuple(counts.tolist()))


def _notes(ratings: Ratings, axes: Sequence[Axis], panel: PanelSummary | None) -> list[str]:
    notes, intake = [], ratings.intake
    if intake.scale_inferred:
        notes.append(
            "The scale was inferred from the scores: end points that nobody used are missing from it. "
            "Give the scale with --scale to be sure."
        )
    if intake.points_inferred:
        notes += _standing_alone(ratings)
    if intake.numbers:
        notes.append(f"How scores were written: {intake.numbers}.")
    if intake.recoded:
        n = intake.recoded_missing
        left = f"; this leaves out {counted(n, 'rating')}" if n else ""
        notes.append(f"The scale was recoded: {intake.recoded}{left}.")
    notes += [f"{line}." for line in (*conflict_notes(intake), *unknown_notes(intake))]
    notes += [*intake.left_out_and_remarks(), *_occasions(ratings)]
    if panel is not None:
        notes += [panel.sentence, *panel.notes]
    for axis in axes:
        if len(axis.attributes) > 1 or axis.attributes == ("rater",):
            continue
        many, numbers = len(axis) > MAX_GROUPS_TO_CROSS, all(map(_NUMBER.fullmatch, axis.groups))
        if numbers and (many or (len(axis) > _CODES and axis.withheld.all())):  # or numbers that nobody shares
            how = f"Sort them into groups with --bin '{axis.name}=18,30,45', which lists where each group begins."
            notes.append(f"{axis.name} has {len(axis):,} different values, all of them numbers. {how}")
        elif many:
            notes.append(f"{axis.name} has {len(axis):,} different values.")
    return notes


def _standing_alone(ratings: Ratings) -> Iterator[str]:
    """Say which end of an inferred scale lies far from all other scores, which are close together, as code 99 does."""
    labels, used = ratings.scale.labels, ratings.used()
    given = [int(label) for label, n in zip(labels, used, strict=True) if n]
    for end, near, rest in ((given[-1], given[-2], given[:-1]), (given[0], given[1], given[1:])):
        span = rest[-1] - rest[0]
        if abs(end - near) >= max(span, _APART) and span == len(rest) - 1 > 1:
            between = f"{min(near, end)} and {max(near, end)}"
            yield f"No score lies between {between}. If {end} means that there is no rating, add --missing={end}."


def conflict_notes(intake: Intake) -> list[str]:
    """Say how many raters and items have several values of an attribute, without full stops."""
    both = (("rater", intake.rater_conflicts), ("item", intake.item_conflicts))
    return [several_values(n, role, name, intake.conflicts) for role, found in both for name, n in found.items()]


def unknown_notes(intake: Intake) -> list[str]:
    """Say for how many raters an attribute is unknown because of what they said, without full stops."""
    words = few(intake.unknown_said) or "Prefer not to say and the like"
    said = [
        f"{counted(n, 'rater')} did not state '{name}' ({words}): it is unknown"
        for name, n in intake.unknown_words.items()
    ]
    return said + [
        f"{counted(n, 'rater has', 'raters have')} a value of '{name}' outside all bins: it is unknown"
        for name, n in intake.unbinned.items()
    ]


def _occasions(ratings: Ratings) -> list[str]:
    """Say what is known about repeated ratings and about times."""
    notes, intake, again = [], ratings.intake, ratings.again
    if again is not None:
        pairs = np.unique(again.item_codes.astype(np.int64) * ratings.n_raters + again.rater_codes)
        notes.append(
            f"{counted(len(pairs), 'item–rater pair was', 'item–rater pairs were')} rated more than once: the first "
            f"rating counts, and {counted(len(again), 'later one is', 'later ones are')} kept separately."
        )
    if ratings.times is not None:
        unit = ", counted in days" if intake.time_unit == "days" else f": the numbers in {intake.columns['time']}"
        every = ratings.times if again is None or again.times is None else np.concatenate([ratings.times, again.times])
        unknown = int(np.count_nonzero(np.isnan(every)))
        told = f"; {counted(unknown, 'rating has', 'ratings have')} none" if unknown else ""
        notes.append(f"Ratings have times{unit}{told}.")
    return notes
