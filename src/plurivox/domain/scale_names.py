"""Scales in words that many studies use, by name, and what sentences call the two ends of a scale.

Named scales are suggested if answers fit one, and used if one is named; no scale is ever assumed unasked.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
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


_WORDINGS = {
    "Strongly disagree": "Strongly disagree/Disagree strongly",
    "Neither agree": "Neither agree nor disagree/Neither disagree nor agree/Neither/Neutral/Undecided",
    "Strongly agree": "Strongly agree/Agree strongly",
    "Slightly disagree": "Slightly disagree/Disagree slightly/Somewhat disagree/Disagree somewhat",
    "Slightly agree": "Slightly agree/Agree slightly/Somewhat agree/Agree somewhat",
    "Somewhat disagree": "Somewhat disagree/Disagree somewhat",
    "Somewhat agree": "Somewhat agree/Agree somewhat",
    "Rarely": "Rarely/Seldom",
    "Often": "Often/Frequently",
    "Neither satisfied": "Neither satisfied nor dissatisfied/Neither dissatisfied nor satisfied/Neither/Neutral",
    "Neither likely": "Neither likely nor unlikely/Neither unlikely nor likely/Neither/Neutral",
    "Medium": "Medium/Moderate",
    "Unsure": "Unsure/Not sure/Uncertain/Maybe",
}
"""Other wordings of points that several scales have."""
_TABLE = """\
likert-agree | agreement | disagreed with < agreed with |
    Strongly disagree < Disagree < Neither agree < Agree < Strongly agree
likert-agree-4 | agreement | disagreed with < agreed with | Strongly disagree < Disagree < Agree < Strongly agree
likert-agree-6 | agreement | disagreed with < agreed with |
    Strongly disagree < Disagree < Slightly disagree < Slightly agree < Agree < Strongly agree
likert-agree-7 | agreement | disagreed with < agreed with |
    Strongly disagree < Disagree < Slightly disagree < Neither agree < Slightly agree < Agree < Strongly agree
likert-agree-somewhat | agreement | disagreed with < agreed with |
    Strongly disagree < Somewhat disagree < Neither agree < Somewhat agree < Strongly agree
likert-agree-somewhat-4 | agreement | disagreed with < agreed with |
    Strongly disagree < Somewhat disagree < Somewhat agree < Strongly agree
likert-frequency | frequency | rare < frequent | Never < Rarely < Sometimes/Occasionally < Often < Always
likert-frequency-very-often | frequency | rare < frequent | Never < Rarely < Sometimes/Occasionally < Often < Very often
likert-frequency-4 | frequency | rare < frequent | Never < Rarely < Sometimes/Occasionally < Often
likert-frequency-3 | frequency | rare < frequent | Never < Sometimes/Occasionally < Always
likert-frequency-half | frequency | rare < frequent |
    Never < Sometimes < About half the time < Most of the time < Always
likert-satisfaction | satisfaction | dissatisfied < satisfied |
    Very dissatisfied < Dissatisfied < Neither satisfied < Satisfied < Very satisfied
likert-satisfaction-4 | satisfaction | dissatisfied < satisfied |
    Very dissatisfied < Dissatisfied < Satisfied < Very satisfied
likert-satisfaction-somewhat | satisfaction | dissatisfied < satisfied |
    Very dissatisfied < Somewhat dissatisfied < Neither satisfied < Somewhat satisfied < Very satisfied
likert-satisfaction-extremely | satisfaction | dissatisfied < satisfied |
    Extremely dissatisfied < Somewhat dissatisfied < Neither satisfied < Somewhat satisfied < Extremely satisfied
likert-quality | quality | poor < good | Very poor < Poor < Fair/Average/Acceptable < Good < Very good
likert-quality-excellent | quality | poor < good | Poor < Fair < Good < Very good < Excellent
likert-quality-bad | quality | bad < good | Bad < Poor < Fair < Good < Excellent
likert-quality-4 | quality | poor < good | Poor < Fair < Good < Excellent
likert-good | quality | bad < good |
    Very bad < Bad < Neither good nor bad/Neither bad nor good/Neutral/Okay/OK < Good < Very good
likert-importance | importance | unimportant < important |
    Not at all important/Not important at all < Slightly important < Moderately important < Very important <
    Extremely important
likert-likelihood | likelihood | unlikely < likely | Very unlikely < Unlikely < Neither likely < Likely < Very likely
likert-likelihood-extremely | likelihood | unlikely < likely |
    Extremely unlikely < Somewhat unlikely < Neither likely < Somewhat likely < Extremely likely
likert-severity | severity | harmless < severe | None < Mild < Moderate < Severe
likert-severity-5 | severity | harmless < severe | None < Mild < Moderate < Severe < Very severe
likert-extent | a degree | weak < strong |
    Not at all < Slightly/A little < Moderately/Somewhat < Very/Very much < Extremely
likert-level | a level | low < high | Very low < Low < Medium < High < Very high
likert-level-3 | a level | low < high | Low < Medium < High
likert-sentiment | sentiment | negative < positive | Very negative < Negative < Neutral < Positive < Very positive
likert-sentiment-3 | sentiment | negative < positive | Negative < Neutral < Positive
yes-no | yes or no | no < yes | No < Yes
no-unsure-yes | yes, no or unsure | no < yes | No < Unsure < Yes
true-false | true or false | false < true | False < True
safe-unsafe | safe or unsafe | safe < unsafe | Safe < Unsafe
safe-unsure-unsafe | safe, unsafe or unsure | safe < unsafe | Safe < Unsure < Unsafe
"""
"""A scale a row, which may go on in the next line: its name, what it measures, its poles, and its points, lowest first.

A slash separates wordings of a point that is not among those above.
"""


def _scales() -> Iterator[NamedScale]:
    for row in _TABLE.replace("\n    ", " ").splitlines():
        name, about, poles, points = row.split(" | ")
        low, high = poles.split(" < ")
        wordings = tuple(tuple(_WORDINGS.get(one, one).split("/")) for one in points.split(" < "))
        yield NamedScale(name, about, wordings, (low, high))


_SILENT = {
    "prefer not to say", "prefer not to answer", "rather not say", "don't know", "don’t know", "i don't know",
    "i don’t know", "do not know", "not applicable", "no answer", "no opinion", "cannot say", "can't say",
}  # fmt: skip
"""Answers that are not points, as they are compared."""
NAMED = {one.name: one for one in _scales()}
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
    if not any(_fits(texts, one) for one in NAMED.values()):
        texts -= _SILENT
    fitting = sorted((one for one in NAMED.values() if _fits(texts, one)), key=lambda one: len(one.points))
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
