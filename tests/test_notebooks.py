"""What notebooks show: a small card of every result and table, well formed, harmless, with the numbers of its frame."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plurivox as pv
from plurivox.ask import accuracy, draw_audit, reread
from plurivox.base.cards import MOST_ROWS, CardCell, CardGrid, CardSentence, card
from plurivox.infer.result import Result
from plurivox.statistics.registry import STATISTICS
from stored_answers import fill

PRINTABLE = "<script>alert('x')</script>\"&\u202e"
"""Names of models hold no control characters."""
HOSTILE = f"{PRINTABLE}\x1b[31m"
MARKED = "\ufffd"
MOST_BYTES = 30_000
MOST_HEADINGS = 8
VOID = {"br"}


class Page(HTMLParser):
    """A piece of HTML, read strictly: every element is closed in its order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: list[str] = []
        self.styles: list[str] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.styles += [value or "" for name, value in attrs if name == "style"]
        assert {name for name, _ in attrs} <= {"style", "scope", "colspan"}
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


@cache
def simulated() -> pv.Simulation:
    return pv.simulate(n_items=30, n_raters=40, seed=2)


@cache
def ratings(*, hostile: bool = False) -> pv.Ratings:
    made = simulated().ratings
    if not hostile:
        return made
    renamed = {"age": pl.col("age").map_elements(lambda name: f"{name}{HOSTILE}", return_dtype=pl.String)}
    raters = made.raters.with_columns(**renamed).rename({"age": f"age{HOSTILE}"})
    items = made.items.with_columns(item=pl.concat_str(pl.col("item"), pl.lit("<b>")))
    frame = made.to_frame().with_columns(item=pl.concat_str(pl.col("item"), pl.lit("<b>")))
    return pv.Ratings.from_frame(frame, scale=made.scale, raters=raters, items=items)


def weighted(*, hostile: bool) -> pv.Ratings:
    known = ratings(hostile=hostile).raters[by(hostile)].unique().drop_nulls().to_list()
    return ratings(hostile=hostile).weighted({by(hostile): dict.fromkeys(known, 1 / len(known))})


def by(hostile: bool) -> str:
    return f"age{HOSTILE}" if hostile else "age"


def of_models(frame: pl.DataFrame | None, hostile: bool) -> pl.DataFrame:
    """Return a table of models and items, with names that go with the ratings."""
    assert frame is not None
    signs = {"item": "<b>", "model": PRINTABLE} if hostile else {}
    return frame.with_columns(pl.concat_str(pl.col(name), pl.lit(sign)).alias(name) for name, sign in signs.items())


def predictions(hostile: bool) -> pv.Predictions:
    return pv.Predictions.from_frame(of_models(simulated().predictions, hostile), ratings().scale)


def answers(hostile: bool) -> pv.Answers:
    return pv.Answers.from_frame(of_models(simulated().answers, hostile), ratings().scale)


Make = Callable[[bool], Any]
FEW: dict[str, Any] = {"permutations": 20}


def packed(hostile: bool) -> Any:
    """Pack ratings and open them; what is mapped stays readable though its folder is gone."""
    with tempfile.TemporaryDirectory() as folder:
        given = ratings(hostile=hostile)
        tables = {"ratings": given.to_frame(), "raters": given.raters, "items": given.items}
        for name, frame in tables.items():
            frame.write_parquet(Path(folder, f"{name}.parquet"))
        beside: Any = {name: Path(folder, f"{name}.parquet") for name in ("raters", "items")}
        pv.pack(Path(folder, "ratings.parquet"), Path(folder, "study.pvx"), scale=given.scale, **beside)
        opened = pv.read_ratings(Path(folder, "study.pvx"))
        list(opened.parts())
        return opened


