"""Charts of alignment hold the numbers of the result, and stand whatever models, groups and names they are given."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import SelectionError
from plurivox.lenses.alignment.result import Alignment
from plurivox.simulation.simulate import DEMO

pytest.importorskip("vl_convert", reason="charts need plurivox[report]")

from plurivox import plots
from plurivox.plots import theme

NAMES = ("alignment_heat", "alignment_dots", "refusals", "distance_histogram", "alignment_wins", "alignment_items")
HOSTILE = [
    "<script>alert(1)</script>", "</script><b>bold", "a \"quoted\" 'name' \\", "שלום עולם " * 5, "x" * 2000,
    "x" * 1999 + "y", "日本語の長い名前のグループ名前のグループ", 'id="clip0" url(#clip0)', "line\nbreak\ttab",
    "\u202eturned",
    "datum.value", "all raters", "1e5",
]  # fmt: skip


def asked(ratings: pv.Ratings, models: Sequence[str], prompts: Sequence[str] = ("",)) -> pl.DataFrame:
    """Return answers of some models: each the first point that is not the mode so often, some refused or unreadable."""
    counts = ratings.counts()
    rng = np.random.default_rng(5)
    frames = []
    for number, model in enumerate(models):
        for prompt in prompts:
            point = np.clip(
                counts.argmax(axis=1) + rng.integers(-1, 2 + number % 3, len(counts)), 0, counts.shape[1] - 1
            )
            state = rng.choice(["answered", "refused", "unreadable", "failed"], len(counts), p=[0.8, 0.1, 0.05, 0.05])
            frames.append(
                pl.DataFrame({
                    "model": [model] * len(counts), "prompt": [prompt] * len(counts), "item": ratings.items["item"],
                    "point": np.where(state == "answered", point, -1), "state": state,
                }).with_columns(pl.col("point").replace(-1, None))
            )  # fmt: skip
    return pl.concat(frames)


def rated(teams: Sequence[str], per_team: int = 6, n_items: int = 30, n_points: int = 5) -> pv.Ratings:
    """Return ratings of raters in teams of these names."""
    rng = np.random.default_rng(3)
    raters = [f"secret-{number}" for number in range(len(teams) * per_team)]
    seen = rng.normal(size=n_items) + rng.normal(0, 0.8, (len(raters), n_items))
    scores = np.clip(np.floor((seen + 2) / 4 * n_points), 0, n_points - 1).astype(int)
    frame = pl.DataFrame({
        "item": [f"item-{i}" for i in range(n_items)] * len(raters), "rater": np.repeat(raters, n_items),
        "score": scores.ravel(),
    })  # fmt: skip
    attributes = pl.DataFrame({"rater": raters, "team": [team for team in teams for _ in range(per_team)]})
    return pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, n_points - 1), raters=attributes)


def aligned(ratings: pv.Ratings, answers: Any, by: Any = ("team",), **more: Any) -> Alignment:
    draws = {"permutations": 20, "bootstrap": 20, "subsamples": 5, "as_rater": False}
    return pv.alignment(ratings, answers, list(by), **{**draws, **more})


@pytest.fixture(scope="module")
def demo() -> Alignment:
    study = pv.simulate(**DEMO)
    by = ["gender", "age", ("gender", "ethnicity")]
    return pv.alignment(study.ratings, study.answers, by, subset="violation", permutations=99, bootstrap=20)


@pytest.fixture(scope="module")
def one() -> Alignment:
    ratings = rated(["north", "south", "west"])
    return aligned(ratings, asked(ratings, ["only"]))


@pytest.fixture(scope="module")
def bare() -> Alignment:
    """Return a result without groups, permutations and bootstrap draws."""
    ratings = rated(["north", "south"])
    return aligned(ratings, asked(ratings, ["one", "two"]), (), permutations=0, bootstrap=0, subsamples=0)


@pytest.fixture(scope="module")
def prompted() -> Alignment:
    ratings = rated(["north", "south", "west"])
    return aligned(ratings, asked(ratings, ["one", "two"], ["plain", "as a friend"]))


@pytest.fixture(scope="module")
def many() -> Alignment:
    names = [f"a group with a name that goes on and on, number {number}" for number in range(60)]
    ratings = rated(names, per_team=5, n_points=9)
    answers = asked(ratings, [f"a-model-of-some-family-and-size-{number}" for number in range(60)])
    return aligned(ratings, answers, permutations=0, bootstrap=0, subsamples=0)


@pytest.fixture(scope="module")
def hostile() -> Alignment:
    ratings = rated(HOSTILE)
    return aligned(ratings, asked(ratings, HOSTILE, ["p<1>", "q"]))


@pytest.fixture(scope="module")
def undefined(one: Alignment) -> Alignment:
    """Return a result in which nothing has a value."""
    rows = tuple(replace(row, value=math.nan, ci_low=None, ci_high=None) for row in one.rows)
    tables = tuple(
        replace(table, frame=table.frame.with_columns(pl.selectors.float() * math.nan))
        if table.name == "standings" else table
        for table in one.tables
    )  # fmt: skip
    return replace(one, rows=rows, tables=tables)


def drawn(name: str, found: Alignment, **more: Any) -> tuple[Any, pl.DataFrame]:
    of: tuple[Any, ...] = (found,)
    if name == "alignment_wins":
        if not found.axes:
            pytest.skip("this chart compares groups, and this result has none")
        of = (found, found.axes[-1])
    return getattr(plots, name)(*of, **more), getattr(plots, f"{name}_data")(*of, **more)


def records(chart: Any, *columns: str) -> list[dict[str, Any]]:
    rows = [row for data in chart.to_dict()["datasets"].values() for row in data]
    return [row for row in rows if set(columns) <= set(row)]


def subtitle(chart: Any) -> str:
    return " ".join(chart.to_dict()["title"].get("subtitle", []))


def words(chart: Any) -> str:
    return " ".join(row["text"] for row in records(chart, "line", "text"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "of", ["demo", "one", "bare", "prompted", pytest.param("many", marks=pytest.mark.slow), "hostile", "undefined"]
)
def test_every_chart_draws_fits_and_repeats(name: str, of: str, request: pytest.FixtureRequest) -> None:
    found = request.getfixturevalue(of)
    chart, table = drawn(name, found)
    assert not {"row", "label", "panel", "voice", "who"} & set(table.columns)
    assert chart.to_json() == drawn(name, found)[0].to_json()
    svg = plots.to_svg(chart, "chart")
    root = ElementTree.fromstring(svg)
    assert float(root.attrib["width"]) <= 690
    assert float(root.attrib["height"]) <= 1000
    used = set(re.findall(r'(?:fill|stroke)="(#\w+|black|white)"', svg))
    assert not used & {"#000", "#000000", "black", "white"}
    assert "secret" not in chart.to_json()
    assert "<script>alert" not in svg


def test_heat_holds_the_values_and_marks_the_closest(demo: Alignment) -> None:
    chart, table = drawn("alignment_heat", demo)
    cells = {(row["model"], row["axis"], row["group"]): row for row in records(chart, "value", "closest")}
    for row in demo.rows:
        shown = row.kind != "reference" or row.model in demo.references()
        if shown and row.statistic == "ada_met" and row.subset == "all":
            group = "all raters" if row.axis == "all" else row.group
            assert cells[row.model, row.axis, group]["value"] == row.value
    framed = {(row["model"], row["axis"], row["group"]) for row in cells.values() if row["closest"]}
    assert framed == set(demo.closest().select("model", "axis", "group").iter_rows())
    assert len(framed) == 6  # of gender one group is shown
    starred = {(row["model"], row["group"]) for row in cells.values() if row["text"].endswith("*")}
    claims = demo.closest().filter(pl.col("claim")).select("model", "group")
    assert starred == set(claims.iter_rows())
    assert ("model-a", "18-29") in starred
    assert table.height == len(cells)
    assert table["model"].unique(maintain_order=True).to_list()[-3:] == demo.references()
    assert table.filter("reference")["model"].unique(maintain_order=True).to_list() == demo.references()
    assert "Reference: answers without judgement" in subtitle(chart)
    assert "withheld" in subtitle(chart)
    assert set(plots.alignment_heat_data(demo, "age")["axis"]) == {"all", "age"}


def test_heat_of_another_statistic(demo: Alignment) -> None:
    chart = plots.alignment_heat(demo, "age", "xrr")
    assert "close models are to" in chart.to_dict()["title"]["text"]
    assert "Higher is closer" in subtitle(chart)
    assert plots.alignment_heat_data(demo, "age", "xrr").filter(axis="all")["value"].is_sorted(descending=True)


def test_dots_are_sorted_with_intervals(demo: Alignment) -> None:
    table = plots.alignment_dots_data(demo, axis="age")
    assert table.filter(~pl.col("reference"), axis="all")["value"].is_sorted()
    assert table.tail(3)["model"].to_list() == demo.references()  # once each, for all raters
    assert table["reference"].to_list() == [False] * (table.height - 3) + [True] * 3
    for model in ("model-a", "model-b", "model-c"):
        own = table.filter(model=model)
        assert own["group"][0] == "all raters"
        assert own["value"][1:].is_sorted()
        row = demo.row(model, axis="age", group="18-29")
        found = own.filter(group="18-29").select("value", "ci low", "ci high").row(0)
        assert found == (row.value, row.ci_low, row.ci_high)


def test_dots_that_do_not_fit_leave_the_middle_and_then_all_groups_out(demo: Alignment) -> None:
    chart = plots.alignment_dots(demo, max_rows=30)
    table = plots.alignment_dots_data(demo, max_rows=30)
    assert "the closest and the farthest group" in subtitle(chart)
    for (model, axis), own in table.filter(pl.col("axis") != "all").group_by("model", "axis"):
        every = [row.value for row in demo.rows if (row.model, row.axis, row.statistic) == (model, axis, "ada_met")]
        assert sorted(own["value"]) == sorted({min(every), max(every)})
    assert set(plots.alignment_dots_data(demo, max_rows=5)["axis"]) == {"all"}


def test_refusals_add_up_to_the_rated_items(demo: Alignment) -> None:
    table = plots.refusals_data(demo)
    for row in demo.accounts().filter(subset="all").iter_rows(named=True):
        own = dict(table.filter(model=row["model"]).select("state", "items").iter_rows())
        assert own == {state: row[state] for state in ("answered", "refused", "unreadable", "failed", "missing")}
    sums = table.group_by("model").agg(pl.col("share").sum())
    assert sums["share"].to_list() == pytest.approx([1.0] * 3)
    assert table["model"].unique(maintain_order=True).to_list() == ["model-c", "model-b", "model-a"]
    assert plots.refusals_data(demo, "bias")["rated items"].unique().to_list() == [96]
    with pytest.raises(SelectionError, match="there is no subset 'nothing'"):
        plots.refusals(demo, "nothing")


def test_distances_are_those_of_the_result_and_no_answer_is_a_bar_of_its_own(demo: Alignment) -> None:
    chart, table = drawn("distance_histogram", demo)
    counts = table.group_by("model").agg(pl.col("items").sum(), pl.col("share").sum()).sort("model")
    assert counts["items"].to_list() == [300, 300, 300]
    assert counts["share"].to_list() == pytest.approx([1.0] * 3)
    silent = {row["model"]: row for row in records(chart, "what") if row["what"] == "no answer"}
    assert silent["model-c"]["items"] == 53
    assert silent["model-c"]["at"] > 4
    assert "model-a" not in silent


def test_wins_are_those_of_the_standings(demo: Alignment) -> None:
    _, table = drawn("alignment_wins", demo)
    expected = demo.standings().filter(axis="gender × ethnicity")
    keys = ["model", "group"]
    both = table.join(expected, on=keys)
    assert both.height == expected.height == table.height
    assert both["wins"].to_list() == both["wins_right"].to_list()
    assert both["margin at equal sizes"].to_list() == both["matched"].to_list()
    assert both["margin"].to_list() == both["margin_right"].to_list()


def test_items_are_sorted_by_ratings_and_many_are_put_together(demo: Alignment) -> None:
    chart, table = drawn("alignment_items", demo)
    bands = table["band"].n_unique()
    assert bands == 50  # of more items
    assert f"{demo.settings['n_items']:,} items in 50 bands" in subtitle(chart)
    rows = {(row["voice"], row["band"]): row["value"] for row in records(chart, "voice", "band")}
    humans = [rows[0, band] for band in range(bands)]
    assert humans == sorted(humans)
    assert len(rows) == bands * (len(demo.voices) + 1)
    alone = pv.alignment(None, pl.DataFrame({"model": "m", "item": [1, 2], "point": [0, 1]}), scale="0:1")
    assert "items are sorted by ratings" in words(plots.alignment_items(alone))


def test_without_draws_or_values_words_stand_instead(bare: Alignment, undefined: Alignment) -> None:
    ratings = rated(["north", "south"])
    still = aligned(ratings, asked(ratings, ["one"]), bootstrap=0, permutations=0)
    assert words(plots.alignment_wins(still, "team")) == "Items were not resampled."
    assert "No model has a value" in words(plots.alignment_heat(undefined))
    assert "No model has a value" in words(plots.alignment_dots(undefined))
    assert "Framed" not in subtitle(plots.alignment_heat(bare))
    assert "95 % interval from" not in subtitle(plots.alignment_dots(bare))


def test_a_model_without_a_value_keeps_its_row(prompted: Alignment) -> None:
    rows = tuple(replace(row, value=math.nan) if row.model == "two" else row for row in prompted.rows)
    chart = plots.alignment_heat(replace(prompted, rows=rows))
    assert "Empty cells have no value" in subtitle(chart)
    assert "two (plain)" in chart.to_json()
    assert {row["who"] for row in records(chart, "value", "who") if row["value"] is None} == {
        "two (plain)", "two (as a friend)",
    }  # fmt: skip


def test_several_prompts_are_told_apart(prompted: Alignment) -> None:
    for name in NAMES:
        chart, table = drawn(name, prompted)
        models = table.filter(~pl.col("reference")) if "reference" in table.columns else table
        assert set(models["prompt"]) == {"plain", "as a friend"}
        assert "one (as a friend)" in chart.to_json()


def test_one_prompt_is_not_told(demo: Alignment) -> None:
    for name in NAMES:
        assert "prompt" not in drawn(name, demo)[1].columns


def test_many_models_and_groups_are_cut_and_that_is_said(many: Alignment) -> None:
    chart, table = drawn("alignment_heat", many)
    assert "30 of 60 models shown" in subtitle(chart)
    assert "24 of 60 groups shown" in subtitle(chart)
    best = sorted(many.rows, key=lambda row: (row.value, row.model))
    first = [row.model for row in best if (row.kind, row.statistic, row.subset) == ("voice", "ada_met", "all")]
    assert table["model"].unique(maintain_order=True).to_list() == [*first[:30], *many.references()]
    assert plots.alignment_heat_data(many, max_models=None, max_groups=None).height == (60 + 3) * 61
    assert "9 of 60 models shown" in subtitle(drawn("distance_histogram", many)[0])
    assert "those that answered least" in subtitle(drawn("refusals", many)[0])


def test_raters_on_their_own_are_not_named() -> None:
    ratings = rated(["north", "south"])
    found = aligned(ratings, asked(ratings, ["one"]), ("rater", "team"), min_group_size=1)
    for name in ("alignment_heat", "alignment_dots"):
        chart, table = drawn(name, found)
        assert "secret" not in chart.to_json()
        assert "rater" not in table["axis"].to_list()
    assert "secret" not in plots.alignment_wins(found, "rater").to_json()
    assert plots.alignment_wins_data(found, "rater").is_empty()


def test_unknown_axis_and_statistic_are_errors(demo: Alignment) -> None:
    with pytest.raises(SelectionError, match="there is no axis 'shoe size'"):
        plots.alignment_heat(demo, "shoe size")
    with pytest.raises(SelectionError, match="there is no statistic 'gai'"):
        plots.alignment_dots(demo, "gai")


def test_names_are_text_in_html_too(hostile: Alignment, tmp_path: Path) -> None:
    for name in NAMES:
        chart, _ = drawn(name, hostile)
        path = plots.write_chart(chart, tmp_path / f"{name}.html")
        assert "<script>alert" not in path.read_text(encoding="utf-8")


def test_states_have_colours_that_everyone_can_tell_apart() -> None:
    from plurivox.plots.alignment import _STATES

    assert len(set(_STATES.values())) == 5
    assert {_STATES["answered"], _STATES["refused"], _STATES["unreadable"]} <= set(theme.COLOURS)
