"""Corrections of a finished network that need no choosing: classifier retraining and tau-norm (Kang et al. 2020).

The body stays as it is, and a copy of the network with another last layer is returned. `lopsided.torch.mend` tries
these and others on a validation set and says what they gain; the formulas are in `head_fits`.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from lopsided.core.blas import one_blas_thread
from lopsided.core.errors import InputError
from lopsided.torch.mending.head_readings import read_head, weights_of, with_head
from lopsided.torch.monitor.head import find_head
from lopsided.torch.remedies.head_fits import Free, refitted, tau_normalised
from torch import nn


def retrain_classifier(
    model: nn.Module,
    loader: Iterable[Any],
    *,
    free: Free = "all",
    variance: float = 30.0,
    head: str | nn.Module | None = None,
) -> nn.Module:
    """Retrain the last layer for equally frequent classes, on frozen features (cRT).

    Parameters
    ----------
    model : nn.Module
        The trained network; it stays as it is.
    loader : iterable of batches
        Examples to retrain on, (inputs, labels) or mappings with labels: the training set, or other labelled examples.
        Their class shares are taken off by a balanced softmax, so no balanced sampling is needed.
    free : {"all", "scales", "offsets"}
        What is retrained: the whole layer; a scale and an offset per class (learnable weight scaling); offsets alone.
    variance : float
        How far a logit may move from the present one; the smaller, the nearer the new layer stays to the old.
    head : str or nn.Module, optional
        The layer that gives the logits; by default the last linear one.

    Returns
    -------
    nn.Module
        A copy of the network with the retrained layer.
    """
    if free not in ("all", "scales", "offsets"):
        raise InputError("free among all, scales, offsets", repr(free), "name one of those")
    read = read_head(model, loader, head)
    sizes = np.bincount(read.codes, minlength=read.head.classes) + 0.5
    with one_blas_thread():
        fitted = refitted(
            read.weights, read.features, read.codes, free=free, variance=variance, log_prior=np.log(sizes / sizes.sum())
        )
    return with_head(model, read.head, fitted)


def tau_normalise(model: nn.Module, tau: float = 1.0, *, head: str | nn.Module | None = None) -> nn.Module:
    """Divide every classifier by its length to the power tau, which is larger for frequent classes.

    Parameters
    ----------
    model : nn.Module
        The trained network; it stays as it is.
    tau : float
        0 changes nothing, 1 makes all classifiers equally long.
    head : str or nn.Module, optional
        The layer that gives the logits; by default the last linear one.

    Returns
    -------
    nn.Module
        A copy of the network with normalised classifiers.
    """
    found = find_head(model, head)
    return with_head(model, found, tau_normalised(weights_of(found), tau))
