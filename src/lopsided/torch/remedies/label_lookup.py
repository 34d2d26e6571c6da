"""The labels of a PyTorch data set without loading its examples, through Subset and ConcatDataset."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import ConcatDataset, Subset, TensorDataset

import torch
from lopsided.core.errors import InputError

_ATTRIBUTES = ("targets", "labels", "y")  # torchvision, WILDS and others, hand-written ones
_COLUMNS = ("label", "labels", "target")  # Hugging Face data sets


def dataset_labels(dataset: Any) -> NDArray[Any]:
    """Read the labels of a data set without loading its examples.

    Parameters
    ----------
    dataset : Dataset
        Labels are looked up in `targets`, `labels` or `y`, in the column `label`, `labels` or `target`, or as the last
        tensor of a TensorDataset; for a Subset in its parent, for a ConcatDataset in its parts.

    Returns
    -------
    array of n labels
        One label per example, in the order of the data set, after its `target_transform` if it has one.
    """
    if isinstance(dataset, Subset):
        return _chosen(dataset_labels(dataset.dataset), dataset.indices)
    if isinstance(dataset, ConcatDataset):
        return np.concatenate([dataset_labels(part) for part in dataset.datasets])
    found = _find(dataset)
    if found is None:
        raise InputError(
            "a data set whose labels can be read without loading examples",
            f"a {type(dataset).__name__} without {', '.join(_ATTRIBUTES)} or a label column",
            "give the labels themselves: one per example, in the order of the data set",
        )
    labels = plain_array(found)
    if labels.ndim != 1 or labels.shape[0] != len(dataset):
        raise InputError(
            f"{len(dataset)} labels, one per example", f"shape {labels.shape}", "give the labels themselves"
        )
    return _transformed(labels, getattr(dataset, "target_transform", None))


def _transformed(labels: NDArray[Any], transform: Any) -> NDArray[Any]:
    """The labels that the data set gives with its examples: torchvision keeps them as they were before."""
    if not callable(transform):
        return labels
    values, places = np.unique(labels, return_inverse=True)
    return np.asarray(plain_array([transform(value) for value in values.tolist()])[places])


def _chosen(labels: NDArray[Any], indices: Any) -> NDArray[Any]:
    places = np.asarray(indices)
    if places.ndim != 1 or places.size == 0:
        raise InputError("a Subset with examples in it", f"indices of shape {places.shape}", "choose some examples")
    if places.dtype.kind not in "iu" or places.min() < -len(labels) or places.max() >= len(labels):
        got = f"{places.dtype}" if places.dtype.kind not in "iu" else f"{places.min()} to {places.max()}"
        raise InputError(f"indices of a Subset from 0 to {len(labels) - 1}", got, "make it from this data set")
    return np.asarray(labels[places])


def _find(dataset: Any) -> Any:
    for name in _ATTRIBUTES:
        value = getattr(dataset, name, None)
        if value is not None and not callable(value):
            return value
    if isinstance(dataset, TensorDataset):
        return dataset.tensors[-1]
    for name in _COLUMNS:
        if name in (getattr(dataset, "column_names", None) or ()):
            return dataset[name]
    return None


def plain_array(values: Any) -> NDArray[Any]:
    """A NumPy array from a tensor, a list of numbers or of one-element tensors, or anything array-like."""
    if isinstance(values, torch.Tensor):
        return np.asarray(values.detach().cpu().numpy())
    if isinstance(values, (list, tuple)) and values and isinstance(values[0], torch.Tensor):
        return np.array([value.item() for value in values])
    return np.asarray(values)
