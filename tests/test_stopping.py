"""Shuffling that stops early: p-values that are valid whenever it stops, the same draws, and the same decisions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import plurivox as pv
from plurivox.base.errors import PlurivoxWarning
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.infer.exchange import Exchange, entanglement
from plurivox.infer.families import undecided
from plurivox.infer.grouping import Grouping
from plurivox.infer.inference import Inference, Shuffled
from plurivox.infer.stopping import ALL_DRAWS, RISK, DrawPlan, Looks
from plurivox.lenses.cohesion.settings import CohesionSettings
from plurivox.report.settings import ReportSettings
from support import run_cli

NAN = math.nan
ALL = Exchange("all", None, 1, 0)
LEVELS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.16, 0.2, 0.25, 0.3, 0.5, 0.8)


# The plan ------------------------------------------------------------------------------------------------------------
def test_looks_double_from_99_up_to_four_fifths_of_the_draws() -> None:
    assert Looks.of(1000).at == (99, 199, 399, 799)
    assert Looks.of(998).at == (99, 199, 399)
    assert Looks.of(124).at == (99,)
    assert Looks.of(123) == Looks.of(0) == ALL_DRAWS


@pytest.mark.parametrize("level", [0.05, 0.01])
@pytest.mark.parametrize("asked", [124, 1000, 20_000, 10_000_000])
def test_a_test_at_the_level_is_hardly_ever_given_up(asked: int, level: float) -> None:
    """Against the binomial distribution of scipy: its smaller side is reached by Bin(n, level/2) draws."""
    looks = Looks.of(asked, level=level)
    assert list(looks.far) == sorted(looks.far, reverse=True)
    for n, far in zip(looks.at, looks.far, strict=True):
        least = math.ceil(far * (n + 1) / 2 - 1 - 1e-6)  # so many draws on the smaller side make p far
        assert binom.sf(least - 1, n, level / 2) <= RISK < binom.sf(least - 2, n, level / 2)
        assert far > level


@pytest.mark.parametrize(
    ("asked", "n_lenses", "at"),
    [(1000, 1, 399), (1000, 2, 799), (3000, 1, 399), (10_000, 1, 1599), (10_000, 4, 1599), (10_000, 6, 3199)],
)
def test_the_smallest_p_of_one_look_is_spent(asked: int, n_lenses: int, at: int) -> None:
    """A tenth of what decides at most, after an eighth of the draws at least."""
    looks, spent = Looks.of(asked, n_lenses=n_lenses), 2 / (at + 1)
    assert spent <= 0.05 / 10 / n_lenses + 1e-12
    assert at >= asked / 8
    assert dict(zip(looks.at, looks.clear, strict=True)) == {n: spent if n == at else 0.0 for n in looks.at}
    assert looks.spent(at) == 0
    assert looks.spent(at + 1) == looks.spent(asked) == spent
    assert looks.end([*([0.1] * looks.at.index(at)), 2 / (at + 1)])
    assert Looks.of(400 * n_lenses, n_lenses=n_lenses).spent(400 * n_lenses) == 0  # too few draws for such a look
    assert Looks.of(asked, n_lenses=n_lenses, ends_clear=False).spent(asked) == 0


def test_a_family_ends_once_all_was_far_or_clear() -> None:
    looks = Looks.of(1000)
    assert looks.end([[0.2, 0.9, NAN]])
    assert not looks.end([[0.2, 0.19]])
    assert not looks.end([[0.01, 0.9]])  # nothing is clear after 99 draws
    assert looks.end([[0.2, 0.19], [0.1, 0.15]])  # each was far
    middle = [0.1, 0.1]
    assert looks.end([middle, middle, [0.005, 0.115]])
    assert not looks.end([middle, middle, [0.005, 0.115]], clear=False)
    assert not looks.end([middle, middle, [0.005, 0.0075]])
    assert looks.end([middle, middle, [0.005, 0.0075], [0.01, 0.0876]])  # with what was spent: .0926
    assert not looks.end([middle, middle, [0.005, 0.0075], [0.01, 0.0874]])
    assert not looks.end([[NAN]])
    assert not looks.end([[]])
    assert not looks.end([])
    assert not looks.end([[0.1], [0.1], [0.1], [0.05], [0.9]])  # all draws are made
    assert not ALL_DRAWS.end([[0.9]])


def test_what_is_told() -> None:
    looks = Looks.of(1000)
    far, middle = [0.5], [0.1]
    assert looks.told([middle], 99).tolist() == [0.2]
    assert looks.told([far, middle], 199).tolist() == [0.5]  # never less than when it was far
    assert looks.told([middle, middle, [0.0025]], 399).tolist() == [0.0025]
    assert looks.told([middle, middle, [0.0025], [0.005], [0.003]], 1000).tolist() == [0.0025]
    assert looks.told([middle, middle, [0.01], [0.02], [0.02]], 1000).tolist() == [0.025]
    assert looks.told([middle, middle, [0.01], [0.02], [0.02], [0.5]], 2000).tolist() == [0.505]
    assert looks.told([middle, middle, [0.1], [1.0], [1.0]], 1000).tolist() == [1.0]
    assert np.isnan(looks.told([[NAN], [NAN]], 199)).all()
    assert ALL_DRAWS.told([[0.3]], 1000).tolist() == [0.3]


def test_what_is_claimed_beside_others_does_not_go_on_alone() -> None:
    plan, none = DrawPlan(1000, 10_000, 1, Looks.of(1000)), np.zeros(0)

    def enough(made: int, p: list[float], beside: list[float]) -> bool:
        n = Looks.of(1000).at.index(made) + 1
        own, more = (
            [*(np.full(len(one), 0.1) for _ in range(n - 1)), np.array(one, dtype=float)] for one in (p, beside)
        )
        return plan.enough(own, made, more)

    assert not plan.enough([], 0)
    assert not plan.enough([], 0, [])
    assert enough(99, [0.5], [0.1])
    assert not enough(99, [0.1], [0.5])
    assert enough(399, [0.005], [0.004])
    assert not enough(399, [0.005], [0.05])
    assert enough(99, [], [0.3])
    assert not enough(99, [], [0.1])
    assert not enough(99, [], [])
    assert DrawPlan(1000, 1000).enough([none], 1000)
    assert [plan.after(n) for n in (0, 99, 799, 1000, 2000, 8000)] == [99, 199, 1000, 2000, 4000, 10_000]
    assert DrawPlan(1000, 10_000).after(0) == 1000


def test_more_draws_only_for_what_may_still_be_claimed() -> None:
    """A p of .04 is undecided after 1,000 draws, but not if it was far at a look: then no less is told."""
    plan = DrawPlan(1000, 10_000, 1, Looks.of(1000))
    for first, enough in ((0.3, True), (0.1, False)):
        assert plan.enough([np.array([one]) for one in (first, 0.1, 0.06, 0.06, 0.04)], 1000) is enough


# Valid, whenever it stops --------------------------------------------------------------------------------------------
def urn(n: int, count: int, more: int) -> list[Fraction]:
    """Return how likely so many of further draws reach the observed value, if so many of n did: a Pólya urn."""
    chances = []
    for j in range(more + 1):
        ways = Fraction(math.comb(more, j))
        for i in range(j):
            ways *= Fraction(count + 1 + i, n + 2 + i)
        for i in range(more - j):
            ways *= Fraction(n - count + 1 + i, n + 2 + j + i)
        chances.append(ways)
    return chances


@pytest.mark.parametrize("looks", [
    Looks((7, 15), (0.5, 0.25), (0.0, 0.0)), Looks((7, 15), (0.5, 0.25), (0.0, 2 / 16)),
    Looks((7, 15), (0.75, 0.75), (1 / 8, 0.0)), Looks((3, 15), (0.5, 0.5), (1 / 4, 1 / 16)),
])  # fmt: skip
def test_every_sequence_of_draws(looks: Looks) -> None:
    """The exact distribution: told p ≤ α has a chance of at most α, even if one stops when p looks smallest."""
    total, first, second = 31, *looks.at
    told: dict[float, Fraction] = {}
    for a in range(first + 1):
        for b, to_b in enumerate(urn(first, a, second - first)):
            for c, to_c in enumerate(urn(second, a + b, total - second)):
                counts = (a, a + b, a + b + c)
                p = [(count + 1) / (n + 1) for count, n in zip(counts, (first, second, total), strict=True)]
                least = min(float(looks.told(p[: k + 1], n)) for k, n in enumerate((first, second, total)))
                told[least] = told.get(least, Fraction(0)) + Fraction(1, first + 1) * to_b * to_c
    assert sum(told.values()) == 1
    reached = Fraction(0)
    for least in sorted(told):
        reached += told[least]
        assert float(reached) <= least + 1e-12


@pytest.mark.parametrize(("asked", "n_lenses"), [(1000, 1), (1000, 4), (10_000, 4)])
def test_the_planned_looks_on_simulated_draws(asked: int, n_lenses: int) -> None:
    """One test with a p from endless draws that is uniform; two-sided, and stopped when p looks smallest."""
    rng, looks, n = np.random.default_rng(1), Looks.of(asked, n_lenses=n_lenses), 200_000
    place, made = rng.random(n), [*looks.at, asked]
    above = np.cumsum([rng.binomial(m, place) for m in np.diff([0, *made])], axis=0)
    p = [np.minimum(1, 2 * (np.minimum(c, m - c) + 1) / (m + 1)) for c, m in zip(above, made, strict=True)]
    told = [looks.told(p[: k + 1], m) for k, m in enumerate(made)]
    least = np.min(told, axis=0)
    for level in LEVELS:
        assert np.mean(least <= level) <= level + 4 * math.sqrt(level / n)
    # Without what makes it valid, stopping when p looks smallest is not.
    assert np.mean(np.min(p, axis=0) <= 0.05) > 0.06


def test_claims_with_fewer_and_with_more_draws_than_asked_for() -> None:
    """One test, given up to ten times the draws while it is undecided, and fewer where that is enough."""
    rng, n, claims = np.random.default_rng(3), 4000, 0
    plan = DrawPlan(1000, 10_000, 1, Looks.of(1000))
    for place in rng.random(n).tolist():
        made, above = 0, 0
        looked: list[NDArray[np.float64]] = []
        while not plan.enough(looked, made):
            above += rng.binomial(plan.after(made) - made, place)
            made = plan.after(made)
            looked.append(np.array([min(1.0, 2 * (min(above, made - above) + 1) / (made + 1))]))
        told = float(plan.looks.told(looked, made)[0])
        claims += told < 0.05 and not undecided(told, made)
    assert 0.03 * n < claims <= 0.05 * n + 3 * math.sqrt(0.05 * n)


class Studies(NamedTuple):
    """What was told of each hypothesis of simulated studies, alone and corrected, after how many draws."""

    p: NDArray[np.float64]
    adjusted: NDArray[np.float64]
    made: NDArray[np.int64]


CHOSEN = np.array([np.isin(np.arange(16), some) for some in combinations(range(16), 8)])


def differences(chosen: NDArray[np.bool_], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how much the means of the chosen half of the raters exceed those of the others."""
    return np.asarray((chosen @ values - ~chosen @ values) / 8)


