"""Alignment: whose view a language model reflects, from human ratings and the model's answers.

ADA-Met follows Galarnyk et al. (2025), How Inclusively do LMs Perceive Social and Moral Norms?; uncertainty, equal
group sizes and the companions that keep the spread of votes are additions.
"""

from plurivox.infer.lens import ANSWERS, TRAINED, Lens, Shortcut
from plurivox.lenses.alignment.settings import AlignmentSettings

LENS = Lens(
    name="alignment",
    command="align",
    order=50,
    question="Find out whose view language models reflect.",
    about="The distance of answers from the mode of votes (ADA-Met) for all raters and each group, the group of closest"
    "\nalignment with its uncertainty, also at equal group sizes, and companions that keep the spread of votes. "
    "Refusals\ncost the whole scale, and are counted. Constant and random answers are shown for comparison. Without "
    "human ratings\n(--answers FILE --scale POINTS, and no FILE) it shows what was refused, and how far models agree.",
    settings=AlignmentSettings,
    headlines=True,
    inputs=(ANSWERS, TRAINED),
    shortcuts=(
        Shortcut(
            name="fast",
            help="Skip MPA, WRA and equal group sizes.",
            sets={"as_rater": False, "subsamples": 0},
        ),
    ),
    csv_tables=(
        "values", "accounts", "closest", "standings", "contrasts", "alphas", "stand_ins", "prompts", "stability",
        "positions", "distances", "items", "bands",
    ),
    result="plurivox.lenses.alignment.result:Alignment",
    tables="plurivox.lenses.alignment.result:tables",
    brief="plurivox.lenses.alignment.result:brief",
    legend="Distances are in points of the scale, E[EMD] in lengths of the scale; lower is closer. ADA-Met and the "
    "distance to voters charge the whole scale for a refused or unreadable answer. A closest group is claimed where "
    "its lead is larger than shuffled raters give, certain over items, and certainly larger than the same answers give "
    "in random order, so that they follow the group.",
    alone="answers",
)  # fmt: skip
