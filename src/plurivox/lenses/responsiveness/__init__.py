"""Responsiveness: whether higher scores mean more severe (MPA), and whether unsafe and safe are told apart (WRA).

Both measures are those of Mishra et al., *Decoding Safety Feedback from Diverse Raters: A Data-driven Lens on
Responsiveness to Severity* (arXiv 2503.05609); rank correlations, AUROC and average precision are also shown.
"""

from plurivox.infer.lens import REFERENCE, Lens
from plurivox.lenses.responsiveness.settings import ResponsivenessSettings

LENS = Lens(
    name="responsiveness",
    command="responsiveness",
    order=20,
    question="Find out whose scores convey severity.",
    about="MPA asks whether each higher score means more severe, WRA whether unsafe items get higher scores than safe "
    "ones; HM\nis their harmonic mean. Raters are shuffled between groups to see what chance gives: * is p < .05, ** "
    "p < .05 after\ncorrection. --by rater looks at each rater individually.",
    settings=ResponsivenessSettings,
    headlines=True,
    inputs=(REFERENCE,),
    every_attribute=True,
    attributes_needed=False,
    csv_tables=("values", "scores", "boundaries", "correlations", "pairs"),
    result="plurivox.lenses.responsiveness.result:Responsiveness",
    brief="plurivox.lenses.responsiveness.tables:brief",
    notes="plurivox.lenses.responsiveness.tables:notes",
    closing="A low value is a reason to look at instructions, scale and reference, never a reason to drop a group.",
    kernel="plurivox.kernels.responsiveness:permuted_tables",
)
