"""Attributes of raters: from the ratings themselves, with several values, unknown, or numbers in bins."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plurivox as pv
from plurivox.base.errors import AttributeConflictError, AttributeConflictWarning, ColumnError, InputError
from plurivox.config import load_config
from plurivox.read.recognise import recognise
from support import ran, refused, run_cli

ANN: dict[str, list[Any]] = {
    "a": ["Woman"] * 3, "b": ["Man", "Man", "Other"], "c": ["Man", None, "Man"], "d": ["Prefer not to say"] * 3,
}  # fmt: skip


def table(gender: dict[str, list[Any]] = ANN, **more: Any) -> pl.DataFrame:
    rows = [(item, rater, (item + len(rater)) % 3, value) for rater, values in gender.items()
            for item, value in enumerate(values)]  # fmt: skip
    return pl.DataFrame(rows, schema=["item", "rater", "score", "gender"], orient="row").with_columns(**more)


def test_by_takes_a_column_of_the_ratings() -> None:
    with pytest.warns(
        AttributeConflictWarning, match="frame: 1 rater has more than one value of 'gender'; it counts as"
    ):
        found = pv.Ratings.from_frame(table(), by=["gender", "nothing"])
    assert found.raters["gender"].to_list() == ["Woman", None, "Man", None]
    assert (found.intake.rater_conflicts, found.intake.unknown_words) == ({"gender": 1}, {"gender": 1})
    assert found.intake.conflicts == "missing"


def test_a_table_of_raters_comes_before_the_ratings(tmp_path: Path) -> None:
    raters = pl.DataFrame({"rater": ["a", "b", "c", "d"], "gender": ["W", "X", "Y", "Z"]})
    inline = pv.Ratings.from_frame(table(), by=["gender"], raters=raters)
    assert inline.raters["gender"].to_list() == ["W", "X", "Y", "Z"]
    table(age=pl.lit(30)).write_csv(tmp_path / "r.csv")
    raters.write_csv(tmp_path / "raters.csv")
    found = pv.read_ratings(tmp_path / "r.csv", raters=tmp_path / "raters.csv", by=["gender", "age", "rater"])
    assert found.raters.columns == ["rater", "age", "gender"]
    assert found.raters["gender"].to_list() == ["W", "X", "Y", "Z"]


def test_the_first_value_counts_in_the_order_of_rows() -> None:
    frame = table({"a": ["x", "y"], "b": [None, "z"], "c": ["v", "v"]})
    for rows, expected in ((frame, ["x", "z", "v"]), (frame.reverse(), ["y", "z", "v"])):
        found = pv.Ratings.from_frame(rows, rater_attributes=["gender"], conflicts="first")
        assert (found.raters["gender"].to_list(), found.intake.rater_conflicts) == (expected, {"gender": 1})


def test_a_column_that_varies_for_most_raters_does_not_describe_them() -> None:
    varying = table({"a": ["x", "y"], "b": ["x", "y"], "c": ["x", "x"], "d": ["x"]})
    told = r"column 'gender': it does not describe raters: 2 of the 3 raters with more than one rating have several"
    with pytest.raises(AttributeConflictError, match=told + r".*--item-attributes.*--conflicts first"):
        pv.Ratings.from_frame(varying, by=["gender"])
    with pytest.raises(AttributeConflictError, match=r"does not describe items: 2 of the 2 items.*--rater-attributes"):
        pv.Ratings.from_frame(varying.with_columns(who=pl.col("rater")), item_attributes=["who"])


def test_conflicts_in_tables_of_raters_and_items_are_settled_alike() -> None:
    frame = pl.DataFrame({"item": [1, 1, 2], "rater": ["a", "b", "a"], "score": [0, 1, 2]})
    raters = pl.DataFrame(
        {"rater": ["a", "b", "a", "z", "z"], "age": [1, 2, 3, 4, 5], "team": ["x", "y", None, "u", "v"]}
    )
    items = pl.DataFrame({"item": [1, 2, 2], "topic": ["p", "q", "r"], "tags": [["m"], ["n"], ["n"]]})
    with pytest.warns(AttributeConflictWarning) as warned:
        found = pv.Ratings.from_frame(frame, raters=raters, items=items)
    assert sorted(str(one.message) for one in warned) == [
        "frame: 1 item has more than one value of 'topic'; it counts as unknown for that item",
        "frame: 1 rater has more than one value of 'age'; it counts as unknown for that rater",
    ]
    assert found.raters.rows() == [("a", None, "x"), ("b", 2, "y")]
    assert found.items.rows() == [(1, "p", ["m"]), (2, None, ["n"])]
    assert (found.intake.rater_conflicts, found.intake.item_conflicts) == ({"age": 1}, {"topic": 1})  # not that of z
    first = pv.Ratings.from_frame(frame, raters=raters, items=items, conflicts="first")
    assert (first.raters["age"].to_list(), first.items["topic"].to_list()) == ([1, 2], ["p", "q"])
    with pytest.raises(AttributeConflictError, match="raters frame, column 'age', rows 1, 3: one rater has more"):
        pv.Ratings.from_frame(frame, raters=raters, conflicts="error")
    with pytest.raises(InputError, match="conflicts is 'last'"):
        pv.Ratings.from_frame(frame, conflicts="last")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "word",
    ["DATA_EXPIRED", "data_expired", "CONSENT_REVOKED", "Prefer not to say", "prefer_not_to_say",
     "I prefer not to say.", "Rather not say", "I'd rather not say", "PREFER NOT TO ANSWER",
     " Prefer not to disclose "],
)  # fmt: skip
def test_words_that_tell_nothing_are_not_a_group(word: str) -> None:
    def found(raters: pl.DataFrame, **more: Any) -> tuple[list[Any], dict[str, int]]:
        ratings = pv.Ratings.from_frame(table().drop("gender"), raters=raters, **more)
        return ratings.raters["gender"].to_list(), ratings.intake.unknown_words

    raters = pl.DataFrame({"rater": ["a", "b", "c", "d"], "gender": ["W", word, word, "NA"]})
    assert found(raters) == (["W", None, None, None], {"gender": 2})  # NA is missing without being such a word
    assert found(raters.with_columns(pl.col("gender").cast(pl.Categorical)))[1] == {"gender": 2}
    assert found(raters, unknown=()) == (["W", word, word, None], {})
    other = raters.with_columns(gender=pl.Series(["?", "Other", word, "other"]))  # words that replace the list
    assert found(other, unknown=["Other", "?"])[0] == [None, None, word, None]
    items = pl.DataFrame({"item": [0, 1, 2], "text": ["Prefer not to say"] * 3})
    assert pv.Ratings.from_frame(table().drop("gender"), items=items).items["text"].null_count() == 0


@given(st.lists(st.sampled_from(["W", "M", "Prefer not to say", None]), min_size=4, max_size=4))
def test_columns_of_the_ratings_and_a_table_of_raters_say_the_same(values: list[str | None]) -> None:
    names = ["a", "b", "c", "d"]
    inline = table({name: [value] * 2 for name, value in zip(names, values, strict=True)}).with_columns(
        pl.col("gender").cast(pl.String)
    )
    raters = pl.DataFrame({"rater": names, "gender": values}, schema={"rater": pl.String, "gender": pl.String})
    one = pv.Ratings.from_frame(inline, by=["gender"])
    other = pv.Ratings.from_frame(inline.drop("gender"), raters=raters)
    assert (one, one.intake.unknown_words) == (other, other.intake.unknown_words)


def test_ages_in_bins_and_those_in_none() -> None:
    ages = ["19", "29.5", "34,5", "65+", "18+", "<16", "old", None]
    frame = pl.DataFrame({"item": 1, "rater": range(8), "score": [0, 1] * 4, "age": ages})
    found = pv.Ratings.from_frame(frame, by=["age"]).with_bins("age", [18, 30, 60])
    expected = ["18 to <30", "18 to <30", "30 to <60", "60+", None, "<18", None, None]
    assert found.raters["age"].to_list() == expected
    assert found.intake.unbinned == {"age": 2}  # 18+ may be anything; nothing was known of the last


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A survey with items of two columns, races with semicolons, ages, and one rater with two genders."""
    lines = ["conv,turn,ResponseId,score,gender,age,race"]
    for rater in range(12):
        gender = "DATA_EXPIRED" if rater == 3 else "Woman" if rater % 2 else "Man"
        race = "Asian;White" if rater < 6 else "White"
        for item in range(4):
            shown = "Man" if (rater, item) == (1, 2) else gender
            age = "?" if rater == 5 else 20 + 3 * rater
            lines.append(f'{item // 2},{item % 2},p{rater},"{item % 3},0",{shown},{age},{race}')
    path = tmp_path / "r.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


