"""One self-contained HTML file that shows what a rating study says. Needs ``pip install 'plurivox[report]'``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plurivox.report.build import Report, make_report, write_report

__all__ = ["Report", "make_report", "write_report"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'plurivox.report' has no attribute '{name}'")
    from plurivox.report import build

    return getattr(build, name)
