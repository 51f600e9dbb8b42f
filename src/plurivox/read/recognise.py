"""What the columns of a table are, if that is obvious, and its rows made long: one rating each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from plurivox.base.errors import ColumnError, InputError, ScoreError, few, no_column, open_quote
from plurivox.domain.attributes import where
from plurivox.domain.check import LongTable
from plurivox.domain.choices import Layout
from plurivox.domain.code import as_numbers, as_text
from plurivox.domain.raw import KEY, RESPONSE, ROLE_NAMES, RawTable, by_name, pick
from plurivox.domain.scale import Label, Scale, text_of
from plurivox.read.respondents import hold_scores, respondents

_WHOLE = re.compile(r"-?[0-9]+")


@dataclass(frozen=True, slots=True)
class Recognised:
    """How to read a table: its layout, and the column of each role (only the item for wide tables and totals)."""

    layout: Layout
    item: str
    rater: str | None = None
    score: str | None = None
    time: str | None = None
    values: tuple[str, ...] = ()  # wide: one column per rater; totals: one per point, in the scale's order


def recognise(
    columns: Sequence[str],
    head: pl.DataFrame,
    source: str,
    *,
    given: dict[str, str | None],
    layout: Layout | None = None,
    scale: Scale | None = None,
    attributes: Sequence[str] = (),
    missing: Iterable[Label] = (),
) -> Recognised:
    """Find the layout and the roles of the columns from what was given, then from names, then from contents.

    Parameters
    ----------
    columns, head
        The column names and the first rows.
    given
        Role → column, as far as the user named them.
    layout
        The layout, if the user named it.
    scale
        The scale, if it is known; columns named like its points are totals.
    attributes
        Columns that describe raters or items, and so have no other role.
    missing
        Further answers that mean "no rating".
    """
    for role, name in given.items():
        if name is not None and name not in columns:
            parts = [part.strip() for part in name.split(",")]
            several = role == "score" and set(parts) <= set(columns)
            hint = f"Choose one question at a time: --score '{parts[0]}'." if several else None
            raise no_column(name, columns, source, hint, role=f" for the {role}")
    free = [column for column in columns if column not in attributes]
    roles = _roles(free, given)
    if layout in (None, "long") and all(roles.values()):
        return Recognised("long", roles["item"] or "", roles["rater"], roles["score"])
    unrated = frozenset(map(text_of, missing))
    if layout is None and free and not roles["score"] and (not roles["item"] or not roles["rater"]):
        _refuse_respondents(free, roles, head, source, scale, unrated)
    if layout == "long" or given["rater"] or given["score"] or not free:
        raise _not_found(roles, columns, source)
    item = roles["item"] or (free[0] if layout or _distinct(head, free[0]) else None)
    others = tuple(column for column in free if column != item)
    if item is None or not others:
        raise _not_found(roles, columns, source)
    if layout == "wide":
        return Recognised("wide", item, values=others)
    points = _point_columns(others, scale)
    if layout == "totals" and points is None:
        points = others
    if points is not None:
        if layout != "totals" and scale is None:
            raise ColumnError(
                f"the columns {few(others, 6)} may be raters or points of a scale",
                source=source,
                hint="Use --wide if each column holds one rater's scores, or --totals if each counts one point.",
            )
        return Recognised("totals", item, values=points)
    if len(others) >= 2 and not roles["rater"] and not roles["score"] and hold_scores(head, others, scale, unrated):
        _refuse_keys(item, given["item"], source)
        return Recognised("wide", item, values=others)
    raise _not_found(roles, columns, source)


def _refuse_keys(item: str, given: str | None, source: str) -> None:
    """Raise an error if keys of an object are used as items only by default: they may equally well be raters."""
    if item == KEY and given is None:
        raise ColumnError(
            "it is an object of objects with scores, and its keys may be items or raters", source=source,
            hint=f"Use --item {KEY} if they are items, or --rater {KEY} if they are raters.",
        )  # fmt: skip


def _refuse_respondents(
    columns: Sequence[str], roles: dict[str, str | None], head: pl.DataFrame, source: str, scale: Scale | None,
    missing: frozenset[str],
) -> None:  # fmt: skip
    """Raise an error if each row is a respondent, judged by the ids in the item, rater or first column."""
    owner = roles["item"] or roles["rater"] or columns[0]
    others = [column for column in columns if column != owner]
    if _distinct(head, owner) and _point_columns(others, scale) is None:
        found = respondents(head, others, scale, missing)
        if found is not None:
            raise found.error(source)


def _roles(columns: Sequence[str], given: dict[str, str | None]) -> dict[str, str | None]:
    roles = dict(given)
    for role in ROLE_NAMES:
        taken = [name for name in roles.values() if name]
        if roles.get(role) is None:
            roles[role] = by_name([column for column in columns if column not in taken], role)
    if roles["item"] is None and roles["rater"] is not None:
        roles["item"] = by_name([column for column in columns if column not in roles.values()], RESPONSE)
    open_roles = [role for role, name in roles.items() if name is None]
    left = [column for column in columns if column not in roles.values()]
    if len(open_roles) == 1 and len(left) == 1 and len(columns) == 3:
        roles[open_roles[0]] = left[0]
    return roles


def _distinct(head: pl.DataFrame, column: str) -> bool:
    return head.height > 0 and not head[column].is_duplicated().any()


def _point_columns(others: Sequence[str], scale: Scale | None) -> tuple[str, ...] | None:
    """Return the columns in the order of the scale if they are named like its points."""
    texts = {text_of(column): column for column in others}
    if scale is not None:
        labels = [text_of(label) for label in scale.labels]
        return tuple(texts[label] for label in labels) if set(labels) == set(texts) else None
    return tuple(others) if all(map(_WHOLE.fullmatch, texts)) else None


def _not_found(roles: dict[str, str | None], columns: Sequence[str], source: str) -> ColumnError:
    lacking = [role for role in ("item", "rater", "score") if not roles.get(role)]
    named = f"Name {'it' if len(lacking) == 1 else 'them'} with {' '.join('--' + role for role in lacking)}, "
    return ColumnError(
        f"cannot tell which column holds the {' and the '.join(lacking or ['ratings'])}; "
        f"the columns are {few(columns)}",
        source=source, hint=open_quote(columns) or f"{named}or use --wide (one column per rater), --totals (one column "
        "per point) or --questions (a row per respondent).",
    )  # fmt: skip


MAX_COUNT = 2.0**53  # whole numbers up to here are exact
_NAME, _CELL = "\0name", "\0cell"  # no column has such a name


def scale_of_totals(found: Recognised) -> Scale | None:
    """Return the points after which the columns of totals are named; None for another layout."""
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
    frame = table.frame()
    kinds = {frame[name].dtype for name in found.values}
    if len(kinds) > 1 and not all(kind.is_numeric() or kind == pl.Null for kind in kinds):
        frame = frame.with_columns(as_text(frame[name]) for name in found.values)
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
    places = [table.columns.index(name) + 1 for name in found.values]  # their names are the ids of raters

    def locate(position: int) -> str:
        column, row = divmod(position, n_rows)
        return f"{table.locate(row)}, column {places[column]}"

    names = {"item": found.item, "rater": "one column each", "score": "their cells"}
    long = _unpivoted(frame, found, item_attributes, ("rater", "score"))
    return LongTable(table.name, [long], names, "wide", table.text, locate, item_attributes=item_attributes)


def _totals(
    table: RawTable, found: Recognised, rater_attributes: tuple[str, ...], item_attributes: tuple[str, ...]
) -> LongTable:
    frame = table.frame()
    frame = frame.with_columns([_whole_counts(frame[column], table) for column in found.values])
    total = sum(float(frame[column].cast(pl.Float64).sum()) for column in found.values)
    if total > MAX_COUNT:
        raise ScoreError(
            f"the counts add up to {total:.3g}, too many to be true", source=table.name, hint="Check them."
        )
    names, n_rows = {"item": found.item, "score": f"{found.values[0]} … {found.values[-1]}"}, frame.height
    return LongTable(
        table.name, [_unpivoted(frame, found, item_attributes, ("score", "count"))], names, "totals", table.text,
        lambda position: table.locate(position % n_rows), item_attributes=item_attributes,
    )  # fmt: skip


def _unpivoted(
    frame: pl.DataFrame, found: Recognised, attributes: tuple[str, ...], roles: tuple[str, str]
) -> pl.DataFrame:
    """Return a row for each cell: the item, and the name and the value of the cell's column in their roles."""
    long = frame.unpivot(on=list(found.values), index=[found.item, *attributes], variable_name=_NAME, value_name=_CELL)
    return long.rename({found.item: "item", _NAME: roles[0], _CELL: roles[1]})


LAYOUTS = {"long": _long, "wide": _wide, "totals": _totals}


def _whole_counts(column: pl.Series, table: RawTable) -> pl.Series:
    numbers = as_numbers(column).fill_nan(None)
    bad = numbers.is_null() | (numbers < 0) | (numbers != numbers.round()) | (numbers > MAX_COUNT)
    if bad.any():
        raise ScoreError(
            f"{as_text(column).filter(bad)[0]!r} is not a count",
            column=column.name,
            **where(table.name, table.locate, bad),
            hint="Totals must be whole numbers from 0 up; name columns that describe items with --item-attributes.",
        )
    return numbers.cast(pl.Int64)
