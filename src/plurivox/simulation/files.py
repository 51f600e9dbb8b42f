"""A simulated study as files: what an analyst would have and, separately, the truth."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from pathlib import Path

import polars as pl

from plurivox.base.csv_files import guarded
from plurivox.base.folders import write_folder
from plurivox.config import FILE_NAME, config_text
from plurivox.read.settings import ReadSettings
from plurivox.simulation.simulate import Simulation

TABLES = (
    "ratings.csv", "raters.csv", "items.csv", "trained.csv", "answers.csv", "predictions.csv", "truth_items.csv",
    "truth_raters.csv", "truth_groups.csv",
)  # fmt: skip
NAMES = (*TABLES, "settings.json", FILE_NAME)
"""All files that a study may have."""


def _write(frame: pl.DataFrame, path: Path) -> None:
    with path.open("wb") as file:  # polars accepts only names in UTF-8
        guarded(frame).write_csv(file)


def write_study(study: Simulation, folder: str | os.PathLike[str], *, force: bool = False) -> list[Path]:
    """Write the study to a folder, all files or none, and return them.

    ``ratings.csv``, ``raters.csv``, ``items.csv``, ``trained.csv``, ``answers.csv`` and ``predictions.csv`` are the
    data; ``truth_items.csv``, ``truth_raters.csv`` and ``truth_groups.csv`` are what they were made from;
    ``settings.json`` reproduces them; ``plurivox.toml`` tells every command how to read them. An existing study is
    replaced; a folder with other files, or with files changed since, is an error unless ``force`` is set.
    """
    frames = (
        study.ratings_frame, study.raters, study.items, study.trained_frame, study.answers, study.predictions,
        study.truth_items, study.truth_raters, study.truth_groups,
    )  # fmt: skip
    writers: dict[str, Callable[[Path], object]] = {
        name: functools.partial(_write, frame) for name, frame in zip(TABLES, frames, strict=True) if frame is not None
    }
    settings = json.dumps(study.settings, ensure_ascii=False, indent=2) + "\n"
    config = config_text(study.ratings, ReadSettings(raters="raters.csv", items="items.csv"))
    for name, text in (("settings.json", settings), (FILE_NAME, config)):
        writers[name] = functools.partial(Path.write_text, data=text, encoding="utf-8")
    return write_folder(folder, dict(sorted(writers.items())), gone=set(TABLES) - set(writers), force=force)
