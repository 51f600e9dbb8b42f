"""``plurivox predict``: predict the rating distributions of texts with a trained model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plurivox.cli.loading import read_items, read_scale
from plurivox.cli.options import ItemsFile, Text, option, several_names
from plurivox.cli.printing import put, put_csv, say

if TYPE_CHECKING:
    import polars as pl

    from plurivox.domain.scale import Scale

ENDINGS, SUBMISSIONS = (".csv", ".parquet", ".jsonl"), ("_soft.tsv", ".json")


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder written by plurivox fit.", show_default=False)],
    file: ItemsFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write: .parquet, .csv or .jsonl, or _soft.tsv or .json in the format of LeWiDi 2025; "
            "otherwise CSV is printed.",
            metavar="FILE",
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
    from plurivox.base.files import will_write
    from plurivox.cli.progress import telling
    from plurivox.config import find_config, load_config

    if output is not None and output.suffix not in ENDINGS and not output.name.endswith(SUBMISSIONS):
        raise typer.BadParameter(f"{output} must end in one of {', '.join((*ENDINGS, *SUBMISSIONS))}")
    will_write(output)
    path = None if scale is not None else find_config(file)
    wanted = read_scale(scale) if path is None else load_config(path).said.get("scale")
    known = models.load(model, scale=wanted)
    ids, table = read_items(file, item, like=known.item, encoding=encoding)
    say(f"{table.name}: item = {ids}, text = {text or known.text}")
    with telling() as progress:
        found = known.predict(
            table.frame(), text=text, context=None if context is None else several_names(context) or (), item=ids,
            name=name, progress=None if progress is None else lambda done, of: progress("predicting", done, of),
            source=table.name, locate=table.locate,
        )  # fmt: skip
    if output is not None and output.name.endswith(SUBMISSIONS):
        _submit(found, output, known.scale)
    else:
        _write(found, output)
    say(f"{found['model'][0]}: {found.height:,} items on {known.scale}")


def _submit(found: "pl.DataFrame", output: Path, scale: "Scale") -> None:
    from plurivox.domain.attributes import id_texts
    from plurivox.domain.predictions import Predictions

    Predictions.from_frame(found, scale).write_submission(output, items=id_texts(found["item"]).to_list())
    put(output)


def _write(found: "pl.DataFrame", output: Path | None) -> None:
    from plurivox.base.csv_files import csv_text, write_frame

    if output is None:
        put_csv(csv_text(found))
        return
    write_frame(output, found)
    put(output)
