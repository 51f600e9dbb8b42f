"""The engine against literal counts and itself: parts, sums, draws, and workers of every kind."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from plurivox.domain.axis import Axis
from plurivox.domain.part import Part, cut
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import Scale
from plurivox.engine import draws as counting
from plurivox.engine import pool
from plurivox.engine.draws import Draws, add_up, counts_of, group_counts, weighted_counts
from plurivox.engine.pool import Running
from plurivox.engine.run import Sums, UnitSums, and_all, run, total, units_of
from plurivox.infer.grouping import Grouping


def study(seed: int, n_items: int = 23, n_raters: int = 9) -> tuple[Ratings, Axis]:
    rng = np.random.default_rng(seed)
    rated = rng.random((n_items, n_raters)) < 0.6
    rated[:, 0] = True  # every item has a rating, so that none is lost
    item, rater = np.nonzero(rated)
    frame = pl.DataFrame({"item": item, "rater": rater, "score": rng.integers(0, 4, len(item))})
    groups = [None, *rng.choice(["x", "y", "z"], n_raters - 1)]
    raters = pl.DataFrame({"rater": range(n_raters), "g": groups})
    ratings = Ratings.from_frame(frame, scale=Scale.range(0, 3), raters=raters)
    return ratings, Axis.of(ratings, "g", min_group_size=1)


def parts_of(ratings: Ratings, size: int) -> tuple[Part, ...]:
    return cut(ratings.offsets, ratings.rater_codes, ratings.scores, ratings.multiplicity, size)


@dataclass(frozen=True)
class Entropy:
    """A contribution of floats, whose sum depends on the order in which it is taken."""

    grouping: Grouping
    n_items: int
    cost: float = 1e-3
    width: int = 10

    def __call__(self, part: Part, draws: Draws) -> Sums:
        labels = [self.grouping.codes] * draws.total if draws.kind == "resampled" else self.grouping.labels(draws)
        items = draws.item_weights(self.n_items)
        weights = items[:, part.items] if items.shape[1] else items

        def contributed(d: int, start: int, stop: int) -> NDArray[Any]:
            return entropy(group_counts(part, labels[d], self.grouping.n_groups, 4, start, stop))

        return Sums(bits=add_up(contributed, part.n_items, draws.total, weights, same=False))


def entropy(counts: NDArray[Any]) -> NDArray[np.float64]:
    share = counts / np.maximum(counts.sum(axis=2, keepdims=True), 1)
    bits: NDArray[np.float64] = -(share * np.log(np.where(share > 0, share, 1.0))).sum(axis=2)
    return bits


def bits(sums: Sums) -> NDArray[np.float64]:
    return sums["bits"]


# Parts ---------------------------------------------------------------------------------------------------------------
@given(st.integers(0, 10_000), st.integers(1, 60))
@settings(max_examples=40)
def test_parts_are_whole_items_past_every_so_many_ratings(seed: int, size: int) -> None:
    ratings, _ = study(seed)
    parts = parts_of(ratings, size)
    assert [part.first for part in parts] == np.cumsum([0, *(part.n_items for part in parts)])[:-1].tolist()
    assert sum(part.n_items for part in parts) == ratings.n_items
    assert np.concatenate([part.scores for part in parts]).tolist() == ratings.scores.tolist()
    assert np.concatenate([part.raters for part in parts]).tolist() == ratings.codes_of_raters.tolist()
    for part in parts:
        assert (part.offsets[0], part.offsets[-1]) == (0, len(part.scores))
        assert part.offsets[-2] < size  # without its last item it would be too small
    for part in parts[:-1]:
        assert part.offsets[-1] >= size


def test_parts_of_totals_and_of_nothing() -> None:
    offsets = np.array([0, 2, 3], dtype=np.int64)
    totals = cut(offsets, None, np.array([0, 1, 1], np.uint8), np.array([4, 2, 7]), size=2)
    assert [part.multiplicity.tolist() for part in totals] == [[4, 2], [7]]
    assert all(len(part.raters) == 0 for part in totals)
    assert group_counts(totals[0], None, 1, 2).tolist() == [[[4, 2]]]
    (nothing,) = cut(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.uint8), None)
    assert nothing.n_items == 0


def test_ratings_have_the_same_parts_each_time_and_none_can_be_written() -> None:
    ratings, _ = study(1)
    (part,) = ratings.parts()
    assert ratings.parts()[0] is part
    assert part.offsets is ratings.offsets
    again = pickle.loads(pickle.dumps(part))
    assert (again.first, again.scores.tolist(), again.raters.tolist()) == (
        0, part.scores.tolist(), part.raters.tolist(),
    )  # fmt: skip
    for one in (part, again):
        with pytest.raises(ValueError, match="read-only"):
            one.scores[0] = 1


# Counts --------------------------------------------------------------------------------------------------------------
def test_counts_against_a_literal_count() -> None:
    ratings, axis = study(1)
    group_of = dict(zip(ratings.raters["rater"], ratings.raters["g"], strict=True))
    literal = Counter(
        (item, group_of[rater], score) for item, rater, score in ratings.to_frame().iter_rows() if group_of[rater]
    )
    counts = counts_of(ratings, axis)
    assert counts.shape == (23, len(axis), 4)
    assert counts.sum() == literal.total()
    for (item, group, score), n in literal.items():
        assert counts[item, axis.groups.index(group), score] == n
    assert np.array_equal(counts_of(ratings)[:, 0], ratings.counts())
    assert np.array_equal(counts_of(ratings, axis, 5, 9), counts[5:9])


def test_weighted_counts_against_a_literal_count() -> None:
    ratings, axis = study(4)
    weights = np.random.default_rng(0).integers(0, 4, ratings.n_raters)
    (part,) = ratings.parts()
    n, q = weighted_counts(part, axis.codes, len(axis), 4, weights, 3, 20)
    expected_n, expected_q = np.zeros(n.shape), np.zeros(q.shape)
    for item, rater, score in ratings.to_frame().iter_rows():
        if 3 <= item < 20 and axis.codes[rater] >= 0:
            expected_n[item - 3, axis.codes[rater], score] += weights[rater]
            expected_q[item - 3, axis.codes[rater]] += weights[rater] ** 2
    assert np.array_equal(n, expected_n)
    assert np.array_equal(q, expected_q)


def test_weights_are_copies_of_items() -> None:
    ratings, axis = study(3)
    weights = np.random.default_rng(0).integers(0, 3, (1, ratings.n_items))
    counts = counts_of(ratings, axis)
    by_hand = (entropy(counts) * weights[0][:, None]).sum(axis=0)
    got = add_up(lambda d, a, b: entropy(counts[a:b]), ratings.n_items, 1, weights, same=True)
    assert got[0] == pytest.approx(by_hand, abs=1e-12)


def test_blocks_of_items_do_not_depend_on_what_else_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "BLOCK", 4)
    ratings, axis = study(5)
    counts = counts_of(ratings, axis)
    none = np.zeros((3, 0))
    once = add_up(lambda d, a, b: entropy(counts[a:b]), 23, 3, none, same=True)
    each = add_up(lambda d, a, b: entropy(counts[a:b]), 23, 3, none, same=False)
    assert once.tobytes() == each.tobytes()
    literal = reduce(add, (entropy(counts[a : a + 4]).sum(axis=0) for a in range(0, 23, 4)))
    assert once[0].tobytes() == literal.tobytes()


# Draws over parts ----------------------------------------------------------------------------------------------------
def draws_of_every_kind() -> list[Draws]:
    return [
        Draws.permuted(7, 3), Draws.resampled(7, 3, "items"), Draws.permuted(1, 3), Draws.subsampled(7, 3),
        Draws.subsampled(7, 3, "items"),
    ]  # fmt: skip


@pytest.mark.parametrize("size", [5, 40, 1 << 20])
def test_workers_and_batches_change_no_bit(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ratings, axis = study(6)
    work = Entropy(Grouping.of(ratings, axis.codes, len(axis)), ratings.n_items)
    parts = parts_of(ratings, size)
    for draws in draws_of_every_kind():
        one = np.concatenate(run(parts, work, draws, bits, Running(1)))
        literal = reduce(add, (work(part, draws)["bits"] for part in parts))
        assert one.tobytes() == literal.tobytes()
        with ThreadPoolExecutor(3) as threads:
            for how in (Running(2), Running(8), Running(3, threads)):
                assert np.concatenate(run(parts, work, draws, bits, how)).tobytes() == one.tobytes()
        with monkeypatch.context() as patched:
            patched.setattr(pool, "_SECONDS", 1e-9)
            assert np.concatenate(run(parts, work, draws, bits, Running(2))).tobytes() == one.tobytes()
    assert run(parts, work, Draws.permuted(0, 1), bits) == []
    observed = total(parts, work)["bits"][0]  # is permutation zero
    assert observed == pytest.approx(entropy(counts_of(ratings, axis)).sum(axis=0))


def test_processes_read_parts_from_a_place_and_change_no_bit() -> None:
    ratings, axis = study(7)
    work = Entropy(Grouping.of(ratings, axis.codes, len(axis)), ratings.n_items)
    parts = parts_of(ratings, 30)
    with ProcessPoolExecutor(2) as processes:
        for draws in draws_of_every_kind():
            here = np.concatenate(run(parts, work, draws, bits, Running(1)))
            there = np.concatenate(run(parts, work, draws, bits, Running(2, processes)))
            assert there.tobytes() == here.tobytes()
        assert total(parts, work, Running(2, processes))["bits"].tobytes() == total(parts, work)["bits"].tobytes()


def test_what_travels_does_not_hold_the_ratings() -> None:
    ratings, axis = study(8, n_items=20_000, n_raters=40)
    work = Entropy(Grouping.of(ratings, axis.codes, len(axis)), ratings.n_items)
    each = partial(run.__globals__["_each_draw"], ratings.parts(), work, Draws.permuted(3, 0), bits)
    parcel = pool.Parcel.of(each)
    assert len(parcel.content) < 0.2 * len(ratings)
    assert any(array is ratings.parts()[0].scores for array in parcel.arrays)
    with ProcessPoolExecutor(1) as processes:
        sent = pool.shipped(each, processes)
        path = Path(sent.work.path)  # type: ignore[attr-defined]
        assert path.stat().st_size < 0.2 * len(ratings)
        assert len(pickle.dumps(sent.work)) < 300
        sent.forget()
    assert not path.exists()


def test_arrays_come_back_as_they_were() -> None:
    fixed = np.arange(20_000)
    fixed.flags.writeable = False
    free = np.asfortranarray(np.random.default_rng(1).random((100, 200)))
    content, arrays = pool.Parcel.of(_Holding(fixed, free))  # type: ignore[arg-type]
    assert [array is one for array, one in zip(arrays, (fixed, free), strict=True)] == [True, True]
    for come in (arrays, [array.copy() for array in arrays], [_frozen(array.copy()) for array in arrays]):
        back: Any = pool._Unpickler(content, come).load()
        assert back.one.tobytes() == fixed.tobytes()
        assert np.array_equal(back.other, free)
        assert (back.one.flags.writeable, back.other.flags.writeable) == (False, True)


def _frozen(array: Any) -> Any:
    array.flags.writeable = False
    return array


@dataclass
class _Holding:
    """Two large arrays."""

    one: Any
    other: Any


# Shuffling -----------------------------------------------------------------------------------------------------------
def test_labels_keep_strata_and_who_is_outside() -> None:
    ratings, axis = study(10, n_raters=30)
    strata = (np.arange(30) % 3).astype(np.int32)
    grouping = Grouping.of(ratings, axis.codes, len(axis), strata)
    labels = grouping.labels(Draws.permuted(20, 5))
    assert (labels[:, axis.codes < 0] == -1).all()
    for stratum in range(3):
        own = (strata == stratum) & (axis.codes >= 0)
        assert all(sorted(row[own]) == sorted(axis.codes[own]) for row in labels)
    assert len({row.tobytes() for row in labels}) == 20
    assert np.array_equal(grouping.labels(Draws.observed())[0], axis.codes)
    assert np.array_equal(grouping.labels(Draws.permuted(20, 5).between(7, 9)), labels[7:9])


def test_subsamples_have_as_many_of_each_group_as_the_smallest_has() -> None:
    ratings, axis = study(11, n_raters=30)
    rated = np.bincount(ratings.codes_of_raters, minlength=30) > 0
    size = min(np.count_nonzero((axis.codes == g) & rated) for g in range(len(axis)))
    grouping = Grouping.of(ratings, axis.codes, len(axis))
    labels = grouping.labels(Draws.subsampled(20, 5))
    for row in labels:
        chosen = row >= 0
        assert rated[chosen].all()
        assert np.array_equal(row[chosen], axis.codes[chosen])
        assert np.bincount(row[chosen], minlength=len(axis)).tolist() == [size] * len(axis)
    assert len({row.tobytes() for row in labels}) > 1
    assert np.array_equal(grouping.labels(Draws.subsampled(20, 5).between(7, 9)), labels[7:9])
    two = Grouping.of(ratings, axis.codes, len(axis), among=axis.codes != 1).labels(Draws.subsampled(3, 5))
    assert not (two == 1).any()


# Units of items ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class UnitEntropy:
    """The entropy of each item, by units."""

    unit: NDArray[np.int64]
    n_units: int
    cost: float = 1e-3
    width: int = 10

    def __call__(self, part: Part, draws: Draws) -> Sums:
        each = entropy(group_counts(part, None, 1, 4))[:, 0]
        return Sums(by_unit=np.bincount(self.unit[part.items], each, self.n_units)[np.newaxis, :, np.newaxis])


@pytest.mark.parametrize("most", [50, 6])
def test_units_are_summed_and_drawn_as_a_literal_loop_does(most: int) -> None:
    ratings, _ = study(12)
    subset = np.arange(23) % 3
    unit, starts = units_of(subset, 3, seed=4, most=most)
    sums = UnitSums.of(parts_of(ratings, 30), UnitEntropy(unit, int(starts[-1])), starts)
    each = entropy(counts_of(ratings))[:, 0]
    literal = [[each[(subset == b) & (unit == u)].sum() for u in range(sums.n_units)] for b in range(3)]
    assert sums.by_unit[:, 0] == pytest.approx(np.sum(literal, axis=0), abs=1e-12)
    assert sums.totals()[0, :, 0] == pytest.approx(np.sum(literal, axis=1), abs=1e-12)
    weights = Draws.resampled(9, 2, "items").item_weights(sums.n_units)
    drawn = sums.resampled(9, 2, and_all, Running(1))
    assert drawn[:, :3, 0] == pytest.approx(weights @ np.transpose(literal), abs=1e-12)
    assert drawn[:, 3, 0] == pytest.approx(weights @ np.sum(literal, axis=0), abs=1e-12)
    assert sums.resampled(0, 2, and_all, Running(1)).shape == (0, 4, 1)


def test_single_items_have_the_same_sums_however_they_are_cut() -> None:
    ratings, _ = study(13)
    unit, starts = units_of(np.arange(23) % 2, 2, seed=4)
    work = UnitEntropy(unit, 23)
    one = UnitSums.of(ratings.parts(), work, starts)
    with ProcessPoolExecutor(2) as processes:
        for how in (Running(1), Running(3), Running(2, processes)):
            several = UnitSums.of(parts_of(ratings, 30), work, starts, how)
            assert several.by_unit.tobytes() == one.by_unit.tobytes()
            assert several.resampled(9, 2, and_all, how).tobytes() == one.resampled(9, 2, and_all, Running(1)).tobytes()


def test_results_come_in_order_and_may_be_left_off() -> None:
    made = pool.as_made(lambda first, last: first, 50, Running(3))
    assert (next(made), list(made)) == (0, list(range(1, 50)))
    started: list[int] = []
    stopped = pool.as_made(lambda first, last: started.append(first), 500, Running(1))
    next(stopped)
    stopped.close()  # type: ignore[attr-defined]
    assert len(started) < 500


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux lets a process be kept on some processors")
def test_as_many_threads_as_processors_that_may_be_used() -> None:
    code = (
        "import os; from plurivox.engine.pool import processors; before = processors(), len(os.sched_getaffinity(0));"
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); print(*before, processors())"
    )
    all_of_them, allowed, one = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert (all_of_them, one) == (allowed, "1")
