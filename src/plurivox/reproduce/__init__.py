"""Published tables next to the same numbers computed here, and where paper and mathematics part.

``record`` says what a paper is and how its cells are compared, ``printed`` holds the papers. The package may use
lenses, studies and models.
"""

from __future__ import annotations

from plurivox.base.arguments import FilePath, checked
from plurivox.base.errors import SelectionError
from plurivox.reproduce.record import Paper, Reproduction

__all__ = ["Paper", "Reproduction", "papers", "run"]


def papers() -> dict[str, Paper]:
    """Return every paper that can be reproduced, by its name."""
    from plurivox.reproduce import printed

    return printed.papers()


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
