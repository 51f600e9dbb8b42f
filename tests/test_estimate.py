"""The lens estimate against ppi-python, itself on parts of the data, and simulated studies with a known truth."""

from __future__ import annotations

import math
import warnings
from types import ModuleType
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from claims.rates import Rate, studies
from plurivox.base.errors import PlurivoxError, SelectionError
from plurivox.lenses.estimate.measuring import BEST, MEAN_OF_JUDGES, TOGETHER
from plurivox.statistics.ppi import prediction_powered
from support import Write


@pytest.fixture(scope="module")
def study() -> pv.Simulation:
    return pv.simulate(n_items=400, n_raters=60, n_rated=90, ratings_per_item=5, seed=3)


@pytest.fixture(scope="module")
def answers(study: pv.Simulation) -> pv.Answers:
    assert study.answers is not None
    return pv.Answers.from_frame(study.answers, study.scale, items=study.items)


@pytest.fixture(scope="module")
def found(study: pv.Simulation, answers: pv.Answers) -> pv.Estimate:
    return pv.estimate(study.ratings, answers, "age", subset="violation", threshold=3, width=0.2)


@pytest.fixture(scope="module")
def ppi_python() -> ModuleType:
    with warnings.catch_warnings():  # importing it switches warnings off
        found = pytest.importorskip("ppi_py", reason="needs ppi-python, another program for the same estimates")
    return cast(ModuleType, found)


def item_means(ratings: pl.DataFrame, numbers: dict[str, float]) -> dict[str, float]:
    own = ratings.with_columns(pl.col("score").cast(pl.String).replace_strict(numbers, return_dtype=pl.Float64))
    return dict(own.group_by("item").agg(pl.col("score").mean()).iter_rows())


def table(*rows: tuple[Any, ...], names: tuple[str, ...] = ("item", "rater", "score")) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=list(names), orient="row")


def rated(*rows: tuple[Any, ...], scale: Any = "0:4") -> pv.Ratings:
    return pv.Ratings.from_frame(table(*rows), scale=scale)


# Values --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("of", "numbers"),
    [
        ("mean", dict(zip("01234", range(5), strict=True))),
        ("share of 3 or higher", {"0": 0, "1": 0, "2": 0, "3": 1, "4": 1}),
    ],
)
def test_estimates_against_ppi_python(
    ppi_python: ModuleType, study: pv.Simulation, found: pv.Estimate, of: str, numbers: dict[str, float]
) -> None:
    human = item_means(study.ratings_frame, numbers)
    assert study.answers is not None
    own = study.answers.filter(model="model-a", state="answered")
    model = {row["item"]: numbers[str(row["answer"])] for row in own.iter_rows(named=True)}
    assert len(model) == 400  # it refuses nothing
    both = [item for item in model if item in human]
    y, f = (np.array([one[item] for item in both], dtype=float) for one in (human, model))
    more = np.array([model[item] for item in model if item not in human], dtype=float)
    theirs = ppi_python.ppi_mean_pointestimate(y, f, more).item()
    assert found.value("model-a", of=of) == pytest.approx(theirs, abs=1e-12)
    assert found.value("model-a", "estimate_humans", of=of) == pytest.approx(y.mean())
    assert found.value("model-a", "estimate_model", of=of) == pytest.approx(np.mean([*f, *more]))
    assert found.value("model-a", "ppi_lambda", of=of) == pytest.approx(prediction_powered(y, f, more).weights[0])
    row = found.row("model-a", of=of)
    assert (row.n_items, row.n_ratings, row.n_raters) == (400, 450, study.ratings_frame["rater"].n_unique())


def test_a_group_is_what_its_raters_alone_give(study: pv.Simulation, answers: pv.Answers, found: pv.Estimate) -> None:
    alone = pv.estimate(study.ratings.where(raters={"age": "30-44"}), answers, threshold=3, width=0.2)
    for of in found.of:
        for statistic in ("estimate", "estimate_humans", "ppi_lambda", "ppi_worth", "ratings_needed"):
            row = found.row("model-b", statistic, of=of, axis="age", group="30-44")
            other = alone.row("model-b", statistic, of=of)
            assert (row.value, row.ci_low, row.ci_high, row.n_items) == pytest.approx(
                (other.value, other.ci_low, other.ci_high, other.n_items)
            )


