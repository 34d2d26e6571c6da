"""Answers that owe us nothing: the two convex programs of the paper written down in cvxpy, solved by Clarabel."""

import cvxpy as cp
import numpy as np


def _losses(z, counts):
    """sum_k (n_k/N) CE(z_k, k); column k of z belongs to class k."""
    weights = counts / counts.sum()
    return sum(weights[k] * (cp.log_sum_exp(z[:, k]) - z[k, k]) for k in range(len(counts)))


def nuclear_form(counts, tau):
    """Program (91)."""
    counts = np.asarray(counts, dtype=float)
    z = cp.Variable((len(counts), len(counts)))
    problem = cp.Problem(cp.Minimize(_losses(z, counts)), [cp.normNuc(z) <= tau])
    problem.solve(solver=cp.CLARABEL)
    return problem.value, z.value


def penalised_form(counts, multiplier):
    """f(Z) + lambda |Z|_*."""
    counts = np.asarray(counts, dtype=float)
    z = cp.Variable((len(counts), len(counts)))
    problem = cp.Problem(cp.Minimize(_losses(z, counts) + multiplier * cp.normNuc(z)))
    problem.solve(solver=cp.CLARABEL)
    return problem.value, z.value


def semidefinite_form(counts, feature_energy, weight_energy):
    """Program (15)."""
    counts = np.asarray(counts, dtype=float)
    k = len(counts)
    x = cp.Variable((2 * k, 2 * k), PSD=True)
    logits = x[k:, :k]  # column j: logits of class j
    problem = cp.Problem(
        cp.Minimize(_losses(logits, counts)),
        [cp.trace(x[:k, :k]) <= k * feature_energy, cp.trace(x[k:, k:]) <= k * weight_energy],
    )
    problem.solve(solver=cp.CLARABEL)
    return problem.value, logits.value
