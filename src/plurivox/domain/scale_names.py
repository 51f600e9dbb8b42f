"""Scales in words that many studies use, by name, and what sentences call the two ends of a scale.

Named scales are suggested if answers fit one, and used if one is named; no scale is ever assumed unasked.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from plurivox.domain.scale import Scale


class NamedScale(NamedTuple):
    """A scale in words."""

    name: str
    about: str
    """What it measures, as it follows "This looks like"."""
    points: tuple[tuple[str, ...], ...]
    """For each point, lowest first, its label and then other wordings of the same."""
    poles: tuple[str, str]

    @property
    def labels(self) -> tuple[str, ...]:
        """The points, lowest first."""
        return tuple(wordings[0] for wordings in self.points)


def fold(text: str) -> str:
    """Return a text as wordings are compared: without case or surrounding blanks, and with one blank between words.

    Examples
    --------
    >>> fold("  Strongly  Agree ") == fold("strongly agree")
    True
    """
    return " ".join(text.casefold().split())


def _agree(how: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the two points of a degree of agreement, as "Slightly agree" and as "Agree slightly"."""
    low, high = f"{how} disagree", f"{how} agree"
    return (low, f"Disagree {how.lower()}"), (high, f"Agree {how.lower()}")


_NO_SIDE = ("Neither agree nor disagree", "Neither disagree nor agree", "Neither", "Neutral", "Undecided")
_STRONGLY, _SOMEWHAT = _agree("Strongly"), _agree("Somewhat")
_SLIGHTLY = tuple((*slightly, *somewhat) for slightly, somewhat in zip(_agree("Slightly"), _SOMEWHAT, strict=True))
_DISAGREE, _AGREE = ("Disagree",), ("Agree",)
_NEITHER_SATISFIED = (
    "Neither satisfied nor dissatisfied", "Neither dissatisfied nor satisfied", "Neither", "Neutral",
)  # fmt: skip
_NEITHER_LIKELY = ("Neither likely nor unlikely", "Neither unlikely nor likely", "Neither", "Neutral")
_UNSURE = ("Unsure", "Not sure", "Uncertain", "Maybe")
_NEVER, _RARELY = ("Never",), ("Rarely", "Seldom")
_SOMETIMES, _OFTEN = ("Sometimes", "Occasionally"), ("Often", "Frequently")


def _plain(*labels: str) -> tuple[tuple[str, ...], ...]:
    return tuple((label,) for label in labels)


