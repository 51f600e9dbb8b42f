"""Tables as LaTeX, HTML, Markdown, CSV and JSON, printed or written; charts as PDF."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zlib
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from markdown_it import MarkdownIt

import plurivox as pv
from plurivox.base.cards import right_columns
from plurivox.base.errors import FileError
from plurivox.infer.exports import Document, html_text, latex_text, markdown_text
from plurivox.infer.view import LEGEND, View
from support import Write, ran, refused, run_cli

ODD = View(
    "A & B: 50 % of $x_1",
    ["group", "n", "Δ", "what #"],
    [
        ["[a] \\ {b} ~ ^", "1,200", "-0.31 ↓**", "x < y > z | 'q'"],
        ["*Zoë × Łukasz", "<.001", "–", "a -- b"],
        ["last", "withheld", "+∞", 'say "no" → `x`'],
    ],
)
LATEX = r"""% Needs \usepackage{booktabs}.

\begin{table}[htbp]
\centering
\caption{A \& B: 50 \% of \$x\_1}
\begin{tabular}{lrll}
\toprule
group & n & $\Delta$ & what \# \\
\midrule
{}[a] \textbackslash{} \{b\} \textasciitilde{} \textasciicircum{} & 1,200 & -0.31 $\downarrow$** & x \textless{} y \textgreater{} z \textbar{} 'q' \\
{}*Zoë $\times$ Łukasz & \textless{}.001 & -- & a -{}- b \\
last & withheld & +$\infty$ & say \char34{}no\char34{} $\rightarrow$ \textasciigrave{}x\textasciigrave{} \\
\bottomrule
\end{tabular}
\end{table}

% What stands out:
% - 100 % of it & more."""  # noqa: E501 - as LaTeX has it


def study() -> str:
    """Return 12 raters of two genders, and 4 items."""
    lines = ["item,rater,score,gender,text"]
    for rater in range(12):
        for item in range(4):
            score = (rater * (item + 1) + item) % 3
            lines.append(f"i{item},person-{rater},{score},{'Woman' if rater % 2 else 'Man'},text & <b>{item}</b>")
    return "\n".join(lines) + "\n"


@pytest.fixture
def ratings(write: Write) -> Path:
    return write("ratings.csv", study())


GIVEN = ("--scale", "0:2", "--rater-attributes", "gender", "--item-attributes", "text")
QUICK = ("--permutations", 19, "--by", "gender")


# Forms ---------------------------------------------------------------------------------------------------------------
def test_latex_against_a_table_written_by_hand() -> None:
    assert latex_text([Document([ODD], ["100 % of it & more."])]) == LATEX


def test_latex_of_long_and_wide_tables_and_of_other_letters() -> None:
    long = View("long", ["a", "b"], [[str(n), str(n)] for n in range(41)])
    text = latex_text([Document([long], legend="why")])
    assert text.startswith("% Needs \\usepackage{booktabs,longtable}.\n")
    assert text.count("\\toprule") == text.count("a & b \\\\") == 2
    assert "\\endhead\n0 & 0 \\\\" in text
    wide = View("wide", ["a" * 60, "b" * 60], [["a", "1"]])
    assert "booktabs,adjustbox" in latex_text([Document([wide])])
    assert "LuaLaTeX" not in text
    assert "LuaLaTeX" in latex_text([Document([View("名前", ["a"], [["b"]])])])
    minus = View("t", ["name", "a", "b"], [["x-1", "-0.5 [-1.0, .2]", "2021-03 no"], ["y", "1e-3", "-x"]])
    assert right_columns(minus.rows) == [False, True, False]  # and only there it is one
    assert "x-1 & $-$0.5 [$-$1.0, .2] & 2021-03 no" in latex_text([Document([minus])])
    assert "y & 1e-3 & -x" in latex_text([Document([minus])])
    plain, signs = View("p", ["a", "b"], [["x", "1"]]), View("s", ["a", "b"], [["x", "1 ↑*"]])
    text = latex_text([Document([plain, signs], legend=LEGEND)])  # which stands where its signs are
    assert text.index("above or below") > text.index("\\caption{s}")
    assert text.count("above or below") == 1


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(tmp_path: Path) -> None:
    long = View("long", ["a", "b"], [["[x", "-1 ↑"]] * 50)
    body = latex_text([Document([ODD, long], ["a"], LEGEND, ["b"], "Question & Q")])
    head = "\\documentclass{article}\\usepackage{booktabs,longtable,adjustbox}\\begin{document}\n"
    (tmp_path / "t.tex").write_text(f"{head}{body}\n\\end{{document}}\n")
    done = subprocess.run(
        ["pdflatex", "-halt-on-error", "t.tex"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


class Cells(HTMLParser):
    """Collects what a browser would show in tables and lists, and every element with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[tuple[str, str, str]] = []
        self.tags: set[str] = set()
        self._open: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag in ("td", "th", "li", "strong"):
            self._open.append((tag, dict(attrs).get("style") or ""))
            self.cells.append((tag, "", self._open[-1][1]))

    def handle_data(self, data: str) -> None:
        if self._open:
            tag, text, style = self.cells[-1]
            self.cells[-1] = (tag, text + data, style)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1][0] == tag:
            self._open.pop()


