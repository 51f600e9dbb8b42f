"""Files as they come, against what was written into them by hand."""

from __future__ import annotations

import contextlib
import random
import warnings
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plurivox as pv
from exports import cases
from exports.record import Case
from plurivox.base.errors import InputError, PlurivoxError, PlurivoxWarning
from plurivox.read.formats import PLATFORMS
from plurivox.read.settings import FORMATS
from support import ran

CASES = cases()
GOOD = [case for case in CASES if case.kind != "broken"]
BROKEN = [case for case in CASES if case.kind == "broken"]


def told(ratings: pv.Ratings) -> tuple[tuple[str, ...], ...]:
    return tuple(
        sorted(tuple(map(str, row)) for row in ratings.to_frame().select("item", "rater", "score").iter_rows())
    )


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.id)
def test_what_was_written_is_read_without_being_told(case: Case, tmp_path: Path) -> None:
    ratings = pv.read_ratings(case.write(tmp_path), **case.arguments(tmp_path))
    assert (told(ratings), ratings.intake.left_out) == (tuple(sorted(case.ratings)), dict(case.left_out))
    for piece in case.remarks:
        assert any(piece in remark for remark in ratings.intake.remarks), ratings.intake.remarks
    if case.format in [one.name for one in PLATFORMS] and not case.beside:
        assert ratings.intake.platform == case.format
    for frame, expected in ((ratings.raters, case.raters), (ratings.items, case.items)):
        known = {str(row[0]): dict(zip(frame.columns, row, strict=True)) for row in frame.iter_rows()}
        for name, attributes in expected.items():
            assert {key: known[name][key] for key in attributes} == attributes


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.id)
def test_a_broken_file_is_one_clear_line(case: Case, tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        pv.read_ratings(case.write(tmp_path), **case.arguments(tmp_path))
    message = str(raised.value)
    assert "\n" not in message
    assert raised.value.hint, message
    for piece in case.error:
        assert piece in message


@pytest.mark.parametrize(
    "case", [case for case in GOOD if not case.given and not case.beside], ids=lambda case: case.id
)
def test_the_program_says_what_it_took_the_file_for(case: Case, tmp_path: Path) -> None:
    done = ran("describe", case.write(tmp_path))
    for title in (one.title for one in PLATFORMS if one.name == case.format):
        assert f"{title} (change with --format)" in done.words
    for what, n in case.left_out.items():
        assert f"{what} ({n:,})" in done.words


def test_every_format_has_a_plain_an_awkward_and_a_broken_file() -> None:
    known = Counter((case.format, case.kind) for case in CASES)
    for platform in PLATFORMS:
        for kind in ("plain", "awkward", "broken"):
            assert known[platform.name, kind], f"{platform.name} has no {kind} file"
    assert {platform.name for platform in PLATFORMS} <= set(FORMATS)


@settings(max_examples=150)
@given(st.sampled_from(GOOD), st.integers(0, 2**32 - 1))
def test_damage_gives_ratings_or_one_clear_line(case: Case, seed: int) -> None:
    """Cut, doubled, swapped or changed bytes never end in anything but ratings or an error of ours."""
    import tempfile

    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = case.write(Path(folder))
        files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
        file = draw.choice(files)
        file.write_bytes(damaged(file.read_bytes(), draw))
        with warnings.catch_warnings(), contextlib.suppress(PlurivoxError):
            warnings.simplefilter("ignore", PlurivoxWarning)
            pv.read_ratings(path, **case.arguments(Path(folder)))


def damaged(data: bytes, draw: random.Random) -> bytes:
    """Return bytes with a piece cut out, doubled, moved or replaced."""
    start = draw.randrange(len(data) + 1)
    end = min(len(data), start + draw.choice((1, 2, 5, 20, 200)))
    piece = data[start:end]
    odd = draw.choice((b'"', b"{", b"]", b",", b"\n", b"\x00", b"\xff", b"null", b"[]", b"1e999", b"-", b"\\ud800"))
    return draw.choice((data[:start] + data[end:], data[:end] + piece + data[end:], data[:start] + odd + data[end:]))
