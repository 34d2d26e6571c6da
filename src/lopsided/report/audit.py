"""`lopsided.audit`: the facts of `checkup.audit`, and one offline page that shows them.

The public function is defined here and not in `checkup`, because an audit can draw itself (`to_html`, notebooks).
`Audit` adds nothing but rendering to `AuditFacts`; the page computes nothing.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lopsided.checkup.audit import AuditFacts, StepProgress, run_checks
from lopsided.checkup.checks.finding import Level
from lopsided.checkup.inputs.arguments import ColumnLike, ColumnsLike, DataLike, of_known_data, shared_parameters
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.gather import gather
from lopsided.checkup.plan.result import Plan
from lopsided.checkup.streamed.audit import LEAST_SAMPLE, SAMPLE_ROWS, Given, audit_parts
from lopsided.checkup.trial.result import Trial
from lopsided.core.files import write_atomically
from lopsided.core.notebook import notebook_view
from lopsided.core.parameters import taken_by
from lopsided.core.validation import check_count
from lopsided.data.frames import UNNAMED
from lopsided.data.parts import is_in_parts, open_parts
from lopsided.engine.cluster import Cluster, mapping_on
from lopsided.report.checkup_page import checkup_page
from lopsided.report.drawing import check_plot_path, check_report_path, write_figure, write_figures
from lopsided.report.results import ShownPlan, ShownTrial
from lopsided.report.results import plan as make_plan
from lopsided.report.results import trial as run_trial

if TYPE_CHECKING:
    from lopsided.checkup.digits_demo import DigitsDemo


class Audit(AuditFacts):
    """The findings of `lopsided.audit`, with methods that show, plan and try.

    Attributes
    ----------
    evidence : Evidence
        The data that was audited.
    findings : list of Finding
        What was found, the worst first.
    skipped : list of Skipped
        Checks that did not run, and why.
    checked : dict of Checked
        Findings, measures and figures by check.
    provenance : dict
        Versions and settings that the audit was made with.
    seconds : float
        Time that the audit took.
    named : bool
        Whether the checks were chosen by name.
    counted : Evidence, optional
        Counts of all examples, if `evidence` is a sample of them.
    """

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        plan: Plan | None = None,
        trial: Trial | None = None,
        title: str | None = None,
    ) -> str | Path:
        """The page as text, or written to `path`; `plan` and `trial` add their sections."""
        page = checkup_page(self, plan=plan, trial=trial, title=title)
        return page if path is None else write_atomically(check_report_path(path), page)

    @of_known_data(make_plan)
    def plan(self, **settings: Any) -> ShownPlan:
        """`lopsided.plan` of the audited data; the seed is the audit's unless another is given."""
        return make_plan(self.evidence, **self._seeded(settings))

    @of_known_data(run_trial)
    def trial(self, plan: Plan | None = None, **settings: Any) -> ShownTrial:
        """`lopsided.trial` on the audited data; the seed is the audit's unless another is given."""
        return run_trial(self.evidence, plan, **self._seeded(settings))

    def _seeded(self, settings: dict[str, Any]) -> dict[str, Any]:
        return {**settings, "seed": self.evidence.seed} if settings.get("seed") is None else settings

    def __str__(self) -> str:
        alarms = [finding for finding in self.findings if finding.level is not Level.HEALTHY]
        return "\n".join([*self.opening(), *(f"{entry.level.value}: {entry.message}" for entry in alarms)])

    def _repr_html_(self) -> str:
        """A table for notebooks: every finding, the worst first."""
        rows = [[found.level.value, found.subject, found.message, found.remedy] for found in self.findings]
        return notebook_view(self.headline(), (["level", "subject", "finding", "remedy"], rows))


