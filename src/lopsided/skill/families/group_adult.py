"""More examples of a group of census rows: do they help that group, the others, the worst group?

Adult with groups by sex, by race (the two smallest joined) or by both, natural or random fractions, and random sizes,
factors and learners. `group_runs` says what is measured and seen.
"""

import numpy as np

from lopsided.engine.task import Settings
from lopsided.skill.family import Family, drawn_tasks
from lopsided.skill.group_questions import change_question, sign_question
from lopsided.skill.group_runs import measure

TASKS = 48
WIDTH = 1.1  # deviations to either side, for a coverage of 0.9 (`bench/laws/groups_fit.py`), to 6 %
PARTITIONS = {"sex": 2, "race": 4, "sex and race": 6}
NATURAL = {
    "sex": (0.67, 0.33),
    "race": (0.855, 0.096, 0.031, 0.018),
    "sex and race": (0.59, 0.05, 0.035, 0.27, 0.047, 0.018),
}


@drawn_tasks("skill-group-adult", TASKS)
def tasks(random: np.random.Generator, _: int) -> Settings:
    """Settings of one task."""
    partition = str(random.choice(list(PARTITIONS)))
    groups = PARTITIONS[partition]
    natural = bool(random.random() < 0.4)
    shares = np.array(NATURAL[partition]) if natural else random.dirichlet(np.full(groups, 1.5))
    shares = np.maximum(shares, 0.03)
    return {
        "partition": partition,
        "shares": [round(float(share), 3) for share in shares / shares.sum()],
        "group": int(random.integers(groups)),
        "factor": float(round(random.uniform(1.5, 4.0), 2)),
        "way": str(random.choice(["added", "swapped"])),
        "samples": round(float(np.exp(random.uniform(np.log(300), np.log(2500))))),
        "learner": str(random.choice(["logistic", "network", "forest", "boosting"], p=[0.55, 0.15, 0.15, 0.15])),
        "strength": float(random.choice([0.1, 1.0])),
    }


FAMILY = Family(
    id="skill-group-adult",
    title="More data of a group: census rows",
    tasks=tasks,
    measure=measure,
    needs=("adult",),
    question=sign_question(WIDTH),
    numbers=(change_question(WIDTH),),
)
