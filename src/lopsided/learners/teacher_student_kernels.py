"""Compiled loops of the one-hidden-layer network, H(W, x) = (1/K) sum_j phi(w_j^T x), cross entropy (eq 1-3).

With s = 2y - 1 and u_j = s w_j^T x the loss of a point is -log mean_j phi(u_j), because 1 - phi(z) = phi(-z). Then

    dl/dz_j = -s p_j h_j,    d2l/dz_j dz_k = p_j h_j p_k h_k - [j = k] p_j g_j,
    p_j = phi(u_j) / sum phi(u),   h = phi'/phi,   g = phi''/phi,

and nothing is lost where phi underflows: p is a softmax of log phi there, and h and g have finite limits.

Samples run along the fast axis (features are passed transposed, d x n) in blocks that stay in the first-level cache,
and the exponential is a polynomial, so that the compiler vectorises every inner loop.
"""

from collections.abc import Callable
from math import erfc, exp, log, sqrt
from typing import Any, TypeVar, cast

import numba
import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])


def _compiled(function: Function) -> Function:
    # Products may be fused into sums (exact to one rounding less), nothing else may change.
    return cast(Function, numba.njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")(function))


def _compiled_sum(function: Function) -> Function:
    # Sums may be reassociated, which is what vectorises them. Numba hands these flags down to every function called,
    # and they would cancel the rounding step of `_fast_exp`, so functions under this decorator call nothing.
    flags = {"reassoc", "contract", "nsz"}
    return cast(Function, numba.njit(cache=True, nogil=True, fastmath=flags, error_model="numpy")(function))


BLOCK = 256
SIGMOID, TANH, ERF = 0, 1, 2
TINY = 1e-280  # below this a sum of phi may have lost digits to underflow, and logarithms take over
_ROOT_PI = sqrt(np.pi)
_LOG2E, _LN2_HIGH, _LN2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROUNDING = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to the nearest whole number


@_compiled
def _fast_exp(x: float) -> float:
    """exp(x) for x in [-700, 0], relative error below 4e-16: 2^k times a polynomial on [-ln2/2, ln2/2]."""
    shifted = x * _LOG2E + _ROUNDING
    whole = shifted - _ROUNDING
    r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
    p = 2.08767569878681e-09  # 1/12!; the first term left out is below 2e-16 for |r| <= ln2/2
    p = p * r + 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 1.984126984126984e-04
    p = p * r + 1.3888888888888889e-03
    p = p * r + 8.333333333333333e-03
    p = p * r + 4.1666666666666664e-02
    p = p * r + 1.6666666666666666e-01
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    # The low bits of `shifted` are k; moved into the exponent field they are 2^k.
    bits = np.int64((np.float64(shifted).view(np.int64) + np.int64(1023)) << np.int64(52))
    return p * np.int64(bits).view(np.float64)


@_compiled_sum
def _project(features: Any, start: int, count: int, weights: Any, out: Any) -> None:
    """out[j, i] = w_j^T x_i for one block of samples; four features a pass, so that few partial sums are stored."""
    dimension, neurons = weights.shape
    for j in range(neurons):
        row = out[j, :count]
        rest = dimension % 4
        if rest == 0:
            for i in range(count):
                row[i] = 0.0
        else:
            w0 = weights[0, j]
            x0 = features[0, start : start + count]
            for i in range(count):
                row[i] = w0 * x0[i]
        for a in range(1, rest):
            w0 = weights[a, j]
            x0 = features[a, start : start + count]
            for i in range(count):
                row[i] += w0 * x0[i]
        for a in range(rest, dimension, 4):
            w0, w1, w2, w3 = weights[a, j], weights[a + 1, j], weights[a + 2, j], weights[a + 3, j]
            x0 = features[a, start : start + count]
            x1 = features[a + 1, start : start + count]
            x2 = features[a + 2, start : start + count]
            x3 = features[a + 3, start : start + count]
            for i in range(count):
                row[i] += w0 * x0[i] + w1 * x1[i] + w2 * x2[i] + w3 * x3[i]


@_compiled_sum
def _accumulate(features: Any, start: int, count: int, coefficients: Any, gradient: Any) -> None:
    """gradient[a, j] += sum_i coefficients[j, i] x_i[a] for one block of samples; four features a pass."""
    dimension, neurons = gradient.shape
    rest = dimension % 4
    for j in range(neurons):
        row = coefficients[j, :count]
        for a in range(rest):
            x0 = features[a, start : start + count]
            first = 0.0
            for i in range(count):
                first += row[i] * x0[i]
            gradient[a, j] += first
        for a in range(rest, dimension, 4):
            x0, x1 = features[a, start : start + count], features[a + 1, start : start + count]
            x2, x3 = features[a + 2, start : start + count], features[a + 3, start : start + count]
            first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
            for i in range(count):
                first += row[i] * x0[i]
                second += row[i] * x1[i]
                third += row[i] * x2[i]
                fourth += row[i] * x3[i]
            gradient[a, j] += first
            gradient[a + 1, j] += second
            gradient[a + 2, j] += third
            gradient[a + 3, j] += fourth


@_compiled_sum
def add_hessian(features: Any, first: Any, second: Any, total: Any) -> None:
    """total[p] += sum_i c_i x_i x_i^T for every pair p = (j, k <= j), lower triangles only.

    c = first_j first_k - [j = k] second_j. For few features this beats matrix products, which need weighted copies.
    """
    dimension, count = features.shape
    curvature, weighted = np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, count, BLOCK):
        size = min(BLOCK, count - start)
        pair = 0
        for j in range(first.shape[0]):
            first_j = first[j, start : start + size]
            for k in range(j + 1):
                first_k = first[k, start : start + size]
                for i in range(size):
                    curvature[i] = first_j[i] * first_k[i]
                if j == k:
                    own = second[j, start : start + size]
                    for i in range(size):
                        curvature[i] -= own[i]
                for a in range(dimension):
                    x_a = features[a, start : start + size]
                    for i in range(size):
                        weighted[i] = curvature[i] * x_a[i]
                    for b in range(a + 1):
                        x_b = features[b, start : start + size]
                        entry = 0.0
                        for i in range(size):
                            entry += weighted[i] * x_b[i]
                        total[pair, a, b] += entry
                pair += 1


