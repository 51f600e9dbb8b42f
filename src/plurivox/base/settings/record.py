"""Settings records: a question's settings, each declared once with what it means and what it may be.

Their values are hashable, and the same for all ways of writing the same thing.

Functions named after what they return (:func:`axes`, :func:`names` …) accept what a caller or a TOML file gives. Those
that begin with ``read_`` accept the text of an option. Both raise ``ValueError``: the first with what to give instead,
the second with what follows the name of the option in the message.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import operator
import types
import typing
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass
from types import NoneType
from typing import Any, ClassVar, NamedTuple, Self

from plurivox.base.arguments import LARGEST, is_text, shown
from plurivox.base.arguments import scalar as scalar
from plurivox.base.errors import InputError, PlurivoxWarning

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


# Record ---------------------------------------------------------------------------------------------------------------
#
# Settings records: what a setting is, how a wrong value is reported, and how a record becomes JSON and a key.


_KEY = "setting"
REMOVED = {
    "stop_early": "was removed: every shuffle that you ask for is made, and more while a p-value is close to .05; to "
    "save time, ask for fewer permutations"
}
"""Settings of the version before, each with what to do instead; the next version need not know them."""
_KINDS = (bool, int, float, str)
_NOUNS = {bool: "True or False", int: "a whole number", float: "a number", str: "a text"}


class Toml(NamedTuple):
    """Where a setting stands in ``plurivox.toml``; settings of a lens stand in the lens's own section."""

    section: str
    """Its table, empty for the top."""
    key: str
    kinds: type | tuple[type, ...] = str
    """What its value may be."""


@dataclass(frozen=True, slots=True)
class Spec:
    """All that is known about one setting; :func:`setting` makes it.

    Attributes
    ----------
    default
        Its value if none is given; ``dataclasses.MISSING`` if one must be given.
    help
        The help text of its option, also shown next to its form field.
    doc
        What the Python documentation says; by default the help text.
    option
        How its option is written; by default like its name, ``min_support`` as ``--min-support``. The option of a bool
        takes no value and reverses the default: ``--unnormalized`` for ``normalized=True``.
    aliases
        Other ways to write its option.
    flags
        If it has choices: options that take no value in place of its own, by the choice that each stands for, with
        their help texts.
    form
        What a form says in place of the help text.
    toml
        Where it stands in ``plurivox.toml``, if it belongs to no lens.
    replaces
        Settings in ``plurivox.toml`` that do not count if its option is given.
    stage
        When it is used, if the settings of a record are used one after another.
    metavar
        The placeholder for its value in the command's help.
    choices
        The values it may have.
    least, most
        The smallest and the largest number it may be; the option's help shows them.
    hint
        What to do about a wrong value, as a sentence, if the usual one does not fit.
    parse
        From the text of its option to its value. Raises ``ValueError`` with what follows the option's name in the
        message.
    repeated
        Whether the option can be given several times; ``parse`` then gets a list of texts.
    canonical
        From what a caller or a TOML file gives to a hashable value; see :mod:`plurivox.base.settings.record`. It must
        return its own results, and JSON made from them, unchanged. Raises ``ValueError`` with what to give instead.
    written
        Whether all its values can be written as JSON; otherwise a caller may also give an object, such as a frame,
        which the record holds as it is.
    check
        Called with the canonical value; raises InputError, or ``ValueError`` with what to give instead.
    accepts
        The type in the Python signature, if callers may pass more types than the record holds.
    cli
        Whether it has an option of its own.
    quiet
        Whether a record leaves it out of its JSON and its key while it has its default: it changes names only, or adds
        to what is always computed.
    name, kind, optional
        What the field of the record says: ``kind`` is bool, int, float or str, or None if only ``canonical`` knows
        which values are valid; ``optional`` ones may be None.
    """

    default: Any
    help: str
    doc: str = ""
    option: str | None = None
    aliases: tuple[str, ...] = ()
    flags: Mapping[str, str] | None = None
    form: str = ""
    toml: Toml | None = None
    replaces: tuple[str, ...] = ()
    stage: str = ""
    metavar: str | None = None
    choices: tuple[Any, ...] | None = None
    least: float | None = None
    most: float | None = None
    hint: str | None = None
    parse: Callable[[Any], Any] | None = None
    repeated: bool = False
    canonical: Callable[[Any], Any] | None = None
    written: bool = True
    check: Callable[[Any], object] | None = None
    accepts: str = ""
    cli: bool = True
    quiet: bool = False
    name: str = ""
    kind: type | None = None
    optional: bool = False

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is MISSING

    @property
    def flag(self) -> bool:
        """Whether its option takes no value: giving it reverses the default."""
        return isinstance(self.default, bool)

    def checked(self, given: Any) -> Any:
        """Return the canonical form of a value.

        Raises
        ------
        InputError
            If the setting cannot have this value.
        """
        if (given is None and self.optional) or not self.written:
            return given
        try:
            value = self._canonical(given)
            if self.check is not None:
                self.check(value)
            if self.kind is None:
                hash(value), json.dumps(plain(value))
        except InputError:
            raise
        except (TypeError, ValueError, OverflowError, AttributeError, RecursionError) as error:
            told = str(error) if type(error) is ValueError else ""
            raise InputError(f"{self.name} is {shown(given)}", hint=self.hint or told or self._wanted()) from None
        if (self.least is not None and value < self.least) or (self.most is not None and value > self.most):
            raise InputError(f"{self.name} is {shown(given)}", hint=self.hint or self._wanted())
        return value

    def _canonical(self, given: Any) -> Any:
        if self.canonical is not None:
            value = self.canonical(given)
        elif self.choices is not None or self.kind is None:
            value = frozen(given)
        else:
            value = _of_kind(scalar(given), self.kind)
        if self.choices is not None:
            known = isinstance(value, str | int | float) and value in self.choices
            value = self.choices[self.choices.index(value)] if known else _refuse()
        return value

    def _wanted(self) -> str:
        """Return a sentence that says what to give."""
        if self.choices is not None:
            return f"Choose one of {', '.join(map(str, self.choices))}."
        noun = _NOUNS.get(self.kind, "another value") if self.kind else "another value"
        if self.least is not None and self.most is not None:
            return f"Give {noun} from {self.least:,} to {self.most:,}."
        if self.least is not None or self.most is not None:
            return f"Give {noun} of at {f'least {self.least:,}' if self.least is not None else f'most {self.most:,}'}."
        return f"Give {noun}."


