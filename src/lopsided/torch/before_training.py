"""Forecasts the recall of every class before training, from the training examples and the planned training."""

from collections.abc import Iterable
from typing import Any

import numpy as np

import torch
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.class_overlap import class_overlap
from lopsided.theory.recall_law import PlannedTraining, recall_before_training
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
        Seed for drawing the rows to compare, if there are more than 6,000.

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
    if not batch:
        raise InputError("the batch size", "none", "give batch_size=")
    inputs, codes = _examples(data, labels, features, seed)
    modules = list(unwrap(model).modules())
    head = [module for module in modules if isinstance(module, nn.Linear)]
    classes = head[-1].out_features if head and head[-1].out_features > codes.max() else int(codes.max()) + 1
    overlap = class_overlap(inputs, codes, classes=classes, seed=seed)
    settings = optimizer_settings(optimizer, head[-1].weight if head else None)
    training = PlannedTraining(
        steps=int(steps or max(1, round(float(epochs or 0) * codes.size / int(batch)))),
        batch_size=int(batch),
        learning_rate=float(settings["learning_rate"] or 0.0),
        adaptive=settings["optimizer"] != "SGD",
        batch_norm=any(isinstance(module, _BATCH_NORMS) and _is_trained(module) for module in modules),
        attention=any("Attention" in type(one).__name__ for one in modules) if attention is None else attention,
    )
    found = recall_before_training(
        overlap.counts.astype(np.float64), overlap.nearest_mean, overlap.nearest_neighbour, overlap.linear, training
    )
    return outlook(found, notes=_decay_notes(settings, training))


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


def _examples(data: Any, labels: Any, features: nn.Module | None, seed: int) -> tuple[FloatArray, IntArray]:
    """Inputs, or features of the backbone, and class codes; of more rows than are compared, all labels are read."""
    if labels is not None:
        rows, codes = torch.as_tensor(np.asarray(data)), np.asarray(labels)
    else:
        pairs = _pairs(data)
        rows, codes = torch.cat([x for x, _ in pairs]), np.concatenate([y for _, y in pairs])
    if codes.ndim != 1 or codes.dtype.kind not in "iu" or len(codes) != len(rows) or codes.size < 2:
        got = f"{codes.dtype} of shape {codes.shape} for {len(rows)} inputs"
        raise InputError("one class code 0, 1, 2, ... for every input", got, "give labels=")
    if features is not None:
        rows = _outputs(features, rows)
    return np.asarray(rows.reshape(len(rows), -1).double().cpu().numpy()), codes.astype(np.int64)


def _pairs(data: Any) -> list[tuple[torch.Tensor, IntArray]]:
    found = []
    loader: Iterable[Any] = data if hasattr(data, "batch_size") else torch.utils.data.DataLoader(data, batch_size=256)
    for batch in loader:
        if not isinstance(batch, (tuple, list)) or len(batch) < 2 or not isinstance(batch[0], torch.Tensor):
            raise InputError("batches (inputs, labels)", type(batch).__name__, "give arrays and labels=")
        found.append((batch[0], torch.as_tensor(batch[1]).cpu().numpy()))
    if not found:
        raise InputError("training examples", "none", "give a DataLoader that has some")
    return found


def _outputs(network: nn.Module, rows: torch.Tensor) -> torch.Tensor:
    was = network.training
    network.eval()
    try:
        with torch.no_grad():
            parts = [network(part).flatten(1) for part in rows.split(64)]
    finally:
        network.train(was)
    return torch.cat(parts)
