"""``plurivox align``, run as the program on files it made."""

from __future__ import annotations

from pathlib import Path

import pytest

import plurivox as pv
from plurivox.ask.question import Reply, Request
from plurivox.ask.store import Store
from support import Write, ran, refused, some
from support import run_cli as run

FAST = ("--fast", "--bootstrap", 0, "--permutations", 0)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("study")
    ran("simulate", folder, "--items", 60, "--raters", 50, "--seed", 3)
    return folder / "ratings.csv", folder / "answers.csv"


def test_json_csv_and_markdown_say_the_same(files: tuple[Path, Path]) -> None:
    found = pv.Alignment.from_json(run("align", *files, "--json", *FAST).out)
    csv = run("align", *files, "--csv", *FAST).frame()
    assert csv["value"].to_list() == pytest.approx(found.to_frame()["value"].to_list(), nan_ok=True)
    assert "| model-a |" in run("align", *files, "--markdown", *FAST).out
    ratings, answers = pv.read_ratings(files[0], scale="0:4"), pv.read_answers(files[1], "0:4")
    again = pv.alignment(ratings, answers, as_rater=False, bootstrap=0, permutations=0, subsamples=0)
    assert again.value("model-b") == found.value("model-b")


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
    assert some(answers.shown).tolist() == [1, 0]
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
def test_wrong_options_get_one_clear_message(files: tuple[Path, Path], options: tuple[str, str], message: str) -> None:
    assert message in refused("align", *files, *FAST, *options, code=None)


def test_names_from_data_stay_text(write: Write) -> None:
    ratings = write("r.csv", "item,rater,score\n1,a,0\n1,b,1\n2,a,1\n")
    answers = write("a.csv", 'model,item,answer\n"=cmd()",1,0\n"[red]x",2,1\n')
    done = run("align", ratings, answers, "--scale", "0:1", "--csv", *FAST)
    assert "\n'=cmd()" in done.out
    assert "[red]x" in run("align", ratings, answers, "--scale", "0:1", *FAST).out


def test_the_file_is_named_where_answers_are_missing(write: Write) -> None:
    asked = ("align", write("r.csv", "item,rater,score\n1,a,0\n1,b,1\n"), "--scale", "0:1", *FAST)
    assert "a.csv: no item with an answer is rated" in refused(*asked, write("a.csv", "model,item,answer\nm,9,0\n"))
    twice = refused(*asked, write("b.csv", "model,item,answer\nm,1,0\nm,1,1\n"))
    assert "b.csv" in twice
    assert "more than once" in twice
