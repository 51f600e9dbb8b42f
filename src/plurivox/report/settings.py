"""The settings of a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plurivox.base.settings import OfGroups, setting, shared

TITLE = "What the ratings say"
MOST_LOOKS = 16
"""The most planned looks: more would leave so little of 5 % for each that shuffles could not reach it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportSettings(OfGroups):
    """The settings of a report; the analyses take theirs from it."""

    threshold: Any = shared.threshold()
    items_by: str | None = shared.items_by()
    prior: Any = shared.prior(shared.AUTO)
    level: Any = shared.level()
    gai: tuple[str, ...] = shared.gai()
    within: tuple[str, ...] | None = shared.within()
    permutations: int = shared.permutations(1000)
    max_permutations: int | None = shared.max_permutations()
    n_lenses: int = shared.n_lenses(4)
    interval: str | None = shared.interval()
    resample: str = shared.resample()
    bootstrap: int = shared.bootstrap(0, help="Bootstrap draws for intervals.")
    seed: int = shared.seed()
    looks: int = setting(
        1, "Number of planned looks at a growing study: headlines are corrected for all of them.", metavar="N",
        least=1, most=MOST_LOOKS,
    )  # fmt: skip
    title: str = setting(TITLE, "The heading of the report.", metavar="TEXT")
