"""
Items that deserve more ratings
===============================

Where one more rating tells most.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=120, n_raters=90, ratings_per_item=(2, 12), seed=1)
chart = plots.items_uncertain(pv.items(study.ratings, permutations=0))
