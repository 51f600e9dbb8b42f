"""A lens is one folder: its command, its section of plurivox.toml and its Python function follow from its record."""

from __future__ import annotations

import importlib
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import plurivox as pv
import plurivox.lenses
from docs.building import pages
from plurivox.base.errors import ConfigError, InputError
from plurivox.base.settings import Frozen
from plurivox.cli.lens import reader_of
from plurivox.config import Config, load_config
from plurivox.infer.lens import Lens
from plurivox.lenses import lenses
from plurivox.report.build import make_report
from plurivox.report.settings import ReportSettings
from plurivox.workbench.forms import Known, fields_of
from plurivox.workbench.making import lens_named
from support import Write, run_cli
from tools.size import lines_of_code

RATINGS = "item,rater,score,gender,age\n" + "".join(
    f"{item},{rater},{(item * rater) % 3},{'MW'[rater % 2]},{'young' if rater < 4 else 'old'}\n"
    for item in range(4)
    for rater in range(8)
)
TOY = {
    "__init__.py": '''
"""Toy: how high people rate."""

from plurivox.infer.lens import Input, Lens, Option, Shortcut
from plurivox.lenses.toy.settings import ToySettings, ToyShown

HOME = "plurivox.lenses.toy"
LENS = Lens(
    name="toy", command="play", question="Tell how high people rate.", about="The toy asks for nothing more.",
    order=5, settings=ToySettings, showing=ToyShown, every_attribute=True, questions=True,
    inputs=(
        Input(
            name="bonus", load=f"{HOME}.run:read_bonus",
            options=(
                Option(name="bonus", help="A file with a number to add.", metavar="FILE"),
                Option(name="bonus_sign", help="Its sign.", default="+"),
            ),
        ),
    ),
    shortcuts=(Shortcut(name="fast", help="Without draws.", sets={"bootstrap": 0, "smooth": False}),),
    csv_tables=("values", "pairs"),
    run=f"{HOME}.run:toy", result=f"{HOME}.result:Toy", tables=f"{HOME}.words:tables",
)
''',
    "settings.py": '''
"""What the toy can be asked."""

from __future__ import annotations

from dataclasses import dataclass

from plurivox.base.settings import Axes, Frozen, Settings, setting, shared


@dataclass(frozen=True, kw_only=True, slots=True)
class ToySettings(Settings):
    """What the toy can be asked."""

    by: Axes = shared.by()
    level: object = shared.level("ordinal")
    bootstrap: int = shared.bootstrap(20)
    within: tuple[str, ...] | None = shared.within()
    contrast: tuple[str, str] | None = shared.contrast()
    several: Frozen = shared.several()
    smooth: bool = setting(True, "Do not smooth.", option="--rough")
    weight: float = setting(1, "How much a rating weighs.", least=0, metavar="W")
    words: tuple[str, ...] = setting(
        (), "Words. Repeatable.", option="--word", repeated=True, parse=tuple, canonical=tuple
    )
    min_group_size: int = shared.min_group_size()
    seed: int = shared.seed()


@dataclass(frozen=True, kw_only=True, slots=True)
class ToyShown(Settings):
    """What the terminal shows."""

    digits: int = setting(2, "Decimals to show.", least=0, most=5)
''',
    "run.py": '''
"""The toy computes means."""

from __future__ import annotations

import numpy as np

from plurivox.domain.axis import Axis
from plurivox.infer.result import Row
from plurivox.lenses.toy.result import Toy
from plurivox.lenses.toy.settings import ToySettings
from plurivox.infer.keywords import keywords


def read_bonus(given, reading, loaded):
    """Read the bonus."""
    if given["bonus"] is None:
        return None
    with open(given["bonus"]) as file:
        return float(given["bonus_sign"] + file.read())


@keywords(ToySettings)
def toy(ratings, *, bonus=0.0, settings, how):
    """Tell how high people rate.

    Parameters
    ----------
    bonus
        A number to add.
    """
    scores = ratings.scores + bonus
    rows = []
    for one in settings.by:
        axis = Axis.of(ratings, one, min_group_size=settings.min_group_size)
        group = axis.codes[ratings.codes_of_raters]
        rows += [
            Row("group", axis.name, name, "mean", float(np.mean(scores[group == code]) * settings.weight))
            for code, name in enumerate(axis.groups) if not axis.withheld[code]
        ]
    if how.progress is not None:
        how.progress("toy", 1, 1)
    return Toy(tuple(rows), {}, {}, (), {**settings.as_dict(), "threads": how.threads})
''',
    "result.py": '''
"""What the toy found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from plurivox.infer.result import GroupResult, Statement


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Toy(GroupResult):
    """How high people rate."""

    KIND: ClassVar[str] = "toy"

    def of_question(self, question):
        rows = tuple(replace(row, subset=question) for row in self.rows)
        return replace(self, rows=rows, settings={**self.settings, "question": question})

    def pairs(self):
        return self.to_frame().select("group", "value").head(1)

    def statements(self):
        return [Statement(f"{row.group} rate {row.value:.1f}.", 1.0) for row in self.rows]
''',
    "words.py": '''
"""What the toy shows."""


def tables(found, digits):
    return [("Means", ["group", "mean"], [[row.group, f"{row.value:.{digits}f}"] for row in found.rows])]
''',
}


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[Lens]:
    """Write the toy lens into a folder of its own, as somebody who adds a lens does."""
    folder = tmp_path / "added" / "toy"
    folder.mkdir(parents=True)
    for name, text in TOY.items():
        (folder / name).write_text(text, encoding="utf-8")
    (tmp_path / "added" / "no_lens").mkdir()
    (tmp_path / "added" / "no_lens" / "__init__.py").write_text("")
    plurivox.lenses.__path__.append(str(folder.parent))
    importlib.invalidate_caches()
    yield next(lens for lens in lenses() if lens.name == "toy")
    plurivox.lenses.__path__.remove(str(folder.parent))
    for name in [name for name in sys.modules if name.startswith(("plurivox.lenses.toy", "plurivox.lenses.no_lens"))]:
        del sys.modules[name]
    for name in ("toy", "no_lens"):
        vars(plurivox.lenses).pop(name, None)


