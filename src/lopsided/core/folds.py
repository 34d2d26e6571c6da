"""Repeated stratified folds: every class, and within it every group, is dealt out evenly.

The examples of a class stand in a row, group after group and shuffled within each, and are dealt to the folds like
cards; the deal goes on where the last class ended. So the folds hold every class, and every class within a group,
evenly to within one example, and a class with fewer examples than folds is tested in as many folds as it has examples.
"""

import numpy as np

from lopsided.core.seeds import generator
from lopsided.core.validation import IntArray


def deal(classes: IntArray, groups: IntArray | None, folds: int, seed: int, repeat: int) -> IntArray:
    """The fold of every example in repeat number `repeat`."""
    random = generator(seed, "folds", repeat)
    shuffled = random.permutation(classes.size)
    within = np.zeros_like(classes) if groups is None else groups
    order = shuffled[np.lexsort((within[shuffled], classes[shuffled]))]
    places = np.empty(classes.size, dtype=np.int64)
    places[order] = np.arange(classes.size)
    names = random.permutation(folds)  # else the first fold would always get the odd example
    return names[places % folds].astype(np.int64)
