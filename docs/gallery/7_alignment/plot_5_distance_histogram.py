"""
How far answers lie from the raters
===================================

Distances of answers from the most frequent rating.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, seed=1)
found = pv.alignment(study.ratings, study.answers, by=["age"], permutations=0, seed=0)
chart = plots.distance_histogram(found)
