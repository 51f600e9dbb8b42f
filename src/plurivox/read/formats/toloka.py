"""Toloka: assignments as TSV, with one row per task and worker.

Tasks with a correct answer or a hint serve to check or train workers, and are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from plurivox.base.errors import ColumnError
from plurivox.domain.raw import RawTable
from plurivox.read.formats.record import REJECTED, Export, Platform, Tally
from plurivox.read.formats.unfolding import Remade, answer, item_id, parts_of_item
from plurivox.read.settings import ReadSettings

_INPUT, _OUTPUT, _GOLDEN, _HINT = "INPUT:", "OUTPUT:", "GOLDEN:", "HINT:text"
_WORKER, _STATUS, _VERDICT = "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "ACCEPT:verdict"
_UNDONE = ("skipped", "expired", "active")


def fits(columns: Sequence[str], head: pl.DataFrame, asked: ReadSettings) -> bool:
    """Recognise it by column names."""
    return all(any(name.startswith(start) for name in columns) for start in (_INPUT, _OUTPUT))


def ratings(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per task and worker."""
    if _WORKER not in table.columns and asked.rater is None:
        raise ColumnError(
            f"the raters are missing: there is no column '{_WORKER}'", source=table.name,
            hint="Download the assignments of the pool, with worker ids; aggregated results do not name workers.",
        )  # fmt: skip
    tally = Tally()
    inputs = {name.removeprefix(_INPUT): name for name in table.columns if name.startswith(_INPUT)}
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
        return tally.decided(piece, _rejected(piece), REJECTED, asked)

    return Export(
        table=Remade(table, list(dict.fromkeys([*table.columns, *derived])), make).remade(), item=item, rater=_WORKER,
        questions=tuple(questions), item_attributes=tuple(name for name in shown if name != item), tally=tally,
    )  # fmt: skip


def _done(piece: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """Return the rows of tasks that were done and are not control tasks."""
    controls = [name for name in piece.columns if name.startswith(_GOLDEN) or name == _HINT]
    if controls:
        kept = piece.filter(pl.all_horizontal(answer(name).is_null() for name in controls))
        tally.left_out["control tasks"] += piece.height - kept.height
        piece = kept
    if _STATUS in piece.columns:
        for status in _UNDONE:
            is_so = (answer(_STATUS).str.to_lowercase() == status).fill_null(value=False)
            kept = piece.filter(~is_so)
            tally.left_out[f"{status} tasks"] += piece.height - kept.height
            piece = kept
    return piece


def _rejected(piece: pl.DataFrame) -> pl.Series:
    """Return which rows were rejected, or are marked for rejection."""
    rejected = pl.lit(value=False)
    if _STATUS in piece.columns:
        rejected = answer(_STATUS).str.to_lowercase() == "rejected"
    if _VERDICT in piece.columns:
        rejected = rejected.fill_null(value=False) | (answer(_VERDICT) == "-")
    return piece.with_columns(rejected.fill_null(value=False).alias("\0rejected"))["\0rejected"]


PLATFORM = Platform(name="toloka", title="assignments of Toloka", fits=fits, ratings=ratings)
