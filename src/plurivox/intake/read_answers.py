"""Answers of language models from files: a store of ``plurivox ask``, a table, or the log of another program."""

from __future__ import annotations

import os
from pathlib import Path

from plurivox.answers import Answers
from plurivox.arguments import FilePath, Frame, checked
from plurivox.errors import no_column
from plurivox.intake.logs import read_inspect_log, read_lm_eval_samples
from plurivox.intake.opening import Format, printable
from plurivox.intake.read import as_scale, attribute_table, read_table
from plurivox.intake.recognise import id_column
from plurivox.ratings import Ratings
from plurivox.scale import Scale
from plurivox.scale_files import GivenScale

_SQLITE = b"SQLite format 3\x00"


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
        A store that ``plurivox ask`` wrote; a CSV, TSV, JSON lines or Parquet file, plain or compressed, with one row
        per answer; a log of Inspect (``.eval``, or ``.json``), or samples of lm-evaluation-harness
        (``samples_….jsonl``), or a folder of either.
    scale
        A :class:`Scale`, its points in order, or text such as ``"1:5"``.
    item, model, answer
        The columns that hold them; obvious names are recognised.
    like
        Ratings: a column that is called like theirs of items holds the items, if there is one.
    items
        A table with one row per item, by whose attributes answers without ratings can be told apart.
    format, encoding
        What the file is, if its name does not tell, and the encoding of its text.

    Raises
    ------
    InputError
        With file, column, rows and what to do.
    """
    points = as_scale(scale)
    assert points is not None
    wanted = "item" if like is None else like.intake.columns.get("item", "item")
    found = _answers(Path(source), points, item, model, answer, wanted, format, encoding)
    table = attribute_table(items, "item", item or wanted, encoding)
    return found if table is None else found.with_items(table)


def _answers(
    path: Path, points: Scale, item: str | None, model: str | None, answer: str | None, wanted: str,
    format: Format | None, encoding: str,  # noqa: A002
) -> Answers:  # fmt: skip
    """Read answers from whatever the file is."""
    if _is_store(path):
        from plurivox.ask.store import Store
        from plurivox.lenses.alignment.matching import from_store

        with Store.read(path) as store:
            return from_store(store, points)
    samples = next(path.rglob("samples_*.jsonl"), None) if path.is_dir() else path
    if samples is not None and samples.name.startswith("samples_") and samples.suffix == ".jsonl":
        return Answers.from_frame(read_lm_eval_samples(path, scale=points, item=item), points, source=printable(path))
    if path.is_dir() or path.suffix in (".eval", ".json"):
        return Answers.from_frame(read_inspect_log(path, scale=points), points, source=printable(path))
    table = read_table(os.fspath(path), format=format, encoding=encoding)
    for given in (item, model, answer):
        if given is not None and given not in table.columns:
            hint = "Name the columns: --item, --model, --answer (item=, model=, answer=)."
            raise no_column(given, table.columns, table.name, hint)
    return Answers.from_frame(
        table.frame(), points, item=item or id_column(table.columns, "item", wanted, table.name),
        model=model or "model", answer=answer, name=Path(printable(path)).stem or "model", source=table.name,
        locate=table.locate,
    )  # fmt: skip


def _is_store(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False
