"""The soft-scores lens: against a literal twin; references, bins, priors and their strength."""

from __future__ import annotations

import functools
import itertools
import math
import re
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special

import plurivox as pv
from plurivox import statistics
from plurivox.base.errors import InputError, SoftScoresWarning
from plurivox.lenses.soft.matching import FOLDS, folds_of
from plurivox.lenses.soft.sums import STRENGTHS
from plurivox.lenses.soft.words import SoftFindings
from soft_studies import (
    EMPIRICAL,
    EXPECTED,
    LEFT,
    MARGINAL,
    METRICS,
    POSTERIOR_MEAN,
    REFERENCES,
    RIGHT,
    UNIFORM,
    VALUES_ONLY,
    Array,
    constant,
    in_bin,
    mean_of,
    predictions_of,
    ratings_of,
    soft,
    study,
    truthful,
    with_numbers,
)


# The literal twin ----------------------------------------------------------------------------------------------------
def x_log_x(x: Any) -> Any:
    return special.xlogy(x, x)


@functools.cache
def beta_nodes(a: float, b: float) -> tuple[Array, Array]:
    """Return numbers from 0 to 1 and their weights under Beta(a, b): a fine trapezoid rule in logit x."""
    t = np.linspace(-120, 120, 2_401)
    log_weight = a * special.log_expit(t) + b * special.log_expit(-t) - special.betaln(a, b)
    return special.expit(t), np.exp(log_weight) * (t[1] - t[0])


def beta_mean(f: Callable[[Array], Array], a: float, b: float) -> float:
    x, weight = beta_nodes(a, b)
    return float((f(x) * weight).sum())


@functools.cache
def mean_distance(a: float, b: float, c: float) -> float:
    """E|X − c| = 2∫₀ᶜ P(X ≤ x) dx + E[X] − c."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", integrate.IntegrationWarning)
        area, _ = integrate.quad(lambda x: special.betainc(a, b, x), 0, c, epsabs=1e-12, epsrel=1e-12, limit=200)
    return float(2 * area + a / (a + b) - c)


def cross_entropy_twin(p: Sequence[Fraction | float], q: Sequence[float]) -> float:
    if any(x > 0 and y == 0 for x, y in zip(p, q, strict=True)):
        return math.inf
    return -math.fsum(float(x) * math.log(y) for x, y in zip(p, q, strict=True) if x > 0)


def below(p: Sequence[Any]) -> list[Any]:
    return [min(sum(p[: k + 1]), 1) for k in range(len(p) - 1)]


def scores_twin(
    n: Sequence[int], q: Sequence[float], prior: Sequence[float], values: Sequence[float], *, normalized: bool = True,
    floor: float | None = None,
) -> dict[str, float]:  # fmt: skip
    """Return every score of one item as the definitions read, those of the ratings NaN without any."""
    raised = list(q) if floor is None else [max(x, floor) for x in q]
    raised = [x / sum(raised) for x in raised]
    steps = [upper - lower for lower, upper in itertools.pairwise(values)]
    length, height = (sum(steps), len(steps)) if normalized else (1, 1)
    found = dict.fromkeys(EMPIRICAL, math.nan)
    if sum(n):
        p = [Fraction(x, sum(n)) for x in n]
        entropy = -math.fsum(float(x_log_x(float(x))) for x in p)
        middle = [(float(x) + y) / 2 for x, y in zip(p, q, strict=True)]
        halves = math.fsum(float(x_log_x(float(x)) + x_log_x(y)) for x, y in zip(p, q, strict=True)) / 2
        found["cross_entropy"] = cross_entropy_twin(p, raised)
        found["kl"] = found["cross_entropy"] - entropy
        found["js"] = halves - math.fsum(float(x_log_x(m)) for m in middle)
        moved = [abs(float(x) - y) * step for x, y, step in zip(below(p), below(q), steps, strict=True)]
        found["emd"] = math.fsum(moved) / length
        ratings = [point for point, count in enumerate(n) for _ in range(count)]
        squares = [((point <= k) - at) ** 2 for point in ratings for k, at in enumerate(below(q))]
        found["rps"] = math.fsum(squares) / len(ratings) / height
    a = [x + y for x, y in zip(n, prior, strict=True)]
    a0 = math.fsum(a)
    entropy = math.fsum(beta_mean(lambda x: -x_log_x(x), one, a0 - one) for one in a)
    cross = cross_entropy_twin([one / a0 for one in a], raised)
    found |= {"expected_cross_entropy": cross, "expected_kl": cross - entropy}
    found["expected_js"] = math.fsum(
        beta_mean(lambda x, y=y: (x_log_x(x) + x_log_x(y)) / 2 - x_log_x((x + y) / 2), one, a0 - one)  # type: ignore[misc]
        for one, y in zip(a, q, strict=True)
    )
    apart = [
        mean_distance(math.fsum(a[: k + 1]), math.fsum(a[k + 1 :]), float(at)) * step
        for (k, at), step in zip(enumerate(below(q)), steps, strict=True)
    ]
    found["expected_emd"] = math.fsum(apart) / length
    means = [one / a0 for one in a]
    # E[(F − c)²] + E[F(1 − F)] with E[F²] = A(A + 1)/(a₀(a₀ + 1))
    terms = []
    for mu, at in zip(below(means), below(q), strict=True):
        square = mu * (mu * a0 + 1) / (a0 + 1)
        terms.append((square - 2 * at * mu + at**2) + (mu - square))
    found["expected_rps"] = math.fsum(terms) / height
    return found


def references_twin(counts: Sequence[Sequence[int]], prior: Sequence[float], seed: int) -> dict[str, list[list[float]]]:
    """Return the three predictions beside the models; the marginal one leaves out the item's whole fold."""
    n_points, folds = len(prior), folds_of(len(counts), seed).tolist()
    marginal = []
    for own in folds:
        pooled = [1 / n_points + sum(row[c] for row, f in zip(counts, folds, strict=True) if f != own)
                  for c in range(n_points)]  # fmt: skip
        marginal.append([x / sum(pooled) for x in pooled])
    posterior = [[(x + y) / (sum(row) + sum(prior)) for x, y in zip(row, prior, strict=True)] for row in counts]
    return {UNIFORM: [[1 / n_points] * n_points] * len(counts), MARGINAL: marginal, POSTERIOR_MEAN: posterior}


