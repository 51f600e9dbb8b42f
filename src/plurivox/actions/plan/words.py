"""The sentences of a plan: how many raters or items are needed to claim a group, the least effort first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from plurivox.actions.plan.settings import MOST_TIMES
from plurivox.base.wording import counted, listed, named, withheld_groups

Row = Mapping[str, Any]
MOST_ERROR = 0.05
"""Power counts as enough if it falls short by no more than its Monte Carlo error and this."""
UNKNOWN = 0.4
"""An error this large means that there were too few simulations to give it."""
ASSUMED = (
    "Power is by simulation of studies like this one, in which members of the group share a view of single items; ± is "
    "the Monte Carlo error. It refers to claims by GAI; that such a group sees items differently at all is often "
    "claimed sooner, by its view correlation. Other kinds of groups may be easier or harder to find."
)


def power_findings(rows: Sequence[Row], settings: Mapping[str, Any]) -> list[str]:
    """Return what to collect, group by group: those that need the fewest raters first, then what is out of reach."""
    known = [row for row in rows if not row["why"]]
    enough = [row for row in known if _nearly(row, settings)]
    lacking = [row for row in known if not _nearly(row, settings)]
    reached = [row for row in lacking if row["raters_needed"] or row["items_needed"]]
    larger = [row for row in lacking if row not in reached and row["all_raters"]]
    out = [row for row in lacking if row not in reached and row not in larger]
    found = [_first(len(known), len(enough), settings)] if known else []
    found += [_reached(row, settings) for row in sorted(reached, key=_effort)]
    found += [_larger(row, settings) for row in sorted(larger, key=lambda row: row["all_raters"] - _all(row))]
    if enough:
        each = (f"{named(row['axis'], row['group'])} (power {_power(row)})" for row in enough)
        found.append(f"Enough already, as far as simulation can show: {listed(each)}.")
    if out:
        each = (
            f"{named(row['axis'], row['group'])} (power {_power(row)} now, {_share(row['all_power'])} then)"
            for row in out
        )
        found.append(f"Not enough even with {MOST_TIMES} times as many items and raters of all groups: {listed(each)}.")
    found += [
        f"{named(row['axis'], row['group'])}: nothing can be claimed, since {row['why']}." for row in rows if row["why"]
    ]
    return [*found, ASSUMED] if known else found


def _nearly(row: Row, settings: Mapping[str, Any]) -> bool:
    """Return whether power is sufficient, as far as simulations can show."""
    return bool(row["power_now"] >= settings["power"] - min(_error(row), MOST_ERROR))


def _first(n: int, n_enough: int, settings: Mapping[str, Any]) -> str:
    """Say what power means, and how many groups have enough."""
    verb = "has" if n_enough == 1 else "have"
    return (
        f"{n_enough} of {counted(n, 'group')} {verb} about {_percent(settings)} power. Power is the share of studies "
        f"like this one that claim a group that agrees with itself {settings['gai']:g} times as much as with others "
        f"(GAI {settings['gai']:g}), after correction over all groups and statistics of the call."
    )


def _reached(row: Row, settings: Mapping[str, Any]) -> str:
    """Say how many more raters of a group, or items, are enough."""
    raters, items = row["raters_needed"], row["items_needed"]
    n, n_items = row["n_raters"], row["n_items"]
    text = f"{_goal(row, settings)}, "
    if raters:
        then = f"{_now(row, n)}; {raters:,}: {_share(row['raters_power'])}"
        text += f"recruit {about(raters - n, 'more rater')} of this group ({then})"
        if items:
            return f"{text}, or have {about(items - n_items, 'more item')} rated ({n_items:,} now)."
        return f"{text}; more items alone would not be enough ({_most(n_items)} items: {_share(row['items_power'])})."
    return (
        f"{text}have {about(items - n_items, 'more item')} rated by the same raters ({_now(row, n_items)}; {items:,}: "
        f"{_share(row['items_power'])}); more raters of this group alone would not be enough ({_most(n)} raters: "
        f"{_share(row['raters_power'])})."
    )


def _larger(row: Row, settings: Mapping[str, Any]) -> str:
    """Say how much larger the whole study must be."""
    now, items = _all(row), row["all_items"]
    what = f"{about(row['all_raters'] - now, 'more rater')} of all groups"
    if items > row["n_items"]:
        what += f" and have {about(items - row['n_items'], 'more item')} rated"
    then = f"{_now(row, now)}; {row['all_raters']:,}: {_share(row['all_power'])}"
    return (
        f"{_goal(row, settings)}, recruit {what} ({then}); neither more raters of this group alone "
        f"({_most(row['n_raters'])}: {_share(row['raters_power'])}) nor more items alone ({_most(row['n_items'])}: "
        f"{_share(row['items_power'])}) would be enough."
    )


def _goal(row: Row, settings: Mapping[str, Any]) -> str:
    return (
        f"To claim with {_percent(settings)} power that {named(row['axis'], row['group'])} agree with each other more "
        f"than with others (GAI {settings['gai']:g})"
    )


def _now(row: Row, n: int) -> str:
    """Return the current number, and the power with it."""
    return f"{n:,} now: power {_power(row)}"


def _power(row: Row) -> str:
    """Return the current power, with its error unless too few studies were simulated."""
    return _share(row["power_now"]) + (f" ± {_share(_error(row))}" if _error(row) < UNKNOWN else "")


def _error(row: Row) -> float:
    return float(row["ci_high"] - row["ci_low"]) / 2


def _percent(settings: Mapping[str, Any]) -> str:
    return f"{100 * settings['power']:g} %"


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
    """Write a share in the style of journals.

    Examples
    --------
    >>> _share(0.412), _share(1.0), _share(0.0)
    ('.41', '1.00', '.00')
    """
    return f"{value:.2f}".removeprefix("0")


def about(n: int, noun: str) -> str:
    """Say a number as exactly as it is known: to the next five, or to two digits.

    Examples
    --------
    >>> about(1, "rater"), about(31, "rater"), about(347, "item"), about(2001, "item")
    ('1 rater', 'about 35 raters', 'about 350 items', 'about 2,100 items')
    """
    if n <= 10:
        return counted(n, noun)
    step = 5 if n <= 100 else 10 ** (math.floor(math.log10(n)) - 1)
    return f"about {counted(-(-n // step) * step, noun)}"


def withheld(axis: str, n: int, least: int) -> str:
    """Say how many groups of an axis are withheld, and what they need to be shown."""
    shown = f"a group is shown if it has at least {least:,} raters and reveals no smaller one"
    return f"{axis}: {withheld_groups(n)}; {shown}."
