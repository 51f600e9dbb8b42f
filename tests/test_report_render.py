"""How text, tables and charts become parts of a page: terms with their meaning, tables as data, pictures made small."""

from __future__ import annotations

import html
import io
import json
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.plots.theme import INK
from plurivox.report.parts import DataTable, Prose, Section, Switch
from plurivox.report.render import LONGEST, TERMS, Explained, pictures, slim, table_data, with_unique_ids
from support import six

pytest.importorskip("vl_convert")


def test_a_term_is_explained_where_it_is_first_used_alone() -> None:
    explained = Explained(linked=True)
    first, second = explained("GAI, then GAI again, and MPA."), explained("GAI and MPA.")
    assert re.findall(r'href="#([\w-]+)"', first) == ["term-gai", "term-mpa"]
    assert html.escape(TERMS["GAI"][1]) in first
    assert Explained(linked=True)("bias, where answers shift") == "bias, where answers shift"  # words of everybody
    assert second == "GAI and MPA."
    assert "term-gai" in Explained(linked=True)("GAI")  # each page has its own first use
    explained = Explained(linked=True)  # names for the same term are one term, and the longest wins
    assert "term-irr" in explained("alpha")
    assert explained("IRR") == "IRR"
    assert re.findall(r'href="#([\w-]+)"', Explained(linked=True)("GAI of plurality")) == ["term-gai-plurality"]


@pytest.mark.parametrize("text", ["AGAIN", "GAIN", "GAI2", "xGAI", "alphabet", "THMX"])
def test_a_term_inside_a_word_is_none(text: str) -> None:
    assert Explained(linked=True)(text) == text


@pytest.mark.parametrize("text", ["(GAI)", "GAI.", "GAI/x", "a-GAI"])
def test_a_term_beside_a_sign_is_one(text: str) -> None:
    assert "term-gai" in Explained(linked=True)(text)


HOSTILE = [
    "<script>alert(1)</script> GAI <b>", 'a " onmouseover="alert(1) GAI', "5 < 6 & 7 > GAI 'x'", "&lt; GAI &amp;",
    "GAI", "",
]  # fmt: skip


@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize("text", HOSTILE)
def test_all_text_around_terms_is_text(text: str, linked: bool) -> None:
    made = Explained(linked=linked)(text)
    tags = re.findall(r"<[^>]*>", made)
    assert all(re.fullmatch(r'<a class="term" href="#[\w-]+" title="[^"<>]*">|<abbr title="[^"<>]*">|</(a|abbr)>', tag)
               for tag in tags)  # fmt: skip
    assert html.unescape(re.sub(r"<[^>]*>", "", made)) == text
    assert len(tags) == 2 * ("GAI" in text)


def data(frame: pl.DataFrame, digits: dict[str, int] | None = None) -> list[dict[str, Any]]:
    text = table_data(frame, digits or {})
    assert not set("<>&\u2028\u2029") & set(text)  # nothing that could end the script or a line of it
    found: list[dict[str, Any]] = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    return found


def test_numbers_that_are_none_are_null_and_infinities_are_signs() -> None:
    [column] = data(pl.DataFrame({"x": [0.1234567, float("nan"), None, float("inf"), -float("inf"), -0.0]}))
    assert column == {"n": "x", "v": [0.123457, None, None, "∞", "−∞", 0.0], "d": 3}


def test_six_digits_are_kept_and_whole_numbers_are_whole() -> None:
    frame = pl.DataFrame({"n": [2**62, None], "x": [123456789.0, 1.23456789e-12], "y": [1e300, 0.5]})
    n, x, y = data(frame, {"x": 1})
    assert n == {"n": "n", "v": [2**62, None], "d": 0}
    assert x == {"n": "x", "v": [123457000.0, 1.23457e-12], "d": 1}
    assert y["v"] == [1e300, 0.5]
    assert six(0.12345678) == 0.123457


def test_truth_is_in_words_and_texts_that_repeat_are_pointed_at() -> None:
    [column] = data(pl.DataFrame({"ok": [True, False, None]}))
    assert column == {"n": "ok", "v": ["yes", "no", None]}
    often, rarely = data(pl.DataFrame({"a": ["x", "y", None, "x", "x", "y", "x"], "b": list("abcdefg")}))
    assert often == {"n": "a", "w": ["x", "y", None], "v": [0, 1, 2, 0, 0, 1, 0]}
    assert rarely == {"n": "b", "v": list("abcdefg")}


@pytest.mark.parametrize("text", [
    "</script><script>alert(1)</script>", "<!--", "]]>", "a\u2028b\u2029c", "&amp;", '"\\', "line\nbreak", "مرحبا 🦊",
])  # fmt: skip
def test_any_text_comes_back_as_it_was(text: str) -> None:
    value, name = data(pl.DataFrame({"a": [text], text: ["b"]}))
    assert value["v"] == [text.replace("\u2028", "\ufffd").replace("\u2029", "\ufffd")]
    assert name["v"] == ["b"]


