"""Stored answers: their options, reading them again, and what goes together on the command line."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer

from model_server import ModelServer, say
from plurivox import Scale, ask
from plurivox.ask import question as reading_module
from plurivox.ask.database import StoreError
from plurivox.ask.question import Reply, as_shown
from plurivox.base.errors import FileError, InputError
from plurivox.cli import answers_check
from stored_answers import DESCRIBED, FORGET, LABELS, QUESTION, TEXTS, a_request, change, fill, names, rows, synthetic
from support import ran, refused, run_cli


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.db"


# Options -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "question",
    [
        QUESTION, DESCRIBED, ask.Question(Scale.range(0, 100)), ask.Question(Scale([f"{n} %" for n in range(30)])),
        ask.Question(Scale([3, 2, 1], values=[0, 1, 2])), ask.Question(Scale([0.5, 1.0, True])),
    ],
)  # fmt: skip
def test_a_question_comes_back_from_what_a_store_holds(question: ask.Question) -> None:
    again = ask.Question.from_about(json.loads(json.dumps(question.about())))
    order = tuple(range(len(question.scale)))[::-1]
    assert (again.options(order), again.about()) == (question.options(order), question.about())
    assert ("descriptions" in question.about()) == bool(question.descriptions)


def test_options_are_read_by_letter_label_and_description(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert as_shown(QUESTION, (2, 0, 1)) == [("A", "often"), ("B", "never"), ("C", "sometimes")]
    seen: list[Any] = []
    real = ask.read_answer

    def read(text: str, options: Any) -> ask.Reading:
        seen.append(options)
        return real(text, options)

    monkeypatch.setattr(reading_module, "read_answer", read)
    items = pl.DataFrame({"item": ["x"], "text": ["Be kind."]})
    with ModelServer(say("B")) as server:
        ask.run(items, DESCRIBED, ["m"], path, base_url=server.base_url)
    ask.reread(path)
    expected = [("A", "never", "at no time"), ("B", "sometimes", "now and then"), ("C", "often", "most of the time")]
    assert seen == [expected, expected]


def test_an_order_that_is_not_of_this_scale_is_refused_and_descriptions_are_taken_over(path: Path) -> None:
    fill(path, ["A"])
    with pytest.raises(InputError, match="another question"):
        ask.Store.open(path, ask.Question(QUESTION.scale, "Other?", DESCRIBED.descriptions).about())
    with ask.Store.read(path) as store:
        assert "descriptions" not in store.about
    ask.Store.open(path, DESCRIBED.about()).close()
    ask.Store.open(path, QUESTION.about()).close()  # says nothing about them
    with ask.Store.read(path) as store:
        assert store.about == DESCRIBED.about()
    other = ask.Question(QUESTION.scale, QUESTION.wording, ("a", "b", "c"))
    with pytest.raises(InputError, match=r"with other descriptions: 'at no time, .*'; now it is 'a, b, c'"):
        ask.Store.open(path, other.about())
    for order in ("[0, 1]", "[0, 1, 3]", "[0, 0, 1]"):
        change(path, f"UPDATE answers SET order_json = '{order}'")
        with pytest.raises(InputError, match="and the scale 3 points"):
            ask.reread(path)


# Reading again -------------------------------------------------------------------------------------------------------
def test_what_is_read_as_before_stays(path: Path) -> None:
    fill(path, TEXTS)
    before = rows(path)
    found = ask.reread(path)
    assert (found.n_read, found.n_same, found.n_changed, found.n_renamed, found.n_stored) == (6, 6, 0, 0, 0)
    assert (found.to_frame().height, found.to_frame().columns) == (0, [
        "model", "prompt", "item", "sample", "from_state", "from_answer", "to_state", "to_answer", "old_rule",
        "new_rule",
    ])  # fmt: skip
    done = run_cli("answers", path, "--reread", "--yes")
    assert "6 answers read again: 6 stay, 0 change" in done.words
    assert "nothing to change" in done.err
    assert rows(path) == before
    change(path, "UPDATE answers SET point = 2 WHERE item = '0'")
    (row,) = ask.reread(path, apply=True).to_frame().rows(named=True)  # from one point to another
    assert (row["from_state"], row["from_answer"], row["to_state"]) == ("answered", "often", "answered")
    assert rows(path) == before


@pytest.mark.parametrize("shuffle", [False, True])
def test_what_an_older_reader_missed_is_shown_and_changed_only_if_wanted(path: Path, shuffle: bool) -> None:
    fill(path, TEXTS, shuffle=shuffle)
    right = rows(path)
    change(path, FORGET + " WHERE item IN ('0', '1', '3', '4')")
    wrong = rows(path)
    found = ask.reread(path)
    assert (rows(path), (found.n_read, found.n_changed, found.n_same)) == (wrong, (6, 4, 2))
    now = {row[4]: (row[10], row[13], row[14]) for row in right}  # item: state, point, rule
    expected = [
        ("m", "plain", item, 0, "unreadable", None, now[item][0],
         None if now[item][1] is None else LABELS[now[item][1]], "old rule", now[item][2])
        for item in ("0", "1", "3", "4")
    ]  # fmt: skip
    assert found.to_frame().rows() == expected
    shown = ran("answers", path, "--reread")
    assert "6 answers read again: 2 stay, 4 change" in shown.words
    assert "nothing was changed; add --yes" in shown.err
    told = ran("answers", path, "--reread", "--json").json()
    keys = ("kind", "n_read", "n_same", "n_changed", "n_renamed", "applied", "n_stored")
    assert tuple(told[key] for key in keys) == ("rereading", 6, 2, 4, 0, False, 0)
    refusal = next(one for one in told["changes"] if one["to_state"] == "refused")
    assert refusal == {
        "model": "m", "prompt": "plain", "from_state": "unreadable", "from_answer": None, "to_state": "refused",
        "to_answer": None, "old_rule": "old rule", "new_rule": right[4][14], "n": 1,
        "examples": ["I cannot answer that."],
    }  # fmt: skip
    assert rows(path) == wrong
    done = ran("answers", path, "--reread", "--yes", *(["--json"] if shuffle else []))
    if shuffle:
        assert (done.json()["applied"], done.json()["n_stored"]) == (True, 4)
    else:
        assert f"4 answers changed in {path}" in done.err
    assert rows(path) == right
    ((order, point),) = rows(path, "order_json, point", "WHERE item = '0'")
    assert point == json.loads(order)[0]  # the answer is A, and the point a place on the scale
    assert ask.reread(path).n_changed == 0


def test_changes_are_grouped_and_shown_with_a_few_texts(path: Path) -> None:
    fill(path, [f"B) \x1b[31msometimes [red] {at // 2}" + " and so on" * 30 for at in range(8)] + ["C"])
    fill(path, ["C"] * 2, model="[bold]n")
    change(path, FORGET + " WHERE item < 8")
    done = run_cli("answers", path, "--reread")
    rule = rows(path, "rule", "WHERE item = '8'")[0][0]
    assert re.search(r"m +plain +unreadable +answered: sometimes +old rule +\S+ +8 *\n", done.out)
    assert re.search(rf"\[bold\]n +plain +unreadable +answered: often +old rule +{rule} +2 *\n", done.out)
    assert done.out.index("sometimes") < done.out.index("[bold]n")  # the most frequent first
    examples = re.findall(r"^ +B\) \ufffd\[31msometimes \[red\] (\d)(?: and so on)+ .*…$", done.out, re.MULTILINE)
    assert len(examples) == len(set(examples)) == 3  # of four
    assert "\x1b" not in done.out
    assert max(map(len, done.out.splitlines())) <= 120
    table = run_cli("answers", path, "--reread", "--csv").frame()
    assert table["n"].to_list() == [8, 2]
    assert "| m | plain | unreadable | answered: sometimes |" in run_cli("answers", path, "--reread", "--markdown").out


def test_other_names_and_places_are_counted_apart(path: Path) -> None:
    fill(path, TEXTS)
    right = rows(path)
    change(
        path, "UPDATE answers SET rule = 'old name' WHERE item = '0'",
        "UPDATE answers SET span_start = NULL, span_end = NULL WHERE item = '1'", FORGET + " WHERE item = '2'",
    )  # fmt: skip
    found = ask.reread(path)
    assert (found.n_changed, found.n_renamed, found.n_same) == (1, 2, 3)
    assert found.to_frame()["item"].to_list() == ["2"]
    done = run_cli("answers", path, "--reread", "--yes")
    assert "2 of those that stay were read by a renamed rule" in done.words
    assert "3 answers changed" in done.err
    assert rows(path) == right


def test_failures_refusals_of_servers_and_second_readings_stay(path: Path) -> None:
    requests = fill(path, ["qqq zzz", "B", "B"])
    with ask.Store.open(path) as store:
        store.put(a_request(10), None, state="failed", error="timed out")
        store.put(a_request(11), Reply("B", refusal="I won't."), state="refused", rule="server refused")
    second = "UPDATE answers SET state = 'answered', point = 0, rule = 'second reader: big' WHERE item = "
    change(path, second + "'0'", second + "'1'")
    before = rows(path)
    found = ask.reread(path, apply=True)
    assert (found.n_read, found.n_changed, found.n_stored) == (3, 1, 1)
    assert found.to_frame()["item"].to_list() == ["1"]
    after = rows(path)
    assert [row for row in after if row[0] != requests[1].key] == [row for row in before if row[0] != requests[1].key]
    assert rows(path, "point", "WHERE item = '1'") == [(1,)]


@pytest.mark.parametrize(("typed", "changed"), [("y", True), ("n", False), ("", False)])
def test_in_a_terminal_it_asks_first(path: Path, typed: str, changed: bool) -> None:
    fill(path, ["A"])
    right = rows(path)
    change(path, FORGET)
    ours, theirs = pytest.importorskip("pty", reason="only Unix has terminals to pretend").openpty()
    command = [sys.executable, "-m", "plurivox", "answers", str(path), "--reread"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, text=True) as process:
        os.close(theirs)
        out = b""
        while b"[y/N]" not in out:
            out += os.read(ours, 10_000)
        assert b"What changes" in out
        os.write(ours, f"{typed}\n".encode())
        _, err = process.communicate(timeout=30)
    os.close(ours)
    assert process.returncode == 0
    assert ("1 answer changed" if changed else "nothing was changed") in err
    assert (rows(path) == right) == changed


def test_the_change_is_all_or_nothing(path: Path) -> None:
    fill(path, ["A"] * 50)
    change(
        path, FORGET,
        "CREATE TRIGGER no BEFORE UPDATE ON answers WHEN old.item = '17' BEGIN SELECT RAISE(ABORT, 'no'); END",
    )  # fmt: skip
    before = rows(path)
    with pytest.raises(StoreError):
        ask.reread(path, apply=True)
    done = run_cli("answers", path, "--reread", "--yes")
    assert done.code == 1
    assert "Traceback" not in done.err
    assert rows(path) == before
    change(path, "DROP TRIGGER no")
    assert ask.reread(path, apply=True).n_stored == 50


@pytest.mark.parametrize(
    "meanwhile", ["state = 'refused'", "point = 2", "rule = 'x'", "asked_at = 'later'", "run = 99"]
)
def test_an_answer_that_changed_meanwhile_is_not_overwritten(
    path: Path, meanwhile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(path, ["A", "B"])
    change(path, FORGET)
    seen: list[Any] = []

    def confirm(_: str) -> bool:
        change(path, f"UPDATE answers SET {meanwhile} WHERE item = '0'")
        seen.append(rows(path, "*", "WHERE item = '0'"))
        return True

    monkeypatch.setattr(answers_check, "_in_terminal", lambda: True)
    monkeypatch.setattr(typer, "confirm", confirm)
    done = run_cli("answers", path, "--reread")
    assert "1 answer changed" in done.err
    assert "1 changed in the meantime; left as found" in done.err
    assert ([rows(path, "*", "WHERE item = '0'")], rows(path, "point", "WHERE item = '1'")) == (seen, [(1,)])


def test_many_answers_are_not_held_in_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synthetic(path, [("answered", "old rule", "m", 12_000)], text="x" * 5_000)  # 60 MB
    monkeypatch.setattr(reading_module, "read_answer", lambda text, options: ask.Reading("answered", 0, "r", (0, 1)))
    tracemalloc.start()
    try:
        found = ask.reread(path)
        assert tracemalloc.get_traced_memory()[1] < 15_000_000
    finally:
        tracemalloc.stop()
    assert (found.n_changed, found.n_renamed) == (12_000, 0)


def test_stores_that_cannot_be_read_again(path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        ask.reread(path)
    ask.Store.open(path).close()
    for options in (["--reread"], ["--audit", "5", "-o", path.with_suffix(".csv")], ["--reader-model", "m"]):
        assert "does not say which options were shown" in refused("answers", path, *options)


# Options of the command ----------------------------------------------------------------------------------------------
def test_refusals_are_a_table_of_texts_that_steers_nothing(path: Path, tmp_path: Path) -> None:
    said = "I cannot answer that.\n\x1b[31mIt | is"
    formula = "=1+1 I'm sorry, but I can't assist with that."
    fill(path, ["A", said, formula])
    with ask.Store.open(path) as store:  # a server that refuses says why
        store.put(a_request(3), Reply("", refusal="filtered"), state="refused", rule="server refused")
    told, asked = [("1", said), ("2", formula), ("3", "filtered")], ("answers", path, "--refused")
    assert ask.Store.read(path).refused().select("item", "text").rows() == told
    assert [(one["item"], one["text"]) for one in run_cli(*asked, "--json").json()["refusals"]] == told
    table = pl.read_csv(run_cli(*asked, "--csv").out.encode(), infer_schema=False)
    assert table.columns == ["model", "prompt", "item", "sample", "rule", "text"]
    assert table["text"].to_list() == [said, f"'{formula}", "filtered"]  # no formula for a spreadsheet
    for form in ([], ["--markdown"]):
        shown = run_cli(*asked, *form).out
        assert "\x1b" not in shown
        assert "filtered" in shown
    fill(tmp_path / "none.db", ["A"])
    assert "it contains no refusals" in run_cli("answers", tmp_path / "none.db", "--refused").err


ACTIONS = [
    ["--export", "a.csv"], ["--refused"], ["--reread"], ["--audit", "5", "-o", "b.csv"], ["--audited", "c.csv"],
    ["--reader-model", "m"],
]  # fmt: skip


ONE = "choose one of --export, --refused, --reread, --audit, --audited and --reader-model"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        *(([*one, *other], ONE) for one, other in itertools.combinations(ACTIONS, 2)),
        (["--yes"], "--yes requires --reread"), (["-o", "a.csv"], "--output requires --audit"),
        (["--seed", "1"], "--seed requires --audit"), (["--rate", "3"], "--rate requires --reader-model"),
        (["--reread", "--base-url", "http://x"], "--base-url requires --reader-model"),
        (["--audit", "5", "--yes"], "--yes requires --reread"), (["--audit", "0"], "greater than or equal to 1"),
        (["--audit", "5", "-o", "a.csv", "--json"], "--json cannot be combined with --audit"),
        (["--reader-model", "m", "--csv"], "--csv cannot be combined with --reader-model"),
        (["--reread", "--csv", "--json"], "only one of --json and --csv can be printed"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together(
    path: Path, given: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(path, TEXTS)
    monkeypatch.chdir(path.parent)
    assert told in refused("answers", path, *given, code=2)
    assert names(path.parent) == ["answers.db"]
