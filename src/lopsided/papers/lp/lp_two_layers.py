"""What the 2-Layer-Peeled Model shows; the paper asks whether it captures new patterns and leaves it open (Section 6).

    minimise mean cross entropy of W2 s(W1 h)   subject to   (|W2|^2 + |W1|^2)/K <= E_W,   mean |h_k|^2 <= E_H

Readings: s is the identity or a ReLU. With the identity the best factors of Z of rank r with equal singular values
reach sigma = (K E_W / 2r) sqrt(K E_H / r): a lower rank buys longer logits, so frames of lower rank can beat the
simplex (for K = 4 two antipodal pairs). With a ReLU the features behind it are nonnegative, and cannot be a simplex
either. Each task compares the lowest of several descents with the best simplex frame of the same model, and with one
peeled layer.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lopsided.core.figure import Bars, Figure, Line, Panel
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Outcome, Runs, Verdict
from lopsided.papers.lp.descents import DescentEnd, Sphere, descents, lowest
from lopsided.papers.lp.peeled import cross_entropy, descend, energies, frame_error, mean_cosine, pair_cosines, problem
from lopsided.papers.shared.network_settings import varied
from lopsided.papers.shared.summary import chosen, column

FRAME = 1e-3  # of cosines and lengths: what counts as a simplex frame
LOWER = 1e-6  # relative, of losses that descent knows to 1e-12
_OPTIONS = {"maxiter": 5000, "maxfun": 20_000, "maxcor": 30, "ftol": 1e-15, "gtol": 1e-10}


def two_layers(
    settings: Settings, counts: FloatArray, stream: np.random.Generator
) -> tuple[DescentEnd, FloatArray, FloatArray]:
    """The lowest of several descents on the logarithm of the loss, its W2, and the features s(W1 H) that W2 sees."""
    k, p = len(counts), settings["dimension"]
    share, labels = counts / counts.sum(), np.arange(len(counts))

    def forward(weights: FloatArray, h: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        w2, w1 = weights[: k * p].reshape(k, p), weights[k * p :].reshape(p, p)
        inner = w1 @ h
        return w2, w1, inner, np.maximum(inner, 0.0) if settings["reading"] == "relu" else inner

    def log_loss(weights: FloatArray, h: FloatArray) -> tuple[float, tuple[FloatArray, FloatArray]]:
        w2, w1, inner, seen = forward(weights, h)
        losses, slope = cross_entropy(w2 @ seen, labels)
        value = float(share @ losses)
        slope = slope * (share / value)
        back = w2.T @ slope
        if settings["reading"] == "relu":
            back = back * (inner > 0)
        down = np.concatenate([(slope @ seen.T).ravel(), (back @ h.T).ravel()])
        return float(np.log(value)), (down, w1.T @ back)

    spheres = (Sphere((k * p + p * p,), k * settings["weight_energy"]), Sphere((p, k), k * settings["feature_energy"]))
    end = lowest(descents(log_loss, spheres, stream, settings["starts"], **_OPTIONS))
    w2, _, _, seen = forward(*end.blocks)
    return end, w2, seen


def _counts(settings: Settings) -> FloatArray:
    half = settings["classes"] // 2
    return np.array([float(settings["ratio"])] * (settings["classes"] - half) + [1.0] * half)


def measure(settings: Settings, seed: int) -> Numbers:
    """Two peeled layers against the simplex and against one peeled layer."""
    counts, k = _counts(settings), settings["classes"]
    end, w2, seen = two_layers(settings, counts, generator(seed, "two layers"))
    of_weights, of_features = settings["weight_energy"], settings["feature_energy"]
    one = descend(problem(list(counts), **energies(settings)), generator(seed, "one layer"))[0]
    # the simplex of rank K-1 in the linear model: contrasts of length sigma, margin sigma
    sigma = k * of_weights / (2 * (k - 1)) * np.sqrt(k * of_features / (k - 1))
    values = np.linalg.svd(w2 @ seen, compute_uv=False)
    return {
        "loss": float(np.exp(end.objective)),
        "linear_simplex_loss": float(np.log1p((k - 1) * np.exp(-sigma))),
        "classifier_frame_error": frame_error(w2),
        "feature_frame_error": frame_error(seen.T),
        "feature_cosine_lowest": _defined(pair_cosines(seen.T), np.min),
        "rank": int(np.sum(values > 1e-4 * values.max())),
        "minority_cosine": _defined(pair_cosines(w2[k - k // 2 :]), np.mean),
        "one_layer_frame_error": frame_error(one.classifiers) if settings["ratio"] == 1 else None,
        "one_layer_minority_cosine": mean_cosine(one, slice(k - k // 2, None)),
    }


def _defined(cosines: FloatArray, summary: Callable[[FloatArray], Any]) -> float | None:
    """A summary of the cosines that exist; a vector that has vanished has none."""
    known = cosines[np.isfinite(cosines)]
    return float(summary(known)) if known.size else None


def judge(rows: Sequence[Row]) -> Verdict:
    """With balanced classes: does two-layer peeling leave the simplex frame, where one layer does not?"""
    balanced = chosen(rows, ratio=1)
    one_layer = max(column(balanced, "one_layer_frame_error"))
    linear, relu = chosen(balanced, reading="linear"), chosen(balanced, reading="relu")
    beaten = [row for row in linear if row.numbers["loss"] < row.numbers["linear_simplex_loss"] * (1 - LOWER)]
    turned = [row for row in relu if row.numbers["feature_frame_error"] > FRAME]
    still = [row for row in relu if row.numbers["classifier_frame_error"] <= FRAME]
    ranks = sorted({(row.settings["classes"], row.numbers["rank"]) for row in beaten})
    numbers = {
        "one_layer_frame_error": one_layer,
        "linear_runs": len(linear),
        "linear_beats_the_simplex": len(beaten),
        "ranks_that_beat_it": [f"K={classes}: rank {rank}" for classes, rank in ranks],
        "relu_runs": len(relu),
        "relu_features_not_a_simplex": len(turned),
        "relu_classifiers_still_a_simplex": len(still),
    }
    found = (
        f"With balanced classes the linear model beats the simplex frame in {len(beaten)} of {len(linear)} runs by "
        f"frames of lower rank ({'; '.join(numbers['ranks_that_beat_it']) or 'none'}); with a ReLU the features are "
        f"not a simplex in {len(turned)} of {len(relu)} runs while the classifiers are one in {len(still)}."
    )
    if one_layer > FRAME:
        return Verdict(Outcome.FAILS, "One peeled layer did not give the frame: the comparison is void.", numbers)
    patterns = (len(beaten) > 0) + (len(turned) > 0)
    return Verdict((Outcome.FAILS, Outcome.PARTLY, Outcome.HOLDS)[patterns], found, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Gain over the simplex, and minority cosines against one layer."""
    linear = chosen(rows, ratio=1, reading="linear")
    names = [f"K={row.settings['classes']}, E={row.settings['weight_energy']:g} (seed {row.seed})" for row in linear]
    gains = [100 * (1 - row.numbers["loss"] / row.numbers["linear_simplex_loss"]) for row in linear]
    panels = [Panel("Linear: loss below the simplex frame's", "", "gain, %", [Bars(names, gains, "gain")])]
    series = []
    for reading in ("linear", "relu"):
        own = [row for row in chosen(rows, reading=reading, curve=True) if row.seed == 0]
        own.sort(key=lambda row: row.settings["ratio"])
        ratios = column(own, "ratio")
        series.append(Line(ratios, column(own, "minority_cosine"), f"two layers, {reading}"))
        if reading == "relu":
            series.append(Line(ratios, column(own, "one_layer_minority_cosine"), "one layer", dashed=True))
    panels.append(Panel("Minority cosine", "imbalance ratio R", "average cosine", series, x_log=True))
    return Figure("Peeling two layers", panels, "A gain above zero means that the simplex frame is not the minimiser.")


