"""Copies of charts that take no time are the copies that Altair makes."""

from __future__ import annotations

from typing import Any

import pytest

import plurivox as pv

alt = pytest.importorskip("altair")
schemapi = pytest.importorskip("altair.utils.schemapi")

from plurivox import plots  # noqa: E402
from plurivox.plots import leniency, theme, variation, writing  # noqa: E402
from plurivox.plots.copying import quick_copies  # noqa: E402

COPY = schemapi._deep_copy


@pytest.fixture(scope="module")
def found() -> Any:
    made = pv.simulate(n_items=20, n_raters=30, attributes={"team": {"a": 0.5, "b": 0.5}}, seed=3)
    return pv.variation(made.ratings, "team", permutations=9, interval="none")


def test_a_chart_is_the_same_with_and_without(found: Any) -> None:
    plain = leniency.leniency_forest(found), variation.variance_shares(found)
    quick = plots.leniency_forest(found), plots.variance_shares(found)
    assert [one.to_dict() for one in quick] == [one.to_dict() for one in plain]
    for one, other in zip(quick, plain, strict=True):
        assert writing.to_svg(one, "x") == writing.to_svg(other, "x")


def chart() -> Any:
    values = alt.Data(values=[{"a": 1, "b": [2, {"c": 3}]}])
    points = alt.Chart(values).mark_point(size=3).encode(x="a:Q", y=alt.Y("b:N", sort=["x", "y"]))
    return alt.layer(points, points.mark_text()).facet("a:N") & points


def test_copies_are_equal_and_apart_in_what_altair_changes() -> None:
    made = chart()
    before = made.to_dict()
    with quick_copies():
        copied = made.copy()
        assert copied.to_dict() == before
        assert copied is not made
        copied.vconcat[1].name = "other"
        copied.vconcat[0].spec.layer[0].name = "other"
        copied.vconcat[0].spec.layer.pop()
    assert made.to_dict() == before


def test_charts_stay_as_they_are_when_they_become_parts_of_others() -> None:
    with quick_copies():
        points = alt.Chart(alt.Data(values=[{"a": 1}]), name="points").mark_point().encode(x="a:Q")
        picked = points.add_params(alt.selection_point(name="pick"))
        parts = [points, picked, alt.layer(points, points.mark_text()), points.facet("a:N")]
        before = [one.to_dict() for one in parts]
        alt.vconcat(*parts, points.encode(y=alt.value(3))).configure_axis(grid=False).to_dict()
        alt.layer(points, picked).properties(width=90).facet("a:N").to_dict()
    assert [one.to_dict() for one in parts] == before


def test_texts_values_and_conditions_become_the_channels_that_altair_makes_of_them() -> None:
    def made() -> Any:
        colour = alt.condition("datum.a > 1", alt.value("red"), alt.value("blue"))
        dashed = alt.condition("datum.a > 1", "b:N", alt.value([1, 2]))
        base = alt.Chart(alt.Data(values=[{"a": 1, "b": "x"}])).mark_text()
        return base.encode(x=alt.value(4), y="mean(a):Q", text="b:N", color=colour, strokeDash=dashed, tooltip=["a:Q"])

    with quick_copies():
        quick = made().to_dict()
    assert quick == made().to_dict()


def test_what_goes_by_reference_does() -> None:
    made = chart()
    with quick_copies():
        own, shared = made.copy(), made.copy(ignore=["vconcat"])
    assert own.vconcat[1] is not made.vconcat[1]
    assert shared.vconcat[1] is made.vconcat[1]


def test_altair_is_as_before_after_it_even_if_something_fails() -> None:
    with quick_copies():
        assert schemapi._deep_copy is not COPY
    assert schemapi._deep_copy is COPY
    with pytest.raises(KeyError), quick_copies():
        raise KeyError
    assert schemapi._deep_copy is COPY


def test_one_inside_another_changes_nothing() -> None:
    with quick_copies():
        first = schemapi._deep_copy
        with quick_copies():
            assert schemapi._deep_copy is first
        assert schemapi._deep_copy is first  # the inner one does not end the outer one
    assert schemapi._deep_copy is COPY


def test_threads_that_overlap_leave_altair_as_it_was() -> None:
    first, second = quick_copies(), quick_copies()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert schemapi._deep_copy is not COPY  # the second is still at work
    second.__exit__(None, None, None)
    assert schemapi._deep_copy is COPY


def test_an_altair_without_that_function_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(schemapi, "_deep_copy")
    with quick_copies():
        assert not hasattr(schemapi, "_deep_copy")
    assert not hasattr(schemapi, "_deep_copy")


def test_drawing_leaves_altair_alone(found: Any) -> None:
    with theme.trusted():
        plots.leniency_forest(found)
    assert schemapi._deep_copy is COPY
