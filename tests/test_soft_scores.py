"""The soft-scores lens: against a literal twin, literal resampling, shuffling, and what its sentences say."""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from polars.testing import assert_frame_equal
from scipy import integrate, special, stats

import plurivox as pv
from plurivox import ratings as ratings_module
from plurivox import statistics
from plurivox.engine import units
from plurivox.engine.draws import item_weights
from plurivox.engine.families import METHODS, adjust
from plurivox.engine.part import cut
from plurivox.engine.units import MOST_UNITS, units_of
from plurivox.errors import DuplicateError, IdError, InputError, NeedsRatersError, SelectionError, SoftScoresWarning
from plurivox.lenses.soft import sums
from plurivox.lenses.soft.checks import STRENGTHS
from plurivox.lenses.soft.matching import FOLDS, folds_of
from plurivox.lenses.soft.words import SoftFindings
from plurivox.statistics.registry import LABELS

Array = NDArray[Any]
Table = Sequence[Sequence[float]] | Array

UNIFORM, MARGINAL, POSTERIOR_MEAN = REFERENCES = ("uniform", "marginal", "posterior mean")
EMPIRICAL = ("cross_entropy", "kl", "js", "emd", "rps")
EXPECTED = tuple(f"expected_{name}" for name in EMPIRICAL)
METRICS = (*EMPIRICAL, *EXPECTED)
VALUES_ONLY: dict[str, Any] = {"bootstrap": 0, "curve": False}
LEFT, MIDDLE, RIGHT = [0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]


def soft(ratings: pv.Ratings, predictions: Any, *given: Any, **options: Any) -> pv.SoftScores:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftScoresWarning)
        return pv.soft_scores(ratings, predictions, *given, **options)


# Data ----------------------------------------------------------------------------------------------------------------


def ids_of(n_items: int) -> list[str]:
    return [f"i{number:05}" for number in range(n_items)]


def ratings_of(counts: Table, scale: pv.Scale | None = None, *, totals: bool = False) -> pv.Ratings:
    """Return counts as ratings, the k-th rating of an item by rater k; an unrated item has a missing score."""
    table = np.asarray(counts, dtype=np.int64)
    scale = scale or pv.Scale.range(1, table.shape[1])
    ids, labels = ids_of(len(table)), [str(label) for label in scale.labels]
    if totals:
        frame = pl.DataFrame(table, schema=labels, orient="row")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "totals.csv"
            frame.insert_column(0, pl.Series("item", ids)).write_csv(path)
            return pv.read_ratings(path, layout="totals", scale=scale)
    rows: list[tuple[str, str, str | None]] = []
    for item, row in zip(ids, table.tolist(), strict=True):
        given = [label for label, n in zip(labels, row, strict=True) for _ in range(n)]
        rows += [(item, f"r{k}", label) for k, label in enumerate(given or [None])]
    return long_ratings(rows, scale)


def long_ratings(rows: Sequence[tuple[Any, Any, Any]], scale: pv.Scale, **tables: Any) -> pv.Ratings:
    frame = pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")
    return pv.Ratings.from_frame(frame, scale=scale, **tables)


def predictions_of(q: Mapping[str, Table], scale: pv.Scale | None = None) -> pl.DataFrame:
    """Return a row for each model and item, items as in :func:`ratings_of`."""
    frames = []
    for model, table in q.items():
        shares = np.asarray(table, dtype=float)
        labels = [str(label) for label in (scale or pv.Scale.range(1, shares.shape[1])).labels]
        frame = pl.DataFrame(shares, schema=labels, orient="row")
        frames.append(frame.select(pl.lit(model).alias("model"), pl.Series("item", ids_of(len(shares))), pl.all()))
    return pl.concat(frames)


def constant(n_items: int, **q: Sequence[float]) -> pl.DataFrame:
    """Return models that predict the same of every item."""
    return predictions_of({name: [shares] * n_items for name, shares in q.items()})


class Study(NamedTuple):
    """Counts and predictions of a few items, as numbers and as the lens takes them."""

    scale: pv.Scale
    counts: list[list[int]]
    q: dict[str, list[list[float]]]
    ratings: pv.Ratings
    predictions: pl.DataFrame


def study(seed: int, *, totals: bool = False, n_items: int | None = None, zeros: bool = True) -> Study:
    """Two to seven points at unequal distances, up to a dozen items, some unrated; two models, some sure of things."""
    rng = np.random.default_rng(seed)
    n_points = int(rng.integers(2, 8))
    scale = pv.Scale(sorted(rng.choice(30, n_points, replace=False).tolist()))
    n_items = n_items or int(rng.integers(1, 13))
    most = rng.choice([0, 1, 2, 3, 4, 6, 9, 14], n_items)
    most[rng.integers(n_items)] += 1  # somebody rated something
    shares = rng.dirichlet(np.ones(n_points), n_items)
    counts = [rng.multinomial(n, p).tolist() for n, p in zip(most, shares, strict=True)]
    q = {}
    for model in ("m", "n"):
        weights = rng.dirichlet(np.full(n_points, 2.0), n_items)
        if zeros:
            weights *= rng.random(weights.shape) > 0.15
            weights[weights.sum(axis=1) == 0, 0] = 1.0
        q[model] = (weights / weights.sum(axis=1, keepdims=True)).tolist()
    return Study(scale, counts, q, ratings_of(counts, scale, totals=totals), predictions_of(q, scale))


def truthful(seed: int, n_items: int, n_ratings: int = 3, n_points: int = 5) -> tuple[pv.Ratings, Array]:
    """Return ratings that are drawn from a distribution of each item, and these."""
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.full(n_points, 1.5), n_items)
    return ratings_of(np.array([rng.multinomial(n_ratings, p) for p in q])), q


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
    n: Sequence[int],
    q: Sequence[float],
    prior: Sequence[float],
    values: Sequence[float],
    *,
    normalized: bool = True,
    floor: float | None = None,
) -> dict[str, float]:
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


def in_bin(n: int, name: str) -> bool:
    if name == "all":
        return True
    if name.endswith("+"):
        return n >= int(name[:-1])
    low, _, high = name.partition("-")
    return int(low) <= n <= int(high or low)


def mean_of(numbers: Sequence[float]) -> float:
    known = [number for number in numbers if not math.isnan(number)]
    return math.inf if math.inf in known else math.fsum(known) / len(known) if known else math.nan


PRIORS: dict[str, Callable[[int], Any]] = {
    "a number": lambda n: 0.5,
    "the default": lambda n: 1.0,
    "a vector": lambda n: [0.4 + 0.7 * k for k in range(n)],
}


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
    long = frame.select(
        item=pl.format("{} | {}", pl.col("conv_id"), pl.col("user")),
        rater="annotator_id",
        score=pl.Series(np.argmax(chosen, axis=1) - 3),
    )
    ratings = pv.Ratings.from_frame(long, scale=pv.Scale.range(-3, 1), duplicates="first")
    shares = {str(label): share for label, share in zip(ratings.scale.labels, [0.1, 0.1, 0.1, 0.1, 0.6], strict=True)}
    predictions = ratings.items.select("item").with_columns(**{name: pl.lit(share) for name, share in shares.items()})
    metrics = ["expected_cross_entropy", "expected_emd"]
    found = soft(ratings, predictions, min_ratings=2, normalized=False, metrics=metrics, **VALUES_ONLY)
    assert found.settings["n_items"] == 4059
    assert found.settings["n_few"] == ratings.n_items - 4059
    assert [round(found.value(UNIFORM, metric), 3) for metric in metrics] == [1.609, 0.772]
    assert [round(found.value(MARGINAL, metric), 3) for metric in metrics] == [1.851, 0.973]
    sizes = dict(found.prior_weight().select("bin", "n_items").iter_rows())
    assert sizes["2"] == 1046
    assert sizes["3"] == 2321


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


def test_training_ratings_need_the_same_scale() -> None:
    ratings = ratings_of([[1, 2, 0]])
    with pytest.raises(InputError, match="training ratings are on 0 < 1, the ratings on 1 < 2 < 3"):
        soft(ratings, constant(1, m=LEFT), train=ratings_of([[1, 1]], pv.Scale.range(0, 1)))


# Bins ----------------------------------------------------------------------------------------------------------------


