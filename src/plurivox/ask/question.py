"""The question that models are asked, one request about an item, what a reply says, and all that a run will ask."""

from __future__ import annotations

import hashlib
import json
import math
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Literal, NamedTuple, Protocol

import polars as pl

from plurivox.ask.prompts import Prompt
from plurivox.base.errors import DuplicateError, IdError, InputError, no_column
from plurivox.domain.attributes import COUNTED_FROM_1, id_texts, where
from plurivox.domain.raw import to_polars
from plurivox.domain.reader import Options, Reading, read_answer
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


def as_shown(question: Asking, order: Sequence[int], prompt: str = "") -> Options:
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


# Planning -------------------------------------------------------------------------------------------------------------
#
# What a run will ask: all combinations of models, prompts, items and repetitions, one after the other.


CHARACTERS_PER_TOKEN = 4
"""Roughly, of English text; other languages need more tokens."""
_LOOKED_AT = 200  # items from which the length of prompts is estimated


class Planned(Protocol):
    """What a run takes: a question, and all requests, one after the other."""

    @property
    def question(self) -> Asking:
        """How answers are to be read."""

    @property
    def models(self) -> tuple[str, ...]:
        """The names of all models that are asked."""

    def __len__(self) -> int: ...

    @property
    def fields(self) -> Mapping[str, Any] | None:
        """The extra fields of every request, which all answers of a model in a store share; None if they need not."""

    def about(self) -> dict[str, Any]:
        """Return what a store of the answers holds about them."""

    def requests(self) -> Iterator[Request]:
        """Yield every request."""


@dataclass(frozen=True, slots=True, eq=False)
class AskingPlan:
    """Everything that will be asked, lazily."""

    question: Question
    prompts: tuple[Prompt, ...]
    models: tuple[str, ...]
    items: pl.Series  # their ids
    texts: pl.Series
    server: str  # the address that all requests go to
    samples: int = 1  # how many times each item is asked about
    shuffle: bool = False  # whether the order of options differs from item to item, as the seed decides
    seed: int = 0
    mode: Mode = "text"  # how answers are wanted
    params: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)  # what else every request has

    def about(self) -> dict[str, Any]:
        """Return the question, and the user's own templates by the names of their prompts."""
        own = {prompt.name: prompt.template for prompt in self.prompts if prompt.own}
        return self.question.about() | ({"templates": own} if own else {})

    def __len__(self) -> int:
        """Return the number of requests."""
        return len(self.models) * len(self.prompts) * len(self.items) * self.samples

    def requests(self) -> Iterator[Request]:
        """Yield every request, models taking turns, so that all of them progress equally."""
        for item, text in zip(self.items, self.texts, strict=True):
            for sample in range(self.samples):
                order = self.order(item, sample)
                for prompt in self.prompts:
                    messages = prompt.messages(text, order)
                    for model in self.models:
                        yield Request(
                            self.server, model, prompt.name, item, sample, order, messages, self.mode,
                            {**self.params, **self.fields},
                        )  # fmt: skip

    def order(self, item: str, sample: int) -> tuple[int, ...]:
        """Return the options in the order in which they are shown."""
        n = len(self.question.scale)
        return shuffled(n, self.seed, item, sample) if self.shuffle else tuple(range(n))

    def estimated_tokens(self) -> int:
        """Return about how many tokens all prompts have, from the first items."""
        looked_at = list(islice(self.requests(), _LOOKED_AT * len(self.models) * len(self.prompts)))
        characters = sum(len(message["content"]) for request in looked_at for message in request.messages)
        return round(characters / CHARACTERS_PER_TOKEN / max(len(looked_at), 1) * len(self))


def items_of(
    frame: Any, *, item: str = "item", text: str = "text", source: str = "items"
) -> tuple[pl.Series, pl.Series]:
    """Return ids and texts of a table of items, checked."""
    table = to_polars(frame)
    for role, name in (("item", item), ("text", text)):
        if name not in table.columns:
            hint = f"Name the column of the {role} with --{role} ({role}=)."
            raise no_column(name, table.columns, source, hint, most=20)
    if not table.height:
        raise InputError("there are no items", source=source, hint="Give one row per item.")
    ids, texts = id_texts(table[item]), table[text].cast(pl.String)
    _refuse(ids.is_null() | (ids.str.strip_chars() == ""), IdError, "the item is missing", source, item)
    _refuse(ids.is_duplicated(), DuplicateError, "an item has more than one row", source, item)
    _refuse(texts.is_null() | (texts.str.strip_chars() == ""), InputError, "the text is missing", source, text)
    return ids, texts


def _refuse(wrong: pl.Series, error: type[InputError], problem: str, source: str, column: str) -> None:
    if wrong.any():
        at = where(source, COUNTED_FROM_1, wrong)
        raise error(problem, column=column, **at, hint="Rows of items are counted from 1, without the header.")


def check_models(models: Sequence[str]) -> tuple[str, ...]:
    """Return the names of models, each once."""
    names = tuple(dict.fromkeys(model.strip() for model in models))
    if not names or not all(names):
        raise InputError("there are no models to ask", hint="Name at least one with --model (models=).")
    return names


def same_fields(plan: Planned, known: Iterable[tuple[str, Mapping[str, Any]]], source: str) -> None:
    """Raise if a store has a model's answers to requests with other fields, which must not be mixed with the plan's.

    Parameters
    ----------
    plan
        What will be asked.
    known
        Models, and the parameters of requests that they have answered.
    source
        The store's name, for messages.
    """
    for model, params in known if plan.fields is not None else ():
        fields = {name: value for name, value in params.items() if name not in OWN_FIELDS}
        if model in plan.models and fields != plan.fields:
            now = _told(plan.fields or {})
            raise InputError(
                f"it holds answers of {model} to requests with {_told(fields)}; now there are {now}", source=source,
                hint="Choose another file with -o, or ask as before.",
            )  # fmt: skip


def _told(fields: Mapping[str, Any]) -> str:
    text = json.dumps(fields, ensure_ascii=False)
    return f"the extra fields {text if len(text) <= 100 else f'{text[:99]}…'}" if fields else "no extra fields"
