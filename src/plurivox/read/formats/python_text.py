"""Lists as Python, pandas and numpy write them into CSV, turned into JSON."""

from __future__ import annotations

import json
import re

_TOKEN = re.compile(
    r"""(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<open>[\[{(])|(?P<close>[\]})])|(?P<sign>[,:])"""
    r"""|(?P<word>[^\s,:\[\]{}()'"]+)|\s+""",
    re.DOTALL,
)
_WORDS = {"None": "null", "nan": "null", "True": "true", "False": "false", "array": "", "dtype=object": ""}
_BRACKETS = str.maketrans("()", "[]")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\n": ""}
_NUMBER = re.compile(r"(-?\d+)\.(?=$|[eE])")


def as_json(text: str) -> str:
    r"""Return Python's text of a list as JSON; for any other text the result is undefined.

    Examples
    --------
    >>> as_json(r"['it\'s', None, True]"), as_json("[4 2]"), as_json("['a' 'b']"), as_json("[4., 2.5]")
    ('["it\'s",null,true]', '[4,2]', '["a","b"]', '[4.0,2.5]')
    """
    parts: list[str] = []
    ended = False  # whether a value has ended, so that a comma must come before the next
    at = 0
    while found := _TOKEN.match(text, at):
        at = found.end()
        kind, token = found.lastgroup, found[0]
        if kind is None:
            continue
        made = _made(kind, token)
        if ended and made and kind in ("text", "open", "word"):
            parts.append(",")
        parts.append(made)
        ended = kind in ("text", "close") or (kind == "word" and bool(made))
    return "".join(parts) + text[at:]


def _made(kind: str, token: str) -> str:
    if kind == "text":
        return json.dumps(_ESCAPE.sub(_unescaped, token[1:-1]), ensure_ascii=False)
    if kind == "word":
        return _WORDS.get(token, _NUMBER.sub(r"\1.0", token))
    return token.translate(_BRACKETS)


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "xuU" and len(code) > 1:
        point = int(code[1:], 16)
        return chr(point) if point <= 0x10FFFF else ""
    return _ESCAPED.get(code, code)
