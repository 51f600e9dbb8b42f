"""Answers from the logs of other tools: Inspect and the lm-evaluation-harness, neither of which need be installed.

Both readers return a table with one row per answer, as alignment expects it: :data:`COLUMNS`. What they have in
common comes first: files in folders, that table, and choices that are points of a scale.
"""

from __future__ import annotations

import contextlib
import lzma
import math
import os
import re
import string
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from plurivox.ask.question import Reply, distribution_of
from plurivox.ask.wire import get, reply_of
from plurivox.base.errors import DuplicateError, FileError, InputError, ScaleError
from plurivox.base.files import note_input
from plurivox.domain.scale import Label, Scale
from plurivox.domain.scale_files import as_scale
from plurivox.read.json_documents import loaded
from plurivox.read.opening import open_source, printable, readable

Source = str | os.PathLike[str]
ScaleLike = Scale | str | Sequence[Label]
Row = dict[str, Any]

COLUMNS: dict[str, Any] = {
    "model": pl.String, "prompt": pl.String, "item": pl.String, "sample": pl.Int64, "text": pl.String,
    "state": pl.String, "point": pl.Int64, "distribution": pl.List(pl.Float64), "order": pl.List(pl.Int64),
}  # fmt: skip
"""The columns of the tables. The prompt is the task; the state is null while the text is still to be read."""


def table_of(path: Source, name: re.Pattern[str], what: str, rows_of: Callable[[Path], Iterator[Row]]) -> pl.DataFrame:
    """Return the rows of a file, or of the files in a folder that match the name; raise if an answer occurs twice."""
    files = [Path(path)]
    if files[0].is_dir():
        files = sorted(file for file in files[0].rglob("*") if name.fullmatch(file.name) and file.is_file())
    if not files:
        raise FileError(f"there is no {what} in this folder", source=str(path), hint="Name another folder, or a file.")
    rows: list[Row] = []
    held: dict[tuple[Any, ...], Path] = {}
    for file in files:
        for row in rows_of(file):
            model, prompt, item, sample = key = (row["model"], row["prompt"], row["item"], row["sample"])
            if key in held:
                there = "it" if held[key] == file else str(held[key])
                raise DuplicateError(
                    f"{there} already has {model}'s answer to item {item!r} of {prompt!r}, repetition {sample + 1}",
                    source=str(file), hint="Keep one of the two, or read the logs one by one and rename the prompts.",
                )  # fmt: skip
            held[key] = file
            rows.append(row)
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


@dataclass(slots=True)
class ScaleChoices:
    """Positions of choices on the scale; without a scale, all choices must be the same as the first."""

    scale: Scale | None
    source: str
    first: list[str] | None = None

    def order(self, choices: list[str], place: str) -> list[int]:
        """Return the position of each choice on the scale.

        Examples
        --------
        >>> ScaleChoices(Scale(["no", "unsure", "yes"]), "log").order(["yes", "no", "unsure"], "sample 1")
        [2, 0, 1]
        """
        as_listed = list(range(len(choices)))
        if self.scale is None:
            self.first = self.first or choices
            if choices != self.first:
                raise self._other(choices, place, f"but were {quoted(self.first)} before; comparing them takes a scale")
            return as_listed
        if choices == list(string.ascii_uppercase[: len(self.scale)]):
            return as_listed
        try:
            found = [self.scale.position(choice) for choice in choices]
        except ScaleError:
            found = []
        if sorted(found) != list(range(len(self.scale))):
            raise self._other(choices, place, f"which are not the points of the scale {self.scale}")
        return found

    def _other(self, choices: list[str], place: str, why: str) -> ScaleError:
        return ScaleError(
            f"the choices are {quoted(choices)}, {why}", source=self.source, places=[place],
            hint="Give a scale (scale=) whose points are the choices.",
        )  # fmt: skip


