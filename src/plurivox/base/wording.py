"""Texts: those from others, made safe to show, and words that several floors use.

Text made safe to show cannot control a terminal, change the text direction or fill the screen.

Names, labels, ids, file names and what servers answer are data. Everything that is printed, raised, warned of or put
into a page passes through :func:`harmless`; what an error quotes is cut by :func:`short`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

QUOTED = 200
"""Characters that an error quotes of one name, value or place, at most."""
LONGEST = 2_000
"""Characters of a whole error or warning, at most."""
_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_STEERING = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and newline, delete, C1
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # without width, separators, directions
    "\ud800-\udfff\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff"  # bytes of a file name, noncharacters, annotations
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"  # controls, tags
    f"]|(?<![^\x00-\x7f{_JOINERS}])[{_JOINERS}]"  # joiners make Persian words and composed emoji, and nothing else
    f"|(?<=[{_SELECTORS}])[{_SELECTORS}]"  # one chooses a variant; a run of them hides a text
)
_IN_QUOTES = re.compile(r"""(?<!\w)'(?:[^'\\]|\\.)+'|(?<!\w)"(?:[^"\\]|\\.)+\"""")


def harmless(text: str) -> str:
    r"""Return a text with a mark for each character that could control a terminal or hide something; lines stay lines.

    Examples
    --------
    >>> harmless("a\x1b[31mred") == "a\ufffd[31mred", harmless("two\r\nlines")
    (True, 'two\nlines')
    """
    return _STEERING.sub("\ufffd", text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    r"""Return a harmless text on one line.

    Examples
    --------
    >>> one_line(" a  name \n\twith breaks")
    'a name with breaks'
    """
    return " ".join(harmless(text).split())


def escaped(text: str) -> str:
    r"""Return JSON with the same data, and an escape for each character that :func:`harmless` would replace.

    Examples
    --------
    >>> escaped('["\x9b", "é"]')
    '["\\u009b", "é"]'
    """
    return _STEERING.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def short(text: str, most: int = QUOTED) -> str:
    """Return the beginning of a text that is too long, the first of several lines, and its length.

    Examples
    --------
    >>> short("abcdefgh" * 10, 25), short("abc", 25)
    ('abcdefgh… (80 characters)', 'abc')
    """
    end = f"… ({len(text):,} characters)"
    return text if len(text) <= most else f"{text[: most - len(end)].partition(chr(10))[0]}{end}"


def sentence(text: str, most: int = LONGEST) -> str:
    """Return a message on one line; quotations are cut, and so is the whole if it is too long."""
    text = _IN_QUOTES.sub(lambda found: found[0][0] + short(found[0][1:-1]) + found[0][0], one_line(text))
    if len(text) <= most:
        return text
    end = most // 3  # the hint is at the end
    return f"{text[: most - end - 3]} … {text[-end:]}"


# Wording --------------------------------------------------------------------------------------------------------------
#
# Numbers and names in sentences.


NO_GROUPS = (
    "No attributes of raters are named, so there are no groups to compare. Name attributes with --by (by=), and the "
    "table that holds them with --raters."
)
"""Said once wherever groups would be compared and there are none."""


def counted(n: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "group"), counted(2000, "group")
    ('1 group', '2,000 groups')
    """
    return f"1 {one}" if n == 1 else f"{n:,} {many or one + 's'}"


_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def in_words(n: int) -> str:
    """Return a small number as a word, others as digits.

    Examples
    --------
    >>> in_words(2), in_words(1200)
    ('two', '1,200')
    """
    return _WORDS[n] if n < len(_WORDS) else f"{n:,}"


def listed(names: Iterable[str], most: int | None = None, word: str = "and") -> str:
    """Name the first few, or all, and count the rest.

    Examples
    --------
    >>> listed(["a", "b", "c", "d"], 2), listed(["a", "b"], word="or")
    ('a, b and 2 more', 'a or b')
    """
    shown = list(names)
    if most is not None and len(shown) > most:
        shown = [*shown[:most], f"{len(shown) - most:,} more"]
    return f"{', '.join(shown[:-1])} {word} {shown[-1]}" if len(shown) > 1 else "".join(shown)


def named(axis: str, group: str) -> str:
    """Name a group by its attribute and its value.

    Examples
    --------
    >>> named("gender", "Man"), named("age", "50-54"), named("gender × age", "Man × 18-29"), named("all", "all")
    ('gender: Man', 'age 50-54', 'gender: Man × age 18-29', 'all raters')
    >>> named("rater", "rater 7")
    'rater 7'
    """
    if axis == "all":
        return "all raters"
    attributes, values = axis.split(" × "), group.split(" × ")
    if len(attributes) != len(values):
        attributes, values = [axis], [group]
    return " × ".join(
        value
        if value.startswith(f"{attribute} ")
        else f"{attribute} {value}"
        if value[:1].isdigit()
        else f"{attribute}: {value}"
        for attribute, value in zip(attributes, values, strict=True)
    )


def are(n: int) -> str:
    """Return the verb that goes with a number."""
    return "is" if n == 1 else "are"


def without_value(outside: Mapping[str, int]) -> list[str]:
    """Return a sentence for each axis on which raters have no value."""
    return [
        f"{counted(n, 'rater')} {'has' if n == 1 else 'have'} no value for {axis} and {are(n)} in no group there."
        for axis, n in outside.items()
        if n
    ]


def resampled(settings: Mapping[str, Any]) -> str:
    """Name what an interval generalises over.

    Examples
    --------
    >>> resampled({"resample": "both"}), resampled({"resample": "items"})
    ('items and raters', 'items')
    """
    what: str = settings["resample"]
    return {"both": "items and raters"}.get(what, what)


def interval_method(settings: Mapping[str, Any]) -> str:
    """Say what intervals generalise over, and how they are made.

    Examples
    --------
    >>> interval_method({"resample": "both", "interval": "jackknife", "bootstrap": 0})
    'over items and raters, by the jackknife'
    """
    draws = settings["bootstrap"]
    how = f"from {draws:,} bootstrap draws" if draws else "by the jackknife"
    return f"over {resampled(settings)}, {how}"


def intervals_over(settings: Mapping[str, Any]) -> str:
    """Say what intervals generalise over, where there are any.

    Examples
    --------
    >>> intervals_over({"resample": "both", "interval": "jackknife"})
    '95 % intervals over items and raters'
    """
    return "" if settings["interval"] == "none" else f"95 % intervals over {resampled(settings)}"


# What is withheld, and why; engine/withholding decides that --------------------------------------------------------


def withheld_groups(n: int, *, verb: bool = True) -> str:
    """Count groups that are withheld.

    Examples
    --------
    >>> withheld_groups(1), withheld_groups(2, verb=False)
    ('1 group is withheld', '2 groups withheld')
    """
    return f"{counted(n, 'group')} {f'{are(n)} ' if verb else ''}withheld"


def why_withheld(n: int, revealing: int, least: int) -> str:
    """Say why groups are withheld, after a clause that counts them: they are small, or would reveal a small one.

    Examples
    --------
    >>> why_withheld(2, 0, 5), why_withheld(2, 1, 5)
    (', having fewer than 5 raters', ': 1 has fewer than 5 raters, and 1 would reveal it')
    >>> why_withheld(5, 2, 5)
    ': 3 have fewer than 5 raters, and 2 would reveal some of them'
    >>> why_withheld(1, 1, 5)
    ', since it would reveal one with fewer than 5 raters'
    """
    few, small = f"fewer than {least:,} raters", n - revealing
    if not revealing:
        return f", having {few}"
    if not small:
        return f", since {'it' if n == 1 else 'each'} would reveal one with {few}"
    which = "it" if small == 1 else "one of them" if revealing == 1 else "some of them"
    return f": {small:,} {'has' if small == 1 else 'have'} {few}, and {revealing:,} would reveal {which}"


def withheld_sentence(n: int, revealing: int, least: int, *, verb: bool = True) -> list[str]:
    """Return a sentence on groups that are withheld, if any are."""
    return [f"{withheld_groups(n, verb=verb)}{why_withheld(n, revealing, least)}."] if n else []


def withheld_words(n: int, revealing: int, least: int) -> str:
    """Say below a chart how many groups are missing from it, if any are."""
    if n and not revealing:
        return f"{counted(n, 'group')} with fewer than {least:,} raters withheld. "
    return "".join(f"{said} " for said in withheld_sentence(n, revealing, least, verb=False))


def withheld_note(n: int, revealing: int) -> str:
    """Say in a table how many groups of an axis are withheld and why.

    Examples
    --------
    >>> withheld_note(3, 0), withheld_note(2, 1), withheld_note(1, 1)
    ('3 withheld as too small', '2 withheld, 1 of them to protect the other', '1 withheld to protect others')
    """
    if not revealing:
        return f"{n:,} withheld as too small"
    if n == revealing:
        return f"{n:,} withheld to protect others"
    return f"{n:,} withheld, {revealing:,} of them to protect the other{'' if n - revealing == 1 else 's'}"


def protected(least: int, revealing: int) -> str:
    """Say which groups are withheld in general."""
    others = ", and groups that would reveal one," if revealing else ""
    return f"Groups of fewer than {least:,} raters{others} are withheld"
