"""The responsiveness lens: against golden values, literal twins, literal resampling and shuffling."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import plurivox as pv
import reference as twin
from plurivox.base.errors import SharedRatersWarning
from plurivox.domain.axis import Axis
from plurivox.domain.part import cut
from plurivox.engine import run as engine_run
from plurivox.engine.draws import Draws, item_weights, rater_weights
from plurivox.engine.pool import LARGE, Parcel
from plurivox.infer.permutation import among_peers
from plurivox.infer.result import Row
from plurivox.lenses.responsiveness import raters as one_by_one
from plurivox.lenses.responsiveness.references import resolve
from plurivox.lenses.responsiveness.sums import Metrics, Responses
from plurivox.statistics.checks import tie_priorities
from plurivox.statistics.responsiveness import MEASURES as STATISTICS
from reference import same

Array = NDArray[Any]
VALUES_ONLY: dict[str, Any] = {"permutations": 0, "interval": "none", "min_group_size": 1}
BINARY = pv.Scale(["safe", "unsafe"])


# Data ----------------------------------------------------------------------------------------------------------------
def ratings_of(rows: Sequence[tuple[Any, Any, Any]], scale: pv.Scale, **tables: Any) -> pv.Ratings:
    frame = pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")
    return pv.Ratings.from_frame(frame, scale=scale, **tables)


def study(
    seed: int, *, crossed: bool = False, n_items: int = 8, n_raters: int = 9, scale: pv.Scale | None = None,
    known: bool = False,
) -> pv.Ratings:  # fmt: skip
    """Raters r00, r01, … of the groups x, y and z, the last one of none unless all are ``known``."""
    rng = np.random.default_rng(seed)
    scale = scale or pv.Scale.range(0, 3)
    rated = rng.random((n_items, n_raters)) < (1 if crossed else 0.6)
    rated[rng.integers(n_items, size=n_raters), np.arange(n_raters)] = True  # every rater rates something
    severity = rng.normal(size=n_items)[:, None] + rng.normal(size=(n_items, n_raters))
    place = np.searchsorted(np.linspace(-1, 1, len(scale) - 1), severity)
    names = [f"r{r:02}" for r in range(n_raters)]
    rows = [(i, names[r], scale.labels[place[i, r]]) for i, r in zip(*np.nonzero(rated), strict=True)]
    groups = ["x", "y", "z", *rng.choice(["x", "y", "z"], n_raters - 3)]
    raters = pl.DataFrame({"rater": names, "g": groups, "batch": rng.choice(["p", "q"], n_raters), "id": names})
    if not known:
        raters[n_raters - 1, "g"] = None
    items = pl.DataFrame({"item": range(n_items), "topic": ["a", "b", "c", *rng.choice(["a", "b"], n_items - 3)]})
    items[2, "topic"] = None
    return ratings_of(rows, scale, raters=raters, items=items)


def trained_for(ratings: pv.Ratings, seed: int, scale: pv.Scale = BINARY, *, shared: Sequence[str] = ()) -> pv.Ratings:
    """Two or three ratings an item by others (and by ``shared`` raters), of all but one item and of one that is new."""
    rng = np.random.default_rng(seed + 1)
    frame = ratings.to_frame().with_columns(place=pl.Series(ratings.scores))
    means = dict(frame.group_by("item").agg(pl.col("place").mean()).iter_rows())
    rows = []
    for item in [*means, "new"]:
        if item != 1:
            for rater in ["t0", *rng.choice(["t1", "t2", "t3"], rng.integers(1, 3), replace=False), *shared]:
                lean = means.get(item, 0) / (len(ratings.scale) - 1)
                rows.append((str(item), rater, scale.labels[rng.binomial(len(scale) - 1, 0.2 + 0.6 * lean)]))
    return ratings_of(rows, scale)


def with_raters(ratings: pv.Ratings, raters: pl.DataFrame) -> pv.Ratings:
    return pv.Ratings.from_frame(ratings.to_frame(), scale=ratings.scale, raters=raters, items=ratings.items)


def totals_of(ratings: pv.Ratings, folder: Path) -> pv.Ratings:
    labels = [str(label) for label in ratings.scale.labels]
    counts = pl.DataFrame(ratings.counts(), schema=labels, orient="row")
    counts.insert_column(0, ratings.items["item"].cast(pl.String)).write_csv(folder / "totals.csv")
    return pv.read_ratings(folder / "totals.csv", layout="totals", scale=ratings.scale)


# The literal twin of a call ------------------------------------------------------------------------------------------
def plain(ratings: pv.Ratings, split: Callable[[int], int] = int) -> list[twin.Rated]:
    """Return the ratings as (item, rater, point); item ids as text, points of a reference as between boundaries."""
    items, raters = ratings.items["item"].cast(pl.String).to_list(), ratings.raters["rater"].to_list()
    codes = zip(ratings.item_codes, ratings.codes_of_raters, ratings.scores.tolist(), strict=True)
    return [(items[i], raters[r], split(point)) for i, r, point in codes]


def groups_of(ratings: pv.Ratings, by: str) -> dict[str, set[str]]:
    groups: dict[str, set[str]] = {}
    for rater, group in zip(ratings.raters["rater"], ratings.raters[by], strict=True):
        if group is not None:
            groups.setdefault(str(group), set()).add(rater)
    return groups


class Against(NamedTuple):
    """A reference for the lens, and its ratings for the twin; ``of_all`` if raters of no group leave it."""

    given: Any
    threshold: Any
    ratings: list[twin.Rated]
    n_points: int
    of_crowd: bool = False


def at_or_above(place: int) -> Callable[[int], int]:
    return lambda point: int(point >= place)


def against(kind: str, ratings: pv.Ratings, seed: int) -> Against:
    scale, middle = ratings.scale, len(ratings.scale) // 2
    everyone, n_points = plain(ratings), len(scale)
    members = groups_of(ratings, "g")["x"]
    three = pv.Scale(["none", "some", "much"])
    if kind == "crowd":
        return Against("crowd", None, everyone, n_points, True)
    if kind == "crowd at a threshold":
        return Against("crowd", scale.labels[middle], plain(ratings, at_or_above(middle)), 2, True)
    if kind in ("group", "group as text"):
        chosen = "g = x" if kind == "group as text" else {"g": "x"}
        return Against(chosen, None, [rating for rating in everyone if rating[1] in members], n_points)
    if kind == "rater at a threshold":
        own = [rating for rating in plain(ratings, at_or_above(middle)) if rating[1] == "r01"]
        return Against({"rater": "r01"}, str(scale.labels[middle]), own, 2)
    if kind == "rater of no group":
        own = [rating for rating in everyone if rating[1] == f"r{ratings.n_raters - 1:02}"]
        return Against({"rater": own[0][1]}, "each", own, n_points)
    if kind == "trained":
        trained = trained_for(ratings, seed)
        return Against(trained, None, plain(trained), 2)
    if kind == "trained, some of the crowd":
        trained = trained_for(ratings, seed, shared=["r00", "r04"])
        return Against(trained, None, plain(trained), 2)
    ordinal = trained_for(ratings, seed, three, shared=["r02"] if "shared" in kind else ())
    if "each" in kind:
        return Against(ordinal, "each", plain(ordinal), 3)
    return Against(ordinal, "some", plain(ordinal, at_or_above(1)), 2)


KINDS = (
    "crowd", "crowd at a threshold", "group", "group as text", "rater at a threshold", "rater of no group", "trained",
    "trained, some of the crowd", "ordinal", "ordinal at each", "ordinal at each, shared",
)  # fmt: skip


SOME_KINDS = [
    kind if kind in ("crowd", "group", "trained, some of the crowd") else pytest.param(kind, marks=pytest.mark.slow)
    for kind in KINDS
]
"""Each kind, of which most run with the slow tests: they fit models, in several processes."""


def voting(ratings: pv.Ratings, score: str, ties: str, seed: int) -> tuple[Any, twin.Decide | None]:
    """Return how the twin finds the candidates for a score, and which of them it takes."""
    numbers = [int(value) for value in ratings.scale.values]
    candidates: dict[str, Any] = {
        "plurality": twin.tied_points, "median": twin.middle_points,
        "mean": lambda given: twin.nearest_points(given, numbers),
    }  # fmt: skip
    ids = ratings.items["item"].to_list()
    ranks = tie_priorities(ids, len(numbers), seed=seed, side=0)
    by_item = {str(item): row.tolist() for item, row in zip(ids, ranks, strict=True)}

    def random(item: Hashable, tied: Sequence[int]) -> int:
        return max(tied, key=lambda point: by_item[str(item)][point])

    decide: dict[str, twin.Decide | None] = {"share": None, "lowest": lambda _, tied: min(tied), "random": random}
    return candidates[score], decide[ties]


def expected_of(
    ratings: pv.Ratings,
    by: str,
    other: Against,
    *,
    group_score: str = "plurality",
    ties: str = "share",
    seed: int = 0,
    copies: Mapping[Hashable, int] | None = None,
) -> dict[str, dict[str, Any]]:
    """Return the nine statistics of each group, and how many items and ratings they rest on."""
    groups = groups_of(ratings, by)
    candidates, decide = voting(ratings, group_score, ties, seed)
    inside = set().union(*groups.values())
    reference = [rating for rating in other.ratings if not other.of_crowd or rating[1] in inside]
    judged, found = plain(ratings), {}
    for group, own in groups.items():
        samples = twin.responses(judged, own, reference, candidates, decide, copies)
        values: dict[str, Any] = dict(twin.responsiveness(samples, len(ratings.scale), other.n_points))
        met = {item for item, rater, _ in reference if rater not in own}
        given = [item for item, rater, _ in judged if rater in own and item in met]
        found[group] = {**values, "n_items": len(set(given)), "n_ratings": len(given)}
    return found


def quietly(ratings: pv.Ratings, other: Any, by: Any, **options: Any) -> pv.Responsiveness:
    """Call the lens where raters are known to be shared with the reference."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SharedRatersWarning)
        return pv.responsiveness(ratings, other, by, **options)


