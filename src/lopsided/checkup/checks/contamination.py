"""Does a class hold examples that do not belong to it? The robust covariance against the plain one.

The minimum covariance determinant (Rousseeuw 1984) finds centre and covariance of the majority of a class, whatever a
minority of its examples does. An example is *misplaced* when it lies outside its own class (robust distance beyond the
0.001 point of chi-square) and in the core of another (within the 3/4 point of chi-square, or of that class's own
examples where they lie further out, as they do in small classes), and most of its nearest neighbours are of that class.
Three quarters of the examples that were mislabelled out of a class lie in its core, so the share of misplaced examples
over 3/4 estimates the share of mislabelled ones. Where two classes overlap, nothing of the kind can be said, and strays
between them are not counted. An example is *far* when its squared distance is more than `FAR` times the 0.001 point: an
error of recording, or a subgroup. Real classes are not Gaussian and have many mild outliers; those raise no alarm.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from lopsided.checkup.checks.finding import Check, Checked, Finding, Level, shortened
from lopsided.checkup.checks.intervals import Intervals, rate_intervals
from lopsided.checkup.checks.parts import counted
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.feature_space import read_rows
from lopsided.checkup.inputs.row_contents import feature_digests, largest_classes, row_keys
from lopsided.core.errors import InputError
from lopsided.core.validation import BoolArray, FloatArray, IntArray

OUTSIDE, CORE = 1e-3, 0.75
EDGE, OVERLAP = 0.025, 0.1  # classes overlap when this share of one lies within the 0.025 point of the other
FAR = 5.0
RISKY_SHARE, FAR_SHARE, FAILING_SHARE = 0.02, 0.10, 0.10
COMPONENTS = 8
ROWS_PER_COMPONENT = 6  # of a class, below which the robust covariance is not worth its name
MOST_FITTED, MOST_CLASSES = 500, 120
MOST_NAMED, MOST_EXAMPLES = 5, 20
NEIGHBOURS = 10
MOST_COLUMNS, MOSTLY_ONE_VALUE = 200, 0.4


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

    classes, sample = evidence.labelled, evidence.space.sample
    points, measured_on = _points(evidence)
    d = points.shape[1]
    codes = classes.codes[sample.rows]
    counts = np.bincount(codes, minlength=len(classes.names))
    usable = np.flatnonzero(counts >= max(ROWS_PER_COMPONENT * d, 20))
    if not usable.size:
        least = max(ROWS_PER_COMPONENT * d, 20)
        raise InputError(f"a class of at least {least} examples", f"at most {int(counts.max())}", "add examples")
    digests = feature_digests(evidence)[sample.rows]
    usable = largest_classes(usable, counts, codes, digests)[:MOST_CLASSES]
    rank = row_keys(digests, codes, evidence.seed)  # of rows, so that their order changes nothing that is drawn
    fitted: dict[int, _Robust] = {}
    declined = []
    for code in usable.tolist():
        own_rows = np.flatnonzero(codes == code)
        robust = _robust(points[own_rows[np.argsort(rank[own_rows])]], random)
        if robust is None:
            declined.append(classes.names[code])
        else:
            fitted[code] = robust
    if not fitted:
        raise InputError("a class whose robust covariance has full rank", "none", "drop columns that repeat one value")
    outside = float(chi2.isf(OUTSIDE, d))
    order = np.array(sorted(fitted), dtype=np.int64)
    distances = np.stack([fitted[code].distances(points) for code in order.tolist()], axis=1)
    own, apart = np.full(len(points), np.nan), distances.copy()
    core = np.full(order.size, float(chi2.ppf(CORE, d)))
    for place, code in enumerate(order.tolist()):
        members = codes == code
        own[members] = distances[members, place]
        inliers = distances[members & (distances[:, place] <= outside)]
        if len(inliers):
            core[place] = max(core[place], float(np.quantile(inliers[:, place], CORE)))
        merged = (inliers < float(chi2.isf(EDGE, d))).mean(axis=0) > OVERLAP  # true for the class itself
        apart[np.ix_(members, merged)] = np.inf
    apart /= core
    elsewhere, nearest = order[apart.argmin(axis=1)], apart.min(axis=1)
    judged = np.isin(codes, order)
    misplaced = judged & (own > outside) & (nearest < 1)
    misplaced[misplaced] = _among(points, codes, np.flatnonzero(misplaced), elsewhere[misplaced])
    far = judged & (own > FAR * outside) & ~misplaced
    findings = _findings(evidence, order, codes, misplaced, elsewhere, own, "misplaced")
    findings += _findings(evidence, order, codes, far, elsewhere, own, "far")
    findings = sorted(findings, key=lambda finding: -finding.level.rank)
    if not findings:
        worst = max(fitted, key=lambda code: float(misplaced[codes == code].mean()))
        share = float(misplaced[codes == worst].mean()) / CORE
        some = "" if len(fitted) == len(classes.names) else f" of {len(classes.names)} with enough examples"
        words = f"No class clearly contains examples of other classes; the largest share is about {share:.1%} in "
        words += f"{classes.names[worst]}."
        findings = [Finding(Level.HEALTHY, counted(len(fitted), "classes") + some, share, None, words)]
    measures: dict[str, Any] = {
        "measured_on": measured_on,
        "classes": {
            classes.names[code]: {
                "mislabelled": float(misplaced[codes == code].mean()) / CORE,
                "far": float(far[codes == code].mean()),
                "outside": float((own[codes == code] > outside).mean()),
                "plain_over_robust": fitted[code].disagreement,
            }
            for code in fitted
        },
        "declined": declined,
    }
    return Checked(shortened(findings, MOST_NAMED, "classes"), measures)


def _points(evidence: Evidence) -> tuple[FloatArray, str]:
    """The leading components of the sample; of a table without the columns that mostly repeat one value, whose robust
    variance is zero."""
    space = evidence.space
    table = evidence.features
    points, words = space.sample.points[:, :COMPONENTS], space.sample.words
    if table.image_shape is None and space.map.basis is None and space.map.width <= MOST_COLUMNS:
        columns = space.map.apply(read_rows(evidence, space.sample.rows))
        repeats = np.array([np.unique(column, return_counts=True)[1].max() / len(column) for column in columns.T])
        plain = repeats <= MOSTLY_ONE_VALUE
        if plain.any() and not plain.all():
            left = columns[:, plain] - columns[:, plain].mean(axis=0)
            turn = np.linalg.svd(left, full_matrices=False)[2]
            points = left @ turn[:COMPONENTS].T
            words += f", without {int((~plain).sum())} columns that mostly repeat one value"
    return points[:, points.std(axis=0) > 0], words


def _among(points: FloatArray, codes: IntArray, rows: IntArray, hosts: IntArray) -> BoolArray:
    """Which of the rows have mostly examples of their host for neighbours; classes need not be ellipsoids."""
    from scipy.spatial import cKDTree

    if not rows.size:
        return np.zeros(0, dtype=bool)
    _, near = cKDTree(points).query(points[rows], k=min(NEIGHBOURS + 1, len(points)))
    return np.asarray((codes[near[:, 1:]] == hosts[:, None]).mean(axis=1) > 0.5)


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
    classes = evidence.labelled
    totals = np.array([int((codes == code).sum()) for code in order])
    hits = np.array([int(flagged[codes == code].sum()) for code in order])
    rates = rate_intervals(hits, totals, tests=2 * len(order))
    risky = FAR_SHARE
    if kind == "misplaced":
        rates = Intervals(*(np.minimum(values / CORE, 1.0) for values in (rates.value, rates.low, rates.high)))
        risky = RISKY_SHARE
    found = []
    for place in rates.beyond(risky):
        name, share = classes.names[order[place]], f"{rates.value[place]:.1%} of the examples of class"
        rows = np.flatnonzero(flagged & (codes == order[place]))
        rows = rows[np.argsort(-own[rows], kind="stable")]
        level = Level.AT_RISK
        if kind == "misplaced":
            host = classes.names[int(np.bincount(elsewhere[rows]).argmax())]
            words = f"About {share} {name} look mislabelled: they lie outside it and inside another class, most of "
            words += f"them {host}."
            remedy = "Look at the examples listed, and correct their labels or drop them."
            level = Level.beyond(rates.low[place], FAILING_SHARE)
        else:
            words = f"{share} {name} lie far outside it and in no other class."
            remedy = "Look at the examples listed: they may be recording errors or a subgroup of their own."
        listed = tuple(evidence.place(row) for row in evidence.space.sample.rows[rows[:MOST_EXAMPLES]])
        found.append(Finding(level, f"class {name}", *rates.at(place), words, remedy, "example", listed))
    return found


CHECK = Check(
    "contamination",
    "Does a class contain examples that belong elsewhere?",
    f"At risk when the lower end of the share of mislabelled examples of a class is above {RISKY_SHARE:g}, failing "
    f"above {FAILING_SHARE:g}; at risk when that of far ones is above {FAR_SHARE:g}. Intervals hold for all classes at "
    "once.",
    "minimum covariance determinant (Rousseeuw 1984) against the sample covariance",
    frozenset({"labels", "features"}),
    run,
)
