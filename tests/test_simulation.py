"""The simulation against its definition: streams of the seed, designs, styles, effects, and every refusal."""

from __future__ import annotations

import csv
import inspect
import json
import math
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from plurivox.base.errors import InputError, SelectionError
from plurivox.domain.scale import Scale
from plurivox.simulation import simulate as simulation
from plurivox.simulation.simulate import (
    DEMO,
    STYLES,
    Effect,
    SimulatedModel,
    SimulatedPredictor,
    Simulation,
    cut_points,
    simulate,
    strictness,
    write_study,
)
from plurivox.simulation.styles import (
    central,
    conservative,
    downward_shift,
    extreme,
    normal,
    point_probabilities,
    proportional_shift,
    refusal_probabilities,
)
from support import Done, run_cli

FRAMES = ("ratings_frame", "raters", "items", "trained_frame", "answers", "predictions")
TRUTHS = ("truth_items", "truth_raters", "truth_groups")
SMALL: dict[str, Any] = {"n_items": 40, "n_raters": 25, "trained": 4}
YOUNG = {"age": "18-29"}


def scores(study: Simulation) -> npt.NDArray[np.float64]:
    """Raters × items of a crossed study on the whole numbers from 0."""
    return study.ratings_frame["score"].to_numpy().reshape(len(study.raters), -1).astype(float)


def who(study: Simulation, condition: dict[str, str]) -> npt.NDArray[np.bool_]:
    return (
        study.raters.select(pl.all_horizontal(pl.col(name) == value for name, value in condition.items()))
        .to_series()
        .to_numpy()
    )


def correlations(study: Simulation) -> npt.NDArray[np.float64]:
    """Raters × raters, with NaN on the diagonal."""
    r = np.array(np.corrcoef(scores(study)))
    np.fill_diagonal(r, np.nan)
    return r


def changed(one: Simulation, other: Simulation) -> set[str]:
    """Names of the frames in which two studies differ."""
    pairs = {name: (getattr(one, name), getattr(other, name)) for name in FRAMES + TRUTHS}
    return {name for name, (a, b) in pairs.items() if (a is None) != (b is None) or (a is not None and not a.equals(b))}


def there(frame: pl.DataFrame | None) -> pl.DataFrame:
    assert frame is not None
    return frame


def test_the_same_seed_gives_the_same_frames() -> None:
    one, other = (simulate(**SMALL, **DEMO, missing=0.2, missing_attributes=0.1, seed=7) for _ in range(2))
    for name in FRAMES + TRUTHS:
        assert_frame_equal(getattr(one, name), getattr(other, name))
    assert one.settings == other.settings


def test_another_seed_changes_every_drawn_frame() -> None:
    one, other = (simulate(**SMALL, **DEMO, seed=seed) for seed in (1, 2))
    assert changed(one, other) == {*FRAMES, *TRUTHS}


@pytest.mark.parametrize(("argument", "value", "expected"), [
    ("trained", 9, {"trained_frame"}), ("trained", 0, {"trained_frame"}), ("models", (), {"answers"}),
    ("models", (SimulatedModel("x"),), {"answers"}), ("predictors", (), {"predictions"}),
    ("predictors", (SimulatedPredictor("x"),), {"predictions"}), ("missing_attributes", 0.3, {"raters"}),
    ("missing", 0.3, {"ratings_frame"}), ("ratings_per_item", 5, {"ratings_frame"}),
    ("ratings_per_item", (2, 5), {"ratings_frame"}), ("noise_sd", 0.1, {"ratings_frame", "predictions"}),
    ("rater_sd", 0.1, {"ratings_frame", "truth_raters", "predictions"}),
    ("styles", {"extreme": 1.0}, {"ratings_frame", "truth_raters"}),
    ("effects", [Effect(YOUNG, bias=1.0)], {"ratings_frame", "truth_raters", "truth_groups"}),
])  # fmt: skip
def test_one_argument_changes_only_its_own_frames(argument: str, value: Any, expected: set[str]) -> None:
    # Under DEMO, model-a looks like an effect's group, so the plain study is the base.
    assert changed(simulate(**SMALL, seed=3), simulate(**{**SMALL, argument: value}, seed=3)) == expected


def test_more_of_a_part_keeps_what_was_there() -> None:
    few, many = (simulate(n_items=30, n_raters=10, trained=n, seed=5) for n in (3, 8))
    assert_frame_equal(there(many.trained_frame).head(90), there(few.trained_frame))
    last = SimulatedModel("b", noise_sd=1.0, refusal_rate=0.2)
    both, alone = (there(simulate(**SMALL, models=all_).answers) for all_ in ([SimulatedModel("a"), last], [last]))
    assert_frame_equal(both.filter(model="b"), alone)
    other = SimulatedPredictor("b", error_sd=1.0)
    two, one = (simulate(**SMALL, predictors=all_) for all_ in ([SimulatedPredictor("a"), other], [other]))
    assert_frame_equal(predicted(two, "b"), predicted(one, "b"))


def test_an_attribute_and_an_effect_leave_the_others_as_they_are() -> None:
    hands = {"hand": {"left": 0.5, "right": 0.5}}
    first, second = {"gender": {"Man": 0.5, "Woman": 0.5}}, {"age": {"old": 0.5, "young": 0.5}}
    before = simulate(**SMALL, attributes=first | second)
    after = simulate(**SMALL, attributes=hands | second | first)
    assert_frame_equal(after.raters.select("rater", "gender", "age"), before.raters)
    assert_frame_equal(after.ratings_frame, before.ratings_frame)


def test_no_two_parts_draw_from_the_same_child_of_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def spy(*args: Any) -> np.random.Generator:
        asked.append(args)
        return original(*args)

    original = simulation._rng
    monkeypatch.setattr(simulation, "_rng", spy)
    simulate(**SMALL, **DEMO, missing=0.1, missing_attributes=0.1, repeated=0.1, seed=1)
    assert len(asked) == len(set(asked))
    assert {part for _, part, *_ in asked} == set(simulation._PARTS)
    assert len({original(*args).random() for args in asked}) == len(asked)


