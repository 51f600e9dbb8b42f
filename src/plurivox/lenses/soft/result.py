"""What :func:`plurivox.soft_scores` found, as tables, sentences and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from plurivox.base.errors import SelectionError
from plurivox.base.wording import counted
from plurivox.infer.claims import TITLE
from plurivox.infer.result import Result, Row, Statement, Table, frame_of
from plurivox.infer.tables import typed
from plurivox.infer.view import Column, P, Value, View, columns, filled, view_of, written
from plurivox.lenses.soft.comparisons import BINS
from plurivox.lenses.soft.matching import REFERENCES
from plurivox.lenses.soft.sums import ALL, leading, ranked, shortened
from plurivox.lenses.soft.words import SoftFindings
from plurivox.statistics.registry import LABELS
from plurivox.statistics.soft_blocks import EMPIRICAL


def model_frame(rows: Iterable[Row]) -> pl.DataFrame:
    """Return rows as a frame that begins with the model, and whether it is a prediction for comparison."""
    known = list(rows)
    own = [(row.model, row.kind == "reference") for row in known]
    return pl.DataFrame(own, schema=typed("model reference"), orient="row").hstack(frame_of(known))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SoftScores(Result):
    """How good predicted rating distributions are.

    In addition to what every result has:

    Attributes
    ----------
    draws
        The bootstrap draws of each bin: ``groups`` are the predictions, ``resampled`` the metrics.
    """

    tables: tuple[Table, ...] = ()

    KIND: ClassVar[str] = "soft scores"
    ROLES: ClassVar[tuple[str, ...]] = ("scored",)
    PARTS: ClassVar[dict[str, Any]] = {**Result.PARTS, "tables": Table}

    def __repr__(self) -> str:
        return f"<SoftScores: {counted(len(self.models), 'model')} on {counted(self.settings['n_items'], 'item')}>"

    @property
    def models(self) -> list[str]:
        """The models, without what they are compared with."""
        return list(self.settings["models"])

    @property
    def bins(self) -> list[str]:
        """The bins of rating counts, from few to many."""
        return list(self.settings["bins"])

    @property
    def metrics(self) -> list[str]:
        """The metrics that were computed."""
        return list(self.settings["metrics"])

    @property
    def main(self) -> str:
        """The metric that sentences are about and tables and charts sort by: RPS, or the next best one requested."""
        return leading(self.metrics)

    def to_frame(self) -> pl.DataFrame:
        """Return one row per model, bin and statistic, for each group and each part of the items requested.

        ``subset`` is the part of the items, ``all`` for all of them.
        Models have a ``rank``, 1 for the best; ``reference`` marks predictions for comparison. Expected
        scores have the prior's share of the weight, the mean over items of α₀/(α₀ + n).
        """
        frame = model_frame(self.rows).rename({"subset": "bin"})
        weight = self._table("prior weight").select("axis", "group", "bin", "prior_share")
        whole = frame.join(weight, on=["axis", "group", "bin"], how="left", maintain_order="left")
        parts = self._table("parts").with_columns(bin=pl.lit(ALL))
        whole = pl.concat([whole.with_columns(subset=pl.lit(ALL)), parts], how="diagonal").drop("null_median")
        rounded = pl.Series("rounded", [shortened(value) for value in whole["value"]], dtype=pl.Float64)
        place = pl.when(~pl.col("reference") & pl.col("rounded").is_not_nan()).then("rounded").rank("min")
        place = place.over(["axis", "group", "subset", "bin", "statistic"])
        share = pl.when(~pl.col("statistic").is_in(EMPIRICAL)).then("prior_share")
        whole = whole.with_columns(rounded).with_columns(rank=place.cast(pl.Int64), prior_share=share).drop("rounded")
        first, last = ["model", "bin", "subset", "axis", "group", "statistic"], ["rank", "prior_share"]
        return whole.select(*first, pl.exclude(*first, *last), *last)

    def parts(self) -> pl.DataFrame:
        """Return the rows of :meth:`to_frame` about a part of the items (``items_by``)."""
        return self.to_frame().filter(pl.col("subset") != ALL)

    def row(self, model: str, statistic: str, bin: str = ALL, axis: str = ALL, group: str = ALL) -> Row:  # noqa: A002
        """Return one row."""
        for row in self.rows:
            if (row.model, row.statistic, row.subset, row.axis, row.group) == (model, statistic, bin, axis, group):
                return row
        raise SelectionError(f"there is no {statistic} of {model!r} in bin {bin!r}", hint="to_frame() lists all.")

    def value(self, model: str, statistic: str, bin: str = ALL) -> float:  # noqa: A002
        """Return one value."""
        return self.row(model, statistic, bin).value

    def ranking(
        self, statistic: str | None = None, bin: str = ALL, axis: str = ALL, group: str = ALL  # noqa: A002
    ) -> list[str]:  # fmt: skip
        """Return the models from the lowest score to the highest by one metric, the leading one unless named."""
        return ranked(self.values(statistic or self.main, bin, axis, group))

    def comparisons(self) -> pl.DataFrame:
        """Return the difference of every two models, and of each with uniform and marginal, per bin and metric.

        Negative: the first is better. ``ci_low``, ``ci_high`` and ``p_better``, how often the first is better, come
        from resampled items. ``p_value`` comes from sign-flips of the items' differences; ``p_adjusted`` is corrected
        over all pairs (in bins: all pairs and bins), for the leading metric also over :meth:`interactions`. ``note``
        says why a pair is not tested.
        """
        return self._table("comparisons")

    def interactions(self) -> pl.DataFrame:
        """Return whether the comparison of two models by the leading metric depends on bins of ratings or on groups.

        ``difference`` is that of the two in the bin or group, ``elsewhere`` in all other bins, or by the other raters
        of the axis on the same items.
        """
        return self._table("interactions")

    def prior_weight(self) -> pl.DataFrame:
        """Return the prior's share of the weight in each bin."""
        whole = self._table("prior weight").filter(pl.col("axis") == ALL)
        return whole.drop("axis", "group")

    def sensitivity(self) -> pl.DataFrame:
        """Return expected scores and ranks for priors of other strengths, the mean weight of a point."""
        return self._table("sensitivity")

    def calibration(self) -> pl.DataFrame:
        """Return for each model the mean and variance of PITs, the calibration error and slope, and a test of PITs.

        PITs should have mean ½ and variance 1/12. The error is how far observed shares are from predicted ones on
        average; the slope is how they rise with them, ideally 1. The Kolmogorov–Smirnov test uses one randomised PIT
        per item.
        """
        return self._table("calibration")

    def pit(self) -> pl.DataFrame:
        """Return how the PITs of all ratings spread over ten bars, with 95 % intervals over items."""
        return self._table("pit")

    def reliability(self) -> pl.DataFrame:
        """Return how often ratings reach each point, by the predicted probability of that."""
        return self._table("reliability")

    def missing(self) -> pl.DataFrame:
        """Return which rated items a model lacks, and which of its items have no ratings."""
        return self._table("missing")

    def statements(self) -> list[Statement]:
        """Return which model is best, how sure that is, what it depends on, and what was left out."""
        return SoftFindings(self).statements()

    def values(self, statistic: str, bin: str = ALL, axis: str = ALL, group: str = ALL) -> dict[str, float]:  # noqa: A002
        """Return the value of each model by one metric."""
        key = (statistic, bin, axis, group)
        return {
            row.model: row.value
            for row in self.rows
            if row.kind == "model" and (row.statistic, row.subset, row.axis, row.group) == key
        }

    def _table(self, name: str) -> pl.DataFrame:
        return next(table.frame for table in self.tables if table.name == name)


