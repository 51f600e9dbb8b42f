"""Scores that one-hot columns hold, counts in columns of their own, and ids of several columns.

The oracle is Python's csv module and dictionaries, or the same ratings as one row each.
"""

import csv
from collections import Counter, defaultdict
from pathlib import Path

import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import ColumnError, IdError, InputError, ScaleError, ScoreError
from plurivox.config import config_text, load_config
from support import run_cli as run

LONG = pl.DataFrame({"item": [1, 1, 2, 2], "rater": ["a", "b", "a", "b"], "score": [-1, 0, 1, 1]})
HOT = pl.DataFrame({
    "item": [1, 1, 2, 2], "rater": ["a", "b", "a", "b"], "s.1": [0, 0, 1, 1], "s.0": [0, 1, 0, 0], "s.-1": [1, 0, 0, 0],
})  # fmt: skip
EXPECTED = pv.Ratings.from_frame(LONG, scale="-1:1")


def write(folder: Path, text: str, name: str = "ratings.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_convabuse_as_it_is_against_csv(real_data: Path) -> None:
    path = real_data / "convabuse" / "ConvAbuseEMNLPfull.csv"
    ratings = pv.read_ratings(path, item="conv_id,user", point_columns="is_abuse.*", duplicates="first")
    points = ["is_abuse.-3", "is_abuse.-2", "is_abuse.-1", "is_abuse.0", "is_abuse.1"]
    first: dict[tuple[str, str, str], int] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            pair = (row["conv_id"], row["user"], row["annotator_id"])
            first.setdefault(pair, [row[name] for name in points].index("1"))
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * 5)
    for (conversation, user, _), score in first.items():
        counts[f"{conversation} | {user}"][score] += 1
    assert dict(zip(ratings.items["item"], ratings.counts().tolist(), strict=True)) == counts
    assert ratings.scale == pv.Scale.range(-3, 1)
    rated = ratings.counts()[ratings.counts().sum(axis=1) >= 2]
    assert len(rated) == 4_059
    assert Counter(rated.sum(axis=1).tolist()) == {2: 1046, 3: 2321, 4: 376, 5: 250, 6: 50, 7: 12, 8: 4}
    assert round((rated.max(axis=1) == rated.sum(axis=1)).mean(), 2) == 0.71
    assert (ratings.intake.rows - len(ratings), ratings.n_raters) == (543, 8)


@pytest.mark.parametrize("cells", [
    HOT, HOT.with_columns(pl.col("^s.*$").cast(pl.Boolean)),
    HOT.with_columns(pl.col("^s.*$").cast(pl.Boolean).cast(pl.String)),
    HOT.with_columns(pl.col("^s.*$").cast(pl.Float64)), HOT.with_columns(pl.col("^s.*$").replace(0, None)),
])  # fmt: skip
def test_one_hot_against_long(cells: pl.DataFrame, tmp_path: Path) -> None:
    assert pv.Ratings.from_frame(cells, point_columns="s.*") == EXPECTED
    assert pv.Ratings.from_frame(cells, point_columns=["s.-1", "s.0", "s.1"], scale="-1:1") == EXPECTED
    cells.write_csv(tmp_path / "hot.csv")
    assert pv.read_ratings(tmp_path / "hot.csv", point_columns="s.-1, s.0, s.1", scale="-1:1") == EXPECTED


