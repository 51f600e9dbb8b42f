"""Models that predict rating distributions from texts: what they read, learn and refuse."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.special import expit, rel_entr

import plurivox as pv
from plurivox.base.errors import (
    ColumnError,
    DuplicateError,
    IdError,
    InputError,
    MissingExtraError,
    ModelWarning,
    ScaleError,
    SelectionError,
)
from support import Write

torch = pytest.importorskip("torch", reason="models need plurivox[torch]")
pytest.importorskip("safetensors", reason="models need plurivox[torch]")

from plurivox import models  # noqa: E402
from plurivox.models import kinds, texts, training  # noqa: E402
from plurivox.models.inputs import Examples  # noqa: E402
from plurivox.models.kinds import KINDS  # noqa: E402

Floats = NDArray[np.float64]
SCALE = pv.Scale.range(1, 5)
WORDS = {"kind": [0.7, 0.2, 0.1, 0.0, 0.0], "dull": [0.1, 0.2, 0.4, 0.2, 0.1], "cruel": [0.0, 0.0, 0.1, 0.3, 0.6]}
"""A word decides how a text is rated."""
FILLERS = ["the", "a", "this", "that", "we", "they", "it", "is", "was", "seems", "today", "yesterday", "here", "there"]
EACH = pytest.mark.parametrize("kind", list(KINDS))
SMALL: dict[str, Any] = {"epochs": 2, "validation": 0.25, "batch": 8, "length": 16}


def planted(n: int, seed: int = 0, per_item: int = 5) -> tuple[pv.Ratings, pl.DataFrame, Floats]:
    """Return ratings, texts, and the distribution that each text's ratings are drawn from."""
    rng = np.random.default_rng(seed)
    names = rng.choice(list(WORDS), n)
    said = [" ".join(rng.permutation([*rng.choice(FILLERS, 4), name])) for name in names]
    truth = np.array([WORDS[name] for name in names])
    scores = [rng.choice(5, per_item, p=shares) + 1 for shares in truth]
    rows = [(f"i{i:04}", f"r{j}", int(score)) for i, given in enumerate(scores) for j, score in enumerate(given)]
    frame = pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")
    items = pl.DataFrame({"item": [f"i{i:04}" for i in range(n)], "text": said})
    return pv.Ratings.from_frame(frame, scale=SCALE), items, truth


def tiny(scores: list[int], said: list[str | None], **more: list[Any]) -> tuple[pv.Ratings, pl.DataFrame]:
    """Return one rating per item, in the order of the items."""
    ids = [f"i{i:02}" for i in range(len(said))]
    frame = pl.DataFrame({"item": ids[: len(scores)], "rater": ["r"] * len(scores), "score": scores})
    return pv.Ratings.from_frame(frame, scale=SCALE), pl.DataFrame({"item": ids, "text": said, **more})


def every_point(n: int = 20) -> tuple[pv.Ratings, pl.DataFrame]:
    """Return items that are enough to be trained on without a warning."""
    return tiny([1 + i % 5 for i in range(n)], [f"word{i % 4} word{i % 3}" for i in range(n)])


def weights_of(model: models.Predictor) -> dict[str, Any]:
    found: dict[str, Any] = model._network.state_dict()
    return found


def same_weights(one: models.Predictor, other: models.Predictor) -> bool:
    mine, theirs = weights_of(one), weights_of(other)
    return mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)


def emd(p: Floats, q: Floats) -> float:
    return float(np.abs(np.cumsum(p - q, axis=1))[:, :-1].sum(axis=1).mean() / (p.shape[1] - 1))


def literal_loss(kind: str, counts: NDArray[Any], q: Floats) -> float:
    """Compute the loss of a kind as its definition says, item by item."""
    total = n = 0.0
    for row, shares in zip(counts, q, strict=True):
        p = row / row.sum()
        if kind == "mlp-ce":
            total, n = total - sum(a * math.log(b) for a, b in zip(p, shares, strict=True) if a), n + 1
        elif kind == "mlp-kl":
            padded = np.pad(p, 2, mode="edge")  # σ = 0.5 reaches two points
            smooth = np.array([sum(math.exp(-2 * d * d) * padded[c + 2 + d] for d in range(-2, 3)) for c in range(5)])
            smooth /= smooth.sum()
            total, n = total + float(rel_entr(smooth, shares).sum()), n + 1
        elif kind == "cumulative-link":
            total -= sum(times * math.log(share) for times, share in zip(row, shares, strict=True))
            n += row.sum()
        else:
            total, n = total + sum(abs(p[:k].sum() - shares[:k].sum()) for k in range(1, 5)) / 4, n + 1
    return total / n


def validation_rows(n: int, share: float, seed: int) -> NDArray[np.int64]:
    """Return the items that are held out, as positions in the order of their ids."""
    return np.sort(np.random.default_rng([seed, 1]).permutation(n)[: round(share * n)])


