"""Studies of the measures themselves, on simulated raters with known habits and on increasing numbers of ratings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from plurivox import statistics
from plurivox.base.arguments import checked
from plurivox.base.errors import InputError, SelectionError
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import Scale
from plurivox.infer.exports import frame_html
from plurivox.infer.result import Statement, told
from plurivox.lenses.responsiveness.raters import RaterResponses
from plurivox.lenses.responsiveness.references import resolve
from plurivox.simulation.simulate import STYLES, simulate
from plurivox.statistics.registry import LABELS
from plurivox.statistics.responsiveness import MEASURES

PATTERNS = ("normal", "downward_shift", "proportional_shift", "conservative")
METRICS = {
    "mpa": "MPA", "wra": "WRA", "hm": "HM", "kendall_tau_b": "Kendall τ_b", "spearman_rho": "Spearman ρ",
    "average_precision": "average precision", "auroc": "AUROC",
}  # fmt: skip
"""The seven metrics that a study compares, and their labels."""
TOPS = (4, 8, 12, 16, 20, 24)
_NORMAL_95 = 1.96


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ResponsivenessStudy:
    """How each metric responds to each pattern of scoring.

    Attributes
    ----------
    repeats
        One row per pattern, highest score, repeat and metric: the mean over the raters of one simulated study.
    settings
        The settings, including the seed.
    """

    repeats: pl.DataFrame
    settings: dict[str, Any]

    def __repr__(self) -> str:
        return f"<ResponsivenessStudy: {len(self.settings['patterns'])} patterns, K = {self.settings['tops']}>"

    def _repr_html_(self) -> str:
        """Show the study in a notebook."""
        return frame_html(self, "pattern", "top")

    def to_frame(self) -> pl.DataFrame:
        """Return one row per pattern, highest score and metric: mean over repeats with its 95 % interval."""
        keys = ("pattern", "top", "statistic")
        value, n = pl.col("value"), pl.len()
        half = _NORMAL_95 * value.std() / n.cast(pl.Float64).sqrt()
        frame = self.repeats.group_by(keys, maintain_order=True).agg(
            value.mean(), ci_low=value.mean() - half, ci_high=value.mean() + half, n_repeats=n
        )
        return frame.with_columns(pl.col("ci_low", "ci_high").fill_null(math.nan))

    def value(self, pattern: str, statistic: str, top: int = 4) -> float:
        """Return one mean."""
        found = self.to_frame().filter(pattern=pattern, top=top, statistic=statistic)
        if found.is_empty():
            raise SelectionError(f"there is no {statistic} of {pattern!r} at K = {top}")
        return float(found["value"][0])

    def statements(self) -> list[Statement]:
        """Return what matters as statements, none of which claims a difference."""
        return told(self.findings())

    def findings(self) -> list[str]:
        """Return what the patterns do to MPA, WRA and the metrics beside them, one sentence each."""

        def change(statistic: str, pattern: str, top: int) -> str:
            before, after = (self.value(one, statistic, top) for one in ("normal", pattern))
            return f"{before:.2f} → {after:.2f}"

        return [
            f"On 0 to {top}, {pattern.replace('_', ' ')}: MPA {change('mpa', pattern, top)}, "
            f"WRA {change('wra', pattern, top)}; τ_b {change('kendall_tau_b', pattern, top)}, "
            f"AUROC {change('auroc', pattern, top)}."
            for top in self.settings["tops"]
            for pattern in self.settings["patterns"]
            if pattern != "normal" and "normal" in self.settings["patterns"]
        ]


@checked
def responsiveness(
    *,
    tops: Sequence[int] = TOPS,
    patterns: Sequence[str] = PATTERNS,
    repeats: int = 10,
    n_items: int = 1000,
    n_raters: int = 30,
    trained: int = 30,
    rater_sd: float = 0.5,
    seed: int = 0,
    progress: Callable[[str, int, int], object] | None = None,
) -> ResponsivenessStudy:
    """Simulate raters who score normally, too low, or at random above zero, and see which metric notices.

    This is the study of appendix D of Mishra et al. (arXiv 2503.05609): items of severity V ~ N(0, 1), raters who see
    V + b with a bias b of their own and cut it into scores 0 to K, and trained raters who call unsafe what lies above
    their own percentile. Numbers that the paper does not give are parameters of :func:`plurivox.simulate`.

    Parameters
    ----------
    tops
        The highest scores K to try, each a scale from 0 to K.
    patterns
        Names of response styles: ``"normal"``, ``"downward_shift"`` (scores from 2 on often one too low),
        ``"proportional_shift"`` (those of the upper half often a quarter of the scale too low, the same on 0 to 4),
        ``"conservative"`` (0 except for the most severe items, which get any higher score), ``"extreme"``,
        ``"central"``.
    repeats
        How many studies to simulate for each pattern and scale.
    n_items, n_raters, trained, rater_sd
        Size of each study, and the spread of the raters' biases.
    seed
        Same seed, same result; repeat r uses the same items and trained raters for every pattern and scale.
    progress
        Called with the current task, how much of it is done, and its total.

    Returns
    -------
    ResponsivenessStudy
        With ``to_frame()`` and ``findings()``; :func:`plurivox.plots.responsiveness_study` draws it.

    Examples
    --------
    >>> found = responsiveness(tops=[4], repeats=2, n_items=300)
    >>> found.value("conservative", "mpa") < found.value("normal", "mpa") - 0.2
    True
    """
    for pattern in patterns:
        if pattern not in STYLES:
            raise SelectionError(f"pattern {pattern!r} is unknown", hint=f"Known: {', '.join(STYLES)}.")
    if repeats < 1 or trained < 1 or any(top < 1 for top in tops):
        raise InputError("repeats, trained and every highest score must be at least 1")
    rows = []
    references: dict[int, Ratings | None] = {}  # the same trained raters for every pattern and scale
    cells = [(pattern, top, repeat) for top in tops for pattern in patterns for repeat in range(repeats)]
    for done, (pattern, top, repeat) in enumerate(cells, start=1):
        study = simulate(
            n_items=n_items, n_raters=n_raters, scale=Scale.range(0, top), styles={pattern: 1.0}, rater_sd=rater_sd,
            noise_sd=0.0, trained=trained, models=(), seed=seed * 1_000_003 + repeat,
        )  # fmt: skip
        if repeat not in references:
            references[repeat] = study.trained
        ratings, reference = study.ratings, references[repeat]
        assert reference is not None
        _, values = RaterResponses.of(ratings, resolve(ratings, reference)).observed()
        means = np.nanmean(values, axis=0)
        rows += [(pattern, top, repeat, name, float(means[MEASURES.index(name)])) for name in METRICS]
        if progress is not None:
            progress("simulating", done, len(cells))
    schema = {"pattern": pl.String, "top": pl.Int64, "repeat": pl.Int64, "statistic": pl.String, "value": pl.Float64}
    settings = {
        "tops": list(tops), "patterns": list(patterns), "repeats": repeats, "n_items": n_items, "n_raters": n_raters,
        "trained": trained, "rater_sd": rater_sd, "seed": seed,
    }  # fmt: skip
    return ResponsivenessStudy(pl.DataFrame(rows, schema=schema, orient="row"), settings)


# Soft scores ---------------------------------------------------------------------------------------------------------

COUNTS = (1, 2, 4, 2, 1)
TWO = {"matching": (0.1, 0.2, 0.4, 0.2, 0.1), "mismatched": (0.1, 0.3, 0.3, 0.2, 0.1)}
FACTORS = (1, 2, 4, 10)
_SOFT = ("cross_entropy", "kl", "js", "emd", "rps")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SoftStudy:
    """How expected scores of the same shares change with the number of ratings.

    Attributes
    ----------
    values
        One row per prediction, number of ratings and expected score, with the ``limit`` that it approaches: the score
        against the shares themselves.
    settings
        What was asked for.
    """

    values: pl.DataFrame
    settings: dict[str, Any]

    def __repr__(self) -> str:
        return f"<SoftStudy: {len(self.settings['predictions'])} predictions, counts × {self.settings['factors']}>"

    def _repr_html_(self) -> str:
        """Show the study in a notebook."""
        return frame_html(self, "prediction", "n_ratings")

    def to_frame(self) -> pl.DataFrame:
        """Return one row per prediction, number of ratings and expected score."""
        return self.values

    def statements(self) -> list[Statement]:
        """Return what matters as statements, none of which claims a difference."""
        return told(self.findings())

    def findings(self) -> list[str]:
        """Return how far apart the first two predictions are with the fewest and the most ratings, by each score."""
        one, other = list(self.settings["predictions"])[:2]
        said = []
        for (statistic,), rows in self.values.group_by("statistic", maintain_order=True):
            gap = [rows.filter(prediction=name).sort("n_ratings") for name in (one, other)]
            value = [after - before for before, after in zip(gap[0]["value"], gap[1]["value"], strict=True)]
            n = gap[0]["n_ratings"]
            limit = gap[1]["limit"][0] - gap[0]["limit"][0]
            said.append(
                f"{LABELS[str(statistic)]}: {other} less {one} is {value[0]:.4f} with {n[0]:,} ratings, "
                f"{value[-1]:.4f} with {n[-1]:,}, and goes to {limit:.4f}."
            )
        return said


@checked
def soft(
    *, counts: Sequence[int] = COUNTS, predictions: Mapping[str, Sequence[float]] | None = None,
    factors: Sequence[int] = FACTORS, prior: float = 1.0,
) -> SoftStudy:  # fmt: skip
    """Score predictions against the same shares of increasing numbers of ratings.

    By default these are the counts 1, 2, 4, 2, 1 times 1, 2, 4 and 10, and the two predictions of Figure 1 of Magnani
    (2025), Soft Metrics for Ordinal Label Uncertainty with Variable Sample Sizes. Nothing is random: all scores are
    exact.

    Parameters
    ----------
    counts
        How often each point of a scale was given.
    predictions
        Name → probability of each point, at least two; by default one that matches the shares and one that does not.
    factors
        What to multiply the counts by.
    prior
        The weight of each point before any rating.

    Returns
    -------
    SoftStudy
        With ``to_frame()`` and ``findings()``; :func:`plurivox.plots.soft_study` draws it.

    Examples
    --------
    >>> soft(factors=[1, 10]).findings()[0]
    'E[CE]: mismatched less matching is 0.0148 with 10 ratings, 0.0312 with 100, and goes to 0.0340.'
    """
    known = dict(TWO if predictions is None else predictions)
    if len(known) < 2 or not factors or min(factors) < 1 or min(counts, default=-1) < 0 or not sum(counts):
        raise InputError(
            "the study needs two predictions, counts of at least one rating, and factors of at least 1",
            hint="Give predictions={'a': [0.5, 0.5], 'b': [0.9, 0.1]}, counts=[3, 1], factors=[1, 10].",
        )
    schema = {
        "prediction": pl.String, "statistic": pl.String, "n_ratings": pl.Int64, "value": pl.Float64,
        "limit": pl.Float64,
    }  # fmt: skip
    rows = [
        (
            model, f"expected_{name}", factor * sum(counts),
            float(getattr(statistics, f"expected_{name}")([factor * n for n in counts], list(q), prior=prior)),
            float(getattr(statistics, name)(list(counts), list(q))),
        )
        for name in _SOFT for model, q in known.items() for factor in factors
    ]  # fmt: skip
    settings = {
        "counts": list(counts), "predictions": {name: list(q) for name, q in known.items()}, "factors": list(factors),
        "prior": prior,
    }  # fmt: skip
    return SoftStudy(pl.DataFrame(rows, schema=schema, orient="row"), settings)
