"""What holds for every lens and action alike, whatever it measures: one study, given in many ways, has one result.

A lens that is added has to be added to :data:`CASES`. What is particular to a lens is tested in files of its own.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import re
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import NeedsMemoryError
from plurivox.domain import part as parts
from plurivox.engine import pool
from plurivox.infer.tables import TableResult
from plurivox.lenses import lenses
from support import some

MANY, ONE = 100, 1 << 20
"""How many ratings are in a part of a study in many parts, as large ones are, and of one in a single part."""


@dataclass(frozen=True)
class Given:
    """Ratings, and what some lenses compare them with."""

    ratings: pv.Ratings
    trained: pv.Ratings
    answers: pl.DataFrame
    predictions: pl.DataFrame

    def moved(self) -> Given:
        """Return the same in another order of rows."""
        frame, raters, items = map(mixed, tables(self.ratings))
        trained, trained_raters, _ = map(mixed, tables(self.trained))
        return Given(
            pv.Ratings.from_frame(frame, scale=self.ratings.scale, raters=raters, items=items),
            pv.Ratings.from_frame(trained, scale=self.trained.scale, raters=trained_raters),
            mixed(self.answers), mixed(self.predictions),
        )  # fmt: skip


def tables(ratings: pv.Ratings) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the ratings, raters and items of a study as they would be given."""
    return ratings.to_frame().select("item", "rater", "score"), ratings.raters, ratings.items


def mixed(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sample(fraction=1.0, shuffle=True, seed=len(frame))


@contextlib.contextmanager
def cut_into(size: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts.runs, "__defaults__", (size,))
        patch.setattr(parts.cut, "__defaults__", (size,))
        yield


@cache
def given(size: int = MANY) -> Given:
    """Return the study that all cases share; three raters are from a hamlet."""
    made = pv.simulate(
        n_items=26, n_raters=42, ratings_per_item=(8, 24), effects=[pv.Effect({"gender": "Man"}, shared_sd=1.5)], seed=7
    )
    towns = pl.Series(["Hamlet"] * 3 + ["Ash", "Birch", "Cedar"] * 13).sample(fraction=1.0, shuffle=True, seed=1)
    items = made.items.with_columns(odd=pl.Series(["odd", "even"] * 13))
    with cut_into(size):
        ratings = pv.Ratings.from_frame(
            made.ratings_frame, scale=made.scale, raters=made.raters.with_columns(town=towns), items=items
        )
        assert (len(ratings.parts()) > 3) is (size == MANY)
    return Given(ratings, some(made.trained), some(made.answers), some(made.predictions))


BY = ["gender", "town", ("gender", "town")]
FEW: dict[str, Any] = {"permutations": 8, "max_permutations": 8}
DRAWS: dict[str, Any] = {**FEW, "bootstrap": 6}
CASES: dict[str, Callable[..., Any]] = {
    "variation": lambda s, **how: pv.variation(s.ratings, BY, items_by="odd", adjust=True, pairs=True, **FEW, **how),
    "variation, drawn": lambda s, **how: pv.variation(s.ratings, BY, adjust=True, within=None, **DRAWS, **how),
    "aggregate": lambda s, **how: pv.aggregate(s.ratings, BY, **FEW, **how),
    "cohesion": lambda s, **how: pv.cohesion(s.ratings, ["gender", "town"], pairs=True, **FEW, **how),
    "cohesion, items": lambda s, **how: pv.cohesion(s.ratings, "town", resample="items", **DRAWS, **how),
    "cohesion, raters": lambda s, **how: pv.cohesion(
        s.ratings, BY, resample="raters", interval="bootstrap", **DRAWS, **how
    ),
    "cohesion, both": lambda s, **how: pv.cohesion(
        s.ratings, BY, level="interval", ties="random", resample="both", **DRAWS, **how
    ),
    "responsiveness": lambda s, **how: pv.responsiveness(
        s.ratings, s.trained, BY, items_by="odd", psychometrics=True, **FEW, **how
    ),
    "responsiveness, items": lambda s, **how: pv.responsiveness(
        s.ratings, s.trained, "town", contrast=("Ash", "Birch"), ties="random", **DRAWS, **how
    ),
    "responsiveness, crowd": lambda s, **how: pv.responsiveness(
        s.ratings, "crowd", BY, resample="raters", psychometrics=True, **DRAWS, **how
    ),
    "responsiveness, raters": lambda s, **how: pv.responsiveness(s.ratings, by="rater", **DRAWS, **how),
    "psychometrics": lambda s, **how: pv.psychometrics(s.ratings, ["town", "rater"], ties="random", **how),
    "soft_scores": lambda s, **how: pv.soft_scores(s.ratings, s.predictions, by="town", **DRAWS, **how),
    "alignment": lambda s, **how: pv.alignment(s.ratings, s.answers, BY, subsamples=8, **DRAWS, **how),
    "judge": lambda s, **how: pv.judge(s.ratings, s.answers, "town", require="omega>=0.5", **how),
    "estimate": lambda s, **how: pv.estimate(s.ratings, s.answers, BY, **how),
    "items": lambda s, **how: pv.items(s.ratings, BY, **FEW, **how),
    "item_view": lambda s, **how: pv.item_view(s.ratings, s.ratings.items["item"][3], BY, permutations=12, **how),
    "advise": lambda s, **how: pv.advise(s.ratings, s.trained, **FEW, **how),
    "curate": lambda s, **how: pv.curate(
        s.ratings, s.trained, "town", per_point=3, min_ratings=5, permutations=100, **how
    ),
    "plan": lambda s, **how: pv.plan(s.ratings, "town", simulations=3, permutations=100, **how),
    "select_raters": lambda s, **how: pv.select_raters(s.ratings, s.trained, BY, min_ratings=5, bootstrap=20, **how),
}
EACH = pytest.mark.parametrize("name", CASES)
ACTIONS = {"advise", "curate", "plan", "select_raters"}
SEEDED = [name for name in CASES if name not in ("judge", "estimate", "advise")]
"""What shows values that are drawn."""
WEIGHTED = [name for name in CASES if name not in {"psychometrics", *ACTIONS}]
PACKED = {
    "aggregate", "cohesion", "cohesion, items", "cohesion, raters", "cohesion, both", "responsiveness, items", "judge",
    "estimate", "items", "item_view",
}  # fmt: skip
"""What needs no ratings in memory."""
COUNTING = [name for name in SEEDED if name not in {"items", "responsiveness, raters", *ACTIONS}]
"""What counts the groups that it withholds, and is asked for some."""
NAMING = {"aggregate", "responsiveness, raters", "psychometrics", "advise", "select_raters", "curate"}
"""What is about raters one by one: its JSON holds their ids, and what it prints numbers them."""
QUICK = ("cohesion, items", "responsiveness, items", "alignment", "items", "plan")
"""What is tried in processes with every test."""
KEYS = ["model", "prompt", "of", "axis", "group", "subset", "bin", "method", "statistic", "other", "point"]
STANDARD = {"axis", "group", "statistic", "value", "ci_low", "ci_high", "n_raters", "n_items", "n_ratings", "note"}


@pytest.fixture(scope="module", autouse=True)
def _many_parts() -> Iterator[None]:
    with cut_into(MANY):
        yield


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Say nothing of what is left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pv.PlurivoxWarning)
        yield


