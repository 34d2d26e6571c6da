"""The rules of the network claims on made-up numbers, both ways; the runs' parts against brute force."""

import math

import numpy as np
import pytest

from lopsided.core.seeds import generator
from lopsided.data.images import load_images
from lopsided.engine.task import Row
from lopsided.papers.claim import Outcome
from lopsided.papers.lp.lp_accuracies import CLAIM as ACCURACIES
from lopsided.papers.lp.lp_majority_hurts import CLAIM as HURTS
from lopsided.papers.lp.lp_networks import CLAIM as NETWORKS
from lopsided.papers.lp.lp_neural_collapse import CLAIM as COLLAPSE
from lopsided.papers.lp.lp_norms import CLAIM as NORMS
from lopsided.papers.lp.lp_norms import forgetting
from lopsided.papers.lp.lp_oversampling_networks import CLAIM as OVERSAMPLING
from lopsided.papers.lp.lp_weight_decay import CLAIM as DECAY
from lopsided.papers.lp.network_forecasts import EQUILIBRIUM, MULTIPLIER, PILOT, SURVIVAL, forecasts, recipe_errors
from lopsided.papers.shared.network_runs import accuracies, image_sample, oversampled_order
from lopsided.papers.shared.network_settings import SMALL, class_sizes, effective_sizes, varied
from lopsided.papers.shared.summary import crossing, paired


def rows(claim, number, seeds=3):
    """A row per quick setting of the perceptron and seed, as rules judge each network apart; `number(settings, noise)`
    makes its numbers, noise being small and seeded."""
    made = []
    own = [settings for settings in claim.plans["quick"].settings if settings["network"] == "mlp"]
    for position, settings in enumerate(own):
        for seed in range(seeds):
            noise = 0.004 * generator(seed, "noise", position).standard_normal()
            made.append(Row(settings, seed, number(settings, noise)))
    return made


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def network_row(cosine, energies):
    def numbers(settings, noise):
        place = math.log(settings["ratio"])
        return {
            "minority_cosine": cosine(place) + noise,
            "energies_cosine": energies(place) + noise,
            "weight_energy": 2.0,
            "centred_mean_energy": 16.0,
            "loss": 0.05,
            "hidden_layers": 2,
        }

    return numbers


def rising(half):
    return lambda place: -0.1 + 1.09 * sigmoid(2.5 * (place - math.log(half)))


@pytest.mark.parametrize(
    ("cosine", "energies", "outcome"),
    [
        (rising(30), rising(33), Outcome.HOLDS),
        (rising(30), rising(120), Outcome.CONTRADICTED),
        (lambda place: -0.1, rising(33), Outcome.CONTRADICTED),
        (lambda place: -0.1, lambda place: -0.1, Outcome.FAILS),  # only its error is small; nothing collapses
    ],
)
def test_networks(cosine, energies, outcome) -> None:
    verdict = NETWORKS.judge(rows(NETWORKS, network_row(cosine, energies)))
    assert verdict.outcome is outcome, verdict.found


@pytest.mark.parametrize(("sign", "outcome"), [(1, Outcome.HOLDS), (-1, Outcome.CONTRADICTED), (0, Outcome.FAILS)])
def test_weight_decay(sign, outcome) -> None:
    def numbers(settings, noise):
        shift = sign * math.log10(settings["weight_decay"] / 1e-2)
        return {"minority_cosine": 0.5 + 0.3 * shift + noise}

    assert DECAY.judge(rows(DECAY, numbers)).outcome is outcome


def norm_numbers(variation, cosine):
    def numbers(settings, noise):
        finite = settings["ratio"] is not None
        return {
            "minority_norm_variation": variation(settings) * (1 + noise),
            "minority_cosine": cosine if finite else 1 - 1e-9,
            "forgetting": forgetting(settings, settings["steps"]),
        }

    return numbers


def test_norms() -> None:
    def equal(settings):
        return 0.01 if settings["ratio"] is not None else 1e-5

    assert NORMS.judge(rows(NORMS, norm_numbers(equal, 0.97))).outcome is Outcome.HOLDS
    assert NORMS.judge(rows(NORMS, norm_numbers(equal, 0.5))).outcome is Outcome.PARTLY
    assert NORMS.judge(rows(NORMS, norm_numbers(lambda settings: 0.2, 0.97))).outcome is Outcome.CONTRADICTED


def test_forgetting_by_the_optimiser_itself() -> None:
    """Weights without a gradient, moved by momentum SGD with decay: what is left after the run."""
    settings = {**SMALL, "ratio": None}
    rates = [0.1 * 0.1 ** sum(step >= share * 600 for share in (1 / 3, 2 / 3)) for step in range(600)]
    weight, velocity = 1.0, 0.0
    for rate in rates:
        velocity = 0.9 * velocity + 1e-2 * weight
        weight -= rate * velocity
    # the exponential is the limit of small steps; momentum lags by about 1/(1 - momentum) steps at each change of rate
    assert forgetting(settings, 600) == pytest.approx(weight, rel=0.15)


