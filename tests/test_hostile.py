"""Bad files end in one line, whatever the command: no traceback, nothing left behind, within bounds."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import plurivox as pv
from hostile.calls import GIVEN, Call, calls
from hostile.corpus import Case, cases
from support import Done, run_cli

CASES = cases()
CALLS = list(calls())
ANYWHERE = [case for case in CASES if case.anywhere]
QUICK = [case for case in ANYWHERE if len(case.data()) < 100_000]
DESCRIBE = Call("describe", "file")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    for name, content in GIVEN.items():
        (folder / name).write_text(content)
    return folder


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, where commands write what they are not told to write elsewhere."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def run(call: Call, case: Case, good: Path, empty: Path) -> Done:
    """Give a command a bad file, and see that it ends well, with the input as it was and nothing beside it."""
    folder = empty.parent / "bad"
    folder.mkdir(exist_ok=True)
    path = folder / case.name
    path.write_bytes(case.data())
    done = run_cli(*call.arguments(good, path, case.options))
    where = f"{call} {case.name} {case.options}: {done.err}"
    errors = [line for line in done.err.splitlines() if line.lower().startswith("error: ")]
    assert "Traceback" not in done.err, where
    assert (done.code in (1, 2) and len(errors) == 1) or (done.code == 0 and not errors), where
    if done.code:
        assert list(empty.iterdir()) == [], where
    assert os.listdir(folder) == [case.name], where
    assert path.read_bytes() == case.data(), where
    path.unlink()
    for left in empty.iterdir():
        left.unlink() if left.is_file() else None
    return done


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join((case.name, *case.options))[:60])
def test_describe_says_what_is_wrong(case: Case, good: Path, empty: Path) -> None:
    done = run(DESCRIBE, case, good, empty)
    if case.error is None:
        assert done.code == 0, done.err
    else:
        assert done.code == 1
        assert case.error in done.err


@pytest.mark.parametrize("place", range(len(CALLS)), ids=lambda place: str(CALLS[place]))
def test_every_command_refuses_a_bad_file_wherever_it_takes_one(place: int, good: Path, empty: Path) -> None:
    assert run(CALLS[place], QUICK[place % len(QUICK)], good, empty).code in (1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS, ids=str)
def test_every_command_with_every_file(call: Call, good: Path, empty: Path) -> None:
    for case in CASES:
        if call.slot in ("file", "texts") or case.anywhere:
            done = run(call, case, good, empty)
            assert done.code in (1, 2) or not case.anywhere, (str(call), case.name)


def test_the_calls_cover_the_program() -> None:
    """Commands and slots are found from the program; these are some that must be among them."""
    found = {(call.command, call.slot) for call in CALLS}
    assert {("describe", "file"), ("report", "answers"), ("score", "predictions"), ("fit", "texts")} <= found
    assert {("cohesion", "raters"), ("responsiveness", "reference"), ("ask", "file"), ("answers", "store")} <= found
    assert len(found) == len(CALLS) > 50


MOST_MEMORY = 1 << 30
_BATCH = """
    import resource, sys
    from pathlib import Path
    from hostile.corpus import bombs, packed
    from support import run_cli

    resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
    made = [(case, case.data()) for case in (bombs() if sys.argv[2] == "bombs" else packed())]
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    for case, data in made:
        path = Path(sys.argv[1], case.name)
        path.write_bytes(data)
        done = run_cli("describe", path, *case.options)
        assert done.code == 1 and case.error in done.err, (case.name, done)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    """


@pytest.mark.parametrize("which", ["packed", pytest.param("bombs", marks=pytest.mark.slow)])
def test_what_unpacks_to_gigabytes_is_refused_within_a_gigabyte(which: str, tmp_path: Path) -> None:
    paths = os.pathsep.join([str(Path(pv.__file__).parents[1]), str(Path(__file__).parent)])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_BATCH), str(tmp_path), which],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    before, after = map(int, done.stdout.split())
    assert before < after + 1 < MOST_MEMORY / 1024