@cache
def usual(name: str, size: int = MANY) -> Any:
    """Return the result of a case, made by one thread."""
    with cut_into(size):
        return CASES[name](given(size), threads=1)


def told(result: Any) -> dict[str, Any]:
    """Return all that a result says without being asked for anything particular: tables, sentences, texts."""
    found: dict[str, Any] = {"repr": repr(result)}
    for name in dir(type(result)):
        if not name.startswith("_") and name not in ("draws", "from_json"):
            value = getattr(result, name)
            with contextlib.suppress(TypeError):  # it needs to be told which group
                try:
                    found[name] = value() if callable(value) else value
                except pv.PlurivoxError as error:  # it was not requested
                    found[name] = str(error)
    return found


def test_no_lens_and_no_action_is_left_out() -> None:
    assert {lens.name for lens in lenses()} | ACTIONS == {name.partition(",")[0] for name in CASES}


@pytest.mark.parametrize("name", [name for name in CASES if name != "items"])  # which is not read back
def test_json_is_strict_and_keeps_everything(name: str) -> None:
    result = usual(name)
    text = result.to_json()
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not strict JSON"))
    again = type(result).from_json(text)
    assert again.to_json() == text
    before, after = told(result), told(again)
    assert len(before) > 5
    for what, value in before.items():
        same = after[what].equals(value) if isinstance(value, pl.DataFrame) else repr(after[what]) == repr(value)
        assert same, what
    with pytest.raises(pv.PlurivoxError, match=f"this is the JSON of a '{result.KIND}' result, not of a"):
        (pv.Plan if name != "plan" else pv.Advice).from_json(text)
    if "draws" in inspect.signature(result.to_json).parameters:
        assert json.loads(result.to_json(draws=False))["draws"] == []
    if isinstance(result, TableResult):
        with pytest.raises(pv.PlurivoxError, match="there is no table 'other'; the tables are: "):
            result.table("other")
    else:
        frame = result.to_frame()
        assert set(frame.columns) >= STANDARD
        assert not frame.select([column for column in KEYS if column in frame.columns]).is_duplicated().any()


