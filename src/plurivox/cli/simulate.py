"""``plurivox simulate`` and ``demo``: studies with a known truth, and a first look at what can be found in one."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plurivox.cli.options import Force, Text, Texts, is_said, option
from plurivox.cli.printing import put, say

if TYPE_CHECKING:
    from rich.console import Console

    from plurivox.domain.ratings import Ratings
    from plurivox.simulation.styles import Effect, SimulatedModel, SimulatedPredictor


def simulate(
    context: typer.Context,
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[FOLDER]", help="Folder for the files; optional with --study.", show_default=False),
    ] = None,
    items: Annotated[int, option("Number of items, at most 10 million.", min=1)] = 300,
    raters: Annotated[int, option("Number of raters; 100 million ratings at most.", min=1)] = 120,
    scale: Annotated[str, option("The raters' scale, such as 0:4 or Low,Middle,High.")] = "0:4",
    missing: Annotated[float, option("Fraction of item–rater pairs left unrated; 0 is fully crossed.")] = 0.0,
    ratings_per_item: Annotated[
        Text, option("Instead, draw this many raters for each item; with 2:20, between 2 and 20.", "N|LOW:HIGH")
    ] = None,
    rated: Annotated[
        int | None, option("How many of the items people rate; only models answer the others.", min=1)
    ] = None,
    attribute: Annotated[Texts, option("Rater attribute: 'gender: Man 0.5, Woman 0.5'. Repeatable.", "SPEC")] = None,
    missing_attributes: Annotated[float, option("Fraction of attribute values left blank.")] = 0.0,
    repeated: Annotated[
        float, option("Fraction of item–rater pairs rated a second time; ratings then have a time.")
    ] = 0.0,
    effect: Annotated[
        Texts,
        option(
            "How a group sees items differently: 'gender=Woman, age=18-29: bias 0.4, shared 0.5, "
            "violation harassment'. Repeatable; replaces the built-in ones.",
            "SPEC",
        ),
    ] = None,
    no_effects: Annotated[bool, option("All groups see items alike: a true null.", None, "--no-effects")] = False,
    style: Annotated[
        Texts,
        option(
            "Share of raters who are normal, downward_shift, proportional_shift, conservative, extreme or central. "
            "Repeatable.",
            "NAME=SHARE",
        ),
    ] = None,
    rater_sd: Annotated[float, option("Spread of the raters' individual strictness.")] = 0.5,
    noise_sd: Annotated[float, option("Spread of the noise in each rating.")] = 0.5,
    trained: Annotated[int, option("Number of trained raters, who say safe or unsafe.", min=0)] = 30,
    model: Annotated[
        Texts,
        option(
            "Language model: 'name: bias 0.2, noise 0.3, refuses 0.05, unreadable 0.01, like age=18-29'. "
            "Repeatable; replaces the built-in ones.",
            "SPEC",
        ),
    ] = None,
    no_models: Annotated[bool, option("No language models.", None, "--no-models")] = False,
    predictor: Annotated[
        Texts,
        option(
            "Model that predicts rating distributions: 'name: error 0.3, sharpness 2, bias 0'. "
            "Repeatable; replaces the built-in ones.",
            "SPEC",
        ),
    ] = None,
    no_predictors: Annotated[bool, option("No predicted distributions.", None, "--no-predictors")] = False,
    study: Annotated[
        Text,
        option(
            "Instead, study the measures themselves, with a table and a figure: responsiveness (on simulated raters), "
            "or soft (expected scores as ratings increase).",
            "NAME",
        ),
    ] = None,
    seed: Annotated[int, option("Same seed, same study.", min=0)] = 0,
    force: Force = False,
) -> None:
    """Write a simulated rating study as files.

    Raters have demographic attributes, groups see some items differently, some raters use the scale in their own way,
    trained raters say what is unsafe, language models answer or refuse, and predictors predict how an item's ratings
    are distributed. The truth is written too.
    """
    if study is not None:
        _refuse_others(context)
        _run_study(study, folder or Path(f"{study}-study"), seed, force=force)
        return
    if folder is None:
        raise typer.BadParameter("name the FOLDER for the files")
    from plurivox.base.folders import check_folder
    from plurivox.simulation.simulate import DEFAULT_MODELS, DEMO, NAMES, write_study
    from plurivox.simulation.simulate import simulate as make

    if not force:
        check_folder(folder, NAMES)
    given: dict[str, Any] = dict(DEMO)
    if attribute:
        given["attributes"] = dict(map(_attribute, attribute))
        given["effects"], given["models"] = (), DEFAULT_MODELS
    if effect or no_effects:
        given["effects"] = tuple(map(_effect, effect or ()))
    if style:
        given["styles"] = dict(map(_share, style))
    if model or no_models:
        given["models"] = tuple(map(_model, model or ()))
    if predictor or no_predictors:
        given["predictors"] = tuple(map(_predictor, predictor or ()))
    made = make(
        n_items=items, n_raters=raters, scale=scale, missing=missing,
        ratings_per_item=_per_item(ratings_per_item), n_rated=rated, missing_attributes=missing_attributes,
        repeated=repeated, rater_sd=rater_sd, noise_sd=noise_sd, trained=trained, seed=seed, **given,
    )  # fmt: skip
    for path in write_study(made, folder, force=force):
        put(path)


def _refuse_others(context: typer.Context) -> None:
    """Raise if an option is given that a study of the measures does not use."""
    used = ("study", "folder", "seed", "force")
    for one in context.command.params:
        if one.name and one.name not in used and is_said(context, one.name):
            raise typer.BadParameter(f"--study has its own design; leave out {one.opts[0]}")


def _run_study(name: str, folder: Path, seed: int, *, force: bool) -> None:
    """Run a study of the measures, print its table, and write table and figure."""
    from plurivox import studies
    from plurivox.base.csv_files import csv_text
    from plurivox.base.errors import MissingExtraError
    from plurivox.base.folders import check_folder, write_folder
    from plurivox.cli.console import console
    from plurivox.cli.running import telling
    from plurivox.cli.tables import print_table
    from plurivox.infer.view import View
    from plurivox.plots.studies import responsiveness_study, soft_study
    from plurivox.plots.writing import chart_bytes
    from plurivox.statistics.registry import LABELS

    if name not in ("responsiveness", "soft"):
        raise typer.BadParameter(f"--study must be responsiveness or soft, not {name!r}")
    if not force:
        check_folder(folder, ("study.csv", "study.svg", "study.png"))
    found: Any
    chart_of: Any
    tables = []
    if name == "soft":
        found, chart_of = studies.soft(), soft_study
        for (statistic,), rows in found.to_frame().group_by("statistic", maintain_order=True):
            lines = [
                [prediction, *(f"{value:.4f}" for value in own["value"]), f"{own['limit'][0]:.4f}"]
                for (prediction,), own in rows.group_by("prediction", maintain_order=True)
            ]
            sizes = [f"{n:,} ratings" for n in rows["n_ratings"].unique(maintain_order=True)]
            tables.append(View(LABELS[str(statistic)], ["prediction", *sizes, "the shares"], lines))
    else:
        with telling() as progress:
            found = studies.responsiveness(seed=seed, progress=progress)
        chart_of = responsiveness_study
        for top in found.settings["tops"]:
            lines = [
                [pattern.replace("_", " "), *(f"{found.value(pattern, metric, top):.3f}" for metric in studies.METRICS)]
                for pattern in found.to_frame().filter(top=top)["pattern"].unique(maintain_order=True)
            ]
            tables.append(View(f"Scores 0 to {top}", ["pattern", *studies.METRICS.values()], lines))
    out = console()
    print_table(*tables, out=out)
    for sentence in found.findings():
        out.print(f"• {sentence}")
    contents = {"study.csv": csv_text(found.to_frame()).encode()}
    try:
        chart = chart_of(found)
        contents |= {f"study{kind}": chart_bytes(chart, kind) for kind in (".svg", ".png")}
    except MissingExtraError as error:
        say(f"no figure: {error}")
    writers = {name: functools.partial(Path.write_bytes, data=content) for name, content in contents.items()}
    for path in write_folder(folder, writers, force=force):
        put(path)


def _attribute(text: str) -> tuple[str, dict[str, float]]:
    """Read ``gender: Man 0.5, Woman 0.5``."""
    name, values = _halves(text, "--attribute")
    return name, {value: _number(share, text) for value, share in _pairs(values, text)}


def _effect(text: str) -> "Effect":
    """Read ``gender=Woman, age=18-29: bias 0.4, shared 0.5, violation harassment``."""
    from plurivox.simulation.styles import Effect

    condition, what = _halves(text, "--effect")
    known = _fields(what, {"bias", "shared", "violation"}, text)
    return Effect(_conditions(condition, text), **known)


def _model(text: str) -> "SimulatedModel":
    """Read ``name: bias 0.2, noise 0.3, refuses 0.05, unreadable 0.01, like age=18-29``."""
    from plurivox.simulation.styles import SimulatedModel

    name, _, what = text.partition(":")
    return SimulatedModel(name.strip(), **_fields(what, {"bias", "noise", "refuses", "unreadable", "like"}, text))


def _predictor(text: str) -> "SimulatedPredictor":
    """Read ``name: error 0.3, sharpness 2, bias 0``."""
    from plurivox.simulation.styles import SimulatedPredictor

    name, _, what = text.partition(":")
    return SimulatedPredictor(name.strip(), **_fields(what, {"error", "sharpness", "bias"}, text))


_FIELDS = {
    "shared": "shared_sd", "noise": "noise_sd", "error": "error_sd", "refuses": "refusal_rate",
    "unreadable": "unreadable_rate",
}  # fmt: skip
"""The fields whose names differ from their words."""


def _fields(what: str, allowed: set[str], whole: str) -> dict[str, Any]:
    """Return the fields of a specification with their values; raise if a word is not allowed."""
    known = dict(_pairs(what, whole)) if what.strip() else {}
    for name in known:
        if name not in allowed:
            raise typer.BadParameter(f"{name!r} is not one of {', '.join(sorted(allowed))}, in {whole!r}")
    read = {"violation": lambda text, whole: text, "like": _conditions}
    return {_FIELDS.get(word, word): read.get(word, _number)(value, whole) for word, value in known.items()}


def _per_item(text: Text) -> int | tuple[int, int] | None:
    """Read ``3`` or ``2:20``."""
    if text is None:
        return None
    low, sign, high = text.partition(":")
    try:
        return (int(low), int(high)) if sign else int(low)
    except ValueError:
        raise typer.BadParameter(
            f"--ratings-per-item must be a whole number or a range, such as 3 or 2:20, not {text!r}"
        ) from None


def _share(text: str) -> tuple[str, float]:
    name, sign, share = text.partition("=")
    if not sign:
        raise typer.BadParameter(f"--style needs NAME=SHARE, not {text!r}")
    return name.strip(), _number(share, text)


def _halves(text: str, option: str) -> tuple[str, str]:
    first, sign, second = text.partition(":")
    if not sign or not first.strip() or not second.strip():
        raise typer.BadParameter(f"{option} needs two parts separated by a colon, not {text!r}")
    return first.strip(), second


def _pairs(text: str, whole: str) -> list[tuple[str, str]]:
    """Read ``Man 0.5, Woman 0.5``: the last word of each part is its value."""
    pairs = [part.strip().rpartition(" ") for part in text.split(",")]
    if not all(name and value for name, _, value in pairs):
        raise typer.BadParameter(f"each part needs a name and a value: {whole!r}")
    return [(name.strip(), value) for name, _, value in pairs]


def _conditions(text: str, whole: str) -> dict[str, str]:
    pairs = [part.strip().partition("=") for part in text.split(",")]
    if not all(name and value for name, _, value in pairs):
        raise typer.BadParameter(f"a condition must be ATTRIBUTE=VALUE: {whole!r}")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number, in {whole!r}") from None


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
    from plurivox.cli.tables import show_description
    from plurivox.lenses.overview.description import describe
    from plurivox.read.read import read_predictions, read_ratings
    from plurivox.simulation.simulate import DEMO, NAMES, simulate, write_study

    if not force:
        check_folder(folder, (*NAMES, "report.html", "report.txt"))
    write_study(simulate(seed=seed, **DEMO), folder, force=force)
    tables = {name: folder / f"{name}.csv" for name in ("raters", "items")}
    ratings = read_ratings(folder / "ratings.csv", scale="0:4", poles="safe,unsafe", **tables)
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
    from plurivox.cli.running import telling
    from plurivox.report import make_report

    names = ("ratings.csv", "raters.csv", "items.csv", "trained.csv", "predictions.csv", "answers.csv")
    with telling() as progress:
        made = make_report(
            ratings, DEMO_AXES, items_by="violation", seed=seed, title="A simulated rating study",
            files={name: folder / name for name in names}, progress=progress,
            **{name: given[name] for name in ("reference", "predictions", "answers")},
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
    from plurivox.cli.running import telling
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
