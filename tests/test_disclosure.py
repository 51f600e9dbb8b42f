"""Nobody is exposed: what a report prints of a study with small groups, taken as a system of linear equations.

Means, counts, shares and distances of a group are sums over its raters, or made of such sums. So the strongest reading
is taken: whoever sees a group in a table of these knows all of its sums, and those of the others of its axis. Each
rater's score is an unknown, each set of raters that is printed an equation; a score that the equations determine is
exposed. Ranks are exact, over the rational numbers.
"""

from __future__ import annotations

import html
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import SelectionError
from plurivox.infer import grouping
from plurivox.report.build import make_report
from support import Markup, Write, only_sections, refused

LEAST = 5
Raters = frozenset[int]


def study(
    seed: int, *, n_items: int = 12, sparse: bool = False, missing: bool = False
) -> tuple[pv.Ratings, pl.DataFrame]:
    """Return a random study with a group of one, one of few, and attributes that nearly determine each other."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(28, 45))
    race = rng.choice(["A", "B", "C", "D"], n, p=[0.55, 0.37, 0.04, 0.04])
    race[0] = "C"
    gender = np.where(race == "A", rng.choice(["m", "w"], n, p=[0.9, 0.1]), rng.choice(["m", "w", "x"], n))
    age = rng.choice(["old", "young"], n).astype(object)
    if missing:
        age[rng.integers(0, n, 3)] = None
    raters = pl.DataFrame({"rater": [f"r{at:02}" for at in range(n)], "race": race, "gender": gender, "age": age})
    pairs = [(f"i{i:02}", f"r{r:02}") for i in range(n_items) for r in range(n) if not sparse or rng.random() < 0.6]
    frame = pl.DataFrame(pairs, schema=["item", "rater"], orient="row")
    frame = frame.with_columns(score=pl.Series(rng.integers(0, 5, len(pairs))))
    return pv.Ratings.from_frame(frame, scale="0:4", raters=raters), raters


BY: list[Any] = ["race", "gender", "age", ("race", "gender")]


def read(text: str) -> Iterator[dict[str, str]]:
    """Yield each row of the tables that a notebook shows, by the names of its columns."""
    for table in re.findall(r"<table.*?</table>", text, re.DOTALL):
        header, *lines = (
            [
                html.unescape(re.sub("<[^>]+>", "", cell)).strip()
                for cell in re.findall(r"<t[dh].*?>(.*?)</t[dh]>", line)
            ]
            for line in re.findall(r"<tr.*?</tr>", table, re.DOTALL)
        )
        yield from (dict(zip(header, line, strict=False)) for line in lines)


def rows_of(text: str) -> list[dict[str, Any]]:
    """Return each row of all tables of a page, those behind its charts included."""
    return [row for table in Markup(text).tables.values() for row in table.rows()]


def groups_of(raters: pl.DataFrame, by: Iterable[Any] = BY) -> dict[tuple[str, str], Raters]:
    """Return the raters of each group by axis and name."""
    found: dict[tuple[str, str], Raters] = {}
    for one in by:
        names = [one] if isinstance(one, str) else list(one)
        values = list(raters.select(names).iter_rows())
        for value in {each for each in values if None not in each}:
            members = frozenset(at for at, each in enumerate(values) if each == value)
            found[" × ".join(names), " × ".join(value)] = members
    return found


def small_sets(groups: Mapping[tuple[str, str], Raters]) -> set[Raters]:
    """Return what nobody may work out: small groups, those of an axis together, and what two axes have in common."""
    small = {key: raters for key, raters in groups.items() if len(raters) < LEAST}
    together = [frozenset().union(*(raters for key, raters in small.items() if key[0] == axis)) for axis, _ in small]
    common = [a & b for (x, a), (y, b) in itertools.combinations(groups.items(), 2) if x[0] != y[0]] + [
        one & raters for one in together for raters in groups.values()
    ]
    return {one for one in (*small.values(), *together, *common) if 0 < len(one) < LEAST}


def exposed(published: Iterable[Raters], wanted: Iterable[Raters], everyone: Raters) -> list[Raters]:
    """Return the sets of raters that are a sum or difference of published ones: Gauss with fractions."""
    known = sorted({frozenset(one & everyone) for one in published} - {frozenset()}, key=lambda one: sorted(one))
    asked = [one & everyone for one in wanted]
    alike: dict[tuple[bool, ...], int] = {}
    for rater in sorted(everyone):
        alike.setdefault((*(rater in one for one in known), *(rater in one for one in asked)), rater)
    columns = list(alike.values())
    steps: list[tuple[int, list[Fraction]]] = []

    def left_of(row: list[Fraction]) -> list[Fraction]:
        for at, step in steps:
            if row[at]:
                row = [a - row[at] * b for a, b in zip(row, step, strict=True)]
        return row

    for one in known:
        row = left_of([Fraction(rater in one) for rater in columns])
        at = next((at for at, value in enumerate(row) if value), None)
        if at is not None:
            steps.append((at, [value / row[at] for value in row]))
    return [one for one in asked if one and not any(left_of([Fraction(rater in one) for rater in columns]))]


def printed(rows: Iterable[Mapping[str, Any]], groups: Mapping[tuple[str, str], Raters]) -> set[tuple[str, str]]:
    """Return the groups that rows name, in whichever column."""
    found = set()
    for row in rows:
        names = {
            row[column]
            for column in ("group", "other", "other group", "closest group", "next", "reference")
            if row.get(column)
        }
        axes = {row["axis"]} if row.get("axis") else {axis for axis, _ in groups}
        found |= {(axis, name) for axis in axes for name in names if (axis, name) in groups}
    return found


def sets_of(shown: Iterable[tuple[str, str]], groups: Mapping[tuple[str, str], Raters]) -> list[Raters]:
    """Return the sets of raters whose sums are known: the groups shown, and all of each axis."""
    keys = set(shown)
    axes = [
        frozenset().union(*(raters for key, raters in groups.items() if key[0] == axis))
        for axis in {a for a, _ in keys}
    ]
    return [*(groups[key] for key in keys), *axes]


def on_items(
    rows: Iterable[Mapping[str, Any]], groups: Mapping[tuple[str, str], Raters], mean: str
) -> dict[str, set[tuple[str, str]]]:
    """Return for each item the groups whose mean is told."""
    found: dict[str, set[tuple[str, str]]] = {}
    for row in rows:
        if row.get("item") and row.get("axis") and row.get(mean) not in (None, "–", ""):
            found.setdefault(row["item"], set()).add((row["axis"], row["group"]))
    return found


def check(rows: list[dict[str, Any]], ratings: pv.Ratings, raters: pl.DataFrame, mean: str) -> int:
    """Assert that nothing small follows from rows, in all and on each item; return how many groups they show."""
    groups, everyone = groups_of(raters), frozenset(range(raters.height))
    shown = printed(rows, groups)
    assert all(len(groups[key]) >= LEAST for key in shown)
    assert not exposed([everyone, *sets_of(shown, groups)], small_sets(groups), everyone)
    place = {name: at for at, name in enumerate(raters["rater"])}
    long = ratings.to_frame()
    for item, told in on_items(rows, groups, mean).items():
        own = frozenset(place[one] for one in long.filter(pl.col("item") == item)["rater"])
        here = {key: members & own for key, members in groups.items()}
        assert all(len(here[key]) >= LEAST for key in told)
        axes = {axis for axis, _ in told}
        outside = [own - frozenset().union(*(here[key] for key in here if key[0] == axis)) for axis in axes]
        few = small_sets(here) | {one for one in outside if 0 < len(one) < LEAST}
        assert not exposed([own, *sets_of(told, here)], few, own)
    return len(shown)


def page_of(ratings: pv.Ratings, path: Path) -> str:
    """Return a report with all that it may hold."""
    items = ratings.items["item"].to_list()
    answers = pl.DataFrame({"item": items[:8], "model": "m", "answer": [at % 5 for at in range(8)]})
    predictions = pl.DataFrame({"item": items, "model": "p", **{str(k): 0.2 for k in range(5)}})
    options: dict[str, Any] = {
        "answers": answers, "predictions": predictions, "permutations": 9, "max_permutations": 9,
    }  # fmt: skip
    return pv.write_report(path, ratings, BY, **options, interval="none").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_no_small_set_of_raters_follows_from_all_that_a_report_prints(seed: int, tmp_path: Path) -> None:
    ratings, raters = study(seed, sparse=seed == 1, missing=seed == 2)
    rows = rows_of(page_of(ratings, tmp_path / "r.html"))
    assert check(rows, ratings, raters, "mean") >= 3
    assert sum(len(row) > 3 and row.get("axis") in ("race", "gender") for row in rows) > 100


def test_no_small_set_of_raters_follows_from_what_a_report_prints_of_items(tmp_path: Path) -> None:
    ratings, raters = study(4)
    with only_sections("items"):
        rows = rows_of(page_of(ratings, tmp_path / "r.html"))
    assert check(rows, ratings, raters, "mean") >= 3
    assert len(on_items(rows, groups_of(raters), "mean")) == ratings.n_items


@pytest.mark.usefixtures("undrawn")
def test_no_small_set_of_raters_follows_from_who_rates_higher(tmp_path: Path) -> None:
    """Where everybody rated everything, leniency is a mean less the others' mean: with that of all, a sum."""
    ratings, raters = study(5)
    with only_sections("variation"):
        rows = rows_of(page_of(ratings, tmp_path / "r.html"))
    assert check(rows, ratings, raters, "mean") >= 3
    assert {row["statistic"] for row in rows if row.get("statistic")} == {"leniency", "dominance"}


