"""Ratings in a Parquet file of their own that loses nothing.

The file is an ordinary table of item, rater and score (or count) that any tool can read. Its metadata carry the
scale, the intake and the attribute tables, so that reading it back gives an equal object.
"""

from __future__ import annotations

import base64
import io
import json
import os
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl

from plurivox.errors import FileError
from plurivox.files import replacing
from plurivox.intake.check import Intake
from plurivox.ratings import Ratings
from plurivox.scale import Scale

KEY = "plurivox"
VERSION = 1


def write_ratings(ratings: Ratings, path: str | os.PathLike[str]) -> None:
    """Write ratings to a Parquet file that :func:`read_ratings` turns back into an equal object.

    Parameters
    ----------
    ratings
        What to write.
    path
        The file; it is replaced only once the new one is complete. The file that the ratings were read from is
        refused.
    """
    described = {
        "version": VERSION,
        "scale": ratings.scale.to_dict(),
        "intake": asdict(ratings.intake),
        "items": _packed(ratings.items),
        "raters": _packed(ratings.raters),
    }
    columns = {"item": ratings.item_codes, "rater": ratings.rater_codes}
    frame = ratings.to_frame()
    # The codes travel beside the ids: they are what is read back, the ids are for everybody else.
    for role, codes in columns.items():
        if codes is not None:
            frame = frame.with_columns(pl.Series(f"{role}_code", codes))
    frame = frame.with_columns(pl.Series("score_code", ratings.scores))
    with replacing(path, [ratings.intake.source]) as temporary:
        frame.write_parquet(temporary, metadata={KEY: json.dumps(described)})


def description(data: str | bytes) -> dict[str, Any] | None:
    """Return what a Parquet file says of the ratings in it, None if plurivox did not write it."""
    source = io.BytesIO(data) if isinstance(data, bytes) else data
    text = pl.read_parquet_metadata(source).get(KEY)
    return None if text is None else json.loads(text)


def restore(data: str | bytes, described: dict[str, Any], name: str) -> Ratings:
    """Rebuild the ratings."""
    if described.get("version") != VERSION:
        raise FileError(
            f"it was written in form {described.get('version')}, and this version reads form {VERSION}",
            source=name,
            hint="Update plurivox.",
        )
    frame = pl.read_parquet(data)
    scale = Scale.from_dict(described["scale"])
    scores: Any = frame["score_code"].to_numpy().astype(scale.dtype)
    with_raters = "rater_code" in frame.columns
    return Ratings(
        scale,
        _unpacked(described["items"]),
        _unpacked(described["raters"]),
        frame["item_code"].to_numpy().astype(np.int32),
        frame["rater_code"].to_numpy().astype(np.int32) if with_raters else None,
        scores,
        None if with_raters else frame["count"].to_numpy().astype(np.int64),
        Intake(**described["intake"]),
    )


def _packed(frame: pl.DataFrame) -> str:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return base64.b64encode(buffer.getvalue()).decode()


def _unpacked(text: str) -> pl.DataFrame:
    return pl.read_parquet(base64.b64decode(text))
