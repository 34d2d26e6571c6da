"""Which examples dominate the covariance of their class, and does a single one dominate it?

    inf(x) = |cov(S_y)|_F^2 - |cov(S_y minus x)|_F^2     (Xu and Chen 2025, eq 10)

relative to |cov(S_y)|_F^2. In a Gaussian class of n examples one of them carries about 2 w / n, where w is a weighted
mean of squared normals: less extreme than one squared normal, whatever the covariance. So an example is reported when
its share is more than `LARGE` and more than any of N examples would by chance, 2 chi2_1^{-1}(1 - 0.01/N) / n.

High scores lie far out along the directions in which the class varies anyway (claim bo-influence); they are what a long
tail is made of, not errors.
"""

from functools import partial
from typing import Any

import numpy as np

from lopsided.checkup.checks.finding import Check, Checked, Finding, Level, shortened
from lopsided.checkup.checks.parts import counted
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.feature_space import mapped_blocks
from lopsided.core.errors import InputError
from lopsided.core.figure import Figure, Line, Panel
from lopsided.core.validation import FloatArray
from lopsided.measure.influence import InfluenceScores, influence_scores_of_blocks

LARGE = 0.1
FEWEST = 10  # examples of a class, below which every one of them matters and none is called
EXAMPLES, MOST_NAMED, MOST_DRAWN = 8, 5, 8


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """Scores of all training rows, ranked within their class."""
    from scipy.stats import chi2

    classes, space = evidence.labelled, evidence.space
    assert space.moments is not None
    rows = np.flatnonzero(evidence.training)
    blocks, about = partial(mapped_blocks, evidence, space.map), (classes.codes[rows], classes.names, space.map.width)
    scores = influence_scores_of_blocks(blocks, *about, moments=space.moments)
    counts = space.moments.counts
    energy = np.square(space.moments.scatters).sum(axis=(1, 2)) / np.maximum(counts - 1, 1) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(energy[scores.codes] > 0, scores.scores / energy[scores.codes], 0.0)
    chance = 2 * float(chi2.isf(0.01 / max(len(rows), 1), 1)) / np.maximum(counts, 1)
    limit = np.maximum(LARGE, chance)
    findings = []
    tops: dict[str, dict[str, list[Any]]] = {}
    for code in np.flatnonzero(counts >= FEWEST):
        high, _ = scores.extremes(int(code), EXAMPLES)
        if not high.size:
            continue
        tops[classes.names[code]] = {
            "examples": [evidence.place(rows[place]) for place in high],
            "shares": [float(share[place]) for place in high],
        }
        over = high[share[high] > limit[code]]
        if over.size:
            name, most = f"class {classes.names[code]}", float(share[over[0]])
            words = "One example dominates" if over.size == 1 else f"At least {over.size} examples dominate"
            words += f" {name} more than chance allows: {most:.0%} of its variance comes from example "
            words += f"{evidence.place(rows[over[0]])}."
            remedy = "Look at the examples listed; clip or transform heavy-tailed columns."
            listed = tuple(evidence.place(rows[place]) for place in over)
            findings.append(Finding(Level.AT_RISK, name, most, None, words, remedy, "example", listed))
    if not tops:
        raise InputError(f"a class of at least {FEWEST} examples", f"at most {int(counts.max())}", "add examples")
    findings.sort(key=lambda finding: -(finding.value or 0.0))
    if not findings:
        name, top = max(tops.items(), key=lambda item: item[1]["shares"][0])
        most, listed = float(top["shares"][0]), tuple(top["examples"])
        words = f"No single example dominates a class; the largest share is {most:.1%} of the variance of {name}, from "
        words += f"example {listed[0]}."
        done = "Nothing to do; the ranking of every class is in the measures and in lopsided score."
        whole = counted(len(tops), "classes")
        findings = [Finding(Level.HEALTHY, whole, most, None, words, done, "example", listed)]
    measures = {"measured_in": space.map.words, "highest": tops, "declined": scores.declined}
    return Checked(shortened(findings, MOST_NAMED, "classes"), measures, [_figure(scores, share)])


def _figure(scores: InfluenceScores, share: FloatArray) -> Figure:
    lines = []
    counts = np.bincount(scores.codes, minlength=len(scores.names))
    for code in np.argsort(-counts, kind="stable")[:MOST_DRAWN]:
        own = np.sort(share[scores.codes == code])[::-1]
        if own.size < FEWEST or np.isnan(own).any():
            continue
        keep = np.unique(np.geomspace(1, own.size, 60).astype(int)) - 1
        lines.append(Line(((keep + 1) / own.size).tolist(), own[keep].tolist(), scores.names[code]))
    panel = Panel("Shares in order", "share of the class", "share of the covariance", lines, x_log=True)
    left = len(scores.names) - len(lines)
    told = "A steep start means that few examples dominate the covariance." + (
        f" {left} classes are not drawn." if left else ""
    )
    return Figure("Influence of the examples, class by class", [panel], told)


CHECK = Check(
    "influence",
    "Does a single example dominate its class?",
    f"At risk when removing one example would change the covariance energy of its class by more than {LARGE:.0%} and "
    "by more than the largest of N Gaussian examples would.",
    "Xu and Chen 2025 (benign overfitting), eq (10): influence without training",
    frozenset({"labels", "features"}),
    run,
)
