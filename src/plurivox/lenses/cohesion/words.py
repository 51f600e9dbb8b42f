"""What cohesion found, in sentences: agreement, noise and view are kept apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from plurivox.base.wording import NO_GROUPS, counted, named
from plurivox.infer.claims import (
    Claimed,
    beside_chance,
    group_statements,
    interval_words,
    rests_on,
    value_beside_chance,
    values_of,
)
from plurivox.infer.result import Row, Statement, p_text
from plurivox.infer.weighting import weighted_statements

if TYPE_CHECKING:
    from plurivox.lenses.cohesion.result import Cohesion

VIEW = "view_correlation"
OWN_VIEW = "have a view of their own"


def statements(result: Cohesion) -> list[Statement]:
    """Return how far raters agree, which groups stand apart, which axis divides them, and what was withheld."""

    def claimed(rows: Sequence[Row]) -> Claimed:
        return _claimed(result, {row.statistic: row for row in rows})

    def notable(row: Row) -> str:
        habit, value = _habit(result, row), beside_chance(row, result.settings)
        return f"Before correction only: {named(row.axis, row.group)} {habit}: {value}."

    said = group_statements(result, claimed, notable, result.held_rows)
    without = [] if result.axes else [Statement(NO_GROUPS, 0.0)]
    weighted = weighted_statements(result.settings, result.rows, "irr")
    said = _overall(result) + said + _divides(result)
    return said + _level(result) + weighted + without + result.withheld_statement()


def _overall(result: Cohesion) -> list[Statement]:
    row = next((row for row in result.rows if (row.axis, row.statistic) == ("all", "irr")), None)
    if row is None or math.isnan(row.value):
        return []
    text = f"All raters together: alpha {interval_words(row, result.settings)}, {result.settings['level']} level."
    return [Statement(text, 2.2, statistic="irr", group="all")]


def _claimed(result: Cohesion, rows: dict[str, Row]) -> Claimed:
    """Say what is claimed about a group, and by which value: a view of its own, agreement, or what may cause both."""
    first = next(iter(rows.values()))
    name, view = named(first.axis, first.group), _view(result, first)
    own_view = VIEW in rows and _own_view(result, rows[VIEW])
    if own_view:
        text = f"{name} {OWN_VIEW}: {beside_chance(rows[VIEW], result.settings)}."
        gai = rows.get("gai")
        if gai is not None:
            text += f" They {_habit(result, gai)}: {beside_chance(gai, result.settings)}."
        return Claimed(text, rows[VIEW], OWN_VIEW, value_beside_chance(rows[VIEW]))
    order = [rows[one] for one in ("gai", "xrr", "irr", VIEW) if one in rows]
    text = f"{name} {_habit(result, order[0])}: {beside_chance(order[0], result.settings)}."
    if order[0].statistic in ("gai", "irr") and view is not None and not math.isnan(view.value):
        text += (
            f" This need not mean a different view: less or more noise has the same effect, and their item means "
            f"correlate {interval_words(view, result.settings)} with the others'."
        )
    return Claimed(text, order[0], _habit(result, order[0]), value_beside_chance(order[0]))


def _view(result: Cohesion, row: Row) -> Row | None:
    found = (one for one in result.rows if (one.axis, one.group, one.statistic) == (row.axis, row.group, VIEW))
    return next(found, None)


def _own_view(result: Cohesion, row: Row) -> bool:
    """Return whether a group's view differs by more than leniency and spread cause on a bounded scale."""
    same = result.settings["same_view"]
    return row.direction == "below" and row.ci_high is not None and row.ci_high < same


def _habit(result: Cohesion, row: Row) -> str:
    """Say how a value differs from that of a random group of the same size."""
    more = "more" if row.direction == "above" else "less"
    chance = "a random group of that size would"
    if row.statistic == "gai":
        if row.direction == "above" and row.value > 1:
            return "agree with each other more than with others, and more so than a random group would"
        return f"agree with each other, compared with others, {more} than {chance}"
    if row.statistic == "irr":
        return f"agree with each other {more} than {chance}"
    if row.statistic == "xrr":
        return f"agree with the others {more} than {chance}"
    if row.direction == "below":
        return f"order items less like the others than {chance}, which leniency or spread alone can cause"
    return f"order items more like the others than {chance}"


def _divides(result: Cohesion) -> list[Statement]:
    """Say which axis divides the raters, if one does."""
    ranked = [row for row in result.ranked_axes() if row.claim]
    if not ranked:
        return []
    most, n = ranked[0], len(result.axes)
    among = f", the most certain of {counted(n, 'attribute')} and crossings" if n > 1 else ""
    text = (
        f"{most.axis} divides the raters{among}: its largest GAI, {most.value:.2f} for {named(most.axis, most.group)}, "
        f"is larger than shuffled raters reach on any of them, {p_text(most.p_adjusted or 0.0)}."
    )
    basis = rests_on(result.settings, most, len(values_of(result, ("gai",))))
    return [Statement(text, 2.95, most.axis, "dsi", most.group, True, most.p_adjusted, basis, most.n_permutations,
                      most.axis, "divides the raters", f"DSI {most.value:.2f}")]  # fmt: skip


def _level(result: Cohesion) -> list[Statement]:
    if not result.settings.get("level_note"):
        return []
    return [Statement(result.settings["level_note"], 0.0, statistic="irr")]
