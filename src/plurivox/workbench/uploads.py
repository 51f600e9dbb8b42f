"""Files that come in: what each of them may be, and into the study with them, whole or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from starlette.datastructures import UploadFile

from plurivox.errors import InputError
from plurivox.intake.roles import plain
from plurivox.workbench.records import ROLES
from plurivox.workbench.store import Store

MOST_FILES = len(ROLES)
_PIECE = 1 << 20
GUESSED = {
    "raters": ("raters", "annotators", "workers", "participants", "demographics"),
    "items": ("items", "texts", "prompts"),
    "reference": ("trained", "reference", "experts", "gold"),
    "predictions": ("predictions", "predicted"),
    "answers": ("answers",),
}
"""By how their names begin, files that stand beside ratings."""


def role_of(name: str) -> str:
    """Return what a file is by its name; ratings unless it says otherwise.

    Examples
    --------
    >>> role_of("raters.csv"), role_of("My study.xlsx"), role_of("experts_2024.csv")
    ('raters', 'ratings', 'reference')
    """
    words = plain(name.replace("\\", "/").rsplit("/", 1)[-1].split(".", 1)[0])
    return next((role for role, known in GUESSED.items() if words.startswith(known)), "ratings")


def roles_of(files: Sequence[Any]) -> dict[str, UploadFile]:
    """Return files that come together by what they are.

    Raises
    ------
    InputError
        If there is none, none that holds ratings, or two that say to be the same.
    """
    given = [one for one in files if isinstance(one, UploadFile) and one.filename]
    if not given:
        raise InputError("no file was chosen", hint="Choose one, or drop it on the page.")
    found: dict[str, UploadFile] = {}
    for one in given:
        role = "ratings" if len(given) == 1 else role_of(str(one.filename))
        if role in found:
            raise InputError(
                f"{found[role].filename} and {one.filename} both look like {role}",
                hint="Add one of them first; the others, and what they are, on the page of the study.",
            )
        found[role] = one
    if "ratings" not in found:
        raise InputError("none of the files looks like ratings", hint="Add the file of ratings first, by itself.")
    return found


async def take(store: Store, study: str, role: str, file: UploadFile) -> None:
    """Put a file into a study."""

    def copy() -> None:
        with store.adding(study, role, str(file.filename)) as upload:
            while piece := file.file.read(_PIECE):
                upload.write(piece)

    await asyncio.to_thread(copy)
