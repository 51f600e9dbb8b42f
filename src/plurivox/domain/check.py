"""The border: raw columns come in, checked codes go out, and everything that is wrong is reported here, once.

Nothing behind this module validates data again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import DuplicateError, IdError, InputError, ScaleError, ScoreError, open_quote
from plurivox.domain.attributes import (
    COUNTED_FROM_1,
    AttributeReader,
    AttributeRules,
    AttributeTable,
    Locate,
    Matched,
    where,
)
from plurivox.domain.choices import RULES, UNKNOWN, Duplicates
from plurivox.domain.code import ABSENT, Coded, Coder, FirstRows, Pieces, rows_where
from plurivox.domain.numbers import Times, as_written
from plurivox.domain.part import Again, RatingRows, Repeats, packed_words, pair_bits, settled, sorted_totals
from plurivox.domain.scale import Label, Scale, text_of

SEVERAL = "several: "
"""Precedes the points of an answer that names more than one: an error, unless it is declared to be missing."""
ANY_SEVERAL = "several"
"""The name of all such answers in ``missing``."""
MAX_DISTINCT_SCORES = 100_000  # a column with more distinct entries does not hold a scale


@dataclass(frozen=True, slots=True)
class LongTable:
    """A table with one row per rating (or per item, point and count), in pieces.

    The pieces have the columns ``item``, ``rater`` or ``count``, ``score``, ``time`` if ``names`` has it, and
    attributes under their own names; ``names`` gives the name of each in the source. Attributes that are only
    ``offered``, because nobody named them, are dropped if a table has them or if an item or a rater has two values.
    """

    source: str
    pieces: Iterable[pl.DataFrame]
    names: Mapping[str, str]
    layout: Literal["long", "wide", "totals"] = "long"
    text: bool = False
    locate: Locate = COUNTED_FROM_1
    rater_attributes: tuple[str, ...] = ()
    item_attributes: tuple[str, ...] = ()
    offered: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Intake:
    """What was noticed when the data came in; it is kept with the ratings so that nothing is lost silently."""

    source: str = "frame"
    layout: str = "long"
    columns: dict[str, str] = field(default_factory=dict)
    rows: int = 0
    missing_scores: int = 0
    repeated_pairs: int = 0
    duplicates: str = "error"
    tied_repeats: int = 0
    scale_inferred: bool = False
    unknown_raters: int = 0
    idle_raters: int = 0
    unknown_items: int = 0
    idle_items: int = 0
    selected: bool = False  # whether only part of what came in was kept
    selected_raters: bool = False  # whether the raters were selected by their attributes
    kept_repeats: int = 0  # later ratings of repeated pairs that are kept in addition to the first
    time_unit: str = ""  # number or days, where times were read
    missing_times: int = 0
    recoded: str = ""  # in words: what became of the points
    recoded_missing: int = 0  # ratings of points that became missing
    point_columns: str = ""  # the columns, one per point, that scores were read from
    numbers: str = ""  # in words: how scores that are only partly numbers were written
    conflicts: str = ""  # which of several values of an attribute counts, if raters or items have several
    rater_conflicts: dict[str, int] = field(default_factory=dict)  # by attribute, the raters with several values
    item_conflicts: dict[str, int] = field(default_factory=dict)
    unknown_words: dict[str, int] = field(default_factory=dict)  # by attribute, raters with nothing but such a word
    unknown_said: list[str] = field(default_factory=list)  # the words for unknown that somebody gave
    unbinned: dict[str, int] = field(default_factory=dict)  # by attribute, raters whose value fits no bin
    platform: str = ""  # the platform whose export it was taken for
    left_out: dict[str, int] = field(default_factory=dict)  # what in it holds no rating, and how often
    remarks: list[str] = field(default_factory=list)  # what else there is to know about the export
    said: dict[str, str] = field(default_factory=dict)  # options given that only exports need

    @property
    def points_inferred(self) -> bool:
        """Whether the points are those of the scores, and not of a recoding."""
        return self.scale_inferred and not self.recoded

    def left_out_and_remarks(self) -> list[str]:
        """Return sentences about what holds no rating and what else there is to know about the file."""
        left = ", ".join(f"{what} ({n:,})" for what, n in self.left_out.items())
        told = [f"left out because they hold no rating that counts: {left}"] if left else []
        found = []
        for one in (*told, *self.remarks):
            name, colon, _ = one.partition(": ")  # the name of a file stays as written
            is_file = colon and (name.split("::")[0] == self.source.split("::")[0] or "." in name)
            found.append(f"{one[:1] if is_file else one[:1].upper()}{one[1:].rstrip('.')}.")
        return found


@dataclass(frozen=True, slots=True)
class CodedColumns:
    """The columns of a table, coded: ids that can be used, and scores that are on the scale.

    Attributes
    ----------
    table
        Where they come from.
    coded
        Every column by its role, attributes by their names.
    scale, position_of
        The scale, and the position on it of each distinct score, -1 where it is missing.
    how
        How scores that are only partly numbers were written.
    multiplicity, times, time_unit
        The count of each row, if they are totals; when each rating was given, if that is known.
    """

    table: LongTable
    coded: Mapping[str, Coded]
    scale: Scale
    scale_inferred: bool
    position_of: NDArray[Any]
    how: str
    multiplicity: NDArray[np.int64] | None
    times: NDArray[np.float64] | None
    time_unit: str

    @classmethod
    def of(
        cls, table: LongTable, scale: Scale | None, missing: Iterable[Label], keep: Callable[[], Pieces] = list,
        beside: Sequence[Label] = (),
    ) -> CodedColumns:  # fmt: skip
        """Read a table and keep its rows in what ``keep`` makes; scores ``beside`` it help to infer the scale."""
        given = Times(table.source, table.names["time"], table.locate) if "time" in table.names else None
        coded, multiplicity = _coded_columns(table, given, keep)
        times, unit = (None, "") if given is None else given.finish()
        for role in ("item", "rater"):
            if role in coded:
                _check_ids(table, role, coded[role])
        known, position_of, how = _positions(table, coded["score"], scale, missing, beside)
        return cls(table, coded, known, scale is None, position_of, how, multiplicity, times, unit)

    @property
    def n_rows(self) -> int:
        """How many rows the table has."""
        return len(self.coded["score"].codes)

    def entries(self, rows: slice) -> RatingRows:
        """Return some of the rows, missing scores as -1."""
        return RatingRows(
            self.coded["item"].codes[rows],
            self.coded["rater"].codes[rows] if "rater" in self.coded else None,
            self.position_of.take(self.coded["score"].codes[rows]),
            None if self.multiplicity is None else self.multiplicity[rows],
            None if self.times is None else self.times[rows],
        )

    def described(
        self, items: AttributeTable | None, raters: AttributeTable | None, rules: AttributeRules
    ) -> tuple[Matched, Matched]:
        """Return what is known about items and raters."""
        owners = AttributeReader(self.table.source, self.table.locate, self.coded, rules, self.table.offered)
        known = owners.of("item", self.table.item_attributes, items)
        return known, owners.of("rater", self.table.rater_attributes, raters)

    def intake(
        self, repeats: Repeats, duplicates: Duplicates, n_missing: int, owners: tuple[Matched, Matched],
        rules: AttributeRules, **more: Any,
    ) -> Intake:  # fmt: skip
        """Return what was noticed, also about the attributes of items and raters."""
        items, raters = owners
        return Intake(
            self.table.source, self.table.layout, dict(self.table.names), self.n_rows, n_missing, len(repeats),
            duplicates, repeats.tied, self.scale_inferred, time_unit=self.time_unit, numbers=self.how,
            unknown_raters=raters.unknown, idle_raters=raters.idle, unknown_items=items.unknown, idle_items=items.idle,
            conflicts=rules.conflicts if raters.conflicts or items.conflicts else "", rater_conflicts=raters.conflicts,
            item_conflicts=items.conflicts, unknown_words=raters.words,
            unknown_said=[] if rules.unknown == UNKNOWN or not raters.words else list(rules.unknown), **more,
        )  # fmt: skip


def check(
    table: LongTable,
    scale: Scale | None = None,
    *,
    missing: Iterable[Label] = (),
    duplicates: Duplicates = "error",
    raters: AttributeTable | None = None,
    items: AttributeTable | None = None,
    rules: AttributeRules | None = None,
) -> dict[str, Any]:
    """Turn a table into the parts of checked ratings, or raise a single error that says what is wrong and where."""
    if duplicates not in RULES:
        raise InputError(f"duplicates is {duplicates!r}", hint=f"Give one of {', '.join(RULES)}.")
    columns, rules = CodedColumns.of(table, scale, missing), rules or AttributeRules()
    rows = columns.entries(slice(0, columns.n_rows))
    n_missing = int(np.count_nonzero(rows.score == ABSENT))
    kept, repeats = _ordered(columns, rows, duplicates)
    known_items, known_raters = owners = columns.described(items, raters, rules)
    again = None  # what is kept in addition to the first ratings
    if (later := repeats.later) is not None and later.rater is not None:
        again = Again(later.item, later.rater, later.score.astype(columns.scale.dtype, copy=False), later.time)
    intake = columns.intake(
        repeats, duplicates, n_missing, owners, rules, kept_repeats=0 if again is None else len(again),
        missing_times=_without_time(kept.time) + _without_time(again.times if again else None),
    )  # fmt: skip
    return {
        "scale": columns.scale, "items": known_items.frame, "raters": known_raters.frame,
        "item_codes": kept.item.astype(np.int32, copy=False), "rater_codes": kept.rater,
        "scores": kept.score.astype(columns.scale.dtype, copy=False), "multiplicity": kept.count, "intake": intake,
        "times": kept.time, "again": again,
    }  # fmt: skip


def _without_time(times: NDArray[np.float64] | None) -> int:
    return 0 if times is None else int(np.count_nonzero(np.isnan(times)))


def _coded_columns(
    table: LongTable, times: Times | None, keep: Callable[[], Pieces]
) -> tuple[dict[str, Coded], NDArray[np.int64] | None]:
    coders: dict[str, Coder] = {}
    counts: list[NDArray[np.int64]] = []
    apart = ("count",) if times is None else ("count", "time")
    with ThreadPoolExecutor(3, thread_name_prefix="plurivox-code") as pool:  # one of them reads ahead
        for piece in _ahead(table.pieces, pool):
            for name in piece.columns:
                if name not in coders and name not in apart:
                    coders[name] = Coder(text=table.text, keep=keep)
            if "count" in piece.columns:
                counts.append(piece["count"].to_numpy())
            if times is not None:
                times.add(piece["time"])
            columns = [name for name in piece.columns if name not in apart]
            list(pool.map(lambda name, piece=piece: coders[name].add(piece[name]), columns))
        coded = dict(zip(coders, pool.map(lambda coder: coder.finish(), coders.values()), strict=True))
    if not coded or not len(coded["score"].codes):
        raise no_rows(list(table.names.values()), table.source)
    return coded, np.concatenate(counts) if counts else None


def no_rows(columns: Sequence[str], source: str) -> InputError:
    """Return the error for a table with nothing below its header."""
    hint = open_quote(columns) or "A table of ratings has one row for each rating below its header."
    return InputError("there are no ratings, only a header", source=source, hint=hint)


def _ahead(pieces: Iterable[pl.DataFrame], pool: ThreadPoolExecutor) -> Iterator[pl.DataFrame]:
    """Yield the pieces, reading the next one while the current one is being processed."""
    iterator = iter(pieces)
    coming = pool.submit(next, iterator, None)
    while (piece := coming.result()) is not None:
        coming = pool.submit(next, iterator, None)
        yield piece


def _check_ids(table: LongTable, role: str, ids: Coded) -> None:
    absent = rows_of(ids, [ABSENT])
    if absent.n:
        raise _at(IdError, table, role, absent, f"the {role} id is missing")
    if ids.values.dtype != pl.String:
        return
    blank = (ids.values.str.strip_chars() == "").arg_true()
    if len(blank):
        raise _at(IdError, table, role, rows_of(ids, blank.to_list()), f"the {role} id is blank")
    odd = ids.values.str.contains(r"\p{Cc}").arg_true()
    if len(odd):
        which = "" if role == "rater" else f" {ids.values[odd[0]]!r}"
        problem = f"the {role} id{which} holds a control character"
        hint = "Remove it; ids may contain any printable text."
        raise _at(IdError, table, role, rows_of(ids, odd.to_list()), problem, hint)


def rows_of(column: Coded, codes: Sequence[int]) -> FirstRows:
    """Return the rows that have one of the codes."""
    own = column.codes
    if len(codes) == 1:
        return rows_where(lambda rows: own[rows] == codes[0], len(own))
    return rows_where(lambda rows: np.isin(own[rows], codes), len(own))


def _positions(
    table: LongTable, scores: Coded, scale: Scale | None, missing: Iterable[Label], beside: Sequence[Label]
) -> tuple[Scale, NDArray[Any], str]:
    """Return the scale, each score's position on it (-1 where missing), and how numbers were written."""
    column = table.names["score"]
    answers: list[Any] = scores.values.to_list()
    for place, answer in enumerate(answers):
        if text_of(answer).casefold().lstrip("+-") in ("inf", "infinity"):
            rows = rows_of(scores, [place])
            raise _at(ScoreError, table, "score", rows, "a score is infinite", hint="Correct it or leave it blank.")
    if len(answers) > MAX_DISTINCT_SCORES:
        raise ScoreError(
            f"there are {len(answers):,} different scores, too many for a rating scale",
            source=table.source, column=column, hint="Check that this is the score column.",
        )  # fmt: skip
    extra = [text_of(token) for token in missing]
    crowded = [text_of(answer).startswith(SEVERAL) for answer in answers]
    single = [None if several else answer for answer, several in zip(answers, crowded, strict=True)]

    def rows_with(texts: Sequence[str]) -> dict[str, Any]:  # what an error says about where answers are
        places = [place for place, answer in enumerate(answers) if str(answer) in texts]
        return {"column": column, **where(table.source, table.locate, rows_of(scores, places))}

    try:
        more = [text_of(one) for one in beside] if scores.values.dtype == pl.String else list(beside)
        numbered, known, how = as_written([*more, *single], scale, extra, rows_with)
        numbered = numbered[len(more) :]
    except ScaleError as error:
        raise ScaleError(error.problem, source=table.source, column=column, hint=error.hint) from None
    if extra:
        known = known.with_missing(list(dict.fromkeys([*known.missing, *extra])))
    position_of = np.full(len(answers) + 1, ABSENT, dtype=np.min_scalar_type(-len(known) - 1))
    off: list[int] = []
    for place, answer in enumerate(answers):
        if crowded[place] and ANY_SEVERAL in extra:
            continue
        try:
            position_of[place] = known.position(answer if crowded[place] else numbered[place])
        except ScaleError:
            off.append(place)
    if off:
        raise _off_scale(table, scores, known, off)
    return known, position_of, how


