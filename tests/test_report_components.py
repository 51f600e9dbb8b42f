"""Each component of the report as HTML, compared with a snapshot.

``PLURIVOX_UPDATE_SNAPSHOTS=1 pytest tests/test_report_components.py`` writes them anew; look at the difference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import polars as pl
import pytest

import plurivox as pv
from plurivox.report.parts import Block, Brief, DataTable, Figure, Finding, Prose, Section, Terms
from plurivox.report.render import page
from plurivox.report.settings import ReportSettings
from plurivox.study import Study

pytest.importorskip("altair")
FOLDER = Path(__file__).parent / "snapshots"


def made(*blocks: Block, findings: tuple[Finding, ...] = (), remarks: tuple[str, ...] = ()) -> str:
    """A page with one section."""
    ratings = pv.simulate(n_items=3, n_raters=2, models=(), trained=0).ratings
    section = Section("part", "A <part>", "What it asks & why.", blocks, findings, remarks)
    return page(Brief(Study(ratings), ReportSettings(title="A title")), findings, [section])


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


TABLE = pl.DataFrame(
    {
        "group": ["<b>A</b>", "=1+1", None],
        "n": [1234, 5, None],
        "value": [0.12345, float("nan"), -0.0],
        "ok": [True, False, None],
    }
)


def test_a_table() -> None:
    block = DataTable("numbers", "Numbers & names", TABLE, {"value": 2}, "A note.", search=True)
    html = made(block)
    same_as_snapshot("table", cut(html, '<div class="table" id="numbers">', '<p class="note">A note.</p>'))


def test_an_empty_table() -> None:
    html = made(DataTable("none", "Nothing", TABLE.head(0)))
    same_as_snapshot("empty-table", cut(html, '<div class="table" id="none">', "</table>"))


def test_a_figure() -> None:
    from plurivox.plots.theme import saying

    chart = saying("Its own title", "There is nothing to draw.")
    html = made(
        Figure("figure", "A <figure>", chart, 'What "it" shows.', "How to read it.", TABLE.select("group", "n"))
    )
    same_as_snapshot("figure", cut(html, '<figure id="figure"', "</figure>"))


def test_findings_and_remarks() -> None:
    findings = (Finding("Group <A> stands out, p < .001.", 3.0, "part"), Finding("Item 7 & others.", 1.0, "part"))
    html = made(Prose("Said."), findings=findings, remarks=("Two groups are withheld.",))
    same_as_snapshot("findings", cut(html, '<section id="findings"', "</section>"))


def test_no_findings() -> None:
    same_as_snapshot("no-findings", cut(made(), '<section id="findings"', "</section>"))


def test_prose_and_terms() -> None:
    html = made(Prose("Plain <text> & more."), Terms((("term", "what it <means>"), ("other", "something"))))
    same_as_snapshot("prose-and-terms", cut(html, '<section id="part"', "</section>"))


def test_the_head() -> None:
    html = re.sub(r"<style>.*?</style>", "<style>…</style>", made(), flags=re.DOTALL)
    html = re.sub(r"sha256-[^']+", "sha256-…", html).replace(pv.__version__, "VERSION")
    same_as_snapshot("head", cut(html, "<!doctype html>", "</header>"))
