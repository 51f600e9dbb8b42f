"""
Beside familiar metrics
=======================

MPA and WRA of each group against Kendall's τ_b and AUROC.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, seed=1)
found = pv.responsiveness(study.ratings, study.trained, by=["age", "ethnicity"], permutations=0, seed=0)
chart = plots.metric_comparison(found, "ethnicity")
