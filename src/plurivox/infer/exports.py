"""Results as Markdown, LaTeX and HTML, and in notebooks: all from the same views.

Anything in a table may be anybody's text. Each format escapes what it would take for an instruction, and characters
that control a terminal or hide text become a mark.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import polars as pl

from plurivox.base.cards import MOST_ROWS, CardCell, CardGrid, CardSentence, card, heading_of, right_columns
from plurivox.base.wording import counted, harmless, interval_method, one_line
from plurivox.domain.axis import CROSS, names_raters, rater_name
from plurivox.infer.view import ALL, LEGEND, Value, View, by_model, compact, form_of, written
from plurivox.statistics.registry import LABELS

if TYPE_CHECKING:
    from plurivox.infer.result import Result, Statement


R = TypeVar("R", bound="Result")
Calls = Mapping[tuple[str, str], str]

LONG = 40
"""Rows above which a LaTeX table may break over pages."""
WIDE = 85
"""Characters in a row above which a LaTeX table is made smaller where it is wider than the text."""
_MINUS = re.compile(r"(?<![\w.)\]])-(?=\.?\d)")
_MATHS = {
    "↑": r"\uparrow", "↓": r"\downarrow", "→": r"\rightarrow", "←": r"\leftarrow", "×": r"\times", "±": r"\pm",
    "∞": r"\infty", "≤": r"\leq", "≥": r"\geq", "≠": r"\neq", "≈": r"\approx", "−": "-", "√": r"\surd", "·": r"\cdot",
    "Σ": r"\Sigma", "Δ": r"\Delta", "Γ": r"\Gamma", "Π": r"\Pi", "α": r"\alpha", "β": r"\beta", "δ": r"\delta",
    "ε": r"\varepsilon", "ζ": r"\zeta", "η": r"\eta", "θ": r"\theta", "κ": r"\kappa", "λ": r"\lambda", "μ": r"\mu",
    "ν": r"\nu", "π": r"\pi", "ρ": r"\rho", "σ": r"\sigma", "τ": r"\tau", "φ": r"\varphi", "χ": r"\chi", "ψ": r"\psi",
    "ω": r"\omega", "¹": "^1", "²": "^2", "³": "^3", "½": r"\frac12", "‖": r"\|",
}  # fmt: skip
_WORDS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\char34{}", "`": r"\textasciigrave{}", "–": "--", "—": "---", "…": r"\dots{}",
    "“": "``", "”": "''", "‘": "`", "’": "'", "\u00a0": "~", "\u202f": r"\,", "\ufffd": "?",
}  # fmt: skip
_LATEX = _WORDS | {sign: f"${maths}$" for sign, maths in _MATHS.items()}
_SPECIAL = re.compile("|".join(map(re.escape, _LATEX)) + r"|--|''|(?<=[!?])`")
_BEYOND_LATIN = re.compile("[^\x00-\u024f\u1e00-\u1eff\u2010-\u2027]")
_ACTING = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])|`|\](?=\()|\*(?=\**[^\s*])|(?<![^\W_])_(?=_*[^\s_])|~(?=~*[^\s~])|\$(?=[^$]*\$)"
)
"""What Markdown would take for an instruction: the start of escapes, code, links, emphasis, strikes and formulas."""
_BAR = "\\|"
_ENTITY = re.compile(r"&(?=#?\w+;)")
_FONT = "font-family:sans-serif;font-size:10pt;color:#1a1a1a;"
_CELL = "border:1px solid #999;padding:3px 8px;vertical-align:top;"


class Document(NamedTuple):
    """What is shown of one result: its tables, what explains them, notes on them, and what stands out."""

    tables: Sequence[View]
    sentences: Sequence[str] = ()
    legend: str = ""
    notes: Sequence[str] = ()
    title: str = ""

    @property
    def texts(self) -> list[View]:
        """The tables with every cell as text."""
        return [table.text() for table in self.tables]


class Exported:
    """A result whose views are made by ``tables`` in the module of that name next to its own."""

    __slots__ = ()

    ALL_ROWS: ClassVar[str] = "to_frame()"
    """Where all rows are; notebooks say so when they leave some out."""
    IN_NOTEBOOKS: ClassVar[Mapping[str, Any]] = {}
    """The command line's display options, as notebooks set them."""

    def to_markdown(self, **showing: Any) -> str:
        """Return the tables that the command line prints, and what stands out, as Markdown.

        Raters are numbered unless their ids were requested. Keywords are the command line's display options, such as
        ``top=50`` for :func:`plurivox.items`.
        """
        return markdown_text([document_of(self, showing)])

    def to_latex(self, **showing: Any) -> str:
        """Return the same tables as LaTeX, with the rules of the booktabs package; what stands out is a comment."""
        return latex_text([document_of(self, showing)])

    def to_html(self, **showing: Any) -> str:
        """Return the same as an HTML page, to be pasted into a word processor or an email."""
        return html_text([document_of(self, showing)])

    def _repr_html_(self) -> str:
        """Show the result in a notebook."""
        return result_html(self)


