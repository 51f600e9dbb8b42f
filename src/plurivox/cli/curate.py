"""``plurivox curate`` and ``soft-labels``: training data for and from groups of raters."""

import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from plurivox.actions.curate import CURATE
from plurivox.cli.lens import ask, asked_of, command_asking
from plurivox.cli.loading import load
from plurivox.cli.options import InputOptions, option, output_option, parameter, reads_ratings
from plurivox.cli.outputs import Json, Outputs
from plurivox.cli.printing import put, put_csv, say

Output = Annotated[Path | None, output_option("JSON Lines file to write, such as pairs.jsonl.")]
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
    option("A list of pairs with a person's decisions filled in.", "FILE", "--decisions"),
]
_OWN = (("output", Output, None), ("selected", Selected, None), ("decisions", Decided, None), ("json", Json, None))


def _curate(reading: InputOptions, given: Mapping[str, Any]) -> None:
    from rich.text import Text

    from plurivox import __version__
    from plurivox.actions.curate.files import check_output, read_decisions, read_selected, write_curation
    from plurivox.base.files import will_write
    from plurivox.cli.console import console
    from plurivox.cli.tables import show_result

    output, decisions, selected = (given[name] for name in ("output", "decisions", "selected"))
    outputs = Outputs.of(given)
    if (output is None) != bool(outputs):
        raise typer.BadParameter("either name a file to write with -o or print everything with --json")
    if output is not None:
        will_write(*check_output(output))
    asked = asked_of(CURATE, reading, given)
    decided = None if decisions is None else read_decisions(decisions)
    loaded = load(reading)
    if len(axes := loaded.by or []) != 1:
        raise typer.BadParameter("name the groups to curate for with one --by, such as --by ethnicity")
    if overlap := [attribute for attribute in axes[0] if attribute in loaded.reading.several]:
        raise typer.BadParameter(
            f"a rater may have several values of '{overlap[0]}', so its groups overlap and cannot be curated for; "
            "without --several each combination is its own group"
        )
    raters = None if selected is None else read_selected(selected)
    found = ask(CURATE, reading, loaded, given, asked, raters=raters, decisions=decided)

    def write() -> None:
        # the command as it was given, without the ids of raters
        words = [re.sub(r"^(--[a-z-]+=)?rater\s*=.*", r"\1rater=…", word, flags=re.DOTALL) for word in sys.argv[1:]]
        command = shlex.join(["plurivox", *words])
        written = write_curation(found, output, decisions=decisions, command=command, version=__version__)
        out = console()
        show_result(CURATE, found, out)
        for path in written.paths():
            out.print(Text(str(path)), soft_wrap=True)
        if written.decisions is not None and found.n_undecided:
            say("enter include or exclude in the column decision, then run --decisions")

    outputs.deliver(show=write, json=found.to_json)


curate = command_asking(CURATE, _curate, [parameter(*one) for one in _OWN])


@reads_ratings
def soft_labels(
    reading: InputOptions,
    output: Annotated[
        Path | None,
        output_option(
            "File to write: _soft.tsv or .json in the format of LeWiDi 2025, or .csv, .parquet or .jsonl for a "
            "table; otherwise CSV is printed."
        ),
    ] = None,
    ids: Annotated[bool, option("Use raters' ids in .json instead of numbers.", None, "--ids")] = (False),
) -> None:
    """Turn ratings into soft labels: the share of an item's raters who gave each point.

    With --by, also for each group, on items that enough of its members rated. In .json, every item has its text, its
    annotations and its soft and hard labels; plurivox can read this file back as the same ratings.
    """
    from plurivox.base.csv_files import csv_text
    from plurivox.base.files import will_write
    from plurivox.engine.pool import Running
    from plurivox.lenses.soft import SoftLabelsSettings, labels

    if ids and (output is None or output.suffix.lower() != ".json"):
        raise typer.BadParameter("--ids requires -o FILE.json, the only form that shows who rated")
    if output is not None:
        labels.check_file(output, reading.said.get("by", ()))
        will_write(output)
    loaded = load(reading)
    groups = (loaded.by or ()) if "by" in reading.said else ()  # those in the config are for analyses
    given = {"by": groups, "several": loaded.reading.several, "min_group_size": loaded.reading.min_group_size}
    asked = SoftLabelsSettings.from_dict(given)
    found = labels.labels_of.run(loaded.ratings, settings=asked, how=Running())
    if output is None:
        put_csv(csv_text(found.frame))
    else:
        labels.write_labels(loaded.ratings, found.frame, output, ids=ids)
        put(output)
    say(found.told(loaded.ratings, loaded.reading.min_group_size))
