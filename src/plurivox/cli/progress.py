"""Progress bars: in a terminal, none in a pipe."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress


@contextlib.contextmanager
def bars_shown() -> Iterator[Progress | None]:
    """Yield what draws bars on standard error, None if nobody would see them."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True, markup=False), transient=True) as bars:
        yield bars


@contextlib.contextmanager
def telling() -> Iterator[Callable[[str, int, int], object] | None]:
    """Yield a function of what, done and total that moves a bar, None if nobody would see it."""
    with bars_shown() as bars:
        if bars is None:
            yield None
            return
        tasks: dict[str, object] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done)  # type: ignore[arg-type]

        yield tell
