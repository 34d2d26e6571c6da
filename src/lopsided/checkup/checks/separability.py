"""How far apart are the classes, compared with their width? Assumption (A1) of Li and Liang (2018):

    delta = smallest distance between examples of different classes;  lambda = largest diameter of a component / delta

with every class one component. (A1) asks lambda <= 1/8 and fails on nearly all real data, so it is a measure here and
not an alarm. The alarm is delta = 0: one point with two labels, which is looked for among all training rows; delta and
lambda are those of a sample.
"""

from dataclasses import replace

import numpy as np

from lopsided.checkup.checks.finding import Check, Checked, Finding, Level
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.feature_space import chosen_rows, read_rows
from lopsided.checkup.inputs.row_contents import feature_digests
from lopsided.core.errors import InputError
from lopsided.data.row_digests import repeats
from lopsided.measure.separability import diameter_ratio, separability

MOST_ROWS = 2000


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """delta and lambda on a sample, stratified by class."""
    classes = evidence.labelled
    rows = chosen_rows(evidence, MOST_ROWS)
    codes = classes.codes[rows]
    if np.unique(codes).size < 2:
        raise InputError("two classes among the training rows", "one")
    points = evidence.space.map.apply(read_rows(evidence, rows))
    found = separability(points, codes, codes)
    training = np.flatnonzero(evidence.training)
    digests, everyone = feature_digests(evidence)[training], np.ones(training.size, dtype=bool)
    torn = repeats(digests, training, everyone, classes.codes[training]).torn
    if torn.count:
        low, high = (diameter_ratio(end, 0.0) for end in found.largest_diameter)
        found = replace(found, delta=0.0, ratio=(low, high), verdict="fails")
    some = len(rows) < evidence.rows
    part = f"{len(rows):,} of {training.size:,} training rows" if some else "all rows"
    if found.delta == 0:
        words = f"Two examples of different classes coincide ({part})."
        if torn.count:
            words = f"{torn.count:,} of {training.size:,} training rows coincide with one of another class."
        remedy = "Look for contradicting labels (see duplicates)."
        listed = tuple(evidence.place(int(row)) for row in torn.rows)
        finding = Finding(Level.AT_RISK, "all classes", None, None, words, remedy, "example", listed)
    else:
        words = f"The nearest examples of different classes are {found.delta:.3g} apart, and the widest class is "
        words += (
            f"{found.ratio[0]:.3g} times as wide ({part}); assumption (A1) requires at most {found.needed_ratio:g}."
        )
        remedy = "Nothing to do: real data rarely satisfy (A1)."
        finding = Finding(Level.HEALTHY, "all classes", found.ratio[0], found.ratio, words, remedy)
    measures = {
        "delta": found.delta,
        "lambda": found.ratio,
        "needed": found.needed_ratio,
        "verdict": found.verdict,
        "rows": len(rows),
        "measured_in": evidence.space.map.words,
    }
    return Checked([finding], measures)


CHECK = Check(
    "separability",
    "How far apart are the classes?",
    "At risk only when two examples of different classes coincide. The interval of lambda is the bracket of the "
    "diameter.",
    "Li and Liang 2018 (SGD on structured data), assumption (A1)",
    frozenset({"labels", "features"}),
    run,
)
