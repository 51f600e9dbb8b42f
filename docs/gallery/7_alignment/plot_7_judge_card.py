"""
Can a model judge?
==================

A judge card: agreement beside that among raters, bias, consistency, and what the answers are worth.
"""

import plurivox as pv
from plurivox import plots

study = pv.simulate(n_items=80, n_raters=60, seed=1)
found = pv.judge(study.ratings, study.answers, by=["age"], seed=0)
chart = plots.judge_card(found)
