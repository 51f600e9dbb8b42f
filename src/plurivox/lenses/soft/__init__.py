"""Soft scores: how good predicted rating distributions are."""
