"""What alignment says, in sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from plurivox.lenses.alignment.matching import ALL
from plurivox.results.result import Row, Statement, p_text, survival, weight_of

if TYPE_CHECKING:
    from plurivox.lenses.alignment.result import Alignment
from plurivox.results.wording import counted

FEW = 6
"""Voices of which each gets a sentence; of more, the best and the worst do."""
MAY_STAND_IN = 0.5
"""From this share of humans on, a model may stand in for a rater."""
POSITION_BIAS = 0.001


@dataclass(frozen=True, slots=True)
class AlignmentFindings:
    """Turns a result into sentences."""

    found: Alignment

    def statements(self) -> list[Statement]:
        """Return whom each model's answers lie closest to, how sure that is, and what was left out."""
        return [
            *self._closest(),
            *self._nearest(),
            *self._stand_ins(),
            *self._agreement(),
            *self._shaky(),
            *(Statement(text, 0.0) for text in self._left_out()),
            *self.found.withheld_statement(),
        ]

    def _closest(self) -> list[Statement]:
        """Say of each voice and axis which group is closest if that is more than chance; count the others."""
        rows = [row for row in self.found.rows if row.kind == "closest"]
        tested = [row for row in rows if row.tested]
        alone = [axis for axis in self.found.settings["by"] if axis in self._without_common()]
        apart = [Statement(f"No item was rated by all groups of {axis}, so none is called the closest.", 1.0, axis)
                 for axis in alone]  # fmt: skip
        contrasts = self.found.contrasts()
        found = [
            Statement(self._closest_sentence(row, contrasts, len(tested)), weight_of(row), row.axis, row.statistic)
            for row in sorted(tested, key=lambda row: (row.p_value or 0.0, row.model, row.prompt, row.axis))
            if row.survives
        ]
        if tested and not found:
            text = (
                f"No model's answers lie closer to one group than to the others by more than chance gives "
                f"({counted(len(tested), 'comparison')}, corrected)."
            )
            found.append(Statement(text, 2.0, statistic="closest_gap"))
        return [*found, *apart]

    def _without_common(self) -> set[str]:
        standings = self.found.standings()
        return set(standings.group_by("axis").agg(pl.col("n_items").max()).filter(n_items=0)["axis"])

    def _closest_sentence(self, row: Row, contrasts: pl.DataFrame, n_tested: int) -> str:
        key = {"model": row.model, "prompt": row.prompt, "axis": row.axis, "group": row.group}
        others = contrasts.filter(**key).sort("difference", descending=True)
        farthest = others.row(0, named=True) if others.height else None
        text = f"{self._voice(row)}: its answers lie closest to raters with {row.axis} {row.group}"
        if farthest is not None:
            text += f"; {farthest['other']} are {_points(farthest['difference'])} farther"
            text += _bounds(farthest["ci_low"], farthest["ci_high"])
            if not _missing(farthest["matched"]):
                text += f", {_points(farthest['matched'])} at equal group sizes"
                text += _bounds(farthest["matched_low"], farthest["matched_high"])
        p = row.p_value or 0.0
        return f"{text}; {p_text(p)}, {survival(row, n_tested, 'comparison')}. {self._refused(row)}"

    def _refused(self, row: Row) -> str:
        account = self.found.accounts().filter(model=row.model, prompt=row.prompt, subset=ALL).row(0, named=True)
        silent = [f"{state} {account[state]:,}" for state in ("refused", "unreadable", "failed", "missing")
                  if account[state]]  # fmt: skip
        return f"Of {account['n_items']:,} items it answered {account['answered']:,}" + (
            f" ({', '.join(silent)})." if silent else "."
        )

    def _nearest(self) -> list[Statement]:
        """Say how far each voice is from the mode of all raters."""
        rows = [
            row
            for row in self.found.rows
            if (row.statistic, row.axis, row.subset) == ("ada_met", ALL, ALL) and not math.isnan(row.value)
        ]
        rows.sort(key=lambda row: (row.value, row.model, row.prompt))
        shown = rows if len(rows) <= FEW else [rows[0], rows[-1]]
        found = []
        for row in shown:
            key = (row.model, "ada_met_answered")
            answered = self.found.value(*key, prompt=row.prompt)
            only = f"; {answered:.2f} where it answered" if abs(answered - row.value) > 0.005 else ""
            interval = _bounds(row.ci_low, row.ci_high)
            rank = "" if len(rows) <= FEW else (", the closest" if row is rows[0] else ", the farthest")
            text = (
                f"{self._voice(row)} is {row.value:.2f}{interval} points from the mode of all raters on average{rank}"
                f"{only}."
            )
            found.append(Statement(text, 2.2, statistic="ada_met"))
        return found

    def _stand_ins(self) -> list[Statement]:
        found = []
        for one in self.found.stand_ins().iter_rows(named=True):
            if _missing(one["omega"]) or one["omega"] < MAY_STAND_IN:
                continue
            text = (
                f"{self._named(one)} may stand in for a rater: it is at least as close to the others for "
                f"{one['n_rejected']} of {one['n_humans']} humans (ω = {one['omega']:.2f}, tolerance "
                f"{one['tolerance']:g}){self._few(one)}."
            )
            found.append(Statement(text, 2.1, statistic="stand_in"))
        if not found and self.found.stand_ins().height:
            n = int(self.found.stand_ins()["n_humans"].max() or 0)  # type: ignore[arg-type]
            if n:
                text = f"No model may stand in for a rater: none is as close to the others as half of {n} humans are."
                found.append(Statement(text, 2.1, statistic="stand_in"))
        return found

    def _few(self, one: dict[str, Any]) -> str:
        return f"; {one['n_few']:,} more rated too few items to compare" if one["n_few"] else ""

    def _agreement(self) -> list[Statement]:
        found = []
        for one in self.found.alphas().filter(models="all models").sort("prompt", "level").iter_rows(named=True):
            if one["level"] == "ordinal" and not _missing(one["value"]):
                where = f" with the prompt {one['prompt']}" if one["prompt"] else ""
                text = (
                    f"The {one['n_models']} models agree among themselves{where} by an ordinal alpha of "
                    f"{one['value']:.2f}."
                )
                found.append(Statement(text, 1.9, statistic="alpha"))
        return found

    def _shaky(self) -> list[Statement]:
        found = []
        away = (pl.col("share") - pl.col("expected")).abs()
        farthest = self.found.positions().sort(away, descending=True).unique(["model", "prompt"], keep="first")
        for one in farthest.sort("model", "prompt").iter_rows(named=True):
            if one["p_value"] < POSITION_BIAS:
                text = (
                    f"{self._named(one)} likes places: the option shown at place {one['position']} has "
                    f"{one['share']:.0%} of its answers, where {one['expected']:.0%} would be even "
                    f"({p_text(one['p_value'])})."
                )
                found.append(Statement(text, 1.8, statistic="position"))
        return found

    def _left_out(self) -> list[str]:
        settings, found = self.found.settings, []
        if settings["n_unrated"]:
            found.append(f"Left out, having answers and no rating: {counted(settings['n_unrated'], 'item')}.")
        if settings["n_elsewhere"]:
            found.append(
                f"Unreadable, naming a point that is not on the scale: {counted(settings['n_elsewhere'], 'answer')}."
            )
        if settings["n_unsorted"]:
            found.append(f"In no part by {settings['subset']}: {counted(settings['n_unsorted'], 'item')}.")
        silent = self.found.accounts().filter(pl.col("subset") == ALL, pl.col("answered") == 0)
        found += [f"{self._named(one)} has no readable answer." for one in silent.iter_rows(named=True)]
        return found

    def _voice(self, row: Row) -> str:
        return self._named({"model": row.model, "prompt": row.prompt})

    def _named(self, one: dict[str, Any]) -> str:
        prompts = {voice.prompt for voice in self.found.voices}
        return f"{one['model']} ({one['prompt']})" if len(prompts) > 1 and one["prompt"] else str(one["model"])


def _points(value: float) -> str:
    return f"{value:.2f} points"


def _bounds(low: float | None, high: float | None) -> str:
    return "" if _missing(low) or _missing(high) else f" ({low:.2f} to {high:.2f})"


def _missing(value: float | None) -> bool:
    return value is None or math.isnan(value)