def test_a_crossed_study_has_every_pair_once() -> None:
    study = simulate(n_items=12, n_raters=7, trained=3, seed=1)
    assert study.ratings_frame.columns == ["item", "rater", "score"]
    assert study.ratings_frame.select("item", "rater").n_unique() == len(study.ratings_frame) == 12 * 7
    assert study.ratings_frame["item"].unique().sort().to_list() == [f"item-{i:03d}" for i in range(1, 13)]
    assert study.raters["rater"].to_list() == [f"rater-{j:03d}" for j in range(1, 8)]
    assert study.raters.columns == ["rater", "gender", "age", "ethnicity"]
    assert study.items.columns == ["item", "text", "violation"]
    trained = there(study.trained_frame)
    assert trained["rater"].unique().sort().to_list() == ["trained-01", "trained-02", "trained-03"]
    assert len(trained) == 12 * 3
    assert there(study.answers).columns == ["model", "item", "state", "answer"]
    assert there(study.answers).group_by("model").len()["len"].to_list() == [12, 12, 12]
    assert study.truth_groups.columns == ["condition", "bias", "shared_sd", "violation", "n_raters"]
    assert study.truth_groups.dtypes == [pl.String, pl.Float64, pl.Float64, pl.String, pl.Int64]
    assert repr(study) == "<Simulation: 84 ratings of 12 items by 7 raters, seed 1>"
    large = simulate(n_items=1000, n_raters=2, trained=100, models=())  # ids grow to the width needed
    assert large.items["item"].to_list()[::999] == ["item-0001", "item-1000"]
    assert there(large.trained_frame)["rater"][0] == "trained-001"


@pytest.mark.parametrize("n", [1, 4, 25])
def test_one_number_per_item_draws_the_raters_item_by_item(n: int) -> None:
    study = simulate(**SMALL, ratings_per_item=n, seed=2)
    rng = simulation._rng(2, "design")
    drawn = sorted((int(j), i) for i in range(40) for j in rng.choice(25, n, replace=False, shuffle=False))
    assert study.ratings_frame.select(pl.col("rater", "item").str.slice(-3).cast(pl.Int64) - 1).rows() == drawn
    assert changed(study, simulate(**SMALL, ratings_per_item=(n, n), seed=2)) == set()


def test_a_pair_draws_the_number_of_raters_of_each_item_evenly() -> None:
    study = simulate(n_items=6000, n_raters=9, ratings_per_item=(2, 7), trained=0, models=(), predictors=(), seed=3)
    per_item = study.ratings_frame.group_by("item").len()["len"].to_numpy().astype(int)
    counts = np.bincount(per_item)
    # 1000 expected of each number, standard deviation √(6000 · ⅙ · ⅚) ≈ 28.9
    assert len(per_item) == 6000
    assert (counts[:2].sum(), len(counts)) == (0, 8)
    assert np.abs(counts[2:] - 1000).max() < 5 * 28.9
    assert study.ratings_frame.select("item", "rater").n_unique() == len(study.ratings_frame)
    assert_frame_equal(study.ratings_frame, study.ratings_frame.sort("rater", "item"))
    load = study.ratings_frame.group_by("rater").len()["len"].to_numpy().astype(int)
    # 4.5 of 9 raters on average: 3000 expected, standard deviation at most √(6000 · ¼) ≈ 38.7
    assert np.abs(load - 3000).max() < 5 * 38.7
    assert not changed(*(simulate(**SMALL, ratings_per_item=(1, 25), seed=4) for _ in range(2)))


def test_missing_is_the_fraction_left_out() -> None:
    study = simulate(n_items=200, n_raters=100, missing=0.35, trained=0, models=())
    # standard deviation of the share: √(.35 · .65 / 20,000) ≈ .0034
    assert len(study.ratings_frame) / 20_000 == pytest.approx(0.65, abs=0.017)
    assert study.ratings_frame.select("item", "rater").n_unique() == len(study.ratings_frame)


def test_missing_attributes_are_null_and_still_act() -> None:
    effects = [Effect({"gender": "Woman"}, bias=5.0)]
    full = simulate(n_items=5, n_raters=2000, effects=effects, trained=0, models=())
    part = simulate(n_items=5, n_raters=2000, effects=effects, trained=0, models=(), missing_attributes=0.25)
    for name in ("gender", "age", "ethnicity"):
        # standard deviation of the share: √(¼ · ¾ / 2000) ≈ .0097
        assert part.raters[name].null_count() / 2000 == pytest.approx(0.25, abs=0.05)
        known = part.raters[name].is_not_null()
        assert part.raters[name].filter(known).equals(full.raters[name].filter(known))
    assert part.raters.drop_nulls().height < 0.6 * 2000  # not always the same raters
    assert_frame_equal(part.ratings_frame, full.ratings_frame)
    assert part.truth_groups["n_raters"][0] == (full.raters["gender"] == "Woman").sum()


def test_attributes_and_styles_follow_their_proportions() -> None:
    styles = {"normal": 0.5, "extreme": 0.0, "central": 0.2, "conservative": 0.3}
    study = simulate(n_items=1, n_raters=10_000, styles=styles, trained=0, models=())
    drawn = dict(study.truth_raters.group_by("style").len().iter_rows())
    genders = dict(study.raters.group_by("gender").len().iter_rows())
    assert set(drawn) == {"normal", "central", "conservative"}
    for share, count in [(0.5, drawn["normal"]), (0.2, drawn["central"]), (0.04, genders["Nonbinary"])]:
        assert count / 10_000 == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / 10_000))


def test_items_that_people_do_not_rate_change_nothing_else() -> None:
    whole, some = simulate(**SMALL, seed=2), simulate(**SMALL, seed=2, n_rated=5)
    rated = whole.items["item"].head(5)
    assert some.ratings_frame.equals(whole.ratings_frame.filter(pl.col("item").is_in(rated.implode())))
    assert there(some.answers).equals(there(whole.answers))
    assert some.items.equals(whole.items)
    with pytest.raises(InputError, match="n_rated"):
        simulate(**SMALL, n_rated=SMALL["n_items"] + 1)


def test_settings_are_json_and_name_every_argument() -> None:
    numbers: dict[str, Any] = {"seed": int(np.int64(4)), "rater_sd": np.float64(0.25), "style_options": {"central": {}}}
    study = simulate(**{**SMALL, **DEMO}, **numbers)
    copy = json.loads(json.dumps(study.settings))
    assert copy == study.settings
    assert {*copy, "n_rated"} == set(inspect.signature(simulate).parameters)
    assert simulate(**SMALL, n_rated=3).settings["n_rated"] == 3
    assert copy["seed"] == 4
    woman = {"condition": {"gender": "Woman"}, "bias": 0.5, "shared_sd": 0.0, "violation": "harassment"}
    assert copy["effects"][1] == woman
    assert Scale.from_dict(copy["scale"]) == study.scale


