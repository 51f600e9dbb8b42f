"""The report in a real browser: no error, no request, and everything a reader would click."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plurivox as pv
from plurivox.report.answer import answer_of
from plurivox.report.parts import Brief, DataTable, Section
from plurivox.report.render import page as page_of
from plurivox.report.settings import ReportSettings
from plurivox.study import Study
from support import Markup

pytest.importorskip("vl_convert")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SWITCHES = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
SHOTS = os.environ.get("PLURIVOX_SCREENSHOTS")
"""A folder to keep screenshots in, to look at them."""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as p:
        opened = p.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def demo(demo_folder: Path) -> Path:
    """The report of ``plurivox demo``, with all that a report can have."""
    return demo_folder / "plurivox-demo" / "report.html"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of which nobody knows who the raters are."""
    made = pv.simulate(n_items=40, n_raters=30, attributes={}, models=(), trained=0, seed=3)
    return pv.write_report(tmp_path_factory.mktemp("plain") / "report.html", made.ratings, bootstrap=20)


class Page:
    """A page that records what it should not do."""

    def __init__(
        self, browser: Any, path: Path, width: int = 1200, height: int = 900, address: str = "", **context: Any
    ) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": height}, **context)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri() + address)

    def shot(self, name: str) -> None:
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)

    def until(self, condition: str) -> None:
        """Wait for something to hold; how long that takes depends on how busy the machine is."""
        for _ in range(600):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(100)
        pytest.fail(f"this never was so: {condition}")

    def open_appendix(self) -> Any:
        if self.page.locator("#appendix").get_attribute("open") is None:  # a link may have opened it
            self.page.locator("#appendix > summary").click()
        assert self.page.locator("#appendix").get_attribute("open") is not None
        return self.page.locator("#appendix")

    def close(self, path: Path) -> None:
        assert self.complaints == []
        assert [
            url
            for url in self.requests
            if url.partition("#")[0] != path.as_uri() and not url.startswith(("data:", "blob:"))
        ] == []
        self.context.close()


