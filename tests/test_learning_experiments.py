"""The experiments with trained predictors: their data, the simulated stars, and how predictions are scored."""

from __future__ import annotations

import math
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import SoftScoresWarning
from plurivox.engine.draws import item_weights
from plurivox.statistics import expected_cross_entropy, expected_emd, kl
from plurivox.statistics.soft_blocks import METRICS
from support import Write

sys.path.insert(0, str(Path(__file__).parents[1]))  # benchmarks are no part of the package

from benchmarks import convabuse, learning, learning_tables, stars
from benchmarks.learning import ALL, EXPECTED, FAMILIES, Scores

# ConvAbuse -----------------------------------------------------------------------------------------------------------

COLUMNS = ["annotator_id", "conv_id", "prev_agent", "prev_user", "agent", "user",
           *(f"is_abuse.{label}" for label in (1, 0, -1, -2, -3))]  # fmt: skip
ROWS = [
    ("a", "1", "hello", "", "who are you", "you fool", 0, 0, 1, 0, 0),
    ("b", "1", "hello", "", "who are you", "you fool", 0, 0, 0, 0, 1),
    ("a", "1", "later", "hm", "go on", "you fool", 1, 0, 0, 0, 0),  # a again, otherwise, after other turns
    ("a", "2", "hello", "", "yes", "you fool", 1, 0, 0, 0, 0),  # another conversation
    ("b", "2", "hello", "", "yes", "you fool", 1, 0, 0, 0, 0),
    ("b", "2", "hello", "", "yes", "you fool", 1, 0, 0, 0, 0),  # b again, alike
    ("a", "3", "hello", "", "yes", "rated once", 0, 1, 0, 0, 0),
]


@pytest.fixture
def small_file(write: Write) -> Path:
    """A file with a repeat, a conflict, two contexts of one turn, and an item with one rating."""
    return write("some.csv", pl.DataFrame(ROWS, schema=COLUMNS, orient="row").write_csv())


def test_reading_keeps_the_first_rating_and_the_first_context(small_file: Path) -> None:
    study = convabuse.read(small_file)
    assert (study.n_rows, study.n_repeats, study.n_conflicts, study.n_several_contexts) == (7, 2, 1, 1)
    assert study.ratings.items["item"].to_list() == study.items["item"].to_list() == ["1 | you fool", "2 | you fool"]
    assert study.ratings.counts().tolist() == [[1, 0, 1, 0, 0], [0, 0, 0, 0, 2]]  # from −3 to +1
    assert study.items.select("text", *convabuse.CONTEXT).row(0) == ("you fool", "hello", "", "who are you")


def test_turns_that_training_has_too_are_found(small_file: Path) -> None:
    study = convabuse.read(small_file)
    first, second = (study._replace(items=study.items.filter(item=item)) for item in study.items["item"])
    parts = convabuse.Split(first.ratings, second.ratings, first.items, second.items)
    assert parts.seen.tolist() == [True]
    assert parts.n_shared_conversations == 0


def test_a_missing_file_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"ConvAbuseEMNLPfull\.csv is not there; PLURIVOX_TEST_DATA has to name"):
        convabuse.find(str(tmp_path))


@pytest.fixture(scope="module")
def study(real_data: Path) -> convabuse.Study:
    return convabuse.read(convabuse.find(str(real_data.parent)))


def test_convabuse_against_published_numbers(study: convabuse.Study) -> None:
    per_item = Counter(np.diff(study.ratings.offsets).tolist())
    assert per_item == {2: 1046, 3: 2321, 4: 376, 5: 250, 6: 50, 7: 12, 8: 4}
    assert (study.ratings.n_items, study.n_repeats, study.n_conflicts) == (4059, 543, 28)
    counts = study.ratings.counts()
    assert round(float((counts.max(axis=1) == counts.sum(axis=1)).mean()), 2) == 0.71
    sizes = {name: int(inside.sum()) for name, inside in learning.binned(counts, convabuse.BINS).items()}
    assert sizes == {"2-3 ratings": 3367, "4-5 ratings": 626, "6-10 ratings": 66}
    flat = [0.2] * 5
    assert round(float(expected_cross_entropy(counts, flat).mean()), 3) == 1.609
    assert round(float(expected_emd(counts, flat, normalized=False).mean()), 3) == 0.772


def test_convabuse_split(study: convabuse.Study) -> None:
    parts = convabuse.split(study)
    assert (parts.train.n_items, parts.test.n_items) == (3450, 609)
    for ratings, items in ((parts.train, parts.train_items), (parts.test, parts.test_items)):
        assert ratings.items["item"].equals(items["item"])
    assert not set(parts.train_items["item"]) & set(parts.test_items["item"])
    assert convabuse.split(study).test == parts.test
    assert convabuse.split(study, seed=1).test != parts.test
    known = set(parts.train_items["text"])
    assert parts.seen.tolist() == [text in known for text in parts.test_items["text"]]
    assert convabuse.split(study, at_most=100).test.n_items == 15


