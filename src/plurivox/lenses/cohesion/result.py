"""What :func:`plurivox.cohesion` found, as frames, sentences, tables and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import polars as pl

from plurivox.base.wording import NO_GROUPS, counted, interval_method, intervals_over, named
from plurivox.infer.claims import (
    Claimed,
    beside_chance,
    beside_unweighted,
    group_statements,
    interval_words,
    rests_on,
    value_beside_chance,
    values_of,
    weighted_statements,
)
from plurivox.infer.result import GroupResult, Row, Statement, frame_of, p_text
from plurivox.infer.view import TESTED, TESTED_RANGE, Column, P, View, columns, compact, notes_of
from plurivox.statistics.registry import STATISTICS, of_role


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cohesion(GroupResult):
    """Which groups agree among themselves more than with others.

    In addition to what every result has:

    Attributes
    ----------
    pair_rows
        Every pair of groups, if requested.
    held_rows
        Each claim about a group, tested again within each other attribute of the call; ``other`` names it.
    """

    pair_rows: tuple[Row, ...] = ()
    held_rows: tuple[Row, ...] = ()

    KIND: ClassVar[str] = "cohesion"
    ROLES: ClassVar[tuple[str, ...]] = ("tested", "asked")
    PARTS: ClassVar[dict[str, Any]] = {**GroupResult.PARTS, "pair_rows": Row, "held_rows": Row}

    def __repr__(self) -> str:
        return f"<Cohesion: {self._on_axes('group')}, {self.n_shuffles:,} permutations>"

    def of_question(self, question: str) -> Cohesion:
        """Return the result with the name of the question it is about, which becomes the ``subset`` of its frames."""
        named_so: dict[str, Any] = {
            name: tuple(replace(one, subset=question) for one in getattr(self, name))
            for name in ("rows", "pair_rows", "held_rows", "draws")
        }
        return replace(self, **named_so, settings={**self.settings, "question": question})

    def pairs(self) -> pl.DataFrame:
        """Return one row per pair of groups: XRR, and on the diagonal each group's IRR."""
        others = pl.Series("other", [row.other for row in self.pair_rows], dtype=pl.String)
        return frame_of(self.pair_rows).insert_column(2, others)

    def ranked_axes(self) -> list[Row]:
        """Return the DSI rows, the most dividing axis first: by corrected p-value, then by size."""
        rows = [row for row in self.rows if row.statistic == "dsi" and not math.isnan(row.value)]
        return sorted(rows, key=lambda row: (1.0 if row.p_adjusted is None else row.p_adjusted, -row.value))

    def statements(self) -> list[Statement]:
        """Return which groups stand out, which axis divides raters most, and what was withheld."""

        def claimed(rows: Sequence[Row]) -> Claimed:
            return _claimed(self, {row.statistic: row for row in rows})

        def notable(row: Row) -> str:
            habit, value = _habit(row), beside_chance(row, self.settings)
            return f"Before correction only: {named(row.axis, row.group)} {habit}: {value}."

        said = group_statements(self, claimed, notable, self.held_rows)
        row = next((row for row in self.rows if (row.axis, row.statistic) == ("all", "irr")), None)
        if row is not None and not math.isnan(row.value):
            text = f"All raters together: alpha {interval_words(row, self.settings)}, {self.settings['level']} level."
            said = [Statement(text, 2.2, statistic="irr", group="all"), *said]
        said += _divides(self)
        if note := self.settings.get("level_note"):
            said.append(Statement(note, 0.0, statistic="irr"))
        said += weighted_statements(self.settings, self.rows, "irr")
        return said + ([] if self.axes else [Statement(NO_GROUPS, 0.0)]) + self.withheld_statement()


# Sentences: agreement, noise and view are kept apart ------------------------------------------------------------------

VIEW = "view_correlation"
OWN_VIEW = "have a view of their own"


def _claimed(result: Cohesion, rows: dict[str, Row]) -> Claimed:
    """Say what is claimed about a group, and by which value: a view of its own, agreement, or what may cause both."""
    first, view = next(iter(rows.values())), rows.get(VIEW)
    name, same = named(first.axis, first.group), result.settings["same_view"]
    # Leniency and spread alone bring a view correlation a little below 1 on a bounded scale.
    if view is not None and view.direction == "below" and view.ci_high is not None and view.ci_high < same:
        text, gai = f"{name} {OWN_VIEW}: {beside_chance(view, result.settings)}.", rows.get("gai")
        if gai is not None:
            text += f" They {_habit(gai)}: {beside_chance(gai, result.settings)}."
        return Claimed(text, view, OWN_VIEW, value_beside_chance(view))
    keys = (first.axis, first.group, VIEW)
    view = next((one for one in result.rows if (one.axis, one.group, one.statistic) == keys), None)
    order = [rows[one] for one in ("gai", "xrr", "irr", VIEW) if one in rows]
    text = f"{name} {_habit(order[0])}: {beside_chance(order[0], result.settings)}."
    if order[0].statistic in ("gai", "irr") and view is not None and not math.isnan(view.value):
        text += (
            f" This need not mean a different view: less or more noise has the same effect, and their item means "
            f"correlate {interval_words(view, result.settings)} with the others'."
        )
    return Claimed(text, order[0], _habit(order[0]), value_beside_chance(order[0]))


