"""Worlds whose answer is known, for the parts that families share; recipes answer from what is seen alone."""

from dataclasses import replace

import numpy as np
import pytest

from lopsided.engine.task import Row
from lopsided.remedies.plain import Plain
from lopsided.report import results as public
from lopsided.skill import remedy_runs
from lopsided.skill.benchmark import score_family
from lopsided.skill.families import curation, remedies
from lopsided.skill.families.remedies import ADJUST, OVERSAMPLING, PLAIN
from lopsided.skill.family import Choice, Family
from lopsided.skill.group_questions import RULES, signs_by, true_signs
from lopsided.skill.group_runs import GroupPool, compositions, group_numbers
from lopsided.skill.remedy_runs import Sample, _recalls, listed, planned, tried


def _opposed(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two groups that want opposite rules: label = sign(x) in one and -sign(x) in the other."""
    random = np.random.default_rng(seed)
    groups = random.integers(2, size=count)
    features = random.standard_normal((count, 2))
    labels = ((features[:, 0] + 0.3 * random.standard_normal(count) > 0) ^ (groups == 1)).astype(np.int64)
    return features, labels, groups


SETTINGS = {
    "index": 0, "shares": [0.7, 0.3], "group": 1, "factor": 2.0, "way": "swapped", "samples": 300,
    "learner": "logistic", "strength": 1.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def opposed() -> dict:
    pool = GroupPool(*_opposed(4000, 0), *_opposed(2000, 1))
    return group_numbers(SETTINGS, pool, 0)


def test_groups_that_want_opposite_rules_pay_for_each_other(opposed) -> None:
    said = true_signs(SETTINGS, opposed["truth"])
    assert [choice.answer for choice in said[:2]] == ["helps", "hurts"]


@pytest.mark.parametrize("name", ["thinned and law", "thinned", "reweighted"])
def test_every_view_of_one_sample_foresees_it(opposed, name: str) -> None:
    said = signs_by(RULES[name], 1.6)(SETTINGS, opposed["seen"])
    assert [choice.answer for choice in said[:2]] == ["helps", "hurts"]
    assert all(choice.confidence > 0.9 for choice in said[:2])


def test_the_law_is_the_sandwich_of_the_fit(opposed) -> None:
    """Twice the sample of every group halves the excess that the law gives."""
    from lopsided.skill.group_runs import _law

    features, labels, groups = _opposed(600, 3)
    now = np.bincount(groups)
    law = _law(features, labels, groups, now, 2 * now, 1e6)
    assert np.array(law["later"]) == pytest.approx(np.array(law["now"]) / 2, rel=1e-6)  # the ridge is 1e-6


def test_compositions_keep_the_size_or_the_others() -> None:
    pool = GroupPool(*_opposed(4000, 0), *_opposed(10, 1))
    now, later = compositions(SETTINGS, pool)
    assert now.sum() == later.sum() == 300
    assert later[1] == 180
    now, later = compositions({**SETTINGS, "way": "added"}, pool)
    assert (later - now).tolist() == [0, 90]


def _rare(sizes: list[int], seed: int) -> Sample:
    """Two classes 1.2 deviations apart in both features."""
    codes = np.repeat([0, 1], sizes)
    features = np.random.default_rng(seed).standard_normal((codes.size, 2)) + 1.2 * codes[:, None]
    return Sample(features, codes, None)


def test_remedies_raise_the_recall_of_a_rare_class() -> None:
    sample, test = _rare([300, 15], 0), _rare([2000, 2000], 1)
    settings = {"learner": "logistic", "strength": 1.0}
    made = planned(sample, "balanced", "logistic")
    names = [one["name"] for one in listed(made)]
    assert {ADJUST, OVERSAMPLING} <= set(names)
    assert not any(name.startswith("collect") for name in names)
    plain = _recalls(settings, Plain(), sample, test, 0)
    for arm in (ADJUST, OVERSAMPLING):
        recall = _recalls(settings, made[arm].remedy, sample, test, 0)
        # plain recalls about 0.4 of the rare class here; half a sample's luck is 0.1
        assert recall[1] > plain[1] + 0.15
        assert recall.mean() > plain.mean()


def test_the_score_is_that_of_the_shipped_plan(monkeypatch) -> None:
    """What answers is the public function: with a constant in its place the score is another."""
    sample, task = _rare([300, 15], 0), {**remedies.tasks()[0], "counts": [300, 15], "data": "mnist"}
    real, truth = planned(sample, "balanced", "logistic"), {}
    for name in (PLAIN, *(one["name"] for one in listed(real))):
        truth[name] = [0.9 if name == listed(real)[0]["name"] else 0.5] * remedies.SAMPLES

    def scored() -> float | None:
        plans = {metric: {"plan": listed(planned(sample, metric, "logistic"))} for metric in remedies.METRICS}
        plans = {
            metric: {**seen, "trial": {"winner": None, "recommendation": None, "arms": ARMS}}
            for metric, seen in plans.items()
        }
        row = Row(task, 0, {"seen": plans, "truth": {"balanced": truth, "worst": truth}})
        return score_family(remedies.FAMILY, "development", [row]).rate

    assert remedies.FAMILY.question.default == "plan"
    before = scored()
    constant = replace(real, remedies=list(reversed(real.remedies)))
    monkeypatch.setattr(public, "plan", lambda *data, **options: constant)
    assert before is not None
    assert scored() == 0.0
    assert before > 0.0


def test_the_recommendation_is_that_of_the_shipped_trial(monkeypatch, tmp_path) -> None:
    sample = _rare([300, 15], 0)
    made = planned(sample, "balanced", "logistic")
    made = replace(made, remedies=[made[OVERSAMPLING], made[ADJUST]])

    def advised() -> list[str | None]:
        told = {"trial": tried(sample, made, "logistic", str(tmp_path))}
        answers = remedies.FAMILY.question.recipes["recommendation"]({}, dict.fromkeys(remedies.METRICS, told))
        return [choice.answer for choice in answers]

    before = advised()
    assert set(before) <= {PLAIN, OVERSAMPLING, ADJUST}
    real = public.trial(sample.features, labels=sample.codes, plan=made, metric="balanced", store=tmp_path)
    constant = replace(real, recommendation=replace(real.recommendation, arm="always this"))
    monkeypatch.setattr(public, "trial", lambda *data, **options: constant)
    assert advised() == ["always this"] * len(remedies.METRICS)


ARMS = {name: {"value": 0.5, "gain": [0.0, -0.1, 0.1]} for name in (PLAIN, *remedies.SHORT_LIST)}


def test_curation_keeps_the_share_of_every_class() -> None:
    settings = next(task for task in curation.tasks() if task["data"] == "digits")
    random = np.random.default_rng(0)
    features, codes = curation._sample(settings, random)
    for way in ("high", "low", "random"):
        kept = curation._kept(settings, features, codes, way, random)
        sizes = np.bincount(codes)
        assert np.bincount(codes[kept]).tolist() == [size - round(settings["share"] * size) for size in sizes]
    high = set(curation._kept(settings, features, codes, "high", random))
    low = set(curation._kept(settings, features, codes, "low", random))
    assert len(high & low) < len(high)


def test_an_arm_within_the_error_of_the_best_counts() -> None:
    settings = {"data": "mnist", "counts": [100, 10]}
    values = {arm: [0.5] * 6 for arm in ARMS} | {OVERSAMPLING: [0.80, 0.82] * 3, ADJUST: [0.805] * 6}
    best = remedies._best(settings, {"balanced": values, "worst": values})
    assert best[0].answer == OVERSAMPLING
    assert set(best[0].as_good) == {OVERSAMPLING, ADJUST}
    assert best[0].holds(Choice(ADJUST))
    assert not best[0].holds(Choice(PLAIN))


@pytest.mark.parametrize("family", [remedies.FAMILY, curation.FAMILY], ids=lambda family: family.id)
def test_a_digits_task_is_measured_and_answered(family: Family, monkeypatch) -> None:
    """Everything answers, in the number that is asked; forecasts are functions of settings and `seen` alone."""
    task = next(one for one in family.tasks() if one["data"] == "digits" and len(one["members"]) < 5)
    small = {**task, "learner": "logistic", "strength": 1.0}
    monkeypatch.setattr(remedy_runs, "SAMPLES", 2)
    numbers = family.measure(small, 0)
    truths = family.question.truth(small, numbers["truth"])
    for name, forecaster in {**family.question.recipes, **family.question.baselines}.items():
        assert len(forecaster(small, numbers["seen"])) == len(truths), name
    for question in family.numbers:
        asked = question.truth(small, numbers["truth"])
        for forecaster in (*question.recipes.values(), *question.baselines.values()):
            assert len(forecaster(small, numbers["seen"])) == len(asked)
