"""The rules for reading an answer, in the order in which they are tried.

Each rule is a function of the text with the options found in it, which returns a reading, or None if it does not apply;
its docstring is its meaning, as the documentation prints it. :func:`read_answer` returns the first reading.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import NamedTuple

from plurivox.domain.reader import phrases
from plurivox.domain.reader.mentions import AnswerText, Mention
from plurivox.domain.reader.options import DECORATION, Options, Reading, choices, plain, small, spoken
from plurivox.domain.reader.phrases import REFUSAL

_KEY = re.compile(
    r"[\"'](?:final[ _]?)?(?:answer|choice|option|selection|selected(?:[ _]?option)?|rating|score|label|response"
    r"|verdict|prediction|letter|point|judge?ment|classification|category|result|value|output)[\"']\s{0,4}:\s{0,4}"
    r"(?:\"(?P<double>[^\"\n]{0,200})\"|'(?P<single>[^'\n]{0,200})'|(?P<bare>-?[\w.%]{1,40}))",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"<(?:final[_ ]?)?(?:answer|choice|rating|score|label|option|response)>(?P<tag>[^<]{0,200})<"
    r"|\\boxed\{(?:\\text\{)?(?P<boxed>[^{}]{0,100})\}|\[\[(?P<double>[^\]\[]{0,100})\]\]"
    r"|(?:- \[x\]|✅|☑|👉) ?(?P<ticked>[^\n]{2,200})|^(?P<tick>[^\n✅✔☑]{1,200})(?:✅|✔|☑)",
    re.IGNORECASE | re.MULTILINE,
)
_BECAUSE = re.compile(r"[\s*_\"')\]]{0,4}(?:[-;]|because|since|as\b|for\b)")
_SENTENCE_ENDS = re.compile(r"[.!?]['\")*_]{0,3}\s{1,3}[*_\"'(]{0,4}\Z")
_LABEL = re.compile(r"(?:\A|\n)[\s*_-]{0,4}[^\W\d_][\w ]{1,24}[*_]{0,2}:[\s*_\"'(]{0,4}\Z")
_NO = {"no", "nein", "non", "não", "нет", "いいえ", "不"}
_FIRST_PERSON = ("I",)
_SHORT = 120  # characters

Rule = Callable[[AnswerText], Reading | None]


def nothing_there(seen: AnswerText) -> Reading | None:
    """Call an answer unreadable if it is empty, or ends before the model has stopped thinking aloud."""
    if seen.text[seen.start : seen.end].strip(DECORATION + "-"):
        return None
    return Reading("unreadable", None, nothing_there.__name__, None)


def whole_answer(seen: AnswerText) -> Reading | None:
    """Read an answer that is only an option: its letter, its text, or both, with or without marks."""
    text = seen.small[seen.start : seen.end]
    place = seen.choices.exact.get(text.strip(DECORATION))
    if place is not None:
        start = seen.start + len(text) - len(text.lstrip(DECORATION))
        return Reading("answered", place, whole_answer.__name__, (start, start + len(text.strip(DECORATION))))
    if len(seen.mentions) != 1 or "\n" in text.strip():
        return None
    one = seen.mentions[0]
    return _answered(one, whole_answer) if one.place is not None and seen.alone(one) else None


def field_or_tag(seen: AnswerText) -> Reading | None:
    r"""Read the option in a field (``{"answer": "B"}``), a tag (``<answer>B</answer>``), ``\boxed{B}`` or ``[[B]]``.

    If there are several, they must hold the same option; otherwise the answer is unreadable.
    """
    found: list[Mention] = []
    for pattern, needs in ((_KEY, "{"), (_TAG, "<[\\✅✔☑👉")):
        if not any(sign in seen.text for sign in needs):
            continue
        for match in pattern.finditer(seen.text, seen.start, seen.end):
            group = match.lastgroup or ""
            inner = AnswerText(seen.text, seen.small, *match.span(group), seen.choices)
            named = whole_answer(inner) or first_line(inner)
            if named is not None and named.span is not None:
                found.append(Mention(named.point, *named.span))
        if found:
            return _agreed(found, field_or_tag)
    return None


def several_samples(seen: AnswerText) -> Reading | None:
    """Read a series of answers, numbered or one per line, if all are the same; otherwise they are unreadable."""
    lines = [line for line in seen.text[seen.start : seen.end].splitlines() if line.strip(DECORATION + "-")]
    own = [one for one in seen.mentions if one.place is not None and one.main and not one.listed and seen.alone(one)]
    if len(own) == len(lines) > 1:
        return _agreed(own, several_samples)
    starts = [end for _, end in seen.heads]
    if len(starts) < 2:
        return None
    heads = set(starts)
    found = [
        mention for mention in seen.mentions
        if not mention.ruled_out and heads.intersection(range(mention.start - 4, mention.start + 1))
        and (mention.sure or (mention.main and seen.goes_on(mention)))
        and not phrases.RULED_OUT_AFTER.match(seen.small, mention.end, seen.end)
    ]  # fmt: skip
    if len(found) < max(2, len(starts)) or all(mention.listed for mention in found):
        return None
    return _agreed(found, several_samples)


def final_answer(seen: AnswerText) -> Reading | None:
    """Read the option that the text calls its answer, its rating or the best choice; the last, if there are several."""
    return _last(seen, final_answer, lambda one: not one.listed and _is_final(seen, one))


def first_line(seen: AnswerText) -> Reading | None:
    """Read the option with which the first line begins, if the rest of the line leaves it an option."""
    first = next((one for one in seen.mentions if one.place is not None), None)
    if first is None or "\n" in seen.text[seen.start : first.start].lstrip() or not seen.leads(first):
        return None
    if first.ruled_out or first.listed or not first.main or not _begins(seen, first):
        return None
    return _decided(first, first_line)


def own_line(seen: AnswerText) -> Reading | None:
    """Read the last line, or the last sentence, that is only an option. A list of options does not count."""
    return _last(seen, own_line, lambda one: not one.listed and (seen.alone(one) or _last_sentence(seen, one)))


def opinion(seen: AnswerText) -> Reading | None:
    """Read the last option that is stated as an opinion: "I would say B", "probably B", "but B"."""
    labelled = [  # all of a line after a label: "Tone: 3"
        one for one in seen.mentions
        if one.place is not None and not one.listed and _LABEL.search(seen.before(one)) is not None
        and not seen.after(one).partition("\n")[0].strip(DECORATION)
    ]  # fmt: skip
    if len({one.place for one in labelled}) > 1:
        return Reading("unreadable", None, opinion.__name__, None)
    return _last(seen, opinion, lambda one: not one.listed and _is_held(seen, one))


def number_in_range(seen: AnswerText) -> Reading | None:
    """Read a percentage that is in the range of one option, if it is the whole line or called an estimate."""
    found = [
        one for one in seen.mentions
        if one.near is not None and not one.ruled_out and not one.joined
        and (seen.alone(one) or seen.leads(one) or _is_final(seen, one) or _is_held(seen, one))
    ]  # fmt: skip
    return Reading("answered", found[-1].near, number_in_range.__name__, _span(found[-1])) if found else None


def refusal(seen: AnswerText) -> Reading | None:
    """Call an answer refused if it declines and no earlier rule found an answer in it all the same."""
    found = REFUSAL.search(seen.small, seen.start, seen.end)
    return None if found is None else Reading("refused", None, refusal.__name__, found.span())


def only_option(seen: AnswerText) -> Reading | None:
    """Read the only option that is named unambiguously: "option B", "75%-90%"."""
    found = [one for one in seen.mentions if one.place is not None and not (one.ruled_out or one.listed)]
    sure = [one for one in found if one.sure or seen.named(one)]
    if not sure or len({one.place for one in sure}) > 1 or any(one.joined for one in sure):
        return None
    return _answered(sure[-1], only_option)


def no_rule(seen: AnswerText) -> Reading | None:
    """Call everything else unreadable."""
    return Reading("unreadable", None, no_rule.__name__, None)


RULES: tuple[Rule, ...] = (
    nothing_there, whole_answer, field_or_tag, several_samples, final_answer, first_line, own_line, opinion,
    number_in_range, refusal, only_option, no_rule,
)  # fmt: skip


class RuleText(NamedTuple):
    """A rule's name and what it means."""

    name: str
    meaning: str