@pytest.fixture
def ratings(write: Write) -> Path:
    return write("ratings.csv", RATINGS)


GIVEN = ("--rater-attributes", "gender,age", "--scale", "0:2", "--min-group-size", 1)


def play(ratings: Path, *options: object) -> Any:
    return run_cli("play", ratings, *GIVEN, *options)


def asked(ratings: Path, *options: object) -> dict[str, Any]:
    found: dict[str, Any] = play(ratings, *options, "--json").json()["settings"]
    return found


def test_the_program_has_its_command_whose_help_has_every_option(toy: Lens) -> None:
    shown = run_cli("--help").out
    assert "play            Tell how high people rate.\n" in shown
    assert shown.index(" simulate ") < shown.index(" play ") < shown.index(" report ")
    told = run_cli("play", "--help").words
    for text in (
        "Tell how high people rate. The toy asks for nothing more.",
        "--level LEVEL How far apart points are: ordinal (the default), nominal or interval. [default: ordinal]",
        "--bootstrap N Bootstrap draws for 95 % intervals; 0 for none. [default: 20; 0<=x<=10000000]",
        "--contrast A,B Also report the difference between two groups: Man,Woman. --",
        "--rough Do not smooth. --",
        "--weight W How much a rating weighs. [default: 1; x>=0]",
        "Words. Repeatable. --",
        "--bonus FILE A file with a number to add.",
        "Its sign. [default: +]",
        "--combine RULE With --score Q1,Q2:",
        "--fast Without draws.",
        "Decimals to show. [default: 2; 0<=x<=5]",
        "--threads N How many threads to use (default: one per core). [x>=1]",
        "--table NAME Which table --csv contains: values, pairs. [default: values]",
        "--json [FILE] Print JSON, or write .json. --csv [FILE] Print CSV, or write .csv, .parquet or .jsonl. "
        "--markdown [FILE] Print Markdown tables, or write .md or .markdown. --latex [FILE] Print LaTeX tables, or "
        "write .tex. --html [FILE] Print tables to paste into a word processor or an email, or write .html or .htm.",
        "--by ATTRIBUTES",
    ):
        assert text in told
    assert told.count("--by ") == told.count("--several ") == told.count("--min-group-size ") == 1


