"""The plan of what to collect: lenses that apply, groups too small, and power by simulation."""

from __future__ import annotations

import json
import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.actions.plan import power
from plurivox.actions.plan import simulated as simulated_ratings
from plurivox.actions.plan.power import Detection
from plurivox.actions.plan.result import LENSES
from plurivox.actions.plan.run import ENOUGH
from plurivox.actions.plan.settings import PlanSettings
from plurivox.actions.plan.simulated import Crowd, Design
from plurivox.axis import Axis
from plurivox.engine.counting import counts_of as group_counts
from plurivox.engine.draws import Draws
from plurivox.engine.grouping import Grouping
from plurivox.engine.intervals import wilson
from plurivox.engine.permutation import compare
from plurivox.engine.running import Running
from plurivox.errors import InputError, SelectionError
from plurivox.lenses.cohesion.sums import Measured, place_of
from plurivox.statistics import gai, krippendorff_alpha
from support import Write

QUICK: dict[str, Any] = {"simulations": 12, "permutations": 59}


def wanted(**changes: Any) -> PlanSettings:
    return PlanSettings(**{"simulations": 40, "permutations": 99, **changes})


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


# The simulation


@pytest.mark.parametrize("target", [1.1, 1.5])
def test_the_gai_of_a_simulated_group_is_the_one_asked_for(target: float) -> None:
    crowd = Crowd.of(study(60, 60))
    found = []
    for seed in range(4):
        ratings, sides = crowd.study(Design(250, 250, 1500), crowd.sharing(target), np.random.default_rng(seed))
        cells = sides[ratings.codes_of_raters].astype(np.int64) * ratings.n_items + ratings.item_codes
        counts = np.bincount(cells * 5 + ratings.scores, minlength=2 * 1500 * 5).reshape(2, 1500, 5)
        found.append(gai(counts[0], counts[1]))
    assert np.mean(found) == pytest.approx(target, abs=0.03)


def test_the_gai_is_the_one_asked_for_by_the_formula_of_its_distributions() -> None:
    # Without habits the distributions are known: q for the crowd, (1 − w)·q + w·e_s for the group, s drawn from q.
    q = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.3, 0.4, 0.3]])
    alike, chance = (q**2).sum(axis=1).mean(), (q.mean(axis=0) ** 2).sum()
    alpha = (alike - chance) / (1 - chance)
    crowd = Crowd(pv.Scale.range(0, 2), np.zeros(1), np.zeros(1, int), np.ones(1, int), alpha, 0.0, 0.0, 0.0, 0.0)
    w = crowd.sharing(1.25)
    within = np.mean(
        [sum(q[i, s] * (((1 - w) * q[i] + w * np.eye(3)[s]) ** 2).sum() for s in range(3)) for i in range(3)]
    )
    across = np.mean(
        [sum(q[i, s] * (((1 - w) * q[i] + w * np.eye(3)[s]) * q[i]).sum() for s in range(3)) for i in range(3)]
    )
    assert (within - chance) / (across - chance) == pytest.approx(1.25)
    assert crowd.highest_gai == pytest.approx(1 / alpha)


@pytest.mark.parametrize("ratings_per_item", [None, 4])
def test_simulated_raters_agree_and_differ_as_those_of_the_study_do(ratings_per_item: int | None) -> None:
    styles = {"normal": 0.8, "extreme": 0.2}
    ratings = study(400, 60, styles=styles, ratings_per_item=ratings_per_item)
    crowd = Crowd.of(ratings)
    density = len(ratings) / (400 * 60)
    simulated, _ = crowd.study(Design(20, 40, 4000, density, density), 0.0, np.random.default_rng(0))
    assert len(simulated) == pytest.approx(density * 60 * 4000, rel=0.02)
    assert krippendorff_alpha(simulated.counts()) == pytest.approx(krippendorff_alpha(ratings.counts()), abs=0.04)
    again = Crowd.of(simulated)
    assert again.habit == pytest.approx(crowd.habit, abs=0.06)
    assert again.careless == pytest.approx(crowd.careless, abs=0.1)


