"""Wrong things given to public functions: one error of ours that names the argument, never a foreign one."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from fuzz.targets import results
from fuzz.values import NEVER, WRONG, arguments_of, files, functions, study, usual
from plurivox import plots
from plurivox.base.arguments import MOST_DRAWS, fits, shown, words
from plurivox.base.errors import InputError, PlurivoxError, SelectionError
from plurivox.study import Study
from support import run_cli

SLOW = ("advise", "alignment", "cohesion", "curate", "judge", "plan", "psychometrics", "soft_scores", "write_report")
"""Of these only what no argument may be is tried here; the fuzzer tries the rest."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working folder with the tables that functions read."""
    for kind in ("ratings", "answers", "predictions"):
        (tmp_path / f"{kind}.csv").write_bytes(files()[f"{kind}.csv"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ended(function: Callable[..., Any], given: dict[str, Any], what: str) -> PlurivoxError | None:
    """Return the error of ours that a call raised, if any; another one fails."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(**given)
    except PlurivoxError as raised:
        return raised
    except Exception as raised:
        raise AssertionError(f"{function.__name__}({what}): {type(raised).__name__}: {raised}") from raised
    return None


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", functions())
def test_a_wrong_argument_is_named(name: str) -> None:
    function, base = getattr(pv, name), usual(getattr(pv, name))
    for argument in arguments_of(function):
        for what, value in (NEVER if name in SLOW else WRONG).items():
            if (argument, what) in {("progress", "a class"), ("encoding", "nonsense")}:
                continue  # a class can be called; encodings are looked up where files are read
            error = ended(function, {**base, argument: value}, f"{argument}={what}")
            if what in NEVER:
                assert error is not None, f"{name}({argument}={what}) was taken"
                assert argument in str(error), f"{name}({argument}={what}): {error}"
            assert error is None or len(str(error)) < 1000, f"{name}({argument}={what})"


def test_all_that_is_public_is_looked_at() -> None:
    known = {name for name in pv.__all__ if inspect.isclass(getattr(pv, name))} | set(functions())
    assert known == set(pv.__all__)
    assert len(functions()) == 27


@pytest.mark.parametrize("cls", [pv.Scale, pv.Thresholds])
def test_what_callers_make_names_what_is_wrong(cls: Any) -> None:
    usual: dict[str, Any] = {"labels": ["a", "b"]} if cls is pv.Scale else {}
    for argument in arguments_of(cls):
        for what, value in WRONG.items():
            error = ended(cls, {**usual, argument: value}, f"{argument}={what}")
            assert what not in NEVER or argument in str(error), f"{cls.__name__}({argument}={what}): {error}"


@pytest.mark.parametrize(("argument", "cls"), [("effects", pv.Effect), ("models", pv.SimulatedModel),
                                               ("predictors", pv.SimulatedPredictor)])  # fmt: skip
def test_parts_of_a_simulation_name_what_is_wrong(argument: str, cls: Any) -> None:
    usual = {"condition": {"gender": "Woman"}} if cls is pv.Effect else {"name": "a"}
    for field in arguments_of(cls):
        for what, value in WRONG.items():
            made = {argument: [cls(**{**usual, field: value})], "n_items": 3, "n_raters": 3}
            error = ended(pv.simulate, made, f"{cls.__name__}({field}={what})")
            assert what not in NEVER or field in str(error), f"{cls.__name__}({field}={what}): {error}"


@pytest.mark.parametrize(("method", "usual"), [
    (study().ratings.where, {"raters": {"gender": "Woman"}}), (study().ratings.with_poles, {"poles": "a,b"}),
    (study().ratings.with_bins, {"attribute": "age", "edges": [1, 2]}),
    (pv.Ratings.from_frame, {"frame": study().ratings_frame}),
    (pv.Predictions.from_frame, {"frame": study().predictions, "scale": "0:4"}),
    (pv.Answers.from_frame, {"frame": study().answers, "scale": "0:4"}),
    (pv.Axis.of, {"ratings": study().ratings, "by": "gender"}), (pv.Scale.parse, {"text": "0:4"}),
    (pv.Scale.range, {"low": 0, "high": 4}), (pv.Scale.from_dict, {"data": {"labels": [1, 2]}}),
    (Study(study().ratings).ask, {"name": "describe"}),
])  # fmt: skip
def test_methods_name_what_is_wrong(method: Callable[..., Any], usual: dict[str, Any]) -> None:
    for argument in arguments_of(method):
        for what, value in WRONG.items():
            if (argument, what) == ("locate", "a class"):
                continue  # a class can be called
            error = ended(method, {**usual, argument: value}, f"{argument}={what}")
            assert what not in NEVER or argument in str(error), f"{method.__name__}({argument}={what}): {error}"


@pytest.mark.parametrize("kind", ["cohesion", "responsiveness", "alignment", "advice", "item"])
def test_methods_of_results_name_what_is_wrong(kind: str) -> None:
    cls, text = results()[kind]
    result = cls.from_json(text)
    methods = [getattr(result, name) for name in dir(cls) if not name.startswith("_")]
    for method in filter(callable, methods):
        for argument in arguments_of(method):
            known = {name: "x" for name, one in arguments_of(method).items() if one.default is one.empty}
            for what, value in WRONG.items():
                error = ended(method, {**known, argument: value}, f"{argument}={what}")
                assert what not in NEVER or argument in str(error), f"{method.__name__}({argument}={what}): {error}"


def test_charts_name_what_is_wrong() -> None:
    for name in plots.__all__:
        chart = getattr(plots, name)
        arguments = arguments_of(chart)
        given = {one: object() for one, known in arguments.items() if known.default is known.empty}
        if name not in ("to_svg", "write_chart"):  # of any chart of Altair
            assert next(iter(given)) in str(ended(chart, given, "an object")), name


def test_what_is_said_helps() -> None:
    ratings = study().ratings
    package: Any = pv
    calls: list[tuple[Any, str]] = [
        (lambda: package.cohesion("ratings.csv", "age"),
         "ratings is 'ratings.csv'. Give Ratings: read_ratings(file) or"),
        (lambda: package.cohesion(study().ratings_frame, "age"), "ratings is a DataFrame. Give Ratings: "),
        (lambda: package.cohesion(ratings, [["age", 1]]), "by is [['age', 1]]. Give rater attributes"),
        (lambda: package.responsiveness(ratings, 3.5), 'reference is 3.5. Give "crowd", Ratings'),
        (lambda: package.describe(ratings, executor="thread"), "executor is 'thread'. Give an executor, such as"),
        (lambda: package.describe(ratings, threads=True), "threads is True. Give a whole number from 1 to 1,000."),
        (lambda: package.soft_scores(ratings, {"a": 1}), "predictions is {'a': 1}. Give Predictions or a frame"),
        (lambda: package.describe(ratings, seed=1), "describe() got an unexpected keyword argument 'seed'"),
    ]  # fmt: skip
    for call, said in calls:
        with pytest.raises((PlurivoxError, TypeError)) as raised:
            call()
        assert said in str(raised.value)


def test_numbers_of_numpy_and_executors_are_taken() -> None:
    package: Any = pv  # a type checker wants Python's own numbers
    with ThreadPoolExecutor(1) as pool:
        found = package.cohesion(
            study().ratings, "gender", permutations=np.int64(9), seed=np.uint8(3), min_group_size=np.array(2),
            same_view=np.float32(0.5), threads=np.int16(1), executor=pool,
        )  # fmt: skip
    assert found.settings["permutations"] == 9


@pytest.mark.parametrize("wrong", [-5, 0, math.nan, math.inf, 2.5, True, "5", None, 10**400, [5], np.float64(5)])
def test_the_smallest_group_is_a_whole_number_from_1_on(wrong: Any, tmp_path: Path) -> None:
    asking = [name for name in functions() if "min_group_size" in arguments_of(getattr(pv, name))]
    assert len(asking) >= 11
    for name in asking:
        with pytest.raises(InputError, match=r"min_group_size is .*\. Give a whole number of at least 1"):
            getattr(pv, name)(**{**usual(getattr(pv, name)), "min_group_size": wrong})
    with pytest.raises(InputError, match=r"min_group_size is .*Give a whole number"):
        pv.Axis.of(study().ratings, "gender", min_group_size=wrong)
    with pytest.raises(InputError, match=r"min_group_size is .*\. Give a whole number of at least 1"):
        pv.write_report(tmp_path / "r.html", study().ratings, "gender", min_group_size=wrong)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", ["-5", "0", "nan", "inf", "2.5", "true", '"5"', "[5]"])
def test_the_smallest_group_in_toml_and_options(wrong: str, folder: Path) -> None:
    done = run_cli("cohesion", "ratings.csv", "--min-group-size", wrong.strip('"[]') + "x" * ("5" in wrong))
    assert done.code == 2
    for text in (f"min_group_size = {wrong}", f"[cohesion]\nmin_group_size = {wrong}"):
        (folder / "plurivox.toml").write_text(text)
        done = run_cli("cohesion", "ratings.csv", "--by", "rater")
        assert done.code == 1
        assert "min_group_size" in done.err
        assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("option", ["permutations", "bootstrap", "max-permutations"])
def test_draws_have_a_limit(option: str, folder: Path) -> None:
    name = option.replace("-", "_")
    given: dict[str, Any] = {name: MOST_DRAWS + 1}
    with pytest.raises(InputError, match=f"{name} is 10000001. Give a whole number from 0 to 10,000,000"):
        pv.cohesion(study().ratings, "gender", **given)
    done = run_cli("cohesion", "ratings.csv", f"--{option}", "999999999999")
    assert done.code == 2
    assert "Input should be less than or equal to 10000000" in done.words
    assert "0<=x<=10000000" in run_cli("cohesion", "--help").words
    (folder / "plurivox.toml").write_text(f"[cohesion]\n{name} = 999999999999\n")
    done = run_cli("cohesion", "ratings.csv")
    assert (done.code, "Give a whole number from 0 to 10,000,000." in done.err) == (1, True)


@pytest.mark.parametrize(("given", "said"), [
    ({"n_items": 10**8}, "n_items is 100000000, but must be at most 10,000,000."),
    ({"n_items": 10**7, "n_raters": 10**7}, "the number of ratings is 100000000000000, but must be at most 100,0"),
    ({"n_items": 10**7, "n_raters": 10**7, "ratings_per_item": (2, 11)}, "the number of ratings is 110000000, but"),
    ({"n_items": 10**7, "n_raters": 1, "trained": 0, "scale": "0:9"},
     "the number of predicted probabilities is 300000000, but"),
    ({"trained": 10**6, "n_items": 10**5}, "the number of ratings of trained raters is 100000000000, but"),
    ({"seed": 2**63}, "seed is 9223372036854775808, but must be at most 9,223,372,036,854,775,807."),
])  # fmt: skip
def test_simulated_studies_have_a_limit(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as raised:
        pv.simulate(**given)
    assert said in str(raised.value)


def test_a_question_that_nobody_knows() -> None:
    with pytest.raises(SelectionError, match="plurivox has no question named 'Ratings'"):
        Study(study().ratings).ask("Ratings")
    with pytest.raises(InputError, match="reference is 3"):
        Study(study().ratings, {"reference": 3}).ask("responsiveness", permutations=0)
    with pytest.raises(InputError, match="ratings is None"):
        Study(None)  # type: ignore[arg-type]


def test_what_is_quoted_is_short() -> None:
    assert shown("x" * 10**6) == repr("x" * 80) + "…"
    assert shown(list(range(10**4))) == "a list"
    assert shown(10**5000) == "a whole number of more than 80 digits"
    assert shown(pl.DataFrame({"rater": ["Jane Doe"]})) == "a DataFrame"
    assert shown(object()) == "<object object>"


def test_kinds() -> None:
    assert fits([1, 2.5], list[float])
    assert fits(np.arange(3), list[int])
    assert not fits("abc", list[str])
    assert not fits(True, int)
    assert not fits(10**400, float)
    assert not fits({"a": [1]}, dict[str, list[str]])
    assert fits({"a": ["b"]}, dict[str, list[str]])


def test_an_alias_is_what_it_stands_for() -> None:
    extensions = pytest.importorskip("typing_extensions")
    some, ndarray = TypeVar("some"), vars(np)["ndarray"]
    array = extensions.TypeAliasType("array", ndarray[Any, some], type_params=(some,))  # as numpy 2.5 has it
    share = extensions.TypeAliasType("share", float | None)
    assert fits(np.zeros(3), array[np.float64])
    assert not fits([0.0], array[np.float64])
    assert fits(0.5, share)
    assert not fits("0.5", share)
    assert words(share) == words(float | None)
