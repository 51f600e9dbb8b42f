"""Charts hold the numbers of results, say what they leave out, and stand whatever names they are given."""

from __future__ import annotations

import json
import math
import re
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plurivox as pv
from plurivox.base.errors import InputError, MissingExtraError, ScaleError, SelectionError, SoftScoresWarning
from plurivox.infer.result import GroupResult, Row
from plurivox.lenses.cohesion.result import Cohesion
from plurivox.lenses.items.result import Items
from plurivox.lenses.overview.run import Overview
from plurivox.lenses.responsiveness.result import Responsiveness
from plurivox.lenses.soft.result import SoftScores
from plurivox.simulation.simulate import DEMO
from support import Write

pytest.importorskip("vl_convert", reason="charts need plurivox[report]")

from plurivox import plots
from plurivox.plots import groups, layout, theme

BY = ["gender", "age", "ethnicity", ("gender", "ethnicity")]
ELSEWHERE = (
    "alignment_dots", "alignment_heat", "alignment_items", "alignment_wins", "distance_histogram", "judge_card",
    "estimate_forest", "refusals", "item_groups", "reproduction", "adjusted_effects", "drift_forest",
    "leniency_forest", "rater_reliability", "repeat_agreement", "variance_shares",
)  # fmt: skip
"""Tested in test_plots_alignment, test_estimate_shown, test_item_view, test_reproduce and test_plots_variation."""
CHARTS = [name for name in plots.__all__ if f"{name}_data" in plots.__all__ and name not in ELSEWHERE]


class Study(NamedTuple):
    """All results of one study; ``axis`` is one of its axes."""

    cohesion: Cohesion
    responsiveness: Responsiveness
    raters: Responsiveness
    overview: Overview
    items: Items
    soft: SoftScores
    aggregation: pv.Aggregation
    axis: str


def predicted(ratings: pv.Ratings, models: Sequence[str]) -> pl.DataFrame:
    """Return predictions of some models, each further off than the one before, the last sure of what is wrong."""
    counts = ratings.counts()
    frames = []
    for number, model in enumerate(models):
        weights = counts + 1.0 + number
        if number == len(models) - 1:
            weights = np.eye(counts.shape[1])[counts.argmin(axis=1)]
        shares = weights / weights.sum(axis=1, keepdims=True)
        columns = {str(label): shares[:, at] for at, label in enumerate(ratings.scale.labels)}
        frames.append(pl.DataFrame({"model": [model] * len(counts), "item": ratings.items["item"], **columns}))
    return pl.concat(frames)


def scored(ratings: pv.Ratings, models: Sequence[str], bootstrap: int, permutations: int = 60) -> SoftScores:
    thinned = ratings.to_frame().with_row_index().filter(pl.col("index").hash(1) % 100 < pl.col("item").hash(2) % 100)
    sparse = pv.Ratings.from_frame(thinned.drop("index"), scale=ratings.scale)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftScoresWarning)
        return pv.soft_scores(
            sparse, predicted(ratings, models), bootstrap=bootstrap, permutations=permutations,
            max_permutations=permutations,
        )  # fmt: skip


def analysed(
    ratings: Any,
    reference: Any,
    by: Any,
    axis: str,
    models: Sequence[str],
    *,
    pairs: bool = True,
    permutations: int = 60,
    bootstrap: int = 20,
) -> Study:
    draws: Any = {
        "permutations": permutations, "max_permutations": permutations, "bootstrap": bootstrap, "resample": "items",
        "interval": "bootstrap" if bootstrap else "none",
    }  # fmt: skip
    return Study(
        pv.cohesion(ratings, by, pairs=pairs, **draws),
        pv.responsiveness(ratings, reference, by, psychometrics=True, **draws),
        pv.responsiveness(ratings, reference, "rater", **draws), pv.overview(ratings, by),
        pv.items(ratings, by, permutations=permutations, max_permutations=permutations),
        scored(ratings, models, bootstrap, permutations),
        pv.aggregate(
            ratings, by, permutations=permutations, max_permutations=permutations,
            interval="jackknife" if bootstrap else "none", methods=["plurality", "mean", "mace"],
        ),
        axis,
    )  # fmt: skip


def study_of(teams: list[str], *, per_team: int = 6, n_items: int = 30, n_points: int = 5, **draws: Any) -> Study:
    """Return a study of raters in teams of these names, who disagree on some items."""
    rng = np.random.default_rng(3)
    raters = [f"secret-{number}" for number in range(len(teams) * per_team)]
    severity = rng.normal(size=n_items)
    seen = severity + rng.normal(0, 0.8, (len(raters), n_items)) + np.repeat(rng.normal(0, 0.4, len(teams)), per_team)[
        :, np.newaxis
    ]  # fmt: skip
    scores = np.clip(np.floor((seen + 2) / 4 * n_points), 0, n_points - 1).astype(int)
    frame = pl.DataFrame({
        "item": [f"item-{i}" for i in range(n_items)] * len(raters), "rater": np.repeat(raters, n_items),
        "score": scores.ravel(),
    })  # fmt: skip
    attributes = pl.DataFrame({"rater": raters, "team": [team for team in teams for _ in range(per_team)]})
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, n_points - 1), raters=attributes)
    names = teams[:20]  # as models more than are drawn; every two are compared, which takes long of sixty
    models = ["".join(c for c in team if unicodedata.category(c) != "Cc") for team in names]  # such names are refused
    return analysed(ratings, "crowd", ["team"], "team", models, **draws)


