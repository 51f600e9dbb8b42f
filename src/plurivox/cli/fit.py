"""``plurivox fit`` and ``predict``: train a model that predicts rating distributions from texts, and use it."""

import contextlib
import functools
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from plurivox.cli.loading import load, read_items
from plurivox.cli.options import (
    InputOptions,
    ItemsFile,
    Seed,
    Text,
    option,
    output_option,
    reads_ratings,
    several_names,
)
from plurivox.cli.outputs import Json, Outputs
from plurivox.cli.printing import put, put_csv, say
from plurivox.cli.running import INTERRUPTED, STOPPING, one_bar

if TYPE_CHECKING:
    from plurivox.models import Epoch, Predictor


MODELS = ("mlp-ce", "mlp-kl", "cumulative-link", "transformer-emd")


@functools.partial(reads_ratings, after=1)
def fit(
    reading: InputOptions,
    texts: ItemsFile,
    output: Annotated[Path, output_option("Folder to write the model to.", "FOLDER")] = Path("model"),
    model: Annotated[str, option(f"{', '.join(MODELS[:-1])} or {MODELS[-1]}.", "NAME")] = "mlp-kl",
    text: Annotated[str, option("Column of ITEMS with the text.", "COLUMN")] = "text",
    context: Annotated[
        Text, option("Columns of ITEMS with what came before the text, oldest first: bot,user.", "COLUMNS")
    ] = None,
    epochs: Annotated[int, option("Go through all items at most this many times.", min=1)] = 200,
    patience: Annotated[int, option("Stop when the validation loss has not fallen for this many epochs.", min=1)] = 5,
    batch: Annotated[int, option("Items per step.", min=1)] = 64,
    learning_rate: Annotated[float, option("Learning rate of Adam.")] = 1e-3,
    validation: Annotated[float, option("Share of items held out to decide when to stop.")] = 0.15,
    features: Annotated[int, option("Largest number of words that the model knows.", min=1)] = 10_000,
    length: Annotated[int, option("How many words and symbols of an item the transformer reads.", min=1)] = 128,
    device: Annotated[str, option("cpu, or cuda for a GPU.", "NAME")] = "cpu",
    sigma: Annotated[
        float | None,
        option("How far mlp-kl spreads a rating along the scale, in points (default 0.5).", "POINTS", min=0),
    ] = None,
    min_ratings: Annotated[int, option("Leave out items with fewer ratings.", "N", min=1)] = 1,
    sample_items: Annotated[int | None, option("Draw this many of the items at random.", "N", min=2)] = None,
    sample_ratings: Annotated[int | None, option("Draw at most this many ratings of each item.", "N", min=1)] = None,
    seed: Seed = 0,
    json: Json = None,
) -> None:
    """Train a small model that predicts the distribution of an item's ratings from its text.

    FILE holds the ratings. Training stops early on held-out items; Ctrl-C keeps the best model so far. mlp-ce and
    mlp-kl are networks over words, trained on the shares of ratings as they are or smoothed along the scale;
    cumulative-link has one score and ordered cut-points; transformer-emd reads words in order. The folder holds
    model.json and safetensors, not pickle.
    """
    from plurivox import models
    from plurivox.models.predictor import try_folder

    if texts == reading.file == "-":
        raise typer.BadParameter("only one of the two tables can come from standard input")
    if output.exists() and not output.is_dir():
        raise typer.BadParameter(f"{output} is a file, but a model is written to a folder")
    outputs = Outputs.of({"json": json})
    try_folder(output)
    ratings = load(reading).ratings
    ids, table = read_items(texts, None, like=ratings.intake.columns.get("item"), encoding=reading.said.get("encoding"))
    say(f"{table.name}: item = {ids}, text = {text}")

    def shown(epoch: "Epoch") -> tuple[int, int, str]:
        losses = f"loss {epoch.train_loss:.4f}, validation {epoch.validation_loss:.4f}"
        return epoch.number, epoch.of, f"{losses}, best in epoch {epoch.best_epoch}; at most"

    with one_bar("reading texts", None, shown) as progress, _interrupted_once() as not_any_more:
        found = models.fit(
            ratings, table.frame(), model, text=text, context=several_names(context) or (), item=ids, seed=seed,
            epochs=epochs, patience=patience, batch=batch, learning_rate=learning_rate, validation=validation,
            features=features, length=length, device=device, sigma=sigma, min_ratings=min_ratings,
            sample_items=sample_items, sample_ratings=sample_ratings, progress=progress, source=table.name,
            locate=table.locate,
        )  # fmt: skip
        not_any_more()
        found.save(output)
    _tell(found)
    outputs.deliver(show=lambda: put(output), json=lambda: _as_json(found, output))
    if found.training.stopped == "interrupted":
        raise typer.Exit(INTERRUPTED)


