"""How work is done: on how many threads, by whom, and who is told how far it is. It never changes a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from concurrent.futures import Executor

Progress = Callable[[str, int, int], object]
"""Called with what is being done, how far it is, and how far it goes."""


class Running(NamedTuple):
    """How work is done; it is not part of a question, so no settings record holds it."""

    threads: int | None = None
    executor: Executor | None = None
    progress: Progress | None = None
