"""A terminal shows what fits it, says what it leaves out, and has the numbers of the frame; other forms lose nothing.

The study is that of ``plurivox demo`` with fewer items, which changes no table.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.cells import cell_len

from plurivox.cli import lens
from plurivox.cli.tables import SCREEN
from plurivox.infer.view import MOST_LINES
from support import looked_at, run_cli

BY = ("--by", "age", "--by", "gender", "--by", "ethnicity", "--by", "age,gender")
FEW = ("--permutations", 19, "--seed", 1)
COMMANDS: dict[str, tuple[object, ...]] = {
    "cohesion": (*BY, *FEW),
    "responsiveness": (*BY, *FEW, "--reference", "trained.csv", "--reference-scale", "safe,unsafe"),
    "variation": (*BY, *FEW), "scale": (*BY,), "score": ("predictions.csv", "--bootstrap", 50, "--permutations", 19),
    "align": ("answers.csv", *BY[:6], "--bootstrap", 50, *FEW), "judge": ("answers.csv", "--by", "age", "--seed", 1),
    "estimate": ("answers.csv", *BY[:6], "--width", 0.2), "aggregate": ("--by", "age", *FEW),
    "items": ("--by", "age", *FEW),
}  # fmt: skip
Screen = Callable[..., list[str]]
WIDTHS = (80, 100, 140)
FOUND: dict[str, Any] = {}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("screen") / "study"
    assert run_cli("simulate", folder, "--items", 100).code == 0
    return folder


def command(study: Path, name: str) -> list[object]:
    first, *more = COMMANDS[name]
    beside = [study / str(one) if str(one).endswith(".csv") else one for one in (first, *more)]
    return [name, study / "ratings.csv", *beside]


@pytest.fixture(autouse=True)
def asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute each result once, however often it is shown."""
    ask = lens.ask

    def known(record: Any, reading: Any, loaded: Any, given: Any, asked: Any) -> Any:
        key = repr((record.name, reading, asked))
        if key not in FOUND:
            FOUND[key] = ask(record, reading, loaded, given, asked)
        return FOUND[key]

    monkeypatch.setattr(lens, "ask", known)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Return what runs a command in a terminal of some width."""

    def run(width: int, *arguments: object) -> list[str]:
        for name, value in {"COLUMNS": str(width), "LINES": "45", "TERM": "dumb"}.items():
            monkeypatch.setenv(name, value)
        done = looked_at(*arguments)
        assert done.code == 0, done.err
        return [line.rstrip() for line in done.out.splitlines()]

    return run


@pytest.mark.filterwarnings("ignore::plurivox.base.errors.PlurivoxWarning")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_screen_holds_what_matters(name: str, study: Path, screen: Screen) -> None:
    """No line is wider than the terminal; at 100 columns a demo-sized study fits a screen, and no table is parted."""
    for width in WIDTHS:
        lines = screen(width, *command(study, name))
        assert max(map(cell_len, lines)) <= width
        assert " ".join(lines[-2:]).endswith(": --all")
        if width == 100:
            assert len(lines) <= SCREEN + 2
            assert sum(set(line.strip()) == {"─"} for line in lines) <= 3
    every = screen(100, *command(study, name), "--all")
    assert max(map(cell_len, every)) <= 100
    assert not any("--all" in line for line in every)
    assert len(every) > len(lines)


@pytest.mark.parametrize("name", ["variation", "items"])
def test_a_real_terminal_gets_the_same(name: str, study: Path, screen: Screen) -> None:
    """A pseudo-terminal of 100 columns, whose width only the system tells."""
    arguments = list(map(str, command(study, name)))
    pid, fd = pty.fork()
    if pid == 0:  # pragma: no cover
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 45, 100, 0, 0))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "FORCE_COLOR")}
        os.execve(
            sys.executable, [sys.executable, "-m", "plurivox", *arguments], {**kept, "TERM": "xterm", "NO_COLOR": "1"}
        )
    seen = b""
    while True:
        try:
            piece = os.read(fd, 1 << 16)
        except OSError:  # the other side is gone
            break
        if not piece:
            break
        seen += piece
    os.close(fd)
    assert os.waitpid(pid, 0)[1] == 0
    shown = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", seen.decode()).splitlines()]
    assert max(map(cell_len, shown)) <= 100
    assert len(shown) <= SCREEN + 2
    assert shown == screen(100, *arguments)


NUMBER = r"-?\d*\.\d+"
CELL = re.compile(rf"({NUMBER}) ?(?:\[({NUMBER}), ?({NUMBER})\])? ?([↑↓]?\*{{0,2}})")


@pytest.mark.parametrize(("name", "statistics"), [
    ("cohesion", ["irr", "xrr", "gai", "view_correlation"]), ("responsiveness", ["mpa", "wra", "hm"]),
    ("variation", ["leniency", "dominance"]),
])  # fmt: skip
def test_every_group_has_its_row(name: str, statistics: list[str], study: Path, screen: Screen) -> None:
    frame = run_cli(*command(study, name), "--csv").frame()
    groups = frame.filter(pl.col("statistic") == statistics[-1], pl.col("axis") != "all")["group"].unique().to_list()
    rows = {}
    for line in screen(100, *command(study, name)):
        label = re.split(r"\s{2,}", line.strip())[0]
        if label in groups and CELL.search(line):
            rows[label] = CELL.findall(line)
    assert set(rows) == set(groups)
    for group, cells in rows.items():
        assert len(cells) == len(statistics)
        for statistic, (value, low, high, mark) in zip(statistics, cells, strict=True):
            row = frame.filter(group=group, statistic=statistic).row(0, named=True)
            assert float(value) == pytest.approx(float(row["value"]), abs=5.1e-3)
            assert (float(low), float(high)) == pytest.approx((row["ci_low"], row["ci_high"]), abs=5.1e-3)
            assert (mark.count("*") == 2) is (row["p_value"] < 0.05 and row["p_adjusted"] < 0.05)
            assert (mark.count("*") > 0) is (row["p_value"] < 0.05)


def test_what_has_no_room_is_named(study: Path, screen: Screen) -> None:
    assert "95 % intervals over items and raters" in " ".join(screen(80, *command(study, "cohesion"))[-2:])
    assert "interval" not in screen(100, *command(study, "cohesion"))[-1]


@pytest.mark.filterwarnings("ignore::plurivox.base.errors.PlurivoxWarning")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_pipe_gets_everything(name: str, study: Path, screen: Screen) -> None:
    piped = run_cli(*command(study, name)).out
    assert run_cli(*command(study, name), "--all").out == piped
    assert "--all" not in piped
    assert screen(120, *command(study, name), "--all") == [line.rstrip() for line in piped.splitlines()]


@pytest.mark.parametrize("form", ["--csv", "--json", "--markdown", "--latex", "--html"])
def test_other_forms_lose_nothing_in_a_terminal(form: str, study: Path, screen: Screen) -> None:
    asked = [*command(study, "variation"), form]
    expected = [line.rstrip() for line in run_cli(*asked).out.splitlines()]
    assert screen(80, *asked) == expected
    assert screen(80, *asked, "--all") == expected


def test_of_many_groups_the_most_notable_are_shown(tmp_path: Path, screen: Screen) -> None:
    """60 groups of five; one of them rates the other way round, and must be among those shown."""
    raters = [(f"r{at}", f"group {at // 5:02d}") for at in range(300)]
    rated = [
        (item, rater, (item % 5 if group != "group 58" else 4 - item % 5) if (item + at) % 7 else (item * at) % 5)
        for at, (rater, group) in enumerate(raters)
        for item in range(12)
    ]
    pl.DataFrame(rated, schema=["item", "rater", "score"], orient="row").write_csv(tmp_path / "ratings.csv")
    pl.DataFrame(raters, schema=["rater", "team"], orient="row").write_csv(tmp_path / "raters.csv")
    files = (tmp_path / "ratings.csv", "--raters", tmp_path / "raters.csv", "--scale", "0:4", "--by", "team")
    lines = screen(100, "cohesion", *files, "--permutations", 99, "--interval", "none")
    shown = [line.strip()[:8] for line in lines if line.startswith("   group ")]
    assert len(shown) == MOST_LINES - 1  # and all raters
    assert shown == sorted(shown)
    assert "group 58" in shown
    assert len(lines) <= SCREEN + 2
    assert f"{60 - len(shown)} more groups" in lines[-1]


def test_what_is_asked_for_is_shown(study: Path, screen: Screen) -> None:
    """Pairs, arrows and a longer list of items are asked for by name, and need no --all."""
    lines = screen(100, *command(study, "cohesion"), "--pairs", "--arrows")
    assert any("XRR between groups" in line for line in lines)
    assert [line for line in lines if re.search(r"[↑↓](?!\*| )", line)]
    lines = screen(100, *command(study, "items"), "--top", 15)
    assert any("the first 15 of 100" in line for line in lines)
