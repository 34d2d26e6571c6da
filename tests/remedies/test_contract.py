"""The contract that every remedy keeps. A remedy in `remedies.every` is tested here; nothing else is needed.

The data have three classes of unequal size and three groups, so that every remedy proposes itself.
"""

import json
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from lopsided.checkup.plan.arms import proposals_for
from lopsided.checkup.plan.plan import plan_for
from lopsided.core.errors import InputError
from lopsided.core.partition import Partition
from lopsided.data.labelled_set import LabelledSet
from lopsided.learners.network_classifiers import DeepClassifier
from lopsided.remedies.contract import GainForecast, Occasion, Remedy
from lopsided.remedies.every import EVERY
from lopsided.remedies.pilot import reduced, run_pilot
from lopsided.remedies.plain import Plain


def labelled(seed: int = 0) -> LabelledSet:
    random = np.random.default_rng(seed)
    codes = np.repeat([0, 1, 2], [150, 60, 30])
    groups = random.choice(3, codes.size, p=[0.6, 0.25, 0.15])
    features = random.standard_normal((codes.size, 3)) + np.eye(3)[codes] * 1.5 + 0.5 * groups[:, None]
    return LabelledSet(
        np.arange(codes.size) * 2,  # every other row of the user's data
        Partition("class", codes, ("often", "seldom", "rare")),
        Partition("group", groups, ("a", "b", "c")),
        features,
        "planted",
    )


def asked_for(training: LabelledSet) -> list[Remedy]:
    """What no plan has unasked."""
    occasion = Occasion(training, run_pilot(reduced(training, 0), 0), "balanced", {})
    return [found.remedy for kind in EVERY if not kind.default for found in kind.propose(occasion)[0]]


TRAINING = labelled()
PLAN = plan_for(TRAINING, metric="balanced")
REMEDIES: list[Remedy] = [Plain(), *[planned.remedy for planned in PLAN.remedies], *asked_for(TRAINING)]
TRAINED = [remedy for remedy in REMEDIES if remedy.collects is None]


def learner_for(remedy, **settings):
    """What the remedy can be wrapped around: remedies of networks need one."""
    return DeepClassifier(steps=30) if remedy.needs_network else LogisticRegression(**settings)


def named(remedies):
    return [pytest.param(remedy, id=remedy.name) for remedy in remedies]