def test_chance_makes_simulated_groups_differ_as_much_as_real_ones(real_data: Path) -> None:
    folder = real_data / "dices350"
    scale = pv.Scale(["No", "Unsure", "Yes"])
    ratings = pv.read_ratings(folder / "ratings.csv", raters=folder / "raters.csv", scale=scale)
    crowd = Crowd.of(ratings)
    sides = np.repeat(np.array([0, 1], np.int32), [20, ratings.n_raters - 20])

    def null(of: pv.Ratings) -> np.ndarray[Any, Any]:
        return Measured.of(of, Grouping.of(of, sides, 2)).null(Draws.permuted(300, 1), Running())[:, 0, place_of("gai")]

    real = null(ratings)
    made = [
        null(crowd.study(Design(20, ratings.n_raters - 20, 350), 0.0, np.random.default_rng(seed))[0])
        for seed in range(4)
    ]
    assert np.mean([np.median(one) for one in made]) == pytest.approx(np.median(real), abs=0.02)
    assert np.mean([one.std() for one in made]) == pytest.approx(real.std(), rel=0.2)


def p_values(crowd: Crowd, design: Design, sharing: float, n: int) -> tuple[list[float], list[bool]]:
    """Test simulated groups with all shuffles; return p and whether the GAI lies above the null median."""
    p, above = [], []
    for seed in range(n):
        ratings, sides = crowd.study(design, sharing, np.random.default_rng(seed))
        work = Measured.of(ratings, Grouping.of(ratings, sides, 2))
        at = place_of("gai")
        test = compare(
            work.values(work.observed())[0, 0, at], work.null(Draws.permuted(99, seed), Running(1))[:, 0, at]
        )
        p.append(float(test.p_value))
        above.append(test.direction.item() == "above")
    return p, above


@pytest.mark.slow
def test_without_a_difference_detections_are_as_rare_as_alpha_says() -> None:
    crowd, design = Crowd.of(study()), Design(8, 20, 20)
    p, _ = p_values(crowd, design, 0.0, 500)
    # Of 100 labellings, p < 0.05 are those with the two highest or two lowest values: 4 %, ± 3.5 standard errors.
    assert 0.01 < np.mean(np.array(p) < 0.05) < 0.071
    # A GAI counts as found if it is one of the two highest: 2 %.
    found = [Detection(crowd, design, 0.0, wanted(permutations=99)).finds(number) for number in range(800)]
    assert 0.003 < np.mean(found) < 0.038


def test_an_early_end_of_the_test_changes_no_decision() -> None:
    crowd, design = Crowd.of(study(rater_sd=0.1)), Design(12, 30, 30)
    sharing = crowd.sharing(1.1)
    work = Detection(crowd, design, sharing, wanted())
    early = [work.finds(number) for number in range(60)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(power, "_FIRST_LOOK", 99)
        assert early == [work.finds(number) for number in range(60)]
    p, above = p_values(crowd, design, sharing, 60)
    whole = np.mean([one < 0.05 and up for one, up in zip(p, above, strict=True)])
    assert 0.1 < np.mean(early) < 0.9
    assert np.mean(early) == pytest.approx(whole, abs=0.3)


def test_more_raters_find_more() -> None:
    crowd = Crowd.of(study(rater_sd=0.1))
    few, _ = power.detected(crowd, Design(6, 18, 30), wanted(gai=1.3), settle=False, how=Running(2))
    many, done = power.detected(crowd, Design(30, 90, 30), wanted(gai=1.3), settle=False, how=Running(2))
    assert done == 40
    assert many > few + 10


def test_a_design_is_settled_with_fewer_studies() -> None:
    crowd = Crowd.of(study(rater_sd=0.1))
    told: list[tuple[str, int, int]] = []
    how = Running(2, progress=lambda *one: told.append(one), what="simulating")
    found, done = power.detected(crowd, Design(5, 10, 10), wanted(simulations=100), settle=True, how=how)
    assert done == 25
    assert found < 20
    assert [one[1] for one in told] == sorted(one[1] for one in told)
    assert told[-2:] == [("simulating", 25, 100), ("simulating", 100, 100)]


def test_of_large_designs_fewer_studies_are_simulated_and_of_very_large_ones_none() -> None:
    assert Design(20, 80, 100).studies(400) == 400
    assert Design(20, 80, 2500).studies(400) == 133  # an effort of (100 + 20) · 2,500 = 3 · 100,000
    assert Design(20, 80, 2500).studies(40) == 25
    assert Design(20, 80, 2500).studies(10) == 10
    huge = Design(20, 80, 10**6)
    assert huge.fitted() == Design(20, 80, 5000)
    assert huge.fitted().effort <= simulated_ratings.MOST_EFFORT
    assert Design(20, 80, 100).times(raters=2, items=3) == Design(40, 160, 300)


def test_a_study_too_large_to_grow_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated_ratings, "MOST_EFFORT", 300)
    monkeypatch.setattr(power, "MOST_RESAMPLED", 200)
    plan = pv.plan(ratings_of(frame_of(["a"] * 6 + ["b"] * 6)), mpa_width=0.001, **QUICK)
    assert plan.table("power")["n_items"].to_list() == [9, 12]  # (12 + 20) · 9 = 288
    assert plan.table("collect")["what"].to_list() == ["larger studies are not simulated"] * 2
    assert "; larger studies are not simulated." in " ".join(plan.findings())


