"""Published tables come out as far as they can, and differences are shown where they do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import plurivox as pv
from plurivox import reproduce
from plurivox.base.errors import InputError
from plurivox.cli.app import program
from plurivox.cli.data import PAPERS
from plurivox.reproduce import PublishedCell, printed, tables
from test_lewidi import Items, rater_twin, soft_twin


def off(found: reproduce.Reproduction) -> pl.DataFrame:
    """The cells that do not agree."""
    return found.to_frame().filter(~pl.col("agrees"))


def test_every_paper_is_a_choice_of_the_command() -> None:
    assert tuple(reproduce.papers()) == PAPERS


def test_grasp_table_5_but_voting_agreement(real_data: Path) -> None:
    found = reproduce.run("grasp", real_data / "dices350")
    assert found.n_compared == 140
    assert off(found)["column"].unique().to_list() == ["voting_agreement"]
    assert off(found).height == 20
    assert max(map(abs, off(found)["difference"])) < 0.05


def test_grasp_from_the_catalogue_is_the_same(real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "cache" / name)
    with pytest.raises(InputError, match=r"or download them with plurivox data get dices-350\.$"):
        reproduce.run("grasp")
    ratings, raters = (pl.read_csv(real_data / "dices350" / f"{n}.csv") for n in ("ratings", "raters"))
    renamed = {name: f"rater_{name}" for name in ("gender", "race", "age")}
    original = tmp_path / "diverse_safety_adversarial_dialog_350.csv"
    ratings.join(raters.rename(renamed).drop("removed"), on="rater_id").write_csv(original)
    pv.data.get("dices-350", accept_licence=True, source=original)
    assert reproduce.run("grasp").to_frame().equals(reproduce.run("grasp", real_data / "dices350").to_frame())


def test_norms_tables_4_and_5_but_one_cell(real_data: Path) -> None:
    found = reproduce.run("norms", real_data / "lm_social_norms" / printed.ITEMS)
    assert found.to_frame().group_by("table", maintain_order=True).len().rows() == [("Table 4", 15), ("Table 5", 132)]
    assert off(found).select("row", "column").rows() == [("llama-3.1 70b and 405b", "zero-shot")]


def test_the_alternative_annotator_test(real_data: Path) -> None:
    found = reproduce.run("alt-test", real_data / "alt_test")
    assert (found.n_compared, off(found).height) == (12, 0)


def test_soft_examples_and_what_knows_nothing_on_convabuse(real_data: Path) -> None:
    found = reproduce.run("soft", real_data / "convabuse").to_frame()
    assert found.filter("agrees")["row"].to_list() == ["EMD", "EMD"]
    ours = {(row, column): value for _, row, column, _, value, *_ in found.iter_rows()}
    assert ours["KL", "scenario A"] == pytest.approx(0.8318, abs=5e-5)  # .6·ln 4
    assert ours["CE", "scenario B"] == pytest.approx(1.3322, abs=5e-5)
    table = {("uniform", "E[CE]"): 1.609, ("uniform", "E[EMD]"): 0.772, ("marginal", "E[CE]"): 1.851,
             ("marginal", "E[EMD]"): 0.973}  # fmt: skip
    assert {key: round(ours[key], 3) for key in table} == table
    gaps = found.filter(pl.col("table").str.starts_with("Figure 1"), column="E[EMD]")["ours"].to_list()
    assert gaps == sorted(gaps)  # the gap widens with data
    without = reproduce.run("soft")
    assert without.findings()[-1].startswith("Table 3 is left out without ConvAbuse. It needs ConvAbuseEMNLPfull.csv")
    assert "Table 3, ConvAbuse" not in without.to_frame()["table"]


def test_responsiveness_of_the_paper_and_of_the_definitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printed, "REPEATS", 2)
    found = reproduce.run("responsiveness")
    assert (found.n_compared, off(found).height) == (10, 0)
    expected = {
        "normal": {"MPA": 0.90, "WRA": 0.87, "AUROC": 0.93, "Kendall τ_b": 0.66},
        "downward shift": {"MPA": 0.91, "WRA": 0.78, "AUROC": 0.87, "Kendall τ_b": 0.59},
        "conservative": {"MPA": 0.53, "WRA": 0.83, "AUROC": 0.90, "Kendall τ_b": 0.75},
    }
    means = found.to_frame().filter(table="Figure 6, mean")
    for pattern, own in expected.items():
        for metric, value in own.items():
            assert means.filter(row=pattern, column=metric)["ours"][0] == pytest.approx(value, abs=0.03)


@pytest.mark.parametrize(("name", "low", "high"), [("CSC", 1, 6), ("Paraphrase", -5, 5)])
def test_lewidi_against_a_plain_script(
    real_data: Path, name: str, low: int, high: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, points = real_data / "lewidi2025", list(range(low, high + 1))
    monkeypatch.setattr(printed, "KINDS", ("mlp-kl",))
    found = printed.scored(folder, name)
    items: Items = json.loads((folder / f"{name}_test.json").read_text())
    learned: Items = json.loads((folder / f"{printed.SETS[name][1]}.json").read_text())
    labels = [int(label) for one in learned.values() for label in one["annotations"].values()]
    most = max(points, key=labels.count)
    one = [float(point == most) for point in points]
    told = {item: [most] * len(items[item]["annotations"]) for item in items}
    for metric, value in (soft_twin(items, points, one) | rater_twin(items, told, high - low)).items():
        assert found.value("most frequent point", metric) == pytest.approx(value, abs=1e-12)
    spread = 1 / len(points)  # one rating's worth is spread over all points
    shares = [(labels.count(point) + spread) / (len(labels) + 1) for point in points]
    for metric, value in soft_twin(items, points, shares).items():
        assert found.value("marginal", metric) == pytest.approx(value, abs=1e-12)
    if name == "Paraphrase" and len(found.models) > 1:
        assert found.value("mlp-kl", "rps") < found.value("marginal", "rps")


# Without the papers' data -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("published", "ours", "agrees"),
    [(".166", 0.1655, True), (".166", 0.1654, False), ("-.115", -0.113, False), ("4", 4.0, True), ("4", 5.0, False),
     ("0.60", 0.6, True), ("", 0.3, None), ("0.5", float("nan"), None)],
)  # fmt: skip
def test_a_cell_agrees_to_the_decimals_printed(published: str, ours: float, agrees: bool | None) -> None:
    assert PublishedCell("t", "r", "c", published, ours).as_row()[-1] is agrees


@pytest.mark.parametrize(("given", "message"), [
    (("grasp",), "grasp needs ratings.csv and raters.csv of DICES-350"),
    (("lewidi",), "lewidi needs CSC_dev.json and .* of LeWiDi 2025"),
    (("responsiveness", "here"), "responsiveness needs no data"), (("bert",), "there is no paper 'bert'.*grasp"),
])  # fmt: skip
def test_what_is_missing_is_named(given: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        reproduce.run(*given)


def test_a_folder_without_the_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file human_annotations.json; alt-test needs"):
        reproduce.run("alt-test", tmp_path)
    for name in ("human", "llm"):
        (tmp_path / f"{name}_annotations.json").write_text("[1]")
    with pytest.raises(InputError, match="not an object that maps names to items"):
        reproduce.run("alt-test", tmp_path)


def run(*given: str) -> Any:
    return CliRunner().invoke(program(), ["reproduce", *given])


def test_the_command_shows_differences_and_ends_well(tmp_path: Path) -> None:
    found = run("soft", "--chart", str(tmp_path / "soft.svg"))
    assert found.exit_code == 0, found.output
    assert "1.83 ≠ 1.332 (-0.498)" in found.stdout
    assert "agrees to 2 decimals" in found.stdout
    assert (tmp_path / "soft.svg").read_text().startswith("<svg")
    told = json.loads(run("soft", "--json").stdout)
    again = reproduce.Reproduction.from_json(json.dumps(told))
    assert again.to_frame().equals(reproduce.run("soft").to_frame(), null_equal=True)
    assert run("soft", "--csv").stdout.startswith("table,row,column,published,ours,difference,decimals,agrees\n")
    assert run("nobody").exit_code == 2
    assert tables(again)[0].rows[-1] == ["agrees to 2 decimals", "1 of 3", "1 of 3"]


def test_the_chart_has_every_number() -> None:
    frame = pv.plots.reproduction_data(reproduce.run("soft"))
    assert frame.group_by("source").len().sort("source").rows() == [("ours", 14), ("published", 6)]
