"""The workbench in a real browser: from an empty folder to a report, by mouse and by keyboard, wide and narrow."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("vl_convert")
from exports.label_studio import severity
from workbench_support import OFTEN, RATINGS, serve_line

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
SHOTS = os.environ.get("PLURIVOX_SCREENSHOTS")
"""A folder to keep screenshots in, to look at them."""
LONG = 180_000

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")]


@contextlib.contextmanager
def serving(folder: Path, *more: str, first: str = "") -> Iterator[str]:
    """Yield the first address of a server that is a process of its own, as somebody starts it."""
    line = serve_line(folder, *more, first=first)
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        assert "Traceback" not in said, said


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as p:
        opened = p.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield opened
        opened.close()


class Tab:
    """A page that records what it should not say or ask for."""

    def __init__(self, browser: Any, address: str, width: int = 1280, **context: Any) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, **context)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.elsewhere: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda one: None if self._own(one.url) else self.elsewhere.append(one.url))
        self.page.on("dialog", lambda dialog: dialog.accept())
        self.page.goto(address)

    @staticmethod
    def _own(address: str) -> bool:
        return address.startswith(("http://127.0.0.1:", "data:", "blob:"))

    def shot(self, name: str) -> None:
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)

    def fits(self) -> None:
        """Hold that the page is no wider than the window."""
        over = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert over <= 0, self.page.url

    def close(self) -> None:
        """Hold that nothing was complained of, and nobody else was asked."""
        assert self.complaints == []
        assert self.elsewhere == []
        self.context.close()


def test_from_an_empty_folder_to_a_report(browser: Any, tmp_path: Path) -> None:
    with serving(tmp_path / "bench") as address:
        tab = Tab(browser, address, accept_downloads=True)
        page = tab.page
        assert "token" not in page.url
        page.get_by_role("button", name="Open a simulated study").click()

        def begin_a_note() -> None:
            page.get_by_role("link", name="The study").click()
            page.get_by_text("Add a note").click()
            page.get_by_label("Note on this result").fill("Half of a note")
            page.get_by_label("Note on this result").evaluate("one => { one.style.height = '9rem'; }")  # pulled larger
            page.evaluate("document.getElementById('part-title').style.color = 'inherit'")  # as a browser's tools do

        home = answers_of(page, 20, begin_a_note)
        assert page.get_by_label("Note on this result").input_value() == "Half of a note"  # results came in meanwhile
        assert page.get_by_label("Note on this result").evaluate("one => one.style.height") == "9rem"
        page.get_by_role("link", name="In short").click()
        page.locator(".tiles strong").nth(3).wait_for()
        page.get_by_role("link", name="Who sees things alike").click()
        page.locator(".chart svg").first.wait_for()
        page.get_by_text("Add a note").click()
        page.get_by_label("Note on this result").fill("We asked them.")
        page.get_by_role("button", name="Save the note").click()
        page.locator("#cohesion-forest .on-wide").get_by_role("link", name="18-29").first.click()  # a name in a chart
        page.wait_for_url("**/groups?run=*&axis=age&group=18-29")
        page.goto(f"{home}/results?part=items")
        with page.expect_download() as picture:
            page.locator("#items-chart [data-save=svg]").click()
        assert "/studies/" not in Path(picture.value.path()).read_text()  # a file leads to no page of this machine
        page.locator("#items-chart .on-wide a.to :is(path, circle)").first.click()
        page.wait_for_url("**/item?run=*&item=*")
        page.goto(f"{home}/groups?axis=age&group=18-29")  # an address is a view
        page.locator("#view-title").wait_for(timeout=LONG)
        page.locator("table tbody tr").nth(5).wait_for()
        report = report_of(page, home)
        assert "We asked them." in report
        assert "plurivox report ratings.csv" in report
        with page.expect_download(timeout=LONG) as saved:
            page.get_by_role("link", name="cohesion, values as CSV").click()
        assert Path(saved.value.path()).read_text().startswith("axis,group")
        narrow = {"width": 400, "height": 850}
        for path in ("", "/ask", "/results", "/results?part=variation", "/groups", "/compare", "/items", "/export"):
            page.set_viewport_size(narrow)
            page.goto(f"{home}{path}")
            page.locator("#main").wait_for()
            tab.fits()
            tab.shot(f"phone{path.replace('/', '-').replace('?', '-')}")
        page.goto("/".join(home.split("/")[:3]))
        page.get_by_role("button", name="Delete A simulated rating study").click()
        page.get_by_text("No studies yet.").wait_for()
        tab.close()
        assert not list((tmp_path / "bench" / "studies").iterdir())


def test_by_keyboard_alone(browser: Any, tmp_path: Path) -> None:
    ratings = tmp_path / "ratings.csv"
    lines = [f"i{i},r{r},{(i * r) % 3},{'xy'[r % 2]}" for i in range(10) for r in range(12)]
    ratings.write_text("\n".join(["item,rater,score,group", *lines]))
    with serving(tmp_path / "bench", str(ratings)) as address:
        tab = Tab(browser, address)
        page = tab.page
        page.get_by_role("link", name="This is right: ask questions").wait_for(timeout=LONG)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"

        def reach(condition: str) -> None:
            for _ in range(200):
                page.keyboard.press("Tab")
                if page.evaluate(f"(() => {{ const it = document.activeElement; return {condition}; }})()"):
                    return
            raise AssertionError(condition)

        reach('it.name === "about:group"')
        page.keyboard.press("r")  # raters
        reach('it.textContent === "Read the files again"')
        page.keyboard.press("Enter")
        page.get_by_text("x (6), y (6)").wait_for(timeout=LONG)
        page.keyboard.press("Tab")
        reach('it.textContent.startsWith("This is right")')
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="What do you want to know?").wait_for()
        reach('it.name === "permutations"')
        page.keyboard.press("Control+a")
        page.keyboard.type("20")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="In short").wait_for(timeout=LONG)
        page.goto(page.url.split("/results")[0] + "/results?part=study")
        reach('it.matches("a.to") && it.textContent === "x"')  # a name in a chart
        page.keyboard.press("Enter")
        page.wait_for_url("**/groups?run=*&axis=group&group=x")
        page.go_back()
        reach('it.matches(".chart")')
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Enter")  # the last mark, to which the arrow came
        page.wait_for_url("**/groups?run=*&axis=group&group=*")
        tab.close()


def test_a_growing_study_is_watched(browser: Any, tmp_path: Path) -> None:
    ratings = tmp_path / "ratings.csv"
    lines = [f"i{i},r{r},{(i * r) % 3},{'xy'[r % 2]}" for i in range(10) for r in range(12)]
    ratings.write_text("\n".join(["item,rater,score,group", *lines, ""]))
    with serving(tmp_path / "bench", str(ratings), first=OFTEN) as address:
        tab = Tab(browser, address)
        page = tab.page
        page.get_by_role("link", name="This is right: ask questions").wait_for(timeout=LONG)
        page.locator('[name="about:group"]').select_option("raters")
        page.get_by_role("button", name="Read the files again").click()
        page.get_by_text("x (6), y (6)").wait_for(timeout=LONG)
        page.get_by_role("link", name="Watch").click()
        page.get_by_role("spinbutton", name="Ratings expected").fill("200")
        page.get_by_role("button", name="Watch", exact=True).click()
        page.get_by_text("At first: 120 ratings").wait_for(timeout=LONG)
        other = tab.context.new_page()
        other.goto(page.url)
        page.get_by_role("spinbutton", name="Ratings expected").fill("300")  # what is being typed is not taken away
        with ratings.open("a") as file:
            file.write("".join(f"i{i},r12,{i % 3},x\n" for i in range(10)))
        for one in (page, other):
            one.get_by_text("ratings 120 → 130").wait_for(timeout=LONG)
        assert page.get_by_role("spinbutton", name="Ratings expected").input_value() == "300"
        tab.fits()
        tab.shot("watch-before")
        page.get_by_role("button", name="Run now: look 1 of 5").click()
        page.get_by_role("link", name="In short").wait_for(timeout=LONG)
        page.get_by_text("Look 1 of 5 planned at a growing study.").wait_for()
        tab.shot("watch-results")
        page.get_by_role("link", name="What came since").click()
        ratings.write_text("\n".join(["item,rater,score,group", *lines[:60], ""]))
        page.get_by_text("is the file whole?").wait_for(timeout=LONG)
        ratings.unlink()
        page.get_by_text("It is gone.", exact=True).wait_for(timeout=LONG)
        tab.shot("watch-trouble")
        page.set_viewport_size({"width": 400, "height": 850})
        tab.fits()
        tab.shot("watch-phone")
        tab.close()


def test_another_browser_gets_nothing(browser: Any, tmp_path: Path) -> None:
    with serving(tmp_path / "bench") as address:
        first = Tab(browser, address)
        second = browser.new_context().new_page()
        assert second.goto(address).status == 401
        assert second.goto(address.partition("?")[0]).status == 401
        first.page.emulate_media(color_scheme="dark")
        first.page.reload()
        assert first.page.evaluate("document.documentElement.dataset.theme") == "dark"
        first.page.get_by_role("button", name="Light").click()
        first.page.reload()
        assert first.page.evaluate("document.documentElement.dataset.theme") == "light"  # as chosen
        first.close()


# Other ways in --------------------------------------------------------------------------------------------------------
def answers_of(page: Any, shuffles: int = 20, meanwhile: Callable[[], object] = lambda: None) -> str:
    """Ask a study, with few shuffles, see everything come in, and return the address of the study."""
    page.get_by_role("link", name="This is right: ask questions").click(timeout=LONG)
    page.get_by_label("Shuffles", exact=True).fill(str(shuffles))
    page.get_by_text("All other settings").click()
    page.get_by_label("Maximum shuffles").fill(str(shuffles))
    page.get_by_role("button", name="Run the analyses").click()
    page.get_by_role("link", name="The study").wait_for(timeout=LONG)  # appears before the others are there
    meanwhile()
    page.get_by_role("link", name="In short").wait_for(timeout=LONG)
    return str(page.url).partition("/results")[0]


def report_of(page: Any, home: str) -> str:
    """Have the report made, and return what was downloaded."""
    page.goto(f"{home}/export")
    page.get_by_role("button", name="Make the report").click()
    with page.expect_download(timeout=LONG) as saved:
        page.get_by_role("link", name="The report (HTML)").click(timeout=LONG)
    return Path(saved.value.path()).read_text(encoding="utf-8")


def test_dices_from_three_files_to_a_report(browser: Any, tmp_path: Path, real_data: Path) -> None:
    files = [str(real_data / "dices350" / f"{name}.csv") for name in ("ratings", "raters", "items")]
    with serving(tmp_path / "bench") as address:
        tab = Tab(browser, address, accept_downloads=True)
        page = tab.page
        page.locator("input[type=file]").set_input_files(files)
        page.get_by_role("button", name="Add", exact=True).click()
        page.get_by_role("alert").wait_for(timeout=LONG)  # nobody guesses in which order words are
        tab.shot("dices-question")
        assert page.locator("[data-order] li span").all_text_contents() == ["No", "Unsure", "Yes"]
        page.get_by_role("button", name="Use this order").click()
        page.get_by_label("Ends of the scale").fill("safe,unsafe")
        page.get_by_role("button", name="Read the files again").click()
        page.get_by_label("removed (raters)").wait_for(timeout=LONG)
        page.get_by_label("removed (raters)").select_option("False")
        page.get_by_text("More about reading the files").click()
        page.get_by_label("Reference in a column").select_option("safety_gold")
        page.get_by_label("Points of the reference").fill("No,Yes")
        page.get_by_role("button", name="Read the files again").click()
        page.get_by_text("36,400").first.wait_for(timeout=LONG)  # of 104 raters who were kept, 350 items each
        tab.shot("dices-data")
        page.get_by_role("link", name="This is right: ask questions").wait_for(timeout=LONG)
        report = report_of(page, answers_of(page, 10))
        assert "--where removed=False" in report
        assert "--reference-column safety_gold --reference-scale No,Yes" in report
        assert "36,400" in report
        tab.close()


def test_an_export_of_label_studio_to_a_report(browser: Any, tmp_path: Path) -> None:
    tasks = [
        {"id": item, "data": {"text": f"text {item}"},
         "annotations": [severity(item * 10 + who, who, 1 + (item + who) % 5) for who in range(1, 7)]}
        for item in range(1, 9)
    ]  # fmt: skip
    export = tmp_path / "export.json"
    export.write_text(json.dumps(tasks))
    with serving(tmp_path / "bench") as address:
        tab = Tab(browser, address, accept_downloads=True)
        page = tab.page
        page.locator("input[type=file]").set_input_files(str(export))
        page.get_by_role("button", name="Add", exact=True).click()
        page.get_by_role("cell", name="Label Studio").first.wait_for(timeout=LONG)
        tab.shot("label-studio")
        assert "plurivox report export.json" in report_of(page, answers_of(page))
        tab.close()


# For everybody --------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[tuple[Any, str]]:
    """Yield a tab that may read everything, and the address of a small study of which everything was asked."""
    folder = tmp_path_factory.mktemp("answered")
    ratings = folder / "ratings.csv"
    ratings.write_text(RATINGS)
    population, answers = folder / "population.csv", folder / "answers.csv"
    population.write_text("attribute,value,share\ngender,woman,0.6\ngender,man,0.4\n")
    answers.write_text("model,item,answer\n" + "".join(f"m,i{at},{at % 4}\n" for at in range(30)))
    with serving(folder / "bench", str(ratings), str(answers), "--weights", str(population)) as address:
        tab = Tab(browser, address, bypass_csp=True, reduced_motion="reduce")  # axe-core is a script of our own
        page = tab.page
        page.locator('select[name="about:gender"]').select_option("raters", timeout=LONG)
        page.get_by_role("button", name="Read the files again").click()
        page.get_by_text("woman (7)").wait_for(timeout=LONG)
        yield tab, answers_of(page)
        tab.close()


def pages_of(home: str) -> list[str]:
    """Return the addresses of all kinds of pages."""
    views = ("", "/ask", "/watch", "/results", "/results?part=study", "/results?part=cohesion", "/results?part=judge",
             "/groups?axis=gender&group=woman", "/items", "/item?item=i1", "/compare?axis=gender&one=man&other=woman",
             "/lenses/cohesion", "/lenses/estimate?go=1", "/lenses/judge?go=1&by=gender", "/export")  # fmt: skip
    first = "/".join(home.split("/")[:3])
    return [first, f"{first}/help", f"{first}/api", *(home + one for one in views)]


def test_every_page_fits_a_phone(answered: tuple[Any, str]) -> None:
    tab, home = answered
    tab.page.set_viewport_size({"width": 390, "height": 844})
    for address in pages_of(home):
        tab.page.goto(address)
        tab.page.wait_for_function("!document.getElementById('stream')", timeout=LONG)
        tab.fits()
    tab.page.set_viewport_size({"width": 1280, "height": 900})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_barrier(answered: tuple[Any, str], scheme: str) -> None:
    axe = pytest.importorskip("axe_core_python.base", reason="axe-core-python is not installed").AXE_SCRIPT
    tab, home = answered
    page = tab.page
    page.emulate_media(color_scheme=scheme)
    rules = (
        ", runOnly: ['color-contrast', 'link-in-text-block']" if scheme == "dark" else ""
    )  # which alone depend on it
    bad = []
    for address in pages_of(home):
        page.goto(address)
        page.wait_for_function("!document.getElementById('stream')", timeout=LONG)
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        page.evaluate(axe)
        found = page.evaluate(f"axe.run(document, {{resultTypes: ['violations']{rules}}})")
        assert found["passes"]
        bad += [
            (address, one["id"], [(node["html"][:200], node["failureSummary"]) for node in one["nodes"][:3]])
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]
    assert bad == []
