"""A race: arms that cannot win are dropped, time limits are kept, and what is stored does not change the outcome."""

import numpy as np
import pytest

import lopsided
from lopsided.checkup.decision.recommendation import Recommendation
from lopsided.checkup.trial.race import Race, seconds_of
from lopsided.core.errors import InputError


def advice(chances, more=10):
    best = max(chances, key=chances.get)
    return Recommendation(
        best, chances[best], 0.0, 0.1, 0.0, 0.2, None, more, "m", chances, dict.fromkeys(chances, 0.0)
    )


def test_arms_without_a_chance_are_dropped_after_two_repeats() -> None:
    seen = []
    said = {"plain": 0.0, "good": 0.6, "fair": 0.399, "bad": 0.001}
    race = Race(lambda rounds, live: seen.append((rounds, live)), lambda: advice(said))
    assert race.run(60.0, most=8) == {"bad": 2}
    assert seen[0] == (range(0, 1), None)
    assert seen[1] == (range(1, 2), {"good", "fair", "bad"})
    assert all(live == {"good", "fair"} for _, live in seen[2:])
    assert [rounds.stop for rounds, _ in seen] == [1, 2, 4, 8]  # rounds double


def test_it_ends_when_more_repeats_would_not_decide() -> None:
    seen = []
    race = Race(lambda rounds, live: seen.append(rounds), lambda: advice({"plain": 0.1, "good": 0.9}, None))
    race.run(60.0)
    assert [rounds.stop for rounds in seen] == [1, 2]


def test_time_that_is_up_ends_it_after_the_first_repeat() -> None:
    seen = []
    race = Race(lambda rounds, live: seen.append(rounds), lambda: advice({"plain": 0.1, "good": 0.9}))
    race.run(1e-9)
    assert [rounds.stop for rounds in seen] == [1]


@pytest.mark.parametrize(("given", "seconds"), [(60, 60.0), ("60s", 60.0), ("2m", 120.0), ("1.5h", 5400.0), ("3", 3.0)])
def test_time_limits_in_words(given, seconds) -> None:
    assert seconds_of(given) == seconds


@pytest.mark.parametrize("given", [-1, 0, "abc", "5 years", "nan", float("inf"), "", None])
def test_other_time_limits_are_refused(given) -> None:
    with pytest.raises(InputError, match="a time limit such as 60"):
        seconds_of(given)


def test_a_race_on_data_recommends_what_helps(tmp_path) -> None:
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1], [450, 50])
    features = random.standard_normal((500, 3)) + 1.2 * labels[:, None]
    arms = ["logit adjustment", "class weights", "undersampling"]
    outcome = lopsided.trial(features, labels=labels, arms=arms, budget=6, store=tmp_path, forecasts=False)
    found = outcome.recommendation
    assert found.arm != "plain"
    assert found.gain > 0.05
    assert found.chance_worse < 0.05
    assert found.low < found.gain < found.high
    assert sum(found.chances.values()) == pytest.approx(1.0)
    assert outcome.to_dict()["recommendation"]["arm"] == found.arm
    assert outcome.repeats >= 1


def test_a_limit_that_one_repeat_overruns_is_told(tmp_path) -> None:
    labels = np.repeat([0, 1], [40, 10])
    features = np.random.default_rng(0).standard_normal((50, 2)) + labels[:, None]
    options = {"labels": labels, "arms": ["logit adjustment"], "store": tmp_path, "forecasts": False}
    assert any("at least once" in note for note in lopsided.trial(features, budget=1e-3, **options).notes)
    assert not any("at least once" in note for note in lopsided.trial(features, **options).notes)
