"""What :func:`plurivox.variation` found, as frames, sentences and JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import polars as pl

from plurivox.base.wording import NO_GROUPS, counted, listed, named, resampled
from plurivox.infer.claims import CORRECTIONS, Claimed, entangled_times, group_statements, weighted_statements
from plurivox.infer.result import GroupResult, Row, Statement, Table, frame_of, p_text


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Variation(GroupResult):
    """Who rates higher on the same items, and what scores vary by.

    In addition to what every result has:

    Attributes
    ----------
    pair_rows
        Every pair of groups, if requested.
    held_rows
        Each claim about a group, tested again within each other attribute of the call; ``other`` names it.
    tables
        Components of variance, reliability and the rest, by name.
    """

    pair_rows: tuple[Row, ...] = ()
    held_rows: tuple[Row, ...] = ()
    tables: tuple[Table, ...] = ()

    KIND: ClassVar[str] = "variation"
    ROLES: ClassVar[tuple[str, ...]] = ("higher",)
    PARTS: ClassVar[dict[str, Any]] = {**GroupResult.PARTS, "pair_rows": Row, "held_rows": Row, "tables": Table}

    def __repr__(self) -> str:
        return f"<Variation: {self._on_axes('group')}, {self.n_shuffles:,} permutations>"

    def components(self) -> pl.DataFrame:
        """Return one row per axis and component: its variance, and its share of all with an interval.

        Axis ``all`` has raters without groups: item, rater and rest. A negative variance counts as 0 in shares. The
        interval is that of the share.
        """
        return self._table("components")

    def reliability(self) -> pl.DataFrame:
        """Return one row per group and number of raters ``k``: how reliable the mean of k raters is.

        ``relative`` is for telling which item is higher, ``absolute`` for how high it is. ``ceiling`` is the highest
        correlation that any model can be expected to have with such means. Axis ``all`` has all raters; on every other
        axis, group ``all`` follows from its components, and each group from its own ratings.
        """
        return self._table("reliability")

    def needed(self) -> pl.DataFrame:
        """Return one row per group: how many raters it takes for their mean to reach the reliability ``target``."""
        return self._table("needed")

    def adjusted(self) -> pl.DataFrame:
        """Return one row per attribute and group: its effect on scores of the same items against the reference group.

        ``effect`` accounts for the other attributes, ``unadjusted`` does not; ``deviation`` is the first relative to
        the mean of all raters. Empty unless ``adjust`` was set.
        """
        return self._table("adjusted")

    def repeats(self) -> pl.DataFrame:
        """Return one row per group and statistic: how far raters agree with themselves on items they rated again.

        ``within`` raters and ``between`` raters on the same items: the share of equal pairs (``percent``),
        Krippendorff's ``alpha``, and the mean absolute ``change`` in points. Empty unless repeats were kept.
        """
        return self._table("repeats")

    def pairs(self) -> pl.DataFrame:
        """Return one row per pair of groups and statistic: how much higher ``group`` rates than ``other``."""
        others = pl.Series("other", [row.other for row in self.pair_rows], dtype=pl.String)
        return frame_of(self.pair_rows).insert_column(2, others)

    def _table(self, name: str) -> pl.DataFrame:
        return next(table.frame for table in self.tables if table.name == name)

    def statements(self) -> list[Statement]:
        """Return who rates higher, what scores vary by, what more raters would add, and what was withheld."""

        def claimed(rows: Sequence[Row]) -> Claimed:
            row, way = rows[0], "higher" if rows[0].value > 0 else "lower"
            text = " ".join(f"{_sentence(self, row)}{_after_adjusting(self, row)}" for row in rows)
            if row.statistic == "drift":
                return Claimed(text, row, f"give {way} scores as time goes on", _per_time(self, row))
            return Claimed(text, row, f"rate the same items {way} than the others", f"by {_points(abs(row.value))}")

        def notable(row: Row) -> str:
            return f"Before correction only: {_sentence(self, row)}"

        said = [one for one in group_statements(self, claimed, notable, self.held_rows) if not _mirrored(self, one)]
        said = [replace(one, rests_on=_TIMES.format(one.rests_on)) if one.statistic == "drift" else one for one in said]
        tested = {row.axis for row in self.rows if row.statistic == "drift" and row.kind == "group" and row.tested}
        for axis, p in entangled_times(self.settings).items():
            if axis in tested:  # a drift cannot be told apart from how groups see single items
                text = (
                    f"No drift of groups by {axis} is claimed: raters of a group rated items in a similar order "
                    f"({p_text(p)}), so a drift may only be how the group sees single items. Different orders for each "
                    "rater would settle it."
                )
                said.append(Statement(text, 2.85, axis, "times", standing="open"))
        said += [*_drifting_raters(self), *_varies(self), *_reliable(self), *_again(self)]
        if n := self.settings["n_items_in_no_subset"]:
            items, where = "1 item has" if n == 1 else f"{n:,} items have", self.settings["items_by"]
            said.append(Statement(f"{items} no value for {where}: in no part, but included in the whole.", 0.0))
        said += weighted_statements(self.settings, self.rows, "leniency")
        return said + ([] if self.axes else [Statement(NO_GROUPS, 0.0)]) + self.withheld_statement()


# Sentences ------------------------------------------------------------------------------------------------------------


def _mirrored(result: Variation, said: Statement) -> bool:
    """Return whether a sentence says about the lower of two groups what another says about the higher."""
    own = [row for row in result.rows if (row.axis, row.statistic) == (said.axis, "leniency") and row.kind == "group"]
    values = {row.group: row.value for row in own if row.subset == "all"}
    if said.statistic != "leniency" or len(values) != 2 or said.group not in values:
        return False
    value, other = values.pop(said.group), *values.values()
    return value < 0 and math.isclose(value, -other, rel_tol=1e-9)


def _sentence(result: Variation, row: Row) -> str:
    """Say how much higher or lower a group rates, or that its scores drift."""
    drift, form = row.statistic == "drift", ".2g" if row.statistic == "drift" else ".2f"
    ends = ""
    if row.ci_low is not None and row.ci_high is not None and not math.isnan(row.ci_low):
        low, high = (row.ci_low, row.ci_high) if row.value > 0 else (-row.ci_high, -row.ci_low)
        ends = f" ({low:{form}} to {high:{form}} over {resampled(result.settings)})"
    p = p_text((row.p_adjusted if row.claim else row.p_value) or 0.0) + (" after correction" if row.claim else "")
    if drift:
        moves = f"{'rise' if row.value > 0 else 'fall'} over time, compared with all ratings of the same items"
        start = f"{'S' if row.claim else 's'}cores of {named(row.axis, row.group)} {moves}"
        return f"{start}, by {_per_time(result, row)}{ends}, {p}."
    where = "" if row.subset == "all" else f"On {row.subset}, "
    by = f"{_points(abs(row.value))} {'higher' if row.value > 0 else 'lower'} than the others{ends}"
    often = ""  # how often a rater of the group gives the higher score of two
    for one in result.rows:
        same = (one.axis, one.group, one.subset) == (row.axis, row.group, row.subset)
        if one.statistic == "dominance" and same:
            if not math.isnan(one.value):
                often = "; compared with another rater of the same item, theirs is the higher score in "
                often += f"{100 * one.value:.0f} % of comparisons, ties counted half"
            break
    return f"{where}{named(row.axis, row.group)} rate the same items {by}, {p}{often}."


def _per_time(result: Variation, row: Row) -> str:
    unit = "day" if result.settings["time_unit"] == "days" else "unit of time"
    return f"{abs(row.value):.2g} points per {unit}"


def _drifting_raters(result: Variation) -> list[Statement]:
    """Say how many raters' scores drift, where raters are looked at individually."""
    rows = [row for row in result.rows if row.statistic == "drift" and row.kind == "rater" and row.tested]
    found = [row for row in rows if row.claim]
    if not rows:
        return []
    n, correction = rows[0].n_permutations or 0, CORRECTIONS[result.settings["correction"]]
    rests_on = (
        f"times shuffled within raters, {n:,} times; corrected over {counted(len(rows), 'rater')} by {correction}"
    )
    least = min((row.p_adjusted for row in rows if row.p_adjusted is not None), default=1.0)
    if not found:
        text = (
            f"Of {counted(len(rows), 'individual rater')}, none has scores that certainly drift over time; the "
            f"smallest {p_text(least)} after correction."
        )
        return [Statement(text, 1.0, rows[0].axis, "drift", p=least, rests_on=rests_on, n_permutations=n)]
    text = (
        f"Scores of {len(found):,} of {counted(len(rows), 'rater')} drift over time, compared with all ratings of the "
        f"same items: {sum(row.value > 0 for row in found):,} rise and {sum(row.value < 0 for row in found):,} fall, "
        f"{p_text(least)} for the surest after correction over raters."
    )
    return [Statement(text, 2.3, rows[0].axis, "drift", "", True, least, rests_on, n)]


