"""More data of one group, measured on real rows: what the families on census rows and on pictures share.

Two ways to have more of group g: `added` (its examples grow `factor` times, the others stay) and `swapped` (its
fraction grows, the size stays). The risk of a group is its mean cross entropy on test rows; the truth is the mean
change of every group's risk over many samples, with an error that counts samples and test rows.

A forecaster sees one sample of the first composition. Three views of it, all on held-out rows over repeated folds:

    reweighted   trained with group weights as the change would give, against trained plainly
    thinned      the change played at smaller size: from compositions that the sample can give by leaving rows out
    law          for logistic regression with two classes: tr(H^-1 J H^-1 H_g) / 2n before and after, H and J the mean
                 Hessian and gradient covariance of the mixture, fitted (the Fisher law, with a sandwich because no
                 model is right about real rows)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray
from lopsided.engine.task import Settings
from lopsided.skill.family import (
    Amount,
    Choice,
    ChoiceForecaster,
    ChoiceQuestion,
    NumberForecaster,
    NumberQuestion,
)
from lopsided.skill.scoring import Z90
from lopsided.skill.small_tables import fitted, folds, log_chances

CLEAR = 2.0  # standard errors of the measured change
SAMPLES = {"logistic": 30, "network": 10, "forest": 12, "boosting": 12}
FOLDS, REPEATS = 3, {"logistic": 10, "network": 3, "forest": 4, "boosting": 4}
TEST_ROWS = 1500  # of each group
PULL, SCALING = 4.0, 0.3


@dataclass(frozen=True)
class GroupPool:
    """Rows to draw from and to test on, with labels 0, 1 and groups 0..G-1."""

    features: FloatArray
    labels: IntArray
    groups: IntArray
    test_features: FloatArray
    test_labels: IntArray
    test_groups: IntArray


def compositions(settings: Settings, pool: GroupPool) -> tuple[IntArray, IntArray]:
    """Examples of each group before and after; at most 0.6 of what the pool has, so that samples differ."""
    shares = np.array(settings["shares"])
    chosen, factor = settings["group"], settings["factor"]
    later = shares.copy()
    if settings["way"] == "added":
        later[chosen] *= factor
    else:
        later[chosen] = min(factor * shares[chosen], 0.5 * (1 + shares[chosen]))
        others = np.arange(shares.size) != chosen
        later[others] *= (1 - later[chosen]) / (1 - shares[chosen])
    have = np.bincount(pool.groups, minlength=shares.size)
    size = min(float(settings["samples"]), float((0.6 * have / np.maximum(shares, later)).min()))
    return np.maximum(np.rint(size * shares), 6).astype(np.int64), np.maximum(np.rint(size * later), 6).astype(np.int64)


def group_numbers(settings: Settings, pool: GroupPool, seed: int) -> dict[str, Any]:
    """`seen` and `truth` of a task."""
    now, later = compositions(settings, pool)
    world = settings["index"]
    tested = np.concatenate(
        [np.flatnonzero(pool.test_groups == code)[:TEST_ROWS] for code in range(len(settings["shares"]))]
    )
    groups = pool.test_groups[tested]
    losses = []
    for number in range(SAMPLES[settings["learner"]]):
        # The same rows as far as they go: a larger sample of a group contains the smaller one.
        orders = [
            generator(seed, "group sample", world, number, code).permutation(np.flatnonzero(pool.groups == code))
            for code in range(now.size)
        ]
        pair = []
        for counts in (now, later):
            rows = np.concatenate([order[:count] for order, count in zip(orders, counts, strict=True)])
            model = fitted(settings["learner"], settings["strength"], pool.features[rows], pool.labels[rows])
            logs = log_chances(model, pool.test_features[tested], 2)
            pair.append(-logs[np.arange(tested.size), pool.test_labels[tested]])
        losses.append(pair)
    array = np.array(losses)  # samples x 2 x test rows
    change = array[:, 1] - array[:, 0]
    truth: dict[str, Any] = {"now": [], "later": [], "change": [], "error": []}
    for code in range(now.size):
        own = groups == code
        per_sample, per_row = change[:, own].mean(axis=1), change[:, own].mean(axis=0)
        truth["now"].append(float(array[:, 0][:, own].mean()))
        truth["later"].append(float(array[:, 1][:, own].mean()))
        truth["change"].append(float(per_sample.mean()))
        truth["error"].append(
            float(np.sqrt(per_sample.var(ddof=1) / per_sample.size + per_row.var(ddof=1) / per_row.size))
        )
    one = [
        generator(seed, "group sample", world, "seen", code).permutation(np.flatnonzero(pool.groups == code))[:count]
        for code, count in enumerate(now)
    ]
    rows = np.concatenate(one)
    seen = _views(settings, pool.features[rows], pool.labels[rows], pool.groups[rows], now, later, seed)
    return {"seen": {"now": now.tolist(), "later": later.tolist(), **seen}, "truth": truth}


def _views(
    settings: Settings,
    features: FloatArray,
    labels: IntArray,
    groups: IntArray,
    now: IntArray,
    later: IntArray,
    seed: int,
) -> dict[str, Any]:
    learner, strength, count = settings["learner"], settings["strength"], now.size
    weights = (later / now)[groups]
    # thinned: sizes that the sample can give in the later composition, and as many in today's
    scale = float((now / later).min())
    small_later = np.maximum(np.floor(scale * later), 2).astype(np.int64)
    if settings["way"] == "added":
        small_now = np.where(np.arange(count) == settings["group"], np.maximum(now * now / later, 2), now)
        small_later = now
    else:
        small_now = np.maximum(now * scale, 2)
    small_now = small_now.astype(np.int64)
    gained: dict[str, list[FloatArray]] = {"reweighted": [], "thinned": []}
    plain_loss = np.zeros(labels.size)
    repeats = REPEATS[learner]
    for repeat in range(repeats):
        random = generator(seed, "group folds", settings["index"], repeat)
        fold = folds(2 * groups + labels, FOLDS, random)
        change = {name: np.zeros(labels.size) for name in gained}
        for number in range(FOLDS):
            inside, held_out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            order = random.permutation(inside)

            def loss(rows: IntArray, own: FloatArray | None = None, out: IntArray = held_out) -> FloatArray:
                model = fitted(learner, strength, features[rows], labels[rows], own)
                logs = log_chances(model, features[out], 2)
                return np.asarray(-logs[np.arange(out.size), labels[out]])

            plain = loss(order)
            plain_loss[held_out] += plain / repeats
            change["reweighted"][held_out] = loss(order, weights[order]) - plain
            part = (FOLDS - 1) / FOLDS
            before, after = (
                _first(order, groups, np.maximum(part * counts, 2).astype(int)) for counts in (small_now, small_later)
            )
            if all(np.unique(labels[rows]).size == 2 for rows in (before, after)):
                change["thinned"][held_out] = loss(after) - loss(before)
        for name, values in change.items():
            gained[name].append(values)
    found: dict[str, Any] = {"risk": [float(plain_loss[groups == code].mean()) for code in range(count)]}
    for name, runs in gained.items():
        mean = np.mean(runs, axis=0)
        found[name] = [float(mean[groups == code].mean()) for code in range(count)]
        found[f"{name}_error"] = [_error(np.array(runs)[:, groups == code]) for code in range(count)]
    found["law"] = _law(features, labels, groups, now, later, strength) if learner == "logistic" else None
    return found


def _first(order: IntArray, groups: IntArray, counts: Sequence[int] | IntArray) -> IntArray:
    return np.concatenate([order[groups[order] == code][:count] for code, count in enumerate(counts)])


def _error(runs: FloatArray) -> float:
    """Of the mean over repeats and rows: rows differ, repeats differ."""
    rows = runs.mean(axis=0)
    return float(np.sqrt(rows.var(ddof=1) / rows.size + runs.mean(axis=1).var(ddof=1) / runs.shape[0]))


def _law(
    features: FloatArray, labels: IntArray, groups: IntArray, now: IntArray, later: IntArray, strength: float
) -> dict[str, Any]:
    """Expected excess of every group before and after, from one fit: tr(H^-1 J H^-1 H_g) / 2."""
    model = fitted("logistic", strength, features, labels)
    design = np.column_stack([features, np.ones(labels.size)])
    chance = model.predict_proba(features)[:, 1]
    curves = chance * (1 - chance)
    count, size = now.size, design.shape[1]
    hessians, covariances = np.zeros((count, size, size)), np.zeros((count, size, size))
    for code in range(count):
        own = groups == code
        hessians[code] = (design[own] * curves[own, None]).T @ design[own] / own.sum()
        gradients = design[own] * (chance - labels)[own, None]
        covariances[code] = np.cov(gradients.T)
    ridge = np.eye(size) / strength
    ridge[-1, -1] = 1e-9  # the intercept is not decayed; a little keeps the matrix regular
    excess = {}
    for name, counts in (("now", now), ("later", later)):
        inverse = np.linalg.inv(np.einsum("g,gij->ij", counts.astype(float), hessians) + ridge)
        spread = inverse @ np.einsum("g,gij->ij", counts.astype(float), covariances) @ inverse
        excess[name] = [float(np.trace(spread @ hessians[code])) / 2 for code in range(count)]
    return excess


def subjects(settings: Settings) -> list[int]:
    """The group that grows first, then the others."""
    return [settings["group"], *(code for code in range(len(settings["shares"])) if code != settings["group"])]


def sign(change: float, width: float = 0.0) -> Choice:
    """helps, hurts, or undecided within `width`."""
    return Choice(None if abs(change) <= width else "hurts" if change > 0 else "helps")


def true_signs(settings: Settings, truth: Mapping[str, Any]) -> list[Choice]:
    """For the group, the others and the worst group (that of the largest risk, before and after)."""
    signs = [sign(truth["change"][code], CLEAR * truth["error"][code]) for code in subjects(settings)]
    before, after = int(np.argmax(truth["now"])), int(np.argmax(truth["later"]))
    if before == after:
        return [*signs, sign(truth["change"][before], CLEAR * truth["error"][before])]
    gap = truth["later"][after] - truth["now"][before]
    return [*signs, sign(gap, CLEAR * float(np.hypot(truth["error"][after], truth["error"][before])))]


# (settings, seen) -> change of every group and its deviation
Changes = Callable[[Settings, Mapping[str, Any]], tuple[FloatArray, FloatArray]]


def signs_by(rule: Changes, width: float) -> ChoiceForecaster:
    """Signs of the changes that a rule forecasts; nine of ten changes lie within `width` deviations of it."""

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


def reweighted(settings: Settings, seen: Mapping[str, Any]) -> tuple[FloatArray, FloatArray]:
    """The view of that name."""
    return np.array(seen["reweighted"]), np.array(seen["reweighted_error"])


def thinned(settings: Settings, seen: Mapping[str, Any]) -> tuple[FloatArray, FloatArray]:
    """The view of that name."""
    return np.array(seen["thinned"]), np.array(seen["thinned_error"])


def thinned_and_law(settings: Settings, seen: Mapping[str, Any]) -> tuple[FloatArray, FloatArray]:
    """The thinned view t, scaled to the full size by f^-0.3 and pulled towards what is expected beforehand:

        w f^-0.3 t + (1 - w) p,    w = z^2 / (z^2 + 4),  z = t over its error

    p is the law's change where there is one, else a little in the direction that more data helps. A change that comes
    of fewer errors of estimation shrinks as 1/f with the size, one that comes of groups that want different rules not
    at all; 0.3 and 4 were chosen on the development half, as was the share of the forecast that its deviation counts.
    """
    change, error = thinned(settings, seen)
    factor = settings["factor"]
    z = change / np.maximum(error, 1e-12)
    weight = z**2 / (z**2 + PULL)
    if seen["law"] is not None:
        expected = np.array(seen["law"]["later"]) - np.array(seen["law"]["now"])
    else:
        grows = np.arange(change.size) == settings["group"]
        expected = np.where(grows | (settings["way"] == "added"), -0.2, 0.2) * error / factor
    found = weight * factor**-SCALING * change + (1 - weight) * expected
    own = weight * (factor**-SCALING * error) ** 2 + 0.3 * (1 - weight) * (error / factor) ** 2
    return found, np.sqrt(own + (0.25 * found) ** 2 + (0.02 * np.array(seen["risk"])) ** 2)


def always(own: str, others: str, worst: str) -> ChoiceForecaster:
    """Fixed answers."""
    return lambda settings, seen: [Choice(own), *[Choice(others)] * (len(settings["shares"]) - 1), Choice(worst)]


def true_changes(settings: Settings, truth: Mapping[str, Any]) -> list[Amount]:
    """Change of every group's risk."""
    return [Amount(truth["change"][code]) for code in subjects(settings)]


