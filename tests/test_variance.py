"""Components of variance: textbook tables, expected mean squares, other packages, known truth, and real data."""

from __future__ import annotations

import math
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import plurivox as pv
import reference as twin
from plurivox.statistics.variance import (
    NESTED,
    Classes,
    Nested,
    components,
    nested_components,
    raters_needed,
    reliability,
    shares,
)  # fmt: skip

Floats = NDArray[np.float64]
FEW: dict[str, Any] = {"permutations": 0, "interval": "none", "min_group_size": 1}

# Synthetic data sets of Brennan (2001), Generalizability theory. His persons, who are told apart, are our items; his
# items or raters, over whom scores are averaged, are our raters; tasks in which raters are nested are our groups.
ONE = [
    "101000000000", "111001000000", "111110000000", "110110010000", "111110100000", "111011100000", "111111100000",
    "111101111100", "111111111110", "111111111111",
]  # fmt: skip
"""No. 1: ten persons × twelve items."""
FOUR = [
    "5937937594", "6345243894", "5735937584", "5733757783", "5753737763", "3531735565", "4534365566", "5553737455",
    "6765245355", "7753755287", "3513515111", "3265324111",
]  # fmt: skip
"""No. 4: twelve raters, four of each of three tasks, × ten persons."""
UNEVEN = ["42213130", "51433251", "32456561", "33747682", "51655460", "44557474", "54848577", "76759688"]
"""The unbalanced one of p × (i:h): two, four and two items of three categories × eight persons."""


def study(rows: list[tuple[Any, Any, int]], groups: dict[Any, str], lowest: int = 0, highest: int = 9) -> pv.Ratings:
    frame = pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")
    raters = pl.DataFrame({"rater": list(groups), "g": list(groups.values())})
    return pv.Ratings.from_frame(frame, scale=pv.Scale.range(lowest, highest), raters=raters)


def of_axis(found: pv.Variation, axis: str) -> dict[str, float]:
    return dict(found.components().filter(pl.col("axis") == axis).select("component", "variance").rows())


def one(keep: Any = lambda person, item: True) -> pv.Ratings:
    rows = [(p, i, int(ONE[p][i])) for p in range(10) for i in range(12) if keep(p, i)]
    return study(rows, {i: "xy"[i % 2] for i in range(12)})


