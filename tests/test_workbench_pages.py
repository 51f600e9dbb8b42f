"""Every page of the workbench, from a file to what is taken away."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("vl_convert")

from exports.label_studio import severity
from plurivox.report.render import browser
from plurivox.workbench.store import Upload
from workbench_support import OWN, RATINGS, add_study, send, settled


@pytest.fixture(scope="module")
def study(client: Any) -> str:
    """A study whose column of gender is said to be about raters."""
    home = add_study(client)
    settled(client, home)
    done = send(client, f"{home}/reading", **{"about:gender": "raters", "scale": "0:3", "revision": "1"})
    assert done.status_code == 303, done.text
    assert "woman (7)" in settled(client, home)
    return home


@pytest.fixture(scope="module")
def results(client: Any, study: str) -> str:
    """The address of the results of a run with few shuffles."""
    revision = re.search(r'name="revision" value="(\d+)"', client.get(f"{study}/ask").text)
    assert revision
    done = send(client, f"{study}/ask", by="gender", permutations="20", max_permutations="20", reference="crowd",
                revision=revision[1])  # fmt: skip
    assert done.status_code == 303, done.text
    where = str(done.headers["location"])
    settled(client, where)
    return where


def test_what_was_recognised_is_shown_with_the_reason(client: Any) -> None:
    page = settled(client, add_study(client))
    assert "by its name" in page
    assert "168" in page  # 12 items by 14 raters
    assert ">r0<" not in page  # raters are numbered
    assert "rater 1" in page


def test_the_whole_way(client: Any, study: str, results: str) -> None:
    first = settled(client, results)
    assert "In short" in first
    for part in ("study", "variation", "cohesion", "responsiveness", "items", "methods"):
        assert '<h2 id="part-title">' in settled(client, f"{results}&part={part}"), part
    assert "plurivox report ratings.csv" in first
    assert "--rater-attributes gender" in first


def test_points_that_were_recoded_are_not_said_to_come_from_the_scores(client: Any) -> None:
    home = add_study(client)
    assert "from the scores themselves" in settled(client, home)
    assert send(client, f"{home}/reading", recode="3=a,0-2=b", revision="1").status_code == 303
    page = settled(client, home)
    assert "points, a to b" in page
    assert "from the scores themselves" not in page


def test_it_can_be_renamed_and_deleted(client: Any) -> None:
    home = add_study(client)
    assert send(client, f"{home}/name", name="Another <name>").status_code == 303
    assert "Another &lt;name&gt;" in client.get("/").text
    assert send(client, f"{home}/delete").headers["location"] == "/"
    assert client.get(home).status_code == 404


def test_an_unreadable_file_is_said_with_what_to_do(client: Any) -> None:
    bad = RATINGS.replace("i3,r2,", "i3,r2,very ")
    page = settled(client, add_study(client, bad))
    assert 'role="alert"' in page
    assert "ratings.csv" in page
    assert "What to do" in page
    assert "ask questions" not in page  # nothing leads on from what cannot be read
    assert client.get("/").status_code == 200


def test_a_scale_of_words_is_put_in_order(client: Any) -> None:
    words = ["No", "Perhaps", "Yes"]
    text = "item,rater,score\n" + "".join(f"i{i},r{r},{words[(i * r) % 3]}\n" for i in range(6) for r in range(6))
    home = add_study(client, text)
    page = settled(client, home)
    assert 'data-order="f-scale"' in page
    assert all(f"<span>{word}</span>" in page for word in words)
    assert send(client, f"{home}/reading", scale="No,Perhaps,Yes").status_code == 303
    assert "3</strong> <span>points, No to Yes" in settled(client, home)


def test_a_wrong_setting_is_one_clear_page(client: Any, study: str) -> None:
    done = send(client, f"{study}/ask", by="gender", permutations="many")
    assert done.status_code == 400
    assert "Permutations is &#39;many&#39;." in done.text
    assert "Traceback" not in done.text
    again = send(client, f"{study}/ask", by="gender", revision="0")
    assert again.status_code == 409
    assert "another tab" in again.text


def test_what_is_not_there_is_said(client: Any, study: str) -> None:
    gone = ("lenses/nothing", "runs/0000/progress", "export/secret.txt", "tables/cohesion/x.exe")
    for path in ("/nothing", "/studies/000000000000", "/assets/../server.py", "/assets/x.js",
                 *(f"{study}/{one}" for one in gone)):  # fmt: skip
        found = client.get(path)
        assert found.status_code == 404, path
        assert "Traceback" not in found.text


def test_a_group_two_groups_and_an_item(client: Any, study: str, results: str) -> None:
    group = settled(client, f"{study}/groups?axis=gender&group=woman")
    assert "7 raters, 84 ratings of 12 items" in group
    assert "Leniency: who rates higher" in group
    both = settled(client, f"{study}/compare?axis=gender&one=woman&other=man")
    assert "woman and man" in both
    listed = settled(client, f"{study}/items?q=I1")
    assert "3 items" in listed  # i1, i10 and i11
    one = settled(client, f"{study}/item?item=i10")
    assert "Item i10" in one
    assert "plurivox item ratings.csv i10" in one
    for page in (group, both, one):
        assert not re.search(
            r"\br\d+\b(?!em)", re.sub(r"<[^>]*>", " ", page.partition("<main")[2].partition('class="same"')[0])
        )


def test_a_group_that_is_not_shown_cannot_be_asked_for(client: Any, study: str, results: str) -> None:
    for query in ("axis=rater&group=r1", "axis=gender&group=nobody", "axis=&group="):
        page = client.get(f"{study}/groups?{query}").text
        assert "view-title" not in page
        assert "stream" not in page


def test_one_lens_with_its_own_settings(client: Any, study: str) -> None:
    plain = client.get(f"{study}/lenses/cohesion").text
    assert 'name="permutations"' in plain
    assert "view-title" not in plain
    page = settled(client, f"{study}/lenses/cohesion?go=1&by=gender&permutations=10&max_permutations=10&level=nominal")
    assert "view-title" in page
    assert "plurivox cohesion ratings.csv" in page
    assert "--permutations 10" in page
    assert "level=&#39;nominal&#39;" in page
    assert "This needs answers" in client.get(f"{study}/lenses/alignment?go=1").text


def test_notes_go_into_the_report(client: Any, study: str, results: str) -> None:
    run = results.rpartition("=")[2]
    assert send(client, f"{study}/notes", place="cohesion", text="Ask <them>.", back=results).status_code == 303
    assert "Ask &lt;them&gt;." in client.get(f"{results}&part=cohesion").text
    assert send(client, f"{study}/export/report", run=run).status_code == 303
    assert "The report (HTML)" in settled(client, f"{study}/export?run={run}")
    report = client.get(f"{study}/export/report.html?run={run}")
    assert report.headers["content-disposition"].startswith("attachment")
    assert "Ask &lt;them&gt;." in report.text
    assert "plurivox report ratings.csv" in report.text
    if browser():
        assert client.get(f"{study}/export/summary.pdf?run={run}").content.startswith(b"%PDF")


def test_tables_and_settings_are_taken_away(client: Any, study: str, results: str) -> None:
    import polars as pl

    csv = client.get(f"{study}/tables/cohesion/values.csv")
    assert csv.headers["content-disposition"] == 'attachment; filename="cohesion-values.csv"'
    frame = pl.read_csv(csv.content)
    assert {"axis", "group", "statistic", "value", "p_adjusted"} <= set(frame.columns)
    assert pl.read_parquet(client.get(f"{study}/tables/cohesion/values.parquet").content).height == frame.height
    assert r"\toprule" in client.get(f"{study}/tables/variation/shown.tex").text
    assert "<table" in client.get(f"{study}/tables/items/shown.html").text
    assert 'columns = ["gender"]' in client.get(f"{study}/export/plurivox.toml").text


def test_every_table_that_is_offered_can_be_had(client: Any, study: str, results: str) -> None:
    page = client.get(f"{study}/export").text
    links = re.findall(rf'href="({study}/tables/[^"]+)"', page)
    assert len(links) > 20
    for link in links:
        found = client.get(link)
        assert found.status_code == 200, link
        assert found.headers.get("content-disposition", "").startswith("attachment"), (link, found.text[:3000])


def test_a_full_disk_is_said_and_changes_nothing(client: Any, study: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Any, piece: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = client.get("/api/v1/studies").json()
    monkeypatch.setattr(Upload, "write", full)
    done = client.post("/studies/files", files={"files": ("a.csv", RATINGS)}, headers=OWN)
    assert done.status_code == 507
    assert "No space left on device" in done.text
    assert "Free some space" in done.text
    replaced = client.post(f"{study}/files", files={"files": ("a.csv", "x")}, data={"role": "ratings"}, headers=OWN)
    assert replaced.status_code == 507
    assert client.get("/api/v1/studies").json() == before


def test_nothing_is_worked_out_twice(client: Any, study: str, results: str) -> None:
    asked = {"by": "gender", "permutations": "20", "max_permutations": "20", "reference": "crowd"}
    assert send(client, f"{study}/ask", **asked).headers["location"] == results


def test_dices_is_recognised_and_answered(client: Any, real_data: Path) -> None:
    folder = real_data / "dices350"
    files = {name: (folder / f"{name}.csv").read_text() for name in ("ratings", "raters", "items")}
    home = add_study(client, files["ratings"], raters=files["raters"], items=files["items"])
    page = settled(client, home)
    assert 'role="alert"' in page  # the order of words is not guessed
    assert all(f"<span>{word}</span>" in page for word in ("No", "Unsure", "Yes"))
    send(client, f"{home}/reading", scale="No,Unsure,Yes", poles="safe,unsafe", **{"keep:raters:removed": "False"})
    page = settled(client, home)
    assert "36,400" in page  # ratings of the 104 raters who were kept, of 350 items
    assert "--where removed=False" in page
    where = f"{home}/lenses/cohesion?go=1&by=gender&permutations=20&max_permutations=20&interval=none"
    assert "view-title" in settled(client, where)


def test_an_export_of_label_studio_is_recognised(client: Any) -> None:
    tasks = [
        {"id": item, "data": {"text": f"text {item}"},
         "annotations": [severity(item * 10 + who, who, 1 + (item + who) % 5) for who in range(1, 7)]}
        for item in range(1, 9)
    ]  # fmt: skip
    home = add_study(client, json.dumps(tasks), "export.json")
    page = settled(client, home)
    assert "Label Studio" in page
    assert "48</strong> <span>ratings" in page
    assert "plurivox report export.json" in page


def test_two_models_side_by_side(client: Any) -> None:
    names = ("one", "two", "three")
    lines = [f"{name},i{item},{(item + at) % 4}\n" for at, name in enumerate(names) for item in range(12)]
    answers = "".join(["model,item,answer\n", *lines])
    home = add_study(client, RATINGS, answers=answers)
    send(client, f"{home}/reading", **{"about:gender": "raters", "scale": "0:3"})
    settled(client, home)
    done = send(client, f"{home}/ask", by="gender", permutations="20", max_permutations="20")
    settled(client, str(done.headers["location"]))
    chooser = client.get(f"{home}/compare").text
    assert all(f">{name}</option>" in chooser for name in names)
    page = settled(client, f"{home}/compare?axis=model&one=one&other=two")
    assert "one and two" in page
    assert "How far answers are from raters" in page
    assert client.get(f"{home}/compare?axis=model&one=one&other=nobody").text.count("view-title") == 0


def test_raters_may_have_several_values_of_an_attribute(client: Any) -> None:
    kinds = ("a;b", "b", "a")
    rows = [
        f"i{item},r{rater},{(item * rater + rater) % 4},{kinds[rater % 3]}" for item in range(9) for rater in range(18)
    ]
    home = add_study(client, "\n".join(["item,rater,score,kind", *rows]))
    settled(client, home)
    given = {"about:kind": "raters", "scale": "0:3", "unsafe_from": "2"}
    assert send(client, f"{home}/reading", **given, **{"several:kind": ";"}).status_code == 303
    page = settled(client, home)
    assert 'name="several:kind" value=";"' in page
    assert "--unsafe-from 2" in page
    assert "2</strong> <span>points, safe to unsafe" in page
    done = send(client, f"{home}/ask", by="kind", permutations="20", max_permutations="20")
    assert "--several &#39;kind=;&#39;" in settled(client, str(done.headers["location"]))
    assert "a: 12 raters, 108 ratings of 9 items." in settled(client, f"{home}/groups?axis=kind&group=a")
    both = settled(client, f"{home}/compare?axis=kind&one=a&other=b")
    assert "b: 12 raters" in both
    assert "Agreement: a less b" not in both  # six raters are in both groups


def test_a_column_of_the_items_is_the_reference(client: Any) -> None:
    items = "item,verdict\n" + "".join(f"i{item},{'bad' if item % 3 else 'good'}\n" for item in range(12))
    home = add_study(client, RATINGS, items=items)
    settled(client, home)
    given = {"about:gender": "raters", "scale": "0:3", "reference_column": "verdict"}
    send(client, f"{home}/reading", **given)
    page = settled(client, home)
    assert "The reference cannot be used yet" in page  # in which order its words are, nobody said
    send(client, f"{home}/reading", **given, reference_scale="good,bad")
    assert "12 ratings of 12 items; scale good &lt; bad" in settled(client, home)
    assert '<option value="column:verdict" selected>verdict<' in client.get(f"{home}/ask").text
    asked = {"by": "gender", "permutations": "20", "max_permutations": "20"}
    done = send(client, f"{home}/ask", **asked, reference="column:verdict")
    assert "--reference-column verdict --reference-scale good,bad" in settled(client, str(done.headers["location"]))
    done = send(client, f"{home}/ask", **asked, reference="crowd")
    assert "--reference-column" not in client.get(str(done.headers["location"])).text


def test_a_column_is_offered_as_the_reference_before_anybody_chose_one(client: Any) -> None:
    items = "item,verdict\n" + "".join(f"i{item},{'bad' if item % 3 else 'good'}\n" for item in range(12))
    home = add_study(client, RATINGS, items=items)
    settled(client, home)
    send(client, f"{home}/reading", **{"about:gender": "raters", "scale": "0:3"})
    settled(client, home)
    assert '<option value="column:verdict">verdict<' in client.get(f"{home}/ask").text
    asked = {"by": "gender", "permutations": "20", "max_permutations": "20", "reference_scale": "good,bad"}
    done = send(client, f"{home}/ask", **asked, reference="column:verdict")
    page = settled(client, str(done.headers["location"]))
    assert "In short" in page
    assert "--reference-column verdict --reference-scale good,bad" in page


def test_a_file_that_plurivox_wrote_is_taken_as_it_is(client: Any, tmp_path: Path) -> None:
    import plurivox as pv

    (tmp_path / "ratings.csv").write_text(RATINGS)
    ratings = pv.read_ratings(tmp_path / "ratings.csv", scale="0:5", poles="safe,unsafe", rater_attributes=["gender"])
    pv.write_ratings(ratings, tmp_path / "own.parquet")
    files = {"files": ("own.parquet", (tmp_path / "own.parquet").read_bytes())}
    done = client.post("/studies/files", files=files, headers=OWN, follow_redirects=False)
    home = str(done.headers["location"])
    page = settled(client, home)
    assert "This was stored by plurivox itself" in page
    assert "6</strong> <span>points, 0 to 5" in page  # also those that nobody used
    assert "man (7), woman (7)" in page
    where = f"{home}/lenses/cohesion?go=1&by=gender&permutations=9&max_permutations=9"
    assert "plurivox cohesion own.parquet --by gender" in settled(client, where)