OPTIONS = ("--item", "conv,turn", "--by", "gender", "--by", "race", "--several", "race=;", "--bin", "age=18,30,45")


def test_everything_together_on_the_command_line(study: Path) -> None:
    done = ran("describe", study, *OPTIONS, "--by", "age", "--min-group-size", "1")
    for told in (
        "warning: ", "1 rater has more than one value of 'gender'; it counts as unknown for that rater",
        "1 rater did not state 'gender'", "1 rater has a value of 'age' outside all bins",
        "decimal commas read as points",
    ):  # fmt: skip
        assert told in done.err
    for line in ("Man (6), Woman (4)  (2 raters without", "Asian (6)", "18–29 (4), 30–44 (4), 45+ (3)"):
        assert line in done.out.replace("\n", " "), done.out


def test_the_config_that_is_written_does_the_same(study: Path) -> None:
    more = ("--conflicts", "first", "--unknown", "Other, DATA_EXPIRED")
    first = run_cli("describe", study, *OPTIONS, *more, "--write-config", "--json")
    text = (study.parent / "plurivox.toml").read_text()
    for line in ('by = ["gender", "race"]', 'conflicts = "first"', 'unknown = ["Other", "DATA_EXPIRED"]',
                 "age = [18, 30, 45]", 'race = ";"'):  # fmt: skip
        assert line in text
    again = run_cli("describe", study, "--json")
    drop = '"scale_inferred"'
    told = [[line for line in out.splitlines() if drop not in line and "inferred" not in line]
            for out in (first.out, again.out)]  # fmt: skip
    assert told[0] == told[1]
    assert "the first one counts" in again.err


