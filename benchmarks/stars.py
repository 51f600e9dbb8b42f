"""Four predictors of star ratings from made-up product titles, and which score picks the one nearest to the truth.

``python -m benchmarks.stars [--quick]``. The questions are those of section 4 of Magnani (2025), Soft Metrics for
Ordinal Label Uncertainty with Variable Sample Sizes: 20,000 products with 5 ratings or more, titles as text, four
models. There the truth is unknown; here products are simulated, so that scores can be compared with it.

The words of a title add up to three numbers: a quality, a spread, and the share π of people who love or hate a thing.

    m = (1 − π)·o + π·(h, 0, 0, 0, 1 − h),   o_k = P(k stars | N(quality, spread²)),   h = Φ(−0.25 − quality)

are the shares of stars that the title tells, J-shaped as those of shops are. A product's own shares are p ~
Dirichlet(κm): they differ from m by what no title tells, and m = E[p | title] is the best that a predictor could say.
Ratings are drawn from p. How many there are, from 5 to 500 and mostly few, has nothing to do with the rest unless asked
for.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.special import expit, ndtr

import plurivox as pv
from benchmarks import learning, learning_tables
from benchmarks.learning import ALL, EXPECTED, FAMILIES, MODELS, Counts, Floats, Job, Material, Rule, Scores
from plurivox.domain.ratings import with_items
from plurivox.lenses.soft.matching import MARGINAL, UNIFORM
from plurivox.statistics import fit_prior

SCALE = pv.Scale.range(1, 5)
BINS = ("5", "6-10", "11-20", "21-50", "51-100", "101+")
FEWEST, MOST = 5, 500
TAIL = 0.9
"""The share of products with n ratings or more falls as n to the power of minus this."""
CUTS = np.array([-1.8, -1.2, -0.6, 0.2])
"""Where one star ends and the next begins."""
QUALITY, LOVE_OR_HATE = 0.2, -1.0
"""Of a title without words; the second is the logit of π."""
OWN = 8.0
"""κ: how near a product's own shares are to those its title tells. As many ratings as the title is worth."""
N_PRODUCTS = 20_000
TEST_SHARE = 0.15
TITLE = "title"
BAYES = "EB"

# Products ------------------------------------------------------------------------------------------------------------

SYLLABLES = (
    ("Vel", "Tor", "Nim", "Kas", "Ubo", "Fre", "Qui", "Zan"),
    ("mar", "dex", "lio", "pra", "tik", "sund", "wey"),
)


class Part(NamedTuple):
    """Words of a kind, how often a title has one, and how much they move quality, log spread and the logit of π."""

    words: tuple[str, ...]
    often: float
    moves: tuple[float, float, float]


PARTS = (
    Part(tuple(first + second for first in SYLLABLES[0] for second in SYLLABLES[1]), 1.0, (0.21, 0.04, 0.28)),
    Part(("compact", "deluxe", "foldable", "silent", "smart", "classic", "rugged", "ultra", "portable", "rapid", "mini",
          "heavy-duty", "ergonomic", "retro", "eco", "all-weather"), 0.8, (0.14, 0.07, 0.21)),
    Part(("wireless", "rechargeable", "adjustable", "waterproof", "magnetic", "dual", "cordless", "backlit", "scented",
          "self-cleaning", "stackable", "inflatable"), 0.6, (0.14, 0.07, 0.35)),
    Part(("steel", "bamboo", "plastic", "glass", "ceramic", "leather", "felt", "silicone", "oak", "carbon"),
         0.7, (0.18, 0.07, 0.14)),
    Part(("kettle", "lamp", "speaker", "backpack", "keyboard", "blender", "headset", "mattress", "drill", "charger",
          "teapot", "thermostat", "notebook", "umbrella", "tripod", "doorbell", "pillow", "vacuum", "scale", "toaster",
          "webcam", "hammock", "razor", "heater"), 1.0, (0.14, 0.10, 0.35)),
    Part(("bargain", "budget", "value pack", "premium", "limited edition", "refurbished", "gift set", "clearance"),
         0.5, (0.21, 0.10, 0.42)),
)  # fmt: skip
"""In the order of a title."""


class Products(NamedTuple):
    """Simulated products.

    Attributes
    ----------
    items
        ``item`` and ``text``, the title.
    told
        What a title tells of the shares of stars, items × stars.
    truth
        A product's own shares.
    counts
        How often each number of stars was given.
    """

    items: pl.DataFrame
    told: Floats
    truth: Floats
    counts: Counts

    @property
    def ratings(self) -> pv.Ratings:
        """The ratings as plurivox has them; reviewers are numbered separately for each product."""
        item, star = np.nonzero(self.counts)
        times = self.counts[item, star]
        item, star = np.repeat(item, times), np.repeat(star, times)
        rater = np.arange(len(item)) - np.searchsorted(item, item)
        frame = pl.DataFrame({"item": self.items["item"].gather(item), "rater": rater, "score": star + 1})
        return pv.Ratings.from_frame(frame, scale=SCALE)


