"""Charts that are made, but not drawn, for tests that look at everything else in reports: drawing takes longest."""

from __future__ import annotations

import contextlib
import html
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from plurivox.base.files import write_bytes
from plurivox.plots import writing
from plurivox.report import build
from plurivox.report.render import MARK

PDF = b"%PDF-1.4\n" + MARK


class _Nobody:
    @staticmethod
    def vegalite_to_svg(spec: dict[str, Any], **how: Any) -> str:
        """Return a picture in which everything that a chart was given stands as text: it can still be looked for."""
        given = {name: part for name, part in spec.items() if name not in ("$schema", "config")}
        text = html.escape(json.dumps(given, sort_keys=True, ensure_ascii=False))
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><desc>{text}</desc></svg>'


def _pdf(path: str | os.PathLike[str], page: str, inputs: Any = ()) -> Path:
    return write_bytes(path, PDF, inputs)


@contextlib.contextmanager
def undrawn() -> Iterator[None]:
    """Let charts be their data instead of pictures, and let no browser print."""
    nobody: dict[str, Any] = {"MOST": 0, "load_vl_convert": lambda: _Nobody}
    with mock.patch.multiple(writing, **nobody), mock.patch.object(build, "write_pdf", _pdf):
        yield
