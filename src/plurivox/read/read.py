"""``read_ratings``: a file, a query or a stream becomes Ratings."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from plurivox.base.arguments import (
    FilePath,
    FilePaths,
    Frame,
    become_public,
    check_given,
    checked,
    docs_of,
    kinds_of,
    signature_of,
)
from plurivox.base.errors import ColumnError, InputError, ScaleError, no_column
from plurivox.domain.attributes import AttributeRules, AttributeTable, columns_of_raters
from plurivox.domain.check import check, no_rows
from plurivox.domain.choices import Conflicts, Duplicates, Layout
from plurivox.domain.points import GivenPoints, point_columns_text, prepare, with_joined
from plurivox.domain.predictions import Predictions
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import ROLES, RawTable, by_name, id_column, require_apart, require_columns
from plurivox.domain.recoding import GivenRecoding, Recoding
from plurivox.domain.scale import GivenPoles, Label, Scale
from plurivox.domain.scale_files import GivenScale, as_scale
from plurivox.read.formats import Taken, kind_of, lewidi, ratings_of
from plurivox.read.formats.crowds import without_waiting
from plurivox.read.formats.record import HEAD
from plurivox.read.formats.sheets import SURVEY
from plurivox.read.opening import printable, split_name
from plurivox.read.recognise import LAYOUTS, Recognised, recognise, scale_of_totals
from plurivox.read.settings import LATER, Choice, Format, ReadSettings
from plurivox.read.tables import attribute_table, if_file, names_in, open_table, read_table, telling

_KINDS = (Choice, Conflicts, Duplicates, Format, Frame, GivenPoints, GivenPoles, GivenRecoding, GivenScale, Iterable,
          Label, Layout, Sequence, FilePath)  # fmt: skip
"""What the annotations of settings name, by which keywords are checked."""
_OF_EXPORTS = ("questions", "rejected", "unfinished")
"""Settings that only exports need, which ratings therefore remember."""


def from_settings(settings: type[ReadSettings]) -> Callable[[Callable[..., Ratings]], Callable[..., Ratings]]:
    """Turn a function that is told how to read by a record into a public one with a keyword per setting of tables."""
    specs = {name: spec for name, spec in settings.specs().items() if spec.stage != LATER}

    def decorate(run: Callable[..., Ratings]) -> Callable[..., Ratings]:
        signature = signature_of(run, settings, specs)

        @functools.wraps(run)
        def public(*args: Any, **given: Any) -> Ratings:
            try:
                values = signature.bind(*args, **given).arguments
            except TypeError as error:
                raise TypeError(f"{run.__name__}() {error}") from None
            check_given(values, kinds_of(public))
            asked = {name: values.pop(name) for name in specs if name in values}
            return run(**values, settings=settings(**asked))

        become_public(public, run, signature, docs_of(specs))
        public.settings = settings  # type: ignore[attr-defined]
        return public

    return decorate


@from_settings(ReadSettings)
def read_ratings(source: FilePath, *, connection: Any = None, settings: ReadSettings) -> Ratings:
    """Read ratings from a file, a folder, standard input (``"-"``) or a database.

    Parameters
    ----------
    source
        A file: CSV, TSV, JSON, JSON lines, Parquet, Arrow, Excel, SQLite, DuckDB or ZIP (text may be compressed with
        gzip or zstd); a folder of files with the same columns; or an SQL query if a ``connection`` is given. Exports
        of annotation platforms are recognised. ``"study.xlsx::Ratings"`` names a sheet, a table of a database, or a
        file in an archive.
    connection
        A DBAPI or ADBC connection, or anything else that polars reads a query from.

    Returns
    -------
    Ratings
        Their ``intake`` says what was recognised, missing, repeated or unknown.

    Raises
    ------
    InputError
        Names the file, the column and the rows, and says what to do.
    """
    found = read_table_of_ratings(source, settings, connection=connection)
    if settings.recode is None and settings.unsafe_from is None:
        return found
    return found.recode(settings.recode, unsafe_from=settings.unsafe_from).with_poles(settings.poles)


def read_study(
    source: FilePath,
    reading: ReadSettings,
    raked: Sequence[str] = (),
    *,
    config: str | None = None,
    renamed: bool = True,
) -> tuple[Ratings, Recoding | None]:
    """Read ratings, recode their points, put numbers into intervals and select; also return how points were recoded.

    ``raked`` are the attributes of the population that raters will be weighted to. ``config`` is the file that says how
    points are recoded, if there is one; ``renamed`` says that the poles are those of the recoded scale rather than of
    the one in the files.
    """
    ratings = read_table_of_ratings(source, reading, raked)
    ratings = ratings.in_memory() if reading.in_memory else ratings
    recoding = None
    if reading.recode is not None or reading.unsafe_from is not None:
        try:
            recoding = Recoding.of(ratings.scale, reading.recode, reading.unsafe_from)
        except ScaleError as error:
            raise ScaleError(error.problem, source=config or ratings.intake.source, hint=error.hint) from None
        ratings = ratings.recode(recoding).with_poles(reading.poles if renamed else None)
    for name, bins in reading.bins.items():
        edges, labels = (bins["edges"], bins["labels"]) if isinstance(bins, Mapping) else (bins, None)
        ratings = ratings.with_bins(name, edges, labels)
    return (ratings.where(**reading.kept(ratings)) if reading.where else ratings), recoding


def read_beside(file: FilePath, scale: GivenScale | None, said: Mapping[str, Any]) -> Ratings:
    """Read other ratings, whose columns have obvious names or those that are said of the ratings."""
    try:
        return read_ratings(file, scale=scale)
    except ColumnError:
        named = {role: said.get(role) for role in ("item", "rater", "score", "point_columns")}
        return read_ratings(file, scale=scale, **named)


def read_table_of_ratings(
    source: FilePath, reading: ReadSettings, raked: Sequence[str] = (), *, connection: Any = None,
    code: Callable[..., Ratings] = lambda *table, **given: Ratings(**check(*table, **given)),
) -> Ratings:  # fmt: skip
    """Read a table of ratings as it is, before recoding; ``code`` turns the table into ratings."""
    known, by = as_scale(reading.scale), (*reading.attributes(), *raked)
    columns = _Columns(
        reading.item, reading.rater, reading.score, reading.time, reading.rater_attributes, reading.item_attributes
    )
    layout, point_columns, encoding, raters = reading.layout, reading.point_columns, reading.encoding, reading.raters
    with open_table(source, kind_of(reading.format), encoding, connection) as table:
        if isinstance(table, Ratings):
            return _stored(table, reading)
        table.pieces = (piece for piece in table.pieces if piece.height)
        if not table.first().height:
            raise no_rows(table.columns, table.name)
        remarks = list(table.remarks)
        with telling(remarks):
            asked = replace(reading, scale=known)
            taken = None if layout or point_columns is not None else ratings_of(table, reading.format, asked)
        _refuse_questions(reading.questions, taken, table.name)
        if taken is not None:
            columns, table = columns.of_export(taken), taken.export.table
        table = table.plain(columns.used)
        if by:
            raters = if_file(raters, "rater", encoding)
            columns = columns.with_groups(by, table.columns, names_in(raters))
        with telling(remarks):
            found, table, known = columns.found(table, point_columns, layout, known, reading.missing)
        platform = None if taken is None else taken.platform.name
        rater_table = attribute_table(raters, "rater", found.rater or "rater", encoding, platform)
        item_table = attribute_table(reading.items, "item", found.item, encoding, platform)
        columns = columns.giving_way(rater_table, item_table)
        long = LAYOUTS[found.layout](table, found, columns.rater_attributes, columns.item_attributes)
        ratings = code(
            replace(long, offered=columns.offered), known, missing=reading.missing, duplicates=reading.duplicates,
            raters=rater_table, items=item_table, rules=AttributeRules(reading.conflicts, reading.unknown),
        )  # fmt: skip
    remarks += [one for beside in (rater_table, item_table) if beside is not None for one in beside.remarks]
    ratings = _told(ratings, taken, reading, remarks)
    ratings = without_waiting(ratings, reading, rater_table.source if rater_table else "raters")
    return ratings.with_poles(reading.poles)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Which columns of a table hold what, as far as known; ``offered`` are attributes that nobody named."""

    item: str | None
    rater: str | None
    score: str | None
    time: str | None
    rater_attributes: tuple[str, ...]
    item_attributes: tuple[str, ...]
    offered: frozenset[str] = frozenset()

    @property
    def used(self) -> tuple[str | None, ...]:
        """All columns that have a role."""
        return (self.item, self.rater, self.score, self.time, *self.rater_attributes, *self.item_attributes)

    def of_export(self, taken: Taken) -> _Columns:
        """Return the columns of an export, unless others were named, and all it says about items and raters."""
        export = taken.export
        known = replace(
            self, item=self.item or export.item, rater=self.rater or export.rater,
            score=self.score or export.question(taken.platform),
        )  # fmt: skip
        others = {"time", *ROLES, *known.used}
        items = tuple(name for name in export.item_attributes if name.strip() and name not in others)
        raters = tuple(name for name in export.rater_attributes if name.strip() and name not in {*others, *items})
        return replace(
            known, item_attributes=(*self.item_attributes, *items),
            rater_attributes=(*self.rater_attributes, *raters), offered=frozenset((*items, *raters)),
        )  # fmt: skip

    def with_groups(self, by: Sequence[str], columns: Sequence[str], of_raters: Sequence[str]) -> _Columns:
        """Add the columns from which groups will be made, if the table of raters does not have them."""
        taken = (*self.used, by_name(columns, "rater") if self.rater is None else None)
        found = columns_of_raters(by, columns, of_raters, taken)
        return replace(self, rater_attributes=(*self.rater_attributes, *found))

    def found(
        self, table: RawTable, point_columns: GivenPoints | None, layout: Layout | None, scale: Scale | None,
        missing: Sequence[Label],
    ) -> tuple[Recognised, RawTable, Scale | None]:  # fmt: skip
        """Recognise the columns that are not yet known, and return the table and the scale to read."""
        attributes = (*self.rater_attributes, *self.item_attributes)
        times = () if self.time is None else (self.time,)
        require_columns(table.columns, (*attributes, *times), table.name)
        roles = {"item": self.item, "rater": self.rater, "score": self.score}
        table, scale, roles["rater"], roles["score"], layout = prepare(
            table, point_columns, scale, roles=roles, layout=layout, attributes=(*attributes, *times),
            of_raters=(*self.rater_attributes, *times),
        )  # fmt: skip
        require_apart(attributes, table.name, timed=self.time is not None)
        found = recognise(
            table.columns, table.first().head(HEAD), table.name, given=roles, layout=layout, scale=scale,
            attributes=(*attributes, *times), missing=missing,
        )  # fmt: skip
        _refuse_columns_beside(found, table.name, self.rater_attributes, self.time)
        return replace(found, time=self.time), table, scale or scale_of_totals(found)

    def giving_way(self, raters: AttributeTable | None, items: AttributeTable | None) -> _Columns:
        """Return the columns without those that were only offered and that a separate table also has."""

        def left(found: Sequence[str], table: AttributeTable | None) -> tuple[str, ...]:
            known = () if table is None else table.frame.columns
            return tuple(name for name in found if name not in self.offered or name not in known)

        of_raters, of_items = left(self.rater_attributes, raters), left(self.item_attributes, items)
        return replace(self, rater_attributes=of_raters, item_attributes=of_items)