PRIORS: dict[str, Callable[[int], Any]] = {
    "a number": lambda n: 0.5, "the default": lambda n: 1.0, "a vector": lambda n: [0.4 + 0.7 * k for k in range(n)],
}  # fmt: skip


@settings(max_examples=20)
@given(
    st.integers(0, 10_000), st.booleans(), st.booleans(), st.sampled_from([None, None, 0.01]),
    st.sampled_from(list(PRIORS)),
)  # fmt: skip
def test_every_mean_against_the_literal_twin(
    seed: int, totals: bool, normalized: bool, floor: float | None, prior: str
) -> None:
    made = study(seed, totals=totals)
    weights = PRIORS[prior](len(made.scale))
    options: dict[str, Any] = {"normalized": normalized, "floor": floor, "seed": seed}
    found = soft(made.ratings, made.predictions, weights, **options, **VALUES_ONLY)
    vector = np.broadcast_to(weights, len(made.scale)).tolist()
    everyone = made.q | references_twin(made.counts, vector, seed)
    assert [row.model for row in found.rows[:: len(METRICS)]][:5] == list(everyone)
    for name, shares in everyone.items():
        items = [
            scores_twin(n, q, vector, made.scale.values, normalized=normalized, floor=floor)
            for n, q in zip(made.counts, shares, strict=True)
        ]
        for bin_, metric in itertools.product(["all", *found.bins], METRICS):
            inside = [s[metric] for n, s in zip(made.counts, items, strict=True) if in_bin(sum(n), bin_)]
            row = found.row(name, metric, bin_)
            assert row.value == pytest.approx(mean_of(inside), rel=1e-8, abs=1e-9, nan_ok=True), (name, bin_, metric)
            assert row.n_items == len([one for one in inside if not math.isnan(one)])
            assert row.n_ratings == sum(sum(n) for n in made.counts if in_bin(sum(n), bin_))
            assert row.kind == ("reference" if name in REFERENCES else "model")
            assert row.note or not (math.isnan(row.value) or math.isinf(row.value))


