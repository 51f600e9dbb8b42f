"""
Do scores drift with time
=========================

By how many points the scores of each group rise over a session.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=60, repeated=0.2, seed=1)
found = pv.variation(study.ratings, by=["age"], permutations=199, seed=0)
chart = plots.drift_forest(found)
