"""Curation: training data from ratings that keep the view of every group."""

from plurivox.actions.curate.settings import CurationSettings
from plurivox.infer.lens import REFERENCE, Lens

CURATE = Lens(
    name="curate",
    command="curate",
    question="Make training data from ratings that keep every group's view.",
    about="From each group (--by), the raters most responsive to the reference are selected, and items over the whole "
    "scale by\ntheir scores. If items have a prompt and a response, each line is a pair of responses with margin and "
    "weight; otherwise\nit is an item with its score. A page next to the file explains every field. The preferences of "
    "a group that sees\nthings quite differently from the reference are also written, marked as open, and listed in a "
    ".decisions.csv for a\nperson to judge; --decisions reads it.",
    settings=CurationSettings,
    inputs=(REFERENCE,),
    result="plurivox.actions.curate.result:Curation",
    tables="plurivox.actions.curate.result:tables",
    kernel="plurivox.kernels.responsiveness:permuted_tables",
)