def described_rules() -> tuple[RuleText, ...]:
    """Return the rules in order, each with its meaning."""
    return tuple(RuleText(rule.__name__, " ".join((rule.__doc__ or "").split())) for rule in RULES)


def read_answer(text: str, options: Options) -> Reading:
    """Read what a language model answered to a question with options.

    Parameters
    ----------
    text
        What the model answered.
    options
        The options as they were shown; each has what to answer with, its text, and any further texts that mean the
        same, such as a description or a label in another language: ``[("A", "never"), ("B", "sometimes")]``.

    Examples
    --------
    >>> options = [("A", "never"), ("B", "sometimes"), ("C", "always")]
    >>> read_answer("Not A, and hardly ever C. My answer is **B**.", options)
    Reading(state='answered', point=1, rule='final_answer', span=(41, 42))
    >>> read_answer("I cannot judge that.", options).state, read_answer("A or B", options).state
    ('refused', 'unreadable')
    """
    shown = tuple((one, one) if isinstance(one, str) else tuple(map(str, one)) for one in options)
    return _read_short(text, shown) if len(text) <= _SHORT else _read(text, shown)


def _read(text: str, options: tuple[tuple[str, ...], ...]) -> Reading:
    seen = prepare(text, options)
    return next(reading for rule in RULES if (reading := rule(seen)) is not None)


