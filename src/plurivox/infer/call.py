"""From a settings record to the keywords of a public function, its signature and its documentation."""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
import warnings
from collections.abc import Callable, Sequence
from dataclasses import MISSING
from inspect import Parameter, Signature
from typing import Any, Protocol, TypeVar

from plurivox.base.arguments import check_given, kinds_of
from plurivox.base.errors import UnweightedWarning
from plurivox.base.settings.record import Settings, without_removed

R = TypeVar("R")

_RATINGS = "Who rated what."
_HOW = {"threads": "int | None", "executor": "Executor | None", "progress": "Progress | None"}
_HOW_DOCS = {
    "threads, executor": "How many threads to use, one per core by default; or an executor to use instead.",
    "progress": "Called with the current task, how much of it is done, and its total.",
}
_WIDTH = 116


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
    :class:`~plurivox.engine.running.Running`. The public one has the inputs, then the settings named in
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
        signature = _signature(run, settings, positional)

        @functools.wraps(run)
        def public(*args: Any, **given: Any) -> R:
            from plurivox.engine.resuming import answering
            from plurivox.engine.running import Running

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

        public.__signature__ = signature  # type: ignore[attr-defined]
        public.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()}
        public.__annotations__["return"] = signature.return_annotation
        public.__doc__ = _documentation(run, signature, settings)
        public.settings = settings  # type: ignore[attr-defined]
        public.run = _checked(run, weights=weights)  # type: ignore[attr-defined]
        public.weights = weights  # type: ignore[attr-defined]
        return public  # type: ignore[return-value]

    return decorate


def _checked(run: Callable[..., R], *, weights: bool) -> Callable[..., R]:
    """Return the function behind a public one, with the same checks."""

    @functools.wraps(run)
    def checked(ratings: Any, *args: Any, settings: Settings, **given: Any) -> R:
        from plurivox.engine.resuming import answering

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
        from plurivox.domain.withholding import enough_left

        enough_left(ratings.n_raters, getattr(settings, "min_group_size", 1), intake.source)


def _signature(run: Callable[..., Any], settings: type[Settings], positional: Sequence[str]) -> Signature:
    """Return the signature of the public function."""
    own = inspect.signature(run)
    inputs = [one for one in own.parameters.values() if one.name not in ("settings", "how")]
    written: dict[str, Any] = {}
    for cls in reversed(settings.__mro__):
        written |= inspect.get_annotations(cls)
    options = []
    for name, spec in settings.specs().items():
        kind = Parameter.POSITIONAL_OR_KEYWORD if name in positional else Parameter.KEYWORD_ONLY
        default = Parameter.empty if spec.default is MISSING else spec.default
        options.append(Parameter(name, kind, annotation=spec.accepts or written[name], default=default))
    options.sort(key=lambda one: positional.index(one.name) if one.name in positional else len(positional))
    how = [Parameter(name, Parameter.KEYWORD_ONLY, annotation=text, default=None) for name, text in _HOW.items()]
    first = [one for one in inputs if one.kind is not Parameter.KEYWORD_ONLY]
    last = [one for one in inputs if one.kind is Parameter.KEYWORD_ONLY]
    return own.replace(parameters=[*first, *options, *last, *how])


def _documentation(run: Callable[..., Any], signature: Signature, settings: type[Settings]) -> str | None:
    """Return the docstring with all parameters in the order of the signature."""
    if run.__doc__ is None:
        return None
    before, entries, after = _split(inspect.cleandoc(run.__doc__))
    texts = {name: spec.doc for name, spec in settings.specs().items()}
    known = {name: (names, text) for names, text in entries.items() for name in names.split(", ")}
    for names, text in _HOW_DOCS.items():
        known.update({name: (names, _filled(text)) for name in names.split(", ") if name not in known})
    lines, told = [], set()
    for name in signature.parameters:
        if name not in known:
            if name not in texts and name != "ratings":
                raise TypeError(f"the docstring of {run.__name__} does not say what '{name}' is")
            known[name] = (name, _filled(texts.get(name, _RATINGS)))
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