# Words ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("text", "found"), [
    ("Don't SHOUT, don’t!", ["don't", "shout", "don't"]), ("'quoted' rock'n'roll", ["quoted", "rock'n'roll"]),
    ("東京タワー is tall", ["東", "京", "タ", "ワ", "ー", "is", "tall"]), ("हिन्दी में", ["हिन्दी", "में"]),
    ("שָׁלוֹם עולם", ["שָׁלוֹם", "עולם"]), ("می‌خواهم", ["می‌خواهم"]), ("Cafe\u0301 CAFÉ", ["café", "café"]),
    ("STRASSE Straße", ["strasse", "strasse"]), ("nul\x00byte \ud800 🙃", ["nul", "byte"]), ("?!…", []),
])  # fmt: skip
def test_words(text: str, found: list[str]) -> None:
    assert texts.words(text) == found


@pytest.mark.parametrize(("text", "found"), [
    ("Oh no… 🙃!", ["oh", "no", "…", "🙃", "!"]),
    ("❤️ 👨‍👩‍👧", ["❤", "👨", "👩", "👧"]), ("a_b _ \x00\u200b", ["a_b", "_"]),
    ("京!", ["京", "!"]),
])  # fmt: skip
def test_words_and_signs(text: str, found: list[str]) -> None:
    assert list(texts.words_and_signs(text)) == found


def test_tf_idf_against_scikit_learn() -> None:
    vectorizer: Any = pytest.importorskip(
        "sklearn.feature_extraction.text", reason="needs scikit-learn to compare with"
    )
    rng = np.random.default_rng(3)
    said = [" ".join(rng.choice(FILLERS + list(WORDS), rng.integers(1, 30))) + f" only{i}" for i in range(60)]
    new = ["kind kind the", "nothing known", *said[:5]]
    encoder, _ = texts.BagEncoder.learn(said, [()] * len(said), features=10_000, length=1)
    oracle = vectorizer.TfidfVectorizer(analyzer=texts.words, min_df=2)
    oracle.fit(said)
    assert set(encoder.text.words) == set(oracle.get_feature_names_out())
    order = [oracle.vocabulary_[word] for word in encoder.text.words]
    np.testing.assert_allclose(encoder.text.idf, oracle.idf_[order], rtol=1e-12)
    bags = encoder.encode(new, [()] * len(new))
    ours = np.zeros((len(new), encoder.n_features))
    for row in range(len(new)):
        features, _, weights = bags.pick(np.array([row]))
        ours[row, features] = weights
    np.testing.assert_allclose(ours, oracle.transform(new).toarray()[:, order], atol=1e-12)
    assert not ours[1].any()


def test_features_are_the_most_frequent_words_of_at_least_two_texts() -> None:
    said = ["b a", "b a once", "c b", "c d", "d d d"]
    chosen = texts.BagEncoder.learn(said, [()] * 5, features=3, length=1)[0].text.words
    assert chosen == ("b", "a", "c")  # in 3, 2, 2, 2 texts; equal ones in alphabetical order
    encoder, note = texts.BagEncoder.learn(["x y", "z"], [()] * 2, features=9, length=1)
    assert encoder.text.words == ()  # words of single texts may be private
    assert note == "no two training texts share a word, so all texts look alike to the model"


def test_words_of_items_held_out_are_not_known() -> None:
    ratings, items = every_point()
    rows = validation_rows(20, 0.25, 0)
    held_out = pl.int_range(20).is_in(rows.tolist())
    marked = items.with_columns(pl.col("text") + pl.when(held_out).then(pl.lit(" late")).otherwise(pl.lit(" early")))
    encoder = models.fit(ratings, marked, "mlp-ce", **SMALL)._encoder
    assert isinstance(encoder, texts.BagEncoder)
    assert set(encoder.text.words) == {"early", *(f"word{i}" for i in range(4))}


# Context -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("n_text", "n_context", "expected"), [(20, 20, (5, 5)), (3, 20, (3, 7)), (20, 2, (8, 2)), (20, 0, (10, 0))]
)
def test_text_and_context_have_half_of_the_features_each(
    n_text: int, n_context: int, expected: tuple[int, int]
) -> None:
    text, context = (" ".join(f"w{i}" for i in range(n)) for n in (n_text, n_context))
    encoder, _ = texts.BagEncoder.learn([text] * 2, [[context], [context]], features=10, length=1)
    assert (len(encoder.text), len(encoder.context)) == expected
    sequences, _ = texts.SequenceEncoder.learn([text] * 2, [[context], [context]], features=10, length=1)
    assert len(sequences.words) == 10


