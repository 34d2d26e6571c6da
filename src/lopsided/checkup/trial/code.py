"""Python that trains the recommended arm: the object that was tried, its parameters written out, around the learner."""

from typing import TYPE_CHECKING

from lopsided.learners.named_learner import is_learner_name
from lopsided.remedies.own import Own

if TYPE_CHECKING:
    from lopsided.checkup.trial.result import Trial

_MOST_LETTERS = 80  # of an object of the user's, whose text can fill a page


def training_code(trial: "Trial") -> str:
    """Five lines; `X`, `y`, and where they are needed `groups`, `learner` and `own`, are the user's."""
    remedy, learner, seed = trial.recommended.remedy, "learner", trial.seed
    given = ["X", "y", "groups"] if remedy.needs_groups else ["X", "y"]
    planned = trial.plan.remedies[0].training if trial.plan is not None and trial.plan.remedies else None
    drawn = planned is not None and len(planned.classes.names) > len(trial.classes)
    about = f"X: {'rows of all classes' if drawn else f'{trial.rows:,} rows'} as the trial had them, y: their labels"
    if is_learner_name(trial.learner):
        learner = repr(trial.learner)
    else:
        about = f"learner: {_short(trial.learner)}; {about}"
    if isinstance(remedy, Own):
        lines = [
            "from lopsided.remedies.own import own_arm",
            f"remedy = own_arm(({remedy.called!r}, own))  # own: {_short(repr(remedy.made))}",
            f"model = remedy.wrap({learner}, seed={seed})",
        ]
    else:
        lines = [
            "from lopsided import MendedClassifier",
            f"from {type(remedy).__module__} import {type(remedy).__name__}",
            f"model = MendedClassifier({learner}, {remedy!r}, seed={seed})",
        ]
    predicted = ", ".join(name for name in given if name != "y")
    return "\n".join([*lines, f"model.fit({', '.join(given)})  # {about}", f"predicted = model.predict({predicted})"])


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_LETTERS else f"{line[:_MOST_LETTERS]}..."
