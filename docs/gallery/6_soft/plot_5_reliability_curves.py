"""
Are probabilities what they say
===============================

How often ratings reach a point, by the probability that was predicted for it.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, seed=1)
found = pv.soft_scores(study.ratings, study.predictions, seed=0)
chart = plots.reliability_curves(found)