def _off_scale(table: LongTable, scores: Coded, scale: Scale, off: list[int]) -> ScoreError:
    rows = rows_of(scores, off)
    found = [str(scores.values[place]) for place in off]
    labels = {str(label).casefold(): str(label) for label in scale.labels}
    close = [labels[text.strip().casefold()] for text in found if text.strip().casefold() in labels]
    shown = ", ".join(repr(text) for text in found[:5]) + (", …" if len(found) > 5 else "")
    verb = "is not a point" if len(found) == 1 else "are not points"
    hint = "Extend the scale with --scale, or declare what means no answer with --missing."
    if all(text.startswith(SEVERAL) for text in found):
        hint = f"More than one point was chosen; if that counts as no answer, use --missing {ANY_SEVERAL}."
    if close:
        hint = f"Did you mean {close[0]!r}? Upper and lower case matter in labels."
    error: ScoreError = _at(ScoreError, table, "score", rows, f"{shown} {verb} of the scale {scale}", hint=hint)
    return error


def _ordered(columns: CodedColumns, rows: RatingRows, rule: Duplicates) -> tuple[RatingRows, Repeats]:
    """Drop missing scores, order by item and rater, and deal with repeats."""
    rows, coded = present(rows), columns.coded
    if rows.rater is None:
        totals, twice = sorted_totals(rows)
        if twice is not None:
            raise DuplicateError(
                f"item {coded['item'].values[twice]!r} has more than one row of totals", source=columns.table.source,
                places=sorted({columns.table.locate(int(row)) for row in rows_of(coded["item"], [twice]).first}),
                hint="Add the rows up so that each item has one.",
            )  # fmt: skip
        return totals, Repeats(np.empty(0, np.int64), np.empty(0, np.int64))
    bits = pair_bits(len(coded["rater"].values), len(columns.scale), len(coded["item"].values))
    kept, repeats = settled(packed_words(rows.item, rows.rater, rows.score, bits), bits, rule, rows.time)
    if len(repeats) and rule == "error":
        raise repeated_pairs(columns, repeats)
    return kept, repeats


