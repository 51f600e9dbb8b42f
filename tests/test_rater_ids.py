"""Where people read, raters are numbered unless their ids are asked for, and no error names one."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import SelectionError
from plurivox.infer.exports import for_people
from support import run_cli

SECRET = "worker"
SCALE = "0:3"


class Study(NamedTuple):
    """A study whose raters have ids that must not be seen."""

    ratings: pl.DataFrame
    path: Path
    predictions: Path
    answers: Path

    def read(self) -> pv.Ratings:
        return pv.read_ratings(self.path, scale=SCALE, rater_attributes=["team"])


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    rng, folder = random.Random(2), tmp_path_factory.mktemp("ids")
    cells = itertools.product(range(24), range(12))
    scores = [min(3, max(0, round(rng.gauss(i % 4, 0.7)))) for i, _ in itertools.product(range(24), range(12))]
    rows = [(f"i{i:02}", f"{SECRET}{97 - r}", s, "abc"[r % 3]) for (i, r), s in zip(cells, scores, strict=True)]
    frame = pl.DataFrame(rows, schema=["item", "rater", "score", "team"], orient="row")
    items = [f"i{i:02}" for i in range(24)]
    predictions = pl.DataFrame({"model": "m", "item": items} | {str(p): 0.25 for p in range(4)})
    answers = pl.DataFrame({"model": "m", "item": items, "answer": [str(i % 4) for i in range(24)]})
    names = [folder / name for name in ("ratings.csv", "predictions.csv", "answers.csv")]
    for one, path in zip((frame, predictions, answers), names, strict=True):
        one.write_csv(path)
    return Study(frame, *names)


def command(study: Study, name: str, by: str = "rater") -> list[Any]:
    second = {"score": [study.predictions], "align": [study.answers], "estimate": [study.answers]}.get(name, [])
    few = [] if name in ("describe", "scale", "select", "estimate") else ["--permutations", "20"]
    more = ["--bootstrap", "20", "--min-ratings", "5", "--min-group-size", "2"] if name == "select" else few
    return [name, study.path, *second, "--scale", SCALE, "--rater-attributes", "team", "--by", by, *more]


COMMANDS = ("describe", "cohesion", "responsiveness", "scale", "score", "align", "estimate", "advise", "items")
FORMS = ("", "--markdown", "--latex", "--html")
RUNS = [(name, form) for name in COMMANDS for form in FORMS if name == "cohesion" or not form]


@pytest.mark.parametrize(("name", "form"), RUNS)
def test_no_command_prints_ids_by_itself(study: Study, name: str, form: str) -> None:
    done = run_cli(*command(study, name), *([form] if form else []))
    assert done.code == 0, done.err
    assert SECRET not in done.out + done.err


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "items"])  # which shows no raters
def test_json_holds_ids(study: Study, name: str) -> None:
    done = run_cli(*command(study, name), "--json")
    assert done.code == 0, done.err
    assert {f"{SECRET}{97 - r}" for r in range(12)} <= set(done.out.replace('"', " ").split())


@pytest.mark.parametrize("name", ["describe", "cohesion", "score", "align"])  # those that list raters
def test_ids_are_there_for_whom_they_are_asked(study: Study, name: str) -> None:
    done = run_cli(*command(study, name), "--ids")
    assert done.code == 0, done.err
    assert f"{SECRET}97" in done.out


def test_a_selection_is_numbered_on_the_screen_and_named_in_data(study: Study) -> None:
    asked = command(study, "select", by="team")
    for form, shown in (([], False), (["--markdown"], False), (["--ids"], True), (["--csv"], True), (["--json"], True)):
        done = run_cli(*asked, *form)
        assert done.code == 0, done.err
        assert (SECRET in done.out) is shown, form
        assert SECRET not in done.err
    found = pv.select_raters(study.read(), by="team", bootstrap=20, min_ratings=5, min_group_size=2)
    names = found.shown_frame()["rater"].to_list()
    ids = study.read().raters["rater"].to_list()
    assert [ids[int(name.removeprefix("rater ")) - 1] for name in names] == found.to_frame()["rater"].to_list()
    assert pv.Selection.from_json(found.to_json()).shown_frame()["rater"].to_list() == names


def test_numbers_are_places_in_the_table_of_raters_whatever_the_order(study: Study) -> None:
    ratings = study.read()
    moved = study.ratings.sample(fraction=1, shuffle=True, seed=1)
    shuffled = pv.Ratings.from_frame(moved, scale=ratings.scale, rater_attributes=["team"])
    for one in (ratings, shuffled):
        found = pv.cohesion(one, ["rater", ("team", "rater")], permutations=0, interval="none", min_group_size=1)
        by_id, seen = (
            {row.group: row.value for row in of.rows if row.axis == "rater" and row.statistic == "xrr"}
            for of in (found, for_people(found))
        )
        ids = one.raters["rater"].to_list()
        assert seen == {f"rater {n}": by_id[rater] for n, rater in enumerate(ids, start=1)}
        crossed = {row.group for row in for_people(found).rows if row.axis == "team × rater" and row.group}
        assert {name.split(" × ")[0] for name in crossed} == {"a", "b", "c"}
        assert {name.split(" × ")[1] for name in crossed} == {f"rater {n}" for n in range(1, 13)}


NOTEBOOK: dict[str, Callable[[pv.Ratings], Any]] = {
    "cohesion": lambda r: pv.cohesion(r, "rater", permutations=0, interval="none"),
    "responsiveness": lambda r: pv.responsiveness(r, "crowd", "rater", permutations=0, interval="none"),
    "psychometrics": lambda r: pv.psychometrics(r, "rater"),
    "advise": lambda r: pv.advise(r, "crowd", "rater", permutations=20),
    "select": lambda r: pv.select_raters(r, by="team", bootstrap=20, min_ratings=5, min_group_size=2),
}


@pytest.mark.parametrize("name", NOTEBOOK)
def test_no_notebook_shows_ids(study: Study, name: str) -> None:
    page = NOTEBOOK[name](study.read())._repr_html_()
    assert SECRET not in page
    assert "rater 1" in page or name == "advise"


# Errors -------------------------------------------------------------------------------------------------------------
def made(**columns: Any) -> str:
    return pl.DataFrame(columns).write_csv()


RATED = {"item": [1, 1, 2], "rater": ["workerA", "workerB", "workerA"], "score": [0, 1, 1]}
WRONG = {
    "rated twice": (made(**RATED | {"item": [1, 1, 1]}), [], "rows 2 and 4|row 2 and row 4"),
    "two values": (
        made(**RATED, team=["a", "b", "c"]), ["--rater-attributes", "team", "--conflicts", "error"],
        "rows 2, 4: one rater has more",
    ),
    "control character": (
        made(**RATED | {"rater": ["worker\x01", "b", "c"]}), [], "row 2: the rater id holds a control",
    ),
    "off the scale": (made(**RATED | {"score": [0, 1, 9]}), ["--scale", "0:1"], "row 4: '9' is not a point"),
    "no such rater": (made(**RATED), ["--where", "rater=nobody"], "no rater has the id 'nobody'"),
    "no such reference": (made(**RATED), ["--reference", "rater=nobody"], "no rater has the id 'nobody'"),
    "wide": ("item,workerA,workerB\n1,0,1\n2,1,x\n", ["--wide", "--scale", "0:1"], "row 3, column 3: 'x' is not"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors_name_rows_and_not_raters(tmp_path: Path, name: str) -> None:
    text, options, told = WRONG[name]
    path = tmp_path / "ratings.csv"
    path.write_text(text)
    reads = ["responsiveness", path, "--by", "rater"] if "--reference" in options else ["describe", path]
    done = run_cli(*reads, *options)
    assert done.code == 1
    assert any(one in done.err for one in told.split("|")), done.err
    assert SECRET not in done.err


@pytest.mark.parametrize(("table", "told"), [
    (made(rater=["worker-7", "worker-8"], age=[1, 2]),
     "(2, like 'aaaaaa-9') is among the rater ids of the ratings (2, like 'aaaaaaa')"),
    (made(rater=["workerA", "workerA"], age=[1, 2]), "rows 2, 3: one rater has more than one value"),
    (made(rater=["workerA", ""], age=[1, 2]), "row 3: the rater id is missing"),
])  # fmt: skip
def test_errors_about_a_table_of_raters_name_rows(tmp_path: Path, table: str, told: str) -> None:
    (tmp_path / "ratings.csv").write_text(made(**RATED))
    (tmp_path / "raters.csv").write_text(table)
    given = ("--raters", tmp_path / "raters.csv", "--conflicts", "error")
    done = run_cli("describe", tmp_path / "ratings.csv", *given)
    assert done.code == 1
    assert told in done.err
    assert SECRET not in done.err


def test_a_list_of_unknown_raters_names_none(study: Study) -> None:
    said = "1 of the 2 given raters did not rate here; the first is number 2"
    with pytest.raises(SelectionError, match=said) as told:
        pv.curate(study.read(), by="team", raters=[f"{SECRET}97", f"{SECRET}1"], min_group_size=2)
    assert SECRET not in str(told.value)
