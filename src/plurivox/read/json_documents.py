"""JSON that is one array or one object: an array is cut into lines as it is read, an object is read whole.

An array of any length needs no more memory than its longest entry, since JSON lines are read in blocks. An object must
fit in memory, so its size is limited. Its shape decides what its rows and columns are:

- ``{"a": {"text": …}, "b": {"text": …}}``: a row for each key, which is in the column ``_key``;
- ``{"item": {"0": 1, "1": 2}, "score": {"0": 3, "1": 4}}`` and ``{"item": [1, 2], "score": [3, 4]}``: columns, as
  pandas writes them;
- ``{"columns": ["item", "score"], "data": [[1, 3], [2, 4]]}``: columns and rows, which pandas calls split;
- ``{"data": [{…}, {…}]}``: the rows in the list, which is named data, rows, records or the like;
- anything else: one row, and one for each object that comes after it.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from plurivox.base.errors import FileError
from plurivox.domain.raw import KEY, RawTable, refuse_cells, refuse_columns
from plurivox.read.opening import Opened, is_whole
from plurivox.read.text import BLOCK, MAX_RECORD, UTF8, as_utf8, json_lines, not_utf8

MAX_OBJECT = 1 << 26
"""The most bytes a JSON object may have."""
_ROWS = ("data", "rows", "records", "items", "results", "tasks", "examples", "instances")
_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])')
_SPACE = re.compile(r"[\s\ufeff]*")
_DECODER = json.JSONDecoder(parse_int=str)  # Python refuses to make numbers of too many digits
_PLAIN = json.JSONDecoder()
_ENCODE = json.JSONEncoder(ensure_ascii=False, default=str).encode
Read = Callable[[int], bytes]


def read_json(opened: Opened, *, encoding: str) -> RawTable:
    """Read an array of objects, an object, or JSON lines; values become text, nested ones JSON."""
    name = opened.name
    rest = as_utf8(opened.stream, name, encoding)
    start = rest(BLOCK)
    kept = [start]

    def read(size: int) -> bytes:
        return kept.pop() if kept else rest(size)

    if start.lstrip().startswith(b"["):
        return json_lines(_Entries(read, name).read, name, opened.size)
    if _has_lines(start):
        return json_lines(read, name, opened.size)
    data = bytearray()
    while chunk := read(BLOCK):
        data += chunk
        if len(data) > MAX_OBJECT:
            raise FileError(
                f"it is a single JSON object of more than {MAX_OBJECT >> 20} MiB, too large to hold in memory",
                source=name,
                hint="Give an array of objects, or one object per line.",
            )
    return _object(bytes(data), name)


def _has_lines(start: bytes) -> bool:
    """Return whether the first line is a whole object and more come after it."""
    first, _, rest = start.lstrip().partition(b"\n")
    if not rest.strip():
        return False
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


class _Entries:
    """Reads a JSON array as lines: one entry each."""

    def __init__(self, read: Read, name: str) -> None:
        self._read, self._name = read, name
        self._decode = codecs.getincrementaldecoder(UTF8)()
        self._text, self._at = "", 0
        self._number, self._line = 0, 1
        self._ended = self._closed = False

    def read(self, size: int) -> bytes:
        """Return the next lines, at least one unless there are no more."""
        lines: list[str] = []
        length = 0
        while length < size and (entry := self._entry()) is not None:
            lines.append(entry)
            length += len(entry)
        return "".join(lines).encode()

    def _entry(self) -> str | None:
        """Return the next entry on a line of its own, None at the end."""
        if self._closed:
            return None
        self._skip()
        if self._number == 0 or self._text[self._at : self._at + 1] == ",":
            self._at += 1  # the bracket, or the comma before an entry
            self._skip()
        elif self._text[self._at : self._at + 1] != "]":
            raise self._broken("a comma or the closing bracket is missing")
        if self._text[self._at : self._at + 1] == "]":
            self._at += 1
            self._skip()
            if self._at < len(self._text):
                raise self._broken("there is more after the closing bracket")
            self._closed = True
            if not self._number:
                raise FileError("the array is empty", source=self._name, hint="It needs at least one object.")
            return None
        self._number += 1
        value, end = self._value()
        if not isinstance(value, dict):
            raise self._broken("the entry is not an object")
        entry = self._text[self._at : end]
        self._line += entry.count("\n")
        self._at = end
        return entry.replace("\n", " ").replace("\r", " ") + "\n"

    def _value(self) -> tuple[Any, int]:
        """Return the value that starts here and where it ends; read on until it is complete."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
                if end < len(self._text) or self._ended:
                    return value, end
            except RecursionError:
                raise self._broken("its lists or objects are nested too deeply") from None
            except ValueError as error:
                rest = self._text[self._at :]
                if self._ended and len(cleaned := without_commas(rest)) < len(rest):
                    self._text, self._at = cleaned, 0
                    continue
                if self._ended:
                    why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                    raise self._broken(f"the entry is cut off or not JSON ({why})") from None
                if len(rest) > MAX_RECORD:
                    raise self._broken(f"the entry is longer than {MAX_RECORD >> 20} MiB, or not JSON") from None
            self._more()

    def _skip(self) -> None:
        """Go to the next character that is not a space."""
        while True:
            end = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            self._line += self._text.count("\n", self._at, end)
            self._at = end
            if end < len(self._text) or not self._more():
                return

    def _more(self) -> bool:
        """Read on, and return whether there was anything."""
        chunk = b"" if self._ended else self._read(BLOCK)
        try:
            text = self._decode.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            line = self._line + self._text.count("\n", self._at) + chunk[: error.start].count(b"\n")
            raise not_utf8(self._name, line, error.object[error.start]) from None
        self._ended = not chunk
        self._text, self._at = self._text[self._at :] + text, 0
        return bool(chunk)

    def _broken(self, problem: str) -> FileError:
        return FileError(
            problem, source=self._name, places=[f"entry {max(self._number, 1):,} (line {self._line:,})"],
            hint="Write a JSON array of objects, or download the file again.",
        )  # fmt: skip


