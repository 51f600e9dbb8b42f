"""Curation: training data from ratings, with the view of every group."""

from plurivox.actions.curate.settings import CurationSettings
from plurivox.lenses.inputs import REFERENCE
from plurivox.lenses.record import Lens

CURATE = Lens(
    name="curate",
    command="curate",
    question="Make training data from ratings that keep the view of every group (--by).",
    about="Of each group the raters most responsive to the reference are selected, and items over the whole scale by "
    "their\nscores. Where items have a prompt and a response, each line is a pair of responses with margin and "
    "weight;\notherwise an item with its score. A page beside the file explains every field. What a group prefers that "
    "sees things\nquite differently from the reference is written, too, marked as open, and listed in a "
    ".decisions.csv for a person to\njudge; --decisions reads it.",
    settings=CurationSettings,
    inputs=(REFERENCE,),
    result="plurivox.actions.curate.result:Curation",
    kernel="plurivox.kernels.responsiveness:permuted_tables",
)
