"""The command and the Python lines that pages show do what the page did; commands themselves are the judges."""

from __future__ import annotations

import functools
import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer

import plurivox as pv
from plurivox.ask.read_answers import are_before
from plurivox.base.errors import InputError
from plurivox.base.settings import Settings
from plurivox.base.settings.record import Spec
from plurivox.cli.app import program
from plurivox.cli.lens import settings_given
from plurivox.cli.options import CONTEXT
from plurivox.infer.lens import Lens
from plurivox.lenses import lenses
from plurivox.report.settings import ReportSettings
from plurivox.workbench.forms import Known, fields_of, lens_command, options_of, python_lines, read_form, report_command
from plurivox.workbench.reading import ReadingSettings, asked_of, beside, read, source_of
from support import run_cli
from workbench_support import RATINGS


def others(spec: Spec) -> list[Any]:
    """Return values of a setting besides its default."""
    if spec.flag:
        return [not spec.default]
    if spec.choices is not None:
        return [one for one in spec.choices if one != spec.default]
    if spec.kind is int:
        return [max(1, int(spec.least or 0)) + 2]
    if spec.kind is float and spec.canonical is None:
        low = spec.least if spec.least is not None else 0.0
        return [low + (0.25 if spec.most is None else (spec.most - low) / 4)]
    known: dict[str, list[Any]] = {
        "within": [None, ("batch", "region")], "prior": [2.0, (1.0, 2.5)], "contrast": [("Man", "Woman")],
        "gai": [("irr", "plurality")], "items_by": ["topic"], "subset": ["topic"], "level": ["nominal"],
    }  # fmt: skip
    return known.get(spec.name, [])


CASES = [
    (lens.command, lens.settings, name, value)
    for lens in lenses()
    for name, spec in lens.settings.specs().items()
    if spec.cli
    for value in others(spec)
]


def made(settings: type[Settings], **given: Any) -> Settings:
    try:
        return settings.from_dict(given)
    except InputError:  # it goes with another setting
        pytest.skip("this value needs another setting")


@functools.cache
def whole_program() -> Any:
    return typer.main.get_command(program())


@pytest.mark.parametrize(("command", "settings", "name", "value"), CASES)
def test_options_are_read_back_as_what_they_were_written_for(
    command: str, settings: type[Settings], name: str, value: Any
) -> None:
    record = made(settings, **{name: value})
    own = whole_program().commands[command]
    places = ["x"] * sum(one.param_type_name == "argument" and one.required for one in own.params)
    context = own.make_context(command, [*places, *options_of(record)])
    assert settings.from_dict(settings_given(settings, {**context.params, CONTEXT: context})) == record


def test_most_settings_were_tried() -> None:
    tried = {(settings.__name__, name) for _, settings, name, _ in CASES}
    every = {
        (lens.settings.__name__, name) for lens in lenses() for name, spec in lens.settings.specs().items() if spec.cli
    }
    assert len(tried) > 0.75 * len(every), sorted(every - tried)


@pytest.mark.parametrize(("command", "settings", "name", "value"), CASES)
def test_a_form_sends_back_what_it_shows(command: str, settings: type[Settings], name: str, value: Any) -> None:
    record = made(settings, **{name: value})
    sent: dict[str, list[str]] = {}
    for field in fields_of(record, Known()):
        if field.kind == "axes":
            sent["by"] = list(field.chosen)
        else:
            sent[field.name] = ["0", field.value] if field.kind == "flag" else [field.value]
    again = settings.from_dict(read_form(settings, sent))
    if name != "ids":  # which forms do not show
        assert again == record


READINGS = [
    {"scale": "0:3"}, {"scale": "0:3", "poles": "safe,unsafe", "where": [["raters", "gender", "woman"]]},
    {"scale": "0:2", "missing": ["3"], "bins": {"age": [0, 3, 6]}, "rater_attributes": ["gender", "age"]},
    {"scale": "0:3", "recode": "0-1=no,2-3=yes"}, {"scale": "0:3", "unsafe_from": "2", "poles": "safe,unsafe"},
]  # fmt: skip


