"""Would more data of a group help that group? The mixture fitted to the groups, and the exact large-n law on it.

The law, the fit and the resampling are those of `checkup.checks.group_law`. The elasticity of the group's excess risk
in its fraction says whether more of the group at fixed n helps (negative) or hurts (positive); a group is called only
when the whole interval says so. More than two classes: the rarest against the rest.
"""

import numpy as np

from lopsided.checkup.checks.finding import Check, Checked, Finding, Level
from lopsided.checkup.checks.group_law import MATTERS, by_size, group_law
from lopsided.checkup.checks.parts import group_subject, opening
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.feature_space import read_rows
from lopsided.checkup.network_fit import COMPONENTS, standardised_components

_NONE_WORSE = "No group is forecast to get worse with a larger share"


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """The first column of groups; intersections are left to `group_shift`."""
    classes = evidence.labelled
    rows = evidence.space.sample.rows
    part = next(iter(evidence.groups.values()))
    points = standardised_components(read_rows(evidence, rows).astype(float), COMPONENTS)[0]
    present = np.unique(classes.codes[rows])
    rarest = int(by_size(present, classes.counts[present], points, classes.codes[rows])[0])
    answers = (classes.codes[rows] == rarest).astype(float)
    law = group_law(points, part.codes[rows], answers, int(evidence.training.sum()), evidence.seed)
    findings, measures, helped = [], {}, []
    for at, code in enumerate(law.codes):
        forecast = law.forecast.groups[at]
        said = law.said(at)
        measures[part.names[code]] = {
            "excess_risk": forecast.excess_risk,
            "label_entropy": forecast.label_entropy,
            "elasticity": said.elasticity,
            "interval": [said.low, said.high],
            "more_of_it": said.words,
        }
        if said.effect == "helps":
            helped.append(part.names[code])
        if said.effect == "hurts":
            subject = group_subject(part, int(code))
            words = (
                f"{opening(subject)} would not gain from a larger share of the data: raising its share by one percent "
                f"is forecast to raise its own excess risk by {said.elasticity:.2f} percent."
            )
            remedy = "Collect examples of the other groups, or more of all, rather than more of this one."
            ends = said.low, said.high
            findings.append(Finding(Level.AT_RISK, subject, said.elasticity, ends, words, remedy))
    better = law.estimate.bits_per_dimension - law.bits_together
    if not findings:
        words = f"More data of {', '.join(helped[:6])} is forecast to help it" if helped else _NONE_WORSE
        words += (
            f". One Gaussian per group describes the features {better:.3f} bits per dimension better than a single one."
        )
        findings = [Finding(Level.HEALTHY, f"{part.name}: {law.codes.size} groups", better, None, words)]
    target = classes.names[rarest]
    found = {
        "column": part.name,
        "groups": measures,
        "bits_per_dimension": {"groups": law.estimate.bits_per_dimension, "one": law.bits_together},
        "positive_class": target,
        "network": law.network.how,
        "training_loss": law.network.loss,
        "reliable": law.forecast.reliable,
        "measured_on": f"{law.words}, {target} against the rest",
    }
    return Checked(findings, found)


CHECK = Check(
    "group_mixture",
    "Would more data of a group help that group?",
    "At risk when the whole interval of the elasticity (percent of the group's excess risk per percent of its "
    f"fraction) is above {MATTERS:g}: a larger share hurts it. Intervals by resampling rows, at the level 1 - 0.05/m "
    "for m groups; every example has the same weight.",
    "the large-n law tr(H^-1 H_l)/(2n); Li et al. 2024, eq (11)-(12), say the opposite in places",
    frozenset({"labels", "groups", "features"}),
    run,
)
