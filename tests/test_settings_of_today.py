"""Settings records express what the lenses have today, option by option and keyword by keyword.

The records below are drafts: whoever turns a lens into a folder moves its record there and takes it out of here.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from plurivox.cli.app import app, program
from plurivox.cli.lens import lens_command
from plurivox.errors import InputError
from plurivox.lenses.inputs import REFERENCE
from plurivox.lenses.record import Lens
from plurivox.settings import Axes, Frozen, Settings, setting, shared
from plurivox.settings.values import mapping, read_value
from support import run_cli


@dataclass(frozen=True, kw_only=True, slots=True)
class ResponsivenessSettings(Settings):
    by: Axes = shared.by(())
    threshold: Any = shared.threshold()
    items_by: str | None = shared.items_by()
    group_score: str = shared.group_score()
    ties: str = shared.ties()
    permutations: int = shared.permutations(1000)
    bootstrap: int = shared.bootstrap(1000)
    resample: str = shared.resample()
    within: tuple[str, ...] | None = shared.within()
    correction: str = shared.correction()
    convention: str = shared.convention("default, or published: MPA not capped at 0.", "MPA is capped at 0, or not.")
    several: Frozen = shared.several()
    pairs: bool = shared.pairs()
    contrast: tuple[str, str] | None = shared.contrast()
    family: Frozen = setting(
        Frozen(),
        "Test whether all groups with this value lie below, or above, all others: ethnicity=Latinx.",
        metavar="ATTRIBUTE=VALUE",
        parse=read_value,
        canonical=lambda given: mapping(given or {}),
        accepts="Mapping[str, Any] | None",
    )
    psychometrics: bool | str = setting(
        False,
        "Also Mokken's H_j and the discrimination of a graded response model, for up to 200 raters or groups of an "
        "axis; plurivox scale has more of both.",
        choices=(False, True, "always"),
        hint="Give True, False or 'always'.",
    )
    min_support: float = setting(5, "Name scores given to fewer items.", least=0, metavar="N")
    min_group_size: int = shared.min_group_size()
    seed: int = shared.seed()


def _from_0_to_1(value: float) -> None:
    if not 0 <= value < 1:
        raise ValueError("Give a number from 0 to 1, such as 0.3.")


@dataclass(frozen=True, kw_only=True, slots=True)
class PsychometricsSettings(Settings):
    by: Axes = shared.by("rater")
    items_by: str | None = shared.items_by()
    group_score: str = shared.group_score()
    ties: str = shared.ties(
        "lowest",
        choices=("lowest", "random"),
        help="Which of tied points is a group's score: lowest or random.",
        doc='Of points that tie the ``"lowest"`` is the group\'s score, or one at ``"random"`` by seed.',
    )
    lower_bound: float = setting(
        0.3, "The H_j that raters of one Mokken scale must reach.", metavar="H", check=_from_0_to_1
    )
    seed: int = shared.seed(doc="For ties at random.")
    several: Frozen = shared.several()
    min_group_size: int = shared.min_group_size()


@dataclass(frozen=True, kw_only=True, slots=True)
class PsychometricsShown(Settings):
    top: int = setting(5, "How many of the most and least severe items to show.", least=0)


class Today:
    """The lenses of today behind functions that take a settings record."""

    asked = ""

    def __getattr__(self, name: str) -> Any:
        import plurivox as pv

        self.asked = name

        def run(ratings: Any, *, settings: Settings, how: Any, **inputs: Any) -> Any:
            asked = {name: getattr(settings, name) for name in settings.specs()}
            lens = getattr(pv, name)
            threads = {"threads": how.threads} if "threads" in inspect.signature(lens).parameters else {}
            return lens(ratings, **inputs, **asked, **threads, progress=how.progress)

        return SimpleNamespace(run=run)


def _lens(name: str, command: str, settings: type[Settings], shown: str, **more: Any) -> Lens:
    known = next(one for one in app.registered_commands if one.callback and one.callback.__name__ == command)
    question, _, about = inspect.cleandoc(known.callback.__doc__ or "").partition("\n\n")
    home = f"plurivox.cli.show_{shown}"
    places: dict[str, Any] = {"run": f"today:{name}", "tables": f"{home}:tables", "show": f"{home}:show_{shown}"}
    places |= {"result": "none:Result"}
    return Lens(name=name, command=command, question=question, about=about, settings=settings, **places, **more)


LENSES = [
    _lens(
        "responsiveness",
        "responsiveness",
        ResponsivenessSettings,
        "responsiveness",
        every_attribute=True,
        inputs=(REFERENCE,),
        csv_tables=("values", "scores", "boundaries", "correlations", "pairs"),
    ),
    _lens(
        "psychometrics",
        "scale",
        PsychometricsSettings,
        "scale",
        showing=PsychometricsShown,
        threads=False,
        csv_tables=("values", "severity", "thresholds", "curves", "pairs", "checks", "fits"),
    ),
]


def _told(command: Any) -> dict[str, Any]:
    """Return all that the help shows about each option, by the option."""
    context = typer.Context(command)
    shown = [one for one in command.params if one.name != "help"]
    return {one.opts[-1]: (one.get_help_record(context), one.required, one.nargs) for one in shown}


@pytest.mark.parametrize("lens", LENSES, ids=lambda lens: lens.name)
def test_a_record_gives_the_help_of_today(lens: Lens) -> None:
    made = program()
    made.command("made")(lens_command(lens))
    commands = typer.main.get_command(made).commands  # type: ignore[attr-defined]
    assert _told(commands["made"]) == _told(commands[lens.command])
    assert commands["made"].help == commands[lens.command].help


@pytest.mark.parametrize("lens", LENSES, ids=lambda lens: lens.name)
def test_a_record_has_the_keywords_and_defaults_of_today(lens: Lens) -> None:
    import plurivox as pv

    parameters = inspect.signature(getattr(pv, lens.name)).parameters
    inputs = {"ratings", *(one.name for one in lens.inputs)}
    today = {name: one for name, one in parameters.items() if name not in {*inputs, "threads", "executor", "progress"}}
    specs = lens.settings.specs()
    assert set(specs) == set(today)
    for name, one in today.items():
        if one.default is inspect.Parameter.empty:
            assert specs[name].default is MISSING
        else:
            assert specs[name].checked(specs[name].default) == specs[name].checked(one.default), name


FEW = ("--bootstrap", 20, "--seed", 3)
ASKED: dict[str, list[tuple[object, ...]]] = {
    "cohesion": [
        (),
        (*FEW, "--permutations", 20, "--by", "gender,age", "--by", "age", "--level", "ordinal", "--resample", "both",
         "--within", "ethnicity", "--correction", "holm", "--contrast", "Man,Woman", "--by", "gender", "--pairs",
         "--convention", "published", "--ties", "lowest", "--threads", 1, "--min-group-size", 2),
    ],
    "scale": [(), ("--by", "age", "--ties", "random", "--lower-bound", 0.2, "--top", 2, "--table", "fits")],
    "responsiveness": [
        (*FEW, "--permutations", 20),
        (*FEW, "--permutations", 20, "--reference", "{}/trained.csv", "--reference-scale", "safe,unsafe", "--by",
         "gender", "--by", "age,gender", "--family", "gender=Man", "--items-by", "violation", "--min-support", 2,
         "--psychometrics", "--table", "scores", "--group-score", "median"),
    ],
}  # fmt: skip
CASES = [(lens, number) for lens in LENSES for number in range(2)]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("today") / "study"
    assert run_cli("simulate", folder, "--items", 40, "--raters", 60, "--missing", 0.3, "--seed", 5).code == 0
    return folder


@pytest.mark.parametrize("shown", ["--json", "--csv", "--markdown", None])
@pytest.mark.parametrize(("lens", "number"), CASES, ids=[f"{lens.name}-{number}" for lens, number in CASES])
def test_a_made_command_prints_what_the_command_prints_today(
    lens: Lens, number: int, shown: str | None, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    behind = Today()
    monkeypatch.setitem(sys.modules, "today", behind)
    made = program()
    made.registered_commands = [one for one in made.registered_commands if one.callback.__name__ != lens.command]  # type: ignore[union-attr]
    made.command(lens.command)(lens_command(lens))
    files = [study / "ratings.csv"]
    options = [
        str(one).replace("{}", str(study)) for one in (*ASKED[lens.command][number], *([shown] if shown else []))
    ]
    today = run_cli(lens.command, *files, *options)
    monkeypatch.setattr("plurivox.cli.app.program", lambda: made)
    assert run_cli(lens.command, *files, *options) == today
    assert behind.asked == lens.name
    assert today.code == 0, today.err


def _refusal(call: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("responsiveness", {"group_score": "mode"}),
        ("responsiveness", {"psychometrics": "sometimes"}),
        ("psychometrics", {"ties": "share"}),
        ("psychometrics", {"lower_bound": 1.0}),
        ("psychometrics", {"lower_bound": -0.5}),
    ],
)
def test_wrong_values_are_told_as_today(name: str, wrong: dict[str, Any]) -> None:
    import plurivox as pv

    study = pv.simulate(n_items=5, n_raters=20, seed=1)
    lens = next(one for one in LENSES if one.name == name)
    today = _refusal(lambda: getattr(pv, name)(study.ratings, by="gender", **wrong))
    assert _refusal(lambda: lens.settings(**{"by": "gender", **wrong})) == today


def test_the_choices_are_those_of_the_lenses() -> None:
    from plurivox.axis import MIN_GROUP_SIZE
    from plurivox.engine.families import METHODS
    from plurivox.engine.permutation import CONVENTIONS
    from plurivox.lenses.alignment.settings import AlignmentSettings
    from plurivox.lenses.soft.settings import SoftSettings
    from plurivox.statistics.alignment import TOLERANCE
    from plurivox.statistics.levels import LEVELS
    from plurivox.statistics.soft_blocks import METRICS
    from plurivox.statistics.ties import TIES

    assert (tuple(METHODS), CONVENTIONS, LEVELS) == (shared.CORRECTIONS, shared.CONVENTIONS, shared.LEVELS)
    assert (TIES, MIN_GROUP_SIZE) == (shared.TIES, shared.MIN_GROUP_SIZE)
    assert SoftSettings().metrics == METRICS
    assert AlignmentSettings().tolerance == TOLERANCE
