"""Damage to bytes, texts and JSON, drawn by hypothesis."""

from __future__ import annotations

import copy
import gzip
import json
from typing import Any

from hypothesis import strategies as st

from fuzz.cases import Draw
from fuzz.values import CELLS

_TOKENS = [cell.encode(errors="surrogatepass") for cell in CELLS] + [
    b"\xff\xfe", b"\xef\xbb\xbf", b"\x1f\x8b", b"PAR1", b"\x80",
]  # fmt: skip
HOSTILE: list[Any] = [
    None, True, -1, 0, 3.5, 10**30, 10**400, 1e308, "x", "", "\ud800", "NaN", "-Infinity", [], {}, [[]], {"a": 1},
    [None],
]  # fmt: skip
"""What may stand anywhere in JSON."""


def damaged(draw: Draw, content: bytes) -> bytes:
    """Return bytes with some damage: cut off, changed, repeated, left out, put in."""
    found = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(found) - 1, 0)))
        how = draw(st.integers(0, 6))
        if how == 0:
            del found[at:]
        elif how == 1 and found:
            found[at] = draw(st.integers(0, 255))
        elif how == 2:
            del found[at : at + draw(st.integers(1, 40))]
        elif how == 3:
            found[at:at] = found[at : at + draw(st.integers(1, 200))] * draw(st.integers(1, 3))
        else:
            found[at:at] = draw(st.sampled_from(_TOKENS))
    return bytes(found)


def retyped(draw: Draw, content: bytes, separator: bytes = b",") -> bytes:
    """Return a table of text in which some cells hold something else, also in the header."""
    lines = content.split(b"\n")
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(lines) - 1))
        cells = lines[at].split(separator)
        cells[draw(st.integers(0, len(cells) - 1))] = draw(st.sampled_from(_TOKENS))
        lines[at] = separator.join(cells)
    return b"\n".join(lines)


def wrapped(draw: Draw, name: str, content: bytes) -> tuple[str, bytes]:
    """Return a file as it is, packed, in another encoding, or under a name that says something else."""
    how = draw(st.integers(0, 9))
    if how == 0:
        return f"{name}.gz", gzip.compress(content)
    if how == 1:
        return f"{name}.gz", content
    if how == 2:
        return name, content.decode(errors="replace").encode("utf-16")
    if how == 3:
        ending = draw(st.sampled_from([".csv", ".tsv", ".jsonl", ".json", ".parquet", ".eval", ".zst", ".txt", ""]))
        return name.rpartition(".")[0] + ending, content
    return name, content


def damaged_json(draw: Draw, text: str) -> str:
    """Return JSON in which something is gone, renamed, or something else; or damaged text."""
    if draw(st.integers(0, 9)) == 0:
        return damaged(draw, text.encode()).decode(errors="replace")
    data = json.loads(text)
    for _ in range(draw(st.integers(1, 2))):
        _damage_part(draw, data)
    return json.dumps(data)


def _damage_part(draw: Draw, data: Any) -> None:
    """Change a part of a value in place: down by chance, then gone, renamed, or replaced."""
    while True:
        if not isinstance(data, dict | list) or not data:
            return
        key: Any = (
            draw(st.sampled_from(sorted(data))) if isinstance(data, dict) else draw(st.integers(0, len(data) - 1))
        )
        if isinstance(data[key], dict | list) and data[key] and draw(st.integers(0, 3)):
            data = data[key]
            continue
        break
    how = draw(st.integers(0, 5))
    if how == 0:
        del data[key]
    elif how == 1 and isinstance(data, dict):
        data[draw(st.sampled_from(["new", "\ud800", ""]))] = data.pop(key)
    else:
        data[key] = copy.deepcopy(draw(st.sampled_from(HOSTILE)))  # the next damage may be to this


def nested(depth: int, opening: str, closing: str) -> str:
    """Return something within something, very deep."""
    return opening * depth + closing * depth
