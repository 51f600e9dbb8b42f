"""``plurivox.toml``: a study's columns, scale and groups and how it is analysed, kept next to its data."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plurivox.base.arguments import fits, shown
from plurivox.base.errors import ConfigError, InputError
from plurivox.base.settings.record import plain, without_removed
from plurivox.domain.choices import UNKNOWN
from plurivox.domain.points import BY_RATER
from plurivox.domain.scale import Scale
from plurivox.domain.scale_files import KEYS, Kinds, check_key, poles_of, read_toml, scale_of
from plurivox.domain.scale_files import load_question as load_question
from plurivox.domain.scale_files import load_scale as load_scale
from plurivox.lenses import lenses
from plurivox.read.opening import split_name
from plurivox.read.settings import ReadSettings

if TYPE_CHECKING:
    from plurivox.base.settings import Settings, Spec
    from plurivox.domain.check import Intake
    from plurivox.domain.ratings import Ratings
    from plurivox.domain.recoding import Recoding
    from plurivox.infer.lens import Lens


FILE_NAME = "plurivox.toml"


def _places(settings: type[ReadSettings]) -> dict[str, dict[str, tuple[str, Any]]]:
    """Return what each section may hold, by key: the name of the setting, and the types of its value."""
    found: dict[str, dict[str, tuple[str, Any]]] = {"": {}, "columns": {}, "scale": {}, "raters": {}, "items": {}}
    for name, spec in settings.specs().items():
        if spec.toml is not None:
            found[spec.toml.section][spec.toml.key] = (name, spec.toml.kinds)
    return found


def _kinds_of(settings: type[ReadSettings]) -> dict[str, Kinds]:
    """Return the types of values in each section by key; ``[scale]`` also holds what a file of a scale does."""
    found = {section: {key: kinds for key, (_, kinds) in keys.items()} for section, keys in _places(settings).items()}
    return {**found, "scale": {**KEYS, **found["scale"]}}


_KNOWN = _kinds_of(ReadSettings)


@dataclass(frozen=True, slots=True)
class Config:
    """The content of a ``plurivox.toml``.

    Attributes
    ----------
    said
        What it says about reading, by the name of the setting.
    path
        Where it is.
    lenses
        The checked settings of each lens by name.
    """

    said: Mapping[str, Any] = field(default_factory=dict)
    path: str | None = None
    lenses: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def reading(self) -> ReadSettings:
        """How it says that ratings are read."""
        return ReadSettings(**self.said)

    def settings_for(self, lens: Lens, **given: Any) -> Settings:
        """Return the settings of a lens: as given, otherwise from its section here, otherwise its defaults."""
        return lens.settings.from_dict({**self.lenses.get(lens.name, {}), **given})


def find_config(source: str | os.PathLike[str]) -> Path | None:
    """Return the ``plurivox.toml`` next to a file, in or next to a folder, or in the working directory for ``-``."""
    file = Path(split_name(source)[0])
    folders = [Path()] if os.fspath(source) == "-" else [file, file.parent] if os.path.isdir(file) else [file.parent]
    return next((path for path in (folder / FILE_NAME for folder in folders) if path.is_file()), None)


def load_config(path: str | os.PathLike[str], settings: type[ReadSettings] = ReadSettings) -> Config:
    """Read a ``plurivox.toml``; file names in it are relative to it.

    Raises
    ------
    ConfigError
        If it is not TOML, or has a key or a value that plurivox does not know.
    """
    name = os.fspath(path)
    data = read_toml(name)
    found = _of_lenses(data, name)
    _check(data, name, _kinds_of(settings))
    specs, scale = settings.specs(), data.get("scale", {})
    said: dict[str, Any] = {}
    for section, keys in _places(settings).items():
        values = data.get(section, {}) if section else data
        said |= {keys[key][0]: _value(specs[keys[key][0]], value, name) for key, value in values.items() if key in keys}
    if "labels" in scale:
        said["scale"] = scale_of(scale, name)
    if "missing" in scale:
        said["missing"] = tuple(map(str, scale["missing"]))
    if (poles := poles_of(scale, name)) is not None:
        said["poles"] = poles
    return Config(said, name, found)


def _value(spec: Spec, value: Any, name: str) -> Any:
    """Return the value of a setting as a record holds it."""
    assert spec.toml is not None
    if spec.name == "bins":
        _check_bins(value, name)
    if spec.name == "several":
        for attribute, separator in value.items():
            if not isinstance(separator, str) or not separator:
                raise ConfigError(
                    f"what separates the values of '{attribute}' is {shown(separator)}", source=name,
                    hint=f'Write it as {attribute} = ";".',
                )  # fmt: skip
    if spec.metavar == "FILE":
        return str(Path(name).parent / value)
    try:
        return spec.checked(value)
    except InputError as error:
        where = f"'[{spec.toml.section}] {spec.toml.key}' is {shown(value)}" if spec.toml.section else error.problem
        raise ConfigError(where, source=name, hint=error.hint) from None


def config_text(
    ratings: Ratings, reading: ReadSettings | None = None, *, recoding: Recoding | None = None
) -> str:  # fmt: skip
    """Return a commented ``plurivox.toml`` that says what was recognised in ``ratings``, and how they were read."""
    reading = reading or ReadSettings()
    bins = [f"{_key(name)} = {_bins_text(one)}" for name, one in reading.bins.items()]
    several = [f"{_key(name)} = {_quoted(between)}" for name, between in reading.several.items()]
    sections = {
        "columns": _column_lines(ratings.intake, reading.encoding),
        "scale": _scale_lines(ratings.scale, recoding, inferred=ratings.intake.scale_inferred),
        "raters": _rater_lines(reading, ratings.raters.columns[1:]),
        "raters.bins": bins or ["# age = [18, 30, 50]  # groups numbers into 18–29, 30–49 and 50+"],
        "raters.several": several or ['# race = ";"  # a rater may have several values, with this separator'],
        "items": [
            f"file = {_quoted(reading.items)}" if reading.items else '# file = "items.csv"  # one row per item',
            _columns_line(reading.item_attributes, "columns of the ratings themselves that describe items"),
        ],
    }
    for section, lines in sections.items():
        lines += _others(reading, section, lines)
    return "\n".join([
        "# How to read the ratings in this folder. Every plurivox command run on a file here follows it;",
        "# options on the command line override it.",
        "",
        "# Groups with fewer raters are withheld from every result.",
        f"min_group_size = {reading.min_group_size}",
        "",
        *(line for section, lines in sections.items() for line in (f"[{section}]", *lines, "")),
    ])  # fmt: skip


def _others(reading: ReadSettings, section: str, lines: Sequence[str]) -> list[str]:
    """Return lines for the settings of a section that were given but are not written yet, in any form."""
    specs = reading.specs()
    written = {line.partition(" ")[0] for line in lines}
    found = []
    for name, spec in specs.items():
        value = getattr(reading, name)
        if spec.toml is None or spec.toml.section != section or spec.toml.kinds is dict or value == spec.default:
            continue
        if written.isdisjoint((spec.toml.key, *spec.replaces)):
            found.append(f"{spec.toml.key} = {json.dumps(plain(value), ensure_ascii=False)}")
    return found


def _columns_line(names: Sequence[str], what: str) -> str:
    return f"{'' if names else '# '}columns = {json.dumps(list(names), ensure_ascii=False)}  # {what}"


def _column_lines(intake: Intake, encoding: str) -> list[str]:
    lines = []
    if intake.layout in ("long", "survey"):
        known = [role for role in ("item", "rater", "score", "time") if role in intake.columns]
        if intake.point_columns:
            known = [role for role in known if role != "score" and intake.columns[role] != BY_RATER]
        lines += [f"{role} = {_quoted(intake.columns[role])}" for role in known]
    else:
        lines += [f"item = {_quoted(intake.columns['item'])}", f"layout = {_quoted(intake.layout)}"]
    if intake.point_columns:
        lines.append(f"point_columns = {_quoted(intake.point_columns)}")
    said = [f"{name} = {_quoted(value)}" for name, value in intake.said.items()]  # how a file was recognised
    if intake.layout == "survey" and "questions" not in intake.said:
        said.append('# questions = "Q1:Q20"  # which columns are questions, if not those recognised')
    return [
        *lines,
        *([f"format = {_quoted(intake.platform)}", *said] if intake.platform else []),
        *([f"encoding = {_quoted(encoding)}"] if encoding != "utf-8" else []),
        f"duplicates = {_quoted(intake.duplicates)}  # or first, last, mode, keep: which repeated rating counts",
    ]


def _scale_lines(scale: Scale, recoding: Recoding | None, *, inferred: bool) -> list[str]:
    recode = '# recode = "0-2=no,3-4=yes"'
    if recoding is not None:
        scale = recoding.old.with_poles(recoding.old.poles or recoding.new.poles)
        recode = f"recode = {_quoted(recoding.rule)}"
    ends = ['# low = "safe"  # what the two ends mean, for sentences', '# high = "unsafe"']
    if scale.poles is not None:
        ends = [f"low = {_quoted(scale.poles[0])}  # what the two ends mean", f"high = {_quoted(scale.poles[1])}"]
    return [
        "# The points from lowest to highest, including those nobody used.",
        *(["# These were inferred from the scores: check that no end point is missing."] if inferred else []),
        f"labels = {json.dumps(scale.name or list(scale.labels), ensure_ascii=False)}",
        f"# values = {json.dumps(list(scale.values))}  # numbers for the points, if steps are unequal",
        f"missing = {json.dumps(list(scale.missing), ensure_ascii=False)}"
        "  # answers that mean no rating, in addition to blank, NA, NaN and null",
        *ends,
        f"{recode}  # combines these points",
    ]


def _rater_lines(reading: ReadSettings, attributes: Sequence[str]) -> list[str]:
    """Return the lines about raters; without groups of their own, every attribute is one."""
    by = [one[0] if len(one) == 1 else list(one) for one in reading.by] or list(attributes)
    words = json.dumps(list(reading.unknown), ensure_ascii=False)
    unknown = f"unknown = {words}  # words that mean an attribute is unknown"
    return [
        f"file = {_quoted(reading.raters)}"
        if reading.raters
        else '# file = "raters.csv"  # one row per rater, with the id as above',
        _columns_line(
            reading.rater_attributes,
            "columns of the ratings themselves that describe raters, in addition to those in by",
        ),
        f'by = {json.dumps(by, ensure_ascii=False)}  # what to analyse; a crossing is a list: ["race", "gender"]',
        f"conflicts = {_quoted(reading.conflicts)}  # or first, error: if a rater has conflicting values",
        unknown if reading.unknown != UNKNOWN else f"# {unknown}",
        *([f"weights = {_quoted(reading.weights)}  # shares of the population"] if reading.weights else []),
        *([f"trim = {reading.trim:g}  # the largest weight, as a multiple of the mean"] if reading.trim else []),
    ]


def _bins_text(bins: Sequence[float] | Mapping[str, Any]) -> str:
    if isinstance(bins, Mapping):
        return f"{{ edges = {_bins_text(bins['edges'])}, labels = {json.dumps(bins['labels'], ensure_ascii=False)} }}"
    return f"[{', '.join(f'{edge:g}' for edge in bins)}]"


def _key(name: str) -> str:
    """Return a key as TOML expects it, in quotation marks unless it is plain."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _of_lenses(data: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    """Remove the sections of lenses from the data, and return their settings by the name of the lens."""
    found = {}
    for lens in lenses():
        section = data.get(lens.toml)
        if lens.toml in _KNOWN or not isinstance(section, dict):
            continue
        del data[lens.toml]
        known, section = lens.settings.specs(), without_removed(section)
        found[lens.name] = dict(section)
        for key, value in section.items():
            shown = f"[{lens.toml}] {key}"
            if key not in known:
                raise ConfigError(f"'{shown}' is not a setting", source=name, hint=f"Known here: {', '.join(known)}.")
            try:
                found[lens.name][key] = known[key].checked(value)
            except InputError as error:
                raise ConfigError(f"'{shown}': {error.problem}", source=name, hint=error.hint) from None
    return found


def _check(data: Mapping[str, Any], name: str, known: Mapping[str, Kinds]) -> None:
    for key, value in data.items():
        if key and key in known and isinstance(value, dict):
            for inner, content in value.items():
                check_key(inner, content, known[key], f"[{key}] {inner}", name)
            continue
        named = [*filter(None, known), *(lens.toml for lens in lenses() if lens.toml not in known)]
        if key in named:
            raise ConfigError(f"'{key}' is {shown(value)}", source=name, hint=f"Write it as a table: [{key}].")
        hint = f"Known: {', '.join([*(f'[{section}]' for section in named), *known['']])}."
        check_key(key, value, known[""], key, name, hint)


def _check_bins(given: Mapping[str, Any], name: str) -> None:
    for attribute, bins in given.items():
        edges, labels = (bins.get("edges"), bins.get("labels")) if isinstance(bins, dict) else (bins, None)
        known = isinstance(edges, list) and edges and fits(edges, list[float]) and fits(labels, list[str] | None)
        if not known:
            raise ConfigError(
                f"the bins of '{attribute}' are {shown(bins)}", source=name,
                hint=f"Write where each starts: {attribute} = [18, 30, 50], or {{ edges = [18, 30], labels = […] }}.",
            )  # fmt: skip


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
