"""The options of a question, prepared for finding them in a text: texts in one spelling, quantities, and options."""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

State = Literal["answered", "refused", "unreadable", "failed"]
STATES: tuple[State, ...] = ("answered", "refused", "unreadable", "failed")
Options = Sequence[Sequence[str]]
"""The options as shown; each has what to answer with, its text, and any further texts that mean the same."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How an answer was read.

    Attributes
    ----------
    state
        ``"answered"``, ``"refused"`` or ``"unreadable"``.
    point
        The option's position among those shown, or None.
    rule
        The rule that decided.
    span
        Where in the text it saw the answer, start and end, or None.
    """

    state: State
    point: int | None
    rule: str
    span: tuple[int, int] | None


# Texts ----------------------------------------------------------------------------------------------------------------
#
# The part of an answer that is read, in one spelling of signs, with every character at its original place.


_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d\u301c\uff5e"
_QUOTES = {"'": "‘’‚‛′`´", '"': "“”„‟«»「」『』"}
_SPACES = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_UNSEEN = "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufe0f\u20e3"
_SIGNS = {"。": ".", "、": ",", "،": ",", "؟": "?", "٪": "%", "…": ".", "।": ".", "【": "[", "】": "]"}


def _one_spelling() -> dict[int, str]:
    """Map dashes, quotes, spaces, digits and wide letters to those of ASCII, one character to one."""
    table = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    table |= {code: str(unicodedata.decimal(chr(code))) for code in range(0x80, 0x1FFFF) if chr(code).isdecimal()}
    table |= {ord(sign): "-" for sign in _DASHES} | {ord(sign): " " for sign in _SPACES + _UNSEEN}
    for plain, signs in _QUOTES.items():
        table |= {ord(sign): plain for sign in signs}
    return table | {ord(sign): plain for sign, plain in _SIGNS.items()}


_TABLE = _one_spelling()
_THOUGHT_ENDS = ("</think>", "</thinking>", "</thought>", "</reasoning>", "<|end_of_thought|>", "[/THINK]")
_THOUGHT_BEGINS = ("<think>", "<thinking>", "<thought>", "<reasoning>", "<|begin_of_thought|>", "[THINK]")
_MARKUP = re.compile(r"</?(?:b|i|u|p|em|strong|br|span|div|code|li|ul|ol)\s?/?>", re.IGNORECASE)
_CHANNEL = re.compile(r"<\|channel\|>\s?(\w{1,20})[^<]{0,40}<\|message\|>")
_NEXT = re.compile(
    r"^[#*\s>-]{0,6}(?:(?:new|next|another)\s)?"
    r"(?:question|q|text|item|statement|user|human|input|example|problem|instruction|frage|pregunta|问题|質問)"
    r"\s?\d{0,3}\s?[:.)](?:[*\s]|$)|</?s>|\[/?INST\]|<\|[a-z_]{2,20}\|>",
    re.IGNORECASE | re.MULTILINE,
)
_HEADER = re.compile(r"^[#*]{0,4}\s?([A-Z]\w{1,20}):", re.MULTILINE)
_OUTCOMES = {"answer", "rating", "score", "label", "response", "choice", "reason", "reasoning", "explanation"}


def plain(text: str) -> str:
    """Return a text in one spelling of its signs, with every character where it was.

    Examples
    --------
    >>> plain("“75 % – 90 %”")
    '"75 % - 90 %"'
    """
    if "<" in text:
        text = _MARKUP.sub(lambda tag: " " * len(tag[0]), text)
    return text.replace("`", "'") if text.isascii() else text.translate(_TABLE)


def small(text: str) -> str:
    """Return a text in lower case, with every character where it was; the Turkish letters i become one."""
    return text.lower() if text.isascii() else text.replace("İ", "i").lower().replace("ı", "i")


def spoken(text: str) -> tuple[int, int]:
    """Return where an answer starts and ends, without the model's thinking aloud.

    If the thinking never ends, there is no answer after it, and start and end are the same.

    Examples
    --------
    >>> text = "<think>A? No.</think> B"
    >>> text[slice(*spoken(text))]
    ' B'
    """
    start = 0
    if "<" not in text and "[" not in text and "assistantfinal" not in text:
        return start, len(text)
    if "<|" in text:
        for channel in _CHANNEL.finditer(text):
            start = channel.end() if channel[1] == "final" else len(text)
    for end in (*_THOUGHT_ENDS, "assistantfinal"):
        place = text.rfind(end)
        start = max(start, place + len(end)) if place >= 0 else start
    if any(text.find(begin, start) >= 0 for begin in _THOUGHT_BEGINS):
        return len(text), len(text)
    return start, len(text)


