"""Sphinx settings. `lopsided docs` copies this folder aside, so that generated pages never stand among the sources."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

import lopsided

project = "lopsided"
author = "the lopsided authors"
copyright = "2026, the lopsided authors. BSD-3-Clause"  # Sphinx names it so
version = release = lopsided.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "plain_docstrings",
    "command_pages",
    "name_pages",
    "claim_pages",
    "bench_page",
    "skill_pages",
    "skill_goals",
    "faults_page",
    "screens_page",
    "monitor_picture",
]
exclude_patterns = ["extensions", "_cache", "measured", "tutorials", "images", "CHANGELOG.md", "CONTRIBUTING.md"]
exclude_patterns += ["SECURITY.md", "faults-table.md", "skill-goals.md", "skill-recall.md", "skill-lost.md"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
smartquotes = False  # options such as --json keep their dashes
suppress_warnings = ["ref.python"]  # Plan and Recipe name a class in several rooms; pages link to one of them

html_theme = "furo"
html_title = "lopsided"
html_static_path = ["_static"]
html_css_files = ["lopsided.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0060a0", "color-brand-content": "#0060a0"},
    "dark_css_variables": {"color-brand-primary": "#6cb6ff", "color-brand-content": "#6cb6ff"},
}

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": False}
# Optional packages that a reader's machine need not have to build the pages.
autodoc_mock_imports = [name for name in os.environ.get("LOPSIDED_DOCS_MOCK", "").split(",") if name]

sphinx_gallery_conf = {
    "examples_dirs": "tutorials",
    "gallery_dirs": "learn",
    "filename_pattern": r"/[a-z_]+\.py$",
    "image_scrapers": ("figure_scraper.scrape_figures",),
    "reset_modules": (),
    "capture_repr": (),
    "show_memory": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "within_subsection_order": "figure_scraper.TutorialOrder",
    "download_all_examples": False,
    "write_computation_times": False,
    "min_reported_time": 10**6,
    "backreferences_dir": None,
}