def _points(value: float) -> str:
    return f"{value:.3f} points" if value < 0.02 else f"{value:.2f} points"


def _after_adjusting(result: Variation, row: Row) -> str:
    """Say what remains of a difference after accounting for other attributes."""
    if row.subset != "all" or row.statistic != "leniency":
        return ""
    frame = result.adjusted()
    own = frame.filter(subset="all", attribute=row.axis, group=row.group)
    others = [name for name in frame["attribute"].unique(maintain_order=True) if name != row.axis]
    if own.is_empty() or not others or math.isnan(own["deviation"][0]):
        return ""
    one = own.row(0, named=True)
    ends = "" if one["deviation_low"] is None else f" ({one['deviation_low']:.2f} to {one['deviation_high']:.2f})"
    return (
        f" Relative to the mean of all raters, that is {one['deviation_unadjusted']:+.2f}, and "
        f"{one['deviation']:+.2f}{ends} after accounting for {listed(others)}."
    )


_WORDS = {
    "item": "items", "rater": "raters", "group": "groups", "group_item": "groups on single items", "rest": "the rest",
}  # fmt: skip

_TIMES = "times shuffled within raters, and for who rates higher {}"

# What varies ----------------------------------------------------------------------------------------------------------


def _varies(result: Variation) -> list[Statement]:
    """Say for each axis, and without any, how variance is divided."""
    frame = result.components()
    said = []
    for axis in ["all", *(name for name in result.axes if name != "rater")]:
        here = (row for row in frame.iter_rows(named=True) if (row["subset"], row["axis"]) == ("all", axis))
        own = {row["component"]: row for row in here}
        if own and not math.isnan(own["item"]["share"]):
            group, weight = ("all", 2.15) if axis == "all" else ("", 2.05)
            said.append(Statement(_divided(axis, own), weight, axis, "components", group))
        elif own:
            text = f"What scores vary by is unknown{'' if axis == 'all' else f' for {axis}'}: {own['item']['note']}."
            said.append(Statement(text, 0.5, axis, "components"))
    return said


