"""How large the source is: lines of code without blanks, comments, docstrings and imports, package by package.

::

    python -m tools.size            # a table
    python -m tools.size --check    # exits with 1 if a package exceeds the budget in docs/architecture.md
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE, BUDGET = ROOT / "src" / "plurivox", ROOT / "docs" / "architecture.md"
_ROW = re.compile(r"^\| `([\w.]+)/?` \| ([\d,]+) \|$", re.MULTILINE)
_NOT_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def lines_of_code(text: str) -> int:
    r"""Return on how many lines there is code.

    Examples
    --------
    >>> lines_of_code('import os\n\n\ndef f():  # why\n    "What."\n    return (1,\n            2)\n')
    3
    """
    used = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _NOT_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        documents = isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)
        if isinstance(node, ast.Import | ast.ImportFrom) or (isinstance(node, ast.Expr) and documents):
            used -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(used)


def sizes() -> tuple[Counter[str], Counter[str]]:
    """Return the lines of code and the files of each package; modules beside the packages count together."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in sorted(SOURCE.rglob("*.py")):
        first = path.relative_to(SOURCE).parts[0]
        package = first if first != path.name else "modules"
        lines[package] += lines_of_code(path.read_text(encoding="utf-8"))
        files[package] += 1
    return lines, files


def budget() -> dict[str, int]:
    """Return how many lines of code each package may have."""
    rows = _ROW.findall(BUDGET.read_text(encoding="utf-8"))
    return {name: int(lines.replace(",", "")) for name, lines in rows}


def main(check: bool) -> int:
    """Print the table, or what exceeds the budget; return the exit status."""
    lines, files = sizes()
    if not check:
        for name, n in lines.most_common():
            print(f"{name:12} {n:7,} lines in {files[name]:3} files")
        print(f"{'all':12} {lines.total():7,} lines in {files.total():3} files")
        return 0
    allowed = budget()
    wrong = [
        f"{name} has {lines[name]:,} lines of code, {allowed.get(name, 0):,} are in the budget"
        for name in sorted(lines.keys() | allowed.keys())
        if lines[name] > allowed.get(name, 0)
    ]
    print("\n".join(wrong) or f"{lines.total():,} lines of code, within the budget of {sum(allowed.values()):,}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
