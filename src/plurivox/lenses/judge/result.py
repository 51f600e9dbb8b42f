"""What :func:`plurivox.judge` found, as tables, sentences and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from plurivox.base.errors import SelectionError
from plurivox.base.wording import counted
from plurivox.domain.answers import Voice
from plurivox.infer.result import Statement, frame_of
from plurivox.infer.tables import ModelResult
from plurivox.lenses.judge.verdicts import JudgeVerdict, verdict_of
from plurivox.lenses.judge.words import statements

CARD = {
    "model": pl.String, "prompt": pl.String, "quantity": pl.String, "value": pl.Float64, "ci_low": pl.Float64,
    "ci_high": pl.Float64, "humans": pl.Float64, "humans_low": pl.Float64, "humans_high": pl.Float64,
    "constant": pl.Float64, "constant_answer": pl.String, "marginal": pl.Float64, "p_value": pl.Float64,
    "p_adjusted": pl.Float64, "scored": pl.Int64, "of": pl.Int64, "note": pl.String,
}  # fmt: skip


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
        own = pl.DataFrame(
            [(row.model, row.prompt) for row in self.rows], schema={"model": pl.String, "prompt": pl.String},
            orient="row",
        )  # fmt: skip
        return pl.concat([own, frame_of(self.rows)], how="horizontal")

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
        names = {(voice.model, voice.prompt): str(voice) for voice in self.voices}
        return [
            f"{names[one['model'], one['prompt']]} does not meet {one['requirement']}: {one['why']}"
            for one in self.requirements().filter(~pl.col("holds")).iter_rows(named=True)
        ]

    def verdicts(self) -> pl.DataFrame:
        """Return the verdict on each model with its reasons."""
        rows = [
            (voice.model, voice.prompt, found.kind, " ".join(found.sentences), " ".join(found.untold))
            for voice in self.voices
            for found in (self.verdict(voice),)
        ]
        names = ("model", "prompt", "verdict", "reasons", "untold")
        return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")

    def verdict(self, voice: Voice) -> JudgeVerdict:
        """Return the verdict on one model with its reasons."""
        return verdict_of(self, voice)

    def cell(self, model: str, quantity: str, *, prompt: str | None = None) -> dict[str, Any]:
        """Return one row of the card; the prompt may be left out if the model has only one."""
        found = self.card().filter(pl.col("model") == model, pl.col("quantity") == quantity)
        found = found if prompt is None else found.filter(pl.col("prompt") == prompt)
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
