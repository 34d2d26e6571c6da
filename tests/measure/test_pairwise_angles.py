"""Angles taken once, against the functions that take them one by one."""

import numpy as np
import pytest

from lopsided.measure.angles import cosine_summary, cosines, frame_distance, pairwise_angles
from lopsided.measure.neural_collapse import PooledMoments, nuclear_norm_of_product, summarise

# beyond 256 rows the products are float32: 1e-7 a product, 1e-6 in sums
TOLERANCE = {40: 1e-12, 300: 2e-6}


@pytest.mark.parametrize("classes", [40, 300])
@pytest.mark.parametrize("zero_row", [False, True])
def test_every_reading(classes, zero_row) -> None:
    random = np.random.default_rng(0)
    rows = random.normal(size=(classes, 10)) * random.uniform(0.1, 10, (classes, 1)) + 1
    if zero_row:
        rows[3] = 0
    found, tolerance = pairwise_angles(rows), TOLERANCE[classes]
    inside = np.arange(classes) < classes // 3
    whole = cosine_summary(rows)
    assert found.mean(inside) == pytest.approx(cosine_summary(rows, inside).mean, abs=tolerance)
    between = np.nanmean(cosines(rows)[np.ix_(inside, ~inside)])
    assert found.mean(inside, ~inside) == pytest.approx(between, abs=tolerance)
    assert found.mean(np.ones(classes, dtype=bool)) == pytest.approx(whole.mean, abs=tolerance)
    assert found.largest == pytest.approx(whole.largest, abs=tolerance)
    first, second = found.closest
    assert cosines(rows)[first, second] == pytest.approx(whole.largest, abs=tolerance)
    assert first < second
    np.testing.assert_allclose(np.sort(found.of_pairs), np.sort(whole.values), atol=tolerance)
    assert found.frame_distance() == pytest.approx(frame_distance(rows), abs=tolerance)
    # centring by the Gram matrix loses the digits of the common part: a few, of which float32 has seven
    np.testing.assert_allclose(found.centred(rows), cosines(rows - rows.mean(axis=0)), atol=100 * tolerance)
    part = found.take(inside)
    assert part.frame_distance() == pytest.approx(frame_distance(rows[inside]), abs=tolerance)


@pytest.mark.parametrize("classes", [40, 300])
def test_a_huge_common_part_does_not_spoil_centred_cosines(classes) -> None:
    random = np.random.default_rng(0)
    rows = random.normal(size=(classes, 10))
    # rows of 1e6 are stored to 1e-10 of their differences; then float32 products beyond 256 rows
    np.testing.assert_allclose(
        pairwise_angles(rows + 1e6).centred(rows + 1e6), cosines(rows - rows.mean(axis=0)), atol=1e-6
    )


def test_nothing_to_measure() -> None:
    one = pairwise_angles(np.ones((1, 3)))
    assert one.closest is None
    assert one.largest is None
    assert one.frame_distance() is None
    zeros = pairwise_angles(np.zeros((3, 3)))
    assert zeros.closest is None
    assert zeros.mean(np.ones(3, dtype=bool)) is None
    assert zeros.frame_distance() is None


@pytest.mark.parametrize(("classes", "width"), [(20, 7), (7, 20), (300, 150), (150, 300), (150, 150)])
def test_nuclear_norm_of_a_product(classes, width) -> None:
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, classes, width))
    want = np.linalg.svd(a @ b.T, compute_uv=False).sum()
    assert nuclear_norm_of_product(a, b) == pytest.approx(want, rel=1e-6)  # stated: 1e-8 a singular value
    a[:, 1:] = 0  # rank one
    assert nuclear_norm_of_product(a, b) == pytest.approx(np.linalg.norm(a) * np.linalg.norm(b[:, 0]), rel=1e-5)


@pytest.mark.parametrize("spread", [1.0, 1e-6])
def test_nc1_of_many_classes(spread) -> None:
    """By Cholesky where the means are well spread, by decomposition where one direction nearly lacks; the same."""
    random = np.random.default_rng(0)
    moments = PooledMoments(200, 140)
    moments.counts[:] = 10
    moments.means = random.normal(size=(200, 140))
    moments.means[:, 0] *= spread
    factor = random.normal(size=(140, 140))
    moments.scatter = factor @ factor.T * 2000
    centred = moments.centred_means
    want = np.trace(moments.within_covariance @ np.linalg.pinv(centred.T @ centred / 200, rcond=1e-20)) / 200
    # the reference inverts with the condition number squared: 1e12 of 1e16 at the smaller spread
    assert summarise(moments, None, None).nc1 == pytest.approx(want, rel=1e-9 if spread == 1 else 1e-3)
