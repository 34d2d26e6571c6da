"""Streaming sums against loops over the whole feature matrix."""

import numpy as np
import pytest

import torch
from lopsided.core.errors import InputError
from lopsided.torch.monitor.class_evidence import KeptRows
from lopsided.torch.monitor.class_sums import ClassSums
from lopsided.torch.monitor.phase_sums import RowBuffer, largest_logit, outcomes
from torch import nn

from .reference import epochs, features_of, loop_reference, pair_cosines, small_network

CLASSES = 4


@pytest.fixture
def sample():
    torch.manual_seed(0)
    inputs = torch.randn(700, 5)
    labels = torch.randint(0, CLASSES, (700,))
    labels = torch.where((labels == 3) & (torch.rand(700) < 0.8), 0, labels)  # a minority
    return small_network(CLASSES), inputs + labels[:, None] * 0.5, labels


def expected(model, inputs, labels):
    w, b = (tensor.detach().double().numpy() for tensor in (model[-1].weight, model[-1].bias))
    return loop_reference(features_of(model, inputs), labels.numpy(), w, b, CLASSES), w


@pytest.mark.parametrize("size", [700, 16, 1])
@pytest.mark.parametrize("ordered", [False, True])
def test_every_metric_against_loops(sample, size, ordered) -> None:
    model, inputs, labels = sample
    if ordered:  # batches of one class each, which lack all others
        order = labels.argsort(stable=True)
        inputs, labels = inputs[order], labels[order]
    want, w = expected(model, inputs, labels)
    # Frozen weights: the reference means of the second epoch are its own means, so NC4 is exact.
    record = epochs(model, inputs, labels, 2, size=size, scatter_every=1, patterns=0).records[1]
    phase = record.train
    for name in ("nc1", "nc2_norm_variation", "nc3", "nc4", "feature_energy", "centred_mean_energy", "weight_energy"):
        # Features are computed in float32 in other batch shapes than the reference's: 1e-6 of their size.
        assert getattr(phase.neural_collapse, name) == pytest.approx(want[name], rel=2e-5), name
    for name in ("within_variance", "accuracy", "loss"):
        assert getattr(phase, name) == pytest.approx(want[name], rel=2e-5), name
    assert phase.class_accuracy == pytest.approx(want["class_accuracy"], rel=1e-12)
    assert phase.class_loss == pytest.approx(want["class_loss"], rel=2e-5)
    assert phase.balanced_accuracy == pytest.approx(np.mean(want["class_accuracy"]))
    assert phase.counts == tuple(np.bincount(labels.numpy()).tolist())
    assert phase.scatter_examples == 700
    minority = [k for k in range(CLASSES) if phase.counts[k] < 175]
    majority = [k for k in range(CLASSES) if phase.counts[k] >= 175]
    assert 3 in minority
    centred = want["means"] - want["means"].mean(axis=0)
    assert phase.means.majority_cosine == pytest.approx(pair_cosines(centred, majority), rel=1e-4)
    assert phase.means.between_cosine == pytest.approx(pair_cosines(centred, minority, majority), rel=1e-4)
    assert record.classifier.angles.majority_cosine == pytest.approx(pair_cosines(w, majority), rel=1e-5)
    assert record.classifier.norms == pytest.approx(np.linalg.norm(w, axis=1), rel=1e-6)


