"""
Agreement between every two groups
==================================

Agreement across groups (XRR), and on the diagonal that within each (IRR).
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(
    n_items=80,
    n_raters=90,
    seed=1,
    effects=[pv.Effect({"age": "18-29"}, shared_sd=1.5), pv.Effect({"ethnicity": "White"}, bias=-0.8)],
)
found = pv.cohesion(study.ratings, by=["age"], pairs=True, permutations=0, seed=0)
chart = plots.xrr_matrix(found, "age")
