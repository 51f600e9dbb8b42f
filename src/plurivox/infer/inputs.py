"""The inputs of lenses other than ratings, each declared once."""

from __future__ import annotations

from dataclasses import replace

from plurivox.infer.lens import Input, Option

REFERENCE = Input(
    name="reference",
    load="reference",
    options=(
        Option(
            name="reference", metavar="FILE|ATTRIBUTE=VALUE|crowd", default="crowd",
            help="What to compare scores with: a file of other ratings of the same items (trained raters, a language "
            "model), a group of the same raters (gender=Woman, rater=gpt-4o), or crowd (all other raters).",
        ),
        Option(
            name="reference_column", metavar="COLUMN",
            help="Instead of --reference: a column of the items table that labels each item, such as a gold label.",
        ),
        Option(
            name="reference_scale", metavar="POINTS",
            help="Scale of the reference file or column, as for --scale (safe,unsafe); same: the scale of the ratings.",
        ),
        Option(
            name="reference_where", metavar="ATTRIBUTE=VALUE",
            help="Keep only these raters of the reference: rater=gpt-4o.",
        ),
    ),
)  # fmt: skip
PREDICTIONS = Input(
    name="predictions",
    load="predictions",
    options=(
        Option(
            name="predictions", metavar="PREDICTIONS", argument=True, several=True,
            help="Tables with a model, an item, and a column of probabilities for each point of the scale, named after "
            "it. Without a 'model' column, the file name is used as the model's name.",
        ),
    ),
)  # fmt: skip
ANSWERS = Input(
    name="answers",
    load="answers",
    options=(
        Option(
            name="answers", metavar="ANSWERS", argument=True,
            help="A store written by plurivox ask, a table (model, item, answer), or an Inspect or lm-eval log.",
        ),
        Option(name="model", help="Column with the model.", metavar="COLUMN"),
        Option(name="answer", help="Column with the answer.", metavar="COLUMN"),
    ),
)  # fmt: skip
ITEM_ANSWERS = replace(ANSWERS, load="item_answers")
"""The same, plus what the items table says about items that nobody rated."""
TRAIN = Input(
    name="train",
    load="train",
    options=(
        Option(name="train", help="Ratings of other items, for the marginal prediction and the prior.", metavar="FILE"),
    ),
)
TRAINED = Input(
    name="trained",
    load="trained",
    options=(
        Option(name="trained", help="Ratings of trained raters, to judge models against (MPA, WRA).", metavar="FILE"),
        Option(name="trained_scale", help="Their scale: 0:1, or safe,unsafe.", metavar="POINTS"),
    ),
)
