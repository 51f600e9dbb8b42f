"""
How each group uses the scale
=============================

The share of every point among the ratings of a group.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, seed=1)
chart = plots.scale_use(pv.overview(study.ratings, by=["age"]), "age")