# Tables ---------------------------------------------------------------------------------------------------------------

BESIDE, CE = "expected_emd", "cross_entropy"
"""Shown by bins in addition to the leading metric."""
SHOWN_STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
MOST_NOTES = 12
ENDS = ".3f [.3f]"
TESTS = columns(P, ("p", "p corrected"))
NOT_WEIGHTED = (
    "Scores are weighted: a rating counts by its rater's weight, also against the prior. A fitted prior, the PIT, "
    "calibration, and the test of whether groups change how models compare count all raters equally."
)


def tables(found: SoftScores) -> list[View]:
    """Return all tables of a result."""
    by_bin, with_ce = _leading(found, found.main, BESIDE), _leading(found, found.main, CE, BESIDE)
    shown = [*_all_scores(found), *(_bins(found, name) for name in with_ce if len(found.bins) > 1)]
    shown += [
        *_parts(found, with_ce),
        *filled(_intervals(found, by_bin), comparisons(found, by_bin), interactions(found)),
    ]
    return shown + filled(*_curves(found, by_bin), _calibration(found), *_groups(found), _unweighted(found))


def brief(found: SoftScores) -> list[View]:
    """Return the scores of all predictions, intervals of the main ones, and parts of items."""
    leading = _leading(found, found.main, BESIDE)
    return [*_all_scores(found), *_parts(found, leading[:1]), *filled(_intervals(found, leading))]


def _leading(found: SoftScores, *names: str) -> list[str]:
    """Return the main metrics, as far as they were requested."""
    return [name for name in dict.fromkeys(names) if name in found.metrics]


