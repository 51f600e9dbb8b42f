"""Settings in other writings: as fields of a form and back, as a command line, and as lines of Python."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from plurivox.base.errors import InputError
from plurivox.base.settings import Settings
from plurivox.base.settings.record import Spec, plain
from plurivox.base.settings.shared import MIN_GROUP_SIZE
from plurivox.infer.lens import Lens
from plurivox.read.settings import ReadSettings
from plurivox.report.settings import ReportSettings
from plurivox.workbench.reading import (
    COLUMN,
    CROWD,
    FILE,
    POPULATION,
    ReadingSettings,
    held_against,
    keywords_of,
    source_of,
)
from plurivox.workbench.records import of_role, role_in

WORDS: dict[str, str] = tomllib.loads(
    (resources.files("plurivox.workbench") / "assets" / "labels.toml").read_text(encoding="utf-8")
)
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


NOT_SHOWN = frozenset(("n_lenses", "ids", "title", "several"))
"""Settings that forms leave out: they follow from the study, or would show rater ids."""


def fields_of(record: Settings, known: Known) -> list[Field]:
    """Return the fields of a form with the values of a record."""
    specs = record.specs()
    return [_field(spec, getattr(record, name), known) for name, spec in specs.items() if name not in NOT_SHOWN]


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


def read_form(settings: type[Settings], given: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the settings in a form or an address; empty fields have their defaults.

    Raises
    ------
    InputError
        If the setting cannot have a value.
    """
    found: dict[str, Any] = {}
    for name, spec in settings.specs().items():
        if name in NOT_SHOWN:
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


# Commands -------------------------------------------------------------------------------------------------------------
#
# What a person would type to get the same result: a command line and lines of Python, from the settings used.


_PLACED = ("predictions", "answers")
"""The second arguments of lenses."""


def options_of(settings: Settings, leave: Sequence[str] = ()) -> list[str]:
    """Return the options that differ from a command's defaults."""
    found: list[str] = []
    for name, spec in settings.specs().items():
        value = getattr(settings, name)
        if name not in leave and spec.cli and value != usual(spec):
            found += _option(spec, value)
    return found


def usual(spec: Spec) -> Any:
    """Return the default of a setting, in the form in which records hold it."""
    return None if spec.required else spec.checked(spec.default)


def _option(spec: Spec, value: Any) -> Iterator[str]:
    """Yield how a value is written: the inverse of what the command line reads."""
    option = str(spec.option)
    if spec.flags is not None:
        yield from (f"--{flag}" for flag in spec.flags if flag == value)
    elif spec.flag:
        yield option
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from (option, f"{name}={text_of_value(part)}")
    elif spec.repeated:
        for part in value:
            yield from (option, "=".join(part) if isinstance(part, tuple) else text_of_value(part))
    else:
        yield from (option, text_of_value(value))