@shared_parameters
def audit(
    data: "DataLike | None" = None,
    *,
    labels: "ColumnLike | None" = None,
    groups: "ColumnsLike | None" = None,
    features: "ColumnLike | None" = None,
    classifier: Any = None,
    bias: "ColumnLike | None" = None,
    probabilities: "ColumnLike | None" = None,
    logits: "ColumnLike | None" = None,
    predictions: "ColumnLike | None" = None,
    split: "ColumnLike | None" = None,
    weight_decay: float | str | None = None,
    classes: Sequence[Any] | None = None,
    many_classes: bool = False,
    name: str | None = None,
    checks: Sequence[str] | None = None,
    sample_rows: int = SAMPLE_ROWS,
    cluster: "str | Cluster | None" = None,
    seed: int = 0,
    progress: StepProgress | None = None,
) -> Audit:
    """Find the classes and groups of your data that fail or are about to, why, and what to do about it.

    Runs every check that the given data allow; `skipped` of the result lists the others with what they need.

    Parameters
    ----------
    {inputs}
    checks : list of str, optional
        Run only these checks, by their ids. By default, all that the data allow.
    sample_rows : int, default 200000
        How many rows to sample from data that are read in passes: a folder of parquet files, an Arrow data set or a
        parquet file larger than 1 GB. Checks that need more than counts and sums use this sample.
    cluster : str or Cluster, optional
        Address of a Dask scheduler whose workers read such data. They must see the same files.
    progress : callable, optional
        Called with (checks done, checks in all, the question of the next check).

    Returns
    -------
    Audit
        `findings` (the worst first), `skipped` checks with what they need, and `measures`. Its methods `passed`,
        `frame`, `to_dict`, `to_json` and `to_html` show them; `plan` and `trial` continue with the same data.

    Examples
    --------
    >>> import lopsided
    >>> found = lopsided.audit(labels=["cat"] * 900 + ["dog"] * 8)
    >>> found.findings[0].subject, found.passed()
    ('class dog', False)
    """
    given = locals()
    check_count(sample_rows, "the rows of the sample", at_least=LEAST_SAMPLE)
    if cluster is not None or is_in_parts(data):
        return Audit(**vars(_in_parts(given)))
    evidence = gather(**taken_by(gather, given))
    settings = {"given": sorted(evidence.has), "rows": evidence.rows, "weight_decay": evidence.weight_decay}
    facts = run_checks(evidence, seed=seed, checks=checks, settings=settings, progress=progress)
    return Audit(**vars(facts))


def _in_parts(given: Mapping[str, Any]) -> AuditFacts:
    """The audit of data that is read in passes."""
    about = Given(**taken_by(Given, given))
    settings = {name: given[name] for name in ("sample_rows", "checks", "progress")}
    parts = open_parts(given["data"])
    if given["cluster"] is None:
        return audit_parts(parts, about, **settings)
    with mapping_on(given["cluster"]) as mapper:
        return audit_parts(parts, about, mapper=mapper, **settings)


def write_trial(path: str | os.PathLike[str], evidence: Evidence, trial: Trial) -> Path:
    """Write the report of a trial on `evidence` (trial, plan and audit), or its figures as .png."""
    target = check_plot_path(path)
    title = "Trial of remedies" + ("" if trial.source == UNNAMED else f" on {Path(trial.source).name}")
    if target.suffix.lower() == ".png":
        return write_figures(target, title, trial.figures())
    facts = run_checks(evidence, seed=trial.seed)
    return write_atomically(target, checkup_page(facts, plan=trial.plan, trial=trial, title=title))


def write_demo(path: str | os.PathLike[str], demo: "DigitsDemo") -> Path:
    """Write the report of the demo, or its figure as .png."""
    from lopsided.checkup.digits_demo import demo_figure

    target = check_plot_path(path)
    if target.suffix.lower() == ".png":
        return write_figure(target, demo_figure(demo))
    page = checkup_page(
        demo.audit,
        plan=demo.plan,
        trial=demo.trial,
        title="Long-tailed digits",
        held_out=(demo_figure(demo), demo.held_out_table()),
    )
    return write_atomically(target, page)