@settings(max_examples=10)
@given(st.integers(0, 10_000))
def test_no_prediction_beats_the_posterior_mean(seed: int) -> None:
    made = study(seed, zeros=False)
    found = soft(made.ratings, made.predictions, **VALUES_ONLY)
    for metric, bin_ in itertools.product(("expected_cross_entropy", "expected_kl", "expected_rps"), found.bins):
        best = found.value(POSTERIOR_MEAN, metric, bin_)
        assert all(found.value(name, metric, bin_) >= best - 1e-12 for name in ("m", "n", UNIFORM, MARGINAL))


def test_hand_derived_values() -> None:
    """One item with one rating on two points, q = (½, ½), α = 1: see the same numbers in the tests of functions."""
    found = soft(ratings_of([[1, 0]]), constant(1, m=[0.5, 0.5]), **VALUES_ONLY)
    assert found.value("m", "cross_entropy") == pytest.approx(math.log(2))
    assert found.value("m", "emd") == pytest.approx(1 / 2)
    assert found.value("m", "expected_emd") == pytest.approx(1 / 4)
    assert found.value("m", "expected_rps") == pytest.approx(1 / 4)
    assert found.value(POSTERIOR_MEAN, "expected_cross_entropy") == pytest.approx(math.log(3) - 2 / 3 * math.log(2))
    assert found.value(MARGINAL, "emd") == pytest.approx(1 / 2)  # nothing is known of other items


def test_convabuse(real_data: Path) -> None:
    """The prediction that knows nothing beats the one that knows how the scale is used."""
    frame = pl.read_csv(real_data / "convabuse" / "ConvAbuseEMNLPfull.csv", infer_schema=False)
    chosen = frame.select(pl.col(f"is_abuse.{value}").cast(int) for value in (-3, -2, -1, 0, 1)).to_numpy()
    item = pl.format("{} | {}", pl.col("conv_id"), pl.col("user"))
    long = frame.select(item=item, rater="annotator_id", score=pl.Series(np.argmax(chosen, axis=1) - 3))
    ratings = pv.Ratings.from_frame(long, scale=pv.Scale.range(-3, 1), duplicates="first")
    shares = {str(label): share for label, share in zip(ratings.scale.labels, [0.1, 0.1, 0.1, 0.1, 0.6], strict=True)}
    predictions = ratings.items.select("item").with_columns(**{name: pl.lit(share) for name, share in shares.items()})
    metrics = ["expected_cross_entropy", "expected_emd"]
    asked = {"min_ratings": 2, "normalized": False, "metrics": metrics, **VALUES_ONLY}
    found = soft(ratings, predictions, 1.0, **asked)
    fitted = soft(ratings, predictions, **asked)
    assert all(fitted.value(MARGINAL, metric) < fitted.value(UNIFORM, metric) for metric in metrics)
    assert found.settings["n_items"] == 4059
    assert found.settings["n_few"] == ratings.n_items - 4059
    assert [round(found.value(UNIFORM, metric), 3) for metric in metrics] == [1.609, 0.772]
    assert [round(found.value(MARGINAL, metric), 3) for metric in metrics] == [1.851, 0.973]
    sizes = dict(found.prior_weight().select("bin", "n_items").iter_rows())
    assert (sizes["2"], sizes["3"]) == (1046, 2321)


# Predictions beside the models ---------------------------------------------------------------------------------------
def marginals_of(firsts: Sequence[bool]) -> list[float]:
    """Return the marginal share of the first of two points for item k, all of whose k + 1 ratings are alike.

    Each item is alone in its bin, where EMD is 1 less that share, or that share.
    """
    counts = [[k + 1, 0] if first else [0, k + 1] for k, first in enumerate(firsts)]
    bins = [str(k + 1) for k in range(len(firsts))]
    found = soft(ratings_of(counts), constant(len(counts), m=[0.5, 0.5]), bins=bins, metrics=["emd"],
                 **VALUES_ONLY)  # fmt: skip
    return [
        1 - found.value(MARGINAL, "emd", bin_) if first else found.value(MARGINAL, "emd", bin_)
        for bin_, first in zip(bins, firsts, strict=True)
    ]