def values_of(found: pv.Responsiveness, axis: str, group: str) -> Array:
    """Return the nine values of a group; a group that is not there has none."""
    rows = [row for row in found.rows if (row.axis, row.group, row.subset) == (axis, group, "all")]
    return np.array([row.value for row in rows]) if rows else np.full(len(STATISTICS), np.nan)


@given(
    st.integers(0, 10_000), st.booleans(), st.sampled_from(KINDS), st.sampled_from(["plurality", "median", "mean"]),
    st.sampled_from(["share", "lowest", "random"]), st.sampled_from(["g", "rater", "batch"]),
    st.sampled_from([pv.Scale.range(0, 1), pv.Scale.range(0, 3), pv.Scale([1, 2, 4, 9, 10])]),
)  # fmt: skip
def test_every_statistic_against_the_literal_twin(
    seed: int, crossed: bool, kind: str, score: str, ties: str, by: str, scale: pv.Scale
) -> None:
    ratings = study(seed, crossed=crossed, scale=scale)
    other = against(kind, ratings, seed)
    options: dict[str, Any] = {"group_score": score, "ties": ties, "seed": seed}
    found = quietly(ratings, other.given, by, threshold=other.threshold, **options, **VALUES_ONLY)
    expected = expected_of(ratings, by, other, **options)
    assert {row.group for row in found.rows if row.axis == by} == set(expected)
    for row in found.rows:
        if row.axis == by:
            assert same(row.value, expected[row.group][row.statistic]), (row.group, row.statistic)
            assert row.n_items == expected[row.group]["n_items"]
            assert row.n_ratings == expected[row.group]["n_ratings"]
        assert row.note or not math.isnan(row.value)


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from(["trained", "trained, some of the crowd", "ordinal at each", "group"]))
def test_all_raters_together_against_the_literal_twin(seed: int, kind: str) -> None:
    ratings = study(seed)
    other = against(kind, ratings, seed)
    found = quietly(ratings, other.given, [], threshold=other.threshold, **VALUES_ONLY)
    everyone = set(ratings.raters["rater"])
    expected = twin.responsiveness(twin.responses(plain(ratings), everyone, other.ratings), 4, other.n_points)
    for name in STATISTICS:
        assert same(found.value("all", "all", name), expected[name]), name


def test_crossings_are_groups() -> None:
    ratings = study(3, n_raters=14)
    found = pv.responsiveness(ratings, "crowd", [("g", "batch")], **VALUES_ONLY)
    both = pl.concat_str("g", "batch", separator=" × ")
    crossed = with_raters(ratings, ratings.raters.with_columns(gb=both))
    expected = expected_of(crossed, "gb", Against("crowd", None, plain(crossed), 4, True))
    assert {row.group for row in found.rows if row.axis == "g × batch"} == set(expected)
    for group, values in expected.items():
        assert all(same(found.value("g × batch", group, name), values[name]) for name in STATISTICS)


