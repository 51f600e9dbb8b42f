"""The record of a lens: what the command line, the demo, the report, the documentation and the workbench read.

It names heavy code as ``"module:attribute"`` and imports it only when needed, so that reading all records is quick.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plurivox.base import imported
from plurivox.base.settings import Settings

NOT_MET = 4
"""The exit code of a command whose result does not meet what was required."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option or argument that says where an input is or how to read it; ``several`` values may be given at once."""

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
    """An input of a lens other than ratings: a reference, answers, predictions.

    Attributes
    ----------
    name
        The argument of the Python function.
    options
        Its command-line options; the first says where it is, if it is given at all.
    load
        What reads it: a name that the command line knows, or a ``"module:function"`` of the lens's own. It is called
        with the values of the options by name, what the command line says about the ratings, and the ratings with what
        is known about them; None leaves the argument to its default.
    """

    name: str
    options: tuple[Option, ...]
    load: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortcut:
    """A flag that sets several settings and overrides whatever else sets them."""

    name: str
    help: str
    sets: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Instead:
    """A flag that makes a command answer another question, which has a record of its own."""

    name: str
    help: str
    lens: Lens


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A file for other programs that a command also writes if ``-o`` names one.

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
        What it answers, as the first line of its help.
    about
        The paragraph after it.
    order
        Its position among the others, smallest first.
    settings
        The class of its settings.
    inputs
        Its inputs other than ratings.
    shortcuts
        Options that set several settings at once.
    showing
        The class of settings that say what the terminal shows; ``tables`` and ``show`` get them as keywords.
    every_attribute
        Whether the command uses every attribute of the raters if none are named.
    attributes_needed
        Whether it then refuses ratings whose raters have no attributes.
    questions
        Whether ``--combine`` analyses several questions together, in which case its result has ``of_question``. Each
        question of ``--score Q1,Q2`` is analysed in any case.
    threads
        Whether the command has ``--threads``.
    csv_tables
        What ``--table`` can choose for CSV: ``values`` is ``to_frame()``, others are methods of the result, or tables
        of a table result. The first is the default; without any there is no ``--table``.
    toml
        Its section of ``plurivox.toml``, if not named after the lens.
    run, result
        The public function, if not the one of its name in the ``run`` module next to the settings, and the class that
        it returns.
    tables
        From a result to tables of text, each with title, header and rows; if not ``tables`` in the ``tables`` module.
    brief
        From a result to what a terminal shows of it without ``--all``: tables of text, and short views; it gets those
        settings of ``showing`` that are given. Without it, a terminal shows all tables, and there is no ``--all``.
    notes, closing
        From a result to the notes under its tables; and a sentence that always comes last.
    legend
        The text right under the tables; None for the explanation of ↑, ↓ and * after the notes, empty for nothing.
    gate
        From a result to a sentence for each requirement that is not met; the command then prints them and ends with
        :data:`NOT_MET`.
    written
        What the command also writes where ``-o`` names a file.
    instead
        The other questions that the command can answer instead.
    alone
        The input that suffices where there are no ratings; it can then also be given as an option.
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
    gate: str = ""
    written: Written | None = None
    instead: Instead | None = None
    alone: str = ""
    kernel: str = ""

    def __post_init__(self) -> None:
        package = self.settings.__module__.rpartition(".")[0]
        usual = {"toml": self.name, "run": f"{package}.run:{self.name}", "tables": f"{package}.tables:tables"}
        for name, value in usual.items():
            object.__setattr__(self, name, getattr(self, name) or value)

    @property
    def home(self) -> str:
        """The folder of the lens, after which its section of the report is named."""
        return self.settings.__module__.split(".")[-2]

    def load(self, what: str) -> Any:
        """Import what a reference names, such as ``"run"``, ``"result"`` or ``"tables"``; None if it is empty."""
        return imported(getattr(self, what))
