"""How often soft scores call a model better where none is, and find the better one: simulated studies.

A slice runs with every test, the suite with ``make test-claims``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from claims.models import claims
from claims.rates import Rate, alone, rate, too_often

CLAIMS = pytest.mark.claims
NULL: list[tuple[str, str, dict[str, Any]]] = [
    *(("equal", "", {"n_items": n, "n_models": k}) for n in (10, 30, 300) for k in (2, 5)),
    *(("in_bins", "how many ratings", {"n_items": n}) for n in (10, 30, 300)),
    *(("by_group", "whose ratings", {"n_items": n}) for n in (10, 30, 300)),
]
REAL: list[tuple[str, str, dict[str, Any], float]] = [
    ("equal", "m0", {"n_items": 300, "better": 4.0}, 0.9),
    ("equal", "m0", {"n_items": 300, "better": 4.0, "n_models": 5}, 0.9),
    ("in_bins", "how many ratings", {"n_items": 300, "turn": 1.0}, 0.9),
    ("by_group", "whose ratings", {"n_items": 100, "view": 1.0}, 0.8),
]


def counted(study: str, words: str, options: dict[str, Any], n: int, first: int = 0) -> Rate:
    return rate(partial(claims, study, words, **options), n, first)


@pytest.mark.parametrize(("study", "words", "options"), [NULL[0], NULL[6], NULL[9]])
def test_few_studies_without_a_difference(study: str, words: str, options: dict[str, Any]) -> None:
    assert counted(study, words, options, 6).times <= 2  # three or more of six at .05 happen in 1 of 450 suites


@pytest.mark.parametrize(("study", "words", "options", "least"), REAL)
def test_one_study_with_a_difference(study: str, words: str, options: dict[str, Any], least: float) -> None:
    assert counted(study, words, options, 1).share >= least


@CLAIMS
@pytest.mark.parametrize(("study", "words", "options"), NULL)
def test_no_difference_no_claim(study: str, words: str, options: dict[str, Any]) -> None:
    assert not too_often(partial(alone, partial(claims, study, words, **options)), 40, first=1000)


@CLAIMS
@pytest.mark.parametrize(("study", "words", "options", "least"), REAL)
def test_a_difference_is_found(study: str, words: str, options: dict[str, Any], least: float) -> None:
    found = counted(study, words, options, 40, first=1000)
    assert found.high >= least, str(found)
