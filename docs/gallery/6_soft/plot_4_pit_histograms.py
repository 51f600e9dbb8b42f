"""
Where ratings fall in their prediction
======================================

All bars are alike if the predictions are right.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, seed=1)
found = pv.soft_scores(study.ratings, study.predictions, seed=0)
chart = plots.pit_histograms(found)