@pytest.fixture(scope="module")
def demo() -> Study:
    study = pv.simulate(**DEMO, n_items=120)
    models = ["one", "two", "three"]
    return analysed(study.ratings, study.trained, BY, "gender × ethnicity", models, permutations=99, bootstrap=20)


@pytest.fixture(scope="module")
def bare() -> Study:
    """Return a study without permutations or bootstrap draws."""
    return study_of(["north", "south", "west"], permutations=0, bootstrap=0)


HOSTILE = [
    "<script>alert(1)</script>", "</script><b>bold", "a \"quoted\" 'name' \\", "👩‍👩‍👧 family " * 4, "שלום עולם " * 5,
    "x" * 2000, "x" * 1999 + "y", "x" * 1000 + "-" + "x" * 999, "日本語の長い名前のグループ名前のグループ",
    'id="clip0" url(#clip0)',
    "line\nbreak\ttab\x07bell\u2028", "\u202eturned", "datum.value", "all raters", "1e5",
]  # fmt: skip


@pytest.fixture(scope="module")
def hostile() -> Study:
    return study_of(HOSTILE)


@pytest.fixture(scope="module")
def many() -> Study:
    names = [f"a group with a name that goes on and on, number {number}" for number in range(60)]
    study = study_of(names, per_team=5, pairs=False, permutations=20, bootstrap=10)
    pairs = [  # as if asked for, which takes long
        Row("pair", "team", a, "xrr" if a != b else "irr", 0.01 * (i - j), p_value=0.001 * (i + j), other=b)
        for j, a in enumerate(names)
        for i, b in enumerate(names[j:], start=j)
    ]
    return study._replace(cohesion=replace(study.cohesion, pair_rows=tuple(pairs)))


@pytest.fixture(scope="module")
def svgs() -> dict[tuple[str, str], str]:
    """Charts as SVG, by study and name, for tests that look at the same ones again."""
    return {}


OF = {
    "overview": ("design", "ratings_per_item", "group_sizes", "scale_use", "response_styles"),
    "cohesion": ("gai_forest", "null_histograms", "xrr_matrix", "dsi_ranking"),
    "responsiveness": ("responsiveness_forest", "mpa_wra_plane", "precision_recall", "precision_recall_spread",
                       "metric_comparison", "metric_lines"),
    "scales": ("scale_forest", "score_curves", "item_severity"), "aggregation": ("hidden_views",),
    "items": ("items_divided", "items_uncertain"),
    "soft": ("soft_ranking", "soft_by_bin", "prior_sensitivity", "pit_histograms", "reliability_curves"),
}  # fmt: skip
OF_AN_AXIS = ("scale_use", "response_styles", "xrr_matrix", "precision_recall", "precision_recall_spread",
              "metric_comparison", "metric_lines", "score_curves")  # fmt: skip


def drawn(name: str, study: Study, **more: Any) -> tuple[Any, pl.DataFrame]:
    """Return a chart of the study and the table behind it."""
    (of,) = (of for of, names in OF.items() if name in names)
    result = study.responsiveness.psychometrics() if of == "scales" else getattr(study, of)
    given = (result, study.axis) if name in OF_AN_AXIS else (result,)
    return getattr(plots, name)(*given, **more), getattr(plots, f"{name}_data")(*given, **more)


def records(chart: Any, *columns: str) -> list[dict[str, Any]]:
    """Return the rows of the chart's data that have all of some columns."""
    rows = [row for data in chart.to_dict()["datasets"].values() for row in data]
    return [row for row in rows if set(columns) <= set(row)]


def subtitle(chart: Any) -> str:
    return " ".join(chart.to_dict()["title"].get("subtitle", []))


def words(chart: Any) -> str:
    """Return what a chart without a drawing says."""
    return " ".join(row["text"] for row in records(chart, "line", "text"))


def svg_of(chart: Any, prefix: str = "chart") -> ElementTree.Element:
    return ElementTree.fromstring(plots.to_svg(chart, prefix))


def group_rows(result: GroupResult, statistic: str) -> dict[tuple[str, str], Row]:
    return {(row.axis, row.group): row for row in result.rows if row.kind == "group" and row.statistic == statistic}


def test_every_chart_has_its_table() -> None:
    assert plots.__all__ == sorted(plots.__all__)
    assert len(CHARTS) == 26
    assert {f"{name}_data" for name in ELSEWHERE} <= set(plots.__all__)
    for name in plots.__all__:
        assert getattr(plots, name).__doc__


@pytest.mark.parametrize("name", CHARTS)
@pytest.mark.parametrize(
    "of", ["demo", *(pytest.param(one, marks=pytest.mark.slow) for one in ("bare", "hostile", "many"))]
)
def test_every_chart_draws_fits_and_repeats(
    name: str, of: str, request: pytest.FixtureRequest, svgs: dict[tuple[str, str], str]
) -> None:
    study = request.getfixturevalue(of)
    chart, table = drawn(name, study)
    assert isinstance(table, pl.DataFrame)
    assert not {"row", "label", "panel"} & set(table.columns)
    text = chart.to_json()
    if of == "demo":
        again, _ = drawn(name, study)
        assert text == again.to_json()
    svg = svgs[of, name] = plots.to_svg(chart, "chart")
    root = ElementTree.fromstring(svg)
    assert float(root.attrib["width"]) <= 690
    assert float(root.attrib["height"]) <= 1000
    used = set(re.findall(r'(?:fill|stroke)="(#\w+|black|white)"', svg))
    assert not used & {"#000", "#000000", "black", "white"}  # ink has one colour, which a dark page replaces
    assert "secret" not in text


