"""The forms in which results are output: ``--csv`` prints one, ``--csv FILE`` writes it.

The word after such an option is the file to write if it has an extension of that form; so ``--json ratings.csv`` reads
ratings.csv and prints JSON. At most one form is printed; any number can be written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from plurivox.base.wording import escaped
from plurivox.cli.options import option, parameter, taking
from plurivox.cli.printing import put, put_csv, put_json, say

if TYPE_CHECKING:
    import polars as pl

    from plurivox.infer.exports import Document

FORMS: dict[str, tuple[str, ...]] = {
    "json": (".json",),
    "csv": (".csv", ".parquet", ".jsonl"),
    "markdown": (".md", ".markdown"),
    "latex": (".tex",),
    "html": (".html", ".htm"),
}
"""The forms in which results are printed or written, and the extensions of their files."""
PRINTED = "-"
"""The value of an option without a file."""
_OTHER_FILES = {"chart": "--chart", "output": "-o"}
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def _form(name: str, what: str) -> Any:
    return option(f"Print {what}, or write {_endings(name)}.", "[FILE]", f"--{name}")


def _endings(name: str) -> str:
    *others, last = FORMS[name]
    return f"{', '.join(others)} or {last}" if others else last


Json = Annotated[str | None, _form("json", "JSON")]
OPTIONS: dict[str, Any] = {
    "json": Json,
    "csv": Annotated[str | None, _form("csv", "CSV")],
    "markdown": Annotated[str | None, _form("markdown", "Markdown tables")],
    "latex": Annotated[str | None, _form("latex", "LaTeX tables")],
    "html": Annotated[str | None, _form("html", "tables to paste into a word processor or an email")],
}


def in_forms(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of all forms; its first argument is what they say, by name."""
    return taking(command, [parameter(name, kind, None) for name, kind in OPTIONS.items()], dict)


class Command(TyperCommand):
    """A command whose options for forms may be followed by a file."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options, those for forms with or without a file."""
        own = {option for one in self.params for option in one.opts if option.removeprefix("--") in FORMS}
        words = [f"{word}={file or PRINTED}" if word in own else word for word, file in _pairs(args, own)]
        asked = [word.partition("=")[0] for word in (words[: words.index("--")] if "--" in words else words)]
        for name in sorted(own):
            if asked.count(name) > 1:  # only one file would be written
                raise typer.BadParameter(f"{name} is given more than once; name one file", ctx)
        try:
            return super().parse_args(ctx, words)
        except _UsageError as error:
            raise _explained(error, ctx, args, own) from None


def _pairs(args: Sequence[str], own: set[str]) -> Iterable[tuple[str, str | None]]:
    """Yield each word with the file that belongs to it, which is then not yielded itself."""
    words = list(args)
    while words:
        word = words.pop(0)
        if word == "--":
            yield from ((one, None) for one in (word, *words))
            return
        takes = word in own and words and _is_file(word, words[0])
        yield word, words.pop(0) if takes else None


def _is_file(option: str, word: str) -> bool:
    return not word.startswith("-") and word.lower().endswith(FORMS[option.removeprefix("--")])


def _explained(error: Exception, context: Any, args: Sequence[str], own: set[str]) -> Exception:
    """Return an error that says which word an option for a form used or refused as its file, if that is the cause."""
    kind, text = type(error).__name__, str(error)
    if kind == "MissingParameter" and getattr(getattr(error, "param", None), "param_type_name", "") == "argument":
        taken = took({word.removeprefix("--"): file for word, file in _pairs(args, own) if file is not None})
        return typer.BadParameter(f"an argument is missing: {taken}", context) if taken else error
    for name, word in pairwise(args):
        if "unexpected extra" in text and name in own and f"({word})" in text and not _is_file(name, word):
            ending = f"{name} writes a file ending in {_endings(name[2:])}, not {word!r}"
            return typer.BadParameter(ending, context)
    return error


def took(given: Mapping[str, str | None]) -> str:
    """Say which word was used as a file to write, and how to avoid that; empty if none was."""
    for form in FORMS:
        if given.get(form) not in (None, PRINTED):
            return f"--{form} took {given[form]} as the file to write; put FILE before it, or put --{form} last"
    return ""


@dataclass(frozen=True, slots=True)
class Outputs:
    """Which form is printed, if any, and which are written."""

    printed: str | None
    files: Mapping[str, Path]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Outputs:
        """Return what the command line requests, or raise before anything is read."""
        from plurivox.base.files import will_write

        asked: dict[str, str] = {form: given[form] for form in FORMS if given.get(form) is not None}
        printed = [form for form, value in asked.items() if value == PRINTED]
        if len(printed) > 1:
            choices = " and ".join(f"--{form}" for form in printed)
            raise typer.BadParameter(f"only one of {choices} can be printed; name files for the others: --csv out.csv")
        files = {form: Path(value) for form, value in asked.items() if value != PRINTED}
        for form, path in files.items():
            if not path.name.lower().endswith(FORMS[form]):
                raise typer.BadParameter(f"--{form} writes a file ending in {_endings(form)}, not {str(path)!r}")
            for other, name in _OTHER_FILES.items():
                if given.get(other) is not None and given[other].absolute() == path.absolute():
                    raise typer.BadParameter(f"{name} and --{form} name the same file")
        will_write(*files.values())
        return cls(printed[0] if printed else None, files)

    def __bool__(self) -> bool:
        return self.printed is not None or bool(self.files)

    def deliver(
        self,
        *,
        show: Callable[[], None],
        json: Callable[[], str],
        csv: Callable[[], Any] = tuple,
        documents: Callable[[], Sequence[Document]] = tuple,
        flat: Callable[[pl.DataFrame], pl.DataFrame] = lambda frame: frame,
    ) -> None:
        """Write and print what was requested, or show it if nothing was.

        Parameters
        ----------
        show
            Prints on the terminal.
        json, csv, documents
            Make the content of the forms.
        flat
            Turns a frame into one that CSV can hold.
        """
        if not self:
            show()
            return
        from plurivox.base.csv_files import csv_text, write_frame
        from plurivox.base.files import write_text
        from plurivox.infer.exports import html_text, latex_text, markdown_text

        texts = {"markdown": markdown_text, "latex": latex_text, "html": html_text}
        own: dict[str, Callable[[], Any]] = {"json": json, "csv": csv}
        forms = [*self.files, *([self.printed] if self.printed else [])]
        made: dict[str, Any] = {form: own[form]() if form in own else texts[form](documents()) for form in forms}
        for form, path in self.files.items():
            if form == "csv":
                write_frame(path, made[form], flat)
            else:
                write_text(path, f"{escaped(made[form]) if form == 'json' else made[form]}\n")
            say(f"{form}: {path}") if self.printed else put(path)
        if self.printed == "csv":
            put_csv(csv_text(flat(made["csv"])))
        elif self.printed is not None:
            (put_json if self.printed == "json" else put)(made[self.printed])


def json_of(texts: Sequence[str]) -> str:
    """Return the JSON of one result as it is, and that of several as a list."""
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
