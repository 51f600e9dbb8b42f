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


def named(axis: str, group: str) -> str:
    """Name a group by its attribute and its value.

    Examples
    --------
    >>> named("gender", "Man"), named("age", "50-54"), named("gender × age", "Man × 18-29"), named("all", "all")
    ('gender: Man', 'age 50-54', 'gender: Man × age 18-29', 'all raters')
    """
    if axis == "all":
        return "all raters"
    attributes, values = axis.split(" × "), group.split(" × ")
    if len(attributes) != len(values):
        attributes, values = [axis], [group]
    return " × ".join(
        f"{attribute} {value}" if value[:1].isdigit() else f"{attribute}: {value}"
        for attribute, value in zip(attributes, values, strict=True)
    )


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


# What is withheld, and why; engine/withholding decides it ----------------------------------------------------------


def withheld_groups(n: int, *, verb: bool = True) -> str:
    """Count groups that are withheld.

    Examples
    --------
    >>> withheld_groups(1), withheld_groups(2, verb=False)
    ('1 group is withheld', '2 groups withheld')
    """
    return f"{counted(n, 'group')} {f'{are(n)} ' if verb else ''}withheld"


def too_small(least: int, *, rest: bool = True) -> str:
    """Tell why groups are withheld; of two groups the larger is so too, since the smaller is its rest."""
    return f"having fewer than {least:,} raters{', or being the rest of one that has' if rest else ''}"


def withheld_sentence(n: int, least: int, *, rest: bool = True, verb: bool = True) -> list[str]:
    """Return a sentence on groups that are withheld, if any are."""
    return [f"{withheld_groups(n, verb=verb)}, {too_small(least, rest=rest)}."] if n else []


def withheld_words(n: int, least: int) -> str:
    """Tell below a chart how many groups are not in it, if any are not."""
    return f"{counted(n, 'group')} with fewer than {least:,} raters withheld. " if n else ""


def protected(least: int) -> str:
    """Tell which groups are withheld in general."""
    return f"Groups of fewer than {least:,} raters are withheld"
