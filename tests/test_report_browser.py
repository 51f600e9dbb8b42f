"""The report in a real browser: no error, no request, and everything a reader would click."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plurivox as pv
from plurivox.simulation.simulate import DEMO

pytest.importorskip("altair")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SWITCHES = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
SHOTS = os.environ.get("PLURIVOX_SCREENSHOTS")
"""A folder to keep screenshots in, to look at them."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as p:
        opened = p.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = pv.simulate(**DEMO)
    return pv.write_report(
        tmp_path_factory.mktemp("report") / "report.html", made.ratings, ["gender", "age", ("gender", "ethnicity")],
        reference=made.trained, permutations=200, max_permutations=200, bootstrap=20,
    )  # fmt: skip


class Page:
    """A page that records what it should not do."""

    def __init__(self, browser: Any, path: Path, width: int = 1200, height: int = 900, **context: Any) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": height}, **context)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def shot(self, name: str) -> None:
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)

    def close(self, path: Path) -> None:
        assert self.complaints == []
        assert [url for url in self.requests if url != path.as_uri() and not url.startswith(("data:", "blob:"))] == []
        self.context.close()


def test_a_reader_on_a_desk(browser: Any, demo: Path) -> None:
    opened = Page(browser, demo)
    page = opened.page
    opened.shot("desk")
    link = page.locator(".findings a").first
    target = link.get_attribute("href")
    link.click()
    assert page.evaluate("document.activeElement.id") == target[1:]
    top = "document.activeElement.getBoundingClientRect().top"
    seen = f"-50 < {top} && {top} < innerHeight"
    for _ in range(100):  # scrolling takes the longer the busier the machine is
        page.wait_for_timeout(100)
        if page.evaluate(seen):
            break
    assert page.evaluate(seen)
    table = page.locator("#cohesion-table")
    table.locator("th button", has_text="value").click()
    shown = [
        float(text) for text in table.locator("tbody tr:visible td:nth-child(4)").all_text_contents() if text != "–"
    ]
    assert shown == sorted(shown)
    assert table.locator("th[aria-sort=ascending]").count() == 1
    table.locator("input").fill("18-29")
    rows = table.locator("tbody tr:visible").all_text_contents()
    assert rows
    assert all("18-29" in row for row in rows)
    opened.close(demo)


def test_all_rows_can_be_shown_and_copied(browser: Any, demo: Path) -> None:
    opened = Page(browser, demo, permissions=["clipboard-read", "clipboard-write"])
    page = opened.page
    table = page.locator("#responsiveness-table")
    before = table.locator("tbody tr:visible").count()
    table.locator("[data-more]").click()
    assert table.locator("tbody tr:visible").count() > before == 25
    table.locator("[data-copy]").click()
    page.wait_for_timeout(300)
    assert table.locator("[data-copy]").text_content() in ("Copied", "Saved")
    text = page.evaluate("navigator.clipboard.readText()")
    frame = pl.read_csv(text.encode(), infer_schema_length=None)
    assert frame.height == table.locator("tbody tr").count()
    assert frame.columns[:4] == ["axis", "group", "subset", "statistic"]
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


def test_a_phone_need_not_scroll_sideways(browser: Any, demo: Path) -> None:
    opened = Page(browser, demo, width=375, height=812)
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    opened.shot("phone")
    opened.close(demo)


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
    opened.close(demo)


def test_it_prints(browser: Any, demo: Path, tmp_path: Path) -> None:
    opened = Page(browser, demo)
    path = tmp_path / "report.pdf"
    opened.page.pdf(path=str(path), format="A4")
    assert path.read_bytes().startswith(b"%PDF")
    opened.page.emulate_media(media="print")
    assert not opened.page.locator("#theme").is_visible()
    assert (
        opened.page.evaluate("Math.max(...[...document.querySelectorAll('table')].map((t) => t.offsetWidth))") <= 1200
    )
    opened.close(demo)


NASTY = [
    "<script>document.title = 'ran'</script>",
    '"><img src=x onerror="document.title=\'ran\'">',
    "مرحبا بالعالم",
    "🦊" * 3,
    "unbroken" * 250,
]


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
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    opened.shot(f"nasty-{width}")
    opened.close(nasty)
