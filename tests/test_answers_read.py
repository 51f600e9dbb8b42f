"""Texts that models wrote become readings: frames of every reading, tables of any kind, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plurivox as pv
from plurivox.base.errors import ColumnError
from plurivox.domain.answers import Answers
from stored_answers import QUESTION, fill
from support import Write, ran, refused, run_cli

SCALE = pv.Scale(["never", "sometimes", "always"])
# Read by hand: text, state, position, the piece that says so.
BY_HAND = [
    ("B", "answered", 1, "B"),
    ("I'd say **always**.", "answered", 2, "always"),
    ('{"answer": "never"}', "answered", 0, "never"),
    ("I cannot judge that.", "refused", None, None),
    ("It is a nice day.", "unreadable", None, None),
    ("", "unreadable", None, None),
    ("Not A. My final answer is C.", "answered", 2, "C"),
]
TEXTS = [text for text, *_ in BY_HAND]


def test_every_reading_is_as_a_person_reads_it() -> None:
    table = pl.DataFrame({"item": [f"i{n}" for n in range(len(TEXTS))], "response": TEXTS})
    answers = Answers.from_frame(table, SCALE)
    frame = answers.to_frame()
    assert frame.columns == [
        "model", "prompt", "item", "sample", "state", "answer", "point", "text", "rule", "read",
    ]  # fmt: skip
    assert frame["text"].to_list() == TEXTS
    assert frame["state"].to_list() == [state for _, state, *_ in BY_HAND]
    assert frame["point"].to_list() == [point for *_, point, _ in BY_HAND]
    assert frame["answer"].to_list() == [None if p is None else str(SCALE.labels[p]) for *_, p, _ in BY_HAND]
    for (*_, piece), read in zip(BY_HAND, frame["read"], strict=True):
        assert piece is None or read == piece
    assert (frame["rule"].null_count(), answers.n_read) == (0, len(TEXTS))
    assert answers.columns == {"item": "item", "text": "response"}


def test_rows_stand_by_model_prompt_item_and_sample() -> None:
    rows = [("b", "p", 1, 0), ("a", "q", 2, 1), ("a", "q", 2, 0), ("a", "p", 2, 0), ("a", "p", 1, 0)]
    names = ["model", "prompt", "item", "sample"]
    table = pl.DataFrame(rows, schema=names, orient="row").with_columns(answer=pl.lit("never"))
    made = Answers.from_frame(table, SCALE).to_frame().select(names).rows()
    assert made == sorted((model, prompt, str(item), sample) for model, prompt, item, sample in rows)


def test_what_is_not_a_label_is_read_as_text() -> None:
    table = pl.DataFrame({"item": range(4), "answer": ["always", "Sometimes, I think.", "7", "I cannot judge that."]})
    answers = Answers.from_frame(table, SCALE)
    assert answers.to_frame().select("state", "point", "text").rows() == [
        ("answered", 2, None), ("answered", 1, "Sometimes, I think."), ("unreadable", None, "7"),
        ("refused", None, "I cannot judge that."),
    ]  # fmt: skip
    rules = answers.to_frame()["rule"]
    assert (rules[0], rules[2], answers.n_read, answers.n_elsewhere) == (None, "not_on_the_scale", 3, 1)
    for column in ([0, 7, 2], [0.0, 1.5, 2.0]):  # numbers that are not points are not read
        for name in ("answer", "point"):
            answers = Answers.from_frame(pl.DataFrame({"item": range(3), name: column}), pv.Scale.range(0, 2))
            assert answers.to_frame()["point"].to_list() == [0, None, 2]
            assert (answers.n_read, answers.n_elsewhere) == (0, 1)


def test_a_text_of_the_item_is_never_an_answer() -> None:
    base = {"item": range(2), "text": ["always", "always"]}
    frame = Answers.from_frame(pl.DataFrame({**base, "completion": ["A", "B"]}), SCALE).to_frame()
    assert frame["answer"].to_list() == ["never", "sometimes"]
    blank = Answers.from_frame(pl.DataFrame({**base, "answer": ["never", None]}), SCALE)
    assert blank.to_frame()["state"].to_list() == ["answered", "unreadable"]
    with pytest.raises(ColumnError, match="more than one column may hold the answers: completion, Output"):
        Answers.from_frame(pl.DataFrame({**base, "completion": "A", "Output": "B"}), SCALE)
    with pytest.raises(ColumnError, match="there is no column of answers"):
        Answers.from_frame(pl.DataFrame(base), SCALE, item="text")


def test_prompts_that_differ_with_every_item_do_not_name_ways_to_ask() -> None:
    table = pl.DataFrame({"item": [1, 2, 3], "prompt": ["Rate x.", "Rate y.", "Rate z."], "response": "A"})
    answers = Answers.from_frame(table, SCALE)
    assert [voice.prompt for voice in answers.voices] == [""]
    assert answers.columns["text of the item"] == "prompt"
    twice = pl.concat([table, table.with_columns(prompt=pl.lit("short"))])
    assert len(Answers.from_frame(twice, SCALE).voices) == 4


def test_recoding_keeps_the_texts() -> None:
    table = pl.DataFrame({"item": range(3), "response": ["A", "B", "C"]})
    made = Answers.from_frame(table, SCALE).recode("never=no,sometimes=missing,always=yes")
    assert made.to_frame().select("text", "state", "answer", "rule").rows() == [
        ("A", "answered", "no", "whole_answer"), ("B", "unreadable", None, "not_on_the_scale"),
        ("C", "answered", "yes", "whole_answer"),
    ]  # fmt: skip


def test_a_store_gives_its_texts_and_rules(tmp_path: Path) -> None:
    path = tmp_path / "answers.db"
    fill(path, ["A", "I cannot judge that.", "Hm."])
    with pv.ask.Store.read(path) as store:
        stored = store.frame()
    frame = pv.read_answers(path, QUESTION.scale).to_frame()
    same = ["model", "prompt", "item", "state", "answer", "point", "text", "rule", "read"]
    assert (frame.select(same).rows(), frame["read"][0]) == (stored.select(same).rows(), "A")


SHARES = st.sampled_from([[1.0, 0.0, 0.0], [0.25, 0.25, 0.5], [0.5, 0.125, 0.375], None])
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "model": st.sampled_from(["m", "n"]), "prompt": st.sampled_from(["", "p"]),
            "item": st.sampled_from(["1", "2", "é", "=x"]), "sample": st.integers(0, 2),
            "text": st.one_of(st.none(), st.sampled_from(TEXTS), st.text(max_size=20)),
            "state": st.sampled_from([None, None, "failed", "refused"]), "distribution": SHARES,
            "order": st.sampled_from([None, [2, 0, 1], [0, 1, 2]]),
        }
    ),
    min_size=1, max_size=8, unique_by=lambda row: (row["model"], row["prompt"], row["item"], row["sample"]),
)  # fmt: skip
KINDS: dict[str, Any] = {
    "distribution": pl.List(pl.Float64), "order": pl.List(pl.Int64), "text": pl.String, "state": pl.String,
}  # fmt: skip


@given(ROWS, st.sampled_from(["text", "answer", "response"]))
def test_what_is_written_reads_back_to_equal_answers(rows: list[dict[str, Any]], name: str) -> None:
    table = pl.DataFrame(rows, schema_overrides=KINDS).rename({"text": name})
    if table[name].null_count() == table.height:
        table = table.with_columns(pl.lit("A").alias(name))
    first = Answers.from_frame(table, SCALE)
    again = Answers.from_frame(first.to_frame(), SCALE)
    assert again.to_frame().equals(first.to_frame())
    assert (again.voices, again.items.to_list()) == (first.voices, first.items.to_list())
    assert again.n_elsewhere == first.n_elsewhere
    for one in ("item", "voice", "sample", "state", "point"):
        assert np.array_equal(getattr(again, one), getattr(first, one))
    assert again.n_read == 0


# The command --------------------------------------------------------------------------------------------------------

TABLE = """\
id,text,model_name,response
1,Be kind.,gpt,"I'd say 3, because it is nice."
2,Steal.,gpt,I cannot rate that.
3,Lie.,gpt,It is a nice day.
1,Be kind.,llama,**4**
2,Steal.,llama,0
3,Lie.,llama,"=2+2 is ""none"", so 1"
"""
RATINGS = "item,rater,score\n" + "".join(
    f"{item},r{rater},{(item + rater) % 5}\n" for item in (1, 2, 3) for rater in range(6)
)


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_texts_in_a_table_become_readings_that_align_takes(write: Write, ending: str) -> None:
    texts = write("texts.csv", TABLE)
    out = texts.with_name(f"readings.{ending}")
    done = ran("answers", "read", texts, "--scale", "0:4", "-o", out)
    assert "item = id, model = model_name, text = response; 6 answers of gpt, llama; 6 texts read by rules" in done.err
    assert done.out.splitlines()[-1] == str(out)
    assert "It is a nice day." in done.out
    found, made = pv.read_answers(out, "0:4"), pv.read_answers(texts, "0:4")
    assert found.to_frame().equals(made.to_frame())
    assert found.to_frame()["answer"].to_list() == ["3", None, None, "4", "0", "1"]
    aligned = ran("align", write("ratings.csv", RATINGS), out, "--scale", "0:4", "--csv", "--table", "accounts")
    counts = aligned.frame().select("model", "answered", "refused", "unreadable")
    assert counts.rows() == [("gpt", 1, 1, 1), ("llama", 3, 0, 0)]


def test_readings_are_told_in_every_form(write: Write) -> None:
    given = ["answers", "read", write("texts.csv", TABLE), "--scale", "0:4"]
    made = pl.read_csv(run_cli(*given, "--csv").out.encode(), infer_schema=False)
    assert made["text"].to_list()[-1] == '\'=2+2 is "none", so 1'  # guarded against spreadsheets
    told = json.loads(run_cli(*given, "--json").out)
    assert [one["state"] for one in told["answers"]] == ["answered", "refused", "unreadable", *["answered"] * 3]
    readings = write("readings.csv", "")
    done = run_cli(*given, "--markdown", "-o", readings)
    assert "| gpt | 1 | 1 | 1 | 0 |" in done.out
    assert f"readings: {readings}" in done.words


def test_the_scale_may_stand_in_the_config_and_the_model_is_called_like_the_file(write: Write) -> None:
    write("plurivox.toml", '[scale]\nlabels = ["never", "sometimes", "always"]\n')
    done = run_cli("answers", "read", write("gpt.csv", "item,answer\n1,Always!\n2,never\n"), "--json")
    assert "1 text read by rules in answer, not as labels" in done.err
    assert [(one["model"], one["answer"]) for one in json.loads(done.out)["answers"]] == [
        ("gpt", "always"), ("gpt", "never"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("read", "give plurivox answers read TABLE, not 0 files"),
        ("a.db b.db", "give one store, or read and a table, not 2 files"),
        ("read {texts}", "give them with --scale"),
        ("read {texts} --scale 0:4 --reread", "--reread applies to a store"),
        ("read {texts} --scale 0:4 --yes", "--yes requires --reread"),
        ("a.db --scale 0:4", "--scale requires plurivox answers read TABLE"),
        ("a.db -o x.csv", "--output requires"), ("./read", "read: there is no such file"),
        ("read {texts} --scale 0:4 -o x.txt", "x.txt has an unknown file extension"),
        ("read {texts} --scale 0:4 -o {texts}", "texts.csv"),
        ("read {texts} --scale 0:4 --answer none", "there is no column 'none'; it has id, text"),
        ("read {odd} --scale 0:4", "it has foo, bar. Name the columns: --item, --model, --answer"),
        ("read nowhere.csv --scale 0:4", "nowhere.csv: there is no such file"),
    ],
)  # fmt: skip
def test_wrong_words_get_one_clear_message(write: Write, words: str, told: str) -> None:
    texts, odd = write("texts.csv", TABLE), write("odd.csv", "foo,bar\n1,2\n")
    assert told in refused("answers", *words.format(texts=texts, odd=odd).split(), code=None)
    assert texts.read_text() == TABLE
