"""gi-fisher: beyond the paper, the large-n law predicts average and group excess and the fraction's effect."""

from collections.abc import Sequence

import numpy as np

from lopsided.core.figure import Figure, Line, Panel, Points
from lopsided.core.mixture_spec import problem_of
from lopsided.core.seeds import generator
from lopsided.core.statistics import standard_error
from lopsided.data.mixture import random_mixture
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Outcome, Runs, Verdict, decided
from lopsided.papers.shared.alternatives import renumbered
from lopsided.theory.fisher_law import FisherLaw
from lopsided.worlds import mixture_lab as lab

DIMENSION, NEURONS = 4, 2


def measure(settings: Settings, seed: int) -> Numbers:
    """A random mixture and teacher: predicted against simulated excess, for its fractions and for changed ones."""
    source = generator(seed, "mixture", settings["kind"])
    if settings["kind"] == "random":
        mixture = random_mixture(2, DIMENSION, source)
    else:
        mixture = lab.two_groups(DIMENSION, (0.7, 0.3), (0.0, 0.0), (1.0, 10.0))
    problem = problem_of(mixture, source.standard_normal((DIMENSION, NEURONS)))
    law = FisherLaw(problem)
    count = settings["n"]
    effect = law.fraction_effect(1)
    changed = float(np.clip(2.5 * mixture.fractions[1], 0.02, 0.9))
    answers: dict[str, list[list[float]]] = {"now": [], "more": []}
    distances, lost = [], 0
    for word, fractions in (("now", mixture), ("more", mixture.with_fraction(1, changed))):
        world = problem_of(fractions, problem.weights)
        for point in lab.critical_points(world, count, settings["repeats"], seed, "sample", word):
            if not point.found:
                lost += 1
                continue
            answers[word].append(lab.risk_at(world, point.weights, seed).excess)
            if word == "now":
                distances.append(lab.matched_error(point.weights, problem)[0] ** 2)
    now, more = (np.array(answers[word]) for word in ("now", "more"))
    forecast = law.forecast(count)
    later = law.forecast(count, mixture.with_fraction(1, changed).fractions)
    predicted = [group.excess_risk for group in forecast.groups]
    change = later.groups[1].excess_risk / forecast.groups[1].excess_risk - 1
    observed = float(more[:, 1].mean() / now[:, 1].mean() - 1)
    error = float(
        np.hypot(more[:, 1].std() / more[:, 1].mean(), now[:, 1].std() / now[:, 1].mean())
        / np.sqrt(len(now))
        * (1 + observed)
    )
    return {
        "predicted": predicted,
        "observed": now.mean(axis=0).tolist(),
        "observed_error": standard_error(now).tolist(),
        "average_predicted": forecast.average_excess_risk,
        "average_observed": float(now.mean(axis=0) @ mixture.fractions),
        "weight_predicted": forecast.weight_error,
        "weight_observed": float(np.mean(distances)),
        "relative_weight_error": forecast.relative_weight_error,
        "reliable": forecast.reliable,
        "effect": effect.effect,
        "crossing": effect.crossing,
        "change_predicted": float(change),
        "change_observed": observed,
        "change_error": error,
        "lost": lost,
    }


def _reliable(rows: Sequence[Row]) -> list[Row]:
    """Whether the law itself says that n is large enough."""
    return [row for row in rows if row.numbers["reliable"]]


