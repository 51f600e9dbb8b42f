"""
A published table, made again
=============================

A ring for what is printed, a dot in it for ours.
"""

import plurivox as pv
from plurivox import plots

chart = plots.reproduction(pv.reproduce.run("soft"))
