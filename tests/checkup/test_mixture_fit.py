"""`mixture fit` on data without a covariance: one sentence, or what was left out is said."""

import numpy as np
import pytest

from lopsided.checkup.mixture_fit import mixture_fit
from lopsided.cli.main import main
from lopsided.core.errors import InputError
from lopsided.data.mixture_estimate import estimate_by_em

SOURCE = np.random.default_rng(0)
HALVES = np.arange(200) % 2


def saved(path, features, labels=HALVES, **others):
    np.savez(path / "data.npz", features=features, labels=labels, **others)
    return path / "data.npz"


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (np.repeat(SOURCE.standard_normal((2, 5)), 100, axis=0), "2 among 200"),
        (np.repeat(SOURCE.standard_normal((20, 6)), 10, axis=0), "20 among 200"),
        (np.ones((200, 3)), "features that vary"),
    ],
)
def test_few_different_rows_are_refused(tmp_path, features, words):
    with pytest.raises(InputError, match=words):
        mixture_fit(saved(tmp_path, features))


def test_fewer_rows_than_columns_are_refused(tmp_path):
    with pytest.raises(InputError, match="different rows"):
        mixture_fit(saved(tmp_path, SOURCE.standard_normal((10, 40)), HALVES[:10]))


def test_constant_and_copied_columns_are_left_out_and_said(tmp_path):
    features = SOURCE.standard_normal((200, 3))
    labels = (features[:, 0] + SOURCE.standard_normal(200) > 0).astype(int)
    more = np.column_stack([features, np.full(200, 7.0), features[:, 0], features.sum(axis=1)])
    fit = mixture_fit(saved(tmp_path, 1e200 * more, labels), groups=1, neurons=1)
    assert fit.dropped_directions == 3
    assert fit.forecast.problem.mixture.dimension == 3
    assert fit.facts()["explained_variance"] == pytest.approx(1.0)


def test_groups_that_shrink_onto_repeated_rows_are_declined():
    features = SOURCE.standard_normal((200, 2))
    features[:60] = features[0]
    estimate = estimate_by_em(features, (1, 2))
    assert estimate.mixture.groups == 1
    assert 2 in estimate.declined
    with pytest.raises(InputError, match="shrank"):
        estimate_by_em(features, 2)


@pytest.mark.parametrize("extra", [["--groups", "0"], ["--positive", "1"], []])
def test_one_class_or_no_groups_is_one_sentence(tmp_path, capsys, extra):
    labels = HALVES if "--groups" in extra else np.ones(200, dtype=int)
    path = saved(tmp_path, SOURCE.standard_normal((200, 3)), labels)
    assert main(["mixture", "fit", str(path), *extra]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "--positive" not in said
