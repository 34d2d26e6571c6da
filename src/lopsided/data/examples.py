"""`lopsided.load_example`: three small imbalanced tables made from data sets that ship with scikit-learn.

- "long-tailed digits": handwritten digits, 120 training examples of 0 down to 5 of 9 on a geometric curve. The largest
  class gets two thirds of the rarest digit, so that every class leaves at least 54 rows for testing.
- "rare tumours": breast tumours, of which one training example in twelve is malignant.
- "diabetes by sex": which patients progress fastest (the upper quarter), with two groups.

No row is invented or changed; rows are only left out of the training part. The split column says train or test.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.seeds import check_seed, generator
from lopsided.core.validation import BoolArray, FloatArray, IntArray

LARGEST, SMALLEST, CLASSES = 120, 5, 10  # training examples of the digits 0 and 9
TAIL = np.round(LARGEST * (SMALLEST / LARGEST) ** (np.arange(CLASSES) / (CLASSES - 1))).astype(np.int64)
MALIGNANT, BENIGN = 18, 198  # training examples of the tumours: one in twelve
FAST_QUARTER = 0.75


def load_example(name: str, *, seed: int = 0) -> Any:
    """Load a small imbalanced table, as an Arrow table that `audit`, `plan` and `trial` accept.

    Parameters
    ----------
    name : str
        "long-tailed digits" (label `digit`), "rare tumours" (label `tumour`) or "diabetes by sex" (label
        `progression`, group `sex`). Hyphens can replace the spaces.
    seed : int
        Which rows are left out of the training part.

    Returns
    -------
    pyarrow.Table
        The features, the label, and a column `split` with the words train and test; `to_pandas()` makes a data frame.

    Examples
    --------
    >>> import lopsided
    >>> table = lopsided.load_example("rare tumours")
    >>> print(lopsided.audit(table, labels="tumour").evidence.columns.sentence())
    30 of 30 columns; label `tumour`; split `split`.
    """
    spelt = {known.replace(" ", "-"): known for known in EXAMPLES}
    known = spelt.get(name.strip().lower().replace(" ", "-")) if isinstance(name, str) else None
    if known is None:
        raise InputError(f"an example among {', '.join(EXAMPLES)}", repr(name))
    return EXAMPLES[known](check_seed(seed))


def long_tailed_digits(seed: int) -> tuple[FloatArray, IntArray, BoolArray]:
    """Pixels (0 to 1), digits, and which rows are held out."""
    from sklearn.datasets import load_digits

    pixels, digits = load_digits(return_X_y=True)
    held_out = _held_out(digits, TAIL, generator(seed, "digits demo split"))
    return np.asarray(pixels / 16.0), digits.astype(np.int64), held_out


def _held_out(classes: IntArray, counts: Any, random: np.random.Generator) -> BoolArray:
    """All rows but `counts` drawn of each class."""
    held_out = np.ones(classes.size, dtype=bool)
    for number, count in enumerate(counts):
        held_out[random.permutation(np.flatnonzero(classes == number))[:count]] = False
    return held_out


def _table(features: FloatArray, names: Any, words: dict[str, Any], held_out: BoolArray) -> Any:
    import pyarrow as pa

    columns = {str(name).replace(" ", "_"): column for name, column in zip(names, features.T, strict=True)}
    return pa.table({**columns, **words, "split": np.where(held_out, "test", "train")})


def _digits(seed: int) -> Any:
    pixels, digits, held_out = long_tailed_digits(seed)
    names = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    return _table(pixels, names, {"digit": digits.astype(str)}, held_out)


def _tumours(seed: int) -> Any:
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    held_out = _held_out(found.target, (MALIGNANT, BENIGN), generator(seed, "tumours split"))
    words = {"tumour": found.target_names[found.target].astype(str)}
    return _table(found.data, found.feature_names, words, held_out)


def _diabetes(seed: int) -> Any:
    from sklearn.datasets import load_diabetes

    found = load_diabetes(scaled=False)
    fast = found.target > np.quantile(found.target, FAST_QUARTER)
    held_out = generator(seed, "diabetes split").random(fast.size) < 1 / 3
    place = found.feature_names.index("sex")
    words = {
        "sex": np.array([f"{code:.0f}" for code in found.data[:, place]]),  # the source does not say which is which
        "progression": np.where(fast, "fast", "slow"),
    }
    others = [name for name in found.feature_names if name != "sex"]
    return _table(np.delete(found.data, place, axis=1), others, words, held_out)


EXAMPLES: dict[str, Callable[[int], Any]] = {
    "long-tailed digits": _digits,
    "rare tumours": _tumours,
    "diabetes by sex": _diabetes,
}
