"""What the checks of a release notice, and that pyproject.toml names the oldest versions of all it needs."""

from __future__ import annotations

import io
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tools import environments, release

if not (release.ROOT / "src").is_dir():
    pytest.skip("a release is made from the sources, which are not here", allow_module_level=True)

METADATA = """Metadata-Version: 2.4
Name: plurivox
Version: {version}
License-Expression: Apache-2.0 AND 0BSD
Requires-Python: >=3.11
Description-Content-Type: text/markdown
"""
LICENCES = ("LICENSE", "src/plurivox/workbench/assets/htmx-LICENSE.txt")
TRACKED = {".ci/run", "README.md", "src/plurivox/__init__.py", "src/plurivox/py.typed", "tests/test_x.py"}
PACKAGE = ("plurivox/__init__.py", "plurivox/py.typed")


def sdist(folder: Path, *names: str) -> Path:
    path = folder / "plurivox-1.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(f"plurivox-1/{name}"), io.BytesIO())
    return path


def wheel(folder: Path, *names: str, version: str = "", command: str = "plurivox = plurivox.cli:main") -> Path:
    path = folder / "plurivox-1-py3-none-any.whl"
    about = "plurivox-1.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for name in (*names, f"{about}/RECORD", *(f"{about}/licenses/{one}" for one in LICENCES)):
            archive.writestr(name, "")
        archive.writestr(f"{about}/METADATA", METADATA.format(version=version or release.version()))
        archive.writestr(f"{about}/entry_points.txt", f"[console_scripts]\n{command}\n")
    return path


def test_a_source_distribution_holds_what_is_tracked_and_nothing_else(tmp_path: Path) -> None:
    whole = sorted(TRACKED - {".ci/run"})
    assert release.wrong_with_sdist(sdist(tmp_path, *whole, "PKG-INFO"), TRACKED) == []
    assert release.wrong_with_sdist(sdist(tmp_path, *whole[1:], "PKG-INFO", "notes.txt"), TRACKED) == [
        "plurivox-1.tar.gz lacks README.md", "plurivox-1.tar.gz holds notes.txt, which is no part of it",
    ]  # fmt: skip


def test_a_wheel_holds_the_package_and_what_was_compiled(tmp_path: Path) -> None:
    assert release.wrong_with_wheel(wheel(tmp_path, *PACKAGE), TRACKED) == []
    assert release.wrong_with_wheel(wheel(tmp_path, *PACKAGE, "plurivox/kernels/compiled.so"), TRACKED) == []
    assert release.wrong_with_wheel(wheel(tmp_path, PACKAGE[0], "tests/test_x.py"), TRACKED) == [
        "plurivox-1-py3-none-any.whl lacks plurivox/py.typed",
        "plurivox-1-py3-none-any.whl holds tests/test_x.py, which is no part of it",
    ]
    other = wheel(tmp_path, *PACKAGE, version="9.9", command="other = x:y")
    assert release.wrong_with_wheel(other, TRACKED) == [
        "plurivox-1-py3-none-any.whl has no command plurivox", f"Version is 9.9, not {release.version()}",
    ]  # fmt: skip


def test_citation_and_changelog_speak_of_this_version() -> None:
    assert release.wrong_with_versions() == []


def test_every_direct_dependency_is_tried_in_its_oldest_version() -> None:
    project = tomllib.loads((release.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [*project["dependencies"], *(one for some in project["optional-dependencies"].values() for one in some)]
    names = {Requirement(one).name for one in needed} - {"plurivox"}
    pinned = {Requirement(one).name: Requirement(one) for one in environments.lower_bounds()}
    assert pinned.keys() == names
    for one in map(Requirement, needed):
        if one.name in pinned:
            (exact,) = pinned[one.name].specifier
            assert exact.operator == "=="
            assert exact.version in one.specifier
            assert str(pinned[one.name].marker) == str(one.marker)


def test_quick_tests_are_there() -> None:
    assert [name for name in environments.QUICK if not (Path(__file__).parent / f"test_{name}.py").exists()] == []


@pytest.mark.parametrize("found", [("python3.11",), ("chroot", "/srv/testing", "python3.14")])
def test_interpreters_may_be_commands(found: tuple[str, ...]) -> None:
    assert found in [*environments.interpreters(" , ".join([" ".join(found)])), *environments.interpreters("")]
