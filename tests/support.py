"""Types and helpers shared by the tests."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import polars as pl
import pytest

from plurivox.cli import main

Write = Callable[[str, str | bytes], Path]
"""Write a file of this name and content into the test's folder."""


class Done(NamedTuple):
    """How a run of the program ended."""

    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """Both outputs without line breaks, which depend on the width."""
        return " ".join((self.out + self.err).split())

    def frame(self) -> pl.DataFrame:
        """Read what it printed as CSV."""
        assert self.code == 0, self.err
        return pl.read_csv(self.out.encode(), infer_schema_length=None)

    def json(self) -> Any:
        """Read what it printed as JSON, in which there is neither NaN nor infinity."""
        assert self.code == 0, self.err
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def run_cli(*arguments: object) -> Done:
    """Run the program in this process."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    upon_ctrl_c = signal.getsignal(signal.SIGINT)
    argv = mock.patch.object(sys, "argv", ["plurivox", *map(str, arguments)])
    with argv, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    if signal.getsignal(signal.SIGINT) is not upon_ctrl_c:  # as it is left when the program is interrupted
        signal.signal(signal.SIGINT, upon_ctrl_c)
    return Done(code, out.getvalue(), err.getvalue())


class Terminal(io.StringIO):
    """A standard output that somebody looks at."""

    def isatty(self) -> bool:
        return True


_redirected = contextlib.redirect_stdout


def looked_at(*arguments: object) -> Done:
    """Run the program with a terminal as its standard output."""
    out = Terminal()
    with mock.patch.object(contextlib, "redirect_stdout", return_value=_redirected(out)):
        done = run_cli(*arguments)
    return done._replace(out=out.getvalue())


@contextlib.contextmanager
def only_sections(*names: str) -> Iterator[None]:
    """Let reports have only the sections of these modules: a test that looks at one need not wait for all."""
    from plurivox.report import build

    chosen = [one for one in build.sections() if one.__module__.rpartition(".")[2] in names]
    assert len(chosen) == len(names)
    with mock.patch.object(build, "sections", return_value=chosen):
        yield
