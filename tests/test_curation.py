"""Curation against a literal count of the ratings, through its files and back, and on the command line."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plurivox as pv
from plurivox.actions.advise.habits import Habit
from plurivox.actions.advise.seen import HabitsSeen
from plurivox.actions.curate.files import explanation, json_lines, read_decisions, write_curation
from plurivox.actions.curate.run import standings
from plurivox.base.errors import ColumnError, FileError, InputError, NeedsRatersError, SelectionError
from plurivox.infer.result import Row
from plurivox.simulation import styles
from support import Write, ran, refused, run_cli, some

HOSTILE = [
    'two\nlines\r\nand "quotes", commas; | pipes',
    "=1+1",
    "@SUM(A1)\tand more",
    "-- a dash first",
    "\u2028 a break \u0085 and \u2029 more",
    "🙂 ünï \u202e reversed",
    "</script><b>bold</b> {braces} ```fence```",
    "\\ backslash \\n and 'single'",
]
FAST: dict[str, Any] = {"permutations": 99, "max_permutations": 99}


def study(
    *groups: str, n_items: int = 80, n_raters: int = 6, per_prompt: int = 4, seed: int = 0, missing: float = 0.0
) -> pl.DataFrame:
    """Return ratings on 0 to 4 of items with prompt and response; a group's name tells its style."""
    rng = np.random.default_rng(seed)
    severity = rng.normal(size=n_items)
    rows = []
    for group, r in itertools.product(groups, range(n_raters)):
        seen = severity + rng.normal(0, 0.3) + rng.normal(0, 0.4, n_items)
        point: Any = np.searchsorted(styles.cut_points(5), seen).astype(np.uint8)
        if group == "conservative":
            point = styles.conservative(point, seen, 5, rng, share=0.5)
        if group == "reversed":
            point = 4 - point
        rows += [
            (f"i{i:03}", f"{group}-{r}", int(point[i]), group, f"prompt {i // per_prompt}", f"response {i}")
            for i in range(n_items)
            if rng.random() >= missing
        ]
    return framed(rows)


