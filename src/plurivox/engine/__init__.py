"""From ratings to draws: parts of the items, what they add, permutations and bootstrap, p-values and intervals."""
