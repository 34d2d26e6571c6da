"""Definition 1 and the lemmas' quantities against plain loops."""

import numpy as np

from lopsided.core.seeds import generator
from lopsided.data.patches import draw_patches, patch_distribution
from lopsided.measure.patch_network import activated_share, long_tail_levels, own_noise_preference, weight_spectra


def test_measures_against_loops() -> None:
    K, m, d = 3, 6, 25
    distribution, _ = patch_distribution([4, 5, 6], d, ratios=7.0)
    drawn = draw_patches(distribution, 0)
    W = generator(0, "weights").standard_normal((K, m, d))
    W[1] -= 100 * drawn.noise[5] / np.linalg.norm(drawn.noise[5])  # example 5 (class 1) activates nothing of its class
    levels = long_tail_levels(W, drawn.noise, drawn.labels, distribution.matrices)
    shares = activated_share(W, drawn.noise, drawn.labels)
    for i, (xi, y) in enumerate(zip(drawn.noise, drawn.labels, strict=True)):
        A = distribution.matrices[y].dense()
        active = [r for r in range(m) if W[y, r] @ xi > 0]
        total = sum((W[y, r] for r in active), np.zeros(d))
        wanted = total @ xi / np.linalg.norm(A.T @ total) if active else 0.0
        np.testing.assert_allclose(levels[i], wanted, rtol=1e-10)
        assert shares[i] == len(active) / m
    assert shares[5] == levels[5] == 0
    table = own_noise_preference(W, drawn.noise, drawn.labels)
    wanted = np.mean([sum(max(W[2, r] @ xi, 0) for r in range(m)) for xi in drawn.noise[drawn.labels == 0]])
    np.testing.assert_allclose(table[2, 0], wanted, rtol=1e-12)
    spectrum = weight_spectra(W, distribution.matrices, examples=2)
    for k in range(K):
        values = np.linalg.svd(W[k] @ distribution.matrices[k].dense(), compute_uv=False)
        np.testing.assert_allclose([spectrum.largest[k], spectrum.tail[k]], [values[0], values[m - 2 - 1]], rtol=1e-9)
    assert spectrum.rank.tolist() == [m] * K
    assert weight_spectra(W, distribution.matrices, examples=15).tail is None


def test_typical_level_is_of_order_one() -> None:
    """For one fixed neuron <w, xi> / |A^T w| is standard normal; L of Definition 1 keeps its positive part."""
    distribution, _ = patch_distribution([2000, 2000], 30, ratios=3.0)
    drawn = draw_patches(distribution, 0)
    W = generator(1, "one neuron").standard_normal((2, 1, 30))
    levels = long_tail_levels(W, drawn.noise, drawn.labels, distribution.matrices)
    # Half are zero; the others are half normal with mean sqrt(2/pi): four standard errors over 4000 draws.
    assert abs((levels > 0).mean() - 0.5) < 4 * 0.5 / np.sqrt(4000)
    assert abs(levels[levels > 0].mean() - np.sqrt(2 / np.pi)) < 4 * 0.6 / np.sqrt(2000)