def test_defaults_are_those_of_python(toy: Lens, ratings: Path) -> None:
    settings = asked(ratings)
    study = pv.read_ratings(ratings, rater_attributes=["gender", "age"], scale="0:2")
    in_python = toy.load("run")(study, ["gender", "age"], min_group_size=1)
    assert settings == {**in_python.settings, "question": "all"}
    assert settings["weight"] == 1.0
    assert in_python.value("gender", "M", "mean") == 0.375  # raters 0, 2, 4, 6: (0 + 2 + 1 + 0 + 0 + 1 + 2 + 0) / 16


def test_options_reach_the_lens(toy: Lens, ratings: Path) -> None:
    settings = asked(
        ratings, "--by", "gender", "--by", "gender,age", "--level", "nominal", "--bootstrap", 7,
        "--within", "age,gender", "--contrast", "M,W",
        "--rough", "--weight", 2, "--word", "b", "--word", "a", "--seed", 5, "--threads", 2,
    )  # fmt: skip
    assert settings == {
        "by": [["gender"], ["gender", "age"]], "level": "nominal", "bootstrap": 7, "within": ["age", "gender"],
        "contrast": ["M", "W"], "several": {}, "smooth": False, "weight": 2.0, "words": ["b", "a"],
        "min_group_size": 1, "seed": 5, "threads": 2, "question": "all",
    }  # fmt: skip


def test_the_command_line_comes_before_the_config_and_that_before_defaults(
    toy: Lens, ratings: Path, write: Write
) -> None:
    write(
        "plurivox.toml",
        'min_group_size = 3\n[raters]\nby = ["age"]\n[toy]\nbootstrap = 3\nseed = 4\nsmooth = false\n'
        'within = "age"\nwords = ["x"]\nby = [["gender", "age"], "gender"]\nseveral = { race = ";" }\n',
    )
    settings = asked(ratings, "--seed", 0)
    assert (settings["seed"], settings["bootstrap"], settings["weight"]) == (0, 3, 1.0)
    assert (settings["smooth"], settings["within"], settings["words"]) == (False, ["age"], ["x"])
    assert settings["by"] == [["gender", "age"], ["gender"]]
    assert settings["several"] == {"race": ";"}
    settings = asked(ratings, "--by", "gender", "--several", "age=,", "--bootstrap", 20)
    assert (settings["by"], settings["several"], settings["bootstrap"]) == ([["gender"]], {"age": ","}, 20)
    without = run_cli("play", ratings, "--rater-attributes", "gender,age", "--scale", "0:2", "--json").json()
    assert without["settings"]["min_group_size"] == 3
    write("plurivox.toml", 'min_group_size = 3\n[raters]\nby = ["age"]\n[toy]\nmin_group_size = 2\n')
    without = run_cli("play", ratings, "--rater-attributes", "gender,age", "--scale", "0:2", "--json").json()
    assert without["settings"]["min_group_size"] == 2
    assert without["settings"]["by"] == [["age"]]


def test_shortcuts_and_inputs(toy: Lens, ratings: Path, write: Write) -> None:
    settings = asked(ratings, "--fast", "--bootstrap", 7)
    assert (settings["bootstrap"], settings["smooth"]) == (0, False)
    bonus = write("bonus.txt", "10")
    plain, more = play(ratings, "--csv").frame(), play(ratings, "--csv", "--bonus", bonus).frame()
    assert (more["value"] - plain["value"]).to_list() == pytest.approx([10] * 4)
    less = play(ratings, "--csv", "--bonus", bonus, "--bonus-sign", "-").frame()
    assert (less["value"] - plain["value"]).to_list() == pytest.approx([-10] * 4)


