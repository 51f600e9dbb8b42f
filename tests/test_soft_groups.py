"""The soft-scores lens: groups of raters."""

from __future__ import annotations

import itertools

import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import InputError, NeedsRatersError, SelectionError
from soft_studies import (
    GROUP_MODELS,
    LEFT,
    METRICS,
    MIDDLE,
    POSTERIOR_MEAN,
    REFERENCES,
    RIGHT,
    UNIFORM,
    VALUES_ONLY,
    assert_same,
    constant,
    grouped,
    ids_of,
    ratings_of,
    soft,
)


@pytest.mark.parametrize("share", [1.0, 0.15])
def test_a_group_is_scored_as_if_alone(share: float) -> None:
    """Where a group rated every item, its marginal prediction has the same folds, too."""
    ratings = grouped(1, share=share)
    found = soft(ratings, GROUP_MODELS, by="g", bootstrap=30, curve=False)
    assert set(found.to_frame()["axis"]) == {"all", "g"}
    for group in "xyz":
        alone = ratings.where(raters={"g": group})
        other = soft(alone, GROUP_MODELS, **VALUES_ONLY)
        names = ["a", "b", *(REFERENCES if share == 1.0 else (UNIFORM, POSTERIOR_MEAN))]
        for name, metric in itertools.product(names, METRICS):
            row = found.row(name, metric, "all", "g", group)
            assert row.value == pytest.approx(other.value(name, metric), rel=1e-12), (group, name, metric)
            assert (row.n_items, row.n_ratings) == (alone.n_items, len(alone))
            assert row.ci_low is not None
            assert row.ci_low - 1e-9 <= row.value <= (row.ci_high or 0) + 1e-9
        for metric in METRICS:
            assert found.ranking(metric, axis="g", group=group) == other.ranking(metric)
    assert found.outside == {"g": 1}
    assert found.withheld == {"g": 0}


def test_findings_tell_whom_each_model_serves() -> None:
    """The group x sees things as a does, y as b does; differences are of one rating each, on the same items."""
    ratings = grouped(2)
    found = soft(ratings, GROUP_MODELS, by=["g"], bootstrap=20, curve=False)
    (told,) = [one for one in found.statements() if "whose ratings count, by g" in one.text]
    assert told.claim
    assert told.text.startswith(
        "How a and b compare depends on whose ratings count, by g: by the ratings of g: x, a is "
    )
    row = found.interactions().row(by_predicate=pl.col("group") == "x", named=True)
    assert row["difference"] == pytest.approx(
        found.row("a", "rps", axis="g", group="x").value - found.row("b", "rps", axis="g", group="x").value, abs=1e-12
    )
    assert row["elsewhere"] > 0


def test_no_rater_is_named_in_findings() -> None:
    found = soft(grouped(3), GROUP_MODELS, by=["g", ("g", "several")], bootstrap=20, curve=False, min_group_size=1)
    assert "person" not in "".join(found.findings())
    assert "person" not in found.to_json()


def test_raters_one_by_one_are_rows_but_no_sentences() -> None:
    found = soft(grouped(3), GROUP_MODELS, by="rater", metrics=["emd", "expected_emd"], **VALUES_ONLY)
    assert found.to_frame().filter(axis="rater")["group"].n_unique() == 19
    assert "person" not in "".join(found.findings())


def test_small_groups_are_withheld() -> None:
    found = soft(grouped(4, sizes=(6, 7, 4)), GROUP_MODELS, by="g", **VALUES_ONLY)
    assert set(found.to_frame().filter(axis="g")["group"]) == {"y"}
    assert found.withheld == {"g": 2}
    assert "2 groups are withheld: 1 has fewer than 5 raters, and 1 would reveal it." in found.findings()
    shown = soft(grouped(4, sizes=(6, 7, 4)), GROUP_MODELS, by="g", min_group_size=4, **VALUES_ONLY)
    assert set(shown.to_frame().filter(axis="g")["group"]) == {"x", "y", "z"}


