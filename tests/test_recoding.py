"""A recoded scale: the same as a table whose scores were replaced by hand, everywhere that ratings are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import ScaleError
from plurivox.domain.recoding import Recoding
from support import Write, run_cli

FIVE = pv.Scale.range(0, 4)


def table(n_items: int = 30, n_raters: int = 12) -> pl.DataFrame:
    """Return ratings from 0 to 4 by two groups, some of them missing."""
    random = np.random.default_rng(5)
    level = random.normal(2, 1, n_items)
    rows = [
        (i, f"r{r:02}", int(np.clip(round(level[i] + random.normal(0, 0.8)), 0, 4)), "ab"[r % 2])
        for i in range(n_items)
        for r in range(n_raters)
        if random.random() < 0.9
    ]
    return pl.DataFrame(rows, schema=["item", "rater", "score", "group"], orient="row")


def by_hand(frame: pl.DataFrame, new: dict[int, str]) -> pl.DataFrame:
    """Replace scores; what is not named is missing."""
    return frame.with_columns(pl.col("score").replace_strict(new, default=None))


# The rule -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("scale", "rule", "labels", "targets"), [
    (FIVE, "0-2=no,3-4=yes", ("no", "yes"), (0, 0, 0, 1, 1)),
    (FIVE, " 0 – 2 = no , 3-4 = yes ", ("no", "yes"), (0, 0, 0, 1, 1)),
    (FIVE, "3-4=yes,0-2=no", ("yes", "no"), (1, 1, 1, 0, 0)),
    (FIVE, "0=extreme,1-3=middle,4=extreme", ("extreme", "middle"), (0, 1, 1, 1, 0)),
    (FIVE, "0-1=0,2=missing,3-4=1", (0, 1), (0, 0, -1, 1, 1)),
    (FIVE, {0: "no", "1-2": "no", 3: None, 4.0: "yes, surely"}, ("no", "yes, surely"), (0, 0, 0, -1, 1)),
    (pv.Scale.range(-2, 2), "-2--1=low,0=mid,1-2=high", ("low", "mid", "high"), (0, 0, 1, 2, 2)),
    (pv.Scale(["18-24", "18", "24"]), "18-24=a,18=b,24=c", ("a", "b", "c"), (0, 1, 2)),
    (pv.Scale(["No", "Un-sure", "Yes"]), "No=safe,Un-sure-Yes=unsafe", ("safe", "unsafe"), (0, 1, 1)),
    (pv.Scale(["a=b", "c"]), "a=b=x,c=y", ("x", "y"), (0, 1)),
])  # fmt: skip
def test_rules(scale: pv.Scale, rule: object, labels: tuple[object, ...], targets: tuple[int, ...]) -> None:
    found = Recoding.of(scale, rule)  # type: ignore[arg-type]
    assert (found.new.labels, found.targets) == (labels, targets)
    if "," not in "".join(map(str, labels)):
        assert Recoding.of(scale, found.rule) == found


@pytest.mark.parametrize(("rule", "said"), [
    ("0-2=no", "does not say what becomes of 3, 4"), ("0-2=no,2-4=yes", "'2' is recoded twice"),
    ("0-2=no,3-5=yes", "'3-5' is neither a point of the scale 0 < 1 < 2 < 3 < 4 nor a range"),
    ("2-0=no,3-4=yes", "'2-0' runs from high to low"), ("0-2,3-4=yes", "'0-2' does not say what it becomes"),
    ("0-2=,3-4=yes", "'0-2' becomes nothing"), ("", "'' does not say what it becomes"),
    ("0-4=all", "at least two points"), ("0-2=1,3-4=0", "do not increase"), ("NA=x,0-4=y", "'NA' is neither a point"),
])  # fmt: skip
def test_wrong_rules(rule: str, said: str) -> None:
    with pytest.raises(ScaleError, match=said.replace("(", r"\(")):
        Recoding.of(FIVE, rule)
    with pytest.raises(ScaleError, match="more than one range"):  # that can be read in two ways
        Recoding.of(pv.Scale(["a", "a-b", "b-c", "c"]), "a-b-c=x,c=y")


@pytest.mark.parametrize(("poles", "labels"), [(None, ("safe", "unsafe")), (("polite", "rude"), ("polite", "rude"))])
def test_unsafe_from_names_its_points_like_the_ends(poles: tuple[str, str] | None, labels: tuple[str, str]) -> None:
    found = Recoding.of(FIVE.with_poles(poles), unsafe_from=3)
    assert (found.new.labels, found.new.poles, found.targets) == (labels, labels, (0, 0, 0, 1, 1))


def test_unsafe_from_what_cannot_be() -> None:
    for first, said in ((0, "every rating would be unsafe"), (2.5, "'2.5' is not a point")):
        with pytest.raises(ScaleError, match=said):
            Recoding.of(FIVE, unsafe_from=first)
    with pytest.raises(ScaleError, match="either a rule or the point"):
        Recoding.of(FIVE, "0-2=a,3-4=b", 3)


def test_names_of_ends_follow_the_order() -> None:
    named = FIVE.with_poles(("mild", "wild"))
    ends = {rule: Recoding.of(named, rule).new.poles for rule in ("0-2=a,3-4=b", "3-4=b,0-2=a", "0=x,1-3=y,4=x")}
    assert list(ends.values()) == [("mild", "wild"), ("wild", "mild"), None]


# Ratings --------------------------------------------------------------------------------------------------------------
def test_the_same_as_by_hand() -> None:
    frame = table()
    made = pv.Ratings.from_frame(frame, scale=FIVE, rater_attributes=["group"]).recode("0-1=no,2=missing,3-4=yes")
    new = by_hand(frame, {0: "no", 1: "no", 3: "yes", 4: "yes"})
    hand = pv.Ratings.from_frame(new, scale="no,yes", rater_attributes=["group"])
    assert made == hand
    assert made.intake.recoded == "0–1 → no, 2 → missing, 3–4 → yes"
    assert made.intake.recoded_missing == hand.intake.missing_scores == frame.filter(pl.col("score") == 2).height


def test_repeats_of_which_the_first_is_left_out() -> None:
    frame = pl.DataFrame({"item": [1] * 4, "rater": ["a", "a", "a", "b"], "score": [2, 0, 4, 2], "at": [1, 2, 3, 1]})
    made = pv.Ratings.from_frame(frame, scale=FIVE, duplicates="keep", time="at").recode("0-1=no,2=missing,3-4=yes")
    hand = pv.Ratings.from_frame(by_hand(frame, {0: "no", 4: "yes"}), scale="no,yes", duplicates="keep", time="at")
    assert made == hand
    assert made.intake.kept_repeats == hand.intake.kept_repeats == 1
    assert made.repeats()["score"].to_list() == ["no", "yes"]


def test_totals_are_added_up(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("item,0,1,2,3,4\na,1,2,0,4,8\nb,0,0,5,0,0\n")
    made = pv.read_ratings(tmp_path / "t.csv", scale="0:4", layout="totals", recode="0-1=no,2=missing,3-4=yes")
    assert made.counts().tolist() == [[3, 12], [0, 0]]
    assert made.intake.recoded_missing == 5
    frame = pl.DataFrame({"item": [1, 2], "rater": ["a", "b"], "score": [2, 2]})
    nothing = pv.Ratings.from_frame(frame, scale=FIVE).recode("0-1=no,2=missing,3-4=yes")
    assert (len(nothing), nothing.n_items, nothing.n_raters) == (0, 2, 2)
    assert "this leaves out 2 ratings" in pv.describe(nothing).findings()[0]


def test_stored_ratings_come_back_recoded_and_may_be_recoded_again(tmp_path: Path) -> None:
    made = pv.Ratings.from_frame(table(), scale=FIVE).recode("0=a,1-2=b,3-4=c")
    pv.write_ratings(made, tmp_path / "s.parquet")
    found = pv.read_ratings(tmp_path / "s.parquet")
    assert found == made
    assert found.intake == made.intake
    again = pv.read_ratings(tmp_path / "s.parquet", unsafe_from="c")
    assert again == pv.Ratings.from_frame(table(), scale=FIVE).recode(unsafe_from=3)
    assert again.intake.recoded == "0 → a, 1–2 → b, 3–4 → c; then a–b → safe, c → unsafe"


def test_predictions_and_answers() -> None:
    rows = {"item": [1, 2], "0": [0.1, 0.0], "1": [0.2, 0.0], "2": [0.3, 1.0], "3": [0.1, 0.0], "4": [0.3, 0.0]}
    found = pv.Predictions.from_frame(pl.DataFrame(rows), FIVE)
    assert found.recode("0-2=no,3-4=yes").shares[0, 0].tolist() == pytest.approx([0.6, 0.4])
    dropped = found.recode("0-1=no,2=missing,3-4=yes").shares[0]
    assert dropped[0].tolist() == pytest.approx([3 / 7, 4 / 7])
    assert np.isnan(dropped[1]).all()
    answers = pv.Answers.from_frame(pl.DataFrame({"item": [1, 2, 3], "answer": ["4", "2", None]}), FIVE)
    made = answers.recode("0-1=no,2=missing,3-4=yes")
    assert made.point.tolist() == [1, -1, -1]
    assert made.n_elsewhere == 1


# Commands -------------------------------------------------------------------------------------------------------------
CSV = "--csv"
GROUPED = ("--rater-attributes", "group", "--by", "group")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write ratings as they are, and replaced by hand, each with a table of items that have a score, too."""
    folder = tmp_path_factory.mktemp("recoded")
    new = {0: "no", 1: "no", 2: "no", 3: "yes", 4: "yes"}
    first = table().unique("item", keep="first", maintain_order=True).select("item", "score")
    for name, frame, items in (("five", table(), first), ("two", by_hand(table(), new), by_hand(first, new))):
        frame.write_csv(folder / f"{name}.csv")
        items.rename({"score": "gold"}).write_csv(folder / f"{name}.csv.items.csv")
    return folder