def _refuse() -> Any:
    raise TypeError


def _of_kind(value: Any, kind: type) -> Any:
    """Return a value as the Python type it should have."""
    if kind is int and not isinstance(value, bool):
        number = operator.index(value)
        return number if abs(number) <= LARGEST else _refuse()
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value) + 0.0  # -0.0 and 0.0 are one value
    if kind is str and is_text(value):
        return str(value)
    if kind is bool and isinstance(value, bool):
        return value
    return _refuse()


def setting(default: Any, help: str, **known: Any) -> Any:  # noqa: A002
    """Declare a setting: a field of a :class:`Settings` record, with everything else in :class:`Spec`."""
    return dataclasses.field(default=default, metadata={_KEY: Spec(default, help, **{"doc": help, **known})})


class Settings:
    """Base of settings records: frozen, kw_only dataclasses with slots, whose fields are made by :func:`setting`.

    A record is checked and brought into canonical form when it is made. Two records with the same meaning are equal and
    have the same hash and the same :meth:`key`.
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    LEFT_OUT: ClassVar[frozenset[str]] = frozenset()
    """Settings that a record has from the one it extends but that nobody can set: they keep their defaults."""

    def __post_init__(self) -> None:
        for name, spec in self.specs().items():
            object.__setattr__(self, name, spec.checked(getattr(self, name)))
        self.check()

    def check(self) -> None:
        """Raise InputError if settings cannot be combined; records with such cases override it."""

    @classmethod
    def specs(cls) -> dict[str, Spec]:
        """Return what is known about each setting, in order."""
        return _specs(cls)  # type: ignore[arg-type]  # mypy takes the hash of records for that of their class

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as JSON types, in order; quiet ones only if they differ from their default."""
        values = {name: (spec, getattr(self, name)) for name, spec in self.specs().items()}
        return {name: plain(value) for name, (spec, value) in values.items() if not spec.quiet or value != spec.default}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Undo :meth:`as_dict`; missing settings have their defaults."""
        known, data = cls.specs(), without_removed(data)
        for name in data:
            if name not in known:
                raise InputError(f"there is no setting {name!r}", hint=f"Known: {', '.join(known)}.")
        missing = [name for name, spec in known.items() if spec.required and name not in data]
        if missing:
            raise InputError(f"{missing[0]} is missing", hint=f"Give {', '.join(missing)}.")
        return cls(**data)

    def key(self) -> str:
        """Return a short text that is the same for equal settings in every process and hardly ever for others."""
        text = json.dumps([type(self).__name__, sorted(self.as_dict().items())], separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def replace(self, **changes: Any) -> Self:
        """Return the record with other values of some settings."""
        return self.from_dict({**{name: getattr(self, name) for name in self.specs()}, **changes})


def without_removed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without those that no record has any more; a warning says what to do instead."""
    for name in given.keys() & REMOVED.keys():
        warnings.warn(PlurivoxWarning(f"{name} {REMOVED[name]}"), stacklevel=3)
    return {name: value for name, value in given.items() if name not in REMOVED}


@functools.cache
def _specs(cls: type[Settings]) -> dict[str, Spec]:
    """Complete the declarations of fields from their names and types."""
    hints = typing.get_type_hints(cls)
    found = {}
    for field in dataclasses.fields(cls):
        if field.name in cls.LEFT_OUT:
            continue
        spec: Spec | None = field.metadata.get(_KEY)
        if spec is None:
            raise TypeError(f"{cls.__name__}.{field.name} is not declared with setting(…)")
        type_ = hints[field.name]
        union = typing.get_args(type_) if typing.get_origin(type_) in (types.UnionType, typing.Union) else (type_,)
        members = [one for one in union if one is not NoneType]
        kind = members[0] if len(members) == 1 and members[0] in _KINDS else spec.kind
        if kind is None and spec.canonical is None and spec.choices is None:
            raise TypeError(
                f"{cls.__name__}.{field.name} needs canonical=, because it has neither choices nor a type in {_KINDS}"
            )
        optional = spec.default is None or len(members) < len(union)
        option = spec.option or f"--{field.name.replace('_', '-')}"
        found[field.name] = dataclasses.replace(spec, name=field.name, kind=kind, optional=optional, option=option)
    return found
