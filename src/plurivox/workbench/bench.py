"""What pages and the API share: the store, the work and the questions asked about a study; and files that come in.

Files are uploaded, named on the command line, or packed studies, which are opened in place.
"""

from __future__ import annotations

import asyncio
import functools
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.datastructures import UploadFile

from plurivox import __version__
from plurivox.base.errors import FileError, InputError, SelectionError
from plurivox.base.files import note_input
from plurivox.base.settings import Settings
from plurivox.domain.raw import plain
from plurivox.infer.lens import Lens
from plurivox.read.packed.folder import is_packed, named, read_manifest
from plurivox.read.packed.manifest import is_address
from plurivox.report.settings import ReportSettings
from plurivox.workbench.forms import lens_command, python_lines, report_command
from plurivox.workbench.jobs import Jobs
from plurivox.workbench.making import PANEL, digest_of_packed, templates
from plurivox.workbench.reading import POPULATION, ReadingSettings, asked_of
from plurivox.workbench.records import PLACES, SEVERAL, StoredFile, StoredRun, StudyRecord, free_place, role_in
from plurivox.workbench.store import Beginning, StudyStore, Upload
from plurivox.workbench.watches import PIECE, Watcher, Watches, mark_of

REPORT = ("reference", "predictions", "answers")
"""The inputs of a report other than ratings."""


