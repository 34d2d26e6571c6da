"""Threshold moving against brute force, and its honest score against fresh data."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score, recall_score

import lopsided
from lopsided.core.errors import InputError
from lopsided.core.partition import LabelledRows, Partition
from lopsided.measure.metrics.named import metric_named
from lopsided.remedies.threshold_moving import tuned_offsets
from lopsided.remedies.thresholds import ThresholdMover, _Leaders


def overlapping(stream, counts, classes=2, distance=1.0):
    """Labels and posterior probabilities (under the counts' prior) of one-dimensional Gaussian classes."""
    labels = np.repeat(np.arange(classes), counts)
    x = stream.normal(size=labels.size) + distance * labels
    logs = -0.5 * (x[:, None] - distance * np.arange(classes)) ** 2 + np.log(np.array(counts) / np.sum(counts))
    shifted = np.exp(logs - logs.max(axis=1, keepdims=True))
    return labels, shifted / shifted.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("objective", ["balanced", "worst"])
def test_two_classes_against_every_threshold(objective) -> None:
    labels, probabilities = overlapping(np.random.default_rng(0), [200, 20])
    mover = ThresholdMover(objective, candidates=["fitted"]).fit(probabilities, labels)
    edges = np.sort(probabilities[:, 1])
    best = 0.0
    for threshold in np.concatenate([[0.0], (edges[1:] + edges[:-1]) / 2, [1.0]]):
        predicted = probabilities[:, 1] > threshold
        recalls = [np.mean(~predicted[labels == 0]), np.mean(predicted[labels == 1])]
        best = max(best, np.mean(recalls) if objective == "balanced" else min(recalls))
    assert mover.fit_.after == pytest.approx(best, abs=1e-12)
    assert mover.fit_.before < mover.fit_.after
    predicted = mover.predict(probabilities)
    recalls = recall_score(labels, predicted, average=None)
    assert mover.fit_.after == pytest.approx(recalls.mean() if objective == "balanced" else recalls.min(), abs=1e-12)
    np.testing.assert_array_equal(predicted, probabilities[:, 1] > mover.threshold_)
    one_column = ThresholdMover(objective, candidates=["fitted"]).fit(probabilities[:, 1], labels)
    assert one_column.threshold_ == pytest.approx(mover.threshold_)


@pytest.mark.parametrize("objective", ["balanced", "worst", "f1"])
def test_weights_count_against_every_threshold(objective) -> None:
    """scikit-learn's weighted scores at every cut; where weights differ, the best cut is another one."""
    stream = np.random.default_rng(5)
    labels, probabilities = overlapping(stream, [200, 20])
    weights = stream.exponential(size=labels.size) * (stream.random(labels.size) < 0.8)

    def score(predicted):
        if objective == "f1":
            return f1_score(labels, predicted, sample_weight=weights)
        recalls = recall_score(labels, predicted, average=None, sample_weight=weights)
        return recalls.mean() if objective == "balanced" else recalls.min()

    def of_tables(tables):
        return 2 * tables[..., 1, 1] / np.maximum(tables[..., 1, :].sum(-1) + tables[..., :, 1].sum(-1), 1e-300)

    asked = of_tables if objective == "f1" else objective
    mover = ThresholdMover(asked, candidates=["fitted"]).fit(probabilities, labels, sample_weight=weights)
    edges = np.sort(probabilities[:, 1])
    cuts = np.concatenate([[0.0], (edges[1:] + edges[:-1]) / 2, [1.0]])
    best = max(score((probabilities[:, 1] > cut).astype(int)) for cut in cuts)
    assert score(mover.predict(probabilities)) == pytest.approx(best, abs=1e-12)
    assert mover.fit_.after == pytest.approx(best, abs=1e-12)
    unweighted = ThresholdMover(asked, candidates=["fitted"]).fit(probabilities, labels)
    assert score(unweighted.predict(probabilities)) < best
    once = ThresholdMover(asked).fit(probabilities, labels, sample_weight=np.full(labels.size, 3.0))
    assert once.biases_ == pytest.approx(ThresholdMover(asked).fit(probabilities, labels).biases_)


def test_threshold_moving_around_a_learner_is_tuned_with_the_samples_weights() -> None:
    """Those examples of the rare class weigh most that look like the other class."""
    stream = np.random.default_rng(7)
    labels = np.repeat([0, 1], [300, 60])
    features = stream.normal(size=(360, 2)) + labels[:, None]
    weights = np.where((labels == 1) & (features[:, 0] < 1.0), 20.0, 1.0)
    moved = lopsided.MendedClassifier("logistic", "threshold moving")
    plain, weighted = (moved.fit(features, labels, sample_weight=given).predict(features) for given in (None, weights))
    score = balanced_accuracy_score
    assert score(labels, weighted, sample_weight=weights) > score(labels, plain, sample_weight=weights)


@pytest.mark.parametrize("objective", ["balanced", "worst"])
def test_three_classes_reach_a_grid_search(objective) -> None:
    labels, probabilities = overlapping(np.random.default_rng(1), [150, 50, 15], classes=3)
    found = ThresholdMover(objective, candidates=["fitted"]).fit(probabilities, labels).fit_
    best = 0.0
    grid = np.arange(-2, 6, 0.1)
    for first in grid:
        for second in grid:
            predicted = np.argmax(np.log(probabilities) + np.array([0, first, second]), axis=1)
            recalls = [np.mean(predicted[labels == k] == k) for k in range(3)]
            best = max(best, np.mean(recalls) if objective == "balanced" else min(recalls))
    # Coordinate ascent finds a local optimum; here it may lie at most one minority example (1/15, a third of it in the
    # mean) below the grid's best.
    assert found.after >= best - (1 / 45 if objective == "balanced" else 1 / 15) - 1e-12
    assert found.converged


def test_running_scores_in_blocks_are_those_in_one_piece(monkeypatch) -> None:
    labels, probabilities = overlapping(np.random.default_rng(1), [150, 50, 15], classes=3)
    whole = ThresholdMover("worst", candidates=["fitted"]).fit(probabilities, labels)
    monkeypatch.setattr("lopsided.remedies.thresholds._CELLS_AT_ONCE", 20)
    np.testing.assert_array_equal(
        ThresholdMover("worst", candidates=["fitted"]).fit(probabilities, labels).biases_, whole.biases_
    )


def test_cross_fitted_score_is_nearer_to_fresh_data_than_the_fitted_one() -> None:
    """Over 40 small samples: the optimism of the fit is real, and cross-fitting removes most of it."""
    stream = np.random.default_rng(2)
    fresh_labels, fresh = overlapping(stream, [20000, 1000])
    optimism, cross = [], []
    for _ in range(40):
        labels, probabilities = overlapping(stream, [200, 10])
        mover = ThresholdMover(candidates=["fitted"]).fit(probabilities, labels)
        true = balanced_accuracy_score(fresh_labels, mover.predict(fresh))
        optimism.append(mover.fit_.after - true)
        cross.append(mover.fit_.cross_fitted - true)
    error = np.std(optimism) / np.sqrt(40)
    assert np.mean(optimism) > 3 * error
    assert abs(np.mean(cross)) < np.mean(optimism) / 2


def test_leaders_after_many_changes_are_those_of_a_fresh_sort() -> None:
    stream = np.random.default_rng(0)
    scores = stream.normal(size=(50, 6))
    leaders = _Leaders(scores.copy())
    for _ in range(40):
        k, column = int(stream.integers(6)), stream.normal(size=50) * stream.choice([0.1, 1, 10])
        scores[:, k] = column
        leaders.move(k, column)
        for other in range(6):
            best, score = leaders.without(other)
            rest = np.where(np.arange(6) == other, -np.inf, scores)
            np.testing.assert_array_equal(best, rest.argmax(axis=1))
            np.testing.assert_array_equal(score, rest.max(axis=1))


def test_the_candidate_that_survives_cross_fitting_is_used() -> None:
    """Fifty classes of five examples and exact posteriors: fitted biases overfit, and no change is best."""
    labels, probabilities = overlapping(np.random.default_rng(4), [5] * 50, classes=50, distance=0.5)
    mover = ThresholdMover().fit(probabilities, labels)
    assert mover.fit_.chosen in ("none", "prior")
    np.testing.assert_allclose(mover.biases_, 0, atol=1e-12)  # equal classes: -log prior is no change either
    assert mover.fit_.candidates["fitted"] < mover.fit_.cross_fitted
    # skewed priors and exact posteriors: some change pays, and the choice is the best of the three
    labels, probabilities = overlapping(np.random.default_rng(4), [2000, 100])
    fit = ThresholdMover().fit(probabilities, labels).fit_
    assert fit.chosen != "none"
    assert fit.cross_fitted == max(fit.candidates.values())


def test_groups_as_parts() -> None:
    """One group's examples of class 1 look like class 0: the worst group gains by a lower threshold."""
    stream = np.random.default_rng(3)
    labels, probabilities = overlapping(stream, [300, 300])
    groups = np.where((labels == 1) & (probabilities[:, 1] < 0.6), "hard", "easy")
    mover = ThresholdMover("worst", candidates=["fitted"]).fit(probabilities, labels, parts=groups)
    assert mover.fit_.after > mover.fit_.before
    right = mover.predict(probabilities) == labels
    assert mover.fit_.after == pytest.approx(min(right[groups == "hard"].mean(), right[groups == "easy"].mean()))


def test_strings_and_zero_probabilities() -> None:
    probabilities = np.array([[1.0, 0.0], [0.9, 0.1], [0.6, 0.4], [1.0, 0.0]])
    mover = ThresholdMover().fit(probabilities, ["no", "no", "yes", "no"])
    assert mover.predict(probabilities).tolist() == ["no", "no", "yes", "no"]
    assert mover.fit_.cross_fitted is None


def test_a_permutation_of_the_classes_permutes_the_biases() -> None:
    labels, probabilities = overlapping(np.random.default_rng(5), [150, 50, 15], classes=3)
    plain = ThresholdMover(candidates=["fitted"]).fit(probabilities, labels).fit_.after
    turned = ThresholdMover(candidates=["fitted"]).fit(probabilities[:, ::-1], 2 - labels).fit_.after
    assert turned == pytest.approx(plain, abs=1 / 45)  # another order of ascent may end one minority example apart


@pytest.mark.parametrize(
    ("probabilities", "labels", "words"),
    [
        ([[2.0, -1.0]] * 2, [0, 1], "softmax"),
        ([[0.5, 0.5]] * 2, [0, 0], "one per column"),
        ([[0.5, np.nan]] * 2, [0, 1], "finite"),
        ([[0.5, 0.5]] * 3, [0, 1], "3 entries in labels"),
    ],
)
def test_mistakes_get_a_sentence(probabilities, labels, words) -> None:
    with pytest.raises(InputError, match=words):
        ThresholdMover().fit(probabilities, labels)


def test_more_mistakes() -> None:
    with pytest.raises(InputError, match="objective"):
        ThresholdMover("best")
    with pytest.raises(InputError, match="candidates among"):
        ThresholdMover(candidates=["best"])
    with pytest.raises(InputError, match="call fit"):
        ThresholdMover().predict([[0.5, 0.5]])
    mover = ThresholdMover().fit(np.full((6, 3), 1 / 3), [0, 1, 2, 0, 1, 2])
    with pytest.raises(InputError, match="two classes"):
        _ = mover.threshold_
    with pytest.raises(InputError, match="name all classes"):
        ThresholdMover().fit(np.full((2, 2), 0.5), [0, 5], classes=[0, 1])


def table_of(labels, predicted, classes):
    return np.histogram2d(labels, predicted, bins=[np.arange(classes + 1)] * 2)[0]


@pytest.mark.parametrize("word", ["f1", "mcc", "cost:[[0, 1], [12, 0]]", "f2:0"])
def test_thresholds_are_tuned_for_the_metric(word) -> None:
    """Two classes: no other threshold is better. The table, NumPy's histogram, owes nothing to the search."""
    labels, probabilities = overlapping(np.random.default_rng(6), [200, 20])
    classes = Partition("class", labels, ("0", "1"))
    metric = metric_named(word, classes)
    side = 1 if metric.larger_is_better else -1

    def value(tables):
        return side * metric.of_shares(tables / tables.sum(axis=(-2, -1), keepdims=True), [0, 1])

    found = ThresholdMover(value, candidates=["fitted"]).fit(probabilities, labels)
    edges = np.sort(probabilities[:, 1])
    cuts = np.concatenate([[0.0], (edges[1:] + edges[:-1]) / 2, [1.0]])
    best = max(float(value(table_of(labels, probabilities[:, 1] > cut, 2))) for cut in cuts)
    assert found.fit_.after == pytest.approx(best, abs=1e-12)
    assert float(value(table_of(labels, found.predict(probabilities), 2))) == pytest.approx(best, abs=1e-12)
    offsets = tuned_offsets(probabilities, LabelledRows(np.arange(220), classes, None), word, 0)
    moved = np.argmax(np.log(probabilities) + offsets, axis=1)
    assert value(table_of(labels, moved, 2)) >= value(table_of(labels, probabilities.argmax(axis=1), 2))


def test_three_classes_are_tuned_for_macro_f1() -> None:
    labels, probabilities = overlapping(np.random.default_rng(1), [150, 50, 15], classes=3)
    classes = Partition("class", labels, ("a", "b", "c"))
    metric = metric_named("f1", classes)
    found = ThresholdMover(lambda tables: metric.of_shares(tables, [0, 1, 2]), candidates=["fitted"])
    reached = found.fit(probabilities, labels).fit_.after
    grid = np.arange(-2, 5, 0.25)
    best = max(
        f1_score(labels, np.argmax(np.log(probabilities) + np.array([0, b, c]), axis=1), average="macro")
        for b in grid
        for c in grid
    )
    assert reached >= best - 0.005  # ascent ends in a local optimum; the grid is coarse


def test_metrics_without_decisions_leave_threshold_moving_out() -> None:
    random = np.random.default_rng(0)
    features, labels = random.normal(size=(120, 2)), np.repeat(["no", "yes"], [100, 20])
    made = lopsided.plan(features, labels=labels, metric="roc-auc")
    assert "threshold moving" not in [remedy.name for remedy in made.remedies]
    assert any("Threshold moving is left out" in note for note in made.notes)


def test_an_array_is_no_objective() -> None:
    with pytest.raises(InputError, match="the objective 'balanced' or 'worst', or a function"):
        ThresholdMover(np.array(["balanced", "worst"]))
