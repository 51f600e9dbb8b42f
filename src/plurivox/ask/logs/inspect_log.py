"""Logs of Inspect: archives (``.eval``) whose entries are JSON, or one JSON object (``.json``)."""

from __future__ import annotations

import contextlib
import lzma
import re
import string
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plurivox.ask.logs import COLUMNS, Row, ScaleChoices, in_order
from plurivox.ask.question import Reply, distribution_of
from plurivox.ask.wire import get, reply_of
from plurivox.base.errors import FileError, InputError
from plurivox.base.files import note_input
from plurivox.read.json_documents import loaded
from plurivox.read.opening import readable

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