def document_of(result: Any, showing: Mapping[str, Any], title: str = "", lens: Any = None) -> Document:
    """Return what is shown of a result, with raters numbered unless ids are requested.

    Parameters
    ----------
    lens
        The record of the lens that made it; by default that of the package that holds its class, if there is one.
    """
    from plurivox.infer.result import Result

    own = type(result).__module__
    package = own.rpartition(".")[0]
    for home in (own, package):  # a lens is one module, or a package
        lens = lens or getattr(importlib.import_module(home), "LENS", None)
    found = for_people(result) if isinstance(result, Result) else result
    sentences = found.findings() if hasattr(found, "findings") else []
    if lens is None:
        made = importlib.import_module(own if hasattr(importlib.import_module(own), "tables") else f"{package}.tables")
        return Document(made.tables(found, **showing), sentences, getattr(made, "LEGEND", ""), (), title)
    usual = {} if lens.showing is None else {name: spec.default for name, spec in lens.showing.specs().items()}
    tables = [View(*one) for one in lens.load("tables")(found, **{**usual, **showing})]
    notes = [*(lens.load("notes")(found) if lens.notes else ()), *([lens.closing] if lens.closing else ())]
    bare = lens.alone and not found.rows  # without ratings, the values that a legend explains are missing
    legend = "" if bare else legend_of(tables, lens.legend, tested=bool(lens.notes))
    return Document(tables, sentences, legend, notes, title)


def legend_of(tables: Iterable[View], legend: str | None, *, tested: bool) -> str:
    """Return what explains tables: their own legend, or else that of the marks of tests, if there are any."""
    if legend is not None or not tested:
        return legend or ""
    return LEGEND if any(_has_signs(table.text()) for table in tables) else ""


def _has_signs(table: View) -> bool:
    return any(sign in cell for line in table.rows for cell in line for sign in "↑↓")


# Raters as people see them --------------------------------------------------------------------------------------------
#
# Raters are numbered unless their ids were requested. Frames, CSV and JSON hold ids.


def for_people(found: R) -> R:
    """Return a result with raters numbered in its rows and tables, in order of appearance."""
    if found.settings.get("ids") or not any(map(names_raters, found.axes)):
        return found
    calls = _calls((row.axis, row.group) for row in found.rows)
    renamed: dict[str, Any] = {
        name: tuple(_renamed(one, calls) for one in getattr(found, name)) for name in found.PARTS
    }
    return replace(found, **renamed)


def numbered(frame: pl.DataFrame, settings: Mapping[str, Any]) -> pl.DataFrame:
    """Return a table of groups in which raters are numbered unless ids are requested."""
    named = not settings.get("ids") and {"axis", "group"} <= set(frame.columns)
    return _frame(frame, _calls(frame.select("axis", "group").iter_rows())) if named else frame


