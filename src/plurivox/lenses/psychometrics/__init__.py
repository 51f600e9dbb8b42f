"""Psychometrics: whether raters, or groups, measure the same severity, and how sharply each of them does."""

from __future__ import annotations

from dataclasses import dataclass

from plurivox.base.errors import InputError
from plurivox.base.settings import Axes, OfGroups, Settings, setting, shared
from plurivox.infer.lens import Lens
from plurivox.lenses.responsiveness import ALWAYS

MANY = 200
"""With more raters or groups, a lens leaves the scale out unless the setting is "always"; pairs are not kept."""
LEFT_OUT = f"left out above {MANY} or with very many items, unless psychometrics is {ALWAYS!r}"
LOWER_BOUND = 0.3
"""The lowest H_j at which Mokken let a rater belong to a scale."""


def _from_0_to_1(value: float) -> None:
    if not 0 <= value < 1:
        raise ValueError("Give a number from 0 to below 1, such as 0.3.")


@dataclass(frozen=True, kw_only=True, slots=True)
class PsychometricsSettings(OfGroups):
    """Settings for psychometrics."""

    by: Axes = shared.by(
        "rater",
        doc='``"rater"`` for each rater individually, or rater attributes and crossings of them, whose groups are then '
        "the raters of the scale.",
    )
    items_by: str | None = shared.items_by()
    group_score: str = shared.group_score()
    ties: str = shared.ties(
        "lowest",
        choices=tuple(one for one in shared.TIES if one != "share"),
        help="Which of tied points is a group's score: lowest or random.",
        doc='Which of tied points is the group\'s score: the ``"lowest"``, or one at ``"random"`` by seed.',
    )
    lower_bound: float = setting(
        LOWER_BOUND, "The H_j that raters must reach to join a Mokken scale.", metavar="H", check=_from_0_to_1,
        doc="The H_j that raters must reach to be put into one scale by Mokken's selection procedure.",
    )  # fmt: skip
    ids: bool = shared.ids()
    seed: int = shared.seed(doc="Seed for breaking ties at random.")

    def check(self) -> None:
        """Raise if no axis is named."""
        if not self.by:
            raise InputError("by names no axis", hint="Give 'rater', or rater attributes.")


@dataclass(frozen=True, kw_only=True, slots=True)
class PsychometricsShown(Settings):
    """What the terminal shows of a result."""

    top: int = setting(5, "How many of the most and least severe items to show.", least=0)


LENS = Lens(
    name="psychometrics",
    command="scale",
    order=30,
    question="Check whether raters order items alike, and how sharply each does.",
    about="Mokken's H_j asks whether a rater orders items as the others do; the discrimination a of a graded response "
    "model asks\nhow sharply scores rise with the severity that all raters share. The model also estimates each item's "
    "severity.\n--by rater, the default without a by in plurivox.toml, treats each rater individually; other "
    "attributes compare groups.",
    settings=PsychometricsSettings,
    showing=PsychometricsShown,
    threads=False,
    csv_tables=("values", "severity", "thresholds", "curves", "pairs", "checks", "fits"),
    result="plurivox.lenses.psychometrics.result:Psychometrics",
    tables="plurivox.lenses.psychometrics.result:tables",
    brief="plurivox.lenses.psychometrics.result:brief",
    notes="plurivox.lenses.psychometrics.result:notes",
    legend="",
    kernel="plurivox.kernels.graded:information",
)
