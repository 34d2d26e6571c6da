"""`lopsided.MendedClassifier`: a remedy around any scikit-learn classifier, chosen by a trial unless one is named.

It is defined here and not with the remedies, because it runs a trial, which `remedies` may not import. The trial has
the arms, folds and decision of `lopsided.trial`, less what only a report needs: simulated collection, which cannot be
recommended, and forecasts. Its store is a temporary folder.
"""

import warnings
from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import Any

from lopsided.checkup.plan.arms import NothingFits, default_kinds
from lopsided.checkup.trial.folding import folded
from lopsided.checkup.trial.trial import FOLDS, REPEATS, trial
from lopsided.core.errors import InputError
from lopsided.core.seeds import check_seed
from lopsided.data.labelled_set import LabelledSet
from lopsided.learners.named_learner import is_network
from lopsided.measure.metrics.named import Asked, metric_named
from lopsided.remedies.contract import Proposal, Remedy
from lopsided.remedies.mended import RemediedClassifier
from lopsided.remedies.named import proposed
from lopsided.remedies.own import own_arm
from lopsided.remedies.plain import Plain

AUTO = "auto"


class MendedClassifier(RemediedClassifier):
    """Any classifier, with a remedy for imbalance added.

    Unless a remedy is named, `fit` chooses one by a trial on the training data (`lopsided.trial`). It then trains the
    estimator with it on all rows.

    Parameters
    ----------
    estimator : classifier or str, default "logistic"
        A scikit-learn classifier, or the name of a learner (logistic, boosting, network, deep).
    remedy : "auto", str, Remedy, sampler, list of these or None, default "auto"
        "auto" tries the remedies of a plan and takes the one that the trial recommends; a list is tried instead of
        these, as with the `arms` of `lopsided.trial`. A remedy by name ("logit adjustment", "class weights", "SMOTE")
        gets its parameters from the data. A sampler has `fit_resample`, as in imbalanced-learn. None means plain
        training.
    metric : str, Metric or scikit-learn scorer, default "balanced"
        The metric that the trial and threshold moving improve, as in `lopsided.trial`.
    costs : array or dict, optional
        The cost matrix of the metric "cost".
    budget : float or str or None, default 60
        The time limit of the trial in seconds, or as "2m". How much is tried within it depends on the machine; with
        None it is two repeats of five folds, and the same seed gives the same model everywhere.
    recalibrate : bool, default False
        Calibrate the probabilities on held-out rows, which costs five more fits. The decisions do not change.
    seed : int, default 0
        The random seed.

    Attributes
    ----------
    remedy_ : Remedy
        What was done, with its parameters.
    recommendation_ : Recommendation or None
        What the trial found: `arm`, `gain`, `low`, `high`, `chance_best`, `chance_worse`. None if there was no trial.
    why_ : str
        Why this remedy was chosen, in a sentence.
    classes_ : ndarray
        The labels, sorted.
    estimator_ : classifier
        The fitted estimator; it was trained on the positions of the labels in `classes_`.
    offsets_ : ndarray
        What is added to the log probability of every class.
    group_shares_ : ndarray
        Every group's share of the weights, if groups were given and the remedy weights rows.
    n_features_in_, feature_names_in_ : int, ndarray
        Number and names of the columns in `fit`; names only if all are strings.

    Examples
    --------
    >>> import lopsided, numpy
    >>> y = numpy.repeat(["common", "rare"], [200, 20])
    >>> X = numpy.random.default_rng(0).normal(size=(220, 2)) + (y == "rare")[:, None]
    >>> model = lopsided.MendedClassifier("logistic", "logit adjustment").fit(X, y)
    >>> model.offsets_.round(2).tolist()
    [-1.15, 1.15]
    """

    def __init__(
        self,
        estimator: Any = "logistic",
        remedy: Any = AUTO,
        *,
        metric: Asked = "balanced",
        costs: Any = None,
        budget: float | str | None = 60,
        recalibrate: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(estimator, remedy, recalibrate=recalibrate, seed=seed)
        self.metric = metric
        self.costs = costs
        self.budget = budget

    def _choice(self, training: LabelledSet) -> Proposal:
        """The remedy: as given, by its name, or by a trial."""
        asked, seed = self.remedy, check_seed(self.seed)
        if asked is None or isinstance(asked, Remedy):
            return super()._choice(training)
        if hasattr(asked, "fit_resample"):
            return Proposal(own_arm(asked), "Your own.")
        if isinstance(asked, str) and asked.lower() != AUTO:
            aim = metric_named(self.metric, training.classes, self.costs).aim
            return proposed(asked, training, aim, seed, also=(AUTO,))
        if not isinstance(asked, (str, Sequence)) or not asked:
            got, remedy = f"a {type(asked).__name__}", "name one such as 'logit adjustment', or 'auto'"
            raise InputError("a remedy, its name, a sampler or a list of these", got, remedy)
        arms = default_kinds(network=is_network(self.estimator)) if isinstance(asked, str) else asked
        choice = self._tried(training, arms)
        if choice.advice is None:
            warnings.warn(choice.why, UserWarning, stacklevel=4)
        return choice

    def _tried(self, training: LabelledSet, arms: Sequence[Any]) -> Proposal:
        """The arm that a trial recommends; plain training where rows are too few, or no arm has anything to do."""
        seed = check_seed(self.seed)
        try:
            folded(training, None, FOLDS, REPEATS, seed)
        except InputError as error:
            return Proposal(Plain(), f"Used plain training, because no trial was possible: {error}")
        with TemporaryDirectory(prefix="lopsided-") as store:
            try:
                asked = {name: getattr(self, name) for name in ("metric", "costs", "budget", "recalibrate")}
                found = trial(
                    training, learner=self.estimator, arms=arms, seed=seed, store=store, forecasts=False, **asked
                )
            except NothingFits as error:
                return Proposal(Plain(), f"Used plain training: {error}")
        return Proposal(found.recommended.remedy, found.headline(), found.recommendation)
