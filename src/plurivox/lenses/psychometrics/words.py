"""What psychometrics says, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plurivox.axis import names_raters
from plurivox.lenses.psychometrics.scales import LEFT_OUT, MANY
from plurivox.results.poles import Poles
from plurivox.results.result import Row, Statement, value_text
from plurivox.results.wording import counted, listed
from plurivox.statistics.graded import DOUBTFUL
from plurivox.statistics.mokken import STRENGTHS

if TYPE_CHECKING:
    from plurivox.lenses.psychometrics.result import Psychometrics

LARGER = 1.5
"""A group with so many times the raters of another is said to be less noisy."""
SERIOUS = 80
"""The crit from which on violations of monotonicity are called serious."""
WEAK = STRENGTHS[-1][0]
REMINDER = "A low value is a reason to look, at instructions and scale, never one to drop a group."
NAMED = 3
"""Groups that a sentence names; others are counted."""


def statements(result: Psychometrics) -> list[Statement]:
    """Return how well raters or groups go together, who stands apart, and what to beware of."""
    found: list[Statement] = []
    for axis in result.axes:
        rows = [row for row in result.rows if (row.axis, row.subset) == (axis, "all")]
        if axis in result.settings["several"]:
            continue  # groups that share raters go together for that alone
        found += _scale(axis, rows) + _apart(result, axis, rows) + _sharpest(axis, rows, Poles.of(result.settings))
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
    text = f"The {_members(axis, len(own))} {words}: H {value_text(scale)}{apart}."
    return [Statement(text, 1.3, axis, "mokken_h")]


def _apart(result: Psychometrics, axis: str, rows: Sequence[Row]) -> list[Statement]:
    """Return who goes little with the others, and whose scores fall where those of others rise."""
    bound = result.settings["lower_bound"]
    low = [row for row in rows if row.kind != "scale" and row.statistic == "mokken_h" and _below(row, bound)]
    falling = [row for row in rows if row.statistic == "grm_a" and _below(row, 0.0)]
    sentences = []
    if low:
        stay = "stays" if len(low) == 1 else "stay"
        text = f"{_named(low)} surely {stay} below an H_j of {bound:g}: another order of items, or more noise."
        sentences.append(Statement(text, 1.25, axis, "mokken_h"))
    if falling and not _doubtful(result, axis):
        more = Poles.of(result.settings).more
        text = f"The scores of {_named(falling, 'a')} fall as items get {more}: the scale may be read upside down."
        sentences.append(Statement(text, 1.9, axis, "grm_a"))
    return sentences


def _doubtful(result: Psychometrics, axis: str) -> bool:
    notes = result.fits().filter((pl.col("axis") == axis) & (pl.col("subset") == "all"))["note"]
    return any(DOUBTFUL in note for note in notes)


def _sharpest(axis: str, rows: Sequence[Row], poles: Poles) -> list[Statement]:
    """Return whose scores rise most and least sharply, if all have an interval and these two do not overlap."""
    own = [row for row in rows if row.statistic == "grm_a" and row.kind == "group" and not np.isnan(row.value)]
    if len(own) < 2 or names_raters(axis) or any(row.ci_low is None or row.value <= 0 for row in own):
        return []
    high, low = max(own, key=lambda row: row.value), min(own, key=lambda row: row.value)
    if (high.ci_low or 0.0) <= (low.ci_high or 0.0):
        return []
    noise = "; larger groups are less noisy" if high.n_raters > LARGER * low.n_raters else ""
    text = (
        f"Of {axis}, the scores of {high.group} rise most sharply as items get {poles.more}, a {value_text(high)}, "
        f"those of {low.group} least, {value_text(low)}{noise}."
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
        inside = f"{len(scales) - outside} of the {_members(axis, len(scales))} go into {max(scales)} {word}"
        bound = result.settings["lower_bound"]
        text = f"By Mokken's selection, {inside} with H_j of {bound:g} or more; close to that, chance decides."
        found.append(Statement(text, 1.1, axis, "mokken_h"))
    return found


def _left_out(axis: str, rows: Sequence[Row]) -> list[Statement]:
    if not any(row.note == LEFT_OUT for row in rows):
        return []
    many = f"above {MANY} of them, or with very many items"
    text = f"Mokken's H_j and the discrimination of {axis} are left out {many}; plurivox scale has them."
    return [Statement(text, 0.0, axis, "mokken_h")]


def _flagged(result: Psychometrics) -> list[Statement]:
    """Return what is to be said of the fits themselves."""
    found = []
    for axis, subset, note in result.fits().select("axis", "subset", "note").iter_rows():
        if note:
            where = axis if subset == "all" else f"{axis} on {subset}"
            found.append(Statement(f"Graded response model of {where}: {note}.", 0.0, axis, "grm_a"))
    return found


def _below(row: Row, bound: float) -> bool:
    return row.ci_high is not None and row.ci_high < bound


def _named(rows: Sequence[Row], symbol: str = "H_j") -> str:
    """Name groups with their values; raters are counted only."""
    if names_raters(rows[0].axis):
        return _members(rows[0].axis, len(rows))
    names = (f"{row.group} ({symbol} {row.value:.2f}, {row.ci_low:.2f} to {row.ci_high:.2f})" for row in rows)
    return listed(names, NAMED)


def _members(axis: str, n: int) -> str:
    return counted(n, "rater") if names_raters(axis) else f"{counted(n, 'group')} of {axis}"
