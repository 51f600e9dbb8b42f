"""Commands made from lens records: their options, and the runner that loads, calls and prints for all of them."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plurivox.base import imported
from plurivox.cli import loading, running
from plurivox.cli.loading import load_nothing, load_questions
from plurivox.cli.options import (
    CONTEXT,
    FILE,
    ONE_VALUE,
    OPTIONAL_FILE,
    InputOptions,
    is_said,
    only_one,
    parameter,
    reads_ratings,
    setting_parameter,
    tell_compiling,
)
from plurivox.cli.outputs import OPTIONS, Outputs, json_of, took
from plurivox.cli.printing import looked_at, say
from plurivox.infer.lens import NOT_MET
from plurivox.plots import OF_LENSES, chart_of

if TYPE_CHECKING:
    from plurivox.base.settings import Settings
    from plurivox.cli.loading import LoadedStudy
    from plurivox.infer.lens import Input, Lens, Option


COMBINE = (
    "With --score Q1,Q2: also analyse the highest or lowest answer of each rater, or the first of a list of points "
    "(Yes,Unsure,No) that was given."
)
ALL = "Show all tables, groups, findings and notes, as in a pipe; otherwise a terminal shows only what matters most."
_AS_OPTION = "alone"
Given = Mapping[str, Any]


def lens_command(lens: "Lens") -> Callable[..., None]:
    """Return the command of a lens, ready for typer."""

    def command(reading: InputOptions, given: Given) -> None:
        given = _with_alone(lens, given) if lens.alone else given
        _run(lens.instead.lens if lens.instead and given[lens.instead.name] else lens, reading, given)

    return command_asking(lens, command, _parameters(lens))


def command_asking(
    lens: "Lens", command: Callable[[InputOptions, Given], None], more: Iterable[inspect.Parameter] = ()
) -> Callable[..., None]:
    """Return a command with the options of a lens and additional ones; it receives their values by name."""

    def named(reading: InputOptions, **given: Any) -> None:
        command(reading, given)

    named.__name__ = lens.command
    named.__doc__ = f"{lens.question}\n\n{lens.about}".strip()
    first = inspect.Parameter("reading", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = {one.name: one for one in (*_asking(lens), *more)}
    named.__signature__ = inspect.Signature([first, *parameters.values()])  # type: ignore[attr-defined]
    return reads_ratings(named, file=OPTIONAL_FILE if lens.alone else FILE)


def _asking(lens: "Lens") -> Iterator[inspect.Parameter]:
    """Yield the options of inputs and settings."""
    yield parameter(CONTEXT, typer.Context)
    for one in parameters_of([option for source in lens.inputs for option in source.options], lens.settings):
        yield _optional(one) if one.name == lens.alone else one
    if lens.alone:
        help_text = f"The same as the second argument; without FILE, only {lens.alone} are analysed."
        option = typer.Option(f"--{lens.alone}", help=help_text, metavar="FILE")
        yield parameter(_AS_OPTION, Annotated[str | None, option], None)
    if lens.threads:
        yield from (parameter(name, kind, None) for name, kind in running.OPTIONS.items())


def _optional(one: inspect.Parameter) -> inspect.Parameter:
    """Return an argument that may be left out."""
    return one.replace(annotation=Annotated[str | None, one.annotation.__metadata__[0]], default=None)


def _with_alone(lens: "Lens", given: Given) -> Given:
    """Return the given values, with the input that may be given without FILE taken from its argument or its option."""
    by_place, by_name = given[lens.alone], given[_AS_OPTION]
    if by_place is not None and by_name is not None:
        raise typer.BadParameter(f"--{lens.alone} and the second argument are the same input; give only one of them")
    if by_place is None and by_name is None:
        taken = took(given)
        raise typer.BadParameter(
            f"no {lens.alone} were given: give them as the second argument, or with --{lens.alone} if there are no "
            f"ratings{f' ({taken})' if taken else ''}"
        )
    return {**given, lens.alone: by_place if by_name is None else by_name}


def _parameters(lens: "Lens") -> Iterator[inspect.Parameter]:
    """Yield the other options of a lens: what else it can do, and how its result is shown."""
    tables = ", ".join(lens.csv_tables)
    if lens.instead:
        name, other = lens.instead.name, lens.instead.lens
        yield parameter(name, Annotated[bool, typer.Option(f"--{name}", help=lens.instead.help)], False)
        yield from _asking(other)
        tables += f"; with --{name} {', '.join(other.csv_tables)}"
    if lens.questions:
        yield parameter("combine", Annotated[str | None, typer.Option("--combine", help=COMBINE, metavar="RULE")], None)
    for shortcut in lens.shortcuts:
        yield parameter(shortcut.name, Annotated[bool, typer.Option(f"--{shortcut.name}", help=shortcut.help)], False)
    for spec in lens.showing.specs().values() if lens.showing else ():
        yield setting_parameter(spec)
    if lens.brief:
        yield parameter("all", Annotated[bool, typer.Option("--all", help=ALL)], False)
    if lens.written:
        option = typer.Option("--output", "-o", help=lens.written.help, metavar="FILE")
        yield parameter("output", Annotated[Path | None, option], None)
        yield from map(setting_parameter, lens.written.settings.specs().values())
    if lens.name in OF_LENSES:
        text = "Also draw a chart: a file name ending in .svg, .png, .pdf, .html or .json."
        yield parameter("chart", Annotated[Path | None, typer.Option("--chart", help=text, metavar="FILE")], None)
    if lens.csv_tables:
        option = typer.Option("--table", help=f"Which table --csv contains: {tables}.", metavar="NAME")
        yield parameter("table", Annotated[str | None, option], None if lens.instead else lens.csv_tables[0])
    for name, kind in OPTIONS.items():
        yield parameter(name, kind, None)


def parameters_of(options: Iterable["Option"], settings: type["Settings"]) -> Iterator[inspect.Parameter]:
    """Yield the options of inputs, then those of settings."""
    yield from map(_input_parameter, options)
    yield from (setting_parameter(spec) for spec in settings.specs().values() if spec.cli)


def _input_parameter(one: "Option") -> inspect.Parameter:
    if one.argument:
        known = typer.Argument(metavar=one.metavar, help=one.help, show_default=False)
        return parameter(one.name, Annotated[list[str] if one.several else str, known])
    kind: Any = str | None if one.default is None else str
    if one.several or one.metavar == ONE_VALUE:
        kind = list[str] | None
    return parameter(
        one.name, Annotated[kind, typer.Option(one.option, help=one.help, metavar=one.metavar)], one.default
    )


def _run(lens: "Lens", reading: InputOptions, given: Given) -> None:
    """Load what a lens needs, ask it, and print what it found."""
    outputs = Outputs.of(given)
    table = given.get("table") or next(iter(lens.csv_tables), None)
    if table is not None and table not in lens.csv_tables:
        raise typer.BadParameter(f"--table must be one of {', '.join(lens.csv_tables)}, not {table!r}")
    chart = given.get("chart")
    if chart is not None:
        check_picture(chart)
    write = _prepared(lens, given) if lens.written else None
    asked = asked_of(lens, reading, given)
    showing = {} if lens.showing is None else _values(lens.showing(**settings_given(lens.showing, given)))
    found = {}
    if lens.alone and reading.file is None:
        tables = {"all": load_nothing(reading, given[lens.alone])}
    else:
        tables = load_questions(reading, given.get("combine"))
    if len(tables) > 1:
        if chart is not None:
            raise typer.BadParameter("--chart draws a single question; choose it with --score")
        if any(given[source.options[0].name] in ("-", ["-"]) for source in lens.inputs):
            raise typer.BadParameter("with several questions no input can come from standard input; save it to a file")
    for question, loaded in tables.items():
        result = ask(lens, reading, loaded, given, asked)
        found[question] = result.of_question(question) if lens.questions else result
    if chart is not None:
        from plurivox.plots.writing import write_chart

        say(f"chart: {write_chart(chart_of(lens.name)(found['all']), chart)}")
    if write is not None:
        write(found["all"])
    said = None
    if lens.brief and looked_at() and not given.get("all"):
        said = {name: value for name, value in showing.items() if is_said(given[CONTEXT], name)}
    _deliver(lens, found, table, showing, outputs, said)


def asked_of(lens: "Lens", reading: InputOptions, given: Given) -> dict[str, Any]:
    """Return the settings that the command line gives, or raise before anything is read."""
    refuse_two_streams([reading.file, *(given[source.options[0].name] for source in lens.inputs)])
    asked = settings_given(lens.settings, given)
    for shortcut in lens.shortcuts:
        asked |= shortcut.sets if given[shortcut.name] else {}
    return asked


def refuse_two_streams(named: Iterable[Any]) -> None:
    """Raise if standard input is named more than once, alone or in lists."""
    files = [file for one in named for file in (one if isinstance(one, list) else [one])]
    if files.count("-") > 1:
        raise typer.BadParameter("only one of the tables can come from standard input")


def ask(lens: "Lens", reading: InputOptions, loaded: "LoadedStudy", given: Given, asked: Given, **more: Any) -> Any:
    """Call a lens as the command line says, with its inputs and additional ones."""
    settings = _settings(lens, reading, loaded, asked)
    inputs = {source.name: reader_of(source)(given, reading, loaded) for source in lens.inputs} | more
    inputs = {name: value for name, value in inputs.items() if value is not None}
    if lens.kernel:
        tell_compiling(lens.load("kernel"))
    with running.running(given) as how:
        return lens.load("run").run(loaded.ratings, **inputs, settings=settings, how=how)


def check_picture(path: Path) -> None:
    """Raise before minutes of work if charts cannot be written in this format or in this place."""
    from plurivox.base.files import will_write
    from plurivox.plots.writing import not_drawn

    problem = not_drawn(path)
    if problem:
        raise typer.BadParameter(problem)
    will_write(path)


def reader_of(source: "Input") -> Callable[..., Any]:
    """Return what reads an input: a function of the lens, or one that is known here."""
    reader: Callable[..., Any] = (
        imported(source.load) if ":" in source.load else getattr(loading, source.load or source.name)
    )
    return reader


def _prepared(lens: "Lens", given: Given) -> Callable[[Any], None] | None:
    """Return a function that writes the additional file, None if there is none; raise before anything is read."""
    from plurivox.base.files import will_write

    written, path = lens.written, given["output"]
    assert written is not None
    asked = settings_given(written.settings, given)
    if path is None:
        for name in asked:
            raise typer.BadParameter(f"{written.settings.specs()[name].option} requires -o FILE")
        return None
    values = tuple(_values(written.settings(**asked)).values())
    imported(written.check)(path, values[0])
    will_write(path)
    return lambda result: say(f"{written.name}: {path}: {imported(written.write)(result, path, *values)}")


def settings_given(settings: type["Settings"], given: Given) -> dict[str, Any]:
    """Return the settings given on the command line; the others may be in the config."""
    found = {}
    for name, spec in settings.specs().items():
        if not spec.cli or not is_said(given[CONTEXT], name):
            continue
        value = given[name]
        if spec.metavar == ONE_VALUE and not spec.repeated:
            value = only_one(value, str(spec.option))
        if spec.flag:
            value = not spec.default
        elif spec.parse is not None:
            try:
                value = spec.parse(value)
            except ValueError as error:
                raise typer.BadParameter(f"{spec.option} {error}") from None
        found[name] = value
    return found


def _settings(lens: "Lens", reading: InputOptions, loaded: "LoadedStudy", asked: Given) -> "Settings":
    """Make the settings: the command line overrides the lens's section of the config, and that the general ones."""
    known, own = lens.settings.specs(), loaded.config.lenses.get(lens.name, {})
    given = dict(asked)
    if "by" in known and ("by" in reading.said or "by" not in own):
        by = loaded.axes(needed=lens.attributes_needed) if lens.every_attribute else loaded.by
        given |= {"by": by} if by else {}
    for name in ("several", "min_group_size"):
        if name in known and (name in reading.said or name not in own):
            given[name] = getattr(loaded.reading, name)
    return loaded.config.settings_for(lens, **given)


