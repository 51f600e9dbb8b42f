from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plurivox as pv
from support import Done, run_cli

SCALE = pv.Scale(["safe", "unsure", "unsafe"])
FRAME = pl.DataFrame({
    "item": [1, 1, 1, 2, 2, 2], "rater": ["a", "b", "c", "a", "b", "c"],
    "harm": ["safe", "unsafe", "unsure", "safe", None, None],
    "bias": ["unsure", "safe", "safe", "safe", "unsure", None],
})  # fmt: skip


def asked(**more: Any) -> dict[str, pv.Ratings]:
    raters = pl.DataFrame({"rater": ["a", "b", "c"], "g": ["x", "x", "y"]})
    return {q: pv.Ratings.from_frame(FRAME, score=q, scale=SCALE, raters=raters, **more) for q in ("harm", "bias")}


@pytest.mark.parametrize(("rule", "expected"), [
    ("highest", ["unsure", "unsafe", "unsure", "safe", "unsure"]),
    ("lowest", ["safe", "safe", "safe", "safe", "unsure"]),
    (["unsure", "unsafe", "safe"], ["unsure", "unsafe", "unsure", "safe", "unsure"]),
    (["safe", "unsure", "unsafe"], ["safe", "safe", "safe", "safe", "unsure"]),
])  # fmt: skip
def test_against_answers_worked_out_by_hand(rule: Any, expected: list[str]) -> None:
    """Rater c left both questions of item 2 blank, so that pair has no rating."""
    combined = pv.combine(asked(), rule)
    assert combined.to_frame()["score"].to_list() == expected
    assert combined.raters["g"].to_list() == ["x", "x", "y"]
    assert combined.intake.missing_scores == 3


def test_bad_rules_and_scales() -> None:
    with pytest.raises(pv.InputError, match="the rule is 'worst'"):
        pv.combine(asked(), "worst")
    with pytest.raises(pv.InputError, match="List every point"):
        pv.combine(asked(), ["unsafe", "safe"])
    with pytest.raises(pv.InputError, match="no question"):
        pv.combine({})
    other = pv.Ratings.from_frame(pl.DataFrame({"item": [1], "rater": ["a"], "score": [1]}), scale=pv.Scale.range(0, 2))
    with pytest.raises(pv.InputError, match="another has"):
        pv.combine({**asked(), "other": other})


def test_command_line(tmp_path: Path) -> None:
    said = ["No", "Yes"]
    rows = [(i, r, said[(i + r) % 2], said[(i * r) % 2], "xy"[r % 2]) for i in range(30) for r in range(12)]
    frame = pl.DataFrame(rows, schema=["item", "rater", "harm", "bias", "g"], orient="row")
    frame.write_csv(tmp_path / "r.csv")

    def run(*more: str) -> Done:
        return run_cli(
            "cohesion", tmp_path / "r.csv", "--score", "harm,bias", "--scale", "No,Yes", "--rater-attributes", "g",
            "--permutations", 20, *more,
        )  # fmt: skip

    table = run("--combine", "highest", "--csv").frame()
    assert set(table["subset"]) == {"harm", "bias", "combined"}
    questions = {
        q: pv.Ratings.from_frame(frame, score=q, scale=pv.Scale(["No", "Yes"]), rater_attributes=["g"])
        for q in ("harm", "bias")
    }
    expected = pv.cohesion(pv.combine(questions), "g", permutations=0).value("g", "x", "irr")
    got = table.filter(subset="combined", axis="g", group="x", statistic="irr")["value"].item()
    assert got == pytest.approx(expected)
    assert [one["settings"]["question"] for one in run("--json").json()] == ["harm", "bias"]
    assert "Question bias" in run("--combine", "Yes,No").out
    refused = run_cli("cohesion", tmp_path / "r.csv", "--score", "harm", "--combine", "highest")
    assert "--combine needs several questions" in " ".join(refused.err.replace("│", " ").split())


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """Two questions in an export of Label Studio: severity is 1 to 4, and safe is No or Yes."""

    def annotation(item: int, rater: int) -> dict[str, object]:
        said = {"severity": {"rating": (item * rater) % 4 + 1}, "safe": {"choices": ["No" if rater % 2 else "Yes"]}}
        result = [{"from_name": name, "to_name": "text", "value": value} for name, value in said.items()]
        return {"id": 100 * item + rater, "completed_by": rater, "was_cancelled": False, "result": result}

    found = [
        {"id": n, "data": {"item": f"i{n}"}, "annotations": [annotation(n, r) for r in range(6)]} for n in range(8)
    ]
    (tmp_path / "tasks.json").write_text(json.dumps(found))
    raters = ["rater,g", *(f"{r},{'xy'[r // 3]}" for r in range(6))]
    (tmp_path / "raters.csv").write_text("\n".join(raters) + "\n")
    return tmp_path / "tasks.json"


