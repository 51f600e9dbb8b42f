"""Answers from the logs of other tools: Inspect and the lm-evaluation-harness, neither of which need be installed.

Both readers return a table with one row per answer, as alignment expects it: :data:`COLUMNS`. What they have in
common stands here: files in folders, that table, and choices that are points of a scale.
"""

from __future__ import annotations

import os
import re
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from plurivox.base.errors import DuplicateError, FileError, ScaleError
from plurivox.domain.scale import Label, Scale
from plurivox.domain.scale_files import as_scale

Source = str | os.PathLike[str]
ScaleLike = Scale | str | Sequence[Label]
Row = dict[str, Any]

COLUMNS: dict[str, Any] = {
    "model": pl.String, "prompt": pl.String, "item": pl.String, "sample": pl.Int64, "text": pl.String,
    "state": pl.String, "point": pl.Int64, "distribution": pl.List(pl.Float64), "order": pl.List(pl.Int64),
}  # fmt: skip
"""The columns of the tables. The prompt is the task; the state is null while the text is still to be read."""


def files_of(path: Source, name: re.Pattern[str], what: str) -> list[Path]:
    """Return the file, or the files in a folder that match the name."""
    given = Path(path)
    if not given.is_dir():
        return [given]
    found = sorted(file for file in given.rglob("*") if name.fullmatch(file.name) and file.is_file())
    if not found:
        raise FileError(f"there is no {what} in this folder", source=str(path), hint="Name another folder, or a file.")
    return found


def table_of(files: Sequence[Path], rows_of: Callable[[Path], Iterator[Row]]) -> pl.DataFrame:
    """Return the rows of all files; raise an error if an answer occurs twice."""
    rows: list[Row] = []
    held: dict[tuple[Any, ...], Path] = {}
    for file in files:
        for row in rows_of(file):
            model, prompt, item, sample = key = (row["model"], row["prompt"], row["item"], row["sample"])
            if key in held:
                there = "it" if held[key] == file else str(held[key])
                raise DuplicateError(
                    f"{there} already has {model}'s answer to item {item!r} of {prompt!r}, repetition {sample + 1}",
                    source=str(file), hint="Keep one of the two, or read the logs one by one and rename the prompts.",
                )  # fmt: skip
            held[key] = file
            rows.append(row)
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


@dataclass(slots=True)
class ScaleChoices:
    """Positions of choices on the scale; without a scale, all choices must be the same as the first."""

    scale: Scale | None
    source: str
    first: list[str] | None = None

    def order(self, choices: list[str], place: str) -> list[int]:
        """Return the position of each choice on the scale.

        Examples
        --------
        >>> ScaleChoices(Scale(["no", "unsure", "yes"]), "log").order(["yes", "no", "unsure"], "sample 1")
        [2, 0, 1]
        """
        as_listed = list(range(len(choices)))
        if self.scale is None:
            self.first = self.first or choices
            if choices != self.first:
                raise self._other(choices, place, f"but were {quoted(self.first)} before; comparing them takes a scale")
            return as_listed
        if choices == list(string.ascii_uppercase[: len(self.scale)]):
            return as_listed
        try:
            found = [self.scale.position(choice) for choice in choices]
        except ScaleError:
            found = []
        if sorted(found) != list(range(len(self.scale))):
            raise self._other(choices, place, f"which are not the points of the scale {self.scale}")
        return found

    def _other(self, choices: list[str], place: str, why: str) -> ScaleError:
        return ScaleError(
            f"the choices are {quoted(choices)}, {why}", source=self.source, places=[place],
            hint="Give a scale (scale=) whose points are the choices.",
        )  # fmt: skip


def in_order(shares: Sequence[float], order: Sequence[int]) -> list[float]:
    """Return the shares of choices in the order of the scale.

    Examples
    --------
    >>> in_order([0.7, 0.1, 0.2], [2, 0, 1])
    [0.1, 0.2, 0.7]
    """
    return [share for _, share in sorted(zip(order, shares, strict=True))]


def quoted(texts: Sequence[str]) -> str:
    """Return texts as a quoted list for messages."""
    return ", ".join(map(repr, texts))


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
    from plurivox.ask.logs import inspect_log

    points = as_scale(scale)

    def rows(file: Path) -> Iterator[Row]:
        return inspect_log.open_log(file).rows(ScaleChoices(points, str(file)))

    return table_of(files_of(path, inspect_log.NAME, "Inspect log"), rows)


def read_lm_eval_samples(
    path: Source, *, model: str | None = None, item: str | None = None, filter_name: str | None = None,
    scale: ScaleLike | None = None,
) -> pl.DataFrame:  # fmt: skip
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
    from plurivox.ask.logs import lm_eval

    points = as_scale(scale)

    def rows(file: Path) -> Iterator[Row]:
        return lm_eval.SampleFile(file, ScaleChoices(points, str(file)), item, filter_name).rows(model)

    return table_of(files_of(path, lm_eval.NAME, "file samples_….jsonl"), rows)
