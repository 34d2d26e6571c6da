"""Nuclear norm |A B^T|_* of a product of two K x p matrices, from a Gram matrix of the smaller side.

For p < K, with A = Q R:  |A B^T|_* = |R B^T|_* and (R B^T)(R B^T)^T = R (B^T B) R^T is p x p; its eigenvalues are the
squared singular values. Squaring leaves singular values below 1e-8 of the largest to rounding, so the sum of r of them
is good to r 1e-8: five digits for a thousand, at a tenth of the time of a decomposition. Small products are decomposed.
"""

import numpy as np

from lopsided.core.validation import FloatArray

DECOMPOSED = 128  # smaller side up to which the singular values themselves are taken


def nuclear_norm_of_product(a: FloatArray, b: FloatArray) -> float:
    """|A B^T|_* for A and B of one shape K x p."""
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
