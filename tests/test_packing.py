"""Packed studies against the same ratings read into memory."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import random
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packing_work
import plurivox as pv
from plurivox.base.errors import DuplicateError, FileError, NeedsMemoryError
from plurivox.domain import part as parts
from plurivox.domain.code import Coder, Spill
from plurivox.read.packed import packing
from plurivox.read.packed.folder import read_manifest
from plurivox.read.packed.manifest import MANIFEST


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make parts, buckets and stretches of rows so small that a few ratings need several."""
    monkeypatch.setattr(parts.runs, "__defaults__", (7,))
    monkeypatch.setattr(parts.cut, "__defaults__", (7,))
    monkeypatch.setattr(packing, "_LEAST_ROWS", 10)
    monkeypatch.setattr(packing, "_resident", lambda: 10**12)
    monkeypatch.setattr("plurivox.domain.code.stretches.__defaults__", (9,))


def frame_of(seed: int, n: int = 60, *, repeats: bool = False) -> pl.DataFrame:
    rng = random.Random(seed)
    pairs = [(f"i{rng.randrange(12)}", f"r{rng.randrange(9)}") for _ in range(n)]
    pairs = pairs if repeats else list(dict.fromkeys(pairs))
    rows = [
        (item, rater, rng.choice(["0", "1", "2", "3", "4", "", "NA"]), f"g{int(rater[1:]) % 3}", rng.choice("xy"))
        for item, rater in pairs
    ]
    return pl.DataFrame(rows, schema=["item", "rater", "score", "group", "unused"], orient="row")


def written(frame: pl.DataFrame, folder: Path, kind: str, n_files: int = 3) -> list[str]:
    """Write a table in several files of a kind."""
    bounds = np.linspace(0, frame.height, n_files + 1).astype(int)
    names = []
    for number, (first, last) in enumerate(itertools.pairwise(bounds.tolist())):
        piece, path = frame[first:last], folder / f"ratings-{number}.{kind}"
        writers: dict[str, Any] = {"csv": piece.write_csv, "parquet": piece.write_parquet, "jsonl": piece.write_ndjson}
        writers[kind](path)
        names.append(str(path))
    return names


def same(packed: pv.Ratings, read: pv.Ratings) -> None:
    """Hold a packed study against ratings in memory: every part, every table, and what was noticed."""
    assert packed.in_memory() == read
    assert len(packed.parts()) == len(read.parts())
    for one, other in zip(packed.parts(), read.parts(), strict=True):
        assert one.first == other.first
        for name in ("offsets", "raters", "scores", "multiplicity"):
            mine, theirs = getattr(one, name), getattr(other, name)
            assert mine.dtype == theirs.dtype
            assert np.array_equal(mine, theirs)
    assert np.array_equal(packed.counts(), read.counts())
    assert np.array_equal(packed.per_rater(), read.per_rater())
    for name in ("rows", "missing_scores", "repeated_pairs", "tied_repeats", "scale_inferred", "rater_conflicts"):
        assert getattr(packed.intake, name) == getattr(read.intake, name)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
@pytest.mark.usefixtures("small")
def test_files_of_every_kind_against_memory(kind: str, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"scale": "0:4", "rater_attributes": ["group"], "missing": ["NA"]}
    files = written(frame_of(1), tmp_path, kind)
    packed = pv.pack(files, tmp_path / "study.pvx", **asked)
    folder = tmp_path / "all"
    folder.mkdir()
    for file in files:
        Path(file).rename(folder / Path(file).name)
    same(packed, pv.read_ratings(folder, **asked))
    same(pv.read_ratings(tmp_path / "study.pvx"), packed.in_memory())


