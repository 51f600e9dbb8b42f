"""The one writer: what it refuses, what it keeps, and what is left when it is interrupted at any moment."""

from __future__ import annotations

import ast
import contextlib
import errno
import functools
import gc
import io
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox import ask
from plurivox.actions.curate.files import write_curation
from plurivox.base import files
from plurivox.base.csv_files import write_frame
from plurivox.base.errors import FileError
from plurivox.base.files import one_call, replacing, write_bytes, write_text
from plurivox.base.folders import LIST, write_folder
from plurivox.cli.answers_check import draw
from plurivox.plots.theme import saying
from plurivox.plots.writing import write_chart
from plurivox.report.build import MARKS, Report
from plurivox.simulation.simulate import simulate, write_study
from stored_answers import fill
from support import ran, refused, run_cli

SOURCE = Path(pv.__file__).parent
SMALL = ("--items", 12, "--raters", 12)


# What is refused ------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small simulated study."""
    folder = tmp_path_factory.mktemp("made") / "study"
    assert run_cli("simulate", folder, *SMALL).code == 0
    return folder


@pytest.fixture
def study(made: Path, tmp_path: Path) -> Path:
    """Return a copy of the study, with what else commands may read."""
    folder = tmp_path / "study"
    folder.mkdir()
    for path in made.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "scale.toml").write_text("labels = [0, 1, 2, 3, 4]")
    (folder / "ratings.jsonl").write_bytes((folder / "ratings.csv").read_bytes())
    fill(folder / "answers.db", ["A", "B"])
    return folder


OVER = [
    ("ratings.csv", "report ratings.csv -o {out}"),
    ("raters.csv", "report ratings.csv --raters raters.csv -o {out}"),
    ("raters.csv", "report ratings.csv -o {out}"),  # named in plurivox.toml
    ("items.csv", "report ratings.csv --items items.csv -o {out}"),
    ("plurivox.toml", "report ratings.csv -o {out}"),
    ("scale.toml", "report ratings.csv --scale scale.toml -o {out}"),
    ("trained.csv", "report ratings.csv --reference trained.csv --reference-scale safe,unsafe -o {out}"),
    ("predictions.csv", "report ratings.csv --predictions predictions.csv -o {out}"),
    ("answers.csv", "report ratings.csv --answers answers.csv -o {out}"),
    ("ratings.jsonl", "curate ratings.jsonl --format csv --by gender -o {out}"),
    ("trained.csv", "curate ratings.csv --by gender --reference trained.csv --reference-scale safe,unsafe -o {out}"),
    ("answers.db", "answers answers.db --export {out}"),
    ("ratings.csv", "item ratings.csv item-01 --chart {out}"),
]
NAMES = {"report": "out.html", "curate": "out.jsonl", "answers": "out.csv", "item": "out.json"}


@pytest.mark.parametrize(("read", "command"), OVER)
def test_no_command_writes_over_what_it_reads(
    study: Path, monkeypatch: pytest.MonkeyPatch, read: str, command: str
) -> None:
    monkeypatch.chdir(study)
    link = os.link if len(command) % 2 else os.symlink
    before, out = (study / read).read_bytes(), NAMES[command.split()[0]]
    link(study / read, out)
    done = run_cli(*command.format(out=out).split())
    assert done.code == 1
    last = done.err.splitlines()[-1]
    assert last == f"error: {out}: this file is an input and would be overwritten. Name another file to write."
    assert (study / read).read_bytes() == before
    assert not list(study.glob(".*.part"))


