"""``plurivox.toml``: a study's columns, scale and groups and how it is analysed, kept next to its data."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plurivox.base.arguments import fits, shown, whole
from plurivox.base.errors import ConfigError, InputError
from plurivox.base.settings.record import without_removed
from plurivox.base.settings.shared import MIN_GROUP_SIZE
from plurivox.domain.attributes import CONFLICTS, UNKNOWN
from plurivox.domain.points import BY_RATER
from plurivox.domain.scale import Scale
from plurivox.domain.scale_files import KEYS, Kinds, check_key, poles_of, read_toml, scale_of
from plurivox.domain.scale_files import load_question as load_question
from plurivox.domain.scale_files import load_scale as load_scale
from plurivox.lenses import lenses
from plurivox.read.opening import split_name

if TYPE_CHECKING:
    from plurivox.base.settings import Settings
    from plurivox.domain.check import Intake
    from plurivox.domain.ratings import Ratings
    from plurivox.domain.recoding import Recoding
    from plurivox.infer.lens import Lens

FILE_NAME = "plurivox.toml"
_KNOWN: dict[str, Kinds] = {
    "": {"min_group_size": int},
    "columns": dict.fromkeys(
        (
            "item",
            "rater",
            "score",
            "point_columns",
            "layout",
            "duplicates",
            "time",
            "encoding",
            "questions",
            "rejected",
            "unfinished",
            "format",
        ),
        str,
    ),
    "scale": {**KEYS, "recode": str, "unsafe_from": (str, int, float)},
    "raters": {
        "file": str, "columns": list, "by": list, "bins": dict, "several": dict, "conflicts": str, "unknown": list,
        "weights": str, "trim": (int, float),
    },
    "items": {"file": str, "columns": list},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bins:
    """Where the intervals of a numeric attribute start, and their names, if any."""

    edges: tuple[float, ...]
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """The content of a ``plurivox.toml``; what it does not set is None or empty.

    ``lenses`` holds the checked settings of each lens by name.
    """

    item: str | None = None
    rater: str | None = None
    score: str | None = None
    point_columns: str | None = None
    layout: str | None = None
    duplicates: str | None = None
    time: str | None = None
    encoding: str | None = None
    questions: str | None = None
    rejected: str | None = None
    unfinished: str | None = None
    format: str | None = None
    scale: Scale | None = None
    missing: tuple[str, ...] = ()
    poles: tuple[str, str] | None = None
    recode: str | None = None
    unsafe_from: str | int | float | None = None
    raters: str | None = None
    items: str | None = None
    rater_attributes: tuple[str, ...] = ()
    item_attributes: tuple[str, ...] = ()
    by: tuple[tuple[str, ...], ...] = ()
    bins: Mapping[str, Bins] = field(default_factory=dict)
    several: Mapping[str, str] = field(default_factory=dict)
    conflicts: str | None = None
    unknown: tuple[str, ...] | None = None
    weights: str | None = None
    trim: float | None = None
    min_group_size: int | None = None
    path: str | None = None
    lenses: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def settings_for(self, lens: Lens, **given: Any) -> Settings:
        """Return the settings of a lens: as given, otherwise from its section here, otherwise its defaults."""
        return lens.settings.from_dict({**self.lenses.get(lens.name, {}), **given})


def find_config(source: str | os.PathLike[str]) -> Path | None:
    """Return the ``plurivox.toml`` next to a file, in or next to a folder, or in the working directory for ``-``."""
    file = Path(split_name(source)[0])
    folders = [Path()] if os.fspath(source) == "-" else [file, file.parent] if os.path.isdir(file) else [file.parent]
    return next((path for path in (folder / FILE_NAME for folder in folders) if path.is_file()), None)


def load_config(path: str | os.PathLike[str]) -> Config:
    """Read a ``plurivox.toml``; file names in it are relative to it.

    Raises
    ------
    ConfigError
        If it is not TOML, or has a key or a value that plurivox does not know.
    """
    name = os.fspath(path)
    data = read_toml(name)
    found = _of_lenses(data, name)
    _check(data, name)
    columns, scale = data.get("columns", {}), data.get("scale", {})
    raters, items = data.get("raters", {}), data.get("items", {})
    folder = Path(path).parent
    return Config(
        item=columns.get("item"),
        rater=columns.get("rater"),
        score=columns.get("score"),
        point_columns=columns.get("point_columns"),
        layout=columns.get("layout"),
        duplicates=columns.get("duplicates"),
        time=columns.get("time"),
        encoding=columns.get("encoding"),
        questions=columns.get("questions"),
        rejected=columns.get("rejected"),
        unfinished=columns.get("unfinished"),
        format=columns.get("format"),
        scale=scale_of(scale, name) if "labels" in scale else None,
        missing=tuple(str(token) for token in scale.get("missing", ())),
        poles=poles_of(scale, name),
        recode=scale.get("recode"),
        unsafe_from=scale.get("unsafe_from"),
        raters=str(folder / raters["file"]) if "file" in raters else None,
        items=str(folder / items["file"]) if "file" in items else None,
        rater_attributes=tuple(map(str, raters.get("columns", ()))),
        item_attributes=tuple(map(str, items.get("columns", ()))),
        by=tuple((one,) if isinstance(one, str) else tuple(map(str, one)) for one in raters.get("by", ())),
        bins={attribute: _bins(attribute, given, name) for attribute, given in raters.get("bins", {}).items()},
        several=_several(raters.get("several", {}), name),
        conflicts=_rule(raters.get("conflicts"), name),
        unknown=tuple(raters["unknown"]) if "unknown" in raters else None,
        weights=str(folder / raters["weights"]) if "weights" in raters else None,
        trim=_trim(raters.get("trim"), name),
        min_group_size=data.get("min_group_size"),
        path=name,
        lenses=found,
    )


@dataclass(frozen=True, slots=True)
class Groups:
    """What a config says about groups of raters; ``by`` is None for every attribute."""

    by: Sequence[tuple[str, ...]] | None = None
    bins: Mapping[str, Bins] = field(default_factory=dict)
    several: Mapping[str, str] = field(default_factory=dict)
    conflicts: str = "missing"
    unknown: Sequence[str] = UNKNOWN
    columns: Sequence[str] = ()
    min_group_size: int = MIN_GROUP_SIZE
    weights: str | None = None
    trim: float | None = None

    def lines(self, attributes: Sequence[str], file: str | None) -> list[str]:
        """Return the section of raters."""
        by = [one[0] if len(one) == 1 else list(one) for one in self.by] if self.by else list(attributes)
        unknown = (
            f"unknown = {json.dumps(list(self.unknown), ensure_ascii=False)}  # words that mean an attribute is unknown"
        )
        bins = [f"{_key(name)} = {_bins_text(one)}" for name, one in self.bins.items()]
        several = [f"{_key(name)} = {_quoted(between)}" for name, between in self.several.items()]
        return [
            "[raters]",
            f"file = {_quoted(file)}" if file else '# file = "raters.csv"  # one row per rater, with the id as above',
            _columns_line(
                self.columns, "columns of the ratings themselves that describe raters, in addition to those in by"
            ),
            f'by = {json.dumps(by, ensure_ascii=False)}  # what to analyse; a crossing is a list: ["race", "gender"]',
            f"conflicts = {_quoted(self.conflicts)}  # or first, error: if a rater has conflicting values",
            unknown if tuple(self.unknown) != UNKNOWN else f"# {unknown}",
            *([f"weights = {_quoted(self.weights)}  # shares of the population"] if self.weights else []),
            *([f"trim = {self.trim:g}  # the largest weight, as a multiple of the mean"] if self.trim else []),
            "",
            "[raters.bins]",
            *(bins or ["# age = [18, 30, 50]  # groups numbers into 18–29, 30–49 and 50+"]),
            "",
            "[raters.several]",
            *(several or ['# race = ";"  # a rater may have several values, with this separator']),
            "",
        ]


def config_text(
    ratings: Ratings,
    *,
    raters: str | None = None,
    items: str | None = None,
    recoding: Recoding | None = None,
    groups: Groups | None = None,
    item_columns: Sequence[str] = (),
    encoding: str | None = None,
) -> str:
    """Return a commented ``plurivox.toml`` that says what was recognised in ``ratings``, and how they were recoded."""
    groups = groups or Groups()
    scale = ratings.scale if recoding is None else recoding.old.with_poles(recoding.old.poles or recoding.new.poles)
    lines = [
        "# How to read the ratings in this folder. Every plurivox command run on a file here follows it;",
        "# options on the command line override it.",
        "",
        "# Groups with fewer raters are withheld from every result.",
        f"min_group_size = {groups.min_group_size}",
        "",
        *_column_lines(ratings.intake, encoding),
        *_scale_lines(scale, recoding, inferred=ratings.intake.scale_inferred),
        *groups.lines(ratings.raters.columns[1:], raters),
        "[items]",
        f"file = {_quoted(items)}" if items else '# file = "items.csv"  # one row per item',
        _columns_line(item_columns, "columns of the ratings themselves that describe items"),
        "",
    ]
    return "\n".join(lines)


def _columns_line(names: Sequence[str], what: str) -> str:
    return f"{'' if names else '# '}columns = {json.dumps(list(names), ensure_ascii=False)}  # {what}"


def _column_lines(intake: Intake, encoding: str | None) -> list[str]:
    lines = ["[columns]"]
    if intake.layout in ("long", "survey"):
        known = [role for role in ("item", "rater", "score", "time") if role in intake.columns]
        if intake.point_columns:
            known = [role for role in known if role != "score" and intake.columns[role] != BY_RATER]
        lines += [f"{role} = {_quoted(intake.columns[role])}" for role in known]
    else:
        lines += [f"item = {_quoted(intake.columns['item'])}", f"layout = {_quoted(intake.layout)}"]
    if intake.point_columns:
        lines.append(f"point_columns = {_quoted(intake.point_columns)}")
    return [
        *lines,
        *_of_export(intake),
        *([f"encoding = {_quoted(encoding)}"] if encoding else []),
        f"duplicates = {_quoted(intake.duplicates)}  # or first, last, mode, keep: which repeated rating counts",
        "",
    ]


def _scale_lines(scale: Scale, recoding: Recoding | None, *, inferred: bool) -> list[str]:
    labels = scale.name or list(scale.labels)
    return [
        "[scale]",
        "# The points from lowest to highest, including those nobody used.",
        *(["# These were inferred from the scores: check that no end point is missing."] if inferred else []),
        f"labels = {json.dumps(labels, ensure_ascii=False)}",
        f"# values = {json.dumps(list(scale.values))}  # numbers for the points, if steps are unequal",
        f"missing = {json.dumps(list(scale.missing), ensure_ascii=False)}"
        "  # answers that mean no rating, in addition to blank, NA, NaN and null",
        *_ends(scale),
        '# recode = "0-2=no,3-4=yes"  # combines these points'
        if recoding is None
        else f"recode = {_quoted(recoding.rule)}  # combines these points",
        "",
    ]


def _bins_text(bins: Bins) -> str:
    edges = f"[{', '.join(f'{edge:g}' for edge in bins.edges)}]"
    if bins.labels is None:
        return edges
    return f"{{ edges = {edges}, labels = {json.dumps(list(bins.labels), ensure_ascii=False)} }}"


def _key(name: str) -> str:
    """Return a key as TOML expects it, in quotation marks unless it is plain."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _of_export(intake: Intake) -> list[str]:
    """Return the lines that say how a file was recognised, and what was given about it."""
    if not intake.platform:
        return []
    said = [f"{name} = {_quoted(value)}" for name, value in intake.said.items()]
    if intake.layout == "survey" and "questions" not in intake.said:
        said.append('# questions = "Q1:Q20"  # which columns are questions, if not those recognised')
    return [f"format = {_quoted(intake.platform)}", *said]


