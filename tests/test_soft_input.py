"""The soft-scores lens: what is missing, and bad input."""

from __future__ import annotations

import math
import re
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plurivox as pv
from plurivox import statistics
from plurivox.base.errors import DuplicateError, IdError, InputError
from soft_studies import (
    LEFT,
    REFERENCES,
    RIGHT,
    VALUES_ONLY,
    constant,
    ids_of,
    long_ratings,
    predictions_of,
    ratings_of,
    soft,
    study,
)


def test_missing_items_are_counted_and_listed() -> None:
    ratings = ratings_of([[2, 1, 0], [1, 1, 1], [0, 0, 3], [0, 0, 0], [0, 0, 0], [1, 0, 0]])
    all_items = predictions_of({"a": [LEFT] * 7, "b": [RIGHT] * 7})
    left = ~((pl.col("model") == "a") & pl.col("item").is_in(["i00001", "i00003"]))
    found = soft(ratings, all_items.filter(left), min_ratings=2, bootstrap=20, curve=False)
    assert set(found.missing().iter_rows()) == {
        ("a", "i00001", "no prediction"), ("a", "i00006", "no rating"), ("b", "i00006", "no rating")
    }  # fmt: skip
    assert [found.settings[name] for name in ("n_items", "n_unpredicted", "n_few", "n_unrated")] == [2, 1, 2, 0]
    told = " ".join(found.findings())
    assert "2 of 5 items are scored: those that every model predicts and that have at least 2 ratings." in told
    assert re.search(r"a (lacks|does not predict) 1 item\b", told)
    assert "b predicts 1 item without ratings" in told
    assert not re.search(r"b (lacks|does not predict)", told)
    whole = soft(ratings, all_items, **VALUES_ONLY)
    assert whole.settings["n_unrated"] == 2
    assert [whole.settings[name] for name in ("n_items", "n_unpredicted", "n_few")] == [6, 0, 0]


def test_models_are_scored_on_the_same_items() -> None:
    ratings = ratings_of([[3, 0, 0], [0, 0, 3]])
    both = predictions_of({"a": [LEFT, LEFT], "b": [RIGHT, RIGHT]})
    found = soft(ratings, both.filter(~((pl.col("model") == "b") & (pl.col("item") == "i00000"))), **VALUES_ONLY)
    assert found.value("a", "emd") == pytest.approx(statistics.emd([0, 0, 3], LEFT))
    assert found.value("b", "emd") == pytest.approx(statistics.emd([0, 0, 3], RIGHT))


def test_sentences_on_one_thing_are_in_the_singular() -> None:
    ratings = ratings_of([[2, 1, 0], [1, 1, 1], [0, 0, 0], [1, 0, 0]])
    metrics = ["emd", "expected_emd"]
    found = soft(ratings, constant(3, m=LEFT), bins="3", metrics=metrics, **VALUES_ONLY)
    two = soft(ratings, constant(4, m=LEFT, n=RIGHT), bins="0,3", min_ratings=1, metrics=["emd"], **VALUES_ONLY)
    sure = soft(ratings, constant(1, m=[0.0, 0.5, 0.5]), train=ratings, metrics=["cross_entropy"], **VALUES_ONLY)
    told = [*found.findings(), *two.findings(), *sure.findings(), *(row.note for row in (*found.rows, *sure.rows))]
    assert not [text for text in told if re.search(r"\b1 (items|models|metrics|ratings)\b|1 items? (that )?were", text)]
    with pytest.raises(InputError) as refused:
        soft(ratings_of([[0, 0, 0]]), constant(1, m=LEFT), min_ratings=1)
    assert "1 ratings" not in str(refused.value)


def test_strict_refuses_what_is_missing() -> None:
    ratings = ratings_of([[2, 1, 0], [1, 1, 1], [0, 0, 0]])
    soft(ratings, constant(3, m=LEFT), strict=True, **VALUES_ONLY)
    soft(ratings, constant(2, m=LEFT), strict=True, **VALUES_ONLY)  # nobody rated the third
    with pytest.raises(InputError, match="from m: item 'i00001' is rated but not predicted"):
        soft(ratings, constant(1, m=LEFT), strict=True)
    with pytest.raises(InputError, match="from m: item 'i00003' is predicted but not rated"):
        soft(ratings, constant(4, m=LEFT), strict=True)


