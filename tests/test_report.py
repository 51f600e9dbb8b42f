"""The report: what it holds, that it is the same every time, and that nothing in the data can break or run in it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import FileError, InputError
from plurivox.engine.pool import Running
from plurivox.infer.lens import Input, Lens
from plurivox.infer.result import Statement
from plurivox.plots import converting
from plurivox.report import build, sections
from plurivox.report.answer import MOST_CLAIMS
from plurivox.report.parts import Brief, Finding, Prose, Section, slug
from plurivox.report.settings import ReportSettings
from plurivox.simulation.simulate import DEMO
from plurivox.study import Study
from support import Markup, only_sections, six
from undrawn import undrawn

pytest.importorskip("vl_convert")


QUICK: dict[str, Any] = {"permutations": 40, "max_permutations": 40, "bootstrap": 40}
OLD = f'{build.MARKS[0].decode()}0.1.0">the old one'
NASTY = ["<script>alert(1)</script>", "\"quoted\" & 'single' <b>", "مرحبا بالعالم", "🦊 fox & 🐻 bear", "long " * 400]


def study(**changes: Any) -> pv.Simulation:
    return pv.simulate(n_items=40, n_raters=60, seed=3, **changes)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = pv.simulate(**DEMO)
    path = tmp_path_factory.mktemp("report") / "report.html"
    return pv.write_report(
        path, made.ratings, ["gender", "age", ("gender", "ethnicity")], reference=made.trained, permutations=199,
        max_permutations=199, interval="none", title="A simulated study",
    )  # fmt: skip


def parsed(path: Path) -> Markup:
    return Markup(path.read_text(encoding="utf-8"))


def test_everything_a_reader_should_find_is_there_in_order(demo: Path) -> None:
    text = demo.read_text(encoding="utf-8")
    main, appendix = text.split('<details id="appendix">')
    parts = [
        "The study", "Who rates higher, and what varies", "Who sees things alike", "Whose scores convey severity",
        "What one label would hide", "Items to look at",
    ]  # fmt: skip
    titles = re.compile(r"<h2[^>]*>([^<]*)</h2>")
    assert titles.findall(main) == ["In short", *parts]
    first, *others = titles.findall(appendix)
    assert first.startswith("Appendix")
    assert others == ["Left out, withheld, or not possible", *parts, "Methods and glossary"]
    claims = re.findall(r'<li><span dir="auto">.*?</span> <small>.*?<a href="#', main)
    assert 1 <= len(claims) <= MOST_CLAIMS
    # What cohesion and responsiveness say of all raters together, here or, behind claims, in the appendix.
    for start in ("All raters together: alpha ", "All raters together, against the reference: MPA "):
        assert f'<li dir="auto">{start}' in text
    assert "Two raters of the same item agree moderately: " in main[: main.index("</section>")]
    assert demo.stat().st_size < 2_000_000


def test_ids_are_unique_and_links_lead_somewhere(demo: Path) -> None:
    parsed(demo).sound()


def test_every_chart_has_words_and_numbers(demo: Path) -> None:
    text = demo.read_text(encoding="utf-8")
    tables = Markup(text).tables
    figures = re.findall(r'<figure id="([^"]+)"(.*?)</figure>', text, flags=re.DOTALL)
    assert len(figures) > 10
    for name, figure in figures:
        assert re.search(r'role="group" aria-label="[^"]{20,}', figure)
        wide, narrow = re.findall(r'<div class="on-(?:wide|narrow)"><svg.*?</svg></div>', figure, flags=re.DOTALL)
        assert wide.count("aria-label=") == len(re.findall("aria-label=|data-said", narrow))
        assert '<details class="behind">' in figure
        assert next(iter(tables[f"{name}-table"].rows()))


def test_the_numbers_are_those_of_the_lenses(demo: Path) -> None:
    made = pv.simulate(**DEMO)
    by: list[Any] = ["gender", "age", ("gender", "ethnicity")]
    found = pv.cohesion(made.ratings, by, permutations=199, max_permutations=199, interval="none", pairs=True)
    tables = parsed(demo).tables
    row = found.row("age", "18-29", "gai")
    told = {(one["axis"], one["group"], one["statistic"]): one for one in tables["cohesion-table"].rows()}
    assert told["age", "18-29", "GAI"]["value"] == six(row.value)
    assert told["age", "18-29", "GAI"]["p corrected"] == six(row.p_adjusted)
    assert made.trained is not None
    graded = pv.responsiveness(made.ratings, made.trained, by, permutations=0, interval="none")
    told = {(one["axis"], one["group"], one["statistic"]): one for one in tables["responsiveness-table"].rows()}
    assert told["age", "18-29", "WRA"]["value"] == six(graded.value("age", "18-29", "wra"))


@pytest.mark.usefixtures("undrawn")
def test_a_summary_is_the_first_screen_alone() -> None:
    made = study()
    with only_sections("study", "variation", "cohesion"):
        report = build.make_report(made.ratings, "gender", **QUICK)
    text, whole = report.html(summary=True), report.html()
    page = Markup(text)
    page.sound()
    assert page.links == ["main"]
    assert re.findall(r"<h2[^>]*>([^<]*)</h2>", text) == ["In short"]
    assert list(page.tables) == ["variation-forest-table"]
    assert len(text) < len(whole)
    inside = re.compile(r'<h3 id="variation-forest-title".*?</h3>|<strong>[^<]*</strong>')
    assert inside.findall(text) == inside.findall(whole[: whole.index('<section id="study"')])
    assert "<abbr title=" in text


@pytest.mark.slow
def test_same_input_same_bytes(tmp_path: Path) -> None:
    made = study()
    first = pv.write_report(tmp_path / "a.html", made.ratings, "gender", reference=made.trained, **QUICK)
    second = pv.write_report(tmp_path / "b.html", made.ratings, "gender", reference=made.trained, **QUICK)
    assert first.read_bytes() == second.read_bytes()


def test_no_rater_and_no_small_group_is_in_it(demo: Path) -> None:
    text = demo.read_text(encoding="utf-8")
    assert "rater-0" not in text
    assert "Nonbinary" not in text
    assert "withheld" in text


def nasty_study() -> pv.Ratings:
    made = study()
    groups = [NASTY[r % len(NASTY)] for r in range(60)]
    items = pl.DataFrame({"item": made.items["item"], "text": [NASTY[i % len(NASTY)] for i in range(40)]})
    raters = made.raters.select("rater").with_columns(pl.Series("group", groups))
    return pv.Ratings.from_frame(made.ratings_frame, scale=made.scale, raters=raters, items=items)


def test_text_from_data_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converting, "MOST", 4)
    path = pv.write_report(
        tmp_path / "r.html", nasty_study(), "group", title="</title><script>alert(2)</script>", **QUICK
    )
    text = path.read_text(encoding="utf-8")
    page = parsed(path)
    page.sound()
    assert "<script>alert" not in text
    told = {value for table in page.tables.values() for value in table.columns.get("group", [])}
    assert {*NASTY[:-1], f"{NASTY[-1][:300]} … (2,000 characters)"} <= told
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "&#34;quoted&#34; &amp; &#39;single&#39;" in text or "&quot;quoted&quot;" in text
    assert "مرحبا بالعالم" in text
    assert "🦊" in text


@pytest.mark.usefixtures("undrawn")
def test_without_demographics(tmp_path: Path) -> None:
    path = pv.write_report(tmp_path / "r.html", study(attributes={}).ratings, **QUICK)
    text = path.read_text(encoding="utf-8")
    assert "there are no groups to compare" in text
    assert "--by" in text
    assert "More ratings needed" in text


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report without a reference, beside the ratings it is of."""
    folder = tmp_path_factory.mktemp("plain")
    made, data = study(), folder / "ratings.csv"
    made.ratings_frame.write_csv(data)
    with undrawn():
        return pv.write_report(
            folder / "r.html", made.ratings, "gender", seed=7, command="plurivox report 'x y.csv' --seed 7",
            files={"ratings.csv": data}, **QUICK,
        )  # fmt: skip


