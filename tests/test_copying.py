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


def test_copies_are_equal_and_apart() -> None:
    made = chart()
    before = made.to_dict()
    with quick_copies():
        copied = made.copy()
        assert copied.to_dict() == before
        assert copied is not made
        copied.vconcat[1].mark.size = 99
        copied.vconcat[1].encoding.y.shorthand = "changed:Q"
        copied.vconcat[0].spec.layer[0].encoding.x = alt.Undefined
    assert made.to_dict() == before


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


def test_an_altair_without_that_function_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(schemapi, "_deep_copy")
    with quick_copies():
        assert not hasattr(schemapi, "_deep_copy")
    assert not hasattr(schemapi, "_deep_copy")


def test_drawing_leaves_altair_alone(found: Any) -> None:
    with theme.trusted():
        plots.leniency_forest(found)
    assert schemapi._deep_copy is COPY
