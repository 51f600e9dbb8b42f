"""What is fuzzed: each target draws a case."""

from __future__ import annotations

import functools
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import plurivox as pv
from exports import cases as export_cases
from fuzz.cases import Case, Draw
from fuzz.damage import damaged, damaged_json, nested, retyped, wrapped
from fuzz.packed import packed
from fuzz.values import CELLS, SOME, WRONG, arguments_of, files, functions, kept, study, usual
from plurivox.config import load_config
from plurivox.domain.reader import read_answer
from plurivox.domain.scale_files import load_question, load_scale
from plurivox.read.settings import FORMATS
from support import run_cli

Target = Callable[[Draw], Case]
LOGS = Path(__file__).parent.parent / "logs"
_CONFIG = """
min_group_size = 5
[columns]
item = "item"
rater = "rater"
score = "score"
time = "time"
duplicates = "error"
[scale]
labels = [0, 1, 2, 3, 4]
values = [0, 1, 2, 3, 4]
missing = ["Unsure"]
low = "safe"
high = "unsafe"
question = "How bad?"
descriptions = ["a", "b", "c", "d", "e"]
[raters]
file = "raters.csv"
columns = []
by = ["gender", ["gender", "age"]]
[raters.bins]
age = [18, 30, 50]
[raters.several]
gender = ";"
[cohesion]
permutations = 9
level = "ordinal"
[responsiveness]
threshold = 2
[variation]
target = 0.9
reference = { gender = "Woman" }
[alignment]
families = { a = ["b"] }
[judge]
require = ["omega>=0.5"]
"""
_TOML = [
    "-5", "nan", "inf", "true", "1" * 5000, '"x"', "[]", "[[]]", "{}", "{ a = 1 }", "1979-05-27", '["a", 1]', "[1, 1]",
    "'''\n'''", "3.5", "0x1F", "[nan]", "[inf, 1]", '[""]', nested(2000, "[", "]"), nested(300, "{a=", "}"),
    "\x00", "\\",
]  # fmt: skip
_WORDS = [
    "A", "B", "C", "(a)", "1", "2", "3", "II", "never", "sometimes", "always", "not", "My answer is", "Answer:", "**",
    "\\boxed{", "}", "I cannot", "sorry", "or", "between", "final answer", "/5", "%", "½", "out of", "\n", "\n\n",
    "<think>", "</think>", "```json", '{"answer": ', "'", '"', "n't", "neither", "probably", "…", "。", "ɑ", "\u202e",
    "\x00", "3.0", "-1", "1e400",
]  # fmt: skip


def tables(draw: Draw) -> Case:
    """A damaged table, through the reader of ratings, predictions or answers, in every form."""
    base = draw(st.sampled_from(sorted(files())))
    content = files()[base]
    separator = b"\t" if base.endswith(".tsv") else b","
    how = draw(st.integers(0, 3))
    content = retyped(draw, content, separator) if how else damaged(draw, content)
    content = damaged(draw, content) if how == 3 else content
    name, content = wrapped(draw, base, content)
    kind = base.partition(".")[0]
    given: dict[str, Any] = {}
    if draw(st.booleans()):
        given["encoding"] = draw(
            st.sampled_from(["utf-8", "latin-1", "utf-16", "rot13", "base64", "idna", "zlib", "ascii"])
        )
    scale = draw(st.sampled_from(["0:4", "0:3", "0:4:0.5", "No,Yes", "0:1e9", "4:0", ",", "0:1e999999", "1:1"]))
    if kind in ("answers", "predictions"):
        read: Any = pv.read_answers if kind == "answers" else pv.read_predictions
        return Case(
            f"{read.__name__}({name!r}, {scale!r}, **{given})", lambda: read(name, scale, **given), {name: content}
        )
    if kind in ("raters", "items"):
        given[kind], beside = name, {name: content, "ratings.csv": files()["ratings.csv"]}
        return Case(f"read_ratings('ratings.csv', **{given})", lambda: pv.read_ratings("ratings.csv", **given), beside)
    if draw(st.booleans()):
        given["scale"] = scale
    if kind in ("wide", "totals"):
        given["layout"] = kind
    if draw(st.integers(0, 3)) == 0:
        given["duplicates"] = draw(st.sampled_from(["first", "last", "mode", "keep"]))
    if draw(st.integers(0, 3)) == 0:
        given["time"] = draw(st.sampled_from(["score", "item", "rater", "time"]))
    if kind == "repeats":
        given = {"duplicates": "keep", "time": "time"} | given
        return Case(
            f"variation(read_ratings({name!r}, **{given}), permutations=9)",
            lambda: pv.variation(pv.read_ratings(name, **given), permutations=9, threads=1),
            {name: content},
        )
    return Case(
        f"read_ratings({name!r}, **{given})", lambda: pv.describe(pv.read_ratings(name, **given)), {name: content}
    )


