"""Remedies of a plan as PyTorch objects, each registered for its class with `remedies.contract.torch_form`.

    over- and undersampling   a sampler of the rows of the data, correct under DistributedDataParallel
    oversampling with noise   the same with `.noise`: inputs = sampler.noise(inputs, classes) in the training loop
    group weights             a sampler over cells of class and group
    class weights             WeightedCrossEntropy of the weights, scaled to mean 1 over the training rows
    logit adjustment          a layer that adds the offsets to the logits of a finished model
    threshold moving          the same with the offsets of the plan's pilot
    losses of networks        BalancedSoftmaxLoss, LDAMLoss, FocalLoss for the classes' counts
    their last layers         a function from a finished model to a copy with another last layer

The others have none, and say what to do instead (`Remedy.without_form`): SMOTE makes synthetic examples before
training, group DRO and standardising by group need the groups of every batch.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import torch
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray
from lopsided.data.labelled_set import LabelledSet
from lopsided.data.rows import width
from lopsided.remedies.balanced_softmax import BalancedSoftmax
from lopsided.remedies.class_weighting import ClassWeighting
from lopsided.remedies.classifier_retraining import ClassifierRetraining
from lopsided.remedies.contract import Remedy, by_name, present, torch_form
from lopsided.remedies.focal import Focal
from lopsided.remedies.group_weighting import GroupWeighting
from lopsided.remedies.ldam import Ldam
from lopsided.remedies.logit_adjustment import LogitAdjustment
from lopsided.remedies.noisy_oversampling import NoisyOversampling
from lopsided.remedies.oversampling import Oversampling
from lopsided.remedies.tau_normalisation import TauNormalisation
from lopsided.remedies.threshold_moving import ThresholdMoving
from lopsided.torch.remedies.classifier_retraining import retrain_classifier, tau_normalise
from lopsided.torch.remedies.focal_loss import FocalLoss
from lopsided.torch.remedies.ldam_loss import LDAMLoss
from lopsided.torch.remedies.logit_adjusted import BalancedSoftmaxLoss
from lopsided.torch.remedies.oversampling_sampler import OversamplingSampler
from lopsided.torch.remedies.weighted_loss import WeightedCrossEntropy
from torch import Tensor, nn

_ROWS = 512  # of a batch whose features are read


class PlannedSampler(OversamplingSampler):
    """An `OversamplingSampler` of the rows that a plan was made for, without test rows. In every epoch it gives the
    remedy's `epoch_indices`."""

    def __init__(
        self, remedy: Remedy, training: LabelledSet, rate: dict[Any, float], groups: Any = None, *, seed: int = 0
    ) -> None:
        super().__init__(np.array(training.classes.names)[training.classes.codes], groups, rate, seed=seed)
        self.remedy, self.training = remedy, training

    def epoch_indices(self, epoch: int) -> IntArray:
        """The rows of an epoch, over all processes."""
        return self.remedy.epoch_indices(self.training, self.seed, epoch)


class CopyNoise(nn.Module):  # type: ignore[misc]
    """Gaussian noise on oversampled copies, called as `noise(inputs, classes)`; acts in train mode only.

    A batch does not show which of several equal examples is the original. So each gets noise with probability (rate -
    1) / rate, with `noise` standard deviations of its class in every column.
    """

    def __init__(self, deviations: FloatArray, shares: FloatArray, *, seed: int = 0) -> None:
        super().__init__()
        self.deviations: Tensor
        self.shares: Tensor
        self.register_buffer("deviations", torch.as_tensor(deviations, dtype=torch.float32))
        self.register_buffer("shares", torch.as_tensor(shares, dtype=torch.float32))
        self.generator = torch.Generator().manual_seed(seed)

    def forward(self, inputs: Tensor, classes: Tensor) -> Tensor:
        """The batch with noise on copies; `classes` are positions in the plan's class names."""
        if not self.training:
            return inputs
        if inputs[:1].numel() not in (0, self.deviations.shape[1]):
            raise InputError(
                f"inputs with the plan's {self.deviations.shape[1]} features",
                f"shape {tuple(inputs.shape)}",
                "give the features that the plan was made from",
            )
        moved = torch.rand(inputs.shape[0], generator=self.generator).to(inputs.device) < self.shares[classes]
        noise = torch.randn(inputs.shape, generator=self.generator).to(inputs)
        return inputs + moved.reshape(-1, *[1] * (inputs.ndim - 1)) * noise * self.deviations[classes].reshape(
            inputs.shape
        )