def test_without_a_reference_the_crowd_is_one_and_that_is_said(plain: Path) -> None:
    text = plain.read_text(encoding="utf-8")
    assert "No reference was given" in text
    assert "the rest of the crowd" in text


@pytest.mark.usefixtures("undrawn")
def test_totals(tmp_path: Path) -> None:
    path = tmp_path / "totals.csv"
    path.write_text("item,0,1,2\na,3,1,0\nb,0,2,2\nc,1,1,1\n")
    ratings = pv.read_ratings(path, scale="0:2", layout="totals")
    text = pv.write_report(tmp_path / "r.html", ratings, **QUICK).read_text(encoding="utf-8")
    assert "The table holds totals" in text
    assert "More ratings needed" in text


@pytest.mark.usefixtures("undrawn")
def test_one_group_only_and_nothing_significant(tmp_path: Path) -> None:
    made = study(attributes={"site": {"here": 1.0}})
    text = pv.write_report(tmp_path / "r.html", made.ratings, "site", reference=made.trained, **QUICK).read_text()
    assert "could not be computed" in text or "No group stands out" in text


@pytest.mark.usefixtures("undrawn")
def test_without_draws(tmp_path: Path) -> None:
    made = study()
    path = pv.write_report(
        tmp_path / "r.html", made.ratings, "gender", reference=made.trained, permutations=0, bootstrap=0
    )
    page = parsed(path)
    assert "cohesion-forest" in page.ids
    rows = [row for row in page.tables["cohesion-table"].rows() if row["statistic"] == "GAI"]
    assert rows
    assert all(row["value"] is not None and "p" not in row for row in rows)


