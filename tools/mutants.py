"""Whether the tests notice mistakes: change one place in each of sixty functions and run the tests that cover it.

::

    python -m tools.mutants draw                     # draw the functions and the changes anew, into tools/mutants.csv
    python -m tools.mutants run --only 1-10          # run these; a line for each goes into /tmp/mutants/results.csv
    python -m tools.mutants run --results before.csv --tests /path/to/other/tests

The functions are those of lenses, statistics and inference, drawn with a fixed seed. They are known by their class and
name, and each change by what the code says before and after it, so that both are found again when a module was moved or
renamed. A function that is gone, or a line that is written differently, is said to be so and counts neither way.

Tests run in a copy of the tree, in which nothing but the one place is changed: first the files that name the function,
then those that name its module or its lens; at last the frozen corpus of that lens. It takes a minute or two for each.
"""

from __future__ import annotations

import argparse
import ast
import copy
import csv
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
DRAWN = Path(__file__).with_suffix(".csv")
PLACES = ("lenses", "statistics", "infer")
N, SEED = 60, 41
BESIDE = {
    "lenses": ["test_disclosure.py", "test_restoring.py", "test_contract.py"],
    "statistics": ["test_weighted_lenses.py", "test_alignment.py"],
    "infer": ["test_variation.py", "test_cohesion.py", "test_disclosure.py", "test_responsiveness.py", "test_items.py"],
}
"""Test files that run much of a package; they come after those that name the function."""
CORPUS = {"alignment": "align", "soft": "score", "overview": "describe", "psychometrics": "scale"}
"""Which command's cases of the corpus run a lens, where the two are called differently."""
OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OTHER: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip


class Function(NamedTuple):
    """A function of the source, by its class and name."""

    name: str
    path: Path
    node: ast.FunctionDef


class Mutant(NamedTuple):
    """One place in a function and what it says instead; ``nth`` of the places that say the same."""

    function: str
    package: str
    kind: str
    nth: int
    before: str
    after: str


def functions(source: Path) -> Iterator[Function]:
    """Yield every function and method, but not those inside of others."""
    for place in PLACES:
        for path in sorted((source / place).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef):
                    yield Function(node.name, path, node)
                elif isinstance(node, ast.ClassDef):
                    for inner in node.body:
                        if isinstance(inner, ast.FunctionDef):
                            yield Function(f"{node.name}.{inner.name}", path, inner)


def _changed(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield what could stand in the place of a node, with the kind of the change."""
    other = copy.deepcopy(node)
    match other:
        case ast.Compare(ops=[op]) if type(op) in OPPOSITE:
            other.ops = [OPPOSITE[type(op)]()]
            yield "comparison", other
        case ast.BinOp(op=op) if type(op) in OTHER and not isinstance(other.left, ast.Constant | ast.JoinedStr):
            other.op = OTHER[type(op)]()
            yield "arithmetic", other
        case ast.BoolOp():
            other.op = ast.Or() if isinstance(other.op, ast.And) else ast.And()
            yield "and, or", other
        case ast.UnaryOp(op=ast.Not()):
            yield "not", other.operand
        case ast.UnaryOp(op=ast.USub()) if not isinstance(other.operand, ast.Constant):
            yield "sign", other.operand
        case ast.Constant(value=bool()):
            yield "constant", ast.Constant(not other.value)
        case ast.Constant(value=int() | float() as number):
            yield "constant", ast.Constant(number + 1)
        case ast.IfExp():
            yield "condition", other.body
        case ast.Call(keywords=[_, *_]) if other.keywords[-1].arg:
            other.keywords = other.keywords[:-1]
            yield "keyword", other
        case ast.Return(value=ast.Call(args=[first, *_])) if not isinstance(first, ast.Starred):
            yield "first argument", ast.Return(first)


def _code(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of a function that compute: no annotations, decorators, texts of errors or docstrings."""
    waiting: list[ast.AST] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise | ast.JoinedStr):
            continue
        yield node
        left_out = {"annotation", "returns", "decorator_list"}
        for field, value in reversed(list(ast.iter_fields(node))):
            if field not in left_out:
                children = value if isinstance(value, list) else [value]
                waiting += [child for child in reversed(children) if isinstance(child, ast.AST)]


