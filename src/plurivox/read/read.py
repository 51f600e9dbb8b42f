"""``read_ratings``: a file, a query or a stream becomes Ratings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from plurivox.base.arguments import FilePath, FilePaths, Frame, checked
from plurivox.base.errors import InputError, no_column
from plurivox.domain.attributes import UNKNOWN, AttributeRules, AttributeTable, Conflicts, columns_of_raters
from plurivox.domain.check import LongTable, check, no_rows
from plurivox.domain.part import Duplicates
from plurivox.domain.points import GivenPoints, prepare, with_joined
from plurivox.domain.predictions import Predictions
from plurivox.domain.ratings import Ratings, from_points, with_parts
from plurivox.domain.raw import ROLES, Layout, RawTable, by_name, id_column, require_apart, require_columns
from plurivox.domain.recoding import GivenRecoding
from plurivox.domain.scale import GivenPoles, Label, Scale, text_of
from plurivox.domain.scale_files import GivenScale, as_scale
from plurivox.read import lewidi
from plurivox.read.beside import attribute_table, names_in, opened, read_table
from plurivox.read.formats import Format, Taken, kind_of, ratings_of
from plurivox.read.formats.record import Asked, Choice
from plurivox.read.formats.sheets import SURVEY
from plurivox.read.formats.waiting import without_waiting
from plurivox.read.layouts import LAYOUTS, scale_of_totals
from plurivox.read.opening import printable, split_name
from plurivox.read.recognise import Recognised, recognise
from plurivox.read.tables import open_table, telling

Source = FilePath
_HEAD = 1000  # rows by which a table is recognised


@checked
def read_ratings(
    source: Source,
    *,
    item: str | None = None,
    rater: str | None = None,
    score: str | None = None,
    point_columns: GivenPoints | None = None,
    scale: GivenScale | None = None,
    poles: GivenPoles | None = None,
    missing: Iterable[Label] = (),
    recode: GivenRecoding | None = None,
    unsafe_from: Label | None = None,
    duplicates: Duplicates = "error",
    time: str | None = None,
    raters: Source | Frame | None = None,
    items: Source | Frame | None = None,
    rater_attributes: Sequence[str] = (),
    item_attributes: Sequence[str] = (),
    by: Sequence[str] = (),
    conflicts: Conflicts = "missing",
    unknown: Sequence[str] = UNKNOWN,
    layout: Layout | None = None,
    questions: str | None = None,
    rejected: Choice | None = None,
    unfinished: Choice | None = None,
    format: Format | None = None,  # noqa: A002
    encoding: str = "utf-8",
    connection: Any = None,
) -> Ratings:
    """Read ratings from a file, a folder, standard input (``"-"``) or a database.

    Parameters
    ----------
    source
        A file: CSV, TSV, JSON, JSON lines, Parquet, Arrow, Excel, SQLite, DuckDB or ZIP (text may be compressed with
        gzip or zstd); a folder of files with the same columns; or an SQL query if a ``connection`` is given. Exports
        of annotation platforms are recognised. ``"study.xlsx::Ratings"`` names a sheet, a table of a database, or a
        file in an archive.
    item, rater, score
        The columns that hold them; obvious names are recognised. ``item="a,b"`` makes ids from two columns.
    point_columns
        Columns instead of ``score``, one for each point: ``"severity.*"``, where the star is the point, or a list in
        the order of the scale. A 1 marks the point that was given (one-hot); with ``layout="totals"``, they hold
        counts. With ``{rater}`` in the name, each rater has columns of their own.
    scale
        A :class:`Scale`, its points in order, text such as ``"0:4"`` or ``"No,Unsure,Yes"``, or a TOML file.
        It may be left out for whole-number scores; it then runs from the lowest to the highest score seen.
    poles
        What the lowest and the highest end of the scale mean, for use in sentences: ``("safe", "unsafe")``.
    missing
        Answers besides blank, NA, NaN and null that mean "no rating".
    recode, unsafe_from
        New points made from those of the scale, as by :meth:`Ratings.recode`: ``"0-2=no,3-4=yes"``, or the lowest
        point that counts as unsafe. ``poles`` are then those of the new scale.
    duplicates
        What to do when a rater rated an item twice: ``"error"``, ``"first"``, ``"last"``, ``"mode"``, or ``"keep"``,
        which analyses the first rating and keeps the others with it.
    time
        The column that says when each rating was given: numbers of occasions or batches, or ISO dates.
    raters, items
        Files or frames with one row per rater or item.
    rater_attributes, item_attributes
        Columns of the ratings themselves that describe raters or items.
    by
        Attributes from which groups will be made; those that are columns of the ratings and not of ``raters`` are
        read from the ratings.
    conflicts
        What to do if a rater or an item has more than one value of an attribute: ``"missing"`` (it is unknown, with
        a warning), ``"first"`` (the first value counts), or ``"error"``.
    unknown
        Words that say nothing about a rater, such as "Prefer not to say"; an empty list keeps all words as groups.
    layout
        ``"long"`` (one row per rating), ``"wide"`` (one column per rater) or ``"totals"`` (one column per point,
        holding counts); recognised where that is safe.
    questions
        Which columns are questions if each row is a respondent: ``"Q1:Q20"``, ``"Q1,Q3"`` or ``"Q*"``.
    rejected, unfinished
        Whether answers that were rejected, or given by people who did not finish, are kept (``"keep"``) or left out
        (``"drop"``); required if an export holds any.
    format, encoding
        The kind of file or the platform it comes from, if that is not recognised (``"table"`` for neither), and the
        encoding of its text.
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
    return read_with(SimpleNamespace(**locals()), _in_memory)