def test_a_part_of_the_items_is_what_its_items_alone_give(study: pv.Simulation, found: pv.Estimate) -> None:
    assert study.answers is not None
    chosen = study.items.filter(violation="privacy")["item"].to_list()
    ratings = pv.Ratings.from_frame(study.ratings_frame.filter(pl.col("item").is_in(chosen)), scale=study.scale)
    alone = pv.estimate(ratings, study.answers.filter(pl.col("item").is_in(chosen)))
    row, other = found.row("model-a", subset="privacy"), alone.row("model-a")
    assert (row.value, row.ci_low, row.ci_high) == pytest.approx((other.value, other.ci_low, other.ci_high))
    counts = found.accounts().filter(model="model-a", subset="privacy").row(0, named=True)
    assert counts["n_rated"] + counts["n_further"] == len(chosen)


def test_samples_are_averaged_and_shares_used() -> None:
    ratings = rated(("a", 1, 0), ("a", 2, 2), ("b", 1, 4), ("c", 1, 1), ("d", 2, 3))
    names = ("model", "item", "sample", "point")
    points = table(
        *(("m", item, sample, point) for item, own in
          {"a": (0, 1), "b": (4, 3), "c": (2, 1), "d": (3, 3), "e": (0, 4), "f": (1, 2)}.items()
          for sample, point in enumerate(own)), names=names,
    )  # fmt: skip
    means = {"a": 0.5, "b": 3.5, "c": 1.5, "d": 3.0, "e": 2.0, "f": 1.5}
    expected = prediction_powered([1, 4, 1, 3], [means[one] for one in "abcd"], [means[one] for one in "ef"])
    assert pv.estimate(ratings, points).value("m") == pytest.approx(expected.value)
    lists = pl.DataFrame({
        "model": "m", "item": list(means),
        "distribution": [np.bincount(own, minlength=5) / 2 for own in ((0, 1), (4, 3), (2, 1), (3, 3), (0, 4), (1, 2))],
    })  # fmt: skip
    assert pv.estimate(ratings, lists).value("m") == pytest.approx(expected.value)


def test_what_is_refused_counts_with_the_mean_or_is_left_out() -> None:
    ratings = rated(*((item, rater, (item + rater) % 5) for item in range(8) for rater in range(4)))
    frame = pl.DataFrame({
        "model": "m", "item": list(range(16)), "answer": [item % 5 if item % 5 else None for item in range(16)],
        "state": ["answered" if item % 5 else "refused" for item in range(16)],
    })  # fmt: skip
    kept, out = (pv.estimate(ratings, frame, unanswered=rule) for rule in ("kept", "out"))
    answered = [item for item in range(16) if item % 5]
    mean = np.mean([item % 5 for item in answered])
    human = [np.mean([(item + rater) % 5 for rater in range(4)]) for item in range(8)]
    model = [float(item % 5 or mean) for item in range(16)]
    assert kept.value("m") == pytest.approx(prediction_powered(human, model[:8], model[8:]).value)
    assert kept.row("m").n_items == 16
    assert kept.row("m", "estimate_model").n_items == out.row("m", "estimate_model").n_items == len(answered)
    mine = [item for item in answered if item < 8]
    expected = prediction_powered(
        [human[item] for item in mine], [item % 5 for item in mine], [item % 5 for item in answered if item >= 8]
    )
    assert out.value("m") == pytest.approx(expected.value)
    assert "answered 6 of 8 rated items" in out.row("m").note
    assert "m answered 12 of 16 items (4 refused)" in " ".join(out.findings())
    assert kept.accounts().row(0, named=True)["refused"] == 4


def test_counts_per_point_have_intervals_over_items(write: Write) -> None:
    rows = "".join(f"i{item},{3 + item % 4},{1 + item % 3}\n" for item in range(20))
    ratings = pv.read_ratings(write("totals.csv", f"item,no,yes\n{rows}"), scale=pv.Scale(["no", "yes"]))
    given = pl.DataFrame({"item": [f"i{item}" for item in range(60)], "point": [item % 2 for item in range(60)]})
    found = pv.estimate(ratings, given)
    shares = [(1 + item % 3) / (4 + item % 4 + item % 3) for item in range(20)]
    assert found.of == ["share of yes"]
    assert found.value("model", "estimate_humans") == pytest.approx(np.mean(shares))
    assert found.row("model").ci_low is not None
    assert found.row("model").n_raters == 0
    assert "It is not known who rated what" in " ".join(found.findings())
    assert " over items)" in found.findings()[0]


