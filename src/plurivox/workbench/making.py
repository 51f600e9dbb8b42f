"""What is computed in a separate process: the content of files, what lenses find, views of a group or an item, files.

Everything is written in a folder that the server names, whole or not at all, and reported as it is made.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import polars as pl

from plurivox import __version__
from plurivox.base.errors import FileError, InputError, NeedsMemoryError, PlurivoxError, PlurivoxWarning, SelectionError
from plurivox.base.files import write_text
from plurivox.base.wording import harmless
from plurivox.domain.panel import PopulationShares
from plurivox.domain.ratings import Ratings
from plurivox.domain.recoding import Recoding
from plurivox.engine.pool import Running
from plurivox.infer.lens import Lens
from plurivox.lenses import lenses
from plurivox.read.packed.folder import manifest_in
from plurivox.read.packed.stored import secret
from plurivox.read.population import read_population
from plurivox.report.build import Report, brief_of, report_of, sections
from plurivox.report.parts import Brief, Figure, Section, Switch
from plurivox.report.render import Explained, environment, with_unique_ids
from plurivox.report.settings import ReportSettings
from plurivox.study import Study
from plurivox.workbench.charts import LinkedPages, with_links
from plurivox.workbench.forms import report_command
from plurivox.workbench.reading import POPULATION, ReadingSettings, asked_of, beside, names_of, read
from plurivox.workbench.records import DONE_FILE, RESULTS, touch

Tell = Callable[[dict[str, Any]], None]
WHOLE = "Choose “Read it whole into memory” on the Data page, or keep only some raters or items there."
BESIDE = ("reference", "predictions", "answers")
PANEL = "panel.html"
"""Panel and population, as a piece of a page."""
UNCORRECTED = (
    "Several looks are planned at this growing study. Only “In short” shows what is certain after all of them: tests "
    "on this page are not corrected for looks, and nothing here is marked as certain."
)


@dataclass(frozen=True)
class Source:
    """The files of a study, stored name, shown name and checksum by role; how they are read; where things are put."""

    files: Mapping[str, tuple[str, str, str]]
    reading: ReadingSettings
    inputs: Path
    made: Path

    @property
    def key(self) -> str:
        """The fingerprint of everything that results depend on, apart from the settings, and of who computes them.

        So nobody else can put results into the folder of a study that is taken in.
        """
        digests = {role: one[2] for role, one in self.files.items()}
        return digest_of([secret().hex(), __version__, digests, self.reading.as_dict()])


def digest_of(value: Any) -> str:
    """Return a short fingerprint of a value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def lens_named(name: str) -> Lens:
    """Return the record of a lens."""
    found = next((lens for lens in lenses() if lens.name == name), None)
    if found is None:
        raise SelectionError(f"there is no lens {name!r}", hint=f"There are {', '.join(one.name for one in lenses())}.")
    return found


def digest_of_packed(path: str | os.PathLike[str]) -> str:
    """Return the fingerprint of a packed study: its manifest has the checksums of all its files."""
    try:
        return hashlib.sha256(manifest_in(Path(path))).hexdigest()
    except OSError as error:
        hint = "Put the folder back and try again. Earlier results can still be viewed."
        raise FileError(
            f"the packed study is no longer there ({error.strerror})", source=os.fspath(path), hint=hint
        ) from None


def check_link(path: str | os.PathLike[str], digest: str) -> None:
    """Raise unless a packed study exists and is the same as when it was opened."""
    if digest_of_packed(path) != digest:
        hint = "Go to Data and choose “Use it as it is now”."
        raise FileError("the packed study has changed since it was opened here", source=os.fspath(path), hint=hint)