def _in_memory(table: LongTable, scale: Scale | None, **given: Any) -> Ratings:
    return Ratings.from_checked(check(table, scale, **given))


def read_with(given: SimpleNamespace, code: Callable[..., Ratings]) -> Ratings:
    """Read ratings with the options of :func:`read_ratings`; ``code`` turns the table into ratings."""
    known, missing = as_scale(given.scale), tuple(given.missing)
    columns = _Columns(
        given.item, given.rater, given.score, given.time, tuple(given.rater_attributes), tuple(given.item_attributes)
    )
    asked = Asked(
        item=given.item, rater=given.rater, score=given.score, questions=given.questions, rejected=given.rejected,
        unfinished=given.unfinished, scale=known, missing=frozenset(map(text_of, missing)),
        rater_attributes=columns.rater_attributes, item_attributes=columns.item_attributes,
    )  # fmt: skip
    layout, point_columns, encoding, raters = given.layout, given.point_columns, given.encoding, given.raters
    with open_table(given.source, kind_of(given.format), encoding, given.connection) as table:
        if isinstance(table, Ratings):
            return _as_asked(_stored(table, raters, given.items), given.recode, given.unsafe_from, given.poles)
        table.pieces = (piece for piece in table.pieces if piece.height)
        if not table.first().height:
            raise no_rows(table.columns, table.name)
        remarks = list(table.remarks)
        with telling(remarks):
            taken = None if layout or point_columns is not None else ratings_of(table, given.format, asked)
        _refuse_questions(given.questions, taken, table.name)
        if taken is not None:
            columns, table = columns.of_export(taken), taken.export.table
        table = table.plain(columns.used)
        if len(given.by):
            raters = opened(raters, "rater", encoding)
            columns = columns.with_groups(given.by, table.columns, names_in(raters))
        with telling(remarks):
            found, table, known = columns.found(table, point_columns, layout, known, missing)
        platform = None if taken is None else taken.platform.name
        rater_table = attribute_table(raters, "rater", found.rater or "rater", encoding, platform)
        item_table = attribute_table(given.items, "item", found.item, encoding, platform)
        columns = columns.giving_way(rater_table, item_table)
        long = LAYOUTS[found.layout](table, found, columns.rater_attributes, columns.item_attributes)
        ratings = code(
            replace(long, offered=columns.offered), known, missing=missing, duplicates=given.duplicates,
            raters=rater_table, items=item_table, rules=AttributeRules(given.conflicts, tuple(given.unknown)),
        )  # fmt: skip
    remarks += [one for beside in (rater_table, item_table) if beside is not None for one in beside.remarks]
    ratings = _told(from_points(ratings, point_columns), taken, asked, remarks)
    ratings = without_waiting(ratings, asked, rater_table.source if rater_table else "raters")
    return _as_asked(ratings, given.recode, given.unsafe_from, given.poles)


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
            self,
            item=self.item or export.item,
            rater=self.rater or export.rater,
            score=self.score or export.question(taken.platform),
        )
        others = {"time", *ROLES, *known.used}
        items = tuple(name for name in export.item_attributes if name.strip() and name not in others)
        raters = tuple(name for name in export.rater_attributes if name.strip() and name not in {*others, *items})
        return replace(
            known,
            item_attributes=(*self.item_attributes, *items),
            rater_attributes=(*self.rater_attributes, *raters),
            offered=frozenset((*items, *raters)),
        )

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
            table.columns, table.first().head(_HEAD), table.name, given=roles, layout=layout, scale=scale,
            attributes=(*attributes, *times), missing=missing,
        )  # fmt: skip
        _refuse_columns_beside(found, table.name, self.rater_attributes, self.time)
        return replace(found, time=self.time), table, scale or scale_of_totals(found)

    def giving_way(self, raters: AttributeTable | None, items: AttributeTable | None) -> _Columns:
        """Return the columns without those that were only offered and that a separate table also has."""

        def left(found: Sequence[str], table: AttributeTable | None) -> tuple[str, ...]:
            known = () if table is None else table.frame.columns
            return tuple(name for name in found if name not in self.offered or name not in known)

        return replace(
            self,
            rater_attributes=left(self.rater_attributes, raters),
            item_attributes=left(self.item_attributes, items),
        )


