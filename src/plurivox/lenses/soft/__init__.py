"""Soft scores: how good a predicted rating distribution is, whether an item has two ratings or two hundred.

Scores, posteriors and bins follow Magnani (2025), Soft Metrics for Ordinal Label Uncertainty with Variable Sample
Sizes, with E[EMD] in closed form; predictions that know nothing about an item are always shown for comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plurivox.base.errors import InputError
from plurivox.base.settings import Axes, OfGroups, setting, shared
from plurivox.base.settings.record import names
from plurivox.infer.lens import PREDICTIONS, TRAIN, Lens, Shortcut

METRICS = (
    "cross_entropy", "kl", "js", "emd", "rps", "expected_cross_entropy", "expected_kl", "expected_js", "expected_emd",
    "expected_rps",
)  # fmt: skip
SHARED_TASK = ("manhattan", "wasserstein", "error_rate", "absolute_distance", "absolute_distance_points")
"""Those of ``statistics.soft_blocks``, which is slow to import; the second are computed on request."""
_EVERY = (*METRICS[:5], *SHARED_TASK, *METRICS[5:])


def _bins(given: Any) -> tuple[str, ...]:
    texts = given.split(",") if isinstance(given, str) else names(given)
    return tuple(text.strip() for text in texts)


def _metrics(given: Any) -> tuple[str, ...]:
    """Return metrics in their usual order."""
    wanted = names(given)
    for name in wanted:
        if name not in _EVERY:
            raise InputError(f"metrics is {name!r}", hint=f"Choose one of {', '.join(_EVERY)}.")
    if not wanted:
        raise InputError("metrics is empty", hint=f"Choose from {', '.join(_EVERY)}.")
    return tuple(name for name in _EVERY if name in wanted)


def _probability(value: float) -> None:
    if not 0 < value < 1:
        raise ValueError


@dataclass(frozen=True, kw_only=True, slots=True)
class SoftSettings(OfGroups):
    """Settings for soft scores."""

    prior: Any = shared.prior(
        shared.AUTO,
        doc="The weight of each point before any rating, for expected scores: a number, one for each point, "
        '``"empirical-bayes"``: the prior under which the ratings of ``train``, or else of the scored items, are most '
        'likely; or ``"auto"``: that prior if at least 50 of these items have two ratings or more, otherwise 1.',
    )
    bins: tuple[str, ...] | None = setting(
        None, "Numbers of ratings to sort items by: 2-3,4-5,6-10,11+.", metavar="BINS", parse=_bins, canonical=_bins,
        accepts="str | Iterable[str] | None",
        doc='Numbers of ratings that items are sorted by: ``["2-3", "4-5", "6-10", "11+"]``. By default up to five '
        "bins with about the same number of items.",
    )  # fmt: skip
    by: Axes = shared.by(
        (), doc="Rater attributes and crossings of several: models are also scored against the ratings of each group."
    )
    items_by: str | None = shared.items_by(
        doc="An item attribute: models are also scored on the items of each of its values, by all raters, with a test "
        "of whether their comparison depends on it."
    )
    metrics: tuple[str, ...] = setting(
        METRICS, "Which scores to compute.", canonical=_metrics, accepts="Sequence[str]", cli=False,
        doc="Which scores to compute. Expected JS takes most of the time. In addition to the usual ten, there are "
        "those of LeWiDi 2025: manhattan, wasserstein, error_rate, absolute_distance and absolute_distance_points.",
    )  # fmt: skip
    floor: float | None = setting(
        None, "Raise smaller probabilities to this in CE and KL: 1e-6. Without it, scores can be ∞.", metavar="Q",
        hint="Give a small probability above 0, such as 1e-6.", check=_probability,
        doc="The smallest value that a predicted probability counts as, in cross-entropy and KL; without it, a point "
        "that was given but predicted as impossible makes the score infinite.",
    )  # fmt: skip
    normalized: bool = setting(
        True, "Give EMD and RPS in steps of the scale, not in lengths of the scale.", option="--unnormalized",
        doc="Whether the whole scale has length 1 for earth mover's distance and ranked probability score; otherwise a "
        "step has its length in the scale's values.",
    )  # fmt: skip
    min_ratings: int = setting(
        0, "Leave out items with fewer ratings.", least=0, metavar="N",
        doc="Items with fewer ratings are left out and counted.",
    )  # fmt: skip
    strict: bool = setting(
        False,
        "Fail if a rated item is not predicted, or a predicted one is not rated.",
        doc="Whether to raise if a rated item is not predicted, or a predicted one is not rated.",
    )
    curve: bool = setting(True, "Whether to also score for other strengths of the prior.", cli=False)
    bootstrap: int = shared.bootstrap(1000, doc="How many times items are resampled for 95 % intervals; 0 for none.")
    permutations: int = shared.permutations(
        1000, help="How often to flip signs of items and shuffle raters; 0 for no p-values.",
        doc="How often the signs of paired differences are flipped, items put into other bins and raters shuffled "
        "between groups, to see what chance gives; for up to 16 items, all sign-flips are used. 0 for no p.",
    )  # fmt: skip
    max_permutations: int | None = shared.max_permutations()
    n_lenses: int = shared.n_lenses()
    within: tuple[str, ...] | None = shared.within()
    correction: str = shared.correction(
        doc='How p-values are corrected: ``"maxt"`` over every two predictions, bins and groups, by the largest '
        "deviation in each draw; bh, by, holm or bonferroni; or none, without claims.",
    )
    seed: int = shared.seed()
    ids: bool = shared.ids()


@dataclass(frozen=True, kw_only=True, slots=True)
class SoftLabelsSettings(OfGroups):
    """Settings for soft labels of ratings."""

    min_group_size: int = shared.min_group_size(
        doc="Groups with fewer raters, in the study or of an item, are withheld, and so are those that would reveal "
        "them."
    )


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
