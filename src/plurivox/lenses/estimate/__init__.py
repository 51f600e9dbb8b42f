"""Estimate: what people think of all items, from the few that they rated and the many that models answered.

Prediction-powered inference is that of Angelopoulos, Duchi and Zrnic (2023), PPI++; intervals over raters as well as
items, and what several judges with related errors are worth, are additions.
"""

from plurivox.lenses.estimate.settings import EstimateSettings
from plurivox.lenses.inputs import ITEM_ANSWERS
from plurivox.lenses.record import Lens

LENS = Lens(
    name="estimate",
    command="estimate",
    order=54,
    question="Estimate what people think of all items, from few human ratings and many answers of models.",
    about="The mean score, or shares of points, over all items that a model answered: the mean of the items that "
    "people rated,\ncorrected by how far the model's answers to the other items lie from those to them "
    "(prediction-powered inference).\nHumans alone and the model alone stand beside it, and what the model is worth "
    "in further human ratings. It assumes\nthat the rated items are a random part of all.",
    settings=EstimateSettings,
    inputs=(ITEM_ANSWERS,),
    threads=False,
    csv_tables=("values", "accounts", "judges", "errors", "population"),
    result="plurivox.lenses.estimate.result:Estimate",
    brief="plurivox.lenses.estimate.tables:brief",
    notes="plurivox.lenses.estimate.tables:notes",
    legend="λ tells how much a model's answers count: 0 not at all, 1 as they are. Worth: so many further human "
    "ratings would\nnarrow the interval of humans alone as much as the model does.",
    chart="plurivox.plots.estimate:estimate_forest",
    section="plurivox.report.sections.estimate:section",
)
