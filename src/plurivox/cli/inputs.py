"""How the command line reads what a lens takes besides ratings, and says so on standard error."""

from collections.abc import Mapping
from typing import Any

from plurivox.cli.loading import Loaded, load_reference, read_beside, read_scale
from plurivox.cli.options import InputOptions
from plurivox.cli.printing import say
from plurivox.cli.progress import several

Given = Mapping[str, Any]


def reference(given: Given, reading: InputOptions, loaded: Loaded) -> Any:
    """Read the reference file, or return a group or ``crowd`` as it is."""
    return load_reference(given, reading, loaded.ratings)


def log(given: Given, reading: InputOptions, loaded: Loaded) -> Any:
    """Read from the ratings once more when each was given, and how long it took."""
    import typer

    from plurivox.intake.read import read_table
    from plurivox.ratings import require_columns

    columns = {role: given[role] for role in ("time", "seconds") if given[role] is not None}
    if not columns:
        return None
    if reading.file == "-":
        raise typer.BadParameter("--time and --seconds read the ratings again; save them to a file first")
    known = loaded.ratings.intake.columns
    if not {"item", "rater"} <= set(known):
        raise typer.BadParameter("--time and --seconds need a table with one row per rating")
    table = read_table(reading.file, encoding=reading.encoding or loaded.config.encoding or "utf-8")
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
    from plurivox.intake.read import read_predictions

    known = read_predictions(given["predictions"], loaded.ratings.scale, like=loaded.ratings)
    say(f"{known.source}: predictions of {', '.join(known.models)}")
    return known


def answers(given: Given, reading: InputOptions, loaded: Loaded) -> Any:
    """Read what language models answered."""
    from plurivox.intake.read_answers import read_answers

    known = read_answers(
        given["answers"], loaded.scale, like=loaded.ratings, item=reading.item if loaded.ratings is None else None,
        model=given["model"], answer=given["answer"], items=loaded.items_file if loaded.ratings is None else None,
    )  # fmt: skip
    say(f"{known.source}: {several(len(known), 'answer')} of {', '.join(known.models)}")
    return known


def train(given: Given, reading: InputOptions, loaded: Loaded) -> Any:
    """Read ratings of other items, on the same scale."""
    return None if given["train"] is None else read_beside(given["train"], reading, loaded.ratings.scale)


def trained(given: Given, reading: InputOptions, loaded: Loaded) -> Any:
    """Read the ratings of trained raters."""
    return (
        None if given["trained"] is None else read_beside(given["trained"], reading, read_scale(given["trained_scale"]))
    )
