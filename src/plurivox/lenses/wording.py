"""Numbers and names in sentences."""

from __future__ import annotations

from collections.abc import Iterable


def counted(n: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "group"), counted(2000, "group")
    ('1 group', '2,000 groups')
    """
    return f"1 {one}" if n == 1 else f"{n:,} {many or one + 's'}"


def listed(names: Iterable[str], most: int | None = None, word: str = "and") -> str:
    """Name the first few, or all, and count the others.

    Examples
    --------
    >>> listed(["a", "b", "c", "d"], 2), listed(["a", "b"], word="or")
    ('a, b and 2 more', 'a or b')
    """
    shown = list(names)
    if most is not None and len(shown) > most:
        shown = [*shown[:most], f"{len(shown) - most:,} more"]
    return f"{', '.join(shown[:-1])} {word} {shown[-1]}" if len(shown) > 1 else "".join(shown)


def are(n: int) -> str:
    """Return the verb that goes with a number."""
    return "is" if n == 1 else "are"
