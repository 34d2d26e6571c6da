"""The training loop: cross entropy by SGD, with weights, an order of examples, logit adjustment or augmentation.

    minimise (1/N) sum_i v_i CE(f(x_i) + adjustment, y_i) + (weight decay / 2) |all parameters|^2,   mean v_i = 1

Made for one CPU: the data are one tensor from which batches are taken by index; there are no worker processes. One seed
determines everything (order, augmentation, dropout), and each step has its own stream, so a run that was interrupted
and resumed from its checkpoint gives exactly the same result as one that was not.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from torch.nn.functional import cross_entropy

import torch
from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray
from lopsided.learners.deep.checkpoint import Checkpoint, fingerprint_of, held_interruptions
from lopsided.learners.deep.classifier import Classifier, FloatRows, Inputs, as_tensor, features_of, logits_of
from lopsided.learners.deep.optimisers import FlatAdamW, FlatSGD
from lopsided.learners.deep.recipe import TrainingRecipe, batches
from torch import Tensor

Order = Callable[[int], ArrayLike]  # epoch to the indices of its examples, in order; repeats and gaps are allowed
Transform = Callable[[Tensor, torch.Generator], Tensor]  # a batch of inputs to an augmented one
Loss = Callable[[Tensor, Tensor], Tensor]  # logits and labels of a batch to their mean loss
_PROGRESS_SECONDS = 0.5
_CHANNELS_LAST_FROM = 8  # with fewer, the backward pass of PyTorch 2.13 on CPUs writes beyond its memory in that layout
_COUNTERS = ("step", "epoch", "position", "sums", "last_loss", "diverged")  # of a run, kept in its checkpoint


@dataclass(frozen=True)
class TrainedEpoch:
    """One epoch: steps done by its end, the rate of its last step, mean loss and accuracy over its batches."""

    step: int
    rate: float
    loss: float
    accuracy: float


@dataclass(frozen=True)
class TrainingProgress:
    """Where a run stands; `seconds_left` extrapolates the steps of this session."""

    step: int
    total: int
    loss: float
    seconds_left: float


@dataclass(frozen=True)
class Trained:
    """A trained network (in eval mode), its history, and how it ended."""

    network: Classifier
    recipe: TrainingRecipe
    history: tuple[TrainedEpoch, ...]
    steps: int
    diverged: bool
    seconds: float

    @property
    def loss(self) -> float:
        """Mean training loss over the last epoch."""
        return self.history[-1].loss

    @property
    def classifier(self) -> FloatArray:
        """W, K x p."""
        return np.asarray(self.network.head.weight.detach().cpu().numpy(), dtype=np.float64)

    @property
    def bias(self) -> FloatArray:
        """b, K; zeros where the last layer has none."""
        bias = self.network.head.bias
        found = np.zeros(self.network.head.out_features) if bias is None else bias.detach().cpu().numpy()
        return np.asarray(found, dtype=np.float64)

    def features(self, inputs: Inputs) -> FloatRows:
        """Last-layer features, n x p."""
        return features_of(self.network, inputs)

    def logits(self, inputs: Inputs) -> FloatRows:
        """n x K."""
        return logits_of(self.network, inputs)

    def predict(self, inputs: Inputs) -> IntArray:
        """The class with the largest logit."""
        return np.asarray(self.logits(inputs).argmax(axis=1), dtype=np.int64)


def train(
    network: Classifier,
    inputs: Inputs,
    labels: ArrayLike,
    recipe: TrainingRecipe,
    *,
    seed: int = 0,
    class_weights: Sequence[float] | FloatArray | None = None,
    example_weights: FloatArray | None = None,
    order: Order | None = None,
    logit_adjustment: Sequence[float] | FloatArray | None = None,
    transform: Transform | None = None,
    loss: Loss | None = None,
    after_epoch: Callable[[int, Classifier], None] | None = None,
    progress: Callable[[TrainingProgress], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = 60.0,
    threads: int | None = None,
    device: str = "cpu",
) -> Trained:
    """Train `network` in place.

    inputs: n x ..., float32; labels: codes 0..K-1. class_weights, example_weights: multiply the loss; together they are
    scaled to mean 1 over the examples. order: epoch -> indices (a sampler); without it every epoch is a fresh random
    order. logit_adjustment: K numbers added to the logits in the loss only. transform: (batch, torch.Generator) ->
    batch. loss: (logits, labels) -> mean loss, instead of weighted or adjusted cross entropy; its `set_epoch` is called
    if it has one. after_epoch: called with the number of finished epochs and the network. checkpoint: a file that is
    written every `checkpoint_seconds`, at the end and on interruption, and resumed from where it exists. threads: of
    PyTorch, for this run; digits are reproducible at an equal number. device: where PyTorch trains and leaves the
    network ("cuda" for a GPU); the data stay in main memory and go there batch by batch.
    """
    data = _data(network.head.out_features, inputs, labels, class_weights, example_weights, logit_adjustment)
    if loss is not None and (data.weights is not None or data.adjustment is not None):
        raise InputError("a loss, or weights and adjustment of cross entropy", "both", "leave one of them out")
    run = _Run(network.to(device), recipe, data, order, seed, transform, loss, device)
    fingerprint = "" if checkpoint is None else run.fingerprint()
    if checkpoint is not None and (stored := Checkpoint.read(checkpoint, fingerprint)) is not None:
        run.restore(stored)
    begin = shown = kept = time.perf_counter()
    first = run.step
    gpus = [torch.cuda.current_device()] if device == "cuda" else []
    with _threads(threads), torch.random.fork_rng(devices=gpus), held_interruptions() as interrupted:
        network.train()
        for ended_epoch in run.steps():
            now = time.perf_counter()
            if progress is not None and (now - shown > _PROGRESS_SECONDS or run.step == run.total):
                left = (now - begin) / (run.step - first) * (run.total - run.step)
                progress(TrainingProgress(run.step, run.total, run.last_loss, left))
                shown = now
            if ended_epoch and after_epoch is not None:
                after_epoch(run.epoch, network)
                network.train()
            due = now - kept > checkpoint_seconds or run.finished
            if checkpoint is not None and (due or interrupted()):
                run.state().write(checkpoint, fingerprint)
                kept = now
            if interrupted():
                break  # the interruption is delivered as this block ends
    network.eval()
    return Trained(network, recipe, tuple(run.history), run.step, run.diverged, time.perf_counter() - begin)


class _Data(NamedTuple):
    """Tensors that a run reads."""

    inputs: Tensor
    labels: Tensor
    weights: Tensor | None
    adjustment: Tensor | None


def _data(
    classes: int,
    inputs: Inputs,
    labels: ArrayLike,
    class_weights: Sequence[float] | FloatArray | None,
    example_weights: FloatArray | None,
    adjustment: Sequence[float] | FloatArray | None,
) -> _Data:
    tensor, codes = as_tensor(inputs), np.asarray(labels)
    if codes.shape != (len(tensor),) or codes.dtype.kind not in "iu" or codes.size == 0:
        raise InputError(f"{len(tensor)} labels coded as 0..{classes - 1}", f"shape {codes.shape}")
    if codes.min() < 0 or codes.max() >= classes:
        raise InputError(f"labels from 0 to {classes - 1}", f"{codes.min()} to {codes.max()}", "code them first")
    if codes.size < 2:
        raise InputError("at least two examples", codes.size, "BatchNorm needs a batch")
    weights = np.ones(codes.size)
    if class_weights is not None:
        weights *= _numbers(class_weights, classes, "a weight per class", least=0.0)[codes]
    if example_weights is not None:
        weights *= _numbers(example_weights, codes.size, "a weight per example", least=0.0)
    if not weights.sum() > 0:
        raise InputError("weights that are not all zero", "zeros")
    plain = class_weights is None and example_weights is None
    shift = None if adjustment is None else _numbers(adjustment, classes, "a logit adjustment per class")
    return _Data(
        tensor,
        torch.from_numpy(codes.astype(np.int64)),
        None if plain else torch.from_numpy((weights / weights.mean()).astype(np.float32)),
        None if shift is None else torch.from_numpy(shift.astype(np.float32)),
    )


def _numbers(values: ArrayLike, size: int, name: str, *, least: float = -np.inf) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (size,) or not np.isfinite(array).all():
        raise InputError(f"{name}, {size} finite numbers", f"shape {array.shape}")
    if (array < least).any():
        raise InputError(f"{name}, none below {least:g}", f"{array.min():g}")
    return array


class _Run:
    """The state of a run: everything that changes from step to step."""

    def __init__(
        self,
        network: Classifier,
        recipe: TrainingRecipe,
        data: _Data,
        order: Order | None,
        seed: int,
        transform: Transform | None,
        loss: Loss | None,
        device: str,
    ) -> None:
        self.network, self.recipe, self.data, self.order, self.seed = network, recipe, data, order, seed
        self.transform, self.loss, self.device = transform, loss, device
        if data.inputs.dim() == 4 and _fewest_channels(network) >= _CHANNELS_LAST_FROM:
            network.to(memory_format=torch.channels_last)  # a fifth faster on CPUs
        self.optimiser: FlatSGD = (
            FlatSGD(network, momentum=recipe.momentum, weight_decay=recipe.weight_decay)
            if recipe.optimiser == "sgd"
            else FlatAdamW(network, weight_decay=recipe.weight_decay)
        )
        self.epoch = self.position = self.step = 0
        self.indices = self._epoch_indices()
        self.total = recipe.total_steps(len(self.indices))
        self.history: list[TrainedEpoch] = []
        self.sums = [0.0, 0.0, 0.0]  # loss, right answers, examples of the epoch so far
        self.last_loss = float("nan")
        self.diverged = False
        self.noise = int(generator(seed, "noise").integers(2**62))

    @property
    def finished(self) -> bool:
        return self.step >= self.total or self.diverged

    def steps(self) -> Iterator[bool]:
        """Train step by step; yield whether an epoch ended with the step."""
        while not self.finished:
            self._one_step()
            ended = self.position >= batches(len(self.indices), self.recipe.batch_size)
            if ended or self.step == self.total or self.diverged:
                self._record()
            if ended:
                self.epoch, self.position = self.epoch + 1, 0
                if not self.finished:
                    self.indices = self._epoch_indices()
            yield ended

    def _one_step(self) -> None:
        size = self.recipe.batch_size
        chosen = self.indices[self.position * size : (self.position + 1) * size]
        torch.default_generator.manual_seed(self.noise + self.step)  # dropout and the like: one stream per step
        if self.device == "cuda":
            torch.cuda.manual_seed(self.noise + self.step)
        batch, labels = self.data.inputs.index_select(0, chosen), self.data.labels.index_select(0, chosen)
        if self.transform is not None:
            batch = self.transform(batch, torch.Generator().manual_seed(self.noise + self.step))
        batch, labels = batch.to(self.device), labels.to(self.device)
        self.optimiser.clear()
        logits = self.network(batch)
        adjusted = logits if self.data.adjustment is None else logits + self.data.adjustment.to(self.device)
        if self.loss is not None:
            loss = self.loss(logits, labels)
        elif self.data.weights is None:
            loss = cross_entropy(adjusted, labels)
        else:
            each = cross_entropy(adjusted, labels, reduction="none")
            loss = (each * self.data.weights.index_select(0, chosen).to(self.device)).mean()
        loss.backward()
        self.optimiser.step(self.recipe.rate_at(self.step, self.total))
        self.last_loss = loss.item()
        self.sums[0] += self.last_loss * len(chosen)
        self.sums[1] += int((logits.detach().argmax(1) == labels).sum())
        self.sums[2] += len(chosen)
        self.step, self.position = self.step + 1, self.position + 1
        self.diverged = not np.isfinite(self.last_loss)

    def _record(self) -> None:
        loss, right, examples = self.sums
        rate = self.recipe.rate_at(self.step - 1, self.total)
        self.history.append(TrainedEpoch(self.step, rate, loss / examples, right / examples))
        self.sums = [0.0, 0.0, 0.0]

    def _epoch_indices(self) -> Tensor:
        examples = len(self.data.labels)
        if (announce := getattr(self.loss, "set_epoch", None)) is not None:
            announce(self.epoch)
        if self.order is None:
            return torch.from_numpy(generator(self.seed, "order", self.epoch).permutation(examples))
        drawn = np.asarray(self.order(self.epoch))
        if drawn.ndim != 1 or drawn.dtype.kind not in "iu" or drawn.size < 2:
            raise InputError("indices of at least two examples per epoch", f"shape {drawn.shape}")
        if drawn.min() < 0 or drawn.max() >= examples:
            raise InputError(f"indices from 0 to {examples - 1}", f"{drawn.min()} to {drawn.max()}")
        return torch.from_numpy(drawn.astype(np.int64))

    def fingerprint(self) -> str:
        recipe = asdict(replace(self.recipe, anneal_at=tuple(self.recipe.anneal_at)))
        parts = {"recipe": recipe, "seed": self.seed, "network": str(self.network)}
        told = {} if self.loss is None else {"loss": str(self.loss)}
        return fingerprint_of(parts | told, self.data._asdict())

    def state(self) -> Checkpoint:
        counters: dict[str, Any] = {name: getattr(self, name) for name in _COUNTERS}
        counters["history"] = [asdict(epoch) for epoch in self.history]
        return Checkpoint(self.network.state_dict(), self.optimiser.velocity, counters)

    def restore(self, stored: Checkpoint) -> None:
        self.network.load_state_dict(stored.network)
        self.optimiser.velocity.copy_(stored.velocity)
        for name in _COUNTERS:
            setattr(self, name, stored.counters[name])
        self.optimiser.taken = self.step
        self.history = [TrainedEpoch(**epoch) for epoch in stored.counters["history"]]
        self.indices = self._epoch_indices()


def _fewest_channels(network: torch.nn.Module) -> int:
    """Of the outputs of any convolution; 0 where there is none."""
    widths = [module.out_channels for module in network.modules() if isinstance(module, torch.nn.Conv2d)]
    return min(widths, default=0)


@contextlib.contextmanager
def _threads(count: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
