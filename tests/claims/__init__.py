"""Simulated studies with a known truth, and how often plurivox claims what is not so."""