@EACH
def test_neither_threads_nor_batches_nor_the_order_of_rows_change_a_bit(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = usual(name).to_json()
    with monkeypatch.context() as patch:
        patch.setattr(pool, "_SECONDS", 1e-9)
        assert CASES[name](given().moved(), threads=3).to_json() == text
    monkeypatch.setattr(pool, "_SECONDS", 1e9)
    monkeypatch.setattr(pool, "CELLS", 200)
    with ThreadPoolExecutor(2) as threads:
        assert CASES[name](given(), executor=threads).to_json() == text


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as made:
        yield made


@pytest.mark.parametrize("size", [MANY, ONE])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in CASES]
)
def test_processes_give_the_bits_of_threads(name: str, size: int, processes: Executor) -> None:
    with cut_into(size):
        assert CASES[name](given(size), threads=2, executor=processes).to_json() == usual(name, size).to_json()


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> pv.Ratings:
    folder = tmp_path_factory.mktemp("packed")
    for file, frame in zip(("ratings", "raters", "items"), tables(given().ratings), strict=True):
        frame.write_csv(folder / f"{file}.csv")
    beside: Any = {file: folder / f"{file}.csv" for file in ("raters", "items")}
    return pv.pack(folder / "ratings.csv", folder / "study.pvx", scale=given().ratings.scale, **beside)


@EACH
def test_a_packed_study_gives_the_bits_of_memory(name: str, packed: pv.Ratings) -> None:
    there = replace(given(), ratings=packed)
    if name not in PACKED:
        with pytest.raises(NeedsMemoryError, match=r"needs the ratings in memory: .*study\.pvx has"):
            CASES[name](there)
        return
    texts = [one.to_json() for one in (CASES[name](there), usual(name))]
    first, second = (re.sub(r'"source": ("[^"]*"|null)', "", text) for text in texts)
    assert first == second


@pytest.mark.parametrize("name", SEEDED)
def test_another_seed_draws_something_else(name: str) -> None:
    first, second = (json.loads(one.to_json()) for one in (usual(name), CASES[name](given(), seed=1)))
    assert (first.pop("settings")["seed"], second.pop("settings")["seed"]) == (0, 1)
    assert first != second


@EACH
def test_neither_small_groups_nor_raters_are_named(name: str) -> None:
    result = usual(name)
    shown = "".join([result.to_markdown(), result.to_latex(), result.to_html()])
    assert "Hamlet" not in shown + result.to_json()
    text = shown if name in NAMING else shown + result.to_json()
    assert not [rater for rater in given().ratings.raters["rater"] if rater in text]
    if name in COUNTING:
        withheld = result.settings["withheld"] if isinstance(result, TableResult) else result.withheld
        assert withheld["town"] >= 2  # the hamlet, and one from which it would follow


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_of_1_change_nothing(name: str) -> None:
    ratings = given().ratings.with_known(weights=np.ones(given().ratings.n_raters))
    plain, weighted = told(usual(name)), told(CASES[name](replace(given(), ratings=ratings), threads=1))
    compared = 0
    for table, frame in plain.items():
        if isinstance(frame, pl.DataFrame):
            for column in frame:
                if column.name != "note":
                    assert_close(column, weighted[table][column.name])
                    compared += 1
            if "unweighted" in weighted[table].columns and "value" in frame.columns:
                known = weighted[table].filter(pl.col("unweighted").is_not_null())
                assert_close(known["value"], known["unweighted"])
    assert compared > 5


def assert_close(plain: pl.Series, weighted: pl.Series) -> None:
    """Compare two columns, numbers but for rounding."""
    if plain.dtype == pl.Float64:
        np.testing.assert_allclose(plain.fill_null(-9), weighted.fill_null(-9), rtol=1e-9, atol=1e-9)
    else:
        assert plain.equals(weighted), plain.name


@pytest.mark.slow
@EACH
def test_names_of_raters_do_not_matter(name: str) -> None:
    """New names that stand in the same order, by which raters are shuffled."""
    frame, raters, items = tables(given().ratings)
    frame, raters = (one.with_columns(pl.format("other {}", "rater").alias("rater")) for one in (frame, raters))
    ratings = pv.Ratings.from_frame(frame, scale=given().ratings.scale, raters=raters, items=items)
    found = CASES[name](replace(given(), ratings=ratings), threads=1).to_json()
    assert found.replace("other rater-", "rater-") == usual(name).to_json()
