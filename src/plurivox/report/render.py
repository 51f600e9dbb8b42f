"""Sections as HTML. All text is escaped and harmless; markup comes only from the template and from charts.

A term is explained where it is first used. Charts lose what the style of the page already sets; a dark page inverts
their lightness.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import polars as pl

from plurivox import __version__
from plurivox.base.errors import FileError, InputError, MissingExtraError
from plurivox.base.files import write_bytes
from plurivox.base.wording import harmless
from plurivox.plots.theme import INK
from plurivox.report.answer import Answer, contents, said_of
from plurivox.report.parts import Block, Brief, Figure, Prose, Section, Switch, Terms, slug
from plurivox.statistics.registry import LABELS, STATISTICS

MAX_BEHIND = 100
"""The most rows of the table behind a chart."""
LONGEST = 300
"""The most characters of a text; longer ones are cut and marked as cut."""


def page(brief: Brief, answer: Answer, sections: Sequence[Section]) -> str:
    """Return the whole file or, without sections, a page with only the first screen."""
    known = environment()
    sections = with_unique_ids(sections)
    script = asset("report.js")
    remarks = list(dict.fromkeys([*brief.remarks, *(text for one in sections for text in one.remarks)]))
    noted = {"answer", *(section.id for section in sections)}  # where the page shows notes
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text: str = known.get_template("report.html.j2").render(
        title=brief.asked.title, answer=answer, sections=sections, style=asset("report.css"), script=script,
        script_digest=digest, version=__version__, remarks=remarks, explained=Explained(linked=bool(sections)),
        notes=brief.notes, others={name: text for name, text in brief.notes.items() if name not in noted},
    )  # fmt: skip
    return harmless(text)


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
    own = jinja2.FunctionLoader(asset)
    made = jinja2.Environment(
        loader=own if load is None else jinja2.ChoiceLoader([jinja2.FunctionLoader(load), own]),
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    made.globals.update(
        table_data=table_data, pictures=pictures, said_of=said_of, contents=contents, max_behind=MAX_BEHIND
    )
    made.tests["kind"] = lambda block, name: type(block).__name__ == name
    return made


def asset(name: str) -> str:
    """Return a template, a style, a script or a text of reports."""
    return (resources.files("plurivox.report") / "assets" / name).read_text(encoding="utf-8")


TERMS = {LABELS[name]: (slug("term", name), one.meaning) for name, one in STATISTICS.items()}
"""The id and the meaning of each statistic, by its name in sentences."""
TERMS["alpha"] = TERMS[LABELS["irr"]]
TERMS["leniency"] = TERMS[LABELS["leniency"]]
_PLAIN = {"answered", "bias", "departure", "estimate", "gap", "overruled", "refused", "shift", "unreadable", "ρ"}
"""Labels that sentences also use in another sense, or that data may contain; only the glossary explains them."""
_FOUND = sorted(TERMS.keys() - _PLAIN, key=len, reverse=True)
_WORDS = re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in _FOUND))


class Explained:
    """Turns text into HTML in which each term has a tooltip with its meaning at its first use.

    Examples
    --------
    >>> explained = Explained(linked=True)
    >>> "#term-gai" in explained("GAI < 1"), explained("GAI < 1")
    (True, 'GAI &lt; 1')
    """

    def __init__(self, *, linked: bool) -> None:
        self._linked = linked
        self._seen: set[str] = set()

    def __call__(self, text: str) -> str:
        """Return a text as HTML."""
        pieces, at = [], 0
        for found in _WORDS.finditer(text):
            name, meaning = TERMS[found[0]]
            if name in self._seen:
                continue
            self._seen.add(name)
            pieces += [escape(text[at : found.start()]), self._marked(found[0], name, meaning)]
            at = found.end()
        return "".join(pieces) + escape(text[at:])

    def _marked(self, word: str, name: str, meaning: str) -> str:
        title = escape(meaning)
        if self._linked:
            return f'<a class="term" href="#{name}" title="{title}">{escape(word)}</a>'
        return f'<abbr title="{title}">{escape(word)}</abbr>'


_IDLE = re.compile(
    r' (?:font-family|class|role|aria-hidden|aria-roledescription|xmlns:xlink|version)="[^"]*"'
    r'| (?:pointer-events="none"|(?:\w+-)?opacity="1"|stroke-width="1"|stroke-dasharray="1,0"|font-size="11px"'
    r'|font-weight="normal"|text-anchor="start"|transform="translate\(0,0\)")'
)
"""Attributes that the style of the page sets for all charts, or that change nothing."""
_BLANK = re.compile(r'<path[^>]*? d="(?:|M0,0h[\d.]*v[\d.]*h-?[\d.]*Z)"(?: display="none")?/>')
_PLACED = re.compile(r'(<text[^>]*?) transform="translate\(([-\d.]+),([-\d.]+)\)"([^>]*>)(?!<tspan)')
_LINE = re.compile(
    r'<line transform="translate\(([-\d.]+),([-\d.]+)\)"(?: x2="([-\d.]+)")?(?: y2="([-\d.]+)")?'
    r'((?: (?!aria-label)[\w-]+="[^"]*")*)/>'
)
_LINES = re.compile(rf"(?:{_LINE.pattern})+")
_CIRCLE = re.compile(
    r'<path([^>]*?) transform="translate\(([-\d.]+),([-\d.]+)\)"'
    r' d="M([\d.]+),0A\4,\4,0,1,1,-\4,0A\4,\4,0,1,1,\4,0"([^>]*)/>'
)
_NO_WAY = re.compile(r' [xy]2="0"')  # of lines; in a gradient it gives the direction
_UNSTROKED = re.compile(r' stroke-width="[^"]*"')
_HOLLOW = re.compile(r"<g(?: [^<>]*)?></g>")
_NUMBER = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?|-?\d+(?:\.\d)?e-\d+")
_TAG = re.compile(r"""<(?:[^<>"']|"[^"]*"|'[^']*')*>""")
_SAID = re.compile(r'(aria-label="[^"]*")')
_KEPT = re.compile(r'((?:aria-label|offset|(?:\w+-)?opacity)="[^"]*")')
"""Attributes that are not places on the picture."""


def pictures(figure: Figure) -> dict[str, str]:
    """Return a chart as two pictures, for a wide page and for a narrow one, and its subtitle."""
    found = {"subtitle": figure.chart.subtitle}
    for name, picture in (("wide", figure.chart), ("narrow", figure.narrow)):
        found[name] = slim(picture.svg(f"{figure.id}-{name}"))
    if _SAID.findall(found["wide"]) == _SAID.findall(found["narrow"]):  # said once; the page's script copies it
        found["narrow"] = _SAID.sub("data-said", found["narrow"])
    return found


def slim(svg: str) -> str:
    """Return a picture without what its page already sets.

    Examples
    --------
    >>> slim('<svg class="marks"><g class="a"><path class="background" d=""/></g><text x="0.123">0.123</text></svg>')
    '<svg><text x="0.1">0.123</text></svg>'
    """
    svg = _TAG.sub(lambda found: _tag(found[0]), svg)
    svg = _PLACED.sub(r'\1 x="\2" y="\3"\4', _BLANK.sub("", svg))
    svg = _CIRCLE.sub(r'<circle\1 cx="\2" cy="\3" r="\4"\5/>', svg)
    svg = _LINES.sub(lambda found: _joined(found[0]), svg)
    before = None
    while before != svg:
        before, svg = svg, _HOLLOW.sub("", svg)
    return _unwrapped(svg)


def _unwrapped(svg: str) -> str:
    """Return a picture without groups that only hold others."""
    kept: list[bool] = []

    def one(found: re.Match[str]) -> str:
        tag = found[0]
        if tag == "</g>":
            return tag if kept.pop() else ""
        if tag.startswith(("<g>", "<g ")) and not tag.endswith("/>"):
            kept.append(tag != "<g>")
            return tag if kept[-1] else ""
        return tag

    return _TAG.sub(one, svg)


def _tag(tag: str) -> str:
    """Return an element's start without idle attributes and with short numbers; its texts stay unchanged."""
    tag = _IDLE.sub("", tag)
    if tag.startswith("<text"):
        tag = tag.replace(f' fill="{INK}"', "")
    if ' stroke="' not in tag:
        tag = _UNSTROKED.sub("", tag)
    parts = _KEPT.split(tag)
    for at in range(0, len(parts), 2):
        parts[at] = _NUMBER.sub(_rounded, parts[at])
    tag = "".join(parts)
    return _NO_WAY.sub("", tag) if tag.startswith("<line ") else tag


def _joined(lines: str) -> str:
    """Return successive lines as one path for each run of the same look, since grids and ticks are many."""
    pieces: list[list[str]] = []
    before = None
    for x, y, right, down, look in _LINE.findall(lines):
        move = f"M{x},{y}" + (f"l{right or 0},{down}" if down and right else f"v{down}" if down else f"h{right or 0}")
        if look != before:
            pieces.append([look])
        pieces[-1].append(move)
        before = look
    return "".join(f'<path d="{"".join(moves)}"{look}/>' for look, *moves in pieces)


def _rounded(found: re.Match[str]) -> str:
    text = f"{float(found[0]):.1f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


# Printing -------------------------------------------------------------------------------------------------------------
#
# Pages as PDF, through Chromium if it is installed.


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SWITCHES = (
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--no-pdf-header-footer",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip
"""A page is printed without any request, including the browser's own."""
SECONDS = 180
MARK = b"% made by plurivox\n"


def browser() -> str | None:
    """Return the path of Chromium, if it is installed."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def check_browser() -> str:
    """Return the path of Chromium, or raise because a PDF needs it."""
    found = browser()
    if found is None:
        raise InputError(
            "a PDF needs Chromium, which is not installed on this machine",
            hint="Install chromium or Google Chrome, or open the HTML file and print it.",
        )
    return found


def write_pdf(path: str | os.PathLike[str], html: str, inputs: Iterable[str] = ()) -> Path:
    """Print a page to a PDF file, all of it or nothing; what is folded away under ``#appendix`` is opened first."""
    program = check_browser()
    with tempfile.TemporaryDirectory(prefix="plurivox-") as folder:
        page, made = Path(folder, "page.html"), Path(folder, "page.pdf")
        page.write_text(html, encoding="utf-8")
        root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        command = [
            program, *SWITCHES, *root, f"--user-data-dir={Path(folder, 'profile')}", f"--print-to-pdf={made}",
            f"{page.as_uri()}#appendix",
        ]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired) as error:
            raise FileError(f"Chromium could not print the page: {error}", source=str(path)) from None
        if done.returncode or not made.is_file():
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["it gave no reason"]
            raise FileError(f"Chromium could not print the page: {last[0]}", source=str(path))
        return write_bytes(path, marked(made.read_bytes()), inputs)


def marked(pdf: bytes) -> bytes:
    """Return a PDF with a comment that says who made it, where it moves nothing that the last lines point to."""
    body, last, end = pdf.rpartition(b"startxref")
    return body + MARK + last + end