def test_marginal_never_sees_the_items_own_fold() -> None:
    """Items whose ratings leave each other's marginal prediction alone are a fold; there are ten of about one size."""
    firsts = [k % 3 == 0 for k in range(23)]
    before = marginals_of(firsts)
    folds = set()
    for k in range(23):
        after = marginals_of([first != (j == k) for j, first in enumerate(firsts)])
        same = frozenset(j for j in range(23) if abs(after[j] - before[j]) < 1e-9)
        assert k in same
        folds.add(same)
    assert len(folds) == FOLDS
    assert sorted(itertools.chain(*folds)) == list(range(23))
    assert {len(fold) for fold in folds} == {2, 3}
    total = 1 + sum(range(1, 24))
    for fold in folds:
        others = sum(k + 1 for k in range(23) if firsts[k] and k not in fold)
        left = total - sum(k + 1 for k in fold)
        assert [before[k] for k in fold] == pytest.approx([(others + 1 / 2) / left] * len(fold))


def test_marginal_of_training_ratings_is_their_pooled_share() -> None:
    made, other = study(3, n_items=8), [[5, 1, 0], [0, 2, 1]]
    n_points = len(made.scale)
    counts = np.zeros((2, n_points), dtype=np.int64)
    counts[:, : min(3, n_points)] = np.array(other)[:, :n_points]
    found = soft(made.ratings, made.predictions, train=ratings_of(counts, made.scale), **VALUES_ONLY)
    pooled = (counts.sum(axis=0) + 1 / n_points) / (counts.sum() + 1)
    rated = np.array([row for row in made.counts if sum(row)])
    expected = statistics.emd(rated, pooled, values=made.scale.values).mean()
    assert found.value(MARGINAL, "emd") == pytest.approx(expected)
    assert found.settings["train"] is True
    assert found.settings["n_trained_on"] == 2
    assert "2 of the scored items are among the training items." in found.findings()
    assert soft(made.ratings, made.predictions, **VALUES_ONLY).settings["train"] is False


def test_items_that_are_not_scored_inform_the_marginal_prediction() -> None:
    ratings = ratings_of([[3, 0], [0, 9], [0, 1]])
    found = soft(ratings, constant(1, m=[0.5, 0.5]), metrics=["emd"], **VALUES_ONLY)
    assert found.value(MARGINAL, "emd") == pytest.approx(1 - 0.5 / 11)  # ½ of the spread rating, 10 ratings elsewhere
    with pytest.raises(InputError, match="training ratings are on 0 < 1, the ratings on 1 < 2 < 3"):
        soft(ratings_of([[1, 2, 0]]), constant(1, m=LEFT), train=ratings_of([[1, 1]], pv.Scale.range(0, 1)))


def sizes_of(found: pv.SoftScores) -> dict[str, int]:
    return dict(found.prior_weight().select("bin", "n_items").iter_rows())


@settings(max_examples=20)
@given(st.lists(st.integers(0, 25), min_size=1, max_size=30))
def test_bins_of_the_data_hold_every_item_once(numbers: list[int]) -> None:
    found = soft(*with_numbers(numbers), metrics=["rps"], **VALUES_ONLY)
    names = [name for name in found.bins if name != "0"]
    assert (found.bins[:1] == ["0"]) == (0 in numbers)
    assert len(names) <= 5
    assert [sum(in_bin(n, name) for name in found.bins) for n in numbers] == [1] * len(numbers)
    sizes = sizes_of(found)
    assert list(sizes) == [*found.bins, "all"]
    assert all(sizes[name] == sum(in_bin(n, name) for n in numbers) > 0 for name in found.bins)
    assert sizes["all"] == len(numbers)
    assert found.settings["n_in_no_bin"] == 0
    if len({n for n in numbers if n}) <= 5:
        assert names == [str(n) for n in sorted({n for n in numbers if n})]
    equal = soft(*with_numbers(range(1, 24)), metrics=["rps"], **VALUES_ONLY)  # about equally large
    assert equal.bins == ["1-5", "6-10", "11-14", "15-19", "20-23"]