def test_settings_rebuild_the_study() -> None:
    study = simulate(**SMALL, **DEMO, ratings_per_item=(3, 9), seed=11)
    again = {**study.settings, "scale": Scale.from_dict(study.settings["scale"])}
    again["effects"] = [Effect(**effect) for effect in again["effects"]]
    again["models"] = [SimulatedModel(**model) for model in again["models"]]
    again["predictors"] = [SimulatedPredictor(**predictor) for predictor in again["predictors"]]
    assert changed(study, simulate(**again)) == set()


@pytest.mark.parametrize(("labels", "dtype"), [
    (["No", "Unsure", "Yes"], pl.String), ([1, 2, 3, 4], pl.Int64), ([0.5, 1, 1.5], pl.Float64),
    ([0, "some", 2], pl.String), ([False, True], pl.Boolean),
])  # fmt: skip
def test_scores_are_the_labels_of_the_scale(labels: list[Any], dtype: type[pl.DataType]) -> None:
    scale = Scale(labels)
    study = simulate(**SMALL, scale=scale)
    for column in (study.ratings_frame["score"], there(study.answers)["answer"].drop_nulls()):
        assert column.dtype == dtype
        assert {scale.position(label) for label in column} == set(range(len(labels)))


def test_ratings_and_trained_are_built_from_the_frames() -> None:
    study = simulate(**SMALL, **DEMO, ratings_per_item=6, missing_attributes=0.2, seed=9)
    ratings, trained = study.ratings, study.trained
    assert len(ratings) == len(study.ratings_frame) == 40 * 6
    assert ratings.scale == study.scale
    assert set(ratings.raters.columns) == set(study.raters.columns)
    assert set(ratings.items.columns) == set(study.items.columns)
    assert trained is not None
    assert (len(trained), trained.n_raters, len(trained.scale)) == (40 * 4, 4, 2)
    assert trained.scores.sum() == (there(study.trained_frame)["score"] == "unsafe").sum()
    assert simulate(**{**SMALL, "trained": 0}).trained is None


# --- the model of appendix D
def test_cut_points_are_those_of_appendix_d() -> None:
    assert cut_points(5).tolist() == [-1.5, -0.5, 0.5, 1.5]
    assert cut_points(3).tolist() == [-1.5, 1.5]
    assert cut_points(2).tolist() == [0.0]
    assert cut_points(7, reach=2.5).tolist() == [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]


def test_scores_without_noise_and_effects_against_literal_appendix_d() -> None:
    study = simulate(n_items=60, n_raters=8, noise_sd=0.0, trained=0, models=(), seed=6)
    severity = study.truth_items["severity"].to_list()
    bias = study.truth_raters["bias"].to_list()
    literal = [[sum(cut < v + b for cut in (-1.5, -0.5, 0.5, 1.5)) for v in severity] for b in bias]
    assert scores(study).tolist() == literal


def test_severities_and_biases_have_the_spread_asked_for() -> None:
    study = simulate(n_items=20_000, n_raters=1, ratings_per_item=1, trained=0, models=())
    assert study.truth_items["severity"].mean() == pytest.approx(0.0, abs=0.036)  # 5 / √20,000
    assert study.truth_items["severity"].std() == pytest.approx(1.0, abs=0.025)
    study = simulate(n_items=1, n_raters=20_000, trained=0, models=())
    assert study.truth_raters["bias"].std() == pytest.approx(0.5, abs=0.0125)


