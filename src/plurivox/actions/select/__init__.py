"""Selection: the most responsive raters of every group."""

from dataclasses import replace

from plurivox.actions.select.settings import OWN_GROUP, SelectionSettings
from plurivox.lenses.inputs import REFERENCE
from plurivox.lenses.record import Input, Lens, Option

AGAINST = replace(
    REFERENCE,
    options=(
        Option(
            name="reference", metavar="FILE|own group|crowd|ATTRIBUTE=VALUE", default=OWN_GROUP,
            help="What scores are held against: a file of trained raters' ratings of the same items; own group: the "
            "other raters of the same group; crowd: all other raters, which favours those of a minority who see things "
            "like the majority; or a group (gender=Woman, rater=gpt-4o).",
        ),
        *REFERENCE.options[1:],
    ),
)  # fmt: skip
LOG = Input(
    name="log",
    load="plurivox.cli.inputs:log",
    options=(
        Option(
            name="time", metavar="COLUMN|rows",
            help="Column of the ratings with when each was given, to look for straight lines and haste; rows: they "
            "are in the order of answering.",
        ),
        Option(name="seconds", metavar="COLUMN", help="Column of the ratings with how many seconds each took."),
    ),
)  # fmt: skip
SELECT = Lens(
    name="select_raters",
    command="select",
    question="Choose the most responsive raters of every group, and name them.",
    about="Every rater is held against trained raters, or against the others of the same group: MPA asks whether each "
    "higher score means more\nsevere, WRA whether unsafe items get higher scores than safe ones, and HM is their "
    "harmonic mean. The first few of each group\nare chosen, from batches of items in proportion. Every group appears, "
    "also one of which nobody is eligible; only groups\ntoo small to show are withheld. Beside it: what each group "
    "keeps of its view, and raters to look at; nobody is dropped.",
    settings=SelectionSettings,
    inputs=(AGAINST, LOG),
    every_attribute=True,
    csv_tables=("chosen", "groups", "candidates", "fairness", "look_at", "alarms"),
    result="plurivox.actions.select.result:Selection",
    show="plurivox.cli.show_actions:show_selection",
    kernel="plurivox.kernels.responsiveness:rater_draws",
)
