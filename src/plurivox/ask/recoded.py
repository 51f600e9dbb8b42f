"""Predictions and answers for ratings that may have been recoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plurivox.ask.read_answers import read_answers
from plurivox.base.errors import ColumnError
from plurivox.domain.answers import Answers
from plurivox.domain.choices import Conflicts
from plurivox.domain.predictions import Predictions
from plurivox.domain.ratings import Ratings
from plurivox.domain.recoding import Recoding
from plurivox.domain.scale import Scale
from plurivox.read.beside import attribute_table
from plurivox.read.read import read_predictions


def predictions_of(files: Sequence[str], scale: Scale, recoding: Recoding | None, like: Ratings | None) -> Predictions:
    """Read predictions on the scale of the ratings; if it was recoded, each may use the points before or after."""
    if recoding is None:
        return read_predictions(files, scale, like=like)
    return Predictions.together([_predictions(file, scale, recoding, like)[0] for file in files])


def _predictions(file: str, scale: Scale, recoding: Recoding, like: Ratings | None) -> tuple[Predictions, bool]:
    """Read one file, and return whether it uses the points before recoding."""
    try:
        return read_predictions(file, scale, like=like), False
    except ColumnError:
        if file == "-":  # it cannot be read twice
            raise
        return read_predictions(file, recoding.old, like=like).recode(recoding), True


def answers_of(file: str, scale: Scale, recoding: Recoding | None, like: Ratings | None, **more: Any) -> Answers:
    """Read answers on the scale of the ratings and recode them likewise; if none fits, on the recoded scale."""
    return read_answers(file, scale, like=like, **more) if recoding is None else _answers(
        file, scale, recoding, like, **more
    )[0]  # fmt: skip


def _answers(
    file: str, scale: Scale, recoding: Recoding, like: Ratings | None, **more: Any
) -> tuple[Answers, bool]:  # fmt: skip
    """Read answers, and return whether they use the points before recoding."""
    found = read_answers(file, recoding.old, like=like, **more)
    if (found.point >= 0).any():
        return found.recode(recoding), True
    return read_answers(file, scale, like=like, **more), False


def described(found: Answers, items: str | None, ratings: Ratings, conflicts: Conflicts, encoding: str) -> Answers:
    """Return answers with the attributes in a table of items, also for unrated items; unchanged without a table."""
    table = attribute_table(items, "item", ratings.intake.columns.get("item", "item"), encoding)
    return found if table is None else found.with_items(table, conflicts)


def are_before(role: str, file: str, ratings: Ratings, recoding: Recoding) -> bool:
    """Return whether a file of predictions or answers uses the points before the ratings were recoded."""
    return (_predictions if role == "predictions" else _answers)(file, ratings.scale, recoding, ratings)[1]
