"""One item: which scores it got, and from whom."""

from __future__ import annotations

from dataclasses import dataclass

from plurivox.base.settings import OfGroups, setting, shared
from plurivox.infer.lens import Input, Lens, Option


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemViewSettings(OfGroups):
    """Settings for one item."""

    permutations: int = shared.permutations(1000)
    seed: int = shared.seed()
    within: tuple[str, ...] | None = shared.within()
    fixed: bool = setting(
        False, "The item was chosen before anybody saw its ratings: do not correct over all items.",
        doc="Whether the item was chosen before anybody saw its ratings. Otherwise it may have been chosen for its "
        "differences, and p is also corrected over all items.",
    )  # fmt: skip
    min_group_size: int = shared.min_group_size(
        doc="Groups with fewer ratings of this item are withheld and counted, and so are groups that would give them "
        "away."
    )


ITEM = Input(
    name="item",
    load="item",
    options=(Option(name="wanted", help="The item's id.", metavar="ITEM", argument=True),),
)
LENS = Lens(
    name="item_view",
    command="item",
    order=70,
    question="Show one item: the scores it got, from which groups, and which groups stand apart.",
    about="Each group is compared with the item's other raters by the distance between their distributions, and raters "
    "are\nshuffled between groups to see what chance gives. An item chosen for its differences needs a p-value "
    "corrected over\nall items, as in plurivox items; --fixed says that it was chosen beforehand. Without --by, groups "
    "are those of every\nrater attribute.",
    settings=ItemViewSettings,
    inputs=(ITEM,),
    every_attribute=True,
    attributes_needed=False,
    csv_tables=("groups", "distribution", "use", "attributes"),
    result="plurivox.lenses.item.result:ItemView",
    tables="plurivox.lenses.item.result:tables",
    legend="difference: a group's mean minus that of the item's other raters on the axis; distance: earth mover's, 1 "
    "is the length of the scale; chance: its median when raters are shuffled; p groups: corrected over the groups of "
    "this item; p items: p of the difference, corrected over all items and groups",
    kernel="plurivox.kernels.moments:add_differences",
)
