"""
How severe items are
====================

The severity that the model gives to the most and the least severe items.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=60, n_raters=40, seed=1)
found = pv.psychometrics(study.ratings, by=["age"])
chart = plots.item_severity(found)
