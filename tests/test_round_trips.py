"""Ids survive every way out and back in: what one command writes as CSV, another reads as it was."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plurivox as pv
from odd_ids import IDS, ODD, TEXTS, back, is_harmless
from plurivox import ask
from plurivox.actions.curate.files import read_selected
from plurivox.ask.question import Reply
from plurivox.ask.read_answers import read_answers
from plurivox.base.csv_files import csv_text, write_frame
from plurivox.read.tables import read_table
from stored_answers import QUESTION, a_request
from support import run_cli

QUICK = ("--permutations", 9)


# Any text -------------------------------------------------------------------------------------------------------------
@given(
    st.lists(TEXTS, min_size=1, max_size=8),
    st.lists(
        st.text(min_size=1).filter(lambda t: t.isprintable() and "," not in t), min_size=2, max_size=2, unique=True
    ),
)
@settings(max_examples=60)
def test_any_text_comes_back(texts: list[str], names: list[str]) -> None:
    frame = pl.DataFrame({names[0]: texts, names[1]: ["x"] * len(texts)})
    written = csv_text(frame)
    assert is_harmless(written)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        write_frame(path, frame)
        assert path.read_bytes() == written.encode()
        found = read_table(path).frame()
    assert found.columns == frame.columns
    assert found.rows() == frame.rows()


@pytest.mark.parametrize("text", ["'tis", "'", "''", "'5", "'-5", "'+1.5", "it's =x", "a'=b", "-5", "+0.5", "", "x=1"])
def test_other_texts_with_apostrophes_and_numbers_stay_as_they_are(text: str, tmp_path: Path) -> None:
    """A file of somebody else is read as it is, but for an apostrophe before what would be a formula."""
    (tmp_path / "theirs.csv").write_text(f'a,b\n"{text}",x\n')
    assert read_table(tmp_path / "theirs.csv").frame()["a"].to_list() == [text]
    assert csv_text(pl.DataFrame({"a": [text]})) == pl.DataFrame({"a": [text]}).write_csv()


def test_only_delimited_text_is_guarded(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["=x", "'=x"]})
    for name in ("t.parquet", "t.jsonl"):
        write_frame(tmp_path / name, frame)
        assert read_table(tmp_path / name).frame()["a"].to_list() == ["=x", "'=x"]
    assert pl.read_parquet(tmp_path / "t.parquet").equals(frame)
    (tmp_path / "t.tsv").write_text("a\tb\n'=x\t1\n")
    assert read_table(tmp_path / "t.tsv").frame()["a"].to_list() == ["=x"]


def test_a_guard_far_into_a_long_file_is_undone(tmp_path: Path) -> None:
    """The second block of a file is looked at as the first one is."""
    ids = [*(f"item number {i}" for i in range(300_000)), "=late"]
    (tmp_path / "t.csv").write_text(csv_text(pl.DataFrame({"item": ids, "n": range(len(ids))})))
    assert (tmp_path / "t.csv").stat().st_size > 1 << 22
    assert read_table(tmp_path / "t.csv").frame()["item"].to_list() == ids


# From command to command ----------------------------------------------------------------------------------------------
def study(folder: Path, items: list[str], raters: list[str], groups: tuple[str, str] = ("=g", "'=g")) -> Path:
    """Write ratings from 0 to 3 of all items by all raters, who belong to two groups."""
    random = np.random.default_rng(3)
    level = random.permutation(len(items)) * 3 / max(len(items) - 1, 1)
    rows = [
        (item, rater, int(np.clip(round(level[i] + random.normal(0, 0.4)), 0, 3)), groups[r % 2], f"text of {i}")
        for i, item in enumerate(items)
        for r, rater in enumerate(raters)
    ]
    frame = pl.DataFrame(rows, schema=["item", "rater", "score", "+attribute", "text"], orient="row")
    path = folder / "ratings.parquet"  # as other programs write it: nothing is guarded
    frame.write_parquet(path)
    return path


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return ratings whose items, raters, groups and attribute all have odd names."""
    return study(tmp_path_factory.mktemp("odd"), ODD, ODD[:24])


READ = ("--rater-attributes", "+attribute", "--by", "+attribute", "--scale", "0:3")


@pytest.mark.parametrize(("command", "options", "column", "expected"), [
    ("items", ("--top", 99), "item", ODD), ("items", ("--uncertain", "--top", 99), "item", ODD),
    ("scale", ("--table", "severity"), "item", ODD), ("select", ("--per-group", 12), "rater", ODD[:24]),
    ("cohesion", QUICK, "group", ["=g", "'=g"]),
])  # fmt: skip
def test_ids_that_a_command_prints_are_read_as_they_were(
    odd: Path, tmp_path: Path, command: str, options: tuple[object, ...], column: str, expected: list[str]
) -> None:
    frame = back(run_cli(command, odd, *READ, *options, "--csv"), tmp_path)
    assert set(expected) <= set(frame[column])
    assert set(frame[column]) - {"", "all"} <= set(expected) | {"all raters"}