def test_the_file_itself_and_standard_input(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = study / "ratings.csv"
    before = path.read_bytes()
    assert "would be overwritten" in run_cli("report", path, "-o", path).err
    with path.open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        keep = os.dup(0)
        os.dup2(file.fileno(), 0)
        try:
            done = run_cli("report", "-", "-o", path)
        finally:
            os.dup2(keep, 0)
            os.close(keep)
    assert "would be overwritten" in done.err
    assert path.read_bytes() == before


@pytest.mark.parametrize("link", [os.link, os.symlink, shutil.copy])
def test_what_was_noted_is_refused_without_a_word_of_the_command(tmp_path: Path, link: Callable[..., None]) -> None:
    (tmp_path / "in").write_text("old")
    link(tmp_path / "in", tmp_path / "out")
    with one_call():
        files.note_input(tmp_path / "in")
        if link is shutil.copy:
            write_text(tmp_path / "out", "new")
        else:
            with pytest.raises(FileError, match="this file is an input and would be overwritten"):
                write_text(tmp_path / "out", "new")
    assert (tmp_path / "in").read_text() == "old"
    write_text(tmp_path / "out", "newer")  # the next call knows nothing of it
    assert (tmp_path / "out").read_text() == "newer"


def test_python_functions_refuse_what_they_know_was_read(study: Path) -> None:
    path = study / "ratings.csv"
    ratings = pv.read_ratings(path)
    before = path.read_bytes()
    table = study / "table.parquet"
    ratings.to_frame().write_parquet(table)
    with pytest.raises(FileError, match="would be overwritten"):
        pv.write_ratings(pv.read_ratings(table), table)
    brief: Any = SimpleNamespace(study=SimpleNamespace(ratings=ratings, inputs={}))
    with mock.patch.object(Report, "html", return_value="new"), pytest.raises(FileError, match="would be overwritten"):
        Report(brief, (), (), mock.Mock()).write(path)
    assert path.read_bytes() == before
    pv.write_ratings(ratings, study / "other.parquet")
    pv.write_ratings(pv.read_ratings(study / "other.parquet"), study / "other.parquet")  # as it was stored: the same


def test_nothing_that_is_not_a_file_is_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    os.symlink("/dev/null", tmp_path / "nothing")
    os.symlink("round", tmp_path / "round")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "socket"))
    cases = {
        "pipe": "this is a pipe, not a file", "folder": "this is a directory, not a file",
        "nothing": "this is a device, not a file", "socket": "this is a socket, not a file",
        "/dev/null": "this is not a file", "/dev/stdout": "this is not a file", "/dev/fd/1": "this is not a file",
        "/proc/self/fd/1": "this is not a file", "round": "Too many levels of symbolic links",
        "none/x": "there is no folder",
    }  # fmt: skip
    for name, problem in cases.items():
        with pytest.raises(FileError, match=problem):
            write_text(tmp_path / name, "new")
    with pytest.raises(FileError, match=r"^-: this is not a file\. Name a file to write\.$"):
        write_text("-", "new")
    assert sorted(os.listdir(tmp_path)) == ["folder", "nothing", "pipe", "round", "socket"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert os.readlink(tmp_path / "nothing") == "/dev/null"


def test_links_are_followed_and_stay(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "real.txt").write_text("old")
    os.symlink("there/real.txt", tmp_path / "link.txt")
    os.symlink("link.txt", tmp_path / "second.txt")
    os.symlink("there/new.txt", tmp_path / "dangling.txt")
    for name in ("second.txt", "dangling.txt"):
        write_text(tmp_path / name, "new")
        assert (tmp_path / name).is_symlink()
    assert sorted(os.listdir(tmp_path / "there")) == ["new.txt", "real.txt"]
    assert {path.read_text() for path in (tmp_path / "there").iterdir()} == {"new"}


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_mode_that_open_gives(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        write_text(tmp_path / "ours", "new")
        (tmp_path / "plain").write_text("new")
    finally:
        os.umask(before)
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_the_mode_of_a_file_is_kept_and_its_temporary_is_no_wider(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "kept"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) & ~mode == 0
        pl.DataFrame({"a": [1]}).write_csv(temporary)
        assert stat.S_IMODE(temporary.stat().st_mode) & ~mode == 0
    assert (stat.S_IMODE(path.stat().st_mode), path.read_text()) == (mode, "a\n1\n")


def test_a_write_protected_file_stays_and_a_long_name_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_text("old")
    path.chmod(0o444)
    tmp_path.chmod(0o777)
    may_all = mock.patch("os.access", return_value=False)  # root may write to everything
    with may_all if os.geteuid() == 0 else contextlib.nullcontext(), pytest.raises(FileError, match="write-protected"):
        write_text(path, "new")
    assert path.read_text() == "old"
    path.unlink()
    for name in ("n" * 255, "名" * 85):
        write_text(tmp_path / name, "new")
        assert os.listdir(tmp_path) == [name]
        write_text(tmp_path / name, "newer")
        (tmp_path / name).unlink()


# Errors ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("call", ["os.open", "os.fsync", "os.replace", "pathlib.Path.write_bytes"])
def test_a_full_disk_is_one_error_and_the_old_file_is_there(tmp_path: Path, call: str) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    full = OSError(errno.ENOSPC, "No space left on device")
    told = r"out: it cannot be written \(No space left on device\)\. Free some space or write elsewhere; the old"
    with mock.patch(call, side_effect=full), pytest.raises(FileError, match=told):
        write_bytes(path, b"new")
    assert content(tmp_path) == {"out": b"old"}


def test_a_disk_that_really_is_full(tmp_path: Path) -> None:
    """A limit on the size of files stands for a disk: the system itself refuses to write on."""
    script = """
        import resource, signal, sys
        import polars as pl
        from plurivox.base.errors import FileError
        from plurivox.base.csv_files import write_frame
        from pathlib import Path
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        frame = pl.DataFrame({"a": ["text"] * 100_000})
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        for name in sys.argv[1:]:
            try:
                write_frame(Path(name), frame)
            except FileError as error:
                print(error)
        """
    paths = [tmp_path / "a.csv", tmp_path / "b.jsonl"]
    for path in paths:
        path.write_text("old")
    command = [sys.executable, "-c", "\n".join(line[8:] for line in script.splitlines()), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert [line.split(": ")[0] for line in done.stdout.splitlines()] == [str(path) for path in paths], done.stderr
    assert done.stdout.count("it cannot be written (File too large") == 2
    assert {path.read_text() for path in paths} == {"old"}
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "b.jsonl"]


def test_an_error_in_reading_is_not_called_one_in_writing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "out"):
        (tmp_path / "other").read_text()
    assert caught.value.filename == str(tmp_path / "other")
    with pytest.raises(FileError, match=r"in\.csv: there is no such file"), replacing(tmp_path / "out"):
        pv.read_ratings(tmp_path / "in.csv")
    assert os.listdir(tmp_path) == []


def test_a_disk_that_cannot_be_read_is_said(study: Path) -> None:
    """Reading fails after the file was opened, as on a damaged disk."""

    def unpacked(raw: Any, *_: object) -> Any:
        damaged = mock.MagicMock(wraps=raw)
        damaged.read.side_effect = OSError(errno.EIO, "Input/output error")
        damaged.__enter__.return_value = damaged
        damaged.__exit__.side_effect = lambda *_: raw.close()
        return damaged, "csv"

    with mock.patch("plurivox.read.opening._unpacked", unpacked):
        done = run_cli("describe", study / "ratings.csv")
    told = f"error: {study / 'ratings.csv'}: it cannot be read (Input/output error).\n"
    assert (done.code, done.err) == (1, told)


# Folders --------------------------------------------------------------------------------------------------------------
def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_study_is_made_again_as_often_as_one_likes(tmp_path: Path) -> None:
    made = ("simulate", tmp_path / "s", *SMALL)
    ran(*made)
    first = content(tmp_path / "s")
    (tmp_path / "s" / "notes.txt").write_text("mine")
    ran(*made, "--seed", 1, "--no-predictors")
    second = content(tmp_path / "s")
    assert set(first) - set(second) == {"predictions.csv"}
    assert (second["ratings.csv"] != first["ratings.csv"], second["notes.txt"]) == (True, b"mine")
    ran(*made)
    assert content(tmp_path / "s") == first | {"notes.txt": b"mine"}


@pytest.mark.parametrize("command", ["simulate", "demo --folder", "simulate --study responsiveness"])
def test_a_folder_with_other_data_is_refused(tmp_path: Path, command: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "ratings.csv").write_text("mine")
    (tmp_path / "data" / "zz.csv").write_text("mine")
    before = content(tmp_path / "data")
    assert refused(*command.split(), tmp_path / "data") == (
        f"error: {tmp_path / 'data'}: the folder holds other files (ratings.csv, zz.csv). Name another folder, or "
        "overwrite with --force (force=True)."
    )
    assert content(tmp_path / "data") == before


def test_what_was_changed_since_is_kept_unless_forced(tmp_path: Path) -> None:
    made = ("simulate", tmp_path / "s", *SMALL)
    ran(*made)
    config = tmp_path / "s" / "plurivox.toml"
    config.write_text(config.read_text() + "# mine\n")
    before = content(tmp_path / "s")
    for command in ("simulate", "demo --folder"):
        told = refused(*command.split(), tmp_path / "s")
        assert f"{config}: plurivox did not write this file, or it was changed since." in told
    assert content(tmp_path / "s") == before
    ran(*made, "--force")
    assert "# mine" not in config.read_text()
    ran(*made)
    (tmp_path / "pairs.README.md").write_text("mine")
    with pytest.raises(FileError, match=r"pairs\.README\.md: it exists and was not written by plurivox"):
        write_curation(curations()[0], tmp_path / "pairs.jsonl")
    assert (tmp_path / "pairs.README.md").read_text() == "mine"
    assert not (tmp_path / "pairs.jsonl").exists()


def test_hidden_files_and_damaged_lists_are_no_study(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write = {"a.txt": functools.partial(Path.write_text, data="a")}
    assert write_folder(tmp_path, write) == [tmp_path / "a.txt"]
    for damaged in ("", "[]", "{}", '{"files": 1}', '{"files": {"a.txt": null}}', "\xff", "[" * 100_000):
        (tmp_path / LIST).write_text(damaged, encoding="latin-1")
        with pytest.raises(FileError, match=r"the folder holds other files \(a.txt\)"):
            write_folder(tmp_path, write)
    assert write_folder(tmp_path, write, force=True) == [tmp_path / "a.txt"]
    assert write_folder(tmp_path, write) == [tmp_path / "a.txt"]


# Interrupted at any moment --------------------------------------------------------------------------------------------
@functools.cache
def curations() -> list[pv.Curation]:
    """Two curations of a small study in which a group is for a person to decide on."""
    random = np.random.default_rng(0)
    level = random.normal(size=24)
    rows = [
        (f"i{i}", f"{group}{r}", int(np.clip(round(2 + sign * level[i] + random.normal(0, 0.3)), 0, 4)), group)
        for group, sign in (("a", 1), ("b", -1))
        for r in range(5)
        for i in range(24)
    ]
    frame = pl.DataFrame(rows, schema=["item", "rater", "score", "group"], orient="row")
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 4), rater_attributes=["group"])
    return [pv.curate(ratings, by="group", form="points", permutations=9, seed=seed) for seed in (0, 1)]