def with_numbers(numbers: Sequence[int]) -> tuple[pv.Ratings, pl.DataFrame]:
    return ratings_of([[n // 2, n - n // 2] for n in numbers]), constant(len(numbers), m=[0.4, 0.6])


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


def test_bins_of_the_data_are_about_equally_large() -> None:
    found = soft(*with_numbers(range(1, 24)), metrics=["rps"], **VALUES_ONLY)
    assert found.bins == ["1-5", "6-10", "11-14", "15-19", "20-23"]


@pytest.mark.parametrize("given", ["2-3, 4,10+", ["10+", "4", "2-3"], ("2-3", "10+", "4")])
def test_given_bins(given: Any) -> None:
    found = soft(*with_numbers([1, 2, 3, 3, 4, 7, 10, 25, 0]), bins=given, metrics=["rps"], **VALUES_ONLY)
    assert sizes_of(found) == {"2-3": 3, "4": 1, "10+": 2, "all": 9}
    assert found.settings["n_in_no_bin"] == 3
    assert "3 items are in none of the bins, but count in all." in found.findings()
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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("2-3,3-4", "the bins 2-3 and 3-4 overlap"), ("5+,9", "the bins 5+ and 9 overlap"), ("2,2", "overlap"),
        ("3-2", "holds nothing"), ("4-0", "holds nothing"), ("2-", "'2-' is no bin"), ("", "'' is no bin"),
        ("few", "'few' is no bin"), ("-3", "'-3' is no bin"), ("1.5", "'1.5' is no bin"), (["2", "+"], "is no bin"),
        ("1,,2", "'' is no bin"),
    ],
)  # fmt: skip
def test_garbled_bins_are_refused(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        soft(*with_numbers([1, 2, 4]), bins=given, **VALUES_ONLY)


def test_bins_given_as_numbers() -> None:
    """A number is read as a bin, or refused as other garbled ones are."""
    try:
        found = soft(*with_numbers([1, 2, 4]), bins=[2, 4], metrics=["rps"], **VALUES_ONLY)
    except InputError:
        return
    assert found.bins == ["2", "4"]


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
    assert (found.settings["prior_name"], found.settings["prior_note"]) == ("given", "")


def test_empirical_bayes() -> None:
    ratings, q = truthful(1, 60)
    train, _ = truthful(2, 80)
    predictions = predictions_of({"m": q})
    own = soft(ratings, predictions, "empirical-bayes", **VALUES_ONLY)
    fit = statistics.fit_prior(ratings.counts())
    assert own.settings["prior"] == pytest.approx(fit.alpha)
    assert own.settings["prior_name"] == "fitted to the scored items"
    assert any("fitted to the scored items, 60 of them with two ratings or more" in text for text in own.findings())
    given = soft(ratings, predictions, "empirical-bayes", train=train, **VALUES_ONLY)
    assert given.settings["prior"] == pytest.approx(statistics.fit_prior(train.counts()).alpha)
    assert given.settings["prior_name"] == "fitted to training items"
    assert any("fitted to training items, 80 of them" in text for text in given.findings())
    same = soft(ratings, predictions, fit.alpha, **VALUES_ONLY)
    for metric in METRICS:
        assert own.value("m", metric) == pytest.approx(same.value("m", metric), rel=1e-12)


def test_empirical_bayes_tells_of_its_limits() -> None:
    """Items that do not differ cap the strength, points nobody used get 0.001; only scored items count."""
    found = soft(ratings_of([[2, 2, 0]] * 30), constant(20, m=LEFT), "empirical-bayes", **VALUES_ONLY)
    note = found.settings["prior_note"]
    assert "20 of them" in note
    assert "no more than chance allows" in note
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
    pv.soft_scores(ratings, predictions_of({"m": 0.8 * q + 0.04}), **VALUES_ONLY)
    with pytest.warns(SoftScoresWarning, match=r"m loses to the uniform prediction, which knows nothing, by every"):
        pv.soft_scores(
            ratings, predictions_of({"m": q[:, ::-1] ** 4 / (q[:, ::-1] ** 4).sum(axis=1)[:, None]}), **VALUES_ONLY
        )
    few, _ = truthful(3, 50, n_ratings=2)
    with pytest.warns(SoftScoresWarning, match=r"The prior outweighs .* is 2 \(71%\)\.") as caught:
        pv.soft_scores(few, constant(50, m=[0.2] * 5), metrics=["expected_rps"], **VALUES_ONLY)
    assert len(caught) == 1


def test_a_prior_that_is_not_flat_does_not_reward_flat_predictions() -> None:
    """It rewards predictions like itself, and the sentence on its weight does not say otherwise."""
    found = soft(ratings_of([[0, 0, 2]] * 4), constant(4, m=LEFT), [20, 1, 1], **VALUES_ONLY)
    assert found.value("m", "expected_emd") < found.value(UNIFORM, "expected_emd")
    assert SoftFindings(found).prior_outweighs()
    assert "flat" not in SoftFindings(found).prior_outweighs()[0]


# Bootstrap -----------------------------------------------------------------------------------------------------------


def tables_of(found: pv.SoftScores) -> list[pl.DataFrame]:
    names = ("to_frame", "comparisons", "sensitivity", "calibration", "pit", "reliability", "prior_weight", "missing")
    return [getattr(found, name)() for name in names]


def assert_same(found: pv.SoftScores, other: pv.SoftScores) -> None:
    for one, two in zip(tables_of(found), tables_of(other), strict=True):
        assert_frame_equal(one, two, check_exact=True)
    for mine, theirs in zip(found.draws, other.draws, strict=True):
        assert np.array_equal(mine.bootstrap, theirs.bootstrap, equal_nan=True)
    assert found.findings() == other.findings()


def test_same_seed_same_result_whatever_the_threads_and_the_order_of_rows() -> None:
    simulated = pv.simulate(n_items=70, n_raters=30, ratings_per_item=(1, 6), seed=2)
    predictions = simulated.predictions
    assert predictions is not None
    rng = np.random.default_rng(0)
    options: dict[str, Any] = {"by": "gender", "bootstrap": 60, "seed": 5}
    once = soft(simulated.ratings, predictions, threads=1, **options)
    assert_same(soft(simulated.ratings, predictions, threads=2, **options), once)
    frame, raters = simulated.ratings_frame, simulated.raters
    moved = pv.Ratings.from_frame(
        frame[rng.permutation(frame.height)], scale=simulated.scale, raters=raters[rng.permutation(raters.height)]
    )
    assert_same(soft(moved, predictions[rng.permutation(predictions.height)], **options), once)
    other = soft(simulated.ratings, predictions, **{**options, "seed": 6})
    assert not other.comparisons().equals(once.comparisons())


def test_processes_and_parts_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = pv.simulate(n_items=70, n_raters=30, ratings_per_item=(1, 6), seed=2)
    predictions = simulated.predictions
    assert predictions is not None
    own = [name for name in METRICS if name != "expected_js"]  # whose nodes depend on the items beside each other
    options: dict[str, Any] = {"by": "gender", "bootstrap": 60, "seed": 5}
    once = soft(simulated.ratings, predictions, metrics=own, threads=1, **options)
    all_metrics = soft(simulated.ratings, predictions, **options)
    with ProcessPoolExecutor(2) as processes:
        assert_same(soft(simulated.ratings, predictions, executor=processes, **options), all_metrics)
        monkeypatch.setattr(ratings_module, "cut", functools.partial(cut, size=40))
        again = pv.Ratings.from_frame(simulated.ratings_frame, scale=simulated.scale, raters=simulated.raters)
        assert len(again.parts()) > 3
        assert_same(soft(again, predictions, metrics=own, **options), once)
        in_parts = soft(again, predictions, threads=1, **options)
        assert_same(soft(again, predictions, executor=processes, **options), in_parts)
    for mine, theirs in zip(all_metrics.draws, in_parts.draws, strict=True):
        assert theirs.bootstrap == pytest.approx(mine.bootstrap, rel=1e-13, nan_ok=True)


def test_bundles_in_several_parts_differ_by_rounding_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "_LEAST", 4)
    monkeypatch.setattr(sums, "units_of", functools.partial(units_of, most=12))
    simulated = pv.simulate(n_items=70, n_raters=30, ratings_per_item=(1, 6), seed=2)
    predictions = simulated.predictions
    assert predictions is not None
    once = soft(simulated.ratings, predictions, bootstrap=60)
    monkeypatch.setattr(ratings_module, "cut", functools.partial(cut, size=40))
    again = pv.Ratings.from_frame(simulated.ratings_frame, scale=simulated.scale, raters=simulated.raters)
    several = soft(again, predictions, bootstrap=60)
    for mine, theirs in zip(once.draws, several.draws, strict=True):
        assert theirs.bootstrap == pytest.approx(mine.bootstrap, rel=1e-12, nan_ok=True)


def drawn_means(scores: Array, order: Array, weights: Array) -> list[float]:
    """Return the mean of the defined scores for each draw; scores are in the order of items, weights are not."""
    return [
        mean_of([score for at, times in zip(order, row, strict=True) for score in [scores[at]] * times])
        for row in weights.tolist()
    ]


def test_intervals_and_comparisons_against_literal_resampling() -> None:
    rng = np.random.default_rng(4)
    n_items, bins = 30, ["1-2", "4", "6+"]
    numbers = rng.choice([0, 1, 2, 3, 4, 6, 8], n_items)
    counts = np.array([rng.multinomial(n, [0.2, 0.3, 0.5]) for n in numbers])
    q = {"a": rng.dirichlet([2, 2, 2], n_items), "b": rng.dirichlet([1, 2, 3], n_items)}
    found = soft(ratings_of(counts), predictions_of(q), bins=bins, bootstrap=40, seed=9, curve=False)
    codes = np.array([next((b for b, name in enumerate(bins) if in_bin(n, name)), 3) for n in numbers])
    order = np.argsort(codes, kind="stable")
    weights = item_weights(n_items, 40, 9)
    for metric in METRICS:
        scores = {name: getattr(statistics, metric)(counts, shares) for name, shares in q.items()}
        for bin_ in (*bins, "all"):
            kept = {name: np.where([in_bin(n, bin_) for n in numbers], own, np.nan) for name, own in scores.items()}
            draws = {name: np.array(drawn_means(own, order, weights)) for name, own in kept.items()}
            for name, own in draws.items():
                row = found.row(name, metric, bin_)
                assert (row.ci_low, row.ci_high) == pytest.approx(np.nanquantile(own, [0.025, 0.975]), abs=1e-9)
            drawn = draws["a"] - draws["b"]
            drawn = drawn[~np.isnan(drawn)]
            pair = found.comparisons().row(by_predicate=(
                (pl.col("bin") == bin_) & (pl.col("statistic") == metric) & (pl.col("other") == "b")
            ), named=True)  # fmt: skip
            difference = found.value("a", metric, bin_) - found.value("b", metric, bin_)
            assert pair["difference"] == pytest.approx(difference, abs=1e-12)
            assert (pair["ci_low"], pair["ci_high"]) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=1e-9)
            assert pair["p_better"] == pytest.approx(np.mean(drawn < 0))
            likelier = max(np.count_nonzero(drawn < 0), np.count_nonzero(drawn > 0))
            n_items = sum(in_bin(n, bin_) for n in numbers if n or metric not in EMPIRICAL)
            p = max(2 * (len(drawn) - likelier + 1) / (len(drawn) + 1), 2.0 ** (1 - n_items))
            assert pair["p_value"] == pytest.approx(min(1.0, p))
            assert pair["n_items"] == n_items


def test_intervals_hold_the_value_and_shrink_with_items() -> None:
    ratings, q = truthful(5, 200)
    found = soft(ratings, predictions_of({"m": q}), bootstrap=300, curve=False)
    for row in found.rows:
        assert row.ci_low is not None
        assert row.ci_high is not None
        assert row.ci_low - 1e-12 <= row.value <= row.ci_high + 1e-12
    fewer = soft(*truthful_part(ratings, q, 50), bootstrap=300, curve=False)
    width, wider = (one.row("m", "expected_emd") for one in (found, fewer))
    assert (wider.ci_high or 0) - (wider.ci_low or 0) > 1.5 * ((width.ci_high or 0) - (width.ci_low or 0))
    assert [draws.subset for draws in found.draws] == [*found.bins, "all"]
    assert found.draws[-1].bootstrap.shape == (300, 4, len(METRICS))


def truthful_part(ratings: pv.Ratings, q: Array, n_items: int) -> tuple[pv.Ratings, pl.DataFrame]:
    return ratings.where(items={"item": ids_of(n_items)}), predictions_of({"m": q[:n_items]})