def test_exact_measure_needs_one_call(sample) -> None:
    model, inputs, labels = sample
    want, _ = expected(model.eval(), inputs, labels)
    monitor = epochs(model, inputs[:32], labels[:32], 1)
    batches = list(zip(inputs.split(50), labels.split(50), strict=True))
    model.train()
    phase = monitor.measure(batches)
    assert model.training
    for name in ("nc1", "nc3", "nc4"):
        assert getattr(phase.neural_collapse, name) == pytest.approx(want[name], rel=2e-5), name
    with pytest.raises(InputError, match="both passes"):
        monitor.measure(iter(batches))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions(dtype) -> None:
    generator = torch.Generator().manual_seed(1)
    features = (torch.randn(300, 8, generator=generator, dtype=torch.float64) + 20).to(dtype)
    codes = torch.arange(300) % 3
    sums = ClassSums(3, 8, torch.device("cpu"))
    sums.add(features, *outcomes(features[:, :3], codes), codes)
    found = sums.snapshot()
    exact = features.double().numpy()
    for k in range(3):
        # A batch is added in single precision (double for double features): 100 terms, 1e-7 each.
        tolerance = 1e-13 if dtype is torch.float64 else 1e-6
        np.testing.assert_allclose(found.means[k], exact[k::3].mean(axis=0), rtol=tolerance)
    within = sum((exact[k::3] - exact[k::3].mean(0)).T @ (exact[k::3] - exact[k::3].mean(0)) for k in range(3)) / 300
    np.testing.assert_allclose(found.within, within, atol=1e-10 * 400)  # 1e-10 of the mean squared length, 20^2


def test_far_from_the_origin_nothing_cancels() -> None:
    generator = torch.Generator().manual_seed(1)
    features = torch.randn(400, 4, generator=generator, dtype=torch.float64) * 1e-5 + 1000
    codes = torch.arange(400) % 2
    sums = ClassSums(2, 4, torch.device("cpu"))
    for _ in range(2):
        sums.add(features, *outcomes(features[:, :2], codes), codes)
        found = sums.snapshot()
        sums.keep_reference()
        sums.clear()
    exact = sum(np.cov(features[k::2].numpy().T, bias=True) for k in range(2)) / 2
    # Numbers of 1000 are stored to 1e-13, so residuals of 1e-5 to 1e-8 of their size; 1e-16 is 1e-6 of the entries,
    # which are 1e-10. Sums of squares without the reference would be off by 1e-9.
    np.testing.assert_allclose(found.within, exact, atol=1e-16)


def test_sampling_the_scatter_is_unbiased() -> None:
    generator = torch.Generator().manual_seed(1)
    features = torch.randn(20_000, 3, generator=generator)
    sums = ClassSums(2, 3, torch.device("cpu"), interval=10)
    codes = torch.randint(0, 2, (20_000,), generator=generator)
    sums.add(features, *outcomes(features[:, :2], codes), codes)
    found = sums.snapshot()
    assert found.within_examples == 512 + len(range(520, 20_000, 10))
    assert found.counts.sum() == 20_000
    # Standard error of a variance from n examples: sqrt(2/n) = 0.028; four of them.
    assert np.abs(np.diag(found.within) - 1).max() < 4 * np.sqrt(2 / found.within_examples)


def test_sampled_rows_that_wait_keep_their_own_predictions() -> None:
    """One row in five is sampled; those of one buffer wait for the next to make a block."""
    torch.manual_seed(0)
    labels = torch.randint(0, CLASSES, (6400,))
    model, inputs = small_network(CLASSES).eval(), torch.randn(6400, 5) + labels[:, None]
    want, _ = expected(model, inputs, labels)
    with torch.no_grad():
        monitor = epochs(model, inputs, labels, 2, size=400, scatter_every=5, patterns=0)
        predicted = model(inputs).argmax(dim=1).numpy()
    features = features_of(model, inputs)
    nearest = np.linalg.norm(features[:, None] - want["means"], axis=2).argmin(axis=1)
    sampled = np.r_[0:512, 515:6400:5]
    exact = np.mean((nearest != predicted)[sampled])
    # Means are summed in float32: a row or two may lie between two of them.
    assert monitor.records[1].held_out.neural_collapse.nc4 == pytest.approx(exact, abs=2 / sampled.size)


