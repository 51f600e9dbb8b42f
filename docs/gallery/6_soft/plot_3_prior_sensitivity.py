"""
How much the prior matters
==========================

How expected scores, and with them the ranking, move with the strength of the prior.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, seed=1)
found = pv.soft_scores(study.ratings, study.predictions, seed=0)
chart = plots.prior_sensitivity(found)
