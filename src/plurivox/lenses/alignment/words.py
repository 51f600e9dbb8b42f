"""What alignment found, in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from plurivox.base.wording import counted, listed, named
from plurivox.infer.claims import entangled_axes, entangled_statements, rests_on, weighted_statements
from plurivox.infer.result import Row, Statement, p_text, told, weight_of
from plurivox.lenses.alignment.matching import ALL, N_RANDOM
from plurivox.lenses.alignment.stand_ins import DRAWS
from plurivox.lenses.alignment.sums import LEAST_ITEMS, REFERENCE
from plurivox.statistics.alignment import MAY_STAND_IN
from plurivox.statistics.registry import LABELS

if TYPE_CHECKING:
    from plurivox.lenses.alignment.result import Alignment


FEW = 6
"""The most voices that each get a sentence; of more, only the best and the worst do."""
FEW_MISSES = 3
"""The most leads that are not claimed and get a sentence each."""
POSITION_BIAS = 0.001
NOT_WEIGHTED = (
    "Distances, XRR and which group is closest use them; stand-ins, alphas, models as raters and tables of items count "
    "all raters equally."
)


@dataclass(frozen=True, slots=True)
class AlignmentFindings:
    """Turns a result into sentences."""

    found: Alignment

    def statements(self) -> list[Statement]:
        """Return which group each model's answers lie closest to, how sure that is, and what was left out."""
        if not self.found.settings["humans"]:
            return [*self._alone(), *self._agreement(), *self._shaky(), *self._remarks()]
        weighted = weighted_statements(self.found.settings, (), "ada_met")
        return [
            *self._closest(), *self._nearest(), *self._stand_ins(), *self._agreement(), *self._shaky(),
            *self._remarks(), *(replace(one, text=f"{one.text} {NOT_WEIGHTED}") for one in weighted),
            *self.found.withheld_statement(),
        ]  # fmt: skip

    def _closest(self) -> list[Statement]:
        """Say for each voice and axis which group is closest if that is claimed, or else that none is, and why."""
        settings = self.found.settings
        tested = [row for row in self.found.rows if row.kind == "closest" and row.tested]
        about = {(one["model"], one["prompt"], one["axis"]): one for one in self.found.closest().iter_rows(named=True)}
        n_tested = len(tested)
        tested.sort(key=lambda row: (row.p_adjusted or 0.0, row.model, row.prompt, row.axis))
        said = [
            Statement(
                self._closest_sentence(row, about[row.model, row.prompt, row.axis], n_tested), weight_of(row),
                row.axis, row.statistic, row.group, True, row.p_adjusted, rests_on(settings, row, n_tested),
                row.n_permutations, f"{self._named(row)}'s answers",
                f"lie closest to raters with {named(row.axis, row.group)}",
            )
            for row in tested if row.claim
        ]  # fmt: skip
        if tested and not said:
            said.append(self._none_closest(tested))
        said += self._near_misses([(row, about[row.model, row.prompt, row.axis]) for row in tested if not row.claim])
        said += entangled_statements(settings, (row.axis for row in tested))
        most = self.found.contrasts().group_by("axis", maintain_order=True).agg(pl.col("n_items").max())
        common = f"have {LEAST_ITEMS} answered items in common, so none is called the closest."
        few = [axis for axis, n in most.iter_rows() if n < LEAST_ITEMS]
        return said + [Statement(f"No two groups of {axis} {common}", 1.0, axis) for axis in few]

    def _closest_sentence(self, row: Row, one: dict[str, Any], n_tested: int) -> str:
        """Say which group is the closest. No interval: the next group was selected by its distance."""
        level = "" if _missing(one["matched"]) else f", {_points(one['matched'])} at equal group sizes"
        left = one["n_groups"] - one["n_compared"]
        alone = f" They are not compared with {counted(left, 'group')}: too few items in common." if left else ""
        account = self.found.accounts().filter(model=row.model, prompt=row.prompt, subset=ALL).row(0, named=True)
        return (
            f"{self._named(row)}'s answers lie closest to raters with {named(row.axis, row.group)}, and follow them "
            f"item by item; the next group, {one['next']}, is {_points(one['gap'])} farther by {LABELS[one['by']]} on "
            f"{counted(one['n_items'], 'item')} that both rated{level}; {p_text(row.p_adjusted or 0.0)} after "
            f"correction over {counted(n_tested, 'comparison')}.{alone} The model {_answered(account)}."
        )

    def _none_closest(self, tested: Sequence[Row]) -> Statement:
        """Say that no group is called the closest to any voice."""
        free = [row for row in tested if row.axis not in entangled_axes(self.found.settings)] or tested
        surest = min(free, key=lambda row: row.p_adjusted or 0.0)
        n_tested = len(tested)
        text = (
            "No model is said to reflect the view of one group: none is certain to lie closer to one group than to all "
            f"others; the smallest {p_text(surest.p_adjusted or 0.0)} after correction over "
            f"{counted(n_tested, 'comparison')}."
        )
        return Statement(
            text, 2.0, statistic=surest.statistic, p=surest.p_adjusted,
            rests_on=rests_on(self.found.settings, surest, n_tested), n_permutations=surest.n_permutations,
            standing="open",
        )  # fmt: skip

    def _near_misses(self, others: Sequence[tuple[Row, dict[str, Any]]]) -> list[Statement]:
        """Say why leads that shuffled raters do not give are still not claimed."""
        blocked = entangled_axes(self.found.settings)
        rows, said = [(row, one) for row, one in others if row.survives and row.axis not in blocked], []
        for row, one in rows[:FEW_MISSES]:
            why = "with other items, another group could be the closest"
            if row.undecided:
                why = f"p is too close to .05 after {row.n_permutations or 0:,} shuffles"
            elif not one["follows"]:
                order = "the same answers in random order would lie about as close"
                why = f"they do not follow that group item by item: {order}"
            text = (
                f"{self._named(row)}'s answers lie closer to {named(row.axis, row.group)} than to {one['next']} "
                f"({_points(one['gap'])}, {p_text(row.p_adjusted or 0.0)} after correction). Not claimed, since {why}."
            )
            said.append(Statement(text, 1.9, row.axis, row.statistic, row.group, p=row.p_adjusted))
        if len(rows) > FEW_MISSES:
            text = f"The same applies to {counted(len(rows) - FEW_MISSES, 'more lead', 'more leads')}; see closest()."
            said.append(Statement(text, 1.8, statistic=rows[0][0].statistic))
        return said

    def _nearest(self) -> list[Statement]:
        """Say how far each voice is from the mode of all raters, and how far answers without judgement are."""
        rows = [row for row in self._overall() if row.kind != REFERENCE]
        shown = rows if len(rows) <= FEW else [rows[0], rows[-1]]
        found = []
        for row in shown:
            answered = self.found.value(row.model, "ada_met_answered", prompt=row.prompt)
            only = f"; {answered:.2f} where it answered" if abs(answered - row.value) > 0.005 else ""
            known = not (_missing(row.ci_low) or _missing(row.ci_high))
            interval = f" ({row.ci_low:.2f} to {row.ci_high:.2f})" if known else ""
            rank = "" if len(rows) <= FEW else (", the closest" if row is rows[0] else ", the farthest")
            far = f"{row.value:.2f}{interval} points from the mode of all raters on average"
            found.append(Statement(f"{self._named(row)} is {far}{rank}{only}.", 2.2, statistic="ada_met"))
        return found + self._without_judgement(rows)

    def _overall(self) -> list[Row]:
        """Return the defined distances from all raters on all items, of models and references, the smallest first."""
        rows = [row for row in self.found.rows if (row.statistic, row.axis, row.subset) == ("ada_met", ALL, ALL)]
        rows = [row for row in rows if not math.isnan(row.value)]
        return sorted(rows, key=lambda row: (row.value, row.model, row.prompt))

    def _without_judgement(self, models: list[Row]) -> list[Statement]:
        """Say how far the best constant and random answers are, and which models are no closer."""
        rows = {row.model: row for row in self._overall() if row.kind == REFERENCE}
        if not rows or not models:
            return []
        best, *others = (rows[name] for name in self.found.references())
        beside = " and ".join(f"a {row.model} {row.value:.2f}" for row in others)
        text = f"For comparison, {best.model} is {best.value:.2f} points from it, {beside}."
        beaten = [self._named(row) for row in models if row.value >= best.value]
        if len(beaten) == len(models):
            text += f" No model is closer than {best.model}."
        elif beaten:
            text += f" Not closer than {best.model}: {listed(beaten, FEW)}."
        return [Statement(text, 2.15, statistic="ada_met")]

    def _stand_ins(self) -> list[Statement]:
        """Say which models may stand in for a rater, and why others may not although they pass the published test."""
        frame = self.found.stand_ins()
        models = [one for one in frame.filter(~pl.col("reference")).iter_rows(named=True) if not _missing(one["omega"])]
        if not models:
            why = (
                f"Whether a model may stand in for a rater cannot be decided: {frame['why'][0]}."
                if frame.height
                else ""
            )
            return [Statement(why, 0.5, statistic="stand_in")] if why else []
        found = [self._stands_in(one, len(models)) for one in models if one["stands_in"]]
        for one in models:
            if one["omega"] >= MAY_STAND_IN and not one["stands_in"]:
                text = f"{self._named(one)} is not said to stand in for a rater, though its ω is {one['omega']:.2f}: "
                found.append(Statement(text + f"{one['why']}.", 2.1, statistic="stand_in"))
        if not any(one["stands_in"] for one in models):
            n = max(one["n_humans"] for one in models)
            highest = max(one["omega"] for one in models)
            needed = f"; the highest ω is {highest:.2f}, and one half is needed" if highest < MAY_STAND_IN else ""
            of = f"{counted(n, 'human')}, tolerance {models[0]['tolerance']:g}"
            text = f"No model is said to stand in for a rater ({of}{needed})."
            found.append(Statement(text, 2.1, statistic="stand_in"))
        return found + self._constants_pass(frame)

    def _stands_in(self, one: dict[str, Any], n_models: int) -> Statement:
        few = f"; {one['n_few']:,} more rated too few items to compare" if one["n_few"] else ""
        text = (
            f"{self._named(one)} may stand in for a rater: for {one['n_rejected']} of {one['n_humans']} humans it is "
            f"as close to the others as that human is (ω = {one['omega']:.2f}, tolerance {one['tolerance']:g})"
            f"{few}, and it is closer than {one['constant']} (ρ = {one['advantage']:.2f} against "
            f"{one['constant_advantage']:.2f}, {p_text(one['p_adjusted'])} corrected over "
            f"{counted(n_models, 'model')})."
        )
        rests = f"items resampled {DRAWS:,} times; corrected over {counted(n_models, 'model')} (Holm)"
        return Statement(
            text, 3.0 + 1.0 - one["p_adjusted"], statistic="stand_in", claim=True, p=one["p_adjusted"], rests_on=rests,
            n_permutations=DRAWS, subject=self._named(one), short="may stand in for a rater",
        )  # fmt: skip

    def _constants_pass(self, frame: pl.DataFrame) -> list[Statement]:
        """Say where the published test alone cannot distinguish a judge from a constant."""
        constants = self.found.settings["references"][:-N_RANDOM]
        passing = frame.filter(pl.col("model").is_in(constants), "reference", pl.col("omega") >= MAY_STAND_IN)
        if passing.is_empty():
            return []
        names = listed([f"{one['model']} (ω = {one['omega']:.2f})" for one in passing.iter_rows(named=True)], FEW)
        text = (
            f"ω alone cannot tell a judge from a constant here: {names} also "
            f"{'reach' if passing.height > 1 else 'reaches'} one half. So a model must also be closer to the others "
            "than the best constant."
        )
        return [Statement(text, 2.05, statistic="stand_in")]

    def _agreement(self) -> list[Statement]:
        found, frame = [], self.found.alphas().filter(level="ordinal")
        human = frame.filter(models="humans")["value"].to_list()
        beside = "" if not human or _missing(human[0]) else f", humans with {human[0]:.2f}"
        for one in frame.filter(pl.col("value").is_not_nan(), models="all models").sort("prompt").iter_rows(named=True):
            where = f" with the prompt {one['prompt']}" if one["prompt"] else ""
            text = f"The {one['n_models']} models agree among themselves{where} with an ordinal alpha of "
            found.append(Statement(f"{text}{one['value']:.2f}{beside}.", 1.9, statistic="alpha"))
        return found

    def _shaky(self) -> list[Statement]:
        found = []
        away = (pl.col("share") - pl.col("expected")).abs()
        farthest = self.found.positions().sort(away, descending=True).unique(["model", "prompt"], keep="first")
        biased = farthest.filter(pl.col("p_value") < POSITION_BIAS).sort("model", "prompt")
        for one in biased.iter_rows(named=True):
            text = (
                f"{self._named(one)} has a position bias: the option shown in position {one['position']} gets "
                f"{one['share']:.0%} of its answers, where an even share is {one['expected']:.0%} "
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
        each = [f"{self._named(one)} {_answered(one)}." for one in self.found.accounts().iter_rows(named=True)]
        return [Statement(text, 2.3), *told(each, 2.2)]

    def _remarks(self) -> list[Statement]:
        """Say what was left out."""
        settings, found = self.found.settings, self._unmet()
        if settings["n_unrated"]:
            found.append(f"Left out because they have answers but no rating: {counted(settings['n_unrated'], 'item')}.")
        if settings["n_elsewhere"]:
            found.append(
                "Unreadable, since they neither are nor name a point of the scale: "
                f"{counted(settings['n_elsewhere'], 'answer')}."
            )
        if settings["n_unsorted"]:
            found.append(f"Without a value for {settings['subset']}: {counted(settings['n_unsorted'], 'item')}.")
        asked = pl.sum_horizontal("refused", "unreadable", "failed") > 0
        silent = self.found.accounts().filter(pl.col("subset") == ALL, pl.col("answered") == 0, asked)
        found += [f"{self._named(one)} has no readable answer." for one in silent.iter_rows(named=True)]
        return told(found, 0.0)

    def _unmet(self) -> list[str]:
        """Say who rated none of the items that models answered."""
        if not self.found.settings["n_items"]:
            return ["The selected ratings contain no item that a model answered."]
        first = next(iter(self.found.settings["voices"]), None)
        none: dict[str, list[str]] = {}
        for row in self.found.rows:
            own = (row.kind, row.statistic, row.n_items) == ("group", "ada_met", 0)
            if own and [row.model, row.prompt] == first:
                none.setdefault(row.axis, []).append(named(row.axis, row.group))
        why = "Without a value because they rated none of the answered items:"
        return [f"{why} {listed(groups, FEW)}." for groups in none.values()]

    def _named(self, one: Row | dict[str, Any]) -> str:
        """Name the model of a row or a line, with its prompt if there are several."""
        model, prompt = (one.model, one.prompt) if isinstance(one, Row) else (one["model"], one["prompt"])
        return (
            f"{model} ({prompt})" if prompt and len({voice.prompt for voice in self.found.voices}) > 1 else str(model)
        )


def _answered(account: dict[str, Any]) -> str:
    """Say how many items a model answered, and what became of the others."""
    states = ("refused", "unreadable", "failed", "missing")
    silent = [f"{state} {account[state]:,}" for state in states if account[state]]
    said = f"answered {account['answered']:,} of {counted(account['n_items'], 'item')}"
    return said + (f" ({', '.join(silent)})" if silent else "")


def _points(value: float) -> str:
    return f"{value:.2f} points"


def _missing(value: float | None) -> bool:
    return value is None or math.isnan(value)
