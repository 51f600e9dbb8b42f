"""What a person would type to get the same result: a command line and lines of Python, from the settings used."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

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
    leave = ("n_lenses",)
    return shlex.join([*line, *options_of(asked, leave), "-o", "report.html"])


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
        lines += [_call(f"found = pv.{function}", ["ratings", *given_arguments(given)], own), "print(found.findings())"]
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


def given_arguments(given: Mapping[str, str]) -> list[str]:
    """Return a function's positional arguments other than ratings."""
    return [repr(value) for name, value in given.items() if name == "item"]


def _inputs(
    reading: ReadingSettings, files: Mapping[str, str], given: Mapping[str, str], own: dict[str, Any],
    before: Collection[str],
) -> list[str]:  # fmt: skip
    """Return lines that read the other inputs, and name them in the call."""
    lines = []
    wanted = held_against(reading, files)
    if "reference" in given and (wanted == COLUMN or (wanted == FILE and "reference" in files)):
        lines += _reference_lines(reading, None if wanted == COLUMN else files["reference"])
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


def _reference_lines(reading: ReadingSettings, file: str | None) -> list[str]:
    """Return lines that read the reference from a file, or from a column of the items."""
    same, recoded = reading.reference_scale == "same", _recoded(reading)
    scale = ("points" if recoded else "ratings.scale") if same else repr(reading.reference_scale)
    what = f"ratings.gold({reading.reference_column!r}, {scale})"
    if file is not None:
        what = f"pv.read_ratings({file!r}, scale={scale})"
    return [f"reference = {what}{recoded if same else ''}"]


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
