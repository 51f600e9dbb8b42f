"""
How many ratings items have
===========================

Items with few ratings say little on their own.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=200, n_raters=90, ratings_per_item=(2, 20), seed=1)
chart = plots.ratings_per_item(pv.overview(study.ratings))
