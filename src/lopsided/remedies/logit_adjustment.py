"""Logit adjustment (Menon et al. 2021): offsets tau log(prior) in training, or taken off afterwards.

    training    loss of f(x) + tau log pi;         at test time f(x) as it is
    post hoc    train plainly, then f(x) - tau log pi

With tau = 1 the second is Bayes' rule for a change of prior: if p(y|x) ~ pi_y p(x|y) and the classes come with the
prior rho instead, p'(y|x) ~ p(y|x) rho_y / pi_y. Equal rho gives the classifier of best balanced accuracy. After
oversampling at rates w the prior that the network saw is proportional to w_k n_k, and that one has to be taken off.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.partition import LabelledRows
from lopsided.core.validation import FloatArray, check_finite, check_matrix
from lopsided.data.labelled_set import LabelledSet
from lopsided.remedies.contract import Forecast, Occasion, Proposal, Proposals, Remedy, by_name, named, uneven_classes
from lopsided.remedies.learner import Learner
from lopsided.remedies.pilot import Pilot
from lopsided.remedies.rates import Rates

SUM_TOLERANCE = 0.01  # a softmax in half precision rounds each of many probabilities to three digits


def prior_of(counts: ArrayLike | Rates) -> FloatArray:
    """Class frequencies that sum to 1.

    Parameters
    ----------
    counts : sequence of float, or Rates
        Examples of every class, or their shares. For `Rates`, the examples in an epoch.

    Returns
    -------
    array of K floats
        The frequency of each class.
    """
    values = check_class_counts(counts)
    return np.asarray(values / values.sum())


def check_class_counts(counts: ArrayLike | Rates) -> FloatArray:
    """Positive counts of at least two classes; for rates, those in an epoch."""
    values = counts.effective_class_counts if isinstance(counts, Rates) else _numbers(counts)
    if values.ndim != 1 or values.size < 2:
        raise InputError("one count for each of at least two classes", f"shape {values.shape}")
    check_finite(values, "the counts")
    if (values <= 0).any():
        raise InputError(
            "a positive count for every class",
            f"{values.min():g} for class {int(values.argmin())}",
            "leave out classes without examples",
        )
    return values


def _numbers(counts: ArrayLike) -> FloatArray:
    try:
        return np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError):
        got = repr(counts) if isinstance(counts, str) else f"a {type(counts).__name__}"
        raise InputError("one count for each of at least two classes", got, "give a flat list of numbers") from None


def logit_offsets(counts: ArrayLike | Rates, *, tau: float = 1.0, target: ArrayLike | None = None) -> FloatArray:
    """Offsets tau (log pi - log rho) of the logits, with mean 0.

    Parameters
    ----------
    counts : sequence of float, or Rates
        Training examples of every class, or their shares. For `Rates`, the examples in an epoch.
    tau : float, default 1.0
        Strength of the adjustment: 1 is Bayes' rule, 0 changes nothing.
    target : sequence of float, optional
        Class frequencies to assume in prediction. By default, all classes are equally frequent.

    Returns
    -------
    array of K floats
        Add them to the logits in training, or subtract them afterwards; a constant shift changes no softmax.
    """
    offsets = _checked_tau(tau) * np.log(prior_of(counts))
    if target is not None:
        wanted = prior_of(target)
        if wanted.size != offsets.size:
            raise InputError(f"a target prior of {offsets.size} classes", wanted.size)
        offsets = offsets - tau * np.log(wanted)
    return np.asarray(offsets - offsets.mean())


def adjust_logits(
    logits: ArrayLike, counts: ArrayLike | Rates, *, tau: float = 1.0, target: ArrayLike | None = None
) -> FloatArray:
    """Subtract tau (log pi - log rho) from the logits of a network that was trained without adjustment.

    Parameters
    ----------
    logits : array (n, K)
        One row per example.
    counts : sequence of float, or Rates
        Training examples of every class, or their shares. For `Rates`, the examples in an epoch.
    tau : float, default 1.0
        Strength of the adjustment: 1 is Bayes' rule, 0 changes nothing.
    target : sequence of float, optional
        Class frequencies to assume in prediction. By default, all classes are equally frequent.

    Returns
    -------
    array (n, K)
        The adjusted logits.
    """
    offsets = logit_offsets(counts, tau=tau, target=target)
    return check_matrix(logits, "logits", columns=offsets.size) - offsets


def adjust_probabilities(
    probabilities: ArrayLike, counts: ArrayLike | Rates, *, tau: float = 1.0, target: ArrayLike | None = None
) -> FloatArray:
    """Multiply probabilities by (rho_k / pi_k)^tau and normalise them; at tau = 1 this is Bayes' rule.

    Parameters
    ----------
    probabilities : array (n, K)
        One row per example, with sum 1. Use `adjust_logits` for logits.
    counts : sequence of float, or Rates
        Training examples of every class, or their shares. For `Rates`, the examples in an epoch.
    tau : float, default 1.0
        Strength of the adjustment: 1 is Bayes' rule, 0 changes nothing.
    target : sequence of float, optional
        Class frequencies to assume in prediction. By default, all classes are equally frequent.

    Returns
    -------
    array (n, K)
        The adjusted probabilities.
    """
    offsets = logit_offsets(counts, tau=tau, target=target)
    given = check_matrix(probabilities, "probabilities", columns=offsets.size)
    if (given < 0).any() or (given.sum(axis=1) <= 0).any():
        raise InputError("probabilities >= 0 with a positive sum", "others", "for logits use adjust_logits")
    off = np.abs(given.sum(axis=1) - 1.0)
    if off.max() > SUM_TOLERANCE:
        row = int(off.argmax())
        got = f"a sum of {given[row].sum():.4g} in row {row}"
        raise InputError(
            "probabilities that sum to 1 in every row", got, "normalise them; for logits use adjust_logits"
        )
    # Scaled so that the largest factor is 1: nothing overflows, and a zero probability stays zero.
    scaled = given * np.exp(-(offsets - offsets.min()))
    totals = scaled.sum(axis=1, keepdims=True)
    if (totals <= 0).any():  # every probable class was scaled below the smallest double
        with np.errstate(divide="ignore"):
            logs = np.log(given) - offsets
        scaled = np.exp(logs - logs.max(axis=1, keepdims=True))
        totals = scaled.sum(axis=1, keepdims=True)
    return np.asarray(scaled / totals)


def _checked_tau(tau: float) -> float:
    if isinstance(tau, bool) or not isinstance(tau, (int, float, np.integer, np.floating)) or not np.isfinite(tau):
        raise InputError("a finite number for tau", repr(tau), "1 is Bayes' rule, 0 changes nothing")
    return float(tau)


@dataclass(frozen=True)
class LogitAdjustment(Remedy):
    """`offsets` by class name, added to log probabilities after plain training; `tau` is their strength."""

    kind: ClassVar[str] = "logit adjustment"
    name: ClassVar[str] = "logit adjustment"
    needs_probabilities: ClassVar[bool] = True
    offsets: Mapping[str, float]
    tau: float = 1.0

    @classmethod
    def propose(cls, occasion: Occasion) -> Proposals:
        """The log of each class's share, taken off."""
        classes, notes = uneven_classes(occasion.training)
        if classes is None:
            return [], notes
        why = "Decides as if all classes were equally frequent: subtracts the log of each class's share from its score."
        return [Proposal(cls(named(classes, -logit_offsets(classes.counts))), why)], []

    def forecast(self, pilot: Pilot, metric: str, *, seed: int = 0) -> Forecast:
        """The pilot's probabilities, adjusted."""
        values = self.class_offsets(pilot.training)
        moved = pilot.plain() * np.exp(values - values.max())
        ground = "held-out probabilities of a pilot, adjusted (Menon et al. 2021)"
        return pilot.forecast(metric, moved, ground), ""

    def shift(self, training: LabelledSet, learner: Learner, seed: int) -> FloatArray:
        """The offsets, less what the learner does about the prior by itself."""
        offsets = self.class_offsets(training) - self.tau * np.log(learner.factors(training))
        return np.asarray(offsets - offsets.mean())

    def class_offsets(self, rows: LabelledRows) -> FloatArray:
        """0 for a class that is left out."""
        return by_name(self.offsets, rows.classes.names, 0.0)
