"""Workbooks of Excel, written by hand: a ZIP of XML."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from typing import Any
from xml.sax.saxutils import escape

from exports.record import Case

_FIRST_DAY = datetime(1899, 12, 30)  # noqa: DTZ001 - Excel knows no zones
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


class Error(str):
    """What a cell shows whose formula failed."""


def cell(place: str, value: Any) -> str:
    """Return the XML of a cell."""
    if value is None:
        return f'<c r="{place}" s="1"/>'
    if isinstance(value, Error):
        return f'<c r="{place}" t="e"><f>A1</f><v>{value}</v></c>'
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, date):
        moment = value if isinstance(value, datetime) else datetime.combine(value, time())
        days = moment - _FIRST_DAY
        style = 2 if isinstance(value, datetime) else 1
        return f'<c r="{place}" s="{style}"><v>{days.total_seconds() / 86400!r}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{place}"><v>{value}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'


def sheet(rows: Sequence[Sequence[Any]], more: str = "") -> str:
    """Return the XML of a sheet; a row without cells is left out, as Excel does."""
    written = (
        f'<row r="{y}">{"".join(cell(f"{chr(65 + x)}{y}", one) for x, one in enumerate(row))}</row>'
        for y, row in enumerate(rows, 1)
        if row
    )
    return f"<sheetData>{''.join(written)}</sheetData>{more}"


def workbook(sheets: Mapping[str, str], more: Mapping[str, str] | None = None) -> bytes:
    """Return a workbook with these sheets."""
    names = list(enumerate(sheets, 1))
    listed = "".join(f'<sheet name="{escape(one)}" sheetId="{at}" r:id="rId{at}"/>' for at, one in names)
    related = "".join(
        f'<Relationship Id="rId{at}" Type="{_RELATED}/worksheet" Target="worksheets/sheet{at}.xml"/>' for at, _ in names
    )
    styles = "".join(f'<xf numFmtId="{one}"/>' for one in (0, 14, 22))
    parts = {
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}"><Relationship Id="rId1" Type="{_RELATED}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATED}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}">{related}</Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><cellXfs count="3">{styles}</cellXfs></styleSheet>',
        **{
            f"xl/worksheets/sheet{at}.xml": f'<worksheet xmlns="{_MAIN}">{content}</worksheet>'
            for at, content in enumerate(sheets.values(), 1)
        },
        **(more or {}),
    }
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(
                zipfile.ZipInfo(name), f'<?xml version="1.0" encoding="UTF-8"?>{content}', zipfile.ZIP_DEFLATED
            )
    return data.getvalue()


NOON = datetime(2026, 1, 31, 12)  # noqa: DTZ001
HEADER: list[Any] = ["item", "rater", "score"]
PLAIN: list[list[Any]] = [HEADER, ["007", 1, 4], ["007", 2.0, 2.0], ["8", 1, 1]]
CASES = [
    Case(
        "excel", "plain", "ratings.xlsx", workbook({"Ratings": sheet(PLAIN)}),
        ratings=(("007", "1", "4"), ("007", "2", "2"), ("8", "1", "1")),
    ),
    Case(
        "excel", "awkward", "title.xlsx",
        workbook({
            "Ratings": sheet([[], ["", "Pilot study"], [], ["", *HEADER, "n"], [0, "a", 1, 3.0, Error("#N/A")],
                              [], [1, "b", 1, Error("#N/A")], [2, "b", 2, 0]]),
            "Raters": sheet([["rater", "age"], [1, 30], [2, 40]]),
        }),
        ratings=(("a", "1", "3"), ("b", "2", "0")),
    ),
    Case(
        "excel", "awkward", "dates.xlsm",
        workbook({"S": sheet([[*HEADER, "day", "new"], ["a", "x", 1, date(2026, 1, 31), True],
                              ["b", "x", 2, NOON, False]])}),
        given={"item_attributes": ["day", "new"]},
        ratings=(("a", "x", "1"), ("b", "x", "2")),
        items={"a": {"day": "2026-01-31", "new": "True"}, "b": {"day": "2026-01-31T12:00:00", "new": "False"}},
    ),
    Case(
        "excel", "broken", "merged.xlsx",
        workbook({"S": sheet(PLAIN, '<mergeCells count="1"><mergeCell ref="A2:A3"/></mergeCells>')}),
        error=("merged.xlsx", "the cells A2:A3 are merged"),
    ),
    Case("excel", "broken", "cut.xlsx", workbook({"S": sheet(PLAIN)})[:900], error=("cut.xlsx", "damaged or cut off")),
    Case(
        "excel", "broken", "old.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" * 80,
        error=("old.xlsx", "without a password"),
    ),
    Case(
        "excel", "broken", "twice.xlsx", workbook({"S": sheet([["item", "item", "score"], [1, 2, 3]])}),
        error=("twice.xlsx", "row 1", "two columns are named 'item'"),
    ),
]  # fmt: skip
