"""Forms made from settings records: a field for each setting, and back from what a form sends to a record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plurivox.base.errors import InputError
from plurivox.base.settings import Settings
from plurivox.base.settings.record import Spec
from plurivox.workbench.commands import text_of_value, usual

WORDS = {
    "by": "Groups of raters", "items_by": "Parts of the items", "min_group_size": "Smallest group shown",
    "n_lenses": "Lenses", "gai": "GAI of", "same_view": "Same view from", "permutations": "Shuffles",
    "max_permutations": "Maximum shuffles", "bootstrap": "Bootstrap draws", "resample": "Intervals generalise over",
    "interval": "Intervals", "within": "Shuffle within", "threshold": "Unsafe from", "level": "Level of measurement",
    "poles": "Ends of the scale", "several": "Several values", "bins": "Intervals of numbers",
    "rater_attributes": "Columns about raters", "item_attributes": "Columns about items", "where": "Keep only",
    "table": "Sheet or table", "reference_scale": "Points of the reference", "seed": "Random seed",
    "missing": "Words for no rating", "unknown": "Words for unknown", "duplicates": "Rated twice",
    "conflicts": "Conflicting values",
    "layout": "What a row is", "scale": "Points of the scale", "score": "Score", "recode": "Other points",
    "point_columns": "A column for each point", "unsafe_from": "Two points, unsafe from",
    "reference_column": "Reference in a column", "in_memory": "Read it whole into memory",
    "trim": "Largest weight of a rater", "subset": "Parts of the items", "what": "What to estimate",
    "width": "Target width of intervals", "unanswered": "Refused or unreadable answers", "models": "Only these models",
    "require": "What every model must reach", "max_iterations": "Maximum rounds", "starts": "Random starts",
}  # fmt: skip
"""Labels of settings in forms, if their name with spaces is not enough."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form: its name, its purpose, its value and its choices."""

    name: str
    label: str
    help: str
    kind: str
    value: str
    option: str = ""
    choices: Sequence[tuple[str, str]] = ()
    chosen: Sequence[str] = ()
    least: float | None = None
    most: float | None = None
    placeholder: str = ""
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """What menus of a form can offer: columns, attributes with their groups, axes."""

    columns: Sequence[str] = ()
    raters: Sequence[str] = ()
    items: Sequence[str] = ()
    points: Sequence[str] = ()
    leave: frozenset[str] = field(default_factory=frozenset)


NOT_SHOWN = frozenset(("n_lenses", "ids", "title", "several"))
"""Settings that forms leave out: they follow from the study, or would show rater ids."""


def fields_of(record: Settings, known: Known) -> list[Field]:
    """Return the fields of a form with the values of a record."""
    specs = record.specs()
    return [
        _field(spec, getattr(record, name), known)
        for name, spec in specs.items()
        if name not in NOT_SHOWN | known.leave
    ]


def _field(spec: Spec, value: Any, known: Known) -> Field:
    words = WORDS.get(spec.name, spec.name.replace("_", " ").capitalize())
    default = usual(spec)
    told: dict[str, Any] = {
        "name": spec.name, "label": words, "help": spec.form or spec.help, "option": str(spec.option),
        "changed": value != default, "least": spec.least, "most": spec.most,
    }  # fmt: skip
    if spec.name == "by":
        return Field(kind="axes", value="", choices=[(one, one) for one in known.raters],
                     chosen=[",".join(axis) for axis in value], **told)  # fmt: skip
    menu = _menu(spec, known)
    if menu is not None:
        empty = [("", _usual(spec))] if spec.optional or default is None else []
        current = "" if value is None else text_of_value(value)
        extra = [(current, current)] if current and current not in [one for one, _ in menu] else []
        return Field(kind="menu", value=current, choices=[*empty, *menu, *extra], **told)
    if spec.flag:
        return Field(kind="flag", value="1" if value else "", **told)
    if spec.kind in (int, float):
        shown = "" if value is None else text_of_value(value)
        return Field(kind="number", value=shown, placeholder=_usual(spec), **told)
    shown = "" if value is None and spec.name != "within" else text_of_value(value) if value != () else ""
    if isinstance(value, Mapping):
        shown = "; ".join(f"{name}={text_of_value(part)}" for name, part in value.items())
    return Field(kind="text", value=shown, placeholder=_usual(spec), **told)


def _menu(spec: Spec, known: Known) -> list[tuple[str, str]] | None:
    """Return the possible values of a setting, if known."""
    if spec.choices is not None:
        return [(str(one), str(one)) for one in spec.choices]
    columns = {"item": known.columns, "rater": known.columns, "score": known.columns, "time": known.columns,
               "items_by": known.items, "subset": known.items, "reference_column": known.items}  # fmt: skip
    if columns.get(spec.name):
        return [(one, one) for one in columns[spec.name]]
    if spec.name == "threshold" and known.points:
        return [("each", "each in turn"), *((one, one) for one in known.points)]
    if spec.name == "level":
        return [(one, one) for one in ("auto", "ordinal", "nominal", "interval")]
    return None


def _usual(spec: Spec) -> str:
    if spec.default is None:
        return "as recognised" if spec.name in ("item", "rater", "score", "layout", "format") else "default"
    return "" if spec.required else text_of_value(spec.default)


def read_form(
    settings: type[Settings], given: Mapping[str, Sequence[str]], *, keep: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the settings in a form or an address; empty fields have their defaults.

    Raises
    ------
    InputError
        If the setting cannot have a value.
    """
    found: dict[str, Any] = {}
    for name, spec in settings.specs().items():
        if name in NOT_SHOWN and name not in keep:
            continue
        texts = [one.strip() for one in given.get(name, ()) if one.strip()]
        if name == "by":
            texts += [line.strip() for text in given.get("crossings", ()) for line in text.splitlines() if line.strip()]
            axes = [[part.strip() for part in text.split(",")] for text in texts]
            if axes or "by" in given or "crossings" in given:
                found["by"] = [list(axis) for axis in dict.fromkeys(map(tuple, axes))]
            continue
        if texts:
            found[name] = _value(spec, texts)
    return settings.from_dict(found).as_dict()


def _value(spec: Spec, texts: Sequence[str]) -> Any:
    text = texts[-1]
    if spec.choices is not None:
        return next((one for one in spec.choices if str(one) == text), text)
    try:
        if spec.flag:
            return text in ("1", "true", "yes", "on")
        if spec.name in ("threshold", "level"):
            return text
        if spec.name == "bins":
            return {name: [float(edge) for edge in edges.split(",")] for name, edges in _named(texts)}
        if spec.name == "several" or isinstance(spec.default, Mapping):
            return dict(_named(texts))
        if spec.parse is not None:
            return spec.parse(list(texts)) if spec.repeated else spec.parse(text)
        if isinstance(spec.default, tuple):
            return [part.strip() for one in texts for part in one.split(",") if part.strip()]
        if spec.kind is int:
            return int(text.replace(",", ""))
        if spec.kind is float:
            return float(text)
    except ValueError as error:
        told = str(error) if "literal" not in str(error) and "convert" not in str(error) else f"is {text!r}"
        raise InputError(f"{spec.name} {told}", hint="Give a number." if spec.kind in (int, float) else None) from None
    return text


def _named(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Read ``age=18,30; income=0,1000``."""
    pairs = [one.partition("=") for text in texts for one in text.split(";") if one.strip()]
    if not all(name.strip() and sign for name, sign, _ in pairs):
        raise ValueError("needs ATTRIBUTE=VALUE")
    return [(name.strip(), value.strip()) for name, _, value in pairs]
