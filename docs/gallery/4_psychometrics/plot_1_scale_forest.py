"""
How sharply each group tells items apart
========================================

Mokken's H and the discrimination of a graded response model, with intervals.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=60, n_raters=40, seed=1)
found = pv.psychometrics(study.ratings, by=["age"])
chart = plots.scale_forest(found)
