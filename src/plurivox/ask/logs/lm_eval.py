"""Sample files of the lm-evaluation-harness: JSON lines, one for each document and filter."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plurivox.ask.logs import COLUMNS, Row, ScaleChoices, in_order, quoted
from plurivox.ask.wire import get
from plurivox.base.errors import FileError, InputError
from plurivox.read.json_documents import loaded
from plurivox.read.opening import open_source, printable

NAME = re.compile(r"samples_(?P<task>.+?)(_(?P<time>\d{4}-\d\d-\d\dT[\d.-]+))?\.jsonl(\.gz|\.zst)?", re.DOTALL)
"""The names of sample files."""
MAX_LINE = 1 << 24
_TASKS = "Give samples of a task that generates text or chooses among options."
_NEEDED = {"doc_id": int | str, "arguments": dict, "resps": list, "filtered_resps": list}


@dataclass(frozen=True, slots=True)
class SampleFile:
    """A file of samples, the field that names the item, and the filter to read, if not the output before filters."""

    file: Path
    choices: ScaleChoices
    item: str | None
    filter_name: str | None
    seen: dict[str, Any] = field(default_factory=dict)

    def rows(self, model: str | None) -> Iterator[Row]:
        """Yield the answers."""
        called = printable(self.file.name)
        name = NAME.fullmatch(called)
        task, time = (name["task"], name["time"]) if name else (called.split(".jsonl")[0], None)
        common: Row = dict.fromkeys(COLUMNS) | {"model": model or _model(self.file, time), "prompt": task}
        filters: dict[str, None] = {}
        for place, record in self._records():
            filters[str(record.get("filter"))] = None
            if self._is_wanted(record, place):
                found = record["doc_id"] if self.item is None else get(record.get("doc"), self.item)
                if not isinstance(found, str | int):
                    raise self._wrong(
                        f"the document has no id in {self.item or 'doc_id'!r}", place, "Name the field with item=."
                    )
                item = str(found)
                for at, answer in enumerate(self._answers(record, place) or [{"state": "failed"}]):
                    yield common | {"item": item, "sample": at} | answer
        if not filters:
            raise self._wrong("it contains no samples")
        if self.filter_name is not None and self.filter_name not in filters:
            raise self._wrong(f"there is no filter {self.filter_name!r}", hint=f"Use one of {quoted(list(filters))}.")

    def _records(self) -> Iterator[tuple[str, Any]]:
        with open_source(self.file, "jsonl") as opened:
            for number, line in enumerate(iter(lambda: opened.stream.readline(MAX_LINE + 1), b""), 1):
                place = f"row {number}"
                if len(line) > MAX_LINE:
                    raise self._wrong(f"the row is longer than {MAX_LINE >> 20} MiB", place)
                record = loaded(line, str(self.file), place) if line.strip() else None
                lacking = [name for name, kind in _NEEDED.items() if not isinstance(get(record, name), kind)]
                if line.strip() and lacking:
                    raise self._wrong(
                        f"this is not a sample of lm-evaluation-harness: it lacks {', '.join(lacking)}", place
                    )
                if record is not None:
                    yield place, record

    def _is_wanted(self, record: Any, place: str) -> bool:
        """Return whether to read a line: the filter's, or a document's first one, since all its lines agree."""
        if self.filter_name is not None:
            return bool(record.get("filter") == self.filter_name)
        number, given = str(record["doc_id"]), record["resps"]
        if number in self.seen and self.seen[number] != given:
            raise self._wrong(f"document {number} had other answers before", place)
        return self.seen.setdefault(number, given) is given

    def _answers(self, record: Any, place: str) -> list[Row]:
        """Return what a model wrote or chose in each repetition."""
        asked = [list(one.values()) for one in record["arguments"].values() if isinstance(one, dict)]
        given = record["resps"] if self.filter_name is None else [[one] for one in record["filtered_resps"]]
        second = {type(one[1]) if len(one) > 1 else None for one in asked}
        if second == {dict} and len(asked) == len(given) == 1:
            return [{"text": text} for text in _texts(given)]
        if second == {str} and len(asked) == len(given) > 1:
            return self._chosen([(one[0], one[1].strip()) for one in asked], given, place)
        raise self._wrong("the model neither wrote nor chose an answer here", place)

    def _chosen(self, asked: list[tuple[str, str]], given: Any, place: str) -> list[Row]:
        n = len(asked) // 2
        if [one[1] for one in asked[:n]] == [one[1] for one in asked[n:]] and not any(one[0] for one in asked[n:]):
            asked, given = asked[:n], given[:n]  # the rest are the same choices without the question
        choices = [choice for _, choice in asked]
        if len(set(choices)) < len(choices):
            raise self._wrong(f"the choices {quoted(choices)} are not all different", place)
        order = self.choices.order(choices, place)
        if len({len(one) if isinstance(one, list) else -1 for one in given}) != 1:
            raise self._wrong("the choices have not been tried equally often", place)
        rows = []
        for each in zip(*given, strict=True):
            try:  # they are logged as text, each with whether it is that of the greedy output
                likelihoods = [float(pair[0]) for pair in each]
            except (TypeError, ValueError, IndexError, KeyError, OverflowError):
                likelihoods = [math.nan]
            if any(map(math.isnan, likelihoods)) or not math.isfinite(max(likelihoods)):
                raise self._wrong("a log-likelihood is not a number", place)
            best = max(likelihoods)
            weights = [math.exp(one - best) for one in likelihoods]
            shares = in_order([one / sum(weights) for one in weights], order)
            rows.append({"point": order[likelihoods.index(best)], "distribution": shares})
        return rows

    def _wrong(self, problem: str, place: str | None = None, hint: str = _TASKS) -> InputError:
        return InputError(problem, source=str(self.file), places=[place] if place else (), hint=hint)


def _model(file: Path, time: str | None) -> str:
    """Return the model's name in the results next to the samples, or else that of the folder."""
    try:
        told = get(loaded(file.with_name(f"results_{time}.json").read_bytes(), "results"), "model_name")
    except (OSError, FileError):
        told = None
    return told if isinstance(told, str) and told else printable(file.resolve().parent.name).replace("__", "/")


def _texts(given: Any) -> list[str]:
    """Return the texts in lists of lists."""
    return [text for one in given for text in _texts(one)] if isinstance(given, list) else [str(given)]