@pytest.mark.slow
@pytest.mark.parametrize("per_team", [8, 3])
def test_one_group_and_no_group(per_team: int) -> None:
    study = study_of(["only"], per_team=per_team)  # three raters are too few to show
    for name in CHARTS:
        chart, _ = drawn(name, study)
        svg_of(chart)
        if name in ("gai_forest", "dsi_ranking", "precision_recall", "items_divided"):
            assert words(chart)


@pytest.mark.parametrize("draws", [{"permutations": 30, "bootstrap": 0}, {"permutations": 0, "bootstrap": 30}])
def test_forests_stand_without_permutations_or_without_bootstrap(draws: dict[str, int]) -> None:
    study = study_of(["north", "south", "west"], **draws)
    for name in ("gai_forest", "responsiveness_forest", "mpa_wra_plane", "dsi_ranking"):
        chart, table = drawn(name, study)
        svg_of(chart)
        assert ("shuffled" in subtitle(chart)) == (draws["permutations"] > 0 and name != "mpa_wra_plane")
        if "chance" in table.columns:
            assert table["chance"].is_null().all() == (draws["permutations"] == 0)
    assert set(drawn("gai_forest", study)[1]["finding"]) <= (
        {groups.UNTESTED} if not draws["permutations"] else {groups.CHANCE, groups.BEFORE, groups.AFTER}
    )


@pytest.mark.parametrize(("p", "adjusted", "expected"), [
    (None, None, "not tested"), (math.nan, math.nan, "not tested"), (0.05, 0.05, "not distinguishable from chance"),
    (0.049, 0.05, "p < .05 before correction only"), (0.001, 0.049, "p < .05 after correction"),
])  # fmt: skip
def test_states_by_p(p: float | None, adjusted: float | None, expected: str) -> None:
    assert groups.state(Row("group", "a", "b", "gai", 1.0, p_value=p, p_adjusted=adjusted)) == expected


def test_states_have_a_colour_and_a_shape_each(demo: Study) -> None:
    spec = plots.gai_forest(demo.cohesion).to_dict()
    point = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "point")
    for channel in ("color", "shape"):
        scale = point["encoding"][channel]["scale"]
        assert scale["domain"] == [groups.CHANCE, groups.BEFORE, groups.AFTER]
        assert len(set(scale["range"])) == 3


def test_gai_forest_holds_the_numbers_of_the_result(demo: Study) -> None:
    chart = plots.gai_forest(demo.cohesion)
    expected = group_rows(demo.cohesion, "gai")
    found = {(row["axis"], row["group"]): row for row in records(chart, "value", "chance")}
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        own = found[key]
        assert (own["value"], own["ci low"], own["ci high"], own["chance"], own["p"], own["p corrected"]) == (
            row.value, row.ci_low, row.ci_high, row.null_median, row.p_value, row.p_adjusted,
        )  # fmt: skip
        assert own["finding"] == groups.state(row)
        null = demo.cohesion.null(*key, "gai")
        assert own["chance low"] == pytest.approx(np.quantile(null, 0.025))
        assert own["chance high"] == pytest.approx(np.quantile(null, 0.975))
    table = plots.gai_forest_data(demo.cohesion)
    assert table["axis"].unique(maintain_order=True).to_list() == demo.cohesion.axes
    assert plots.gai_forest_data(demo.cohesion, "age")["axis"].unique().to_list() == ["age"]
    assert table.filter(axis="age")["value"].is_sorted(descending=True)


def test_forest_has_no_line_at_one(demo: Study) -> None:
    marks = {layer["mark"]["type"] for layer in plots.gai_forest(demo.cohesion).to_dict()["layer"]}
    assert marks == {"bar", "tick", "rule", "point"}
    assert not records(plots.gai_forest(demo.cohesion), "one")


def test_responsiveness_forest_holds_the_numbers_of_the_result(demo: Study) -> None:
    chart = plots.responsiveness_forest(demo.responsiveness, "age", ("mpa", "wra", "hm"))
    assert len(chart.to_dict()["hconcat"]) == 3
    for statistic, name in (("mpa", "MPA"), ("wra", "WRA"), ("hm", "HM")):
        expected = {
            key: (row.value, row.ci_low, row.null_median)
            for key, row in group_rows(demo.responsiveness, statistic).items()
            if key[0] == "age"
        }
        found = {
            (row["axis"], row["group"]): (row["value"], row["ci low"], row["chance"])
            for row in records(chart, "value", "chance")
            if row["statistic"] == name
        }
        assert found == expected


