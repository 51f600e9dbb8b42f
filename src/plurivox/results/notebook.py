"""Results in notebooks: what stands out, and the values as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape as escape_html
from typing import Any

import polars as pl

from plurivox.quoting import harmless

MAX_ROWS = 30
MAX_TEXT = 200


def result_html(title: str, sentences: Sequence[str], frame: pl.DataFrame) -> str:
    """Return a small piece of HTML in which all text is escaped."""
    head = "".join(f"<th>{escape(name)}</th>" for name in frame.columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(_text(value))}</td>' for value in row)}</tr>"
        for row in frame.head(MAX_ROWS).rows()
    )
    found = "".join(f"<li>{escape(sentence[: 4 * MAX_TEXT])}</li>" for sentence in sentences)
    more = f"<p>{frame.height - MAX_ROWS:,} more rows in to_frame().</p>" if frame.height > MAX_ROWS else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<div><strong>{escape(title)}</strong><ul>{found}</ul>{table}{more}</div>"


def escape(text: str) -> str:
    """Return a text that is neither taken for HTML nor turns the direction of what stands around it."""
    return escape_html(harmless(text))


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"
