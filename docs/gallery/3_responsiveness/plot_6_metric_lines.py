"""
All metrics side by side
========================

Every metric of each group, each beside its own median over the groups.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, seed=1)
found = pv.responsiveness(study.ratings, study.trained, by=["age", "ethnicity"], permutations=0, seed=0)
chart = plots.metric_lines(found, "ethnicity")