_AGREEMENT, _SATISFIED = ("disagreed with", "agreed with"), ("dissatisfied", "satisfied")
_ALL = (
    NamedScale("likert-agree", "agreement", (_STRONGLY[0], _DISAGREE, _NO_SIDE, _AGREE, _STRONGLY[1]), _AGREEMENT),
    NamedScale("likert-agree-4", "agreement", (_STRONGLY[0], _DISAGREE, _AGREE, _STRONGLY[1]), _AGREEMENT),
    NamedScale(
        "likert-agree-6", "agreement",
        (_STRONGLY[0], _DISAGREE, _SLIGHTLY[0], _SLIGHTLY[1], _AGREE, _STRONGLY[1]), _AGREEMENT,
    ),
    NamedScale(
        "likert-agree-7", "agreement",
        (_STRONGLY[0], _DISAGREE, _SLIGHTLY[0], _NO_SIDE, _SLIGHTLY[1], _AGREE, _STRONGLY[1]), _AGREEMENT,
    ),
    NamedScale(
        "likert-agree-somewhat", "agreement",
        (_STRONGLY[0], _SOMEWHAT[0], _NO_SIDE, _SOMEWHAT[1], _STRONGLY[1]), _AGREEMENT,
    ),
    NamedScale(
        "likert-agree-somewhat-4", "agreement", (_STRONGLY[0], _SOMEWHAT[0], _SOMEWHAT[1], _STRONGLY[1]), _AGREEMENT
    ),
    NamedScale(
        "likert-frequency", "frequency", (_NEVER, _RARELY, _SOMETIMES, _OFTEN, ("Always",)), ("rare", "frequent")
    ),
    NamedScale(
        "likert-frequency-very-often", "frequency", (_NEVER, _RARELY, _SOMETIMES, _OFTEN, ("Very often",)),
        ("rare", "frequent"),
    ),
    NamedScale("likert-frequency-4", "frequency", (_NEVER, _RARELY, _SOMETIMES, _OFTEN), ("rare", "frequent")),
    NamedScale("likert-frequency-3", "frequency", (_NEVER, _SOMETIMES, ("Always",)), ("rare", "frequent")),
    NamedScale(
        "likert-frequency-half", "frequency",
        _plain("Never", "Sometimes", "About half the time", "Most of the time", "Always"), ("rare", "frequent"),
    ),
    NamedScale(
        "likert-satisfaction", "satisfaction",
        (("Very dissatisfied",), ("Dissatisfied",), _NEITHER_SATISFIED, ("Satisfied",), ("Very satisfied",)),
        _SATISFIED,
    ),
    NamedScale(
        "likert-satisfaction-4", "satisfaction",
        _plain("Very dissatisfied", "Dissatisfied", "Satisfied", "Very satisfied"), _SATISFIED,
    ),
    NamedScale(
        "likert-satisfaction-somewhat", "satisfaction",
        (("Very dissatisfied",), ("Somewhat dissatisfied",), _NEITHER_SATISFIED, ("Somewhat satisfied",),
         ("Very satisfied",)),
        _SATISFIED,
    ),
    NamedScale(
        "likert-satisfaction-extremely", "satisfaction",
        (("Extremely dissatisfied",), ("Somewhat dissatisfied",), _NEITHER_SATISFIED, ("Somewhat satisfied",),
         ("Extremely satisfied",)),
        _SATISFIED,
    ),
    NamedScale(
        "likert-quality", "quality",
        (("Very poor",), ("Poor",), ("Fair", "Average", "Acceptable"), ("Good",), ("Very good",)), ("poor", "good"),
    ),
    NamedScale(
        "likert-quality-excellent", "quality", _plain("Poor", "Fair", "Good", "Very good", "Excellent"),
        ("poor", "good"),
    ),
    NamedScale(
        "likert-quality-bad", "quality", _plain("Bad", "Poor", "Fair", "Good", "Excellent"), ("bad", "good")
    ),
    NamedScale("likert-quality-4", "quality", _plain("Poor", "Fair", "Good", "Excellent"), ("poor", "good")),
    NamedScale(
        "likert-good", "quality",
        (("Very bad",), ("Bad",), ("Neither good nor bad", "Neither bad nor good", "Neutral", "Okay", "OK"),
         ("Good",), ("Very good",)),
        ("bad", "good"),
    ),
    NamedScale(
        "likert-importance", "importance",
        (("Not at all important", "Not important at all"), ("Slightly important",), ("Moderately important",),
         ("Very important",), ("Extremely important",)),
        ("unimportant", "important"),
    ),
    NamedScale(
        "likert-likelihood", "likelihood",
        (("Very unlikely",), ("Unlikely",), _NEITHER_LIKELY, ("Likely",), ("Very likely",)), ("unlikely", "likely"),
    ),
    NamedScale(
        "likert-likelihood-extremely", "likelihood",
        (("Extremely unlikely",), ("Somewhat unlikely",), _NEITHER_LIKELY, ("Somewhat likely",),
         ("Extremely likely",)),
        ("unlikely", "likely"),
    ),
    NamedScale("likert-severity", "severity", _plain("None", "Mild", "Moderate", "Severe"), ("harmless", "severe")),
    NamedScale(
        "likert-severity-5", "severity", _plain("None", "Mild", "Moderate", "Severe", "Very severe"),
        ("harmless", "severe"),
    ),
    NamedScale(
        "likert-extent", "a degree",
        (("Not at all",), ("Slightly", "A little"), ("Moderately", "Somewhat"), ("Very", "Very much"), ("Extremely",)),
        ("weak", "strong"),
    ),
    NamedScale(
        "likert-level", "a level", (("Very low",), ("Low",), ("Medium", "Moderate"), ("High",), ("Very high",)),
        ("low", "high"),
    ),
    NamedScale("likert-level-3", "a level", (("Low",), ("Medium", "Moderate"), ("High",)), ("low", "high")),
    NamedScale(
        "likert-sentiment", "sentiment", _plain("Very negative", "Negative", "Neutral", "Positive", "Very positive"),
        ("negative", "positive"),
    ),
    NamedScale(
        "likert-sentiment-3", "sentiment", _plain("Negative", "Neutral", "Positive"), ("negative", "positive")
    ),
    NamedScale("yes-no", "yes or no", _plain("No", "Yes"), ("no", "yes")),
    NamedScale("no-unsure-yes", "yes, no or unsure", (("No",), _UNSURE, ("Yes",)), ("no", "yes")),
    NamedScale("true-false", "true or false", _plain("False", "True"), ("false", "true")),
    NamedScale("safe-unsafe", "safe or unsafe", _plain("Safe", "Unsafe"), ("safe", "unsafe")),
    NamedScale(
        "safe-unsure-unsafe", "safe, unsafe or unsure", (("Safe",), _UNSURE, ("Unsafe",)), ("safe", "unsafe")
    ),
)  # fmt: skip
_SILENT = {
    "prefer not to say", "prefer not to answer", "rather not say", "don't know", "don’t know", "i don't know",
    "i don’t know", "do not know", "not applicable", "no answer", "no opinion", "cannot say", "can't say",
}  # fmt: skip
"""Answers that are not points, as they are compared."""
NAMED = {one.name: one for one in _ALL}
"""All of them, by name."""


