"""How wide text is: what fits into a number of pixels, and where lines end."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

JOINERS = "\u200c\u200d"  # they make Persian words and composed emoji
_BOLD = 1.08
_THOUSANDTHS = {
    222: "'ijl|", 278: " !,./:;I[\\]ft·", 333: "()-`r", 355: '"{}*', 500: "Jckvxyzs^", 584: "+<=>~×−±", 611: "FTZ",
    667: "&ABEKPSVXY", 722: "CDHNRUw", 778: "GOQ", 833: "Mm", 889: "%", 944: "W", 1000: "…—→←≥≤@τρα",
}  # fmt: skip
_WIDTHS = {character: width for width, characters in _THOUSANDTHS.items() for character in characters}
_OTHERS = 570  # digits, most small letters, and other alphabets on average
_WIDE = 1050


def wide(text: str, size: float = 11, *, bold: bool = False) -> float:
    r"""Return how many pixels a text takes in Arial of a given size, to within a few percent.

    Examples
    --------
    >>> round(wide("group")), round(wide("group", 22)), wide("") == wide("\u0301")
    (29, 57, True)
    """
    thousandths = sum(0 if _nothing(c) else _WIDTHS.get(c) or (_WIDE if _double(c) else _OTHERS) for c in text)
    return thousandths * size / 1000 * (_BOLD if bold else 1)


def columns(text: str) -> int:
    """Return how many Latin characters are roughly as wide as a text."""
    return sum(0 if _nothing(c) else 2 if _double(c) else 1 for c in text)


def lines(text: str, room: float, size: float = 11, *, bold: bool = False) -> list[str]:
    """Return a text in lines that fit into this many pixels; a word that is too wide by itself is broken.

    Examples
    --------
    >>> lines("one two three", 50)
    ['one two', 'three']
    """
    found: list[str] = []
    for word in (part for whole in text.split() for part in _parts(whole, room, size, bold)):
        longer = f"{found[-1]} {word}" if found else word
        if found and wide(longer, size, bold=bold) <= room:
            found[-1] = longer
        else:
            found.append(word)
    return found


def in_columns(widths: Iterable[float], room: float) -> int:
    """Return how many columns a list fits in, filled line by line, if each is as wide as its widest entry.

    Examples
    --------
    >>> in_columns([30, 30, 30], 65), in_columns([30, 30, 30], 90), in_columns([30], 10)
    (2, 3, 1)
    """
    every = list(widths)
    for n in range(len(every), 1, -1):
        if sum(max(every[at::n]) for at in range(n)) <= room:
            return n
    return 1


def _parts(word: str, room: float, size: float, bold: bool) -> Iterator[str]:
    start = 0
    for at in range(1, len(word)):
        if wide(word[start : at + 1], size, bold=bold) > room:
            yield word[start:at]
            start = at
    yield word[start:]


def _nothing(character: str) -> bool:
    return bool(unicodedata.combining(character)) or character in JOINERS


def _double(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"
