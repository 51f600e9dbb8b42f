"""
Items on which groups differ
============================

The clearest differences between a group and the others on an item, beside what chance gives.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(
    n_items=80,
    n_raters=90,
    seed=1,
    effects=[pv.Effect({"age": "18-29"}, shared_sd=1.5), pv.Effect({"ethnicity": "White"}, bias=-0.8)],
)
found = pv.items(study.ratings, by=["age"], permutations=199, seed=0)
chart = plots.items_divided(found)
