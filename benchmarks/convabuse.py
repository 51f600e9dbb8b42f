"""Four predictors of abuse severity on ConvAbuse, with and without the turns before, and which score prefers which.

``python -m benchmarks.convabuse [--quick]``. The data are looked for in the folder ``data/convabuse`` of the folder
that PLURIVOX_TEST_DATA names, ``../shared`` by default. The questions are those of section 5 of Magnani (2025), Soft
Metrics for Ordinal Label Uncertainty with Variable Sample Sizes, whose two models were BERT with and without context;
here are four small models that a CPU fits in seconds, so its numbers are not repeated, its claims are looked into.

An item is a user's turn in a conversation. One rating per annotator and item counts, the first in the file.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

import plurivox as pv
from benchmarks import learning, learning_tables
from benchmarks.learning import ALL, EXPECTED, FAMILIES, MODELS, Fitted, Job, Material, Rule, Scores
from plurivox.base.errors import SoftScoresWarning
from plurivox.domain.ratings import with_items
from plurivox.lenses.soft.matching import MARGINAL, UNIFORM
from plurivox.statistics import expected_cross_entropy, expected_emd, fit_prior
from plurivox.statistics.posterior import PriorFit
from plurivox.statistics.soft_blocks import METRICS

SCALE = pv.Scale.range(-3, 1)
"""From −3, strongly abusive, to +1, not abusive: the order of the paper reversed, which changes no score."""
CONTEXT = ("prev_agent", "prev_user", "agent")
"""What came before the user's turn, oldest first."""
BINS = ("2-3", "4-5", "6-10")
TEST_SHARE = 0.15
STRENGTHS = (0.01, 0.1, 0.5)
"""Weights α of the prior on each point that are tried in addition to 1."""
BAYES = "EB"
PAPER = ("CE", "EMD", "E[CE]", "E[EMD]")
"""The scores in the paper's tables."""
SEEN, NEW = "turn also in training", "turn not in training"

# Data ----------------------------------------------------------------------------------------------------------------


class Study(NamedTuple):
    """The ratings, the texts of items in the same order, and what was left out on the way."""

    ratings: pv.Ratings
    items: pl.DataFrame
    n_rows: int
    n_repeats: int
    n_conflicts: int
    n_several_contexts: int


def find(given: str | None) -> Path:
    """Return the file of ratings, or end with a message that says where it was looked for."""
    path = Path(given or "../shared") / "data" / "convabuse" / "ConvAbuseEMNLPfull.csv"
    if not path.is_file():
        sys.exit(f"{path} is not there; PLURIVOX_TEST_DATA has to name the folder that holds data/convabuse.")
    return path


def read(path: Path) -> Study:
    """Read one rating per annotator and item, and each item's texts as the file first has them.

    The severity of a row is the one of its columns ``is_abuse.-3`` to ``is_abuse.1`` that holds 1. Items with a single
    rating are left out. The same turn of a conversation may come after different turns; the first is taken.
    """
    frame = pl.read_csv(path, infer_schema=False).with_columns(
        item=pl.format("{} | {}", "conv_id", "user"),
        score=pl.sum_horizontal(pl.col(f"is_abuse.{label}").cast(int) * label for label in SCALE.labels),
    )
    once = frame.unique(["item", "annotator_id"], keep="first", maintain_order=True)
    first = pl.col("score").first().over("item", "annotator_id")
    texts = frame.group_by("item", maintain_order=True).agg(
        pl.col("conv_id", *CONTEXT).first(), text=pl.col("user").first(), n_contexts=pl.struct(CONTEXT).n_unique()
    )
    whole = pv.Ratings.from_frame(once.rename({"annotator_id": "rater"}), scale=SCALE)
    ratings = with_items(whole, np.diff(whole.offsets) >= 2)
    items = ratings.items.select("item").join(texts, on="item", how="left", maintain_order="left")
    return Study(
        ratings, items.drop("n_contexts"), frame.height, frame.height - once.height,
        int(frame.select((pl.col("score") != first).sum()).item()),
        int((items["n_contexts"] > 1).sum()),
    )  # fmt: skip