def _calls(groups: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return what each group of raters is called, by axis and group."""
    calls: dict[tuple[str, str], str] = {}
    numbers: dict[str, int] = {}
    for axis, group in groups:
        if (axis, group) not in calls and names_raters(axis) and group:
            numbers[axis] = numbers.get(axis, -1) + 1
            calls[axis, group] = _called(axis, group, rater_name(numbers[axis]))
    return calls


def _called(axis: str, group: str, name: str) -> str:
    """Replace an id with a name; an id that contains the sign of a crossing replaces the rest as well."""
    attributes, values = axis.split(CROSS), group.split(CROSS)
    if len(attributes) != len(values):
        return name
    return CROSS.join(name if one == "rater" else value for one, value in zip(attributes, values, strict=True))


def _renamed(one: Any, calls: Calls) -> Any:
    """Return a part of a result with its groups renamed."""
    if hasattr(one, "frame"):
        return replace(one, frame=_frame(one.frame, calls))
    if hasattr(one, "groups"):
        return replace(one, groups=tuple(calls.get((one.axis, group), group) for group in one.groups))
    if (one.axis, one.group) not in calls and (one.axis, one.other) not in calls:
        return one
    return replace(
        one, group=calls.get((one.axis, one.group), one.group), other=calls.get((one.axis, one.other), one.other)
    )


def _frame(frame: pl.DataFrame, calls: Calls) -> pl.DataFrame:
    if not calls or not {"axis", "group"} <= set(frame.columns):
        return frame
    names = [calls.get(key, key[1]) for key in frame.select("axis", "group").iter_rows()]
    return frame.with_columns(group=pl.Series(names, dtype=pl.String))


# Markdown ------------------------------------------------------------------------------------------------------------


def markdown_text(documents: Iterable[Document]) -> str:
    """Return tables and sentences as Markdown."""
    return "\n".join(map(_markdown_document, documents))


def _markdown_document(document: Document) -> str:
    parts = [f"## {_markdown(document.title)}\n"] if document.title else []
    for title, header, rows, *_ in document.texts:
        lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
        parts.append(f"### {_markdown(title)}\n")
        # A text must not end its cell.
        parts += [f"| {' | '.join(_markdown(cell.strip()).replace('|', _BAR) for cell in line)} |" for line in lines]
        parts.append("")
    return "\n".join([*parts, *(f"- {_markdown(sentence)}" for sentence in document.sentences)])


def _markdown(text: str) -> str:
    """Return a text that Markdown shows verbatim and that starts no HTML."""
    line = " ".join(harmless(text).splitlines())
    marked = _ACTING.sub(lambda found: f"{found[0]}\\" if found[0] == "]" else f"\\{found[0]}", line)
    return _ENTITY.sub("&amp;", marked).replace("<", "&lt;")


# LaTeX ---------------------------------------------------------------------------------------------------------------


def latex_text(documents: Iterable[Document]) -> str:
    r"""Return tables for a paper, to be included with ``\input``; notes and what stands out are comments below them."""
    documents = list(documents)
    shown = [table for document in documents for table in document.texts]
    long = ",longtable" if any(len(table.rows) > LONG for table in shown) else ""
    wide = ",adjustbox" if any(len(table.rows) <= LONG and _is_wide(table) for table in shown) else ""
    head = [f"% Needs \\usepackage{{booktabs{long}{wide}}}."]
    body = [line for document in documents for line in _latex_document(document)]
    if any(_BEYOND_LATIN.search(line) for line in body if not line.startswith("%")):
        head.append("% Some letters are not Latin: use XeLaTeX or LuaLaTeX and a font that has them.")
    return "\n".join([*head, *body])


def _latex_document(document: Document) -> list[str]:
    lines = []
    for at, table in enumerate(document.texts):
        explained = _has_signs(table) if document.legend == LEGEND else at == 0
        title = f"{document.title}: {table.title}" if document.title else table.title
        lines += ["", *_latex_table(table._replace(title=title), document.legend if explained else "")]
    for heading, said in (("Notes", document.notes), ("What stands out", document.sentences)):
        lines += ["", f"% {heading}:", *(f"% - {one_line(one)}" for one in said)] if said else []
    return lines


def _latex_table(table: View, legend: str) -> list[str]:
    """Return one table; a long one breaks across pages, and its legend is then a paragraph below it."""
    right = _right(table)
    columns = "".join("r" if one else "l" for one in right)
    header, *rows = (_latex_row(line, right) for line in (table.header, *table.rows))
    caption = f"\\caption{{{latex_escaped(table.title)}}}"
    explained = [f"\\par\\smallskip{{\\footnotesize {latex_escaped(legend)}\\par}}"] if legend else []
    body = [*rows, "\\bottomrule"]
    if len(rows) > LONG:
        top = [f"{caption} \\\\", "\\toprule", header, "\\midrule", "\\endfirsthead"]
        again = ["\\toprule", header, "\\midrule", "\\endhead"]
        return [f"\\begin{{longtable}}{{{columns}}}", *top, *again, *body, "\\end{longtable}", *explained]
    inner = [f"\\begin{{tabular}}{{{columns}}}", "\\toprule", header, "\\midrule", *body, "\\end{tabular}"]
    if _is_wide(table):
        inner = ["\\begin{adjustbox}{max width=\\linewidth}", *inner, "\\end{adjustbox}"]
    return ["\\begin{table}[htbp]", "\\centering", caption, *inner, *explained, "\\end{table}"]


def _is_wide(table: View) -> bool:
    """Return whether a table may be wider than a page, judging by the lengths of its longest cells."""
    lines = [table.header, *table.rows]
    return sum(max(len(line[at]) for line in lines) + 2 for at in range(len(table.header))) > WIDE


def _latex_row(line: Sequence[str], right: Sequence[bool]) -> str:
    cells = [latex_escaped(_MINUS.sub("−", cell) if at else cell) for cell, at in zip(line, right, strict=True)]
    start = "{}" if cells[0].startswith(("[", "*")) else ""  # the end of the row before would take them as its own
    return f"{start}{' & '.join(cells)} \\\\"


def latex_escaped(text: str) -> str:
    r"""Return a text on one line that LaTeX prints verbatim.

    Examples
    --------
    >>> print(latex_escaped("50 % of_A & B ↑ \x1b{x}"))
    50 \% of\_A \& B $\uparrow$ ?\{x\}
    """
    return _SPECIAL.sub(lambda found: _LATEX.get(found[0]) or "{}".join(found[0]), one_line(text))


# HTML ----------------------------------------------------------------------------------------------------------------


def html_text(documents: Iterable[Document], title: str = "plurivox") -> str:
    """Return a page whose tables keep their borders when pasted: every element carries its own style."""
    body = "\n".join(map(_html_document, documents))
    head = f'<meta charset="utf-8">\n<title>{_html(title)}</title>'
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n{head}\n</head>\n'
        f'<body style="{_FONT}background:#fff;margin:1.5em">\n{body}\n</body>\n</html>'
    )


def _html_document(document: Document) -> str:
    parts = [f'<h2 style="{_FONT}font-size:14pt">{_html(document.title)}</h2>'] if document.title else []
    parts += map(_html_table, document.texts)
    parts += [f'<p style="{_FONT}font-size:9pt">{_html(document.legend)}</p>'] if document.legend else []
    for said, size in ((document.notes, "9pt"), (document.sentences, "10pt")):
        items = "".join(f"\n<li>{_html(one)}</li>" for one in said)
        parts += [f'<ul style="{_FONT}font-size:{size}">{items}\n</ul>'] if items else []
    return "\n".join(parts)


def _html_table(table: View) -> str:
    right = _right(table)
    sides = [f"{_CELL}text-align:{'right' if one else 'left'}" for one in right]
    head = "".join(
        f'<th scope="col" style="{side};background:#eee">{_html(cell)}</th>'
        for cell, side in zip(table.header, sides, strict=True)
    )
    rows = [
        "".join(f'<td style="{side}">{_html(cell)}</td>' for cell, side in zip(line, sides, strict=True))
        for line in table.rows
    ]
    body = "\n".join(f"<tr>{one}</tr>" for one in rows)
    return (
        f'<p style="{_FONT}margin:1.2em 0 .4em"><strong>{_html(table.title)}</strong></p>\n'
        f'<table border="1" cellspacing="0" style="{_FONT}border-collapse:collapse">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    )


def _html(text: str) -> str:
    return escape(one_line(text))


def _right(table: View) -> list[bool]:
    """Return which columns are right-aligned; all but the first if there are no rows."""
    return right_columns(table.rows) or [at > 0 for at in range(len(table.header))]


# Notebooks -----------------------------------------------------------------------------------------------------------


def result_html(found: Any) -> str:
    """Return what a notebook shows of a result, with raters numbered unless ids are requested."""
    from plurivox.infer.result import Result

    kind, rests_on = heading_of(found)
    if not isinstance(found, Result):
        document = document_of(found, found.IN_NOTEBOOKS)
        grids = [_grid(table) for table in document.tables if table.rows]
        return card(kind, rests_on, said=sentences(found.statements()), grids=grids, more=found.ALL_ROWS)
    seen = for_people(found)
    # The sizes behind all raters together; for groups alone, the number of items.
    whole = [row for row in seen.rows if row.axis == ALL]
    n_items = max((row.n_items for row in whole or seen.rows), default=0)
    n_ratings = max((row.n_ratings for row in whole), default=0)
    sizes = [counted(n, what) for n, what in ((n_items, "item"), (n_ratings, "rating")) if n]
    beside = [", ".join(new)] if (new := [size for size in sizes if size not in rests_on]) else []
    if seen.settings.get("interval", "none") != "none" and "resample" in seen.settings:
        beside.append(f"95 % intervals {interval_method(seen.settings)}")
    rests_on = " · ".join([rests_on, *beside])
    views = (compact(seen, MOST_ROWS), by_model(seen, MOST_ROWS))
    grids = [_grid(view, found.ALL_ROWS) for view in views if view.rows]
    return card(kind, rests_on, said=sentences(seen.statements()), grids=grids, more=found.ALL_ROWS)


def sentences(said: Iterable[Statement]) -> list[CardSentence]:
    """Return statements in the form that a card needs."""
    return [CardSentence(one.text, one.claim, remark=one.weight <= 0) for one in said]


def _grid(view: View, all_rows: str = "") -> CardGrid:
    """Return a view as a table of a card; the intervals of a short one are in small type."""
    if not view.short:
        lines = view.text()
        return CardGrid(
            lines.header, right_columns(lines.rows), [list(map(CardCell, line)) for line in lines.rows], view.title
        )
    rows = [
        [
            CardCell(name, strong=not cells),
            *(_cell(one, to, arrows=view.arrows) for one, to in zip(cells, view.header[1:], strict=False)),
        ]
        for name, *cells in view.rows
    ]
    below = [legend] if (legend := legend_of([view], None, tested=True)) else []
    below += [f"{view.more}: {all_rows}"] if view.more else []
    return CardGrid(view.header, [False, *[True] * (len(view.header) - 1)], rows, view.title, below)


def _cell(cell: Any, heading: str, *, arrows: bool) -> CardCell:
    """Return a value with its interval in small type; one that stands out is bold and marked."""
    if cell is None:
        return CardCell("")
    value = Value.of(cell, form_of(heading), arrows=arrows)
    return CardCell(written(value), value.ends(".2f") if value.defined else "", strong="*" in value.after)


def frame_html(found: Any, *keys: str) -> str:
    """Return what a notebook shows of an object whose frame has a row for each statistic: a row for each key."""
    lines: dict[tuple[str, ...], dict[str, CardCell]] = {}
    for row in found.to_frame().iter_rows(named=True):
        key = tuple(str(row[name]) for name in keys)
        value = Value(row["value"], row.get("ci_low"), row.get("ci_high"))
        lines.setdefault(key, {})[row["statistic"]] = _cell(value, "", arrows=False)
    names = list(dict.fromkeys(name for own in lines.values() for name in own))
    rows = [[*map(CardCell, key), *(own.get(name, CardCell("")) for name in names)] for key, own in lines.items()]
    header = [*(key.replace("_", " ") for key in keys), *(LABELS.get(name, name) for name in names)]
    grid = CardGrid(header, [at > 0 for at in range(len(header))], rows)
    return card(*heading_of(found), said=sentences(found.statements()), grids=[grid], more="to_frame()")
