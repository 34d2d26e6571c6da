"""The given last layer measured in two passes: neural collapse, pairwise cosines, and which pairs it tells apart.

For classes i and j, the pair accuracy is the share of their examples (each class counting half) for which the own logit
is the larger of the two; a collapsed pair has about one half whatever the other classes do.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.feature_space import training_blocks
from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.angles import cosines
from lopsided.measure.neural_collapse import NeuralCollapse, neural_collapse_streaming


@dataclass(frozen=True)
class LastLayer:
    """What the last layer shows on the training rows."""

    collapse: NeuralCollapse
    classifier_cosines: FloatArray  # of the rows less their mean, which the softmax does not see; K x K
    wins: IntArray  # examples of class i whose own logit beats logit j
    counts: IntArray
    smallest_feature: float


@lru_cache(maxsize=2)
def _measured(evidence: "_ByIdentity") -> LastLayer:
    return _measure(evidence.evidence)


class _ByIdentity:
    """Evidence as a key: the very same object is measured once."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence

    def __hash__(self) -> int:
        return id(self.evidence)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and other.evidence is self.evidence


def last_layer(evidence: Evidence) -> LastLayer:
    """Measure once; evidence must hold labels, features and a classifier."""
    return _measured(_ByIdentity(evidence))


def _measure(evidence: Evidence) -> LastLayer:
    classes, weight = evidence.classes, evidence.classifier
    assert classes is not None
    assert weight is not None
    bias = evidence.bias if evidence.bias is not None else np.zeros(len(classes.names))

    def batches() -> Iterator[tuple[NDArray[Any], IntArray]]:
        for block, rows in training_blocks(evidence):
            yield block, classes.codes[rows]

    collapse = neural_collapse_streaming(batches, len(classes.names), weight.shape[1], weight, bias)
    wins = np.zeros((len(classes.names),) * 2, dtype=np.int64)
    smallest = np.inf
    for block, codes in batches():
        smallest = min(smallest, float(block.min()))
        logits = block.astype(np.float64) @ weight.T + bias
        ahead = logits[np.arange(len(codes)), codes][:, None] > logits
        for code in np.unique(codes):
            wins[code] += ahead[codes == code].sum(axis=0)
    centred = weight - weight.mean(axis=0)
    return LastLayer(collapse, cosines(centred), wins, collapse.class_counts, smallest)
