"""Nothing that data, names or servers hold reaches a terminal, a notebook or a page as anything but text."""

from __future__ import annotations

import ast
import contextlib
import csv
import io
import itertools
import json
import os
import random
import sys
import unicodedata
import warnings
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest
import typer

import plurivox as pv
from plurivox.base.errors import PlurivoxError, PlurivoxWarning
from plurivox.base.wording import LONGEST, QUOTED, escaped, harmless, one_line, sentence, short
from plurivox.cli.app import FAMILIES, family_of, program
from plurivox.cli.console import console
from plurivox.cli.printing import put_csv, say
from plurivox.cli.running import telling
from plurivox.cli.tables import plain_table
from stored_answers import fill
from support import Done, Terminal, looked_at, only_sections, run_cli

# Colour, the title of the window, a bell, C1, all directions and isolates, a separator, no width, a tag.
UNSEEN = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u2028\u2029\u200b\ufeff\U000e0041"
HOSTILE = f"\x1b[31m\x1b]0;owned\x07\x08\x7f\x85\x9b{UNSEEN}"
COMMANDS = Path(pv.__file__).parent / "cli"


DRAWN = {*map(chr, (*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD))}
"""Format characters that are signs before numbers: Prepended_Concatenation_Mark in Unicode's PropList."""
DRAWN |= {*map(chr, range(0x13430, 0x13440))}  # they set hieroglyphs above one another


def steering(text: str) -> set[str]:
    """What of a text is not for reading, by the categories of Unicode."""
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - DRAWN - {"\n", "\t"}


def test_characters_are_replaced_by_their_unicode_category() -> None:
    assigned = "".join(c for c in map(chr, range(0x110000)) if unicodedata.category(c) != "Cn" and c != "\ufffd")
    gone = {c for c in assigned if harmless(c) == "\ufffd"}
    assert gone == steering(assigned)
    assert all(harmless(c) == c for c in set(assigned) - gone)
    assert harmless("\ufdd0\ufffe\uffff") == "\ufffd" * 3


@pytest.mark.parametrize("text", [  # Persian and Hindi with joiners, emoji made of several
    "naïve façade – ½ × 3 €", "می‌خواهم", "👩‍👩‍👧 🏳️‍🌈 1️⃣", "क्‍ष शुभ", "עברית and العربية", "１ 二 三\u3000四\u00a0五",
    "two\n\tlines",
])  # fmt: skip
def test_what_people_write_stays(text: str) -> None:
    assert harmless(text) == text


def test_joiners_and_selectors_that_hide_something_are_seen() -> None:
    assert harmless("pay\u200dpal") == "pay\ufffdpal"
    assert harmless("\u200c\u200d\u200c") == "\ufffd" * 3
    assert harmless("a" + "\ufe01\ufe02\ufe03") == "a\ufe01\ufffd\ufffd"


def test_json_stays_the_same_data() -> None:
    data = {"a" + HOSTILE: [HOSTILE, "\udcff", "tab\t and line\n", "é 👩‍👩‍👧", 1.5]}
    text = escaped(json.dumps(data, ensure_ascii=False))
    assert steering(text) <= set("\u200d")
    assert json.loads(text) == data
    assert "é" in text


STREAMS = {
    "print", "input", "Console", "rich.print", "typer.echo", "typer.secho", "click.echo", "echo", "secho",
    "sys.stdout.write", "sys.stderr.write", "sys.stdout.buffer.write", "sys.__stdout__.write", "os.write",
}  # fmt: skip


