"""What sentences call the two ends of a scale: their names, or lower and higher where they have none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plurivox.domain.scale import Scale


def poles_in(scale: Scale) -> list[str] | None:
    """Return the names of the ends as the settings of a result keep them."""
    return list(scale.poles) if scale.poles else None


@dataclass(frozen=True, slots=True)
class Poles:
    """The words that sentences need.

    Attributes
    ----------
    low, high
        The two ends: safe and unsafe; or lower and higher.
    more
        Further towards the highest end: more unsafe; or higher.
    how
        What an item is to some degree: unsafe; or high.

    Examples
    --------
    >>> Poles.of({"poles": ["safe", "unsafe"]}).fill("Tell {high} from {low}: is a higher score {more}?")
    'Tell unsafe from safe: is a higher score more unsafe?'
    >>> Poles.of({}).fill("Tell {high} from {low}: is a higher score {more}?")
    'Tell higher from lower: is a higher score higher?'
    """

    low: str = "lower"
    high: str = "higher"
    more: str = "higher"
    how: str = "high"

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Poles:
        """Return the words for a result with these settings."""
        return cls.named(settings.get("poles"))

    @classmethod
    def named(cls, poles: Any) -> Poles:
        """Return the words for two names, or for None."""
        if poles is None:
            return cls()
        low, high = poles
        return cls(low, high, f"more {high}", high)

    def fill(self, text: str) -> str:
        """Put the words into a sentence that names them in braces; ``{High}`` and ``{Low}`` are capitalised."""
        return text.format(
            low=self.low, high=self.high, more=self.more, how=self.how, Low=_begin(self.low), High=_begin(self.high)
        )


def _begin(word: str) -> str:
    return word[:1].upper() + word[1:]