def fill_of(table: Any) -> list[list[str]]:
    """Return the texts of the rows that a table shows, once it is drawn."""
    table.scroll_into_view_if_needed()
    table.locator("tbody").wait_for(state="attached")
    rows: list[list[str]] = table.locator("tbody").evaluate(
        "(body) => [...body.rows].map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return rows


def test_a_reader_on_a_desk(browser: Any, demo: Path) -> None:
    opened = Page(browser, demo, width=1280)
    page = opened.page
    opened.shot("desk")
    assert page.locator(".claims li").count() <= 5
    assert page.locator(".tiles li").count() <= 5
    assert not page.locator("#cohesion-table").is_visible()
    link = page.locator(".claims small a").first
    target = link.get_attribute("href")
    link.click()
    assert page.evaluate("document.activeElement.id") == target[1:]
    top = "document.activeElement.getBoundingClientRect().top"
    opened.until(f"-50 < {top} && {top} < innerHeight")
    opened.open_appendix()
    table = page.locator("#cohesion-table")
    fill_of(table)
    table.locator("th button", has_text="value").click()
    shown = [float(row[3].replace(",", "")) for row in fill_of(table) if row[3] != "–"]
    assert shown
    assert shown == sorted(shown)
    assert table.locator("th[aria-sort=ascending]").count() == 1
    table.locator("input").fill("18-29")
    rows = fill_of(table)
    assert rows
    assert all("18-29" in " ".join(row) for row in rows)
    opened.close(demo)


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_links_lead_to_where_they_point(browser: Any, demo: Path, motion: str) -> None:
    """Tables are drawn when they come near; those on the way must not push the target out of sight."""
    top = "document.activeElement.getBoundingClientRect().top"
    names = set()
    links = Page(browser, demo, reduced_motion=motion)
    addresses = links.page.locator("#answer a, .on a").evaluate_all("(all) => all.map((one) => one.hash)")
    for address in dict.fromkeys(addresses if motion == "reduce" else addresses[-1:]):
        links.page.reload()
        links.page.locator(f'main a[href="{address}"]').first.click()
        links.until(f"-50 < {top} && {top} < innerHeight && scrollY > 0")
        links.page.wait_for_timeout(300)  # what was still to be drawn is
        assert links.page.evaluate(f"-50 < {top} && {top} < innerHeight"), address
        assert links.page.evaluate("document.activeElement.id") == address[1:]
        names.add(address)
    assert motion != "reduce" or len(names) > 8
    links.close(demo)


def test_the_main_part_is_short_and_the_file_small(browser: Any, demo: Path) -> None:
    opened = Page(browser, demo, width=1280)
    assert opened.page.evaluate("document.querySelector('#appendix').offsetTop") <= 7_000
    assert demo.stat().st_size <= 2_000_000
    opened.close(demo)


def test_all_rows_can_be_shown_and_copied(browser: Any, demo: Path) -> None:
    opened = Page(browser, demo, permissions=["clipboard-read", "clipboard-write"])
    page = opened.page
    opened.open_appendix()
    table = page.locator("#responsiveness-table")
    assert len(fill_of(table)) == 25
    table.locator("[data-copy]").click()  # all rows, though 25 are shown
    opened.until(
        "['Copied', 'Saved'].includes(document.querySelector('#responsiveness-table [data-copy]').textContent)"
    )
    text = page.evaluate("navigator.clipboard.readText()")
    expected = Markup(demo.read_text(encoding="utf-8")).tables["responsiveness-table"]
    header, *lines = csv.reader(io.StringIO(text))
    assert header == list(expected.columns)
    numbers = [name for name, values in expected.columns.items() if any(isinstance(one, float) for one in values)]
    assert len(lines) == len(expected.columns["value"]) > 25
    for line, row in zip(lines, expected.rows(), strict=True):
        for told, (name, value) in zip(line, row.items(), strict=True):
            if value is None or name not in numbers:
                assert told == ("" if value is None else str(value))
            elif isinstance(value, float):
                assert float(told) == value
    table.locator("[data-more]").click()
    assert len(fill_of(table)) == len(lines)
    assert not table.locator("[data-more]").is_visible()
    opened.close(demo)


def test_a_switch_shows_one_chart_at_a_time(browser: Any, demo: Path) -> None:
    opened = Page(browser, demo)
    page = opened.page
    switch = page.locator("#study-scale")
    buttons = switch.locator("[data-show]")
    names = [buttons.nth(at).get_attribute("data-show") for at in range(buttons.count())]
    assert len(names) >= 3

    def check(at: int) -> None:
        shown = [page.locator(f"#{name}").is_visible() for name in names]
        pressed = [buttons.nth(n).get_attribute("aria-pressed") == "true" for n in range(len(names))]
        assert shown == pressed == [n == at for n in range(len(names))]

    check(0)
    buttons.nth(1).click()
    check(1)
    assert page.locator("#said").text_content() == buttons.nth(1).text_content()
    buttons.nth(1).focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    check(2)
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")
    check(1)
    opened.close(demo)


def test_a_link_opens_the_appendix_and_what_is_folded_away_in_it(browser: Any, demo: Path) -> None:
    opened = Page(browser, demo)
    page = opened.page
    assert page.locator("#appendix").get_attribute("open") is None
    page.locator('#cohesion .on a[href="#cohesion-more"]').click()
    assert page.locator("#appendix").get_attribute("open") is not None
    assert page.evaluate("document.activeElement.id") == "cohesion-more"
    page.locator("#answer .term").first.click()
    name = page.locator("#answer .term").first.get_attribute("href")
    assert page.evaluate("document.activeElement.id") == name[1:]
    assert page.locator(name).is_visible()
    opened.close(demo)
    # From outside, to a chart that another one of its switch hides, inside the closed appendix.
    hidden = opened = Page(browser, demo)
    last = hidden.page.locator("#study-styles [data-show]").last.get_attribute("data-show")
    opened.close(demo)
    opened = Page(browser, demo, address=f"#{last}")
    assert opened.page.locator(f"#{last}").is_visible()
    assert opened.page.evaluate("document.activeElement.id") == last
    opened.close(demo)


def test_the_appendix_can_be_searched(browser: Any, demo: Path) -> None:
    opened = Page(browser, demo)
    page = opened.page
    opened.open_appendix()
    blocks = page.locator("#appendix .block:visible")
    before = blocks.count()
    page.fill("#find", "Woman × Hispanic")
    tables = Markup(demo.read_text(encoding="utf-8")).tables
    holds = {
        name for name, table in tables.items()
        if any("Woman × Hispanic" in str(one) for values in table.columns.values() for one in values)
    }  # fmt: skip
    assert "variation-table" in holds
    for name in ("variation-table", "cohesion-table", "methods-settings", "alignment-accounts"):
        assert page.locator(f"#{name}").is_visible() == (name in holds)
    assert not page.locator("#methods-more dl .block:visible").count()
    assert not page.locator("#methods-more").is_visible() or "methods-settings" in holds
    told = page.locator("#hits").text_content()
    assert re.fullmatch(r"\d+ of \d+ parts", told)
    assert 0 < int(told.split()[0]) < int(told.split()[2])
    # A chart behind a switch that holds the words is the one that is shown.
    for switch in page.locator("#appendix .switch").all():
        assert switch.is_visible() == (switch.locator("figure:visible").count() == 1)
    shown = [(one.is_visible(), one.locator(".block:visible").count() > 0)
             for one in page.locator("#appendix section").all()]  # fmt: skip
    assert {(True, True), (False, False)} == set(shown)
    page.fill("#find", "no such words anywhere")
    assert page.locator("#appendix .block:visible").count() == 0
    assert page.locator("#hits").text_content().startswith("0 of ")
    # What is shown is searched, not what it is stored as.
    cells = [one for table in tables.values() for values in table.columns.values() for one in values]
    large = next(f"{one:,}" for one in cells if isinstance(one, int) and one >= 1000)
    page.fill("#find", large)
    assert blocks.count() > 0
    page.fill("#find", large.replace(",", ""))
    assert blocks.count() == 0
    assert None in cells
    for raw in ("null", '"n":'):
        page.fill("#find", raw)
        assert blocks.count() == 0
    page.fill("#find", "")
    assert blocks.count() == before
    assert page.locator("#hits").text_content() == ""
    opened.close(demo)


@pytest.mark.parametrize("width", [1280, 400])
def test_a_mark_tells_its_value_to_the_pointer_and_the_keyboard(browser: Any, demo: Path, width: int) -> None:
    opened = Page(browser, demo, width=width)
    page = opened.page
    chart = page.locator("#variation-forest .chart")
    marks = chart.locator(f".on-{'wide' if width > 800 else 'narrow'} svg [aria-label]")
    labels = [one.get_attribute("aria-label") for one in marks.all()]
    assert len(labels) > 5
    assert all(re.search(r"[\d.]+", label) for label in labels)
    tip = page.locator("#tip")
    assert not tip.is_visible()
    last = marks.last
    last.scroll_into_view_if_needed()
    last.hover(force=True)
    opened.until("!document.querySelector('#tip').hidden")
    assert tip.text_content() in labels
    page.mouse.move(0, 0)
    opened.until("document.querySelector('#tip').hidden")
    chart.focus()
    for at in (0, 1):
        page.keyboard.press("ArrowRight")
        assert tip.text_content() == labels[at]
        assert page.locator("#variation-forest .value").text_content() == labels[at]
        assert chart.locator(".at").count() == 1
    for at in (0, -1):
        page.keyboard.press("ArrowLeft")
        assert tip.text_content() == labels[at]
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    page.keyboard.press("ArrowLeft")
    assert tip.text_content() == labels[-1]
    opened.close(demo)


def test_charts_can_be_saved(browser: Any, demo: Path, tmp_path: Path) -> None:
    opened = Page(browser, demo, accept_downloads=True)
    figure = opened.page.locator("#cohesion-forest")
    for kind, start in (("svg", b"<svg"), ("png", b"\x89PNG")):
        with opened.page.expect_download() as saved:
            figure.locator(f"[data-save={kind}]").click()
        path = tmp_path / f"chart.{kind}"
        saved.value.save_as(path)
        assert path.read_bytes().startswith(start)
        assert path.stat().st_size > 5_000
    opened.close(demo)


def test_dark_mode_can_be_chosen_and_is_the_systems(browser: Any, demo: Path) -> None:
    opened = Page(browser, demo)
    page = opened.page
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light != dark
    assert page.get_attribute("#theme", "aria-pressed") == "true"
    opened.shot("dark")
    opened.close(demo)
    opened = Page(browser, demo, color_scheme="dark")
    assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    opened.close(demo)


SIDEWAYS = "document.documentElement.scrollWidth > innerWidth"


@pytest.mark.parametrize("which", ["demo", "plain"])
def test_a_phone_shows_narrow_charts_and_need_not_scroll_sideways(
    browser: Any, which: str, request: pytest.FixtureRequest
) -> None:
    path: Path = request.getfixturevalue(which)
    opened = Page(browser, path, width=400, height=812)
    page = opened.page
    assert not page.evaluate(SIDEWAYS)
    opened.shot(f"phone-{which}")
    page.evaluate(EVERYTHING)
    assert not page.evaluate(SIDEWAYS)
    assert page.locator("figure .on-wide:visible").count() == 0
    charts = page.locator("figure .on-narrow svg:visible")
    assert charts.count() == page.locator("figure").count()
    drawn = charts.evaluate_all(
        "(all) => all.map((one) => [one.getBoundingClientRect().width, Number(one.getAttribute('width'))])"
    )
    for shown, own in drawn:  # none is shrunk by much, so that 11 pixels of text stay legible
        assert 0.9 * own <= shown <= 400
    opened.close(path)


EVERYTHING = """() => {
  for (const one of document.querySelectorAll("details")) one.open = true;
  for (const one of document.querySelectorAll(".choice")) one.hidden = false;
  window.dispatchEvent(new Event("beforeprint"));
}"""
"""Opens all that is folded away, shows every chart of every switch, and has every table drawn."""


OF_COLOUR = "['color-contrast', 'link-in-text-block']"
"""Rules of axe that depend on the scheme."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["demo", "plain"])
def test_axe_finds_nothing_serious(browser: Any, which: str, scheme: str, request: pytest.FixtureRequest) -> None:
    axe = pytest.importorskip("axe_core_python.base", reason="axe-core-python is not installed").AXE_SCRIPT
    path: Path = request.getfixturevalue(which)
    opened = Page(browser, path, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce")
    opened.page.evaluate(EVERYTHING)
    assert opened.page.locator(".table tbody").count() == opened.page.locator(".table").count()
    opened.page.evaluate(axe)
    rules = f", runOnly: {OF_COLOUR}" if scheme == "dark" else ""
    found = opened.page.evaluate(f"axe.run(document, {{resultTypes: ['violations']{rules}}})")
    bad = [
        (one["id"], one["help"], [(node["html"][:200], node["failureSummary"]) for node in one["nodes"][:3]])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    assert bad == []
    assert found["passes"]
    opened.close(path)


def test_the_keyboard_reaches_everything(browser: Any, demo: Path) -> None:
    opened = Page(browser, demo)
    page = opened.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    seen = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.tagName"))
    assert {"A", "BUTTON"} <= seen
    summary = page.locator("summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("details[open]").count() == 1
    page.locator("#appendix > summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "find"
    opened.close(demo)


def test_it_prints(browser: Any, demo: Path, tmp_path: Path) -> None:
    opened = Page(browser, demo, color_scheme="dark")
    page = opened.page
    path = tmp_path / "report.pdf"
    page.pdf(path=str(path), format="A4")
    assert path.read_bytes().startswith(b"%PDF")
    page.emulate_media(media="print")
    opened.shot("print")
    for shown in ("#answer", "#variation-forest svg", "#cohesion", "#items-chart .on-wide"):
        assert page.locator(shown).first.is_visible()
    for hidden in ("#theme", "#appendix", "nav", "#study-scale .choices", ".behind", "#tip", ".on-narrow"):
        assert not page.locator(hidden).first.is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('.chart svg')).filter") == "none"
    page.evaluate("document.querySelector('#appendix').open = true")
    assert page.locator("#cohesion-table").is_visible()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("Math.max(...[...document.querySelectorAll('table')].map((t) => t.offsetWidth))") <= 1200
    opened.close(demo)


def test_cells_show_what_a_reader_needs(browser: Any, tmp_path: Path) -> None:
    """Thousands have commas, decimals are those of the column, what is missing is a dash, and zero has no sign."""
    frame = pl.DataFrame(
        {
            "n": [12_345, None, 7], "x": [0.12345, float("nan"), float("inf")], "t": ["a" * 700, None, "=1+1"],
            "z": [-0.0001, 1e15, -2.0],
        }
    )  # fmt: skip
    section = Section("part", "Part", "", [DataTable("cells", "Cells", frame, {"x": 2})])
    brief = Brief(Study(pv.simulate(n_items=3, n_raters=2, models=(), trained=0).ratings), ReportSettings())
    path = tmp_path / "r.html"
    path.write_text(page_of(brief, answer_of([section], [], set()), [section]), encoding="utf-8")
    opened = Page(browser, path, permissions=["clipboard-read", "clipboard-write"])
    table = opened.page.locator("#cells")
    first, second, third = fill_of(table)
    assert first[:2] == ["12,345", "0.12"]
    assert first[2].endswith("(700 characters)")
    assert first[3] == "0.000"
    assert second[:3] == ["–", "–", "–"]
    assert third == ["7", "∞", "=1+1", "-2.000"]
    table.locator("th button", has_text="x").click()
    assert [row[1] for row in fill_of(table)] == ["0.12", "∞", "–"]  # what is missing is last
    table.locator("th button", has_text="x").click()
    assert [row[1] for row in fill_of(table)] == ["∞", "0.12", "–"]
    table.locator("[data-copy]").click()
    opened.until("document.querySelector('#cells [data-copy]').textContent === 'Copied'")
    lines = list(csv.reader(io.StringIO(opened.page.evaluate("navigator.clipboard.readText()"))))
    assert lines[1] == ["7", "∞", "'=1+1", "-2"]  # a spreadsheet would compute what starts with a sign
    opened.close(path)


NASTY = [
    "<script>document.title = 'ran'</script>", '"><img src=x onerror="document.title=\'ran\'">', "مرحبا بالعالم",
    "🦊" * 3, "unbroken" * 250,
]  # fmt: skip


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = pv.simulate(n_items=40, n_raters=60, seed=3)
    raters = made.raters.select("rater").with_columns(pl.Series("<b>group", [NASTY[r % 5] for r in range(60)]))
    items = pl.DataFrame({"item": made.items["item"], "text": [NASTY[i % 5] for i in range(40)]})
    ratings = pv.Ratings.from_frame(made.ratings_frame, scale=made.scale, raters=raters, items=items)
    path = tmp_path_factory.mktemp("nasty") / "r.html"
    return pv.write_report(
        path, ratings, "<b>group", permutations=40, max_permutations=40, bootstrap=20, title="<i>Nasty</i>"
    )


@pytest.mark.parametrize("width", [1200, 375])
def test_nothing_in_the_data_runs_or_breaks_the_page(browser: Any, nasty: Path, width: int) -> None:
    opened = Page(browser, nasty, width=width)
    assert opened.page.title() == "<i>Nasty</i>"
    assert opened.page.locator("img").count() == 0
    assert not opened.page.evaluate(SIDEWAYS)
    opened.page.evaluate(EVERYTHING)
    assert opened.page.title() == "<i>Nasty</i>"
    assert opened.page.locator("img, b, script:not([type]) ~ script").count() == 0
    assert not opened.page.evaluate(SIDEWAYS)
    opened.shot(f"nasty-{width}")
    opened.close(nasty)
