"""Each component of the report as HTML, compared with a snapshot.

``PLURIVOX_UPDATE_SNAPSHOTS=1 pytest tests/test_report_components.py`` writes them anew; look at the difference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plurivox as pv
from plurivox.infer.result import Statement
from plurivox.report.answer import Answer, ScreenLine, answer_of
from plurivox.report.parts import (
    CHECK,
    Action,
    Block,
    Brief,
    DataTable,
    Figure,
    Finding,
    Prose,
    Section,
    Switch,
    Terms,
    Tile,
)
from plurivox.report.render import page
from plurivox.report.settings import ReportSettings
from plurivox.study import Study

pytest.importorskip("vl_convert")
FOLDER = Path(__file__).parent / "snapshots"


def made(*blocks: Block, answer: Answer | None = None, **parts: Any) -> str:
    """A page with one section."""
    ratings = pv.simulate(n_items=3, n_raters=2, models=(), trained=0).ratings
    section = Section("part", "A <part>", "What it asks & why.", blocks, **parts)
    shown = answer_of([section], section.findings, set()) if answer is None else answer
    return page(Brief(Study(ratings), ReportSettings(title="A title")), shown, [section])


def same_as_snapshot(name: str, html: str) -> None:
    text = re.sub(r"<svg.*?</svg>", "<svg>…</svg>", html, flags=re.DOTALL).strip() + "\n"
    path = FOLDER / f"{name}.html"
    if os.environ.get("PLURIVOX_UPDATE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def cut(html: str, start: str, end: str) -> str:
    found = re.search(re.escape(start) + ".*?" + re.escape(end), html, flags=re.DOTALL)
    assert found is not None
    return found[0]


TABLE = pl.DataFrame({
    "group": ["<b>A</b>", "=1+1", None], "n": [1234, 5, None], "value": [0.12345, float("nan"), -0.0],
    "ok": [True, False, None],
})  # fmt: skip


def test_a_table() -> None:
    block = DataTable("numbers", "Numbers & names", TABLE, {"value": 2}, "A note.", search=True)
    html = made(block)
    same_as_snapshot("table", cut(html, '<div class="table block" id="numbers">', '<p class="note">A note.</p>'))


def test_an_empty_table() -> None:
    html = made(DataTable("none", "Nothing", TABLE.head(0)))
    same_as_snapshot("empty-table", cut(html, '<div class="table block" id="none">', "data-more></button></p>"))


def figure(name: str, **more: Any) -> Figure:
    from plurivox.plots.theme import saying
    from plurivox.plots.writing import Picture

    chart = Picture.untitled(saying("Its own title", "There is nothing to draw."))
    return Figure(name, f"A <{name}>", chart, chart, 'What "it" shows.', "How to read it.",
                  TABLE.select("group", "n"), **more)  # fmt: skip


def test_a_figure() -> None:
    html = made(figure("figure", measure="What is <measured>.", half=True))
    same_as_snapshot("figure", cut(html, '<figure id="figure"', "</figure>"))


def test_a_switch() -> None:
    html = made(Switch("choose", "Groups & <b>", [("one", figure("first")), ("<two>", figure("second"))]))
    html = re.sub(r"<figure.*?</figure>", "<figure>…</figure>", html, flags=re.DOTALL)
    same_as_snapshot("switch", cut(html, '<div class="switch" id="choose">', "</section>"))


def findings() -> list[Finding]:
    return [
        Finding(Statement("Group <A> stands out, p < .001.", 3.0, claim=True, p=0.0001, subject="Group <A>",
                          short="stands out & shines"), "part"),
        Finding(Statement("Item 7 & others.", 2.1), "part", fact=True),
        Finding(Statement("Nobody knows <why>.", 2.4, standing="open"), "part"),
        Finding(Statement("Before correction only: <B>.", 1.0, standing="weak"), "part"),
    ]  # fmt: skip


def test_the_first_screen() -> None:
    screen = Answer(
        "What was <rated>.", "They agree & alpha is 0.5.", "Of 12 groups two differ",
        [ScreenLine("Group <A> stands out", "p = .010 after correction", "part")], 3, "",
        [ScreenLine("Nobody knows <why>.", "", "part")], [Action(CHECK, "what <A> means.", "part")],
        [Tile("44%", "of <what>", "beside & below", "part")], figure("lead"),
    )  # fmt: skip
    same_as_snapshot("first-screen", cut(made(answer=screen), '<section id="answer"', "</section>"))


def test_findings_and_remarks() -> None:
    html = made(Prose("Said."), findings=findings(), remarks=("Two groups are <withheld>.",))
    same_as_snapshot("findings", cut(html, '<section id="part"', "</section>"))
    same_as_snapshot("remarks", cut(html, '<section id="remarks"', "</section>"))


def test_no_findings() -> None:
    same_as_snapshot("no-findings", cut(made(), '<section id="answer"', "</section>"))


def test_prose_and_terms() -> None:
    terms = Terms((("term-a", "term", "what it <means>"), ("term-b", "other", "something")))
    html = made(Prose("Plain <text> & more."), terms)
    same_as_snapshot("prose-and-terms", cut(html, '<section id="part"', "</section>"))


def test_the_appendix() -> None:
    html = made(Prose("Said."), more=[Prose("Plain <text> & more."), DataTable("t", "A table", TABLE)])
    same_as_snapshot("appendix", cut(html, '<p class="on">', "</details>"))


def test_the_head() -> None:
    html = re.sub(r"<style>.*?</style>", "<style>…</style>", made(), flags=re.DOTALL)
    html = re.sub(r"sha256-[^']+", "sha256-…", html).replace(pv.__version__, "VERSION")
    same_as_snapshot("head", cut(html, "<!doctype html>", "</header>"))
