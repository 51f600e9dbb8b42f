"""What holds for every lens and action alike, whatever it measures: one study, many ways to give it, the same result.

A lens that is added has to be added to :data:`CASES`. What is particular to a lens is tested in files of its own.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
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
from plurivox.lenses import lenses


@dataclass(frozen=True)
class Given:
    """Ratings in many parts, and what some lenses compare them with; three raters are from a hamlet."""

    ratings: pv.Ratings
    trained: pv.Ratings
    answers: pl.DataFrame
    predictions: pl.DataFrame

    def moved(self) -> Given:
        """Return the same in another order of rows."""
        frame, raters, items = (mixed(each) for each in tables(self.ratings))
        trained = pv.Ratings.from_frame(
            mixed(self.trained.to_frame().select("item", "rater", "score")), scale=self.trained.scale,
            raters=mixed(self.trained.raters.drop("n_ratings", strict=False)),
        )  # fmt: skip
        ratings = pv.Ratings.from_frame(frame, scale=self.ratings.scale, raters=raters, items=items)
        return Given(ratings, trained, mixed(self.answers), mixed(self.predictions))

    def weighted(self, weights: float) -> Given:
        """Return the same with raters who all have one weight."""
        return replace(self, ratings=self.ratings.with_known(weights=np.full(self.ratings.n_raters, weights)))


def tables(ratings: pv.Ratings) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the ratings, raters and items of a study as they would be given."""
    return ratings.to_frame().select("item", "rater", "score"), ratings.raters, ratings.items