def test_null_histograms_count_every_draw(demo: Study) -> None:
    table = plots.null_histograms_data(demo.cohesion)
    assert table.group_by("axis", "group").agg(pl.col("permutations").sum())["permutations"].to_list() == [99] * 12
    for axis, group, observed, p in table.select("axis", "group", "observed", "p").unique().iter_rows():
        row = demo.cohesion.row(axis, group, "gai")
        assert (observed, p) == (row.value, row.p_value)
    smallest = sorted(row.p_value or 0.0 for row in group_rows(demo.cohesion, "gai").values())[:12]
    assert sorted(table.select("axis", "group", "p").unique()["p"]) == smallest
    assert "12 of 17 groups shown" in subtitle(plots.null_histograms(demo.cohesion))
    other = plots.null_histograms(demo.responsiveness, "wra", "age")
    assert {row["statistic"] for row in records(other, "permutations")} == {"WRA"}


def test_xrr_matrix_holds_each_pair_once(demo: Study) -> None:
    chart = plots.xrr_matrix(demo.cohesion, demo.axis)
    pairs = [row for row in demo.cohesion.pair_rows if row.axis == demo.axis]
    found = {(row["group"], row["other"]): row for row in records(chart, "other", "shown")}
    assert {(row.group, row.other): row.value for row in pairs} == {key: row["value"] for key, row in found.items()}
    for row in pairs:
        own = found[row.group, row.other]
        stars = {groups.AFTER: "**", groups.BEFORE: "*"}.get(groups.state(row), "")
        assert own["shown"] == f"{row.value:.2f}".replace("0.", ".", 1).replace("-", "−") + stars
        assert own["row"] >= own["column"]
    assert "not requested" in words(plots.xrr_matrix(replace(demo.cohesion, pair_rows=()), demo.axis))


def test_dsi_ranking_is_that_of_the_result(demo: Study) -> None:
    ranked = demo.cohesion.ranked_axes()
    found = records(plots.dsi_ranking(demo.cohesion), "DSI", "words")
    assert [(row["axis"], row["group"], row["DSI"], row["p"]) for row in found] == [
        (row.axis, row.group, row.value, row.p_value) for row in ranked
    ]
    assert [row["row"] for row in found] == list(range(len(ranked)))


def test_plane_sorts_groups_into_regions(demo: Study) -> None:
    table = plots.mpa_wra_plane_data(demo.responsiveness)
    rows = {name: group_rows(demo.responsiveness, name) for name in ("mpa", "wra")}
    split = {name: np.median([row.null_median or 0.0 for row in own.values()]) for name, own in rows.items()}
    regions = {
        (True, True): "grades finely, tells apart", (True, False): "grades finely, mixes up",
        (False, True): "tells apart, few grades", (False, False): "neither",
    }  # fmt: skip
    for axis, group, mpa, wra, region in table.select("axis", "group", "MPA", "WRA", "region").iter_rows():
        assert (mpa, wra) == tuple(rows[name][axis, group].value for name in ("mpa", "wra"))
        assert region == regions[bool(mpa >= split["mpa"]), bool(wra >= split["wra"])]
    chart = plots.mpa_wra_plane(demo.responsiveness, "age")
    assert {row["group"]: row["MPA"] for row in records(chart, "MPA", "group")} == {
        key[1]: row.value for key, row in rows["mpa"].items() if key[0] == "age"
    }
    assert {row["region"] for row in records(chart, "region") if len(row) == 1} == set(regions.values())
    assert "the median group" in subtitle(plots.mpa_wra_plane(study_of(["a", "b"], permutations=0).responsiveness))


def test_labels_of_the_plane_do_not_meet(demo: Study) -> None:
    chart = plots.mpa_wra_plane(demo.responsiveness)
    named = [row for row in records(chart, "label x", "label") if row["label x"] is not None]
    spec = chart.to_dict()
    x, y = (spec["layer"][at]["encoding"][name]["scale"]["domain"] for at, name in ((0, "x"), (1, "y")))
    boxes = []
    for row in {row["label"]: row for row in named}.values():
        across = (row["label x"] - x[0]) / (x[1] - x[0]) * spec["width"]
        down = (y[1] - row["label y"]) / (y[1] - y[0]) * spec["height"]
        width = layout.pixels([row["label"]])
        left = across - {"left": 0.0, "center": 0.5, "right": 1.0}[row["label side"]] * width
        boxes.append((left, down))
        for other_left, other_down in boxes[:-1]:
            assert abs(down - other_down) >= 12.9 or left >= other_left or left + width <= other_left
    assert len(boxes) >= 15


def test_raters_are_never_named(demo: Study, hostile: Study) -> None:
    ids = {row.group for row in demo.raters.rows if row.kind == "rater"}
    for chart in (
        plots.mpa_wra_plane(demo.raters), plots.responsiveness_forest(demo.raters),
        *(getattr(plots, name)(demo.raters, "rater") for name in (
            "mpa_wra_plane", "metric_comparison", "responsiveness_forest", "precision_recall",
            "precision_recall_spread", "metric_lines",
        )),
        plots.null_histograms(demo.raters, "mpa", "rater"),
    ):  # fmt: skip
        text = chart.to_json()
        assert not any(name in text for name in ids)
    table = plots.mpa_wra_plane_data(demo.raters)
    assert table.height == 120
    assert not {"axis", "group"} & set(table.columns)
    assert sorted(table["MPA"].fill_null(-1.0)) == sorted(
        row.value for row in demo.raters.rows if row.kind == "rater" and row.statistic == "mpa"
    )
    small = pv.simulate(n_items=12, n_raters=20, seed=2).ratings
    seen = pv.overview(small, "rater", min_group_size=1)
    found = pv.cohesion(small, "rater", permutations=0, min_group_size=1)
    for chart in (
        plots.group_sizes(seen), plots.scale_use(seen, "rater"), plots.response_styles(seen, "rater"),
        plots.gai_forest(found), plots.gai_forest(found, "rater"), plots.xrr_matrix(found, "rater"),
        plots.dsi_ranking(found),
    ):  # fmt: skip
        assert "rater-" not in chart.to_json()
    assert "rater-" in str(seen.usage["group"].to_list())  # the ids that must not appear


