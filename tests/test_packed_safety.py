"""Packed studies from somebody else: whatever is in the folder, it is refused in one line, or means what it says."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from fuzz.packed import Files, bases, mended
from plurivox.base.errors import FileError
from plurivox.read.packed import folder as folders
from plurivox.read.packed.manifest import MANIFEST, manifest_of
from plurivox.read.packed.stored import PackedRatings
from support import run_cli

OLD = Path(__file__).parent / "packed" / "0.2.0.pvx"
APPENDED, ONE, SEVERAL, _ = range(4)


def put(files: Files, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Return a packed study in one part."""
    return put(bases()[ONE], tmp_path / "study.pvx")


def use(study: Path) -> None:
    """Do with a study what needs everything in it."""
    ratings = pv.read_ratings(study)
    pv.cohesion(ratings, "g", permutations=5, threads=1)
    ratings.in_memory()


def known(files: Files) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(files[MANIFEST])
    return found


def test_the_bases_are_what_they_are_called(tmp_path: Path) -> None:
    layers = [[len(layer["parts"]) for layer in known(files)["layers"]] for files in bases()]
    assert layers[ONE] == [1]
    assert len(layers[SEVERAL]) == 1
    assert layers[SEVERAL][0] > 3
    assert len(layers[APPENDED]) == 2
    assert {"items", "raters"} <= {role for role, file in known(bases()[APPENDED])["layers"][0].items() if file}
    for number, files in enumerate(bases()):
        use(put(mended(files, known(files)), tmp_path / f"{number}.pvx"))  # mending alone changes nothing


