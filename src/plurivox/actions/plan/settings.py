"""The settings of a plan."""

from __future__ import annotations

from dataclasses import dataclass

from plurivox.base.errors import InputError
from plurivox.base.settings import Axes, OfGroups, setting, shared

FEWEST_PERMUTATIONS = 100
MOST_SIMULATIONS = 100_000
MOST_TIMES = 10
"""The largest multiple of the current raters or items that is examined."""


def _above_one(value: float) -> None:
    if value <= 1:
        raise ValueError


def _share(value: float) -> None:
    if not 0 < value < 1:
        raise ValueError


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanSettings(OfGroups):
    """The settings of a plan."""

    by: Axes = shared.by(
        (), doc="Rater attributes, or crossings of several; by default every attribute with 2 to 20 values."
    )
    gai: float = setting(
        1.2, "With --plan: the GAI to claim; 1.2 if a group agrees 1.2 times as much with itself as with others.",
        metavar="NUMBER", check=_above_one, hint="Give the GAI to claim, a number above 1 such as 1.2.",
        doc="The group association index to claim, above 1: how many times as much a group agrees with itself as with "
        "others. This is the value for a very large number of raters.",
    )  # fmt: skip
    power: float = setting(
        0.8, "With --plan: the share of such studies that should claim it.", metavar="NUMBER", check=_share,
        hint="Give a number between 0 and 1.", doc="The share of such studies that should claim it.",
    )  # fmt: skip
    simulations: int = setting(
        60, "With --plan: studies to simulate for each of twelve sizes, 0 for none.", metavar="N", least=0,
        most=MOST_SIMULATIONS, hint=f"Give 0 to {MOST_SIMULATIONS:,}; 60 is usual.",
        doc="Studies to simulate for each of twelve sizes, all used for every answer; 0 for a plan without power. "
        "With fewer than 30, the Monte Carlo error is not given.",
    )  # fmt: skip
    within: tuple[str, ...] | None = shared.within()
    permutations: int = shared.permutations(
        3000,
        doc="How many times raters of the study are shuffled to find the threshold for a claim after correction.",
        cli=False,
    )
    seed: int = shared.seed()

    def check(self) -> None:
        """Raise if there are too few permutations, or if the plan is for individual raters."""
        if self.simulations and self.permutations < FEWEST_PERMUTATIONS:
            raise InputError(
                f"permutations is {self.permutations}, too few to find the threshold for a claim",
                hint=f"Give at least {FEWEST_PERMUTATIONS} permutations.",
            )
        if ("rater",) in self.by:
            raise InputError("a plan is for groups, not for individual raters", hint="Leave 'rater' out of by.")