def in_order(shares: Sequence[float], order: Sequence[int]) -> list[float]:
    """Return the shares of choices in the order of the scale.

    Examples
    --------
    >>> in_order([0.7, 0.1, 0.2], [2, 0, 1])
    [0.1, 0.2, 0.7]
    """
    return [share for _, share in sorted(zip(order, shares, strict=True))]


def quoted(texts: Sequence[str]) -> str:
    """Return texts as a quoted list for messages."""
    return ", ".join(map(repr, texts))


__all__ = ["COLUMNS", "read_inspect_log", "read_lm_eval_samples"]


def read_inspect_log(path: Source, *, scale: ScaleLike | None = None) -> pl.DataFrame:
    """Read the answers in an Inspect log, or in all logs in a folder and its subfolders.

    Parameters
    ----------
    path
        An ``.eval`` file, a ``.json`` file, or a folder.
    scale
        The scale whose points are the choices of the samples. It shows in which order they were presented; without it,
        all samples must have the same order, which is then used as the scale's.

    Returns
    -------
    polars.DataFrame
        One row per sample and epoch. ``text`` is the model's last output, to be read; ``state`` is ``"refused"`` if
        the server's filter stopped it, and ``"failed"`` if a sample has an error, was marked invalid, has no output,
        or was not asked before the evaluation ended. ``order`` is the order in which choices were shown, as positions
        on the scale, and ``distribution`` holds what the log-probabilities of the first token say about them.

    Raises
    ------
    InputError
        Names the file and the sample, and says what to do.
    """
    points = as_scale(scale)
    return table_of(path, NAME, "Inspect log", lambda file: open_log(file).rows(ScaleChoices(points, str(file))))


def read_lm_eval_samples(
    path: Source, *, model: str | None = None, item: str | None = None, filter_name: str | None = None,
    scale: ScaleLike | None = None,
) -> pl.DataFrame:  # fmt: skip
    """Read the answers that lm-evaluation-harness 0.4.3 or newer keeps with ``--log_samples``.

    Parameters
    ----------
    path
        A file ``samples_<task>_<time>.jsonl``, or a folder with such files in it or in its subfolders.
    model
        The model's name; by default the one in ``results_<time>.json`` next to the file, or else the folder's name,
        in which ``__`` stands for ``/``.
    item
        The field of the documents that holds the item's id; by default, items are named by their ``doc_id``.
    filter_name
        The filter whose output is read; by default the model's own output, which is the same for all filters.
    scale
        The scale whose points are the choices. Without it, all documents must have the same choices, and their order
        is used as the scale's.

    Returns
    -------
    polars.DataFrame
        One row per document and repetition. If the model wrote text, ``text`` is to be read. If it chose,
        ``distribution`` is the softmax of the choices' log-likelihoods, not corrected for length, and ``point`` is
        the likeliest choice (the first one if several are tied).

    Raises
    ------
    InputError
        Names the file and the line, and says what to do.
    """
    points = as_scale(scale)
    return table_of(
        path, SAMPLES, "file samples_….jsonl",
        lambda file: SampleFile(file, ScaleChoices(points, str(file)), item, filter_name).rows(model),
    )  # fmt: skip


# Logs of Inspect ------------------------------------------------------------------------------------------------------
#
# Archives (``.eval``) whose entries are JSON, or one JSON object (``.json``).


NAME = re.compile(r".*\.eval|\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d.*\.json", re.DOTALL)
"""Names of logs, as Inspect itself defines them: a folder of logs contains other JSON files, too."""
NEWEST_VERSION = 2
"""The newest known version of the format."""
_SAMPLE = re.compile(r"samples/.+_epoch_\d+(\.json|/sample\.json)", re.DOTALL)
MAX_ENTRY, ENTRY_PER_BYTE = 1 << 26, 100
"""The most bytes an entry may have when unpacked, absolutely or as a multiple of its packed size."""
_LETTERS = string.ascii_uppercase