class Desk:
    """One study at work: its files are read once, and every question is answered once."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._folder = tempfile.TemporaryDirectory(prefix="plurivox-")
        self.tell: Tell = lambda told: None
        stored = {role: (str(source.inputs / one[0]), one[1]) for role, one in source.files.items()}
        self.names = names_of(stored, Path(self._folder.name))

    def close(self) -> None:
        """Remove what was laid out."""
        self._folder.cleanup()

    def check(self) -> None:
        """Raise if a packed study, which is kept elsewhere, has changed since it was opened."""
        for stored, _, digest in self.source.files.values():
            if os.path.isabs(stored):
                check_link(stored, digest)

    @property
    def folder(self) -> Path:
        """Where the files are under names that messages can quote."""
        return Path(self._folder.name)

    @cached_property
    def population(self) -> PopulationShares | None:
        """The shares of the population, None if there is no file with them."""
        file = self.names.get(POPULATION)
        return None if file is None else read_population(file, encoding=self.source.reading.encoding)

    @cached_property
    def _read(self) -> tuple[Ratings, Recoding | None]:
        self.progress("reading the ratings", 0, 1)
        try:
            population = self.population
        except PlurivoxError:  # which is reported for that file; the ratings can be read without it
            population = None
        return read(self.source.reading, self.names, population)

    @property
    def unweighted(self) -> Ratings:
        """Who rated what, with all raters counting equally."""
        return self._read[0]

    @cached_property
    def ratings(self) -> Ratings:
        """Who rated what, with raters weighted to the population if there is one."""
        if self.population is None:
            return self.unweighted
        return self.unweighted.weighted(self.population, **self.source.reading.weighting())

    @property
    def recoding(self) -> Recoding | None:
        """How the points of the files were recoded."""
        return self._read[1]

    def beside(self, role: str) -> Any:
        """Read a further input; None if there is none."""
        return beside(role, self.source.reading, self.names, self.unweighted, self.recoding)

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """The further inputs, by the names that lenses use."""
        found = {role: self.beside(role) for role in BESIDE}
        return {role: one for role, one in found.items() if one is not None}

    @cached_property
    def study(self) -> Study:
        """The study that answers questions."""
        how = Running.given(None, None, self.progress)
        return Study(self.ratings, self.inputs, how, Results(self.source))

    @cached_property
    def _item_ids(self) -> frozenset[str]:
        return frozenset(self.ratings.items["item"].cast(pl.String))

    def places(self, groups: Mapping[str, Collection[str]]) -> LinkedPages:
        """Return what has a page of its own: these groups, and all items."""
        return LinkedPages(groups, lambda name: name in self._item_ids)

    def progress(self, what: str, done: int, total: int) -> None:
        """Report progress."""
        self.tell({"event": "progress", "what": what, "done": done, "total": total})

    def brief(self, asked: Mapping[str, Any]) -> Brief:
        """Return what a report shows under these settings."""
        settings = asked_of(ReportSettings, asked, self.source.reading)
        command = report_command(self.source.reading, settings, self.names)
        digests = {self.names[role]: one[2] for role, one in self.source.files.items()}
        return brief_of(self.study, settings, command, digests)


@dataclass(frozen=True)
class Results:
    """Results on disk, by what they depend on and the settings; a damaged one counts as missing."""

    source: Source
    _lenses: dict[str, Lens] = field(default_factory=lambda: {lens.name: lens for lens in lenses()})

    def _path(self, name: str, settings: Any, inputs: Mapping[str, Any]) -> Path:
        # What was read from files is in the key of the source; what is given in words, such as an item, is not.
        given = {one: value if isinstance(value, str) else None for one, value in inputs.items()}
        key = digest_of([self.source.key, name, settings.key(), given])
        return self.source.made / RESULTS / f"{key}.json"

    def _class(self, name: str) -> Any:
        found = self._lenses[name].load("result") if name in self._lenses else None
        return found if hasattr(found, "from_json") else None

    def load(self, name: str, settings: Any, inputs: Mapping[str, Any]) -> Any:
        """Return a result, or None if there is none."""
        kind, path = self._class(name), self._path(name, settings, inputs)
        if kind is None or not path.exists():
            return None
        touch(path)
        try:
            return kind.from_json(path.read_text(encoding="utf-8"))
        except (PlurivoxError, OSError, UnicodeDecodeError):
            return None

    def save(self, name: str, settings: Any, inputs: Mapping[str, Any], result: Any) -> None:
        """Keep a result that can be read back."""
        if self._class(name) is not None:
            path = self._path(name, settings, inputs)
            with contextlib.suppress(FileError, OSError):  # what cannot be kept is computed again
                path.parent.mkdir(parents=True, exist_ok=True)
                write_text(path, result.to_json())


# What is made ---------------------------------------------------------------------------------------------------------


def make(desk: Desk, kind: str, asked: Mapping[str, Any], out: Path) -> None:
    """Compute one thing and write it into a folder; ``done.json`` comes last and shows that it is complete."""
    from plurivox.workbench import views  # only now, since charts and lenses take a while to load

    kinds: dict[str, Callable[[Desk, Mapping[str, Any], Path], dict[str, Any]]] = {
        "run": run, "report": write_reports, "look": views.look, "question": views.question, "group": views.group,
        "item": views.item, "compare": views.compare, "models": views.models, "items": views.items,
        "config": views.config, "table": views.table_file,
    }  # fmt: skip
    desk.check()
    out.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PlurivoxWarning)
        told = kinds[kind](desk, asked, out)
    said = [str(one.message) for one in caught if isinstance(one.message, PlurivoxWarning)]
    write_json(out / DONE_FILE, {**told, "warnings": list(dict.fromkeys([*told.get("warnings", ()), *said]))})


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON."""
    write_text(path, json.dumps(value, ensure_ascii=False, default=str))