def test_cells_are_filled_with_equal_probability() -> None:
    for density in (0.05, 0.25, 0.6):
        filled = np.zeros(400)
        for seed in range(200):
            filled[simulated_ratings._chosen(400, density, np.random.default_rng(seed))] += 1
        assert filled.mean() / 200 == pytest.approx(density, rel=0.05)
        assert filled.std() == pytest.approx(math.sqrt(200 * density * (1 - density)), rel=0.2)


def test_wilson_against_published_values() -> None:
    # Newcombe (1998), Statistics in Medicine 17, 857-872, table I: 81 of 263 and 0 of 20.
    assert wilson(81 / 263, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(0.0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)


def test_the_width_now_is_that_of_the_lens() -> None:
    ratings = study(60, 40)
    plan = pv.plan(ratings, "gender", seed=3, mpa_width=0.2, **QUICK)
    lens = pv.responsiveness(ratings, "crowd", "gender", bootstrap=200, resample="items", permutations=0, seed=3)
    now = plan.table("power").filter(pl.col("question").str.starts_with("MPA") & (pl.col("what") == power.NOW))
    assert now.height > 0
    for row in now.iter_rows(named=True):
        of_lens = lens.row("gender", row["group"], "mpa")
        assert of_lens.ci_low is not None
        assert of_lens.ci_high is not None
        assert row["value"] == pytest.approx((of_lens.ci_high - of_lens.ci_low) / 2, abs=1e-12)


def test_more_items_make_the_interval_narrower() -> None:
    plan = pv.plan(study(40, 30, seed=2), "gender", mpa_width=0.001, **QUICK)
    rows = plan.table("power").filter(pl.col("question") == "MPA ± 0.001")
    for _, one in rows.group_by("group", maintain_order=True):
        widths = one["value"].to_list()
        assert widths == sorted(widths, reverse=True)
        assert one["n_items"].to_list() == [40, 80, 160, 320, 640]
        assert (one["ci_low"][1:] <= one["ci_high"][1:]).all()
    assert (
        plan.table("collect").filter(pl.col("question") == "MPA ± 0.001")["what"].str.contains("not within 16")
    ).all()


# Tables


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
    assert "group, a: cohesion cannot be told, since no item was rated by both sides." in plan.findings()


def test_smallest_and_median_group_are_looked_at() -> None:
    frame = frame_of(["a"] * 9 + ["b"] * 5 + ["c"] * 12)
    plan = pv.plan(ratings_of(frame), **QUICK)
    assert plan.table("collect")["group"].unique(maintain_order=True).to_list() == ["b", "a"]
    about_as_large = pv.plan(ratings_of(frame_of(["a"] * 6 + ["b"] * 5)), **QUICK)
    assert about_as_large.table("collect")["group"].unique().to_list() == ["b"]


def test_attributes_of_two_to_twenty_values_are_axes() -> None:
    frame = frame_of(["a"] * 30 + ["b"] * 30).with_columns(
        age=pl.col("rater").str.slice(1).cast(int), planet=pl.lit("earth")
    )
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 3), rater_attributes=["group", "age", "planet"])
    plan = pv.plan(ratings, simulations=0)
    assert plan.settings["by"] == [["group"]]
    assert "age has 60 values, too many for an axis; if they are numbers, sort them into bins." in plan.findings()


