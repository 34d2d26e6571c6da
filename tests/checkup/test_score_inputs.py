"""What `score` says about inputs that people get wrong, and the convention of its noise matrix."""

import numpy as np
import pytest

import lopsided
from lopsided.core.errors import InputError
from lopsided.measure.noise_matrix import noise_matrix

X = np.random.default_rng(0).standard_normal((60, 3))
Y = np.arange(60) % 3


def test_labels_that_cannot_be_found_or_do_not_fit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("short.npz", features=X, labels=Y[:50])
    (tmp_path / "empty.txt").write_text("")
    for call, words in (
        (lambda: lopsided.score("short.npz"), "60 entries in labels"),
        (lambda: lopsided.score(X, "nofile.npy"), "which does not exist"),
        (lambda: lopsided.score(X, "empty.txt"), "empty"),
        (lambda: lopsided.score(np.ma.masked_less(X, 0), Y), "masked"),
        (lambda: lopsided.score(1e100 * X, Y), "rescale"),
        (lambda: lopsided.score(1e-100 * X, Y), "rescale"),
    ):
        with pytest.raises(InputError, match=words):
            call()


def test_the_convention_divides_the_noise_matrix_too():
    for estimator in ("sample", "shrunk"):
        ours = noise_matrix(X, Y, estimator=estimator, convention="n", resamples=0)
        usual = noise_matrix(X, Y, estimator=estimator, resamples=0)
        # Both covariances shrink by (n - 1)/n, and Ledoit and Wolf's share does not depend on the scale; rounding only.
        assert np.allclose(ours.products, usual.products * (19 / 20) ** 2, rtol=1e-12)
    spread = np.cov(X[Y == 0].T, bias=True)
    assert noise_matrix(X, Y, estimator="sample", convention="n", resamples=0).products[0, 0] == pytest.approx(
        np.sum(spread**2), rel=1e-12
    )
    with pytest.raises(InputError):
        noise_matrix(X, Y, estimator="unbiased", convention="n")
