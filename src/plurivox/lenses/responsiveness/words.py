"""What responsiveness found, in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from plurivox.base.wording import NO_GROUPS, are, counted, named
from plurivox.domain.scale_names import Poles
from plurivox.infer.claims import (
    Claimed,
    beside_chance,
    group_statements,
    interval_words,
    rests_on,
    value_beside_chance,
)
from plurivox.infer.result import Row, Statement, p_text, weight_of
from plurivox.infer.weighting import weighted_statements
from plurivox.lenses.responsiveness.verdicts import verdicts
from plurivox.statistics.registry import LABELS, names_of, with_trait

if TYPE_CHECKING:
    from plurivox.lenses.responsiveness.result import Responsiveness


_RANDOM = "a random group of that size would"


def statements(result: Responsiveness) -> list[Statement]:
    """Return the values of all raters, which groups and families stand out, and what was left out or withheld."""

    def claimed(rows: Sequence[Row]) -> Claimed:
        where = "" if rows[0].subset == "all" else f"On {rows[0].subset}, "
        own = [row for row in rows if row.statistic in with_trait("stated")] or rows
        habits = "; they ".join(f"{_habit(result, row)}: {beside_chance(row, result.settings)}" for row in own)
        text = f"{where}{named(rows[0].axis, rows[0].group)} {habits}."
        return Claimed(text, own[0], _habit(result, own[0]), value_beside_chance(own[0]))

    def notable(row: Row) -> str:
        habit, value = _habit(result, row), beside_chance(row, result.settings)
        return f"Before correction only: {named(row.axis, row.group)} {habit}: {value}."

    sentences = _overall(result) + _families(result) + group_statements(result, claimed, notable, result.held_rows)
    if result.tables:
        found_beside = result.psychometrics().statements()
        sentences += [one for one in found_beside if one.statistic not in ("withheld", "reminder")]
    sentences += _against(result) + _without_groups(result)
    sentences += weighted_statements(result.settings, result.rows, "wra")
    return sentences + _each_rater(result) + _left_out(result) + result.withheld_statement()


def _without_groups(result: Responsiveness) -> list[Statement]:
    """Say so where there are no groups, and what else to try if the crowd itself was to be the reference."""
    if result.axes:
        return []
    alone = (
        "All raters together are the crowd, so nobody is left to compare them with. Compare each rater with the others "
        'by --by rater (by="rater"), or all of them with trained raters by --reference FILE.'
    )
    crowd = result.settings["reference"]["kind"] == "crowd"
    return [Statement(text, 0.0) for text in (NO_GROUPS, *([alone] if crowd else ()))]


def _against(result: Responsiveness) -> list[Statement]:
    """Return the groups whose scores surely run against the reference."""
    poles = Poles.of(result.settings)
    return [
        Statement(
            f"The scores of {named(one.axis, one.group)} run against the reference: higher ones go with what it calls "
            f"{poles.low}, AUROC {interval_words(one.auroc, result.settings)}, {p_text(one.p_against)} after "
            "correction over the groups.",
            2.8, one.axis, "auroc", one.group,
        )
        for one in verdicts(result.rows, result.settings).values()
        if one.against
    ]  # fmt: skip


def _overall(result: Responsiveness) -> list[Statement]:
    mpa, wra = (result.row("all", "all", name) for name in ("mpa", "wra"))
    if math.isnan(mpa.value):
        return []
    text = (
        f"All raters together, against {result.settings['reference']['name']}: MPA "
        f"{interval_words(mpa, result.settings)}, WRA {interval_words(wra, result.settings)}."
    )
    return [Statement(text, 2.2, statistic="mpa", group="all")]


def _families(result: Responsiveness) -> list[Statement]:
    """Return the families whose groups all lie below, or above, all others, beyond what chance gives."""
    rows = [row for row in result.rows if row.kind == "family" and row.statistic in names_of("main") and row.tested]
    return [
        Statement(
            f"{row.group.rpartition(', all')[0]} have {'lower' if 'lowest' in row.group else 'higher'} "
            f"{LABELS[row.statistic]} than every other group of {row.axis}, {p_text(row.p_adjusted or 0.0)} after "
            "correction.",
            weight_of(row), row.axis, row.statistic, row.group, True, row.p_adjusted,
            rests_on({**result.settings, "correction": "holm"}, row, len(rows)), row.n_permutations,
            row.group.rpartition(", all")[0],
            f"have {'lower' if 'lowest' in row.group else 'higher'} {LABELS[row.statistic]} than every other group of "
            f"{row.axis}",
        )
        for row in rows
        if row.subset == "all" and ", all " in row.group and row.value > 0 and row.claim
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
    text = f"{counted(n_raters, 'individual rater')}: {'; '.join(parts) or 'no value is defined'}."
    return [Statement(text, 2.1, "rater", "mpa")]


def _left_out(result: Responsiveness) -> list[Statement]:
    """Return how many items are left out and why."""
    reference, sentences = result.settings["reference"], []
    missing, unsorted = reference["n_items_without"], result.settings["n_items_in_no_subset"]
    if missing:
        have, total = "has" if missing == 1 else "have", counted(reference["n_items"] + missing, "item")
        sentences.append(f"{missing:,} of {total} {have} no reference and {are(missing)} left out.")
    if unsorted:
        items = "1 item has" if unsorted == 1 else f"{unsorted:,} items have"
        sentences.append(f"{items} no value for {result.settings['items_by']}: in no part, but included in the whole.")
    return [Statement(text, 0.0) for text in sentences]


def _habit(result: Responsiveness, row: Row) -> str:
    above, poles = row.direction == "above", Poles.of(result.settings)
    if row.statistic == "mpa":
        return f"{poles.fill('grade from {low} to {high}')} {'more' if above else 'less'} finely than {_RANDOM}"
    if row.statistic == "wra":
        return f"{poles.fill('tell {high} from {low}')} {'better' if above else 'worse'} than {_RANDOM}"
    what = poles.fill("grade from {low} to {high} and tell them apart, taken together,")
    return f"{what} {'better' if above else 'worse'} than {_RANDOM}"