@dataclass(frozen=True)
class Bench:
    """A server's studies and work; ``key`` is what programs send, shown on the page about them."""

    store: StudyStore
    jobs: Jobs
    watcher: Watcher
    key: str
    max_upload: int
    local: bool = True

    def check_local(self) -> None:
        """Raise if the request may come from another machine, which must not name folders of this one."""
        if not self.local:
            hint = "Name the folder when you start the server: plurivox serve study.pvx."
            raise InputError("folders cannot be opened from another machine", hint=hint)

    def commands(self, study: StudyRecord, asked: Mapping[str, Any], lens: Lens | None = None,
                 given: Mapping[str, str] | None = None) -> dict[str, str]:  # fmt: skip
        """Return the command line and the lines of Python that do the same."""
        files = {role: one.shown for role, one in study.files.items()}
        reading = ReadingSettings.from_dict(study.reading)
        if "ratings" not in files:
            return {"command": "", "python": ""}
        beside = [one for one in ((self.look(study) or {}).get("beside") or {}).values() if one]
        known = [[place for one in beside for place in one.get(name, ())] for name in ("before", "raked")]
        settings: Settings
        if lens is None:
            function, inputs = "write_report", dict.fromkeys(REPORT, "")
            report = asked_of(ReportSettings, asked, reading)
            settings, command = report, report_command(reading, report, files)
        else:
            function, inputs = lens.name, {one.name: (given or {}).get(one.name, "") for one in lens.inputs}
            settings = asked_of(lens.settings, asked, reading)
            command = lens_command(lens, reading, settings, files, inputs)
        return {"command": command, "python": python_lines(reading, settings, files, function, inputs, *known)}

    def look(self, study: StudyRecord) -> dict[str, Any] | None:
        """Return what is known about a study's files, None until they have been examined."""
        return self._looked(study)[1] or None

    def panel(self, study: StudyRecord) -> str:
        """Return panel and population as a piece of a page, empty if raters are not weighted."""
        folder, _ = self._looked(study)
        file = None if folder is None else folder / PANEL
        return file.read_text(encoding="utf-8") if file is not None and file.is_file() else ""

    def _looked(self, study: StudyRecord) -> tuple[Path | None, dict[str, Any]]:
        return self.jobs.made(study.id, self.jobs.key(study, "look", {}))

    def run(self, study: StudyRecord, asked: Mapping[str, Any]) -> StoredRun:
        """Have every analysis run; for a watched study this is a look, corrected for all planned ones."""
        looks = self.watcher.watches.look(study.id)
        return self.jobs.ask(study, "run", {**asked, "looks": looks} if looks > 1 else asked, again=True)

    def question(self, study: StudyRecord, lens: Lens, settings: Settings, item: str = "") -> dict[str, Any]:
        """Return a question for one lens; for a watched study, nothing in its answer is certain by itself."""
        watch = self.watcher.watches.of(study.id)
        looks = {"looks": watch.planned} if watch is not None and watch.counted and watch.planned > 1 else {}
        return {"lens": lens.name, "settings": settings.as_dict(), "given": {"item": item} if item else {}, **looks}

    async def forget(self, study: str) -> None:
        """Delete a study, its files and all its running work."""
        self.watcher.end(study)
        await self.jobs.forget(study)
        self.store.delete_study(study)

    def last_run(self, study: str, wanted: str | None = None) -> StoredRun | None:
        """Return the requested run, or the last one."""
        if wanted:
            found = self.store.run(wanted)
            if found.study != study or found.kind != "run":
                raise SelectionError("this study has no such run", hint="Choose one of the results.")
            return found
        return next(iter(self.store.runs(study, "run", 1)), None)

    def usual(self, study: StudyRecord, look: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the default settings of a study: groups of all attributes that have two."""
        if study.asked:
            return study.asked
        known = [] if look is None or look.get("problem") else look["raters"]
        return {"by": [[one["name"]] for one in known if len(one["groups"]) > 1]}

    async def simulated(self) -> str:
        """Add the study of ``plurivox demo``, and return its id."""
        from plurivox.simulation.simulate import DEMO, simulate, write_study

        roles = {"ratings": "ratings", "raters": "raters", "items": "items", "trained": "reference",
                 "predictions": "predictions", "answers": "answers"}  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            await asyncio.to_thread(lambda: write_study(simulate(seed=0, **DEMO), folder, force=True))
            reading = {"scale": "0:4", "poles": "safe,unsafe", "reference_scale": "safe,unsafe"}
            asked = {"by": [["gender"], ["age"], ["ethnicity"]], "items_by": "violation"}
            with self.store.beginning("A simulated rating study", reading, asked) as found:
                for name, role in roles.items():
                    with found.adding(role, f"{name}.csv") as upload:
                        upload.write((Path(folder) / f"{name}.csv").read_bytes())
        return found.id


@functools.cache
def environment() -> Any:
    """Return the environment for the templates of pages."""
    made = templates()  # shared with what makes pieces of pages, which need none of the following
    made.filters["day"] = lambda at: time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
    made.filters["moment"] = lambda at: time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    made.filters["sentence"] = lambda text: f"{text[:1].upper()}{text[1:].rstrip('.')}."
    made.filters["axes"] = lambda by: ", ".join(" × ".join(one) for one in by)
    made.tests["in_crossing"] = lambda text: "," in text
    made.tests["failed"] = lambda one: bool(one and one.get("problem"))
    made.globals["version"] = __version__
    return made


# Uploads --------------------------------------------------------------------------------------------------------------


MOST_FILES = len(PLACES)
GUESSED = {
    "raters": ("raters", "annotators", "workers", "participants", "demographics"),
    "items": ("items", "texts", "prompts"), "population": ("population", "census", "shares"),
    "reference": ("trained", "reference", "experts", "gold"), "predictions": ("predictions", "predicted"),
    "answers": ("answers",),
}  # fmt: skip
"""Beginnings of file names, and the roles they suggest."""


def role_of(name: str) -> str:
    """Return what a file is by its name; ratings unless it says otherwise.

    Examples
    --------
    >>> role_of("raters.csv"), role_of("My study.xlsx"), role_of("experts_2024.csv")
    ('raters', 'ratings', 'reference')
    """
    words = plain(name.replace("\\", "/").rsplit("/", 1)[-1].split(".", 1)[0])
    return next((role for role, known in GUESSED.items() if words.startswith(known)), "ratings")


def chosen(files: Sequence[Any]) -> list[UploadFile]:
    """Return the files that a form sends, or raise if there is none."""
    given = [one for one in files if isinstance(one, UploadFile) and one.filename]
    if not given:
        raise InputError("no file was chosen", hint="Choose one, or drop it on the page.")
    return given


def places_of(study: StudyRecord, role: str, files: Sequence[Any]) -> dict[str, UploadFile]:
    """Return the places of files with a given role: that of the previous one, or of the one with the same name.

    Raises
    ------
    InputError
        If there are none, or more than a study allows.
    """
    found: dict[str, UploadFile] = {}
    for one in chosen(files):
        known = {file.shown: place for place, file in study.files.items() if role_in(place) == role}
        name = str(one.filename).replace("\\", "/").rsplit("/", 1)[-1]
        place = known.get(name) if role in SEVERAL else role
        place = place or free_place(role, (*study.files, *found))
        if place is None or place in found:
            raise InputError(f"there are too many files of {role}", hint="Choose fewer of them.")
        found[place] = one
    return found


def roles_of(files: Sequence[Any]) -> dict[str, UploadFile]:
    """Return files that were uploaded together by their roles.

    Raises
    ------
    InputError
        If there are none, none with ratings, or two with the same role.
    """
    given = chosen(files)
    found: dict[str, UploadFile] = {}
    for one in given:
        role = "ratings" if len(given) == 1 else role_of(str(one.filename))
        place = free_place(role, found)
        if place is None:
            raise InputError(
                f"{found[role].filename} and {one.filename} both look like {role}",
                hint="Add one of them first, and the others with their roles on the page of the study.",
            )
        found[place] = one
    if "ratings" not in found:
        raise InputError("none of the files looks like ratings", hint="Add the file of ratings first, by itself.")
    return found


async def take(place: AbstractContextManager[Upload], file: UploadFile) -> None:
    """Put a file in its place."""

    def copy() -> None:
        with place as upload:
            shutil.copyfileobj(file.file, upload, PIECE)

    await asyncio.to_thread(copy)


# Linking --------------------------------------------------------------------------------------------------------------
#
# Packed studies: opened in place, never copied, changed or deleted.


WHOLE = 20_000_000
"""The largest number of ratings of a packed study that is read whole by default: about 0.4 GB."""
MOST_OFFERED = 50


def open_packed(store: StudyStore, name: str) -> str:
    """Add a study for a packed one, and return its id.

    Raises
    ------
    FileError
        If there is no packed study with this name on this machine, or it is damaged.
    """
    file = link_of(name)
    with store.beginning(name_of(file.shown), reading_of(file)) as found:
        found.files.append(file)
    return found.id


def reading_of(file: StoredFile) -> dict[str, Any]:
    """Return how a packed study is read at first: whole, unless it has very many ratings."""
    return {"in_memory": True} if read_manifest(file.stored).n_ratings <= WHOLE else {}


def name_of(file: str) -> str:
    """Return a study's first name: that of its file or folder."""
    return Path(file).stem[:200] or "A study"


def link_of(name: str) -> StoredFile:
    """Return what is kept of a packed study, as it is now."""
    if is_address(name):
        hint = "Copy the folder to this machine, or analyse it with commands: plurivox cohesion ADDRESS."
        raise FileError("the workbench only opens packed studies on this machine", source=name, hint=hint)
    given = named(os.path.expanduser(name))
    path = Path(os.path.abspath(given.folder))
    if not is_packed(path):
        what = "it is not a packed study" if path.exists() else "there is no such folder"
        raise FileError(what, source=str(path), hint="Name a folder made by plurivox pack, such as study.pvx.")
    manifest = read_manifest(os.path.expanduser(name))
    size = sum(one.size for one in manifest.all_files)
    return StoredFile("ratings", path.name, str(path), size, manifest.sha256)


def state_of(file: StoredFile | None) -> dict[str, Any] | None:
    """Return what a page says about a packed study: where it is, and what is wrong with it, if anything."""
    if file is None:
        return None
    found: dict[str, Any] = {"path": file.stored, "changed": False, "gone": False}
    try:
        found["changed"] = digest_of_packed(file.stored) != file.sha256
    except FileError:
        found["gone"] = True
    return found


def packed_nearby() -> list[str]:
    """Return the packed studies in the working directory, to choose from."""
    try:
        names = sorted(entry.path for entry in os.scandir() if entry.is_dir() and is_packed(entry.path))
    except OSError:
        return []
    return [os.path.abspath(name) for name in names[:MOST_OFFERED]]


# Starting -------------------------------------------------------------------------------------------------------------
#
# A study started from files on this machine.


def begin(store: StudyStore, files: Sequence[str], weights: str | None = None, trim: float | None = None) -> str:
    """Add a study of some files, and return the address of its page; for watched files, that of their study.

    ``weights`` is the file of the population, ``trim`` the largest weight.
    """
    packed = [name for name in files if is_packed(name)]
    roles = _places(files, packed, weights)
    reading = {} if trim is None else {"trim": trim}
    ReadingSettings.from_dict(reading)  # fail now rather than on every page
    watches = Watches(store)
    if packed:
        file = link_of(packed[0])
        same = [one for one in store.studies() if one.packed and one.packed.stored == file.stored]
        if same and len(roles) == 1:  # nothing else is given
            return f"/studies/{same[0].id}"
        with store.beginning(name_of(file.shown), {**reading_of(file), **reading}) as found:
            found.files.append(file)
            _fill(found, {place: path for place, path in roles.items() if place != "ratings"})
        return f"/studies/{found.id}"
    watched = watches.same_sources(map(str, roles.values()))
    if watched is not None:  # looks are counted there; a new study would start counting again
        return f"/studies/{watched}/watch"
    with store.beginning(name_of(roles["ratings"].name), reading) as found:
        sources = _fill(found, roles)
    watches.add_sources(found.id, sources)
    return f"/studies/{found.id}"


def _places(files: Sequence[str], packed: Sequence[str], weights: str | None) -> dict[str, Path]:
    """Return the places of files in a study, from their names; the population was named explicitly."""
    roles: dict[str, Path] = {}
    said = [(name, "ratings" if len(files) == 1 or name in packed else role_of(name)) for name in files]
    for name, role in (*said, *([] if weights is None else [(weights, POPULATION)])):
        place = free_place(role, roles)
        if place is None:
            hint = "Give one of them; add the other on the page of the study."
            raise InputError(f"{roles[role].name} and {Path(name).name} both look like {role}", hint=hint)
        if Path(name).is_dir() and name not in packed:
            hint = "Give files, or a folder made by plurivox pack."
            raise FileError("it is a folder, but the workbench expects files", source=name, hint=hint)
        if not Path(name).is_file() and name not in packed:
            raise FileError("there is no such file", source=name, hint="Check the name.")
        roles[place] = Path(os.path.abspath(name))
    if "ratings" not in roles:
        raise InputError("none of the files looks like ratings", hint="Also give the file with the ratings.")
    return roles


def _fill(study: Beginning, roles: Mapping[str, Path]) -> dict[str, tuple[str, str]]:
    """Put files into a study that is being made; return where they are, and the marks of their versions."""
    sources: dict[str, tuple[str, str]] = {}
    for role, path in roles.items():
        note_input(path)
        sources[role] = (str(path), mark_of(str(path)))  # before it is read: what changes in the meantime is read again
        with path.open("rb") as file, study.adding(role, path.name) as upload:
            shutil.copyfileobj(file, upload, PIECE)
    return sources