def test_long_context_takes_nothing_from_the_text_in_bags() -> None:
    said, before = ["the cat", "the dog"] * 2, [["the cat sat " * 500, "on and on " * 1000]] * 4
    encoder, _ = texts.BagEncoder.learn(said, before, features=10_000, length=1)
    alone, _ = texts.BagEncoder.learn(said, [()] * 4, features=10_000, length=1)
    assert encoder.text.words == alone.text.words
    features, _, weights = encoder.encode(["the cat"], [before[0]]).pick(np.array([0]))
    own, _, own_weights = alone.encode(["the cat"], [()]).pick(np.array([0]))
    of_text = features < len(encoder.text)
    np.testing.assert_array_equal(features[of_text], own)
    np.testing.assert_array_equal(weights[of_text], own_weights)
    assert (~of_text).sum() == 5  # the, cat, sat, on, and: words of their own


@pytest.mark.parametrize("n_text", [1, 5, 9, 10, 11, 30])
def test_long_context_never_removes_a_token_of_the_text(n_text: int) -> None:
    encoder = texts.SequenceEncoder(tuple(f"t{i}" for i in range(30)) + tuple(f"c{i}" for i in range(1000)), length=10)
    text = " ".join(f"t{i}" for i in range(n_text))
    turns = [" ".join(f"c{i}" for i in range(k, 1000)) for k in (0, 500)]
    (alone,), (both,) = (encoder.encode([text], [before]).tokens for before in ((), turns))
    segments = encoder.encode([text], [turns]).segments[0]
    np.testing.assert_array_equal(both[segments == texts.OF_TEXT], alone)
    assert len(alone) == min(n_text, 10)
    assert len(both) == (10 if n_text < 9 or n_text >= 10 else 9)
    if n_text < 9:
        assert both[n_text] == texts.SEPARATOR
        newest = [encoder._places[f"c{i}"] for i in range(1000 - (9 - n_text), 1000)]
        assert both[n_text + 1 :].tolist() == newest


def test_turns_are_separated_and_blank_ones_left_out() -> None:
    encoder = texts.SequenceEncoder(("a", "b", "c"), length=9)
    tokens_of, segments = encoder.encode(["c ?"], [["a", "\x00", "b b"]]).pick(np.array([0]))
    assert tokens_of.tolist() == [[5, texts.UNKNOWN, texts.SEPARATOR, 3, texts.SEPARATOR, 4, 4]]
    assert segments.tolist() == [[1, 1, 0, 0, 0, 0, 0]]


@EACH
def test_a_model_learns_from_context(kind: str) -> None:
    ratings, items, truth = planted(300)
    turned = items.with_columns(before=pl.col("text"), text=pl.lit("and then?"), earlier=pl.lit(None, dtype=pl.String))
    model = models.fit(ratings, turned, kind, context=["earlier", "before"], length=16, learning_rate=5e-3)
    _, others, other_truth = planted(100, seed=1)
    shares = model.shares(["and then?"] * 100, [[None, said] for said in others["text"]])
    assert emd(other_truth, shares) < 0.6 * emd(other_truth, np.tile(truth.mean(axis=0), (100, 1)))
    frame = turned.head(3)
    found, expected = model.predict(frame), model.shares(frame["text"].to_list(), frame["before"].to_list())
    np.testing.assert_allclose(found.drop("model", "item").to_numpy(), expected, atol=1e-12)
    without = model.predict(frame, context=()).drop("model", "item")
    assert not np.allclose(without, found.drop("model", "item"))


# Networks and losses -------------------------------------------------------------------------------------------------
def test_cumulative_link_against_differences_of_expit() -> None:
    rng = np.random.default_rng(0)
    gaps = rng.uniform(0.05, 3, 3)
    cuts = -4 + np.concatenate([[0], np.cumsum(gaps)])
    z = cuts - rng.normal(0, 3, (50, 1))
    found = kinds.cumulative_link(torch.tensor(z), torch.tensor(gaps)).exp().numpy()
    bounds = np.hstack([np.zeros((50, 1)), expit(z), np.ones((50, 1))])
    np.testing.assert_allclose(found, np.diff(bounds, axis=1), atol=1e-13)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-13)


def test_cumulative_link_has_digits_where_differences_of_expit_have_none() -> None:
    z = torch.tensor([[-800.0, -799.0], [799.0, 800.0]], dtype=torch.float64, requires_grad=True)
    found = kinds.cumulative_link(z, torch.ones(1, dtype=torch.float64))
    # σ(z) → eᶻ far below 0: ln(e⁻⁷⁹⁹ − e⁻⁸⁰⁰), and the same mirrored
    assert found[0].tolist() == pytest.approx([-800, -799 + math.log(1 - math.exp(-1)), 0])
    assert found[1].tolist() == pytest.approx([0, -799 + math.log(1 - math.exp(-1)), -800])
    found.sum().backward()
    assert torch.isfinite(z.grad).all()


def test_cut_points_are_ordered_may_be_negative_and_start_from_shares() -> None:
    network = kinds.CumulativeLink(4, 5, 1).double()
    shares = torch.tensor([0.6, 0.1, 0.1, 0.1, 0.1], dtype=torch.float64)
    network.start_from(shares)
    cuts = network.cut_points()
    assert torch.sigmoid(cuts).tolist() == pytest.approx([0.6, 0.7, 0.8, 0.9])
    network.start_from(shares.flip(0))
    assert network.cut_points()[0] < -2
    with torch.no_grad():
        network.steps.copy_(torch.tensor([-9.0, 0.0, 9.0]))
        network.lowest.fill_(-50)
    assert (network.cut_points().diff() > 0).all()
    assert network.cut_points().max() < 0


