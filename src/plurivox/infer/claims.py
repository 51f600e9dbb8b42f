"""When a value becomes a sentence: what is said about groups that stand apart, in every lens that compares them.

A reader takes each sentence for a finding, so what it may say depends on what its p-value can bear::

    claimed      the right null hypothesis, p < .05 after correction, and no more shuffles could change that
    undecided    after correction too close to .05 for the shuffles that were made
    notable      p < .05 before correction only: the first few, beside how many chance alone would give
    blocked      who rated what depends on the group, so that a difference may come from the items: nothing is claimed
    nothing      no value stands out; said once, with the smallest p, since a small study finds little, too
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from plurivox.base.wording import counted, in_words, listed, named, resampled
from plurivox.domain.answers import Voice
from plurivox.domain.axis import CROSS
from plurivox.domain.panel import PanelSummary
from plurivox.domain.ratings import Ratings
from plurivox.infer.exchange import ENTANGLED
from plurivox.infer.result import FEW, GroupResult, Row, Statement, p_text, weight_of
from plurivox.infer.view import SCORE, View, written
from plurivox.statistics.registry import LABELS, with_trait

CORRECTIONS = {
    "maxt": "the largest deviation in each shuffle (max-T)", "bh": "Benjamini and Hochberg", "by": "Benjamini and "
    "Yekutieli", "holm": "Holm", "bonferroni": "Bonferroni", "none": "nothing",
}  # fmt: skip


ALL = "all raters shuffled"


class Claimed(NamedTuple):
    """What is claimed about a group: the sentence, the value that it is about, and the same in a few words."""

    text: str
    row: Row
    short: str
    amount: str


def shuffling(settings: Mapping[str, Any]) -> str:
    """Say who was shuffled with whom."""
    design = settings.get("design", {})
    if design.get("kind") == "within":
        return f"raters shuffled within {listed(design['within'])}"
    if design.get("kind") == "blocks" and (design["blocks"] > 1 or design["raters_fixed"]):
        stay = f", {counted(design['raters_fixed'], 'rater')} left in place" if design["raters_fixed"] else ""
        return f"raters shuffled within {counted(design['blocks'], 'block')} of those who saw the same items{stay}"
    return ALL


def rests_on(settings: Mapping[str, Any], row: Row, n_tested: int) -> str:
    """Say what a p-value rests on: who was shuffled, how often, and over what it was corrected."""
    return (
        f"{shuffling(settings)}, {row.n_permutations or settings['permutations']:,} times; corrected over "
        f"{counted(n_tested, 'value')} by {CORRECTIONS[settings['correction']]}"
    )


def values_of(result: GroupResult, statistics: Iterable[str] | None = None) -> list[Row]:
    """Return the tested values of groups, of statistics that make claims unless others are meant."""
    names = tuple(with_trait("claims") if statistics is None else statistics)
    return [row for row in result.rows if row.kind == "group" and row.statistic in names and row.tested]


def group_statements(
    result: GroupResult, claimed: Callable[[Sequence[Row]], Claimed], notable: Callable[[Row], str],
    held: Sequence[Row] = (),
) -> list[Statement]:  # fmt: skip
    """Return what is claimed about groups, what is undecided, why nothing may be claimed, and what is only notable.

    Parameters
    ----------
    claimed
        From the claimed values of one group on one set of items, the surest first, to what is said about it.
    notable
        From a value that does not survive correction to a sentence.
    held
        Claims tested again within other attributes.
    """
    tested = values_of(result)
    claims: dict[tuple[str, str, str], list[Row]] = {}
    for row in sorted(tested, key=lambda row: tuple(1.0 if p is None else p for p in (row.p_adjusted, row.p_value))):
        if row.claim:
            claims.setdefault((row.axis, row.group, row.subset), []).append(row)
    said = []
    for rows in claims.values():
        text, first, short, amount = claimed(rows)
        text += _also_within(first, held)
        whole = first.subset == _all_items(result)
        weight = weight_of(first) - (0.0 if whole else 0.5)
        said.append(
            Statement(
                text, weight, first.axis, first.statistic, first.group, True, first.p_adjusted,
                rests_on(result.settings, first, len(tested)), first.n_permutations, named(first.axis, first.group),
                short, amount, "all" if whole else first.subset,
            )
        )  # fmt: skip
    said += entangled_statements(result.settings, (row.axis for row in tested)) + _undecided(result, tested)
    if tested and not claims:
        said.append(_nothing(result, tested))
    said += _notable(result, tested, notable)
    if tested and (words := shuffling(result.settings)) != ALL:
        said.append(Statement(f"Permutation tests: {words}.", 0.0, statistic="exchange"))
    return said


def _all_items(result: GroupResult) -> str:
    """Return what the whole set of items is called: one of several questions has its name."""
    name: str = result.settings.get("question", "all")
    return name


def _also_within(row: Row, held: Sequence[Row]) -> str:
    """Return whether a claim also holds within the other attributes of the call."""
    own = [
        one for one in held
        if (one.axis, one.group, one.statistic, one.subset) == (row.axis, row.group, row.statistic, row.subset)
    ]  # fmt: skip
    holds = [one.other for one in own if one.survives and one.direction == row.direction]
    others = [one.other for one in own if one.other not in holds]
    found = f" This also holds within {listed(holds)}." if holds else ""
    return found + (f" It cannot be told apart from {listed(others, word='or')} here." if others else "")


def entangled_axes(settings: Mapping[str, Any]) -> list[str]:
    """Return the axes on which nothing may be claimed because who rated what depends on the group."""
    axes = settings.get("design", {}).get("axes", {})
    return [axis for axis, found in axes.items() if found["entangled"]]


def entangled_statements(settings: Mapping[str, Any], tested: Iterable[str]) -> list[Statement]:
    """Say on which of the tested axes nothing is claimed because who rated what depends on the group."""
    said, known = [], set(tested)
    for axis in entangled_axes(settings):
        found = settings["design"]["axes"][axis]
        if axis in known:
            reasons = [
                f"{what}, {p_text(found[name])}"
                for name, what in (("exposure", "which items raters saw"), ("workload", "how many items they rated"))
                if found[name] <= ENTANGLED
            ]
            text = (
                f"No difference by {axis} is claimed: who rated what depends on it ({'; '.join(reasons)}), so a "
                "difference may come from the items. If raters were assigned by batch or region, name that attribute "
                "with --within (within=); or compare groups on items that all of them rated equally often."
            )
            short = "is entangled with who rated what, so no difference by it is claimed"
            said.append(Statement(text, 2.9, axis, "design", subject=axis, short=short, standing="open"))
    return said


def _undecided(result: GroupResult, tested: Sequence[Row]) -> list[Statement]:
    """Say which values are too close to .05 for the shuffles that were made."""
    rows = [row for row in tested if row.undecided and not _blocked(result, row)]
    if not rows:
        return []
    parts = {row.subset: f" on {row.subset}" for row in rows if row.subset != _all_items(result)}
    said = [f"{LABELS[row.statistic]} of {named(row.axis, row.group)}{parts.get(row.subset, '')}" for row in rows]
    names, first = listed(dict.fromkeys(said), FEW), rows[0]
    n = first.n_permutations or 0
    text = f"Undecided after {n:,} shuffles: {names}, with a corrected p too close to .05."
    text += " More permutations would decide."
    short = f"{'is' if len(set(said)) == 1 else 'are'} undecided after {n:,} shuffles"
    return [
        Statement(
            text, 2.4, first.axis, first.statistic, first.group, p=first.p_adjusted, standing="open",
            subject=names[:1].upper() + names[1:], short=short,
        )
    ]  # fmt: skip


def entangled_times(settings: Mapping[str, Any]) -> dict[str, float]:
    """Return the axes, with p, on which no drift may be claimed because rating times depend on the item."""
    times = settings.get("design", {}).get("times", {})
    return {axis: p for axis, p in times.items() if p <= ENTANGLED}


def _blocked(result: GroupResult, row: Row) -> bool:
    """Return whether nothing may be claimed on an axis."""
    found = entangled_times if row.statistic == "drift" else entangled_axes
    return row.axis in found(result.settings)


def _nothing(result: GroupResult, tested: Sequence[Row]) -> Statement:
    """Say that no difference is certain."""
    labels = listed((LABELS[name] for name in dict.fromkeys(row.statistic for row in tested)), word="or")
    groups = len({(row.axis, row.group) for row in tested})
    free = [row for row in tested if not _blocked(result, row)]
    least = min((row.p_adjusted for row in free if row.p_adjusted is not None), default=None)
    over = counted(len(tested), "value")
    rest = "" if least is None else f"; the smallest {p_text(least)} after correction over {over}"
    text = f"No difference between groups is certain: of {counted(groups, 'group')}, none stands out in {labels}{rest}."
    n = tested[0].n_permutations
    return Statement(
        text, 2.0, statistic=tested[0].statistic, p=least, rests_on=shuffling(result.settings), n_permutations=n,
        standing="open",
    )  # fmt: skip


def _notable(result: GroupResult, tested: Sequence[Row], sentence: Callable[[Row], str]) -> list[Statement]:
    """Return a sentence for the first few values that only stand out before correction, and count the others.

    They are counted next to what chance alone gives, so that a long list is not taken for many findings.
    """
    claimed = {(row.axis, row.group, row.subset) for row in tested if row.claim}
    whole = [row for row in tested if row.subset == _all_items(result) and not _blocked(result, row)]
    rows = [
        row for row in sorted(whole, key=lambda row: row.p_value or 0.0)
        if (row.p_value or 0.0) < 0.05 and not row.claim and (row.axis, row.group, row.subset) not in claimed
    ]  # fmt: skip
    said = [
        Statement(sentence(row), weight_of(row) if not row.survives else 1.9, row.axis, row.statistic, row.group,
                  p=row.p_adjusted, standing="weak")
        for row in rows[:FEW]
    ]  # fmt: skip
    if len(rows) > FEW:
        text = (
            f"{len(rows) - FEW} more of {len(whole)} values have p < .05 before correction only; about "
            f"{0.05 * len(whole):.0f} would by chance alone."
        )
        said.append(Statement(text, 1.0, rows[0].axis, rows[0].statistic, standing="weak"))
    return said


def interval_words(row: Row, settings: Mapping[str, Any]) -> str:
    """Write a value with its interval, and what was resampled for it."""
    form = digits(row)
    if row.ci_low is None or row.ci_high is None or math.isnan(row.ci_low):
        return f"{row.value:{form}}"
    ends = f"{row.ci_low:{form}} to {row.ci_high:{form}}".replace("inf", "∞")
    return f"{row.value:{form}} ({ends} over {resampled(settings)})"


def beside_chance(row: Row, settings: Mapping[str, Any]) -> str:
    """Write a value with its interval, what chance gives, and how unlikely that is."""
    p = row.p_adjusted if row.claim else row.p_value
    chance = "" if row.null_median is None else f" where chance gives about {row.null_median:{digits(row)}}"
    after = " after correction" if row.claim else ""
    return f"{LABELS[row.statistic]} {interval_words(row, settings)}{chance}, {p_text(p or 0.0)}{after}"


def value_beside_chance(row: Row) -> str:
    """Write a value and what chance gives, in the few words of a headline."""
    form = digits(row)
    chance = "" if row.null_median is None else f", chance {row.null_median:{form}}"
    return f"{LABELS[row.statistic]} {row.value:{form}}{chance}"


def digits(row: Row) -> str:
    """Return how many digits distinguish a value from what chance gives."""
    close = row.null_median is not None and abs(row.value - row.null_median) < 0.02
    return ".3f" if close else ".2f"


# Merging --------------------------------------------------------------------------------------------------------------
#
# Statements of one pattern as one sentence: what several groups have in common is said once.


NAMED = 4
"""The most subjects, and parts of the items, that a merged sentence names; others are counted."""


class MergedLine(NamedTuple):
    """What is said about one or several subjects, and the statements it is made from, in order."""

    text: str
    p: str
    statements: tuple[Statement, ...]


def merged(statements: Iterable[Statement], most: int = NAMED, *, amounts: bool = True) -> list[MergedLine]:
    """Return claims in a few words, merged by pattern, in the order of the first claim of each pattern.

    A crossing of attributes is counted, not named, where one of the groups it is part of is said to do the same. What a
    subject does on all items and on some parts of them is said once.
    """
    patterns: dict[str, list[Statement]] = {}
    for one in statements:
        if one.short:
            patterns.setdefault(one.short, []).append(one)
    return [_line(short, members, most, amounts) for short, members in patterns.items()]


def _line(short: str, members: Sequence[Statement], most: int, amounts: bool) -> MergedLine:
    subjects: dict[str, list[Statement]] = {}
    for one in members:
        subjects.setdefault(one.subject, []).append(one)
    groups = [_values(one) for one in members]
    named = [
        own for own in subjects.values()
        if len(parts := _values(own[0])) == 1 or not any(parts > other for other in groups)
    ]  # fmt: skip  # the others are crossings that do the same as a group that they are part of
    alone = len(named) == 1
    names = [named[0][0].subject] if alone else [_subject(own, most, amounts) for own in named]
    text = f"{listed(names, most)} {short}"
    text = f"T{text[1:]}" if text.startswith("the ") else text  # names of models and groups stay as they are
    if alone:
        text += f", {named[0][0].amount}" if amounts and named[0][0].amount else ""
        text += _parts(named[0], most)
    implied = len(subjects) - len(named)
    if implied:
        which = "one crossing" if implied == 1 else f"{in_words(implied)} crossings"
        text += f"; so {'does' if implied == 1 else 'do'} {which} with other attributes"
    known = [one.p for one in members if one.p is not None]
    p = f"{p_text(max(known))}{' or less' if len(known) > 1 and max(known) >= 0.001 else ''}" if known else ""
    return MergedLine(text, p, tuple(members))


def _subject(own: Sequence[Statement], most: int, amounts: bool) -> str:
    """Name a subject among several, with how much in as few words as possible."""
    beside = [own[0].amount.partition(", ")[0]] if amounts and own[0].amount else []
    if own[0].subset != "all":
        beside.append(f"on {listed([one.subset for one in own], most)}")
    return f"{own[0].subject} ({', '.join(beside)})" if beside else own[0].subject


def _parts(own: Sequence[Statement], most: int) -> str:
    """Say on which parts of the items a claim holds, or also holds."""
    parts = [one.subset for one in own if one.subset != "all"]
    if not parts:
        return ""
    return f"{', also' if len(parts) < len(own) else ''} on {listed(parts, most)}"


def _values(one: Statement) -> set[tuple[str, str]]:
    return set(zip(one.axis.split(CROSS), one.group.split(CROSS), strict=False))


# Weights --------------------------------------------------------------------------------------------------------------
#
# Weighted results: what they keep about the weights, what is said about them, and the unweighted values.


TITLE = "Weighted values, unweighted ones in brackets"
COUNTED_ALIKE = (
    "All raters count equally on single items: weights next to counts would reveal what a withheld group said."
)
"""Said where weighted values of single items would reveal a group."""
NOT_BOTH = (
    "Unweighted values are not shown next to weighted ones: with both, the mean of a withheld group could be worked "
    "out."
)


def raters_of(row: Row) -> str:
    """Return what the unweighted values of a row are about: its raters, on its items."""
    return named(row.axis, row.group) + ("" if row.subset == "all" else f", {row.subset}")


def judge_and_raters_of(row: Row) -> str:
    """Return the same with the judge whose answers it is about."""
    judge = str(Voice(row.model, row.prompt))
    return judge if (row.axis, row.subset) == ("all", "all") else f"{judge}, {raters_of(row)}"


def weights_in(ratings: Ratings, min_group_size: int) -> dict[str, Any]:
    """Return what a result keeps about weights in its settings, nothing if all raters count equally."""
    if ratings.panel is None:
        return {}
    found = asdict(ratings.panel.summary(min_group_size))
    return {"weights": {name: value for name, value in found.items() if name != "cells"}}


def tells_unweighted(ratings: Ratings, min_group_size: int) -> bool:
    """Return whether unweighted values may be shown next to weighted ones.

    Where raters are weighted by an attribute with a withheld group, the weighted and the unweighted mean would be two
    equations for the mean of that group.
    """
    panel = ratings.panel
    return ratings.weights is not None and (panel is None or not panel.summary(min_group_size).withholds)


def not_both(settings: Mapping[str, Any], rows: Sequence[Row]) -> list[str]:
    """Return why no unweighted values are shown, if that is so."""
    both = "weights" not in settings or any(row.unweighted is not None for row in rows)
    return [] if both else [NOT_BOTH]


def weighted_statements(
    settings: Mapping[str, Any],
    rows: Sequence[Row],
    statistic: str,
    name: str = "",
    about: Callable[[Row], str] = raters_of,
) -> list[Statement]:
    """Return what the weights amount to, and where they change a statistic most: facts, not claims."""
    if "weights" not in settings:
        return []
    told = PanelSummary(**{**settings["weights"], "cells": ()}).sentence
    changed = [
        row for row in rows
        if row.statistic == statistic and row.unweighted is not None and row.kind in ("overall", "group", "voice")
        and math.isfinite(row.value - row.unweighted)
    ]  # fmt: skip
    if changed:
        most = max(changed, key=lambda row: abs(row.value - (row.unweighted or 0.0)))
        told += f" They change {name or LABELS[statistic]} most for {about(most)}: from {most.unweighted:.2f} to "
        told += f"{most.value:.2f}."
    return [Statement(told, 0.0, statistic="weights")]


def beside_unweighted(
    rows: Sequence[Row],
    headings: Mapping[str, str],
    about: Callable[[Row], str] = raters_of,
    first: str = "raters",
    forms: Mapping[str, str] | None = None,
) -> list[View]:
    """Return a table of weighted and unweighted values, if raters have weights.

    Rows about the same subject make one line. ``first`` is the heading of the subjects; ``forms`` is how some
    statistics are written.
    """
    known = [row for row in rows if row.unweighted is not None and row.statistic in headings]
    cells: dict[str, dict[str, str]] = {}
    for row in known:
        form = (forms or {}).get(row.statistic, SCORE)
        text = f"{written(row.value, form)} ({written(row.unweighted, form)})"
        cells.setdefault(about(row), {})[row.statistic] = text
    used = [name for name in headings if any(name in own for own in cells.values())]
    lines = [[name, *(own.get(statistic, "") for statistic in used)] for name, own in cells.items()]
    return [View(TITLE, [first, *(headings[name] for name in used)], lines)] if lines else []
