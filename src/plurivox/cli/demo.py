"""``plurivox demo``: a simulated study and what can be said of it."""

from pathlib import Path
from typing import Annotated

import typer

DEMO_AXES = ["gender", "age", "ethnicity", ("gender", "ethnicity")]


def demo(
    folder: Annotated[
        Path, typer.Option("--folder", help="Where the study and the report go.", metavar="FOLDER")
    ] = Path("plurivox-demo"),
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same study.", min=0)] = 0,
) -> None:
    """Simulate a rating study and run every analysis on it.

    The data, the truth behind them and what was found stay in a folder to play with.
    """
    from plurivox.cli.progress import telling
    from plurivox.cli.show import console, show_description
    from plurivox.cli.show_cohesion import show_cohesion
    from plurivox.cli.show_responsiveness import show_responsiveness
    from plurivox.description import describe
    from plurivox.io.reading import read_ratings
    from plurivox.io.study import write_study
    from plurivox.io.writing import replacing
    from plurivox.lenses.cohesion import cohesion
    from plurivox.lenses.responsiveness import responsiveness
    from plurivox.simulation import DEMO, simulate

    write_study(simulate(seed=seed, **DEMO), folder)
    ratings = read_ratings(
        folder / "ratings.csv", scale="0:4", raters=folder / "raters.csv", items=folder / "items.csv"
    )
    found = describe(ratings)
    out = console(record=True)
    out.print("A simulated study: 120 people of different gender, age and ethnicity rated 300 items from 0 to 4.\n")
    show_description(found, out)
    out.print("\nWho sees things alike?\n")
    with telling() as progress:
        alike = cohesion(ratings, DEMO_AXES, permutations=1000, seed=seed, progress=progress)
    show_cohesion(alike, out)
    out.print("\nWhose scores convey severity? 30 trained raters said which items are safe and which unsafe.\n")
    trained = read_ratings(folder / "trained.csv", scale="safe,unsafe")
    with telling() as progress:
        graded = responsiveness(ratings, trained, DEMO_AXES, seed=seed, progress=progress)
    show_responsiveness(graded, out)
    with replacing(folder / "report.txt") as temporary:
        temporary.write_text(out.export_text(), encoding="utf-8")
    print(f"\nThe data, the truth behind them and a plurivox.toml are in {folder}. Try:")
    print(f"  plurivox describe {folder / 'ratings.csv'} --json")
    print(f"  plurivox cohesion {folder / 'ratings.csv'} --by age --by gender,ethnicity --bootstrap 500")
    print(f"  plurivox responsiveness {folder / 'ratings.csv'} --by rater --reference crowd")
    print(f"\n{(folder / 'report.txt').resolve()}")
