"""What a judge card says, in sentences: the verdict on each model, its reasons, and what was left out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from plurivox.answers import Voice
from plurivox.lenses.judge.verdicts import GOOD, MEANING, NOT, UNDECIDED, Reason, Verdict
from plurivox.results.result import Statement
from plurivox.results.wording import counted, resampled

if TYPE_CHECKING:
    from plurivox.lenses.judge.result import JudgeCard

CLAIMS = ("bias", "position_bias")
"""Quantities of which a certain problem is a claim; that a model stands in for a rater is claimed by alignment."""


def statements(found: JudgeCard) -> list[Statement]:
    """Return the verdict on each model, the claims behind them, and remarks."""
    verdicts = {voice: found.verdict(voice) for voice in found.voices}
    said = [_verdict(voice, one) for voice, one in verdicts.items()]
    claims = [_claim(found, voice, one) for voice, own in verdicts.items() for one in own.reasons if _is_claim(one)]
    claims.sort(key=lambda one: -one.weight)
    return [*said, *_worth(found), *claims, *_remarks(found), *found.withheld_statement()]


def _verdict(voice: Voice, verdict: Verdict) -> Statement:
    """Say whether a model can serve as a judge, and why, all reasons together."""
    text = " ".join([f"{voice} {MEANING[verdict.kind]}.", *verdict.sentences, *verdict.untold])
    weight = {GOOD: 2.6, NOT: 2.5}.get(verdict.kind, 2.4)
    return Statement(
        text, weight, statistic="verdict", subject=str(voice), short=MEANING[verdict.kind],
        standing="open" if verdict.kind == UNDECIDED else "",
    )  # fmt: skip


def _worth(found: JudgeCard) -> list[Statement]:
    """Say what the answers of each model are worth in human ratings."""
    said = []
    for voice in found.voices:
        one = found.cell(voice.model, "worth", prompt=voice.prompt)
        if math.isfinite(one["value"]):
            ends = "" if one["ci_low"] is None else f" ({one['ci_low']:,.0f} to {one['ci_high']:,.0f})"
            ratings = f"{one['value']:,.0f}{ends} further human ratings for the mean score"
            text = f"The answers of {voice} are worth {ratings}{', ' if one['note'] else ''}{one['note']}."
            said.append(Statement(text, 2.0, statistic="worth"))
    return said


def _is_claim(one: Reason) -> bool:
    return one.points == "against" and one.quantity in CLAIMS and one.p is not None


def _claim(found: JudgeCard, voice: Voice, one: Reason) -> Statement:
    """Return a bias as a claim of its own, which a report can correct once more."""
    n = found.biases().height + found.places().n_unique(["model", "prompt"])
    how = f"t of the jackknife over {resampled(found.settings)}"
    if one.quantity == "position_bias":
        how = "orders of options shuffled between items"
    return Statement(
        f"{voice}: {one.text[0].lower()}{one.text[1:]}", 3.0 + 1.0 - (one.p or 0.0), one.axis, one.quantity, one.group,
        True, one.p, f"{how}; corrected over {counted(n, 'value')} (Holm)", subject=f"the answers of {voice}",
        short=one.short, amount=one.amount, subset=one.subset,
    )  # fmt: skip


def _remarks(found: JudgeCard) -> list[Statement]:
    texts = []
    if found.settings["n_unrated"]:
        texts.append(
            f"Answered and without a rating, so that they only count in what answers are worth: "
            f"{counted(found.settings['n_unrated'], 'item')}."
        )
    return [Statement(text, 0.0) for text in texts]
