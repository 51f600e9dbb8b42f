"""Ratings of raters whose status needs a decision, such as those whom Prolific does not list as approved."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from plurivox.base.errors import InputError
from plurivox.base.wording import counted, listed
from plurivox.domain.ratings import Ratings, ratings_of, with_parts, without_others
from plurivox.read.formats.record import WAITING
from plurivox.read.settings import ReadSettings


def without_waiting(ratings: Ratings, asked: ReadSettings, source: str) -> Ratings:
    """Return the ratings without those of raters who need a decision, if the decision is to drop them.

    Raise an error if a decision is missing; raters who rated nothing need none.
    """
    if WAITING not in ratings.raters.columns:
        return ratings
    waiting = ratings.raters[WAITING].to_list()
    ratings = with_parts(ratings, raters=ratings.raters.drop(WAITING))
    counts = ratings.per_rater().copy()
    if ratings.again is not None:
        counts += np.bincount(ratings.again.rater_codes, minlength=len(waiting))
    n_ratings = counts.tolist()
    undecided, dropped = Counter[str](), Counter[str]()
    keep = np.ones(len(waiting), dtype=bool)
    for rater, (status, n) in enumerate(zip(waiting, n_ratings, strict=True)):
        choice = None if status is None else getattr(asked, status.partition(":")[0])
        if status is None or choice == "keep" or not n:
            continue
        keep[rater] = choice is None
        (undecided if choice is None else dropped)[status] += 1 if choice is None else n
    if undecided:
        raise _undecided(undecided, sum(n > 0 for n in n_ratings), source)
    if not keep.any():
        raise InputError("no raters remain, because all of them are left out", source=source, hint="Keep some of them.")
    left = {f"ratings by raters of status {status.partition(':')[2]}": n for status, n in dropped.items()}
    told = replace(ratings.intake, left_out={**ratings.intake.left_out, **left})
    return with_parts(without_others(ratings_of(ratings, raters=keep), raters=keep), intake=told)


def _undecided(undecided: Counter[str], n_raters: int, source: str) -> InputError:
    """Return the error for a missing decision, with how many raters it concerns."""
    statuses = listed(f"{status.partition(':')[2]} ({n:,})" for status, n in undecided.items())
    options = sorted({status.partition(":")[0] for status in undecided})
    return InputError(
        f"{undecided.total():,} of {counted(n_raters, 'rater')} {'is' if undecided.total() == 1 else 'are'} not "
        f"approved: {statuses}; you have to decide whether they count",
        source=source,
        hint="Use "
        + " and ".join(f"--{option} drop" for option in options)
        + " to leave out their ratings, or keep instead of drop.",
    )
