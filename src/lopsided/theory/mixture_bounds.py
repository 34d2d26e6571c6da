"""The order bounds of the group-imbalance theorem (Theorem 1; Li et al. 2022 Definitions 3-5, eq 93, 104-111).

With s_l = |Sigma_l^{-1}|^{-1/2}, a_l = |mu_l| + |Sigma_l|^{1/2}, delta_i the singular values of W*, kappa =
delta_1/delta_K, eta = prod_i delta_i/delta_K, tau = sigma_max/sigma_min:

    A = sum lambda_l a_l^2,    core = sum lambda_l s_l^2 rho(W*^T mu_l / (delta_K s_l), delta_K s_l)
    D_m = sum lambda_l (|mu_l|/s_l + 1)^m,     Gamma = core / (tau^K kappa^2 eta sigma_max^2)
    B = (sigma_max delta_1)^2 tau^12 Gamma^-2 D_12,     q = core / (eta tau^K kappa^2 A),     v = 1 - q / K^2
    E_w = sqrt(A) / core,    E = A / core,    E_l = sqrt(A) a_l / core
    r = epsilon_0 core / (eta tau^K kappa^2) / (K^{7/2} (sum lambda a^4 sum lambda a^8)^{1/4})

Square roots that the printed text lost are restored. Every constant the O(.) hides is 1 and epsilon_0 = 1/4, its
largest value: these numbers rank problems but do not measure them. (11)-(12) can bound only the excess risk, because
the label entropy does not fall with n.
"""

from dataclasses import dataclass

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.mixture_spec import MixtureProblem
from lopsided.core.validation import FloatArray
from lopsided.theory.rho import rho

EPSILON_0 = 0.25


@dataclass(frozen=True)
class GroupRegime:
    """The columns of Table I that apply to a group, and what the paper says about its fraction."""

    covariance: str
    mean: str
    fraction: str


@dataclass(frozen=True)
class MixtureBounds:
    """The paper's quantities for one problem; `rho` and `El` have one entry per group."""

    rho: FloatArray
    A: float
    core: float
    D6: float
    D12: float
    Gamma: float
    B: float
    q: float
    v: float
    Ew: float
    E: float
    El: FloatArray
    radius: float
    sample_complexity: float
    condition: float
    regimes: tuple[GroupRegime, ...]


def d_function(problem: MixtureProblem, power: int) -> float:
    """D_m (Definition 2 of Li et al. 2024)."""
    mixture = problem.mixture
    return float(mixture.fractions @ np.power(mixture.mean_lengths / mixture.least_spread + 1.0, power))


def mixture_bounds(problem: MixtureProblem) -> MixtureBounds:
    """Every quantity of Theorem 1."""
    mixture, neurons = problem.mixture, problem.neurons
    singular = np.linalg.svd(problem.weights, compute_uv=False)
    if neurons > mixture.dimension or singular[-1] <= 1e-12 * singular[0]:
        expected = "teacher weights of full column rank"
        got = f"smallest singular value {singular[-1]:.3g} for {neurons} neurons in dimension {mixture.dimension}"
        raise InputError(expected, got, "use independent neurons, at most as many as dimensions")
    largest, least = float(singular[0]), float(singular[-1])
    share, spread, narrow = mixture.fractions, mixture.spread, mixture.least_spread
    widest = float(spread.max())
    tau, kappa = widest / float(narrow.min()), largest / least
    eta = float(np.prod(singular / least))
    rhos = np.array(
        [
            rho(problem.weights.T @ mean / (least * narrow[group]), least * narrow[group], problem.activation)
            for group, mean in enumerate(mixture.means)
        ]
    )
    reach = mixture.mean_lengths + spread
    scale = float(share @ np.square(reach))
    core = float(share @ (np.square(narrow) * rhos))
    penalty = eta * tau**neurons * kappa**2
    gamma = core / (penalty * widest**2)
    d12 = d_function(problem, 12)
    complexity = (widest * largest) ** 2 * tau**12 * gamma**-2 * d12 if gamma > 0 else float("inf")
    q = core / (penalty * scale)
    smooth = (float(share @ reach**4) * float(share @ reach**8)) ** 0.25
    size, logarithm = mixture.dimension, float(np.log(max(mixture.dimension, 2)))
    return MixtureBounds(
        rho=rhos,
        A=scale,
        core=core,
        D6=d_function(problem, 6),
        D12=d12,
        Gamma=gamma,
        B=complexity,
        q=q,
        v=1.0 - q / neurons**2,
        Ew=float(np.sqrt(scale)) / core if core > 0 else float("inf"),
        E=scale / core if core > 0 else float("inf"),
        El=np.sqrt(scale) * reach / core if core > 0 else np.full(mixture.groups, np.inf),
        radius=EPSILON_0 * core / penalty / (neurons**3.5 * smooth),
        sample_complexity=EPSILON_0**-2 * kappa**12 * neurons**14 * complexity * size * logarithm**2,
        condition=kappa,
        regimes=tuple(_regime(problem, group) for group in range(mixture.groups)),
    )


def _regime(problem: MixtureProblem, group: int) -> GroupRegime:
    """Table I's columns. The table is asymptotic (o(1), Omega(1)); the border is put at |Sigma_l| = 1."""
    mixture = problem.mixture
    norm, lengths, norms = float(mixture.spread[group]) ** 2, mixture.mean_lengths, np.square(mixture.spread)
    covariance = "small: a larger covariance helps" if norm < 1.0 else "large: a larger covariance hurts"
    mean = "zero" if lengths[group] == 0 else "shifted: a larger shift hurts"
    # Conditions (iv) and (v) of Corollary 1, with a little slack because spectral norms are computed.
    same_means = bool(np.ptp(lengths) <= 1e-9 * max(1.0, float(lengths.max())))
    if mixture.groups == 1:
        fraction = "not covered: one group"
    elif not same_means:
        fraction = "not covered: the means differ in length"
    elif np.ptp(norms) <= 1e-9 * norms.max():
        fraction = "not covered: all covariances are equally large"
    elif norms[group] <= norms.min() * (1 + 1e-9):
        fraction = "smallest covariance: a larger fraction helps"
    elif norms[group] >= norms.max() * (1 - 1e-9):
        fraction = "largest covariance: a larger fraction hurts"
    else:
        fraction = "not covered: neither the smallest nor the largest covariance"
    return GroupRegime(covariance, mean, fraction)
