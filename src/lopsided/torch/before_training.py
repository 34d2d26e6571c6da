"""Forecasts the recall of every class before training, from the training examples and the planned training."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import DataLoader

import torch
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.class_overlap import MOST_ROWS, class_overlap
from lopsided.theory.recall_law import PlannedTraining, recall_before_training
from lopsided.torch.monitor.head import unwrap
from lopsided.torch.monitor.recall_outlook import RecallOutlook, outlook
from lopsided.torch.monitor.run_forecast import WEAK_DECAY
from lopsided.torch.monitor.run_settings import optimizer_settings
from torch import nn

RuleRates = tuple[FloatArray, FloatArray, FloatArray]  # by the nearest mean, the nearest neighbour, a linear rule
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
        The training examples: inputs (n, ...), or pairs (input, label).
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
        Seed for drawing the rows to compare, if there are more than 6,000 in an array. Of a larger Dataset or
        DataLoader, every so many of each class are compared.

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
    batch = batch_size or getattr(data, "batch_size", None)
    batch = batch or getattr(getattr(data, "batch_sampler", None), "batch_size", None)
    if not batch:
        raise InputError("the batch size", "none", "give batch_size=")
    inputs, codes, every = _examples(data, labels, features)
    modules = list(unwrap(model).modules())
    head = [module for module in modules if isinstance(module, nn.Linear)]
    classes = head[-1].out_features if head and head[-1].out_features > every.max() else int(every.max()) + 1
    overlap = class_overlap(inputs, codes, classes=classes, seed=seed)
    settings = optimizer_settings(optimizer, head[-1].weight if head else None)
    training = PlannedTraining(
        steps=int(steps or max(1, round(float(epochs or 0) * every.size / int(batch)))),
        batch_size=int(batch),
        learning_rate=float(settings["learning_rate"] or 0.0),
        adaptive=settings["optimizer"] != "SGD",
        batch_norm=any(isinstance(module, _BATCH_NORMS) and _is_trained(module) for module in modules),
        attention=any("Attention" in type(one).__name__ for one in modules) if attention is None else attention,
    )
    counts = np.bincount(every, minlength=classes).astype(np.float64)
    rates = overlap.nearest_mean, overlap.nearest_neighbour, overlap.linear
    return planned_outlook(counts, rates, training, _decay_notes(settings, training))


def planned_outlook(
    counts: FloatArray, rates: RuleRates, training: PlannedTraining, notes: tuple[str, ...] = ()
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


def _examples(data: Any, labels: Any, features: nn.Module | None) -> tuple[FloatArray, IntArray, IntArray]:
    """Inputs, or features of the backbone, with their class codes; and the class codes of all examples, where a large
    data set is read in part."""
    if labels is not None:
        rows, codes = torch.as_tensor(np.asarray(data)), np.asarray(labels)
        every = codes
    else:
        rows, codes, every = _read(data)
    if codes.ndim != 1 or codes.dtype.kind not in "iu" or len(codes) != len(rows) or codes.size < 2:
        got = f"{codes.dtype} of shape {codes.shape} for {len(rows)} inputs"
        raise InputError("one class code 0, 1, 2, ... for every input", got, "give labels=")
    if features is not None:
        rows = _outputs(features, rows)
    inputs = np.asarray(rows.reshape(len(rows), -1).double().cpu().numpy())
    return inputs, codes.astype(np.int64), every.astype(np.int64)


def _read(data: Any) -> tuple[torch.Tensor, NDArray[Any], NDArray[Any]]:
    """Inputs and labels of a part of the examples that is as large as can be compared, and the labels of all.

    Every example is read once, in the order of its data set: a sampler may draw classes more often than they occur, and
    would use up random numbers of the training. Of a larger set, every so many of each class are kept, so that the rest
    need not fit into memory.
    """
    own = data if isinstance(data, DataLoader) else None
    whole = data if own is None else own.dataset
    loader: Iterable[Any] = data
    if hasattr(whole, "__getitem__"):
        collate = None if own is None else own.collate_fn
        workers, own_random = 0 if own is None else own.num_workers, torch.Generator()
        loader = DataLoader(whole, 256, collate_fn=collate, num_workers=workers, generator=own_random)
    share = min(1.0, MOST_ROWS / max(len(whole), 1)) if hasattr(whole, "__len__") else 1.0
    rows, codes, every = [], [], []
    reached: dict[int, int] = {}
    for batch in loader:
        if not isinstance(batch, (tuple, list)) or len(batch) < 2 or not isinstance(batch[0], torch.Tensor):
            raise InputError("batches (inputs, labels)", type(batch).__name__, "give arrays and labels=")
        labels = torch.as_tensor(batch[1]).cpu().numpy()
        kept = slice(None) if share == 1.0 or labels.ndim != 1 else _kept(labels, reached, share)
        rows.append(batch[0][kept])
        codes.append(labels[kept])
        every.append(labels)
    if not rows:
        raise InputError("training examples", "none", "give a DataLoader that has some")
    return torch.cat(rows), np.concatenate(codes), np.concatenate(every)


def _kept(labels: NDArray[Any], reached: dict[int, int], share: float) -> list[int]:
    """Of n examples of a class so far, share n, rounded up, are kept."""
    kept = []
    for place, label in enumerate(labels.tolist()):
        before = reached.get(label, 0)
        reached[label] = before + 1
        if np.ceil(share * (before + 1)) > np.ceil(share * before):
            kept.append(place)
    return kept


def _outputs(network: nn.Module, rows: torch.Tensor) -> torch.Tensor:
    was = network.training
    network.eval()
    try:
        with torch.no_grad():
            parts = [network(part).flatten(1) for part in rows.split(64)]
    finally:
        network.train(was)
    return torch.cat(parts)
