"""Fisher information and label entropy of one Gaussian group at the teacher W*.

    H_l = E_{x ~ N(mu, Sigma)} [ g g^T / (H (1 - H)) (x) x x^T ],
    g_j = phi'(w_j^T x) / K,   H = (1/K) sum_j phi(w_j^T x)

The bracket depends on x only through z = W*^T x, so with x = mu + C e, C = Sigma^{1/2} and C W* = Q R only the r =
min(d, K) coordinates t = Q^T e need integration, for any d; the rest of x x^T given t is Gaussian in closed form. Over
t:

* the trapezoid rule on a product grid, which converges geometrically for analytic integrands times a Gaussian; two
  grids shifted by half a step in every direction give the error;
* if that grid would be too large, scrambled Sobol points, whose independent scramblings give the error.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lopsided.core.activation import Activation, hazard, log_value, slope, value
from lopsided.core.validation import FloatArray

MOST_NODES = 500_000
_CHUNK = 65_536
_REACH = 8.0  # the normal density beyond 8 deviations has mass 1e-15
_COARSE_REACH = 6.0  # and beyond 6 deviations 2e-9, far below the error of a coarse grid
_REPLICATES, _SOBOL_POWER = 8, 14
Method = Literal["quadrature", "quasi-Monte Carlo"]
Nodes = tuple[FloatArray, FloatArray]  # t (n x r) and their masses (n)


@dataclass(frozen=True)
class GroupInformation:
    """H_l (K d, K d), ordered neuron by neuron; the mean label entropy in nats; and their estimated relative errors."""

    information: FloatArray
    entropy: float
    information_error: float
    entropy_error: float
    method: Method


def group_information(
    mean: FloatArray,
    covariance: FloatArray,
    weights: FloatArray,
    activation: Activation = "sigmoid",
    *,
    coarse: bool = False,
) -> GroupInformation:
    """Integrate by the trapezoid rule if its grid is small enough, otherwise by quasi-Monte Carlo.

    `coarse` uses one grid with the widest step: an eighth of the work, and errors near 1e-5 that are not estimated.
    """
    factor = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)  # x = mu + factor e
    basis, triangle = np.linalg.qr(factor.T @ weights)
    rules, method = _rules(basis.shape[1], float(np.max(np.linalg.norm(triangle, axis=0))), coarse)
    spanned = factor @ basis
    rest = factor @ factor.T - spanned @ spanned.T
    estimates, entropies = [], []
    for rule in rules:
        moments, entropy = _moments(mean @ weights, triangle, activation, rule)
        estimates.append(_assemble(moments, mean, spanned, rest))
        entropies.append(entropy)
    information = np.mean(estimates, axis=0)
    size = max(float(np.linalg.norm(information)), 1e-300)  # zero where the group is too far away to teach anything
    spread = np.linalg.norm(np.array(estimates) - information, axis=(1, 2)) / size
    level = float(np.mean(entropies))
    # Scramblings are independent: the standard error of their mean. Two shifted grids differ by twice the leading
    # error, which their mean cancels, so half their difference is on the safe side.
    many = float(len(rules))
    scale = 1.0 / np.sqrt(2.0) if method == "quadrature" else 1.0 / np.sqrt(many * (many - 1.0))
    return GroupInformation(
        information,
        level,
        float(np.linalg.norm(spread) * scale),
        float(np.linalg.norm(np.array(entropies) - level) * scale / max(level, 1e-300)),
        method,
    )


def _rules(rank: int, steepness: float, coarse: bool = False) -> tuple[list[Iterator[Nodes]], Method]:
    """Several independent sets of nodes with their masses."""
    # phi has its nearest pole at distance pi, so in t the integrand is analytic in a strip of about pi / steepness and
    # the rule's error is about exp(-2 pi strip / step). A step of 0.3 strips gives 1e-9; where that grid is too large,
    # up to 0.6 strips are accepted. The strip is an estimate (1/(H(1-H)) has poles too): two grids measure the error.
    strip = np.pi / max(steepness, 1e-300)
    reach = _COARSE_REACH if coarse else _REACH
    for share in (0.6,) if coarse else (0.3, 0.45, 0.6):
        step = min(0.4, share * strip)
        if (2.0 * np.ceil(reach / step) + 1.0) ** rank <= MOST_NODES / 2:
            return [_grid(rank, step, shift, reach) for shift in ((0.0,) if coarse else (0.0, 0.5))], "quadrature"
    return [_sobol(rank, replicate) for replicate in range(_REPLICATES)], "quasi-Monte Carlo"


def _grid(rank: int, step: float, shift: float, reach: float) -> Iterator[Nodes]:
    """The nodes of the box that lie within its inscribed ball; the corners have no more mass than the part outside the
    box."""
    half = int(np.ceil(reach / step))
    axis = np.asarray((np.arange(-half, half + 1) + shift) * step, dtype=np.float64)
    mass = np.exp(-0.5 * np.square(axis))
    mass /= mass.sum()
    total = axis.size**rank
    for start in range(0, total, _CHUNK):
        places = np.stack(np.unravel_index(np.arange(start, min(start + _CHUNK, total)), (axis.size,) * rank), axis=1)
        t = axis[places]
        near = np.einsum("ij,ij->i", t, t) <= (axis[-1] + step) ** 2
        if near.any():
            yield t[near], mass[places[near]].prod(axis=1)


def _sobol(rank: int, replicate: int) -> Iterator[Nodes]:
    from scipy.special import ndtri
    from scipy.stats import qmc

    uniform = qmc.Sobol(rank, scramble=True, rng=np.random.default_rng(replicate)).random_base2(_SOBOL_POWER)
    yield ndtri(np.clip(uniform, 1e-16, 1 - 1e-16)), np.full(len(uniform), 1.0 / len(uniform))


def _moments(
    offset: FloatArray, triangle: FloatArray, activation: Activation, rule: Iterator[Nodes]
) -> tuple[FloatArray, float]:
    """E[w_jk (1, t)(1, t)^T] for every pair of neurons, shape (K, K, r + 1, r + 1), and the entropy."""
    rank, neurons = triangle.shape
    first, second = np.tril_indices(neurons)
    left, right = np.tril_indices(rank + 1)
    sums = np.zeros((first.size, left.size))
    entropy = 0.0
    for t, mass in rule:
        z = offset + t @ triangle
        (log_yes, pulls_yes), (log_no, pulls_no) = _sides(z, activation)
        yes, no = np.exp(log_yes), np.exp(log_no)
        entropy -= float(mass @ (yes * log_yes + no * log_no))
        # g_j g_k / (H (1-H)) = H (g_j/H)(g_k/H) + (1-H)(g_j/(1-H))(g_k/(1-H)), finite where H or 1-H underflows.
        weights = (mass * yes)[:, None] * pulls_yes[:, first] * pulls_yes[:, second]
        weights += (mass * no)[:, None] * pulls_no[:, first] * pulls_no[:, second]
        extended = np.column_stack([np.ones(len(t)), t])
        sums += weights.T @ (extended[:, left] * extended[:, right])
    total = np.empty((neurons, neurons, rank + 1, rank + 1))
    for j, k, own in zip(first, second, sums, strict=True):
        total[j, k][left, right] = total[j, k][right, left] = own
        total[k, j] = total[j, k]
    return total, entropy


Side = tuple[FloatArray, FloatArray]
# Below these |z| no phi underflows (sigmoid e^-600, tanh e^-600, erfc(25) = 1e-273) and plain quotients are exact.
_DIRECT: dict[Activation, float] = {"sigmoid": 600.0, "tanh": 300.0, "erf": 25.0}


def _sides(z: FloatArray, activation: Activation) -> tuple[Side, Side]:
    """For y = 1 and y = 0: log mean_j phi(+-z_j), and (phi'(z_j)/K) / mean_j phi(+-z_j)."""
    if not float(np.max(np.abs(z))) < _DIRECT[activation]:
        return _side_from_logarithms(z, activation), _side_from_logarithms(-z, activation)
    bell = slope(z, activation)
    pair = []
    for side in (value(z, activation), value(-z, activation)):
        total = side.sum(axis=1, keepdims=True)
        pair.append((np.log(total[:, 0] / z.shape[1]), bell / total))
    return pair[0], pair[1]


def _side_from_logarithms(z: FloatArray, activation: Activation) -> Side:
    """log mean_j phi(z_j), and (phi'(z_j)/K) / mean phi = softmax_j(log phi(z)) phi'(z_j)/phi(z_j)."""
    logs = log_value(z, activation)
    top = logs.max(axis=1, keepdims=True)
    shares = np.exp(logs - top)
    total = shares.sum(axis=1, keepdims=True)
    return (top + np.log(total / z.shape[1]))[:, 0], shares / total * hazard(z, activation)


def _assemble(moments: FloatArray, mean: FloatArray, spanned: FloatArray, rest: FloatArray) -> FloatArray:
    """E[w_jk x x^T] with x x^T given t equal to (mu + B t)(mu + B t)^T + rest in the mean."""
    neurons, dimension = moments.shape[0], mean.shape[0]
    frame = np.column_stack([mean, spanned])
    result = np.empty((neurons, dimension, neurons, dimension))
    for j in range(neurons):
        for k in range(neurons):
            result[j, :, k, :] = frame @ moments[j, k] @ frame.T + moments[j, k, 0, 0] * rest
    return result.reshape(neurons * dimension, neurons * dimension)
