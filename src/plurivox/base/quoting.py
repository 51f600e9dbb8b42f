"""Text from others, made safe to show: it cannot control a terminal, change the text direction or fill the screen.

Names, labels, ids, file names and what servers answer are data. Everything that is printed, raised, warned of or put
into a page passes through :func:`harmless`; what an error quotes is cut by :func:`short`.
"""

from __future__ import annotations

import re

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