def test_jobs_are_every_model_with_and_without_context() -> None:
    jobs = convabuse.jobs(3)
    assert len(jobs) == len(set(jobs)) == 24
    assert {job.model for job in jobs} == set(learning.MODELS)
    assert {job.context for job in jobs if job.name.endswith("context")} == {convabuse.CONTEXT}
    assert {job.context for job in jobs if job.name == job.model} == {()}


# Stars ---------------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def made() -> stars.Products:
    return stars.products(4000)


def test_products_are_seeded(made: stars.Products) -> None:
    again, other = stars.products(4000), stars.products(4000, seed=1)
    assert made.items.equals(again.items)
    assert np.array_equal(made.counts, again.counts)
    assert not np.array_equal(made.counts, other.counts)


def test_numbers_of_ratings_are_few_mostly(made: stars.Products) -> None:
    """P(n ≥ k) = (k^−t − 501^−t)/(5^−t − 501^−t) of a power law cut off at both ends."""
    n = made.counts.sum(axis=1)
    assert (n.min(), n.max() <= 500) == (5, True)
    law = np.arange(5.0, 502.0) ** -stars.TAIL
    for k in (6, 11, 51, 101):
        reached = (law[k - 5] - law[-1]) / (law[0] - law[-1])
        assert np.mean(n >= k) == pytest.approx(reached, abs=4 * math.sqrt(reached * (1 - reached) / 4000))


def test_ratings_are_drawn_from_the_truth(made: stars.Products) -> None:
    """Pearson's Σ (observed − expected)²/expected has the mean 4 for five points, whatever the number of ratings."""
    n = made.counts.sum(axis=1)
    assert made.truth.sum(axis=1) == pytest.approx(1)
    likely = made.truth.min(axis=1) > 0.005  # else a rare star makes the sum vary a lot
    expected = made.truth * n[:, None]
    pearson = ((made.counts - expected) ** 2 / expected).sum(axis=1)
    for inside in (likely & (n < 10), likely & (n > 50)):
        error = pearson[inside].std() / math.sqrt(inside.sum())
        assert pearson[inside].mean() == pytest.approx(4, abs=4 * error)
    shares = np.abs(made.counts / n[:, None] - made.truth).mean(axis=1)
    assert shares[n > 200].mean() < 0.02 < 0.06 < shares[n == 5].mean()


def test_titles_tell_the_mean_of_the_truth(made: stars.Products) -> None:
    """Own shares are Dirichlet(κm): their mean is m, their variance m(1 − m)/(κ + 1)."""
    away = made.truth - made.told
    scaled = away**2 / (made.told * (1 - made.told)) * (stars.OWN + 1)
    assert np.abs(away.mean(axis=0)).max() < 4 * away.std() / math.sqrt(4000)
    assert scaled.mean() == pytest.approx(1, abs=0.05)
    assert made.told.min() > 0
    assert (made.told[:, 0] > made.told[:, 1]).mean() > 0.8  # J-shaped: more with one star than with two


def test_quality_and_number_are_related_only_if_asked_for(made: stars.Products) -> None:
    def related(some: stars.Products) -> float:
        return float(np.corrcoef(some.told @ np.arange(5), np.log(some.counts.sum(axis=1)))[0, 1])

    assert abs(related(made)) < 4 / math.sqrt(4000)
    assert related(stars.products(4000, popularity=0.5)) > 0.3
    assert related(stars.products(4000, popularity=-0.5)) < -0.3


def test_ratings_of_products_have_their_counts(made: stars.Products) -> None:
    few = stars.products(50)
    assert few.ratings.items["item"].equals(few.items["item"])
    assert np.array_equal(few.ratings.counts(), few.counts)
    parts = stars.split(made)
    assert (parts.train.n_items, parts.test.n_items) == (3400, 600)
    at = [made.items["item"].to_list().index(item) for item in parts.test.items["item"]]
    assert np.array_equal(parts.truth, made.truth[at])
    assert np.array_equal(parts.test.counts(), made.counts[at])
    assert parts.material.test_items["item"].equals(parts.test.items["item"])


# Scoring -------------------------------------------------------------------------------------------------------------
def some_predictions(n_items: int, n_seeds: int = 2) -> dict[str, learning.Floats]:
    rng = np.random.default_rng(5)
    return {name: rng.dirichlet(np.ones(5), (n_seeds, n_items)) for name in ("one", "other")}