MAKERS: dict[str, Make] = {
    "Ratings": lambda h: ratings(hostile=h), "PackedRatings": packed,
    "Scale": lambda h: pv.Scale([f"low{HOSTILE}", "high"], poles=("a<b>", "c")) if h else ratings().scale,
    "Axis": lambda h: pv.Axis.of(ratings(hostile=h), by(h)), "Predictions": predictions, "Answers": answers,
    "Simulation": lambda h: simulated(), "Description": lambda h: pv.describe(ratings(hostile=h)),
    "Panel": lambda h: weighted(hostile=h).panel, "Overview": lambda h: pv.overview(ratings(hostile=h), by=by(h)),
    "Cohesion": lambda h: pv.cohesion(ratings(hostile=h), by(h), **FEW),
    "Responsiveness": lambda h: pv.responsiveness(ratings(hostile=h), "crowd", by(h), **FEW),
    "Variation": lambda h: pv.variation(ratings(hostile=h), by(h), **FEW),
    "Psychometrics": lambda h: pv.psychometrics(ratings(hostile=h), by(h)),
    "SoftScores": lambda h: pv.soft_scores(ratings(hostile=h), predictions(h), by=by(h), bootstrap=20, **FEW),
    "Aggregation": lambda h: pv.aggregate(ratings(hostile=h), by(h), **FEW),
    "Alignment": lambda h: pv.alignment(ratings(hostile=h), answers(h), by=by(h), bootstrap=20, **FEW),
    "JudgeCard": lambda h: pv.judge(ratings(hostile=h), answers(h), by=by(h), require="omega>=0.5"),
    "Estimate": lambda h: pv.estimate(ratings(hostile=h), answers(h), by=by(h)),
    "Items": lambda h: pv.items(ratings(hostile=h), by=by(h), **FEW),
    "ItemView": lambda h: pv.item_view(ratings(hostile=h), ratings(hostile=h).items["item"][0], by=by(h), **FEW),
    "Advice": lambda h: pv.advise(ratings(hostile=h), "crowd", by(h), **FEW),
    "Plan": lambda h: pv.plan(ratings(hostile=h), by=by(h), simulations=0),
    "Selection": lambda h: pv.select_raters(ratings(hostile=h), by=by(h), bootstrap=20),
    "Curation": lambda h: pv.curate(ratings(hostile=h), "crowd", by=by(h), form="points", **FEW),
    "ResponsivenessStudy": lambda h: pv.studies.responsiveness(
        tops=[4, 8], repeats=2, n_items=60, n_raters=5, trained=5,
    ),
    "SoftStudy": lambda h: pv.studies.soft(),
}  # fmt: skip
NOT_OF_NAMES = {"Simulation", "ResponsivenessStudy", "SoftStudy"}
"""What shows no text of others."""


def public() -> dict[str, type]:
    """Every class of the package that users get and that holds tables or results, found in its modules."""
    found: dict[str, type] = {}
    left_out = ("torch", "models", "inspect", "intake", "report", "__main__")
    for module in pkgutil.walk_packages(pv.__path__, "plurivox."):
        if module.name.startswith(tuple(f"plurivox.{name}" for name in left_out)):
            continue  # what is there needs more than this package, is a file, or only has an old name
        for name, one in vars(importlib.import_module(module.name)).items():
            if not inspect.isclass(one) or one.__module__ != module.name or name.startswith("_"):
                continue
            if "to_frame" in dir(one) and not inspect.isabstract(one):
                found[name] = one
    for name in pv.__all__:
        one = getattr(pv, name)
        if inspect.isclass(one) and hasattr(one, "_repr_html_"):
            found[name] = one
    return {name: one for name, one in found.items() if not inspect.isabstract(one)}


ELSEWHERE = {"Rereading", "Accuracy", "Reproduction", "GroupResult"}
"""What needs files, and has a test of its own; and what is only inherited from."""


def test_every_result_is_looked_at() -> None:
    pytest.importorskip("starlette")
    known = public()
    assert set(known) == set(MAKERS) | (ELSEWHERE & set(known))
    assert all(callable(getattr(one, "_repr_html_", None)) for one in known.values())
    assert {"Items", "Overview", "Description"} <= set(known)


