"""Soft scores: how good a predicted rating distribution is, whether an item has two ratings or two hundred.

Scores, posteriors and bins follow Magnani (2025), Soft Metrics for Ordinal Label Uncertainty with Variable Sample
Sizes, with E[EMD] in closed form; predictions that know nothing about an item are always shown for comparison.
"""

from plurivox.infer.lens import PREDICTIONS, TRAIN, Lens, Shortcut
from plurivox.lenses.soft.settings import METRICS, SHARED_TASK, SoftSettings

CSV_TABLES = (
    "comparisons", "interactions", "parts", "sensitivity", "calibration", "pit", "reliability", "prior_weight",
    "missing",
)  # fmt: skip

LENS = Lens(
    name="soft_scores",
    command="score",
    order=40,
    question="Score predicted rating distributions, even where an item has few ratings.",
    about="Cross-entropy (CE), Kullback–Leibler (KL) and Jensen–Shannon (JS) divergence, earth mover's distance (EMD) "
    "and\nranked probability score (RPS), against the shares of ratings and, E[…], expected given a prior and the "
    "ratings.\nLower is better. With --by, models are also scored against each group's ratings, with --items-by on "
    "each\npart of the items.",
    settings=SoftSettings,
    headlines=True,
    inputs=(PREDICTIONS, TRAIN),
    shortcuts=(
        Shortcut(
            name="fast",
            help="Skip E[JS] and the curve over priors.",
            sets={"metrics": tuple(name for name in METRICS if name != "expected_js"), "curve": False},
        ),
        Shortcut(
            name="lewidi",
            help="Also compute the scores of LeWiDi 2025: Manhattan, Wasserstein, error rate, absolute distance.",
            sets={"metrics": ("rps", *SHARED_TASK), "curve": False},
        ),
    ),
    csv_tables=("values", *CSV_TABLES),
    result="plurivox.lenses.soft.result:SoftScores",
    tables="plurivox.lenses.soft.result:tables",
    brief="plurivox.lenses.soft.result:brief",
    notes="plurivox.lenses.soft.result:notes",
    legend="Lower is better; the rank among models is in parentheses. Models are ranked by RPS, which scores the "
    "ratings\nthemselves and needs no prior. Uniform, marginal and posterior mean are for comparison.",
)
