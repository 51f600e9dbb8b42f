"""One record for each statistic: it feeds the tests, the choices on the command line, the docs and the glossary."""

from __future__ import annotations

from plurivox.statistics import (
    alignment_records,
    cohesion_records,
    psychometrics_records,
    responsiveness_records,
    soft_records,
)
from plurivox.statistics.records import Statistic

STATISTICS: dict[str, Statistic] = {
    record.name: record
    for record in (
        *cohesion_records.RECORDS,
        *responsiveness_records.RECORDS,
        *psychometrics_records.RECORDS,
        *soft_records.RECORDS,
        *alignment_records.RECORDS,
    )
}
LABELS = {name: record.label for name, record in STATISTICS.items()}
"""How tables and sentences call a statistic."""
