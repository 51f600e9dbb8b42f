"""Where a text mentions options, and how: ruled out, one of several, part of a list, or on a line of its own."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from plurivox.domain.reader import phrases
from plurivox.domain.reader.options import Choices, amount_of, next_question

WINDOW = 120
"""How many characters before or after an option are looked at."""
FIRST_SEEN, LAST_SEEN = 500, 1500
"""If a text mentions options more often than both together, only this many of the first and the last are looked at."""
_SENTENCE, _LINE = 60, 400  # the longest description of an option in a list within a line, and on a line of its own
_ANY_LIST = 3  # options in a row that make a list; two may be a choice

_OPTION = "option|choice|answer|letter|opción|opção|opzione|вариант|选项|選項|選択肢|옵션|विकल्प"
_BEFORE = re.compile(
    rf"(?:[^\w\n]|_|(?<![\w.])\d{{1,3}}[.)]\s)*(?:[a-z][.)]\s)?(?:(?:{_OPTION})\s?[:#]?[\s*_\"'(\[]{{0,4}})?"
)
_AFTER = re.compile(r"[\W_]*")
_NAMED = re.compile(r"(?<![a-z])(?:option|choice|answer|letter|category|label)s?[\s:*_\"'(\[]{1,4}\Z")
_MARKED = re.compile(r"[*_\"']{0,3}(?:[)\]}.:]|[*_\"']{1,3}(?![a-z]))")
_ON_A_SCALE = re.compile(r"\s(?:on|from|in)(?![a-z])")
_SERIES = re.compile(
    r"^[ \t*_#>-]{0,6}(?:[^\W\d_]{2,20}\s?#?\d{1,3}[*_]{0,2}\s?[:.)-]|\d{1,3}[.)])[*_]{0,2}(?:\s{1,2}|\Z)", re.MULTILINE
)
_HEADING = re.compile(r"[.):][ \t]{1,2}[*_\"'(]{0,3}")
_NUMBERING = re.compile(r"(?<![\w./])(\d{1,3}[.)])\s")
_GAP = re.compile(r"[ \t)\]:.*_\"'(\[=,|{}\\-]{0,8}\Z")
_BRACKET = re.compile(r"[ \t*_\"']{0,3}[(\[][ \t*_\"']{0,2}(?:option\s)?[*_\"']{0,2}\Z")

_ARTICLE = re.compile(
    r"[^\W\dA-Z_] [^\W\d_]"
    r"|[AI] (?!(?:or|and|is|it|seems|would|fits|then|because|since|as|for|being|makes|stands)\b)[a-z]"
)
_KEY = re.compile(r"['\"]\s?:")
_COMPOUND_BEFORE = re.compile(r"(?:[^\W_]['.&+@-]|[$€£#])\Z")
_COMPOUND_AFTER = re.compile(
    r"['&+#@][^\W_+]|[+#]|[.-][^\W\d_]|:\d|'(?:m|s|d|ll|ve|re)(?![a-z])|\s?[€$£°]", re.IGNORECASE
)


@dataclass(slots=True, eq=False)
class Mention:
    """An option in a text."""

    place: int | None  # the option's position; None for a number that is not an option
    start: int  # where it begins
    end: int
    letter: bool = False  # whether its letter is there, and whether one of its texts or its quantity is
    text: bool = False
    main: bool = True  # whether it is the letter or the option's own text, not only a description
    # whether it is unambiguous: a range with its percent sign, a letter with its text
    sure: bool = False
    near: int | None = None  # the option whose range contains a number that is not an option
    previous: Mention | None = None  # the mention before it
    # whether the text rules it out, offers it as one of several, or repeats it in a list of options
    ruled_out: bool = False
    joined: bool = False
    listed: bool = False


@dataclass(slots=True, eq=False)
class AnswerText:
    """A text with the options that it mentions, which are found when a rule first needs them."""

    text: str  # the text in one spelling of signs, and the same in lower case
    small: str
    start: int  # the part that is read
    end: int
    choices: Choices  # the options
    # where lines begin with a number, as those of a series do
    heads: list[tuple[int, int]] = field(default_factory=list)
    numbering: frozenset[str] = frozenset()  # marks such as "2." and "3)" that number the points of a text
    _mentions: list[Mention] | None = None

    @property
    def mentions(self) -> list[Mention]:
        """Where options are mentioned, in order, up to where the model invents another question."""
        if self._mentions is None:
            self._mentions = _look(self)
            first = next((one for one in self._mentions if not one.listed and not one.ruled_out), None)
            end = self.end if first is None else next_question(self.text, first.end, self.end)
            if end < self.end:
                self.end = end
                self._mentions = _look(self)
        return self._mentions

    def before(self, mention: Mention) -> str:
        """Return what comes before a mention, as far back as it matters."""
        return self.small[max(self.start, mention.start - WINDOW) : mention.start]

    def after(self, mention: Mention) -> str:
        """Return what comes after a mention, as far as it matters."""
        return self.small[mention.end : min(self.end, mention.end + WINDOW)]

    def leads(self, mention: Mention) -> bool:
        """Return whether only marks come before it on its line."""
        before = self.before(mention)
        line = before.rfind("\n") + 1
        if line == 0 and mention.start - len(before) > self.start:
            return False
        found = _BEFORE.match(before, line)
        return found is not None and found.end() == len(before)

    def alone(self, mention: Mention) -> bool:
        """Return whether there are only marks next to it on its line."""
        if not self.leads(mention):
            return False
        rest, newline, _ = self.after(mention).partition("\n")
        found = _AFTER.match(rest)
        return found is not None and found.end() == len(rest) and (newline != "" or mention.end + len(rest) == self.end)

    def named(self, mention: Mention) -> bool:
        """Return whether it is called an option: "option B", "(B)"."""
        if not mention.letter:
            return False
        around = self.text[max(self.start, mention.start - 1) : mention.end + 1]
        if not mention.text and around[0] == "(" and around[-1] == ")" and around[1].isupper():
            return True
        return _NAMED.search(self.small, max(self.start, mention.start - 16), mention.start) is not None

    def marked(self, mention: Mention) -> bool:
        """Return whether a letter is marked as one: "B)", "**B**"."""
        return mention.letter and _MARKED.match(self.small, mention.end, self.end) is not None

    def goes_on(self, mention: Mention, also: str = "") -> bool:
        """Return whether a word or letter is still an option, given what follows, including the words in ``also``."""
        if also and re.match(rf"\s(?:{also})\s", self.small[mention.end : mention.end + 8]):
            return True
        if phrases.GOES_ON.match(self.small, mention.end, self.end):
            return True
        return mention.letter and _ON_A_SCALE.match(self.small, mention.end, self.end) is not None


def _look(seen: AnswerText) -> list[Mention]:
    """Find all options in a text."""
    seen.heads = [head.span() for head in _SERIES.finditer(seen.text, seen.start, seen.end)]
    seen.numbering = frozenset(_NUMBERING.findall(seen.text, seen.start, seen.end))
    found = list(_found(seen))
    if len(found) > FIRST_SEEN + LAST_SEEN:
        found = [*found[:FIRST_SEEN], *found[-LAST_SEEN:]]
    mentions: list[Mention] = []
    for mention in found:
        if mentions and _merged(seen, mentions[-1], mention):
            continue
        if mentions and (first := mentions[-1]).letter and not first.sure:
            gap = seen.text[first.end : mention.start]
            if _HEADING.fullmatch(gap) and seen.leads(first):  # it heads the line: "1. B", "A: B" (for "answer")
                mentions.pop()
        mention.previous = mentions[-1] if mentions else None
        mentions.append(mention)
    for mention in mentions:
        _weigh(seen, mention)
    run: list[Mention] = []
    for mention in mentions:  # lines, or neighbours within a line, that go through the options one after the other
        if run and run[0].place == mention.place:
            run = run[1:]  # the answer itself, before a list that repeats it
        if run and not _continues(seen, run, mention):
            _mark(run, seen.choices.n)
            run = []
        run.append(mention)
    _mark(run, seen.choices.n)
    return mentions


def _found(seen: AnswerText) -> Iterator[Mention]:
    """Yield single mentions, each a letter, a text or a quantity."""
    choices, text = seen.choices, seen.text
    for found in choices.pattern.finditer(seen.small, seen.start, seen.end):
        group = found.lastgroup or ""
        start, end = found.span()
        if group == "letter":
            if not (_ARTICLE.match(text, start, seen.end) or _compound(text, start, end, seen.end)):
                yield Mention(choices.letters[found[0]], start, end, letter=True)
        elif group[0] == "t":
            place, main = choices.texts[int(group[1:])]
            before, after = text[max(0, start - 2) : start], text[end : end + 2]
            hyphenated = (before[-1:] == "-" and before[:1].isalpha()) or (after[:1] == "-" and after[1:].isalpha())
            if not hyphenated:  # part of a longer word: "no-one"
                yield Mention(place, start, end, text=True, main=main)
        elif (mention := _quantity(seen, found)) is not None:
            yield mention


def _compound(text: str, start: int, end: int, last: int) -> bool:
    """Return whether a letter or number is part of a word such as "A-level" or "C++", or the key of a field."""
    if text[start - 1 : start] in ("'", '"') and _KEY.match(text, end, last):
        return True
    before, after = _COMPOUND_BEFORE.search(text, max(0, start - 2), start), _COMPOUND_AFTER.match(text, end, last)
    return before is not None or after is not None


def _quantity(seen: AnswerText, found: re.Match[str]) -> Mention | None:
    """Return the option that a quantity is, or the one whose range contains it."""
    amount, start = amount_of(found)
    if found["between"] and found["high"] is None:
        return None  # cut off
    place = seen.choices.of(amount)
    if place is None:
        near = seen.choices.around(amount)
        return None if near is None else Mention(None, start, found.end(), text=True, sure=True, near=near)
    percent = amount.percent and seen.choices.percent
    at = bisect_right(seen.heads, (start, len(seen.text))) - 1
    counts = len(seen.heads) > 1 and at >= 0 and start < seen.heads[at][1]  # the lines of a series
    if not percent and (counts or _compound(seen.text, start, found.end(), seen.end)):
        return None
    # a number that enumerates the points of a text ("1) … 2) …"), or a hyphen that may be a minus
    mark, number = seen.text[found.end() : found.end() + 1], found["low"]
    enumerates = mark in (".", ")") and number.isdigit() and f"{int(number) + 1}{mark}" in seen.numbering
    hyphen = seen.text[max(0, start - 2) : start] == "- " and any(one.low < 0 for one in seen.choices.quantities)
    if not percent and found["high"] is None and (enumerates or hyphen):
        return None
    plain_number = amount.quantity.kind == "" and amount.quantity.low == amount.quantity.high
    text = amount.quantity not in seen.choices.numbers
    sure = (percent and not plain_number) or amount.total is not None
    return Mention(place, start, found.end(), letter=not percent, text=text, sure=sure)


def _merged(seen: AnswerText, first: Mention, second: Mention) -> bool:
    """Merge a letter and the text next to it into one mention; if they disagree, the text counts."""
    if second.start - first.end > 16 or first.place is None or second.place is None:
        return False
    gap = seen.small[first.end : second.start]
    beside, bracketed = _GAP.match(gap) is not None, _BRACKET.match(gap) is not None
    if first.place == second.place and (beside or bracketed):
        pass
    elif first.letter and not first.text and second.text and beside and gap.strip():
        first.place = second.place
    elif not (second.letter and not second.text and first.text and bracketed):
        return False
    first.end, first.main, first.sure = second.end, first.main or second.main, True
    first.letter, first.text = first.letter or second.letter, first.text or second.text
    return True


def _weigh(seen: AnswerText, mention: Mention) -> None:
    """Mark what is ruled out, or one of several."""
    begin = max(seen.start, mention.start - _SENTENCE)
    for clause in phrases.CLAUSE.finditer(seen.small, begin, mention.start):
        begin = clause.end()
    mention.ruled_out = (
        phrases.RULED_OUT_AFTER.match(seen.small, mention.end, seen.end) is not None
        or phrases.RULED_OUT_BEFORE.search(seen.small, begin, mention.start) is not None
    )
    previous = mention.previous
    if previous is None or mention.start - previous.end > 24:
        return
    between = seen.small[previous.end : mention.start]
    if phrases.JOINED.match(between) is None or (between.strip() == "," and not seen.goes_on(mention, "or|and")):
        return
    if previous.ruled_out and phrases.RULED_OUT_AFTER.match(seen.small, previous.end, seen.end) is None:
        mention.ruled_out = True  # not A or B
    if previous.place != mention.place and previous.ruled_out == mention.ruled_out:
        previous.joined = mention.joined = True


def _mark(run: Sequence[Mention], n_options: int) -> None:
    """Mark a run as a list if it is one."""
    if len(run) >= _ANY_LIST or len(run) == n_options > 1:
        for mention in run:
            mention.listed = True


def _continues(seen: AnswerText, run: Sequence[Mention], mention: Mention) -> bool:
    """Return whether a mention is the next of a list: on the next line, or close by and of the same kind."""
    last = run[-1]
    distance = mention.start - last.end
    if distance > _LINE or any(one.place == mention.place for one in run):
        return False
    newlines = seen.text.count("\n", last.end, mention.start)
    if newlines in (1, 2):
        return seen.leads(mention) and seen.leads(last)
    if newlines or distance > _SENTENCE or mention.letter != last.letter:
        return False
    in_order = last.place is not None and mention.place is not None and mention.place > last.place
    return in_order and (last.sure if mention.sure else mention.joined and last.joined)
