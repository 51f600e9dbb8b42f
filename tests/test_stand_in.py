"""Standing in for a rater: against the published rates, a plain twin, and answers that judge nothing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import false_discovery_control, ttest_1samp

import plurivox as pv
from claims import stand_in
from plurivox.base.errors import InputError
from plurivox.lenses.alignment.matching import MOST_CONSTANTS, constant_points
from plurivox.lenses.alignment.stand_ins import DRAWS
from plurivox.reproduce import printed
from plurivox.statistics import advantage
from plurivox.statistics.alignment import stand_in_p

QUICK: dict[str, Any] = {"bootstrap": 0, "permutations": 0, "subsamples": 0, "as_rater": False}
Given = dict[int, list[int | None]]
"""The answers of a model: item → samples, None where it refused; an item that is not there failed or was not asked."""


# A plain twin --------------------------------------------------------------------------------------------------------
def closeness(point: int, others: list[int], values: list[float], level: Any) -> float:
    """How close a point is to what others say, as the paper writes it."""
    if isinstance(level, str) and level == "nominal":
        return sum(other == point for other in others) / len(others)
    if isinstance(level, str):
        return -math.sqrt(sum((values[other] - values[point]) ** 2 for other in others) / len(others))
    return -float(sum(level[other][point] for other in others)) / len(others)


def contests_of(
    votes: dict[int, dict[str, int]], given: Given, values: list[float], level: Any
) -> dict[str, list[tuple[float, float]]]:
    """Return for each human W_m and W_h of every item that also has another rater and an answer."""
    found: dict[str, list[tuple[float, float]]] = {}
    for item, own in votes.items():
        for human, score in own.items():
            others = [other for name, other in own.items() if name != human]
            if not others or item not in given:
                continue
            model, rater = [], []
            for answer in given[item]:
                if answer is None:
                    model.append(0.0)
                    rater.append(1.0)
                    continue
                theirs, mine = (closeness(point, others, values, level) for point in (answer, score))
                equal = math.isclose(theirs, mine, rel_tol=1e-9, abs_tol=1e-12)
                model.append(float(theirs > mine or equal))
                rater.append(float(mine > theirs or equal))
            found.setdefault(human, []).append((sum(model) / len(model), sum(rater) / len(rater)))
    return found


def twin(
    votes: dict[int, dict[str, int]], given: Given, values: list[float], level: Any, tolerance: float
) -> tuple[float, float, int, int, int]:
    """Return ω, ρ, the humans that were tested, those rejected, and those with too few items."""
    p_values, shares, few = [], [], 0
    for pairs in contests_of(votes, given, values, level).values():
        if len(pairs) < 30:
            few += 1
            continue
        behind = [rater - model for model, rater in pairs]
        if max(behind) - min(behind) < 1e-12:
            p_values.append(0.0 if behind[0] < tolerance else 1.0)
        else:
            p_values.append(float(ttest_1samp(behind, tolerance, alternative="less").pvalue))
        shares.append(sum(model for model, _ in pairs) / len(pairs))
    if len(shares) < 3:
        return math.nan, math.nan, len(shares), 0, few
    rejected = int(np.count_nonzero(false_discovery_control(p_values, method="by") <= 0.05))
    return rejected / len(shares), sum(shares) / len(shares), len(shares), rejected, few


def random_study(seed: int) -> tuple[dict[int, dict[str, int]], dict[str, Given], pv.Scale, Any, float]:
    """Return votes, answers of a few models, a scale, a level and a tolerance; many things may be missing."""
    rng = np.random.default_rng(seed)
    n_items, n_humans = int(rng.integers(30, 90)), int(rng.integers(2, 14))
    n_points = int(rng.integers(2, 7))
    values = np.cumsum(rng.choice([0.1, 0.5, 1.0, 2.0], size=n_points)).round(3).tolist()
    scale = pv.Scale([f"p{at}" for at in range(n_points)], values=values)
    matrix = rng.integers(1, 4, size=(n_points, n_points))
    matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
    level = ["ordinal", "nominal", "interval", matrix.tolist()][seed % 4]
    truth, busy = rng.integers(n_points, size=n_items), rng.uniform(0.2, 1.0, size=n_humans)
    noise = rng.uniform(0.2, 0.9)

    def said(item: int) -> int:
        return int(truth[item] if rng.random() > noise else rng.integers(n_points))

    votes = {
        item: own
        for item in range(n_items)
        if (own := {f"h{h}": said(item) for h in range(n_humans) if rng.random() < busy[h]})
    }
    answers: dict[str, Given] = {}
    for model in ("good", "gaps", "samples"):
        given: Given = {}
        for item in range(n_items):
            samples = [None if rng.random() < 0.08 else said(item) for _ in range(3 if model == "samples" else 1)]
            if model != "gaps" or rng.random() < 0.7:
                given[item] = samples if model == "samples" or rng.random() < 0.9 else [None]
        answers[model] = given
    return votes, answers, scale, level, float(rng.choice([0.1, 0.15, 0.2, 0.0]))


def frames_of(votes: dict[int, dict[str, int]], answers: dict[str, Given], scale: pv.Scale) -> tuple[Any, Any]:
    """Return ratings and answers as plurivox takes them; what was not asked is missing or failed."""
    rated = [(item, human, scale.labels[score]) for item, own in votes.items() for human, score in own.items()]
    ratings = pv.Ratings.from_frame(pl.DataFrame(rated, schema=["item", "rater", "score"], orient="row"), scale=scale)
    rows = [
        (model, item, sample, point, "refused" if point is None else "answered")
        for model, given in answers.items()
        for item, samples in given.items()
        for sample, point in enumerate(samples)
    ]
    asked = {(model, item) for model, item, *_ in rows}
    left_out = [(model, item) for model in answers for item in votes if (model, item) not in asked]
    rows += [(model, item, 0, None, "failed") for model, item in left_out if item % 2]
    schema = {"model": pl.String, "item": pl.Int64, "sample": pl.Int64, "point": pl.Int64, "state": pl.String}
    return ratings, pl.DataFrame(rows, schema=schema, orient="row")


@pytest.mark.parametrize("seed", range(16))
def test_standing_in_against_a_plain_twin(seed: int) -> None:
    votes, answers, scale, level, tolerance = random_study(seed)
    ratings, frame = frames_of(votes, answers, scale)
    found = pv.alignment(ratings, frame, level=level, tolerance=tolerance, **QUICK).stand_ins()
    for model, given in answers.items():
        one = found.row(by_predicate=pl.col("model") == model, named=True)
        omega, rho, n_humans, rejected, few = twin(votes, given, list(scale.values), level, tolerance)
        assert one["omega"] == pytest.approx(omega, nan_ok=True)
        assert one["advantage"] == pytest.approx(rho, nan_ok=True)
        assert (one["n_humans"], one["n_rejected"], one["n_few"]) == (n_humans, rejected, few)
        assert not one["stands_in"] or one["omega"] >= 0.5
        if n_humans < 3:
            assert f"{n_humans} human" in one["why"]
            assert "3 are needed" in one["why"]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_constants_against_a_plain_twin(seed: int) -> None:
    votes, answers, scale, level, tolerance = random_study(seed)
    ratings, frame = frames_of(votes, answers, scale)
    found = pv.alignment(ratings, frame, level=level, tolerance=tolerance, **QUICK).stand_ins()
    asked = {item for given in answers.values() for item in given} & votes.keys()
    for point, label in enumerate(scale.labels):
        one = found.row(by_predicate=(pl.col("model") == f"always {label}") & pl.col("reference"), named=True)
        expected = twin(votes, {item: [point] for item in asked}, list(scale.values), level, tolerance)
        assert (one["omega"], one["advantage"]) == pytest.approx(expected[:2], nan_ok=True)
        assert not one["stands_in"]
    for model, given in answers.items():  # the best constant is sought on the items of the model
        one = found.row(by_predicate=pl.col("model") == model, named=True)
        shares = [
            twin(votes, {item: [point] for item in given}, list(scale.values), level, tolerance)[1]
            for point in range(len(scale))
        ]
        best = math.nan if one["constant_advantage"] is None else one["constant_advantage"]
        assert best == pytest.approx(max(shares), nan_ok=True)


def test_one_human_against_scipy() -> None:
    rng = np.random.default_rng(3)
    own, answers = rng.integers(0, 4, size=60), rng.integers(0, 4, size=60)
    others = rng.multinomial(5, [0.25] * 4, size=60)
    values = [0.0, 1.0, 2.5, 7.0]
    votes = {
        item: {"h": int(own[item])}
        | {f"o{point}-{k}": point for point in range(4) for k in range(int(others[item, point]))}
        for item in range(60)
    }
    pairs = contests_of(votes, {item: [int(answers[item])] for item in range(60)}, values, "interval")["h"]
    behind = [rater - model for model, rater in pairs]
    found = advantage(own, others, answers, 0.15, values=values)
    assert found.n_items == 60
    assert found.advantage == pytest.approx(np.mean([model for model, _ in pairs]))
    assert found.behind == pytest.approx(np.mean(behind))
    assert found.p_value == pytest.approx(ttest_1samp(behind, 0.15, alternative="less").pvalue)


def test_without_variance_the_value_decides() -> None:
    n = np.array([40, 40, 40])
    assert stand_in_p(n, [-40, 0, 40], [40, 0, 40], 0.1).tolist() == [0.0, 0.0, 1.0]
    assert stand_in_p([40], [0], [0], 0.0).tolist() == [1.0]  # 0 is not below 0
    assert np.isnan(stand_in_p([1], [0], [0], 0.1)).all()
    assert math.isnan(advantage([], np.zeros((0, 3)), []).p_value)


@pytest.mark.parametrize(("wrong", "message"), [
    ({"tolerance": 0.5}, "tolerance is 0.5"), ({"own": [0, None]}, "own has an item without"),
    ({"own": [0]}, "own has the shape"), ({"level": "silly"}, "level is 'silly'"), ({"answers": [0, 9]}, "holds 9"),
])  # fmt: skip
def test_bad_input_gets_one_clear_error(wrong: dict[str, Any], message: str) -> None:
    given = {"own": [0, 1], "others": [[1, 1], [2, 0]], "answers": [0, None], **wrong}
    with pytest.raises(InputError, match=message):
        advantage(**given)


# Published and real data ---------------------------------------------------------------------------------------------
def test_published_winning_rates_and_advantages(real_data: Path) -> None:
    """Of the six models of the paper none is near a constant; tests/test_reproduce.py has their published ω and ρ."""
    found = printed.aligned(real_data / "alt_test").stand_ins().filter(~pl.col("reference"))
    assert found.height == 6
    assert found["stands_in"].all()


@pytest.fixture(scope="module")
def dices(real_data: Path) -> pv.Ratings:
    folder = real_data / "dices350"
    read = pv.read_ratings(folder / "ratings.csv", raters=folder / "raters.csv", scale="No,Unsure,Yes")
    return read.where(raters={"removed": "False"})


@pytest.mark.parametrize("level", ["ordinal", "nominal"])
def test_on_dices_answers_without_judgement_are_refused(dices: pv.Ratings, level: str) -> None:
    rng = np.random.default_rng(11)
    ids, counts = dices.items["item"].to_list(), dices.counts()
    marginal = counts.sum(axis=0) / counts.sum()
    answers = {
        "coin": 2 * rng.integers(2, size=len(ids)), "die": rng.integers(3, size=len(ids)),
        "marginal": rng.choice(3, size=len(ids), p=marginal), "mode": counts.argmax(axis=1),
        **{f"all {label}": np.full(len(ids), at) for at, label in enumerate(("No", "Unsure", "Yes"))},
    }  # fmt: skip
    frame = pl.concat(pl.DataFrame({"model": name, "item": ids, "point": points}) for name, points in answers.items())
    found = pv.alignment(dices, frame, level=level, **QUICK)
    table = {one["model"]: one for one in found.stand_ins().iter_rows(named=True)}
    assert {name: table[name]["stands_in"] for name in answers} == {name: name == "mode" for name in answers}
    for name in answers.keys() - {"mode"}:
        assert "fewer than half" in table[name]["why"] or "not clearly closer to the others than" in table[name]["why"]
    text = " ".join(found.findings())
    assert "mode may stand in for a rater" in text
    assert "all No is not said to stand in for a rater, though its ω is" in text
    assert "ω alone cannot tell a judge from a constant here: always No" in text
    if level == "ordinal":  # the values that the definition gives
        assert table["always No"]["omega"] == pytest.approx(0.58, abs=0.005)
        assert table["always Unsure"]["omega"] == pytest.approx(0.98, abs=0.005)
    claims = [one for one in found.statements() if one.statistic == "stand_in" and one.claim]
    assert [one.p for one in claims] == [pytest.approx(table["mode"]["p_adjusted"])]
    assert table["mode"]["p_adjusted"] == pytest.approx(7 / (DRAWS + 1))  # Holm over seven


# Closer than the best constant? --------------------------------------------------------------------------------------
def crowd(seed: int, n_items: int, n_humans: int, share: float, right: float) -> tuple[Any, Any]:
    """Return ratings of a study where each human rated a share of the items, and a model that is right so often."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(3, size=n_items, p=[0.8, 0.1, 0.1])
    votes = {
        item: {f"h{h}": int(truth[item] if rng.random() < 0.5 else rng.integers(3)) for h in range(n_humans)
               if rng.random() < share}
        for item in range(n_items)
    }  # fmt: skip
    return votes, {"m": {item: [int(truth[item] if rng.random() < right else 0)] for item in range(n_items)}}