def test_many_groups_against_the_literal_twin() -> None:
    """Above 64 groups those that an item meets are found in another way; raters outside the axis are met, too."""
    ratings = study(21, n_items=4, n_raters=160)
    cells = pl.Series("cell", [None if r % 10 == 9 else f"c{r // 2:02}" for r in range(160)])
    many = with_raters(ratings, ratings.raters.with_columns(cells))
    found = pv.responsiveness(many, "crowd", "cell", permutations=0, bootstrap=5, min_group_size=1)
    expected = expected_of(many, "cell", Against("crowd", None, plain(many), 4, True))
    assert len(expected) == 80
    for group, values in expected.items():
        assert all(same(found.value("cell", group, name), values[name]) for name in STATISTICS)


def test_totals_are_a_reference(tmp_path: Path) -> None:
    """Counts per point of a reference whose raters nobody knows give what its ratings give."""
    ratings = study(4)
    trained = trained_for(ratings, 4)
    known = pv.responsiveness(ratings, trained, ["g", "rater"], permutations=5, bootstrap=5, min_group_size=1)
    totals = totals_of(trained, tmp_path)
    assert not totals.has_raters
    found = pv.responsiveness(ratings, totals, ["g", "rater"], permutations=5, bootstrap=5, min_group_size=1)
    assert found.to_frame().equals(known.to_frame())
    assert found.settings["reference"] == {**known.settings["reference"], "name": "totals.csv", "n_raters": 0}


def test_the_point_nearest_to_the_mean_of_decimals() -> None:
    """0.1 and 0.2 are as near to their mean as 0.3 and 0.4 to theirs, whatever the last bits say: both share."""
    scale = pv.Scale([0.1, 0.2, 0.3, 0.4])
    rows = [(0, "a", 0.1), (0, "b", 0.2), (1, "a", 0.3), (1, "b", 0.4), (2, "a", 0.2), (2, "b", 0.3)]
    trained = ratings_of([(0, "t", "safe"), (1, "t", "unsafe"), (2, "t", "unsafe")], BINARY)
    found = pv.responsiveness(ratings_of(rows, scale), trained, [], group_score="mean", **VALUES_ONLY)
    assert found.scored[0].votes[0].tolist() == [0.5, 1.0, 1.0, 0.5]
    # ones (0, ½, 1, ½), zeros (½, ½, 0, 0): of 2 pairs ½·½ + (1 + ½)·1 are in order
    assert found.value("all", "all", "wra") == pytest.approx((0.25 + 1.5) / 2)


def test_random_ties_depend_on_seed_and_item_alone() -> None:
    ratings = study(5, n_items=40, crossed=True, n_raters=7)
    options: dict[str, Any] = {"by": "g", "ties": "random", **VALUES_ONLY}
    once = pv.responsiveness(ratings, seed=1, **options)
    order = np.random.default_rng(0).permutation(len(ratings))
    moved = pv.Ratings.from_frame(ratings.to_frame()[order], scale=ratings.scale, raters=ratings.raters[::-1])
    assert pv.responsiveness(moved, seed=1, **options).to_frame().equals(once.to_frame())
    fewer = ratings.where(items={"item": list(range(0, 40, 2))})
    votes = pv.responsiveness(fewer, seed=1, **options).scored[1].tables
    rest = pv.responsiveness(ratings.where(items={"item": list(range(1, 40, 2))}), seed=1, **options).scored[1].tables
    assert np.array_equal(votes + rest, once.scored[1].tables)  # a tie is decided alike whatever else there is
    assert not pv.responsiveness(ratings, seed=2, **options).to_frame().equals(once.to_frame())
    assert np.array_equal(once.scored[1].votes, np.round(once.scored[1].votes))


# Golden values -------------------------------------------------------------------------------------------------------
KEYS = {
    "mpa_raw": "mpa_raw", "mpa": "mpa", "wra": "wra", "hm": "hm", "auroc": "auroc", "tau_b": "kendall_tau_b",
    "spearman": "spearman_rho", "auprc_average_precision": "average_precision",
}  # fmt: skip


def golden_ratings(inputs: dict[str, Any]) -> pv.Ratings:
    given = inputs["missing"].items()
    rows = [(i, rater, s) for rater, scores in given for i, s in zip(inputs["items"], scores, strict=True)]
    groups = pl.DataFrame({"rater": list("abcdef"), "g": ["g1" if r in inputs["g1"] else "g2" for r in "abcdef"]})
    return ratings_of(rows, pv.Scale.range(0, 4), raters=groups)


def golden_trained(inputs: dict[str, Any]) -> pv.Ratings:
    rows = [(item, f"expert {t}", u) for item, given in inputs["trained"].items() for t, u in enumerate(given)]
    return ratings_of(rows, pv.Scale.range(0, 1))


def assert_golden(found: pv.Responsiveness, axis: str, group: str, case: dict[str, Any], hm: str = "hm") -> int:
    held = [(name, case[hm if name == "hm" else key]) for key, name in KEYS.items() if key in case]
    for name, value in held:
        assert same(found.value(axis, group, name), value), (group, name)
    return len(held)


@pytest.mark.parametrize("name", ["rater_a", "rater_e", "rater_f"])
def test_raters_against_golden_trained(golden: dict[str, Any], name: str) -> None:
    inputs, case = golden["inputs"], golden["mpa_wra"]["guideline"][name]
    found = pv.responsiveness(golden_ratings(inputs), golden_trained(inputs), "rater", permutations=0, interval="none")
    assert assert_golden(found, "rater", name[-1], case) == 8
    assert found.value("rater", name[-1], "hm_of_means") == pytest.approx(case["hm"], abs=1e-12)  # one boundary
    precision = found.scores().filter(axis="rater", group=name[-1])["precision"].to_list()
    assert all(same(value, wanted) for value, wanted in zip(precision, case["precision"], strict=True))


