"""Which examples to keep so that classes have given sizes; of two sizes, K_A of n_A and K_B of n_A/R:

    n_k = n_A for k < K_A, else round(n_A / R)        (Section 4.C of the Layer-Peeled paper)

Chosen are the first n_k of a random order of each class that depends on the seed and the class alone. So under one seed
a smaller sample is part of every larger one: runs at different R are paired.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.core.validation import IntArray, check_count, check_positive


def two_size_counts(majority_classes: int, minority_classes: int, majority_size: int, ratio: float) -> IntArray:
    """Class sizes with the majority first; a ratio of infinity leaves the minority empty, else each keeps one."""
    large = check_count(majority_classes, "the number of majority classes")
    small = check_count(minority_classes, "the number of minority classes", at_least=0)
    size = check_count(majority_size, "the size of a majority class")
    if not math.isinf(ratio):
        check_positive(ratio, "the imbalance ratio")
    minority = 0 if math.isinf(ratio) else max(1, round(size / ratio))
    return np.array([size] * large + [minority] * small, dtype=np.int64)


def subsample(labels: ArrayLike, counts: Sequence[int] | IntArray, seed: int) -> IntArray:
    """Indices of `counts[k]` examples of each class k, class by class.

    labels: codes 0..K-1, one per example.
    """
    codes = np.asarray(labels)
    if codes.ndim != 1 or codes.dtype.kind not in "iu":
        raise InputError("labels coded as 0..K-1", f"{codes.dtype} of shape {codes.shape}", "code them first")
    chosen = []
    for k, wanted in enumerate(counts):
        members = np.flatnonzero(codes == k)
        count = check_count(wanted, f"the size of class {k}", at_least=0)
        if count > members.size:
            raise InputError(f"{count} examples of class {k}", f"{members.size}")
        chosen.append(generator(seed, "subsample", k).permutation(members)[:count])
    return np.concatenate(chosen).astype(np.int64) if chosen else np.zeros(0, dtype=np.int64)
