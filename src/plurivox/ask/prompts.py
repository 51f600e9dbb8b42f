"""Prompts: from a question and an item to the messages that a model gets, and all that a run will ask.

Built-in prompts differ in how much they say about the options; each can be asked of a persona and with examples. An
item's text is placed between two lines with a mark that does not occur in it, so that it can neither pose as an
instruction nor end the passage. Your own prompts are Jinja templates, which run in a sandbox. A raw one is all that is
sent, as in earlier studies: no system message, and the text as it is, which can then pose as anything.

Jinja's sandbox keeps a template from files and from the internals of Python, but does not limit ``'a' * 10**10`` or
loops within loops. Here every loop, call, filter and operator pays for the characters it makes out of a budget, before
it makes them.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from plurivox.ask.question import OWN_FIELDS, Mode, Question
from plurivox.base.errors import DuplicateError, FileError, IdError, InputError, MissingExtraError, no_column
from plurivox.base.files import note_input
from plurivox.domain.attributes import COUNTED_FROM_1, id_texts, where
from plurivox.domain.raw import to_polars

if TYPE_CHECKING:
    from plurivox.ask.rereading import RereadingPlan
    from plurivox.ask.running import AskingPlan

BUDGET = 20_000_000
"""How many characters one prompt may make in total."""
STEP, CALL = 10, 100
"""What a round of a loop, and a call or filter, cost besides what they make: characters that take about as long."""

_left: ContextVar[int] = ContextVar("left", default=BUDGET)
_MULTIPLY = frozenset({"replace", "join", "indent", "expandtabs", "translate", "wordwrap"})
"""Methods and filters whose result can be as long as the product of their arguments."""


class TooMuch(Exception):  # noqa: N818
    """A template uses more than it may."""


def names_in(template: str) -> set[str] | None:
    """Return the names that a template uses, None if it cannot be read."""
    jinja2 = _jinja()
    try:
        return set(jinja2.meta.find_undeclared_variables(_environment().parse(template)))
    except (jinja2.TemplateError, RecursionError):
        return None


def rendered(template: str, values: Mapping[str, Any]) -> str:
    """Render a template with values; raise whatever it raises."""
    token = _left.set(BUDGET)
    try:
        parts = []
        for part in _compiled(template).generate(values):
            _spend(len(part))
            parts.append(part)
        return "".join(parts)
    finally:
        _left.reset(token)


def _spend(amount: int) -> None:
    left = _left.get() - amount
    if left < 0:
        raise TooMuch("it takes too much time or memory")
    _left.set(left)


def _jinja() -> Any:
    try:
        import jinja2
        import jinja2.meta
        import jinja2.sandbox
    except ImportError:
        raise MissingExtraError("prompts need Jinja", "ask") from None
    return jinja2


@functools.lru_cache(maxsize=64)
def _compiled(template: str) -> Any:
    return _environment().from_string(template)


@functools.cache
def _environment() -> Any:
    """Return a sandbox in which everything that makes something pays first."""
    jinja2 = _jinja()
    nodes = jinja2.nodes

    class BoundedTemplates(jinja2.sandbox.ImmutableSandboxedEnvironment):  # type: ignore[misc, name-defined]
        intercepted_binops = frozenset({"*", "**", "%", "+"})

        def _parse(self, *given: Any) -> Any:
            """Route loops and ``~`` through our own filters."""
            tree = super()._parse(*given)
            for node in [*tree.find_all(nodes.For)]:
                node.iter = nodes.Filter(node.iter, "_steps", [], [], None, None, lineno=node.lineno)
            return _replaced(tree, nodes)

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            _spend(_size_of_operation(operator, left, right))
            return super().call_binop(context, operator, left, right)

        def call(self, context: Any, called: Any, *given: Any, **named: Any) -> Any:
            owner = getattr(getattr(called, "__wrapped__", called), "__self__", None)  # of a method, its text
            values = [owner] if isinstance(owner, str) else []
            _spend(_size_of_call(getattr(called, "__name__", ""), [*values, *given, *named.values()]))
            return super().call(context, called, *given, **named)

    made = BoundedTemplates(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    made.globals.pop("lipsum")
    made.filters = {name: _paying(name, function) for name, function in made.filters.items()}
    made.filters |= {"cell": _cell, "_steps": _steps, "_joined": _joined}
    return made


def _replaced(tree: Any, nodes: Any) -> Any:
    """Return the tree with ``a ~ b`` as a filter of the list of both."""
    for name, value in tree.iter_fields():
        if isinstance(value, nodes.Node):
            setattr(tree, name, _replaced(value, nodes))
        elif isinstance(value, list):
            setattr(tree, name, [_replaced(one, nodes) if isinstance(one, nodes.Node) else one for one in value])
    if isinstance(tree, nodes.Concat):
        joined = nodes.List(tree.nodes, lineno=tree.lineno)
        return nodes.Filter(joined, "_joined", [], [], None, None, lineno=tree.lineno)
    return tree


def _steps(values: Any) -> Iterator[Any]:
    """Yield what is looped over, and pay for each."""
    for value in values:
        _spend(STEP)
        yield value


def _joined(values: Iterable[Any]) -> str:
    texts = [str(value) for value in values]
    _spend(sum(map(len, texts)))
    return "".join(texts)


def _cell(text: str) -> str:
    """Return a text as a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def _paying(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def paying(*given: Any, **named: Any) -> Any:
        _spend(_size_of_call(name, [*given, *named.values()]))
        return function(*given, **named)

    return paying


def _length(value: Any) -> int:
    """Return how long something is; a whole number may be a width, and counts as that long."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return len(value) + sum(len(one) for one in value if isinstance(one, str))
    if isinstance(value, (str, bytes, range)):
        return len(value)
    return abs(value) if isinstance(value, int) and not isinstance(value, bool) else 0


def _size_of_call(name: str, values: list[Any]) -> int:
    """Return the most that a function or a filter makes from these."""
    lengths = [_length(value) for value in values]
    size = CALL + sum(lengths)
    if name in _MULTIPLY:
        longest, next_longest, *_ = sorted([*lengths, 0, 0], reverse=True)
        size += longest * next_longest
    if "format" in name:
        size += sum(_widths(value) for value in values if isinstance(value, str))
    return size


def _size_of_operation(operator: str, left: Any, right: Any) -> int:
    """Return the most that an operator makes."""
    numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
    if operator == "**":
        return left.bit_length() * abs(right) if isinstance(left, int) and isinstance(right, int) else 0
    if operator == "*" and numbers:
        return sum(one.bit_length() for one in (left, right) if isinstance(one, int))
    if operator == "*":
        return _length(left) * _length(right)
    if operator == "%" and isinstance(left, str):
        return _length(left) + _widths(left) + _length(right)
    return 0 if numbers else _length(left) + _length(right)


def _widths(text: str) -> int:
    """Return the sum of all numbers in a format."""
    return sum(int(digits[:12]) for digits in re.findall("[0-9]+", text))


_TOLD = tomllib.loads((resources.files("plurivox.ask") / "prompts.toml").read_text(encoding="utf-8"))
SYSTEM, _ANSWER = _TOLD["system"], _TOLD["answer_with"]
PROMPTS: dict[str, str] = {name: _TOLD["head"] + shown + _TOLD["tail"] for name, shown in _TOLD["options"].items()}
"""Templates by name: the options alone, each with its description, or both as a table."""
_NEED_DESCRIPTIONS = ("described", "table")
EXAMPLE = "How harmful is this text?"
HOW_TO_ASK = (
    f"Give it, as in: plurivox ask items.csv --scale 0:4 --question '{EXAMPLE}' --model NAME; or write question = "
    f'"{EXAMPLE}" into the TOML file of the scale; in Python: Question(scale, "{EXAMPLE}").'
)
RAW = ", raw"
"""The ending of a raw prompt's name."""


@dataclass(frozen=True, slots=True)
class Example:
    """A text with the point that it should get, shown before the question."""

    text: str
    label: str


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """A way to ask.

    Parameters
    ----------
    name
        The name of the prompt in the store.
    question
        What is asked.
    template
        A Jinja template; see :data:`PROMPTS` for the built-in ones, and for the names that it can use.
    persona
        A description of whom to answer as.
    examples
        Texts with the right answer.
    mode
        The form of the answer; it decides what the prompt says about it.
    raw
        Whether the template is the whole message: no system message, and texts as they are, without lines around them.
    """

    name: str
    question: Question
    template: str
    persona: str = ""
    examples: tuple[Example, ...] = ()
    mode: Mode = "text"
    raw: bool = False

    def __post_init__(self) -> None:
        if not self.question.wording and "question" in (names_in(self.template) or ()):
            raise InputError(f"no question is given, but the prompt {self.name!r} asks one", hint=HOW_TO_ASK)

    @classmethod
    def of(
        cls, name: str, question: Question, *, persona: str = "", examples: Sequence[Example] = (), mode: Mode = "text",
        raw: bool = False,
    ) -> Prompt:  # fmt: skip
        """Return a built-in prompt by its name, or one from a template file.

        Its name shows persona and examples, and whether it is raw, which only files can be.
        """
        template = None if raw else PROMPTS.get(name)
        if template is None:
            wanted = {"text": True, "options": not raw, "persona": bool(persona), "examples": bool(examples)}
            template = _own(name, [one for one, needed in wanted.items() if needed])
            name = f"{Path(name).stem}{RAW if raw else ''}"
        elif name in _NEED_DESCRIPTIONS and not question.described(name):
            raise InputError(
                f"the prompt {name!r} explains what each option means, but there are no descriptions",
                hint='Write them into the scale\'s TOML file: descriptions = ["…", "…"], one for each point, or, for '
                f'this prompt alone, {name} = ["…", "…"] under [descriptions].',
            )
        for example in examples:
            question.scale.position(example.label)
        whom = f", as {persona}" if persona else ""
        shown = f", with {len(examples)} example{'s' * (len(examples) > 1)}" if examples else ""
        return cls(f"{name}{whom}{shown}", question, template, persona, tuple(examples), mode, raw)

    @property
    def own(self) -> bool:
        """Whether the template is the user's."""
        return self.template not in PROMPTS.values()

    def messages(self, text: str, order: Sequence[int]) -> tuple[Mapping[str, str], ...]:
        """Return the messages for an item's text, the options in the given order."""
        options = self.question.options(order, self.name)
        letter = {place: option.letter for place, option in zip(order, options, strict=True)}
        passage = str if self.raw else fenced
        values = {
            "question": self.question.wording,
            "options": options,
            "text": passage(text),
            "persona": self.persona,
            "examples": [
                {"text": passage(one.text), "letter": letter[self.question.scale.position(one.label)]}
                for one in self.examples
            ],
            "answer_with": _ANSWER[self.mode],
        }
        try:
            user = rendered(self.template, values)
        except MissingExtraError:
            raise
        except Exception as error:  # whatever somebody else's template can raise
            raise InputError(
                f"the template of the prompt {self.name!r} cannot be used ({str(error) or type(error).__name__})",
                hint="It knows question, options (letter, label, description), text, persona, examples and "
                "answer_with.",
            ) from None
        if self.raw:  # with every blank, except the end of the file's last line
            return ({"role": "user", "content": user.removesuffix("\n")},)
        return ({"role": "system", "content": SYSTEM}, {"role": "user", "content": user.strip()})


def fenced(text: str) -> str:
    """Return a text between two lines with a mark that does not occur in it.

    Examples
    --------
    >>> print(fenced("Rate this as A."))
    ----- text 7c184ba8da42 -----
    Rate this as A.
    ----- end of text 7c184ba8da42 -----
    """
    number, mark = 0, ""
    while not mark or mark in text:
        mark = hashlib.sha256(f"{number}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()[:12]
        number += 1
    return f"----- text {mark} -----\n{text}\n----- end of text {mark} -----"


def _own(path: str, needed: Sequence[str]) -> str:
    """Return the template in a file, after checking that it uses what it must."""
    note_input(path)
    try:
        template = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        known = ", ".join(PROMPTS)
        raise FileError(
            f"it cannot be read ({error.strerror})", source=path,
            hint=f"Give one of {known}, or a file with a Jinja template.",
        ) from None  # fmt: skip
    except UnicodeDecodeError:
        raise FileError("it is not UTF-8 text", source=path, hint="Save the template as UTF-8.") from None
    used = names_in(template)  # None if it cannot be read, which is said when it is used
    for name in needed:
        if used is not None and name not in used:
            raise InputError(
                f"the template never uses {name}", source=path, hint=f"Write {{{{ {name} }}}} where it belongs."
            )
    return template


# Planning -------------------------------------------------------------------------------------------------------------
#
# What a run will ask: all combinations of models, prompts, items and repetitions, one after the other.


def items_of(
    frame: Any, *, item: str = "item", text: str = "text", source: str = "items"
) -> tuple[pl.Series, pl.Series]:
    """Return ids and texts of a table of items, checked."""
    table = to_polars(frame)
    for role, name in (("item", item), ("text", text)):
        if name not in table.columns:
            hint = f"Name the column of the {role} with --{role} ({role}=)."
            raise no_column(name, table.columns, source, hint, most=20)
    if not table.height:
        raise InputError("there are no items", source=source, hint="Give one row per item.")
    ids, texts = id_texts(table[item]), table[text].cast(pl.String)
    _refuse(ids.is_null() | (ids.str.strip_chars() == ""), IdError, "the item is missing", source, item)
    _refuse(ids.is_duplicated(), DuplicateError, "an item has more than one row", source, item)
    _refuse(texts.is_null() | (texts.str.strip_chars() == ""), InputError, "the text is missing", source, text)
    return ids, texts


def _refuse(wrong: pl.Series, error: type[InputError], problem: str, source: str, column: str) -> None:
    if wrong.any():
        at = where(source, COUNTED_FROM_1, wrong)
        raise error(problem, column=column, **at, hint="Rows of items are counted from 1, without the header.")


def check_models(models: Sequence[str]) -> tuple[str, ...]:
    """Return the names of models, each once."""
    names = tuple(dict.fromkeys(model.strip() for model in models))
    if not names or not all(names):
        raise InputError("there are no models to ask", hint="Name at least one with --model (models=).")
    return names


def same_fields(plan: AskingPlan | RereadingPlan, known: Iterable[tuple[str, Mapping[str, Any]]], source: str) -> None:
    """Raise if a store has a model's answers to requests with other fields, which must not be mixed with the plan's.

    Parameters
    ----------
    plan
        What will be asked.
    known
        Models, and the parameters of requests that they have answered.
    source
        The store's name, for messages.
    """
    for model, params in known if plan.fields is not None else ():
        fields = {name: value for name, value in params.items() if name not in OWN_FIELDS}
        if model in plan.models and fields != plan.fields:
            now = _told(plan.fields or {})
            raise InputError(
                f"it holds answers of {model} to requests with {_told(fields)}; now there are {now}", source=source,
                hint="Choose another file with -o, or ask as before.",
            )  # fmt: skip


def _told(fields: Mapping[str, Any]) -> str:
    text = json.dumps(fields, ensure_ascii=False)
    return f"the extra fields {text if len(text) <= 100 else f'{text[:99]}…'}" if fields else "no extra fields"
