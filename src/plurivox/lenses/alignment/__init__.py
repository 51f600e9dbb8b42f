"""Alignment: whose view language models reflect."""