@_compiled
def _log_phi_tail(u: float, code: int) -> float:
    """log phi(u) far to the left (phi below TINY): leading asymptotics, whose next term is below rounding there."""
    if code == SIGMOID:
        return u
    if code == TANH:
        return 2.0 * u
    inverse = 1.0 / (2.0 * u * u)  # u < -25: erfcx(x) = (1 - 1/2x^2 + 3/4x^4 - ...) / (x sqrt(pi))
    series = 1.0 - inverse * (1.0 - 3.0 * inverse * (1.0 - 5.0 * inverse))
    return float(-u * u + log(series / (-2.0 * u * _ROOT_PI)))


@_compiled
def _hazard_tail(u: float, code: int) -> float:
    """phi'/phi far to the left."""
    if code == SIGMOID:
        return 1.0
    if code == TANH:
        return 2.0
    inverse = 1.0 / (2.0 * u * u)
    return -2.0 * u / (1.0 - inverse * (1.0 - 3.0 * inverse * (1.0 - 5.0 * inverse)))


@_compiled
def _tail(signed: Any, i: int, code: int, work: Any) -> float:
    """Softmax shares p_j of phi(u_j) into work[:, i] from logarithms; returns log sum_j phi(u_j)."""
    neurons = signed.shape[0]
    top = -np.inf
    for j in range(neurons):
        work[j, i] = _log_phi_tail(signed[j, i], code)
        top = max(top, work[j, i])
    total = 0.0
    for j in range(neurons):
        work[j, i] = exp(work[j, i] - top)
        total += work[j, i]
    for j in range(neurons):
        work[j, i] /= total
    return float(top + log(total))


@_compiled
def _activate(signed: Any, count: int, code: int, value: Any, slope: Any, total: Any) -> bool:
    """phi, phi' and sum_j phi of a block; says whether some sum is below TINY."""
    neurons = signed.shape[0]
    scale = 2.0 if code == TANH else 1.0
    sums = total[:count]
    for i in range(count):
        sums[i] = 0.0
    for j in range(neurons):
        argument, height, bell = signed[j, :count], value[j, :count], slope[j, :count]
        if code == ERF:
            for i in range(count):
                height[i] = 0.5 * erfc(-argument[i])
                bell[i] = exp(-argument[i] * argument[i]) / _ROOT_PI
        else:
            for i in range(count):
                # exp(-690) is below TINY: such sums go to the tail.
                bell[i] = _fast_exp(-min(abs(scale * argument[i]), 690.0))
            for i in range(count):
                decay = bell[i]
                inverse = 1.0 / (1.0 + decay)
                height[i] = (1.0 if argument[i] >= 0.0 else decay) * inverse
                bell[i] = scale * decay * inverse * inverse
        for i in range(count):
            sums[i] += height[i]
    least = np.inf
    for i in range(count):
        if not sums[i] >= least:  # keeps NaN
            least = sums[i]
    return not least >= TINY