def _habit(row: Row) -> str:
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


# Tables ---------------------------------------------------------------------------------------------------------------

ALPHA = {"irr": "alpha (IRR)"}


def headings(*roles: str) -> dict[str, str]:
    """Return the heading of each statistic of some roles."""
    return {record.name: record.heading for record in of_role(*roles)}


def tables(found: Cohesion, *, arrows: bool = False) -> list[View]:
    """Return all tables of a result, with arrows on every tested value if wanted."""
    tested, beside = headings("tested", "asked"), headings("beside", "whole")
    level = f"{found.settings['level']} level"
    if not found.axes:
        return [_everybody(found, tested | beside), *beside_unweighted(found.rows, tested | beside)]
    shown = [_of_axes(found, f"All raters together, {level}", ["all"], tested | beside)]
    shown += [_of_axes(found, f"{axis}, {level}", [axis], tested) for axis in found.axes]
    shown += [*_contrasts(found), *_ranked(found), *_pairs(found)]
    if found.settings["interval"] != "none":
        wide = {record.name: record.heading for record in of_role("tested", "asked") if record.interval_shown}
        title = f"95 % intervals {interval_method(found.settings)}"
        shown.append(_of_axes(found, title, found.axes, wide, TESTED_RANGE))
    shown.append(_of_axes(found, "Other measures of agreement, next to alpha", found.axes, ALPHA | beside))
    main = [row for row in found.rows if row.kind in ("overall", "group")]
    return [view._replace(arrows=arrows) for view in (*shown, *beside_unweighted(main, tested))]


def brief(found: Cohesion, *, arrows: bool = False) -> list[View]:
    """Return the groups of all axes in one table, and whatever else was requested."""
    if not found.axes:
        return tables(found)
    title = f"Agreement within groups (IRR) and with others (XRR), {found.settings['level']}"
    view = compact(found, title=title, over=intervals_over(found.settings))
    return [one._replace(arrows=arrows) for one in (view, *_contrasts(found), *_pairs(found))]


def _everybody(found: Cohesion, names: dict[str, str]) -> View:
    """Return how far all raters agree, one measure per line, where there are no groups."""
    rows = {row.statistic: row for row in found.rows if row.kind in ("overall", "beside")}
    lines = [[names[name], rows[name], rows[name].n_raters] for name in names if name in rows]
    method = "" if found.settings["interval"] == "none" else f", 95 % intervals {interval_method(found.settings)}"
    title = f"All raters together, {found.settings['level']} level{method}"
    return View(title, ["measure of agreement", Column("value", TESTED_RANGE), "raters"], lines)


def _of_axes(found: Cohesion, title: str, axes: Iterable[str], names: dict[str, str], form: str = TESTED) -> View:
    """Return the groups of some axes, a column for each of these statistics that one of them has."""
    groups: dict[tuple[str, str], dict[str, Row]] = {}
    for row in found.rows:
        if row.axis in axes and row.kind in ("overall", "group", "beside"):
            groups.setdefault((row.axis, row.group), {})[row.statistic] = row
    used = [name for name in names if any(name in own for own in groups.values())]
    lines = [
        [group, next(iter(own.values())).n_raters, *(own.get(name, "") for name in used)]
        for (_, group), own in groups.items()
    ]
    return View(title, ["group", "raters", *columns(form, (names[name] for name in used))], lines)


def _contrasts(found: Cohesion) -> list[View]:
    rows = [row for row in found.rows if row.kind == "contrast"]
    lines = [[STATISTICS[row.statistic].heading, row, row.p_value] for row in rows]
    header = ["statistic", Column("difference", TESTED_RANGE), Column("p", P)]
    title = f"Difference {rows[0].group}, {found.settings['level']} level" if rows else ""
    return [View(title, header, lines)] if rows else []


def _ranked(found: Cohesion) -> list[View]:
    lines = [[row.axis, row.value, row.group, row.p_value, row.p_adjusted] for row in found.ranked_axes()]
    tested = "p (of the group)" if found.settings["convention"] == "published" else "p (max-T)"
    header = ["axis", "DSI", "group", *columns(P, [tested, "p corrected"])]
    title = f"Which axis divides the raters most, {found.settings['level']} level"
    return [View(title, header, lines)] if lines else []


def _pairs(found: Cohesion) -> list[View]:
    """Return a matrix for each axis, whose columns are numbered, since many group names do not fit side by side."""
    shown = []
    for axis in dict.fromkeys(row.axis for row in found.pair_rows):
        rows = [row for row in found.pair_rows if row.axis == axis]
        groups = [row.group for row in rows if row.statistic == "irr"]
        cells = {frozenset((row.group, row.other or row.group)): row for row in rows}
        lines = [[f"{i} {a}", *(cells.get(frozenset((a, b)), "") for b in groups)] for i, a in enumerate(groups, 1)]
        title = f"{axis}: XRR between groups, IRR on the diagonal, {found.settings['level']} level"
        shown.append(View(title, ["", *columns(TESTED, map(str, range(1, len(groups) + 1)))], lines))
    return shown


def notes(found: Cohesion) -> list[str]:
    """Return why values are undefined, and what to be careful about."""
    main = [row for row in found.rows if row.kind in ("overall", "group", "contrast")]
    return notes_of(main, headings("tested", "asked"))
