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
    """A request to a server."""

    server: str  # its address
    model: str
    prompt: str  # the name of the prompt
    item: str  # the item's id
    sample: int  # the number of the repetition, from 0
    order: tuple[int, ...]  # the options as they are shown, each as its position on the scale
    messages: tuple[Mapping[str, str], ...]  # the full text: each has a role and a content
    mode: Mode = "text"  # free text, a structured answer, or the probabilities of the options
    params: Mapping[str, Any] = field(default_factory=dict)  # sampling parameters, such as the temperature

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
