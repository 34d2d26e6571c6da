"""Forecasts of merging classes from a run's own numbers, while it trains.

From the measured energies, holding the multiplier (not the energies):

    lambda = wd sqrt(E_W / E_H),  E_H of the centred class means;   count_needed = lambda N, with ReLU features
    lambda N sqrt(K/(K-1))                                        (`theory.collapse`, penalised form)

and lambda = wd K E_W / |Z|_* with Z the class-mean logits beside it. From weight decay, step, momentum, batch size and
depth alone, the law of merging classes that scored best (`theory.network_forecast`), here for BatchNorm under SGD. The
first needs a last layer near its equilibrium: it means little in the first epochs. A forecast whose assumptions do not
hold is None, and `declined` says why.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray
from lopsided.measure.neural_collapse import DECOMPOSED, nuclear_norm_of_product
from lopsided.theory.collapse import collapse
from lopsided.theory.layer_peeled.solve import Features
from lopsided.theory.network_forecast import network_forecast
from lopsided.torch.monitor.run_settings import RunSettings

LEAST_SEEN = 0.9  # share of the classes whose means must be known; rare ones may miss an epoch's observed batches
WEAK_DECAY = 0.3  # forgetting below which three quarters of the start are left
MOST_SIZES = 32  # distinct class sizes for which the free-features model is solved each epoch (tens of milliseconds)

_merging_law = lru_cache(maxsize=8)(network_forecast)  # settings and counts stay the same from epoch to epoch


@dataclass(frozen=True)
class RunForecast:
    """Forecasts from a run's own numbers; class indices in `collapsed` and `at_risk`."""

    settings: RunSettings
    examples: float
    features: Features
    multiplier: float | None = None
    multiplier_from_logits: float | None = None
    count_needed: float | None = None
    collapsed: tuple[int, ...] = ()
    minority_cosine: float | None = None
    merging_threshold: float | None = None
    survival: tuple[float, ...] | None = None
    merging_minority_cosine: float | None = None
    at_risk: tuple[int, ...] = ()
    outside_fit: tuple[str, ...] = ()
    declined: tuple[str, ...] = ()

    @property
    def threshold(self) -> float | None:
        """Examples a class needs: by the law of merging classes where it applies, else by the multiplier."""
        return self.merging_threshold if self.merging_threshold is not None else self.count_needed

    @property
    def scored(self) -> bool:
        """Whether the published score is of this forecast: that of the scored tasks is within the law's range."""
        return not self.outside_fit

    def holds(self, settings: RunSettings, counts: FloatArray) -> bool:
        """Whether another forecast would differ by the weights alone: settings and examples are what they were."""
        then, now = (replace(one, forgetting=None, planned_forgetting=None) for one in (self.settings, settings))
        return then == now and self.examples == float(counts.sum())


def run_forecast(
    settings: RunSettings,
    counts: FloatArray,
    weight: FloatArray,
    means: FloatArray | None,
    features: Features,
    *,
    spectra: bool = True,
) -> RunForecast:
    """`means` are the class means, one row per class as in `weight`; None or nan where they are not known.

    Without `spectra`, singular values of large heads are not taken, and the multiplier from logits is None.
    """
    facts: dict[str, Any] = {}
    declined: list[str] = []
    ways: dict[str, Callable[[], dict[str, Any]]] = {
        "multiplier": lambda: _by_multiplier(settings, counts, weight, means, features, spectra=spectra),
        "merging law": lambda: _by_merging_law(settings, counts),
    }
    if (counts > 0).all():
        for words, forecast in ways.items():
            try:
                facts |= forecast()
            except (InputError, _Declined) as reason:
                declined.append(f"{words}: {reason}")
    else:
        absent = int(np.count_nonzero(counts <= 0))
        declined.append(f"{absent} of {len(counts)} classes had no examples; give counts= to forecast for all")
    return RunForecast(settings, float(counts.sum()), features, declined=tuple(declined), **facts)


class _Declined(Exception):
    """A forecast outside its assumptions; the message is the reason."""