def checked(text: str) -> Page:
    page = Page(text)
    assert not {"script", "style", "link", "img", "iframe", "b"} & set(page.seen)
    assert not re.search(r"(?<!-)\bcolor:|background", " ".join(page.styles))  # those of the notebook
    assert len(text.encode()) < MOST_BYTES
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    return page


@pytest.mark.filterwarnings("ignore::plurivox.base.errors.PlurivoxWarning")
@pytest.mark.parametrize("hostile", [False, True])
@pytest.mark.parametrize("name", MAKERS)
def test_a_card_is_small_and_well_formed(name: str, hostile: bool) -> None:
    found = MAKERS[name](hostile)
    page = checked(found._repr_html_())
    assert page.text.startswith(name) or name == "Axis"
    n_tables = page.seen.count("table")
    full = [row for row in page.rows if len(row) > 1]
    assert len(full) <= MOST_ROWS + n_tables  # and the headers
    assert len(page.rows) <= MOST_ROWS + n_tables + MOST_HEADINGS
    if hostile and name not in NOT_OF_NAMES:
        assert "<script>" in page.text or "<b>" in page.text or name in ("Plan", "Selection", "Predictions"), page.text
        assert MARKED in page.text or name == "ItemView"


def cells(page: Page) -> Iterator[tuple[str, str, str]]:
    """Yield group or model, heading and text of every value of the first table."""
    header, *rows = page.rows
    for row in rows:
        if row == page.rows[0] or len(row) != len(header):
            continue
        yield from ((row[0], name, text) for name, text in zip(header[1:], row[1:], strict=True))


RESULTS = [name for name in MAKERS if inspect.isclass(kind := getattr(pv, name, None)) and issubclass(kind, Result)]


@pytest.mark.filterwarnings("ignore::plurivox.base.errors.PlurivoxWarning")
@pytest.mark.parametrize("name", RESULTS)
def test_values_are_those_of_the_frame(name: str) -> None:
    found = MAKERS[name](False)
    frame = found.to_frame()
    frame = frame.filter(pl.col("bin") == "all") if "bin" in frame.columns else frame
    headings = {record.heading: record.name for record in STATISTICS.values()}
    key = next(name for name in ("model", "method", "group") if name in frame.columns)
    seen = 0
    for who, heading, text in cells(checked(found._repr_html_())):
        if heading not in headings or heading == "raters" or not re.search(r"\d", text):
            continue
        group = "all" if who == "all raters" else who
        own = frame.filter(pl.col("statistic") == headings[heading], pl.col(key) == group)
        own = own.filter(axis="all") if key != "group" else own
        assert own.height == 1
        row = own.row(0, named=True)
        number, *ends = re.findall(r"-?\d+\.\d+|∞", text)
        assert float(number) == pytest.approx(row["value"], abs=5.1e-4)
        if ends:
            low, high = (float(end.replace("∞", "inf")) for end in ends)
            assert (low, high) == pytest.approx((row["ci_low"], row["ci_high"]), abs=5.1e-3)
        significant = row["p_value"] is not None and row["p_value"] < 0.05
        assert ("*" in text) is significant
        assert ("**" in text) is (significant and row["p_adjusted"] < 0.05)
        seen += 1
    assert seen >= 4


def test_many_groups_are_cut_to_those_that_stand_out() -> None:
    """Of 40 raters one by one twelve are shown, called by numbers, and the others are counted."""
    found = pv.responsiveness(ratings(), "crowd", "rater", permutations=0, interval="none")
    page = checked(found._repr_html_())
    assert len([row[0] for row in page.rows if re.fullmatch(r"rater \d+", row[0])]) == MOST_ROWS
    assert f"{40 - MOST_ROWS} more raters: to_frame()" in page.text
    assert not any(str(one) in page.text for one in ratings().raters["rater"])


