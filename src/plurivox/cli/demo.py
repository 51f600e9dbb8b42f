"""``plurivox demo``: a simulated study and what its analyses find."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from plurivox.cli.options import Force, option
from plurivox.cli.printing import put

if TYPE_CHECKING:
    from rich.console import Console

    from plurivox.domain.ratings import Ratings

DEMO_AXES = ["gender", "age", "ethnicity", ("gender", "ethnicity")]

ASKED = {
    "variation": "Who rates higher on the same items?",
    "cohesion": "Who sees things alike?",
    "responsiveness": "Whose scores convey severity?",
    "soft_scores": "Who predicts ratings well?",
    "alignment": "Whose view do models reflect?",
    "judge": "Can a model judge?",
    "aggregate": "What would one label per item hide?",
}
"""Lenses whose tables are shown if no report can be made."""

HINTS = (
    "variation {folder}/ratings.csv --by age --by ethnicity --adjust",
    "cohesion {folder}/ratings.csv --by age --by gender,ethnicity",
    "responsiveness {folder}/ratings.csv --by age --reference {folder}/trained.csv --reference-scale safe,unsafe",
    "responsiveness {folder}/ratings.csv --by rater --reference crowd",
    "aggregate {folder}/ratings.csv --by age -o {folder}/labels.csv",
    "items {folder}/ratings.csv --by age",
    "score {folder}/ratings.csv {folder}/predictions.csv",
    "align {folder}/ratings.csv {folder}/answers.csv --by age",
    "judge {folder}/ratings.csv {folder}/answers.csv --by age --require 'omega>=0.5'",
    "advise {folder}/ratings.csv --by rater",
    "report {folder}/ratings.csv --by gender -o {folder}/gender.html",
)
"""Commands to try on the study; groups, blocks of raters and intervals need no options."""


def demo(
    folder: Annotated[Path, option("Where the study and the report go.", "FOLDER")] = Path("plurivox-demo"),
    seed: Annotated[int, option("Same seed, same study.", min=0)] = 0,
    force: Force = False,
) -> None:
    """Simulate a rating study and run every analysis on it.

    The data, the truth behind them and the results are kept in a folder to play with.
    """
    from plurivox.ask.read_answers import read_answers
    from plurivox.base.errors import MissingExtraError
    from plurivox.base.folders import check_folder, remember
    from plurivox.cli.console import console
    from plurivox.cli.show import show_description
    from plurivox.lenses.overview.description import describe
    from plurivox.read.read import read_predictions, read_ratings
    from plurivox.simulation.files import NAMES, write_study
    from plurivox.simulation.simulate import DEMO, simulate

    if not force:
        check_folder(folder, (*NAMES, "report.html", "report.txt"))
    write_study(simulate(seed=seed, **DEMO), folder, force=force)
    ratings = read_ratings(
        folder / "ratings.csv",
        scale="0:4",
        poles="safe,unsafe",
        raters=folder / "raters.csv",
        items=folder / "items.csv",
    )
    trained = read_ratings(folder / "trained.csv", scale="safe,unsafe")
    predictions = read_predictions(folder / "predictions.csv", ratings.scale)
    answers = read_answers(folder / "answers.csv", ratings.scale)
    out = console(record=True)
    out.print("A simulated study: 120 people of different gender, age and ethnicity rated 300 items from 0 to 4.")
    out.print("30 trained raters said which items are safe and which unsafe; three models predict the ratings, and")
    out.print("three others answered the same question as the people.\n")
    show_description(describe(ratings), out)
    given = {"reference": trained, "trained": trained, "predictions": predictions, "answers": answers}
    try:
        path = _report(ratings, given, folder, seed)
    except MissingExtraError as error:
        path = _text(ratings, given, folder, seed, out)
        put(f"\nThe whole report, with charts: {error}")
    remember(path)
    put(f"\nThe data, the truth behind them and a plurivox.toml are in {folder}. Try:")
    for hint in HINTS:
        put(f"  plurivox {hint.format(folder=folder)}")
    put(f"\n{path.resolve()}")


def _report(ratings: "Ratings", given: Mapping[str, Any], folder: Path, seed: int) -> Path:
    """Write the HTML report and print its first screen."""
    from plurivox.cli.progress import telling
    from plurivox.report import make_report

    with telling() as progress:
        made = make_report(
            ratings, DEMO_AXES, items_by="violation", seed=seed, title="A simulated rating study",
            files={
                name: folder / name
                for name in ("ratings.csv", "raters.csv", "items.csv", "trained.csv", "predictions.csv", "answers.csv")
            },
            **{name: given[name] for name in ("reference", "predictions", "answers")}, progress=progress,
        )  # fmt: skip
    answer = made.answer
    put(f"\n{answer.agreement}\n\n{answer.heading}:")
    for claim in answer.claims:
        put(f"• {claim.text}" + (f" ({claim.detail})." if claim.detail else "."))
    put("\nWhat to do:")
    for action in answer.actions:
        put(f"• {action.kind} {action.text}")
    put("\nWhat is not certain:")
    for line in answer.uncertain:
        put(f"• {line.text}")
    return made.write(folder / "report.html", force=True)  # what is in the folder was checked


def _text(ratings: "Ratings", given: Mapping[str, Any], folder: Path, seed: int, out: "Console") -> Path:
    """Print the tables of every analysis, and save them as text."""
    from plurivox.base.files import write_text
    from plurivox.cli.progress import telling
    from plurivox.cli.tables import show_result
    from plurivox.lenses import lenses

    shown = [lens for lens in lenses() if lens.name in ASKED]
    found = []
    with telling() as progress:
        for lens in shown:
            inputs = {one.name: given[one.name] for one in lens.inputs if one.name in given}
            by = {} if "predictions" in inputs else {"by": DEMO_AXES}
            found.append(lens.load("run")(ratings, **inputs, **by, seed=seed, progress=progress))
    for lens, result in zip(shown, found, strict=True):
        out.print(f"\n{ASKED[lens.name]}\n")
        show_result(lens, result, out)
    return write_text(folder / "report.txt", out.export_text())
