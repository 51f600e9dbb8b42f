"""``plurivox curate``: training data from ratings, with the view of every group."""

import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plurivox.cli.loading import Loaded, load, load_reference
from plurivox.cli.options import (
    Against,
    Bootstrap,
    Json,
    Reading,
    ReferenceScale,
    ReferenceWhere,
    Seed,
    Threads,
    Threshold,
    reads_ratings,
    tell_compiling,
)

if TYPE_CHECKING:
    from plurivox.actions.curate.run import Curation
    from plurivox.results.text import Shown


@reads_ratings
def curate(
    reading: Reading,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="JSON lines to write, as pairs.jsonl.", metavar="FILE"),
    ] = None,
    reference: Against = "crowd",
    reference_scale: ReferenceScale = None,
    reference_where: ReferenceWhere = None,
    threshold: Threshold = None,
    form: Annotated[
        str,
        typer.Option(
            "--form",
            help="pairs of responses to one prompt, points, or auto: pairs if items have prompt and response.",
            metavar="FORM",
        ),
    ] = "auto",
    prompt: Annotated[
        str | None, typer.Option("--prompt", help="Item attribute with the prompt (default: prompt).", metavar="COLUMN")
    ] = None,
    response: Annotated[
        str | None,
        typer.Option("--response", help="Item attribute with the response (default: response).", metavar="COLUMN"),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option("--text", help="Item attribute with the text, for points (default: text).", metavar="COLUMN"),
    ] = None,
    selected: Annotated[
        Path | None,
        typer.Option(
            "--selected",
            help="Table whose column rater names the raters to take, as plurivox select --csv prints it, instead of "
            "the most responsive ones.",
            metavar="FILE",
        ),
    ] = None,
    per_group: Annotated[
        int,
        typer.Option("--per-group", help="Take so many of the most responsive raters of a group.", min=1, metavar="N"),
    ] = 5,
    min_ratings: Annotated[
        int,
        typer.Option(
            "--min-ratings", help="Only raters with so many ratings of items with a reference.", min=0, metavar="N"
        ),
    ] = 20,
    min_votes: Annotated[
        int,
        typer.Option(
            "--min-votes", help="An item needs scores of so many selected raters of a group.", min=1, metavar="N"
        ),
    ] = 2,
    min_margin: Annotated[
        float,
        typer.Option(
            "--min-margin", help="Pairs lie so far apart at least, in units of the scale.", min=0, metavar="D"
        ),
    ] = 0.5,
    per_point: Annotated[
        int,
        typer.Option(
            "--per-point", help="At most so many items at each point of the scale, per group.", min=1, metavar="N"
        ),
    ] = 50,
    low_by: Annotated[
        float,
        typer.Option(
            "--low-by", help="MPA or WRA is low if so far below the median of the groups.", min=0, metavar="D"
        ),
    ] = 0.05,
    granular_weight: Annotated[
        float, typer.Option("--granular-weight", help="Weight of groups with low MPA only.", metavar="WEIGHT")
    ] = 0.5,
    broad_weight: Annotated[
        float, typer.Option("--broad-weight", help="Weight of groups with low WRA only.", metavar="WEIGHT")
    ] = 0.5,
    decisions: Annotated[
        Path | None,
        typer.Option("--decisions", help="A list of pairs with a person's decisions filled in.", metavar="FILE"),
    ] = None,
    higher_is_better: Annotated[
        bool, typer.Option("--higher-is-better", help="Prefer the higher score, for ratings of quality.")
    ] = False,
    bootstrap: Bootstrap = 1000,
    seed: Seed = 0,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Make training data from ratings that keep the view of every group (--by).

    Of each group the raters most responsive to the reference are selected, and items over the whole scale by their
    scores. Where items have a prompt and a response, each line is a pair of responses with margin and weight;
    otherwise an item with its score. A page beside the file explains every field. Where a group sees things quite
    differently from the reference, pairs are listed in a .decisions.csv for a person to judge; --decisions reads it.
    """
    from plurivox import __version__
    from plurivox.actions.curate.files import check_output, read_decisions, read_selected, write_curation
    from plurivox.actions.curate.run import curate as analyse
    from plurivox.cli.progress import telling
    from plurivox.kernels.responsiveness import permuted_values

    if (output is None) != json:
        raise typer.BadParameter("name a file to write with -o, or print everything with --json; one of the two")
    if output is not None:
        _refuse_inputs(check_output(output), reading, reference, selected, decisions)
    decided = None if decisions is None else read_decisions(decisions)
    loaded = load(reading)
    by = _one_axis(loaded)
    against = load_reference(reference, reading, loaded.ratings, reference_scale, reference_where)
    tell_compiling(permuted_values)
    with telling() as progress:
        found = analyse(
            loaded.ratings,
            against,
            by,
            form=form,
            prompt=prompt,
            response=response,
            text=text,
            threshold=threshold,
            raters=None if selected is None else read_selected(selected),
            per_group=per_group,
            min_ratings=min_ratings,
            min_votes=min_votes,
            min_margin=min_margin,
            per_point=per_point,
            low_by=low_by,
            granular_weight=granular_weight,
            broad_weight=broad_weight,
            decisions=decided,
            higher_is_better=higher_is_better,
            bootstrap=bootstrap,
            seed=seed,
            min_group_size=loaded.min_group_size,
            threads=threads,
            progress=progress,
        )
    if output is None:
        print(found.to_json())
        return
    written = write_curation(found, output, decisions=decisions, command=_command(), version=__version__)
    _show(found, written.paths())
    if written.decisions is not None and found.n_undecided:
        print("write include or exclude into the column decision, then use --decisions", file=sys.stderr)


def _one_axis(loaded: Loaded) -> tuple[str, ...]:
    axes = loaded.by or []
    if len(axes) != 1:
        raise typer.BadParameter("name the groups to curate for with one --by, as --by ethnicity")
    overlap = [attribute for attribute in axes[0] if attribute in loaded.several]
    if overlap:
        raise typer.BadParameter(
            f"a rater may have several values of '{overlap[0]}', so its groups overlap and cannot be curated for; "
            "without --several each combination is a group of its own"
        )
    return axes[0]


def _refuse_inputs(output: Path, reading: Reading, *others: str | Path | None) -> None:
    """Raise if the output, or a file beside it, is one that is read."""
    from plurivox.actions.curate.files import beside

    for name in (reading.file, reading.raters, reading.items, reading.config, *others):
        for path in (output, beside(output, ".README.md")):
            if name is not None and os.path.exists(name) and os.path.exists(path) and os.path.samefile(name, path):
                raise typer.BadParameter(f"{path} is read, and would be written over; name another file")


def _command() -> str:
    """Return the command as it was given, without the ids of raters."""
    words = [re.sub(r"^(--[a-z-]+=)?rater\s*=.*", r"\1rater=…", word, flags=re.DOTALL) for word in sys.argv[1:]]
    return shlex.join(["plurivox", *words])


def _show(found: "Curation", paths: list[Path]) -> None:
    from rich.text import Text

    from plurivox.cli.show import console
    from plurivox.cli.tables import print_table

    out = console()
    print_table(_groups(found), out)
    for sentence in found.findings():
        out.print(Text(f"• {sentence}"))
    for path in paths:
        out.print(Text(str(path)), soft_wrap=True)


_AREAS = ("mpa", "wra")


def _groups(found: "Curation") -> "Shown":
    from plurivox.results.text import Shown

    lines = [
        [
            row["group"], row["standing"], *("–" if row[name] != row[name] else f"{row[name]:.2f}" for name in _AREAS),
            "by decision" if row["weight"] is None else f"{row['weight']:g}",
            f"{row['n_raters_selected']:,} of {row['n_raters']:,}", f"{row['n_items']:,}", f"{row['n_written']:,}",
        ]
        for row in found.table("groups").iter_rows(named=True)
    ]  # fmt: skip
    across = found.settings["across"]
    common = found.to_frame()["group"].to_list().count(across)
    if common:
        lines.append([across, "all agree", "", "", "1", "", "", f"{common:,}"])
    header = ["group", "standing", "MPA", "WRA", "weight", "raters selected", "items scored", found.form]
    return Shown(f"{', '.join(found.settings['by'])}, held against {found.settings['reference']}", header, lines)
