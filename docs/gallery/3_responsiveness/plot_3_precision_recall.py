"""
What each score means
=====================

For each score: how many of the items that got it are unsafe, and how many of the unsafe items got it.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, seed=1)
found = pv.responsiveness(study.ratings, study.trained, by=["age"], permutations=0, seed=0)
chart = plots.precision_recall(found, "age")
