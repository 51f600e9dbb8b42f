"""The section of a lens that has none of its own: what it found in sentences, and its values."""

from __future__ import annotations

from typing import NamedTuple

from plurivox.infer.lens import Lens
from plurivox.report.parts import Brief, Section, findings_of, remarks_of, table

MAX_ROWS = 1000


class Plain(NamedTuple):
    """The section of one lens."""

    lens: Lens

    def section(self, brief: Brief) -> Section | None:
        """Show findings and values, if the study has what the lens needs."""
        lens = self.lens
        if not set(lens.needs) <= set(brief.study.inputs):
            return None
        found, values = brief.ask(lens.name), f"{lens.home}-values"
        shown = table(values, "All values", found.to_frame(), MAX_ROWS)
        return Section(lens.home, lens.question, lens.about, [], findings_of(found, values), remarks_of(found), [shown])
