"""What :func:`plurivox.plan` found, as tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from plurivox.actions.plan.power import MORE_ITEMS, MORE_RATERS, Step
from plurivox.results.tables import TableResult
from plurivox.results.wording import counted, withheld_groups

YES, PARTLY, NO = "yes", "partly", "no"
LENSES = (
    "cohesion", "responsiveness against the crowd", "responsiveness against trained raters", "psychometrics",
    "soft scores", "alignment", "items",
)  # fmt: skip
KEY = ("question", "axis", "group")
"""The columns that tell questions of groups apart."""
SCHEMAS: dict[str, dict[str, Any]] = {
    "lenses": dict.fromkeys(("lens", "applies", "why", "next"), pl.String),
    "groups": {
        "axis": pl.String, "group": pl.String, "n_raters": pl.Int64, "n_ratings": pl.Int64,
        "ratings_per_item": pl.Float64, "n_items_twice": pl.Int64, "n_items_shared": pl.Int64, "cohesion": pl.String,
        "responsiveness": pl.String, "psychometrics": pl.String, "withheld": pl.Int64,
    },
    "power": {
        "question": pl.String, "axis": pl.String, "group": pl.String, "n_raters": pl.Int64, "n_items": pl.Int64,
        "ratings_per_item": pl.Float64, "value": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64,
        "enough": pl.Boolean, "what": pl.String, "n_simulations": pl.Int64,
    },
    "collect": {
        "question": pl.String, "axis": pl.String, "group": pl.String, "n_raters": pl.Int64, "n_items": pl.Int64,
        "enough": pl.Boolean, "raters_needed": pl.Int64, "items_needed": pl.Int64, "what": pl.String,
    },
}  # fmt: skip
"""The tables and their columns."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan(TableResult):
    """What :func:`plurivox.plan` found.

    Attributes
    ----------
    tables
        ``lenses``: which lenses apply, why, and what to give next. ``groups``: for each group its ``n_raters`` and
        ``n_ratings``, the median of its ``ratings_per_item`` over the items it rated, ``n_items_twice`` it rated at
        least twice (for IRR), ``n_items_shared`` with the rest (for XRR), and whether each lens can be asked of it;
        groups withheld are counted in one row per axis. ``power``: for each question and design the ``value``: the
        share of simulated studies that find the GAI, or the expected half-width of the interval of MPA. ``collect``:
        the smallest designs found that are enough.
    settings
        What was asked for, the seed included; ``left_out`` are the attributes with too many values for an axis.
    """

    KIND: ClassVar[str] = "plan"

    def __repr__(self) -> str:
        return f"<Plan: {len(self._applying())} of {len(LENSES)} lenses apply>"

    def _said(self) -> list[str]:
        """Return which lenses apply, what is too small for what, and what to collect."""
        return [*self._lens_findings(), *self._group_findings(), *self._power_findings()]

    def _applying(self) -> list[str]:
        lenses = self.table("lenses")
        return lenses.filter(pl.col("applies") != NO)["lens"].to_list()

    def _lens_findings(self) -> list[str]:
        applying = self._applying()
        found = [f"{len(applying)} of {len(LENSES)} lenses apply: {', '.join(applying) or 'none'}."]
        rest = self.table("lenses").filter(pl.col("applies") != YES)
        found += [f"{_capital(row['lens'])}: {row['why']}; {row['next']}." for row in rest.iter_rows(named=True)]
        found += [
            f"{attribute} has {n_values:,} values, too many for an axis; if they are numbers, sort them into bins."
            for attribute, n_values in self.settings["left_out"].items()
        ]
        return found

    def _group_findings(self) -> list[str]:
        groups = self.table("groups")
        found = []
        for lens in ("cohesion", "responsiveness"):
            unfit = groups.filter((pl.col("withheld") == 0) & (pl.col(lens) != YES))
            found += [
                f"{row['axis']}, {row['group']}: {lens} cannot be told, since {row[lens]}."
                for row in unfit.iter_rows(named=True)
            ]
        n_withheld = int(groups["withheld"].sum())
        if n_withheld:
            least = self.settings["min_group_size"]
            found.append(f"{withheld_groups(n_withheld)}; recruit at least {least} raters for each group of an axis.")
        return found

    def _power_findings(self) -> list[str]:
        steps = self.table("power")
        found = []
        for row in self.table("collect").iter_rows(named=True):
            of_group = pl.all_horizontal(pl.col(name) == row[name] for name in KEY)
            own = steps.filter(of_group).select(Step._fields).iter_rows(named=True)
            found.append(_sentence(row, [Step(**step) for step in own], self.settings))
        if steps["question"].str.contains("GAI").any():
            found.append(
                "Power is by simulation, from one kind of difference: members of the group share a point of their own "
                "on some of their ratings. Other differences may be easier or harder to find."
            )
        return found


def gai_question(gai: float) -> str:
    """Return what the tables call the question for a GAI."""
    return f"detect GAI {gai:g}"


def larger(now: Step, step: Step) -> str:
    """Say what a design has more than today's."""
    raters = f"{step.n_raters // now.n_raters} times as many raters ({step.n_raters:,} in the group)"
    items = f"{step.n_items:,} items"
    return {MORE_RATERS: raters, MORE_ITEMS: items}.get(step.what, f"{raters} and {items} together")


def _sentence(row: dict[str, Any], steps: Sequence[Step], settings: dict[str, Any]) -> str:
    """Return what a question of a group comes to."""
    where = f"{row['axis']}, {row['group']}"
    if not steps or math.isnan(steps[0].value):
        return f"{where}: {row['what']}."
    now = steps[0]
    text = f"{where}: with {counted(now.n_raters, 'rater')} in the group and {counted(now.n_items, 'item')}"
    is_gai = row["question"] == gai_question(settings["gai"])
    if is_gai:
        text += f" a GAI of {settings['gai']:g} is found in {_share(now)} simulated studies"
    else:
        text += f" MPA is known to ± {now.value:.3f}"
    if row["enough"]:
        return f"{text}, which is enough."
    enough = [step for step in steps if step.enough]
    if not enough:
        target = f"{settings['power']:.0%}" if is_gai else f"± {settings['mpa_width']:g}"
        return f"{text}; {row['what'].replace('not within', f'{target} is not reached within')}."
    ways = [
        f"{larger(now, step)} would " + (f"find it in {_share(step)}" if is_gai else f"make it ± {step.value:.3f}")
        for step in enough
    ]
    beside = row["what"].partition("; ")[2]
    return f"{'; '.join([text, *ways, *([beside] if beside else [])])}."


def _share(step: Step) -> str:
    return f"{round(step.value * step.n_simulations)} of {step.n_simulations}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
