"""More pictures of a group: do they help that group, the others, the worst group?

Two groups of pictures with two labels, of four kinds:

    pairs      four classes a, b, c, d: one group has to tell a from b, the other c from d
    coloured   two classes, painted so that colour agrees with the label in one group and disagrees in the other
    turned     two classes, upright in one group and turned by a quarter in the other
    noisy      two classes, clean in one group and under noise in the other

What is measured and seen: `group_changes`.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray
from lopsided.engine.task import Numbers, Settings
from lopsided.skill.family import Family
from lopsided.skill.group_changes import GroupPool, change_question, group_numbers, sign_question
from lopsided.skill.small_tables import components, pictures

TASKS = 48
WIDTH = 3.3  # deviations to either side: what held nine of ten changes on the development half
KINDS = ("pairs", "coloured", "turned", "noisy")


def tasks() -> Sequence[Settings]:
    """Specifications drawn by a generator of their own."""
    random = generator(70119, "skill", "group images")
    made = []
    for index in range(TASKS):
        share = float(round(random.uniform(0.1, 0.7), 2))
        kind = KINDS[index % len(KINDS)]
        sets = ["mnist", "fashion-mnist"] if kind == "coloured" else ["mnist", "fashion-mnist", "cifar-10"]
        made.append(
            {
                "index": index,
                "kind": kind,
                "data": str(random.choice(sets)),
                "members": random.permutation(10)[:4].tolist(),
                "shares": [round(1 - share, 2), share],
                "group": int(random.integers(2)),
                "factor": float(round(random.uniform(1.5, 4.0), 2)),
                "way": str(random.choice(["added", "swapped"])),
                "samples": round(float(np.exp(random.uniform(np.log(150), np.log(1200))))),
                "learner": str(random.choice(["logistic", "network", "forest"], p=[0.6, 0.2, 0.2])),
                "strength": float(random.choice([0.1, 1.0])),
            }
        )
    return made


@lru_cache(maxsize=1)
def _pool(kind: str, data: str, members: tuple[int, ...], world: int) -> GroupPool:
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
    """Changes of both groups' risk, and the views of one sample."""
    pool = _pool(settings["kind"], settings["data"], tuple(settings["members"]), settings["index"])
    return group_numbers(settings, pool, seed)


FAMILY = Family(
    id="skill-group-images",
    title="More data of a group: pictures",
    tasks=tasks,
    measure=measure,
    needs=("mnist", "fashion-mnist", "cifar-10"),
    question=sign_question(WIDTH),
    numbers=(change_question(WIDTH),),
)