def present(rows: RatingRows) -> RatingRows:
    """Return the rows that hold a rating."""
    found = rows.score != ABSENT
    if rows.count is not None:
        found &= rows.count > 0
    return rows if found.all() else rows[found]


def repeated_pairs(columns: CodedColumns, repeats: Repeats) -> DuplicateError:
    """Return the error for raters who rated items more than once; it names the first few."""
    table, items, raters = columns.table, columns.coded["item"], columns.coded["rater"]
    places = []
    for item, rater in zip(repeats.item[:3].tolist(), repeats.rater[:3].tolist(), strict=True):
        rows = rows_where(
            lambda rows, item=item, rater=rater: (items.codes[rows] == item) & (raters.codes[rows] == rater),
            columns.n_rows,
        )
        at = " and ".join(table.locate(int(row)) for row in rows.first[:3])
        places.append(f"{at} (item {items.values[item]!r})")
    pairs = "1 (item, rater) pair is" if len(repeats) == 1 else f"{len(repeats):,} (item, rater) pairs are"
    return DuplicateError(
        f"{pairs} rated more than once", source=table.source, places=places, n_places=len(repeats),
        hint="Choose which rating counts with --duplicates first, last, mode or keep, or remove the others.",
    )  # fmt: skip


def _at(
    error: type[InputError], table: LongTable, role: str, rows: FirstRows, problem: str,
    hint: str = "Fill it in or remove the row.",
) -> Any:  # fmt: skip
    return error(problem, column=table.names[role], **where(table.source, table.locate, rows), hint=hint)
