"""Group remedies: DRO against a loop, standardisation and noise against their definitions."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from lopsided.core.errors import InputError
from lopsided.core.mixture_spec import MixtureProblem, mixture_of, problem_of
from lopsided.remedies.augmentation import add_noise, forecast_noise, matching_noise, random_crops
from lopsided.remedies.group_dro import dro_start, dro_step
from lopsided.remedies.group_standardiser import GroupStandardiser


def test_dro_against_a_loop() -> None:
    stream = np.random.default_rng(0)
    sizes, step, adjustment = [500, 60, 7], 0.3, 2.0
    state = dro_start(sizes, step=step, adjustment=adjustment)
    q = [1 / 3] * 3
    for _ in range(40):
        groups = stream.integers(0, 3, size=stream.integers(1, 5))
        losses = stream.uniform(0, 3, size=groups.size)
        mean = {}
        for g in set(groups.tolist()):
            own = [loss for loss, group in zip(losses, groups, strict=True) if group == g]
            mean[g] = sum(own) / len(own)
            q[g] *= math.exp(step * (mean[g] + adjustment / math.sqrt(sizes[g])))
        total = sum(q)
        q = [value / total for value in q]
        state, loss = dro_step(state, losses, groups)
        np.testing.assert_allclose(state.weights, q, rtol=1e-12)
        assert loss == pytest.approx(sum(q[g] * value for g, value in mean.items()), rel=1e-12)


def test_dro_ends_on_the_worst_group_and_the_adjustment_favours_the_small() -> None:
    worst = equal = dro_start([100, 100], step=0.5)
    adjusted = dro_start([1000, 10], step=0.5, adjustment=1.0)
    for _ in range(200):
        worst, _ = dro_step(worst, [1.0, 1.3], [0, 1])
        equal, _ = dro_step(equal, [1.0, 1.0], [0, 1])
        adjusted, _ = dro_step(adjusted, [1.0, 1.0], [0, 1])
    assert worst.weights[1] > 0.999
    np.testing.assert_allclose(equal.weights, 0.5)
    assert adjusted.weights[1] > 0.999


@pytest.mark.parametrize(("losses", "groups"), [([1.0], [2]), ([np.nan], [0]), ([1.0, 2.0], [0]), ([1.0], [0.5])])
def test_dro_refuses(losses, groups) -> None:
    with pytest.raises(InputError):
        dro_step(dro_start([5, 5]), losses, groups)


def test_whitening_gives_zero_means_and_unit_covariances() -> None:
    stream = np.random.default_rng(1)
    groups = np.repeat(["a", "b"], [4000, 3000])
    mix = {"a": np.array([[2.0, 0, 0], [1, 1, 0], [0, 0, 0.3]]), "b": np.eye(3) * 4}
    x = np.vstack([stream.normal(size=(4000, 3)) @ mix["a"] + 5, stream.normal(size=(3000, 3)) @ mix["b"] - 2])
    order = stream.permutation(7000)
    x, groups = x[order], groups[order]
    fitted = GroupStandardiser().fit(x, groups)
    white = fitted.transform(x, groups)
    for group, rows in (("a", white[groups == "a"]), ("b", white[groups == "b"])):
        assert np.abs(rows.mean(axis=0)).max() < 1e-12
        # whitened by the shrunken S' = (1-s) S + s m I, the covariance is S'^(-1/2) S S'^(-1/2)
        s = fitted.shrinkage_[["a", "b"].index(group)]
        values = np.linalg.eigvalsh(np.cov(x[groups == group].T, bias=True))
        expected = values / ((1 - s) * values + s * values.mean())
        np.testing.assert_allclose(np.linalg.eigvalsh(np.cov(rows.T, bias=True)), np.sort(expected), rtol=1e-9)
        assert np.abs(expected - 1).max() < 0.1  # so little shrinkage, or so round a group, that it hardly matters
    centred = GroupStandardiser(whiten=False).fit(x, groups).transform(x[:5], groups[:5])
    means = {g: x[groups == g].mean(axis=0) for g in ("a", "b")}
    np.testing.assert_allclose(centred, x[:5] - np.array([means[g] for g in groups[:5]]), atol=1e-12)


def test_whitening_with_fewer_examples_than_columns() -> None:
    x = np.random.default_rng(2).normal(size=(12, 40))
    white = GroupStandardiser().fit_transform(x, np.repeat([0, 1], 6))
    assert np.isfinite(white).all()


def test_standardiser_mistakes() -> None:
    x, groups = np.random.default_rng(0).normal(size=(6, 2)), np.array([0, 0, 0, 1, 1, 1])
    fitted = GroupStandardiser().fit(x, groups)
    with pytest.raises(InputError, match="but got 7"):
        fitted.transform(x, groups + 6 * (groups == 1))
    with pytest.raises(InputError, match="2 columns"):
        fitted.transform(x[:, :1], groups)
    with pytest.raises(InputError, match="whiten=False"):
        GroupStandardiser().fit(x, [0, 0, 0, 0, 0, 1])
    with pytest.raises(InputError, match="singular"):
        GroupStandardiser().fit(np.ones((6, 2)), groups)
    with pytest.raises(InputError, match="call fit"):
        GroupStandardiser().transform(x, groups)


def test_noise_has_the_variance_asked_for_on_the_share_asked_for() -> None:
    x = np.zeros((400, 50))
    noisy = add_noise(x, 4.0, np.random.default_rng(0), share=0.25)
    touched = np.any(noisy != 0, axis=1)
    assert touched.sum() == 100
    statistic = (noisy[touched] ** 2).sum() / 4.0  # chi2 with 5000 degrees; false alarm 1e-4 on each side
    assert chi2.isf(1 - 1e-4, 5000) < statistic < chi2.isf(1e-4, 5000)
    assert (add_noise(x + 1, 0, np.random.default_rng(0)) == 1).all()


def test_matching_noise_brings_the_group_to_the_others() -> None:
    stream = np.random.default_rng(1)
    groups = np.repeat(["minority", "one", "two"], [3000, 3000, 1000])
    x = stream.normal(size=(7000, 4)) * np.repeat([0.5, 2.0, 1.0], [3000, 3000, 1000])[:, None]
    found = matching_noise(x, groups, "minority", share=0.3)
    inside = groups == "minority"
    noisy = add_noise(x[inside], found.variance, stream, share=0.3)
    wanted = (3 * 4.0 + 1 * 1.0) / 4
    # 4 columns x 3000 rows of a heavy-tailed mixture: standard error about 2.5%; four of them
    assert noisy.var(axis=0).mean() == pytest.approx(wanted, rel=0.1)
    assert found.after == pytest.approx(wanted, rel=0.1)
    assert matching_noise(x, groups, "one").variance == 0
    assert "no noise" in matching_noise(x, groups, "one").why
    with pytest.raises(InputError, match="a group among"):
        matching_noise(x, groups, "three")
    with pytest.raises(InputError, match="target"):
        matching_noise(x, np.zeros(7000), 0)


def problem(scale: float) -> MixtureProblem:
    mixture = mixture_of([0.8, 0.2], np.zeros((2, 2)), [np.eye(2), scale * np.eye(2)])
    return problem_of(mixture, [[1.0, 0.3], [0.2, 1.0]])


def test_forecast_of_noise_at_zero_is_the_fisher_law_and_a_tight_group_gains() -> None:
    from lopsided.theory.fisher_law import FisherLaw

    tight = problem(0.05)
    found = forecast_noise(tight, 1, [0.0, 0.5, 2.0], samples=1000)
    law = FisherLaw(tight).forecast(1000)
    assert found.group_excess[0] == pytest.approx(law.groups[1].excess_risk, rel=1e-9)
    assert found.average_excess[0] == pytest.approx(law.average_excess_risk, rel=1e-9)
    assert found.best > 0
    # with noise the group that is trained on is N(0, (0.05 + delta^2) I): that problem's information, tested on the old
    noisy = problem(0.55)
    inverse = np.linalg.inv(FisherLaw(noisy).information())
    old = FisherLaw(tight).groups[1].information
    assert found.group_excess[1] == pytest.approx(np.trace(inverse @ old) / 2000, rel=1e-6)
    untouched = forecast_noise(tight, 1, [1.0], samples=1000, share=0.0)
    assert untouched.group_excess[0] == pytest.approx(found.group_excess[0], rel=1e-9)
    with pytest.raises(InputError, match="a group from 0 to"):
        forecast_noise(tight, 2, [0.1], samples=10)
    with pytest.raises(InputError, match="variances"):
        forecast_noise(tight, 1, [-0.1], samples=10)


@pytest.mark.parametrize("shape", [(6, 5, 7), (6, 5, 7, 3)])
def test_crops_against_slices(shape) -> None:
    images = np.random.default_rng(0).integers(1, 255, size=shape).astype(np.uint8)
    cropped = random_crops(images, 2, np.random.default_rng(4))
    shifts = np.random.default_rng(4).integers(0, 5, size=(6, 2))
    assert cropped.dtype == np.uint8
    for image, crop, (top, left) in zip(images, cropped, shifts, strict=True):
        padded = np.zeros((9, 11, *shape[3:]), dtype=np.uint8)
        padded[2:-2, 2:-2] = image
        np.testing.assert_array_equal(crop, padded[top : top + 5, left : left + 7])
    np.testing.assert_array_equal(random_crops(images, 0, np.random.default_rng(0)), images)
    with pytest.raises(InputError, match="reshape"):
        random_crops(np.zeros((3, 4)), 1, np.random.default_rng(0))
