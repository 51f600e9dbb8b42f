"""The record of a lens: what the command line, the demo, the report, the documentation and the workbench read.

It names heavy code as ``"module:attribute"`` and imports it only when needed, so that reading all records is quick.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from plurivox.base import imported
from plurivox.base.arguments import become_public, check_given, docs_of, kinds_of, signature_of
from plurivox.base.errors import UnweightedWarning
from plurivox.base.settings import Settings
from plurivox.base.settings.record import without_removed

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
        What reads it: a name that the command line knows, its own by default, or a ``"module:function"`` of the lens's.
        It is called with the values of the options by name, what the command line says about the ratings, and the
        ratings with what is known about them; None leaves the argument to its default.
    """

    name: str
    options: tuple[Option, ...]
    load: str = ""


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
    headlines
        Whether its claims may become headlines of a report, over all of whose lenses they are corrected.
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
        it returns. A lens may also be one module, which then has its settings, this function and ``tables``.
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
    headlines: bool = False
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
        own = ".".join(self.settings.__module__.split(".")[:3])
        folder = hasattr(sys.modules[own], "__path__")  # else a single module has everything
        run, tables = (f"{own}.run", f"{own}.tables") if folder else (own, own)
        usual = {"toml": self.name, "run": f"{run}:{self.name}", "tables": f"{tables}:tables"}
        for name, value in usual.items():
            object.__setattr__(self, name, getattr(self, name) or value)

    @property
    def home(self) -> str:
        """The folder or the module of the lens, after which its section of the report is named."""
        return self.settings.__module__.split(".")[2]

    @property
    def needs(self) -> tuple[str, ...]:
        """The inputs without which it cannot be used."""
        return tuple(one.name for one in self.inputs if one.options[0].argument)

    def load(self, what: str) -> Any:
        """Import what a reference names, such as ``"run"``, ``"result"`` or ``"tables"``; None if it is empty."""
        return imported(getattr(self, what))


# Inputs ---------------------------------------------------------------------------------------------------------------
#
# The inputs of lenses other than ratings, each declared once.


REFERENCE = Input(
    name="reference", options=(
        Option(
            name="reference", metavar="FILE|ATTRIBUTE=VALUE|crowd", default="crowd",
            help="What to compare scores with: a file of other ratings of the same items (trained raters, a language "
            "model), a group of the same raters (gender=Woman, rater=gpt-4o), or crowd (all other raters).",
        ),
        Option(
            name="reference_column", metavar="COLUMN",
            help="Instead of --reference: a column of the items table that labels each item, such as a gold label.",
        ),
        Option(
            name="reference_scale", metavar="POINTS",
            help="Scale of the reference file or column, as for --scale (safe,unsafe); same: the scale of the ratings.",
        ),
        Option(
            name="reference_where", metavar="ATTRIBUTE=VALUE",
            help="Keep only these raters of the reference: rater=gpt-4o.",
        ),
    ),
)  # fmt: skip
PREDICTIONS = Input(
    name="predictions", options=(
        Option(
            name="predictions", metavar="PREDICTIONS", argument=True, several=True,
            help="Tables with a model, an item, and a column of probabilities for each point of the scale, named after "
            "it. Without a 'model' column, the file name is used as the model's name.",
        ),
    ),
)  # fmt: skip
ANSWERS = Input(
    name="answers", options=(
        Option(
            name="answers", metavar="ANSWERS", argument=True,
            help="A store written by plurivox ask, a table (model, item, answer), or an Inspect or lm-eval log.",
        ),
        Option(name="model", help="Column with the model.", metavar="COLUMN"),
        Option(name="answer", help="Column with the answer.", metavar="COLUMN"),
    ),
)  # fmt: skip
ITEM_ANSWERS = replace(ANSWERS, load="item_answers")
"""The same, plus what the items table says about items that nobody rated."""
TRAIN = Input(name="train", options=(
    Option(name="train", help="Ratings of other items, for the marginal prediction and the prior.", metavar="FILE"),
))  # fmt: skip
TRAINED = Input(name="trained", options=(
    Option(name="trained", help="Ratings of trained raters, to judge models against (MPA, WRA).", metavar="FILE"),
    Option(name="trained_scale", help="Their scale: 0:1, or safe,unsafe.", metavar="POINTS"),
))  # fmt: skip


# Keywords -------------------------------------------------------------------------------------------------------------
#
# From a settings record to the keywords of a lens, with what belongs to every call of one.


R = TypeVar("R")