class Drawn:
    """Differences between halves of the raters; draw number d takes one of all halves at random."""

    def __init__(self, values: NDArray[np.float64], rng: np.random.Generator) -> None:
        self.values, self.order = values, rng.integers(0, len(CHOSEN), 1 + 1000)

    def __call__(self, draws: Draws, how: Running) -> NDArray[np.float64]:
        return differences(CHOSEN[self.order[draws.first : draws.last]], self.values)[:, :, np.newaxis]


class Normal:
    """Independent draws of a standard normal."""

    def __call__(self, draws: Draws, how: Running) -> NDArray[np.float64]:
        return np.random.default_rng(0).normal(size=(10_000, 1, 1))[draws.first : draws.last]


def one_value(value: float, **asked: Any) -> Shuffled:
    """Test one value beside draws of a standard normal."""
    tested = Shuffled("", ("irr",), np.array([[value]]), Normal(), np.zeros(1, bool))
    settings = CohesionSettings(by=(("g",),), permutations=1000, max_permutations=8000)
    Inference(settings, Running(threads=1), ALL, looks=Looks.of(1000), **asked).decide([tested])
    return tested


def simulated(n: int, effect: float, *, seed: int, stop_early: bool, permutations: int = 499, **asked: Any) -> Studies:
    """Test six correlated differences between eight and eight raters; two of them are there if there is an effect."""
    rng = np.random.default_rng(seed)
    asked_for = CohesionSettings(by=(("g",),), permutations=permutations, max_permutations=permutations, **asked)
    looks = Looks.of(permutations) if stop_early else ALL_DRAWS
    inference, found = Inference(asked_for, Running(threads=1), ALL, looks=looks), []
    for _ in range(n):
        values = rng.standard_t(3, (16, 6)) + rng.normal(size=(16, 1))
        mine = CHOSEN[rng.integers(len(CHOSEN))]
        values[:, :2] += effect * mine[:, np.newaxis]
        observed = differences(mine, values)[:, np.newaxis]
        tested = Shuffled("", ("irr",), observed, Drawn(values, rng), np.zeros(6, bool))
        inference.decide([tested])
        found.append((tested.p_value[:, 0], tested.adjusted[:, 0], len(tested.null)))
    return Studies(*(np.array(column) for column in zip(*found, strict=True)))


