"""What can be asked of advice, and from where on something is called a habit."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from plurivox.errors import InputError
from plurivox.settings import Axes, Frozen, Settings, setting, shared


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """From where on something is called a habit.

    Attributes
    ----------
    rare_share
        A score is hardly used if it surely has a smaller share of the ratings.
    least_rise
        Precision stands still over a range of scores if it surely rises by less per score; None for half of what it
        rises over the whole scale among the others, or would by even steps.
    edge
        Where precision is within this distance of 0 or 1 it cannot fall or rise further, so that no range there is
        called still.
    extreme_share, extreme_times
        Extreme: both ends surely have more than this many times their share among the others, together surely more
        than this share.
    central_times
        Central: both ends together surely have less than this part of their share among the others.
    piled_share, piled_times
        Piled up: one score surely has more than this share, and this many times its share among the others.
    low_mpa, low_wra
        MPA and WRA below which the interval's upper end is low in any case.
    mpa_margin, wra_margin
        How far below the median of the others it has to lie to be low.
    """

    rare_share: float = 0.01
    least_rise: float | None = None
    edge: float = 0.1
    extreme_share: float = 0.5
    extreme_times: float = 1.5
    central_times: float = 0.7
    piled_share: float = 0.5
    piled_times: float = 1.5
    low_mpa: float = 0.2
    low_wra: float = 0.3
    mpa_margin: float = 0.25
    wra_margin: float = 0.01

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            times = one.name.endswith("_times")
            if value is not None and not 0 <= value <= (100 if times else 1):
                raise InputError(f"{one.name} is {value!r}", hint=f"Give a number from 0 to {100 if times else 1}.")

    def rise(self, n_points: int, usual: float = math.nan) -> float:
        """Return the rise of precision per score below which it stands still; ``usual`` is that of the others."""
        if self.least_rise is not None:
            return self.least_rise
        return 0.5 * (usual if usual > 0 else 1 / (n_points - 1))


def _canonical(given: Any) -> Frozen:
    """Return thresholds that differ from the defaults, by name."""
    made = given if isinstance(given, Thresholds) else Thresholds(**(given or {}))
    usual = asdict(Thresholds())
    return Frozen(sorted((name, value) for name, value in asdict(made).items() if value != usual[name]))


def _read(texts: list[str]) -> dict[str, float]:
    """Read ``least_rise=0.1``, several times."""
    known = [one.name for one in fields(Thresholds)]
    found = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in known:
            raise ValueError(f"knows {', '.join(known)}, not {name!r}")
        try:
            found[name] = float(value)
        except ValueError:
            raise ValueError(f"{name} needs a number, not {value!r}") from None
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class AdviceSettings(Settings):
    """What was asked of advice."""

    by: Axes = shared.by(
        "rater", doc='``"rater"`` for each rater on their own, or rater attributes and crossings of them.'
    )
    threshold: Any = shared.threshold()
    thresholds: Frozen = setting(
        Frozen(), "A threshold from which on something is called a habit: least_rise=0.1 (docs/acting.md lists all).",
        option="--set", metavar="NAME=NUMBER", parse=_read, repeated=True, canonical=_canonical,
        accepts="Thresholds | None", hint="Give Thresholds(…).",
        doc="From where on something is called a habit, where not the defaults.",
    )  # fmt: skip
    group_score: str = shared.group_score()
    ties: str = shared.ties()
    max_pairs: int = setting(
        10, "Pairs of items to list for each rater or group.", metavar="N", least=0, hint="Give 0 or more.",
        doc="How many pairs of items to list for each rater or group.",
    )  # fmt: skip
    bootstrap: int = shared.bootstrap(
        doc="How many draws of items (and raters, for groups) the intervals of MPA and WRA rest on; with 0 neither is "
        "called low. Groups are compared with random groups of their size, raters with the other raters."
    )
    min_support: float = setting(
        5.0, "Scores given to fewer items are left out where precision is compared.", cli=False
    )
    within: tuple[str, ...] | None = shared.within()
    seed: int = shared.seed()
    several: Frozen = shared.several()
    min_group_size: int = shared.min_group_size()

    def check(self) -> None:
        """Raise if there is nobody to look at."""
        if not self.by:
            raise InputError("by names no axis", hint="Give 'rater', or attributes of raters.")
