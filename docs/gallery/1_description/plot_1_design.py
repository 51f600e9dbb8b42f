"""
Who rated what
==============

Items across, raters down: gaps show who saw only part of the items.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, missing=0.6, seed=1)
chart = plots.design(pv.overview(study.ratings))
