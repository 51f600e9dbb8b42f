"""Panels that are not the population: raked weights, the table of panel against population, and where weights go."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plurivox as pv
from plurivox.base.errors import FileError, InputError, NeedsRatersError, SelectionError, UnweightedWarning
from plurivox.config import load_config
from plurivox.domain.axis import Axis
from plurivox.domain.ratings import Ratings
from plurivox.engine.counting import counts_of, weighted_counts_of
from plurivox.read.population import read_population
from plurivox.statistics.raking import Margin, design_effect, effective_raters, rake
from support import run_cli

GENDER = "mmmwwmwmmmwwwmmmmmmmwwmwwmmmmmmwwwmwmwmw"
AGE = (
    "youngoldmid old mid mid youngmid mid old youngmid youngyoungyoungyoungold youngold mid mid mid mid youngyoungyoung"
    "youngyoungold youngmid youngold mid youngold old old mid young"
).replace(" ", "")  # fmt: skip
SCHOOL = "ynyynyyyyyynyyynyyyynyyynyyyyynnynynnyyn"


def _ages() -> list[str]:
    found, rest = [], AGE
    while rest:
        word = next(one for one in ("young", "mid", "old") if rest.startswith(one))
        found.append(word)
        rest = rest[len(word) :]
    return found


def study(n_items: int = 3, **attributes: Sequence[Any]) -> Ratings:
    """Return a crossed study in which rater r gives item i the point (r + i) mod 3."""
    n = len(next(iter(attributes.values())))
    raters = pl.DataFrame({"rater": range(n), **{k: pl.Series(v, strict=False) for k, v in attributes.items()}})
    rows = [(i, r, (r + i) % 3) for i in range(n_items) for r in range(n)]
    frame = pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")
    return Ratings.from_frame(frame, scale="0:2", raters=raters)


def weights_of(ratings: Ratings) -> list[float]:
    assert ratings.weights is not None
    return list(ratings.weights.tolist())


def margin(name: str, values: Sequence[Any], shares: Mapping[Any, float]) -> Margin:
    names = list(shares)
    codes = np.array([names.index(one) if one in names else -1 for one in values], np.int32)
    return Margin(name, tuple(map(str, names)), codes, np.array(list(shares.values())))


# Raking ---------------------------------------------------------------------------------------------------------------
def test_three_margins_against_samplics() -> None:
    # samplics 0.6.0, SampleWeight().rake(ones, margins, control=40 × shares, tol=1e-12, ctrl_tol=1e-12, max_iter=10000)
    told = {
        ("m", "young", "n"): 1.4545091359367377, ("m", "young", "y"): 0.43396192394836913,
        ("m", "mid", "n"): 1.6993398074093284, ("m", "mid", "y"): 0.5070086904545077,
        ("m", "old", "n"): 2.815607899300432, ("m", "old", "y"): 0.840054277333728,
        ("w", "young", "n"): 1.5833914775509537, ("w", "young", "y"): 0.47241477896866807,
        ("w", "mid", "n"): 1.8499163064947834, ("w", "mid", "y"): 0.5519341334304646,
        ("w", "old", "n"): 3.0650955994210753, ("w", "old", "y"): 0.9144904975476915,
    }  # fmt: skip
    margins = [
        margin("gender", GENDER, {"m": 0.49, "w": 0.51}),
        margin("age", _ages(), {"young": 0.3, "mid": 0.33, "old": 0.37}),
        margin("school", SCHOOL, {"n": 0.6, "y": 0.4}),
    ]
    weights = rake(margins, tolerance=1e-14).weights
    expected = [told[one] for one in zip(GENDER, _ages(), SCHOOL, strict=True)]
    np.testing.assert_allclose(weights, expected, rtol=1e-9)
    np.testing.assert_allclose(rake(margins).weights, expected, rtol=1e-6)


def test_one_margin_is_share_over_share_exactly() -> None:
    found = rake([margin("g", "aabbbbbbbb", {"a": 0.5, "b": 0.5})]).weights
    a, b = Fraction(1, 2) / Fraction(2, 10), Fraction(1, 2) / Fraction(8, 10)
    np.testing.assert_allclose(found, [float(a)] * 2 + [float(b)] * 8, rtol=1e-15)
    # Kish: n Σw² / (Σw)² with w = 5/2 twice and 5/8 eight times
    effect = (2 * a**2 + 8 * b**2) * 10 / (2 * a + 8 * b) ** 2
    assert design_effect(found) == pytest.approx(float(effect), rel=1e-14)
    assert effective_raters(found) == pytest.approx(float(10 / effect), rel=1e-14)


def test_trimmed_weights_meet_the_margins_again_by_hand() -> None:
    # 20 raters; gender and age are independent, so that without a cap old women weigh 2.5 × 2.
    gender, age = "w" * 4 + "m" * 16, "o" + "y" * 3 + "o" * 4 + "y" * 12
    margins = [margin("gender", gender, {"w": 0.5, "m": 0.5}), margin("age", age, {"o": 0.5, "y": 0.5})]
    free, capped = rake(margins, trim=math.inf), rake(margins, trim=3.0, tolerance=1e-12)
    assert free.weights.max() == pytest.approx(5.0)
    assert capped.weights.max() == pytest.approx(3.0)
    assert capped.trimmed.tolist() == [True] + [False] * 19
    # wo = 3 is held; women sum to 10, so wy = 7/3; old sum to 10, so mo = 7/4; the young sum to 10, so my = 3/12.
    np.testing.assert_allclose(capped.weights[[0, 1, 4, 8]], [3, 7 / 3, 7 / 4, 1 / 4], rtol=1e-9)


def test_raters_without_a_value_weigh_1_and_leave_the_others_alone() -> None:
    known = rake([margin("g", "aab", {"a": 0.5, "b": 0.5})])
    more = rake([margin("g", "aab??", {"a": 0.5, "b": 0.5})])
    np.testing.assert_allclose(more.weights, [*known.weights, 1, 1])
    assert more.known.tolist() == [True] * 3 + [False] * 2
    assert more.weights.mean() == pytest.approx(1)


@pytest.mark.parametrize(("margins", "options", "problem"), [
    ([("g", "aaa", {"a": 0.5, "b": 0.5})], {}, "no rater has g = 'b'"),
    ([("g", "a" * 30 + "b", {"a": 0.5, "b": 0.5})], {}, "would need a weight of 15.5 times the mean"),
    ([("g", "aabb", {"a": 0.3, "b": 0.7}), ("h", "xxyy", {"x": 0.6, "y": 0.4})], {}, "no weights meet all shares"),
    ([("g", "ab", {"a": 0.5, "b": 0.5})], {"trim": 0.5}, "trim is 0.5"),
    ([("g", "ab", {"a": 0.5, "b": 0.5})], {"trim": math.nan}, "trim is nan"),
])  # fmt: skip
def test_impossible_targets_name_the_cell(margins: Any, options: dict[str, float], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        rake([margin(*one) for one in margins], **options)


def test_a_joint_cell_that_the_cap_makes_impossible_is_an_error_that_names_it() -> None:
    # Four women need 10: with at most 2.7 for the old one the three young ones have 7.3, and all the young have 7.2.
    gender, age = "w" * 4 + "m" * 16, "o" + "y" * 3 + "o" * 4 + "y" * 12
    margins = [margin("gender", gender, {"w": 0.5, "m": 0.5}), margin("age", age, {"o": 0.64, "y": 0.36})]
    assert rake(margins, trim=2.9).weights.max() == pytest.approx(2.9)
    said = r"no weights meet all shares with no weight above 2.7 times the mean: \w+ ="
    with pytest.raises(SelectionError, match=said):
        rake(margins, trim=2.7)


@st.composite
def panels(draw: st.DrawFn) -> list[Margin]:
    n_values = draw(st.lists(st.integers(2, 4), min_size=1, max_size=3))
    n = draw(st.integers(20, 60))
    drawn = np.random.default_rng(draw(st.integers(0, 10_000)))
    found = []
    for at, size in enumerate(n_values):
        codes = drawn.integers(0, size, n).astype(np.int32)
        shares = drawn.dirichlet(np.full(size, 8.0))
        found.append(Margin(f"m{at}", tuple(map(str, range(size))), codes, shares))
    return found


@given(panels(), st.integers(0, 1000))
def test_margins_are_met_whatever_the_order_of_raters(margins: list[Margin], seed: int) -> None:
    try:
        found = rake(margins)
    except SelectionError:  # some cell is empty, or too small for its share
        return
    for one in margins:
        share = np.bincount(one.codes, found.weights, len(one.values)) / found.weights.sum()
        np.testing.assert_allclose(share, one.shares, atol=2e-8)
    assert found.weights.mean() == pytest.approx(1, abs=1e-7)
    assert (found.weights <= 5 * (1 + 1e-12)).all()
    order = np.random.default_rng(seed).permutation(len(found.weights))
    moved = [Margin(one.name, one.values, one.codes[order], one.shares) for one in margins]
    assert (rake(moved).weights == found.weights[order]).all()


# Populations ----------------------------------------------------------------------------------------------------------
def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_shares_percentages_counts_and_a_crossing(tmp_path: Path) -> None:
    file = written(
        tmp_path / "population.csv",
        "Attribute,Value,Share\ngender,Woman,51 %\ngender,Man,49 %\nage,18-29,300\nage,30+,700\n"
        '"gender × region",Woman × N,"0,25"\n"gender × region",Woman×S,0.25\n"gender × region",Man × N,0.3\n'
        '"gender × region",Man × S,0.199\n',
    )
    found = read_population(file)
    assert [one.name for one in found.targets] == ["gender", "age", "gender × region"]
    assert found.targets[0].shares == pytest.approx({"Woman": 0.51, "Man": 0.49})
    assert found.targets[1].shares == pytest.approx({"18-29": 0.3, "30+": 0.7})
    assert math.fsum(found.targets[2].shares.values()) == pytest.approx(1)
    assert found.notes == (
        "The shares of age are counts that add up to 1,000, and were divided by that.",
        "The shares of gender × region add up to 0.999 rather than 1, and were divided by that.",
    )
    assert {"gender", "age", "region"} <= set(found.attributes)


HEAD = "attribute,value,share\n"


@pytest.mark.parametrize(("text", "error", "problem"), [
    ("attribute,value\ng,a\n", InputError, "there is no column 'share'; it has attribute, value"),
    (HEAD, FileError, "only a header"),
    (HEAD + "g,a,half\ng,b,.5\n", InputError, "column 'share', row 2: it is not a number"),
    (HEAD + "g,a,-1\ng,b,2\n", InputError, "column 'share', row 2: it is not a number"),
    (HEAD + "g,,1\n", InputError, "column 'value', row 2: it is empty"),
    (HEAD + "g,a,.5\ng,a,.5\n", InputError, "column 'value', rows 2, 3: a value occurs twice"),
    (HEAD + "g,a,.5\ng,b,.3\n", InputError, "the shares of g add up to 0.8"),
    (HEAD + "g,a,.5\ng,b,.5\nh,x,1\n", InputError, "raters have no attribute 'h'; they have: g"),
    (HEAD + "g,a,1\n", InputError, "there is no share for g = 'b', which raters have"),
    (HEAD + "g,a,.4\ng,b,.4\ng,c,.2\n", InputError, "no rater has g = 'c', whose share"),
    (HEAD + "g,a,1\ng,b,0\n", InputError, "the share of g = 'b' is 0, and 3 raters have it"),
    (HEAD + "g,a,.99\ng,b,.01\n", InputError, ""),
])  # fmt: skip
def test_bad_populations_name_file_column_and_row(
    tmp_path: Path, text: str, error: type[InputError], problem: str
) -> None:
    file, ratings = written(tmp_path / "population.csv", text), study(g=list("aaabbb"))
    if not problem:
        assert ratings.weighted(file).weights is not None
        return
    with pytest.raises(error, match=r"population\.csv") as caught:
        ratings.weighted(file)
    assert problem in str(caught.value)


def test_values_match_without_case_and_with_any_dash() -> None:
    ratings = study(age=["18–29", "18–29", "30+", "30+"], g=["woman", "Man", "woman", "Man"])
    found = ratings.weighted({"age": {"18-29": 0.4, "30+": 0.6}, "g": {"Woman": 0.5, "man": 0.5}})
    np.testing.assert_allclose(weights_of(found), [0.8, 0.8, 1.2, 1.2])


def test_two_spellings_of_one_value_among_raters_are_not_both_the_same_share() -> None:
    ratings = study(g=["Woman", "woman", "Man", "Man"])
    with pytest.raises(SelectionError, match="there is no share for g = 'woman'"):
        ratings.weighted({"g": {"Woman": 0.5, "Man": 0.5}})
    assert ratings.weighted({"g": {"Woman": 0.25, "woman": 0.25, "Man": 0.5}}).panel.design_effect == pytest.approx(1)


def test_a_crossing_is_met_as_one_margin_and_a_name_with_a_comma_may_be_an_attribute() -> None:
    ratings = study(g=list("aabb"), h=list("xyxy"))
    found = ratings.weighted({"g,h": {"a,x": 0.1, "a,y": 0.2, "b,x": 0.3, "b,y": 0.4}})
    np.testing.assert_allclose(weights_of(found), [0.4, 0.8, 1.2, 1.6])
    assert found.panel.to_frame()["value"].to_list() == ["a × x", "a × y", "b × x", "b × y"]
    attributes: dict[str, Any] = {"a, b": ["x, y", "x, y", "z", "z"]}
    found = study(**attributes).weighted({"a, b": {"x, y": 0.6, "z": 0.4}})
    np.testing.assert_allclose(weights_of(found), [1.2, 1.2, 0.8, 0.8])


@pytest.mark.parametrize("given", [3, None, ["a"], {"g": 0.5}, {}])
def test_what_is_not_a_population_is_told(given: Any) -> None:
    with pytest.raises(InputError):
        study(g=list("aabb")).weighted(given)


# Ratings that carry weights -------------------------------------------------------------------------------------------
def test_the_table_of_panel_against_population() -> None:
    ratings = study(g=[*"aaab", None])
    found = ratings.weighted(pl.DataFrame({"attribute": ["g", "g"], "value": ["a", "b"], "share": [0.5, 0.5]}))
    assert found.panel.to_frame().rows() == [
        ("g", "a", 3, 0.75, 0.5, pytest.approx(0.5), pytest.approx(2 / 3)),
        ("g", "b", 1, 0.25, 0.5, pytest.approx(0.5), pytest.approx(2)),
    ]
    assert found.panel.n_without == 1
    assert found.panel.notes() == ["1 rater has no known value of g, and a weight of 1."]
    assert found.panel.effective_raters == pytest.approx(25 / (3 * 4 / 9 + 4 + 1))
    assert ratings.weights is None
    assert found.unweighted() == ratings
    assert found != ratings


def test_small_groups_and_what_reveals_them_are_not_told() -> None:
    found = study(g=["a"] * 20 + ["b"] * 3).weighted({"g": {"a": 0.8, "b": 0.2}})
    shown = found.panel.to_frame(min_group_size=5)
    assert shown.rows() == [("g", "withheld", None, None, pytest.approx(1), pytest.approx(1), None)]
    values = ["a"] * 20 + ["b"] * 12 + ["c"] * 3 + ["d"] * 4
    found = study(g=values).weighted({"g": {"a": 0.2, "b": 0.5, "c": 0.2, "d": 0.1}})
    shown = found.panel.to_frame(min_group_size=5)
    assert shown.select("value", "n_raters").rows() == [("a", 20), ("b", 12), ("withheld", None)]
    assert shown["population_share"].to_list() == pytest.approx([0.2, 0.5, 0.3])
    assert shown["weighted_share"].sum() == pytest.approx(1)
    summary = found.panel.summary(5)
    assert (summary.design_effect, summary.effective_raters) == (1.5, 26.0)
    assert found.panel.design_effect == pytest.approx(1.5, abs=0.05)
    for text in (repr(found.panel), found.panel._repr_html_(), summary.sentence):
        assert f"{found.panel.design_effect:.2f}" not in text
        assert "1.5" in text


def test_weights_stay_with_raters_and_come_back_to_a_mean_of_1() -> None:
    found = study(g=list("aaab"), h=list("xyxy")).weighted({"g": {"a": 0.5, "b": 0.5}})
    part = found.where(raters={"h": "y"})
    np.testing.assert_allclose(weights_of(part), [0.5, 1.5])
    assert part.panel.to_frame().select("value", "n_raters", "weighted_share").rows() == [
        ("a", 1, pytest.approx(0.25)), ("b", 1, pytest.approx(0.75)),
    ]  # fmt: skip
    assert part.panel.effective_raters == pytest.approx(4 / 2.5)
    assert found.where(raters={"g": "a"}).panel.to_frame()["n_raters"].to_list() == [3, 0]
    assert repr(part).endswith(", weighted>")
    assert weights_of(found.where(items={"item": "0"})) == weights_of(found)
    assert found.recode("0-1=no,2=yes").weights is not None
    assert found.with_poles(("low", "high")).panel is found.panel


def test_raters_who_rated_nothing_are_not_part_of_the_panel() -> None:
    raters = pl.DataFrame({"rater": range(5), "g": list("aaabb")})
    frame = pl.DataFrame({"item": [0] * 5, "rater": range(5), "score": ["0", "1", "0", "1", None]})
    found = Ratings.from_frame(frame, scale="0:1", raters=raters).weighted({"g": {"a": 0.5, "b": 0.5}})
    np.testing.assert_allclose(weights_of(found), [2 / 3] * 3 + [2, 1])
    assert (found.panel.n_raters, found.panel.n_without) == (4, 0)


def test_totals_have_no_raters_to_weigh() -> None:
    frame = pl.DataFrame({"item": [1, 2], "rater": ["a", "b"], "score": [0, 1]})
    items = pl.DataFrame({"item": [1, 2], "verdict": ["safe", "unsafe"]})
    totals = Ratings.from_frame(frame, items=items).gold("verdict", "safe,unsafe")
    with pytest.raises(NeedsRatersError, match="weights belong to raters"):
        totals.weighted({"g": {"a": 1.0}})


def test_a_packed_study_is_weighted_when_it_is_opened(tmp_path: Path) -> None:
    ratings = study(g=list("aaab"))
    rows = ratings.to_frame().join(ratings.raters, on="rater")
    rows.write_csv(tmp_path / "ratings.csv")
    packed = pv.pack(tmp_path / "ratings.csv", tmp_path / "study.pvx", scale="0:2", rater_attributes=["g"])
    shares = {"g": {"a": 0.5, "b": 0.5}}
    assert weights_of(packed.weighted(shares)) == weights_of(ratings.weighted(shares))
    assert packed.weighted(shares).in_memory().weights is not None
    asked: dict[str, Any] = {"permutations": 9, "min_group_size": 1, "interval": "none"}
    for lens in (pv.cohesion, pv.variation):
        found = [lens(one.weighted(shares), "g", **asked).to_frame() for one in (packed, ratings)]
        assert found[0].equals(found[1])


def test_weighted_counts_of_whole_weights_are_those_of_repeated_raters() -> None:
    ratings = study(4, g=list("abcab"))
    times = np.array([2.0, 1, 3, 1, 2])
    axis = Axis.of(ratings, "g", min_group_size=1)
    rows = [(i, r, (r + i) % 3) for i in range(4) for r in range(5) for _ in range(int(times[r]))]
    expected = np.zeros((4, 3, 3))
    for i, r, s in rows:
        expected[i, "abc".index("abcab"[r]), s] += 1
    assert (weighted_counts_of(ratings.with_known(weights=times), axis) == expected).all()
    assert (weighted_counts_of(ratings, axis) == counts_of(ratings, axis)).all()


def test_questions_that_are_combined_are_weighted_alike() -> None:
    shares = {"g": {"a": 0.5, "b": 0.5}}
    asked = {name: study(g=list("aaab")).weighted(shares) for name in ("one", "two")}
    assert weights_of(pv.combine(asked)) == weights_of(asked["one"])


def test_what_does_not_know_weights_says_so(tmp_path: Path) -> None:
    ratings = study(8, g=list("aaabbb")).weighted({"g": {"a": 0.4, "b": 0.6}})
    with pytest.warns(UnweightedWarning, match="psychometrics does not use weights: every rater counts equally"):
        pv.psychometrics(ratings)
    with pytest.warns(UnweightedWarning, match="weights are not written"):
        pv.write_ratings(ratings, tmp_path / "ratings.parquet")


# On the command line --------------------------------------------------------------------------------------------------
@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return a folder with ratings, whose raters' gender is a column of theirs, and shares of a population."""
    ratings = study(6, gender=["Man"] * 12 + ["Woman"] * 6)
    ratings.to_frame().join(ratings.raters, on="rater").write_csv(tmp_path / "ratings.csv")
    written(tmp_path / "population.csv", "attribute,value,share\ngender,Man,0.5\ngender,Woman,0.5\n")
    return tmp_path


