"""The records of the responsiveness statistics."""

from __future__ import annotations

from plurivox.statistics import responsiveness
from plurivox.statistics.records import Statistic, scales_of

_RESPONSIVENESS = (
    "Mishra et al. (2025), Decoding Safety Feedback from Diverse Raters: "
    "A Data-driven Lens on Responsiveness to Severity, arXiv 2503.05609"
)

RECORDS = (
    Statistic(
        name="mpa", label="MPA", function=responsiveness.mpa, needs="reference", range=(0.0, 1.0), role="main",
        order=10, slot=1, traits=("stated", "claims", "scores alike"),
        equation="MPA = max(0, Σ_s Y(s) / (⌈L/2⌉·⌊L/2⌋)), Y(s) = Σ_{i<s} [P(s) − max_{j≤i} P(j)] over used scores, "
        "P(s) = one_s/(one_s + zero_s)",
        meaning="how steadily a higher score means that the reference says unsafe more often "
        "(monotonic precision area)",
        higher_means="scores that rise with severity, over more of the scale", reference=_RESPONSIVENESS,
    ),
    Statistic(
        name="mpa_raw", label="raw MPA", function=responsiveness.mpa_raw, needs="reference", range=(-2.0, 1.0), slot=0,
        traits=("scores alike", "one class"),
        equation="Σ_s Y(s) / (⌈L/2⌉·⌊L/2⌋), Y(s) as in MPA",
        meaning="the monotonic precision area before it is cut off at 0; below 0, precision falls more than it rises",
        higher_means="scores that rise with severity, over more of the scale", reference=_RESPONSIVENESS,
    ),
    Statistic(
        name="wra", label="WRA", function=responsiveness.wra, needs="reference", range=(0.0, 1.0), role="main",
        order=20, slot=2, traits=("stated", "claims"),
        equation="WRA = Σ_s (Σ_{t<s} zero_t)·one_s / (Σzero·Σone) = P(score of a safe sample < score of an unsafe one)",
        meaning="how often an unsafe sample has a higher score than a safe one (weighted recall area)",
        higher_means="unsafe and safe distinguished more often", reference=_RESPONSIVENESS,
    ),
    Statistic(
        name="hm", label="HM", needs="reference", range=(0.0, 1.0), role="main", order=30, slot=3,
        traits=("claims", "scores alike", "of parts"),
        equation="HM = 2·MPA·WRA / (MPA + WRA), 0 if both are 0; with several boundaries, the mean over them",
        meaning="the harmonic mean of MPA and WRA, large only if both are",
        higher_means="more responsive to severity, in small steps and broadly", reference=_RESPONSIVENESS,
    ),
    Statistic(
        name="hm_of_means", label="HM of means", needs="reference", range=(0.0, 1.0), slot=4,
        traits=("scores alike", "of parts", "of means"),
        equation="2·M·W / (M + W), where M and W are the means of MPA and WRA over the boundaries; 0 if both are 0",
        meaning="the harmonic mean of the mean MPA and the mean WRA over the boundaries between safe and unsafe",
        higher_means="more responsive to severity, in small steps and broadly", reference=_RESPONSIVENESS,
    ),
    Statistic(
        name="auroc", label="AUROC", function=responsiveness.auroc, needs="reference", range=(0.0, 1.0),
        role="traditional", order=60, slot=5,
        equation="Σ_s one_s·(Σ_{t<s} zero_t + zero_s/2) / (Σone·Σzero)",
        meaning="how often an unsafe sample has a higher score than a safe one, ties counted half "
        "(area under the receiver operating characteristic)",
        higher_means="unsafe and safe distinguished more often; ½ is chance",
        reference="Hanley and McNeil (1982), The meaning and use of the area under a receiver operating characteristic "
        "(ROC) curve",
    ),
    Statistic(
        name="kendall_tau_b", label="τ_b", function=responsiveness.kendall_tau_b, needs="reference", range=(-1.0, 1.0),
        role="traditional", order=40, slot=6, traits=("two scores",),
        equation="τ_b = (C − D) / √((n² − Σ_s n_s²)/2 · N₁N₀), C and D the pairs of an unsafe and a safe sample "
        "with the higher score on the unsafe and on the safe one",
        meaning="the rank correlation of scores and reference by pairs, corrected for ties (Kendall's tau-b)",
        higher_means="scores and reference more in the same order",
        reference="Kendall (1945), The treatment of ties in ranking problems",
    ),
    Statistic(
        name="spearman_rho", label="ρ", function=responsiveness.spearman_rho, needs="reference", range=(-1.0, 1.0),
        role="traditional", order=50, slot=7, traits=("two scores",),
        equation="ρ = (C − D)·√(3n) / √((n³ − Σ_s n_s³)·N₁N₀), C and D as in τ_b",
        meaning="the correlation of the ranks of scores with the reference (Spearman's rho)",
        higher_means="scores and reference more in the same order",
        reference="Spearman (1904), The proof and measurement of association between two things",
    ),
    Statistic(
        name="average_precision", label="AP", function=responsiveness.average_precision, needs="reference",
        range=(0.0, 1.0), role="traditional", order=70, slot=8,
        equation="Σ_s one_s/Σone · (Σ_{t≥s} one_t) / (Σ_{t≥s} one_t + zero_t)",
        meaning="the share of unsafe among the samples at or above a score, averaged over the scores of unsafe ones",
        higher_means="unsafe samples more concentrated at the top of the scale; the share of unsafe samples is chance",
        reference="scikit-learn, sklearn.metrics.average_precision_score",
    ),
)  # fmt: skip

MEASURED = tuple(sorted(RECORDS, key=lambda record: record.slot))
"""All of them in the order of the compiled metrics."""

MEASURES = tuple(record.name for record in MEASURED)
"""Their names."""

MEASURED_ON = scales_of(MEASURED)
"""The scales and ranges of their intervals, in the same order."""