def test_a_study_that_withheld_only_small_groups_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("domain.axis", "infer.grouping"):
        monkeypatch.setattr(f"plurivox.{module}.withholding", lambda axes, rated=None: list(axes))
    monkeypatch.setattr(grouping, "withheld_together", lambda sides, least, given: [side.withheld for side in sides])
    caught = []
    for seed in range(10, 18):
        ratings, raters = study(seed, sparse=seed % 2 == 0, missing=seed % 3 == 0)
        found = pv.variation(ratings, BY, permutations=0, interval="none")
        groups, everyone = groups_of(raters), frozenset(range(raters.height))
        shown = sets_of(printed(found.to_frame().to_dicts(), groups), groups)
        caught.append(bool(exposed([everyone, *shown], small_sets(groups), everyone)))
    assert all(caught)


def asked(ratings: pv.Ratings, by: Any) -> dict[str, Any]:
    """Return what each lens finds, without tests and intervals."""
    items = ratings.items["item"].to_list()
    answers = pl.DataFrame({"item": items[:8], "model": "m", "answer": [at % 5 for at in range(8)]})
    predictions = pl.DataFrame({"item": items, "model": "p", **{str(k): 0.2 for k in range(5)}})
    plain = {"by": by, "permutations": 0, "interval": "none"}
    return {
        "description": pv.describe(ratings, by=by), "overview": pv.overview(ratings, by=by),
        "items": pv.items(ratings, by=by, permutations=0),
        "responsiveness": pv.responsiveness(ratings, "crowd", **plain),
        "soft": pv.soft_scores(ratings, predictions, by=by, bootstrap=0, permutations=0),
        "alignment": pv.alignment(ratings, answers, by=by, bootstrap=0, permutations=0, subsamples=0),
        "variation": pv.variation(ratings, **plain, adjust=True),
    }  # fmt: skip


