"""Every way in which the program takes a file, found from its commands, and one call that gives it a bad one."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from hostile.corpus import GOOD, ROWS
from plurivox.cli.app import program

OUTPUTS = frozenset(("output", "chart", "selected", "decisions", "export"))
"""Options that name files to write."""
_FILES = ("FILE", "FILES", "ITEMS", "PREDICTIONS", "ANSWERS", "STORE", "MODEL")
_ITEMS = sorted({item for item, _, _ in ROWS})
GIVEN: dict[str, str] = {
    "ratings.csv": GOOD,
    "items.csv": "item,text\n" + "".join(f"{item},some text {item}\n" for item in _ITEMS),
    "raters.csv": "rater,g\n" + "".join(f"r{rater},{'xy'[rater % 2]}\n" for rater in range(8)),
    "predictions.csv": "model,item,0,1,2,3,4\n" + "".join(f"m,{item},0.2,0.2,0.2,0.2,0.2\n" for item in _ITEMS),
    "answers.csv": "model,item,answer\n" + "".join(f"m,{item},2\n" for item in _ITEMS),
}
"""Good files, which stand where the bad one does not."""
_GOOD = {
    "FILE": "ratings.csv", "FILES": "ratings.csv", "ITEMS": "items.csv", "PREDICTIONS": "predictions.csv",
    "ANSWERS": "answers.csv",
}  # fmt: skip
_OTHERS = {
    "wanted": _ITEMS[0], "scale": "0:4", "model": "m", "store": "answers.csv", "paper": "grasp", "action": "check",
}  # fmt: skip
"""What else has to be given, by the name of the parameter."""
_ALWAYS = {"ask": ("--base-url", "http://127.0.0.1:9"), "pack": ("-o", "packed.pvx")}
"""Options that a command is always given: a server that is not there, what to make."""


@dataclass(frozen=True)
class Call:
    """A command, and the argument or option in which it is given a bad file."""

    command: str
    slot: str

    def __str__(self) -> str:
        return f"{self.command} {self.slot}"

    def arguments(self, good: Path, bad: Path, more: tuple[str, ...] = ()) -> list[str]:
        """Return the command line; ``more`` are options of the bad file, where the command has such options."""
        command = _commands()[self.command]
        line = [self.command, *_ALWAYS.get(self.command, ())]
        known = {name for one in command.params for name in one.opts}
        for one in command.params:
            if one.name == self.slot:
                value = str(bad)
            elif one.required or self._needed(one):
                value = str(good / _GOOD[one.metavar]) if one.metavar in _GOOD else _OTHERS[one.name]
            else:
                continue
            line += [one.opts[0], value] if one.param_type_name == "option" else [value]
        return line + (
            list(more) if self.slot == "file" and {name for name in more if name[:2] == "--"} <= known else []
        )

    def _needed(self, one: Any) -> bool:
        """Tell whether an argument that may be left out is given all the same: align takes either of two."""
        return self.slot != "alone" and one.param_type_name == "argument" and one.metavar in _GOOD


@functools.cache
def _commands() -> dict[str, Any]:
    found: Any = typer.main.get_command(program())
    return dict(found.commands)


def calls() -> Iterator[Call]:
    """Yield every command with every argument or option of it that names a file to read."""
    for name, command in _commands().items():
        if name == "serve":  # takes any file as it is; what is wrong with it is said on its page
            continue
        for one in command.params:
            metavar = str(getattr(one, "metavar", None) or "")
            if one.name not in OUTPUTS and any(part.strip() in _FILES for part in metavar.split("|")):
                yield Call(name, one.name)
