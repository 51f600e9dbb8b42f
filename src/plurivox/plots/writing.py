"""Charts as files and as parts of a page."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plurivox.base.errors import InputError, MissingExtraError
from plurivox.base.files import write_bytes
from plurivox.base.wording import one_line
from plurivox.plots.vega import Chart

FORMATS = (".svg", ".png", ".pdf", ".html", ".json")
_TAG = re.compile(r"""<(?:[^<>"']|"[^"]*"|'[^']*')*>""")
_KIND = re.compile(r' aria-roledescription="[^"]*"')  # knowing that a mark is a "rect mark" helps nobody
_HEARD = re.compile(r' (?:role|aria-label)="[^"]*"')
_ID = re.compile(r'(?<=\sid=")[^"]*(?=")|(?<=url\(#)[^)]*(?=\))|(?<=href="#)[^"]*(?=")')


def write_chart(chart: Any, path: str | Path) -> Path:
    """Write a chart as SVG, PNG, PDF, self-contained HTML or Vega-Lite JSON, by file extension; all or nothing."""
    target = Path(path)
    kind = target.suffix.lower()
    problem = not_drawn(target)
    if problem:
        raise InputError(problem)
    return write_bytes(target, chart_bytes(chart, kind))


def not_drawn(path: Path) -> str:
    """Return why no chart can be written under a name, empty if one can.

    Examples
    --------
    >>> not_drawn(Path("a.txt")), not_drawn(Path("a.pdf"))
    ('cannot write a chart as .txt; use .svg, .png, .pdf, .html or .json', '')
    """
    kind = path.suffix.lower()
    if kind in FORMATS:
        return ""
    known = f"use {', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
    return f"cannot write a chart as {kind}; {known}" if kind else f"{path.name} has no ending; {known}"


def chart_bytes(chart: Any, kind: str) -> bytes:
    """Return a chart as the content of a file of one of :data:`FORMATS`."""
    spec = chart.to_dict()
    if kind == ".json":
        return json.dumps(spec).encode()
    engine, version = load_vl_convert(), _version(spec)
    if kind == ".png":
        return bytes(engine.vegalite_to_png(spec, vl_version=version, scale=2))
    if kind == ".pdf":
        return bytes(engine.vegalite_to_pdf(spec, vl_version=version))
    if kind == ".svg":
        return str(engine.vegalite_to_svg(spec, vl_version=version)).encode()
    inside = json.dumps(spec).replace("<", "\\u003c")  # a </script> in a name must not end the script
    return _PAGE.format(program=engine.javascript_bundle(vl_version=version), spec=inside).encode()


_PAGE = """<!DOCTYPE html>
<html>
<head><meta charset="UTF-8"><script>{program}</script></head>
<body>
<div id="vis"></div>
<script>vegaEmbed("#vis", {spec}, {{mode: "vega-lite"}}).catch(console.error);</script>
</body>
</html>
"""


def _version(spec: dict[str, Any]) -> str:
    """Return the version of Vega-Lite that a specification is written for, as vl-convert calls it."""
    return ".".join(spec["$schema"].rpartition("/v")[2].split(".")[:2])


def shown(chart: Any) -> dict[str, Any]:
    """Return a chart as the picture that a notebook shows if it cannot draw charts; nothing without vl-convert."""
    try:
        return {"image/svg+xml": chart_bytes(chart, ".svg").decode()}
    except MissingExtraError:
        return {}


def to_svg(chart: Any, prefix: str) -> str:
    """Return a chart as SVG for a page: no background, ids that start with ``prefix``, the same text each time.

    Each mark that shows a value has it in words as its ``aria-label``; with more than 700 marks, none has.

    Parameters
    ----------
    chart
        Any chart of this package, or of Altair.
    prefix
        A word of letters, digits and hyphens that no other chart on the page has.

    Examples
    --------
    >>> from plurivox.plots.theme import saying
    >>> to_svg(saying("Nothing", "There is nothing to draw."), "nothing").startswith("<svg")
    True
    """
    if not re.fullmatch(r"[A-Za-z][\w-]*", prefix, re.ASCII):
        raise InputError(f"prefix is {prefix!r}", hint="Give a word of letters, digits and hyphens.")
    return Picture(begun(chart)).svg(prefix)


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart being made part of a page, and the line below its title."""

    conversion: Conversion
    subtitle: str = ""

    @classmethod
    def untitled(cls, chart: Chart) -> Picture:
        """Start with a chart without its title, which the page shows."""
        lines = chart.spec["title"].get("subtitle", [])
        return cls(begun(chart.properties(title={"text": ""})), " ".join(lines))

    def svg(self, prefix: str) -> str:
        """Return it as SVG with ids that start with a prefix, as :func:`to_svg` does."""
        ids: dict[str, str] = {}

        def numbered(found: re.Match[str]) -> str:
            return ids.setdefault(found[0], f"{prefix}-{len(ids) + 1}")

        return _TAG.sub(lambda tag: _ID.sub(numbered, _heard(tag[0])), self.conversion.svg())


def begun(chart: Any) -> Conversion:
    """Start converting a chart to SVG: no background, and marks that say their values."""
    spec = described(chart.to_dict())
    spec["background"] = None
    spec.get("config", {}).pop("background", None)
    return Conversion(spec, _version(spec))


def _heard(tag: str) -> str:
    """Return a tag without what helps nobody: titles are text already, and marks without a label say nothing."""
    plain = _KIND.sub("", tag)
    silent = "role-title-" in plain or ('role="graphics-symbol"' in plain and "aria-label=" not in plain)
    return _HEARD.sub("", plain) if silent else plain


MOST_TOLD = 700
"""The most marks of a chart that are described; with more, none are, so that the image stays small."""
LONGEST = 240
"""The most characters of a text in a description."""
_SILENT = {"aria": False}
_PARTS = ("layer", "hconcat", "vconcat", "concat")


def described(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a Vega-Lite specification whose marks with a tooltip have it as their description."""
    config = spec.get("config", {})
    quiet = {name: {**config.get(name, {}), **_SILENT} for name in ("axis", "legend", "mark")}
    spec = {**spec, "config": {**config, **quiet}, "datasets": dict(spec.get("datasets", {}))}
    units = list(_units(spec, None))
    datasets = spec["datasets"]
    if sum(len(datasets[name]) for name in {name for _, name in units}) <= MOST_TOLD:  # layers share rows out
        for number, (unit, name) in enumerate(units):
            _describe(unit, datasets, name, f"described {number}")
    return spec


def _units(part: dict[str, Any], name: str | None) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each unit with a tooltip and the name of its data, which parts inherit; what is changed is copied first."""
    name = part.get("data", {}).get("name", name) if isinstance(part.get("data", {}), dict) else name
    for key in _PARTS:
        if key in part:
            part[key] = [dict(one) for one in part[key]]
            for one in part[key]:
                yield from _units(one, name)
    if isinstance(part.get("spec"), dict):
        part["spec"] = dict(part["spec"])
        yield from _units(part["spec"], name)
    if "tooltip" in part.get("encoding", {}) and "mark" in part and name is not None:
        yield part, name


def _describe(unit: dict[str, Any], datasets: dict[str, Any], name: str, column: str) -> None:
    """Give each row of a unit's data its description, and have its marks read it."""
    tips = unit["encoding"]["tooltip"]
    tips = tips if isinstance(tips, list) else [tips]
    datasets[name] = [{**row, column: sentence(row, tips)} for row in datasets[name]]
    mark = unit["mark"] if isinstance(unit["mark"], dict) else {"type": unit["mark"]}
    unit["mark"] = {**mark, "aria": True}
    unit["encoding"] = {**unit["encoding"], "description": {"field": column, "type": "nominal"}}


def sentence(row: Mapping[str, Any], tips: Sequence[Mapping[str, Any]]) -> str:
    """Return in words what a tooltip says about a row; unknown values are left out.

    Examples
    --------
    >>> tips = [
    ...     {"field": "who", "title": "group"},
    ...     {"field": "low", "title": "interval from", "format": ".2f"},
    ...     {"field": "high", "title": "to", "format": ".2f"},
    ... ]
    >>> sentence({"who": "Man", "low": -1.0, "high": 2.5}, tips)
    'group: Man; interval from −1.00 to 2.50'
    """
    text = ""
    for tip in tips:
        value = _written(row.get(tip["field"]), tip.get("format", ""))
        title = str(tip.get("title", tip["field"]))
        if not value or (title == "to" and not text):
            continue
        named = f"{title}{'' if title.endswith(' from') else ':'} {value}"
        text += f" to {value}" if title == "to" else f"{'; ' if text else ''}{named}"
    return text


def _written(value: Any, form: str) -> str:
    """Return a value as d3 would write it by its format; empty if it is unknown."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        plain = form.replace("~", "")
        number = round(value) if plain.endswith("d") else value
        return format(number, plain or ("," if isinstance(value, int) else ".4g")).replace("-", "−")
    text = one_line(str(value))
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"


# From Vega-Lite to SVG ------------------------------------------------------------------------------------------------
# Charts from Vega-Lite to SVG: here, or ahead of time in other processes. The result is the same everywhere.
#
# vl-convert has one JavaScript engine per process and blocks all other threads while it works, so more threads do not
# help. Other processes take their work from a queue, one chart at a time, while this one keeps drawing. Nothing depends
# on them: what they cannot do, or do not do in time, is done here.

MOST, ENOUGH = 4, 6
"""The most processes, and how many charts must wait before one more is started: each takes half a second to start."""
PATIENCE = 30.0
"""Seconds without a single chart after which the processes are given up."""
# Not multiprocessing, which would run a user's script again. Isolated, so that no file of the working folder is
# imported, except for what this process has on its path. It ends when this process closes the pipe, or when this
# process is gone while others hold the pipe open.
_PROGRAM = """
import json, os, sys, threading, time
sys.path[:] = json.loads(sys.argv[1])
def watch(parent):
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
threading.Thread(target=watch, args=(os.getppid(),), daemon=True).start()
import vl_convert
for line in sys.stdin.buffer:
    spec, version = json.loads(line)
    svg = vl_convert.vegalite_to_svg(spec, vl_version=version)
    sys.stdout.buffer.write(json.dumps(svg).encode() + b"\\n")
    sys.stdout.buffer.flush()
"""


def load_vl_convert() -> Any:
    """Import vl-convert, or say how to get it."""
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError("images of charts need vl-convert", "report") from None
    return vl_convert


class Conversion:
    """A chart being converted to SVG: a Vega-Lite specification, and the version that it is written for."""

    __slots__ = ("_ahead", "failed", "found", "spec", "version")

    def __init__(self, spec: dict[str, Any], version: str) -> None:
        load_vl_convert()  # now, so that nothing is drawn for nothing
        self.spec, self.version = spec, version
        self.found: str | None = None
        self.failed = False
        self._ahead = _AHEAD.get()
        if self._ahead is not None:
            self._ahead.put(self)

    def svg(self) -> str:
        """Return the image; if it has not been made yet, make it here."""
        if self._ahead is not None:
            self._ahead.settle(self)
        if self.found is None:
            made: str = load_vl_convert().vegalite_to_svg(self.spec, vl_version=self.version)
            self.found = made
        return self.found


@contextlib.contextmanager
def ahead(processes: int) -> Iterator[None]:
    """Convert charts in the background as soon as they are drawn, in up to this many processes, if there are enough.

    The processes end by themselves after the last chart drawn inside the block.
    """
    helpers = _Helpers(min(processes, MOST))
    before = _AHEAD.set(helpers)
    try:
        yield
    finally:
        _AHEAD.reset(before)
        helpers.close()


class _Helpers:
    """A queue of charts, and threads that each run a process to work on it."""

    def __init__(self, most: int) -> None:
        can = bool(sys.executable) and not getattr(sys, "frozen", False)  # otherwise it is not Python that would start
        self.most = most if can else 0
        self.waiting: deque[Conversion] = deque()
        self.turn = threading.Condition()
        self.processes: list[subprocess.Popen[bytes]] = []
        self.n_started = self.n_alive = self.n_done = 0
        self.closed = False

    def put(self, one: Conversion) -> None:
        """Add a chart; start a process if enough are waiting."""
        with self.turn:
            self.waiting.append(one)
            more = self.n_started < self.most and len(self.waiting) >= ENOUGH
            self.n_started += more
            self.n_alive += more
            self.turn.notify_all()
        if more:
            threading.Thread(target=self._serve, name="charts ahead", daemon=True).start()

    def close(self) -> None:
        """Say that no more charts will come."""
        with self.turn:
            self.closed = True
            self.turn.notify_all()

    def settle(self, one: Conversion) -> None:
        """Wait until a chart is made, or until no process is left to make it."""
        with self.turn:
            while one.found is None and not one.failed and self.n_alive:
                before = self.n_done
                if not self.turn.wait(PATIENCE) and self.n_done == before:
                    for process in self.processes:
                        process.kill()  # its thread then notices and ends

    def _serve(self) -> None:
        """Start a process and give it one chart after another; the chart it has when it fails is not made."""
        one = None
        try:
            with _started() as process:
                self.processes.append(process)
                while (one := self._next()) is not None:
                    made = _answer(process, one)
                    with self.turn:
                        one.found = made
                        self.n_done += 1
                        self.turn.notify_all()
        except (OSError, ValueError):
            pass  # it did not start, died, or said something else
        finally:
            with self.turn:
                self.n_alive -= 1
                if one is not None:
                    one.failed = True
                self.turn.notify_all()

    def _next(self) -> Conversion | None:
        """Wait for a chart; None when no more will come."""
        with self.turn:
            while not self.waiting and not self.closed:
                self.turn.wait()
            return self.waiting.popleft() if self.waiting else None


@contextlib.contextmanager
def _started() -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that converts, and end it."""
    command = [sys.executable, "-I", "-c", _PROGRAM, json.dumps(sys.path)]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing, cwd=os.path.abspath(os.sep)) as process:  # noqa: S603
        try:
            yield process
        finally:
            process.kill()  # nothing is lost: what it made has been read


def _answer(process: subprocess.Popen[bytes], one: Conversion) -> str:
    """Have a process convert a chart."""
    if process.stdin is None or process.stdout is None:
        raise ValueError("no pipes")
    process.stdin.write(json.dumps([one.spec, one.version]).encode() + b"\n")  # vl-convert reads numbers less exactly
    process.stdin.flush()
    made = json.loads(process.stdout.readline())
    if not isinstance(made, str) or not made.startswith("<svg"):
        raise ValueError("not an image")
    return made


_AHEAD: ContextVar[_Helpers | None] = ContextVar("who converts charts ahead", default=None)
