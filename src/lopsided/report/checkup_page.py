"""The offline page of a checkup: any of trial, plan and audit of one data set.

A page with a trial opens with its recommendation and ends with the code that trains it; one without opens with the
audit's verdict, the data and the three findings that matter. Healthy checks and rules are folded away. The page
computes nothing: it shows facts from `checkup`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lopsided.checkup.audit import AuditFacts
from lopsided.checkup.checks import all_checks
from lopsided.checkup.checks.finding import Finding, Level
from lopsided.checkup.plan.result import Plan, forecast_words
from lopsided.checkup.trial.result import Trial
from lopsided.core.figure import Figure
from lopsided.core.partition import Partition
from lopsided.core.provenance import provenance
from lopsided.data.frames import UNNAMED
from lopsided.data.labelled_set import LabelledSet
from lopsided.report.page import is_small, panel_table, plotly_library, render, script_json
from lopsided.report.plotly import figure_json
from lopsided.report.style import short

_TABLE_ROWS = 120  # of the numbers behind a plot; the JSON has all
_CARDS = 3  # findings that are shown at once
_MOST_BARS = 12  # classes drawn; the others are one bar


def checkup_page(
    facts: AuditFacts | None = None,
    *,
    plan: Plan | None = None,
    trial: Trial | None = None,
    title: str | None = None,
    held_out: tuple[Figure, tuple[list[str], list[list[str]]]] | None = None,
) -> str:
    """The whole page; checks bin their drawings or cut them to a hundred parts, so it hardly grows with the rows.

    `held_out`: a figure and a table of results on data that the trial never saw, shown before its own.
    """
    drawn: list[dict[str, Any]] = []

    def figures(given: Sequence[Figure]) -> list[dict[str, Any]]:
        shown = []
        for figure in given:
            panels = []
            for panel, plot in zip(figure.panels, figure_json(figure), strict=True):
                label = f"{panel.title}: {panel.y_label} against {panel.x_label}"
                panels.append({"place": len(drawn), "label": label, "small": is_small(panel)})
                drawn.append(plot)
            tables = [panel_table(panel, _TABLE_ROWS) for panel in figure.panels]
            shown.append({"figure": figure, "panels": panels, "tables": tables})
        return shown

    tried = None
    if trial is not None:
        drawings, told = (
            trial.figures(),
            [
                ("Arms", "Remedies for the present data", trial.table()),
                ("Collection", "What more examples would bring, simulated", trial.collection_table()),
            ],
        )
        if held_out is not None:
            drawings[0] = held_out[0]  # the gains are in this figure too
            told.insert(0, ("Held-out data", "Results on held-out data that the trial never saw", held_out[1]))
        tables = [(name, caption, *table) for name, caption, table in told if table[1]]
        tried = {"facts": trial.facts(), "tables": tables, "figures": figures(drawings), "code": trial.code()}
    about, training = _about(facts, plan, trial)
    data = _of_evidence(facts) if facts is not None else _of_training(about, training)
    judged = trial if trial is not None else facts
    opening = judged.headline() if judged is not None else "" if plan is None else plan.title()
    kind = "Audit" if facts is not None else "Trial of remedies" if trial is not None else "Plan"
    return render(
        "checkup.html",
        title=title or (kind if about == UNNAMED else f"{kind} {'on' if facts is None else 'of'} {Path(about).name}"),
        opening=opening,
        level="" if facts is None or trial is not None else facts.level.value,
        data=data,
        audit=None if facts is None else _audit(facts, "" if trial is None else facts.headline(), figures),
        plan=None if plan is None else _plan(plan),
        trial=tried,
        provenance=_provenance(facts, trial),
        plots=script_json(drawn),
        library=plotly_library() if drawn else "",
        drawn=bool(drawn),
    )


def _about(facts: AuditFacts | None, plan: Plan | None, trial: Trial | None) -> tuple[str, LabelledSet | None]:
    """The name of the data and, from plan or trial, the training rows."""
    training = None if trial is None else trial.training
    if training is None and plan is not None:
        training = next((remedy.training for remedy in plan.remedies if remedy.training is not None), None)
    named = facts.evidence.source if facts is not None else "" if training is None else training.source
    return named or (trial.source if trial is not None else "data"), training


def _of_evidence(facts: AuditFacts) -> dict[str, Any]:
    evidence = facts.counted if facts.counted is not None else facts.evidence
    rows = [("data", evidence.source), ("examples", f"{evidence.examples:,}")]
    if evidence.is_test is not None:
        test = evidence.total(evidence.is_test)
        rows.append(("split", f"{evidence.examples - test:,} for training, {test:,} for testing"))
    rows.append(("columns", facts.evidence.columns.sentence()))
    rows += _sizes([] if evidence.classes is None else [evidence.classes], list(evidence.groups.values()))
    rows.append(("given", ", ".join(facts.given)))
    rows += [("note", note) for note in facts.evidence.notes]
    classes = evidence.classes
    if classes is not None and evidence.is_test is not None and not evidence.is_test.all():
        classes = classes.at(~evidence.is_test)
    return {"facts": rows, "bars": [] if classes is None else _bars(classes)}


def _of_training(source: str, training: LabelledSet | None) -> dict[str, Any]:
    if training is None:
        return {"facts": [("data", source)], "bars": []}
    rows = [("data", source), ("examples", f"{training.size:,}"), ("columns", training.columns.sentence())]
    rows += _sizes([training.classes], [] if training.groups is None else [training.groups])
    return {"facts": rows, "bars": _bars(training.classes)}


def _sizes(classes: Sequence[Partition], groups: Sequence[Partition]) -> list[tuple[str, str]]:
    rows = [("classes", f"{len(part.names):,}") for part in classes]
    if groups:
        rows.append(("groups", ", ".join(f"{part.name} ({len(part.names):,})" for part in groups)))
    return rows


def _bars(classes: Partition) -> list[tuple[str, str, float]]:
    """Name, number and length in percent of every class, the largest first; beyond `_MOST_BARS`, the rest in one."""
    sizes = sorted(zip(classes.names, classes.counts.tolist(), strict=True), key=lambda part: -part[1])
    shown, rest = (sizes, []) if len(sizes) <= _MOST_BARS else (sizes[: _MOST_BARS - 1], sizes[_MOST_BARS - 1 :])
    most = max(sizes[0][1], 1)
    bars = [(name, f"{count:,}", 100 * count / most) for name, count in shown]
    if rest:
        words = f"{sum(count for _, count in rest):,} in all, {rest[-1][1]:,} to {rest[0][1]:,} each"
        bars.append((f"{len(rest):,} more classes", words, 100 * rest[0][1] / most))
    return bars


def _audit(facts: AuditFacts, verdict: str, figures: Any) -> dict[str, Any]:
    """The audit's part; `verdict` where the page does not open with it."""
    questions = {check.id: check for check in all_checks()}
    alarms = _most_telling_first(facts.findings)
    sections = [
        {
            "check": questions[name],
            "level": max((one.level for one in result.findings), key=lambda level: level.rank).value,
            "findings": [_shown(finding) for finding in sorted(result.findings, key=lambda one: -one.level.rank)],
            "figures": figures(result.figures),
            "about": "example" if all(finding.about == "example" for finding in result.findings) else "dataset",
        }
        for name, result in facts.checked.items()
    ]
    sections.sort(key=lambda one: one["level"] == Level.HEALTHY.value)
    return {
        "verdict": verdict,
        "matters": [_shown(finding) for finding in alarms[:_CARDS]],
        "alarms": [_shown(finding) for finding in alarms[_CARDS:]],
        "groups": [
            ("dataset", "What was found in the data", [one for one in sections if one["about"] == "dataset"]),
            ("examples", "What was found in single examples", [one for one in sections if one["about"] == "example"]),
        ],
        "skipped": [(questions[entry.check].question, entry.check, entry.why) for entry in facts.skipped],
    }


