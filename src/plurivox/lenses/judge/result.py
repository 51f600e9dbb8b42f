"""What :func:`plurivox.judge` found, as tables, sentences and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from plurivox.base.errors import SelectionError
from plurivox.base.wording import counted, intervals_over, named
from plurivox.domain.answers import Voice
from plurivox.infer.claims import beside_unweighted, judge_and_raters_of
from plurivox.infer.result import Statement, frame_of
from plurivox.infer.tables import ModelResult, typed
from plurivox.infer.view import Column, P, View, filled, view_of, written
from plurivox.lenses.judge.settings import OF
from plurivox.lenses.judge.verdicts import MEANING, JudgeVerdict, cells_of, statements, verdict_of

CARD = typed(
    "model prompt quantity value ci_low ci_high humans humans_low humans_high constant constant_answer marginal "
    "p_value p_adjusted scored of note",
    constant=pl.Float64,
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JudgeCard(ModelResult):
    """The case for and against trusting models as judges."""

    KIND: ClassVar[str] = "judge"
    ROLES: ClassVar[tuple[str, ...]] = ("judged",)

    def __repr__(self) -> str:
        said = ", ".join(f"{voice} {self.verdict(voice).kind}" for voice in self.voices[:3])
        more = f" and {len(self.voices) - 3} more" if len(self.voices) > 3 else ""
        return f"<JudgeCard: {said}{more}; {counted(self.settings['n_items'], 'item')}>"

    def to_frame(self) -> pl.DataFrame:
        """Return one row per model, prompt, axis, group, subset and quantity."""
        voices = [(row.model, row.prompt) for row in self.rows]
        return pl.DataFrame(voices, schema=typed("model prompt"), orient="row").hstack(frame_of(self.rows))

    def card(self) -> pl.DataFrame:
        """Return every quantity of every model with what it is compared with.

        ``humans`` is what two raters reach, ``constant`` the best constant answer (``constant_answer``), ``marginal`` a
        draw from all votes, on average over all draws; for ``position_bias`` it is what shuffled orders give.
        ``humans_low`` and ``humans_high`` are the interval of ``humans``; for ``bias`` they span nine in ten raters.
        ``p_adjusted`` is corrected over models: it tests ``agreement`` and ``lead`` against 0, and ``relative`` against
        one half. ``scored`` of ``of`` items count; ``note`` says why a value is undefined.
        """
        return self._table("card")

    def biases(self) -> pl.DataFrame:
        """Return how far answers are above ratings of the same items, for all raters, groups, and parts of the items.

        ``p_adjusted`` is for a mean difference (``shifted``), ``p_beyond`` for one that is also larger than raters'
        among each other (``biased``), both corrected over all of them and position bias. Nine in ten raters are
        between ``humans_low`` and ``humans_high``.
        """
        return self._table("biases")

    def places(self) -> pl.DataFrame:
        """Return how often the option at each position was chosen, and what is expected from the orders and answers."""
        return self._table("places")

    def stand_ins(self) -> pl.DataFrame:
        """Return the alternative annotator test, as :meth:`plurivox.Alignment.stand_ins` does."""
        return self._table("stand ins")

    def requirements(self) -> pl.DataFrame:
        """Return what was required of each model, the value, whether it holds, and why."""
        return self._table("requirements")

    @property
    def passed(self) -> bool:
        """Whether everything that was required holds for every model."""
        return bool(self.requirements()["holds"].all())

    def failures(self) -> list[str]:
        """Return a sentence for each requirement that does not hold."""
        unmet = self.requirements().filter(~pl.col("holds")).select("model", "prompt", "requirement", "why")
        return [
            f"{Voice(model, prompt)} does not meet {wanted}: {why}" for model, prompt, wanted, why in unmet.iter_rows()
        ]

    def verdicts(self) -> pl.DataFrame:
        """Return the verdict on each model with its reasons."""
        each = [(voice, self.verdict(voice)) for voice in self.voices]
        rows = [(*voice, one.kind, " ".join(one.sentences), " ".join(one.untold)) for voice, one in each]
        names = ("model", "prompt", "verdict", "reasons", "untold")
        return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")

    def verdict(self, voice: Voice) -> JudgeVerdict:
        """Return the verdict on one model with its reasons."""
        return verdict_of(self, voice)

    def cell(self, model: str, quantity: str, *, prompt: str | None = None) -> dict[str, Any]:
        """Return one row of the card; the prompt may be left out if the model has only one."""
        found = self.card().filter(model=model, quantity=quantity, **({} if prompt is None else {"prompt": prompt}))
        if found.height != 1:
            several = "several prompts have it" if found.height else "there is no such value"
            raise SelectionError(f"{quantity} of {model!r}: {several}", hint="card() lists what there is.")
        return found.row(0, named=True)

    def value(self, model: str, quantity: str, *, prompt: str | None = None) -> float:
        """Return one value; see :meth:`cell`."""
        return float(self.cell(model, quantity, prompt=prompt)["value"])

    def statements(self) -> list[Statement]:
        """Return the verdict on each model, what it rests on, and what was left out."""
        return statements(self)


failures = JudgeCard.failures
"""What the command ends with if a requirement is not met."""


# Tables ---------------------------------------------------------------------------------------------------------------

FIRST = ("agreement", "distance", "omega", "advantage", "bias", "answered")
"""The quantities shown for several models side by side."""
COMPARED = {"humans": "two raters", "constant": "best constant", "marginal": "draw from votes"}


def tables(found: JudgeCard) -> list[View]:
    """Return a card for each model, biases, positions, and requirements."""
    labels = {name: one.label for name, one in OF.items()}
    weighted = beside_unweighted(found.rows, labels, judge_and_raters_of, "model", {"worth": ",.0f"})
    several = [biases(found)] if found.biases().height > len(found.voices) else []
    return [*_cards(found), *several, *filled(places(found), _requirements(found)), *weighted]


def brief(found: JudgeCard) -> list[View]:
    """Return the card of one model, or the main quantities of several side by side; and what was required."""
    return [*(_cards(found) if len(found.voices) == 1 else [_summary(found)]), *filled(_requirements(found))]


def number(value: float | None, quantity: str) -> str:
    """Return a value formatted by its unit: shares and points with two decimals, ratings whole; a dash for none."""
    form = ",.0f" if OF[quantity].unit == "ratings" else "+.2f" if OF[quantity].better == "zero" else ".2f"
    text = written(value, form)
    return text.lstrip("-") if text in ("-0.00", "-0") else text


def _range(low: float | None, high: float | None, quantity: str = "bias") -> str:
    """Return an interval, empty without one."""
    if low is None or high is None or low != low:
        return ""
    return f"{number(low, quantity)} to {number(high, quantity)}"


def _summary(found: JudgeCard) -> View:
    """Return a row for each model, and what raters and answers without judgement reach on the items of the first."""
    lines = [(str(voice), found.verdict(voice).kind, voice, "value") for voice in found.voices]
    lines += [(name, "", found.voices[0], column) for column, name in COMPARED.items()]
    rows = []
    for name, kind, voice, column in lines:
        cells = {one: cells_of(found, voice)[one][column] for one in FIRST}
        beside = column != "value"
        rows.append([name, kind, *("" if beside and x is None else number(x, one) for one, x in cells.items())])
    header = ["model", "verdict", "agreement", "distance", "ω", "ρ", "bias", "answered"]
    return View("Models as judges, compared with raters and answers without judgement", header, rows)


def _cards(found: JudgeCard) -> list[View]:
    header = ["", "value", "95 % interval", "raters", "constant", "chance", Column("p", P)]
    shown = []
    for voice in found.voices:
        cells = cells_of(found, voice)
        rows = []
        for name, one in cells.items():
            raters = number(one["humans"], name)
            if name == "bias":  # the range of nine in ten
                raters = _range(one["humans_low"], one["humans_high"]) or written(None)
            beside = (number(one[column], name) for column in ("constant", "marginal"))
            ends = _range(one["ci_low"], one["ci_high"], name)
            rows.append([OF[name].label, number(one["value"], name), ends, raters, *beside, one["p_adjusted"]])
        scored = f"{cells['agreement']['scored']:,} of {cells['agreement']['of']:,} items scored"
        shown.append(View(f"{voice} {MEANING[found.verdict(voice).kind]}; {scored}", header, rows))
    return shown


def quantities(found: JudgeCard) -> View:
    """Return every quantity of every card."""
    frame = found.card().with_columns(pl.col("quantity").replace({name: one.label for name, one in OF.items()}))
    names = {
        "model": "model", "quantity": "quantity", "value": Column("value", ".3f [.3f]"), "humans": "two raters",
        "constant": "best constant", "marginal": "chance", "p_adjusted": "p corrected", "scored": "scored", "of": "of",
        "note": "note", "unweighted": "unweighted",
    }  # fmt: skip
    return view_of("Every quantity", frame, {name: to for name, to in names.items() if name in frame.columns})


def biases(found: JudgeCard) -> View:
    """Return how far answers are from ratings, for each group of raters and part of the items."""
    ends = "95 % interval", "nine in ten raters"
    header = ["model", "raters", "items", Column("bias", "+.2f"), *ends, Column("p corrected", P), "off", "scored",
              Column("p beyond raters", P, extra=True)]  # fmt: skip
    rows = [
        [
            str(Voice(one["model"], one["prompt"])), named(one["axis"], one["group"]), one["subset"],
            one["value"], _range(one["ci_low"], one["ci_high"]), _range(one["humans_low"], one["humans_high"]),
            one["p_adjusted"],
            "more than raters" if one["biased"] else "on average" if one["shifted"] else "not certain", one["n_items"],
            one["p_beyond"],
        ]
        for one in found.biases().iter_rows(named=True)
    ]  # fmt: skip
    over = intervals_over({**found.settings, "interval": "jackknife"})
    return View(f"Answers minus ratings of the same items, in points; {over}", header, rows)


def places(found: JudgeCard) -> View:
    """Return where the options were shown that models chose."""
    names = {
        "model": "model", "place": "place", "n": "answers", "share": Column("share", ".1%"),
        "expected": Column("expected", ".1%"),
    }  # fmt: skip
    return view_of("Where the chosen option was shown", found.places(), names)


def _requirements(found: JudgeCard) -> View:
    met = pl.when("holds").then(pl.lit("met")).otherwise(pl.lit("NOT MET"))
    names = {"model": "model", "requirement": "requirement", "met": "", "why": "why"}
    return view_of("What was required", found.requirements().with_columns(met=met), names)
