"""Correlated attributes: claims about groups, tested again within each other attribute of the call."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.axis import Axis
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws
from plurivox.engine.run import Values
from plurivox.infer.exchange import ALONE
from plurivox.infer.families import adjust
from plurivox.infer.grouping import Grouping
from plurivox.infer.inference import Inference, Measures, Shuffled
from plurivox.infer.result import Row


class TestedGroups(Protocol):
    """Some groups of an axis, measured and tested."""

    @property
    def axis(self) -> Axis:
        """The axis."""

    @property
    def places(self) -> list[int]:
        """Their positions on it."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Their names."""

    @property
    def tested(self) -> Shuffled:
        """Their values, observed and shuffled."""


P = TypeVar("P", bound=TestedGroups)


def held(
    inference: Inference,
    ratings: Ratings,
    by: Sequence[tuple[str, ...]],
    rows: Sequence[Row],
    prepared: Mapping[tuple[str, str], P],
    measure: Callable[[P, NDArray[np.int32]], Measures],
) -> list[Row]:
    """Test claims about groups again, with raters shuffled within each other attribute of the call.

    A group whose raters also differ from others in a second attribute may stand apart because of that attribute.
    Where a claim also holds within the second attribute, it does not explain the claim. p-values are corrected by
    Holm's method over the other attributes.

    Parameters
    ----------
    prepared
        What was measured for each axis and group.
    measure
        Measures the same within other strata.
    """
    claims = [row for row in rows if row.claim and row.kind == "group" and row.subset == "all"]
    others = list(dict.fromkeys(attribute for one in by for attribute in one if attribute != "rater"))
    tests: dict[tuple[int, str], Shuffled] = {}
    found = []
    for row in claims:
        one = prepared[row.axis, row.group]
        own = []
        for other in (attribute for attribute in others if attribute not in one.axis.attributes):
            if (id(one), other) not in tests:
                tests[id(one), other] = _again(inference, ratings, one, other, measure)
            own.append(_row(row, other, tests[id(one), other], one.groups.index(row.group)))
        p = adjust([math.nan if each.p_value is None else each.p_value for each in own], "holm").tolist()
        found += [replace(each, p_adjusted=value) for each, value in zip(own, p, strict=True)]
    return found


def _again(
    inference: Inference, ratings: Ratings, one: P, other: str, measure: Callable[[P, NDArray[np.int32]], Measures]
) -> Shuffled:
    """Shuffle the raters of an axis within another attribute."""
    strata = inference.exchange.finer(Axis.of(ratings, other, min_group_size=1).codes)
    grouping = Grouping.of(ratings, one.axis.codes, len(one.axis), strata)
    what, names = f"{one.axis.name} within {other}", one.tested.names
    tested = inference.shuffled(measure(one, strata), grouping, names, _in_place(one), one.places, what)
    shuffles = Draws.permuted(inference.asked.permutations, inference.asked.seed)
    tested.null = tested.make(shuffles, inference.doing(f"permuting {tested.what}"))
    tested.compare(inference.convention)
    return tested


def _in_place(one: TestedGroups) -> Values:
    """Return the observed values at the positions of their groups on the axis."""
    values = np.full((len(one.axis), one.tested.observed.shape[1]), np.nan)
    values[one.places] = one.tested.observed
    return values


def _row(row: Row, other: str, again: Shuffled, g: int) -> Row:
    test, s = again.test, again.names.index(row.statistic)
    assert test is not None
    return replace(
        row, kind="held", other=other, p_value=float(test.p_value[g, s]), direction=test.direction[g, s],
        null_median=float(test.null_median[g, s]), n_permutations=len(again.null), claim=None, p_adjusted=None,
        ci_low=None, ci_high=None, note=ALONE.format(where=other) if again.alone[g] else "",
    )  # fmt: skip
