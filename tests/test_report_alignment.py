"""The report's section on alignment: what it holds, and that it is there with answers only."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plurivox as pv
from plurivox.report.build import make_report
from plurivox.report.parts import DataTable, Figure, Section, Terms
from support import Markup, blocks_in, only_sections

pytest.importorskip("vl_convert")

from undrawn import undrawn

QUICK: dict[str, Any] = {"permutations": 40, "max_permutations": 40, "bootstrap": 40}
NASTY = ["<script>alert(1)</script>", "\"quoted\" & 'single' <b>", "مرحبا بالعالم", "line\nbreak", "long " * 400]


def study(**changes: Any) -> pv.Simulation:
    return pv.simulate(**{"n_items": 40, "n_raters": 60, "seed": 3, **changes})


def sections_of(ratings: pv.Ratings, by: Any, **options: Any) -> list[Section]:
    """Return the section on alignment, if there is one; the others are not made."""
    with undrawn(), only_sections("alignment", "methods"):
        return list(make_report(ratings, by, **QUICK, **options).sections[:-1])


def section_of(made: pv.Simulation, by: Any = ("gender",), **more: Any) -> Section:
    (section,) = sections_of(made.ratings, list(by), **{"answers": made.answers, **more})
    assert section.id == "alignment"
    return section


def write_whole(path: Path) -> Path:
    """Write a report with all sections."""
    made = study()
    options: dict[str, Any] = {"answers": made.answers, "reference": made.trained, "items_by": "violation", **QUICK}
    with undrawn():
        return pv.write_report(path, made.ratings, ["gender", "age"], **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_whole(tmp_path_factory.mktemp("report") / "a.html")


def test_there_is_a_section_with_answers_only(whole: Path) -> None:
    assert sections_of(study().ratings, "gender") == []
    path = whole
    text = path.read_text(encoding="utf-8")
    titles = re.findall(r"<h2[^>]*>([^<]*)</h2>", text)
    assert titles[-5:] == [
        "Whose view models reflect", "Can a model judge?", "What one label would hide", "Items to look at",
        "Methods and glossary",
    ]  # fmt: skip
    Markup(text).sound()
    assert "rater-0" not in text


@pytest.mark.slow
def test_same_input_same_bytes(whole: Path, tmp_path: Path) -> None:
    assert whole.read_bytes() == write_whole(tmp_path / "b.html").read_bytes()


def test_the_numbers_are_those_of_the_lens() -> None:
    made = study()
    section = section_of(made, ["gender", "age"], items_by="violation")
    found = pv.alignment(made.ratings, made.answers, ["gender", "age"], subset="violation", **QUICK)
    blocks = blocks_in(section)
    said = sorted((one for one in found.statements() if one.weight > 0), key=lambda one: -one.weight)
    assert [one.text for one in section.findings] == [one.text for one in said]
    assert blocks["alignment-accounts"].frame["answered"].to_list() == found.accounts()["answered"].to_list()
    closest = blocks["alignment-closest"]
    assert isinstance(closest, DataTable)
    for name, other in (("gap", "gap"), ("p", "p_value"), ("wins", "wins"), ("at equal sizes", "matched")):
        assert closest.frame[name].to_list() == found.closest()[other].to_list()
    items = blocks["alignment-items"]
    assert isinstance(items, DataTable)
    assert items.frame["item"].to_list() == found.items()["item"].head(20).to_list()
    heat = blocks["alignment-heat"]
    assert isinstance(heat, Figure)
    assert found.value("model-a") in heat.table["value"].to_list()


def test_what_has_no_rows_has_no_table() -> None:
    made = study()
    blocks = blocks_in(section_of(made))
    assert {"alignment-heat", "alignment-dots", "alignment-refusals", "alignment-distances"} <= blocks.keys()
    assert {"alignment-alpha", "alignment-stand-in", "alignment-judged"} <= blocks.keys()
    assert not {"alignment-prompts", "alignment-stability", "alignment-positions"} & blocks.keys()


def test_prompts_samples_and_places_have_tables_where_there_are_any() -> None:
    made = study()
    assert made.answers is not None
    orders = [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]]
    parts = [
        made.answers.with_columns(prompt=pl.lit(prompt), sample=pl.lit(sample), order=pl.lit(orders[sample]))
        for prompt in ("plain", "kind")
        for sample in (0, 1)
    ]
    blocks = blocks_in(section_of(made, answers=pl.concat(parts)))
    for name in ("alignment-prompts", "alignment-stability", "alignment-positions"):
        block = blocks[name]
        assert isinstance(block, DataTable)
        assert block.frame.height
        assert "prompt" in block.frame.columns


def test_trained_raters_judge_models_and_strangers_do_not() -> None:
    made = study()
    assert made.trained is not None
    judged = blocks_in(section_of(made, reference=made.trained))["alignment-judged"]
    expected = pv.alignment(made.ratings, made.answers, trained=made.trained, bootstrap=0, permutations=0)
    assert isinstance(judged, DataTable)
    assert dict(judged.frame.select("model", "MPA").iter_rows())["model-a"] == expected.value("model-a", "mpa")


@pytest.mark.usefixtures("undrawn")
def test_without_groups_and_with_totals(tmp_path: Path) -> None:
    made = study(attributes={})
    blocks = blocks_in(section_of(made, ()))
    assert "alignment-heat" in blocks
    assert "alignment-closest" not in blocks
    path = tmp_path / "totals.csv"
    path.write_text("item,0,1,2\na,3,1,0\nb,0,2,2\nc,1,1,1\n")
    ratings = pv.read_ratings(path, scale="0:2", layout="totals")
    answers = pl.DataFrame({"model": "m", "item": ["a", "b", "c"], "answer": [0, 2, None]})
    with only_sections("study", "alignment", "methods"):
        text = pv.write_report(tmp_path / "r.html", ratings, answers=answers, **QUICK).read_text(encoding="utf-8")
    assert "Whose view models reflect</h2>" in text
    assert "alignment-stand-in" not in text


def test_text_from_data_is_text(tmp_path: Path) -> None:
    made = study()
    assert made.answers is not None
    groups = [NASTY[r % len(NASTY)] for r in range(60)]
    items = pl.DataFrame({"item": made.items["item"], "text": [NASTY[i % len(NASTY)] for i in range(40)]})
    raters = made.raters.select("rater").with_columns(pl.Series("group", groups))
    ratings = pv.Ratings.from_frame(made.ratings_frame, scale=made.scale, raters=raters, items=items)
    names = dict(zip(["model-a", "model-b", "model-c"], NASTY, strict=False))
    answers = made.answers.with_columns(pl.col("model").replace(names))
    with only_sections("alignment"):
        path = pv.write_report(tmp_path / "r.html", ratings, "group", answers=answers, **QUICK)
    text = path.read_text(encoding="utf-8")
    page = Markup(text)
    assert page.n_running == 1
    assert "<script>alert" not in text
    own = text[text.index('<section id="alignment"') :]
    assert own.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 5
    assert "مرحبا بالعالم" in own
    texts = page.tables["alignment-items"].columns["text"]
    assert set(texts) == {*NASTY[:-1], f"{NASTY[-1][:300]} … (2,000 characters)"}


def test_groups_that_overlap_are_left_out_and_that_is_said() -> None:
    made = study()
    raters = made.raters.with_columns(origin=pl.Series(["a;b", "a", "b"] * 20))
    ratings = pv.Ratings.from_frame(made.ratings_frame, scale=made.scale, raters=raters)
    (section,) = sections_of(ratings, ["gender", "origin"], several={"origin": ";"}, answers=made.answers)
    assert "Alignment compares groups that do not overlap, so it leaves out: origin." in section.remarks
    heat = blocks_in(section)["alignment-heat"]
    assert isinstance(heat, Figure)
    assert set(heat.table["axis"]) == {"all", "gender"}


def test_small_groups_are_withheld_and_counted() -> None:
    made = study(attributes={"team": {"big": 0.5, "middling": 0.47, "tiny": 0.03}})
    assert (made.raters["team"] == "tiny").sum() < 5
    section = section_of(made, ["team"])
    heat = blocks_in(section)["alignment-heat"]
    assert isinstance(heat, Figure)
    assert "tiny" not in heat.chart.conversion.svg()
    assert "2 groups withheld: 1 has fewer than 5 raters, and 1 would reveal it" in heat.chart.subtitle


def test_many_models_have_a_heat_map_for_each_attribute() -> None:
    made = study()
    assert made.answers is not None
    first = made.answers.filter(model="model-a")
    answers = pl.concat([first.with_columns(model=pl.lit(f"m{n:02d}")) for n in range(12)])
    blocks = blocks_in(section_of(made, ["gender", "age"], answers=answers))
    assert {"alignment-heat-gender", "alignment-heat-age"} <= blocks.keys()
    assert "alignment-heat" not in blocks


def test_items_are_on_the_points_of_the_scale() -> None:
    made = study()
    assert made.answers is not None
    labels = ["never", "rarely", "at times", "often", "always"]
    names = {str(at): label for at, label in enumerate(labels)}
    frame = made.ratings_frame.with_columns(pl.col("score").cast(pl.String).replace(names))
    answers = made.answers.with_columns(pl.col("answer").cast(pl.String).replace(names))
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale(labels), raters=made.raters)
    (section,) = sections_of(ratings, "gender", answers=answers)
    items = blocks_in(section)["alignment-items"]
    assert isinstance(items, DataTable)
    assert items.note.endswith("Means use the numbers of the points, from never = 0 to always = 4.")
    for column in ("most votes", "most answers"):
        assert {one for text in items.frame[column] for one in text.split(" / ")} <= {*labels, ""}


def test_every_term_is_explained_once() -> None:
    section = section_of(study())
    entries = [entry for block in section.more if isinstance(block, Terms) for entry in block.entries]
    for column in zip(*entries, strict=True):
        assert len(column) == len(set(column)) > 4


@pytest.mark.usefixtures("undrawn")
def test_the_command_reads_answers(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from plurivox.cli.app import program
    from plurivox.simulation.simulate import write_study

    write_study(study(), tmp_path)
    out = tmp_path / "report.html"
    asked = ["report", str(tmp_path / "ratings.csv"), "--by", "gender", "--answers", str(tmp_path / "answers.csv"),
             "-o", str(out), "--permutations", "20", "--max-permutations", "20", "--bootstrap", "20"]  # fmt: skip
    with only_sections("soft", "alignment", "methods"):
        found = CliRunner().invoke(program(), asked)
    assert found.exit_code == 0, found.output
    text = out.read_text(encoding="utf-8")
    assert "Whose view models reflect</h2>" in text
    assert "SHA-256 of answers.csv" in text
