"""Loaders of public data sets, on small files in the originals' format and on copies counted by other means."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plurivox as pv
from docs.building import pages
from plurivox.base.errors import ColumnError, FileError, IdError, InputError, ScoreError, SelectionError
from plurivox.data.record import Dataset
from plurivox.data.sets import catalogue
from support import Write, refused, run_cli, some

ALL = catalogue()


def table(header: Sequence[str], *rows: Mapping[str, Any], delimiter: str = ",") -> str:
    """Return a text with all columns of an original; what a row does not say is empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, header, delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def header(name: str, at: int = 0) -> list[str]:
    one = ALL[name].tables[at]
    return [*one.columns, *one.more]


def scores(ratings: pv.Ratings) -> set[tuple[Any, ...]]:
    return set(ratings.to_frame().select("item", "rater", "score").iter_rows())


def attribute(frame: pl.DataFrame, key: str, name: str) -> dict[Any, Any]:
    return dict(frame.select(key, name).iter_rows())


# The records ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("one", ALL.values(), ids=lambda one: one.name)
def test_a_record_says_what_it_must(one: Dataset) -> None:
    assert one.licence.strip()
    assert one.citation.strip()
    assert one.home.startswith("https://")
    assert one.seen
    assert not any("  " in text for text in (one.note, one.seen, one.citation, one.licence, one.question))
    if one.load is None:
        assert one.tables == ()
        return
    assert one.tables
    named = {file.name for file in one.downloads}
    for t in one.tables:
        assert not set(t.columns) & set(t.more)
        assert not one.downloads or t.name in named or any(name.endswith(".zip") for name in named)
    assert f"`{one.name}`" in pages.datasets_page()


def test_names_are_found_or_named() -> None:
    assert pv.data.names() == sorted(ALL)
    with pytest.raises(SelectionError, match=r"there is no data set 'dices350'.*Did you mean dices-350\?"):
        pv.data.info("dices350")
    with pytest.raises(InputError, match="name is 3"):
        pv.data.load(3)  # type: ignore[arg-type]
    with pytest.raises(FileError, match="dive has no loader"):
        pv.data.load("dive", ".")


# Small files in the originals' format ---------------------------------------------------------------------------------

_CHAT = {"item_id": "173", "context": "A\nB", "response": "C", "degree_of_harm": "Extreme", "harm_type": "['x']"}


def test_dices_350(write: Write) -> None:
    rows = [
        {**_CHAT, "rater_id": "296709543131761", "rater_gender": "Man", "rater_race": "White", "rater_age": "gen z",
         "safety_gold": "Yes", "Q_overall": "Yes"},
        {**_CHAT, "rater_id": "296708581782793", "rater_gender": "Woman", "rater_race": "Multiracial",
         "rater_age": "gen x+", "rater_education": "Other", "safety_gold": "Yes", "Q_overall": "Unsure"},
    ]  # fmt: skip
    path = write("diverse_safety_adversarial_dialog_350.csv", table(header("dices-350"), *rows))
    found = pv.data.load("dices-350", path)
    assert found.ratings.scale.labels == ("No", "Unsure", "Yes")
    assert scores(found.ratings) == {(173, 296709543131761, "Yes"), (173, 296708581782793, "Unsure")}
    assert attribute(found.ratings.raters, "rater", "removed") == {296709543131761: "True", 296708581782793: "False"}
    assert attribute(found.ratings.raters, "rater", "age") == {296709543131761: "gen z", 296708581782793: "gen x+"}
    assert attribute(found.ratings.items, "item", "context") == {173: "A\nB"}
    assert some(found.reference).scale.labels == ("No", "Yes")
    assert scores(some(found.reference)) == {(173, "experts", "Yes")}
    assert found.licence.startswith("CC BY 4.0")
    assert "Aroyo" in found.citation
    assert found.ratings.intake.source == str(path)


def test_dices_990(write: Write) -> None:
    row = {**_CHAT, "rater_id": "1", "rater_gender": "Man", "rater_locale": "India", "Q_overall": "No"}
    found = pv.data.load("dices-990", write("d.csv", table(header("dices-990"), row)))
    assert attribute(found.ratings.raters, "rater", "locale") == {1: "India"}
    assert some(found.reference).scale.labels == ("Benign", "Debatable", "Moderate", "Extreme")
    assert scores(some(found.reference)) == {(173, "experts", "Extreme")}


