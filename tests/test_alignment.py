"""Alignment: golden values, a literal twin, published alphas, planted views, and answers that are missing or odd."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import krippendorff
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plurivox as pv
from plurivox.base.errors import ColumnError, DuplicateError, InputError, SelectionError
from plurivox.domain import counts as counts_module
from plurivox.domain.answers import Answers
from plurivox.domain.part import cut
from plurivox.lenses.alignment.run import guessed_families
from plurivox.statistics import ada_met, ada_met_answered, expected_emd, modes, voter_distance, xrr
from plurivox.statistics.undefined import NO_REFERENCE
from support import Write

QUICK: dict[str, Any] = {"bootstrap": 0, "permutations": 0, "subsamples": 0, "as_rater": False}


# Golden values -------------------------------------------------------------------------------------------------------
def golden_study(golden: Any) -> tuple[pv.Ratings, pl.DataFrame, dict[str, Any]]:
    """Return the worked example as ratings, every vote of a rater of its own, and answers."""
    known = golden["ada_met"]
    votes = [
        (item, f"{item}-{point}-{number}", point)
        for item, counts in known["votes"].items()
        for point, n in enumerate(counts)
        for number in range(n)
    ]
    ratings = pv.Ratings.from_frame(
        pl.DataFrame(votes, schema=["item", "rater", "score"], orient="row"), scale=pv.Scale.range(0, 4),
        items=pl.DataFrame({"item": list(known["area"]), "area": list(known["area"].values())}),
    )  # fmt: skip
    states = {"F": "refused", "No answer found": "unreadable"}
    rows = [
        (model, item, states.get(label, "answered"), "ABCDE".index(label) if label in "ABCDE" else None)
        for model, given in known["lm"].items()
        for item, label in given.items()
    ]
    return ratings, pl.DataFrame(rows, schema=["model", "item", "state", "point"], orient="row"), known


def test_golden_values_by_arrays_and_by_the_lens(golden: Any) -> None:
    ratings, answers, known = golden_study(golden)
    found = pv.alignment(ratings, answers, subset="area", **QUICK)
    votes = [known["votes"][item] for item in known["votes"]]
    assert modes(votes).tolist() == pytest.approx(list(known["human_mode"].values()))
    for model, expected in known["expected"].items():
        own = answers.filter(pl.col("model") == model)
        positions = dict(own.select("item", "point").iter_rows())
        given = [positions[item] for item in known["votes"]]
        assert ada_met(votes, given) == pytest.approx(expected["mean"], abs=1e-12)
        assert ada_met_answered(votes, given) == pytest.approx(expected["mean_answered_only"], abs=1e-12)
        assert voter_distance(votes, given) == pytest.approx(expected["mean_abs_to_voters"], abs=1e-12)
        assert found.value(model) == pytest.approx(expected["mean"], abs=1e-12)
        assert found.value(model, "ada_met_answered") == pytest.approx(expected["mean_answered_only"], abs=1e-12)
        assert found.value(model, "voter_distance") == pytest.approx(expected["mean_abs_to_voters"], abs=1e-12)
        for area, value in expected["by_area"].items():
            assert found.value(model, subset=area) == pytest.approx(value, abs=1e-12)
        account = found.accounts().filter(model=model, subset="all").row(0, named=True)
        assert (account["refused"], account["unreadable"]) == (expected["refusals_F"], expected["irrelevant"])
        assert f"answered {account['answered']} of 6 items" in found.row(model).note


# A literal twin ------------------------------------------------------------------------------------------------------
@st.composite
def studies(draw: st.DrawFn) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Draw ratings with gaps, raters of two or three groups, and answers with refusals and gaps."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n_items, n_raters, n_models = (int(rng.integers(low, high)) for low, high in ((2, 9), (4, 12), (1, 4)))
    cells = [(i, r) for i in range(n_items) for r in range(n_raters) if rng.random() < 0.6] or [(0, 0)]
    ratings = pl.DataFrame(
        [(f"i{i}", f"r{r}", int(rng.integers(0, 4))) for i, r in cells], schema=["item", "rater", "score"], orient="row"
    )
    raters = pl.DataFrame({"rater": [f"r{r}" for r in range(n_raters)], "g": [f"g{r % 3}" for r in range(n_raters)]})
    states = ["answered", "answered", "answered", "refused", "unreadable", "failed"]
    rows = [
        (f"m{m}", f"i{i}", state, int(rng.integers(0, 4)) if state == "answered" else None)
        for m in range(n_models)
        for i in range(n_items)
        if rng.random() < 0.9
        for state in [states[int(rng.integers(6))]]
    ]
    rows = rows or [("m0", "i0", "answered", 1)]
    rows.append(("m0", ratings["item"][0], "answered", 2))
    answers = pl.DataFrame(rows, schema=["model", "item", "state", "point"], orient="row")
    return ratings, raters, answers.unique(["model", "item"], keep="last", maintain_order=True)


def literal(votes: dict[str, list[int]], given: dict[str, tuple[str, int | None]]) -> dict[str, float]:
    """Return the distances of one model from one group, item by item in plain Python."""
    charged, answered, to_voters, charged_voters, counts, points = [], [], [], [], [], []
    for item, own in votes.items():
        state, point = given.get(item, ("missing", None))
        if not own or state in ("missing", "failed"):
            continue
        tally = [own.count(p) for p in range(4)]
        tied = [p for p in range(4) if tally[p] == max(tally)]
        mode = sum(tied) / len(tied)
        if point is None:
            charged.append(3.0)
            charged_voters.append(3.0)
            continue
        answered.append(abs(mode - point))
        charged.append(abs(mode - point))
        to_voters.append(sum(abs(vote - point) for vote in own) / len(own))
        charged_voters.append(to_voters[-1])
        counts.append(tally)
        points.append(np.eye(4)[point])
    emd = expected_emd(np.array(counts), np.array(points)) if counts else []
    cross = xrr(np.array(points, dtype=int), np.array(counts), "ordinal") if counts else float("nan")
    return {
        "ada_met": _mean(charged), "ada_met_answered": _mean(answered), "voter_distance": _mean(charged_voters),
        "expected_emd": _mean(emd), "xrr": float(cross),
    }  # fmt: skip


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


@given(studies())
def test_every_distance_equals_a_literal_twin(study: tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]) -> None:
    frame, raters, answers = study
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 3), raters=raters)
    found = pv.alignment(ratings, answers, by="g", min_group_size=1, **QUICK)
    group_of = dict(raters.iter_rows())
    for model in answers["model"].unique():
        own = answers.filter(pl.col("model") == model)
        given = {item: (state, point) for item, state, point in own.select("item", "state", "point").iter_rows()}
        for axis, group in [("all", "all"), *(("g", name) for name in sorted(set(group_of.values())))]:
            votes: dict[str, list[int]] = {}
            for item, rater, score in frame.iter_rows():
                if axis == "all" or group_of[rater] == group:
                    votes.setdefault(item, []).append(score)
            expected = literal(votes, given)
            for name, value in expected.items():
                if not any(row.group == group and row.axis == axis for row in found.rows):
                    continue  # a group that rated nothing is withheld
                assert found.value(model, name, axis=axis, group=group) == pytest.approx(value, abs=1e-9, nan_ok=True)


EVERY_DRAW: dict[str, Any] = {"by": ["age", "gender"], "subset": "violation", "bootstrap": 40, "permutations": 30}


def test_sums_by_item_are_the_same_however_items_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    study = pv.simulate(n_items=60, n_raters=40, seed=4)
    one = pv.alignment(study.ratings, study.answers, subsamples=20, **EVERY_DRAW)
    monkeypatch.setattr(counts_module, "cut", partial(cut, size=100))
    again = pv.Ratings.from_frame(study.ratings_frame, scale=study.scale, raters=study.raters, items=study.items)
    assert len(again.parts()) > 5
    several = pv.alignment(again, study.answers, subsamples=20, **EVERY_DRAW)
    by_item = ("ada_met", "ada_met_answered", "voter_distance", "expected_emd", "mpa", "wra")
    for mine, theirs in zip(one.rows, several.rows, strict=True):
        if mine.statistic in by_item:
            assert mine == theirs
        assert theirs.value == pytest.approx(mine.value, abs=1e-12, nan_ok=True)
    columns = ["model", "prompt", "axis", "group", "value", "wins", "n_raters", "n_items"]
    assert one.standings().select(columns).equals(several.standings().select(columns))
    assert one.stand_ins().equals(several.stand_ins())
    for own, other in zip(one.draws, several.draws, strict=True):
        assert other.null == pytest.approx(own.null, abs=1e-12, nan_ok=True)


# Models among themselves ---------------------------------------------------------------------------------------------
def test_humans_have_an_alpha_of_their_own_beside_models() -> None:
    """Against the package krippendorff, on the items that a model was asked about."""
    study = pv.simulate(n_items=30, n_raters=12, seed=3)
    asked = [f"item-{number:03d}" for number in range(1, 21)]
    assert study.answers is not None
    answers = study.answers.filter(pl.col("item").is_in(asked))
    found = pv.alignment(study.ratings, answers, **QUICK).alphas()
    rated = study.ratings.to_frame().filter(pl.col("item").is_in(asked))
    table = rated.pivot("item", index="rater", values="score").drop("rater").cast(pl.Float64).to_numpy()
    for level in ("nominal", "ordinal"):
        row = found.filter(models="humans", level=level).row(0, named=True)
        expected = krippendorff.alpha(table, level_of_measurement=level, value_domain=study.ratings.scale.values)
        assert row["value"] == pytest.approx(expected)
        assert (row["n_models"], row["n_raters"], row["n_items"], row["prompt"]) == (0, 12, 20, "")
    assert found.filter(models="all models")["n_raters"].to_list() == [0, 0]


@pytest.mark.parametrize("n_items", [1, 50, 83])
def test_bands_are_means_of_items_in_the_order_of_ratings(n_items: int) -> None:
    """Against a literal count."""
    rng = np.random.default_rng(n_items)
    scale = pv.Scale(["no", "maybe", "yes"], values=[0, 1, 4])
    votes = pl.DataFrame([(i, r, scale.labels[int(rng.integers(3))]) for i in range(n_items + 1) for r in range(5)],
                         schema=["item", "rater", "score"], orient="row")  # fmt: skip
    points = {(i, m): int(rng.integers(-1, 3)) for i in range(n_items) for m in "ab"}  # nothing asked about the last
    points[0, "a"] = 2  # one is answered
    answers = pl.DataFrame(
        [(m, i, None if p < 0 else p, "refused" if p < 0 else "answered") for (i, m), p in points.items()],
        schema={"model": pl.String, "item": pl.Int64, "point": pl.Int64, "state": pl.String}, orient="row",
    )  # fmt: skip
    found = pv.alignment(pv.Ratings.from_frame(votes, scale=scale), answers, **QUICK).bands()
    value = dict(zip(scale.labels, scale.values, strict=True))
    mean = {i: sum(value[s] for s in votes.filter(item=i)["score"]) / 5 for i in range(n_items)}
    order = sorted(range(n_items), key=lambda i: (mean[i], i))
    n_bands = min(n_items, 50)
    for band in range(n_bands):
        own = [i for at, i in enumerate(order) if at * n_bands // n_items == band]
        for row in found.filter(band=band).iter_rows(named=True):
            given = [scale.values[points[i, row["model"]]] for i in own if points[i, row["model"]] >= 0]
            assert row["answer"] == (pytest.approx(sum(given) / len(given)) if given else None)
            assert row["rating"] == pytest.approx(sum(mean[i] for i in own) / len(own))
            assert (row["n_items"], row["n_answered"], row["n_silent"]) == (len(own), len(given), len(own) - len(given))
            assert row["item"] == (str(own[0]) if n_items <= 50 else None)


def test_refusals_are_missing_in_alpha_by_default() -> None:
    given = ["x", "x", "y", "y", None, "x", "x", None]
    frame = pl.DataFrame({
        "model": ["a", "b"] * 4, "item": [1, 1, 2, 2, 3, 3, 4, 4], "answer": given,
        "state": ["refused" if answer is None else "answered" for answer in given],
    })  # fmt: skip
    ratings = pv.Ratings.from_frame(
        pl.DataFrame({"item": [1, 2, 3, 4], "rater": "h", "score": ["x", "y", "x", "y"]}), scale=pv.Scale(["x", "y"])
    )
    for convention, value in (("default", 1.0), ("published", 1 - (4 / 8) / ((64 - (16 + 4 + 4)) / 56))):
        found = pv.alignment(ratings, frame, convention=convention, **QUICK).alphas()
        row = found.filter(models="all models", level="nominal").row(0, named=True)
        assert row["value"] == pytest.approx(value)


def test_prompts_samples_and_positions() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for item in range(200):
        for prompt in ("plain", "table"):
            for sample in range(3):
                order = rng.permutation(3).tolist()
                point = order[0] if rng.random() < 0.6 else int(rng.integers(3))  # likes what is shown first
                rows.append(("m", prompt, item, sample, point, order))
    frame = pl.DataFrame(rows, schema=["model", "prompt", "item", "sample", "point", "order"], orient="row")
    votes = pl.DataFrame({"item": range(200), "rater": "h", "score": rng.integers(0, 3, 200)})
    found = pv.alignment(pv.Ratings.from_frame(votes, scale=pv.Scale.range(0, 2)), frame, **QUICK)
    prompts = found.prompts().row(0, named=True)
    assert (prompts["prompt"], prompts["other"], prompts["n_items"]) == ("plain", "table", 200)
    first = frame.filter(sample=0).pivot("prompt", index="item", values="point")
    assert prompts["same"] == pytest.approx((first["plain"] == first["table"]).mean())
    assert found.stability()["n_samples"].to_list() == [3, 3]
    places = found.positions().filter(prompt="plain")
    chosen = frame.filter(prompt="plain").map_rows(lambda row: row[5].index(row[4]))["map"]
    assert places["n"].to_list() == [int((chosen == at).sum()) for at in range(3)]
    assert places["share"][0] > 0.6
    assert places["p_value"][0] < 1e-6
    assert any("position bias" in text for text in found.findings())


def test_a_distribution_is_scored_by_the_exact_expected_distance() -> None:
    votes = pl.DataFrame({"item": [1, 1, 1, 2, 2], "rater": ["a", "b", "c", "a", "b"], "score": [0, 1, 1, 2, 2]})
    ratings = pv.Ratings.from_frame(votes, scale=pv.Scale.range(0, 2))
    shares = [[0.2, 0.7, 0.1], [0.0, 0.4, 0.6]]
    by_list = pl.DataFrame({"model": "m", "item": [1, 2], "distribution": shares})
    by_column = pl.DataFrame({"model": "m", "item": [1, 2], "0": [0.2, 0.0], "1": [0.7, 0.4], "2": [0.1, 0.6]})
    expected = expected_emd([[1, 2, 0], [0, 0, 2]], shares).mean()
    for frame in (by_list, by_column):
        found = pv.alignment(ratings, frame, **QUICK)
        assert found.value("m", "expected_emd") == pytest.approx(expected)
        assert found.value("m") == 0.0  # the likeliest points are the modes
    samples = pl.DataFrame({"model": "m", "item": [1, 1, 2, 2], "sample": [0, 1, 0, 1], "point": [0, 1, 2, 2]})
    found = pv.alignment(ratings, samples, **QUICK)
    halves = expected_emd([[1, 2, 0], [0, 0, 2]], [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]).mean()
    assert found.value("m", "expected_emd") == pytest.approx(halves)
    assert found.value("m") == pytest.approx((0.5 + 0) / 2)


# What is missing, odd or wrong ---------------------------------------------------------------------------------------

VOTES = pl.DataFrame({"item": ["a", "a", "b", "c"], "rater": ["r", "s", "r", "r"], "score": ["no", "yes", "yes", "no"]})
RATINGS = pv.Ratings.from_frame(VOTES, scale=pv.Scale(["no", "yes"]))
RESERVED = pv.Ratings.from_frame(
    VOTES, scale=pv.Scale(["no", "yes"]), raters=pl.DataFrame({"rater": ["r", "s"], "all": ["x", "y"]}),
    items=pl.DataFrame({"item": ["a", "b", "c"], "topic": ["all", "x", "x"]}),
)  # fmt: skip


@pytest.mark.parametrize(
    ("given", "states"),
    [
        ({"item": ["a", "b", "z"], "answer": ["yes", "maybe", "no"]}, {"answered": 1, "unreadable": 1, "missing": 1}),
        ({"item": ["a", "b"], "answer": ["yes", None], "state": ["answered", "failed"]},
         {"answered": 1, "failed": 1, "missing": 1}),
        ({"item": ["a", "b", "c"], "text": ["B) yes", "I'm sorry, I can't.", "Hm."]},
         {"answered": 1, "refused": 1, "unreadable": 1}),
    ],
)  # fmt: skip
def test_what_became_of_items_is_counted_and_said(given: dict[str, list[Any]], states: dict[str, int]) -> None:
    found = pv.alignment(RATINGS, pl.DataFrame({"model": "m", **given}), **QUICK)
    account = found.accounts().row(0, named=True)
    names = ("answered", "refused", "unreadable", "failed", "missing")
    assert (account["n_items"], {name: account[name] for name in names if account[name]}) == (3, states)
    if "failed" in states:  # which is never charged
        assert (found.row("m").n_items, found.value("m")) == (1, 0.5)
    if "z" in given["item"]:
        text = " ".join(found.findings())
        assert "they have answers but no rating: 1 item." in text
        assert "they neither are nor name a point of the scale: 1 answer." in text


@pytest.mark.parametrize(
    ("given", "points", "states"),
    [
        ({"item": ["a", "b"], "text": ["A", "A"], "order": [[0, 1], [1, 0]]}, [0, 1], [0, 0]),  # options as shown
        ({"item": ["a", "b", "c"], "point": [1, None, None], "text": [None, "A) no", "I can't say."]},
         [1, 0, -1], [0, 0, 1]),
        ({"item": ["a", "b", "c"], "point": [1, None, None], "text": [None, "A) no", "I can't say."],
          "state": ["answered", "unreadable", "refused"]}, [1, -1, -1], [0, 2, 1]),  # nothing is read again
    ],
)  # fmt: skip
def test_points_and_texts_may_be_mixed(given: dict[str, list[Any]], points: list[int], states: list[int]) -> None:
    found = Answers.from_frame(pl.DataFrame({"model": "m", **given}), RATINGS.scale)
    assert (found.point.tolist(), found.state.tolist()) == (points, states)
    if "order" in given:
        assert found.shown is not None
        assert found.shown.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("ratings", "asked", "message"),
    [
        (RATINGS, {"subset": "topic"}, "items have no attribute 'topic'"),
        (RATINGS, {"tolerance": 0.5}, "tolerance is 0.5. Give a number from 0 to below 0.5"),
        (RATINGS, {"subsamples": -1}, "subsamples is -1"), (RATINGS, {"families": ["gpt"]}, "families is"),
        (RATINGS, {"convention": "old"}, "convention is 'old'"), (RESERVED, {"by": "all"}, "stands for all raters"),
        (RESERVED, {"subset": "topic"}, "stands for all items"),
    ],
)  # fmt: skip
def test_bad_choices(ratings: pv.Ratings, asked: dict[str, Any], message: str) -> None:
    answers = pl.DataFrame({"model": "m", "item": ["a"], "answer": ["yes"]})
    with pytest.raises(InputError, match=message):
        pv.alignment(ratings, answers, **{**QUICK, **asked})
    other = Answers.from_frame(answers, pv.Scale(["no", "maybe", "yes"]))
    with pytest.raises(InputError, match="the answers are on no < maybe < yes"):
        pv.alignment(RATINGS, other, **QUICK)
    both = pl.concat([answers.with_columns(prompt=pl.lit(name)) for name in ("p", "q")])
    with pytest.raises(SelectionError, match="several prompts have it"):
        pv.alignment(RATINGS, both, **QUICK).row("m")
    families = guessed_families(["meta/llama-3", "gpt-4"], {"gpt-4": "openai"})
    assert families == {"llama": ["meta/llama-3"], "openai": ["gpt-4"]}


@pytest.mark.parametrize(
    ("answers", "error", "message"),
    [
        ({"model": ["m"], "item": ["a"], "answer": ["perhaps"]}, InputError, "no rated item has an answer on"),
        ({"model": ["m"], "item": ["q"], "answer": ["yes"]}, InputError, "no item with an answer is rated"),
        ({"model": ["m"], "answer": ["yes"]}, ColumnError, "no column 'item'"),
        ({"model": ["m"], "item": ["a"]}, ColumnError, "no column of answers"),
        ({"model": ["m", "m"], "item": ["a", "a"], "answer": ["yes", "no"]}, DuplicateError, "more than once"),
        ({"model": ["m"], "item": ["a"], "answer": ["yes"], "state": ["fine"]}, InputError, "state 'fine' is unknown"),
        ({"model": ["m"], "item": ["a"], "distribution": [[0.5, 0.6]]}, InputError, "do not sum to 1"),
        ({"model": ["m"], "item": ["a"], "distribution": [[0.5, 0.3, 0.2]]}, InputError, "3 probabilities"),
        ({"model": ["m"], "item": ["a"], "sample": ["x"], "answer": ["yes"]}, InputError, "not a whole number"),
        ({"model": [None], "item": ["a"], "answer": ["yes"]}, InputError, "the model is missing"),
        ({"model": [], "item": [], "answer": []}, InputError, "there are no answers"),
    ],
)  # fmt: skip
def test_bad_answers_get_one_clear_error(answers: dict[str, list[Any]], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        pv.alignment(RATINGS, pl.DataFrame(answers), **QUICK)


def test_totals_without_raters_give_the_overall_distances(write: Write) -> None:
    ratings = pv.read_ratings(write("totals.csv", "item,no,yes\na,3,1\nb,0,4\n"), scale=pv.Scale(["no", "yes"]))
    assert not ratings.has_raters
    answers = pl.DataFrame({"model": "m", "item": ["a", "b"], "answer": ["yes", "yes"]})
    found = pv.alignment(ratings, answers, bootstrap=20)
    assert (found.value("m"), found.row("m").n_ratings, found.stand_ins().height) == (0.5, 8, 0)


def test_raters_with_several_values_count_in_each_group() -> None:
    raters = pl.DataFrame({"rater": ["r", "s", "t"], "race": ["A; B", "B", "C"]})
    votes = pl.concat([VOTES, pl.DataFrame({"item": ["c"], "rater": ["t"], "score": ["no"]})])  # B has a rest
    ratings = pv.Ratings.from_frame(votes, scale=pv.Scale(["no", "yes"]), raters=raters)
    answers = pl.DataFrame({"model": "m", "item": ["a", "b"], "answer": ["yes", "yes"]})
    found = pv.alignment(ratings, answers, by="race", several={"race": ";"}, min_group_size=1, **QUICK)
    assert found.value("m", axis="race", group="A") == pytest.approx(0.5)  # r alone: no, yes
    assert found.value("m", axis="race", group="B") == pytest.approx(0.25)  # a tie, and yes
    assert found.closest().height == 0


def test_a_model_that_always_takes_the_first_place_is_seen_and_one_without_shuffling_is_not() -> None:
    rng = np.random.default_rng(1)
    orders = [rng.permutation(3).tolist() for _ in range(60)]
    frame = pl.DataFrame({
        "model": ["first"] * 60 + ["fixed"] * 60, "item": list(range(60)) * 2,
        "point": [order[0] for order in orders] + [2] * 60, "order": orders + [[0, 1, 2]] * 60,
    })  # fmt: skip
    votes = pl.DataFrame({"item": range(60), "rater": "h", "score": rng.integers(0, 3, 60)})
    found = pv.alignment(pv.Ratings.from_frame(votes, scale=pv.Scale.range(0, 2)), frame, **QUICK)
    assert found.positions()["model"].unique().to_list() == ["first"]
    told = "first has a position bias: the option shown in position 1 gets 100%"
    assert any(told in text for text in found.findings())


def test_distributions_that_are_called_answered_are_answers() -> None:
    shares = [[0.1, 0.9], [0.8, 0.2]]
    frame = pl.DataFrame({"model": "m", "item": ["a", "b"], "distribution": shares})
    stated = frame.with_columns(state=pl.lit("answered"))
    texts = frame.with_columns(distribution=pl.Series([json.dumps(one) for one in shares]))
    values = [pv.alignment(RATINGS, one, **QUICK).value("m") for one in (frame, stated, texts)]
    assert values == [0.75] * 3
    with pytest.raises(ColumnError, match="not lists of numbers"):
        pv.alignment(RATINGS, frame.with_columns(distribution=pl.struct(x="item")), **QUICK)


# Models as raters ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("threshold", [None, 2])
def test_models_as_raters_are_judged_as_raters_are(threshold: int | None) -> None:
    study = pv.simulate(n_items=80, n_raters=40, seed=7)
    assert study.answers is not None
    found = pv.alignment(study.ratings, study.answers, by="gender", threshold=threshold, **{**QUICK, "as_rater": True})
    answers = Answers.from_frame(study.answers, study.scale)
    given = answers.state == 0
    frame = pl.DataFrame({
        "item": answers.items.gather(answers.item[given]),
        "rater": [answers.voices[v].model for v in answers.voice[given]],
        "score": [study.scale.labels[p] for p in answers.point[given]],
    })  # fmt: skip
    models = pv.Ratings.from_frame(frame.unique(["item", "rater"], keep="first"), scale=study.scale)
    axis = pv.Axis.of(study.ratings, "gender")
    references = {("all", "all"): study.ratings}
    references |= {("gender", group): study.ratings.where(raters={"gender": group}) for group in axis.groups}
    for (name, group), reference in references.items():
        split = "each" if threshold is None else threshold
        judged = pv.responsiveness(models, reference, by="rater", threshold=split, permutations=0, bootstrap=0)
        for model in models.raters["rater"]:
            for statistic in ("mpa", "wra"):
                row, expected = (
                    found.row(model, statistic, axis=name, group=group), judged.row("rater", model, statistic)
                )  # fmt: skip
                assert row.value == expected.value
                assert (row.n_items, row.n_ratings, row.note) == (expected.n_items, expected.n_ratings, expected.note)
                assert row.n_raters == reference.n_raters


def test_models_as_raters_are_nobody_whatever_raters_are_called() -> None:
    study = pv.simulate(n_items=40, n_raters=20, seed=8)
    ids = study.raters["rater"].to_list()
    numbers = {name: str(number) for number, name in enumerate(ids)}
    renamed = pv.Ratings.from_frame(
        study.ratings_frame.with_columns(pl.col("rater").replace(numbers)), scale=study.scale,
        raters=study.raters.with_columns(pl.col("rater").replace(numbers)),
    )  # fmt: skip
    options: dict[str, Any] = {**QUICK, "as_rater": True}
    one, two = (pv.alignment(ratings, study.answers, by="gender", **options) for ratings in (study.ratings, renamed))
    assert [row for row in one.rows if row.statistic in ("mpa", "wra")] == [
        row for row in two.rows if row.statistic in ("mpa", "wra")
    ]
    assert {row.statistic for row in one.rows} >= {"mpa", "wra"}


def test_a_group_without_a_rating_of_an_answered_item_is_no_reference() -> None:
    votes = [(f"i{i}", f"{g}{r}", (i + r) % 3) for g, items in (("a", range(8)), ("b", range(8, 12))) for i in items
             for r in range(5)]  # fmt: skip
    raters = pl.DataFrame({"rater": [f"{g}{r}" for g in "ab" for r in range(5)], "g": ["a"] * 5 + ["b"] * 5})
    ratings = pv.Ratings.from_frame(
        pl.DataFrame(votes, schema=["item", "rater", "score"], orient="row"), scale=pv.Scale.range(0, 2), raters=raters
    )
    answers = pl.DataFrame({"model": ["m"] * 8, "item": [f"i{i}" for i in range(8)], "point": [0, 1, 2, 0, 1, 2, 0, 1]})
    found = pv.alignment(ratings, answers, by="g", **{**QUICK, "as_rater": True})
    assert found.row("m", "mpa", axis="g", group="a").n_items == 8
    none = found.row("m", "mpa", axis="g", group="b")
    assert np.isnan(none.value)
    assert (none.n_items, none.note) == (0, NO_REFERENCE)
