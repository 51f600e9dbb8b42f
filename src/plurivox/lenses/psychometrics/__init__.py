"""Psychometrics: whether raters, or groups, measure the same severity, and how sharply each of them does."""

from plurivox.infer.lens import Lens
from plurivox.lenses.psychometrics.settings import PsychometricsSettings, PsychometricsShown

LENS = Lens(
    name="psychometrics",
    command="scale",
    order=30,
    question="Check whether raters order items alike, and how sharply each does.",
    about="Mokken's H_j asks whether a rater orders items as the others do; the discrimination a of a graded response "
    "model asks\nhow sharply scores rise with the severity that all raters share. The model also estimates each item's "
    "severity.\n--by rater, the default without a by in plurivox.toml, treats each rater individually; other "
    "attributes compare groups.",
    settings=PsychometricsSettings,
    showing=PsychometricsShown,
    threads=False,
    csv_tables=("values", "severity", "thresholds", "curves", "pairs", "checks", "fits"),
    result="plurivox.lenses.psychometrics.result:Psychometrics",
    tables="plurivox.lenses.psychometrics.result:tables",
    brief="plurivox.lenses.psychometrics.result:brief",
    notes="plurivox.lenses.psychometrics.result:notes",
    legend="",
    kernel="plurivox.kernels.graded:information",
)