def problem_of(error: BaseException) -> dict[str, Any]:
    """Return what to say about an error, in parts that a page can show; for our own mistakes, only their kind."""
    found: dict[str, Any] = {"source": None, "column": None, "places": [], "n_places": 0, "hint": None}
    if isinstance(error, InputError):
        found |= {name: getattr(error, name) for name in ("source", "column", "n_places", "hint")}
        found |= {"places": list(error.places[: error.SHOWN]), "problem": error.problem}
    elif isinstance(error, NeedsMemoryError):
        found |= {"problem": "this needs all ratings of the packed study in memory", "hint": WHOLE}
    elif isinstance(error, PlurivoxError):
        found["problem"] = str(error)
    elif isinstance(error, MemoryError):
        found |= {"problem": "this needs more memory than is available", "hint": "Ask for less at once."}
    elif isinstance(error, OSError):
        found |= {"problem": f"the machine refused ({error.strerror or type(error).__name__})"}
    else:
        problem = f"something went wrong inside plurivox ({type(error).__name__})"
        found |= {"problem": problem, "hint": "The window of plurivox serve shows where."}
    return {**found, "text": str(error) if isinstance(error, PlurivoxError) else f"{found['problem']}."}


def problem_in_words(text: str, hint: str | None = None) -> dict[str, Any]:
    """Return the same for an error that does not concern a file."""
    return problem_of(InputError(text, hint=hint))


def run(desk: Desk, asked: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Run every lens that the inputs allow, a part for each section of the report; then the first screen."""
    brief = desk.brief(asked)
    places = desk.places(groups_in(brief))
    shown: list[Section] = []
    parts: list[dict[str, Any]] = []
    every = list(sections())
    for at, show in enumerate(every):
        name = show.__module__.rpartition(".")[2]
        desk.tell({"event": "step", "step": at, "steps": len(every), "name": name})
        section = show(brief)
        if section is None:
            continue
        section = with_unique_ids([section])[0]
        shown.append(section)
        tested = any(one.said.p is not None for one in section.findings)
        write_text(out / f"{section.id}.html", fragment(section, places, brief.asked.looks if tested else 1))
        parts.append({"id": section.id, "title": section.title})
        write_json(out / "parts.json", parts)
        desk.tell({"event": "part", "id": section.id, "title": section.title})
    write_text(out / "answer.html", first_screen(report_of(brief, shown), places))
    models = [name for role in ("answers", "predictions") if role in desk.inputs for name in desk.inputs[role].models]
    return {"parts": parts, "groups": groups_in(brief), "models": list(dict.fromkeys(models))}


def groups_in(brief: Brief) -> dict[str, list[str]]:
    """Return the groups that may be shown by axis; an attribute of several values is an axis for each of them."""
    found: dict[str, list[str]] = {}
    for axis in brief.ask("overview").description.axes:
        found.setdefault(axis.name, []).extend(group.name for group in axis.groups)
    return found


def write_reports(desk: Desk, asked: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Write the report and the summary, as HTML, and as PDF if there is a browser to print it."""
    from plurivox.report.render import browser

    made = report_of(replace(desk.brief(asked["asked"]), notes=asked["notes"]))
    write = {"report.html": False, "summary.html": True}
    write |= {"report.pdf": False, "summary.pdf": True} if browser() else {}
    for at, (name, summary) in enumerate(write.items()):
        desk.progress("writing the report", at, len(write))
        made.write(out / name, summary=summary)
    return {"files": list(write)}


def fragment(section: Section, places: LinkedPages, looks: int = 1) -> str:
    """Return a section as a piece of a page, whose charts lead to groups and items.

    If several looks at a growing study are planned, only the first screen is corrected for them and makes claims;
    nothing here is marked as certain.
    """
    if looks > 1:
        said = [replace(one, said=replace(one.said, claim=False)) for one in section.findings]
        section = replace(section, findings=said, remarks=[UNCORRECTED, *section.remarks])
    text: str = templates().get_template("fragment.html.j2").render(section=section, explained=Explained(linked=False))
    return with_links(harmless(text), places)


def first_screen(made: Report, places: LinkedPages) -> str:
    """Return the first screen as a piece of a page, whose links lead to the parts in which the evidence is."""
    known = {"answer": made.answer, "sections": made.sections, "explained": Explained(linked=False)}
    text: str = templates().get_template("answer.html.j2").render(**known)
    text = text.replace("in the sections below", "in the other parts")
    home = {name: section.id for section in made.sections for name in _ids(section)}

    def lead(found: re.Match[str]) -> str:
        return f'href="?part={home[found[1]]}#{found[1]}"' if found[1] in home else found[0]

    return with_links(harmless(re.sub(r'href="#([^"]*)"', lead, text)), places)


def _ids(section: Section) -> Iterator[str]:
    yield section.id
    for block in (*section.blocks, *section.more):
        if hasattr(block, "id"):
            yield block.id
        if isinstance(block, Switch):
            yield from (figure.id for _, figure in block.figures)
        if isinstance(block, Figure):
            yield f"{block.id}-table"


def templates() -> Any:
    """Return the environment for the templates of the workbench and of reports."""
    return environment(template)


def template(name: str) -> str | None:
    """Return a template of the workbench, None if it has none of this name."""
    path = resources.files("plurivox.workbench") / "assets" / "templates" / name
    return path.read_text(encoding="utf-8") if path.is_file() else None