def test_intervals_cover_the_mean_of_all_items() -> None:
    """Items of five kinds with three ratings on two points: the mean over all such items is a sum of few terms."""
    rates, q = [0.1, 0.3, 0.5, 0.8, 0.95], [0.2, 0.5, 0.5, 0.6, 0.9]
    score = [[float(statistics.expected_emd([k, 3 - k], [p, 1 - p])) for k in range(4)] for p in q]
    wanted = sum(stats.binom.pmf(k, 3, rate) * score[kind][k] for kind, rate in enumerate(rates) for k in range(4)) / 5
    covered, n_studies = 0, 100
    for number in range(n_studies):
        rng = np.random.default_rng(number)
        kinds = rng.integers(5, size=60)
        first = rng.binomial(3, np.array(rates)[kinds])
        shares = np.array(q)[kinds]
        found = soft(
            ratings_of(np.stack([first, 3 - first], axis=1)), predictions_of({"m": np.stack([shares, 1 - shares], 1)}),
            metrics=["expected_emd"], bootstrap=100, curve=False, seed=number,
        )  # fmt: skip
        row = found.row("m", "expected_emd")
        assert row.ci_low is not None
        assert row.ci_high is not None
        covered += row.ci_low <= wanted <= row.ci_high
    low, high = stats.binom.ppf([0.001, 0.999], n_studies, 0.95)
    assert low <= covered <= high


def test_bundles_of_many_items_give_the_same_standard_errors() -> None:
    """Above 20,000 items, bundles are drawn, also in a small bin; the curve is made of a sample."""
    n_items, metrics = 26_000, ["emd", "expected_emd", "expected_rps"]
    rng = np.random.default_rng(6)
    numbers = np.where(np.arange(n_items) % 50 == 0, 9, np.where(np.arange(n_items) % 2, 2, 3))
    q = rng.dirichlet([2, 3, 2], n_items)
    counts = np.array([rng.multinomial(n, p) for n, p in zip(numbers, q, strict=True)])
    ratings, predictions = ratings_of(counts, totals=True), predictions_of({"m": q, "k": q[:, ::-1]})
    assert n_items > MOST_UNITS
    found = soft(ratings, predictions, metrics=metrics, bootstrap=600, threads=2)
    assert found.settings["n_items_of_curve"] == 5000
    for draws in found.draws:
        inside = np.array([in_bin(n, draws.subset) for n in numbers])
        for m, metric in enumerate(metrics):
            own = {name: getattr(statistics, metric)(counts[inside], table[inside])
                   for name, table in (("m", q), ("k", q[:, ::-1]))}  # fmt: skip
            at = {name: draws.groups.index(name) for name in own}
            for name, scores in own.items():
                assert found.value(name, metric, draws.subset) == pytest.approx(scores.mean(), rel=1e-12)
                error = scores.std() / math.sqrt(len(scores))
                assert draws.bootstrap[:, at[name], m].std() == pytest.approx(error, rel=0.1)
            apart = draws.bootstrap[:, at["m"], m] - draws.bootstrap[:, at["k"], m]
            error = (own["m"] - own["k"]).std() / math.sqrt(inside.sum())
            assert apart.std() == pytest.approx(error, rel=0.1)
    curve = found.sensitivity().filter(strength=1.0)
    for metric, name, value in curve.select("statistic", "model", "value").iter_rows():
        assert value == pytest.approx(found.value(name, metric), rel=0.03)


def test_no_bootstrap() -> None:
    found = soft(ratings_of([[2, 1, 0], [0, 1, 4]]), constant(2, a=LEFT, b=RIGHT), **VALUES_ONLY)
    assert found.to_frame()["ci_low"].null_count() == len(found.rows)
    pairs = found.comparisons()
    assert pairs.height == 3 * 10 * 5
    assert pairs["difference"].null_count() == 0
    for column in ("ci_low", "ci_high", "p_better", "p_value", "p_adjusted"):
        assert pairs[column].null_count() == pairs.height
    assert not [text for text in found.findings() if "resamplings" in text or "nan" in text]


def test_a_single_draw_makes_no_interval() -> None:
    found = soft(ratings_of([[2, 1, 0], [0, 1, 4]]), constant(2, a=LEFT, b=RIGHT), bootstrap=1, curve=False)
    assert not [text for text in found.findings() if "nan" in text]


# Comparisons ---------------------------------------------------------------------------------------------------------


def pair_of(found: pv.SoftScores, metric: str, model: str, other: str, bin_: str = "all") -> dict[str, Any]:
    return found.comparisons().row(
        by_predicate=(pl.col("bin") == bin_) & (pl.col("statistic") == metric) & (pl.col("model") == model)
        & (pl.col("other") == other), named=True,
    )  # fmt: skip


def test_comparisons_turn_round_with_the_names() -> None:
    ratings, q = truthful(7, 40)
    vague = 0.5 * q + 0.1
    one = soft(ratings, predictions_of({"a": q, "b": vague}), bootstrap=99, curve=False)
    two = soft(ratings, predictions_of({"b": q, "a": vague}), bootstrap=99, curve=False)
    for bin_, metric in itertools.product(["all", *one.bins], METRICS):
        x, y = (pair_of(found, metric, "a", "b", bin_) for found in (one, two))
        assert x["difference"] == pytest.approx(-y["difference"], abs=1e-15)
        assert (x["ci_low"], x["ci_high"]) == pytest.approx((-y["ci_high"], -y["ci_low"]), abs=1e-12)
        assert x["p_better"] == pytest.approx(1 - y["p_better"])
        assert x["p_value"] == y["p_value"]
        assert 0 < x["p_value"] <= 1
        assert x["p_value"] <= x["p_adjusted"] <= 1


def test_every_two_models_and_each_with_uniform_and_marginal() -> None:
    found = soft(ratings_of([[2, 1, 0]] * 4), constant(4, a=LEFT, b=RIGHT, c=MIDDLE), bootstrap=5, curve=False)
    pairs = set(found.comparisons().select("model", "other").iter_rows())
    wanted = {(model, other) for model in "abc" for other in (UNIFORM, MARGINAL)}
    assert pairs == wanted | {("a", "b"), ("a", "c"), ("b", "c")}


def test_identical_models_do_not_differ() -> None:
    made = study(11, n_items=12)
    same = pl.concat([made.predictions, made.predictions.filter(model="m").with_columns(model=pl.lit("twin"))])
    found = soft(made.ratings, same, bootstrap=50, curve=False)
    for row in found.comparisons().filter(model="m", other="twin").iter_rows(named=True):
        if not math.isfinite(found.value("m", row["statistic"], row["bin"])):
            assert math.isnan(row["difference"])
            assert row["p_value"] is None
        elif row["n_items"] == 1:
            assert (row["difference"], row["ci_low"], row["p_better"], row["p_value"]) == (0.0, None, None, None)
        else:
            assert (row["difference"], row["p_better"], row["p_value"], row["p_adjusted"]) == (0.0, 0.5, 1.0, 1.0)
            assert (row["ci_low"], row["ci_high"]) == (0.0, 0.0)


@pytest.mark.parametrize("correction", list(METHODS))
def test_correction_over_distinct_hypotheses_of_a_bin(correction: str) -> None:
    """CE and KL of two predictions differ by the same, as do E[CE] and E[KL], so eight of ten metrics count."""
    ratings, q = truthful(8, 50)
    models = {"a": q, "b": 0.8 * q + 0.04, "c": 0.2 * q + 0.16}
    found = soft(ratings, predictions_of(models), bootstrap=99, curve=False, correction=correction)
    for _, part in found.comparisons().group_by("bin"):
        first: dict[tuple[str, str, str], float] = {}
        for row in part.iter_rows(named=True):
            name = row["statistic"].replace("kl", "cross_entropy")
            first.setdefault((name, row["model"], row["other"]), row["p_value"])
        assert len(first) == 8 * 9
        wanted = dict(zip(first, adjust(list(first.values()), correction), strict=True))
        for row in part.iter_rows(named=True):
            name = row["statistic"].replace("kl", "cross_entropy")
            assert row["p_adjusted"] == pytest.approx(wanted[name, row["model"], row["other"]])


def test_infinite_scores_compare_without_a_crash() -> None:
    """∞ against a number is ±∞, ∞ against ∞ undefined; draws without the impossible rating are finite."""
    counts = [[0, 1, 3]] * 10
    sure = [[0.0, 0.5, 0.5]] * 9 + [[0.5, 0.5, 0.0]]
    q: dict[str, Table] = {"always": [[1.0, 0.0, 0.0]] * 10, "never": [RIGHT] * 10, "once": sure, "too": sure}
    found = soft(ratings_of(counts), predictions_of(q), bootstrap=200, curve=False)
    assert found.value("once", "cross_entropy") == math.inf
    assert re.match(r"1 item \w+ given a point .*; a floor makes this finite", found.row("once", "cross_entropy").note)
    assert re.match(r"10 items were given a point .*probability 0", found.row("always", "kl").note)
    assert pair_of(found, "cross_entropy", "never", "once")["difference"] == -math.inf
    assert pair_of(found, "cross_entropy", "always", "never")["difference"] == math.inf
    assert pair_of(found, "cross_entropy", "always", "never")["p_better"] == 0
    assert pair_of(found, "cross_entropy", "always", "never")["ci_low"] == math.inf
    for one, other in (("always", "once"), ("once", "too")):
        row = pair_of(found, "cross_entropy", one, other)
        assert math.isnan(row["difference"])
        assert row["p_value"] is row["p_adjusted"] is row["p_better"] is row["ci_low"] is None
    once = pair_of(found, "cross_entropy", "never", "once")
    assert once["ci_low"] == -math.inf
    assert math.isfinite(once["ci_high"])  # a third of all draws lack the item
    assert found.ranking("cross_entropy") == ["never", "always", "once", "too"]
    assert found.to_frame().filter(bin="all", statistic="cross_entropy")["rank"].to_list()[:4] == [2, 1, 2, 2]
    finite = soft(ratings_of(counts), predictions_of(q), floor=1e-6, **VALUES_ONLY)
    assert all(math.isfinite(row.value) and not row.note for row in finite.rows)


@pytest.mark.parametrize("seed", [0, 2])
def test_ends_of_intervals_are_numbers_where_draws_are(seed: int) -> None:
    """Two draws, of which one may be infinite, have a lower and an upper end, be they infinite."""
    q = [[0.0, 0.5, 0.5]] * 9 + [[0.5, 0.5, 0.0]]
    found = soft(ratings_of([[0, 1, 3]] * 10), predictions_of({"a": [RIGHT] * 10, "b": q}), bootstrap=2, curve=False,
                 seed=seed, metrics=["cross_entropy"])  # fmt: skip
    row = pair_of(found, "cross_entropy", "a", "b")
    assert not math.isnan(row["ci_low"])
    assert not math.isnan(row["ci_high"])


