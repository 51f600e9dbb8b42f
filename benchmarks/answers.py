"""How fast answers are read, next to one regular expression for a leading letter, and that long ones take linear time.

``python -m benchmarks.answers``, on one core. The answers are those of the tests, and the 13,200 published ones where
PLURIVOX_TEST_DATA names their folder; short ones repeat there as they do in life, and are also measured without the
memory of earlier readings.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from plurivox.domain.reader import Options, read_answer
from plurivox.domain.reader.rules import RULES, prepare

SHARE = (("A", "<1%"), ("B", "5%-25%"), ("C", "50%"), ("D", "75%-90%"), ("E", ">90%"))
LETTER = re.compile(r"[\s*_#>\"'(\[]*([A-E])(?![\w'’])")
TESTS = Path(__file__).parents[1] / "tests" / "answers"
UNITS = {"letters": "A ", "options": "D) 75%-90%\n", "percentages": "75% ", "cues": "the answer is "}
Pair = tuple[str, Options]


def timed(work: Callable[[], object], rounds: int = 3) -> float:
    """Return the shortest time of processing, in seconds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def fresh(text: str, options: Options) -> object:
    """Read an answer as if for the first time."""
    seen = prepare(text, options)
    return next(reading for rule in RULES if (reading := rule(seen)) is not None)


def hand_made() -> list[Pair]:
    """Return the answers of the tests."""
    scales = json.loads((TESTS / "scales.json").read_text(encoding="utf-8"))
    lines = (TESTS / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    return [(one["text"], tuple(map(tuple, scales[one["scale"]]))) for one in map(json.loads, lines)]


def published() -> list[Pair]:
    """Return the published answers, none if they are not there."""
    folder = os.environ.get("PLURIVOX_TEST_DATA")
    if not folder:
        return []
    import polars as pl

    path = Path(folder) / "data" / "lm_social_norms" / "responses.parquet"
    return [(text, SHARE) for text in pl.read_parquet(path)["response"]]


def report(name: str, pairs: Sequence[Pair]) -> None:
    """Print what 100,000 such answers take."""
    scale = 100_000 / len(pairs)
    length = sum(len(text) for text, _ in pairs) / len(pairs)
    base = timed(lambda: [LETTER.match(text) for text, _ in pairs])
    for how, work in (("", read_answer), (", each as if for the first time", fresh)):
        seconds = timed(lambda work=work: [work(text, options) for text, options in pairs])  # type: ignore[misc]
        print(
            f"{name}, {length:.0f} characters on average{how}: 100,000 in {seconds * scale:.1f} s, "
            f"{seconds / base:.0f} times a search for a leading letter"
        )


def main() -> None:
    """Measure."""
    for name, pairs in (("published answers", published()), ("answers of the tests", hand_made())):
        if pairs:
            report(name, pairs)
    for name, unit in UNITS.items():
        half, whole = (
            timed(lambda n=n: read_answer(unit * (n // len(unit)), SHARE), 2)  # type: ignore[misc]  # noqa: B023
            for n in (500_000, 1_000_000)
        )
        print(f"1 MB of {name}: {whole:.2f} s, {whole / half:.1f} times half of it")


if __name__ == "__main__":
    main()
