"""Tables, files and options of the experiments with trained predictors; see :mod:`benchmarks.learning`."""

from __future__ import annotations

import argparse
import itertools
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

import plurivox as pv
from benchmarks.learning import ALL, FAMILIES, Difference, Fitted, Scores, entropy

# Tables --------------------------------------------------------------------------------------------------------------


def filled(text: str, first: str = "", then: str = "") -> str:
    """Return a paragraph in lines of at most 120 characters."""
    return textwrap.fill(text, 120, initial_indent=first, subsequent_indent=then, break_on_hyphens=False) + "\n"


def bullets(texts: Iterable[str]) -> str:
    """Return a Markdown list."""
    return "".join(filled(text, "- ", "  ") for text in texts)


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table whose first column is text and whose others are numbers."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def score_table(scores: Scores, models: Sequence[str], labels: Sequence[str], subset: str = ALL) -> str:
    """Return the mean score of every prediction; the best of the models is bold."""
    best = {label: scores.ranking(models, label, subset)[0] for label in labels}
    return markdown(["", *labels], ([name, *(_bold(f"{scores.value(name, label, subset):.3f}", best[label] == name)
                                             for label in labels)] for name in scores.names))  # fmt: skip


def seed_table(scores: Scores, models: Sequence[str], labels: Sequence[str]) -> str:
    """Return the standard deviation over seeds of each model's mean score."""
    n_seeds = len(scores.seeds(models[0], labels[0]))
    rows = []
    for name in models:
        spread = [float(np.std(scores.seeds(name, label), ddof=1)) if n_seeds > 1 else np.nan for label in labels]
        rows.append([name, *(f"{value:.4f}" for value in spread)])
    return markdown(["", *labels], rows)


def difference_table(
    scores: Scores, pairs: Sequence[tuple[str, str, str]], labels: Sequence[str], subset: str = ALL
) -> str:
    """Return differences with their intervals for (what it is called, one, other); bold if outside chance."""
    rows = ([said, *(scores.difference(one, other, label, subset) for label in labels)] for said, one, other in pairs)
    return markdown(["", *labels], rows)


def seed_wins(scores: Scores, pairs: Sequence[tuple[str, str, str]], labels: Sequence[str]) -> str:
    """Return for (what it is called, one, other) in how many seeds the one is better, the same seed on both sides."""
    rows = []
    for said, one, other in pairs:
        both = [(scores.seeds(one, label), scores.seeds(other, label)) for label in labels]
        rows.append([said, *(f"{int(np.count_nonzero(first < second))} of {len(first)}" for first, second in both)])
    return markdown(["", *labels], rows)


def difference_by_subset(scores: Scores, one: str, other: str, labels: Sequence[str]) -> str:
    """Return the differences of two predictions in every part of the test items."""
    rows = (
        [subset, int(inside.sum()), *(scores.difference(one, other, label, subset) for label in labels)]
        for subset, inside in scores.subsets.items()
    )
    return markdown(["", "items", *labels], rows)


def winner_table(scores: Scores, models: Sequence[str], labels: Sequence[str], subset: str = ALL) -> str:
    """Return for each score who is best, who is next, how far apart they are, and in how many seeds the best is."""
    rows = []
    for label in labels:
        first, second, *_ = scores.ranking(models, label, subset)
        per_seed = np.stack([scores.seeds(name, label, subset) for name in models])
        won = int(np.count_nonzero(np.argmin(per_seed, axis=0) == list(models).index(first)))
        gap = scores.difference(first, second, label, subset)
        rows.append([label, first, second, gap, f"{won} of {per_seed.shape[1]}"])
    return markdown(["", "best", "next", "best minus next", "seeds in which it is best"], rows)


class Reversal(NamedTuple):
    """Two predictions that change places between the empirical and an expected version of a score."""

    family: str
    empirically_better: str
    other: str
    empirical: Difference
    expected: Difference

    @property
    def outside_chance(self) -> bool:
        """Whether both differences are."""
        return self.empirical.outside_chance and self.expected.outside_chance


def reversals(scores: Scores, models: Sequence[str], subset: str = ALL, said: str = "") -> list[Reversal]:
    """Return every pair of models and family of scores in which the order is reversed; ``said`` names the prior."""
    found = []
    for family in FAMILIES:
        for one, other in itertools.permutations(models, 2):
            empirical = scores.difference(one, other, family, subset)
            foreseen = scores.difference(one, other, f"E[{family}] {said}".strip(), subset)
            if empirical.value < 0 < foreseen.value:
                found.append(Reversal(family, one, other, empirical, foreseen))
    return found


