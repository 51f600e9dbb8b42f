"""What a judge card found, in sentences: verdicts, each reason with its number and its test, and what was left out.

A verdict claims only what the tests support. ``good`` needs the test of standing in, which a constant answer cannot
pass, and no problem that is certain; ``not`` needs a test that goes against the model; ``with care`` needs agreement
beyond chance; and where nothing is certain, the verdict is ``undecided``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from plurivox.base.wording import counted, listed, named, resampled
from plurivox.domain.answers import Voice
from plurivox.domain.scale_names import Poles
from plurivox.infer.claims import judge_and_raters_of, not_both, weighted_statements
from plurivox.infer.families import SIGNIFICANT
from plurivox.infer.result import Statement, p_text, told
from plurivox.infer.tables import typed
from plurivox.lenses.estimate.result import worth_sentence
from plurivox.lenses.judge.settings import Requirement
from plurivox.statistics.alignment import MAY_STAND_IN

if TYPE_CHECKING:
    from plurivox.lenses.judge.result import JudgeCard


GOOD, CARE, NOT, UNDECIDED = "good", "with care", "not", "undecided"
KINDS = (GOOD, CARE, NOT, UNDECIDED)
MEANING = {
    GOOD: "can serve as a judge of items like these",
    CARE: "can serve as a judge with care",
    NOT: "should not serve as a judge here",
    UNDECIDED: "can be neither recommended nor ruled out as a judge: these data do not decide it",
}
SILENT = 0.05
"""A judge that certainly leaves more than this share of the items without an answer has a problem."""
FEW = 3
"""The most biases that get a sentence each."""
TESTED = {
    "agreement": "agreement", "bias": "bias", "omega": "standing in for a rater", "position_bias": "position bias",
    "consistency": "self-consistency",
}  # fmt: skip
"""What a verdict rests on; it names those that could not be tested."""


class Reason(NamedTuple):
    """A reason: the sentence, which way it points (``"for"``, ``"against"``, ``"open"``), and what it is about.

    ``short`` and ``amount`` say the same about answers in a few words.
    """

    text: str
    points: str
    quantity: str
    p: float | None = None
    axis: str = "all"
    group: str = "all"
    subset: str = "all"
    short: str = ""
    amount: str = ""


class JudgeVerdict(NamedTuple):
    """A verdict on a model: its kind, one of :data:`KINDS`, the reasons, and what could not be tested."""

    kind: str
    reasons: tuple[Reason, ...]
    untold: tuple[str, ...]

    @property
    def sentences(self) -> list[str]:
        """The reasons in words, decisive ones first."""
        return [one.text for one in self.reasons]


def cells_of(found: JudgeCard, voice: Voice) -> dict[str, dict[str, Any]]:
    """Return the rows of a model's card by quantity."""
    own = found.card().filter(model=voice.model, prompt=voice.prompt)
    return {one["quantity"]: one for one in own.iter_rows(named=True)}


def verdict_of(found: JudgeCard, voice: Voice) -> JudgeVerdict:
    """Return the verdict on a model."""
    cells = cells_of(found, voice)
    stands, follows, weak, lead = _stands(found, voice), _agreement(cells), _weak(cells), _lead(cells)
    problems = [*_biases(found, voice), *_places(found, voice, cells), *_wavers(cells), *_silent(cells)]
    reasons = [one for one in (stands, follows, weak, lead, *problems) if one is not None]
    against = any(one is not None and one.points == "against" for one in (weak, lead))
    if stands is not None and stands.points == "for":
        kind = CARE if against or any(one.points == "against" for one in problems) else GOOD
    elif against:
        kind = NOT
        reasons.sort(key=lambda one: one.quantity not in ("relative", "lead") or one.points != "against")
    else:
        kind = CARE if follows is not None and follows.points == "for" else UNDECIDED
    untold = [f"{name} ({cells[quantity]['note']})" for quantity, name in TESTED.items()
              if _missing(cells[quantity]["value"])]  # fmt: skip
    return JudgeVerdict(kind, tuple(reasons), (f"Not tested: {listed(untold)}.",) if untold else ())


# Agreement -----------------------------------------------------------------------------------------------------------


def _agreement(cells: dict[str, dict[str, Any]]) -> Reason | None:
    """Say whether answers follow raters from item to item beyond chance."""
    one = cells["agreement"]
    if _missing(one["value"]):
        return None
    beside = "" if _missing(one["humans"]) else f", and raters reach {one['humans']:.2f} among themselves"
    amount = f"{one['value']:.2f}{_ends(one)}"
    amount += f", where 0 is chance{beside}"
    points, text = "open", f"It is not certain that it agrees with raters beyond chance: {amount}"
    if _sure(one) and one["value"] > 0:
        points, text = "for", f"Its agreement with a rater is {amount} ({p_text(one['p_adjusted'])})"
    return Reason(f"{text}.", points, "agreement", one["p_adjusted"])


