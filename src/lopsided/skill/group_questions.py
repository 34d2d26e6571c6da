"""What the families on groups ask: does more data of a group help it, the others, the worst group, and by how much?

A rule takes the settings and what is seen (`group_runs`) and returns the change of every group's risk with its
deviation. The rules for real rows are not functions of the library.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from lopsided.core.validation import FloatArray
from lopsided.engine.task import Settings
from lopsided.skill.family import Amount, Choice, Forecaster, Question, constant
from lopsided.skill.scoring import Z90

CLEAR = 2.0  # standard errors of the measured change


@dataclass(frozen=True)
class Shrinkage:
    """How `thinned_and_law` shrinks and scales the thinned view, and how confident it is in the result.

    Chosen by hand on the development half, not fitted. `bench/laws/groups_fit.py` searches there for better ones: the
    best `pull` and `scaling` have 1 % smaller errors; the best values of the others raise the log likelihood by 1.4
    over 130 changes.
    """

    pull: float = 4.0  # z^2 at which view and expectation have equal weight
    scaling: float = 0.3  # the power of the factor by which a change shrinks
    expected: float = 0.3  # of the view's variance at full size, where only the expectation counts
    share: float = 0.25  # of the forecast change
    risk: float = 0.02  # of the group's risk


SHRINKAGE = Shrinkage()


def group_count(settings: Settings) -> int:
    """How many groups a task has."""
    return settings["groups"] if "groups" in settings else len(settings["shares"])


def subjects(settings: Settings) -> list[int]:
    """The group that grows first, then the others."""
    return [settings["group"], *(code for code in range(group_count(settings)) if code != settings["group"])]


def sign(change: float, width: float = 0.0) -> Choice:
    """helps, hurts, or undecided within `width`."""
    return Choice(None if abs(change) <= width else "hurts" if change > 0 else "helps")


def signs(settings: Settings, change: FloatArray, error: FloatArray, worst: tuple[float, float]) -> list[Choice]:
    """Clear signs for the group, the others and the worst group, whose change and error are `worst`."""
    told = [*((change[code], error[code]) for code in subjects(settings)), worst]
    return [sign(float(value), CLEAR * float(spread)) for value, spread in told]


def true_signs(settings: Settings, truth: Mapping[str, Any]) -> list[Choice]:
    """As measured; the worst group is that of the largest risk, before and after."""
    change, error = np.array(truth["change"]), np.array(truth["error"])
    before, after = int(np.argmax(truth["now"])), int(np.argmax(truth["later"]))
    if before == after:
        return signs(settings, change, error, (change[before], error[before]))
    gap = truth["later"][after] - truth["now"][before]
    return signs(settings, change, error, (gap, float(np.hypot(error[after], error[before]))))


# (settings, seen) -> change of every group and its deviation
ChangeRule = Callable[[Settings, Mapping[str, Any]], tuple[FloatArray, FloatArray]]


def signs_by(rule: ChangeRule, width: float) -> Forecaster[Choice]:
    """Signs of the changes that a rule forecasts; 90 % of the changes lie within `width` deviations of the forecast."""

    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
        change, error = rule(settings, seen)
        risk = np.array(seen["risk"])
        worst = float((risk + change).max() - risk.max())
        after = int(np.argmax(risk + change))
        told = [*((change[code], error[code]) for code in subjects(settings)), (worst, error[after])]
        return [likely_sign(float(value), float(spread) * width / Z90) for value, spread in told]

    return answer


def likely_sign(change: float, deviation: float) -> Choice:
    """The sign, and the chance of it under a normal law."""
    answer = sign(change).answer
    return Choice(answer, confidence=NormalDist().cdf(abs(change) / deviation) if deviation > 0 else None)


def view(name: str) -> ChangeRule:
    """What `group_runs` saw under that name."""
    return lambda settings, seen: (np.array(seen[name]), np.array(seen[f"{name}_error"]))


def thinned_and_law(
    settings: Settings, seen: Mapping[str, Any], how: Shrinkage = SHRINKAGE
) -> tuple[FloatArray, FloatArray]:
    """The thinned view t, scaled to the full size by f^-0.3 and shrunk towards a prior expectation p:

        w f^-0.3 t + (1 - w) p,    w = z^2 / (z^2 + 4),  z = t over its error

    p is the change by the law if there is one, and otherwise a small change in the direction "more data helps". A
    change due to a smaller estimation error shrinks as 1/f with the size; a change due to groups that need different
    rules does not shrink. 0.3 and 4 come from `Shrinkage`, and so does the share of the forecast in its deviation.
    """
    change, error = view("thinned")(settings, seen)
    factor = settings["factor"]
    z = change / np.maximum(error, 1e-12)
    weight = z**2 / (z**2 + how.pull)
    if seen["law"] is not None:
        expected = np.array(seen["law"]["later"]) - np.array(seen["law"]["now"])
    else:
        grows = np.arange(change.size) == settings["group"]
        expected = np.where(grows | (settings["way"] == "added"), -0.2, 0.2) * error / factor
    found = weight * factor**-how.scaling * change + (1 - weight) * expected
    own = weight * (factor**-how.scaling * error) ** 2 + how.expected * (1 - weight) * (error / factor) ** 2
    return found, np.sqrt(own + (how.share * found) ** 2 + (how.risk * np.array(seen["risk"])) ** 2)


def always(own: str, others: str, worst: str) -> Forecaster[Choice]:
    """Fixed answers."""
    return lambda settings, seen: [Choice(own), *[Choice(others)] * (group_count(settings) - 1), Choice(worst)]


def true_changes(settings: Settings, truth: Mapping[str, Any]) -> list[Amount]:
    """Change of every group's risk."""
    return [Amount(truth["change"][code]) for code in subjects(settings)]


def changes_by(rule: ChangeRule, width: float) -> Forecaster[Amount]:
    """Changes with intervals of `width` errors."""

    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Amount]:
        change, error = rule(settings, seen)
        return [
            Amount(*(float(change[code] + side * width * error[code]) for side in (0.0, -1.0, 1.0)))
            for code in subjects(settings)
        ]

    return answer


BASELINES = {
    "more data helps": always("helps", "hurts", "helps"),
    "more data helps everyone": always("helps", "helps", "helps"),
}
DEFAULT = "thinned and law"
RULES: dict[str, ChangeRule] = {DEFAULT: thinned_and_law, **{name: view(name) for name in ("thinned", "reweighted")}}


def part_names(settings: Settings) -> list[str]:
    """The names of the answers."""
    return [*group_names(settings), "the worst group"]


def group_names(settings: Settings) -> list[str]:
    """The group that grows, then the others."""
    first, *others = subjects(settings)
    return [f"group {first} itself", *(f"group {code}" for code in others)]


def sign_question(width: float) -> Question[Choice]:
    """Helps or hurts; 90 % of the changes lie within `width` deviations to either side."""
    return Question(
        "does it help the group, the others, the worst group",
        true_signs,
        {name: signs_by(rule, width) for name, rule in RULES.items()},
        DEFAULT,
        BASELINES,
        parts=part_names,
        unshipped=RULES,
    )


def change_question(width: float) -> Question[Amount]:
    """By how much."""
    return Question(
        "change of each group's cross entropy",
        true_changes,
        {name: changes_by(rule, width) for name, rule in RULES.items()},
        DEFAULT,
        {"no change": constant(Amount(0.0), group_count)},
        parts=group_names,
        unshipped=RULES,
    )