def test_every_remedy_is_here() -> None:
    assert {planned.kind for planned in PLAN.remedies} == {kind.kind for kind in EVERY[1:] if kind.default}
    assert {type(remedy) for remedy in REMEDIES} == set(EVERY)
    kinds = [remedy.kind for remedy in EVERY]
    assert len(set(kinds)) == len(kinds)
    names = [remedy.name for remedy in REMEDIES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("remedy", named(REMEDIES))
def test_plain_values_make_it_again(remedy) -> None:
    text = json.dumps(remedy.to_dict())
    again = Remedy.from_dict(json.loads(text))
    assert type(again) is type(remedy)
    assert again.parameters == remedy.parameters
    assert again.name == remedy.name


@pytest.mark.parametrize("remedy", named(TRAINED[1:]))
def test_what_a_plan_proposes_can_be_asked_for_by_its_name(remedy) -> None:
    occasion = Occasion(TRAINING, run_pilot(reduced(TRAINING, 0), 0), "balanced", {})
    (found,), _ = proposals_for([remedy.name], occasion)
    assert (type(found.remedy), found.remedy.name) == (type(remedy), remedy.name)


@pytest.mark.parametrize("metric", ["balanced", "f1:rare"])
@pytest.mark.parametrize("remedy", named(REMEDIES))
def test_a_forecast_or_the_reason_why_there_is_none(remedy, metric) -> None:
    pilot = run_pilot(reduced(TRAINING, 0), 0)
    forecast, reason = remedy.forecast(pilot, metric, seed=0)
    if forecast is None:
        assert reason.startswith("No forecast: ")
        assert reason.endswith(".")
    else:
        assert isinstance(forecast, GainForecast)
        assert reason == ""
        assert forecast.low <= forecast.gain <= forecast.high
        assert remedy.forecast(pilot, metric, seed=0)[0] == forecast


@pytest.mark.parametrize("remedy", named(TRAINED))
def test_wrapped_it_trains_and_predicts(remedy) -> None:
    names = np.array(TRAINING.classes.names)[TRAINING.classes.codes]
    groups = np.array(TRAINING.groups.names)[TRAINING.groups.codes]
    model = remedy.wrap(learner_for(remedy), seed=3)
    first = clone(model).fit(TRAINING.features, names, groups)
    predicted = first.predict(TRAINING.features, groups)
    assert set(predicted) <= set(names)
    chances = first.predict_proba(TRAINING.features, groups)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(first.classes_[chances.argmax(axis=1)], predicted)
    again = clone(model).fit(TRAINING.features, names, groups).predict_proba(TRAINING.features, groups)
    np.testing.assert_array_equal(again, chances)
    # the codes of a labelled set and the names of scikit-learn are the same model: classes are in another order there,
    # so the optimiser ends elsewhere within its tolerance
    if (
        type(remedy).draw is Remedy.draw and not remedy.needs_network
    ):  # random copies are drawn class by class, in the order of the classes
        coded = remedy.wrap(LogisticRegression(tol=1e-8, max_iter=1000), seed=3).fit_set(TRAINING)
        by_name = remedy.wrap(LogisticRegression(tol=1e-8, max_iter=1000), seed=3).fit(TRAINING.features, names, groups)
        agree = names[np.searchsorted(TRAINING.classes.codes, coded.predict(TRAINING.features, groups))]
        assert np.mean(agree == by_name.predict(TRAINING.features, groups)) > 0.98


@pytest.mark.parametrize("remedy", named(TRAINED))
def test_it_draws_as_many_rows_as_it_says(remedy) -> None:
    told = remedy.rows_drawn(TRAINING)
    wanted = TRAINING.size if told is None else told
    assert abs(remedy.draw(TRAINING, 0).size - wanted) <= len(TRAINING.classes.names)  # a part of a copy in each


@pytest.mark.parametrize("remedy", named(TRAINED))
def test_what_it_needs_is_what_it_asks_for(remedy) -> None:
    """A learner without sample_weight or predict_proba, and data without groups, are refused by those that need them
    and by no others."""

    class Bare(LogisticRegression):
        def fit(self, X, y):
            return super().fit(X, y)

    codes, groups = TRAINING.classes.codes, TRAINING.group_codes
    if remedy.needs_network:
        with pytest.raises(InputError, match=f"Expected a PyTorch network for {remedy.name}, but got Bare"):
            remedy.wrap(Bare()).fit(TRAINING.features, codes, groups)
        return
    refused = False
    try:
        remedy.wrap(Bare()).fit(TRAINING.features, codes, groups)
    except InputError as error:
        refused = "sample_weight" in str(error)
    assert refused == remedy.needs_weights
    if remedy.needs_groups:
        with pytest.raises(InputError, match="groups"):
            remedy.wrap(LogisticRegression()).fit(TRAINING.features, codes)
    else:
        remedy.wrap(LogisticRegression()).fit(TRAINING.features, codes)


@pytest.mark.parametrize("remedy", named(REMEDIES))
def test_what_is_taken_along_is_what_is_trained(remedy) -> None:
    """Indices are rows of the data as often as the weights say, weights have mean 1, offsets move what `wrap` moves."""
    asked = {"indices": remedy.epoch_indices, "weights": remedy.example_weights, "offsets": remedy.class_offsets}
    found = {}
    for name, ask in asked.items():
        if getattr(type(remedy), ask.__name__) is not getattr(Remedy, ask.__name__):
            found[name] = ask(TRAINING)
        else:
            with pytest.raises(InputError, match=repr(remedy.name)):
                ask(TRAINING)
    if "weights" in found:
        assert found["weights"].shape == (TRAINING.size,)
        assert found["weights"].mean() == pytest.approx(1.0)
    if "indices" in found:
        assert set(found["indices"].tolist()) <= set(TRAINING.rows.tolist())
        seen = np.bincount(found["indices"] // 2, minlength=TRAINING.size)
        shares = found["weights"] / found["weights"].sum()
        cells = TRAINING.classes.codes * 3 + TRAINING.group_codes
        expected = np.bincount(cells, weights=shares * seen.sum())
        # a cell is seen its rate times its size, to within the random copies of its examples
        np.testing.assert_allclose(np.bincount(cells, weights=seen), expected, atol=12)
    if "offsets" in found:
        assert found["offsets"].shape == (3,)
    if remedy.collects is not None:
        assert not found
        with pytest.raises(InputError, match="collect"):
            remedy.wrap()


@cache
def remedies_of_renamed_classes():
    """By name, as they are planned for the same rows where only the names of the classes are others."""
    renamed = LabelledSet(
        TRAINING.rows,
        Partition("class", TRAINING.classes.codes, ("x", "y", "z")),
        TRAINING.groups,
        TRAINING.features,
        "planted",
    )
    planned = [planned.remedy for planned in plan_for(renamed, metric="balanced").remedies]
    return {remedy.name: remedy for remedy in [*planned, *asked_for(renamed)]}


@pytest.mark.parametrize("remedy", named(REMEDIES))
def test_names_of_classes_do_not_matter(remedy) -> None:
    """Renamed and permuted classes give the same remedies with the names changed."""
    other = remedies_of_renamed_classes()
    if type(remedy) is Plain:
        return
    spoken = dict(zip(TRAINING.classes.names, ("x", "y", "z"), strict=True))
    name = next((remedy.name.replace(old, new) for old, new in spoken.items() if old in remedy.name), remedy.name)

    def translated(value):
        if isinstance(value, dict):
            return {spoken.get(key, key): translated(entry) for key, entry in value.items()}
        return spoken.get(value, value) if isinstance(value, str) else value

    assert translated(remedy.parameters) == other[name].parameters


def test_even_classes_and_no_groups_leave_a_note() -> None:
    even = LabelledSet(np.arange(60), Partition("class", np.arange(60) % 2, ("0", "1")), None, TRAINING.features[:60])
    occasion = Occasion(even, run_pilot(even, 0), "balanced", {})
    proposed = {type(remedy.remedy) for kind in EVERY for remedy in kind.propose(occasion)[0]}
    notes = {note for kind in EVERY for note in kind.propose(occasion)[1]}
    assert {remedy.kind for remedy in proposed} == {"threshold"}
    assert notes == {
        "Weights, rates and adjustment are left out, because the classes are equal in size to within a tenth."
    }


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(InputError, match="a kind among plain, "):
        Remedy.from_dict({"kind": "prayer", "parameters": {}})
