"""Advice: what scores show, what it may mean, and what to look at next."""
