"""Numbers, percentages and ranges in a text, written with any signs or words."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

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
    return Amount(
        NumberRange(kind, low, high), bool(found["low_percent"] or found["high_percent"]), total, by_sign
    ), start


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
