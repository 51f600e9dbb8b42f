"""Answers of language models from files, and predictions and answers for ratings that may have been recoded."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from plurivox.ask.logs import read_inspect_log, read_lm_eval_samples
from plurivox.base.arguments import FilePath, Frame, checked
from plurivox.base.errors import ColumnError, no_column
from plurivox.domain.answers import Answers
from plurivox.domain.choices import Conflicts
from plurivox.domain.predictions import Predictions
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import AS_IN_RATINGS, id_column, plain_names
from plurivox.domain.recoding import Recoding
from plurivox.domain.scale import Scale
from plurivox.domain.scale_files import GivenScale, as_scale
from plurivox.read.formats import export_of
from plurivox.read.opening import ANSWERS, printable, split_name
from plurivox.read.read import read_predictions
from plurivox.read.settings import Format, ReadSettings
from plurivox.read.tables import attribute_table, read_table

_MODEL_NAMES = ("model", "modelname", "modelid", "llm")
_NAME_THEM = "Name the columns: --item, --model, --answer (item=, model=, answer=)."
_SQLITE = b"SQLite format 3\x00"
_START = 1 << 14  # bytes of JSON in which a log names what was evaluated
_HEAD, _APPLICATION = 100, 68  # bytes of the head of such a file, and where its application id is


@checked
def read_answers(
    source: FilePath,
    scale: GivenScale,
    *,
    item: str | None = None,
    model: str | None = None,
    answer: str | None = None,
    like: Ratings | None = None,
    items: FilePath | Frame | None = None,
    format: Format | None = None,  # noqa: A002
    encoding: str = "utf-8",
) -> Answers:
    """Read answers of language models.

    Parameters
    ----------
    source
        A store that ``plurivox ask`` wrote; a CSV, TSV, JSON, JSON lines or Parquet file, plain or compressed, with one
        row per answer; predictions in an export of Label Studio or suggestions in one of Argilla; a log of Inspect
        (``.eval``, or ``.json``), or samples of lm-evaluation-harness (``samples_….jsonl``), or a folder of either.
    scale
        A :class:`Scale`, its points in order, or text such as ``"1:5"``.
    item, model, answer
        The columns that hold them; obvious names are recognised. In an export, ``answer`` is the question.
    like
        Ratings; if a column has the name of their item column, it holds the items; in an export, their question is
        used, too.
    items
        A table with one row per item, whose attributes also describe items without ratings.
    format, encoding
        The kind of file, if its name does not show it, and the encoding of its text.

    Raises
    ------
    InputError
        Names the file, the column and the rows, and says what to do.
    """
    points = as_scale(scale)
    assert points is not None
    known = {} if like is None else like.intake.columns
    found = _answers(Path(source), points, item, model, answer, known, format, encoding)
    table = attribute_table(items, "item", item or known.get("item", "item"), encoding)
    return found if table is None else found.with_items(table)


def _answers(
    path: Path, points: Scale, item: str | None, model: str | None, answer: str | None, known: Mapping[str, str],
    format: Format | None, encoding: str,  # noqa: A002
) -> Answers:  # fmt: skip
    """Read answers from any kind of file."""
    if _is_store(path):
        from plurivox.ask.store import Store
        from plurivox.lenses.alignment.matching import from_store

        with Store.read(path) as store:
            return from_store(store, points)
    samples = next(path.rglob("samples_*.jsonl"), None) if path.is_dir() else path
    if samples is not None and samples.name.startswith("samples_") and samples.suffix == ".jsonl":
        return Answers.from_frame(read_lm_eval_samples(path, scale=points, item=item), points, source=printable(path))
    if _is_log(path):
        return Answers.from_frame(read_inspect_log(path, scale=points), points, source=printable(path))
    table = read_table(os.fspath(path), format=format, encoding=encoding)
    asked = ReadSettings(item=item or known.get("item"), score=answer or known.get("score"))
    if (export := export_of(table, format, asked, "answers")) is not None:
        return Answers.from_frame(export.table.frame(), points, source=table.name, locate=export.table.locate)
    for given in (item, model, answer):
        if given is not None and given not in table.columns:
            raise no_column(given, table.columns, table.name, _NAME_THEM)
    names = plain_names(table.columns)
    named = next((names[name] for name in _MODEL_NAMES if name in names), "model")
    hint = AS_IN_RATINGS if known else _NAME_THEM
    return Answers.from_frame(
        table.frame(), points,
        item=item or id_column(table.columns, "item", known.get("item", "item"), table.name, hint),
        model=model or named, answer=answer, name=Path(printable(split_name(path)[1] or path)).stem or "model",
        source=table.name, locate=table.locate,
    )  # fmt: skip


def _is_log(path: Path) -> bool:
    """Return whether a file, or a folder of files, is an Inspect log; its JSON says so at its start."""
    if path.is_dir():
        return any(path.rglob("*.eval")) or any(map(_is_log, path.rglob("*.json")))
    if path.suffix == ".eval":
        return True
    try:
        with path.open("rb") as file:
            return path.suffix == ".json" and b'"eval"' in file.read(_START)
    except OSError:
        return False


def _is_store(path: Path) -> bool:
    """Return whether an SQLite file is a store of answers, or is damaged where it says so; others hold tables."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    return head.startswith(_SQLITE) and (
        len(head) < _HEAD or int.from_bytes(head[_APPLICATION : _APPLICATION + 4], "big") == ANSWERS
    )


