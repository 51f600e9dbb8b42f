"""Settings shared by several lenses: their options, help texts and checks, each in one place.

A lens takes one with its own default: ``permutations: int = shared.permutations(1000)``. Every keyword of
:func:`~plurivox.base.settings.record.setting` can be overridden, such as ``help`` or ``doc``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING
from typing import Any

from plurivox.base.arguments import MOST_DRAWS
from plurivox.base.errors import InputError
from plurivox.base.settings import record
from plurivox.base.settings.record import setting

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
    """Return a function that declares a setting, with what a lens overrides."""

    def declared(default: Any = usual, **changes: Any) -> Any:
        return setting(default, **{"help": help, **known, **changes})

    return declared


by = _shared(
    MISSING, "Rater attribute, or several to cross: race,gender. Repeatable.", metavar="ATTRIBUTES", repeated=True,
    canonical=record.axes, hint="Give rater attributes, or crossings of them: ['age', ('race', 'gender')].",
    accepts="By | Sequence[By]", cli=False,
    doc='Rater attributes, or crossings of several: ``["age", ("race", "gender")]``.',
)  # fmt: skip
"""Axes: ``by: Axes``. Every command has ``--by`` already, since it is also a setting of ``[raters]``."""

several = _shared(
    record.Frozen(), "A rater may have several values of an attribute, with this separator: 'race=;'. Repeatable.",
    metavar="ATTRIBUTE=SEPARATOR", repeated=True, canonical=lambda given: record.mapping(given or {}),
    hint="Give the separator of each attribute's values: {'race': ';'}.", accepts="Mapping[str, str] | None",
    cli=False,
    doc='Attributes of which a rater may have several values, with their separators: ``{"race": ";"}``.',
)  # fmt: skip
"""Attributes with several values per rater: ``several: Frozen``."""

min_group_size = _shared(
    MIN_GROUP_SIZE, "Withhold groups with fewer raters (default 5).", metavar="N", least=1, cli=False,
    doc="Groups with fewer raters are withheld and counted.",
)  # fmt: skip
"""The smallest group that is shown: ``min_group_size: int``."""

ids = _shared(
    False, "Show raters' ids instead of numbers.", quiet=True,
    doc="Whether notebooks show raters' ids; otherwise raters are numbered. Frames and JSON always contain ids.",
)  # fmt: skip
"""Whether raters' ids are shown: ``ids: bool``."""


permutations = _shared(
    1000, "How many times to shuffle raters; 0 for no p-values.", metavar="N", least=0, most=MOST_DRAWS,
    doc="How many times rater profiles are shuffled to see what chance produces; 0 for no p-values.",
)  # fmt: skip
"""How many permutations: ``permutations: int``."""

bootstrap = _shared(
    1000, "Bootstrap draws for 95 % intervals; 0 for none.", metavar="N", least=0, most=MOST_DRAWS,
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
    '``"bootstrap"`` draws them with replacement, ``"none"`` makes none. The default is the jackknife, or the '
    "bootstrap if a number of draws is given.",
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
            f"bootstrap is {draws}, but interval is {how}",
            hint="Draws are only for interval='bootstrap'; leave out one of the two.",
        )
    return how, (draws or 1000) if how == "bootstrap" else 0


max_permutations = _shared(
    None, "Shuffle at most this many times if a p-value is undecided (default: 10 times --permutations).", metavar="N",
    least=0, most=MOST_DRAWS,
    doc="The largest number of permutations, made if a corrected p-value is too close to .05; by default ten times "
    "``permutations``. Give the same number as ``permutations`` for no more.",
)  # fmt: skip
"""The largest number of permutations: ``max_permutations: int | None``."""

stop_early = _shared(
    False, "Stop shuffling once it is clear which differences are certain: fewer shuffles, and coarser p-values.",
    quiet=True,
    doc="Whether to stop before all permutations if it is clear early that a difference is certain, or that none will "
    "be. p-values stay valid; with few permutations they may be upper bounds.",
)  # fmt: skip
"""Whether shuffling may stop early: ``stop_early: bool``."""

n_lenses = _shared(
    1, "How many lenses' claims are corrected together.", metavar="N", least=1, most=100, cli=False,
    doc="How many lenses' claims are corrected together, as in a report: shuffling continues until p-values are also "
    "clearly on one side of the threshold used there.",
)  # fmt: skip
"""How many lenses' claims are corrected together: ``n_lenses: int``."""

seed = _shared(
    0, "Same seed, same result.", metavar="N", least=0,
    doc="The same seed gives the same result, regardless of threads and the order of rows.",
)  # fmt: skip
"""The seed of all random numbers: ``seed: int``."""


def convention(help: str, doc: str, default: str = "default", **changes: Any) -> Any:  # noqa: A002
    """Declare whose conventions to follow, which each lens describes in its own words: ``convention: str``."""
    return setting(default, **{"help": help, "metavar": "NAME", "choices": CONVENTIONS, "doc": doc, **changes})