@pytest.mark.slow
def test_many_items_stay_small(tmp_path: Path) -> None:
    made = pv.simulate(n_items=10_000, n_raters=60, ratings_per_item=3, models=(), trained=0, seed=1)
    path = pv.write_report(tmp_path / "r.html", made.ratings, "gender", permutations=5, max_permutations=5, bootstrap=5)
    assert path.stat().st_size < 4_000_000
    assert "The 100 of 10,000 items about which one more rating reveals most" in path.read_text(encoding="utf-8")


def test_a_failed_run_leaves_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.html"
    path.write_text(OLD)

    def fails(*args: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("plurivox.report.build.page", fails)
    monkeypatch.setattr(build, "lenses", list)
    with pytest.raises(KeyboardInterrupt):
        pv.write_report(path, study().ratings, "gender", **QUICK)
    assert path.read_text() == OLD
    assert [one.name for one in tmp_path.iterdir()] == ["r.html"]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", ["r.html", "r.pdf"])
def test_only_reports_are_replaced_unless_forced(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "check_browser", lambda: "")
    monkeypatch.setattr(build, "lenses", list)
    path = tmp_path / name
    path.touch()  # nobody's work

    def write(**more: bool) -> bytes:
        return pv.write_report(path, study().ratings, "gender", **QUICK, **more).read_bytes()

    made = write()
    assert write() == made
    path.write_text("<p>my notes on plurivox</p>" * 1000)
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(build, "make_report", lambda *given, **more: pytest.fail("not after minutes"))
        with pytest.raises(FileError, match=r"it exists and was not written by plurivox\. Name another .*force=True"):
            write()
    with pytest.raises(FileError, match="was not written by plurivox"):
        build.make_report(study().ratings, "gender", **QUICK).write(path)
    assert path.read_bytes() == before
    assert write(force=True) == made


def test_bad_numbers_are_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="permutations is -1"):
        pv.write_report(tmp_path / "r.html", study().ratings, "gender", permutations=-1)


def section(name: str, *findings: tuple[float | None, bool], n_permutations: int | None = 1_000_000) -> Section:
    """Return a section with findings, of which p and whether they are claims are given."""
    made = [
        Finding(Statement(f"{name} {p}", 4 - (p or 0), claim=claim, p=p, n_permutations=n_permutations), name)
        for p, claim in findings
    ]
    return Section(name, name, "", findings=made)


def headlines(*shown: Section) -> list[str]:
    return [one.text for one in build.top_findings(shown)]


def test_scales_of_very_many_points_are_refused_before_anything_runs(tmp_path: Path) -> None:
    frame = pl.DataFrame({"item": [1, 1, 2, 2], "rater": ["a", "b", "a", "b"], "score": [0, 1, 2, 9]})
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale(range(1_002)))
    with pytest.raises(InputError, match=r"the scale has 1,002 points, and a report takes at most 1,001"):
        pv.write_report(tmp_path / "report.html", ratings, permutations=0, min_group_size=1)
    assert not list(tmp_path.iterdir())


