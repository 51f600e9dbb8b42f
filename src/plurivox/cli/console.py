"""The console that draws tables and bars: it interprets no text as markup and prints no control characters."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from plurivox.base.wording import harmless

PIPE = 120
"""Columns to use when there is no terminal."""


class _Harmless(Console):
    """A console that alone sets colours and moves the cursor; text cannot."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the pieces of what is printed."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else Segment(harmless(piece.text), piece.style)


def console(*, stderr: bool = False, record: bool = False, width: int | None = None) -> Console:
    """Return a console that wraps to the terminal, or to 120 columns in a pipe, and interprets no text as markup."""
    plain = _Harmless(markup=False, highlight=False, emoji=False, stderr=stderr, record=record, width=width)
    if not plain.is_terminal and width is None:
        plain.width = PIPE
    return plain