def test_two_points_are_enough_for_every_kind() -> None:
    frame = pl.DataFrame({"item": range(12), "rater": ["r"] * 12, "score": ["No", "Yes"] * 6})
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale(["No", "Yes"]))
    items = pl.DataFrame({"item": range(12), "text": ["good", "bad"] * 6})
    for kind in KINDS:
        assert models.fit(ratings, items, kind, **SMALL).shares(["good"]).shape == (1, 2)


@EACH
def test_losses_against_their_definitions(kind: str) -> None:
    rng = np.random.default_rng(5)
    counts = rng.integers(0, 4, (30, 5)) + np.eye(5, dtype=np.int64)[rng.integers(0, 5, 30)]
    said = [" ".join(rng.choice(FILLERS, 4)) for _ in range(30)]
    known = KINDS[kind]
    encoder, _ = known.encoder.learn(said, [()] * 30, features=100, length=8)
    torch.manual_seed(0)
    network = known.network(encoder.n_features, 5, 8).eval()
    part = training.TrainingItems.of(known, encoder.encode(said, [()] * 30), counts, torch.device("cpu"))
    with torch.no_grad():
        q = training.log_shares(network, part.inputs, np.arange(30), part.targets).exp().double().numpy()
    assert training.mean_loss(network, known, part) == pytest.approx(literal_loss(kind, counts, q), rel=1e-5)


# Learning ------------------------------------------------------------------------------------------------------------
def uneven(n: int) -> tuple[pv.Ratings, pl.DataFrame]:
    """Return items with up to six ratings each."""
    ratings, items, _ = planted(n, per_item=6)
    frame = ratings.to_frame().sample(fraction=0.7, seed=1)
    return pv.Ratings.from_frame(frame, scale=SCALE, items=items.select("item")), items


def test_sigma_against_scipy() -> None:
    """SciPy's Gaussian filter along the scale, its ends repeated, makes the targets of mlp-kl."""
    ratings, items = uneven(60)
    made = models.fit(ratings, items, "mlp-kl", epochs=2, sigma=1.2)
    rows = validation_rows(60, 0.15, 0)
    counts = ratings.counts()[rows]
    target = gaussian_filter1d(counts / counts.sum(axis=1, keepdims=True), 1.2, axis=1, mode="nearest", truncate=4.0)
    target /= target.sum(axis=1, keepdims=True)
    held_out = items.sort("item")[rows]
    q = made.predict(held_out).select(map(str, SCALE.labels)).to_numpy()
    assert made.training.best_validation_loss == pytest.approx(rel_entr(target, q).sum(axis=1).mean(), rel=1e-4)
    assert made.settings.sigma == 1.2
    assert not same_weights(made, models.fit(ratings, items, "mlp-kl", epochs=2))
    said = refused(InputError, ratings, items, model="mlp-ce", sigma=1.0)
    assert said == "sigma is 1.0, but mlp-ce does not smooth. Leave sigma out, or choose mlp-kl."


def test_items_with_enough_ratings_and_samples_of_them() -> None:
    ratings, items = uneven(60)
    counts = ratings.counts()
    n = counts.sum(axis=1)
    enough, few = n[n >= 4], int(np.count_nonzero(n < 4))
    made = models.fit(ratings, items, "mlp-ce", epochs=1, min_ratings=4)
    assert (made.training.n_items, made.training.n_ratings) == (len(enough), int(enough.sum()))
    assert f"{few} of 60 rated items have fewer than 4 ratings and are left out" in made.training.notes
    said = refused(InputError, ratings, items, model="mlp-ce", min_ratings=1_000)
    assert said.startswith("0 of 60 items with a text have 1,000 ratings or more, but training needs at least two.")
    made = models.fit(ratings, items, "mlp-ce", epochs=1, sample_ratings=2, sample_items=30, seed=3)
    shuffled = models.fit(ratings, items.sample(fraction=1.0, shuffle=True, seed=1), "mlp-ce", epochs=1,
                          sample_ratings=2, sample_items=30, seed=3)  # fmt: skip
    assert same_weights(made, shuffled)
    assert made.training.n_items == 30
    assert "30 of 60 items were drawn at random" in made.training.notes
    every = Examples(["x"] * 60, [()] * 60, counts)
    asked = replace(made.settings, sample_items=None)
    draws = [every.drawn(replace(asked, seed=seed)).counts for seed in range(300)]
    assert all((one <= counts).all() and (one.sum(axis=1) == np.minimum(n, 2)).all() for one in draws)
    mean = np.mean(draws, axis=0)
    expected = counts * (np.minimum(n, 2) / n)[:, None]  # of a draw without putting back
    assert np.abs(mean - expected).max() < 5 * 0.71 / math.sqrt(300)