def test_columns_of_each_rater_against_long(tmp_path: Path) -> None:
    wide = pl.DataFrame(
        {"item": [1, 2], "text": ["x", "y"], "a_s.-1": [1, 0], "a_s.0": [0, 0], "a_s.1": [0, 1],
         "b_s.-1": [0, 0], "b_s.0": [1, 0], "b_s.1": [0, 1],
         "c_s.-1": [None, 0], "c_s.0": [None, 1], "c_s.1": [None, 0]}
    )  # fmt: skip
    wide.write_csv(tmp_path / "wide.csv")
    more = pl.concat([LONG, pl.DataFrame({"item": [2], "rater": ["c"], "score": [0]})])
    ratings = pv.read_ratings(tmp_path / "wide.csv", point_columns="{rater}_s.*", item_attributes=["text"])
    assert ratings.to_frame().equals(pv.Ratings.from_frame(more, scale="-1:1").to_frame())
    assert ratings.items["text"].to_list() == ["x", "y"]
    assert ratings.intake.missing_scores == 1
    with pytest.raises(InputError, match="already says what --rater says"):
        pv.read_ratings(tmp_path / "wide.csv", point_columns="{rater}_s.*", rater="text")
    with pytest.raises(InputError, match="the column 'text' cannot be used if each rater has columns of their own"):
        pv.read_ratings(tmp_path / "wide.csv", point_columns="{rater}_s.*", rater_attributes=["text"])
    lacking = wide.drop("b_s.0").with_columns(pl.Series("c_s.1", [5, 0]))
    with pytest.raises(ColumnError, match=r"matches '{rater}_s\.\*' alongside column 6 is for the point 0"):
        pv.Ratings.from_frame(lacking, point_columns="{rater}_s.*")
    many = wide.with_columns(pl.Series("b_s.1", [1, 1]))
    with pytest.raises(ScoreError, match=r"'several: 0, 1' is not a point of the scale.*") as error:
        pv.Ratings.from_frame(many, point_columns="{rater}_s.*")
    assert "row 1, columns from 6" in str(error.value)


def test_counts_of_points_against_totals(tmp_path: Path) -> None:
    path = write(tmp_path, "note,product,n_1,n_2,n_3\nx,p,1,0,2\ny,q,0,4,0\n")
    ratings = pv.read_ratings(path, point_columns="n_*", layout="totals", item_attributes=["note"])
    assert ratings.counts().tolist() == [[1, 0, 2], [0, 4, 0]]
    assert (ratings.has_raters, ratings.scale, ratings.items.columns) == (False, pv.Scale.range(1, 3), ["item", "note"])
    again = pv.read_ratings(path, item="product", point_columns=["n_3", "n_2", "n_1"], layout="totals", scale="a,b,c")
    assert again.counts().tolist() == [[2, 0, 1], [0, 4, 0]]
    with pytest.raises(ColumnError, match="totals have no raters"):
        pv.read_ratings(path, point_columns="{rater}_*", layout="totals")


def test_rows_without_or_with_several_ones_are_named(tmp_path: Path) -> None:
    path = write(tmp_path, "item,rater,s.1,s.2\n1,a,1,0\n1,b,0,0\n2,a,1,1\n2,b,,\n3,a,0,1\n3,b,0,0\n")
    with pytest.raises(ScoreError) as error:
        pv.read_ratings(path, point_columns="s.*")
    text = str(error.value)
    assert "column 's.*', rows 3, 4, 7: 'all 0', 'several: 1, 2' are not points of the scale 1 < 2" in text, text
    ratings = pv.read_ratings(path, point_columns="s.*", missing=["all 0", "several: 1, 2"])
    assert (len(ratings), ratings.intake.missing_scores) == (2, 4)


