"""Measure at full rates how often plurivox claims something where nothing differs, and write it into docs/claims.md.

::

    PYTHONPATH=tests python -m claims.proof 300    # studies of each design; hours. make proof does it on all cores

The tables stand between two comments, and say when they were measured. A rate that is too high is seen at once: the
test ``test_the_promised_rate_is_not_contradicted_by_what_was_measured`` reads them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from claims import designs, rates
from claims.rates import Rate

PAGE = Path(__file__).parents[2] / "docs" / "claims.md"
BEGIN, END = "<!-- measured by tests/claims/proof.py -->", "<!-- until here -->"
COLUMNS = {
    "cohesion": "cohesion", "responsiveness": "against the crowd", "trained": "against trained raters",
    "items": "items", "variation": "variation", "headlines": "headlines of a report",
}  # fmt: skip
TITLES = {
    "full": "80 raters × 100 items, all rated; two axes and their crossing",
    "sparse": "300 items, 4 of 200 raters each", "zipf": "few raters do most of the work",
    "fives": "12 groups of five raters", "fifty": "50 groups of six", "zeros": "19 of 20 scores are the lowest",
    "styles": "heavy styles: leniency, spread and noise differ much",
    "axes": "six axes, three crossings, a fifth of the values missing",
    "batches": "two batches, one ambiguous; one group mostly in it", "workload": "one group rates three times as much",
    "chosen": "raters choose their items, groups by topic",
}  # fmt: skip


def claimed_alone(design: str, seed: int) -> dict[str, bool]:
    """Tell which lenses, each asked alone, claim anything of one study, and whether the headlines of a report do."""
    made = rates.study(design, seed)
    return {lens: rates.any_claim(rates.asking()[lens](made)) for lens in COLUMNS}


def cell(rate: Rate) -> str:
    """Return a rate with its interval, as ``.043 (.025–.073)``."""
    share, low, high = (f"{max(value, 0):.3f}".removeprefix("0") for value in (rate.share, rate.low, rate.high))
    return f"{share} ({'0' if low == '.000' else low}–{high})"


def table(measured: Mapping[str, Mapping[str, Rate]]) -> str:
    """Return a table of designs and lenses as Markdown."""
    lines = ["| design | " + " | ".join(COLUMNS.values()) + " |", "|---" * (1 + len(COLUMNS)) + "|"]
    lines += [
        f"| {TITLES[design]} | " + " | ".join(cell(of[lens]) for lens in COLUMNS) + " |"
        for design, of in measured.items()
    ]
    return "\n".join(lines)


def lows(text: str) -> dict[str, list[float]]:
    """Return of each design that a page has a row for the lower ends of its rates."""
    within = text.partition(BEGIN)[2].partition(END)[0]
    found = {}
    for design, title in TITLES.items():
        row = re.search(rf"^\| {re.escape(title)} \|(.*)\|$", within, re.MULTILINE)
        if row is not None:
            found[design] = [float(low) for low in re.findall(r"\(([\d.]+)–", row[1])]
    return found


def main(n: int) -> None:
    """Measure, and write the page."""
    os.environ.setdefault("PLURIVOX_CLAIMS_WORKERS", str(os.cpu_count()))
    rates.ASKED["permutations"] = rates.MORE_DRAWS
    texts = []
    for some in (designs.NULL, designs.ENTANGLED):
        measured = {}
        for design in some:
            measured[design] = rates.rates(partial(claimed_alone, design), n)
            print(design, *(f"{lens} {rate}" for lens, rate in measured[design].items()), sep="\n  ", flush=True)
        texts.append(table(measured))
    told = f"Measured on {datetime.now(UTC):%Y-%m-%d}, with {n} studies of each design."
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text("\n\n".join([before + BEGIN, told, *texts, END + after]), encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]))
