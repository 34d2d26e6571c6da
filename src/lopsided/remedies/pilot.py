"""A cheap learner's held-out probabilities, and what they say about remedies that act like a change of prior.

Training with class weights or oversampling rates w_k estimates, in the limit of a rich model and much data, p(k|x) w_k
normalised (Elkan 2001; for oversampling Fang et al. 2021, Proposition 1: rate and weight are one); logit adjustment and
threshold moving do that afterwards (Menon et al. 2021). With weights w_g on groups that the classifier does not see it
is sum_g w_g p(k, g|x). So a pilot's held-out probabilities p(k, g|x), changed in this way, forecast the gain of each of
them.

A linear model is not rich: where two classes overlap in a curve, weights turn its boundary instead of moving it. So
where the learner is linear, as the pilot is, and it costs little, weights and rates are forecast by training the pilot
with them (`Pilot.weighted`). On the development half of `bench/decisions.py` that brought the regret of a plan's first
remedy from 1.5 to 1.2 points of balanced accuracy with logistic regression; for trees it does not help.

The pilot is logistic regression on at most `MOST_COLUMNS` principal components of at most `MOST_ROWS` rows, cross-
validated over its own folds; the interval is that of `paired_scores`. Of very many classes it sees `DRAWN_CLASSES`, and
distinguishes only those. Where the learner is not like the pilot, or has collapsed, the forecast can be wrong: that is
what the trial is for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.folds import Folds, deal
from lopsided.core.partition import appearing, by_appearance, first_rows
from lopsided.core.seeds import generator
from lopsided.core.validation import BoolArray, FloatArray, IntArray
from lopsided.data.encoding import TableEncoder
from lopsided.data.labelled_set import LabelledSet
from lopsided.data.rows import Rows, is_matrix, is_sparse, width
from lopsided.learners.named_learner import fit_argument, make_learner
from lopsided.measure.metrics.contract import Answers, Judged, Metric, judged_groups, judged_parts
from lopsided.measure.metrics.named import metric_named
from lopsided.measure.paired_scores import gain
from lopsided.remedies.contract import PRIOR_SHIFT, GainForecast, present

TRAINED = "held-out probabilities of a pilot trained with these weights"
FOLDS = 5
MOST_ROWS = 6000
MOST_CLASSES = 1000  # with more, the pilot would have a handful of rows a class and take minutes
DRAWN_CLASSES = 300  # so many of them are drawn then, which leaves twenty rows each
MOST_COLUMNS, LEAST_COLUMNS = 50, 10
_COLUMNS_BY_CLASSES = 2000  # columns times classes: a hundred classes are distinguished by 20 components
MOST_CELLS = 40  # classes times groups: beyond, the pilot sees classes only
_SMALL = 2_000_000  # rows x columns x classes up to which the pilot is cross-validated twice


@dataclass(frozen=True)
class Pilot:
    """Held-out probabilities p(class, group | x), repeats x n x K x G (G = 1 where groups are not modelled).

    `trained` gives the same of a pilot that is trained with a weight for every class; None if that would not apply to
    the learner."""

    training: LabelledSet
    probabilities: FloatArray
    fold: IntArray  # repeats x n
    sees_groups: bool
    judged: Judged
    trained: Callable[[FloatArray], FloatArray] | None = None

    def answers(self, class_scores: FloatArray) -> Answers:
        """Those of the class with the highest score (repeats x n x K); scores are probabilities once they sum to 1."""
        codes, predicted = self.training.classes.codes, class_scores.argmax(axis=2)
        chances = class_scores / np.maximum(class_scores.sum(axis=2, keepdims=True), 1e-300)
        groups, weights = self.training.group_codes, self.training.design.weights
        return Answers(predicted == codes, self.fold, codes, groups, predicted, chances, weights)

    def plain(self) -> FloatArray:
        """p(class | x)."""
        return np.asarray(self.probabilities.sum(axis=3))

    def weighted(self, factors: FloatArray) -> tuple[FloatArray, str]:
        """p(class | x) after training with a weight for every class, and the ground for it in words."""
        if self.trained is None:
            return self.plain() * factors, PRIOR_SHIFT
        if factors.tobytes() not in self._weighted:
            self._weighted[factors.tobytes()] = np.asarray(self.trained(factors).sum(axis=3))
        return self._weighted[factors.tobytes()], TRAINED

    @cached_property
    def _weighted(self) -> dict[bytes, FloatArray]:
        """By factors: remedies share them."""
        return {}

    def forecast(self, asked: str | Metric, class_scores: FloatArray, ground: str) -> GainForecast:
        """The gain of deciding by `class_scores`, in a metric or that of a word."""
        metric = metric_named(asked, self.training.classes)
        found = gain(metric, self.answers(class_scores), self.answers(self.plain()), self.judged)
        return GainForecast(metric.name, found.value, found.low, found.high, ground)

    def recalls(self, axis: str) -> FloatArray:
        """Share of right answers of every class or group."""
        answers = self.answers(self.plain())
        codes = answers.parts(axis)
        parts = 1 if self.training.groups is None and axis == "group" else len(self.training.partition(axis).names)
        sizes = np.bincount(codes, minlength=parts)
        return np.bincount(codes, weights=answers.shares, minlength=parts) / np.maximum(sizes, 1)


def pilot_groups(training: LabelledSet) -> tuple[int, ...]:
    """Groups that count in forecasts for `training`: those large enough among the rows that the pilot draws of it."""
    return judged_groups(training.groups, min(1.0, MOST_ROWS / training.size)) or judged_groups(training.groups)


def reduced(training: LabelledSet, seed: int) -> LabelledSet:
    """At most `MOST_ROWS` rows, drawn evenly over classes and groups, and principal components: 50, with more than 40
    classes fewer. Of more than `MOST_CLASSES` classes some."""
    training = some_classes(training)
    if training.size > MOST_ROWS:
        parts = -(-training.size // MOST_ROWS)
        fold = deal(training.classes.codes, training.group_codes, parts, seed, 0)
        training = training.subset(np.flatnonzero(fold == 0))
    if not is_matrix(training.features) or np.isnan(training.features).any():
        training = training.with_features(_scaled(training.features))
    most = int(np.clip(_COLUMNS_BY_CLASSES // len(training.classes.names), LEAST_COLUMNS, MOST_COLUMNS))
    if training.features.shape[1] > most:
        from sklearn.decomposition import PCA

        few = min(most, training.size)
        state = int(generator(seed, "pilot components").integers(2**31))
        components = PCA(few, svd_solver="randomized", random_state=state).fit_transform(training.features)
        training = training.with_features(components)
    return training


def some_classes(training: LabelledSet, wanted: int | None = None) -> LabelledSet:
    """Of more than `MOST_CLASSES` classes the examples of `DRAWN_CLASSES`, from the smallest of two examples to the
    largest in even steps; or of `wanted`, each from the middle of as many equal parts of the classes by size. Classes
    of one size are taken in the order in which they appear. Fewer classes as they are."""
    if len(training.classes.names) <= MOST_CLASSES:
        return training
    counts = training.classes.counts
    able = np.flatnonzero(counts >= min(2, counts.max()))
    appears = first_rows(training.classes.codes, counts.size)
    by_size = able[np.lexsort((appears[able], counts[able]))]
    if wanted is None:
        places = np.linspace(0, by_size.size - 1, DRAWN_CLASSES).round().astype(np.int64)
    else:
        places = ((np.arange(wanted) + 0.5) * by_size.size / wanted).astype(np.int64)
    some = training.subset(np.flatnonzero(np.isin(training.classes.codes, by_size[np.unique(places)])))
    return replace(some, classes=present(some.classes))


def _scaled(features: Rows) -> Rows:
    """Columns of unit deviation, in which components of words and of numbers compare; a sparse matrix stays sparse."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import StandardScaler

    if not is_sparse(features):
        return StandardScaler().fit_transform(TableEncoder().fit_transform(features))
    scaled = StandardScaler(with_mean=False).fit_transform(features)
    few = min(MOST_COLUMNS, *features.shape) - 1
    return (
        scaled.toarray() if width(features) <= MOST_COLUMNS else TruncatedSVD(few, random_state=0).fit_transform(scaled)
    )


