"""The part of an answer that is read, in one spelling of signs, with every character at its original place."""

from __future__ import annotations

import re
import unicodedata

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
