"""
What was answered at all
========================

Which share of the rated items each model answered, refused, or left without a readable answer.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, seed=1)
found = pv.alignment(study.ratings, study.answers, by=["age"], permutations=0, seed=0)
chart = plots.refusals(found)