def frames_of(found: Mapping[str, Any]) -> list[pl.DataFrame]:
    """Return the tables of results."""
    overview, items, variation = found["overview"], found["items"], found["variation"]
    whole = [found[name].to_frame() for name in ("description", "soft", "alignment", "variation")]
    whole += [variation.adjusted().rename({"attribute": "axis"}), variation.reliability(), variation.needed()]
    scores = found["responsiveness"].scores()
    return [overview.usage, overview.styles, overview.description.to_frame(), items.divided, scores, *whole]


@pytest.mark.parametrize("seed", range(10, 18))
def test_no_small_set_of_raters_follows_from_all_results_together(seed: int) -> None:
    ratings, raters = study(seed, sparse=seed % 2 == 0, missing=seed % 3 == 0)
    rows = [row for frame in frames_of(asked(ratings, BY)) for row in frame.to_dicts()]
    assert check(rows, ratings, raters, "mean_group") >= 3


@pytest.mark.parametrize(
    ("seed", "by"), [(8, ["gender", "age", ("race", "gender")]), (13, ["race", "age", ("race", "gender")])]
)
def test_what_effects_are_adjusted_for_reveals_nothing_next_to_the_rest(
    seed: int, by: list[Any], tmp_path: Path
) -> None:
    """Variation adjusts for the attributes of crossings, too, shows their groups, and withholds others for that."""
    ratings, raters = study(seed)
    groups, everyone = groups_of(raters), frozenset(range(raters.height))
    with only_sections("variation", "cohesion"):
        path = pv.write_report(tmp_path / "r.html", ratings, by, permutations=9, max_permutations=9, interval="none")
    shown = printed(rows_of(path.read_text(encoding="utf-8")), groups)
    assert shown
    assert not exposed([everyone, *sets_of(shown, groups)], small_sets(groups), everyone)