def test_a_bin_with_few_items_is_often_not_drawn() -> None:
    found = soft(*with_numbers([2, 2, 2, 5, 5]), bootstrap=200, curve=False)
    row = found.row("m", "emd", "5")
    assert row.ci_low == row.ci_high == pytest.approx(row.value)
    assert re.search(r"\d+% of the bootstrap draws are undefined and left out", row.note)
    assert not found.row("m", "emd").note


def test_one_item_tells_nothing_of_others() -> None:
    """Items are drawn anew: of one there is no interval and no test, and of two no p below ½."""
    counts, both = [[2, 0, 0], [3, 0, 0], [2, 1, 0]], constant(3, a=LEFT, b=RIGHT)
    found = soft(ratings_of(counts), both, bins="2,3", bootstrap=50, curve=False)
    assert found.row("a", "emd", "2").ci_low is None
    row = pair_of(found, "emd", "a", "b", "2")
    assert row["difference"] < 0
    assert row["ci_low"] is row["p_value"] is row["p_adjusted"] is row["p_better"] is None
    assert pair_of(found, "emd", "a", "b", "3")["p_value"] == 0.5
    assert pair_of(found, "emd", "a", "b")["p_value"] == 0.25


def test_unrated_items_do_not_count_where_they_have_no_score() -> None:
    """One rated item and nine without a rating: EMD is of one item, E[EMD] of ten."""
    found = soft(ratings_of([[3, 0, 0], *([[0, 0, 0]] * 9)]), constant(10, a=LEFT, b=RIGHT), bootstrap=50, curve=False)
    assert found.row("a", "emd").ci_low is None
    assert found.row("a", "expected_emd").ci_low is not None
    row = pair_of(found, "emd", "a", "b")
    assert row["n_items"] == found.row("a", "emd").n_items == 1
    assert row["p_value"] is None


@pytest.mark.parametrize("n_points", [3, 6, 7, 13])
def test_rounding_decides_nothing(n_points: int) -> None:
    """A model that is the uniform prediction, in other bits, neither loses nor wins."""
    rng = np.random.default_rng(n_points)
    ratings = ratings_of(rng.multinomial(3, np.full(n_points, 1 / n_points), 12))
    found = soft(ratings, constant(12, same=[1 / n_points] * n_points), bootstrap=50, curve=False)
    assert not [text for text in SoftFindings(found).losses() if "uniform" in text]
    assert found.comparisons().filter(other=UNIFORM)["p_value"].min() == 1.0


def test_mirrored_models_on_mirrored_ratings_do_not_differ() -> None:
    """Each score of one model is that of the other but for the last bits."""
    counts = [[1, 0, 1], [2, 0, 2]] * 4
    found = soft(ratings_of(counts), constant(8, a=RIGHT[::-1], b=RIGHT), bootstrap=100)
    pairs = found.comparisons().filter(other="b")
    assert (pairs["p_value"] == 1.0).all()
    assert (found.comparisons()["p_adjusted"] >= found.comparisons()["p_value"]).all()
    assert not [text for text in found.findings() if "disagree" in text or "moves with" in text]


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


def test_no_curve() -> None:
    found = soft(ratings_of([[2, 1, 0]] * 3), constant(3, a=LEFT, b=RIGHT), bootstrap=0, curve=False)
    assert found.sensitivity().is_empty()
    assert found.sensitivity().columns == ["strength", "statistic", "model", "value", "rank", "prior_share"]
    assert found.settings["n_items_of_curve"] == 0
    assert not [text for text in found.findings() if "strength" in text]


@pytest.mark.parametrize("metrics", [["emd"], ["cross_entropy", "rps"], EMPIRICAL])
def test_without_an_expected_metric_there_is_no_curve(metrics: Sequence[str]) -> None:
    """The default asks for a curve, and scores of the ratings alone do not depend on a prior."""
    found = soft(ratings_of([[2, 1, 0]] * 3), constant(3, a=LEFT, b=RIGHT), metrics=metrics, bootstrap=0)
    assert found.sensitivity().is_empty()
    assert found.ranking(metrics[0]) == ["a", "b"]


# Calibration ---------------------------------------------------------------------------------------------------------


def test_calibration_against_literal_counting() -> None:
    """Each rating is spread evenly over the stretch of its point; thresholds are points but the lowest."""
    rng = np.random.default_rng(12)
    counts = rng.multinomial(5, [0.1, 0.5, 0.2, 0.2], 15)
    counts[3] = 0
    q = np.round(rng.dirichlet(np.ones(4), 15), 2)
    q[:, -1] = 1 - q[:, :-1].sum(axis=1)
    q = np.clip(q, 0, 1) / np.clip(q, 0, 1).sum(axis=1, keepdims=True)
    found = soft(ratings_of(counts), predictions_of({"m": q}), **VALUES_ONLY)
    bars, stretches = [0.0] * 10, []
    for row, shares in zip(counts.tolist(), q.tolist(), strict=True):
        ends = [0.0, *itertools.accumulate(shares)]
        for point, n in enumerate(row):
            stretches += [(ends[point], ends[point + 1])] * n
    for low, high in stretches:
        for b in range(10):
            if high > low:
                bars[b] += max(0.0, min(high, (b + 1) / 10) - max(low, b / 10)) / (high - low)
            else:
                bars[b] += float(b == min(int(low * 10), 9))
    assert found.pit()["share"].to_list() == pytest.approx([bar / len(stretches) for bar in bars], abs=1e-9)
    mean = math.fsum((low + high) / 2 for low, high in stretches) / len(stretches)
    square = math.fsum((low**2 + low * high + high**2) / 3 for low, high in stretches) / len(stretches)
    row = found.calibration().row(0, named=True)
    assert (row["pit_mean"], row["pit_variance"]) == pytest.approx((mean, square - mean**2))
    assert (row["n_items"], row["n_ratings"]) == (14, 70)
    for one in found.reliability().iter_rows(named=True):
        k = int(one["threshold"]) - 1
        reached = [(row[k:].sum(), row.sum(), shares[k:].sum()) for row, shares in zip(counts, q, strict=True)
                   if row.sum() and one["low"] <= shares[k:].sum() + 1e-9 and shares[k:].sum() - 1e-9 <= one["high"]
                   and min(int(np.cumsum(shares[::-1])[3 - k] * 10), 9) == round(one["low"] * 10)]  # fmt: skip
        total = sum(n for _, n, _ in reached)
        assert (one["n_items"], one["n_ratings"]) == (len(reached), total)
        assert one["observed"] == pytest.approx(sum(n for n, _, _ in reached) / total)
        assert one["predicted"] == pytest.approx(sum(n * p for _, n, p in reached) / total)
        assert one["ci_low"] - 1e-12 <= one["observed"] <= one["ci_high"] + 1e-12


def test_the_test_of_uniform_pits_against_scipy() -> None:
    """With one rating an item there is nothing to draw but its place in the stretch."""
    rng = np.random.default_rng(13)
    q = rng.dirichlet(np.ones(4), 200)
    points = np.array([rng.choice(4, p=p) for p in q])
    found = soft(ratings_of(np.eye(4, dtype=np.int64)[points]), predictions_of({"m": q}), seed=3, **VALUES_ONLY)
    row = found.calibration().row(0, named=True)
    test = stats.kstest(statistics.pit(points, q, seed=3), "uniform")
    assert row["ks"] == pytest.approx(test.statistic)
    assert row["p_value"] == pytest.approx(test.pvalue, abs=0.02)


def test_right_predictions_are_calibrated() -> None:
    ratings, q = truthful(14, 3000, n_ratings=2)
    found = soft(ratings, predictions_of({"right": q}), metrics=["rps"], **VALUES_ONLY)
    row = found.calibration().row(0, named=True)
    assert row["pit_mean"] == pytest.approx(0.5, abs=0.02)
    assert row["pit_variance"] == pytest.approx(1 / 12, rel=0.05)
    assert row["calibration_error"] < 0.03
    assert (found.pit()["ci_low"] <= 0.1).sum() >= 8
    assert (found.pit()["ci_high"] >= 0.1).sum() >= 8
    assert about(found, "No model is clearly miscalibrated")


def test_p_values_of_right_predictions_are_uniform() -> None:
    """Six ratings of an item are not six independent numbers, and the test does not take them for such."""
    p = []
    for seed in range(40):
        ratings, q = truthful(1000 + seed, 40, n_ratings=6)
        found = soft(ratings, predictions_of({"m": q}), metrics=["rps"], seed=seed, **VALUES_ONLY)
        p.append(found.calibration()["p_value"][0])
    assert stats.kstest(p, "uniform").pvalue > 0.001


def test_habits_of_predictions_are_told() -> None:
    truth = [0.05, 0.2, 0.5, 0.2, 0.05]
    ratings = ratings_of(np.random.default_rng(15).multinomial(4, truth, 400))
    models = constant(
        400, right=truth, sure=[0.005, 0.045, 0.9, 0.045, 0.005], vague=[0.2] * 5, high=[0.02, 0.08, 0.35, 0.4, 0.15],
        low=[0.15, 0.4, 0.35, 0.08, 0.02],
    )  # fmt: skip
    found = soft(ratings, models, metrics=["rps"], **VALUES_ONLY)
    told = {text.split()[0]: text for text in found.findings() if "PIT" in text}
    assert set(told) == {"sure", "vague", "high", "low"}
    assert told["sure"].startswith("sure is too sure")
    assert told["vague"].startswith("vague is too vague")
    assert "predicts too high" in told["high"]
    assert "predicts too low" in told["low"]
    assert not about(found, "No model is clearly miscalibrated")
    frame = {row["model"]: row for row in found.calibration().iter_rows(named=True)}
    assert frame["sure"]["pit_variance"] > 1.15 / 12 > 0.85 / 12 > frame["vague"]["pit_variance"]
    assert frame["high"]["pit_mean"] < 0.45 < 0.55 < frame["low"]["pit_mean"]


def test_a_leaning_model_is_not_called_vague() -> None:
    """All ratings at the low end of what was predicted have a small variance, but not since the model is vague."""
    rng = np.random.default_rng(16)
    ratings = ratings_of(rng.multinomial(4, [0.75, 0.2, 0.05], 100))
    found = soft(ratings, constant(100, high=[0.05, 0.2, 0.75]), **VALUES_ONLY)
    told = [text for text in found.findings() if "PIT" in text]
    assert len(told) == 1
    assert "predicts too high" in told[0]
    assert "vague" not in told[0]


