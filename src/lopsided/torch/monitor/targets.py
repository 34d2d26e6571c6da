"""Targets of every kind as class codes: one code an example, mixed labels, several classes an example.

    codes (n,)                   as they are
    rows that sum to 1 (n, K)    mixup, cutmix, smoothed or one-hot labels: the class with the largest share
    rows of 0 and 1 (n, K)       several classes an example (BCEWithLogitsLoss): one pair (example, class) for each 1

A pair of the last kind is judged one against the rest, by sigmoid(z_k): it is recognised where z_k > 0, and its loss is
log(1 + exp(-z_k)). In the softmax of K logits the same is z_k beside one logit 0 and K - 2 that count for nothing. Once
an epoch showed several classes an example, every later target with K columns is read so.
"""

from typing import Any

import torch
from lopsided.core.errors import InputError
from lopsided.torch.code_checks import class_codes, group_codes
from lopsided.torch.monitor.batch_rows import rows_of
from lopsided.torch.monitor.forward_watch import HeadPass
from lopsided.torch.monitor.head import Head

NOWHERE = -1e4  # a logit that softmax does not feel, and that half precision holds
JudgedRows = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]


class TargetReader:
    """Reads the labels of a run; remembers which kinds came."""

    def __init__(self, head: Head, *, told_features: bool) -> None:
        self._head, self._told_features = head, told_features
        self.mixed = self.several = False
        self.tables = False  # whole numbers with K columns were one-hot before

    def read(self, labels: Any, outputs: torch.Tensor | None = None) -> torch.Tensor:
        """The labels as codes or as a table (n, K); `outputs` are the head's, where they are at hand."""
        if isinstance(labels, torch.Tensor) and labels.ndim == 1:  # the usual case, without detours
            if labels.dtype is torch.int64:
                return labels
            return class_codes(labels, self._head.outputs)
        given = labels if isinstance(labels, torch.Tensor) else _tensor(labels)
        if given is None or given.ndim != 2 or given.shape[1] != self._head.outputs or self._head.outputs < 2:
            return class_codes(labels, self._head.outputs)
        whole = not given.is_floating_point() and given.dtype != torch.bool
        if whole and outputs is not None and outputs.shape == given.shape:
            self.tables = True
        if whole and not self.tables:  # one code at each of K places
            return class_codes(given, self._head.outputs)
        return self._table(given.detach())

    def rows(self, seen: HeadPass, read: torch.Tensor, groups: Any = None) -> JudgedRows:
        """Features, logits, codes and groups, one row per labelled place."""
        pairs = read.nonzero() if read.dtype == torch.bool else None
        codes = read if pairs is None else read.new_zeros(len(read), dtype=torch.int64)
        features, logits, codes = rows_of(seen, codes, self._head, told_features=self._told_features)
        places = None if groups is None else group_codes(groups, codes)
        if pairs is None:
            return features, logits, codes, places
        example, classes = pairs.to(features.device).unbind(dim=1)
        return features[example], _against_rest(logits, example, classes), classes, _at(places, example)

    def _table(self, given: torch.Tensor) -> torch.Tensor:
        values = given.double()
        one_each = bool(((values.sum(dim=1) - 1).abs() < 1e-2).all())  # half precision rounds shares at 1e-3
        zero_one = bool(((values == 0) | (values == 1)).all())
        if not (zero_one or (one_each and bool((values >= 0).all()))):
            raise InputError(
                "labels as class codes, as shares that sum to 1 (mixup), or as 0 and 1 for each class",
                f"{given.dtype} of shape {tuple(given.shape)} with other values",
                "give class codes 0, 1, 2, ...; for mixed labels (mixup), their shares or the codes before mixing",
            )
        self.several |= not one_each
        self.mixed |= not zero_one
        return values == 1 if self.several and zero_one else values.argmax(dim=1)


def codes_of(read: torch.Tensor) -> torch.Tensor:
    """One code for each labelled place or pair."""
    if read.dtype == torch.bool:
        return read.nonzero()[:, 1]
    return read if read.ndim == 1 else read.reshape(-1)


def _against_rest(logits: torch.Tensor, example: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
    rows = torch.arange(len(example), device=logits.device)
    judged = torch.full((len(example), logits.shape[1]), NOWHERE, dtype=logits.dtype, device=logits.device)
    judged[rows, (classes + 1) % logits.shape[1]] = 0.0
    judged[rows, classes] = logits[example, classes]
    return judged


def _at(places: torch.Tensor | None, example: torch.Tensor) -> torch.Tensor | None:
    return None if places is None else places[example]


def _tensor(labels: Any) -> torch.Tensor | None:
    try:
        return torch.as_tensor(labels)
    except (TypeError, ValueError, RuntimeError):
        return None  # the sentence about it is `class_codes`'