def framed(rows: list[Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["item", "rater", "score", "group", "prompt", "response"], orient="row")


def experts(n_items: int = 80, seed: int = 0) -> pv.Ratings:
    severity = np.random.default_rng(seed).normal(size=n_items)
    rows = [
        (f"i{i:03}", f"t{k}", "unsafe" if severity[i] > cut else "safe")
        for k, cut in enumerate(np.linspace(0, 1, 20))
        for i in range(n_items)
    ]
    frame = pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")
    return pv.Ratings.from_frame(frame, scale=pv.Scale(["safe", "unsafe"]))


def ratings_of(frame: pl.DataFrame, *, items: tuple[str, ...] = ("prompt", "response")) -> pv.Ratings:
    return pv.Ratings.from_frame(
        frame, scale=pv.Scale.range(0, 4), rater_attributes=["group"], item_attributes=list(items)
    )


def names(frame: pl.DataFrame) -> list[str]:
    return sorted(frame["rater"].unique())


class Literal:
    """Everything about pairs, counted one rating at a time."""

    def __init__(self, frame: pl.DataFrame, selected: set[str], min_votes: int = 2) -> None:
        self.given: dict[str, dict[str, dict[str, int]]] = {}
        self.prompt: dict[str, str] = {}
        for row in frame.iter_rows(named=True):
            self.prompt[row["item"]] = row["prompt"]
            if row["rater"] in selected:
                self.given.setdefault(row["group"], {}).setdefault(row["item"], {})[row["rater"]] = row["score"]
        self.mean = {
            group: {i: sum(s.values()) / len(s) for i, s in items.items() if len(s) >= min_votes}
            for group, items in self.given.items()
        }

    def pair(self, group: str, low: str, high: str, min_margin: float) -> tuple[float, float] | None:
        """Return margin and certainty if the ratings of the group bear the pair out."""
        margin = self.mean[group][high] - self.mean[group][low]
        if margin <= 1e-9 or margin < min_margin - 1e-9:
            return None
        first, second = self.given[group][low], self.given[group][high]
        apart = [second[r] - first[r] for r in first if r in second]
        agree, oppose = sum(a > 0 for a in apart), sum(a < 0 for a in apart)
        if apart and (agree <= oppose or sum(apart) <= 0):
            return None
        return margin, (agree + (len(apart) - agree - oppose) / 2) / len(apart) if apart else 0.5

    def pairs(self, group: str, min_margin: float) -> dict[tuple[str, str], tuple[float, float]]:
        found = {}
        for low, high in itertools.permutations(self.mean[group], 2):
            if self.prompt[low] == self.prompt[high]:
                one = self.pair(group, low, high, min_margin)
                if one:
                    found[low, high] = one
        return found

    def of_all(self, min_margin: float) -> dict[tuple[str, str], tuple[float, float]]:
        """Return the pairs on which all groups with scores of both agree, at least two."""
        found = {}
        for low, high in {pair for group in self.mean for pair in self.pairs(group, min_margin)}:
            scored = [group for group, mean in self.mean.items() if low in mean and high in mean]
            each = [self.pair(group, low, high, min_margin) for group in scored]
            if len(each) > 1 and all(each):
                found[low, high] = (min(e[0] for e in each if e), min(e[1] for e in each if e))
        return found


def by_group(frame: pl.DataFrame, group: str) -> dict[tuple[str, str], tuple[float, float]]:
    rows = frame.filter(group=group).iter_rows(named=True)
    return {(row["chosen_item"], row["rejected_item"]): (row["margin"], row["weight"]) for row in rows}


def approx(found: dict[Any, tuple[float, float]]) -> Any:
    return {key: pytest.approx(value, abs=1e-9) for key, value in found.items()}


@pytest.mark.parametrize("missing", [0.0, 0.5])
@pytest.mark.parametrize("min_margin", [0.0, 0.5, 1.25])
def test_pairs_are_those_of_a_literal_count(missing: float, min_margin: float) -> None:
    frame = study("a", "b", "c", missing=missing)
    found = pv.curate(ratings_of(frame), by="group", raters=names(frame), min_margin=min_margin, per_point=1000, **FAST)
    literal = Literal(frame, set(names(frame)))
    total = 0
    for group in "abc":
        expected = literal.pairs(group, min_margin)  # all are in line, so that the weight is the certainty
        assert by_group(found.to_frame(), group) == approx(expected)
        total += len(expected)
    common = literal.of_all(min_margin)
    assert len(common) > 5
    assert by_group(found.to_frame(), "all") == approx(common)
    assert found.to_frame().height == total + len(common)
    prompts = dict(zip(frame["item"], frame["prompt"], strict=True))
    responses = dict(zip(frame["item"], frame["response"], strict=True))
    for row in found.to_frame().iter_rows(named=True):
        assert row["prompt"] == prompts[row["chosen_item"]] == prompts[row["rejected_item"]]
        assert (row["chosen"], row["rejected"]) == (responses[row["chosen_item"]], responses[row["rejected_item"]])
    assert repr(found) == f"<Curation: {total + len(common):,} pairs of 3 groups>"
    said = f"{total:,} pairs from the scores of 3 groups and {len(common)} pairs on which all groups agree."
    assert found.findings()[0] == said


@pytest.mark.parametrize("reference", ["trained", "crowd"])
def test_raters_are_those_that_select_chooses(reference: str) -> None:
    frame = study("a", "b", "c", n_raters=8, missing=0.2)
    ratings = ratings_of(frame)
    against: Any = experts() if reference == "trained" else "crowd"
    own = against if reference == "trained" else "own group"  # the crowd would choose those who hold its view least
    chosen = pv.select_raters(ratings, own, by="group", per_group=3, seed=0).to_frame()["rater"].to_list()
    found = pv.curate(ratings, against, by="group", per_group=3, per_point=1000, **FAST)
    again = pv.curate(ratings, against, by="group", raters=sorted(chosen), per_point=1000, **FAST)
    assert found.to_frame().equals(again.to_frame())
    assert found.table("groups")["n_raters_selected"].to_list() == [3, 3, 3]
    literal = Literal(frame, set(chosen))
    for row in found.table("items").iter_rows(named=True):
        assert row["score"] == pytest.approx(literal.mean[row["group"]][row["item"]])
        assert row["n_votes"] == len(literal.given[row["group"]][row["item"]])
        assert abs(row["score"] - float(row["point"])) <= 0.5


@settings(max_examples=25)
@given(
    scores=st.lists(st.sampled_from([None, 0, 1, 2, 3, 4]), min_size=72, max_size=72),
    min_votes=st.integers(1, 3),
    min_margin=st.sampled_from([0.0, 0.5, 1.0]),
    better=st.booleans(),
    named=st.booleans(),
)
def test_no_pair_contradicts_the_ratings(
    scores: list[int | None], min_votes: int, min_margin: float, better: bool, named: bool
) -> None:
    cells = itertools.product([(g, r) for g in "abc" for r in range(3)], range(8))
    rows = [
        (f"i{i}", f"{g}{r}", score, g, f"p{i // 4}", f"t{i}")
        for ((g, r), i), score in zip(cells, scores, strict=True)
        if score is not None
    ]
    if not rows:
        return
    frame = framed(rows)
    options: dict[str, Any] = {"raters": names(frame)} if named else {"min_ratings": 1, "per_group": 3}
    try:
        found = pv.curate(
            ratings_of(frame), by="group", min_votes=min_votes, min_margin=min_margin, higher_is_better=better,
            min_group_size=1, **options, permutations=9, max_permutations=9,
        )  # fmt: skip
    except InputError:
        return
    selected = set(names(frame))
    if not named:
        options = {"by": "group", "per_group": 3, "min_ratings": 1, "min_group_size": 1}
        selected = set(pv.select_raters(ratings_of(frame), **options).to_frame()["rater"].drop_nulls())
    literal = Literal(frame, selected, min_votes)
    standings = dict(found.table("groups").select("group", "standing").iter_rows())
    for row in found.to_frame().iter_rows(named=True):
        low, high = row["chosen_item"], row["rejected_item"]
        low, high = (high, low) if better else (low, high)
        scored = [g for g, mean in literal.mean.items() if {low, high} <= set(mean)]
        groups = [row["group"]] if row["group"] != "all" else scored
        assert groups
        for group in groups:
            one = literal.pair(group, low, high, min_margin)
            assert one is not None
            assert row["margin"] <= one[0] + 1e-9
        assert (row["decision"] == "open") == (standings.get(row["group"]) == "different")
        assert row["standing"] == standings.get(row["group"], "")
        assert 0 < row["weight"] <= 2


@pytest.mark.parametrize("per_point", [1, 3, 1000])
def test_items_are_drawn_over_the_whole_scale(per_point: int) -> None:
    frame = study("a", "b")
    found = pv.curate(ratings_of(frame), by="group", raters=names(frame), per_point=per_point, form="points", **FAST)
    literal = Literal(frame, set(names(frame)))
    items = found.table("items")
    for group in "ab":
        own = items.filter(pl.col("group") == group)
        mean = literal.mean[group]
        near = {item: math.ceil(score - 0.5) for item, score in mean.items()}  # the lower point half-way
        sizes = {point: list(near.values()).count(point) for point in set(near.values())}
        assert dict(own.group_by("point").len().iter_rows()) == {
            str(point): min(per_point, size) for point, size in sizes.items()
        }
        assert (own["score"].min(), own["score"].max()) == (min(mean.values()), max(mean.values()))
        assert all(near[item] == int(point) for item, point in own.select("item", "point").iter_rows())


def test_responses_to_one_prompt_are_drawn_together() -> None:
    frame = study("a", "b", n_items=400, per_prompt=2)
    found = pv.curate(ratings_of(frame), by="group", per_point=10, min_margin=0, **FAST)
    counts = found.table("items").with_columns(prompt=pl.col("item").str.slice(1).cast(pl.Int64) // 2)
    shared = counts.group_by("group", "prompt").len().filter(pl.col("len") == 2).height
    assert shared >= 12  # of about 45 items of a group drawn from 400 one by one, hardly 3 would meet


def claimed(statistic: str, below: bool, value: float = 0.5) -> Row:
    """Return a tested value of d, claimed to be low or not."""
    p = (0.001, 0.002) if below else (0.5, 1.0)
    return Row(
        "group", "axis", "d", statistic, value, value - 0.1, value + 0.1, p_value=p[0], p_adjusted=p[1],
        direction="below", claim=below,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("mpa", "wra", "auroc", "expected"),
    [
        (False, False, 0.9, "in line"), (True, False, 0.9, "granular"), (False, True, 0.9, "broad"),
        (True, True, 0.9, "different"), (False, False, 0.2, "different"),  # scores run against the reference
        (False, False, 0.45, "in line"),  # not surely
    ],
)  # fmt: skip
def test_standings_are_what_the_lens_claims(mpa: bool, wra: bool, auroc: float, expected: str) -> None:
    rows = [claimed("mpa", mpa), claimed("wra", wra),
            Row("group", "axis", "d", "auroc", auroc, auroc - 0.1, auroc + 0.1)]  # fmt: skip
    axis: Any = SimpleNamespace(name="axis", shown=("d",))
    seen = {("axis", "d"): HabitsSeen([(Habit("still", (1, 3), 0.0, 0.4, 0.01), False)])}
    design: dict[str, Any] = {"design": {"axes": {}}}
    found = standings(cast(Any, SimpleNamespace(rows=rows, settings=design)), axis, seen)["d"]
    assert (found.name, found.ranges) == (expected, ((1, 3),))
    assert found.within(np.array([0, 1, 3, 4])).tolist() == [[False, True, True, False]]
    entangled = {"design": {"axes": {"axis": {"entangled": True}}}}
    assert standings(cast(Any, SimpleNamespace(rows=rows, settings=entangled)), axis, seen)["d"].name == "unknown"


def test_a_group_with_steps_of_its_own_weighs_more_where_they_are() -> None:
    frame = study("a", "b", "c", "conservative", n_items=300, n_raters=8)
    found = pv.curate(ratings_of(frame), experts(300), by="group", permutations=199, range_weight=3.0)
    groups = {row["group"]: row for row in found.table("groups").iter_rows(named=True)}
    assert {name: row["standing"] for name, row in groups.items()} == {
        "a": "in line", "b": "in line", "c": "in line", "conservative": "granular",
    }  # fmt: skip
    first, last = (int(end) for end in groups["conservative"]["ranges"].split(" to "))
    points = dict(found.table("items").filter(pl.col("group") == "conservative").select("item", "point").iter_rows())
    seen = set()
    for row in found.to_frame().filter(pl.col("group") == "conservative").iter_rows(named=True):
        inside = all(first <= int(points[row[item]]) <= last for item in ("chosen_item", "rejected_item"))
        assert row["weight"] >= 1.5 if inside else row["weight"] <= 1  # times a certainty of more than one half
        seen.add(inside)
    assert seen == {True, False}
    text = " ".join(found.findings())
    assert "conservative grades items in steps of its own" in text
    assert f"what lies within {groups['conservative']['ranges']} weighs 3" in text
    assert not re.search(r"exclud\w* (the |a )?group|unreliable|\bworse\b|\bbad\b", text)


def test_a_different_group_contributes_as_many_pairs_as_others_marked() -> None:
    frame = study("a", "b", "c", "reversed", n_items=300, n_raters=8)
    found = pv.curate(ratings_of(frame), experts(300), by="group", **FAST)
    standings = dict(found.table("groups").select("group", "standing").iter_rows())
    assert standings == {"a": "in line", "b": "in line", "c": "in line", "reversed": "different"}
    pairs = found.to_frame()
    written = dict(pairs.group_by("group").len().iter_rows())
    assert written["reversed"] > 0.8 * written["a"]
    assert set(pairs.filter(group="reversed")["decision"]) == {"open"}
    assert set(pairs.filter(pl.col("group") != "reversed")["decision"]) == {""}
    assert not pairs.filter(group="all").height  # one group disagrees with every pair
    assert found.n_undecided == written["reversed"]
    text = " ".join(found.findings())
    assert f"{found.n_undecided:,} await a decision; those are written and marked as open" in text
    assert "which has its own view" in text
    both = pv.curate(ratings_of(study("a", "reversed")), by="group", permutations=199)  # who contradict each other
    assert both.table("groups")["standing"].to_list() == ["different", "different"]
    assert set(both.to_frame()["decision"]) == {"open"}
    assert both.n_undecided == both.to_frame().height > 100


@pytest.mark.parametrize("odd", ["conservative", "reversed", "d"])
def test_verdicts_of_all_commands_are_the_same(odd: str) -> None:
    frame = study("a", "b", "c", odd, n_items=200, n_raters=8)
    ratings, reference = ratings_of(frame), experts(200)
    lens = pv.responsiveness(ratings, reference, by="group", permutations=199)
    curated = pv.curate(ratings, reference, by="group", permutations=199).table("groups")
    advice = pv.advise(ratings, reference, by="group", permutations=199).to_frame()
    low = {
        name: {row.group for row in lens.rows if row.statistic == name and row.claim and row.direction == "below"}
        for name in ("mpa", "wra")
    }
    assert (odd in low["mpa"] | low["wra"]) == (odd != "d")
    for group, standing, mpa, wra in curated.select("group", "standing", "mpa", "wra").iter_rows():
        seen = set(advice.filter(pl.col("group") == group)["habit"])
        verdict = lens.verdicts().filter(group=group)["verdict"].item()
        assert standing == verdict
        assert (group in low["mpa"]) == bool(seen & {"low_mpa", "both_low"})
        assert (group in low["wra"]) == bool(seen & {"low_wra", "both_low"})
        assert (standing == "different") == ("against" in seen or "both_low" in seen)
        assert any(f"{group} run against the reference" in text for text in lens.findings()) == ("against" in seen)
        assert (mpa, wra) == (lens.value("group", group, "mpa"), lens.value("group", group, "wra"))
        if group in "abcd":
            assert (standing, seen) == ("in line", set())


def test_points_without_prompt_and_response() -> None:
    frame = study("a", "b").with_columns(text=pl.col("response"))
    given: dict[str, Any] = {"by": "group", "raters": names(frame), **FAST}
    with_text = pv.curate(ratings_of(frame, items=("text",)), **given).to_frame()
    assert with_text.columns == ["item", "text", "score", "weight", "group", "n_votes", "standing", "decision"]
    literal = Literal(frame, set(names(frame)))
    for row in with_text.iter_rows(named=True):
        assert row["score"] == pytest.approx(literal.mean[row["group"]][row["item"]])
        assert (row["text"], row["n_votes"]) == (f"response {int(row['item'][1:])}", 6)
    without = pv.curate(ratings_of(frame, items=()), **given)
    assert without.to_frame().equals(with_text.drop("text"))
    other = pv.curate(ratings_of(frame, items=("prompt",)), text="prompt", **given)
    assert other.to_frame()["text"][0].startswith("prompt ")


def test_higher_is_better_turns_every_pair_round() -> None:
    ratings = ratings_of(study("a", "b"))
    low = pv.curate(ratings, by="group", **FAST).to_frame()
    high = pv.curate(ratings, by="group", higher_is_better=True, **FAST).to_frame()
    turned = high.rename({"chosen_item": "rejected_item", "rejected_item": "chosen_item"})
    keys = ["group", "chosen_item", "rejected_item", "margin", "weight"]
    assert turned.select(keys).sort(keys).equals(low.select(keys).sort(keys))


def test_ties_equal_responses_and_gaps_make_no_pair() -> None:
    items = [
        ("tie1", "p", "one", 2), ("tie2", "p", "two", 2), ("same1", "q", "same", 0), ("same2", "q", "same", 4),
        ("alone", "r", "lonely", 1), ("none1", None, "x", 0), ("none2", None, "y", 4),
        ("no response", "p", None, 4), ("good", "s", "g", 1), ("bad", "s", "b", 3),
    ]  # fmt: skip
    frame = framed([(item, f"a{r}", score, "a", prompt, said) for r in range(6) for item, prompt, said, score in items])
    found = pv.curate(ratings_of(frame), by="group", raters=names(frame), **FAST)
    pairs = found.to_frame().select("chosen_item", "rejected_item", "margin", "weight", "group")
    assert pairs.rows() == [("good", "bad", 2.0, 1.0, "a")]
    told = "Not in any pair: 1 prompt with a single response and 3 items without prompt or response."
    assert told in " ".join(found.findings())


@pytest.mark.parametrize(
    "given",
    [
        # two raters of both items say the opposite of what the means of all raters say
        {"a": {"x": 3, "y": 2}, "b": {"x": 3, "y": 2}, "c": {"x": 0}, "d": {"x": 0}, "e": {"y": 4}, "f": {"y": 4}},
        # two of three agree with the means, but the third by so much less that the three together do not
        {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 2}, "c": {"x": 4, "y": 1}, "d": {"x": 0}, "e": {"y": 4}},
        # all who rated both give the same score
        {"a": {"x": 2, "y": 2}, "b": {"x": 1, "y": 1}, "c": {"x": 0}, "d": {"x": 0}, "e": {"y": 4}, "f": {"y": 4}},
    ],
)
def test_raters_of_both_items_are_not_outvoted_by_those_of_one(given: dict[str, dict[str, int]]) -> None:
    rows = [(i, r, s, "g", "p", i) for r, own in given.items() for i, s in own.items()]
    means = {i: np.mean([own[i] for own in given.values() if i in own]) for i in "xy"}
    assert means["y"] - means["x"] >= 0.5
    rows += [("u", r, 0, "g", "q", "u") for r in given] + [("v", r, 4, "g", "q", "v") for r in given]
    frame = framed(rows)
    found = pv.curate(ratings_of(frame), by="group", raters=list(given), **FAST)
    assert found.to_frame()["chosen_item"].to_list() == ["u"]


def test_groups_without_enough_are_said_and_small_ones_withheld(tmp_path: Path) -> None:
    small = [study("few", n_items=10), study("hamlet", n_raters=2), study("thorp", n_raters=3)]
    frame = pl.concat([study("a", "all"), *small])
    found = pv.curate(ratings_of(frame), by="group", **FAST)
    groups = {row["group"]: row["n_raters_selected"] for row in found.table("groups").iter_rows(named=True)}
    assert (list(groups), groups["few"]) == (["a", "all", "few"], 0)
    text = " ".join(found.findings())
    assert "few: none of its raters is eligible" in text
    assert "2 groups withheld, having fewer than 5 raters" in text
    texts = [path.read_text() for path in write_curation(found, tmp_path / "pairs.jsonl").paths()]
    assert not [name for name in ("hamlet", "thorp") if name in "".join(texts)]
    assert not [rater for rater in names(frame) if rater in "".join([*texts, found.to_json()])]
    assert found.settings["across"] == "all groups"  # one of which is called all
    assert set(found.to_frame()["group"]) == {"a", "all", "all groups"}


def test_selected_raters_who_share_few_items_are_said() -> None:
    study = pv.simulate(n_items=400, n_raters=60, ratings_per_item=5, models=(), predictors=(), seed=1)
    few = pv.curate(study.ratings, some(study.trained), by="gender", per_group=3, **FAST).table("groups")
    rated = study.ratings_frame.join(study.raters, on="rater")
    for note, n, group in few.select("note", "n_items", "group").iter_rows():
        n_rated = rated.filter(gender=group)["item"].n_unique()
        told = f"{n} of the {n_rated} items that it rated have the scores of 2 of its 3 selected raters"
        assert note.startswith(told)
    many = pv.curate(study.ratings, some(study.trained), by="gender", per_group=30, **FAST)
    assert set(many.table("groups")["note"]) == {""}


# decisions ------------------------------------------------------------------------------------------------------------
def filled(path: Path, words: list[str]) -> str:
    """Return a list with decisions filled in, in turn."""
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    for row, word in zip(rows, itertools.cycle(words), strict=False):
        row["decision"] = word
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("form", ["pairs", "points"])
def test_decisions_there_and_back(form: str, tmp_path: Path) -> None:
    def curated(**decided: Any) -> pv.Curation:
        return pv.curate(ratings, reference, by="group", form=form, permutations=99, **decided)

    def of(found: pv.Curation, *, odd: bool = True) -> pl.DataFrame:
        return found.to_frame().filter((pl.col("group") == "reversed") == odd)

    ratings, reference = ratings_of(study("a", "b", "reversed")), experts()
    first = curated()
    written = write_curation(first, tmp_path / "data.jsonl")
    assert written.decisions is not None
    assert set(of(first)["decision"]) == {"open"}
    written.decisions.write_text(filled(written.decisions, ["include", "Exclude ", ""]), encoding="utf-8")
    before = written.decisions.read_bytes()
    second = curated(decisions=read_decisions(written.decisions))
    listed = second.table("decisions")
    assert listed.drop("decision").equals(first.table("decisions").drop("decision"))
    assert listed["decision"].to_list()[:4] == ["include", "exclude", "", "include"]
    own, kept = of(second), {word: listed.filter(decision=word) for word in ("include", "exclude", "")}
    if form == "pairs":
        for word, mark in (("include", "include"), ("", "open")):
            pairs = own.filter(decision=mark).select("rejected_item", "chosen_item").iter_rows()
            assert set(pairs) == set(kept[word].select("item_high", "item_low").iter_rows())
    else:
        in_list = {word: {*part["item_high"], *part["item_low"]} for word, part in kept.items()}
        first_items = set(of(first)["item"])
        assert set(own["item"]) == first_items - in_list["exclude"]
        assert set(own.filter(decision="include")["item"]) == in_list["include"] & first_items
    assert of(second, odd=False).equals(of(first, odd=False))
    assert write_curation(second, tmp_path / "data.jsonl", decisions=written.decisions).decisions is None
    assert written.decisions.read_bytes() == before
    counts = [kept[word].height for word in ("include", "exclude", "")]
    assert "{} are included, {} are excluded and {} await".format(*counts) in " ".join(second.findings())
    assert curated(decisions=listed).to_json() == second.to_json()


def test_high_is_listed_against_low() -> None:
    frame = study("a", "b", "reversed")
    found = pv.curate(ratings_of(frame), experts(), by="group", form="points", permutations=99)
    listed = found.table("decisions")
    assert listed.height > 20  # of 40 pairs of 80 items those that lie apart
    assert listed["score_high"].to_list() == sorted(listed["score_high"], reverse=True)
    assert listed["score_low"].to_list() == sorted(listed["score_low"])
    assert (listed["score_high"] - listed["score_low"]).min() >= 0.5  # type: ignore[operator]
    items = found.table("items").filter(pl.col("group") == "reversed")
    assert listed["score_high"][0] == items["score"].max()


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("group,decision\na,include\n", ColumnError, "no column 'pair'; it has group, decision"),
        ("pair,group\np1,a\n", ColumnError, "no column 'decision'"),
        ("pair,decision\np1,include\np2,maybe\n", InputError, "column 'decision', row 3: 'maybe' is not a decision"),
        ("pair,decision\np1,include\np1,exclude\n", InputError, "pair 'p1' has two decisions, 'include' in row 2"),
        ("pair,decision\np1,include\n", SelectionError, "row 2: pair 'p1' is decided but is not one of the"),
    ],
)
def test_decisions_that_cannot_be_used(content: str, error: type[Exception], message: str, write: Write) -> None:
    path = write("list.csv", content)
    with pytest.raises(error, match=re.escape(message)) as raised:
        pv.curate(ratings_of(study("a", "b", "reversed")), by="group", decisions=read_decisions(path), **FAST)
    assert "list.csv" in str(raised.value)


