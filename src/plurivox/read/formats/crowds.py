"""Exports of crowdsourcing platforms.

Prolific: a table of participants, which describes raters and holds no ratings.

A participant may have several submissions; the one with the best status counts.

Amazon Mechanical Turk: the results of a batch, with one row per assignment.

``Input.*`` says what was rated, since a HIT that is posted again has another id. A HIT may show several items:
``Input.image_url1`` goes with ``Answer.Content1``. Radio buttons may have a column each, ``Answer.severity.4``.

Toloka: assignments as TSV, with one row per task and worker.

Tasks with a correct answer or a hint serve to check or train workers, and are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from plurivox.base.errors import ColumnError, InputError
from plurivox.base.wording import counted, listed
from plurivox.domain.attributes import clean
from plurivox.domain.ratings import Ratings, ratings_of, without_others
from plurivox.domain.raw import RawTable
from plurivox.read.formats.record import (
    HEAD,
    REJECTED,
    UNFINISHED,
    WAITING,
    Export,
    Platform,
    Record,
    Row,
    Tally,
    answer,
    chosen,
    item_id,
    nested,
    parts_of_item,
    reworked,
    unfolded,
    wrong,
)
from plurivox.read.settings import ReadSettings

# Prolific -------------------------------------------------------------------------------------------------------------


_RATER, _PROLIFIC_STATUS = "Participant id", "Status"
_KNOWN = {"Submission id", _RATER, _PROLIFIC_STATUS}
_ADMINISTRATIVE = (
    "Submission id", _PROLIFIC_STATUS, "Custom study tncs accepted at", "Started at", "Completed at", "Reviewed at",
    "Archived at", "Time taken", "Completion code", "Total approvals",
)  # fmt: skip
_MISSING = ("DATA_EXPIRED", "CONSENT_REVOKED")
_APPROVED, _UNREVIEWED = "APPROVED", "AWAITING REVIEW"
_PROLIFIC_UNDONE = ("RETURNED", "TIMED-OUT", "TIMED OUT", "ACTIVE", "RESERVED", "SCREENED OUT")
_ROW, _RANK = "\0row", "\0rank"


def prolific_ratings(table: RawTable, asked: ReadSettings) -> Export:
    """Raise an error, since there are none."""
    raise InputError(
        "it is a table of raters from Prolific and holds no ratings", source=table.name,
        hint="Give the file with the ratings, and give this one with --raters; 'Participant id' joins the two.",
    )  # fmt: skip


def raters(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per participant, with what needs a decision in :data:`WAITING`."""
    frame = table.frame()
    known = (clean(one) for one in frame)  # what Prolific no longer discloses is missing
    frame = frame.with_columns(
        one.set(one.is_in(list(_MISSING)), None) if one.dtype == pl.String else one for one in known
    ).with_row_index(_ROW)
    status = answer(_PROLIFIC_STATUS).str.to_uppercase().fill_null("UNKNOWN")
    undone, awaited = status.is_in(_PROLIFIC_UNDONE), status == _UNREVIEWED
    what = pl.when(undone).then(pl.lit(UNFINISHED)).otherwise(pl.lit(REJECTED))
    best = frame.with_columns(
        pl.when(status != _APPROVED).then(what + pl.lit(":") + status).alias(WAITING),
        pl.when(status == _APPROVED).then(0).when(awaited).then(1).when(~undone).then(2).otherwise(3).alias(_RANK),
    ).filter(pl.col(_RANK) == pl.col(_RANK).min().over(_RATER))
    attributes = [name for name in table.columns if name not in (_RATER, *_ADMINISTRATIVE)]
    # One submission may have lost what another still says.
    best = best.with_columns(
        *(pl.coalesce(pl.col(name), pl.col(name).drop_nulls().first().over(_RATER)) for name in attributes),
        pl.col(WAITING).first().over(_RATER),
    )
    rows = best[_ROW].to_list()
    made = best.select(_RATER, *attributes, WAITING)
    return Export(
        table=replace(
            table, columns=made.columns, pieces=iter([made]), locate=lambda position: table.locate(rows[position])
        ),
        rater=_RATER, rater_attributes=tuple(attributes),
    )  # fmt: skip


