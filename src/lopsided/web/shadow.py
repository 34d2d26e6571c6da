"""A three-dimensional shadow of K classifiers, continuous in them and without a choice of axes.

Each class has a fixed anchor a_k on the sphere (a Fibonacci lattice, centred). With W the classifiers as rows, the
shadow is W (W^T A) / scale: a linear image of the rows, so equal classifiers fall on one point. For a simplex frame
W W^T is I - 11^T/K up to scale, and the shadow is the anchors themselves, evenly spread.
"""

import math

import numpy as np

from lopsided.core.validation import FloatArray


def anchors(classes: int) -> FloatArray:
    """K points spread evenly on the unit sphere, with mean zero, (K, 3)."""
    place = (np.arange(classes) + 0.5) / classes
    height, turn = 1.0 - 2.0 * place, np.arange(classes) * math.pi * (3.0 - math.sqrt(5.0))
    radius = np.sqrt(np.maximum(1.0 - height**2, 0.0))
    points = np.stack([radius * np.cos(turn), radius * np.sin(turn), height], axis=1)
    return np.asarray(points - points.mean(axis=0))


def shadow(classifiers: FloatArray) -> FloatArray:
    """(K, 3), the longest of length 1 (all zero where every classifier is)."""
    cast = classifiers @ (classifiers.T @ anchors(len(classifiers)))
    longest = float(np.linalg.norm(cast, axis=1).max(initial=0.0))
    return np.asarray(cast / longest if longest > 0 else cast)
