"""Values of settings: hashable, and the same for all ways of writing the same thing.

Functions named after what they return (:func:`axes`, :func:`names` …) accept what a caller or a TOML file gives. Those
that begin with ``read_`` accept the text of an option. Both raise ``ValueError``: the first with what to give instead,
the second with what follows the name of the option in the message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Axes = tuple[tuple[str, ...], ...]
"""The attributes of each axis: ``(("age",), ("race", "gender"))``."""


class Frozen(Mapping[str, Any]):
    """An immutable mapping that can be hashed and pickled."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Iterable[tuple[str, Any]] = ()) -> None:
        self._pairs = tuple(pairs)

    def __getitem__(self, key: str) -> Any:
        for name, value in self._pairs:
            if name == key:
                return value
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Frozen):
            return self._pairs == other._pairs
        return isinstance(other, Mapping) and dict(self._pairs) == dict(other)

    def __hash__(self) -> int:
        return hash(self._pairs)

    def __repr__(self) -> str:
        return repr(dict(self._pairs))


def scalar(value: Any) -> Any:
    """Return a numpy number or text as its Python equivalent, and other things unchanged."""
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value


def frozen(value: Any) -> Any:
    """Return lists, arrays and series as tuples, all the way down, and mappings as :class:`Frozen`."""
    value = scalar(value)
    if isinstance(value, Mapping):
        return mapping(value)
    for name in ("tolist", "to_list"):
        if hasattr(value, name):
            value = getattr(value, name)()
            break
    if isinstance(value, list | tuple | range):
        return tuple(map(frozen, value))
    return value


def plain(value: Any) -> Any:
    """Return a value in JSON types: lists, dictionaries, numbers, texts."""
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    return value


def numbers(value: Any) -> Any:
    """Return a number, or a list or matrix of them, as floats; words are left for later checks."""
    value = frozen(value)
    if isinstance(value, tuple):
        return tuple(map(numbers, value))
    return float(value) + 0.0 if isinstance(value, int | float) else value  # + 0.0, since -0.0 is 0


def axes(value: Any) -> Axes:
    """Return the attributes of each axis: ``("race", "gender")`` is one crossing, ``["race", "gender"]`` are two axes.

    Examples
    --------
    >>> axes("race"), axes(("race", "gender")), axes(["race", "gender"])
    ((('race',),), (('race', 'gender'),), (('race',), ('gender',)))
    """
    if isinstance(value, str):
        return ((str(value),),)
    if isinstance(value, tuple) and value and all(isinstance(part, str) for part in value):
        return (tuple(map(str, value)),)
    found = tuple((one,) if isinstance(one, str) else tuple(one) for one in value)
    if not all(isinstance(part, str) for one in found for part in one):
        raise TypeError("an attribute must be a text")
    return tuple(tuple(map(str, one)) for one in found)


def names(value: Any) -> tuple[str, ...]:
    """Return one name or several as a tuple."""
    found = (value,) if isinstance(value, str) else tuple(value)
    if not all(isinstance(one, str) for one in found):
        raise TypeError("a name must be a text")
    return tuple(map(str, found))


def two(value: Any) -> tuple[str, str]:
    """Return two names."""
    found = names(value)
    if isinstance(value, str) or len(found) != 2:
        raise TypeError("two names are needed")
    return found[0], found[1]


def mapping(value: Any) -> Frozen:
    """Return a mapping sorted by its keys, so that the order in which it was written makes no difference."""
    return Frozen(sorted(ordered_mapping(value).items()))


def ordered_mapping(value: Any) -> Frozen:
    """Return a mapping in its own order, for results that depend on the order."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise TypeError("a mapping from texts is needed")
    return Frozen((str(key), frozen(part)) for key, part in value.items())


def read_names(text: str) -> tuple[str, ...] | None:
    """Read ``batch,region``; ``none`` for nothing."""
    return tuple(text.split(",")) if text and text != "none" else None


def read_two(text: str) -> tuple[str, str]:
    """Read ``Man,Woman``."""
    first, sign, second = text.partition(",")
    if not sign:
        raise ValueError(f"needs two groups separated by a comma, not {text!r}")
    return first.strip(), second.strip()


def read_value(text: str) -> dict[str, str]:
    """Read ``gender=Woman``."""
    attribute, sign, value = text.partition("=")
    if not sign or not attribute.strip() or not value.strip():
        raise ValueError(f"needs ATTRIBUTE=VALUE, not {text!r}")
    return {attribute.strip(): value.strip()}


def read_values(texts: list[str]) -> dict[str, str]:
    """Read several ``gender=Woman``."""
    return {name: value for text in texts for name, value in read_value(text).items()}


def read_conditions(texts: list[str]) -> list[dict[str, str]]:
    """Read several ``gender=Woman``, each as its own condition."""
    return [read_value(text) for text in texts]


def conditions(value: Any) -> tuple[Frozen, ...]:
    """Return one mapping or several, each a condition, in order.

    Examples
    --------
    >>> conditions({"gender": "Woman"}), conditions([{"age": "18-29"}, {"age": "60+"}])
    (({'gender': 'Woman'},), ({'age': '18-29'}, {'age': '60+'}))
    """
    return tuple(ordered_mapping(one) for one in ([value] if isinstance(value, Mapping) else value or ()) if one)


def read_prior(text: str) -> Any:
    """Read ``1``, ``1,1,2``, ``auto`` or ``empirical-bayes``."""
    if text in ("auto", "empirical-bayes"):
        return text
    try:
        weights = [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f"must be a number, comma-separated numbers for all points, auto or empirical-bayes, not {text!r}"
        ) from None
    return weights[0] if len(weights) == 1 else weights
