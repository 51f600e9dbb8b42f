"""Published tables next to the same numbers computed here, and where paper and mathematics part.

Each file of this folder with a ``PAPER`` is one paper: the tables it printed (facts, in ``published``), the files that
are needed to reproduce them, and the lens that does so. The package may use lenses, studies and models.
"""

from __future__ import annotations

import importlib
import pkgutil

from plurivox.base.arguments import FilePath, checked
from plurivox.base.errors import SelectionError
from plurivox.reproduce.record import Paper, Reproduction

__all__ = ["Paper", "Reproduction", "papers", "run"]


def papers() -> dict[str, Paper]:
    """Return every paper that can be reproduced, by its name."""
    modules = (importlib.import_module(f"{__name__}.{one.name}") for one in pkgutil.iter_modules(__path__))
    found = [module.PAPER for module in modules if hasattr(module, "PAPER")]
    return {paper.name: paper for paper in sorted(found, key=lambda paper: paper.order)}


@checked
def run(name: str, data: FilePath | None = None) -> Reproduction:
    """Reproduce the tables of a paper and compare them with what it printed.

    Parameters
    ----------
    name
        ``"grasp"``, ``"responsiveness"``, ``"norms"``, ``"soft"``, ``"alt-test"`` or ``"lewidi"``.
    data
        The folder that holds the files it needs, or one of them; ``docs/reproduce.md`` lists them.

    Returns
    -------
    Reproduction
        It has ``to_frame()``, with one row per published cell, ``findings()`` and ``to_json()``;
        :func:`plurivox.plots.reproduction` draws it.

    Examples
    --------
    >>> found = run("soft")
    >>> found.to_frame().filter(column="scenario B", row="EMD").select("published", "agrees").row(0)
    ('0.45', True)
    """
    known = papers()
    if name not in known:
        raise SelectionError(f"there is no paper {name!r}", hint=f"Choose one of {', '.join(known)}.")
    return known[name].reproduce(data)
