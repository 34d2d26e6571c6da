"""Condition 1 of Xu and Chen 2025, line by line: how large may "a sufficiently large constant C" be here?

Each line either bounds C from above (the largest C it admits) or, in (a)3, from below; two lines have no C and get the
constant that would make them tight. Condition 1 holds with a constant C if least <= C <= largest over all lines.
Outside its assumptions, a theorem is reported with the slack and never applied silently.

The extracted text lost a comma in (c)3; we interpret it as the maximum of sqrt(log(Km/delta)) |u_k| and log(Km/delta)
|A_k|_F, because it supports the two bounds of Lemma 21.
"""

from dataclasses import dataclass

import numpy as np

from lopsided.core.noise_geometry import NoiseGeometry
from lopsided.core.validation import FloatArray, check_count, check_in_range, check_positive

INEQUALITIES = {
    "a1": "Tr(A_i^T A_i) >= C n |A_i^T A_j|_F log(n^2/delta)",
    "a2": "|A_i^T A_j|_F / |A_i^T A_j|_op >= C sqrt(log(K/delta))",
    "a3": "|A_i^T A_j|_F >= max_{k != j} |A_i^T A_k|_F / C",
    "b1": "m >= C log(n/delta) max_i (lambda_max^+(A_i) / lambda_min^+(A_i))^2",
    "b2": "n >= C log(m/delta)",
    "b3": "m >= C log(n/delta) log(T)^2 / (n sigma_0^2)",
    "b4": "min{m, d, rank(A_j)} - 0.9 m >= C n",
    "b5": "d >= C log(mn/delta)",
    "c1": "eta <= 1 / (C max_k (|u_k| + sqrt(1.5 Tr(A_k^T A_k)))^2)",
    "c2": "eta <= mn log(T) / (C Tr(A_j^T A_j))",
    "c3": "sigma_0 <= phi / (C n max_k max{sqrt(log(Km/delta)) |u_k|, log(Km/delta) |A_k|_F})",
}


@dataclass(frozen=True)
class ConditionLine:
    """One inequality: the C it admits. `upper` lines need C <= constant, the others C >= constant."""

    name: str
    inequality: str
    constant: float
    upper: bool = True

    def admits(self, C: float) -> bool:
        """Does the inequality hold with this constant?"""
        return self.constant >= C if self.upper else self.constant <= C


@dataclass(frozen=True)
class ConditionReport:
    """All lines of Condition 1, and the interval of C that satisfies every one (empty where least > largest)."""

    lines: tuple[ConditionLine, ...]
    noise_threshold: float | None  # c' with P[zeta > c'] >= 0.4, None where the noise law has none

    @property
    def largest(self) -> float:
        """The largest C that every upper line admits."""
        return min(line.constant for line in self.lines if line.upper)

    def holds(self, C: float = 1.0) -> bool:
        """Do all lines hold with this constant?"""
        return self.noise_threshold is not None and all(line.admits(C) for line in self.lines)


def condition_one(
    geometry: NoiseGeometry,
    feature_norms: FloatArray,
    *,
    examples: int,
    width: int,
    step: float,
    deviation: float,
    steps: int,
    noise_threshold: float | None,
    failure: float = 0.05,
) -> ConditionReport:
    """The slack of every line of Condition 1.

    examples n, width m, step eta, deviation sigma_0, steps T, failure delta; feature_norms |u_k| (K).
    """
    n, m, T = check_count(examples, "examples"), check_count(width, "width"), check_count(steps, "steps", at_least=2)
    eta, sigma = check_positive(step, "the learning rate"), check_positive(deviation, "the initial deviation")
    delta = check_in_range(failure, "the failure probability", 1e-300, 1.0)
    K, d = geometry.classes, geometry.dimension
    F = np.sqrt(geometry.squared_frobenius)
    trace, log = geometry.trace, np.log
    largest_other = np.array(  # max over k != j of |A_i^T A_k|_F, for every i and j
        [[F[i][np.arange(K) != j].max() for j in range(K)] for i in range(K)]
    )
    span = np.minimum(min(m, d), geometry.rank).astype(np.float64)
    phi = min(float(F.min()), float(np.square(feature_norms).min()))
    start = np.maximum(np.sqrt(log(K * m / delta)) * feature_norms, log(K * m / delta) * np.sqrt(trace))
    reach = float((feature_norms + np.sqrt(1.5 * trace)).max())
    ratio = np.square(geometry.largest / geometry.smallest).max()
    constants = {  # C of every line of `INEQUALITIES`
        "a1": (trace / F.max(axis=1)).min() / (n * log(n**2 / delta)),
        "a2": (F / geometry.operator).min() / np.sqrt(log(K / delta)),
        "a3": (largest_other / F).max(),
        "b1": m / (log(n / delta) * ratio),
        "b2": n / log(m / delta),
        "b3": m * n * sigma**2 / (log(n / delta) * log(T) ** 2),
        "b4": (span.min() - 0.9 * m) / n,
        "b5": d / log(m * n / delta),
        "c1": 1.0 / (eta * reach**2),
        "c2": m * n * log(T) / (eta * trace.max()),
        "c3": phi / (n * sigma * start.max()),
    }
    lines = [ConditionLine(name, INEQUALITIES[name], float(C), name != "a3") for name, C in constants.items()]
    return ConditionReport(tuple(lines), noise_threshold)
