"""Random trees: fully grown decision trees, each on its own rows, which choose among sqrt(number of columns) columns at
every split; their class shares are averaged (Breiman 2001; on balanced rows, Chen et al. 2004).

scikit-learn's forests draw the rows themselves; imbalanced-learn has forests that balance them, but it is not a
dependency.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray

_LARGEST = float(np.finfo(np.float32).max)  # trees compute in single precision


@dataclass(frozen=True)
class RandomTrees:
    """Fitted trees that know the same classes."""

    trees: tuple[Any, ...]
    classes_: IntArray

    def predict_proba(self, features: FloatArray) -> FloatArray:
        """The mean over the trees, n x the classes they know."""
        rows = _single(features)
        return np.asarray(np.mean([tree.predict_proba(rows, check_input=False) for tree in self.trees], axis=0))

    def predict(self, features: FloatArray) -> IntArray:
        """The class that is most probable on average."""
        return np.asarray(self.classes_[self.predict_proba(features).argmax(axis=1)])


def grow_trees(
    features: FloatArray, codes: IntArray, bags: Iterable[IntArray], weights: FloatArray | None, seed: int
) -> RandomTrees:
    """Grow a tree on the rows of every bag (a row can occur several times); all bags have the same classes."""
    from sklearn import config_context
    from sklearn.tree import DecisionTreeClassifier

    rows, random = _single(features), generator(seed, "random trees")
    gaps = bool(np.isnan(rows).any())
    trees = []
    with config_context(skip_parameter_validation=True):  # it takes as long as a small tree
        for bag in bags:
            tree = DecisionTreeClassifier(max_features="sqrt", random_state=int(random.integers(2**31)))
            tree.fit(rows[bag], codes[bag], None if weights is None else weights[bag], check_input=gaps)
            trees.append(tree)
    return RandomTrees(tuple(trees), np.asarray(trees[0].classes_, dtype=np.int64))


def _single(features: FloatArray) -> Any:
    return np.clip(features, -_LARGEST, _LARGEST).astype(np.float32)
