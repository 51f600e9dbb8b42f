"""Splitting text into words, and into words and symbols.

Words are runs of letters, digits and the marks above and below them, in any script, joined by apostrophes
("don't") or by the invisible joiners of Persian and Hindi. Chinese and Japanese put no spaces between words: there each
ideograph and kana counts as one. Thai, Lao and Khmer put none either, and there a whole phrase counts as one word.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator


def _marks() -> str:
    """Return the marks that belong to the letter before them, as ranges; a regular expression counts none as letter."""
    codes = [code for code in range(0x300, 0x20000) if unicodedata.category(chr(code))[0] == "M"]
    runs = itertools.groupby(enumerate(codes), lambda pair: pair[1] - pair[0])
    ends = [[code for _, code in run] for _, run in runs]
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in ends)


_ALONE = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
)
"""Ideographs and kana."""
_LETTER = rf"[^\W{_ALONE}]"
_RUN = rf"{_LETTER}(?:{_LETTER}|[{_marks()}])*"
_WORD = re.compile(rf"{_RUN}(?:['\u200c\u200d]{_RUN})*|[{_ALONE}]")
_WORD_OR_SIGN = re.compile(rf"{_WORD.pattern}|[^\w\s]")


def words(text: str) -> list[str]:
    """Return the words of a text in their order, without regard to upper and lower case.

    Examples
    --------
    >>> words("Don’t SHOUT, 東京!")
    ["don't", 'shout', '東', '京']
    """
    return _WORD.findall(_folded(text))


def words_and_signs(text: str) -> Iterator[str]:
    """Yield words and, in order, punctuation marks, emoji and other symbols.

    Examples
    --------
    >>> list(words_and_signs("Oh no… 🙃!"))
    ['oh', 'no', '…', '🙃', '!']
    """
    for found in _WORD_OR_SIGN.finditer(_folded(text)):
        token = found.group()
        if len(token) > 1 or token.isalnum() or unicodedata.category(token)[0] in "PS":
            yield token


def _folded(text: str) -> str:
    """Return the text as it is compared: no upper case, accents in one spelling, one kind of apostrophe."""
    return unicodedata.normalize("NFC", text.casefold()).replace("\u2019", "'")