_read_short = functools.lru_cache(maxsize=4096)(_read)  # models give the same short answers again and again


def prepare(text: str, options: Options) -> AnswerText:
    """Return a text with the options found in it, as the rules need it."""
    ready = plain(text)
    return AnswerText(ready, small(ready), *spoken(ready), choices(options))


def _is_final(seen: AnswerText, one: Mention) -> bool:
    """Return whether an option is called the answer."""
    if not one.main:
        return False
    before, previous = seen.before(one), one.previous
    called = phrases.BEST.match(seen.small, one.end, seen.end) is not None
    if not called and _fits(seen, one):
        called = before.strip() != "" and phrases.FINAL.search(before) is not None
        if not called and previous is not None and one.start - previous.end <= 80:  # it may replace the one before it
            called = phrases.CORRECTED.search(seen.small, previous.end, one.start) is not None
    return called and phrases.HYPOTHETICAL.search(before) is None and phrases.CONFIDENCE.search(before) is None


def _is_held(seen: AnswerText, one: Mention) -> bool:
    """Return whether an option is stated as an opinion."""
    before = seen.before(one)
    if phrases.HYPOTHETICAL.search(before) or phrases.CONFIDENCE.search(before):
        return False
    if (one.sure or seen.named(one)) and phrases.SPOKEN_OF.search(before):
        return True
    if phrases.AFFIRMED.match(seen.small, one.end, seen.end):
        return True
    instead = one.previous is not None and one.previous.ruled_out and one.start - one.previous.end <= 30
    return _fits(seen, one) and (phrases.SAID.search(before) is not None or instead)


def _last_sentence(seen: AnswerText, one: Mention) -> bool:
    """Return whether an option is all of the last sentence."""
    rest = seen.small[one.end : min(seen.end, one.end + 200)]
    ended = not one.letter or rest.lstrip(")*_\"'")[:1] in (".", "!")  # otherwise it may be cut off
    return ended and not rest.strip(DECORATION) and _SENTENCE_ENDS.search(seen.before(one)) is not None


def _fits(seen: AnswerText, one: Mention) -> bool:
    """Return whether a word or letter is meant as an option, given how the sentence continues."""
    if one.sure or one.joined:
        return True
    if one.letter and not one.text and seen.text[one.start].islower() and not (seen.marked(one) or seen.alone(one)):
        return False
    if one.letter and not one.text and seen.text[one.start].isupper() and seen.text[one.start] not in "AI":
        return True
    many = one.text and not one.letter and " " in seen.text[one.start : one.end]
    return many or seen.goes_on(one)


def _begins(seen: AnswerText, one: Mention) -> bool:
    """Return whether a line that begins with an option is an answer."""
    if one.sure or (one.text and not one.letter and " " in seen.text[one.start : one.end]):
        return True
    if not one.letter or one.text or seen.text[one.start].isdigit():
        # "no" may begin a refusal: "No, I can't help with that."
        declines = seen.small[one.start : one.end] in _NO and REFUSAL.search(seen.after(one)[:20]) is not None
        return seen.goes_on(one) and not seen.after(one).startswith("?") and not declines
    if seen.text[one.start].islower():
        return re.match(r"[*_\"']{0,3}[)\]][\s*_]*(?:\n|$)", seen.after(one)) is not None
    follows = seen.text[one.end : one.end + 1]
    if seen.text[one.start : one.end] in _FIRST_PERSON and follows == ",":
        return False
    return (
        seen.marked(one)
        or re.match(r"\s?\(", seen.after(one)) is not None
        or follows in ("\n", ",", "")
        or _BECAUSE.match(seen.after(one)) is not None
    )


def _last(seen: AnswerText, rule: Rule, condition: Callable[[Mention], bool]) -> Reading | None:
    """Return the last mention that meets a condition as the answer; unreadable if that is one of several."""
    for one in reversed(seen.mentions):
        if one.place is not None and not one.ruled_out and condition(one):
            return _decided(one, rule)
    return None


def _decided(one: Mention, rule: Rule) -> Reading:
    return Reading("unreadable", None, rule.__name__, _span(one)) if one.joined else _answered(one, rule)


def _agreed(found: list[Mention], rule: Rule) -> Reading:
    """Return the option that all mentions share; unreadable if they differ."""
    if len({one.place for one in found}) > 1:
        return Reading("unreadable", None, rule.__name__, None)
    return _answered(found[-1], rule)


def _answered(one: Mention, rule: Rule) -> Reading:
    return Reading("answered", one.place, rule.__name__, _span(one))


def _span(one: Mention) -> tuple[int, int]:
    return one.start, one.end
