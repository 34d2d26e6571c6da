"""The array sampler: imbalanced-learn's own checks, its pipelines, containers kept, and rates instead of balance."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from imblearn.base import is_sampler
from imblearn.over_sampling import RandomOverSampler
from imblearn.over_sampling.base import BaseOverSampler
from imblearn.pipeline import make_pipeline
from imblearn.utils.estimator_checks import estimator_checks_generator
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import OneHotEncoder

from lopsided.core.errors import InputError
from lopsided.remedies import Oversampler


def _name(part):
    return getattr(getattr(part, "func", None), "__name__", "Oversampler")


# Several checks of imbalanced-learn ask only of its own subclasses that classes end balanced; as a virtual subclass
# ours is asked too.
BaseOverSampler.register(Oversampler)

X = np.random.default_rng(0).normal(size=(130, 3))
Y = np.repeat([0, 1, 2], [90, 30, 10])


@pytest.mark.parametrize(
    ("estimator", "check"), list(estimator_checks_generator(Oversampler(random_state=0))), ids=lambda part: _name(part)
)
def test_checks_of_imbalanced_learn(estimator, check) -> None:
    check(estimator)


def test_the_strict_half_of_the_checks_is_on() -> None:
    assert isinstance(Oversampler(), BaseOverSampler)
    assert is_sampler(Oversampler())


def test_the_package_itself_does_not_import_imbalanced_learn() -> None:
    code = (
        "import sys, numpy as np\nfrom lopsided.remedies import Oversampler\n"
        "Oversampler(2).fit_resample(np.eye(3), [0, 0, 1])\nprint('imblearn' in sys.modules, 'torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() == ["False"] * 2


@pytest.mark.parametrize("strategy", ["auto", "minority", "not minority", "all", {1: 40, 2: 11}, lambda y: {2: 33}])
def test_sizes_are_those_of_random_over_sampler(strategy) -> None:
    ours = Oversampler(sampling_strategy=strategy, random_state=0)
    theirs = RandomOverSampler(sampling_strategy=strategy, random_state=0)
    assert Counter(ours.fit_resample(X, Y)[1]) == Counter(theirs.fit_resample(X, Y)[1])
    assert ours.sampling_strategy_ == theirs.sampling_strategy_


def test_a_share_for_two_classes() -> None:
    y = (Y > 0).astype(int)
    _, ours = Oversampler(sampling_strategy=0.7, random_state=0).fit_resample(X, y)
    _, theirs = RandomOverSampler(sampling_strategy=0.7, random_state=0).fit_resample(X, y)
    assert Counter(ours) == Counter(theirs)


def test_indices_reproduce_the_output_and_start_with_the_originals() -> None:
    sampler = Oversampler(2.5, random_state=3)
    features, labels = sampler.fit_resample(X, Y)
    np.testing.assert_array_equal(features, X[sampler.sample_indices_])
    np.testing.assert_array_equal(labels, Y[sampler.sample_indices_])
    np.testing.assert_array_equal(sampler.sample_indices_[:130], np.arange(130))
    assert Counter(labels) == {0: 90, 1: 75, 2: 25}
    assert sampler.sampling_strategy_ == {0: 0, 1: 45, 2: 15}
    times = np.bincount(sampler.sample_indices_)
    assert set(times[Y == 1]) == {2, 3}


def test_frames_keep_their_types() -> None:
    frame = pd.DataFrame(
        {
            "number": np.arange(130, dtype=np.int16),
            "kind": pd.Categorical(np.where(Y, "a", "b"), categories=["b", "a", "never"]),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(130), unit="D"),
            "text": pd.array(["x", None] * 65, dtype="string"),
        },
        index=np.arange(130) + 1000,
    )
    labels = pd.Series(np.array(["u", "v", "w"])[Y], name="target", index=frame.index, dtype="category")
    sampler = Oversampler("balanced", random_state=0)
    features, resampled = sampler.fit_resample(frame, labels)
    pd.testing.assert_frame_equal(features, frame.iloc[sampler.sample_indices_].reset_index(drop=True))
    pd.testing.assert_series_equal(resampled, labels.iloc[sampler.sample_indices_].reset_index(drop=True))
    assert list(sampler.get_feature_names_out()) == list(frame.columns)


def test_polars_and_sparse_stay_what_they_are() -> None:
    features, _ = Oversampler("balanced", random_state=0).fit_resample(pl.DataFrame({"a": X[:, 0]}), Y)
    assert isinstance(features, pl.DataFrame)
    assert features.height == 270
    for kind in (sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix):
        features, _ = Oversampler("balanced", random_state=0).fit_resample(kind(X), Y)
        assert sparse.issparse(features)
        assert features.shape == (270, 3)


def test_in_a_pipeline_with_search_and_groups() -> None:
    pipeline = make_pipeline(Oversampler(random_state=0), LogisticRegression())
    search = GridSearchCV(
        pipeline, {"oversampler__rate": [1, 3, "balanced", "sqrt"]}, cv=3, scoring="balanced_accuracy"
    )
    assert np.isfinite(search.fit(X, Y).cv_results_["mean_test_score"]).all()
    assert np.isfinite(cross_val_score(pipeline, X, Y, cv=3)).all()
    groups = np.tile(["m", "f"], 65)
    frame = pd.DataFrame(X).assign(sex=groups).rename(columns=str)
    grouped = make_pipeline(
        Oversampler("balanced", group_columns="sex", random_state=0), OneHotEncoder(), LogisticRegression()
    )
    grouped.fit(frame, Y)
    assert grouped[0].rates_.names == ("0 | f", "0 | m", "1 | f", "1 | m", "2 | f", "2 | m")
    taken = grouped[0].sample_indices_
    assert set(Counter(zip(Y[taken], groups[taken], strict=True)).values()) == {45}


def test_group_columns_in_every_container() -> None:
    codes = np.column_stack([np.tile([0, 1], 65), np.arange(130) % 3, X[:, 0]])
    wanted = Oversampler("balanced", random_state=0)
    wanted.fit_resample(codes, Y, groups=codes[:, 0].astype(int))
    for container, column in (
        (codes, 0),
        (codes.tolist(), 0),
        (sparse.coo_matrix(codes), 0),
        (pd.DataFrame(codes, columns=["a", "b", "c"]), "a"),
        (pl.DataFrame(codes, schema=["a", "b", "c"]), "a"),
    ):
        sampler = Oversampler("balanced", group_columns=column, random_state=0)
        sampler.fit_resample(container, Y)
        np.testing.assert_array_equal(sampler.sample_indices_, wanted.sample_indices_)
    crossed = Oversampler("balanced", group_columns=[0, 1], random_state=0).fit(codes, Y)
    assert len(crossed.rates_.names) == 18
    with pytest.raises(InputError, match="a column 'z'"):
        Oversampler("balanced", group_columns="z").fit(pd.DataFrame(codes, columns=["a", "b", "c"]), Y)
    with pytest.raises(InputError, match="leave one"):
        Oversampler("balanced", group_columns=0).fit(codes, Y, groups=Y)


def test_forecast_rate_tells_why() -> None:
    sampler = Oversampler("forecast", recipe={"multiplier": 0.1}, random_state=0).fit(X, Y)
    assert "Layer-Peeled Model" in sampler.rates_.why
    assert sampler.rates_.effective_counts.min() >= 2 * sampler.rates_.count_needed * (1 - 1e-6)


def test_labels_whose_order_as_text_differs_from_their_order_as_numbers() -> None:
    y = np.repeat([2, 10], [40, 90])
    _, resampled = Oversampler(sampling_strategy={2: 60}, random_state=0).fit_resample(X, y)
    assert Counter(resampled) == {2: 60, 10: 90}
    mixed = np.repeat(np.array(["b", "a"], dtype=object), [40, 90])
    _, resampled = Oversampler({"b": 2}, random_state=0).fit_resample(X, mixed)
    assert Counter(resampled) == {"b": 80, "a": 90}
    for kind in (float, bool, np.int8):
        y = (np.arange(130) < 40).astype(kind)
        for options in ({"rate": {y[0]: 2}}, {"sampling_strategy": {y[0]: 80}}):
            sampler = Oversampler(**options, random_state=0)
            _, resampled = sampler.fit_resample(X, y)
            assert Counter(resampled) == {1: 80, 0: 90}
            assert resampled.dtype == y.dtype
            assert sampler.sampling_strategy_[y[0]] == 40


@pytest.mark.parametrize(
    ("options", "labels", "words"),
    [
        ({"rate": 2, "sampling_strategy": "all"}, Y, "leave one of them out"),
        ({"sampling_strategy": "majority"}, Y, "'majority'"),
        ({"sampling_strategy": 0.5}, Y, "give a dict"),
        ({"sampling_strategy": 0.2}, Y > 0, "raise it"),
        ({"sampling_strategy": {5: 10}}, Y, "classes that occur"),
        ({"sampling_strategy": {0: 10}}, Y, "only adds copies"),
        ({}, np.zeros(130), "one class"),
        ({}, Y[:-1], "inconsistent|belong together"),
        ({"random_state": -1}, Y, "as random_state, but got -1"),
        ({"random_state": "seed"}, Y, "as random_state, but got 'seed'"),
        ({}, ["a", None] * 65, "labels of one type"),
    ],
)
def test_mistakes_get_a_sentence(options, labels, words) -> None:
    with pytest.raises(ValueError, match=words):
        Oversampler(**options).fit_resample(X, labels)


@pytest.mark.parametrize("empty", [[], range(0), np.empty((0, 3)), ()])
def test_no_examples_are_refused_in_a_sentence(empty) -> None:
    with pytest.raises(InputError, match="at least one example"):
        Oversampler().fit_resample(empty, [])


def test_groups_without_a_rate_are_refused() -> None:
    with pytest.raises(InputError, match="a rate with groups"):
        Oversampler().fit_resample(X, Y, groups=Y)


def test_a_mapping_is_no_rows() -> None:
    with pytest.raises(InputError, match="rows of features, but got a dict"):
        Oversampler(rate=2).fit_resample({"a": 1.0}, [0, 1])
