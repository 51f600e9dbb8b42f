"""The folders of studies: the name of each folder and file is noted before it is made, and only those are removed."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from plurivox.base.errors import FileError, SelectionError
from plurivox.workbench.base import Base
from plurivox.workbench.manifest import MANIFEST, names_file
from plurivox.workbench.marking import STUDIES
from plurivox.workbench.removing import remove_empty, remove_made, remove_written, within


class Folders(Base):
    """The folder of a workbench, with a folder for each study."""

    def home(self, study: str) -> Path:
        """Return the folder of a study, whose name is one of ours."""
        if not study.isalnum():
            raise SelectionError("there is no such study", hint="Go to the list of studies.")
        return self.folder / STUDIES / study

    def inputs(self, study: str) -> Path:
        """Return the folder of the files that a study was made of."""
        return self.home(study) / "inputs"

    def made(self, study: str) -> Path:
        """Return the folder of computed output."""
        return self.home(study) / "made"

    def note(self, study: str, stored: str = "") -> None:
        """Note a name before a file of a study, or its folder, is made under it."""
        with self.changing() as base:
            base.execute("insert into ours values (?, ?)", (study, stored))

    def remove_home(self, study: str) -> None:
        """Remove what was made for a study; what somebody else put there stays, and so does its folder then."""
        if not within(self.folder, self.inputs(study)):
            return  # its folder was moved elsewhere, and a link put in its place
        for row in self.rows("select stored from ours where study = ? and stored != ''", study):
            self.discard(study, row["stored"])
        remove_made(self.folder, self.made(study))
        remove_written(self.folder, self.home(study) / MANIFEST)
        remove_empty(self.folder, (self.inputs(study), self.home(study)))
        if not self.rows("select 1 from ours where study = ? and stored != ''", study):
            self._forget("delete from ours where study = ?", study)

    def _forget(self, line: str, *given: str) -> None:
        # If the disk is full, the next start finds that there is nothing to remove.
        with contextlib.suppress(FileError), self.changing() as base:
            base.execute(line, given)

    def discard(self, study: str, stored: str) -> None:
        """Remove a file of ours that no row refers to any more; what is kept elsewhere is never touched."""
        if stored and self.rows("select 1 from ours where study = ? and stored = ?", study, stored):
            path = self.inputs(study) / stored
            remove_written(self.folder, path)
            if not os.path.lexists(path):  # otherwise the next start tries again
                self._forget("delete from ours where study = ? and stored = ?", study, stored)

    def sweep(self) -> bool:
        """Remove what was made and no row refers to, of interrupted uploads or deletions; return whether rows are lost.

        A deletion begins with what a study's folder says. So if it says that the study is there, or has a file, and
        the list of studies is not newer, then the list has lost a row, and what belongs to it is not ours to remove.
        """
        for row in self.rows("select distinct study from ours where study not in (select id from studies)"):
            if not os.path.lexists(self.home(row["study"]) / MANIFEST):
                self.remove_home(row["study"])
        every = (
            "select study, stored, revision from ours join studies on id = study where stored != '' and (study, stored)"
            " not in (select study, stored from files union select study, stored from arrived)"
        )
        lost = False
        for study, stored, revision in self.rows(every):
            if names_file(self.home(study) / MANIFEST, stored, revision):
                lost = True
                self._forget("delete from ours where study = ? and stored = ?", study, stored)
            else:
                self.discard(study, stored)
        return lost
