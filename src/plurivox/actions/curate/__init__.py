"""Curation: training data with the view of every group."""