def test_many_raters_are_thinned(monkeypatch: pytest.MonkeyPatch, demo: Study) -> None:
    monkeypatch.setattr("plurivox.plots.planes.MAX_RATERS", 50)
    anew = replace(demo.raters)  # what was drawn before of the same result is kept
    chart = plots.mpa_wra_plane(anew)
    assert len(records(chart, "MPA", "WRA")) == 41  # 40 of 120 and where the regions meet
    assert "40 of 120 raters shown" in subtitle(chart)
    assert "40 of 120 raters shown" in subtitle(plots.metric_comparison(demo.raters, "rater", max_groups=50))


def test_precision_recall_holds_the_scores(demo: Study) -> None:
    crowd = pv.responsiveness(pv.simulate(**DEMO).ratings, "crowd", "age", permutations=0, interval="none")
    assert crowd.settings["reference"]["boundaries"] == ["1", "2", "3", "4"]
    for result, boundary, expected in ((demo.responsiveness, None, "unsafe"), (crowd, None, "3"), (crowd, "1", "1")):
        chart = plots.precision_recall(result, "age", boundary)
        scores = result.scores().filter(pl.col("axis") == "age", pl.col("boundary") == expected)
        found = {(row["group"], row["score"]): row for row in records(chart, "precision") if row["axis"] == "age"}
        for group, score, precision, recall in scores.select("group", "score", "precision", "recall").iter_rows():
            own = found[group, score]
            assert own["precision"] == (None if math.isnan(precision) else precision)
            assert own["recall"] == recall
        assert f"“{expected}”" in subtitle(chart)
    whole = demo.responsiveness.scores().filter(axis="all")
    table = plots.precision_recall_data(demo.responsiveness, "age")
    assert table.filter(group="all raters")["precision"].to_list() == whole["precision"].to_list()
    with pytest.raises(SelectionError, match=r"no boundary '9'; the boundaries are: 1, 2, 3, 4"):
        plots.precision_recall(crowd, "age", "9")


def test_metric_lines_are_values_beside_their_median(demo: Study) -> None:
    table = plots.metric_lines_data(demo.responsiveness, demo.axis)
    names = {"MPA": "mpa", "WRA": "wra", "HM": "hm", "τ_b": "kendall_tau_b", "ρ": "spearman_rho", "AUROC": "auroc",
             "AP": "average_precision"}  # fmt: skip
    assert table["metric"].unique(maintain_order=True).to_list() == list(names)
    for (metric,), own in table.group_by("metric"):
        values = [demo.responsiveness.value(demo.axis, group, names[str(metric)]) for group in own["group"]]
        assert own["value"].to_list() == values
        assert own["beside the median"].to_list() == pytest.approx(np.array(values) - np.median(values))
    hm = table.filter(metric="HM")["value"].to_list()
    assert hm == sorted(hm, reverse=True)


def test_the_spread_of_precision_is_that_of_raters(demo: Study) -> None:
    table = plots.precision_recall_spread_data(demo.raters, "rater")
    own = demo.raters.scores().filter(axis="rater", boundary="unsafe", score="3")["precision"].to_numpy()
    known = own[np.isfinite(own)]
    row = table.filter(metric="precision", score="3").row(0, named=True)
    assert row["n"] == len(known) > 50
    shares = {"lowest tenth": 0.1, "lower quarter": 0.25, "median": 0.5, "upper quarter": 0.75, "highest tenth": 0.9}
    for name, share in shares.items():
        assert row[name] == pytest.approx(np.quantile(known, share))


def test_metric_comparison_shows_the_correlations(demo: Study) -> None:
    spec = plots.metric_comparison(demo.responsiveness, demo.axis).to_dict()
    correlations = demo.responsiveness.correlations().filter(axis=demo.axis)
    titles = [panel["title"]["text"] for panel in spec["concat"]]
    for title, first, second in zip(titles, "mmww", ["kendall_tau_b", "auroc"] * 2, strict=True):
        statistic = {"m": "mpa", "w": "wra"}[first]
        r = correlations.filter(statistic=statistic, other=second)["value"][0]
        assert f"r = {r:.2f}" in title
    table = plots.metric_comparison_data(demo.responsiveness, demo.axis)
    for group, metric, beside, value, other in table.select(
        "group", "metric", "beside", "value", "beside value"
    ).iter_rows():
        names = {"MPA": "mpa", "WRA": "wra", "τ_b": "kendall_tau_b", "AUROC": "auroc"}
        assert value == demo.responsiveness.value(demo.axis, group, names[metric])
        assert other == demo.responsiveness.value(demo.axis, group, names[beside])
    two = study_of(["a", "b"])
    assert "r is undefined" in json.dumps(plots.metric_comparison(two.responsiveness, "team").to_dict())