def test_d3code(write: Write, tmp_path: Path) -> None:
    ratings = [("i1", "r1", 4, 1), ("i1", "r2", 0, 0), ("i2", "r1", -1, "na")]
    names = ("item_id", "rater_id", "rating_raw", "rating_binary")
    write("d3-ratings.csv", table(header("d3code"), *(dict(zip(names, one, strict=True)) for one in ratings)))
    who = {"Age": "18-30", "Gender": "Man", "Region": "Arab Culture", "Country": "Qatar", "SES": "5", "care": "3.83"}
    write("d3-raters.csv", table(header("d3code", 1), {"rater_id": "r1", **who}, {"rater_id": "r2", "Age": "50+"}))
    items = [{"item_id": "i1", "text": "One, two", "category": "random"}, {"item_id": "i2", "text": "Three"}]
    write("d3-items.csv", table(header("d3code", 2), *items))
    for given in (tmp_path, tmp_path / "d3-ratings.csv"):
        found = pv.data.load("d3code", given).ratings
        assert scores(found) == {("i1", "r1", 4), ("i1", "r2", 0)}
        assert found.scale.labels == (0, 1, 2, 3, 4)
        assert found.intake.missing_scores == 1
        assert attribute(found.raters, "rater", "Region") == {"r1": "Arab Culture", "r2": None}
        assert attribute(found.items, "item", "text") == {"i1": "One, two", "i2": "Three"}
    (tmp_path / "d3-items.csv").unlink()
    with pytest.raises(FileError, match=r"d3code consists of d3-items\.csv, which is missing"):
        pv.data.load("d3code", tmp_path)


def _toxicity(**more: Any) -> dict[str, Any]:
    plain = {"toxic_score": 1, "gender": "Female", "age_range": "25 - 34", "is_parent": "No", "is_profane": False}
    return {**plain, **more}


def test_kumar(write: Write) -> None:
    lines = [
        {"comment": "a", "source": "reddit", "perspective_score": "0.1",
         "ratings": [_toxicity(worker_id="w1"), _toxicity(worker_id="w2", toxic_score=4, gender="Male")]},
        {"comment": "a", "source": "twitter", "ratings": [_toxicity(worker_id="w1", is_parent="Yes", toxic_score=0)]},
    ]  # fmt: skip
    path = write("toxicity_ratings.json", "\n".join(map(json.dumps, lines)))
    found = pv.data.load("kumar-2021", path).ratings
    assert scores(found) == {(1, "w1", 1), (1, "w2", 4), (2, "w1", 0)}
    assert attribute(found.items, "item", "source") == {1: "reddit", 2: "twitter"}
    assert attribute(found.raters, "rater", "gender") == {"w1": "Female", "w2": "Male"}
    assert attribute(found.raters, "rater", "is_parent") == {"w1": None, "w2": "No"}  # w1 said both
    path = write("toxicity_ratings.json", json.dumps({"comment": "a", "ratings": [_toxicity()]}))
    with pytest.raises(IdError, match=r"row 1: these ratings do not say who gave them\. Ask the authors"):
        pv.data.load("kumar-2021", path)


def test_social_chemistry_in_its_archive_and_out_of_it(tmp_path: Path) -> None:
    same = {"area": "confessions", "m": "50", "split": "analysis", "rot-id": "rot/1", "rot": 'It\'s "bad" to lie.'}
    rows = [
        {**same, "breakdown-worker-id": "7", "rot-agree": "4"},
        {**same, "breakdown-worker-id": "8", "rot-agree": ""},
        {**same, "breakdown-worker-id": "7", "rot-agree": "0"},  # again: the first counts
    ]
    text = table(header("social-chemistry-101"), *rows, delimiter="\t")
    (tmp_path / "social-chem-101.v1.0.tsv").write_text(text)
    with zipfile.ZipFile(tmp_path / "social-chem-101.zip", "w") as archive:
        archive.writestr("social-chem-101/README.v1.0.md", "read me")
        archive.writestr("social-chem-101/social-chem-101.v1.0.tsv", text)
    for name in ("social-chem-101.v1.0.tsv", "social-chem-101.zip"):
        found = pv.data.load("social-chemistry-101", tmp_path / name).ratings
        assert (scores(found), found.intake.missing_scores) == ({("rot/1", 7, 4)}, 1)
        assert found.where(items={"m": "50"}).n_items == 1
        assert attribute(found.items, "item", "text") == {"rot/1": 'It\'s "bad" to lie.'}