@pytest.mark.parametrize(("header", "row", "given", "kind", "message"), [
    ("s.1,s.2", "2,0", {}, ScoreError, r"column 's.1', row 2: '2' is neither 0 nor 1.*if they hold counts"),
    ("s.1,s.2", "yes,0", {}, ScoreError, "'yes' is neither 0 nor 1"),
    ("s.low,s.high", "1,0", {}, ScaleError, "text, which has no order of its own: high, low.*--scale"),
    ("s.1,s.2", "1,0", {"scale": "1:3"}, ColumnError, "no column that matches 's.*' is for the point 3"),
    ("s.1,s.x", "1,0", {"scale": "1:2"}, ColumnError, "column 4 matches 's.*', but 'x' is not a point of"),
    ("s.1,s.1.0", "1,0", {"scale": "1:2"}, ColumnError, "columns 3 and 4 are the same point, 1"),
    ("t.1,t.2", "1,0", {}, ColumnError, "no column matches 's.*'; the columns are item, rater, t.1, t.2"),
    ("a,b", "1,0", {"point_columns": "a,c"}, ColumnError, "there is no column 'c' for a point"),
    ("a,b", "1,0", {"point_columns": "a,a"}, ColumnError, "named for two points"),
    ("a,b", "1,0", {"point_columns": "a,b", "scale": "1:3"}, ColumnError, "2 columns are named, but the scale"),
    ("s.1,s.2", "1,0", {"point_columns": "*.*"}, ColumnError, "more than one star"),
    ("s.1,s.2", "1,0", {"score": "s.1"}, InputError, "already says what --score says"),
    ("s.1,s.2", "1,0", {"layout": "wide"}, InputError, "already says what --wide says"),
    ("s.all 0,s.x", "1,0", {"scale": "x,all 0"}, ScaleError, "cannot be called 'all 0'"),
])  # fmt: skip
def test_bad_columns_are_named(
    tmp_path: Path, header: str, row: str, given: dict[str, str], kind: type[InputError], message: str
) -> None:
    path = write(tmp_path, f"item,rater,{header}\n1,a,{row}\n")
    with pytest.raises(kind, match=message.replace("s.*'", r"s\.\*'")):
        pv.read_ratings(path, **{"point_columns": "s.*", **given})  # type: ignore[arg-type]


def test_ids_of_several_columns(tmp_path: Path) -> None:
    path = write(tmp_path, "talk,turn,rater,score\n1,x | y,a,1\n1,z,a,2\n2,z,a,1\n")
    ratings = pv.read_ratings(path, item="talk,turn", item_attributes=["turn"])
    assert ratings.items.rows() == [("1 | x | y", "x | y"), ("1 | z", "z"), ("2 | z", "z")]
    assert pv.Ratings.from_frame(pl.read_csv(path), item="talk,turn", item_attributes=["turn"]) == ratings
    items = write(tmp_path, "turn,talk,topic\nz,1,p\nx | y,1,q\nz,2,p\n", "items.csv")
    found = pv.read_ratings(path, item="talk,turn", items=items).items
    assert found.select("turn", "topic").rows() == [("x | y", "q"), ("z", "p"), ("z", "p")]
    with pytest.raises(IdError, match=r"column 'turn', row 2: 'x \| y' contains a bar"):
        pv.read_ratings(path, item="turn,talk")
    with pytest.raises(ColumnError, match="there is no column 'turns' for the item"):
        pv.read_ratings(path, item="talk,turns")
    with pytest.raises(IdError, match="row 2: the item id is missing"):
        pv.read_ratings(write(tmp_path, "talk,turn,rater,score\n1,,a,1\n"), item="talk,turn")


def test_command_line_and_config_say_the_same(tmp_path: Path) -> None:
    HOT.rename({"item": "talk"}).with_columns(turn=pl.lit("x")).write_csv(tmp_path / "hot.csv")
    path = tmp_path / "hot.csv"
    asked = ("--item", "talk,turn", "--one-hot", "s.*")
    result = run("describe", path, *asked, "--json")
    assert "item = talk,turn, rater = rater, score = s.*; scale -1 < 0 < 1" in result.words
    assert run("describe", path, *asked, "--write-config").code == 0
    config = load_config(tmp_path / "plurivox.toml")
    assert (config.reading.item, config.reading.score, config.reading.point_columns) == ("talk,turn", None, "s.*")
    assert run("describe", path, "--json").json() == result.json()
    by_rater = pl.DataFrame({"item": [1, 2], "a.1": [1, 0], "a.2": [0, 1]}).write_csv()
    ratings = pv.read_ratings(write(tmp_path, by_rater), point_columns="{rater}.*")
    pv.write_ratings(ratings, tmp_path / "stored.parquet")
    again = pv.read_ratings(tmp_path / "stored.parquet")
    assert (again, again.intake.point_columns) == (ratings, "{rater}.*")
    text = config_text(ratings)
    assert 'point_columns = "{rater}.*"' in text
    assert not [line for line in text.splitlines() if line.startswith(("rater =", "score ="))]
