"""Build the source distribution and the wheel twice from the committed tree, and compare and check them.

``python -m tools.release [--out dist]``. The two builds differ in folder, time zone, locale, hash seed and file modes;
SOURCE_DATE_EPOCH is the time of the commit. The wheel is built from the source distribution, so that this holds all
that a build needs. Nothing is written to ``--out`` unless everything is as it should be.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = (".ci/",)
"""What is tracked, but says only how this repository is checked."""
COMPILED = "plurivox/kernels/"
"""The only folder of the wheel that may hold what the build made, beside the files of the package."""
SURROUNDINGS = (
    {"TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "0", "umask": "022"},
    {"TZ": "Pacific/Kiritimati", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "77", "umask": "077"},
)


def git(*arguments: str) -> bytes:
    """Return what git says about this repository."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


def built(folder: Path, surroundings: dict[str, str]) -> dict[str, Path]:
    """Build both files from a copy of the committed tree; return them by their kind."""
    mask = int(surroundings["umask"], 8)
    tree, out = folder / "tree", folder / "out"
    with tarfile.open(fileobj=io.BytesIO(git("archive", "HEAD"))) as archive:
        archive.extractall(tree, filter="data")
    for path in tree.rglob("*"):
        path.chmod(path.stat().st_mode & ~mask)
    environment = os.environ | surroundings | {"SOURCE_DATE_EPOCH": git("log", "-1", "--format=%ct").decode().strip()}
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(tree)]
    done = subprocess.run(command, env=environment, umask=mask, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        sys.exit(f"The build failed:\n{done.stdout}{done.stderr}")
    return {"sdist": next(out.glob("*.tar.gz")), "wheel": next(out.glob("*.whl"))}


def wrong_with_sdist(path: Path, tracked: set[str]) -> list[str]:
    """Return what the source distribution lacks, or has without need: it holds what is tracked and its metadata."""
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()} - {"PKG-INFO"}
    wanted = {name for name in tracked if not name.startswith(LEFT_OUT)}
    return _differences(path.name, names, wanted)


def wrong_with_wheel(path: Path, tracked: set[str]) -> list[str]:
    """Return what the wheel lacks, or has without need, and what is wrong with its metadata."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    about = next(name.partition("/")[0] for name in files if name.endswith(".dist-info/METADATA"))
    package = {name for name in files if not name.startswith(about + "/")}
    wanted = {name.removeprefix("src/") for name in tracked if name.startswith("src/plurivox/")}
    package -= {name for name in package - wanted if name.startswith(COMPILED)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wrong = _differences(path.name, package, wanted)
    if "plurivox = plurivox.cli:main" not in files[f"{about}/entry_points.txt"].decode():
        wrong.append(f"{path.name} has no command plurivox")
    kept = {name.removeprefix(f"{about}/licenses/") for name in files if "/licenses/" in name}
    wrong += _differences(f"{path.name}, licences", kept, set(project["license-files"]))
    return wrong + _wrong_metadata(message_from_bytes(files[f"{about}/METADATA"]), project)


def _differences(where: str, found: set[str], wanted: set[str]) -> list[str]:
    lacks = [f"{where} lacks {name}" for name in sorted(wanted - found)]
    return lacks + [f"{where} holds {name}, which is no part of it" for name in sorted(found - wanted)]


def _wrong_metadata(metadata: Message, project: dict[str, object]) -> list[str]:
    told = {
        "License-Expression": project["license"],
        "Requires-Python": project["requires-python"],
        "Version": version(),
        "Description-Content-Type": "text/markdown",
    }
    return [f"{key} is {metadata[key]}, not {value}" for key, value in told.items() if metadata[key] != value]


def version() -> str:
    """Return the version that the package gives itself."""
    lines = (ROOT / "src" / "plurivox" / "__init__.py").read_text(encoding="utf-8").splitlines()
    return next(line.split('"')[1] for line in lines if line.startswith("__version__ = "))


def wrong_with_versions() -> list[str]:
    """Return where another version than that of the package stands."""
    cited = f"version: {version()}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    listed = f"\n## {version()} (" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    where = {"CITATION.cff": cited, "CHANGELOG.md": listed}
    return [f"{name} does not speak of version {version()}" for name, right in where.items() if not right]


def main() -> None:
    """Build twice, compare, check, and keep what was built."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the two files go")
    out: Path = parser.parse_args().out
    tracked = set(git("ls-tree", "-r", "--name-only", "HEAD").decode().splitlines())
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory(prefix="elsewhere-") as two:
        first, second = (built(Path(at), around) for at, around in zip((one, two), SURROUNDINGS, strict=True))
        alike = {kind: first[kind].read_bytes() == second[kind].read_bytes() for kind in first}
        wrong = [f"{first[kind].name} differs between two builds" for kind, same in alike.items() if not same]
        wrong += wrong_with_sdist(first["sdist"], tracked) + wrong_with_wheel(first["wheel"], tracked)
        wrong += wrong_with_versions()
        checked = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *first.values()])
        if wrong or checked.returncode:
            sys.exit("\n".join(wrong) or "The description cannot be shown; see above.")
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        for path in first.values():
            shutil.copy(path, out)
            print(f"{out / path.name}  {path.stat().st_size:,} bytes, the same from two builds")


if __name__ == "__main__":
    main()