def judge(rows: Sequence[Row]) -> Verdict:
    """Group excess within 25 % on the median, averages within 15 %, and the sign of clear changes right."""
    used = _reliable(rows)
    if not used:
        return Verdict(Outcome.NOT_RUN, "no drawn problem was within the law's own range", {})
    ratio = np.array([np.array(row.numbers["observed"]) / np.array(row.numbers["predicted"]) for row in used]).ravel()
    average = np.array([row.numbers["average_observed"] / row.numbers["average_predicted"] for row in used])
    clear = [
        row
        for row in used
        if abs(row.numbers["change_observed"]) > 2 * row.numbers["change_error"]
        and abs(row.numbers["change_predicted"]) > 0.02
    ]
    right = [row.numbers["change_observed"] * row.numbers["change_predicted"] > 0 for row in clear]
    deviation = float(np.median(np.abs(ratio - 1)))
    numbers = {
        "problems": len(used),
        "median_relative_deviation_of_group_excess": deviation,
        "group_excess_ratio_quantiles": np.quantile(ratio, [0.1, 0.5, 0.9]).tolist(),
        "average_excess_ratio": float(average.mean()),
        "average_excess_ratio_error": float(average.std() / np.sqrt(len(average))),
        "clear_changes": len(clear),
        "signs_right": int(sum(right)),
        "weight_error_ratio_median": float(
            np.median([row.numbers["weight_observed"] / row.numbers["weight_predicted"] for row in used])
        ),
    }
    low, high = np.quantile(ratio, [0.1, 0.9])
    found = (
        f"over {len(used)} problems the observed group excess is {np.median(ratio):.2f} times the predicted (80 % in "
        f"{low:.2f} to {high:.2f}), the average {average.mean():.2f} times; the sign of the fraction's effect is right "
        f"in {sum(right)} of {len(clear)} clear cases"
    )
    parts = [deviation <= 0.25, abs(average.mean() - 1) <= 0.15, len(clear) >= 3 and float(np.mean(right)) >= 0.9]
    return Verdict(decided(parts, contradicted=bool(clear) and float(np.mean(right)) < 0.5), found, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Predicted against observed: group excess and the change with the fraction."""
    used = _reliable(rows)
    predicted = [value for row in used for value in row.numbers["predicted"]]
    observed = [value for row in used for value in row.numbers["observed"]]
    errors = [value for row in used for value in row.numbers["observed_error"]]
    changes = [row.numbers["change_predicted"] for row in used]
    seen = [row.numbers["change_observed"] for row in used]
    return Figure(
        "The large-n law against simulation, random mixtures",
        [
            Panel(
                "Excess risk of each group",
                "predicted (nats)",
                "observed (nats)",
                _agreement(predicted, observed, errors, "groups"),
                x_log=True,
                y_log=True,
            ),
            Panel(
                "Change of a group's excess when its fraction grows 2.5 times",
                "predicted relative change",
                "observed relative change",
                _agreement(changes, seen, [row.numbers["change_error"] for row in used], "problems"),
            ),
        ],
        "Bars are two standard errors over samples.",
    )


def _agreement(x: list[float], y: list[float], errors: list[float], label: str) -> list[Line | Points]:
    """Points with bars of two standard errors, and the line of equality."""
    low, high = ([a + sign * b for a, b in zip(y, errors, strict=True)] for sign in (-2, 2))
    ends = [min(x), max(x)]
    return [Points(x, y, label, low, high), Line(ends, ends, "equal", dashed=True)]


CLAIM = Claim(
    id="gi-fisher",
    rule="Where the law deems n large enough: holds if the median group excess is within 25 % and the average within "
    "15 % of prediction and 90 % of at least three clear changes with the fraction have the predicted sign; "
    "partly if at least half of these; contradicted if most signs are wrong.",
    revised="more repeats and a larger change of the fraction, because one clear case was too few.",
    quick=Runs([{"kind": kind, "n": 3000, "repeats": 20} for kind in ("random", "paper")], tuple(range(6))),
    paper=Runs([{"kind": kind, "n": 20_000, "repeats": 100} for kind in ("random", "paper")], tuple(range(40))),
    measure=measure,
    judge=judge,
    plot=plot,
    alternatives={
        "the same excess in every group, whatever its fraction": renumbered(
            lambda row: {
                "observed": [row.numbers["average_observed"]] * len(row.numbers["observed"]),
                "change_observed": 0.0,
            }
        )
    },
)
