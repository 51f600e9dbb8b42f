"""Captions say what a chart shows, or how to read it; they claim nothing that another study would contradict."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np
import polars as pl

import plurivox as pv
from plurivox.base.errors import SoftScoresWarning
from plurivox.plots.responsiveness import correlation_words, metric_comparison_data
from plurivox.report.sections.items import _how_many
from plurivox.report.sections.soft import _weights


def result(mpa: list[float], wra: list[float], tau: list[float], auroc: list[float]) -> Any:
    """Return a result whose groups have the given values."""
    made = pv.simulate(n_items=40, n_raters=40, attributes={"team": dict.fromkeys("abcde", 0.2)}, seed=1)
    assert made.trained is not None
    found = pv.responsiveness(made.ratings, made.trained, "team", permutations=0, bootstrap=0, min_group_size=1)
    values = {"mpa": mpa, "wra": wra, "kendall_tau_b": tau, "auroc": auroc}
    rows = [
        dataclasses.replace(row, value=values[row.statistic]["abcde".index(row.group)])
        if row.axis == "team" and row.statistic in values
        else row
        for row in found.rows
    ]
    return dataclasses.replace(found, rows=tuple(rows))


def test_what_metrics_have_in_common_is_read_off_the_chart() -> None:
    mpa, wra = [0.1, 0.5, 0.2, 0.4, 0.3], [0.3, 0.1, 0.2, 0.5, 0.4]
    tau, auroc = [0.9, 0.5, 0.8, 0.6, 0.7], [0.5, 0.5, 0.5, 0.5, 0.5]  # τ_b falls as MPA rises; AUROC tells nothing
    r = f"{np.corrcoef(wra, tau)[0, 1]:.2f}".replace("-", "−")
    text = correlation_words(metric_comparison_data(result(mpa, wra, tau, auroc), "team"))
    assert "over these groups: MPA −1.00 with τ_b and undefined with AUROC; " in text
    assert f"; WRA {r} with τ_b and undefined with AUROC. Near 1, " in text
    other = correlation_words(metric_comparison_data(result(tau, wra, tau, mpa), "team"))
    assert "MPA 1.00 with τ_b and −1.00 with AUROC" in other


def test_how_many_ratings_uncertain_items_have_is_counted() -> None:
    made = pv.simulate(n_items=60, n_raters=30, ratings_per_item=(2, 12), seed=2)
    found = pv.items(made.ratings, "gender")
    shown = found.uncertain["n_ratings"].head(20)
    counts = made.ratings.counts().sum(axis=1)
    text = _how_many(found)
    assert f"of all 60: {counts.min()} to {counts.max()}, median {np.median(counts):g}." in text
    assert f"the items shown: {min(shown.to_list())}" in text


def test_the_weight_of_the_prior_is_that_of_the_study() -> None:
    made = pv.simulate(n_items=120, n_raters=40, ratings_per_item=(1, 20), seed=2)
    assert made.predictions is not None
    predictions = pv.Predictions.from_frame(made.predictions, made.ratings.scale)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftScoresWarning)
        found = pv.soft_scores(made.ratings, predictions, bootstrap=0, curve=False)
    for name, share in found.prior_weight().filter(pl.col("bin") != "all").select("bin", "prior_share").iter_rows():
        assert f"{share:.0%} with {name} ratings" in _weights(found)