@pytest.mark.parametrize("given", ["2-3, 4,10+", ["10+", "4", "2-3"], ("2-3", "10+", "4")])
def test_given_bins(given: Any) -> None:
    found = soft(*with_numbers([1, 2, 3, 3, 4, 7, 10, 25, 0]), bins=given, metrics=["rps"], **VALUES_ONLY)
    assert sizes_of(found) == {"2-3": 3, "4": 1, "10+": 2, "all": 9}
    assert found.settings["n_in_no_bin"] == 3
    assert "3 items are in none of the bins, but count towards all items." in found.findings()
    assert found.to_frame()["bin"].unique(maintain_order=True).to_list() == ["all", "2-3", "4", "10+"]


def test_items_in_no_bin_count_in_all() -> None:
    ratings, predictions = with_numbers([1, 2, 3, 4, 5])
    some = soft(ratings, predictions, bins="3", **VALUES_ONLY)
    none = soft(ratings, predictions, bins=[], **VALUES_ONLY)
    whole = soft(ratings, predictions, **VALUES_ONLY)
    for metric in METRICS:
        assert some.value("m", metric) == pytest.approx(whole.value("m", metric), rel=1e-12)
        assert none.value("m", metric) == pytest.approx(whole.value("m", metric), rel=1e-12)
        assert some.value("m", metric, "3") == pytest.approx(whole.value("m", metric, "3"), rel=1e-12)
    assert none.bins == []
    assert none.settings["n_in_no_bin"] == 5


def test_unrated_items_have_a_bin_of_their_own() -> None:
    found = soft(*with_numbers([0, 0, 2, 3]), **VALUES_ONLY)
    assert found.bins == ["0", "2", "3"]
    row = found.row("m", "emd", "0")
    assert math.isnan(row.value)
    assert row.note
    assert (row.n_items, found.row("m", "expected_emd", "0").n_items) == (0, 2)
    assert found.value("m", "expected_emd", "0") == pytest.approx(statistics.expected_emd([0, 0], [0.4, 0.6]))
    assert "2 items without a rating are left out" in found.row("m", "emd").note
    assert any(text.startswith("2 items have no rating") for text in found.findings())
    assert found.settings["n_unrated"] == 2


