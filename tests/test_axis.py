from __future__ import annotations

from collections.abc import Sequence

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


def test_one_attribute() -> None:
    axis = Axis.of(study(gender=["Man"] * 6 + ["Woman"] * 5 + [None] * 2), "gender")
    assert axis.groups == axis.shown == ("Man", "Woman")
    assert axis.sizes.tolist() == [6, 5]
    assert axis.codes.tolist() == [0] * 6 + [1] * 5 + [-1] * 2
    assert axis.n_outside == 2


def test_crossing_keeps_the_order_asked_for_and_only_what_occurs() -> None:
    ratings = study(gender=["Man", "Man", "Woman", None], race=["Asian", "White", "Asian", "White"])
    axis = Axis.of(ratings, ("race", "gender"), min_group_size=1)
    assert axis.name == "race × gender"
    assert axis.groups == ("Asian × Man", "Asian × Woman", "White × Man")
    assert axis.codes.tolist() == [0, 2, 1, -1]
    flipped = Axis.of(ratings, ["gender", "race"], min_group_size=1)
    assert flipped.groups == ("Man × Asian", "Man × White", "Woman × Asian")


def test_small_groups_are_withheld_and_counted() -> None:
    axis = Axis.of(study(race=["a"] * 5 + ["b"] * 4 + ["c"] * 9), "race")
    assert axis.shown == ("c",)  # all raters less those of a and c would be b
    assert (axis.n_withheld, axis.revealing.tolist()) == (2, [True, False, False])
    several = Axis.of(study(race=["a"] * 5 + ["b"] * 4 + ["c"] * 9 + ["d"] * 2), "race")
    assert (several.shown, several.n_withheld) == (("a", "c"), 2)
    assert Axis.of(study(race=["a"] * 5 + ["b"] * 4 + ["c"] * 9), "race", min_group_size=1).n_withheld == 0


def test_the_other_of_two_groups_is_withheld_with_it() -> None:
    axis = Axis.of(study(gender=["Man"] * 50 + ["Woman"] * 4), "gender")
    assert axis.shown == ()
    assert (axis.n_withheld, axis.revealing.tolist()) == (2, [True, False])
    assert "Woman" not in repr(axis)


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


def test_by_rater_is_never_withheld() -> None:
    axis = Axis.of(study(gender=["Man"] * 3), "rater")
    assert axis.shown == ("0", "1", "2")


def test_labels_that_begin_with_a_number_are_in_its_order() -> None:
    """A table of text has numbers as text, as soon as one of a column is a range."""
    given = ["10", "9", "100", "9.5", "-1"]
    assert list(Axis.of(study(level=given), "level", min_group_size=1).groups) == sorted(given, key=float)
    ages = ["25-34", "100+", "<18", "5–17", "18-24", "1,000"]
    ratings = study(age=ages, sex=["b", "a"] * 3)
    assert Axis.of(ratings, "age", min_group_size=1).groups == ("5–17", "<18", "18-24", "25-34", "100+", "1,000")
    crossed = Axis.of(ratings, ("sex", "age"), min_group_size=1).groups
    assert crossed == ("a × 5–17", "a × 100+", "a × 1,000", "b × <18", "b × 18-24", "b × 25-34")


def test_one_label_without_a_number_leaves_all_in_the_order_of_text() -> None:
    assert Axis.of(study(age=["9", "10", "unknown"]), "age", min_group_size=1).groups == ("10", "9", "unknown")
    assert Axis.of(study(age=["b10", "b9"]), "age", min_group_size=1).groups == ("b10", "b9")


def test_values_of_which_a_rater_may_have_several_are_in_the_same_order() -> None:
    one = next(iter(compared(study(room=["10;9", "9", "100;10"]), ("room",), {"room": ";"}, 1)))
    assert [axis.groups[0] for axis in one.each] == ["9", "10", "100"]


def test_raters_keep_the_order_of_their_codes() -> None:
    frame = pl.DataFrame({"item": [1, 1, 1], "rater": ["10", "9", "007"], "score": [0, 1, 1]})
    ratings = Ratings.from_frame(frame, scale=Scale.range(0, 1))
    axis = Axis.of(ratings, "rater")
    assert (axis.groups, axis.codes.tolist()) == (tuple(ratings.raters["rater"]), [0, 1, 2])


def test_numbers_and_bins_keep_their_order() -> None:
    ratings = study(age=[9, 10, 100, 9, 10, 100])
    assert Axis.of(ratings, "age", min_group_size=1).groups == ("9", "10", "100")
    binned = ratings.with_bins("age", [10, 50], ["young", "old"])
    assert Axis.of(binned, "age", min_group_size=1).groups == ("<10", "young", "old")


def test_whole_floats_and_booleans_read_as_people_write_them() -> None:
    assert Axis.of(study(wave=[1.0, 2.0, None]), "wave", min_group_size=1).groups == ("1", "2")
    assert Axis.of(study(removed=[True, False]), "removed", min_group_size=1).groups == ("False", "True")


def test_errors() -> None:
    ratings = study(gender=["Man"] * 3)
    with pytest.raises(SelectionError, match="raters have no attribute 'sex'; they have: gender"):
        Axis.of(ratings, "sex")
    with pytest.raises(SelectionError, match="attributes that differ"):
        Axis.of(ratings, ("gender", "gender"))


def test_totals_have_no_groups() -> None:
    from plurivox.domain.check import LongTable, check

    pieces = [pl.DataFrame({"item": ["x", "x"], "score": [0, 1], "count": [2, 3]})]
    totals = Ratings.from_checked(check(LongTable("t", pieces, {"item": "item", "score": "score"}), Scale.range(0, 1)))
    with pytest.raises(NeedsRatersError, match="counts per scale point"):
        Axis.of(totals, "gender")