def test_headlines_are_claims_after_holm_over_the_lenses() -> None:
    """Smallest p of three lenses: .004 · 3 = .012, .02 · 2 = .04, .6 · 1; within the first, .03 · 3 = .09."""
    first, second = section("a", (0.03, True), (0.004, True)), section("b", (0.02, True))
    third = section("c", (0.6, False), (None, False))
    assert headlines(third, second, first, section("d", (None, False))) == ["a 0.004", "b 0.02"]
    # Without the third, the first are held against .05/2 and .05/1.
    assert headlines(first, second) == ["a 0.004", "b 0.02"]
    assert headlines(section("a", (0.024, True)), second) == ["b 0.02", "a 0.024"]


def test_planned_looks_share_the_error_rate() -> None:
    """Smallest p of two lenses at one of five looks: .004 · 2 · 5 = .04, then .012 · 1 · 5 = .06."""
    shown = [section("a", (0.004, True)), section("b", (0.012, True))]
    assert headlines(*shown) == ["a 0.004", "b 0.012"]
    assert [one.text for one in build.top_findings(shown, looks=5)] == ["a 0.004"]
    # As many shuffles as decide one look need not decide one of five: .004 is within two errors, .0014 each, of .005.
    few = [section("a", (0.004, True), n_permutations=2_000), section("b", (0.5, False))]
    assert headlines(*few) == ["a 0.004"]
    assert [one.text for one in build.top_findings(few, looks=5)] == [build.NOTHING]


def test_no_lens_is_let_through_behind_one_that_fails() -> None:
    """.02 · 3 = .06 is too much; .021 · 2 = .042 alone would not be, but Holm's p never falls."""
    shown = [section("a", (0.02, True)), section("b", (0.021, True)), section("c", (0.5, False))]
    assert headlines(*shown) == [build.NOTHING]
    assert build.top_findings(shown)[0].anchor == "a"


def test_what_is_no_claim_or_undecided_is_no_headline() -> None:
    """With 199 shuffles .012 is within two standard errors, .0077 each, of .05/3."""
    others = [section("b", (0.5, False)), section("c", (0.5, False))]
    assert headlines(section("a", (0.001, False)), *others) == [build.NOTHING]
    assert headlines(section("a", (0.012, True), n_permutations=199), *others) == [build.NOTHING]
    assert headlines(section("a", (0.012, True), n_permutations=20_000), *others) == ["a 0.012"]
    assert headlines(section("a", (0.012, True), n_permutations=None), *others) == ["a 0.012"]
    assert headlines(section("a", (None, False))) == []  # nothing was tested


def test_every_headline_is_kept_and_facts_come_last() -> None:
    """The first screen shows a few of them and counts the others; see test_report_answer.py."""
    many = section("a", *((k / 10_000, True) for k in range(1, 31)))
    fact = Section("b", "b", "", findings=[Finding(Statement("All raters agree.", 2.2), "b", fact=True)])
    assert headlines(fact, many) == [*(f"a {k / 10_000}" for k in range(1, 31)), "All raters agree."]


def test_slugs_are_plain() -> None:
    assert slug("study-scale", "gender × ethnicity") == "study-scale-gender-ethnicity"
    assert slug("العربية") == "part"


def test_results_show_themselves_in_notebooks() -> None:
    ratings = nasty_study()
    html = pv.cohesion(ratings, "group", permutations=5)._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert html.count("<table") == 1


def test_the_settings_tell_how_to_make_it_again(plain: Path) -> None:
    text = plain.read_text(encoding="utf-8")
    import hashlib

    assert hashlib.sha256(plain.with_name("ratings.csv").read_bytes()).hexdigest() in text
    assert "plurivox report 'x y.csv' --seed 7" in Markup(text).text
    assert f"plurivox {pv.__version__}" in text
    assert json.dumps(pv.__version__).strip('"') in text


