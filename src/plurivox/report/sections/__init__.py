"""The sections of a report, in reading order. A new lens writes its own file and adds one line here."""

from __future__ import annotations

from plurivox.report.parts import MakeSection
from plurivox.report.sections import cohesion, items, methods, responsiveness, study

SECTIONS: tuple[MakeSection, ...] = (
    study.section,
    cohesion.section,
    responsiveness.section,
    items.section,
    methods.section,
)