def test_json_and_notebooks_show_the_same_groups() -> None:
    ratings, raters = study(3)
    groups, found = groups_of(raters), asked(ratings, BY)
    shown = printed([row for frame in frames_of(found) for row in frame.to_dicts()], groups)
    for name in ("description", "items", "soft", "alignment", "variation"):
        one = found[name]
        texts = [one.to_json()] if hasattr(one, "to_json") else []
        texts += [one._repr_html_()] if hasattr(one, "_repr_html_") else []
        rows: list[Mapping[str, Any]] = []
        for text in texts:
            rows += read(text) if text.lstrip().startswith("<") else records(json.loads(text))
        assert rows
        assert printed(rows, groups) <= shown


def records(data: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a JSON text that names a group."""
    if isinstance(data, dict):
        if "group" in data:
            yield {key: value for key, value in data.items() if isinstance(value, str)}
        data = list(data.values())
    if isinstance(data, list):
        for one in data:
            yield from records(one)


def test_the_one_of_three_groups_is_not_what_is_left_of_all() -> None:
    """Groups of 20, 19 and 1: all raters less the two large groups were the one's scores on every item."""
    rng = np.random.default_rng(1)
    raters = pl.DataFrame({"rater": [f"r{at:02}" for at in range(40)], "g": ["A"] * 20 + ["B"] * 19 + ["C"]})
    pairs = [(f"i{i:02}", f"r{r:02}", int(rng.integers(0, 5))) for i in range(22) for r in range(40)]
    frame = pl.DataFrame(pairs, schema=["item", "rater", "score"], orient="row")
    ratings = pv.Ratings.from_frame(frame, scale="0:4", raters=raters)
    plain: dict[str, Any] = {"by": "g", "permutations": 0, "interval": "none"}
    scores, higher = pv.responsiveness(ratings, "crowd", **plain), pv.variation(ratings, **plain)
    for found, expected in (
        (pv.items(ratings, by="g", permutations=9).divided, {"A"}), (pv.overview(ratings, by="g").usage, {"all", "A"}),
        (scores.scores(), {"all", "A"}), (scores.to_frame(), {"all", "A"}), (higher.to_frame(), {"A"}),
        (pv.cohesion(ratings, **plain).to_frame(), {"all", "A"}), (higher.reliability(), {"all", "A"}),
        # unless one says that one knows
        (pv.overview(ratings, by="g", min_group_size=1).usage, {"all", "A", "B", "C"}),
        (pv.responsiveness(ratings, {"g": "B"}, **plain, min_group_size=1).to_frame(), {"all", "A", "B", "C"}),
    ):  # fmt: skip
        assert set(found["group"]) == expected
    [axis] = pv.describe(ratings, by="g").axes
    assert ([group.name for group in axis.groups], axis.n_withheld, axis.n_revealing) == (["A"], 2, 1)
    told = "the reference g = B is withheld: it would reveal a group of fewer than 5"
    with pytest.raises(SelectionError, match=told):
        pv.responsiveness(ratings, {"g": "B"}, by="g")


@pytest.mark.parametrize("interval", ["none", "jackknife", "bootstrap"])
def test_who_is_in_which_withheld_group_changes_nothing_that_is_told(interval: Any) -> None:
    """Effects fitted at once, components of variance and intervals were made of each withheld group's own sums."""
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 5, (22, 40))
    pairs = [(f"i{i:02}", f"r{r:02}", int(scores[i, r])) for i in range(22) for r in range(40)]
    once = pl.DataFrame(pairs, schema=["item", "rater", "score"], orient="row")
    frame = pl.concat([once, once.sample(200, seed=1).with_columns(score=pl.col("score") // 2)])
    frame = frame.with_columns(time=pl.Series(rng.random(len(frame))))
    items = pl.DataFrame({"item": [f"i{i:02}" for i in range(22)], "kind": ["k", "l"] * 11})

    def told(group: list[str]) -> dict[str, str]:
        raters = pl.DataFrame({"rater": [f"r{r:02}" for r in range(40)], "g": group, "x": ["p", "q"] * 20})
        ratings = pv.Ratings.from_frame(
            frame, scale="0:4", raters=raters, items=items, duplicates="keep", time="time"
        )  # fmt: skip
        found = asked(ratings, ["g", "x"])
        plain = {"permutations": 9, "max_permutations": 9, "interval": interval}
        drawn = plain | ({"bootstrap": 20} if interval == "bootstrap" else {})
        found["variation"] = pv.variation(ratings, ["g", "x"], adjust=True, items_by="kind", pairs=True, **drawn)
        texts = {name: found[name].to_json() for name in ("description", "items", "soft", "alignment", "variation")}
        return texts | {"scores": found["responsiveness"].scores().write_json()}

    one = ["A"] * 20 + ["B"] * 19 + ["C"]
    another = [*one[:25], "C", *one[26:39], "B"]  # as many, and with the same x
    before, after = told(one), told(another)
    assert {name for name in before if not alike(json.loads(before[name]), json.loads(after[name]))} == set()


def alike(one: Any, other: Any) -> bool:
    """Tell whether two JSON values are the same but for rounding."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(one == other)


def test_draws_are_no_equations() -> None:
    """A leniency for each shuffle, whose order the seed gives, was one equation each for the means of all raters."""
    ratings, _ = study(3)
    found = pv.variation(ratings, "age", permutations=99, interval="bootstrap", bootstrap=30)
    [draws] = found.draws
    for values in (draws.null, draws.bootstrap):
        assert len(values) >= 30
        assert (np.diff(values, axis=0) >= 0).all()
    assert len(np.unique(found.null("age", "old", "leniency"))) > 20


def test_what_a_crossing_shows_does_not_tell_of_what_it_withholds() -> None:
    """Of two by two groups, with 1, 9, 9 and 9 raters, the rows and columns give the one."""
    cells = [("a", "x")] * 1 + [("a", "y")] * 9 + [("b", "x")] * 9 + [("b", "y")] * 9
    raters = pl.DataFrame(cells, schema=["g", "h"], orient="row").with_row_index("rater")
    frame = raters.select("rater", item=pl.lit("i"), score=pl.lit(1))
    ratings = pv.Ratings.from_frame(frame, scale="0:4", raters=raters)
    crossed = pv.describe(ratings, by=["g", "h", ("g", "h")]).axes
    assert [len(axis.groups) for axis in crossed] == [2, 2, 0]
    assert [len(axis.groups) for axis in pv.describe(ratings).axes] == [2, 2, 0]  # the same without being asked
    [alone] = pv.describe(ratings, by=[("g", "h")]).axes
    assert len(alone.groups) == 2


def test_a_group_on_few_items_does_not_follow_from_the_other_parts() -> None:
    """Two of the nine raters of B rated items of kind q; B in all less B in kind p were their scores."""
    raters = pl.DataFrame({"rater": range(30), "g": ["A"] * 12 + ["B"] * 9 + ["D"] * 9})
    items = pl.DataFrame({"item": range(8), "kind": ["p"] * 4 + ["q"] * 4})
    rng = np.random.default_rng(0)
    pairs = [(i, r) for i in range(8) for r in range(30) if i < 4 or r < 14 or r > 20]
    frame = pl.DataFrame(pairs, schema=["item", "rater"], orient="row")
    frame = frame.with_columns(score=pl.Series(rng.integers(0, 5, len(pairs))))
    ratings = pv.Ratings.from_frame(frame, scale="0:4", raters=raters, items=items)
    found = pv.responsiveness(ratings, "crowd", by="g", items_by="kind", permutations=0, interval="none")
    scores = found.scores()
    shown = {part: set(scores.filter(subset=part, axis="g")["group"]) for part in ("all", "p", "q")}
    assert shown["all"] == {"A", "B", "D"}
    assert "B" not in shown["q"]
    assert "B" not in shown["p"]  # in all less in p is in q
    assert len(shown["q"]) < 2  # all raters of q less A and D are B's two
    areas = found.to_frame()
    assert {part: set(areas.filter(subset=part, axis="g")["group"]) for part in shown} == shown
    higher = pv.variation(ratings, by="g", items_by="kind", permutations=0, interval="none").to_frame()
    assert {part: set(higher.filter(subset=part)["group"]) for part in shown} == shown  # leniency is one


# What is left after selecting
def test_a_selection_of_few_raters_is_refused_unless_one_says_that_one_knows() -> None:
    ratings, _ = study(0)
    few = ratings.where(raters={"race": "C"})
    assert few.n_raters < LEAST
    items = ratings.items["item"].to_list()
    answers = pl.DataFrame({"item": items, "model": "m", "answer": 1})
    calls: list[Any] = [
        lambda **size: pv.describe(few, **size), lambda **size: pv.overview(few, **size),
        lambda **size: pv.items(few, permutations=0, **size), lambda **size: pv.item_view(few, items[0], **size),
        lambda **size: pv.alignment(few, answers, bootstrap=0, permutations=0, **size),
        lambda **size: pv.cohesion(few, by="gender", permutations=0, **size),
        lambda **size: pv.variation(few, by="gender", permutations=0, **size),
        lambda **size: make_report(few, **size),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(SelectionError, match=r"left after selecting, fewer than the 5 .*--min-group-size 1"):
            call()
    pv.describe(few, min_group_size=1)
    pv.item_view(few, items[0], min_group_size=1)


def test_few_raters_who_were_not_selected_are_a_study() -> None:
    frame = pl.DataFrame({"item": [1, 1, 2], "rater": ["a", "b", "a"], "score": [0, 2, 1]})
    assert pv.describe(pv.Ratings.from_frame(frame)).n_raters == 2
    assert pv.describe(study(0)[0].where(items={"item": "i00"})).n_items == 1


@pytest.mark.parametrize(
    "command",
    ["describe", "items", "item i00", "cohesion --by gender", "variation --by gender", "report -o {folder}/r.html"],
)
def test_the_command_line_refuses_a_group_of_one(command: str, write: Write, tmp_path: Path) -> None:
    ratings, raters = study(0, n_items=3)
    long = ratings.to_frame().select("item", "rater", "score").join(raters.with_columns(g=pl.col("race")), on="rater")
    name, *options = command.format(folder=tmp_path).split()
    given = ("--rater-attributes", "race,gender,age", "--scale", "0:4", "--where", "race=C")
    told = refused(name, write("r.csv", long.write_csv()), *options, *given)
    assert "left after selecting" in told
    assert "--min-group-size 1" in told
    assert not (tmp_path / "r.html").exists()
