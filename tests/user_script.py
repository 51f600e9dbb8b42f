"""A script as users write it: tests/test_user_types.py checks its types against the package, and runs it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, assert_type

import numpy as np
import polars as pl

import plurivox as pv
from plurivox import ask, plots, statistics


def read(folder: Path) -> pv.Ratings:
    """Simulate a study, and read it from a file."""
    study = pv.simulate(n_items=25, n_raters=40, effects=[pv.Effect({"age": "18-29"}, shared_sd=1.0)], seed=3)
    assert_type(study, pv.Simulation)
    assert_type(study.ratings, pv.Ratings)
    study.ratings_frame.write_csv(folder / "ratings.csv")
    study.raters.write_csv(folder / "raters.csv")
    ratings = pv.read_ratings(
        folder / "ratings.csv", item="item", rater="rater", score="score", scale=pv.Scale.range(0, 4),
        raters=folder / "raters.csv",
    )  # fmt: skip
    assert_type(ratings, pv.Ratings)
    assert_type((len(ratings), ratings.n_items, ratings.n_raters), tuple[int, int, int])
    assert_type(ratings.scale, pv.Scale)
    assert_type(ratings.raters, pl.DataFrame)
    assert_type(pv.describe(ratings), pv.Description)
    pv.write_ratings(ratings, folder / "ratings.parquet")
    return ratings.where(raters={"age": ["18-29", "30-44"]})


def look(ratings: pv.Ratings, trained: pv.Ratings) -> list[str]:
    """Ask each lens about people."""
    found = pv.cohesion(ratings, by=["age", ("age", "gender")], permutations=19, seed=1, threads=1)
    assert_type(found, pv.Cohesion)
    assert_type(found.value("age", "18-29", "gai"), float)
    assert_type(found.to_frame(), pl.DataFrame)
    assert_type(pv.Cohesion.from_json(found.to_json()), pv.Cohesion)
    assert_type([one.claim for one in found.statements()], list[bool])
    answered = pv.responsiveness(ratings, reference=trained, by="age", permutations=19)
    assert_type(answered, pv.Responsiveness)
    assert_type(answered.boundaries(), pl.DataFrame)
    varied = pv.variation(ratings, by=["age"], permutations=19, adjust=True)
    assert_type(varied, pv.Variation)
    assert_type(varied.components(), pl.DataFrame)
    scaled = pv.psychometrics(ratings, by="age")
    assert_type(scaled, pv.Psychometrics)
    labelled = pv.aggregate(ratings, by="age", methods=["plurality", "mean"], permutations=19)
    assert_type(labelled, pv.Aggregation)
    assert_type(labelled.labels(), pl.DataFrame)
    listed = pv.items(ratings, by="age", permutations=19)
    assert_type(listed, pv.Items)
    assert_type(pv.overview(ratings, by="age"), pv.Overview)
    assert_type(pv.item_view(ratings, str(ratings.items[0, 0]), permutations=19), pv.ItemView)
    assert_type(pv.soft_labels(ratings), pl.DataFrame)
    return [*found.findings(), *answered.findings(), *varied.findings(), *scaled.findings(), *labelled.findings()]


def models(study: pv.Simulation) -> list[str]:
    """Ask the lenses about models."""
    assert study.predictions is not None
    assert study.answers is not None
    scored = pv.soft_scores(study.ratings, study.predictions, prior=1.0, bootstrap=19, permutations=19)
    assert_type(scored, pv.SoftScores)
    assert_type(scored.models, list[str])
    near = pv.alignment(study.ratings, study.answers, by="age", bootstrap=19, permutations=19, subsamples=5)
    assert_type(near, pv.Alignment)
    assert_type(near.value("model-a"), float)
    known = pv.estimate(study.ratings, study.answers, width=0.2)
    assert_type(known, pv.Estimate)
    card = pv.judge(study.ratings, study.answers, require="omega>=0.5")
    assert_type(card, pv.JudgeCard)
    assert_type(card.passed, bool)
    reading = ask.read_answer("B) sometimes", [("A", "never"), ("B", "sometimes")])
    assert_type(reading, ask.Reading)
    assert_type(reading.point, int | None)
    return [*scored.findings(), *near.findings(), *known.findings(), *card.findings()]


def draw(ratings: pv.Ratings, folder: Path) -> None:
    """Draw a chart, and write a report."""
    found = pv.cohesion(ratings, by=["age"], permutations=19)
    chart = plots.gai_forest(found).properties(width=300)
    assert_type(plots.gai_forest_data(found), pl.DataFrame)
    with plots.sized(340):
        plots.write_chart(chart, folder / "chart.svg")
    assert_type(chart.to_dict(), dict[str, Any])


def compute() -> float:
    """Use statistics of arrays."""
    counts = np.array([[3, 0], [0, 3], [2, 1]])
    assert_type(statistics.krippendorff_alpha(counts, level="nominal"), float)
    return statistics.krippendorff_alpha(counts)


def main(folder: Path) -> None:
    """Do all of it."""
    study = pv.simulate(n_items=25, n_raters=40, seed=3)
    assert study.trained is not None
    try:
        said = look(read(folder), study.trained) + models(study)
    except pv.InputError as error:
        assert_type(error.hint, str | None)
        raise
    draw(study.ratings, folder)
    print(len(said), compute())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
