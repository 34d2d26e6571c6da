"""Extreme numbers: other units, ill-conditioned covariances, float32, strides, read-only arrays, two threads.

The answer is the same within the stated tolerance, or a refusal in one sentence; a solver that fails says so in its
status."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import lopsided
from tests.faults.tally import Row, Size, timed

SCALES = {
    "full": (1e-150, 1e-100, 1e-60, 1e-30, 1e-10, 1e-3, 1e3, 1e10, 1e30, 1e60, 1e100, 1e150),
    "short": (1e-30, 1e150),
}


def run(size: Size) -> list[Row]:
    """One row per kind of number."""
    rows = []
    for what, trial in (
        ("units from 1e-150 to 1e150", units),
        ("ill-conditioned covariances, up to 1e16", conditions),
        ("float32, strides, read-only arrays", containers),
        ("extreme energies and counts: certified or a status", solvers),
        ("one thread against two", threads),
    ):
        row = Row("numbers", what)
        rows.append(row)
        with timed(row):
            trial(row, size)
    return rows


def data(rows: int = 300, columns: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Three unequal Gaussian classes."""
    random = np.random.default_rng(5)
    labels = np.repeat([0, 1, 2], (rows // 2, rows // 3, rows - rows // 2 - rows // 3))
    return random.normal(size=(rows, columns)) + labels[:, None], labels


def attempt(row: Row, call: Callable[[], Any], same: Callable[[Any], bool], words: str) -> None:
    """Answered where the result is the same, refused where one sentence came, else lost."""
    try:
        result = call()
    except lopsided.LopsidedError:
        row.refuse()
        return
    except Exception as error:
        row.lose(f"{words}: {type(error).__name__}: {error}")
        return
    row.check(same(result), f"{words}: another answer")


def units(row: Row, size: Size) -> None:
    """Scores scale with the fourth power of the unit, ranks, levels, cosines and accuracies not at all."""
    X, y = data()
    scored = lopsided.score(X, y)
    levels = _levels(lopsided.audit(X, labels=y))
    rates = lopsided.collapse([900, 90, 9], tau=4.0).minority_cosine
    model = lopsided.TeacherStudentClassifier(2, random_state=0, steps=40).fit(X, y).predict(X)
    for scale in SCALES[size]:
        # Scaling by 1e30 rounds every number once (relative 1e-16); ranks may swap only between equal scores.
        attempt(
            row,
            lambda scale=scale: lopsided.score(X * scale, y),
            lambda found: bool(np.mean(found.ranks == scored.ranks) > 0.99),
            f"score in units of {scale:g}",
        )
        attempt(
            row,
            lambda scale=scale: _levels(lopsided.audit(X * scale, labels=y)),
            lambda found: found == levels,
            f"audit in units of {scale:g}",
        )
        # Counts are weights of an average: their unit cancels up to rounding, which the gap of 1e-10 exceeds.
        attempt(
            row,
            lambda scale=scale: lopsided.collapse(np.array([900.0, 90, 9]) * scale, tau=4.0),
            lambda found: abs(found.minority_cosine - rates) < 1e-6 and found.solution.status.name == "CERTIFIED",
            f"collapse with counts in units of {scale:g}",
        )
        attempt(
            row,
            lambda scale=scale: (
                lopsided.TeacherStudentClassifier(2, random_state=0, steps=40).fit(X * scale, y).predict(X * scale)
            ),
            lambda found: bool(
                np.mean(found == model) > 0.97
            ),  # of a nonconvex fit, rounding may move a boundary a little
            f"classifier in units of {scale:g}",
        )


def _levels(found: Any) -> list[tuple[str, str, str]]:
    return sorted((one.id, one.subject, one.level.value) for one in found.findings)


def conditions(row: Row, size: Size) -> None:
    """Covariances whose largest variance is up to 1e16 times the smallest."""
    X, y = data()
    for power in (4, 8, 12, 16) if size == "full" else (8, 16):
        spread = np.logspace(0, -power / 2, X.shape[1])
        expected = _levels(lopsided.audit(X * spread, labels=y))
        turned, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(X.shape[1], X.shape[1])))
        attempt(
            row,
            lambda s=spread: lopsided.score(X * s, y, noise_matrix=True, resamples=20),
            lambda f: bool(np.isfinite(f.influence.scores).all() and np.isfinite(f.noise.products).all()),
            f"score at 1e{power}",
        )
        # Turning the axes changes no distance; levels are thresholds on smooth numbers and stay.
        attempt(
            row,
            lambda s=spread, t=turned: lopsided.score(X * s @ t, y),
            lambda f, s=spread: bool(np.mean(f.ranks == lopsided.score(X * s, y).ranks) > 0.95),
            f"score of turned axes at 1e{power}",
        )
        attempt(
            row,
            lambda s=spread: _levels(lopsided.audit(np.ascontiguousarray(X * s), labels=y)),
            lambda f, e=expected: f == e,
            f"audit at 1e{power}",
        )
        spec = {
            "group": [{"fraction": 0.5, "mean": [0.0, 1.0], "covariance": [[1.0, 0], [0, 10.0**-power]]},
                      {"fraction": 0.5, "mean": [1.0, 0.0], "covariance": 1.0}],
            "teacher": {"weights": [[1.0, 0.0], [0.0, 1.0]]},
        }  # fmt: skip
        attempt(row, lambda s=spec: lopsided.mixture(s, 1000), _sound_forecast, f"mixture at 1e{power}")
        attempt(
            row,
            lambda s=spread: lopsided.mixture_fit(_frame(X * s, y > 0), neurons=1, groups=1),
            lambda f: _sound_forecast(f.forecast),
            f"mixture fit at 1e{power}",
        )