def exact_p(votes: Any, given: Given, point: int, n: int, seed: int) -> float:
    """Return the bootstrap p by drawing whole items, human by human."""
    rng = np.random.default_rng(seed)
    items = list(votes)
    humans = {human for item in items for human in votes[item]}
    own: dict[str, dict[int, float]] = {human: {} for human in humans}
    flat: dict[str, dict[int, float]] = {human: {} for human in humans}
    constant: Given = {item: [point] for item in items}
    for answers, into in ((given, own), (constant, flat)):
        for item in items:
            for human, pairs in contests_of({item: votes[item]}, answers, [0.0, 1.0, 2.0], "nominal").items():
                into[human][item] = pairs[0][0]
    enough = [human for human, met in own.items() if len(met) >= 30]
    gone = 0
    for _ in range(n):
        drawn = rng.choice(len(items), size=len(items)).tolist()
        leads = []
        for human in enough:
            mine = [items[at] for at in drawn if items[at] in own[human]]
            if mine:
                leads.append(sum(own[human][item] - flat[human][item] for item in mine) / len(mine))
        gone += sum(leads) / len(leads) <= 1e-12
    return (gone + 1) / (n + 1)


@pytest.mark.parametrize(("seed", "share", "right"), [(2, 1.0, 0.05), (3, 0.6, 0.12), (5, 0.6, 0.3)])
def test_the_bootstrap_against_drawing_items_one_by_one(seed: int, share: float, right: float) -> None:
    votes, answers = crowd(seed, 90, 8, share, right)
    ratings, frame = frames_of(votes, answers, pv.Scale(["a", "b", "c"]))
    one = pv.alignment(ratings, frame, level="nominal", tolerance=0.3, **QUICK).stand_ins().row(0, named=True)
    expected = exact_p(votes, answers["m"], 0, 1000, seed)
    assert one["constant"] == "always a"
    assert 0.005 < expected < 0.5  # else it would show nothing
    assert one["p_value"] == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / 1000) + 0.01)