@functools.cache
def ratings_of(version: int) -> pv.Ratings:
    return pv.Ratings.from_frame(
        pl.DataFrame({"item": [1, 2], "rater": ["a", "b"], "score": [0, version]}), scale="0:9"
    )


@functools.cache
def studies(version: int) -> Any:
    return simulate(n_items=4, n_raters=6, seed=version)


def _report(folder: Path, version: int) -> None:
    brief: Any = SimpleNamespace(study=SimpleNamespace(ratings=ratings_of(1), inputs={}))
    with mock.patch.object(Report, "html", return_value=f"{MARKS[0].decode()}{version}"):
        Report(brief, (), (), mock.Mock()).write(folder / "report.html")


def _curation(folder: Path, version: int) -> None:
    if version == 2:  # a list of decisions is never written over
        (folder / "p.decisions.csv").unlink(missing_ok=True)
    write_curation(curations()[version - 1], folder / "p.jsonl")


WRITERS: dict[str, Callable[[Path, int], object]] = {
    "text": lambda folder, version: write_text(folder / "t.txt", f"version {version}"),
    "csv": lambda folder, version: write_frame(folder / "t.csv", pl.DataFrame({"a": ["=x", str(version)]})),
    "parquet": lambda folder, version: write_frame(folder / "t.parquet", pl.DataFrame({"a": [version]})),
    "jsonl": lambda folder, version: write_frame(folder / "t.jsonl", pl.DataFrame({"a": [version]})),
    "ratings": lambda folder, version: pv.write_ratings(ratings_of(version), folder / "r.parquet"),
    "study": lambda folder, version: write_study(studies(version), folder / "s"),
    "report": _report,
    "chart": lambda folder, version: write_chart(saying("Nothing", f"version {version}"), folder / "chart.json"),
    "curation": _curation,
}
"""Every way of writing; the same version writes the same bytes."""


