"""``plurivox judge`` as a gate: codes, what is said of requirements, and the forms of its output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import plurivox as pv
from plurivox.infer.lens import NOT_MET
from support import looked_at, refused
from support import run_cli as run


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("study")
    assert run("simulate", folder, "--items", 60, "--raters", 40, "--seed", 3).code == 0
    return folder / "ratings.csv", folder / "answers.csv"


def test_what_holds_ends_with_0_and_what_does_not_with_4(files: tuple[Path, Path]) -> None:
    assert run("judge", *files).code == 0
    assert run("judge", *files, "--require", "agreement>-1").code == 0
    failed = run("judge", *files, "--require", "agreement>-1", "--require", "agreement>=1.5")
    assert failed.code == NOT_MET == 4
    said = [line for line in failed.err.splitlines() if line.startswith("not met: ")]
    assert len(said) == 3
    assert said[0].startswith("not met: model-a does not meet agreement>=1.5: agreement is 0.")
    assert "NOT MET" in failed.out


def test_one_model_can_be_judged_alone(files: tuple[Path, Path]) -> None:
    done = run("judge", *files, "--judge", "model-b", "--require", "agreement>=1.5")
    assert (done.code, done.err.count("not met: ")) == (NOT_MET, 1)
    assert "model-a can" not in done.out
    told = refused("judge", *files, "--judge", "nobody")
    assert "no model is called 'nobody'; the models are: model-a, model-b, model-c" in told


def test_an_undefined_quantity_fails_with_its_reason(files: tuple[Path, Path]) -> None:
    done = run("judge", *files, "--judge", "model-a", "--require", "consistency>=0.5", "--require", "omega.low>0")
    assert done.code == NOT_MET
    assert "consistency is undefined: no item has two answers: ask for several samples" in done.words
    assert "omega.low is undefined: there is no such number" in done.words


@pytest.mark.parametrize("form", ["--json", "--csv", "--markdown"])
def test_the_code_is_the_same_in_every_form(files: tuple[Path, Path], form: str) -> None:
    done = run("judge", *files, form, "--require", "agreement>=1.5")
    assert done.code == NOT_MET
    assert "not met: " in done.err
    assert "not met: " not in done.out
    if form == "--json":
        tables = {one["name"]: one["columns"] for one in json.loads(done.out)["tables"]}
        assert tables["requirements"]["holds"] == [False] * 3
        assert pv.JudgeCard.from_json(done.out).failures()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("omga>=0.5", "There is no quantity 'omga'; the quantities are agreement, relative, distance"),
        ("omega", "Write a quantity, then >=, >, <= or <, then a number: 'omega>=0.5'."),
    ],
)
def test_a_requirement_that_cannot_be_read_is_refused_before_anything_is(text: str, told: str) -> None:
    assert told in refused("judge", "nothing.csv", "nothing.csv", "--require", text, code=2)


def test_requirements_can_stand_in_the_config(files: tuple[Path, Path], tmp_path: Path) -> None:
    config = tmp_path / "plurivox.toml"
    config.write_text((files[0].parent / "plurivox.toml").read_text() + '\n[judge]\nrequire = ["agreement>=1.5"]\n')
    for name in ("raters.csv", "items.csv"):
        (tmp_path / name).write_bytes((files[0].parent / name).read_bytes())
    assert run("judge", *files, "--config", config).code == NOT_MET


def test_a_chart_is_drawn_and_a_terminal_shows_what_matters(files: tuple[Path, Path], tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="charts need plurivox[report]")
    done = run("judge", *files, "--chart", tmp_path / "card.svg")
    assert done.code == 0
    assert "model-a can serve as a judge" in (tmp_path / "card.svg").read_text()
    seen = looked_at("judge", *files, "--judge", "model-a")
    assert "agreement with a rater" in seen.out
    several = looked_at("judge", *files)
    assert "two raters" in several.out
    assert "--all" in several.out
