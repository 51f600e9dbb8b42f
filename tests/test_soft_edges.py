"""The soft-scores lens: edges show themselves in every form."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plurivox as pv
from plurivox import statistics
from plurivox.base.errors import SelectionError
from soft_studies import (
    EMPIRICAL,
    GROUP_MODELS,
    LEFT,
    METRICS,
    MIDDLE,
    POSTERIOR_MEAN,
    REFERENCES,
    RIGHT,
    UNIFORM,
    assert_same,
    constant,
    grouped,
    long_ratings,
    predictions_of,
    ratings_of,
    soft,
    study,
)


class Edge(NamedTuple):
    """A call at the edge of what is possible."""

    ratings: Callable[[], pv.Ratings]
    predictions: Callable[[], Any]
    options: Mapping[str, Any] = {}


def hundred_points() -> tuple[pv.Ratings, pl.DataFrame]:
    rng = np.random.default_rng(21)
    counts = rng.multinomial(5, np.full(101, 1 / 101), 6)
    scale = pv.Scale.range(0, 100)
    return ratings_of(counts, scale), predictions_of({name: rng.dirichlet(np.ones(101), 6) for name in "ab"}, scale)


EDGES: dict[str, Edge] = {
    "one item and one model": Edge(lambda: ratings_of([[1, 2, 0]]), lambda: constant(1, m=LEFT)),
    "one rating": Edge(lambda: ratings_of([[0, 1, 0]]), lambda: constant(1, a=LEFT, b=RIGHT)),
    "two points": Edge(lambda: ratings_of([[1, 2], [4, 0]]), lambda: constant(2, a=[0.9, 0.1], b=[0.5, 0.5])),
    "101 points": Edge(lambda: hundred_points()[0], lambda: hundred_points()[1]),
    "a billion ratings": Edge(
        lambda: ratings_of([[10**9, 0, 0], [3 * 10**8, 2 * 10**8, 5 * 10**8], [0, 1, 1]], totals=True),
        lambda: constant(3, a=LEFT, b=[0.3, 0.2, 0.5]),
    ),
    "sure and right": Edge(
        lambda: ratings_of([[3, 0, 0], [0, 0, 3]]), lambda: predictions_of({"m": [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]})
    ),
    "sure and wrong": Edge(
        lambda: ratings_of([[3, 0, 0], [0, 0, 3]]),
        lambda: predictions_of({"m": [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], "n": [[0.0, 1.0, 0.0]] * 2}),
    ),
    "sure and wrong, with a floor": Edge(
        lambda: ratings_of([[3, 0, 0], [0, 0, 3]]), lambda: constant(2, m=[0.0, 1.0, 0.0]), {"floor": 1e-6}
    ),
    "identical models": Edge(lambda: ratings_of([[1, 2, 0], [0, 2, 2]]), lambda: constant(2, a=LEFT, b=LEFT)),
    "nobody rated": Edge(lambda: ratings_of([[0, 0, 0]] * 3), lambda: constant(3, a=LEFT, b=RIGHT)),
    "nobody rated, by ratings": Edge(
        lambda: ratings_of([[0, 0, 0]] * 3), lambda: constant(3, a=LEFT, b=RIGHT), {"metrics": ["emd"], "curve": False}
    ),
    "some unrated": Edge(lambda: ratings_of([[0, 0, 0], [1, 2, 0]]), lambda: constant(2, a=LEFT, b=RIGHT)),
    "an empty bin": Edge(lambda: ratings_of([[1, 2, 0]] * 3), lambda: constant(3, a=LEFT, b=RIGHT), {"bins": "3,7+"}),
    "no bins": Edge(lambda: ratings_of([[1, 2, 0]] * 3), lambda: constant(3, a=LEFT, b=RIGHT), {"bins": []}),
    "one metric": Edge(lambda: ratings_of([[1, 2, 0]] * 3), lambda: constant(3, m=LEFT), {"metrics": ["expected_js"]}),
    "metrics of ratings": Edge(
        lambda: ratings_of([[1, 2, 0]] * 3), lambda: constant(3, m=LEFT, n=RIGHT), {"metrics": ["js", "kl"]}
    ),
    "no draws": Edge(lambda: ratings_of([[1, 2, 0]] * 3), lambda: constant(3, a=LEFT, b=RIGHT), {"bootstrap": 0}),
    "five models": Edge(
        lambda: ratings_of([[1, 2, 0]] * 3), lambda: constant(3, a=LEFT, b=RIGHT, c=MIDDLE, d=[0, 0.5, 0.5], e=LEFT)
    ),
    "a fitted prior": Edge(
        lambda: ratings_of([[1, 2, 0], [3, 0, 0], [0, 0, 0]]), lambda: constant(3, a=LEFT), {"prior": "empirical-bayes"}
    ),
    "groups": Edge(lambda: grouped(9), lambda: GROUP_MODELS, {"by": ["g", "several"], "several": {"several": ";"}}),
    "text labels": Edge(
        lambda: long_ratings([("a", "r", "No"), ("b", "r", "Yes")], pv.Scale(["No", "Unsure", "Yes"])),
        lambda: pl.DataFrame({"item": ["a", "b"], "No": [0.5, 0.1], "Unsure": [0.25, 0.1], "Yes": [0.25, 0.8]}),
    ),
    "odd names": Edge(
        lambda: ratings_of([[1, 2, 0]] * 3),
        lambda: predictions_of({"<b>bold</b>": [LEFT] * 3, "model with, commas; and %": [RIGHT] * 3}),
    ),
}  # fmt: skip


@functools.cache
def at_edge(name: str) -> pv.SoftScores:
    edge = EDGES[name]
    return soft(edge.ratings(), edge.predictions(), **{"bootstrap": 25, **edge.options})


@pytest.mark.parametrize("name", list(EDGES))
def test_edges_show_themselves_in_every_form(name: str) -> None:
    found = at_edge(name)
    assert_same(pv.SoftScores.from_json(found.to_json()), found)
    assert not pv.SoftScores.from_json(found.to_json(draws=False)).draws
    json.loads(found.to_json(), parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    texts = found.findings()
    assert texts
    assert all(text.endswith(".") and "None" not in text and "nan" not in text for text in texts)
    for row in found.rows:
        assert row.note or math.isfinite(row.value)
        assert row.value >= -1e-12 or math.isnan(row.value)
    html = found._repr_html_()
    assert "<table" in html
    assert "<b>" not in html
    assert repr(found).startswith("<SoftScores: ")
    models = set(found.models)
    assert set(found.to_frame().filter(~pl.col("reference"))["model"]) == models
    assert set(found.to_frame().filter("reference")["model"]) == set(REFERENCES)
    assert set(found.to_frame().filter("reference")["rank"]) == {None}


@pytest.mark.parametrize("name", list(EDGES))
def test_models_are_named_by_what_is_said_of_them(name: str) -> None:
    """One sentence tells of the leading metric, every model of few in it; who is better has a lower score."""
    found = at_edge(name)
    main = found.main
    order = [model for model in found.ranking() if not math.isnan(found.value(model, main))]
    told = [text for text in found.findings() if "; for comparison: " in text]
    assert len(told) == bool(order)
    assert all(f"{model} " in told[0] for model in order[:2])
    assert all(f"{other} {found.value(other, main):.3f}" in told[0] for other in REFERENCES if order)
    for text in found.findings():
        for one, other in re.findall(r"^(\w+) is better than (\w+) by", text):
            assert found.value(one, main) < found.value(other, main)
        for one in re.findall(r"^(\w+) [\d.]+.* is the best of", text):
            assert one == found.ranking()[0]


def test_a_billion_ratings_are_the_truth() -> None:
    found = at_edge("a billion ratings")
    assert found.settings["n_ratings"] == 2 * 10**9 + 2
    for metric in EMPIRICAL:
        few = getattr(statistics, metric)([[1.0, 0, 0], [0.3, 0.2, 0.5], [0, 1, 1]], LEFT)
        assert found.value("a", metric) == pytest.approx(few.mean(), rel=1e-12)
    assert found.value(POSTERIOR_MEAN, "expected_kl", "1000000000") == pytest.approx(1e-9, rel=0.2)  # (L − 1)/(2n)


def test_sure_predictions() -> None:
    right, wrong = at_edge("sure and right"), at_edge("sure and wrong")
    for metric in EMPIRICAL:
        assert right.value("m", metric) == 0.0
    assert right.value("m", "expected_cross_entropy") == math.inf
    assert wrong.value("m", "cross_entropy") == math.inf
    assert wrong.value("m", "js") == pytest.approx(math.log(2))
    assert wrong.value("m", "emd") == wrong.value("m", "rps") == 1.0
    assert right.calibration()["pit_variance"][0] == pytest.approx(1 / 12)
    raised = at_edge("sure and wrong, with a floor").value("m", "cross_entropy")
    assert raised == pytest.approx(-math.log(1e-6 / (1 + 2e-6)))


def test_unrated_items_have_expected_scores_only() -> None:
    found = at_edge("nobody rated")
    for metric in METRICS:
        assert math.isnan(found.value("a", metric)) == (metric in EMPIRICAL)
    assert found.calibration().is_empty()
    assert found.pit().is_empty()
    assert found.value(UNIFORM, "expected_cross_entropy") == pytest.approx(math.log(3))
    assert found.value(POSTERIOR_MEAN, "expected_emd") == pytest.approx(found.value(UNIFORM, "expected_emd"))
    assert [name for name, share in found.prior_weight().select("bin", "prior_share").iter_rows() if share == 1] == [
        "0", "all"
    ]  # fmt: skip


def test_some_metrics_are_those_of_all() -> None:
    made = study(23, n_items=10)
    whole = soft(made.ratings, made.predictions, bootstrap=20, curve=False)
    some = soft(made.ratings, made.predictions, metrics=["expected_rps", "kl", "kl"], bootstrap=20, curve=False)
    assert some.metrics == ["kl", "expected_rps"]
    kept = whole.to_frame().filter(pl.col("statistic").is_in(some.metrics))
    assert_frame_equal(some.to_frame(), kept, rel_tol=1e-12)


def test_rows_are_found_by_name() -> None:
    found = at_edge("two points")
    assert found.row("a", "emd", "3").subset == "3"
    with pytest.raises(SelectionError, match="no brier of 'a' in bin 'all'"):
        found.row("a", "brier")
    with pytest.raises(SelectionError, match="not of a 'soft scores' result"):
        pv.SoftScores.from_json(json.dumps({"kind": "cohesion"}))
