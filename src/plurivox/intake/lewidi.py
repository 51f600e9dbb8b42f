"""Files of LeWiDi 2025, a shared task on learning with disagreements: its data, and what is submitted to it.

Its data are a JSON object of items, each with ``annotations``, an object from annotators to labels; who the annotators
are is an object from their names to attributes, in which commas may stand before a closing brace. A submission has no
header: an item, a tab, and a list in brackets. In ``…_soft.tsv`` that is one probability for each point, in
``…_pe.tsv`` (perspectivist) one point for each annotator of the item, in the order in which the data lists them.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from plurivox.errors import FileError, InputError, ScoreError
from plurivox.intake.attributes import id_texts
from plurivox.intake.opening import Opened
from plurivox.intake.raw import RawTable, refuse_cells, refuse_columns
from plurivox.intake.roles import ROLE_NAMES
from plurivox.intake.text import read_json_lines
from plurivox.predictions import PERSPECTIVIST, SOFT, Predictions, natural
from plurivox.ratings import Ratings
from plurivox.scale import Scale

_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])')
_POINT_NAMES = ("point", "prediction", "predicted", "predictedpoint")  # not score: that may be a table of ratings


# Data ----------------------------------------------------------------------------------------------------------------


def is_named(source: str | os.PathLike[str]) -> bool:
    """Tell whether a file is named like one of the task's: ``….json``."""
    return os.fspath(source).lower().endswith(".json")


def table(data: bytes, opened: Opened, encoding: str, *, ratings: bool) -> RawTable:
    """Return ratings, items or annotators of the task's own JSON; other JSON is read as JSON lines.

    Parameters
    ----------
    ratings
        Whether one row per rating is wanted, else one per item with its texts.
    """
    found = _parsed(data, encoding)
    objects = isinstance(found, dict) and bool(found) and all(isinstance(one, dict) for one in found.values())
    items = objects and all("annotations" in one for one in found.values())
    if not objects or (ratings and not items):
        return read_json_lines(replace(opened, stream=io.BytesIO(data)), encoding=encoding)
    if not items:
        rows = [{"rater": name, **_flat(one)} for name, one in found.items()]
    elif ratings:
        rows = [row for name, one in found.items() for row in _ratings(name, one["annotations"], opened.name)]
    else:
        rows = [{"item": name, **_flat(_texts(one))} for name, one in found.items()]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    refuse_columns(len(columns), opened.name)
    refuse_cells(len(rows) * len(columns), len(data), opened.name)
    frame = pl.DataFrame(
        {name: [row.get(name) for row in rows] for name in columns}, schema=dict.fromkeys(columns, pl.String)
    )
    return RawTable(opened.name, frame.columns, iter([frame]), text=True)


def _parsed(data: bytes, encoding: str) -> Any:
    """Return what JSON says, None if it is no JSON."""
    try:
        text = data.decode("utf-8-sig" if encoding.lower().replace("-", "") == "utf8" else encoding)
        try:
            found = json.loads(text)
        except json.JSONDecodeError:
            found = json.loads(_COMMA.sub(lambda found: found[1] or "", text))
        json.dumps(found, ensure_ascii=False).encode()  # fails for half of a character, which no table can hold
        return found
    except (ValueError, LookupError, RecursionError):
        return None


def _ratings(item: str, given: Any, source: str) -> Iterable[dict[str, str | None]]:
    if not isinstance(given, dict):
        raise FileError(
            f"the annotations of item {item!r} are not an object from annotators to labels",
            source=source,
            hint="Give the files of the task's third edition, LeWiDi 2025.",
        )
    return [{"item": item, "rater": name, "score": _text(label)} for name, label in given.items()]


def _texts(one: dict[str, Any]) -> dict[str, Any]:
    texts = one.get("text")
    known = texts if isinstance(texts, dict) else {"text": texts}
    return {**known, **{name: one[name] for name in ("lang", "split") if name in one}}


def _flat(one: dict[str, Any]) -> dict[str, str | None]:
    known = {name: value for name, value in one.items() if name not in ("item", "rater")}  # these are ids here
    return {name: _text(value) for name, value in known.items() if not isinstance(value, dict | list)}


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


# Submissions ---------------------------------------------------------------------------------------------------------


