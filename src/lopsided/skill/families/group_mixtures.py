"""Does a larger fraction of a group, at the same number of examples, help that group, the others, the worst group?

Random mixtures, teachers, sample sizes and changes of the fraction. A forecaster sees one labelled sample of the first
size with its group labels: mixture and network are estimated from it. The truth is the mean excess risk over many
samples at the old and the new fraction, on the population.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np

from lopsided.engine.task import Settings
from lopsided.skill.family import (
    Amount,
    Choice,
    ChoiceForecaster,
    ChoiceQuestion,
    Family,
    NumberForecaster,
    NumberQuestion,
)
from lopsided.skill.group_questions import BASELINES, part_names, sign, signs, subjects
from lopsided.skill.mixture_runs import measure, new_fraction, world_of

TASKS = 80
# Chosen on the development half: the median of log(truth / law) / law there, and how far a forecast change, as a share
# of the excess, can be off.
SECOND_ORDER, SPREAD = 36.0, 0.1
# Half of the random mixtures come with a group of small or large covariance, where the sign can turn.
KINDS = ("random", "narrow", "wide", "far")


def tasks() -> Sequence[Settings]:
    """Specifications drawn by a generator of their own: nobody chose them."""
    from lopsided.core.seeds import generator

    random = generator(70119, "skill", "group mixtures")
    made = []
    for index in range(TASKS):
        groups = int(random.integers(2, 4))
        made.append(
            {
                "index": index,
                "kind": KINDS[index % len(KINDS)],
                "groups": groups,
                "dimension": int(random.integers(2, 6)),
                "neurons": int(random.integers(1, 3)),
                "samples": round(float(np.exp(random.uniform(np.log(400), np.log(6000))))),
                "group": int(random.integers(groups)),
                "factor": float(round(random.uniform(1.5, 3.0), 2)),
            }
        )
    return made


def _true_signs(settings: Settings, truth: Mapping[str, Any]) -> list[Choice]:
    if truth["now"] is None or truth["later"] is None:
        return [Choice(None)] * (settings["groups"] + 1)
    before, after = int(np.argmax(truth["now"])), int(np.argmax(truth["later"]))
    error = float(np.hypot(truth["later_error"][after], truth["now_error"][before]))
    return signs(
        settings,
        np.array(truth["later"]) - np.array(truth["now"]),
        np.hypot(truth["later_error"], truth["now_error"]),
        (truth["later"][after] - truth["now"][before], error),
    )


@cache
def _laws(text: str) -> Any:
    import json

    from lopsided.core.mixture_spec import mixture_of, problem_of
    from lopsided.theory.fisher_law import FisherLaw

    given = json.loads(text)
    mixture = mixture_of(
        given["fractions"], given["means"], list(np.array(given["covariances"])), len(given["means"][0])
    )
    return FisherLaw(problem_of(mixture, given["weights"]))


def _forecast(settings: Settings, problem_text: str) -> tuple[Any, Any]:
    law = _laws(problem_text)
    mixture, chosen = law.problem.mixture, settings["group"]
    new = new_fraction(float(mixture.fractions[chosen]), settings["factor"])
    later = mixture.with_fraction(chosen, new).fractions
    return law.forecast(settings["samples"]), law.forecast(settings["samples"], later)


def _seen_text(settings: Settings, seen: Mapping[str, Any]) -> str | None:
    import json

    return None if seen["fitted"] is None else json.dumps(seen["fitted"])


def _true_text(settings: Settings, seen: Mapping[str, Any]) -> str:
    import json

    problem = world_of(settings)
    mixture = problem.mixture
    return json.dumps(
        {
            "fractions": mixture.fractions.tolist(),
            "means": mixture.means.tolist(),
            "covariances": mixture.covariances.tolist(),
            "weights": problem.weights.tolist(),
        }
    )


def _signs(source: Any, least: float) -> ChoiceForecaster:
    """Signs by the large-n law; changes smaller than `least` of the excess are left undecided."""

    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
        from lopsided.core.errors import InputError

        silent = [Choice(None)] * (settings["groups"] + 1)
        text = source(settings, seen)
        if text is None:
            return silent
        try:
            now, later = _forecast(settings, text)
        except InputError:
            return silent
        before = np.array([group.excess_risk for group in now.groups])
        after = np.array([group.excess_risk for group in later.groups])
        signs = [_stated(after[g] - before[g], before[g], least) for g in subjects(settings)]
        return [*signs, _stated(after.max() - before.max(), before.max(), least)]

    return answer


def _stated(change: float, before: float, least: float) -> Choice:
    """The sign, surer the more of the excess it is."""
    sure = NormalDist().cdf(abs(change) / (SPREAD * before))
    return Choice(sign(change, least * before).answer, confidence=sure)


def _true_excess(settings: Settings, truth: Mapping[str, Any]) -> list[Amount]:
    if truth["now"] is None:
        return [Amount(None)] * settings["groups"]
    return [Amount(value) for value in truth["now"]]


def _excess(source: Any, second_order: float, low: float, high: float) -> NumberForecaster:
    """The law's excess e, or e (1 + c e): at smaller n the truth lies above the law, the more the larger e is. With two
    neurons its upper tail is longer, because neurons can trade places."""

    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Amount]:
        from lopsided.core.errors import InputError

        text = source(settings, seen)
        try:
            now = _forecast(settings, text)[0] if text is not None else None
        except InputError:
            now = None
        if now is None:
            return [Amount(None)] * settings["groups"]
        values = [g.excess_risk * (1 + second_order * g.excess_risk) for g in now.groups]
        top = high if settings["neurons"] > 1 else 1 + 0.3 * (high - 1)
        return [Amount(value, low * value, top * value) for value in values]

    return answer


def _average_excess(settings: Settings, seen: Mapping[str, Any]) -> list[Amount]:
    """Every group at d K / 2n, what the law gives on average."""
    value = settings["dimension"] * settings["neurons"] / (2 * settings["samples"])
    return [Amount(value)] * settings["groups"]


FAMILY = Family(
    id="skill-group-mixtures",
    title="A larger fraction of a group: random mixtures",
    tasks=tasks,
    measure=measure,
    question=ChoiceQuestion(
        "does it help the group, the others, the worst group",
        _true_signs,
        {"law, fitted": _signs(_seen_text, 0.0), "law, true mixture": _signs(_true_text, 0.0)},
        "law, fitted",
        BASELINES,
        parts=part_names,
    ),
    numbers=(
        NumberQuestion(
            "excess risk of each group",
            _true_excess,
            {
                "law, fitted": _excess(_seen_text, 0.0, 0.88, 1.65),
                "law to second order, fitted": _excess(_seen_text, SECOND_ORDER, 0.85, 1.65),
                "law, true mixture": _excess(_true_text, 0.0, 0.9, 1.65),
            },
            "law to second order, fitted",
            {"dK/2n for every group": _average_excess},
            miss="ratio",
            unshipped=("law to second order, fitted",),
            parts=lambda settings: [f"group {code}" for code in range(settings["groups"])],
        ),
    ),
)