def test_shares_and_their_intervals_are_from_0_to_1() -> None:
    counts = [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    found = soft(ratings_of(counts), constant(3, m=[0.05, 0.9, 0.05]), **VALUES_ONLY)
    for frame in (found.pit(), found.reliability()):
        assert (frame["ci_low"] >= 0).all()
        assert (frame["ci_high"] <= 1).all()
    assert found.pit()["share"].sum() == pytest.approx(1)


# Groups --------------------------------------------------------------------------------------------------------------

SHARES = {"x": [0.7, 0.2, 0.1], "y": [0.1, 0.2, 0.7], "z": [0.3, 0.4, 0.3]}


def grouped(seed: int, *, n_items: int = 20, share: float = 1.0, sizes: Sequence[int] = (6, 7, 5)) -> pv.Ratings:
    """Raters of the groups x, y and z, who see things differently, and one of no group."""
    rng = np.random.default_rng(seed)
    groups = [group for group, size in zip("xyz", sizes, strict=True) for _ in range(size)]
    names = [f"person-{r:03}" for r in range(len(groups) + 1)]
    rows = [
        (item, name, int(rng.choice(3, p=SHARES.get(group, SHARES["z"]))) + 1)
        for item in ids_of(n_items)
        for name, group in zip(names, [*groups, "none"], strict=True)
        if rng.random() < share
    ]
    both = ["p" if r % 2 else "p; q" for r in range(len(groups))]
    raters = pl.DataFrame({"rater": names, "g": [*groups, None], "several": [*both, "q"]})
    return long_ratings(rows, pv.Scale.range(1, 3), raters=raters)


GROUP_MODELS = constant(20, a=LEFT, b=RIGHT)


@pytest.mark.parametrize("share", [1.0, 0.15])
def test_a_group_is_scored_as_if_alone(share: float) -> None:
    """Where a group rated every item, its marginal prediction has the same folds, too."""
    ratings = grouped(1, share=share)
    found = soft(ratings, GROUP_MODELS, by="g", bootstrap=30, curve=False)
    assert set(found.to_frame()["axis"]) == {"all", "g"}
    for group in "xyz":
        alone = ratings.where(raters={"g": group})
        other = soft(alone, GROUP_MODELS, **VALUES_ONLY)
        names = ["a", "b", *(REFERENCES if share == 1.0 else (UNIFORM, POSTERIOR_MEAN))]
        for name, metric in itertools.product(names, METRICS):
            row = found.row(name, metric, "all", "g", group)
            assert row.value == pytest.approx(other.value(name, metric), rel=1e-12), (group, name, metric)
            assert (row.n_items, row.n_ratings) == (alone.n_items, len(alone))
            assert row.ci_low is not None
            assert row.ci_low - 1e-9 <= row.value <= (row.ci_high or 0) + 1e-9
        for metric in METRICS:
            assert found.ranking(metric, axis="g", group=group) == other.ranking(metric)
    assert found.outside == {"g": 1}
    assert found.withheld == {"g": 0}


def test_findings_tell_whom_each_model_serves() -> None:
    ratings = grouped(2)
    found = soft(ratings, GROUP_MODELS, by=["g"], bootstrap=20, curve=False)
    winners = {group: found.ranking(axis="g", group=group)[0] for group in "xyz"}
    assert (winners["x"], winners["y"]) == ("a", "b")
    told = [text for text in found.findings() if "whose ratings count, by g" in text]
    served = {name: " and ".join(group for group in "xyz" if winners[group] == name) for name in "ab"}
    assert told == [f"Who is best by E[EMD] depends on whose ratings count, by g: a for {served['a']}; b for "
                    f"{served['b']}."]  # fmt: skip


def test_no_rater_is_named_in_findings() -> None:
    found = soft(grouped(3), GROUP_MODELS, by=["g", ("g", "several")], bootstrap=20, curve=False, min_group_size=1)
    assert "person" not in "".join(found.findings())
    assert "person" not in found.to_json()


def test_raters_one_by_one_are_rows_but_no_sentences() -> None:
    found = soft(grouped(3), GROUP_MODELS, by="rater", metrics=["emd", "expected_emd"], **VALUES_ONLY)
    assert found.to_frame().filter(axis="rater")["group"].n_unique() == 19
    assert "person" not in "".join(found.findings())


def test_small_groups_are_withheld() -> None:
    found = soft(grouped(4, sizes=(6, 7, 4)), GROUP_MODELS, by="g", **VALUES_ONLY)
    assert set(found.to_frame().filter(axis="g")["group"]) == {"x", "y"}
    assert found.withheld == {"g": 1}
    assert "1 group is withheld, having fewer than 5 raters." in found.findings()
    shown = soft(grouped(4, sizes=(6, 7, 4)), GROUP_MODELS, by="g", min_group_size=4, **VALUES_ONLY)
    assert set(shown.to_frame().filter(axis="g")["group"]) == {"x", "y", "z"}


def test_of_two_groups_both_are_withheld() -> None:
    found = soft(grouped(5, sizes=(9, 4, 0)), GROUP_MODELS, by="g", **VALUES_ONLY)
    assert found.to_frame().filter(axis="g").is_empty()
    assert found.withheld == {"g": 2}
    assert "2 groups are withheld, having fewer than 5 raters." in found.findings()


def test_raters_with_several_values() -> None:
    """A rater counts in each group they belong to; p is everybody's but one rater's, so it would reveal that one."""
    ratings = grouped(6)
    found = soft(ratings, GROUP_MODELS, by="several", several={"several": ";"}, min_group_size=2, **VALUES_ONLY)
    assert set(found.to_frame().filter(axis="several")["group"]) == {"q"}
    assert found.withheld == {"several": 1}
    own = ratings.where(raters={"several": ["p; q", "q"]})
    row = found.row("a", "expected_emd", axis="several", group="q")
    assert row.value == pytest.approx(soft(own, GROUP_MODELS, **VALUES_ONLY).value("a", "expected_emd"), rel=1e-12)
    assert (row.n_raters, row.n_ratings) == (own.n_raters, len(own))
    with pytest.raises(InputError, match="several values of 'several'"):
        soft(ratings, GROUP_MODELS, by=[("g", "several")], several={"several": ";"})


def unscored_group(n_apart: int) -> tuple[pv.Ratings, pl.DataFrame]:
    """Return ratings in which all of group z but ``n_apart`` raters rated one item only, which nobody predicts."""
    ratings = grouped(7, n_items=21)
    last = ids_of(21)[-1]
    z = ratings.raters.filter(g="z")["rater"].to_list()[n_apart:]
    frame = ratings.to_frame().filter(~pl.col("rater").is_in(z) | (pl.col("item") == last))
    kept = pv.Ratings.from_frame(frame, scale=ratings.scale, raters=ratings.raters)
    return kept, constant(20, a=RIGHT, b=MIDDLE)


def test_a_group_that_rated_none_of_the_items() -> None:
    ratings, predictions = unscored_group(0)
    assert soft(ratings, predictions, by="g", bootstrap=20, curve=False).withheld == {"g": 1}
    found = soft(ratings, predictions, by="g", bootstrap=20, curve=False, min_group_size=0)
    for name, metric in itertools.product("ab", METRICS):
        row = found.row(name, metric, axis="g", group="z")
        assert math.isnan(row.value)
        assert row.note == "the group rated none of the items"
        assert (row.n_items, row.n_ratings, row.ci_low) == (0, 0, None)
    assert found.to_frame().filter(group="z")["rank"].null_count() == 20
    assert_same(pv.SoftScores.from_json(found.to_json()), found)


def test_a_group_that_rated_none_of_the_items_has_no_best_model() -> None:
    ratings, predictions = unscored_group(0)
    ratings = ratings.where(raters={"g": ["x", "z"]})
    found = soft(ratings, predictions, by="g", bootstrap=20, curve=False, min_group_size=0)
    assert found.ranking(axis="g", group="x")[0] == "b"
    assert not [text for text in found.findings() if "whose ratings count" in text]


def test_groups_are_as_large_as_those_who_rated_the_scored_items() -> None:
    """What one of five raters gave is not shown as what the group gave."""
    ratings, predictions = unscored_group(1)
    found = soft(ratings, predictions, by="g", metrics=["emd"], **VALUES_ONLY)
    assert "z" not in found.to_frame().filter(axis="g")["group"].to_list()


def test_rows_count_the_raters_they_rest_on() -> None:
    ratings, predictions = unscored_group(0)
    row = soft(ratings, predictions, metrics=["emd"], **VALUES_ONLY).row("a", "emd")
    assert row.n_raters == ratings.where(items={"item": ids_of(20)}).n_raters


def test_groups_need_raters_and_attributes() -> None:
    with pytest.raises(SelectionError, match="raters have no attribute 'age'"):
        soft(grouped(8), GROUP_MODELS, by="age", **VALUES_ONLY)
    with pytest.raises(SelectionError, match="twice"):
        soft(grouped(8), GROUP_MODELS, by=["g", "g"], **VALUES_ONLY)
    with pytest.raises(NeedsRatersError):
        soft(ratings_of([[1, 2, 0]], totals=True), constant(1, m=LEFT), by="g", **VALUES_ONLY)


# What is missing, and bad input --------------------------------------------------------------------------------------


def test_missing_items_are_counted_and_listed() -> None:
    ratings = ratings_of([[2, 1, 0], [1, 1, 1], [0, 0, 3], [0, 0, 0], [0, 0, 0], [1, 0, 0]])
    all_items = predictions_of({"a": [LEFT] * 7, "b": [RIGHT] * 7})
    left = ~((pl.col("model") == "a") & pl.col("item").is_in(["i00001", "i00003"]))
    found = soft(ratings, all_items.filter(left), min_ratings=2, bootstrap=20, curve=False)
    assert set(found.missing().iter_rows()) == {
        ("a", "i00001", "no prediction"), ("a", "i00006", "no rating"), ("b", "i00006", "no rating")
    }  # fmt: skip
    assert [found.settings[name] for name in ("n_items", "n_unpredicted", "n_few", "n_unrated")] == [2, 1, 2, 0]
    told = " ".join(found.findings())
    assert "Scored are 2 of 5 items: those that every model predicts and that have at least 2 ratings." in told
    assert re.search(r"a (lacks|does not predict) 1 item\b", told)
    assert "b predicts 1 item without ratings" in told
    assert not re.search(r"b (lacks|does not predict)", told)
    whole = soft(ratings, all_items, **VALUES_ONLY)
    assert whole.settings["n_unrated"] == 2
    assert [whole.settings[name] for name in ("n_items", "n_unpredicted", "n_few")] == [6, 0, 0]


def test_models_are_scored_on_the_same_items() -> None:
    ratings = ratings_of([[3, 0, 0], [0, 0, 3]])
    both = predictions_of({"a": [LEFT, LEFT], "b": [RIGHT, RIGHT]})
    found = soft(ratings, both.filter(~((pl.col("model") == "b") & (pl.col("item") == "i00000"))), **VALUES_ONLY)
    assert found.value("a", "emd") == pytest.approx(statistics.emd([0, 0, 3], LEFT))
    assert found.value("b", "emd") == pytest.approx(statistics.emd([0, 0, 3], RIGHT))


def test_sentences_on_one_thing_are_in_the_singular() -> None:
    ratings = ratings_of([[2, 1, 0], [1, 1, 1], [0, 0, 0], [1, 0, 0]])
    metrics = ["emd", "expected_emd"]
    found = soft(ratings, constant(3, m=LEFT), bins="3", metrics=metrics, **VALUES_ONLY)
    two = soft(ratings, constant(4, m=LEFT, n=RIGHT), bins="0,3", min_ratings=1, metrics=["emd"], **VALUES_ONLY)
    sure = soft(ratings, constant(1, m=[0.0, 0.5, 0.5]), train=ratings, metrics=["cross_entropy"], **VALUES_ONLY)
    told = [*found.findings(), *two.findings(), *sure.findings(), *(row.note for row in (*found.rows, *sure.rows))]
    assert not [text for text in told if re.search(r"\b1 (items|models|metrics|ratings)\b|1 items? (that )?were", text)]
    with pytest.raises(InputError) as refused:
        soft(ratings_of([[0, 0, 0]]), constant(1, m=LEFT), min_ratings=1)
    assert "1 ratings" not in str(refused.value)


def test_strict_refuses_what_is_missing() -> None:
    ratings = ratings_of([[2, 1, 0], [1, 1, 1], [0, 0, 0]])
    soft(ratings, constant(3, m=LEFT), strict=True, **VALUES_ONLY)
    soft(ratings, constant(2, m=LEFT), strict=True, **VALUES_ONLY)  # nobody rated the third
    with pytest.raises(InputError, match="by m, item 'i00001' is rated but not predicted"):
        soft(ratings, constant(1, m=LEFT), strict=True)
    with pytest.raises(InputError, match="by m, item 'i00003' is predicted but not rated"):
        soft(ratings, constant(4, m=LEFT), strict=True)


def test_nothing_in_common() -> None:
    ratings = ratings_of([[2, 1, 0], [1, 1, 1]])
    far = constant(2, m=LEFT).with_columns(item=pl.Series(["p", "q"]))
    with pytest.raises(InputError, match=r"no predicted item is among the ratings.*'p', 'q'.*'i00000', 'i00001'"):
        soft(ratings, far)
    with pytest.raises(InputError, match="no predicted item has 4 ratings"):
        soft(ratings, constant(2, m=LEFT), min_ratings=4)


def test_nothing_in_common_of_several_models() -> None:
    """Ids that never meet are one thing, models that predict different items another."""
    ratings = ratings_of([[2, 1, 0], [1, 1, 1]])
    both = constant(2, a=LEFT, b=RIGHT)
    apart = both.filter((pl.col("model") == "a") == (pl.col("item") == "i00000"))
    with pytest.raises(InputError, match="is predicted by every model"):
        soft(ratings, apart)
    with pytest.raises(InputError, match="no predicted item is among the ratings"):
        soft(ratings, both.with_columns(item="x" + pl.col("item")))


@pytest.mark.parametrize("name", REFERENCES)
def test_models_may_not_have_the_names_of_references(name: str) -> None:
    with pytest.raises(InputError, match=f"a model is called '{name}'"):
        soft(ratings_of([[2, 1, 0]]), predictions_of({name: [LEFT]}))


def test_scales_have_to_be_the_same() -> None:
    ratings = ratings_of([[2, 1, 0]])
    other = pv.Predictions.from_frame(predictions_of({"m": [LEFT]}, pv.Scale.range(0, 2)), pv.Scale.range(0, 2))
    with pytest.raises(InputError, match="the predictions are on 0 < 1 < 2, the ratings on 1 < 2 < 3"):
        soft(ratings, other)
    with pytest.raises(InputError, match="no column for the point 3"):
        soft(ratings, constant(1, m=[0.5, 0.5]))


def test_labels_that_name_the_same_points_are_the_same_scale() -> None:
    """On a scale, "3", 3 and 3.0 are one point."""
    written = pv.Scale(["1", "2", "3"])
    found = soft(ratings_of([[2, 1, 0]]), pv.Predictions.from_frame(constant(1, m=LEFT), written), **VALUES_ONLY)
    assert found.value("m", "emd") == pytest.approx(statistics.emd([2, 1, 0], LEFT))


BAD_ROWS: list[tuple[str, dict[int, list[Any]], type[InputError], str]] = [
    ("a sum", {1: [0.5, 0.4, 0.2], 3: [0.5, 0.4, 0.2]}, InputError, r"rows 2, 4: the probabilities sum to 1\.1"),
    ("a small sum", {2: [0.5, 0.4, 0.099]}, InputError, r"row 3: the probabilities sum to 0\.999"),
    ("NaN", {0: [0.5, math.nan, 0.5]}, InputError, r"column '2', row 1: a probability is missing"),
    ("nothing", {3: [None, 0.5, 0.5]}, InputError, r"column '1', row 4: a probability is missing"),
    ("negative", {2: [-0.5, 1.0, 0.5]}, InputError, r"column '1', row 3: the probability -0\.5 is negative"),
    ("infinite", {2: [math.inf, 0.0, 0.0]}, InputError, r"row 3: the probability inf is "),
]


@pytest.mark.parametrize(("what", "rows", "error", "message"), BAD_ROWS, ids=[bad[0] for bad in BAD_ROWS])
def test_bad_predictions_name_their_rows(
    what: str, rows: dict[int, list[Any]], error: type[InputError], message: str
) -> None:
    table: list[list[Any]] = [rows.get(row, LEFT) for row in range(4)]
    frame = pl.DataFrame(table, schema=dict.fromkeys("123", pl.Float64), orient="row")
    with pytest.raises(error, match=message):
        soft(ratings_of([[1, 0, 0]] * 4), frame.with_columns(model=pl.lit("m"), item=pl.Series(ids_of(4))))


def test_other_bad_predictions() -> None:
    ratings, frame = ratings_of([[1, 0, 0]] * 4), constant(4, m=LEFT)
    with pytest.raises(DuplicateError, match="rows 2, 5: m predicts item i00001 more than once"):
        soft(ratings, pl.concat([frame, frame[1:2]]))
    with pytest.raises(InputError, match="row 3: the probability much is not a number"):
        soft(ratings, frame.with_columns(pl.Series("2", ["0.3", "0.3", "much", "0.3"])))
    with pytest.raises(IdError, match="row 2: the item is missing"):
        soft(ratings, frame.with_columns(item=pl.Series(["i00000", None, "i00002", "i00003"])))
    with pytest.raises(InputError, match="there is no prediction"):
        soft(ratings, frame.clear())
    with pytest.raises(InputError, match="name the same point"):
        soft(ratings, frame.with_columns(pl.col("1").alias("1.0")))
    with pytest.raises(InputError, match="a NoneType is not a frame"):
        soft(ratings, None)


def test_sums_within_a_millionth_are_divided_out() -> None:
    close = [0.6 + 4e-7, 0.3, 0.1]
    found = soft(ratings_of([[1, 1, 1]]), constant(1, m=close), **VALUES_ONLY)
    total = math.fsum(close)
    assert found.value("m", "cross_entropy") == pytest.approx(-math.fsum(math.log(x / total) for x in close) / 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": ()}, "metrics is empty"), ({"metrics": ["brier"]}, "metrics is 'brier'"),
        ({"floor": 0}, "floor is 0"), ({"floor": 1.0}, "floor is 1.0"), ({"floor": math.nan}, "floor is nan"),
        ({"min_ratings": -1}, "min_ratings is -1"), ({"min_ratings": 2.5}, "min_ratings is 2.5"),
        ({"correction": "fdr"}, "correction is 'fdr'"), ({"bootstrap": -1}, "bootstrap"), ({"seed": -1}, "seed is -1"),
        ({"threads": 0}, "threads is 0"),
    ],
)  # fmt: skip
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        soft(ratings_of([[1, 2, 0]] * 3), constant(3, m=LEFT), curve=False, **options)


