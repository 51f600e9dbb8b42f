"""The plan of what to collect: lenses that apply, groups too small, and the power to claim a group."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from claims import planned
from plurivox.actions.plan import power
from plurivox.actions.plan import result as words
from plurivox.actions.plan import run as standing
from plurivox.actions.plan.crowd import MOST_POINTS, PLAIN_SHUFFLES, SHUFFLES, Crowd, Layout, Shape, Studies, coarse
from plurivox.actions.plan.power import PowerFit, Powers, shapes_around
from plurivox.actions.plan.result import LENSES, SCHEMAS
from plurivox.actions.plan.run import PilotStanding, family_of, need_of
from plurivox.actions.plan.settings import MOST_TIMES, PlanSettings
from plurivox.base.errors import InputError, SelectionError
from plurivox.domain.axis import Axis
from plurivox.engine.draws import counts_of as group_counts
from plurivox.engine.pool import Running
from plurivox.infer.exchange import Exchange
from plurivox.infer.families import step_down
from plurivox.infer.grouping import compared
from plurivox.statistics import gai, krippendorff_alpha
from support import Write

QUICK: dict[str, Any] = {"simulations": 2, "permutations": 100}
CLAIMS = ("irr", "xrr", "gai", "view_correlation")


def study(n_items: int = 30, n_raters: int = 40, seed: int = 1, **options: Any) -> pv.Ratings:
    return pv.simulate(n_items=n_items, n_raters=n_raters, seed=seed, **options).ratings


def frame_of(groups: list[str], n_items: int = 12, top: int = 3, seed: int = 0) -> pl.DataFrame:
    """Return ratings of every item by one rater for each entry of ``groups``, alike but for noise."""
    rng = np.random.default_rng(seed)
    base = rng.integers(0, top + 1, n_items)
    rows = []
    for r, group in enumerate(groups):
        noise = rng.random(n_items) < 0.4
        score = np.where(noise, rng.integers(0, top + 1, n_items), base)
        rows += [(f"i{i:02}", f"r{r:03}", int(score[i]), group) for i in range(n_items)]
    return pl.DataFrame(rows, schema=["item", "rater", "score", "group"], orient="row")


def ratings_of(frame: pl.DataFrame, top: int = 3) -> pv.Ratings:
    return pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, top), rater_attributes=["group"])


def applies(plan: pv.Plan) -> dict[str, str]:
    return dict(plan.to_frame().select("lens", "applies").iter_rows())


def drawn(crowd: Crowd, n_raters: int, n_items: int, view: float, seed: int) -> np.ndarray[Any, Any]:
    """Return scores of a crowd, items × raters, by its definition; the first half of the raters share a view."""
    rng = np.random.default_rng(seed)
    noise = np.sqrt(crowd.noise) * np.exp(crowd.unequal * rng.normal(size=n_raters) - crowd.unequal**2)
    latent = np.sqrt(crowd.items) * rng.normal(size=(n_items, 1)) + np.sqrt(crowd.leniency) * rng.normal(size=n_raters)
    latent = latent + noise * rng.normal(size=latent.shape)
    latent[:, : n_raters // 2] += view * rng.normal(size=(n_items, 1))
    return np.asarray(np.searchsorted(crowd.cuts, latent.ravel()).reshape(latent.shape))


def counted(scores: np.ndarray[Any, Any], n_points: int) -> np.ndarray[Any, Any]:
    return np.stack([(scores == c).sum(axis=1) for c in range(n_points)], axis=1)


@pytest.mark.parametrize(("target", "unequal"), [(1.1, 0.0), (1.5, 0.6)])
def test_the_gai_of_a_simulated_group_is_the_one_asked_for(target: float, unequal: float) -> None:
    crowd = Crowd.of(study(60, 60)).fitted(unequal)
    n_points = len(crowd.shares)
    found = []
    for seed in range(3):
        scores = drawn(crowd, 400, 1500, crowd.view(target), seed)
        found.append(gai(counted(scores[:, :200], n_points), counted(scores[:, 200:], n_points), "ordinal"))
    assert np.mean(found) == pytest.approx(target, abs=0.03)


@pytest.mark.parametrize("unequal", [0.0, 0.8])
def test_a_crowd_agrees_as_the_study_it_was_learned_from(unequal: float) -> None:
    ratings = study(200, 60, seed=2)
    crowd = Crowd.of(ratings).fitted(unequal)
    assert crowd.agreement == pytest.approx(krippendorff_alpha(ratings.counts(), "ordinal"))
    n_points, found = len(crowd.shares), []
    for seed in range(5):
        scores = drawn(crowd, 400, 1000, 0.0, seed)
        by_item, by_rater = counted(scores, n_points), counted(scores.T, n_points)
        alphas = krippendorff_alpha(by_item, "ordinal"), krippendorff_alpha(by_rater, "ordinal")
        found.append((*alphas, *(by_item.sum(axis=0) / by_item.sum())))
    assert np.mean(found, axis=0) == pytest.approx([crowd.agreement, crowd.repeated, *crowd.shares], abs=0.025)


def test_long_scales_become_short_in_the_same_order() -> None:
    counts = np.random.default_rng(1).integers(0, 9, 101)
    place = coarse(counts)
    assert (np.diff(place) >= 0).all()
    assert place.max() + 1 == MOST_POINTS
    sizes = np.bincount(place, counts)
    assert sizes.max() < 1.5 * sizes.min()


def layout_of(ratings: pv.Ratings) -> Layout:
    return Layout.of(ratings, Exchange.of(ratings))


def test_everybody_rates_everything_where_everybody_did() -> None:
    item, rater, strata = layout_of(study(10, 8)).cells(Shape(5, 6, 12), np.random.default_rng(0))
    assert len(set(zip(item.tolist(), rater.tolist(), strict=True))) == 11 * 12
    assert strata is None
    assert (np.diff(item * 11 + rater) > 0).all()


def test_simulated_raters_stay_in_blocks() -> None:
    rng = np.random.default_rng(0)
    ratings = planned.made(planned.STUDIES[3], 0.0, 1)
    item, rater, strata = layout_of(ratings).cells(Shape(60, 100, 160), rng)
    assert strata is not None
    seen = [set(item[rater == r].tolist()) for r in range(160)]
    for r in range(1, 160):
        assert (seen[r] == seen[0]) == (strata[r] == strata[0])
        assert seen[r] == seen[0] or not seen[r] & seen[0]
    assert np.bincount(strata).tolist() == [40] * 4


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_raters_of_a_sparse_study_rate_as_large_a_share(share: float) -> None:
    layout = Layout(np.array([share, share / 2]), np.zeros((0, 0), bool), None)
    item, rater, _ = layout.cells(Shape(200, 200, 500), np.random.default_rng(0))
    assert len(np.unique(item * 400 + rater)) == len(item)
    per_rater = np.sort(np.bincount(rater, minlength=400)) / 500
    assert per_rater[:200].mean() == pytest.approx(share / 2, rel=0.05)
    assert per_rater[200:].mean() == pytest.approx(share, rel=0.05)


def test_without_a_view_no_group_lies_apart() -> None:
    ratings = study(40, 40)
    work = Studies(Crowd.of(ratings), layout_of(ratings), (Shape(12, 28, 40),), 0.0, 1)
    seen = np.array(work(0, 60))
    z = seen[:, 0] / np.sqrt(seen[:, 1])
    assert abs(z.mean()) < 3.5 * z.std() / math.sqrt(60)
    assert (seen[:, 0] == seen[:, 2]).all()
    assert (seen[:, 1] == seen[:, 3]).all()


def test_chance_makes_simulated_groups_differ_as_much_as_real_ones(real_data: Path) -> None:
    folder = real_data / "dices350"
    scale = pv.Scale(["No", "Unsure", "Yes"])
    ratings = pv.read_ratings(folder / "ratings.csv", raters=folder / "raters.csv", scale=scale)
    asked, exchange = PlanSettings(permutations=400), Exchange.of(ratings)
    pilot = standing.Pilot.of(ratings, exchange, [(20, 103)], asked)
    assert (pilot.shape, pilot.share) == (Shape(20, 103, 350), 1.0)
    crowd = power.unequal_as(pilot.crowd, pilot.layout, pilot.shape, pilot.variance, 1, Running())
    assert 0.2 < crowd.unequal < 1.2
    for n in (10, 40):  # learned at one size, held against others
        real = standing.Pilot.of(ratings, exchange, [(n, 123 - n)], asked).variance
        seen = np.array(Studies(crowd, pilot.layout, (Shape(n, 123 - n, 350),), 0.0, 2)(0, 16))
        assert math.sqrt(seen[:, 3].mean()) == pytest.approx(math.sqrt(real), rel=0.15)


SHAPES = shapes_around([(10, 40), (20, 30), (25, 25)], 60)


def variance_of(shape: Shape) -> float:
    return 0.1 / shape.n_group + 0.05 / shape.n_rest + 20 / (shape.n_group**2 * shape.n_items)


def made_up(n: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Return what studies would show that follow known laws: .3 + 1/n apart, less certain with fewer items."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(n * len(SHAPES)):
        shape = SHAPES[number % len(SHAPES)]
        variance = variance_of(shape)
        chance = rng.normal(0, math.sqrt(variance * (1 + 1 / SHUFFLES)))
        own = rng.normal(0, math.sqrt(0.6 / shape.n_items))
        sampled = [variance * rng.chisquare(k - 1) / (k - 1) for k in (SHUFFLES, PLAIN_SHUFFLES)]
        rows.append((0.3 + 1 / shape.n_group + chance + own, sampled[0], chance, sampled[1]))
    return np.array(rows)


def test_a_fit_finds_the_laws_that_studies_follow() -> None:
    fit = PowerFit.of(SHAPES, made_up(150))
    for shape in (Shape(15, 60, 50), Shape(12, 40, 60), Shape(9, 60, 80)):
        variance = variance_of(shape)
        assert fit.null_variance(shape) == pytest.approx(variance, rel=0.1)
        for factor in (1.0, 1.5):
            z = (0.3 + 1 / shape.n_group) / math.sqrt(factor * variance)
            beyond = (z - 3.0) / math.sqrt(1 + 0.6 / (shape.n_items * factor * variance))
            expected = 0.5 * (1 + math.erf(beyond / math.sqrt(2)))
            assert 0.1 < expected < 0.99
            assert fit.power(shape, factor, 3.0) == pytest.approx(expected, abs=0.05)


def test_the_error_of_power_is_that_of_repeated_simulations() -> None:
    shape, largest = Shape(20, 30, 60), np.random.default_rng(5).normal(3, 0.4, 1000)
    found = [Powers.of(SHAPES, made_up(40, seed), largest).power(shape, np.ones(11)) for seed in range(15)]
    spread = np.std([one[0] for one in found])
    errors = np.mean([(one[2] - one[1]) / 3.92 for one in found])
    assert 0.6 * spread < errors < 2.5 * spread  # thresholds, which are the same here, add to the error
    few = Powers.of(SHAPES, made_up(5), largest)
    assert few.power(shape, np.ones(1))[1:] == (0.0, 1.0)


def test_what_a_claim_takes_is_what_the_whole_call_takes() -> None:
    ratings = study(40, 60, attributes={"a": {"x": 0.5, "y": 0.5}, "b": {"p": 0.3, "q": 0.3, "r": 0.4}})
    asked = PlanSettings(by=(("a",), ("b",)), permutations=200, seed=3)
    axes = list(compared(ratings, asked.by, {}))
    family = family_of(ratings, axes, asked, Exchange.of(ratings), Running())
    call = pv.cohesion(ratings, ["a", "b"], permutations=200, max_permutations=200, interval="none", seed=3)
    observed, null = [], []
    for draws in call.draws:
        for at, group in enumerate(draws.groups):
            for name in CLAIMS:
                observed.append(call.value(draws.axis, group, name))
                null.append(draws.null[:, at, draws.statistics.index(name)])
            row = next(one for one in family.standings if one.group == group)
            assert row.variance == pytest.approx(np.var(null[-2], ddof=1))
    # The corrected p of the value that deviates most is how many shuffles reach it.
    adjusted = step_down(observed, np.array(null).T)
    z = np.array(observed) - np.mean(np.vstack([observed, np.array(null).T]), axis=0)
    z /= np.std(np.vstack([observed, np.array(null).T]), axis=0)
    most = np.abs(z).max()
    assert (np.count_nonzero(family.largest >= most * (1 - 1e-9)) + 1) / 201 == pytest.approx(np.nanmin(adjusted))


def test_a_group_needs_the_smallest_study_that_is_enough() -> None:
    powers = Powers.of(SHAPES, made_up(40), np.random.default_rng(5).normal(3, 0.3, 500))
    now = Shape(8, 40, 60)
    one = PilotStanding("a", "x", 8, now, powers.fits[0].null_variance(now), "")
    need = need_of(one, now, powers, 0.8)
    factors = powers.factors(now, one.variance)
    assert need.now is not None
    assert need.raters is not None
    assert need.now.power < 0.8 <= need.raters.power
    assert need.raters.shape == now._replace(n_group=need.raters.shape.n_group)
    assert powers.value(need.raters.shape._replace(n_group=need.raters.shape.n_group - 1), factors) < 0.8
    assert need.items is not None
    assert need.items.shape == now._replace(n_items=MOST_TIMES * 60)  # not enough
    assert need.items.power < 0.8
    assert need.everyone is None
    never = need_of(one, now, powers, 1.1)
    assert never.everyone is not None
    assert never.everyone.shape == Shape(80, 400, 600)
    assert need_of(one, now, powers, need.now.power - 0.01).raters is None


@pytest.mark.slow
def test_a_threshold_of_the_study_decides_as_the_whole_procedure_does() -> None:
    # Of 40 studies with a view, those above the threshold of one study of the design without, and those claimed.
    for design in (planned.STUDIES[1], planned.STUDIES[3]):
        asked = PlanSettings(by=tuple((axis,) for axis in design.by), permutations=400)
        plain = planned.made(design, 0.0, 5)
        axes = list(compared(plain, asked.by, {}))
        threshold = np.quantile(family_of(plain, axes, asked, Exchange.of(plain), Running()).largest, 0.95)
        same = []
        for seed in range(40):
            ratings = planned.made(design, planned.view_for(design), 500 + seed)
            found = pv.cohesion(ratings, design.by, interval="none", permutations=199)
            null, row = found.null("axis0", "g0", "gai"), found.row("axis0", "g0", "gai")
            same.append(((row.value - null.mean()) / null.std() > threshold) == row.claim)
        assert np.mean(same) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 3])
def test_plans_promise_what_studies_claim(number: int) -> None:
    design = planned.STUDIES[number]
    plans = planned.planned(design, 10, permutations=400, simulations=30)
    share = planned.claimed(design, 80, permutations=99).gai
    # ± .07, and two standard errors of a share of 80 and of a mean of 10 pilots, which differ by about .15.
    assert np.mean(plans.power) == pytest.approx(share, abs=0.07 + 2 * math.hypot(0.05, 0.15 / math.sqrt(10)))


def test_groups_are_counted_as_by_hand() -> None:
    frame = frame_of(["a"] * 6 + ["b"] * 8 + ["c"] * 5).filter(
        ~((pl.col("group") == "a") & (pl.col("item") < "i06") & (pl.col("rater") != "r000"))
    )
    frame = frame.filter(~((pl.col("group") != "a") & (pl.col("item") == "i11")))
    groups = pv.plan(ratings_of(frame), simulations=0).table("groups")
    row = groups.filter(pl.col("group") == "a").row(0, named=True)
    assert (row["n_raters"], row["n_ratings"], row["ratings_per_item"]) == (6, 6 + 36, 3.5)
    assert (row["n_items_twice"], row["n_items_shared"]) == (6, 11)
    assert groups["cohesion"].to_list() == ["yes"] * 3
    assert groups["psychometrics"].to_list() == ["yes"] * 3


def test_groups_that_never_meet_are_said_to() -> None:
    frame = frame_of(["a"] * 6 + ["b"] * 6).with_columns(item=pl.col("group") + pl.col("item"))
    plan = pv.plan(ratings_of(frame), **QUICK)
    groups = plan.table("groups")
    assert groups["cohesion"].to_list() == ["no item was rated by both sides"] * 2
    assert groups["responsiveness"].to_list() == ["no item was rated by both sides"] * 2
    assert applies(plan)["cohesion"] == "no"
    assert "group: a: cohesion is not possible, since no item was rated by both sides." in plan.findings()


def test_each_group_has_one_row() -> None:
    plan = pv.plan(ratings_of(frame_of(["a"] * 9 + ["b"] * 5 + ["c"] * 12)), **QUICK)
    table = plan.table("power")
    assert table.columns == list(SCHEMAS["power"])
    assert table.select("group", "n_raters", "n_rest", "n_items").rows() == [
        ("a", 9, 17, 12), ("b", 5, 21, 12), ("c", 12, 14, 12),
    ]  # fmt: skip
    assert table["power_now"].is_between(0, 1).all()
    assert table["why"].to_list() == [""] * 3


def test_a_clear_case_is_enough_and_says_so() -> None:
    ratings = study(80, 160, rater_sd=0.05, noise_sd=1.0, attributes={"side": {"left": 0.5, "right": 0.5}})
    plan = pv.plan(ratings, gai=1.8, **QUICK)
    table = plan.table("power")
    assert (table["power_now"] > 0.9).all()
    assert table["raters_needed"].to_list() == [None, None]
    assert plan.findings()[-2].startswith("Enough already, as far as simulation can show: side: left (power ")
    assert plan.findings()[-1] == words.ASSUMED


def row(group: str, now: float, **known: Any) -> dict[str, Any]:
    """Return a row of the table of power, of 20 raters among 100 and 350 items."""
    sizes = {"axis": "race", "group": group, "n_raters": 20, "n_rest": 80, "n_items": 350}
    given = {**sizes, "power_now": now, "ci_low": now - 0.03, "ci_high": now + 0.03, "why": "", **known}
    return {**dict.fromkeys(SCHEMAS["power"]), **given}


def test_the_least_effort_is_said_first() -> None:
    rows = [
        row("blind", 0.1, raters_power=0.3, items_power=0.2, all_power=0.6),
        row("many", 0.1, raters_power=0.6, items_power=0.2, all_raters=310, all_items=350, all_power=0.8),
        row("whole", 0.1, raters_power=0.6, items_power=0.2, all_raters=310, all_items=1085, all_power=0.8),
        row("items", 0.4, raters_power=0.7, items_needed=600, items_power=0.8),
        row("far", 0.2, raters_needed=95, raters_power=0.801, items_power=0.3),
        row("near", 0.41, raters_needed=51, raters_power=0.80, items_needed=700, items_power=0.8),
        row("there", 0.78, raters_needed=21, raters_power=0.8),
        row("odd", math.nan, power_now=None, why="nobody rated"),
    ]
    said = words.power_findings(rows, {"power": 0.8, "gai": 1.2})
    goal = "To claim with 80 % power that race: {} agree with each other more than with others (GAI 1.2), "
    assert said[0].startswith(
        "1 of 7 groups has about 80 % power. Power is the share of studies like this one that claim"
    )
    assert said[1] == goal.format("near") + (
        "recruit about 35 more raters of this group (20 now: power .41 ± .03; 51: .80), or have about 350 more items "
        "rated (350 now)."
    )
    assert said[2] == goal.format("far") + (
        "recruit about 75 more raters of this group (20 now: power .20 ± .03; 95: .80); more items alone would not be "
        "enough (3,500 items: .30)."
    )
    assert said[3] == goal.format("items") + (
        "have about 250 more items rated by the same raters (350 now: power .40 ± .03; 600: .80); more raters of this "
        "group alone would not be enough (200 raters: .70)."
    )
    assert said[4] == goal.format("many") + (
        "recruit about 210 more raters of all groups (100 now: power .10 ± .03; 310: .80); neither more raters of this "
        "group alone (200: .60) nor more items alone (3,500: .20) would be enough."
    )
    assert "more raters of all groups and have about 740 more items rated (100 now" in said[5]
    assert said[6] == "Enough already, as far as simulation can show: race: there (power .78 ± .03)."
    assert said[7] == (
        "Not enough even with 10 times as many items and raters of all groups: race: blind (power .10 ± .03 now, .60 "
        "then)."
    )
    assert said[8:] == ["race: odd: nothing can be claimed, since nobody rated.", words.ASSUMED]
    assert words.power_findings([], {}) == []
    assert words.power_findings(rows[-1:], {}) == said[8:9]


def test_of_large_studies_samples_are_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings = study(60, 50, attributes={"side": {"left": 0.5, "right": 0.5}})
    monkeypatch.setattr(standing, "MOST_RATINGS", 400)
    monkeypatch.setattr(standing, "MOST_RATERS", 20)
    pilot = standing.Pilot.of(ratings, Exchange.of(ratings), [(25, 25)], PlanSettings(permutations=100))
    assert (pilot.shape, pilot.share) == (Shape(10, 10, 20), 0.4)
    assert pilot.scaled([(25, 25), (5, 45)]) == [(10, 10), (2, 18)]
    monkeypatch.setattr("plurivox.actions.plan.run.MOST_SHUFFLED", 1500)
    table = pv.plan(ratings, **QUICK).table("power")
    assert table["n_items"].to_list() == [60, 60]
    assert (table["power_now"] > 0).all()


def test_of_many_blocks_whole_ones_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings = planned.made(planned.STUDIES[3], 0.0, 1)
    monkeypatch.setattr(standing, "MOST_RATERS", 45)
    pilot = standing.Pilot.of(ratings, Exchange.of(ratings), [(24, 56)], PlanSettings(permutations=100))
    assert (pilot.shape, pilot.share) == (Shape(12, 28, 80), 0.5)


def test_where_assignment_depends_on_the_group_nothing_can_be_claimed() -> None:
    frame = frame_of(["a"] * 15 + ["b"] * 15, n_items=40)
    rng = np.random.default_rng(1)
    first = pl.col("item") < "i20"
    often = pl.when(first == (pl.col("group") == "a")).then(0.8).otherwise(0.2)
    frame = frame.filter(often > pl.Series(rng.random(frame.height)))
    plan = pv.plan(ratings_of(frame), **QUICK)
    assert plan.table("power")["why"].str.starts_with("who rated what depends on the group").all()
    assert plan.table("power")["power_now"].to_list() == [None, None]
    assert "group: a: nothing can be claimed, since who rated what depends on the group" in " ".join(plan.findings())


def test_a_group_with_nobody_to_be_exchanged_with_is_said_to() -> None:
    frame = frame_of(["a"] * 8 + ["b"] * 8 + ["c"] * 8, n_items=20)
    alone = (pl.col("group") == "c") == (pl.col("item") >= "i10")
    table = pv.plan(ratings_of(frame.filter(alone)), **QUICK).table("power")
    assert [bool(why) for why in table["why"]] == [False, False, True]
    one = pv.plan(ratings_of(frame_of(["a"] * 8)), "group", **QUICK)
    assert one.table("power")["why"].to_list() == ["there are no other raters to compare it with"]


def test_attributes_of_two_to_twenty_values_are_axes() -> None:
    frame = frame_of(["a"] * 30 + ["b"] * 30).with_columns(
        age=pl.col("rater").str.slice(1).cast(int), planet=pl.lit("earth")
    )
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 3), rater_attributes=["group", "age", "planet"])
    plan = pv.plan(ratings, simulations=0)
    assert plan.settings["by"] == [["group"]]
    assert "age has 60 values, too many for an axis; if they are numbers, group them into bins." in plan.findings()


def test_a_whole_study_can_be_asked_by_four_lenses() -> None:
    plan = pv.plan(study(), "gender", simulations=0)
    assert repr(plan) == "<Plan: 4 of 7 lenses apply>"
    assert plan.to_frame()["lens"].to_list() == list(LENSES)
    assert [lens for lens, says in applies(plan).items() if says == "no"] == [
        "responsiveness against trained raters", "soft scores", "alignment",
    ]  # fmt: skip
    following = dict(plan.to_frame().select("lens", "next").iter_rows())
    assert following["responsiveness against trained raters"] == "give ratings of trained raters with --reference"
    assert "'text'" in following["alignment"]
    assert plan.table("power").is_empty()


def test_two_points_leave_mpa_a_single_step() -> None:
    plan = pv.plan(ratings_of(frame_of(["a"] * 6 + ["b"] * 6, top=1), top=1), simulations=0)
    row = plan.to_frame().row(1, named=True)
    assert (row["applies"], row["next"]) == ("partly", "read WRA, or rate on more points")


def test_totals_have_a_plan(write: Write) -> None:
    totals = pv.read_ratings(write("totals.csv", "item,0,1\n1,3,1\n2,1,2\n"), layout="totals")
    plan = pv.plan(totals)
    assert applies(plan)["items"] == "partly"
    assert sum(says != "no" for says in applies(plan).values()) == 1
    assert all(plan.table(name).is_empty() for name in ("groups", "power"))
    assert "the table holds totals, not who rated what; give a table with one row per rating" in " ".join(
        plan.findings()
    )
    assert pv.Plan.from_json(plan.to_json()).to_json() == plan.to_json()


def test_raters_without_attributes_have_a_plan() -> None:
    frame = frame_of(["a"] * 6)
    plan = pv.plan(pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 3)))
    found = applies(plan)
    assert (found["cohesion"], found["psychometrics"], found["items"]) == ("partly", "yes", "partly")
    assert "give rater attributes with --raters" in " ".join(plan.findings())
    assert plan.table("power").is_empty()


def test_one_rating_per_item_leaves_little_to_ask() -> None:
    frame = frame_of(["a"] * 12).filter(pl.col("item").str.slice(1) == pl.col("rater").str.slice(2))
    plan = pv.plan(ratings_of(frame.with_columns(group=pl.Series(["a", "b"] * 6)[: frame.height])), **QUICK)
    found = applies(plan)
    assert (found["cohesion"], found["psychometrics"], found["items"]) == ("no", "no", "partly")
    assert plan.table("power").filter(why="").is_empty()


def test_raters_who_agree_by_chance_or_always_have_no_gai_to_find() -> None:
    chance = frame_of(["a"] * 6 + ["b"] * 6).with_columns(
        score=pl.Series(np.tile(np.arange(12) % 2, 12) ^ np.repeat(np.arange(12) % 2, 12))
    )
    plan = pv.plan(ratings_of(chance), **QUICK)
    assert plan.table("power").filter(why="").is_empty()
    same = frame_of(["a"] * 6 + ["b"] * 6).with_columns(score=pl.lit(1))
    plan = pv.plan(ratings_of(same), **QUICK)
    assert plan.table("groups")["cohesion"].to_list() == ["everyone gave the same point"] * 2
    assert plan.table("power")["why"].to_list() == ["everyone gave the same point"] * 2
    always = frame_of(["a"] * 6 + ["b"] * 6).with_columns(score=pl.col("item").str.slice(1).cast(int) % 4)
    plan = pv.plan(ratings_of(always), **QUICK)
    assert plan.table("power")["why"].to_list() == ["its GAI is the same whoever is in it"] * 2
    assert plan.findings()[-1] == "group: b: nothing can be claimed, since its GAI is the same whoever is in it."


def test_small_groups_are_counted_and_not_named() -> None:
    frame = frame_of(["a"] * 7 + ["b"] * 6 + ["secret"] * 3 + ["hidden"] * 2)
    plan = pv.plan(ratings_of(frame), **QUICK)
    text = plan.to_json()
    assert "secret" not in text
    assert "hidden" not in text
    assert plan.table("groups")["withheld"].to_list() == [0, 0, 2]
    needed = "group: 2 groups are withheld; a group is shown if it has at least 5 raters and reveals no smaller one."
    assert needed in plan.findings()
    both = pv.plan(ratings_of(frame_of(["a"] * 7 + ["secret"] * 3)), **QUICK)
    assert both.table("groups")["group"].to_list() == [None]
    assert applies(both)["cohesion"] == "partly"


def test_a_rater_may_be_in_several_groups() -> None:
    frame = frame_of(["x;y"] * 6 + ["y"] * 6 + ["z"] * 7 + ["secret"] * 2 + ["hidden"] * 3)
    plan = pv.plan(ratings_of(frame), several={"group": ";"}, **QUICK)
    groups = plan.table("groups")
    assert groups["group"].to_list() == ["x", "y", "z", None]
    assert groups["n_raters"].to_list() == [6, 12, 7, None]
    whole = Axis.of(ratings_of(frame), "group", min_group_size=1)
    counts = group_counts(ratings_of(frame), whole).sum(axis=2)
    assert groups["n_ratings"][1] == counts[:, [whole.groups.index("x;y"), whole.groups.index("y")]].sum()
    assert "secret" not in plan.to_json()


def test_progress_is_told_to_the_end() -> None:
    told: list[tuple[str, int, int]] = []
    pv.plan(ratings_of(frame_of(["a"] * 6 + ["b"] * 9)), progress=lambda *one: told.append(one), **QUICK)
    names = list(dict.fromkeys(one[0] for one in told))
    assert names == ["shuffling raters of group", "learning how raters differ", "simulating studies"]
    for name in names:
        done = [one[1] for one in told if one[0] == name]
        assert done == sorted(done)
    assert told[-1][1] == told[-1][2] == 24


@pytest.mark.parametrize(("options", "error", "words"), [
    ({"gai": 1.0}, InputError, "gai is 1.0.*above 1"), ({"gai": math.nan}, InputError, "gai is nan"),
    ({"power": 1.2}, InputError, "power is 1.2"), ({"simulations": -1}, InputError, "simulations is -1"),
    ({"permutations": 99}, InputError, "permutations is 99, too few.*at least 100"),
    ({"permutations": -1}, InputError, "is -[13]\\."), ({"seed": -1}, InputError, "seed is -1"),
    ({"threads": 0}, InputError, "threads is 0"), ({"min_group_size": 0}, InputError, "min_group_size is 0"),
    ({"by": "nobody"}, SelectionError, "no attribute 'nobody'"),
    ({"by": "rater"}, InputError, "not for individual raters"),
    ({"by": ["group", "group"]}, SelectionError, "listed twice"),
])  # fmt: skip
def test_wrong_options_are_refused(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        pv.plan(ratings_of(frame_of(["a"] * 6 + ["b"] * 6)), **options)
