"""The picture of the AdamW example: the run itself, trained again by the build. Some seconds of one core."""

import importlib.util
import runpy
from pathlib import Path

from sphinx.application import Sphinx


def _draw(app: Sphinx) -> None:
    """Beside the page, in the copy of the sources; without PyTorch the committed picture stays."""
    if importlib.util.find_spec("torch") is None or app.config.lopsided_gallery == "stored":
        return
    source = Path(app.srcdir)
    example = runpy.run_path(str(source / "examples/monitor_adamw.py"))
    monitor, _, before, after = example["run"]()
    example["draw"](source / "images/monitor_adamw.png", monitor, before, after)


def setup(app: Sphinx) -> dict[str, bool]:
    """Draw before Sphinx looks for it."""
    app.connect("builder-inited", _draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
