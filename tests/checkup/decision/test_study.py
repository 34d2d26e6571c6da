"""The study of decisions: the committed prior is the fit of what was measured, and the page shows its numbers."""

import json

import numpy as np
import pytest
from bench import decisions
from bench.keel import judging, prior_fit
from bench.keel import study as keel
from bench.keel.study import Study, source_of

import lopsided
from lopsided.checkup.plan.arms import default_kinds


@pytest.fixture(scope="module")
def studies():
    return decisions.published()


def test_the_prior_is_what_the_fit_gives(studies) -> None:
    # Rounded to five and seven digits when written, so equal texts are equal numbers.
    committed = json.loads(prior_fit.PRIOR.read_text())
    assert committed.pop("score") == decisions.plan_scores(studies)
    assert committed == json.loads(json.dumps(decisions.fit(studies)))


def test_sets_of_one_source_are_in_one_half(studies) -> None:
    halves: dict[str, set[bool]] = {}
    for study in studies:
        for name in study.names:
            halves.setdefault(source_of(name), set()).add(decisions.development(name))
    assert all(len(half) == 1 for half in halves.values())
    assert {half for found in halves.values() for half in found} == {True, False}


def test_the_prior_sees_nothing_of_the_held_out_half(studies) -> None:
    changed = json.loads(decisions.PUBLISHED.read_text())
    for sets in changed.values():
        for name, found in sets.items():
            if not decisions.development(name):
                found["truth"] = {arm: dict.fromkeys(scores, 0.5) for arm, scores in found["truth"].items()}
    other = [decisions.Study(learner, sets) for learner, sets in changed.items()]
    for study, with_other in zip(studies, other, strict=True):
        assert prior_fit.fitted(with_other, "balanced") == prior_fit.fitted(study, "balanced")
        assert prior_fit.pilot_error(with_other) == prior_fit.pilot_error(study)


def test_the_error_of_a_truth_is_that_of_a_mean_over_its_cuts() -> None:
    """Made sets whose cuts differ by a known covariance: the estimate comes back within its chance error."""
    random, arms = np.random.default_rng(0), ["a", "b"]
    shape = np.array([[2.0, 0.5], [0.5, 1.0]]) * 1e-3
    sets = {}
    for number in range(300):
        cuts = random.multivariate_normal([0.05, 0.02], 1.5 * shape, 8)
        trials = [
            {"arms": arms, "errors": shape.tolist(), "scores": {"plain": 0.7, "a": 0.7 + cut[0], "b": 0.7 + cut[1]}}
            for cut in cuts[:2]
        ]
        truth = {arm: {"balanced": 0.7 + gain} for arm, gain in zip(arms, cuts.mean(axis=0), strict=True)}
        sets[f"s{number}"] = {"cuts": 8, "trials": trials, "truth": {"plain": {"balanced": 0.7}} | truth}
    found = prior_fit.truth_errors(Study("boosting", sets), list(sets), np.ones(300))
    # 600 cuts of two gains: the deviation of such a variance is about 5%
    assert found[0] == pytest.approx(1.5 * shape / 8, rel=0.2)


def test_the_page_shows_the_regrets_of_the_committed_study(studies) -> None:
    shown = decisions.PAGE.read_text().split(decisions.MARKS[0])[1].split(decisions.MARKS[1])[0]
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in shown.splitlines()}
    for place, study in enumerate(studies):
        names = [name for name in study.names if not decisions.development(name)]
        found = judging.regrets(study, names, half=False)
        for rule in ("recommendation of the trial", "always plain", "plan's first"):
            assert rows[rule].split(" | ")[2 + 2 * place].removesuffix(" |") == f"{found[rule]:.2f}"


def test_choosing_at_random_is_worse_than_the_recommendation(studies) -> None:
    for study in studies:
        names = [name for name in study.names if not decisions.development(name)]
        found = judging.regrets(study, names, half=False)
        always = [regret for rule, regret in found.items() if rule.startswith("always ")]
        assert found["recommendation of the trial"] < np.mean(always)


def _table() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    labels = np.repeat(["no", "yes"], [150, 30])
    return random.standard_normal((180, 4)) + (labels == "yes")[:, None] * 0.8, labels


@pytest.mark.parametrize("learner", ["logistic", "boosting"])
def test_the_plan_that_is_scored_is_the_one_that_is_given(learner, monkeypatch, tmp_path) -> None:
    """A table is measured as the study does it and judged as the page does it: the same forecasts, the same expected
    gains with their intervals, the same first remedy as `lopsided.plan` gives for the rows that the study shows."""
    features, labels = _table()
    monkeypatch.setenv("LOPSIDED_DECISIONS", str(tmp_path))
    monkeypatch.setattr(keel, "_halves", lambda name, cut: (features, labels, features[:0], labels[:0]))
    made = lopsided.plan(features, labels=labels, metric="balanced", learner=learner, seed=3)
    given = {one.name: one for one in made.remedies if one.remedy.collects is None}
    forecasts = keel.forecast(learner, "made", 3)
    # five digits are kept of a forecast
    told = {name: one.forecast.gain for name, one in given.items() if one.forecast is not None}
    assert forecasts == pytest.approx(told, abs=1e-5)
    counts = np.unique(labels, return_counts=True)[1].tolist()
    arms = [kind.name for kind in default_kinds() if kind.name in given]  # as proposed: intervals are of the same draws
    truth = {arm: {"balanced": 0.5} for arm in ("plain", *arms)}
    scored = Study(
        learner, {"made": {"counts": counts, "forecasts": [forecasts], "trials": [{"arms": arms}], "truth": truth}}
    )
    [found] = judging._planned(scored, "made", half=False)
    assert judging._first(scored, found) == next(iter(given))
    # the sixth digit of the forecasts moves an expected gain by less than 1e-5, and its interval as much
    low, high = found.interval()
    assert set(scored.arms[1:]) == set(given)
    for place, arm in enumerate(scored.arms[1:]):
        assert found.mean[place] == pytest.approx(given[arm].counts_as, abs=2e-5), arm
        assert low[place] == pytest.approx(given[arm].counts_low, abs=2e-5), arm
        assert high[place] == pytest.approx(given[arm].counts_high, abs=2e-5), arm
