"""Python that trains the recommended arm: the object that was tried, its parameters written out, around the learner."""

from typing import TYPE_CHECKING

from lopsided.learners.named_learner import is_learner_name

if TYPE_CHECKING:
    from lopsided.checkup.trial.result import Trial

_MOST_LETTERS = 80  # of a classifier of the user's, whose text can fill a page


def training_code(trial: "Trial") -> str:
    """Five lines; `X`, `y`, and where they are needed `groups` and `learner`, are the user's own."""
    remedy, learner = trial.recommended.remedy, "learner"
    given = ["X", "y", "groups"] if remedy.needs_groups else ["X", "y"]
    about = f"X: {trial.rows:,} rows as the trial had them, y: their labels"
    if is_learner_name(trial.learner):
        learner = repr(trial.learner)
    else:
        words = " ".join(trial.learner.split())
        about = f"learner: {words[:_MOST_LETTERS]}{'' if len(words) <= _MOST_LETTERS else '...'}; {about}"
    return "\n".join(
        [
            "from lopsided.remedies.mended import MendedClassifier",
            f"from {type(remedy).__module__} import {type(remedy).__name__}",
            f"model = MendedClassifier({learner}, {remedy!r}, seed={trial.seed})",
            f"model.fit({', '.join(given)})  # {about}",
            f"predicted = model.predict({', '.join(name for name in given if name != 'y')})",
        ]
    )
