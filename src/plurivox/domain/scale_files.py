"""A scale from whatever a user gives: text such as ``0:4``, a list of points, or a TOML file."""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, overload

from plurivox.base.arguments import FilePath, Kind, fits, shown, words
from plurivox.base.errors import ConfigError, InputError, ScaleError
from plurivox.base.files import note_input
from plurivox.domain.scale import Label, Scale, as_poles

Kinds = Mapping[str, type | tuple[type, ...]]
_WORDS = "text such as '0:4', 'No,Unsure,Yes' or 'likert-agree', a list of points, a TOML file, or a Scale"
GivenScale = Annotated[
    Scale | str | os.PathLike[str] | Sequence[Label],
    Kind(_WORDS, lambda given: fits(given, Scale | FilePath | Iterable[Label]), ScaleError),
]
"""What every function and ``--scale`` accept as a scale."""
MOST_BYTES = 2**20
"""The largest TOML file that is read."""
KEYS: Kinds = {
    "labels": (list, str), "values": list, "missing": list, "low": str, "high": str, "question": str,
    "descriptions": (list, dict),
}  # fmt: skip
"""What ``[scale]`` may contain, and of which type."""
LISTS: Mapping[str, Any] = {
    "labels": list[Label], "values": list[float], "missing": list[Label], "descriptions": list[str],
    "columns": list[str], "by": list[str | list[str]], "unknown": list[str],
}  # fmt: skip
"""What lists may contain."""


@overload
def as_scale(scale: GivenScale) -> Scale: ...
@overload
def as_scale(scale: GivenScale | None) -> Scale | None: ...
def as_scale(scale: GivenScale | None) -> Scale | None:
    """Return a scale from a Scale, text such as ``"0:4"`` or ``"No,Unsure,Yes"``, a TOML file, or a list of points.

    A text without colon and comma is the name of a scale, such as ``"likert-agree"``.

    Examples
    --------
    >>> as_scale("1:3") == as_scale([1, 2, 3]) == Scale.range(1, 3)
    True
    """
    if scale is None or isinstance(scale, Scale):
        return scale
    if isinstance(scale, os.PathLike) or (isinstance(scale, str) and scale.endswith(".toml")):
        return load_scale(scale)
    if isinstance(scale, str):
        return _from_text(scale)
    if isinstance(scale, Mapping) or not isinstance(scale, Iterable):
        raise ScaleError(f"{scale!r} is not a scale", hint=f"Give {_WORDS}.")
    return Scale(scale)


def _from_text(text: str) -> Scale:
    """Return the scale that a text lists or names."""
    is_name = not {*":,"} & {*text} and any(map(str.isalpha, text))
    return Scale.named(text) if is_name else Scale.parse(text)


def load_scale(path: str | os.PathLike[str]) -> Scale:
    """Read a scale from a TOML file with ``labels`` and more, at the top or under ``[scale]``."""
    return scale_of(_table(os.fspath(path)), os.fspath(path))


def load_question(path: str | os.PathLike[str]) -> tuple[Scale, str]:
    """Read a scale, which holds ``descriptions`` of its points if there are any, and the ``question`` it answers."""
    name = os.fspath(path)
    table = _table(name)
    return scale_of(table, name), table.get("question", "")


def scale_of(table: Mapping[str, Any], name: str) -> Scale:
    """Return the scale that a table of TOML describes."""
    labels: Sequence[Any] | str = table["labels"]
    missing = table.get("missing", ())
    try:
        known = _from_text(labels) if isinstance(labels, str) else Scale(labels, values=table.get("values"))
        return Scale(
            known.labels, values=table.get("values"), missing=missing, poles=poles_of(table, name) or known.poles,
            descriptions=table.get("descriptions", ()), name=known.name,
        )  # fmt: skip
    except InputError as error:
        raise ConfigError(error.problem, source=name, column=None, hint=error.hint) from None


def poles_of(table: Mapping[str, Any], name: str) -> tuple[str, str] | None:
    """Return what a table of TOML calls the two ends of its scale: ``low`` and ``high``."""
    given = [table[key] for key in ("low", "high") if key in table]
    if not given:
        return None
    if len(given) == 1:
        raise ConfigError(
            "only one end of the scale has a name", source=name, hint='Name both: low = "safe" and high = "unsafe".'
        )
    try:
        return as_poles(given)
    except InputError as error:
        raise ConfigError(error.problem, source=name, hint='Write low = "safe" and high = "unsafe".') from None


def read_toml(name: str) -> dict[str, Any]:
    """Read a TOML file.

    Raises
    ------
    ConfigError
        If it cannot be read, is not an ordinary file, is larger than any file a person would write, or is not TOML.
    """
    note_input(name)
    try:
        if not stat.S_ISREG(os.stat(name).st_mode):  # opening a pipe would block
            raise ConfigError("this is not an ordinary file", source=name, hint="Name a TOML file.")
        with open(name, "rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ConfigError(f"it is larger than {MOST_BYTES:,} bytes", source=name, hint="Is it a TOML file?")
        return tomllib.loads(content.decode())
    except OSError as error:
        raise ConfigError(f"it cannot be read ({error.strerror})", source=name) from None
    except RecursionError:
        raise ConfigError("it is not valid TOML (it is nested too deeply)", source=name) from None
    except ConfigError:
        raise
    except ValueError as error:  # TOML, UTF-8, and whole numbers of thousands of digits
        reason = " ".join(str(error).split())[:200]
        raise ConfigError(f"it is not valid TOML ({reason})", source=name) from None


def check_key(key: str, value: object, known: Kinds, where: str, name: str, hint: str | None = None) -> None:
    """Raise if a key of a TOML table is unknown or its value has the wrong type."""
    if key not in known:
        raise ConfigError(f"'{where}' is not a setting", source=name, hint=hint or f"Known here: {', '.join(known)}.")
    if not isinstance(value, known[key]) or isinstance(value, bool):
        kind = known[key]
        wanted = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        raise ConfigError(f"'{where}' is {shown(value)} and should be a {wanted}", source=name)
    if isinstance(value, list) and key in LISTS and not fits(value, LISTS[key]):
        raise ConfigError(f"'{where}' is {shown(value)}", source=name, hint=f"Give {words(LISTS[key])}.")
    if key == "descriptions" and isinstance(value, dict):  # by the name of a prompt
        for prompt, texts in value.items():
            check_key(key, texts, {key: list}, f"{where}.{prompt}", name)


def _table(name: str) -> dict[str, Any]:
    data = read_toml(name)
    table = data.get("scale", data)
    if not isinstance(table, dict):
        raise ConfigError(f"'scale' is {shown(table)}", source=name, hint="Write it as a table: [scale].")
    for key, value in table.items():
        check_key(key, value, KEYS, f"[scale] {key}", name)
    if "labels" not in table:
        raise ConfigError("there are no labels", source=name, hint='Write them in order: labels = ["No", "Yes"].')
    return table
