"""Neural collapse measured on last-layer features H, labels y and a classifier (W, bias), in batches.

With class means mu_k, their mean mu_G over classes, within-class covariance S_W and between-class covariance S_B
(Papyan, Han and Donoho 2020):

    NC1 = tr(S_W S_B^+) / K
    NC2: variation of |mu_k - mu_G| (standard deviation / mean), and of their angles: the mean of |cos + 1/(K-1)|
    NC3 = | W/|W|_F - M/|M|_F |_F,   M = the centred class means as rows
    NC4 = share of examples on which argmax_k(w_k . h + b_k) differs from the nearest class mean

The accumulator keeps K x p sums and one p x p scatter, so the data may be larger than memory. Means and scatter are
merged by the update of Chan, Golub and LeVeque (1979), which does not subtract large numbers. NC4 needs the means,
hence a second pass. Energies follow the Layer-Peeled Model: E_H = mean_k mean_i |h_ki|^2, E_W = mean_k |w_k|^2; so does
the nuclear norm of the product of means and classifier.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray, check_labels, check_matrix, check_offsets
from lopsided.measure.angles import PairwiseAngles, cosine_summary, frame_distance, norm_variation

Batch = tuple[ArrayLike, ArrayLike]
LARGEST_SCALE, SMALLEST_SCALE = 1e120, 1e-120  # squares of larger or smaller ones overflow or underflow
DECOMPOSED = 128  # up to this smaller side, the singular values of a matrix come from a decomposition
BatchPasses = Callable[[], Iterable[Batch]]  # each call starts a new pass over (features, label codes)


@dataclass(frozen=True)
class NeuralCollapse:
    """NC1-NC4, frame distances and energies; None if a quantity needs an input that was not given."""

    nc1: float | None
    nc2_norm_variation: float
    nc2_angle_deviation: float | None
    nc3: float | None
    nc4: float | None
    means_frame_distance: float | None
    classifier_frame_distance: float | None
    feature_energy: float
    centred_mean_energy: float
    weight_energy: float | None
    classifier_norm_variation: float | None
    class_counts: IntArray


class PooledMoments:
    """Per-class counts, means, mean squared lengths and the pooled within-class scatter, updated batch by batch."""

    def __init__(self, classes: int, dimension: int) -> None:
        self.counts = np.zeros(classes, dtype=np.int64)
        self.means = np.zeros((classes, dimension))
        self.squared_lengths = np.zeros(classes)
        self.scatter = np.zeros((dimension, dimension))

    def update(self, features: ArrayLike, labels: ArrayLike) -> None:
        """Add a batch; labels are codes 0..K-1. A batch may lack classes."""
        h = check_matrix(features, "the features", columns=self.means.shape[1])
        _check_ordinary(h, "features")
        codes = _codes(labels, h.shape[0], self.counts.shape[0])
        for code in np.unique(codes):
            rows = h[codes == code]
            count = rows.shape[0]
            mean = rows.mean(axis=0)
            centred = rows - mean
            self.scatter += centred.T @ centred
            before = int(self.counts[code])
            shift = mean - self.means[code]
            if before:
                self.scatter += np.outer(shift, shift) * (before * count / (before + count))
            self.means[code] += shift * (count / (before + count))
            self.counts[code] += count
            self.squared_lengths[code] += float(np.einsum("ij,ij->", rows, rows))

    def merge(self, other: "PooledMoments") -> None:
        """Add the examples of another accumulator (another worker, another file)."""
        both = self.counts + other.counts
        share = np.divide(other.counts, both, out=np.zeros(both.shape), where=both > 0)
        shift = other.means - self.means
        self.scatter += other.scatter + (shift * (self.counts * share)[:, None]).T @ shift
        self.means += shift * share[:, None]
        self.counts = both
        self.squared_lengths += other.squared_lengths

    def check_complete(self) -> None:
        """Every class has been seen."""
        missing = np.flatnonzero(self.counts == 0)
        if missing.size:
            got = f"none of class {int(missing[0])}"
            raise InputError("examples of every class", got, "add them or drop the class")

    @property
    def within_covariance(self) -> FloatArray:
        """S_W: scatter around class means over all examples."""
        return self.scatter / int(self.counts.sum())

    @property
    def centred_means(self) -> FloatArray:
        """mu_k - mu_G, with equal weight for every class."""
        return np.asarray(self.means - self.means.mean(axis=0))


def _check_ordinary(values: FloatArray, what: str) -> None:
    largest = float(np.abs(values).max())
    if not largest == 0 and not SMALLEST_SCALE < largest < LARGEST_SCALE:
        raise InputError(f"{what} of ordinary size", f"entries of {largest:.0e}", "rescale them, squares overflow")


def _codes(labels: ArrayLike, length: int, classes: int) -> IntArray:
    codes = np.asarray(labels)
    if codes.shape != (length,):
        raise InputError(f"{length} labels, one per row of features", f"shape {codes.shape}")
    if codes.dtype.kind not in "iu" or codes.min() < 0 or codes.max() >= classes:
        raise InputError(f"labels coded as 0..{classes - 1}", f"{codes.dtype} values", "use check_labels to code them")
    return codes.astype(np.int64)


def neural_collapse(
    features: ArrayLike, labels: ArrayLike, classifier: ArrayLike | None = None, bias: ArrayLike | None = None
) -> NeuralCollapse:
    """Measure arrays that fit into memory; labels may be strings. Rows of `classifier` follow the sorted labels."""
    h = check_matrix(features, "the features")
    codes, names = check_labels(labels, length=h.shape[0])
    if len(names) < 2:
        raise InputError("at least two classes", len(names))
    return neural_collapse_streaming(lambda: [(h, codes)], len(names), h.shape[1], classifier, bias)


def neural_collapse_streaming(
    batches: BatchPasses,
    classes: int,
    dimension: int,
    classifier: ArrayLike | None = None,
    bias: ArrayLike | None = None,
) -> NeuralCollapse:
    """Measure data larger than memory: `batches()` is called once or twice and yields (features, label codes)."""
    moments = PooledMoments(classes, dimension)
    for features, labels in batches():
        moments.update(features, labels)
    moments.check_complete()
    w = None if classifier is None else check_matrix(classifier, "the classifier", rows=classes, columns=dimension)
    b = None if w is None else np.zeros(classes) if bias is None else check_offsets(bias, classes)
    nc4 = None
    if w is not None and b is not None:
        _check_ordinary(w, "classifier weights")
        pairs = [_differing(features, moments.means, w, b) for features, _ in batches()]
        seen, total = sum(count for _, count in pairs), int(moments.counts.sum())
        if seen != total:
            got = f"{seen} after {total} in the first"
            raise InputError("the same examples in both passes", got, "batches() must start again at each call")
        nc4 = sum(differing for differing, _ in pairs) / total
    return summarise(moments, w, nc4)


def summarise(
    moments: PooledMoments,
    classifier: FloatArray | None,
    nc4: float | None,
    *,
    means_angles: PairwiseAngles | None = None,
    classifier_angles: PairwiseAngles | None = None,
) -> NeuralCollapse:
    """All quantities that follow from the accumulated moments and the classifier.

    Known angles of the centred means and of the classifier are not computed again.
    """
    centred = moments.centred_means
    classes = centred.shape[0]
    cosines = cosine_summary(centred).values if means_angles is None else means_angles.of_pairs
    nc3 = None
    if classifier is not None:
        lengths = np.linalg.norm(classifier), np.linalg.norm(centred)
        nc3 = float(np.linalg.norm(classifier / lengths[0] - centred / lengths[1])) if min(lengths) > 0 else None
    return NeuralCollapse(
        nc1=_variability(moments.within_covariance, centred, float(np.linalg.norm(moments.means))),
        nc2_norm_variation=norm_variation(centred),
        nc2_angle_deviation=float(np.abs(cosines + 1 / (classes - 1)).mean()) if cosines.size else None,
        nc3=nc3,
        nc4=nc4,
        means_frame_distance=_frame_distance(centred, means_angles),
        classifier_frame_distance=None if classifier is None else _frame_distance(classifier, classifier_angles),
        feature_energy=float((moments.squared_lengths / moments.counts).mean()),
        centred_mean_energy=float((centred**2).sum(axis=1).mean()),
        weight_energy=None if classifier is None else float((classifier**2).sum(axis=1).mean()),
        classifier_norm_variation=None if classifier is None else norm_variation(classifier),
        class_counts=moments.counts.copy(),
    )


def _frame_distance(rows: FloatArray, known: PairwiseAngles | None) -> float | None:
    if known is not None:
        return known.frame_distance()
    return frame_distance(rows) if rows.any() else None


def _variability(within: FloatArray, centred: FloatArray, length_of_means: float) -> float | None:
    """tr(S_W S_B^+)/K from the thin decomposition of the centred means; None where the means coincide."""
    classes, width = centred.shape
    if classes > width > DECOMPOSED and (quick := _variability_of_full_rank(within, centred)) is not None:
        return quick
    _, values, right = np.linalg.svd(centred, full_matrices=False)
    # Centring rounds at the size of the means before it, and leaves rank K-1 at most; what is smaller is rounding.
    keep = values > max(centred.shape) * np.finfo(np.float64).eps * max(float(values[0]), length_of_means, 1e-300)
    keep[classes - 1 :] = False
    if not keep.any() or values[0] == 0:
        return None
    directions = right[keep]
    spread = ((directions @ within) * directions).sum(axis=1)
    return float((spread / (values[keep] ** 2 / classes)).sum() / classes)


def _variability_of_full_rank(within: FloatArray, centred: FloatArray) -> float | None:
    """tr(S_W S_B^-1)/K by Cholesky when S_B has full rank and is good to eight digits; else None.

    The inverse of S_B loses as many of the sixteen digits of a double as its condition number has.
    """
    from scipy.linalg import lapack

    gram = centred.T @ centred
    factor, failed = lapack.dpotrf(gram)
    if failed or lapack.dpocon(factor, np.abs(gram).sum(axis=0).max())[0] < 1e-8:
        return None
    inverse, _ = lapack.dpotri(factor)  # upper triangle
    return float(2 * np.einsum("ij,ij->", within, np.triu(inverse)) - np.diagonal(within) @ np.diagonal(inverse))


def _differing(features: ArrayLike, means: FloatArray, classifier: FloatArray, bias: FloatArray) -> tuple[int, int]:
    """Examples of a batch on which the classifier and the nearest class mean disagree, and all of them."""
    h = check_matrix(features, "the features", columns=means.shape[1])
    by_classifier = (h @ classifier.T + bias).argmax(axis=1)
    by_mean = (h @ means.T - 0.5 * (means**2).sum(axis=1)).argmax(axis=1)
    return int(np.count_nonzero(by_classifier != by_mean)), h.shape[0]


def nuclear_norm_of_product(a: FloatArray, b: FloatArray) -> float:
    """|A B^T|_* for A and B of one shape K x p, from a Gram matrix of the smaller side where that is large.

    For p < K, with A = Q R:  |A B^T|_* = |R B^T|_* and (R B^T)(R B^T)^T = R (B^T B) R^T is p x p; its eigenvalues are
    the squared singular values. Squaring leaves singular values below 1e-8 of the largest to rounding, so the sum of r
    of them is good to r 1e-8: five digits for a thousand, at a tenth of the time of a decomposition.
    """
    classes, width = a.shape
    if min(classes, width) <= DECOMPOSED:
        return float(np.linalg.svd(a @ b.T, compute_uv=False).sum())
    if width < classes:
        triangle: FloatArray = np.asarray(np.linalg.qr(a, mode="r"))
        gram = triangle @ (b.T @ b) @ triangle.T
    else:
        product = a @ b.T
        gram = product @ product.T
    return float(np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0.0)).sum())
