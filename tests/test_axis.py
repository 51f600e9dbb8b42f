from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import NeedsRatersError, SelectionError
from plurivox.domain.axis import Axis
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import Scale
from plurivox.infer.grouping import compared


def study(**attributes: Sequence[object]) -> Ratings:
    n = len(next(iter(attributes.values())))
    raters = pl.DataFrame({"rater": range(n), **{k: pl.Series(v, strict=False) for k, v in attributes.items()}})
    frame = pl.DataFrame({"item": [0] * n, "rater": range(n), "score": [i % 2 for i in range(n)]})
    return Ratings.from_frame(frame, scale=Scale.range(0, 1), raters=raters)


GIVEN = ["10", "9", "100", "9.5", "-1"]
AGES = ["25-34", "100+", "<18", "5–17", "18-24", "1,000"]
BOTH = {"gender": ["Man", "Man", "Woman", None], "race": ["Asian", "White", "Asian", "White"]}


@pytest.mark.parametrize(
    ("attributes", "by", "groups", "codes"),
    [
        ({"gender": ["Man", "Woman", None]}, "gender", ("Man", "Woman"), [0, 1, -1]),
        # crossings keep the order asked for, and only what occurs
        (BOTH, ("race", "gender"), ("Asian × Man", "Asian × Woman", "White × Man"), [0, 2, 1, -1]),
        (BOTH, ["gender", "race"], ("Man × Asian", "Man × White", "Woman × Asian"), [0, 1, 2, -1]),
        ({"gender": ["Man"] * 3}, "rater", ("0", "1", "2"), [0, 1, 2]),
        # labels that begin with a number are in its order, unless one does not
        ({"level": GIVEN}, "level", tuple(sorted(GIVEN, key=float)), [3, 1, 4, 2, 0]),
        ({"age": AGES}, "age", ("5–17", "<18", "18-24", "25-34", "100+", "1,000"), [3, 4, 1, 0, 2, 5]),
        ({"age": AGES, "sex": ["b", "a"] * 3}, ("sex", "age"),
         ("a × 5–17", "a × 100+", "a × 1,000", "b × <18", "b × 18-24", "b × 25-34"), [5, 1, 3, 0, 4, 2]),
        ({"age": ["9", "10", "unknown"]}, "age", ("10", "9", "unknown"), [1, 0, 2]),
        ({"age": ["b10", "b9"]}, "age", ("b10", "b9"), [0, 1]),
        ({"age": [9, 10, 100]}, "age", ("9", "10", "100"), [0, 1, 2]),
        ({"wave": [1.0, 2.0, None]}, "wave", ("1", "2"), [0, 1, -1]),
        ({"removed": [True, False]}, "removed", ("False", "True"), [1, 0]),
    ],
)  # fmt: skip
def test_groups_and_their_order(attributes: Any, by: Any, groups: tuple[str, ...], codes: list[int]) -> None:
    axis = Axis.of(study(**attributes), by, min_group_size=1)
    assert axis.name == (by if isinstance(by, str) else " × ".join(by))
    assert axis.groups == axis.shown == groups
    assert axis.codes.tolist() == codes
    assert axis.sizes.tolist() == [codes.count(at) for at in range(len(groups))]
    assert axis.n_outside == codes.count(-1)


@pytest.mark.parametrize(
    ("sizes", "shown", "withheld", "revealing"),
    [
        ((5, 4, 9), ("c",), 2, [True, False, False]),  # all raters less those of a and c would be b
        ((5, 4, 9, 2), ("a", "c"), 2, [False] * 4), ((50, 4), (), 2, [True, False]),
    ],
)  # fmt: skip
def test_small_groups_are_withheld_and_counted(
    sizes: tuple[int, ...], shown: tuple[str, ...], withheld: int, revealing: list[bool]
) -> None:
    ratings = study(race=[name for name, n in zip("abcd", sizes, strict=False) for _ in range(n)])
    axis = Axis.of(ratings, "race")
    assert (axis.shown, axis.n_withheld, axis.revealing.tolist()) == (shown, withheld, revealing)
    assert "'b'" not in repr(axis)
    assert Axis.of(ratings, "race", min_group_size=1).n_withheld == 0
    assert Axis.of(ratings, "rater").n_withheld == 0


