"""The demo as a page (audit, plan and trial) or as a picture."""

import os
from pathlib import Path

from lopsided.checkup.digits_demo import DigitsDemo, demo_figure
from lopsided.core.files import write_atomically
from lopsided.report.audit import audit_page
from lopsided.report.drawing import check_plot_path, write_figure


def write_demo(path: str | os.PathLike[str], demo: DigitsDemo) -> Path:
    """The ending chooses the form: .html or .png."""
    target = check_plot_path(path)
    if target.suffix.lower() == ".png":
        return write_figure(target, demo_figure(demo))
    page = audit_page(demo.audit, plan=demo.plan, trial=demo.trial, title="Long-tailed digits")
    return write_atomically(target, page)