@EACH
def test_a_planted_signal_is_learned(kind: str) -> None:
    ratings, items, truth = planted(400)
    model = models.fit(ratings, items, kind, length=16, learning_rate=5e-3)
    _, others, other_truth = planted(200, seed=1)
    found = model.predict(others).drop("model", "item").to_numpy()
    assert emd(other_truth, found) < 0.4 * emd(other_truth, np.tile(truth.mean(axis=0), (200, 1)))
    assert (model.training.n_items, model.training.n_validation, model.training.n_ratings) == (400, 60, 2000)
    assert model.training.best_validation_loss == min(model.training.validation_losses)
    assert model.training.train_losses[-1] < model.training.train_losses[0]
    assert model.training.notes == ()


@EACH
def test_same_seed_same_bits_whatever_the_rows_and_threads(kind: str) -> None:
    ratings, items, _ = planted(60)
    first = models.fit(ratings, items, kind, **SMALL)
    shuffled = pv.Ratings.from_frame(ratings.to_frame().sample(fraction=1, shuffle=True, seed=1), scale=SCALE)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1 if before > 1 else 2)
        again = models.fit(shuffled, items.sample(fraction=1, shuffle=True, seed=2), kind, **SMALL)
        more_threads = torch.get_num_threads()
    finally:
        torch.set_num_threads(before)
    assert more_threads != before
    assert same_weights(first, again)
    np.testing.assert_array_equal(first.shares(items["text"].to_list()), again.shares(items["text"].to_list()))
    assert first.training.validation_losses == again.training.validation_losses
    assert not same_weights(first, models.fit(ratings, items, kind, **SMALL, seed=1))


@EACH
def test_what_the_caller_does_with_torch_is_left_alone(kind: str) -> None:
    ratings, items = every_point()
    torch.manual_seed(5)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    torch.set_default_dtype(torch.float64)
    inside: list[int] = []
    try:
        with torch.no_grad():
            model = models.fit(ratings, items, kind, **SMALL, progress=lambda _: inside.append(torch.get_num_threads()))
        model.predict(items)
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    assert inside == [1, 1]
    assert same_weights(model, models.fit(ratings, items, kind, **SMALL))


@EACH
def test_the_best_epoch_is_kept(kind: str) -> None:
    ratings, items, _ = planted(80, per_item=1)
    seen: list[models.Epoch] = []
    options: dict[str, Any] = {"learning_rate": 0.05, "length": 16, "batch": 8}
    model = models.fit(ratings, items, kind, **options, epochs=40, patience=3, progress=seen.append)
    done = model.training
    assert done.stopped == "early"
    assert done.epochs == len(seen) < 40
    losses = np.array(done.validation_losses)
    gains = [at for at in range(len(losses)) if not at or losses[at] < losses[:at].min() * (1 - 2e-3)]
    assert max(gains) <= len(losses) - 3  # three epochs at least in which it fell by little or nothing
    assert min(losses[-3:]) > losses[:-3].min() * (1 - 2e-3)
    assert tuple(epoch.validation_loss for epoch in seen) == done.validation_losses
    assert seen[-1] == models.Epoch(done.epochs, 40, done.train_losses[-1], done.validation_losses[-1], done.best_epoch)
    rows = validation_rows(len(items), 0.15, 0)
    q = model.shares(items["text"].gather(rows).to_list())
    loss = literal_loss(kind, ratings.counts()[rows], q)
    assert loss == pytest.approx(done.best_validation_loss, rel=1e-4)
    assert loss < done.validation_losses[-1]


def test_interrupting_keeps_the_best_so_far() -> None:
    ratings, items, _ = planted(60)

    def stop(epoch: models.Epoch) -> None:
        if epoch.number == 2:
            raise KeyboardInterrupt

    cut = models.fit(ratings, items, "mlp-ce", progress=stop)
    assert (cut.training.stopped, cut.training.epochs, cut.training.best_epoch) == ("interrupted", 2, 2)
    assert same_weights(cut, models.fit(ratings, items, "mlp-ce", epochs=2))
    done = models.fit(ratings, items, "mlp-ce", epochs=3).training
    assert (done.stopped, done.epochs, done.best_epoch) == ("epochs", 3, 3)


def test_interrupting_before_the_first_epoch_is_over_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings, items = every_point()

    def interrupted(*_: object) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "mean_loss", interrupted)
    threads = torch.get_num_threads()
    with pytest.raises(KeyboardInterrupt):
        models.fit(ratings, items, **SMALL)
    assert torch.get_num_threads() == threads


