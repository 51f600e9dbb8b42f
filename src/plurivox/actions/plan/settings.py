"""What can be asked of a plan."""

from __future__ import annotations

import math
from dataclasses import dataclass

from plurivox.errors import InputError
from plurivox.settings import Axes, Frozen, Settings, setting, shared

STUDIES = 10
"""Studies of resampled items, at most, that an expected width is the mean of."""


def _above_one(value: float) -> None:
    if value <= 1:
        raise ValueError


def _share(value: float) -> None:
    if not 0 < value < 1:
        raise ValueError


_BETWEEN = "Give a number between 0 and 1."


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanSettings(Settings):
    """What was asked of a plan."""

    by: Axes = shared.by(
        (), doc="Rater attributes, and crossings of several; by default every attribute with 2 to 20 values."
    )
    gai: float = setting(
        1.1, "With --plan: the GAI to detect.", metavar="NUMBER", check=_above_one,
        hint="Give the GAI to find, a number above 1 such as 1.1.",
        doc="The group association index to find, above 1. It is the one that very many raters would have.",
    )  # fmt: skip
    mpa_width: float = setting(
        0.05, "With --plan: the wanted half-width of MPA's interval.", metavar="NUMBER", check=_share, hint=_BETWEEN,
        doc="How far the 95 % interval of MPA may reach to either side.",
    )  # fmt: skip
    power: float = setting(
        0.8, "The share of studies that should find the GAI.", check=_share, hint=_BETWEEN, cli=False
    )
    alpha: float = setting(
        0.05,
        "A GAI is found if it lies above the null median and its two-sided p is below this, without correction.",
        check=_share, hint=_BETWEEN, cli=False,
    )  # fmt: skip
    simulations: int = setting(
        100, "With --plan: simulated studies of each design, 0 for none.", metavar="N", least=0,
        hint="Give 0 or more; 100 is usual.",
        doc="Studies to simulate for each design, but fewer of large ones, and fewer where they settle sooner whether "
        "the power is reached; 0 for a plan without power.",
    )  # fmt: skip
    within: tuple[str, ...] | None = shared.within()
    permutations: int = shared.permutations(199, doc="How often raters are shuffled in each of them.", cli=False)
    seed: int = shared.seed()
    several: Frozen = shared.several()
    min_group_size: int = shared.min_group_size(least=1, hint="Give 1 or more.")

    @property
    def studies(self) -> int:
        """How many studies of resampled items to look at."""
        return min(STUDIES, self.simulations)

    def check(self) -> None:
        """Raise if so few permutations cannot give so small a p, or if raters are to be planned for one by one."""
        if self.simulations and not 2 / (self.permutations + 1) < self.alpha:
            raise InputError(
                f"with {self.permutations} permutations no p is below alpha = {self.alpha:g}",
                hint=f"Give at least {math.floor(2 / self.alpha)} permutations.",
            )
        if ("rater",) in self.by:
            raise InputError("a plan is of groups, not of each rater", hint="Leave 'rater' out of by.")