@pytest.mark.parametrize("scale", [("--scale", "0:4"), ()], ids=["given", "inferred"])
@pytest.mark.parametrize(("command", "more"), [
    ("cohesion", (*GROUPED, "--permutations", 49)),
    ("responsiveness", (*GROUPED, "--reference", "FILE", "--reference-scale", "same", "--permutations", 49)),
    ("responsiveness", (*GROUPED, "--reference-column", "gold", "--reference-scale", "same", "--permutations", 49)),
    ("items", ()),
])  # fmt: skip
def test_commands_find_what_they_find_by_hand(
    files: Path, command: str, more: tuple[object, ...], scale: tuple[str, ...]
) -> None:
    def found(file: Path, *read: str) -> Any:
        given = [file if one == "FILE" else one for one in more]
        return run_cli(command, file, *read, "--items", f"{file}.items.csv", *given, "--csv")

    made = found(files / "five.csv", *scale, "--recode", "0-2=no,3-4=yes")
    expected = found(files / "two.csv", "--scale", "no,yes")
    assert made.frame().equals(expected.frame())
    assert "no < yes, recoded: 0–2 → no, 3–4 → yes" in made.words


def test_the_config_says_it_and_the_command_line_comes_first(files: Path, tmp_path: Path) -> None:
    data = tmp_path / "ratings.csv"
    data.write_bytes((files / "five.csv").read_bytes())
    run_cli("describe", data, "--scale", "0:4", "--unsafe-from", 3, "--write-config")
    assert 'recode = "0-2=safe,3-4=unsafe"' in (tmp_path / "plurivox.toml").read_text()
    found = run_cli("describe", data, "--json").json()
    assert found["points"] == ["safe", "unsafe"]
    assert found["notes"][0] == "The scale was recoded: 0–2 → safe, 3–4 → unsafe."
    assert run_cli("describe", data, "--recode", "0=a,1-4=b", "--json").json()["points"] == ["a", "b"]
    (tmp_path / "plurivox.toml").write_text("[scale]\nunsafe_from = 9\n")
    assert "plurivox.toml: '9' is not a point of the scale 0 < 1 < 2 < 3 < 4" in run_cli("describe", data).words