def test_the_surest_groups_are_kept() -> None:
    """Those with the smallest p-values stay; what comes of sorting the frame by hand is an independent order."""
    by_two = ["age", "gender", "ethnicity", ("age", "gender"), ("ethnicity", "gender")]
    found = pv.cohesion(pv.simulate(n_items=30, n_raters=120, seed=1).ratings, by_two, permutations=99, interval="none")
    shown = ("irr", "xrr", "gai", "view_correlation")
    frame = found.to_frame().filter(pl.col("statistic").is_in(shown), pl.col("p_value").is_not_null())
    best = frame.group_by("axis", "group").agg(pl.col("p_adjusted").min(), pl.col("p_value").min())
    claimed = best.filter(pl.col("p_adjusted") < 0.05).height
    page = checked(found._repr_html_())
    assert sum("**" in " ".join(row) for row in page.rows) == min(claimed, MOST_ROWS - 1)
    assert [row[0] for row in page.rows[1:2]] == ["all raters"]


def test_nothing_private_of_ratings_is_shown() -> None:
    made = ratings()
    page = checked(made._repr_html_())
    assert not any(str(one) in page.text for one in (*made.raters["rater"], *made.items["item"], *made.items["text"]))
    assert "1,200 ratings of 30 items by 40 raters" in page.text
    assert "fully crossed" in page.text
    row = next(row for row in page.rows if row[0] == "gender")
    known = made.raters["gender"]
    assert row == ["gender", "raters", str(known.drop_nulls().n_unique()), str(known.null_count())]
    some = made.where(raters={"gender": "Woman"})
    sparse = pv.Ratings.from_frame(some.to_frame().gather_every(2), scale=made.scale)
    assert "sparse: 50" in sparse._repr_html_()


def test_groups_that_are_withheld_are_not_named() -> None:
    columns = {"item": [i for i in range(6) for _ in range(12)], "rater": list(range(12)) * 6, "score": [0, 1, 2] * 24}
    raters = pl.DataFrame({"rater": range(12), "team": ["large"] * 6 + ["wide"] * 5 + ["lonely"]})
    made = pv.Ratings.from_frame(pl.DataFrame(columns), raters=raters)
    found = pv.Axis.of(made, "team"), pv.describe(made), pv.overview(made, by="team"), pv.cohesion(made, "team", **FEW)
    for one in found:
        assert "lonely" not in one._repr_html_()


def test_accuracy_and_rereading(tmp_path: Path) -> None:
    path = tmp_path / "answers.db"
    fill(path, ["A", "I cannot judge that.", "B", "C"])
    table = draw_audit(path, 3).with_columns(correct=pl.lit("yes"))
    share = accuracy(table)
    assert [row[3] for row in checked(share._repr_html_()).rows[1:2]] == [str(share.overall.correct)]
    assert "Rereading" in checked(reread(path)._repr_html_()).text


def test_claims_come_first_and_remarks_last() -> None:
    said = [CardSentence("plain"), CardSentence("a remark", remark=True), CardSentence("sure", claim=True)]
    text = Page(card("T", said=said)).text
    assert text.index("◆ claimed sure") < text.index("plain") < text.index("a remark")


def test_long_lists_are_folded_and_cut() -> None:
    text = card("T", said=[CardSentence(f"finding {n} " + "x" * 5000) for n in range(100)])
    page = checked(text)
    assert page.seen.count("details") == 1
    assert page.seen.count("li") == 16
    assert "96 more" in page.text
    assert "84 more: findings()" in page.text


def test_tables_share_the_rows() -> None:
    row = [CardCell("x"), CardCell("1")]
    grids = [CardGrid(["a", "b"], [False, True], [row] * n, f"table {n}") for n in (2, 300, 40)]
    page = checked(card("T", grids=grids, more="to_frame()"))
    assert [len(part.split("x")) - 1 for part in re.split(r"table \d+", page.text)[1:]] == [2, 5, 5]
    assert "295 more: to_frame()" in page.text