def test_a_loss_that_is_no_number_ends_training(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings, items = every_point()
    losses = iter([1.0, math.nan])
    monkeypatch.setattr(training, "mean_loss", lambda *_: next(losses))
    done = models.fit(ratings, items, epochs=5).training
    assert (done.epochs, done.best_epoch, done.stopped) == (1, 1, "early")
    assert done.notes == (training.NOT_FINITE.format(2),)
    losses = iter([math.inf])
    with pytest.raises(InputError, match=r"learning_rate is 0\.001, but the loss is not a finite number"):
        models.fit(ratings, items)


@EACH
def test_sequences_are_batched_by_length_and_each_item_once(kind: str) -> None:
    encoder, _ = KINDS[kind].encoder.learn(["a b"], [()], features=9, length=50)
    inputs = encoder.encode([("a b " * (1 + i % 20)) for i in range(300)], [()] * 300)
    found = training.batches(inputs, np.random.default_rng(0), 16)
    assert sorted(np.concatenate(found).tolist()) == list(range(300))
    assert sorted(map(len, found)) == [12] + [16] * 18
    if kind == "transformer-emd":
        assert sum(len(rows) * int(inputs.sizes()[rows].max()) for rows in found) < 1.2 * inputs.sizes().sum()


# Predicting ----------------------------------------------------------------------------------------------------------
@EACH
def test_predictions_are_distributions_that_do_not_depend_on_other_rows(kind: str) -> None:
    ratings, items, _ = planted(60)
    model = models.fit(ratings, items, kind, **SMALL)
    odd = ["", "unheard of", "🙃", "\x00", "مرحبا", "東京", "kind " * 200_000, "x" * 1_000_000, "kind\ud800"]
    said = [*odd[1:], *items["text"]]
    found = model.shares(said)
    assert found.dtype == np.float64
    assert found.shape == (len(said), 5)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-12)
    for at in (0, 2, 5, 10, 40):
        np.testing.assert_allclose(model.shares([said[at]])[0], found[at], rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.shares(said[::-1]), found[::-1], rtol=0, atol=1e-12)
    assert model.shares([]).shape == (0, 5)


def test_predictions_are_read_by_soft_scores() -> None:
    ratings, items, _ = planted(40)
    model = models.fit(ratings, items, **SMALL)
    frame = model.predict(items.reverse())
    assert frame.columns == ["model", "item", "1", "2", "3", "4", "5"]
    assert frame["item"].to_list() == items["item"].reverse().to_list()
    assert set(frame["model"]) == {"mlp-kl"}
    assert pv.Predictions.from_frame(frame, SCALE).models == ("mlp-kl",)
    assert set(model.predict(items, name="mine")["model"]) == {"mine"}
    assert repr(model) == "<Predictor: mlp-kl on 1 < 2 < 3 < 4 < 5, trained on 40 items>"
    seen: list[tuple[int, int]] = []
    model.predict(pl.DataFrame({"item": range(5000), "text": ["word1"] * 5000}), progress=lambda *n: seen.append(n))
    assert seen == [(4096, 5000), (5000, 5000)]


@pytest.mark.parametrize("convert", [pl.DataFrame.to_pandas, pl.DataFrame.to_arrow, pl.DataFrame.lazy])
def test_frames_of_other_libraries(convert: Callable[[pl.DataFrame], Any]) -> None:
    ratings, items = every_point()
    items = items.with_columns(before=pl.when(pl.int_range(20) % 2 == 0).then(pl.lit("well")))
    expected = models.fit(ratings, items, context="before", **SMALL)
    assert isinstance(convert(items), pd.DataFrame | pa.Table | pl.LazyFrame)
    found = models.fit(ratings, convert(items), context=["before"], **SMALL)
    assert same_weights(expected, found)
    assert expected.context == found.context == ("before",)
    assert expected.predict(items).equals(found.predict(convert(items)))


def test_ids_and_texts_may_be_numbers_and_ratings_totals(write: Write) -> None:
    ratings = pv.read_ratings(write("t.csv", "item,1,2\n3,2,1\n1,0,3\n2,1,0\n4,1,4\n"), scale=pv.Scale.range(1, 2))
    assert not ratings.has_raters
    items = pl.DataFrame({"item": ["1", "2", "3", "4"], "text": [10.0, 10.0, 11.0, 11.0]})
    model = models.fit(ratings, items, **SMALL)
    assert model.training.n_ratings == 12
    assert model._encoder.text.words[0] in ("10", "11")  # type: ignore[union-attr]
    assert model.predict(items.with_columns(pl.col("item").cast(pl.Int64)))["item"].to_list() == [1, 2, 3, 4]


# What is said --------------------------------------------------------------------------------------------------------
def test_what_is_left_out_is_noted() -> None:
    ratings, items = tiny([1, 2, 3, 4, 5] * 4, [*[f"w{i % 3}" for i in range(20)], "unrated", "unrated"])
    items = items.with_columns(text=pl.when(pl.col("item").is_in(["i03", "i04"])).then(pl.lit(" \n")).otherwise("text"))
    done = models.fit(ratings, items.filter(pl.col("item") != "i01"), **SMALL).training
    assert done.notes[:3] == (
        "1 of 20 rated items is not in the table of items and is left out",
        "2 of 20 rated items have no text and are left out",
        "2 of 21 items of the table have no rating and are left out",
    )
    assert done.n_items == 17