def test_amazon(write: Write) -> None:
    rows = [
        {"reviewerID": "A1", "asin": "0528881469", "reviewerName": "x", "helpful": [0, 0], "reviewText": "long",
         "overall": 5.0, "summary": "s", "unixReviewTime": 1370131200, "reviewTime": "06 2, 2013"},
        {"reviewerID": "A2", "asin": "0528881469", "overall": 1.0},
    ]  # fmt: skip
    packed = gzip.compress("\n".join(map(json.dumps, rows)).encode())
    found = pv.data.load("amazon-electronics", write("reviews_Electronics_5.json.gz", packed)).ratings
    assert scores(found) == {("0528881469", "A1", 5), ("0528881469", "A2", 1)}
    assert found.scale.labels == (1, 2, 3, 4, 5)


def test_popquorn(write: Write) -> None:
    """Header and first row as the original has them."""
    text = (
        "instance_id,user_id,text,offensiveness,gender,race,age,occupation,education\n"
        '530,0,"I think, defo",1.0,Man,White,35-39,Unemployed,High school diploma or equivalent\n'
        '530,1,"I think, defo",5.0,Woman,White,50-54,Self-employed,College degree\n'
    )
    found = pv.data.load("popquorn-offensiveness", write("raw_data.csv", text)).ratings
    assert scores(found) == {(530, 0, 1), (530, 1, 5)}
    assert attribute(found.raters, "rater", "age") == {0: "35-39", 1: "50-54"}
    assert attribute(found.items, "item", "text") == {530: "I think, defo"}


def _review(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"{number:06}_000000", "original_id": f"{number:06}", "edit_id": "000000", "is_original": True,
        "edit_goal": None, "edit_type": None, "description": "Good", "review_majority": "1",
        "review_label_distribution": {"1": 1}, "review_workers": {"w244": "1", "w120": "2"}, **more,
    }  # fmt: skip


def test_cebab(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "CEBaB-v1.1.zip", "w") as archive:
        for at, split in enumerate(("train_exclusive", "train_inclusive", "dev", "test")):
            empty = [_review(9, review_workers="")] if split == "test" else []
            archive.writestr(f"CEBaB-v1.1/{split}.json", json.dumps([_review(max(at, 1)), *empty]))
    found = pv.data.load("cebab", tmp_path / "CEBaB-v1.1.zip").ratings
    assert (found.n_items, len(found)) == (3, 6)  # train_exclusive is not read a second time, and nobody rated one
    assert attribute(found.items, "item", "split") == {
        "000001_000000": "train_inclusive", "000002_000000": "dev", "000003_000000": "test"
    }  # fmt: skip
    assert ("000001_000000", "w120", 2) in scores(found)


def _lewidi_2023(**more: Any) -> dict[str, Any]:
    return {
        "text": "t", "annotation task": "hate speech detection", "number of annotations": 3, "annotations": "0,1,0",
        "annotators": "Ann1,Ann2,Ann3", "lang": "en", "hard_label": "0", "soft_label": {"0": 0.67, "1": 0.33},
        "split": "train", "other_info": {"Annotators group": "Mod_Female , Lib_Female , Cons_Male"}, **more,
    }  # fmt: skip


