"""One question put to one model about one item, and the key by which it is never asked twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Mode = Literal["text", "json", "logprobs"]
MODES: tuple[Mode, ...] = ("text", "json", "logprobs")


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a server.

    Attributes
    ----------
    server, model
        The server's address, and the model's name there.
    prompt
        The name of the prompt.
    item
        The item's id.
    sample
        The number of the repetition, from 0.
    order
        The options as they are shown, each as its position on the scale.
    messages
        The full text: each message has a ``role`` and a ``content``.
    mode
        Free ``"text"``, a structured answer (``"json"``), or the probabilities of the options (``"logprobs"``).
    params
        Sampling parameters, such as the temperature.
    """

    server: str
    model: str
    prompt: str
    item: str
    sample: int
    order: tuple[int, ...]
    messages: tuple[Mapping[str, str], ...]
    mode: Mode = "text"
    params: Mapping[str, Any] = field(default_factory=dict)

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
    """What a server answered.

    Attributes
    ----------
    text
        The answer's text, as it came.
    refusal
        What the server says if it, or the model by way of it, refused; empty otherwise.
    finish
        Why the answer ended: ``"stop"``, ``"length"``, …
    version
        The model as the server reports it.
    prompt_tokens, completion_tokens
        What the server counted, or None.
    top
        The most likely first tokens with their log-probabilities, where asked for.
    attempts, seconds
        How many requests it took, and how long the last of them.
    """

    text: str
    refusal: str = ""
    finish: str = ""
    version: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    top: tuple[tuple[str, float], ...] = ()
    attempts: int = 1
    seconds: float = 0.0
