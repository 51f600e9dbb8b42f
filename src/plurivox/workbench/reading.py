"""How the files of a study are read: a settings record, and the same as keywords, as options and as plurivox.toml."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from plurivox.base.arguments import is_text, shown
from plurivox.base.errors import InputError, ScaleError
from plurivox.base.settings import Settings, setting
from plurivox.domain.panel import PopulationShares
from plurivox.domain.ratings import Ratings
from plurivox.domain.recoding import Recoding
from plurivox.read.read import read_beside, read_study
from plurivox.read.settings import LATER, ReadSettings
from plurivox.workbench.records import of_role

CROWD, FILE, COLUMN = "crowd", "file", "column"
POPULATION = "population"
OPTIONS_OF_FILES = ("raters", "items")
Asked = TypeVar("Asked", bound=Settings)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadingSettings(ReadSettings):
    """How the files of a study are read; what is not set is recognised, and shown for checking.

    Its files are those of the study, and groups are the question's.
    """

    LEFT_OUT: ClassVar[frozenset[str]] = frozenset(("raters", "items", "weights", "by", "min_group_size"))

    table: str | None = setting(None, "The sheet of a workbook, the table of a database, or the file in an archive.")
    reference: str | None = setting(
        None, "What scores are compared with: the other raters (crowd), the file, or a group: gender=Woman."
    )
    reference_column: str | None = setting(
        None, "What scores are compared with instead: a column of the items with the reference for each."
    )
    reference_scale: str | None = setting(None, "Points of the reference: safe,unsafe; same: those of the ratings.")

    def check(self) -> None:
        """Refuse what only Python can give."""
        for name, spec in self.specs().items():
            value = getattr(self, name)
            if not spec.written and value is not None and not is_text(value):
                raise InputError(f"{name} is {shown(value)}", hint="Give a text.")


def source_of(reading: ReadingSettings, files: Mapping[str, str]) -> str:
    """Return what the ratings are read from."""
    return f"{files['ratings']}::{reading.table}" if reading.table else files["ratings"]


def keywords_of(reading: ReadingSettings, files: Mapping[str, str], raked: Sequence[str] = ()) -> dict[str, Any]:
    """Return the keywords of :func:`plurivox.read_ratings` that are set; ``raked`` are the population's attributes.

    Points are recoded afterwards, since other inputs may be on those before.
    """
    asked: dict[str, Any] = {
        name: getattr(reading, name)
        for name, spec in reading.specs().items()
        if name in ReadSettings.specs() and spec.stage != LATER and name not in ("recode", "unsafe_from")
        and getattr(reading, name) not in (spec.default, "")
    }  # fmt: skip
    asked |= {role: files[role] for role in OPTIONS_OF_FILES if role in files}
    by = list(dict.fromkeys((*reading.attributes(), *raked)))
    return asked | ({"by": by} if by else {})


def asked_of(record: type[Asked], asked: Mapping[str, Any], reading: ReadingSettings) -> Asked:
    """Return the settings as a record; the reading says which attributes may have several values per rater."""
    found = record.from_dict(asked)
    if "several" in record.specs() and not getattr(found, "several", None) and reading.several:
        return found.replace(several=reading.several)
    return found


def held_against(reading: ReadingSettings, files: Mapping[str, Any]) -> str:
    """Return what scores are compared with: crowd, file, column, or a group such as gender=Woman."""
    if reading.reference_column:
        return COLUMN
    return reading.reference or (FILE if "reference" in files else CROWD)


def read(
    reading: ReadingSettings, files: Mapping[str, str], population: PopulationShares | None = None
) -> tuple[Ratings, Recoding | None]:
    """Read the ratings of a study as its owner says; also return how points were recoded.

    With a population, the columns of the ratings that it names are treated as rater attributes.
    """
    if "ratings" not in files:
        raise InputError("there are no ratings", hint="Add the file with the ratings.")
    raked = () if population is None else population.attributes
    said = {name: getattr(reading, name) for name in reading.specs() if name in ReadSettings.specs()}
    known = ReadSettings(**said, raters=files.get("raters"), items=files.get("items"))
    return read_study(source_of(reading, files), known, raked)


def beside(
    role: str, reading: ReadingSettings, files: Mapping[str, str], ratings: Ratings, recoding: Recoding | None
) -> Any:
    """Read a further input: a reference, predictions or answers; None if there is none."""
    if role == "reference":
        return _reference(reading, files, ratings, recoding)
    if role not in files:
        return None
    from plurivox.ask.read_answers import answers_of, described, predictions_of

    if role == "predictions":
        return predictions_of(of_role(role, files), ratings.scale, recoding, ratings)
    found = answers_of(files[role], ratings.scale, recoding, ratings)
    return described(found, files.get("items"), ratings, reading.conflicts, reading.encoding)


def _reference(reading: ReadingSettings, files: Mapping[str, str], ratings: Ratings, recoding: Recoding | None) -> Any:
    """Read the reference, or return the group that it is; None for the crowd."""
    wanted = held_against(reading, files)
    if wanted == CROWD:
        return None
    if wanted not in (FILE, COLUMN):
        return wanted
    if wanted == FILE and "reference" not in files:
        raise InputError("there is no reference file", hint="Add one, or compare scores with the crowd.")
    same = reading.reference_scale == "same"
    scale: Any = reading.reference_scale
    if same:
        scale = ratings.scale if recoding is None else recoding.old
    try:
        if wanted == COLUMN:
            found = ratings.gold(str(reading.reference_column), scale)
        else:
            found = read_beside(files["reference"], scale, reading.as_dict())
    except ScaleError as error:
        hint = "Give the points of the reference, lowest first."
        raise ScaleError(error.problem, source=error.source, column=error.column, hint=hint) from None
    return found.recode(recoding) if same and recoding is not None else found


def names_of(files: Mapping[str, tuple[str, str]], folder: Path) -> dict[str, str]:
    """Put the files of a study, stored and shown names by role, into a folder under names that messages can quote.

    An owner's file name is kept if it is plain, so that a message names the file that they know.
    """
    found: dict[str, str] = {}
    for role, (stored, name) in files.items():
        # A plain name can only be read as a file name.
        fine = all(c.isalnum() or c in " ._()+-" for c in name) and name[:1].isalnum() and len(name.encode()) < 200
        fine = fine and "::" not in name and name not in found.values()
        plain = name if fine else f"{role}{''.join(Path(stored).suffixes)}"
        target = folder / plain
        found[role] = plain
        try:
            os.symlink(stored, target)
        except (OSError, NotImplementedError):  # Windows asks for a right to do so
            if os.path.isdir(stored):
                found[role] = stored
            else:
                shutil.copyfile(stored, target)
    return found
