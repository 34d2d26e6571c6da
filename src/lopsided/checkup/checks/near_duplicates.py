"""Do nearly the same examples occur in training and test, or with two labels?

Copies with a little noise, another compression or a rounded last digit leak just as exact copies do. Equal rows are
left to `duplicates`. Rows whose text differs are not copies. Where rows lie close together anyway, nothing is reported.
Pairs are near when

    distance(x, y) = sqrt(mean over columns of ((x_j - y_j) / scale_j)^2)  <=  t = min(NEAR, FRACTION x usual)

with `scale` that of the audit's feature space and `usual` the median distance to the fifth nearest neighbour in a
sample: two percent of a deviation is near for pixels, and not for three crowded columns. They are found in about
n log n steps: candidates come from tables that sort the rows by the cell of a grid over some leading principal
components; neighbours in that order are compared exactly, so a pair that is named is near for certain, and a near pair
is missed with a small chance: at noise alike in all columns a table misses one in four, `TABLES` of them fewer than one
in a thousand (tests measure it).

Where rows are merely crowded there are many more pairs within `AROUND` t than within t: 4^d times in d dimensions, even
where d is one because all but one column take few values. Copies lie within t. `crowded` says that less than `COPIES`
of the pairs within `AROUND` t are within t.
"""

from dataclasses import dataclass

import numpy as np

from lopsided.checkup.checks.duplicates import FAILING_SHARE, description_codes, row_identities, rows_finding
from lopsided.checkup.checks.finding import Check, Checked, Finding, Level
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.feature_space import FeatureMap, blocks_of_rows, principal_directions, read_rows
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray
from lopsided.data.row_digests import MOST_LISTED, Listed, listed

NEAR = 0.02  # deviations
FRACTION = 0.1  # of the usual distance to the fifth neighbour: in 5 dimensions one row in 20,000 comes so near
FEWEST_ROWS = 20
COPIES, AROUND = 0.6, 4.0
TABLES, CELL_COLUMNS, COMPONENTS, NEXT = 6, 6, 12, 3
_CELL = 16.0  # thresholds: noise of one threshold per direction leaves a cell of this width in one case of 20
_PART = 8.0  # cells of a deviation: wider where a component varies much, for noise that lies along it
_QUERIES, _NEIGHBOURS, _FIFTH = 200, 10_000, 5
MOST_COMPARED = 400_000  # pairs whose distance is computed exactly; more only where rows are crowded


@dataclass(frozen=True)
class NearPairs:
    """Positions of pairs (m x 2, the first the smaller) within `threshold`; `usual` is the sample's distance."""

    pairs: IntArray
    threshold: float
    usual: float
    crowded: bool
    compared: int


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """Near pairs of rows that differ; one row stands for all that are equal in features, split and label."""
    identity = row_identities(evidence)
    kinds = 2 * identity + evidence.training
    if evidence.classes is not None:
        kinds = kinds * len(evidence.classes.names) + evidence.classes.codes
    _, first = np.unique(kinds, return_index=True)
    found = near_pairs(evidence, np.sort(first), random)
    words = description_codes(evidence)
    one, other = found.pairs.T
    pairs = found.pairs[(words[one] == words[other]) & (identity[one] != identity[other])]
    measures: dict[str, object] = {
        "near_pairs": len(pairs),
        "threshold": found.threshold,
        "usual_distance": found.usual,
        "crowded": found.crowded,
        "pairs_compared": found.compared,
    }
    if found.crowded:
        message = f"Rows lie close together everywhere (fewer than {COPIES:.0%} of the pairs within "
        message += f"{AROUND * found.threshold:.2g} standard deviations are within {found.threshold:.2g}), so near "
        message += "pairs are not a sign of copies."
        return Checked([Finding(Level.HEALTHY, "all rows", None, None, message)], measures)
    findings = []
    if evidence.is_test is not None:
        training = evidence.training
        across = pairs[training[pairs[:, 0]] != training[pairs[:, 1]]]
        leaked = np.unique(across[~training[across]])
        exact = np.isin(identity, np.unique(identity[training]))
        leaked = leaked[~exact[leaked]]
        measures["test_rows_near_training"] = int(leaked.size)
        total = int(evidence.is_test.sum())
        message = f"{leaked.size:,} of {total:,} test rows ({leaked.size / total:.2%}) nearly equal a training row: "
        message += f"they differ, but by no more than {found.threshold:.2g} standard deviations (root mean square)."
        remedy = "Look at the listed test rows; drop the copies and measure again."
        findings.append(rows_finding("test rows", _listed(evidence, leaked), total, message, remedy))
    if evidence.classes is not None:
        codes = evidence.classes.codes
        torn = np.unique(pairs[codes[pairs[:, 0]] != codes[pairs[:, 1]]])
        measures["rows_near_another_label"] = int(torn.size)
        message = f"{torn.size:,} rows ({torn.size / evidence.rows:.2%}) have a near copy (within "
        message += f"{found.threshold:.2g} standard deviations) with another label."
        remedy = "Decide which label is right for the rows listed."
        found_rows = _listed(evidence, torn)
        findings.append(rows_finding("labels of near rows", found_rows, evidence.rows, message, remedy, failing=np.inf))
    if not findings:
        message = f"{len(pairs):,} pairs of rows differ by no more than {found.threshold:.2g} standard deviations."
        findings = [Finding(Level.HEALTHY, "all rows", None, None, message)]
    return Checked(findings, measures)