WEIGHTED = "18 raters weighted by gender: as precise as 16 of equal weight (design effect 1.1)"


def test_weights_on_the_command_line_and_in_the_config(files: Path) -> None:
    ratings, population = files / "ratings.csv", files / "population.csv"
    told = run_cli("describe", ratings, "--scale", "0:2", "--weights", population)
    assert WEIGHTED in told.err
    written(files / "plurivox.toml", '[raters]\nweights = "population.csv"\ntrim = 2\n[scale]\nlabels = [0, 1, 2]\n')
    assert WEIGHTED in run_cli("describe", ratings).err
    told = run_cli("describe", ratings, "--trim", "1.2")
    assert told.code == 1
    assert "gender = 'Woman' is 0.5 of the population but 0.333 of the panel" in told.err


@pytest.mark.parametrize(("command", "problem"), [
    (("describe", "ratings.csv", "--trim", "3"), "--trim limits weights: also give the population with --weights"),
    (("describe", "ratings.csv", "--trim", "0.3", "--weights", "population.csv"), "Invalid value for '--trim'"),
    (("describe", "-", "--weights", "-"), "only one of the tables can come from standard input"),
    (("pack", "ratings.csv", "-o", "x.pvx", "--weights", "population.csv"), "--weights belongs to an analysis"),
])  # fmt: skip
def test_bad_options(files: Path, command: Sequence[str], problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    told = run_cli(*command)
    assert told.code == 2
    assert problem in told.words


def test_a_config_with_a_bad_cap_is_an_error_and_a_written_one_keeps_the_weights(files: Path) -> None:
    config, ratings, population = (files / name for name in ("plurivox.toml", "ratings.csv", "population.csv"))
    written(config, "[raters]\ntrim = 0.2\n")
    assert "'[raters] trim' is 0.2. Give a number of at least 1." in run_cli("describe", ratings).err
    config.unlink()
    run_cli("describe", ratings, "--scale", "0:2", "--weights", population, "--trim", "4", "--write-config")
    reading = load_config(config).reading
    assert (reading.weights, reading.trim) == (str(population), 4)