@pytest.mark.parametrize(
    ("change", "seeds", "outcome"),
    [
        (-0.5, 3, Outcome.HOLDS),
        (0.2, 3, Outcome.CONTRADICTED),
        (0, 8, Outcome.FAILS),
        (0, 2, Outcome.UNRESOLVED),  # two seeds could not have shown two points
    ],
)
def test_majority_hurts(change, seeds, outcome) -> None:
    def numbers(settings, noise):
        value = 0.5 + change * math.log10(settings["growth"]) / 2 + noise
        return dict.fromkeys(("test_minority", "test_minority_inner", "test_balanced", "test_natural"), value)

    assert HURTS.judge(rows(HURTS, numbers, seeds)).outcome is outcome


def oversampling_numbers(cosine, accuracy):
    def numbers(settings, noise):
        rate = math.log10(settings["oversample"]) / 2
        return {
            "minority_cosine": cosine(rate) + noise,
            **{key: accuracy(rate) + noise for key in ("test_minority", "test_balanced", "test_natural")},
        }

    return numbers


def test_oversampling() -> None:
    def hill(rate):
        return 0.4 + 1.2 * rate - 1.0 * rate**2

    def judged(cosine, accuracy):
        return OVERSAMPLING.judge(rows(OVERSAMPLING, oversampling_numbers(cosine, accuracy))).outcome

    assert judged(lambda rate: 0.9 - rate, hill) is Outcome.HOLDS
    assert judged(lambda rate: 0.9 - rate, lambda rate: 0.4 + 0.3 * rate) is Outcome.PARTLY
    assert judged(lambda rate: 0.5 + 0.3 * rate, lambda rate: 0.4 - 0.0 * rate) is Outcome.FAILS


def accuracy_numbers(fall, train=1.0):
    def numbers(settings, noise):
        classes, ratio = settings["majority_classes"], settings["ratio"]
        sizes = class_sizes(settings)
        lost = 1.0 if ratio is None else min(1.0, fall * math.log10(ratio) / 3)
        majority = 0.95 + noise
        minority = majority * (1 - lost)
        balanced = (classes * majority + (10 - classes) * minority) / 10
        return {
            "train_accuracy": train,
            "minority_share": float(sizes[classes:].sum() / sizes.sum()),
            "test_balanced": balanced,
            "test_natural": balanced,
            "test_majority": majority,
            "test_minority": minority,
        }

    return numbers


def test_accuracy_tables() -> None:
    assert ACCURACIES.judge(rows(ACCURACIES, accuracy_numbers(1.0))).outcome is Outcome.HOLDS
    assert ACCURACIES.judge(rows(ACCURACIES, accuracy_numbers(1.0, train=0.5))).outcome is Outcome.PARTLY
    flat = ACCURACIES.judge(rows(ACCURACIES, accuracy_numbers(-1.0, train=0.5)))
    assert flat.outcome is Outcome.CONTRADICTED  # fewer than half of the parts pass, and others go the other way
    assert "mlp on mnist: test accuracy falls with R" in flat.numbers["missed"]


def collapse_numbers(ends, imbalanced):
    def numbers(settings, noise):
        base = dict.fromkeys(("nc1", "nc2_norms", "nc2_angles", "nc3", "frame_distance"), 1.0 + noise)
        end = {key: value * ends for key, value in base.items()}
        if settings["ratio"] > 1:
            end["frame_distance"] = imbalanced + noise
        course = [{**base, "step": 1, "train_accuracy": 0.5, "nc1": 9.0}, {**base, "step": 2, "train_accuracy": 1.0}]
        return {**end, "nc4": 0.001, "course": [*course, {**end, "step": 3, "train_accuracy": 1.0}]}

    return numbers


def test_neural_collapse() -> None:
    assert COLLAPSE.judge(rows(COLLAPSE, collapse_numbers(0.2, 0.9))).outcome is Outcome.HOLDS
    assert COLLAPSE.judge(rows(COLLAPSE, collapse_numbers(2.0, 0.9))).outcome is Outcome.CONTRADICTED
    verdict = COLLAPSE.judge(rows(COLLAPSE, collapse_numbers(0.2, 0.01)))
    assert any("no frame" in part for part in verdict.numbers["missed"])