def test_lewidi_2023(write: Write, tmp_path: Path) -> None:
    write("ArMIS_train.json", json.dumps({"1": _lewidi_2023()}))
    write("ArMIS_dev.json", json.dumps({"1": _lewidi_2023(split="dev", annotations="1,1,1")}))
    found = pv.data.load("lewidi-2023-armis", tmp_path).ratings
    train, dev = {("train-1", "Ann1", 0), ("train-1", "Ann2", 1)}, {("dev-1", "Ann1", 1)}
    assert (train | dev <= scores(found), len(found)) == (True, 6)
    groups = {"Ann1": "Mod_Female", "Ann2": "Lib_Female", "Ann3": "Cons_Male"}
    assert attribute(found.raters, "rater", "group") == groups
    write("ArMIS_dev.json", json.dumps({"1": _lewidi_2023(annotations="1,1")}))
    with pytest.raises(FileError, match="has 3 annotators but 2 annotations"):
        pv.data.load("lewidi-2023-armis", tmp_path)


def test_lewidi_2025_with_commas_that_json_forbids(write: Write, tmp_path: Path) -> None:
    one = {"text": {"post": 'a,} "b",]', "reply": "c"}, "annotations": {"Ann0": "0", "Ann12": "1"}, "split": "dev",
           "lang": "en", "other_info": {"source": "reddit", "level": 1.0}}  # fmt: skip
    write("MP_dev.json", json.dumps({"5": one}).replace('"1"}', '"1",}'))
    write("MP_annotators_meta.json", '{"0": {"Gender": "Female", "Age": "nan",},\n}')
    found = pv.data.load("lewidi-2025-mp", tmp_path).ratings
    assert scores(found) == {(5, "Ann0", 0), (5, "Ann12", 1)}
    assert attribute(found.items, "item", "post") == {5: 'a,} "b",]'}
    assert attribute(found.raters, "rater", "Gender") == {"Ann0": "Female", "Ann12": None}
    assert attribute(found.raters, "rater", "Age") == {"Ann0": None, "Ann12": None}