def test_the_config_keeps_columns_the_least_size_and_the_encoding(tmp_path: Path) -> None:
    rows = [f"i{item},p{rater},{item % 3},{'zoë' if rater else 'n/k'},{rater % 2},t{item}" for item in range(3)
            for rater in range(4)]  # fmt: skip
    path = tmp_path / "r.csv"
    path.write_bytes("\n".join(["item,rater,score,who,side,topic", *rows, ""]).encode("latin-1"))
    asked = ("--by", "side", "--rater-attributes", "who", "--item-attributes", "topic", "--min-group-size", "2")
    first = run_cli("describe", path, *asked, "--encoding", "latin-1", "--unknown", "n/k", "--write-config")
    assert first.code == 0, first.err
    assert "1 rater did not state 'who' (n/k): it is unknown" in first.err
    text = (tmp_path / "plurivox.toml").read_text()
    for line in ("min_group_size = 2", 'encoding = "latin-1"', 'columns = ["who"]', 'columns = ["topic"]'):
        assert f"\n{line}" in text
    kept = load_config(tmp_path / "plurivox.toml").reading
    assert (kept.min_group_size, kept.rater_attributes, kept.item_attributes) == (2, ("who",), ("topic",))
    assert "0 (2), 1 (2)" in " ".join(run_cli("describe", path).out.split())


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        ("--conflicts last", 2, "--conflicts is one of missing, first, error, not 'last'"),
        ("--bin age", 2, "--bin needs ATTRIBUTE=EDGES, such as age=18,30,45, not 'age'"),
        ("--bin age=18,x", 2, "--bin needs ATTRIBUTE=EDGES"), ("--bin age=30,18", 1, "need increasing edges"),
        ("--bin shoe=30", 1, "there is no column 'shoe'"),
        ("--by gender --conflicts error", 1, "one rater has more than one value: Woman, Man"),
        ("--by score", 1, "raters have no attribute 'score'"),
        ("--by turn", 1, "column 'turn': it does not describe raters: 12 of the 12 raters"),
        ("[raters]\nconflicts = 'last'", 1, "'[raters] conflicts' is 'last'. Choose one of missing, first, error"),
        ("[raters]\nunknown = 'x'", 1, "'[raters] unknown' is 'x' and should be a list"),
        ("[raters]\nunknown = [1]", 1, "'[raters] unknown' is [1]"),
    ],
)  # fmt: skip
def test_options_and_settings_that_cannot_be(study: Path, options: str, code: int, told: str) -> None:
    if options.startswith("["):
        study.with_name("plurivox.toml").write_text(options)
        options = ""
    assert told in refused("describe", study, "--item", "conv,turn", *options.split(), code=code)


def test_what_was_unknown_is_stored(tmp_path: Path) -> None:
    with pytest.warns(AttributeConflictWarning):
        found = pv.Ratings.from_frame(table(), by=["gender"])
    pv.write_ratings(found, tmp_path / "r.parquet")
    again = pv.read_ratings(tmp_path / "r.parquet")
    assert (again.intake, again) == (found.intake, found)


ROLES = {"item": None, "rater": None, "score": None}


@pytest.mark.parametrize(
    ("columns", "item", "rater"),
    [
        (["ResponseId", "item", "score"], "item", "ResponseId"),
        (["response_id", "worker_id", "score", "text"], "response_id", "worker_id"),  # a model's response
        (["PROLIFIC_PID", "item", "score"], "item", "PROLIFIC_PID"),
        (["Participant id", "prompt_id", "rating"], "prompt_id", "Participant id"),
        (["Email Address", "item", "score"], "item", "Email Address"),
        (["completed_by", "id", "rating"], "id", "completed_by"),
        (["created_by", "task_id", "label"], "task_id", "created_by"),
        (["username", "item", "score"], "item", "username"),
        (["WorkerId", "ResponseId", "item", "score"], "item", "WorkerId"),
        (["ResponseId", "score", "note", "more"], None, None),  # a response alone is not an item
    ],
)
def test_who_rates_is_told_by_the_name_of_the_column(columns: list[str], item: str | None, rater: str | None) -> None:
    head = pl.DataFrame({name: ["x"] for name in columns})
    if item is None:
        with pytest.raises(ColumnError, match="cannot tell which column holds the item"):
            recognise(columns, head, "f", given=dict(ROLES))
    else:
        found = recognise(columns, head, "f", given=dict(ROLES))
        assert (found.item, found.rater) == (item, rater)