def test_a_clear_case_is_enough_and_says_so() -> None:
    ratings = study(80, 160, rater_sd=0.05, noise_sd=1.0, attributes={"side": {"left": 0.5, "right": 0.5}})
    plan = pv.plan(ratings, gai=1.8, mpa_width=0.5, **QUICK)
    collect = plan.table("collect")
    assert collect["enough"].all()
    assert collect["what"].to_list() == [ENOUGH] * 2
    now = plan.table("power").filter(pl.col("question") == "detect GAI 1.8").row(0, named=True)
    assert now["value"] >= 0.8
    assert (now["ci_low"], now["ci_high"]) == wilson(round(now["value"] * 12) / 12, 12)
    text = " ".join(plan.findings())
    assert f"a GAI of 1.8 is found in {round(now['value'] * 12)} of 12 simulated studies, which is enough." in text
    assert "one kind of difference" in text


def test_what_to_collect_is_the_smallest_design_that_is_enough() -> None:
    plan = pv.plan(study(30, 24, rater_sd=0.05, noise_sd=1.0), "gender", gai=1.4, simulations=30, permutations=59)
    steps = plan.table("power").filter(pl.col("question") == "detect GAI 1.4")
    for row in plan.table("collect").filter(pl.col("question") == "detect GAI 1.4").iter_rows(named=True):
        own = steps.filter((pl.col("group") == row["group"]) & pl.col("enough"))
        raters = own.filter(pl.col("what") == power.MORE_RATERS)
        assert row["raters_needed"] == (raters["n_raters"].min() if raters.height else None)
        assert raters.height > 0
        assert raters["value"][0] >= 0.8
        sentence = next(one for one in plan.findings() if one.startswith(f"gender, {row['group']}") and "GAI" in one)
        assert f"({row['raters_needed']} in the group) would find it in" in sentence


# Lenses


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
    assert all(plan.table(name).is_empty() for name in ("groups", "power", "collect"))
    assert "the table holds totals, not who rated; give a table with one row per rating" in " ".join(plan.findings())
    assert pv.Plan.from_json(plan.to_json()).to_json() == plan.to_json()


def test_raters_without_attributes_have_a_plan() -> None:
    frame = frame_of(["a"] * 6)
    plan = pv.plan(pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 3)))
    found = applies(plan)
    assert (found["cohesion"], found["psychometrics"], found["items"]) == ("partly", "yes", "partly")
    assert "give attributes of raters with --raters" in " ".join(plan.findings())
    assert plan.table("power").is_empty()


def test_one_rating_per_item_leaves_little_to_ask() -> None:
    frame = frame_of(["a"] * 12).filter(pl.col("item").str.slice(1) == pl.col("rater").str.slice(2))
    plan = pv.plan(ratings_of(frame.with_columns(group=pl.Series(["a", "b"] * 6)[: frame.height])), **QUICK)
    found = applies(plan)
    assert (found["cohesion"], found["psychometrics"], found["items"]) == ("no", "no", "partly")
    assert plan.table("collect")["enough"].to_list() == [False, False]


def test_raters_who_agree_by_chance_or_always_have_no_gai_to_find() -> None:
    chance = frame_of(["a"] * 6 + ["b"] * 6).with_columns(
        score=pl.Series(np.tile(np.arange(12) % 2, 12) ^ np.repeat(np.arange(12) % 2, 12))
    )
    plan = pv.plan(ratings_of(chance), **QUICK)
    assert "agree no more than by chance" in plan.table("collect")["what"][0]
    same = frame_of(["a"] * 6 + ["b"] * 6).with_columns(score=pl.lit(1))
    plan = pv.plan(ratings_of(same), **QUICK)
    assert plan.table("groups")["cohesion"].to_list() == ["everyone gave the same point"] * 2
    assert plan.table("collect")["what"].to_list()[0].startswith("the agreement of raters is undefined")
    assert plan.table("collect")["what"].to_list()[1] == "MPA is undefined"
    always = frame_of(["a"] * 6 + ["b"] * 6).with_columns(score=pl.col("item").str.slice(1).cast(int) % 4)
    plan = pv.plan(ratings_of(always), **QUICK)
    assert plan.table("collect")["what"][0] == "raters agree so much that no GAI can be above 1.00"
    assert "GAI" not in plan.table("power")["question"].str.join("").item()


def test_small_groups_are_counted_and_not_named() -> None:
    frame = frame_of(["a"] * 7 + ["b"] * 6 + ["secret"] * 3 + ["hidden"] * 2)
    plan = pv.plan(ratings_of(frame), **QUICK)
    text = plan.to_json()
    assert "secret" not in text
    assert "hidden" not in text
    assert plan.table("groups")["withheld"].to_list() == [0, 0, 2]
    assert "2 groups are withheld; recruit at least 5 raters for each group of an axis." in plan.findings()
    both = pv.plan(ratings_of(frame_of(["a"] * 7 + ["secret"] * 3)), **QUICK)
    assert both.table("groups")["group"].to_list() == [None]
    assert applies(both)["cohesion"] == "partly"


