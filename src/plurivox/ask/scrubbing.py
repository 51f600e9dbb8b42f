"""Removing secrets from text, even if they are escaped, encoded, or spaced out with blanks.

A server that is asked with a key may send it back, in an error message for example, and on the way escape it as JSON,
for an address, for HTML or as base64. All of these can be undone by whoever reads the text, so all of them go.
"""

from __future__ import annotations

import base64
import functools
import logging
import re
from collections.abc import Iterable
from html.entities import html5

SHORTEST_SECRET = 6
"""A shorter key is not a secret, and could be part of any text."""
LONG = 12
"""A secret of at least this many characters is also found with blanks between its characters; successive words
rarely spell out a secret this long by chance."""
HIDDEN = "***"

# All repetitions are bounded: a text of nothing but backslashes must not take forever.
_BLANKS = r"[\s\x00-\x20\xad\u034f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]{0,64}"
_BETWEEN_BYTES = r"[\s:;,.-]{0,4}(?:0x)?"
_NAMES: dict[str, list[str]] = {}
for _name, _char in html5.items():
    if len(_char) == 1 and _char.isascii() and _name.endswith(";"):
        _NAMES.setdefault(_char, []).append(re.escape(_name))


class Scrubber:
    """Replaces secrets with ``***``.

    Parameters
    ----------
    secrets
        What must not be seen; empty and very short ones are left out.

    Examples
    --------
    >>> scrub = Scrubber(["sk-1234567890"]).scrub
    >>> scrub("sk-1234567890"), scrub("key=sk%2D1234567890;"), scrub("c2stMTIzNDU2Nzg5MA==")
    ('***', 'key=***;', '***A==')
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        kept = sorted({secret for secret in secrets if len(secret) >= SHORTEST_SECRET}, key=len, reverse=True)
        self._secrets = kept
        self._shortest = min((len(form) for secret in kept for form in _written(secret)), default=0)

    @functools.cached_property
    def _pattern(self) -> re.Pattern[str]:
        """All ways in which the secrets can be written; slow to make, so made when needed."""
        ways = [_pattern(form, len(secret) >= LONG) for secret in self._secrets for form in _written(secret)]
        return re.compile("|".join([*ways, *map(_bytes, self._secrets)]))

    def __repr__(self) -> str:
        return f"<Scrubber of {len(self._secrets)} secrets>"

    def scrub(self, text: str) -> str:
        """Return a text without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return self._pattern.sub(HIDDEN, text) if self._secrets and len(text) >= self._shortest else text


class ScrubbingFilter(logging.Filter):
    """Removes secrets from what other packages log, such as the headers of a reply."""

    def __init__(self, scrubber: Scrubber) -> None:
        super().__init__()
        self._scrubber = scrubber

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, scrubbed."""
        said = record.getMessage()
        if (clean := self._scrubber.scrub(said)) != said:
            record.msg, record.args = clean, ()
        return True


def _written(secret: str) -> list[str]:
    """Return what a secret looks like: as it is, in base64 wherever it starts, and as hexadecimal digits."""
    data = secret.encode()
    forms = [secret, data.hex(), data.hex().upper()]
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
        # The first and the last digit also hold bits of what surrounds the secret.
        inner = whole[(0, 2, 3)[before] : len(whole) - ((len(data) + before) % 3 > 0)]
        forms += [inner, inner.translate(str.maketrans("+/", "-_"))]
    return [form for form in dict.fromkeys(forms) if len(form) >= SHORTEST_SECRET]


def _pattern(form: str, blanks: bool) -> str:
    between = _BLANKS if blanks else ""
    return between.join(_ways(char) for char in form if not char.isspace())


def _bytes(secret: str) -> str:
    """Return a pattern of hexadecimal digits in any case, with something between the bytes."""
    return f"(?i:{_BETWEEN_BYTES.join(f'{byte:02x}' for byte in secret.encode())})"


def _ways(char: str) -> str:
    """Return a pattern of all ways in which a character is escaped; each begins with a different literal character."""
    code, plain = ord(char), re.escape(char)
    digits = f"(?i:{code:02x})"
    names = "".join(f"|{name}" for name in _NAMES.get(char, []))
    ways = [
        plain,
        rf"\\{{1,8}}{'' if char == chr(92) else '+'}(?:{plain}|[uU]\{{?0{{0,6}}{digits}\}}?|x{digits}|0?{code:03o})",
        rf"%(?:25){{0,4}}(?:u00)?{digits}",
        rf"={digits}",  # quoted-printable
        rf"&(?:amp;){{0,4}}(?:\#0{{0,6}}{code};?|\#[xX]0{{0,6}}{digits};?{names})",
    ]
    return f"(?:{'|'.join(ways)})"
