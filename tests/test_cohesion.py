"""The cohesion lens: against the pure statistics, against the published table, and at its edges."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plurivox as pv
import reference as twin
from claims.rates import studies
from plurivox import statistics
from plurivox.domain.axis import Axis
from plurivox.engine.draws import Draws
from plurivox.engine.draws import counts_of as group_counts
from plurivox.engine.pool import Running
from plurivox.engine.run import Sums
from plurivox.infer.grouping import Grouping
from plurivox.kernels import shuffling
from plurivox.lenses.cohesion.sums import GroupAgreement
from plurivox.reproduce import printed
from plurivox.statistics.registry import of_role
from support import ran, rated, run_cli, some

STATISTICS = [record.name for record in of_role("tested")]
BESIDE = [
    len(STATISTICS) + at for at, one in enumerate(of_role("beside")) if one.name in ("percent_agreement", "ac1", "ac2")
]
MATRIX = np.array([[0, 1, 2, 2], [1, 0, 1, 3], [2, 1, 0, 1], [2, 3, 1, 0]], dtype=float)


def study(seed: int, *, n_items: int = 20, n_raters: int = 16, missing: float = 0.4, n_points: int = 4) -> pv.Ratings:
    rng = np.random.default_rng(seed)
    rated = rng.random((n_items, n_raters)) >= missing
    rated[0, :] = True  # every rater rates something
    item, rater = np.nonzero(rated)
    severity = rng.normal(size=n_items)[item] + rng.normal(size=len(item))
    score = np.searchsorted(np.linspace(-1, 1, n_points - 1), severity)
    frame = pl.DataFrame({"item": item, "rater": rater, "score": score})
    groups = rng.choice(["x", "y", "z"], n_raters)
    groups[:3] = ["x", "y", "z"]
    names = [None if i == n_raters - 1 else str(g) for i, g in enumerate(groups)]
    raters = pl.DataFrame({"rater": range(n_raters), "g": names, "batch": rng.choice(["p", "q"], n_raters)})
    return pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, n_points - 1), raters=raters)


def measured(
    ratings: pv.Ratings, codes: np.ndarray[Any, Any], n_groups: int, *, strata: Any = None, **options: Any
) -> GroupAgreement:
    return GroupAgreement.of(ratings, Grouping.of(ratings, codes, n_groups, strata), **options)


class Weighed(NamedTuple):
    """Draws with weights that the test chose."""

    raters: np.ndarray[Any, Any]
    items: np.ndarray[Any, Any]
    kind: str = "resampled"
    last: int = 0

    @property
    def total(self) -> int:
        return len(self.items)

    def item_weights(self, n_items: int, some: slice = slice(None)) -> np.ndarray[Any, Any]:
        return self.items[:, some]

    def rater_weights(self, codes: Any) -> np.ndarray[Any, Any]:
        return self.raters


def weighed(found: GroupAgreement, raters: Any, items: Any) -> Sums:
    (part,) = found.ratings.parts()
    draws: Any = Weighed(raters, items)
    return found.agreement(part, draws)


def literal(
    ratings: pv.Ratings, axis: Axis, level: Any, ties: str, convention: str, seed: int = 0
) -> np.ndarray[Any, Any]:
    """Every statistic of every group by the pure functions on counts."""
    counts = group_counts(ratings, axis)
    values = list(ratings.scale.values)
    table = np.full((ratings.n_items, ratings.n_raters), np.nan)
    table[ratings.item_codes, ratings.codes_of_raters] = np.array(values)[ratings.scores]
    rows = []
    for g in range(len(axis)):
        own, rest = counts[:, g], counts.sum(axis=1) - counts[:, g]
        rows.append(
            [
                statistics.krippendorff_alpha(own, level, values=values),
                statistics.xrr(own, rest, level, values=values),
                statistics.gai(own, rest, level, values=values),
                statistics.view_correlation(table[:, axis.codes == g], table[:, (axis.codes >= 0) & (axis.codes != g)]),
                statistics.negentropy(own),
                statistics.cross_negentropy(own, rest, convention=convention),
                statistics.plurality_size(own),
                statistics.voting_agreement(own, rest, ties=ties, seed=seed, items=ratings.items["item"].to_list()),
            ]
        )
    return np.array(rows)


@given(st.integers(0, 10_000), st.sampled_from(["nominal", "ordinal", "interval", "matrix"]),
       st.sampled_from(["share", "lowest", "random"]), st.sampled_from(["default", "published"]))  # fmt: skip
@settings(max_examples=40)
def test_one_pass_against_the_pure_functions(seed: int, level: str, ties: str, convention: str) -> None:
    ratings = study(seed)
    axis = Axis.of(ratings, "g", min_group_size=1)
    known: Any = MATRIX / MATRIX.max() if level == "matrix" else level
    passes = measured(
        ratings, axis.codes, len(axis), level=known, published=convention == "published", ties=ties, seed=3
    )
    got = passes.values(passes.sums)[0, :, : len(STATISTICS)]
    assert got == pytest.approx(literal(ratings, axis, known, ties, convention, seed=3), abs=1e-10, nan_ok=True)


@pytest.mark.parametrize(
    ("n_items", "n_raters", "n_points"), [(520, 250, 3), (300, 255, 8), (40, 256, 4), (30, 40, 9), (3, 300, 12)]
)
def test_packed_counts_at_their_limits(n_items: int, n_raters: int, n_points: int) -> None:
    """Up to 255 ratings an item and 8 points counts share a word, sums of them are emptied every 256 items."""
    ratings = study(13, n_items=n_items, n_raters=n_raters, missing=0.0, n_points=n_points)
    axis = Axis.of(ratings, "g", min_group_size=1)
    for level in ("nominal", "ordinal", "interval"):
        passes = measured(ratings, axis.codes, len(axis), level=level)
        parts = passes.sums
        got = passes.values(parts)[0, :, : len(STATISTICS)]
        assert got == pytest.approx(literal(ratings, axis, level, "share", "default"), abs=1e-10)
        general = weighed(passes, np.zeros((1, 0), np.int32), np.ones((1, n_items), np.int32))
        assert parts["vectors"] == pytest.approx(general["vectors"], abs=1e-9)
        assert parts["scalars"] == pytest.approx(general["scalars"], rel=1e-12)
        assert passes.values(parts) == pytest.approx(passes.values(general), rel=1e-12)


@pytest.mark.parametrize("within", [None, "batch"])
def test_permutations_are_shuffles_of_profiles(within: str | None) -> None:
    """Each draw equals the statistics of the raters under that shuffle, with the ratings where they were."""
    ratings = study(1)
    axis = Axis.of(ratings, "g", min_group_size=1)
    strata = None if within is None else Axis.of(ratings, within, min_group_size=1).codes
    passes = measured(ratings, axis.codes, len(axis), strata=strata)
    null = passes.null(Draws.permuted(5, 7), Running(threads=1))
    seen = set()
    for number in range(1, 6):
        each = [0] * ratings.n_raters if strata is None else strata.tolist()
        moved = np.array(twin.shuffled(axis.codes.tolist(), each, 7, number), np.int32)
        assert sorted(zip(each, moved.tolist(), strict=True)) == sorted(zip(each, axis.codes.tolist(), strict=True))
        assert moved[-1] == -1  # outside the axis, and stays there
        again = measured(ratings, moved, len(axis))
        assert np.array_equal(again.values(again.sums)[0, :, : len(STATISTICS)], null[number - 1], equal_nan=True)
        seen.add(tuple(moved.tolist()))
    assert len(seen) == 5


def test_shuffles_are_uniform() -> None:
    """All 24 orders of four raters come up alike: chi-square below its 0.999 quantile (49.7 at 23 degrees)."""
    times: dict[tuple[int, ...], int] = {}
    for number in range(1, 24_001):
        codes = np.arange(4)
        shuffling._shuffle(codes, np.array([0, 4]), np.uint64(shuffling.mixed(np.uint64(number))))
        times[tuple(codes.tolist())] = times.get(tuple(codes.tolist()), 0) + 1
    assert len(times) == 24
    assert sum((n - 1000) ** 2 / 1000 for n in times.values()) < 49.7


def test_strata_keep_their_groups() -> None:
    ratings = study(2, n_raters=30)
    axis = Axis.of(ratings, "g", min_group_size=1)
    batch = Axis.of(ratings, "batch", min_group_size=1).codes
    grouping = Grouping.of(ratings, axis.codes, len(axis), batch)
    for moved in grouping.labels(Draws.permuted(20, 5)):
        for one in np.unique(batch):
            assert sorted(moved[batch == one].tolist()) == sorted(axis.codes[batch == one].tolist())
        assert not np.array_equal(moved, axis.codes)
    free = pv.cohesion(ratings, "g", permutations=50, min_group_size=1, interval="none")
    held = pv.cohesion(ratings, "g", permutations=50, min_group_size=1, interval="none", within="batch")
    assert not np.array_equal(free.null("g", "x", "irr")[:50], held.null("g", "x", "irr")[:50])


@pytest.fixture(scope="module")
def dices(real_data: Path) -> pv.Ratings:
    folder = real_data / "dices350"
    ratings = pv.read_ratings(folder / "ratings.csv", scale="No,Unsure,Yes", raters=folder / "raters.csv")
    return ratings.where(raters={"removed": "False"})


def test_by_default_cross_negentropy_is_not_as_published(real_data: Path) -> None:
    """All 20 groups × 5 statistics of GRASP Table 5 still are; tests/test_reproduce.py has the published convention."""
    rows = [
        cell.as_row()
        for cell in printed.grasp_cells(real_data / "dices350", "default")
        if cell.column != "voting_agreement"
    ]
    agreeing = {name for _, _, name, *_, agrees in rows if agrees}
    assert sum(agrees for *_, agrees in rows) == 100
    assert agreeing == {"irr", "xrr", "negentropy", "plurality_size", "gai"}


STARS = {
    ("race", "Latine"): "irr xrr gai",
    ("race", "Multiracial"): "negentropy cross_negentropy plurality_size",
    ("race", "White"): "xrr negentropy cross_negentropy plurality_size voting_agreement",
    ("race x gender", "Asian, Woman"): "irr xrr negentropy cross_negentropy plurality_size gai",
    ("race x gender", "Black, Woman"): "irr gai",
    ("race x gender", "Latine, Woman"): "irr xrr gai",
    ("race x gender", "Multiracial, Woman"): "negentropy",
    ("race x gender", "White, Man"): "irr negentropy cross_negentropy plurality_size voting_agreement gai",
    ("race x gender", "White, Woman"): "irr xrr gai",
}
"""The cells of Table 5 that have one star or two."""
OTHERWISE = {("race", "White", "cross_negentropy"): 0.07, ("race x gender", "White, Man", "irr"): 0.08}
"""The cells with a star there and not here, and their p here."""


def test_stars_of_grasp_table_5_and_what_does_not_come_out(dices: pv.Ratings, real_data: Path) -> None:
    """Of cells not within three standard errors of .05, two stars do not come out; no voting agreement is the same."""
    found = pv.cohesion(
        dices, ["age", "gender", "race", ("race", "gender")], permutations=4000, max_permutations=4000,
        convention="published", interval="none", min_group_size=1,
    )  # fmt: skip
    otherwise, votes, undecided = {}, [], 0
    for row in pl.read_csv(real_data / "dices350" / "grasp_table5.csv").iter_rows(named=True):
        axis = row["axis"].replace(" x ", " × ")
        group = " × ".join(printed.RACES.get(part, part) for part in row["group"].split(", "))
        for name in printed.STATISTICS:
            p = found.row(axis, group, name).p_value
            assert p is not None
            close = abs(p - 0.05) < 3 * math.sqrt(0.05 * 0.95 / 4000)
            undecided += close
            if not close and (p < 0.05) != (name in STARS.get((row["axis"], row["group"]), "").split()):
                otherwise[row["axis"], row["group"], name] = p
        votes.append(abs(found.value(axis, group, "voting_agreement") - row["voting_agreement"]))
    assert otherwise == pytest.approx(OTHERWISE, abs=0.015)
    assert undecided <= 10
    assert min(votes) > 0.0005
    assert max(votes) < 0.046
    for dsi in found.ranked_axes():
        own = found.row(dsi.axis, dsi.group, "gai")
        assert (dsi.p_value, dsi.p_adjusted, dsi.null_median) == (own.p_value, own.p_adjusted, own.null_median)
        assert ((dsi.p_value or 1) < 0.05) == dsi.axis.startswith("race")  # Latine raters, White men


def test_arrows_stand_on_every_tested_value_if_wanted(tmp_path: Path) -> None:
    pv.write_ratings(study(3, n_raters=40), tmp_path / "r.parquet")
    common = ("cohesion", tmp_path / "r.parquet", "--by", "g", "--permutations", 39, "--markdown")
    plain, marked = (run_cli(*common, *more).out for more in ((), ("--arrows",)))
    rows = pv.cohesion(pv.read_ratings(tmp_path / "r.parquet"), "g", permutations=39).rows
    tested = [row for row in rows if row.kind == "group" and row.direction and row.axis == "g"]
    assert any((row.p_value or 1) >= 0.05 for row in tested)
    for row in tested:
        arrow = {"above": "↑", "below": "↓"}[row.direction or ""]
        assert f"{row.value:.3f} {arrow}" in marked
    assert marked.replace(" ↑ |", " |").replace(" ↓ |", " |") == plain


def test_dices_findings(dices: pv.Ratings) -> None:
    """Before correction White men stand out, as the paper says; of 40 values two would by chance alone."""
    found = pv.cohesion(
        dices, [("race", "gender")], permutations=1000, level="nominal", interval="none", min_group_size=1
    )
    said = found.statements()
    assert said[0].text.startswith("All raters together: alpha 0.")
    assert not any(one.claim for one in said)
    (nothing,) = [one for one in said if one.text.startswith("No difference between groups is certain: of 10 groups, ")]
    p = found.to_frame().filter(pl.col("statistic").is_in(["irr", "xrr", "gai", "view_correlation"]))["p_adjusted"]
    known = p.drop_nulls().to_list()
    assert (len(known), nothing.p) == (40, min(known))
    assert nothing.text.endswith(
        f"the smallest p = {min(known):.3f} after correction over 40 values.".replace("0.", ".")
    )
    shown = pv.cohesion(dices, [("race", "gender")], permutations=0, level="nominal", interval="none")
    assert shown.findings()[-1] == "2 groups are withheld: 1 has fewer than 5 raters, and 1 would reveal it."
    dsi = found.row("race × gender", "White × Man", "dsi")
    assert dsi.value == pytest.approx(1.262, abs=5e-4)
    own = found.row("race × gender", "White × Man", "gai")
    assert (own.p_value or 1) < min(0.05, some(dsi.p_value))
    assert (own.p_adjusted or 0) > 0.05


def null_p_values(convention: str, n: int) -> np.ndarray[Any, Any]:
    """P-values of GAI in studies in which all groups see the same."""
    p = []
    for seed in range(n):
        ratings = pv.simulate(
            n_items=25, n_raters=40, attributes={"g": {"a": 0.5, "b": 0.5}}, models=(), trained=0, seed=seed
        ).ratings
        options: dict[str, Any] = {"permutations": 99, "max_permutations": 99, "interval": "none", "seed": seed}
        found = pv.cohesion(ratings, "g", convention=convention, **options)
        p.append(found.row("g", "a", "gai").p_value)
    return np.array(p, dtype=float)


@pytest.mark.claims
def test_p_values_are_uniform_under_a_true_null() -> None:
    """Of n null studies: the distance to uniform stays below the 0.999 Kolmogorov bound, 1.95/√n."""
    p = null_p_values("default", studies(400))
    assert np.mean(p <= 0.05) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / len(p))
    distance = max(abs(np.mean(p <= u) - u) for u in np.arange(0.02, 1.0, 0.02))
    assert distance < 1.95 / math.sqrt(len(p))


@pytest.mark.claims
def test_the_published_convention_rejects_twice_as_often() -> None:
    p = null_p_values("published", studies(400))
    assert abs(np.mean(p < 0.05) - 0.10) < 3 * math.sqrt(0.10 * 0.90 / len(p))


def test_a_true_effect_is_found() -> None:
    effect, shares = pv.Effect({"g": "a"}, shared_sd=1.5), {"g": {"a": 0.3, "b": 0.7}}
    ratings = pv.simulate(n_items=100, n_raters=60, attributes=shares, effects=[effect], seed=1).ratings
    found = pv.cohesion(ratings, "g", permutations=499)
    row = found.row("g", "a", "gai")
    assert row.value > 1
    assert (row.direction, row.claim) == ("above", True)
    assert row.p_value == row.p_adjusted == pytest.approx(2 / 500)  # no shuffle of any value reaches it
    (said,) = [one for one in found.statements() if one.claim and one.group == "a" and one.statistic != "dsi"]
    assert said.text.startswith("g: a have a view of their own: view correlation ")
    assert " They agree with each other more than with others, and more so than a random group would: GAI " in said.text
    assert (said.p, said.rests_on) == (
        row.p_adjusted,
        "all raters shuffled, 499 times; corrected over 8 values by the largest deviation in each shuffle (max-T)",
    )  # fmt: skip
    (divides,) = [one for one in found.statements() if one.statistic == "dsi"]
    assert divides.claim
    assert divides.text.startswith("g divides the raters: its largest GAI, ")


# Bootstrap -----------------------------------------------------------------------------------------------------------
def test_weighted_alpha_against_the_literal_formula() -> None:
    """D_o = (1/W)·Σ W_i/(W_i² − Q_i)·Σ n_c n_k δ and D_e = Σ n_c n_k δ/(W² − ΣQ_i), rater by rater."""
    ratings = study(5)
    axis = Axis.of(ratings, "g", min_group_size=1)
    passes = measured(ratings, axis.codes, len(axis))
    weights = np.random.default_rng(1).integers(0, 4, (3, ratings.n_raters)).astype(np.int32)
    got = passes.values(weighed(passes, weights, np.zeros((3, 0), np.int32)))
    for draw in range(3):
        for g in range(len(axis)):
            total, selves, observed = np.zeros(4), 0.0, 0.0
            for i in range(ratings.n_items):
                counts, q = np.zeros(4), 0.0
                for k in range(ratings.offsets[i], ratings.offsets[i + 1]):
                    rater = some(ratings.rater_codes)[k]
                    if axis.codes[rater] == g:
                        counts[ratings.scores[k]] += weights[draw, rater]
                        q += float(weights[draw, rater]) ** 2
                w = counts.sum()
                if w * w > q:
                    observed += w / (w * w - q) * (w * w - (counts**2).sum())
                    total += counts
                    selves += q
            w = total.sum()
            expected = (w * w - (total**2).sum()) / (w * w - selves)
            alpha = 1 - (observed / w) / expected
            assert got[draw, g, 0] == pytest.approx(alpha, abs=1e-12)


def test_weights_of_one_change_nothing_and_item_weights_are_copies() -> None:
    ratings = study(6)
    axis = Axis.of(ratings, "g", min_group_size=1)
    passes = measured(ratings, axis.codes, len(axis))
    plain = passes.values(passes.sums)[0]
    none = np.zeros((1, 0), np.int32)
    ones = passes.values(weighed(passes, np.ones((1, ratings.n_raters), np.int32), none))[0]
    assert ones == pytest.approx(plain, abs=1e-12, nan_ok=True)
    items = np.random.default_rng(0).integers(0, 3, ratings.n_items).astype(np.int32)
    frame = ratings.to_frame()
    copies = pl.concat([frame.filter(pl.col("item") == i).with_columns(item=pl.lit(f"{i}.{c}"))
                        for i, n in enumerate(items.tolist()) for c in range(n)])  # fmt: skip
    copied = pv.Ratings.from_frame(copies, scale=ratings.scale, raters=ratings.raters)
    again = measured(copied, Axis.of(copied, "g", min_group_size=1).codes, len(axis))
    # But for view_correlation: raters' means, which it takes out, stay those of the items as they were rated.
    same = [at for at, one in enumerate((*passes.tested, *passes.beside)) if one.name != "view_correlation"]
    assert passes.values(weighed(passes, none, items[None]))[0][:, same] == pytest.approx(
        again.values(again.sums)[0][:, same], abs=1e-10, nan_ok=True
    )


def test_weighted_agreement_beside_alpha() -> None:
    """Weights of 1 give the array functions; weights of items are copies; a rater never pairs with their copy."""
    ratings = study(11)
    axis = Axis.of(ratings, "g", min_group_size=1)
    passes = measured(ratings, axis.codes, len(axis))
    none = np.zeros((1, 0), np.int32)
    counts = group_counts(ratings, axis)
    items = np.random.default_rng(2).integers(0, 3, ratings.n_items).astype(np.int32)
    for weights in (none, items[None]):
        own = counts if not weights.size else np.repeat(counts, items, axis=0)
        got = passes.values(weighed(passes, none, weights))[0, :, BESIDE]
        for g in range(len(axis)):
            literal = [f(own[:, g]) for f in (statistics.percent_agreement, statistics.ac1)]
            literal.append(statistics.ac2(own[:, g], values=list(ratings.scale.values)))
            assert got[:, g] == pytest.approx(literal, abs=1e-12)
    two = rated({"a": [0, 1], "b": [0, 0]}, 3, g="xx")
    pair = measured(two, np.zeros(2, np.int32), 1)
    doubled = pair.values(weighed(pair, np.array([[2, 1]], np.int32), none))
    assert doubled[0, 0, BESIDE[0]] == pytest.approx(0.5)  # item 0 agrees, item 1 does not, whoever counts twice


def test_rater_copies_do_not_agree_with_themselves() -> None:
    """The mean of the draws stays near alpha; copies taken for new raters would add about (1 − α)/R."""
    ratings = pv.simulate(n_items=60, n_raters=12, models=(), trained=0, seed=2).ratings
    found = pv.cohesion(ratings, "gender", permutations=0, bootstrap=300, resample="raters", min_group_size=1,
                        level="nominal")  # fmt: skip
    codes = np.zeros(ratings.n_raters, np.int32)
    passes = measured(ratings, codes, 1)
    draws = passes.bootstrap(400, 0, "raters", Running(threads=1))[:, 0, 0]
    alpha = found.value("all", "all", "irr")
    assert abs(draws.mean() - alpha) < 0.4 * (1 - alpha) / ratings.n_raters


def test_a_matrix_of_distances_is_a_level() -> None:
    ratings = study(8, n_raters=40)
    found = pv.cohesion(ratings, "g", level=MATRIX, permutations=9, min_group_size=1)
    counts = group_counts(ratings, Axis.of(ratings, "g", min_group_size=1))[:, 0]
    assert found.value("g", "x", "irr") == pytest.approx(statistics.krippendorff_alpha(counts, MATRIX), abs=1e-12)
    assert found.settings["level"] == "matrix"


# Contrasts, pairs, families ------------------------------------------------------------------------------------------
def test_contrast_is_the_difference_and_mirrors() -> None:
    ratings = study(8, n_raters=40)
    found = pv.cohesion(ratings, "g", permutations=99, bootstrap=50, contrast=("x", "y"), min_group_size=1)
    mirrored = pv.cohesion(ratings, "g", permutations=99, bootstrap=50, contrast=("y", "x"), min_group_size=1)
    for name in STATISTICS:
        row, back = found.row("g", "x − y", name), mirrored.row("g", "y − x", name)
        assert row.value == pytest.approx(found.value("g", "x", name) - found.value("g", "y", name), nan_ok=True)
        assert back.value == pytest.approx(-row.value, nan_ok=True)
        assert back.p_value == pytest.approx(row.p_value, nan_ok=True)
        assert (back.ci_low, back.ci_high) == pytest.approx((-(row.ci_high or 0), -(row.ci_low or 0)), nan_ok=True)
    with pytest.raises(pv.InputError, match="no axis has both groups 'x' and 'w'"):
        pv.cohesion(ratings, "g", permutations=0, contrast=("x", "w"))


def test_pairs_against_the_pure_function() -> None:
    ratings = study(9, n_raters=30)
    axis = Axis.of(ratings, "g", min_group_size=1)
    counts = group_counts(ratings, axis)
    found = pv.cohesion(ratings, "g", permutations=20, pairs=True, min_group_size=1, level="nominal")
    frame = found.pairs()
    assert frame.height == 6
    for a, b, name, value in frame.select("group", "other", "statistic", "value").iter_rows():
        i, j = axis.groups.index(a), axis.groups.index(b)
        expected = statistics.krippendorff_alpha(counts[:, i]) if a == b else statistics.xrr(counts[:, i], counts[:, j])
        assert name == ("irr" if a == b else "xrr")
        assert value == pytest.approx(expected, abs=1e-12)
    assert frame.filter(statistic="xrr")["p_adjusted"].null_count() == 0


def test_the_two_groups_of_a_binary_axis_are_one_hypothesis() -> None:
    ratings = pv.simulate(n_items=20, n_raters=60, attributes={"g": {"a": 0.5, "b": 0.5}}, seed=3).ratings
    found = pv.cohesion(ratings, "g", permutations=99, correction="bonferroni")
    for name, times in (("xrr", 1), ("gai", 2)):
        row = found.row("g", "a", name)
        assert row.p_value is not None
        assert row.p_adjusted == pytest.approx(min(1, times * row.p_value))


# Overlapping groups --------------------------------------------------------------------------------------------------
def overlapping(seed: int = 12) -> tuple[pv.Ratings, list[set[str]]]:
    ratings = study(seed, n_raters=30, missing=0.2)
    rng = np.random.default_rng(seed)
    sets = [set(rng.choice(["a", "b", "c"], size=rng.integers(1, 3), replace=False).tolist()) for _ in range(30)]
    texts = ["; ".join(sorted(own)) for own in sets]
    texts[4] = ""
    sets[4] = set()
    frame = ratings.raters.with_columns(pl.Series("race", texts))
    return pv.Ratings.from_frame(ratings.to_frame(), scale=ratings.scale, raters=frame), sets


def test_overlapping_groups_against_the_pure_functions() -> None:
    ratings, sets = overlapping()
    found = pv.cohesion(ratings, "race", several={"race": ";"}, permutations=30, max_permutations=30, bootstrap=10,
                        min_group_size=1, level="nominal")  # fmt: skip
    for value in "abc":
        has = np.array([value in own for own in sets])
        known = np.array([bool(own) for own in sets])
        counts = np.zeros((2, ratings.n_items, 4), dtype=int)
        for item, rater, score in zip(ratings.item_codes, some(ratings.rater_codes), ratings.scores, strict=True):
            if known[rater]:
                counts[0 if has[rater] else 1, item, score] += 1
        row = found.row("race", value, "xrr")
        assert row.value == pytest.approx(statistics.xrr(counts[0], counts[1]), abs=1e-12)
        assert found.value("race", value, "irr") == pytest.approx(statistics.krippendorff_alpha(counts[0]), abs=1e-12)
        assert row.n_raters == has.sum()
        assert row.p_value is not None
    dsi = next(row for row in found.rows if row.statistic == "dsi")
    assert dsi.value == max(found.value("race", value, "gai") for value in "abc")
    assert found.draws[0].null.shape == (30, 3, 8)
    assert found.outside == {"race": 1}
    assert not any(row.group.startswith("not ") for row in found.rows)
    assert pv.Cohesion.from_json(found.to_json()).to_frame().equals(found.to_frame())


def test_overlapping_groups_are_withheld_described_and_refused_where_they_must() -> None:
    ratings, sets = overlapping()
    sizes = {value: sum(value in own for own in sets) for value in "abc"}
    described = pv.describe(ratings, ["race"], several={"race": ";"}, min_group_size=1).axes[0]
    assert {group.name: group.n_raters for group in described.groups} == sizes
    least = min(sizes, key=lambda value: sizes[value])
    found = pv.cohesion(ratings, "race", several={"race": ";"}, permutations=0, min_group_size=sizes[least] + 1)
    assert least not in {row.group for row in found.rows}
    assert found.withheld["race"] >= 1
    with pytest.raises(pv.InputError, match="groups overlap and cannot be crossed with others"):
        pv.cohesion(ratings, [("race", "g")], several={"race": ";"})
    with pytest.raises(pv.InputError, match="cannot be compared in pairs"):
        pv.cohesion(ratings, "race", several={"race": ";"}, pairs=True)


# Honest edges --------------------------------------------------------------------------------------------------------


def note(found: pv.Cohesion, group: str, statistic: str) -> str:
    row = found.row("g", group, statistic)
    assert math.isnan(row.value)
    return row.note


PAIRS = {"points": 3, "g": "xxyy"}
ALONE, ALIKE = "a group of one cannot agree with itself", "everyone gave the same point"


@pytest.mark.parametrize(
    ("scores", "given", "notes", "values"),
    [
        ({"a": [0, 1, 2, 0], "b": [0, 1, 2, 1], "c": [0, 2, 2, 0]}, {"points": 3, "g": "xyy"},
         {"irr": ALONE, "gai": ALONE}, {}),
        ({rater: [1, 1, 1] for rater in "abcd"}, PAIRS, {"irr": ALIKE, "xrr": ALIKE},
         {"plurality_size": 1, "negentropy": math.log(3)}),
        # n = 2: D_o = 1, D_e = 2·1·1/(2·1) = 1
        ({"a": [0], "b": [1], "c": [0], "d": [2]}, PAIRS, {}, {"irr": 0, "plurality_size": 0.5}),
        ({"a": [0, 1, 2], "b": [0, 1, 1]}, {"points": 3, "g": "xy"}, {"irr": ALONE}, {}),
        ({"a": [0, 1], "b": [0, 1], "c": [1, 0], "d": [1, 0]}, {"points": 2, "g": "xxyy"},
         {"gai": "cross-agreement is not above chance, so the ratio says nothing"}, {"xrr": -1}),
    ],
    ids=["a group of one", "unanimous", "a single item", "two raters", "below chance"],
)  # fmt: skip
def test_values_at_the_edges_and_why_there_are_none(
    scores: Any, given: Any, notes: dict[str, str], values: dict[str, float]
) -> None:
    found = pv.cohesion(rated(scores, **given), "g", permutations=10, min_group_size=1)
    assert {name: note(found, "x", name) for name in notes} == notes
    assert {name: found.value("g", "x", name) for name in values} == pytest.approx(values)
    assert math.isnan(found.value("g", "x", "xrr")) == ("xrr" in notes)
    if "plurality_size" in values and "xrr" in notes:  # unanimous, so that every draw ties with it
        assert found.value("all", "all", "percent_agreement") == found.row("g", "x", "plurality_size").p_value == 1


def test_nothing_in_common_with_the_rest() -> None:
    scores: Any = {
        "a": [0, 1, None, None], "b": [1, 1, None, None], "c": [None, None, 2, 0], "d": [None, None, 1, 0]
    }  # fmt: skip
    ratings = rated(scores, 3, g="xxyy")
    found = pv.cohesion(ratings, "g", permutations=10, min_group_size=1)
    for name in ("xrr", "cross_negentropy", "voting_agreement", "gai"):
        assert note(found, "x", name) == "no item was rated by both sides"
    row = found.row("g", "x", "irr")
    assert not math.isnan(row.value)
    assert "no rater of another group shares its block of raters who saw the same items" in row.note
    for name in STATISTICS:
        own = found.row("g", "x", name)
        assert math.isnan(own.p_value or 0)
        assert math.isnan(own.p_adjusted or 0)
        assert not own.claim
    free = pv.cohesion(ratings, "g", permutations=10, min_group_size=1, within=None)
    assert 0 < (free.row("g", "x", "irr").p_value or 0) <= 1


def test_all_missing() -> None:
    found = pv.cohesion(rated({r: [None, None] for r in "abcd"}, 3, g="xxyy"), "g", permutations=10, min_group_size=1)
    frame = found.to_frame()
    assert frame.filter(pl.col("statistic") != "dsi_standardised")["value"].is_nan().all()
    assert note(found, "x", "negentropy") == "no item was rated"
    assert found.row("g", "", "dsi").note == "no group of this axis has a GAI"


def test_every_rater_a_group_of_their_own_and_no_permutations() -> None:
    ratings = study(4)
    found = pv.cohesion(ratings, "rater", permutations=10)
    rows = [row for row in found.rows if row.statistic == "irr" and row.kind == "group"]
    assert len(rows) == ratings.n_raters
    assert all(row.note == ALONE for row in rows)
    assert all(not math.isnan(row.value) for row in found.rows if row.statistic == "xrr")
    frame = pv.cohesion(study(1), "g", permutations=0, min_group_size=1).to_frame()
    assert frame["p_value"].null_count() == frame["p_adjusted"].null_count() == frame.height
    assert frame.filter(statistic="irr")["value"].is_not_nan().all()


def test_more_groups_than_a_byte_counts() -> None:
    ratings = study(4, n_items=5, n_raters=600)
    passes = measured(ratings, np.arange(600, dtype=np.int32) // 2, 300)
    axis = np.arange(600) // 2
    got = passes.values(passes.sums)[0, :, : len(STATISTICS)]
    counts = np.zeros((ratings.n_items, 300, 4), dtype=int)
    np.add.at(counts, (ratings.item_codes, axis[some(ratings.rater_codes)], ratings.scores), 1)
    for g in (0, 17, 254, 255, 299):
        rest = counts.sum(axis=1) - counts[:, g]
        assert got[g, 1] == pytest.approx(statistics.xrr(counts[:, g], rest), abs=1e-12)


@pytest.mark.slow
def test_a_million_raters_with_one_rating_each() -> None:
    n = 1_000_000
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"item": rng.integers(0, 1000, n), "rater": np.arange(n), "score": rng.integers(0, 5, n)})
    raters = pl.DataFrame({"rater": np.arange(n), "g": rng.choice(["a", "b", "c"], n)})
    found = pv.cohesion(pv.Ratings.from_frame(frame, raters=raters), "g", permutations=3, interval="none")
    assert abs(found.value("g", "a", "irr")) < 0.001
    assert found.row("g", "a", "irr").n_raters == raters.filter(g="a").height


def test_skewed_points_are_noted() -> None:
    scores = {r: [0] * 30 for r in "abcd"}
    scores["a"][3] = scores["b"][9] = 1
    found = pv.cohesion(rated(scores, 3, g="xxyy"), "g", permutations=0, min_group_size=1)
    row = found.row("all", "all", "irr")
    assert row.value < 0.1
    assert row.note == "98% of the ratings are one point; alpha is then low even if raters agree, so see AC1"
    assert found.value("all", "all", "ac1") > 0.9


def test_withheld_groups_stay_in_the_rest() -> None:
    ratings = study(7, n_raters=40)
    shown = pv.cohesion(ratings, "g", permutations=0, min_group_size=1)
    sizes = {row.group: row.n_raters for row in shown.rows if row.kind == "group"}
    found = pv.cohesion(ratings, "g", permutations=0, min_group_size=sorted(sizes.values())[1])
    assert (found.withheld, found.revealing) == ({"g": 2}, {"g": 1})  # all less the two others would be the smallest
    [left] = {row.group for row in found.rows if row.kind == "group"}
    assert left != min(sizes, key=lambda group: sizes[group])
    assert found.value("g", left, "xrr") == shown.value("g", left, "xrr")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "mood"}, "raters have no attribute 'mood'"),
        ({"by": ["g", "g"]}, "an axis is listed twice"),
        ({"level": "ratio"}, "level is 'ratio'"),
        ({"level": [[0, 1], [1, 0]]}, "shape"),
        ({"resample": "people"}, "resample is 'people'"),
        ({"convention": "old"}, "convention is 'old'"),
        ({"correction": "fdr"}, "correction is 'fdr'"),
        ({"ties": "first"}, "ties is 'first'"),
        ({"permutations": -1}, "permutations is -1"),
        ({"within": "wave"}, "raters have no attribute 'wave'"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(pv.InputError, match=message):
        pv.cohesion(study(1), **{"by": "g", **options})


def test_language_models_are_raters() -> None:
    made = pv.simulate(n_items=60, n_raters=40, seed=6)
    answered = some(made.answers).filter(pl.col("state") == "answered").select("item", rater="model", score="answer")
    models = pl.DataFrame({"rater": answered["rater"].unique()}).with_columns(kind="rater")
    raters = pl.concat([made.raters.with_columns(kind=pl.lit("human")), models], how="diagonal")
    frame = pl.concat([made.ratings_frame, answered])
    ratings = pv.Ratings.from_frame(frame, scale=made.scale, raters=raters)
    found = pv.cohesion(ratings, "kind", permutations=0, min_group_size=1)
    assert found.value("kind", "model-a", "xrr") > 0.1
    assert found.row("kind", "model-a", "irr").note == ALONE


# Results and the command line ----------------------------------------------------------------------------------------


def test_command_line_for_programs(tmp_path: Path) -> None:
    ran("simulate", tmp_path, "--items", 60, "--raters", 80, "--seed", 3)
    asked = (tmp_path / "ratings.csv", "--by", "gender", "--permutations", 50, "--seed", 4)
    raters, items = tmp_path / "raters.csv", tmp_path / "items.csv"
    ratings = pv.read_ratings(tmp_path / "ratings.csv", scale="0:4", raters=raters, items=items)
    expected = pv.cohesion(ratings, [("gender",)], permutations=50, seed=4)
    assert ran("cohesion", *asked, "--json").json() == json.loads(expected.to_json(draws=False))
    table = ran("cohesion", *asked, "--csv").frame()
    assert table["value"].to_list() == pytest.approx(expected.to_frame()["value"].to_list(), nan_ok=True)
    assert "permuting" not in ran("cohesion", *asked).err  # no progress bar in a pipe
