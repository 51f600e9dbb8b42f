"""Alignment without humans, with groups that rated nothing that was answered, on odd scales; texts of options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import norms
import plurivox as pv
from plurivox.base.errors import ConfigError, InputError, ScaleError, SelectionError
from plurivox.domain.answer_columns import letters_of
from plurivox.domain.answers import Answers
from plurivox.lenses.alignment.result import Alignment
from plurivox.statistics import krippendorff_alpha
from support import Write, ran, refused
from support import run_cli as run

QUICK: dict[str, Any] = {"bootstrap": 0, "permutations": 9, "subsamples": 0, "as_rater": False}


# Without human ratings -----------------------------------------------------------------------------------------------

ANSWERS = pl.DataFrame(
    [
        (model, item, sample, point, "answered" if point is not None else state)
        for model, points, state in (
            ("one", [0, 1, 2, 2, None, 1], "refused"), ("two", [0, 1, 2, 1, 0, None], "unreadable"),
            ("three", [0, 2, 2, 2, 0, 1], "failed"),
        )
        for item, point in enumerate(points)
        for sample in (0, 1)
    ],
    schema={"model": pl.String, "item": pl.Int64, "sample": pl.Int64, "point": pl.Int64, "state": pl.String},
    orient="row",
)  # fmt: skip


def test_without_humans_there_are_accounts_and_alpha_among_models() -> None:
    found = pv.alignment(None, ANSWERS, scale="1:3")
    accounts = {one["model"]: one for one in found.accounts().iter_rows(named=True)}
    states = ("n_items", "answered", "refused", "unreadable", "failed", "missing")
    assert [accounts["one"][name] for name in states] == [6, 5, 1, 0, 0, 0]
    assert accounts["two"]["unreadable"] == 1
    counts = np.zeros((6, 3), dtype=int)
    for item, point in ANSWERS.filter(pl.col("sample") == 0).drop_nulls("point").select("item", "point").iter_rows():
        counts[item, point] += 1
    alphas = {one["level"]: one for one in found.alphas().filter(models="all models").iter_rows(named=True)}
    assert alphas.keys() == {"nominal", "ordinal"}
    for level, one in alphas.items():
        assert one["value"] == pytest.approx(krippendorff_alpha(counts, level))
    assert set(found.alphas()["models"]) == {"all models"}  # nobody beside them
    assert found.stability()["same"].to_list() == [1.0] * 3
    for table in (found.to_frame(), found.closest(), found.standings(), found.contrasts(), found.stand_ins(),
                  found.distances(), found.items()):  # fmt: skip
        assert table.is_empty()
    assert "no human ratings" in found.findings()[0]
    assert Alignment.from_json(found.to_json()).findings() == found.findings()


def test_without_humans_prompts_and_places_are_told() -> None:
    rng = np.random.default_rng(0)
    rows = [
        ("m", prompt, item, int(rng.integers(3)), order)
        for prompt in ("p", "q")
        for item in range(40)
        for order in ([[0, 1, 2], [2, 1, 0]][item % 2],)
    ]
    answers = pl.DataFrame(rows, schema=["model", "prompt", "item", "point", "order"], orient="row")
    found = pv.alignment(None, answers, scale=["no", "maybe", "yes"])
    assert found.prompts().height == 1
    assert found.positions().group_by("prompt").agg(pl.col("n").sum())["n"].to_list() == [40, 40]


TRAINED = pv.Ratings.from_frame(pl.DataFrame({"item": [1, 1], "rater": ["a", "b"], "score": [0, 1]}))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "the scale of the answers is unknown"), ({"scale": "1:3", "by": "age"}, "by needs human ratings"),
        ({"scale": "1:3", "subset": "topic"}, "items have no attribute 'topic'; they have: none"),
        ({"scale": "1:3", "trained": TRAINED}, "trained raters need rated items"),
    ],
)  # fmt: skip
def test_without_humans_what_needs_them_is_an_error(more: dict[str, Any], message: str) -> None:
    with pytest.raises(SelectionError, match=message):
        pv.alignment(None, ANSWERS, **more)


def test_without_humans_a_refusing_model_is_a_result() -> None:
    silent = ANSWERS.select("model", "item", "sample", answer=pl.lit(None, dtype=pl.String), state=pl.lit("refused"))
    found = pv.alignment(None, silent, scale="1:3")
    assert found.accounts()["refused"].to_list() == [6] * 3
    assert np.isnan(found.alphas()["value"].to_list()).all()
    read = Answers.from_frame(ANSWERS, "1:3")  # answers know their scale
    assert pv.alignment(None, read).alphas().equals(pv.alignment(None, ANSWERS, scale="1:3").alphas())


def test_the_command_line_does_without_ratings(write: Write) -> None:
    path = str(write("answers.csv", ANSWERS.write_csv()))
    expected = json.loads(pv.alignment(None, ANSWERS, scale="1:3").to_json(draws=False))
    told = ran("align", "--answers", path, "--scale", "1:3", "--json").json()
    one, other = ([table for table in made["tables"] if table["name"] == "alphas"] for made in (told, expected))
    assert one == other
    for options, message in (
        (["--answers", path], "give them with --scale"), ([path], "no answers were given"),
        (["--answers", path, "--scale", "1:3", "--by", "age"], "--by requires ratings"),
        ([path, path, "--answers", path], "are the same input"),
    ):  # fmt: skip
        assert message in refused("align", *options, code=2)


# Groups that rated nothing that was answered -------------------------------------------------------------------------
@pytest.fixture(scope="module")
def batches() -> tuple[pv.Ratings, pl.DataFrame]:
    """Group a rated items 0–29, group b items 30–59; a model answered the former."""
    rng = np.random.default_rng(0)
    rows = [(i, r, int(rng.integers(3)) + 1) for i in range(60) for r in range(12) if (r < 6) == (i < 30)]
    raters = pl.DataFrame({"rater": range(12), "batch": ["a"] * 6 + ["b"] * 6, "hand": ["left", "right"] * 6})
    items = pl.DataFrame({"item": range(60), "topic": ["p", "q"] * 30})
    frame = pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")
    ratings = pv.Ratings.from_frame(frame, scale="1:3", raters=raters, items=items)
    return ratings, pl.DataFrame({"model": "m", "item": range(30), "answer": rng.integers(1, 4, size=30)})


def test_a_group_that_rated_nothing_answered_has_no_value_and_a_reason(batches: Any) -> None:
    ratings, answers = batches
    found = pv.alignment(ratings, answers, "batch", **{**QUICK, "as_rater": True, "bootstrap": 9, "subsamples": 9})
    for statistic in ("ada_met", "voter_distance", "expected_emd", "xrr", "mpa"):
        row = found.row("m", statistic, axis="batch", group="b")
        assert np.isnan(row.value)
        assert row.n_items == 0
        assert row.note
        assert not np.isnan(found.value("m", statistic, axis="batch", group="a"))
    assert "Without a value because they rated none of the answered items: batch: b." in found.findings()


def test_a_selection_that_rated_nothing_answered_is_no_error(batches: Any) -> None:
    ratings, answers = batches
    found = pv.alignment(ratings.where(raters={"batch": "b"}), answers, "hand", **QUICK, min_group_size=1)
    assert np.isnan(found.value("m"))
    assert np.isnan(found.to_frame()["value"].to_list()).all()
    assert any("contain no item that a model answered" in text for text in found.findings())
    assert not any("stand in for a rater:" in text for text in found.findings() if "cannot be told" not in text)
    assert Alignment.from_json(found.to_json()).findings() == found.findings()
    with pytest.raises(InputError, match="no item with an answer is rated"):  # other ids are still a mistake
        pv.alignment(ratings, answers.with_columns(item=pl.format("x{}", "item")), **QUICK)


def test_a_part_of_the_items_without_answers_is_no_error(batches: Any) -> None:
    ratings, answers = batches
    some = answers.filter(pl.col("item") % 2 == 0)
    found = pv.alignment(ratings, some, "batch", subset="topic", **QUICK)
    assert np.isnan(found.value("m", subset="q"))
    refused = answers.with_columns(state=pl.when(pl.col("item") % 2 == 1).then(pl.lit("refused")))
    only = pv.alignment(ratings.where(items={"topic": "q"}), refused, "batch", **QUICK)
    assert only.value("m") == 2.0  # the whole scale
    assert "m has no readable answer." in only.findings()


# The table of items --------------------------------------------------------------------------------------------------
def test_items_are_on_the_values_of_the_scale() -> None:
    votes = [(1, "r", 2), (1, "s", 4), (1, "t", 4), (2, "r", 1), (2, "s", 2), (3, "r", 8)]
    frame = pl.DataFrame(votes, schema=["item", "rater", "score"], orient="row")
    ratings = pv.Ratings.from_frame(frame, scale=[1, 2, 4, 8])
    answers = pl.DataFrame({"model": ["m", "n", "m", "m"], "item": [1, 1, 2, 3], "answer": [8, 4, 2, 8]})
    table = {one["item"]: one for one in pv.alignment(ratings, answers, **QUICK).items().iter_rows(named=True)}
    first, second = table["1"], table["2"]
    assert (first["mode"], first["mode_label"], first["answer_label"]) == (4.0, "4", "4 / 8")
    assert (first["mean"], first["answer"]) == (pytest.approx(10 / 3), 6.0)
    assert first["distance"] == pytest.approx(((6 + 4 + 4) / 3 + (2 + 0 + 0) / 3) / 2)
    assert (second["mode"], second["mode_label"], second["answer"]) == (1.5, "1 / 2", 2.0)


def test_items_of_a_scale_of_words_have_its_words() -> None:
    frame = pl.DataFrame({"item": [1, 1, 2], "rater": ["r", "s", "r"], "score": ["Yes", "Yes", "No"]})
    ratings = pv.Ratings.from_frame(frame, scale="No,Unsure,Yes")
    answers = pl.DataFrame({"model": "m", "item": [1, 2], "answer": ["No", None], "state": ["answered", "refused"]})
    table = pv.alignment(ratings, answers, **QUICK).items()
    assert table.select("mode_label", "answer_label").rows() == [("Yes", "No"), ("No", "")]


# Texts of options ----------------------------------------------------------------------------------------------------


def test_descriptions_of_a_scale_file_are_used_to_read_texts(write: Write) -> None:
    told = ["Nobody agrees.", "A controversial belief."]
    scale = write("scale.toml", f'labels = ["<1%", "50%"]\ndescriptions = {json.dumps(told)}\n')
    answers = pl.DataFrame({
        "model": "m", "item": [1, 2, 3], "text": ["50% A controversial belief", "Nobody agrees.", "I like it."],
    })  # fmt: skip
    assert Answers.from_frame(answers, scale).point.tolist() == [1, 0, -1]
    plain = pv.Scale(["<1%", "50%"])
    assert Answers.from_frame(answers, plain).point.tolist()[1:] == [-1, -1]
    votes = pl.DataFrame({"item": [1, 2, 3], "rater": "r", "score": "50%"})
    ratings = pv.Ratings.from_frame(votes, scale=scale, missing=["?"])
    assert pv.alignment(ratings, answers, **QUICK).accounts()["answered"].to_list() == [2]
    wrong = write("wrong.toml", 'labels = ["a", "b"]\ndescriptions = ["one"]\n')
    with pytest.raises(ConfigError, match="1 descriptions but 2 points"):
        Answers.from_frame(answers, wrong)
    with pytest.raises(ScaleError, match="there are 1 descriptions but 2 points"):
        pv.Scale(["no", "yes"], descriptions=["one"])
    described = pv.Scale(["<1%", "50%"], descriptions=["Nobody agrees.", " "])
    assert plain == described
    assert letters_of(plain, (1, 0)) == (("A", "50%"), ("B", "<1%"))
    assert letters_of(described, (1, 0)) == (("A", "50%"), ("B", "<1%", "Nobody agrees."))
    for again in (pv.Scale.from_dict(described.to_dict()), described.with_poles(("bad", "good"))):
        assert again.descriptions == described.descriptions


def test_each_prompt_has_its_own_descriptions(write: Write) -> None:
    head = 'labels = ["a", "b"]\n[descriptions]\n'
    scale = write("scale.toml", f'{head}few = ["rare", "common"]\nfew_more = ["odd", "usual"]\n')
    rows = [
        ("few", "common", 1), ("few, as a nurse", "common", 1), ("few_more", "usual", 1), ("few", "usual", -1),
        ("fewer", "rare", -1), ("", "rare", -1),
    ]  # fmt: skip
    told = pl.DataFrame(rows, schema=["prompt", "text", "point"], orient="row").with_row_index("item")
    answers = told.drop("point").with_columns(model=1)
    found = Answers.from_frame(answers, scale)
    assert dict(zip(found.item.tolist(), found.point.tolist(), strict=True)) == dict(
        told.select("item", "point").rows()
    )
    assert pv.Scale.from_dict(found.scale.to_dict()).descriptions == found.scale.descriptions
    for wrong, message in (
        ('few = ["one"]', "1 descriptions but 2 points for the prompt 'few'"),
        ("few = 3", r"\[scale\] descriptions.few' is 3"), ("few = [1]", "descriptions.few"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=message):
            Answers.from_frame(answers, write("wrong.toml", f"{head}{wrong}\n"))


def test_the_command_reproduces_published_tables_from_texts(real_data: Path, write: Write) -> None:
    """Tables of Galarnyk et al.: 132 counts of refusals, and alphas of models whose texts are read as published."""
    folder = real_data / "lm_social_norms"
    told = [one[2] for one in norms.options(norms.answers(folder), "description")]
    known = (
        f"labels = {json.dumps(list(norms.OPTION_LABELS.values()))}\n[descriptions]\ndescription = {json.dumps(told)}\n"
    )
    made = run(
        "align", "--answers", folder / "responses.parquet", "--scale", write("scale.toml", known), "--items",
        folder / "items.csv", "--subset", "area", "--convention", "published", "--json",
    )  # fmt: skip
    assert made.code == 0, made.err
    found = Alignment.from_json(made.out)
    ours = found.accounts().rename({"subset": "area"})
    table = pl.read_csv(folder / "table5_refusals.csv").unpivot(index=["model", "prompt"], variable_name="area")
    both = table.join(ours, on=["model", "prompt", "area"])
    assert both.height == table.height == 132
    assert (both["refused"] + both["unreadable"]).to_list() == both["value"].to_list()
    alphas = pl.read_csv(folder / "table4_alpha.csv").join(found.alphas(), on=["models", "prompt"])
    assert sorted(set(alphas["models"])) == ["gemini", "gpt"]
    assert alphas["value"].to_list() == pytest.approx(alphas["alpha"].to_list(), abs=0.0005)


def test_without_humans_parts_of_the_items_are_counted() -> None:
    items = pl.DataFrame({"item": range(5), "topic": ["p", "q", "p", "q", "p"]})
    found = pv.alignment(None, Answers.from_frame(ANSWERS, "1:3", items=items), subset="topic")
    counts = {(one["model"], one["subset"]): (one["n_items"], one["refused"] + one["unreadable"])
              for one in found.accounts().iter_rows(named=True)}  # fmt: skip
    assert counts["one", "p"] == (3, 1)  # item 4
    assert counts["two", "p"] == counts["three", "p"] == (3, 0)
    assert counts["two", "all"] == (6, 1)  # item 5, which the table of items lacks
    assert found.settings["n_unsorted"] == 1
    with pytest.raises(
        InputError, match=r"none of its ids \(1, such as 'x'\) is among the item ids of the answers \(6, such as"
    ):
        Answers.from_frame(ANSWERS, "1:3", items=pl.DataFrame({"item": ["x"], "topic": ["p"]}))


def test_the_published_answers_are_read_better_with_descriptions(real_data: Path) -> None:
    """Of 13,200 answers 9 are read otherwise: 6 that were unreadable, and 3 that correct their first word."""
    found = norms.answers(real_data / "lm_social_norms")
    options = norms.options(found, "description")
    labels, told = [one[1] for one in options], [one[2] for one in options]
    frame = found.select("model", "prompt", "item", text="response")
    before, after = (Answers.from_frame(frame, scale) for scale in (labels, pv.Scale(labels, descriptions=told)))
    changed = np.flatnonzero((before.state != after.state) | (before.point != after.point))
    assert (len(changed), (before.point[changed] == -1).sum()) == (9, 6)
    key = ["model", "prompt", "item"]
    for at in changed.tolist():
        voice = after.voices[after.voice[at]]
        one = found.filter(model=voice.model, prompt=voice.prompt, item=str(after.items[int(after.item[at])]))
        text, label = one.row(0, named=True)["response"], one["published_label"][0]
        assert one.select(key).height == 1
        if before.point[at] == -1:  # the published reading is the new one
            assert "ABCDE".index(label) == after.point[at]
        else:  # "A) <1% … making option D) 75%-90% … the most accurate answer."
            assert f"making option {'ABCDE'[after.point[at]]})" in text
