"""The options that tell every analysis where its ratings are and how to read them."""

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plurivox.cli.printing import say
from plurivox.read.settings import ReadSettings

if TYPE_CHECKING:
    from plurivox.base.settings import Spec

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


def output_option(help: str, metavar: str = "FILE") -> Any:  # noqa: A002
    """Return the option that names what to write."""
    return option(help, metavar, "--output", "-o")


ONE_VALUE = "ATTRIBUTE=VALUE"
"""The metavar of an option that is a mapping: all values are collected, so that a second one can be refused."""
_FILE = typer.Argument(
    metavar="FILE",
    help="Ratings: CSV, TSV, JSON, Parquet, Arrow, Excel, SQLite, DuckDB, ZIP, a folder, an export of an annotation "
    "platform, or a packed study; FILE::NAME for a sheet or table in it, - for standard input.",
    show_default=False,
)
FILE, OPTIONAL_FILE = Annotated[str, _FILE], Annotated[str | None, _FILE]
CONFIG = Annotated[Path | None, option("Use this file instead of the plurivox.toml next to FILE.", "FILE")]


@dataclass(frozen=True)
class InputOptions:
    """What the command line says about the input: the files, settings of reading by name, and the config to use."""

    file: Any
    said: Mapping[str, Any] = field(default_factory=dict)
    config: Path | None = None


def parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """Return what typer needs to know about an option."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def setting_parameter(spec: "Spec", name: str | None = None, *, unsaid: bool = False) -> inspect.Parameter:
    """Return the option of a setting: a flag for a bool; if its text is parsed, the default is shown as text.

    If it is ``unsaid``, its default is None rather than that of the setting.
    """
    kind: Any = spec.kind if spec.parse is None and spec.kind is not None else str
    default = spec.default
    if spec.flag:
        kind, default = bool, False
    elif unsaid:
        kind, default = list[str] if spec.repeated else kind, None
    elif spec.repeated or spec.metavar == ONE_VALUE:
        kind, default = list[str] | None, None
    elif spec.parse is not None:
        default = _text(default)
    if default is None:
        kind = kind | None
    names = (str(spec.option), *spec.aliases)
    made = typer.Option(*names, help=spec.help, metavar=spec.metavar, min=spec.least, max=spec.most)
    return parameter(name or spec.name, Annotated[kind, made], default)


def _text(default: Any) -> str | None:
    """Return a default as it would be written on the command line, None for nothing."""
    if isinstance(default, str):
        return default
    if default is None or (isinstance(default, Collection) and not default):
        return None
    if isinstance(default, tuple):
        return ",".join(str(_text(one)) for one in default)
    return f"{default:g}" if isinstance(default, float) else str(default)


def _place(spec: "Spec") -> str:
    """Return the name by which a command gets the option of a setting; settings of lenses may have the other name."""
    return str(spec.option).strip("-").replace("-", "_")


@functools.cache
def _reading_options(settings: type[ReadSettings]) -> list[inspect.Parameter]:
    """Return the options for reading: tables beside FILE, and the others as they are declared."""
    found = []
    for spec in sorted(settings.specs().values(), key=lambda one: one.name not in ("raters", "items")):
        if spec.flags is None:
            found.append(setting_parameter(spec, _place(spec), unsaid=True))
        for name, told in (spec.flags or {}).items():
            found.append(parameter(name, Annotated[bool, option(told, None, f"--{name}")], False))
    found.insert(-1, parameter("config", CONFIG, None))  # both of the last two say how to read as a whole
    return found


def reading_parameters(settings: type[ReadSettings] = ReadSettings, file: Any = FILE) -> list[inspect.Parameter]:
    """Return FILE and all options for reading."""
    default = None if file == OPTIONAL_FILE else inspect.Parameter.empty
    return [parameter("file", file, default), *_reading_options(settings)]  # type: ignore[arg-type]  # as in base/settings


def reading_of(given: Mapping[str, Any], settings: type[ReadSettings] = ReadSettings) -> InputOptions:
    """Return what the options for reading say; an empty text says nothing, unless the setting reads texts itself."""
    said: dict[str, Any] = {}
    for name, spec in settings.specs().items():
        if spec.flags is not None:
            chosen = [flag for flag in spec.flags if given.get(flag)]
            if len(chosen) > 1:
                raise typer.BadParameter(f"give only one of {' and '.join(f'--{flag}' for flag in spec.flags)}")
            said |= {name: chosen[0]} if chosen else {}
            continue
        value = given.get(_place(spec))
        if value is None or value is False or value == [] or (value == "" and spec.parse is None):
            continue
        try:
            said[name] = value if spec.parse is None else spec.parse(value)
        except ValueError as error:
            raise typer.BadParameter(f"{spec.option} {error}") from None
        if spec.choices is not None and value not in spec.choices:
            raise typer.BadParameter(f"{spec.option} is one of {', '.join(spec.choices)}, not {value!r}")
    return InputOptions(given["file"], said, given.get("config"))


ItemsFile = Annotated[
    str, typer.Argument(metavar="ITEMS", help="Table with one row per item: its id and its text.", show_default=False)
]
Force = Annotated[
    bool,
    option("Write into a folder that holds other files, replacing those with the same names.", None, "--force"),
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
    insecure: Annotated[bool, option("Allow an unencrypted connection to another machine.", None, "--insecure")] = False


NoTemperature = Annotated[bool, option("Send no temperature, for models that accept none.", None, "--no-temperature")]


def tell_compiling(kernel: object) -> None:
    """Say if a kernel will be compiled first, which takes a while."""
    from plurivox.kernels import compiled_before

    if not compiled_before(kernel):
        say("compiling, once for this and all later runs …")


def several_names(text: str | None) -> tuple[str, ...] | None:
    """Read ``batch,region``."""
    return tuple(text.split(",")) if text else None


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


def taking(
    command: Callable[..., None],
    shared: Sequence[inspect.Parameter],
    made: Callable[[dict[str, Any]], Any],
    after: int | None = None,
) -> Callable[..., None]:
    """Give a command shared options; it gets as its first argument what is made of their values.

    A command may be given several such sets, the one of its last such argument as the outermost.

    They come after the given number of the command's own options, or after all of them. If both have an option with the
    same name, the command's own is used, and the shared one says nothing.
    """
    known = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in known]
    shared = [one for one in shared if one.name not in [other.name for other in known]]
    after = len(own) if after is None else after

    @functools.wraps(command)
    def wrapper(*others: Any, **given: Any) -> None:
        command(made({one.name: given.pop(one.name) for one in shared}), *others, **given)

    parameters = [*own[:after], *shared, *own[after:]]
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {one.name: one.annotation for one in parameters}
    del wrapper.__wrapped__
    return wrapper


def reads_ratings(command: Callable[..., None], *, after: int = 0, file: Any = FILE) -> Callable[..., None]:
    """Give a command all options for reading; FILE is its first argument, or comes after the given number."""
    return taking(command, reading_parameters(file=file), reading_of, after)


def asks_server(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all options of :class:`ServerOptions`."""
    shared = [parameter(one.name, one.type, one.default) for one in fields(ServerOptions)]
    return taking(command, shared, lambda given: ServerOptions(**given))
