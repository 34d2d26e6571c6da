"""Nonnegative features (a network that ends in a ReLU): the Layer-Peeled Model with H >= 0, in closed form.

Class means become orthogonal and the program decouples by class:

    minimise sum_k (n_k/N) CE(z_k)   subject to   sum_k |z_k|_2 <= tau,     z_k = u_k (e_k - 1/K)
    u_k = log(1 + K max(n_k/c - 1, 0)),   sqrt((K-1)/K) sum_k u_k = tau fixes c = `count_needed`
    penalised: c = lambda N sqrt(K/(K-1))

Classes with n_k <= c have h_k = 0 and share one classifier. Why it is optimal: the dual norm of H >= 0 is the largest
|G h| over unit h >= 0; the columns of G = grad f are f_k q_k K/(K-1) (1/K - e_k), whose inner products are not
positive, so the largest is the longest column, and it belongs to one class alone. That also gives the certificate,

    gap = <G, Z> + tau max_k |G_k|,    <G, Z> = -sum_k f_k q_k u_k.

Compare Dang, Tran, Nguyen and Ho (2024), who treat ReLU features with per-class bounds. A million classes cost one sort
and some forty passes over the distinct sizes.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from lopsided.core.errors import InputError
from lopsided.core.validation import BoolArray, FloatArray, check_count
from lopsided.theory.layer_peeled.energy import Ball, Certificate, Penalty, Restraint
from lopsided.theory.layer_peeled.merged import merge
from lopsided.theory.layer_peeled.newton import Status
from lopsided.theory.layer_peeled.solution import Minimiser


@dataclass(frozen=True, kw_only=True)
class ReluSolution(Minimiser):
    """The minimiser with nonnegative features; margins are u_k. Collapsed classes have no feature and share one
    classifier."""

    count_needed: float
    features: str = "relu"

    @property
    def rank(self) -> int:
        """Number of classes with a feature of their own."""
        return int(self.problem.multiplicity[self.group_margins > 0].sum())

    @cached_property
    def _own(self) -> FloatArray:
        """t_k = u_k (K-1)/K, the own logit of a class."""
        return self.group_margins * (self.problem.classes - 1) / self.problem.classes

    @property
    def classifier_norms(self) -> FloatArray:
        """|w_k| of every class: w_j ~ sqrt(t_j) e_j - (1/(K-1)) sum_{k != j} sqrt(t_k) e_k, balanced with H."""
        others = self.problem.classes - 1
        everything = float(self.problem.multiplicity @ self._own)
        balance = self.weight_to_feature_energy**0.5 * math.sqrt(others / self.problem.classes)
        squared: FloatArray = balance * (self._own + (everything - self._own) / others**2)
        return np.sqrt(squared)[self.problem.group_of_class]

    @property
    def feature_norms(self) -> FloatArray:
        """|h_k| of every class: |w part| |h_k| = |z_k| with both of equal energy after scaling."""
        length = math.sqrt((self.problem.classes - 1) / self.problem.classes) * self.group_margins
        norms: FloatArray = np.sqrt(length / self.weight_to_feature_energy**0.5)[self.problem.group_of_class]
        return norms

    def mean_cosine(self, chosen: BoolArray) -> float | None:
        """Average cosine over pairs of classifiers of the chosen classes, in one pass."""
        count = int(np.count_nonzero(chosen))
        everything = float(self.problem.multiplicity @ self._own)
        if count < 2 or everything == 0:
            return None
        others = self.problem.classes - 1
        own = self._own[self.problem.group_of_class[chosen]]
        inverse = 1.0 / np.sqrt(own + (everything - own) / others**2)
        # w_j . w_l = S/(K-1)^2 - (t_j + t_l) (1/(K-1) + 1/(K-1)^2) for j != l
        constant, slope = everything / others**2, 1 / others + 1 / others**2
        total, weighted = float(inverse.sum()), float(own @ inverse)
        pairs = constant * (total**2 - float(inverse @ inverse))
        pairs -= 2 * slope * (weighted * total - float(own @ inverse**2))
        return float(np.clip(pairs / (count * (count - 1)), -1.0, 1.0))

    def logits(self) -> FloatArray:
        """Z, K x K."""
        margin = self.margins
        return np.diag(margin) - np.broadcast_to(margin / self.problem.classes, (margin.size, margin.size))

    def factors(self, dimension: int | None = None) -> tuple[FloatArray, FloatArray]:
        """(W, H) with H >= 0 and W H = Z, for any p >= rank."""
        live = np.flatnonzero(self.margins > 0)
        width = live.size if dimension is None else check_count(dimension, "the feature dimension", at_least=0)
        if width < live.size:
            raise InputError(f"a feature dimension of at least {live.size}, the rank of Z", width)
        h = np.zeros((width, self.problem.classes))
        norms = self.feature_norms[live]
        h[np.arange(live.size), live] = norms
        w = np.zeros((self.problem.classes, width))
        w[:, : live.size] = self.logits()[:, live] / norms
        return w, h


def solve_relu(counts: FloatArray, held: Restraint) -> ReluSolution:
    """The minimiser with H >= 0 for effective class counts."""
    problem = merge(counts)
    classes = problem.classes
    sizes, members = problem.weights, problem.multiplicity  # c is found in units of N
    shrinkage = math.sqrt((classes - 1) / classes)

    def margins(needed: float) -> FloatArray:
        live = int(np.searchsorted(-sizes, -needed))  # sizes fall, so the classes above c come first
        result = np.zeros_like(sizes)
        result[:live] = np.log1p(classes * (sizes[:live] / needed - 1.0))
        return result

    if isinstance(held.regulariser, Penalty):
        needed = held.regulariser.multiplier / shrinkage
    else:
        target = held.regulariser.tau / shrinkage

        def excess(log_needed: float) -> float:
            return float(members @ margins(math.exp(log_needed))) - target

        high = math.log(sizes[0])
        width = 1.0
        while excess(high - width) < 0:
            width *= 2.0
        needed = math.exp(brentq(excess, high - width, high, xtol=1e-15, rtol=8.9e-16))
    margin = margins(needed)
    decay = (classes - 1) * np.exp(-margin)
    losses, missed = np.log1p(decay), decay / (1 + decay)
    nuclear = shrinkage * float(members @ margin)
    objective = float((members * sizes) @ losses)
    longest = float((sizes * missed).max()) / shrinkage
    alignment = float((members * sizes) @ (missed * margin))
    if isinstance(held.regulariser, Ball):
        certificate = Certificate(objective, abs(held.regulariser.tau * longest - alignment))
        multiplier = needed * shrinkage
    else:
        multiplier = held.regulariser.multiplier
        certificate = Certificate(objective + multiplier * nuclear, abs(max(multiplier, longest) * nuclear - alignment))
    return ReluSolution(
        problem=problem,
        group_margins=margin,
        group_losses=losses,
        collapsed_groups=margin <= 0,
        multiplier=multiplier,
        count_needed=needed * float(counts.sum()),
        norm=nuclear,
        weight_to_feature_energy=held.weight_to_feature_energy,
        certificate=certificate,
        objective=objective,
        status=Status.of_exact(certificate),
    )
