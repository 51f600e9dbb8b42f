"""From the options of a command, and the config as a fallback, to the ratings that it works on."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from plurivox.cli.options import CONTEXT, InputOptions, attribute_value, is_said
from plurivox.cli.printing import say

if TYPE_CHECKING:
    from plurivox.config import Bins, Config
    from plurivox.domain.answers import Answers
    from plurivox.domain.attributes import AttributeRules
    from plurivox.domain.panel import PopulationShares
    from plurivox.domain.predictions import Predictions
    from plurivox.domain.ratings import Ratings
    from plurivox.domain.raw import RawTable
    from plurivox.domain.recoding import Recoding
    from plurivox.domain.scale import Scale


@dataclass(frozen=True)
class Loaded:
    """The ratings a command works on, and what the config or the command line says about the analysis."""

    ratings: "Ratings"  # None if a command runs without ratings; see load_nothing
    by: list[tuple[str, ...]] | None
    min_group_size: int
    several: dict[str, str]
    raters_file: str | None
    items_file: str | None
    config: "Config"
    scale: "Scale"
    recoding: "Recoding | None" = None
    bins: "Mapping[str, Bins]" = field(default_factory=dict)
    rules: "AttributeRules | None" = None

    @property
    def scale_of_files(self) -> "Scale":
        """The scale of the scores in files: that of the ratings before they are recoded."""
        return self.scale if self.recoding is None else self.recoding.old

    def axes(self, *, needed: bool = True) -> list[tuple[str, ...]]:
        """Return the requested axes, or every attribute of the raters; raise if one is needed and there is none."""
        if self.by:
            return self.by
        attributes = self.ratings.raters.columns[1:]
        if needed and not attributes:
            raise typer.BadParameter(
                "raters have no attributes to group them by; give a table of raters with --raters, or name a column "
                "of FILE with --by"
            )
        return [(attribute,) for attribute in attributes]


def load(reading: InputOptions) -> Loaded:
    """Read the ratings as the command line or else the config says; report how columns were understood."""
    from plurivox.domain.axis import MIN_GROUP_SIZE

    config = _without_tables(config_beside(reading, reading.file), reading.file)
    population = _population(reading, config)
    ratings = _read(reading, config, () if population is None else population.attributes)
    ratings = ratings.in_memory() if reading.in_memory else ratings
    recoding = _recoding(reading, config, ratings)
    if recoding is not None:
        ratings = ratings.recode(recoding).with_poles(reading.poles)
    bins = {**config.bins, **dict(map(_edges, reading.bin or ()))}
    for attribute, one in bins.items():
        ratings = ratings.with_bins(attribute, one.edges, one.labels)
    if reading.where:
        ratings = _filtered(ratings, reading.where)
    tell_read(ratings, config)
    by = [tuple(one.split(",")) for one in reading.by or ()] or list(config.by) or None
    size = reading.min_group_size or config.min_group_size or MIN_GROUP_SIZE
    if population is not None:
        ratings = _weighted(ratings, population, reading.trim or config.trim, size)
    several = dict(map(_pair, reading.several or ())) or dict(config.several)
    return Loaded(ratings, by, size, several, reading.raters or config.raters, reading.items or config.items, config,
                  ratings.scale, recoding, bins, _rules(reading, config))  # fmt: skip


def config_beside(reading: InputOptions, file: str) -> "Config":
    """Return the config named on the command line, or the one next to a file; an empty one if there is none."""
    from plurivox.config import Config, find_config, load_config

    path = reading.config or find_config(file)
    return Config() if path is None else load_config(path)


def _without_tables(config: "Config", file: str) -> "Config":
    """Return the config without the tables that it names if the ratings already contain them, and say so."""
    from plurivox.read.tables import is_stored

    named = [name for name in (config.raters, config.items) if name is not None]
    if not named or file == "-" or not is_stored(file):
        return config
    told = " and ".join(Path(name).name for name in named)
    say(f"{file} already contains the attributes of raters and items; ignoring {told}, named in {config.path}")
    return replace(config, raters=None, items=None)


def load_nothing(reading: InputOptions, beside: str) -> Loaded:
    """Return what is known without ratings: the scale, and the config next to another file."""
    from plurivox.domain.axis import MIN_GROUP_SIZE

    config = config_beside(reading, beside)
    scale = read_scale(reading.scale) or config.scale
    if scale is None:
        raise typer.BadParameter("without ratings, the points of the scale are unknown; give them with --scale")
    about = (
        "raters", "rater", "score", "point_columns", "time", "where", "by", "bin", "recode", "unsafe_from", "weights",
        "trim",
    )  # fmt: skip
    given = [name.replace("_", "-") for name in about if getattr(reading, name)]
    if given:
        raise typer.BadParameter(f"--{given[0]} requires ratings, but no FILE was given")
    say(f"no ratings; scale {scale}")
    nothing: Any = None
    size, items = reading.min_group_size or MIN_GROUP_SIZE, reading.items or config.items
    return Loaded(nothing, None, size, {}, None, items, config, scale)


def load_questions(reading: InputOptions, rule: str | None = None) -> dict[str, Loaded]:
    """Read one table of ratings for each question of ``--score Q1,Q2``, and one that combines them by the rule."""
    from plurivox.base.errors import ColumnError
    from plurivox.domain.questions import RULES, combine

    names = [name.strip() for name in (reading.score or "").split(",")]
    if len(names) < 2:
        if rule is not None:
            raise typer.BadParameter("--combine needs several questions: --score Q1,Q2")
        return {"all": load(reading)}
    if reading.file == "-":
        raise typer.BadParameter("several questions cannot be read from standard input; save the table to a file first")
    if rule is None:
        try:  # a column name may contain commas, as question texts do
            return {"all": load(reading)}
        except ColumnError as error:
            if f"'{reading.score}'" not in error.problem:
                raise
    loaded = {name: load(replace(reading, score=name)) for name in names}
    if rule is not None:
        known = rule if rule in RULES else [label.strip() for label in rule.split(",")]
        ratings = combine({name: one.ratings for name, one in loaded.items()}, known)
        loaded["combined"] = replace(loaded[names[0]], ratings=ratings)
    return loaded


def load_reference(given: Mapping[str, Any], reading: InputOptions, loaded: Loaded) -> Any:
    """Read the reference file, or a column of the items, or return a group or ``crowd`` as it is."""
    from plurivox.base.errors import ScaleError

    text, column, scale, where = (given[f"reference{part}"] for part in ("", "_column", "_scale", "_where"))
    if column is not None:
        return _gold(given, column, loaded)
    if text in ("crowd", "own group") or ("=" in text and not Path(text).exists()):
        if scale or where:
            raise typer.BadParameter("--reference-scale and --reference-where require a reference file")
        return text
    try:
        if scale == "same":
            found = read_alike(text, reading, loaded)
        else:
            found = read_beside(text, reading, read_scale(scale))
    except ScaleError as error:
        raise typer.BadParameter(str(error).replace("--scale", "--reference-scale")) from None
    intake = found.intake
    taken = ", ".join(f"{role} = {name}" for role, name in intake.columns.items())
    say(f"{intake.source}: reference, {taken}; scale {found.scale}")
    return found.where(raters=attribute_value(where, "--reference-where"))


def _gold(given: Mapping[str, Any], column: str, loaded: Loaded) -> "Ratings":
    """Return a column of the table of items as the reference."""
    from plurivox.base.errors import ScaleError

    if is_said(given[CONTEXT], "reference"):
        raise typer.BadParameter("give only one of --reference and --reference-column")
    if given["reference_where"]:
        raise typer.BadParameter("--reference-where requires a reference file")
    scale = given["reference_scale"]
    try:
        found = loaded.ratings.gold(column, loaded.scale_of_files if scale == "same" else scale)
    except ScaleError as error:
        raise typer.BadParameter(str(error).replace("--scale", "--reference-scale")) from None
    if scale == "same" and loaded.recoding is not None:
        found = found.recode(loaded.recoding)
    say(f"{found.intake.source}: reference, {len(found):,} values; scale {found.scale}")
    return found


def read_beside(file: str, reading: InputOptions, scale: "Scale | None") -> "Ratings":
    """Read other ratings, whose columns have obvious names or the same names as those of the ratings."""
    from plurivox.base.errors import ColumnError
    from plurivox.read.read import read_ratings

    try:
        return read_ratings(file, scale=scale)
    except ColumnError:
        return read_ratings(
            file, scale=scale, item=reading.item, rater=reading.rater, score=reading.score,
            point_columns=reading.point_columns,
        )  # fmt: skip


def read_alike(file: str, reading: InputOptions, loaded: Loaded) -> "Ratings":
    """Read other ratings on the scale of the ratings, recoded like them."""
    found = read_beside(file, reading, loaded.scale_of_files)
    return found if loaded.recoding is None else found.recode(loaded.recoding)


def predictions_beside(files: Sequence[str], loaded: Loaded) -> "Predictions":
    """Read predictions on the scale of the ratings, or on the one before they were recoded."""
    from plurivox.ask.read_answers import predictions_of

    return predictions_of(files, loaded.scale, loaded.recoding, loaded.ratings)


def answers_beside(file: str, loaded: Loaded, **more: Any) -> "Answers":
    """Read answers on the scale of the ratings, recoded like them."""
    from plurivox.ask.read_answers import answers_of

    return answers_of(file, loaded.scale, loaded.recoding, loaded.ratings, **more)


def described_answers(found: "Answers", reading: InputOptions, loaded: Loaded) -> "Answers":
    """Return answers with the attributes of items, read as they are for the ratings."""
    from plurivox.ask.read_answers import described

    rule = "missing" if loaded.rules is None else loaded.rules.conflicts
    encoding = reading.encoding or loaded.config.encoding or "utf-8"
    return described(found, loaded.items_file, loaded.ratings, rule, encoding)


def tell_answers(found: "Answers", more: str = "") -> None:
    """Say on standard error whose answers were read, which columns hold them, and what was read as text."""
    from plurivox.cli.progress import several
    from plurivox.domain.answers import ITEM_TEXT

    unusual = found.n_read or more or ITEM_TEXT in found.columns
    told = ", ".join(f"{role} = {name}" for role, name in found.columns.items()) + "; " if unusual else ""
    where = f" in {found.columns['answer']}, not as labels" if "answer" in found.columns else ""
    read = f"; {several(found.n_read, 'text')} read by rules{where}" if found.n_read else ""
    say(f"{found.source}: {told}{several(len(found), 'answer')} of {', '.join(found.models)}{read}{more}")


def read_items(
    file: str, item: str | None, like: str | None = None, encoding: str | None = None
) -> "tuple[str, RawTable]":
    """Read a table of items, and return which column holds their ids: the one named, or one with an obvious name."""
    from plurivox.domain.points import with_joined
    from plurivox.domain.raw import id_column, require_columns
    from plurivox.read.beside import attributes_in

    table = with_joined(attributes_in(file, "item", encoding or "utf-8"), item or like)
    if item is not None:
        require_columns(table.columns, [item], table.name)
    return item or id_column(table.columns, "item", like or "item", table.name), table


def _read(reading: InputOptions, config: "Config", raked: Sequence[str] = ()) -> "Ratings":
    from plurivox.read.read import read_ratings

    asked = asked_of_reading(reading, config)
    return read_ratings(reading.file, **{**asked, "by": [*asked["by"], *raked]})


def _population(reading: InputOptions, config: "Config") -> "PopulationShares | None":
    """Read the shares of the population, if the command line or else the config names them."""
    from plurivox.read.population import read_population

    file = reading.weights or config.weights
    if file is None:
        if reading.trim is not None:
            raise typer.BadParameter("--trim limits weights: also give the population with --weights FILE")
        return None
    if file == "-" == reading.file:
        raise typer.BadParameter("only one of the tables can come from standard input")
    return read_population(file, encoding=reading.encoding or config.encoding or "utf-8")


def _weighted(ratings: "Ratings", population: "PopulationShares", trim: float | None, size: int) -> "Ratings":
    """Weight the raters that --where leaves to the population, and describe the weights."""
    from plurivox.statistics.raking import TRIM

    found = ratings.weighted(population, trim=trim or TRIM)
    panel = found.panel.summary(size)
    names = ", ".join(panel.attributes)
    say(f"{population.source}: {panel.n_raters:,} raters weighted by {names}: {panel.cost}")
    for note in panel.notes:
        say(f"{population.source}: {note}")
    return found


def asked_of_reading(reading: InputOptions, config: "Config") -> dict[str, Any]:
    """Return the keywords of read_ratings as the command line or else the config says."""
    from plurivox.domain.part import RULES
    from plurivox.read.formats import FORMATS
    from plurivox.read.formats.record import CHOICES

    scale, rules = read_scale(reading.scale) or config.scale, _rules(reading, config)
    return {
        "item": reading.item or config.item,
        "rater": reading.rater or config.rater,
        "score": reading.score or (None if reading.point_columns else config.score),
        "point_columns": reading.point_columns or (None if reading.score else config.point_columns),
        "scale": scale,
        "poles": reading.poles or (scale and scale.poles) or config.poles,
        "missing": reading.missing or config.missing,
        "duplicates": _one_of("--duplicates", reading.duplicates or config.duplicates or "error", RULES),
        "time": reading.time or config.time,
        "raters": reading.raters or config.raters,
        "items": reading.items or config.items,
        "rater_attributes": names_in(reading.rater_attributes) or config.rater_attributes,
        "item_attributes": names_in(reading.item_attributes) or config.item_attributes,
        "by": _attributes_asked(reading, config),
        "conflicts": rules.conflicts,
        "unknown": rules.unknown,
        "layout": _layout(reading, config),
        "questions": reading.questions or (None if reading.wide or reading.totals else config.questions),
        "rejected": _one_of("--rejected", reading.rejected or config.rejected, CHOICES),
        "unfinished": _one_of("--unfinished", reading.unfinished or config.unfinished, CHOICES),
        "format": _one_of("--format", reading.format or config.format, FORMATS),
        "encoding": reading.encoding or config.encoding or "utf-8",
    }


def _rules(reading: InputOptions, config: "Config") -> "AttributeRules":
    """Return how attributes are read as the command line or else the config says."""
    from plurivox.domain.attributes import CONFLICTS, UNKNOWN, AttributeRules

    rule = _one_of("--conflicts", reading.conflicts or config.conflicts or "missing", CONFLICTS)
    words = config.unknown if reading.unknown is None else tuple(filter(None, names_in(reading.unknown)))
    return AttributeRules(rule, UNKNOWN if words is None else words)


def _attributes_asked(reading: InputOptions, config: "Config") -> list[str]:
    """Return every attribute that groups are made of, binned or split, including those in crossings."""
    axes: list[Any] = [one.split(",") for one in reading.by or ()] or [
        *config.by, *(axis for section in config.lenses.values() for axis in section.get("by") or ())
    ]  # fmt: skip
    named = [name for axis in axes for name in ([axis] if isinstance(axis, str) else axis)]
    binned = [text.partition("=")[0] for text in (*(reading.bin or ()), *(reading.several or ()))]
    return list(dict.fromkeys(name.strip() for name in (*named, *binned, *config.bins, *config.several)))


def _edges(text: str) -> "tuple[str, Bins]":
    """Read ``age=18,30,45``."""
    from plurivox.config import Bins

    attribute, sign, edges = text.partition("=")
    try:
        numbers = tuple(float(edge) for edge in edges.split(","))
    except ValueError:
        numbers = ()
    if not sign or not attribute.strip() or not all(map(math.isfinite, numbers)) or not numbers:
        raise typer.BadParameter(f"--bin needs ATTRIBUTE=EDGES, such as age=18,30,45, not {text!r}")
    return attribute.strip(), Bins(numbers)


def _recoding(reading: InputOptions, config: "Config", ratings: "Ratings") -> "Recoding | None":
    """Return how points are recoded, if the command line or else the config says so."""
    from plurivox.base.errors import ScaleError
    from plurivox.domain.recoding import Recoding

    given = reading if reading.recode is not None or reading.unsafe_from is not None else config
    if given.recode is None and given.unsafe_from is None:
        return None
    try:
        return Recoding.of(ratings.scale, given.recode, given.unsafe_from)
    except ScaleError as error:
        source = config.path if given is config else ratings.intake.source
        raise ScaleError(error.problem, source=source, hint=error.hint) from None


def tell_read(ratings: "Ratings", config: "Config") -> None:
    """Print on standard error how columns were understood."""
    from plurivox.lenses.overview.description import conflict_notes, unknown_notes

    intake = ratings.intake
    taken = ", ".join(f"{role} = {name}" for role, name in intake.columns.items())
    scale = f"{ratings.scale}{' (inferred)' if intake.points_inferred else ''}"
    if ratings.scale.poles:
        scale += f", from {ratings.scale.poles[0]} to {ratings.scale.poles[1]}"
    scale += f", recoded: {intake.recoded}" if intake.recoded else ""
    told = f", as {config.path} says" if config.path else ""
    what = f"{intake.layout} table"
    if intake.platform:
        from plurivox.read.formats import PLATFORMS

        title = next((one.title for one in PLATFORMS if one.name == intake.platform), intake.platform)
        what = f"{title} (change with --format)"
    say(f"{intake.source}: {what}, {taken}; scale {scale}{told}")
    chosen = conflict_notes(intake) if intake.conflicts == "first" else []  # otherwise there was a warning
    for line in (*filter(None, [intake.numbers]), *chosen, *unknown_notes(intake)):
        say(f"{intake.source}: {line}")
    for sentence in intake.left_out_and_remarks():
        say(sentence)


def read_scale(text: str | None) -> "Scale | None":
    """Read ``0:4``, ``No,Unsure,Yes`` or a TOML file."""
    from plurivox.domain.scale_files import as_scale

    return as_scale(text)


def names_in(text: str | None) -> tuple[str, ...]:
    """Return the comma-separated names in a text."""
    return tuple(name.strip() for name in text.split(",")) if text else ()


def _layout(reading: InputOptions, config: "Config") -> Any:
    if reading.wide and reading.totals:
        raise typer.BadParameter("give only one of --wide and --totals")
    chosen = "wide" if reading.wide else "totals" if reading.totals else config.layout
    return chosen and _one_of("layout", chosen, ("long", "wide", "totals"))


def _one_of(name: str, value: str | None, allowed: tuple[str, ...]) -> Any:
    if value is not None and value not in allowed:
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