def hold_alike(
    lens: Lens, record: ReadingSettings, asked: Settings, files: dict[str, str], rows: list[Any],
    before: Sequence[str] = (),
) -> None:  # fmt: skip
    """Hold that the command and the lines of Python that a page shows give the rows that the page has."""
    done = run_cli(*shlex.split(lens_command(lens, record, asked, files, {}))[1:], "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["rows"] == rows
    told: dict[str, Any] = {}
    exec(python_lines(record, asked, files, lens.name, {one.name: "" for one in lens.inputs}, before), told)
    assert json.loads(told["found"].to_json(draws=False))["rows"] == rows


@pytest.mark.parametrize("reading", READINGS)
def test_the_command_and_the_lines_give_what_the_page_gives(
    reading: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, *rows = RATINGS.splitlines()
    text = "\n".join([f"{head},age", *(f"{row},{int(row.split(',')[1][1:]) % 9}" for row in rows)])
    (tmp_path / "my ratings.csv").write_text(text)
    monkeypatch.chdir(tmp_path)
    record = ReadingSettings.from_dict({"rater_attributes": ["gender"], **reading})
    files = {"ratings": "my ratings.csv"}
    lens = next(lens for lens in lenses() if lens.name == "cohesion")
    asked = lens.settings.from_dict({"by": [["gender"]], "permutations": 9, "max_permutations": 9, "interval": "none"})
    own = json.loads(pv.cohesion(read(record, files)[0], **asked.as_dict()).to_json(draws=False))
    hold_alike(lens, record, asked, files, own["rows"])


HELD = [
    {"scale": "0:3", "reference_column": "verdict", "reference_scale": "0:1"},
    {"scale": "0:3", "reference_column": "verdict", "reference_scale": "same"},
    {"scale": "0:3", "reference_column": "verdict", "reference_scale": "same", "unsafe_from": "1"},
    {"scale": "0:3", "reference": "gender=woman"},
    {"scale": "0:3", "reference_scale": "same", "recode": "0-1=no,2-3=yes"},
]


@pytest.mark.parametrize("reading", HELD)
def test_what_scores_are_held_against_is_the_same_everywhere(
    reading: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ratings.csv").write_text(RATINGS)
    (tmp_path / "items.csv").write_text("item,verdict\n" + "".join(f"i{at},{at % 2}\n" for at in range(12)))
    (tmp_path / "trained.csv").write_text("item,rater,score\n" + "".join(f"i{at},t,{at % 4}\n" for at in range(12)))
    monkeypatch.chdir(tmp_path)
    record = ReadingSettings.from_dict({"rater_attributes": ["gender"], **reading})
    files = {"ratings": "ratings.csv", "items": "items.csv", "reference": "trained.csv"}
    lens = next(lens for lens in lenses() if lens.name == "responsiveness")
    ratings, recoding = read(record, files)
    held = beside("reference", record, files, ratings, recoding)
    given: dict[str, Any] = {"by": [["gender"]], "permutations": 9, "max_permutations": 9}
    if isinstance(held, pv.Ratings) and len(held.scale) > 2:
        given["threshold"] = "2"
    asked = lens.settings.from_dict(given)
    own = json.loads(pv.responsiveness(ratings, held, **asked.as_dict()).to_json(draws=False))
    hold_alike(lens, record, asked, files, own["rows"])


OLD = "item,0,1,2,3\n" + "".join(f"i{at},0.1,0.2,0.3,0.4\n" for at in range(12))
NEW = "item,low,high\n" + "".join(f"i{at},0.{1 + at % 8},0.{9 - at % 8}\n" for at in range(12))


@pytest.mark.parametrize("reading", [{}, {"recode": "0-1=low,2-3=high"}])
def test_several_predictions_of_points_before_and_after(
    reading: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ratings.csv").write_text(RATINGS)
    (tmp_path / "old.csv").write_text(OLD)
    (tmp_path / "other.csv").write_text(NEW if reading else OLD.replace("0.1,0.2", "0.2,0.1"))
    monkeypatch.chdir(tmp_path)
    record = ReadingSettings.from_dict({"scale": "0:3", **reading})
    files = {"ratings": "ratings.csv", "predictions": "old.csv", "predictions-2": "other.csv"}
    lens = next(lens for lens in lenses() if lens.name == "soft_scores")
    ratings, recoding = read(record, files)
    found = beside("predictions", record, files, ratings, recoding)
    assert found.models == ("old", "other")
    before = [] if recoding is None else ["predictions"]
    assert recoding is None or [are_before("predictions", files[f"predictions{n}"], ratings, recoding)
                                for n in ("", "-2")] == [True, False]  # fmt: skip
    asked = lens.settings.from_dict({"prior": 1.0})
    own = json.loads(pv.soft_scores(ratings, found, **asked.as_dict()).to_json(draws=False))
    hold_alike(lens, record, asked, files, own["rows"], before)


@pytest.mark.parametrize("labels", [("0", "1", "2", "3"), ("low", "low", "high", "high")])
def test_answers_of_points_before_and_after(
    labels: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ratings.csv").write_text(RATINGS)
    lines = "".join(f"m,i{at},{labels[at % 4]}\n" for at in range(12))
    (tmp_path / "answers.csv").write_text(f"model,item,answer\n{lines}")
    monkeypatch.chdir(tmp_path)
    record = ReadingSettings.from_dict({"scale": "0:3", "recode": "0-1=low,2-3=high", "rater_attributes": ["gender"]})
    files = {"ratings": "ratings.csv", "answers": "answers.csv"}
    lens = next(lens for lens in lenses() if lens.name == "alignment")
    ratings, recoding = read(record, files)
    found = beside("answers", record, files, ratings, recoding)
    assert sorted(found.point) == [0] * 6 + [1] * 6
    asked = lens.settings.from_dict({"by": [["gender"]], "permutations": 9})
    own = json.loads(pv.alignment(ratings, found, **asked.as_dict()).to_json(draws=False))
    hold_alike(lens, record, asked, files, own["rows"], ["answers"] if labels[0] == "0" else [])


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study whose models answered more items than people rated."""
    folder = tmp_path_factory.mktemp("simulated") / "study"
    made = run_cli("simulate", folder, "--items", 90, "--rated", 45, "--raters", 30, "--ratings-per-item", 6)
    assert made.code == 0, made.err
    (folder / "plurivox.toml").unlink()
    return folder


@pytest.mark.parametrize("name", ["estimate", "judge"])
def test_lenses_of_answers_know_items_that_nobody_rated(
    name: str, simulated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(simulated)
    record = ReadingSettings.from_dict({"scale": "0:4"})
    files = {role: f"{role}.csv" for role in ("ratings", "raters", "items", "answers")}
    lens = next(lens for lens in lenses() if lens.name == name)
    ratings, recoding = read(record, files)
    found = beside("answers", record, files, ratings, recoding)
    assert found.attributes.height == 90 > ratings.n_items
    assert found.attributes["violation"].null_count() == 0
    asked = lens.settings.from_dict({"by": [["age"]], "subset": "violation"})
    own = json.loads(getattr(pv, name)(ratings, found, **asked.as_dict()).to_json(draws=False))
    hold_alike(lens, record, asked, files, own["rows"])


def test_points_in_columns_and_several_values_are_asked_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = ("1,0,0", "0,1,0", "0,0,1")
    lines = [
        f"i{item},r{rater},{points[item * rater % 3]},{('a;b', 'b', 'a')[rater % 3]}"
        for item in range(9)
        for rater in range(18)
    ]
    (tmp_path / "ratings.csv").write_text("\n".join(["item,rater,s.0,s.1,s.2,kind", *lines]))
    monkeypatch.chdir(tmp_path)
    record = ReadingSettings.from_dict({"point_columns": "s.*", "several": {"kind": ";"}})
    files = {"ratings": "ratings.csv"}
    lens = next(lens for lens in lenses() if lens.name == "cohesion")
    given = {"by": [["kind"]], "permutations": 9, "max_permutations": 9, "interval": "none"}
    asked = asked_of(lens.settings, given, record)
    own = json.loads(pv.cohesion(read(record, files)[0], **asked.as_dict()).to_json(draws=False))
    assert {"a", "b"} <= {row["group"] for row in own["rows"]}
    hold_alike(lens, record, asked, files, own["rows"])


def test_a_report_is_asked_with_all_that_stands_beside() -> None:
    record = ReadingSettings(table="Sheet 1", reference_scale="safe,unsafe", layout="wide")
    files = {"ratings": "a b.xlsx", "reference": "t.csv", "predictions": "p.csv", "predictions-2": "q.csv",
             "answers": "a.csv", "raters": "r.csv"}  # fmt: skip
    asked = ReportSettings(by=(("age",), ("age", "race")), permutations=99, min_group_size=7)
    line = shlex.split(report_command(record, asked, files))
    assert line[:3] == ["plurivox", "report", "a b.xlsx::Sheet 1"]
    text = " ".join(line)
    for part in ("--raters r.csv", "--wide", "--by age --by age,race", "--min-group-size 7", "--reference t.csv",
                 "--reference-scale safe,unsafe", "--predictions p.csv --predictions q.csv", "--answers a.csv",
                 "--permutations 99"):  # fmt: skip
        assert part in text
    assert source_of(record, files) == "a b.xlsx::Sheet 1"
