"""doccano: one file of JSON lines per user, in a ZIP or in a folder; the rater is the name of the file.

A project whose annotations are shared is exported as one file, ``all.jsonl``, which does not say who annotated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from plurivox.base.errors import IdError
from plurivox.domain.raw import MEMBER, RawTable
from plurivox.read.formats.record import Export, Platform
from plurivox.read.formats.unfolding import Record, Row, Unfolded, list_in, one_of, texts_of
from plurivox.read.settings import ReadSettings

_RATER, _LABEL, _SHARED = "annotator", "label", "all"
_OTHERS = ("Comments", "relations", "entities", "cats")
_LIST = r"^\s*\[\s*([^\[{\s]|$)"
_HEAD = 1000


def fits(columns: Sequence[str], head: pl.DataFrame, asked: ReadSettings) -> bool:
    """Recognise it by column names, and by labels that are lists of texts."""
    if not set(columns) >= {"id", _LABEL} or not {"Comments", MEMBER} & set(columns):
        return False
    kind = head[_LABEL].dtype
    if isinstance(kind, pl.List):
        return not kind.inner.is_nested()
    texts = texts_of(head[_LABEL])
    return len(texts) > 0 and bool(texts.str.contains(_LIST).all())


def ratings(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per example and file."""
    named = asked.rater in table.columns
    columns = list(dict.fromkeys([*(name for name in table.columns if name != MEMBER), _RATER]))

    def rows(record: Record, place: str) -> Iterator[Row]:
        who = record.get(MEMBER)
        if not named and who in (None, "", _SHARED):
            raise IdError(
                "raters are missing: doccano names them by writing one file per user, but this is one file for all"
                if who == _SHARED or MEMBER not in table.columns else "raters are missing: a file has no name",
                source=table.name, places=[place],
                hint="Export a project whose annotations are not shared, and give the ZIP or the folder with one file "
                "per user; or name with --rater a column that says who annotated.",
            )  # fmt: skip
        row: Row = {**record, _LABEL: one_of(list_in(record[_LABEL], place, table.name, _LABEL))}
        yield row if named else row | {_RATER: who}

    attributes = tuple(name for name in columns if name not in ("id", _LABEL, _RATER, *_OTHERS))
    return Export(
        table=Unfolded(table, columns, rows).unfolded(), item="id", rater=_RATER, questions=(_LABEL,),
        item_attributes=attributes,
    )  # fmt: skip


PLATFORM = Platform(name="doccano", title="an export of doccano", fits=fits, ratings=ratings)
