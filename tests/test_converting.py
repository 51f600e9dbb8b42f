"""Charts that other processes convert are those that this one makes, whatever happens to the processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

pytest.importorskip("vl_convert")

from plurivox.plots import writing
from plurivox.plots.writing import Conversion, ahead

N = 9


def spec(number: int) -> dict[str, Any]:
    """Return a chart of its own for each number, with figures that are not short in base ten, and odd text."""
    values = [{"a": at / 7 + 1e-13 * number, "b": f"é\n\u2028{at % 3} <&> {number}"} for at in range(30)]
    across = {"field": "a", "type": "quantitative", "axis": {"title": f"chart {number}"}}
    return {
        "data": {"values": [*values, {"a": float("nan"), "b": "nothing"}]},
        "mark": "point",
        "encoding": {"x": across, "y": {"field": "b", "type": "nominal"}},
    }


def here(number: int) -> str:
    return Conversion(spec(number), "6.1").svg()


@pytest.fixture(scope="module")
def expected() -> list[str]:
    return [here(number) for number in range(N)]


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start a process for each chart that waits."""
    monkeypatch.setattr(writing, "MOST", 4)
    monkeypatch.setattr(writing, "ENOUGH", 1)


def begun(n: int = N) -> tuple[list[Conversion], Any]:
    started = [Conversion(spec(number), "6.1") for number in range(n)]
    return started, started[0]._ahead


def until(condition: Any, seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def over(helpers: Any) -> bool:
    """Tell whether every thread and every process has ended."""
    return until(lambda: helpers.n_alive == 0 and all(one.poll() is not None for one in helpers.processes))


@pytest.mark.parametrize("processes", [0, 1, 2])
def test_pictures_do_not_depend_on_how_many_processes_made_them(
    processes: int, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ahead(processes):
        started, helpers = begun()
    if processes:  # all come from elsewhere
        monkeypatch.setattr(writing, "load_vl_convert", None)
    assert [one.svg() for one in reversed(started)] == expected[::-1]
    assert [one.svg() for one in started] == expected
    assert helpers.n_done == (N if processes else 0)
    assert len(helpers.processes) == processes
    assert over(helpers)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_process_that_is_killed_loses_nothing_and_another_goes_on(processes: int, expected: list[str]) -> None:
    with ahead(processes):
        started, helpers = begun()
        assert until(lambda: len(helpers.processes) == processes and (processes == 2 or helpers.n_done >= 2))
        helpers.processes[0].kill()
        assert processes == 2 or over(helpers)
    assert processes == 2 or helpers.n_done < N
    assert [one.svg() for one in started] == expected
    assert over(helpers)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="this system cannot stop a process for a while")
def test_a_process_that_hangs_is_given_up(expected: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "PATIENCE", 0.2)
    with ahead(1):
        started, helpers = begun()
        assert until(lambda: helpers.processes)
        helpers.processes[0].send_signal(signal.SIGSTOP)
    assert [one.svg() for one in started] == expected
    assert over(helpers)


@pytest.mark.parametrize("program", ["import sys; print('hello')", "raise SystemExit(3)", "print([1, 2])\nprint('{')",
                                     "import time; time.sleep(60)"])  # fmt: skip
def test_a_process_that_says_something_else_is_not_heard(
    program: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_PROGRAM", program)
    monkeypatch.setattr(writing, "PATIENCE", 0.5)
    with ahead(2):
        started, helpers = begun(3)
    assert [one.svg() for one in started] == expected[:3]
    assert over(helpers)


@pytest.mark.parametrize(
    ("what", "value", "none"),
    [(sys, "/there/is/no/python", False), (sys, "", False), (sys, None, False), (sys, True, True),
     (writing, N + 1, True)],
)  # fmt: skip
def test_without_a_python_to_start_and_with_few_charts_they_are_made_here(
    what: Any, value: Any, none: bool, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that is not Python is not started again."""
    name = "ENOUGH" if what is writing else "frozen" if value is True else "executable"
    monkeypatch.setattr(what, name, value, raising=False)
    with ahead(2):
        started, helpers = begun(3)
    assert not none or not helpers.processes
    assert [one.svg() for one in started] == expected[:3]


def test_a_wrong_chart_is_the_error_that_it_always_was_and_no_process_is_left() -> None:
    with ahead(2):
        one = Conversion({"mark": "no such mark"}, "6.1")
        _, helpers = begun(3)  # which nobody asks for
    with pytest.raises(ValueError, match="Vega-Lite"):
        one.svg()
    assert over(helpers)
    assert until(lambda: not [one for one in threading.enumerate() if one.name == "charts ahead"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system starts processes otherwise")
@pytest.mark.slow
def test_a_process_ends_with_the_one_that_started_it_even_if_others_hold_its_pipe() -> None:
    script = """
import os, signal, sys, time
from plurivox.plots import writing
writing.ENOUGH = 1
with writing.ahead(1):
    helpers = writing.Conversion({}, "6.1")._ahead
    while not helpers.processes: time.sleep(0.01)
    print(helpers.processes[0].pid, flush=True)
    if os.fork() == 0:
        time.sleep(30)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    started = subprocess.Popen([sys.executable, "-W", "ignore", "-c", script], stdout=subprocess.PIPE, text=True)
    with started:
        assert started.stdout is not None
        pid = int(started.stdout.readline())
        assert started.wait(60) == -signal.SIGKILL
        assert until(lambda: not running(pid), 20)


def running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().split()[2] != "Z"
    except OSError:
        return False
