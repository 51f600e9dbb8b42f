"""How a group relates to the reference, in one word: the one rule behind every command that says so.

A verdict adds nothing to the claims of :func:`plurivox.responsiveness`: MPA or WRA is low where the lens claims that it
lies below what chance gives. Advice, curation and the report read verdicts from a result of the lens, so that they
cannot contradict it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import NormalDist
from typing import Any, NamedTuple

from plurivox.infer.claims import entangled_axes
from plurivox.infer.families import SIGNIFICANT
from plurivox.infer.intervals import NORMAL_95
from plurivox.infer.result import Row

IN_LINE, GRANULAR, BROAD, DIFFERENT, UNKNOWN = "in line", "granular", "broad", "different", "unknown"
CHANCE = 0.5
"""The AUROC of scores that are unrelated to the reference."""


class Verdict(NamedTuple):
    """How one group relates to the reference.

    ``name`` is *in line* if nothing is claimed about it, *granular* if only its MPA is low, *broad* if only its WRA is,
    *different* if both are or if its scores run ``against`` the reference, and *unknown*, with the reason ``why``,
    where nothing could be claimed.
    """

    axis: str
    group: str
    name: str
    mpa: Row
    wra: Row
    auroc: Row
    p_against: float = 1.0
    why: str = ""

    @property
    def against(self) -> bool:
        """Whether scores surely run against the reference."""
        return self.p_against < SIGNIFICANT

    @property
    def low_mpa(self) -> bool:
        """Whether the lens claims that MPA is below chance."""
        return _low(self.mpa)

    @property
    def low_wra(self) -> bool:
        """Whether the lens claims that WRA is below chance."""
        return _low(self.wra)


def verdicts(rows: Iterable[Row], settings: Mapping[str, Any]) -> dict[tuple[str, str], Verdict]:
    """Return the verdict on every group of a result, by axis and group.

    Parameters
    ----------
    rows
        Those of a result of responsiveness, on all items.
    settings
        The settings of that result, including the check of its design.
    """
    own: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        if row.kind == "group" and row.subset == "all":
            own.setdefault((row.axis, row.group), {})[row.statistic] = row
    entangled = entangled_axes(settings)
    return {
        (axis, group): _verdict(axis, group, values, len(own), entangled=axis in entangled)
        for (axis, group), values in own.items()
    }


def _verdict(axis: str, group: str, rows: Mapping[str, Row], n_groups: int, *, entangled: bool) -> Verdict:
    own = (rows["mpa"], rows["wra"], rows["auroc"])
    why = _unknown(*own[:2], entangled=entangled)
    if why:
        return Verdict(axis, group, UNKNOWN, *own, why=why)
    p = against_chance(rows["auroc"], n_groups)
    low = (_low(rows["mpa"]), _low(rows["wra"]))
    names = {(False, False): IN_LINE, (True, False): GRANULAR, (False, True): BROAD, (True, True): DIFFERENT}
    return Verdict(axis, group, DIFFERENT if p < SIGNIFICANT else names[low], *own, p)


def _low(row: Row) -> bool:
    return bool(row.claim) and row.direction == "below"


def _unknown(mpa: Row, wra: Row, *, entangled: bool) -> str:
    """Return why nothing could be claimed about a group, if so."""
    for row in (mpa, wra):
        if math.isnan(row.value):
            return f"its {row.statistic.upper()} is undefined: {row.note}" if row.note else "a value is undefined"
    if entangled:
        return "who rated what depends on the group"
    if mpa.p_value is None:
        return "no raters were shuffled, so what chance gives is unknown"
    return mpa.note or "its raters cannot be exchanged with others" if math.isnan(mpa.p_value) else ""


def against_chance(auroc: Row, n_groups: int) -> float:
    """Return the two-sided p of an AUROC below ½ from its interval, corrected over the groups; 1 if it is not below."""
    if auroc.ci_high is None or math.isnan(auroc.ci_high) or not auroc.value < CHANCE:
        return 1.0
    error = (auroc.ci_high - auroc.value) / NORMAL_95
    tail = NormalDist().cdf((auroc.value - CHANCE) / error) if error > 0 else 0.0
    return min(1.0, 2 * tail * max(n_groups, 1))