PROLIFIC = Platform(
    name="prolific", title="a table of raters from Prolific", ratings=prolific_ratings, raters=raters,
    fits=lambda columns, head, asked: set(columns) >= _KNOWN,
)  # fmt: skip


# Raters whose status needs a decision ---------------------------------------------------------------------------------


def without_waiting(ratings: Ratings, asked: ReadSettings, source: str) -> Ratings:
    """Return the ratings without those of raters who need a decision, if the decision is to drop them.

    Raise an error if a decision is missing; raters who rated nothing need none.
    """
    if WAITING not in ratings.raters.columns:
        return ratings
    waiting = ratings.raters[WAITING].to_list()
    ratings = ratings.with_known(raters=ratings.raters.drop(WAITING))
    counts = ratings.per_rater().copy()
    if ratings.again is not None:
        counts += np.bincount(ratings.again.rater_codes, minlength=len(waiting))
    n_ratings = counts.tolist()
    undecided, dropped = Counter[str](), Counter[str]()
    keep = np.ones(len(waiting), dtype=bool)
    for rater, (status, n) in enumerate(zip(waiting, n_ratings, strict=True)):
        choice = None if status is None else getattr(asked, status.partition(":")[0])
        if status is None or choice == "keep" or not n:
            continue
        keep[rater] = choice is None
        (undecided if choice is None else dropped)[status] += 1 if choice is None else n
    if undecided:
        statuses = listed(f"{status.partition(':')[2]} ({n:,})" for status, n in undecided.items())
        options = sorted({status.partition(":")[0] for status in undecided})
        rated = counted(sum(n > 0 for n in n_ratings), "rater")
        raise InputError(
            f"{undecided.total():,} of {rated} {'is' if undecided.total() == 1 else 'are'} not approved: {statuses}; "
            "you have to decide whether they count",
            source=source,
            hint=f"Use {' and '.join(f'--{option} drop' for option in options)} to leave out their ratings, or keep "
            "instead of drop.",
        )
    if not keep.any():
        raise InputError("no raters remain, because all of them are left out", source=source, hint="Keep some of them.")
    left = {f"ratings by raters of status {status.partition(':')[2]}": n for status, n in dropped.items()}
    told = replace(ratings.intake, left_out={**ratings.intake.left_out, **left})
    return without_others(ratings_of(ratings, raters=keep), raters=keep).with_known(intake=told)


# Amazon Mechanical Turk -----------------------------------------------------------------------------------------------


_IDS = {"HITId", "AssignmentId", "WorkerId"}
_MTURK_INPUT, _ANSWER = "Input.", "Answer."
_AS_JSON = f"{_ANSWER}taskAnswers"
_MTURK_STATUS, _REJECT = "AssignmentStatus", "Reject"
_NUMBERED = re.compile(r"(.*?[^\d_. -])[_. -]?(\d{1,6})", re.DOTALL)
_UNANSWERED = "{}"
_NOTHING = pl.lit(None, dtype=pl.String)
Answers = Mapping[str, "str | Mapping[str, str]"]  # question → its column, or the column of each point