def _weak(cells: dict[str, dict[str, Any]]) -> Reason | None:
    """Say that a model agrees with raters less than half as much as they do with each other, if that is certain."""
    one = cells["relative"]
    if _missing(one["value"]) or not _sure(one) or one["value"] >= 0.5:
        return None
    text = (
        f"It agrees with a rater less than half as much as raters do with each other: {one['value']:.0%} of that"
        f"{_ends(one, '.0%')} ({p_text(one['p_adjusted'])} against one half)."
    )
    return Reason(text, "against", "relative", one["p_adjusted"])


def _lead(cells: dict[str, dict[str, Any]]) -> Reason | None:
    """Say whether a model is closer to raters than the best constant answer."""
    one = cells["lead"]
    if _missing(one["value"]):
        return None
    constant = f"always answering {one['constant_answer']}"
    if not _sure(one):
        lead = f"its lead is {one['value']:.2f} points{_ends(one)}"
        text = f"It is not certain that it is closer to a rater than {constant}: {lead}."
        return Reason(text, "open", "lead", one["p_adjusted"])
    ahead = one["value"] > 0
    by = f"{abs(one['value']):.2f} points{_ends(one, turn=not ahead)}, {p_text(one['p_adjusted'])}"
    text = f"It is {'closer to' if ahead else 'farther from'} a rater than {constant}, by {by}."
    return Reason(text, "for" if ahead else "against", "lead", one["p_adjusted"])


def _stands(found: JudgeCard, voice: Voice) -> Reason | None:
    """Say whether a model may stand in for a rater."""
    frame = found.stand_ins()
    if frame.is_empty():
        return None
    one = frame.filter(~pl.col("reference"), model=voice.model, prompt=voice.prompt).row(0, named=True)
    if _missing(one["omega"]):
        return None
    told = f"ω = {one['omega']:.2f}, tolerance {one['tolerance']:g}"
    of = f"{one['n_rejected']} of {counted(one['n_humans'], 'rater')}"
    if one["stands_in"]:
        text = (
            f"It may stand in for a rater: it holds its own against {of} ({told}), and is closer to the others than "
            f"the best constant answer (ρ = {one['advantage']:.2f} against {one['constant_advantage']:.2f}, "
            f"{p_text(one['p_adjusted'])})."
        )
        return Reason(text, "for", "omega", one["p_adjusted"])
    why = f", though {told}: {one['why']}"
    if one["omega"] < MAY_STAND_IN:
        why = f": it holds its own against {of} ({told})"
    return Reason(f"It cannot be said to stand in for a rater{why}.", "open", "omega")


# Problems ------------------------------------------------------------------------------------------------------------


def _biases(found: JudgeCard, voice: Voice) -> Iterator[Reason]:
    """Say where answers are certainly above or below ratings: overall, where it is a bias, and elsewhere in short."""
    frame = found.biases().filter("shifted", model=voice.model, prompt=voice.prompt)
    rows = sorted(frame.iter_rows(named=True), key=lambda one: -abs(one["value"]))
    whole = [one for one in rows if one["axis"] == one["subset"] == "all"]
    told = [*whole, *[one for one in rows if one not in whole and one["biased"]][:FEW]]
    yield from (_bias(found, one) for one in told)
    rest = [one for one in rows if one not in told]
    if not rest:
        return
    largest, more = rest[0], " more" if told else ""
    points, where = f"{abs(largest['value']):.2f} points", _where(found, largest)
    start = "It is also certainly off for" if told else "It is off on average for"
    p = "" if told else f", {p_text(largest['p_adjusted'])}"
    text = f"{len(rest):,}{more} groups of raters or parts of the items, by at most {points} ({where}{p})."
    if len(rest) == 1:
        text = f"{'items' if largest['subset'] != 'all' else 'raters'} with {where}, by {points}{p}."
    yield Reason(f"{start} {text}", "against", "bias_elsewhere")


def _where(found: JudgeCard, one: dict[str, Any]) -> str:
    """Name a group of raters, or a part of the items."""
    own = (found.settings["subset"], one["subset"]) if one["subset"] != "all" else (one["axis"], one["group"])
    return named(*own)


def _bias(found: JudgeCard, one: dict[str, Any]) -> Reason:
    """Say by how much answers are above or below ratings, compared with single raters."""
    poles, low, high = Poles.of(found.settings), one["humans_low"], one["humans_high"]
    usual = "" if low is None else f" (nine in ten by {low:+.2f} to {high:+.2f})"
    whom = "raters" if one["axis"] == "all" else f"raters with {named(one['axis'], one['group'])}"
    scores = "the raters' scores" if one["axis"] == "all" else f"the scores of {whom}"
    where = " items" if one["subset"] == "all" else f" items with {_where(found, one)}"
    way = poles.more if one["value"] > 0 else "lower" if poles.more == "higher" else f"less {poles.high}"
    amount = f"{abs(one['value']):.2f} points"
    much = f"{amount}{_ends(one, turn=one['value'] < 0)} {way} than {whom} do on average"
    key = {
        "axis": one["axis"], "group": one["group"], "subset": one["subset"], "amount": f"by {amount}",
        "short": f"are {way} than {scores}{'' if one['subset'] == 'all' else f' on{where}'}",
    }  # fmt: skip
    if one["biased"]:
        beyond = f"farther off than single raters{usual}, {p_text(one['p_beyond'])}"
        return Reason(f"It is biased: it rates{where} {much}, {beyond}.", "against", "bias", one["p_beyond"], **key)
    are = "are" if low is not None and low <= one["value"] <= high else "may be"
    text = f"It rates{where} {much}, {p_text(one['p_adjusted'])}; single raters {are} off by as much{usual}."
    return Reason(text, "against", "bias", one["p_adjusted"], **key)