@functools.cache
def _parquet() -> dict[str, bytes]:
    """Return tables as Parquet, and a stored study."""
    import tempfile

    import polars as pl

    with tempfile.TemporaryDirectory() as folder:
        pv.write_ratings(study().ratings, f"{folder}/stored.parquet")
        pv.write_ratings(kept(), f"{folder}/repeats.parquet")
        for kind in ("ratings", "wide", "totals"):
            pl.read_csv(files()[f"{kind}.csv"]).write_parquet(f"{folder}/{kind}.parquet")
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def parquet(draw: Draw) -> Case:
    """A damaged Parquet file, or a damaged stored study."""
    name = draw(st.sampled_from(sorted(_parquet())))
    content = damaged(draw, _parquet()[name])
    given = {"layout": name.partition(".")[0]} if name[0] in "wt" else {}
    return Case(
        f"read_ratings({name!r}, **{given})", lambda: pv.describe(pv.read_ratings(name, **given)), {name: content}
    )


def logs(draw: Draw) -> Case:
    """A damaged log of Inspect, or of lm-evaluation-harness."""
    known = sorted(path for path in LOGS.rglob("*") if path.suffix in (".eval", ".json", ".jsonl"))
    path = draw(st.sampled_from(known))
    content = path.read_bytes()
    if path.suffix == ".json" and draw(st.booleans()):
        content = damaged_json(draw, content.decode()).encode(errors="surrogatepass")
    elif path.suffix == ".jsonl" and draw(st.booleans()):
        lines = content.decode().splitlines()
        at = draw(st.integers(0, len(lines) - 1))
        lines[at] = damaged_json(draw, lines[at])
        content = "\n".join(lines).encode(errors="surrogatepass")
    else:
        content = damaged(draw, content)
    scale = draw(st.sampled_from(["1:5", "0:4", "No,Yes"]))
    return Case(
        f"read_answers({path.name!r}, {scale!r})", lambda: pv.read_answers(path.name, scale), {path.name: content}
    )


def toml(draw: Draw) -> Case:
    """A plurivox.toml or a scale file with values of other kinds, or damaged."""
    lines = _CONFIG.splitlines()
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        key, sign, _value = lines[at].partition(" = ")
        lines[at] = f"{key}{sign}{draw(st.sampled_from(_TOML))}" if sign else draw(st.sampled_from(_TOML))
    content = "\n".join(lines).encode()
    content = damaged(draw, content) if draw(st.integers(0, 3)) == 0 else content
    read: Any = draw(st.sampled_from([load_config, load_scale, load_question]))
    return Case(f"{read.__name__}('plurivox.toml')", lambda: read("plurivox.toml"), {"plurivox.toml": content})


