"""Sections as HTML. All text is escaped and harmless; markup comes only from the template and from charts."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from typing import Any

import polars as pl

from plurivox import __version__
from plurivox.base.errors import MissingExtraError
from plurivox.base.quoting import harmless
from plurivox.report.answer import Answer
from plurivox.report.parts import Block, Brief, Figure, Prose, Section, Switch, Terms
from plurivox.report.pictures import pictures
from plurivox.report.said import contents, said_of
from plurivox.report.terms import Explained

MAX_BEHIND = 100
"""The most rows of the table behind a chart."""
LONGEST = 300
"""The most characters of a text; longer ones are cut and marked as cut."""


def page(brief: Brief, answer: Answer, sections: Sequence[Section]) -> str:
    """Return the whole file or, without sections, a page with only the first screen."""
    known = environment()
    sections = with_unique_ids(sections)
    script = _asset("report.js")
    remarks = list(dict.fromkeys([*brief.remarks, *(text for one in sections for text in one.remarks)]))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text: str = known.get_template("report.html.j2").render(
        title=brief.asked.title, answer=answer, sections=sections, style=_asset("report.css"), script=script,
        script_digest=digest, version=__version__, remarks=remarks, explained=Explained(linked=bool(sections)),
        notes=brief.notes, others={name: text for name, text in brief.notes.items() if name not in known_to(sections)},
    )  # fmt: skip
    return harmless(text)


def known_to(sections: Sequence[Section]) -> set[str]:
    """Return the places where a page shows notes."""
    return {"answer", *(section.id for section in sections)}


def with_unique_ids(sections: Sequence[Section]) -> list[Section]:
    """Return the sections with a unique id for each block; names without Latin letters would share ids."""
    taken = {"answer", "appendix", "main", "theme", "print", "said", "find", *(section.id for section in sections)}
    taken |= {f"{section.id}-more" for section in sections}

    def unique(block: Block) -> Block:
        if isinstance(block, Prose | Terms):
            return block
        parts = ("", "-table", "-title") if isinstance(block, Figure) else ("",)
        name, number = block.id, 2
        while taken.intersection(name + part for part in parts):
            name, number = f"{block.id}-{number}", number + 1
        taken.update(name + part for part in parts)
        if isinstance(block, Switch):
            figures = [(label, replace(figure, id=unique(figure).id)) for label, figure in block.figures]  # type: ignore[union-attr]
            return replace(block, id=name, figures=figures)
        return replace(block, id=name)

    for section in sections:
        if section.lead_figure is not None:
            taken.update(section.lead_figure.id + part for part in ("", "-table", "-title"))
    return [
        replace(section, blocks=[unique(one) for one in section.blocks], more=[unique(one) for one in section.more])
        for section in sections
    ]


def table_data(frame: pl.DataFrame, digits: Mapping[str, int]) -> str:
    """Return a table as JSON that is safe inside a script element: for each column its name, kind, decimals and values.

    Values with intervals also have ``l`` and ``h``, and what is after them ``a``.
    Repeated texts are listed once and referenced. Numbers have six digits; NaN is null.
    """
    columns = []
    for column in frame.iter_columns():
        places = 0 if column.dtype.is_integer() else digits.get(column.name, 3)
        struct = isinstance(column.dtype, pl.Struct)
        fields = column.struct.unnest() if struct else column.to_frame()
        values, *beside = ([_value(value) for value in one.to_list()] for one in fields.iter_columns())
        entry: dict[str, Any] = {"n": harmless(column.name), "v": values}
        entry |= {name: told for name, told in zip("lha", beside, strict=False) if any(told)}
        if struct or column.dtype.is_numeric():
            entry["d"] = places
        else:
            words = list(dict.fromkeys(values))
            if len(words) < len(values) / 2:
                places_of = {word: at for at, word in enumerate(words)}
                entry |= {"w": words, "v": [places_of[value] for value in values]}
        columns.append(entry)
    text = json.dumps(columns, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _value(value: Any) -> Any:
    """Return a cell as a JSON value."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else "∞" if value > 0 else "−∞"
    text = harmless(str(value))  # now: JSON writes a control character in letters, and the script would read it back
    return f"{text[:LONGEST]} … ({len(text):,} characters)" if len(text) > LONGEST else text


def environment(load: Callable[[str], str | None] | None = None) -> Any:
    """Return the environment for templates: those of reports, after those that ``load`` finds by name."""
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("a report needs Jinja", "report") from None
    return _environment(jinja2, load)


@functools.cache
def _environment(jinja2: Any, load: Callable[[str], str | None] | None) -> Any:
    """Make it once: it keeps the templates that it has compiled."""
    own = jinja2.FunctionLoader(_asset)
    made = jinja2.Environment(
        loader=own if load is None else jinja2.ChoiceLoader([jinja2.FunctionLoader(load), own]),
        autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    made.globals.update(
        table_data=table_data, pictures=pictures, said_of=said_of, contents=contents, max_behind=MAX_BEHIND
    )
    made.tests["kind"] = lambda block, name: type(block).__name__ == name
    return made


def _asset(name: str) -> str:
    return (resources.files("plurivox.report") / "assets" / name).read_text(encoding="utf-8")