def test_a_rater_may_be_in_several_groups() -> None:
    frame = frame_of(["x;y"] * 6 + ["y"] * 6 + ["z"] * 7 + ["secret"] * 2)
    plan = pv.plan(ratings_of(frame), several={"group": ";"}, **QUICK)
    groups = plan.table("groups")
    assert groups["group"].to_list() == ["x", "y", "z", None]
    assert groups["n_raters"].to_list() == [6, 12, 7, None]
    whole = Axis.of(ratings_of(frame), "group", min_group_size=1)
    counts = group_counts(ratings_of(frame), whole).sum(axis=2)
    assert groups["n_ratings"][1] == counts[:, [whole.groups.index("x;y"), whole.groups.index("y")]].sum()
    assert "secret" not in plan.to_json()


# Calls


def test_threads_and_order_of_rows_change_nothing() -> None:
    frame = frame_of(["a"] * 6 + ["b"] * 9 + ["c"] * 14)
    first = pv.plan(ratings_of(frame), threads=1, **QUICK)
    second = pv.plan(ratings_of(frame.sample(fraction=1.0, shuffle=True, seed=3)), threads=3, **QUICK)
    assert first.to_json() == second.to_json()
    other = pv.plan(ratings_of(frame), threads=1, seed=1, **QUICK)
    assert not other.table("power").equals(first.table("power"))


def test_json_keeps_everything() -> None:
    plan = pv.plan(ratings_of(frame_of(["a"] * 6 + ["b"] * 9 + ["c"] * 3)), **QUICK)
    text = plan.to_json()
    again = pv.Plan.from_json(text)
    assert again.to_json() == text
    assert again.findings() == plan.findings()
    for table in plan.tables:
        assert again.table(table.name).equals(table.frame)
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    with pytest.raises(SelectionError, match="there is no table 'costs'"):
        plan.table("costs")


def test_processes_give_the_same_plan_as_threads() -> None:
    ratings = ratings_of(frame_of(["a"] * 6 + ["b"] * 9))
    here = pv.plan(ratings, threads=2, gai=1.3, mpa_width=0.05, **QUICK)
    assert {"more raters", "more items"} <= set(here.table("power")["what"])
    with ProcessPoolExecutor(2) as processes:
        there = pv.plan(ratings, executor=processes, gai=1.3, mpa_width=0.05, **QUICK)
    assert there.to_json() == here.to_json()


def test_progress_is_told_to_the_end() -> None:
    told: list[tuple[str, int, int]] = []
    pv.plan(ratings_of(frame_of(["a"] * 6 + ["b"] * 9)), progress=lambda *one: told.append(one), **QUICK)
    done = [one[1] for one in told]
    assert done == sorted(done)
    assert {one[0] for one in told} == {"simulating studies"}
    assert told[-1][1] == told[-1][2]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"gai": 1.0}, InputError, "gai is 1.0.*above 1"),
        ({"gai": math.nan}, InputError, "gai is nan"),
        ({"mpa_width": 0}, InputError, "mpa_width is 0.*between 0 and 1"),
        ({"power": 1.2}, InputError, "power is 1.2"),
        ({"alpha": 0.0}, InputError, "alpha is 0.0"),
        ({"simulations": -1}, InputError, "simulations is -1"),
        ({"permutations": 39}, InputError, "with 39 permutations no p is below alpha = 0.05.*at least 40"),
        ({"permutations": -1}, InputError, "count draws"),
        ({"seed": -1}, InputError, "seed is -1"),
        ({"threads": 0}, InputError, "threads is 0"),
        ({"min_group_size": 0}, InputError, "min_group_size is 0"),
        ({"by": "nobody"}, SelectionError, "no attribute 'nobody'"),
        ({"by": "rater"}, InputError, "not of each rater"),
        ({"by": ["group", "group"]}, SelectionError, "listed twice"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        pv.plan(ratings_of(frame_of(["a"] * 6 + ["b"] * 6)), **options)


def test_forty_permutations_are_the_fewest() -> None:
    plan = pv.plan(ratings_of(frame_of(["a"] * 6 + ["b"] * 6)), simulations=2, permutations=40)
    assert plan.settings["permutations"] == 40
