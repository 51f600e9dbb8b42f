"""Cohesion: which groups see things alike."""