def predictions(raw: RawTable, scale: Scale, name: str, like: Ratings | None) -> Predictions | None:
    """Return the predictions of a submission, or of a table with a row per rater; None if it is another table."""
    if len(raw.columns) == 2 and raw.columns[1].strip().startswith("[") and raw.text:
        return _submission(raw, scale, name, like)
    known = {"".join(filter(str.isalnum, column.casefold())): column for column in reversed(raw.columns)}
    item, rater, point = (
        next((known[one] for one in names if one in known and one != "model"), None)
        for names in (ROLE_NAMES["item"], ROLE_NAMES["rater"], _POINT_NAMES)
    )
    if item is None or rater is None or point is None or _has_points(raw.columns, scale):
        return None
    return Predictions.from_raters(
        raw.frame(), scale, item=item, rater=rater, point=point, model=known.get("model"), name=name, source=raw.name,
        locate=raw.locate,
    )  # fmt: skip


def _has_points(columns: Sequence[str], scale: Scale) -> bool:
    return {str(label) for label in scale.labels} <= set(columns)


def _submission(raw: RawTable, scale: Scale, name: str, like: Ratings | None) -> Predictions:
    """Read a submission, whose first line was taken for a header."""
    frame = raw.frame()
    ids = [raw.columns[0], *frame[raw.columns[0]]]
    lists = [_list(text, at, raw.name) for at, text in enumerate([raw.columns[1], *frame[raw.columns[1]]], 1)]
    soft = name.endswith(SOFT) or (
        not name.endswith(PERSPECTIVIST)
        and all(len(one) == len(scale) and abs(sum(one) - 1) < 1e-6 and min(one) >= 0 for one in lists)
    )

    def locate(row: int) -> str:
        return f"line {row + 1}"

    if not soft:
        return _perspectivist(ids, lists, scale, name, raw.name, like)
    for at, one in enumerate(lists, 1):
        if len(one) != len(scale):
            raise InputError(
                f"there are {len(one)} probabilities for the {len(scale)} points of {scale}",
                source=raw.name, places=[f"line {at}"], n_places=1,
                hint="Give one for each point, lowest first, and the right --scale.",
            )  # fmt: skip
    table = {"item": ids} | {str(label): [one[at] for one in lists] for at, label in enumerate(scale.labels)}
    return Predictions.from_frame(pl.DataFrame(table), scale, name=_model(name), source=raw.name, locate=locate)


def _list(text: str | None, line: int, source: str) -> list[float]:
    try:
        found = json.loads(text or "", parse_int=float)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, list) and any(isinstance(one, list) for one in found):
        raise FileError(
            "it predicts several labels of an item, each by itself, as for VariErrNLI, which have no order",
            source=source, places=[f"line {line}"], n_places=1,
            hint="Give a submission of a set with one label per rater: CSC, MP or Paraphrase.",
        )  # fmt: skip
    if not isinstance(found, list) or not found or not all(isinstance(one, float) for one in found):
        raise FileError(
            "there is no list of numbers after the tab", source=source, places=[f"line {line}"], n_places=1,
            hint="Write an item, a tab, and numbers in brackets: 2153<TAB>[0.0, 0.25, 0.75].",
        )  # fmt: skip
    return found


def _perspectivist(
    ids: Sequence[str], lists: Sequence[list[float]], scale: Scale, name: str, source: str, like: Ratings | None
) -> Predictions:
    """Give each prediction to its rater: raters of an item stand in the order of their names, numbers by value."""
    if like is None or like.rater_codes is None:
        raise InputError(
            "a submission that predicts single raters does not name them",
            source=source,
            hint="Give ratings with one row per rating, like= in Python.",
        )
    names = id_texts(like.raters["rater"]).to_list()
    place = {item: at for at, item in enumerate(id_texts(like.items["item"]).to_list())}
    rows = []
    for line, (item, points) in enumerate(zip(ids, lists, strict=True), 1):
        at = place.get(item)
        if at is None:
            continue
        raters = sorted((names[code] for code in like.rater_codes[slice(*like.offsets[at : at + 2])]), key=natural)
        if len(raters) != len(points):
            raise ScoreError(
                f"there are {len(points)} predictions for the {len(raters)} raters of item {item!r}",
                source=source, places=[f"line {line}"], n_places=1,
                hint="Give one for each annotator, in the order of the data.",
            )  # fmt: skip
        whole = (int(point) if float(point).is_integer() else point for point in points)
        rows += [(item, rater, str(point), line) for rater, point in zip(raters, whole, strict=True)]
    if not rows:
        raise InputError("no item of the submission is among the ratings", source=source, hint="Give ratings of it.")
    frame = pl.DataFrame(rows, schema=["item", "rater", "point", "line"], orient="row")
    return Predictions.from_raters(
        frame, scale, name=_model(name), source=source, locate=lambda row: f"line {rows[row][3]}"
    )


def _model(name: str) -> str:
    return name.removesuffix(SOFT).removesuffix(PERSPECTIVIST) or name
