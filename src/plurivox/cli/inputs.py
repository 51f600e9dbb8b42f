"""How the command line reads the inputs of a lens other than ratings, and reports them on standard error."""

from collections.abc import Mapping
from typing import Any

from plurivox.cli.loading import (
    Loaded,
    answers_beside,
    described_answers,
    load_reference,
    predictions_beside,
    read_alike,
    read_beside,
    read_scale,
    tell_answers,
)
from plurivox.cli.options import InputOptions
from plurivox.cli.printing import say

Given = Mapping[str, Any]


def reference(given: Given, reading: InputOptions, loaded: Loaded) -> Any:
    """Read the reference file, or return a group or ``crowd`` as it is."""
    return load_reference(given, reading, loaded)


def log(given: Given, reading: InputOptions, loaded: Loaded) -> Any:
    """Read the ratings again for when each was given and how long it took."""
    import typer

    from plurivox.domain.points import with_joined
    from plurivox.domain.raw import require_columns
    from plurivox.read.beside import read_again
    from plurivox.read.formats.record import Asked

    columns = {role: given[role] for role in ("time", "seconds") if given[role] is not None}
    if not columns:
        return None
    if reading.file == "-":
        raise typer.BadParameter("--time and --seconds read the ratings again; save them to a file first")
    known = loaded.ratings.intake.columns
    if not {"item", "rater"} <= set(known):
        raise typer.BadParameter("--time and --seconds need a table with one row per rating")
    config = loaded.config
    said: Any = {
        name: getattr(reading, name) or getattr(config, name) for name in ("questions", "rejected", "unfinished")
    }  # fmt: skip
    asked = Asked(item=known["item"], rater=known["rater"], score=known.get("score"), **said)
    is_export = bool(loaded.ratings.intake.platform)
    kind: Any = reading.format or config.format
    encoding = reading.encoding or config.encoding or "utf-8"
    table = read_again(reading.file, asked if is_export else None, format=kind, encoding=encoding)
    table = with_joined(table, known["item"])
    columns = {role: name for role, name in columns.items() if (role, name) != ("time", "rows")}
    columns = {"item": known["item"], "rater": known["rater"], **columns}
    require_columns(table.columns, columns.values(), table.name)
    frame = table.frame()
    return frame.select(frame[name].alias(role) for role, name in columns.items())


def item(given: Given, reading: InputOptions, loaded: Loaded) -> str:
    """Return the id of an item."""
    return str(given["wanted"])


def predictions(given: Given, reading: InputOptions, loaded: Loaded) -> Any:
    """Read predicted distributions."""
    known = predictions_beside(given["predictions"], loaded)
    say(f"{known.source}: predictions of {', '.join(known.models)}")
    return known


def answers(given: Given, reading: InputOptions, loaded: Loaded) -> Any:
    """Read what language models answered."""
    alone = loaded.ratings is None
    known = answers_beside(
        given["answers"], loaded, item=reading.item if alone else None, model=given["model"], answer=given["answer"],
        items=loaded.items_file if alone else None,
    )  # fmt: skip
    tell_answers(known)
    return known


def item_answers(given: Given, reading: InputOptions, loaded: Loaded) -> Any:
    """Read what language models answered, and the attributes of all items, including those that nobody rated."""
    return described_answers(answers(given, reading, loaded), reading, loaded)


def train(given: Given, reading: InputOptions, loaded: Loaded) -> Any:
    """Read ratings of other items, on the same scale."""
    return None if given["train"] is None else read_alike(given["train"], reading, loaded)


def trained(given: Given, reading: InputOptions, loaded: Loaded) -> Any:
    """Read the ratings of trained raters."""
    return (
        None if given["trained"] is None else read_beside(given["trained"], reading, read_scale(given["trained_scale"]))
    )
