"""Learners by name: what they are, and that the networks' weight decay means what it says."""

import numpy as np
import pytest

from lopsided.core.errors import InputError
from lopsided.learners.named_learner import BUILT_IN, gives_probabilities, make_learner, takes_weights
from lopsided.learners.network_classifiers import DecayedNetwork


@pytest.fixture(scope="module")
def sample():
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 30)
    return random.standard_normal((90, 4)) + labels[:, None], labels


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_built_in_learners(sample, name) -> None:
    if name == "deep":
        pytest.importorskip("torch")
    features, labels = sample
    fitted = [make_learner(name, 1).fit(features, labels) for _ in range(2)]
    chances = [one.predict_proba(features) for one in fitted]
    np.testing.assert_array_equal(chances[0], chances[1])
    np.testing.assert_allclose(chances[0].sum(axis=1), 1.0, atol=1e-6)  # a float32 softmax
    assert np.mean(fitted[0].predict(features) == labels) > 0.6
    assert takes_weights(fitted[0])
    assert gives_probabilities(fitted[0])


def test_weight_decay_is_that_of_the_mean_loss(sample) -> None:
    """At a minimum of mean CE + wd/2 |W|^2 the gradient of the mean loss in the last layer is -wd W, whatever n is."""
    features, labels = sample
    decay = 0.02
    for copies in (1, 3):
        x, y = np.tile(features, (copies, 1)), np.tile(labels, copies)
        network = DecayedNetwork(hidden_units=8, weight_decay=decay, steps=5000, random_state=0)
        network.tol = 1e-9
        network.fit(x, y)
        error = network.predict_proba(x) - np.eye(3)[y]
        gradient = network.last_layer(x).T @ error / len(y)
        # 2e-3 of weights of size 1: L-BFGS stops when the loss no longer falls by 1e-9
        np.testing.assert_allclose(gradient, -decay * network.coefs_[1], atol=2e-3)


def test_decay_by_name() -> None:
    assert make_learner("network(0.01)")[-1].weight_decay == 0.01
    with pytest.raises(InputError, match="weight decay"):
        make_learner("network(-1)")
    with pytest.raises(InputError, match="weight decay"):
        make_learner("network(x)")
