"""What soft scores found, in sentences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from plurivox.base.wording import are, counted, listed, named
from plurivox.infer.claims import CORRECTIONS, entangled_axes, entangled_statements, shuffling, weighted_statements
from plurivox.infer.families import SIGNIFICANT
from plurivox.infer.result import Row, Statement, p_text, told
from plurivox.lenses.soft.comparisons import BINS, GROUPS, PARTS
from plurivox.lenses.soft.matching import MARGINAL, NO_PREDICTION, NO_RATING, REFERENCES, UNIFORM
from plurivox.lenses.soft.sums import ALL
from plurivox.statistics.registry import LABELS
from plurivox.statistics.soft_blocks import EMPIRICAL, METRICS

if TYPE_CHECKING:
    from plurivox.lenses.soft.result import SoftScores

_WHAT = {BINS: "how many ratings an item has", GROUPS: "whose ratings count, by {}", PARTS: "which items, by {}"}
_HERE = {BINS: "with {}", GROUPS: "by the ratings of {},", PARTS: "on items with {}"}
_ELSEWHERE = {BINS: "with other numbers", GROUPS: "by those of the others on the same items,", PARTS: "on other items"}
_DRAWN = {BINS: "items put into other bins", PARTS: "items put into other parts"}
"""What the comparison of models may depend on, the words for here and elsewhere, and what tests draw."""

HALF = 0.5
"""A prior with a larger share of the weight than this outweighs the ratings."""
BEST = 4.1
"""The weight of the statement on the best of all models: more than that on any two of them."""
FEW = 3


class Pair(NamedTuple):
    """How much better the first of two predictions is, its interval, p after correction, and what that rests on."""

    better: float
    low: float | None
    high: float | None
    p: float | None
    claim: bool
    n: int | None
    """How many random sign-flips; None where all were used."""
    n_items: int


@dataclass(frozen=True, slots=True)
class SoftFindings:
    """Turns a result into sentences."""

    found: SoftScores

    def statements(self) -> list[Statement]:
        """Return which model is best, how sure that is, what it depends on, and what was left out."""
        found = self.found
        return [
            *self._best(), *self._pairs(), *self._references(), *self.losses(),
            *(Statement(text, 2.6, statistic="prior") for text in self.prior_outweighs()), *self._orders(),
            *self._interactions(),
            *entangled_statements(found.settings, found.interactions().filter(kind=GROUPS)["axis"].to_list()),
            *self._over_priors(), *calibrated(found.calibration()), *told(left_out(found), 0.0),
            *weighted_statements(found.settings, (), found.main), *found.withheld_statement(),
        ]  # fmt: skip

    def warnings(self) -> list[str]:
        """Return what deserves a warning: a model that loses to the uniform prediction, a prior that outweighs."""
        return [*(one.text for one in self.losses((UNIFORM,))), *self.prior_outweighs()]

    def losses(self, to: Sequence[str] = (UNIFORM, MARGINAL)) -> list[Statement]:
        """Return a sentence for each model that is certainly worse than predictions that know nothing about the item.

        Certain means significant after correction over all pairs, and for metrics other than the leading one also over
        metrics.
        """
        said, metrics = [], self.found.metrics
        what = {UNIFORM: "uniform prediction, which knows nothing",
                MARGINAL: "marginal prediction, which ignores the item"}  # fmt: skip
        (share,) = self.found.prior_weight().filter(bin=ALL)["prior_share"]
        for model in self.found.models:
            before: list[str] = []
            for other in to:
                rows = [self._pair(model, other, metric) for metric in metrics]
                beaten = [m for m, row in zip(metrics, rows, strict=True) if row.better < 0 and self._sure(row, m)]
                beaten = [metric for metric in beaten if metric not in before]
                before += beaten
                held = (
                    "" if any(m in EMPIRICAL for m in beaten) else f", in which the prior has {share:.0%} of the weight"
                )
                text = f"{model} loses to the {what[other]}, by {_listed(beaten, len(metrics))}{held}."
                if self.found.main in beaten:
                    lost = self._claimed(text, [self._pair(model, other)])
                    said.append(replace(lost, subject=model, short=f"predicts worse than the {other} prediction"))
                elif beaten:
                    said.append(Statement(text, 2.5, statistic=beaten[0]))
        return said

    def prior_outweighs(self) -> list[str]:
        """Return a sentence if the prior has more weight than the ratings in some bins, and a score depends on it."""
        heavy = self.found.prior_weight().filter(pl.col("prior_share").fill_nan(None) > HALF, pl.col("bin") != ALL)
        if not heavy.height or all(metric in EMPIRICAL for metric in self.found.metrics):
            return []
        bins = listed([f"{bin_} ({share:.0%})" for bin_, share in heavy.select("bin", "prior_share").iter_rows()])
        prior = self.found.settings["prior"]
        like = "that are flat like the prior" if max(prior) == min(prior) else "that resemble the prior"
        return [
            "The prior outweighs the ratings of items that have few: its share of the weight, by number of ratings, is "
            f"{bins}. Expected scores of such items reward predictions {like}."
        ]

    def _best(self) -> list[Statement]:
        """Say which model is best, if that is certain, or else which models cannot be told apart."""
        metric = self.found.main
        order = [name for name in self.found.ranking(metric) if not math.isnan(self.found.value(name, metric))]
        if not order:
            return []
        cells = [f"{name} {_with_interval(self.found.row(name, metric))}" for name in order]
        beside = listed([f"{name} {self.found.value(name, metric):.3f}" for name in REFERENCES])
        label, more = LABELS[metric], f"; for comparison: {beside}."
        if len(order) == 1 or not self.found.settings["permutations"]:
            text = f"{label} of {len(order)} models, not tested against each other: {listed(cells, FEW + 1)}"
            if len(order) == 1:
                text = f"{order[0]} has {label} {_with_interval(self.found.row(order[0], metric))}"
            return [Statement(f"{text}{more}", 2.4, statistic=metric)]
        rows = [self._pair(order[0], other) for other in order[1:]]
        open_ = [at for at, row in enumerate(rows, 1) if not row.claim]
        if not open_:
            text = (
                f"{cells[0]} is the best of {len(order)} models by {label}, ahead of {listed(cells[1:], FEW)}: on the "
                f"same items it is better than {'the other' if len(order) == 2 else 'each of the others'}, "
                f"{self._p(rows)}{more}"
            )
            return [replace(self._claimed(text, rows, least=BEST), subject=order[0], short=f"predicts best by {label}")]
        if all(row.p is not None and row.p < SIGNIFICANT for row in rows):
            text = f"Whether {cells[0]} is the best of {len(order)} models by {label} is undecided"
            subject, short = f"whether {order[0]}", f"is the best model by {label} is undecided"
        else:
            n, names = len(open_) + 1, [cells[0], *(cells[at] for at in open_)]
            which, place = f"the {n} models", ""
            if n < len(order):
                which, place = f"{n} of {len(order)} models", " for first place"
            text = f"By {label}, {which} cannot be told apart{place}: {listed(names, FEW + 1)}"
            subject, short = which, f"cannot be told apart{place} by {label}"
        said = self._claimed(f"{text}, {self._p([rows[at - 1] for at in open_])}{more}", rows, claim=False)
        return [replace(said, standing="open", subject=subject, short=short)]

    def _pairs(self) -> list[Statement]:
        """Return how sure the order of neighbours in the ranking is."""
        label, said = LABELS[self.found.main], []
        for one, other in list(itertools.pairwise(self.found.ranking()))[:FEW]:
            row = self._pair(one, other)
            if row.p is None:
                continue
            ends = "" if row.low is None else f" ({row.low:.3f} to {row.high:.3f} over items)"
            by = f"{row.better:.3f}{ends} in {label}"
            if row.claim:
                said.append(self._claimed(f"{one} is better than {other} by {by}, {self._p([row])}.", [row]))
            else:
                text = f"{one} and {other} differ by {by}, which is {self._open(row.p)}, {self._p([row])}."
                said.append(Statement(text, 1.0, statistic=self.found.main, p=row.p, n_permutations=row.n))
        return said

    def _references(self) -> list[Statement]:
        """Say which models beat predictions that know nothing about the item."""
        pairs = {name: [self._pair(name, other) for other in (UNIFORM, MARGINAL)] for name in self.found.ranking()}
        label = LABELS[self.found.main]
        sure = [name for name, rows in pairs.items() if all(row.claim and row.better > 0 for row in rows)]
        said = []
        if sure:
            rows = [row for name in sure for row in pairs[name]]
            text = f"{listed(sure, FEW)} beat{'s' if len(sure) == 1 else ''} the uniform and the marginal prediction"
            said.append(self._claimed(f"{text} by {label}, {self._p(rows)}.", rows, least=3.0))
        for at, other in enumerate((UNIFORM, MARGINAL)):
            open_ = [name for name, rows in pairs.items() if rows[at].p is not None and not rows[at].claim]
            beat = f"{listed(open_, FEW)} beat{'s' if len(open_) == 1 else ''} the {other} prediction by {label}"
            if open_:
                said.append(Statement(f"It is not certain that {beat}.", 2.3, statistic=self.found.main))
        return said

    def _orders(self) -> list[Statement]:
        """Say by which metrics a model is certainly first, and whether it is the same model."""
        if len(self.found.models) < 2:
            return []
        winners: dict[str, list[str]] = {}
        for metric in self.found.metrics:
            if name := self._certainly_first(metric):
                winners.setdefault(name, []).append(metric)
        if len(winners) > 1:
            parts = "; ".join(f"{name} by {_listed(metrics)}" for name, metrics in winners.items())
            return [Statement(f"Metrics disagree on the best model, each with certainty: {parts}.", 2.7)]
        for name, metrics in winners.items():
            rest = [metric for metric in self.found.metrics if metric not in metrics]
            other = f"; by {_listed(rest)} no model is" if rest else ""
            if len(self.found.metrics) > 1:
                by = _listed(metrics, len(self.found.metrics))
                return [Statement(f"{name} is certainly first by {by}{other}.", 1.9)]
        return []

    def _interactions(self) -> list[Statement]:
        """Return whether the comparison of models depends on how many ratings there are, on whose, or on the items."""
        frame = self.found.interactions().filter(pl.col("p_adjusted").is_not_null())
        said = []
        for (kind, axis), part in frame.group_by("kind", "axis", maintain_order=True):
            rows = part.sort("p_adjusted", "p_value", maintain_order=True)
            certain = rows.filter("claim")
            what = _WHAT[str(kind)].format(axis)
            first = rows.row(0, named=True) if certain.is_empty() else certain.row(0, named=True)
            p = f"{p_text(first['p_adjusted'])} corrected over {counted(self._n_tested(), 'comparison')}"
            about = {"axis": str(axis), "statistic": self.found.main, "p": first["p_adjusted"],
                     "n_permutations": first["n_permutations"]}  # fmt: skip
            if certain.is_empty():
                why = self._open(first["p_adjusted"])
                that = "whether" if why == "undecided" else "that"
                text = f"It is {why} {that} the comparison of models depends on {what}: the smallest {p}."
                if kind != GROUPS or axis not in entangled_axes(self.found.settings):
                    said.append(Statement(text, 1.0, **about))
                continue
            group = first["group"]
            here = _HERE[str(kind)].format(group if kind == BINS else named(str(axis), group))
            text = (
                f"How {first['model']} and {first['other']} compare depends on {what}: {here} "
                f"{_lead(first, 'difference')}, and {_ELSEWHERE[str(kind)]} {_lead(first, 'elsewhere')} in "
                f"{LABELS[self.found.main]}, {p}."
            )
            if certain.height > 1:
                text += f" {certain.height - 1} more of {rows.height} such comparisons are certain."
            drawn = shuffling(self.found.settings) if kind == GROUPS else _DRAWN[str(kind)]
            basis = f"{drawn}, {first['n_permutations']:,} times; {self._corrected()}"
            group = "" if kind == BINS else group
            said.append(Statement(text, 4.0 - first["p_adjusted"], group=group, claim=True, rests_on=basis, **about))
        return said

    def _open(self, p: float) -> str:
        """Say why a difference is not claimed."""
        if p >= SIGNIFICANT:
            return "not certain"
        return "not claimed without correction" if self.found.settings["correction"] == "none" else "undecided"

    def _over_priors(self) -> list[Statement]:
        frame = self.found.sensitivity().filter(pl.col("rank").is_not_null())
        if len(self.found.models) < 2 or not frame.height:
            return []
        alike: dict[str, list[str]] = {}
        for (metric,), own in frame.group_by("statistic", maintain_order=True):
            orders = [
                (strength, tuple(part.sort("rank", "model")["model"]))
                for (strength,), part in own.group_by("strength", maintain_order=True)
            ]
            if len({order for _, order in orders}) > 1:
                alike.setdefault(_runs(orders), []).append(str(metric))
        if not alike:
            strengths = frame["strength"].to_list()
            span = f"{min(strengths):g} to {max(strengths):g}"
            text = (
                f"The ranking of the models by every expected metric is the same for all prior strengths from {span}."
            )
            return [Statement(text, 1.2, statistic="prior")]
        parts = "; ".join(f"by {_listed(metrics)}, {text}" for text, metrics in alike.items())
        text = f"The ranking of the models on these items changes with the strength of the prior (not tested): {parts}."
        return [Statement(text, 1.4, statistic="prior")]

    def _pair(self, one: str, other: str, metric: str | None = None) -> Pair:
        """Return how much better the first of two predictions is on all items, and how sure that is."""
        frame = self.found.comparisons().filter(bin=ALL, statistic=metric or self.found.main)
        straight, turned = frame.filter(model=one, other=other), frame.filter(model=other, other=one)
        row, sign = (straight.row(0, named=True), -1.0) if straight.height else (turned.row(0, named=True), 1.0)
        known = row["ci_low"] is not None
        low, high = sorted((sign * row["ci_low"], sign * row["ci_high"])) if known else (None, None)
        n = None if row["exact"] else row["n_permutations"]
        return Pair(sign * row["difference"], low, high, row["p_adjusted"], row["claim"], n, row["n_items"])

    def _certainly_first(self, metric: str) -> str:
        """Return the model that is better than every other after correction over all pairs, if any is."""
        first, *others = self.found.ranking(metric)
        rows = [self._pair(first, other, metric) for other in others]
        return first if all(row.better > 0 and row.p is not None and row.p < SIGNIFICANT for row in rows) else ""

    def _sure(self, row: Pair, metric: str) -> bool:
        """Return whether a pair differs for certain; metrics without claims are also corrected for their number."""
        if metric == self.found.main:
            return row.claim
        return row.p is not None and row.p < SIGNIFICANT / len(self.found.metrics)

    def _claimed(self, text: str, rows: Sequence[Pair], *, claim: bool = True, least: float | None = None) -> Statement:
        """Return a statement that holds if all of some pairs differ: its p is the largest of theirs."""
        known = [row.p for row in rows if row.p is not None]
        p = max(known) if known else None
        n, exact = rows[0].n, rows[0].n is None
        times = f"all {2 ** rows[0].n_items:,} ways" if exact else f"{n:,} times"
        basis = f"signs of the differences of {counted(rows[0].n_items, 'item')} flipped, {times}; {self._corrected()}"
        weight = (4.0 - (p or 0.0) if least is None else least) if claim else 2.4
        return Statement(
            text, weight, statistic=self.found.main, claim=claim, p=p, rests_on=basis if claim else "", n_permutations=n
        )

    def _p(self, rows: Sequence[Pair]) -> str:
        """Write the largest of some p-values, and how many it is corrected over."""
        known = [row.p for row in rows if row.p is not None]
        if not known:
            return "since they have the same score on every item"
        return f"{p_text(max(known))} corrected over {counted(self._n_tested(), 'comparison')}"

    def _n_tested(self) -> int:
        """Return how many hypotheses are in the family of what may be claimed."""
        pairs = self.found.comparisons().filter(pl.col("p_value").is_not_null(), bin=ALL, statistic=self.found.main)
        return pairs.height + self.found.interactions().filter(pl.col("p_value").is_not_null()).height

    def _corrected(self) -> str:
        how = CORRECTIONS[self.found.settings["correction"]]
        return f"corrected over {counted(self._n_tested(), 'comparison')} by {how}"


def _listed(metrics: Sequence[str], n_all: int = len(METRICS)) -> str:
    """Return the names of metrics; all of them are ``every metric``."""
    return "every metric" if len(metrics) == n_all > 1 else listed([LABELS[metric] for metric in metrics])


def _lead(row: dict[str, Any], name: str) -> str:
    """Say which of two models is better, and by how much."""
    difference = row[name]
    first = row["model"] if difference <= 0 else row["other"]
    return f"{first} is better by {abs(difference):.3f}"


def _runs(orders: Sequence[tuple[float, tuple[str, ...]]]) -> str:
    """Say which model is best, or how all are ranked, over which range of strengths."""
    firsts, texts = len({order[0] for _, order in orders}) > 1, []
    told_of = [(f"{order[0]} is first" if firsts else " ahead of ".join(order), strength) for strength, order in orders]
    for name, run in itertools.groupby(told_of, key=lambda one: one[0]):
        strengths = [strength for _, strength in run]
        low, high = strengths[0], strengths[-1]
        texts.append(f"{name} at {low:g}" if low == high else f"{name} from {low:g} to {high:g}")
    return listed(texts)


def _with_interval(row: Row) -> str:
    known = row.ci_low is not None and row.ci_high is not None
    interval = f" ({row.ci_low:.3f} to {row.ci_high:.3f} over items)" if known else ""
    return f"{row.value:.3f}{interval}"


# Habits of models, in sentences ---------------------------------------------------------------------------------------
# Habits of models, in sentences: predictions that are too sure, too vague, too high or too low.

TOO_SURE, TOO_VAGUE = 1.15, 0.85
"""PIT variances beyond these multiples of 1/12 are worth a sentence."""
LEANING = 0.05
SLOPE_LOW, SLOPE_HIGH = 0.9, 1.1
"""A slope of observed on predicted shares that is certainly beyond these is worth a sentence."""


def calibrated(calibration: pl.DataFrame) -> list[Statement]:
    """Return how the predictions of each model are off, or that none clearly is."""
    rows = list(calibration.iter_rows(named=True))
    found = []
    for row in rows:
        habits = _habits(row, by_pit=row["p_value"] < SIGNIFICANT / len(rows))
        if habits:
            found.append(Statement(f"{row['model']} {listed(habits)}.", 2.3, statistic="pit"))
    if rows and not found:
        text = "No model is clearly miscalibrated, judging by PITs and by how observed shares rise with predicted ones."
        found.append(Statement(text, 1.1, statistic="pit"))
    return found


def _habits(row: dict[str, Any], *, by_pit: bool) -> list[str]:
    """Return how the predictions of a model are off, as far as that is clear."""
    ratio, leans = 12 * row["pit_variance"], abs(row["pit_mean"] - HALF) > LEANING
    habits = []
    if by_pit and ratio > TOO_SURE:
        variance = f"PIT variance {ratio:.1f} times the ideal, {p_text(row['p_value'])}"
        habits.append(f"is too sure: ratings fall outside its narrow predictions ({variance})")
    elif by_pit and ratio < TOO_VAGUE and not leans:  # PITs that are all at one end also vary little
        habits.append(f"is too vague (PIT variance {ratio:.1f} times the ideal, {p_text(row['p_value'])})")
    elif row["slope_high"] < SLOPE_LOW or row["slope_low"] > SLOPE_HIGH:
        what = "sure" if row["slope"] < 1 else "vague"
        interval = f"{row['slope_low']:.2f} to {row['slope_high']:.2f}"
        habits.append(f"is too {what}: for every 10 % more it predicts, {10 * row['slope']:.1f} % more ratings follow "
                      f"(slope {interval}, ideally 1)")  # fmt: skip
    if by_pit and leans:
        side = "low" if row["pit_mean"] > HALF else "high"
        habits.append(f"predicts too {side} (mean PIT {row['pit_mean']:.2f}, ideally .50, {p_text(row['p_value'])})")
    return habits


# Left_out -------------------------------------------------------------------------------------------------------------

WHY_RPS = (
    "RPS against the ratings: it needs no prior and, however few ratings there are, is lowest on average for the true "
    "distribution, so it does not reward flat predictions as expected scores do."
)


def left_out(found: SoftScores) -> Iterator[str]:
    """Yield what was not scored, and why, and what scores rest on."""
    s = found.settings
    whole = s["n_items"] + s["n_unpredicted"] + s["n_few"]
    if whole > s["n_items"]:
        least = "a rating" if s["min_ratings"] == 1 else f"at least {s['min_ratings']:,} ratings"
        those, have = ("that", "has") if s["n_items"] == 1 else ("those", "have")
        yield (
            f"{s['n_items']:,} of {whole:,} items {are(s['n_items'])} scored: {those} that every model predicts"
            + (f" and that {have} {least}." if s["n_few"] else ".")
        )
    missing = found.missing().group_by("model", "problem", maintain_order=True).len().iter_rows()
    for model, problem, n in missing:
        items = counted(n, "item")
        said = {NO_PREDICTION: f"{model} does not predict {items} with ratings",
                NO_RATING: f"{model} predicts {items} without ratings"}  # fmt: skip
        yield f"{said[problem]}: see missing(), or --csv --table missing."
    if s["n_trained_on"]:
        yield f"{s['n_trained_on']:,} of the scored items {are(s['n_trained_on'])} among the training items."
    if s["n_unrated"]:
        items, have = counted(s["n_unrated"], "item"), "has" if s["n_unrated"] == 1 else "have"
        yield f"{items} {have} no rating: expected scores use only the prior there, the others leave them out."
    if s["n_in_no_bin"]:
        n, count = s["n_in_no_bin"], "counts" if s["n_in_no_bin"] == 1 else "count"
        yield f"{counted(n, 'item')} {are(n)} in none of the bins, but {count} towards all items."
    if s["n_items_in_no_part"]:
        n = s["n_items_in_no_part"]
        have, count = ("has", "counts") if n == 1 else ("have", "count")
        yield f"{counted(n, 'item')} {have} no value for {s['items_by']}: in no part, but {count} towards all items."
    if any(name not in EMPIRICAL for name in found.metrics):
        yield s["prior_note"]
    if found.main == "rps":
        yield f"Models are ranked by {WHY_RPS}"