@pytest.mark.parametrize("ties", ["lowest", "share"])
@pytest.mark.parametrize("group", ["g1", "g2"])
def test_groups_against_golden_trained(golden: dict[str, Any], group: str, ties: str) -> None:
    inputs = golden["inputs"]
    found = pv.responsiveness(golden_ratings(inputs), golden_trained(inputs), "g", ties=ties, **VALUES_ONLY)
    name = f"{group}_plurality_tie_lowest" if ties == "lowest" else f"{group}_ties_share"
    case = golden["mpa_wra"]["guideline"][name]
    assert assert_golden(found, "g", group, case) == (8 if ties == "lowest" else 4)
    if ties == "share":
        table = found.scored[1].tables[found.scored[1].groups.index(group)]
        assert table == pytest.approx(np.stack([case["zero"], case["one"]], axis=1), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "by", "group"),
    [("rater_a", "rater", "a"), ("g1_plurality_tie_lowest", "g", "g1"), ("g2_plurality_tie_lowest", "g", "g2")],
)
@pytest.mark.parametrize("convention", ["default", "published"])
def test_crowd_against_golden(golden: dict[str, Any], name: str, by: str, group: str, convention: str) -> None:
    case = golden["mpa_wra"]["crowd"][name]
    ratings = golden_ratings(golden["inputs"])
    found = pv.responsiveness(ratings, "crowd", by, ties="lowest", convention=convention, **VALUES_ONLY)
    assert found.scored[1].tables[found.scored[1].groups.index(group)].tolist() == case["crosstab"]
    at = found.boundaries().filter(axis=by, group=group)
    assert at["boundary"].unique(maintain_order=True).to_list() == ["1", "2", "3", "4"]
    published = convention == "published"
    for boundary, values in zip("1234", case["per_boundary"], strict=True):
        own = dict(at.filter(boundary=boundary).select("statistic", "value").iter_rows())
        for key, statistic in KEYS.items():
            if key in values:
                wanted = values[{"mpa": "mpa_raw", "hm": "hm_listing"}.get(key, key) if published else key]
                assert same(own[statistic], wanted), (boundary, statistic)
    if published:
        assert found.value(by, group, "mpa") == pytest.approx(case["macro"]["mpa_raw"], abs=1e-12)
        listed = [values["hm_listing"] for values in case["per_boundary"]]
        assert found.value(by, group, "hm") == pytest.approx(sum(listed) / 4, abs=1e-12)
    else:
        assert assert_golden(found, by, group, case["macro"]) == 4
        assert found.value(by, group, "hm_of_means") == pytest.approx(case["hm_of_macro"], abs=1e-12)


@pytest.mark.parametrize("convention", ["default", "published"])
def test_edge_cases_against_golden(golden: dict[str, Any], convention: str) -> None:
    for name, case in golden["mpa_wra"]["edge_cases"].items():
        ratings = ratings_of([(i, "r", s) for i, s in enumerate(case["S"])], pv.Scale.range(0, case["K"]))
        trained = ratings_of([(i, "t", u) for i, u in enumerate(case["U"])], pv.Scale.range(0, 1))
        found = pv.responsiveness(ratings, trained, "rater", permutations=0, interval="none", convention=convention)
        if convention == "published":
            hm = case["hm_listing"]
            # The listing's harmonic mean of 0 and 0 divides by zero: undefined, as in the golden file.
            assert same(found.value("rater", "r", "hm"), hm), name
            assert same(found.value("rater", "r", "mpa"), None if case["single_class"] else case["mpa_raw"]), name
            continue
        assert assert_golden(found, "rater", "r", case) == 6, name
        for statistic in STATISTICS:  # the overall row of a single rater is the rater
            assert same(found.value("all", "all", statistic), found.value("rater", "r", statistic))


# Nobody is held against themselves -----------------------------------------------------------------------------------
@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from(["g", "rater"]), st.booleans())
def test_own_ratings_in_the_reference_change_nothing(seed: int, by: str, each: bool) -> None:
    """Rewriting what a judged rater said in the reference moves others' tables, never anything of their own group."""
    ratings = study(seed, n_items=12, known=True)
    scale, threshold = (pv.Scale.range(0, 2), "each") if each else (BINARY, None)
    trained = trained_for(ratings, seed, scale, shared=["r00"])
    frame, worst = trained.to_frame(), scale.labels[-1]
    rewritten = frame.with_columns(score=pl.when(rater="r00").then(pl.lit(worst)).otherwise("score"))
    options: dict[str, Any] = {"permutations": 0, "bootstrap": 20, "min_group_size": 1, "threshold": threshold}
    before = quietly(ratings, trained, by, **options)
    after = quietly(ratings, pv.Ratings.from_frame(rewritten, scale=scale), by, **options)
    without = quietly(ratings, trained.where(raters={"rater": ["t0", "t1", "t2", "t3"]}), by, **options)
    groups = groups_of(ratings, by)
    moved_items = set(frame.filter(pl.col("rater") == "r00", pl.col("score") != worst)["item"])
    for g, (group, (old, new)) in enumerate(
        zip(before.scored[1].groups, zip(before.scored[1].tables, after.scored[1].tables, strict=True), strict=True)
    ):
        if "r00" in groups[group]:
            for found in (after, without):
                assert found.to_frame().filter(group=group).equals(before.to_frame().filter(group=group))
                assert np.array_equal(found.draws[0].bootstrap[:, g], before.draws[0].bootstrap[:, g], equal_nan=True)
        else:
            met = {item for item, rater, _ in plain(ratings) if rater in groups[group]} & moved_items
            assert (new - old)[:, -1].sum() == pytest.approx(len(met))


@pytest.mark.parametrize("by", ["g", "rater"])
def test_own_ratings_are_not_in_the_crowd(by: str) -> None:
    """A group's table sums to the ratings of others on its items, and swapping its own scores only moves rows."""
    ratings = study(6, n_items=30, known=True)
    frame = ratings.to_frame()
    found = pv.responsiveness(ratings, "crowd", by, **VALUES_ONLY)
    for group, table in zip(found.scored[1].groups, found.scored[1].tables, strict=True):
        own = groups_of(ratings, by)[group]
        theirs, others = frame.filter(pl.col("rater").is_in(own)), frame.filter(~pl.col("rater").is_in(own))
        met = others.filter(pl.col("item").is_in(theirs["item"].to_list()))
        assert table.sum(axis=0) == pytest.approx([met.filter(score=point).height for point in range(4)])
        mirrored = pl.concat([others, theirs.with_columns(score=3 - pl.col("score"))])
        other = pv.Ratings.from_frame(mirrored, scale=ratings.scale, raters=ratings.raters)
        again = pv.responsiveness(other, "crowd", by, **VALUES_ONLY)
        assert again.scored[1].tables[again.scored[1].groups.index(group)] == pytest.approx(table[::-1])
        for name in ("auroc", "kendall_tau_b", "spearman_rho"):
            turned = (1 if name == "auroc" else 0) - found.value(by, group, name)
            assert again.value(by, group, name) == pytest.approx(turned, nan_ok=True)


def test_a_perfect_copy_of_oneself_is_no_reference() -> None:
    """A reference that repeats the crowd under the same ids is the crowd; under other ids it flatters everybody."""
    ratings = study(7, n_items=20, known=True)
    with pytest.warns(SharedRatersWarning, match="9 of the 9 raters of the reference are also among the judged raters"):
        found = pv.responsiveness(ratings, ratings, ["g", "rater"], threshold="each", **VALUES_ONLY)
    crowd = pv.responsiveness(ratings, "crowd", ["g", "rater"], **VALUES_ONLY)
    assert found.to_frame().drop("note").equals(crowd.to_frame().drop("note"))
    renamed = pv.Ratings.from_frame(ratings.to_frame().with_columns(rater="r:" + pl.col("rater")), scale=ratings.scale)
    flattered = pv.responsiveness(ratings, renamed, ["g", "rater"], threshold="each", **VALUES_ONLY)
    higher = [flattered.value("rater", r, "wra") > crowd.value("rater", r, "wra") for r in ratings.raters["rater"]]
    assert all(higher)


