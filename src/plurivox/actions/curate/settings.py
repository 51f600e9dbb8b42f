"""What can be asked of a curation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plurivox.errors import InputError
from plurivox.settings import Axes, Settings, setting, shared

FORMS = ("auto", "pairs", "points")
_AT_LEAST_0 = "Give a number of at least 0."


def _weight(value: float) -> None:
    if not value > 0:
        raise ValueError


_KEPT: dict[str, Any] = {
    "metavar": "WEIGHT", "check": _weight, "hint": "Give a number above 0; a view is kept, with a weight.",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class CurationSettings(Settings):
    """What was asked of a curation."""

    by: Axes = shared.by(
        (), accepts="By", doc="The rater attribute, or a tuple of several to cross, whose groups to curate for."
    )
    form: str = setting(
        "auto", "pairs of responses to one prompt, points, or auto: pairs if items have prompt and response.",
        metavar="FORM", choices=FORMS,
        doc='``"pairs"`` of items with the same prompt, ``"points"``, or ``"auto"``: pairs if items have a prompt and '
        "a response.",
    )  # fmt: skip
    prompt: str | None = setting(
        None, "Item attribute with the prompt (default: prompt).", metavar="COLUMN",
        doc="The item attribute that holds the prompt; by default that of this name.",
    )  # fmt: skip
    response: str | None = setting(
        None, "Item attribute with the response (default: response).", metavar="COLUMN",
        doc="The item attribute that holds the response; by default that of this name.",
    )  # fmt: skip
    text: str | None = setting(
        None, "Item attribute with the text, for points (default: text).", metavar="COLUMN",
        doc="The item attribute that holds the text; by default that of this name.",
    )  # fmt: skip
    threshold: Any = shared.threshold()
    per_group: int = setting(
        5, "Take so many of the most responsive raters of a group.", metavar="N", least=1,
        doc="How many raters to take of each group, by the lower bound of their HM.",
    )  # fmt: skip
    min_ratings: int = setting(
        20, "Only raters with so many ratings of items with a reference.", metavar="N", least=0, hint=_AT_LEAST_0
    )
    min_votes: int = setting(
        2, "An item needs scores of so many selected raters of a group.", metavar="N", least=1,
        doc="How many of a group's selected raters an item needs for a score.",
    )  # fmt: skip
    min_margin: float = setting(
        0.5, "Pairs lie so far apart at least, in units of the scale.", metavar="D", least=0,
        doc="How far apart the scores of a pair are at least, in units of the scale.",
    )  # fmt: skip
    per_point: int = setting(
        50, "At most so many items at each point of the scale, per group.", metavar="N", least=1,
        doc="How many items to take at each point of the scale, for each group, at most.",
    )  # fmt: skip
    low_by: float = setting(
        0.05, "MPA or WRA is low if so far below the median of the groups.", metavar="D", least=0,
        doc="How far below the median of the groups MPA or WRA is low.",
    )  # fmt: skip
    low_mpa: float | None = setting(None, "Below which value MPA is always low.", cli=False)
    low_wra: float | None = setting(None, "Below which value WRA is always low.", cli=False)
    granular_weight: float = setting(0.5, "Weight of groups with low MPA only.", **_KEPT)
    broad_weight: float = setting(0.5, "Weight of groups with low WRA only.", **_KEPT)
    most_listed: int = setting(
        50, "How many pairs of a different group to list, at most.", least=0, hint=_AT_LEAST_0, cli=False
    )
    higher_is_better: bool = setting(False, "Prefer the higher score, for ratings of quality.")
    bootstrap: int = shared.bootstrap()
    seed: int = shared.seed(doc="Same seed, same result. It also draws items.")
    min_group_size: int = shared.min_group_size()

    def check(self) -> None:
        """Raise unless there is one axis, of groups."""
        if len(self.by) != 1:
            raise InputError(f"by names {len(self.by)} axes", hint="Curate for the groups of one: by='ethnicity'.")