def _labels(metrics: Sequence[str]) -> list[str]:
    return [LABELS[metric] for metric in metrics]


def _names(found: SoftScores) -> list[str]:
    """Return all predictions, models by the leading metric."""
    return [*found.ranking(), *REFERENCES]


def _ranked(found: SoftScores, value: float, rank: int | None) -> Value:
    """Return a score and, if there are several models, its rank."""
    return Value(value, after=f"({rank})" if rank and len(found.models) > 1 else "")


def _scored(found: SoftScores, name: str, metric: str, *place: str) -> Value:
    """Return a score on a part of the ratings, ranked there."""
    order = found.ranking(metric, *place)
    return _ranked(found, found.row(name, metric, *place).value, order.index(name) + 1 if name in order else None)


def _all_scores(found: SoftScores) -> list[View]:
    (share,) = found.prior_weight().filter(bin=ALL)["prior_share"]
    expected = f"Expected scores, in which the prior has {written(share, '.0%')} of the weight on average"
    n = f"{counted(found.settings['n_items'], 'item')}, {counted(found.settings['n_ratings'], 'rating')}"
    shown = []
    for title, empirical in (("Scores against the shares of each item's ratings", True), (expected, False)):
        metrics = [name for name in found.metrics if (name in EMPIRICAL) == empirical]
        lines = [[name, *(_scored(found, name, metric) for metric in metrics)] for name in _names(found)]
        shown += [View(f"{title}: {n}", ["model", *_labels(metrics)], lines)] if metrics else []
    return shown


def _bins(found: SoftScores, metric: str) -> View:
    weights = found.prior_weight()
    lines: list[list[object]] = [
        [name, *(_scored(found, name, metric, one) for one in found.bins)] for name in _names(found)
    ]
    lines.append(["items", *(weights.filter(bin=one)["n_items"][0] for one in found.bins)])
    if metric not in EMPIRICAL:
        shares = (weights.filter(bin=one)["prior_share"][0] for one in found.bins)
        lines.append(["prior's share of the weight", *(written(share, ".0%") for share in shares)])
    return View(f"{LABELS[metric]} by number of ratings of an item", ["model", *found.bins], lines)


def _parts(found: SoftScores, metrics: list[str]) -> list[View]:
    """Return the scores on each part of the items, one line for a part."""
    frame = found.parts()
    shown = []
    for metric in metrics if frame.height else ():
        lines = []
        for (part,), rows in frame.filter(statistic=metric).group_by("subset", maintain_order=True):
            own = {name: _ranked(found, *cell) for name, *cell in rows.select("model", "value", "rank").iter_rows()}
            lines.append([str(part), rows.item(0, "n_items"), *(own[name] for name in _names(found))])
        title = f"{LABELS[metric]} on parts of the items: {found.settings['items_by']}"
        shown.append(View(title, ["part", "items", *_names(found)], lines))
    return shown


def _intervals(found: SoftScores, metrics: list[str]) -> View:
    names = _names(found) if found.settings["bootstrap"] else ()
    lines = [[name, *(found.row(name, metric) for metric in metrics)] for name in names]
    return View("95 % intervals over items", ["model", *columns(ENDS, _labels(metrics))], lines)


def comparisons(found: SoftScores, metrics: Sequence[str], *, every: bool = False) -> View:
    """Return the differences between predictions that are tested or have an interval, or every one, in bins too."""
    frame = found.comparisons().filter(pl.col("statistic").is_in(metrics))
    if len(found.bins) < 2 or not every:
        frame = frame.filter(bin=ALL)
    if not every:
        frame = frame.filter(pl.col("ci_low").is_not_null() | pl.col("p_value").is_not_null())
    leads = (pl.col("statistic") != found.main, pl.col("bin") != ALL)
    frame = frame.sort(*leads, maintain_order=True) if every else frame
    names = {
        "pair": "", "statistic": "metric", "difference": Column("difference", ENDS),
        "p_better": Column("first is better", ".0%"), "p_value": "p", "p_adjusted": "p corrected", "note": "note",
        "bin": Column("ratings of an item", extra=True), "n_items": Column("items", extra=True),
        "n_permutations": Column("sign-flips", extra=True),
    }  # fmt: skip
    if not any(frame["note"]):
        del names["note"]
    title = "Two predictions on the same items: intervals over items, p by sign-flips of items"
    return view_of(title, frame.with_columns(pair=pl.format("{} − {}", "model", "other")), names)