def test_frames_of_all_kinds() -> None:
    made = study(20, n_items=9)
    expected = soft(made.ratings, made.predictions, **VALUES_ONLY).to_frame()
    checked = pv.Predictions.from_frame(made.predictions, made.scale)
    for frame in (
        made.predictions.to_pandas(),
        made.predictions.to_arrow(),
        made.predictions.lazy().collect(),
        checked,
    ):
        assert_frame_equal(soft(made.ratings, frame, **VALUES_ONLY).to_frame(), expected, check_exact=True)
    texts = made.predictions.with_columns(pl.exclude("model", "item").cast(pl.String))
    assert_frame_equal(soft(made.ratings, texts, **VALUES_ONLY).to_frame(), expected)


def test_one_model_without_a_name() -> None:
    found = soft(ratings_of([[1, 2, 0]] * 3), constant(3, m=LEFT).drop("model"), **VALUES_ONLY)
    assert found.models == ["model"]
    assert found.comparisons()["model"].unique().to_list() == ["model"]


@pytest.mark.parametrize("ids", [[7, 8, 10], [7.0, 8.0, 10.0], ["7", "8", "10"]])
@pytest.mark.parametrize("others", [[10, 7, 8], [10.0, 7.0, 8.0], ["10", "7", "8"]])
def test_ids_are_compared_by_their_text(ids: list[Any], others: list[Any]) -> None:
    ratings = long_ratings([(item, "r", k + 1) for k, item in enumerate(ids)], pv.Scale.range(1, 3))
    frame = predictions_of({"m": [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]})
    found = soft(ratings, frame.with_columns(item=pl.Series(others)), strict=True, **VALUES_ONLY)
    assert found.value("m", "emd") == 0.0


def test_progress_reaches_its_end() -> None:
    seen: dict[str, list[tuple[int, int]]] = {}
    soft(ratings_of([[1, 2, 0]] * 9), constant(9, m=LEFT), bootstrap=40,
         progress=lambda what, done, total: seen.setdefault(what, []).append((done, total)))  # fmt: skip
    assert set(seen) == {"scoring", "scoring, resampling", "strengths of the prior"}
    for steps in seen.values():
        assert steps[-1][0] == steps[-1][1]
        assert steps == sorted(steps)


