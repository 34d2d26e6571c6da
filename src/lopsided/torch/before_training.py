"""Forecasts the recall of every class before training, from the training examples and the planned training."""

import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import NoneType
from typing import Any

import numpy as np
from torch.utils.data import DataLoader

import torch
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray, check_count, check_positive
from lopsided.measure.class_overlap import RuleRecalls, class_overlap
from lopsided.theory.recall_law import PlannedTraining, recall_before_training
from lopsided.torch.comparable_rows import RowSample, model_inputs
from lopsided.torch.monitor.head import unwrap
from lopsided.torch.monitor.recall_outlook import RecallOutlook, outlook
from lopsided.torch.monitor.run_forecast import WEAK_DECAY
from lopsided.torch.monitor.run_settings import optimizer_settings
from torch import nn

_BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)


def recall_before(
    data: Any,
    labels: Any = None,
    *,
    model: nn.Module,
    optimizer: Any,
    steps: int | None = None,
    epochs: float | None = None,
    batch_size: int | None = None,
    features: nn.Module | None = None,
    attention: bool | None = None,
    seed: int = 0,
) -> RecallOutlook:
    """Forecast the final recall of every class before training starts.

    Parameters
    ----------
    data : array, tensor, Dataset or DataLoader
        The training examples: inputs (n, ...), pairs (input, label), or dicts with labels.
    labels : array of n class codes, optional
        Needed if `data` holds inputs alone.
    model : torch.nn.Module
        The network to be trained; the forecast depends on whether it has batch normalisation and attention.
    optimizer : torch.optim.Optimizer
        Gives the kind of optimizer, the learning rate and the weight decay. With a schedule, set the largest rate.
    steps : int, optional
        Length of the training in optimizer steps; give this or `epochs`.
    epochs : float, optional
        Length of the training in epochs; give this or `steps`.
    batch_size : int, optional
        By default, that of the DataLoader.
    features : torch.nn.Module, optional
        A frozen backbone; classes are then compared by its outputs instead of the inputs.
    attention : bool, optional
        Whether the network is a transformer. By default, guessed from the names of its modules.
    seed : int
        Seed for the folds of the linear rule. Of more than 4,000 examples, every so many of each class are compared.

    Returns
    -------
    RecallOutlook
        For every class `recall`, `low`, `high` and `chance_lost`; `cause` is None before training, and `seen` is 0.
        `notes` say if weight decay is too weak to lose classes.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Linear(2, 2)
    >>> inputs, labels = torch.randn(60, 2), torch.arange(60) % 2
    >>> optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    >>> len(recall_before(inputs, labels, model=model, optimizer=optimizer, epochs=5, batch_size=32).classes)
    2
    """
    if (steps is None) == (epochs is None):
        raise InputError("the length of the training in steps or in epochs", "both or none", "give one of them")
    if not isinstance(model, nn.Module):
        raise InputError("a torch.nn.Module as model=", type(model).__name__)
    if not isinstance(features, (nn.Module, NoneType)):
        raise InputError("a torch.nn.Module as features=", type(features).__name__)
    if not hasattr(getattr(optimizer, "optimizer", optimizer), "param_groups"):
        raise InputError("a PyTorch optimizer as optimizer=", type(optimizer).__name__)
    batch = batch_size or getattr(data, "batch_size", None)
    batch = batch or getattr(getattr(data, "batch_sampler", None), "batch_size", None)
    if not batch:
        raise InputError("the batch size", "none", "give batch_size=")
    head = [module for module in unwrap(model).modules() if isinstance(module, nn.Linear)]
    outputs = head[-1].out_features if head else 0
    counts, rates = training_overlap(data, labels, model=model, features=features, classes=outputs, seed=seed)
    settings = optimizer_settings(optimizer, head[-1].weight if head else None)
    if epochs is not None:
        steps = max(1, round(check_positive(epochs, "epochs") * counts.sum() / int(batch)))
    planned = check_count(steps, "steps")
    training = planned_training(model, settings, steps=planned, batch_size=int(batch), attention=attention)
    return planned_outlook(counts, rates, training, _decay_notes(settings, training))


def training_overlap(
    data: Any,
    labels: Any = None,
    *,
    model: nn.Module | None = None,
    features: nn.Module | None = None,
    classes: int = 0,
    seed: int = 0,
) -> tuple[FloatArray, RuleRecalls]:
    """Training examples of every class, and its recalls by three simple rules; of more classes than `classes` if the
    labels have more."""
    sample = _sampled(data, labels, model, features)
    rows, codes = sample.taken()
    classes = max(classes, sample.counts.size)
    counts = np.pad(sample.counts, (0, classes - sample.counts.size)).astype(np.float64)
    return counts, class_overlap(rows, codes, classes=classes, seed=seed).rates


def planned_training(
    model: nn.Module, settings: Mapping[str, Any], *, steps: int, batch_size: int, attention: bool | None = None
) -> PlannedTraining:
    """What the law reads of a network and of the settings of its optimizer."""
    modules = list(unwrap(model).modules())
    return PlannedTraining(
        steps=steps,
        batch_size=batch_size,
        learning_rate=float(settings["learning_rate"] or 0.0),
        adaptive=settings["optimizer"] != "SGD",
        batch_norm=any(isinstance(module, _BATCH_NORMS) and _is_trained(module) for module in modules),
        attention=any("Attention" in type(one).__name__ for one in modules) if attention is None else attention,
    )


