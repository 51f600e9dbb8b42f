"""What psychometrics found, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plurivox.base.wording import counted, listed, named
from plurivox.domain.axis import names_raters
from plurivox.domain.scale_names import Poles
from plurivox.infer.intervals import NORMAL_95
from plurivox.infer.result import Row, Statement, value_text
from plurivox.lenses.psychometrics.scales import LEFT_OUT, MANY
from plurivox.statistics.graded import DOUBTFUL
from plurivox.statistics.mokken import STRENGTHS

if TYPE_CHECKING:
    from plurivox.lenses.psychometrics.result import Psychometrics

SERIOUS = 80
"""The crit at and above which violations of monotonicity are called serious."""
WEAK = STRENGTHS[-1][0]
REMINDER = "A low value is a reason to look at the instructions and the scale, never a reason to drop a group."
NAMED = 3
"""The most groups that a sentence names; others are counted."""


def statements(result: Psychometrics) -> list[Statement]:
    """Return how well raters or groups scale together, who stands apart, and what to be careful about."""
    found: list[Statement] = []
    for axis in result.axes:
        rows = [row for row in result.rows if (row.axis, row.subset) == (axis, "all")]
        if axis in result.settings["several"]:
            continue  # groups that share raters scale together for that reason alone
        found += _scale(axis, rows) + _apart(result, axis, rows) + _sharpness(axis, rows, Poles.of(result.settings))
        found += _checked(result, axis) + _left_out(axis, rows)
    found += _flagged(result) + result.withheld_statement()
    return [*found, Statement(REMINDER, 0.0, statistic="reminder")]


def _scale(axis: str, rows: Sequence[Row]) -> list[Statement]:
    scale = next((row for row in rows if row.kind == "scale"), None)
    own = [row for row in rows if row.statistic == "mokken_h" and row.kind != "scale" and not np.isnan(row.value)]
    if scale is None or np.isnan(scale.value):
        return []
    n_below = sum(row.value < WEAK for row in own)
    strength = next((word for least, word in STRENGTHS if scale.value >= least), "")
    if not strength:
        words = "do not order items alike"
    elif scale.ci_low is None or scale.ci_low < WEAK:
        words = "may order items alike, with too few items to be sure"
    else:
        words = f"order items alike, a {strength} scale by Mokken's measure"
    apart = f"; {n_below} of them with H_j below {WEAK:g}" if n_below and strength else ""
    text = f"The {_members(axis, len(own))} {words}: H {_over_items(scale)}{apart}."
    return [Statement(text, 1.3, axis, "mokken_h")]


def _apart(result: Psychometrics, axis: str, rows: Sequence[Row]) -> list[Statement]:
    """Return who scales poorly with the others, and whose scores fall where those of others rise."""
    bound = result.settings["lower_bound"]
    scaled = [row for row in rows if row.kind != "scale" and row.statistic == "mokken_h"]
    sharp = [row for row in rows if row.statistic == "grm_a"]
    low = [row for row in scaled if _below(row, bound, len(scaled))]
    falling = [row for row in sharp if _below(row, 0.0, len(sharp))]
    sentences = []
    if low:
        text = (
            f"H_j lies below {bound:g} for {_named(low)}, allowing for the choice of items but not of raters (95 % for "
            "all of them together): a different order of items, or more noise."
        )
        sentences.append(Statement(text, 1.25, axis, "mokken_h"))
    if falling and not _doubtful(result, axis):
        more = Poles.of(result.settings).more
        text = f"The scores of {_named(falling, 'a')} fall as items get {more}: the scale may be read upside down."
        sentences.append(Statement(text, 1.9, axis, "grm_a"))
    return sentences


def _doubtful(result: Psychometrics, axis: str) -> bool:
    notes = result.fits().filter((pl.col("axis") == axis) & (pl.col("subset") == "all"))["note"]
    return any(DOUBTFUL in note for note in notes)


def _sharpness(axis: str, rows: Sequence[Row], poles: Poles) -> list[Statement]:
    """Return how sharply scores rise, without naming extremes, which are not tested."""
    own = [row for row in rows if row.statistic == "grm_a" and row.kind == "group" and not np.isnan(row.value)]
    if len(own) < 2 or names_raters(axis):
        return []
    low, high = min(row.value for row in own), max(row.value for row in own)
    text = (
        f"How sharply scores rise as items get {poles.more} (a) ranges from {low:.2f} to {high:.2f} over the "
        f"{len(own)} groups of {axis}; which of them differ is not tested, and larger groups are less noisy."
    )
    return [Statement(text, 1.2, axis, "grm_a")]


def _checked(result: Psychometrics, axis: str) -> list[Statement]:
    own = result.checks().filter((pl.col("axis") == axis) & (pl.col("subset") == "all"))
    found = []
    serious = own.filter(pl.col("crit").fill_nan(0.0) >= SERIOUS)["group"].to_list()
    if serious:
        who = _members(axis, len(serious)) if names_raters(axis) else listed(serious, NAMED)
        text = f"In places the scores of {who} fall where those of the others rise (crit {SERIOUS} or more)."
        found.append(Statement(text, 1.5, axis, "mokken_h"))
    scales = own.filter(pl.col("note") == "")["scale"].to_list() or own["scale"].to_list()
    outside = scales.count(0)
    if outside < len(scales) and (outside or max(scales) > 1):
        word = "scale" if max(scales) == 1 else "scales"
        inside = f"{len(scales) - outside} of the {_members(axis, len(scales))} into {max(scales)} {word}"
        bound = result.settings["lower_bound"]
        text = f"Mokken's selection puts {inside} with H_j of {bound:g} or more; close to that, chance decides."
        found.append(Statement(text, 1.1, axis, "mokken_h"))
    return found


def _left_out(axis: str, rows: Sequence[Row]) -> list[Statement]:
    if not any(row.note == LEFT_OUT for row in rows):
        return []
    many = f"above {MANY} raters or groups, or with very many items"
    text = f"Mokken's H_j and the discrimination by {axis} are left out {many}; plurivox scale shows them."
    return [Statement(text, 0.0, axis, "mokken_h")]


def _flagged(result: Psychometrics) -> list[Statement]:
    """Return remarks on the fits themselves."""
    where: dict[tuple[str, str], list[str]] = {}
    for axis, subset, note in result.fits().select("axis", "subset", "note").iter_rows():
        if note:
            where.setdefault((axis, note), []).append("all items" if subset == "all" else subset)
    return [
        Statement(
            f"Graded response model of {axis}{'' if on == ['all items'] else f' on {listed(on)}'}: {note}.", 0.0, axis,
            "grm_a",
        )
        for (axis, note), on in where.items()
    ]  # fmt: skip


def _below(row: Row, bound: float, among: int) -> bool:
    """Return whether a value lies below a bound, its interval widened for the number examined (Bonferroni)."""
    from scipy.special import ndtri

    if row.ci_high is None:
        return False
    wider = float(ndtri(1 - 0.025 / among)) / NORMAL_95
    return row.value + wider * (row.ci_high - row.value) < bound


def _named(rows: Sequence[Row], symbol: str = "H_j") -> str:
    """Name groups with their values; raters are only counted."""
    if names_raters(rows[0].axis):
        return _members(rows[0].axis, len(rows))
    names = (
        f"{named(row.axis, row.group)} ({symbol} {row.value:.2f}, {row.ci_low:.2f} to {row.ci_high:.2f} over items)"
        for row in rows
    )
    return listed(names, NAMED)


def _over_items(row: Row) -> str:
    """Write a value with its interval, which holds for these raters, over items."""
    return value_text(row).replace(")", " over items)")


def _members(axis: str, n: int) -> str:
    return counted(n, "rater") if names_raters(axis) else f"{counted(n, 'group')} of {axis}"