def changes_by(rule: Changes, width: float) -> NumberForecaster:
    """Changes with intervals of so many errors."""

    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Amount]:
        change, error = rule(settings, seen)
        return [
            Amount(*(float(change[code] + side * width * error[code]) for side in (0.0, -1.0, 1.0)))
            for code in subjects(settings)
        ]

    return answer


def no_change(settings: Settings, seen: Mapping[str, Any]) -> list[Amount]:
    """The baseline that expects nothing."""
    return [Amount(0.0)] * len(settings["shares"])


BASELINES = {
    "more data helps": always("helps", "hurts", "helps"),
    "more data helps everyone": always("helps", "helps", "helps"),
}
DEFAULT = "thinned and law"
RULES: dict[str, Changes] = {DEFAULT: thinned_and_law, "thinned": thinned, "reweighted": reweighted}


def part_names(settings: Settings) -> list[str]:
    """What is asked, one name an answer."""
    return [*group_names(settings), "the worst group"]


def group_names(settings: Settings) -> list[str]:
    """The group that grows, then the others."""
    first, *others = subjects(settings)
    return [f"group {first} itself", *(f"group {code}" for code in others)]


def sign_question(width: float) -> ChoiceQuestion:
    """Helps or hurts; `width` deviations to either side hold nine of ten changes."""
    return ChoiceQuestion(
        "does it help the group, the others, the worst group",
        true_signs,
        {name: signs_by(rule, width) for name, rule in RULES.items()},
        DEFAULT,
        BASELINES,
        parts=part_names,
    )


def change_question(width: float) -> NumberQuestion:
    """By how much."""
    return NumberQuestion(
        "change of each group's cross entropy",
        true_changes,
        {name: changes_by(rule, width) for name, rule in RULES.items()},
        DEFAULT,
        {"no change": no_change},
        parts=group_names,
    )