def products(n: int, *, popularity: float = 0.0, seed: int = 0) -> Products:
    """Simulate products.

    Parameters
    ----------
    n
        How many.
    popularity
        How far better products have more ratings: the correlation of quality and number, both on a normal scale.
    seed
        Same seed, same products.
    """
    world, writing, own, sizes, stars = (np.random.default_rng([seed, part]) for part in range(5))
    moved = np.zeros((n, 3))
    words = []
    for part in PARTS:
        effects = world.normal(size=(len(part.words), 3)) * part.moves
        chosen, there = writing.integers(len(part.words), size=n), writing.random(n) < part.often
        moved += effects[chosen] * there[:, None]
        words.append(np.where(there, np.array(part.words)[chosen], ""))
    words.append(np.char.add("no. ", writing.integers(100, 1000, n).astype(str)))  # says nothing
    titles = [" ".join(filter(None, title)) for title in zip(*words, strict=True)]
    quality = QUALITY + moved[:, 0]
    told = told_by(quality, np.exp(moved[:, 1]), expit(LOVE_OR_HATE + moved[:, 2]))
    gamma = np.maximum(own.standard_gamma(OWN * told), 1e-9)  # no number of stars is impossible
    truth = gamma / gamma.sum(axis=1, keepdims=True)
    numbers = rating_numbers(quality, popularity, sizes)
    counts = stars.multinomial(numbers, truth).astype(np.int64)
    items = pl.DataFrame({"item": [f"product-{number:05}" for number in range(1, n + 1)], "text": titles})
    return Products(items, told, truth, counts)


def told_by(quality: Floats, spread: Floats, split: Floats) -> Floats:
    """Return the shares of stars that quality, spread and the share of those who love or hate make."""
    below = np.asarray(ndtr((CUTS - quality[:, None]) / spread[:, None]))
    ordered = np.diff(below, axis=1, prepend=0.0, append=1.0)
    hate = np.asarray(ndtr(-0.25 - quality))
    extremes = np.zeros_like(ordered)
    extremes[:, 0], extremes[:, -1] = hate, 1 - hate
    return np.asarray((1 - split[:, None]) * ordered + split[:, None] * extremes)


def rating_numbers(quality: Floats, popularity: float, rng: np.random.Generator) -> Counts:
    """Return how many ratings each product has, from a power law between FEWEST and MOST."""
    standard = (quality - quality.mean()) / quality.std()
    place = ndtr(popularity * standard + np.sqrt(1 - popularity**2) * rng.normal(size=len(quality)))
    reached = 1 - place * (1 - ((MOST + 1) / FEWEST) ** -TAIL)
    numbers: Counts = np.clip(np.floor(FEWEST * reached ** (-1 / TAIL)), FEWEST, MOST).astype(np.int64)
    return numbers


# Experiment ----------------------------------------------------------------------------------------------------------


class Split(NamedTuple):
    """Training and test products: ratings, texts, and for the test what is known of the truth."""

    train: pv.Ratings
    test: pv.Ratings
    material: Material
    told: Floats
    truth: Floats


def split(made: Products) -> Split:
    """Draw 15 % of the products for the test."""
    n = made.items.height
    test = np.zeros(n, dtype=bool)
    test[np.random.default_rng(n).permutation(n)[: round(TEST_SHARE * n)]] = True
    ratings = made.ratings
    parts = [with_items(ratings, chosen) for chosen in (~test, test)]
    texts = [made.items.filter(pl.Series(chosen)) for chosen in (~test, test)]
    return Split(parts[0], parts[1], Material(parts[0], *texts), made.told[test], made.truth[test])


class Result(NamedTuple):
    """Predictions, each seeds × items × stars, the rules that they are scored by, and their scores."""

    predictions: dict[str, Floats]
    rules: tuple[Rule, Rule, Rule]
    scores: Scores


def as_flat(one: str, other: str) -> str:
    """Return what a prediction is called that is made as flat as another."""
    return f"{one}, as flat as {other}"


