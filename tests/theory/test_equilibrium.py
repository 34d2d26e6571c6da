"""The resting points against a minimiser that knows nothing of them, and against networks trained to the end."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from lopsided.core.errors import InputError
from lopsided.theory.network_equilibrium import batchnorm_equilibrium, cosines_of_strengths, plain_equilibrium
from lopsided.theory.survival_law import survival_forecast


def cross_entropy(u: float, classes: int) -> float:
    return float(np.log1p((classes - 1) * np.exp(-u)))


def best_margin(objective, classes: int) -> float:
    """Global minimum over a fine grid, polished; 0 where nothing beats it."""
    grid = np.concatenate([[0.0], np.geomspace(1e-6, 60.0, 4000)])
    values = [objective(u) for u in grid]
    place = int(np.argmin(values))
    if place == 0:
        return 0.0
    low, high = grid[place - 1], grid[min(place + 1, grid.size - 1)]
    return float(minimize_scalar(objective, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x)


@pytest.mark.parametrize(("counts", "decay", "batch"), [("300*5,30*5", 1e-2, 64), ("100,40,9,3", 0.05, 8)])
def test_batchnorm_margins_minimise_the_program(counts, decay, batch) -> None:
    rest = batchnorm_equilibrium(counts, decay, batch)
    classes = rest.frequencies.size
    for f, margin in zip(rest.frequencies, rest.margins, strict=True):
        price = decay * np.sqrt((f + (1 - f) / batch) * (classes - 1) / classes)
        found = best_margin(lambda u, f=f, price=price: f * cross_entropy(u, classes) + price * u, classes)
        assert margin == pytest.approx(found, abs=2e-6)  # a parabola's minimum is known to the root of rounding


@pytest.mark.parametrize("layers", [2, 3, 5])
@pytest.mark.parametrize("decay", [1e-4, 2e-3, 1e-2, 0.1])
def test_plain_margins_minimise_the_program(layers, decay) -> None:
    rest = plain_equilibrium("100,40,9,3", decay, layers, input_norm=1.7)
    for f, margin in zip(rest.frequencies, rest.margins, strict=True):

        def objective(u: float, f: float = f) -> float:
            length = u * np.sqrt(3 / 4) / 1.7
            return f * cross_entropy(u, 4) + layers * decay / 2 * length ** (2 / layers)

        assert margin == pytest.approx(best_margin(objective, 4), abs=2e-6)


def test_cosines_are_those_of_the_matrix() -> None:
    strengths = np.array([2.0, 1.0, 0.5, 0.0, 0.0])
    frame = np.sqrt(5 / 4) * (np.eye(5) - 1 / 5)
    gram = frame @ np.diag(strengths) @ frame.T
    lengths = np.sqrt(np.diag(gram))
    np.testing.assert_allclose(cosines_of_strengths(strengths), gram / np.outer(lengths, lengths), atol=1e-14)
    assert cosines_of_strengths(strengths)[3, 4] == pytest.approx(1.0)  # lost classes coincide
    np.testing.assert_allclose(cosines_of_strengths(np.ones(4))[~np.eye(4, dtype=bool)], -1 / 3)  # R = 1


def test_a_batchnorm_network_trained_to_the_end_rests_there() -> None:
    """One input per class, all units' second moments fixed by BatchNorm: the closed form, with no constant fitted."""
    import torch

    torch.manual_seed(0)
    counts, decay, classes, width = np.array([24, 24, 8, 8]), 0.02, 4, 64
    labels = torch.from_numpy(np.repeat(np.arange(classes), counts))
    inputs = torch.eye(classes, dtype=torch.float64)[labels]
    hidden = torch.nn.Linear(classes, width, bias=False, dtype=torch.float64)
    norm = torch.nn.BatchNorm1d(width, eps=1e-12, dtype=torch.float64)
    head = torch.nn.Linear(width, classes, bias=False, dtype=torch.float64)
    network = torch.nn.Sequential(hidden, norm, torch.nn.ReLU(), head)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.3, momentum=0.9, weight_decay=decay)
    for _ in range(1000):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(network(inputs), labels).backward()
        optimiser.step()
    w = head.weight.detach().numpy()
    lengths = np.linalg.norm(w, axis=1)
    measured = w @ w.T / np.outer(lengths, lengths)
    rest = batchnorm_equilibrium(counts, decay, int(counts.sum()))
    # 64 random units stand for infinitely many: their directions cover the sphere to about 1/sqrt(64) of an angle each,
    # and errors of either sign average out; 0.0015 and 1.2 % were seen
    assert np.abs(measured - rest.cosines()).mean() < 0.008
    assert np.mean(lengths**2) == pytest.approx(rest.weight_energy, rel=0.03)


def test_expected_cosines_against_every_pattern_of_survival() -> None:
    forecast = survival_forecast("300*4,3*4", weight_decay=1e-2, step=0.1, batch_size=64, hidden_layers=2)
    assert 0.05 < forecast.survival.min() < 0.95  # otherwise nothing is averaged
    classes, noise = 8, 0.1 / 64
    frequencies = forecast.counts.counts / forecast.counts.total
    closeness = np.minimum(1.0, frequencies / forecast.threshold_frequency)
    expected = np.zeros((classes, classes))
    for pattern in itertools.product((False, True), repeat=classes):
        kept = np.array(pattern)
        odds = np.prod(np.where(kept, forecast.survival, 1 - forecast.survival))
        if odds < 1e-14:
            continue
        cosines = cosines_of_strengths(np.where(kept, forecast.equilibrium.strengths, 0.0))
        lost = ~kept[:, None] & ~kept[None, :]
        pair = 1 - min(0.5, 10 * noise) * 0.5 * (closeness[:, None] + closeness[None, :])
        expected += odds * np.where(lost, pair, np.nan_to_num(cosines, nan=1.0))
    np.fill_diagonal(expected, 1.0)
    # a sum of a few Bernoulli variables is integrated as a normal one
    assert np.abs(forecast.cosines - expected).max() < 5e-3


def test_the_law_itself() -> None:
    forecast = survival_forecast(
        "300*5,3*5", weight_decay=1e-2, step=0.01, batch_size=64, momentum=0.9, hidden_layers=2
    )
    f_star = np.exp(0.116) * 1e-2 * (0.1 / 64) ** 0.281 * 2**0.746
    assert forecast.threshold_frequency == pytest.approx(f_star)
    assert forecast.count_needed == pytest.approx(f_star * 1515)
    assert forecast.survival[9] == pytest.approx(ndtr(np.log(3 / 1515 / f_star) / 0.673))
    assert forecast.ratio_threshold == pytest.approx((1 / f_star - 5) / 5)
    assert forecast.outside == ("step 0.01 (fitted on 0.03 to 0.3)",)


def test_the_law_with_the_loss_of_a_pilot() -> None:
    forecast = survival_forecast(
        "300*5,30*5", weight_decay=1e-2, step=0.1, batch_size=64, momentum=0.0, hidden_layers=3, pilot_loss=0.05
    )
    f_star = np.exp(-0.0341) * 1e-2 * (0.1 / 64) ** 0.273 * 3**0.718 * 0.05**-0.052
    assert forecast.threshold_frequency == pytest.approx(f_star)


@pytest.mark.parametrize(
    "change", [{"momentum": 1.0}, {"weight_decay": 0.0}, {"step": np.nan}, {"batch_size": 0}, {"pilot_loss": -1.0}]
)
def test_bad_settings_are_named(change) -> None:
    settings = {"weight_decay": 1e-2, "step": 0.1, "batch_size": 64, **change}
    with pytest.raises(InputError):
        survival_forecast("30,3", **settings)