# Names and links ------------------------------------------------------------------------------------------------------
NAMES = [
    "../../../etc/hostname", "/etc/hostname", "..", ".", "", "x.bin", "part-0001-00000.bin\n", "C:\\x.bin",
    "part-\u0660\u0660\u0660\u0661-00000.bin", "manifest.json", "part-0001-00000.bin/../../x", "part-0001-00000.bin\0",
    "part-1.bin",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", ["part", "items", "counts"])
def test_names_lead_nowhere_else(name: str, place: str, study: Path) -> None:
    files = bases()[ONE]
    manifest = known(files)
    (manifest["layers"][0]["parts"][0] if place == "part" else manifest[place])["name"] = name
    put(mended(files, manifest), study)
    with pytest.raises(FileError, match=r"study\.pvx: its file manifest\.json is damaged \(name is "):
        use(study)


def test_links_and_devices_are_not_followed(study: Path, tmp_path: Path) -> None:
    for name in bases()[ONE]:
        path, away = study / name, tmp_path / "away"
        away.write_bytes(path.read_bytes())
        for target in (away, Path("/dev/zero"), None):
            path.unlink()
            path.symlink_to(target) if target else os.mkfifo(path)
            folders._verified.clear()
            with pytest.raises(FileError, match=r"a link instead|it is a link|it is not a file|not a packed study"):
                folders.read_manifest(study) if name == MANIFEST else use(study)
        path.unlink()
        path.write_bytes(away.read_bytes())
    use(study)


def test_appending_does_not_write_through_a_link(study: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "more.csv").write_text("item,rater,score,g\nnew,r01,1,y\n")
    before = pv.read_ratings(study).in_memory()
    for name in ("part-0002-00000.bin", "counts-0002.bin", "items-0002.parquet", "raters-0002.parquet"):
        (study / name).symlink_to(tmp_path / "mine.txt")
        with pytest.raises(FileError, match=rf"{name}: it is a link, which may lead anywhere"):
            pv.pack(tmp_path / "more.csv", study, append=True)
        assert (tmp_path / "mine.txt").read_text() == "mine"
        assert not (study / name).exists()  # what is not of the study is swept away
        assert pv.read_ratings(study).in_memory() == before


def test_a_file_that_changes_later_is_checked_again(study: Path) -> None:
    use(study)
    part = study / "part-0001-00000.bin"
    content = bytearray(part.read_bytes())
    content[70] = 255
    os.utime(part, (0, 0))
    part.write_bytes(content)
    with pytest.raises(FileError, match="its checksum differs"):
        use(study)


# Demands --------------------------------------------------------------------------------------------------------------
def test_packing_says_what_to_demand_and_appending_that_it_changed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item,rater,score\n1,x,0\n2,x,3\n1,y,2\n")
    (tmp_path / "b.csv").write_text("item,rater,score\n3,x,0\n")
    study = tmp_path / "study.pvx"
    done = run_cli("pack", tmp_path / "a.csv", "-o", study, "--scale", "0:4")
    said = done.out.split()[-1]
    assert "To demand exactly this study, write" in done.out
    assert said.startswith(f"{study}#sha256=")
    first = pv.read_ratings(said)
    assert isinstance(first, PackedRatings)
    assert f"{study}#sha256={first.sha256}" == said
    assert first.intake.source == str(study)
    assert run_cli("describe", said).code == 0
    done = run_cli("pack", "--append", tmp_path / "b.csv", said)
    assert "Its SHA-256 has changed; to demand exactly this study, write" in done.out
    again = done.out.split()[-1]
    assert again.partition("#")[0] == str(study)
    assert len(pv.read_ratings(again)) == 4
    told = rf"its SHA-256 is \w+, but {first.sha256} is demanded\. It was packed again"
    with pytest.raises(FileError, match=told):
        pv.read_ratings(said)
    with pytest.raises(FileError, match=told):
        pv.pack(tmp_path / "b.csv", said, append=True)
    with pytest.raises(FileError, match="demanded of what is yet to be made"):
        pv.pack(tmp_path / "a.csv", f"{tmp_path}/new.pvx#sha256={'0' * 64}")
    assert not list(tmp_path.glob("new*"))


def test_other_processes_demand_what_this_one_read(study: Path) -> None:
    sent = pickle.dumps(pv.read_ratings(study).parts())
    assert len(pickle.loads(sent)) == 1
    files = bases()[ONE]
    put(mended(files, known(files) | {"versions": {}}), study)  # the same generation
    folders._verified.clear()
    from plurivox.read.packed.stored import opened_parts

    opened_parts.cache_clear()
    with pytest.raises(FileError, match="not the same here as where the analysis was started"):
        pickle.loads(sent)


def test_finished_work_cannot_be_planted(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from plurivox.engine.run import _name_of as name_of
    from plurivox.read.packed import stored

    parts = pv.read_ratings(study).parts()
    mine = name_of(parts)
    assert name_of(pv.read_ratings(study).parts()) == mine
    monkeypatch.setattr(stored, "secret", lambda: b"that of somebody else")
    assert name_of(parts) != mine


def test_only_files_of_ours_are_removed(study: Path, tmp_path: Path) -> None:
    theirs = {"items-of-the-survey.xlsx": b"a", "part-1.csv": b"b", ".notes.part": b"c", "counts-0001.bin.txt": b"d"}
    put(theirs, study)
    left = study / "part-0009-00000.bin"
    left.write_bytes(b"of an interrupted call")
    (tmp_path / "more.csv").write_text("item,rater,score,g\nzz,r1,1,y\n")
    pv.pack(tmp_path / "more.csv", study, append=True)
    assert not left.exists()
    assert {name: (study / name).read_bytes() for name in theirs} == theirs


@pytest.mark.parametrize("link", [False, True])
def test_a_folder_of_the_name_of_a_log_keeps_what_is_in_it(study: Path, tmp_path: Path, link: bool) -> None:
    log = tmp_path / "study.pvx.log"
    place = put({"interviews.csv": b"a", "0.npy": b"b"}, tmp_path / "elsewhere" if link else log)
    if link:
        log.symlink_to(place)
    finished = put({f"{'0' * 32}.npy": b"finished"}, place) / f"{'0' * 32}.npy"
    pv.cohesion(pv.read_ratings(study), "g", permutations=5, threads=1)
    assert {path.name for path in place.iterdir()} >= {"interviews.csv", "0.npy"}
    assert finished.exists() == link  # what a link leads to is left alone
    assert log.is_symlink() == link


# What an old version packed -------------------------------------------------------------------------------------------
def test_what_an_old_version_packed_is_read_and_appended_to(tmp_path: Path) -> None:
    rows = [OLD.parent / name for name in ("rows.csv", "more.csv")]
    read = pv.read_ratings(put({"a.csv": rows[0].read_bytes(), "b.csv": rows[1].read_bytes()}, tmp_path / "all"),
                           scale="0:4", rater_attributes=["g"])  # fmt: skip
    assert pv.read_ratings(OLD).in_memory() == read
    copy = put({path.name: path.read_bytes() for path in OLD.iterdir()}, tmp_path / "copy.pvx")
    (tmp_path / "c.csv").write_text("item,rater,score,g\nzz,r9,1,y\n")
    added = pv.pack(tmp_path / "c.csv", copy, append=True)
    assert len(added) == len(read) + 1
    assert known({MANIFEST: (copy / MANIFEST).read_bytes()})["form"] == 2
    with pytest.raises(FileError, match=r"packed by plurivox 0\.2\.0"):  # its old parts have only a CRC-32
        pv.read_ratings(f"{copy}#sha256={added.sha256}")
    (copy / "part-0001-00000.bin").write_bytes(b"x" * 192)
    with pytest.raises(FileError, match=r"part-0001-00000\.bin is damaged \(its checksum differs"):
        list(pv.read_ratings(copy).parts())


# What kernels index by ------------------------------------------------------------------------------------------------
def arrays(files: Files, layer: int, part: int, change: Callable[..., None]) -> Files:
    """Return files in which a function has changed the counts, raters and scores of a part."""
    record = known(files)["layers"][layer]["parts"][part]
    data, at, found = bytearray(files[record["name"]]), 0, []
    for dtype, length in zip(record["types"], (record["n_items"], *[record["n_ratings"]] * 2), strict=True):
        found.append(np.frombuffer(data, dtype, length, at))
        at += -(-found[-1].nbytes // 64) * 64
    change(*found)
    changed = {**files, record["name"]: bytes(data)}
    return mended(changed, known(changed))


def numbers(files: Files, name: str, change: Callable[[Any], None]) -> Files:
    data = bytearray(files[name])
    change(np.frombuffer(data, "<i4"))
    changed = {**files, name: bytes(data)}
    return mended(changed, known(changed))


def said(files: Files, *path: Any, value: Any) -> Files:
    """Return files whose manifest says something else at a place."""
    manifest = known(files)
    here: Any = manifest
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = value
    return mended(files, manifest, checksums=False)


def table(files: Files, role: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Files:
    name = known(files)[f"{role}s"]["name"]
    buffer = io.BytesIO()
    change(pl.read_parquet(files[name])).write_parquet(buffer)
    changed = {**files, name: buffer.getvalue()}
    return mended(changed, known(changed))


def to(array: Any, at: int | slice, value: int | list[int]) -> None:
    array[at] = value


PART = ("layers", 0, "parts", 0)
CRAFTED: dict[str, tuple[Callable[[], Files], str]] = {
    "a rater out of range": (
        lambda: arrays(bases()[ONE], 0, 0, lambda counts, raters, scores: to(raters, -1, 255)),
        r"part-0001-00000\.bin is damaged \(it has a rater out of range",
    ),
    "a score out of range": (
        lambda: arrays(bases()[SEVERAL], 0, 2, lambda counts, raters, scores: to(scores, 3, 5)),
        r"part-0001-00002\.bin is damaged \(it has a score out of range",
    ),
    "a score out of range, once it has moved": (
        lambda: arrays(bases()[APPENDED], 0, 0, lambda counts, raters, scores: to(scores, 3, 4)),
        "it has a score out of range",
    ),
    "counts that do not add up": (
        lambda: arrays(bases()[ONE], 0, 0, lambda counts, raters, scores: to(counts, 3, counts[3] + 1)),
        "its counts do not add up to its ratings",
    ),
    "counts of other items": (
        lambda: arrays(bases()[ONE], 0, 0, lambda counts, raters, scores: to(counts, slice(0, 2), [9, 11])),
        r"raters out of order, in an item|counts-0001\.bin is damaged \(its counts are not those of the parts",
    ),
    "a rater twice in an item": (
        lambda: arrays(bases()[ONE], 0, 0, lambda counts, raters, scores: to(raters, 1, raters[0])),
        "it has a rater twice, or raters out of order, in an item",
    ),
    "counts of the study that do not add up": (
        lambda: numbers(bases()[ONE], "counts-0001.bin", lambda counts: to(counts, 0, 2**31 - 1)),
        r"counts-0001\.bin is damaged \(it counts 2,147,",
    ),
    "counts of the study that are not those of the parts": (
        lambda: numbers(bases()[ONE], "counts-0001.bin", lambda counts: to(counts, slice(0, 2), [9, 11])),
        r"counts-0001\.bin is damaged \(its counts are not those of the parts",
    ),
    "a map out of range": (
        lambda: numbers(bases()[APPENDED], "map-0002-0000-items.bin", lambda codes: to(codes, -1, 23)),
        r"map-0002-0000-items\.bin is damaged \(its codes do not rise, or are out of range",
    ),
    "a map below 0": (
        lambda: numbers(bases()[APPENDED], "map-0002-0000-raters.bin", lambda codes: to(codes, 0, -1)),
        r"map-0002-0000-raters\.bin is damaged \(its codes do not rise",
    ),
    "a map out of order": (
        lambda: numbers(bases()[APPENDED], "map-0002-0000-raters.bin", lambda codes: to(codes, 1, codes[0])),
        "its codes do not rise",
    ),
    "a type of objects": (lambda: said(bases()[ONE], *PART, "types", value=["|u1", "|O", "|u1"]), "types is"),
    "a type of fractions": (lambda: said(bases()[ONE], *PART, "types", value=["|u1", "|u1", "<f8"]), "types is"),
    "more ratings than it has": (
        lambda: said(bases()[ONE], *PART, "n_ratings", value=2**60), "which does not fit what it holds",
    ),
    "fewer items than nothing": (lambda: said(bases()[ONE], "n_items", value=-1), "n_items is -1"),
    "a number that no array can have": (lambda: said(bases()[ONE], "n_items", value=10**30), "a number in it is too"),
    "more raters than there are": (lambda: said(bases()[ONE], "n_raters", value=200), "rows for 200 raters"),
    "a part that is left out": (
        lambda: said(bases()[SEVERAL], "layers", 0, "parts", value=known(bases()[SEVERAL])["layers"][0]["parts"][:-1]),
        "its last layer does not cover all items",
    ),
    "a part twice": (
        lambda: said(bases()[SEVERAL], "layers", 0, "parts", value=known(bases()[SEVERAL])["layers"][0]["parts"] * 2),
        "it names a file twice",
    ),
    "a gap between parts": (
        lambda: said(bases()[SEVERAL], "layers", 0, "parts", 1, "first", value=0), "begins with item 0, not",
    ),
    "no parts": (lambda: said(bases()[ONE], "layers", value=[]), "it has no parts"),
    "a shift off the scale": (lambda: said(bases()[APPENDED], "layers", 0, "shift", value=9), "do not fit its items"),
    "another scale": (lambda: said(bases()[ONE], "scale", "labels", value=[0, 1]), "its file"),
    "a scale of nothing": (lambda: said(bases()[ONE], "scale", value={}), "a scale has labels"),
    "a list for a record": (lambda: said(bases()[ONE], "intake", value=[1]), "intake is"),
    "an unknown field": (lambda: said(bases()[ONE], "intake", value={"x": 1}), "intake has an unknown 'x'"),
    "times": (lambda: said(bases()[ONE], "intake", "time_unit", value="days"), "times or repeats"),
    "half a character": (lambda: said(bases()[ONE], "intake", "source", value="\ud800"), "surrogates not allowed"),
    "codes with several values": (
        lambda: said(bases()[ONE], "several", value={"rater": {"g": [31]}}), "with several values that are not there",
    ),
    "a checksum of another kind": (
        lambda: said(bases()[ONE], "counts", "checksum", value="md5:0"), "checksum is 'md5:0'",
    ),
    "fewer rows than items": (lambda: table(bases()[ONE], "item", lambda f: f.head(3)), "it has 3 rows for 23 items"),
    "more rows than raters": (
        lambda: table(bases()[ONE], "rater", lambda f: pl.concat([f, f.tail(1).with_columns(rater=pl.lit("z"))])),
        "it has 32 rows for 31 raters",
    ),
    "ids out of order": (lambda: table(bases()[ONE], "item", pl.DataFrame.reverse), "its ids are not in order"),
    "ids twice": (lambda: table(bases()[ONE], "item", lambda f: f.with_columns(item=pl.lit("x"))), "occur twice"),
    "no ids": (lambda: table(bases()[ONE], "rater", lambda f: f.select("g")), "its table of raters has no ids"),
    "ids of another type": (
        lambda: table(bases()[ONE], "item", lambda f: f.with_columns(item=pl.int_range(23).cast(pl.Float64))),
        "have another type",
    ),
    "rows that take no room": (
        lambda: table(bases()[ONE], "item", lambda f: pl.select(item=pl.repeat(None, 5_000_000))),
        "its table of items has 5,000,000 rows in",
    ),
    "a table that is none": (
        lambda: mended({**bases()[ONE], "items-0001.parquet": b"PAR1" * 9}, known(bases()[ONE])),
        r"items-0001\.parquet is damaged",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CRAFTED)
def test_crafted_folders_end_in_one_error(what: str, study: Path) -> None:
    make, told = CRAFTED[what]
    put(make(), study)
    with pytest.raises(FileError, match=told) as error:
        use(study)
    assert str(error.value).startswith(f"{study}: its file ")
    assert str(error.value).endswith(folders.AGAIN)


@pytest.mark.parametrize("text", [
    "", "[]", "{}", "null", "1" * 5000, "[" * 100_000, '{"form": 2, "crc": 0}', "\x00", "\ud800", '{"form": NaN}',
])  # fmt: skip
def test_a_manifest_that_is_none(text: str, study: Path) -> None:
    (study / MANIFEST).write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(FileError, match=r"manifest\.json is damaged"):
        use(study)


def test_a_manifest_of_a_later_form_and_a_very_large_one(study: Path) -> None:
    put(said(bases()[ONE], "form", value=3), study)
    with pytest.raises(FileError, match="it is packed in form 3, but this version reads forms up to 2"):
        use(study)
    with (study / MANIFEST).open("wb") as file:
        file.truncate(10 << 30)
    with pytest.raises(FileError, match="it has more than 67,108,864 bytes"):
        use(study)


def test_every_field_of_a_manifest_is_declared() -> None:
    for files in bases():
        for path, _ in _places(known(files)):
            if path[-1] != "crc" or len(path) > 1:
                text = said(files, *path, value={"no": [[1]]})[MANIFEST]
                with pytest.raises(ValueError, match=r"."):
                    manifest_of(text)


def _places(here: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    pairs = here.items() if isinstance(here, dict) else enumerate(here) if isinstance(here, list) else ()
    own = [((*path, key), one) for key, one in pairs]
    return own + [found for place, one in own for found in _places(one, place)]


def test_checks_are_made_once(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    usual = folders._check_run

    def counted(*given: Any) -> Any:
        calls.append(given)
        return usual(*given)

    monkeypatch.setattr(folders, "_check_run", counted)
    put(bases()[SEVERAL], study)
    ratings = pv.read_ratings(study)
    for _ in range(3):
        list(ratings.parts())
    pv.cohesion(ratings, "g", permutations=20, threads=1)
    assert len(calls) == len(ratings.parts())


# Full disks -----------------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def small_disk(folder: Path, size: int) -> Any:
    folder.mkdir()
    line = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(line, capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize(("room", "what"), [(1 << 16, "a temporary file"), (900 << 10, "")])
def test_a_full_disk_is_named(room: int, what: str, tmp_path: Path) -> None:
    lines = "".join(f"{item},{rater},{(item * rater) % 5}\n" for item in range(2000) for rater in range(100))
    (tmp_path / "a.csv").write_text(f"item,rater,score\n{lines}")
    (tmp_path / "b.csv").write_text("item,rater,score\n1,1,1\n2,2,2\n")
    with small_disk(tmp_path / "disk", room) as disk:
        study = disk / "study.pvx"
        line = [sys.executable, "-m", "plurivox", "pack", str(tmp_path / "a.csv"), "-o", str(study), "--scale", "0:4"]
        done = subprocess.run(line, capture_output=True, text=True, timeout=120)
        assert done.returncode == 1
        last = done.stderr.splitlines()[-1]
        assert last.startswith(f"error: {study}")
        for word in (what, "cannot be written", "No space left on device", "Free some space"):
            assert word in last
        for word in ("a.csv", "Traceback", "Exception ignored"):
            assert word not in (last if word == "a.csv" else done.stderr)
        assert list(disk.iterdir()) == []
        before = pv.pack(tmp_path / "b.csv", study, scale="0:4").in_memory()
        done = subprocess.run([*line[:4], "--append", str(tmp_path / "a.csv"), str(study), "--duplicates", "error"],
                              capture_output=True, text=True, timeout=120)  # fmt: skip
        assert done.returncode == 1
        assert {path.name for path in study.iterdir()} == folders.read_manifest(study).files
        assert pv.read_ratings(study).in_memory() == before
