"""What a run will ask: all combinations of models, prompts, items and repetitions, one after the other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

import polars as pl

from plurivox.ask.prompts import Prompt
from plurivox.ask.question import OWN_FIELDS, Asking, Mode, Question, Request, shuffled
from plurivox.base.errors import DuplicateError, IdError, InputError, no_column
from plurivox.domain.attributes import COUNTED_FROM_1, id_texts, where
from plurivox.domain.raw import to_polars

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
