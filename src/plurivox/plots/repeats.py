"""How far raters agree with themselves on items that they rated again, and whose scores drift over time."""

from __future__ import annotations

import polars as pl

from plurivox.base.wording import interval_method
from plurivox.lenses.variation.result import Variation
from plurivox.plots import groups as g
from plurivox.plots.forests import forest, forest_data
from plurivox.plots.layout import ALL_RATERS, Rows, defined, extent
from plurivox.plots.once import once
from plurivox.plots.pieces import across, twice
from plurivox.plots.theme import saying, themed
from plurivox.plots.vega import Chart

_AGAIN = {"with each other": "with each other, on the same items", "with themselves": "with themselves, rating again"}
_TITLES = {
    "percent": "share of pairs with the same score", "alpha": "Krippendorff's alpha",
    "change": "mean difference of two scores, in points",
}  # fmt: skip


@once
def repeat_agreement_data(
    result: Variation, statistic: str = "percent", *, max_groups: int | None = 40
) -> pl.DataFrame:
    """Return what :func:`repeat_agreement` draws: one row per group, all raters first."""
    g.known("statistic", statistic, _TITLES)
    names = {
        "axis": "axis", "group": "group", "within": "with themselves", "ci_low": "with themselves low",
        "ci_high": "with themselves high", "between": "with each other", "between_ci_low": "with each other low",
        "between_ci_high": "with each other high", "n_raters": "raters", "n_items": "items", "n_pairs": "pairs",
        "note": "note",
    }  # fmt: skip
    frame = result.repeats().filter(statistic=statistic)
    whole = frame.filter(axis="all").with_columns(group=pl.lit(ALL_RATERS))
    own = frame.filter(~pl.col("axis").map_elements(g.names_raters, pl.Boolean), pl.col("axis") != "all")
    kept = own if max_groups is None else own.sort("n_raters", descending=True, maintain_order=True).head(max_groups)
    own = own.join(kept.select("axis", "group"), on=["axis", "group"], how="semi", maintain_order="left")
    return pl.concat([whole, own]).select(pl.col(name).alias(shown) for name, shown in names.items())


def repeat_agreement(result: Variation, statistic: str = "percent", *, max_groups: int | None = 40) -> Chart:
    """Draw how far raters of each group agree with themselves on items that they rated again, and with each other.

    Parameters
    ----------
    statistic
        ``"percent"``, the share of equal pairs; ``"alpha"``; or ``"change"``, the mean absolute difference in points.
    """
    title = "Who agrees with themselves"
    data = repeat_agreement_data(result, statistic, max_groups=max_groups)
    drawn = defined(data, "with themselves")
    if drawn.is_empty():
        return saying(title, "Nobody rated an item again, or repeats were not kept.")
    rows = Rows.of(drawn.select("axis", "group").iter_rows())
    ends = [value for name in _AGAIN for end in ("", " low", " high") for value in drawn[f"{name}{end}"]]
    chart = twice(rows.place(drawn), rows, _AGAIN, across(_TITLES[statistic], extent(ends), rows.plot_width()), [])
    total = repeat_agreement_data(result, statistic, max_groups=None).height
    text = g.shown_words(drawn.height, data.height, total, "the largest")
    if drawn["with themselves low"].is_not_null().any():
        text += f"Line: 95 % interval {interval_method(result.settings)}. "
    return themed(chart, title, text)


@once
def drift_forest_data(result: Variation, axis: str | None = None, *, max_groups: int | None = 40) -> pl.DataFrame:
    """Return what :func:`drift_forest` draws: one row per group, including undefined values."""
    found = forest_data(result, ("drift",), axis, None, max_groups)
    return found.with_columns(group=pl.when(pl.col("axis") == "all").then(pl.lit(ALL_RATERS)).otherwise("group"))


def drift_forest(result: Variation, axis: str | None = None, *, max_groups: int | None = 40) -> Chart:
    """Draw by how many points the scores of each group rise with time, over what shuffled times give."""
    data = drift_forest_data(result, axis, max_groups=max_groups)
    title = "Whose scores drift over time, on the same items"
    total = len(g.group_rows(result, ("drift",), axis, None))
    measured = "points higher from one unit of time to the next"
    return forest(
        result, data, title, axis, total, neutral=0.0, measured=measured, shuffled="times shuffled within raters"
    )