# Bootstrap -----------------------------------------------------------------------------------------------------------
def copied(ratings: pv.Ratings, times: Mapping[str, int]) -> pv.Ratings:
    """Return a study in which each item occurs as often as said, under new ids."""
    frame = ratings.to_frame().with_columns(pl.col("item").cast(pl.String))
    copies = [
        frame.filter(item=item).with_columns(item=pl.lit(f"{item}#{c}"))
        for item, n in times.items()
        for c in range(n)
        if item in frame["item"]
    ]
    return pv.Ratings.from_frame(pl.concat(copies), scale=ratings.scale, raters=ratings.raters)


@pytest.mark.parametrize("kind", ["crowd", "crowd at a threshold", "group", "trained, some of the crowd", "ordinal"])
@pytest.mark.parametrize(("score", "ties"), [("plurality", "share"), ("median", "lowest")])
def test_resampled_items_are_literal_copies(kind: str, score: str, ties: str) -> None:
    ratings = study(8, n_items=14)
    other = against(kind, ratings, 8)
    options: dict[str, Any] = {"group_score": score, "ties": ties, "threshold": other.threshold, "min_group_size": 1}
    draws: dict[str, Any] = {"permutations": 0, "bootstrap": 4, "resample": "items", "seed": 11}
    found = quietly(ratings, other.given, ["g", "rater"], **draws, **options)
    ids = ratings.items["item"].cast(pl.String).to_list()
    weights = item_weights(ratings.n_items, 4, 11)
    for d in range(4):
        times = dict(zip(ids, weights[d].tolist(), strict=True))
        drawn = copied(ratings, times)
        given_by = copied(other.given, times) if isinstance(other.given, pv.Ratings) else other.given
        again = quietly(drawn, given_by, ["g", "rater"], permutations=0, interval="none", **options)
        for axis in found.draws:
            for g, group in enumerate(axis.groups):
                literal = values_of(again, axis.axis, group)
                assert axis.bootstrap[d, g] == pytest.approx(literal, abs=1e-12, nan_ok=True), (axis.axis, group)


@pytest.mark.parametrize("resample", ["raters", "both"])
@pytest.mark.parametrize("kind", ["crowd", "group", "rater of no group", "trained", "trained, some of the crowd"])
def test_resampled_raters_against_the_literal_twin(kind: str, resample: str) -> None:
    """A rater drawn twice counts twice in the votes and in others' reference, and never in their own group's."""
    ratings = study(9, n_items=12, n_raters=12)
    other = against(kind, ratings, 9)
    options: dict[str, Any] = {"threshold": other.threshold, "min_group_size": 1, "seed": 5}
    found = quietly(ratings, other.given, "g", permutations=0, bootstrap=4, resample=resample, **options)
    axis = Axis.of(ratings, "g", min_group_size=1)
    weights, items = rater_weights(axis.codes, 4, 5), item_weights(ratings.n_items, 4, 5)
    names, ids = ratings.raters["rater"].to_list(), ratings.items["item"].cast(pl.String).to_list()
    judged = plain(ratings)
    groups = groups_of(ratings, "g")
    inside = set().union(*groups.values())
    reference = [rating for rating in other.ratings if not other.of_crowd or rating[1] in inside]
    for d in range(4):
        copies = {name: w for name, w in zip(names, weights[d].tolist(), strict=True) if name in inside}
        times = dict(zip(ids, items[d].tolist(), strict=True)) if resample == "both" else dict.fromkeys(ids, 1)
        for g, group in enumerate(found.draws[0].groups):
            samples = [
                sample
                for item, n in times.items()
                for sample in n * twin.responses(
                    [rating for rating in judged if rating[0] == item], groups[group],
                    [rating for rating in reference if rating[0] == item], copies=copies,
                )
            ]  # fmt: skip
            literal = twin.responsiveness(samples, len(ratings.scale), other.n_points)
            for at, name in enumerate(STATISTICS):
                assert same(found.draws[0].bootstrap[d, g, at], literal[name]), (d, group, name)


def test_intervals_are_the_middle_of_the_draws() -> None:
    ratings = study(10, n_items=25, n_raters=12)
    one = with_raters(ratings, ratings.raters.with_columns(everyone=pl.lit("all of them")))
    trained = trained_for(ratings, 10)
    found = pv.responsiveness(one, trained, ["g", "everyone", "rater"], permutations=0, bootstrap=60, min_group_size=1)
    for draws in found.draws:
        for g, group in enumerate(draws.groups):
            for at, name in enumerate(STATISTICS):
                column = draws.bootstrap[:, g, at]
                row = found.row(draws.axis, group, name)
                known = column[~np.isnan(column)]
                ends = np.quantile(known, [0.025, 0.975]) if len(known) else [np.nan, np.nan]
                assert (row.ci_low, row.ci_high) == pytest.approx(tuple(ends), abs=1e-12, nan_ok=True)
    for name in STATISTICS:  # all raters together are resampled like any group
        whole, overall = found.row("everyone", "all of them", name), found.row("all", "all", name)
        assert (whole.value, whole.ci_low, whole.ci_high) == (overall.value, overall.ci_low, overall.ci_high)


def test_too_many_draws_of_raters_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings = study(10, n_items=25)
    kept = pv.responsiveness(ratings, "crowd", "rater", bootstrap=20)
    monkeypatch.setattr(one_by_one, "_KEPT", 100)
    dropped = pv.responsiveness(ratings, "crowd", "rater", bootstrap=20)
    assert dropped.draws[0].bootstrap.shape == (0, 9, 9)
    assert dropped.to_frame().equals(kept.to_frame())
    assert pv.Responsiveness.from_json(dropped.to_json()).draws[0].bootstrap.shape == (0, 9, 9)


