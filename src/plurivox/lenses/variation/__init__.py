"""Variation: who rates higher on the same items, and how much variation lies in items, raters and groups."""

from plurivox.infer.lens import Lens
from plurivox.lenses.variation.settings import VariationSettings

LENS = Lens(
    name="variation",
    command="variation",
    order=5,
    question="Find out who rates higher on the same items, and what scores vary by.",
    about="Each group is compared with the others on the items that both rated: by how many points it scores higher, "
    "and how often.\nRaters are shuffled between groups to see what chance gives: * is p < .05, ** p < .05 after "
    "correction. Variance\ncomponents show how much lies between items, raters and groups, and what more raters would "
    "buy.",
    settings=VariationSettings,
    headlines=True,
    every_attribute=True,
    attributes_needed=False,
    csv_tables=("values", "components", "reliability", "needed", "adjusted", "pairs", "repeats"),
    result="plurivox.lenses.variation.result:Variation",
    brief="plurivox.lenses.variation.tables:brief",
    notes="plurivox.lenses.variation.tables:notes",
    kernel="plurivox.kernels.variation:add_items",
)
