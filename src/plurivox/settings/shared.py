"""Settings that several lenses have: their options, help texts and checks, each in one place.

A lens takes one with its own default: ``permutations: int = shared.permutations(1000)``. Every keyword of
:func:`~plurivox.settings.record.setting` can be given another value, such as ``help`` or ``doc``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING
from typing import Any

from plurivox.arguments import MOST_DRAWS
from plurivox.errors import InputError
from plurivox.settings import values
from plurivox.settings.record import setting

RESAMPLE = ("items", "raters", "both")
INTERVALS = ("jackknife", "bootstrap", "none")
CONVENTIONS = ("default", "published")
AUTO = "auto"
CORRECTIONS = ("maxt", "bh", "by", "holm", "bonferroni", "none")
GAI_PAIRS = ("irr", "negentropy", "plurality")
TIES = ("share", "lowest", "random")
GROUP_SCORES = ("plurality", "median", "mean")
LEVELS = ("nominal", "ordinal", "interval")
MIN_GROUP_SIZE = 5


def _shared(usual: Any, help: str, **known: Any) -> Callable[..., Any]:  # noqa: A002
    """Return what declares a setting, with what a lens wants otherwise."""

    def declared(default: Any = usual, **changes: Any) -> Any:
        return setting(default, **{"help": help, **known, **changes})

    return declared


by = _shared(
    MISSING, "Rater attribute, or several to cross: race,gender. Repeatable.", metavar="ATTRIBUTES", repeated=True,
    canonical=values.axes, hint="Give attributes of raters, and crossings of them: ['age', ('race', 'gender')].",
    accepts="By | Sequence[By]", cli=False,
    doc='Rater attributes, and crossings of several: ``["age", ("race", "gender")]``.',
)  # fmt: skip
"""Axes: ``by: Axes``. Every command has ``--by`` already, since it is also a setting of ``[raters]``."""

several = _shared(
    values.Frozen(), "A rater may have several values of an attribute, separated so: 'race=;'. Repeatable.",
    metavar="ATTRIBUTE=SEPARATOR", repeated=True, canonical=lambda given: values.mapping(given or {}),
    hint="Give what separates the values of each attribute: {'race': ';'}.", accepts="Mapping[str, str] | None",
    cli=False,
    doc='Attributes of which a rater may have several values, and what separates them: ``{"race": ";"}``.',
)  # fmt: skip
"""Attributes with several values per rater: ``several: Frozen``."""

min_group_size = _shared(
    MIN_GROUP_SIZE, "Withhold groups with fewer raters (default 5).", metavar="N", least=1, cli=False,
    doc="Groups with fewer raters are withheld and counted.",
)  # fmt: skip
"""Below how many raters a group is withheld: ``min_group_size: int``."""

ids = _shared(
    False, "Call raters by their ids where people read; else they are numbered.", quiet=True,
    doc="Whether notebooks call raters by their ids. Else they are numbered. Frames and JSON always hold ids.",
)  # fmt: skip
"""Whether raters are called by their ids: ``ids: bool``."""


permutations = _shared(
    1000, "How often to shuffle raters; 0 for no p-values.", metavar="N", least=0, most=MOST_DRAWS,
    doc="How often rater profiles are shuffled to see what chance does; 0 for values without p.",
)  # fmt: skip
"""How many permutations: ``permutations: int``."""

bootstrap = _shared(
    1000, "Draws for 95 % intervals; 0 for none.", metavar="N", least=0, most=MOST_DRAWS,
    doc="How many bootstrap draws for 95 % intervals; 0 for none.",
)  # fmt: skip
"""How many bootstrap draws: ``bootstrap: int``."""

resample = _shared(
    "both", "What 95 % intervals generalise over: items, raters or both.", metavar="WHAT", choices=RESAMPLE,
    doc='What 95 % intervals generalise over: other ``"items"``, other ``"raters"`` of the same groups, or ``"both"``.',
)  # fmt: skip
"""What the bootstrap draws: ``resample: str``."""

interval = _shared(
    None, "How 95 % intervals are made: jackknife (the default), bootstrap or none.", metavar="HOW", choices=INTERVALS,
    doc='How 95 % intervals are made: ``"jackknife"`` leaves out each item and each rater in turn and draws nothing, '
    '``"bootstrap"`` draws them with replacement, ``"none"`` makes none. By default the jackknife, and the bootstrap '
    "if its draws are given.",
)  # fmt: skip
"""How intervals are made: ``interval: str | None``."""


def settled_interval(interval: str | None, draws: int) -> tuple[str, int]:
    """Return how intervals are made, and with how many draws.

    Examples
    --------
    >>> settled_interval(None, 0), settled_interval(None, 99), settled_interval("bootstrap", 0)
    (('jackknife', 0), ('bootstrap', 99), ('bootstrap', 1000))
    """
    how = interval or ("bootstrap" if draws else "jackknife")
    if draws and how != "bootstrap":
        raise InputError(
            f"bootstrap is {draws}, and interval {how}", hint="Draws are for interval bootstrap; leave out one of them."
        )
    return how, (draws or 1000) if how == "bootstrap" else 0


max_permutations = _shared(
    None, "Shuffle up to so often where a p-value is undecided (default: 10 times --permutations).", metavar="N",
    least=0, most=MOST_DRAWS,
    doc="Up to how many permutations are made where a corrected p-value is too close to .05; ten times "
    "``permutations`` by default, and as many as those for no more.",
)  # fmt: skip
"""Up to how many permutations: ``max_permutations: int | None``."""

stop_early = _shared(
    False, "Stop shuffling once it is clear which differences are certain: fewer shuffles, and coarser p-values.",
    quiet=True,
    doc="Whether to make fewer permutations than asked for where it is clear early that a difference is certain, or "
    "that none will be. p-values stay valid, and where few permutations cannot tell more they are upper bounds.",
)  # fmt: skip
"""Whether shuffling may stop early: ``stop_early: bool``."""

n_lenses = _shared(
    1, "How many lenses' claims are corrected together.", metavar="N", least=1, most=100, cli=False,
    doc="How many lenses' claims are corrected together, as in a report: shuffles go on until p-values are on one side "
    "of what decides there, too.",
)  # fmt: skip
"""How many lenses' claims are corrected together: ``n_lenses: int``."""

