"""The options that tell every analysis where its ratings are and how to read them."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from plurivox.cli.printing import say

Text = str | None
Texts = list[str] | None


CONTEXT = "context"
"""The name of the parameter that knows what was given on the command line."""


def is_said(context: typer.Context, name: str) -> bool:
    """Return whether an option was given rather than left at its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP")


def option(help: str, metavar: str | None = None, *names: str, **more: Any) -> Any:  # noqa: A002
    """Return an option named after its parameter, or with the given names."""
    return typer.Option(*names, help=help, metavar=metavar, **more)


@dataclass(frozen=True)
class InputOptions:
    """What the command line says about the input; None where it says nothing."""

    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Ratings: CSV, TSV, JSON, Parquet, Arrow, Excel, SQLite, DuckDB, ZIP, a folder, an export of an "
            "annotation platform, or a packed study; FILE::NAME for a sheet or table in it, - for standard input.",
            show_default=False,
        ),
    ]
    raters: Annotated[Text, option("Table with one row per rater.", "FILE")] = None
    items: Annotated[Text, option("Table with one row per item.", "FILE")] = None
    item: Annotated[Text, option("Column with the item, or several that together form its id: a,b.", "COLUMN")] = None
    rater: Annotated[Text, option("Column with the rater.", "COLUMN")] = None
    score: Annotated[Text, option("Column with the score.", "COLUMN")] = None
    point_columns: Annotated[
        Text,
        option(
            "Columns instead of a score, one for each point: 'severity.*', or names in the order of the scale. A 1 "
            "marks the chosen point; with --totals they hold counts. Use '{rater}_severity.*' if each rater has "
            "columns.",
            "COLUMNS", "--one-hot", "--point-columns",
        ),
    ] = None  # fmt: skip
    scale: Annotated[
        Text,
        option("0:4, 0.5:5:0.5, No,Unsure,Yes (lowest first), likert-agree or another name, or a TOML file.", "POINTS"),
    ] = None
    poles: Annotated[Text, option("What the two ends of the scale mean, lowest first: safe,unsafe.", "LOW,HIGH")] = None
    missing: Annotated[
        Texts, option("An answer that means no rating, in addition to blank, NA, NaN and null. Repeatable.", "ANSWER")
    ] = None
    recode: Annotated[
        Text,
        option(
            "Combine points or ranges of the scale into new points: 0-2=no,3-4=yes; 2=missing drops one. 'into 5' "
            "makes five of equal width.",
            "RULE",
        ),
    ] = None
    unsafe_from: Annotated[
        Text, option("Split the scale into two points: below this one, and from it upwards.", "POINT")
    ] = None
    duplicates: Annotated[
        Text,
        option(
            "If a rater rated an item twice: error (default), first, last, mode, or keep (the first counts, the "
            "others are kept alongside).",
            "RULE", "--duplicates", "--repeats",
        ),
    ] = None  # fmt: skip
    time: Annotated[
        Text,
        option(
            "Column with the time of each rating: numbers of occasions or batches, or ISO dates.",
            "COLUMN", "--time", "--occasion",
        ),
    ] = None  # fmt: skip
    by: Annotated[
        Texts,
        option(
            "Rater attribute, or several to cross: race,gender. A column of the table of raters or of FILE. "
            "Repeatable.",
            "ATTRIBUTES",
        ),
    ] = None
    bin: Annotated[
        Texts,
        option(
            "Group a numeric rater attribute into intervals that start here: age=18,30,45. Repeatable.",
            "ATTRIBUTE=EDGES", "--bin",
        ),
    ] = None  # fmt: skip
    where: Annotated[
        Texts, option("Keep only raters or items with this value: removed=False. Repeatable.", "ATTRIBUTE=VALUE")
    ] = None
    rater_attributes: Annotated[Text, option("Columns of FILE that describe raters: age,gender.", "COLUMNS")] = None
    item_attributes: Annotated[Text, option("Columns of FILE that describe items: topic,text.", "COLUMNS")] = None
    conflicts: Annotated[
        Text,
        option(
            "If a rater or an item has conflicting values of an attribute: missing (default: treat it as unknown), "
            "first, or error.",
            "RULE",
        ),
    ] = None
    unknown: Annotated[
        Text,
        option(
            "Words that mean an attribute is unknown, instead of DATA_EXPIRED, CONSENT_REVOKED, Prefer not to say and "
            "the like; '' for none.",
            "WORDS",
        ),
    ] = None
    several: Annotated[
        Texts,
        option(
            "A rater may have several values of an attribute, with this separator: 'race=;'. Repeatable.",
            "ATTRIBUTE=SEPARATOR",
        ),
    ] = None
    weights: Annotated[
        Text,
        option(
            "Weight raters to a population: a table with attribute, value and share, such as gender,Woman,0.51.", "FILE"
        ),
    ] = None
    trim: Annotated[
        float | None, option("Limit each rater's weight to this many times the mean (default 5).", "TIMES", min=1)
    ] = None
    wide: Annotated[bool, typer.Option("--wide", help="FILE has one row per item and one column per rater.")] = False
    totals: Annotated[
        bool, typer.Option("--totals", help="FILE has one row per item and one column of counts per point.")
    ] = False
    questions: Annotated[
        Text, option("Columns that are questions, if each row is a respondent: Q1:Q20, Q1,Q3 or 'Q*'.", "COLUMNS")
    ] = None
    rejected: Annotated[Text, option("What to do with rejected answers: keep or drop.", "keep|drop")] = None
    unfinished: Annotated[
        Text, option("What to do with answers of people who did not finish: keep or drop.", "keep|drop")
    ] = None
    format: Annotated[
        Text, option("Format of FILE, if it is not recognised correctly: csv, label-studio, table …", "FORMAT")
    ] = None
    encoding: Annotated[Text, option("Encoding of the text, if not UTF-8.", "NAME")] = None
    min_group_size: Annotated[int | None, option("Withhold groups with fewer raters (default 5).", "N", min=1)] = None
    config: Annotated[Path | None, option("Use this file instead of the plurivox.toml next to FILE.", "FILE")] = None
    in_memory: Annotated[
        bool,
        typer.Option("--in-memory", help="Read a packed study into memory, for analyses that are not sums over items."),
    ] = False


