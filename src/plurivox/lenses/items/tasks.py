"""Items that deserve more ratings, as tasks that annotation platforms import."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from plurivox.base.csv_files import write_frame
from plurivox.base.errors import ColumnError, InputError, few
from plurivox.base.files import write_text
from plurivox.base.wording import counted, escaped

if TYPE_CHECKING:
    from plurivox.lenses.items.result import Items

COUNTS = ("n_ratings", "ratings_needed", "ratings_wanted", "information_gain")
ENDINGS = {"label-studio": (".json",), "argilla": (".json", ".jsonl"), "csv": (".csv", ".parquet", ".jsonl")}
"""The formats of tasks, and the extensions of their files."""
USUAL = "text"
"""The column used as the text of an item if none is named."""

_SAY_WHERE = "give a table with it, --items (items=), or name it in the ratings, --item-attributes (item_attributes=)"


def tasks(found: Items, at_most: int | None) -> pl.DataFrame:
    """Return the items whose mean is not known as precisely as wanted, with what is known about them."""
    known = found.items.select(pl.all().cast(pl.String))
    known = known.rename({name: f"{name}_" for name in known.columns if name in COUNTS})
    needed = found.uncertain.with_columns(ratings_wanted=pl.col("ratings_needed") - pl.col("n_ratings"))
    open_ = needed.filter(pl.col("ratings_wanted").is_null() | (pl.col("ratings_wanted") > 0))
    chosen = open_ if at_most is None else open_.head(at_most)
    listed = chosen.select("item", *COUNTS).join(known, on="item", how="left", maintain_order="left")
    return listed.select("item", *(name for name in known.columns if name != "item"), *COUNTS)


def text_columns(found: Items, given: str | Sequence[str] | None) -> list[str]:
    """Return the columns that raters read; none if none are named and there is no column ``text``."""
    there = [name for name in found.items.columns if name != "item"]
    if given is None:
        return [name for name in there if name.casefold() == USUAL][:1]
    wanted = [given] if isinstance(given, str) else list(given)
    for name in wanted:
        if name not in there:
            listed = few(there, 20) if there else "only the id"
            raise ColumnError(
                f"no column '{name}' describes items; the columns are: {listed}",
                hint=f"Name one of them, or {_SAY_WHERE}.",
            )
    return wanted


def check_file(path: Path, form: str | None) -> str:
    """Return the form of a file, or raise if its name does not say or does not fit."""
    kind = path.suffix.lower()
    if form is None and kind not in (".csv", ".parquet"):
        raise InputError(
            f"the name {path.name} does not say what kind of tasks it should hold",
            hint="Add --as label-studio, --as argilla or --as csv; form= in Python.",
        )
    form = form or "csv"
    if kind not in ENDINGS[form]:
        raise InputError(
            f"cannot write {form} tasks to {path.name}", hint=f"Use a name that ends in {' or '.join(ENDINGS[form])}."
        )
    return form


def write_tasks(
    found: Items, path: Path, form: str | None, text: str | Sequence[str] | None, at_most: int | None
) -> str:
    """Write tasks, and return a summary."""
    form, texts = check_file(path, form), text_columns(found, text)
    listed = tasks(found, at_most)
    if form == "csv":
        write_frame(path, listed)
    else:
        make = _label_studio if form == "label-studio" else _argilla
        records = [make(row, texts) for row in listed.iter_rows(named=True)]
        lines = [json.dumps(one, ensure_ascii=False) for one in records]
        whole = "".join(f"{one}\n" for one in lines) if path.suffix.lower() == ".jsonl" else _array(lines)
        write_text(path, escaped(whole))
    return _told(listed, texts, found.settings["precision"])


def _array(lines: Sequence[str]) -> str:
    return "[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n"


def _label_studio(row: dict[str, Any], texts: Sequence[str]) -> dict[str, Any]:
    """Return a task whose ``data`` the labelling interface refers to, as ``$text``."""
    return {"data": _without(row, COUNTS), "meta": {name: row[name] for name in COUNTS}}


def _argilla(row: dict[str, Any], texts: Sequence[str]) -> dict[str, Any]:
    """Return a record; raters see its fields, and what is not known is left out, since metadata cannot be null."""
    fields = {name: row[name] or "" for name in texts} or {"item": row["item"]}
    known = {name: value for name, value in _without(row, ("item", *texts)).items() if value is not None}
    return {"id": row["item"], "fields": fields, "metadata": known}


def _without(row: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def _told(listed: pl.DataFrame, texts: Sequence[str], precision: float) -> str:
    if listed.is_empty():
        return f"no item needs more ratings for a mean known to ± {precision:g}; give a smaller precision to list more"
    wanted, out = int(listed["ratings_wanted"].sum()), listed["ratings_wanted"].null_count()
    said = f"{counted(listed.height, 'task')}; {counted(wanted, 'more rating')} to know each mean to ± {precision:g}"
    said += f", which is out of reach for {out:,} of them" if out else ""
    bare = f"; no column holds the text, so they contain only ids: {_SAY_WHERE}" if not texts else ""
    return f"{said}{bare}"
