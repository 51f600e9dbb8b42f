"""How the site is built: ``make docs``. Nothing is fetched, and every warning is an error."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE.parent)]

import plurivox  # noqa: E402

project = "plurivox"
author = "the plurivox authors"
release = version = plurivox.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "docs.building.pages",
    "docs.building.run",
]
exclude_patterns = ["_build", "gallery", "building"]

myst_enable_extensions = ["attrs_block", "colon_fence", "deflist"]
myst_heading_anchors = 4

autodoc_typehints = "description"  # beside each parameter; signatures of analyses are long enough
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autosummary_generate = False  # docs.building.pages writes the page of each name
napoleon_google_docstring = False
napoleon_use_rtype = False
python_use_unqualified_type_names = True

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "pictures",
    "filename_pattern": r"\.py$",
    "image_scrapers": ("docs.building.pictures.scraper",),
    "reset_modules": (),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "plurivox"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
html_sidebars = {"index": [], "tutorial": [], "choosing": []}
html_theme_options = {
    "logo": {"text": "plurivox"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
}
