"""The sections of a report: what the study is, one for each lens, in the module named after it, and methods.

A lens with headlines but without such a module has its findings and values shown by :class:`Plain`.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from plurivox.infer.lens import Lens
    from plurivox.report.parts import Brief, Section


@functools.cache
def _modules() -> frozenset[str]:
    return frozenset(module.name for module in pkgutil.iter_modules(__path__))


def has_section(lens: Lens) -> bool:
    """Return whether a report has a section about a lens."""
    return lens.home in _modules() or lens.headlines


def home_of(lens: Lens) -> Any:
    """Return what has the section about a lens."""
    if lens.home not in _modules():
        return Plain(lens)
    return importlib.import_module(f"{__name__}.{lens.home}")


# Plain ----------------------------------------------------------------------------------------------------------------
#
# The section of a lens that has none of its own: what it found in sentences, and its values.


MAX_ROWS = 1000


class Plain(NamedTuple):
    """The section of one lens."""

    lens: Lens

    def section(self, brief: Brief) -> Section | None:
        """Show findings and values, if the study has what the lens needs."""
        from plurivox.report.parts import Section, findings_of, remarks_of, table

        lens = self.lens
        if not set(lens.needs) <= set(brief.study.inputs):
            return None
        found, values = brief.ask(lens.name), f"{lens.home}-values"
        shown = table(values, "All values", found.to_frame(), MAX_ROWS)
        return Section(lens.home, lens.question, lens.about, [], findings_of(found, values), remarks_of(found), [shown])
