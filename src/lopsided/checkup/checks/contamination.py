"""Does a class hold examples that do not belong to it? The robust covariance against the plain one.

The minimum covariance determinant (Rousseeuw 1984) finds centre and covariance of the majority of a class, whatever a
minority of its examples does. An example is *misplaced* when it lies outside its own class (robust distance beyond the
0.001 point of chi-square) and inside another (within its 0.025 point): a mislabelled example. It is *far* when its
squared distance is more than `FAR` times that point: an error of recording. Real classes are not Gaussian and have
many mild outliers; those are counted, and are no alarm.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from lopsided.checkup.evidence import Evidence
from lopsided.checkup.finding import Check, Checked, Finding, Level, shortened
from lopsided.checkup.intervals import rate_intervals
from lopsided.core.errors import InputError
from lopsided.core.validation import BoolArray, FloatArray, IntArray

OUTSIDE, INSIDE = 1e-3, 0.025
FAR = 5.0
RISKY_SHARE, FAILING_SHARE = 0.02, 0.10
COMPONENTS = 8
ROWS_PER_COMPONENT = 5  # of a class, below which the robust covariance is not worth its name
MOST_FITTED, MOST_CLASSES = 500, 120
MOST_NAMED, MOST_EXAMPLES = 5, 20
_GROUND = "minimum covariance determinant (Rousseeuw 1984) against the sample covariance"


@dataclass(frozen=True)
class _Robust:
    centre: FloatArray
    inverse: FloatArray
    disagreement: float  # trace of the plain over the trace of the robust covariance

    def distances(self, points: FloatArray) -> FloatArray:
        centred = points - self.centre
        return np.asarray(np.einsum("ij,jk,ik->i", centred, self.inverse, centred))


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """Every class that is large enough, on the sample."""
    from scipy.stats import chi2

    classes, sample = evidence.classes, evidence.space.sample
    assert classes is not None
    points = sample.points[:, :COMPONENTS]
    points = points[:, points.std(axis=0) > 0]
    d = points.shape[1]
    codes = classes.codes[sample.rows]
    counts = np.bincount(codes, minlength=len(classes.names))
    usable = np.flatnonzero(counts >= max(ROWS_PER_COMPONENT * d, 20))
    if not usable.size:
        least = max(ROWS_PER_COMPONENT * d, 20)
        raise InputError(f"a class of at least {least} examples", f"at most {int(counts.max())}", "add examples")
    usable = usable[np.argsort(-counts[usable], kind="stable")][:MOST_CLASSES]
    fitted: dict[int, _Robust] = {}
    declined = []
    for code in usable.tolist():
        robust = _robust(points[codes == code], random)
        if robust is None:
            declined.append(classes.names[code])
        else:
            fitted[code] = robust
    if not fitted:
        raise InputError("a class whose robust covariance has full rank", "none", "drop columns that repeat one value")
    outside, inside = float(chi2.isf(OUTSIDE, d)), float(chi2.isf(INSIDE, d))
    own = np.full(len(points), np.nan)
    elsewhere = np.full(len(points), -1)
    nearest = np.full(len(points), np.inf)
    for code, robust in fitted.items():
        distance = robust.distances(points)
        own[codes == code] = distance[codes == code]
        closer = (distance < nearest) & (codes != code)
        nearest[closer], elsewhere[closer] = distance[closer], code
    judged = np.isin(codes, list(fitted))
    misplaced = judged & (own > outside) & (nearest < inside)
    far = judged & (own > FAR * outside) & ~misplaced
    order = np.array(sorted(fitted), dtype=np.int64)
    findings = _findings(evidence, order, codes, misplaced, elsewhere, own, "misplaced")
    findings += _findings(evidence, order, codes, far, elsewhere, own, "far")
    findings = sorted(findings, key=lambda finding: -finding.level.rank)
    if not findings:
        worst = max(fitted, key=lambda code: float(misplaced[codes == code].mean()))
        share = float(misplaced[codes == worst].mean())
        findings = [
            Finding(
                "contamination",
                Level.HEALTHY,
                f"{len(fitted)} classes",
                share,
                None,
                f"No class holds a clear share of foreign examples; the most are {share:.1%} in "
                f"{classes.names[worst]}.",
                "Nothing to do.",
                _GROUND,
            )
        ]
    measures: dict[str, Any] = {
        "measured_on": sample.words,
        "classes": {
            classes.names[code]: {
                "misplaced": float(misplaced[codes == code].mean()),
                "far": float(far[codes == code].mean()),
                "outside": float((own[codes == code] > outside).mean()),
                "plain_over_robust": fitted[code].disagreement,
            }
            for code in fitted
        },
        "declined": declined,
    }
    return Checked(shortened(findings, MOST_NAMED, "classes"), measures)


def _robust(points: FloatArray, random: np.random.Generator) -> _Robust | None:
    """None where the majority of the class lies in fewer dimensions than there are."""
    from sklearn.covariance import MinCovDet

    chosen = points if len(points) <= MOST_FITTED else points[random.choice(len(points), MOST_FITTED, replace=False)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of near singular subsets, which the rank below decides
        try:
            model = MinCovDet(random_state=int(random.integers(2**31))).fit(chosen)
        except (ValueError, np.linalg.LinAlgError):
            return None
    values = np.linalg.eigvalsh(model.covariance_)
    if not np.isfinite(values).all() or values[0] <= 1e-9 * values[-1]:
        return None
    inverse = np.linalg.inv(model.covariance_)
    plain = float(np.var(points, axis=0, ddof=1).sum())
    return _Robust(model.location_, inverse, plain / float(np.trace(model.covariance_)))


def _findings(
    evidence: Evidence,
    order: IntArray,
    codes: IntArray,
    flagged: BoolArray,
    elsewhere: IntArray,
    own: FloatArray,
    kind: str,
) -> list[Finding]:
    classes = evidence.classes
    assert classes is not None
    totals = np.array([int((codes == code).sum()) for code in order])
    hits = np.array([int(flagged[codes == code].sum()) for code in order])
    rates = rate_intervals(hits, totals, tests=2 * len(order))
    found = []
    for place in np.argsort(-rates.low, kind="stable"):
        if not rates.low[place] > RISKY_SHARE:
            break
        name = classes.names[order[place]]
        rows = np.flatnonzero(flagged & (codes == order[place]))
        rows = rows[np.argsort(-own[rows], kind="stable")]
        if kind == "misplaced":
            host = classes.names[int(np.bincount(elsewhere[rows]).argmax())]
            words = (
                f"{rates.value[place]:.1%} of the examples of class {name} lie outside it and inside another class, "
            )
            words += f"most of them inside {host}: they look mislabelled."
            remedy = "Look at the examples listed, and correct or drop their labels."
        else:
            words = (
                f"{rates.value[place]:.1%} of the examples of class {name} lie far outside it and in no other class."
            )
            remedy = "Look at the examples listed: errors of recording, or a subgroup that deserves a name."
        found.append(
            Finding(
                "contamination",
                Level.FAILING if rates.low[place] > FAILING_SHARE else Level.AT_RISK,
                f"class {name}",
                float(rates.value[place]),
                rates.of(int(place)),
                words,
                remedy,
                _GROUND,
                "example",
                tuple(int(row) for row in evidence.space.sample.rows[rows[:MOST_EXAMPLES]]),
            )
        )
    return found


CHECK = Check(
    "contamination",
    "Does a class hold examples that belong elsewhere?",
    "At risk when the lower end of the share of misplaced, or of far, examples of a class is above "
    f"{RISKY_SHARE:g}, failing "
    f"above {FAILING_SHARE:g}. Intervals hold for all classes at once.",
    frozenset({"labels", "features"}),
    run,
)
