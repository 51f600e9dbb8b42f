"""What alignment says, in sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from plurivox.lenses.alignment.matching import ALL
from plurivox.lenses.alignment.references import N_RANDOM
from plurivox.lenses.alignment.rows import REFERENCE
from plurivox.lenses.alignment.stand_ins import DRAWS
from plurivox.results.result import Row, Statement, p_text, survival, weight_of

if TYPE_CHECKING:
    from plurivox.lenses.alignment.result import Alignment
from plurivox.results.wording import counted, listed, named
from plurivox.statistics.stand_in import MAY_STAND_IN

FEW = 6
"""Voices of which each gets a sentence; of more, the best and the worst do."""
POSITION_BIAS = 0.001


@dataclass(frozen=True, slots=True)
class AlignmentFindings:
    """Turns a result into sentences."""

    found: Alignment

    def statements(self) -> list[Statement]:
        """Return whom each model's answers lie closest to, how sure that is, and what was left out."""
        if not self.found.settings["humans"]:
            return [*self._alone(), *self._agreement(), *self._shaky(), *self._remarks()]
        return [
            *self._closest(),
            *self._nearest(),
            *self._stand_ins(),
            *self._agreement(),
            *self._shaky(),
            *self._remarks(),
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
        return f"Of {account['n_items']:,} items it {_answered(account)}."

    def _nearest(self) -> list[Statement]:
        """Say how far each voice is from the mode of all raters, and how far answers without judgement are."""
        rows = [row for row in self._overall("ada_met") if row.kind != REFERENCE]
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
        return found + self._without_judgement(rows)

    def _overall(self, statistic: str) -> list[Row]:
        """Return the defined values for all raters and items, of models and references, the smallest first."""
        rows = [
            row
            for row in self.found.rows
            if (row.statistic, row.axis, row.subset) == (statistic, ALL, ALL) and not math.isnan(row.value)
        ]
        return sorted(rows, key=lambda row: (row.value, row.model, row.prompt))

    def _without_judgement(self, models: list[Row]) -> list[Statement]:
        """Say how far the best constant and random answers are, and which models are no closer."""
        rows = {row.model: row for row in self._overall("ada_met") if row.kind == REFERENCE}
        if not rows or not models:
            return []
        best, *others = (rows[name] for name in self.found.references())
        beside = " and ".join(f"a {row.model} {row.value:.2f}" for row in others)
        text = f"For comparison: {best.model} is {best.value:.2f} points from it, {beside}."
        beaten = [self._voice(row) for row in models if row.value >= best.value]
        if len(beaten) == len(models):
            text += f" No model is closer than {best.model}."
        elif beaten:
            text += f" Not closer than {best.model}: {listed(beaten, FEW)}."
        return [Statement(text, 2.15, statistic="ada_met")]

    @property
    def _constants(self) -> list[str]:
        return list(self.found.settings["references"][:-N_RANDOM])

    def _stand_ins(self) -> list[Statement]:
        """Say which models may stand in for a rater, and why others may not although they pass the published test."""
        frame = self.found.stand_ins()
        models = [one for one in frame.filter(~pl.col("reference")).iter_rows(named=True) if not _missing(one["omega"])]
        if not models:
            return self._too_few_humans(frame)
        found = [self._stands_in(one, len(models)) for one in models if one["stands_in"]]
        for one in models:
            if one["omega"] >= MAY_STAND_IN and not one["stands_in"]:
                text = f"{self._named(one)} is not said to stand in for a rater, though its ω is {one['omega']:.2f}: "
                found.append(Statement(text + f"{one['why']}.", 2.1, statistic="stand_in"))
        if not any(one["stands_in"] for one in models):
            n = max(one["n_humans"] for one in models)
            text = (
                f"No model may stand in for a rater ({counted(n, 'human')}, tolerance {models[0]['tolerance']:g}; "
                f"the highest ω is {max(one['omega'] for one in models):.2f})."
            )
            found.append(Statement(text, 2.1, statistic="stand_in"))
        return found + self._constants_pass(frame)

    def _stands_in(self, one: dict[str, Any], n_models: int) -> Statement:
        text = (
            f"{self._named(one)} may stand in for a rater: for {one['n_rejected']} of {one['n_humans']} humans it is "
            f"as close to the others as that human is (ω = {one['omega']:.2f}, tolerance {one['tolerance']:g})"
            f"{self._few(one)}, and it is closer than {one['constant']} (ρ = {one['advantage']:.2f} against "
            f"{one['constant_advantage']:.2f}, {p_text(one['p_adjusted'])} corrected over "
            f"{counted(n_models, 'model')})."
        )
        rests = f"items drawn anew {DRAWS:,} times; corrected over {counted(n_models, 'model')} (Holm)"
        return Statement(
            text, 3.0 + 1.0 - one["p_adjusted"], statistic="stand_in", claim=True, p=one["p_adjusted"], rests_on=rests,
            n_permutations=DRAWS,
        )  # fmt: skip

    def _constants_pass(self, frame: pl.DataFrame) -> list[Statement]:
        """Say where the published test alone cannot tell a judge from a constant."""
        passing = frame.filter(pl.col("model").is_in(self._constants), "reference", pl.col("omega") >= MAY_STAND_IN)
        if passing.is_empty():
            return []
        names = listed([f"{one['model']} (ω = {one['omega']:.2f})" for one in passing.iter_rows(named=True)], FEW)
        text = (
            f"ω alone cannot tell a judge from a constant here: {names} {'reach' if passing.height > 1 else 'reaches'} "
            "one half, too. So a model also has to be closer to the others than the best constant."
        )
        return [Statement(text, 2.05, statistic="stand_in")]

    def _too_few_humans(self, frame: pl.DataFrame) -> list[Statement]:
        if frame.is_empty():
            return []
        text = f"Whether a model may stand in for a rater cannot be told: {frame['why'][0]}."
        return [Statement(text, 0.5, statistic="stand_in")]

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

    def _alone(self) -> list[Statement]:
        """Say what each model answered, and that nothing can be said about humans."""
        text = (
            "There are no human ratings, so nothing is said about distances, groups, or standing in for a rater; only "
            "what models answered, and how far they agree with each other and with themselves."
        )
        found = [Statement(text, 2.3)]
        return found + [
            Statement(f"{self._named(one)}: of {one['n_items']:,} items it {_answered(one)}.", 2.2)
            for one in self.found.accounts().iter_rows(named=True)
        ]

    def _remarks(self) -> list[Statement]:
        return [Statement(text, 0.0) for text in self._left_out()]

    def _left_out(self) -> list[str]:
        settings, found = self.found.settings, self._unmet()
        if settings["n_unrated"]:
            found.append(f"Left out, having answers and no rating: {counted(settings['n_unrated'], 'item')}.")
        if settings["n_elsewhere"]:
            found.append(
                f"Unreadable, naming a point that is not on the scale: {counted(settings['n_elsewhere'], 'answer')}."
            )
        if settings["n_unsorted"]:
            found.append(f"In no part by {settings['subset']}: {counted(settings['n_unsorted'], 'item')}.")
        asked = pl.sum_horizontal("refused", "unreadable", "failed") > 0
        silent = self.found.accounts().filter(pl.col("subset") == ALL, pl.col("answered") == 0, asked)
        found += [f"{self._named(one)} has no readable answer." for one in silent.iter_rows(named=True)]
        return found

    def _unmet(self) -> list[str]:
        """Say who rated none of the items that models answered."""
        if not self.found.settings["n_items"]:
            return ["No item that a model answered is rated by those who were chosen."]
        first = next(iter(self.found.settings["voices"]), None)
        none = [
            row
            for row in self.found.rows
            if [row.model, row.prompt] == first and (row.kind, row.statistic, row.n_items) == ("group", "ada_met", 0)
        ]
        axes = dict.fromkeys(row.axis for row in none)
        return [
            f"Without a value, having rated none of the items that were answered: "
            f"{listed([named(axis, row.group) for row in none if row.axis == axis], FEW)}."
            for axis in axes
        ]

    def _voice(self, row: Row) -> str:
        return self._named({"model": row.model, "prompt": row.prompt})

    def _named(self, one: dict[str, Any]) -> str:
        prompts = {voice.prompt for voice in self.found.voices}
        return f"{one['model']} ({one['prompt']})" if len(prompts) > 1 and one["prompt"] else str(one["model"])


def _answered(account: dict[str, Any]) -> str:
    """Tell how many items a model answered, and what became of the others."""
    states = ("refused", "unreadable", "failed", "missing")
    silent = [f"{state} {account[state]:,}" for state in states if account[state]]
    return f"answered {account['answered']:,}" + (f" ({', '.join(silent)})" if silent else "")


def _points(value: float) -> str:
    return f"{value:.2f} points"


def _bounds(low: float | None, high: float | None) -> str:
    return "" if _missing(low) or _missing(high) else f" ({low:.2f} to {high:.2f})"


def _missing(value: float | None) -> bool:
    return value is None or math.isnan(value)