@pytest.mark.parametrize("sign", ["\x1b", "\x07", "\x00", "\x7f", "\x9b", "\u202e", "\u2066"])
def test_what_would_steer_a_terminal_is_not_handed_on(sign: str) -> None:
    """JSON writes ESC as six letters, which the script would read as ESC, show, and copy for a terminal."""
    value, name = data(pl.DataFrame({"a": [f"x{sign}[31m"], f"b{sign}": ["y"]}))
    assert value["v"] == ["x\ufffd[31m"]
    assert name["n"] == "b\ufffd"


def test_long_texts_are_cut_and_that_is_said() -> None:
    [column] = data(pl.DataFrame({"t": ["a" * LONGEST, "b" * (LONGEST + 1), "c" * 12_345]}))
    assert column["v"] == [
        "a" * LONGEST, "b" * LONGEST + " … (301 characters)", "c" * LONGEST + " … (12,345 characters)"
    ]  # fmt: skip


def test_empty_tables_have_their_columns() -> None:
    assert data(pl.DataFrame({"a": [], "n": []}, schema={"a": pl.String, "n": pl.Int64})) == [
        {"n": "a", "v": []}, {"n": "n", "v": [], "d": 0}
    ]  # fmt: skip
    assert data(pl.DataFrame()) == []


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Date, pl.List(pl.Int64), pl.Object])
def test_other_kinds_of_values_are_text(dtype: Any) -> None:
    import datetime

    value = {pl.Date: datetime.date(2024, 5, 6), pl.List(pl.Int64): [1, 2]}.get(dtype, "word")
    [column] = data(pl.DataFrame({"x": pl.Series([value], dtype=dtype)}))
    assert len(column["v"]) == 1
    assert isinstance(column["v"][0], str)
    assert "d" not in column


def test_every_block_has_an_id_of_its_own() -> None:
    def table(name: str) -> DataTable:
        return DataTable(name, name, pl.DataFrame())

    figures = [figure("same"), figure("same")]
    sections = [
        Section("a", "A", "", [table("x"), table("x"), Prose("x"), *figures], more=[table("x"), table("same-table")]),
        Section("x", "X", "", [table("a"), table("main"), table("a-more"), Switch("a", "by", [("1", figures[0])])],
                lead_figure=figure("lead")),
        Section("y", "Y", "", [table("lead"), table("lead-title")]),
    ]  # fmt: skip
    ids: list[str] = []
    for section in with_unique_ids(sections):
        ids += [section.id, f"{section.id}-more"]
        for block in (*section.blocks, *section.more):
            if isinstance(block, Switch):
                ids.append(block.id)
            for one in [one for _, one in block.figures] if isinstance(block, Switch) else [block]:
                name = getattr(one, "id", None)
                ids += [] if name is None else [name] if isinstance(one, DataTable) else [
                    name, f"{name}-table", f"{name}-title"
                ]  # fmt: skip
    ids += ["answer", "appendix", "main", "lead", "lead-table", "lead-title"]
    assert len(ids) == len(set(ids))


def figure(name: str) -> Any:
    from plurivox.plots.theme import saying
    from plurivox.plots.writing import Picture
    from plurivox.report.parts import Figure

    chart = Picture.untitled(saying("Its own title", "There is nothing to draw."))
    return Figure(name, name, chart, chart, "What it shows.", "How to read it.", pl.DataFrame({"a": [1]}))


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    """Charts with marks, grids, strips that are seen through, gradients, text that is turned and text of data."""
    from plurivox import plots
    from plurivox.plots.writing import to_svg

    teams = {'<b>"bold" & 0.12345</b>': 0.5, "3.14159 <g></g>": 0.5}
    made = pv.simulate(n_items=30, n_raters=40, attributes={"team": teams, "age": {"1": 0.5, "2": 0.5}}, seed=3)
    asked: Any = {"permutations": 19, "interval": "none"}
    varied = pv.variation(made.ratings, ["team", "age"], **asked)
    seen = pv.overview(made.ratings, ["team"])
    agreed = pv.cohesion(made.ratings, ["team"], pairs=True, **asked)
    charts = {
        "leniency": plots.leniency_forest(varied), "use": plots.scale_use(seen, "team"),
        "pairs": plots.xrr_matrix(agreed, "team"), "design": plots.design(seen),
    }  # fmt: skip
    return {name: to_svg(chart, f"id-{name}") for name, chart in charts.items()}


def texts(svg: str) -> list[str]:
    return ["".join(one.itertext()) for one in ElementTree.fromstring(svg).iter() if one.tag.endswith("}text")]


