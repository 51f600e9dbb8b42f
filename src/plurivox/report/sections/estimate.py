"""Estimate: what people think of all items, where models answered more of them than people rated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plurivox.base.errors import ScaleError
from plurivox.base.wording import resampled
from plurivox.domain.answer_columns import ANSWERED
from plurivox.domain.attributes import places_of
from plurivox.lenses.alignment.matching import ALL, as_answers
from plurivox.lenses.estimate import tables as views
from plurivox.lenses.estimate.result import Estimate, main_judge, number_text, rows_by_statistic, words_of
from plurivox.report.parts import (
    CAUTION,
    COLLECT,
    Action,
    Block,
    Brief,
    Figure,
    Prose,
    Section,
    Tile,
    drawn,
    findings_of,
    remarks_of,
    shown,
    slug,
    switched,
    values,
)

LEAD = (
    "People rated some of the items; models answered more. What would people say about all of them? The mean of the "
    "ratings is corrected by how far the models' answers to the other items are from those to the rated ones, to the "
    "extent that models follow people."
)
METHODS = (
    "Prediction-powered inference (Angelopoulos, Duchi and Zrnic 2023): θ = ȳ + λ(f̄_N − f̄_n), where ȳ is the mean of "
    "the n items that people rated, f̄_n the model's mean of these, and f̄_N its mean of the N others. λ makes the "
    "interval as narrow as it gets; at 0 a model does not count. A model may be biased: its error on the rated items "
    "is assumed to be its error on all. So the rated items must be a random sample of all. Intervals are over items "
    "and, if it is known who rated, over raters. A model's worth is counted in additional ratings of additional "
    "items, by raters who each rate as many as now. Refused and unreadable answers count with the model's mean "
    "answer, so that these items stay in. Judges' errors are measured against people's means, minus the chance in "
    "ratings."
)
MAX_CHARTS = 6
ANSWERED_ITEMS = "With repeated answers, the best of them counts for an item."


def found_in(brief: Brief) -> Estimate:
    """Return the lens's result for the report."""
    answers = as_answers(brief.study.inputs["answers"], brief.ratings)
    found: Estimate = brief.ask(
        "estimate", inputs={"answers": answers}, subset=brief.asked.items_by, threshold=_threshold(brief),
        resample="items" if brief.asked.resample == "items" else "both",
    )  # fmt: skip
    return found


def _threshold(brief: Brief) -> Any:
    """Return the threshold of the report if it is a point of the ratings, not one of a reference alone."""
    try:
        place = -1 if brief.asked.threshold is None else brief.ratings.scale.position(brief.asked.threshold)
    except ScaleError:
        return None
    return brief.asked.threshold if place > 0 else None


def _more_than_rated(brief: Brief) -> bool:
    """Return whether models answered items that nobody rated, and some that somebody did; not for selected items."""
    intake = brief.ratings.intake
    if "answers" not in brief.study.inputs or (intake.selected and not intake.selected_raters):
        return False
    answers = as_answers(brief.study.inputs["answers"], brief.ratings)
    place = places_of(answers.items, brief.ratings.items["item"])
    rated = np.append(np.diff(brief.ratings.offsets) > 0, False)[place]
    own = rated[answers.item[answers.state == ANSWERED]]
    return bool(own.any() and not own.all())


def section(brief: Brief) -> Section | None:
    """Estimate what people think of all items, if models answered some that nobody rated."""
    if not _more_than_rated(brief):
        return None
    found = found_in(brief)
    anchors = {"population": "estimate-population", "effective_judges": "estimate-errors"}
    figures = [(of, _figure(found, of)) for of in found.of[:MAX_CHARTS]]
    more: list[Block] = [*_tables(found), Prose(METHODS)]
    return Section(
        "estimate", "What people think of all items", LEAD, switched("estimate-forest", "Estimated", figures),
        findings_of(found, "estimate-forest", anchors), remarks_of(found), more, "", _tiles(found), _actions(found),
    )  # fmt: skip


def _figure(found: Estimate, of: str) -> Figure:
    row, what = rows_by_statistic(found, main_judge(found), of)["estimate"], words_of(of)
    value = "cannot be estimated" if math.isnan(row.value) else number_text(of, found, row.value)
    return drawn(
        "estimate_forest", found, slug("estimate-forest", of), f"The {what} over all items: {value}",
        f"The {what} from humans alone, humans and models together, and models alone, with 95 % intervals.",
        "Humans and models together should be near humans alone, with a shorter line. How far off models alone are is "
        "their bias, which their own line does not show.", of,
        measure=f"95 % intervals over {resampled(found.settings)}; of models alone over items.",
    )  # fmt: skip


def _tiles(found: Estimate) -> list[Tile]:
    """Return what models are worth in human ratings, if that is certain."""
    rows = rows_by_statistic(found, main_judge(found), found.of[0])
    row = rows["ppi_worth"]
    if row.ci_low is None or not row.ci_low > 0:
        return []
    n = rows["estimate_humans"].n_ratings
    return [Tile(f"{row.value:,.0f}", "human ratings that models are worth", f"{n:,} were given", "estimate-forest")]


def _actions(found: Estimate) -> list[Action]:
    """Return what to collect if rated items differ from the others, and what not to conclude from models alone."""
    differs = found.population().filter("differs", axis=ALL)
    actions = []
    if differs.height:
        text = "ratings of items drawn at random from those that only models answered: the rated ones differ from them."
        actions.append(Action(COLLECT, text, "estimate-population", 2))
    rows = rows_by_statistic(found, main_judge(found), found.of[0])
    humans, model = rows["estimate_humans"], rows["estimate_model"]
    if humans.ci_low is not None and humans.ci_high is not None and not humans.ci_low <= model.value <= humans.ci_high:
        text = "from models alone what people think of all items: they are off by more than the interval of humans."
        actions.append(Action(CAUTION, text, "estimate-forest", 2))
    return actions


def _tables(found: Estimate) -> list[Block]:
    """Return what models answered, all estimates, judges and how far they err alike, and how rated items differ."""
    frame = found.to_frame().drop("p_value", "p_adjusted", "null_median")
    blocks = [
        *shown("estimate-accounts", views.accounts(found, parts=True), ANSWERED_ITEMS),
        values("estimate-table", "All estimates", frame),
    ]
    if len(found.voices) > 1:
        judges = "The selected one gives the estimate that varies least; its interval holds for all judges at once."
        errors = (
            f"Correlations over items of how far each judge is off, for the {found.of[0]}; the chance in ratings is "
            "subtracted. Judges that err alike know less together than their number suggests."
        )
        blocks += shown("estimate-judges", views.judges(found), judges, title="Each judge compared with people")
        blocks += shown("estimate-errors", views.errors(found), errors, title="How far judges err alike")
    note = (
        "The share of the value that differs most among rated items and among others that models answered, or means. "
        "Every estimate assumes that the two are alike."
    )
    title = "Are rated items like the others?"
    return [*blocks, *shown("estimate-population", views.population(found), note, title=title)]
