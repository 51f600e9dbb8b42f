"""What variation found, in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from plurivox.base.wording import NO_GROUPS, counted, listed, named, resampled
from plurivox.infer.claims import CORRECTIONS, Claimed, entangled_times, group_statements
from plurivox.infer.result import Row, Statement, p_text
from plurivox.infer.weighting import weighted_statements

if TYPE_CHECKING:
    from plurivox.lenses.variation.result import Variation


def statements(result: Variation) -> list[Statement]:
    """Return who rates higher, what scores vary by, what more raters would add, and what was withheld."""

    def claimed(rows: Sequence[Row]) -> Claimed:
        text = " ".join(f"{_sentence(result, row)}{_after_adjusting(result, row)}" for row in rows)
        return Claimed(text, rows[0], *_short(result, rows[0]))

    def notable(row: Row) -> str:
        return f"Before correction only: {_sentence(result, row)}"

    said = [one for one in group_statements(result, claimed, notable, result.held_rows) if not _mirrored(result, one)]
    said = [replace(one, rests_on=_TIMES.format(one.rests_on)) if one.statistic == "drift" else one for one in said]
    said += _same_order(result) + _drifting_raters(result)
    beside = _varies(result) + _reliable(result) + _again(result) + _left_out(result)
    without = [] if result.axes else [Statement(NO_GROUPS, 0.0)]
    weighted = weighted_statements(result.settings, result.rows, "leniency")
    return said + beside + weighted + without + result.withheld_statement()


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
    if row.statistic == "drift":
        return _drifts(result, row)
    where = "" if row.subset == "all" else f"On {row.subset}, "
    by = f"{_points(abs(row.value))} {'higher' if row.value > 0 else 'lower'} than the others"
    if row.ci_low is not None and row.ci_high is not None and not math.isnan(row.ci_low):
        low, high = (row.ci_low, row.ci_high) if row.value > 0 else (-row.ci_high, -row.ci_low)
        by += f" ({low:.2f} to {high:.2f} over {resampled(result.settings)})"
    p = row.p_adjusted if row.claim else row.p_value
    after = " after correction" if row.claim else ""
    often = _often(result, row)
    return f"{where}{named(row.axis, row.group)} rate the same items {by}, {p_text(p or 0.0)}{after}{often}."


def _short(result: Variation, row: Row) -> tuple[str, str]:
    """Say in a few words what a group does, and by how much."""
    if row.statistic == "drift":
        per = f"{abs(row.value):.2g} points per {_unit(result)}"
        return f"give {'higher' if row.value > 0 else 'lower'} scores as time goes on", per
    way = "higher" if row.value > 0 else "lower"
    return f"rate the same items {way} than the others", f"by {_points(abs(row.value))}"


def _unit(result: Variation) -> str:
    return "day" if result.settings["time_unit"] == "days" else "unit of time"


def _drifts(result: Variation, row: Row) -> str:
    """Say how scores move over time."""
    ends = ""
    if row.ci_low is not None and row.ci_high is not None and not math.isnan(row.ci_low):
        low, high = sorted((row.ci_low, row.ci_high) if row.value > 0 else (-row.ci_high, -row.ci_low))
        ends = f" ({low:.2g} to {high:.2g} over {resampled(result.settings)})"
    p = row.p_adjusted if row.claim else row.p_value
    after = " after correction" if row.claim else ""
    moves = f"{'rise' if row.value > 0 else 'fall'} over time, compared with all ratings of the same items"
    return (
        f"{'S' if row.claim else 's'}cores of {named(row.axis, row.group)} {moves}, by {abs(row.value):.2g} points per "
        f"{_unit(result)}{ends}, {p_text(p or 0.0)}{after}."
    )


def _same_order(result: Variation) -> list[Statement]:
    """Say on which axes no drift is claimed because it cannot be told apart from how groups see single items."""
    tested = {row.axis for row in result.rows if row.statistic == "drift" and row.kind == "group" and row.tested}
    return [
        Statement(
            f"No drift of groups by {axis} is claimed: raters of a group rated items in a similar order ({p_text(p)}), "
            "so a drift may only be how the group sees single items. Different orders for each rater would settle it.",
            2.85, axis, "times", standing="open",
        )
        for axis, p in entangled_times(result.settings).items()
        if axis in tested
    ]  # fmt: skip


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


def _often(result: Variation, row: Row) -> str:
    """Say how often a rater of a group gives the higher score of two."""
    found = next(
        (one for one in result.rows if one.statistic == "dominance"
         and (one.axis, one.group, one.subset) == (row.axis, row.group, row.subset)), None
    )  # fmt: skip
    if found is None or math.isnan(found.value):
        return ""
    share = f"{100 * found.value:.0f} % of comparisons"
    return f"; compared with another rater of the same item, theirs is the higher score in {share}, ties counted half"


def _after_adjusting(result: Variation, row: Row) -> str:
    """Say what remains of a difference after accounting for other attributes."""
    if row.subset != "all" or row.statistic != "leniency":
        return ""
    frame = result.adjusted()
    own = [
        one for one in frame.iter_rows(named=True)
        if (one["subset"], one["attribute"], one["group"]) == ("all", row.axis, row.group)
    ]  # fmt: skip
    others = [name for name in frame["attribute"].unique(maintain_order=True) if name != row.axis]
    if not own or not others or math.isnan(own[0]["deviation"]):
        return ""
    one = own[0]
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
    negative = [name for name, row in own.items() if row["variance"] < 0]
    names = listed(_WORDS[name] for name in negative)
    below = f" (The estimate for {names} is negative and counts as 0.)"
    if len(negative) > 1:
        below = f" (The estimates for {names} are negative and count as 0.)"
    return f"Of the variance in scores, {', '.join(parts)}; {rest}.{below if negative else ''}"


def _percent(row: dict[str, Any], *, ends: bool = False) -> str:
    """Write a share, with more digits where it is small."""
    share = 100 * row["share"]
    text = f"{share:.0f} %" if share >= 10 else f"{share:.1f} %"
    if ends and row["ci_low"] is not None and not math.isnan(row["ci_low"]):
        text += f" ({100 * row['ci_low']:.1f} to {100 * row['ci_high']:.1f})"
    return text


def _reliable(result: Variation) -> list[Statement]:
    """Say what a mean of raters is worth, and how many it takes."""
    needed = _first(result.needed().iter_rows(named=True))
    if needed is None:
        return []
    if math.isnan(needed["relative"]):
        return [Statement(f"How reliable means are is unknown: {needed['note']}.", 0.5, statistic="reliability")]
    one, k = _first(result.reliability().iter_rows(named=True)), max(1, round(needed["ratings_per_item"]))
    assert one is not None
    sizes = _first(result.components().iter_rows(named=True))
    assert sizes is not None
    same = sizes["n_ratings"] == sizes["n_raters"] * sizes["n_items"]  # whether the same raters rate all items
    kind, other = ("relative", "absolute") if same else ("absolute", "relative")
    value, low, high = (stepped(one[name], k) for name in (kind, f"{kind}_low", f"{kind}_high"))
    ends = "" if math.isnan(low) else f" ({below_one(low)} to {below_one(high)})"
    ceiling = math.sqrt(value)
    limit = (
        f" No model can be expected to correlate with such means above {ceiling:{'.2f' if ceiling < 0.99 else '.3f'}}."
    )
    text = (
        f"A mean of {counted(k, 'rater')}, {'all of whom rate all items' if same else 'different for each item'}, "
        f"tells which item is higher with reliability {below_one(value)}{ends}; {needed['target']:g} takes "
        f"{counted(int(needed[kind]), 'rater')}, or {int(needed[other]):,} if "
        f"{'different raters rate each item' if same else 'the same raters rate all items'}."
    )
    if ceiling < 0.9995:  # otherwise nobody would ever meet the limit
        text += limit
    return [Statement(text, 2.1, statistic="reliability", group="all")]


def below_one(value: float) -> str:
    """Write a reliability with two decimals, or with as many as distinguish it from 1, up to four.

    Examples
    --------
    >>> [below_one(value) for value in (0.8, 0.994, 0.9961, 0.99996, 1.0)]
    ['0.80', '0.99', '0.996', '1.00', '1.00']
    """
    return next((text for digits in (2, 3, 4) if float(text := f"{value:.{digits}f}") < 1), f"{value:.2f}")


def stepped(one: float | None, k: int) -> float:
    """Return the reliability of k raters from that of one (Spearman and Brown)."""
    return math.nan if one is None else k * one / (1 + (k - 1) * one)


def _first(rows: Any) -> dict[str, Any] | None:
    return next((row for row in rows if (row["subset"], row["axis"]) == ("all", "all")), None)


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


def _left_out(result: Variation) -> list[Statement]:
    """Return how many items are in no part."""
    n = result.settings["n_items_in_no_subset"]
    if not n:
        return []
    items = "1 item has" if n == 1 else f"{n:,} items have"
    where = result.settings["items_by"]
    return [Statement(f"{items} no value for {where}: in no part, but included in the whole.", 0.0)]