def test_a_point_that_nobody_gave_is_said_and_the_loss_is_finite() -> None:
    ratings, items = tiny([1, 2, 4] * 6, [f"w{i % 3}" for i in range(18)])
    said = "no training rating is 3 or 5: when to expect it cannot be learned, and it will rarely be predicted"
    for kind in KINDS:
        with pytest.warns(ModelWarning, match=said) as caught:
            model = models.fit(ratings, items, kind, **SMALL)
        assert caught[0].filename == __file__
        assert model.training.unseen == ("3", "5")
        assert model.training.notes[0] == said
        assert np.isfinite(model.training.validation_losses).all()
        assert (model.shares(["w1"]) > 0).all()


def test_only_one_point_ever_given_is_said() -> None:
    ratings, items = tiny([3] * 10, [f"w{i % 3}" for i in range(10)])
    for kind in KINDS:
        with pytest.warns(ModelWarning, match="all training ratings are 3: texts cannot be distinguished"):
            model = models.fit(ratings, items, kind, learning_rate=0.01)
        assert model.shares(["w1"]).argmax() == 2
        assert model.training.unseen == ("1", "2", "4", "5")


def test_texts_without_words_and_fewer_items_than_a_batch() -> None:
    ratings, items = tiny([1, 2, 3, 4, 5, 1, 2, 3, 4, 5], ["?!"] * 10)
    with pytest.warns(ModelWarning, match="all training ratings are 2"):
        model = models.fit(ratings.where(items={"item": ["i00", "i01"]}), items.head(2), "mlp-ce", epochs=1)
    assert (model.training.n_items, model.training.n_validation) == (2, 1)
    assert "no two training texts share a word, so all texts look alike to the model" in model.training.notes
    np.testing.assert_allclose(model.shares(["one"]), model.shares(["other"]))


# What is refused -----------------------------------------------------------------------------------------------------
def refused(error: type[InputError], ratings: pv.Ratings, items: Any, **options: Any) -> str:
    with pytest.raises(error) as caught:
        models.fit(ratings, items, **options)
    assert type(caught.value) is error
    return str(caught.value)


@pytest.mark.parametrize(("options", "message"), [
    ({"text": "said"},
     "items: there is no column 'said' with the texts; it has item, text. Name it with text= or --text."),
    ({"item": "id"}, "items: there is no column 'id' with the ids; it has item, text. Name it with item= or --item."),
    ({"context": "p"},
     "items: there is no column 'p' with context; it has item, text. Name it with context= or --context."),
])  # fmt: skip
def test_missing_columns(options: dict[str, Any], message: str) -> None:
    assert refused(ColumnError, *every_point(), **options) == message


@pytest.mark.parametrize(("change", "error", "message"), [
    (lambda items: pl.concat([items, items[3:5]]), DuplicateError,
     "items, column 'item', rows 4, 21: item 'i03' occurs more than once, as is 1 other. Keep one row per item."),
    (lambda items: items.with_columns(item=pl.lit(None, dtype=pl.String)), IdError,
     "items, column 'item', rows 1, 2, 3, 4, 5 and 15 more: the item is missing. Fill it in."),
    (lambda items: items.with_columns(text=pl.lit(" ")), InputError,
     "items, column 'text': no item has a text. Name the column of texts with text= or --text."),
    (lambda items: items.with_columns(item="x" + pl.col("item")), InputError,
     "items, column 'item': none of the 20 items with a text has a rating (the first item here is 'xi00', in the "
     "ratings 'i00'). Name the column that has the ids of the ratings with item= or --item."),
    (lambda items: items.head(1), InputError,
     "items: only one item has both a text and a rating, but training needs at least two: one to learn from and one to "
     "decide when to stop. Give more items."),
    (lambda items: items.clear(), InputError, "items: there are no items. Give one row per item."),
    (lambda items: items.with_columns(text=pl.concat_list("text")), ColumnError,
     "items, column 'text': it holds List(String) instead of text. Give one text per row."),
])  # fmt: skip
def test_tables_that_cannot_be_used(
    change: Callable[[pl.DataFrame], pl.DataFrame], error: type[InputError], message: str
) -> None:
    ratings, items = every_point()
    assert refused(error, ratings, change(items)) == message


@pytest.mark.parametrize(("name", "values"), [
    *((name, [0, -1, 1.5, True, "3"]) for name in ("epochs", "patience", "batch")),
    ("validation", [0, 1, -0.1, 1.5, math.nan, "half"]), ("learning_rate", [0, -1, math.inf, math.nan, True]),
    ("seed", [-1, 0.5, None]), ("features", [0, 10**8]), ("length", [0, 10**6]),
    ("sigma", [-1, 2_000, math.nan, "wide"]), ("min_ratings", [0, None, 1.5]), ("sample_items", [1, 2.5]),
    ("sample_ratings", [0, "3"]),
])  # fmt: skip
def test_numbers_that_make_no_sense(name: str, values: list[Any]) -> None:
    for value in values:
        said = refused(InputError, *every_point(), **{name: value})
        whole = "whole number" if name in ("epochs", "patience", "batch") else ""
        assert said.startswith(f"{name} is {value!r}. Give a {whole}")