def test_html_against_another_parser() -> None:
    hostile = View("<script>x</script>", ["<i>a", "b"], [["\x1b[31m</td>", '1 " onclick="'], ["two\nlines", "2"]])
    found = Cells(html_text([Document([ODD, hostile], ["a < b & c"], "legend", ["note"])]))
    texts = [text for _, text, _ in found.cells]
    shown = [ODD.title, *ODD.header, *(cell for line in ODD.rows for cell in line)]
    assert texts[: len(shown)] == shown
    assert texts[len(shown) :] == [
        "<script>x</script>", "<i>a", "b", "\ufffd[31m</td>", '1 " onclick="', "two lines", "2", "note", "a < b & c",
    ]  # fmt: skip
    assert found.tags <= {
        "html", "head", "meta", "title", "body", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "li",
    }  # fmt: skip
    styles = {text: style for tag, text, style in found.cells if tag in ("td", "th")}
    assert "text-align:right" in styles["1,200"]
    assert "text-align:left" in styles["last"]
    assert all("border:1px solid" in style for style in styles.values())


def test_markdown_against_text_written_by_hand() -> None:
    table = View("a < b", ["x", "y|z"], [["<b>", " 1 "], ["p|q", "2\n3"]])
    assert markdown_text([Document([table], ["s"], "legend", ["note"], "Question Q")]) == (
        "## Question Q\n\n### a &lt; b\n\n| x | y\\|z |\n| --- | ---: |\n| &lt;b> | 1 |\n| p\\|q | 2 3 |\n\n- s"
    )


@pytest.mark.parametrize(
    "text",
    [
        "a\\|b", "_x_ and __y__", "τ_b, p_value", "*a* **b**", "0.9 ↓**", "[x](y.html)", "![x](y.png)", "`code`",
        "~~gone~~", "$5 and $6", "&lt; &#60; A&B", "\\input{x}", "\\*a\\*", "<script>x</script>", "ends with \\",
    ],
)  # fmt: skip
def test_markdown_shows_each_text_as_it_is_by_another_parser(text: str) -> None:
    table = View(f"T {text}", ["x", text], [[text, "1"], ["2", text]])
    page = markdown_text([Document([table], [f"S {text}"], title=f"Q {text}")])
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    shown = [token for token in parser.parse(page) if token.type == "inline"]
    kinds = {child.type for token in shown for child in token.children or ()}
    assert kinds <= {"text", "text_special"}
    read = ["".join(child.content for child in token.children or ()) for token in shown]
    assert read == [f"Q {text}", f"T {text}", "x", text, text, "1", "2", text, f"S {text}"]
    assert page.count("$5") == page.count("\\$5")  # it would begin a formula, where formulas are shown


