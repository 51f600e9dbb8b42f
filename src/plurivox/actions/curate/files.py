"""Files of a curation: JSON Lines to train on, a page that explains them, and a list for a person to decide on."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import NamedTuple

import polars as pl

from plurivox.actions.curate.parts import EXCLUDE, INCLUDE, Decisions
from plurivox.actions.curate.result import Curation
from plurivox.base.csv_files import csv_text
from plurivox.base.errors import FileError
from plurivox.base.files import replacing
from plurivox.base.wording import one_line
from plurivox.domain.code import as_text
from plurivox.domain.raw import id_column
from plurivox.infer.view import Value, written
from plurivox.read.tables import read_table

ENDING = ".jsonl"
DIGITS = 9
"""Decimals of margins, scores and weights; more would be floating-point noise."""
_MADE = "made from ratings by"
"""What every explanation contains."""
_BREAKS = {"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""Line breaks that JSON allows inside a text but some readers mistake for the end of a line."""
_FIELDS = {
    "pairs": {
        "prompt": "what both responses answer",
        "chosen": "the response that the group scored {better}",
        "rejected": "the response that the group scored {worse}",
        "margin": "how far apart the two scores are, in units of the scale; for all groups, the smallest margin",
        "weight": "how much the pair should count; see below",
        "group": "whose preference it is; `{across}`: every group that scored both agrees",
        "chosen_item": "the id of the chosen item",
        "rejected_item": "the id of the rejected item",
        "standing": "how the group's scores relate to the reference; see below",
        "decision": "for a different group: open until a person has decided, then include; otherwise empty",
    },
    "points": {
        "item": "the id of the item",
        "text": "its text",
        "score": "the mean score that the group's selected raters gave, in units of the scale",
        "weight": "how much the item should count; see below",
        "group": "whose score it is",
        "n_votes": "how many selected raters of the group scored it",
        "standing": "how the group's scores relate to the reference; see below",
        "decision": "for a different group: open until a person has decided, then include; otherwise empty",
    },
}


class CuratedFiles(NamedTuple):
    """The paths of the files; None if no list was needed."""

    data: Path
    explanation: Path
    decisions: Path | None

    def paths(self) -> list[Path]:
        """Return the files there are."""
        return [path for path in self if path is not None]


def beside(path: str | os.PathLike[str], ending: str) -> Path:
    """Return the name of an accompanying file: ``pairs.jsonl`` has ``pairs.README.md``."""
    return Path(path).with_suffix(ending)


