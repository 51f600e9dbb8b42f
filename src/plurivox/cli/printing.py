"""Where this program prints: only these functions and :mod:`plurivox.cli.console` write to a terminal.

What is printed may come from anybody's data, so it passes through :mod:`plurivox.base.wording` first.
"""

from __future__ import annotations

import sys

from plurivox.base.wording import escaped, harmless, sentence


def looked_at() -> bool:
    """Return whether output goes to a terminal rather than to another program or a file."""
    return sys.stdout.isatty()


def put(*lines: object, end: str = "\n") -> None:
    """Print lines on standard output."""
    print(*(harmless(str(line)) for line in lines), sep="\n", end=end)


def say(*lines: object) -> None:
    """Print sentences on standard error, each on one line and no longer than an error may be."""
    print(*(sentence(str(line)) for line in lines), sep="\n", file=sys.stderr)


def put_json(text: str) -> None:
    """Print JSON: the same data, with control characters escaped."""
    print(escaped(text))


def put_csv(text: str) -> None:
    """Print CSV: harmless in a terminal; unchanged if another program or a file receives it."""
    print(harmless(text) if looked_at() else text, end="")