def test_items_divided_are_the_first(demo: Study) -> None:
    chart = plots.items_divided(demo.items, 7)
    found = records(chart, "shrunken")
    assert [(row["item"], row["difference"], row["shrunken"], row["p corrected"]) for row in found] == list(
        demo.items.divided.head(7).select("item", "difference", "shrunken", "p_adjusted").iter_rows()
    )
    assert subtitle(chart).startswith("7 of 480 items and axes shown")
    beyond = [abs(row["difference"]) > row["chance"] for row in found]
    assert beyond == [row["p corrected"] < 0.05 for row in found]


def test_overview_charts_hold_the_numbers(demo: Study) -> None:
    about = demo.overview.description
    rectangles = plots.design_data(demo.overview)
    assert rectangles.height == demo.overview.design.height
    assert rectangles["share rated"].to_list() == demo.overview.design["share"].to_list()
    assert "fully crossed" in subtitle(plots.design(demo.overview))
    sparse = pv.overview(pv.simulate(n_items=40, n_raters=30, missing=0.6, seed=1).ratings)
    assert "sparse: 4" in subtitle(plots.design(sparse))
    bins = plots.ratings_per_item_data(sparse)
    assert bins["items"].to_list() == list(sparse.description.per_item.counts)
    assert (bins["from"][0], bins["to"][-1] >= sparse.description.per_item.high) == (sparse.description.per_item.low, 1)
    sizes = plots.group_sizes_data(demo.overview)
    assert [tuple(row) for row in sizes.iter_rows()] == [
        (axis.name, group.name, group.n_raters, group.n_items, group.n_ratings)
        for axis in about.axes
        for group in axis.groups
    ]
    assert f"{sum(axis.n_withheld for axis in about.axes)} groups" in subtitle(plots.group_sizes(demo.overview))
    styles = plots.response_styles_data(demo.overview, "age")
    assert styles["group"].to_list() == ["all raters", "18-29", "30-44", "45-59", "60+"]
    own = demo.overview.styles.filter(pl.col("axis").is_in(["all", "age"]))
    assert styles["ends median"].to_list() == own["ends_median"].to_list()