# Permutations --------------------------------------------------------------------------------------------------------
def moved(ratings: pv.Ratings, number: int, seed: int, within: str | None, only: Collection[str] = "xyz") -> pv.Ratings:
    """Return the study with the groups of permutation ``number``; whoever has no rating or no group stays."""
    raters = ratings.raters
    strata = raters[within].to_list() if within else [""] * raters.height
    rated = set(ratings.codes_of_raters.tolist())
    among = [r for r, g in enumerate(raters["g"]) if g in set(only) and r in rated]
    names = sorted(set(raters["g"].drop_nulls()))
    codes = np.array([names.index(g) if g is not None else -1 for g in raters["g"]], np.int32)
    after = np.array(twin.shuffled(codes.tolist(), strata, seed, number, among), np.int32)
    for stratum in set(strata):
        own = [r for r in range(raters.height) if strata[r] == stratum]
        assert sorted(codes[own].tolist()) == sorted(after[own].tolist())
    column = pl.Series("g", [names[c] if c >= 0 else None for c in after])
    return pv.Ratings.from_frame(ratings.to_frame(), scale=ratings.scale, raters=raters.with_columns(column))


@pytest.mark.parametrize("kind", ["crowd", "crowd at a threshold", "group", "trained, some of the crowd"])
@pytest.mark.parametrize("within", [None, "batch"])
def test_permutations_are_shuffled_groups(kind: str, within: str | None) -> None:
    """Each draw equals the values of the study with its rater groups shuffled; the reference stays what it was."""
    ratings = study(12, n_items=15, n_raters=14)
    other = against(kind, ratings, 12)
    options: dict[str, Any] = {"threshold": other.threshold, "min_group_size": 1}
    found = quietly(ratings, other.given, "g", permutations=6, interval="none", seed=3, within=within, **options)
    # The named group is a fixed set of raters, also where they are shuffled between the judged groups.
    given_by = {"rater": sorted(groups_of(ratings, "g")["x"])} if kind == "group" else other.given
    seen = set()
    for number in range(1, 7):
        shuffled = moved(ratings, number, 3, within)
        again = quietly(shuffled, given_by, "g", permutations=0, interval="none", **options)
        for g, group in enumerate(found.draws[0].groups):
            assert np.array_equal(found.draws[0].null[number - 1, g], values_of(again, "g", group), equal_nan=True)
        seen.add(tuple(shuffled.raters["g"]))
    assert len(seen) == 6


def test_p_values_by_hand_from_the_draws() -> None:
    ratings = study(13, n_items=20, n_raters=18)
    found = pv.responsiveness(ratings, "crowd", "g", permutations=80, interval="none", min_group_size=1)
    for row in (row for row in found.rows if row.kind == "group"):
        null = [value for value in found.null("g", row.group, row.statistic).tolist() if not math.isnan(value)]
        below = sum(value <= row.value + 1e-12 for value in null)
        above = sum(value >= row.value - 1e-12 for value in null)
        assert row.p_value == pytest.approx(min(1, 2 * (min(below, above) + 1) / (len(null) + 1)))
        middle = float(np.median(null))
        assert row.null_median == pytest.approx(middle)
        side = "above" if row.value > middle + 1e-12 else "below" if row.value < middle - 1e-12 else None
        assert row.direction == side


@pytest.mark.parametrize("within", [None, "batch"])
def test_raters_among_their_peers_against_a_literal_count(within: str | None) -> None:
    ratings = study(14, n_items=12, n_raters=12)
    found = pv.responsiveness(ratings, "crowd", "rater", permutations=10, interval="none", within=within)
    stratum = dict(ratings.raters.select("rater", within or pl.lit("all").alias("one")).iter_rows())
    compared = 0
    for row in (row for row in found.rows if row.kind == "rater"):
        peers = [
            other.value
            for other in found.rows
            if other.kind == "rater" and other.statistic == row.statistic and not math.isnan(other.value)
            and stratum[other.group] == stratum[row.group]
        ]  # fmt: skip
        if math.isnan(row.value):
            assert math.isnan(row.p_value or 0.0)
            continue
        fewer = min(sum(v <= row.value + 1e-12 for v in peers), sum(v >= row.value - 1e-12 for v in peers))
        assert row.p_value == pytest.approx(min(1, 2 * fewer / len(peers)))
        assert row.null_median == pytest.approx(float(np.median(peers)))
        compared += 1
    assert compared > 90
    assert found.draws[0].null.shape == (0, 12, 9)


def test_among_peers_is_what_shuffling_groups_of_one_tends_to() -> None:
    """All relabellings of six: value v of a group of one appears in each place equally often."""
    values = np.array([0.1, 0.4, 0.4, 0.7, math.nan, 0.9])
    found = among_peers(values)
    null = np.array(list(itertools.permutations(values)))
    for at in (0, 1, 2, 3, 5):
        column = null[:, at]
        column = column[~np.isnan(column)]
        fewer = min((column <= values[at]).sum(), (column >= values[at]).sum())
        assert found.p_value[at] == pytest.approx(min(1, 2 * fewer / len(column)))
    assert math.isnan(found.p_value[4])
    assert found.direction.tolist() == ["below", None, None, "above", None, "above"]


def test_contrast_permutes_the_two_groups_only() -> None:
    ratings = study(15, n_items=20, n_raters=18)
    options: dict[str, Any] = {"seed": 2, "min_group_size": 1, "max_permutations": 40}
    found = pv.responsiveness(ratings, "crowd", "g", permutations=40, bootstrap=30, contrast=("x", "z"), **options)
    draws = []
    for number in range(1, 41):
        shuffled = moved(ratings, number, 2, None, only="xz")
        assert groups_of(shuffled, "g")["y"] == groups_of(ratings, "g")["y"]
        again = pv.responsiveness(shuffled, "crowd", "g", permutations=0, interval="none", min_group_size=1)
        draws.append(values_of(again, "g", "x") - values_of(again, "g", "z"))
    null = np.array(draws)
    boot = found.draws[0].bootstrap[:, 0] - found.draws[0].bootstrap[:, 2]
    for at, name in enumerate(STATISTICS):
        row = found.row("g", "x − z", name)
        assert row.kind == "contrast"
        assert row.value == pytest.approx(found.value("g", "x", name) - found.value("g", "z", name))
        fewer = min((null[:, at] <= row.value + 1e-12).sum(), (null[:, at] >= row.value - 1e-12).sum())
        assert row.p_value == pytest.approx(min(1, 2 * (fewer + 1) / 41))
        assert (row.ci_low, row.ci_high) == pytest.approx(tuple(np.nanquantile(boot[:, at], [0.025, 0.975])))
    pairs = pv.responsiveness(ratings, "crowd", "g", permutations=40, bootstrap=30, pairs=True, **options)
    assert pairs.pairs()["group"].unique(maintain_order=True).to_list() == ["x − y", "x − z", "y − z"]
    mine = pairs.pairs().filter(group="x − z").drop("p_adjusted")
    assert mine.equals(found.to_frame().filter(group="x − z").drop("p_adjusted", "n_boundaries_used"))