def repeats_for(training: LabelledSet, parts: int) -> int:
    """How often the pilot is cross-validated to tell `parts` apart: twice where that is cheap."""
    return 2 if training.size * training.features.shape[1] * parts <= _SMALL else 1


def run_pilot(
    training: LabelledSet, seed: int, counting: tuple[int, ...] | None = None, *, linear: bool = False
) -> Pilot:
    """Cross-validate the pilot; `training` should be `reduced` first, and `counting` the `pilot_groups` before.

    linear: whether the learner is, so that what weights do to the pilot they do to it.
    """
    if training.size < FOLDS:
        raise InputError(f"at least {FOLDS} examples to forecast from", training.size)
    groups = 1 if training.groups is None else len(training.groups.names)
    classes = len(training.classes.names)
    sees_groups = groups > 1 and groups * classes <= MOST_CELLS
    modelled = groups if sees_groups else 1
    repeats = repeats_for(training, classes * modelled)
    dealt = [training.folds(FOLDS, seed, repeat) for repeat in range(repeats)]
    fold = np.stack([one.fold for one in dealt])
    tested = np.flatnonzero(fold[0] >= 0)  # by time the earliest rows are only trained on
    held_out = partial(_held_out, training, dealt, modelled, tested)
    shown = training if tested.size == training.size else training.subset(tested)
    judged = judged_parts(shown.classes, shown.groups, counting)
    cheap = repeats > 1
    return Pilot(shown, held_out(), fold[:, tested], sees_groups, judged, held_out if linear and cheap else None)


