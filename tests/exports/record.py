"""What a case is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Kind = Literal["plain", "awkward", "broken"]


@dataclass(frozen=True)
class Case:
    """A file, or a folder of files, and what is read from it.

    Attributes
    ----------
    format
        The platform, or the kind of file, that it is taken for: what ``--format`` would call it.
    kind
        Plain, awkward (one of the traps of that format), or broken.
    name
        The name of the file or folder, whose ending tells what it is.
    content
        Text, bytes, or, of a folder, the content of each file in it.
    given
        What has to be said: keywords of ``read_ratings``.
    beside
        Files that are given as well: keyword of ``read_ratings`` → name and content.
    ratings
        The ratings expected: (item, rater, score), all as text, sorted.
    left_out
        What is left out, and how often.
    remarks
        Pieces of what is remarked besides.
    raters, items
        Attributes of some raters or items: id → attribute → value.
    error
        Pieces of the error of a broken file, which is one line, names the file, and says what to do.
    """

    format: str
    kind: Kind
    name: str
    content: str | bytes | Mapping[str, str | bytes]
    given: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    ratings: tuple[tuple[str, str, str], ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    raters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    items: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    error: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """What the case is called in a list of tests."""
        return f"{self.format}-{self.kind}-{self.name}"

    def write(self, folder: Path) -> Path:
        """Write the file, or the folder, and return its path."""
        path = folder / self.name
        files = {".": self.content} if isinstance(self.content, str | bytes) else self.content
        for name, content in files.items():
            file = path / name if name != "." else path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def arguments(self, folder: Path) -> dict[str, Any]:
        """Write the files beside, and return the keywords."""
        files = {keyword: folder / name for keyword, (name, _) in self.beside.items()}
        for keyword, (_, content) in self.beside.items():
            files[keyword].write_text(content, encoding="utf-8")
        return {**self.given, **files}


def lines(*records: Any) -> str:
    """Return JSON lines."""
    return "".join(json.dumps(record) + "\n" for record in records)