def result_of(parts: Split, fitted: Sequence[learning.Fitted]) -> Result:
    """Score the models, the references, what titles tell, and the sharper of the two MLPs made as flat as the other."""
    counts = parts.test.counts()
    predictions = learning.by_name(fitted)
    sharp, flat = sorted(("mlp-ce", "mlp-kl"), key=lambda name: learning.entropy(predictions[name]))
    levelled = [
        learning.flattened(one, learning.entropy(other))
        for one, other in zip(predictions[sharp], predictions[flat], strict=True)
    ]
    predictions |= {as_flat(sharp, flat): np.stack(levelled), TITLE: parts.told[None]}
    predictions |= learning.references(counts, parts.train.counts())
    rules = (
        learning.usual(counts),
        learning.expected(counts, fit_prior(parts.train.counts()).alpha, BAYES),
        learning.true(parts.truth),
    )
    return Result(predictions, rules, Scores.of(predictions, rules, learning.binned(counts, BINS)))


# Report --------------------------------------------------------------------------------------------------------------

BAYESIAN = tuple(f"{name} {BAYES}" for name in EXPECTED)
TRUE = tuple(f"true {name}" for name in FAMILIES)
SHORT = ("CE", "EMD", "E[CE]", "E[EMD]", f"E[CE] {BAYES}", f"E[EMD] {BAYES}", "true CE", "true EMD")


def show_data(made: Products, parts: Split, prior: Sequence[float]) -> None:
    """Print what was simulated."""
    counts = parts.test.counts()
    sizes = ", ".join(f"{name} {int(inside.sum())}" for name, inside in learning.binned(counts, BINS).items())
    shares = ", ".join(f"{share:.0%}" for share in made.counts.sum(axis=0) / made.counts.sum())
    print("## Simulated star ratings\n")
    print(learning_tables.bullets([
        f"{made.items.height:,} products with {made.counts.sum():,} ratings: {shares} with one to five stars.",
        f"Titles like “{made.items['text'][0]}”.",
        f"{parts.train.n_items:,} products for training, {parts.test.n_items:,} for the test: {sizes}.",
        f"The prior fitted to training products ({BAYES}): {', '.join(f'{weight:.2f}' for weight in prior)}.",
        "EMD and RPS have the scale's length 1; the paper's tables have a step's, so their EMD is 4 times as large.",
        f"“{TITLE}” is what the title reveals, the best possible prediction by true CE, KL and RPS. “true” scores are "
        "against the distribution that a product's ratings are drawn from.",
    ]))  # fmt: skip


def show_scores(scores: Scores) -> None:
    """Print all scores of all test products, some of each bin, and how far seeds differ."""
    for labels in ((*FAMILIES, *EXPECTED), (*BAYESIAN, *TRUE)):
        print(f"### Scores of all test products, {labels[0]} to {labels[-1]}\n")
        print(learning_tables.score_table(scores, MODELS, labels))
    for subset in list(scores.subsets)[1:]:
        print(f"### Scores: {subset} ({int(scores.subsets[subset].sum())} test products)\n")
        print(learning_tables.score_table(scores, MODELS, SHORT, subset))
    print("Bold: the best of the four models.\n")
    print("### Standard deviation of models' scores over seeds\n")
    print(learning_tables.seed_table(scores, MODELS, (*FAMILIES, *EXPECTED)))
    print("### Models minus marginal, with 95 % intervals over test products\n")
    print(learning_tables.difference_table(scores, [(name, name, MARGINAL) for name in (*MODELS, TITLE)], SHORT))


def show_by_bin(scores: Scores) -> None:
    """Print how scores go with the number of ratings."""
    bins = list(scores.subsets)[1:]
    for label in ("CE", "true CE", "KL", "E[CE]", "E[EMD]"):
        print(f"### {label} by number of ratings\n")
        rows = [[name, *(f"{scores.value(name, label, one):.3f}" for one in bins)] for name in scores.names]
        ends = [scores.interval("mlp-ce", label, one) for one in bins]
        rows.insert(1, ["95 % of it", *(f"{low:.3f} to {high:.3f}" for low, high in ends)])
        print(learning_tables.markdown(["", *bins], rows))


def show_numbers(n: int) -> None:
    """Print the empirical CE of fixed predictions by number of ratings, where better products have more or fewer."""
    rows = []
    for popularity in (0.0, 0.5, -0.5):
        made = products(n, popularity=popularity, seed=1)
        predictions = {TITLE: made.told[None], MARGINAL: learning.references(made.counts, made.counts)[MARGINAL]}
        ways = (learning.usual(made.counts), learning.true(made.truth))
        scores = Scores.of(predictions, ways, learning.binned(made.counts, BINS), draws=2)
        rows += [
            [f"{popularity:g}", name, label, *(f"{scores.value(name, label, one):.3f}" for one in scores.subsets)]
            for name in predictions for label in ("CE", "true CE", "KL")
        ]  # fmt: skip
    print("### Fixed predictions where quality and number of ratings are related (no model is fitted)\n")
    print(learning_tables.markdown(["correlation", "prediction", "score", ALL, *BINS], rows))
    print(learning_tables.filled(
        "The CE of a fixed prediction is linear in the shares of ratings, so its mean does not depend on how many "
        "ratings there are: where it goes up or down with their number, products with many ratings are other products."
    ))  # fmt: skip


