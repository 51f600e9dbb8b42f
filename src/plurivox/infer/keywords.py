"""From a settings record to the keywords of a lens, with what belongs to every call of one."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from plurivox.base.arguments import become_public, check_given, docs_of, kinds_of, signature_of
from plurivox.base.errors import UnweightedWarning
from plurivox.base.settings.record import Settings, without_removed

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