# Recoded --------------------------------------------------------------------------------------------------------------
#
# Predictions and answers for ratings that may have been recoded.


def predictions_of(files: Sequence[str], scale: Scale, recoding: Recoding | None, like: Ratings | None) -> Predictions:
    """Read predictions on the scale of the ratings; if it was recoded, each may use the points before or after."""
    if recoding is None:
        return read_predictions(files, scale, like=like)
    return Predictions.together([_predictions(file, scale, recoding, like)[0] for file in files])


def _predictions(file: str, scale: Scale, recoding: Recoding, like: Ratings | None) -> tuple[Predictions, bool]:
    """Read one file, and return whether it uses the points before recoding."""
    try:
        return read_predictions(file, scale, like=like), False
    except ColumnError:
        if file == "-":  # it cannot be read twice
            raise
        return read_predictions(file, recoding.old, like=like).recode(recoding), True


def answers_of(file: str, scale: Scale, recoding: Recoding | None, like: Ratings | None, **more: Any) -> Answers:
    """Read answers on the scale of the ratings and recode them likewise; if none fits, on the recoded scale."""
    return read_answers(file, scale, like=like, **more) if recoding is None else _recoded_answers(
        file, scale, recoding, like, **more
    )[0]  # fmt: skip


def _recoded_answers(
    file: str, scale: Scale, recoding: Recoding, like: Ratings | None, **more: Any
) -> tuple[Answers, bool]:  # fmt: skip
    """Read answers, and return whether they use the points before recoding."""
    found = read_answers(file, recoding.old, like=like, **more)
    if (found.point >= 0).any():
        return found.recode(recoding), True
    return read_answers(file, scale, like=like, **more), False


def described(found: Answers, items: str | None, ratings: Ratings, conflicts: Conflicts, encoding: str) -> Answers:
    """Return answers with the attributes in a table of items, also for unrated items; unchanged without a table."""
    table = attribute_table(items, "item", ratings.intake.columns.get("item", "item"), encoding)
    return found if table is None else found.with_items(table, conflicts)


def are_before(role: str, file: str, ratings: Ratings, recoding: Recoding) -> bool:
    """Return whether a file of predictions or answers uses the points before the ratings were recoded."""
    return (_predictions if role == "predictions" else _recoded_answers)(file, ratings.scale, recoding, ratings)[1]
