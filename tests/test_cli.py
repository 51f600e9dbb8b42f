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
from plurivox.simulation import simulate
from support import Write, ran, refused, run_cli

GOOD = "item,rater,score\n1,a,3\n2,a,1\n"
QUICK = ("--permutations", 20, "--bootstrap", 20)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    ran("simulate", tmp_path / "study", "--items", 40, "--raters", 60, "--missing", 0.5, "--seed", 5)
    return tmp_path / "study"


def test_simulate_writes_the_study_and_its_truth(study: Path) -> None:
    assert sorted(path.name for path in study.iterdir()) == [
        ".plurivox.json", "answers.csv", "items.csv", "plurivox.toml", "predictions.csv", "raters.csv", "ratings.csv",
        "settings.json", "trained.csv", "truth_groups.csv", "truth_items.csv", "truth_raters.csv",
    ]  # fmt: skip
    read = pv.read_ratings(study / "ratings.csv", scale="0:4", raters=study / "raters.csv", items=study / "items.csv")
    assert read == pv.simulate(n_items=40, n_raters=60, missing=0.5, seed=5, **simulate.DEMO).ratings
    assert json.loads((study / "settings.json").read_text())["seed"] == 5
    assert pl.read_csv(study / "truth_items.csv").columns == ["item", "severity"]


def test_simulate_specifications(tmp_path: Path) -> None:
    ran(
        "simulate", tmp_path, "--items", 30, "--raters", 40, "--scale", "Low,Middle,High", "--ratings-per-item", 7,
        "--attribute", "region: Far North 0.5, South 0.5", "--missing-attributes", 0.2,
        "--effect", "region=South: bias 0.4, shared 0.5, violation bias", "--style", "normal=0.5",
        "--style", "central=0.5", "--trained", 0, "--model", "m1: bias 0.2, refuses 0.5, like region=South",
        "--rater-sd", 0.1, "--noise-sd", 0.2,
    )  # fmt: skip
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
def test_simulate_says_what_is_wrong(tmp_path: Path, arguments: list[str], problem: str) -> None:
    assert problem in refused("simulate", tmp_path / "out", *arguments, code=None)
    assert not (tmp_path / "out").exists()


def test_describe_json_is_the_python_result(study: Path) -> None:
    done = ran("describe", study / "ratings.csv", "--json", "--by", "age", "--by", "gender,age")
    assert "plurivox.toml says" in done.err
    ratings = pv.read_ratings(
        study / "ratings.csv", scale="0:4", raters=study / "raters.csv", items=study / "items.csv"
    )
    assert done.json() == json.loads(pv.describe(ratings, ["age", ("gender", "age")]).to_json())


def test_describe_options(write: Write) -> None:
    path = write(
        "r.csv", "conv,who,Q,gender,removed\n" + "".join(f"{i % 3},{i},{i % 2},g{i % 2},{i > 9}\n" for i in range(12))
    )
    common = ["describe", path, "--item", "conv", "--rater", "who", "--score", "Q", "--scale", "0:2", "--json",
              "--rater-attributes", "gender,removed"]  # fmt: skip
    found = ran(*common, "--where", "removed=False").json()
    assert (found["n_ratings"], found["points"]) == (10, ["0", "1", "2"])
    assert [axis["name"] for axis in found["axes"]][:2] == ["gender", "removed"]
    (axis,) = ran(*common, "--min-group-size", 1, "--by", "removed").json()["axes"]
    assert [group["n_raters"] for group in axis["groups"]] == [10, 2]


def test_several_values_of_one_attribute(write: Write) -> None:
    races = ["Black", "Asian; White", "White", "Asian; White"]
    rows = "".join(f"{i % 3},{i},{i % 2},{races[i % 4]}\n" for i in range(40))
    given = ("describe", write("r.csv", "item,rater,score,race\n" + rows), "--rater-attributes", "race", "--several")
    (axis,) = ran(*given, "race=;", "--json").json()["axes"]
    assert {group["name"]: group["n_raters"] for group in axis["groups"]} == {"Asian": 20, "Black": 10, "White": 30}
    refused(*given, "race", code=None)


def test_write_config_and_follow_it(write: Write, tmp_path: Path) -> None:
    path = write("r.csv", "conv_id,worker,stars\n" + "".join(f"{i % 3},{i},{i % 5}\n" for i in range(12)))
    raters = write("people.csv", "worker,age\n" + "".join(f"{i},{15 + 4 * i}\n" for i in range(12)))
    config = tmp_path / "plurivox.toml"
    assert f"wrote {config}" in ran("describe", path, "--raters", raters, "--write-config").err
    config.write_text(config.read_text().replace("# age = [18, 30, 50]", "age = [18, 30, 50]"))
    found = ran("describe", path, "--json", "--min-group-size", 1).json()
    assert [group["name"] for group in found["axes"][0]["groups"]] == ["<18", "18–29", "30–49", "50+"]
    assert not found["scale_inferred"]
    before = config.read_bytes()
    done = run_cli("describe", path, "--write-config")
    assert (done.code, "it already exists" in done.err) == (1, True)
    assert config.read_bytes() == before


