"""
The same as a table
===================

The closest group of each attribute has a frame.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, seed=1)
found = pv.alignment(study.ratings, study.answers, by=["age", "gender"], permutations=0, seed=0)
chart = plots.alignment_heat(found)