def _settings(energy: Sequence[float], classes: Sequence[int], ratios: Sequence[float]) -> list[dict[str, Any]]:
    readings = ("linear", "relu")
    settings = [
        *varied({"curve": False, "ratio": 1.0}, reading=readings, classes=classes, feature_energy=energy),
        *varied({"curve": True, "classes": 4, "feature_energy": 3.0}, reading=readings, ratio=ratios),
    ]
    return [
        {**own, "weight_energy": own["feature_energy"], "dimension": own["classes"] + 2, "starts": 6}
        for own in settings
    ]


CLAIM = Claim(
    id="lp-two-layers",
    rule="With balanced classes, where one layer gives the simplex frame: holds if the linear model has a loss more "
    f"than {LOWER:g} below its best simplex frame somewhere and the ReLU model has features that are no simplex "
    f"(cosines or lengths off by {FRAME:g}); partly if one of the two; fails if neither.",
    quick=Runs(_settings((2.0, 6.0), (4, 5), (1.0, 3.0, 10.0, 100.0))),
    paper=Runs(_settings((2.0, 4.0, 6.0), (4, 6, 8), (1.0, 2.0, 4.0, 10.0, 30.0, 100.0, 1000.0)), range(2)),
    measure=measure,
    judge=judge,
    plot=plot,
    readings={"linear": "no nonlinearity between the two layers", "relu": "a ReLU between the two layers"},
)
