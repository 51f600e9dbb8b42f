"""What soft scores say, in sentences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from plurivox.axis import CROSS
from plurivox.engine.families import SIGNIFICANT
from plurivox.lenses.soft.comparisons import MAIN, n_hypotheses, ranks, shortened
from plurivox.lenses.soft.matching import MARGINAL, NO_PREDICTION, NO_RATING, REFERENCES, UNIFORM
from plurivox.lenses.soft.sums import ALL
from plurivox.results.result import Row, Statement, p_text
from plurivox.results.wording import are, counted, listed
from plurivox.statistics.registry import LABELS
from plurivox.statistics.soft_blocks import METRICS

if TYPE_CHECKING:
    from plurivox.lenses.soft.result import SoftScores

HALF = 0.5
"""A prior with a larger share of the weight than this outweighs the ratings."""
TOO_SURE, TOO_VAGUE = 1.15, 0.85
"""PIT variances beyond these multiples of 1/12 are worth a sentence."""
LEANING = 0.05
SLOPE_LOW, SLOPE_HIGH = 0.9, 1.1
"""A slope of observed on predicted shares that is certainly beyond these is worth a sentence."""
FEW = 3


@dataclass(frozen=True, slots=True)
class SoftFindings:
    """Turns a result into sentences."""

    found: SoftScores

    def statements(self) -> list[Statement]:
        """Return which model is best, how sure that is, what it depends on, and what was left out."""
        return [
            *self._best(),
            *self._pairs(),
            *(Statement(text, 2.9, statistic=MAIN) for text in self.losses()),
            *(Statement(text, 2.6, statistic="prior") for text in self.prior_outweighs()),
            *self._orders(),
            *self._over_bins(),
            *self._over_priors(),
            *self._over_groups(),
            *self._calibrated(),
            *(Statement(text, 0.0) for text in self._left_out()),
            *self.found.withheld_statement(),
        ]

    def warnings(self) -> list[str]:
        """Return what deserves a warning: a model that loses to the uniform prediction, a prior that outweighs."""
        return [*self.losses((UNIFORM,)), *self.prior_outweighs()]

    def losses(self, to: Sequence[str] = (UNIFORM, MARGINAL)) -> list[str]:
        """Return a sentence for each model that is worse than predictions that know nothing of the item."""
        sentences = []
        for model in self.found.models:
            beaten: dict[str, list[str]] = {UNIFORM: [], MARGINAL: []}
            for metric, other in itertools.product(self.found.metrics, beaten):
                if shortened(self.found.value(model, metric)) > shortened(self.found.value(other, metric)):
                    beaten[other].append(metric)
            if UNIFORM in to and beaten[UNIFORM]:
                sentences.append(
                    f"{model} loses to the uniform prediction, which knows nothing, by {self._listed(beaten[UNIFORM])}."
                )
            only = [metric for metric in beaten[MARGINAL] if metric not in beaten[UNIFORM]]
            if MARGINAL in to and only:
                sentences.append(
                    f"{model} loses to the marginal prediction, which knows no item, by {self._listed(only)}."
                )
        return sentences

    def prior_outweighs(self) -> list[str]:
        """Return a sentence if the prior has more weight than the ratings in some bins."""
        heavy = self.found.prior_weight().filter(pl.col("prior_share").fill_nan(None) > HALF, pl.col("bin") != ALL)
        if not heavy.height:
            return []
        bins = listed([f"{bin_} ({share:.0%})" for bin_, share in heavy.select("bin", "prior_share").iter_rows()])
        return [
            "The prior outweighs the ratings of items with few of them: its share of the weight, by number of ratings, "
            f"is {bins}. Expected scores of such items reward predictions {_like(self.found.settings['prior'])}."
        ]

    def _best(self) -> list[Statement]:
        metric = self.found.main
        order = [name for name in self.found.ranking(metric) if not math.isnan(self.found.value(name, metric))]
        if not order:
            return []
        cells = [f"{name} {_with_interval(self.found.row(name, metric))}" for name in order[: FEW + 1]]
        more = f" and {len(order) - FEW - 1} more" if len(order) > FEW + 1 else ""
        if len(order) == 1:
            text = f"{order[0]} has {LABELS[metric]} {_with_interval(self.found.row(order[0], metric))}"
        elif self._equal(metric, order[0], order[1]):
            text = f"By {LABELS[metric]} no model is first alone: {listed(cells)}{more}"
        else:
            text = (
                f"{cells[0]} is the best of {len(order)} models by {LABELS[metric]}, before {listed(cells[1:])}{more}"
            )
        beside = listed([f"{name} {self.found.value(name, metric):.3f}" for name in REFERENCES])
        return [Statement(f"{text}; to compare: {beside}.", 2.4, statistic=metric)]

    def _pairs(self) -> list[Statement]:
        """Return how sure the order of neighbours in the ranking is."""
        frame = self.found.comparisons().filter(bin=ALL, statistic=self.found.main)
        known = {(row["model"], row["other"]): row for row in frame.iter_rows(named=True)}
        n_tested = n_hypotheses(self.found.comparisons().filter(bin=ALL))
        found = []
        for one, other in list(itertools.pairwise(self.found.ranking(self.found.main)))[:FEW]:
            row, sign = (known[one, other], 1.0) if (one, other) in known else (known.get((other, one)), -1.0)
            if row is None or row["ci_low"] is None or not row["difference"]:
                continue
            low, high = sorted((-sign * row["ci_low"], -sign * row["ci_high"]))
            better = row["p_better"] if sign > 0 else 1 - row["p_better"]
            sure = row["p_adjusted"] < SIGNIFICANT
            ending = f"in {better:.0%} of resamplings, {p_text(row['p_value'])}, " + (
                f"survives correction over {n_tested} comparisons"
                if sure
                else f"does not survive correction over {n_tested} comparisons"
            )
            text = (
                f"{one} is better than {other} by {-sign * row['difference']:.3f} ({low:.3f} to {high:.3f}) in "
                f"{LABELS[self.found.main]}, {ending}."
            )
            weight = (3.0 if sure else 1.0) + 1.0 - (row["p_adjusted"] if sure else row["p_value"])
            found.append(Statement(text, weight, statistic=self.found.main))
        return found

    def _orders(self) -> list[Statement]:
        """Tell whether metrics agree on the order of models."""
        if len(self.found.models) < 2:
            return []
        orders = {metric: tuple(self.found.ranking(metric)) for metric in self.found.metrics}
        orders = {metric: order for metric, order in orders.items() if self._told_apart(metric, order)}
        if len(orders) < 2:
            return []
        if len(set(orders.values())) == 1:
            first = next(iter(orders.values()))
            which = "All" if len(orders) == len(self.found.metrics) else "The"
            beside = "" if which == "All" else " that tell all models apart"
            text = f"{which} {len(orders)} metrics{beside} put the models in the same order: {', '.join(first)}."
            return [Statement(text, 1.9)]
        winners = _grouped((order[0], metric) for metric, order in orders.items())
        if len(winners) == 1:
            winner = next(iter(winners))
            texts = _grouped((", ".join(order[1:]), metric) for metric, order in orders.items())
            parts = "; ".join(f"{rest} by {_listed(metrics)}" for rest, metrics in texts.items())
            which = "All metrics" if len(orders) == len(self.found.metrics) else "Metrics"
            return [Statement(f"{which} put {winner} first, and disagree on the others: {parts}.", 1.9)]
        parts = "; ".join(f"{name} by {_listed(metrics)}" for name, metrics in winners.items())
        return [Statement(f"Metrics disagree on the best model: {parts}.", 2.7)]

    def _over_bins(self) -> list[Statement]:
        firsts = ((self._first(one), one) for one in self.found.bins)
        winners = _grouped((name, one) for name, one in firsts if name)
        if len(winners) < 2:
            return []
        parts = "; ".join(f"{name} with {listed(bins)}" for name, bins in winners.items())
        text = f"Who is best by {LABELS[self.found.main]} depends on how many ratings an item has: {parts}."
        return [Statement(text, 2.0, statistic=self.found.main)]

    def _over_priors(self) -> list[Statement]:
        frame = self.found.sensitivity().filter(pl.col("rank").is_not_null())
        if len(self.found.models) < 2 or not frame.height:
            return []
        moving, texts = [], []
        for metric in frame["statistic"].unique(maintain_order=True):
            own = frame.filter(statistic=metric)
            orders = [
                (strength, tuple(part.sort("rank", "model")["model"]))
                for (strength,), part in own.group_by("strength", maintain_order=True)
            ]
            if len({order for _, order in orders}) > 1:
                moving.append(metric)
                texts.append(_runs(orders))
        strengths = frame["strength"].to_list()
        span = f"{min(strengths):g} to {max(strengths):g}"
        if not moving:
            text = f"The ranking by every expected metric is the same for all prior strengths from {span}."
            return [Statement(text, 1.2, statistic="prior")]
        alike = {text: [m for m, t in zip(moving, texts, strict=True) if t == text] for text in texts}
        parts = "; ".join(f"by {_listed(metrics)}, {text}" for text, metrics in alike.items())
        return [Statement(f"The ranking moves with the strength of the prior: {parts}.", 2.5, statistic="prior")]

    def _over_groups(self) -> list[Statement]:
        keys = dict.fromkeys((row.axis, row.group) for row in self.found.rows if row.axis != ALL)
        found = []
        for axis, groups in _grouped(keys).items():
            if "rater" in axis.split(CROSS):
                continue  # nobody is named
            firsts = ((self._first(ALL, axis, group), group) for group in groups)
            winners = _grouped((name, group) for name, group in firsts if name)
            if len(winners) > 1:
                parts = "; ".join(f"{name} for {listed(of)}" for name, of in winners.items())
                text = f"Who is best by {LABELS[self.found.main]} depends on whose ratings count, by {axis}: {parts}."
                found.append(Statement(text, 1.8, axis, self.found.main))
        return found

    def _calibrated(self) -> list[Statement]:
        rows = list(self.found.calibration().iter_rows(named=True))
        found = []
        for row in rows:
            habits = _habits(row, by_pit=row["p_value"] < SIGNIFICANT / len(rows))
            if habits:
                found.append(Statement(f"{row['model']} {listed(habits)}.", 2.3, statistic="pit"))
        if rows and not found:
            text = "No model is clearly miscalibrated, by its PITs and by how observed shares rise with predicted ones."
            found.append(Statement(text, 1.1, statistic="pit"))
        return found

    def _left_out(self) -> Iterable[str]:
        s = self.found.settings
        whole = s["n_items"] + s["n_unpredicted"] + s["n_few"]
        if whole > s["n_items"]:
            least = "a rating" if s["min_ratings"] == 1 else f"at least {s['min_ratings']:,} ratings"
            those, have = ("that", "has") if s["n_items"] == 1 else ("those", "have")
            yield (
                f"Scored {are(s['n_items'])} {s['n_items']:,} of {whole:,} items: {those} that every model predicts"
                + (f" and that {have} {least}." if s["n_few"] else ".")
            )
        missing = self.found.missing().group_by("model", "problem", maintain_order=True).len().iter_rows()
        for model, problem, n in missing:
            items = counted(n, "item")
            said = {NO_PREDICTION: f"{model} does not predict {items} with ratings",
                    NO_RATING: f"{model} predicts {items} without ratings"}  # fmt: skip
            yield f"{said[problem]}: see missing(), or --csv --table missing."
        if s["n_trained_on"]:
            yield f"{s['n_trained_on']:,} of the scored items {are(s['n_trained_on'])} among the training items."
        if s["n_unrated"]:
            items, have = counted(s["n_unrated"], "item"), "has" if s["n_unrated"] == 1 else "have"
            yield f"{items} {have} no rating: expected scores use the prior alone there, the others leave them out."
        if s["n_in_no_bin"]:
            n, count = s["n_in_no_bin"], "counts" if s["n_in_no_bin"] == 1 else "count"
            yield f"{counted(n, 'item')} {are(n)} in none of the bins, but {count} in all."
        if s["prior_note"]:
            yield s["prior_note"]

    def _listed(self, metrics: Sequence[str]) -> str:
        return _listed(metrics, len(self.found.metrics))

    def _first(self, bin_: str, axis: str = ALL, group: str = ALL) -> str:
        """Return the best model, or nothing where none is, or several are."""
        values = self.found.values(self.found.main, bin_, axis, group)
        first = [name for name, rank in ranks(values).items() if rank == 1]
        return first[0] if len(first) == 1 else ""

    def _equal(self, metric: str, one: str, other: str) -> bool:
        return shortened(self.found.value(one, metric)) == shortened(self.found.value(other, metric))

    def _told_apart(self, metric: str, order: Sequence[str]) -> bool:
        """Tell whether no two neighbours are equal, infinite or undefined."""
        values = [shortened(self.found.value(name, metric)) for name in order]
        return all(one < other for one, other in itertools.pairwise(values))


def _listed(metrics: Sequence[str], n_all: int = len(METRICS)) -> str:
    """Return the names of metrics; all of them are ``every metric``."""
    return "every metric" if len(metrics) == n_all > 1 else listed([LABELS[metric] for metric in metrics])


def _habits(row: dict[str, Any], *, by_pit: bool) -> list[str]:
    """Return how the predictions of a model are off, as far as that is clear."""
    ratio, leans = 12 * row["pit_variance"], abs(row["pit_mean"] - HALF) > LEANING
    habits = []
    if by_pit and ratio > TOO_SURE:
        variance = f"PIT variance {ratio:.1f} times what is right, {p_text(row['p_value'])}"
        habits.append(f"is too sure: ratings fall outside its narrow predictions ({variance})")
    elif by_pit and ratio < TOO_VAGUE and not leans:  # PITs that are all at one end vary little, too
        habits.append(f"is too vague (PIT variance {ratio:.1f} times what is right, {p_text(row['p_value'])})")
    elif row["slope_high"] < SLOPE_LOW or row["slope_low"] > SLOPE_HIGH:
        what = "sure" if row["slope"] < 1 else "vague"
        interval = f"{row['slope_low']:.2f} to {row['slope_high']:.2f}"
        habits.append(f"is too {what}: for 10 % more that it predicts, {10 * row['slope']:.1f} % more ratings follow "
                      f"(slope {interval}, right is 1)")  # fmt: skip
    if by_pit and leans:
        side = "low" if row["pit_mean"] > HALF else "high"
        habits.append(f"predicts too {side} (mean PIT {row['pit_mean']:.2f}, right is .50, {p_text(row['p_value'])})")
    return habits


def _like(prior: Sequence[float]) -> str:
    return "that are flat, as it is" if max(prior) == min(prior) else "that are like it"


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the second of each pair by the first, in order."""
    groups: dict[str, list[str]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def _runs(orders: Sequence[tuple[float, tuple[str, ...]]]) -> str:
    """Tell who is best, or in which order all are, from which strength to which."""
    firsts = len({order[0] for _, order in orders}) > 1
    runs: list[tuple[str, float, float]] = []
    for strength, order in orders:
        name = order[0] if firsts else " before ".join(order)
        if runs and runs[-1][0] == name:
            runs[-1] = (name, runs[-1][1], strength)
        else:
            runs.append((name, strength, strength))
    what = "is best" if firsts else ""
    texts = [
        f"{name}{' ' + what if what else ''} " + (f"at {low:g}" if low == high else f"from {low:g} to {high:g}")
        for name, low, high in runs
    ]
    return listed(texts)


def _with_interval(row: Row) -> str:
    interval = "" if row.ci_low is None or row.ci_high is None else f" ({row.ci_low:.3f} to {row.ci_high:.3f})"
    return f"{row.value:.3f}{interval}"