def test_every_way_to_print(toy: Lens, ratings: Path) -> None:
    shown = play(ratings, "--by", "gender").out
    assert "Means" in shown
    assert "0.38" in shown
    assert "• M rate 0.4." in shown
    assert "0.3750" in play(ratings, "--digits", 4).out
    assert "| M | 0.375 |" in play(ratings, "--digits", 3, "--markdown").out
    assert play(ratings, "--csv", "--table", "pairs").frame().columns == ["group", "value"]
    assert toy.load("result").from_json(play(ratings, "--json").out).value("gender", "M", "mean") == 0.375


def test_several_questions(toy: Lens, write: Write) -> None:
    lines = RATINGS.replace("score", "Q1").splitlines()
    table = write("q.csv", "\n".join([lines[0] + ",Q2", *(f"{line},1" for line in lines[1:])]) + "\n")
    given = ("--score", "Q1,Q2", "--by", "gender")
    found = play(table, *given, "--combine", "highest", "--json").json()
    assert [one["settings"]["question"] for one in found] == ["Q1", "Q2", "combined"]
    assert play(table, *given, "--csv").frame()["subset"].unique(maintain_order=True).to_list() == ["Q1", "Q2"]
    assert "Question Q2" in play(table, *given).out
    assert "## Question Q1\n" in play(table, *given, "--markdown").out


@pytest.mark.parametrize(("options", "code", "told"), [
    (("--contrast", "M"), 2, "--contrast needs two groups separated by a comma, not 'M'"),
    (("--table", "other"), 2, "--table must be one of values, pairs, not 'other'"),
    (("--json", "--csv"), 2, "only one of --json and --csv can be printed"),
    (("--bootstrap", -1), 2, "Invalid value for '--bootstrap'"),
    (("--combine", "highest"), 2, "--combine needs several questions"),
    (("--level", "other"), 1, "error: level is 'other'. Choose one of nominal, ordinal, interval, or a matrix"),
    (("--by", "race"), 1, "error: raters have no attribute 'race'"), (("--nonsense",), 2, "No such option: --nonsense"),
])  # fmt: skip
def test_wrong_options_are_told(toy: Lens, ratings: Path, options: tuple[object, ...], code: int, told: str) -> None:
    done = play(ratings, *options)
    assert (done.code, told in done.words) == (code, True), done.words
    done = run_cli("play", "-", "--bonus", "-")
    assert (done.code, "only one of the tables can come from standard input" in done.words) == (2, True)


