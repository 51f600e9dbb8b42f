"""Arguments of public functions, checked against their annotations: an error names the wrong argument.

Annotations are what a reader and a type checker see, so they are also what is checked, here and nowhere else::

    @checked
    def combine(questions: Mapping[str, Ratings], rule: str | Sequence[Label] = "highest") -> Ratings: ...

    combine(3)  # InputError: questions is 3. Give a mapping.

What a class cannot express, such as "any frame", is written as ``Annotated[Any, Kind(…)]``. Only given values are
checked, never defaults. Numbers may come from numpy, lists may be arrays or series; a text is not a list, and True is
not a number.
"""

from __future__ import annotations

import functools
import inspect
import operator
import os
import re
import textwrap
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from inspect import Parameter, Signature
from itertools import groupby
from numbers import Integral, Real
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, ParamSpec, TypeVar

from plurivox.base.errors import ColumnError, InputError

if TYPE_CHECKING:
    from plurivox.base.settings.record import Settings, Spec

P = ParamSpec("P")
R = TypeVar("R")

SHOWN = 80
"""Characters of a wrong value that a message quotes."""
MOST_DRAWS = 10_000_000
"""The most permutations and bootstrap draws: they are kept, and this many for a few groups take a gigabyte."""
MOST_THREADS = 1_000
LARGEST = 2**63 - 1
"""The largest whole number that numpy, polars and the JSON of others can hold."""
_NOUNS: dict[Any, str] = {
    bool: "True or False", int: "a whole number", float: "a number", str: "a text", dict: "a dict", bytes: "bytes",
    Mapping: "a mapping", Sequence: "a list", Iterable: "a list", Collection: "a list", list: "a list",
    tuple: "a tuple", os.PathLike: "a path", Callable: "a function", types.NoneType: "None",
}  # fmt: skip
_PLURALS: dict[Any, str] = {str: "texts", int: "whole numbers", float: "numbers"}
_HINTS = {
    "Ratings": "Ratings: read_ratings(file) or Ratings.from_frame(frame) makes them",
    "Executor": "an executor of concurrent.futures",
}
"""What to give if the name of a class alone does not help."""
_LISTS = (list, tuple, set, frozenset, range)


class Kind(NamedTuple):
    """What an argument may be if its type does not say so in helpful words."""

    words: str
    """What to give, as it follows "Give" in a message."""
    test: Callable[[Any], bool] | None = None
    """The test to apply, if it is not the type."""
    error: type[InputError] = InputError
    """What is raised."""


def is_frame(value: Any) -> bool:
    """Return whether narwhals accepts a value as a frame."""
    import narwhals as nw

    try:
        nw.from_native(value)
    except TypeError:
        return False
    return True


def is_path(value: Any) -> bool:
    """Return whether the system could have a file with this name."""
    try:
        return isinstance(value, str | os.PathLike) and b"\0" not in os.fsencode(value)
    except (TypeError, UnicodeEncodeError):
        return False


def is_text(value: Any) -> bool:
    """Return whether a value is text: half a surrogate pair is not, but an escaped byte of a file name is."""
    try:
        return isinstance(value, str) and value.encode(errors="surrogateescape") is not None
    except UnicodeEncodeError:
        return False


FilePath = Annotated[str | os.PathLike[str], Kind("the path of a file", is_path)]
"""Where a file is."""
FilePaths = Annotated[
    str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    Kind(
        "the path of a file, or a list of paths",
        lambda given: all(map(is_path, given if isinstance(given, list | tuple) and given else [given])),
    ),
]
"""Where one or several files are."""
Frame = Annotated[Any, Kind("a frame of pandas, polars or pyarrow", is_frame, ColumnError)]
"""A table of any library that narwhals knows."""


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Check the arguments of a public function against its annotations before it runs.

    Raises
    ------
    InputError
        With the name of the argument, what it is, and what to give instead.

    Examples
    --------
    >>> @checked
    ... def half(number: float) -> float:
    ...     return number / 2
    >>> half("4")
    Traceback (most recent call last):
    plurivox.base.errors.InputError: number is '4'. Give a number.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def public(*args: P.args, **given: P.kwargs) -> R:
        try:
            values = signature.bind(*args, **given).arguments
        except TypeError as error:
            raise TypeError(f"{function.__name__}() {error}") from None
        check_given(values, kinds_of(function))
        return function(*args, **given)

    return public


def check_methods(cls: type) -> None:
    """Check the arguments of the public methods that a class itself defines."""
    for name, member in list(vars(cls).items()):
        takes = inspect.isfunction(member) and len(inspect.signature(member).parameters) > 1
        if takes and not name.startswith("_") and not hasattr(member, "__wrapped__"):
            setattr(cls, name, checked(member))


def check_fields(record: Any) -> None:
    """Check the fields of a dataclass against their annotations."""
    kinds = typing.get_type_hints(type(record), include_extras=True)
    check_given({one.name: getattr(record, one.name) for one in fields(record)}, kinds)