def test_a_model_that_is_the_best_constant_never_beats_it() -> None:
    votes, answers = crowd(4, 90, 8, 1.0, 0.0)
    ratings, frame = frames_of(votes, answers, pv.Scale(["a", "b", "c"]))
    one = pv.alignment(ratings, frame, level="nominal", tolerance=0.3, **QUICK).stand_ins().row(0, named=True)
    assert one["omega"] >= 0.5
    assert (one["p_value"], one["stands_in"]) == (1.0, False)
    assert one["why"].startswith("it is not clearly closer to the others than always a")


def test_whether_a_model_stands_in_is_not_denied_where_nobody_rated_enough() -> None:
    votes, answers = crowd(4, 12, 8, 1.0, 0.9)  # 30 items are needed
    ratings, frame = frames_of(votes, answers, pv.Scale(["a", "b", "c"]))
    shown = pv.alignment(ratings, frame, level="nominal", **QUICK).to_markdown()
    table = shown[shown.index("| stands in |") :].split("\n\n")[0].splitlines()
    ends = {line.split(" | ")[0]: line.rsplit(" | ", 1)[-1] for line in table[2:]}
    assert ends.pop("| m") == "– |"
    assert set(ends.values()) == {"reference |"}


def test_p_is_corrected_over_all_models_of_the_call() -> None:
    votes, answers = crowd(5, 80, 6, 1.0, 0.9)
    several = {f"m{k}": answers["m"] for k in range(4)} | {"poor": {item: [2] for item in votes}}
    ratings, frame = frames_of(votes, several, pv.Scale(["a", "b", "c"]))
    found = pv.alignment(ratings, frame, level="nominal", **QUICK)
    table = found.stand_ins().filter(~pl.col("reference"))
    good = table.filter(pl.col("model") != "poor")
    assert good["p_value"].to_list() == [1 / (DRAWS + 1)] * 4
    assert good["p_adjusted"].to_list() == pytest.approx([5 / (DRAWS + 1)] * 4)
    poor = table.filter(model="poor").row(0, named=True)
    assert (poor["p_value"], poor["p_adjusted"], poor["stands_in"]) == (None, None, False)