def _listed(evidence: Evidence, rows: IntArray) -> Listed:
    return listed(np.array([evidence.place(row) for row in rows[:MOST_LISTED]], dtype=np.int64), rows.size)


def near_pairs(evidence: Evidence, rows: IntArray, random: np.random.Generator) -> NearPairs:
    """Near pairs among `rows` (sorted positions, no two of them equal)."""
    if rows.size < FEWEST_ROWS:
        raise InputError(f"at least {FEWEST_ROWS} different rows", rows.size)
    mapping = evidence.space.map
    sample = np.sort(random.choice(rows, min(rows.size, _NEIGHBOURS), replace=False))
    scaled = mapping.scaled(read_rows(evidence, sample))
    usual = _usual_distance(scaled, random)
    threshold = min(NEAR, FRACTION * usual)
    directions, energy = principal_directions(scaled, min(COMPONENTS, scaled.shape[1]), evidence.seed)
    points = _projected(evidence, rows, mapping, directions)
    candidates = _candidates(points, np.sqrt(energy), threshold, scaled.shape[1], random)
    compared = len(candidates)
    if compared > MOST_COMPARED:
        candidates = candidates[np.sort(random.choice(compared, MOST_COMPARED, replace=False))]
    distance = _distances(evidence, rows[candidates], mapping)
    near = distance <= threshold
    within, around = int(near.sum()), int((distance <= AROUND * threshold).sum())
    return NearPairs(rows[candidates[near]], threshold, usual, within < COPIES * around, compared)


def _usual_distance(scaled: FloatArray, random: np.random.Generator) -> float:
    """Median over some rows of the distance to the fifth nearest of the others."""
    asked = random.choice(len(scaled), min(_QUERIES, len(scaled)), replace=False)
    lengths = np.square(scaled).sum(axis=1)
    squared = lengths[asked][:, None] + lengths - 2 * scaled[asked] @ scaled.T
    squared[np.arange(asked.size), asked] = np.inf
    fifth = np.partition(np.maximum(squared, 0.0), _FIFTH - 1, axis=1)[:, _FIFTH - 1]
    return float(np.sqrt(np.median(fifth) / scaled.shape[1]))


def _projected(evidence: Evidence, rows: IntArray, mapping: FeatureMap, directions: FloatArray) -> FloatArray:
    """The rows along the directions, block by block."""
    blocks = blocks_of_rows(evidence, rows)
    return np.concatenate([(mapping.scaled(block) @ directions).astype(np.float32) for block in blocks])


def _candidates(
    points: FloatArray, spread: FloatArray, threshold: float, width: int, random: np.random.Generator
) -> IntArray:
    """Places of pairs that fell into one cell of a table, next to each other, and whose projections allow it."""
    cells = np.maximum(np.maximum(_CELL * threshold, spread / _PART), 1e-12)
    reach = (AROUND * threshold) ** 2 * width  # projections shorten: |Pz|^2 <= |z|^2 = width x distance^2
    found = [np.zeros(0, dtype=np.int64)]
    for _ in range(TABLES):
        chosen = random.choice(points.shape[1], min(CELL_COLUMNS, points.shape[1]), replace=False)
        shift = random.random(chosen.size)
        grid = np.floor(points[:, chosen] / cells[chosen] + shift).astype(np.int64)
        odd = random.integers(1, 2**62, chosen.size) | 1
        key = (grid * odd).sum(axis=1)  # wraps around: equal cells have equal keys, and unequal ones are compared
        order = np.lexsort((points[:, int(random.integers(points.shape[1]))], key))
        for step in range(1, NEXT + 1):
            first, second = order[:-step], order[step:]
            together = np.flatnonzero(key[first] == key[second])
            first, second = first[together], second[together]
            close = np.square(points[first] - points[second]).sum(axis=1) <= reach * (1 + 1e-4)  # float32 points
            low, high = np.minimum(first[close], second[close]), np.maximum(first[close], second[close])
            found.append(low * len(points) + high)
    pairs = np.unique(np.concatenate(found))
    return np.stack([pairs // len(points), pairs % len(points)], axis=1)


def _distances(evidence: Evidence, pairs: IntArray, mapping: FeatureMap) -> FloatArray:
    """Exact distances of pairs of positions, some thousand numbers at a time."""
    if not len(pairs):
        return np.zeros(0)
    distances = np.empty(len(pairs))
    batch = max(1, 20_000_000 // evidence.features.width)
    for start in range(0, len(pairs), batch):
        some = pairs[start : start + batch]
        needed, place = np.unique(some, return_inverse=True)
        scaled = mapping.scaled(read_rows(evidence, needed))
        place = place.reshape(some.shape)
        gaps = scaled[place[:, 0]] - scaled[place[:, 1]]
        distances[start : start + batch] = np.sqrt(np.square(gaps).mean(axis=1))
    return distances


CHECK = Check(
    "near_duplicates",
    "Do nearly the same examples occur in training and test, or with two labels?",
    f"Near: within {NEAR:g} deviations of a column (root mean square) and within {FRACTION:g} of the usual distance "
    f"to the fifth neighbour. At risk from the first such row, failing above {FAILING_SHARE:.0%} of the test rows; "
    "neither where rows lie close together anyway. Every counted pair was compared exactly, but a pair can be "
    "missed. The interval is that of a rate.",
    "near copies of training rows among the test rows measure memory (Barz and Denzler 2020, for CIFAR)",
    frozenset({"features"}),
    run,
)