def next_question(text: str, start: int, end: int) -> int:
    """Return where, after an answer, the model invents another question; the end if it does not.

    Its signs are a word such as "Question:", a mark between the turns of a conversation, or a repeated header.

    Examples
    --------
    >>> next_question("B [INST] And this? [/INST]", 1, 26), next_question("B, since it is rude.", 1, 20)
    (2, 20)
    """
    if start == end:
        return end
    found = _NEXT.search(text, start, end)
    ends = [found.start()] if found else [end]
    first: dict[str, int] = {}
    for header in _HEADER.finditer(text, start, end):
        name = header[1].casefold()
        if name in first:
            ends.append(first[name])
            break
        if name not in _OUTCOMES:
            first[name] = header.start()
    return min(ends)


# Quantities -----------------------------------------------------------------------------------------------------------
#
# Numbers, percentages and ranges in a text, written with any signs or words.


_WORDS = {
    "zero": 0, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
NUMBER_WORDS = {"1": "one"} | {str(number): word for word, number in _WORDS.items()}
"""Small numbers as words; "one" is too common a word to be a number on its own."""
_NUMBER = rf"(?:\d{{1,9}}(?:[.,]\d{{1,6}})?|(?<![a-z])(?:{'|'.join(_WORDS)})(?![a-z-]))"
_PERCENT = (
    r"\s{0,2}(?:%|(?:percent|per cent|pct|prozent|por ciento|por cento|pour cent|per cento|процент\w{0,3}"
    r"|パーセント|퍼센트|प्रतिशत)(?![a-z]))"
)
_LESS = (
    "<|&lt;|less than|fewer than|under|below|weniger als|unter|menos del?|moins de|meno del?|менее|меньше"
    "|不到|少于|低于"
)
_MORE = (
    ">|&gt;|more than|greater than|over|above|mehr als|über|más del?|plus de|mais de|più del?|более|больше"
    "|超过|多于|高于"
)
QUANTITY_BEGINS = "+befnstzм-"
"""What a quantity may begin with, apart from a digit."""
PATTERN = (
    rf"(?<![0-9a-zà-ÿ])(?=[\d{QUANTITY_BEGINS}])(?P<between>(?:between|zwischen|entre|tra|между)\s)?"
    rf"(?P<sign>(?<![\w.)%])[-+](?=\d))?(?<![\d.,])(?P<low>{_NUMBER})(?P<low_percent>{_PERCENT})?"
    rf"(?:\s{{0,2}}(?:-|~|\bto\b|\bbis\b|至|到|から|(?(between)(?:and|und|y|et|e|и)|(?!)))\s{{0,2}}"
    rf"(?P<high>{_NUMBER})(?P<high_percent>{_PERCENT})?)?"
    rf"(?:[\s*_]{{0,3}}(?:/|out of|von|sur|sobre|из)\s{{0,2}}(?P<of>{_NUMBER}))?(?P<plus>\+)?(?![/\d])"
)
"""A number or range in lower case, with named parts; one alternative of a larger pattern."""
COMPARED = re.compile(rf"(?<![-=/])(?<![^\W_])(?<![\w#%;][\"'])(?:(?P<less>{_LESS})|(?P<more>{_MORE}))[ \t]{{0,2}}\Z")
"""What comes before a number to say less or more; the longest has 12 characters."""


class NumberRange(NamedTuple):
    """A number or a range: ``kind`` is "<", ">" or "" for what is from ``low`` to ``high``."""

    kind: str
    low: float
    high: float


class Amount(NamedTuple):
    """A quantity as written: with a percent sign, the total after "out of", compared by < or > rather than words."""

    quantity: NumberRange
    percent: bool
    total: float | None
    by_sign: bool = False


def amount_of(found: re.Match[str]) -> tuple[Amount, int]:
    """Return what a match of :data:`PATTERN` says, including words of comparison before it, and where it starts."""
    low = _value(found["low"]) * (-1 if found["sign"] == "-" else 1)
    start = found.start("low" if found["sign"] is None else "sign") if found["between"] is None else found.start()
    kind = ">" if found["plus"] else ""
    compared = None if found["high"] else COMPARED.search(found.string, max(found.pos, start - 14), start)
    if compared is not None:
        kind, start = "<" if compared["less"] else ">", compared.start()
    by_sign = compared is not None and compared[0].strip() in ("<", ">")
    high = low if found["high"] is None else _value(found["high"])
    total = None if found["of"] is None else _value(found["of"])
    percent = bool(found["low_percent"] or found["high_percent"])
    return Amount(NumberRange(kind, low, high), percent, total, by_sign), start


def _value(text: str) -> float:
    if re.fullmatch(r"\d{1,3},\d{3}", text):
        return float(text.replace(",", ""))
    return float(text.replace(",", ".")) if text[:1].isdigit() else float(_WORDS[text])


def holds(option: NumberRange, number: float) -> bool:
    """Return whether a number is in an option's range.

    Examples
    --------
    >>> holds(NumberRange("", 75, 90), 80), holds(NumberRange(">", 90, 90), 90)
    (True, False)
    """
    if option.kind == "<":
        return number < option.low
    if option.kind == ">":
        return number > option.low
    return option.low <= number <= option.high and math.isfinite(number)


_SCRIPTS = (
    "0-9A-Za-z\u00c0-\u024f\u1e00-\u1eff", "\u0370-\u03ff", "\u0400-\u04ff", "\u0590-\u05ff", "\u0600-\u06ff",
    "\u0900-\u097f",
)  # fmt: skip
"""Scripts that put spaces between words; in others, a label may touch its neighbours."""
_QUANTITY = re.compile(PATTERN)
_PARTS = re.compile(r"\s*[:;|(=]\s*|\s+-\s+|\)\s*$")
_FEW_WORDS = 3  # a longer additional text is a description
_ZERO, _HUNDRED = NumberRange("", 0.0, 0.0), NumberRange("", 100.0, 100.0)
DECORATION = " \t\r\n*_'\"()[]{}#.,:;!?|\\"


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """Options to look for."""

    n: int  # how many there are
    exact: dict[str, int]  # the option that a whole answer names, by its letter or one of its texts in lower case
    # finds quantities (group ``low``), texts (groups ``t0``, ``t1``, …) and letters (group ``letter``)
    pattern: re.Pattern[str]
    letters: dict[str, int]  # the option of each letter, in lower case
    # the option of each group of ``pattern``, and whether the text is a main one rather than a description
    texts: tuple[tuple[int, bool], ...]
    quantities: dict[NumberRange, int]  # the option that is this quantity
    numbers: frozenset[NumberRange]  # those that stand only for a letter, not for the option's text
    percent: bool  # whether quantities are percentages

    def of(self, amount: Amount) -> int | None:
        """Return the option that is this amount, None if none is."""
        quantity, percent, total, by_sign = amount
        if percent and not self.percent and not (_ZERO in self.quantities and _HUNDRED in self.quantities):
            return None
        if total is not None and total != max((one.high for one in self.quantities), default=None):
            return None
        if by_sign and not any(one.kind for one in self.quantities):
            quantity = quantity._replace(kind="")  # a quotation mark, or an arrow
        return self.quantities.get(quantity)

    def around(self, amount: Amount) -> int | None:
        """Return the only option whose range contains a percentage, None if there is none or several."""
        quantity = amount.quantity
        if not (self.percent and amount.percent) or quantity.kind or quantity.low != quantity.high:
            return None
        places = {place for option, place in self.quantities.items() if holds(option, quantity.low)}
        return places.pop() if len(places) == 1 else None


def choices(options: Options) -> Choices:
    """Return the prepared options; the work is done once for the same options."""
    return _choices(tuple(map(tuple, options)))


@functools.lru_cache(maxsize=512)
def _choices(options: tuple[tuple[str, ...], ...]) -> Choices:
    letters = _unique([(small(plain(one[0] if one else "").strip()), place) for place, one in enumerate(options)])
    written, texts, percent = _texts(options)
    others = {text: place for text, place, _ in texts}
    letters = {letter: place for letter, place in letters.items() if others.get(letter, place) == place}
    numbers = {letter: place for letter, place in letters.items() if re.fullmatch(r"-?\d{1,9}", letter)}
    quantities = written | {NumberRange("", float(letter), float(letter)): place for letter, place in numbers.items()}
    bare: dict[str, set[int]] = {}
    for text, place in [*((text, place) for text, place, _ in texts), *letters.items()]:
        bare.setdefault(_without_signs(text), set()).add(place)
    loose = [len(bare[_without_signs(text)]) == 1 and _without_signs(text) != "" for text, _, _ in texts]
    flexible = [_flexible(text) if loose[at] else re.escape(text) for at, (text, _, _) in enumerate(texts)]
    groups = _grouped([(one[0], f"(?P<t{at}>{flexible[at]})") for at, one in enumerate(texts)])
    groups += [PATTERN] if quantities else []
    words = sorted(letters.keys() - numbers.keys(), key=lambda letter: (-len(letter), letter))
    if words:
        groups.append(f"(?P<letter>{'|'.join(_grouped([(word, re.escape(word)) for word in words]))})")
    begins = {text[0] for text, _, _ in texts} | {word[0] for word in words}
    begins |= {word[0] for word in NUMBER_WORDS.values() if any(first.isdigit() for first in begins)}
    if groups and all(_script(first) == _SCRIPTS[0] for first in begins):
        starts = re.escape("".join(sorted(begins | set(QUANTITY_BEGINS if quantities else ""))))
        # so that most places in a text are skipped at a glance
        groups = [f"(?<![{_SCRIPTS[0]}])(?=[{starts}]|\\d)(?:{'|'.join(groups)})"]
    both = [
        (f"{letter}{mark} {text}", place)
        for place, (letter, *given) in enumerate(one or ("",) for one in options)
        for text in given
        for mark in (")", ".", ":", "):", " -")
    ]
    named = [*letters.items(), *((text, place) for text, place, _ in texts), *both]
    exact = _unique([(small(plain(text)).strip(DECORATION), place) for text, place in named])
    places = tuple((place, main) for _, place, main in texts)
    pattern, numbered = re.compile("|".join(groups) or r"(?!)"), frozenset(quantities.keys() - written.keys())
    return Choices(len(options), exact, pattern, letters, places, quantities, numbered, percent)


def _texts(options: tuple[tuple[str, ...], ...]) -> tuple[dict[NumberRange, int], list[tuple[str, int, bool]], bool]:
    """Return the options that are quantities, and all texts, longest first, with place and whether they are main."""
    found: dict[str, list[tuple[int, bool]]] = {}
    quantities: dict[NumberRange, list[int]] = {}
    percent = False
    for place, (_, *given) in enumerate(one or ("",) for one in options):
        for number, text in enumerate(given):
            whole = small(" ".join(plain(unicodedata.normalize("NFC", text)).split()))
            for part in dict.fromkeys([whole, *_parts(whole)]):
                amount = _amount(part)
                if amount is not None:
                    quantities.setdefault(amount.quantity, []).append(place)
                    percent |= amount.percent
                elif part.strip(DECORATION):
                    found.setdefault(part, []).append((place, number == 0 or len(part.split()) <= _FEW_WORDS))
    texts = [(text, *places[0]) for text, places in found.items() if len({place for place, _ in places}) == 1]
    texts.sort(key=lambda one: (-len(one[0]), one[0]))
    return {one: places[0] for one, places in quantities.items() if len(set(places)) == 1}, texts, percent


def _amount(text: str) -> Amount | None:
    """Return the amount that a text is, None if it is more than that or something else."""
    found = _QUANTITY.search(text)
    if found is None or found.end() != len(text):
        return None
    amount, start = amount_of(found)
    return amount if start == 0 else None


def _parts(text: str) -> list[str]:
    """Return the parts of a text such as "5 - very rude" or "5%-25% Few people agree."; none if it is in one piece."""
    leading = _QUANTITY.search(text)
    if leading is not None and amount_of(leading)[1] == 0 and leading.end() < len(text):
        pieces = [text[: leading.end()], *_PARTS.split(text[leading.end() :])]
    else:
        pieces = _PARTS.split(text)
    kept = [piece.strip(" -") for piece in pieces if piece.strip(DECORATION + "-")]
    return kept if len(kept) > 1 else []


def _unique(pairs: list[tuple[str, int]]) -> dict[str, int]:
    """Return the option of each name; a name of two options names none."""
    places: dict[str, set[int]] = {}
    for name, place in pairs:
        places.setdefault(name, set()).add(place)
    return {name: min(found) for name, found in places.items() if name and len(found) == 1}


def _without_signs(text: str) -> str:
    return re.sub(r"[\W_]", "", text)


def _flexible(text: str) -> str:
    """Return a pattern for a text that allows other spacing, hyphenation and marks."""
    parts = []
    for piece in re.findall(r"\w+|\s+|[^\w\s]", text):
        if piece.isspace() or piece == "-":
            parts.append(r"[\s*_-]{1,4}")
        elif piece in NUMBER_WORDS:
            parts.append(f"(?:{piece}|{NUMBER_WORDS[piece]})")
        elif re.fullmatch(r"\w+", piece):
            for character in piece:  # in one piece, or as a letter and its accent
                alone, apart = re.escape(character), re.escape(unicodedata.normalize("NFD", character))
                parts.append(alone if alone == apart else f"(?:{alone}|{apart})")
        else:
            parts.append(rf"\s?{re.escape(piece)}?")
    return "".join(parts)


def _grouped(patterns: list[tuple[str, str]]) -> list[str]:
    """Allow no word to continue before or after a text; texts with the same scripts at their ends share conditions."""
    groups: dict[tuple[str, str], list[str]] = {}
    for text, pattern in patterns:
        bare = text.strip(DECORATION)
        groups.setdefault((_script(bare[:1]), _script(bare[-1:])), []).append(pattern)
    return [
        f"{before and f'(?<![{before}])'}(?:{'|'.join(group)}){after and f'(?![{after}])'}"
        for (before, after), group in groups.items()
    ]


def _script(character: str) -> str:
    """Return the characters that would continue a word, none in scripts without spaces between words."""
    return next((script for script in _SCRIPTS if character and re.match(f"[{script}]", character)), "")
