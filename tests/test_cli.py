from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.cli import main
from plurivox.simulation import simulate
from support import Write

GOOD = "item,rater,score\n1,a,3\n2,a,1\n"


class Program:
    """Runs the command line in this process and keeps what it printed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.out = self.err = ""

    def __call__(self, *arguments: object) -> int:
        self._monkeypatch.setattr(sys, "argv", ["plurivox", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        self.out, self.err = self._capsys.readouterr()
        return code


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    return Program(monkeypatch, capsys)


@pytest.fixture
def study(tmp_path: Path, program: Program) -> Path:
    assert program("simulate", tmp_path / "study", "--items", 40, "--raters", 60, "--missing", 0.5, "--seed", 5) == 0
    return tmp_path / "study"


def test_simulate_writes_the_study_and_its_truth(study: Path) -> None:
    assert sorted(path.name for path in study.iterdir()) == [
        ".plurivox.json", "answers.csv", "items.csv", "plurivox.toml", "predictions.csv", "raters.csv", "ratings.csv",
        "settings.json", "trained.csv", "truth_groups.csv", "truth_items.csv", "truth_raters.csv",
    ]  # fmt: skip
    read = pv.read_ratings(study / "ratings.csv", scale="0:4", raters=study / "raters.csv", items=study / "items.csv")
    from plurivox.simulation.simulate import DEMO

    assert read == pv.simulate(n_items=40, n_raters=60, missing=0.5, seed=5, **DEMO).ratings
    assert json.loads((study / "settings.json").read_text())["seed"] == 5
    assert pl.read_csv(study / "truth_items.csv").columns == ["item", "severity"]


def test_simulate_specifications(tmp_path: Path, program: Program) -> None:
    code = program(
        "simulate", tmp_path, "--items", 30, "--raters", 40, "--scale", "Low,Middle,High", "--ratings-per-item", 7,
        "--attribute", "region: Far North 0.5, South 0.5", "--missing-attributes", 0.2,
        "--effect", "region=South: bias 0.4, shared 0.5, violation bias", "--style", "normal=0.5",
        "--style", "central=0.5", "--trained", 0, "--model", "m1: bias 0.2, refuses 0.5, like region=South",
        "--rater-sd", 0.1, "--noise-sd", 0.2,
    )  # fmt: skip
    assert code == 0, program.err
    settings = json.loads((tmp_path / "settings.json").read_text())
    assert settings["attributes"] == {"region": {"Far North": 0.5, "South": 0.5}}
    expected = {"condition": {"region": "South"}, "bias": 0.4, "shared_sd": 0.5, "violation": "bias"}
    assert (settings["effects"], settings["models"][0]["like"]) == ([expected], {"region": "South"})
    assert settings["styles"] == {"normal": 0.5, "central": 0.5}
    assert not (tmp_path / "trained.csv").exists()
    assert pl.read_csv(tmp_path / "ratings.csv").height == 210


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--effect", "gender=Woman"], "two parts separated by a colon"),
        (["--effect", "gender=Woman: force 3"], "'force' is not one of bias, shared, violation"),
        (["--effect", "gender: bias 3"], "a condition must be ATTRIBUTE=VALUE"),
        (["--effect", "gender=Woman: bias much"], "'much' is not a number"),
        (["--style", "normal"], "needs NAME=SHARE"),
        (["--style", "normal=0.5"], "sum of the proportions in styles is 0.5"),
        (["--missing", "1.5"], "missing is 1.5"),
        (["--scale", "7"], "at least two points"),
    ],
)
def test_simulate_says_what_is_wrong(tmp_path: Path, program: Program, arguments: list[str], problem: str) -> None:
    assert program("simulate", tmp_path / "out", *arguments) != 0
    assert problem in " ".join(program.err.replace("│", " ").split())
    assert not (tmp_path / "out").exists()


def test_describe_prints_tables(study: Path, program: Program) -> None:
    assert program("describe", study / "ratings.csv") == 0
    for part in ("40 items · 60 raters · sparse", "ratings per item", "Scale, 5 points", "gender", "18-29"):
        assert part in program.out
    assert "item = item, rater = rater, score = score; scale 0 < 1 < 2 < 3 < 4" in program.err
    assert "plurivox.toml says" in program.err
    assert "rater-0" not in program.out
    assert "\x1b" not in program.out  # no colour codes in a pipe


def test_describe_json_is_the_python_result(study: Path, program: Program) -> None:
    assert program("describe", study / "ratings.csv", "--json", "--by", "age", "--by", "gender,age") == 0
    ratings = pv.read_ratings(
        study / "ratings.csv", scale="0:4", raters=study / "raters.csv", items=study / "items.csv"
    )
    assert json.loads(program.out) == json.loads(pv.describe(ratings, ["age", ("gender", "age")]).to_json())


def test_describe_options(write: Write, program: Program) -> None:
    path = write(
        "r.csv", "conv,who,Q,gender,removed\n" + "".join(f"{i % 3},{i},{i % 2},g{i % 2},{i > 9}\n" for i in range(12))
    )
    common = ["describe", path, "--item", "conv", "--rater", "who", "--score", "Q", "--scale", "0:2", "--json"]
    assert program(*common, "--rater-attributes", "gender,removed", "--where", "removed=False") == 0
    found = json.loads(program.out)
    assert (found["n_ratings"], found["points"]) == (10, ["0", "1", "2"])
    assert [axis["name"] for axis in found["axes"]][:2] == ["gender", "removed"]
    assert program(*common, "--rater-attributes", "gender,removed", "--min-group-size", 1, "--by", "removed") == 0
    assert [group["n_raters"] for group in json.loads(program.out)["axes"][0]["groups"]] == [10, 2]


def test_several_values_of_one_attribute(write: Write, program: Program) -> None:
    races = ["Black", "Asian; White", "White", "Asian; White"]
    rows = "".join(f"{i % 3},{i},{i % 2},{races[i % 4]}\n" for i in range(40))
    path = write("r.csv", "item,rater,score,race\n" + rows)
    assert program("describe", path, "--rater-attributes", "race", "--several", "race=;", "--json") == 0
    (axis,) = json.loads(program.out)["axes"]
    assert {group["name"]: group["n_raters"] for group in axis["groups"]} == {"Asian": 20, "Black": 10, "White": 30}
    assert program("describe", path, "--rater-attributes", "race", "--several", "race") != 0


def test_write_config_and_follow_it(write: Write, program: Program, tmp_path: Path) -> None:
    path = write("r.csv", "conv_id,worker,stars\n" + "".join(f"{i % 3},{i},{i % 5}\n" for i in range(12)))
    raters = write("people.csv", "worker,age\n" + "".join(f"{i},{15 + 4 * i}\n" for i in range(12)))
    assert program("describe", path, "--raters", raters, "--write-config") == 0
    assert f"wrote {tmp_path / 'plurivox.toml'}" in program.err
    config = tmp_path / "plurivox.toml"
    config.write_text(config.read_text().replace("# age = [18, 30, 50]", "age = [18, 30, 50]"))
    assert program("describe", path, "--json", "--min-group-size", 1) == 0
    (axis,) = json.loads(program.out)["axes"]
    assert [group["name"] for group in axis["groups"]] == ["<18", "18–29", "30–49", "50+"]
    assert not json.loads(program.out)["scale_inferred"]
    before = config.read_bytes()
    assert program("describe", path, "--write-config") == 1
    assert "it already exists" in program.err
    assert config.read_bytes() == before


def test_errors_end_in_one_line(write: Write, program: Program) -> None:
    assert program("describe", write("r.csv", GOOD + "1,a,3\n")) == 1
    assert program.err.startswith("error: ")
    assert program.err.count("\n") == 1
    assert "--duplicates first, last, mode or keep" in program.err
    assert program.out == ""


def test_warnings_are_shown(write: Write, program: Program) -> None:
    path = write("r.csv", GOOD + "1,b,2\n")
    assert program("describe", path, "--raters", write("raters.csv", "rater,age\na,3\n")) == 0
    assert "warning: " in program.err
    assert "lacks 1 of the 2 raters" in program.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--wide", "--totals"], "only one of --wide and --totals"),
        (["--duplicates", "newest"], "error, first, last, mode, keep, not 'newest'"),
        (["--format", "xls"], "survey, not 'xls'"),
        (["--where", "age"], "ATTRIBUTE=VALUE"),
        (["--by", "mood"], "raters have no attribute 'mood'"),
    ],
)
def test_bad_options(write: Write, program: Program, arguments: list[str], problem: str) -> None:
    assert program("describe", write("r.csv", GOOD), *arguments) != 0
    assert problem in " ".join(program.err.replace("│", " ").split())


def test_text_from_data_is_shown_as_text(write: Write, program: Program) -> None:
    """Rich markup, terminal escapes and spreadsheets' formulas in group names stay what they are."""
    names = ["[bold red]x[/]", "=HYPERLINK(1)", ":smile:"]
    rows = "".join(f'{i % 4},{i},{i % 3},"{names[i % 3]}"\n' for i in range(24))
    assert program("describe", write("r.csv", "item,rater,score,g\n" + rows), "--rater-attributes", "g") == 0
    for name in names:
        assert f"{name} (8)" in program.out