def test_raters_and_bins_keep_the_order_of_their_codes() -> None:
    frame = pl.DataFrame({"item": [1, 1, 1], "rater": ["10", "9", "007"], "score": [0, 1, 1]})
    ratings = Ratings.from_frame(frame, scale=Scale.range(0, 1))
    axis = Axis.of(ratings, "rater")
    assert (axis.groups, axis.codes.tolist()) == (tuple(ratings.raters["rater"]), [0, 1, 2])
    binned = study(age=[9, 10, 100]).with_bins("age", [10, 50], ["young", "old"])
    assert Axis.of(binned, "age", min_group_size=1).groups == ("<10", "young", "old")


def test_why_groups_are_withheld_is_counted_once_for_all() -> None:
    """Eight men are not few: they are withheld since the other three are all who are left."""
    frame = {"gender": ["Man"] * 8 + ["Woman"] * 3, "race": ["a"] * 5 + ["b"] * 4 + ["c"] * 2}
    ratings = study(**frame)
    counts = {one.axis.name: (one.n_withheld, one.n_revealing) for one in compared(ratings, ("gender", "race"), {})}
    assert counts == {"gender": (2, 1), "race": (2, 0)}
    about = pv.describe(ratings, ["gender", "race"])
    assert [(axis.n_withheld, axis.n_revealing) for axis in about.axes] == [(2, 1), (2, 0)]
    words = "2 groups are withheld: 1 has fewer than 5 raters, and 1 would reveal it."
    assert pv.responsiveness(ratings, "crowd", "gender", permutations=0, interval="none").findings()[-1] == words
    everywhere = " ".join(pv.plots.group_sizes(pv.overview(ratings, ["gender", "race"])).to_dict()["title"]["subtitle"])
    assert "4 groups withheld: 3 have fewer than 5 raters, and 1 would reveal one of them." in everywhere


def test_a_value_that_few_lack_is_withheld_to_protect_those() -> None:
    """Of overlapping groups each is compared with those without its value."""
    ratings = study(race=["a"] * 6 + ["a;b"] * 6 + ["b"] * 2)
    one = next(iter(compared(ratings, ("race",), {"race": ";"})))
    assert (one.n_withheld, one.n_revealing) == (1, 1)  # only two lack a; six lack b
    found = pv.cohesion(ratings, "race", several={"race": ";"}, permutations=0, interval="none")
    assert "1 group is withheld, since it would reveal one with fewer than 5 raters." in found.findings()


def test_values_of_which_a_rater_may_have_several_are_in_the_same_order() -> None:
    one = next(iter(compared(study(room=["10;9", "9", "100;10"]), ("room",), {"room": ";"}, 1)))
    assert [axis.groups[0] for axis in one.each] == ["9", "10", "100"]


def test_errors() -> None:
    ratings = study(gender=["Man"] * 3)
    with pytest.raises(SelectionError, match="raters have no attribute 'sex'; they have: gender"):
        Axis.of(ratings, "sex")
    with pytest.raises(SelectionError, match="attributes that differ"):
        Axis.of(ratings, ("gender", "gender"))


def test_totals_have_no_groups() -> None:
    from plurivox.domain.check import LongTable, check

    pieces = [pl.DataFrame({"item": ["x", "x"], "score": [0, 1], "count": [2, 3]})]
    totals = Ratings(**check(LongTable("t", pieces, {"item": "item", "score": "score"}), Scale.range(0, 1)))
    with pytest.raises(NeedsRatersError, match="counts per scale point"):
        Axis.of(totals, "gender")
