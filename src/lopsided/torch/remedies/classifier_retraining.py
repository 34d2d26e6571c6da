"""Two corrections of a finished network: classifier retraining and tau-normalisation (Kang et al. 2020).

Both return a copy of the network with another last layer; the rest does not change. `lopsided.torch.mend` compares
these and others on a validation set and estimates their gain. The formulas are in `head_fits`.
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
    """Retrain the last layer on frozen features as if all classes were equally frequent (cRT).

    Parameters
    ----------
    model : nn.Module
        The trained network, which is not changed.
    loader : iterable of batches
        Examples to retrain on, (inputs, labels) or mappings with labels: the training set, or other labelled examples.
        A balanced softmax corrects for their class shares, so balanced sampling is not needed.
    free : {"all", "scales", "offsets"}
        What to retrain: the whole layer, a scale and an offset per class (learnable weight scaling), or offsets only.
    variance : float
        How far a logit may move: the smaller the variance, the closer the new layer stays to the old one.
    head : str or nn.Module, optional
        The layer that gives the logits. By default, the last linear one.

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
    """Divide the weights of every class by their norm to the power tau; frequent classes have larger norms.

    Parameters
    ----------
    model : nn.Module
        The trained network, which is not changed.
    tau : float
        0 changes nothing, 1 gives all classes the same norm.
    head : str or nn.Module, optional
        The layer that gives the logits. By default, the last linear one.

    Returns
    -------
    nn.Module
        A copy of the network with normalised classifiers.
    """
    found = find_head(model, head)
    return with_head(model, found, tau_normalised(weights_of(found), tau))