def not_too_often(p: NDArray[np.float64]) -> None:
    for level in LEVELS:
        assert np.mean(p <= level) <= level + 3.3 * math.sqrt(level * (1 - level) / len(p)), level


@pytest.mark.parametrize("correction", ["maxt", "holm"])
def test_no_difference_in_a_family(correction: str) -> None:
    found = simulated(300, 0.0, seed=2, stop_early=True, correction=correction)
    not_too_often(found.adjusted.min(axis=1))
    for column in found.p.T:
        not_too_often(column)
    assert found.made.mean() < 250


@pytest.mark.claims
@pytest.mark.parametrize("correction", ["maxt", "bonferroni"])
@pytest.mark.parametrize("effect", [0.0, 2.0, 6.0])
def test_any_false_claim(correction: str, effect: float) -> None:
    """What is there is found, and of the other four hypotheses any is below a level no more often than the level."""
    found = simulated(2000, effect, seed=5, stop_early=True, correction=correction, permutations=999)
    not_too_often(found.adjusted[:, 2:].min(axis=1))
    for column in found.p[:, 2:].T:
        not_too_often(column)


@pytest.mark.claims
@pytest.mark.parametrize("effect", [0.0, 2.0, 4.0, 8.0])
def test_decisions_are_those_of_all_draws(effect: float) -> None:
    asked: dict[str, Any] = {"seed": 7, "permutations": 999}
    early, every = (simulated(400, effect, stop_early=stop, **asked) for stop in (True, False))
    claimed, would = early.adjusted < 0.05, every.adjusted < 0.05
    near = (every.adjusted > 0.05 - 0.005 - 0.02) & (every.adjusted < 0.05 + 0.02)  # p is spent, and has an error
    assert (claimed == would)[~near].all()
    assert np.mean((claimed == would).all(axis=1)) > 0.95
    assert (every.made == 999).all()
    assert early.made.mean() < {0.0: 350, 2.0: 900, 4.0: 800, 8.0: 700}[effect]


