"""The two-patch data: factored matrices against dense ones, requested ratios achieved, moments of the noise laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lopsided.core.errors import InputError
from lopsided.core.factored import FactoredMatrix, product_norms
from lopsided.core.noise_geometry import noise_geometry
from lopsided.core.seeds import generator
from lopsided.data.patches import FAMILIES, PatchDistribution, draw_patches, patch_distribution


def random_matrix(random, d, q, r):
    avoided = np.linalg.qr(random.standard_normal((d, q)))[0]
    left = random.standard_normal((d, r))
    left -= avoided @ (avoided.T @ left)
    return FactoredMatrix(float(random.normal()), avoided, left, random.standard_normal((d, r)))


@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(0, 3))
def test_factored_against_dense(seed, q, r) -> None:
    random = generator(seed, "factored")
    A = random_matrix(random, 12, q, r)
    B = FactoredMatrix(0.7, A.avoided, A.left * 0.5, random.standard_normal(A.right.shape))
    dense, other = A.dense(), B.dense()
    formed = A.scale * (np.eye(12) - A.avoided @ A.avoided.T) + A.left @ A.right.T
    x = random.standard_normal((4, 12))
    # Everything here is a handful of float64 products of numbers of order 10: 1e-11 is far above their rounding.
    np.testing.assert_allclose(dense, formed, atol=1e-12)
    np.testing.assert_allclose(A.apply(x), x @ formed.T, atol=1e-11)
    np.testing.assert_allclose(A.apply_transposed(x), x @ formed, atol=1e-11)
    frobenius, operator = product_norms(A, B)
    np.testing.assert_allclose(frobenius, np.linalg.norm(formed.T @ other, "fro") ** 2, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(operator, np.linalg.norm(formed.T @ other, 2), rtol=1e-9, atol=1e-9)
    geometry = noise_geometry([A, B])
    values = np.linalg.svd(formed, compute_uv=False)
    np.testing.assert_allclose(geometry.trace[0], np.square(values).sum(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(geometry.largest[0], values[0], rtol=1e-9, atol=1e-12)
    assert geometry.rank[0] == np.linalg.matrix_rank(formed, tol=1e-10 * max(values[0], 1e-300))


def test_noise_that_meets_a_feature_is_refused() -> None:
    avoided = np.eye(4)[:, :1]
    with pytest.raises(InputError, match="meets a feature"):
        FactoredMatrix(1.0, avoided, np.eye(4)[:, :2], np.eye(4)[:, :2])


@pytest.mark.parametrize("ratio", [1.0, 1.0001, 1.2, 10.0, 100.0, 1400.0, 1e5])
def test_equal_ratio_is_the_papers_construction(ratio) -> None:
    K, d = 5, 200
    distribution, built = patch_distribution([100] * K, d, ratios=ratio)
    assert built.largest_error < 1e-9  # the tolerance; the construction is exact up to rounding
    R = d - K
    eigenvalue = np.sqrt((ratio + np.sqrt((ratio - 1) * (ratio + R - 1))) / 4)
    A = distribution.matrices[2].dense()
    v = built.directions[:, 2]
    P = np.eye(d) - distribution.matrices[0].avoided @ distribution.matrices[0].avoided.T
    # brentq stops at 1e-15 of t, whose square root enters A.
    np.testing.assert_allclose(A, P / 2 + (eigenvalue - 0.5) * np.outer(v, v), atol=1e-6 * eigenvalue)


def test_ratios_by_pair_and_unequal_sizes() -> None:
    sizes = np.array([200, 50, 100])
    random = generator(3, "pairs")
    for _ in range(20):
        # Any scales and any nearly diagonal correlations give a consistent request.
        scales = np.exp(random.normal(size=3) * 0.5)
        correlation = np.eye(3)
        for i in range(3):
            for j in range(i):
                correlation[i, j] = correlation[j, i] = random.uniform(0.05, 0.3)
        T = correlation * np.outer(scales, scales)
        wanted = (sizes * np.diag(T))[:, None] / (sizes * T)
        distribution, built = patch_distribution(sizes, 120, ratios=wanted)
        assert built.largest_error < 1e-9
        dense = [A.dense() for A in distribution.matrices]
        for i in range(3):
            for j in range(3):
                direct = (sizes[i] * np.linalg.norm(dense[i].T @ dense[i]) ** 2) / (
                    sizes[j] * np.linalg.norm(dense[i].T @ dense[j]) ** 2
                )
                np.testing.assert_allclose(direct, wanted[i, j], rtol=1e-9)
    distribution, built = patch_distribution(sizes, 120, ratios=30.0)  # one ratio with unequal sizes
    assert built.largest_error < 1e-9


def test_impossible_ratios_are_refused() -> None:
    with pytest.raises(InputError, match="Cauchy"):
        patch_distribution([10, 10], 50, ratios=0.5)
    inconsistent = np.array([[1, 8, 8], [8, 1, 8], [9, 8, 1]])
    with pytest.raises(InputError, match="cycle"):
        patch_distribution([10] * 3, 50, ratios=inconsistent)
    with pytest.raises(InputError, match="matrix of ratios"):
        patch_distribution([10, 10], 50, ratios=[1.0, 2.0, 3.0])
    for bad in (np.nan, np.inf, -1.0):
        with pytest.raises(InputError):
            patch_distribution([10, 10], 50, ratios=bad)
    with pytest.raises(InputError, match="the dimension"):
        patch_distribution([10] * 5, 9)
    with pytest.raises(InputError, match="noise family"):
        patch_distribution([10, 10], 50, family="cauchy")


def test_large_dimension_stays_factored() -> None:
    distribution, built = patch_distribution([5] * 5, 10_000, ratios=50.0)
    assert built.largest_error < 1e-9
    assert draw_patches(distribution, 0).noise.shape == (25, 10_000)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_noise_laws(name) -> None:
    family = FAMILIES[name]
    draws = family.draw(generator(0, "law", name), (1000, 400))
    n = draws.size
    # Four standard errors of a mean over n draws; the sixth and eighth moments are at most 105.
    assert abs(draws.mean()) < 4 / np.sqrt(n)
    assert abs(np.square(draws).mean() - 1) < 4 * np.sqrt((family.fourth_moment - 1) / n) + 1e-12
    assert abs((draws**4).mean() - family.fourth_moment) < 4 * np.sqrt(105 / n)
    if family.threshold is None:
        assert (draws > 0).mean() < 0.3
    else:
        assert abs(
            (draws > family.threshold * (1 - 1e-9)).mean() - (0.5 if name == "signs" else 0.4)
        ) < 4 * 0.5 / np.sqrt(n)


def test_sample_follows_the_definition() -> None:
    distribution, _ = patch_distribution([3000, 2000], 20, feature_norms=[2.0, 0.5], ratios=4.0, family="uniform")
    sample = draw_patches(distribution, 1, "train")
    assert np.bincount(sample.labels).tolist() == [3000, 2000]
    np.testing.assert_allclose(distribution.feature_norms, [2.0, 0.5])
    np.testing.assert_allclose(sample.noise @ sample.features.T, 0, atol=1e-12)  # u_k^T A_j = 0
    for k in range(2):
        own = sample.noise[sample.labels == k]
        A = distribution.matrices[k].dense()
        # A covariance from 2000 draws errs by at most |Sigma|_op sqrt(2/2000); five of them.
        error = 5 * np.linalg.norm(A, 2) ** 2 * np.sqrt(2 / own.shape[0])
        np.testing.assert_allclose(own.T @ own / own.shape[0], A @ A.T, atol=error)
    patches = sample.patches()
    first = np.abs(patches[:, 0] - sample.features[sample.labels]).max(axis=1) < 1e-12
    assert 0.45 < first.mean() < 0.55  # the feature's place is a fair coin: 5 standard errors of 5000 tosses
    np.testing.assert_allclose(patches.sum(axis=1), sample.features[sample.labels] + sample.noise)
    again = draw_patches(distribution, 1, "train")
    np.testing.assert_array_equal(sample.noise, again.noise)
    assert not np.allclose(sample.noise, draw_patches(distribution, 1, "test").noise)


def test_homogeneous_special_case() -> None:
    distribution, _ = patch_distribution([50, 50], 30, ratios=1.0, base=1.0)
    P = np.eye(30) - sum(np.outer(u, u) / (u @ u) for u in distribution.features)
    for A in distribution.matrices:
        np.testing.assert_allclose(A.dense() @ A.dense().T, P, atol=1e-12)


def test_classes_and_matrices_must_match() -> None:
    distribution, _ = patch_distribution([5, 5], 10)
    with pytest.raises(InputError, match="2 and 1"):
        PatchDistribution(distribution.features, distribution.matrices[:1], distribution.sizes)


def test_any_noise_matrix_can_be_given() -> None:
    random = generator(0, "dense")
    features = np.linalg.qr(random.standard_normal((9, 2)))[0]
    given = [random.standard_normal((9, 9)) for _ in range(2)]
    P = np.eye(9) - features @ features.T
    parts = [np.linalg.svd(P @ matrix) for matrix in given]
    matrices = tuple(FactoredMatrix(0.0, features, (u * s)[:, :7], v[:7].T) for u, s, v in parts)  # 9 less 2 directions
    for matrix, A in zip(given, matrices, strict=True):
        np.testing.assert_allclose(A.dense(), P @ matrix, atol=1e-12)
    distribution = PatchDistribution(3 * features.T, matrices, np.array([4, 5]))
    assert draw_patches(distribution, 0).noise.shape == (9, 9)
    direct = np.linalg.norm((P @ given[0]).T @ (P @ given[1])) ** 2
    np.testing.assert_allclose(distribution.geometry().squared_frobenius[0, 1], direct, rtol=1e-10)
