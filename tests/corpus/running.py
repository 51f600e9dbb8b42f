"""Running a case in a folder of its own making, and recording what it left behind."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import shlex
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import scipy.linalg  # noqa: F401 - its BLAS is limited, too, once it is loaded
from threadpoolctl import threadpool_limits

import plurivox as pv
from corpus import data
from corpus.records import compact, compact_page, compact_text, plain, sha
from plurivox.infer.lens import Lens
from support import run_cli

PACKAGES = (
    "numpy", "scipy", "numba", "polars", "narwhals", "typer", "rich", "altair", "vl-convert-python", "jinja2", "torch",
    "openai",
)  # fmt: skip
THREADED = ("cohesion", "responsiveness", "score", "align", "judge", "advise", "select", "curate")
"""Commands with an option for the number of threads."""
OUT = "{out}"

# Whether kernels are compiled already depends on what ran before.
_COMPILING = re.compile(r"^compiling, once for this and all later runs …\n", re.MULTILINE)
_PORT = re.compile(r"http://127\.0\.0\.1:\d+")
_WHEN = re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?")


class World:
    """A folder with data sets, made when they are first needed.

    Attributes
    ----------
    root
        The folder; cases run in it, so that paths in what they print are short and always the same.
    threads
        How many threads to ask for where there is an option; None for the default.
    """

    def __init__(self, root: Path, threads: int | None = None) -> None:
        self.root = root.resolve()
        self.threads = threads
        self._kept: dict[str, Any] = {}

    def once(self, key: str, make: Callable[[], Any]) -> Any:
        """Return what was made under this key before, or make it."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def ratings(self, name: str, **options: Any) -> pv.Ratings:
        """Read the ratings of a simulated study, with what is known about raters and items."""
        data.make(name)
        files = {"raters": f"{name}/raters.csv", "items": f"{name}/items.csv"}
        return pv.read_ratings(f"{name}/ratings.csv", **{**files, **options})

    def cli(self, *arguments: object) -> dict[str, Any]:
        """Run the program, and record its exit status and both outputs."""
        done = run_cli(*arguments)
        return {"code": done.code, "out": self.output(done.out), "err": self.normal(done.err)}

    def output(self, text: str) -> Any:
        """Record what was printed: JSON as values beside a digest of its text, everything else as text."""
        text = self.normal(text)
        if text.startswith("{"):
            with contextlib.suppress(json.JSONDecodeError):
                return {"text": sha(text), "json": compact(json.loads(text))}
        return compact_text(text)

    def normal(self, text: str) -> str:
        """Replace what may differ: the folder, the version, ports, the time of day, threads asked for here."""
        text = _COMPILING.sub("", text.replace(str(self.root), "<root>"))
        if self.threads is not None:
            text = text.replace(f" --threads {self.threads}", "")
        text = _WHEN.sub("<time>", _PORT.sub("http://<server>", text))
        return re.sub(rf"(?<![\d.]){re.escape(pv.__version__)}(?!\.?\d)", "<version>", text)

    def files(self, folder: str) -> dict[str, Any]:
        """Record the files below a folder, but for the hidden list of them, which only repeats what they are."""
        paths = sorted(path for path in Path(folder).rglob("*") if path.is_file() and path.name != ".plurivox.json")
        return {str(path.relative_to(folder)): self.file(path) for path in paths}

    def file(self, path: Path) -> Any:
        """Record a file by what its name says it is."""
        kind = path.suffix
        if kind == ".parquet":
            return compact(plain(pl.read_parquet(path)))  # its bytes name the version of the writer
        if kind in (".db", ".db-wal", ".db-shm"):
            return "a store: its bytes hold times and names of processes"
        if kind in (".svg", ".png", ".safetensors"):
            return sha(path.read_bytes())
        text = self.normal(path.read_text(encoding="utf-8"))
        return compact_page(text) if kind == ".html" else self.output(text)


