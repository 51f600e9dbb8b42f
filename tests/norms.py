"""The 13,200 published answers of eleven models to 400 rules of thumb, read again, beside the published reading.

``PLURIVOX_TEST_DATA=../shared python tests/norms.py`` lists every answer that is read otherwise than published.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import polars as pl

from plurivox.reader import Reading, read_answer

LABELS = {"A": "<1%", "B": "5%-25%", "C": "50%", "D": "75%-90%", "E": ">90%"}
NOT_READ = ("F", "No answer found")


def answers(folder: Path) -> pl.DataFrame:
    """Return the answers with the source of each item."""
    items = pl.read_csv(folder / "items.csv").select("item", source="area")
    return pl.read_parquet(folder / "responses.parquet").join(items, on="item", how="left", maintain_order="left")


def options(found: pl.DataFrame, prompt: str) -> list[tuple[str, ...]]:
    """Return the options of a prompt; what it told about each is what most answers repeat after its label."""
    texts = found.filter(pl.col("prompt") == prompt)["response"].to_list()
    shown: list[tuple[str, ...]] = []
    for letter, label in LABELS.items():
        repeated = re.compile(rf"^{letter}\)?:? ?\)?:? {re.escape(label)} (\w[^\n]+\w\.)\s*$", re.MULTILINE)
        told = Counter(match[1] for text in texts if (match := repeated.search(text)))
        shown.append((letter, label, *(text for text, n in told.most_common(1) if n > 1)))
    return shown


def readings(found: pl.DataFrame) -> list[Reading]:
    """Read every answer."""
    shown = {prompt: options(found, prompt) for prompt in found["prompt"].unique()}
    return [read_answer(text, shown[prompt]) for text, prompt in found.select("response", "prompt").iter_rows()]


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
