"""``plurivox demo``: a simulated study, described."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    folder: Annotated[
        Path, typer.Option("--folder", help="Where the study and its description go.", metavar="FOLDER")
    ] = Path("plurivox-demo"),
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same study.", min=0)] = 0,
) -> None:
    """Simulate a rating study and describe it.

    The data, the truth behind them and the description stay in a folder to play with.
    """
    from plurivox.cli.show import console, show_description
    from plurivox.description import describe
    from plurivox.io.reading import read_ratings
    from plurivox.io.study import write_study
    from plurivox.io.writing import replacing
    from plurivox.simulation import DEMO, simulate

    write_study(simulate(seed=seed, **DEMO), folder)
    ratings = read_ratings(
        folder / "ratings.csv", scale="0:4", raters=folder / "raters.csv", items=folder / "items.csv"
    )
    found = describe(ratings)
    out = console(record=True)
    out.print("A simulated study: 120 people of different gender, age and ethnicity rated 300 items from 0 to 4.\n")
    show_description(found, out)
    with replacing(folder / "description.txt") as temporary:
        temporary.write_text(out.export_text(), encoding="utf-8")
    print(f"\nThe data, the truth behind them and a plurivox.toml are in {folder}. Try:")
    print(f"  plurivox describe {folder / 'ratings.csv'} --json")
    print(f"\n{(folder / 'description.txt').resolve()}")