def test_warnings_are_shown(write: Write) -> None:
    path = write("r.csv", GOOD + "1,b,2\n")
    done = ran("describe", path, "--raters", write("raters.csv", "rater,age\na,3\n"))
    assert "warning: " in done.err
    assert "lacks 1 of the 2 raters" in done.err


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
def test_bad_options(write: Write, arguments: list[str], problem: str) -> None:
    assert problem in refused("describe", write("r.csv", GOOD), *arguments, code=None)


def test_text_from_data_is_shown_as_text(write: Write) -> None:
    """Rich markup, terminal escapes and spreadsheets' formulas in group names stay what they are."""
    names = ["[bold red]x[/]", "=HYPERLINK(1)", ":smile:"]
    rows = "".join(f'{i % 4},{i},{i % 3},"{names[i % 3]}"\n' for i in range(24))
    out = ran("describe", write("r.csv", "item,rater,score,g\n" + rows), "--rater-attributes", "g").out
    assert all(f"{name} (8)" in out for name in names)


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
def test_demo_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.setattr(simulate, "DEMO", {**simulate.DEMO, "n_items": 120})
    out = ran("demo").out
    last = out.strip().splitlines()[-1]
    assert Path(last) == tmp_path / "plurivox-demo" / "report.txt"
    assert "age 18-29 have a view of their own: view correlation 0." in " ".join(Path(last).read_text().split())
    assert "pip install 'plurivox[report]'" in out


def test_responsiveness(study: Path) -> None:
    trained = ("--reference", study / "trained.csv", "--reference-scale", "safe,unsafe")
    done = ran("responsiveness", study / "ratings.csv", "--by", "gender", *trained, *QUICK, "--json")
    assert "trained.csv: reference, item = item, rater = rater, score = score; scale safe < unsafe" in done.err
    ratings = pv.read_ratings(
        study / "ratings.csv", scale="0:4", raters=study / "raters.csv", items=study / "items.csv"
    )
    experts = pv.read_ratings(study / "trained.csv", scale="safe,unsafe")
    again = pv.responsiveness(ratings, experts, "gender", permutations=20, bootstrap=20)
    assert pv.Responsiveness.from_json(done.out).to_frame().equals(again.to_frame())


MODELS = "--reference study/answers.csv --reference-scale same"


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        ("--reference study/trained.csv", "--reference-scale"),
        ("--reference nowhere.csv", "there is no such file"),
        ("--reference gender=Alien", "no rater has gender = 'Alien'"),
        (MODELS, "not clear which of its points mean unsafe"),
        ("--reference-where rater=x", "require a reference file"),
        ("--table odd", "--table must be one of"),
        ("--family ethnicity", "--family needs ATTRIBUTE=VALUE"),
        ("--family gender=Woman --family age=18-29 --min-group-size 1", "no axis has both groups with {'age': '18-29'"),
        ("--reference-column gold", "items have no attribute 'gold'; they have: text, violation"),
        ("--reference-column violation", "--reference-scale"),
        ("--reference-column violation --reference-scale bias,harassment", "items, column 'violation'"),
        ("--reference-column violation --reference crowd", "only one of --reference and --reference-column"),
        ("--reference-column violation --reference-where rater=x", "requires a reference file"),
        (f"{MODELS} --reference-where rater=model-a --reference-where rater=model-b", "-where is given 2 times"),
        ("--json --csv", "only one of"),
        ("--threshold 0", "the lowest point"),
    ],
)
def test_responsiveness_refuses(study: Path, monkeypatch: pytest.MonkeyPatch, extra: str, problem: str) -> None:
    monkeypatch.chdir(study.parent)
    asked = ("responsiveness", study / "ratings.csv", "--by", "gender", *QUICK, *extra.split())
    assert problem in refused(*asked, code=None)


def test_several_families_are_corrected_together(study: Path) -> None:
    families = ("--family", "gender=Woman", "--family", "age=18-29")
    crossed = ("--by", "gender,age", *families, "--min-group-size", 1, "--interval", "none")
    done = ran("responsiveness", study / "ratings.csv", *crossed, "--permutations", 20, "--json")
    found = pv.Responsiveness.from_json(done.out)
    assert found.settings["family"] == [{"gender": "Woman"}, {"age": "18-29"}]
    rows = [row for row in found.rows if row.kind == "family" and row.statistic == "wra"]
    assert [row.group.partition(" (")[0] for row in rows] == ["gender = Woman"] * 3 + ["age = 18-29"] * 3
    raw = sorted(float(row.p_value or 0) for row in rows)  # Holm over the six of a statistic
    steps = np.maximum.accumulate([min(1.0, (6 - at) * p) for at, p in enumerate(raw)])
    assert sorted(float(row.p_adjusted or 0) for row in rows) == pytest.approx(steps.tolist())