class Split(NamedTuple):
    """Training and test ratings, and the texts of their items in the same order."""

    train: pv.Ratings
    test: pv.Ratings
    train_items: pl.DataFrame
    test_items: pl.DataFrame

    @property
    def seen(self) -> learning.Bools:
        """Which test items have a user's turn that training items have too, letter by letter."""
        return self.test_items["text"].is_in(self.train_items["text"].implode()).to_numpy()

    @property
    def n_shared_conversations(self) -> int:
        """How many test items are of a conversation that training items are of, too."""
        return int(self.test_items["conv_id"].is_in(self.train_items["conv_id"].implode()).sum())


def split(study: Study, seed: int = 0, at_most: int | None = None) -> Split:
    """Draw 15 % of the items for the test, or of ``at_most`` items drawn before."""
    order = np.random.default_rng(seed).permutation(study.ratings.n_items)[:at_most]
    n_test = round(TEST_SHARE * len(order))
    parts = []
    for chosen in (order[n_test:], order[:n_test]):
        inside = np.zeros(study.ratings.n_items, dtype=bool)
        inside[chosen] = True
        parts.append((with_items(study.ratings, inside), study.items.filter(pl.Series(inside))))
    return Split(parts[0][0], parts[1][0], parts[0][1], parts[1][1])


# Experiment ----------------------------------------------------------------------------------------------------------


def with_context(model: str) -> str:
    """Return the name of a model that also reads what came before."""
    return f"{model} + context"


NAMES = tuple(itertools.chain(*((model, with_context(model)) for model in MODELS)))


def jobs(n_seeds: int) -> list[Job]:
    """Return every fit: each model, the turn alone and with context, each seed."""
    contexts: dict[str, tuple[str, ...]] = {name: CONTEXT if "+" in name else () for name in NAMES}
    return [Job(name, name.split(" ")[0], contexts[name], seed) for name in NAMES for seed in range(n_seeds)]


def rules(counts: learning.Counts, prior: PriorFit) -> list[Rule]:
    """Return the ten scores, and the expected ones under other priors."""
    others = [learning.expected(counts, alpha, strength(alpha)) for alpha in STRENGTHS]
    return [learning.usual(counts), *others, learning.expected(counts, prior.alpha, BAYES)]


def strength(alpha: float) -> str:
    """Return how labels name a prior."""
    return f"α={alpha:g}"


