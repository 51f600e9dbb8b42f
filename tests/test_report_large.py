"""A report of very many groups: it stays small, shows what can be read, and says what it leaves out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.report.build import make_report
from support import Markup

pytest.importorskip("vl_convert")

N_GROUPS, PER_GROUP, N_ITEMS, PER_RATER = 1_000, 6, 60, 6


@pytest.mark.slow
def test_a_thousand_groups_stay_readable(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    raters = np.repeat(np.arange(N_GROUPS * PER_GROUP), PER_RATER)
    items = np.concatenate([draw.choice(N_ITEMS, PER_RATER, replace=False) for _ in range(N_GROUPS * PER_GROUP)])
    frame = pl.DataFrame({
        "item": items, "rater": raters, "score": draw.integers(0, 5, len(items)),
        "town": [f"town {at % N_GROUPS}" for at in raters.tolist()],
        "gender": [("Man", "Woman")[at % 2] for at in raters.tolist()],
    })  # fmt: skip
    frame.write_csv(tmp_path / "ratings.csv")
    ratings = pv.read_ratings(tmp_path / "ratings.csv", scale="0:4", rater_attributes=["town", "gender"])
    report = make_report(ratings, ["town", "gender"], permutations=9, max_permutations=9, interval="none")
    page = report.html()
    assert len(page.encode()) < 4_000_000
    for words in (
        "40 of 1,000 groups shown, the largest.", "12 of 1,002 groups shown", "The first 200 of 1,003 rows.",
        "Attributes together have 1,002 groups. Above 200, effects adjusted for the other",
        "Pairs of groups are not compared, since an attribute has more than ",
    ):  # fmt: skip
        assert words in page
    markup = Markup(page)
    markup.sound()
    tables = markup.tables
    assert max(len(values) for table in tables.values() for values in table.columns.values()) <= 5_000
