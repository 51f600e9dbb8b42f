"""
Which attribute divides raters most
===================================

The diversity sensitivity index (DSI) of each attribute: its largest GAI, with the group that has it.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(
    n_items=80,
    n_raters=90,
    seed=1,
    effects=[pv.Effect({"age": "18-29"}, shared_sd=1.5), pv.Effect({"ethnicity": "White"}, bias=-0.8)],
)
found = pv.cohesion(study.ratings, by=["age", "gender", "ethnicity"], permutations=199, seed=0)
chart = plots.dsi_ranking(found)