@pytest.mark.parametrize("n_points", [2, 3, 4, 25])
def test_scale_use_diverges_from_the_middle(n_points: int) -> None:
    study = study_of(["a", "b", "c"], n_points=n_points, permutations=0, bootstrap=0)
    chart = plots.scale_use(study.overview, "team")
    bars = pl.DataFrame(records(chart, "start", "end"))
    assert bars["group"].unique(maintain_order=True).to_list() == ["all raters", "a", "b", "c"]
    middle = (n_points - 1) / 2
    for _, own in bars.group_by("group"):
        assert (own["end"] - own["start"]).to_list() == pytest.approx(own["share"].to_list())
        assert own["share"].sum() == pytest.approx(1)
        for position, start, end in own.select("position", "start", "end").iter_rows():
            if position < middle:
                assert end <= 1e-12 if n_points % 2 == 0 else end < 1
            if position == middle:
                assert start == pytest.approx(-end)
        if n_points % 2 == 0:
            assert own.filter(pl.col("position") == n_points // 2)["start"].to_list() == pytest.approx([0.0])
    colour = chart.to_dict()["layer"][0]["encoding"]["color"]
    assert colour["scale"]["domain"] == [str(point) for point in range(n_points)]
    assert len(set(colour["scale"]["range"])) == n_points
    usage = study.overview.usage.filter(axis="team", group="a")
    assert bars.filter(group="a")["ratings"].to_list() == usage["n_ratings"].to_list()
    svg_of(chart)


def test_all_raters_alone(bare: Study) -> None:
    for data in (plots.scale_use_data, plots.response_styles_data):
        assert data(bare.overview).equals(data(bare.overview, "all"))
        assert set(data(bare.overview)["group"]) == {"all raters"}
    assert plots.scale_use(bare.overview).to_json() == plots.scale_use(bare.overview, "all").to_json()
    two = study_of(["a", "b"], n_points=2, permutations=0, bootstrap=0)
    assert "every rating is at an end" in words(plots.response_styles(two.overview, "team"))


def test_totals_show_what_they_can(write: Write) -> None:
    path = write("t.csv", "item,0,1,2\na,3,1,0\nb,0,2,2\n")
    seen = pv.overview(pv.read_ratings(path, item="item", scale="0:2", layout="totals"))
    assert "who rated what is unknown" in words(plots.design(seen))
    assert "unknown" in words(plots.response_styles(seen))
    assert "The raters have no attributes" in words(plots.group_sizes(seen))
    assert [row["ratings"] for row in records(plots.scale_use(seen), "start")] == [3, 3, 2]
    svg_of(plots.ratings_per_item(seen))


def undefined(result: GroupResult, *keys: tuple[str, str]) -> Any:
    """Return the result as if the values of some groups, or of all, were undefined."""

    def at(row: Row) -> bool:
        return row.kind in ("group", "dsi") and (not keys or (row.axis, row.group) in keys)

    return replace(
        result, rows=tuple(replace(row, value=math.nan, note="why not") if at(row) else row for row in result.rows)
    )


def test_undefined_values_stay_in_the_table_only(demo: Study) -> None:
    key = ("age", "60+")
    for forest, data, result in (
        (plots.gai_forest, plots.gai_forest_data, demo.cohesion),
        (plots.responsiveness_forest, plots.responsiveness_forest_data, demo.responsiveness),
    ):
        part = undefined(result, key)
        assert "60+" in data(part)["group"].to_list()
        assert math.isnan(data(part).filter(group="60+")["value"][0])
        chart = forest(part)
        assert "60+" not in {row["group"] for row in records(chart, "value", "chance")}
        assert "1 group has no value" in subtitle(chart)
    part = undefined(demo.responsiveness, key)
    assert plots.mpa_wra_plane_data(part).filter(group="60+")["region"].to_list() == [None]
    assert "60+" not in {row.get("group") for row in records(plots.mpa_wra_plane(part), "group", "MPA")}


def test_all_undefined_is_said_in_words(demo: Study) -> None:
    alike, graded = undefined(demo.cohesion), undefined(demo.responsiveness)
    assert words(plots.gai_forest(alike)) == "The value is undefined for every group: why not."
    assert "undefined" in words(plots.responsiveness_forest(graded))
    assert "undefined" in words(plots.mpa_wra_plane(graded))
    assert "No group has both" in words(plots.metric_comparison(graded, "age"))
    assert "No axis" in words(plots.dsi_ranking(alike))
    assert plots.dsi_ranking_data(alike).height == 4


@pytest.mark.slow
@pytest.mark.parametrize(("name", "shown"), [
    *((name, 40) for name in ("gai_forest", "responsiveness_forest", "mpa_wra_plane", "group_sizes", "scale_use",
                              "response_styles", "xrr_matrix")), ("null_histograms", 12), ("precision_recall", 7),
])  # fmt: skip
def test_many_groups_show_the_most_notable(many: Study, name: str, shown: int) -> None:
    chart, table = drawn(name, many)
    assert f"{shown} of 60 groups shown" in subtitle(chart)
    own = table.filter(pl.col("axis") == "team")["group"].unique()
    assert len(own) == shown
    labels = {label for _, label in zip(own, layout.unique_labels(own), strict=True)}
    assert len(labels) == shown


@pytest.mark.slow
def test_most_notable_are_those_with_the_smallest_p(many: Study) -> None:
    rows = group_rows(many.cohesion, "gai")
    ranked = sorted(
        rows, key=lambda key: (rows[key].p_value or 0.0, -abs(rows[key].value - (rows[key].null_median or 0.0)))
    )
    assert {("team", group) for group in plots.gai_forest_data(many.cohesion, max_groups=9)["group"]} == set(ranked[:9])
    assert plots.gai_forest_data(many.cohesion, max_groups=None).height == 60


@pytest.mark.slow
def test_hostile_names_are_text(hostile: Study, svgs: dict[tuple[str, str], str], tmp_path: Path) -> None:
    for name in CHARTS:
        root = ElementTree.fromstring(svgs.get(("hostile", name)) or plots.to_svg(drawn(name, hostile)[0], "chart"))
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert tags <= {
            "svg", "g", "path", "text", "line", "rect", "clipPath", "defs", "linearGradient", "stop", "tspan",
        }  # fmt: skip
        assert all(len(element.text or "") <= 140 for element in root.iter())
    for name in ("gai_forest", "mpa_wra_plane"):
        page = plots.write_chart(drawn(name, hostile)[0], tmp_path / "x.html").read_text(encoding="utf-8")
        assert "</script><b>bold" not in page
        assert "<script>alert(1)" not in page
    svg = plots.to_svg(plots.gai_forest(hostile.cohesion), "p")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in svg
    assert 'id="clip0" url(#clip0)' in "".join(ElementTree.fromstring(svg).itertext())


def test_names_that_start_alike_stay_apart(hostile: Study) -> None:
    table = plots.gai_forest_data(hostile.cohesion)
    assert set(HOSTILE) == set(table["group"])
    placed = records(plots.gai_forest(hostile.cohesion), "row", "value")
    assert len({row["row"] for row in placed}) == len(HOSTILE)
    text = "".join(svg_of(plots.gai_forest(hostile.cohesion)).itertext())
    assert "xxxxxxy" in text
    assert "turned" in text
    assert "\u202e" not in text


@given(st.lists(st.text(max_size=60), max_size=20), st.integers(12, 40))
def test_labels_are_short_distinct_and_clean(names: list[str], length: int) -> None:
    labels = layout.unique_labels(names, length)
    assert len(set(labels)) == len(names)
    for label in labels:
        assert label.strip()
        assert len([c for c in label if not unicodedata.combining(c) and c not in "\u200c\u200d"]) <= length
        assert not [c for c in label if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
        ElementTree.fromstring(f"<a>{label.replace('&', '&amp;').replace('<', '&lt;')}</a>")


def test_short_names_stay_as_they_are() -> None:
    assert layout.unique_labels(["Man", "Woman × Black", "60+"]) == ["Man", "Woman × Black", "60+"]
    assert layout.shorten("日本語の長い名前のグループ名前のグループ", 10) == "日本語の…"
    assert layout.shorten("  \n ") == "(blank)"


def test_unknown_axis_statistic_and_subset_are_errors(demo: Study) -> None:
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: plots.gai_forest(demo.cohesion, "sex"), "there is no axis 'sex'; choose from: gender, age"),
        (lambda: plots.xrr_matrix(demo.cohesion, "sex"), "there is no axis 'sex'"),
        (lambda: plots.scale_use(demo.overview, "sex"), "there is no axis 'sex'"),
        (lambda: plots.metric_comparison(demo.responsiveness, "sex"), "there is no axis 'sex'"),
        (lambda: plots.responsiveness_forest(demo.responsiveness, statistics=["mpb"]), "no statistic 'mpb'"),
        (lambda: plots.null_histograms(demo.cohesion, "mpb"), "no statistic 'mpb'"),
        (lambda: plots.gai_forest(demo.cohesion, subset="odd"), "there is no subset 'odd'; choose from: all"),
    ]
    for call, message in calls:
        with pytest.raises(SelectionError, match=re.escape(message)):
            call()