def mixed(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sample(fraction=1.0, shuffle=True, seed=len(frame))


@cache
def given() -> Given:
    made = pv.simulate(
        n_items=40, n_raters=42, ratings_per_item=(8, 24), effects=[pv.Effect({"gender": "Man"}, shared_sd=1.5)], seed=7
    )
    towns = ["Hamlet"] * 3 + [["Ash", "Birch", "Cedar"][at % 3] for at in range(39)]
    raters = made.raters.with_columns(town=pl.Series(towns).sample(fraction=1.0, shuffle=True, seed=1))
    ratings = pv.Ratings.from_frame(
        made.ratings_frame, scale=made.scale, raters=raters, items=made.items.with_columns(odd=pl.Series(["odd", "even"] * 20))
    )  # fmt: skip
    assert made.trained is not None
    assert made.answers is not None
    assert made.predictions is not None
    return Given(ratings, made.trained, made.answers, made.predictions)


BY = ["gender", "town", ("gender", "town")]
FEW: dict[str, Any] = {"permutations": 12, "max_permutations": 12}
DRAWS: dict[str, Any] = {**FEW, "bootstrap": 10}
CASES: dict[str, Callable[..., Any]] = {
    "variation": lambda s, **how: pv.variation(
        s.ratings, BY, items_by="odd", adjust=True, pairs=True, **{**FEW, **how}
    ),
    "variation, drawn": lambda s, **how: pv.variation(s.ratings, BY, adjust=True, within=None, **{**DRAWS, **how}),
    "aggregate": lambda s, **how: pv.aggregate(s.ratings, BY, **{**FEW, **how}),
    "cohesion": lambda s, **how: pv.cohesion(s.ratings, BY, pairs=True, **{**FEW, **how}),
    "cohesion, items": lambda s, **how: pv.cohesion(s.ratings, "town", resample="items", **{**DRAWS, **how}),
    "cohesion, raters": lambda s, **how: pv.cohesion(
        s.ratings, BY, resample="raters", interval="bootstrap", **{**DRAWS, **how}
    ),
    "cohesion, both, interval, tied at random": lambda s, **how: pv.cohesion(
        s.ratings, BY, level="interval", ties="random", resample="both", **{**DRAWS, **how}
    ),
    "responsiveness": lambda s, **how: pv.responsiveness(
        s.ratings, s.trained, BY, items_by="odd", psychometrics=True, **{**FEW, **how}
    ),
    "responsiveness, items": lambda s, **how: pv.responsiveness(
        s.ratings, s.trained, "town", contrast=("Ash", "Birch"), ties="random", **{**DRAWS, **how}
    ),
    "responsiveness, crowd": lambda s, **how: pv.responsiveness(
        s.ratings, "crowd", BY, resample="raters", **{**DRAWS, **how}
    ),
    "responsiveness, each rater": lambda s, **how: pv.responsiveness(s.ratings, by="rater", **{**DRAWS, **how}),
    "psychometrics": lambda s, **how: pv.psychometrics(s.ratings, ["town", "rater"], ties="random", **how),
    "soft_scores": lambda s, **how: pv.soft_scores(s.ratings, s.predictions, by="town", **{**DRAWS, **how}),
    "alignment": lambda s, **how: pv.alignment(s.ratings, s.answers, BY, subsamples=8, **{**DRAWS, **how}),
    "judge": lambda s, **how: pv.judge(s.ratings, s.answers, BY, require="omega>=0.5", **how),
    "estimate": lambda s, **how: pv.estimate(s.ratings, s.answers, BY, **how),
    "items": lambda s, **how: pv.items(s.ratings, BY, **{**FEW, **how}),
    "item_view": lambda s, **how: pv.item_view(s.ratings, s.ratings.items["item"][3], BY, **{**FEW, **how}),
    "advise": lambda s, **how: pv.advise(s.ratings, s.trained, "rater", **{**FEW, **how}),
    "curate": lambda s, **how: pv.curate(
        s.ratings, s.trained, "town", per_point=3, min_ratings=5, **{"permutations": 99, **how}
    ),
    "plan": lambda s, **how: pv.plan(s.ratings, "town", simulations=3, **{"permutations": 99, **how}),
    "select_raters": lambda s, **how: pv.select_raters(
        s.ratings, s.trained, BY, min_ratings=5, min_group_size=4, **{"bootstrap": 20, **how}
    ),
}
ACTIONS = {"advise", "curate", "plan", "select_raters"}
EACH = pytest.mark.parametrize("name", CASES)
UNDRAWN = {"judge", "estimate"}
"""Lenses without any chance: no seed."""
UNWEIGHTED = {"psychometrics", *ACTIONS}
"""What says that it does not know weights, or has no values to compare."""
IN_MEMORY = {"responsiveness, crowd", "responsiveness, each rater", "psychometrics", "select_raters", "curate"}
"""What refuses a packed study."""
SLOW_IN_PROCESSES = {
    name for name in CASES if name not in ("cohesion, items", "responsiveness, items", "alignment", "items")
}


@pytest.fixture(scope="module", autouse=True)
def _many_parts() -> Iterator[None]:
    """Cut studies into many parts, as large ones are, and say nothing of what is left out."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", pv.PlurivoxWarning)
        patch.setattr(parts.runs, "__defaults__", (60,))
        patch.setattr(parts.cut, "__defaults__", (60,))
        assert len(given().ratings.parts()) > 5
        yield


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pv.PlurivoxWarning)
        yield


@cache
def usual(name: str) -> Any:
    """Return the result of a case, made by one thread."""
    return CASES[name](given(), threads=1)


def told(result: Any) -> dict[str, Any]:
    """Return all that a result says without being asked for anything particular: tables, sentences, texts."""
    methods = ["repr", *(name for name in dir(type(result)) if not name.startswith("_") and name != "from_json")]
    found: dict[str, Any] = {}
    for name in methods:
        value = repr(result) if name == "repr" else getattr(result, name)
        if callable(value):
            try:
                value = value()
            except TypeError:  # it needs to be told which group
                continue
        found[name] = value
    return found


def alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return what differs."""
    same = {
        name: other[name].equals(value) if isinstance(value, pl.DataFrame) else repr(other[name]) == repr(value)
        for name, value in one.items()
    }
    return [name for name, is_same in same.items() if not is_same]


def source_apart(text: str) -> str:
    """Return the JSON of a result without the file that its ratings were read from."""
    return re.sub(r'"[^"]*(ratings\.csv|study\.pvx)"', '"source"', text)


def test_no_lens_and_no_action_is_left_out() -> None:
    assert {lens.name for lens in lenses()} | ACTIONS == {name.partition(",")[0] for name in CASES}


@EACH
def test_json_is_strict_and_keeps_everything(name: str) -> None:
    result = usual(name)
    if name == "items":
        pytest.skip("the list of items is written, and is not read back")
    text = result.to_json()
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not strict JSON"))
    again = type(result).from_json(text)
    assert again.to_json() == text
    before = told(result)
    assert len(before) > 5
    assert alike(before, told(again)) == []
    other = pv.Advice if name != "advise" else pv.Plan
    with pytest.raises(pv.PlurivoxError, match=f"this is the JSON of a '{result.KIND}' result, not of a"):
        other.from_json(text)


@EACH
def test_neither_threads_nor_batches_nor_the_order_of_rows_change_a_bit(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = usual(name).to_json()
    assert CASES[name](given(), threads=3).to_json() == text
    with ThreadPoolExecutor(2) as threads:
        assert CASES[name](given(), executor=threads).to_json() == text
    monkeypatch.setattr(pool, "_SECONDS", 1e-9)
    assert CASES[name](given().moved(), threads=2).to_json() == text


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as made:
        yield made


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW_IN_PROCESSES else []) for name in CASES]
)
def test_processes_give_the_bits_of_threads(name: str, processes: Executor) -> None:
    assert CASES[name](given(), threads=2, executor=processes).to_json() == usual(name).to_json()


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
    if name in IN_MEMORY:
        with pytest.raises(NeedsMemoryError, match=r"needs the ratings in memory: .*study\.pvx has"):
            CASES[name](there)
    else:
        assert source_apart(CASES[name](there).to_json()) == source_apart(usual(name).to_json())


