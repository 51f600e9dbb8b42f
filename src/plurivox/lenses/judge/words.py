"""What a judge card found, in sentences: the verdict on each model, its reasons, and what was left out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from plurivox.base.wording import counted, resampled
from plurivox.domain.answers import Voice
from plurivox.infer.result import Statement, told
from plurivox.infer.weighting import judge_and_raters_of, not_both, weighted_statements
from plurivox.lenses.estimate.result import worth_sentence
from plurivox.lenses.judge.verdicts import GOOD, MEANING, NOT, UNDECIDED, JudgeVerdict, Reason

if TYPE_CHECKING:
    from plurivox.lenses.judge.result import JudgeCard

CLAIMS = ("bias", "position_bias")
"""Quantities whose certain problems are claims; alignment claims that a model stands in for a rater."""

NOT_WEIGHTED = (
    "Standing in for a rater (ω and ρ) is unweighted: every rater counts equally. Position bias, self-consistency and "
    "refusals do not depend on who rated."
)


def statements(found: JudgeCard) -> list[Statement]:
    """Return the verdict on each model, the claims behind them, and remarks."""
    verdicts = {voice: found.verdict(voice) for voice in found.voices}
    said = [_verdict(voice, one) for voice, one in verdicts.items()]
    claims = [_claim(found, voice, one) for voice, own in verdicts.items() for one in own.reasons if _is_claim(one)]
    claims.sort(key=lambda one: -one.weight)
    return [*said, *_worth(found), *claims, *_weighted(found), *_remarks(found), *found.withheld_statement()]


def _verdict(voice: Voice, verdict: JudgeVerdict) -> Statement:
    """Say whether a model can serve as a judge, and why, all reasons together."""
    text = " ".join([f"{voice} {MEANING[verdict.kind]}.", *verdict.sentences, *verdict.untold])
    weight = {GOOD: 2.6, NOT: 2.5}.get(verdict.kind, 2.4)
    return Statement(
        text, weight, statistic="verdict", subject=str(voice), short=MEANING[verdict.kind],
        standing="open" if verdict.kind == UNDECIDED else "",
    )  # fmt: skip


def _worth(found: JudgeCard) -> list[Statement]:
    """Say what each model is worth in human ratings, as estimates do."""
    said = []
    for row in found.rows:
        if row.statistic == "worth" and math.isfinite(row.value):
            about = f"for the mean score{', ' if row.note else ''}{row.note}"
            text = worth_sentence(str(Voice(row.model, row.prompt)), row, about)
            sure = row.ci_low is not None and row.ci_low > 0
            said.append(Statement(text, 2.0 if sure else 1.6, statistic="worth", standing="" if sure else "open"))
    return said


def _weighted(found: JudgeCard) -> list[Statement]:
    """Say what weights amount to, where they change agreement most, and what does not use them."""
    rows = [row for row in found.rows if row.kind == "voice"]
    said = weighted_statements(found.settings, rows, "agreement", about=judge_and_raters_of)
    notes = [NOT_WEIGHTED, *not_both(found.settings, found.rows)] if said else []
    return [*said, *told(notes, 0.0)]


def _is_claim(one: Reason) -> bool:
    return one.points == "against" and one.quantity in CLAIMS and one.p is not None


def _claim(found: JudgeCard, voice: Voice, one: Reason) -> Statement:
    """Return a bias as a claim of its own, which a report can correct further."""
    n = found.biases().height + found.places().n_unique(["model", "prompt"])
    how = f"t of the jackknife over {resampled(found.settings)}"
    if one.quantity == "position_bias":
        how = "orders of options shuffled between items"
    return Statement(
        f"{voice}{one.text.removeprefix('It')}", 3.0 + 1.0 - (one.p or 0.0), one.axis, one.quantity, one.group,
        True, one.p, f"{how}; corrected over {counted(n, 'value')} (Holm)", subject=f"{voice}'s answers",
        short=one.short, amount=one.amount, subset=one.subset,
    )  # fmt: skip


def _remarks(found: JudgeCard) -> list[Statement]:
    n = found.settings["n_unrated"]
    counts = "counts" if n == 1 else "count"
    text = f"{counted(n, 'answered item')} without a rating {counts} only towards what answers are worth."
    return told([text], 0.0) if n else []