@pytest.mark.slow
def test_demo(demo_folder: Path) -> None:
    out = (demo_folder / "printed.txt").read_text(encoding="utf-8")
    last = out.strip().splitlines()[-1]
    assert Path(last) == demo_folder / "plurivox-demo" / "report.html"
    words = " ".join(out.split())
    for text in (
        "Two raters of the same item agree moderately: alpha 0.",
        "groups nine differ: • age 18-29 (view correlation 0.",
        "have a view of their own (p < .001 after correction).",
        "tell unsafe from safe worse than a random group of that size would",
        "What to do: • Check what unsafe means to age 18-29",
        "What is not certain: • Nothing is certain about the other",
    ):
        assert text in words
    assert "36,000 ratings" in Path(last).read_text(encoding="utf-8")


@pytest.mark.slow
def test_demo_without_the_extra(tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.setattr(simulate, "DEMO", {**simulate.DEMO, "n_items": 120})
    assert program("demo") == 0
    last = program.out.strip().splitlines()[-1]
    assert Path(last) == tmp_path / "plurivox-demo" / "report.txt"
    assert "age 18-29 have a view of their own: view correlation 0." in " ".join(Path(last).read_text().split())
    assert "pip install 'plurivox[report]'" in program.out


QUICK = ("--permutations", 20, "--bootstrap", 20)


def test_responsiveness(study: Path, program: Program) -> None:
    trained = ("--reference", study / "trained.csv", "--reference-scale", "safe,unsafe")
    assert program("responsiveness", study / "ratings.csv", "--by", "gender", *trained, *QUICK) == 0
    assert "trained.csv: reference, item = item, rater = rater, score = score; scale safe < unsafe" in program.err
    for text in (
        "MPA",
        "chance",
        "Precision: share of unsafe",
        "All raters together, against trained.csv",
        "never a reason to",
    ):
        assert text in program.out
    assert "rater-0" not in program.out
    assert program("responsiveness", study / "ratings.csv", "--by", "gender", *trained, *QUICK, "--json") == 0
    found = pv.Responsiveness.from_json(program.out)
    ratings = pv.read_ratings(
        study / "ratings.csv", scale="0:4", raters=study / "raters.csv", items=study / "items.csv"
    )
    experts = pv.read_ratings(study / "trained.csv", scale="safe,unsafe")
    again = pv.responsiveness(ratings, experts, "gender", permutations=20, bootstrap=20)
    assert found.to_frame().equals(again.to_frame())


def test_responsiveness_of_each_rater(study: Path, program: Program) -> None:
    asked = ("responsiveness", study / "ratings.csv", "--by", "rater", "--reference", "crowd", *QUICK)
    assert program(*asked) == 0
    assert "individually" in program.out
    assert "rater-0" not in program.out
    assert program(*asked, "--csv") == 0
    assert pl.read_csv(program.out.encode())["group"].n_unique() == 61
    assert program(*asked, "--csv", "--table", "boundaries") == 0
    assert pl.read_csv(program.out.encode())["boundary"].unique().sort().to_list() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        (["--reference", "study/trained.csv"], "--reference-scale"),
        (["--reference", "nowhere.csv"], "there is no such file"),
        (["--reference", "gender=Alien"], "no rater has gender = 'Alien'"),
        (
            ["--reference", "study/answers.csv", "--reference-scale", "same"],
            "not clear which of its points mean unsafe",
        ),
        (["--reference-where", "rater=x"], "require a reference file"),
        (["--table", "odd"], "--table must be one of"),
        (["--family", "ethnicity"], "--family needs ATTRIBUTE=VALUE"),
        (
            ["--family", "gender=Woman", "--family", "age=18-29", "--min-group-size", "1"],
            "no axis has both groups with {'age': '18-29'}",
        ),
        (["--reference-column", "gold"], "items have no attribute 'gold'; they have: text, violation"),
        (["--reference-column", "violation"], "--reference-scale"),
        (["--reference-column", "violation", "--reference-scale", "bias,harassment"], "items, column 'violation'"),
        (["--reference-column", "violation", "--reference", "crowd"], "only one of --reference and --reference-column"),
        (["--reference-column", "violation", "--reference-where", "rater=x"], "requires a reference file"),
        (
            [
                "--reference",
                "study/answers.csv",
                "--reference-scale",
                "same",
                "--reference-where",
                "rater=model-a",
                "--reference-where",
                "rater=model-b",
            ],
            "--reference-where is given 2 times",
        ),
        (["--json", "--csv"], "only one of"),
        (["--threshold", "0"], "the lowest point"),
    ],
)
def test_responsiveness_refuses(
    study: Path, program: Program, monkeypatch: pytest.MonkeyPatch, extra: list[str], problem: str
) -> None:
    monkeypatch.chdir(study.parent)
    assert program("responsiveness", study / "ratings.csv", "--by", "gender", *QUICK, *extra) != 0
    assert problem in program.err
    assert program.out == ""