def test_all_excluded_and_nothing_else_is_an_error() -> None:
    ratings = ratings_of(study("a", "reversed"))
    listed = pv.curate(ratings, by="group", **FAST).table("decisions")
    with pytest.raises(InputError, match=f"no pair to curate: all {listed.height} listed pairs are excluded"):
        pv.curate(ratings, by="group", decisions=listed.with_columns(decision=pl.lit("exclude")), **FAST)
    undecided = pl.DataFrame({"pair": ["p1", "", None], "decision": ["", None, " "]})  # no longer listed
    assert pv.curate(ratings_of(study("a", "b")), by="group", decisions=undecided, **FAST).to_frame().height


def test_a_list_of_decisions_is_never_written_over(tmp_path: Path) -> None:
    found = pv.curate(ratings_of(study("a", "b", "reversed")), by="group", **FAST)
    mine = tmp_path / "pairs.decisions.csv"
    mine.write_text("my work")
    with pytest.raises(FileError, match="may hold somebody's decisions") as raised:
        write_curation(found, tmp_path / "pairs.jsonl")
    assert "--decisions" in str(raised.value)
    other = tmp_path / "other.csv"
    other.write_text("x")
    with pytest.raises(FileError, match="may hold somebody's decisions"):
        write_curation(found, tmp_path / "pairs.jsonl", decisions=other)
    assert (mine.read_text(), sorted(os.listdir(tmp_path))) == ("my work", ["other.csv", "pairs.decisions.csv"])


