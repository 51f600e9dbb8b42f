"""Made-up ratings and predictions for the tests of soft scores, and what they look up in a result."""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.testing import assert_frame_equal

import plurivox as pv
from plurivox.base.errors import SoftScoresWarning
from plurivox.statistics.registry import LABELS

Array = NDArray[Any]
Table = Sequence[Sequence[float]] | Array

UNIFORM, MARGINAL, POSTERIOR_MEAN = REFERENCES = ("uniform", "marginal", "posterior mean")
EMPIRICAL = ("cross_entropy", "kl", "js", "emd", "rps")
EXPECTED = tuple(f"expected_{name}" for name in EMPIRICAL)
METRICS = (*EMPIRICAL, *EXPECTED)
VALUES_ONLY: dict[str, Any] = {"bootstrap": 0, "curve": False, "permutations": 0}
LEFT, MIDDLE, RIGHT = [0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]


def soft(ratings: pv.Ratings, predictions: Any, *given: Any, **options: Any) -> pv.SoftScores:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftScoresWarning)
        return pv.soft_scores(ratings, predictions, *given, **options)


def ids_of(n_items: int) -> list[str]:
    return [f"i{number:05}" for number in range(n_items)]


def ratings_of(counts: Table, scale: pv.Scale | None = None, *, totals: bool = False) -> pv.Ratings:
    """Return counts as ratings, the k-th rating of an item by rater k; an unrated item has a missing score."""
    table = np.asarray(counts, dtype=np.int64)
    scale = scale or pv.Scale.range(1, table.shape[1])
    ids, labels = ids_of(len(table)), [str(label) for label in scale.labels]
    if totals:
        frame = pl.DataFrame(table, schema=labels, orient="row")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "totals.csv"
            frame.insert_column(0, pl.Series("item", ids)).write_csv(path)
            return pv.read_ratings(path, layout="totals", scale=scale)
    rows: list[tuple[str, str, str | None]] = []
    for item, row in zip(ids, table.tolist(), strict=True):
        given = [label for label, n in zip(labels, row, strict=True) for _ in range(n)]
        rows += [(item, f"r{k}", label) for k, label in enumerate(given or [None])]
    return long_ratings(rows, scale)


def long_ratings(rows: Sequence[tuple[Any, Any, Any]], scale: pv.Scale, **tables: Any) -> pv.Ratings:
    frame = pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")
    return pv.Ratings.from_frame(frame, scale=scale, **tables)


def predictions_of(q: Mapping[str, Table], scale: pv.Scale | None = None) -> pl.DataFrame:
    """Return a row for each model and item, items as in :func:`ratings_of`."""
    frames = []
    for model, table in q.items():
        shares = np.asarray(table, dtype=float)
        labels = [str(label) for label in (scale or pv.Scale.range(1, shares.shape[1])).labels]
        frame = pl.DataFrame(shares, schema=labels, orient="row")
        frames.append(frame.select(pl.lit(model).alias("model"), pl.Series("item", ids_of(len(shares))), pl.all()))
    return pl.concat(frames)


def constant(n_items: int, **q: Sequence[float]) -> pl.DataFrame:
    """Return models that predict the same of every item."""
    return predictions_of({name: [shares] * n_items for name, shares in q.items()})


class Study(NamedTuple):
    """Counts and predictions of a few items, as numbers and as the lens takes them."""

    scale: pv.Scale
    counts: list[list[int]]
    q: dict[str, list[list[float]]]
    ratings: pv.Ratings
    predictions: pl.DataFrame


def study(seed: int, *, totals: bool = False, n_items: int | None = None, zeros: bool = True) -> Study:
    """Two to seven points at unequal distances, up to a dozen items, some unrated; two models, some sure of things."""
    rng = np.random.default_rng(seed)
    n_points = int(rng.integers(2, 8))
    scale = pv.Scale(sorted(rng.choice(30, n_points, replace=False).tolist()))
    n_items = n_items or int(rng.integers(1, 13))
    most = rng.choice([0, 1, 2, 3, 4, 6, 9, 14], n_items)
    most[rng.integers(n_items)] += 1  # somebody rated something
    shares = rng.dirichlet(np.ones(n_points), n_items)
    counts = [rng.multinomial(n, p).tolist() for n, p in zip(most, shares, strict=True)]
    q = {}
    for model in ("m", "n"):
        weights = rng.dirichlet(np.full(n_points, 2.0), n_items)
        if zeros:
            weights *= rng.random(weights.shape) > 0.15
            weights[weights.sum(axis=1) == 0, 0] = 1.0
        q[model] = (weights / weights.sum(axis=1, keepdims=True)).tolist()
    return Study(scale, counts, q, ratings_of(counts, scale, totals=totals), predictions_of(q, scale))


