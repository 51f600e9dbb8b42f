"""Estimate: what people think of all items, from the few they rated and the many that models answered.

Prediction-powered inference follows Angelopoulos, Duchi and Zrnic (2023), PPI++; intervals over raters as well as
items, and the worth of several judges with related errors, are additions.
"""

from plurivox.infer.lens import ITEM_ANSWERS, Lens
from plurivox.lenses.estimate.settings import EstimateSettings

LENS = Lens(
    name="estimate",
    command="estimate",
    order=54,
    question="Estimate what people think of all items, from few human ratings and many model answers.",
    about="The mean score, or shares of points, over all items that a model answered: the mean of the items that "
    "people rated,\ncorrected by how far the model's answers to the other items differ from its answers to these "
    "(prediction-powered inference).\nIt is shown with humans alone, the model alone, and what the model is worth in "
    "further human ratings. It assumes that\nthe rated items are a random part of all items.",
    settings=EstimateSettings,
    inputs=(ITEM_ANSWERS,),
    threads=False,
    csv_tables=("values", "accounts", "judges", "errors", "population"),
    result="plurivox.lenses.estimate.result:Estimate",
    brief="plurivox.lenses.estimate.tables:brief",
    notes="plurivox.lenses.estimate.tables:notes",
    legend="λ is how much a model's answers count: 0 not at all, 1 in full. Worth: how many further human ratings "
    "would\nnarrow the interval of humans alone as much as the model does.",
)
