"""A trial as a page (audit, plan and trial), or its figures as a picture."""

import os
from pathlib import Path

from lopsided.checkup.audit import run_checks
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.trial.result import Trial
from lopsided.core.files import write_atomically
from lopsided.report.audit import audit_page
from lopsided.report.drawing import check_plot_path, write_figures


def write_trial(path: str | os.PathLike[str], evidence: Evidence, trial: Trial) -> Path:
    """Write the report of a trial on `evidence`; the ending chooses the form: .html or .png."""
    target = check_plot_path(path)
    title = f"Trial of remedies on {Path(trial.source).name}"
    if target.suffix.lower() == ".png":
        return write_figures(target, title, trial.figures())
    facts = run_checks(evidence, seed=trial.seed)
    return write_atomically(target, audit_page(facts, plan=trial.plan, trial=trial, title=title))
