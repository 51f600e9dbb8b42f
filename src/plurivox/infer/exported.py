"""What every result can be written as for people: the tables printed by its command."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from plurivox.infer.exports import Document


class Exported:
    """A result whose tables of text are made by ``tables`` in the module of that name next to its own."""

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
        from plurivox.infer.exports import markdown_text

        return markdown_text([document_of(self, showing)])

    def to_latex(self, **showing: Any) -> str:
        """Return the same tables as LaTeX, with the rules of the booktabs package; what stands out is a comment."""
        from plurivox.infer.exports import latex_text

        return latex_text([document_of(self, showing)])

    def to_html(self, **showing: Any) -> str:
        """Return the same as an HTML page, to be pasted into a word processor or an email."""
        from plurivox.infer.exports import html_text

        return html_text([document_of(self, showing)])

    def _repr_html_(self) -> str:
        """Show the result in a notebook."""
        from plurivox.infer.notebook import result_html

        return result_html(self)


def document_of(result: Any, showing: Mapping[str, Any], title: str = "", lens: Any = None) -> Document:
    """Return what is shown of a result, with raters numbered unless ids are requested.

    Parameters
    ----------
    lens
        The record of the lens that made it; by default that of the package that holds its class, if there is one.
    """
    from plurivox.infer.exports import Document, legend_of
    from plurivox.infer.numbering import for_people
    from plurivox.infer.result import Result
    from plurivox.infer.text import Shown

    own = type(result).__module__
    package = own.rpartition(".")[0]
    for home in (own, package):  # a lens is one module, or a package
        lens = lens or getattr(importlib.import_module(home), "LENS", None)
    found = for_people(result) if isinstance(result, Result) else result
    sentences = found.findings() if hasattr(found, "findings") else []
    if lens is None:
        made = importlib.import_module(f"{package}.tables")
        return Document(made.tables(found, **showing), sentences, getattr(made, "LEGEND", ""), (), title)
    usual = {} if lens.showing is None else {name: spec.default for name, spec in lens.showing.specs().items()}
    tables = [Shown(*one) for one in lens.load("tables")(found, **{**usual, **showing})]
    notes = [*(lens.load("notes")(found) if lens.notes else ()), *([lens.closing] if lens.closing else ())]
    bare = lens.alone and not found.rows  # without ratings, the values that a legend explains are missing
    legend = "" if bare else legend_of(tables, lens.legend, tested=bool(lens.notes))
    return Document(tables, sentences, legend, notes, title)