def reversal_report(scores: Scores, models: Sequence[str], said: str, prior: str) -> str:
    """Return how many pairs of models change places, and those of which both differences are outside chance."""
    found = reversals(scores, models, said=said)
    certain = [one for one in found if one.outside_chance]
    total = len(FAMILIES) * len(models) * (len(models) - 1) // 2
    text = [f"### Pairs that change places between empirical and expected scores under {prior}\n"]
    text.append(
        f"{len(found)} of {total} pairs of models and scores; {len(certain)} with both differences outside chance.\n"
    )
    if certain:
        rows = ([one.family, one.empirically_better, one.other, one.empirical, one.expected] for one in certain)
        header = ["", "better as observed", "better as expected", "difference", "expected difference"]
        text.append(markdown(header, rows))
    return "\n".join(text)


def fit_table(fitted: Sequence[Fitted]) -> str:
    """Return how long fits took, which epochs they kept, how flat they are, and whether they tell items apart.

    The last column has, for each seed, the standard deviation over items of the mean of the predicted distribution, in
    points of the scale; 0 if a fit says the same of all items, which is then a failure to learn.
    """
    rows = []
    for name in dict.fromkeys(one.job.name for one in fitted):
        own = [one for one in fitted if one.job.name == name]
        rows.append([
            name,
            f"{np.mean([one.seconds for one in own]):.1f}",
            ", ".join(f"{one.best_epoch}/{one.epochs}" for one in own),
            f"{entropy(np.stack([one.shares for one in own])):.3f}",
            ", ".join(f"{np.std(one.shares @ np.arange(one.shares.shape[1])):.2f}" for one in own),
        ])  # fmt: skip
    return markdown(["", "seconds per fit", "best epoch/epochs", "entropy", "spread of means over items"], rows)


def _bold(text: str, whether: bool) -> str:
    return f"**{text}**" if whether else text


# Files and options ---------------------------------------------------------------------------------------------------


def write(folder: Path, scores: Scores, fitted: Sequence[Fitted], test: pv.Ratings) -> None:
    """Write all scores, the differences of every two predictions, and every fit's predictions as CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    every = list(itertools.product(scores.subsets, scores.labels))
    rows = [
        (subset, label, name, scores.value(name, label, subset), *scores.interval(name, label, subset),
         float(np.std(seeds, ddof=1)) if len(seeds) > 1 else None, int(scores.subsets[subset].sum()))
        for subset, label in every for name in scores.names for seeds in [scores.seeds(name, label, subset)]
    ]  # fmt: skip
    columns = ["items", "score", "prediction", "value", "ci_low", "ci_high", "seed_sd", "n_items"]
    pl.DataFrame(rows, columns, orient="row", strict=False).write_csv(folder / "scores.csv")
    differences = [
        (subset, label, one, other, *scores.difference(one, other, label, subset))
        for subset, label in every for one, other in itertools.combinations(scores.names, 2)
    ]  # fmt: skip
    columns = ["items", "score", "prediction", "other", "difference", "ci_low", "ci_high"]
    pl.DataFrame(differences, columns, orient="row").write_csv(folder / "differences.csv")
    pl.concat(prediction_frame(one, test).with_columns(seed=pl.lit(one.job.seed)) for one in fitted).write_csv(
        folder / "predictions.csv"
    )


def prediction_frame(one: Fitted, test: pv.Ratings) -> pl.DataFrame:
    """Return a fit's predictions as :func:`plurivox.soft_scores` takes them; rows are the items of ``test``."""
    points = {str(label): one.shares[:, at] for at, label in enumerate(test.scale.labels)}
    return pl.DataFrame({"model": one.job.name, "item": test.items["item"], **points})


def options(text: str) -> argparse.ArgumentParser:
    """Return the options that both experiments have."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--quick", action="store_true", help="few items and one seed: whether it runs, not what is so")
    parser.add_argument("--seeds", type=int, help="how many seeds each model is fitted with; 3, or 1 with --quick")
    parser.add_argument("--workers", type=int, default=2, help="how many fits at a time, each with one thread")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="write all results there as CSV")
    return parser
