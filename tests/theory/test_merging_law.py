"""The law of merging pairs: its formula against a loop, its limits, what a pilot does, and where it says `outside`."""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from lopsided.core.errors import InputError
from lopsided.theory.merging_law import (
    BATCH_NORM,
    PLAIN,
    InputFacts,
    PilotRun,
    merging_forecast,
    merging_law,
)
from lopsided.theory.network_equilibrium import batchnorm_equilibrium, cosines_of_strengths
from lopsided.theory.network_forecast import network_forecast
from lopsided.theory.survival_law import survival_forecast
from lopsided.theory.training_settings import TrainingSettings

TRAINING = TrainingSettings(1e-2, 0.1, 64, 0.9, hidden_layers=2, steps=1500)
COUNTS = [300, 120, 30, 6, 3]


def threshold(training: TrainingSettings, classes: int, scatter: float = 0.75) -> float:
    """f* as the docstring writes it."""
    law, noise, depth = BATCH_NORM, training.effective_step / training.batch_size, training.hidden_layers
    found = math.exp(law.constant) * training.weight_decay * noise**law.noise * depth**law.depth
    found *= (depth / 2) ** (law.depth_noise * math.log(100 * noise)) * (classes / 10) ** law.classes
    return float(found * (4 * (1 - scatter)) ** law.separation)


def test_the_formula_pair_by_pair() -> None:
    likeness = np.array([[1.0 if i == j else 0.1 * (i - j) ** 2 - 0.5 for j in range(5)] for i in range(5)])
    found = merging_law(TRAINING, 5, similarity=likeness, inputs=InputFacts(4.0, 0.6)).forecast(COUNTS)
    f_star, law, normal = threshold(TRAINING, 5, 0.6), BATCH_NORM, NormalDist()
    assert found.threshold_frequency == pytest.approx(f_star)
    f = np.array(COUNTS) / sum(COUNTS)
    kept = [normal.cdf(math.log(value / f_star) / law.spread) for value in f]
    assert found.survival == pytest.approx(kept)
    strengths = batchnorm_equilibrium(COUNTS, 1e-2, 64).strengths
    weakened = np.array([omega * (1 - law.weakened * (1 - odds)) for omega, odds in zip(strengths, kept, strict=True)])
    apart = cosines_of_strengths(weakened)
    forgotten = 1.0 * 0.37 * 1e-2 * 1500
    for i in range(5):
        for j in range(i):
            s, low, high = likeness[i, j] + 1 / 4, min(f[i], f[j]), max(f[i], f[j])
            distance = math.log(f_star) - law.lower * math.log(low) - (1 - law.lower) * math.log(high)
            merged = normal.cdf((distance + law.similar * s) / law.spread)
            told = apart[i, j] * (1 - law.start * math.exp(-forgotten)) + law.carried * s + law.offset
            one = 1 - law.start_merged * math.exp(-2 * forgotten)
            one -= law.noise_merged * min(1.0, math.sqrt(low * high) / f_star)
            # the strengths are raised by 1e-9 to keep angles of lost classes defined
            assert found.cosines[i, j] == pytest.approx((1 - merged) * told + merged * one, abs=1e-6)
    assert (np.diag(found.cosines) == 1).all()


def test_rare_classes_merge_and_common_ones_do_not() -> None:
    training = replace(TRAINING, steps=None)  # to the end: the start is forgotten
    assert training.forgetting == math.inf
    common, rare = merging_forecast("300*10", training), merging_forecast("30000*5,1*5", training)
    off = ~np.eye(10, dtype=bool)
    np.testing.assert_allclose(common.cosines[off], -1 / 9 + BATCH_NORM.offset, atol=1e-3)
    assert common.at_risk == []
    assert rare.at_risk == [5, 6, 7, 8, 9]
    assert rare.minority_cosine is not None
    assert rare.minority_cosine > 0.99
    assert rare.ratio_threshold == pytest.approx((1 / rare.threshold_frequency - 5) / 5)


def test_intervals_hold_the_forecast_and_a_mean_is_surer_than_a_pair() -> None:
    found = merging_law(TRAINING, 5).forecast(COUNTS)
    assert found.cosine_intervals is not None
    assert found.mean_intervals is not None
    assert found.threshold_interval is not None
    low, high = found.cosine_intervals
    assert (low <= found.cosines).all()
    assert (found.cosines <= high).all()
    assert (found.mean_intervals[0] >= low).all()
    assert (found.mean_intervals[1] <= high).all()
    assert found.threshold_interval[0] < found.threshold_frequency < found.threshold_interval[1]


