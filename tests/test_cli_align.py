"""``plurivox align``, run as the program on files it made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import plurivox as pv
from plurivox.ask.question import Reply, Request
from plurivox.ask.store import Store
from plurivox.lenses.alignment import LENS
from support import Write
from support import run_cli as run

FAST = ("--fast", "--bootstrap", 0, "--permutations", 0)


class Study(NamedTuple):
    """Files of a simulated study."""

    folder: Path

    @property
    def files(self) -> tuple[Path, Path]:
        return self.folder / "ratings.csv", self.folder / "answers.csv"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("study")
    assert run("simulate", folder, "--items", 60, "--raters", 50, "--seed", 3).code == 0
    return Study(folder)


def test_tables_and_findings_reach_the_terminal(study: Study) -> None:
    done = run("align", *study.files, "--by", "age", "--subset", "violation", "--bootstrap", 50, "--permutations", 99)
    assert done.code == 0
    for title in (
        "Rated items, and what became of them", "Distance from all raters", "ADA-Met by violation", "ADA-Met by age",
        "The closest group", "Standing in for a rater", "Agreement among models", "see most differently",
    ):  # fmt: skip
        assert title in done.out
    assert (
        "No model is said to reflect the view of one group: none is certain to lie closer to one group than to all "
        "others; the smallest p = "
    ) in done.words
    assert "answers of model-a, model-b, model-c" in done.err


def test_json_csv_and_markdown_say_the_same(study: Study) -> None:
    found = pv.Alignment.from_json(run("align", *study.files, "--json", *FAST).out)
    csv = pl.read_csv(run("align", *study.files, "--csv", *FAST).out.encode())
    assert csv["value"].to_list() == pytest.approx(found.to_frame()["value"].to_list(), nan_ok=True)
    assert "| model-a |" in run("align", *study.files, "--markdown", *FAST).out
    ratings = pv.read_ratings(study.folder / "ratings.csv", scale="0:4")
    answers = pv.read_answers(study.folder / "answers.csv", "0:4")
    quick: dict[str, Any] = {"bootstrap": 0, "permutations": 0, "subsamples": 0}
    again = pv.alignment(ratings, answers, as_rater=False, **quick)
    assert again.value("model-b") == found.value("model-b")


@pytest.mark.parametrize("table", LENS.csv_tables)
def test_every_table_prints_as_csv(study: Study, table: str) -> None:
    done = run("align", *study.files, "--by", "age", "--csv", "--table", table, *FAST)
    assert done.code == 0
    assert "," in done.out.splitlines()[0]


def test_a_store_of_answers_is_read_with_its_prompts_and_orders(tmp_path: Path) -> None:
    path, scale = tmp_path / "a.db", pv.Scale(["no", "yes"])
    with Store.open(path, {"labels": ["no", "yes"], "question": "Rude?"}) as store:
        for item, point in (("1", 0), ("2", 1)):
            messages = ({"role": "user", "content": item},)
            request = Request("http://localhost", "m", "plain", item, 0, (1, 0), messages)
            store.claim([request])
            store.put(request, Reply("x"), state="answered", point=point)
    answers = pv.read_answers(path, scale)
    assert [str(voice) for voice in answers.voices] == ["m, plain"]
    assert answers.point.tolist() == [0, 1]
    assert answers.shown is not None
    assert answers.shown.tolist() == [1, 0]
    with pytest.raises(pv.InputError, match="the answers are on no < yes"):
        pv.read_answers(path, pv.Scale(["no", "maybe", "yes"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--subset", "topic"), "items have no attribute 'topic'"),
        (("--by", "income"), "raters have no attribute 'income'"),
        (("--table", "x"), "--table must be one of"),
        (("--family", "gpt"), "write it as gpt=gpt-4o,gpt-3.5"),
        (("--model", "who"), "there is no column 'who'"),
        (("--tolerance", "0.7"), "tolerance is 0.7"),
        (("--convention", "x"), "convention is 'x'"),
    ],
)
def test_wrong_options_get_one_clear_message(study: Study, options: tuple[str, ...], message: str) -> None:
    done = run("align", *study.files, *FAST, *options)
    assert done.code != 0
    assert message in " ".join(done.err.split())
    assert "Traceback" not in done.err


def test_names_from_data_stay_text(write: Write) -> None:
    ratings = write("r.csv", "item,rater,score\n1,a,0\n1,b,1\n2,a,1\n")
    answers = write("a.csv", 'model,item,answer\n"=cmd()",1,0\n"[red]x",2,1\n')
    done = run("align", ratings, answers, "--scale", "0:1", "--csv", *FAST)
    assert "\n'=cmd()" in done.out
    assert "[red]x" in run("align", ratings, answers, "--scale", "0:1", *FAST).out


def test_the_file_is_named_where_answers_are_missing(write: Write) -> None:
    ratings = write("r.csv", "item,rater,score\n1,a,0\n1,b,1\n")
    done = run("align", ratings, write("a.csv", "model,item,answer\nm,9,0\n"), "--scale", "0:1", *FAST)
    assert done.code == 1
    assert "a.csv: no item with an answer is rated" in done.err
    twice = run("align", ratings, write("b.csv", "model,item,answer\nm,1,0\nm,1,1\n"), "--scale", "0:1", *FAST)
    assert "b.csv" in twice.err
    assert "more than once" in twice.err
    assert json.loads(run("align", ratings, write("c.csv", "model,item,answer\nm,1,0\n"), "--scale", "0:1", "--json",
                          *FAST).out)["kind"] == "alignment"  # fmt: skip