# Judges --------------------------------------------------------------------------------------------------------------
def test_several_judges_are_weighed_together(found: pv.Estimate, study: pv.Simulation) -> None:
    assert study.answers is not None
    human = item_means(study.ratings_frame, dict(zip("01234", range(5), strict=True)))
    columns = []
    for name in sorted(study.answers["model"].unique()):
        own = study.answers.filter(model=name)
        known = {row["item"]: float(row["answer"]) if row["state"] == "answered" else None
                 for row in own.iter_rows(named=True)}  # fmt: skip
        mean = np.mean([one for one in known.values() if one is not None])
        columns.append({item: mean if one is None else one for item, one in known.items()})
    both = [item for item in columns[0] if item in human]
    f = np.array([[one[item] for one in columns] for item in both])
    more = np.array([[one[item] for one in columns] for item in columns[0] if item not in human])
    y = np.array([human[item] for item in both])
    expected = prediction_powered(y, f, more)
    assert found.value(TOGETHER) == pytest.approx(expected.value)
    assert found.judges().filter(of="mean")["weight"].to_list() == pytest.approx(expected.weights.tolist())
    averaged = prediction_powered(y, f.mean(axis=1), more.mean(axis=1))
    assert found.value(MEAN_OF_JUDGES) == pytest.approx(averaged.value)


def test_the_best_judge_is_said_to_be_selected(found: pv.Estimate) -> None:
    chosen = found.judges().filter(of="mean").filter("selected")["model"].item()
    best, own = found.row(BEST), found.row(chosen)
    assert best.value == pytest.approx(own.value)
    assert (own.ci_low, own.ci_high, best.ci_low, best.ci_high) != (None,) * 4
    assert cast(float, best.ci_low) < cast(float, own.ci_low)
    assert cast(float, best.ci_high) > cast(float, own.ci_high)
    assert found.row(BEST, "ppi_worth").ci_low is None
    assert f"{chosen}, selected for its variance" in best.note
    assert "It was selected for that" in " ".join(found.findings())


def test_judges_that_copy_each_other_are_like_one() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(2, 1, 300)
    score = np.clip(np.round(truth), 0, 4).astype(int)
    ratings = rated(*((str(item), rater, int(score[item])) for item in range(80) for rater in range(3)))
    wrong = np.clip(score + rng.integers(-1, 2, 300), 0, 4)
    other = np.clip(score + rng.integers(-1, 2, 300), 0, 4)
    frame = pl.concat([
        pl.DataFrame({"model": name, "item": [str(one) for one in range(300)], "point": points})
        for name, points in (("a", wrong), ("copy of a", wrong), ("b", other))
    ])  # fmt: skip
    found = pv.estimate(ratings, frame)
    row = found.row(TOGETHER, "effective_judges")
    assert 1.4 < row.value < 2.0  # 9/5 = 1.8 for two alike and one apart
    errors = found.errors().filter(model="a")
    assert errors.filter(other_model="copy of a")["correlation"].item() == pytest.approx(1.0)
    assert abs(errors.filter(other_model="b")["correlation"].item()) < 0.35
    two = pv.estimate(ratings, frame.filter(pl.col("model") != "b"))
    assert two.row(TOGETHER, "effective_judges").value == pytest.approx(1.0)
    assert two.value(TOGETHER) == pytest.approx(found.value("a"))  # a copy adds nothing


# Shape ---------------------------------------------------------------------------------------------------------------
def test_small_groups_are_withheld(study: pv.Simulation, answers: pv.Answers) -> None:
    sizes = dict(study.raters.group_by("ethnicity").len().iter_rows())
    least = sorted(sizes.values())[1]
    found = pv.estimate(study.ratings, answers, "ethnicity", min_group_size=least)
    shown = {row.group for row in found.rows if row.axis == "ethnicity"}
    assert shown
    assert all(sizes[group] >= least for group in shown)
    assert found.withheld["ethnicity"] == len(sizes) - len(shown) > 0
    assert "withheld" in found.findings()[-1]
    assert set(found.population()["group"]) <= shown | {"all"}


def test_what_to_estimate(study: pv.Simulation, answers: pv.Answers) -> None:
    shares = pv.estimate(study.ratings, answers, what="shares")
    assert shares.of == [f"share of {point}" for point in range(5)]
    assert sum(shares.value("model-a", "estimate_humans", of=of) for of in shares.of) == pytest.approx(1)
    both = pv.estimate(study.ratings, answers, what=["mean", "at-least"])
    assert both.of == ["mean", *(f"share of {point} or higher" for point in (1, 2, 3)), "share of 4"]
    assert pv.estimate(study.ratings, answers).of == ["mean"]
    assert pv.estimate(study.ratings.recode(unsafe_from=3), answers.recode(unsafe_from=3)).of == ["share of unsafe"]


# Nothing to tell -----------------------------------------------------------------------------------------------------

FOUR = (("a", 1, 0), ("a", 2, 1), ("b", 1, 3), ("b", 2, 4), ("c", 1, 2), ("c", 2, 2))