def test_each_question_of_an_export_is_analysed(tasks: Path) -> None:
    raters = ("--raters", tasks.parent / "raters.csv", "--min-group-size", 3)
    asked = ("--score", "severity,safe", *raters, "--scale", "1:4")
    done = run_cli("cohesion", tasks, *asked, "--permutations", 5)
    assert "column 'safe'" in done.err
    assert "are not points of the scale 1 < 2 < 3 < 4" in done.err
    numbers = tasks.read_text().replace('"No"', '"1"').replace('"Yes"', '"2"')
    tasks.write_text(numbers)
    table = run_cli("cohesion", tasks, *asked, "--permutations", 5, "--csv").frame()
    assert set(table["subset"]) == {"severity", "safe"}
    # Raters 1, 3 and 5 always say 1 and the others 2: x (0, 1, 2) and y (3, 4, 5) differ by 5/3 and 4/3.
    table = run_cli("variation", tasks, *asked, "--permutations", 5, "--csv").frame()
    assert table.columns[0] == "question"
    assert set(table["question"]) == {"severity", "safe"}
    leads = table.filter(question="safe", axis="g", group="x", statistic="leniency")["value"]
    assert leads.to_list() == pytest.approx([1 / 3])


def test_other_commands_show_each_question_by_its_name(tasks: Path) -> None:
    numbers = tasks.read_text().replace('"No"', '"1"').replace('"Yes"', '"2"')
    tasks.write_text(numbers)
    asked = ("--score", "severity,safe", "--scale", "1:4")
    assert [one["question"] for one in run_cli("items", tasks, *asked, "--json").json()] == ["severity", "safe"]
    shown = run_cli("items", tasks, *asked).out
    assert shown.index("Question severity") < shown.index("Question safe")
    assert [one["columns"]["score"] for one in run_cli("describe", tasks, *asked, "--json").json()] == [
        "severity",
        "safe",
    ]
    shown = run_cli("describe", tasks, *asked).out
    assert shown.index("Question severity") < shown.index("Question safe")
    refused = run_cli("variation", tasks, *asked, "--chart", tasks.parent / "x.svg")
    assert (refused.code, "--chart draws a single question" in refused.words) == (2, True)
    refused = run_cli("describe", tasks, *asked, "--write-config")
    assert (refused.code, "--write-config describes one question" in refused.words) == (2, True)


def test_a_column_whose_name_holds_a_comma_is_one_question(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text('item,rater,"sad, or not",g\n1,a,1,x\n1,b,2,y\n2,a,2,x\n2,b,2,y\n')
    done = run_cli("describe", tmp_path / "r.csv", "--score", "sad, or not", "--json")
    assert done.json()["columns"]["score"] == "sad, or not"
    wrong = run_cli("report", tmp_path / "r.csv", "--score", "g,item", "-o", tmp_path / "r.html")
    assert "Choose one question at a time: --score 'g'" in wrong.err
