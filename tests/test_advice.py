"""Advice: habits of simulated raters are named, noise is not, and every number beside a literal twin."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.actions.advise.result import MEANING, NAMES, NEXT, REMINDER
from plurivox.actions.advise.rules import Curve, curve_of, found_in_curve, found_in_use, share_bounds
from plurivox.actions.advise.settings import Thresholds
from plurivox.errors import InputError, SelectionError
from plurivox.simulation import styles as _styles
from support import Write, only_sections, run_cli

N_ITEMS, N_TRAINED, N_NORMAL = 500, 30, 20


def misread(positions: Any, severity: Any, n_points: int, rng: np.random.Generator) -> Any:
    return n_points - 1 - positions


def at_random(positions: Any, severity: Any, n_points: int, rng: np.random.Generator) -> Any:
    return rng.integers(0, n_points, len(positions))


def skipping(positions: Any, severity: Any, n_points: int, rng: np.random.Generator) -> Any:
    """Never give the last but one point."""
    beside = np.where(rng.random(len(positions)) < 0.5, n_points - 3, n_points - 1)
    return np.where(positions == n_points - 2, beside, positions)


HABITS: dict[str, tuple[Callable[..., Any], set[str]]] = {
    "downward shift": (_styles.downward_shift, {"low_wra"}),
    "conservative": (_styles.conservative, {"still", "falling"}),
    "extreme": (_styles.extreme, {"extreme"}),
    "central": (_styles.central, {"central"}),
    "misread": (misread, {"reversed"}),
    "at random": (at_random, {"both_low"}),
    "skipping": (skipping, {"unused"}),
}
"""A way to score, and what it should be called."""


def study(seed: int) -> tuple[pv.Ratings, pv.Ratings, dict[str, str]]:
    """Return twenty normal raters and one of each habit, trained raters, and who has which habit."""
    rng = np.random.default_rng(seed)
    severity = rng.normal(size=N_ITEMS)
    cuts = np.linspace(-1.5, 1.5, 4)
    habits = {f"r{at:02}": "normal" for at in range(N_NORMAL)}
    habits |= {f"s{at:02}": name for at, name in enumerate(HABITS)}
    rows = []
    for habit in habits.values():
        perceived = severity + rng.normal(0, 0.5)
        score = np.searchsorted(cuts, perceived)
        rows.append(score if habit == "normal" else HABITS[habit][0](score, perceived, 5, rng))
    unsafe = severity[:, np.newaxis] > np.percentile(severity, _styles.strictness(N_TRAINED, rng))
    items = np.arange(N_ITEMS)
    ratings = pl.DataFrame({
        "item": np.tile(items, len(habits)), "rater": np.repeat(list(habits), N_ITEMS),
        "score": np.concatenate(rows),
    })  # fmt: skip
    trained = pl.DataFrame({
        "item": np.repeat(items, N_TRAINED), "rater": np.tile([f"t{at}" for at in range(N_TRAINED)], N_ITEMS),
        "score": unsafe.astype(int).ravel(),
    })  # fmt: skip
    return (
        pv.Ratings.from_frame(ratings, scale=pv.Scale.range(0, 4)),
        pv.Ratings.from_frame(trained, scale=pv.Scale.range(0, 1)),
        habits,
    )


@pytest.fixture(scope="module")
def hundred() -> dict[str, list[set[str]]]:
    """Return what was seen of raters of each habit in a hundred studies."""
    found: dict[str, list[set[str]]] = {}
    for seed in range(100):
        ratings, trained, habits = study(seed)
        advice = pv.advise(ratings, trained, bootstrap=100, seed=seed).to_frame()
        for rater, habit in habits.items():
            seen = set(advice.filter(pl.col("group") == rater)["habit"])
            found.setdefault(habit, []).append(seen)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("habit", sorted(HABITS))
def test_the_right_habit_is_named_in_nine_of_ten_studies(hundred: dict[str, list[set[str]]], habit: str) -> None:
    right = HABITS[habit][1]
    named = sum(bool(seen & right) for seen in hundred[habit])
    assert named >= 90, Counter(one for seen in hundred[habit] for one in seen)


@pytest.mark.slow
def test_a_normal_rater_has_a_habit_in_at_most_one_of_ten(hundred: dict[str, list[set[str]]]) -> None:
    by_rater = [sum(bool(seen) for seen in hundred["normal"][at::N_NORMAL]) for at in range(N_NORMAL)]
    assert len(hundred["normal"]) == 100 * N_NORMAL
    assert np.mean(by_rater) <= 10
    assert max(by_rater) <= 15  # of twenty such raters the worst is beyond the mean by chance


# Twins


def test_precision_is_that_of_the_lens_and_its_error_that_of_a_bootstrap() -> None:
    ratings, trained, _ = study(1)
    advice = pv.advise(ratings, trained, bootstrap=0)
    lens = pv.responsiveness(ratings, trained, "rater", permutations=0, interval="none").scores()
    for rater in ("r03", "s01"):
        own = advice.table("precision").filter(group=rater)
        theirs = lens.filter(pl.col("group") == rater)
        np.testing.assert_allclose(own["precision"], theirs["precision"], atol=1e-12)
        np.testing.assert_allclose(own["n_items"], theirs["n_items"])
    rng = np.random.default_rng(0)
    point = rng.integers(0, 3, 300)
    total = rng.integers(1, 6, 300).astype(float)
    ones = rng.binomial(total.astype(int), 0.2 + 0.3 * point / 2).astype(float)
    curve = curve_of(point, np.ones(300), ones, total, 3)
    draws = []
    for _ in range(2000):
        chosen = rng.integers(0, 300, 300)
        draws.append(curve_of(point[chosen], np.ones(300), ones[chosen], total[chosen], 3).precision)
    np.testing.assert_allclose(np.std(draws, axis=0), curve.error, rtol=0.1)


def test_against_the_crowd_precision_is_the_mean_over_boundaries() -> None:
    ratings, _, _ = study(2)
    advice = pv.advise(ratings, "crowd", bootstrap=0).table("precision").filter(group="r00")
    lens = pv.responsiveness(ratings, "crowd", "rater", permutations=0, interval="none").scores().filter(group="r00")
    means = lens.group_by("score", maintain_order=True).agg(pl.col("precision").mean())
    np.testing.assert_allclose(advice["precision"], means["precision"], atol=1e-12)


def test_pairs_are_an_unsafe_and_a_safe_item_of_one_score_and_are_counted_right() -> None:
    ratings, trained, _ = study(3)
    found = pv.advise(ratings, trained, bootstrap=0, max_pairs=7)
    scores = {(str(i), r): str(s) for i, r, s in ratings.to_frame().select("item", "rater", "score").iter_rows()}
    unsafe = {str(item): share for item, share in
              trained.to_frame().group_by("item").agg(pl.col("score").cast(float).mean()).iter_rows()}  # fmt: skip
    pairs = found.table("pairs")
    assert set(pairs.group_by("group").len()["len"]) == {7}
    for _, rater, score, high, high_share, low, low_share in pairs.iter_rows():
        assert scores[high, rater] == scores[low, rater] == score
        assert unsafe[high] == pytest.approx(high_share)
        assert unsafe[low] == pytest.approx(low_share)
        assert high_share > 0.5 > low_share
    rater = "s03"
    highs = [item for item, share in unsafe.items() if share > 0.5]
    lows = [item for item, share in unsafe.items() if share < 0.5]
    same = sum(scores[a, rater] == scores[b, rater] for a in highs for b in lows)
    row = found.table("members").filter(group=rater)
    assert row["same_score"][0] == pytest.approx(same / (len(highs) * len(lows)))


def test_wilson_intervals_hold_the_share() -> None:
    from scipy.stats import binomtest

    for n, total in ((0, 500), (3, 40), (40, 40), (250, 500)):
        expected = binomtest(n, total).proportion_ci(method="wilson")
        assert share_bounds(n, total, 1.959963984540054) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert share_bounds(0, 0, 2.0) == (0.0, 1.0)


# Rules one by one


def curve(*precision: float, n: float = 200, error: float = 0.02) -> Curve:
    values = np.array(precision)
    return Curve(values, np.full(len(values), error), np.full(len(values), float(n)))


def habits_of(one: Curve, **thresholds: float) -> list[tuple[str, tuple[int, ...]]]:
    return [(found.habit, found.scores) for found in found_in_curve(one, Thresholds(**thresholds), 5)]


def test_ranges_that_stand_still_or_fall_are_named_with_their_scores() -> None:
    assert habits_of(curve(0.0, 0.25, 0.5, 0.75, 1.0)) == []
    assert habits_of(curve(0.1, 0.5, 0.5, 0.51, 0.9)) == [("still", (1, 2, 3))]
    assert habits_of(curve(0.1, 0.6, 0.4, 0.7, 0.95)) == [("falling", (1, 2))]
    assert habits_of(curve(0.0, 0.01, 0.02, 0.5, 0.9)) == []  # nothing below can be safer than safe
    assert habits_of(curve(0.1, 0.5, 0.97, 0.98, 0.99)) == []
    assert habits_of(curve(0.1, 0.5, 0.5, 0.51, 0.9, error=0.2)) == []  # noise
    assert habits_of(curve(0.1, 0.5, 0.52, 0.54, 0.9), least_rise=0.2) == [("still", (1, 2, 3))]
    assert habits_of(curve(0.2, 0.3, 0.4, 0.5, 0.6), least_rise=0.2) == []  # slowly, but it rises
    assert habits_of(curve(0.9, 0.7, 0.5, 0.3, 0.1)) == [("reversed", (0, 1, 2, 3, 4))]
    assert habits_of(curve(0.1, math.nan, 0.5, 0.5, 0.9)) == [("still", (2, 3))]
    assert habits_of(curve(0.1, 0.5, 0.5, 0.5, 0.9, n=3)) == []


def test_use_of_the_scale_is_compared_with_the_others() -> None:
    usual = np.array([0.1, 0.2, 0.4, 0.2, 0.1])

    def seen(*usage: int, others: Any = usual) -> list[str]:
        return [one.habit for one in found_in_use(np.array(usage), others, Thresholds())]

    assert seen(50, 100, 200, 100, 50) == []
    assert seen(200, 40, 20, 40, 200) == ["extreme"]
    assert seen(10, 150, 180, 150, 10) == ["central"]
    assert seen(60, 40, 400, 20, 60) == ["piled"]
    assert seen(10, 60, 400, 20, 10) == ["central", "piled"]
    assert seen(80, 0, 260, 80, 80) == ["unused"]
    assert seen(0, 0, 0, 0, 0) == []
    assert seen(10, 150, 180, 150, 10, others=None) == []  # without others nobody can tell
    assert seen(10, 10, 10, 0, 10) == []  # too few ratings to be sure


def test_every_habit_has_words() -> None:
    assert set(NAMES) == set(MEANING) == set(NEXT)
    for text in (*MEANING.values(), *NEXT.values(), REMINDER):
        assert text.endswith((".", "?"))
        for word in ("exclude", "remove", "drop", "discard", "bad rater"):
            assert word not in text.lower()


# The result


def test_order_of_rows_and_threads_change_nothing() -> None:
    ratings, trained, _ = study(4)
    first = pv.advise(ratings, trained, bootstrap=50, threads=1).to_json()
    again = pv.Ratings.from_frame(ratings.to_frame().sample(fraction=1, shuffle=True, seed=1), scale=ratings.scale)
    assert pv.advise(again, trained, bootstrap=50, threads=2).to_json() == first
    assert pv.Advice.from_json(first).to_json() == first


def test_groups_are_named_and_small_ones_withheld() -> None:
    ratings, trained, habits = study(5)
    teams = {"misread": "tiny"}
    attributes = pl.DataFrame(
        {"rater": list(habits), "team": [teams.get(h, "abc"[at % 3]) for at, h in enumerate(habits.values())]}
    )
    with_teams = pv.Ratings.from_frame(ratings.to_frame(), scale=ratings.scale, raters=attributes)
    found = pv.advise(with_teams, trained, "team", bootstrap=50)
    assert found.table("members")["group"].to_list() == ["a", "b", "c"]
    assert "tiny" not in found.to_json()
    assert any("withheld" in sentence for sentence in found.findings())
    assert found.findings()[-1] == REMINDER
    assert repr(found).startswith("<Advice:")
    with pytest.raises(SelectionError, match="no table 'x'"):
        found.table("x")


def test_a_rater_may_be_in_several_groups() -> None:
    ratings, trained, habits = study(6)
    attributes = pl.DataFrame({"rater": list(habits), "team": ["a;b" if at % 2 else "b" for at in range(len(habits))]})
    frame = attributes.with_columns(team=pl.when(pl.col("rater") < "r06").then(pl.lit("c")).otherwise("team"))
    several = pv.Ratings.from_frame(ratings.to_frame(), scale=ratings.scale, raters=frame)
    found = pv.advise(several, trained, "team", several={"team": ";"}, bootstrap=0)
    assert found.table("members")["group"].to_list() == ["a", "b", "c"]
    only = several.where(raters={"team": ["a;b"]})
    alone = pv.responsiveness(only, trained, permutations=0, interval="none")
    assert found.table("members")["wra"][0] == pytest.approx(alone.value("all", "all", "wra"))


def test_raters_are_counted_and_not_named_in_sentences() -> None:
    ratings, trained, _ = study(7)
    found = pv.advise(ratings, trained, bootstrap=50)
    assert not any(f"s{at:02}" in sentence for at in range(7) for sentence in found.findings())
    assert "raters one by one, something stands out for" in found.findings()[0]
    assert set(found.of("s04")["habit"]) == {"both_low", "reversed"}


def test_without_draws_nothing_is_called_low_and_nothing_breaks() -> None:
    ratings, trained, _ = study(8)
    found = pv.advise(ratings, trained, bootstrap=0)
    assert not set(found.to_frame()["habit"]) & {"low_mpa", "low_wra", "both_low"}


def test_a_reference_of_one_class_leaves_areas_undefined() -> None:
    ratings, trained, _ = study(9)
    safe = pv.Ratings.from_frame(trained.to_frame().with_columns(score=pl.lit(0)), scale=trained.scale)
    found = pv.advise(ratings, safe, bootstrap=20)
    assert found.table("members")["mpa"].is_nan().all()
    assert found.table("members")["note"][0] == "every reference rating lies below the boundary"
    assert found.table("pairs").is_empty()


@pytest.mark.parametrize(
    ("options", "words"),
    [({"by": []}, "by names no axis"), ({"max_pairs": -1}, "max_pairs is -1"), ({"bootstrap": -1}, "count draws")],
    ids=["axis", "pairs", "draws"],
)
def test_wrong_options_are_refused(options: dict[str, Any], words: str) -> None:
    ratings, trained, _ = study(0)
    with pytest.raises(InputError, match=words):
        pv.advise(ratings, trained, **options)
    with pytest.raises(InputError, match="edge is 2"):
        Thresholds(edge=2)


def test_groups_are_held_against_random_groups_of_their_size() -> None:
    rng = np.random.default_rng(11)
    remarks = 0
    for seed in range(6):
        ratings, trained, _ = study(seed)
        normal = ratings.where(raters={"rater": [f"r{at:02}" for at in range(N_NORMAL)]})
        teams = rng.permutation(["large"] * 9 + ["middle"] * 6 + ["small"] * 5)
        raters = pl.DataFrame({"rater": [f"r{at:02}" for at in range(N_NORMAL)], "team": teams})
        frame = normal.to_frame().select("item", "rater", "score")
        advice = pv.advise(pv.Ratings.from_frame(frame, scale=ratings.scale, raters=raters), trained, "team",
                           bootstrap=100)  # fmt: skip
        remarks += advice.to_frame().filter(pl.col("habit").str.contains("low")).height
    assert remarks <= 2  # of 18


def test_against_the_crowd_a_slow_but_sure_rise_is_not_called_standing_still() -> None:
    ratings, _, habits = study(12)
    advice = pv.advise(ratings, "crowd", bootstrap=0).to_frame()
    still = advice.filter(pl.col("habit") == "still")["group"].to_list()
    assert sum(habits[rater] == "normal" for rater in still) <= 2


def test_shares_are_left_out_where_withheld_groups_could_be_worked_out() -> None:
    ratings, trained, habits = study(13)
    teams = ["tiny" if at < 3 else "ab"[at % 2] for at in range(len(habits))]
    raters = pl.DataFrame({"rater": list(habits), "team": teams})
    frame = ratings.to_frame().select("item", "rater", "score")
    grouped = pv.Ratings.from_frame(frame, scale=ratings.scale, raters=raters)
    crowd = pv.advise(grouped, "crowd", "team", bootstrap=20)
    assert crowd.table("pairs").height > 0
    assert crowd.table("pairs")["unsafe_share"].null_count() == crowd.table("pairs").height
    assert pv.advise(grouped, trained, "team", bootstrap=20).table("pairs")["unsafe_share"].null_count() == 0


def test_nothing_is_looked_for_in_a_handful_of_items() -> None:
    ratings, trained, _ = study(14)
    few = ratings.where(items={"item": list(range(10))})
    found = pv.advise(few, trained, bootstrap=50)
    assert found.to_frame().is_empty()
    assert "fewer than 20 items" in found.findings()[0]


def test_the_report_has_the_advice_next_to_mpa_and_wra_with_the_pairs_to_compare(tmp_path: Path) -> None:
    ratings, trained, habits = study(15)
    teams = ["shifted" if at % 4 == 0 else "abc"[at % 3] for at in range(N_NORMAL)]
    raters = pl.DataFrame({"rater": list(habits)[:N_NORMAL], "team": teams})
    frame = ratings.to_frame().filter(pl.col("rater").is_in(raters["rater"].implode())).join(raters, on="rater")
    lower = pl.when((pl.col("team") == "shifted") & (pl.col("score") > 1)).then(pl.lit(1)).otherwise("score")
    shifted = pv.Ratings.from_frame(frame.with_columns(score=lower).drop("team"), scale=ratings.scale, raters=raters)
    with only_sections("responsiveness"):
        pv.write_report(tmp_path / "r.html", shifted, by=["team"], reference=trained, permutations=199, bootstrap=99)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for words in ('id="advice"', 'id="advice-meaning"', 'id="advice-pairs"', NAMES["low_wra"], REMINDER):
        assert words in page
    assert "r04" not in page


# The command line


@pytest.fixture
def files(write: Write) -> tuple[Path, Path]:
    ratings, trained, _ = study(0)
    columns = ("item", "rater", "score")
    return (
        write("ratings.csv", ratings.to_frame().select(columns).write_csv()),
        write("trained.csv", trained.to_frame().select(columns).write_csv()),
    )


def test_the_command_counts_raters_and_names_them_in_csv_only(files: tuple[Path, Path]) -> None:
    options = ("--reference", files[1], "--scale", "0:4", "--reference-scale", "0:1", "--bootstrap", "50")
    done = run_cli("advise", files[0], *options)
    assert done.code == 0, done.err
    assert "27 raters one by one" in done.words
    assert "Look at next:" in done.out
    assert "never to leave raters or groups out" in done.words
    assert "s04" not in done.out
    table = run_cli("advise", files[0], *options, "--csv").frame()
    assert "s04" in table["group"].to_list()
    for name in ("members", "precision", "pairs"):
        assert run_cli("advise", files[0], *options, "--csv", "--table", name).frame().height > 0
    assert pv.Advice.from_json(run_cli("advise", files[0], *options, "--json").out).to_frame().height == table.height
    assert run_cli("advise", files[0], *options, "--markdown").out.startswith("### 27 raters")


def test_thresholds_can_be_set_and_wrong_ones_are_refused(files: tuple[Path, Path]) -> None:
    options = ("--reference", files[1], "--scale", "0:4", "--reference-scale", "0:1", "--bootstrap", "0")
    strict = run_cli("advise", files[0], *options, "--csv", "--set", "rare_share=0.05").frame()
    usual = run_cli("advise", files[0], *options, "--csv").frame()
    assert strict.filter(habit="unused").height > usual.filter(habit="unused").height
    assert "--set knows" in run_cli("advise", files[0], "--set", "wish=1").words
    assert "needs a number" in run_cli("advise", files[0], "--set", "edge=much").words
    assert "--table is one of" in run_cli("advise", files[0], "--table", "power").words


def test_a_plan_is_made_by_the_same_command(files: tuple[Path, Path], write: Write) -> None:
    raters = "rater,team\n" + "".join(f"r{at:02},{'ab'[at % 2]}\n" for at in range(20))
    options = ("--raters", write("raters.csv", raters), "--by", "team", "--scale", "0:4", "--plan")
    done = run_cli("advise", files[0], *options, "--simulations", "2", "--where", "team=a", "--where", "team=b")
    assert done.code == 0, done.err
    for words in ("Which analyses apply", "Power to claim a group", "rated twice", "(GAI 1.2)"):
        assert words in done.words
    quick = run_cli("advise", files[0], *options, "--simulations", "0", "--csv", "--table", "groups").frame()
    assert quick["group"].to_list() == ["a", "b"]
    found = pv.Plan.from_json(run_cli("advise", files[0], *options, "--simulations", "0", "--json").out)
    assert found.to_frame().height == 7
    assert "--table is one of lenses" in run_cli("advise", files[0], *options, "--table", "pairs").words
    assert "gai is" in run_cli("advise", files[0], *options, "--gai", "0.5").words
