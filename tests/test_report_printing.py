"""The report on paper: PDF through a browser, one page to mail, and one line where it cannot be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import plurivox as pv
from plurivox.base.errors import FileError, InputError
from plurivox.report import render
from support import run_cli

pytest.importorskip("vl_convert")
with_browser = pytest.mark.skipif(render.browser() is None, reason="there is no Chromium on this machine")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    made = pv.simulate(n_items=20, n_raters=40, seed=1)
    made.ratings_frame.write_csv(folder / "ratings.csv")
    made.raters.write_csv(folder / "raters.csv")
    return folder


def asked(study: Path, *more: object) -> list[str]:
    quick = ["--permutations", "20", "--max-permutations", "20", "--scale", "0:4"]
    return list(
        map(str, ["report", study / "ratings.csv", "--raters", study / "raters.csv", "--by", "gender", *quick, *more])
    )


def pages(path: Path) -> int:
    """Count the pages of a PDF whose objects are not packed, as Chromium writes it."""
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", path.read_bytes()))


def a_browser(folder: Path, script: str) -> str:
    path = folder / "chromium"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("more", [["--pdf", "-o", "r.html"], ["-o", "r.pdf"]])
def test_a_pdf_without_a_browser_is_refused_before_anything_is_read(
    more: list[str], study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(render, "BROWSERS", ())
    done = run_cli("report", "there-is-no-such-file.csv", *more)
    assert done.code == 1
    assert "a PDF needs Chromium, which is not installed on this machine. Install chromium" in done.err
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="needs Chromium"):
        pv.write_report(tmp_path / "r.pdf", pv.simulate(n_items=5, n_raters=5).ratings)


@pytest.mark.usefixtures("undrawn")
def test_without_a_browser_the_summary_is_html_alone(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "BROWSERS", ())
    done = run_cli(*asked(study, "--summary", "-o", tmp_path / "r.html"))
    assert done.code == 0, done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r-summary.html", "r.html"]
    whole, summary = ((tmp_path / name).read_text(encoding="utf-8") for name in ("r.html", "r-summary.html"))
    heading = re.search(r'<div class="stands">\s*<h3>([^<]*)</h3>', whole)
    assert heading is not None
    assert heading[1] in summary
    assert "appendix" not in re.sub(r"<style>.*?</style>|<script>.*?</script>", "", summary, flags=re.DOTALL)
    assert re.findall(r'href="#([^"]*)"', summary) == ["main"]
    assert len(summary) < len(whole) / 4


@pytest.mark.parametrize(("script", "said"), [
    ("echo 'no memory' >&2; exit 3", "Chromium could not print the page: no memory"),
    ("exit 0", "Chromium could not print the page: it gave no reason"),
])  # fmt: skip
def test_a_browser_that_fails_leaves_nothing_half_written(
    script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setattr(render, "BROWSERS", (a_browser(tools, script),))
    target = tmp_path / "r.pdf"
    target.write_text("as it was")
    with pytest.raises(FileError, match=said):
        render.write_pdf(target, "<p>a page</p>")
    assert target.read_text() == "as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.pdf", "tools"]


def test_a_browser_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "BROWSERS", (a_browser(tmp_path, "exec sleep 60"),))
    monkeypatch.setattr(render, "SECONDS", 0.2)
    with pytest.raises(FileError, match=r"could not print the page: .* timed out"):
        render.write_pdf(tmp_path / "r.pdf", "<p>a page</p>")
    assert not (tmp_path / "r.pdf").exists()


@pytest.mark.slow
@with_browser
def test_the_whole_report_and_one_page_are_printed(study: Path, tmp_path: Path) -> None:
    done = run_cli(*asked(study, "--summary", "--pdf", "-o", tmp_path / "r.html"))
    assert done.code == 0, done.err
    assert [Path(line).name for line in done.out.splitlines()] == [
        "r.html", "r.pdf", "r-summary.html", "r-summary.pdf",
    ]  # fmt: skip
    assert pages(tmp_path / "r-summary.pdf") == 1
    assert pages(tmp_path / "r.pdf") > 8  # the appendix is opened
    assert (tmp_path / "r.pdf").read_bytes().endswith(b"%%EOF\n")
    assert "replaced r.pdf of" in run_cli(*asked(study, "-o", tmp_path / "r.pdf")).err
