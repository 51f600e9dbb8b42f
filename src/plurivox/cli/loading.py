"""From the options of a command, and the config as a fallback, to the ratings and other inputs that it works on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from plurivox.cli.options import CONTEXT, InputOptions, attribute_value, is_said
from plurivox.cli.printing import say
from plurivox.read.settings import ReadSettings

if TYPE_CHECKING:
    from plurivox.config import Config
    from plurivox.domain.answers import Answers
    from plurivox.domain.predictions import Predictions
    from plurivox.domain.ratings import Ratings
    from plurivox.domain.raw import RawTable
    from plurivox.domain.recoding import Recoding
    from plurivox.domain.scale import Scale


_TABLES = ("raters", "items")


@dataclass(frozen=True)
class LoadedStudy:
    """The ratings a command works on, and what the command line or else the config says about them."""

    ratings: "Ratings"  # None if a command runs without ratings; see load_nothing
    reading: ReadSettings
    config: "Config"
    scale: "Scale"
    recoding: "Recoding | None" = None

    @property
    def by(self) -> list[tuple[str, ...]] | None:
        """The requested axes."""
        return list(self.reading.by) or None

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


def load(reading: InputOptions) -> LoadedStudy:
    """Read the ratings as the command line or else the config says; report how columns were understood."""
    from plurivox.read.population import read_population
    from plurivox.read.read import read_study
    from plurivox.read.tables import is_stored

    config = config_beside(reading, reading.file)
    named = [config.said[name] for name in _TABLES if name in config.said]
    if named and reading.file != "-" and is_stored(reading.file):
        told = " and ".join(Path(name).name for name in named)
        told = f"ignoring {told}, named in {config.path}"
        say(f"{reading.file} already contains the attributes of raters and items; {told}")
        config = replace(config, said={k: v for k, v in config.said.items() if k not in _TABLES})
    asked = settings_of(reading, config)
    population = None
    if asked.weights is None and "trim" in reading.said:
        raise typer.BadParameter("--trim limits weights: also give the population with --weights FILE")
    if asked.weights is not None:
        if asked.weights == "-" == reading.file:
            raise typer.BadParameter("only one of the tables can come from standard input")
        population = read_population(asked.weights, encoding=asked.encoding)
    needed = () if population is None else population.attributes
    if "by" not in reading.said:
        needed = (*grouped_by(config), *needed)
    recoded_in = config.path if {"recode", "unsafe_from"}.isdisjoint(reading.said) else None
    ratings, recoding = read_study(reading.file, asked, needed, config=recoded_in, renamed="poles" in reading.said)
    tell_read(ratings, config)
    if population is not None:  # the raters that --where leaves
        ratings = ratings.weighted(population, **asked.weighting())
        panel = ratings.panel.summary(asked.min_group_size)
        say(f"{population.source}: {panel.n_raters:,} raters weighted by {', '.join(panel.attributes)}: {panel.cost}")
        for note in panel.notes:
            say(f"{population.source}: {note}")
    return LoadedStudy(ratings, asked, config, ratings.scale, recoding)


def settings_of(reading: InputOptions, config: "Config") -> ReadSettings:
    """Return how ratings are read: as the command line says, otherwise as the config does."""
    from plurivox.domain.scale_files import as_scale

    specs, said = ReadSettings.specs(), dict(config.said)
    for name in reading.said:
        for other in specs[name].replaces:
            said.pop(other, None)
    scale = as_scale(reading.said.get("scale", said.get("scale")))
    if scale is not None and scale.poles is not None:
        said.pop("poles", None)
    bins = {**said.get("bins", {}), **reading.said.get("bins", {})}
    return ReadSettings(**{**said, **reading.said, "scale": scale, "bins": bins})


def grouped_by(config: "Config") -> list[str]:
    """Return the attributes that sections of lenses group raters by."""
    axes = [axis for section in config.lenses.values() for axis in section.get("by") or ()]
    return [name for axis in axes for name in axis]


def config_beside(reading: InputOptions, file: str) -> "Config":
    """Return the config named on the command line, or the one next to a file; an empty one if there is none."""
    from plurivox.config import Config, find_config, load_config

    path = reading.config or find_config(file)
    return Config() if path is None else load_config(path)


def load_nothing(reading: InputOptions, beside: str) -> LoadedStudy:
    """Return what is known without ratings: the scale, and the config next to another file."""
    config = config_beside(reading, beside)
    known = {name: config.said[name] for name in ("scale", "items") if name in config.said}
    asked = settings_of(reading, replace(config, said=known))
    if asked.scale is None:
        raise typer.BadParameter("without ratings, the points of the scale are unknown; give them with --scale")
    about = (
        "raters", "rater", "score", "point_columns", "time", "where", "by", "bins", "recode", "unsafe_from", "weights",
        "trim",
    )  # fmt: skip
    for name in about:
        if name in reading.said:
            raise typer.BadParameter(f"{ReadSettings.specs()[name].option} requires ratings, but no FILE was given")
    say(f"no ratings; scale {asked.scale}")
    nothing: Any = None
    return LoadedStudy(nothing, asked, config, asked.scale)


def load_questions(reading: InputOptions, rule: str | None = None) -> dict[str, LoadedStudy]:
    """Read one table of ratings for each question of ``--score Q1,Q2``, and one that combines them by the rule."""
    from plurivox.base.errors import ColumnError
    from plurivox.domain.questions import RULES, combine

    named = reading.said.get("score", "")
    names = [name.strip() for name in named.split(",")]
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
            if f"'{named}'" not in error.problem:
                raise
    loaded = {name: load(replace(reading, said={**reading.said, "score": name})) for name in names}
    if rule is not None:
        known = rule if rule in RULES else [label.strip() for label in rule.split(",")]
        ratings = combine({name: one.ratings for name, one in loaded.items()}, known)
        loaded["combined"] = replace(loaded[names[0]], ratings=ratings)
    return loaded


def reference(given: Mapping[str, Any], reading: InputOptions, loaded: LoadedStudy) -> Any:
    """Read the reference file, or a column of the items, or return a group or ``crowd`` as it is."""
    from plurivox.base.errors import ScaleError
    from plurivox.domain.scale_files import as_scale
    from plurivox.read.read import read_beside

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
            found = read_beside(text, as_scale(scale), reading.said)
    except ScaleError as error:
        raise typer.BadParameter(str(error).replace("--scale", "--reference-scale")) from None
    intake = found.intake
    taken = ", ".join(f"{role} = {name}" for role, name in intake.columns.items())
    say(f"{intake.source}: reference, {taken}; scale {found.scale}")
    return found.where(raters=attribute_value(where, "--reference-where"))


def _gold(given: Mapping[str, Any], column: str, loaded: LoadedStudy) -> "Ratings":
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


def read_alike(file: str, reading: InputOptions, loaded: LoadedStudy) -> "Ratings":
    """Read other ratings on the scale of the ratings, recoded like them."""
    from plurivox.read.read import read_beside

    found = read_beside(file, loaded.scale_of_files, reading.said)
    return found if loaded.recoding is None else found.recode(loaded.recoding)


def predictions_beside(files: Sequence[str], loaded: LoadedStudy) -> "Predictions":
    """Read predictions on the scale of the ratings, or on the one before they were recoded."""
    from plurivox.ask.read_answers import predictions_of

    return predictions_of(files, loaded.scale, loaded.recoding, loaded.ratings)


def answers_beside(file: str, loaded: LoadedStudy, **more: Any) -> "Answers":
    """Read answers on the scale of the ratings, recoded like them."""
    from plurivox.ask.read_answers import answers_of

    return answers_of(file, loaded.scale, loaded.recoding, loaded.ratings, **more)


def described_answers(found: "Answers", loaded: LoadedStudy) -> "Answers":
    """Return answers with the attributes of items, read as they are for the ratings."""
    from plurivox.ask.read_answers import described

    return described(found, loaded.reading.items, loaded.ratings, loaded.reading.conflicts, loaded.reading.encoding)


def tell_answers(found: "Answers", more: str = "") -> None:
    """Say on standard error whose answers were read, which columns hold them, and what was read as text."""
    from plurivox.cli.running import several
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
    from plurivox.read.tables import attributes_in

    table = with_joined(attributes_in(file, "item", encoding or "utf-8"), item or like)
    if item is not None:
        require_columns(table.columns, [item], table.name)
    return item or id_column(table.columns, "item", like or "item", table.name), table


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


Given = Mapping[str, Any]


def log(given: Given, reading: InputOptions, loaded: LoadedStudy) -> Any:
    """Read the ratings again for when each was given and how long it took."""
    from plurivox.domain.points import with_joined
    from plurivox.domain.raw import require_columns
    from plurivox.read.tables import read_again

    columns = {role: given[role] for role in ("time", "seconds") if given[role] is not None}
    if not columns:
        return None
    if reading.file == "-":
        raise typer.BadParameter("--time and --seconds read the ratings again; save them to a file first")
    known = loaded.ratings.intake.columns
    if not {"item", "rater"} <= set(known):
        raise typer.BadParameter("--time and --seconds need a table with one row per rating")
    said = loaded.reading
    asked = ReadSettings(
        item=known["item"], rater=known["rater"], score=known.get("score"), questions=said.questions,
        rejected=said.rejected, unfinished=said.unfinished,
    )  # fmt: skip
    is_export = bool(loaded.ratings.intake.platform)
    table = read_again(reading.file, asked if is_export else None, format=said.format, encoding=said.encoding)
    table = with_joined(table, known["item"])
    columns = {role: name for role, name in columns.items() if (role, name) != ("time", "rows")}
    columns = {"item": known["item"], "rater": known["rater"], **columns}
    require_columns(table.columns, columns.values(), table.name)
    frame = table.frame()
    return frame.select(frame[name].alias(role) for role, name in columns.items())


def item(given: Given, reading: InputOptions, loaded: LoadedStudy) -> str:
    """Return the id of an item."""
    return str(given["wanted"])


def predictions(given: Given, reading: InputOptions, loaded: LoadedStudy) -> Any:
    """Read predicted distributions."""
    known = predictions_beside(given["predictions"], loaded)
    say(f"{known.source}: predictions of {', '.join(known.models)}")
    return known


def answers(given: Given, reading: InputOptions, loaded: LoadedStudy) -> Any:
    """Read what language models answered."""
    alone = loaded.ratings is None
    known = answers_beside(
        given["answers"], loaded, item=reading.said.get("item") if alone else None, model=given["model"],
        answer=given["answer"], items=loaded.reading.items if alone else None,
    )  # fmt: skip
    tell_answers(known)
    return known


def item_answers(given: Given, reading: InputOptions, loaded: LoadedStudy) -> Any:
    """Read what language models answered, and the attributes of all items, including those that nobody rated."""
    return described_answers(answers(given, reading, loaded), loaded)


def train(given: Given, reading: InputOptions, loaded: LoadedStudy) -> Any:
    """Read ratings of other items, on the same scale."""
    return None if given["train"] is None else read_alike(given["train"], reading, loaded)


def trained(given: Given, reading: InputOptions, loaded: LoadedStudy) -> Any:
    """Read the ratings of trained raters."""
    from plurivox.domain.scale_files import as_scale
    from plurivox.read.read import read_beside

    known = given["trained"]
    return None if known is None else read_beside(known, as_scale(given["trained_scale"]), reading.said)
