"""What responsiveness says, in sentences."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from plurivox.results.poles import Poles
from plurivox.results.result import SIGNIFICANT, Row, Statement, p_text, stated, survival, value_text, weight_of
from plurivox.statistics.registry import LABELS, names_of, with_trait

if TYPE_CHECKING:
    from plurivox.lenses.responsiveness.result import Responsiveness


_RANDOM = "a random group of that size would"


def statements(result: Responsiveness) -> list[Statement]:
    """Return the value of all raters, which groups and families stand out, and what was left out or withheld."""
    tested = {name: _tested(result, name) for name in with_trait("stated")}
    found = [row for rows in tested.values() for row in rows if (row.p_value or 0.0) < SIGNIFICANT]
    found.sort(key=lambda row: (row.p_adjusted or 0.0, row.p_value or 0.0))
    sentences = _overall(result) + _families(result)
    for name, rows in tested.items():
        whole = [row for row in found if row.statistic == name and row.subset == "all"]
        sentences += stated(whole, len(rows), functools.partial(_sentence, poles=Poles.of(result.settings)))
    on_parts = [row for row in found if row.subset != "all" and row.survives]
    sentences += _on_parts(on_parts, Poles.of(result.settings))
    if any(tested.values()) and not found:
        numbers = " and ".join(f"{len(rows)} {LABELS[name]}" for name, rows in tested.items())
        text = f"No group stands out from chance: none of {numbers} values has p < .05."
        sentences.append(Statement(text, 2.0, statistic="mpa"))
    if result.tables:
        found_beside = result.psychometrics().statements()
        sentences += [one for one in found_beside if one.statistic not in ("withheld", "reminder")]
    return sentences + _each_rater(result) + _left_out(result) + result.withheld_statement()


def _overall(result: Responsiveness) -> list[Statement]:
    mpa, wra = (result.row("all", "all", name) for name in ("mpa", "wra"))
    if math.isnan(mpa.value):
        return []
    text = (
        f"All raters together, against {result.settings['reference']['name']}: MPA {value_text(mpa)}, "
        f"WRA {value_text(wra)}."
    )
    return [Statement(text, 2.2, statistic="mpa")]


def _families(result: Responsiveness) -> list[Statement]:
    """Return the families of which all groups lie below, or above, all others, more than chance would put them."""
    return [
        Statement(
            f"{row.group.rpartition(', all')[0]} have {'lower' if 'lowest' in row.group else 'higher'} "
            f"{LABELS[row.statistic]} than every other group of {row.axis}, {p_text(row.p_value or 0.0)}.",
            weight_of(row), row.axis, row.statistic,
        )
        for row in result.rows
        if row.kind == "family" and row.statistic in names_of("main") and row.subset == "all"
        and ", all " in row.group and row.value > 0 and row.tested and row.survives
    ]  # fmt: skip


def _each_rater(result: Responsiveness) -> list[Statement]:
    own = [row for row in result.rows if row.kind == "rater" and row.subset == "all"]
    if not own:
        return []
    parts = []
    for name in with_trait("stated"):
        values = [row.value for row in own if row.statistic == name and not math.isnan(row.value)]
        if values:
            low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
            parts.append(f"{LABELS[name]} {low:.2f} to {high:.2f} (middle 80 %), median {middle:.2f}")
    n_raters = len({row.group for row in own})
    text = f"{n_raters:,} raters one by one: {'; '.join(parts) or 'no value is defined'}."
    return [Statement(text, 2.1, "rater", "mpa")]


def _left_out(result: Responsiveness) -> list[Statement]:
    """Return how many items are left out and why."""
    reference, sentences = result.settings["reference"], []
    missing, unsorted = reference["n_items_without"], result.settings["n_items_in_no_subset"]
    if missing:
        items = "1 item has" if missing == 1 else f"{missing:,} items have"
        sentences.append(f"{items} no reference and count for nothing, of {reference['n_items'] + missing:,}.")
    if unsorted:
        items = "1 item has" if unsorted == 1 else f"{unsorted:,} items have"
        sentences.append(f"{items} no value of {result.settings['items_by']}, in no part but in the whole.")
    return [Statement(text, 0.0) for text in sentences]


def _tested(result: Responsiveness, statistic: str) -> list[Row]:
    return [row for row in result.rows if row.kind == "group" and row.statistic == statistic and row.tested]


def _habit(row: Row, poles: Poles) -> str:
    above = row.direction == "above"
    if row.statistic == "mpa":
        return f"{poles.fill('grade from {low} to {high}')} {'more' if above else 'less'} finely than {_RANDOM}"
    return f"{poles.fill('tell {high} from {low}')} {'better' if above else 'worse'} than {_RANDOM}"


def _sentence(row: Row, n_tested: int, poles: Poles) -> str:
    return (
        f"{row.group} {_habit(row, poles)}: {LABELS[row.statistic]} {value_text(row)} where chance gives about "
        f"{row.null_median:.2f}, {p_text(row.p_value or 0.0)}, {survival(row, n_tested, 'value')}."
    )


def _on_parts(rows: list[Row], poles: Poles) -> list[Statement]:
    """Return one sentence for each group and statistic that stands out on parts of the items."""
    parts: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        parts.setdefault((row.axis, row.group, _habit(row, poles)), []).append(row)
    statements = []
    for (axis, group, habit), found in parts.items():
        where = ", ".join(
            f"{row.subset} ({LABELS[row.statistic]} {row.value:.2f}, chance {row.null_median:.2f})" for row in found
        )
        text = f"{group} {habit} on {where}, after correction."
        statements.append(Statement(text, weight_of(found[0]) - 1.5, axis, found[0].statistic))
    return statements