def show_picks(scores: Scores) -> None:
    """Print which model each score picks in each bin, next to the one that is truly best."""
    rows = []
    for subset in scores.subsets:
        for family in ("CE", "JS", "EMD", "RPS"):
            true = f"true {family}"
            best, second, *_ = scores.ranking(MODELS, true, subset)
            row: list[object] = [subset, family, best, scores.difference(best, second, true, subset)]
            for label in (family, f"E[{family}]", f"E[{family}] {BAYES}"):
                pick = scores.ranking(MODELS, label, subset)[0]
                lost = scores.value(pick, true, subset) - scores.value(best, true, subset)
                row.append(f"{pick} ({lost:.4f}; {scores.picked(MODELS, label, best, subset):.0%})")
            rows.append(row)
    print("### Which model each score picks\n")
    header = ["products", "score", "truly best", "minus next", "picked as observed", "as expected, α = 1", BAYES]
    print(learning_tables.markdown(header, rows))
    print(learning_tables.filled(
        "In brackets: what is lost by the pick, its true score minus that of the truly best, and how many of the draws "
        "of products pick the truly best. KL picks as CE does, since the two differ by the same for every model."
    ))  # fmt: skip


def show_reversals(scores: Scores) -> None:
    """Print who is best by which score, and which models change places."""
    print("### Who is best\n")
    print(learning_tables.winner_table(scores, MODELS, (*FAMILIES, *EXPECTED, *BAYESIAN, *TRUE)))
    for said, prior in (("", "α = 1"), (BAYES, "the fitted prior")):
        print(learning_tables.reversal_report(scores, MODELS, said, prior))


def show_smoothing(scores: Scores) -> None:
    """Print whether mlp-kl beats mlp-ce, by number of ratings, as they are and made equally flat."""
    levelled = next(name for name in scores.names if "as flat as" in name)
    first, second = ("mlp-kl", levelled) if levelled.startswith("mlp-ce") else (levelled, "mlp-ce")
    for one, other in (("mlp-kl", "mlp-ce"), (first, second)):
        print(f"### {one} minus {other}\n")
        print(learning_tables.difference_by_subset(scores, one, other, SHORT))


def show_flatness(result: Result) -> None:
    """Print how flat predictions are and how much flatness, or marginal, each score would like to see mixed in."""
    scores, (usual, bayes, true) = result.scores, result.rules
    columns = [("CE", usual), ("E[CE]", usual), (f"E[CE] {BAYES}", bayes), ("true CE", true),
               ("EMD", usual), ("E[EMD]", usual), ("true EMD", true)]  # fmt: skip
    print("### Entropy of predictions\n")
    flat = ([name, f"{learning.entropy(q):.3f}"] for name, q in result.predictions.items())
    print(learning_tables.markdown(["", "nats"], flat))
    for towards in (UNIFORM, MARGINAL):
        print(f"### Which share of the {towards} prediction, mixed in, makes a score best\n")
        rows = []
        for name in (TITLE, "mlp-ce", "mlp-kl"):
            q, other = result.predictions[name], result.predictions[towards][0]
            found = [learning.best_mixtures(q, other, rule, label, scores.subsets) for label, rule in columns]
            rows += [[name, subset, *(f"{shares[subset]:.2f}" for shares in found)] for subset in scores.subsets]
        print(learning_tables.markdown(["", "products", *(label for label, _ in columns)], rows))
    print("0: best as it is.\n")


def main() -> None:
    """Simulate, fit, score and print."""
    parser = learning_tables.options("Four predictors of simulated star ratings, compared with the truth.")
    parser.add_argument("--products", type=int, help="how many products to simulate")
    given = parser.parse_args()
    start = time.perf_counter()
    n = given.products or (1_500 if given.quick else N_PRODUCTS)
    made = products(n)
    parts = split(made)
    n_seeds = given.seeds or (1 if given.quick else 3)
    jobs = [Job(model, model, (), seed) for model in MODELS for seed in range(n_seeds)]
    fitted = learning.fit_all(parts.material, jobs, given.workers)
    result = result_of(parts, fitted)
    show_data(made, parts, result.rules[1].scoring.prior.tolist())
    print(learning_tables.fit_table(fitted))
    show_scores(result.scores)
    show_by_bin(result.scores)
    show_numbers(n)
    show_reversals(result.scores)
    show_picks(result.scores)
    show_smoothing(result.scores)
    show_flatness(result)
    if given.output:
        learning_tables.write(given.output, result.scores, fitted, parts.test)
    learning.tell(f"{time.perf_counter() - start:.0f} s in all")


if __name__ == "__main__":
    main()
