"""How the files of a study are read: a settings record, and the same as keywords, as options and as plurivox.toml."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from plurivox.base.errors import ColumnError, InputError, ScaleError
from plurivox.base.settings import Frozen, Settings, record, setting
from plurivox.domain.attributes import CONFLICTS
from plurivox.domain.panel import PopulationShares
from plurivox.domain.part import RULES
from plurivox.domain.ratings import Ratings
from plurivox.domain.recoding import Recoding
from plurivox.read.formats import FORMATS
from plurivox.read.formats.record import CHOICES
from plurivox.workbench.records import of_role

LAYOUTS = ("long", "wide", "totals")
CROWD, FILE, COLUMN = "crowd", "file", "column"
POPULATION = "population"
OPTIONS_OF_FILES = ("raters", "items")
Asked = TypeVar("Asked", bound=Settings)


def _edges(given: Any) -> Frozen:
    """Return where the intervals of each attribute start."""
    found = record.mapping(given or {})
    pairs = []
    for name, edges in found.items():
        numbers = tuple(float(edge) for edge in (edges if isinstance(edges, tuple) else (edges,)))
        if not numbers or any(edge != edge or abs(edge) == float("inf") for edge in numbers):
            raise ValueError(f"Give where the intervals of {name} start: 18, 30, 45.")
        pairs.append((name, numbers))
    return Frozen(pairs)


def _conditions(given: Any) -> tuple[tuple[str, str, str], ...]:
    """Return the conditions: raters or items, an attribute, and the value it must have."""
    found = tuple((str(whose), str(name), str(value)) for whose, name, value in given or ())
    if not all(whose in ("raters", "items") and name.strip() and value for whose, name, value in found):
        raise ValueError("Give raters or items, an attribute, and the value to keep.")
    return found


def _optional(help: str, option: str | None = None, **known: Any) -> Any:  # noqa: A002
    return setting(None, help, option=option, **known)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadingSettings(Settings):
    """How the files of a study are read; what is not set is recognised, and shown for checking."""

    item: str | None = _optional("Column with the item, or several that together form its id: a,b.")
    rater: str | None = _optional("Column with the rater.")
    score: str | None = _optional("Column with the score.")
    point_columns: str | None = _optional(
        "Columns instead of a score, one for each point: severity.*; a 1 marks the chosen point.", "--one-hot"
    )
    scale: str | None = _optional("The points, lowest first: 0:4, No,Unsure,Yes or the name of a known scale.")
    poles: str | None = _optional("What the two ends of the scale mean, lowest first: safe,unsafe.")
    missing: tuple[str, ...] = setting(
        (),
        "Answers that mean no rating, in addition to blank, NA, NaN and null.",
        canonical=record.names,
        repeated=True,
    )
    recode: str | None = _optional("Combine points or ranges of the scale into new points: 0-2=no,3-4=yes.")
    unsafe_from: str | None = _optional("Split the scale into two points: below this one, and from it upwards.")
    duplicates: str = setting("error", "If a rater rated an item twice.", choices=RULES)
    layout: str | None = _optional("What a row is: a rating (long), an item with a column per rater (wide) or per "
                                   "point (totals).", choices=LAYOUTS)  # fmt: skip
    table: str | None = _optional("The sheet of a workbook, the table of a database, or the file in an archive.")
    rater_attributes: tuple[str, ...] = setting(
        (), "Columns of the ratings that describe raters.", canonical=record.names
    )
    item_attributes: tuple[str, ...] = setting(
        (), "Columns of the ratings that describe items.", canonical=record.names
    )
    bins: Frozen = setting(
        Frozen(), "Where the intervals of a numeric attribute start.", option="--bin", canonical=_edges,
        repeated=True,
    )  # fmt: skip
    several: Frozen = setting(
        Frozen(), "The separator of an attribute of which a rater may have several values.", repeated=True,
        canonical=lambda given: record.mapping(given or {}),
    )  # fmt: skip
    where: tuple[tuple[str, str, str], ...] = setting(
        (), "Keep only raters or items with this value.", canonical=_conditions, repeated=True
    )
    conflicts: str = setting("missing", "If a rater or an item has several values of an attribute.", choices=CONFLICTS)
    trim: float | None = _optional(
        "With a population: limit each rater's weight to this many times the mean; 5 by default.", least=1
    )
    time: str | None = _optional("Column with the time of each rating.")
    questions: str | None = _optional("Columns that are questions, if each row is a respondent: Q1:Q20, Q1,Q3 or Q*.")
    rejected: str | None = _optional("What to do with rejected answers.", choices=CHOICES)
    unfinished: str | None = _optional("What to do with answers of people who did not finish.", choices=CHOICES)
    format: str | None = _optional("Format of the file, if it is not recognised correctly.", choices=FORMATS)
    encoding: str | None = _optional("Encoding of the text, if not UTF-8.")
    in_memory: bool = setting(
        False, "Read a packed study into memory, for analyses that need all ratings at once.", cli=True
    )
    reference: str | None = _optional(
        "What scores are compared with: the other raters (crowd), the file, or a group: gender=Woman."
    )
    reference_column: str | None = _optional(
        "What scores are compared with instead: a column of the items with the reference for each."
    )
    reference_scale: str | None = _optional("Points of the reference: safe,unsafe; same: those of the ratings.")


def source_of(reading: ReadingSettings, files: Mapping[str, str]) -> str:
    """Return what the ratings are read from."""
    return f"{files['ratings']}::{reading.table}" if reading.table else files["ratings"]


def keywords_of(reading: ReadingSettings, files: Mapping[str, str], raked: Sequence[str] = ()) -> dict[str, Any]:
    """Return the keywords of :func:`plurivox.read_ratings` that are set; ``raked`` are the population's attributes."""
    asked: dict[str, Any] = {
        name: getattr(reading, name)
        for name in (
            "item", "rater", "score", "point_columns", "scale", "poles", "missing", "duplicates", "layout",
            "rater_attributes", "item_attributes", "conflicts", "time", "questions", "rejected", "unfinished", "format",
            "encoding",
        )
    }  # fmt: skip
    asked |= {role: files[role] for role in OPTIONS_OF_FILES if role in files}
    asked["by"] = list(dict.fromkeys((*reading.bins, *reading.several, *raked)))
    usual = ReadingSettings()
    return {name: value for name, value in asked.items() if value and value != getattr(usual, name, None)}


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

    With a population, the columns of the ratings that it names are treated as rater attributes; see :func:`weighted`.
    """
    from plurivox.read.read import read_ratings

    if "ratings" not in files:
        raise InputError("there are no ratings", hint="Add the file with the ratings.")
    raked = () if population is None else population.attributes
    ratings = read_ratings(source_of(reading, files), **keywords_of(reading, files, raked))
    ratings = ratings.in_memory() if reading.in_memory else ratings
    recoding = None
    if reading.recode or reading.unsafe_from:
        recoding = Recoding.of(ratings.scale, reading.recode, reading.unsafe_from)
        ratings = ratings.recode(recoding).with_poles(reading.poles)
    for name, edges in reading.bins.items():
        ratings = ratings.with_bins(name, edges)
    return (ratings.where(**kept(reading)) if reading.where else ratings), recoding


def population_of(reading: ReadingSettings, files: Mapping[str, str]) -> PopulationShares | None:
    """Read the shares of the population, None if there is no file with them."""
    from plurivox.read.population import read_population

    if POPULATION not in files:
        return None
    return read_population(files[POPULATION], encoding=reading.encoding or "utf-8")


def weighted(reading: ReadingSettings, ratings: Ratings, population: PopulationShares | None) -> Ratings:
    """Return the ratings with raters weighted to the population, unchanged without one."""
    return ratings if population is None else ratings.weighted(population, **weighting(reading))


def weighting(reading: ReadingSettings) -> dict[str, float]:
    """Return the keywords of :meth:`plurivox.Ratings.weighted` that are set."""
    return {} if reading.trim is None else {"trim": reading.trim}


def kept(reading: ReadingSettings) -> dict[str, dict[str, list[str]]]:
    """Return which raters and items are kept, as :meth:`plurivox.Ratings.where` expects it."""
    wanted: dict[str, dict[str, list[str]]] = {}
    for whose, name, value in reading.where:
        wanted.setdefault(whose, {}).setdefault(name, []).append(value)
    return wanted


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
    rule: Any = reading.conflicts
    return described(found, files.get("items"), ratings, rule, reading.encoding or "utf-8")


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
            found = _other_ratings(reading, files["reference"], scale)
    except ScaleError as error:
        hint = "Give the points of the reference, lowest first."
        raise ScaleError(error.problem, source=error.source, column=error.column, hint=hint) from None
    return found.recode(recoding) if same and recoding is not None else found


def _other_ratings(reading: ReadingSettings, file: str, scale: Any) -> Ratings:
    """Read other ratings, whose columns have obvious names or the same names as those of the ratings."""
    from plurivox.read.read import read_ratings

    try:
        return read_ratings(file, scale=scale)
    except ColumnError:
        named = {role: getattr(reading, role) for role in ("item", "rater", "score", "point_columns")}
        return read_ratings(file, scale=scale, **named)


def names_of(files: Mapping[str, tuple[str, str]], folder: Path) -> dict[str, str]:
    """Put the files of a study, stored and shown names by role, into a folder under names that messages can quote.

    An owner's file name is kept if it is plain, so that a message names the file that they know.
    """
    found: dict[str, str] = {}
    for role, (stored, shown) in files.items():
        plain = shown if _is_plain(shown) and shown not in found.values() else f"{role}{''.join(Path(stored).suffixes)}"
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


def _is_plain(name: str) -> bool:
    """Return whether a name can only be read as a file name."""
    fine = all(c.isalnum() or c in " ._()+-" for c in name)
    return fine and name[:1].isalnum() and len(name.encode()) < 200 and "::" not in name


def shown_names(files: Mapping[str, Any]) -> dict[str, str]:
    """Return what owners call the files of a study, by role."""
    return {role: one.shown for role, one in files.items()}
