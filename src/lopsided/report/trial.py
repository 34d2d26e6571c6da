"""A trial as one file: facts, arms, figures (.html), or the figures alone (.png)."""

import os
from pathlib import Path

from lopsided.checkup.trial_result import Trial
from lopsided.report.drawing import write_figures


def trial_facts(trial: Trial) -> list[tuple[str, str]]:
    """Facts and, arm by arm, gain, forecast and outcome in words."""
    heads, rows = trial.table()
    arms = [
        (row[0], "; ".join(f"{head} {cell}" for head, cell in zip(heads[1:], row[1:], strict=True) if cell != "–"))
        for row in rows
    ]
    return [*trial.facts(), *arms]


def write_trial(path: str | os.PathLike[str], trial: Trial) -> Path:
    """Write the report of a trial; the ending chooses the form."""
    title = f"Trial of remedies on {trial.source}"
    return write_figures(path, title, trial.figures(), facts=trial_facts(trial))
