"""The record of a lens: what the command line, the demo, the report, the documentation and the workbench read.

It names what is heavy as ``"module:attribute"`` and imports it when it is asked for, so that reading all records is
quick.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plurivox.settings import Settings

NOT_MET = 4
"""How a command ends whose result does not hold what was required of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option, or an argument, that tells where an input is or how to read it; ``several`` may be given at once."""

    name: str
    help: str
    metavar: str | None = None
    default: str | None = None
    argument: bool = False
    several: bool = False

    @property
    def option(self) -> str:
        """How it is written."""
        return f"--{self.name.replace('_', '-')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """Something besides ratings that a lens works on: a reference, answers, predictions.

    Attributes
    ----------
    name
        The argument of the Python function.
    options
        What the command line asks; the first tells where it is, or is not given.
    load
        A ``"module:function"`` that reads it: called with the values of the options by name, what the command line says
        about the ratings, and the ratings with what is known about them; None leaves the argument to its default.
    """

    name: str
    options: tuple[Option, ...]
    load: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortcut:
    """An option without a value that sets several settings, whatever else is said about them."""

    name: str
    help: str
    sets: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Instead:
    """An option without a value by which a command asks something else, that has a record of its own."""

    name: str
    help: str
    lens: Lens


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A file for other programs that a command writes besides, if ``-o`` names one.

    Attributes
    ----------
    name, help
        What it is called when it is written, and the help text of ``-o``.
    settings
        The class of the settings that say what is in it.
    check
        A ``"module:function"`` that is called before anything is read, with the path and the first of the settings.
    write
        A ``"module:function"`` that is called with the result, the path and the settings, and returns what to say.
    """

    name: str
    help: str
    settings: type[Settings]
    check: str
    write: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lens:
    """What is known about a lens before it is used.

    Attributes
    ----------
    name
        The Python function, and the section of ``plurivox.toml``.
    command
        What it is called on the command line.
    question
        What it tells, as the first line of its help.
    about
        The paragraph after it.
    order
        Where it stands among the others, smaller first.
    settings
        The class of its settings.
    inputs
        What it takes besides ratings.
    shortcuts
        Options that set several settings at once.
    showing
        The class of settings that say what the terminal shows; ``tables`` and ``show`` get them as keywords.
    every_attribute
        Whether the command takes every attribute of the raters if nobody says by which.
    attributes_needed
        Whether it then refuses ratings whose raters have none.
    questions
        Whether ``--combine`` asks about several questions together, and its result knows ``of_question``. Each of
        ``--score Q1,Q2`` is asked about in any case.
    threads
        Whether the command has ``--threads``.
    csv_tables
        What ``--table`` can choose for CSV: ``values`` is ``to_frame()``, others are methods of the result, or tables
        of a table result. The first is the default; without any there is no ``--table``.
    toml
        Its section of ``plurivox.toml``, if not its name.
    run, result
        The public function, if not the one of its name in ``run`` beside the settings, and the class that it returns.
    tables
        From a result to titled tables of text, title, header and rows of each; if not ``tables`` in ``tables`` there.
    brief
        From a result to what a terminal shows of it without ``--all``: tables of text, and short views; it gets those
        of ``showing`` that are said. Without it a terminal shows all tables, and there is no ``--all``.
    notes, closing
        From a result to notes that stand under its tables; and a sentence that always stands at the end.
    legend
        What stands right under the tables; None for what explains ↑, ↓ and * after the notes, empty for nothing.
    show
        Prints a result on a console, where tables, notes and findings are not enough.
    chart
        From a result to the chart that ``--chart FILE`` draws; without it there is no such option.
    gate
        From a result to a sentence for everything that was required and does not hold; then the command says so, and
        ends with :data:`NOT_MET`.
    written
        What the command writes besides, where ``-o`` names a file.
    instead
        What the command can be asked instead.
    section
        The section of the report.
    alone
        The input that is enough where there are no ratings; it can then be given as an option, too.
    kernel
        The compiled function that makes the first run slow.
    """

    name: str
    command: str
    question: str
    about: str = ""
    order: float = 100
    settings: type[Settings]
    inputs: tuple[Input, ...] = ()
    shortcuts: tuple[Shortcut, ...] = ()
    showing: type[Settings] | None = None
    every_attribute: bool = False
    attributes_needed: bool = True
    questions: bool = False
    threads: bool = True
    csv_tables: tuple[str, ...] = ()
    toml: str = ""
    run: str = ""
    result: str
    tables: str = ""
    brief: str = ""
    notes: str = ""
    closing: str = ""
    legend: str | None = None
    show: str = ""
    chart: str = ""
    gate: str = ""
    written: Written | None = None
    instead: Instead | None = None
    section: str = ""
    alone: str = ""
    kernel: str = ""

    def __post_init__(self) -> None:
        package = self.settings.__module__.rpartition(".")[0]
        usual = {"toml": self.name, "run": f"{package}.run:{self.name}", "tables": f"{package}.tables:tables"}
        for name, value in usual.items():
            object.__setattr__(self, name, getattr(self, name) or value)

    def load(self, what: str) -> Any:
        """Import what a reference names, such as ``"run"``, ``"result"`` or ``"tables"``; None if it is empty."""
        return imported(getattr(self, what))


def imported(reference: str) -> Any:
    """Return what ``"module:attribute"`` names, None for an empty text."""
    if not reference:
        return None
    module, _, attribute = reference.partition(":")
    return getattr(importlib.import_module(module), attribute)
