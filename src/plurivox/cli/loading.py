"""From the options of a command, and the config behind them, to the ratings that it works on."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from plurivox.cli.options import CONTEXT, InputOptions, attribute_value, is_said
from plurivox.cli.printing import say

if TYPE_CHECKING:
    from plurivox.config import Config
    from plurivox.intake.raw import RawTable
    from plurivox.ratings import Ratings
    from plurivox.scale import Scale


@dataclass(frozen=True)
class Loaded:
    """The ratings a command works on, and what was said about the analysis in the config or on the command line."""

    ratings: "Ratings"  # None where a command does without; see load_nothing
    by: list[tuple[str, ...]] | None
    min_group_size: int
    several: dict[str, str]
    raters_file: str | None
    items_file: str | None
    config: "Config"
    scale: "Scale"

    def axes(self, *, needed: bool = True) -> list[tuple[str, ...]]:
        """Return the axes asked for, or every attribute of the raters; if one is needed, there must be one."""
        if self.by:
            return self.by
        attributes = self.ratings.raters.columns[1:]
        if needed and not attributes:
            raise typer.BadParameter("raters have no attributes to group them by; give them with --raters")
        return [(attribute,) for attribute in attributes]


def load(reading: InputOptions) -> Loaded:
    """Read the ratings as the command line and, behind it, the config say; tell what was taken for what."""
    from plurivox.axis import MIN_GROUP_SIZE
    from plurivox.config import Config, find_config, load_config

    path = reading.config or find_config(reading.file)
    config = Config() if path is None else load_config(path)
    ratings = _read(reading, config)
    for attribute, bins in config.bins.items():
        ratings = ratings.with_bins(attribute, bins.edges, bins.labels)
    if reading.where:
        ratings = _filtered(ratings, reading.where)
    _tell(ratings, config)
    by = [tuple(one.split(",")) for one in reading.by or ()] or list(config.by) or None
    size = reading.min_group_size or config.min_group_size or MIN_GROUP_SIZE
    several = dict(map(_pair, reading.several or ())) or dict(config.several)
    return Loaded(ratings, by, size, several, reading.raters or config.raters, reading.items or config.items, config,
                  ratings.scale)  # fmt: skip


def load_nothing(reading: InputOptions, beside: str) -> Loaded:
    """Return what is known without ratings: the scale, and the config beside another file."""
    from plurivox.axis import MIN_GROUP_SIZE
    from plurivox.config import Config, find_config, load_config

    path = reading.config or find_config(beside)
    config = Config() if path is None else load_config(path)
    scale = read_scale(reading.scale) or config.scale
    if scale is None:
        raise typer.BadParameter("without ratings the points are not known; give them with --scale")
    given = [name for name in ("raters", "rater", "score", "time", "where", "by") if getattr(reading, name)]
    if given:
        raise typer.BadParameter(f"--{given[0]} is about ratings, and no FILE is given")
    say(f"no ratings; scale {scale}")
    nothing: Any = None
    size, items = reading.min_group_size or MIN_GROUP_SIZE, reading.items or config.items
    return Loaded(nothing, None, size, {}, None, items, config, scale)


def load_questions(reading: InputOptions, rule: str | None) -> dict[str, Loaded]:
    """Read one table of ratings for each question of ``--score Q1,Q2``, and one that combines them by the rule."""
    from plurivox.questions import RULES, combine

    if reading.score is None or "," not in reading.score:
        if rule is not None:
            raise typer.BadParameter("--combine needs several questions: --score Q1,Q2")
        return {"all": load(reading)}
    if reading.file == "-":
        raise typer.BadParameter("several questions cannot be read from standard input; save it to a file first")
    names = [name.strip() for name in reading.score.split(",")]
    loaded = {name: load(replace(reading, score=name)) for name in names}
    if rule is not None:
        known = rule if rule in RULES else [label.strip() for label in rule.split(",")]
        ratings = combine({name: one.ratings for name, one in loaded.items()}, known)
        loaded["combined"] = replace(loaded[names[0]], ratings=ratings)
    return loaded


def load_reference(given: Mapping[str, Any], reading: InputOptions, ratings: "Ratings") -> Any:
    """Read the reference file, or a column of the items, or return a group or ``crowd`` as it is."""
    from plurivox.errors import ScaleError

    text, column, scale, where = (given[f"reference{part}"] for part in ("", "_column", "_scale", "_where"))
    if column is not None:
        return _gold(given, column, ratings)
    if text in ("crowd", "own group") or ("=" in text and not Path(text).exists()):
        if scale or where:
            raise typer.BadParameter("--reference-scale and --reference-where are about a reference file")
        return text
    points = ratings.scale if scale == "same" else read_scale(scale)
    try:
        found = read_beside(text, reading, points)
    except ScaleError as error:
        raise typer.BadParameter(str(error).replace("--scale", "--reference-scale")) from None
    intake = found.intake
    taken = ", ".join(f"{role} = {name}" for role, name in intake.columns.items())
    say(f"{intake.source}: reference, {taken}; scale {found.scale}")
    return found.where(raters=attribute_value(where, "--reference-where"))


def _gold(given: Mapping[str, Any], column: str, ratings: "Ratings") -> "Ratings":
    """Return what a column of the items says."""
    from plurivox.errors import ScaleError

    if is_said(given[CONTEXT], "reference"):
        raise typer.BadParameter("give either --reference or --reference-column")
    if given["reference_where"]:
        raise typer.BadParameter("--reference-where is about a reference file")
    scale = given["reference_scale"]
    try:
        found = ratings.gold(column, ratings.scale if scale == "same" else scale)
    except ScaleError as error:
        raise typer.BadParameter(str(error).replace("--scale", "--reference-scale")) from None
    say(f"{found.intake.source}: reference, {len(found):,} values; scale {found.scale}")
    return found


def read_beside(file: str, reading: InputOptions, scale: "Scale | None") -> "Ratings":
    """Read other ratings, whose columns have obvious names or those of the ratings."""
    from plurivox.errors import ColumnError
    from plurivox.intake.read import read_ratings

    try:
        return read_ratings(file, scale=scale)
    except ColumnError:
        return read_ratings(file, scale=scale, item=reading.item, rater=reading.rater, score=reading.score)


def read_items(
    file: str, item: str | None, like: str | None = None, encoding: str | None = None
) -> "tuple[str, RawTable]":
    """Read a table of items, and tell which column holds their ids: the one named, or one called so or alike."""
    from plurivox.intake.read import read_table
    from plurivox.intake.recognise import id_column
    from plurivox.ratings import require_columns

    table = read_table(file, encoding=encoding or "utf-8")
    if item is not None:
        require_columns(table.columns, [item], table.name)
    return item or id_column(table.columns, "item", like or "item", table.name), table


def _read(reading: InputOptions, config: "Config") -> "Ratings":
    from plurivox.intake.order import RULES
    from plurivox.intake.read import read_ratings

    formats = ("csv", "tsv", "jsonl", "parquet")
    scale = read_scale(reading.scale) or config.scale
    return read_ratings(
        reading.file,
        item=reading.item or config.item,
        rater=reading.rater or config.rater,
        score=reading.score or config.score,
        scale=scale,
        poles=reading.poles or (scale and scale.poles) or config.poles,
        missing=reading.missing or config.missing,
        duplicates=_one_of("--duplicates", reading.duplicates or config.duplicates or "error", RULES),
        time=reading.time or config.time,
        raters=reading.raters or config.raters,
        items=reading.items or config.items,
        rater_attributes=_names(reading.rater_attributes) or config.rater_attributes,
        item_attributes=_names(reading.item_attributes) or config.item_attributes,
        layout=_layout(reading, config),
        format=_one_of("--format", reading.format, formats) if reading.format else None,
        encoding=reading.encoding or config.encoding or "utf-8",
    )


def _tell(ratings: "Ratings", config: "Config") -> None:
    """Say on standard error what was taken for what."""
    intake = ratings.intake
    taken = ", ".join(f"{role} = {name}" for role, name in intake.columns.items())
    scale = f"{ratings.scale}{' (inferred)' if intake.scale_inferred else ''}"
    if ratings.scale.poles:
        scale += f", from {ratings.scale.poles[0]} to {ratings.scale.poles[1]}"
    told = f", as {config.path} says" if config.path else ""
    say(f"{intake.source}: {intake.layout} table, {taken}; scale {scale}{told}")


def read_scale(text: str | None) -> "Scale | None":
    """Read ``0:4``, ``No,Unsure,Yes`` or a TOML file."""
    from plurivox.scale_files import as_scale

    return as_scale(text)


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",")) if text else ()


def _layout(reading: InputOptions, config: "Config") -> Any:
    if reading.wide and reading.totals:
        raise typer.BadParameter("a table is either --wide or --totals")
    chosen = "wide" if reading.wide else "totals" if reading.totals else config.layout
    return chosen and _one_of("layout", chosen, ("long", "wide", "totals"))


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> Any:
    if value not in allowed:
        raise typer.BadParameter(f"{name} is one of {', '.join(allowed)}, not {value!r}")
    return value


def _pair(text: str) -> tuple[str, str]:
    attribute, sign, separator = text.partition("=")
    if not sign or not attribute or not separator:
        raise typer.BadParameter(f"--several needs ATTRIBUTE=SEPARATOR, not {text!r}")
    return attribute, separator


def _filtered(ratings: "Ratings", conditions: list[str]) -> "Ratings":
    wanted: dict[str, dict[str, list[str]]] = {"raters": {}, "items": {}}
    for condition in conditions:
        attribute, sign, value = condition.partition("=")
        if not sign:
            raise typer.BadParameter(f"--where needs ATTRIBUTE=VALUE, not {condition!r}")
        of_items = attribute in ratings.items.columns and attribute not in ratings.raters.columns
        wanted["items" if of_items else "raters"].setdefault(attribute, []).append(value)
    return ratings.where(raters=wanted["raters"], items=wanted["items"])
