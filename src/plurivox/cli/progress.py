"""Progress bars on standard error, in a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from plurivox.base.wording import harmless

if TYPE_CHECKING:
    from rich.progress import Progress


def several(n: int, what: str) -> str:
    """Return ``1 answer`` or ``2 answers``."""
    return f"1 {what}" if n == 1 else f"{n:,} {what}s"


@contextlib.contextmanager
def bars_shown() -> Iterator[Progress | None]:
    """Yield an object that draws bars on standard error, or None if nobody would see them."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from plurivox.cli.console import console

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bars:
        yield bars


@contextlib.contextmanager
def one_bar(
    what: str, total: int | None, shown: Callable[..., tuple[int, int, str]]
) -> Iterator[Callable[..., object] | None]:
    """Yield a function that moves a bar, None if nobody would see it; arguments give done, total and text."""
    with bars_shown() as bars:
        if bars is None:
            yield None
            return
        task = bars.add_task(harmless(what), total=total)

        def tell(*told: Any) -> None:
            done, of, text = shown(*told)
            bars.update(task, completed=done, total=of, description=harmless(text))

        yield tell


@contextlib.contextmanager
def telling() -> Iterator[Callable[[str, int, int], object] | None]:
    """Yield a function of what, done and total that moves a bar, or None if nobody would see it."""
    with bars_shown() as bars:
        if bars is None:
            yield None
            return
        tasks: dict[str, object] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(harmless(what), total=total)
            bars.update(tasks[what], completed=done)  # type: ignore[arg-type]

        yield tell
