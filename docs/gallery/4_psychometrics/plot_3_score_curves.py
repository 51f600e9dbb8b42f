"""
From severity to score
======================

The score that each group is expected to give as severity rises.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=60, n_raters=40, seed=1)
found = pv.psychometrics(study.ratings, by=["age"])
chart = plots.score_curves(found, "age")
