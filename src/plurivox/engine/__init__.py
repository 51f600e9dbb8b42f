"""A statistic is a sum over items, then a finish: parts of the items, what they add, draws, and a single driver.

::

    Part ──Contribution──▶ Sums ──Σ over parts, in order──▶ Sums ──finish──▶ values, one for each draw

``part`` holds runs of whole items as arrays, ``draws`` who is shuffled or drawn, ``run`` the driver, and ``pool`` the
workers; ``grouping`` says who is compared with whom, ``permutation`` and ``families`` what a p-value is, ``intervals``
and ``jackknife`` what an interval is. The package may use everything up to ``axis``.
"""
