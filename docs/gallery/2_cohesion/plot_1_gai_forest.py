"""
Which groups agree among themselves
===================================

The group association index (GAI) of every group with its interval, upon what shuffled raters give.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(
    n_items=80,
    n_raters=90,
    seed=1,
    effects=[pv.Effect({"age": "18-29"}, shared_sd=1.5), pv.Effect({"ethnicity": "White"}, bias=-0.8)],
)
found = pv.cohesion(study.ratings, by=["age", "gender"], permutations=199, seed=0)
chart = plots.gai_forest(found)
