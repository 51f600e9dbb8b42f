"""A new cohesion statistic is one file: frames, terminal, JSON, report and glossary have it, with p and interval."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.engine.draws import counts_of
from plurivox.statistics import cohesion, registry
from support import Markup, run_cli

FILE = '''
"""Unanimity: on which share of its items a group is of one mind."""

import math

import numpy as np

from plurivox.statistics.records import Statistic


def unanimity(counts):
    """Return the share of items with two ratings or more on which all are the same."""
    total = np.asarray(counts).sum(axis=1)
    return float(np.mean((np.asarray(counts).max(axis=1) == total)[total > 1])) if (total > 1).any() else math.nan


def parts(counts, self_pairs, about):
    total = counts.sum(axis=-1)
    paired = total**2 > (total if self_pairs is None else self_pairs)
    return np.stack([paired & (counts.max(axis=-1) == total), paired], axis=-1).astype(float)


def finish(s, about, known):
    agreed, rated = s["unanimity"][..., 0], s["unanimity"][..., 1]
    return np.where(rated > 0, agreed / np.maximum(rated, 1), np.nan)


def why(s, about, known, n_raters):
    return None if s["unanimity"][1] > 0 else "no item has two ratings"


RECORDS = (
    Statistic(
        name="unanimity", label="unanimity", function=unanimity, needs="group", symmetric=False, range=(0.0, 1.0),
        equation="mean_i [max_c n_ic = m_i]", meaning="on which share of items a group is of one mind",
        higher_means="more items without dissent", reference="made up", role="tested", order=85,
        contribution=parts, finish=finish, why=why,
    ),
)
'''


@pytest.fixture
def unanimous(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put one file beside the statistics."""
    (tmp_path / "unanimity.py").write_text(FILE)
    with monkeypatch.context() as patched:
        patched.setattr(cohesion, "__path__", [*cohesion.__path__, str(tmp_path)])
        registry.refresh()
        yield
    sys.modules.pop("plurivox.statistics.cohesion.unanimity")
    registry.refresh()


@pytest.fixture
def ratings() -> pv.Ratings:
    effect = pv.Effect({"gender": "Man"}, shared_sd=1.5)
    genders = {"gender": {"Man": 0.5, "Woman": 0.5}}
    return pv.simulate(
        n_items=40, n_raters=24, attributes=genders, ratings_per_item=(3, 8), effects=[effect], seed=4
    ).ratings


@pytest.mark.usefixtures("unanimous")
def test_it_is_in_the_frame_with_a_permutation_p_and_an_interval(ratings: pv.Ratings) -> None:
    found = pv.cohesion(ratings, "gender", permutations=99, bootstrap=40, resample="both", pairs=True)
    row = found.row("gender", "Man", "unanimity")
    axis = pv.Axis.of(ratings, "gender")
    own = counts_of(ratings, axis)[:, axis.groups.index("Man")]
    total = own.sum(axis=1)
    assert row.value == pytest.approx(np.mean((own.max(axis=1) == total)[total > 1]))
    assert row.p_value is not None
    assert 0 < row.p_value <= 1
    assert row.p_adjusted is not None
    assert row.ci_low is not None
    assert row.ci_high is not None
    assert row.ci_low < row.value < row.ci_high
    null = found.null("gender", "Man", "unanimity")
    assert len(np.unique(null)) > 10
    assert row.null_median == pytest.approx(np.median(null))
    assert json.loads(found.to_json())["rows"][-1]
    assert "unanimity" in {one["statistic"] for one in json.loads(found.to_json())["rows"]}
    assert {"irr", "gai", "unanimity", "ac1"} <= set(found.to_frame()["statistic"])


@pytest.mark.usefixtures("unanimous")
def test_the_terminal_shows_it_with_its_interval(ratings: pv.Ratings, tmp_path: Path) -> None:
    frame = ratings.to_frame().join(ratings.raters.select("rater", "gender"), on="rater")
    frame.write_csv(tmp_path / "ratings.csv")
    options = ["--by", "gender", "--permutations", "19", "--bootstrap", "20", "--rater-attributes", "gender"]
    shown = run_cli("cohesion", str(tmp_path / "ratings.csv"), "--scale", "0:4", *options)
    assert shown.code == 0
    header = [line for line in shown.out.splitlines() if "unanimity" in line]
    assert len(header) >= 3  # all raters, gender, and the table of intervals
    listed = run_cli("cohesion", str(tmp_path / "ratings.csv"), "--scale", "0:4", *options, "--csv")
    rows = pl.read_csv(listed.out.encode()).filter(statistic="unanimity", axis="gender")
    assert rows["p_value"].null_count() == 0
    assert rows["ci_low"].null_count() == 0


@pytest.mark.usefixtures("unanimous", "undrawn")
def test_the_report_and_its_glossary_have_it(ratings: pv.Ratings, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    text = pv.write_report(tmp_path / "r.html", ratings, "gender", permutations=19, bootstrap=19).read_text()
    page = Markup(text)
    page.sound()
    assert "unanimity" in page.tables["cohesion-table"].columns["statistic"]
    glossary = text[text.index('id="term-unanimity"') :]
    assert glossary.index("on which share of items a group is of one mind") < glossary.index("</dd>")


@pytest.mark.usefixtures("unanimous")
def test_why_it_is_undefined_is_known_to_the_array_functions() -> None:
    assert pv.statistics.undefined_reason("unanimity", [[1, 0], [0, 1]]) == "no item has two ratings"
    assert pv.statistics.undefined_reason("unanimity", [[2, 0], [0, 1]]) is None


def test_without_the_file_nothing_is_left_of_it() -> None:
    assert "unanimity" not in registry.STATISTICS
