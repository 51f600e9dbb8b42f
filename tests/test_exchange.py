"""Who may be exchanged with whom: blocks against a slow twin, the design check against scipy, joint shuffles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

import plurivox as pv
from plurivox.domain.axis import Axis
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.infer import exchange
from plurivox.infer.exchange import Entanglement, Exchange, blocks_of, entanglement
from plurivox.infer.grouping import Grouping
from support import some

Items = frozenset[int]


def seen(sets: Sequence[Items | range | set[int]], **attributes: Sequence[str | None]) -> pv.Ratings:
    """Return ratings in which rater r rated the items of set r."""
    rows = [(item, rater, (3 * item + rater) % 4) for rater, items in enumerate(sets) for item in items]
    frame = pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")
    raters = pl.DataFrame({"rater": list(range(len(sets))), **attributes})
    return pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 3), raters=raters)


def parted(blocks: np.ndarray[Any, Any]) -> list[list[int]]:
    """Return the raters of each block, in the order of the first of each."""
    found: dict[int, list[int]] = {}
    for rater, block in enumerate(blocks.tolist()):
        found.setdefault(block, []).append(rater)
    return list(found.values())


def jaccard(a: Items, b: Items) -> float:
    return len(a & b) / len(a | b)


Clusters = frozenset[frozenset[Items]]


def linked_slowly(clusters: Clusters) -> set[Clusters]:
    """Join the two clusters whose farthest members are nearest, while any two share 90 %; all that ties allow."""
    steps: dict[int, list[Clusters]] = {}
    for a, b in combinations(clusters, 2):
        farthest = max(1 - jaccard(one, other) for one in a for other in b)
        if farthest <= 0.1 + 1e-9:
            steps.setdefault(round(farthest * 1e9), []).append(clusters - {a, b} | {a | b})
    if not steps:
        return {clusters}
    return {end for step in steps[min(steps)] for end in linked_slowly(step)}


# Blocks --------------------------------------------------------------------------------------------------------------
@given(st.integers(0, 10_000))
@settings(max_examples=60)
def test_blocks_against_slow_complete_linkage(seed: int) -> None:
    """Batches of which raters skip up to three items, so that some fall apart; each set is seen by two raters."""
    rng = np.random.default_rng(seed)
    sets: list[Items] = []
    for batch in range(3):
        base = np.arange(40 * batch, 40 * batch + rng.integers(16, 36))
        for _ in range(rng.integers(2, 6)):
            skipped = rng.choice(base, rng.integers(0, 4), replace=False)
            sets += [frozenset(set(base.tolist()) - set(skipped.tolist()))] * 2
    sets = [sets[k] for k in rng.permutation(len(sets)).tolist()]
    found = blocks_of(seen(sets))
    for batch in range(3):
        own = [rater for rater, items in enumerate(sets) if min(items) // 40 == batch]
        blocks = frozenset(frozenset(sets[own[k]] for k in block) for block in parted(some(found)[own]))
        assert blocks in linked_slowly(frozenset(frozenset([sets[rater]]) for rater in own))


ONE = set(range(19))


@pytest.mark.parametrize(
    ("sets", "blocks"),
    [
        # identical sets are together, and blocks are numbered by their first rater
        ([range(10, 20), range(10), range(10, 20), range(10), range(10)], [0, 1, 0, 1, 1]),
        ([ONE, ONE, set(range(1, 20)), set(range(1, 20))], [0, 0, 0, 0]),  # 19 that share 18: Jaccard 18/20 = .9
        ([ONE, ONE, set(range(2, 21)), set(range(2, 21))], [0, 0, 1, 1]),  # 19 that share 17: 17/21
        # each shares .9 with its neighbour, the ends less: single linkage would take all three
        ([ONE, set(range(1, 20)), set(range(2, 21)), set(range(2, 21))], [0, 0, 1, 1]),
    ],
)
def test_sets_alike_by_nine_tenths_join_and_chains_do_not(sets: list[set[int]], blocks: list[int]) -> None:
    found = blocks_of(seen(sets))
    assert some(found).tolist() == blocks


@pytest.mark.parametrize(("alone", "kind"), [(0, "blocks"), (1, "blocks"), (2, "all")])
def test_nine_tenths_of_the_raters_must_be_in_blocks(alone: int, kind: str) -> None:
    """Of ten raters one on their own is 10 %, two are 20 %; a fully crossed study is one block without strata."""
    sets: list[range] = [range(5)] * (10 - alone) + [range(10 * k, 10 * k + 5) for k in range(1, alone + 1)]
    found = Exchange.of(seen(sets))
    assert (found.kind, found.n_blocks, found.n_fixed) == (kind, 1, alone if kind == "blocks" else 0)
    assert (found.strata is None) == (alone != 1)
    asked = Exchange.of(seen(sets), None)
    assert (asked.kind, asked.strata) == ("all", None)


def test_blocks_are_not_looked_for_among_too_many_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings = seen([range(10 * k, 10 * k + 5) for k in range(4) for _ in range(3)])
    monkeypatch.setattr(exchange, "MOST_SETS", 4)
    assert Exchange.of(ratings).n_blocks == 4
    monkeypatch.setattr(exchange, "MOST_SETS", 3)
    assert Exchange.of(ratings).kind == "all"
    monkeypatch.setattr(exchange, "MOST_SETS", 2)  # reading sets stops before all raters are known
    assert Exchange.of(ratings).kind == "all"


def test_raters_without_ratings_are_in_no_block_and_totals_have_none(tmp_path: Path) -> None:
    rows = [(0, "a", 0), (0, "b", 1), (1, "a", 1), (1, "b", 1), (1, "c", None)]
    frame = pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 1))
    found = blocks_of(ratings)
    assert some(found).tolist() == [0, 0, -1]
    assert Exchange.of(ratings).as_dict() == {"kind": "blocks", "blocks": 1, "raters_fixed": 0, "within": []}
    (tmp_path / "t.csv").write_text("item,0,1\nx,2,3\n")
    totals = pv.read_ratings(tmp_path / "t.csv", layout="totals")
    assert [Exchange.of(totals, within).kind for within in (None, ("auto",))] == ["all", "all"]


# Given attributes ----------------------------------------------------------------------------------------------------
def test_given_attributes_are_strata_and_finer_ones_share_both_codes() -> None:
    ratings = seen([range(4)] * 6, wave=["p", "p", "q", "q", "q", "r"], site=["u", "u", "u", "v", "v", "v"])
    found = Exchange.of(ratings, ("wave",))
    assert (found.kind, found.n_blocks, found.n_fixed, found.within) == ("within", 2, 1, ("wave",))
    assert parted(some(found.strata)) == [[0, 1], [2, 3, 4], [5]]
    crossed = Exchange.of(ratings, ("wave", "site"))
    assert parted(some(crossed.strata)) == [[0, 1], [2], [3, 4], [5]]
    assert (crossed.n_blocks, crossed.n_fixed) == (2, 2)
    assert crossed.as_dict() == {"kind": "within", "blocks": 2, "raters_fixed": 2, "within": ["wave", "site"]}
    codes = np.array([0, 1, 0, 1, 0], np.int32)
    blocks = Exchange("blocks", np.array([0, 0, 1, 1, 1], np.int32), 2, 0)
    assert parted(blocks.finer(codes)) == [[0], [1], [2, 4], [3]]
    assert parted(Exchange("all", None, 1, 0).finer(codes)) == [[0, 2, 4], [1, 3]]


# Groups that can be exchanged ----------------------------------------------------------------------------------------
def test_groups_that_share_no_stratum_cannot_be_exchanged() -> None:
    ratings = seen([range(4)] * 8)
    codes = np.array([0, 1, 0, 2, 2, 3, -1, 3], np.int32)
    strata = np.array([0, 0, 1, 2, 2, 3, 3, 4], np.int32)
    grouping = Grouping.of(ratings, codes, 4, strata)
    # 0 and 1 share stratum 0; 2 is alone in its own; with 3 there is only a rater outside the axis.
    assert grouping.exchangeable.tolist() == [True, True, False, False]
    changed = (grouping.labels(Draws.permuted(50, 1)) != codes).any(axis=0)
    assert changed.tolist() == [True, True, False, False, False, False, False, False]
    assert Grouping.of(ratings, codes, 4).exchangeable.all()
    assert not Grouping.together(ratings).exchangeable.any()


# Joint shuffles ------------------------------------------------------------------------------------------------------
def test_axes_with_the_same_raters_share_their_shuffles() -> None:
    """A second axis that is a function of the first stays that function of it in every draw."""
    ratings = seen([range(3)] * 12)
    first = np.arange(12, dtype=np.int32)
    second = np.array([(5 * c + 2) % 7 for c in range(12)], np.int32)
    one = Grouping.of(ratings, first, 12).labels(Draws.permuted(40, 3))
    other = Grouping.of(ratings, second, 7).labels(Draws.permuted(40, 3))
    assert np.array_equal(other, second[one])
    assert len({tuple(row) for row in one.tolist()}) == 40


def test_axes_that_miss_different_raters_keep_the_shared_order() -> None:
    """The raters that two axes share come in the same random order in both, in every draw and stratum."""
    ratings = seen([range(3)] * 20)
    strata = np.array([0, 1] * 10, np.int32)
    orders = []
    draws = Draws.permuted(30, 8)
    for missing in ([1, 4, 7], [2, 4, 11, 12]):
        codes = np.arange(20, dtype=np.int32)
        codes[missing] = -1
        moved = Grouping.of(ratings, codes, 20, strata).labels(draws)
        assert (moved[:, missing] == -1).all()
        orders.append(np.where(moved < 0, 99, moved))  # groups rise with raters, so a label is a place in the order
    shared = [r for r in range(20) if r not in (1, 2, 4, 7, 11, 12)]
    for one, other in zip(*orders, strict=True):
        for stratum in (0, 1):
            own = [r for r in shared if strata[r] == stratum]
            assert sorted(own, key=lambda r: one[r]) == sorted(own, key=lambda r: other[r])
    assert not np.array_equal(orders[0], orders[1])


def test_shuffles_of_some_raters_are_uniform() -> None:
    """All 6 orders of three of five raters come up alike: chi-square below its 0.999 quantile (20.5 at 5 degrees)."""
    ratings = seen([range(3)] * 5)
    codes = np.array([0, -1, 1, -1, 2], np.int32)
    moved = Grouping.of(ratings, codes, 3).labels(Draws.permuted(6000, 2))
    _, times = np.unique(moved[:, [0, 2, 4]], axis=0, return_counts=True)
    assert len(times) == 6
    assert float(((times - 1000) ** 2 / 1000).sum()) < 20.5


# The design check ----------------------------------------------------------------------------------------------------
def sparse(seed: int, *, drift: float = 0.0, more: float = 0.0) -> pv.Ratings:
    """Return a study in which group "a" may see other items, or more of them."""
    rng = np.random.default_rng(seed)
    groups = [["a", "b", "c", None][k] for k in rng.choice(4, 40, p=[0.35, 0.35, 0.2, 0.1])]
    sets = []
    for group in groups:
        weight = np.ones(30)
        weight[:10] += drift if group == "a" else 0.0
        size = 6 + rng.integers(4) + (round(more) if group == "a" else 0)
        sets.append(set(rng.choice(30, size, replace=False, p=weight / weight.sum()).tolist()))
    return seen(sets, g=groups)


@pytest.mark.parametrize("seed", range(6))
def test_the_design_check_against_scipy_and_numpy(seed: int) -> None:
    ratings = sparse(seed, drift=0.6 * (seed % 3), more=seed % 2)
    axis = Axis.of(ratings, "g", min_group_size=1)
    strata = np.random.default_rng(seed).integers(0, 2, ratings.n_raters).astype(np.int32) if seed > 3 else None
    grouping = Grouping.of(ratings, axis.codes, len(axis), strata)
    got = entanglement(ratings, grouping, 99, 5, Running(threads=1))
    exposure, workload = [], []
    for codes in np.concatenate([axis.codes[np.newaxis], grouping.labels(Draws.permuted(99, 5))]):
        own = codes[ratings.codes_of_raters]
        table = np.zeros((ratings.n_items, len(axis)))
        np.add.at(table, (ratings.item_codes[own >= 0], own[own >= 0]), 1)
        exposure.append(float(chi2_contingency(table[table.sum(axis=1) > 0], correction=False)[0]))
        each = np.bincount(ratings.codes_of_raters, minlength=ratings.n_raters)
        inside = each[codes >= 0].mean()
        workload.append(
            sum((codes == g).sum() * (each[codes == g].mean() - inside) ** 2 for g in range(len(axis)))
        )  # fmt: skip
    for p, values in zip(got, (exposure, workload), strict=True):
        reached = sum(value >= values[0] - 1e-9 * max(1.0, values[0]) for value in values)  # the observed one included
        assert p == pytest.approx(reached / 100)


def test_the_design_check_finds_what_depends_on_the_group() -> None:
    axis = Axis.of(free := sparse(1), "g", min_group_size=1)
    found = []
    for ratings in (free, sparse(1, drift=9.0), sparse(1, more=4)):
        grouping = Grouping.of(ratings, axis.codes, len(axis))
        found.append(entanglement(ratings, grouping, 199, 0, Running(threads=1)))
    assert [one.entangled for one in found] == [False, True, True]
    assert found[1].exposure <= 0.01 < found[1].workload
    assert found[2].workload <= 0.01
    assert Entanglement(0.01, 0.011).entangled
    assert not Entanglement(0.0101, 0.02).entangled


@given(st.integers(0, 1000), st.integers(1, 4))
@settings(max_examples=10)
def test_threads_do_not_change_the_design_check(seed: int, threads: int) -> None:
    ratings = sparse(seed)
    axis = Axis.of(ratings, "g", min_group_size=1)
    grouping = Grouping.of(ratings, axis.codes, len(axis))
    one = entanglement(ratings, grouping, 50, seed, Running(threads=1))
    assert entanglement(ratings, grouping, 50, seed, Running(threads=threads)) == one


@pytest.mark.parametrize("seed", range(5))
def test_rarest_items_find_the_pairs_that_all_against_all_finds(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    base = [rng.random(60) < share for share in (0.1, 0.5, 0.9)]
    sets = [np.flatnonzero(base[r % 3] ^ (rng.random(60) < 0.03)).astype(np.int32) for r in range(40)]
    sets = [one for one in sets if len(one)]
    few = exchange._close_pairs(sets, 60)
    monkeypatch.setattr(exchange, "MOST_PAIRS", 0)
    everything = exchange._close_pairs(sets, 60)
    assert sorted(zip(few[0].tolist(), few[1].tolist(), strict=True)) == sorted(
        zip(everything[0].tolist(), everything[1].tolist(), strict=True)
    )
    literal = {
        (a, b)
        for a in range(len(sets))
        for b in range(a + 1, len(sets))
        if len(np.intersect1d(sets[a], sets[b])) >= 0.9 * len(np.union1d(sets[a], sets[b])) - 1e-9
    }
    assert set(zip(few[0].tolist(), few[1].tolist(), strict=True)) == literal
    assert literal