def text_of_value(value: Any) -> str:
    """Return a value as written on the command line."""
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        return ",".join(f"{name}={text_of_value(part)}" for name, part in value.items())
    if isinstance(value, tuple):
        return ",".join(map(text_of_value, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def reading_options(reading: ReadingSettings, files: Mapping[str, str]) -> list[str]:
    """Return the options that tell every command how to read the files."""
    found = []
    for role in ("raters", "items"):
        found += [f"--{role}", files[role]] if role in files else []
    found += ["--weights", files[POPULATION]] if POPULATION in files else []
    own = [name for name in reading.specs() if name not in ReadSettings.specs()]
    found += options_of(reading, (*own, "where", *(() if POPULATION in files else ("trim",))))
    for _, name, value in reading.where:
        found += ["--where", f"{name}={value}"]
    return found


def _asking(settings: Settings) -> list[str]:
    """Return the options that every command has for its groups."""
    found = []
    for axis in getattr(settings, "by", ()):
        found += ["--by", ",".join(axis)]
    for name, between in getattr(settings, "several", {}).items():
        found += ["--several", f"{name}={between}"]
    size = getattr(settings, "min_group_size", MIN_GROUP_SIZE)
    return found + (["--min-group-size", str(size)] if size != MIN_GROUP_SIZE else [])


def reference_options(reading: ReadingSettings, files: Mapping[str, str]) -> list[str]:
    """Return the options that say what scores are compared with."""
    wanted = held_against(reading, files)
    if wanted == CROWD:
        return []
    found = ["--reference", files["reference"] if wanted == FILE and "reference" in files else wanted]
    if wanted == COLUMN:
        found = ["--reference-column", str(reading.reference_column)]
    if wanted in (FILE, COLUMN) and reading.reference_scale:
        found += ["--reference-scale", reading.reference_scale]
    return found


def report_command(reading: ReadingSettings, asked: ReportSettings, files: Mapping[str, str]) -> str:
    """Return the command that makes the report."""
    line = ["plurivox", "report", source_of(reading, files), *reading_options(_unsaid(reading, asked), files)]
    line += [*_asking(asked), *reference_options(reading, files)]
    for role in _PLACED:
        for file in of_role(role, files):
            line += [f"--{role}", file]
    return shlex.join([*line, *options_of(asked, ("n_lenses",)), "-o", "report.html"])


def lens_command(
    lens: Lens, reading: ReadingSettings, asked: Settings, files: Mapping[str, str], given: Mapping[str, str]
) -> str:
    """Return the command that runs one lens; ``given`` holds its inputs other than files, such as an item."""
    line = ["plurivox", lens.command, source_of(reading, files)]
    for source in lens.inputs:
        first = source.options[0]
        if first.argument:
            known = [given[source.name]] if given.get(source.name) else of_role(source.name, files)
            line += known or [f"{source.name}.csv"]
    line += [*reading_options(_unsaid(reading, asked), files), *_asking(asked)]
    if any(source.name == "reference" for source in lens.inputs):
        line += reference_options(reading, files)
    return shlex.join([*line, *options_of(asked)])


def _unsaid(reading: ReadingSettings, asked: Settings) -> ReadingSettings:
    """Return the reading without what the question itself says."""
    return reading.replace(several={}) if getattr(asked, "several", None) else reading


def python_lines(
    reading: ReadingSettings, asked: Settings, files: Mapping[str, str], function: str, given: Mapping[str, str],
    before: Collection[str] = (), raked: Sequence[str] = (),
) -> str:  # fmt: skip
    """Return lines of Python that do the same.

    ``before`` holds the inputs on the points before recoding, ``raked`` the attributes of the population.
    """
    lines = ["import plurivox as pv", ""]
    own = keywords_of(reading, files, raked)
    lines.append(_call("ratings = pv.read_ratings", [repr(source_of(reading, files))], own))
    lines[-1] += ".in_memory()" if reading.in_memory else ""
    recoded = _recoded(reading)
    if recoded:
        poles = f".with_poles({reading.poles!r})" if reading.poles else ""
        lines += ["points = ratings.scale", f"ratings = ratings{recoded}{poles}"]
    lines += [f"ratings = ratings.with_bins({name!r}, {plain(edges)!r})" for name, edges in reading.bins.items()]
    if reading.where:
        lines.append(_call("ratings = ratings.where", [], reading.kept()))
    lines += _weighted(reading, files)
    own = {name: plain(getattr(asked, name)) for name, spec in asked.specs().items()
           if getattr(asked, name) != usual(spec) and name != "n_lenses"}  # fmt: skip
    if "by" in own:
        own["by"] = [one[0] if len(one) == 1 else tuple(one) for one in own["by"]]
    lines += _inputs(reading, files, given, own, before)
    if function == "write_report":
        lines.append(_call("pv.write_report", ["'report.html'", "ratings"], own))
    else:
        item = [repr(value) for name, value in given.items() if name == "item"]
        lines += [_call(f"found = pv.{function}", ["ratings", *item], own), "print(found.findings())"]
    return "\n".join(lines)


def _weighted(reading: ReadingSettings, files: Mapping[str, str]) -> list[str]:
    """Return the lines that weight raters to the population, if there is one."""
    if POPULATION not in files:
        return []
    file, lines = repr(files[POPULATION]), []
    if reading.encoding != ReadSettings().encoding:
        lines = ["from plurivox.read.population import read_population"]
        file = f"read_population({file}, encoding={reading.encoding!r})"
    return [*lines, _call("ratings = ratings.weighted", [file], reading.weighting())]


def _inputs(
    reading: ReadingSettings, files: Mapping[str, str], given: Mapping[str, str], own: dict[str, Any],
    before: Collection[str],
) -> list[str]:  # fmt: skip
    """Return lines that read the other inputs, and name them in the call."""
    lines = []
    wanted = held_against(reading, files)
    if "reference" in given and (wanted == COLUMN or (wanted == FILE and "reference" in files)):
        file = None if wanted == COLUMN else files["reference"]
        same, recoded = reading.reference_scale == "same", _recoded(reading)
        scale = ("points" if recoded else "ratings.scale") if same else repr(reading.reference_scale)
        what = f"ratings.gold({reading.reference_column!r}, {scale})"
        if file is not None:
            what = f"pv.read_ratings({file!r}, scale={scale})"
        lines += [f"reference = {what}{recoded if same else ''}"]
        own["reference"] = _Name("reference")
    elif "reference" in given and wanted != CROWD:
        own["reference"] = wanted
    for role in _PLACED:
        if role in given and role in files:
            lines.append(f"{role} = {_read_beside(role, reading, files, before)}")
            own[role] = _Name(role)
    return lines


def _read_beside(role: str, reading: ReadingSettings, files: Mapping[str, str], before: Collection[str]) -> str:
    """Return code that reads predictions or answers; those on the points before are recoded like the ratings."""
    places = [place for place in files if role_in(place) == role]
    described = role == "answers" and "items" in files  # including items that nobody rated
    more = f", like=ratings, items={files['items']!r}" if described else ""
    if not any(place in before for place in places):
        named = [files[place] for place in places]
        return f"pv.read_{role}({(named if len(named) > 1 else named[0])!r}, ratings.scale{more})"
    each = [
        f"pv.read_{role}({files[place]!r}, points{more}){_recoded(reading)}" if place in before
        else f"pv.read_{role}({files[place]!r}, ratings.scale{more})" for place in places
    ]  # fmt: skip
    return each[0] if len(each) == 1 else f"pv.Predictions.together([{', '.join(each)}])"


def _recoded(reading: ReadingSettings) -> str:
    """Return the call that makes other points, empty if there is none."""
    if reading.recode:
        return f".recode({reading.recode!r})"
    return f".recode(unsafe_from={reading.unsafe_from!r})" if reading.unsafe_from else ""


class _Name(str):
    """A Python name, written as it is."""

    def __repr__(self) -> str:
        return str(self)


def _call(what: str, places: Sequence[str], keywords: Mapping[str, Any]) -> str:
    given = [*places, *(f"{name}={value!r}" for name, value in keywords.items())]
    line = f"{what}({', '.join(given)})"
    return line if len(line) <= 100 else f"{what}(\n    " + ",\n    ".join(given) + ",\n)"