def _values(settings: "Settings") -> dict[str, Any]:
    return {name: getattr(settings, name) for name in settings.specs()}


def _deliver(
    lens: "Lens", found: Mapping[str, Any], table: str | None, showing: Given, outputs: Outputs, brief: Given | None
) -> None:
    """Print or write the result of each question in the requested forms; a terminal shows what matters most.

    If requirements are not met, say which ones, and exit with a code of its own.
    ``brief`` holds the options for the short view; None shows everything.
    """
    titles = {question: f"Question {question}" if len(found) > 1 else "" for question in found}
    several = len(found) > 1 and not lens.questions  # results that do not know which question they are about

    def json() -> str:
        return json_of([_json(result, question if several else None) for question, result in found.items()])

    def csv() -> Any:
        import polars as pl

        frames = {question: _frame(result, table) for question, result in found.items()}
        told = (pl.lit(question).alias("question") for question in frames)
        return pl.concat(frame.select(next(told), pl.all()) if several else frame for frame in frames.values())

    def documents() -> list[Any]:
        from plurivox.infer.exports import document_of

        return [document_of(result, showing, titles[question], lens) for question, result in found.items()]

    def show() -> None:
        from plurivox.cli.console import console
        from plurivox.cli.tables import show_brief, show_result
        from plurivox.infer.exports import for_people
        from plurivox.infer.result import Result

        out = console()
        for question, one in found.items():
            result, title = for_people(one) if isinstance(one, Result) else one, titles[question]
            out.print(f"{title}\n" if title else "", style="bold", end="\n" if title else "")
            if brief is None:
                show_result(lens, result, out, **showing)
            else:
                show_brief(lens, result, out, brief, n_tables=len(lens.load("tables")(result, **showing)))

    outputs.deliver(show=show, json=json, csv=csv, documents=documents)
    failed = [sentence for result in found.values() for sentence in lens.load("gate")(result)] if lens.gate else []
    for sentence in failed:
        say(f"not met: {sentence}")
    if failed:
        raise typer.Exit(NOT_MET)


def _json(result: Any, question: str | None) -> str:
    """Return a result as JSON; if a question is given, it comes first."""
    import json

    from plurivox.infer.result import Result

    text = str(result.to_json(draws=False) if isinstance(result, Result) else result.to_json())
    return text if question is None else f'{{"question": {json.dumps(question)}, {text.lstrip()[1:]}'


def _frame(result: Any, table: str | None) -> Any:
    """Return one of the tables of a result."""
    from plurivox.infer.tables import TableResult

    if isinstance(result, TableResult):
        return result.to_frame() if table is None else result.table(table)
    found = result.to_frame if table in (None, "values") else getattr(result, table)
    return found() if callable(found) else found
