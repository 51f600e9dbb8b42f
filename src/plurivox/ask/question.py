"""The question that models are asked, one request about an item, and what a reply to it says."""

from __future__ import annotations

import hashlib
import json
import math
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from plurivox.base.errors import InputError
from plurivox.domain.reader import Options, Reading, read_answer
from plurivox.domain.scale import Descriptions, Scale, descriptions_in, descriptions_of, plain_descriptions

if TYPE_CHECKING:
    from plurivox.ask.rereading import Choice

MAX_OPTIONS = 1001
READS = "reads_answers"
"""The mark of a store whose replies are those of a second reader."""


class ShownOption(NamedTuple):
    """An option as it is shown: the letter to answer with, the point, and what it means."""

    letter: str
    label: str
    description: str


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


# Requests -------------------------------------------------------------------------------------------------------------
#
# One question put to one model about one item, and the key by which it is never asked twice.


Mode = Literal["text", "json", "logprobs"]
MODES: tuple[Mode, ...] = ("text", "json", "logprobs")


OWN_FIELDS = {
    "model": "--model (models=)", "messages": "--prompt (prompts=)", "temperature": "--temperature (temperature=)",
    "max_tokens": "--max-tokens (max_tokens=)", "n": "--samples (samples=)", "response_format": "--mode (mode=)",
    "logprobs": "--mode (mode=)", "top_logprobs": "--mode (mode=)",
}  # fmt: skip
"""Fields of a request that have options of their own."""
_WHOLE = ("stream", "stream_options")
_SECRET = re.compile(r"(x|openai)?(api|secret|access|auth)?(key|token)|authorization|bearer|password|(client)?secret")
_ANYWHERE = re.compile(r"(x|openai)?(api|secret|access|auth)(key|token)|authorization|bearer|password|clientsecret")


def extra_fields(given: Any) -> dict[str, Any]:
    """Return further fields of every request, sorted; raise if one is ours, or looks like a key.

    Examples
    --------
    >>> extra_fields({"top_p": 0.9, "seed": 1})
    {'seed': 1, 'top_p': 0.9}
    """
    if not isinstance(given, Mapping):
        raise InputError("the extra fields of a request are not a JSON object", hint='Give {"name": value, …}.')
    try:
        text = json.dumps(given, allow_nan=False, sort_keys=True, ensure_ascii=False)
        known: dict[str, Any] = json.loads(text.encode())  # halves of characters cannot be sent
    except (TypeError, ValueError, RecursionError):
        raise InputError(
            "the extra fields of a request cannot be written as JSON", hint="Give texts, numbers, lists and objects."
        ) from None
    for name in known:
        if name in OWN_FIELDS:
            raise InputError(f"the field {name!r} of a request has its own option", hint=f"Use {OWN_FIELDS[name]}.")
        if name in _WHOLE:
            raise InputError(f"the field {name!r} of a request cannot be set", hint="Answers must arrive whole.")
    secret = next(_secrets(known, _SECRET), None)
    if secret is not None:
        raise InputError(
            f"the field {secret!r} of a request looks like a key, but fields are stored",
            hint="Put the key into the environment variable that --key-variable (key_variable=) names.",
        )
    return known


def _secrets(value: Any, pattern: re.Pattern[str]) -> Iterator[str]:
    """Yield names of fields, on any level, that hold secrets."""
    for name, inner in value.items() if isinstance(value, dict) else ():
        if pattern.fullmatch(re.sub("[^a-z]", "", name.lower())):
            yield name
        yield from _secrets(inner, _ANYWHERE)
    for inner in value if isinstance(value, list) else ():
        yield from _secrets(inner, _ANYWHERE)


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a server."""

    server: str  # its address
    model: str
    prompt: str  # the name of the prompt
    item: str  # the item's id
    sample: int  # the number of the repetition, from 0
    order: tuple[int, ...]  # the options as they are shown, each as its position on the scale
    messages: tuple[Mapping[str, str], ...]  # the full text: each has a role and a content
    mode: Mode = "text"  # free text, a structured answer, or the probabilities of the options
    params: Mapping[str, Any] = field(default_factory=dict)  # sampling parameters and extra fields

    @property
    def key(self) -> str:
        """What makes it the same request: server, model, item, full text, how it is sampled, and the repetition."""
        parts = [
            self.server, self.model, self.item, [dict(message) for message in self.messages], self.mode,
            dict(sorted(self.params.items())), self.sample,
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered."""

    text: str  # the answer's text, as it came
    refusal: str = ""  # what the server says if it, or the model by way of it, refused; empty otherwise
    finish: str = ""  # why the answer ended: "stop", "length", …
    version: str = ""  # the model as the server reports it
    prompt_tokens: int | None = None  # what the server counted, or None
    completion_tokens: int | None = None
    # the most likely first tokens with their log-probabilities, where asked for
    top: tuple[tuple[str, float], ...] = ()
    attempts: int = 1  # how many requests it took
    seconds: float = 0.0  # how long the last of them took


# Replies --------------------------------------------------------------------------------------------------------------
#
# What a reply says: the option that its text names, and the distribution from log-probabilities.


SECOND_READER = "second reader: "
"""The beginning of the rule if a model read the answer; its name follows."""


def as_shown(question: Question | Choice, order: Sequence[int], prompt: str = "") -> Options:
    """Return the options as a prompt showed them, to read an answer by: letter, label, and description if there is one.

    Examples
    --------
    >>> from plurivox.ask.question import Question
    >>> from plurivox.domain.scale import Scale
    >>> as_shown(Question(Scale(["no", "yes"]), "Is it rude?"), (1, 0))
    [('A', 'yes'), ('B', 'no')]
    """
    if sorted(order) != list(range(len(question.letters))):
        raise InputError(f"an answer has the options {list(order)}, and the scale {len(question.letters)} points")
    return [tuple(option) if option.description else option[:2] for option in question.options(order, prompt)]


def read_reply(text: str, refusal: str, options: Options, order: Sequence[int]) -> Reading:
    """Return how a reply is read; the point is the position on the scale, not among the options as shown."""
    if refusal:
        return Reading("refused", None, "server refused", None)
    found = read_answer(text, options)
    return found if found.point is None else replace(found, point=order[found.point])


def distribution_of(top: Sequence[tuple[str, float]], options: Options) -> tuple[list[float], float] | None:
    """Return the share of each option among the most likely first tokens, and how much probability they hold together.

    None if no option is among them.

    Examples
    --------
    >>> shares, held = distribution_of([("A", -0.6931), (" a", -2.3026), ("The", -1.0)], [("A", "no"), ("B", "yes")])
    >>> [round(share, 3) for share in shares], round(held, 3)
    ([1.0, 0.0], 0.6)
    """
    letters = {option[0].casefold(): place for place, option in enumerate(options)}
    mass = [0.0] * len(options)
    for token, log_probability in top:
        place = letters.get(token.strip(" \t\n*_\"'()[]:.").casefold())
        if place is not None:
            mass[place] += math.exp(min(log_probability, 0.0))
    total = sum(mass)
    return ([share / total for share in mass], min(total, 1.0)) if total > 0 else None
