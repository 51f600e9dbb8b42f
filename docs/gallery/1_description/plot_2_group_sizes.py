"""
How many raters each group has
==============================

Small groups are withheld; this shows which groups can carry a comparison.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, seed=1)
chart = plots.group_sizes(pv.overview(study.ratings, by=["gender", "age", "ethnicity"]))
