"""How the gallery finds the charts that its scripts draw."""

from __future__ import annotations

from typing import Any

from sphinx_gallery.scrapers import figure_rst

_WIDTH = 1_200
"""Pixels of a picture; twice what a page shows, for fine screens."""


def scraper(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save what a script calls ``chart``, once, and return the lines that show it."""
    from plurivox.plots import write_chart

    chart = block_vars["example_globals"].pop("chart", None)
    if chart is None:
        return ""
    path = next(block_vars["image_path_iterator"])
    write_chart(chart, path)
    return str(figure_rst([path], gallery_conf["src_dir"]))
