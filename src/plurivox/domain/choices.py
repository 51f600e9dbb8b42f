"""What a reader of tables can be told to do, by name; imports nothing, since the command line lists it at its start."""

from __future__ import annotations

from typing import Literal, get_args

Conflicts = Literal["missing", "first", "error"]
CONFLICTS: tuple[Conflicts, ...] = get_args(Conflicts)
"""If a rater or an item has several values of an attribute, none of them counts, the first does, or it is an error."""
Duplicates = Literal["error", "first", "last", "mode", "keep"]
RULES: tuple[Duplicates, ...] = get_args(Duplicates)
"""Which rating counts if a rater rated an item more than once."""
Layout = Literal["long", "wide", "totals"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
"""What a row of a table is: a rating, an item with a column for each rater, or one with a count for each point."""
UNKNOWN = (
    "DATA_EXPIRED", "CONSENT_REVOKED", "Prefer not to say", "Prefer not to answer", "Prefer not to disclose",
    "Prefer not to respond", "Rather not say", "Rather not answer",
)  # fmt: skip
"""Words that say nothing about a rater; compared ignoring case, with or without "I", "I would" or "I'd" in front."""