@pytest.mark.parametrize(("text", "told"), [
    ("[toy]\nbootstap = 3", "'[toy] bootstap' is not a setting. Known here: by, level, bootstrap, within"),
    ("[toy]\nbootstrap = -3", "'[toy] bootstrap': bootstrap is -3. Give a whole number from 0 to 10,000,000."),
    ("[toy]\nlevel = 'x'", "'[toy] level': level is 'x'. Choose one of nominal"),
    ("[toy]\nsmooth = 1", "'[toy] smooth': smooth is 1. Give True or False."),
    ("[toy]\ncontrast = 'MW'", "'[toy] contrast': contrast is 'MW'. Give the names of two groups"),
    ("[toy]\nwords = [2020-01-01]", "'[toy] words': words is [datetime.date"),
    ("toy = 3", "'toy' is 3. Write it as a table: [toy]."),
    ("[tyo]\nseed = 3", "'tyo' is not a setting. Known: [columns], [scale], [raters], [items], [toy]"),
])  # fmt: skip
def test_wrong_sections_are_told_with_file_section_and_key(toy: Lens, write: Write, text: str, told: str) -> None:
    path = write("plurivox.toml", text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert str(caught.value).startswith(f"{path}: {told}")


def test_settings_follow_from_the_config(toy: Lens, write: Write) -> None:
    config = load_config(write("plurivox.toml", '[toy]\nseed = 3\nseveral = { b = ";", a = "," }'))
    made: Any = config.settings_for(toy, by="age", bootstrap=1)
    assert (made.seed, made.bootstrap, made.by) == (3, 1, (("age",),))
    assert made.several == Frozen([("a", ","), ("b", ";")])
    assert Config().settings_for(toy, by="age") == toy.settings.from_dict({"by": "age"})
    with pytest.raises(InputError, match="by is missing"):
        config.settings_for(toy)


def test_the_package_has_the_function_and_the_result(toy: Lens, ratings: Path) -> None:
    package: Any = pv  # type checkers know only the lenses that are there
    assert package.toy is toy.load("run")
    assert package.Toy is toy.load("result")
    assert package.toy.settings is toy.settings
    names = list(inspect.signature(package.toy).parameters)
    assert names[:3] == ["ratings", "by", "level"]
    assert names[-4:] == ["bonus", "threads", "executor", "progress"]
    assert "bonus\n    A number to add.\n" in inspect.cleandoc(package.toy.__doc__)
    told: list[tuple[str, int, int]] = []
    study = pv.read_ratings(ratings, rater_attributes=["gender"], scale="0:2")
    found = package.toy(study, "gender", weight=2, min_group_size=1, progress=lambda *args: told.append(args))
    assert found.settings["weight"] == 2.0
    assert told == [("toy", 1, 1)]
    json.dumps(found.settings, allow_nan=False)


def test_without_the_folder_there_is_no_lens() -> None:
    assert "toy" not in [lens.name for lens in lenses()]
    assert "play " not in run_cli("--help").out
    with pytest.raises(AttributeError, match="no attribute 'toy'"):
        _ = pv.toy  # type: ignore[attr-defined]


def test_records_are_in_order_name_what_exists_and_are_light() -> None:
    found = lenses()
    assert [lens.order for lens in found] == sorted(lens.order for lens in found)
    assert len({lens.command for lens in found} | {lens.name for lens in found}) >= len(found)
    for lens in found:
        for what in ("run", "result", "tables", "brief", "notes", "kernel"):
            assert (lens.load(what) is None) == (not getattr(lens, what))
        assert lens.load("run").settings is lens.settings
    script = (
        "import sys\nfrom plurivox.lenses import lenses\nlenses()\n"
        "print([name for name in ('numpy', 'polars', 'numba', 'scipy', 'typer', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_everything_that_a_record_names_is_there() -> None:
    from plurivox.actions.advise import ADVISE
    from plurivox.actions.curate import CURATE
    from plurivox.actions.select import SELECT

    records = [*lenses(), ADVISE, SELECT, CURATE]
    records += [lens.instead.lens for lens in records if lens.instead is not None]
    for lens in records:
        for what in ("run", "result", "tables", "brief", "notes", "gate", "kernel"):
            reference = getattr(lens, what)
            assert not reference or lens.load(what) is not None, (lens.name, what)
        for source in lens.inputs:
            assert not source.load or callable(reader_of(source))


# One file ------------------------------------------------------------------------------------------------------------
ONE_FILE = '''"""Spread: how far apart raters of a group are, and whether that is more than chance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from plurivox.base.settings import Axes, Frozen, Settings, shared
from plurivox.infer.keywords import keywords
from plurivox.infer.call import Call, Comparison
from plurivox.infer.intervals import percentile_interval
from plurivox.infer.lens import Lens
from plurivox.infer.result import GroupResult, Statement


@dataclass(frozen=True, kw_only=True, slots=True)
class SpreadSettings(Settings):
    by: Axes = shared.by(())
    several: Frozen = shared.several()
    permutations: int = shared.permutations(99)
    max_permutations: int | None = shared.max_permutations()
    n_lenses: int = shared.n_lenses()
    correction: str = shared.correction("holm")
    interval: str | None = shared.interval("none")
    within: tuple[str, ...] | None = shared.within()
    min_group_size: int = shared.min_group_size()
    seed: int = shared.seed()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Spread(GroupResult):
    KIND: ClassVar[str] = "toy_spread"

    def statements(self):
        return [Statement(f"{row.group} are {row.value:.1f} apart.", 2.0, row.axis, "spread") for row in self.rows]


@dataclass(frozen=True, eq=False)
class Deviations:
    ratings: object
    grouping: object

    def of(self, labels):
        group, scores = labels[self.ratings.codes_of_raters], self.ratings.scores.astype(float)
        return [[np.std(scores[group == g])] for g in range(self.grouping.n_groups)]

    @property
    def value(self):
        return np.array(self.of(self.grouping.codes))

    def null(self, shuffles, how):
        return np.array([self.of(labels) for labels in self.grouping.labels(shuffles)])


class Spreading(Comparison):
    names = ("spread",)

    def measure(self, grouping, *, alike=False):
        return Deviations(self.ratings, grouping)


@keywords(SpreadSettings)
def toy_spread(ratings, *, settings, how):
    """Tell how far apart raters are."""
    call = Call.of(ratings, settings, how)
    work = Spreading(ratings, settings, call.inference)
    each = {one.axis.name: work.prepare(one) for one in call.axes}
    call.inference.decide([one.tested for groups in each.values() for one in groups])
    rows = [row for name, groups in each.items() for one in groups for row in call.inference.rows(
        "group", name, one.groups, [(0, "spread")], one.tested.observed, [(1, 1, 1)] * len(one.groups),
        [{}] * len(one.groups), tested=one.tested)]
    return Spread(tuple(rows), draws=(), **call.kept(design=call.inference.remembered()))


def tables(found):
    return [("Spread", ["group", "spread"], [[row.group, f"{row.value:.2f}"] for row in found.rows])]


LENS = Lens(name="toy_spread", command="spread", question="Tell how far apart raters are.", order=5, headlines=True,
            settings=SpreadSettings, every_attribute=True, result=f"{__name__}:Spread", csv_tables=("values",))
'''


@pytest.fixture
def spread(tmp_path: Path) -> Iterator[Lens]:
    """Write a lens as one file."""
    folder = tmp_path / "added"
    folder.mkdir()
    (folder / "toy_spread.py").write_text(ONE_FILE, encoding="utf-8")
    plurivox.lenses.__path__.append(str(folder))
    importlib.invalidate_caches()
    yield next(lens for lens in lenses() if lens.name == "toy_spread")
    plurivox.lenses.__path__.remove(str(folder))
    del sys.modules["plurivox.lenses.toy_spread"]
    vars(plurivox.lenses).pop("toy_spread", None)


def test_one_file_has_a_command_a_section_of_toml_and_forms(spread: Lens, ratings: Path, write: Write) -> None:
    assert len(ONE_FILE.splitlines()) <= 100
    assert lines_of_code(ONE_FILE) <= 80
    write("plurivox.toml", "[toy_spread]\nseed = 7\n")
    given = ("spread", ratings, "--by", "gender", *GIVEN)
    done = run_cli(*given, "--json")
    found = spread.load("result").from_json(done.out)
    assert (found.settings["seed"], found.settings["design"]["kind"]) == (7, "blocks")
    assert [row.p_adjusted is not None for row in found.rows] == [True, True]
    values = run_cli(*given, "--csv").frame().filter(group="M")["value"]
    assert values.to_list() == [found.value("gender", "M", "spread")]
    assert "• M are" in run_cli(*given).out
    assert "Tell how far apart raters are." in run_cli("--help").out
    names = {field.name for field in fields_of(spread.settings(), Known())}
    assert {"permutations", "within", "correction"} <= names
    assert lens_named("toy_spread") is spread
    assert "## toy_spread" in pages.settings_page()


def test_one_file_is_in_reports_and_counts_towards_their_error_rate(spread: Lens, ratings: Path, undrawn: None) -> None:
    study = pv.read_ratings(ratings, rater_attributes=["gender"], scale="0:2")
    made = make_report(study, "gender", permutations=19, max_permutations=19, interval="none", min_group_size=1)
    assert made.brief.asked.n_lenses == 5
    (section,) = (one for one in made.sections if one.id == "toy_spread")
    assert next(one.said.text for one in section.findings).startswith("M are")
    assert ReportSettings().n_lenses == sum(lens.headlines and not lens.needs for lens in lenses()) - 1