def check_output(path: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Return the path and that of the explanation; raise unless the first ends in .jsonl and the second is ours."""
    target = Path(path)
    if target.suffix != ENDING:
        raise FileError(f"{target.name!r} must end in {ENDING}", hint=f"Use a name such as pairs{ENDING}.")
    explained = beside(target, ".README.md")
    if explained.is_file() and _MADE not in explained.read_text(encoding="utf-8", errors="replace"):
        hint = "Move it away, or name another output."
        raise FileError("it exists and was not written by plurivox", source=str(explained), hint=hint)
    return target, explained


def write_curation(
    found: Curation,
    path: str | os.PathLike[str],
    *,
    decisions: str | os.PathLike[str] | None = None,
    command: str = "",
    version: str = "",
) -> CuratedFiles:
    """Write all files of a curation, or none.

    Parameters
    ----------
    found
        What to write.
    path
        The JSON Lines file, one pair or point per line; the explanation goes to ``.README.md`` with the same name, and
        the list to decide on, if any, to ``.decisions.csv``.
    decisions
        The file that the decisions were read from. Neither it nor any other existing list is ever overwritten.
    command, version
        The command that made it and the version of plurivox, for the explanation.

    Raises
    ------
    FileError
        If a list of decisions exists that was not read, or a file cannot be written.
    """
    target, explained = check_output(path)
    listed = _list_to_write(found, target, decisions)
    texts = {
        explained: explanation(found, target.name, command, version),
        target: "".join(f"{line}\n" for line in json_lines(found.to_frame())),
    }
    if listed is not None:
        table = found.table("decisions")
        unused = [name for name in ("prompt", "text_high", "text_low") if (table[name] == "").all()]
        texts[listed] = csv_text(_rounded(table.drop(unused)))
    with contextlib.ExitStack() as files:
        for file, text in texts.items():
            files.enter_context(replacing(file)).write_bytes(text.encode())
        _list_to_write(found, target, decisions)  # a list that somebody made in the meantime also stays
    return CuratedFiles(target, explained, listed)


def _list_to_write(found: Curation, target: Path, read: str | os.PathLike[str] | None) -> Path | None:
    listed = beside(target, ".decisions.csv")
    if not found.table("decisions").height:
        return None
    if not os.path.lexists(listed):
        return listed
    if read is not None and os.path.exists(read) and os.path.samefile(listed, read):
        return None  # it stays as the person wrote it
    raise FileError(
        "it exists and may hold somebody's decisions",
        source=str(listed),
        hint="Read it with --decisions, move it away, or name another output.",
    )


def read_decisions(path: str | os.PathLike[str]) -> Decisions:
    """Read a list of pairs on which a person has decided."""
    table = read_table(path)
    return Decisions.of(table.frame(), table.name, table.locate)


def read_selected(path: str | os.PathLike[str]) -> list[str]:
    """Read the ids of raters from a table with a column of them, as ``plurivox select --csv`` prints it."""
    table = read_table(path)
    ids = as_text(table.frame()[id_column(table.columns, "rater", "rater", table.name)])
    return [rater for rater in ids.drop_nulls().unique(maintain_order=True) if rater.strip()]


def json_lines(frame: pl.DataFrame) -> list[str]:
    """Return each row as one line of JSON."""
    lines = [json.dumps(row, ensure_ascii=False, allow_nan=False) for row in _rounded(frame).iter_rows(named=True)]
    for mark, escaped in _BREAKS.items():
        lines = [line.replace(mark, escaped) for line in lines]
    return lines


def _rounded(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col(pl.Float64).round(DIGITS))


def explanation(found: Curation, name: str, command: str = "", version: str = "") -> str:
    """Return what a user of the data needs to know, as Markdown; the same data give the same text."""
    parts = [
        f"# {_cell(name)}",
        f"{found.to_frame().height:,} {found.form}, one JSON object on each line, {_MADE} "
        f"{f'plurivox {version}'.strip()}.",
        "\n".join(f"- {_cell(sentence)}" for sentence in found.findings()),
        "## Fields",
        _table(["field", "meaning"], [[f"`{field}`", text] for field, text in _fields(found).items()]),
        "## Groups",
        _table(*_groups(found)),
        *_weights(found),
        *_deciding(found, name),
        "## Settings",
        _table(
            ["setting", "value"],
            [
                [key, ", ".join(map(str, value)) if isinstance(value, list) else str(value)]
                for key, value in found.settings.items()
            ],
        ),
    ]
    if command:
        fenced = one_line(command).replace("```", "'''")
        parts += ["## Command", f"```\n{fenced}\n```"]
    return "\n\n".join(parts) + "\n"


def _fields(found: Curation) -> dict[str, str]:
    better, worse = ("higher", "lower") if found.settings["higher_is_better"] else ("lower", "higher")
    words = {"better": f"{better} (it is preferred)", "worse": worse, "across": _cell(found.settings["across"])}
    return {name: _FIELDS[found.form][name].format(**words) for name in found.to_frame().columns}


def _groups(found: Curation) -> tuple[list[str], list[list[str]]]:
    header = ["group", "standing", "MPA", "WRA", "steps of its own", "raters selected", "items scored", "chosen"]
    rows = [
        [
            row["group"], row["standing"], *(
                written(Value(row[name], row[f"{name}_low"], row[f"{name}_high"]), ".3f [.3f]", none="undefined")
                for name in ("mpa", "wra")
            ),
            row["ranges"] or "–", f"{row['n_raters_selected']:,}",
            f"{row['n_items']:,}", f"{row['n_items_chosen']:,}", f"{row['n_written']:,}",
        ]
        for row in found.table("groups").iter_rows(named=True)
    ]  # fmt: skip
    across = found.to_frame().filter(pl.col("group") == found.settings["across"]).height
    if across:
        rows.append([found.settings["across"], "all agree", "", "", "", "", "", "", f"{across:,}"])
    return [*header, found.form], rows


def _weights(found: Curation) -> list[str]:
    settings = found.settings
    reference = _cell(settings["reference"])
    said = [
        "## Weights",
        f"A group's standing says how its scores relate to {reference}. MPA says whether each higher score also means "
        "more there, WRA whether items that are high there get higher scores. Either is low if `plurivox "
        "responsiveness` claims that it is below that of random groups of the same size.",
        "- in line: neither is low.\n- granular: MPA is low.\n- broad: WRA is low.\n"
        "- different: both are low, or scores run against the reference. The group's preferences are written like all "
        "others and marked `open` until a person has decided.\n- unknown: nothing could be claimed.",
        "Everything weighs 1, regardless of standing. If a group has steps of its own, a range of scores over which "
        f"the reference is flat or falls, what lies within that range weighs {settings['range_weight']:g}.",
    ]
    if found.form == "pairs":
        across = _cell(settings["across"])
        said.append(
            f"A pair that several groups share is listed once for each of them, and once more as `{across}` if none "
            f"disagrees. Train on `{across}` for what everybody shares, and on the others for the view of each group."
        )
        said.append(
            "The weight of a pair is multiplied by its certainty: the share of the group's selected raters of both "
            "items who order them this way, equal scores counting half; 0.5 if nobody rated both."
        )
    chosen = _cell(settings["raters"])
    chosen = f" The raters selected from each group are those {chosen}." if chosen != "given" else ""
    return [
        *said,
        f"Distance from {reference} is not a fault of a group: every reference has a view of its own.{chosen}",
    ]


def _deciding(found: Curation, name: str) -> list[str]:
    listed = found.table("decisions")
    if not listed.height:
        return []
    counts = listed["decision"].to_list()
    return [
        "## Decisions",
        f"{_cell(beside(name, '.decisions.csv').name)} lists {listed.height:,} pairs of items that a group scored high "
        f"and low. Write {INCLUDE} or {EXCLUDE} into its column decision, then give it with --decisions. So far "
        f"{counts.count(INCLUDE):,} are included, {counts.count(EXCLUDE):,} excluded and {counts.count(''):,} open; "
        "open ones are written, marked as open, until decided.",
    ]


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    """Return a text from the data that cannot break a line or a table and is not interpreted as HTML."""
    return one_line(text).replace("|", "\\|").replace("<", "&lt;")
