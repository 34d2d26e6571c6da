"""gi-moments: the mixture estimated by the moment method of Hsu and Kakade, which the paper cites (footnote 2)."""

from collections.abc import Sequence

import numpy as np

from lopsided.core.figure import Figure
from lopsided.core.mixture_spec import mixture_of
from lopsided.core.seeds import generator
from lopsided.core.statistics import power_of_square_mean
from lopsided.data.mixture import draw_features
from lopsided.data.mixture_moments import spectral_mixture
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.measure.mixture_errors import mixture_distance
from lopsided.papers.claim import Claim, Part, Runs, Verdict, weigh
from lopsided.papers.gi.mixture_curves import described, over, seed_curve
from lopsided.papers.shared.alternatives import tilted

RATE, MARGIN = -0.5, 0.15
FOUND = {"means": "means", "fractions": "fractions", "covariances": "variances"}


def measure(settings: Settings, seed: int) -> Numbers:
    """The moment estimate from one sample, and its error."""
    size = settings["d"]
    if settings["reading"] == "independent means":
        first, second = np.eye(size)[:2] * settings["length"]
        truth = mixture_of([0.6, 0.4], [first, second], [1.0, 0.5], size)
    else:
        truth = mixture_of([0.6, 0.4], [1.0, -1.0], [1.0, 0.5], size)
    features, _ = draw_features(truth, settings["n"], generator(seed, "sample", settings["n"]))
    distance = mixture_distance(spectral_mixture(features, 2, generator(seed, "directions")), truth)
    return {"means": distance.means, "covariances": distance.covariances, "fractions": distance.fractions}


def judge(rows: Sequence[Row]) -> Verdict:
    """Exponents of the errors in n: root mean squares over seeds with their jackknife errors."""
    numbers, found, parts = {}, [], []
    for name, words in FOUND.items():
        curve = seed_curve(rows, "n", name, reading="independent means")
        exponent = power_of_square_mean(curve)
        numbers[name] = {"exponent": exponent.value, "error": exponent.error, "curve": described(curve)}
        parts.append(Part.near(f"independent means: {words} ~ n^(-1/2)", exponent.interval(), RATE, MARGIN))
        found.append(f"{words} n^{exponent.value:.2f} ± {exponent.error:.2f}")
    curve = seed_curve(rows, "n", "means", reading="the paper's means")
    opposite = power_of_square_mean(curve)
    numbers["opposite means"] = {"exponent": opposite.value, "error": opposite.error, "curve": described(curve)}
    parts.append(Part.near("means +1 and -1, as in the paper's figures: ~ n^(-1/2)", opposite.interval(), RATE, MARGIN))
    sentence = (
        f"Errors with independent means: {', '.join(found)}; with the means +1 and -1 of the paper's own figures, "
        f"which are linearly dependent, n^{opposite.value:.2f} ± {opposite.error:.2f}: it is still "
        f"{curve.mean[-1]:.2g} at the largest n"
    )
    return weigh(parts, sentence, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Errors over n, and those of the means where they are opposite."""
    curves = {words: seed_curve(rows, "n", name, reading="independent means") for name, words in FOUND.items()}
    opposite = {"means +1 and -1": seed_curve(rows, "n", "means", reading="the paper's means")}
    return Figure(
        "A mixture from its moments",
        [
            over("Independent means", "samples n", "error", curves, log="xy"),
            over("Opposite means", "samples n", "error of the means", opposite, log="xy"),
        ],
        "Hsu and Kakade's method needs linearly independent means.",
    )


def _plan(counts: Sequence[int], size: int, seeds: int) -> Runs:
    common = {"d": size, "length": 3.0}
    readings = ("independent means", "the paper's means")
    return Runs([{**common, "n": n, "reading": reading} for reading in readings for n in counts], range(seeds))


CLAIM = Claim(
    id="gi-moments",
    rule="Two round groups of unequal fractions and variances. 95 % interval of the exponent in n of the error of "
    f"means, fractions and variances within {RATE} ± {MARGIN}, with orthogonal means and with means of +1 and -1 in "
    "every coordinate, as in the paper's figures (for the means only).",
    quick=_plan((4000, 16_000, 64_000), 5, 40),
    paper=_plan((4000, 16_000, 64_000, 256_000), 10, 40),
    measure=measure,
    judge=judge,
    plot=plot,
    readings={
        "independent means": "two orthogonal means of length 3",
        "the paper's means": "+1 and -1 in every coordinate, as the authors' scripts have them",
    },
    smoke=_plan((1000, 4000, 16_000), 5, 4),
    alternatives={"errors that fall like n^(-1/4)": tilted("means", "n", 0.25)},
)