def mutants(function: Function, package: str) -> list[tuple[Mutant, ast.AST, ast.AST]]:
    """Return every change that could be made, with the node before and after it."""
    seen: Counter[tuple[str, str]] = Counter()
    made = []
    for node in _code(function.node):
        for kind, other in _changed(node):
            before = ast.unparse(node)
            mutant = Mutant(function.name, package, kind, seen[kind, before], before, ast.unparse(other))
            seen[kind, before] += 1
            if mutant.after != before:
                made.append((mutant, node, other))
    return made


def draw() -> list[Mutant]:
    """Draw functions whose names are unique, and a change of each: first its kind, then its place."""
    source = ROOT / "src" / "plurivox"
    every = list(functions(source))
    times = Counter(function.name for function in every)
    chance = random.Random(SEED)
    order = sorted((one for one in every if times[one.name] == 1), key=lambda one: one.name)
    chance.shuffle(order)
    drawn: list[Mutant] = []
    for function in order:
        possible = [one for one, _, _ in mutants(function, function.path.relative_to(source).parts[0])]
        if possible and len(drawn) < N:
            kind = chance.choice(sorted({one.kind for one in possible}))
            drawn.append(chance.choice([one for one in possible if one.kind == kind]))
    return drawn


def place_of(mutant: Mutant, source: Path) -> tuple[Function, str] | None:
    """Return the function of a mutant and the changed text of its module, or None if the source has no such place."""
    for function in functions(source):
        if function.name != mutant.function:
            continue
        for other, node, changed in mutants(function, mutant.package):
            if other == mutant:
                return function, _with(function.path.read_text(encoding="utf-8"), node, changed)
    return None