within = _shared(
    AUTO, "Shuffle raters only within groups of this attribute; auto: among raters who saw the same items; none: "
    "among all.",
    metavar="ATTRIBUTE", parse=record.read_names, canonical=record.names,
    hint="Give one or more rater attributes.", accepts="str | tuple[str, ...] | None",
    doc='Who is shuffled with whom. ``"auto"``: raters who saw the same items, if nearly all are in such blocks; '
    "otherwise all raters, and no difference is claimed if who rated what depends on the group. A rater attribute "
    "(or several), such as recruitment batch: raters with the same values. None: all raters.",
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
    "share", "How to break a tied vote: share, lowest or random.", metavar="RULE", choices=TIES,
    doc='Points that tie ``"share"`` the item, the ``"lowest"`` gets it, or one at ``"random"`` by seed.',
)  # fmt: skip
"""How to break a tied vote: ``ties: str``."""


def _gai_pairs(value: Any) -> tuple[str, ...]:
    """Return the pairs of measures, in order; IRR with XRR is always included."""
    given = record.names(value)
    if not set(given) <= set(GAI_PAIRS):
        raise ValueError(f"Choose from {', '.join(GAI_PAIRS)}.")
    return tuple(one for one in GAI_PAIRS if one == "irr" or one in given)


gai = _shared(
    ("irr",), "Pairs of measures to compute GAI from: irr (always included), negentropy, plurality.", metavar="PAIRS",
    parse=record.read_names, canonical=_gai_pairs, quiet=True, accepts="str | Sequence[str]",
    doc='Pairs of measures to compute GAI from: ``"irr"`` and XRR, which is always included and alone makes claims; '
    'also ``"negentropy"`` and cross-negentropy (``gai_negentropy``), and ``"plurality"`` size and voting '
    "agreement (``gai_plurality``).",
)  # fmt: skip
"""Pairs of measures to compute GAI from: ``gai: tuple[str, ...]``."""

pairs = _shared(
    False, "Also compare every pair of groups.",
    doc="Whether to also compare every pair of groups of an axis.",
)  # fmt: skip
"""Whether pairs of groups are compared: ``pairs: bool``."""

contrast = _shared(
    None, "Also report the difference between two groups: Man,Woman.", metavar="A,B", parse=record.read_two,
    canonical=record.two, hint="Give the names of two groups of one axis.", accepts="tuple[str, str] | None",
    doc="Two groups of one axis whose difference to report.",
)  # fmt: skip
"""Two groups to compare: ``contrast: tuple[str, str] | None``."""


def _level(given: Any) -> Any:
    value = record.numbers(given)
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
    0.1, "How much more often a human may win before a model cannot stand in: .1 for crowd workers, .15 skilled, .2 "
    "experts.",
    check=_tolerance,
    doc="How much more often than a model a human may be closer to the others, with the model still able to stand in "
    "(ε): .1 if the humans are crowd workers, .15 if they are skilled, .2 if they are experts.",
)  # fmt: skip
"""How much more often a human may win: ``tolerance: float``."""

group_score = _shared(
    "plurality", "A group's score of an item: plurality, median or mean.", metavar="WHAT", choices=GROUP_SCORES,
    doc='What a group\'s score of an item is: its most frequent point (``"plurality"``), its ``"median"``, or the '
    'point nearest to its ``"mean"``.',
)  # fmt: skip
"""What a group's score of an item is: ``group_score: str``."""

items_by = _shared(
    None, "Also analyse the items of each value of this attribute separately.", metavar="ATTRIBUTE",
    doc="An item attribute: everything is also computed for the items of each of its values.",
)  # fmt: skip
"""An item attribute to split items by: ``items_by: str | None``."""

threshold = _shared(
    None,
    "Lowest point of the reference that means unsafe; each: split at every point in turn and average (the default for "
    "crowd and groups).",
    metavar="POINT", canonical=record.frozen, accepts="Label | None",
    doc="The lowest point of the reference that means unsafe. Without it, the crowd and groups are split at every "
    'point in turn and values are averaged; ``"each"`` does the same with other Ratings that have more than two '
    "points.",
)  # fmt: skip
"""The lowest point that means unsafe: ``threshold: Any``; it is checked with the scale."""

prior = _shared(
    1.0, "Weight of each point before any rating: a number, one for each point (1,1,2), empirical-bayes (fitted), or "
    "auto (fitted if 50 items have two ratings, otherwise 1).",
    metavar="WEIGHT", parse=record.read_prior, canonical=record.numbers, accepts="ArrayLike | str",
    doc='The weight of each point before any rating: a number, one for each point, ``"empirical-bayes"``, the prior '
    'under which the ratings are most likely, or ``"auto"``: that one if at least 50 items have two ratings or '
    "more, otherwise 1.",
)  # fmt: skip
"""The weight of each point before any rating: ``prior: Any``; it is checked with the scale."""