@pytest.mark.parametrize("design", ["crossed", "three experts"])
def test_judges_stand_in_and_others_do_not(design: str) -> None:
    """A slice of what tests/claims/stand_in.py measures."""
    for answerer in ("coin", "marginal", "always the first", "always the second", "no noise"):
        assert [stand_in.stands_in(design, answerer, seed) for seed in range(2)] == [answerer == "no noise"] * 2


# References ----------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def study() -> tuple[pv.Ratings, pl.DataFrame]:
    made = pv.simulate(n_items=60, n_raters=20, seed=2)
    assert made.answers is not None
    return made.ratings, made.answers


def test_references_have_the_distances_of_what_they_answer(study: tuple[pv.Ratings, pl.DataFrame]) -> None:
    ratings, answers = study
    found = pv.alignment(ratings, answers, "gender", **QUICK)
    ids = ratings.items["item"].to_list()
    for at, label in enumerate(ratings.scale.labels):
        as_model = pl.DataFrame({"model": "x", "item": ids, "point": at})
        alone = pv.alignment(ratings, as_model, "gender", **QUICK)
        for statistic in ("ada_met", "voter_distance", "expected_emd"):
            for key in ({}, {"axis": "gender", "group": "Woman"}):
                assert found.value(f"always {label}", statistic, **key) == alone.value("x", statistic, **key)
    frame = found.to_frame()
    named = set(frame.filter("reference")["model"])
    assert named == {*(f"always {label}" for label in ratings.scale.labels), "draw from votes", "uniform draw"}
    assert not named & {voice.model for voice in found.voices}
    assert not named & set(found.closest()["model"]) | named & set(found.standings()["model"])
    assert not named & set(found.accounts()["model"])
    assert found.alphas().filter(models="all models")["n_models"].to_list() == [3, 3]
    assert set(frame.filter("reference")["statistic"]) == {
        "ada_met", "ada_met_answered", "voter_distance", "expected_emd",
    }  # fmt: skip


