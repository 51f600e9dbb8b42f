"""Psychometrics: do raters, or groups, measure one and the same severity."""
