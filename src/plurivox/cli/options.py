"""The options by which every analysis is told where its ratings are and how to read them."""

import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer


def _option(*names: str, help: str, metavar: str | None = None) -> Any:  # noqa: A002
    return typer.Option(*names, help=help, metavar=metavar)


@dataclass(frozen=True)
class InputOptions:
    """What the command line says about the input; None where it says nothing."""

    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, JSON lines or Parquet, plain or .gz or .zst; - for standard input.",
            show_default=False,
        ),
    ]
    raters: Annotated[str | None, _option("--raters", help="Table with one row per rater.", metavar="FILE")] = None
    items: Annotated[str | None, _option("--items", help="Table with one row per item.", metavar="FILE")] = None
    item: Annotated[str | None, _option("--item", help="Column with the item.", metavar="COLUMN")] = None
    rater: Annotated[str | None, _option("--rater", help="Column with the rater.", metavar="COLUMN")] = None
    score: Annotated[str | None, _option("--score", help="Column with the score.", metavar="COLUMN")] = None
    scale: Annotated[
        str | None,
        _option("--scale", help="0:4, 0.5:5:0.5, No,Unsure,Yes (lowest first), or a TOML file.", metavar="POINTS"),
    ] = None
    missing: Annotated[
        list[str] | None,
        _option(
            "--missing",
            help="An answer that means no rating, besides blank, NA, NaN and null. Repeatable.",
            metavar="ANSWER",
        ),
    ] = None
    duplicates: Annotated[
        str | None,
        _option(
            "--duplicates",
            help="If a rater rated an item twice: error (default), first, last, or mode.",
            metavar="RULE",
        ),
    ] = None
    by: Annotated[
        list[str] | None,
        _option("--by", help="Rater attribute, or several to cross: race,gender. Repeatable.", metavar="ATTRIBUTES"),
    ] = None
    where: Annotated[
        list[str] | None,
        _option("--where", help="Keep only raters or items with this value: removed=False. Repeatable.",
                metavar="ATTRIBUTE=VALUE"),
    ] = None  # fmt: skip
    rater_attributes: Annotated[
        str | None,
        _option("--rater-attributes", help="Columns of FILE that describe raters: age,gender.", metavar="COLUMNS"),
    ] = None
    item_attributes: Annotated[
        str | None,
        _option("--item-attributes", help="Columns of FILE that describe items: topic,text.", metavar="COLUMNS"),
    ] = None
    several: Annotated[
        list[str] | None,
        _option(
            "--several",
            help="A rater may have several values of an attribute, separated so: 'race=;'. Repeatable.",
            metavar="ATTRIBUTE=SEPARATOR",
        ),
    ] = None
    wide: Annotated[bool, typer.Option("--wide", help="FILE has one row per item, one column per rater.")] = False
    totals: Annotated[
        bool, typer.Option("--totals", help="FILE has one row per item, one column of counts per point.")
    ] = False
    format: Annotated[
        str | None, _option("--format", help="csv, tsv, jsonl or parquet, if the name does not tell.", metavar="FORMAT")
    ] = None
    encoding: Annotated[
        str | None, _option("--encoding", help="Encoding of the text, if not UTF-8.", metavar="NAME")
    ] = None
    min_group_size: Annotated[
        int | None,
        typer.Option("--min-group-size", help="Withhold groups with fewer raters (default 5).", min=1, metavar="N"),
    ] = None
    config: Annotated[
        Path | None,
        typer.Option("--config", help="Use this file instead of the plurivox.toml beside FILE.", metavar="FILE"),
    ] = None


ItemsFile = Annotated[
    str, typer.Argument(metavar="ITEMS", help="Table with one row per item: its id and its text.", show_default=False)
]
Seed = Annotated[int, typer.Option("--seed", help="Same seed, same result.", min=0, metavar="N")]
Threads = Annotated[int | None, typer.Option("--threads", help="How many to use (default: all).", min=1, metavar="N")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")]


BaseUrl = Annotated[str, _option("--base-url", help="Any OpenAI-compatible server.", metavar="URL")]
KeyVariable = Annotated[str, _option("--key-variable", help="Environment variable that holds the key.", metavar="NAME")]
Concurrency = Annotated[int, typer.Option("--concurrency", help="Requests on their way at once.", min=1)]
Rate = Annotated[float | None, _option("--rate", help="At most so many requests per minute.", metavar="N")]
Timeout = Annotated[float, typer.Option("--timeout", help="Seconds to wait for an answer.")]
Attempts = Annotated[int, typer.Option("--attempts", help="How often to try a request.", min=1)]
Insecure = Annotated[bool, typer.Option("--insecure", help="Allow an unencrypted connection to another machine.")]
NoTemperature = Annotated[bool, typer.Option("--no-temperature", help="Send none, for models that take none.")]


def one_format(*, json: bool, csv: bool, markdown: bool) -> None:
    """Raise if more than one output format is asked for."""
    if sum((json, csv, markdown)) > 1:
        raise typer.BadParameter("choose one of --json, --csv and --markdown")


def tell_compiling(kernel: object) -> None:
    """Say so if a kernel will be compiled first, which takes a while."""
    from plurivox.kernels import compiled_before

    if not compiled_before(kernel):
        print("compiling once, for this and all later runs …", file=sys.stderr)


def several_names(text: str | None) -> tuple[str, ...] | None:
    """Read ``batch,region``."""
    return tuple(text.split(",")) if text else None


def attribute_value(text: str | None, option: str) -> dict[str, str]:
    """Read ``gender=Woman``."""
    if text is None:
        return {}
    attribute, sign, value = text.partition("=")
    if not sign or not attribute.strip() or not value.strip():
        raise typer.BadParameter(f"{option} needs ATTRIBUTE=VALUE, not {text!r}")
    return {attribute.strip(): value.strip()}


def reads_ratings(command: Callable[..., None], *, after: int = 0) -> Callable[..., None]:
    """Give a command all options of :class:`InputOptions`; it gets them as its first argument.

    FILE is the command's first argument, or comes after so many of its own.
    """
    names = [one.name for one in fields(InputOptions)]
    shared = [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=one.type,
            default=inspect.Parameter.empty if one.default is MISSING else one.default,
        )
        for one in fields(InputOptions)
    ]
    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    ]

    @functools.wraps(command)
    def wrapper(**given: Any) -> None:
        command(InputOptions(**{name: given.pop(name) for name in names}), **given)

    parameters = [*own[:after], *shared, *own[after:]]
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {one.name: one.annotation for one in parameters}
    del wrapper.__wrapped__
    return wrapper
