"""``read_ratings``: a file, a query or a stream becomes Ratings."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from plurivox.arguments import FilePath, FilePaths, Frame, checked
from plurivox.errors import FileError, InputError, ScoreError, no_column
from plurivox.intake import lewidi
from plurivox.intake import parquet as store
from plurivox.intake.attributes import AttributeTable, where
from plurivox.intake.check import LongTable, check
from plurivox.intake.code import as_numbers, as_text
from plurivox.intake.footer import unpacked_size
from plurivox.intake.opening import Format, Opened, open_source, printable
from plurivox.intake.order import Duplicates
from plurivox.intake.panics import without_panics
from plurivox.intake.points import GivenPoints, prepare, with_joined
from plurivox.intake.raw import RawTable, refuse_cells, refuse_columns
from plurivox.intake.recognise import Recognised, recognise
from plurivox.intake.roles import Layout, id_column
from plurivox.intake.text import read_delimited, read_json_lines
from plurivox.predictions import Predictions
from plurivox.ratings import Ratings, from_points, pick, require_apart, require_columns, to_polars
from plurivox.recoding import GivenRecoding
from plurivox.scale import GivenPoles, Label, Scale
from plurivox.scale_files import GivenScale
from plurivox.scale_files import as_scale as as_scale

Source = FilePath
MAX_WHOLE, WHOLE_PER_BYTE = 1 << 28, 100
"""What has to be in memory at once may have so many bytes unpacked, or so many times its size."""
_CHUNK = 1 << 22
MAX_COUNT = 2.0**53  # whole numbers up to here are exact
_RATER, _SCORE, _COUNT = "\0rater", "\0score", "\0count"  # what no column is called


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
    layout: Layout | None = None,
    format: Format | None = None,  # noqa: A002
    encoding: str = "utf-8",
    connection: Any = None,
) -> Ratings:
    """Read ratings from a file, from standard input (``"-"``) or from a database.

    Parameters
    ----------
    source
        A CSV, TSV, JSON lines or Parquet file, plain or compressed with gzip or zstd; or an SQL query if a
        ``connection`` is given.
    item, rater, score
        The columns that hold them; obvious names are recognised. ``item="a,b"`` makes ids of two columns.
    point_columns
        Columns in place of ``score``, one for each point: ``"severity.*"``, where the star is the point, or a list in
        the order of the scale. A 1 marks the point that was given (one-hot); with ``layout="totals"`` they hold counts.
        With ``{rater}`` in the name each rater has columns of their own.
    scale
        A :class:`Scale`, its points in order, text such as ``"0:4"`` or ``"No,Unsure,Yes"``, or a TOML file.
        Whole-number scores may leave it out and then span the lowest to the highest seen.
    poles
        What the lowest and the highest end of the scale mean, by which sentences speak: ``("safe", "unsafe")``.
    missing
        Answers besides blank, NA, NaN and null that mean "no rating".
    recode, unsafe_from
        Other points made of those of the scale, as :meth:`Ratings.recode` makes them: ``"0-2=no,3-4=yes"``, or the
        lowest point that counts as unsafe. ``poles`` are then those of the new scale.
    duplicates
        What to do when a rater rated an item twice: ``"error"``, ``"first"``, ``"last"``, ``"mode"``, or ``"keep"``,
        which analyses the first rating and keeps the others beside it.
    time
        The column with when each rating was given: numbers of occasions or batches, or ISO dates.
    raters, items
        Files or frames with one row per rater or item.
    rater_attributes, item_attributes
        Columns of the ratings themselves that describe raters or items.
    layout
        ``"long"`` (one row per rating), ``"wide"`` (one column per rater) or ``"totals"`` (one column per point,
        holding counts); recognised where that is safe.
    format, encoding
        What the file is, if its name does not tell, and the encoding of its text.
    connection
        A DBAPI or ADBC connection, or anything else that polars reads a query from.

    Returns
    -------
    Ratings
        With ``intake`` telling what was recognised, missing, repeated or unknown.

    Raises
    ------
    InputError
        With file, column, rows and what to do.
    """
    known, missing = as_scale(scale), tuple(missing)
    attributes = (*rater_attributes, *item_attributes)
    beside = attributes if time is None else (*attributes, time)
    with _raw_table(source, format, encoding, connection, ratings=True) as table:
        if isinstance(table, Ratings):
            return _as_asked(_stored(table, raters, items), recode, unsafe_from, poles)
        require_columns(table.columns, beside, table.name)
        roles = {"item": item, "rater": rater, "score": score}
        of_raters = (*rater_attributes, *beside[len(attributes) :])
        table, known, rater, score, layout = prepare(
            table, point_columns, known, roles=roles, layout=layout, attributes=beside, of_raters=of_raters
        )
        require_apart(attributes, table.name, timed=time is not None)
        head = table.first().head(1000)
        given = {"item": item, "rater": rater, "score": score}
        found = recognise(
            table.columns,
            head,
            table.name,
            given=given,
            layout=layout,
            scale=known,
            attributes=beside,
            missing=missing,
        )
        if found.layout != "long" and rater_attributes:
            raise InputError(
                f"a {found.layout} table has no columns that describe raters",
                source=table.name,
                hint="Give them in a table of their own with --raters; if rows are respondents and columns questions, "
                "make one row for each respondent and question first.",
            )
        if found.layout != "long" and time is not None:
            raise InputError(
                f"a {found.layout} table has no column of times", source=table.name, column=time,
                hint="Give a long table, with one row for each rating and its time.",
            )  # fmt: skip
        known = known or _scale_of_totals(found)
        found = replace(found, time=time)
        long = _LAYOUTS[found.layout](table, found, tuple(rater_attributes), tuple(item_attributes))
        rater_table = attribute_table(raters, "rater", found.rater or "rater", encoding)
        item_table = attribute_table(items, "item", found.item, encoding)
        checked = check(long, known, missing=missing, duplicates=duplicates, raters=rater_table, items=item_table)
    return _as_asked(from_points(Ratings.from_checked(checked), point_columns), recode, unsafe_from, poles)


def _as_asked(
    found: Ratings, recode: GivenRecoding | None, unsafe_from: Label | None, poles: GivenPoles | None
) -> Ratings:
    """Return ratings recoded, and with names of the ends of the scale, if that is asked."""
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
        the point that this rater is thought to give; or a submission to LeWiDi 2025. Several files have models of
        different names.
    scale
        A :class:`Scale`, its points in order, or text such as ``"1:5"``.
    item, model
        The columns that hold them; obvious names are recognised. In a table without a column ``model``, all rows are of
        one model, called like the file.
    like
        Ratings: a column that is called like theirs of items holds the items, if there is one. A submission that
        predicts single raters does not name them, and lists them in the order of the ratings' raters.
    format, encoding
        What the file is, if its name does not tell, and the encoding of its text.

    Raises
    ------
    InputError
        With file, column, rows and what to do.
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
    """Return the name of a file without what tells its format."""
    name = "" if source == "-" else Path(printable(source)).name
    for ending in (".gz", ".zst", ".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".parquet"):
        name = name.removesuffix(ending)
    return name.strip() or "model"


def read_table(source: Source, *, format: Format | None = None, encoding: str = "utf-8") -> RawTable:  # noqa: A002
    """Read a whole file as a frame, for attribute tables."""
    with _raw_table(source, format, encoding, None) as table:
        if isinstance(table, Ratings):
            raise FileError("it holds ratings that plurivox stored, not a table", source=os.fspath(source))
        frame = table.frame()
        return RawTable(table.name, table.columns, iter([frame]), text=table.text, locate=table.locate)


@contextmanager
def _raw_table(
    source: Source, kind: Format | None, encoding: str, connection: Any, *, ratings: bool = False
) -> Iterator[RawTable | Ratings]:
    if connection is not None:
        yield RawTable.from_frame(_query(os.fspath(source), connection), "query")
        return
    with open_source(source, kind) as opened:
        if opened.format == "parquet":
            yield _parquet(opened)
        elif opened.format == "jsonl" and lewidi.is_named(source):
            yield lewidi.table(_whole(opened), opened, encoding, ratings=ratings)
        elif opened.format == "jsonl":
            yield read_json_lines(opened, encoding=encoding)
        else:
            delimiter = "\t" if opened.format == "tsv" else None
            yield read_delimited(opened, delimiter=delimiter, encoding=encoding)


def _query(query: str, connection: Any) -> pl.DataFrame:
    try:
        return pl.read_database(query, connection, infer_schema_length=None)
    except Exception as error:  # each database has exceptions of its own
        raise InputError(f"the query failed ({error})", source="query", hint="Check it in the database.") from error


def _parquet(opened: Opened) -> RawTable | Ratings:
    # Polars maps a plain file into memory; what is packed or piped is read whole.
    data: Any = opened.path or _whole(opened)
    try:
        with without_panics():
            _refuse_large(data, opened)
            if (described := store.description(data)) is not None:
                return store.restore(data, described, opened.name)
            return RawTable.from_frame(pl.read_parquet(data, glob=False), opened.name)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        first = str(error).split("\n", 1)[0]
        raise FileError(
            f"the Parquet data is damaged or cut off ({first})",
            source=opened.name,
            hint="Fetch or write the file again.",
        ) from None


def _whole(opened: Opened) -> bytes:
    """Read a file that has to be in memory at once."""
    data = bytearray()
    while chunk := opened.stream.read(_CHUNK):
        data += chunk
        _refuse_unpacked(len(data), opened)
    return bytes(data)


def _refuse_unpacked(n_bytes: int, opened: Opened) -> None:
    if n_bytes > max(MAX_WHOLE, WHOLE_PER_BYTE * opened.size()):
        raise FileError(
            f"its {opened.size():,} bytes unpack to {n_bytes >> 20:,} MiB or more, too much to be a table of ratings",
            source=opened.name,
            hint="Check what is in it; if it is right, give it as plain CSV.",
        )


def _refuse_large(data: Any, opened: Opened) -> None:
    """Raise if a Parquet file has too many columns, or far more in it than its size can tell apart."""
    source = io.BytesIO(data) if isinstance(data, bytes) else data
    table = pl.scan_parquet(source, glob=False)
    columns = table.collect_schema()
    if not columns:
        raise FileError("it has no columns", source=opened.name, hint="It needs columns of items, raters and scores.")
    refuse_columns(len(columns), opened.name)
    rows = table.select(pl.len()).collect().item()
    refuse_cells(rows * len(columns), opened.size(), opened.name)
    with io.BytesIO(data) if isinstance(data, bytes) else open(data, "rb") as stream:
        _refuse_unpacked(unpacked_size(stream) or 0, opened)


def _stored(ratings: Ratings, raters: Any, items: Any) -> Ratings:
    if raters is not None or items is not None:
        raise InputError(
            "ratings stored by plurivox carry their attributes with them",
            source=ratings.intake.source,
            hint="Leave --raters and --items out, or read the original table.",
        )
    return ratings


def attribute_table(given: Any, role: Literal["item", "rater"], wanted: str, encoding: str) -> AttributeTable | None:
    """Return a table of items or raters from a file or a frame, None from nothing."""
    if given is None:
        return None
    if isinstance(given, str | os.PathLike):
        table = with_joined(read_table(given, encoding=encoding), wanted)
        frame, name, locate = table.frame(), table.name, table.locate
        if not frame.height:
            raise FileError("there is only a header", source=name, hint=f"It needs one row per {role}.")
        return AttributeTable(frame, id_column(frame.columns, role, wanted, name), name, locate)
    frame = to_polars(given)
    name = f"{role}s frame"
    return AttributeTable(frame, id_column(frame.columns, role, wanted, name), name)


def _scale_of_totals(found: Recognised) -> Scale | None:
    return Scale.parse(",".join(found.values)) if found.layout == "totals" else None


def _long(
    table: RawTable, found: Recognised, rater_attributes: tuple[str, ...], item_attributes: tuple[str, ...]
) -> LongTable:
    assert found.rater is not None
    assert found.score is not None
    names = {"item": found.item, "rater": found.rater, "score": found.score}
    if found.time is not None:
        names["time"] = found.time
    pieces = table.bounded(pick(piece, names, [*rater_attributes, *item_attributes]) for piece in table.pieces)
    return LongTable(table.name, pieces, names, "long", table.text, table.locate, rater_attributes, item_attributes)


def _wide(
    table: RawTable, found: Recognised, rater_attributes: tuple[str, ...], item_attributes: tuple[str, ...]
) -> LongTable:
    frame = _alike(table.frame(), found.values)
    ids = as_text(frame[found.item])
    twice = ids.is_duplicated()
    if twice.any():
        raise InputError(
            f"a wide table has one row per item, but {ids.filter(twice)[0]!r} has more than one",
            column=found.item,
            **where(table.name, table.locate, twice),
            hint="Give one row per item, or a long table with one row per rating.",
        )
    n_rows = frame.height
    long = frame.unpivot(
        on=list(found.values), index=[found.item, *item_attributes], variable_name=_RATER, value_name=_SCORE
    ).rename({found.item: "item", _RATER: "rater", _SCORE: "score"})

    places = [table.columns.index(name) + 1 for name in found.values]  # their names are the ids of raters

    def locate(position: int) -> str:
        column, row = divmod(position, n_rows)
        return f"{table.locate(row)}, column {places[column]}"

    names = {"item": found.item, "rater": "one column each", "score": "their cells"}
    return LongTable(table.name, [long], names, "wide", table.text, locate, item_attributes=item_attributes)


def _totals(
    table: RawTable, found: Recognised, rater_attributes: tuple[str, ...], item_attributes: tuple[str, ...]
) -> LongTable:
    frame = table.frame()
    frame = frame.with_columns([_whole_counts(frame[column], table) for column in found.values])
    n_rows = frame.height
    total = sum(float(frame[column].cast(pl.Float64).sum()) for column in found.values)
    if total > MAX_COUNT:
        raise ScoreError(f"the counts add up to {total:.3g}, which no study has", source=table.name, hint="Check them.")
    long = frame.unpivot(
        on=list(found.values), index=[found.item, *item_attributes], variable_name=_SCORE, value_name=_COUNT
    ).rename({found.item: "item", _SCORE: "score", _COUNT: "count"})
    names = {"item": found.item, "score": f"{found.values[0]} … {found.values[-1]}"}

    def locate(position: int) -> str:
        return table.locate(position % n_rows)

    return LongTable(table.name, [long], names, "totals", table.text, locate, item_attributes=item_attributes)


def _alike(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return the frame with columns of one type, text where they had several that numbers do not cover."""
    kinds = {frame[name].dtype for name in columns}
    if len(kinds) == 1 or all(kind.is_numeric() or kind == pl.Null for kind in kinds):
        return frame
    return frame.with_columns(as_text(frame[name]) for name in columns)


_LAYOUTS = {"long": _long, "wide": _wide, "totals": _totals}


def _whole_counts(column: pl.Series, table: RawTable) -> pl.Series:
    numbers = as_numbers(column).fill_nan(None)
    bad = numbers.is_null() | (numbers < 0) | (numbers != numbers.round()) | (numbers > MAX_COUNT)
    if bad.any():
        raise ScoreError(
            f"{as_text(column).filter(bad)[0]!r} is not a count",
            column=column.name,
            **where(table.name, table.locate, bad),
            hint="Totals hold whole numbers from 0 up; describe other columns with --item-attributes.",
        )
    return numbers.cast(pl.Int64)