class Moment(BaseException):
    """Raised at some moment, as no code expects it."""


@contextmanager
def interrupted(at: int, error: BaseException) -> Iterator[list[int]]:
    """Raise an error before the line of plurivox's writers that is executed as number ``at``; count the lines."""
    modules = {str(SOURCE / name) for name in ("base/files.py", "base/folders.py", "actions/curate/files.py")}
    count = [0]

    def lines(frame: Any, event: str, argument: object) -> Any:
        if event == "line":
            count[0] += 1
            if count[0] == at:
                raise error
        return lines

    before = sys.gettrace()
    sys.settrace(lambda frame, event, argument: lines if frame.f_code.co_filename in modules else None)
    try:
        yield count
    finally:
        sys.settrace(before)


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def closed_late() -> Iterator[None]:
    """Collect files whose closing was interrupted while their test lasts, which ignores that they warn of it."""
    yield
    gc.collect()


@pytest.mark.slow
@pytest.mark.usefixtures("closed_late")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("writer", "error"), [*((one, KeyboardInterrupt) for one in WRITERS), ("text", Moment)])
def test_an_interruption_leaves_the_old_file_or_the_new(
    tmp_path: Path, writer: str, error: type[BaseException]
) -> None:
    write = WRITERS[writer]
    whole = []
    for version in (1, 2):
        (tmp_path / str(version)).mkdir()
        write(tmp_path / str(version), version)
        whole.append(tree(tmp_path / str(version)))
    with interrupted(0, error()) as count:
        write(tmp_path / "2", 2)
    assert count[0] > 20
    few = {"study": 12, "chart": 8, "curation": 30}.get(writer, count[0])
    for moment in np.unique(np.linspace(1, count[0], few).astype(int)).tolist():
        folder = tmp_path / "work"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "1", folder)
        with pytest.raises(error), one_call(), interrupted(moment, error()):
            write(folder, 2)
        found = tree(folder)
        for name in found.keys() - {f"s/{LIST}"}:
            assert found[name] in (whole[0].get(name), whole[1].get(name)), (moment, name)
        if writer not in ("study", "curation"):
            assert found.keys() == whole[0].keys()
        write(folder, 2)  # and the same call, once more, is not in its own way
        assert tree(folder) == whole[1]


