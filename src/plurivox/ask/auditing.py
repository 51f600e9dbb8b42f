"""A sample of answers for a person to check, with a share for every state and every rule that read some."""

from __future__ import annotations

import hashlib
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.ask.question import Question
from plurivox.ask.replies import as_shown
from plurivox.ask.store import Store
from plurivox.ask.stored import Stored, label_of
from plurivox.base.errors import InputError
from plurivox.domain.reader import STATES

ID_LENGTH = 16
"""How many characters of an answer's key its id has."""
CHECKED_STATES = tuple(state for state in STATES if state != "failed")
COLUMNS = {
    "id": pl.String, "model": pl.String, "prompt": pl.String, "item": pl.String, "options": pl.String,
    "text": pl.String, "state": pl.String, "answer": pl.String, "rule": pl.String, "seen": pl.String,
    "weight": pl.Float64, "correct": pl.String, "should_be": pl.String,
}  # fmt: skip
"""The table to check; the last two columns are for the person who does."""
_CERTAIN = 1 - 1e-12  # a chance of 1, except for rounding

Stratum = tuple[str, str]
"""A rule and a model."""


class _DrawnPlace(NamedTuple):
    """The place of an answer in its state: by rule, model, and a number derived from seed and key."""

    rule: str
    model: str
    number: bytes
    key: str


def draw_audit(store: str | os.PathLike[str], n: int, seed: int = 0) -> pl.DataFrame:
    """Draw a sample of answers into a table for a person to check.

    The states share the sample equally, as far as they have answers. Within a state it is systematic, along the answers
    sorted by rule and model, with chances π ∝ 1/√N where N is how many answers the rule read of the model: the share of
    a rule and model grows with √N, so that rare ones are also seen. ``weight`` is 1/π, with which
    :func:`~plurivox.ask.accuracy` undoes this. The same seed draws the same sample.

    Parameters
    ----------
    store
        The file of answers.
    n
        How many answers to draw; all if there are no more.
    seed
        The seed of the sample.

    Returns
    -------
    polars.DataFrame
        One row per answer, in a random order, with two empty columns: ``correct``, for yes or no, and
        ``should_be``.
    """
    if n < 1:
        raise InputError(f"the size of the sample is {n}", hint="Draw at least one answer.")
    with Store.read(store) as opened:
        question = Question.from_about(opened.about, opened.path)
        weights = _drawn(opened, n, seed)
        if not weights:
            raise InputError("there are no answers to check", source=opened.path, hint="Ask some models first.")
        rows = {one.key: _row(one, question, weights[one.key]) for one in opened.each() if one.key in weights}
    return pl.DataFrame(
        [rows[key] for key in sorted(rows, key=lambda key: _number(seed, key))], schema=COLUMNS, orient="row"
    )


def _drawn(opened: Store, n: int, seed: int) -> dict[str, float]:
    """Return the weight of each answer that is drawn, by its key."""
    places: dict[str, list[_DrawnPlace]] = {}
    for one in opened.each():
        if one.reading.state in CHECKED_STATES:
            place = _DrawnPlace(one.reading.rule or "", one.model, _number(seed, one.key), one.key)
            places.setdefault(one.reading.state, []).append(place)
    weights: dict[str, float] = {}
    for state, share in shares({state: len(found) for state, found in places.items()}, n).items():
        found = sorted(places[state])
        chance = chances(Counter((place.rule, place.model) for place in found), share)
        each = np.array([chance[place.rule, place.model] for place in found])
        for at in _systematic(each, int.from_bytes(_number(seed, state)[:4]) / 2**32):
            weights[found[at].key] = 1 / float(each[at])
    return weights


def _number(seed: int, text: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{text}".encode()).digest()


def shares(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """Split a sample equally over parts as far as they go; what cannot be split goes to the largest.

    Examples
    --------
    >>> shares({"answered": 900, "refused": 4, "unreadable": 80}, 51)
    {'refused': 4, 'unreadable': 23, 'answered': 24}
    """
    found: dict[str, int] = {}
    for at, part in enumerate(sorted(sizes, key=lambda part: (sizes[part], part))):
        found[part] = min(sizes[part], (n - sum(found.values())) // (len(sizes) - at))
    return found


def chances(sizes: Mapping[Stratum, int], n: int) -> dict[Stratum, float]:
    """Return each answer's chance of being drawn, by its stratum: n/(√N Σ√N), at most 1.

    Examples
    --------
    >>> chances({("letter", "m"): 100, ("text", "m"): 25, ("rare", "m"): 1}, 16)
    {('rare', 'm'): 1.0, ('letter', 'm'): 0.1, ('text', 'm'): 0.2}
    """
    found: dict[Stratum, float] = {}
    left = dict(sorted(sizes.items()))
    while left:
        total = sum(map(math.sqrt, left.values()))
        now = {stratum: n / (math.sqrt(size) * total) for stratum, size in left.items()}
        certain = [stratum for stratum, chance in now.items() if chance >= _CERTAIN]
        if not certain:
            return found | now
        for stratum in certain:
            found[stratum] = 1.0
            n -= left.pop(stratum)
    return found


def _systematic(chance: NDArray[np.float64], start: float) -> list[int]:
    """Return the places where the chances, added up, pass start, start + 1, …; and all whose chance is 1."""
    certain, rest = np.flatnonzero(chance >= 1), np.flatnonzero(chance < 1)
    n = round(float(chance[rest].sum()))
    passed = np.minimum(np.cumsum(chance[rest]), n)
    passed[-1:] = n  # but for rounding
    return [*certain.tolist(), *rest[np.searchsorted(passed, start + np.arange(n), side="right")].tolist()]


def _row(one: Stored, question: Question, weight: float) -> Sequence[object]:
    reading, options = one.reading, as_shown(question, one.order, one.prompt)
    return (
        one.key[:ID_LENGTH], one.model, one.prompt, one.item,
        " | ".join(f"{letter}) {label}" for letter, label, *_ in options), one.text or one.refusal, reading.state,
        label_of(reading.point, question.scale.labels), reading.rule or None,
        one.text[slice(*reading.span)] if reading.span else None, weight, None, None,
    )  # fmt: skip