def _mpa_wra(one: npt.NDArray[Any], zero: npt.NDArray[Any]) -> tuple[float, float]:
    """MPA and WRA as DEFINITIONS section 2 has them, literally."""
    used = [s for s in range(len(one)) if one[s] + zero[s] > 0]
    precision = {s: one[s] / (one[s] + zero[s]) for s in used}
    area = sum(precision[s] - max(precision[j] for j in used if j <= i) for s in used for i in used if i < s)
    wra = sum(zero[:s].sum() * one[s] for s in range(len(one))) / (zero.sum() * one.sum())
    return max(0.0, area / (math.ceil(len(one) / 2) * (len(one) // 2))), wra


@pytest.mark.parametrize(
    ("style", "mpa", "wra"),
    [("normal", 0.90, 0.87), ("downward_shift", 0.91, 0.78), ("conservative", 0.53, 0.83)],
)
def test_patterns_against_the_expected_values_of_appendix_d(style: str, mpa: float, wra: float) -> None:
    found = []
    for seed in range(3):
        study = simulate(n_items=1000, n_raters=30, noise_sd=0.0, styles={style: 1.0}, trained=30, models=(), seed=seed)
        unsafe = (there(study.trained_frame)["score"] == "unsafe").to_numpy().reshape(30, 1000).sum(axis=0)
        tables = [(np.bincount(own, unsafe, 5), np.bincount(own, 30 - unsafe, 5)) for own in scores(study).astype(int)]
        found += [_mpa_wra(*table) for table in tables]
    assert np.mean(found, axis=0) == pytest.approx([mpa, wra], abs=0.02)


def test_trained_raters_say_unsafe_above_their_own_percentile() -> None:
    study = simulate(n_items=500, n_raters=1, trained=200, models=(), seed=8)
    unsafe = (there(study.trained_frame)["score"] == "unsafe").to_numpy().reshape(200, 500)
    shares = unsafe.mean(axis=1)
    assert 0.1 <= shares.min() < 0.15
    assert 0.45 < shares.max() <= 0.5
    severity = study.truth_items["severity"].to_numpy()
    for row in unsafe:
        assert severity[row].min() > severity[~row].max()


def test_strictness_against_rejection_sampling() -> None:
    drawn = strictness(20_000, np.random.default_rng(1))
    kept = np.random.default_rng(2).normal(70, 12, 40_000)
    kept = kept[(kept >= 50) & (kept <= 90)][:20_000]
    assert (drawn.min() >= 50, drawn.max() <= 90) == (True, True)
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    assert np.quantile(drawn, levels) == pytest.approx(np.quantile(kept, levels), abs=0.6)


def _sample(n_points: int, n: int = 4000, seed: int = 0) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    severity = np.random.default_rng(seed).normal(0, 1.3, n)
    return np.searchsorted(cut_points(n_points), severity).astype(np.uint8), severity


def _styled(style: Callable[..., Any], n_points: int = 5, n: int = 4000, **options: float) -> Any:
    """Return positions, severities, and what a style makes of them."""
    positions, severity = _sample(n_points, n)
    return positions, severity, style(positions, severity, n_points, np.random.default_rng(0), **options)


def test_normal_changes_nothing_and_shares_no_memory() -> None:
    positions, _, result = _styled(normal)
    assert np.array_equal(result, positions)
    assert not np.shares_memory(result, positions)


def test_downward_shift_lowers_half_of_the_scores_from_2_by_one() -> None:
    positions, _, result = _styled(downward_shift)
    drop = positions.astype(int) - result
    assert set(np.unique(drop)) == {0, 1}
    assert drop[positions < 2].sum() == 0
    for score in (2, 3, 4):
        n = (positions == score).sum()
        assert drop[positions == score].mean() == pytest.approx(0.5, abs=2.5 / math.sqrt(n))
    positions, _, every = _styled(downward_shift, probability=1.0)
    assert np.array_equal(every, np.where(positions >= 2, positions - 1, positions))


@pytest.mark.parametrize(("n_points", "step"), [(2, 1), (5, 1), (7, 2), (9, 2), (25, 6)])
def test_proportional_shift_lowers_the_upper_half_by_a_quarter(n_points: int, step: int) -> None:
    positions, _, every = _styled(proportional_shift, n_points, probability=1.0)
    assert np.array_equal(every, np.where(positions >= 2 * step, positions - step, positions))
    assert every.dtype == positions.dtype


@pytest.mark.parametrize(("n", "n_top"), [(1, 0), (2, 1), (5, 2), (10, 3), (15, 5), (1000, 300)])
def test_conservative_scores_three_tenths_rounded_half_up(n: int, n_top: int) -> None:
    _, severity, result = _styled(conservative, n=n)
    assert (result > 0).sum() == n_top
    assert set(np.flatnonzero(result)) == set(sorted(range(n), key=lambda i: -severity[i])[:n_top])


def test_conservative_scores_are_uniform_whatever_the_severity() -> None:
    _, severity, result = _styled(conservative, n=40_000)
    counts = np.bincount(result, minlength=5)
    # 12,000 scores, 3,000 expected each, standard deviation √(12,000 · ¼ · ¾) ≈ 47
    assert counts[0] == 28_000
    assert np.abs(counts[1:] - 3000).max() < 5 * 47
    top = result > 0
    assert abs(np.corrcoef(severity[top], result[top])[0, 1]) < 5 / math.sqrt(12_000)
    # 0.7 · 45 is 31.499999999999996 in binary; half up is 32
    assert (_styled(conservative, n=45, share=0.7)[2] > 0).sum() == 32


def test_extreme_goes_to_the_nearer_end() -> None:
    positions, _, result = _styled(extreme, probability=1.0)
    assert np.array_equal(result[positions != 2], np.array([0, 0, 9, 4, 4])[positions[positions != 2]])
    middle = result[positions == 2]
    assert set(np.unique(middle)) == {0, 4}
    assert (middle == 4).mean() == pytest.approx(0.5, abs=2.5 / math.sqrt(len(middle)))
    positions, _, result = _styled(extreme, 6, probability=0.6)  # the rest stays
    assert np.all((result == positions) | (result == np.array([0, 0, 0, 5, 5, 5])[positions]))
    interior = (positions > 0) & (positions < 5)
    assert (result != positions)[interior].mean() == pytest.approx(0.6, abs=0.05)


def test_central_moves_ends_to_their_neighbours() -> None:
    positions, _, result = _styled(central, probability=1.0)
    assert np.array_equal(result, np.array([1, 1, 2, 3, 3])[positions])
    positions, _, some = _styled(central, probability=0.4)
    ends = (positions == 0) | (positions == 4)
    assert (some != positions)[ends].mean() == pytest.approx(0.4, abs=0.08)
    assert np.array_equal(some[~ends], positions[~ends])


def test_short_scales_under_extreme_and_central() -> None:
    for style in (central, extreme):
        two, _, result = _styled(style, 2, probability=1.0)
        assert np.array_equal(result, two)
    assert set(_styled(central, 3, probability=1.0)[2]) == {1}
    assert set(_styled(extreme, 3, probability=1.0)[2]) == {0, 2}


@settings(deadline=None)
@given(st.integers(2, 12), st.sampled_from(sorted(STYLES)), st.integers(0, 2**32), st.integers(0, 40))
def test_every_style_stays_on_the_scale_and_keeps_its_input(n_points: int, style: str, seed: int, n: int) -> None:
    positions, severity = _sample(n_points, n, seed)
    before = positions.copy()
    result = STYLES[style](positions, severity, n_points, np.random.default_rng(seed))
    assert (result.dtype, result.shape) == (positions.dtype, (n,))
    assert np.all(result < n_points)
    assert np.array_equal(positions, before)


@settings(deadline=None)
@given(st.integers(2, 12), st.sampled_from(sorted(STYLES)), st.integers(0, 2**32))
def test_every_score_of_a_study_is_on_the_scale(n_points: int, style: str, seed: int) -> None:
    scale = Scale.range(1, n_points) if n_points > 2 else Scale(["no", "yes"])
    odd: dict[str, Any] = {"styles": {style: 1.0}, "missing": 0.2, "rater_sd": 2.0}
    study = simulate(n_items=15, n_raters=4, trained=2, scale=scale, seed=seed, **odd)
    for column in (study.ratings_frame["score"], there(study.answers)["answer"].drop_nulls()):
        assert set(column) <= set(scale.labels)


def test_each_rater_answers_in_their_own_style() -> None:
    size: dict[str, Any] = {"n_items": 100, "n_raters": 60, "trained": 0, "models": (), "seed": 4}
    options: dict[str, Any] = {"central": {"probability": 1.0}, "conservative": {"share": 0.25}}
    styles = {"normal": 0.4, "central": 0.3, "conservative": 0.3}
    plain, mixed = simulate(**size), simulate(**size, styles=styles, style_options=options)
    habits = mixed.truth_raters["style"].to_list()
    assert set(habits) == {"normal", "central", "conservative"}
    for before, after, style in zip(scores(plain), scores(mixed), habits, strict=True):
        if style == "normal":
            assert np.array_equal(after, before)
        elif style == "central":
            assert np.array_equal(after, np.clip(before, 1, 3))
        else:
            assert (after > 0).sum() == 25


def test_conservative_counts_only_the_items_a_rater_saw() -> None:
    study = simulate(**SMALL, styles={"conservative": 1.0}, missing=0.5, models=())
    for _, own in study.ratings_frame.group_by("rater"):
        assert (own["score"] > 0).sum() == math.floor(0.3 * len(own) + 0.5)


def test_a_biased_group_scores_higher_by_its_bias() -> None:
    condition = {"gender": "Woman", "age": "18-29"}
    effects = [Effect(condition, bias=0.8), Effect({"gender": "Woman"}, bias=0.2)]
    base = simulate(n_raters=200, trained=0, models=(), seed=1)
    study = simulate(n_raters=200, effects=effects, trained=0, models=(), seed=1)
    both, woman = who(study, condition), who(study, {"gender": "Woman"})
    gain = (scores(study) - scores(base)).mean(axis=1)
    assert study.truth_raters["group_bias"].to_numpy() == pytest.approx(np.where(both, 1.0, 0.2 * woman))
    assert study.truth_groups["n_raters"].to_list() == [both.sum(), woman.sum()]
    assert study.truth_groups["condition"].to_list() == ["gender=Woman, age=18-29", "gender=Woman"]
    assert not gain[~woman].any()
    # the scale's steps are 1 apart in severity, and the ends swallow part of the bias
    assert 0.6 < gain[both].mean() < 1.0
    assert 0.1 < gain[woman & ~both].mean() < 0.2
    assert scores(study)[both].mean() > scores(study)[~woman].mean() + 0.5


def test_a_shared_deviation_makes_a_group_cohesive() -> None:
    study = simulate(effects=[Effect(YOUNG, shared_sd=1.0)], trained=0, models=(), seed=2)
    young = who(study, YOUNG)
    r = correlations(study)
    within, across = np.nanmean(r[np.ix_(young, young)]), r[np.ix_(young, ~young)].mean()
    others = np.nanmean(r[np.ix_(~young, ~young)])
    assert within > across + 0.15
    assert others > across + 0.1  # the others still see the same items as each other
    assert study.truth_raters["group_bias"].to_list() == [0.0] * 120
    without = simulate(trained=0, models=(), seed=2)
    young, r = who(without, YOUNG), correlations(without)
    assert np.nanmean(r[np.ix_(young, young)]) == pytest.approx(r[np.ix_(young, ~young)].mean(), abs=0.02)


def test_a_violation_limits_an_effect_to_its_items() -> None:
    effect = Effect(YOUNG, bias=3.0, shared_sd=0.5, violation="privacy")
    base = simulate(trained=0, models=(), seed=3)
    study = simulate(effects=[effect], trained=0, models=(), seed=3)
    concerned = (study.items["violation"] == "privacy").to_numpy()
    young = who(study, YOUNG)
    gain = scores(study) - scores(base)
    assert 0 < concerned.sum() < len(concerned)
    assert gain[np.ix_(young, concerned)].mean() > 1
    assert not gain[np.ix_(young, ~concerned)].any()
    assert not gain[~young].any()
    assert study.truth_raters["group_bias"].to_list() == [0.0] * 120
    assert study.truth_groups.row(0) == ("age=18-29", 3.0, 0.5, "privacy", young.sum())


def test_noise_spreads_otherwise_equal_raters() -> None:
    size: dict[str, Any] = {"n_items": 400, "n_raters": 20, "rater_sd": 0.0, "trained": 0, "models": ()}
    still, noisy = (simulate(**size, noise_sd=sd) for sd in (0.0, 1.0))
    assert (scores(still) == scores(still)[0]).all()
    # correlation of V + e and V + e' is 1 / (1 + 1) before the cut into points
    assert np.nanmean(correlations(noisy)) == pytest.approx(0.47, abs=0.08)


def answers_of(study: Simulation, model: str) -> pl.DataFrame:
    return there(study.answers).filter(model=model)


def test_a_model_without_noise_answers_like_appendix_d() -> None:
    study = simulate(n_items=50, n_raters=1, models=[SimulatedModel("m", bias=0.25, noise_sd=0.0)])
    severity = study.truth_items["severity"]
    literal = [sum(cut < v + 0.25 for cut in (-1.5, -0.5, 0.5, 1.5)) for v in severity]
    assert answers_of(study, "m")["answer"].to_list() == literal
    assert set(answers_of(study, "m")["state"]) == {"answered"}


def test_like_gives_the_biases_and_deviations_that_person_meets() -> None:
    effects = [Effect(YOUNG, bias=0.3, shared_sd=1.0), Effect({**YOUNG, "gender": "Woman"}, bias=1.0)]
    people = {"young": YOUNG, "old": {"age": "60+"}, "woman": {**YOUNG, "gender": "Woman", "ethnicity": "Asian"}}
    models = [SimulatedModel(name, noise_sd=0.0, like=like) for name, like in people.items()]
    models.append(SimulatedModel("plain", noise_sd=0.0))
    study = simulate(n_raters=300, rater_sd=0.0, noise_sd=0.0, effects=effects, models=models)
    crowd = scores(study)
    woman = who(study, {"gender": "Woman"})
    answers = {name: answers_of(study, name)["answer"].to_numpy() for name in (*people, "plain")}
    assert np.array_equal(answers["young"], crowd[who(study, YOUNG) & ~woman][0])
    assert np.array_equal(answers["woman"], crowd[who(study, YOUNG) & woman][0])
    assert np.array_equal(answers["old"], crowd[who(study, {"age": "60+"})][0])
    assert np.array_equal(answers["old"], answers["plain"])
    assert not np.array_equal(answers["young"], answers["plain"])


def test_refusals_and_unreadable_answers_have_no_label() -> None:
    model = SimulatedModel("m", refusal_rate=0.2, unreadable_rate=0.1)
    frame = answers_of(simulate(n_items=10_000, n_raters=1, trained=0, models=[model]), "m")
    shares = {state: count / 10_000 for state, count in frame.group_by("state").len().iter_rows()}
    # unreadable: a tenth of the four fifths that are not refused; √(.2 · .8 / 10,000) = .004
    assert shares == pytest.approx({"refused": 0.2, "unreadable": 0.08, "answered": 0.72}, abs=0.02)
    assert frame.filter(pl.col("state") == "answered")["answer"].null_count() == 0
    assert frame.filter(pl.col("state") != "answered")["answer"].drop_nulls().is_empty()


def test_severe_items_are_refused_more_often() -> None:
    study = simulate(n_items=5000, n_raters=1, trained=0, models=[SimulatedModel("m", refusal_rate=0.2)])
    refused = answers_of(study, "m")["state"].to_numpy() == "refused"
    severity = study.truth_items["severity"].to_numpy()
    assert severity[refused].mean() > severity[~refused].mean() + 0.5


@pytest.mark.parametrize("rate", [0.001, 0.2, 0.5, 0.95])
@pytest.mark.parametrize("slope", [-1.0, 0.0, 1.5, 200.0])
def test_refusal_probabilities_have_the_mean_and_the_slope(rate: float, slope: float) -> None:
    severity = np.random.default_rng(0).normal(size=501)
    probability = refusal_probabilities(severity, rate, slope)
    assert probability.mean() == pytest.approx(rate, rel=1e-6)
    if abs(slope) < 10:
        odds = np.log(probability / (1 - probability))
        assert np.diff(odds) == pytest.approx(slope * np.diff(severity), abs=1e-6)
    assert not refusal_probabilities(np.array([-3.0, 9.0]), 0.0, 1.5).any()


def predicted(study: Simulation, model: str) -> pl.DataFrame:
    return there(study.predictions).filter(model=model)


def chances(study: Simulation, model: str) -> npt.NDArray[np.float64]:
    """Items × points."""
    return predicted(study, model).drop("model", "item").to_numpy()


EXACT = SimulatedPredictor("exact", error_sd=0.0)


@pytest.mark.parametrize("options", [
    {"scale": Scale.range(0, 4)},
    {"scale": Scale(["no", "yes"]), "rater_sd": 1.0, "noise_sd": 0.0},
    {"scale": Scale.range(1, 7), "rater_sd": 0.0, "noise_sd": 0.8, "cut_reach": 0.9},
])  # fmt: skip
def test_an_exact_prediction_is_the_share_of_each_point_among_many_raters(options: dict[str, Any]) -> None:
    n = 40_000
    study = simulate(n_items=12, n_raters=n, trained=0, models=(), predictors=[EXACT], seed=5, **options)
    scale = study.scale
    position = {label: at for at, label in enumerate(scale.labels)}
    given = np.array([position[label] for label in study.ratings_frame["score"]]).reshape(n, 12)
    shares = np.array([(given == at).mean(axis=0) for at in range(len(scale))]).T
    p = chances(study, "exact")
    assert p.shape == shares.shape == (12, len(scale))
    assert (np.abs(shares - p) < 5 * np.sqrt(p * (1 - p) / n) + 1 / n).all()


def test_predictions_against_the_distribution_function_of_a_normal() -> None:
    predictors = [SimulatedPredictor("p", error_sd=0.0, sharpness=0.8, bias=-0.4)]
    study = simulate(**SMALL, rater_sd=0.3, noise_sd=0.4, predictors=predictors)
    cuts = (-math.inf, -1.5, -0.5, 0.5, 1.5, math.inf)
    for severity, row in zip(study.truth_items["severity"], chances(study, "p"), strict=True):
        curve = NormalDist(severity - 0.4, 0.5 / 0.8)
        assert row == pytest.approx(np.diff([0.0, *map(curve.cdf, cuts[1:-1]), 1.0]), abs=1e-14)


def test_the_error_of_a_predictor_has_its_spread_and_bias() -> None:
    predictor = SimulatedPredictor("p", error_sd=0.4, sharpness=0.5, bias=0.7)
    study = simulate(n_items=5000, n_raters=1, trained=0, models=(), predictors=[predictor], scale=Scale(["no", "yes"]))
    spread = math.sqrt(0.5**2 + 0.5**2) / 0.5
    perceived = np.array([-spread * NormalDist().inv_cdf(below) for below in chances(study, "p")[:, 0]])
    severity = study.truth_items["severity"].to_numpy()
    error = perceived - severity
    assert error.mean() == pytest.approx(0.7, abs=5 * 0.4 / math.sqrt(5000))
    assert error.std() == pytest.approx(0.4, abs=5 * 0.4 / math.sqrt(10_000))
    assert abs(np.corrcoef(error, severity)[0, 1]) < 5 / math.sqrt(5000)


@pytest.mark.parametrize(("sharpness", "spread"), [(0.5, 1.0), (1.0, 0.5), (2.0, 0.25), (5.0, 0.1)])
def test_sharpness_divides_the_spread(sharpness: float, spread: float) -> None:
    # 0.3² + 0.4² = 0.5². Steps of 0.1 add 0.1² / 12 to the variance (Sheppard), and ±10 leaves out no one.
    predictors = [SimulatedPredictor("p", error_sd=0.0, sharpness=sharpness)]
    wide: dict[str, Any] = {"rater_sd": 0.3, "noise_sd": 0.4, "cut_reach": 10, "scale": Scale.range(0, 201)}
    study = simulate(n_items=200, n_raters=1, predictors=predictors, **wide)
    p, middles = chances(study, "p"), np.arange(202) * 0.1 - 10.05
    mean = p @ middles
    assert mean == pytest.approx(study.truth_items["severity"].to_numpy(), abs=1e-3)
    assert p @ middles**2 - mean**2 == pytest.approx(spread**2 + 0.1**2 / 12, abs=5e-4)


def test_without_any_spread_one_point_is_certain() -> None:
    study = simulate(n_items=50, n_raters=1, rater_sd=0.0, noise_sd=0.0, predictors=[EXACT])
    literal = [sum(cut < v for cut in (-1.5, -0.5, 0.5, 1.5)) for v in study.truth_items["severity"]]
    assert np.array_equal(chances(study, "exact"), np.eye(5)[literal])
    assert study.ratings_frame["score"].to_list() == literal


def test_far_points_keep_their_digits_on_both_sides() -> None:
    # P(Z > 10), P(Z > 20) and P(Z > 30) as tables of the normal distribution have them
    tails = [7.619853024160527e-24, 2.753624118606234e-89, 4.906713927148187e-198]
    cuts = np.array([10.0, 20.0, 30.0])
    above, below = (point_probabilities(np.zeros(1), 1.0, each)[0] for each in (cuts, -cuts[::-1]))
    assert above[1:] == pytest.approx(tails, rel=1e-12, abs=0.0)
    assert below[2::-1] == pytest.approx(tails, rel=1e-12, abs=0.0)


@settings(deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5), st.floats(0, 1e300), st.integers(2, 40), st.floats(0, 1e3)
)
def test_probabilities_are_never_negative_and_sum_to_1(
    perceived: list[float], spread: float, n_points: int, reach: float
) -> None:
    p = point_probabilities(np.array(perceived), spread, cut_points(n_points, reach=reach))
    assert p.shape == (len(perceived), n_points)
    assert (p >= 0).all()
    assert np.abs(p.sum(axis=1) - 1).max() < 1e-12


@pytest.mark.parametrize(("scale", "names"), [
    (Scale(["No", "Unsure", "Yes"]), ["No", "Unsure", "Yes"]),
    (Scale([0.5, 1, 1.5]), ["0.5", "1", "1.5"]),
    (Scale([False, True]), ["False", "True"]),
])  # fmt: skip
def test_predictions_name_model_item_and_points(scale: Scale, names: list[str]) -> None:
    study = simulate(**SMALL, scale=scale)
    frame = there(study.predictions)
    assert frame.columns == ["model", "item", *names]
    assert frame.dtypes == [pl.String, pl.String] + [pl.Float64] * len(names)
    assert frame["model"].unique(maintain_order=True).to_list() == ["careful", "confident", "vague"]
    for model in ("careful", "confident", "vague"):
        assert predicted(study, model)["item"].to_list() == study.items["item"].to_list()
    assert simulate(**SMALL, predictors=()).predictions is None


def test_the_built_in_predictors_differ_as_their_names_say() -> None:
    study = simulate(n_items=500, n_raters=1)
    highest = {name: chances(study, name).max(axis=1).mean() for name in ("careful", "confident", "vague")}
    assert highest["confident"] > highest["careful"] + 0.1
    assert highest["careful"] > highest["vague"] + 0.1


def test_the_file_of_predictions_has_every_digit(tmp_path: Path) -> None:
    study = simulate(**SMALL)
    assert tmp_path / "predictions.csv" in write_study(study, tmp_path)
    with (tmp_path / "predictions.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["model", "item", "0", "1", "2", "3", "4"]
    assert [(model, item, *map(float, p)) for model, item, *p in rows] == there(study.predictions).rows()
    assert tmp_path / "predictions.csv" not in write_study(simulate(**SMALL, predictors=()), tmp_path)
    assert not (tmp_path / "predictions.csv").exists()


def run(folder: Path, *arguments: str) -> Done:
    return run_cli("simulate", folder, "--items", "30", "--raters", "12", "--seed", "4", *arguments)


def test_the_command_line_writes_the_predictions_python_makes(tmp_path: Path) -> None:
    specs = ("--predictor", "sure one: error 0.1, sharpness 2, bias -0.5", "--predictor", "plain")
    assert run(tmp_path, *specs, "--ratings-per-item", "2:5").code == 0
    predictors = [SimulatedPredictor("sure one", 0.1, 2.0, -0.5), SimulatedPredictor("plain", 0.3, 1.0, 0.0)]
    size: dict[str, Any] = {"n_items": 30, "n_raters": 12, "seed": 4}
    study = simulate(**size, **DEMO, ratings_per_item=(2, 5), predictors=predictors)
    assert (tmp_path / "predictions.csv").read_text() == there(study.predictions).write_csv()
    assert (tmp_path / "ratings.csv").read_text() == study.ratings_frame.write_csv()
    assert json.loads((tmp_path / "settings.json").read_text())["ratings_per_item"] == [2, 5]
    assert run(tmp_path, "--no-predictors", "--ratings-per-item", "3").code == 0
    assert not (tmp_path / "predictions.csv").exists()
    assert (tmp_path / "ratings.csv").read_text() == simulate(
        **size, **DEMO, ratings_per_item=3
    ).ratings_frame.write_csv()


@pytest.mark.parametrize(("option", "value", "problem"), [
    ("--predictor", "p: noise 3", "'noise' is not one of bias, error, sharpness"),
    ("--predictor", "p: error much", "'much' is not a number"),
    ("--predictor", "p: error", "each part needs a name and a value"),
    ("--predictor", ": error 1", "predictors[0].name is '', but must be a text that is not blank"),
    ("--predictor", "p: sharpness 0", "predictors[0].sharpness is 0.0, but must be a finite number above 0"),
    ("--predictor", "p --predictor p", "['p', 'p'], but must be without repeats"),
    ("--ratings-per-item", "few", "a whole number or a range, such as 3 or 2:20, not 'few'"),
    ("--ratings-per-item", "2:", "a whole number or a range, such as 3 or 2:20, not '2:'"),
    ("--ratings-per-item", "2:3:4", "a whole number or a range, such as 3 or 2:20, not '2:3:4'"),
    ("--ratings-per-item", "2:13", "ratings_per_item[1] is 13, but must be at most n_raters, 12"),
    ("--ratings-per-item", "5:2", "ratings_per_item is (5, 2), but must be two whole numbers"),
])  # fmt: skip
def test_the_command_line_says_what_is_wrong(tmp_path: Path, option: str, value: str, problem: str) -> None:
    done = run(tmp_path / "out", option, *(value.split() if "--" in value else [value]))
    assert done.code != 0
    assert problem in " ".join(done.err.replace("│", " ").split())
    assert not (tmp_path / "out").exists()


def _effect(**changes: Any) -> dict[str, Any]:
    return {"effects": [Effect(**{"condition": YOUNG, **changes})]}


def _model(**changes: Any) -> dict[str, Any]:
    return {"models": [SimulatedModel(**{"name": "m", **changes})]}


def _predictor(**changes: Any) -> dict[str, Any]:
    return {"predictors": [EXACT, SimulatedPredictor(**{"name": "p", **changes})]}


FRACTION, NONE_BELOW_0, ABOVE_0 = (
    "a fraction from 0 to below 1", "a finite number of at least 0", "a finite number above 0",
)  # fmt: skip
PERCENTILES = "two percentiles from 0 to 100, the lower one first"
ONE_ONLY = "Give only one of them: each determines which ratings there are."
STYLE_NAMES = "normal, downward_shift, proportional_shift, conservative, extreme, central"
COUNTED = "Give a whole number, two whole numbers or None."


@pytest.mark.parametrize(("name", "value", "rule"), [
    ("n_items", 0, "a whole number of at least 1"), ("n_raters", -3, "a whole number of at least 1"),
    ("trained", -1, "a whole number of at least 0"), ("seed", -1, "a whole number of at least 0"),
    ("missing", 1.0, FRACTION), ("missing", -0.1, FRACTION), ("missing_attributes", 2, FRACTION),
    ("rater_sd", -1.0, NONE_BELOW_0), ("noise_sd", math.nan, NONE_BELOW_0), ("cut_reach", math.inf, NONE_BELOW_0),
    ("ratings_per_item", 0, "a whole number of at least 1"), ("ratings_per_item", 26, "at most n_raters, 25"),
    ("ratings_per_item", (5, 2), "two whole numbers, the lower one first"),
    ("trained_range", (90, 50), PERCENTILES), ("trained_range", (50, 101), PERCENTILES), ("trained_sd", 0.0, ABOVE_0),
    ("trained_mean", 20, "within trained_range, 50.0 to 90.0"),
    ("effects[0].condition", {}, 'like {"gender": "Woman"}'), ("effects[0].bias", math.inf, "a finite number"),
    ("effects[0].shared_sd", -1, NONE_BELOW_0), ("models[0].bias", math.nan, "a finite number"),
    ("models[0].refusal_slope", math.inf, "a finite number"), ("models[0].noise_sd", -0.1, NONE_BELOW_0),
    ("models[0].refusal_rate", 1.0, FRACTION), ("models[0].unreadable_rate", -1, FRACTION),
    ("predictors[1].name", " ", "a text that is not blank"), ("predictors[1].name", 7, "a text that is not blank"),
    ("predictors[1].error_sd", -0.1, NONE_BELOW_0), ("predictors[1].sharpness", 0, ABOVE_0),
    ("predictors[1].sharpness", math.inf, ABOVE_0), ("predictors[1].bias", "high", "a finite number"),
])  # fmt: skip
def test_a_value_that_is_out_of_range_is_named_with_its_rule(name: str, value: Any, rule: str) -> None:
    part, _, field = name.partition(".")
    given = {"e": _effect, "m": _model, "p": _predictor}[name[0]](**{field: value}) if field else {part: value}
    with pytest.raises(InputError) as caught:
        simulate(**{**SMALL, **given})
    assert str(caught.value) == f"{name} is {value!r}, but must be {rule}."
    assert not isinstance(caught.value, SelectionError)


@pytest.mark.parametrize(("arguments", "message"), [
    ({"n_raters": 2.5}, "n_raters is 2.5. Give a whole number."),
    ({"n_items": True}, "n_items is True. Give a whole number."),
    ({"missing": "half"}, "missing is 'half'. Give a number."),
    ({"missing": 0.5, "ratings_per_item": 3}, f"missing is 0.5 and ratings_per_item is 3. {ONE_ONLY}"),
    ({"missing": 0.5, "ratings_per_item": (2, 3)}, f"missing is 0.5 and ratings_per_item is (2, 3). {ONE_ONLY}"),
    ({"ratings_per_item": (0, 3)}, "ratings_per_item[0] is 0, but must be a whole number of at least 1."),
    ({"ratings_per_item": (2, 3.5)}, f"ratings_per_item is (2, 3.5). {COUNTED}"),
    ({"ratings_per_item": (2, 26)}, "ratings_per_item[1] is 26, but must be at most n_raters, 25."),
    ({"ratings_per_item": [1, 2, 3]}, f"ratings_per_item is [1, 2, 3]. {COUNTED}"),
    ({"styles": {"normal": 0.5, "extreme": 0.4}}, "the sum of the proportions in styles is 0.9, but must be 1."),
    ({"styles": {}}, "the sum of the proportions in styles is 0, but must be 1."),
    ({"styles": {"normal": 1.5, "extreme": -0.5}},
     "styles: the proportion of 'extreme' is -0.5, but must be at least 0."),
    ({"styles": {"nasty": 1.0}}, f"styles: style 'nasty' is unknown. Known: {STYLE_NAMES}."),
    ({"style_options": {"nasty": {}}}, f"style_options: style 'nasty' is unknown. Known: {STYLE_NAMES}."),
    ({"style_options": {"conservative": {"probability": 0.5}}},
     "style_options['conservative']: probability is unknown. Known: share."),
    ({"style_options": {"normal": {"share": 0.5}}}, "style_options['normal']: share is unknown. Known: none."),
    ({"style_options": {"central": {"probability": 1.5}}},
     "style_options['central']: probability is 1.5, but must be a number from 0 to 1."),
    ({"attributes": {"hand": {"left": 0.5, "right": 0.6}}},
     "the sum of the proportions in attributes['hand'] is 1.1, but must be 1."),
    ({"attributes": {"hand": {"left": math.nan, "right": 1.0}}},
     "attributes['hand']: the proportion of 'left' is nan, but must be at least 0."),
    ({"attributes": {"level": {1: 1.0}}}, "attributes is {'level': {1: 1.0}}. Give a mapping from texts to values."),
    ({"attributes": {"rater": {"x": 1.0}}},
     "a name in attributes is 'rater', but must be another name: it is the column of ids."),
    ({"violations": {"bias": 0.2}}, "the sum of the proportions in violations is 0.2, but must be 1."),
    (_effect(condition={"mood": "good"}),
     "effects[0].condition: attribute 'mood' is unknown. Known: gender, age, ethnicity."),
    (_effect(condition={"gender": "Womxn"}),
     "effects[0].condition: gender 'Womxn' is unknown. Known: Man, Woman, Nonbinary."),
    (_effect(violation="noise"),
     "effects[0]: violation 'noise' is unknown. Known: bias, harassment, misinformation, privacy."),
    ({"models": [SimulatedModel("m")] * 2}, "the list of names in models is ['m', 'm'], but must be without repeats."),
    (_model(like={"age": "5"}), "models[0].like: age '5' is unknown. Known: 18-29, 30-44, 45-59, 60+."),
    (_predictor(name="exact"),
     "the list of names in predictors is ['exact', 'exact'], but must be without repeats."),
    ({"scale": Scale(["item", "set"])},
     "a label of the scale is 'item', but must be another one if there are predictors: it is the name of a column."),
])  # fmt: skip
def test_every_error_names_argument_value_and_what_is_allowed(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        simulate(**{**SMALL, **arguments})
    assert str(caught.value) == message
    assert isinstance(caught.value, SelectionError) == ("unknown" in message)


def test_what_is_unusual_and_allowed() -> None:
    thirds = {"a": 0.333, "b": 0.333, "c": 0.333}  # proportions may be rounded
    study = simulate(n_items=1, n_raters=300, attributes={"third": thirds}, trained=0, models=())
    assert set(study.raters["third"]) == {"a", "b", "c"}
    any_label = simulate(**SMALL, scale=Scale(["item", "model"]), predictors=())
    assert set(any_label.ratings_frame["score"]) == {"item", "model"}
    assert simulate(**SMALL, attributes={}).raters.columns == ["rater"]
