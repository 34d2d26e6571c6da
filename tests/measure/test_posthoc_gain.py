"""The gain of post-hoc adjustment against loops, simulation and its limits."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from lopsided.core.errors import InputError
from lopsided.measure.posthoc_gain import posthoc_gain

PRIOR = np.array([0.7, 0.2, 0.1])
CENTRES = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])


def sample(random, sizes) -> tuple[np.ndarray, np.ndarray]:
    """Log joint densities of a Gaussian mixture with PRIOR: the logits of a perfect model."""
    codes = np.repeat(np.arange(3), sizes)
    points = CENTRES[codes] + random.standard_normal((codes.size, 2))
    return np.log(PRIOR) - 0.5 * np.square(points[:, None] - CENTRES).sum(axis=2), codes


def test_gain_is_the_difference_of_balanced_accuracies() -> None:
    logits, codes = sample(np.random.default_rng(0), [50, 20, 9])
    for tau in (0.0, 0.5, 1.0, 2.0):
        found = posthoc_gain(logits, codes, 1000 * PRIOR, tau)
        before, after = (
            balanced_accuracy_score(codes, np.argmax(logits - strength * np.log(PRIOR), axis=1))
            for strength in (0.0, tau)
        )
        assert found.before == pytest.approx(before, abs=1e-12)  # sums of the same fractions
        assert found.gain == pytest.approx(after - before, abs=1e-12)
        assert found.low < found.gain < found.high


@pytest.mark.parametrize("sizes", [[60, 20, 10], [30, 4, 2]])
def test_interval_holds_the_true_gain_nine_times_in_ten(sizes) -> None:
    random = np.random.default_rng(1)
    truth = posthoc_gain(*sample(random, [200_000] * 3), PRIOR).gain
    found = [posthoc_gain(*sample(random, sizes), PRIOR) for _ in range(400)]
    held = np.mean([one.low <= truth <= one.high for one in found])
    # the binomial error of 400 trials is 0.015; two examples of a class allow few values, so above is allowed
    assert 0.9 - 3 * 0.015 <= held <= 0.99
    assert np.mean([one.gain for one in found]) == pytest.approx(truth, abs=4 * found[0].error / 20)


def test_absent_classes_do_not_count_and_single_ones_are_uncertain() -> None:
    logits, codes = sample(np.random.default_rng(2), [40, 12, 0])
    without = posthoc_gain(logits, codes, 1000 * PRIOR)
    present = [np.flatnonzero(codes == code) for code in (0, 1)]
    after = (logits - np.log(PRIOR)).argmax(axis=1) == codes
    before = logits.argmax(axis=1) == codes
    assert without.gain == pytest.approx(
        np.mean([after[own].mean() - before[own].mean() for own in present]), abs=1e-12
    )
    single = posthoc_gain(np.log([[0.6, 0.4], [0.6, 0.4]]), [0, 1], [6, 4])
    assert single.low < 0.0 < single.high or single.error > 0.3  # one answer of each class proves nothing


def test_bad_input_is_one_sentence() -> None:
    with pytest.raises(InputError, match="codes among the columns"):
        posthoc_gain([[0.0, 1.0]], [2], [1, 1])
    with pytest.raises(InputError, match="counts of 2 classes"):
        posthoc_gain([[0.0, 1.0]], [1], [1, 1, 1])
    with pytest.raises(InputError, match="finite"):
        posthoc_gain([[np.nan, 1.0]], [1], [1, 1])
