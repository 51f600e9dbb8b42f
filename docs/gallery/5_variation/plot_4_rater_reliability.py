"""
How many raters are enough
==========================

How reliable the mean of so many raters is, and where it reaches the target.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(
    n_items=80,
    n_raters=90,
    seed=1,
    effects=[pv.Effect({"age": "18-29"}, shared_sd=1.5), pv.Effect({"ethnicity": "White"}, bias=-0.8)],
)
found = pv.variation(study.ratings, by=["age"], permutations=0, seed=0)
chart = plots.rater_reliability(found)
