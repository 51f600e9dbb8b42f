"""Curation: training data from the scores of selected raters, group by group, without one group's view for all.

After section 6 of Mishra et al., *Decoding Safety Feedback from Diverse Raters: A Data-driven Lens on Responsiveness to
Severity* (arXiv 2503.05609): choose the most responsive raters of every group and items at all severities by their
scores, and let a person look at what a group sees quite differently from the reference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any

from plurivox.actions.curate.parts import Decisions, Texts, drawing_order, named_raters, responsive_raters
from plurivox.actions.curate.result import Curation
from plurivox.actions.curate.rows import Limits, Work
from plurivox.axis import MIN_GROUP_SIZE, Axis, By
from plurivox.engine.grouping import each_axis
from plurivox.engine.running import Progress
from plurivox.errors import InputError, SelectionError
from plurivox.intake.code import as_text
from plurivox.lenses.calls import check_choice, check_draws
from plurivox.lenses.responsiveness.references import ReferenceLike
from plurivox.lenses.responsiveness.result import Responsiveness
from plurivox.lenses.responsiveness.run import responsiveness
from plurivox.ratings import Ratings
from plurivox.results.wording import too_small
from plurivox.scale import Label

FORMS = ("auto", "pairs", "points")


def curate(
    ratings: Ratings,
    reference: ReferenceLike = "crowd",
    by: By = (),
    *,
    form: str = "auto",
    prompt: str | None = None,
    response: str | None = None,
    text: str | None = None,
    threshold: Label | None = None,
    raters: Sequence[object] | None = None,
    per_group: int = 5,
    min_ratings: int = 20,
    min_votes: int = 2,
    min_margin: float = 0.5,
    per_point: int = 50,
    low_by: float = 0.05,
    low_mpa: float | None = None,
    low_wra: float | None = None,
    granular_weight: float = 0.5,
    broad_weight: float = 0.5,
    most_listed: int = 50,
    decisions: Any = None,
    higher_is_better: bool = False,
    bootstrap: int = 1000,
    seed: int = 0,
    min_group_size: int = MIN_GROUP_SIZE,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Curation:
    """Make training data from ratings: preferences of each group, those all groups share, and weights.

    A group's score of an item is the mean of what its selected raters gave. Its standing tells how its scores relate to
    the reference: ``"in line"``; ``"granular"``, low MPA only, so that its fine steps mean something else; ``"broad"``,
    low WRA only, so that it draws the line elsewhere; ``"different"``, both. MPA or WRA is low if its 95 % interval
    ends below the median of the groups by more than ``low_by``, or if the AUROC's ends below 0.5, so that scores run
    against the reference.

    Pairs and points of a group in line weigh 1, those of a granular one ``granular_weight``, those of a broad one
    ``broad_weight`` (pairs at least 1 point apart weigh 1); a pair's weight is multiplied by its certainty, the share
    of the selected raters of both items who order them so, equal scores counting half. Of a different group, the pairs
    of high against low items are listed for a person, and enter with weight 1 once included. Distance from the
    reference is no fault: the reference has a view of its own.

    Parameters
    ----------
    ratings
        Who rated what. Higher points mean more severe.
    reference, threshold
        What raters and groups are held against, as in :func:`plurivox.responsiveness`.
    by
        The rater attribute, or a tuple of several to cross, whose groups to curate for.
    form
        ``"pairs"`` of items with the same prompt, ``"points"``, or ``"auto"``: pairs if items have a prompt and a
        response.
    prompt, response, text
        Item attributes that hold them; by default those of these names.
    raters
        Ids of the raters to take instead of those that are most responsive.
    per_group, min_ratings
        How many raters to take of each group, by the lower bound of their HM, of those with so many ratings of items
        with a reference.
    min_votes
        How many of a group's selected raters an item needs for a score.
    min_margin
        How far apart the scores of a pair are at least, in units of the scale.
    per_point
        How many items to take at each point of the scale, for each group, at most.
    low_by, low_mpa, low_wra
        How far below the median of the groups is low; and, where given, below which value always.
    granular_weight, broad_weight
        See above.
    most_listed
        How many pairs of a different group to list, at most.
    decisions
        The listed pairs of an earlier call as a frame with the columns ``pair`` and ``decision``: include, exclude, or
        blank.
    higher_is_better
        Prefer the higher score, for ratings of quality.
    bootstrap, seed, min_group_size, threads, executor, progress
        As in :func:`plurivox.responsiveness`; the seed also draws items.

    Raises
    ------
    InputError
        If there is nothing to curate: no group has an eligible rater, or no pair or point is left.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=60, n_raters=40, seed=1)
    >>> found = pv.curate(study.ratings, study.trained, by="gender", per_point=10, bootstrap=50)
    >>> found
    <Curation: 74 points of 2 groups>
    >>> found.to_frame().columns
    ['item', 'text', 'score', 'weight', 'group', 'n_votes']
    """
    check_choice("form", form, FORMS)
    check_draws(0, bootstrap, seed)
    _check_numbers(
        {"per_group": per_group, "min_votes": min_votes, "per_point": per_point},
        {"min_ratings": min_ratings, "most_listed": most_listed, "min_margin": min_margin, "low_by": low_by},
        {"granular_weight": granular_weight, "broad_weight": broad_weight},
    )
    axis = _axis(ratings, by, min_group_size)
    form, texts = _texts(ratings, form, prompt, response, text)
    judged = responsiveness(
        ratings, reference, [axis.attributes, *(["rater"] if raters is None else [])], threshold=threshold,
        permutations=0, bootstrap=bootstrap, seed=seed, min_group_size=min_group_size, threads=threads,
        executor=executor, progress=progress,
    )  # fmt: skip
    if raters is None:
        selected = responsive_raters(judged, ratings, axis, per_group, min_ratings)
    else:
        selected = named_raters(raters, ratings, axis)
    if not any(selected.raters.values()):
        raise _nobody(axis, min_ratings, named=raters is not None)
    limits = Limits(low_by, low_mpa, low_wra, granular_weight, broad_weight)
    work = Work(
        ratings, axis, form, texts, selected, limits.standings(judged, axis), limits, min_votes, min_margin, per_point,
        most_listed, higher_is_better, drawing_order(texts, seed),
        None if decisions is None else Decisions.of(decisions),
    )  # fmt: skip
    settings = {
        "by": list(axis.attributes), "form": form, "reference": _reference_name(judged), "threshold": threshold,
        "raters": "most responsive" if raters is None else "given", "per_group": per_group,
        "min_ratings": min_ratings, "min_votes": min_votes, "min_margin": min_margin, "per_point": per_point,
        "low_by": low_by, "low_mpa": low_mpa, "low_wra": low_wra, "granular_weight": granular_weight,
        "broad_weight": broad_weight, "most_listed": most_listed, "higher_is_better": higher_is_better,
        "bootstrap": bootstrap, "seed": seed, "min_group_size": min_group_size, "n_withheld": axis.n_withheld,
        "n_outside": axis.n_outside, "across": work.across, "points": [str(label) for label in ratings.scale.labels],
        "values": [float(value) for value in ratings.scale.values], "has_text": texts.texts is not None,
        **texts.unpaired(),
    }  # fmt: skip
    found = Curation(work.tables(), settings)
    if not found.to_frame().height and not found.n_undecided:
        raise _nothing(found, texts)
    return found


def _axis(ratings: Ratings, by: By, min_group_size: int) -> Axis:
    axes = each_axis(by)
    if len(axes) != 1:
        raise InputError(f"by names {len(axes)} axes", hint="Curate for the groups of one: by='ethnicity'.")
    axis = Axis.of(ratings, axes[0], min_group_size=min_group_size)
    if axis.attributes == ("rater",):
        raise InputError("by is 'rater', and data are curated for groups", hint="Name a rater attribute.")
    if not axis.shown:
        raise InputError(
            f"no group of {axis.name} is shown: of {len(axis)}, {axis.n_withheld} are withheld, "
            f"{too_small(min_group_size)}",
            hint="Group the raters by another attribute, or lower min_group_size if these raters may be identified.",
        )
    return axis


def _texts(
    ratings: Ratings, form: str, prompt: str | None, response: str | None, text: str | None
) -> tuple[str, Texts]:
    """Return the form and what it needs to know of the items."""
    columns = ratings.items.columns
    for option, name in {"prompt": prompt, "response": response, "text": text}.items():
        if name is not None and name not in columns:
            known = ", ".join(columns[1:]) or "none: give them with --items"
            raise SelectionError(f"items have no attribute '{name}' for {option}; they have: {known}")
    both = (prompt or "prompt") in columns and (response or "response") in columns
    asked = form == "pairs" or prompt is not None or response is not None
    if form != "points" and asked and not both:
        raise SelectionError(
            f"pairs need items with '{prompt or 'prompt'}' and '{response or 'response'}'; they have: "
            f"{', '.join(columns[1:]) or 'no attributes'}",
            hint="Name both columns with prompt= and response= (--prompt, --response), or ask for form='points'.",
        )
    ids = as_text(ratings.items["item"]).to_list()

    def column(name: str) -> list[str | None] | None:
        return as_text(ratings.items[name]).to_list() if name in columns else None

    if form != "points" and both:
        return "pairs", Texts(ids, column(prompt or "prompt"), column(response or "response"))
    return "points", Texts(ids, None, column(text or "text"))


def _check_numbers(counts: dict[str, Any], amounts: dict[str, Any], weights: dict[str, Any]) -> None:
    for name, value in counts.items():
        if value < 1:
            raise InputError(f"{name} is {value}", hint="Give a whole number of at least 1.")
    for name, value in amounts.items():
        if not value >= 0 or math.isinf(value):
            raise InputError(f"{name} is {value}", hint="Give a number of at least 0.")
    for name, value in weights.items():
        if not value > 0 or math.isinf(value):
            raise InputError(f"{name} is {value}", hint="Give a number above 0; a view is kept, with a weight.")


def _reference_name(judged: Responsiveness) -> str:
    """Return what the reference is called, without the id of a rater."""
    name: str = judged.settings["reference"]["name"]
    of_a_rater = judged.settings["reference"]["kind"] == "group" and "rater = " in name
    return "the raters named as reference" if of_a_rater else name


def _nobody(axis: Axis, min_ratings: int, *, named: bool) -> InputError:
    if named:
        return InputError(
            f"none of the raters given belongs to a group of {axis.name} that is shown",
            hint="raters= lists ids of the ratings, of groups large enough to show.",
        )
    return InputError(
        f"no group of {axis.name} has an eligible rater: one with at least {min_ratings} ratings of items that have a "
        "reference, and scores that differ",
        hint="Lower min_ratings (--min-ratings), or check that the reference is of the same items.",
    )


def _nothing(found: Curation, texts: Texts) -> InputError:
    groups = found.table("groups")
    listed = found.table("decisions").height
    if listed:
        return InputError(
            f"there is no {found.form[:-1]} to curate: all {listed} listed pairs are excluded, and there are no others",
            hint="Include some of them, or take another reference.",
        )
    least = found.settings["min_votes"]
    if not groups["n_items"].sum():
        return InputError(
            f"there is nothing to curate: no item has the scores of {least} selected raters of a group",
            hint="Lower min_votes (--min-votes), or take more raters with per_group (--per-group).",
        )
    prompts = [one for one in texts.prompts or () if one]
    if len(prompts) == len(set(prompts)):
        return InputError(
            "there is no pair to curate: no prompt has two responses",
            hint="Ask for form='points' (--form points), or check the prompt column.",
        )
    return InputError(
        f"there is no pair to curate: no two responses to a prompt lie {found.settings['min_margin']:g} or more apart "
        "in the scores of a group",
        hint="Lower min_margin (--min-margin), or take more items with per_point (--per-point).",
    )