def test_stops_where_nothing_is_left_to_tell() -> None:
    """The draws are those that would have been made, and what is told rests on these alone."""
    early = simulated(40, 0.0, seed=3, stop_early=True)
    every = simulated(40, 0.0, seed=3, stop_early=False)
    stopped = early.made < 499
    assert stopped.sum() > 20
    assert (early.made[stopped] >= 99).all()
    far = dict(zip(Looks.of(499).at, Looks.of(499).far, strict=True))
    least = np.array([far.get(n, 0.0) for n in early.made.tolist()])[:, np.newaxis]
    for p in (early.p, early.adjusted):
        assert ((p >= least) | (p <= 0.005)).all()  # what is not far is clear
    assert ((early.adjusted >= every.adjusted) | (early.adjusted <= 0.005))[~stopped].all()


def test_a_clear_difference_ends_it() -> None:
    clear = one_value(9.0)
    assert len(clear.null) == 399
    assert clear.p_value[0, 0] == clear.adjusted[0, 0] == 2 / 400
    assert len(one_value(0.1).null) == 99
    assert len(one_value(9.0, convention="published").null) == 1000


def test_undecided_p_values_still_get_more_draws() -> None:
    """p is about .036, and nearer to .05 with what is spent: far from decided after 1,000 draws."""
    tested = one_value(2.1)
    assert len(tested.null) > 1000
    reached = np.count_nonzero(tested.null >= 2.1) + 1
    assert tested.p_value[0, 0] == pytest.approx(2 * reached / (len(tested.null) + 1) + 0.005)


