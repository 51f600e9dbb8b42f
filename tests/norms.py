"""The 13,200 published answers of eleven models to 400 rules of thumb, read again, beside the published reading.

``PLURIVOX_TEST_DATA=../shared python tests/norms.py`` lists every answer that is read otherwise than published.
"""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

from plurivox.domain.reader import Reading
from plurivox.reproduce.printed import NOT_READ, OPTION_LABELS, answers, options, readings

__all__ = ["OPTION_LABELS", "answers", "letters", "options", "published", "readings"]


def letters(found: list[Reading]) -> list[str]:
    """Return readings as the published ones are written, those without an answer all as "none"."""
    return ["none" if reading.point is None else "ABCDE"[reading.point] for reading in found]


def published(found: pl.DataFrame) -> list[str]:
    """Return the published readings, those without an answer all as "none"."""
    return ["none" if label in NOT_READ else label for label in found["published_label"]]


def main() -> None:
    """List the differences."""
    found = answers(Path(os.environ["PLURIVOX_TEST_DATA"]) / "data" / "lm_social_norms")
    read = readings(found)
    ours, theirs = letters(read), published(found)
    different = [place for place, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1]]
    for place in different:
        row = found.row(place, named=True)
        print(
            f"--- {row['model']}, {row['prompt']}, item {row['item']}: {theirs[place]} as published, here {ours[place]}"
        )
        print(f"    by {read[place].rule}, from {row['response'][slice(*read[place].span or (0, 0))]!r}")
        print(row["response"], end="\n\n")
    print(f"{len(different)} of {len(ours)} answers are read otherwise: {len(different) / len(ours):.2%}")


if __name__ == "__main__":
    main()
