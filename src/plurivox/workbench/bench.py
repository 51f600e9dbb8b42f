"""What pages and the API share: the store, the work, and the questions asked about a study."""

from __future__ import annotations

import asyncio
import functools
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plurivox import __version__
from plurivox.base.errors import InputError, SelectionError
from plurivox.base.settings import Settings
from plurivox.infer.lens import Lens
from plurivox.report.settings import ReportSettings
from plurivox.workbench.forms import lens_command, python_lines, report_command
from plurivox.workbench.jobs import Jobs
from plurivox.workbench.making import PANEL, templates
from plurivox.workbench.reading import ReadingSettings, asked_of
from plurivox.workbench.records import StoredRun, StudyRecord
from plurivox.workbench.store import StudyStore
from plurivox.workbench.watches import Watcher

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
        if lens is None:
            settings = asked_of(ReportSettings, asked, reading)
            return {
                "command": report_command(reading, settings, files),
                "python": python_lines(reading, settings, files, "write_report", dict.fromkeys(REPORT, ""), *known),
            }
        record = asked_of(lens.settings, asked, reading)
        inputs = {one.name: (given or {}).get(one.name, "") for one in lens.inputs}
        return {
            "command": lens_command(lens, reading, record, files, inputs),
            "python": python_lines(reading, record, files, lens.name, inputs, *known),
        }

    def look(self, study: StudyRecord) -> dict[str, Any] | None:
        """Return what is known about a study's files, None until they have been examined."""
        folder = self._looked(study)
        return None if folder is None else self.jobs.told(folder)

    def panel(self, study: StudyRecord) -> str:
        """Return panel and population as a piece of a page, empty if raters are not weighted."""
        folder = self._looked(study)
        file = None if folder is None else folder / PANEL
        return file.read_text(encoding="utf-8") if file is not None and file.is_file() else ""

    def _looked(self, study: StudyRecord) -> Path | None:
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
        from plurivox.simulation.files import write_study
        from plurivox.simulation.simulate import DEMO, simulate

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