def _check_training(settings: RunSettings) -> None:
    """Both forecasts are of features that are trained with plain cross entropy."""
    if settings.changed_loss is not None:
        raise _Declined(f"it applies to plain cross entropy, and the loss has {settings.changed_loss}")
    if settings.frozen and not settings.hidden_layers:
        raise _Declined("only the head is trained, so the features cannot merge")


def _weak_decay(settings: RunSettings) -> str:
    """Where decay apart from the loss is too weak to merge classes: over the training a weight without a gradient
    keeps exp(-F)."""
    planned = settings.planned_forgetting
    if not settings.decoupled_decay or planned is None or planned > WEAK_DECAY:
        return ""
    return (
        f"; over the training it shrinks a weight without a gradient by {1 - math.exp(-planned):.1%}, "
        "too little to merge classes: classes are lost here because they are rare or have too few examples"
    )


def _by_merging_law(settings: RunSettings, counts: FloatArray) -> dict[str, Any]:
    wd, lr, batch = settings.weight_decay, settings.learning_rate, settings.batch_size
    if not settings.batch_normalisation:
        raise _Declined("it was fitted on networks with batch normalisation, and this one has none")
    if settings.optimizer not in (None, "SGD"):
        raise _Declined(f"it was fitted on SGD, not {settings.optimizer}{_weak_decay(settings)}")
    _check_training(settings)
    if wd is None or lr is None or batch is None:
        raise _Declined("weight decay, step or batch size is not known; give optimizer= or settings=")
    if wd == 0:
        raise _Declined("without weight decay it makes no forecast")
    law = _merging_law(
        tuple(counts.tolist()),
        weight_decay=wd,
        step=lr,
        batch_size=batch,
        momentum=settings.momentum or 0.0,
        hidden_layers=max(settings.hidden_layers or 1, 1),
        convolutional=bool(settings.convolutional),
    )
    return {
        "merging_threshold": law.count_needed,
        "survival": tuple(law.survival.tolist()),
        "merging_minority_cosine": law.minority_cosine,
        "at_risk": tuple(law.at_risk),
        "outside_fit": law.outside,
    }


def _by_multiplier(
    settings: RunSettings,
    counts: FloatArray,
    weight: FloatArray,
    means: FloatArray | None,
    features: Features,
    *,
    spectra: bool,
) -> dict[str, Any]:
    wd = settings.weight_decay
    if wd is None:
        raise _Declined("the weight decay is not known; give optimizer= or settings=")
    if wd == 0:
        raise _Declined("without weight decay there is no equilibrium to forecast")
    if settings.decoupled_decay:
        words = f"{settings.optimizer} uses decoupled weight decay, so the penalty is not part of the loss"
        raise _Declined(words + _weak_decay(settings))
    _check_training(settings)
    if means is None or means.shape != weight.shape:
        raise _Declined("class means of the head's own input are not known")
    known = np.isfinite(means).all(axis=1)
    if known.sum() < max(LEAST_SEEN * len(means), 2):
        raise _Declined(f"class means are known for {int(known.sum())} of {len(means)} classes only")
    weight, means = weight[known], means[known]
    centred = means - means.mean(axis=0)
    weight_energy = float((weight**2).sum(axis=1).mean())
    mean_energy = float((centred**2).sum(axis=1).mean())
    if not (mean_energy > 0 and weight_energy > 0):
        raise _Declined("classifiers or centred class means are 0")
    multiplier = wd * math.sqrt(weight_energy / mean_energy)
    norm = nuclear_norm_of_product(weight, centred) if spectra or min(weight.shape) <= DECOMPOSED else 0.0
    from_logits = wd * len(weight) * weight_energy / norm if norm > 0 else None
    facts: dict[str, Any] = {"multiplier": multiplier, "multiplier_from_logits": from_logits}
    if features == "relu" or len(np.unique(counts)) <= MOST_SIZES:
        found = collapse(counts, multiplier=multiplier, features=features)
        return facts | {
            "count_needed": found.count_needed,
            "collapsed": tuple(found.collapsed),
            "minority_cosine": found.minority_cosine,
        }
    # In the penalised form lambda N needs no solution; cosines of many sizes would cost more than their share.
    needed = multiplier * float(counts.sum())
    return facts | {"count_needed": needed, "collapsed": tuple(int(k) for k in np.flatnonzero(counts <= needed))}
