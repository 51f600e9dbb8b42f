"""Measurements of speed and memory, as ratios taken side by side in one run."""
