"""A simulated study as files: what an analyst would have, and the truth apart from it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

from plurivox.config import FILE_NAME, config_text
from plurivox.errors import FileError
from plurivox.simulation.simulate import Simulation


def write_study(study: Simulation, folder: str | os.PathLike[str]) -> list[Path]:
    """Write the study into a folder and return the files, all of them or none.

    ``ratings.csv``, ``raters.csv``, ``items.csv``, ``trained.csv``, ``answers.csv`` and ``predictions.csv`` are the
    data; ``truth_items.csv``, ``truth_raters.csv`` and ``truth_groups.csv`` what they were made from;
    ``settings.json`` makes them again; ``plurivox.toml`` tells every command how to read them.
    """
    target = Path(folder)
    tables = {
        "ratings.csv": study.ratings_frame,
        "raters.csv": study.raters,
        "items.csv": study.items,
        "trained.csv": study.trained_frame,
        "answers.csv": study.answers,
        "predictions.csv": study.predictions,
        "truth_items.csv": study.truth_items,
        "truth_raters.csv": study.truth_raters,
        "truth_groups.csv": study.truth_groups,
    }
    try:
        target.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".plurivox-", dir=target))
    except OSError as error:
        raise FileError(f"it cannot be written to ({error.strerror})", source=str(target)) from None
    try:
        for name, frame in tables.items():
            if frame is not None:
                frame.write_csv(staging / name)
        settings = json.dumps(study.settings, ensure_ascii=False, indent=2) + "\n"
        (staging / "settings.json").write_text(settings, encoding="utf-8")
        text = config_text(study.ratings, raters="raters.csv", items="items.csv")
        (staging / FILE_NAME).write_text(text, encoding="utf-8")
        written = []
        for path in sorted(staging.iterdir()):
            os.replace(path, target / path.name)
            written.append(target / path.name)
        for name, frame in tables.items():  # what an earlier study left and this one does not have
            if frame is None:
                (target / name).unlink(missing_ok=True)
    except OSError as error:
        raise FileError(f"it cannot be written ({error.strerror})", source=str(target)) from None
    finally:
        while True:  # polars raises one Ctrl-C twice, and the second must not stop the cleaning up
            try:
                shutil.rmtree(staging, ignore_errors=True)
                break
            except KeyboardInterrupt:
                continue
    return written
