"""What a plan says: how many raters or items it takes to claim a group, the least effort first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from plurivox.actions.plan.needs import MOST_TIMES
from plurivox.results.wording import counted, listed, named, withheld_groups

Row = Mapping[str, Any]


def power_findings(rows: Sequence[Row], settings: Mapping[str, Any]) -> list[str]:
    """Return what to collect, group by group: those with the fewest more raters first, then what is out of reach."""
    if not rows:
        return []
    known = [row for row in rows if not row["why"]]
    target = settings["power"]
    enough = [row for row in known if row["power_now"] >= target]
    lacking = [row for row in known if row["power_now"] < target]
    reached = [row for row in lacking if row["raters_needed"] or row["items_needed"]]
    larger = [row for row in lacking if row not in reached and row["all_raters"]]
    out = [row for row in lacking if row not in reached and row not in larger]
    found = [_first(len(known), len(enough), settings)] if known else []
    found += [_reached(row, settings) for row in sorted(reached, key=_effort)]
    found += [_larger(row, settings) for row in sorted(larger, key=lambda row: row["all_raters"] - _all(row))]
    if enough:
        each = (f"{named(row['axis'], row['group'])} ({_share(row['power_now'])})" for row in enough)
        found.append(f"Enough as it is: {listed(each)}.")
    found += _out_of_reach(out)
    found += [f"{named(row['axis'], row['group'])}: nothing can be claimed, since {row['why']}." for row in _alike(rows)]
    return [*found, _assumed(settings)] if known else found


def _first(n: int, n_enough: int, settings: Mapping[str, Any]) -> str:
    """Say what power is about, and of how many groups there is enough."""
    groups = "The group" if n == 1 else f"{n_enough} of {counted(n, 'group')}"
    verb = "has" if n == 1 and n_enough else "does not have" if n == 1 else "has" if n_enough == 1 else "have"
    return (
        f"{groups} {verb} {settings['power']:.0%} power: if such a group agreed with itself {settings['gai']:g} times as "
        f"much as with others (GAI {settings['gai']:g}), so many such studies would claim it, after correction over all "
        "groups and statistics of the call."
    )


def _reached(row: Row, settings: Mapping[str, Any]) -> str:
    """Say how many more raters of a group, or items, are enough."""
    more, items = row["raters_needed"], row["items_needed"]
    n, n_items = row["n_raters"], row["n_items"]
    text = f"{_goal(row, settings)}, "
    if more:
        text += f"recruit {about(more - n)} more raters of this group ({_now(row, n)}; {more:,}: {_share(row['raters_power'])})"
        if items:
            return f"{text}, or have {about(items - n_items)} more items rated ({n_items:,} now)."
        return f"{text}; more items alone would not do ({_most(n_items)} items: {_share(row['items_power'])})."
    return (
        f"{text}have {about(items - n_items)} more items rated by the same raters ({_now(row, n_items)}; {items:,}: "
        f"{_share(row['items_power'])}); more raters of this group alone would not do ({_most(n)} raters: "
        f"{_share(row['raters_power'])})."
    )


def _larger(row: Row, settings: Mapping[str, Any]) -> str:
    """Say how much larger the whole study must be."""
    now, items = _all(row), row["all_items"]
    what = f"{about(row['all_raters'] - now)} more raters of all groups"
    if items > row["n_items"]:
        what += f" and have {about(items - row['n_items'])} more items rated"
    return (
        f"{_goal(row, settings)}, recruit {what} ({_now(row, now)}; {row['all_raters']:,}: {_share(row['all_power'])}); "
        f"neither more raters of this group alone ({_most(row['n_raters'])}: {_share(row['raters_power'])}) nor more items "
        f"alone ({_most(row['n_items'])}: {_share(row['items_power'])}) would do."
    )


def _out_of_reach(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    each = (
        f"{named(row['axis'], row['group'])} ({_share(row['power_now'])} now, at best {_share(row['all_power'])})"
        for row in rows
    )
    return [f"Out of reach within {MOST_TIMES} times as many raters and items: {listed(each)}."]


def _goal(row: Row, settings: Mapping[str, Any]) -> str:
    return (
        f"To claim with {settings['power']:.0%} power that {named(row['axis'], row['group'])} agree with each other more "
        f"than with others (GAI {settings['gai']:g})"
    )


def _now(row: Row, n: int) -> str:
    """Return a number there is now, and the power with it."""
    error = (row["ci_high"] - row["ci_low"]) / 2
    around = f" ± {_share(error)}" if error < 0.4 else ""  # else it is not known
    return f"{n:,} now: power {_share(row['power_now'])}{around}"


def _assumed(settings: Mapping[str, Any]) -> str:
    return (
        "Power is by simulation of studies like this one, in which members of the group share a view of single items; "
        "± is the Monte Carlo error. It is that of GAI: other differences, and other statistics, may be easier or harder "
        "to find."
    )


def _alike(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["why"]]


def _effort(row: Row) -> tuple[bool, float]:
    """Order groups by what they lack: few raters first, then items, as a share of what there is."""
    if row["raters_needed"]:
        return False, row["raters_needed"] - row["n_raters"]
    return True, row["items_needed"] / row["n_items"]


def _all(row: Row) -> int:
    return int(row["n_raters"] + row["n_rest"])


def _most(n: int) -> str:
    return f"{MOST_TIMES * n:,}"


def _share(value: float) -> str:
    """Write a share as journals do.

    Examples
    --------
    >>> _share(0.412), _share(1.0), _share(0.0)
    ('.41', '1.00', '.00')
    """
    return f"{value:.2f}".removeprefix("0")


def about(n: int) -> str:
    """Say a number as exactly as it is known: to the next five, or to two digits.

    Examples
    --------
    >>> about(7), about(31), about(347), about(2001)
    ('about 7', 'about 35', 'about 350', 'about 2,100')
    """
    if n <= 10:
        return f"about {n:,}"
    step = 5 if n <= 100 else 10 ** (math.floor(math.log10(n)) - 1)
    return f"about {-(-n // step) * step:,}"


def withheld(axis: str, n: int, least: int) -> str:
    """Say how many groups of an axis are withheld, and what they need to be shown."""
    needs = "needs" if n == 1 else "each need"
    return f"{axis}: {withheld_groups(n)}; to be shown, a group and those it would reveal {needs} {least:,} raters or more."
