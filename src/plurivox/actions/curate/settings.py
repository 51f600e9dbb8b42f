"""The settings of a curation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plurivox.base.errors import InputError
from plurivox.base.settings import Axes, Settings, setting, shared

FORMS = ("auto", "pairs", "points")
_AT_LEAST_0 = "Give a number of at least 0."


def _weight(value: float) -> None:
    if not value > 0:
        raise ValueError


@dataclass(frozen=True, kw_only=True, slots=True)
class CurationSettings(Settings):
    """The settings of a curation."""

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
        doc="The item attribute that holds the prompt; by default prompt.",
    )  # fmt: skip
    response: str | None = setting(
        None, "Item attribute with the response (default: response).", metavar="COLUMN",
        doc="The item attribute that holds the response; by default response.",
    )  # fmt: skip
    text: str | None = setting(
        None, "Item attribute with the text, for points (default: text).", metavar="COLUMN",
        doc="The item attribute that holds the text; by default text.",
    )  # fmt: skip
    threshold: Any = shared.threshold()
    per_group: int = setting(
        5, "Select this many of the most responsive raters of each group.", metavar="N", least=1,
        doc="How many raters to select from each group, by the lower bound of their HM.",
    )  # fmt: skip
    min_ratings: int = setting(
        20,
        "Select only raters with at least this many ratings of items that have a reference.",
        metavar="N",
        least=0,
        hint=_AT_LEAST_0,
    )
    min_votes: int = setting(
        2, "Require scores from this many of a group's selected raters for each item.", metavar="N", least=1,
        doc="How many of a group's selected raters must have rated an item for it to have a score.",
    )  # fmt: skip
    min_margin: float = setting(
        0.5, "Smallest difference between the scores of a pair, in units of the scale.", metavar="D", least=0,
        doc="The smallest difference between the scores of a pair, in units of the scale.",
    )  # fmt: skip
    per_point: int = setting(
        50, "Largest number of items at each point of the scale, per group.", metavar="N", least=1,
        doc="The largest number of items at each point of the scale, for each group.",
    )  # fmt: skip
    range_weight: float = setting(
        2.0, "Weight within a range of scores whose steps are a group's own.", metavar="WEIGHT",
        check=_weight, hint="Give a number above 0; a view is kept, with a weight.",
        doc="The weight of pairs and points within a range of scores over which the reference does not follow a "
        "group's steps: a granular view that training would otherwise wash out.",
    )  # fmt: skip
    higher_is_better: bool = setting(False, "Prefer the higher score, for ratings of quality.")
    permutations: int = shared.permutations(1000)
    max_permutations: int | None = shared.max_permutations()
    within: tuple[str, ...] | None = shared.within()
    seed: int = shared.seed(doc="The same seed gives the same result. It also draws items.")
    min_group_size: int = shared.min_group_size()

    def check(self) -> None:
        """Raise unless there is exactly one axis of groups."""
        if len(self.by) != 1:
            raise InputError(f"by names {len(self.by)} axes", hint="Curate for the groups of one axis: by='ethnicity'.")
