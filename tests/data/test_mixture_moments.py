"""A mixture from its moments: recovered where the means are independent, refused where there are too few columns."""

import numpy as np
import pytest

from lopsided.core.errors import InputError
from lopsided.core.mixture_spec import mixture_of
from lopsided.core.seeds import generator
from lopsided.data.mixture import draw_features
from lopsided.data.mixture_moments import spectral_mixture
from lopsided.measure.mixture_errors import mixture_distance


def test_three_groups_are_recovered_without_labels() -> None:
    means = [[4.0, 0, 0, 0, 0], [0, 3.0, 0, 1.0, 0], [0, 0, -3.0, 0, 1.0]]
    truth = mixture_of([0.5, 0.3, 0.2], means, [1.0, 0.5, 0.25], 5)
    features, _ = draw_features(truth, 60_000, generator(0, "sample"))
    distance = mixture_distance(spectral_mixture(features, 3, generator(0, "slices")), truth)
    # Errors of moments are about 1/sqrt(n) = 0.004, and whitening multiplies them by the condition of M2 (about 10).
    assert distance.means < 0.15
    assert distance.fractions < 0.02
    assert distance.covariances < 0.15


def test_it_needs_a_direction_without_means() -> None:
    with pytest.raises(InputError, match="more than 3 columns"):
        spectral_mixture(np.zeros((10, 3)), 3, generator(0, "slices"))
