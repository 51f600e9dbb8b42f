"""
What one label per item hides
=============================

How far the labels of each method lie from the view of each group, beside what chance gives.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, effects=[pv.Effect({"age": "18-29"}, shared_sd=1.5)], seed=1)
found = pv.aggregate(study.ratings, by=["age"], permutations=199, seed=0)
chart = plots.hidden_views(found)