def _with(text: str, node: ast.AST, changed: ast.AST) -> str:
    """Return a text in which one node is written otherwise."""
    lines = text.encode().splitlines(keepends=True)
    ends = [0]
    for line in lines:
        ends.append(ends[-1] + len(line))
    start = ends[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
    stop = ends[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
    whole = b"".join(lines)
    new = ast.unparse(changed)
    if not isinstance(node, ast.stmt | ast.Constant):
        new = f"({new})"
    return (whole[:start] + new.encode() + whole[stop:]).decode()


def covering(function: Function, tests: Path, source: Path) -> list[str]:
    """Return the test files to run, in the order in which they are likely to notice."""
    parts = function.path.relative_to(source).with_suffix("").parts
    bare = function.name.rpartition(".")[2]
    about = parts[1] if parts[0] == "lenses" else parts[-1]
    names = [bare, ".".join(("plurivox", *parts)), *([function.name.partition(".")[0]] if "." in function.name else [])]
    by_name, by_module, by_file = [], [], []
    for path in sorted(tests.glob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if any(re.search(rf"\b{re.escape(name)}\b", text) for name in names[:2]):
            by_name.append(path.name)
        elif about.removesuffix("s") in path.name:
            by_file.append(path.name)
        elif re.search(rf"\bplurivox\.{parts[0]}\.{about}\b|\bpv\.{about}\b", text):
            by_module.append(path.name)
    beside = [name for name in BESIDE[parts[0]] if (tests / name).is_file()]
    order = dict.fromkeys([*by_name[:8], *by_file, *by_module[:8], *beside])
    return [name for name in order if not any(word in name for word in ("browser", "workbench", "fuzz", "release"))]


def command_of(function: Function, source: Path) -> str:
    """Return the group of the corpus that runs a function of a lens, nothing for the others."""
    parts = function.path.relative_to(source).with_suffix("").parts
    return CORPUS.get(parts[1], parts[1]) if parts[0] == "lenses" else "variation" if parts[0] == "infer" else ""


def run(mutant: Mutant, tree: Path, limit: float, with_corpus: bool, wrong: list[str]) -> tuple[str, str]:
    """Return whether a mutant is caught, and by what; tests that fail without it, too, are left out from then on."""
    source = tree / "src" / "plurivox"
    found = place_of(mutant, source)
    if found is None:
        return "gone", ""
    function, changed = found
    kept = function.path.read_text(encoding="utf-8")
    environment = os.environ | {
        "PYTHONPATH": f"{tree / 'src'}:{tree / 'tests'}", "POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    start = time.monotonic()
    tests = covering(function, tree / "tests", source)
    pytest = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow and not claims"]
    files = [*[f"tests/{name}" for name in tests], f"src/plurivox/{function.path.relative_to(source)}"]
    commands = [[*pytest, *files, *[f"--deselect={name}" for name in wrong]]]
    if with_corpus and (group := command_of(function, source)):
        commands.append([sys.executable, "tests/corpus/freeze.py", "--check", f"{group}/"])
    function.path.write_text(changed, encoding="utf-8")
    try:
        for command in commands:
            left = limit - (time.monotonic() - start)
            done = subprocess.run(
                command, cwd=tree, env=environment, capture_output=True, text=True, check=False, timeout=max(left, 30)
            )
            if done.returncode:
                by = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
                function.path.write_text(kept, encoding="utf-8")
                if by and _fails([*pytest, by[0]], tree, environment):
                    wrong.append(by[0])
                    return run(mutant, tree, limit, with_corpus, wrong)
                return "caught", by[0] if by else " ".join(command[1:4])
        return "survived", f"{len(tests)} files"
    except subprocess.TimeoutExpired:
        return "unfinished", f"not caught in {limit:.0f} s"
    finally:
        function.path.write_text(kept, encoding="utf-8")


def _fails(command: list[str], tree: Path, environment: dict[str, str]) -> bool:
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    return done.returncode == 1


def _copied(tests: Path, tree: Path) -> None:
    shutil.rmtree(tree, ignore_errors=True)
    left_out = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".hypothesis", ".*_cache", "_build", "api")
    shutil.copytree(ROOT, tree, ignore=left_out)
    if tests != ROOT / "tests":
        shutil.rmtree(tree / "tests")
        shutil.copytree(tests, tree / "tests", ignore=left_out)


def main() -> None:
    """Draw, or run some and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["draw", "run"])
    parser.add_argument("--only", default=f"1-{N}", help="numbers of mutants, 1-10,12 (default: all)")
    parser.add_argument("--tests", type=Path, default=ROOT / "tests", help="tests to run instead of these")
    parser.add_argument("--tree", type=Path, default=Path("/tmp/mutants/tree"), help="where the copy is made")
    parser.add_argument("--results", type=Path, default=Path("/tmp/mutants/results.csv"))
    parser.add_argument("--limit", type=float, default=400, help="seconds for one mutant")
    parser.add_argument("--no-corpus", action="store_true", help="leave the frozen corpus out")
    given = parser.parse_args()
    if given.what == "draw":
        with DRAWN.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([Mutant._fields, *draw()])
        return
    with DRAWN.open(encoding="utf-8", newline="") as file:
        drawn = [Mutant(**{**row, "nth": int(row["nth"])}) for row in csv.DictReader(file)]  # type: ignore[arg-type]
    parts = [part.partition("-") for part in given.only.split(",")]
    chosen = [at for first, _, last in parts for at in range(int(first), int(last or first) + 1)]
    _copied(given.tests.resolve(), given.tree)
    given.results.parent.mkdir(parents=True, exist_ok=True)
    totals: Counter[str] = Counter()
    wrong: list[str] = []
    for at in chosen:
        mutant = drawn[at - 1]
        start = time.monotonic()
        ended, by = run(mutant, given.tree, given.limit, not given.no_corpus, wrong)
        totals[ended] += 1
        seconds = f"{time.monotonic() - start:.0f}"
        print(f"{at:2} {mutant.function:40.40} {mutant.kind:14} {ended:10} {seconds:>4} s  {by}", flush=True)
        with given.results.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow([at, mutant.function, mutant.kind, ended, seconds, by])
    print(", ".join(f"{n} {ended}" for ended, n in totals.items()))
    print(*(f"fails without a mutant, too: {name}" for name in wrong), sep="\n")


if __name__ == "__main__":
    main()