def test_several_families_are_corrected_together(study: Path, program: Program) -> None:
    families = ("--family", "gender=Woman", "--family", "age=18-29")
    crossed = ("--by", "gender,age", *families, "--min-group-size", 1, "--interval", "none")
    assert program("responsiveness", study / "ratings.csv", *crossed, "--permutations", 20, "--json") == 0
    found = pv.Responsiveness.from_json(program.out)
    assert found.settings["family"] == [{"gender": "Woman"}, {"age": "18-29"}]
    rows = [row for row in found.rows if row.kind == "family" and row.statistic == "wra"]
    assert [row.group.partition(" (")[0] for row in rows] == ["gender = Woman"] * 3 + ["age = 18-29"] * 3
    raw = sorted(float(row.p_value or 0) for row in rows)  # Holm over the six of a statistic
    steps = np.maximum.accumulate([min(1.0, (6 - at) * p) for at, p in enumerate(raw)])
    assert sorted(float(row.p_adjusted or 0) for row in rows) == pytest.approx(steps.tolist())


@pytest.mark.usefixtures("undrawn")
def test_a_gold_column_is_what_a_file_of_the_same_says(study: Path, tmp_path: Path, program: Program) -> None:
    items = pl.read_csv(study / "items.csv").with_row_index().with_columns(
        gold=pl.when(pl.col("index") % 7 == 0).then(None).when(pl.col("index") % 3 == 0).then(pl.lit("unsafe"))
        .otherwise(pl.lit("safe"))
    )  # fmt: skip
    items.write_csv(tmp_path / "items.csv")
    one = items.drop_nulls("gold").select("item", rater=pl.lit("expert"), score="gold")
    one.write_csv(tmp_path / "gold.csv")
    asked = ("responsiveness", study / "ratings.csv", "--by", "gender", "--reference-scale", "safe,unsafe", *QUICK)
    given = ("--items", tmp_path / "items.csv", "--reference-column", "gold")
    assert program(*asked, *given, "--json") == 0
    assert f"column gold of the items: reference, {one.height} values; scale safe < unsafe" in program.err
    found = pv.Responsiveness.from_json(program.out)
    assert program(*asked, "--reference", tmp_path / "gold.csv", "--json") == 0
    assert found.to_frame().equals(pv.Responsiveness.from_json(program.out).to_frame())
    assert found.settings["reference"]["n_raters"] == 0
    assert found.settings["reference"]["n_items_without"] == items.height - one.height
    pytest.importorskip("vl_convert")
    out = tmp_path / "r.html"
    quick = ("--permutations", 9, "--max-permutations", 9, "--interval", "none", "-o", out)
    assert program("report", study / "ratings.csv", "--by", "gender", *given, *asked[4:6], *quick) == 0
    assert "The reference: column gold of the items" in out.read_text(encoding="utf-8")


