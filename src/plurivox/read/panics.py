"""Suppress what polars prints, bypassing Python, about damaged data before it raises."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator

import polars as pl


@contextlib.contextmanager
def without_panics() -> Iterator[None]:
    """Keep off the screen what polars prints about damaged data, since it also raises it.

    Anything else written to standard error meanwhile comes out at the end.
    """
    with tempfile.TemporaryFile() as kept:
        screen, panic = os.dup(2), False
        os.dup2(kept.fileno(), 2)
        try:
            yield
        except pl.exceptions.PanicException:
            panic = True
            raise
        finally:
            os.dup2(screen, 2)
            kept.seek(0)
            if not panic and (text := kept.read()):
                os.write(screen, text)
            os.close(screen)
