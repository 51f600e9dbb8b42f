"""What the documents for contributors say about the source is so."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import plurivox

SOURCE = Path(plurivox.__file__).parent
DOCS = Path(__file__).parents[1]
PACKAGES = "|".join(sorted(path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()))


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_modules_that_are_named_exist(page: str) -> None:
    named = re.findall(rf"`((?:{PACKAGES})/\w[\w/]*?)/?(?:\.[A-Za-z]\w*)?`", (DOCS / page).read_text(encoding="utf-8"))
    assert named
    there = {str(path.relative_to(SOURCE).with_suffix("")) for path in SOURCE.rglob("*")}
    assert {name for name in named if name not in there} == set()


def test_every_package_has_its_row() -> None:
    text = (DOCS / "docs" / "architecture.md").read_text(encoding="utf-8")
    told = re.search(r"\| package \| what it holds \|\n\|---\|---\|\n((?:\|.*\n)+)", text)
    assert told
    assert set(PACKAGES.split("|")) - {"intake"} <= set(re.findall(r"`(\w+)`", told[1]))


def test_class_names_are_unique() -> None:
    found = [
        (node.name, str(path.relative_to(SOURCE)))
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    names = Counter(name for name, _ in found)
    assert [one for one in found if names[one[0]] > 1] == []


def test_no_module_is_too_long_and_no_lens_has_too_many() -> None:
    long = {path.name: n for path in SOURCE.rglob("*.py") if (n := len(path.read_text("utf-8").splitlines())) > 500}
    assert not long
    folders = (folder for package in ("lenses", "actions") for folder in (SOURCE / package).iterdir())
    assert not [folder.name for folder in folders if len(list(folder.glob("*.py"))) > 8]