def check_given(values: Mapping[str, Any], kinds: Mapping[str, Any]) -> None:
    """Raise an InputError for the first value that is not of its kind."""
    for name, value in values.items():
        if name in kinds and not fits(value, kinds[name]):
            raise wrong(name, value, kinds[name])


@functools.cache
def kinds_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return what each argument may be; types known only to a type checker accept anything."""
    found = {}
    where = getattr(inspect.unwrap(function), "__globals__", {})
    for name, one in inspect.signature(function).parameters.items():
        if one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL) or one.annotation is one.empty:
            continue
        try:
            found[name] = eval(one.annotation, where) if isinstance(one.annotation, str) else one.annotation  # noqa: S307
        except NameError:
            continue
    return found


def wrong(name: str, value: Any, kind: Any) -> InputError:
    """Return the error for an argument of the wrong kind."""
    parts = (kind, *typing.get_args(kind))
    named = [one for part in parts for one in getattr(part, "__metadata__", ()) if isinstance(one, Kind)]
    raised = named[0].error if named else InputError
    return raised(f"{name} is {shown(value)}", hint=f"Give {words(kind)}.")


def shown(value: Any) -> str:
    """Return a short text for a value: itself if it is one short line, otherwise its type."""
    try:
        text = repr(value)
    except Exception:  # such as a whole number of 5,000 digits
        text = "\n"
    if isinstance(value, int) and not -(10**SHOWN) < value < 10**SHOWN:
        return f"a whole number of more than {SHOWN} digits"
    if len(text) > SHOWN and isinstance(value, str):
        return f"{value[:SHOWN]!r}…"
    if len(text) > SHOWN or not text.isprintable():
        kind = type(value).__name__
        return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def _meant(kind: Any) -> Any:
    """Return what an alias made by ``type`` stands for; from Python 3.12 on, numpy's ``NDArray`` is one."""
    return getattr(typing.get_origin(kind) or kind, "__value__", kind)


def fits(value: Any, kind: Any) -> bool:
    """Return whether a value matches an annotation."""
    kind = _meant(kind)
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        tests = [one.test for one in parts[1:] if isinstance(one, Kind) and one.test is not None]
        return all(test(value) for test in tests) if tests else fits(value, parts[0])
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, one) for one in parts)
    if origin is Literal:
        return value in parts if isinstance(value, str | int) else False
    if origin is not None:
        return _fits_parts(value, origin, parts)
    if kind is Any or isinstance(kind, TypeVar | str) or getattr(kind, "_is_protocol", False):
        return True
    if kind in (None, types.NoneType):
        return value is None
    return _fits_class(value, kind)


def scalar(value: Any) -> Any:
    """Return a numpy number or text as its Python equivalent, and other things unchanged."""
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value


def _fits_class(value: Any, kind: type) -> bool:
    value = scalar(value)
    if kind not in (int, float):
        return is_text(value) if kind is str else isinstance(value, kind)
    if isinstance(value, bool) or not isinstance(value, Integral if kind is int else Real):
        return False
    try:
        float(value)
    except OverflowError:  # a whole number of 400 digits
        return kind is int
    return True


def _fits_parts(value: Any, origin: Any, parts: tuple[Any, ...]) -> bool:
    """Return whether a value is a mapping, a list, a function or something else with parts of the right kinds."""
    if issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            fits(key, parts[0]) and fits(one, parts[1]) for key, one in value.items()
        )
    if origin is tuple and parts and parts[-1] is not ...:
        pair = isinstance(value, tuple | list) and len(value) == len(parts)
        return pair and all(map(fits, value, parts))
    if origin in (Sequence, Iterable, Collection, list, tuple):
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            return False
        for name in ("tolist", "to_list"):
            value = getattr(value, name)() if hasattr(value, name) else value
        if isinstance(value, _LISTS):
            return all(fits(one, parts[0]) for one in value)
        return isinstance(value, origin)  # what can be iterated only once is checked by whoever iterates
    return callable(value) if origin is Callable else isinstance(value, origin)


def words(kind: Any) -> str:
    """Return what may be given, as it follows "Give"."""
    kind = _meant(kind)
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return next((one.words for one in parts[1:] if isinstance(one, Kind)), "another value")
    if origin is Literal:
        return f"one of {', '.join(map(str, parts))}"
    if origin in (typing.Union, types.UnionType):
        each = dict.fromkeys(words(one) for one in parts)
        each = dict.fromkeys(one for one in each if not (one == "a whole number" and "a number" in each))
        return _joined(list(each))
    if origin in (Sequence, Iterable, Collection, list) and parts and parts[0] in _PLURALS:
        return f"a list of {_PLURALS[parts[0]]}"
    if origin is tuple and parts and parts[-1] is not ...:
        return f"{'two' if len(parts) == 2 else len(parts)} {_PLURALS.get(parts[0], 'values')}"
    if origin in (Mapping, dict) and len(parts) == 2 and parts[0] is str:
        return f"a mapping from texts to {_PLURALS.get(parts[1], 'values')}"
    known = _NOUNS.get(origin or kind)
    if known is not None:
        return known
    name = getattr(origin or kind, "__name__", str(kind))
    return _HINTS.get(name, name)


