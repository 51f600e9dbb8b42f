"""The documentation's site in a real browser, wide and narrow, light and dark; ``make docs`` has to build it first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("vl_convert")
from test_report_browser import Page, browser, pytestmark  # noqa: F401

SITE = Path(__file__).parents[1] / "docs" / "_build" / "html"
PAGES = ("index", "tutorial", "statistics", "cli", "api/plurivox.Ratings", "pictures/index")
OF_THE_THEME = ("[PST]", "Got invalid theme mode")
"""What the theme writes to the console of every page."""


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_pages_fit_and_can_be_read(browser: Any, width: int, scheme: str) -> None:  # noqa: F811
    if not SITE.is_dir():
        pytest.skip("the site is not built: make docs")
    axe = pytest.importorskip("axe_core_python.base", reason="axe-core-python is not installed").AXE_SCRIPT
    for name in PAGES:
        page = Page(browser, SITE / f"{name}.html", width=width, color_scheme=scheme)
        shown = page.page
        wide = shown.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, name
        shown.evaluate(axe)
        found = shown.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == [], name
        assert [one for one in page.complaints if not one.startswith(OF_THE_THEME)] == []
        assert [one for one in page.requests if not one.startswith(("file:", "data:"))] == []
        page.context.close()


def test_the_search_finds_a_word(browser: Any) -> None:  # noqa: F811
    if not SITE.is_dir():
        pytest.skip("the site is not built: make docs")
    page = Page(browser, SITE / "search.html", address="?q=leniency")
    page.page.wait_for_selector("#search-results li")
    results = page.page.locator("#search-results li").all_inner_texts()
    assert any("who rates higher" in one.lower() or "variation" in one.lower() for one in results)
    page.context.close()
