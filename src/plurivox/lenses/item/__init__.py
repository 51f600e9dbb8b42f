"""One item: which scores it got, and from whom."""

from plurivox.infer.lens import Input, Lens, Option
from plurivox.lenses.item.settings import ItemViewSettings

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