def truthful(seed: int, n_items: int, n_ratings: int = 3, n_points: int = 5) -> tuple[pv.Ratings, Array]:
    """Return ratings that are drawn from a distribution of each item, and these."""
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.full(n_points, 1.5), n_items)
    return ratings_of(np.array([rng.multinomial(n_ratings, p) for p in q])), q


def in_bin(n: int, name: str) -> bool:
    if name == "all":
        return True
    if name.endswith("+"):
        return n >= int(name[:-1])
    low, _, high = name.partition("-")
    return int(low) <= n <= int(high or low)


def mean_of(numbers: Sequence[float]) -> float:
    known = [number for number in numbers if not math.isnan(number)]
    return math.inf if math.inf in known else math.fsum(known) / len(known) if known else math.nan


def with_numbers(numbers: Sequence[int]) -> tuple[pv.Ratings, pl.DataFrame]:
    return ratings_of([[n // 2, n - n // 2] for n in numbers]), constant(len(numbers), m=[0.4, 0.6])


def tables_of(found: pv.SoftScores) -> list[pl.DataFrame]:
    names = (
        "to_frame", "comparisons", "interactions", "sensitivity", "calibration", "pit", "reliability", "prior_weight",
        "missing",
    )  # fmt: skip
    return [getattr(found, name)() for name in names]


def assert_same(found: pv.SoftScores, other: pv.SoftScores) -> None:
    for one, two in zip(tables_of(found), tables_of(other), strict=True):
        assert_frame_equal(one, two, check_exact=True)
    for mine, theirs in zip(found.draws, other.draws, strict=True):
        assert np.array_equal(mine.bootstrap, theirs.bootstrap, equal_nan=True)
    assert found.findings() == other.findings()


def pair_of(found: pv.SoftScores, metric: str, model: str, other: str, bin_: str = "all") -> dict[str, Any]:
    return found.comparisons().row(
        by_predicate=(pl.col("bin") == bin_) & (pl.col("statistic") == metric) & (pl.col("model") == model)
        & (pl.col("other") == other), named=True,
    )  # fmt: skip


SHARES = {"x": [0.7, 0.2, 0.1], "y": [0.1, 0.2, 0.7], "z": [0.3, 0.4, 0.3]}


def grouped(seed: int, *, n_items: int = 20, share: float = 1.0, sizes: Sequence[int] = (6, 7, 5)) -> pv.Ratings:
    """Raters of the groups x, y and z, who see things differently, and one of no group."""
    rng = np.random.default_rng(seed)
    groups = [group for group, size in zip("xyz", sizes, strict=True) for _ in range(size)]
    names = [f"person-{r:03}" for r in range(len(groups) + 1)]
    rows = [
        (item, name, int(rng.choice(3, p=SHARES.get(group, SHARES["z"]))) + 1)
        for item in ids_of(n_items)
        for name, group in zip(names, [*groups, "none"], strict=True)
        if rng.random() < share
    ]
    both = ["p" if r % 2 else "p; q" for r in range(len(groups))]
    raters = pl.DataFrame({"rater": names, "g": [*groups, None], "several": [*both, "q"]})
    return long_ratings(rows, pv.Scale.range(1, 3), raters=raters)


GROUP_MODELS = constant(20, a=LEFT, b=RIGHT)


def words(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def labels(metrics: Sequence[str]) -> str:
    return "every metric" if len(metrics) == 10 else words([LABELS[metric] for metric in metrics])


def about(found: pv.SoftScores, *pieces: str) -> list[str]:
    return [text for text in found.findings() if any(piece in text for piece in pieces)]
