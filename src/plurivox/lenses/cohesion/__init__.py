"""Cohesion: which groups see things alike, and whether that is more than chance.

The six statistics, GAI and DSI are those of Prabhakaran et al., *GRASP: A Disagreement Analysis Framework to Assess
Group Associations in Perspectives* (NAACL 2024); other measures are shown alongside alpha.
"""

from plurivox.infer.lens import Lens
from plurivox.lenses.cohesion.settings import CohesionSettings, CohesionShown

LENS = Lens(
    name="cohesion",
    command="cohesion",
    order=10,
    question="Find the groups that agree among themselves.",
    about="IRR is agreement within a group, XRR agreement with the rest, GAI their ratio; an axis's DSI is its largest "
    "GAI.\nRaters are shuffled between groups to see what chance gives: * is p < .05, ** p < .05 after correction.",
    settings=CohesionSettings,
    headlines=True,
    showing=CohesionShown,
    every_attribute=True,
    attributes_needed=False,
    questions=True,
    result="plurivox.lenses.cohesion.result:Cohesion",
    tables="plurivox.lenses.cohesion.result:tables",
    brief="plurivox.lenses.cohesion.result:brief",
    notes="plurivox.lenses.cohesion.result:notes",
    kernel="plurivox.kernels.cohesion:permuted_passes",
)