_RATINGS = "Who rated what."
_HOW = {"threads": "int | None", "executor": "Executor | None", "progress": "Progress | None"}
_HOW_DOCS = {
    "threads, executor": "How many threads to use, one per core by default; or an executor to use instead.",
    "progress": "Called with the current task, how much of it is done, and its total.",
}


class PublicFunction(Protocol[R]):
    """A public function made by :func:`keywords`."""

    __name__: str
    settings: type[Settings]
    """The class of the record made from its keywords."""
    run: Callable[..., R]
    """The function behind it, which takes the record as ``settings`` and how to run as ``how``."""
    weights: bool
    """Whether it counts raters by their weights."""

    def __call__(self, *args: Any, **given: Any) -> R:
        """Call it with keywords."""


def keywords(
    settings: type[Settings], positional: Sequence[str] = ("by",), *, weights: bool = False
) -> Callable[[Callable[..., R]], PublicFunction[R]]:
    """Turn a function that takes settings as one record into a public function with one keyword per setting.

    The function has inputs, and the keyword-only arguments ``settings`` and ``how``, a
    :class:`~plurivox.engine.pool.Running`. The public one has the inputs, then the settings named in
    ``positional``, and, as keywords only, all other settings, keyword-only inputs, ``threads``, ``executor`` and
    ``progress``. Inputs are checked by their annotations, settings by the record. Its docstring describes them all;
    inputs other than ratings must be described by hand.

    ``weights`` says that the function counts raters by ``ratings.weights``. One that does not is given ratings without
    weights, and a warning says so: weights are never ignored in silence.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from plurivox.base.settings import shared
    >>> @dataclass(frozen=True, kw_only=True, slots=True)
    ... class ToySettings(Settings):
    ...     by: tuple[tuple[str, ...], ...] = shared.by()
    ...     seed: int = shared.seed()
    >>> @keywords(ToySettings)
    ... def toy(ratings, *, settings, how):
    ...     '''Show what was asked.'''
    ...     return settings.as_dict()
    >>> toy(None, "age", seed=3)
    {'by': [['age']], 'seed': 3}
    """

    def decorate(run: Callable[..., R]) -> PublicFunction[R]:
        signature = signature_of(
            run, settings, settings.specs(), leave=("settings", "how"), positional=positional, more=_HOW
        )

        @functools.wraps(run)
        def public(*args: Any, **given: Any) -> R:
            from plurivox.engine.pool import Running
            from plurivox.engine.run import answering

            try:
                values = signature.bind(*args, **without_removed(given)).arguments
            except TypeError as error:
                raise TypeError(f"{run.__name__}() {error}") from None
            asked = {name: values.pop(name) for name in settings.specs() if name in values}
            how = {name: values.pop(name) for name in _HOW if name in values}
            check_given(values, kinds_of(run))
            record = settings(**asked)
            _of_enough_raters(values.get("ratings"), record)
            if not weights and "ratings" in values:
                values["ratings"] = counting_alike(values["ratings"], run.__name__)
            with answering(values.get("ratings")):
                return run(**values, settings=record, how=Running.given(**how))

        become_public(public, run, signature, {"ratings": _RATINGS, **_HOW_DOCS, **docs_of(settings.specs())})
        public.settings = settings  # type: ignore[attr-defined]
        public.run = _checked(run, weights=weights)  # type: ignore[attr-defined]
        public.weights = weights  # type: ignore[attr-defined]
        return public  # type: ignore[return-value]

    return decorate


def _checked(run: Callable[..., R], *, weights: bool) -> Callable[..., R]:
    """Return the function behind a public one, with the same checks."""

    @functools.wraps(run)
    def checked(ratings: Any, *args: Any, settings: Settings, **given: Any) -> R:
        from plurivox.engine.run import answering

        _of_enough_raters(ratings, settings)
        ratings = ratings if weights else counting_alike(ratings, run.__name__)
        with answering(ratings):
            return run(ratings, *args, settings=settings, **given)

    return checked


def counting_alike(ratings: Any, what: str) -> Any:
    """Return ratings without weights for a function that does not use them, and warn if they had any."""
    if getattr(ratings, "weights", None) is None:
        return ratings
    warnings.warn(UnweightedWarning(f"{what} does not use weights: every rater counts equally"), stacklevel=3)
    return ratings.unweighted()


def _of_enough_raters(ratings: Any, settings: Settings) -> None:
    """Refuse a selection of raters if it is smaller than the smallest group that may be shown."""
    intake = getattr(ratings, "intake", None)
    if intake is not None and intake.selected_raters:
        from plurivox.domain.axis import enough_left

        enough_left(ratings.n_raters, getattr(settings, "min_group_size", 1), intake.source)