def test_difference_against_a_literal_bootstrap() -> None:
    few = stars.products(30)
    inside = np.arange(30) % 3 == 0
    predictions = some_predictions(30)
    scores = Scores.of(predictions, [learning.usual(few.counts)], {"third": inside}, draws=40, seed=7)
    values = {name: [kl(few.counts, q) for q in shares] for name, shares in predictions.items()}
    of_items = {name: (first + second) / 2 for name, (first, second) in values.items()}
    for subset, chosen in ((ALL, np.arange(30)), ("third", np.flatnonzero(inside))):
        drawn = []
        for weights in item_weights(30, 40, 7):
            items = [item for item in chosen for _ in range(weights[item])]
            drawn.append(np.mean([of_items["one"][item] - of_items["other"][item] for item in items]))
        found = scores.difference("one", "other", "KL", subset)
        assert found.value == pytest.approx(np.mean(of_items["one"][chosen] - of_items["other"][chosen]))
        assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))
        assert found.outside_chance == (found.low > 0 or found.high < 0)
        won = np.mean([value < 0 for value in drawn])
        assert scores.picked(["one", "other"], "KL", "one", subset) == pytest.approx(won)
    assert scores.seeds("one", "KL").tolist() == pytest.approx([value.mean() for value in values["one"]])


def test_scores_against_soft_scores() -> None:
    few = stars.products(60)
    parts = stars.split(few)
    predictions = {name: shares[:1] for name, shares in some_predictions(parts.test.n_items).items()}
    points = [str(label) for label in stars.SCALE.labels]
    frame = pl.concat(
        pl.DataFrame({"model": name, "item": parts.test.items["item"], **dict(zip(points, q[0].T, strict=True))})
        for name, q in predictions.items()
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftScoresWarning)
        lens = pv.soft_scores(
            parts.test, frame, 1.0, train=parts.train, bins=["5-10", "11+"], bootstrap=0, permutations=0, curve=False
        )
    counts = parts.test.counts()
    ours = Scores.of(
        {**predictions, **learning.references(counts, parts.train.counts())},
        [learning.usual(counts)], learning.binned(counts, ["5-10", "11+"]), draws=2,
    )  # fmt: skip
    labels = dict(zip(METRICS, (*FAMILIES, *EXPECTED), strict=True))
    rows = lens.to_frame().select("model", "bin", "statistic", "value").rows()
    assert len(rows) == 3 * 5 * 10
    for name, subset, statistic, value in rows:
        part = ALL if subset == ALL else f"{subset} ratings"
        assert ours.value(name, labels[statistic], part) == pytest.approx(value, rel=1e-12)


def test_bins_hold_each_item_once() -> None:
    counts = np.zeros((6, 5), dtype=np.int64)
    counts[:, 0] = [2, 3, 4, 5, 6, 11]
    bins = learning.binned(counts, ["2-3", "4-5", "6-10", "20+"])
    wanted = {"2-3 ratings": [0, 1], "4-5 ratings": [2, 3], "6-10 ratings": [4]}
    assert {name: np.flatnonzero(inside).tolist() for name, inside in bins.items()} == wanted


def test_infinite_scores_stay_with_the_draws_that_have_them() -> None:
    scores = np.array([[1.0], [np.inf], [3.0]])
    weights = np.array([[1, 0, 2], [1, 1, 1], [0, 0, 0]])
    found = learning.weighted_means(scores, weights)[:, 0]
    assert found[0] == pytest.approx(7 / 3)
    assert np.isposinf(found[1])
    assert np.isnan(found[2])


def test_true_scores_and_other_priors(made: stars.Products) -> None:
    told, truth, counts = made.told[:40], made.truth[:40], made.counts[:40]
    rules = [learning.usual(counts), learning.expected(counts, 0.1, "α=0.1"), learning.true(truth)]
    scores = Scores.of({"truth": truth[None], "title": told[None]}, rules, {}, draws=2)
    assert scores.value("truth", "true KL") == pytest.approx(0, abs=1e-12)
    assert scores.value("truth", "true EMD") == pytest.approx(0, abs=1e-12)
    assert scores.value("title", "true KL") == pytest.approx(float(kl(truth, told).mean()))
    weak = expected_cross_entropy(counts, told, prior=0.1).mean()
    assert scores.value("title", "E[CE] α=0.1") == pytest.approx(float(weak))


def test_a_sharp_and_a_flat_prediction_change_places() -> None:
    """With two ratings on one point, 0.9 there is better as observed, but α = 1 has 5/7 of the weight and is flat."""
    counts = np.tile([2, 0, 0, 0, 0], (4, 1))
    sharp, flat = np.array([0.9, *[0.025] * 4]), np.array([0.4, *[0.15] * 4])
    predictions = {"sharp": np.tile(sharp, (1, 4, 1)), "flat": np.tile(flat, (1, 4, 1))}
    scores = Scores.of(predictions, [learning.usual(counts)], {}, draws=50)
    found = {one.family: one for one in learning_tables.reversals(scores, ["sharp", "flat"])}
    assert set(found) == set(FAMILIES)
    assert {(one.empirically_better, one.other) for one in found.values()} == {("sharp", "flat")}
    assert found["CE"].empirical.value == pytest.approx(math.log(0.4 / 0.9))
    assert found["CE"].expected.value == pytest.approx(3 / 7 * math.log(0.4 / 0.9) + 4 / 7 * math.log(0.15 / 0.025))
    assert found["CE"].outside_chance
    report = learning_tables.reversal_report(scores, ["sharp", "flat"], "", "α = 1")
    assert "5 with both differences outside chance" in report


