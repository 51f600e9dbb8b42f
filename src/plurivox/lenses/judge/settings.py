"""Settings for a judge card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plurivox.base.settings import Axes, Frozen, Settings, setting, shared
from plurivox.base.settings.record import names
from plurivox.lenses.judge.requirements import canonical, read


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeSettings(Settings):
    """Settings for a judge card."""

    by: Axes = shared.by((), doc="Rater attributes and crossings of several; bias is also given for each group.")
    subset: str | None = setting(
        None, "Also give bias for each value of this item attribute.", metavar="COLUMN",
        doc="An item attribute; bias is also given for each of its values.",
    )  # fmt: skip
    several: Frozen = shared.several()
    models: tuple[str, ...] | None = setting(
        None, "Only this model. Repeatable.", option="--judge", metavar="MODEL", parse=tuple, repeated=True,
        canonical=names, hint="Give names of models.", accepts="str | Sequence[str] | None",
        doc="The models to judge, all of them by default. p-values are corrected over these.",
    )  # fmt: skip
    require: tuple[str, ...] = setting(
        (), "End with code 4 unless this holds for every model: 'omega>=0.5', 'agreement.low>0.3'. Repeatable.",
        metavar="REQUIREMENT", parse=read, repeated=True, canonical=canonical, accepts="str | Sequence[str]",
        quiet=True,
        doc='What every model must reach, such as ``"omega>=0.5"``, ``"agreement.low>0.3"`` or '
        '``"bias[Woman]<=0.2"``; ``requirements()`` shows which hold.',
    )  # fmt: skip
    level: Any = shared.level(
        "ordinal",
        doc="How agreement weighs points: nominal, ordinal, interval, or a matrix of distances. Distances are between "
        "positions; on the nominal level they are the share that differs; or they come from the matrix.",
    )
    tolerance: float = shared.tolerance()
    resample: str = shared.resample()
    seed: int = shared.seed()
    min_group_size: int = shared.min_group_size()