@contextmanager
def halfway(number: int, error: BaseException) -> Iterator[list[int]]:
    """Raise an error when the file that is written as number ``number`` is written to its half; count them."""
    count = [0]

    def stopping(write: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*arguments: Any, **options: Any) -> Any:
            files = Path, io.BufferedRandom, io.BufferedWriter
            file = next((one for one in arguments if isinstance(one, files)), None)
            done = write(*arguments, **options)
            count[0] += file is not None
            if file is not None and count[0] == number:
                if not isinstance(file, Path):
                    file.flush()
                place = file if isinstance(file, Path) else file.fileno()
                os.truncate(place, os.stat(place).st_size // 2)
                raise error
            return done

        return instead

    with contextlib.ExitStack() as stack:
        for owner, name in ((Path, "write_bytes"), (Path, "write_text"), (pl.DataFrame, "write_csv"),
                            (pl.DataFrame, "write_parquet"), (pl.DataFrame, "write_ndjson")):  # fmt: skip
            stack.enter_context(mock.patch.object(owner, name, stopping(getattr(owner, name))))
        yield count


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
@pytest.mark.parametrize("writer", WRITERS)
def test_half_a_file_takes_the_place_of_none(tmp_path: Path, writer: str, error: BaseException) -> None:
    write = WRITERS[writer]
    for folder in (tmp_path / "work", tmp_path / "other"):
        folder.mkdir()
    write(tmp_path / "work", 1)
    (tmp_path / "work" / "p.decisions.csv").unlink(missing_ok=True)  # a list of decisions is never written over
    before = tree(tmp_path / "work")
    with halfway(0, error) as count:
        write(tmp_path / "other", 2)
    assert count[0] == {"curation": 3, "study": 13}.get(writer, 1)
    for number in range(1, count[0] + 1):
        with pytest.raises(FileError if isinstance(error, OSError) else KeyboardInterrupt), halfway(number, error):
            write(tmp_path / "work", 2)
        found = tree(tmp_path / "work")
        if number < 13:
            assert found == before, number
    if writer == "study":  # all files had taken their places, and only the list of them was halfway
        found.pop(f"s/{LIST}")
        assert found.items() <= tree(tmp_path / "other").items()


def test_a_second_interruption_while_cleaning_up(tmp_path: Path) -> None:
    """Polars raises one Ctrl-C twice."""
    real = os.close

    def close(descriptor: int) -> None:
        real(descriptor)
        raise KeyboardInterrupt

    def write() -> None:
        with mock.patch("os.close", close), replacing(tmp_path / "out") as temporary:
            temporary.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert os.listdir(tmp_path) == []


def test_what_cleaning_up_missed_goes_when_the_call_ends(tmp_path: Path) -> None:
    def write() -> None:
        with mock.patch("plurivox.base.files._remove", side_effect=KeyboardInterrupt), replacing(tmp_path / "out"):
            raise KeyboardInterrupt

    def call() -> None:
        with one_call():
            try:
                write()
            finally:
                assert len(os.listdir(tmp_path)) == 1

    with pytest.raises(KeyboardInterrupt):
        call()
    assert os.listdir(tmp_path) == []


@pytest.mark.usefixtures("closed_late")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "moment", [1, 30, 45, 60, *(pytest.param(one, marks=pytest.mark.slow) for one in (15, 40, 50, 55, 65))]
)
def test_a_sample_to_check_is_there_whole_or_not_at_all(tmp_path: Path, moment: int) -> None:
    fill(tmp_path / "a.db", ["A", "B", "C"])
    with pytest.raises(KeyboardInterrupt), one_call(), interrupted(moment, KeyboardInterrupt()):
        draw(tmp_path / "a.db", 3, 0, tmp_path / "check.csv")
    assert not list(tmp_path.glob(".check*"))
    if (tmp_path / "check.csv").exists():
        assert set(pl.read_csv(tmp_path / "check.csv")["id"]) == set(ask.draw_audit(tmp_path / "a.db", 3)["id"])


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    script = (
        "import os, sys; from plurivox.base.files import replacing\n"
        "with replacing(sys.argv[1]) as temporary:\n"
        "    temporary.write_text('half'); print(temporary, flush=True); os.kill(os.getpid(), 9)\n"
    )
    path = tmp_path / "out.txt"
    path.write_text("old")
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    left = Path(done.stdout.strip())
    assert (left.read_text(), path.read_text()) == ("half", "old")
    os.utime(left, (time.time() - 5, time.time() - 5))
    with replacing(path) as running:  # is being written, and locked
        os.utime(running, (time.time() - 5, time.time() - 5))
        write_text(path, "new")
        assert running.exists()
        assert not left.exists()
        running.write_text("newer")
    assert content(tmp_path) == {"out.txt": b"newer"}


