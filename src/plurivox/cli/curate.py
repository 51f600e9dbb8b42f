"""``plurivox curate``: training data that keep the view of every group."""

import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plurivox.actions.curate import CURATE
from plurivox.cli.lens import ask, asked_of, command_asking, parameter
from plurivox.cli.loading import Loaded, load
from plurivox.cli.options import InputOptions, option
from plurivox.cli.outputs import Json, Outputs
from plurivox.cli.printing import say

if TYPE_CHECKING:
    from plurivox.actions.curate.result import Curation

Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="JSON Lines file to write, such as pairs.jsonl.", metavar="FILE")
]
Selected = Annotated[
    Path | None,
    option(
        "Table whose column rater lists the raters to use instead of the most responsive ones, as printed by plurivox "
        "select --csv.",
        "FILE",
    ),
]
Decided = Annotated[
    Path | None,
    typer.Option("--decisions", help="A list of pairs with a person's decisions filled in.", metavar="FILE"),
]
_OWN = (("output", Output, None), ("selected", Selected, None), ("decisions", Decided, None), ("json", Json, None))


def _curate(reading: InputOptions, given: Mapping[str, Any]) -> None:
    from plurivox import __version__
    from plurivox.actions.curate.files import check_output, read_decisions, read_selected, write_curation
    from plurivox.base.files import will_write

    output, decisions, selected = (given[name] for name in ("output", "decisions", "selected"))
    outputs = Outputs.of(given)
    if (output is None) != bool(outputs):
        raise typer.BadParameter("either name a file to write with -o or print everything with --json")
    if output is not None:
        will_write(*check_output(output))
    asked = asked_of(CURATE, reading, given)
    decided = None if decisions is None else read_decisions(decisions)
    loaded = load(reading)
    _check_axis(loaded)
    raters = None if selected is None else read_selected(selected)
    found = ask(CURATE, reading, loaded, given, asked, raters=raters, decisions=decided)

    def write() -> None:
        written = write_curation(found, output, decisions=decisions, command=_command(), version=__version__)
        _show(found, written.paths())
        if written.decisions is not None and found.n_undecided:
            say("enter include or exclude in the column decision, then run --decisions")

    outputs.deliver(show=write, json=found.to_json)


def _check_axis(loaded: Loaded) -> None:
    axes = loaded.by or []
    if len(axes) != 1:
        raise typer.BadParameter("name the groups to curate for with one --by, such as --by ethnicity")
    overlap = [attribute for attribute in axes[0] if attribute in loaded.several]
    if overlap:
        raise typer.BadParameter(
            f"a rater may have several values of '{overlap[0]}', so its groups overlap and cannot be curated for; "
            "without --several each combination is its own group"
        )


def _command() -> str:
    """Return the command as it was given, without the ids of raters."""
    words = [re.sub(r"^(--[a-z-]+=)?rater\s*=.*", r"\1rater=…", word, flags=re.DOTALL) for word in sys.argv[1:]]
    return shlex.join(["plurivox", *words])


def _show(found: "Curation", paths: list[Path]) -> None:
    from rich.text import Text

    from plurivox.cli.console import console
    from plurivox.cli.tables import show_result

    out = console()
    show_result(CURATE, found, out)
    for path in paths:
        out.print(Text(str(path)), soft_wrap=True)


curate = command_asking(CURATE, _curate, [parameter(*one) for one in _OWN])
