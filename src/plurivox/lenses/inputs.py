"""What lenses take besides ratings, each declared once."""

from __future__ import annotations

from dataclasses import replace

from plurivox.lenses.record import Input, Option

REFERENCE = Input(
    name="reference",
    load="plurivox.cli.inputs:reference",
    options=(
        Option(
            name="reference", metavar="FILE|ATTRIBUTE=VALUE|crowd", default="crowd",
            help="What scores are held against: a file of other ratings of the same items (trained raters, a language "
            "model), a group of the same raters (gender=Woman, rater=gpt-4o), or crowd: all other raters.",
        ),
        Option(
            name="reference_column", metavar="COLUMN",
            help="Instead of --reference: a column of the items that says what each is, such as a gold label.",
        ),
        Option(
            name="reference_scale", metavar="POINTS",
            help="Points of a reference file or column, as for --scale: safe,unsafe. same: as the ratings.",
        ),
        Option(
            name="reference_where", metavar="ATTRIBUTE=VALUE",
            help="Keep only these raters of the reference: rater=gpt-4o.",
        ),
    ),
)  # fmt: skip
PREDICTIONS = Input(
    name="predictions",
    load="plurivox.cli.inputs:predictions",
    options=(
        Option(
            name="predictions", metavar="PREDICTIONS", argument=True, several=True,
            help="Tables with a model, an item, and a column of probabilities named like each point of the scale. "
            "Without a column 'model' the file's name is the model.",
        ),
    ),
)  # fmt: skip
ANSWERS = Input(
    name="answers",
    load="plurivox.cli.inputs:answers",
    options=(
        Option(
            name="answers", metavar="ANSWERS", argument=True,
            help="A store of plurivox ask, a table (model, item, answer), or a log of Inspect or lm-eval.",
        ),
        Option(name="model", help="Column with the model.", metavar="COLUMN"),
        Option(name="answer", help="Column with the answer.", metavar="COLUMN"),
    ),
)  # fmt: skip
ITEM_ANSWERS = replace(ANSWERS, load="plurivox.cli.inputs:item_answers")
"""The same with what the table of items tells of items that nobody rated."""
TRAIN = Input(
    name="train",
    load="plurivox.cli.inputs:train",
    options=(
        Option(name="train", help="Ratings of other items, for the marginal prediction and the prior.", metavar="FILE"),
    ),
)
TRAINED = Input(
    name="trained",
    load="plurivox.cli.inputs:trained",
    options=(
        Option(name="trained", help="Ratings of trained raters, to judge models against (MPA, WRA).", metavar="FILE"),
        Option(name="trained_scale", help="Their scale: 0:1, or safe,unsafe.", metavar="POINTS"),
    ),
)