@functools.cache
def sources() -> dict[str, ast.Module]:
    paths = SOURCE.rglob("*.py")
    return {str(path.relative_to(SOURCE)): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def calls_in(module: ast.Module) -> Iterator[tuple[str, str, ast.Call]]:
    """Yield the name of what is called, of what it is an attribute if that has a name, and the call."""
    for call in (one for one in ast.walk(module) if isinstance(one, ast.Call)):
        if isinstance(call.func, ast.Attribute):
            yield call.func.attr, getattr(call.func.value, "id", "."), call
        elif isinstance(call.func, ast.Name):
            yield call.func.id, "", call


def test_every_output_goes_through_the_one_writer() -> None:
    """Nothing else opens a file to write, nor writes to a name that it was not given as a temporary one."""
    allowed = {
        "base/files.py", "base/folders.py", "engine/pool.py", "ask/database.py", "models/predictor.py",
        "cli/running.py", "actions/curate/files.py", "cli/answers_check.py", "read/opening.py",
        "simulation/simulate.py",
        "read/excel.py",  # a ZIP in memory
        "report/render.py",  # in a temporary folder, for Chromium
        "domain/code.py",  # files without a name
        "workbench/base.py", "workbench/store.py",  # a lock, and what replacing has made
        "workbench/salvaging.py",  # puts a new SQLite file in the place of a damaged one
        "kernels/shipped.py",  # a part of the package, while it is built
    }  # fmt: skip
    found = set()
    for path, module in sources().items():
        for name, owner, call in calls_in(module):
            modes = [one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            opened = name == "open" and any(set(mode) & set("wax+") and len(mode) < 4 for mode in modes)
            written = name in ("write_text", "write_bytes") and owner != ""  # those without are of plurivox.base.files
            moved = name in ("replace", "rename", "link") and owner in ("os", "shutil")
            if opened or written or moved or name in ("mkdtemp", "TemporaryFile", "NamedTemporaryFile"):
                found.add(path)
    assert found <= allowed <= sources().keys()


def test_every_input_is_noted_where_it_is_opened() -> None:
    """A module that opens files to read notes them, or reads only what plurivox itself wrote or ships."""
    own = {
        "engine/pool.py", "ask/database.py", "cli/running.py",
        "report/render.py",  # its templates, and what Chromium made
        "base/folders.py", "base/files.py",
        "report/build.py",  # digests of what was read before
        "ask/auditing.py", "ask/read_answers.py",  # only look; what they look at is then read by others
        "ask/logs.py",  # the name of a model from beside what was read
        "actions/curate/files.py",  # looks whether an output is its own
        "read/tables.py", "read/members.py",  # look again at what intake/opening opened
        "read/excel.py",  # opens what is in a file that is open
        "simulation/simulate.py",  # opens to write
        "reproduce/__init__.py", "data/sets.py", "workbench/forms.py",  # tables and texts that are shipped
        "read/packed/folder.py", "read/packed/packing.py", "read/packed/making.py",  # what they wrote
        "read/packed/stored.py",  # a secret, which it wrote
        "engine/run.py",  # what they wrote, and write over
        "read/packed/manifest.py",  # opens addresses
        "data/download.py",  # opens addresses, and digests of what others open or it fetched itself
        "workbench/making.py", "workbench/jobs.py", "workbench/runs.py", "workbench/api.py",  # what it wrote
        "workbench/bench.py",  # also only looks at packed studies; whoever computes reads them with the others
        "workbench/server.py", "workbench/store.py", "workbench/base.py",
        "workbench/records.py", "workbench/salvaging.py",
        "workbench/watches.py",  # copies what grows, before anybody reads it
        "cli/report.py",  # opens a browser
        "kernels/shipped.py", "kernels/shipping.py",  # parts of the package
    }  # fmt: skip
    assert own <= sources().keys()
    for path, module in sources().items():
        called = {(name, owner) for name, owner, _ in calls_in(module)}
        reads = {name for name, owner in called if name in ("open", "read_bytes", "read_text") and owner != "Store"}
        if reads and path not in own:
            assert ("note_input", "") in called, path


# Signals and streams --------------------------------------------------------------------------------------------------
def stopped_by(number: int, then: str = "") -> Callable[..., None]:
    def work(*_: object, **__: object) -> None:
        os.kill(os.getpid(), number)
        if then:
            raise FileError(then)
        time.sleep(5)

    return work


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_end_the_program_in_one_line(study: Path, number: int, code: int) -> None:
    came_with = signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    handlers = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    try:
        with mock.patch("plurivox.lenses.overview.description.describe", stopped_by(number)):
            done = run_cli("describe", study / "ratings.csv")
        assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == handlers
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does; what is ignored stays ignored
        with mock.patch("plurivox.lenses.overview.description.describe", stopped_by(signal.SIGHUP, "got on")):
            assert "got on" in run_cli("describe", study / "ratings.csv").err
    finally:
        signal.signal(signal.SIGHUP, handlers[2])
        signal.signal(number, came_with)  # ignored, if the tests run under nohup
    assert done.code == code
    assert done.err.splitlines()[-1] == "interrupted; nothing half-written is left"
    assert done.err.count("\n") == 2  # with what was taken for what


def program(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "plurivox", *map(str, arguments)]


NO_SPACE = "error: the output cannot be written (No space left on device)"
STREAMS = {
    "describe {file} >&-": (1, "error: the output cannot be written (it is closed)"),
    "describe {file} >/dev/full": (1, NO_SPACE),
    "describe {file} | true": (141, ""),
    "describe {file} 2>/dev/full": (0, ""),
    "describe {file} <&- >&- 2>&-": (1, ""),
    "describe - <&-": (1, "error: standard input: the file is empty. It needs a header and at least one row."),
    "--help >/dev/full": (1, NO_SPACE),
}
"""How the program ends, and its last words, if its streams are closed, full or abandoned."""


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", STREAMS)
def test_closed_full_and_abandoned_streams(study: Path, command: str, unbuffered: str) -> None:
    words = command.format(file="ratings.csv").split()
    asked = " ".join(word for word in words if word not in ("|", "true"))
    pipe = "| true" if "|" in words else ""
    script = f"exec 5>said; '{sys.executable}' -m plurivox {asked} 2>&5 {pipe}; echo ${{PIPESTATUS[0]}} >&6"
    if "2>" in asked:
        script = script.replace(" 2>&5", "")
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered, "PYTHONPATH": str(SOURCE.parent)}
    called: Any = ["bash", "-c", f"exec 6>code; {script}"]
    done = subprocess.run(called, capture_output=True, text=True, check=False, env=environment, cwd=study)
    code, last = STREAMS[command]
    assert (study / "code").read_text().strip() == str(code), done.stderr
    said = (study / "said").read_text()
    assert "Traceback" not in said + done.stderr
    assert said.splitlines()[-1:] == [last] if last else "error" not in said


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_twice(study: Path, number: int) -> None:
    asked = program("cohesion", study / "ratings.csv", "--by", "gender", "--min-group-size", 1, "--permutations", 10**7)
    process = subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(5)
    for _ in range(2):
        process.send_signal(number)
        time.sleep(0.15)
    _, err = process.communicate(timeout=30)
    assert process.returncode in (128 + number, -number)
    assert err.splitlines()[-1] == "interrupted; nothing half-written is left"
    assert "Exception" not in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "wait"),
    [(signal.SIGTERM, 0.0), (signal.SIGTERM, 0.1), (signal.SIGHUP, 0.02), (signal.SIGINT, 0.05), (signal.SIGKILL, 0.0),
     (signal.SIGKILL, 0.05), (signal.SIGKILL, 0.1)],
)  # fmt: skip
def test_a_process_that_is_stopped_while_it_writes(tmp_path: Path, number: int, wait: float) -> None:
    """The study of before is there, file by file, or the new one; what a kill leaves is gone after the next run."""
    folder, asked = tmp_path / "s", ["--raters", "200", "--trained", "0", "--no-models", "--no-predictors"]
    subprocess.run(program("simulate", folder, *asked, "--items", "50"), check=True, capture_output=True)
    before = content(folder)
    process = subprocess.Popen(
        program("simulate", folder, *asked, "--items", "6000"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not list(folder.glob(".*.part")) and process.poll() is None:
        time.sleep(0.001)
    time.sleep(wait)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (0, -number if number == signal.SIGKILL else 128 + number)
    assert "Traceback" not in err
    after = content(folder)
    left = [name for name in after if name.endswith(".part")]
    assert not left or number == signal.SIGKILL
    if process.returncode != 0 and number != signal.SIGKILL:
        assert err == "interrupted; nothing half-written is left\n"
    for name in before.keys() & after.keys() - {LIST}:
        n_rows = after[name].count(b"\n")
        assert after[name] == before[name] or (n_rows == 1_200_001 if name == "ratings.csv" else n_rows > 0)
    time.sleep(1)
    subprocess.run(program("simulate", folder, *asked, "--items", "50"), check=True, capture_output=True)
    assert content(folder) == before


@pytest.mark.skipif(sys.platform != "linux", reason="only there may any bytes be the name of a file")
def test_names_that_are_not_text_are_written(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"fo\xfflder")
    done = run_cli("simulate", folder, "--items", 5, "--raters", 6)
    assert done.code == 0, done.err
    ratings = pv.read_ratings(folder / "ratings.csv", scale="0:4")
    pv.write_ratings(ratings, folder / "study.parquet")
    assert pv.read_ratings(folder / "study.parquet") == ratings
