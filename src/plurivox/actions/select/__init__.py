"""Selection: the most responsive raters of every group."""

from plurivox.actions.select.settings import SelectionSettings
from plurivox.lenses.inputs import REFERENCE
from plurivox.lenses.record import Lens

SELECT = Lens(
    name="select_raters",
    command="select",
    question="Choose the most responsive raters of every group, and name them.",
    about="Every rater is held against the reference on their own: MPA asks whether each higher score means more "
    "severe, WRA\nwhether unsafe items get higher scores than safe ones, and HM is their harmonic mean. The first few "
    "of each group\nare chosen. Every group appears, also one of which nobody is eligible; only groups too small to "
    "show are withheld.",
    settings=SelectionSettings,
    inputs=(REFERENCE,),
    every_attribute=True,
    csv_tables=("chosen", "groups", "candidates"),
    result="plurivox.actions.select.result:Selection",
    show="plurivox.cli.show_actions:show_selection",
    kernel="plurivox.kernels.responsiveness:rater_draws",
)