def _most_telling_first(findings: Sequence[Finding]) -> list[Finding]:
    """The alarms, the worst first; within a level one of each check before the second of any."""
    seen: dict[tuple[str, Level], int] = {}
    places = []
    for finding in findings:
        key = finding.id, finding.level
        places.append((-finding.level.rank, seen.setdefault(key, 0)))
        seen[key] += 1
    order = sorted(range(len(places)), key=lambda one: places[one])
    return [findings[one] for one in order if findings[one].level is not Level.HEALTHY]


def _shown(finding: Finding) -> dict[str, Any]:
    interval = ""
    if finding.interval is not None and finding.interval[0] != finding.interval[1]:
        interval = f"{short(finding.interval[0], 3)} to {short(finding.interval[1], 3)}"
    return {
        **{name: getattr(finding, name) for name in ("id", "subject", "message", "ground", "skill")},
        "level": finding.level.value,
        "remedy": "" if finding.level is Level.HEALTHY else finding.remedy,
        "value": short(finding.value, 3),
        "interval": interval,
        "examples": ", ".join(map(str, finding.examples)),
    }


def _plan(plan: Plan) -> dict[str, Any]:
    remedies = [
        {
            "name": remedy.name,
            "why": remedy.why,
            "forecast": forecast_words(remedy.forecast),
            "counts_as": remedy.expected_words(4),
            "ground": "" if remedy.forecast is None else remedy.forecast.ground,
        }
        for remedy in plan.remedies
    ]
    return {"title": plan.title(), "remedies": remedies, "notes": plan.remarks()}


def _provenance(facts: AuditFacts | None, trial: Trial | None) -> list[tuple[str, str]]:
    seed = None if trial is None else trial.seed
    record = provenance(seed=seed, settings={}) if facts is None else facts.provenance
    seconds = [part.seconds for part in (facts, trial) if part is not None]
    machine = record["machine"]
    return [
        ("lopsided", record["version"]),
        *([] if record["seed"] is None else [("seed", str(record["seed"]))]),
        *([] if facts is None else [("time", record["time"])]),  # a trial keeps no time, and a page's own says nothing
        *([("seconds", f"{sum(seconds):.1f}")] if seconds else []),
        ("packages", ", ".join(f"{name} {version}" for name, version in record["packages"].items())),
        (
            "machine",
            f"{machine['system']} {machine['architecture']}, Python {machine['python']}, {machine['cores']} cores",
        ),
    ]