seed = _shared(
    0, "Same seed, same result.", metavar="N", least=0,
    doc="Same seed, same result, whatever the threads and the order of rows.",
)  # fmt: skip
"""Where chance starts: ``seed: int``."""


def convention(help: str, doc: str, default: str = "default", **changes: Any) -> Any:  # noqa: A002
    """Declare whose conventions, which each lens describes in its own words: ``convention: str``."""
    return setting(default, **{"help": help, "metavar": "NAME", "choices": CONVENTIONS, "doc": doc, **changes})


within = _shared(
    AUTO, "Shuffle raters only within groups of this attribute; auto: among those who saw the same items; none: all.",
    metavar="ATTRIBUTE", parse=values.read_names, canonical=values.names,
    hint="Give an attribute of raters, or several.", accepts="str | tuple[str, ...] | None",
    doc='Who is shuffled with whom. ``"auto"``: raters who saw the same items, if nearly all are in such blocks; else '
    "all raters, and if who rated what depends on the group no difference is claimed. A rater attribute (or several), "
    "such as recruitment batch: raters with the same values. None: all raters.",
)  # fmt: skip
"""Who is shuffled with whom: ``within: tuple[str, ...] | None``."""

correction = _shared(
    "maxt", "maxt, bh, by, holm, bonferroni or none.", metavar="METHOD", choices=CORRECTIONS,
    doc='How p-values are corrected: ``"maxt"`` over all groups, axes and statistics that make claims, from the '
    "largest deviation of every shuffle; bh, by, holm or bonferroni over all groups for each statistic; or none, "
    "without claims.",
)  # fmt: skip
"""How p-values are corrected: ``correction: str``."""

ties = _shared(
    "share", "Who gets a tied vote: share, lowest or random.", metavar="RULE", choices=TIES,
    doc='Points that tie ``"share"`` the item, the ``"lowest"`` gets it, or one at ``"random"`` by seed.',
)  # fmt: skip
"""Who gets a tied vote: ``ties: str``."""


def _gai_pairs(value: Any) -> tuple[str, ...]:
    """Return the pairs of measures, in their order; that of IRR and XRR is always there."""
    given = values.names(value)
    if not set(given) <= set(GAI_PAIRS):
        raise ValueError(f"Choose of {', '.join(GAI_PAIRS)}.")
    return tuple(one for one in GAI_PAIRS if one == "irr" or one in given)


