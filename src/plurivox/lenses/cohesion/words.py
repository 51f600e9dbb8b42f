"""What cohesion says, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plurivox.results.result import SIGNIFICANT, Row, Statement, p_text, stated, survival

if TYPE_CHECKING:
    from plurivox.lenses.cohesion.result import Cohesion


def statements(result: Cohesion) -> list[Statement]:
    """Return which groups stand out, which axis divides most, and what was withheld."""
    tested = [row for row in result.rows if row.kind == "group" and row.statistic == "gai" and row.tested]
    found = [row for row in tested if (row.p_value or 0.0) < SIGNIFICANT]
    found.sort(key=lambda row: (row.p_adjusted or 0.0, row.p_value or 0.0))
    sentences = stated(found, len(tested), _sentence)
    if tested and not found:
        text = f"No group stands out from chance: none of {len(tested)} GAI values has p < .05."
        sentences.append(Statement(text, 2.0, statistic="gai"))
    most = next(iter(result.ranked_axes()), None)
    if most is not None and most.p_value is not None and most.p_value < SIGNIFICANT:
        text = (
            f"{most.axis} divides the raters most: its largest GAI, {most.value:.2f} of {most.group}, "
            f"is more than shuffled raters reach, {p_text(most.p_value)}."
        )
        sentences.append(Statement(text, 2.5, most.axis, "dsi"))
    return sentences + result.withheld_statement()


def _sentence(row: Row, n_tested: int) -> str:
    if row.direction == "above":
        others = "others" if row.value > 1 else "a random group of that size would"
        what = f"agree with each other more than {'with ' if row.value > 1 else ''}{others}"
    else:
        what = "agree with each other less than a random group of that size would"
    interval = "" if row.ci_low is None or row.ci_high is None else f" ({row.ci_low:.2f} to {row.ci_high:.2f})"
    return (
        f"{row.group} {what}: GAI {row.value:.2f}{interval} where chance gives about {row.null_median:.2f}, "
        f"{p_text(row.p_value or 0.0)}, {survival(row, n_tested)}."
    )