# Commands ------------------------------------------------------------------------------------------------------------
def test_files_hold_what_is_printed(ratings: Path, tmp_path: Path) -> None:
    files = {"json": "a.json", "csv": "a.csv", "markdown": "a.md", "latex": "a.tex", "html": "a.HTML"}
    asked = ("cohesion", ratings, *GIVEN, *QUICK)
    done = ran(*asked, *(word for form, name in files.items() for word in (f"--{form}", tmp_path / name)))
    assert done.out.split("\n")[:-1] == [str(tmp_path / name) for name in files.values()]
    printed = {form: run_cli(*asked, f"--{form}") for form in files}
    for form, name in files.items():
        assert (tmp_path / name).read_text() == printed[form].out
    known = pv.read_ratings(ratings, scale="0:2", rater_attributes=["gender"], item_attributes=["text"])
    found = pv.cohesion(known, ["gender"], permutations=19)  # Python gives what the command prints
    for form, text in (("latex", found.to_latex()), ("html", found.to_html()), ("markdown", found.to_markdown())):
        assert printed[form].out == f"{text}\n"
    listed = pv.items(known, uncertain=True)
    assert listed.to_markdown(top=1).count("\n| i") == 1 + 1  # the header, too
    assert listed.to_markdown().count("\n| i") == 1 + 4
    done = ran(*asked, "--json", "--csv", tmp_path / "a.parquet")  # one is printed while others are written
    assert done.json()["kind"] == "cohesion"
    assert f"csv: {tmp_path / 'a.parquet'}" in done.err
    columns = ("axis", "group")
    assert (
        pl.read_parquet(tmp_path / "a.parquet").select(columns).rows() == printed["csv"].frame().select(columns).rows()
    )
    # A word that is no such file is the next argument.
    assert run_cli("cohesion", "--json", *asked[1:]).json()["kind"] == "cohesion"


def test_a_table_is_chosen_and_written(ratings: Path, tmp_path: Path) -> None:
    run_cli("items", ratings, *GIVEN, "--uncertain", "--csv", tmp_path / "a.jsonl", "--table", "distributions")
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert len(rows) == 4 * 3
    assert rows[0].keys() >= {"item", "point", "probability"}


COMMANDS = [
    ("variation", ()), ("cohesion", QUICK), ("responsiveness", QUICK), ("scale", ("--by", "gender")), ("items", QUICK),
    ("item", ("i1", *QUICK)), ("advise", QUICK), ("select", ("--by", "gender", "--min-ratings", 1, "--bootstrap", 19)),
]  # fmt: skip


@pytest.mark.parametrize(("command", "more"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_every_command_has_every_form(ratings: Path, command: str, more: tuple[object, ...], tmp_path: Path) -> None:
    files = tmp_path / "t.tex", tmp_path / "t.html"
    ran(command, ratings, *more, *GIVEN, "--latex", files[0], "--html", files[1])
    tex, html = (file.read_text() for file in files)
    n_tables = tex.count("\\begin{tabular}") + tex.count("\\begin{longtable}")
    assert n_tables == html.count("<table ") > 0
    assert not re.search(r"(?<!\\)[&%](?! |\n|$)", "\n".join(one for one in tex.splitlines() if one[:1] != "%"))
    assert "<b>" not in html


def test_raters_are_numbered_unless_by_id(ratings: Path) -> None:
    asked = ("cohesion", ratings, *GIVEN, "--by", "rater", "--permutations", 19)
    for form in ("--latex", "--html"):
        numbered = run_cli(*asked, form).out
        assert "person-" not in numbered
        assert "rater 1" in numbered
        assert "person-3" in run_cli(*asked, form, "--ids").out


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--csv", "{}"], 2, "an argument is missing: --csv took {} as the file to write; put FILE before it, or put"),
        (["{}", "--csv", "out"], 2, "--csv writes a file ending in .csv, .parquet or .jsonl, not 'out'"),
        (["{}", "--latex=out.txt"], 2, "--latex writes a file ending in .tex, not 'out.txt'"),
        (["{}", "--html", "same.html", "--markdown", "same.html"], 2, "--markdown writes a file ending in .md or"),
        (["{}", "--csv", "one.csv", "--csv=two.csv"], 2, "--csv is given more than once; name one file"),
        (["{}", "--csv", "one.csv", "--csv"], 2, "--csv is given more than once; name one file"),
        (["{}", "--csv", "--json"], 2, "only one of --json and --csv can be printed; name files for the others"),
        (["{}", *map(str, GIVEN), "--csv", "{}"], 1, "this file is an input and would be overwritten"),
        (["{}", *map(str, GIVEN), "--csv", "{}.none/a.csv", "--json"], 1, "there is no folder"),
        (["{}", "--chart", "a.html", "--html", "a.html"], 2, "--chart and --html name the same file"),
        (["{}", *map(str, GIVEN), "--chart", "a.txt"], 2, "cannot write a chart as .txt; use .svg, .png, .pdf, .html"),
    ],
)
def test_what_cannot_be_meant_is_told(ratings: Path, words: list[str], code: int, told: str) -> None:
    before = ratings.read_bytes()
    command = "variation" if "--chart" in words else "cohesion"
    assert told.format(ratings) in refused(command, *(word.format(ratings) for word in words), code=code)
    assert [one.name for one in ratings.parent.iterdir()] == ["ratings.csv"]
    assert ratings.read_bytes() == before