def _ends(scale: Scale) -> list[str]:
    """Return the lines that name the two ends of the scale, or that show how."""
    if scale.poles is None:
        return ['# low = "safe"  # what the two ends mean, for sentences', '# high = "unsafe"']
    return [f"low = {_quoted(scale.poles[0])}  # what the two ends mean", f"high = {_quoted(scale.poles[1])}"]


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


def _check(data: Mapping[str, Any], name: str) -> None:
    for key, value in data.items():
        if key in _KNOWN and isinstance(value, dict):
            for inner, content in value.items():
                check_key(inner, content, _KNOWN[key], f"[{key}] {inner}", name)
        else:
            _check_top(key, value, name)


def _check_top(key: str, value: object, name: str) -> None:
    named = [*filter(None, _KNOWN), *(lens.toml for lens in lenses() if lens.toml not in _KNOWN)]
    if key in named:
        raise ConfigError(f"'{key}' is {shown(value)}", source=name, hint=f"Write it as a table: [{key}].")
    hint = f"Known: {', '.join(f'[{section}]' for section in named)}, min_group_size."
    check_key(key, value, _KNOWN[""], key, name, hint)
    try:
        whole(key, value, 1)
    except InputError as error:
        raise ConfigError(error.problem, source=name, hint=error.hint) from None


