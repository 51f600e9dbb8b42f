"""Types and helpers shared by the tests."""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from unittest import mock

import polars as pl
import pytest

import plurivox as pv
from plurivox.cli import main

T = TypeVar("T")
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


def ran(*arguments: object) -> Done:
    """Run the program, which has to succeed."""
    done = run_cli(*arguments)
    assert done.code == 0, done.words
    return done


def refused(*arguments: object, code: int | None = 1) -> str:
    """Run the program, which has to print nothing but an error; return that without line breaks and frames."""
    done = run_cli(*arguments)
    assert (done.code, done.out) == (done.code if code is None and done.code else code, "")
    assert "Traceback" not in done.err
    return " ".join(done.err.replace("│", " ").split())


def some(value: T | None) -> T:
    """Return a value that has to be there."""
    assert value is not None
    return value


def rated(scores: Mapping[Any, Sequence[int | None]], points: int = 5, **attributes: Sequence[Any]) -> pv.Ratings:
    """Return a study written by hand: rater → points from 0 on for the items 0, 1, 2, …; attributes by rater."""
    rows = [(i, rater, score) for rater, own in scores.items() for i, score in enumerate(own)]
    schema = {"item": pl.Int64, "rater": None, "score": pl.Int64}
    frame = pl.DataFrame(rows, schema, orient="row", infer_schema_length=None)
    raters = pl.DataFrame({"rater": list(scores), **{name: list(values) for name, values in attributes.items()}})
    return pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, points - 1), raters=raters)


def study_of(frame: pl.DataFrame, top: int = 4, *attributes: str, **more: Any) -> pv.Ratings:
    """Return a table of ratings on 0 to ``top`` as a study; columns with ``attributes`` describe raters."""
    return pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, top), rater_attributes=attributes or ["group"], **more)


def made_once(temporary: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder that ``make`` fills once for all workers of a run: the first to ask fills it, others wait."""
    own = temporary.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name
    filled = Path(f"{folder}.filled")
    with Path(f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not filled.exists():
            shutil.rmtree(folder, ignore_errors=True)  # what a worker left that failed
            folder.mkdir()
            make(folder)
            filled.touch()
    return folder


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


class Drawn(NamedTuple):
    """A table that a page keeps as data: where it stands, and the values of each column by its name."""

    section: str
    columns: dict[str, list[Any]]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield each row by the names of its columns."""
        for values in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, values, strict=True))


class Markup(HTMLParser):
    """A report as a browser takes it: its tags, ids, links, scripts, text and tables; nothing in it may run unasked."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.addresses: list[str] = []
        self.n_running = 0
        self.tables: dict[str, Drawn] = {}
        self.text = ""
        self._section = self._table = self._data = ""
        self._inside = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        known = {name: value or "" for name, value in attrs}
        if "id" in known:
            self.ids.append(known["id"])
        for name, value in known.items():
            assert not name.startswith("on"), f"<{tag} {name}=…> would run something"
            if name == "href" and value.startswith("#"):
                self.links.append(value[1:])
            elif name in ("href", "src", "xlink:href", "action", "srcset") and value:
                self.addresses.append(value)
        if tag == "section":
            self._section = known["id"].removesuffix("-more")
        elif "table" in known.get("class", "").split():
            self._table = known["id"]
        elif tag in ("script", "style"):
            self._inside, self._data = tag, ""
            if tag == "script" and known.get("type") == "application/json":
                self._inside = "data"
            self.n_running += self._inside == "script"

    def handle_data(self, data: str) -> None:
        if self._inside == "data":
            self._data += data
        elif not self._inside:
            self.text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "script" and self._inside == "data":
            columns = json.loads(self._data, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
            self.tables[self._table] = Drawn(self._section, {one["n"]: _values(one) for one in columns})
        if tag in ("script", "style"):
            self._inside = ""

    def sound(self) -> None:
        """Assert that ids are unique, links lead somewhere, nothing is fetched, and one script runs."""
        assert len(self.ids) == len(set(self.ids))
        assert set(self.links) <= set(self.ids)
        assert all(address == "data:," for address in self.addresses)
        assert self.n_running == 1

    def numbers(self, column: str) -> set[float]:
        """Return all numbers in columns of a name."""
        found = [value for table in self.tables.values() for value in table.columns.get(column, [])]
        return {value for value in found if isinstance(value, int | float)}


def _values(column: dict[str, Any]) -> list[Any]:
    words: list[Any] | None = column.get("w")
    return column["v"] if words is None else [words[at] for at in column["v"]]


def six(value: float | None) -> float:
    """Return a number as a report keeps it, with six digits."""
    assert value is not None
    return float(f"{value:.6g}")


def blocks_in(*sections: Any) -> dict[str, Any]:
    """Return every chart and table of sections by its id, those of the appendix and behind switches, too."""
    from plurivox.report.parts import DataTable, Figure, Switch

    found: list[Any] = []
    for section in sections:
        found += [section.lead_figure] if section.lead_figure is not None else []
        for block in (*section.blocks, *section.more):
            found += [figure for _, figure in block.figures] if isinstance(block, Switch) else [block]
    return {block.id: block for block in found if isinstance(block, DataTable | Figure)}


def all_shipped() -> bool:
    """Tell whether the kernels that the package ships were compiled from the sources as they are."""
    from plurivox.kernels import shipped, shipping

    return shipped.usable_here() and all(shipped.holds(module, kernel) for module, kernel, _ in shipping.entries())