def test_a_pilot_that_lost_its_classes_raises_the_threshold() -> None:
    """Pilots made by the law itself with f* moved: the shift follows, in its direction, damped by the prior."""
    plain = merging_law(TRAINING, 10)
    counts = [300] * 5 + [20, 14, 10, 7, 5]
    shifts = []
    for moved in (0.5, 2.0):
        other = replace(TRAINING, weight_decay=TRAINING.weight_decay * moved)
        seen = merging_law(other, 10).forecast(counts).cosines
        base = merging_law(TRAINING, 10, pilots=[PilotRun("300*5,30*5", plain.forecast("300*5,30*5").cosines)])
        law = merging_law(
            TRAINING,
            10,
            pilots=[
                PilotRun("300*5,30*5", plain.forecast("300*5,30*5").cosines),
                PilotRun(counts, seen),
            ],
        )
        shifts.append(law.shift - base.shift)
    assert shifts[0] < -0.1
    assert shifts[1] > 0.1


def test_a_pilot_shows_which_classes_are_alike() -> None:
    counts = "300*10"
    seen = merging_forecast(counts, TRAINING).cosines
    seen[8, 9] = seen[9, 8] = 0.4
    law = merging_law(TRAINING, 10, pilots=[PilotRun(counts, seen, loss=0.1)])
    found = law.forecast("300*5,8*5").cosines
    assert found[8, 9] == found[5:, 5:][~np.eye(5, dtype=bool)].max()
    assert found[8, 9] > found[6, 7] + 0.1


def test_without_batch_norm_the_inputs_matter() -> None:
    training = replace(TRAINING, batch_norm=False)
    assert any("inputs" in words for words in merging_law(training, 10).beyond)
    easy, hard = (merging_law(training, 10, inputs=InputFacts(4.0, scatter)) for scatter in (0.5, 0.95))
    counts = "300*5,10*5"
    ratio = hard.forecast(counts).threshold_frequency / easy.forecast(counts).threshold_frequency
    assert ratio == pytest.approx((0.05 / 0.5) ** PLAIN.separation)
    assert easy.beyond == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weight_decay": 5e-4}, "weight decay 0.0005"),
        ({"batch_size": 512}, "batch size 512"),
        ({"hidden_layers": 18}, "hidden layers 18"),
        ({"optimiser": "adamw"}, "adamw"),
        ({"steps": 20}, "stops early"),
    ],
)
def test_outside_is_said(change, words) -> None:
    assert any(words in reason for reason in merging_forecast("300*5,10*5", replace(TRAINING, **change)).outside)
    assert merging_forecast("300*5,10*5", TRAINING).outside == ()


def test_mistakes_are_sentences() -> None:
    with pytest.raises(InputError, match="finite similarities"):
        merging_law(TRAINING, 5, similarity=np.zeros((4, 4)))
    with pytest.raises(InputError, match="a pilot with the 5 classes"):
        merging_law(TRAINING, 5, pilots=[PilotRun("30*4", np.eye(4))])
    with pytest.raises(InputError, match="counts of 5 classes"):
        merging_law(TRAINING, 5).forecast("30*4")
    with pytest.raises(InputError, match="a momentum below 1"):
        replace(TRAINING, momentum=1.0)
    with pytest.raises(InputError, match="a schedule among"):
        replace(TRAINING, schedule="warm")


def test_commands_use_the_law_that_scored_best() -> None:
    settings = {"weight_decay": 1e-2, "step": 0.1, "batch_size": 64, "momentum": 0.9, "hidden_layers": 2}
    plain = network_forecast("300*5,10*5", **settings)
    assert plain.recipe == "merging law"
    np.testing.assert_array_equal(plain.cosines, merging_forecast("300*5,10*5", replace(TRAINING, steps=None)).cosines)
    piloted = network_forecast("300*5,10*5", pilot_loss=0.1, **settings)
    reference = survival_forecast("300*5,10*5", pilot_loss=0.1, **settings)
    assert piloted.threshold_frequency == reference.threshold_frequency
