"""
What scores vary by
===================

How the variance divides into items, raters, groups and the rest.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(
    n_items=80,
    n_raters=90,
    seed=1,
    effects=[pv.Effect({"age": "18-29"}, shared_sd=1.5), pv.Effect({"ethnicity": "White"}, bias=-0.8)],
)
found = pv.variation(study.ratings, by=["age", "ethnicity"], permutations=0, seed=0)
chart = plots.variance_shares(found)
