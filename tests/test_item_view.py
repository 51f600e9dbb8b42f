"""The view of one item: its scores against literal counts, its test against full enumeration, and what it withholds."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import InputError, SelectionError
from plurivox.plots.items import item_groups, item_groups_data
from plurivox.plots.writing import to_svg
from support import Write, ran, refused, run_cli

HOSTILE = ["<script>alert(1)</script>", "=1+1", "[bold]b[/]", "a|b", "two\nlines", "\u202eturned", "'\"\\", "all"]


def frame_of(item: str, groups: dict[str, str], attribute: str = "group") -> pl.DataFrame:
    """Return ratings of one item: for each group a text of one-digit scores."""
    rows = [(group, int(score)) for group, scores in groups.items() for score in scores]
    return pl.DataFrame(rows, schema=[attribute, "score"], orient="row").select(
        item=pl.lit(item), rater=pl.int_range(pl.len()).cast(pl.String).str.zfill(3) + f"@{item}", score="score",
        **{attribute: attribute},
    )  # fmt: skip


def ratings_of(frame: pl.DataFrame, *attributes: str, **options: Any) -> pv.Ratings:
    scale = options.pop("scale", pv.Scale.range(0, 4))
    return pv.Ratings.from_frame(frame, scale=scale, rater_attributes=attributes or ["group"], **options)


def crossed(n: int = 120, seed: int = 0) -> pl.DataFrame:
    """Return ratings of one item and of another by raters with three attributes of uneven frequency."""
    rng = np.random.default_rng(seed)
    raters = pl.DataFrame(
        {
            "rater": [f"r{at:03}" for at in range(n)],
            "race": rng.choice(["A", "B", "C", "D"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "gender": rng.choice(["m", "w", "x"], n, p=[0.5, 0.45, 0.05]),
            "age": rng.choice(["old", "young"], n),
            "score": rng.integers(0, 5, n),
        }
    )
    return pl.concat(raters.with_columns(item=pl.lit(item)) for item in ("one", "two"))


# Values, against literal counts
@pytest.fixture
def example() -> pv.Ratings:
    """Return the worked example: one item, 35 raters."""
    path = Path(os.environ.get("PLURIVOX_TEST_DATA") or ".") / "golden" / "item_example.csv"
    if not path.is_file():
        pytest.skip("PLURIVOX_TEST_DATA does not name a folder with golden/item_example.csv")
    frame = pl.read_csv(path).with_row_index("rater").with_columns(item=pl.lit(173))
    return ratings_of(frame, "ethnicity", "gender", "age")


def test_the_published_example_has_its_pluralities(example: pv.Ratings) -> None:
    view = pv.item_view(example, 173, by=("ethnicity", "gender"), min_group_size=1)
    found = dict(view.to_frame().select("group", "plurality").iter_rows())
    assert {name: found[name] for name in found if name.split(" ")[0] in ("white", "black", "eastasian")} == {
        "white × man": "2", "white × woman": "3", "black × man": "2", "black × woman": "2",
        "eastasian × man": "2", "eastasian × woman": "4",
    }  # fmt: skip
    assert found["latinx × man"] == "0, 1, 2"
    assert repr(view) == "<ItemView: item 173, 35 ratings, 10 groups on 1 axis>"
    assert view.findings()[0] == "Item 173: 35 ratings, most often 2 (14 of 35)."
    assert view.table("use")["n_ratings"].to_list() == [1, 4, 14, 10, 6]


def test_by_default_the_example_withholds_all_its_crossed_groups(example: pv.Ratings) -> None:
    view = pv.item_view(example, "173", by=["gender", ("ethnicity", "gender")])
    assert view.to_frame()["group"].to_list() == ["all", "man", "woman"]
    assert view.settings["withheld"] == {"gender": 0, "ethnicity × gender": 10}
    assert "latinx" not in view.to_json()


def by_hand(frame: pl.DataFrame, group: str, values: list[float]) -> tuple[str, float, float, float]:
    """Return plurality, mean, difference and distance of a group, counted one rating at a time."""
    own = sorted(frame.filter(pl.col("group") == group)["score"].to_list())
    rest = sorted(frame.filter((pl.col("group") != group) & pl.col("group").is_not_null())["score"].to_list())
    often = Counter(own)
    plurality = ", ".join(str(point) for point in sorted(often) if often[point] == max(often.values()))
    sums = [sum(Fraction(values[score]) for score in part) / len(part) for part in (own, rest)]
    # Rank by rank, with each rating of one side repeated as often as the other has ratings: what has to be moved.
    many, others = ([score for score in part for _ in range(n)] for part, n in ((own, len(rest)), (rest, len(own))))
    moved = sum(abs(Fraction(values[a]) - Fraction(values[b])) for a, b in zip(many, others, strict=True))
    distance = moved / len(many) / Fraction(values[-1] - values[0])
    return plurality, float(sums[0]), float(sums[0] - sums[1]), float(distance)


@pytest.mark.parametrize("values", [[0, 1, 2, 3, 4], [0, 1, 10, 11, 100]], ids=["equal steps", "unequal steps"])
def test_every_value_is_what_a_literal_count_gives(values: list[float]) -> None:
    frame = crossed().rename({"race": "group"}).filter(pl.col("item") == "one")
    frame = frame.with_columns(group=pl.when(pl.int_range(pl.len()) % 11 == 0).then(None).otherwise("group"))
    view = pv.item_view(
        ratings_of(frame, scale=pv.Scale(range(5), values=values)), "one", "group", permutations=9, min_group_size=1
    )
    rows = view.to_frame()[1:]
    assert rows["group"].to_list() == ["A", "B", "C", "D"]
    for row in rows.iter_rows(named=True):
        plurality, mean, difference, distance = by_hand(frame, row["group"], values)
        assert row["plurality"] == plurality
        assert (row["mean"], row["difference"], row["value"]) == pytest.approx((mean, difference, distance), abs=1e-12)
        assert row["direction"] == ("above" if difference > 0 else "below")
        part = view.table("distribution").filter(group=row["group"])
        own = frame.filter(group=row["group"])["score"].to_list()
        assert part["n_ratings"].to_list() == [own.count(point) for point in range(5)]
        assert part["share"].sum() == pytest.approx(1)
        assert row["n_ratings"] == len(own)
    assert view.settings["outside"] == {"group": 11}
    assert "11 raters of this item are in no group" in " ".join(view.findings())


def test_equal_means_have_no_direction_though_the_scores_spread_otherwise() -> None:
    frame = frame_of("i", {"ends": "0" * 15 + "4" * 15, "middle": "2" * 30, "more": "1223" * 3})
    view = pv.item_view(ratings_of(frame), "i", "group")
    row = view.to_frame().row(1, named=True)
    assert (row["difference"], row["direction"]) == (0.0, None)
    assert row["value"] == pytest.approx(by_hand(frame, "ends", [0, 1, 2, 3, 4])[3])
    told = "ends stands apart from the item's other raters: its mean equals that of the others, 2.00, but its"
    assert told in " ".join(view.findings())


def test_the_use_of_the_scale_stands_beside_that_of_the_study() -> None:
    frame = crossed().filter((pl.col("item") == "two") | (pl.col("score") > 1))
    use = pv.item_view(ratings_of(frame, "race"), "one").table("use")
    own, every = frame.filter(item="one")["score"].to_list(), frame["score"].to_list()
    assert use["n_ratings"].to_list() == [own.count(point) for point in range(5)]
    assert use["share"].to_list() == [own.count(point) / len(own) for point in range(5)]
    assert use["share_of_study"].to_list() == [every.count(point) / len(every) for point in range(5)]


# Chance
def enumerated(scores: list[int], groups: list[str], group: str) -> tuple[float, float]:
    """Return the share of all relabellings whose distance is at least the observed one, and their median distance."""
    size = groups.count(group)
    distances = {}
    for chosen in itertools.combinations(range(len(scores)), size):
        labels = [group if at in chosen else "other" for at in range(len(scores))]
        relabelled = pl.DataFrame({"group": labels, "score": scores})
        distances[chosen] = by_hand(relabelled, group, [0, 1, 2, 3, 4])[3]
    observed = distances[tuple(at for at, one in enumerate(groups) if one == group)]
    every = list(distances.values())
    return sum(one >= observed - 1e-12 for one in every) / len(every), float(np.median(every))


def test_p_values_are_those_of_all_relabellings() -> None:
    frame = frame_of("i", {"a": "004", "b": "233", "c": "44"})
    n = 20_000
    rows = pv.item_view(ratings_of(frame), "i", "group", permutations=n, min_group_size=1).to_frame()[1:]
    for group, p, median in rows.select("group", "p_value", "null_median").iter_rows():
        exact, middle = enumerated(frame["score"].to_list(), frame["group"].to_list(), group)
        assert p == pytest.approx(exact, abs=4.5 * math.sqrt(exact * (1 - exact) / n) + 1 / n)
        assert median == pytest.approx(middle, abs=0.05)


def test_a_p_value_counts_the_observed_labelling_as_one_of_the_draws() -> None:
    frame = frame_of("i", {"a": "0" * 30, "b": "4" * 30})
    rows = pv.item_view(ratings_of(frame), "i", "group", permutations=99).to_frame()[1:]
    assert (rows["p_value"].to_list(), rows["value"].to_list()) == ([0.01, 0.01], [1.0, 1.0])


def test_p_values_are_corrected_over_all_groups_of_all_axes() -> None:
    view = pv.item_view(ratings_of(crossed(), "race", "gender", "age"), "one", ["race", "gender", "age"], seed=3)
    p = view.to_frame()["p_value"].drop_nulls().to_list()
    assert len(p) > 6
    ranked = sorted(p)
    expected = [min(1.0, *(ranked[at] * len(p) / (at + 1) for at in range(len(p)) if ranked[at] >= one)) for one in p]
    assert view.to_frame()["p_adjusted"].drop_nulls().to_list() == pytest.approx(expected)


@pytest.mark.slow
def test_without_a_difference_p_values_are_spread_evenly() -> None:
    rng = np.random.default_rng(5)
    frames = []
    for item in range(150):
        scores = "".join(map(str, rng.integers(0, 5, 24)))
        frames.append(frame_of(f"i{item}", {"a": scores[:9], "b": scores[9:]}))
    ratings = ratings_of(pl.concat(frames))
    p = [pv.item_view(ratings, f"i{at}", "group", permutations=99).to_frame()["p_value"][1] for at in range(150)]
    assert np.mean(np.array(p) <= 0.1) < 0.18
    assert 0.4 < np.mean(p) < 0.65


def test_without_permutations_nothing_is_tested() -> None:
    view = pv.item_view(ratings_of(crossed(), "race"), "one", "race", permutations=0)
    frame = view.to_frame()
    assert frame.select("p_value", "p_adjusted", "null_median").null_count().row(0) == (frame.height,) * 3
    assert frame["value"][1:].is_not_nan().all()
    assert "Without permutations, groups are not compared with chance." in view.findings()


def test_a_group_that_nobody_else_stands_beside_has_no_distance() -> None:
    view = pv.item_view(ratings_of(frame_of("i", {"a": "01234"})), "i", "group")
    row = view.to_frame().row(1, named=True)
    assert np.isnan([row["value"], row["difference"]]).all()
    assert (row["p_value"], row["direction"], row["note"]) == (None, None, "nobody else on this axis rated the item")
    assert pv.ItemView.from_json(view.to_json()).to_frame().equals(view.to_frame())


# What is withheld
BIG = "0123" * 5


@pytest.mark.parametrize(
    ("groups", "elsewhere", "shown"),
    [
        ({"big": BIG, "middling": "22344", "tiny": "14", "small": "314"}, {}, ["big", "middling"]),
        ({"big": BIG, "tiny": "14"}, {}, []),  # of two groups a small one takes the other along
        ({"big": BIG, "tiny": "14"}, {"third": "22222" * 3}, []),  # whatever groups rated other items
        ({"big": BIG, "tiny": "14", "": "00442"}, {}, []),  # raters without a value do not cover up for it
        ({"large": BIG, "second": "012344", "tiny": "14"}, {}, ["large"]),  # nor can the last be what others leave
    ],
)
def test_a_small_group_is_neither_named_nor_counted_out(
    groups: dict[str, str], elsewhere: dict[str, str], shown: list[str]
) -> None:
    frame = pl.concat([frame_of("i", groups), frame_of("j", elsewhere)], how="vertical_relaxed")
    frame = frame.with_columns(group=pl.when(pl.col("group") != "").then("group"))
    view = pv.item_view(ratings_of(frame), "i", "group")
    assert view.to_frame()["group"].to_list() == ["all", *shown]
    assert view.settings["withheld"] == {"group": 2}
    said = "group: 2 groups are withheld" if shown else "No group gave enough ratings of this item to be shown."
    assert said in " ".join(view.findings())
    chart = json.dumps(item_groups(view).to_dict())
    assert "2 groups withheld" in chart
    text = view.to_json() + repr(view) + view._repr_html_() + chart
    assert not [name for name in groups if name and name not in shown and name in text]


def test_only_raters_of_this_item_count() -> None:
    other = frame_of("j", {"a": "01" * 9})
    ratings = ratings_of(pl.concat([frame_of("i", {"a": "0123", "b": "01234" * 2, "c": "01234" * 2}), other]))
    shown = ["a" in pv.item_view(ratings, item, "group").to_frame()["group"] for item in "ij"]
    assert shown == [False, True]


def spans(known: list[list[int]], wanted: list[int]) -> bool:
    """Tell by exact elimination whether a row is a sum of multiples of others."""

    def rank(rows: list[list[int]]) -> int:
        left = [[Fraction(value) for value in row] for row in rows]
        found = 0
        for column in range(len(wanted)):
            at = next((at for at in range(found, len(left)) if left[at][column]), None)
            if at is None:
                continue
            left[found], left[at] = left[at], left[found]
            for other in range(found + 1, len(left)):
                factor = left[other][column] / left[found][column]
                left[other] = [a - factor * b for a, b in zip(left[other], left[found], strict=True)]
            found += 1
        return found

    return rank([*known, wanted]) == rank(known)


@pytest.mark.parametrize("seed", range(6))
def test_no_small_group_follows_from_what_is_shown_of_nested_axes(seed: int) -> None:
    frame = crossed(60, seed)
    by = ["race", "gender", ("race", "gender")]
    view = pv.item_view(ratings_of(frame, "race", "gender", "age"), "one", by, permutations=0)
    own = frame.filter(item="one").with_columns((pl.col("race") + " × " + pl.col("gender")).alias("race × gender"))
    members = {
        (axis, group): [int(one == group) for one in own[axis]]
        for axis in view.settings["withheld"]
        for group in own[axis].unique()
    }
    shown = {(axis, group) for axis, group in view.to_frame()[1:].select("axis", "group").iter_rows()}
    known = [[1] * own.height, *(members[key] for key in sorted(shown))]
    small = {key for key, raters in members.items() if sum(raters) < 5}
    assert small
    assert not small & shown
    for key in small:
        assert not spans(known, members[key])
    for key in set(members) - shown - small:  # none is withheld for nothing
        needed = [[1] * own.height, *(members[one] for one in sorted({*shown, key}))]
        hidden = [
            [int(any(raters)) for raters in zip(*(members[one] for one in members if one[0] == axis and one not in
                                                  {*shown, key}), strict=True)]
            for axis in view.settings["withheld"]
            if any(one[0] == axis and one not in {*shown, key} for one in members)
        ]  # fmt: skip
        within = [[a * b for a, b in zip(part, group, strict=True)] for part in hidden for group in members.values()]
        sets = [members[one] for one in small] + [part for part in hidden + within if 0 < sum(part) < 5]
        assert any(spans(needed, part) for part in sets)


def test_with_several_values_a_rater_counts_in_each_group() -> None:
    several: dict[str, Any] = {"several": {"group": ";"}}
    frame = frame_of("i", {"a;b": "44444", "a": "33333", "b": "22222", "c": "00", "b;c": "11111"})
    view = pv.item_view(ratings_of(frame), "i", "group", **several)
    rows = view.to_frame()[1:]
    assert (rows["group"].to_list(), rows["n_ratings"].to_list()) == (["a", "b", "c"], [10, 15, 7])
    assert rows["difference"][0] == pytest.approx(3.5 - 15 / 12)
    assert repr(view) == "<ItemView: item i, 22 ratings, 3 groups on 1 axis>"
    few = frame_of("i", {"a;b": "44444", "a": "33333", "b": "2222", "c": "000"})
    withheld = pv.item_view(ratings_of(few), "i", "group", **several)
    assert "c" not in withheld.to_frame()["group"].to_list()
    assert withheld.settings["withheld"]["group"] >= 1


# Finding the item
def test_an_item_is_found_by_the_value_of_its_id() -> None:
    numbers = ratings_of(frame_of("173", {"a": "01234"}).with_columns(item=pl.lit(173)))
    texts = ratings_of(frame_of("173", {"a": "01234"}))
    for ratings in (numbers, texts):
        every: tuple[Any, ...] = (173, "173", 173.0, np.int64(173))
        for item in every:
            assert pv.item_view(ratings, item).settings["item"] == "173"


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ("alpin", r"there is no item 'alpin'. Is it 'alpine', '\w+' or '\w+'\?"),
        (77, r"there is no item '77'. The study has 6 items."),
        ("unrated", "nobody rated item 'unrated'"),
    ],
)
def test_an_unknown_item_is_likened_to_those_there_are(item: Any, problem: str) -> None:
    frame = pl.concat(frame_of(item, {"a": "01"}) for item in ("alpha", "alpine", "alp", "alps", "omega", "unrated"))
    frame = frame.with_columns(score=pl.when(pl.col("item") != "unrated").then("score"))
    with pytest.raises(SelectionError, match=problem):
        pv.item_view(ratings_of(frame), item)


def test_among_very_many_items_the_close_ones_are_still_found() -> None:
    n = 20_000
    frame = pl.DataFrame({"item": [f"item-{at:05}" for at in range(n)], "rater": ["r"] * n, "score": [1] * n})
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 1))
    with pytest.raises(SelectionError, match=r"Is it 'item-19999'"):
        pv.item_view(ratings, "itm-19999")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"by": "nobody"}, SelectionError, "no attribute 'nobody'"),
        ({"by": "rater"}, SelectionError, "compares groups, not raters"),
        ({"by": [("race", "rater")]}, SelectionError, "compares groups, not raters"),
        ({"by": ["race", "race"]}, SelectionError, "listed twice"),
        ({"seed": -1}, InputError, "seed is -1"),
        ({"permutations": -1}, InputError, "is -[13]\\."),
        ({"by": [("race", "age")], "several": {"race": ";"}}, InputError, "groups overlap"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        pv.item_view(ratings_of(crossed(), "race", "age"), "one", **options)


def test_totals_show_the_use_of_the_scale_and_say_why_no_more(write: Write) -> None:
    path = write("totals.csv", "item,0,1,2\na,3,1,0\nb,0,0,2\n")
    view, why = pv.item_view(pv.read_ratings(path, layout="totals"), "a", by="gender"), "it would have to say who gave"
    use = view.table("use")
    assert (use["n_ratings"].to_list(), use["share_of_study"].to_list()) == ([3, 1, 0], [0.5, 1 / 6, 1 / 3])
    assert (view.to_frame().height, repr(view)) == (1, "<ItemView: item a, 4 ratings>")
    assert why in view.findings()[-1]
    assert why in ran("item", path, "a", "--totals", "--by", "gender").words


# Sentences and JSON
def test_sentences_tell_who_stands_apart_and_never_who_is_wrong() -> None:
    frame = frame_of("i", {"a": "0" * 20, "b": "4" * 20, "c": "2" * 20})
    text = " ".join(pv.item_view(ratings_of(frame), "i", "group").findings())
    for words in (
        "Item i: 60 ratings, most often 0, 2 and 4 (20 of 60 each).",
        "group: a stands apart from the item's other raters: its mean, 0.00, is 3.00 below that of the others; ",
        "75% of the scale's length apart", "after correction over 3 groups",
    ):  # fmt: skip
        assert words in text
    assert not [word for word in ("wrong", "error", "bias", "outlier", "incorrect") if word in text]
    two = pv.item_view(ratings_of(frame.filter(pl.col("group") != "c")), "i", "group").findings()
    (told,) = [one for one in two if "apart" in one]
    assert told.startswith("group: a and b stand apart from each other: their means are 0.00 and 4.00; the dist")
    text = " ".join(pv.item_view(ratings_of(crossed(), "race"), "one", "race").findings())
    assert "no group stands apart from chance" in text


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ("1", "1 rating, most often 1 (1 of 1)."),
        ("0123", "4 points tie as the most frequent (1 of 4 each)"),
        ("0011", "most often 0 and 1 (2 of 4 each)"),
    ],
)
def test_ties_are_told(scores: str, words: str) -> None:
    assert words in pv.item_view(ratings_of(frame_of("i", {"a": scores})), "i").findings()[0]


def test_what_is_known_of_the_item_is_kept_as_text() -> None:
    items = pl.DataFrame(
        {"item": ["one", "two"], "text": ["Is it?\nYes.", None], "length": [3.0, 2.5], "odd": [True, None]}
    )
    ratings = ratings_of(crossed(), "race", items=items)
    known = [pv.item_view(ratings, item).table("attributes").rows() for item in ("one", "two")]
    assert known == [[("text", "Is it?\nYes."), ("length", "3"), ("odd", "True")], [("length", "2.5")]]


# The command line
@pytest.fixture
def files(write: Write) -> tuple[Path, Path]:
    frame = crossed()
    raters = frame.select("rater", "race", "gender").unique(maintain_order=True)
    ratings = frame.select("item", "rater", "score").with_columns(topic=pl.lit("weather"))
    return write("ratings.csv", ratings.write_csv()), write("raters.csv", raters.write_csv())


def arguments(files: tuple[Path, Path], *more: object) -> list[object]:
    return ["item", files[0], "one", "--raters", files[1], "--scale", "0:4", "--by", "race", "--by", "gender", *more]


def test_without_by_the_command_takes_every_attribute(files: tuple[Path, Path]) -> None:
    done = run_cli("item", files[0], "one", "--raters", files[1], "--scale", "0:4", "--csv")
    assert done.frame()["axis"].unique(maintain_order=True).to_list() == ["all", "race", "gender"]


def test_json_and_csv_of_the_command_are_the_result(files: tuple[Path, Path]) -> None:
    ratings = ratings_of(crossed(), "race", "gender")
    view = pv.item_view(ratings, "one", ["race", "gender"], permutations=200, seed=4)
    options = ("--permutations", "200", "--seed", "4")
    found = pv.ItemView.from_json(run_cli(*arguments(files, *options, "--json")).out)
    assert found.to_frame().equals(view.to_frame())
    for name in ("groups", "distribution", "use"):
        frame = run_cli(*arguments(files, *options, "--csv", "--table", name)).frame()
        assert frame.columns == view.table(name).columns
        assert frame["n_ratings"].to_list() == view.table(name)["n_ratings"].to_list()
    known = run_cli(*arguments(files, "--item-attributes", "topic", "--csv", "--table", "attributes")).frame()
    assert known.rows() == [("topic", "weather")]


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_command_draws_a_chart(files: tuple[Path, Path], tmp_path: Path, kind: str) -> None:
    pytest.importorskip("vl_convert")
    path = tmp_path / f"item.{kind}"
    assert f"chart: {path}" in ran(*arguments(files, "--chart", path, "--permutations", "9")).err
    assert path.stat().st_size > 1000


def test_wrong_requests_are_refused_and_write_nothing(files: tuple[Path, Path], tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    for more, told in (
        (("--table", "all"), "--table must be one of"),
        (("--csv", "--json"), "only one of --json and --csv can be printed"),
        (("--chart", tmp_path / "x.gif"), "cannot write a chart as .gif; use .svg, .png, .pdf, .html or .json"),
        (("--chart", tmp_path / "no" / "x.svg"), "cannot be written"),
    ):
        assert told in refused(*arguments(files, *more), code=None)
    unknown = refused("item", files[0], "ones", "--scale", "0:4", "--chart", tmp_path / "x.svg")
    assert unknown.endswith("there is no item 'ones'. Is it 'one'?")
    assert sorted(tmp_path.iterdir()) == before


def hostile_frame() -> pl.DataFrame:
    """Return ratings of an item by groups with names that try to be something else."""
    frame = frame_of("i", dict.fromkeys(HOSTILE, "01234" * 2))
    return frame.with_columns(item=pl.lit("<b>=2+2|[red]x[/]"), text=pl.lit("\u202e<script>alert(2)</script>\n| x |"))


@pytest.mark.parametrize("form", ["", "--csv", "--json", "--markdown"])
def test_hostile_names_stay_text_in_every_format(write: Write, form: str) -> None:
    path = write("ratings.csv", hostile_frame().write_csv())
    done = run_cli(
        "item", path, "<b>=2+2|[red]x[/]", "--by", "group", "--scale", "0:4", "--rater-attributes", "group",
        "--item-attributes", "text", "--permutations", "9", *([form] if form else []),
    )  # fmt: skip
    assert done.code == 0, done.err
    if form == "--csv":
        assert done.frame()["group"].to_list().count("'=1+1") == 1
    elif form == "--json":
        assert set(HOSTILE) <= set(pv.ItemView.from_json(done.out).to_frame()["group"])
    else:
        assert "\u202e" not in done.out
        assert "[bold]b[/]" in done.out
        assert "two lines" in done.words
    if form == "--markdown":
        assert "<" not in done.out
        widths = {line.replace("\\|", "").count("|") for line in done.out.splitlines() if "bold" in line}
        assert widths == {12}


def test_hostile_names_end_no_script_of_a_chart(write: Write, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    path, chart, item = write("ratings.csv", hostile_frame().write_csv()), tmp_path / "i.html", hostile_frame()["item"]
    ran("item", path, item[0], "--rater-attributes", "group", "--chart", chart, "--permutations", "0")
    page = chart.read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "alert(1)" in page


def test_long_scales_and_labels_fit(write: Write) -> None:
    labels = [f"a rather long label of point {at}" for at in range(5)]
    frame = frame_of("i", {"a": "0123401234", "b": "4444433333"}).with_columns(
        score=pl.col("score").replace_strict(dict(enumerate(labels)))
    )
    path = write("ratings.csv", frame.write_csv())
    done = ran("item", path, "i", "--rater-attributes", "group", "--scale", ",".join(labels))
    assert not any(len(line.rstrip()) > 120 for line in done.out.splitlines())
    assert "5 tied" in done.out
    assert "a rather long label…, a rather long label…" in done.out
    many = run_cli("item", write("many.csv", "item,rater,score\ni,a,3\ni,b,70\n"), "i", "--scale", "0:100")
    assert "…" in many.out
    assert many.out.count("\n") < 50


# The chart
def test_the_chart_draws_what_its_table_holds() -> None:
    pytest.importorskip("vl_convert")
    view = pv.item_view(ratings_of(crossed(), "race", "gender", "age"), "one", ["race", "gender"], min_group_size=2)
    data = item_groups_data(view)
    assert data.columns == ["axis", "group", "point", "ratings", "share", "most often"]
    assert data["group"][0] == "all raters"
    assert data.height == 5 * view.to_frame().height
    for (axis, group), part in data.group_by("axis", "group"):
        marked = ", ".join(part.filter("most often")["point"])
        name = "all" if axis == "all" else group
        assert view.to_frame().filter(axis=axis, group=name)["plurality"].to_list() == [marked]
    spec = item_groups(view).to_dict()
    bars, _, beside = (spec["datasets"][layer["data"]["name"]] for layer in spec["layer"])
    assert [bar["ratings"] for bar in bars] == data["ratings"].to_list()
    for at in range(0, len(bars), 5):
        assert (bars[at]["start"], bars[at + 4]["end"]) == (pytest.approx(0), pytest.approx(1))
    assert [one["ratings"] for one in beside] == view.to_frame()["n_ratings"].to_list()
    assert to_svg(item_groups(view), "item").startswith("<svg")


def test_of_many_groups_the_chart_shows_the_largest_and_says_so() -> None:
    pytest.importorskip("vl_convert")
    frame = frame_of("i", {f"g{at:02}": "01234" * (1 + at % 3) for at in range(50)})
    view = pv.item_view(ratings_of(frame), "i", "group", permutations=0)
    data = item_groups_data(view)
    assert data.height == 41 * 5
    assert {"g00", "g18", "g47", "g49"} <= set(data["group"])  # g00 to g18 are the first of the small ones
    assert not {"g21", "g48"} & set(data["group"])
    assert "40 of 50 groups shown" in " ".join(item_groups(view).to_dict()["title"]["subtitle"])
    assert item_groups_data(view, max_groups=None).height == 51 * 5


def test_the_chart_stands_whatever_the_names_are_and_without_groups() -> None:
    pytest.importorskip("vl_convert")
    frame = hostile_frame()
    view = pv.item_view(ratings_of(frame), frame["item"][0], "group", permutations=9)
    svg = to_svg(item_groups(view), "item")
    assert "<script>" not in svg
    assert "alert(1)" in svg
    alone = pv.item_view(ratings_of(frame), frame["item"][0])
    assert to_svg(item_groups(alone), "item").startswith("<svg")