# Edges ---------------------------------------------------------------------------------------------------------------


class Edge(NamedTuple):
    """A call at the edge of what is possible."""

    ratings: Callable[[], pv.Ratings]
    predictions: Callable[[], Any]
    options: Mapping[str, Any] = {}


def hundred_points() -> tuple[pv.Ratings, pl.DataFrame]:
    rng = np.random.default_rng(21)
    counts = rng.multinomial(5, np.full(101, 1 / 101), 6)
    scale = pv.Scale.range(0, 100)
    return ratings_of(counts, scale), predictions_of({name: rng.dirichlet(np.ones(101), 6) for name in "ab"}, scale)


EDGES: dict[str, Edge] = {
    "one item and one model": Edge(lambda: ratings_of([[1, 2, 0]]), lambda: constant(1, m=LEFT)),
    "one rating": Edge(lambda: ratings_of([[0, 1, 0]]), lambda: constant(1, a=LEFT, b=RIGHT)),
    "two points": Edge(lambda: ratings_of([[1, 2], [4, 0]]), lambda: constant(2, a=[0.9, 0.1], b=[0.5, 0.5])),
    "101 points": Edge(lambda: hundred_points()[0], lambda: hundred_points()[1]),
    "a billion ratings": Edge(
        lambda: ratings_of([[10**9, 0, 0], [3 * 10**8, 2 * 10**8, 5 * 10**8], [0, 1, 1]], totals=True),
        lambda: constant(3, a=LEFT, b=[0.3, 0.2, 0.5]),
    ),
    "sure and right": Edge(
        lambda: ratings_of([[3, 0, 0], [0, 0, 3]]), lambda: predictions_of({"m": [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]})
    ),
    "sure and wrong": Edge(
        lambda: ratings_of([[3, 0, 0], [0, 0, 3]]),
        lambda: predictions_of({"m": [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], "n": [[0.0, 1.0, 0.0]] * 2}),
    ),
    "sure and wrong, with a floor": Edge(
        lambda: ratings_of([[3, 0, 0], [0, 0, 3]]), lambda: constant(2, m=[0.0, 1.0, 0.0]), {"floor": 1e-6}
    ),
    "identical models": Edge(lambda: ratings_of([[1, 2, 0], [0, 2, 2]]), lambda: constant(2, a=LEFT, b=LEFT)),
    "nobody rated": Edge(lambda: ratings_of([[0, 0, 0]] * 3), lambda: constant(3, a=LEFT, b=RIGHT)),
    "nobody rated, by ratings": Edge(
        lambda: ratings_of([[0, 0, 0]] * 3), lambda: constant(3, a=LEFT, b=RIGHT), {"metrics": ["emd"], "curve": False}
    ),
    "some unrated": Edge(lambda: ratings_of([[0, 0, 0], [1, 2, 0]]), lambda: constant(2, a=LEFT, b=RIGHT)),
    "an empty bin": Edge(lambda: ratings_of([[1, 2, 0]] * 3), lambda: constant(3, a=LEFT, b=RIGHT), {"bins": "3,7+"}),
    "no bins": Edge(lambda: ratings_of([[1, 2, 0]] * 3), lambda: constant(3, a=LEFT, b=RIGHT), {"bins": []}),
    "one metric": Edge(lambda: ratings_of([[1, 2, 0]] * 3), lambda: constant(3, m=LEFT), {"metrics": ["expected_js"]}),
    "metrics of ratings": Edge(
        lambda: ratings_of([[1, 2, 0]] * 3), lambda: constant(3, m=LEFT, n=RIGHT), {"metrics": ["js", "kl"]}
    ),
    "no draws": Edge(lambda: ratings_of([[1, 2, 0]] * 3), lambda: constant(3, a=LEFT, b=RIGHT), {"bootstrap": 0}),
    "five models": Edge(
        lambda: ratings_of([[1, 2, 0]] * 3), lambda: constant(3, a=LEFT, b=RIGHT, c=MIDDLE, d=[0, 0.5, 0.5], e=LEFT)
    ),
    "a fitted prior": Edge(
        lambda: ratings_of([[1, 2, 0], [3, 0, 0], [0, 0, 0]]), lambda: constant(3, a=LEFT), {"prior": "empirical-bayes"}
    ),
    "groups": Edge(lambda: grouped(9), lambda: GROUP_MODELS, {"by": ["g", "several"], "several": {"several": ";"}}),
    "text labels": Edge(
        lambda: long_ratings([("a", "r", "No"), ("b", "r", "Yes")], pv.Scale(["No", "Unsure", "Yes"])),
        lambda: pl.DataFrame({"item": ["a", "b"], "No": [0.5, 0.1], "Unsure": [0.25, 0.1], "Yes": [0.25, 0.8]}),
    ),
    "odd names": Edge(
        lambda: ratings_of([[1, 2, 0]] * 3),
        lambda: predictions_of({"<b>bold</b>": [LEFT] * 3, "model with, commas; and %": [RIGHT] * 3}),
    ),
}  # fmt: skip


@functools.cache
def at_edge(name: str) -> pv.SoftScores:
    edge = EDGES[name]
    return soft(edge.ratings(), edge.predictions(), **{"bootstrap": 25, **edge.options})