def check(study: Study, parts: Split, fitted: Fitted) -> None:
    """Raise unless scores equal those of plurivox.soft_scores, and those of the uniform prediction published values."""
    counts, flat = study.ratings.counts(), np.full(len(SCALE), 1 / len(SCALE))
    found = [expected_cross_entropy(counts, flat).mean(), expected_emd(counts, flat, normalized=False).mean()]
    if study.ratings.n_items == 4059 and [round(value, 3) for value in found] != [1.609, 0.772]:
        raise ValueError(f"the uniform prediction has E[CE] and E[EMD] {found}, not 1.609 and 0.772")
    predictions = {"one": fitted.shares[None], **learning.references(parts.test.counts(), parts.train.counts())}
    ours = Scores.of(predictions, [learning.usual(parts.test.counts())], learning.binned(parts.test.counts(), BINS), 2)
    frame = learning_tables.prediction_frame(fitted, parts.test).with_columns(model=pl.lit("one"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftScoresWarning)  # that the prior outweighs two ratings is a finding below
        lens = pv.soft_scores(
            parts.test, frame, prior=1.0, train=parts.train, bins=BINS, bootstrap=0, permutations=0, curve=False
        )
    for row in lens.to_frame().iter_rows(named=True):
        subset = ALL if row["bin"] == ALL else f"{row['bin']} ratings"
        if subset in ours.subsets:
            label = dict(zip(METRICS, (*FAMILIES, *EXPECTED), strict=True))[row["statistic"]]
            if not np.isclose(ours.value(row["model"], label, subset), row["value"], rtol=1e-9):
                raise ValueError(f"{label} of {row['model']} is not what soft_scores has: {row}")


# Report --------------------------------------------------------------------------------------------------------------


def show_data(study: Study, parts: Split) -> None:
    """Print what the data are and what a test item may share with training."""
    n, seen = parts.test.n_items, int(parts.seen.sum())
    unanimous = float(np.mean(study.ratings.counts().max(axis=1) == np.diff(study.ratings.offsets)))
    print("## ConvAbuse\n")
    print(learning_tables.bullets([
        f"{study.n_rows:,} rows; {study.n_repeats} repeat a rating of the same annotator and item ({study.n_conflicts} "
        f"of them with another score) and are left out. {study.ratings.n_items:,} items with two ratings or more, "
        f"{unanimous:.0%} of them unanimous.",
        "Severity from −3 (strongly abusive, first point) to +1 (not abusive, last). Reversing the scale changes no "
        "score.",
        f"Text: the user's turn. Context: {', '.join(CONTEXT)}, oldest first. {study.n_several_contexts} items come "
        "with several contexts; the first in the file is used.",
        f"{parts.train.n_items:,} items for training, {n} for the test, drawn at random. Of the test items {seen} "
        f"({seen / n:.0%}) have a user's turn that also occurs in training, letter by letter, and "
        f"{parts.n_shared_conversations} are from a conversation that also has training items. They are kept, as in "
        "the paper, and scored separately below.",
        "EMD and RPS take the scale's length as 1; the paper's tables take a step's, so their EMD is 4 times as large.",
    ]))  # fmt: skip


def show_scores(scores: Scores) -> None:
    """Print all ten scores, of all test items and of each part."""
    for subset, inside in scores.subsets.items():
        print(f"### Scores: {subset} ({int(inside.sum())} test items)\n")
        print(learning_tables.score_table(scores, NAMES, (*FAMILIES, *EXPECTED), subset))
    print(
        "Bold: the best of the eight models. Posterior mean knows the ratings it is scored by: a bound for E[CE], E[KL]"
    )
    print(
        "and E[RPS], not a prediction. Marginal: the share of each point among all training ratings, each counted "
        "once.\n"
    )
    print("### Standard deviation of models' scores over seeds\n")
    print(learning_tables.seed_table(scores, NAMES, (*FAMILIES, *EXPECTED)))


def show_differences(scores: Scores) -> None:
    """Print each model compared with the marginal prediction, and with context compared with without."""
    against = [(name, name, MARGINAL) for name in NAMES]
    context = [(model, with_context(model), model) for model in MODELS]
    for title, pairs in (("Models minus marginal", against), ("With context minus without", context)):
        for labels in (FAMILIES, EXPECTED, tuple(f"{name} {BAYES}" for name in EXPECTED)):
            print(f"### {title}, {labels[0]} to {labels[-1]}, with 95 % intervals over test items\n")
            print(learning_tables.difference_table(scores, pairs, labels))
    print("### In how many seeds context is better\n")
    print(learning_tables.seed_wins(scores, context, (*FAMILIES, *EXPECTED)))
    for model in MODELS:
        print(f"### {model} with context minus without, by number of ratings\n")
        print(learning_tables.difference_by_subset(scores, with_context(model), model, PAPER))
    print("Bold: the interval excludes 0. Negative: better with context, or better than marginal.\n")


def show_winners(scores: Scores) -> None:
    """Print who is best by which score, and which models change places between empirical and expected scores."""
    bayes = tuple(f"{name} {BAYES}" for name in EXPECTED)
    print("### Who is best\n")
    print(learning_tables.winner_table(scores, NAMES, (*FAMILIES, *EXPECTED, *bayes)))
    for said, prior in (("", "α = 1"), (BAYES, "the fitted prior")):
        print(learning_tables.reversal_report(scores, NAMES, said, prior))


def show_priors(scores: Scores, prior: PriorFit) -> None:
    """Print expected scores and ranks of models and simple predictions at each strength of the prior."""
    names = (*NAMES, UNIFORM, MARGINAL)
    ways = [*(strength(alpha) for alpha in STRENGTHS), "", BAYES]
    print("### Strength of the prior\n")
    weights = ", ".join(f"{weight:.3f}" for weight in prior.alpha)
    print(learning_tables.filled(
        f"{BAYES} is the prior fitted to {prior.n_items:,} training items, {weights}, worth {prior.strength:.2f} "
        "ratings in total; other columns have the weight α on each point. In brackets: the rank among all ten."
    ))  # fmt: skip
    for family in ("CE", "JS", "EMD", "RPS"):
        labels = [f"E[{family}] {way}".strip() for way in ways]
        ranks = {label: scores.ranking(names, label) for label in labels}
        rows = (
            [name, *(f"{scores.value(name, label):.3f} ({ranks[label].index(name) + 1})" for label in labels)]
            for name in names
        )
        print(
            learning_tables.markdown(
                ["", *(label if " " in label else f"{label} {strength(1)}" for label in labels)], rows
            )
        )


def show_flatness(scores: Scores, predictions: dict[str, learning.Floats], ways: list[Rule]) -> None:
    """Print how much of a uniform or marginal prediction, mixed in, makes each score best."""
    usual, bayes = ways[0], ways[-1]
    columns = [("CE", usual), ("EMD", usual), ("E[CE]", usual), ("E[EMD]", usual), (f"E[CE] {BAYES}", bayes)]
    print("### Which share of a uniform or marginal prediction, mixed in, makes a score best\n")
    rows = []
    for name, towards in itertools.product(NAMES, (UNIFORM, MARGINAL)):
        found = [
            learning.best_mixtures(predictions[name], predictions[towards][0], rule, label, scores.subsets)[ALL]
            for label, rule in columns
        ]
        rows.append([name, towards, *(f"{share:.2f}" for share in found)])
    print(learning_tables.markdown(["", "mixed in", *(label for label, _ in columns)], rows))
    print(
        "0: best as it is. A large share means that the score rewards flatness, or that the model is overconfident.\n"
    )


def main() -> None:
    """Fit, score and print."""
    parser = learning_tables.options("Four predictors of abuse severity on ConvAbuse, with and without context.")
    parser.add_argument("--split", type=int, default=0, help="the seed that draws the test items")
    given = parser.parse_args()
    start = time.perf_counter()
    study = read(find(os.environ.get("PLURIVOX_TEST_DATA")))
    parts = split(study, given.split, 800 if given.quick else None)
    n_seeds = given.seeds or (1 if given.quick else 3)
    fitted = learning.fit_all(Material(parts.train, parts.train_items, parts.test_items), jobs(n_seeds), given.workers)
    check(study, parts, fitted[0])
    counts, prior = parts.test.counts(), fit_prior(parts.train.counts())
    predictions = {**learning.by_name(fitted), **learning.references(counts, parts.train.counts())}
    ways = rules(counts, prior)
    scores = Scores.of(predictions, ways, {**learning.binned(counts, BINS), SEEN: parts.seen, NEW: ~parts.seen})
    show_data(study, parts)
    print(learning_tables.fit_table(fitted))
    show_scores(scores)
    show_differences(scores)
    show_winners(scores)
    show_priors(scores, prior)
    show_flatness(scores, predictions, ways)
    if given.output:
        learning_tables.write(given.output, scores, fitted, parts.test)
    learning.tell(f"{time.perf_counter() - start:.0f} s in all")


if __name__ == "__main__":
    main()
