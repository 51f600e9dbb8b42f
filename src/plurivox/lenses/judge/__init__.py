"""The judge card: the case for and against trusting a language model as a judge, in one table for each model.

The alternative annotator test follows Calderon, Reichart and Dror (2025); what answers are worth follows PPI++ by
Angelopoulos, Duchi and Zrnic (2023).
"""

from plurivox.infer.lens import ANSWERS, Lens
from plurivox.lenses.judge.settings import JudgeSettings

LENS = Lens(
    name="judge",
    command="judge",
    order=52,
    question="Weigh the case for and against trusting a language model as a judge.",
    about="Agreement with raters, compared with that of raters, of a constant and of random answers; whether it may "
    "stand in for a\nrater; bias by groups of raters (--by) and parts of the items (--subset); position bias; "
    "self-consistency; refusals;\nwhat its answers are worth in human ratings; and a verdict. --require 'omega>=0.5' "
    "makes it a gate: the command ends\nwith code 4 if a requirement is not met.",
    settings=JudgeSettings,
    headlines=True,
    inputs=(ANSWERS,),
    csv_tables=("card", "values", "biases", "places", "stand_ins", "requirements", "verdicts"),
    result="plurivox.lenses.judge.result:JudgeCard",
    tables="plurivox.lenses.judge.result:tables",
    brief="plurivox.lenses.judge.result:brief",
    legend="Raters, constant, chance: what raters reach with each other (for bias, the range of nine in ten), the best "
    "constant answer, and a draw from all votes. Agreement of 0 is chance; distance and bias are in points of the "
    "scale. Intervals are over items and raters. p is corrected over models; for bias, over all groups and parts.",
    gate="plurivox.lenses.judge.result:failures",
)
