"""`mend`: one line that corrects the classifier of a finished network for imbalance, by a validation set.

Only the last linear layer of the network changes. `corrections` lists what is tried; `choice` says how one of them is
chosen and how its gain is estimated.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lopsided.core.blas import one_blas_thread
from lopsided.core.errors import InputError
from lopsided.core.notebook import notebook_view
from lopsided.core.partition import Partition
from lopsided.core.seeds import check_seed
from lopsided.core.validation import FloatArray
from lopsided.measure.metrics.named import Asked, metric_named
from lopsided.measure.posthoc_gain import shown_counts
from lopsided.remedies.rates import Rates
from lopsided.torch.mending.choice import Gain, choose
from lopsided.torch.mending.corrections import corrections
from lopsided.torch.mending.head_readings import read_head, with_head
from lopsided.torch.remedies.head_fits import leading_directions
from torch import nn


@dataclass(frozen=True)
class MendedModel:
    """The result of `mend`.

    Attributes
    ----------
    model : nn.Module
        A copy of the network with the correction in its last layer.
    chosen : str
        The correction that was chosen.
    gain : Gain
        Expected improvement of the metric over the original network: value, low and high (90 %).
    scores : dict
        Cross-validated metric of every candidate.
    metric : str
        The metric's name.
    notes : tuple of str
        Assumptions that were made.
    """

    model: nn.Module = field(repr=False)
    chosen: str
    gain: Gain
    scores: Mapping[str, float] = field(repr=False)
    metric: str
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything but the model, as plain values."""
        return {
            "chosen": self.chosen,
            "gain": {"value": self.gain.value, "low": self.gain.low, "high": self.gain.high},
            "scores": dict(self.scores),
            "metric": self.metric,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        gain = self.gain
        if self.chosen == "nothing":
            return f"No correction improves {self.metric} on this validation set; the model is returned unchanged."
        return (
            f"{self.chosen}: expected gain in {self.metric} {gain.value:+.3f} "
            f"[{gain.low:+.3f}, {gain.high:+.3f}] (90 % interval)."
        )

    def _repr_html_(self) -> str:
        best = sorted(self.scores.items(), key=lambda pair: -pair[1])
        return notebook_view(str(self), (("correction", f"cross-validated {self.metric}"), best))


def mend(
    model: nn.Module,
    loader: Iterable[Any],
    metric: Asked = "balanced",
    *,
    counts: Sequence[float] | Rates | None = None,
    costs: Any = None,
    head: str | nn.Module | None = None,
    seed: int = 0,
) -> MendedModel:
    """Correct the last layer of a finished network for class imbalance.

    Features are read once on a validation set that the network was not trained on. Doing nothing, post-hoc logit
    adjustment, tau-norm, offsets or thresholds per class and retraining the last layer are compared by cross-validation
    on it, and the simplest that is not clearly worse than the best is applied to a copy of the network.

    Parameters
    ----------
    model : nn.Module
        The trained network, which is not changed. DataParallel, DistributedDataParallel and torch.compile are
        unwrapped. Its output must be that of a linear last layer, or the softmax of it.
    loader : iterable of batches
        A validation set: (inputs, labels), or mappings with labels.
    metric : str, Metric or scorer
        Metric to improve, as in a trial: "balanced", "worst-class", "overall", "f1:macro", "cost"...
    counts : sequence of float or Rates, optional
        Training examples of every class, which post-hoc adjustment needs. Without them the counts of the validation
        set are used, which is right only if it has the class shares of the training set.
    costs : optional
        For the metric "cost": a matrix, true x predicted.
    head : str or nn.Module, optional
        The layer that gives the logits. By default, the last linear one.
    seed : int
        Seed of the folds and of the bootstrap.

    Returns
    -------
    MendedModel

    Examples
    --------
    >>> import torch
    >>> from torch.utils.data import DataLoader, TensorDataset
    >>> inputs, labels = torch.randn(60, 2), torch.arange(60) % 2
    >>> loader = DataLoader(TensorDataset(inputs + 3 * labels[:, None], labels), batch_size=20)
    >>> print(mend(torch.nn.Linear(2, 2), loader, counts=[90, 10]).model)
    Linear(in_features=2, out_features=2, bias=True)
    """
    chance = check_seed(seed)
    read = read_head(model, loader, head)
    names = tuple(str(code) for code in range(read.head.classes))
    classes = Partition("class", read.codes, names)
    asked = metric_named(metric, classes, costs)
    if asked.family == "worst-group":
        raise InputError("a metric of classes", repr(asked.word), "mend does not use groups; choose worst-class")
    shown, notes = _counts(counts, classes)
    with one_blas_thread():
        candidates = corrections(read.weights, shown, asked, leading_directions(read.features))
        choice = choose(candidates, read.features, read.codes, classes, asked, chance)
        best = candidates[choice.chosen]
        fitted = best.fit(read.features, read.codes)
    if read.head.layer.bias is None and fitted.bias.any():
        notes += (
            f"The head {read.head.name!r} had no bias and has one now; a network that loads its state needs one too.",
        )
    scores = {one.name: float(score) for one, score in zip(candidates, choice.scores, strict=True)}
    return MendedModel(with_head(model, read.head, fitted), best.name, choice.gain, scores, asked.name, notes)


def _counts(counts: Sequence[float] | Rates | None, classes: Partition) -> tuple[FloatArray, tuple[str, ...]]:
    """Training counts, those of the validation set where none were given; a class without examples counts as one."""
    if counts is None:
        held_out = np.maximum(classes.counts, 1).astype(np.float64)
        even = np.ptp(held_out) == 0
        how = "not adjusted, as classes are even in" if even else "adjusted by the class shares of"
        return held_out, (f"No training counts were given, so logits are {how} the validation set.",)
    given = counts.effective_class_counts if isinstance(counts, Rates) else counts
    return shown_counts(given, len(classes.names)), ()
