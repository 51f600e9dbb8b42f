"""
How far each model is from each group
=====================================

Distances with intervals, the closest first.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, seed=1)
found = pv.alignment(study.ratings, study.answers, by=["age"], permutations=199, seed=0)
chart = plots.alignment_dots(found)