def test_of_two_groups_both_are_withheld() -> None:
    found = soft(grouped(5, sizes=(9, 4, 0)), GROUP_MODELS, by="g", **VALUES_ONLY)
    assert found.to_frame().filter(axis="g").is_empty()
    assert found.withheld == {"g": 2}
    assert found.revealing == {"g": 1}
    assert "2 groups are withheld: 1 has fewer than 5 raters, and 1 would reveal it." in found.findings()


def test_raters_with_several_values() -> None:
    """A rater counts in each group they belong to; p is everybody's but one rater's, so it would reveal that one."""
    ratings = grouped(6)
    found = soft(ratings, GROUP_MODELS, by="several", several={"several": ";"}, min_group_size=2, **VALUES_ONLY)
    assert set(found.to_frame().filter(axis="several")["group"]) == {"q"}
    assert found.withheld == {"several": 1}
    own = ratings.where(raters={"several": ["p; q", "q"]})
    row = found.row("a", "expected_emd", axis="several", group="q")
    assert row.value == pytest.approx(soft(own, GROUP_MODELS, **VALUES_ONLY).value("a", "expected_emd"), rel=1e-12)
    assert (row.n_raters, row.n_ratings) == (own.n_raters, len(own))
    with pytest.raises(InputError, match="several values of 'several'"):
        soft(ratings, GROUP_MODELS, by=[("g", "several")], several={"several": ";"})


def unscored_group(n_apart: int) -> tuple[pv.Ratings, pl.DataFrame]:
    """Return ratings in which all of group z but ``n_apart`` raters rated one item only, which nobody predicts."""
    ratings = grouped(7, n_items=21)
    last = ids_of(21)[-1]
    z = ratings.raters.filter(g="z")["rater"].to_list()[n_apart:]
    frame = ratings.to_frame().filter(~pl.col("rater").is_in(z) | (pl.col("item") == last))
    kept = pv.Ratings.from_frame(frame, scale=ratings.scale, raters=ratings.raters)
    return kept, constant(20, a=RIGHT, b=MIDDLE)


def test_a_group_that_rated_none_of_the_items_is_never_shown() -> None:
    ratings, predictions = unscored_group(0)
    for least in (5, 1):
        found = soft(ratings, predictions, by="g", bootstrap=20, curve=False, min_group_size=least)
        assert found.withheld == {"g": 1}
        assert set(found.to_frame().filter(axis="g")["group"]) == {"x", "y"}
    assert_same(pv.SoftScores.from_json(found.to_json()), found)


def test_a_group_without_a_rest_that_rated_is_not_compared() -> None:
    ratings, predictions = unscored_group(0)
    ratings = ratings.where(raters={"g": ["x", "z"]})
    found = soft(ratings, predictions, by="g", bootstrap=20, curve=False, min_group_size=1)
    assert found.withheld == {"g": 2}
    assert not [text for text in found.findings() if "whose ratings count" in text]


def test_groups_are_as_large_as_those_who_rated_the_scored_items() -> None:
    """What one of five raters gave is not shown as what the group gave."""
    ratings, predictions = unscored_group(1)
    found = soft(ratings, predictions, by="g", metrics=["emd"], **VALUES_ONLY)
    assert "z" not in found.to_frame().filter(axis="g")["group"].to_list()


def test_rows_count_the_raters_they_rest_on() -> None:
    ratings, predictions = unscored_group(0)
    row = soft(ratings, predictions, metrics=["emd"], **VALUES_ONLY).row("a", "emd")
    assert row.n_raters == ratings.where(items={"item": ids_of(20)}).n_raters


def test_groups_need_raters_and_attributes() -> None:
    with pytest.raises(SelectionError, match="raters have no attribute 'age'"):
        soft(grouped(8), GROUP_MODELS, by="age", **VALUES_ONLY)
    with pytest.raises(SelectionError, match="twice"):
        soft(grouped(8), GROUP_MODELS, by=["g", "g"], **VALUES_ONLY)
    with pytest.raises(NeedsRatersError):
        soft(ratings_of([[1, 2, 0]], totals=True), constant(1, m=LEFT), by="g", **VALUES_ONLY)