def test_expected_scores_want_as_much_flatness_as_the_prior_has_weight(made: stars.Products) -> None:
    """If q is right, E[CE] likes (1 − λ)·q + λ/5 best, λ = 5/(5 + n); CE and the truth like q itself."""
    n = made.counts.sum(axis=1)
    some = {"5": n == 5, "10": n == 10}
    counts = np.random.default_rng(0).multinomial(n, made.told)
    flat, q = np.full((len(n), 5), 0.2), made.told[None]
    wanted = learning.best_mixtures(q, flat, learning.usual(counts), "E[CE]", some)
    assert wanted == pytest.approx({"5": 1 / 2, "10": 1 / 3}, abs=0.06)
    assert max(learning.best_mixtures(q, flat, learning.usual(counts), "CE", some).values()) < 0.06
    assert set(learning.best_mixtures(q, flat, learning.true(made.told), "true CE", some).values()) == {0.0}


def test_flattened_has_the_wanted_entropy(made: stars.Products) -> None:
    found = learning.flattened(made.told, 1.5)
    assert learning.entropy(found) == pytest.approx(1.5, abs=1e-9)
    assert found.sum(axis=1) == pytest.approx(1)
    assert np.array_equal(np.argsort(found[0]), np.argsort(made.told[0]))


def test_tables_are_markdown_with_the_best_in_bold() -> None:
    few = stars.products(10)
    scores = Scores.of(some_predictions(10), [learning.usual(few.counts)], {}, draws=10)
    best = min(("one", "other"), key=lambda name: scores.value(name, "CE"))
    lines = learning_tables.score_table(scores, ["one", "other"], ["CE", "EMD"]).splitlines()
    assert lines[:2] == ["|  | CE | EMD |", "| --- | ---: | ---: |"]
    assert f"| {best} | **{scores.value(best, 'CE'):.3f}** |" in "\n".join(lines)
    assert str(learning.Difference(-0.1234, -0.2, 0.1)) == "−0.123 [−0.200, +0.100]"
    assert str(learning.Difference(0.1234, 0.00123, 0.2)) == "**+0.123 [+0.0012, +0.200]**"
    assert "best minus next" in learning_tables.winner_table(scores, ["one", "other"], ["CE"])


def test_a_fit_that_says_the_same_of_all_items_shows() -> None:
    """Means 0 and 4 of two items have the standard deviation 2; equal predictions have 0."""
    ends, same = np.eye(5)[[0, 4]], np.full((2, 5), 0.2)
    fitted = [learning.Fitted(learning.Job("m", "m", (), seed), q, 3, 8, 1.0) for seed, q in enumerate((ends, same))]
    line = f"| m | 1.0 | 3/8, 3/8 | {math.log(5) / 2:.3f} | 2.00, 0.00 |"
    assert learning_tables.fit_table(fitted).splitlines()[2] == line


# Fitting -------------------------------------------------------------------------------------------------------------
def test_a_fit_keeps_the_order_of_test_items_and_is_written(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed, and the models need it")
    few = stars.products(60)
    parts = stars.split(few)
    turned = parts.material._replace(test_items=parts.material.test_items.reverse())
    shares = []
    for material in (parts.material, turned):
        learning._take(material)
        shares.append(learning._fit(learning.Job("mlp-ce", "mlp-ce", (), 0)))
    assert shares[0].shares.sum(axis=1) == pytest.approx(1)
    assert np.array_equal(shares[0].shares, shares[1].shares[::-1])
    scores = Scores.of(learning.by_name(shares[:1]), [learning.usual(parts.test.counts())], {}, draws=5)
    learning_tables.write(tmp_path, scores, shares[:1], parts.test)
    frame = pl.read_csv(tmp_path / "predictions.csv").drop("seed")
    lens = pv.soft_scores(parts.test, frame, metrics=["rps"], bootstrap=0, curve=False)
    assert lens.value("mlp-ce", "rps") == pytest.approx(scores.value("mlp-ce", "RPS"))
    written = pl.read_csv(tmp_path / "scores.csv").filter(score="RPS", items=ALL)
    assert written["value"].to_list() == pytest.approx([scores.value("mlp-ce", "RPS")])