@contextlib.contextmanager
def _interrupted_once() -> Iterator[Callable[[], object]]:
    """Let only the first Ctrl-C through, so that an impatient second one does not stop the best model being saved.

    The same holds for the other signals that stop the program. After an interruption, all further ones are ignored.
    Calling what is yielded has the same effect.
    """

    def ignore() -> None:
        for number in before:
            signal.signal(number, signal.SIG_IGN)

    def first(number: int, frame: FrameType | None) -> None:
        interrupted.append(True)
        handler = before[number]
        ignore()
        assert callable(handler)
        handler(number, frame)  # which raises KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    interrupted: list[bool] = []
    known = {number: signal.getsignal(number) for number in (signal.SIGINT, *STOPPING)}
    before = {number: handler for number, handler in known.items() if callable(handler)}
    for number in before:
        signal.signal(number, first)
    try:
        yield ignore
    except KeyboardInterrupt:
        say("interrupted before the first epoch was finished; nothing was saved")
        raise typer.Exit(INTERRUPTED) from None
    finally:
        if not interrupted:
            for number, handler in before.items():
                signal.signal(number, handler)


def _tell(found: "Predictor") -> None:
    """Print on standard error what was trained, and how to judge it."""
    training = found.training
    why = {"early": "no improvement since", "epochs": "the last", "interrupted": "interrupted"}[training.stopped]
    say(
        f"{found.kind} on {found.scale}: {training.n_items:,} items with {training.n_ratings:,} ratings, "
        f"{training.n_validation:,} of the items held out",
        f"validation loss {training.best_validation_loss:.4f} after epoch {training.best_epoch} of {training.epochs} "
        f"({why}); {training.baseline_loss:.4f} if every text gets the same prediction",
        *(f"• {note}" for note in training.notes),
    )


def _as_json(found: "Predictor", folder: Path) -> str:
    import json
    from dataclasses import asdict

    about = {"folder": str(folder), "model": found.kind, "scale": found.scale.to_dict()}
    about |= {"settings": asdict(found.settings), "training": asdict(found.training), "versions": dict(found.versions)}
    return json.dumps(about, ensure_ascii=False, allow_nan=False, indent=2)


ENDINGS, SUBMISSIONS = (".csv", ".parquet", ".jsonl"), ("_soft.tsv", ".json")


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder written by plurivox fit.", show_default=False)],
    file: ItemsFile,
    output: Annotated[
        Path | None,
        output_option(
            "File to write: .parquet, .csv or .jsonl, or _soft.tsv or .json in the format of LeWiDi 2025; "
            "otherwise CSV is printed."
        ),
    ] = None,
    item: Annotated[Text, option("Column with the item.", "COLUMN")] = None,
    text: Annotated[Text, option("Column with the text (default: as in training).", "COLUMN")] = None,
    context: Annotated[
        Text, option("Columns with what came before the text (default: as in training).", "COLUMNS")
    ] = None,
    encoding: Annotated[Text, option("Encoding of the text, if not UTF-8.", "NAME")] = None,
    name: Annotated[Text, option("Name of the model in the output (default: its kind).", "NAME")] = None,
    scale: Annotated[
        Text,
        option(
            "Refuse a model trained on another scale: 0:4, No,Unsure,Yes or a TOML file (default: the scale in the "
            "plurivox.toml next to ITEMS).",
            "POINTS",
        ),
    ] = None,
) -> None:
    """Predict how items are rated from their texts, with a model trained by plurivox fit.

    Each row has a model, an item, and a probability for each point of the scale, as plurivox score expects.
    """
    from plurivox import models
    from plurivox.base.csv_files import csv_text, write_frame
    from plurivox.base.files import will_write
    from plurivox.cli.running import telling
    from plurivox.config import find_config, load_config
    from plurivox.domain.attributes import id_texts
    from plurivox.domain.predictions import Predictions
    from plurivox.domain.scale_files import as_scale

    if output is not None and output.suffix not in ENDINGS and not output.name.endswith(SUBMISSIONS):
        raise typer.BadParameter(f"{output} must end in one of {', '.join((*ENDINGS, *SUBMISSIONS))}")
    will_write(output)
    path = None if scale is not None else find_config(file)
    wanted = as_scale(scale) if path is None else load_config(path).said.get("scale")
    known = models.load(model, scale=wanted)
    ids, table = read_items(file, item, like=known.item, encoding=encoding)
    say(f"{table.name}: item = {ids}, text = {text or known.text}")
    with telling() as progress:
        found = known.predict(
            table.frame(), text=text, context=None if context is None else several_names(context) or (), item=ids,
            name=name, progress=None if progress is None else lambda done, of: progress("predicting", done, of),
            source=table.name, locate=table.locate,
        )  # fmt: skip
    if output is None:
        put_csv(csv_text(found))
    else:
        if output.name.endswith(SUBMISSIONS):
            scored = Predictions.from_frame(found, known.scale)
            scored.write_submission(output, items=id_texts(found["item"]).to_list())
        else:
            write_frame(output, found)
        put(output)
    say(f"{found['model'][0]}: {found.height:,} items on {known.scale}")
