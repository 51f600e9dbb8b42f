"""Jinja templates from anyone, rendered in a sandbox that limits what they use as well as what they touch.

Jinja's sandbox keeps a template from files and from the internals of Python, but does not limit ``'a' * 10**10`` or
loops within loops. Here every loop, call, filter and operator pays for the characters it makes out of a budget, before
it makes them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from plurivox.base.errors import MissingExtraError

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
    for field, value in tree.iter_fields():
        if isinstance(value, nodes.Node):
            setattr(tree, field, _replaced(value, nodes))
        elif isinstance(value, list):
            setattr(tree, field, [_replaced(one, nodes) if isinstance(one, nodes.Node) else one for one in value])
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
    if isinstance(value, bool):
        return 0
    if isinstance(value, int):
        return abs(value)
    if isinstance(value, (str, bytes, range)):
        return len(value)
    if isinstance(value, (list, tuple)):
        return len(value) + sum(len(one) for one in value if isinstance(one, str))
    if isinstance(value, dict):
        return len(value) + sum(len(one) for one in value.values() if isinstance(one, str))
    return 0


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