def _held_out(
    training: LabelledSet, dealt: Sequence[Folds], groups: int, tested: IntArray, factors: FloatArray | None = None
) -> FloatArray:
    """Held-out probabilities of class and group of the rows that are tested, by a pilot with weights for classes."""
    classes, codes = len(training.classes.names), training.classes.codes
    cell = codes * groups + (training.group_codes if groups > 1 else 0)
    weights = None if factors is None else factors[codes]
    found = np.zeros((len(dealt), training.size, classes * groups))
    for repeat, number in np.ndindex(len(dealt), FOLDS):
        outside = dealt[repeat].fold == number
        inside = dealt[repeat].inside(number)
        found[repeat, outside] = chances(training.features, cell, inside, outside, classes * groups, weights)
    return found[:, tested].reshape(len(dealt), tested.size, classes, groups)


def chances(
    features: FloatArray,
    codes: IntArray,
    inside: BoolArray,
    outside: BoolArray,
    number: int,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Probabilities of `number` codes for the rows outside, by the pilot fitted on those inside; 0 for absent codes.

    It is fitted to codes in the order in which they appear, because a solver stops elsewhere when they are in another.
    """
    probabilities = np.zeros((int(outside.sum()), number))
    present = np.unique(codes[inside])
    if probabilities.shape[0] == 0 or present.size < 2:
        probabilities[:, present] = 1.0
        return probabilities
    model = logistic(features[inside], by_appearance(codes)[inside], None if weights is None else weights[inside])
    probabilities[:, appearing(codes)[model.classes_]] = model.predict_proba(features[outside])
    return probabilities


def logistic(features: FloatArray, codes: IntArray, weights: FloatArray | None = None) -> Any:
    """Fitted logistic regression on standardised features."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    learner = make_learner("logistic")
    learner.steps[-1][1].set_params(max_iter=100, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 100 steps are the pilot's budget
        warnings.filterwarnings("ignore", "The number of unique classes")  # labels were said to be classes
        learner.fit(features, codes, **({} if weights is None else {fit_argument(learner): weights}))
    return learner