def asked(points: dict[str, int | None]) -> pl.DataFrame:
    states = ["refused" if point is None else "answered" for point in points.values()]
    return pl.DataFrame({"model": "m", "item": list(points), "answer": list(points.values()), "state": states})


@pytest.mark.parametrize(
    ("points", "notes"),
    [
        ({"a": 0, "b": 4, "c": 2}, {"estimate": "no further item", "ppi_lambda": "no further item"}),
        ({"a": 1, "b": 1, "c": 1, "d": 1}, {"ppi_lambda": "same answer", "ppi_worth": "same answer"}),
        ({"a": 1, "d": 3}, {"estimate": "one item says nothing", "ppi_lambda": "one item says nothing"}),
    ],
)
def test_what_is_undefined_says_why(points: dict[str, int], notes: dict[str, str]) -> None:
    found = pv.estimate(rated(*FOUR), asked(dict(points)), width=0.5)
    for statistic, note in notes.items():
        row = found.row("m", statistic)
        assert note in row.note
        assert statistic == "estimate" or math.isnan(row.value)
    assert found.value("m") == pytest.approx(found.value("m", "estimate_humans"))
    assert ("No model answered any unrated item" in found.findings()[0]) == ("d" not in points)


def test_one_rater_and_items_rated_alike_have_no_interval() -> None:
    given = asked({str(item): item % 5 for item in range(20)})
    one = rated(*((item, 1, item % 5) for item in range(10)))
    alike = rated(*((item, rater, 2) for item in range(6) for rater in range(3)))
    for ratings, told in ((one, "one rater says nothing about others"), (alike, "the same value")):
        row = pv.estimate(ratings, given).row("m")
        assert (row.ci_low, told in row.note) == (None, True)
    assert pv.estimate(alike, given).value("m") == 2.0
    assert pv.estimate(one, given, resample="items").row("m").ci_low is not None


@pytest.mark.parametrize(
    ("options", "points", "problem"),
    [
        ({"threshold": 0}, {}, "the lowest point"), ({"threshold": 9}, {}, "not a point of the scale"),
        ({"width": 0.0}, {}, "width is 0"), ({"width": -1.0}, {}, "width is -1"),
        ({"what": "median"}, {}, "what is 'median'"), ({"subset": "colour"}, {}, "items have no attribute 'colour'"),
        ({"resample": "raters"}, {}, "resample is 'raters'"), ({"unanswered": "guess"}, {}, "unanswered is 'guess'"),
        ({}, {"x": 0, "y": 1}, "no item with an answer is rated"),
        ({}, {"a": None, "b": None}, "no rated item has an answer on the scale: 2 refused"),
    ],
)  # fmt: skip
def test_wrong_settings_and_answers_are_named(
    options: dict[str, Any], points: dict[str, int | None], problem: str
) -> None:
    with pytest.raises(PlurivoxError, match=problem):
        pv.estimate(rated(*FOUR), asked(points or {"a": 0, "b": 1, "d": 2}), **options)
    with pytest.raises(SelectionError, match="there is no such value"):
        pv.estimate(rated(*FOUR), asked({"a": 1, "b": 2, "d": 2})).row("nobody")


# The population ------------------------------------------------------------------------------------------------------
def selected_study(seed: int, *, by_severity: bool) -> tuple[pv.Ratings, pv.Answers]:
    """Return a study in which people rated a random part of the items, or the most severe ones."""
    made = pv.simulate(n_items=300, n_raters=20, ratings_per_item=4, seed=seed)
    assert made.answers is not None
    severity = made.truth_items.sort("severity", descending=True)["item"].to_list()
    chosen = severity[:80] if by_severity else made.items["item"].sample(80, seed=seed).to_list()
    ratings = pv.Ratings.from_frame(made.ratings_frame.filter(pl.col("item").is_in(chosen)), scale=made.scale)
    return ratings, pv.Answers.from_frame(made.answers, made.scale, items=made.items)


def test_items_that_were_not_drawn_at_random_are_told() -> None:
    found = pv.estimate(*selected_study(1, by_severity=True))
    told = [one for one in found.statements() if one.statistic == "population"]
    assert "The items rated differ from the others in what model-a answers" in told[0].text
    assert "random part of all" in told[0].text
    assert not [one for one in pv.estimate(*selected_study(1, by_severity=False)).statements()
                if one.statistic == "population"]  # fmt: skip


