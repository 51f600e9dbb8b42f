"""
One item
========

The scores that all raters and each group gave to one item.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(
    n_items=80,
    n_raters=90,
    seed=1,
    effects=[pv.Effect({"age": "18-29"}, shared_sd=1.5), pv.Effect({"ethnicity": "White"}, bias=-0.8)],
)
item = study.ratings.items["item"][0]
chart = plots.item_groups(pv.item_view(study.ratings, item, ["age"], permutations=99))