@torch_form.register
def _sampler(remedy: Oversampling, training: LabelledSet, *, seed: int = 0) -> PlannedSampler:
    return PlannedSampler(remedy, training, dict(remedy.rates), seed=seed)


@torch_form.register
def _group_sampler(remedy: GroupWeighting, training: LabelledSet, *, seed: int = 0) -> PlannedSampler:
    assert training.groups is not None
    weights = remedy.example_weights(training)
    groups = np.array(training.groups.names)[training.groups.codes]
    cells = zip(np.array(training.classes.names)[training.classes.codes].tolist(), groups.tolist(), strict=True)
    rate = dict(zip(cells, (weights / weights.min()).tolist(), strict=True))
    return PlannedSampler(remedy, training, rate, groups, seed=seed)


@torch_form.register
def _noisy_sampler(remedy: NoisyOversampling, training: LabelledSet, *, seed: int = 0) -> PlannedSampler:
    sampler = _sampler(remedy, training, seed=seed)
    deviations, columns = remedy.deviations(training), width(training.features)
    if deviations.shape[1] != columns:
        got = f"{deviations.shape[1]} of {columns} columns with numbers"
        raise InputError("a table of numbers for noise in PyTorch", got, "encode the other columns, or use sklearn()")
    shares = np.maximum(1.0 - 1.0 / by_name(remedy.rates, training.classes.names), 0.0)
    sampler.noise = CopyNoise(remedy.noise * deviations, shares, seed=seed)
    return sampler


@torch_form.register
def _loss(remedy: ClassWeighting, training: LabelledSet, *, seed: int = 0) -> WeightedCrossEntropy:
    weights = by_name(remedy.class_weights, training.classes.names)
    return WeightedCrossEntropy((weights / weights[training.classes.codes].mean()).tolist())


@torch_form.register(LogitAdjustment)
@torch_form.register(ThresholdMoving)
def _layer(remedy: Remedy, training: LabelledSet, *, seed: int = 0) -> nn.Linear:
    offsets = torch.tensor(remedy.class_offsets(training), dtype=torch.float32)
    layer = nn.Linear(offsets.numel(), offsets.numel())
    with torch.no_grad():
        layer.weight.copy_(torch.eye(offsets.numel()))
        layer.bias.copy_(offsets)
    return layer.requires_grad_(False)


@torch_form.register
def _balanced_softmax(remedy: BalancedSoftmax, training: LabelledSet, *, seed: int = 0) -> BalancedSoftmaxLoss:
    return BalancedSoftmaxLoss(present(training.classes).counts.tolist())


@torch_form.register
def _ldam(remedy: Ldam, training: LabelledSet, *, seed: int = 0) -> LDAMLoss:
    return LDAMLoss(present(training.classes).counts.tolist(), margin=remedy.margin)


@torch_form.register
def _focal(remedy: Focal, training: LabelledSet, *, seed: int = 0) -> FocalLoss:
    return FocalLoss(remedy.gamma)


@torch_form.register
def _retraining(
    remedy: ClassifierRetraining, training: LabelledSet, *, seed: int = 0
) -> Callable[[nn.Module], nn.Module]:
    rows = torch.as_tensor(np.asarray(training.features), dtype=torch.float32)
    codes = torch.as_tensor(present(training.classes).codes)
    batches = list(zip(rows.split(_ROWS), codes.split(_ROWS), strict=True))
    return partial(retrain_classifier, loader=batches, variance=remedy.variance)


@torch_form.register
def _tau_norm(remedy: TauNormalisation, training: LabelledSet, *, seed: int = 0) -> Callable[[nn.Module], nn.Module]:
    return partial(tau_normalise, tau=remedy.tau)
