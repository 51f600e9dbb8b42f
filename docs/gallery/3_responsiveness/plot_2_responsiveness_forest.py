"""
Both with intervals
===================

MPA and WRA of each group, a panel each, upon what shuffled raters give.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, seed=1)
found = pv.responsiveness(study.ratings, study.trained, by=["age"], permutations=199, seed=0)
chart = plots.responsiveness_forest(found)