def _divided(axis: str, own: dict[str, dict[str, Any]]) -> str:
    parts = [f"{_percent(own['item'])} lies between items", f"{_percent(own['rater'])} in raters' leniency"]
    if axis != "all":
        parts.append(f"{_percent(own['group'], ends=True)} between groups of {axis}")
        parts.append(f"{_percent(own['group_item'], ends=True)} in how these groups see single items")
    rest = f"{_percent(own['rest'])} remains in single ratings"
    negative = [_WORDS[name] for name, row in own.items() if row["variance"] < 0]
    one, is_ = (
        ("The estimate", "is negative and counts")
        if len(negative) == 1
        else ("The estimates", "are negative and count")
    )
    below = f" ({one} for {listed(negative)} {is_} as 0.)" if negative else ""
    return f"Of the variance in scores, {', '.join(parts)}; {rest}.{below}"


def _percent(row: dict[str, Any], *, ends: bool = False) -> str:
    """Write a share, with more digits where it is small."""
    share = 100 * row["share"]
    text = f"{share:.0f} %" if share >= 10 else f"{share:.1f} %"
    if ends and row["ci_low"] is not None and not math.isnan(row["ci_low"]):
        text += f" ({100 * row['ci_low']:.1f} to {100 * row['ci_high']:.1f})"
    return text


