"""Estimates and judge cards of weighted raters, against repeated raters and loops over pairs of distinct raters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.domain.ratings import Ratings
from plurivox.infer.claims import NOT_BOTH
from plurivox.infer.jackknife import LeftOut
from plurivox.lenses.judge.biases import weighted_quantiles
from plurivox.lenses.judge.verdicts import NOT_WEIGHTED
from plurivox.statistics.ppi import error_correlation, rater_variance
from support import run_cli

N_POINTS, N_ITEMS, N_RATED, N_RATERS = 4, 60, 40, 12
WHOLE = [2, 1, 3, 1, 2, 1, 1, 4, 2, 1, 3, 1]
REAL = [0.31, 1.7, 0.93, 2.4, 0.5, 1.1, 0.77, 1.9, 0.64, 0.85, 1.3, 0.2]
GROUPS = "aabbbcabccab"
Votes = list[tuple[int, int, int]]


def votes(seed: int = 5) -> Votes:
    """Return item, rater and score; the last rated items have one and two raters."""
    rng = np.random.default_rng(seed)
    level = rng.normal(1.5, 1.0, N_ITEMS)
    found = [
        (i, r, int(np.clip(round(level[i] + rng.normal() * 0.8 + (r % 3) / 4), 0, N_POINTS - 1)))
        for i in range(N_RATED)
        for r in range(N_RATERS)
        if rng.random() < 0.5
    ]
    return [one for one in found if one[0] < N_RATED - 2] + [(38, 4, 2), (39, 0, 1), (39, 7, 3)]


def answers(seed: int = 6) -> pl.DataFrame:
    """Return what two models say of all items, and what one refuses."""
    rng = np.random.default_rng(seed)
    means = {i: np.mean([s for j, _, s in votes() if j == i]) if i < N_RATED else 1.5 for i in range(N_ITEMS)}
    rows = [
        (m, i, int(np.clip(round(means[i] + rng.normal() * 0.7 + higher), 0, N_POINTS - 1)), state)
        for m, higher in (("m", 0.3), ("other", 0.0))
        for i in range(N_ITEMS)
        for state in ["refused" if m == "m" and i % 11 == 3 else "answered"]
    ]
    frame = pl.DataFrame(rows, schema=["model", "item", "point", "state"], orient="row")
    return frame.with_columns(point=pl.when(pl.col("state") == "answered").then("point"))


def study(
    given: Votes | None = None, times: Sequence[int] | None = None, weights: Sequence[float] | None = None
) -> Ratings:
    """Return the study with raters repeated, or with weights."""
    copies = times or [1] * N_RATERS
    each = [(i, f"{r:02}-{k}", s) for i, r, s in given or votes() for k in range(copies[r])]
    raters = pl.DataFrame(
        [(f"{r:02}-{k}", GROUPS[r]) for r in range(N_RATERS) for k in range(copies[r])], schema=["rater", "g"],
        orient="row",
    )  # fmt: skip
    frame = pl.DataFrame(each, schema=["item", "rater", "score"], orient="row")
    found = Ratings.from_frame(frame, scale=f"0:{N_POINTS - 1}", raters=raters)
    return found if weights is None else found.with_known(weights=np.array(weights, dtype=float))


def by_key(frame: pl.DataFrame, keys: Sequence[str], value: str = "value") -> dict[tuple[Any, ...], float]:
    return {tuple(row[name] for name in keys): row[value] for row in frame.iter_rows(named=True)}


def same(a: dict[Any, float], b: dict[Any, float], wanted: Callable[[Any], bool]) -> None:
    keys = [key for key in a if wanted(key)]
    assert keys
    np.testing.assert_allclose([a[key] for key in keys], [b[key] for key in keys], rtol=1e-10, atol=1e-12)


# Estimates ------------------------------------------------------------------------------------------------------------
KEYS = ("model", "of", "axis", "group", "subset", "statistic")
ESTIMATED: dict[str, Any] = {"by": "g", "threshold": 2, "min_group_size": 1}


def test_whole_weights_are_repeated_raters_in_estimates() -> None:
    weighted = pv.estimate(study(weights=WHOLE), answers(), **ESTIMATED)
    repeated = pv.estimate(study(times=WHOLE), answers(), **ESTIMATED)
    means = ("estimate", "estimate_humans", "estimate_model", "ppi_lambda")
    first, second = by_key(weighted.to_frame(), KEYS), by_key(repeated.to_frame(), KEYS)
    same(first, second, lambda key: key[-1] in means and key[0] != "best single judge")
    assert weighted.row("m", "estimate").n_ratings == len(votes())


def test_unweighted_estimates_stand_beside() -> None:
    weighted = pv.estimate(study(weights=REAL), answers(), width=0.3, **ESTIMATED).to_frame()
    alike = pv.estimate(study(), answers(), width=0.3, **ESTIMATED).to_frame()
    plain = by_key(weighted, KEYS, "unweighted")
    best = "best single judge"
    same(by_key(alike, KEYS), plain, lambda key: key[-1] != "estimate_model" and key[0] != best)
    assert plain["m", "mean", "all", "all", "all", "estimate_model"] is None
    assert weighted.filter(pl.col("value") != pl.col("unweighted")).height > 10


@pytest.mark.parametrize("lens", [pv.estimate, pv.judge])
@pytest.mark.parametrize("resample", ["items", "both"])
def test_weights_of_1_change_nothing(lens: Callable[..., Any], resample: str) -> None:
    asked = {"by": "g", "min_group_size": 1, "resample": resample}
    alike, ones = (lens(study(weights=own), answers(), **asked).to_frame() for own in (None, [1.0] * N_RATERS))
    assert ones.columns == [*alike.columns, "unweighted"]
    for name, kind in alike.schema.items():
        if kind == pl.Float64:
            a, b = (frame[name].fill_null(-9).to_numpy() for frame in (alike, ones))
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
        else:
            assert alike[name].equals(ones[name]), name
    known = ones.filter(pl.col("unweighted").is_not_null())
    assert known.height > 5
    np.testing.assert_allclose(known["value"], known["unweighted"], rtol=1e-9, atol=1e-9)


def item_means(given: Votes, weights: Sequence[float]) -> dict[int, float]:
    items: dict[int, list[tuple[int, float]]] = {}
    for i, r, s in given:
        items.setdefault(i, []).append((s, weights[r]))
    return {i: math.fsum(s * w for s, w in own) / math.fsum(w for _, w in own) for i, own in items.items()}


def test_the_weighted_rater_jackknife_against_leaving_out_each_rater_and_rating() -> None:
    given = votes()

    def mean(left: Votes) -> float:
        return float(np.mean(list(item_means(left, REAL).values())))

    whole = mean(given)
    left = np.array([mean([one for one in given if one[1] != r]) for r in range(N_RATERS)])
    of_raters = (N_RATERS - 1) / N_RATERS * ((left - left.mean()) ** 2).sum()
    of_ratings = sum((mean([one for one in given if one is not out]) - whole) ** 2 for out in given)
    item, rater, score = zip(*given, strict=True)
    found = rater_variance(item, rater, score, [REAL[r] for r in rater])
    assert found.variance == pytest.approx(max(0.0, of_raters - of_ratings), rel=1e-9)
    assert found.variance > 0


def test_the_chance_in_weighted_means_against_pairs_of_distinct_raters() -> None:
    found = pv.estimate(study(weights=REAL), answers(), resample="items")
    items: dict[int, list[tuple[int, float]]] = {}
    for i, r, s in votes():
        items.setdefault(i, []).append((s, REAL[r]))
    given = answers().filter(state="answered").pivot("model", index="item", values="point").drop_nulls()
    asked = {row["item"]: (row["m"], row["other"]) for row in given.iter_rows(named=True) if row["item"] in items}
    errors = []
    for i in asked:
        total = math.fsum(w for _, w in items[i])
        pairs = [(v * w, (a - b) ** 2 / 2) for (a, v), (b, w) in itertools.permutations(items[i], 2)]
        if pairs:
            spread = math.fsum(w * d for w, d in pairs) / math.fsum(w for w, _ in pairs)
            errors.append(spread * math.fsum(w * w for _, w in items[i]) / total**2)
    means = item_means(votes(), REAL)
    human, model = [means[i] for i in asked], np.array(list(asked.values()), dtype=float)
    expected = error_correlation(human, model, float(np.mean(errors)))[0, 1]
    one = found.errors().filter(model="m", other_model="other").row(0, named=True)
    assert one["correlation"] == pytest.approx(expected, rel=1e-9)


# Judge cards ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_whole_weights_are_repeated_raters_on_cards(level: str) -> None:
    asked: dict[str, Any] = {"by": "g", "min_group_size": 1, "level": level}
    weighted, repeated = (
        pv.judge(own, answers(), **asked) for own in (study(weights=WHOLE), study(times=WHOLE))
    )  # fmt: skip
    keys = ("model", "quantity")
    for column, wanted in (
        ("value", ("agreement", "distance", "lead", "bias", "largest_bias", "answered", "refused")),
        ("constant", ("agreement", "distance")), ("marginal", ("agreement", "distance", "consistency")),
    ):  # fmt: skip
        first, second = (by_key(found.card(), keys, column) for found in (weighted, repeated))
        same(first, second, lambda key, wanted=wanted: key[1] in wanted)  # type: ignore[misc]
    groups = ("model", "axis", "group")
    same(by_key(weighted.biases(), groups), by_key(repeated.biases(), groups), lambda _: True)


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_raters_beside_each_other_against_pairs_of_distinct_raters(level: str) -> None:
    found = pv.judge(study(weights=REAL), answers(), level=level)
    asked = set(answers().filter(model="m", state="answered")["item"])
    items: dict[int, list[tuple[int, float]]] = {}
    for i, r, s in votes():
        if i in asked:
            items.setdefault(i, []).append((s, REAL[r]))

    def apart(a: int, b: int) -> float:
        return float(a != b) if level == "nominal" else float((a - b) ** 2)

    paired = [own for own in items.values() if len(own) > 1]
    observed = chance = total = square = 0.0
    far, equal = [], []
    for own in paired:
        weight = math.fsum(w for _, w in own)
        pairs = [(a, b, v * w) for (a, v), (b, w) in itertools.permutations(own, 2)]
        whole = math.fsum(w for *_, w in pairs)
        observed += weight * math.fsum(w * apart(a, b) for a, b, w in pairs) / whole
        step = [(float(a != b) if level == "nominal" else abs(a - b), w) for a, b, w in pairs]
        far.append(math.fsum(d * w for d, w in step) / whole)
        equal.append(math.fsum(w for a, b, w in pairs if a == b) / whole)
        total, square = total + weight, square + math.fsum(w * w for _, w in own)
    every = [one for own in paired for one in own]
    chance = math.fsum(v * w * apart(a, b) for (a, v), (b, w) in itertools.product(every, repeat=2))
    alpha = 1 - observed / total / (chance / (total**2 - square))
    assert found.cell("m", "agreement")["humans"] == pytest.approx(alpha, rel=1e-10)
    assert found.cell("m", "distance")["humans"] == pytest.approx(np.mean(far), rel=1e-10)
    assert found.cell("m", "consistency")["humans"] == pytest.approx(np.mean(equal), rel=1e-10)


@pytest.mark.parametrize("quantity", ["agreement", "distance", "bias"])
def test_intervals_over_raters_against_leaving_each_out_by_hand(quantity: str) -> None:
    def card(out: int) -> dict[str, Any]:
        left = study([vote for vote in votes() if vote[1] != out], weights=[w for r, w in enumerate(REAL) if r != out])
        return pv.judge(left, answers(), resample="raters", level="interval").cell("m", quantity)

    one = card(-1)
    left = [card(r)["value"] for r in range(N_RATERS)]
    scale = "fisher" if quantity == "agreement" else "plain"
    ends = LeftOut(np.array([[one["value"]]]), (np.array(left).reshape(-1, 1, 1),))
    low, high, _ = ends.interval([scale], [(-math.inf, math.inf)])
    assert (one["ci_low"], one["ci_high"]) == pytest.approx((float(low[0, 0]), float(high[0, 0])), rel=1e-8)


def test_what_single_raters_have_against_a_loop() -> None:
    found = pv.judge(study(weights=REAL), answers()).biases().filter(model="m").row(0, named=True)
    own: dict[int, list[float]] = {}
    for i, r, s in votes():
        others = [(t, REAL[q]) for j, q, t in votes() if j == i and q != r]
        if others:
            mean = math.fsum(t * w for t, w in others) / math.fsum(w for _, w in others)
            own.setdefault(r, []).append(s - mean)
    means = np.array([np.mean(own[r]) for r in sorted(own)])
    low, high = weighted_quantiles(means, np.array([REAL[r] for r in sorted(own)]), (0.05, 0.95))
    assert (found["humans_low"], found["humans_high"]) == pytest.approx((low, high))


def test_weighted_quantiles_are_those_of_numpy_where_weights_are_alike() -> None:
    values, wanted = np.random.default_rng(1).normal(size=9), (0.0, 0.05, 0.4, 0.95, 1.0)
    found = weighted_quantiles(values, np.full(9, 0.7), wanted)
    np.testing.assert_allclose(found, np.quantile(values, wanted), rtol=1e-12)
    doubled = weighted_quantiles(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 1.0]), (0.25, 0.5))
    assert doubled.tolist() == [0.5, 1.0]


def test_unweighted_values_stand_on_the_card() -> None:
    weighted, alike = (pv.judge(own, answers(), by="g", min_group_size=1) for own in (study(weights=REAL), study()))
    keys = ("model", "quantity")
    plain, values = by_key(weighted.card(), keys, "unweighted"), by_key(alike.card(), keys)
    told = ("agreement", "relative", "distance", "lead", "bias", "worth")
    same(values, plain, lambda key: key[1] in told)
    assert all(value is None for key, value in plain.items() if key[1] not in told)
    assert weighted.value("m", "agreement") != alike.value("m", "agreement")
    assert weighted.value("m", "omega") == pytest.approx(alike.value("m", "omega"), nan_ok=True)
    assert weighted.biases()["unweighted"].to_list() == pytest.approx(alike.biases()["value"].to_list())
    worth = pv.estimate(study(weights=REAL), answers()).row("m", "ppi_worth")
    assert (weighted.value("m", "worth"), plain["m", "worth"]) == (worth.value, worth.unweighted)


# What is said ---------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def simulated() -> pv.Simulation:
    return pv.simulate(n_items=120, n_raters=60, n_rated=60, ratings_per_item=6, seed=2)


def raked(study: pv.Simulation, value: float = 0.3) -> Ratings:
    shares = {"Man": value, "Woman": 1 - value}
    return study.ratings.where(raters={"gender": list(shares)}).weighted({"gender": shares})


@pytest.mark.parametrize("lens", [pv.estimate, pv.judge])
def test_weights_are_said_and_survive_json(simulated: pv.Simulation, lens: Callable[..., Any]) -> None:
    found = lens(raked(simulated), simulated.answers)
    told = next(text for text in found.findings() if text.startswith("Raters are weighted by gender"))
    assert "They change" in told
    again = type(found).from_json(found.to_json())
    assert again.findings() == found.findings()
    assert again.to_frame().equals(found.to_frame())
    assert (NOT_WEIGHTED in found.findings()) == (lens is pv.judge)
    assert NOT_BOTH not in found.findings()


@pytest.mark.parametrize("lens", [pv.estimate, pv.judge])
def test_means_are_not_told_both_ways_where_a_raked_value_is_withheld(
    simulated: pv.Simulation, lens: Callable[..., Any]
) -> None:
    found = lens(raked(simulated), simulated.answers, min_group_size=40)
    assert "unweighted" not in found.to_frame().columns
    assert all(row.unweighted is None for row in found.rows)


def test_commands_weight_raters_and_show_both(tmp_path: Path) -> None:
    folder, population = tmp_path / "study", tmp_path / "population.csv"
    made = run_cli("simulate", folder, "--items", 90, "--rated", 40, "--raters", 50, "--ratings-per-item", 5)
    assert made.code == 0, made.err
    ages = pl.read_csv(folder / "raters.csv")["age"].unique().drop_nulls().to_list()
    population.write_text("\n".join(["attribute,value,share", *(f"age,{age},{1 / len(ages)}" for age in ages)]))
    for command in ("estimate", "judge"):
        given = (folder / "ratings.csv", folder / "answers.csv", "--raters", folder / "raters.csv")
        done = run_cli(command, *given, "--weights", population, "--min-group-size", 1, "--all")
        assert done.code == 0, done.err
        assert "Weighted values, unweighted ones in brackets" in done.out
        assert "does not use weights" not in done.err