@dataclass(frozen=True, slots=True)
class InspectLog:
    """A log: its header, and its samples one by one."""

    source: str
    header: Any
    samples: Iterator[Any]

    def rows(self, choices: ScaleChoices) -> Iterator[Row]:
        """Yield the answers, then the questions that an evaluation did not ask because it ended early."""
        spec = self.header["eval"]
        common: Row = dict.fromkeys(COLUMNS) | {"model": spec["model"], "prompt": spec["task"]}
        asked: set[tuple[str, int]] = set()
        for sample in self.samples:
            row = common | self._answer(sample, choices)
            asked.add((row["item"], row["sample"]))
            yield row
        if get(self.header, "status") != "success":
            epochs = get(get(spec, "config"), "epochs")
            times = range(epochs if isinstance(epochs, int) else 1)
            known = map(str, _list(get(get(spec, "dataset"), "sample_ids")))  # what was planned, as far as it is listed
            for item, at in ((item, at) for item in known for at in times):
                if (item, at) not in asked:
                    asked.add((item, at))
                    yield common | {"item": item, "sample": at, "state": "failed"}
        if not asked:
            raise InputError("it has no samples", source=self.source, hint="Evaluate again without --no-log-samples.")

    def _answer(self, sample: Any, choices: ScaleChoices) -> Row:
        item, epoch = get(sample, "id"), get(sample, "epoch")
        if not isinstance(item, str | int) or not isinstance(epoch, int) or not isinstance(get(sample, "output"), dict):
            raise _no_log(self.source, "a sample lacks its id, epoch or output")
        row: Row = {"item": str(item), "sample": epoch - 1}
        reply = _reply(sample)
        if reply is None:
            return row | {"state": "failed"}
        row |= {"text": reply.text, "state": "refused" if reply.refusal else None}
        place = f"sample {item!r}, epoch {epoch}"
        order, n_options = None, len(choices.scale or ())
        if _list(get(sample, "choices")):
            shown = self._shown(sample, place)
            order, n_options = choices.order(shown, place), len(shown)
            rewritten = self._shuffles and order == sorted(order)  # then it is unknown what was shown
            row["order"] = None if choices.scale is None or rewritten else order
        if n_options <= len(_LETTERS) and not self._shuffles:
            found = distribution_of(reply.top, _LETTERS[:n_options])
            row["distribution"] = found and in_order(found[0], order or range(n_options))
        return row

    def _shown(self, sample: Any, place: str) -> list[str]:
        """Return the choices in the order to which the answer refers."""
        choices = [str(choice) for choice in sample["choices"]]
        if not self._shuffles:
            return choices
        users = [message for message in _list(get(sample, "messages")) if get(message, "role") == "user"]
        question = f"\n{_text(users[-1]) if users else ''}\n"
        letters = _LETTERS[: len(choices)]
        shown = [choice for letter in letters for choice in choices if f"\n{letter}) {choice}\n" in question]
        if sorted(shown) != sorted(choices):
            raise InputError(
                "choices were shuffled, and the log does not say how", source=self.source, places=[place],
                hint="Shuffle the choices of the dataset (shuffle_choices), not those of multiple_choice.",
            )  # fmt: skip
        return shown

    @property
    def _shuffles(self) -> bool:
        """Whether the solver itself shuffled choices.

        If it could read the answer, it then rewrites the question and the answer as if it had not shuffled, but leaves
        the log-probabilities, which follow the order that was shown.
        """
        steps = _list(get(get(self.header, "plan"), "steps"))
        return any(
            get(get(step, "params"), "shuffle")
            for step in steps
            if str(get(step, "solver")).endswith("multiple_choice")
        )