def interactions(found: SoftScores, most: int = MOST_NOTES) -> View:
    """Return how the differences between models change, the surest first."""
    frame = found.interactions().sort("p_adjusted", maintain_order=True, nulls_last=True)
    place = pl.when(kind=BINS).then(pl.format("{} ratings", "group")).otherwise(pl.format("{}: {}", "axis", "group"))
    names = {
        "pair": "", "place": "where", "difference": "difference there", "elsewhere": "elsewhere", "n_items": "items",
        "p_value": "p", "p_adjusted": "p corrected", "n_permutations": Column("draws", extra=True),
    }  # fmt: skip
    cut = f", the first {most} of {frame.height}" if frame.height > most else ""
    where = "in a bin or for a group" if found.settings["items_by"] is None else "in a bin, on a part or for a group"
    title = f"Does the difference in {LABELS[found.main]} between two models change {where}{cut}"
    shown = frame.head(most).with_columns(pair=pl.format("{} − {}", "model", "other"), place=place)
    return view_of(title, shown, names)


def prior_weights(found: SoftScores) -> View:
    """Return how much the prior weighs, by number of ratings of an item."""
    names = {"bin": "ratings of an item", "n_items": "items", "n_ratings": "ratings",
             "prior_share": "share of prior"}  # fmt: skip
    return view_of("How much the prior weighs", found.prior_weight(), names)


def _curves(found: SoftScores, metrics: list[str]) -> list[View]:
    frame = found.sensitivity()
    shown = []
    for metric in [name for name in metrics if name not in EMPIRICAL] if frame.height else ():
        own = frame.filter(pl.col("statistic") == metric, pl.col("strength").is_in(SHOWN_STRENGTHS))
        strengths = own["strength"].unique(maintain_order=True).to_list()
        cells = {(name, one): _ranked(found, *cell) for name, one, *cell in
                 own.select("model", "strength", "value", "rank").iter_rows()}  # fmt: skip
        lines = [[name, *(cells[name, one] for one in strengths)] for name in (_names(found) if strengths else ())]
        title = f"{LABELS[metric]} by strength of the prior (mean weight of a point)"
        shown.append(View(title, ["model", *(f"{strength:g}" for strength in strengths)], lines))
    return shown


def _calibration(found: SoftScores) -> View:
    frame = found.calibration().with_columns(pit_variance=12 * pl.col("pit_variance"))
    names = {
        "model": "model", "pit_mean": "mean PIT (.5)", "pit_variance": Column("12 × variance (1)", ".2f"),
        "calibration_error": "error (0)", "slope": Column("slope (1)", ".2f [.2f]"), "ks": "KS", "p_value": "p",
    }  # fmt: skip
    return view_of("Calibration, ideal values in parentheses", frame, names)


def _groups(found: SoftScores) -> list[View]:
    """Return scores against the ratings of each group, a table for each axis."""
    axes: dict[str, dict[str, dict[str, Row]]] = {}
    for row in found.rows:
        if row.axis != ALL and row.statistic == found.main:
            axes.setdefault(row.axis, {}).setdefault(row.group, {})[row.model] = row
    shown = []
    for axis, groups in axes.items():
        lines = []
        for group, own in groups.items():
            first = next(iter(own.values()))
            scores = [_scored(found, name, found.main, ALL, axis, group) for name in found.models]
            beside = [own[name].value if name in own else None for name in REFERENCES]
            lines.append([group, first.n_raters, first.n_items, *scores, *beside])
        header = ["group", "raters", "items", *found.models, *REFERENCES]
        shown.append(View(f"{LABELS[found.main]} against the ratings of each group: {axis}", header, lines))
    return shown


def _unweighted(found: SoftScores) -> View:
    """Return weighted scores of all raters with the unweighted ones, if raters have weights."""
    cells: dict[str, dict[str, Value]] = {}
    for row in found.rows:
        if row.unweighted is not None and (row.axis, row.subset) == (ALL, ALL):
            cells.setdefault(row.model, {})[row.statistic] = Value(row.value, after=f"({written(row.unweighted)})")
    names = list(dict.fromkeys(name for own in cells.values() for name in own))
    lines = [[model, *(own[name] for name in names)] for model, own in cells.items()]
    return View(TITLE, ["model", *_labels(names)], lines)


def notes(found: SoftScores) -> list[str]:
    """Return why scores are infinite or undefined, the first few of many."""
    notes: dict[tuple[str, str], list[str]] = {}
    for row in found.rows:
        if row.note and row.subset == ALL and row.axis == ALL:
            notes.setdefault((row.model, row.note), []).append(LABELS[row.statistic])
    said = [f"{model}, {', '.join(names)}: {note}" for (model, note), names in notes.items()][:MOST_NOTES]
    return [*said, NOT_WEIGHTED] if "weights" in found.settings else said