def test_nothing_in_common() -> None:
    """Ids that never meet are one thing, models that predict different items another."""
    ratings = ratings_of([[2, 1, 0], [1, 1, 1]])
    far = constant(2, m=LEFT).with_columns(item=pl.Series(["p", "q"]))
    both = constant(2, a=LEFT, b=RIGHT)
    apart = both.filter((pl.col("model") == "a") == (pl.col("item") == "i00000"))
    for frame, least, said in (
        (far, 0, r"no predicted item is among the ratings.*'p', 'q'.*'i00000', 'i00001'"),
        (constant(2, m=LEFT), 4, "no predicted item has 4 ratings"), (apart, 0, "is predicted by every model"),
        (both.with_columns(item="x" + pl.col("item")), 0, "no predicted item is among the ratings"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            soft(ratings, frame, min_ratings=least)


@pytest.mark.parametrize("name", REFERENCES)
def test_models_may_not_have_the_names_of_references(name: str) -> None:
    with pytest.raises(InputError, match=f"a model is called '{name}'"):
        soft(ratings_of([[2, 1, 0]]), predictions_of({name: [LEFT]}))


def test_scales_have_to_be_the_same() -> None:
    ratings = ratings_of([[2, 1, 0]])
    other = pv.Predictions.from_frame(predictions_of({"m": [LEFT]}, pv.Scale.range(0, 2)), pv.Scale.range(0, 2))
    with pytest.raises(InputError, match="the predictions are on 0 < 1 < 2, the ratings on 1 < 2 < 3"):
        soft(ratings, other)
    with pytest.raises(InputError, match="no column for the point 3"):
        soft(ratings, constant(1, m=[0.5, 0.5]))


def test_labels_that_name_the_same_points_are_the_same_scale() -> None:
    """On a scale, "3", 3 and 3.0 are one point."""
    written = pv.Scale(["1", "2", "3"])
    found = soft(ratings_of([[2, 1, 0]]), pv.Predictions.from_frame(constant(1, m=LEFT), written), **VALUES_ONLY)
    assert found.value("m", "emd") == pytest.approx(statistics.emd([2, 1, 0], LEFT))


BAD_ROWS: list[tuple[str, dict[int, list[Any]], type[InputError], str]] = [
    ("a sum", {1: [0.5, 0.4, 0.2], 3: [0.5, 0.4, 0.2]}, InputError, r"rows 2, 4: the probabilities sum to 1\.1"),
    ("a small sum", {2: [0.5, 0.4, 0.099]}, InputError, r"row 3: the probabilities sum to 0\.999"),
    ("NaN", {0: [0.5, math.nan, 0.5]}, InputError, r"column '2', row 1: a probability is missing"),
    ("nothing", {3: [None, 0.5, 0.5]}, InputError, r"column '1', row 4: a probability is missing"),
    ("negative", {2: [-0.5, 1.0, 0.5]}, InputError, r"column '1', row 3: the probability -0\.5 is negative"),
    ("infinite", {2: [math.inf, 0.0, 0.0]}, InputError, r"row 3: the probability inf is "),
]


@pytest.mark.parametrize(("what", "rows", "error", "message"), BAD_ROWS, ids=[bad[0] for bad in BAD_ROWS])
def test_bad_predictions_name_their_rows(
    what: str, rows: dict[int, list[Any]], error: type[InputError], message: str
) -> None:
    table: list[list[Any]] = [rows.get(row, LEFT) for row in range(4)]
    frame = pl.DataFrame(table, schema=dict.fromkeys("123", pl.Float64), orient="row")
    with pytest.raises(error, match=message):
        soft(ratings_of([[1, 0, 0]] * 4), frame.with_columns(model=pl.lit("m"), item=pl.Series(ids_of(4))))


@pytest.mark.parametrize(("change", "error", "match"), [
    (lambda frame: pl.concat([frame, frame[1:2]]), DuplicateError, "rows 2, 5: m predicts item i00001 more than once"),
    (lambda frame: frame.with_columns(pl.Series("2", ["0.3", "0.3", "much", "0.3"])), InputError,
     "row 3: the probability much is not a number"),
    (lambda frame: frame.with_columns(item=pl.Series(["i00000", None, "i00002", "i00003"])), IdError,
     "row 2: the item is missing"),
    (lambda frame: frame.clear(), InputError, "there are no predictions"),
    (lambda frame: frame.with_columns(pl.col("1").alias("1.0")), InputError, "name the same point"),
    (lambda frame: None, InputError, r"predictions is None\. Give Predictions or a frame"),
])  # fmt: skip
def test_other_bad_predictions(change: Any, error: type[InputError], match: str) -> None:
    with pytest.raises(error, match=match):
        soft(ratings_of([[1, 0, 0]] * 4), change(constant(4, m=LEFT)))


def test_sums_within_a_millionth_are_divided_out() -> None:
    close = [0.6 + 4e-7, 0.3, 0.1]
    found = soft(ratings_of([[1, 1, 1]]), constant(1, m=close), **VALUES_ONLY)
    total = math.fsum(close)
    assert found.value("m", "cross_entropy") == pytest.approx(-math.fsum(math.log(x / total) for x in close) / 3)


@pytest.mark.parametrize(("options", "message"), [
    ({"metrics": ()}, "metrics is empty"), ({"metrics": ["brier"]}, "metrics is 'brier'"), ({"floor": 0}, "floor is 0"),
    ({"floor": 1.0}, "floor is 1.0"), ({"floor": math.nan}, "floor is nan"), ({"min_ratings": -1}, "min_ratings is -1"),
    ({"min_ratings": 2.5}, "min_ratings is 2.5"), ({"correction": "fdr"}, "correction is 'fdr'"),
    ({"bootstrap": -1}, "bootstrap"), ({"seed": -1}, "seed is -1"), ({"threads": 0}, "threads is 0"),
])  # fmt: skip
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        soft(ratings_of([[1, 2, 0]] * 3), constant(3, m=LEFT), curve=False, **options)


def test_frames_of_all_kinds() -> None:
    made = study(20, n_items=9)
    expected = soft(made.ratings, made.predictions, **VALUES_ONLY).to_frame()
    checked = pv.Predictions.from_frame(made.predictions, made.scale)
    frame = made.predictions
    for given in (frame.to_pandas(), frame.to_arrow(), frame.lazy().collect(), checked):
        assert_frame_equal(soft(made.ratings, given, **VALUES_ONLY).to_frame(), expected, check_exact=True)
    texts = made.predictions.with_columns(pl.exclude("model", "item").cast(pl.String))
    assert_frame_equal(soft(made.ratings, texts, **VALUES_ONLY).to_frame(), expected)


def test_one_model_without_a_name() -> None:
    found = soft(ratings_of([[1, 2, 0]] * 3), constant(3, m=LEFT).drop("model"), **VALUES_ONLY)
    assert found.models == ["model"]
    assert found.comparisons()["model"].unique().to_list() == ["model"]


@pytest.mark.parametrize("ids", [[7, 8, 10], [7.0, 8.0, 10.0], ["7", "8", "10"]])
@pytest.mark.parametrize("others", [[10, 7, 8], [10.0, 7.0, 8.0], ["10", "7", "8"]])
def test_ids_are_compared_by_their_text(ids: list[Any], others: list[Any]) -> None:
    ratings = long_ratings([(item, "r", k + 1) for k, item in enumerate(ids)], pv.Scale.range(1, 3))
    frame = predictions_of({"m": [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]})
    found = soft(ratings, frame.with_columns(item=pl.Series(others)), strict=True, **VALUES_ONLY)
    assert found.value("m", "emd") == 0.0


def test_progress_reaches_its_end() -> None:
    seen: dict[str, list[tuple[int, int]]] = {}
    soft(ratings_of([[1, 2, 0]] * 9), constant(9, m=LEFT), bootstrap=40,
         progress=lambda what, done, total: seen.setdefault(what, []).append((done, total)))  # fmt: skip
    assert set(seen) == {"scoring", "scoring, resampling", "sign-flips", "strengths of the prior"}
    for steps in seen.values():
        assert steps[-1][0] == steps[-1][1]
        assert all(0 <= done <= total for done, total in steps)
