"""Every lens on a packed study against the same lens on ratings in memory, to the last bit."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import NeedsMemoryError
from plurivox.domain import part as parts
from support import run_cli


class Both(NamedTuple):
    """A study in memory and packed, once in one go and once appended; both of many parts."""

    memory: pv.Ratings
    packed: pv.Ratings
    appended: pv.Ratings
    trained: pv.Ratings
    predictions: pl.DataFrame
    folder: Path


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("lenses")
    made = pv.simulate(n_items=60, n_raters=48, effects=[pv.Effect({"gender": "Man"}, shared_sd=1.5)], seed=1)
    ratings = made.ratings
    frame = ratings.to_frame().sample(fraction=0.8, shuffle=True, seed=3)
    frame.write_csv(folder / "all.csv")
    frame[:1000].write_csv(folder / "a.csv")
    frame[1000:].write_csv(folder / "b.csv")
    ratings.raters.write_csv(folder / "raters.csv")
    ratings.items.write_csv(folder / "items.csv")
    tables: dict[str, Any] = {name: folder / f"{name}.csv" for name in ("raters", "items")}
    asked = {"scale": ratings.scale, **tables}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts.runs, "__defaults__", (200,))
        patch.setattr(parts.cut, "__defaults__", (200,))
        memory = pv.read_ratings(folder / "all.csv", **asked)
        packed = pv.pack(folder / "all.csv", folder / "s.pvx", **asked)
        pv.pack(folder / "a.csv", folder / "t.pvx", **asked)
        appended = pv.pack(folder / "b.csv", folder / "t.pvx", append=True, **tables)
        shares = np.random.default_rng(0).dirichlet(np.ones(5), memory.n_items)
        points = {str(label): shares[:, at] for at, label in enumerate(ratings.scale.labels)}
        predictions = pl.DataFrame({"model": ["m"] * memory.n_items, "item": memory.items["item"], **points})
        assert len(memory.parts()) > 8
        assert made.trained is not None
        yield Both(memory, packed, appended, made.trained, predictions, folder)


BY = ["gender", ("gender", "age")]
SUMS: dict[str, Callable[[pv.Ratings, Both], Any]] = {
    "cohesion": lambda s, _: pv.cohesion(s, BY, permutations=19, interval="none"),
    "cohesion, without items": lambda s, _: pv.cohesion(s, "gender", permutations=0, resample="items"),
    "cohesion, without raters": lambda s, _: pv.cohesion(s, "gender", permutations=0, resample="raters"),
    "cohesion, ties": lambda s, _: pv.cohesion(
        s, "gender", permutations=9, ties="random", within="age", interval="none"
    ),
    "variation": lambda s, _: pv.variation(s, BY, permutations=19),
    "responsiveness": lambda s, both: pv.responsiveness(s, both.trained, by="gender", permutations=19),
    "soft scores": lambda s, both: pv.soft_scores(s, both.predictions, by="gender", permutations=19),
    "soft labels": lambda s, _: pv.soft_labels(s, by="gender").write_csv(),
    "description": lambda s, _: pv.describe(s),
    "overview": lambda s, _: _frames(pv.overview(s, by="gender")),
}
"""Beside the cases of test_contract.py; those of it that need no more than memory's sums are not repeated here."""


def _frames(seen: Any) -> str:
    return "".join(frame.write_csv() for frame in (seen.design, seen.usage, seen.styles))


def told(result: Any) -> str:
    """Return a result as text, without where its ratings were read from."""
    text = result if isinstance(result, str) else result.to_json()
    return re.sub(r'"[^"]*(all\.csv|s\.pvx|t\.pvx)"', '"source"', text)


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.filterwarnings("ignore::plurivox.base.errors.SoftScoresWarning")
def test_sums_against_memory(name: str, both: Both) -> None:
    ask = SUMS[name]
    found = told(ask(both.memory, both))
    assert told(ask(both.packed, both)) == found
    assert told(ask(both.appended, both)) == found


@pytest.mark.parametrize("ask", [
    lambda ratings: pv.responsiveness(ratings, "gender=Woman", by="age"), lambda ratings: ratings.to_frame(),
    lambda ratings: ratings.recode("into 2"),
])  # fmt: skip
def test_others_say_what_they_need(ask: Callable[[pv.Ratings], Any], both: Both) -> None:
    with pytest.raises(NeedsMemoryError, match=r"needs the ratings in memory: .*s\.pvx has 2,304"):
        ask(both.packed)


@pytest.mark.slow
def test_other_processes_open_the_folder_themselves(both: Both) -> None:
    with ProcessPoolExecutor(2) as pool:
        far = pv.cohesion(both.packed, "gender", permutations=9, executor=pool)
    assert told(far) == told(pv.cohesion(both.memory, "gender", permutations=9))