def test_random_references_do_not_depend_on_the_order_of_rows(study: tuple[pv.Ratings, pl.DataFrame]) -> None:
    ratings, answers = study
    rows = ratings.to_frame().sample(fraction=1.0, shuffle=True, seed=1)
    again = pv.Ratings.from_frame(rows.select("item", "rater", "score"), scale=ratings.scale)
    shuffled = answers.sample(fraction=1.0, shuffle=True, seed=2)
    columns = ("model", "statistic", "value")
    frames = [
        pv.alignment(one, given, seed=seed, **QUICK).to_frame().filter("reference").select(columns)
        for one, given, seed in ((ratings, answers, 0), (again, shuffled, 0), (ratings, answers, 1))
    ]
    assert frames[0].equals(frames[1])
    assert not frames[0].equals(frames[2])


def test_random_references_have_the_shares_they_are_drawn_by() -> None:
    rng = np.random.default_rng(0)
    n, shares = 4000, [0.7, 0.05, 0.25]
    votes = pl.DataFrame({"item": range(n), "rater": "r", "score": rng.choice(3, size=n, p=shares)})
    ratings = pv.Ratings.from_frame(votes, scale="0:2")
    answers = pl.DataFrame({"model": "m", "item": range(n), "point": 0})
    from plurivox.lenses.alignment.matching import References, as_answers, match

    made = References.of(match(ratings, as_answers(answers, ratings), None), 7).matched
    for name, expected in (("draw from votes", shares), ("uniform draw", [1 / 3] * 3)):
        own = made.voice == [voice.model for voice in made.voices].index(name)
        assert np.bincount(made.point[own], minlength=3) / n == pytest.approx(expected, abs=0.03)  # four errors


