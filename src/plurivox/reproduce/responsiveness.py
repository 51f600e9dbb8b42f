"""Responsiveness (Mishra et al. 2025): the simulation of appendix D, for which figure 6 prints no numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from plurivox import studies
from plurivox.reproduce.record import Paper, PublishedCell, published

TOP, REPEATS = 4, 5
LOWER, SAME = -0.05, 0.1
"""A metric is lower if it falls by more than the first, and about the same if it moves by less than the second."""


def cells(folder: Path | None) -> Iterator[PublishedCell]:
    """Yield what each scoring pattern does to the metrics and what the paper says about it, then the means."""
    found = studies.responsiveness(tops=[TOP], repeats=REPEATS)
    for pattern, metric, said in published("responsiveness_figure6").iter_rows():
        change = found.value(pattern, metric, TOP) - found.value("normal", metric, TOP)
        agrees = change < LOWER if said == "lower" else abs(change) < SAME
        name = studies.METRICS[metric]
        yield PublishedCell("Figure 6, change from normal", pattern.replace("_", " "), name, said, change, agrees)
    for pattern in studies.PATTERNS:
        for metric, name in studies.METRICS.items():
            yield PublishedCell(
                "Figure 6, mean", pattern.replace("_", " "), name, "", found.value(pattern, metric, TOP)
            )


PAPER = Paper(
    name="responsiveness",
    order=20,
    citation="Mishra et al. (2025), Decoding Safety Feedback from Diverse Raters: A Data-driven Lens on "
    "Responsiveness to Severity, arXiv 2503.05609",
    cells=cells,
    parts=(
        f"The figure has no numbers: a metric counts as lower if it falls by more than {-LOWER}, and as about the same "
        f"if it moves by less than {SAME}. Sizes that the paper does not give are choices made in plurivox.simulate.",
        "The paper finds that traditional metrics do not change much under the conservative pattern; here Kendall's "
        "τ_b and Spearman's ρ rise.",
        "The paper's listing never cuts MPA off at 0, so its harmonic mean can exceed 1; here MPA is at least 0.",
    ),
)