def test_from_select_to_curate(odd: Path, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen.csv"
    chosen.write_text(run_cli("select", odd, *READ, "--per-group", 5, "--csv").out, newline="")
    kept = read_selected(chosen)
    assert len(kept) == 10
    assert set(kept) <= set(ODD)
    curated = ("curate", odd, *READ, *QUICK, "--item-attributes", "text", "--form", "points")
    done = run_cli(*curated, "--selected", chosen, "-o", tmp_path / "points.jsonl")
    assert done.code == 0, done.err
    points = pl.read_ndjson(tmp_path / "points.jsonl")
    assert set(points["item"]) <= set(ODD)
    assert set(points["group"]) == {"=g", "'=g"}


@given(st.lists(IDS, min_size=1, max_size=12, unique=True))
def test_selected_raters_are_read_as_they_were(raters: list[str]) -> None:
    chosen = pl.DataFrame({"group": ["=g"] * len(raters), "rater": raters, "rank": range(len(raters))})
    with tempfile.TemporaryDirectory() as folder:
        write_frame(Path(folder) / "chosen.csv", chosen)
        assert read_selected(Path(folder) / "chosen.csv") == raters


def test_decisions_on_odd_items_come_back(odd: Path, tmp_path: Path) -> None:
    ratings = pl.read_parquet(odd).with_columns(
        score=pl.when(pl.col("+attribute") == "=g").then(3 - pl.col("score")).otherwise(pl.col("score"))
    )
    ratings.write_parquet(tmp_path / "r.parquet")
    curated = ("curate", tmp_path / "r.parquet", *READ, "--permutations", 99, "--item-attributes", "text",
               "--reference", "+attribute='=g", "--form", "points", "-o", tmp_path / "p.jsonl")  # fmt: skip
    done = run_cli(*curated)
    assert done.code == 0, done.err
    listed = read_table(tmp_path / "p.decisions.csv").frame()
    assert is_harmless((tmp_path / "p.decisions.csv").read_text())
    assert set(listed["item_high"]) | set(listed["item_low"]) <= set(ODD)
    assert set(listed["group"]) == {"=g"}
    filled = listed.with_columns(decision=pl.lit("include"))
    (tmp_path / "p.decisions.csv").write_text(csv_text(filled), newline="")
    done = run_cli(*curated, "--decisions", tmp_path / "p.decisions.csv")
    assert done.code == 0, done.err
    assert f"{listed.height} are included, 0 are excluded and 0 await a decision" in done.words


def stored(path: Path, items: list[str]) -> Path:
    """Write a store with an answer to each item."""
    with ask.Store.open(path, QUESTION.about()) as store:
        for at, item in enumerate(items):
            store.put(a_request(item), Reply("=A"), state="answered", point=at % 3, rule="letter", span=(0, 1))
    return path


@given(st.lists(IDS, min_size=1, max_size=12, unique=True))
@settings(max_examples=8)
def test_exported_answers_keep_their_items(ids: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        store, export = stored(Path(name) / "a.db", ids), Path(name) / "a.csv"
        done = run_cli("answers", store, "--export", export)
        assert done.code == 0, done.err
        assert is_harmless(export.read_text(encoding="utf-8"))
        found = read_answers(export, QUESTION.scale)
        before = read_answers(store, QUESTION.scale)
    assert found.items.to_list() == before.items.to_list() == sorted(ids)
    assert (found.point == before.point).all()


def test_from_exported_answers_to_align(tmp_path: Path) -> None:
    store = stored(tmp_path / "a.db", ODD)
    run_cli("answers", store, "--export", tmp_path / "a.csv")
    rows = [(item, f"r{r}", QUESTION.scale.labels[(i + r) % 3]) for i, item in enumerate(ODD) for r in range(4)]
    pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row").write_parquet(tmp_path / "r.parquet")
    labels = ",".join(map(str, QUESTION.scale.labels))
    found = [
        run_cli("align", tmp_path / "r.parquet", tmp_path / name, "--scale", labels, *QUICK, "--csv")
        for name in ("a.db", "a.csv")
    ]
    assert found[1].out == found[0].out
    assert f"{len(ODD)} answers" in found[1].err


def test_a_sample_to_check_comes_back(tmp_path: Path) -> None:
    """Labels that begin like formulas are still those of the store."""
    question = ask.Question(pv.Scale(["=never", "'=often", "-"]), "How often?")
    with ask.Store.open(tmp_path / "a.db", question.about()) as store:
        for at, item in enumerate(ODD):
            store.put(a_request(item), Reply("=A"), state="answered", point=at % 3, rule="letter", span=(0, 1))
    done = run_cli("answers", tmp_path / "a.db", "--audit", 99, "-o", tmp_path / "check.csv")
    assert done.code == 0, done.err
    drawn = read_table(tmp_path / "check.csv").frame()
    assert set(drawn["item"]) == set(ODD)
    (tmp_path / "done.csv").write_text(csv_text(drawn.with_columns(correct=pl.lit("yes"))), newline="")
    found = run_cli("answers", tmp_path / "a.db", "--audited", tmp_path / "done.csv", "--json").json()
    assert (found["n_checked"], found["n_changed"]) == (len(ODD), 0)


def test_simulated_groups_are_read_as_they_were(tmp_path: Path) -> None:
    done = run_cli(
        "simulate", tmp_path / "s", "--items", 9, "--raters", 30, "--attribute", "=who: =a 0.4, '=a 0.3, -b 0.3",
        "--no-effects", "--model", "=m: bias 0", "--predictor", "@p: error 0.1",
    )  # fmt: skip
    assert done.code == 0, done.err
    for path in (tmp_path / "s").glob("*.csv"):
        assert is_harmless(path.read_text())
    found = run_cli("describe", tmp_path / "s" / "ratings.csv", "--json").json()
    (axis,) = found["axes"]
    assert axis["name"] == "=who"
    assert {group["name"] for group in axis["groups"]} == {"=a", "'=a", "-b"}
    assert pv.read_predictions(tmp_path / "s" / "predictions.csv", "0:4").models == ("@p",)
    assert set(read_answers(tmp_path / "s" / "answers.csv", "0:4").models) == {"=m"}
