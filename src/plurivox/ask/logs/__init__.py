"""Answers from the logs of other tools: Inspect and the lm-evaluation-harness, neither of which need be installed.

Both readers return a table with one row per answer, as alignment expects it:
:data:`~plurivox.ask.logs.common.COLUMNS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from plurivox.ask.logs import inspect_log, lm_eval
from plurivox.ask.logs.common import COLUMNS, Row, ScaleChoices, ScaleLike, Source, files_of, table_of
from plurivox.domain.scale_files import as_scale

__all__ = ["COLUMNS", "read_inspect_log", "read_lm_eval_samples"]


def read_inspect_log(path: Source, *, scale: ScaleLike | None = None) -> pl.DataFrame:
    """Read the answers in an Inspect log, or in all logs in a folder and its subfolders.

    Parameters
    ----------
    path
        An ``.eval`` file, a ``.json`` file, or a folder.
    scale
        The scale whose points are the choices of the samples. It shows in which order they were presented; without it,
        all samples must have the same order, which is then used as the scale's.

    Returns
    -------
    polars.DataFrame
        One row per sample and epoch. ``text`` is the model's last output, to be read; ``state`` is ``"refused"`` if
        the server's filter stopped it, and ``"failed"`` if a sample has an error, was marked invalid, has no output,
        or was not asked before the evaluation ended. ``order`` is the order in which choices were shown, as positions
        on the scale, and ``distribution`` holds what the log-probabilities of the first token say about them.

    Raises
    ------
    InputError
        Names the file and the sample, and says what to do.
    """
    points = as_scale(scale)

    def rows(file: Path) -> Iterator[Row]:
        return inspect_log.open_log(file).rows(ScaleChoices(points, str(file)))

    return table_of(files_of(path, inspect_log.NAME, "Inspect log"), rows)


def read_lm_eval_samples(
    path: Source,
    *,
    model: str | None = None,
    item: str | None = None,
    filter_name: str | None = None,
    scale: ScaleLike | None = None,
) -> pl.DataFrame:
    """Read the answers that lm-evaluation-harness 0.4.3 or newer keeps with ``--log_samples``.

    Parameters
    ----------
    path
        A file ``samples_<task>_<time>.jsonl``, or a folder with such files in it or in its subfolders.
    model
        The model's name; by default the one in ``results_<time>.json`` next to the file, or else the folder's name,
        in which ``__`` stands for ``/``.
    item
        The field of the documents that holds the item's id; by default, items are named by their ``doc_id``.
    filter_name
        The filter whose output is read; by default the model's own output, which is the same for all filters.
    scale
        The scale whose points are the choices. Without it, all documents must have the same choices, and their order
        is used as the scale's.

    Returns
    -------
    polars.DataFrame
        One row per document and repetition. If the model wrote text, ``text`` is to be read. If it chose,
        ``distribution`` is the softmax of the choices' log-likelihoods, not corrected for length, and ``point`` is
        the likeliest choice (the first one if several are tied).

    Raises
    ------
    InputError
        Names the file and the line, and says what to do.
    """
    points = as_scale(scale)

    def rows(file: Path) -> Iterator[Row]:
        return lm_eval.SampleFile(file, ScaleChoices(points, str(file)), item, filter_name).rows(model)

    return table_of(files_of(path, lm_eval.NAME, "file samples_….jsonl"), rows)
