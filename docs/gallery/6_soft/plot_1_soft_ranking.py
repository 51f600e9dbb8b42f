"""
Which model predicts ratings best
=================================

Every metric with intervals, beside predictions that know nothing about the item.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, seed=1)
found = pv.soft_scores(study.ratings, study.predictions, seed=0)
chart = plots.soft_ranking(found)
