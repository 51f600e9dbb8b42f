"""Responsiveness: whose scores convey severity."""
