"""`lopsided.plan` and `lopsided.trial`: the functions of `checkup`, whose results can show themselves here.

As with `Audit`, the public functions live in the first room that may draw. `ShownPlan` and `ShownTrial` add nothing
but rendering.
"""

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from lopsided.checkup.plan.plan import plan as make_plan
from lopsided.checkup.plan.result import Plan, forecast_words
from lopsided.checkup.trial.result import Trial
from lopsided.checkup.trial.trial import trial as run_trial
from lopsided.core.files import write_atomically
from lopsided.core.notebook import notebook_view
from lopsided.report.checkup_page import checkup_page
from lopsided.report.drawing import check_report_path

P = ParamSpec("P")
Made = TypeVar("Made")
Shown = TypeVar("Shown")


class ShownPlan(Plan):
    """A plan that can show itself."""

    @classmethod
    def of(cls, plan: Plan) -> "ShownPlan":
        """The same plan."""
        return cls(**vars(plan))

    def to_html(self, path: str | os.PathLike[str] | None = None, *, title: str | None = None) -> str | Path:
        """The page as text, or written to `path`."""
        page = checkup_page(plan=self, title=title)
        return page if path is None else write_atomically(check_report_path(path), page)

    def _repr_html_(self) -> str:
        """A table for notebooks: every remedy, the most promising first."""
        rows = [[remedy.name, forecast_words(remedy.forecast), remedy.why] for remedy in self.remedies]
        return notebook_view(f"{self.title()}, most promising first", (["remedy", "forecast gain", "why"], rows))


class ShownTrial(Trial):
    """A trial that can show itself."""

    @classmethod
    def of(cls, trial: Trial) -> "ShownTrial":
        """The same trial."""
        return cls(**{**vars(trial), "plan": ShownPlan.of(trial.plan)})

    def to_html(self, path: str | os.PathLike[str] | None = None, *, title: str | None = None) -> str | Path:
        """The page as text, or written to `path`."""
        page = checkup_page(plan=self.plan, trial=self, title=title)
        return page if path is None else write_atomically(check_report_path(path), page)

    def _repr_html_(self) -> str:
        """Tables for notebooks: the recommendation, the arms, and what collecting would bring."""
        return notebook_view(self.headline(), self.table(), self.collection_table())


def _shown(make: Callable[P, Made], show: Callable[[Made], Shown]) -> Callable[P, Shown]:
    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> Shown:
        return show(make(*args, **kwargs))

    return made


plan, trial = _shown(make_plan, ShownPlan.of), _shown(run_trial, ShownTrial.of)