@dataclass(frozen=True, slots=True)
class Case:
    """Something to run.

    Attributes
    ----------
    name
        The lens or command, a slash, and what is special about the case.
    line
        A command line; ``{out}`` stands for a new folder, all files in which are recorded.
    call
        Instead: a function of the world.
    data
        The data sets it reads.
    analysis
        The command line without what is printed of its result, where several cases print it: the first of them
        analyses, and the others print the same result.
    """

    name: str
    line: str = ""
    call: Callable[[World], Any] | None = None
    data: tuple[str, ...] = ()
    analysis: str = ""

    @property
    def needs_real_data(self) -> bool:
        """Whether it reads real data, which are not part of the project."""
        return any(name in data.REAL for name in self.data)

    def run(self, world: World) -> Any:
        """Run it in the world's folder and return the record."""
        with _inside(world.root):
            for name in self.data:
                data.make(name)
            if self.call is not None:
                return _called(self.call, world)
            return self._program(world)

    def _program(self, world: World) -> dict[str, Any]:
        out = f"out/{self.name.replace('/', '-')}"
        shutil.rmtree(out, ignore_errors=True)
        words = shlex.split(self.line.replace(OUT, out))
        if world.threads is not None and words[0] in THREADED:
            words += ["--threads", str(world.threads)]
        if OUT in self.line:
            Path(out).mkdir(parents=True)
        with _analysed_once(world, self.analysis) if self.analysis else contextlib.nullcontext():
            found = world.cli(*words)
        return found | {"files": world.files(out)} if OUT in self.line else found


@contextlib.contextmanager
def _analysed_once(world: World, analysis: str) -> Iterator[None]:
    """Let the program get what lenses found, with the warnings about it, from the first time this was analysed.

    All else is done each time: settings, files that are read, and what is printed.
    """
    kept: list[tuple[Any, list[Warning | str]]] = world.once(f"analysis {analysis}", list)
    load, later = Lens.load, iter(tuple(kept))

    def loaded(lens: Lens, what: str) -> Any:
        run = load(lens, what)
        return SimpleNamespace(run=partial(found_by, run.run)) if what == "run" else run

    def found_by(run: Callable[..., Any], *given: Any, **more: Any) -> Any:
        if not (found := next(later, None)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = run(*given, **more), [one.message for one in caught]
            kept.append(found)
        for said in found[1]:
            warnings.warn(said, stacklevel=1)
        return found[0]

    with mock.patch.object(Lens, "load", loaded):
        yield


def _called(call: Callable[[World], Any], world: World) -> dict[str, Any]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", pv.PlurivoxWarning)
        value = call(world)
    said = [f"{one.category.__name__}: {one.message}" for one in caught if issubclass(one.category, pv.PlurivoxWarning)]
    return {"value": compact(plain(value)), "warnings": [world.normal(text) for text in said]}


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in a folder, in a plain terminal of a fixed width, with one thread for linear algebra.

    The last bits of a graded response model depend on how many threads BLAS has: they change the order of its sums.
    """
    fixed = {"COLUMNS": "160", "NO_COLOR": "1", "TERM": "dumb", "OPENAI_API_KEY": "none"}
    before = {name: os.environ.get(name) for name in fixed}
    os.environ.update(fixed)
    try:
        with contextlib.chdir(folder), threadpool_limits(1, user_api="blas"):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def new_world(threads: int | None = None) -> Iterator[World]:
    """Make a folder for cases to run in, and remove it at the end."""
    with tempfile.TemporaryDirectory(prefix="plurivox-corpus-") as folder:
        yield World(Path(folder), threads)


def environment() -> dict[str, str]:
    """Return what may change bits without any change of plurivox."""
    versions = {"machine": platform.machine(), "system": platform.system(), "python": platform.python_version()}
    simd: Any = np.show_config(mode="dicts")
    versions["numpy uses"] = ", ".join(simd["SIMD Extensions"]["found"])  # of the processor, which changes last digits
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions
