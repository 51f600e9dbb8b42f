"""
Who rates higher on the same items
==================================

By how many points each group rates the same items higher than the others do.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(
    n_items=80,
    n_raters=90,
    seed=1,
    effects=[pv.Effect({"age": "18-29"}, shared_sd=1.5), pv.Effect({"ethnicity": "White"}, bias=-0.8)],
)
found = pv.variation(study.ratings, by=["ethnicity", "gender"], permutations=199, seed=0)
chart = plots.leniency_forest(found)
