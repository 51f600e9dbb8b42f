"""Plan: what can be asked of a table, and what to collect next."""
