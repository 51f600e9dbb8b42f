"""Settings records: canonical values, checks, JSON, keys, and public functions made of them."""

from __future__ import annotations

import inspect
import json
import os
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plurivox.base.errors import InputError
from plurivox.base.settings import Axes, Frozen, Settings, setting, shared
from plurivox.base.settings.record import frozen, mapping, ordered_mapping, read_prior, read_two, read_value
from plurivox.engine.pool import Running
from plurivox.infer.lens import keywords


@dataclass(frozen=True, kw_only=True, slots=True)
class ToySettings(Settings):
    by: Axes = shared.by()
    level: Any = shared.level("nominal")
    permutations: int = shared.permutations(100)
    seed: int = shared.seed()
    correction: str = shared.correction()
    within: tuple[str, ...] | None = shared.within()
    contrast: tuple[str, str] | None = shared.contrast()
    several: Frozen = shared.several()
    prior: Any = shared.prior()
    threshold: Any = shared.threshold()
    pairs: bool = shared.pairs()
    share: float = setting(0.5, "A share.", least=0, most=1)
    few: int | None = setting(None, "A few.", least=1)
    word: str = setting("a", "A word.", doc="A word\nthat needs no explanation.")
    order: Frozen = setting(Frozen(), "In order.", canonical=ordered_mapping)

    def check(self) -> None:
        if self.pairs and self.contrast:
            raise InputError("pairs and contrast do not go together", hint="Choose one.")


def asking(by: Any = "age", **given: Any) -> ToySettings:
    return ToySettings(by=by, **given)


NAME = st.text(max_size=5)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
ASKED = st.fixed_dictionaries(
    {"by": st.lists(st.one_of(NAME, st.lists(NAME, min_size=1, max_size=3)), max_size=3)},
    optional={
        "level": st.one_of(st.sampled_from(shared.LEVELS), st.lists(st.lists(NUMBER, max_size=3), max_size=3)),
        "permutations": st.integers(0, 10**6), "seed": st.integers(0, 2**63 - 1),
        "correction": st.sampled_from(shared.CORRECTIONS),
        "within": st.one_of(st.none(), NAME, st.lists(NAME, max_size=3)),
        "contrast": st.one_of(st.none(), st.tuples(NAME, NAME)),
        "several": st.one_of(st.none(), st.dictionaries(NAME, NAME, max_size=3)),
        "prior": st.one_of(st.just("empirical-bayes"), NUMBER, st.lists(NUMBER, max_size=3)),
        "threshold": st.one_of(st.none(), st.integers(), st.booleans(), NUMBER, NAME), "share": st.floats(0, 1),
        "few": st.one_of(st.none(), st.integers(1, 2**63 - 1)), "word": NAME,
        "order": st.dictionaries(NAME, st.lists(NAME, max_size=2), max_size=3),
    },
)  # fmt: skip


@given(ASKED)
def test_a_record_survives_json_pickle_and_itself(asked: dict[str, Any]) -> None:
    made = ToySettings(**asked)
    text = json.dumps(made.as_dict(), allow_nan=False)
    again = ToySettings.from_dict(json.loads(text))
    assert again == made
    assert hash(again) == hash(made)
    assert again.key() == made.key()
    assert json.dumps(again.as_dict()) == text
    assert pickle.loads(pickle.dumps(made)) == made
    assert made.replace() == made
    assert list(made.as_dict()) == list(ToySettings.specs())


@given(ASKED, ASKED, st.randoms())
def test_keys_are_alike_exactly_for_the_same_json(first: dict[str, Any], second: dict[str, Any], random: Any) -> None:
    one, other = ToySettings(**first), ToySettings(**second)
    assert (one.key() == other.key()) == (json.dumps(one.as_dict()) == json.dumps(other.as_dict()))
    names = list(first)
    random.shuffle(names)  # the order of keywords makes no difference
    assert ToySettings(**{name: first[name] for name in names}).key() == one.key()


