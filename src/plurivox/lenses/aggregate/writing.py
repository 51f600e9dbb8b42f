"""Labels of all methods as a file, one row for each item."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from plurivox.base.csv_files import write_frame
from plurivox.base.errors import InputError
from plurivox.base.wording import counted

if TYPE_CHECKING:
    from plurivox.lenses.aggregate.result import Aggregation

ENDINGS = (".csv", ".parquet", ".jsonl")


def check_file(path: Path, slim: bool = False) -> None:
    """Raise if labels cannot be written under a name."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"cannot write labels to {path.name}", hint=f"Use a name that ends in {', '.join(ENDINGS)}.")


def write_labels(found: Aggregation, path: Path, slim: bool = False) -> str:
    """Write labels, with or without the probability of each point, and return a summary."""
    frame = found.labels()
    of_points = [f"{method}_p_{point}" for method in found.settings["methods"] for point in found.settings["points"]]
    write_frame(path, frame.drop(of_points, strict=False) if slim else frame)
    differ = int((~frame["agreed"].drop_nulls()).sum())
    unrated = frame["agreed"].null_count()
    left = f"; {counted(unrated, 'item')} without a rating" if unrated else ""
    return f"{counted(frame.height, 'item')}; methods give different labels to {differ:,}{left}"