def test_the_check_of_the_design_stops_too() -> None:
    """Half of the ratings at random: raters are in no blocks, and who rated what does not depend on the group."""
    study = pv.simulate(n_items=40, n_raters=48, seed=8)
    keep = np.random.default_rng(1).random(len(study.ratings)) < 0.5
    ratings = pv.Ratings.from_frame(study.ratings.to_frame().filter(keep), scale=study.ratings.scale)
    codes = np.arange(ratings.n_raters, dtype=np.int32) % 2
    grouping, asked = Grouping.of(ratings, codes, 2), (999, 0, Running(threads=1))
    looks = Looks.of(999, level=0.01, ends_clear=False)
    early, every = entanglement(ratings, grouping, *asked, looks), entanglement(ratings, grouping, *asked)
    first = entanglement(ratings, grouping, 99, 0, Running(threads=1))
    assert min(every) > 0.12
    assert early == first != every
    assert not early.entangled


# The option that there was -------------------------------------------------------------------------------------------
TOLD = "stop_early was removed: every shuffle that you ask for is made, and more while a p-value is close to .05"


@pytest.fixture(scope="module")
def ratings() -> pv.Ratings:
    return pv.simulate(n_items=20, n_raters=24, seed=8).ratings


def test_the_keyword_changes_nothing(ratings: pv.Ratings) -> None:
    with pytest.warns(PlurivoxWarning, match=TOLD):
        found = pv.variation(ratings, "age", permutations=19, stop_early=True)  # type: ignore[call-arg]
    assert found.to_json() == pv.variation(ratings, "age", permutations=19).to_json()


def test_stored_settings_and_results_are_read_as_before(ratings: pv.Ratings) -> None:
    with pytest.warns(PlurivoxWarning, match=TOLD):
        assert ReportSettings.from_dict({"seed": 3, "stop_early": True}) == ReportSettings(seed=3)
    found = pv.cohesion(ratings, "age", permutations=19, interval="none")
    stored = found.to_json().replace('"settings": {', '"settings": {"stop_early": true, ')
    assert pv.Cohesion.from_json(stored).statements() == found.statements()


def test_the_option_and_the_key(ratings: pv.Ratings, tmp_path: Path) -> None:
    ratings.to_frame().write_csv(tmp_path / "r.csv")
    ratings.raters.write_csv(tmp_path / "raters.csv")
    files = (tmp_path / "r.csv", "--raters", tmp_path / "raters.csv", "--scale", "0:4")
    asked = ("variation", *files, "--by", "age", "--permutations", 19)
    done = run_cli(*asked, "--stop-early")
    assert done.code == 2
    assert TOLD.replace("stop_early", "Error: --stop-early") in done.words
    (tmp_path / "plurivox.toml").write_text("[variation]\nstop_early = true\n")
    assert f"warning: {TOLD}" in run_cli(*asked).words
