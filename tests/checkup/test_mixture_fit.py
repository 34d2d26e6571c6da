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


def rare(share, signal, rows=1500):
    """A class of `share` that lies `signal` deviations off in the first of four columns, and two groups."""
    source = np.random.default_rng(3)
    labels, groups = (source.random(rows) < share).astype(int), (source.random(rows) < 0.3).astype(int)
    features = source.standard_normal((rows, 4)) * np.where(groups, 1.5, 1.0)[:, None]
    features[labels == 1, 0] += signal
    return features, labels, groups


@pytest.mark.parametrize("signal", [0.3, 1.0, 2.0])
def test_a_rare_class_leaves_less_doubt_than_its_base_rate(tmp_path, signal):
    """The network has no intercept; its origin makes up for it, so it is no worse than scikit-learn's regression."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    features, labels, _ = rare(0.04, signal)
    fit = mixture_fit(saved(tmp_path, features, labels), neurons=1, groups=1)
    share = labels.mean()
    base = -share * np.log(share) - (1 - share) * np.log(1 - share)
    assert fit.facts()["average_label_entropy"] < base
    peer = LogisticRegression(C=1e9, tol=1e-8, max_iter=1000).fit(features, labels)
    # one neuron at that origin is the regression; both solvers stop at a gradient below 1e-6
    assert fit.training_loss == pytest.approx(log_loss(labels, peer.predict_proba(features)), abs=1e-6)


def test_a_fit_worse_than_the_base_rate_is_refused(tmp_path, capsys, monkeypatch):
    from lopsided.checkup import network_fit

    monkeypatch.setattr(network_fit, "_regression", lambda features, answers: (np.ones(features.shape[1]), 0.0))
    features, labels, groups = rare(0.04, 1.0)
    for more in ({}, {"groups": groups}):
        assert main(["mixture", "fit", str(saved(tmp_path, features, labels, **more)), "--groups", "1"]) == 2
        assert "base rate" in capsys.readouterr().err


def test_the_fit_and_the_audit_say_the_same_of_a_group(tmp_path):
    import lopsided

    features, labels, groups = rare(0.2, 1.0)
    fit = mixture_fit(saved(tmp_path, features, labels, groups=groups)).facts()["groups"]
    told = lopsided.audit(features, labels=labels, groups=groups, checks=["group_mixture"]).measures["group_mixture"]
    assert {one["name"] for one in fit} == set(told["groups"])
    for one in fit:
        other = told["groups"][one["name"]]
        assert one["more_of_it"] == other["more_of_it"]
        # the audit's features are the same numbers, read in blocks: some roundings
        assert one["fraction_elasticity"] == pytest.approx(other["elasticity"], rel=1e-6)
        assert one["interval"] == pytest.approx(other["interval"], rel=1e-6)
        assert one["label_entropy"] == pytest.approx(other["label_entropy"], rel=1e-6)


def test_rows_that_are_equal_up_to_rounding_are_one(tmp_path):
    features = np.repeat(SOURCE.standard_normal((2, 5)), 5001, axis=0)  # an odd number leaves BLAS a remainder
    with pytest.raises(InputError, match="2 among"):
        mixture_fit(saved(tmp_path, features, np.arange(10002) % 2))


def test_names_and_order_do_not_matter_to_the_law(tmp_path):
    """Which class counts as 1, what groups are called and the order of rows: the same law, resampled rows apart."""
    from lopsided.checkup.checks.group_law import group_law
    from lopsided.checkup.network_fit import standardised_components

    features, labels, groups = rare(0.5, 1.0)
    features = np.column_stack(
        [features, features @ SOURCE.standard_normal((4, 4)) + SOURCE.standard_normal((1500, 4))]
    )
    order = np.random.default_rng(1).permutation(len(labels))

    def law(rows, answers, parts):
        points = standardised_components(rows, 5)[0]
        found = group_law(points, parts, answers.astype(float), 1500, 0)
        return found.network.loss, {len(parts[parts == code]): found.said(at) for at, code in enumerate(found.codes)}

    plain, said = law(features, labels, groups)
    for variant in (
        (features, 1 - labels, groups),
        (features, labels, 1 - groups),
        (features[order], labels[order], groups[order]),
    ):
        loss, other = law(*variant)
        assert loss == pytest.approx(plain, abs=1e-8)  # Newton stops at a gradient of 1e-9
        for size, one in said.items():
            assert other[size].elasticity == pytest.approx(one.elasticity, abs=1e-5)  # weights at that gradient
            assert other[size].effect == one.effect