def test_several_questions_have_titles(write: Write, tmp_path: Path) -> None:
    lines = study().replace("score", "Q1", 1).splitlines()
    table = write("q.csv", "\n".join([f"{lines[0]},Q2", *(f"{line},1" for line in lines[1:])]) + "\n")
    done = run_cli("cohesion", table, *GIVEN, *QUICK, "--score", "Q1,Q2", "--latex", "--html", tmp_path / "q.html")
    assert "\\caption{Question Q2: gender, ordinal level}" in done.out
    assert ">Question Q1</h2>" in (tmp_path / "q.html").read_text()


def test_data_sets_as_tables(tmp_path: Path) -> None:
    names = [one["name"] for one in run_cli("data", "list", "--json").json()]
    assert run_cli("data", "list", "--csv").frame()["name"].to_list() == names
    assert run_cli("data", "list", "--latex").out.count("\\\\\n") == len(names) + 1
    assert "info takes no --csv" in refused("data", "info", names[0], "--csv", code=2)
    run_cli("data", "info", names[0], "--json", tmp_path / "one.json")
    assert json.loads((tmp_path / "one.json").read_text())["name"] == names[0]


# Python --------------------------------------------------------------------------------------------------------------


# Charts --------------------------------------------------------------------------------------------------------------


def test_a_pdf_chart_has_one_page_and_its_text(ratings: Path, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    path = tmp_path / "v.pdf"
    ran("variation", ratings, *GIVEN, "--by", "gender", "--chart", path)
    content = path.read_bytes()
    assert content.startswith(b"%PDF-1.")
    assert content.rstrip().endswith(b"%%EOF")
    assert re.findall(rb"/Type\s*/Pages\s*/Count\s+(\d+)", content) == [b"1"]
    packed = re.findall(rb"/FlateDecode\s*>>\s*stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL)
    streams = [zlib.decompress(one) for one in packed]
    assert any(re.search(rb"\bT[jJ]\b", one) for one in streams)  # text is shown as text, not as outlines
    letters = {
        chr(int(code, 16))
        for one in (*streams, content) if b"beginbfchar" in one
        for code in re.findall(rb"<[0-9A-Fa-f]+>\s*<([0-9A-Fa-f]{4})>", one)
    }  # fmt: skip
    assert set("WomanM") <= letters


@pytest.mark.parametrize(
    ("name", "text"),
    [("r.json", '{"1": {"annotations": {"a": "0", "b": "1"}}}'), ("r.csv", "item,rater,score\n1,a,0\n")],
)
def test_soft_labels_do_not_replace_their_ratings(write: Write, name: str, text: str) -> None:
    path = write(name, text)
    with pytest.raises(FileError, match="would be overwritten"):
        pv.write_soft_labels(pv.read_ratings(path, scale="0:1"), path)
    assert path.read_text() == text
