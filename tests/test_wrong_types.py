"""Wrong things given to every public function: one error of ours that names the argument, never a foreign one."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.errors import PlurivoxError

QUICK = {"permutations": 0, "bootstrap": 0, "subsamples": 0, "simulations": 0}
NEVER = {"an object": object(), "a complex number": 1j, "bytes": b"\xff", "a class": dict}
"""What no argument may be."""
WRONG: dict[str, Any] = {
    **NEVER, "None": None, "nothing": "", "nonsense": "no\x00thing\nlike it", "a fraction": 3.5, "-1": -1,
    "nan": math.nan, "inf": math.inf, "True": True, "huge": 10**400, "many digits": 10**5000,
    "decimal": Decimal("1e999"), "[]": [], "nested": [["a", 1]], "[None]": [None], "()": (), "a set": {1, "a"},
    "{}": {}, "a mapping": {"a": object()}, "keys": {1: 2}, "an array": np.array([[1.0, math.nan]]),
    "a frame": pl.DataFrame(), "columns": pl.DataFrame({"a": [1]}), "a series": pl.Series(["a"]),
    "deep": [[[[[[1]]]]]], "surrogate": "\ud800", "numpy": np.float32(2.5), "a path": Path("/no/such/file"),
}  # fmt: skip


@pytest.fixture(scope="module")
def base() -> dict[str, Any]:
    """Return arguments with which every function works."""
    study = pv.simulate(n_items=12, n_raters=30, seed=1)
    return {
        "ratings": study.ratings, "by": "gender", "reference": "crowd", "answers": study.answers,
        "predictions": study.predictions, "item": study.ratings.items["item"][0], "prior": 1.0, "scale": study.scale,
        "questions": {"a": study.ratings, "b": study.ratings}, "frame": study.ratings_frame,
    }  # fmt: skip


def functions() -> list[str]:
    found = [name for name in pv.__all__ if not inspect.isclass(getattr(pv, name))]
    assert len(found) > 15
    return found


def arguments_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    known = inspect.signature(function).parameters
    return {name: one for name, one in known.items() if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)}


def usual(function: Callable[..., Any], base: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return what a function is given, quick to work with."""
    known = arguments_of(function)
    given = {name: base[name] for name, one in known.items() if name in base and one.default is one.empty}
    given |= {name: value for name, value in QUICK.items() if name in known}
    if "source" in known:
        given["source"] = _file(function.__name__, base, folder)
    if "path" in known:
        given["path"] = folder / "out"
    if function.__name__ in ("curate", "select_raters"):
        given["by"] = "gender"
    if function.__name__ == "select_raters":
        given["order"] = "value"
    if function.__name__ == "simulate":
        given = {"n_items": 4, "n_raters": 3}
    return given


def _file(name: str, base: dict[str, Any], folder: Path) -> str:
    frame = {"read_ratings": "frame", "read_answers": "answers", "read_predictions": "predictions"}[name]
    path = folder / f"{frame}.csv"
    if not path.exists():
        base[frame].write_csv(path)
    return str(path)


def given_wrongly(
    function: Callable[..., Any], usual: dict[str, Any]
) -> Iterator[tuple[str, str, PlurivoxError | None]]:
    """Yield each argument, what it was given, and how that ended."""
    for name in arguments_of(function):
        for what, value in WRONG.items():
            error = None
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    function(**{**usual, name: value})
            except PlurivoxError as raised:
                error = raised
            except Exception as raised:
                raise AssertionError(
                    f"{function.__name__}({name}={what}): {type(raised).__name__}: {raised}"
                ) from raised
            yield name, what, error


@pytest.mark.parametrize("name", functions())
def test_a_wrong_argument_is_named(name: str, base: dict[str, Any], tmp_path: Path) -> None:
    function = getattr(pv, name)
    for argument, what, error in given_wrongly(function, usual(function, base, tmp_path)):
        if what in NEVER and (argument, what) not in ANYTHING:
            assert error is not None, f"{name}({argument}={what}) was taken"
            assert argument in str(error), f"{name}({argument}={what}): {error}"
        if error is not None:
            assert len(str(error)) < 1000, f"{name}({argument}={what}): {error!r}"


ANYTHING = {("progress", "a class")}
