"""The sections of a report, in reading order. A new lens writes its own file and adds one line here."""

from __future__ import annotations

from plurivox.report.parts import Registered
from plurivox.report.sections import alignment, cohesion, items, methods, responsiveness, soft, study

SECTIONS: tuple[Registered, ...] = (
    Registered(study.section),
    Registered(cohesion.section),
    Registered(responsiveness.section),
    Registered(soft.section, ("predictions", "prior")),
    Registered(alignment.section, ("answers",)),
    Registered(items.section),
    Registered(methods.section),
)