def open_log(file: Path) -> InspectLog:
    """Open a log of either format and make sure that it is one."""
    source = str(file)
    note_input(file)
    try:
        with file.open("rb") as stream:
            is_json = stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
        if is_json:
            header = loaded(file.read_bytes(), source)
            samples = iter(_list(get(header, "samples")))
        else:
            header, samples = _in_archive(source)
    except OSError as error:
        raise FileError(f"it cannot be read ({error.strerror})", source=source, hint="Check the path.") from None
    spec, version = get(header, "eval"), get(header, "version")
    if not isinstance(version, int) or not all(isinstance(get(spec, name), str) for name in ("model", "task")):
        raise _no_log(source, "it lacks a version, a model or a task")
    if version > NEWEST_VERSION:
        raise FileError(
            f"it is in version {version} of the format, but the newest known version is {NEWEST_VERSION}",
            source=source, hint="Update plurivox.",
        )  # fmt: skip
    return InspectLog(source, header, samples)


def _in_archive(source: str) -> tuple[Any, Iterator[Any]]:
    """Return the header and the samples of an ``.eval`` file; if several entries share a name, the last one counts."""
    with _archive(source) as archive:
        names = list(dict.fromkeys(archive.namelist()))
        head = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
        if head is None:
            raise _no_log(source, "the archive has no header.json")
        header = loaded(_entry(archive, head, source), source, head)

    def samples() -> Iterator[Any]:
        with _archive(source) as archive:
            for name in filter(_SAMPLE.fullmatch, names):
                yield loaded(_entry(archive, name, source), source, name)

    return header, samples()


def _entry(archive: Any, name: str, source: str) -> bytes:
    """Unpack an entry, unless it is far larger unpacked than packed."""
    known = archive.getinfo(name)
    if known.file_size > max(MAX_ENTRY, ENTRY_PER_BYTE * known.compress_size):
        raise FileError(
            f"its {known.compress_size:,} bytes unpack to {known.file_size >> 20:,} MiB", source=source, places=[name],
            hint="Check its content; if it is right, convert it: inspect log convert --to json",
        )  # fmt: skip
    return bytes(archive.read(name))


@contextlib.contextmanager
def _archive(source: str) -> Iterator[Any]:
    """Open a ZIP archive; anything wrong with it becomes one error."""
    if sys.version_info >= (3, 14):
        import zipfile
    else:
        from backports.zstd import zipfile  # as in 3.14, which reads zstd
    try:
        with readable(source), zipfile.ZipFile(source) as archive:
            yield archive
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, lzma.LZMAError) as error:
        raise FileError(
            f"this is not an Inspect log, or it is damaged, cut off, or packed in an unknown way ({error})",
            source=source, hint="Download or write it again, or convert it: inspect log convert --to json",
        ) from None  # fmt: skip


def _reply(sample: Any) -> Reply | None:
    """Return the model's last output, None if it failed."""
    output = sample["output"]
    first = next(iter(_list(get(output, "choices"))), None)
    text = get(output, "completion") or _text(get(first, "message"))
    if sample.get("error") or sample.get("invalidation") or (first is None and not text):
        return None
    like_openai = {"message": {"content": text}, "finish_reason": get(first, "stop_reason")}
    return reply_of({"choices": [like_openai | {"logprobs": get(first, "logprobs")}]})


def _text(message: Any) -> str:
    """Return the text of a message, whose content may be in parts."""
    reply = reply_of({"choices": [{"message": message}]})
    return "" if reply is None else reply.text


def _list(value: Any) -> list[Any]:
    """Return what should be a list, or an empty list if it is not one."""
    return value if isinstance(value, list) else []


def _no_log(source: str, why: str) -> FileError:
    return FileError(f"this is not an Inspect log: {why}", source=source, hint="Name an .eval or .json log.")


# Samples of the lm-evaluation-harness ---------------------------------------------------------------------------------


SAMPLES = re.compile(r"samples_(?P<task>.+?)(_(?P<time>\d{4}-\d\d-\d\dT[\d.-]+))?\.jsonl(\.gz|\.zst)?", re.DOTALL)
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
        name = SAMPLES.fullmatch(called)
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
