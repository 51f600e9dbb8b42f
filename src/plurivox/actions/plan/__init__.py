"""Plan: which analyses apply to a table, and what to collect next."""

from plurivox.actions.plan.settings import PlanSettings
from plurivox.infer.lens import Lens

PLAN = Lens(
    name="plan",
    command="advise",
    question="Show which analyses apply, which groups are too small, and what to collect next.",
    settings=PlanSettings,
    csv_tables=("lenses", "groups", "power"),
    result="plurivox.actions.plan.result:Plan",
    tables="plurivox.actions.plan.result:tables",
)
