"""
What each model answers to each item
====================================

Beside the mean rating, by which items are sorted.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, seed=1)
found = pv.alignment(study.ratings, study.answers, by=["age"], permutations=0, seed=0)
chart = plots.alignment_items(found)