@pytest.mark.parametrize(("given", "message"), [
    ("2-3,3-4", "the bins 2-3 and 3-4 overlap"), ("5+,9", "the bins 5+ and 9 overlap"), ("2,2", "overlap"),
    ("3-2", "is empty"), ("4-0", "is empty"), ("2-", "'2-' is not a bin"), ("", "'' is not a bin"),
    ("few", "'few' is not a bin"), ("-3", "'-3' is not a bin"), ("1.5", "'1.5' is not a bin"),
    (["2", "+"], "is not a bin"), ("1,,2", "'' is not a bin"),
])  # fmt: skip
def test_garbled_bins_are_refused(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        soft(*with_numbers([1, 2, 4]), bins=given, **VALUES_ONLY)


def test_a_bin_without_items_is_empty_and_nothing_is_said_about_it() -> None:
    ratings = ratings_of([[0, 0, 4], [0, 1, 3]])
    found = soft(ratings, constant(2, a=LEFT, b=RIGHT), bins="4,10+", bootstrap=20, curve=False)
    assert math.isnan(found.value("a", "emd", "10+"))
    assert found.row("a", "emd", "10+").note == "no item is in this bin"
    assert sizes_of(found) == {"4": 2, "10+": 0, "all": 2}
    assert not [text for text in found.findings() if "10+" in text or "nan" in text]
    assert not [text for text in SoftFindings(found).prior_outweighs() if "10+" in text]


# Prior ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("prior", [1.0, 0.25, 3, [0.5, 1, 2.5], np.array([4.0, 4.0, 1.0])])
def test_the_priors_share_of_the_weight(prior: Any) -> None:
    numbers = [0, 1, 1, 2, 5, 9, 9, 30]
    found = soft(ratings_of([[n, 0, 0] for n in numbers]), constant(8, m=LEFT), prior, bins="0,1,2-9", **VALUES_ONLY)
    strength = float(np.broadcast_to(prior, 3).sum())
    for bin_, n_items, n_ratings, share in found.prior_weight().iter_rows():
        inside = [n for n in numbers if in_bin(n, bin_)]
        assert (n_items, n_ratings) == (len(inside), sum(inside))
        assert share == pytest.approx(sum(strength / (strength + n) for n in inside) / len(inside))
    assert found.settings["prior"] == pytest.approx(np.broadcast_to(prior, 3).tolist())
    assert found.settings["prior_name"] == "given"
    half = f"against the median item's 3.5 ratings it has {np.median(strength / (strength + np.array(numbers))):.0%}"
    assert half in found.settings["prior_note"]


def test_empirical_bayes() -> None:
    ratings, q = truthful(1, 60)
    train, _ = truthful(2, 80)
    predictions = predictions_of({"m": q})
    own = soft(ratings, predictions, "empirical-bayes", **VALUES_ONLY)
    fit = statistics.fit_prior(ratings.counts())
    assert own.settings["prior"] == pytest.approx(fit.alpha)
    assert own.settings["prior_name"] == "fitted to these same items"
    assert any("fitted to these same items, 60 of them with two ratings or more" in text for text in own.findings())
    given = soft(ratings, predictions, "empirical-bayes", train=train, **VALUES_ONLY)
    assert given.settings["prior"] == pytest.approx(statistics.fit_prior(train.counts()).alpha)
    assert given.settings["prior_name"] == "fitted to training items"
    said = "The prior (fitted to training items, 80 of them with two ratings or more: "
    assert any(said in text for text in given.findings())
    same = soft(ratings, predictions, fit.alpha, **VALUES_ONLY)
    for metric in METRICS:
        assert own.value("m", metric) == pytest.approx(same.value("m", metric), rel=1e-12)


def test_empirical_bayes_tells_of_its_limits() -> None:
    """Items that do not differ cap the strength, points nobody used get 0.001; only scored items count."""
    found = soft(ratings_of([[2, 2, 0]] * 30), constant(20, m=LEFT), "empirical-bayes", **VALUES_ONLY)
    note = found.settings["prior_note"]
    assert "20 of them" in note
    assert "no more than by chance" in note
    assert "Nobody used 1 of 3 points" in note
    assert note in found.findings()
    assert found.settings["prior"][2] == 0.001
    with pytest.raises(InputError, match="no item with two ratings"):
        soft(ratings_of([[1, 0, 0]] * 5), constant(5, m=LEFT), "empirical-bayes")


@pytest.mark.parametrize(
    "prior", [0, -1.0, math.nan, math.inf, [1, 1], [1, 1, 0], [[1, 1, 1]], "flat", "1", None, [1, "a", 1]]
)
def test_bad_priors_are_refused(prior: Any) -> None:
    with pytest.raises(InputError, match="prior"):
        soft(ratings_of([[1, 2, 0]]), constant(1, m=LEFT), prior)


def test_warnings_of_what_the_scores_cannot_carry() -> None:
    """A prior above half of the weight, and a model that is worse than none, each warn once; else nothing does."""
    ratings, q = truthful(3, 50, n_ratings=12)
    tested = {**VALUES_ONLY, "permutations": 999}
    pv.soft_scores(ratings, predictions_of({"m": 0.8 * q + 0.04}), **tested)
    backwards = q[:, ::-1] ** 4 / (q[:, ::-1] ** 4).sum(axis=1)[:, None]
    with pytest.warns(SoftScoresWarning, match=r"m loses to the uniform prediction, which knows nothing, by every"):
        pv.soft_scores(ratings, predictions_of({"m": backwards}), **tested)
    few, _ = truthful(3, 50, n_ratings=2)
    with pytest.warns(SoftScoresWarning, match=r"The prior outweighs .* is 2 \(71%\)\.") as caught:
        pv.soft_scores(few, constant(50, m=[0.2] * 5), 1.0, metrics=["expected_rps"], **VALUES_ONLY)
    assert len(caught) == 1


def test_a_prior_that_is_not_flat_does_not_reward_flat_predictions() -> None:
    """It rewards predictions like itself, and the sentence on its weight does not say otherwise."""
    found = soft(ratings_of([[0, 0, 2]] * 4), constant(4, m=LEFT), [20, 1, 1], **VALUES_ONLY)
    assert found.value("m", "expected_emd") < found.value(UNIFORM, "expected_emd")
    assert SoftFindings(found).prior_outweighs()
    assert "flat" not in SoftFindings(found).prior_outweighs()[0]


# Strength of the prior -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("prior", [1.0, 0.5, [0.5, 1.0, 4.5]])
def test_sensitivity_at_the_priors_own_strength_is_the_result(prior: Any) -> None:
    ratings, q = truthful(9, 30, n_points=3)
    found = soft(ratings, predictions_of({"a": q, "b": 0.5 * q + 1 / 6}), prior, bootstrap=0)
    own = found.sensitivity().filter(strength=float(np.mean(prior)))
    assert own.height == 5 * 5
    for metric, name, value, rank, share in own.drop("strength").iter_rows():
        assert value == pytest.approx(found.value(name, metric), rel=1e-12)
        assert share == pytest.approx(found.prior_weight().filter(bin="all")["prior_share"][0])
        assert rank == (None if name in REFERENCES else found.ranking(metric).index(name) + 1)


def test_sensitivity_at_all_strengths() -> None:
    rng = np.random.default_rng(10)
    counts = rng.multinomial(4, [0.1, 0.2, 0.3, 0.4], 12)
    q = rng.dirichlet(np.full(4, 2.0), 12)
    found = soft(ratings_of(counts), predictions_of({"a": q, "b": 0.3 * q + 0.175}), bootstrap=0)
    curve = found.sensitivity()
    assert curve["strength"].unique().sort().to_list() == list(STRENGTHS)
    assert (STRENGTHS[0], STRENGTHS[-1]) == (0.01, 100)
    for strength in STRENGTHS:
        at = curve.filter(strength=strength)
        values = {(s, m): v for s, m, v in at.select("statistic", "model", "value").iter_rows()}
        assert values["expected_cross_entropy", UNIFORM] == pytest.approx(math.log(4))
        assert at["prior_share"].unique().to_list() == pytest.approx([4 * strength / (4 * strength + 4)])
        mean = statistics.posterior_mean(counts, strength)
        for metric in EXPECTED:
            function = getattr(statistics, metric)
            assert values[metric, "a"] == pytest.approx(function(counts, q, strength).mean())
            assert values[metric, POSTERIOR_MEAN] == pytest.approx(function(counts, mean, strength).mean())
            ranks = dict(at.filter(pl.col("rank").is_not_null(), statistic=metric).select("model", "rank").iter_rows())
            assert ranks == ({"a": 1, "b": 2} if values[metric, "a"] <= values[metric, "b"] else {"b": 1, "a": 2})
        best = values["expected_cross_entropy", POSTERIOR_MEAN]
        assert all(values["expected_cross_entropy", name] >= best for name in ("a", "b", UNIFORM, MARGINAL))


@pytest.mark.parametrize("metrics", [None, ["emd"], ["cross_entropy", "rps"], EMPIRICAL])
def test_no_curve(metrics: Sequence[str] | None) -> None:
    """The default asks for a curve, and scores of the ratings alone do not depend on a prior."""
    asked: dict[str, Any] = {"curve": False} if metrics is None else {"metrics": metrics}
    found = soft(ratings_of([[2, 1, 0]] * 3), constant(3, a=LEFT, b=RIGHT), bootstrap=0, **asked)
    assert found.sensitivity().is_empty()
    assert found.sensitivity().columns == ["strength", "statistic", "model", "value", "rank", "prior_share"]
    assert metrics is not None or found.settings["n_items_of_curve"] == 0
    assert not [text for text in found.findings() if "strength" in text]
    assert found.ranking((metrics or ["rps"])[0]) == ["a", "b"]