def calls(draw: Draw) -> Case:
    """A public function with one to three arguments of any kind, on ratings with or without repeats and times."""
    name = draw(st.sampled_from(functions()))
    function = getattr(pv, name)
    given = usual(function)
    if "ratings" in given and draw(st.integers(0, 2)) == 0:
        given["ratings"] = kept()
    values = {**WRONG, **SOME}
    said = {}
    for argument in draw(
        st.lists(st.sampled_from(sorted(arguments_of(function))), min_size=1, max_size=3, unique=True)
    ):
        what = draw(st.sampled_from(sorted(values)))
        if not (argument == "progress" and what == "a class"):
            given[argument], said[argument] = values[what], what
    return Case(
        f"{name}({', '.join(f'{one}: {what}' for one, what in said.items())})", lambda: function(**given), _tables()
    )


@functools.cache
def _tables() -> dict[str, bytes]:
    return {name: content for name, content in files().items() if name.endswith(".csv")}


@functools.cache
def results() -> dict[str, tuple[Any, str]]:
    """Return results of every kind, and their JSON."""
    made = study()
    ratings = made.ratings
    quick: dict[str, Any] = {"permutations": 9}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: list[Any] = [
            pv.variation(kept(), ["gender", "age"], pairs=True, adjust=True, items_by="violation", **quick),
            pv.cohesion(ratings, ["gender", "age"], pairs=True, **quick),
            pv.responsiveness(ratings, "crowd", "gender", psychometrics=True, **quick),
            pv.psychometrics(ratings, "age"), pv.aggregate(ratings, ["gender", "age"], **quick),
            pv.alignment(ratings, made.answers, "gender", bootstrap=9, subsamples=5, **quick),
            pv.judge(ratings, made.answers, "gender", require="omega>=0.5"),
            pv.soft_scores(ratings, made.predictions, by="age", bootstrap=0, curve=False, **quick),
            pv.advise(ratings, "crowd", "gender", **quick), pv.plan(ratings, "gender", simulations=0),
            pv.select_raters(ratings, by="gender", bootstrap=20, min_ratings=5),
            pv.curate(ratings, by="gender", min_ratings=5, **quick),
            pv.item_view(ratings, ratings.items["item"][0], "gender", **quick),
        ]  # fmt: skip
    return {one.KIND: (type(one), one.to_json()) for one in found}


def restored(draw: Draw) -> Case:
    """A result from damaged JSON: it is refused, or can be shown and written again."""
    kind = draw(st.sampled_from(sorted(results())))
    cls, text = results()[kind]
    text = damaged_json(draw, text)

    def run() -> None:
        again = cls.from_json(text)
        again.to_json()
        again._repr_html_()

    return Case(
        f"{cls.__name__}.from_json(open('result.json').read())",
        run,
        {"result.json": text.encode(errors="surrogatepass")},
    )


@functools.cache
def _commands() -> dict[str, Any]:
    """Return the commands but those that ask a server, are one, train, or take long."""
    import typer

    from plurivox.cli.app import program

    group: Any = typer.main.get_command(program())
    return {
        name: one for name, one in group.commands.items() if name not in ("ask", "demo", "fit", "serve", "simulate")
    }


def options(draw: Draw) -> Case:
    """A command with options of any kind, on a valid or a damaged table."""
    name = draw(st.sampled_from(sorted(_commands())))
    known = [one for one in _commands()[name].params if one.param_type_name == "option" and "--help" not in one.opts]
    beside = dict(_tables())
    if draw(st.integers(0, 3)) == 0:
        beside["ratings.csv"] = damaged(draw, beside["ratings.csv"])
    first = [
        str(
            draw(
                st.sampled_from(
                    ["ratings.csv", "ratings.csv", "ratings.csv", "repeats.csv", "answers.csv", "no.csv", ".", "-"]
                )
            )
        )
    ]
    arguments = [one for one in _commands()[name].params if one.param_type_name == "argument"]
    first += [draw(st.sampled_from(["predictions.csv", "answers.csv", "item-001", "x"])) for _ in arguments[1:]]
    quick = [text for one in known for text in (one.opts[0], "5") if one.opts[0] in ("--permutations", "--bootstrap")]
    if first[0] == "repeats.csv" and any("--time" in one.opts for one in known) and draw(st.booleans()):
        quick += ["--repeats", "keep", "--time", "time", "--raters", "raters.csv", "--by", "gender"]
    chosen = draw(st.lists(st.sampled_from(range(len(known))), max_size=4, unique=True))
    rest: list[str] = []
    for one in (known[at] for at in chosen):
        rest.append(draw(st.sampled_from(one.opts)))
        if not getattr(one, "is_flag", False):
            rest.append(draw(st.sampled_from(_option_values())))
    line = [name, *first, *quick, *(text.replace("\0", "0") for text in rest)]
    return Case(f"plurivox {json.dumps(line)}", lambda: _run(line), beside)