@pytest.mark.usefixtures("undrawn")
def test_a_gold_column_is_what_a_file_of_the_same_says(study: Path, tmp_path: Path) -> None:
    items = pl.read_csv(study / "items.csv").with_row_index().with_columns(
        gold=pl.when(pl.col("index") % 7 == 0).then(None).when(pl.col("index") % 3 == 0).then(pl.lit("unsafe"))
        .otherwise(pl.lit("safe"))
    )  # fmt: skip
    items.write_csv(tmp_path / "items.csv")
    one = items.drop_nulls("gold").select("item", rater=pl.lit("expert"), score="gold")
    one.write_csv(tmp_path / "gold.csv")
    asked = ("responsiveness", study / "ratings.csv", "--by", "gender", "--reference-scale", "safe,unsafe", *QUICK)
    given = ("--items", tmp_path / "items.csv", "--reference-column", "gold")
    done = ran(*asked, *given, "--json")
    assert f"column gold of the items: reference, {one.height} values; scale safe < unsafe" in done.err
    found = pv.Responsiveness.from_json(done.out)
    again = pv.Responsiveness.from_json(ran(*asked, "--reference", tmp_path / "gold.csv", "--json").out)
    assert found.to_frame().equals(again.to_frame())
    reference = found.settings["reference"]
    assert (reference["n_raters"], reference["n_items_without"]) == (0, items.height - one.height)
    pytest.importorskip("vl_convert")
    quick = ("--permutations", 9, "--max-permutations", 9, "--interval", "none", "-o", tmp_path / "r.html")
    ran("report", study / "ratings.csv", "--by", "gender", *given, *asked[4:6], *quick)
    assert "The reference: column gold of the items" in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("undrawn")
def test_report(study: Path, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    out = tmp_path / "out.html"
    trained = ("--reference", study / "trained.csv", "--reference-scale", "safe,unsafe")
    asked = ("report", study / "ratings.csv", "-o", out, "--by")
    assert ran(*asked, "gender", *trained, *QUICK).out == f"{out}\n"
    text = out.read_text(encoding="utf-8")
    for words in ("What the ratings in ratings.csv say", f"plurivox report {study / 'ratings.csv'} -o",
                  "SHA-256 of trained.csv"):  # fmt: skip
        assert words in text
    before = out.read_bytes()
    assert "raters have no attribute 'nothing'" in refused(*asked, "nothing")
    assert out.read_bytes() == before


@pytest.mark.usefixtures("undrawn")
def test_a_report_says_what_it_replaces(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vl_convert")
    monkeypatch.setattr("plurivox.report.render.BROWSERS", ())
    monkeypatch.setattr("plurivox.report.build.lenses", list)
    asked = ("report", study / "ratings.csv", "--by", "gender", *QUICK, "--summary", "-o", tmp_path / "r.html")
    assert "replaced" not in ran(*asked).err
    for name, then in (("r.html", f"{time.localtime().tm_year}-05-03"), ("r-summary.html", "2020-12-24")):
        os.utime(tmp_path / name, (time.mktime(time.strptime(then, "%Y-%m-%d")),) * 2)
    told = ran(*asked).err.splitlines()[-2:]
    assert told == ["replaced r.html of 3 May", "replaced r-summary.html of 24 December 2020"]
    notes = tmp_path / "r-summary.html"
    notes.write_text("my notes")
    whole = (tmp_path / "r.html").stat().st_mtime_ns
    assert f"error: {notes}: it exists and was not written by plurivox." in refused(*asked)
    assert (notes.read_text(), (tmp_path / "r.html").stat().st_mtime_ns) == ("my notes", whole)
    assert "replaced r-summary.html of" in ran(*asked, "--force").err


def test_the_study_of_responsiveness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vl_convert")
    monkeypatch.chdir(tmp_path)
    behind = inspect.unwrap(pv.studies.responsiveness)  # the function behind the check of arguments
    quick = {**(behind.__kwdefaults__ or {}), "tops": (2, 3), "repeats": 2, "n_items": 60}
    monkeypatch.setattr(behind, "__kwdefaults__", quick)
    assert "On 0 to 3, conservative: MPA" in ran("simulate", "--study", "responsiveness").out
    made = tmp_path / "responsiveness-study"
    assert sorted(path.name for path in made.iterdir()) == [".plurivox.json", "study.csv", "study.png", "study.svg"]
    told = refused("simulate", "--study", "responsiveness", "--items", 50, code=None)
    assert "--study has its own design; leave out --items" in told
    out = ran("simulate", "--study", "soft").out
    assert "E[CE]: mismatched less matching is 0.0148 with 10 ratings" in out
    assert (tmp_path / "soft-study" / "study.svg").is_file()
    refused("simulate", "--study", "odd", code=None)
    assert "name the FOLDER" in refused("simulate", code=None)


def test_standard_input_and_version() -> None:
    command = [sys.executable, "-m", "plurivox"]
    done = subprocess.run([*command, "describe", "-", "--json"], input=GOOD, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["n_ratings"] == 2
    assert subprocess.check_output([*command, "--version"], text=True) == f"plurivox {pv.__version__}\n"