def test_unknown_model_and_device() -> None:
    expected = "there is no model 'bert'. Choose one of mlp-ce, mlp-kl, cumulative-link, transformer-emd."
    assert refused(SelectionError, *every_point(), model="bert") == expected
    said = refused(InputError, *every_point(), device="abacus")
    assert said == "device is 'abacus'. Choose cpu, cuda, cuda:1 or mps."
    assert list(models.MODELS) == list(KINDS)


@pytest.fixture(scope="module")
def model() -> models.Predictor:
    return models.fit(*every_point(), **SMALL)


def test_another_scale_is_refused(model: models.Predictor) -> None:
    _, items = every_point()
    with pytest.raises(ScaleError, match="mlp-kl: the model is on the scale 1 < 2 < 3 < 4 < 5, not on 0 < 1 < 2"):
        model.predict(items, scale=pv.Scale.range(0, 2))
    with pytest.raises(ScaleError, match="have the values 1, 2, 3, 4, 5, not 1, 2, 3, 4, 9"):
        model.predict(items, scale=pv.Scale([1, 2, 3, 4, 5], values=[1, 2, 3, 4, 9]))
    assert model.predict(items, scale=pv.Scale(["1", "2", "3.0", "4", "5"])).height == 20


def test_what_predictions_cannot_be_made_of(model: models.Predictor) -> None:
    _, items = every_point()
    blank = items.with_columns(text=pl.when(pl.col("item") != "i02").then("text"))
    said = "items, column 'text', row 3: the text is missing. Fill it in, or leave out the row."
    for problem, call in (
        (said, lambda: model.predict(blank)),
        ("there is no column 'said'", lambda: model.predict(items, text="said")),
        ("item 'i00' occurs more than once", lambda: model.predict(pl.concat([items, items[:1]]))),
        ("there is context, but the model was trained without any", lambda: model.predict(items, context="text")),
        ("there is context, but the model was trained without any", lambda: model.shares(["a"], [["b"]])),
        ("there are 2 texts but 1 contexts", lambda: model.shares(["a", "b"], [None])),
        ("text 2 is blank", lambda: model.shares(["a", " "])),
        ("texts is one text", lambda: model.shares("a")),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert problem in str(caught.value)
    frame = pl.DataFrame({"item": range(12), "rater": ["r"] * 12, "score": ["item", "other"] * 6})
    with pytest.raises(ScaleError, match="a point of the scale is called 'item'"):
        models.fit(pv.Ratings.from_frame(frame, scale=pv.Scale(["item", "other"])), items, **SMALL)


@pytest.mark.parametrize("absent", ["torch", "safetensors"])
def test_without_torch(absent: str) -> None:
    import subprocess
    import sys

    code = (
        f"import sys; sys.modules[{absent!r}] = None\nimport plurivox\n"
        "try: plurivox.models\nexcept Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said = "plurivox.models needs PyTorch. Install what is missing with: pip install 'plurivox[torch]'"
    assert done.stdout.strip() == f"{MissingExtraError.__name__} {said}"


# Beside predicting the same of every text -----------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
def test_the_baseline_is_the_best_constant_prediction(kind: str) -> None:
    """Against all distributions on a fine grid: none has a lower mean loss of the items learned from."""
    made = KINDS[kind]
    random = np.random.default_rng(3)
    counts = torch.as_tensor(random.multinomial(random.integers(1, 6, 25), [0.5, 0.2, 0.3]), dtype=torch.float32)
    targets, weights = made.target(counts), made.weights(counts)
    best = made.constant(targets, weights)
    assert best.sum().item() == pytest.approx(1, abs=1e-6)

    def loss(shares: Any) -> float:
        losses = made.distance(targets, shares.clamp_min(1e-9).log().expand_as(targets))
        return float((losses * weights).sum() / weights.sum())

    grid = [torch.tensor([a, b, 16 - a - b]) / 16 for a in range(17) for b in range(17 - a)]
    assert loss(best) <= min(map(loss, grid)) + 1e-6


def test_texts_that_help_nothing_are_noted() -> None:
    random = np.random.default_rng(0)
    ratings, items = tiny(random.integers(1, 6, 120).tolist(), [f"w{n}" for n in random.integers(0, 40, 120)])
    seen = set()
    for seed in range(8):  # what is pure chance looks a little better than the baseline at times
        training = models.fit(ratings, items, "mlp-ce", seed=seed, epochs=3).training
        noted = any("the texts did not help" in note for note in training.notes)
        assert noted == (training.best_validation_loss >= training.baseline_loss)
        seen.add(noted)
    assert seen == {True, False}
