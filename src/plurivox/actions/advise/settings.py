"""The settings of advice, and the thresholds at which something is called a habit."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from plurivox.base.arguments import check_fields
from plurivox.base.errors import InputError
from plurivox.base.settings import Axes, Frozen, OfGroups, setting, shared


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The thresholds at which something is called a habit.

    Everything is first compared with chance: with shuffled raters, or with other raters of the same items.

    Attributes
    ----------
    error_rate
        The largest share of raters who score like all others that get any remark, and of studies whose groups score
        alike that have a remark on any group.
    alone
        The rate for remarks on the use of the scale or the precision curve of a group whose MPA and WRA are in line,
        since the verdict on those has used up the other rate.
    part
        A score is hardly used, and precision is flat, below this fraction of what is usual.
    most
        Above this share, one score is given to most items.
    """

    error_rate: float = 0.05
    alone: float = 0.01
    part: float = 0.5
    most: float = 0.5

    def __post_init__(self) -> None:
        check_fields(self)
        for one in fields(self):
            value = getattr(self, one.name)
            if not 0 <= value <= 1:
                raise InputError(f"{one.name} is {value!r}", hint="Give a number from 0 to 1.")


def _canonical(given: Any) -> Frozen:
    """Return thresholds that differ from the defaults, by name."""
    made = given if isinstance(given, Thresholds) else Thresholds(**(given or {}))
    usual = asdict(Thresholds())
    return Frozen(sorted((name, value) for name, value in asdict(made).items() if value != usual[name]))


def _read(texts: list[str]) -> dict[str, float]:
    """Read ``error_rate=0.1``, several times."""
    known = [one.name for one in fields(Thresholds)]
    found = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in known:
            raise ValueError(f"knows {', '.join(known)}, not {name!r}")
        try:
            found[name] = float(value)
        except ValueError:
            raise ValueError(f"{name} needs a number, not {value!r}") from None
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class AdviceSettings(OfGroups):
    """The settings of advice."""

    by: Axes = shared.by(
        "rater", doc='``"rater"`` for each rater individually, or rater attributes and crossings of them.'
    )
    threshold: Any = shared.threshold()
    thresholds: Frozen = setting(
        Frozen(), "A threshold at which something is called a habit: error_rate=0.1 (docs/acting.md lists all).",
        option="--set", metavar="NAME=NUMBER", parse=_read, repeated=True, canonical=_canonical,
        accepts="Thresholds | None", hint="Give Thresholds(…).",
        doc="The thresholds at which something is called a habit, if not the defaults.",
    )  # fmt: skip
    group_score: str = shared.group_score()
    ties: str = shared.ties()
    max_pairs: int = setting(
        10, "Pairs of items to list for each rater or group.", metavar="N", least=0, hint="Give 0 or more.",
        doc="How many pairs of items to list for each rater or group.",
    )  # fmt: skip
    permutations: int = shared.permutations(
        1000,
        doc="How many times rater profiles are shuffled to see what chance gives groups; individual raters are "
        "compared with other raters of the same items, which needs no draws.",
    )
    max_permutations: int | None = shared.max_permutations()
    interval: str | None = shared.interval()
    bootstrap: int = shared.bootstrap(
        0, help="Bootstrap draws for intervals.", doc="How many bootstrap draws for intervals."
    )
    min_support: float = setting(
        5.0, "Scores given to fewer items are left out when precision is compared.", least=0, cli=False
    )
    within: tuple[str, ...] | None = shared.within()
    seed: int = shared.seed()
    ids: bool = shared.ids()

    def check(self) -> None:
        """Raise if there is nobody to examine."""
        if not self.by:
            raise InputError("by names no axis", hint="Give 'rater', or attributes of raters.")
