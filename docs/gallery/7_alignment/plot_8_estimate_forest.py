"""
Few human ratings, many of a model
==================================

Humans alone, humans and model together, and the model alone: for all raters, judges and groups.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=400, n_rated=80, n_raters=60, ratings_per_item=8, seed=1)
found = pv.estimate(study.ratings, study.answers, by=["age"])
chart = plots.estimate_forest(found)