def planned_outlook(
    counts: FloatArray, rates: RuleRecalls, training: PlannedTraining, notes: tuple[str, ...] = ()
) -> RecallOutlook:
    """The outlook of a training that is planned, from the recalls of three simple rules on its examples; the skill
    benchmark scores it as well."""
    return outlook(recall_before_training(counts, *rates, training), notes=notes, counts=counts.tolist())


def _is_trained(module: nn.Module) -> bool:
    return any(parameter.requires_grad for parameter in module.parameters(recurse=False))


def _decay_notes(settings: dict[str, Any], training: PlannedTraining) -> tuple[str, ...]:
    """Whether weight decay can be what merges classes: without gradient a weight keeps exp(-F) of its length."""
    momentum = 0.0 if settings["decoupled_decay"] else float(settings["momentum"] or 0.0)
    forgetting = training.steps * training.learning_rate * float(settings["weight_decay"] or 0.0) / (1 - momentum)
    if forgetting > WEAK_DECAY:
        return ()
    return (
        f"weight decay shrinks a weight without a gradient by at most {1 - np.exp(-forgetting):.1%} over the training, "
        "too little to merge classes: classes are lost here because they are rare or have too few examples",
    )


def _sampled(data: Any, labels: Any, model: nn.Module | None, features: nn.Module | None) -> RowSample:
    """A sample of the examples as comparable rows, or as features of the backbone.

    Every example is read once, in the order of its data set: a sampler may draw classes more often than they occur, and
    would use up random numbers of the training.
    """
    sample = RowSample(model)
    try:
        with random_states_kept(data):
            for inputs, codes in _batches(data) if labels is None else [([_array(data)], labels)]:
                sample.add(
                    inputs, _checked(codes, len(inputs[0])), None if features is None else partial(_outputs, features)
                )
    except InputError:
        raise
    except (RuntimeError, TypeError, ValueError) as error:
        words = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError("examples that are rows of numbers of one kind", words, "give arrays and labels=") from None
    if sample.counts.sum() < 2:
        raise InputError("two training examples or more", int(sample.counts.sum()), "give a DataLoader that has some")
    return sample


def _array(data: Any) -> torch.Tensor:
    if isinstance(data, torch.Tensor) and data.layout != torch.strided:
        raise InputError("a dense tensor", str(data.layout).removeprefix("torch."), "call to_dense() on it")
    return torch.as_tensor(np.asarray(data))


def _checked(codes: Any, rows: int) -> IntArray:
    given = np.asarray(codes.cpu() if isinstance(codes, torch.Tensor) else codes)
    if given.ndim != 1 or given.dtype.kind not in "iu" or len(given) != rows or given.min(initial=0) < 0:
        got = f"{given.dtype} of shape {given.shape} for {rows} inputs"
        raise InputError("one class code 0, 1, 2, ... for every input", got, "give labels=")
    return given.astype(np.int64)


@contextmanager
def random_states_kept(loader: Any) -> Iterator[None]:
    """PyTorch's, NumPy's and Python's random numbers, and the loader's own, go on afterwards as if nothing had been
    drawn: a data set may draw them to augment its examples, and a loader for its order and its workers."""
    owners = (loader, getattr(loader, "sampler", None))
    own = [found for one in owners if isinstance(found := getattr(one, "generator", None), torch.Generator)]
    states = [generator.get_state() for generator in own]
    python, numpy_ = random.getstate(), np.random.get_state()  # noqa: NPY002  # that of the user's data set
    try:
        with torch.random.fork_rng(range(torch.cuda.device_count())):
            yield
    finally:
        for generator, state in zip(own, states, strict=True):
            generator.set_state(state)
        random.setstate(python)
        np.random.set_state(numpy_)  # noqa: NPY002


def _batches(data: Any) -> Iterator[tuple[list[torch.Tensor], Any]]:
    """Inputs and labels of a data set, of what a loader loads, or of any batches."""
    own = data if isinstance(data, DataLoader) else None
    whole = data if own is None else own.dataset
    loader: Iterable[Any] = data
    if hasattr(whole, "__getitem__"):
        collate = None if own is None else own.collate_fn
        workers, own_random = 0 if own is None else own.num_workers, torch.Generator()
        loader = DataLoader(whole, 256, collate_fn=collate, num_workers=workers, generator=own_random)
    for batch in loader:
        if isinstance(batch, Mapping):
            label = next((name for name in ("labels", "label") if name in batch), None)
            inputs, labels = model_inputs((), batch, label), batch.get(label)
        else:
            pair = isinstance(batch, (tuple, list)) and len(batch) == 2
            first, labels = (batch[0], batch[1]) if pair else (None, None)
            several = tuple(first) if isinstance(first, (tuple, list)) else (first,)
            inputs = model_inputs((), first, None) if isinstance(first, Mapping) else model_inputs(several, {}, None)
        if not inputs or labels is None:
            raise InputError(
                "batches (inputs, labels), or dicts with labels", type(batch).__name__, "give arrays and labels="
            )
        yield inputs, labels


def _outputs(network: nn.Module, rows: torch.Tensor) -> torch.Tensor:
    was = network.training
    network.eval()
    try:
        with torch.no_grad():
            parts = [network(part).flatten(1) for part in rows.split(64)]
    finally:
        network.train(was)
    return torch.cat(parts)
