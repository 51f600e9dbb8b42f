"""Families of p-values from joint shuffles: step-down max-T against a literal twin and against all relabellings."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.infer.exchange import Exchange
from plurivox.infer.families import standardised, step_down, undecided
from plurivox.infer.inference import Inference, Shuffled
from plurivox.lenses.cohesion import CohesionSettings
from reference import westfall_young

NAN = math.nan
ALL = Exchange("all", None, 1, 0)


@given(st.integers(0, 100_000), st.integers(1, 7), st.sampled_from([0.0, 0.1]), st.booleans())
@settings(max_examples=80)
def test_step_down_against_a_literal_twin(seed: int, n: int, undefined: float, rounded: bool) -> None:
    """Also with undefined draws, undefined values, values that do not vary, and ties."""
    rng = np.random.default_rng(seed)
    null = rng.normal(size=(30, n)) * rng.choice([0.01, 1, 50], n)
    observed = null[0] * rng.choice([1, 2, 4], n)
    if rounded:
        null, observed = np.round(null), np.round(observed)
    null[rng.random(null.shape) < undefined] = np.nan
    observed[rng.random(n) < undefined] = np.nan
    got = step_down(observed, null)
    assert got == pytest.approx(westfall_young(observed.tolist(), null.tolist()), nan_ok=True, abs=1e-12)


def test_standardised_values_have_mean_0_and_deviation_1_together() -> None:
    rng = np.random.default_rng(0)
    null, observed = rng.normal(3, 5, (50, 4)), rng.normal(size=4)
    null[3, 1] = NAN
    z, draws = standardised(observed, null)
    together = np.concatenate([z[np.newaxis], draws])
    assert np.nanmean(together, axis=0) == pytest.approx(np.zeros(4), abs=1e-12)
    assert np.nanstd(together, axis=0) == pytest.approx(np.ones(4))
    assert np.isnan(draws[3, 1])
    assert np.isnan(draws).sum() == 1


@pytest.mark.parametrize("null", [[[2.0], [2.0]], [[NAN], [NAN]], []])
def test_values_that_do_not_vary_are_in_no_family(null: list[list[float]]) -> None:
    draws = np.array(null).reshape(-1, 1)
    z, _ = standardised([2.0], draws)
    assert np.isnan(z).all()
    assert np.isnan(step_down([2.0], draws)).all()


def test_an_undefined_value_does_not_change_the_others() -> None:
    rng = np.random.default_rng(2)
    null, observed = rng.normal(size=(40, 3)), np.array([2.5, 0.3, -1.9])
    more = np.concatenate([null, rng.normal(size=(40, 1))], axis=1)
    assert step_down([*observed, NAN], more)[:3].tolist() == step_down(observed, null).tolist()


def differences(scores: np.ndarray[Any, Any], group: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return the difference of means between a group and the others, of each variable."""
    inside = np.isin(np.arange(scores.shape[1]), group)
    return np.asarray(scores[:, inside].mean(axis=1) - scores[:, ~inside].mean(axis=1))


def test_all_relabellings_of_a_true_null_reject_exactly_as_often_as_said() -> None:
    """Each of the 70 splits of 8 raters in turn is taken for the observed one, with all others as its draws.

    Under the null all are alike, so that the smallest adjusted p must be ≤ α in at most α of them, for every α. The
    second variable depends on the first, the third is skewed.
    """
    rng = np.random.default_rng(4)
    first = rng.normal(size=8)
    scores = np.stack([first, first + 0.3 * rng.normal(size=8), rng.exponential(size=8) ** 2])
    values = np.stack([differences(scores, group) for group in combinations(range(8), 4)])
    smallest, each = [], []
    for number, observed in enumerate(values):
        p = step_down(observed, np.delete(values, number, axis=0))
        smallest.append(p.min())
        each.append(p)
    for alpha in (1 / 70, 2 / 70, 0.05, 0.1, 0.2, 0.5):
        assert np.mean(np.array(smallest) <= alpha + 1e-12) <= alpha + 1e-12
    assert min(smallest) == pytest.approx(2 / 70)  # a split and its mirror image deviate alike
    # Without correction the same is said far too often, so that the bound above is not met for want of power.
    alone = [min(float(step_down(row[[k]], np.delete(values[:, [k]], n, axis=0))[0]) for k in range(3))
             for n, row in enumerate(values)]  # fmt: skip
    assert np.mean(np.array(alone) <= 0.1) > 0.1


def test_the_smallest_p_does_not_grow_with_the_number_of_values() -> None:
    """A lone effect in 200 values survives 99 shuffles, which no method by the number of tests allows."""
    rng = np.random.default_rng(5)
    null = rng.normal(size=(99, 200))
    observed = rng.normal(size=200) * 0.5
    observed[17] = 25.0
    p = step_down(observed, null)
    assert p[17] == pytest.approx(1 / 100)
    assert np.delete(p, 17).min() > 0.05


def test_undecided_is_within_two_standard_errors() -> None:
    for p, n in [(0.04, 999), (0.03, 999), (0.036, 999), (0.065, 999), (0.068, 999), (0.051, 100_000)]:
        error = math.sqrt(p * (1 - p) / n)
        assert bool(undecided(p, n)) == (p - 2 * error <= 0.05 <= p + 2 * error)
    assert undecided([0.024, 0.05], 999, 0.025).tolist() == [True, False]
    assert not undecided(NAN, 999)


# How often raters are shuffled ---------------------------------------------------------------------------------------
class Made:
    """Draws of a value of 1 of which a given share reaches it; remembers which draws were asked for."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.asked: list[tuple[int, int]] = []

    def __call__(self, draws: Draws, how: Running) -> np.ndarray[Any, Any]:
        self.asked.append((draws.first, draws.last))
        numbers = np.arange(draws.first, draws.last)
        return np.where(numbers % self.every == 0, 2.0, -0.1 + 0.001 * (numbers % 7))[:, np.newaxis, np.newaxis]

    def tested(self, name: str = "irr") -> Shuffled:
        return Shuffled("a test", (name,), np.array([[1.0]]), self, np.array([False]))


def ranges(every: int, *, name: str = "irr", convention: str = "default", **asked: Any) -> list[tuple[int, int]]:
    settings_of = CohesionSettings(by=(("g",),), permutations=100, **asked)
    made = Made(every)
    Inference(settings_of, Running(threads=1), ALL, convention).decide([made.tested(name)])
    return made.asked


def test_shuffles_double_while_a_p_value_is_undecided() -> None:
    """A p of about 1/20 can never be decided: 100, 200, 400, 800 and at most 1,000; none is made twice."""
    # Two-sided rank p is about twice the share of draws that reach the value, and p_adjusted never below it.
    assert ranges(40) == [(1, 101), (101, 201), (201, 401), (401, 801), (801, 1001)]
    assert ranges(40, max_permutations=300) == [(1, 101), (101, 201), (201, 301)]
    assert (ranges(40, max_permutations=100), ranges(40, max_permutations=0)) == ([(1, 101)], [(1, 101)])
    assert ranges(40, convention="published") == [(1, 101)]


def test_shuffles_end_when_all_is_decided() -> None:
    assert ranges(3) == [(1, 101)]  # about 1/3 of the draws reach it
    assert ranges(2000) == [(1, 101)]  # none does
    assert ranges(40, name="negentropy") == [(1, 101)]  # makes no claim


def test_shuffles_go_on_for_what_decides_in_a_report() -> None:
    """p of about .028 is decided against .05 after 400 draws, but not against .05/2."""
    assert ranges(72)[-1][1] < ranges(72, n_lenses=2)[-1][1] == 1001