@functools.cache
def _option_values() -> list[str]:
    return [
        *CELLS, "gender", "gender,age", "rater", "gender=Woman", "gender=;", "crowd", "0:4", "-1", "5",
        "999999999999", "nan", "inf", "1e3", "raters.csv", "items.csv", "ratings.csv", "no/such.csv",
        "out.svg", "out.html", "auto", "none", "1,1,2", "Man,Woman", "plurality", "item", "score", "0.5", "-0.5",
        "each", "2-3,4+", "highest", "violation", "keep", "time", "components", "repeats", "jackknife",
    ]  # fmt: skip


def _run(line: list[str]) -> None:
    """Run a command: it ends with 0, 1 or 2, and says why where that is not 0."""
    done = run_cli(*line)
    assert done.code in (0, 1, 2), done
    assert done.code == 0 or done.err.strip(), f"it ended with {done.code} and said nothing"
    assert "Traceback" not in done.err, done.err


def replies(draw: Draw) -> Case:
    """What a model answered, however odd, is read as a point, a refusal, or nothing."""
    words = st.one_of(st.sampled_from(_WORDS), st.sampled_from(CELLS), st.text(max_size=12))
    text = draw(st.sampled_from([" ", "", "\n", ". "])).join(draw(st.lists(words, max_size=14)))
    text *= draw(st.sampled_from([1, 1, 1, 1, 50]))
    shown = draw(
        st.sampled_from(
            [
                [("A", "never"), ("B", "sometimes"), ("C", "always")], [("1", "1"), ("2", "2"), ("3", "3")],
                [("A", "yes", "Yes, it does."), ("B", "no", "No.")], ["agree", "disagree"], [("A", ""), ("B", " ")],
            ]
        )
    )  # fmt: skip

    def run() -> None:
        found = read_answer(text, shown)
        assert (found.point is None) != (found.state == "answered")
        assert found.point is None or 0 <= found.point < len(shown)

    return Case(f"read_answer({text!r}, {shown!r})", run)


def exports(draw: Draw) -> Case:
    """A damaged file of the corpus of exports: bytes anywhere, or parts of JSON."""
    known = [(one, one.content) for one in export_cases() if isinstance(one.content, str | bytes)]
    base, written = known[draw(st.integers(0, len(known) - 1))]
    content = written.encode() if isinstance(written, str) else written
    parts = base.name.endswith(".json") and base.kind == "plain" and draw(st.booleans())
    content = damaged_json(draw, content.decode()).encode(errors="surrogatepass") if parts else damaged(draw, content)
    given = dict(base.given)
    if draw(st.integers(0, 3)) == 0:
        given["format"] = draw(st.sampled_from(FORMATS))
    return Case(
        f"read_ratings({base.name!r}, **{given})", lambda: pv.describe(pv.read_ratings(base.name, **given)),
        {base.name: content},
    )  # fmt: skip


TARGETS: dict[str, Target] = {
    one.__name__: one for one in (tables, exports, parquet, packed, logs, toml, calls, restored, options, replies)
}
