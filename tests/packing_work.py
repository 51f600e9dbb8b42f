"""What a process does that is going to be killed; it imports nothing but this."""

from typing import Any

import plurivox as pv


def add(source: str, folder: str, ready: Any) -> None:
    """Append to a packed study, and say when that begins."""
    ready.set()
    pv.pack(source, folder, append=True)