def _places(found: JudgeCard, voice: Voice, cells: dict[str, dict[str, Any]]) -> Iterator[Reason]:
    """Say that options are chosen for their position, if that is certain."""
    one = cells["position_bias"]
    if not _sure(one):
        return
    frame = found.places().filter(model=voice.model, prompt=voice.prompt)
    place = frame.sort(pl.col("share") - pl.col("expected"), descending=True).row(0, named=True)
    text = (
        f"It depends on the order of options: the one shown in position {place['place']} gets {place['share']:.0%} of "
        f"its answers, where {place['expected']:.0%} are expected, {p_text(one['p_adjusted'])}."
    )
    short = "depend on the order of options"
    yield Reason(text, "against", "position_bias", one["p_adjusted"], short=short, amount=f"{one['value']:.0%} of them")


def _wavers(cells: dict[str, dict[str, Any]]) -> Iterator[Reason]:
    """Say that a model agrees with itself less than two raters do with each other, if that is certain."""
    one = cells["consistency"]
    if _missing(one["value"]) or _missing(one["ci_high"]) or _missing(one["humans"]):
        return
    if one["ci_high"] < (one["humans"] if one["humans_low"] is None else one["humans_low"]):
        text = (
            f"It contradicts itself: two of its answers to the same question agree {one['value']:.0%}"
            f"{_ends(one, '.0%')} of the time, those of two raters {one['humans']:.0%}."
        )
        yield Reason(text, "against", "consistency")


def _silent(cells: dict[str, dict[str, Any]]) -> Iterator[Reason]:
    """Say that a model certainly leaves many items without an answer."""
    one = cells["answered"]
    if _missing(one["value"]) or one["ci_high"] >= 1 - SILENT:
        return
    text = (
        f"It answers only {one['scored']:,} of {one['of']:,} items, {one['value']:.0%}{_ends(one, '.0%')}: "
        f"{cells['refused']['scored']:,} refused, {cells['unreadable']['scored']:,} unreadable."
    )
    yield Reason(text, "against", "answered")


# Pieces of sentences -------------------------------------------------------------------------------------------------


def _sure(one: dict[str, Any]) -> bool:
    return one["p_adjusted"] is not None and one["p_adjusted"] < SIGNIFICANT


def _missing(value: float | None) -> bool:
    return value is None or math.isnan(value)


def _ends(one: dict[str, Any], form: str = ".2f", *, turn: bool = False) -> str:
    """Return an interval in parentheses, with its signs flipped where the amount is given without one."""
    low, high = one["ci_low"], one["ci_high"]
    if _missing(low) or _missing(high):
        return ""
    low, high = (-high, -low) if turn else (low, high)
    return f" ({low + 0.0:{form}} to {high + 0.0:{form}})"


# Whether judge cards meet what was required ---------------------------------------------------------------------------

REQUIREMENTS = typed("model prompt requirement value holds why")


def check(texts: Iterable[str], card: pl.DataFrame, biases: pl.DataFrame) -> pl.DataFrame:
    """Return each requirement for each judge: the value, whether it holds, and why."""
    rows = {(one["model"], one["prompt"], one["quantity"], ""): one for one in card.iter_rows(named=True)}
    for one in biases.iter_rows(named=True):
        for name in {one["group"], one["subset"], f"{one['axis']}={one['group']}"} - {"all", "all=all"}:
            rows.setdefault((one["model"], one["prompt"], "bias", name), one)
    found = []
    for model, prompt in dict.fromkeys(card.select("model", "prompt").iter_rows()):
        for text in texts:
            need = Requirement.of(text)
            checked = need.checked(rows.get((model, prompt, need.name, need.part)))
            found.append((model, prompt, need.text, *checked))
    return pl.DataFrame(found, schema=REQUIREMENTS, orient="row")


# Statements -----------------------------------------------------------------------------------------------------------

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
    claims = [
        _claim(found, voice, one) for voice, own in verdicts.items() for one in own.reasons
        if one.points == "against" and one.quantity in CLAIMS and one.p is not None
    ]  # fmt: skip
    claims.sort(key=lambda one: -one.weight)
    rows = [row for row in found.rows if row.kind == "voice"]
    weighted = weighted_statements(found.settings, rows, "agreement", about=judge_and_raters_of)
    notes = [NOT_WEIGHTED, *not_both(found.settings, found.rows)] if weighted else []
    n = found.settings["n_unrated"]
    counts = "counts" if n == 1 else "count"
    text = f"{counted(n, 'answered item')} without a rating {counts} only towards what answers are worth."
    remarks = told([*notes, *([text] if n else [])], 0.0)
    return [*said, *_worth(found), *claims, *weighted, *remarks, *found.withheld_statement()]


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