def test_a_language_model_as_reference(study: Path, program: Program) -> None:
    model = ("--reference-scale", "same", "--reference-where", "rater=model-a", "--threshold", "each")
    asked = ("responsiveness", study / "ratings.csv", "--by", "age", "--reference", study / "answers.csv", *model)
    assert program(*asked, *QUICK, "--markdown") == 0
    assert "| group | raters | items | MPA |" in program.out


@pytest.mark.usefixtures("undrawn")
def test_report(study: Path, program: Program, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    out = tmp_path / "out.html"
    trained = ("--reference", study / "trained.csv", "--reference-scale", "safe,unsafe")
    assert program("report", study / "ratings.csv", "--by", "gender", *trained, *QUICK, "-o", out) == 0
    assert program.out == f"{out}\n"
    text = out.read_text(encoding="utf-8")
    assert "What the ratings in ratings.csv say" in text
    assert f"plurivox report {study / 'ratings.csv'} --by gender" in text
    assert "SHA-256 of trained.csv" in text
    before = out.read_bytes()
    assert program("report", study / "ratings.csv", "--by", "nothing", "-o", out) == 1
    assert "raters have no attribute 'nothing'" in program.err
    assert out.read_bytes() == before


@pytest.mark.usefixtures("undrawn")
def test_a_report_says_what_it_replaces(
    study: Path, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("vl_convert")
    monkeypatch.setattr("plurivox.report.printing.BROWSERS", ())
    monkeypatch.setattr("plurivox.report.build.lenses", list)
    asked = ("report", study / "ratings.csv", "--by", "gender", *QUICK, "--summary", "-o", tmp_path / "r.html")
    assert program(*asked) == 0
    assert "replaced" not in program.err
    for name, then in (("r.html", f"{time.localtime().tm_year}-05-03"), ("r-summary.html", "2020-12-24")):
        os.utime(tmp_path / name, (time.mktime(time.strptime(then, "%Y-%m-%d")),) * 2)
    assert program(*asked) == 0
    assert program.err.splitlines()[-2:] == ["replaced r.html of 3 May", "replaced r-summary.html of 24 December 2020"]
    notes = tmp_path / "r-summary.html"
    notes.write_text("my notes")
    whole = (tmp_path / "r.html").stat().st_mtime_ns
    assert program(*asked) == 1
    assert program.err.splitlines()[-1] == (
        f"error: {notes}: it exists and was not written by plurivox. Name another file, or overwrite it with --force "
        "(force=True)."
    )
    assert (notes.read_text(), (tmp_path / "r.html").stat().st_mtime_ns) == ("my notes", whole)
    assert program(*asked, "--force") == 0
    assert "replaced r-summary.html of" in program.err


def test_the_study_of_responsiveness(tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vl_convert")
    monkeypatch.chdir(tmp_path)
    behind = inspect.unwrap(pv.studies.responsiveness)  # the function behind the check of arguments
    quick = {**(behind.__kwdefaults__ or {}), "tops": (2, 3), "repeats": 2, "n_items": 60}
    monkeypatch.setattr(behind, "__kwdefaults__", quick)
    assert program("simulate", "--study", "responsiveness") == 0
    assert "On 0 to 3, conservative: MPA" in program.out
    made = tmp_path / "responsiveness-study"
    assert sorted(path.name for path in made.iterdir()) == [".plurivox.json", "study.csv", "study.png", "study.svg"]
    assert program("simulate", "--study", "responsiveness", "--items", 50) != 0
    assert "--study has its own design; leave out --items" in program.err
    assert program("simulate", "--study", "soft") == 0
    assert "E[CE]: mismatched less matching is 0.0148 with 10 ratings" in program.out
    assert (tmp_path / "soft-study" / "study.svg").is_file()
    assert program("simulate", "--study", "odd") != 0
    assert program("simulate") != 0
    assert "name the FOLDER" in program.err


def run(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "plurivox", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


def test_standard_input_and_version(write: Write) -> None:
    done = run("describe", "-", "--json", input=GOOD)
    assert json.loads(done.stdout)["n_ratings"] == 2
    assert run("--version").stdout == f"plurivox {pv.__version__}\n"


def test_a_closed_pipe_is_no_error(write: Write) -> None:
    path = write("r.csv", GOOD)
    command = f"'{sys.executable}' -m plurivox describe {path} | true"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr
