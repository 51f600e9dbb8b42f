"""A study: who rated what, further inputs, and every question about it, answered once.

The report and the workbench ask here and show what they get; they compute nothing themselves.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from plurivox.base.arguments import check_fields, check_given, checked, kinds_of
from plurivox.base.errors import SelectionError
from plurivox.domain.ratings import Ratings
from plurivox.engine.pool import Running


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """Sources in, results by settings out.

    Attributes
    ----------
    ratings
        Who rated what.
    inputs
        Further inputs, by the name that lenses use: ``reference``, ``answers``, ``predictions``, …
    how
        How work is run, and where progress is reported.
    kept
        Where results outlive this process, None if nowhere: ``load(name, settings, inputs)`` returns a result by the
        name of its question, or None if there is none, and ``save(name, settings, inputs, result)`` keeps one.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = Study(pv.simulate(n_items=30, n_raters=20, seed=1).ratings)
    >>> study.ask("cohesion", by="gender", permutations=9) is study.ask("cohesion", by=["gender"], permutations=9)
    True
    """

    ratings: Ratings
    inputs: Mapping[str, Any] = field(default_factory=dict)
    how: Running = Running()
    kept: Any = None
    _found: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self)

    @checked
    def ask(self, name: str, *, inputs: Mapping[str, Any] | None = None, **settings: Any) -> Any:
        """Return what a public function of plurivox finds in the study, computed on first use.

        Parameters
        ----------
        name
            The function, such as ``"cohesion"``.
        inputs
            Inputs that differ from those of the study; None leaves one out.
        settings
            The settings, by keyword.
        """
        function: Any = getattr(importlib.import_module("plurivox"), name, None)
        if not hasattr(function, "settings"):
            raise SelectionError(f"plurivox has no question named {name!r}", hint="Ask 'cohesion', for example.")
        takes = inspect.signature(function.run).parameters
        known = {**self.inputs, **(inputs or {})}
        given = {one: known[one] for one in takes if known.get(one) is not None}
        check_given(given, kinds_of(function.run))
        record = function.settings.from_dict(settings)
        key = (name, record.key(), *((one, id(value)) for one, value in given.items()))

        def answer() -> Any:
            found = None if self.kept is None else self.kept.load(name, record, given)
            if found is None:
                found = function.run(self.ratings, **given, settings=record, how=self.how)
                if self.kept is not None:
                    self.kept.save(name, record, given, found)
            return found

        return self.once(key, answer, given)

    def once(self, key: tuple[Any, ...], make: Callable[[], Any], kept: Any = None) -> Any:
        """Return something made from results, made on first use of this key.

        Objects that the key names by ``id`` are ``kept``, so that nothing else can get the same id.
        """
        if key not in self._found:
            self._found[key] = (make(), kept)
        return self._found[key][0]
