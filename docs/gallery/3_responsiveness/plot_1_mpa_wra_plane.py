"""
Order and distinction at a glance
=================================

Monotonic precision (MPA) against weighted recall (WRA), one point per group.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=90, seed=1)
found = pv.responsiveness(study.ratings, study.trained, by=["age", "gender"], permutations=0, seed=0)
chart = plots.mpa_wra_plane(found)
