"""Settings that several lenses have: their options, help texts and checks, each in one place.

A lens takes one with its own default: ``permutations: int = shared.permutations(1000)``. Every keyword of
:func:`~plurivox.settings.record.setting` can be given another value, such as ``help`` or ``doc``.
"""

from __future__ import annotations

from dataclasses import MISSING
from typing import Any

from plurivox.errors import InputError
from plurivox.settings.record import setting
from plurivox.settings.values import (
    Frozen,
    axes,
    frozen,
    mapping,
    names,
    numbers,
    read_names,
    read_prior,
    read_two,
    two,
)

RESAMPLE = ("items", "raters", "both")
CONVENTIONS = ("default", "published")
CORRECTIONS = ("bh", "by", "holm", "bonferroni", "none")
TIES = ("share", "lowest", "random")
GROUP_SCORES = ("plurality", "median", "mean")
LEVELS = ("nominal", "ordinal", "interval")
MIN_GROUP_SIZE = 5


def _declared(default: Any, changes: dict[str, Any], help: str, **known: Any) -> Any:  # noqa: A002
    """Declare a setting, with what a lens wants otherwise."""
    return setting(default, **{"help": help, **known, **changes})


def by(default: Any = MISSING, **changes: Any) -> Any:
    """Declare axes: ``by: Axes``. Every command has ``--by`` already, since it is also a setting of ``[raters]``."""
    return _declared(
        default,
        changes,
        "Rater attribute, or several to cross: race,gender. Repeatable.",
        metavar="ATTRIBUTES",
        repeated=True,
        canonical=axes,
        hint="Give attributes of raters, and crossings of them: ['age', ('race', 'gender')].",
        accepts="By | Sequence[By]",
        cli=False,
        doc='Rater attributes, and crossings of several: ``["age", ("race", "gender")]``.',
    )


def several(**changes: Any) -> Any:
    """Declare attributes with several values per rater: ``several: Frozen``."""
    return _declared(
        Frozen(),
        changes,
        "A rater may have several values of an attribute, separated so: 'race=;'. Repeatable.",
        metavar="ATTRIBUTE=SEPARATOR",
        repeated=True,
        canonical=lambda given: mapping(given or {}),
        hint="Give what separates the values of each attribute: {'race': ';'}.",
        accepts="Mapping[str, str] | None",
        cli=False,
        doc='Attributes of which a rater may have several values, and what separates them: ``{"race": ";"}``.',
    )


def min_group_size(default: int = MIN_GROUP_SIZE, **changes: Any) -> Any:
    """Declare below how many raters a group is withheld: ``min_group_size: int``."""
    return _declared(
        default,
        changes,
        "Withhold groups with fewer raters (default 5).",
        metavar="N",
        cli=False,
        doc="Groups with fewer raters are withheld and counted.",
    )


def _draws(value: int) -> None:
    if value < 0:
        raise InputError("permutations and bootstrap count draws", hint="Give 0 or more.")


def permutations(default: int = 1000, **changes: Any) -> Any:
    """Declare how many permutations: ``permutations: int``."""
    return _declared(
        default,
        changes,
        "How often to shuffle raters; 0 for no p-values.",
        metavar="N",
        least=0,
        check=_draws,
        doc="How often rater profiles are shuffled to see what chance does; 0 for values without p.",
    )


def bootstrap(default: int = 1000, **changes: Any) -> Any:
    """Declare how many bootstrap draws: ``bootstrap: int``."""
    return _declared(
        default,
        changes,
        "Draws for 95 % intervals; 0 for none.",
        metavar="N",
        least=0,
        check=_draws,
        doc="How many bootstrap draws for 95 % intervals; 0 for none.",
    )


def resample(default: str = "items", **changes: Any) -> Any:
    """Declare what the bootstrap draws: ``resample: str``."""
    return _declared(
        default,
        changes,
        "What the bootstrap draws: items, raters or both.",
        metavar="WHAT",
        choices=RESAMPLE,
        doc='What the bootstrap draws: ``"items"``, ``"raters"`` (within their groups) or ``"both"``.',
    )


def _seed(value: int) -> None:
    if not 0 <= value < 2**63:
        raise ValueError("Give a whole number of at least 0.")


def seed(default: int = 0, **changes: Any) -> Any:
    """Declare where chance starts: ``seed: int``."""
    return _declared(
        default,
        changes,
        "Same seed, same result.",
        metavar="N",
        least=0,
        check=_seed,
        doc="Same seed, same result, whatever the threads and the order of rows.",
    )


def convention(help: str, doc: str, default: str = "default", **changes: Any) -> Any:  # noqa: A002
    """Declare whose conventions, which each lens describes in its own words: ``convention: str``."""
    return _declared(default, changes, help, metavar="NAME", choices=CONVENTIONS, doc=doc)