@EACH
def test_another_seed_draws_something_else(name: str) -> None:
    if name.partition(",")[0] in UNDRAWN:
        with pytest.raises(TypeError):
            CASES[name](given(), seed=1)
    else:
        first, second = (json.loads(one.to_json()) for one in (usual(name), CASES[name](given(), seed=1)))
        assert first.pop("settings") != second.pop("settings")
        assert first != second


@EACH
def test_neither_small_groups_nor_raters_are_named(name: str) -> None:
    result = usual(name)
    text = "".join([result.to_json(), result.to_markdown(), result.to_latex(), result.to_html()])
    assert "Hamlet" not in text
    assert not [rater for rater in given().ratings.raters["rater"] if re.search(rf"\b{rater}\b", text)]
    withheld = getattr(result, "withheld", None) or result.settings.get("withheld") or {}
    assert name not in WITHHOLDING or withheld["town"] == 2  # the hamlet, and one from which it would follow


WITHHOLDING = {name for name in CASES if not name.startswith(("items", "plan", "advise", "select", "curate"))} - {
    "responsiveness, each rater"
}
"""What counts the groups that it withholds, where it is asked for any."""


@EACH
def test_weights_of_1_change_nothing(name: str) -> None:
    if name.partition(",")[0] in UNWEIGHTED:
        return
    plain, ones = told(usual(name)), told(CASES[name](given().weighted(1.0), threads=1))
    compared = 0
    for table, frame in plain.items():
        if isinstance(frame, pl.DataFrame):
            weighted = ones[table]
            compared += sum(map(partly_alike, frame, (weighted[column] for column in frame.columns), strict=True))
            if {"unweighted", "value"} <= set(weighted.columns) and "unweighted" not in frame.columns:
                known = weighted.filter(pl.col("unweighted").is_not_null())
                assert partly_alike(known["value"], known["unweighted"].alias("value"))
    assert compared > 5


def partly_alike(plain: pl.Series, weighted: pl.Series) -> bool:
    """Compare two columns, numbers but for rounding, unless they hold explanations."""
    if plain.name == "note":
        return False
    if plain.dtype == pl.Float64:
        np.testing.assert_allclose(
            plain.fill_null(-9), weighted.fill_null(-9), rtol=1e-9, atol=1e-9, err_msg=plain.name
        )
    else:
        assert plain.equals(weighted), plain.name
    return True


@EACH
def test_names_of_raters_do_not_matter(name: str) -> None:
    """New names that stand in the same order: shuffles go by the order of raters."""
    frame, raters, items = (
        one.with_columns(pl.format("other {}", "rater").alias("rater")) if "rater" in one.columns else one
        for one in tables(given().ratings)
    )
    renamed = replace(
        given(), ratings=pv.Ratings.from_frame(frame, scale=given().ratings.scale, raters=raters, items=items)
    )
    assert CASES[name](renamed, threads=1).to_json() == usual(name).to_json()
