"""Would more data of a group help that group? The mixture fitted to the groups, and the exact large-n law on it.

Groups are Gaussian in the leading components, the network of the mixture papers is fitted, and with H_l the Fisher
information of group l at it, the excess risk of group l is tr(H^-1 H_l) / (2n) (see `theory.fisher_law`). Its
elasticity in the group's fraction says whether more of the group at fixed n helps (negative) or hurts (positive). The
mixture is estimated, so the elasticity is recomputed on resampled rows with the network held fixed, and a group is
called only when the whole interval says so.

More than two classes: the rarest against the rest.
"""

import numpy as np

from lopsided.checkup.evidence import Evidence
from lopsided.checkup.finding import Check, Checked, Finding, Level
from lopsided.checkup.mixture_fit import fit_network, standardised_components
from lopsided.checkup.subjects import group_subject, opening
from lopsided.core.errors import InputError
from lopsided.core.mixture_spec import problem_of
from lopsided.core.validation import FloatArray, IntArray
from lopsided.data.mixture_estimate import estimate_by_moments
from lopsided.theory.fisher_law import FisherLaw

COMPONENTS, NEURONS, RESAMPLES = 5, 2, 40
MOST_ROWS, MOST_GROUPS = 4000, 12
MATTERS = 0.1  # percent of excess risk per percent of fraction; less, either way, is not worth saying
_GROUND = "the large-n law tr(H^-1 H_l)/(2n) beside Li et al. 2024, eq (11)-(12), which say the opposite in places"


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """The first column of groups; intersections are left to `group_shift`."""
    classes = evidence.classes
    assert classes is not None
    sample = evidence.space.sample
    part = next(iter(evidence.groups.values()))
    labels = classes.codes[sample.rows]
    rarest = int(np.argmin(np.where(classes.counts > 0, classes.counts, np.iinfo(np.int64).max)))
    if np.unique(labels).size < 2:
        raise InputError("two classes among the training rows", "one", "give labels that differ")
    points, codes, answers = _chosen(sample.points, part.codes[sample.rows], (labels == rarest).astype(float), random)
    counts = np.bincount(codes, minlength=len(part.names))
    large = np.flatnonzero(counts > 10 * points.shape[1])
    if large.size < 2:
        raise InputError(
            f"two groups of more than {10 * points.shape[1]} examples in {part.name}",
            f"{large.size}",
            "add examples or merge groups",
        )
    large = large[np.argsort(-counts[large])][:MOST_GROUPS]
    keep = np.isin(codes, large)
    points, answers = points[keep], answers[keep]
    place = np.full(len(part.names), -1)
    place[large] = np.arange(large.size)
    codes = place[codes[keep]]
    weights, how, loss = fit_network(points, answers, NEURONS, evidence.seed)
    rows = int(evidence.training.sum())
    law = FisherLaw(problem_of(estimate_by_moments(points, codes).mixture, weights)).forecast(rows)
    draws = _elasticities(points, codes, weights, random)
    low, high = np.quantile(draws, (0.025 / large.size, 1 - 0.025 / large.size), axis=0)
    apart = estimate_by_moments(points, codes).bits_per_dimension
    alone = estimate_by_moments(points, np.zeros(len(points), dtype=int)).bits_per_dimension
    findings, measures = [], {}
    for at, code in enumerate(large):
        forecast = law.groups[at]
        elasticity = forecast.fraction_effect.elasticity
        hurts = low[at] > MATTERS
        measures[part.names[code]] = {
            "excess_risk": forecast.excess_risk,
            "label_entropy": forecast.label_entropy,
            "elasticity": elasticity,
            "interval": [float(low[at]), float(high[at])],
            "more_of_it": "hurts" if hurts else "helps" if high[at] < -MATTERS else "neutral or undecided",
        }
        if hurts:
            subject = group_subject(part, int(code))
            findings.append(
                Finding(
                    "group_mixture",
                    Level.AT_RISK,
                    subject,
                    elasticity,
                    (float(low[at]), float(high[at])),
                    f"{opening(subject)} would not gain from a larger share: one percent more of it at the "
                    "same size "
                    f"of the data is forecast to raise its own excess risk by {elasticity:.2f} percent.",
                    "Collect examples of the other groups, or more of all, rather than more of this one.",
                    _GROUND,
                )
            )
    helped = [part.names[code] for at, code in enumerate(large) if high[at] < -MATTERS]
    if not findings:
        words = (
            f"More of {', '.join(helped[:6])} is forecast to help it"
            if helped
            else "No group is forecast to lose by growing"
        )
        findings = [
            Finding(
                "group_mixture",
                Level.HEALTHY,
                f"{part.name}: {large.size} groups",
                float(apart - alone),
                None,
                f"{words}; as Gaussians the groups describe features {apart - alone:.3f} bits per dimension "
                "better than one.",
                "Nothing to do.",
                _GROUND,
            )
        ]
    target = classes.names[rarest]
    return Checked(
        findings,
        {
            "column": part.name,
            "groups": measures,
            "bits_per_dimension": {"groups": apart, "one": alone},
            "positive_class": target,
            "network": how,
            "training_loss": loss,
            "reliable": law.reliable,
            "measured_on": f"{len(points):,} rows in {points.shape[1]} components, {target} against the rest",
        },
    )


def _chosen(
    points: FloatArray, codes: IntArray, answers: FloatArray, random: np.random.Generator
) -> tuple[FloatArray, IntArray, FloatArray]:
    if len(points) > MOST_ROWS:
        rows = np.sort(random.choice(len(points), MOST_ROWS, replace=False))
        points, codes, answers = points[rows], codes[rows], answers[rows]
    return standardised_components(points, COMPONENTS)[0], codes, answers


def _elasticities(points: FloatArray, codes: IntArray, weights: FloatArray, random: np.random.Generator) -> FloatArray:
    """Resamples x groups, rows drawn again within every group."""
    members = [np.flatnonzero(codes == code) for code in range(int(codes.max()) + 1)]
    drawn = []
    for _ in range(RESAMPLES):
        rows = np.concatenate([random.choice(own, own.size) for own in members])
        law = FisherLaw(problem_of(estimate_by_moments(points[rows], codes[rows]).mixture, weights))
        drawn.append([law.fraction_effect(code).elasticity for code in range(len(members))])
    return np.array(drawn)


CHECK = Check(
    "group_mixture",
    "Would more data of a group help that group?",
    "At risk when the whole interval of the elasticity (percent of the group's excess risk per percent of its "
    "fraction) "
    f"is above {MATTERS:g}: more of it alone hurts it. Intervals by resampling rows, at the level 1 - 0.05/m for m "
    "groups.",
    frozenset({"labels", "groups", "features"}),
    run,
    forecast="more of a group",
)