def _sound_forecast(found: Any) -> bool:
    """Risks are positive and finite, and sum with the fractions to the average d K / (2n) that theory gives."""
    facts = found.facts()
    risks = np.array([group["excess_risk"] for group in facts["groups"]])
    fractions = np.array([group["fraction"] for group in facts["groups"]])
    # integration error is stated by the forecast itself; 1e-3 is its default bound
    return bool(
        np.isfinite(risks).all()
        and (risks > 0).all()
        and abs(risks @ fractions / facts["average_excess_risk"] - 1) < 1e-3
    )


def _frame(X: np.ndarray, y: np.ndarray) -> Any:
    import pandas

    return pandas.DataFrame(X).rename(columns=str).assign(label=y.astype(int))


def containers(row: Row, size: Size) -> None:
    """The same numbers in other containers: equal to the last digit, float32 after rounding to it."""
    X, y = data()
    X = X.astype(np.float32).astype(np.float64)  # so that float32 holds the very numbers
    wide = np.empty((2 * len(X), 3 * X.shape[1]))
    wide[::2, ::3] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    kinds: dict[str, Any] = {
        "float32": X.astype(np.float32),
        "strided": wide[::2, ::3],
        "Fortran": np.asfortranarray(X),
        "read-only": frozen,
        "reversed": X[::-1].copy()[::-1],
        "big endian": X.astype(">f8"),
        "list": X.tolist(),
    }
    scores, levels = lopsided.score(X, y), _levels(lopsided.audit(X, labels=y))
    chances = np.random.default_rng(3).dirichlet(np.ones(3), len(y))
    moved = lopsided.ThresholdMover().fit(chances, y).predict(chances)
    for name, values in kinds.items():
        # BLAS may sum other memory layouts in another order: 1e-9 relative is 1e7 roundings.
        attempt(
            row,
            lambda v=values: lopsided.score(v, y),
            lambda f: bool(np.allclose(f.influence.scores, scores.influence.scores, rtol=1e-9)),
            f"score of {name}",
        )
        attempt(row, lambda v=values: _levels(lopsided.audit(v, labels=y)), lambda f: f == levels, f"audit of {name}")
        attempt(
            row,
            lambda v=values: lopsided.Oversampler("balanced", random_state=0).fit_resample(v, y)[1],
            lambda f: len(set(np.bincount(f))) == 1,
            f"oversampler of {name}",
        )
    for name, values in {"float32": chances.astype(np.float32), "strided": np.repeat(chances, 2, 0)[::2]}.items():
        attempt(
            row,
            lambda v=values: lopsided.ThresholdMover().fit(v, y).predict(v),
            lambda f: bool(np.mean(f == moved) > 0.99),
            f"thresholds of {name}",
        )


def solvers(row: Row, size: Size) -> None:
    """Every forecast is certified (its gap is below its tolerance) or its status says what it is not."""
    random = np.random.default_rng(9)
    for number in range(200 if size == "full" else 30):
        counts = 10.0 ** random.uniform(-3, 8, size=random.integers(2, 7))
        if number % 3 == 0:
            counts = np.repeat(10.0 ** random.uniform(0, 9, size=2), random.integers(1, 5, size=2))
        tau = float(10.0 ** random.uniform(-8, 4))
        held = {"tau": tau} if number % 2 else {"weight_decay": float(10.0 ** random.uniform(-12, 2))}
        if number % 5 == 0:
            held["features"] = "relu"
        if len(counts) < 2:
            continue
        attempt(
            row, lambda c=counts, h=held: lopsided.collapse(c, **h), _certified, f"collapse({counts.tolist()}, {held})"
        )


def _certified(found: Any) -> bool:
    facts = found.to_dict()
    certified = str(facts["status"]).startswith("certified")
    cosines = [facts[name] for name in ("minority_cosine", "majority_cosine") if facts[name] is not None]
    fair = all(-1 - 1e-9 <= cosine <= 1 + 1e-9 for cosine in cosines)
    return fair and (not certified or facts["relative_gap"] is None or facts["relative_gap"] <= 1e-8)


_PROGRAM = """
import json, sys, numpy as np, lopsided
from tests.faults.numbers import data, _levels, _frame
X, y = data(3000, 40)
s = lopsided.score(X, y, noise_matrix=True, resamples=20)
a = lopsided.audit(X[::3], labels=y[::3])
c = lopsided.collapse(np.logspace(1, 5, 40), tau=30.0)
p = lopsided.plan(X[::5], labels=y[::5])
m = lopsided.mixture_fit(_frame(X[::5, :5], y[::5] > 0), neurons=1, groups=1)
print(json.dumps({"scores": s.influence.scores.tolist(), "products": s.noise.products.ravel().tolist(),
  "values": [f.value for f in a.findings if f.value is not None and np.isfinite(f.value)],
  "cosines": [c.minority_cosine, c.solution.multiplier], "gains": [r.forecast.gain for r in p.remedies if r.forecast],
  "risks": [g["excess_risk"] for g in m.facts()["groups"]]}))
"""


def threads(row: Row, size: Size) -> None:
    """Two BLAS and OpenMP threads give what one gives: sums in another order differ by some roundings."""
    import os

    answers = []
    for count in ("1", "2"):
        names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS")
        environment = os.environ | dict.fromkeys(names, count)
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, env=environment, timeout=300
        )
        if done.returncode:
            row.lose(f"with {count} threads: {done.stderr[-300:]}")
            return
        answers.append(json.loads(done.stdout))
    for name, one in answers[0].items():
        two = answers[1][name]
        # 1e-6: fits stop at a gradient of 1e-6 or so, and a step more or less moves the last digits
        same = len(one) == len(two) and np.allclose(one, two, rtol=1e-6, atol=1e-9)
        row.check(bool(same), f"{name} with one and two threads")
