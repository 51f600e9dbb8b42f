"""The options of a question, prepared for finding them in a text."""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass

from plurivox.domain.reader.quantities import (
    NUMBER_WORDS,
    PATTERN,
    QUANTITY_BEGINS,
    Amount,
    NumberRange,
    amount_of,
    holds,
)
from plurivox.domain.reader.reading import Options
from plurivox.domain.reader.texts import plain, small

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
    for text, place, _ in texts:
        bare.setdefault(_without_signs(text), set()).add(place)
    for letter, place in letters.items():
        bare.setdefault(_without_signs(letter), set()).add(place)
    loose = [len(bare[_without_signs(text)]) == 1 and _without_signs(text) != "" for text, _, _ in texts]
    groups = _grouped(
        [
            (text, f"(?P<t{number}>{_flexible(text) if loose[number] else re.escape(text)})")
            for number, (text, _, _) in enumerate(texts)
        ]
    )
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
    return Choices(
        len(options),
        exact,
        re.compile("|".join(groups) or r"(?!)"),
        letters,
        places,
        quantities,
        frozenset(quantities.keys() - written.keys()),
        percent,
    )


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
            parts += map(_either_way, piece)
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


def _either_way(character: str) -> str:
    """Return a pattern for a character in one piece, or as a letter and its accent."""
    pieces = unicodedata.normalize("NFD", character)
    return re.escape(character) if pieces == character else f"(?:{re.escape(character)}|{re.escape(pieces)})"


def _script(character: str) -> str:
    """Return the characters that would continue a word, none in scripts without spaces between words."""
    return next((script for script in _SCRIPTS if character and re.match(f"[{script}]", character)), "")
