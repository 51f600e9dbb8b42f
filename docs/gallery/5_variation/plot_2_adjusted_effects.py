"""
With other attributes accounted for
===================================

The same before and after other attributes are accounted for.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(
    n_items=80,
    n_raters=90,
    seed=1,
    effects=[pv.Effect({"age": "18-29"}, shared_sd=1.5), pv.Effect({"ethnicity": "White"}, bias=-0.8)],
)
found = pv.variation(study.ratings, by=["ethnicity", "gender"], adjust=True, permutations=0, seed=0)
chart = plots.adjusted_effects(found)