@pytest.mark.parametrize("name", list(EDGES))
def test_edges_show_themselves_in_every_form(name: str) -> None:
    found = at_edge(name)
    assert_same(pv.SoftScores.from_json(found.to_json()), found)
    assert not pv.SoftScores.from_json(found.to_json(draws=False)).draws
    json.loads(found.to_json(), parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    texts = found.findings()
    assert texts
    assert all(text.endswith(".") and "None" not in text and "nan" not in text for text in texts)
    for row in found.rows:
        assert row.note or math.isfinite(row.value)
        assert row.value >= -1e-12 or math.isnan(row.value)
    html = found._repr_html_()
    assert "<table>" in html
    assert "<b>" not in html
    assert repr(found).startswith("<SoftScores: ")
    models = set(found.models)
    assert set(found.to_frame().filter(~pl.col("reference"))["model"]) == models
    assert set(found.to_frame().filter("reference")["model"]) == set(REFERENCES)
    assert set(found.to_frame().filter("reference")["rank"]) == {None}


@pytest.mark.parametrize("name", list(EDGES))
def test_models_are_named_by_what_is_said_of_them(name: str) -> None:
    """Who is said to be the best is ranked first, and every model is in the first sentence on an order of few."""
    found = at_edge(name)
    main = "expected_emd" if "expected_emd" in found.metrics else found.metrics[-1]
    best = [text for text in found.findings() if " models by " in text]
    if len(found.models) > 1 and found.value(found.ranking(main)[0], main) < found.value(found.ranking(main)[1], main):
        assert len(best) == 1
        assert best[0].startswith(f"{found.ranking(main)[0]} {found.value(found.ranking(main)[0], main):.3f}")
        assert all(f"{model} " in best[0] for model in found.ranking(main)[:4])
        assert all(f"{other} {found.value(other, main):.3f}" in best[0] for other in REFERENCES)
    elif len(found.models) == 1:
        assert found.findings()[0].startswith(f"{found.models[0]} has {LABELS[main]} ")
    for text in found.findings():
        for one, other in re.findall(r"^(\w+) is better than (\w+) by", text):
            assert found.value(one, main) < found.value(other, main)


def test_a_billion_ratings_are_the_truth() -> None:
    found = at_edge("a billion ratings")
    assert found.settings["n_ratings"] == 2 * 10**9 + 2
    for metric in EMPIRICAL:
        few = getattr(statistics, metric)([[1.0, 0, 0], [0.3, 0.2, 0.5], [0, 1, 1]], LEFT)
        assert found.value("a", metric) == pytest.approx(few.mean(), rel=1e-12)
    assert found.value(POSTERIOR_MEAN, "expected_kl", "1000000000") == pytest.approx(1e-9, rel=0.2)  # (L − 1)/(2n)


def test_sure_predictions() -> None:
    right, wrong = at_edge("sure and right"), at_edge("sure and wrong")
    for metric in EMPIRICAL:
        assert right.value("m", metric) == 0.0
    assert right.value("m", "expected_cross_entropy") == math.inf
    assert wrong.value("m", "cross_entropy") == math.inf
    assert wrong.value("m", "js") == pytest.approx(math.log(2))
    assert wrong.value("m", "emd") == wrong.value("m", "rps") == 1.0
    assert right.calibration()["pit_variance"][0] == pytest.approx(1 / 12)
    raised = at_edge("sure and wrong, with a floor").value("m", "cross_entropy")
    assert raised == pytest.approx(-math.log(1e-6 / (1 + 2e-6)))


def test_unrated_items_have_expected_scores_only() -> None:
    found = at_edge("nobody rated")
    for metric in METRICS:
        assert math.isnan(found.value("a", metric)) == (metric in EMPIRICAL)
    assert found.calibration().is_empty()
    assert found.pit().is_empty()
    assert found.value(UNIFORM, "expected_cross_entropy") == pytest.approx(math.log(3))
    assert found.value(POSTERIOR_MEAN, "expected_emd") == pytest.approx(found.value(UNIFORM, "expected_emd"))
    assert [name for name, share in found.prior_weight().select("bin", "prior_share").iter_rows() if share == 1] == [
        "0", "all"
    ]  # fmt: skip


def test_some_metrics_are_those_of_all() -> None:
    made = study(23, n_items=10)
    whole = soft(made.ratings, made.predictions, bootstrap=20, curve=False)
    some = soft(made.ratings, made.predictions, metrics=["expected_rps", "kl", "kl"], bootstrap=20, curve=False)
    assert some.metrics == ["kl", "expected_rps"]
    kept = whole.to_frame().filter(pl.col("statistic").is_in(some.metrics))
    assert_frame_equal(some.to_frame(), kept, rel_tol=1e-12)


def test_rows_are_found_by_name() -> None:
    found = at_edge("two points")
    assert found.row("a", "emd", "3").subset == "3"
    with pytest.raises(SelectionError, match="no brier of 'a' in bin 'all'"):
        found.row("a", "brier")
    with pytest.raises(SelectionError, match="not of 'soft scores'"):
        pv.SoftScores.from_json(json.dumps({"kind": "cohesion"}))


# Rankings in words ---------------------------------------------------------------------------------------------------

HIT = [0.0, 0.0, 10.0, 0.0, 0.0]
FAR, NEAR, WORST = [0.29, 0.01, 0.4, 0.01, 0.29], [0.01, 0.345, 0.29, 0.345, 0.01], [0.4, 0.09, 0.02, 0.09, 0.4]
BEST = [0.01, 0.04, 0.9, 0.04, 0.01]


def words(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def labels(metrics: Sequence[str]) -> str:
    return "every metric" if len(metrics) == 10 else words([LABELS[metric] for metric in metrics])


def about(found: pv.SoftScores, *pieces: str) -> list[str]:
    return [text for text in found.findings() if any(piece in text for piece in pieces)]


def test_metrics_that_disagree_on_the_best_model() -> None:
    """FAR gives the true point more, NEAR gives more to its neighbours: only a distance prefers the latter."""
    found = soft(ratings_of([HIT] * 6), constant(6, far=FAR, near=NEAR), bootstrap=20, curve=False)
    winners = {metric: min(("far", "near"), key=lambda name: found.value(name, metric)) for metric in METRICS}
    assert winners["cross_entropy"] == "far"
    assert winners["emd"] == winners["expected_emd"] == "near"
    by = {name: [metric for metric in METRICS if winners[metric] == name] for name in ("far", "near")}
    told = about(found, "disagree", "same order")
    assert told == [f"Metrics disagree on the best model: far by {labels(by['far'])}; near by {labels(by['near'])}."]


def test_metrics_that_agree() -> None:
    found = soft(ratings_of([HIT] * 6), constant(6, z=BEST, a=FAR, m=WORST), bootstrap=20, curve=False)
    assert about(found, "disagree", "same order") == ["All 10 metrics put the models in the same order: z, a, m."]


def test_metrics_that_disagree_on_the_lower_order() -> None:
    found = soft(ratings_of([HIT] * 6), constant(6, far=FAR, near=NEAR, best=BEST), bootstrap=20, curve=False)
    orders = {metric: found.ranking(metric) for metric in METRICS}
    assert {order[0] for order in orders.values()} == {"best"}
    (told,) = about(found, "disagree", "same order")
    assert told.startswith("All metrics put best first, and disagree on the others: ")
    for rest in ("far, near", "near, far"):
        of = [metric for metric in METRICS if ", ".join(orders[metric][1:]) == rest]
        assert f"{rest} by {labels(of)}" in told


def test_infinite_scores_are_not_put_in_an_order() -> None:
    """Where every score is infinite there is no first, whatever the models are called."""
    both = constant(6, a=[0.5, 0.0, 0.0, 0.0, 0.5], b=[0.0, 0.45, 0.1, 0.45, 0.0])
    found = soft(ratings_of([[1, 2, 6, 2, 1]] * 6), both, bootstrap=20, curve=False)
    for metric in METRICS:
        one, other = found.value("a", metric), found.value("b", metric)
        assert one == other == math.inf if "cross" in metric or "kl" in metric else one > other
    assert not about(found, "Metrics disagree on the best model")


def test_equal_models_are_not_put_in_an_order() -> None:
    found = soft(ratings_of([HIT] * 6), constant(6, a=FAR, b=FAR), bootstrap=20, curve=False)
    assert not about(found, "is better than", "the best of", "same order")
    assert not about(found, "-0.000")


def test_equal_models_share_their_rank() -> None:
    found = soft(ratings_of([HIT] * 6), constant(6, a=FAR, b=FAR), bootstrap=0)
    assert set(found.to_frame().filter(~pl.col("reference"))["rank"]) == {1}
    assert set(found.sensitivity().filter(pl.col("rank").is_not_null())["rank"]) == {1}


def spans(orders: Sequence[tuple[float, str]]) -> str:
    """Tell what holds from which strength to which."""
    runs = [(what, [strength for strength, _ in part]) for what, part in itertools.groupby(orders, lambda one: one[1])]
    return words([
        f"{what} at {at[0]:g}" if len(at) == 1 else f"{what} from {at[0]:g} to {at[-1]:g}" for what, at in runs
    ])  # fmt: skip


def test_a_ranking_that_moves_with_the_prior() -> None:
    flat = [0.19, 0.2, 0.22, 0.2, 0.19]
    found = soft(ratings_of([[0, 0, 3, 0, 0]] * 6), constant(6, sharp=BEST, flat=flat), bootstrap=0)
    first = found.sensitivity().filter(rank=1)
    said: dict[str, list[str]] = {}
    for metric in EXPECTED:
        rows = first.filter(statistic=metric).select("strength", "model").iter_rows()
        orders = [(strength, f"{model} is best") for strength, model in rows]
        assert (orders[0][1], orders[-1][1]) == ("sharp is best", "flat is best")
        said.setdefault(spans(orders), []).append(metric)
    parts = "; ".join(f"by {labels(metrics)}, {text}" for text, metrics in said.items())
    told = about(found, "strength of the prior", "prior strengths")
    assert told == [f"The ranking moves with the strength of the prior: {parts}."]


def test_a_ranking_that_holds_for_all_priors() -> None:
    found = soft(
        ratings_of([HIT] * 6), constant(6, a=[0.05, 0.2, 0.5, 0.2, 0.05], b=[0.9, 0.04, 0.03, 0.02, 0.01]), bootstrap=0
    )
    assert about(found, "strength of the prior", "prior strengths") == [
        "The ranking by every expected metric is the same for all prior strengths from 0.01 to 100."
    ]


def test_only_the_lower_order_moves_with_the_prior() -> None:
    models = constant(
        6, top=[0.1, 0.15, 0.5, 0.15, 0.1], a=[0.01, 0.29, 0.4, 0.29, 0.01], b=[0.3, 0.05, 0.3, 0.05, 0.3]
    )
    found = soft(ratings_of([[0, 0, 3, 0, 0]] * 6), models, bootstrap=0, metrics=["expected_cross_entropy"])
    curve = found.sensitivity().filter(pl.col("rank").is_not_null()).sort("strength", "rank")
    orders = [
        (float(strength), " before ".join(part["model"]))
        for (strength,), part in curve.group_by("strength", maintain_order=True)
    ]
    assert (orders[0][1], orders[-1][1]) == ("top before a before b", "top before b before a")
    told = about(found, "strength of the prior")
    assert told == [f"The ranking moves with the strength of the prior: by E[CE], {spans(orders)}."]


def test_who_is_best_depends_on_the_number_of_ratings() -> None:
    """With many ratings, sharp predictions pay; with few, expected scores reward flat ones."""
    counts = [[0, 0, n, 0, 0] for n in (1, 1, 1, 40, 40, 40)]
    found = soft(ratings_of(counts), constant(6, sharp=BEST, flat=[0.1, 0.2, 0.4, 0.2, 0.1]), **VALUES_ONLY)
    assert [found.ranking(bin=bin_)[0] for bin_ in ("1", "40")] == ["flat", "sharp"]
    (told,) = about(found, "depends on how many ratings")
    assert told == "Who is best by E[EMD] depends on how many ratings an item has: flat with 1; sharp with 40."


def test_items_without_ratings_make_no_best_model() -> None:
    """Scores of ratings alone are undefined in the bin 0, whatever the models are called."""
    found = soft(ratings_of([[0, 0, 0], [0, 0, 2]]), constant(2, a=LEFT, b=RIGHT), metrics=["emd"], **VALUES_ONLY)
    assert found.ranking("emd", "2") == ["b", "a"]
    assert not about(found, "depends on how many ratings")


def test_losses_are_told_by_metric() -> None:
    ratings, q = truthful(24, 60, n_ratings=10)
    found = soft(ratings, predictions_of({"good": 0.9 * q + 0.02, "bad": q[:, ::-1]}), **VALUES_ONLY)
    for model in found.models:
        worse = {other: [metric for metric in METRICS if found.value(model, metric) > found.value(other, metric)]
                 for other in (UNIFORM, MARGINAL)}  # fmt: skip
        of_uniform = about(found, f"{model} loses to the uniform prediction")
        of_marginal = about(found, f"{model} loses to the marginal prediction")
        assert len(of_uniform) == bool(worse[UNIFORM])
        if worse[UNIFORM]:
            assert of_uniform[0].endswith(f"by {labels(worse[UNIFORM])}.")
        only = [metric for metric in worse[MARGINAL] if metric not in worse[UNIFORM]]
        assert len(of_marginal) == bool(only)
    assert about(found, "bad loses to the uniform")
    assert not about(found, "good loses to the uniform")


PAIR = re.compile(
    r"^(?P<one>\w+) is better than (?P<other>\w+) by (?P<by>[\d.]+) \((?P<low>-?[\d.]+) to (?P<high>-?[\d.]+)\) in "
    r"E\[EMD\], in (?P<share>\d+)% of resamplings, (?P<p>p [<=] [\d.]+), (?P<how>survives|does not survive) correction "
    r"over (?P<n>\d+) comparisons\.$"
)


def test_neighbours_in_the_ranking_are_compared_in_words() -> None:
    ratings, q = truthful(25, 80, n_ratings=5)
    models = {"a": 0.3 * q + 0.14, "b": q, "c": 0.98 * q + 0.004}
    found = soft(ratings, predictions_of(models), bootstrap=200, curve=False)
    told = [match for text in found.findings() if (match := PAIR.match(text))]
    order = found.ranking()
    assert [(match["one"], match["other"]) for match in told] == list(itertools.pairwise(order))
    for match in told:
        one, other = match["one"], match["other"]
        sign = -1 if one < other else 1
        row = pair_of(found, "expected_emd", *sorted((one, other)))
        assert float(match["by"]) == pytest.approx(sign * row["difference"], abs=6e-4)
        ends = sorted((sign * row["ci_low"], sign * row["ci_high"]))
        assert (float(match["low"]), float(match["high"])) == pytest.approx(ends, abs=6e-4)
        better = row["p_better"] if sign < 0 else 1 - row["p_better"]
        assert float(match["share"]) / 100 == pytest.approx(better, abs=0.006)
        assert (match["how"] == "survives") == (row["p_adjusted"] < 0.05)


def test_sentences_count_the_hypotheses_that_were_corrected_over() -> None:
    """Five pairs and ten metrics, of which CE and KL are one hypothesis, as are E[CE] and E[KL]."""
    ratings, q = truthful(25, 40)
    found = soft(ratings, predictions_of({"a": q, "b": 0.3 * q + 0.14}), bootstrap=100, curve=False)
    numbers = {match["n"] for text in found.findings() if (match := PAIR.match(text))}
    assert numbers == {str(5 * 8)}
