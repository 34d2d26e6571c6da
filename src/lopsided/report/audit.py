"""`lopsided.audit`: the facts of `checkup.audit`, and one offline page that shows them.

The public function lives here and not in `checkup`, because an audit can draw itself (`to_html`, notebooks) and lower
rooms never import this one. `Audit` adds nothing but rendering to `AuditFacts`; the page computes nothing.
"""

import html
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lopsided.checkup.audit import AuditFacts, StepProgress, run_checks
from lopsided.checkup.checks import all_checks
from lopsided.checkup.checks.finding import Checked, Finding, Level
from lopsided.checkup.inputs.arguments import ColumnLike, ColumnsLike, DataLike, shared_parameters
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.gather import gather
from lopsided.checkup.plan.result import Plan, forecast_words
from lopsided.checkup.trial.result import Trial
from lopsided.core.figure import Figure
from lopsided.core.files import check_target, write_atomically
from lopsided.report.drawing import check_plot_path, write_figure, write_figures
from lopsided.report.page import panel_table, plotly_library, render, script_json
from lopsided.report.plotly import figure_json
from lopsided.report.style import short

if TYPE_CHECKING:
    from lopsided.checkup.digits_demo import DigitsDemo

_COLOURS = {Level.FAILING: "#c62828", Level.AT_RISK: "#9a6700", Level.HEALTHY: "#1a7f37"}
_NOTEBOOK_ROWS = 40
_TABLE_ROWS = 120  # of the numbers behind a plot; the JSON has all


class Audit(AuditFacts):
    """An audit that can show itself."""

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        plan: Plan | None = None,
        trial: Trial | None = None,
        title: str | None = None,
    ) -> str | Path:
        """The page as text, or written to `path`; `plan` and `trial` add their sections."""
        page = audit_page(self, plan=plan, trial=trial, title=title)
        return page if path is None else write_atomically(check_report_path(path), page)

    def __str__(self) -> str:
        alarms = [finding for finding in self.findings if finding.level is not Level.HEALTHY]
        return "\n".join([verdict(self), *(f"{entry.level.value}: {entry.message}" for entry in alarms)])

    def _repr_html_(self) -> str:
        """A table for notebooks: every finding, the worst first."""
        rows = "".join(
            f'<tr><td style="color:{_COLOURS[finding.level]};font-weight:600">{finding.level.value}</td>'
            f'<td style="text-align:left">{html.escape(finding.subject)}</td>'
            f'<td style="text-align:left">{html.escape(finding.message)}</td>'
            f'<td style="text-align:left">{html.escape(finding.remedy)}</td></tr>'
            for finding in self.findings[:_NOTEBOOK_ROWS]
        )
        left = len(self.findings) - _NOTEBOOK_ROWS
        more = f"<p>{left} more findings are in .findings.</p>" if left > 0 else ""
        heads = "".join(
            f'<th scope="col" style="text-align:left">{head}</th>' for head in ("level", "subject", "finding", "remedy")
        )
        return f"<p><b>{html.escape(verdict(self))}</b></p><table><tr>{heads}</tr>{rows}</table>{more}"


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
    checks: Sequence[str] | None = None,
    seed: int = 0,
    progress: StepProgress | None = None,
) -> Audit:
    """Which classes and groups of your data fail or are about to, why, and what mends it.

    Give what you have. What is given decides which checks run, and `skipped` of the result says what the others need.

    Parameters
    ----------
    {inputs}
    checks : list of str, optional
        Run only these checks, by their ids. Without it, all that the data permit.
    progress : callable, optional
        Called with (checks done, checks in all, the question of the next check).

    Returns
    -------
    Audit
        `findings` (the worst first), `skipped` checks with what they need, and `measures`. Its methods `passed`,
        `frame`, `to_dict`, `to_json` and `to_html` show them; `plan` and `trial` go on with the same data.

    Examples
    --------
    >>> import lopsided
    >>> found = lopsided.audit(labels=["cat"] * 900 + ["dog"] * 8)
    >>> found.findings[0].subject, found.passed()
    ('class dog', False)
    """
    evidence = gather(
        data,
        labels=labels,
        groups=groups,
        features=features,
        classifier=classifier,
        bias=bias,
        probabilities=probabilities,
        logits=logits,
        predictions=predictions,
        split=split,
        weight_decay=weight_decay,
        classes=classes,
        seed=seed,
        set_aside=True,
    )
    settings = {"given": sorted(evidence.has), "rows": evidence.rows, "weight_decay": evidence.weight_decay}
    facts = run_checks(evidence, seed=seed, checks=checks, settings=settings, progress=progress)
    return Audit(facts.evidence, facts.findings, facts.skipped, facts.checked, facts.provenance, facts.seconds)


def check_report_path(path: str | os.PathLike[str]) -> Path:
    """A path that ends in .html in a directory that exists; asked before the work, not after."""
    return check_target(path, (".html", ".htm"), "report")


def verdict(facts: AuditFacts) -> str:
    """One sentence: how many findings of each level, and about whom."""
    bad = [finding for finding in facts.findings if finding.level is facts.level]
    counted = [(level, sum(finding.level is level for finding in facts.findings)) for level in reversed(Level)]
    words = ", ".join(f"{count} {level.value}" for level, count in counted if count)
    if facts.level is Level.HEALTHY:
        return f"Nothing is wrong as far as {len(facts.checked)} checks can tell: {words}."
    names = list(dict.fromkeys(finding.subject for finding in bad))
    some = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"{words} in {len(facts.checked)} checks; {facts.level.value}: {some}."


