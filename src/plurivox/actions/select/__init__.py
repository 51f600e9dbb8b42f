"""Selection: the most responsive raters of every group."""

from dataclasses import replace

from plurivox.actions.select.settings import OWN_GROUP, SelectionSettings
from plurivox.infer.lens import REFERENCE, Input, Lens, Option

AGAINST = replace(
    REFERENCE,
    options=(
        Option(
            name="reference", metavar="FILE|own group|crowd|ATTRIBUTE=VALUE", default=OWN_GROUP,
            help="What scores are compared with: a file of trained raters' ratings of the same items; own group: the "
            "other raters of the same group; crowd: all other raters, which favours members of a minority who see "
            "things like the majority; or a group (gender=Woman, rater=gpt-4o).",
        ),
        *REFERENCE.options[1:],
    ),
)  # fmt: skip
LOG = Input(
    name="log",
    load="log",
    options=(
        Option(
            name="time", metavar="COLUMN|rows",
            help="Column with the time of each rating, to look for straight lines and haste; rows: the rows are in "
            "the order of answering.",
        ),
        Option(name="seconds", metavar="COLUMN", help="Column with the seconds that each rating took."),
    ),
)  # fmt: skip
SELECT = Lens(
    name="select_raters",
    command="select",
    question="Choose the most responsive raters of every group.",
    about="Every rater is compared with trained raters, or with the others of the same group: MPA measures whether "
    "each higher\nscore means more severe, WRA whether unsafe items get higher scores than safe ones, and HM is their "
    "harmonic mean.\nThe first few of each group are chosen, in proportion from batches of items, and named. Every "
    "group appears, even if\nnobody in it is eligible; only groups too small to show are withheld. The result also "
    "shows how much of its view\neach group keeps, and raters to look at; nobody is dropped.",
    settings=SelectionSettings,
    inputs=(AGAINST, LOG),
    every_attribute=True,
    csv_tables=("chosen", "groups", "candidates", "fairness", "look_at", "alarms"),
    result="plurivox.actions.select.result:Selection",
    tables="plurivox.actions.select.result:tables",
    kernel="plurivox.kernels.responsiveness:rater_draws",
)