def test_the_command_line(both: Both) -> None:
    study = str(both.folder / "c.pvx")
    files = [str(both.folder / name) for name in ("a.csv", "raters.csv", "items.csv")]
    made = run_cli("pack", files[0], "-o", study, "--scale", "0:4", "--raters", files[1], "--items", files[2])
    assert (made.code, "1,000 ratings" in made.out) == (0, True), made.err
    more = run_cli("pack", "--append", str(both.folder / "b.csv"), study, "--raters", files[1], "--items", files[2])
    assert (more.code, "2,304 ratings" in more.out) == (0, True), more.err
    given = ("--by", "gender", "--permutations", "9", "--interval", "none", "--json")
    packed = run_cli("cohesion", study, *given)
    tables = ("--raters", files[1], "--items", files[2])
    read = run_cli("cohesion", str(both.folder / "all.csv"), "--scale", "0:4", *tables, *given)
    assert (packed.code, packed.out) == (0, read.out)
    refused = run_cli("scale", study, "--by", "gender")
    assert (refused.code, "--in-memory" in refused.err) == (1, True)
    assert run_cli("scale", study, "--by", "gender", "--in-memory").code == 0
    for wrong, word in (
        (("pack", files[0]), "name the folder to write"),
        (("pack", files[0], "-o", study, "--where", "gender=Man"), "belongs to an analysis"),
        (("pack", "--append", files[0], study, "-o", study), "--append adds to one packed study"),
    ):
        found = run_cli(*wrong)
        assert (found.code, word in " ".join(found.err.split())) == (2, True)


@pytest.mark.parametrize("damaged", [False, True])
def test_an_interrupted_question_goes_on(both: Both, monkeypatch: pytest.MonkeyPatch, damaged: bool) -> None:
    from plurivox.engine import run
    from plurivox.lenses.cohesion.sums import Agreement

    monkeypatch.setattr(run, "SECONDS", 0.0)
    whole = told(pv.cohesion(both.memory, "gender", permutations=40, interval="none"))
    usual, calls = Agreement.__call__, [0]

    def counted(self: Any, part: Any, draws: Any) -> Any:
        calls[0] += 1
        return usual(self, part, draws)

    monkeypatch.setattr(Agreement, "__call__", counted)

    def ask(**more: Any) -> Any:
        return pv.cohesion(both.packed, "gender", permutations=40, interval="none", threads=1, **more)

    assert told(ask()) == whole
    all_calls, log = calls[0], both.folder / "s.pvx.log"
    assert not log.exists()

    def stop(what: str, done: int, total: int) -> None:
        if what.startswith("permuting") and done > total * 0.6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(progress=stop)
    assert {".npy", ".npz"} <= {path.suffix for path in log.iterdir()}
    if damaged:  # the draws that were finished; sums over some of the parts of the next ones are left
        max(log.glob("*.npy"), key=lambda path: path.stat().st_size).write_bytes(b"damaged")
    calls[0] = 0
    assert told(ask()) == whole
    n_parts, saved = len(both.packed.parts()), all_calls - calls[0]
    assert 0 < saved < n_parts if damaged else n_parts < saved < all_calls
    assert not log.exists()


def test_a_config_that_names_tables_is_followed_in_all_else(tmp_path: Path) -> None:
    lines = [f"i{item},r{rater},{(item * rater) % 3},{'ab'[rater % 2]}" for item in range(6) for rater in range(12)]
    (tmp_path / "ratings.csv").write_text("\n".join(["item,rater,score,kind", *lines]))
    ratings = pv.read_ratings(tmp_path / "ratings.csv", rater_attributes=["kind"])
    pv.pack(tmp_path / "ratings.csv", tmp_path / "study.pvx", rater_attributes=["kind"])
    pv.write_ratings(ratings, tmp_path / "study.parquet")
    (tmp_path / "plurivox.toml").write_text(
        'min_group_size = 7\n[scale]\nlabels = [0, 1, 2]\nunsafe_from = 2\n[raters]\nfile = "raters.csv"\n'
        'by = ["kind"]\n[items]\nfile = "items.csv"\n'
    )
    for name in ("study.pvx", "study.parquet"):
        done = run_cli("variation", tmp_path / name, "--in-memory", "--json")
        assert done.code == 0, done.err
        assert done.err.count("ignoring raters.csv and items.csv, named in") == 1
        assert "recoded" in done.err
        assert {row["n_raters"] for row in json.loads(done.out)["rows"] if row["axis"] == "kind"} <= {None, 12}
        said = run_cli("variation", tmp_path / name, "--raters", "raters.csv")
        assert said.code != 0
        assert "already contain their attributes" in said.err
    assert run_cli("variation", tmp_path / "ratings.csv").code != 0  # there it is not there
