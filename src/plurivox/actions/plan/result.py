"""What :func:`plurivox.plan` found, as tables and sentences: what to collect, the least effort first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from plurivox.actions.plan.settings import MOST_TIMES
from plurivox.base.wording import counted, listed, named, withheld_groups
from plurivox.infer.tables import TableResult
from plurivox.infer.view import RANGE, Column, View, filled, view_of

YES, PARTLY, NO = "yes", "partly", "no"
LENSES = (
    "cohesion", "responsiveness against the crowd", "responsiveness against trained raters", "psychometrics",
    "soft scores", "alignment", "items",
)  # fmt: skip
SCHEMAS: dict[str, dict[str, Any]] = {
    "lenses": dict.fromkeys(("lens", "applies", "why", "next"), pl.String),
    "groups": {
        "axis": pl.String, "group": pl.String, "n_raters": pl.Int64, "n_ratings": pl.Int64,
        "ratings_per_item": pl.Float64, "n_items_twice": pl.Int64, "n_items_shared": pl.Int64, "cohesion": pl.String,
        "responsiveness": pl.String, "psychometrics": pl.String, "withheld": pl.Int64,
    },
    "power": {
        "axis": pl.String, "group": pl.String, "n_raters": pl.Int64, "n_rest": pl.Int64, "n_items": pl.Int64,
        "power_now": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "raters_needed": pl.Int64,
        "raters_power": pl.Float64, "items_needed": pl.Int64, "items_power": pl.Float64, "all_raters": pl.Int64,
        "all_items": pl.Int64, "all_power": pl.Float64, "why": pl.String,
    },
}  # fmt: skip
"""The tables and their columns."""
MOST_ERROR = 0.05
"""Power counts as enough if it falls short by no more than its Monte Carlo error and this."""
UNKNOWN = 0.4
"""An error this large means that there were too few simulations to give it."""
ASSUMED = (
    "Power is by simulation of studies like this one, in which members of the group share a view of single items; ± is "
    "the Monte Carlo error. It refers to claims by GAI; that such a group sees items differently at all is often "
    "claimed sooner, by its view correlation. Other kinds of groups may be easier or harder to find."
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan(TableResult):
    """What :func:`plurivox.plan` found.

    Attributes
    ----------
    tables
        ``lenses``: which lenses apply, why, and what to do next. ``groups``: for each group its ``n_raters`` and
        ``n_ratings``, the median of its ``ratings_per_item`` over the items it rated, ``n_items_twice`` that it rated
        at least twice (for IRR), ``n_items_shared`` with the rest (for XRR), and whether each lens applies to it;
        withheld groups are counted in one row per axis. ``power``, one row for each group: ``power_now`` with its Monte
        Carlo interval; how many raters of the group are needed in total (``raters_needed``), or how many items
        (``items_needed``), and the power there; if that number is missing, not even ten times as many are enough, and
        the power is that of ten times. ``all_raters`` and ``all_items`` are given if neither is enough: how many raters
        of all groups together, and with how many items. ``why`` says why nothing can be claimed.
    settings
        The settings, including the seed; ``left_out`` are the attributes with too many values for an axis.
    """

    KIND: ClassVar[str] = "plan"

    def __repr__(self) -> str:
        return f"<Plan: {len(self._applying())} of {len(LENSES)} lenses apply>"

    def _said(self) -> list[str]:
        """Return which lenses apply, what is too small for what, and what to collect."""
        power = self.table("power").to_dicts()
        return [*self._lens_findings(), *self._group_findings(), *power_findings(power, self.settings)]

    def _applying(self) -> list[str]:
        lenses = self.table("lenses")
        return lenses.filter(pl.col("applies") != NO)["lens"].to_list()

    def _lens_findings(self) -> Iterator[str]:
        applying = self._applying()
        yield f"{len(applying)} of {len(LENSES)} analyses apply: {', '.join(applying) or 'none'}."
        rest = self.table("lenses").filter(pl.col("applies") != YES)
        yield from (f"{row['lens'].capitalize()}: {row['why']}; {row['next']}." for row in rest.iter_rows(named=True))
        for attribute, n_values in self.settings["left_out"].items():
            many = f"{attribute} has {n_values:,} values, too many for an axis"
            yield f"{many}; if they are numbers, group them into bins."

    def _group_findings(self) -> Iterator[str]:
        groups = self.table("groups")
        for lens in ("cohesion", "responsiveness"):
            unfit = groups.filter((pl.col("withheld") == 0) & (pl.col(lens) != YES))
            for row in unfit.iter_rows(named=True):
                yield f"{named(row['axis'], row['group'])}: {lens} is not possible, since {row[lens]}."
        for row in groups.filter(pl.col("withheld") > 0).iter_rows(named=True):
            shown = f"has at least {self.settings['min_group_size']:,} raters and reveals no smaller one"
            yield f"{row['axis']}: {withheld_groups(row['withheld'])}; a group is shown if it {shown}."


# Tables --------------------------------------------------------------------------------------------------------------

_HAS = {"n_raters": "raters", "n_ratings": "ratings", "n_items_twice": "rated twice", "n_items_shared": "shared"}
"""Items with two ratings of the group are rated twice; those that others also rated are shared."""
_ENOUGH_FOR = ("cohesion", "responsiveness", "psychometrics")
_NEEDED = {
    "raters_needed": "raters needed", "items_needed": "or items", "all_raters": "or raters of all",
    "all_items": "and items",
}  # fmt: skip


def tables(found: Plan) -> list[View]:
    """Return the tables of a plan; findings say what to collect."""
    lenses = view_of("Which analyses apply", found.to_frame(), {"lens": "analysis", "applies": "applies"})
    groups, power = found.table("groups").group_by("axis", maintain_order=True), found.table("power")
    who = [named(axis, group) for axis, group in power.select("axis", "group").iter_rows()]
    names = {"group": "group", "n_raters": "raters", "n_items": "items", "power_now": Column("power now", RANGE)}
    claims = view_of("Power to claim a group", power.with_columns(pl.Series("group", who, pl.String)), names | _NEEDED)
    return [lenses, *(_groups(str(axis), own) for (axis,), own in groups), *filled(claims)]


def _groups(axis: str, own: pl.DataFrame) -> View:
    """Return what the groups of an axis have, and what it is enough for; withheld ones are counted."""
    lines = [
        [f"{row['withheld']:,} withheld", *[None] * 7]
        if row["group"] is None
        else [row["group"], *(row[name] for name in (*_HAS, *_ENOUGH_FOR))]
        for row in own.iter_rows(named=True)
    ]
    return View(axis, ["group", *_HAS.values(), *_ENOUGH_FOR], lines)


# Sentences about power -----------------------------------------------------------------------------------------------


def power_findings(rows: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> list[str]:
    """Return what to collect, group by group: those that need the fewest raters first, then what is out of reach."""
    known = [row for row in rows if not row["why"]]
    enough = [row for row in known if _nearly(row, settings)]
    lacking = [row for row in known if not _nearly(row, settings)]
    reached = [row for row in lacking if row["raters_needed"] or row["items_needed"]]
    larger = [row for row in lacking if row not in reached and row["all_raters"]]
    out = [row for row in lacking if row not in reached and row not in larger]
    found = []
    if known:
        verb = "has" if len(enough) == 1 else "have"
        found.append(
            f"{len(enough)} of {counted(len(known), 'group')} {verb} about {100 * settings['power']:g} % power. "
            "Power is the share of studies like this one that claim a group that agrees with itself "
            f"{settings['gai']:g} times as much as with others (GAI {settings['gai']:g}), after correction over all "
            "groups and statistics of the call."
        )

    def effort(row: Mapping[str, Any]) -> tuple[bool, float]:
        """Order groups by what they lack: few raters first, then items, as a share of what there is."""
        few = row["raters_needed"]
        return not few, few - row["n_raters"] if few else row["items_needed"] / row["n_items"]

    found += [_reached(row, settings) for row in sorted(reached, key=effort)]
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


def _nearly(row: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Return whether power is sufficient, as far as simulations can show."""
    return bool(row["power_now"] >= settings["power"] - min(_error(row), MOST_ERROR))


def _reached(row: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
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


def _larger(row: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
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


def _goal(row: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    return (
        f"To claim with {100 * settings['power']:g} % power that {named(row['axis'], row['group'])} agree with each "
        f"other more than with others (GAI {settings['gai']:g})"
    )


def _now(row: Mapping[str, Any], n: int) -> str:
    """Return the current number, and the power with it."""
    return f"{n:,} now: power {_power(row)}"


def _power(row: Mapping[str, Any]) -> str:
    """Return the current power, with its error unless too few studies were simulated."""
    return _share(row["power_now"]) + (f" ± {_share(_error(row))}" if _error(row) < UNKNOWN else "")


def _error(row: Mapping[str, Any]) -> float:
    return float(row["ci_high"] - row["ci_low"]) / 2


def _all(row: Mapping[str, Any]) -> int:
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
