"""Uploaded files: what each of them may be, and adding them to the study, whole or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from starlette.datastructures import UploadFile

from plurivox.base.errors import InputError
from plurivox.domain.raw import plain
from plurivox.workbench.records import PLACES, SEVERAL, StudyRecord, free_place, role_in
from plurivox.workbench.store import Upload

MOST_FILES = len(PLACES)
_PIECE = 1 << 20
GUESSED = {
    "raters": ("raters", "annotators", "workers", "participants", "demographics"),
    "items": ("items", "texts", "prompts"),
    "population": ("population", "census", "shares"),
    "reference": ("trained", "reference", "experts", "gold"),
    "predictions": ("predictions", "predicted"),
    "answers": ("answers",),
}
"""Beginnings of file names, and the roles they suggest."""


def role_of(name: str) -> str:
    """Return what a file is by its name; ratings unless it says otherwise.

    Examples
    --------
    >>> role_of("raters.csv"), role_of("My study.xlsx"), role_of("experts_2024.csv")
    ('raters', 'ratings', 'reference')
    """
    words = plain(name.replace("\\", "/").rsplit("/", 1)[-1].split(".", 1)[0])
    return next((role for role, known in GUESSED.items() if words.startswith(known)), "ratings")


def chosen(files: Sequence[Any]) -> list[UploadFile]:
    """Return the files that a form sends, or raise if there is none."""
    given = [one for one in files if isinstance(one, UploadFile) and one.filename]
    if not given:
        raise InputError("no file was chosen", hint="Choose one, or drop it on the page.")
    return given


def places_of(study: StudyRecord, role: str, files: Sequence[Any]) -> dict[str, UploadFile]:
    """Return the places of files with a given role: that of the previous one, or of the one with the same name.

    Raises
    ------
    InputError
        If there are none, or more than a study allows.
    """
    found: dict[str, UploadFile] = {}
    for one in chosen(files):
        known = {file.shown: place for place, file in study.files.items() if role_in(place) == role}
        name = str(one.filename).replace("\\", "/").rsplit("/", 1)[-1]
        place = known.get(name) if role in SEVERAL else role
        place = place or free_place(role, (*study.files, *found))
        if place is None or place in found:
            raise InputError(f"there are too many files of {role}", hint="Choose fewer of them.")
        found[place] = one
    return found


def roles_of(files: Sequence[Any]) -> dict[str, UploadFile]:
    """Return files that were uploaded together by their roles.

    Raises
    ------
    InputError
        If there are none, none with ratings, or two with the same role.
    """
    given = chosen(files)
    found: dict[str, UploadFile] = {}
    for one in given:
        role = "ratings" if len(given) == 1 else role_of(str(one.filename))
        place = free_place(role, found)
        if place is None:
            raise InputError(
                f"{found[role].filename} and {one.filename} both look like {role}",
                hint="Add one of them first, and the others with their roles on the page of the study.",
            )
        found[place] = one
    if "ratings" not in found:
        raise InputError("none of the files looks like ratings", hint="Add the file of ratings first, by itself.")
    return found


async def take(place: AbstractContextManager[Upload], file: UploadFile) -> None:
    """Put a file in its place."""

    def copy() -> None:
        with place as upload:
            while piece := file.file.read(_PIECE):
                upload.write(piece)

    await asyncio.to_thread(copy)
