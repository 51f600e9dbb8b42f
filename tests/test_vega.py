"""Charts are specifications as Altair writes them, which is another way to make the same, and hold its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

alt = pytest.importorskip("altair", reason="Altair, which checks specifications, is not installed")
pytest.importorskip("vl_convert", reason="charts need plurivox[report]")

from all_charts import DRAWN, charts  # noqa: E402
from plurivox import plots  # noqa: E402
from plurivox.plots.vega import MIME, SCHEMA, Chart, field, hconcat, joined, layer, vconcat  # noqa: E402

ROWS: list[dict[str, Any]] = [{"a": 1.5, "b": "x", "of": "one"}, {"a": None, "b": "y", "of": "two"}]


@pytest.mark.parametrize("name", DRAWN)
def test_every_chart_holds_altairs_schema_and_comes_back_from_altair(name: str) -> None:
    spec = charts()(name)[0].to_dict()
    assert alt.Chart.from_dict(spec).to_dict() == spec


def base() -> tuple[Chart, Any]:
    """Return a chart and one of Altair that are equal."""
    ours = Chart.of(ROWS).encode(y=field("b:N", sort=["x", "y"], axis=None))
    return ours, alt.Chart(alt.InlineData(values=ROWS)).encode(y=alt.Y("b:N", sort=["x", "y"], axis=None))


def test_layers_that_share_rows_have_them_once() -> None:
    ours, theirs = base()
    made = layer(
        ours.mark("rule", clip=True).encode(x="a:Q", x2="end"),
        ours.filter("datum.a > 1").filter("(datum.of === 'one')").mark("point").encode(
            x=field("a:Q", scale={"domain": [0, 1]}), color={"condition": {"test": "datum.a > 1", "value": "red"},
                                                            "value": "blue"},
        ),
    ).properties(width=90, height={"step": 12}, name="both")  # fmt: skip
    colour = alt.condition("datum.a > 1", alt.value("red"), alt.value("blue"))
    other = alt.layer(
        theirs.mark_rule(clip=True).encode(x="a:Q", x2=alt.X2("end")),
        theirs.transform_filter("datum.a > 1").transform_filter(alt.datum.of == "one").mark_point().encode(
            x=alt.X("a:Q", scale=alt.Scale(domain=[0, 1])), color=colour
        ),
    ).properties(width=90, height=alt.Step(12), name="both")  # fmt: skip
    assert made.to_dict() == other.to_dict()
    assert "data" in made.spec
    assert not any("data" in part.spec for part in made.spec["layer"])


def test_parts_with_different_rows_keep_them() -> None:
    ours, theirs = base()
    more = [{"t": "text"}]
    made = vconcat(hconcat(ours.mark("bar"), ours.mark("tick"), spacing=3), Chart.of(more).mark("text"), spacing=4)
    text = alt.Chart(alt.InlineData(values=more)).mark_text()
    other = alt.vconcat(alt.hconcat(theirs.mark_bar(), theirs.mark_tick(), spacing=3), text, spacing=4)
    assert made.to_dict() == other.to_dict()
    assert len(made.to_dict()["datasets"]) == 2
    assert (
        joined("concat", [ours.mark("bar")], columns=1).to_dict() == alt.concat(theirs.mark_bar(), columns=1).to_dict()
    )


def test_facets() -> None:
    ours, theirs = base()
    made = layer(ours.mark("bar")).facet(field("of:N", title=None), 2, resolve={"scale": {"x": "independent"}})
    other = alt.layer(theirs.mark_bar()).facet(facet=alt.Facet("of:N", title=None), columns=2)
    assert made.to_dict() == other.resolve_scale(x="independent").to_dict()


def test_steps_leave_a_chart_as_it_was() -> None:
    ours, _ = base()
    before = ours.to_json()
    ours.mark("bar").filter("datum.a > 1").encode(x="a:Q", y="b:O").properties(width=3, title="other")
    layer(ours, ours.mark("text")).facet(field("of:N"), 1)
    spec = ours.to_dict()
    spec["encoding"]["y"]["sort"].append("z")
    assert ours.to_json() == before


def test_values_that_are_not_finite_are_null() -> None:
    frame = pl.DataFrame({"a": [1.0, float("nan"), float("inf"), None], "b": [1, 2, 3, 4]})
    (rows,) = Chart.of(frame).to_dict()["datasets"].values()
    assert rows == [{"a": 1.0, "b": 1}, {"a": None, "b": 2}, {"a": None, "b": 3}, {"a": None, "b": 4}]


def test_equal_rows_have_one_name() -> None:
    made = layer(Chart.of(ROWS).mark("bar"), Chart.of([dict(row) for row in ROWS]).mark("text"))
    assert len(made.to_dict()["datasets"]) == 1


def test_vl_convert_knows_the_version_that_we_write() -> None:
    import vl_convert

    assert SCHEMA.rpartition("/v")[2].rpartition(".")[0].rpartition(".")[0] in vl_convert.get_vegalite_versions()
    assert alt.SCHEMA_URL.startswith(SCHEMA.split("/v6.")[0])


def test_notebooks_get_the_specification_and_a_picture(tmp_path: Path) -> None:
    chart = charts()("group_sizes")[0]
    shown = chart._repr_mimebundle_()
    assert shown[MIME] == chart.to_dict()
    assert shown["image/svg+xml"].startswith("<svg")
    assert shown["text/plain"] == "<Chart: Raters per group>"
    chart.save(tmp_path / "chart.json")
    assert json.loads((tmp_path / "chart.json").read_text()) == chart.to_dict() == json.loads(chart.to_json())


def test_charts_of_altair_are_written_too(tmp_path: Path) -> None:
    chart = charts()("group_sizes")[0]
    other = alt.Chart.from_dict(chart.to_dict())
    assert plots.to_svg(other, "a") == plots.to_svg(chart, "a")
    titled = other.properties(title="Another title")
    for kind in ("svg", "png", "json", "html"):
        mine = plots.write_chart(chart, tmp_path / f"mine.{kind}").read_bytes()
        assert plots.write_chart(titled, tmp_path / f"other.{kind}").read_bytes() != mine