def test_accuracies_by_counting() -> None:
    stream = generator(0, "logits")
    logits, labels = stream.standard_normal((40, 4)), np.arange(40) % 4
    sizes, minority = np.array([30, 30, 5, 5]), np.array([False, False, True, True])
    found = accuracies(logits, labels, sizes, minority)
    each = []
    for k in range(4):
        own = [i for i in range(40) if labels[i] == k]
        each.append(sum(max(range(4), key=lambda j: logits[i, j]) == k for i in own) / len(own))
    inner = [2 + (logits[i, 3] > logits[i, 2]) == labels[i] for i in range(40) if labels[i] >= 2]
    assert found["test_balanced"] == pytest.approx(np.mean(each))
    assert found["test_natural"] == pytest.approx((30 * each[0] + 30 * each[1] + 5 * each[2] + 5 * each[3]) / 70)
    assert found["test_minority"] == pytest.approx((each[2] + each[3]) / 2)
    assert found["test_minority_inner"] == pytest.approx(np.mean(inner))


def test_samples_are_paired_over_ratios() -> None:
    few = {**SMALL, "images": "digits", "shrink": 1, "majority_size": 60, "ratio": 20}
    sample, test = image_sample(few, class_sizes(few), seed=4)
    more, _ = image_sample({**few, "ratio": 2}, class_sizes({**few, "ratio": 2}), seed=4)
    assert sample.counts.tolist() == [60] * 5 + [3] * 5
    assert sample.class_names == more.class_names == test.class_names
    assert {image.tobytes() for image in sample.pixels} <= {image.tobytes() for image in more.pixels}
    original = load_images("digits")
    by_pixels = {
        image.tobytes(): original.class_names[label]
        for image, label in zip(original.pixels, original.labels, strict=True)
    }
    for image, label in zip(sample.pixels, sample.labels, strict=True):
        assert by_pixels[image.tobytes()] == sample.class_names[label]
    other, _ = image_sample(few, class_sizes(few), seed=5)
    assert other.class_names != sample.class_names


def test_oversampling_lists_every_minority_example_so_often() -> None:
    labels, minority = np.array([0, 0, 0, 1, 2, 2]), np.array([False, True, True])
    order = oversampled_order(labels, minority, 7, seed=0)
    assert np.bincount(order(0)).tolist() == [1, 1, 1, 7, 7, 7]
    assert order(0).tolist() != order(1).tolist()
    assert oversampled_order(labels, minority, 1, seed=0) is None


def test_sizes_and_forecasts() -> None:
    settings = {**SMALL, "ratio": 100, "oversample": 10}
    assert class_sizes(settings).tolist() == [300] * 5 + [3] * 5
    assert effective_sizes(settings).tolist() == [300] * 5 + [30] * 5
    assert forecasts(settings) == forecasts({**SMALL, "ratio": 10})
    pilot = {"weight_energy": 2.0, "centred_mean_energy": 16.0, "loss": 0.05, "hidden_layers": 2}
    # balanced classes: every recipe gives the simplex frame, cosine -1/9
    for name, value in forecasts({**SMALL, "ratio": 1}, pilot).items():
        # the survival law leaves a chance of 1e-7 that one of them is lost
        assert value == pytest.approx(-1 / 9, abs=1e-6 if name in (SURVIVAL, PILOT) else 1e-7)
    # lambda = 0.01 sqrt(2/16) > n_B/N = 1/501 at R = 100: collapsed exactly
    assert forecasts({**SMALL, "ratio": 100}, pilot)[MULTIPLIER] == pytest.approx(1.0)
    far = forecasts({**SMALL, "ratio": 300}, pilot)
    assert far[EQUILIBRIUM] == pytest.approx(1.0)
    assert 0.9 < far[SURVIVAL] < 1.0
    assert forecasts({**SMALL, "ratio": None}) == {}
    assert set(forecasts({**SMALL, "network": "mlp-plain", "ratio": 20}, pilot)) == {MULTIPLIER}


def test_errors_of_recipes() -> None:
    made = [
        Row(settings, seed, {"minority_cosine": 0.5, "energies_cosine": 0.5 + 0.1 * (seed + 1)})
        for settings in varied(SMALL, ratio=(20, 40))
        for seed in (0, 1)
    ]
    assert recipe_errors(made)["measured energies"] == pytest.approx({0: 0.1, 1: 0.2})
    assert MULTIPLIER not in recipe_errors(made)  # no run at R = 10


def test_crossings_and_pairs() -> None:
    assert crossing([1, 10, 100], [0.0, 0.25, 0.75], 0.5) == pytest.approx(10**1.5)
    assert crossing([1, 10], [0.0, 0.2], 0.5) is None
    assert crossing([1, 10], [0.6, 0.7], 0.5) is None
    first = [Row({}, seed, {"value": float(seed)}) for seed in range(3)]
    second = [Row({}, seed, {"value": seed + 1.0}) for seed in range(3)]
    change = paired(first, second, "value")
    assert (change.mean, change.low, change.high) == pytest.approx((1.0, 1.0, 1.0))
