"""Measurements on (H, y, W) against brute force, in one piece and in batches."""

import numpy as np
import pytest

from lopsided.core.errors import InputError
from lopsided.measure.angles import cosine_summary, cosines, frame_distance, norm_variation
from lopsided.measure.neural_collapse import PooledMoments, neural_collapse, neural_collapse_streaming


@pytest.fixture
def sample():
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 4, size=300)
    means = generator.normal(size=(4, 7)) * 3 + 50  # far from the origin, where naive sums of squares lose digits
    features = means[labels] + generator.normal(size=(300, 7))
    return features, labels, generator.normal(size=(4, 7)), generator.normal(size=4)


def brute(features, labels, w, b):
    classes = np.unique(labels)
    means = np.array([features[labels == k].mean(axis=0) for k in classes])
    grand = means.mean(axis=0)
    within = sum(np.outer(x - means[y], x - means[y]) for x, y in zip(features, labels, strict=True)) / len(features)
    between = sum(np.outer(m - grand, m - grand) for m in means) / len(classes)
    centred = means - grand
    disagree = sum(int(np.argmax(w @ x + b) != np.argmin([np.linalg.norm(x - m) for m in means])) for x in features)
    return {
        "nc1": np.trace(within @ np.linalg.pinv(between)) / len(classes),
        "nc2_norm_variation": np.linalg.norm(centred, axis=1).std() / np.linalg.norm(centred, axis=1).mean(),
        "nc3": np.linalg.norm(w / np.linalg.norm(w) - centred / np.linalg.norm(centred)),
        "nc4": disagree / len(features),
        "feature_energy": np.mean([(features[labels == k] ** 2).sum(axis=1).mean() for k in classes]),
        "weight_energy": (w**2).sum(axis=1).mean(),
    }


def test_against_brute_force(sample) -> None:
    found = neural_collapse(*sample)
    for name, value in brute(*sample).items():
        # Sums of 300 x 7 terms: rounding only.
        assert getattr(found, name) == pytest.approx(value, rel=1e-10), name


def test_batches_in_any_order_and_missing_classes(sample) -> None:
    features, labels, w, b = sample
    order = np.argsort(labels, kind="stable")  # early batches lack most classes
    pieces = np.array_split(order, 13)
    whole = neural_collapse(*sample)
    parts = neural_collapse_streaming(lambda: ((features[i], labels[i]) for i in pieces), 4, 7, w, b)
    for name in ("nc1", "nc2_norm_variation", "nc2_angle_deviation", "nc3", "nc4", "feature_energy"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-10), name
    first, second = PooledMoments(4, 7), PooledMoments(4, 7)
    for position, rows in enumerate(pieces):
        (first if position % 2 else second).update(features[rows], labels[rows])
    first.merge(second)
    together = PooledMoments(4, 7)
    together.update(features, labels)
    np.testing.assert_allclose(first.scatter, together.scatter, rtol=1e-10)
    np.testing.assert_allclose(first.means, together.means, rtol=1e-12)


def test_perfect_collapse() -> None:
    frame = np.pad(np.sqrt(5 / 4) * (np.eye(5) - 1 / 5), ((0, 0), (0, 3)))  # the 5-simplex frame of unit rows, in R^8
    labels = np.repeat(np.arange(5), 6)
    found = neural_collapse(frame[labels] * 2, labels, frame)
    assert found.nc1 == pytest.approx(0, abs=1e-15)
    assert found.nc2_norm_variation == pytest.approx(0, abs=1e-12)
    assert found.nc2_angle_deviation == pytest.approx(0, abs=1e-12)
    assert found.nc3 == pytest.approx(0, abs=1e-12)
    assert found.nc4 == 0
    assert found.means_frame_distance == pytest.approx(0, abs=1e-12)


def test_rotation_and_scale(sample) -> None:
    features, labels, w, b = sample
    rotation, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(7, 7)))
    turned = neural_collapse(features @ rotation, labels, w @ rotation, b)
    plain = neural_collapse(*sample)
    assert turned.nc1 == pytest.approx(plain.nc1, rel=1e-9)
    assert turned.nc3 == pytest.approx(plain.nc3, rel=1e-9)
    assert frame_distance(w) == pytest.approx(frame_distance(-7 * w @ rotation), rel=1e-9)


def test_string_labels_and_refusals(sample) -> None:
    features, labels, w, b = sample
    named = np.array(["ant", "bee", "cat", "dog"])[labels]
    assert neural_collapse(features, named, w, b).nc1 == neural_collapse(features, labels, w, b).nc1
    for bad in (features[:-1], features[:, 0], np.where(features > 55, np.nan, features)):
        with pytest.raises(InputError):
            neural_collapse(bad, labels, w, b)
    with pytest.raises(InputError, match="two classes"):
        neural_collapse(features, np.zeros(300, dtype=int))
    with pytest.raises(InputError, match="none of class 3"):
        neural_collapse_streaming(lambda: [(features[labels < 3], labels[labels < 3])], 4, 7)


def test_degenerate_features(sample) -> None:
    _, labels, w, b = sample
    flat = neural_collapse(np.ones((300, 7)), labels, w, b)
    assert flat.nc1 is None
    assert flat.nc2_angle_deviation is None
    for scale in (1e200, 1e-200):
        with pytest.raises(InputError, match="rescale"):
            neural_collapse(sample[0] * scale, labels)
        with pytest.raises(InputError, match="classifier weights of ordinary size"):
            neural_collapse(sample[0], labels, w * scale, b)
    assert norm_variation(w * 1e200) == pytest.approx(norm_variation(w))


def test_a_pass_that_does_not_start_anew_is_noticed(sample) -> None:
    features, labels, w, b = sample
    once = iter([(features, labels)])
    with pytest.raises(InputError, match="both passes"):
        neural_collapse_streaming(lambda: once, 4, 7, w, b)


def test_cosines() -> None:
    with pytest.raises(InputError, match="mask"):
        cosine_summary(np.eye(4), np.array([True, False]))
    vectors = np.array([[1e-200, 0], [0, 1e200], [0, 0], [1, 1]])
    matrix = cosines(vectors)
    assert matrix[0, 1] == 0
    assert matrix[0, 3] == pytest.approx(np.sqrt(0.5))
    assert np.isnan(matrix[2]).all()
    summary = cosine_summary(vectors)
    assert summary.undefined_pairs == 3
    assert summary.mean == pytest.approx((0 + 2 * np.sqrt(0.5)) / 3)
    assert cosine_summary(vectors, np.array([True, True, False, True])).values.size == 3
    assert norm_variation(np.eye(3)) == 0


def test_imagenet_head(data_folder) -> None:
    """The real classifier: its angles by a plain double loop over a sample of pairs."""
    with np.load(data_folder / "classifier-heads" / "efficientnet_lite0_imagenet1k_fc.npz") as archive:
        w = archive[archive.files[0]] if archive[archive.files[0]].ndim == 2 else archive[archive.files[1]]
    matrix = cosines(w)
    for i, j in [(0, 1), (10, 999), (500, 501)]:
        a, b = w[i].astype(float), w[j].astype(float)
        assert matrix[i, j] == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), rel=1e-12)
    assert frame_distance(w) > 0.05  # not a simplex frame