gai = _shared(
    ("irr",), "GAI of which pairs of measures: irr, which is always there, negentropy, plurality.", metavar="PAIRS",
    parse=values.read_names, canonical=_gai_pairs, quiet=True, accepts="str | Sequence[str]",
    doc='Of which pairs of measures GAI is made: of ``"irr"`` and XRR, which is always there and alone makes claims; '
    'also of ``"negentropy"`` and cross-negentropy (``gai_negentropy``), and of ``"plurality"`` size and voting '
    "agreement (``gai_plurality``).",
)  # fmt: skip
"""Of which pairs of measures GAI is made: ``gai: tuple[str, ...]``."""

pairs = _shared(
    False, "Also compare every pair of groups.",
    doc="Whether to compare every pair of groups of an axis, too.",
)  # fmt: skip
"""Whether pairs of groups are compared: ``pairs: bool``."""

contrast = _shared(
    None, "Also report the difference of two groups: Man,Woman.", metavar="A,B", parse=values.read_two,
    canonical=values.two, hint="Give the names of two groups of one axis.", accepts="tuple[str, str] | None",
    doc="Two groups of one axis whose difference to report.",
)  # fmt: skip
"""Two groups to compare: ``contrast: tuple[str, str] | None``."""


def _level(given: Any) -> Any:
    value = values.numbers(given)
    if (isinstance(value, str) and value not in (*LEVELS, AUTO)) or not isinstance(value, str | tuple):
        raise TypeError("neither a level nor a matrix")
    return value


level = _shared(
    AUTO, "How far apart points are: ordinal (the default), nominal or interval.", metavar="LEVEL", canonical=_level,
    hint=f"Choose one of {', '.join(LEVELS)}, or a matrix of distances between points.", accepts="str | ArrayLike",
    doc='How far apart two points are: ``"nominal"``, ``"ordinal"``, ``"interval"``, or a matrix of distances. '
    '``"auto"``: ordinal, interval above 1,000 points, and nominal under the published convention.',
)  # fmt: skip
"""How far apart points are: ``level: Any``, a name or a matrix, which is checked with the scale."""


def _tolerance(value: float) -> None:
    if not 0 <= value < 0.5:
        raise ValueError("Give a number from 0 to below 0.5, such as 0.1.")


tolerance = _shared(
    0.1, "How much more often a human may win and a model still stand in: .1 crowd, .15 skilled, .2 experts.",
    check=_tolerance,
    doc="How much more often than a model a human may be the closer one to the others, and the model still stand "
    "in (ε): .1 where humans are crowd workers, .15 where they are skilled, .2 where they are experts.",
)  # fmt: skip
"""How much more often a human may win: ``tolerance: float``."""

group_score = _shared(
    "plurality", "A group's score of an item: plurality, median or mean.", metavar="WHAT", choices=GROUP_SCORES,
    doc='What a group\'s score of an item is: its most frequent point (``"plurality"``), its ``"median"``, or the '
    'point nearest to its ``"mean"``.',
)  # fmt: skip
"""What a group's score of an item is: ``group_score: str``."""

items_by = _shared(
    None, "Also for the items of each value of this attribute.", metavar="ATTRIBUTE",
    doc="An item attribute: everything is also computed for the items of each of its values.",
)  # fmt: skip
"""An item attribute to split items by: ``items_by: str | None``."""

threshold = _shared(
    None,
    "Lowest point of the reference that means unsafe; each: every point in turn, averaged (the default for "
        "crowd and groups).",
    metavar="POINT", canonical=values.frozen, accepts="Label | None",
    doc="The lowest point of the reference that means unsafe. Without it the crowd and groups are split at every "
    'point in turn and values averaged; ``"each"`` does so with other Ratings of more than two points.',
)  # fmt: skip
"""The lowest point that means unsafe: ``threshold: Any``; it is checked with the scale."""

prior = _shared(
    1.0, "Weight of each point before any rating: a number, one for each point (1,1,2), empirical-bayes (fitted), or "
    "auto (fitted if 50 items have two ratings, else 1).",
    metavar="WEIGHT", parse=values.read_prior, canonical=values.numbers, accepts="ArrayLike | str",
    doc='The weight of each point before any rating: a number, one for each point, ``"empirical-bayes"``, the prior '
    'under which the ratings are most likely, or ``"auto"``: that one if at least 50 items have two ratings or more, '
    "else 1.",
)  # fmt: skip
"""The weight of each point before any rating: ``prior: Any``; it is checked with the scale."""
