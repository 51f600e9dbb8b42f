"""A statistic is a sum over items, then a finish: parts of the items, what they add, draws, and a single driver.

::

    Part ──Contribution──▶ Sums ──Σ over parts, in order──▶ Sums ──finish──▶ values, one for each draw

``draws`` says who is shuffled or drawn, ``counting`` what functions of counts add up to, ``run`` is the driver and
``pool`` has the workers, which ``shipping`` and ``cluster`` hand their work; ``resuming`` keeps what was added up.
"""