def _stored(ratings: Ratings, reading: ReadSettings) -> Ratings:
    if reading.raters is not None or reading.items is not None:
        raise InputError(
            "ratings stored by plurivox already contain their attributes", source=ratings.intake.source,
            hint="Leave out --raters and --items, or read the original table.",
        )  # fmt: skip
    return ratings.with_poles(reading.poles)


def _refuse_questions(questions: str | None, taken: Taken | None, source: str) -> None:
    """Raise an error if questions are named although rows are not respondents."""
    if questions is None or (taken is not None and taken.export.layout == SURVEY):
        return
    what = "it is read as a plain table" if taken is None else f"it is {taken.platform.title}"
    raise InputError(
        f"--questions needs a table with one row per respondent, but {what}", source=source,
        hint="Leave out --questions, or use --format survey without --wide, --totals and --one-hot.",
    )  # fmt: skip


def _told(ratings: Ratings, taken: Taken | None, reading: ReadSettings, remarks: Sequence[str]) -> Ratings:
    """Return ratings that record their platform, what was left out, and the options given about it."""
    points = "" if reading.point_columns is None else point_columns_text(reading.point_columns)
    if taken is None:
        told = replace(ratings.intake, remarks=list(dict.fromkeys(remarks)), point_columns=points)
        return ratings.with_known(intake=told)
    tally = taken.export.tally
    used = {*ratings.intake.columns.values(), *ratings.items.columns, *ratings.raters.columns}
    told = replace(
        ratings.intake,
        platform=taken.platform.name,
        layout=taken.export.layout or ratings.intake.layout,
        left_out={what: n for what, n in tally.left_out.items() if n},
        remarks=list(dict.fromkeys([*remarks, *tally.sentences(), *taken.export.no_attributes(used)])),
        said={name: said for name in _OF_EXPORTS if (said := getattr(reading, name)) is not None},
    )
    return ratings.with_known(intake=told)


