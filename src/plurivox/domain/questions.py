"""Several questions about each item, combined into one answer by a declared rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from plurivox.base.arguments import checked
from plurivox.base.errors import InputError, ScaleError, SelectionError
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import label_column
from plurivox.domain.scale import Label

RULES = ("highest", "lowest")
_NO_TIMES: dict[str, Any] = {"kept_repeats": 0, "time_unit": "", "missing_times": 0}
"""A combined answer has no single time."""


@checked
def combine(questions: Mapping[str, Ratings], rule: str | Sequence[Label] = "highest") -> Ratings:
    """Combine each rater's answers to several questions about an item into one rating.

    Parameters
    ----------
    questions
        Ratings of the same items by the same raters on the same scale, by the name of their question.
    rule
        ``"highest"`` takes the highest point given: on safe < unsure < unsafe, any unsafe makes unsafe, otherwise any
        unsure makes unsure, otherwise safe. ``"lowest"`` takes the lowest. A list of points takes the first of them
        that was given.

    Returns
    -------
    Ratings
        A rating for each rater and item with at least one answer. ``intake.missing_scores`` counts the answers that
        were missing in any question. If the first question is weighted, raters are weighted to the same population.

    Examples
    --------
    >>> from plurivox.domain.scale import Scale
    >>> frame = pl.DataFrame({"item": [1, 1], "rater": ["a", "b"], "harm": [0, 2], "bias": [1, 0]})
    >>> asked = {q: Ratings.from_frame(frame, score=q, scale=Scale.range(0, 2)) for q in ("harm", "bias")}
    >>> combine(asked).to_frame()["score"].to_list()
    [1, 2]
    """
    if not questions:
        raise InputError("there are no questions to combine")
    first = next(iter(questions.values()))
    for name, ratings in questions.items():
        if ratings.scale != first.scale:
            raise ScaleError(f"question '{name}' has the scale {ratings.scale}, another has {first.scale}")
        if not ratings.has_raters:
            raise InputError(f"question '{name}' holds totals, but combining needs to know who answered")
    order = _priorities(first, rule)
    answers = pl.concat(
        pl.DataFrame({
            "item": ratings.items["item"].gather(ratings.item_codes),
            "rater": ratings.raters["rater"].gather(ratings.codes_of_raters), "priority": order[ratings.scores],
        })
        for ratings in questions.values()
    )  # fmt: skip
    best = answers.group_by("item", "rater").agg(pl.col("priority").max())
    labels = label_column(first.scale).gather(np.argsort(order)[best["priority"].to_numpy()])
    combined = Ratings.from_frame(
        best.select("item", "rater").with_columns(labels), scale=first.scale, raters=_known(questions, "rater"),
        items=_known(questions, "item"), unknown=(),
    )  # fmt: skip
    intake = replace(
        first.intake,
        columns={**first.intake.columns, "score": f"{rule if isinstance(rule, str) else 'first'} of {len(questions)}"},
        missing_scores=sum(ratings.intake.missing_scores for ratings in questions.values()),
        recoded_missing=sum(ratings.intake.recoded_missing for ratings in questions.values()),
        **_NO_TIMES,
    )
    found = combined.with_known(intake=intake)
    return found if first.panel is None else found.weighted(first.panel.population, trim=first.panel.trim)


def _priorities(ratings: Ratings, rule: str | Sequence[Label]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return for each point how much it counts: the largest of a rater's answers wins."""
    n_points = len(ratings.scale)
    if isinstance(rule, str):
        if rule not in RULES:
            raise SelectionError(f"the rule is {rule!r}", hint=f"Give one of {', '.join(RULES)}, or a list of points.")
        places = np.arange(n_points)
        return places if rule == "highest" else places[::-1].copy()
    positions = [ratings.scale.position(label) for label in rule]
    if sorted(positions) != list(range(n_points)):
        raise SelectionError(f"the rule lists {list(rule)}", hint=f"List every point of {ratings.scale} once.")
    order = np.empty(n_points, dtype=np.int64)
    order[positions] = np.arange(n_points)[::-1]
    return order


def _known(questions: Mapping[str, Ratings], role: str) -> pl.DataFrame:
    """Return what any question knows about the items or raters."""
    frames = [ratings.items if role == "item" else ratings.raters for ratings in questions.values()]
    return pl.concat(frames).unique(subset=role, keep="first", maintain_order=True)
