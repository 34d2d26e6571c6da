"""Pictures and census rows as small tables, and the scikit-learn learners of families that train thousands of times.

Pictures are halved in size (mean of 2 x 2 pixels; digits stay) and become principal components of the training pool;
census rows become numbers and indicator columns, without sex and race. Columns are standardised over the pool without
its labels, as a user could do it.
"""

import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from lopsided.core.validation import FloatArray, IntArray
from lopsided.data.image_set import Images

PICTURES_READ = 12_000
COMPONENTS = 30
CENSUS_WORDS = ("workclass", "marital_status", "occupation", "relationship")
TEST_EVERY = 3  # every third census row is for testing


@dataclass(frozen=True)
class Pool:
    """Rows to draw training samples from, rows to test on, and for census rows their words."""

    features: FloatArray
    labels: IntArray
    test_features: FloatArray
    test_labels: IntArray
    spread: FloatArray  # deviation of every column before it was scaled; 1 where columns have no common unit
    words: dict[str, Any]
    test_words: dict[str, Any]


@lru_cache(maxsize=4)
def picture_pool(name: str) -> Pool:
    """A picture set by its principal components."""
    train, test = pictures(name, "train"), pictures(name, "test")
    features, test_features, spread = components(train.rows(), test.rows())
    return Pool(features, train.labels, test_features, test.labels, spread, {}, {})


@lru_cache(maxsize=8)
def pictures(name: str, split: str) -> Images:
    """The first 12,000 pictures, halved in size; digits as they are."""
    from lopsided.data.images import load_images

    found = load_images(name, split="train" if split == "train" else "test", at_most=PICTURES_READ)
    return found if name == "digits" else found.shrunk(2)


def components(train: FloatArray, test: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Leading principal components of the training rows, each scaled to variance 1; the test rows' own; deviations."""
    mean = train.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov((train - mean).T))
    spread = np.sqrt(values[::-1][:COMPONENTS])
    basis = vectors[:, ::-1][:, :COMPONENTS] / spread
    return (train - mean) @ basis, (test - mean) @ basis, spread


@lru_cache(maxsize=1)
def census_pool() -> Pool:
    """Adult: income above 50,000 is the label; two rows of three are to train on."""
    from lopsided.data.adult import NUMBERS, load_adult

    table = load_adult()
    numbers = np.asarray(table.features(), dtype=np.float64)
    named = dict(zip(NUMBERS, numbers.T, strict=True))
    columns = [named["age"], named["education_num"], named["hours_per_week"]]
    columns += [np.log1p(named["capital_gain"]), np.log1p(named["capital_loss"])]
    words = {name: np.asarray(table.columns[name]).astype(str) for name in (*CENSUS_WORDS, "sex", "race", "income")}
    for name in CENSUS_WORDS:
        columns += [(words[name] == value).astype(float) for value in np.unique(words[name])]
    features = np.stack(columns, axis=1)
    test = np.arange(features.shape[0]) % TEST_EVERY == 0
    centre, scale = features[~test].mean(axis=0), np.maximum(features[~test].std(axis=0), 1e-3)
    features = (features - centre) / scale
    labels = np.char.startswith(words["income"], ">").astype(np.int64)
    kept, tested = ({name: values[rows] for name, values in words.items()} for rows in (~test, test))
    units = np.ones(features.shape[1])
    return Pool(features[~test], labels[~test], features[test], labels[test], units, kept, tested)


def pool_of(name: str) -> Pool:
    """A set by name."""
    return census_pool() if name == "adult" else picture_pool(name)


def fitted(name: str, strength: float, features: FloatArray, codes: IntArray, weights: FloatArray | None = None) -> Any:
    """A learner trained with weights of mean 1. `strength` scales its capacity; 1 is usual."""
    model = unfitted(name, strength, 0)
    own = None if weights is None else weights * (weights.size / weights.sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the number of steps is the budget
        model.fit(features, codes, sample_weight=own)
    return model


def unfitted(name: str, strength: float, seed: int) -> Any:
    """A learner by name; `strength` is what the task sets of it."""
    if name == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=strength, tol=1e-3, max_iter=200)
    if name == "network":
        from sklearn.neural_network import MLPClassifier

        rounds = round(30 * min(max(strength, 0.3), 2.0))
        return MLPClassifier((48,), max_iter=rounds, learning_rate_init=0.01, batch_size=100, random_state=seed)
    if name == "forest":
        from sklearn.ensemble import ExtraTreesClassifier

        return ExtraTreesClassifier(40, min_samples_leaf=max(1, round(2 / strength)), random_state=seed)
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=30, learning_rate=0.2, max_leaf_nodes=8, early_stopping=False, random_state=seed
    )


def log_chances(model: Any, features: FloatArray, classes: int) -> FloatArray:
    """Logarithms of the predicted probabilities, n x K, at least log 1e-4 (a forest can predict 0); a class that is
    missing from the sample gets this minimum."""
    found = np.zeros((features.shape[0], classes))
    found[:, np.asarray(model.classes_, dtype=np.int64)] = model.predict_proba(features)
    return np.log(np.maximum(found, 1e-4))
