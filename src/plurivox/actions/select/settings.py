"""The settings of a selection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plurivox.base.errors import InputError
from plurivox.base.settings import Axes, Frozen, OfGroups, setting, shared

METRICS = ("hm", "mpa", "wra")
ORDERS = ("lower", "value")
OWN_GROUP = "own group"
"""The reference of each rater: the others of the same group."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectionSettings(OfGroups):
    """The settings of a selection."""

    by: Axes = shared.by(
        (),
        doc='Rater attributes, or crossings of several: ``["age", ("race", "gender")]``; each axis is handled '
        "separately.",
    )
    per_group: int = setting(
        3, "How many raters to choose from each group.", metavar="N", least=1,
        hint="Choose at least 1 rater from each group.", doc="The largest number of raters to choose from each group.",
    )  # fmt: skip
    keep: int | None = setting(
        None, "Instead, choose this many raters in total, from each group in proportion to its raters and at least "
        "one.",
        metavar="N", least=1, hint="Keep at least 1 rater.",
        doc="How many raters to choose in total, instead of ``per_group``: one panel, from each group in proportion "
        "to its raters (largest remainders), and at least one from each as long as there are places. Needs a single "
        "axis, which "
        "may be a crossing.",
    )  # fmt: skip
    metric: str = setting(
        "hm", "What to choose by: hm, or one of its two parts, mpa and wra.", metavar="NAME", choices=METRICS,
        doc='``"hm"``, or one of the two whose harmonic mean it is: ``"mpa"`` and ``"wra"``.',
    )  # fmt: skip
    order: str = setting(
        "lower",
        "lower: by the lower end of the 95 % interval, so that luck with few ratings does not win; value: by the value "
        "itself, which finds more good raters if raters differ widely or groups are small.",
        metavar="ORDER", choices=ORDERS,
        doc='By the ``"lower"`` end of the 95 % bootstrap interval over items (``ci_low``), or by the ``"value"`` '
        "itself. Raters for whom it is undefined are not eligible.",
    )  # fmt: skip
    min_ratings: int = setting(
        20, "Choose nobody with fewer ratings of items that have a reference.", metavar="N", least=0,
        hint="Give 0 or more.", doc="Raters with fewer ratings of items that have a reference are not eligible.",
    )  # fmt: skip
    threshold: Any = shared.threshold()
    bootstrap: int = shared.bootstrap(doc='How many bootstrap draws for the intervals; ``order="value"`` needs none.')
    within: tuple[str, ...] | None = shared.within(
        help="Compare raters with those who have the same value of this attribute; auto: with those who saw the same "
        "items; none: with all.",
        doc='Whom raters are compared with. ``"auto"``: with those who saw the same items, if nearly all are in such '
        "blocks, so that harder items are no disadvantage, and each block has its share of the chosen; otherwise with "
        "all, adjusted for their items. A rater attribute (or several): with raters who have the same values. None: "
        "with all, regardless of what they rated.",
    )
    seed: int = shared.seed(
        doc="The same seed gives the same result, regardless of the order of rows. It also decides between raters "
        "with the same bound and number of ratings."
    )
    several: Frozen = shared.several(
        doc='Attributes of which a rater may have several values, with their separators: ``{"race": ";"}``. Such a '
        "rater can be chosen in each of their groups."
    )
    min_group_size: int = shared.min_group_size(
        doc="Groups with fewer raters are withheld and counted, and their raters are not named on that axis."
    )
    ids: bool = shared.ids(
        help="Show raters' ids instead of numbers; CSV and JSON always contain ids.",
        doc="Whether notebooks show raters' ids; otherwise ``rater 1`` is the first row of ``ratings.raters``, and so "
        "on. The tables of the result always contain ids.",
    )

    def check(self) -> None:
        """Raise if there are no intervals to order by, or no groups to choose from."""
        if self.order == "lower" and self.bootstrap < 2:
            raise InputError(
                f"bootstrap is {self.bootstrap}, but the lower end of an interval needs draws",
                hint="Give 1000, or set order='value' to rank by the value itself.",
            )
        if not self.by:
            raise InputError("by names no axis", hint="Give attributes of raters, such as by='gender'.")
        if self.keep is not None and len(self.by) > 1:
            raise InputError(
                f"keep makes one panel, but by names {len(self.by)} axes",
                hint="Give one axis, or a crossing such as by=('age', 'gender'), on the command line --by age,gender.",
            )
        if any("rater" in one for one in self.by):
            raise InputError("by names 'rater', but raters are chosen from groups", hint="Give attributes of raters.")
