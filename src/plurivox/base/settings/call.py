"""From a settings record to the signature and the documentation of a public function with a keyword per setting."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING
from inspect import Parameter, Signature
from itertools import groupby
from typing import Any

from plurivox.base.settings.record import Settings, Spec

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
