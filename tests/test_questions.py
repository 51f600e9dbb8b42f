from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plurivox as pv
from support import Done, run_cli

SCALE = pv.Scale(["safe", "unsure", "unsafe"])
FRAME = pl.DataFrame(
    {
        "item": [1, 1, 1, 2, 2, 2],
        "rater": ["a", "b", "c", "a", "b", "c"],
        "harm": ["safe", "unsafe", "unsure", "safe", None, None],
        "bias": ["unsure", "safe", "safe", "safe", "unsure", None],
    }
)


def asked(**more: Any) -> dict[str, pv.Ratings]:
    raters = pl.DataFrame({"rater": ["a", "b", "c"], "g": ["x", "x", "y"]})
    return {q: pv.Ratings.from_frame(FRAME, score=q, scale=SCALE, raters=raters, **more) for q in ("harm", "bias")}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("highest", ["unsure", "unsafe", "unsure", "safe", "unsure"]),
        ("lowest", ["safe", "safe", "safe", "safe", "unsure"]),
        (["unsure", "unsafe", "safe"], ["unsure", "unsafe", "unsure", "safe", "unsure"]),
        (["safe", "unsure", "unsafe"], ["safe", "safe", "safe", "safe", "unsure"]),
    ],
)
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
