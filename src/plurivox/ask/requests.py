"""One question put to one model about one item, and the key by which it is never asked twice."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from plurivox.base.errors import InputError

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