def four(keep: Any = lambda person, rater: True) -> pv.Ratings:
    rows = [(p, r, int(FOUR[r][p])) for p in range(10) for r in range(12) if keep(p, r)]
    return study(rows, {r: "abc"[r // 4] for r in sorted({row[1] for row in rows})})


# Textbooks ------------------------------------------------------------------------------------------------------------
def test_brennan_p_by_i() -> None:
    """Table 2.2: σ²(p) = .0574, σ²(i) = .0754, σ²(pi) = .1269; Eρ² = .844 and Φ = .773 for twelve items."""
    found = pv.variation(one(), **FEW)
    assert of_axis(found, "all") == pytest.approx({"item": 0.0574, "rater": 0.0754, "rest": 0.1269}, abs=5e-5)
    row = found.reliability().filter(pl.col("k") == 12).row(0, named=True)
    assert (row["relative"], row["absolute"]) == pytest.approx((0.844, 0.773), abs=5e-4)


def test_brennan_p_by_r_in_t() -> None:
    """Table 3.2: the components of persons, tasks, raters within tasks, persons × tasks, and the rest."""
    expected = {"item": 0.4731, "group": 0.3252, "rater": 0.6475, "group_item": 0.5596, "rest": 2.3802}
    assert of_axis(pv.variation(four(), "g", **FEW), "g") == pytest.approx(expected, abs=5e-5)


def test_brennan_unbalanced_p_by_i_in_h() -> None:
    """Chapter 7, groups of two, four and two: the analogous-ANOVA estimates, which are Henderson's first method.

    The book computes from rounded numbers, so that the last digit may be off by one.
    """
    rows = [(p, i, int(UNEVEN[i][p])) for p in range(8) for i in range(8)]
    ratings = study(rows, {i: "aabbbbcc"[i] for i in range(8)})
    expected = {"item": 1.2014, "group": 2.9161, "rater": 0.2946, "group_item": 0.9913, "rest": 0.8429}
    assert of_axis(pv.variation(ratings, "g", **FEW), "g") == pytest.approx(expected, abs=1.5e-4)


def test_missing_ratings_against_generalizit() -> None:
    """GeneralizIT 0.1.2 on the tables above with gaps, in an environment of its own, since it needs pandas.

    A rating of person p by i is missing where (p + 3·i) % 5 == 0, and rater 11 of No. 4 wholly;
    ``GeneralizIT(frame, "person x item", "Response").calculate_anova()`` and ``"person x (r:t)"``, whose figures have
    four digits.
    """
    crossed = of_axis(pv.variation(one(lambda p, i: (p + 3 * i) % 5), **FEW), "all")
    assert crossed == pytest.approx({"item": 0.0549, "rater": 0.0618, "rest": 0.1416}, abs=1e-4)
    nested = of_axis(pv.variation(four(lambda p, r: (p + 3 * r) % 5 and r != 11), "g", **FEW), "g")
    expected = {"item": 0.3766, "group": 0.0004, "rater": 0.5565, "group_item": 0.5414, "rest": 2.4148}
    assert nested == pytest.approx(expected, abs=1e-4)


# Expected mean squares ------------------------------------------------------------------------------------------------
def mean_squares(table: Floats) -> dict[str, float]:
    """Return the components of items × groups × raters of a group, all rated, from mean squares by hand."""
    n_i, n_g, n_r = table.shape
    mean, item, group = table.mean(), table.mean(axis=(1, 2)), table.mean(axis=(0, 2))
    rater, cell = table.mean(axis=0), table.mean(axis=2)
    ms_item = n_g * n_r * ((item - mean) ** 2).sum() / (n_i - 1)
    ms_group = n_i * n_r * ((group - mean) ** 2).sum() / (n_g - 1)
    ms_rater = n_i * ((rater - group[:, None]) ** 2).sum() / (n_g * (n_r - 1))
    ms_cell = n_r * ((cell - item[:, None] - group + mean) ** 2).sum() / ((n_i - 1) * (n_g - 1))
    left = table - cell[:, :, None] - rater + group[:, None]
    rest = (left**2).sum() / (n_g * (n_i - 1) * (n_r - 1))
    return {
        "item": (ms_item - ms_cell) / (n_g * n_r), "group": (ms_group - ms_rater - ms_cell + rest) / (n_i * n_r),
        "rater": (ms_rater - rest) / n_i, "group_item": (ms_cell - rest) / n_r, "rest": rest,
    }  # fmt: skip


def crossed_anova(table: Floats) -> dict[str, float]:
    """Return the components of items × raters, all rated, from mean squares by hand."""
    n_i, n_r = table.shape
    item, rater = table.mean(axis=1), table.mean(axis=0)
    ms_item = n_r * item.var(ddof=1)
    ms_rater = n_i * rater.var(ddof=1)
    rest = ((table - item[:, None] - rater + table.mean()) ** 2).sum() / ((n_i - 1) * (n_r - 1))
    return {"item": (ms_item - rest) / n_r, "rater": (ms_rater - rest) / n_i, "rest": rest}


def drawn(seed: int, n_i: int, n_g: int, n_r: int, sds: tuple[float, ...] = (8, 5, 4, 3, 6)) -> Floats:
    """Return whole numbers of 0 to 100, items × groups × raters, with every component in them."""
    rng = np.random.default_rng(seed)
    sizes = ((n_i, 1, 1), (1, n_g, 1), (1, n_g, n_r), (n_i, n_g, 1), (n_i, n_g, n_r))
    table = 50 + sum(sd * rng.normal(size=size) for sd, size in zip(sds, sizes, strict=True))
    return np.asarray(np.clip(np.round(table), 0, 100))


def rated(table: Floats, keep: NDArray[np.bool_] | None = None) -> pv.Ratings:
    """Return the ratings of a table of items × groups × raters, or of those kept."""
    _, n_g, n_r = table.shape
    chosen = np.ones(table.shape, bool) if keep is None else keep
    rows = [(i, g * n_r + r, int(table[i, g, r])) for i, g, r in np.argwhere(chosen).tolist()]
    return study(rows, {g * n_r + r: f"g{g:02}" for g in range(n_g) for r in range(n_r)}, 0, 100)


@pytest.mark.parametrize(("n_i", "n_g", "n_r"), [(12, 3, 5), (5, 2, 2), (30, 6, 4)])
def test_balanced_data_against_expected_mean_squares(n_i: int, n_g: int, n_r: int) -> None:
    table = drawn(n_i, n_i, n_g, n_r)
    found = pv.variation(rated(table), "g", **FEW)
    assert of_axis(found, "g") == pytest.approx(mean_squares(table), rel=1e-9, abs=1e-9)
    assert of_axis(found, "all") == pytest.approx(crossed_anova(table.reshape(n_i, -1)), rel=1e-9, abs=1e-9)


def test_negative_estimates_are_shown_and_count_as_zero() -> None:
    table = drawn(3, 12, 3, 6, (8, 0, 4, 0, 6))
    expected = mean_squares(table)
    assert min(expected["group"], expected["group_item"]) < 0
    frame = pv.variation(rated(table), "g", **FEW).components().filter(pl.col("axis") == "g")
    assert dict(frame.select("component", "variance").rows()) == pytest.approx(expected, rel=1e-9)
    whole = sum(max(value, 0.0) for value in expected.values())
    for row in frame.iter_rows(named=True):
        assert row["share"] == pytest.approx(max(expected[row["component"]], 0.0) / whole)
        assert ("negative" in row["note"]) == (expected[row["component"]] < 0)
    assert shares(np.array([2.0, -1.0, 2.0])).tolist() == [0.5, -0.25, 0.5]


def test_unbalanced_data_against_matrices() -> None:
    """Any gaps: quadratic forms and their expectations by matrices of who is in which class."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        table = drawn(seed, 9, 3, 4)
        ratings = rated(table, rng.random(table.shape) < rng.uniform(0.3, 0.9))
        rows = [(item, rater, float(score)) for item, rater, score in
                ratings.to_frame().select("item", "rater", "score").rows()]  # fmt: skip
        found = pv.variation(ratings, "g", **FEW)
        group = dict(ratings.raters.rows())
        assert of_axis(found, "g") == pytest.approx(twin.henderson(rows, group), rel=1e-7, abs=1e-7)
        assert of_axis(found, "all") == pytest.approx(twin.henderson(rows), rel=1e-7, abs=1e-7)


# Known truth ----------------------------------------------------------------------------------------------------------
TRUE = np.array([1.0, 0.3, 0.5, 0.4, 1.5])


def _classes(x: Floats, *places: NDArray[np.int64]) -> tuple[Classes, Floats, NDArray[Any]]:
    """Return the sums over classes, and of each class how many ratings it has and where the first is."""
    code = np.unique(np.stack(places), axis=1, return_inverse=True)[1].ravel()
    n, total = np.bincount(code).astype(float), np.bincount(code, weights=x)
    first = np.unique(code, return_index=True)[1]
    return Classes(np.array(float(len(n))), np.array((total**2 / n).sum()), np.array((n**2).sum())), n, first


def estimated(x: Floats, item: NDArray[np.int64], rater: NDArray[np.int64], group: NDArray[np.int64]) -> Floats:
    """Return the components of ratings from plain sums."""
    items, n_item, _ = _classes(x, item)
    raters, n_rater, first_rater = _classes(x, rater)
    groups, n_group, _ = _classes(x, group)
    cells, n_cell, first = _classes(x, item, group)
    nested = Nested(
        groups, cells, np.array((n_cell**2 / n_group[group[first]]).sum()),
        np.array((n_rater**2 / n_group[group[first_rater]]).sum()),
        np.array((n_cell**2 / n_item[item[first]]).sum()),
    )  # fmt: skip
    n, total, squares = np.array(float(len(x))), np.array(x.sum()), np.array((x**2).sum())
    return nested_components(n, total, squares, items, raters, nested)


def normal(sd: Floats, item: Any, rater: Any, group: Any, rng: np.random.Generator) -> Floats:
    """Return scores with components of these standard deviations."""
    n_items, n_groups = item.max() + 1, group.max() + 1
    x = 2 + sd[0] * rng.normal(size=n_items)[item] + sd[1] * rng.normal(size=n_groups)[group]
    x = x + sd[2] * rng.normal(size=rater.max() + 1)[rater] + sd[3] * rng.normal(size=(n_items, n_groups))[item, group]
    scores: Floats = x + sd[4] * rng.normal(size=len(item))
    return scores


@pytest.mark.slow
@pytest.mark.parametrize("design", ["sparse", "uneven groups", "few hard workers"])
def test_estimates_are_unbiased(design: str) -> None:
    """The mean over studies of fixed unbalanced designs lies within 3.5 of its standard errors of the truth."""
    rng = np.random.default_rng(1)
    sizes = {"sparse": [8] * 6, "uneven groups": [3, 5, 9, 20, 2, 7], "few hard workers": [10, 14, 6, 9]}[design]
    group_of = np.repeat(np.arange(len(sizes)), sizes)
    n_raters, n_items = len(group_of), 25
    share = np.full(n_raters, 0.25)
    if design == "few hard workers":
        share = np.minimum(1.0, 3.0 / rng.permutation(np.arange(1, n_raters + 1)))
    kept = rng.random((n_items, n_raters)) < share
    kept[0], kept[:, 0] = True, True
    item, rater = np.nonzero(kept)
    group = group_of[rater]
    each = [estimated(normal(np.sqrt(TRUE), item, rater, group, rng), item, rater, group) for _ in range(1500)]
    values = np.array(each)
    error = values.std(axis=0, ddof=1) / math.sqrt(len(values))
    assert np.all(np.abs(values.mean(axis=0) - TRUE) < 3.5 * error), dict(zip(NESTED, values.mean(axis=0), strict=True))
    assert np.all(error < 0.05 * TRUE.sum())  # so that the first line says something


# lme4 -----------------------------------------------------------------------------------------------------------------
FIT = """
suppressMessages(library(lme4))
d <- read.csv("ratings.csv", colClasses = c(item = "factor", rater = "factor", g = "factor"))
m <- lmer(score ~ 1 + (1 | item) + (1 | rater) + (1 | g) + (1 | g:item), data = d, REML = TRUE, control = lmerControl(
  optimizer = "bobyqa", optCtrl = list(rhobeg = 0.2, rhoend = 1e-10, maxfun = 100000), calc.derivs = FALSE))
v <- as.data.frame(VarCorr(m))
cat(sprintf("%s %.12g\\n", v$grp, v$vcov), sep = "")
"""


@cache
def _no_lme4() -> str:
    program = shutil.which("Rscript")
    if program is None:
        return "Rscript is not installed (Debian: r-cran-lme4)"
    done = subprocess.run([program, "-e", "library(lme4)"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else "R has no package lme4 (Debian: r-cran-lme4)"


def by_lme4(ratings: pv.Ratings, folder: Path) -> dict[str, float]:
    """Return the components by restricted maximum likelihood."""
    if why := _no_lme4():
        pytest.skip(why)
    rows = ratings.to_frame().select("item", "rater", "score").join(ratings.raters, on="rater")
    rows.write_csv(folder / "ratings.csv")
    (folder / "fit.R").write_text(FIT)
    done = subprocess.run(["Rscript", "fit.R"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    values = dict(line.split() for line in done.stdout.splitlines())
    names = {"item": "item", "g": "group", "rater": "rater", "g:item": "group_item", "Residual": "rest"}
    return {name: float(values[own]) for own, name in names.items()}


@pytest.mark.slow
def test_balanced_data_against_lme4(tmp_path: Path) -> None:
    """All rated, groups of equal size, no estimate negative: restricted maximum likelihood solves the same."""
    table = drawn(5, 20, 6, 5)
    found = of_axis(pv.variation(rated(table), "g", **FEW), "g")
    assert min(found.values()) > 0
    assert found == pytest.approx(by_lme4(rated(table), tmp_path), rel=1e-6)


@pytest.mark.slow
def test_unbalanced_data_against_lme4(tmp_path: Path) -> None:
    """Two thirds missing: the two differ by less than twice the standard error of Henderson's estimate.

    Restricted maximum likelihood is efficient. So the difference to it varies less than Henderson's estimate does
    (Hausman 1978): Var(difference) = Var(Henderson) − Var(likelihood). The standard error is found by drawing studies
    of this design from the components that lme4 found.
    """
    rng = np.random.default_rng(2)
    table = drawn(6, 40, 8, 6)
    kept = rng.random(table.shape) < 1 / 3
    ratings = rated(table, kept)
    found, theirs = of_axis(pv.variation(ratings, "g", **FEW), "g"), by_lme4(ratings, tmp_path)
    item, group, rater = np.nonzero(kept)
    rater = group * 6 + rater
    sd = np.sqrt([theirs[name] for name in NESTED])
    again = [estimated(normal(sd, item, rater, group, rng), item, rater, group) for _ in range(200)]
    error = dict(zip(NESTED, np.std(again, axis=0), strict=True))
    for name in NESTED:
        assert abs(found[name] - theirs[name]) < 2 * error[name], (name, found, theirs)
        assert error[name] < 0.5 * theirs[name] or name in (
            "group",
            "group_item",
        )  # so that the line above says something


# Reliability ----------------------------------------------------------------------------------------------------------
def test_reliability_and_raters_needed_by_hand() -> None:
    table = drawn(7, 15, 3, 4)
    found = pv.variation(rated(table), "g", target=0.9, **FEW)
    own = {name: max(value, 0.0) for name, value in mean_squares(table).items()}
    errors = {"relative": own["rest"] + own["group_item"]}
    errors["absolute"] = errors["relative"] + own["rater"] + own["group"]
    curve = found.reliability().filter((pl.col("axis") == "g") & (pl.col("group") == "all"))
    needed = found.needed().filter((pl.col("axis") == "g") & (pl.col("group") == "all")).row(0, named=True)
    for name, error in errors.items():
        for k, value in curve.select("k", name).rows():
            assert value == pytest.approx(own["item"] / (own["item"] + error / k), rel=1e-9)
        least = next(k for k in range(1, 10_000) if own["item"] / (own["item"] + error / k) >= 0.9)
        assert needed[name] == least
    assert curve["ceiling"].to_list() == pytest.approx(np.sqrt(curve["relative"].to_numpy()).tolist())  # crossed
    first = curve["relative"][0]
    for k, value in curve.select("k", "relative").rows():
        assert value == pytest.approx(k * first / (1 + (k - 1) * first), rel=1e-12)  # Spearman and Brown


def test_the_reliability_of_a_group_is_cronbachs_alpha_of_its_raters() -> None:
    """All rated, the relative reliability of a mean of all k raters of a group is α of its table."""
    table = drawn(8, 25, 3, 4)
    found = pv.variation(rated(table), "g", **FEW).reliability().filter((pl.col("k") == 4) & (pl.col("axis") == "g"))
    for g in range(3):
        own = table[:, g]
        alpha = 4 / 3 * (1 - own.var(axis=0, ddof=1).sum() / own.sum(axis=1).var(ddof=1))
        assert found.filter(pl.col("group") == f"g{g:02}")["relative"][0] == pytest.approx(alpha, rel=1e-9)
    rng = np.random.default_rng(4)  # of sparse data the ceiling is that of absolute reliability
    table = drawn(9, 30, 3, 6)
    found = pv.variation(rated(table, rng.random(table.shape) < 0.4), "g", **FEW).reliability()
    assert found["ceiling"].to_list() == pytest.approx(np.sqrt(found["absolute"].to_numpy()).tolist(), nan_ok=True)


def test_no_model_exceeds_the_ceiling() -> None:
    """Correlations of the truth itself with means of k raters, in a large simulated study."""
    rng = np.random.default_rng(5)
    truth, lenient = rng.normal(size=20_000), 0.8 * rng.normal(size=7)
    noise = 1.3 * rng.normal(size=(20_000, 7))
    fresh = 0.8 * rng.normal(size=(20_000, 7))
    for leniency, error in ((lenient, 1.3**2), (fresh, 1.3**2 + 0.8**2)):
        ceiling = math.sqrt(float(reliability(1.0, error, 7)))
        found = np.corrcoef(truth, (truth[:, None] + leniency + noise).mean(axis=1))[0, 1]
        assert found == pytest.approx(ceiling, abs=0.01)


@pytest.mark.parametrize(("item", "error", "k", "value", "needed"), [
    (1.0, 2.0, 8, 0.8, 8), (3.0, 1.0, 1, 0.75, 2), (0.0, 1.0, 3, math.nan, math.nan),
    (-1.0, 1.0, 3, math.nan, math.nan), (2.0, 0.0, 1, 1.0, 1), (2.0, -1.0, 1, 1.0, 1), (1.0, 100.0, 100, 0.5, 400),
])  # fmt: skip
def test_reliability_at_its_edges(item: float, error: float, k: int, value: float, needed: float) -> None:
    assert float(reliability(item, error, k)) == pytest.approx(value, nan_ok=True)
    assert float(raters_needed(item, error, 0.8)) == pytest.approx(needed, nan_ok=True)


def test_what_the_design_leaves_open_is_undefined() -> None:
    """Every rater rated one item: raters and the rest cannot be told apart."""
    number = np.array
    found = components(
        number(4.0), number(10.0), number(30.0), Classes(number(2.0), number(26.0), number(8.0)),
        Classes(number(4.0), number(30.0), number(4.0)),
    )  # fmt: skip
    assert np.isnan(found).all()


# Faces ----------------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def faces(real_data: Path) -> tuple[pv.Ratings, pl.DataFrame]:
    path = real_data / "faceratings" / "faceratings.parquet"
    attributes = ["rater_sex", "rater_sexpref"]
    return pv.read_ratings(path, item="face_id", scale="1:7", rater_attributes=attributes), pl.read_parquet(path)


def test_faces_against_least_squares_and_mean_squares(faces: tuple[pv.Ratings, pl.DataFrame]) -> None:
    """2,513 raters × 102 faces, crossed: item effects are taken off by item means, the rest is least squares."""
    ratings, frame = faces
    found = pv.variation(ratings, ["rater_sex", "rater_sexpref"], adjust=True, reference={"rater_sex": "female"},
                         permutations=0, interval="none", min_group_size=1)  # fmt: skip
    table = frame.pivot("rater_id", index="face_id", values="rating").drop("face_id").to_numpy()
    assert of_axis(found, "all") == pytest.approx(crossed_anova(table), rel=1e-9)

    def fitted(rows: pl.DataFrame, columns: list[tuple[str, str]]) -> Floats:
        within = rows.select(
            *((pl.col(name) == group).cast(float).alias(f"{name} {group}") for name, group in columns), "rating",
            "face_id",
        )  # fmt: skip
        array = within.select(pl.exclude("face_id") - pl.exclude("face_id").mean().over("face_id")).to_numpy()
        solution: Floats = np.linalg.lstsq(array[:, :-1], array[:, -1], rcond=None)[0]
        return solution

    known = frame.filter(pl.col("rater_sex").is_not_null())
    for group in ("female", "male", "intersex"):
        expected = fitted(known, [("rater_sex", group)])[0]
        assert found.value("rater_sex", group, "leniency") == pytest.approx(expected, abs=1e-10)
    both = known.filter(pl.col("rater_sexpref").is_not_null())
    adjusted = {(row["attribute"], row["group"]): row for row in found.adjusted().iter_rows(named=True)}
    free = [at for at, row in adjusted.items() if row["group"] != row["reference"]]
    for at, expected in zip(free, fitted(both, free), strict=True):
        assert adjusted[at]["effect"] == pytest.approx(expected, abs=1e-9)
