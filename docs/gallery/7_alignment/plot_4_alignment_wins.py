"""
How sure is the closest group
=============================

How often each group is the closest when items are resampled.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, seed=1)
found = pv.alignment(study.ratings, study.answers, by=["age"], permutations=0, bootstrap=200, seed=0)
chart = plots.alignment_wins(found, "age")
