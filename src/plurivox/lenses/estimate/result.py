"""What :func:`plurivox.estimate` found, as tables, sentences and JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from plurivox.base.errors import SelectionError
from plurivox.base.wording import are, counted, named, resampled
from plurivox.domain.answers import Voice
from plurivox.infer.claims import weighted_statements
from plurivox.infer.result import Row, Statement, frame_of, p_text, told
from plurivox.infer.tables import ModelResult
from plurivox.lenses.alignment.matching import ALL
from plurivox.lenses.estimate import KEPT, MEAN
from plurivox.lenses.estimate.measuring import BEST, COMBINED, TOGETHER
from plurivox.lenses.estimate.population import ATTRIBUTE, SILENT

FEW = 4
"""The most models that each get a sentence on what they are worth."""
FEW_DIFFERENCES = 3


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimate(ModelResult):
    """What people think of all items, from few human ratings and many model answers."""

    KIND: ClassVar[str] = "estimate"
    ROLES: ClassVar[tuple[str, ...]] = ("estimated",)

    def __repr__(self) -> str:
        judges = counted(len(self.voices), "judge")
        return f"<Estimate: {judges} with humans, over {counted(self.settings['n_items'], 'item')}>"

    @property
    def of(self) -> list[str]:
        """What was estimated: the mean, or shares of points."""
        return list(self.settings["of"])

    def to_frame(self) -> pl.DataFrame:
        """Return one row per model, prompt, axis, group, subset, ``of`` and statistic.

        ``of`` is what was estimated: the mean, or a share. ``n_items`` of an estimate counts all items that it rests
        on; for humans alone, those that they rated.
        """
        own = pl.DataFrame(
            [(row.model, row.prompt, row.other) for row in self.rows],
            schema={"model": pl.String, "prompt": pl.String, "of": pl.String},
            orient="row",
        )
        return pl.concat([own, frame_of(self.rows)], how="horizontal")

    def row(
        self, model: str, statistic: str = "estimate", *, of: str | None = None, prompt: str | None = None,
        axis: str = ALL, group: str = ALL, subset: str = ALL,
    ) -> Row:  # fmt: skip
        """Return one row; ``of`` defaults to what was estimated first, and a prompt is needed if there are several."""
        wanted = (model, statistic, self.of[0] if of is None else of, axis, group, subset)
        found = [
            row for row in self.rows
            if (row.model, row.statistic, row.other, row.axis, row.group, row.subset) == wanted
            and prompt in (None, row.prompt)
        ]  # fmt: skip
        if len(found) != 1:
            several = "several prompts have it" if found else "there is no such value"
            raise SelectionError(
                f"{statistic} of {model!r} for {group!r} on {axis!r}: {several}", hint="to_frame() lists what there is."
            )
        return found[0]

    def value(self, model: str, statistic: str = "estimate", **key: Any) -> float:
        """Return one value; see :meth:`row`."""
        return self.row(model, statistic, **key).value

    def accounts(self) -> pl.DataFrame:
        """Return for each voice and subset how many rated and further items it answered, and why not the others."""
        return self._table("accounts")

    def judges(self) -> pl.DataFrame:
        """Return each judge's λ among all (``weight``) and ``alone``, on the items that all answered.

        ``correlation`` is with the humans' item means, ``bias`` is how much higher the judge scores, and ``selected``
        marks the judge whose estimate varies least. Empty for a single judge.
        """
        return self._table("judges")

    def errors(self) -> pl.DataFrame:
        """Return the correlation of the errors of each two judges over items, without and with chance in ratings."""
        return self._table("errors")

    def population(self) -> pl.DataFrame:
        """Return how rated items differ from others: in attributes of items, and in what models answer.

        ``rated`` and ``others`` are the shares of the ``value`` that differs most, or means; ``p_adjusted`` is Holm's
        correction over all rows. Rows ``without an answer`` compare the ratings of items that a model answered with
        those of items that it did not.
        """
        return self._table("population")

    def statements(self) -> list[Statement]:
        """Return what may be wrong, the estimates, what models are worth, and how far their errors are shared."""
        return [
            *self._population(), *self._estimates(), *self._worth(), *self._needed(), *self._errors(),
            *self._weighted(), *self._remarks(), *self.withheld_statement(),
        ]  # fmt: skip

    def _estimates(self) -> list[Statement]:
        """Say what was estimated, and what humans and the model say alone."""
        said = []
        for of in self.of:
            own = rows_by_statistic(self, main_judge(self), of)
            row, humans, model = (own[name] for name in ("estimate", "estimate_humans", "estimate_model"))
            if math.isnan(row.value):
                text = f"The {words_of(of)} cannot be estimated: {row.note}."
                said.append(Statement(text, 2.0, statistic="estimate", group=ALL, standing="open"))
                continue
            if row.n_items == humans.n_items:
                text = (
                    "No model answered any unrated item, so models add nothing to what humans say: their "
                    f"{words_of(of)} is {self._value(humans)}."
                )
                said.append(Statement(text, 2.2, statistic="estimate", group=ALL, standing="open"))
                continue
            text = (
                f"The {words_of(of)} is estimated at {self._value(row)}, from "
                f"{counted(humans.n_ratings, 'human rating')} of {counted(humans.n_items, 'item')} and answers by "
                f"{self._voice(main_judge(self))} to {counted(row.n_items - humans.n_items, 'further item')}. "
                f"Humans alone: {self._value(humans)}; "
                f"{'models' if main_judge(self).model == TOGETHER else 'the model'} alone: {self._value(model)}."
            )
            said.append(Statement(text, 2.2, statistic="estimate", group=ALL))
        return said

    def _worth(self) -> list[Statement]:
        """Say what each model is worth in human ratings, where an interval supports it."""
        of = self.of[0]
        voices = [*self.voices, *([Voice(TOGETHER, "")] if len(self.voices) > 1 else [])]
        rows = {voice: rows_by_statistic(self, voice, of)["ppi_worth"] for voice in voices}
        known = [voice for voice in voices if not math.isnan(rows[voice].value)]
        said = [self._worth_of(voice, rows[voice], of) for voice in known[-1:] + known[:-1]]
        shown, rest = said[:FEW], len(said) - FEW
        if rest > 0:
            shown.append(
                Statement(
                    f"The table shows what {counted(rest, 'more model')} {are(rest)} worth.", 0.0, statistic="ppi_worth"
                )
            )
        return shown

    def _worth_of(self, voice: Voice, row: Row, of: str) -> Statement:
        name = self._voice(voice)
        name = f"{name[:1].upper()}{name[1:]}" if voice.model == TOGETHER else name
        text = worth_sentence(name, row, f"for the {words_of(of)}", several=voice.model == TOGETHER)
        if row.ci_low is None:
            return Statement(text, 1.0, statistic="ppi_worth", standing="open")
        if row.ci_low > 0:
            return Statement(text, 2.1, statistic="ppi_worth", group=ALL if voice == main_judge(self) else "")
        return Statement(text, 1.6, statistic="ppi_worth", standing="open")

    def _needed(self) -> list[Statement]:
        """Say how many human ratings the requested width needs."""
        width = self.settings["width"]
        if width is None:
            return []
        said = []
        for of in self.of:
            own = rows_by_statistic(self, main_judge(self), of)
            together, alone = own["ratings_needed"].value, own["ratings_needed_humans"].value
            if math.isnan(alone):
                continue
            humans, answers = own["estimate_humans"], f"with the answers of {self._voice(main_judge(self))}"
            beside = f"{_about(together)} {answers}"
            if together >= alone and alone * humans.n_items >= self.settings["n_items"] * humans.n_ratings:
                beside = f"just as many {answers}, since people would then rate every item that was answered"
            elif together >= alone:
                beside = f"just as many {answers}, which do not help here"
            text = (
                f"A 95 % interval {_width(of, self, width)} wide for the {words_of(of)} needs {_about(alone)} human "
                f"ratings without a model, and {beside}; there are {humans.n_ratings:,} so far."
            )
            said.append(Statement(text, 2.0, statistic="ratings_needed"))
        return said

    def _errors(self) -> list[Statement]:
        """Say how many judges with unrelated errors they amount to, and which judge was selected."""
        n = len(self.voices)
        if n < 2:
            return []
        of = self.of[0]
        row = rows_by_statistic(self, Voice(TOGETHER, ""), of)["effective_judges"]
        said = []
        if not math.isnan(row.value):
            ends = "" if row.ci_low is None else f" ({row.ci_low:.1f} to {row.ci_high:.1f} over items)"
            amount = f"the {n} judges amount to {row.value:.1f} independent ones{ends}"
            text = f"By their errors in the {words_of(of)}, {amount}."
            said.append(Statement(text, 2.0, statistic="effective_judges"))
        best = rows_by_statistic(self, Voice(BEST, ""), of)["estimate"]
        if best.ci_low is not None and not math.isnan(rows_by_statistic(self, Voice(BEST, ""), of)["ppi_worth"].value):
            chosen = next(one for one in self.judges().filter(of=of).iter_rows(named=True) if one["selected"])
            text = (
                f"Of single judges, {self._voice(Voice(chosen['model'], chosen['prompt']))} gives the estimate that "
                f"varies least. It was selected for that: its interval holds for all {n} at once, and its worth has no "
                "interval."
            )
            said.append(Statement(text, 0.0, statistic="selected"))
        return said

    def _population(self) -> list[Statement]:
        """Say how rated items differ from the others, which no estimate allows for."""
        said = []
        if self.settings["selected_items"]:
            text = (
                "The rated items were selected, but the answers were not: all answers to other items count as further "
                "items. Select the answers in the same way, or use --subset (subset=)."
            )
            said.append(Statement(text, 2.9, statistic="population", standing="open"))
        differing = [one for one in self.population().iter_rows(named=True) if one["differs"]]
        differing.sort(key=lambda one: (one["axis"] != ALL, one["p_value"]))
        said += [
            Statement(self._difference(one), 2.8 if one["axis"] == ALL else 1.8, one["axis"], "population",
                      one["group"], p=None, standing="open")
            for one in differing[:FEW_DIFFERENCES]
        ]  # fmt: skip
        rest = len(differing) - FEW_DIFFERENCES
        if rest > 0:
            text = f"Rated items differ from the others in {counted(rest, 'further way')}."
            said.append(Statement(text, 1.0, statistic="population", standing="open"))
        return said

    def _difference(self, one: dict[str, Any]) -> str:
        after = f"{p_text(one['p_adjusted'])} after correction"
        if one["compared"] == SILENT:
            return (
                f"Items that {one['attribute']} did not answer are rated differently from those that it did: "
                f"{one['others']:.2f} against {one['rated']:.2f} ({after}). The estimate covers items that it answers."
            )
        whose = "" if one["axis"] == ALL else f" by {named(one['axis'], one['group'])}"
        if one["compared"] == ATTRIBUTE:
            form = ".2f" if one["value"] == "mean" else ".0%"
            value = "" if one["value"] == "mean" else f"{one['value']} is "
            what = f"in {one['attribute']}: {value}{one['rated']:{form}} against {one['others']:{form}}"
        else:
            what = f"in what {one['attribute']} answers: {one['rated']:.2f} against {one['others']:.2f} on average"
        return (
            f"The items rated{whose} differ from the others {what} ({after}). The estimate assumes that they are a "
            "random part of all items."
        )

    def _weighted(self) -> list[Statement]:
        """Say what weights amount to, and where they change the reported estimate most."""
        own = [row for row in self.rows if (row.model, row.prompt, row.other) == (*main_judge(self), self.of[0])]
        return weighted_statements(self.settings, own, "estimate", "the estimate")

    def _remarks(self) -> list[Statement]:
        """Say what was left out, and what intervals generalise over."""
        settings, texts = self.settings, []
        for one in self.accounts().filter(subset=ALL).iter_rows(named=True):
            n = one["n_rated"] + one["n_further"]
            left = [f"{one[state]:,} {state}" for state in ("refused", "unreadable", "failed") if one[state]]
            left += [f"{one['missing']:,} not asked"] if one["missing"] else []
            if left:
                name = self._voice(Voice(one["model"], one["prompt"]))
                rest = "the others are left out"
                if settings["unanswered"] == KEPT:
                    rest = "items that it refused or answered unreadably count with its mean answer"
                texts.append(f"{name} answered {one['answered']:,} of {n:,} items ({', '.join(left)}); {rest}.")
        if settings["n_unsorted"]:
            n = settings["n_unsorted"]
            texts.append(
                f"{counted(n, 'item')} {are(n)} in no part of the items because {settings['subset']} is unknown."
            )
        if not settings["has_raters"]:
            texts.append("It is not known who rated what, so intervals generalise over items alone.")
        return told(texts, 0.0)

    def _value(self, row: Row) -> str:
        """Write a value with its interval, and what that generalises over."""
        value = number_text(row.other, self, row.value)
        if row.ci_low is None or row.ci_high is None or math.isnan(row.ci_low):
            return value
        over = "items" if row.statistic == "estimate_model" else resampled(self.settings)
        ends = " to ".join(number_text(row.other, self, end) for end in (row.ci_low, row.ci_high))
        return f"{value} ({ends} over {over})"

    def _voice(self, voice: Voice) -> str:
        return f"all {len(self.voices)} judges" if voice.model == TOGETHER else str(voice)


def main_judge(found: Estimate) -> Voice:
    """Return the judge whose estimate is reported: the only one, or all together, which needs no selection."""
    return found.voices[0] if len(found.voices) == 1 else Voice(TOGETHER, "")


def rows_by_statistic(found: Estimate, voice: Voice, of: str) -> dict[str, Row]:
    """Return the rows of a judge from all raters and over all items by their statistics."""
    wanted = (*voice, of, ALL, ALL, ALL)
    return {
        row.statistic: row
        for row in found.rows
        if (row.model, row.prompt, row.other, row.axis, row.group, row.subset) == wanted
    }


def worth_sentence(name: str, row: Row, about: str, *, several: bool = False) -> str:
    """Say what judges are worth in human ratings, or where the interval does not support it, that it may be nothing."""
    value = _round(max(row.value, 0.0))
    ratings = f"{value} further human rating{'' if value == '1' else 's'}"
    if row.ci_low is None or row.ci_high is None:
        verb = "are" if several else "is"
        return f"{name} {verb} worth about {ratings} {about}; there are too few items for an interval."
    ends = f"95 % interval {_round(max(row.ci_low, 0.0))} to {_round(max(row.ci_high, 0.0))} over items"
    if row.ci_low > 0:
        return f"{name} {'are' if several else 'is'} worth about {ratings} {about} ({ends})."
    return f"{name} may not be worth any human ratings {about}: about {value} ({ends})."


def voices_shown(found: Estimate) -> list[Voice]:
    """Return the judges, and combinations of several."""
    return [*found.voices, *([Voice(name, "") for name in COMBINED] if len(found.voices) > 1 else [])]


def words_of(of: str) -> str:
    """Return how sentences call what is estimated."""
    return "mean score" if of == MEAN else of


def number_text(of: str, found: Estimate, value: float) -> str:
    """Write a mean as a number, a share in percent."""
    return f"{100 * value:.1f} %" if of in found.settings["shares"] else f"{value:.2f}"


def _width(of: str, found: Estimate, width: float) -> str:
    return f"{100 * width:g} percentage points" if of in found.settings["shares"] else f"{width:g}"


def _round(value: float) -> str:
    """Write a number of ratings to three significant digits."""
    if not math.isfinite(value):
        return "∞"
    digits = max(0, len(str(int(abs(value)))) - 3)
    return f"{round(value, -digits):,.0f}"


def _about(value: float) -> str:
    """Write a number of ratings that are needed, which is infinite where the search for it was given up."""
    return f"about {_round(value)}" if math.isfinite(value) else "more than a trillion"
