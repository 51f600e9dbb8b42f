"""A panel beside its population in the workbench: shown, used in every run, and the same in commands and Python."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import plurivox as pv
from plurivox.base.errors import InputError
from plurivox.workbench.bench import begin, role_of
from plurivox.workbench.store import StudyStore
from support import run_cli
from workbench_support import OWN, RATINGS, add_study, send, settled, workbench

pytest.importorskip("starlette")
pytest.importorskip("vl_convert")


POPULATION = "attribute,value,share\ngender,woman,0.75\ngender,man,0.25\n"
LACKING = "attribute,value,share\ngender,woman,0.6\ngender,man,0.3\ngender,other,0.1\n"
ASKED = "go=1&by=gender&permutations=9&max_permutations=9&interval=none"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with workbench(tmp_path_factory.mktemp("bench")) as found:
        yield found


@pytest.fixture(scope="module")
def study(client: Any) -> str:
    return add_study(client, population=POPULATION)


def put(client: Any, home: str, text: str) -> None:
    files = [("files", ("population.csv", text))]
    done = client.post(f"{home}/files", data={"role": "population"}, files=files, headers=OWN, follow_redirects=False)
    assert done.status_code == 303, done.text


def own() -> pv.Ratings:
    return pv.read_ratings("ratings.csv", by=["gender"])


def shown_of(page: str, what: str) -> str:
    found = re.search(rf"<code>({what}.*?)</code>", page, re.DOTALL)
    assert found
    return unescape(found[1])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "ratings.csv").write_text(RATINGS)
    (tmp_path / "population.csv").write_text(POPULATION)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_panel_is_shown_beside_the_population(client: Any, study: str, here: Path) -> None:
    page = settled(client, study)
    assert "Panel and population" in page
    assert (
        "<strong>12</strong> <span>effective raters" in page
    )  # 14 · (Σw)²/(n·Σw²) = 11.2, by the rounded design effect 11.7
    assert "design effect 1.2<" in page  # 0.75²/0.5 + 0.25²/0.5 = 1.25
    assert "shares of gender, to which raters are weighted" in page
    assert "woman (7)" in page  # a column that the population speaks of is about raters
    look = client.post(f"/api/v1{study}/look", headers=OWN).json()["result"]["beside"]["population"]["panel"]
    cells = {cell["value"]: cell for cell in look["cells"]}
    assert cells["woman"]["mean_weight"] == pytest.approx(1.5)
    assert cells["man"]["panel_share"] == 0.5
    assert "--weights population.csv" in shown_of(page, "plurivox report")


def test_a_lens_its_command_and_its_lines_give_the_same_weighted_numbers(
    client: Any, study: str, here: Path
) -> None:  # fmt: skip
    settled(client, study)
    page = settled(client, f"{study}/lenses/cohesion?{ASKED}")
    settings: dict[str, Any] = {"by": [["gender"]], "permutations": 9, "max_permutations": 9, "interval": "none"}
    told = client.post(f"/api/v1{study}/questions/cohesion", json={"settings": settings}, headers=OWN).json()
    rows = json.loads(pv.cohesion(own().weighted("population.csv"), **settings).to_json(draws=False))["rows"]
    assert told["result"]["rows"] == rows
    assert any(row["unweighted"] not in (None, row["value"]) for row in rows)
    done = run_cli(*shlex.split(shown_of(page, "plurivox cohesion"))[1:], "--json")
    assert json.loads(done.out)["rows"] == rows, done.err
    known: dict[str, Any] = {}
    exec(shown_of(page, "import plurivox"), known)
    assert json.loads(known["found"].to_json(draws=False))["rows"] == rows


def test_a_lens_that_knows_no_weights_says_so(client: Any, study: str) -> None:
    settled(client, study)
    for _ in range(2):  # also of a result that was kept
        page = settled(client, f"{study}/lenses/psychometrics?go=1")
        assert "does not use weights: every rater counts equally" in page


def test_a_report_and_its_config_have_the_weights(client: Any, here: Path) -> None:
    home = add_study(client, population=POPULATION)
    settled(client, home)
    assert send(client, f"{home}/reading", trim="1.25").status_code == 303
    page = settled(client, home)
    assert "No weights meet all shares" in page or "cannot be used yet" in page  # women need 1.5 times the mean
    assert send(client, f"{home}/reading", trim="1.75").status_code == 303
    assert "--trim 1.75" in shown_of(settled(client, home), "plurivox report")
    few = {"permutations": "9", "max_permutations": "9", "interval": "none"}
    done = send(client, f"{home}/ask", by="gender", reference="crowd", **few)
    results = str(done.headers["location"])
    settled(client, results)
    assert "How the ratings were weighted" in settled(client, f"{results}&part=study")
    text = client.get(f"{home}/export/plurivox.toml").text
    assert 'weights = "population.csv"' in text
    assert "trim = 1.75" in text
    (here / "plurivox.toml").write_text(text)
    assert "(design effect 1.2)" in run_cli("variation", "ratings.csv").err
    assert "have changed since" not in settled(client, results)
    put(client, home, POPULATION.replace("0.75", "0.5").replace("0.25", "0.5"))
    assert "have changed since" in settled(client, results)  # what was worked out is of the other shares
    assert send(client, f"{home}/files/population/delete").status_code == 303
    page = settled(client, home)
    assert "effective raters" not in page
    assert "--trim" not in page


@pytest.mark.parametrize(
    ("text", "problem"),
    [(LACKING, "other"), ("attribute,value,share\ngender,woman,1\n", "man"), ("a,b\n1,2\n", "attribute"),
     ("attribute,value,share\nage,young,1\n", "no attribute")],
)  # fmt: skip
def test_what_is_wrong_is_said_where_the_file_is(client: Any, text: str, problem: str) -> None:
    home = add_study(client, population=text)
    page = settled(client, home)
    place = page.index('id="file-population"')
    assert "This cannot be used yet" in page[place:]
    assert problem in page[place:]
    assert "What to do" in page[place:]
    assert 'href="#file-population"' in page[:place]
    assert "168" in page  # the ratings are there all the same
    assert "ask questions" not in page
    asked = client.post(f"/api/v1{home}/questions/variation", json={}, headers=OWN)
    assert asked.status_code == 400
    assert problem in asked.json()["error"]["text"]
    put(client, home, POPULATION)
    assert "ask questions" in settled(client, home)


def test_it_is_given_on_the_command_line(here: Path) -> None:
    pv.pack("ratings.csv", "study.pvx", rater_attributes=["gender"])
    store = StudyStore(here / "bench")
    try:
        for files in (["ratings.csv"], ["study.pvx"]):
            found = store.study(begin(store, files, "population.csv", 2.5).rpartition("/")[2])
            assert list(found.files) == ["ratings", "population"]
            assert found.reading["trim"] == 2.5
        found = store.study(begin(store, ["ratings.csv", "population.csv"]).rpartition("/")[2])
        assert list(found.files) == ["ratings", "population"]
        for wrong in (float("inf"), 0.5):
            with pytest.raises(InputError, match="trim"):
                begin(store, ["ratings.csv"], "population.csv", wrong)
    finally:
        store.close()
    assert run_cli("serve", "--weights", "population.csv").code == 2
    assert run_cli("serve", "ratings.csv", "--trim", "3").code == 2
    assert role_of("Census 2021.csv") == "population"
