"""Numbers and names in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


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


def without_value(outside: Mapping[str, int]) -> list[str]:
    """Return a sentence for each axis on which raters have no value."""
    return [
        f"{counted(n, 'rater')} {'has' if n == 1 else 'have'} no value of {axis} and {are(n)} in no group there."
        for axis, n in outside.items()
        if n
    ]


def too_small(min_group_size: int) -> str:
    """Tell why groups are withheld; of two groups the larger is so too, since the smaller is its rest."""
    return f"having fewer than {min_group_size:,} raters, or being the rest of one that has"
