"""
By how many ratings items have
==============================

Plain scores depend on how many ratings an item has; expected scores do not.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=200, n_raters=90, ratings_per_item=(2, 40), seed=1)
found = pv.soft_scores(study.ratings, study.predictions, seed=0)
chart = plots.soft_by_bin(found)