def _bins(attribute: str, given: object, name: str) -> Bins:
    labels = None
    edges = given
    if isinstance(given, dict):
        edges, labels = given.get("edges"), given.get("labels")
    if not isinstance(edges, list) or not edges or not fits(edges, list[float]) or not fits(labels, list[str] | None):
        raise ConfigError(
            f"the bins of '{attribute}' are {shown(given)}",
            source=name,
            hint=f"Write where each starts: {attribute} = [18, 30, 50], or {{ edges = [18, 30], labels = […] }}.",
        )
    return Bins(tuple(edges), None if labels is None else tuple(map(str, labels)))


def _rule(given: str | None, name: str) -> str | None:
    """Return which value counts if there are several."""
    if given is None or given in CONFLICTS:
        return given
    raise ConfigError(
        f"'[raters] conflicts' is {shown(given)}", source=name, hint=f"Choose one of {', '.join(CONFLICTS)}."
    )


def _trim(given: float | None, name: str) -> float | None:
    """Return the largest weight."""
    if given is None or given >= 1:
        return given
    raise ConfigError(f"'[raters] trim' is {shown(given)}", source=name, hint="Give a number of at least 1.")


def _several(given: Mapping[str, object], name: str) -> dict[str, str]:
    for attribute, separator in given.items():
        if not isinstance(separator, str) or not separator:
            raise ConfigError(
                f"what separates the values of '{attribute}' is {shown(separator)}", source=name,
                hint=f'Write it as {attribute} = ";".',
            )  # fmt: skip
    return {attribute: str(separator) for attribute, separator in given.items()}


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