def test_family_by_hand_from_the_draws() -> None:
    ratings = study(16, n_items=25, n_raters=24, known=True)
    options: dict[str, Any] = {"permutations": 60, "max_permutations": 60, "bootstrap": 40, "min_group_size": 1}
    found = pv.responsiveness(ratings, "crowd", [("g", "batch")], family={"g": "y"}, **options)
    draws = found.draws[0]
    inside = np.array([group.startswith("y × ") for group in draws.groups])
    assert inside.sum() == 2
    assert len(inside) == 6
    values = np.array([values_of(found, "g × batch", group) for group in draws.groups])
    measures: dict[str, Callable[[Array], Any]] = {
        "against the others": lambda v: v[inside].mean() - v[~inside].mean(),
        "all lowest": lambda v: v[~inside].min() - v[inside].max(),
        "all highest": lambda v: v[inside].min() - v[~inside].max(),
    }
    for what, measure in measures.items():
        for at, name in enumerate(STATISTICS):
            row = found.row("g × batch", f"g = y (2 of 6 groups), {what}", name)
            assert not np.isnan(draws.null[:, :, at]).any()
            null = np.array([measure(draw[:, at]) for draw in draws.null])
            boot = [measure(draw[:, at]) for draw in draws.bootstrap]
            assert row.kind == "family"
            assert row.value == pytest.approx(measure(values[:, at]), abs=1e-12)
            above, below = (null >= row.value - 1e-12).sum(), (null <= row.value + 1e-12).sum()
            two_sided = min(1, 2 * (min(above, below) + 1) / 61)
            assert row.p_value == pytest.approx(two_sided if what == "against the others" else (above + 1) / 61)
            assert (row.ci_low, row.ci_high) == pytest.approx(tuple(np.quantile(boot, [0.025, 0.975])), abs=1e-12)
            assert row.n_raters == len(groups_of(ratings, "g")["y"])