# files ----------------------------------------------------------------------------------------------------------------
def hostile() -> pl.DataFrame:
    frame = study("a", "b", "reversed", n_items=len(HOSTILE) * 4)
    numbers = frame["item"].str.slice(1).cast(pl.Int64)
    return frame.with_columns(
        prompt=pl.Series([HOSTILE[i // 4] for i in numbers]),
        response=pl.Series([f"{HOSTILE[i % len(HOSTILE)]}{i}" for i in numbers]),
        group=pl.col("group").replace("a", "=cmd|' /C calc'!A0 <b>|x"),
    )


def test_hostile_texts_survive_as_data(tmp_path: Path) -> None:
    frame = hostile()
    found = pv.curate(ratings_of(frame), experts(len(HOSTILE) * 4), by="group", permutations=99, min_margin=0.25)
    written = write_curation(found, tmp_path / "pairs.jsonl")
    assert written.decisions is not None
    text = some(written.data).read_bytes().decode()
    lines = text.splitlines()  # splits at every break that unicode knows
    assert len(lines) == text.count("\n") == found.to_frame().height
    known = {row["item"]: row for row in frame.iter_rows(named=True)}
    for line in lines:
        row = json.loads(line)
        assert (list(row), row["prompt"]) == (found.to_frame().columns, known[row["chosen_item"]]["prompt"])
        assert row["chosen"] == known[row["chosen_item"]]["response"]
        assert row["rejected"] == known[row["rejected_item"]]["response"]
    assert pl.read_ndjson(some(written.data)).height == len(lines)
    listed = list(csv.DictReader(io.StringIO(written.decisions.read_bytes().decode(), newline="")))
    assert len(listed) == found.table("decisions").height
    for row in listed:
        for cell in row.values():
            assert not re.match(r"[=+\-@\t\r]", cell)
        assert row["text_high"].lstrip("'") == known[row["item_high"]]["response"].lstrip("'")
    page = written.explanation.read_text()
    assert "<b>" not in page
    assert len([line for line in page.splitlines() if "calc" in line and line.startswith("| =cmd")]) == 1
    words = filled(written.decisions, ["include"])
    written.decisions.write_bytes(b"\xef\xbb\xbf" + words.replace("\r\n", "\n").encode())  # as a spreadsheet saves it
    again = pv.curate(
        ratings_of(frame), experts(len(HOSTILE) * 4), by="group", permutations=99, min_margin=0.25,
        decisions=read_decisions(written.decisions),
    )  # fmt: skip
    assert set(again.table("decisions")["decision"]) == {"include"}


@pytest.mark.parametrize("form", ["pairs", "points"])
def test_the_page_explains_every_field(form: str) -> None:
    found = pv.curate(ratings_of(study("a", "b", "reversed")), experts(), by="group", form=form, permutations=99)
    page = explanation(found, "data.jsonl", "plurivox curate x --by group", "1.2.3")
    groups = found.table("groups").select("group", "standing").iter_rows()
    for part in (
        *(f"| `{field}` |" for field in json.loads(json_lines(found.to_frame())[0])),
        *(f"| {group} | {standing} |" for group, standing in groups), *(f"| {name} |" for name in found.settings),
        "plurivox curate x --by group", "by plurivox 1.2.3.", "view of its own",
    ):  # fmt: skip
        assert part in page


def test_nothing_is_left_if_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = pv.curate(ratings_of(study("a", "b", "reversed")), by="group", **FAST)
    with pytest.raises(FileError, match=r"must end in \.jsonl"):
        write_curation(found, tmp_path / "pairs.csv")
    with pytest.raises(FileError, match="cannot be written"):
        write_curation(found, tmp_path / "nowhere" / "pairs.jsonl")
    folder = tmp_path / "pairs.jsonl"
    folder.mkdir()
    with pytest.raises(FileError, match="this is a directory"):
        write_curation(found, folder)
    folder.rmdir()
    real = Path.write_bytes

    def fail(path: Path, content: bytes) -> int:
        if ".decisions.csv" in path.name:
            raise OSError(28, "No space left on device")
        return real(path, content)

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(FileError, match="No space left"):
        write_curation(found, tmp_path / "pairs.jsonl")
    assert os.listdir(tmp_path) == []


# what is refused ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": ()}, "by names 0 axes"),
        ({"by": ["group", "rater"]}, "by names 2 axes"),
        ({"by": "rater"}, "by is 'rater', but data are curated for groups"),
        ({"by": "colour"}, "raters have no attribute 'colour'"),
        ({"form": "triples"}, "form is 'triples'"),
        ({"prompt": "question"}, "items have no attribute 'question' for prompt; they have: prompt, response"),
        ({"raters": ["nobody"]}, "1 of the 1 given raters did not rate here; the first is number 1 of them"),
        ({"raters": []}, "none of the given raters belongs to a group of group that may be shown"),
        ({"min_ratings": 1000}, "no group has an eligible rater"),
        ({"min_votes": 9}, "no item has scores from 9 selected raters"),
        ({"min_margin": 4.5}, "no two responses to a prompt are 4.5 or more apart"),
        ({"min_margin": math.nan}, "min_margin is nan"),
        ({"range_weight": 0}, "range_weight is 0"),
        ({"per_group": 0}, "per_group is 0"),
        ({"per_point": 0}, "per_point is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"min_group_size": 50}, "no group of group can be shown"),
        ({"reference": "gender=Woman"}, "raters have no attribute 'gender'"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        pv.curate(ratings_of(study("a", "b", n_items=40)), **{"by": "group", **FAST, **options})


def test_pairs_need_prompts_with_two_responses_and_raters(write: Write) -> None:
    with pytest.raises(InputError, match="no prompt has two responses"):
        pv.curate(ratings_of(study("a", "b", per_prompt=1)), by="group", **FAST)
    ratings = ratings_of(study("a", "b"), items=("prompt",))
    with pytest.raises(SelectionError, match="pairs need items with 'prompt' and 'response'; they have: prompt"):
        pv.curate(ratings, by="group", form="pairs", **FAST)
    found = pv.curate(ratings, {"rater": "a-1"}, by="group", **FAST)  # a reference by its id, which is not written
    assert (found.form, found.settings["reference"]) == ("points", "the raters named as reference")
    assert "a-1" not in found.to_json()
    counts = pv.read_ratings(write("totals.csv", "item,0,1\na,3,4\nb,1,5\n"), layout="totals", scale="0:1")
    with pytest.raises(NeedsRatersError):
        pv.curate(counts, by="group")


# the command ----------------------------------------------------------------------------------------------------------
@pytest.fixture
def folder(tmp_path: Path) -> Path:
    study("a", "b", "c", "reversed").write_csv(tmp_path / "ratings.csv")
    experts().to_frame().write_csv(tmp_path / "experts.csv")
    return tmp_path


def command(folder: Path, *more: object) -> list[object]:
    return [
        "curate", folder / "ratings.csv", "--reference", folder / "experts.csv", "--reference-scale", "safe,unsafe",
        "--rater-attributes", "group", "--item-attributes", "prompt,response", "--permutations", 99, *more,
    ]  # fmt: skip


def test_the_command_writes_reads_decisions_and_writes_again(folder: Path) -> None:
    asked = command(folder, "--by", "group", "-o", folder / "pairs.jsonl")
    done = ran(*asked)
    for words in ("reversed", "different", "which has its own view", "enter include or exclude in the column decision",
                  "pairs.jsonl", "pairs.README.md", "pairs.decisions.csv"):  # fmt: skip
        assert words in done.words
    experts_ = pv.read_ratings(folder / "experts.csv", scale="safe,unsafe")
    found = pv.curate(ratings_of(pl.read_csv(folder / "ratings.csv")), experts_, by="group", permutations=99)
    assert (folder / "pairs.jsonl").read_text().splitlines() == json_lines(found.to_frame())
    page = (folder / "pairs.README.md").read_text()
    assert "--reference-scale safe,unsafe" in page
    assert f"by plurivox {pv.__version__}." in page
    assert "may hold somebody's decisions" in run_cli(*asked).err
    listed = folder / "pairs.decisions.csv"
    listed.write_text(filled(listed, ["include"]))
    n_listed = found.table("decisions").height
    assert n_listed > 50
    assert f"{n_listed} are included" in ran(*asked, "--decisions", listed).words
    lines = [json.loads(line) for line in (folder / "pairs.jsonl").read_text().splitlines()]
    assert sum(line["group"] == "reversed" for line in lines) == n_listed
    assert {line["decision"] for line in lines} == {"", "include"}


def test_the_command_takes_raters_that_were_selected(folder: Path, write: Write) -> None:
    asked = command(folder, "--by", "group", "--json", "--selected")
    chosen = write("chosen.csv", "axis,group,rater\ngroup,a,a-1\ngroup,a,a-2\ngroup,b,b-1\ngroup,b,b-2\ngroup,c,\n")
    found = pv.curate(
        ratings_of(pl.read_csv(folder / "ratings.csv")), pv.read_ratings(folder / "experts.csv", scale="safe,unsafe"),
        by="group", permutations=99, raters=["a-1", "a-2", "b-1", "b-2"],
    )  # fmt: skip
    assert pv.Curation.from_json(run_cli(*asked, chosen).out).to_frame().equals(found.to_frame())
    refused(*asked, folder / "pairs.csv")
    told = refused(*asked, write("x.csv", "rater,n\nzoe,1\n"))
    assert "1 of the 1 given raters did not rate here; the first is number 1" in told


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--by group", "name a file to write with -o"),
        ("--by group --json -o x.jsonl", "either name a file"),
        ("--by group -o {folder}/x.csv", "must end in .jsonl"),
        ("-o {folder}/x.jsonl", "name the groups to curate for with one --by"),
        ("--by group --by rater -o {folder}/x.jsonl", "with one --by"),
        ("--by group --several group=; -o {folder}/x.jsonl", "its groups overlap"),
        ("--by group --min-ratings 999 -o {folder}/x.jsonl", "no group has an eligible rater"),
        ("--by group --min-margin 5 -o {folder}/x.jsonl", "there are no pairs to curate"),
        ("--by group --decisions {folder}/experts.csv -o {folder}/x.jsonl", "no column 'pair'"),
        ("--by group --decisions {folder}/none.csv -o {folder}/x.jsonl", "none.csv"),
    ],
)
def test_the_command_refuses_and_leaves_no_file(more: str, message: str, folder: Path) -> None:
    before = sorted(os.listdir(folder))
    assert message in refused(*command(folder, *(word.format(folder=folder) for word in more.split())), code=None)
    assert sorted(os.listdir(folder)) == before


def test_the_command_writes_over_no_input_and_names_no_rater(folder: Path) -> None:
    os.rename(folder / "ratings.csv", folder / "ratings.jsonl")
    given = ("curate", folder / "ratings.jsonl", "--format", "csv", "--rater-attributes", "group", "--by", "group",
             "-o")  # fmt: skip
    assert "would be overwritten" in refused(*given, folder / "ratings.jsonl")
    ran(*given, folder / "points.jsonl", "--reference", "rater=a-1", "--permutations", 99)
    page = (folder / "points.README.md").read_text()
    assert "rater=…" in page
    assert "a-1" not in page


def test_no_group_of_dices_is_certain_to_stand_apart(real_data: Path) -> None:
    folder = real_data / "dices350"
    ratings = pv.read_ratings(
        folder / "ratings.csv", scale="No,Unsure,Yes", raters=folder / "raters.csv", items=folder / "items.csv"
    )
    found = pv.curate(ratings, by="race", permutations=199)
    assert (set(found.table("groups")["standing"]), set(found.to_frame()["weight"])) == ({"in line"}, {1.0})
