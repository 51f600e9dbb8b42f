"""The ``plurivox`` program: its commands, and how errors and warnings reach a person."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command_name

from plurivox import __version__
from plurivox.actions.advise import ADVISE
from plurivox.actions.select import SELECT
from plurivox.base.errors import PlurivoxError, PlurivoxWarning
from plurivox.base.files import one_call
from plurivox.base.settings.record import REMOVED as REMOVED_SETTINGS
from plurivox.base.wording import sentence
from plurivox.cli.answers import answers
from plurivox.cli.ask import ask
from plurivox.cli.curate import curate, soft_labels
from plurivox.cli.data import data, pack, reproduce
from plurivox.cli.fit import fit, predict
from plurivox.cli.lens import lens_command
from plurivox.cli.outputs import Command
from plurivox.cli.printing import put, say
from plurivox.cli.report import describe, report, serve
from plurivox.cli.running import INTERRUPTED, NOBODY_READS, OutputFailed, end_at_once, standard_streams, stoppable
from plurivox.cli.simulate import demo, simulate
from plurivox.lenses import lenses


def _version(wanted: bool) -> None:
    if wanted:
        put(f"plurivox {__version__}")
        raise typer.Exit


def _program(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class _Program(TyperGroup):
    """Commands in families; usage errors, which quote what was given, are harmless and short."""

    def make_context(self, *given: Any, **more: Any) -> Any:
        """Read what comes before the command."""
        with _quoted():
            return super().make_context(*given, **more)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command, or say what does now what a removed one did."""
        if args[0] in REMOVED:
            raise _UsageError(f"plurivox {args[0]} {REMOVED[args[0]]}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Read what comes after the command, and run it."""
        with _quoted():
            return super().invoke(ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each family of commands under its heading, with the first sentence of each command's help."""
        width = max(map(len, self.commands))
        for family in FAMILIES:
            own = {name: one for name, one in self.commands.items() if family_of(name) == family}
            if own:
                with formatter.section(family):
                    formatter.write_dl(
                        [(name.ljust(width), one.get_short_help_str(_SENTENCE)) for name, one in own.items()]
                    )


@contextlib.contextmanager
def _quoted() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        option = getattr(error, "option_name", "")
        removed = REMOVED_SETTINGS.get(option.removeprefix("--").replace("-", "_"))
        error.message = f"{option} {removed}" if removed else sentence(error.message)  # type: ignore[attr-defined]
        if removed:
            error.possibilities = None  # type: ignore[attr-defined]  # options that are spelled like it replace nothing
        raise


def program(only: str = "") -> typer.Typer:
    """Return the program with all commands or, to save time, with only one of them."""
    made = typer.Typer(
        name="plurivox",
        cls=_Program,
        help="Ratings from diverse people: what they say together, and where they see things differently.",
        epilog="Start with: plurivox demo",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_program)
    for name, command in _commands(only).items():
        made.command(name, cls=Command)(command)
    return made


def _commands(only: str) -> dict[str, Callable[..., Any]]:
    """Return the commands by name, in the order of the help, or only the one that is asked for."""
    others = {get_command_name(one.__name__): one for one in COMMANDS}
    known = {lens.command: lens for lens in lenses()}
    if only in known:
        return {only: lens_command(known[only])}
    if only in others:
        return {only: others[only]}
    made = {name: lens_command(lens) for name, lens in known.items()} | others
    listed = [name for family in FAMILIES.values() for name in family]
    return {name: made[name] for name in (*listed, *made) if name in made}


COMMANDS: tuple[Callable[..., Any], ...] = (
    demo, describe, simulate, lens_command(ADVISE), lens_command(SELECT), curate, soft_labels, ask, answers, fit,
    predict, report, serve, data, pack, reproduce,
)  # fmt: skip
"""Every command that is not a lens."""
_LENSES = "Lenses (analyses)"
FAMILIES: dict[str, tuple[str, ...]] = {
    "Look first": ("demo", "describe", "simulate"),
    _LENSES: ("variation", "cohesion", "responsiveness", "scale", "score", "align"),
    "Act on results": ("advise", "select", "curate", "soft-labels", "item", "items"),
    "Models": ("ask", "answers", "judge", "estimate", "fit", "predict", "aggregate"),
    "Show results": ("report", "serve"),
    "Data": ("data", "pack", "reproduce"),
}
"""What ``plurivox --help`` lists together, under which heading, and in which order."""
REMOVED = {"work": "was removed: to use many machines, give an analysis --dask, such as --dask tcp://scheduler:8786"}
"""Commands of the version before, each with what to use instead; the next version need not know them."""
_SENTENCE = 1_000  # characters: longer than any first sentence, so that none is cut


def family_of(command: str) -> str:
    """Return the heading under which a command is listed; a lens without a family is listed with the lenses."""
    return next((family for family, names in FAMILIES.items() if command in names), _LENSES)


def main() -> None:
    """Run the program; errors that plurivox raises on purpose are printed as one line on standard error."""
    with warnings.catch_warnings(), stoppable() as stopped, standard_streams():
        warnings.simplefilter("always", PlurivoxWarning)
        warnings.showwarning = _show_warning
        code = _run()
    raise SystemExit(128 + stopped[-1] if stopped and code == INTERRUPTED else code)


def _run() -> int:
    """Run the program and return its exit code."""
    try:
        with one_call():
            try:
                program(*sys.argv[1:2])(prog_name="plurivox")
            finally:
                sys.stdout.flush()
    except SystemExit as end:
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            return _interrupted()  # the command has not reported it itself
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return _interrupted()
    except PlurivoxError as error:
        return _failed(str(error))
    except OutputFailed as error:
        return NOBODY_READS if error.nobody_reads else _failed(str(error))
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        return _failed(f"{where}{error.strerror or error}")
    return 0


def _interrupted() -> int:
    end_at_once()
    say("interrupted; nothing half-written is left")
    return INTERRUPTED


def _failed(problem: str) -> int:
    say(f"error: {problem}")
    return 1


def _show_warning(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
    if issubclass(category, PlurivoxWarning):
        say(f"warning: {message}")
