"""A start for the Newton method from the solution of a neighbouring problem: other counts, the same classes.

Z of the neighbour (K x K) is averaged over the blocks that the new problem's equal sizes make: off the diagonal of a
block its mean o_g, on it the mean d_g, so a_g = d_g - o_g and M_gg = m_g o_g + a_g, in the coordinates of `merged`. A
start changes how long a solve takes, not what it finds: the certificate is that of the new problem.
"""

import numpy as np

from lopsided.core.validation import FloatArray
from lopsided.theory.layer_peeled.merged import Merged
from lopsided.theory.layer_peeled.regulariser import Point


def point_near(logits: FloatArray, problem: Merged) -> Point | None:
    """The neighbour's Z as a point of `problem`; None where it has other classes or is zero."""
    classes, members, group = problem.classes, problem.multiplicity, problem.group_of_class
    if logits.shape != (classes, classes) or not np.any(logits):
        return None
    belongs = np.zeros((problem.groups, classes))
    belongs[group, np.arange(classes)] = 1.0
    blocks, own = belongs @ logits @ belongs.T, belongs @ np.diag(logits)
    pairs = np.where(members > 1, members * (members - 1), 1.0)
    between = np.where(members > 1, (np.diag(blocks) - own) / pairs, 0.0)
    contrasts = np.where(members > 1, np.maximum(own / members - between, 0.0), 0.0)
    matrix = blocks / np.sqrt(np.outer(members, members))
    np.fill_diagonal(matrix, np.where(members > 1, members * between + contrasts, own))
    return Point(matrix, contrasts)