def test_multipref(write: Write) -> None:
    def given(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
        return [{"evaluator": who, "overall_pref": pref, "time_spent": 3} for who, pref in pairs]

    row = {
        "comparison_id": "c1", "prompt_id": "p1", "text": "who?", "model_a": "m", "completion_a": "x", "model_b": "n",
        "completion_b": "y", "source": "s", "category": "qa",
        "normal_worker_annotations": given(("W1", "A-is-clearly-better"), ("W2", "Tie")),
        "expert_worker_annotations": given(("E1", "B-is-slightly-better")),
    }  # fmt: skip
    found = pv.data.load("multipref", write("MultiPref-Train.jsonl", json.dumps(row)))
    assert scores(found.ratings) == {("c1", "W1", "A-is-clearly-better"), ("c1", "W2", "Tie")}
    assert found.ratings.scores.tolist() == [4, 2]
    assert scores(some(found.reference)) == {("c1", "E1", "B-is-slightly-better")}
    assert attribute(found.ratings.items, "item", "completion_b") == {"c1": "y"}


# What is wrong with a file --------------------------------------------------------------------------------------------
_RATED = {"annotator_id": "Annotator1", "conv_id": "1", "user": "x", "bot": "CarbonBot"}
_ZERO = {f"is_abuse.{point}": "0" for point in range(-3, 2)}


@pytest.mark.parametrize(
    ("name", "file", "content", "error", "told"),
    [
        ("dices-350", "a.csv", "item_id,rater_id\n1,2\n", ColumnError,
         r"dices-350 needs Q_overall, which is missing; it has item_id, rater_id"),
        ("dices-350", "b.csv", "item_id,rater_id,Q_overall\n1,2,Perhaps\n", ScoreError,
         r"b\.csv, column 'Q_overall', row 2.*'Perhaps'"),
        ("lewidi-2025-mp", "MP_dev.json", '{"5": {"text', FileError, "the JSON is damaged or cut off"),
        ("lewidi-2025-mp", "MP_dev.json", '{"5": {"text": "a", "annotations": [1]}}', InputError,
         r"MP_dev\.json: annotations lists labels of each item, and nothing says who"),
        ("cebab", "CEBaB-v1.1.zip", b"PK\x03\x04" + bytes(100), FileError,
         r"the archive is damaged|which is missing"),
        ("cebab", "", "", FileError, "there is no such file or folder"),
        ("convabuse", "c.csv", table(header("convabuse"), {**_RATED, **_ZERO, "is_abuse.-3": "1"}, {**_RATED, **_ZERO}),
         ScoreError, r"c\.csv, column 'is_abuse\.\*', row 3: 'all 0' is not a point"),
    ],
)  # fmt: skip
def test_another_format_is_one_error(
    write: Write, tmp_path: Path, name: str, file: str, content: str | bytes, error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        pv.data.load(name, write(file, content) if file else tmp_path / "nothing")


def test_an_archive_that_unpacks_to_far_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plurivox.data.record.MAX_WHOLE", 1 << 20)
    path = tmp_path / "social-chem-101.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("social-chem-101.v1.0.tsv", b"\n" * (8 << 20))
    assert path.stat().st_size < 10_000
    with pytest.raises(FileError, match="it unpacks to more than 1 MiB"):
        pv.data.load("social-chemistry-101", path)


def test_check_tells_what_differs(write: Write) -> None:
    text = "item_id,rater_id,Q_overall,mood\n1,2,No,glad\n"
    found = pv.data.check(write("diverse_safety_adversarial_dialog_350.csv", text))
    assert (found.name, found.fits, found.same) == ("dices-350", True, False)
    said = " ".join(found.differs)
    for part in ("1 rows, not 43,050", "original lacks: mood", "are missing: id, rater_gender", "1 raters, not 123"):
        assert part in said
    large = table(header("dices-990"), {**_CHAT, "rater_id": "1", "Q_overall": "No"})
    assert pv.data.check(write("renamed.csv", large)).name == "dices-990"  # by its columns
    found = pv.data.check(write("x.csv", "annotator_id\n1\n"), "convabuse")
    assert not found.fits
    assert "there is no column conv_id, prev_agent" in found.wrong[0]
    done = run_cli("data", "check", write("y.csv", text), "--as", "convabuse")
    assert (done.code, "is not convabuse" in done.out) == (1, True)
    done = run_cli("data", "check", write("raw_data.csv", "a\n1\n"), "--json")  # what it is to be goes by the name
    assert (done.code, json.loads(done.out)["name"]) == (1, "popquorn-offensiveness")
    path = write("z.csv", "a,b\n1,2\n")
    assert "do not match any data set that plurivox knows" in refused("data", "check", path)
    told = refused("data", "check", path, "--as", "dive")
    assert told.startswith(f"error: {path}: dive has no loader: neither a file nor a description of its columns was")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("list cebab", "list takes no name"), ("info", "info needs the name of a data set"),
        ("check", "check needs a file"), ("info cebab --from x", "info takes no --from"),
        ("check x --accept-licence", "check takes no --accept-licence"), ("get cebab --as cebab", "get takes no --as"),
    ],
)  # fmt: skip
def test_options_that_would_be_ignored_are_refused(arguments: str, problem: str) -> None:
    assert problem in refused("data", *arguments.split(), code=2)


def test_info_tells_licence_citation_and_what_the_loader_saw() -> None:
    for one in ALL.values():
        said = run_cli("data", "info", one.name).words
        for part in (one.licence, one.citation, one.home, one.seen):
            assert " ".join(part.split()) in said
    listed = {one["name"]: one for one in run_cli("data", "list", "--json").json()}
    assert {name for name, one in listed.items() if not one["can_be_loaded"]} == {"dive"}
    assert run_cli("data", "info", "cebab", "--json").json() == listed["cebab"]


