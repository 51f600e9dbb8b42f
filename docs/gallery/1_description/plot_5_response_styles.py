"""
How much of the scale raters use
================================

The median rater and the middle 80 % of every group: who keeps to the middle, who to the ends?
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, seed=1)
chart = plots.response_styles(pv.overview(study.ratings, by=["age"]), "age")