def audit_page(
    facts: AuditFacts, *, plan: Plan | None = None, trial: Trial | None = None, title: str | None = None
) -> str:
    """The whole page; checks bin their drawings or cut them to a hundred parts, so it hardly grows with the rows."""
    drawn: list[dict[str, Any]] = []
    questions = {check.id: check for check in all_checks()}

    def figures(given: Sequence[Figure]) -> list[dict[str, Any]]:
        shown = []
        for figure in given:
            panels = []
            for panel, plot in zip(figure.panels, figure_json(figure), strict=True):
                label = f"{panel.title}: {panel.y_label} against {panel.x_label}"
                panels.append({"place": len(drawn), "label": label})
                drawn.append(plot)
            tables = [panel_table(panel, _TABLE_ROWS) for panel in figure.panels]
            shown.append({"figure": figure, "panels": panels, "tables": tables})
        return shown

    sections = [
        {
            "check": questions[name],
            "level": _worst(result),
            "findings": [_shown(finding) for finding in sorted(result.findings, key=lambda one: -one.level.rank)],
            "figures": figures(result.figures),
            "about": "example" if all(finding.about == "example" for finding in result.findings) else "dataset",
        }
        for name, result in facts.checked.items()
    ]
    tried = None
    if trial is not None:
        heads, rows = trial.table()
        tried = {"facts": trial.facts(), "heads": heads, "rows": rows, "figures": figures(trial.figures())}
    return render(
        "audit.html",
        title=title or f"Audit of {Path(facts.evidence.source).name}",
        verdict=verdict(facts),
        level=facts.level.value,
        tally=[(level.value, sum(one.level is level for one in facts.findings)) for level in reversed(Level)],
        facts=_facts(facts),
        alarms=[_shown(finding) for finding in facts.findings if finding.level is not Level.HEALTHY],
        groups=[
            ("dataset", "What was found in the data", [one for one in sections if one["about"] == "dataset"]),
            ("examples", "What was found in single examples", [one for one in sections if one["about"] == "example"]),
        ],
        plan=None if plan is None else _plan(plan),
        trial=tried,
        skipped=[(questions[entry.check].question, entry.check, entry.why) for entry in facts.skipped],
        provenance=_provenance(facts),
        plots=script_json(drawn),
        library=plotly_library() if drawn else "",
        drawn=bool(drawn),
    )


def write_trial(path: str | os.PathLike[str], evidence: Evidence, trial: Trial) -> Path:
    """Write the report of a trial on `evidence` (audit, plan and trial), or its figures as .png."""
    target = check_plot_path(path)
    title = f"Trial of remedies on {Path(trial.source).name}"
    if target.suffix.lower() == ".png":
        return write_figures(target, title, trial.figures())
    facts = run_checks(evidence, seed=trial.seed)
    return write_atomically(target, audit_page(facts, plan=trial.plan, trial=trial, title=title))


def write_demo(path: str | os.PathLike[str], demo: "DigitsDemo") -> Path:
    """Write the report of the demo, or its figure as .png."""
    from lopsided.checkup.digits_demo import demo_figure

    target = check_plot_path(path)
    if target.suffix.lower() == ".png":
        return write_figure(target, demo_figure(demo))
    page = audit_page(demo.audit, plan=demo.plan, trial=demo.trial, title="Long-tailed digits")
    return write_atomically(target, page)


def _worst(result: Checked) -> str:
    return max((finding.level for finding in result.findings), key=lambda level: level.rank).value


def _shown(finding: Finding) -> dict[str, Any]:
    interval = ""
    if finding.interval is not None and finding.interval[0] != finding.interval[1]:
        interval = f"{short(finding.interval[0], 3)} to {short(finding.interval[1], 3)}"
    return {
        "id": finding.id,
        "level": finding.level.value,
        "subject": finding.subject,
        "message": finding.message,
        "remedy": "" if finding.level is Level.HEALTHY else finding.remedy,
        "ground": finding.ground,
        "value": short(finding.value, 3),
        "interval": interval,
        "examples": ", ".join(map(str, finding.examples)),
        "skill": finding.skill,
    }


def _facts(facts: AuditFacts) -> list[tuple[str, str]]:
    evidence = facts.evidence
    rows = [("data", evidence.source), ("examples", f"{evidence.rows:,}")]
    if evidence.is_test is not None:
        test = int(evidence.is_test.sum())
        rows.append(("split", f"{evidence.rows - test:,} for training, {test:,} for testing"))
    if evidence.classes is not None:
        rows.append(("classes", str(len(evidence.classes.names))))
    if evidence.table is not None:
        rows.append(("features", str(evidence.table.width)))
    if evidence.groups:
        rows.append(("groups", ", ".join(f"{name} ({len(part.names)})" for name, part in evidence.groups.items())))
    rows.append(("given", ", ".join(sorted(evidence.has))))
    return rows + [("note", note) for note in evidence.notes]


def _plan(plan: Plan) -> dict[str, Any]:
    remedies = []
    for remedy in plan.remedies:
        remedies.append(
            {
                "name": remedy.name,
                "why": remedy.why,
                "forecast": forecast_words(remedy.forecast),
                "counts_as": "–" if remedy.counts_as is None else f"{remedy.counts_as:+.4f}",
                "ground": "" if remedy.forecast is None else remedy.forecast.ground,
            }
        )
    return {"title": plan.title(), "remedies": remedies, "notes": plan.remarks()}


def _provenance(facts: AuditFacts) -> list[tuple[str, str]]:
    record = facts.provenance
    machine = record["machine"]
    return [
        ("lopsided", record["version"]),
        ("seed", str(record["seed"])),
        ("time", record["time"]),
        ("seconds", f"{facts.seconds:.1f}"),
        ("packages", ", ".join(f"{name} {version}" for name, version in record["packages"].items())),
        (
            "machine",
            f"{machine['system']} {machine['architecture']}, Python {machine['python']}, {machine['cores']} cores",
        ),
    ]