def at_hand(result: Variation) -> dict[str, Any]:
    """Return what a mean of as many raters as rate an item is worth: ``value``, ``low`` and ``high``; {} if unknown.

    Next to that, the row of all raters in :meth:`Variation.needed`, ``k`` raters, and the ``kind`` of reliability: the
    relative one if the same raters rate all items, otherwise the absolute one.
    """
    first: list[dict[str, Any]] = [  # of all raters and items
        next(frame.filter(subset="all", axis="all").iter_rows(named=True), {})
        for frame in (result.needed(), result.reliability(), result.components())
    ]
    if not first[0]:
        return {}
    needed, one, sizes = first
    kind = "relative" if sizes["n_ratings"] == sizes["n_raters"] * sizes["n_items"] else "absolute"
    k, worth = 1, [math.nan] * 3
    if not math.isnan(needed["relative"]):
        k = max(1, round(needed["ratings_per_item"]))
        known = [one[name] for name in (kind, f"{kind}_low", f"{kind}_high")]
        worth = [math.nan if each is None else k * each / (1 + (k - 1) * each) for each in known]  # Spearman and Brown
    return {**needed, "kind": kind, "k": k, **dict(zip(("value", "low", "high"), worth, strict=True))}


def _reliable(result: Variation) -> list[Statement]:
    """Say what a mean of raters is worth, and how many it takes."""
    here = at_hand(result)
    if not here:
        return []
    if math.isnan(here["relative"]):
        return [Statement(f"How reliable means are is unknown: {here['note']}.", 0.5, statistic="reliability")]
    same, low, ceiling = here["kind"] == "relative", here["low"], math.sqrt(here["value"])
    ends = "" if math.isnan(low) else f" ({below_one(low)} to {below_one(here['high'])})"
    text = (
        f"A mean of {counted(here['k'], 'rater')}, "
        f"{'all of whom rate all items' if same else 'different for each item'}, tells which item is higher with "
        f"reliability {below_one(here['value'])}{ends}; {here['target']:g} takes "
        f"{counted(int(here[here['kind']]), 'rater')}, or {int(here['absolute' if same else 'relative']):,} if "
        f"{'different raters rate each item' if same else 'the same raters rate all items'}."
    )
    if ceiling < 0.9995:  # otherwise nobody would ever meet the limit
        text += " No model can be expected to correlate with such means above "
        text += f"{ceiling:{'.2f' if ceiling < 0.99 else '.3f'}}."
    return [Statement(text, 2.1, statistic="reliability", group="all")]


def below_one(value: float) -> str:
    """Write a reliability with two decimals, or with as many as distinguish it from 1, up to four.

    Examples
    --------
    >>> [below_one(value) for value in (0.8, 0.994, 0.9961, 0.99996, 1.0)]
    ['0.80', '0.99', '0.996', '1.00', '1.00']
    """
    return next((text for digits in (2, 3, 4) if float(text := f"{value:.{digits}f}") < 1), f"{value:.2f}")


def _again(result: Variation) -> list[Statement]:
    """Say how far raters agree with themselves, compared with each other."""
    frame = result.repeats()
    row = next(frame.filter(axis="all", statistic="percent").iter_rows(named=True), None)
    if row is None:
        return []
    if math.isnan(row["within"]):
        return [Statement(f"How far raters agree with themselves is unknown: {row['note']}.", 0.5)]
    text = (
        f"{counted(row['n_raters'], 'rater')} rated {counted(row['n_pairs'], 'item')} again, counted by rater, and "
        f"gave the same point in {_share_of(row, 'within', 'ci')} of the repeats"
    )
    if not math.isnan(row["between"]):
        text += f"; two raters of the same item agree in {_share_of(row, 'between', 'between_ci')} of pairs"
    return [Statement(f"{text}.", 2.0, statistic="repeats")]


def _share_of(row: dict[str, Any], name: str, ends: str) -> str:
    low, high = row[f"{ends}_low"], row[f"{ends}_high"]
    known = low is not None and not math.isnan(low)
    return f"{100 * row[name]:.0f} %" + (f" ({100 * low:.0f} to {100 * high:.0f})" if known else "")