# Copies of the originals ----------------------------------------------------------------------------------------------
def test_dices_350_copy_in_the_originals_columns(real_data: Path, tmp_path: Path) -> None:
    folder = real_data / "dices350"
    ratings, raters, items = (
        pl.read_csv(folder / f"{n}.csv", infer_schema=False) for n in ("ratings", "raters", "items")
    )
    renamed = {name: f"rater_{name}" for name in ("gender", "race", "age")}
    whole = ratings.join(raters.rename(renamed), on="rater_id").join(items, on="item_id")
    whole.drop("removed").write_csv(tmp_path / "diverse_safety_adversarial_dialog_350.csv")
    found = pv.data.load("dices-350", tmp_path)
    assert (found.ratings.n_items, found.ratings.n_raters, len(found.ratings)) == (350, 123, 43_050)
    given = ratings.group_by("Q_overall").len().sort("Q_overall").rows()
    assert list(zip(("No", "Unsure", "Yes"), found.ratings.counts().sum(axis=0).tolist(), strict=True)) == given
    told = {str(who): value for who, value in attribute(found.ratings.raters, "rater", "removed").items()}
    assert told == attribute(raters, "rater_id", "removed")
    assert found.ratings.where(raters={"removed": "False"}).n_raters == 104
    assert some(found.reference).counts().sum(axis=0).tolist() == [175, 175]
    # A rater of an item whose gold label is Yes says more often that it is unsafe: that is what Yes means.
    yes = whole.group_by("safety_gold").agg((pl.col("Q_overall") == "Yes").mean()).sort("safety_gold")["Q_overall"]
    assert yes[1] > yes[0] + 0.1


def test_convabuse_original(real_data: Path) -> None:
    path = real_data / "convabuse" / "ConvAbuseEMNLPfull.csv"
    assert pv.data.check(path).same
    found = pv.data.load("convabuse", path).ratings
    frame = pl.read_csv(path, infer_schema=False).unique(["conv_id", "user", "annotator_id"], keep="first")
    totals = [frame.filter(pl.col(f"is_abuse.{point}") == "1").height for point in range(-3, 2)]
    assert (found.counts().sum(axis=0).tolist(), len(found)) == (totals, frame.height)
    assert found.scale.labels == (-3, -2, -1, 0, 1)


def test_cebab_copy_in_the_originals_format(real_data: Path, tmp_path: Path) -> None:
    frame = pl.read_parquet(real_data / "cebab" / "cebab.parquet")
    keys = ["split", "id", "is_original", "edit_type", "edit_goal"]
    items = frame.group_by(keys, maintain_order=True).agg("worker", pl.col("rating").cast(pl.String))
    for split in ("train_inclusive", "dev", "test"):
        rows = [
            {**{key: row[key] for key in keys[1:]}, "description": "", "review_workers":
             dict(zip(row["worker"], row["rating"], strict=True))}
            for row in items.filter(pl.col("split") == split).iter_rows(named=True)
        ]  # fmt: skip
        (tmp_path / f"{split}.json").write_text(json.dumps(rows))
    found = pv.data.load("cebab", tmp_path).ratings
    assert (found.n_items, found.n_raters, len(found)) == (15_090, 155, 75_450)
    assert found.counts().sum(axis=0).tolist() == frame.group_by("rating").len().sort("rating")["len"].to_list()


@pytest.mark.parametrize("task", ["Paraphrase", "CSC"])
def test_lewidi_2025_originals(real_data: Path, task: str) -> None:
    folder = real_data / "lewidi2025"
    found = pv.data.load(f"lewidi-2025-{task.lower()}", folder).ratings
    rows = [
        (key, who, int(score))
        for path in folder.glob(f"{task}_*.json")
        if "meta" not in path.name
        for key, one in json.loads(path.read_text(encoding="utf-8")).items()
        for who, score in one["annotations"].items()
    ]
    assert {(str(item), who, score) for item, who, score in scores(found)} == set(rows)
    assert len(found) == len(rows)
    check = pv.data.check(folder, f"lewidi-2025-{task.lower()}")
    assert check.same == (task == "Paraphrase"), check.differs
    assert sum("SHA-256 is as known" in one for one in check.agrees) == {"Paraphrase": 4, "CSC": 3}[task]
    if task == "Paraphrase":  # its metadata have commas that JSON forbids
        assert attribute(found.raters, "rater", "Nationality")["Ann3"] == "German"


def test_face_ratings_copy(real_data: Path) -> None:
    path = real_data / "faceratings" / "faceratings.parquet"
    found = pv.data.load("faceratings", path).ratings
    assert (found.n_items, found.n_raters, len(found)) == (102, 2_513, 256_326)
    given = pl.read_parquet(path).group_by("rating").len().sort("rating")["len"].to_list()
    assert found.counts().sum(axis=0).tolist() == given
