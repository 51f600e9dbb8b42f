"""One label per item and what it hides: beside literal counts, under shuffles, edges, files and the command line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import InputError, SoftScoresWarning
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.infer.grouping import Grouping
from plurivox.lenses.aggregate import METHODS, AggregateSettings
from plurivox.lenses.aggregate.fits import labels_of
from plurivox.lenses.aggregate.run import STATISTICS, LabelDepartures
from support import Write, ran

FEW: dict[str, Any] = {"permutations": 19, "max_permutations": 19, "interval": "none"}


def study(seed: int = 0, n_items: int = 30, n_raters: int = 24, missing: float = 0.3, shift: float = 0.0) -> pv.Ratings:
    """Return ratings on an uneven scale; raters are in groups x, y and z, or in none, and z may rate higher."""
    rng = np.random.default_rng(seed)
    points, rows = ("0", "1", "2", "5"), []
    for i in range(n_items):
        level = rng.normal(1.5, 1.0)
        for r in range(n_raters):
            if rng.random() >= missing:
                seen = round(level + (shift if r % 3 == 2 else 0.0) + rng.normal(0, 0.8))
                rows.append((f"i{i:02}", f"r{r:02}", points[int(np.clip(seen, 0, 3))]))
    raters = pl.DataFrame({"rater": [f"r{r:02}" for r in range(n_raters)],
                           "g": [None if r == 7 else "xyz"[r % 3] for r in range(n_raters)],
                           "h": ["a" if r < n_raters // 2 else "b" for r in range(n_raters)]})  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")
    return pv.Ratings.from_frame(frame, scale=pv.Scale(points, values=[0, 1, 2, 5]), raters=raters)


def literal(ratings: pv.Ratings, result: pv.Aggregation, method: str, members: set[str]) -> tuple[float, float, float]:
    """Return departure, overruled and shift of some raters, item by item, from the labels as they are told."""
    value = dict(zip(map(str, ratings.scale.labels), ratings.scale.values, strict=True))
    labels = {row["item"]: row for row in result.labels().iter_rows(named=True)}
    given: dict[str, list[str]] = {}
    for item, rater, score in ratings.to_frame().select("item", "rater", "score").iter_rows():
        if rater in members:
            given.setdefault(item, []).append(score)
    squares, votes, shifts = [], [], []
    for item, own in given.items():
        label = labels[item][method]
        a = labels[item].get(f"{method}_score", value[label])
        scores = [value[score] for score in own]
        mean = sum(scores) / len(scores)
        most = max(own.count(point) for point in own)
        tops = {point for point in own if own.count(point) == most}
        votes.append(1 - (1 / len(tops) if label in tops else 0))
        shifts.append(mean - a)
        if len(own) > 1:
            variance = sum((score - mean) ** 2 for score in scores) / (len(own) - 1)
            m = labels[item]["n_ratings"]
            part = {"mean": 1 / m, "posterior": 1 / (m + 4)}.get(method, 0.0)
            squares.append((mean - a) ** 2 - variance / len(own) + 2 * part * variance)
    d = sum(squares) / len(squares)
    return math.copysign(math.sqrt(abs(d)), d), sum(votes) / len(votes), sum(shifts) / len(shifts)


# Values --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", METHODS)
def test_what_labels_hide_against_literal_counts(method: str) -> None:
    ratings = study(1)
    result = pv.aggregate(ratings, "g", min_group_size=1, **FEW)
    group = dict(ratings.raters.select("rater", "g").iter_rows())
    for name in "xyz":
        members = {rater for rater, own in group.items() if own == name}
        expected = literal(ratings, result, method, members)
        found = [result.value("g", name, statistic, method=method) for statistic in STATISTICS]
        assert found == pytest.approx(expected, abs=1e-10)
        row = result.row("g", name, "departure", method=method)
        assert (row.n_raters, row.n_items) == (len(members), 30)
    everyone = literal(ratings, result, method, set(group))
    assert [result.value("all", "all", one, method=method) for one in STATISTICS] == pytest.approx(everyone, abs=1e-10)


def test_shuffled_raters_keep_their_ratings_and_labels_stay() -> None:
    ratings = study(2)
    result = pv.aggregate(ratings, "g", within=None, methods=["mean", "dawid_skene"], min_group_size=1, **FEW)
    codes = ratings.raters["g"].replace_strict({"x": 0, "y": 1, "z": 2}, default=-1, return_dtype=pl.Int32).to_numpy()
    shuffled = Grouping.of(ratings, codes, 3).labels(Draws.permuted(19, 0))
    ids = ratings.raters["rater"].to_list()
    for method in ("mean", "dawid_skene"):
        each = [literal(ratings, result, method, {ids[r] for r in np.flatnonzero(row == 1)})[0] for row in shuffled]
        assert result.null("g", "y", "departure", method=method) == pytest.approx(np.sort(each), abs=1e-10)


def test_values_without_each_item_and_rater_are_those_of_the_others() -> None:
    ratings = study(3, n_items=8, n_raters=9, missing=0.1)
    labels = labels_of(ratings, AggregateSettings(methods=("plurality", "mean")), ratings.counts().astype(float),
                       np.ones(4))  # fmt: skip
    codes = np.array([0, 1, 0, 1, 0, 1, 0, 1, 1], np.int32)
    left = LabelDepartures(ratings, Grouping.of(ratings, codes, 2), labels, np.ones(4)).left_out("both", Running())
    for i in range(8):
        fewer = LabelDepartures(
            ratings.chosen(np.arange(8) != i, None), Grouping.of(ratings, codes, 2), labels, np.ones(4)
        )
        assert left.each[0][i] == pytest.approx(fewer.value, abs=1e-9, nan_ok=True)
    without = np.concatenate(left.each[1:])
    for at, r in enumerate([*np.flatnonzero(codes == 0), *np.flatnonzero(codes == 1)]):
        others = np.where(np.arange(9) == r, -1, codes).astype(np.int32)
        alone = LabelDepartures(ratings, Grouping.of(ratings, others, 2), labels, np.ones(4)).value
        assert without[at] == pytest.approx(alone, abs=1e-9, nan_ok=True)


def test_labels_confidence_and_probabilities() -> None:
    rows = {"a": "0001", "b": "0022", "c": "1222", "d": "5"}
    frame = pl.DataFrame([(item, f"r{at}", score) for item, scores in rows.items() for at, score in enumerate(scores)],
                         schema=["item", "rater", "score"], orient="row")  # fmt: skip
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale(["0", "1", "2", "5"], values=[0, 1, 2, 5]))
    result = pv.aggregate(ratings, methods=["plurality", "mean", "posterior"])
    found = {row["item"]: row for row in result.labels().iter_rows(named=True)}
    assert [found[item]["plurality"] for item in "abcd"] == ["0", "0", "2", "5"]  # b: as near to the mean, so the lower
    assert [found[item]["plurality_tied"] for item in "abcd"] == [False, True, False, False]
    assert [found[item]["plurality_confidence"] for item in "abcd"] == [0.75, 0.5, 0.75, 1.0]
    assert [found[item]["mean_score"] for item in "abcd"] == [0.25, 1.0, 1.75, 5.0]
    assert [found[item]["mean"] for item in "abcd"] == ["0", "1", "2", "5"]
    assert found["b"]["mean_confidence"] == 0.0  # nobody gave it
    assert found["a"]["posterior_confidence"] == pytest.approx(4 / 8)
    assert found["d"]["posterior_score"] == pytest.approx((0 + 1 + 2 + 2 * 5) / 5)
    assert [found[item]["agreed"] for item in "abcd"] == [True, False, True, True]
    assert result.differing().rows() == [("plurality", "mean", 1, 4, 0.25), ("plurality", "posterior", 0, 4, 0.0),
                                         ("mean", "posterior", 1, 4, 0.25)]  # fmt: skip
    shares = result.probabilities().filter(model="plurality", item="b").row(0)
    assert shares == ("plurality", "b", 0.5, 0.0, 0.5, 0.0)
    tied = [text for text in result.findings() if "several most frequent points" in text]
    assert tied == [
        "1 of 4 items has several most frequent points; the one nearest to the mean of the ratings is used."
    ]


def test_probabilities_can_be_scored_as_predictions() -> None:
    ratings = study(4)
    result = pv.aggregate(ratings, methods=["posterior", "ordinal"])
    with pytest.warns(SoftScoresWarning, match="ordinal loses to the uniform prediction"):  # being sure of one truth
        scored = pv.soft_scores(ratings, result.probabilities(), bootstrap=0, floor=1e-6)
    assert set(scored.models) == {"posterior", "ordinal"}


# What is claimed -----------------------------------------------------------------------------------------------------
def test_a_group_that_sees_items_otherwise_is_told_of_by_every_method() -> None:
    result = pv.aggregate(study(5, n_items=60, n_raters=45, missing=0.2, shift=1.6), ["g", "h"], permutations=199)
    for method in METHODS:
        row = result.row("g", "z", "departure", method=method)
        assert row.claim, method
        assert row.ci_low is not None
        assert row.ci_high is not None
        assert row.ci_low < row.value < row.ci_high
    assert {row.direction for row in result.rows if row.claim} == {"above"}  # labels close to a group are no claim
    (said,) = [one for one in result.statements() if one.claim and one.group == "z"]
    assert said.text.startswith("Labels by ")
    for words in ("lie further from what g: z say than chance explains", "so do labels by",
                  "above the label on average. This also holds within h."):  # fmt: skip
        assert words in said.text


# Edges ---------------------------------------------------------------------------------------------------------------
def test_groups_with_one_rating_an_item_have_no_departure_and_say_why() -> None:
    rows = [(f"i{i}", f"r{i}{g}", (i + k) % 3, g) for i in range(12) for k, g in enumerate("ab")]
    frame = pl.DataFrame(rows, schema=["item", "rater", "score", "g"], orient="row")
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 2), rater_attributes=["g"])
    result = pv.aggregate(ratings, "g", methods="plurality", **FEW)
    row = result.row("g", "a", "departure")
    assert math.isnan(row.value)
    assert row.note == "no item has two ratings from this group"
    assert 0 <= result.value("g", "a", "overruled") <= 1


def test_items_without_ratings_have_no_label() -> None:
    frame = pl.DataFrame({"item": ["a", "a", "b"], "rater": ["x", "y", "x"], "score": [1, 1, None]})
    result = pv.aggregate(pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 1)))
    assert result.labels().filter(item="b").select("plurality", "ordinal", "agreed", "mace_p_1").row(0) == (None,) * 4
    assert result.probabilities()["item"].to_list() == ["a"] * 5


def test_a_model_that_has_not_converged_says_so() -> None:
    result = pv.aggregate(study(7), methods="dawid_skene", max_iterations=2)
    assert result.methods().row(0)[:3] == ("dawid_skene", 2, False)
    said = "Dawid–Skene did not converge after 2 rounds: its labels may still change. Allow more with --max-iterations"
    assert any(text.startswith(said) for text in result.findings())


def test_totals_have_labels_but_no_models(write: Write) -> None:
    ratings = pv.read_ratings(write("totals.csv", "item,0,1\na,2,1\nb,0,3\n"), layout="totals", scale="0:1")
    assert not ratings.has_raters
    result = pv.aggregate(ratings, methods=["plurality", "posterior"])
    assert (result.labels()["plurality"].to_list(), result.raters().height) == ([0, 1], 0)
    with pytest.raises(InputError, match="dawid_skene needs to know who gave which rating, but these are totals"):
        pv.aggregate(ratings)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"methods": "glad"}, r"methods is 'glad'.*Choose from plurality, mean, posterior"),
        ({"by": "rater"}, "a single rater rates an item once"), ({"interval": "bootstrap"}, "interval is 'bootstrap'"),
    ],
)  # fmt: skip
def test_bad_input_is_named(asked: Mapping[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        pv.aggregate(study(8, n_items=4), **asked)
    assert AggregateSettings(methods=("ordinal", "mean", "ordinal")).methods == ("mean", "ordinal")  # in one order
    assert AggregateSettings.from_dict({"methods": "dawid-skene"}).methods == ("dawid_skene",)


# Files and the command line ------------------------------------------------------------------------------------------
@pytest.fixture
def files(tmp_path: Path) -> tuple[Any, ...]:
    ratings = study(11, n_raters=30)
    ratings.to_frame().write_csv(tmp_path / "ratings.csv")
    ratings.raters.write_csv(tmp_path / "raters.csv")
    return tmp_path / "ratings.csv", "--raters", tmp_path / "raters.csv", "--scale", "0,1,2,5", "--permutations", "19"


@pytest.mark.parametrize(
    ("ending", "read"), [("csv", pl.read_csv), ("parquet", pl.read_parquet), ("jsonl", pl.read_ndjson)]
)
def test_labels_are_written_one_row_per_item(files: tuple[Any, ...], tmp_path: Path, ending: str, read: Any) -> None:
    out = tmp_path / f"labels.{ending}"
    done = ran("aggregate", *files, "--by", "g", "-o", out)
    assert "30 items; methods give different labels to" in done.words
    assert "r00" not in done.out
    frame = read(out)
    assert frame.height == 30
    assert {"item", "n_ratings", "agreed", *METHODS, "mace_confidence", "ordinal_p_5"} <= set(frame.columns)
    ran("aggregate", *files, "--methods", "mean,mace", "-o", out, "--slim")
    assert read(out).columns == [
        "item", "n_ratings", "agreed", "mean", "mean_score", "mean_confidence", "mean_tied", "mace", "mace_confidence",
        "mace_tied",
    ]  # fmt: skip
    told = "cannot write labels to .*x.txt.*Use a name that ends in .csv, .parquet, .jsonl"
    with pytest.raises(InputError, match=told):
        pv.aggregate(study(8, n_items=4), methods="mean").write(tmp_path / "x.txt")
