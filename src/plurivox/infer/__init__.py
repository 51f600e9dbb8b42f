"""What every lens shares: who is exchanged with whom, p-values, intervals, and results with their sentences."""