def _refuse_columns_beside(
    found: Recognised, source: str, rater_attributes: Sequence[str], time: str | None
) -> None:  # fmt: skip
    """Raise an error if columns should describe raters or times in a table whose rows are not ratings."""
    if found.layout != "long" and rater_attributes:
        raise InputError(
            f"a {found.layout} table has no columns that describe raters",
            source=source,
            hint="Give them in a separate table with --raters; if rows are respondents and columns are questions, name "
            "the questions with --questions.",
        )
    if found.layout != "long" and time is not None:
        raise InputError(
            f"a {found.layout} table has no column of times", source=source, column=time,
            hint="Give a long table with one row per rating and its time.",
        )  # fmt: skip


@checked
def read_predictions(
    source: FilePaths,
    scale: GivenScale,
    *,
    item: str | None = None,
    model: str | None = None,
    like: Ratings | None = None,
    format: Format | None = None,  # noqa: A002
    encoding: str = "utf-8",
) -> Predictions:
    """Read predicted rating distributions from files or from standard input (``"-"``).

    Parameters
    ----------
    source
        CSV, TSV, JSON lines or Parquet, plain or compressed: one row per model and item, with a column of
        probabilities for each point of the scale, named like the point; or one row per model, item and rater, with
        the point predicted for this rater; or a submission to LeWiDi 2025. Models in different files must have
        different names.
    scale
        A :class:`Scale`, its points in order, or text such as ``"1:5"``.
    item, model
        The columns that hold them; obvious names are recognised. In a table without a column ``model``, all rows
        belong to one model, named like the file.
    like
        Ratings; if a column has the name of their item column, it holds the items. A submission that predicts
        individual raters does not name them, and lists them in the order of the ratings' raters.
    format, encoding
        The kind of file, if its name does not show it, and the encoding of its text.

    Raises
    ------
    InputError
        Names the file, the column and the rows, and says what to do.
    """
    points = as_scale(scale)
    assert points is not None
    if not isinstance(source, str | os.PathLike):
        return Predictions.together(
            [read_predictions(one, points, item=item, model=model, like=like, format=format, encoding=encoding)
             for one in source]
        )  # fmt: skip
    wanted = "item" if like is None else like.intake.columns.get("item", "item")
    table = with_joined(read_table(source, format=format, encoding=encoding), item or wanted)
    for given in (item, model):
        if given is not None and given not in table.columns:
            raise no_column(given, table.columns, table.name, "Name the columns with item= and model=.")
    if (found := lewidi.predictions(table, points, _name_of(source), like)) is not None:
        return found
    return Predictions.from_frame(
        table.frame(), points, item=item or id_column(table.columns, "item", wanted, table.name),
        model=model or next((name for name in table.columns if name.casefold() == "model"), None),
        name=_name_of(source), source=table.name, locate=table.locate,
    )  # fmt: skip


def _name_of(source: FilePath) -> str:
    """Return the name of a file, or of the part to read, without the endings for its format."""
    file, inside = split_name(source)
    name = "" if source == "-" else Path(printable(inside or file)).name
    for ending in (".gz", ".zst", ".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json", ".parquet", ".xlsx", ".arrow"):
        name = name.removesuffix(ending)
    return name.strip() or "model"