def attributes(svg: str, *names: str) -> list[str]:
    return [one.attrib[name] for one in ElementTree.fromstring(svg).iter() for name in names if name in one.attrib]


def test_numbers_that_are_next_to_nothing_are_nothing() -> None:
    line = '<line transform="translate(20.04,63)" x2="{}" y2="0" stroke="#767676"/>'
    for tiny in ("7.105e-14", "-7.105427357601002e-15", "1e-15", "0.04", "-0.04"):
        assert slim(f"<svg>{line.format(tiny)}</svg>") == '<svg><path d="M20,63h0" stroke="#767676"/></svg>'
    assert slim('<svg><path d="M1.25e-8,12.345"/></svg>') == '<svg><path d="M0,12.3"/></svg>'


def test_circles_are_circles_and_groups_without_a_meaning_go() -> None:
    circle = '<path aria-label="1" transform="translate(5,6.25)" d="M4,0A4,4,0,1,1,-4,0A4,4,0,1,1,4,0" fill="red"/>'
    kept = '<g transform="translate(1,2)">{}</g>'
    round_one = '<circle aria-label="1" cx="5" cy="6.2" r="4" fill="red"/>'
    assert slim(f"<svg><g><g>{kept.format(f'<g>{circle}</g>')}</g></g></svg>") == f"<svg>{kept.format(round_one)}</svg>"
    said = '<g aria-label="p > .05"><g><path d="M1,1h2"/></g></g>'
    assert slim(f"<svg><g>{said}</g></svg>") == '<svg><g aria-label="p > .05"><path d="M1,1h2"/></g></svg>'
    ellipse = '<path transform="translate(5,6)" d="M4,0A4,3,0,1,1,-4,0A4,3,0,1,1,4,0"/>'
    assert slim(f"<svg>{ellipse}</svg>") == f"<svg>{ellipse}</svg>"


def test_what_a_picture_says_is_untouched(drawn: dict[str, str]) -> None:
    for svg in drawn.values():
        small = slim(svg)
        assert len(small) < 0.7 * len(svg)
        assert texts(small) == texts(svg)
        assert attributes(small, "aria-label") == attributes(svg, "aria-label")
        for names in (("id",), ("offset", "x1", "y1"), ("stroke-opacity", "fill-opacity"), ("clip-path",)):
            opaque = {"1"} if "fill-opacity" in names else set()
            assert attributes(small, *names) == [one for one in attributes(svg, *names) if one not in opaque]
    assert any("0.12345" in one for svg in drawn.values() for one in texts(svg))
    assert any("3.14159 <g></g>" in one for svg in drawn.values() for one in attributes(svg, "aria-label"))


def pixels(svg: str) -> Any:
    """Draw a picture over white, with the font and the ink that a page gives to all; return how light pixels are."""
    import vl_convert

    image = pytest.importorskip("PIL.Image")
    svg = svg.replace("<svg ", '<svg font-family="Arial, \'Liberation Sans\', sans-serif" font-size="11px" ', 1)
    png = vl_convert.svg_to_png(re.sub(r"<text(?![^>]* fill=)", f'<text fill="{INK}"', svg))
    colour = np.asarray(image.open(io.BytesIO(png)).convert("RGBA")).astype(float)
    seen = colour[..., 3:] / 255
    return (colour[..., :3] * seen + 255 * (1 - seen)).mean(axis=2)


def test_nothing_visible_is_lost(drawn: dict[str, str]) -> None:
    """Edges move by a twentieth of a pixel at most, so that no pixel changes by much, and few at all."""
    for name, svg in drawn.items():
        before, after = pixels(svg), pixels(slim(svg))
        assert before.shape == after.shape
        change = np.abs(before - after)
        assert change.max() < 64, name  # a quarter of the way from white to black
        assert change.mean() < 0.2, name
        assert (before < 250).mean() > 0.01, name  # there is something to see


def test_both_pictures_of_a_figure_say_the_same_once() -> None:
    from plurivox import plots
    from plurivox.report.parts import drawn as figure_of

    made = pv.simulate(n_items=20, n_raters=30, attributes={"team": {"a": 0.5, "b": 0.5}}, seed=3)
    found = pv.variation(made.ratings, "team", permutations=9, interval="none")
    shown = pictures(figure_of("leniency_forest", found, "forest", "Title", "Alt", "Caption"))
    labels = attributes(shown["wide"], "aria-label")
    assert len(labels) >= 2
    assert shown["narrow"].count(" data-said") == len(labels)
    assert "aria-label" not in shown["narrow"]
    widths = [float(re.findall(r'width="(\d+)"', shown[name])[0]) for name in ("wide", "narrow")]
    assert widths[0] > 700
    assert widths[1] <= 340
    assert "Title" not in texts(shown["wide"])
    assert plots.leniency_forest_data(found).height == 2
