"""The question that models are asked: its wording, and the points of a scale as options."""

from __future__ import annotations

import hashlib
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from plurivox.base.errors import InputError
from plurivox.domain.scale import Descriptions, Scale, descriptions_in, descriptions_of, plain_descriptions

MAX_OPTIONS = 1001
READS = "reads_answers"
"""The mark of a store whose replies are those of a second reader."""


class ShownOption(NamedTuple):
    """An option as it is shown: the letter to answer with, the point, and what it means."""

    letter: str
    label: str
    description: str


class Asking(Protocol):
    """What a run needs to know about a question: the letters to answer with, the options as shown, and what it is."""

    @property
    def letters(self) -> tuple[str, ...]:
        """What to answer with."""

    def options(self, order: Sequence[int], prompt: str = "") -> list[ShownOption]:
        """Return the options as a prompt shows them."""

    def about(self) -> dict[str, Any]:
        """Return what distinguishes this question from others."""


@dataclass(frozen=True, slots=True)
class Question:
    """What to ask about every item.

    Parameters
    ----------
    scale
        The points, which become options with the letters A, B, C, …, or with numbers if there are more than 26.
    wording
        The question itself; optional only for prompts that do not use it.
    descriptions
        What each point means, for prompts that explain it: one text for each point, or such lists by the name of the
        prompt. By default those of the scale.
    """

    scale: Scale
    wording: str = ""
    descriptions: Descriptions = field(default=(), hash=False)

    def __post_init__(self) -> None:
        told = self.descriptions or self.scale.descriptions
        object.__setattr__(self, "descriptions", descriptions_of(self.scale, told))
        if len(self.scale) > MAX_OPTIONS:
            raise InputError(
                f"the scale has {len(self.scale):,} points, too many to list in a question",
                hint=f"Ask on a scale of at most {MAX_OPTIONS:,} points.",
            )
        if self.wording and not self.wording.strip():
            raise InputError("the question is blank", hint="Give its wording.")

    @property
    def letters(self) -> tuple[str, ...]:
        """What to answer with, in the order shown.

        With more than 26 points, or if labels are letters themselves, such as grades, these are numbers: the points
        themselves if they are whole numbers, otherwise 1, 2, 3, …
        """
        n = len(self.scale)
        labels = [str(label) for label in self.scale.labels]
        taken = {label.upper() for label in labels} & set(string.ascii_uppercase[:n])
        if n <= len(string.ascii_uppercase) and not taken:
            return tuple(string.ascii_uppercase[:n])
        whole = all(label.removeprefix("-").isdecimal() for label in labels)
        return tuple(labels) if whole else tuple(map(str, range(1, n + 1)))

    def options(self, order: Sequence[int] | None = None, prompt: str = "") -> list[ShownOption]:
        """Return the options as a prompt shows them; ``order`` lists positions on the scale."""
        shown = list(range(len(self.scale)) if order is None else order)
        descriptions = self.described(prompt) or ("",) * len(self.scale)
        labels = [str(label) for label in self.scale.labels]
        own = self.letters == tuple(labels)  # a number that is its own answer stays so in any order
        return [
            ShownOption(labels[place] if own else letter, labels[place], descriptions[place])
            for letter, place in zip(self.letters, shown, strict=True)
        ]

    def described(self, prompt: str) -> tuple[str, ...]:
        """Return what a prompt may say about each point, none if nothing."""
        return descriptions_in(self.descriptions, prompt)

    def about(self) -> dict[str, Any]:
        """Return what distinguishes this question from others."""
        told = {"question": self.wording, "labels": [str(label) for label in self.scale.labels]}
        return told | ({"descriptions": plain_descriptions(self.descriptions)} if self.descriptions else {})

    @classmethod
    def from_about(cls, about: Mapping[str, Any], source: str | None = None) -> Question:
        """Return the question that a store's answers belong to.

        Parameters
        ----------
        about
            What :meth:`about` gave.
        source
            The store's name, for messages.

        Examples
        --------
        >>> Question.from_about({"question": "Is it rude?", "labels": ["no", "yes"]}).letters
        ('A', 'B')
        """
        if READS in about:
            raise InputError(
                "it holds the replies of a second reader", source=source, hint="Name the store whose answers it read."
            )
        labels = about.get("labels")
        if not labels:
            raise InputError(
                "it does not say which options were shown", source=source, hint="Name a store that plurivox ask wrote."
            )
        # Only the order of points matters here, and labels that are numbers need not increase where values were given.
        scale = Scale(map(str, labels), values=range(len(labels)))
        return cls(scale, about.get("question") or "", about.get("descriptions", ()))


def shuffled(n_options: int, seed: int, item: str, sample: int) -> tuple[int, ...]:
    """Return an order of the options that depends only on the seed, the item and the repetition."""

    def place(option: int) -> bytes:
        return hashlib.sha256(f"{seed}\0{item}\0{sample}\0{option}".encode()).digest()

    return tuple(sorted(range(n_options), key=place))
