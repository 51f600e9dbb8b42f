"""
How that spreads over groups
============================

The same for all groups together, as a spread.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, seed=1)
found = pv.responsiveness(study.ratings, study.trained, by=["age"], permutations=0, seed=0)
chart = plots.precision_recall_spread(found, "age")
