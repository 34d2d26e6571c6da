"""More pictures of a group: do they help that group, the others, the worst group?

Two groups of pictures with two labels, of four kinds:

    pairs      four classes a, b, c, d: one group has to distinguish a from b, the other c from d
    coloured   two classes, painted so that colour agrees with the label in one group and disagrees in the other
    turned     two classes, upright in one group and turned by a quarter in the other
    noisy      two classes, clean in one group and under noise in the other

`group_runs` says what is measured and seen.
"""

import numpy as np

from lopsided.engine.task import Settings
from lopsided.skill.family import Family, drawn_tasks
from lopsided.skill.group_questions import change_question, sign_question
from lopsided.skill.group_runs import measure

TASKS = 48
WIDTH = 3.3  # deviations to either side, for a coverage of 0.9 (`bench/laws/groups_fit.py`), to 6 %
KINDS = ("pairs", "coloured", "turned", "noisy")


@drawn_tasks("skill-group-images", TASKS)
def tasks(random: np.random.Generator, index: int) -> Settings:
    """Settings of one task."""
    share = float(round(random.uniform(0.1, 0.7), 2))
    kind = KINDS[index % len(KINDS)]
    sets = ["mnist", "fashion-mnist"] if kind == "coloured" else ["mnist", "fashion-mnist", "cifar-10"]
    return {
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


FAMILY = Family(
    id="skill-group-images",
    title="More data of a group: pictures",
    tasks=tasks,
    measure=measure,
    needs=("mnist", "fashion-mnist", "cifar-10"),
    question=sign_question(WIDTH),
    numbers=(change_question(WIDTH),),
)
