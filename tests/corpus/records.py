"""What a case left behind as plain JSON, made compact where it is long, and the differences of two such records.

A float is written with as many digits as it needs to be read back exactly, so records that are equal are equal bit by
bit. Long columns and draws become a digest: a difference is always noticed, and its place is named, but not each value.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

LONG = 120
"""Lists with more values become a digest."""
LONG_ROWS = 250
"""Lists of more records keep some, and a digest of each field."""
LONG_TEXT = 20_000
"""Longer texts become digests of blocks of lines."""
BLOCK = 20
DIGEST = "digest"

_SVG = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
_SHIELDED = re.compile(r"<(style|script)\b[^>]*>(.*?)</\1>", re.DOTALL)


def sha(text: str | bytes) -> str:
    """Return the first half of SHA-256, which is enough to tell texts apart."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()[:32]


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it; frames by column with their types, arrays as lists."""
    if isinstance(value, pl.DataFrame):
        columns = {name: plain(value[name].to_list()) for name in value.columns}
        return {"types": {name: str(kind) for name, kind in value.schema.items()}, "columns": columns}
    if isinstance(value, np.ndarray):
        return {"dtype": str(value.dtype), "shape": list(value.shape), "values": plain(value.tolist())}
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return repr(value)


def compact(value: Any) -> Any:
    """Return a value of JSON with what is long as a digest."""
    if isinstance(value, dict):
        return {key: compact(part) for key, part in value.items()}
    if not isinstance(value, list):
        return compact_text(value) if isinstance(value, str) and len(value) > LONG_TEXT else value
    if value and all(isinstance(part, dict) for part in value):
        return value if len(value) <= LONG_ROWS else _compact_rows(value)
    leaves = list(_leaves(value))
    if leaves and all(not isinstance(part, dict) for part in leaves) and len(leaves) > LONG:
        return _digest(value, leaves)
    return [compact(part) for part in value]


def compact_text(text: str) -> Any:
    """Return a text, or digests of blocks of lines of a long one, each with its first line."""
    if len(text) <= LONG_TEXT:
        return text
    lines = text.splitlines(keepends=True)
    blocks = [lines[at : at + BLOCK] for at in range(0, len(lines), BLOCK)]
    return {DIGEST: sha(text), "lines": len(lines), "blocks": [_block(block) for block in blocks]}


def _block(lines: list[str]) -> str:
    return f"{sha(''.join(lines))[:12]} {lines[0][:60].rstrip()}"


def compact_page(text: str) -> Any:
    """Return a page of HTML: a digest of all, of each picture, style and script, and everything else line by line."""
    pictures = [sha(found[0]) for found in _SVG.finditer(text)]
    shielded = [sha(found[0]) for found in _SHIELDED.finditer(text)]
    numbers = itertools.count(1)
    rest = _SVG.sub(lambda found: f"[picture {next(numbers)}]", text)
    rest = _SHIELDED.sub(lambda found: f"[{found[1]}]", rest)
    words = [" ".join(line.split()) for line in re.sub(r"<[^>]*>", "\n", rest).splitlines()]
    page = "\n".join(word for word in words if word)
    return {DIGEST: sha(text), "pictures": pictures, "styles and scripts": shielded, "text": compact_text(page)}


def _compact_rows(rows: list[dict[str, Any]]) -> dict[str, Any]:
    names = list(dict.fromkeys(name for row in rows for name in row))
    fields = {name: compact([row.get(name) for row in rows]) for name in names}
    return {DIGEST: sha(_json(rows)), "rows": len(rows), "first": rows[:20], "fields": fields}


def _digest(value: list[Any], leaves: list[Any]) -> dict[str, Any]:
    numbers = [part for part in leaves if isinstance(part, int | float) and not isinstance(part, bool)]
    found: dict[str, Any] = {DIGEST: sha(_json(value)), "n": len(leaves), "first": leaves[:3], "last": leaves[-1]}
    if numbers:
        found |= {"sum": math.fsum(numbers), "low": min(numbers), "high": max(numbers), "numbers": len(numbers)}
    return found


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for part in value:
            yield from _leaves(part)
    else:
        yield value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Yield each place at which two records differ, with both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            where = f"{path}.{key}" if path else str(key)
            if key not in new:
                yield f"{where}: gone; it was {_short(old[key])}"
            elif key not in old:
                yield f"{where}: new: {_short(new[key])}"
            else:
                yield from differences(old[key], new[key], where)
        if list(old) != list(new) and set(old) == set(new):
            yield f"{path}: other order: {list(old)} → {list(new)}"
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{path}: {len(old)} → {len(new)} entries"
        for at, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from differences(one, other, f"{path}[{at}]")
    elif isinstance(old, str) and isinstance(new, str):
        yield from _text_differences(old, new, path)
    elif type(old) is not type(new) or repr(old) != repr(new):  # repr tells 0.0 from -0.0
        yield f"{path}: {_short(old)} → {_short(new)}"


def _text_differences(old: str, new: str, path: str) -> Iterator[str]:
    if old == new:
        return
    before, after = old.split("\n"), new.split("\n")
    if len(before) == len(after) == 1:
        yield f"{path}: {_short(old)} → {_short(new)}"
        return
    at = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after)))
    n_other = sum(a != b for a, b in zip(before, after, strict=False)) + abs(len(before) - len(after))
    yield f"{path}: {n_other} lines differ ({len(before)} → {len(after)} lines); the first is line {at + 1}:"
    for sign, lines in (("-", before), ("+", after)):
        yield from (f"    {sign} {line}" for line in lines[at : at + 3])


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]} …"
