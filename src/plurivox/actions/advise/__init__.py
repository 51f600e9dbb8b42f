"""Advice: what scores show, what it may mean, and what to look at next."""

from plurivox.actions.advise.settings import AdviceSettings
from plurivox.actions.plan import PLAN
from plurivox.infer.lens import REFERENCE, Instead, Lens

ADVISE = Lens(
    name="advise",
    command="advise",
    question="Show what stands out in raters' or groups' scores, what it may mean, and what to look at next.",
    about="It looks for scores that are hardly used, ends preferred or avoided, ranges over which a higher score does "
    "not mean\nmore severe, and pairs of an unsafe and a safe item with the same score. --by rater, the default unless "
    "plurivox.toml\nsets by, looks at each rater individually. --plan shows which analyses apply to the table, and how "
    "many raters and\nitems they need.",
    settings=AdviceSettings,
    inputs=(REFERENCE,),
    instead=Instead(
        name="plan",
        help="Instead, show which analyses apply, which groups are too small, and what to collect next.",
        lens=PLAN,
    ),
    csv_tables=("advice", "members", "precision", "pairs", "items"),
    result="plurivox.actions.advise.result:Advice",
    tables="plurivox.actions.advise.result:tables",
    kernel="plurivox.kernels.responsiveness:permuted_tables",
)