def test_many_findings_before_correction_are_counted_beside_chance() -> None:
    """Of 40 groups under a null some have p < .05; three are named and the rest counted."""
    shares = {f"g{i:02d}": 1 / 40 for i in range(40)}
    made = pv.simulate(n_items=60, n_raters=600, missing=0.7, attributes={"g": shares}, models=(), trained=0, seed=5)
    found = pv.cohesion(made.ratings, "g", permutations=200, interval="none")
    claims = ("irr", "xrr", "gai", "view_correlation")
    rows = [row for row in found.rows if row.kind == "group" and row.statistic in claims and row.tested]
    before = [row for row in rows if (row.p_value or 1.0) < 0.05 and not row.claim]
    assert len(before) > 3
    said = found.statements()
    named = [one for one in said if one.text.startswith("Before correction only: g: g")]
    assert len(named) == 3
    smallest = sorted(row.p_value or 0.0 for row in before)[:3]
    for one, p in zip(named, smallest, strict=True):
        assert found.row("g", one.group, one.statistic).p_value == p
        assert not one.claim
    expected = (
        f"{len(before) - 3} more of {len(rows)} values have p < .05 before correction only; about "
        f"{0.05 * len(rows):.0f} would by chance alone."
    )
    assert expected in [one.text for one in said]


@pytest.mark.usefixtures("undrawn")
def test_raters_one_by_one_stay_out(tmp_path: Path) -> None:
    made = study()
    path = pv.write_report(tmp_path / "r.html", made.ratings, ["gender", "rater"], reference=made.trained, **QUICK)
    text = path.read_text(encoding="utf-8")
    assert "rater-0" not in text
    assert "Individual raters are not shown in reports" in text


@pytest.mark.slow
def test_parts_of_the_items_have_charts_of_their_own(tmp_path: Path) -> None:
    made = study()
    path = pv.write_report(
        tmp_path / "r.html", made.ratings, "gender", reference=made.trained, items_by="violation", **QUICK
    )
    text = path.read_text(encoding="utf-8")
    for violation in made.items["violation"].unique():
        assert f"MPA and WRA of each group on {violation}" in text
    parsed(path).sound()


@pytest.mark.slow
def test_axes_without_latin_letters_have_ids_of_their_own(tmp_path: Path) -> None:
    made = study(attributes={"الجنس": {"أ": 0.5, "ب": 0.5}, "العمر": {"ج": 0.5, "د": 0.5}})
    path = pv.write_report(tmp_path / "r.html", made.ratings, ["الجنس", "العمر"], reference=made.trained, **QUICK)
    tags = parsed(path)
    tags.sound()
    assert "study-scale-2" in tags.ids


def test_a_new_section_is_a_module_named_after_the_folder_of_its_lens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def section(brief: Brief) -> Section:
        words = brief.study.inputs.get("words", "nothing")
        return Section(
            "new", "A new lens", "What it asks.", [Prose(f"It was given {words}.")],
            [Finding(Statement("New.", 9.0, claim=True, p=0.001, subject="New", short="is new"), "new")],
        )  # fmt: skip

    monkeypatch.setattr(sections, "_modules", lambda: frozenset({"settings"}))
    monkeypatch.setitem(sys.modules, f"{sections.__name__}.settings", SimpleNamespace(section=section))
    words = Input(name="words", options=(), load="")
    lens = Lens(
        name="new", command="new", question="New?", settings=ReportSettings, inputs=(words,),
        run="new_lens:run", result="new_lens:New", tables="new_lens:tables",
    )  # fmt: skip
    monkeypatch.setattr(build, "lenses", lambda: [lens])
    text = pv.write_report(tmp_path / "r.html", study().ratings, "gender", words="these", **QUICK).read_text()
    assert "It was given these." in text
    assert text.index('<span dir="auto">New is new.</span>') < text.index("The study</h2>") < text.index(">New.</li>")
    with pytest.raises(InputError, match="a report has no option 'wordz'"):
        pv.write_report(tmp_path / "r.html", study().ratings, "gender", wordz="these", **QUICK)


def test_intervals_of_very_many_groups_are_left_out_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made = pv.simulate(n_items=20, n_raters=40, seed=2)
    study = Study(made.ratings, {}, Running())
    asked = ReportSettings(by=(("age",), ("gender",)))
    assert build.brief_of(study, asked).asked.interval is None
    monkeypatch.setattr(build, "MOST_WITH_INTERVALS", 3)
    brief = build.brief_of(study, asked)
    assert brief.asked.interval == "none"
    assert brief.remarks[-1].startswith("Intervals are left out, because they would take very long for ")
    assert build.brief_of(study, asked.replace(interval="jackknife")).asked.interval == "jackknife"
    assert build.brief_of(study, asked.replace(by=())).asked.interval is None
