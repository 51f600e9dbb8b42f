"""Psychometrics: do raters, or groups, measure one and the same severity, and how sharply does each of them."""

from plurivox.lenses.psychometrics.settings import PsychometricsSettings, PsychometricsShown
from plurivox.lenses.record import Lens

LENS = Lens(
    name="psychometrics",
    command="scale",
    order=30,
    question="Tell whether raters order items alike, and how sharply each does.",
    about="Mokken's H_j asks whether a rater orders items as the others do, the discrimination a of a graded response "
    "model how\nsharply scores rise with the severity that all have in common; the model gives every item its "
    "severity. --by rater,\nthe default without a by in plurivox.toml, takes each rater on their own; other attributes "
    "take groups.",
    settings=PsychometricsSettings,
    showing=PsychometricsShown,
    threads=False,
    csv_tables=("values", "severity", "thresholds", "curves", "pairs", "checks", "fits"),
    result="plurivox.lenses.psychometrics.result:Psychometrics",
    brief="plurivox.lenses.psychometrics.tables:brief",
    notes="plurivox.lenses.psychometrics.tables:notes",
    legend="",
    kernel="plurivox.kernels.graded:information",
)