def test_a_model_that_is_called_like_a_reference_stays_a_model(study: tuple[pv.Ratings, pl.DataFrame]) -> None:
    ratings, answers = study
    renamed = answers.with_columns(model=pl.col("model").replace({"model-a": "always 2"}))
    found = pv.alignment(ratings, renamed, **QUICK)
    assert found.value("always 2") == pv.alignment(ratings, answers, **QUICK).value("model-a")
    assert "always 2 (reference)" in found.settings["references"]


def test_a_long_scale_has_constants_that_stand_for_its_votes() -> None:
    votes = np.zeros(101, dtype=int)
    votes[[10, 50, 90]] = [100, 30, 70]
    assert constant_points(votes).tolist() == [10, 50, 90]
    rng = np.random.default_rng(0)
    many = np.bincount(rng.integers(0, 1000, size=5000), minlength=1000)
    points = constant_points(many)
    assert len(points) <= MOST_CONSTANTS
    assert np.diff(points).max() < 120


def test_large_studies_take_about_a_second(study: tuple[pv.Ratings, pl.DataFrame]) -> None:
    from time import perf_counter

    from plurivox.engine.pool import Running
    from plurivox.lenses.alignment.matching import References, as_answers, match
    from plurivox.lenses.alignment.stand_ins import StandIns
    from plurivox.lenses.alignment.sums import Aligner

    rng = np.random.default_rng(0)
    n_items, n_humans, n_models = 1000, 200, 20
    truth = rng.integers(0, 5, size=n_items)[:, None]
    scores = np.clip(truth + rng.integers(-1, 2, size=(n_items, n_humans)), 0, 4)
    ids = np.arange(n_items)
    rated = {"item": np.repeat(ids, n_humans), "rater": np.tile(np.arange(n_humans), n_items), "score": scores.ravel()}
    ratings = pv.Ratings.from_frame(pl.DataFrame(rated), scale="0:4")
    points = np.clip(truth + rng.integers(-1, 2, size=(n_items, n_models)), 0, 4)
    answers = pl.DataFrame({
        "item": np.repeat(ids, n_models), "model": np.tile([f"m{k}" for k in range(n_models)], n_items),
        "point": points.ravel(),
    })  # fmt: skip
    matched = match(ratings, as_answers(answers, ratings), None)
    work = StandIns(
        Aligner(matched, np.ones(5), 0, Running()), References.of(matched, 0), "ordinal", 0.1
    )  # fmt: skip
    work.table()  # compiled
    start = perf_counter()
    assert work.table().filter(~pl.col("reference")).height == n_models
    assert perf_counter() - start < 3  # about 0.2 s; the machine may be busy
