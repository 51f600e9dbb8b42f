"""A setting of reading is declared in one place; every surface finds it there."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import pytest
import typer
from typer.testing import CliRunner

import plurivox as pv
from plurivox import config
from plurivox.base.errors import ConfigError, InputError
from plurivox.base.settings import Toml, setting
from plurivox.cli.loading import settings_of
from plurivox.cli.options import InputOptions, reading_of, reading_parameters
from plurivox.domain.ratings import Ratings
from plurivox.read.read import from_settings
from plurivox.read.settings import LATER, ReadSettings
from plurivox.workbench.api import schema_of
from plurivox.workbench.forms import Known, fields_of, read_form
from plurivox.workbench.pages import LATER as SHOWN_LATER
from plurivox.workbench.pages import said_of
from plurivox.workbench.reading import ReadingSettings
from support import Write

SOURCE = Path(pv.__file__).parent


def toy(base: type[ReadSettings]) -> Any:
    """Return a record of reading with one more setting."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Toy(base):  # type: ignore[misc, valid-type]
        LEFT_OUT: ClassVar[frozenset[str]] = base.LEFT_OUT
        flavour: str = setting(
            "plain", "How it tastes.", metavar="TASTE", choices=("plain", "sweet"), toml=Toml("columns", "flavour"),
            doc="How the ratings taste.",
        )  # fmt: skip

    return Toy


def test_a_new_setting_is_a_keyword_that_is_documented_and_checked() -> None:
    @from_settings(toy(ReadSettings))
    def read(source: str, *, settings: Any) -> Ratings:
        """Read.

        Parameters
        ----------
        source
            A file.
        """
        return settings.flavour  # type: ignore[no-any-return]

    assert read("a.csv", flavour="sweet") == "sweet"
    assert inspect.signature(read).parameters["flavour"].default == "plain"
    assert "flavour\n    How the ratings taste." in str(read.__doc__)
    with pytest.raises(InputError, match="flavour is 'sour'"):
        read("a.csv", flavour="sour")


def test_a_new_setting_is_an_option_of_the_command_line() -> None:
    settings = toy(ReadSettings)
    parameters = reading_parameters(settings)
    seen: list[InputOptions] = []

    def command(**given: Any) -> None:
        seen.append(reading_of(given, settings))

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    app = typer.Typer()
    app.command()(command)
    run = CliRunner()
    assert "--flavour TASTE" in " ".join(run.invoke(app, ["--help"]).output.split())
    assert run.invoke(app, ["a.csv"]).exit_code == 0
    assert run.invoke(app, ["a.csv", "--flavour", "sweet"]).exit_code == 0
    assert [one.said for one in seen] == [{}, {"flavour": "sweet"}]
    assert "--flavour is one of plain, sweet, not 'sour'" in run.invoke(app, ["a.csv", "--flavour", "sour"]).output


def test_a_new_setting_is_a_key_of_the_config(write: Write) -> None:
    settings = toy(ReadSettings)
    path = write("plurivox.toml", '[columns]\nflavour = "sweet"\n')
    assert config.load_config(path, settings).said == {"flavour": "sweet"}
    with pytest.raises(ConfigError, match="is not a setting"):
        config.load_config(path)
    with pytest.raises(ConfigError, match="flavour' is 'sour'"):
        config.load_config(write("plurivox.toml", '[columns]\nflavour = "sour"\n'), settings)
    ratings = pv.read_ratings(write("r.csv", "item,rater,score\n1,a,0\n2,b,1\n"))
    assert '\nflavour = "sweet"\n' in config.config_text(ratings, settings(flavour="sweet"))
    assert "flavour" not in config.config_text(ratings, settings())


def test_a_new_setting_is_a_field_of_the_workbench_and_is_stored() -> None:
    settings = toy(ReadingSettings)
    shown = {one.name: one for one in fields_of(settings(flavour="sweet"), Known())}
    assert (shown["flavour"].label, shown["flavour"].help) == ("Flavour", "How it tastes.")
    assert [one for one, _ in shown["flavour"].choices] == ["plain", "sweet"]
    assert said_of(settings.from_dict(read_form(settings, {"flavour": ["sweet"]}))) == {"flavour": "sweet"}
    assert schema_of(settings)["properties"]["flavour"]["enum"] == ["plain", "sweet"]


def test_every_setting_is_on_every_surface() -> None:
    """What is on none has a reason: files and groups are not settings of a study in the workbench."""
    every = set(ReadSettings.specs())
    keywords = set(inspect.signature(pv.read_ratings).parameters) - {"source", "connection"}
    assert keywords == {name for name, spec in ReadSettings.specs().items() if spec.stage != LATER}
    options = [one.name for one in reading_parameters()]
    assert len(options) == len(set(options)) == len(every) + 3  # FILE and --config; --wide and --totals for one setting
    keys = [key for keys in config._KNOWN.values() for key in keys]
    scale = {"scale": "labels", "missing": "missing", "poles": "low"}
    for name, spec in ReadSettings.specs().items():
        assert (spec.toml.key if spec.toml else scale.get(name)) in [*keys, None]
    assert {name for name, spec in ReadSettings.specs().items() if not spec.toml} == {*scale, "where", "in_memory"}
    assert every - set(ReadingSettings.specs()) == ReadingSettings.LEFT_OUT
    assert {"unknown", "questions", "recode"} <= set(SHOWN_LATER)


def test_no_second_list_of_settings_exists() -> None:
    """Modules other than the record name a setting where they use it, never all of them."""
    names = [field.name for field in fields(ReadSettings)]
    for module in ("cli/options.py", "cli/data.py", "config.py", "workbench/reading.py", "read/packed/making.py"):
        text = (SOURCE / module).read_text(encoding="utf-8")
        named = [name for name in names if f'"{name}"' in text]
        assert len(named) < len(names) / 2, (module, named)


def test_files_cannot_be_named_from_outside_a_study() -> None:
    for name in sorted(ReadingSettings.LEFT_OUT):
        with pytest.raises(InputError, match=f"there is no setting '{name}'"):
            ReadingSettings.from_dict({name: "/etc/passwd"})
    for name in ("scale", "poles", "recode", "unsafe_from", "point_columns"):
        with pytest.raises(InputError, match=f"{name} is .*Give a text"):
            ReadingSettings.from_dict({name: [1, 2]})


def test_what_is_given_on_the_command_line_replaces_what_it_excludes(write: Write) -> None:
    path = write(
        "plurivox.toml",
        '[columns]\nscore = "q"\nquestions = "Q*"\n[scale]\nlow = "a"\nhigh = "b"\nrecode = "0=x,1=y"\n'
        "[raters.bins]\nage = [1, 2]\n",
    )
    known = config.load_config(path)

    def asked(**said: Any) -> ReadSettings:
        return settings_of(InputOptions("r.csv", said), known)

    assert (asked().score, asked().questions, asked().recode, asked().poles) == ("q", "Q*", "0=x,1=y", ("a", "b"))
    assert asked(point_columns="s.*").score is None
    assert asked(layout="wide").questions is None
    assert asked(unsafe_from="1").recode is None
    assert asked(scale="0:1").poles == ("a", "b")
    assert asked(scale="likert-agree").poles is None  # its ends have names of their own
    assert asked(bins={"income": (5.0,)}).bins == {"age": (1, 2), "income": (5,)}