def test_a_question_and_parts_of_the_items_can_be_shown(demo: Study) -> None:
    asked = demo.cohesion.of_question("harm")
    assert records(plots.gai_forest(asked), "value") == records(plots.gai_forest(demo.cohesion), "value")
    study: Any = pv.simulate(n_items=80, n_raters=40, seed=3)
    parts = pv.responsiveness(
        study.ratings, study.trained, "gender", items_by="violation", permutations=9, interval="none"
    )
    table = plots.responsiveness_forest_data(parts, subset="bias")
    assert table.filter(statistic="MPA", group="Woman")["value"][0] == parts.value("gender", "Woman", "mpa", "bias")
    whole = plots.responsiveness_forest_data(parts)
    assert whole.filter(statistic="MPA", group="Woman")["value"][0] == parts.value("gender", "Woman", "mpa")


@pytest.mark.parametrize("kind", [".png", ".svg", ".pdf", ".html", ".json"])
def test_charts_are_written_offline(demo: Study, tmp_path: Path, kind: str) -> None:
    path = plots.write_chart(plots.gai_forest(demo.cohesion), tmp_path / f"x{kind}")
    start = {".png": b"\x89PNG", ".svg": b"<svg", ".pdf": b"%PDF-", ".html": b"<!DOCTYPE html>", ".json": b"{"}[kind]
    assert path.read_bytes().lstrip().startswith(start)
    if kind == ".html":
        assert not re.findall(rb"<(?:script|link)[^>]+(?:src|href)=", path.read_bytes())
    with pytest.raises(
        InputError, match=r"^cannot write a chart as \.bmp; use \.svg, \.png, \.pdf, \.html or \.json\.$"
    ):
        plots.write_chart(plots.gai_forest(demo.cohesion), tmp_path / "x.bmp")


def test_svg_ids_are_ours_and_bytes_repeat(demo: Study) -> None:
    one, other = plots.to_svg(plots.gai_forest(demo.cohesion), "a"), plots.to_svg(plots.gai_forest(demo.cohesion), "b")
    ids = re.findall(r'\sid="([^"]*)"', one)
    assert ids
    assert len(set(ids)) == len(ids)
    assert not set(ids) & set(re.findall(r'\sid="([^"]*)"', other))
    assert set(re.findall(r"url\(#([^)]*)\)", one)) <= set(ids)
    assert one == plots.to_svg(plots.gai_forest(demo.cohesion), "a")
    assert 'fill="white"' not in one
    with pytest.raises(InputError, match="prefix is 'a b'"):
        plots.to_svg(plots.gai_forest(demo.cohesion), "a b")


def test_missing_packages_are_named(demo: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chart = plots.gai_forest(demo.cohesion)
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    with pytest.raises(MissingExtraError, match=r"plurivox\[report\]"):
        plots.to_svg(chart, "a")
    with pytest.raises(MissingExtraError, match="images of charts need vl-convert"):
        plots.write_chart(chart, tmp_path / "chart.png")
    assert plots.write_chart(chart, tmp_path / "chart.json").stat().st_size  # which needs nothing
    assert "image/svg+xml" not in chart._repr_mimebundle_()


def test_ranges_hold_the_values_and_not_every_null() -> None:
    low, high = layout.extent([1.0, 1.2], [-50.0, 1.5])
    assert low == pytest.approx(0.8 - 0.04 * 0.6)
    assert high == pytest.approx(1.4 + 0.04 * 0.6)
    assert layout.extent([]) == (0.0, 1.0)
    assert layout.extent([2.0]) == pytest.approx((1.9, 2.1))


@pytest.mark.parametrize("n", range(1, 26))
def test_palettes_are_distinct(n: int) -> None:
    colours = theme.diverging(n)
    assert len(set(colours)) == n
    assert all(re.fullmatch(r"#[0-9a-f]{6}", colour) for colour in colours)
    assert not set(colours) & {theme.INK, theme.QUIET, theme.GRID, theme.LINE}


def test_charts_of_each_point_refuse_scales_of_very_many() -> None:
    frame = pl.DataFrame({"item": [1, 1, 2, 2], "rater": ["a", "b", "a", "b"], "score": [0, 1, 2, 9]})
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale(range(1_002)))
    said = "1,002 points, and a chart of each point takes at most 1,001"
    with pytest.raises(ScaleError, match=said):
        plots.item_groups(pv.item_view(ratings, 1, permutations=0, min_group_size=1))
    with pytest.raises(ScaleError, match=said):
        plots.scale_use(pv.overview(ratings, min_group_size=1))