@pytest.mark.parametrize("rule", [
    "1=no,0=yes", "0=no,1=yes", "1=0,0=1", "0=1,1=99", "0=0.5,1=1.5", "0=1,1=yes", "into 2", "0=no,1-5=yes",
    "0-1=0,2-3=1,4-5=99", "0=no,1-2=missing,3-5=yes", None,
])  # fmt: skip
def test_a_scale_that_was_inferred_is_recoded_like_one_that_was_given(write: Write, rule: str | None) -> None:
    last = 5 if rule and "5=" in rule else 1
    rows = "".join(f"{i},r{r},{(i * r + r) % (last + 1)},{'ab'[r % 2]}\n" for i in range(12) for r in range(12))
    data = write("r.csv", f"item,rater,score,group\n{rows}")
    rewritten = ("--recode", rule) if rule else ("--unsafe-from", 1)
    asked = ("describe", data, "--rater-attributes", "group", *rewritten)
    found, expected = (run_cli(*asked, *scale, "--json") for scale in ((), ("--scale", f"0:{last}")))
    assert found.err == expected.err  # the points are said not to be inferred
    made, given = found.json(), expected.json()
    assert made.pop("scale_inferred")
    assert not given.pop("scale_inferred")
    assert made["notes"].pop(0).startswith("The scale was inferred from the scores")
    assert made == given


@pytest.mark.usefixtures("undrawn")
def test_a_report_on_an_inferred_scale_that_is_recoded(files: Path, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    data, page = files / "five.csv", tmp_path / "report.html"
    beside = [x for role in ("reference", "answers") for x in (f"--{role}", files / f"{role}.csv")]
    table().with_columns(rater=pl.lit("trained")).unique("item").write_csv(files / "reference.csv")
    table().unique("item").select("item", model=pl.lit("m"), answer="score").write_csv(files / "answers.csv")
    rule = ("--recode", "3-4=yes,0-2=no", "--reference-scale", "same")
    done = run_cli("report", data, *GROUPED, *beside, *rule, "--permutations", 19, "-o", page)
    assert done.code == 0, done.err
    assert "yes \\u003c no" in page.read_text()
    assert "(inferred)" not in page.read_text()


def test_predictions_of_points_before_and_after(files: Path) -> None:
    items = table()["item"].unique().sort()
    before = pl.DataFrame({"item": items, "0": 0.1, "1": 0.1, "2": 0.3, "3": 0.25, "4": 0.25})
    before.write_csv(files / "before.csv")
    before.select("item", no=pl.lit(0.5), yes=pl.lit(0.5), model=pl.lit("before")).write_csv(files / "after.csv")
    told = [run_cli("score", files / "five.csv", files / name, "--recode", "0-2=no,3-4=yes", "--csv").frame()
            for name in ("before.csv", "after.csv")]  # fmt: skip
    assert told[0].equals(told[1])
