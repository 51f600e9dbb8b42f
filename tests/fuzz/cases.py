"""One case: files, and something to do with them that must work or raise an error of ours."""

from __future__ import annotations

import contextlib
import os
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis.strategies import SearchStrategy

from plurivox.base.errors import PlurivoxError

SECONDS = 60
"""After which a case counts as hanging."""

Draw = Callable[[SearchStrategy[Any]], Any]


@dataclass(frozen=True)
class Case:
    """What is tried: it runs in a folder with the files, and ``what`` says in one line what it does."""

    what: str
    run: Callable[[], object]
    files: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """What went wrong in a case."""

    target: str
    seed: int
    case: Case
    error: BaseException

    @property
    def place(self) -> str:
        """Where it was raised, which tells one bug from another."""
        frames = [one for one in traceback.extract_tb(self.error.__traceback__) if "plurivox" in one.filename]
        last = frames[-1] if frames else None
        where = f"{Path(last.filename).name}:{last.lineno}" if last else "nowhere"
        return f"{type(self.error).__name__} at {where}"

    def told(self) -> str:
        """Return all that helps to find the reason."""
        told = "".join(traceback.format_exception(self.error))
        return f"target {self.target}, seed {self.seed}\n{self.case.what}\n\n{told}"

    def keep(self, folder: Path) -> Path:
        """Write the case into a folder of its own."""
        home = folder / f"{self.target}-{self.seed}-{self.place.replace(' at ', '-').replace(':', '-')}"
        put(self.case, home)
        (home / "case.txt").write_text(self.told(), encoding="utf-8", errors="backslashreplace")
        return home


class HangingError(Exception):
    """A case took too long."""


def put(case: Case, folder: Path) -> None:
    """Write the files of a case, and what is done with them, so that a crash of the whole process leaves them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
    (folder / "case.txt").write_text(case.what, encoding="utf-8", errors="backslashreplace")


def attempt(case: Case, folder: Path) -> None:
    """Do what a case says; whatever is raised that is not ours is let through."""
    put(case, folder)
    with contextlib.chdir(folder), _alarm(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(PlurivoxError):
            case.run()


@contextlib.contextmanager
def _alarm() -> Iterator[None]:
    """Stop what takes too long, where the system can."""

    def ring(*_: object) -> None:
        raise HangingError(f"it took longer than {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, ring) if os.name == "posix" else None
    try:
        if before is not None:
            signal.alarm(SECONDS)
        yield
    finally:
        if before is not None:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
