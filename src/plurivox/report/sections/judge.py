"""The judge card: arguments for and against trusting a language model as a judge."""

from __future__ import annotations

from plurivox.base.wording import listed
from plurivox.domain.answers import Voice
from plurivox.lenses.alignment.matching import as_answers
from plurivox.lenses.judge import result as views
from plurivox.lenses.judge.result import JudgeCard
from plurivox.lenses.judge.verdicts import MEANING, NOT
from plurivox.report.parts import (
    CAUTION,
    Action,
    Block,
    Brief,
    Prose,
    Section,
    Terms,
    drawn,
    findings_of,
    remarks_of,
    shown,
    slug,
    switched,
)
from plurivox.report.sections.alignment import compared_axes
from plurivox.statistics.registry import of_role

LEAD = "Before a model judges in place of people: how far it agrees with them, and where it is off."
METHODS = (
    "Agreement is that between the model and a rater (XRR), and among raters Krippendorff's alpha on the same items; "
    "the constant is the best answer that is always the same, the draw one from all votes, averaged over all draws. A "
    "model can serve as a judge if it may stand in for a rater and nothing certain speaks against it; with care if it "
    "agrees with raters beyond chance; and should not if a constant answer is nearer to raters, or if it agrees with "
    "them less than half as much as they do with each other. That answers are off is claimed if the mean difference "
    "from ratings of the same items is certain over items and raters, corrected over all models, groups and parts "
    "(Holm); it is called a bias if it also exceeds how far single raters are off from the others."
)
QUANTITIES = (
    "Scored: items that count. p of agreement and lead: that it is 0; of the share of raters' own: that it is half."
)
BIASES = (
    "Mean answer minus mean rating of the same items, in points. Nine in ten raters are off from the others by the "
    "values in the columns on raters."
)
PLACES = "Expected: if orders had been shown with other items; neither favourite answers nor uneven orders matter then."
_ANCHORS = {"bias": "judge-biases", "position_bias": "judge-places"}


def section(brief: Brief) -> Section | None:
    """Say of each model whether it can serve as a judge, if there are answers."""
    if "answers" not in brief.study.inputs:
        return None
    found = found_in(brief)
    findings = [one for one in findings_of(found, "judge-cards", _ANCHORS) if one.said.statistic != "verdict"]
    terms = tuple((slug("judge-term", one.name), one.label, f"{one.meaning}.") for one in of_role("judged"))
    more: list[Block] = [
        *_figures(found), *shown("judge-card", views.quantities(found), QUANTITIES),
        *shown("judge-biases", views.biases(found), BIASES, title="Bias by groups of raters and parts of the items"),
        *shown("judge-places", views.places(found), PLACES, title="Where chosen options were shown"),
        Prose(METHODS), Terms(terms),
    ]  # fmt: skip
    out = [str(voice) for voice in found.voices if found.verdict(voice).kind == NOT]
    text = f"anything from the answers of {listed(out, 2)} in place of ratings."
    actions = [Action(CAUTION, text, "judge-cards", 3)] if out else []
    return Section("judge", "Can a model judge?", LEAD, [], findings, remarks_of(found), more, actions=actions)


def found_in(brief: Brief) -> JudgeCard:
    """Return the lens's result for the report."""
    answers = as_answers(brief.study.inputs["answers"], brief.ratings)
    axes, _ = compared_axes(brief)
    found: JudgeCard = brief.ask(
        "judge", inputs={"answers": answers}, by=axes, several={}, subset=brief.asked.items_by
    )  # fmt: skip
    return found


def _figures(found: JudgeCard) -> list[Block]:
    """Return each model's card, with its verdict."""
    voices: dict[str, list[Voice]] = {}
    for voice in found.voices:
        voices.setdefault(voice.model, []).append(voice)
    return switched("judge-cards", "Card of", [
        (model, drawn(
            "judge_card", found, slug("judge-cards", model), _titled(found, own),
            f"Agreement, standing in, consistency, distance and bias of {model} compared with raters, constants and "
            "draws.",
            _reasons(found, own), model,
        ))
        for model, own in voices.items()
    ])  # fmt: skip


def _titled(found: JudgeCard, voices: list[Voice]) -> str:
    if len(voices) == 1:
        return f"{voices[0].model} {MEANING[found.verdict(voices[0]).kind]}"
    kinds = [f"{voice.prompt}: {found.verdict(voice).kind}" for voice in voices]
    return f"{voices[0].model} as a judge, by prompt: {listed(kinds, 4)}"


def _reasons(found: JudgeCard, voices: list[Voice]) -> str:
    """Return the reasons of the verdict, those of each prompt after its name."""
    said = []
    for voice in voices:
        verdict = found.verdict(voice)
        said += [f"{voice.prompt}:"] if len(voices) > 1 else []
        said += [*verdict.sentences, *verdict.untold]
    return " ".join(said)