def test_labels_that_carry_no_class() -> None:
    sums = ClassSums(3, 2, torch.device("cpu"))
    features = torch.tensor([[1.0, 2], [3, 4], [np.nan, np.inf], [5, 6]])
    codes = torch.tensor([0, 7, -100, 2])
    sums.add(features, *outcomes(torch.zeros(4, 3), codes), codes)
    found = sums.snapshot()
    assert found.counts.tolist() == [1, 0, 1]
    assert found.unclassed == 1  # 7; the ignored label is no mistake
    assert np.isnan(found.means[1]).all()
    assert np.isfinite(found.within).all()


def test_a_class_that_was_never_seen_is_nobodys_nearest() -> None:
    sums = ClassSums(3, 2, torch.device("cpu"))
    features = torch.tensor([[5.0, 0], [-5, 0]]).repeat(4, 1)
    logits = torch.tensor([[1.0, 0, 0], [0, 1, 0]]).repeat(4, 1)
    for _ in range(2):
        codes = torch.tensor([0, 1] * 4)
        sums.add(features, *outcomes(logits, codes), codes)
        found = sums.snapshot()
        sums.keep_reference()
        sums.clear()
    assert found.nc4 == 0


def test_groups() -> None:
    sums = ClassSums(2, 2, torch.device("cpu"))
    logits = torch.tensor([[2.0, 0], [0, 2], [2, 0], [0, 2]])
    codes = torch.tensor([0, 0, 0, 1])
    sums.add(torch.zeros(4, 2), *outcomes(logits, codes), codes, torch.tensor([0, 0, 2, 2]))
    codes = torch.tensor([1])
    sums.add(torch.zeros(1, 2), *outcomes(logits[:1], codes), codes, torch.tensor([4]))  # more groups appear later
    found = sums.snapshot().groups
    assert found[:, 0].tolist() == [2, 0, 2, 0, 1]
    assert found[:, 1].tolist() == [1, 0, 2, 0, 0]
    low, high = np.log1p(np.exp(-2)), np.log1p(np.exp(2))
    np.testing.assert_allclose(found[:, 2], [low + high, 0, 2 * low, 0, high], rtol=1e-6)  # losses are float32


def test_too_large_a_head_is_refused() -> None:
    with pytest.raises(InputError, match="GB"):
        ClassSums(250_000, 4096, torch.device("cpu"))


def test_a_large_common_mean_leaves_the_variances() -> None:
    """Features of 10,000 +- 1 in float32: differences of sums of squares (1e8 a row) would lose all digits of a
    variance of 1; every number is compared with the same features in float64."""
    torch.manual_seed(0)
    labels = torch.arange(900) % 3
    inputs = torch.randn(900, 6) + 3 * torch.eye(3, 6)[labels] + 1e4
    model = nn.Sequential(nn.Identity(), nn.Linear(6, 3))
    model.eval()
    exact = inputs.double().numpy()
    w, b = (tensor.detach().double().numpy() for tensor in (model[-1].weight, model[-1].bias))
    want = loop_reference(exact, labels.numpy(), w, b, 3)
    grand = want["means"].mean(axis=0)
    between = np.mean([(mean - grand) @ (mean - grand) for mean in want["means"]])
    with torch.no_grad():
        monitor = epochs(model, inputs, labels, 2, size=50, scatter_every=1, patterns=0)
    for record in monitor.records:
        phase = record.held_out
        # Differences from a point near the class are exact in float32; their sums are good to 1e-6.
        assert phase.within_variance == pytest.approx(want["within_variance"], rel=1e-5)
        assert phase.scatter_ratio == pytest.approx(want["within_variance"] / between, rel=1e-5)
        assert phase.neural_collapse.nc1 == pytest.approx(want["nc1"], rel=1e-5)
        assert phase.neural_collapse.feature_energy == pytest.approx(want["feature_energy"], rel=1e-12)
        for k in range(3):
            own = exact[labels.numpy() == k]
            assert phase.class_variance[k] == pytest.approx(own.var(axis=0).sum(), rel=1e-5)
    # The nearest mean is found although products of 1e8 a coordinate leave no digit of distances of 1 in float32;
    # the head's own predictions are float32, so read them from the model.
    with torch.no_grad():
        predicted = model(inputs).argmax(1).numpy()
    nearest = np.array([np.argmin([np.linalg.norm(x - m) for m in want["means"]]) for x in exact])
    assert monitor.records[1].held_out.neural_collapse.nc4 == pytest.approx(np.mean(predicted != nearest), abs=2 / 900)