def _joined(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"


def whole(name: str, value: Any, least: int, most: int = LARGEST) -> int:
    """Return a whole number within bounds.

    Raises
    ------
    InputError
        If it is something else: a text, a fraction, NaN, True, or out of bounds.
    """
    number = value if not isinstance(value, bool) else None
    try:
        found = operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        found = least - 1
    if not least <= found <= most:
        bounds = f"of at least {least:,}" if most == LARGEST else f"from {least:,} to {most:,}"
        raise InputError(f"{name} is {shown(value)}", hint=f"Give a whole number {bounds}.")
    return found


# Public functions of settings -----------------------------------------------------------------------------------------
#
# From a settings record to the signature and the documentation of a public function with a keyword per setting.


_WIDTH = 116


def signature_of(
    run: Callable[..., Any],
    settings: type[Settings],
    specs: Mapping[str, Spec],
    *,
    leave: Sequence[str] = ("settings",),
    positional: Sequence[str] = (),
    more: Mapping[str, str] | None = None,
) -> Signature:
    """Return the signature of the public function made of one that takes its settings as a record.

    It has the inputs of ``run``, apart from those to ``leave``; then the settings in ``positional``; then, as keywords
    only, all other settings, the keyword-only inputs, and ``more``, annotations by name, which are None by default.
    """
    own = inspect.signature(run)
    inputs = [one for one in own.parameters.values() if one.name not in leave]
    written: dict[str, Any] = {}
    for cls in reversed(settings.__mro__):
        written |= inspect.get_annotations(cls)
    options = []
    for name, spec in specs.items():
        kind = Parameter.POSITIONAL_OR_KEYWORD if name in positional else Parameter.KEYWORD_ONLY
        default = Parameter.empty if spec.default is MISSING else spec.default
        options.append(Parameter(name, kind, annotation=spec.accepts or written[name], default=default))
    options.sort(key=lambda one: positional.index(one.name) if one.name in positional else len(positional))
    how = [
        Parameter(name, Parameter.KEYWORD_ONLY, annotation=text, default=None) for name, text in (more or {}).items()
    ]
    first = [one for one in inputs if one.kind is not Parameter.KEYWORD_ONLY]
    last = [one for one in inputs if one.kind is Parameter.KEYWORD_ONLY]
    return own.replace(parameters=[*first, *options, *last, *how])


def become_public(public: Any, run: Callable[..., Any], signature: Signature, texts: Mapping[str, str]) -> None:
    """Give a public function the signature, the annotations and the documentation of its parameters.

    ``texts`` describe parameters by name, or several that are described together: ``"threads, executor"``. The
    docstring of ``run`` has to describe all others, and comes before them.
    """
    public.__signature__ = signature
    public.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()}
    public.__annotations__["return"] = signature.return_annotation
    public.__doc__ = None if run.__doc__ is None else _documentation(run, signature, texts)


def docs_of(specs: Mapping[str, Spec]) -> dict[str, str]:
    """Return what the documentation says about settings; neighbours with the same text are described together."""
    runs = groupby(specs.items(), key=lambda one: one[1].doc)
    return {", ".join(name for name, _ in run): text for text, run in runs}


def _documentation(run: Callable[..., Any], signature: Signature, texts: Mapping[str, str]) -> str:
    """Return the docstring with all parameters in the order of the signature."""
    before, entries, after = _split(inspect.cleandoc(run.__doc__ or ""))
    known = {name: (names, _filled(text)) for names, text in texts.items() for name in names.split(", ")}
    known |= {name: (names, text) for names, text in entries.items() for name in names.split(", ")}
    lines, told = [], set()
    for name in signature.parameters:
        if name not in known:
            raise TypeError(f"the docstring of {run.__name__} does not say what '{name}' is")
        names, text = known[name]
        if names not in told:
            lines += [names, text]
            told.add(names)
    section = "\n".join(["Parameters", "----------", *lines])
    return "\n\n".join(part for part in (before, section, after) if part) + "\n"


def _filled(text: str) -> str:
    indent = "    "
    return textwrap.fill(
        text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _split(text: str) -> tuple[str, dict[str, str], str]:
    """Return what comes before the parameters, those described by hand, and the sections after them."""
    heads = list(re.finditer(r"^(\w[\w ]*)\n-{3,}$", text, flags=re.MULTILINE))
    own = next((head for head in heads if head[1] == "Parameters"), None)
    later = [head for head in heads if head is not own and (own is None or head.start() > own.start())]
    end = later[0].start() if later else len(text)
    start = own.start() if own else end
    entries: dict[str, str] = {}
    described = text[own.end() : end] if own else ""
    for entry in re.finditer(r"^(\w[\w, ]*)\n((?:[ ]{4}.*\n?|[ ]*\n)+)", described, flags=re.MULTILINE):
        entries[entry[1]] = entry[2].rstrip()
    return text[:start].rstrip(), entries, text[end:].rstrip()
