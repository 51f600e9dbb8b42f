"""How the command line reads what a lens takes besides ratings, and says so on standard error."""

from collections.abc import Mapping
from typing import Any

from plurivox.cli.loading import Loaded, load_reference, read_beside, read_scale
from plurivox.cli.options import InputOptions
from plurivox.cli.progress import say, several

Given = Mapping[str, Any]


def reference(given: Given, reading: InputOptions, loaded: Loaded) -> Any:
    """Read the reference file, or return a group or ``crowd`` as it is."""
    return load_reference(
        given["reference"], reading, loaded.ratings, given["reference_scale"], given["reference_where"]
    )


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
        model=given["model"], answer=given["answer"],
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