@_compiled
def add_gradient(features: Any, weights: Any, code: int, gradient: Any, work: Any, total: Any) -> None:
    """gradient <- (1/n) sum_i grad l_i. `features` are s_i x_i; `work` is (3, K, BLOCK), `total` is (BLOCK,)."""
    count = features.shape[1]
    neurons = weights.shape[1]
    signed, value, slope = work[0], work[1], work[2]
    gradient[:] = 0.0
    for start in range(0, count, BLOCK):
        size = min(BLOCK, count - start)
        _project(features, start, size, weights, signed)
        in_tail = _activate(signed, size, code, value, slope, total)
        for i in range(size):
            total[i] = -1.0 / total[i]
        for j in range(neurons):
            for i in range(size):
                slope[j, i] *= total[i]
        if in_tail:
            for i in range(size):
                if not abs(total[i]) <= 1.0 / TINY:
                    _tail(signed, i, code, value)
                    for j in range(neurons):
                        slope[j, i] = -value[j, i] * _hazard_tail(signed[j, i], code)
        _accumulate(features, start, size, slope, gradient)
    gradient /= count


@_compiled
def loss_terms(
    features: Any, signs: Any, weights: Any, code: int, first: Any, second: Any, wants_second: bool
) -> float:
    """Mean loss; first[j, i] = dl_i/dz_j; and second[j, i] = p_j g_j, the diagonal part of the Hessian, if wanted."""
    count = features.shape[1]
    neurons = weights.shape[1]
    signed = np.empty((neurons, BLOCK))
    value, slope, total = np.empty_like(signed), np.empty_like(signed), np.empty(BLOCK)
    scale = 2.0 if code == TANH else 1.0
    loss = 0.0
    for start in range(0, count, BLOCK):
        size = min(BLOCK, count - start)
        _project(features, start, size, weights, signed)
        sign = signs[start : start + size]
        for j in range(neurons):
            for i in range(size):
                signed[j, i] *= sign[i]
        in_tail = _activate(signed, size, code, value, slope, total)
        for i in range(size):
            loss -= log(total[i] / neurons) if not in_tail or total[i] >= TINY else 0.0
        for j in range(neurons):
            height, bell, argument = value[j, :size], slope[j, :size], signed[j, :size]
            pull, turn = first[j, start : start + size], second[j, start : start + size]
            for i in range(size):
                pull[i] = -sign[i] * (bell[i] / total[i])
            if wants_second and code == ERF:
                for i in range(size):  # phi'' = -2 u phi'
                    turn[i] = -2.0 * argument[i] * (bell[i] / total[i])
            elif wants_second:
                for i in range(size):  # phi'' = scale (1 - 2 phi) phi'
                    turn[i] = scale * (1.0 - 2.0 * height[i]) * (bell[i] / total[i])
        if in_tail:
            for i in range(size):
                if not total[i] >= TINY:
                    loss -= _tail(signed, i, code, value) - log(neurons)
                    for j in range(neurons):
                        share = value[j, i] * _hazard_tail(signed[j, i], code)
                        first[j, start + i] = -sign[i] * share
                        if wants_second:
                            second[j, start + i] = share * (-2.0 * signed[j, i] if code == ERF else scale)
    return float(loss / count)


@_compiled
def descend(
    features: Any,
    signs: Any,
    start: Any,
    step: float,
    steps: int,
    code: int,
    noise: Any,
    record_every: int,
    trajectory: Any,
    tolerance: float,
) -> tuple[Any, Any, int]:
    """W <- W - step (grad f_n(W) + noise_t), eq 6. `noise` has 0, 1 (kept fixed) or `steps` entries of shape (d, K).

    Returns the weights, the last gradient and the number of steps taken; stops early when the gradient's length is at
    most `tolerance`, or when a weight is no longer a number.
    """
    weights = start.copy()
    gradient = np.empty_like(weights)
    turned = features * signs  # s_i x_i: no step needs the sign again
    neurons = weights.shape[1]
    work, total = np.empty((3, neurons, BLOCK)), np.empty(BLOCK)
    if record_every > 0:
        trajectory[0] = weights
    for t in range(steps):
        add_gradient(turned, weights, code, gradient, work, total)
        length = sqrt(np.sum(gradient * gradient))
        if length <= tolerance or not np.isfinite(length):
            return weights, gradient, t
        if noise.shape[0] == 0:
            weights -= step * gradient
        else:
            weights -= step * (gradient + noise[min(t, noise.shape[0] - 1)])
        if record_every > 0 and (t + 1) % record_every == 0:
            trajectory[(t + 1) // record_every] = weights
    add_gradient(turned, weights, code, gradient, work, total)
    return weights, gradient, steps