def test_few_sampled_rows_of_many_classes_still_measure_the_scatter() -> None:
    """With about one sampled row a class, distances to the mean of the sampled rows alone would be near 0."""
    generator = torch.Generator().manual_seed(1)
    codes = torch.arange(8000) % 400
    features = torch.randn(8000, 4, generator=generator)
    sums = ClassSums(400, 4, torch.device("cpu"), interval=1000)
    sums.add(features, *outcomes(torch.zeros(8000, 400), codes), codes)
    found = sums.snapshot()
    assert found.within_examples < 600
    # Standard error of a variance from n examples: sqrt(2/n); four of them, on 1 - 1/20 (20 rows move their mean).
    assert np.abs(np.diag(found.within) - 0.95).max() < 4 * np.sqrt(2 / found.within_examples)


@pytest.mark.parametrize("classes", [255, 256, 300, 1000])
def test_the_largest_logit_of_many(classes) -> None:
    generator = torch.Generator().manual_seed(classes)
    logits = torch.randn(500, classes, generator=generator).round(decimals=1)  # with ties: the first counts
    logits[0, -1] = logits[1, 0] = 9.0
    logits[2] = 0.0
    assert torch.equal(largest_logit(logits), logits.argmax(dim=1))


@pytest.mark.parametrize("size", [3, 128, 1000])
@pytest.mark.parametrize("carried", [True, False])
def test_scores_do_not_depend_on_how_rows_waited(size, carried) -> None:
    """Without features the buffer holds several times as many rows; losses enter one by one, so no bit may differ."""
    generator = torch.Generator().manual_seed(2)
    logits = 3 * torch.randn(9000, 10, generator=generator)
    codes = torch.randint(0, 10, (9000,), generator=generator)
    if not carried:
        codes[::7], codes[::11] = -100, 12
    sums = ClassSums(10, 3, torch.device("cpu"))
    sums.summing = False
    buffer = RowBuffer(sums, KeptRows(10, 3, per_class=True))
    buffer.keeping = False
    waiting = torch.empty(size, dtype=torch.int64)  # a loader may use one tensor for the labels of all batches
    for rows in torch.arange(9000).split(size):
        own = waiting[: len(rows)].copy_(codes[rows])
        buffer.add(torch.zeros(len(rows), 3), logits[rows], own)
    buffer.flush()
    found = sums.snapshot()
    known = ((codes >= 0) & (codes < 10)).numpy()
    want = np.zeros(10)
    np.add.at(want, codes.numpy()[known], outcomes(logits, codes)[1].numpy()[known].astype(np.float64))
    assert (found.losses == want).all()
    assert (found.counts == np.bincount(codes.numpy()[known], minlength=10)).all()
    assert (found.correct == np.bincount(codes[known & (logits.argmax(1) == codes).numpy()], minlength=10)).all()
    assert found.unclassed == int((codes == 12).sum())


def test_outcomes_in_blocks_are_those_of_single_rows() -> None:
    """The largest logit comes from the predicted class; 400 rows of 1,000 logits make several blocks."""
    generator = torch.Generator().manual_seed(3)
    logits, codes = 5 * torch.randn(400, 1000, generator=generator), torch.randint(0, 1000, (400,), generator=generator)
    predicted, losses = outcomes(logits, codes)
    assert torch.equal(predicted, logits.argmax(dim=1))
    exact = nn.functional.cross_entropy(logits.double(), codes, reduction="none")
    # A thousand terms in single precision: a hundred roundings of 6e-8 of a loss of about 10.
    assert (losses - exact).abs().max() < 1e-5
