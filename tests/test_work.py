"""Questions as tasks: files in, sums out, and the bytes of asking at once."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import plurivox as pv
from plurivox.engine import part as parts
from plurivox.errors import FileError
from support import Done, run_cli


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Yield a folder with a packed study of many parts, in which men see some items differently."""
    folder = tmp_path_factory.mktemp("work")
    made = pv.simulate(n_items=60, n_raters=48, effects=[pv.Effect({"gender": "Man"}, shared_sd=2.0)], seed=1)
    made.ratings.to_frame().write_csv(folder / "all.csv")
    made.ratings.raters.write_csv(folder / "raters.csv")
    assert made.trained is not None
    made.trained.to_frame().write_csv(folder / "trained.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts.runs, "__defaults__", (400,))
        patch.setattr(parts.cut, "__defaults__", (400,))
        patch.chdir(folder)
        packed = pv.pack("all.csv", "study.pvx", raters="raters.csv", scale="0:4")
        assert len(packed.parts()) >= 7
        yield folder


def ends_well(done: Done) -> Done:
    assert done.code == 0, done.err
    return done


def rounds(n_tasks: int, *command: str) -> int:
    """Plan, run and finish a command; return how many rounds it took."""
    shutil.rmtree("plan.work", ignore_errors=True)
    ends_well(run_cli("work", "plan", "--tasks", n_tasks, "--", *command))
    for number in range(1, 10):
        assert json.loads(Path("plan.json").read_text())["round"] == number
        for task in reversed(range(n_tasks)):
            ends_well(run_cli("work", "run", "plan.json", "--task", task))
        done = run_cli("work", "finish", "plan.json")
        if done.code == 0:
            return number
        assert done.code == 75, done.err
        assert "more work turned out to be needed" in done.err
    raise AssertionError("it never ends")


COMMANDS = {
    "cohesion": ("--permutations", "40", "--by", "gender", "--by", "age"),
    "variation": ("--permutations", "19", "--by", "gender"),
    "responsiveness": (
        "--reference",
        "trained.csv",
        "--reference-scale",
        "safe-unsafe",
        "--permutations",
        "19",
        "--by",
        "gender",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("n_tasks", [1, 5])
@pytest.mark.parametrize("lens", ["cohesion", "variation", "responsiveness"])
def test_the_outcome_is_that_of_asking_at_once(study: Path, lens: str, n_tasks: int) -> None:
    taken = rounds(n_tasks, lens, "study.pvx", *COMMANDS[lens], "--json", "shared.json")
    ends_well(run_cli(lens, "study.pvx", *COMMANDS[lens], "--json", "once.json"))
    assert Path("shared.json").read_bytes() == Path("once.json").read_bytes()
    if lens == "cohesion":  # what men claim is tested again within age, which nobody knew before
        assert taken > 1


QUICK = ("cohesion", "study.pvx", "--by", "gender", "--permutations", "19", "--max-permutations", "19",
         "--interval", "none", "--json", "out.json")  # fmt: skip


def test_more_tasks_than_batches_share_the_parts(study: Path) -> None:
    ends_well(run_cli("work", "plan", "--tasks", 12, "-o", "many.json", "--", *QUICK))
    plan = json.loads(Path("many.json").read_text())
    files = [name for one in plan["passes"] for name in one["files"]]
    assert any(name.endswith(".npz") for name in files)
    run_cli("work", "run", "many.json", "--task", 11)
    missing = run_cli("work", "finish", "many.json")
    assert missing.code == 1
    assert "11 tasks not done: 0, 1, 2" in missing.err
    assert not Path("out.json").exists()
    for task in range(12):
        ends_well(run_cli("work", "run", "many.json", "--task", task, "--threads", 1))
    ends_well(run_cli("work", "finish", "many.json"))
    shared = Path("out.json").read_bytes()
    before = {name: (Path("many.work") / name).stat().st_mtime_ns for name in files}
    again = ends_well(run_cli("work", "run", "many.json", "--task", 3))
    assert "0 pieces made" in again.err
    assert before == {name: (Path("many.work") / name).stat().st_mtime_ns for name in files}
    ends_well(run_cli(*QUICK))
    assert Path("out.json").read_bytes() == shared
    Path("out.json").unlink()
    damaged = Path("many.work") / files[0]
    damaged.write_bytes(damaged.read_bytes()[:20])
    assert run_cli("work", "finish", "many.json").code == 75
    assert not damaged.exists()


def test_tasks_of_other_programs(study: Path) -> None:
    """Two programs at once, from another folder, as a scheduler would start them."""
    ends_well(run_cli("work", "plan", "--tasks", 2, "-o", "two.json", "--", *QUICK[:-2]))
    call = [sys.executable, "-c", _SMALL_PARTS, "work", "run", str(study / "two.json"), "--task"]
    started = [subprocess.Popen([*call, str(task)], cwd="/", stderr=subprocess.PIPE, text=True) for task in (0, 1)]
    for one in started:
        _, said = one.communicate(timeout=300)
        assert one.returncode == 0, said
    there = ends_well(run_cli("work", "finish", "two.json"))
    assert there.out == ends_well(run_cli(*QUICK[:-2])).out


_SMALL_PARTS = """
from plurivox.engine import part
part.runs.__defaults__ = part.cut.__defaults__ = (400,)
from plurivox.cli import main
main()
"""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plan", "--", "cohesion", "study.pvx"), "plan needs --tasks"),
        (("plan", "--tasks", "2", "--task", "1", "--", "cohesion", "study.pvx"), "--task cannot be used with plan"),
        (("plan", "--tasks", "2", "--", "cohesion", "all.csv", "--raters", "raters.csv", "--by", "gender"),
         "there is nothing to share"),
        (("plan", "--tasks", "2", "--", "cohesion", "nowhere.pvx"), "nowhere.pvx"),
        (("plan", "--tasks", "2", "--", "simulate", "made"), "the work of simulate cannot be shared"),
        (("plan", "--tasks", "2", "--", "cohesion", "study.pvx", "--permutation", "3"), "No such option"),
        (("run", "quick.json"), "run needs --task"),
        (("run", "quick.json", "--task", "2"), "--task must be 0 to 1"),
        (("run", "study.pvx/manifest.json", "--task", "0"), "it is not a plan"),
        (("run", "nowhere.json", "--task", "0"), "nowhere.json: No such file"),
        (("finish", "quick.json", "other.json"), "finish takes one plan"),
        (("finish", "quick.json"), "2 tasks not done: 0, 1"),
        (("finish", "other-versions.json"), "it was made with plurivox 0.0.1, numpy"),
        (("run", "other-study.json", "--task", "0"), "have changed. Plan again"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(study: Path, arguments: tuple[str, ...], said: str) -> None:
    if not Path("quick.json").exists():
        ends_well(run_cli("work", "plan", "--tasks", 2, "-o", "quick.json", "--", *QUICK))
        plan = json.loads(Path("quick.json").read_text())
        other = {**plan, "versions": {**plan["versions"], "plurivox": "0.0.1"}}
        Path("other-versions.json").write_text(json.dumps(other))
        Path("other-study.json").write_text(json.dumps({**plan, "command": [*plan["command"], "--seed", "3"]}))
    before = {path.name for path in Path().iterdir()}
    done = run_cli("work", *arguments)
    assert done.code in (1, 2)
    assert said in done.err
    assert "Traceback" not in done.err
    assert {path.name for path in Path().iterdir()} - before <= {"other-study.work"}


def test_a_task_that_cannot_write_its_pieces_fails(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends_well(run_cli("work", "plan", "--tasks", 1, "-o", "full.json", "--", *QUICK))
    monkeypatch.setattr("plurivox.engine.sharing.write_arrays", _full_disk)
    done = run_cli("work", "run", "full.json", "--task", 0)
    assert (done.code, "No space left on device" in done.err) == (1, True), done.err
    monkeypatch.undo()
    monkeypatch.chdir(study)
    ends_well(run_cli("work", "run", "full.json", "--task", 0))
    assert ends_well(run_cli("work", "finish", "full.json")).out == ends_well(run_cli(*QUICK)).out


def _full_disk(path: Path, *_: object) -> None:
    raise FileError("No space left on device", source=str(path))
