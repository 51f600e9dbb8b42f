"""GAI of other pairs of measures: values by hand, p and intervals as of any statistic, no claims, notes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.engine.draws import counts_of
from plurivox.statistics import undefined_reason
from plurivox.statistics.undefined import NO_COMMON_ITEM, NOT_ABOVE_CHANCE, NOT_FORESEEN
from support import only_sections, ran, rated, refused

GENDERS = ("Woman", "Man")
OTHERS = ("gai_negentropy", "gai_plurality")


@pytest.fixture(scope="module")
def ratings() -> pv.Ratings:
    """Return ratings by two groups, of whom one is of one mind a little more."""
    random = np.random.default_rng(4)
    level = random.uniform(0, 4, 40)
    rows = [
        (i, f"r{r}", int(np.clip(round(level[i] + random.normal(0, (0.7, 0.4)[r % 2])), 0, 4)), GENDERS[r % 2])
        for i in range(40)
        for r in range(24)
        if random.random() < 0.9
    ]
    frame = pl.DataFrame(rows, schema=["item", "rater", "score", "gender"], orient="row")
    return pv.Ratings.from_frame(frame, scale="0:4", rater_attributes=["gender"])


@pytest.fixture(scope="module")
def found(ratings: pv.Ratings) -> pv.Cohesion:
    return pv.cohesion(ratings, "gender", gai=["negentropy", "plurality"], permutations=199, contrast=("Man", "Woman"))


def test_values_are_ratios_with_p_interval_and_null(ratings: pv.Ratings, found: pv.Cohesion) -> None:
    axis = pv.Axis.of(ratings, "gender")
    counts = counts_of(ratings, axis)
    for g, group in enumerate(axis.groups):
        rest = counts.sum(axis=1) - counts[:, g]
        for name in OTHERS:
            row = found.row("gender", group, name)
            assert row.value == pytest.approx(getattr(pv.statistics, name)(counts[:, g], rest), rel=1e-12)
            assert row.ci_low is not None
            assert row.ci_high is not None
            assert row.ci_low < row.value < row.ci_high
            null = found.null("gender", group, name)
            above, below = (np.count_nonzero(null >= row.value) + 1, np.count_nonzero(null <= row.value) + 1)
            assert row.p_value == pytest.approx(min(1, 2 * min(above, below) / (len(null) + 1)))
            assert row.null_median == pytest.approx(np.median(null))
            assert not row.claim
    ratio = found.value("gender", "Man", "negentropy") / found.value("gender", "Man", "cross_negentropy")
    assert found.value("gender", "Man", "gai_negentropy") == pytest.approx(ratio)
    difference = next(row for row in found.rows if row.kind == "contrast" and row.statistic == "gai_plurality")
    one, other = (found.value("gender", group, "gai_plurality") for group in ("Man", "Woman"))
    assert difference.value == pytest.approx(one - other)


def test_they_change_nothing_else(ratings: pv.Ratings, found: pv.Cohesion) -> None:
    without = pv.cohesion(ratings, "gender", permutations=199, contrast=("Man", "Woman"))
    frame = found.to_frame().filter(~pl.col("statistic").is_in(OTHERS))
    assert frame.equals(without.to_frame())
    assert found.findings() == without.findings()
    assert "gai" not in without.settings
    assert found.settings["gai"] == ["irr", *(name.removeprefix("gai_") for name in OTHERS)]
    assert pv.Cohesion.from_json(found.to_json()).to_frame().equals(found.to_frame())


def test_why_they_are_undefined() -> None:
    assert undefined_reason("gai_plurality", [[2, 0], [0, 2]], [[0, 2], [2, 0]]) == NOT_ABOVE_CHANCE
    assert undefined_reason("gai_negentropy", [[2, 0], [2, 0]], [[0, 2], [0, 2]]) == NOT_FORESEEN
    for name in OTHERS:
        assert undefined_reason(name, [[2, 0], [0, 0]], [[0, 0], [1, 1]]) == NO_COMMON_ITEM
        assert undefined_reason(name, [[2, 0], [0, 2]], [[3, 0], [0, 3]]) is None
    turned = rated({r: [int(r < 5)] * 6 for r in range(10)}, 2, team=["a"] * 5 + ["b"] * 5)
    row = pv.cohesion(turned, "team", gai="negentropy", permutations=0).row("team", "a", "gai_negentropy")
    assert np.isnan(row.value)
    assert row.note == NOT_FORESEEN


@pytest.mark.usefixtures("undrawn")
def test_terminal_csv_report_and_wrong_names(ratings: pv.Ratings, tmp_path: Path) -> None:
    pv.write_ratings(ratings, tmp_path / "r.parquet")
    common = ("cohesion", tmp_path / "r.parquet", "--by", "gender", "--permutations", 19, "--gai")
    shown = ran(*common, "irr,plurality")
    assert "GAI plural." in shown.out
    assert "GAI negent." not in shown.out
    assert {"gai", "gai_negentropy"} <= set(ran(*common, "negentropy", "--csv").frame()["statistic"])
    assert "Choose from irr, negentropy, plurality" in refused(*common, "votes", code=None)
    pytest.importorskip("vl_convert")
    with only_sections("cohesion"):
        page = pv.write_report(tmp_path / "r.html", ratings, "gender", permutations=19, gai="plurality").read_text()
    assert "GAI of plurality" in page or "gai_plurality" in page
