"""Wrong values for arguments, options and cells, and valid arguments beside which they are given."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import plurivox as pv

NEVER: dict[str, Any] = {"an object": object(), "a complex number": 1j, "bytes": b"\xff", "a class": dict}
"""What no argument may be, a class only where a function may be."""
WRONG: dict[str, Any] = {
    **NEVER, "None": None, "nothing": "", "nonsense": "no\x00thing\nlike it", "a fraction": 3.5, "-1": -1,
    "nan": math.nan, "inf": math.inf, "True": True, "huge": 10**400, "many digits": 10**5000,
    "decimal": Decimal("1e999"), "[]": [], "nested": [["a", 1]], "[None]": [None], "()": (), "a set": {1, "a"},
    "{}": {}, "a mapping": {"a": object()}, "keys": {1: 2}, "an array": np.array([[1.0, math.nan]]),
    "a frame": pl.DataFrame(), "columns": pl.DataFrame({"a": [1]}), "a series": pl.Series(["a"]),
    "deep": [[[[[[1]]]]]], "surrogate": "\ud800", "numpy": np.float32(2.5), "a path": Path("/no/such/file"),
}  # fmt: skip
SOME: dict[str, Any] = {
    "1": 1, "2": 2, "0.5": 0.5, "gender": "gender", "two axes": ["gender", "age"], "a crossing": ("gender", "age"),
    "rater": "rater", "auto": "auto", "none": "none", "a group": {"gender": "Woman"}, "False": False,
    "a mark": {"gender": ";"}, "numpy 3": np.int64(3), "0:4": "0:4", "points": [0, 1, 2, 3, 4],
    "violation": "violation", "each": "each", "two groups": ("Man", "Woman"),
}  # fmt: skip
"""What some arguments may be."""
CELLS = [
    "", " ", "NA", "nan", "inf", "-inf", "1e400000000", "1e-999", "--5", "²", "٣", "0x10", "1_000", "007", "9" * 400,
    "-0", "3.0000000001", "\ufeff", "\u202e", "\x1b]0;x\x07", "\0", "\r", "\n", '"', "'", ",", "\t", "=1+1", "@x", "{}",
    "[]", "null", "true", "\ud83d", "e\u0301", "a" * 5000, "item", "score", "rater", "2026-01-31", "1:30",
    "99999999-01-01", "2026-01-31T12:00:00+99:99", "1e308", "-1e308", "1e200",
    "{{x}}", "%s",
]  # fmt: skip
"""What a cell of a table, or the value of an option, may hold that is seldom thought of."""
QUICK = {"permutations": 0, "bootstrap": 0, "subsamples": 0, "simulations": 0}


@functools.cache
def study() -> pv.Simulation:
    """Return a small study with everything."""
    return pv.simulate(n_items=12, n_raters=30, seed=1)


@functools.cache
def repeated() -> pl.DataFrame:
    """Return a table in which raters rated items twice, with when."""
    frame = study().ratings_frame
    return pl.concat([frame.with_row_index("time").with_columns(pl.col("time") + day) for day in (0, 1000)])


@functools.cache
def kept() -> pv.Ratings:
    """Return ratings with repeats, times and attributes."""
    made = study()
    return pv.Ratings.from_frame(
        repeated(), scale=made.scale, raters=made.raters, items=made.items, duplicates="keep", time="time"
    )


@functools.cache
def valid() -> dict[str, Any]:
    """Return arguments with which functions work."""
    made = study()
    return {
        "ratings": made.ratings, "by": "gender", "reference": "crowd", "answers": made.answers,
        "predictions": made.predictions, "item": made.ratings.items["item"][0], "prior": 1.0, "scale": made.scale,
        "questions": {"a": made.ratings, "b": made.ratings}, "frame": made.ratings_frame,
    }  # fmt: skip


def functions() -> list[str]:
    """Return the names of all public functions."""
    return [name for name in pv.__all__ if not inspect.isclass(getattr(pv, name))]


def arguments_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the arguments that have names."""
    known = inspect.signature(function).parameters
    return {name: one for name, one in known.items() if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)}


def usual(function: Callable[..., Any]) -> dict[str, Any]:
    """Return what a function is given, quick to work with; files are named as :func:`files` has them."""
    known, base = arguments_of(function), valid()
    given = {name: base[name] for name, one in known.items() if name in base and one.default is one.empty}
    given |= {name: value for name, value in QUICK.items() if name in known}
    given |= {"min_ratings": 5} if function.__name__ in ("curate", "select_raters") else {}
    if function.__name__ in ("curate", "select_raters"):
        given |= {"by": "gender"}
    if function.__name__ == "select_raters":
        given |= {"order": "value"}
    if "source" in known:
        given["source"] = f"{function.__name__.removeprefix('read_')}.csv"
    if "path" in known:
        given["path"] = "out"
    return {"n_items": 4, "n_raters": 3} if function.__name__ == "simulate" else given


@functools.cache
def files() -> dict[str, bytes]:
    """Return small valid files of every kind, by their names."""
    made = study()
    wide = made.ratings_frame.pivot("rater", index="item", values="score")
    counts = made.ratings.counts()
    totals = pl.DataFrame({"item": made.items["item"], **{str(at): counts[:, at] for at in range(5)}})
    answers, predictions = made.answers, made.predictions
    assert answers is not None
    assert predictions is not None
    tables = {
        "ratings": made.ratings_frame, "raters": made.raters, "items": made.items, "wide": wide, "totals": totals,
        "answers": answers, "predictions": predictions, "repeats": repeated(),
    }  # fmt: skip
    found = {f"{name}.csv": frame.write_csv().encode() for name, frame in tables.items()}
    found |= {f"{name}.tsv": frame.write_csv(separator="\t").encode() for name, frame in tables.items()}
    found |= {f"{name}.jsonl": frame.write_ndjson().encode() for name, frame in tables.items()}
    return found
