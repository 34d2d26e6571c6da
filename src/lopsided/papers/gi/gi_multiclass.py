"""gi-multiclass: 2^c classes by c binary outputs inherit the binary results (Li et al. 2024, Section E, eq 59-60)."""

from collections.abc import Sequence

import numpy as np

from lopsided.core.figure import Figure
from lopsided.core.statistics import power
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Runs, Verdict, decided
from lopsided.papers.gi.mixture_curves import described, over, seed_curve
from lopsided.papers.shared.alternatives import renumbered, tilted
from lopsided.worlds import mixture_lab as lab

DIMENSION, NEURONS, BITS = 4, 2, 2


def measure(settings: Settings, seed: int) -> Numbers:
    """Four classes from two networks: the summed excess against c d K / (2n), and the joint fit against separate
    ones."""
    from lopsided.core.mixture_spec import problem_of
    from lopsided.core.seeds import generator
    from lopsided.data.mixture import draw_features, draw_labels
    from lopsided.learners.multi_output import class_bits, class_probability
    from lopsided.learners.teacher_student import training_set
    from lopsided.learners.teacher_student_newton import newton

    mixture = lab.two_groups(DIMENSION, (0.6, 0.4), (0.5, -0.5), (1, 2))
    source = generator(seed, "teacher")
    teachers = [source.standard_normal((DIMENSION, NEURONS)) for _ in range(BITS)]
    excess, distances = [], []
    for repeat in range(settings["repeats"]):
        draw = generator(seed, "sample", settings["n"], repeat)
        features, _ = draw_features(mixture, settings["n"], draw)
        bits = [draw_labels(features, weights, "sigmoid", draw) for weights in teachers]
        labels = np.array(sum(bit * 2**place for place, bit in enumerate(bits)), dtype=np.int64)
        targets = class_bits(labels, BITS)
        points = [newton(training_set(features, targets[:, bit]), teachers[bit]) for bit in range(BITS)]
        if not all(point.found for point in points):
            continue
        fits = [point.weights for point in points]
        test, _ = draw_features(mixture, 4000, generator(seed, "test"))
        true, learned = (class_probability(weights, test, "sigmoid") for weights in (teachers, fits))
        excess.append(float((true * (np.log(true) - np.log(learned))).sum(axis=1).mean()))
        problems = [problem_of(mixture, weights) for weights in teachers]
        distances.append(sum(lab.matched_error(w, p)[0] ** 2 for w, p in zip(fits, problems, strict=True)))
    law = BITS * DIMENSION * NEURONS / (2 * settings["n"])
    return {
        "excess": float(np.mean(excess)) if excess else None,
        "law": law,
        "over_law": float(np.mean(excess)) / law if excess else None,
        "distance": float(np.sqrt(np.mean(distances))) if distances else None,
    }


def judge(rows: Sequence[Row]) -> Verdict:
    """The four-class excess is c times the binary one, and the weight error falls as n^-1/2."""
    ratio = seed_curve(rows, "n", "over_law")
    exponent, error = power(seed_curve(rows, "n", "distance"))
    last, last_error = float(ratio.mean[-1]), float(ratio.error[-1])
    numbers = {
        "excess_over_law": described(ratio),
        "exponent_of_weight_error": exponent,
        "exponent_error": error,
    }
    found = (
        f"the excess over four classes is {last:.2f} ± {last_error:.2f} times c d K / (2n) at the largest n; the "
        f"weight error falls as n^{exponent:.2f} ± {error:.2f}"
    )
    parts = [abs(last - 1) <= max(0.15, 2 * last_error) and last_error <= 0.15, -0.75 <= exponent <= -0.35]
    return Verdict(decided(parts, contradicted=exponent - 2 * error > 0), found, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Excess and weight error over n."""
    excess = {"measured": seed_curve(rows, "n", "excess"), "c d K / (2n)": seed_curve(rows, "n", "law")}
    distance = {"measured": seed_curve(rows, "n", "distance")}
    y_label = "excess risk over four classes (nats)"
    return Figure(
        "Four classes by two binary outputs",
        [
            over("Excess risk", "samples n", y_label, excess, dashed=["c d K / (2n)"], log="xy"),
            over("Weight error", "samples n", "|W - W*| over both networks", distance, log="xy"),
        ],
    )


CLAIM = Claim(
    id="gi-multiclass",
    rule="Holds if, at the largest n, the excess over four classes is within 15 % (or two standard errors, "
    "themselves at most 0.15) of c d K / (2n) and the weight error falls with an exponent in [-0.75, -0.35]; "
    "partly if one; contradicted if the error grows with n.",
    quick=Runs([{"n": n, "repeats": 8} for n in (2000, 6000, 18_000)], tuple(range(4))),
    paper=Runs([{"n": n, "repeats": 40} for n in (2000, 6000, 18_000, 54_000)], tuple(range(20))),
    measure=measure,
    judge=judge,
    plot=plot,
    quick_budget_seconds=12,
    alternatives={
        "the excess of one output": renumbered(lambda row: {"over_law": row.numbers["over_law"] / BITS}),
        "a weight error like n^(-1/4)": tilted("distance", "n", 0.25),
    },
)