@functools.cache
def places(name: str) -> dict[str, int]:
    """Return the position of every wording of a scale, folded as :func:`fold` does it."""
    return {fold(text): place for place, wordings in enumerate(NAMED[name].points) for text in wordings}


def offer(answers: Iterable[str]) -> str:
    """Return a sentence that suggests the scales that all answers fit, those with fewest points first; "" if none does.

    Answers fit if each is a wording of a different point.

    Examples
    --------
    >>> offer(["agree", "Strongly Disagree", "Neutral", "DISAGREE"])
    'This looks like agreement in 5 points: add --scale likert-agree (likert-agree-7 fits, too).'
    >>> offer(["Agree", "Don't know"])
    ''
    >>> offer(["Always", "Never", "Rarely", "Prefer not to say"])
    'This looks like frequency in 5 points: add --scale likert-frequency --missing "Prefer not to say".'
    """
    given = {fold(answer): answer for answer in answers}
    texts = set(given)
    if not any(_fits(texts, one) for one in _ALL):
        texts -= _SILENT
    fitting = sorted((one for one in _ALL if _fits(texts, one)), key=lambda one: len(one.points))
    if len(texts) < 2 or not fitting:
        return ""
    least = [one for one in fitting if len(one.points) == len(fitting[0].points)]
    more = [one.name for one in fitting if one not in least]
    about = " or ".join(dict.fromkeys(one.about for one in least))
    counted = "" if len(least[0].points) < 4 else f" in {len(least[0].points)} points"
    also = f" ({', '.join(more)} {'fits' if len(more) == 1 else 'fit'}, too)" if more else ""
    missing = [f'--missing "{answer}"' for text, answer in sorted(given.items()) if text not in texts]
    add = " ".join([f"--scale {' or '.join(one.name for one in least)}{also}", *missing])
    return f"This looks like {about}{counted}: add {add}."


def _fits(texts: set[str], scale: NamedScale) -> bool:
    found = [places(scale.name).get(text) for text in texts]
    return None not in found and len(set(found)) == len(found)


# Poles ----------------------------------------------------------------------------------------------------------------
#
# What sentences call the two ends of a scale: their names, or lower and higher where they have none.


def poles_in(scale: Scale) -> list[str] | None:
    """Return the names of the ends as the settings of a result keep them."""
    return list(scale.poles) if scale.poles else None


@dataclass(frozen=True, slots=True)
class Poles:
    """The words that sentences need.

    Attributes
    ----------
    low, high
        The two ends: safe and unsafe; or lower and higher.
    more
        Further towards the highest end: more unsafe; or higher.
    how
        What an item is to some degree: unsafe; or high.

    Examples
    --------
    >>> Poles.of({"poles": ["safe", "unsafe"]}).fill("Tell {high} from {low}: is a higher score {more}?")
    'Tell unsafe from safe: is a higher score more unsafe?'
    >>> Poles.of({}).fill("Tell {high} from {low}: is a higher score {more}?")
    'Tell higher from lower: is a higher score higher?'
    """

    low: str = "lower"
    high: str = "higher"
    more: str = "higher"
    how: str = "high"

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Poles:
        """Return the words for a result with these settings."""
        return cls.named(settings.get("poles"))

    @classmethod
    def named(cls, poles: Any) -> Poles:
        """Return the words for two names, or for None."""
        if poles is None:
            return cls()
        low, high = poles
        return cls(low, high, f"more {high}", high)

    def fill(self, text: str) -> str:
        """Put the words into a sentence that names them in braces; ``{High}`` and ``{Low}`` are capitalised."""
        return text.format(
            low=self.low, high=self.high, more=self.more, how=self.how, Low=_begin(self.low), High=_begin(self.high)
        )


def _begin(word: str) -> str:
    return word[:1].upper() + word[1:]
