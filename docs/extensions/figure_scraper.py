"""A tutorial that ends a block with a `Figure` shows it, drawn as the command line would draw it; and their order."""

from pathlib import Path
from typing import Any

from lopsided.core.figure import Figure
from lopsided.report.png import figure_png

# From the first question that people ask to the last; a new tutorial goes to the end until it is placed here.
ORDER = ("will_my_tail", "which_remedy", "should_i_collect", "which_examples", "is_my_network")


class TutorialOrder:
    """The key by which sphinx-gallery sorts."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> int:
        """The place of a file."""
        return next((place for place, start in enumerate(ORDER) if name.startswith(start)), len(ORDER))


def scrape_figures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Draw the value of the block's last expression if it is a figure; returns its reStructuredText."""
    from sphinx_gallery.scrapers import figure_rst

    namespace = block_vars["example_globals"]
    value = namespace.get("___")  # sphinx-gallery's name for it, which stays when a later block has none
    if not isinstance(value, Figure) or value is namespace.get("_drawn"):
        return ""
    namespace["_drawn"] = value
    path = next(block_vars["image_path_iterator"])
    Path(path).write_bytes(figure_png(value))
    text: str = figure_rst([path], gallery_conf["src_dir"], value.title)
    return text
