"""The remedy that a trial on the training data recommends: what `MendedClassifier(remedy="auto")` asks for.

The same arms, folds and decision as `lopsided.trial`, less what only a report needs: simulated collection, which can
not be recommended, and forecasts. The store is a temporary folder. Rows that are too few, or that
no arm has anything to do for, are trained plainly.
"""

from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import Any

from lopsided.checkup.plan.arms import NothingFits, default_kinds
from lopsided.checkup.trial.folding import folded
from lopsided.checkup.trial.trial import FOLDS, REPEATS, trial
from lopsided.core.errors import InputError
from lopsided.data.labelled_set import LabelledSet
from lopsided.learners.named_learner import is_network
from lopsided.measure.metrics.named import Asked
from lopsided.remedies.contract import Proposal
from lopsided.remedies.plain import Plain


def choose(
    training: LabelledSet,
    learner: Any,
    arms: Sequence[Any] | None = None,
    *,
    metric: Asked | None = None,
    costs: Any = None,
    budget: float | str | None = None,
    recalibrate: bool = False,
    seed: int = 0,
) -> Proposal:
    """The recommended remedy, with the parameters that were tried; see `lopsided.trial` for what is given."""
    try:
        folded(training, None, FOLDS, REPEATS, seed)
    except InputError as error:
        return Proposal(Plain(), f"Used plain training, because no trial was possible: {error}")
    with TemporaryDirectory(prefix="lopsided-") as store:
        try:
            found = trial(
                training,
                learner=learner,
                arms=default_kinds(network=is_network(learner)) if arms is None else arms,
                metric=metric,
                costs=costs,
                budget=budget,
                recalibrate=recalibrate,
                seed=seed,
                store=store,
                forecasts=False,
            )
        except NothingFits as error:
            return Proposal(Plain(), f"Used plain training: {error}")
    return Proposal(found.recommended.remedy, found.headline(), found.recommendation)