def test_the_key_is_the_same_in_other_processes(tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text(
        "from dataclasses import dataclass\nfrom plurivox.base.settings import Frozen, Settings, shared\n"
        "@dataclass(frozen=True, kw_only=True, slots=True)\nclass Toy(Settings):\n"
        "    by: tuple[tuple[str, ...], ...] = shared.by()\n    several: Frozen = shared.several()\n"
        "    seed: int = shared.seed()\n"
        "print(Toy(by=['ä', ('b', 'c')], several={'y': ';', 'x': ','}).key(), hash('ä'))\n"
    )
    outputs = set()
    for number in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": number}
        program = [sys.executable, str(tmp_path / "toy.py")]
        done = subprocess.run(program, capture_output=True, text=True, check=True, env=environment)
        outputs.add(tuple(done.stdout.split()))
    keys = {key for key, _ in outputs}
    assert len({number for _, number in outputs}) == 2  # hashes do differ
    # sha256 of ["Toy",[["by",[["\u00e4"],["b","c"]]],["seed",0],["several",{"x":",","y":";"}]]], by sha256sum
    assert keys == {"211d232cbcecf7fc"}


@pytest.mark.parametrize(("ways", "name"), [
    (["age", ["age"], [("age",)], [["age"]], (("age",),), ("age",), np.array(["age"])], "by"),
    ([("race", "age"), [("race", "age")], [["race", "age"]]], "by"),
    ([1, 1.0, np.float64(1), np.array(1), np.int8(1)], "prior"),
    ([[1, 2], (1.0, 2.0), np.array([1, 2]), pl.Series([1.0, 2.0])], "prior"),
    ([[[0, 1], [1, 0]], np.array([[0, 1], [1, 0]]), np.eye(2)[::-1]], "level"),
    (["nominal", np.str_("nominal")], "level"), ([5, np.int64(5), np.uint8(5)], "permutations"),
    (["batch", ["batch"], ("batch",)], "within"),
    ([{"a": ";", "b": ","}, {"b": ",", "a": ";"}, Frozen([("a", ";"), ("b", ",")])], "several"),
    ([None, {}], "several"), ([0, 0.0, -0.0, np.float32(0)], "share"), ([True, np.True_], "pairs"),
    (["bh", np.str_("bh")], "correction"), ([1, np.int64(1)], "threshold"),
])  # fmt: skip
def test_all_ways_to_write_a_value_are_one(ways: list[Any], name: str) -> None:
    made = [ToySettings(**{"by": "age", name: way}) for way in ways]
    assert len(set(made)) == 1
    assert len({one.key() for one in made}) == 1
    assert len({json.dumps(one.as_dict()) for one in made}) == 1
    crossing, two, none = (asking(by=by).by for by in (("race", "age"), ["race", "age"], ()))
    assert (crossing, two, none) == ((("race", "age"),), (("race",), ("age",)), ())


COUNTED = "Give a whole number from 0 to 10,000,000."


@pytest.mark.parametrize(("wrong", "told"), [
    *(({"permutations": given}, f"permutations is {given!r}. {COUNTED}") for given in (-1, 1.5, True, None, "5")),
    ({"seed": 2**63}, "seed is 9223372036854775808. Give a whole number of at least 0."),
    ({"correction": "fdr"}, "correction is 'fdr'. Choose one of maxt, bh, by, holm, bonferroni, none."),
    ({"correction": ["bh"]}, "correction is ['bh']. Choose one of maxt, bh, by, holm, bonferroni, none."),
    ({"level": "nomnal"}, "level is 'nomnal'. Choose one of nominal, ordinal, interval, or a matrix of distances"),
    ({"level": 3}, "level is 3. Choose one of nominal"), ({"pairs": 1}, "pairs is 1. Give True or False."),
    ({"share": 1.5}, "share is 1.5. Give a number from 0 to 1."),
    ({"share": float("nan")}, "share is nan. Give a number from 0 to 1."),
    ({"share": True}, "share is True. Give a number from 0 to 1."),
    ({"few": 0}, "few is 0. Give a whole number of at least 1."), ({"word": 3}, "word is 3. Give a text."),
    ({"word": None}, "word is None. Give a text."), ({"by": 3}, "by is 3. Give rater attributes, or crossings of them"),
    ({"by": [3]}, "by is [3]. Give rater attributes"),
    ({"by": [["age", 3]]}, "by is [['age', 3]]. Give rater attributes"),
    ({"contrast": ["Man"]}, "contrast is ['Man']. Give the names of two groups of one axis."),
    ({"contrast": "ab"}, "contrast is 'ab'. Give the names of two groups"),
    ({"within": 3}, "within is 3. Give one or more rater attributes."),
    ({"several": "race"}, "several is 'race'. Give the separator of each attribute's values: {'race': ';'}."),
    ({"several": {1: ";"}}, "several is {1: ';'}. Give the separator"),
    ({"threshold": {1, 2}}, "threshold is {1, 2}. Give another value."), ({"threshold": object}, "Give another value."),
    ({"pairs": True, "contrast": ("a", "b")}, "pairs and contrast do not go together. Choose one."),
])  # fmt: skip
def test_wrong_values_are_told(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as caught:
        ToySettings(**{"by": "age", **wrong})
    assert told in str(caught.value)


def test_records_do_not_change() -> None:
    made = asking(several={"race": ";"})
    with pytest.raises(FrozenInstanceError):
        made.seed = 3  # type: ignore[misc]
    with pytest.raises(TypeError, match="does not support item assignment"):
        made.several["race"] = ","  # type: ignore[index]
    assert made.replace(seed=3).seed == 3
    assert made.seed == 0


def test_unknown_and_missing_settings_are_named() -> None:
    with pytest.raises(InputError, match=r"there is no setting 'sed'\. Known: by, level, permutations"):
        ToySettings.from_dict({"by": "age", "sed": 1})
    with pytest.raises(InputError, match=r"by is missing\. Give by\."):
        ToySettings.from_dict({})
    with pytest.raises(InputError, match="there is no setting 'sed'"):
        asking().replace(sed=1)


def test_two_classes_with_the_same_values_have_two_keys_and_fields_must_be_settings_with_a_canonical_form() -> None:
    @dataclass(frozen=True, kw_only=True, slots=True)
    class One(Settings):
        seed: int = shared.seed()

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Other(Settings):
        seed: int = shared.seed()

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Plain(Settings):
        seed: int = 0

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Listed(Settings):
        names: tuple[str] = setting((), "Names.")

    assert One().key() != Other().key()
    with pytest.raises(TypeError, match=r"Plain.seed is not declared with setting"):
        Plain()
    with pytest.raises(TypeError, match=r"Listed.names needs canonical="):
        Listed()


def test_records_inherit() -> None:
    @dataclass(frozen=True, kw_only=True, slots=True)
    class More(ToySettings):
        top: int = setting(5, "More.", least=0)

    assert list(More.specs()) == [*ToySettings.specs(), "top"]
    assert More.from_dict({"by": "age", "seed": 3}).as_dict() == {**asking(seed=3).as_dict(), "top": 5}


def test_frozen_mappings() -> None:
    made = mapping({"b": [1, 2], "a": {"d": 1, "c": 2}})
    assert list(made) == ["a", "b"]
    assert made == {"a": {"c": 2, "d": 1}, "b": (1, 2)}
    assert made != {"a": 1}
    assert made != 3
    assert len(made) == 2
    assert repr(made) == "{'a': {'c': 2, 'd': 1}, 'b': (1, 2)}"
    assert "z" not in made
    assert ordered_mapping({"b": 1, "a": 2}) != ordered_mapping({"a": 2, "b": 1})
    assert frozen(range(2)) == (0, 1)


@pytest.mark.parametrize(("read", "text", "told"), [
    (read_two, "Man", "needs two groups separated by a comma, not 'Man'"),
    (read_value, "ethnicity", "needs ATTRIBUTE=VALUE, not 'ethnicity'"),
    (read_value, "ethnicity= ", "needs ATTRIBUTE=VALUE, not 'ethnicity= '"),
    (read_prior, "1,x", "must be a number, comma-separated numbers for all points, auto or empirical-bayes, not '1,x'"),
])  # fmt: skip
def test_wrong_options_are_told(read: Any, text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read(text)


def test_options_are_read() -> None:
    assert read_two("Man, Woman") == ("Man", "Woman")
    assert read_value(" gender = Woman ") == {"gender": "Woman"}
    assert [read_prior(text) for text in ("1", "1,1,2", "empirical-bayes")] == [1.0, [1.0, 1.0, 2.0], "empirical-bayes"]


@keywords(ToySettings)
def toy(ratings: object, answers: object, *, train: object = None, settings: ToySettings, how: Running) -> Any:
    """Do what a toy does.

    It says what it got.

    Parameters
    ----------
    answers
        What they said,
        on two lines.
    train
        Others.

    Returns
    -------
    tuple
        All of it.

    Examples
    --------
    >>> toy(1, 2, by="age")[0]
    1
    """
    return ratings, answers, train, settings, how


def test_keywords_become_a_record() -> None:
    ratings, answers, train, settings, how = toy(1, 2, "age", train=3, seed=np.int64(4), threads=2, progress=print)
    assert (ratings, answers, train) == (1, 2, 3)
    assert settings == asking(seed=4)
    assert how == Running(2, None, print)
    assert toy(1, answers=2, by="age")[1:3] == (2, None)
    assert toy.run(1, 2, settings=settings, how=Running())[3] is settings
    assert toy.settings is ToySettings


def test_the_signature_is_that_of_a_hand_written_function() -> None:
    def by_hand(  # type: ignore[no-untyped-def]
        ratings,
        answers,
        by=(),
        *,
        level="nominal", permutations=100, seed=0, correction="maxt", within="auto", contrast=None, several=None,
        prior=1.0, threshold=None, pairs=False, share=0.5, few=None, word="a", order=None,
        train=None, threads=None, executor=None, progress=None,
    ):  # fmt: skip
        pass

    made, wanted = inspect.signature(toy).parameters, inspect.signature(by_hand).parameters
    assert {(one.name, one.kind) for one in made.values()} == {(one.name, one.kind) for one in wanted.values()}
    assert list(made)[:3] == list(wanted)[:3]
    different = {name for name in made if made[name].default != wanted[name].default}
    assert different == {"by", "several", "order"}  # required, and two empty mappings
    assert made["by"].default is inspect.Parameter.empty
    assert made["by"].annotation == "By | Sequence[By]"
    assert made["seed"].annotation == "int"
    assert toy.__name__ == "toy"
    assert toy.__module__ == __name__


@pytest.mark.parametrize(("given", "told"), [
    ({"by": "age", "perms": 3}, "toy() got an unexpected keyword argument 'perms'"),
    ({}, "toy() missing a required argument: 'by'"),
    ({"by": "age", "settings": 3}, "toy() got an unexpected keyword argument 'settings'"),
    ({"by": "age", "ratings": 3}, "toy() multiple values for argument 'ratings'"),
])  # fmt: skip
def test_wrong_keywords_read_like_pythons_own(given: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError) as caught:
        toy(1, 2, **given)
    assert str(caught.value) == told
    with pytest.raises(TypeError, match=r"toy\(\) too many positional arguments"):
        toy(1, 2, "age", 4)


def test_the_docstring_has_every_parameter_in_order() -> None:
    text = inspect.cleandoc(toy.__doc__ or "")
    start = "Do what a toy does.\n\nIt says what it got.\n\nParameters\n----------\nratings\n    Who rated"
    assert text.startswith(start)
    assert text.endswith('>>> toy(1, 2, by="age")[0]\n1')
    assert "answers\n    What they said,\n    on two lines.\nby\n    Rater attributes, or crossings" in text
    assert "word\n    A word that needs no explanation.\n" in text
    assert "threads, executor\n    How many threads to use, one per core by default; or an executor" in text
    names = [line for line in text.partition("Returns")[0].splitlines()[6:] if line and line[0] not in " -"]
    assert ", ".join(names).split(", ") == list(inspect.signature(toy).parameters)
    assert max(map(len, text.splitlines())) <= 120


def test_docstrings_may_be_missing_or_short_but_inputs_must_be_described() -> None:
    def silent(ratings: object, *, settings: ToySettings, how: Running) -> None:
        pass

    def short(ratings: object, *, settings: ToySettings, how: Running) -> None:
        """Be short."""

    def unknown(ratings: object, answers: object, *, settings: ToySettings, how: Running) -> None:
        """Take answers."""

    assert keywords(ToySettings)(silent).__doc__ is None
    assert (keywords(ToySettings)(short).__doc__ or "").startswith("Be short.\n\nParameters\n----------\nratings\n")
    with pytest.raises(TypeError, match="the docstring of unknown does not say what 'answers' is"):
        keywords(ToySettings)(unknown)


def test_settings_import_nothing_heavy() -> None:
    script = (
        "import sys, plurivox.base.settings, plurivox.infer.lens, plurivox.infer.lens\n"
        "print([name for name in ('numpy', 'polars', 'numba', 'scipy', 'typer', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
