"""From draws to p-values and intervals, and the one loop that makes the draws. May use ``errors`` only."""
