"""One record for each statistic; it feeds lenses, tables, the tests, the docs and the glossary.

Records of cohesion are discovered in every file of ``statistics/cohesion`` that has ``RECORDS``.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from plurivox.statistics import (
    aggregate_records,
    alignment_records,
    cohesion,
    estimate_records,
    judge_records,
    psychometrics_records,
    responsiveness_records,
    soft_records,
    variation_records,
)
from plurivox.statistics.records import Statistic


def cohesion_records() -> tuple[Statistic, ...]:
    """Return the records of all files of ``statistics/cohesion``, in their order."""
    return tuple(sorted(_found(), key=lambda record: (record.order, record.name)))


def _found() -> Iterator[Statistic]:
    for module in pkgutil.iter_modules(cohesion.__path__):
        yield from getattr(importlib.import_module(f"{cohesion.__name__}.{module.name}"), "RECORDS", ())


def of_role(*roles: str) -> tuple[Statistic, ...]:
    """Return the statistics of one role or several, in their order."""
    own = (record for record in STATISTICS.values() if record.role in roles)
    return tuple(sorted(own, key=lambda record: record.order))


def names_of(role: str) -> tuple[str, ...]:
    """Return the names of the statistics of one role, in their order."""
    return tuple(record.name for record in of_role(role))


def with_trait(trait: str) -> tuple[str, ...]:
    """Return the names of the statistics that have a trait."""
    return tuple(record.name for record in STATISTICS.values() if trait in record.traits)


def refresh() -> None:
    """Find all records again, including those of new files."""
    records = (
        *cohesion_records(),
        *responsiveness_records.RECORDS,
        *psychometrics_records.RECORDS,
        *soft_records.RECORDS,
        *alignment_records.RECORDS,
        *estimate_records.RECORDS,
        *judge_records.RECORDS,
        *variation_records.RECORDS,
        *aggregate_records.RECORDS,
    )
    STATISTICS.clear()
    STATISTICS.update({record.name: record for record in records})
    LABELS.clear()
    LABELS.update({name: record.label for name, record in STATISTICS.items()})


STATISTICS: dict[str, Statistic] = {}
"""Every record by name."""
LABELS: dict[str, str] = {}
"""What tables and sentences call each statistic."""
refresh()
