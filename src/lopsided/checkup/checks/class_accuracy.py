"""Which classes does the model get wrong more often than the rest?

Recall of every class on the judged rows, and three summaries: over rows (every example has the same weight), over
classes (balanced accuracy), and the worst class.
"""

import numpy as np

from lopsided.checkup.checks.finding import Check, Checked, Finding, Level, shortened
from lopsided.checkup.checks.intervals import mean_rate_interval, rate_intervals
from lopsided.checkup.checks.parts import RULE, accuracy_figure, all_of, class_subject, gap_findings, rates_by_name
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.core.validation import IntArray

MOST_NAMED = 8


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """Recall per class, against the other rows."""
    classes, predictions = evidence.labelled, evidence.predictions
    assert predictions is not None
    rows = evidence.judged
    totals, right = classes.counts_where(rows), classes.counts_where(rows & (predictions == classes.codes))
    findings, accuracy = gap_findings(
        [class_subject(classes, code) for code in range(len(classes.names))],
        right,
        totals,
        rows=evidence.judged_words,
        remedy="Oversample or reweight it, move its threshold (logit adjustment), or collect more of it; see the plan.",
    )
    seen = totals > 0
    overall = float(right.sum() / totals.sum())
    balanced, low, high = mean_rate_interval(right[seen], totals[seen])
    whole = rate_intervals(right.sum(keepdims=True), totals.sum(keepdims=True))
    worst = accuracy.lowest(slice(None))
    chance = 1.0 / int(seen.sum())
    if low <= chance and seen.sum() > 1:
        words = f"Balanced accuracy {balanced:.1%} {evidence.judged_words} is not clearly better than guessing "
        words += f"({chance:.1%})."
        remedy = "Check that predictions and labels belong to the same rows and use the same class names."
        findings.append(Finding(Level.FAILING, "the model", balanced, (low, high), words, remedy))
    findings += _unseen(evidence, totals)
    words = f"No class does clearly worse than the rest {evidence.judged_words}; the lowest recall is "
    words += f"{accuracy.value[worst]:.1%} ({classes.names[worst]})."
    healthy = Finding(Level.HEALTHY, all_of(int(seen.sum()), "classes"), *accuracy.at(worst), words)
    lowest, ends = accuracy.at(worst)
    measures = {
        "judged": evidence.judged_words,
        "accuracy": {"value": overall, "interval": whole.of(0), "weighting": "every example has the same weight"},
        "balanced_accuracy": {
            "value": balanced,
            "interval": (low, high),
            "weighting": "every class has the same weight",
        },
        "worst_class": {"value": lowest, "interval": ends, "class": classes.names[worst]},
        "recall": rates_by_name(classes.names, accuracy, totals),
    }
    figure = accuracy_figure("Recall of every class", list(classes.names), accuracy, overall)
    return Checked(shortened(findings or [healthy], MOST_NAMED, "classes"), measures, [figure])


def _unseen(evidence: Evidence, totals: IntArray) -> list[Finding]:
    """Classes that are trained on and never tested: no accuracy says how they do."""
    classes = evidence.labelled
    if evidence.is_test is None:
        return []
    found = []
    for code in np.flatnonzero((totals == 0) & (classes.counts_where(evidence.training) > 0)):
        message = f"Class {classes.names[code]} has no test examples, so its accuracy is unknown."
        remedy = "Add some of its examples to the test rows."
        found.append(Finding(Level.AT_RISK, class_subject(classes, int(code)), 0.0, None, message, remedy))
    return found


CHECK = Check(
    "class_accuracy",
    "Which classes does the model get wrong?",
    RULE,
    "Fang et al. 2021, Fig 4: minority collapse shows as test error of the small classes",
    frozenset({"labels", "predictions"}),
    run,
    exact=True,
)
