"""Sentences and charts speak of the ends of a scale by their names, and of lower and higher where they have none."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

import plurivox as pv
from plurivox.actions.advise.result import MEANING, NEXT
from plurivox.domain.scale_names import Poles
from plurivox.report.sections.responsiveness import LEAD, REGIONS, WITHOUT_REFERENCE

FORBIDDEN = ("unsafe", "safe ", "sever")


def study(poles: tuple[str, str] | None) -> tuple[pv.Ratings, pv.Ratings]:
    """Return ratings of which group b reads the scale upside down, and a reference of numbers: only poles name ends."""
    made = pv.simulate(n_items=80, n_raters=24, seed=3)
    names = made.ratings_frame["rater"].unique().sort()
    turned = pl.when(pl.col("rater").is_in(names[:9].implode())).then(4 - pl.col("score")).otherwise(pl.col("score"))
    frame = made.ratings_frame.with_columns(score=turned)
    raters = pl.DataFrame({"rater": names, "team": ["b"] * 9 + ["a"] * 15})
    trained = made.trained_frame
    assert trained is not None
    expert = trained.with_columns(score=(pl.col("score") == "unsafe").cast(pl.Int64))
    ratings = pv.Ratings.from_frame(frame, scale="0:4", raters=raters, poles=poles)
    return ratings, pv.Ratings.from_frame(expert, scale="0:1")


def told(poles: tuple[str, str] | None) -> dict[str, str]:
    """Return everything that is said of such a study, by what says it."""
    ratings, expert = study(poles)
    found = pv.responsiveness(ratings, expert, "team", permutations=99, bootstrap=0, psychometrics=True)
    scales = pv.psychometrics(ratings, "rater")
    advice = pv.advise(ratings, expert, "team", bootstrap=50)
    charts = {
        "plane": pv.plots.mpa_wra_plane(found), "forest": pv.plots.responsiveness_forest(found),
        "curves": pv.plots.precision_recall(found, "team"), "items": pv.plots.item_severity(scales),
    }  # fmt: skip
    return {
        "findings": " ".join(found.findings()), "scales": " ".join(scales.findings()),
        "advice": " ".join([*advice.findings(), *advice.to_frame()["meaning"], *advice.to_frame()["next"]]),
        **{name: words_of(chart.to_dict()) for name, chart in charts.items()},
    }  # fmt: skip


def words_of(chart: Any) -> str:
    """Return the texts of a chart: its titles and subtitles, not the names of its columns."""
    if isinstance(chart, dict):
        own = [json.dumps(chart[key], ensure_ascii=False) for key in ("title", "subtitle", "text") if key in chart]
        return " ".join([*own, *(words_of(part) for key, part in chart.items() if key not in ("data", "datasets"))])
    return " ".join(map(words_of, chart)) if isinstance(chart, list) else ""


def test_named_ends() -> None:
    said = told(("mild", "wild"))
    assert "b tell wild from mild worse than a random group" in said["findings"]
    assert "do higher scores mean more wild?" in said["plane"]
    assert "are wild and mild told apart?" in said["plane"]
    assert "Whose scores tell wild from mild: MPA and WRA" in said["forest"]
    assert "precision: wild among those with the score" in said["curves"]
    assert "Wild is what" in said["curves"]
    assert "How wild items are, by the graded response model" in said["items"]
    assert "The 10 items at the wild end and the 10 at the mild end, of 80." in said["items"]
    assert not [one for one in said.items() for word in FORBIDDEN if word in one[1]]


def test_ends_without_names() -> None:
    said = told(None)
    assert "b tell higher from lower worse than a random group" in said["findings"]
    assert "do higher scores mean higher?" in said["plane"]
    assert "Higher is what" in said["curves"]
    assert "How high items are" in said["items"]
    assert not [one for one in said.items() for word in FORBIDDEN if word in one[1]]


@pytest.mark.parametrize("poles", [None, ("mild", "wild {more} 100 %")])
def test_all_sentences_can_be_filled(poles: tuple[str, str] | None) -> None:
    words = Poles.named(poles)
    for text in (*MEANING.values(), *NEXT.values(), LEAD, REGIONS, WITHOUT_REFERENCE):
        filled = words.fill(text)
        assert text.count("{high}") == 0 or words.high in filled
        assert not any(word in filled.casefold() for word in FORBIDDEN)