def _writes(path: Path) -> list[str]:
    """What a module calls that writes to a terminal."""
    text = path.read_text(encoding="utf-8")
    if not any(f"{name.rpartition('.')[2]}(" in text for name in STREAMS):
        return []  # nothing to parse
    calls = [node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    named = [one for one in calls if isinstance(one, ast.Name | ast.Attribute)]
    return [name for name in map(_dotted, named) if name in STREAMS]


def _dotted(node: ast.AST) -> str:
    return f"{_dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def test_only_one_module_prints() -> None:
    found = {path.relative_to(COMMANDS.parent).as_posix(): _writes(path) for path in COMMANDS.parent.rglob("*.py")}
    given_back = {"read/opening.py": ["os.write"]}  # what another thread wrote while polars was kept quiet
    given_back |= {"kernels/shipping.py": ["print"]}  # a list for developers
    assert {name: calls for name, calls in found.items() if calls} == {"cli/printing.py": ["print"] * 4, **given_back}


# All commands, hostile names everywhere -----------------------------------------------------------------------------
class Hostile(NamedTuple):
    """Files in which every name is hostile."""

    folder: Path
    ratings: Path
    attribute: str
    labels: list[str]

    def reading(self) -> list[str]:
        return [
            str(self.ratings), "--rater-attributes", self.attribute, "--scale", ",".join(self.labels),
            "--item-attributes", f"to{HOSTILE}pic,te{HOSTILE}xt", "--min-group-size", "2",
        ]  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    folder = tmp_path_factory.mktemp("hostile") / os.fsdecode(b"fo\x1b[31mlder\xff\xe2\x80\xae")
    folder.mkdir()
    attribute, labels = f"gen{HOSTILE}der", [f"No{UNSEEN}", f"Maybe{UNSEEN}", f"Yes{UNSEEN}"]
    rng = random.Random(1)
    with (folder / "ratings\x1b[2J.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(
            [f"it{UNSEEN}em", f"ra{UNSEEN}ter", f"sc{UNSEEN}ore", attribute, f"to{HOSTILE}pic", f"te{HOSTILE}xt"]
        )
        for item, rater in itertools.product(range(20), range(12)):
            score = labels[min(2, max(0, round(rng.gauss(item % 3 + rater % 2 * 0.5, 0.6))))]
            who = (f"i{item}{UNSEEN}", f"r{rater}{UNSEEN}", score, f"Man{HOSTILE}" if rater % 2 else f"Wo{HOSTILE}man")
            rows.writerow([*who, f"topic{item % 2}{HOSTILE}", f"text {item} {HOSTILE}"])
    models = [f"model {n}{UNSEEN}" for n in range(2)]
    with (folder / "predictions.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["model", "item", *labels])
        rows.writerows([model, f"i{item}{UNSEEN}", 0.2, 0.3, 0.5] for model in models for item in range(20))
    with (folder / "answers.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["model", "item", "answer"])
        rows.writerows([model, f"i{item}{UNSEEN}", labels[item % 3]] for model in models for item in range(20))
    (folder / "items.csv").write_text(f"item,te{HOSTILE}xt\ni1{UNSEEN},Some{HOSTILE}thing\n", encoding="utf-8")
    question = pv.ask.Question(pv.Scale(labels), f"How{HOSTILE}?")
    fill(folder / "store.db", [labels[0], f"I cannot say {HOSTILE}", labels[2]], question, model=models[0])
    return Hostile(folder, folder / "ratings\x1b[2J.csv", attribute, labels)


def _named(hostile: Hostile) -> list[str]:
    return [*hostile.reading(), "--item", f"it{UNSEEN}em", "--rater", f"ra{UNSEEN}ter", "--score", f"sc{UNSEEN}ore"]


FEW = ["--permutations", "20"]
ANALYSES = {
    "describe": ([], []), "variation": ([], [*FEW, "--pairs", "--adjust"]), "cohesion": ([], [*FEW, "--pairs"]),
    "responsiveness": ([], [*FEW, "--pairs"]), "scale": ([], []), "aggregate": ([], FEW), "items": ([], FEW),
    "item": ([f"i1{UNSEEN}"], FEW), "score": (["predictions.csv"], FEW), "align": (["answers.csv"], FEW),
    "judge": (["answers.csv"], ["--seed", "1"]), "estimate": (["answers.csv"], ["--width", "0.1"]), "advise": ([], FEW),
    "select": ([], ["--bootstrap", "20", "--per-group", "2"]),
}  # fmt: skip
FORMATS = ("", "--json", "--csv", "--markdown", "--latex", "--html")


def clean(done: Done) -> None:
    assert not steering(done.out), steering(done.out)
    assert not steering(done.err), steering(done.err)


def arguments(hostile: Hostile, command: str) -> list[str]:
    second, more = ANALYSES[command]
    beside = [str(hostile.folder / one) if one.endswith(".csv") else one for one in second]
    return [command, _named(hostile)[0], *beside, *_named(hostile)[1:], "--by", hostile.attribute, *more]


@pytest.mark.filterwarnings("ignore::plurivox.base.errors.PlurivoxWarning")
@pytest.mark.parametrize(
    ("command", "form"), [(name, form) for name in ANALYSES for form in FORMATS if form in ("", "--json") or
                          name in ("cohesion", "select")],
)  # fmt: skip
def test_no_analysis_prints_what_steers_a_terminal(
    hostile: Hostile, command: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")  # a terminal without colours
    done = looked_at(*arguments(hostile, command), *([form] if form else []))
    assert done.code == 0, done.err
    clean(done)
    assert "\ufffd" in done.err  # the name of the file
    if form == "--json":
        assert steering(json.dumps(json.loads(done.out), ensure_ascii=False))  # the data themselves are unchanged


OTHERS = {
    "simulate": ["{folder.parent}/sim\x1b[31m\u202e", "--items", "5", "--raters", "5", "--trained", "0",
                 "--no-predictors", "--model", f"m{HOSTILE}: bias 0.1",
                 "--attribute", f"a{HOSTILE}b: x{HOSTILE} 0.5, y 0.5"],
    "soft-labels": ["-o", "{folder}/out\x1b[31m.json"],
    "pack": ["-o", "{folder}/out\x1b[31m.pvx"],
    "curate": ["-o", "{folder}/out\x1b[31m.jsonl", "--permutations", "20"],
    "report": ["-o", "{folder}/out\x1b[31m.html", "--permutations", "20", "--title", f"A{HOSTILE}title"],
    "ask": ["{folder}/items.csv", "--text", f"te{HOSTILE}xt", "--scale", "a,b", "--model",
            f"m{HOSTILE}", "--base-url", "http://localhost:1", "--dry-run", "--question", f"What{HOSTILE}?"],
    "answers": ["{folder}/store.db"],
    "serve": ["{folder}/none\x1b[31m.csv", "--folder", "{folder}/bench\x1b[31m"],
    "fit": ["{ratings}", "items.csv", "-o", "model", "--epochs", HOSTILE],
    "predict": ["model", "{ratings}", f"--nothing{HOSTILE}"],
    "reproduce": ["grasp", "--data", "{folder}"],
    "data": ["info", f"dices{HOSTILE}"],
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::plurivox.base.errors.PlurivoxWarning")
@pytest.mark.parametrize("command", OTHERS)
def test_no_other_command_does(hostile: Hostile, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nothing")
    more = [one.format(folder=hostile.folder, ratings=hostile.ratings) for one in OTHERS[command]]
    if command in ("curate", "report", "soft-labels", "pack"):
        named = _named(hostile)
        at = named.index("--min-group-size")  # is about an analysis, which packing is not
        more = [*named[:at], *named[at + 2 :], *more] if command == "pack" else [
            *named, "--by", hostile.attribute, *more
        ]  # fmt: skip
    with only_sections("methods"):
        done = looked_at(command, *more)
    codes = {"fit": 2, "predict": 2, "reproduce": 1, "data": 1, "serve": 1}
    assert done.code == codes.get(command, 0), done.err
    assert command == "fit" or "\ufffd" in done.out + done.err
    clean(done)
    if command == "report":
        page = (hostile.folder / "out\x1b[31m.html").read_text(encoding="utf-8")
        assert not steering(page)
        assert "\ufffd" in page
    if command == "curate":
        assert not steering((hostile.folder / "out\x1b[31m.README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("options", [["--json"], ["--markdown"], ["--csv"], ["--reread"], ["--reread", "--json"]])
def test_no_look_into_a_store_does(hostile: Hostile, options: list[str]) -> None:
    done = looked_at("answers", hostile.folder / "store.db", *options)
    assert done.code == 0
    clean(done)


def test_the_demo_does_not_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("plurivox.cli.simulate._report", lambda ratings, given, folder, seed: folder / "report.html")
    done = looked_at("demo", "--folder", tmp_path / f"de{HOSTILE}mo")
    assert "de\ufffd" in done.out
    clean(done)


# The help lists commands in families ---------------------------------------------------------------------------------
def test_every_command_was_tried_and_has_a_family() -> None:
    commands = set(typer.main.get_command(program()).commands)  # type: ignore[attr-defined]
    assert commands == {*ANALYSES, *OTHERS, "demo"}
    listed = [name for names in FAMILIES.values() for name in names]
    assert sorted(listed) == sorted(commands)
    assert all(name in FAMILIES[family_of(name)] for name in listed)


def test_a_removed_command_says_what_to_use_instead() -> None:
    done = run_cli("work", "plan", "--tasks", 2, "--", "cohesion", "study.pvx")
    assert (done.code, done.out) == (2, "")
    said = "to use many machines, give an analysis --dask, such as --dask tcp://scheduler:8786"
    assert done.err.splitlines()[-1] == f"Error: plurivox work was removed: {said}"
    assert run_cli("work", "--help").err == done.err
    assert "\n  work " not in run_cli("--help").out


def test_the_help_lists_families_with_whole_sentences() -> None:
    shown = run_cli("--help").out
    found: dict[str, list[str]] = {}
    for line in shown.partition("Options:")[2].splitlines():
        if line.endswith(":") and not line.startswith(" "):
            found[line[:-1]] = []
        elif line.startswith("  ") and line[2] not in " -" and found:
            found[next(reversed(found))].append(line.split()[0])
    assert found.pop("Data") == [*FAMILIES["Data"], "Start"]  # with: plurivox demo
    assert found == {family: list(names) for family, names in FAMILIES.items() if family != "Data"}
    assert "..." not in shown.partition("Options:")[2]


@pytest.mark.parametrize("arguments", [
    [HOSTILE], ["cohesion"], ["cohesion", "{ratings}", f"--nothing{HOSTILE}"],
    ["cohesion", "{ratings}", f"more{HOSTILE}"], ["cohesion", "{ratings}", "--seed", f"1{HOSTILE}"],
    ["cohesion", "{ratings}", "--correction", HOSTILE],
    ["cohesion", "{ratings}", "--by", HOSTILE, "--scale", "{scale}"], ["cohesion", "{ratings}", "--score", HOSTILE],
    ["cohesion", "{ratings}", "--where", f"a{HOSTILE}=b", "--scale", "{scale}"],
    ["cohesion", "{ratings}", "--where", HOSTILE, "--scale", "{scale}"],
    ["cohesion", "{ratings}", "--scale", f"{HOSTILE}.toml"], ["cohesion", "{ratings}", "--chart", f"{HOSTILE}.exe"],
    ["cohesion", "{folder}/none.csv"], ["cohesion", "{folder}"],
    ["describe", "{ratings}", "--config", "{folder}/none.toml"],
    ["responsiveness", "{ratings}", "--scale", "{scale}", "--reference", f"a=b{HOSTILE}"],
    ["simulate", "x", "--attribute", HOSTILE], ["curate", "{ratings}", "-o", f"x{HOSTILE}"],
    ["answers", "{folder}/store.db", "--export", f"x{HOSTILE}.exe"],
])  # fmt: skip
def test_no_error_does(hostile: Hostile, arguments: list[str]) -> None:
    given = {"ratings": hostile.ratings, "folder": hostile.folder, "scale": ",".join(hostile.labels)}
    done = run_cli(*(one.format(**given) for one in arguments))
    assert done.code in (1, 2)
    assert "Traceback" not in done.err
    assert done.code == 2 or done.err.strip().splitlines()[-1].startswith("error: ")
    clean(done)


def test_warnings_and_notices_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"{HOSTILE}a model\nerror: a line of its own")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with pytest.warns(PlurivoxWarning) as told:
            warnings.warn(f"a\n{HOSTILE}", PlurivoxWarning, stacklevel=1)
    found = capsys.readouterr().err + str(told[0].message)
    assert not steering(found)
    assert found.count("\n") == 1


def test_a_bar_shows_what_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    out = Terminal()
    with mock.patch.object(sys, "stderr", out), telling() as tell:
        assert tell is not None
        tell(f"[red]group {UNSEEN}\x1b]0;owned\x07", 1, 2)
    assert "[red]group \ufffd" in out.getvalue()
    assert not steering(out.getvalue()) - {"\x1b", "\r"}  # its own movements
    assert "]0;owned\x07" not in out.getvalue()


def test_tables_are_as_wide_as_they_look() -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        table = plain_table("name", "number")
        table.add_row(f"a{UNSEEN}", "1")
        table.add_row("b", "2")
        console(width=60).print(table)
    _, _, first, second = out.getvalue().splitlines()
    assert first.rstrip().index("1") == second.rstrip().index("2")


def test_csv_is_data_in_a_pipe_and_harmless_in_a_terminal() -> None:
    shown, piped = Terminal(), io.StringIO()
    for out in (shown, piped):
        with contextlib.redirect_stdout(out):
            put_csv(f"a,b{HOSTILE}\n")
    assert piped.getvalue() == f"a,b{HOSTILE}\n"
    assert not steering(shown.getvalue())


def test_notebooks_show_text_as_text(hostile: Hostile) -> None:
    ratings = pv.read_ratings(
        hostile.ratings, item=f"it{UNSEEN}em", rater=f"ra{UNSEEN}ter", score=f"sc{UNSEEN}ore",
        rater_attributes=[hostile.attribute], scale=hostile.labels,
    )  # fmt: skip
    found = pv.cohesion(ratings, hostile.attribute, permutations=0, interval="none")
    assert "\ufffd" in found._repr_html_()
    assert not steering(found._repr_html_())


# Errors quote little ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("header", ['item,"rater,score', '"item,rater,score', 'item,rater,"score'])
def test_a_quote_that_never_closes_does_not_print_the_table(tmp_path: Path, header: str) -> None:
    path = tmp_path / "open.csv"
    rows = "".join(f"i{n},worker{n % 40},{n % 5}\n" for n in range(5_000))
    path.write_text(f"{header}\n{rows}")
    done = run_cli("describe", path)
    assert done.code == 1
    assert len(done.err) < 400
    assert "worker" not in done.err
    assert "a quotation mark in the header is not closed" in done.err


@pytest.mark.parametrize("width", [10, 1_000, 100_000])
def test_names_that_errors_list_are_few_and_short(tmp_path: Path, width: int) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{n}".ljust(width, "x") for n in range(60)) + "\n" + ",".join("1" * 60) + "\n")
    done = run_cli("describe", path, "--item", "nothing" * 1_000)
    assert done.code == 1
    assert done.err.startswith("error: ")
    assert len(done.err) < 3 * QUOTED + len(str(path)) + 300


def test_messages_are_bounded_whatever_is_raised() -> None:
    value, apart = "v" * 100_000, "it's a value " * 10_000
    for error in (
        pv.InputError(f"{value!r} is wrong", source=value, column=value, places=[value] * 9, hint="Do this."),
        pv.InputError(value, hint="Do this."),
        pv.InputError(f"the value {apart!r} is wrong", hint="Do this."),
        PlurivoxError(value + " Do this."),
        PlurivoxWarning(f"'{value}' and more. Do this."),
    ):
        assert len(str(error)) <= LONGEST
        assert str(error).endswith("Do this.")
    quoted = str(pv.InputError(f"{value!r} is wrong")).split("'")[1]
    assert quoted == "v" * (QUOTED - 22) + "… (100,000 characters)"
    assert sentence(quoted) == quoted


def test_apostrophes_are_not_quotation_marks() -> None:
    text = "the rater's scores " + "are far from those of all others " * 10 + "on the group's items"
    assert sentence(text) == text
    assert short("a" * QUOTED) == "a" * QUOTED
    assert one_line(" a\tb\n") == "a b"