def test_an_attribute_in_which_rated_items_differ_is_named() -> None:
    made = pv.simulate(n_items=300, n_raters=20, ratings_per_item=4, seed=5)
    assert made.answers is not None
    chosen = made.items.filter(pl.col("violation").is_in(["bias", "privacy"]))["item"].to_list()
    ratings = pv.Ratings.from_frame(made.ratings_frame.filter(pl.col("item").is_in(chosen)), scale=made.scale)
    found = pv.estimate(ratings, pv.Answers.from_frame(made.answers, made.scale, items=made.items))
    row = found.population().filter(attribute="violation", axis="all").row(0, named=True)
    assert row["differs"]
    assert row["p_adjusted"] < 1e-6
    assert "in violation: " in " ".join(found.findings())


def test_the_test_of_shares_against_scipy() -> None:
    from scipy import stats

    from plurivox.lenses.estimate.population import _by_counts, _by_mean

    counts = np.array([[20.0, 30, 50], [40, 30, 10]])
    found = _by_counts(counts, ["a", "b", "c"])
    assert found is not None
    assert found.p == pytest.approx(stats.chi2_contingency(counts, correction=False).pvalue)
    assert (found.value, found.first, found.second) == ("c", 0.5, 0.125)
    rng = np.random.default_rng(0)
    numbers, first = rng.normal(size=50), np.arange(50) < 20
    welch = _by_mean(numbers, first, ~first)
    assert welch is not None
    assert welch.p == pytest.approx(stats.ttest_ind(numbers[first], numbers[~first], equal_var=False).pvalue)


# Simulations ---------------------------------------------------------------------------------------------------------
@pytest.mark.claims
def test_random_parts_are_seldom_said_to_differ() -> None:
    """60 studies notice a rate of 15 % instead of 5 % (at most 8 of them are called different)."""
    told = 0
    for seed in range(studies(60)):
        found = pv.estimate(*selected_study(seed, by_severity=False))
        told += any(one.statistic == "population" for one in found.statements())
    assert told <= 8


LIKE = {"good": (0.0, 0.4), "biased": (0.8, 0.4), "useless": (0.0, 9.0), "refusing": (0.2, 0.5)}
CUTS = np.array([-1.5, -0.5, 0.5, 1.5])


@pytest.mark.claims
@pytest.mark.parametrize("kind", [*LIKE, "anti-correlated"])
def test_intervals_hold_the_mean_of_all_items_and_raters(kind: str) -> None:
    """500 studies notice a coverage of 90 % in 93 of 100 runs; raters and items are drawn anew, refusals by severity.

    A true coverage of 95 % lies outside of 92 to 98 % in 2 of 1,000 runs. Fewer studies must not contradict it.
    """
    rng = np.random.default_rng(len(kind))
    truth = float(np.searchsorted(CUTS, rng.normal(0, np.sqrt(1 + 0.16 + 0.25), 2_000_000)).mean())
    hits = humans = times = 0
    wide, alone = [], []
    for _ in range(studies(500)):
        severity, lenient = rng.normal(0, 1, 330), rng.normal(0, 0.4, 40)
        items = np.repeat(np.arange(70), 5)
        raters = np.argsort(rng.random((70, 40)), axis=1)[:, :5].ravel()
        scores = np.searchsorted(CUTS, severity[items] + lenient[raters] + rng.normal(0, 0.5, len(items)))
        bias, noise = LIKE.get(kind, (0.0, 0.4))
        sign = -1 if kind == "anti-correlated" else 1
        point = np.searchsorted(CUTS, sign * severity + bias + rng.normal(0, noise, 330))
        silent = (rng.random(330) < 1 / (1 + np.exp(-2 * severity))) & (kind == "refusing")
        ratings = pv.Ratings.from_frame(pl.DataFrame({"item": items, "rater": raters, "score": scores}), scale="0:4")
        states = np.where(silent, "refused", "answered")
        points = pl.Series(point).set(pl.Series(silent), None)
        frame = pl.DataFrame({"model": "m", "item": range(330), "point": points, "state": states})
        found = pv.estimate(ratings, frame)
        row, human = found.row("m"), found.row("m", "estimate_humans")
        assert row.ci_low is not None
        assert row.ci_high is not None
        assert human.ci_low is not None
        assert human.ci_high is not None
        hits += row.ci_low <= truth <= row.ci_high
        humans += human.ci_low <= truth <= human.ci_high
        wide.append(row.ci_high - row.ci_low)
        alone.append(human.ci_high - human.ci_low)
        times += 1
    for held in (Rate(hits, times), Rate(humans, times)):
        assert (held.share if times == 500 else held.high) >= 0.92, str(held)
        assert (held.share if times == 500 else held.low) <= 0.98, str(held)
    assert np.mean(wide) <= np.mean(alone) * 1.01