def without_commas(text: str) -> str:
    """Return JSON without commas before closing brackets, which some programs write."""
    return _COMMA.sub(lambda found: found[1] or "", text)


def _object(data: bytes, name: str) -> RawTable:
    """Return the table that an object holds."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(name, 1 + data.count(b"\n", 0, error.start), data[error.start]) from None
    try:
        try:
            found = _all_in(text)
        except json.JSONDecodeError:
            found = _all_in(without_commas(text))
    except RecursionError:
        hint = "Give one object per row, or download the file again."
        raise FileError("its lists or objects are nested too deeply", source=name, hint=hint) from None
    except ValueError as error:
        line = f"line {error.lineno:,}" if isinstance(error, json.JSONDecodeError) else "the whole"
        why = error.msg if isinstance(error, json.JSONDecodeError) else "a number has too many digits"
        raise FileError(
            f"it is not JSON ({why})", source=name, places=[line],
            hint="Download or write the file again; one object per line can be read, too.",
        ) from None  # fmt: skip
    for one in found:
        if not isinstance(one, dict):
            raise FileError("it is a single JSON value, not a table", source=name, hint="Give an array of objects.")
    return table_of_rows(_rows(found[0]) if len(found) == 1 else found, name, len(data))


def _all_in(text: str) -> list[Any]:
    """Return the values that follow one another, as ``jq`` writes them; usually there is one."""
    found: list[Any] = []
    at = _SPACE.match(text).end()  # type: ignore[union-attr]
    while at < len(text) or not found:
        value, at = _PLAIN.raw_decode(text, at)
        found.append(value)
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
    return found


def _rows(found: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the rows that an object stands for."""
    values = list(found.values())
    if values and all(isinstance(one, dict) for one in values):
        places = list(values[0])
        if places and all(key.isdecimal() for key in places) and all(list(one) == places for one in values):
            return [{name: column[place] for name, column in found.items()} for place in places]
        return [{KEY: key, **one} for key, one in found.items()]
    lists = {name: one for name, one in found.items() if isinstance(one, list)}
    if (rows := _split(lists.get("columns"), lists.get("data"))) is not None:
        return rows
    if len(lists) == len(values) > 1 and len({len(one) for one in lists.values()}) == 1:
        return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    for name, one in lists.items():
        if name.casefold() in _ROWS and one and all(isinstance(row, dict) for row in one):
            return [row["row"] if set(row) >= {"row_idx", "row"} else row for row in one]
    if len(lists) == len(values) == 1:
        return [{name: row} for name, one in lists.items() for row in one]
    return [found]


def _split(columns: list[Any] | None, data: list[Any] | None) -> list[dict[str, Any]] | None:
    """Return the rows of an object with columns and lists of values, None if it is something else."""
    if not columns or not data or not all(isinstance(name, str) for name in columns):
        return None
    if not all(isinstance(row, list) and len(row) == len(columns) for row in data):
        return None
    return [dict(zip(columns, row, strict=True)) for row in data]


def table_of_rows(rows: Sequence[Mapping[str, Any]], name: str, size: int) -> RawTable:
    """Return a table of text, a column for each key."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    refuse_columns(len(columns), name)
    refuse_cells(len(rows) * len(columns), size, name)
    if not columns:
        raise FileError("it contains nothing", source=name, hint="It needs at least one row.")
    cells = {column: [text_of_json(row.get(column)) for row in rows] for column in columns}
    if not is_whole("".join(columns)) or not all(
        is_whole(cell) for column in cells.values() for cell in column if cell
    ):
        raise FileError("a text in it contains half a character", source=name, hint="Write the file again.")
    return RawTable(name, columns, iter([pl.DataFrame(cells, schema=dict.fromkeys(columns, pl.String))]), text=True)


def text_of_json(value: Any) -> str | None:
    """Return a value as text, nested ones as JSON."""
    if value is None or isinstance(value, str):
        return value
    return _ENCODE(value) if isinstance(value, dict | list | tuple | bool | float) else str(value)


def loaded(data: bytes, source: str, place: str | None = None) -> Any:
    """Read JSON."""
    try:
        found = json.loads(data)
        return _whole(found) if b"\\ud" in data.lower() else found
    except (ValueError, RecursionError) as error:
        raise FileError(
            f"the JSON is damaged or cut off ({error})", source=source, places=[place] if place else (),
            hint="Download or write the file again.",
        ) from None  # fmt: skip


def _whole(value: Any) -> Any:
    """Replace half characters in JSON values, which models write but no table can hold."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_whole(name): _whole(one) for name, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, list) else value