@pytest.mark.parametrize("rule", ["first", "last", "mode"])
@given(seed=st.integers(0, 10**6), n=st.integers(1, 120))
@settings(max_examples=15)
def test_repeats_against_memory(rule: str, seed: int, n: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("packed")
    frame = frame_of(seed, n, repeats=True)
    (frame.with_columns(score=pl.lit("2")) if seed % 5 == 0 else frame).write_csv(folder / "a.csv")
    with pytest.MonkeyPatch.context() as patch:
        small.__wrapped__(patch)  # type: ignore[attr-defined]
        asked: dict[str, Any] = {"scale": "0:4", "duplicates": rule, "rater_attributes": ["group"]}
        same(pv.pack(folder / "a.csv", folder / "b.pvx", **asked), pv.read_ratings(folder / "a.csv", **asked))


def refused_alike(folder: Path, **asked: Any) -> type[pv.InputError]:
    """Hold that a table is refused in the same words, and that nothing is left of it."""
    told = []
    reads: tuple[Any, ...] = (pv.pack, folder / "b.pvx"), (pv.read_ratings,)
    for read, *into in reads:
        with pytest.raises(pv.InputError) as refused:
            read(folder / "a.csv", *into, **asked)
        told.append((type(refused.value), str(refused.value)))
    assert told[0] == told[1]
    assert not (folder / "b.pvx").exists()
    return told[0][0]


@pytest.mark.usefixtures("small")
def test_repeats_are_named_as_in_memory(tmp_path: Path) -> None:
    frame_of(2, 100, repeats=True).write_csv(tmp_path / "a.csv")
    assert refused_alike(tmp_path, scale="0:4") is DuplicateError


@pytest.mark.parametrize(("text", "asked"), [
    ("item,rater,score\n1,a,9\n", {"scale": "0:4"}), ("item,rater,score\n1,,2\n", {}),
    ("item,rater,score\n1,a,inf\n", {}),
    ("item,rater,score,g\n1,a,2,x\n2,a,2,y\n", {"rater_attributes": ["g"], "conflicts": "error"}),
    ("item,rater,score,g\n1,a,2,x\n2,a,2,y\n", {"rater_attributes": ["g"]}), ("item,rater,score\n", {}),
    ('item,rater,score\n1," ",2\n', {}),
])  # fmt: skip
def test_bad_files_are_refused_as_in_memory(text: str, asked: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text)
    refused_alike(tmp_path, **asked)


def test_what_is_not_packed_says_so(tmp_path: Path) -> None:
    frame_of(3).write_csv(tmp_path / "a.csv")
    refused: list[tuple[dict[str, Any], str]] = [
        ({"time": "unused"}, "time is not packed"), ({"recode": "0-2=no,3-4=yes"}, "recode is not packed"),
        ({"duplicates": "keep"}, "repeats are not packed"), ({"memory": "1MB"}, "too little"),
        ({"memory": "lots"}, "memory is 'lots'"),
    ]  # fmt: skip
    for asked, word in refused:
        with pytest.raises(pv.InputError, match=word):
            pv.pack(tmp_path / "a.csv", tmp_path / "b.pvx", **asked)
    with pytest.raises(TypeError, match="unexpected keyword argument 'scle'"):
        pv.pack(tmp_path / "a.csv", tmp_path / "b.pvx", scle="0:4")
    (tmp_path / "totals.csv").write_text("item,0,1,2\n1,3,4,5\n")
    with pytest.raises(pv.InputError, match="counts per scale point"):
        pv.pack(tmp_path / "totals.csv", tmp_path / "b.pvx", layout="totals", item="item")
    pv.pack(tmp_path / "a.csv", tmp_path / "c.pvx", scale="0:4", missing=["NA"])
    pv.write_ratings(pv.read_ratings(tmp_path / "c.pvx").in_memory(), tmp_path / "stored.parquet")
    for stored in ("c.pvx", "stored.parquet"):
        with pytest.raises(pv.InputError, match="already packed or stored"):
            pv.pack(tmp_path / stored, tmp_path / "d.pvx")
        assert not (tmp_path / "d.pvx").exists()
    with pytest.raises(pv.InputError, match="already packed or stored"):
        pv.pack(tmp_path / "c.pvx", tmp_path / "c.pvx")
    assert len(pv.read_ratings(tmp_path / "c.pvx")) > 0
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("keep me")
    with pytest.raises(FileError, match="not a packed study"):
        pv.pack(tmp_path / "a.csv", tmp_path / "other")
    assert (tmp_path / "other" / "mine.txt").read_text() == "keep me"


def test_all_at_once_is_refused_with_the_next_step(tmp_path: Path) -> None:
    frame_of(4).write_csv(tmp_path / "a.csv")
    packed = pv.pack(tmp_path / "a.csv", tmp_path / "b.pvx", scale="0:4", rater_attributes=["group"])
    for name in ("item_codes", "rater_codes", "scores", "codes_of_raters"):
        with pytest.raises(NeedsMemoryError, match=r"in memory: .*b\.pvx has .* --in-memory"):
            getattr(packed, name)
    with pytest.raises(NeedsMemoryError):
        packed.recode("0-2=no,3-4=yes")
    assert packed.where(raters={"group": "g1"}) == packed.in_memory().where(raters={"group": "g1"})
    assert packed.with_poles(("safe", "unsafe")).scale.poles == ("safe", "unsafe")


@pytest.mark.usefixtures("small")
def test_damage_is_noticed_and_named(tmp_path: Path) -> None:
    frame_of(5).write_csv(tmp_path / "a.csv")
    pv.pack(tmp_path / "a.csv", tmp_path / "b.pvx", scale="0:4")
    files = sorted(read_manifest(tmp_path / "b.pvx").files - {MANIFEST})
    assert len(files) > 4
    for name in files:
        path = tmp_path / "b.pvx" / name
        content = path.read_bytes()
        for bad in (content[:-1], content[:3] + bytes([content[3] ^ 1]) + content[4:], None):
            packing_forgets()
            path.unlink() if bad is None else path.write_bytes(bad)
            with pytest.raises(FileError, match=name.replace(".", r"\.")):
                list(pv.read_ratings(tmp_path / "b.pvx").parts())
        path.write_bytes(content)
    manifest = tmp_path / "b.pvx" / MANIFEST
    text = manifest.read_text()
    for bad_text in (text[:-9], text.replace('"n_items"', '"n_itemz"'), "{}", "[]"):
        manifest.write_text(bad_text)
        with pytest.raises(FileError, match="manifest"):
            pv.read_ratings(tmp_path / "b.pvx")
    assert set(json.loads(text)["versions"]) == {"plurivox", "numpy", "polars"}


def packing_forgets() -> None:
    """Have files held against their checksums again, as another process would."""
    from plurivox.read.packed import folder

    folder._verified.clear()


def test_a_spill_against_a_list(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pieces = [rng.integers(-3, high, size=size) for high, size in ((5, 4), (300, 1), (70_000, 9), (2**40, 3), (1, 0))]
    spill, whole = Spill(tmp_path), np.concatenate(pieces)
    for piece in pieces:
        spill.append(piece)
    assert len(spill) == len(whole)
    for first, last in itertools.combinations(range(len(whole) + 1), 2):
        assert np.array_equal(spill[first:last], whole[first:last])
    assert not list(tmp_path.iterdir())


FLOATS = st.sampled_from([1.0, 2.0, 2.5, 3e10, 7.0, None])


@given(st.lists(st.lists(FLOATS, max_size=6), min_size=1, max_size=5), st.booleans())
def test_floats_are_coded_alike_however_they_are_cut(pieces: list[list[float | None]], spilled: bool) -> None:
    def coded(cut: list[list[float | None]], coder: Coder) -> tuple[list[Any], list[int]]:
        for piece in cut:
            coder.add(pl.Series(piece, dtype=pl.Float64))
        values, codes = coder.finish()
        return values.to_list(), codes[0 : len(codes)].tolist()

    whole = [[value for piece in pieces for value in piece]]
    keep: Any = Spill if spilled else list
    assert coded(pieces, Coder(text=False, keep=keep)) == coded(whole, Coder(text=False))


# Appending -----------------------------------------------------------------------------------------------------------
def studies() -> st.SearchStrategy[pl.DataFrame]:
    """Draw tables whose ids, scores and attributes are few, so that rows meet."""
    row = st.tuples(
        st.integers(0, 9), st.integers(0, 7), st.sampled_from(["0", "1", "2", "3", ""]), st.sampled_from(["x", "y", ""])
    )
    rows = st.lists(row, min_size=2, max_size=60)
    return rows.map(lambda found: pl.DataFrame(
        [(f"i{item}", f"r{rater}", score, "x" if rater < 6 else group) for item, rater, score, group in found],
        schema=["item", "rater", "score", "group"], orient="row",
    ))  # fmt: skip


@given(
    frame=studies(), cuts=st.lists(st.floats(0.1, 0.9), min_size=1, max_size=3),
    rule=st.sampled_from(["first", "last"]), inferred=st.booleans(),
)  # fmt: skip
@settings(max_examples=60)
@pytest.mark.filterwarnings("ignore::plurivox.base.errors.PlurivoxWarning")
def test_appending_against_packing_all(
    frame: pl.DataFrame, cuts: list[float], rule: str, inferred: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("appended")
    asked: dict[str, Any] = {"duplicates": rule, "rater_attributes": ["group"], "conflicts": "missing"}
    asked |= {} if inferred else {"scale": "0:4"}
    bounds = [0, *sorted({max(1, int(cut * frame.height)) for cut in cuts} - {frame.height}), frame.height]
    for number, (first, last) in enumerate(itertools.pairwise(bounds)):
        frame[first:last].write_csv(folder / f"{number}.csv")
    frame.write_csv(folder / "all.csv")
    with pytest.MonkeyPatch.context() as patch:
        small.__wrapped__(patch)  # type: ignore[attr-defined]
        # A column that hardly describes raters is refused, which depends on all of the rows; so is a scale of nothing.
        patch.setattr("plurivox.domain.attributes.AttributeReader._judge", lambda *given: None)
        pieces = [folder / f"{number}.csv" for number in range(len(bounds) - 1)]
        if not _has_scores(pieces[0], 2 if inferred else 0):
            return
        packed = pv.pack(pieces[0], folder / "b.pvx", **asked)
        for piece in pieces[1:]:
            packed = pv.pack(piece, folder / "b.pvx", append=True)
        read = pv.read_ratings(folder / "all.csv", **asked)
        assert packed.in_memory() == read
        for one, other in zip(packed.parts(), read.parts(), strict=True):
            assert one.first == other.first
            assert np.array_equal(one.offsets, other.offsets)
            assert np.array_equal(one.raters, other.raters)
            assert np.array_equal(one.scores, other.scores)
            assert one.scores.dtype == other.scores.dtype
        assert packed.intake.rows == read.intake.rows
        assert packed.intake.missing_scores == read.intake.missing_scores


def _has_scores(path: Path, n: int) -> bool:
    scores = pl.read_csv(path, infer_schema=False)["score"]
    return scores.filter(scores != "").n_unique() >= n


def test_what_cannot_be_appended(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item,rater,score\n1,a,0\n2,a,3\n")
    pv.pack(tmp_path / "a.csv", tmp_path / "s.pvx", scale="0:4")
    before = pv.read_ratings(tmp_path / "s.pvx").in_memory()
    (tmp_path / "again.csv").write_text("item,rater,score\n3,a,1\n2,a,1\n")
    (tmp_path / "text.csv").write_text("item,rater,score\nx,a,1\n")
    (tmp_path / "off.csv").write_text("item,rater,score\n5,a,9\n")
    for name, asked, word in (
        ("again", {}, r"row 3 \(item 2\): 1 \(item, rater\) pair is already rated in .*s\.pvx"),
        ("text", {}, "item ids of the study are numbers"),
        ("off", {}, "'9' is not a point|9 is not a point"),
        ("again", {"duplicates": "first"}, "duplicates was 'error' when it was packed"),
        ("again", {"scale": "0:9"}, "has the scale"),
    ):
        with pytest.raises(pv.InputError, match=word):
            pv.pack(tmp_path / f"{name}.csv", tmp_path / "s.pvx", append=True, **asked)
        assert pv.read_ratings(tmp_path / "s.pvx").in_memory() == before
    with pytest.raises(FileError, match="not a packed study"):
        pv.pack(tmp_path / "a.csv", tmp_path / "nothing.pvx", append=True)
    assert not (tmp_path / "nothing.pvx").exists()


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_killed_at_any_moment_against_before_and_after(kills: int, tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["plurivox.read.packed.making", "plurivox.read.text"])
    frame_of(6, 90).write_csv(tmp_path / "a.csv")
    more = frame_of(7, 90).with_columns(item=pl.col("item") + "x")  # new items between those that are there
    more.write_csv(tmp_path / "b.csv")
    study, copy = tmp_path / "s.pvx", tmp_path / "copy.pvx"
    before = pv.pack(tmp_path / "a.csv", study, scale="0:4", rater_attributes=["group"]).in_memory()
    shutil.copytree(study, copy)
    after = pv.pack(tmp_path / "b.csv", study, append=True).in_memory()
    rng, seen, longest = random.Random(0), {"before": 0, "after": 0}, 0.2
    for _ in range(kills):
        shutil.rmtree(study)
        shutil.copytree(copy, study)
        ready = context.Event()
        process = context.Process(target=packing_work.add, args=(str(tmp_path / "b.csv"), str(study), ready))
        process.start()
        assert ready.wait(60)
        start = time.perf_counter()
        process.join(rng.uniform(0, longest))
        if process.is_alive():
            process.kill()
            process.join()
        else:
            longest = max(0.02, time.perf_counter() - start)  # so that most are killed while they work
        packing_forgets()
        found = pv.read_ratings(study).in_memory()
        state = "after" if len(found) == len(after) else "before"
        assert found == (after if state == "after" else before)
        seen[state] += 1
        if state == "before":  # what was left behind is in nobody's way
            assert pv.pack(tmp_path / "b.csv", study, append=True).in_memory() == after
            assert {path.name for path in study.iterdir()} == read_manifest(study).files
    assert seen["before"] > 0


@pytest.mark.usefixtures("small")
def test_too_little_memory_says_how_much_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame_of(8, 90).write_csv(tmp_path / "a.csv")
    monkeypatch.setattr(packing, "MOST_BUCKETS", 2)
    with pytest.raises(pv.InputError, match=r"cannot be sorted in this little memory\. Give --memory"):
        pv.pack(tmp_path / "a.csv", tmp_path / "b.pvx", scale="0:4", missing=["NA"])
    assert not (tmp_path / "b.pvx").exists()