def within(**changes: Any) -> Any:
    """Declare who is shuffled with whom: ``within: tuple[str, ...] | None``."""
    return _declared(
        None,
        changes,
        "Shuffle raters only within groups of this attribute.",
        metavar="ATTRIBUTE",
        parse=read_names,
        canonical=names,
        hint="Give an attribute of raters, or several.",
        accepts="str | tuple[str, ...] | None",
        doc="A rater attribute (or several) whose values raters are only shuffled within, such as recruitment batch.",
    )


def correction(default: str = "bh", **changes: Any) -> Any:
    """Declare how p-values are corrected: ``correction: str``."""
    return _declared(
        default,
        changes,
        "bh, by, holm, bonferroni or none.",
        metavar="METHOD",
        choices=CORRECTIONS,
        doc="How p-values of one statistic over all groups are corrected: bh, by, holm, bonferroni or none.",
    )


def ties(default: str = "share", **changes: Any) -> Any:
    """Declare who gets a tied vote: ``ties: str``."""
    return _declared(
        default,
        changes,
        "Who gets a tied vote: share, lowest or random.",
        metavar="RULE",
        choices=TIES,
        doc='Points that tie ``"share"`` the item, the ``"lowest"`` gets it, or one at ``"random"`` by seed.',
    )


def pairs(**changes: Any) -> Any:
    """Declare whether pairs of groups are compared: ``pairs: bool``."""
    return _declared(
        False,
        changes,
        "Also compare every pair of groups.",
        doc="Whether to compare every pair of groups of an axis, too.",
    )


def contrast(**changes: Any) -> Any:
    """Declare two groups to compare: ``contrast: tuple[str, str] | None``."""
    return _declared(
        None,
        changes,
        "Also report the difference of two groups: Man,Woman.",
        metavar="A,B",
        parse=read_two,
        canonical=two,
        hint="Give the names of two groups of one axis.",
        accepts="tuple[str, str] | None",
        doc="Two groups of one axis whose difference to report.",
    )


def _level(given: Any) -> Any:
    value = numbers(given)
    if (isinstance(value, str) and value not in LEVELS) or not isinstance(value, str | tuple):
        raise TypeError("neither a level nor a matrix")
    return value


def level(default: str = "nominal", **changes: Any) -> Any:
    """Declare how far apart points are: ``level: Any``, a name or a matrix, which is checked with the scale."""
    return _declared(
        default,
        changes,
        "How far apart points are: nominal, ordinal or interval.",
        metavar="LEVEL",
        canonical=_level,
        hint=f"Choose one of {', '.join(LEVELS)}, or a matrix of distances between points.",
        accepts="str | ArrayLike",
        doc='How far apart two points are: ``"nominal"``, ``"ordinal"``, ``"interval"``, or a matrix of distances.',
    )


def group_score(default: str = "plurality", **changes: Any) -> Any:
    """Declare what a group's score of an item is: ``group_score: str``."""
    return _declared(
        default,
        changes,
        "A group's score of an item: plurality, median or mean.",
        metavar="WHAT",
        choices=GROUP_SCORES,
        doc='What a group\'s score of an item is: its most frequent point (``"plurality"``), its ``"median"``, or the '
        'point nearest to its ``"mean"``.',
    )


def items_by(**changes: Any) -> Any:
    """Declare an item attribute to split items by: ``items_by: str | None``."""
    return _declared(
        None,
        changes,
        "Also for the items of each value of this attribute.",
        metavar="ATTRIBUTE",
        doc="An item attribute: everything is also computed for the items of each of its values.",
    )


def threshold(**changes: Any) -> Any:
    """Declare the lowest point that means unsafe: ``threshold: Any``; it is checked with the scale."""
    return _declared(
        None,
        changes,
        "Lowest point of the reference that means unsafe; each: every point in turn, averaged (the default for "
        "crowd and groups).",
        metavar="POINT",
        canonical=frozen,
        accepts="Label | None",
        doc="The lowest point of the reference that means unsafe. Without it the crowd and groups are split at every "
        'point in turn and values averaged; ``"each"`` does so with other Ratings of more than two points.',
    )


def prior(default: Any = 1.0, **changes: Any) -> Any:
    """Declare the weight of each point before any rating: ``prior: Any``; it is checked with the scale."""
    return _declared(
        default,
        changes,
        "Weight of each point before any rating: a number, one for each point (1,1,2), or empirical-bayes.",
        metavar="WEIGHT",
        parse=read_prior,
        canonical=numbers,
        accepts="ArrayLike | str",
        doc='The weight of each point before any rating: a number, one for each point, or ``"empirical-bayes"``.',
    )
