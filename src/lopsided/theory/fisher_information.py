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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lopsided.core.activation import Activation, hazard, log_value, sides_and_slope
from lopsided.core.validation import FloatArray

MOST_NODES = 500_000
_CHUNK = 65_536
_BOX = 16_384  # nodes of a box at once, so that they stay in the cache
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


@dataclass(frozen=True)
class _Grid:
    """The nodes of a box that lie within its inscribed ball; the corners weigh no more than what lies outside."""

    rank: int
    axis: FloatArray
    mass: FloatArray
    radius: float

    def __iter__(self) -> Iterator[Nodes]:
        size = self.axis.size
        for start in range(0, size**self.rank, _CHUNK):
            numbers = np.arange(start, min(start + _CHUNK, size**self.rank))
            places = np.stack(np.unravel_index(numbers, (size,) * self.rank), axis=1)
            t = self.axis[places]
            near = np.einsum("ij,ij->i", t, t) <= self.radius**2
            if near.any():
                yield t[near], self.mass[places[near]].prod(axis=1)


def _rules(rank: int, steepness: float, coarse: bool = False) -> tuple[Sequence["_Grid | Iterator[Nodes]"], Method]:
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


def _grid(rank: int, step: float, shift: float, reach: float) -> _Grid:
    half = int(np.ceil(reach / step))
    axis = np.asarray((np.arange(-half, half + 1) + shift) * step, dtype=np.float64)
    mass = np.exp(-0.5 * np.square(axis))
    return _Grid(rank, axis, mass / mass.sum(), float(axis[-1] + step))


def _sobol(rank: int, replicate: int) -> Iterator[Nodes]:
    from scipy.special import ndtri
    from scipy.stats import qmc

    uniform = qmc.Sobol(rank, scramble=True, rng=np.random.default_rng(replicate)).random_base2(_SOBOL_POWER)
    yield ndtri(np.clip(uniform, 1e-16, 1 - 1e-16)), np.full(len(uniform), 1.0 / len(uniform))


def _moments(
    offset: FloatArray, triangle: FloatArray, activation: Activation, rule: _Grid | Iterator[Nodes]
) -> tuple[FloatArray, float]:
    """E[w_jk (1, t)(1, t)^T] for every pair of neurons, shape (K, K, r + 1, r + 1), and the entropy."""
    if isinstance(rule, _Grid):
        farthest = np.abs(offset) + np.abs(triangle).sum(axis=0) * rule.radius
        if float(np.max(farthest)) < _DIRECT[activation]:
            return _moments_on_grid(offset, triangle, activation, rule)
    return _moments_at_nodes(offset, triangle, activation, rule)


def _moments_on_grid(
    offset: FloatArray, triangle: FloatArray, activation: Activation, grid: _Grid
) -> tuple[FloatArray, float]:
    """The same sums over the whole box, axis by axis.

    `triangle` is upper triangular, so z_j varies along the first j axes only and most activations are those of a
    smaller box; masses and powers of t belong to single axes, so a moment is r small products of matrices. With
    S = sum_j phi(z_j) and N = sum_j phi(-z_j) = K - S, the weights are g_j g_k / (H (1-H)) = phi'_j/S phi'_k/N.
    """
    rank, neurons = triangle.shape
    first, second = np.tril_indices(neurons)
    size = grid.axis.size
    powers = grid.mass[:, None] * grid.axis[:, None] ** np.arange(3)  # m, m t, m t^2
    sums = np.zeros((*(3,) * rank, first.size + 1))
    rows = max(1, _BOX // size ** (rank - 1))
    for start in range(0, size, rows):
        part = slice(start, start + rows)
        t = [_on_axis(grid.axis[part] if one == 0 else grid.axis, one, rank) for one in range(rank)]
        near = np.asarray(sum(np.square(one) for one in t)) <= grid.radius**2
        sides = [
            sides_and_slope(from_ + sum(by * one for by, one in zip(slopes, t, strict=False)), activation)
            for from_, slopes in ((offset[j], triangle[: j + 1, j]) for j in range(neurons))
        ]
        yes, no = (sum((side[which] for side in sides), np.zeros(near.shape)) for which in (0, 1))
        values = np.empty((first.size + 1, *near.shape))
        values[-1] = (yes * np.log(yes / neurons) + no * np.log(no / neurons)) * near
        left, right = ([side[2] * inverse for side in sides] for inverse in (near / yes, 1.0 / no))
        for pair, (j, k) in enumerate(zip(first, second, strict=True)):
            np.multiply(left[j], right[k], out=values[pair])
        for _ in range(rank - 1):  # the last axis each time; its powers go to the front, before those of later axes
            values = np.moveaxis(values @ powers, -1, 0)
        sums += np.moveaxis(values @ powers[part], -1, 0)
    ones = np.eye(rank + 1, dtype=int)[:, 1:]
    exponents = ones[:, None] + ones[None, :]  # of t in (1, t)(1, t)^T
    total = np.empty((neurons, neurons, rank + 1, rank + 1))
    total[first, second] = total[second, first] = np.moveaxis(sums[tuple(np.moveaxis(exponents, -1, 0))], -1, 0)[:-1]
    return total, -float(sums[(0,) * rank][-1]) / neurons


def _on_axis(values: FloatArray, one: int, rank: int) -> FloatArray:
    """The values along axis `one` of a box."""
    return values.reshape((1,) * one + (-1,) + (1,) * (rank - 1 - one))


def _moments_at_nodes(
    offset: FloatArray, triangle: FloatArray, activation: Activation, rule: _Grid | Iterator[Nodes]
) -> tuple[FloatArray, float]:
    """The sums node by node, for scattered nodes and where phi underflows."""
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
    above, below, bell = sides_and_slope(z, activation)
    pair = []
    for side in (above, below):
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
