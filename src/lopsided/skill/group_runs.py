"""The effect of more data of one group on real rows, for the families on census rows and on pictures.

There are two ways to have more of group g: `added` (it has `factor` times as many examples, the others are unchanged)
and `swapped` (its fraction grows, the total size is unchanged). The risk of a group is its mean cross entropy on test
rows. The truth is the mean change of every group's risk over many samples, with an error that accounts for samples and
test rows.

A forecaster sees one sample of the first composition, in three views, all on held-out rows over repeated folds:

    reweighted training with the group weights that the change would give, compared with plain training
    thinned the change simulated at a smaller size, with compositions made by leaving rows out of the sample
    law          for logistic regression with two classes: tr(H^-1 J H^-1 H_g) / 2n before and after, H and J the mean
                 Hessian and gradient covariance of the mixture, fitted (the Fisher law, with a sandwich because no
                 model is right about real rows)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from lopsided.core.folds import dealt
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray
from lopsided.engine.task import Numbers, Settings
from lopsided.skill.small_tables import census_pool, components, fitted, log_chances, pictures

SAMPLES = {"logistic": 30, "network": 10, "forest": 12, "boosting": 12}
FOLDS, REPEATS = 3, {"logistic": 10, "network": 3, "forest": 4, "boosting": 4}
TEST_ROWS = 1500  # of each group


@dataclass(frozen=True)
class GroupPool:
    """Rows to draw from and to test on, with labels 0, 1 and groups 0..G-1."""

    features: FloatArray
    labels: IntArray
    groups: IntArray
    test_features: FloatArray
    test_labels: IntArray
    test_groups: IntArray


@lru_cache(maxsize=3)
def _census(partition: str) -> GroupPool:
    pool = census_pool()
    codes = []
    for words in (pool.words, pool.test_words):
        sex = (words["sex"] == "Female").astype(np.int64)
        race = np.select([words["race"] == "White", words["race"] == "Black", words["race"] == "Asian-Pac-Islander"],
                         [0, 1, 2], 3)  # fmt: skip
        codes.append({"sex": sex, "race": race, "sex and race": 3 * sex + np.minimum(race, 2)}[partition])
    return GroupPool(pool.features, pool.labels, codes[0], pool.test_features, pool.test_labels, codes[1])


@lru_cache(maxsize=1)
def _pictures(kind: str, data: str, members: tuple[int, ...], world: int) -> GroupPool:
    """Labels, groups and components of the task's pictures."""
    parts = []
    for split in ("train", "test"):
        found = pictures(data, split)
        chosen = np.flatnonzero(np.isin(found.labels, members if kind == "pairs" else members[:2]))
        place = np.array([members.index(label) for label in found.labels[chosen]])
        labels, groups = place % 2, place // 2
        random = generator(world, "skill", "group pictures", split)
        if kind != "pairs":
            groups = random.integers(2, size=labels.size)
        values = found.take(chosen).rows().reshape(found.take(chosen).pixels.shape)
        parts.append((_changed(kind, values, labels, groups, random), labels, groups))
    (train, labels, groups), (test, test_labels, test_groups) = parts
    features, test_features, _ = components(train, test)
    return GroupPool(features, labels, groups, test_features, test_labels, test_groups)


def _changed(
    kind: str, values: FloatArray, labels: IntArray, groups: IntArray, random: np.random.Generator
) -> FloatArray:
    """Pictures as flat rows, those of the second group changed."""
    second = groups == 1
    if kind == "turned":
        values = np.where(_like(second, values), np.rot90(values, axes=(1, 2)), values)
    if kind == "noisy":
        values = values + np.where(_like(second, values), 0.5, 0.0) * random.standard_normal(values.shape)
    if kind == "coloured":
        red = (labels == 0) != second
        values = np.stack([values * red[:, None, None], values * ~red[:, None, None]], axis=-1)
    return values.reshape(values.shape[0], -1)


def _like(mask: IntArray, values: FloatArray) -> IntArray:
    return mask.reshape(-1, *[1] * (values.ndim - 1))


def measure(settings: Settings, seed: int) -> Numbers:
    """Changes of every group's risk, and the views of one sample: of census rows, or of pictures."""
    if "partition" in settings:
        return group_numbers(settings, _census(settings["partition"]), seed)
    chosen = settings["kind"], settings["data"], tuple(settings["members"]), settings["index"]
    return group_numbers(settings, _pictures(*chosen), seed)


def compositions(settings: Settings, pool: GroupPool) -> tuple[IntArray, IntArray]:
    """Examples of each group before and after; at most 0.6 of the pool, so that samples differ."""
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
        # The same rows as far as possible: a larger sample of a group contains the smaller one.
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
        fold = dealt(random, FOLDS, 2 * groups + labels)
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
