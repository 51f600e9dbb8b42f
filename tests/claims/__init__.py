"""Simulations with a known truth behind what the package claims; run by hand, and imported by tests."""