def mturk_ratings(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per assignment and item."""
    tally = Tally()
    if _AS_JSON in table.columns:
        table = _without_json(table, tally)
    batch = _Batch.of(table.columns, table.first().head(HEAD))
    if not batch.inputs and asked.item is None:
        raise ColumnError(
            "no column Input.* says what was rated", source=table.name,
            hint="Name with --item a column that does; the id of a HIT changes when it is posted again.",
        )  # fmt: skip
    numbers, names = batch.numbers, batch.names.values()
    parts = parts_of_item(list(batch.inputs))
    item = batch.shown[parts[0]] if len(parts) == 1 else ",".join(parts)
    derived = partial(batch.derived, table.columns, parts, item)
    if numbers:
        pair = f"{_MTURK_INPUT}{next(iter(batch.inputs))} with {_ANSWER}{next(iter(batch.questions))}, by their numbers"
        tally.notes.append(f"each row holds {counted(len(numbers), 'item')}: {pair}")

    def make(piece: pl.DataFrame) -> pl.DataFrame:
        made = pl.concat([piece.with_columns(**derived(number)) for number in numbers or [0]])
        if numbers:
            empty = made.select(pl.all_horizontal(pl.col(name).is_null() for name in (item, *names))).to_series()
            tally.left_out["empty places of HITs"] += int(empty.sum())
            made = made.filter(~empty) if empty.any() else made
        status = (pl.col(_MTURK_STATUS) if _MTURK_STATUS in made.columns else _NOTHING).str.strip_chars()
        status = status.str.to_lowercase()
        rejected = status.is_in(["rejected"]).fill_null(value=False)
        if _REJECT in made.columns:  # marked for rejection
            rejected |= answer(_REJECT).is_not_null() & ~status.is_in(["approved"]).fill_null(value=False)
        return tally.decided(made, made.select(rejected.alias("rejected")).to_series(), REJECTED, asked)

    columns = list(dict.fromkeys([*table.columns, *derived(next(iter(numbers), 0))]))
    return Export(
        table=reworked(table, columns, make, max(1, len(numbers))), item=item, rater="WorkerId", tally=tally,
        questions=tuple(names), item_attributes=tuple(name for name in batch.shown.values() if name != item),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Batch:
    """What the columns of a batch are.

    Attributes
    ----------
    inputs, questions
        What was shown, and what was asked, by number; 0 is the only number where a HIT has one item.
    shown, names
        Their names in the new table.
    numbers
        The numbers of the items of a HIT; empty if it has one.
    whole
        Answers about the whole HIT where it has several items, such as the age of a worker.
    """

    inputs: Mapping[str, Mapping[int, str]]
    questions: Mapping[str, Mapping[int, str | Mapping[str, str]]]
    shown: Mapping[str, str]
    names: Mapping[str, str]
    numbers: tuple[int, ...]
    whole: Answers

    @classmethod
    def of(cls, columns: Sequence[str], head: pl.DataFrame) -> _Batch:
        """Find items and questions by the names of columns, and radio buttons by what they hold."""
        inputs = {name.removeprefix(_MTURK_INPUT): name for name in columns if name.startswith(_MTURK_INPUT)}
        questions = _answers(columns, head)
        numbered = {stem: by for stem, by in _by_number(inputs).items() if len(by) > 1}
        numbers = tuple(sorted({number for by in numbered.values() for number in by}))
        paired = {stem: by for stem, by in _by_number(questions).items() if len(by) > 1 and {*by} <= {*numbers}}
        if not paired:
            numbers, numbered = (), {name: {0: column} for name, column in inputs.items()}
            paired = {name: {0: column} for name, column in questions.items()}
        taken = {name for name in columns if not name.startswith((_MTURK_INPUT, _ANSWER))}
        names = {stem: f"{_ANSWER}{stem}" if stem in taken else stem for stem in paired}
        taken |= set(names.values())
        shown = {stem: f"{_MTURK_INPUT}{stem}" if stem in taken else stem for stem in numbered}
        taken |= set(shown.values())
        alone = {name for name in questions if not ((one := _NUMBERED.fullmatch(name)) and one[1] in paired)}
        whole = {name: questions[name] for name in questions if numbers and name in alone - taken}
        return cls(numbered, paired, shown, names, numbers, whole)

    def derived(self, columns: Sequence[str], parts: Sequence[str], item: str, number: int) -> dict[str, pl.Expr]:
        """Return the columns for the item with a number; ``parts`` say what was rated, in a column called ``item``."""
        found: dict[str, pl.Expr] = {}

        def add(start: str, stem: str, name: str, text: pl.Expr) -> None:
            found[name] = text
            if f"{start}{stem}" not in columns:  # by which it may also be requested
                found[f"{start}{stem}"] = text

        for stem, by in self.questions.items():
            add(_ANSWER, stem, self.names[stem], _value(by.get(number)))
        for stem, by in self.inputs.items():
            text = _NOTHING
            if number in by:
                text = item_id([by[number]]) if [stem] == [*parts] else answer(by[number])
            add(_MTURK_INPUT, stem, self.shown[stem], text)
        found |= {name: _value(column) for name, column in self.whole.items()}
        if len(parts) > 1:
            there = [self.inputs[part][number] for part in parts if number in self.inputs[part]]
            found[item] = item_id(there) if there else _NOTHING
        return found


def _value(column: str | Mapping[str, str] | None) -> pl.Expr:
    """Return the answer held by a column, or by the columns of all points, of which one says true."""
    if column is None:
        return _NOTHING
    if isinstance(column, str):
        return answer(column, _UNANSWERED)
    marks = []
    for point, name in column.items():  # a cell that says neither true nor false is an answer off the scale
        cell = answer(name).str.to_lowercase()
        marks.append(pl.when(cell == "true").then(pl.lit(point)).when(cell != "false").then(pl.col(name)))
    return chosen(marks)


def _answers(columns: Sequence[str], head: pl.DataFrame) -> dict[str, str | Mapping[str, str]]:
    """Return the questions; columns of true and false whose names differ after a dot are the points of one question."""
    names = [name.removeprefix(_ANSWER) for name in columns if name.startswith(_ANSWER)]
    groups: dict[str, dict[str, str]] = {}
    for name in names:
        stem, dot, point = name.partition(".")
        if stem and dot and point:
            groups.setdefault(stem, {})[point] = f"{_ANSWER}{name}"
    marked = {stem: group for stem, group in groups.items() if stem not in names and _is_marked(head, group)}
    found: dict[str, str | Mapping[str, str]] = {}
    for name in names:
        stem = name.partition(".")[0]
        found[stem if stem in marked else name] = marked.get(stem, f"{_ANSWER}{name}")
    return found


def _is_marked(head: pl.DataFrame, group: Mapping[str, str]) -> bool:
    """Return whether columns hold only true and false, and at least one true."""
    cells = {str(one).strip().lower() for name in group.values() for one in head[name].drop_nulls().unique()}
    return len(group) > 1 and "true" in cells and cells <= {"true", "false", ""}


def _by_number(names: Mapping[str, Any]) -> dict[str, dict[int, Any]]:
    """Return the columns of each name by the numbers at their ends."""
    found: dict[str, dict[int, Any]] = {}
    for name, column in names.items():
        if fitting := _NUMBERED.fullmatch(name):
            found.setdefault(fitting[1], {})[int(fitting[2])] = column
    return found


def _without_json(table: RawTable, tally: Tally) -> RawTable:
    """Return the table with a column for each answer instead of one with all answers as JSON."""
    head = table.first().head(HEAD)
    found: dict[str, None] = {}
    for at, cell in enumerate(head[_AS_JSON].to_list()):
        found |= dict.fromkeys(_flat(cell, table.locate(at), table.name))
    others = [name for name in table.columns if name != _AS_JSON]
    columns = list(dict.fromkeys([*others, *found]))

    def rows(record: Record, place: str) -> Iterator[Row]:
        answers = _flat(record[_AS_JSON], place, table.name)
        for name in answers:
            if name not in found:
                tally.left_out[f"answers to '{name.removeprefix(_ANSWER)}'"] += 1
        yield {**{name: record[name] for name in others}, **answers}

    return unfolded(table, columns, rows)


def _flat(cell: Any, place: str, source: str) -> dict[str, Any]:
    """Return the answers of an assignment: question → answer, or question.point → true or false."""
    found = nested(cell, place, source, _AS_JSON)
    found = found[0] if isinstance(found, list) and len(found) == 1 else found
    if found is None or found == []:
        return {}
    if not isinstance(found, dict):
        raise wrong("the answers of an assignment are not an object", place, source)
    flat: dict[str, Any] = {}
    for name, value in found.items():
        if isinstance(value, dict):
            flat |= {f"{_ANSWER}{name}.{point}": one for point, one in value.items()}
        else:
            flat[f"{_ANSWER}{name}"] = value
    return flat


MTURK = Platform(
    name="mturk", title="the results of a batch of Amazon Mechanical Turk", ratings=mturk_ratings,
    fits=lambda columns, head, asked: set(columns) >= _IDS
    and any(name.startswith((_MTURK_INPUT, _ANSWER)) for name in columns),
)  # fmt: skip


# Toloka ---------------------------------------------------------------------------------------------------------------


_TOLOKA_INPUT, _OUTPUT, _GOLDEN, _HINT = "INPUT:", "OUTPUT:", "GOLDEN:", "HINT:text"
_WORKER, _TOLOKA_STATUS, _VERDICT = "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "ACCEPT:verdict"
_TOLOKA_UNDONE = ("skipped", "expired", "active")


def toloka_ratings(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per task and worker."""
    if _WORKER not in table.columns and asked.rater is None:
        raise ColumnError(
            f"the raters are missing: there is no column '{_WORKER}'", source=table.name,
            hint="Download the assignments of the pool, with worker ids; aggregated results do not name workers.",
        )  # fmt: skip
    tally = Tally()
    inputs = {name.removeprefix(_TOLOKA_INPUT): name for name in table.columns if name.startswith(_TOLOKA_INPUT)}
    outputs = {name.removeprefix(_OUTPUT): name for name in table.columns if name.startswith(_OUTPUT)}
    questions = {name: answer(column) for name, column in outputs.items()}
    shown = {column if name in outputs else name: answer(column) for name, column in inputs.items()}
    parts = parts_of_item(list(inputs))
    item = ",".join(parts) if len(parts) > 1 else inputs[parts[0]] if parts[0] in outputs else parts[0]
    derived = {**questions, **shown, item: item_id([inputs[part] for part in parts])}
    if len(parts) == 1:
        derived[inputs[parts[0]]] = derived[item]

    def make(piece: pl.DataFrame) -> pl.DataFrame:
        piece = piece.filter(pl.any_horizontal(answer(name).is_not_null() for name in table.columns))
        piece = _done(piece, tally).with_columns(text.alias(name) for name, text in derived.items())
        rejected = pl.lit(value=False)
        if _TOLOKA_STATUS in piece.columns:
            rejected = answer(_TOLOKA_STATUS).str.to_lowercase() == "rejected"
        if _VERDICT in piece.columns:
            rejected = rejected.fill_null(value=False) | (answer(_VERDICT) == "-")
        rejected = rejected.fill_null(value=False).alias("\0rejected")
        return tally.decided(piece, piece.with_columns(rejected)["\0rejected"], REJECTED, asked)

    return Export(
        table=reworked(table, list(dict.fromkeys([*table.columns, *derived])), make), item=item, rater=_WORKER,
        questions=tuple(questions), item_attributes=tuple(name for name in shown if name != item), tally=tally,
    )  # fmt: skip


def _done(piece: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """Return the rows of tasks that were done and are not control tasks."""
    left_out = {}
    if controls := [name for name in piece.columns if name.startswith(_GOLDEN) or name == _HINT]:
        left_out["control tasks"] = pl.any_horizontal(answer(name).is_not_null() for name in controls)
    if _TOLOKA_STATUS in piece.columns:
        state = answer(_TOLOKA_STATUS).str.to_lowercase()
        left_out |= {f"{status} tasks": (state == status).fill_null(value=False) for status in _TOLOKA_UNDONE}
    for what, is_so in left_out.items():
        kept = piece.filter(~is_so)
        tally.left_out[what] += piece.height - kept.height
        piece = kept
    return piece


TOLOKA = Platform(
    name="toloka", title="assignments of Toloka", ratings=toloka_ratings,
    fits=lambda columns, head, asked: all(
        any(name.startswith(start) for name in columns) for start in (_TOLOKA_INPUT, _OUTPUT)
    ),
)  # fmt: skip
