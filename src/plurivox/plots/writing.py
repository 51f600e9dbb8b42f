"""Charts as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from plurivox.errors import InputError

FORMATS = (".svg", ".png", ".html", ".json")


def write_chart(chart: Any, path: str | Path) -> Path:
    """Write a chart as SVG, PNG, self-contained HTML or Vega-Lite JSON, as its name says; all of it or nothing."""
    from plurivox.io.writing import replacing

    target = Path(path)
    kind = target.suffix.lower()
    if kind not in FORMATS:
        raise InputError(f"{target.name} is no picture", hint=f"End its name with one of {', '.join(FORMATS)}.")
    with replacing(target) as temporary:
        if kind == ".html":
            chart.save(str(temporary), format="html", inline=True)
        else:
            form: Any = kind[1:]
            chart.save(str(temporary), format=form, scale_factor=2 if kind == ".png" else 1)
    return target
