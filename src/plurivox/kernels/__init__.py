"""Compiled loops over bytes and codes, one design per file; nothing else imports numba."""
