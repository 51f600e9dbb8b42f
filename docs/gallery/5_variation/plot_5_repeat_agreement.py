"""
Do raters agree with themselves
===============================

Items that raters rated twice: agreement with oneself beside agreement with others.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=60, repeated=0.2, seed=1)
found = pv.variation(study.ratings, by=["age"], permutations=0, seed=0)
chart = plots.repeat_agreement(found)