ItemsFile = Annotated[
    str, typer.Argument(metavar="ITEMS", help="Table with one row per item: its id and its text.", show_default=False)
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Write into a folder that holds other files, replacing those with the same names."),
]
Seed = Annotated[int, option("Same seed, same result.", "N", min=0)]


@dataclass(frozen=True)
class ServerOptions:
    """What the command line says about a server of language models: keywords of :func:`plurivox.ask.run`."""

    base_url: Annotated[str, option("Any OpenAI-compatible server.", "URL")] = "https://api.openai.com/v1"
    key_variable: Annotated[str, option("Environment variable that holds the key.", "NAME")] = "OPENAI_API_KEY"
    concurrency: Annotated[int, option("Number of requests to send at once.", min=1)] = 16
    rate: Annotated[float | None, option("Send at most this many requests per minute.", "N")] = None
    timeout: Annotated[float, option("Seconds to wait for an answer.")] = 120.0
    attempts: Annotated[int, option("How many times to try a request.", min=1)] = 6
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Allow an unencrypted connection to another machine.")
    ] = False


NoTemperature = Annotated[
    bool, typer.Option("--no-temperature", help="Send no temperature, for models that accept none.")
]


def tell_compiling(kernel: object) -> None:
    """Say if a kernel will be compiled first, which takes a while."""
    from plurivox.kernels import compiled_before

    if not compiled_before(kernel):
        say("compiling, once for this and all later runs …")


def several_names(text: str | None) -> tuple[str, ...] | None:
    """Read ``batch,region``."""
    return tuple(text.split(",")) if text else None


ONE_VALUE = "ATTRIBUTE=VALUE"
"""The metavar of an option that is a mapping: all values are collected, so that a second one can be refused."""


def only_one(texts: Texts, option: str) -> Text:
    """Return the value of an option that takes one; click would silently keep the last of several."""
    if texts and len(texts) > 1:
        raise typer.BadParameter(
            f"{option} is given {len(texts)} times, but takes one value: give one {option} per run"
        )
    return texts[0] if texts else None


def attribute_value(texts: Texts, option: str) -> dict[str, str]:
    """Read ``gender=Woman``."""
    text = only_one(texts, option)
    if text is None:
        return {}
    attribute, sign, value = text.partition("=")
    if not sign or not attribute.strip() or not value.strip():
        raise typer.BadParameter(f"{option} needs ATTRIBUTE=VALUE, not {text!r}")
    return {attribute.strip(): value.strip()}


def taking(record: type, command: Callable[..., None], *, after: int | None = None) -> Callable[..., None]:
    """Give a command all options of a record; it gets them as its first argument.

    They come after the given number of the command's own options, or after all of them. If both have an option with the
    same name, the command's own is used, and the record keeps its default.
    """
    parameter, only = inspect.Parameter, inspect.Parameter.KEYWORD_ONLY
    own = [one.replace(kind=only) for one in list(inspect.signature(command, eval_str=True).parameters.values())[1:]]
    shared = [
        parameter(
            one.name, only, annotation=one.type, default=parameter.empty if one.default is MISSING else one.default
        )
        for one in fields(record)
        if one.name not in [known.name for known in own]
    ]
    after = len(own) if after is None else after

    @functools.wraps(command)
    def wrapper(**given: Any) -> None:
        command(record(**{one.name: given.pop(one.name) for one in shared}), **given)

    parameters = [*own[:after], *shared, *own[after:]]
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {one.name: one.annotation for one in parameters}
    del wrapper.__wrapped__
    return wrapper


reads_ratings = functools.partial(taking, InputOptions, after=0)
"""Give a command all options of :class:`InputOptions`; FILE is its first argument, or comes after the given number."""