def test_family_leaves_undefined_groups_out() -> None:
    """Group z rates nothing that has a reference: it is neither lowest nor highest."""
    ratings = study(17, n_items=30, n_raters=15, crossed=True, known=True)
    trained = trained_for(ratings, 17)
    only = [(i, r, s) for i, r, s in ratings.to_frame().iter_rows() if (i == 1) == (r in groups_of(ratings, "g")["z"])]
    sparse = ratings_of(only, ratings.scale, raters=ratings.raters)
    found = pv.responsiveness(sparse, trained, "g", family={"g": "x"}, **VALUES_ONLY)
    assert math.isnan(found.value("g", "z", "wra"))
    gap = found.value("g", "y", "wra") - found.value("g", "x", "wra")
    assert found.value("g", "g = x (1 of 3 groups), all lowest", "wra") == pytest.approx(gap)
    assert found.value("g", "g = x (1 of 3 groups), against the others", "wra") == pytest.approx(-gap)


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Adjusted p: the smallest p_j·m/rank_j among all that are at least as large."""
    m = len(p)
    return [min(1.0, min(q * m / sum(r <= q for r in p) for q in p if q >= own)) for own in p]


CORRECTED: dict[str, Any] = {
    "by": ["g", "batch", "rater"], "items_by": "topic", "permutations": 30, "max_permutations": 30, "interval": "none",
    "pairs": True, "contrast": ("x", "y"), "family": {"g": "x"}, "min_group_size": 1,
}  # fmt: skip


def holm(p: Sequence[float]) -> list[float]:
    """Adjusted p: the largest p_j·(how many are at least as large, itself included) among all up to it."""
    order = sorted(range(len(p)), key=lambda k: p[k])
    factor = {k: len(p) - rank for rank, k in enumerate(order)}
    return [min(1.0, max(p[j] * factor[j] for j in order[: order.index(k) + 1])) for k in range(len(p))]


def test_corrections_run_over_one_statistic_and_kind() -> None:
    ratings = study(18, n_items=24, n_raters=20)
    found = pv.responsiveness(ratings, "crowd", correction="bh", **CORRECTED)
    for rows, kinds in ((found.rows, ("group", "rater", "contrast", "family")), (found.pair_rows, ("pair",))):
        for kind, name in itertools.product(kinds, STATISTICS):
            own = [row for row in rows if (row.kind, row.statistic) == (kind, name) and row.tested]
            n_hypotheses = {"group": (3 + 2) * 3, "contrast": 3, "family": 9, "pair": (3 + 1) * 3}
            assert len(own) <= n_hypotheses.get(kind, 60)
            assert name != "wra" or kind == "rater" or len(own) == n_hypotheses[kind]
            adjusted = benjamini_hochberg([row.p_value or 0.0 for row in own])
            assert [row.p_adjusted for row in own] == pytest.approx(adjusted), (kind, name)
    assert all(row.p_value is None and row.p_adjusted is None for row in found.rows if row.kind == "overall")
    bonferroni = pv.responsiveness(ratings, "crowd", correction="bonferroni", **CORRECTED)
    for row in bonferroni.rows:
        if row.kind == "contrast" and row.tested:
            assert row.p_adjusted == pytest.approx(min(1, 3 * (row.p_value or 0)))


def test_claims_are_one_family_over_groups_axes_parts_and_statistics() -> None:
    """MPA, WRA and HM by the literal algorithm from the joint draws, every other statistic in a family of its own."""
    ratings = study(18, n_items=24, n_raters=20)
    found = pv.responsiveness(ratings, "crowd", **CORRECTED)
    families: dict[str, list[tuple[Row, list[float]]]] = {}
    for row in (row for row in found.rows if row.kind == "group"):
        family = "claims" if row.statistic in ("mpa", "wra", "hm") else row.statistic
        null = found.null(row.axis, row.group, row.statistic, row.subset).tolist()
        families.setdefault(family, []).append((row, null))
    assert len(families["claims"]) == 3 * (3 + 2) * 3
    assert len(families) == 1 + len(STATISTICS) - 3
    for own in families.values():
        rows = [row for row, _ in own]
        adjusted = twin.westfall_young([row.value for row in rows], list(zip(*(null for _, null in own), strict=True)))
        for row, p in zip(rows, adjusted, strict=True):
            smallest = row.p_value if math.isnan(p) else max(p, row.p_value or 0.0)
            assert row.p_adjusted == pytest.approx(smallest, nan_ok=True)
    for kind, name in itertools.product(("rater", "family"), STATISTICS):
        tested = [row for row in found.rows if (row.kind, row.statistic) == (kind, name) and row.tested]
        assert [row.p_adjusted for row in tested] == pytest.approx(holm([row.p_value or 0.0 for row in tested]))


@pytest.mark.slow
def test_the_test_holds_its_level_under_a_true_null() -> None:
    """120 studies without groups that differ: p ≤ .05 at most .05 + 3 standard errors of the time."""
    p = []
    for seed in range(120):
        ratings = study(seed, n_items=30, n_raters=24, known=True)
        options: dict[str, Any] = {"permutations": 59, "interval": "none", "min_group_size": 1, "seed": seed}
        found = pv.responsiveness(ratings, "crowd", "batch", **options)
        p.append([found.row("batch", "p", name).p_value for name in ("mpa_raw", "wra", "auroc")])
    share = (np.array(p, dtype=float) <= 0.05).mean(axis=0)
    assert (share <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 120)).all()
    assert (share > 0.005).all()  # and is not asleep


# Same seed, same bits ------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2) as executor:
        yield executor


@pytest.mark.parametrize("kind", SOME_KINDS)
def test_processes_change_no_bit(kind: str, processes: ProcessPoolExecutor) -> None:
    ratings = study(21, n_items=25, n_raters=20)
    other = against(kind, ratings, 21)
    for resample, ties in (("items", "share"), ("raters", "random"), ("both", "lowest")):
        options: dict[str, Any] = {
            "permutations": 7, "bootstrap": 6, "resample": resample, "ties": ties, "threshold": other.threshold,
            "min_group_size": 1, "seed": 3, "contrast": ("x", "y"), "psychometrics": True,
        }  # fmt: skip
        by = ["g", "rater"] if resample == "items" else ["g"]
        here = quietly(ratings, other.given, by, threads=2, **options)
        there = quietly(ratings, other.given, by, executor=processes, **options)
        assert there.to_json() == here.to_json()


def in_parts(ratings: pv.Ratings, size: int) -> pv.Ratings:
    """Return the same ratings in many parts; real ones are cut past every million of them."""
    again = pv.Ratings.from_frame(ratings.to_frame(), scale=ratings.scale, raters=ratings.raters, items=ratings.items)
    again._parts.extend(cut(again.offsets, again.rater_codes, again.scores, again.multiplicity, size))
    assert len(again.parts()) > 3
    return again


@pytest.mark.parametrize("kind", SOME_KINDS)
@pytest.mark.parametrize(("resample", "ties", "score"), [
    ("items", "lowest", "plurality"), ("both", "lowest", "mean"),
    *(pytest.param(*one, marks=pytest.mark.slow) for one in (
        ("raters", "random", "plurality"), ("items", "share", "median"),
    )),
])  # fmt: skip
def test_parts_of_the_items_change_no_bit(
    kind: str, resample: str, ties: str, score: str, processes: ProcessPoolExecutor
) -> None:
    """Where a vote is whole, or shared by two, sums of tables are exact; of thirds the last bits may differ."""
    ratings = study(22, n_items=30, n_raters=20)
    other = against(kind, ratings, 22)
    options: dict[str, Any] = {
        "permutations": 9, "bootstrap": 8, "resample": resample, "ties": ties, "group_score": score,
        "threshold": other.threshold, "min_group_size": 1, "seed": 4, "items_by": "topic", "psychometrics": True,
    }  # fmt: skip
    by = ["g", "rater"] if resample == "items" else ["g"]
    one = quietly(ratings, other.given, by, **options)
    for size in (15, 60):
        several = in_parts(ratings, size)
        assert quietly(several, other.given, by, **options).to_json() == one.to_json()
        assert quietly(several, other.given, by, executor=processes, **options).to_json() == one.to_json()


def test_shared_votes_in_parts_differ_in_their_last_bits_at_most() -> None:
    ratings = study(23, n_items=60, n_raters=20)
    options: dict[str, Any] = {"permutations": 9, "bootstrap": 8, "min_group_size": 1}
    one, several = (quietly(each, "crowd", "g", **options) for each in (ratings, in_parts(ratings, 25)))
    for a, b in zip(one.draws, several.draws, strict=True):
        np.testing.assert_allclose(b.null, a.null, rtol=0, atol=1e-13)
        np.testing.assert_allclose(b.bootstrap, a.bootstrap, rtol=0, atol=1e-13)
    np.testing.assert_allclose(several.scored[1].tables, one.scored[1].tables, rtol=0, atol=1e-12)


def test_what_travels_holds_neither_ratings_nor_weights() -> None:
    ratings = study(24, n_items=3000, n_raters=20)
    reference = resolve(ratings, "crowd")
    codes = np.zeros(ratings.n_raters, np.int32)
    scored = Responses.of(ratings, codes, 1, reference).scored
    each = partial(engine_run._each_draw, ratings.parts(), scored, Draws.permuted(3, 0), Metrics(True))
    parcel = Parcel.of(each)  # the totals of the reference are four numbers an item
    parts = (*ratings.parts(), scored.reference)  # whose large arrays are sent once
    own = [array for part in parts for array in (part.offsets, part.raters, part.scores, part.multiplicity)]
    apart = sum(array.nbytes for array in parcel.arrays if not any(array is one for one in own))
    small = sum(array.nbytes for array in own if array.nbytes < LARGE)  # not worth a file of their own
    assert len(parcel.content) - small + apart < 1.1 * 8 * 4 * ratings.n_items + 4000


@pytest.mark.parametrize("n_raters", [9, 80])
@pytest.mark.parametrize("kind", ["crowd", "trained, some of the crowd", "group"])
def test_a_rater_is_a_group_of_one(n_raters: int, kind: str) -> None:
    """The fast path of raters and the general one of groups (by few and by many groups) agree to the bit."""
    ratings = study(20, n_items=20, n_raters=n_raters)
    other = against(kind, ratings, 20)
    options: dict[str, Any] = {"bootstrap": 25, "seed": 4, "threshold": other.threshold, "min_group_size": 1}
    raters = quietly(ratings, other.given, "rater", permutations=5, **options)
    groups = quietly(ratings, other.given, "id", permutations=5, **options)
    assert np.array_equal(raters.draws[0].bootstrap, groups.draws[0].bootstrap, equal_nan=True)
    assert np.array_equal(raters.scored[1].tables, groups.scored[1].tables)
    assert np.array_equal(raters.scored[1].votes, groups.scored[1].votes)
    assert np.array_equal(raters.scored[1].usage, groups.scored[1].usage)
    columns = ["group", "statistic", "value", "ci_low", "ci_high", "n_raters", "n_items", "n_ratings"]
    assert raters.to_frame().filter(axis="rater").select(columns).equals(
        groups.to_frame().filter(axis="id").select(columns)
    )  # fmt: skip
