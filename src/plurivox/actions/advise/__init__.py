"""Advice: what scores show, what it may mean, and what to look at next."""

from plurivox.actions.advise.settings import AdviceSettings
from plurivox.actions.plan import PLAN
from plurivox.lenses.inputs import REFERENCE
from plurivox.lenses.record import Instead, Lens

ADVISE = Lens(
    name="advise",
    command="advise",
    question="Tell what the scores of raters or groups show, what it may mean, and what to look at next.",
    about="Scores that are hardly used, ends preferred or avoided, ranges over which a higher score does not mean more "
    "severe,\nand pairs of an unsafe and a safe item with the same score. --by rater, the default without a by in "
    "plurivox.toml,\ntakes each rater on their own. --plan tells what can be asked of the table, and how many raters "
    "and items an answer\ntakes.",
    settings=AdviceSettings,
    inputs=(REFERENCE,),
    instead=Instead(
        name="plan",
        help="Tell instead which analyses apply, which groups are too small, and what to collect next.",
        lens=PLAN,
    ),
    csv_tables=("advice", "members", "precision", "pairs", "items"),
    result="plurivox.actions.advise.result:Advice",
    show="plurivox.cli.show_actions:show_advice",
    kernel="plurivox.kernels.responsiveness:permuted_tables",
)
