"""What aggregation found, in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from plurivox.base.wording import NO_GROUPS, counted, in_words, listed, named, resampled
from plurivox.infer.claims import Claimed, digits, group_statements
from plurivox.infer.result import Row, Statement, p_text
from plurivox.infer.weighting import weighted_statements
from plurivox.lenses.aggregate.settings import SAID

if TYPE_CHECKING:
    from plurivox.lenses.aggregate.result import Aggregation

ONE_TRUTH = (
    "Every method here assumes that an item has one true label, and treats other ratings as errors. Where raters "
    "differ in what they see, the label is only one of several views."
)
MORE = "--max-iterations (max_iterations=)"


def statements(result: Aggregation) -> list[Statement]:
    """Return which groups labels depart from, where methods differ, and what was withheld."""

    def claimed(rows: Sequence[Row]) -> Claimed:
        return Claimed(_claim(result, rows), rows[0], *_short(rows[0]))

    def notable(row: Row) -> str:
        if row.survives:
            return f"{_lies(result, row)}. Nothing is claimed, since a noisier group can also look like this."
        return f"Before correction only: {_lies(result, row).replace('Labels', 'labels', 1)}."

    said = group_statements(result, claimed, notable, _of_surest(result))
    without = [] if result.axes else [Statement(NO_GROUPS, 0.0)]
    told = [Statement(ONE_TRUTH, 1.6, statistic="assumption")]
    beside = _fits(result) + _tied(result) + weighted_statements(result.settings, result.rows, "departure")
    return said + _differing(result) + told + beside + without + result.withheld_statement()


def _of_surest(result: Aggregation) -> list[Row]:
    """Return claims tested again: for each group, those of the method with its surest claim."""
    claims = [row for row in result.rows if row.claim and row.kind == "group"]
    surest: dict[tuple[str, str], Row] = {}
    for row in sorted(claims, key=lambda row: (row.p_adjusted or 0.0, row.p_value or 0.0)):
        surest.setdefault((row.axis, row.group), row)
    return [row for row in result.held_rows if surest[row.axis, row.group].model == row.model]


def _claim(result: Aggregation, rows: Sequence[Row]) -> str:
    """Say how far the labels of the surest method lie from a group, and for which other methods this also holds."""
    first = rows[0]
    others = [SAID[row.model] for row in rows[1:]]
    also = f"; so do labels by {listed(others)}" if others else ""
    return f"{_lies(result, first)}{also}. {_beside(result, first)}"


def _lies(result: Aggregation, row: Row) -> str:
    how = "further from" if row.direction == "above" else "closer to"
    form, p = digits(row), row.p_adjusted if row.claim else row.p_value
    ends = ""
    if row.ci_low is not None and row.ci_high is not None and not math.isnan(row.ci_low):
        ends = f" ({row.ci_low:{form}} to {row.ci_high:{form}} over {resampled(result.settings)})"
    chance = "" if row.null_median is None else f", where chance gives about {row.null_median:{form}}"
    after = " after correction" if row.claim else ""
    return (
        f"Labels by {SAID[row.model]} lie {how} what {named(row.axis, row.group)} say than chance explains: "
        f"{row.value:{form}} points{ends}{chance}, {p_text(p or 0.0)}{after}"
    )


def _beside(result: Aggregation, row: Row) -> str:
    """Say how often the majority of a group is overruled, and to which side."""
    overruled = result.value(row.axis, row.group, "overruled", method=row.model)
    shift = result.value(row.axis, row.group, "label_shift", method=row.model)
    side = f"{abs(shift):.2f} points {'above' if shift > 0 else 'below'} the label"
    return (
        f"For {100 * overruled:.0f} % of their items, the label is not the group's own most frequent point, and their "
        f"mean lies {side} on average."
    )


def _short(row: Row) -> tuple[str, str]:
    """Say the same in a few words, and how much."""
    return "see items differently from their labels", f"by {row.value:.2f} points"


def _differing(result: Aggregation) -> list[Statement]:
    """Say on how many items methods differ among themselves, and which two differ most."""
    frame, pairs = result.labels().drop_nulls("agreed"), result.differing()
    if not pairs.height or not frame.height:
        return []
    n = int((~frame["agreed"]).sum())
    text = (
        f"The {in_words(len(result.settings['methods']))} methods give different labels to {n:,} of "
        f"{counted(frame.height, 'item')} ({100 * n / frame.height:.0f} %)"
    )
    if n and pairs.height > 1:
        top = pairs.sort("n_differ", "method", "other", descending=[True, False, False]).row(0, named=True)
        text += f"; {SAID[top['method']]} and {SAID[top['other']]} differ most, on {counted(top['n_differ'], 'item')}"
    return [Statement(f"{text}.", 2.2, statistic="differing", group="all")]


def _fits(result: Aggregation) -> list[Statement]:
    """Say which models did not converge."""
    said = "{} did not converge after {}: its labels may still change. Allow more with {}."
    return [
        Statement(said.format(_capital(SAID[row["method"]]), counted(row["iterations"], "round"), MORE), 1.8,
                  statistic="methods", standing="open")
        for row in result.methods().iter_rows(named=True) if row["converged"] is False
    ]  # fmt: skip


def _tied(result: Aggregation) -> list[Statement]:
    """Say how many items have several points that most raters gave."""
    row = next((row for row in result.methods().iter_rows(named=True) if row["method"] == "plurality"), None)
    if row is None or not row["n_tied"]:
        return []
    text = (
        f"{row['n_tied']:,} of {counted(row['n_items'], 'item')} {'has' if row['n_tied'] == 1 else 'have'} several "
        "most frequent points; the one nearest to the mean of the ratings is used."
    )
    return [Statement(text, 0.5, statistic="methods")]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