def _refuse_questions(questions: str | None, taken: Taken | None, source: str) -> None:
    """Raise an error if questions are named although rows are not respondents."""
    if questions is None or (taken is not None and taken.export.layout == SURVEY):
        return
    what = "it is read as a plain table" if taken is None else f"it is {taken.platform.title}"
    raise InputError(
        f"--questions needs a table with one row per respondent, but {what}", source=source,
        hint="Leave out --questions, or use --format survey without --wide, --totals and --one-hot.",
    )  # fmt: skip


def _told(ratings: Ratings, taken: Taken | None, asked: Asked, remarks: Sequence[str]) -> Ratings:
    """Return ratings that record their platform, what was left out, and the options given about it."""
    if taken is None:
        return with_parts(ratings, intake=replace(ratings.intake, remarks=list(dict.fromkeys(remarks))))
    tally = taken.export.tally
    used = {*ratings.intake.columns.values(), *ratings.items.columns, *ratings.raters.columns}
    told = replace(
        ratings.intake,
        platform=taken.platform.name,
        layout=taken.export.layout or ratings.intake.layout,
        left_out={what: n for what, n in tally.left_out.items() if n},
        remarks=list(dict.fromkeys([*remarks, *tally.sentences(), *taken.export.no_attributes(used)])),
        said=asked.said(),
    )
    return with_parts(ratings, intake=told)


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


def _as_asked(
    found: Ratings, recode: GivenRecoding | None, unsafe_from: Label | None, poles: GivenPoles | None
) -> Ratings:
    """Recode the ratings and name the ends of the scale, if requested."""
    found = found.with_poles(poles)
    if recode is None and unsafe_from is None:
        return found
    return found.recode(recode, unsafe_from=unsafe_from).with_poles(poles)


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
        table.frame(),
        points,
        item=item or id_column(table.columns, "item", wanted, table.name),
        model=model or next((name for name in table.columns if name.casefold() == "model"), None),
        name=_name_of(source),
        source=table.name,
        locate=table.locate,
    )


def _name_of(source: Source) -> str:
    """Return the name of a file, or of the part to read, without the endings for its format."""
    file, inside = split_name(source)
    name = "" if source == "-" else Path(printable(inside or file)).name
    for ending in (".gz", ".zst", ".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json", ".parquet", ".xlsx", ".arrow"):
        name = name.removesuffix(ending)
    return name.strip() or "model"


def _stored(ratings: Ratings, raters: Any, items: Any) -> Ratings:
    if raters is not None or items is not None:
        raise InputError(
            "ratings stored by plurivox already contain their attributes",
            source=ratings.intake.source,
            hint="Leave out --raters and --items, or read the original table.",
        )
    return ratings
